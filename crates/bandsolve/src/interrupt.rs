//! Interrupts: how a caller ends a call that takes long.
//!
//! The caller gives a function that says whether to stop, and long loops ask it. The function belongs to a thread for as long as the
//! call takes, so that no signature has it.

use crate::error::{Error, Result};
use bandsolve_kernel::threads;
use core::cell::RefCell;
use core::sync::atomic::{AtomicBool, Ordering};
use std::rc::Rc;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Says whether to stop.
///
/// # Examples
/// ```
/// use bandsolve::{Error, interrupt::{self, Stop}};
/// use std::time::{Duration, Instant};
/// let start = Instant::now();
/// let stop: Stop = std::rc::Rc::new(move || start.elapsed() >= Duration::ZERO);
/// assert_eq!(interrupt::interruptible(stop, interrupt::check), Err(Error::Interrupted));
/// ```
pub type Stop = Rc<dyn Fn() -> bool>;

thread_local! {
    static STOP: RefCell<Option<Stop>> = const { RefCell::new(None) };
}

/// Puts the function back that was there before, also after a panic.
struct Restored(Option<Stop>);

impl Drop for Restored {
    fn drop(&mut self) {
        STOP.set(self.0.take());
    }
}

/// Calls `work`, which returns [`Error::Interrupted`] soon after `stop` first says true.
///
/// `stop` is called on this thread, every few milliseconds of work, and more often where a loop is cheap: it has to return quickly.
/// What `work` has written by then is unspecified. Calls can be nested: the innermost function counts.
///
/// Do not use it on the ranks of an MPI job: the ranks that are not interrupted would wait for those that are.
///
/// # Example
/// ```
/// use bandsolve::{Error, interrupt};
/// use std::rc::Rc;
/// let result = interrupt::interruptible(Rc::new(|| true), || interrupt::check());
/// assert_eq!(result, Err(Error::Interrupted));
/// assert_eq!(interrupt::check(), Ok(()));
/// ```
pub fn interruptible<R>(stop: Stop, work: impl FnOnce() -> R) -> R {
    let _restored = Restored(STOP.replace(Some(stop)));
    work()
}

/// Asks whether to stop; long loops do so on the calling thread. Without a function that says so, it costs a few nanoseconds.
///
/// # Errors
/// [`Error::Interrupted`] if the caller wants the work to stop.
///
/// # Examples
/// ```
/// use bandsolve::{Error, interrupt};
/// let work = || (0..10).try_for_each(|_| interrupt::check());
/// assert_eq!(work(), Ok(()));
/// assert_eq!(interrupt::interruptible(std::rc::Rc::new(|| true), work), Err(Error::Interrupted));
/// ```
pub fn check() -> Result<()> {
    // Not while it is borrowed: the function may call what is interruptible itself. While a thread ends there is none.
    let stop = STOP.try_with(|stop| stop.borrow().clone()).ok().flatten();
    match stop {
        Some(stop) if stop() => Err(Error::Interrupted),
        _ => Ok(()),
    }
}

/// [`check`] for tasks that several threads share: the calling thread asks, and the tasks of all threads learn of it.
///
/// # Examples
/// ```
/// use bandsolve::{Error, interrupt::{self, SharedCheck}};
/// let shared = SharedCheck::default();
/// let result = interrupt::interruptible(std::rc::Rc::new(|| true), || shared.check());
/// assert_eq!(result, Err(Error::Interrupted));
/// let other = std::thread::scope(|scope| scope.spawn(|| shared.check()).join().unwrap());
/// assert_eq!(other, Err(Error::Interrupted)); // the other thread stops, too
/// ```
#[derive(Debug, Default)]
pub struct SharedCheck(AtomicBool);

impl SharedCheck {
    /// Asks on the thread of the call, and returns on others what was said there.
    ///
    /// # Errors
    /// As [`check`].
    pub fn check(&self) -> Result<()> {
        if self.0.load(Ordering::Relaxed) {
            return Err(Error::Interrupted);
        }
        check().inspect_err(|_| self.0.store(true, Ordering::Relaxed))
    }
}

