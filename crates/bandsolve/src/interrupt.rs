//! Stop a long call early.
//!
//! [`interruptible`] takes a function that returns true if the work must stop. Long loops call this function through [`check`]. It is
//! stored per thread during the call, so that no other signature needs it.

use crate::error::{Error, Result};
use bandsolve_kernel::threads;
use core::cell::RefCell;
use core::sync::atomic::{AtomicBool, Ordering};
use std::rc::Rc;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// A function that returns true if the work must stop.
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

/// Restores the previous function on drop, also after a panic.
struct Restored(Option<Stop>);

impl Drop for Restored {
    fn drop(&mut self) {
        STOP.set(self.0.take());
    }
}

/// Call `work`, whose library calls return [`Error::Interrupted`] soon after `stop` first returns true.
///
/// This thread calls `stop` every few milliseconds of work, or more often, so `stop` must return quickly. The results of an interrupted
/// call are not valid. In nested calls, only the innermost function is used.
///
/// Do not use this function on the ranks of an MPI job: ranks that are not interrupted would wait for interrupted ones.
///
/// # Examples
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

/// Check whether the work must stop. Long loops call this function on the thread of the caller.
///
/// # Cost
/// A few nanoseconds outside of [`interruptible`], otherwise one call of the function.
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
    // Cloned, because the function may itself call `interruptible`. A thread that ends has no function.
    let stop = STOP.try_with(|stop| stop.borrow().clone()).ok().flatten();
    match stop {
        Some(stop) if stop() => Err(Error::Interrupted),
        _ => Ok(()),
    }
}

/// A [`check`] for work that several threads share: the thread of the caller checks, and all threads see the result.
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
    /// Check on the thread of the caller. On other threads, returns the result that this thread has found so far.
    ///
    /// # Errors
    /// Those of [`check`].
    pub fn check(&self) -> Result<()> {
        if self.0.load(Ordering::Relaxed) {
            return Err(Error::Interrupted);
        }
        check().inspect_err(|_| self.0.store(true, Ordering::Relaxed))
    }
}

/// Call `work` on a thread of the pool. The thread of the caller waits and checks its function meanwhile.
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

/// Time between two checks of a thread that waits.
const LOOK: Duration = Duration::from_millis(10);
/// The waiting thread stops checking if the work has not begun after this time, because the work may wait for this thread.
const BEGINNING: Duration = Duration::from_secs(1);

/// The state that the waiting thread and the working thread share.
#[derive(Default)]
struct Relay {
    stopped: Arc<AtomicBool>,
    begun: AtomicBool,
    ended: Mutex<bool>,
    end_signal: Condvar,
}

impl Relay {
    /// Check until the work has ended.
    fn watch(&self) {
        if STOP.with_borrow(Option::is_none) {
            return;
        }
        let since = Instant::now();
        let mut ended = self.ended.lock().unwrap_or_else(PoisonError::into_inner);
        while !*ended {
            ended = self.end_signal.wait_timeout(ended, LOOK).unwrap_or_else(PoisonError::into_inner).0;
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
        /// Reports the end of the work on drop, also after a panic.
        struct Ended<'a>(&'a Relay);
        impl Drop for Ended<'_> {
            fn drop(&mut self) {
                *self.0.ended.lock().unwrap_or_else(PoisonError::into_inner) = true;
                self.0.end_signal.notify_all();
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