/// Calls `work` on one of the threads that share work, and asks the function of this thread on its behalf meanwhile.
///
/// # Examples
/// ```
/// assert_eq!(bandsolve::interrupt::on_worker(|| 6 * 7), 42);
/// ```
pub fn on_worker<R: Send>(work: impl FnOnce() -> R + Send) -> R {
    if threads::is_worker() || !threads::available() {
        return work();
    }
    let relay = Relay::default();
    threads::join(|| relay.watch(), || relay.run(work)).1
}

/// Between two questions to the function of a thread that waits.
const LOOK: Duration = Duration::from_millis(10);
/// What has not begun after that is not watched: it may wait for this very thread.
const BEGINNING: Duration = Duration::from_secs(1);

/// What stands between the thread that waits and the one that works.
#[derive(Default)]
struct Relay {
    stopped: Arc<AtomicBool>,
    begun: AtomicBool,
    ended: Mutex<bool>,
    told: Condvar,
}

impl Relay {
    /// Asks until the work has ended.
    fn watch(&self) {
        if STOP.with_borrow(Option::is_none) {
            return;
        }
        let since = Instant::now();
        let mut ended = self.ended.lock().unwrap_or_else(PoisonError::into_inner);
        while !*ended {
            ended = self.told.wait_timeout(ended, LOOK).unwrap_or_else(PoisonError::into_inner).0;
            if check().is_err() {
                self.stopped.store(true, Ordering::Relaxed);
                return;
            }
            if !self.begun.load(Ordering::Relaxed) && since.elapsed() > BEGINNING {
                return;
            }
        }
    }

    fn run<R>(&self, work: impl FnOnce() -> R) -> R {
        /// Says that the work has ended, also after a panic.
        struct Ended<'a>(&'a Relay);
        impl Drop for Ended<'_> {
            fn drop(&mut self) {
                *self.0.ended.lock().unwrap_or_else(PoisonError::into_inner) = true;
                self.0.told.notify_all();
            }
        }
        self.begun.store(true, Ordering::Relaxed);
        let (_ended, stopped) = (Ended(self), self.stopped.clone());
        interruptible(Rc::new(move || stopped.load(Ordering::Relaxed)), work)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::cell::Cell;

    #[test]
    fn the_innermost_function_counts_and_all_are_put_back() {
        let never = || -> Stop { Rc::new(|| false) };
        interruptible(Rc::new(|| true), || {
            assert_eq!(interruptible(never(), check), Ok(()));
            assert_eq!(check(), Err(Error::Interrupted));
            let panicked = std::panic::catch_unwind(|| interruptible(Rc::new(|| false), || panic!("planted")));
            assert!(panicked.is_err() && check().is_err());
        });
        assert_eq!(check(), Ok(()));
    }

    #[test]
    fn the_function_may_call_what_is_interruptible() {
        let calls = Rc::new(Cell::new(0));
        let counted = calls.clone();
        let stop = move || {
            counted.set(counted.get() + 1);
            interruptible(Rc::new(|| false), check).is_err()
        };
        assert_eq!(interruptible(Rc::new(stop), check), Ok(()));
        assert_eq!(calls.get(), 1);
    }

    #[test]
    fn other_threads_learn_of_it_from_the_one_that_asks() {
        let shared = SharedCheck::default();
        let elsewhere = || std::thread::scope(|scope| scope.spawn(|| shared.check()).join().unwrap());
        interruptible(Rc::new(|| true), || {
            assert_eq!(elsewhere(), Ok(()));
            assert!(shared.check().is_err());
            assert_eq!(elsewhere(), Err(Error::Interrupted));
        });
    }

    #[test]
    fn work_on_another_thread_is_stopped_too() {
        let until_stopped = || {
            loop {
                check()?;
                std::thread::yield_now();
            }
        };
        let result: Result<()> = interruptible(Rc::new(|| true), || on_worker(until_stopped));
        assert_eq!(result, Err(Error::Interrupted));
        assert_eq!(on_worker(|| 7), 7);
        assert_eq!(interruptible(Rc::new(|| false), || on_worker(|| on_worker(|| check().map(|()| 7)))), Ok(7));
    }
}
