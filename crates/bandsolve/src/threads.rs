//! The threads that share the work: rayon's.
//!
//! A forked process has only the thread that forked it, and rayon would wait for the others for ever. So a child gets threads of
//! its own when it first needs some. Children are common in Python, whose `multiprocessing` forks. What is noticed are forks after
//! the first question here: a program that starts rayon itself, before bandsolve, and then forks, is on its own.

use core::sync::atomic::{AtomicBool, AtomicPtr, Ordering};
use rayon::{Scope, ThreadPool, ThreadPoolBuilder};

/// Both, in parallel. A thread that does not belong to rayon does the first itself, where it would otherwise only wait: it is
/// awake and has a core, while two threads that sleep are often woken on one and the same, until the system moves one of them.
pub(crate) fn join<A: Send, B: Send>(a: impl FnOnce() -> A + Send, b: impl FnOnce() -> B + Send) -> (A, B) {
    if rayon::current_thread_index().is_some() {
        return rayon::join(a, b);
    }
    let mut second = None;
    let first = scope(|scope| {
        scope.spawn(|_| second = Some(b()));
        a()
    });
    (first, second.expect("what is spawned has run"))
}

/// A scope whose own work stays on this thread.
fn scope<'s, R>(work: impl FnOnce(&Scope<'s>) -> R) -> R {
    match of_child() {
        Some(pool) => pool.in_place_scope(work),
        None => rayon::in_place_scope(work),
    }
}

/// Work that uses rayon's parallel iterators, where they may be used.
pub fn enter<R: Send>(work: impl FnOnce() -> R + Send) -> R {
    match of_child() {
        Some(pool) if rayon::current_thread_index().is_none() => pool.install(work),
        _ => work(),
    }
}

/// How many there are. This question starts rayon's threads, so it must be asked here, where forks are noticed from then on.
pub fn count() -> usize {
    match of_child() {
        Some(pool) if rayon::current_thread_index().is_none() => pool.current_num_threads(),
        _ => rayon::current_num_threads(),
    }
}

/// Runs `work` on so many threads, on the caller's alone if one is asked for.
pub(crate) fn workers(threads: usize, work: &(impl Fn() + Sync)) {
    if threads > 1 {
        join(work, || workers(threads - 1, work));
    } else {
        work();
    }
}

/// Whether this process was forked by one that had asked to be told of forks.
static FORKED: AtomicBool = AtomicBool::new(false);
/// The threads of a child, made when they are first needed and never freed.
static OF_CHILD: AtomicPtr<ThreadPool> = AtomicPtr::new(core::ptr::null_mut());

/// The threads of a forked process; `None` in others, where rayon's own are good.
fn of_child() -> Option<&'static ThreadPool> {
    // Not a `Once`, which a fork may leave half done: asked twice does no harm.
    static WATCHED: AtomicBool = AtomicBool::new(false);
    if !WATCHED.load(Ordering::Acquire) {
        watch();
        WATCHED.store(true, Ordering::Release);
    }
    if !FORKED.load(Ordering::Relaxed) {
        return None;
    }
    if OF_CHILD.load(Ordering::Acquire).is_null() {
        let pool = ThreadPoolBuilder::new().build().unwrap_or_else(|why| panic!("threads of a forked process: {why}"));
        let made = Box::into_raw(Box::new(pool));
        if OF_CHILD.compare_exchange(core::ptr::null_mut(), made, Ordering::AcqRel, Ordering::Acquire).is_err() {
            // SAFETY: from `into_raw` above, and nobody else has it.
            drop(unsafe { Box::from_raw(made) });
        }
    }
    // SAFETY: not null, made by `into_raw`, never freed.
    Some(unsafe { &*OF_CHILD.load(Ordering::Acquire) })
}

/// Asks to be told of forks.
#[cfg(unix)]
fn watch() {
    /// Runs in a child, which may do little there: the threads of a parent that is itself a child are left alone, too.
    extern "C" fn forked() {
        OF_CHILD.store(core::ptr::null_mut(), Ordering::Release);
        FORKED.store(true, Ordering::Release);
    }
    // SAFETY: a function that does nothing but store two atomics. Without memory for the entry forks go unnoticed, as before.
    unsafe { libc::pthread_atfork(None, None, Some(forked)) };
}

#[cfg(not(unix))]
fn watch() {}

#[cfg(test)]
mod tests {
    use super::*;
    use core::sync::atomic::AtomicUsize;

    #[test]
    fn both_are_done_inside_and_outside_of_the_pool() {
        let sum = |n: u64| (0..n).sum::<u64>();
        assert_eq!(join(|| sum(10), || join(|| sum(20), || sum(30))), (45, (190, 435)));
        assert_eq!(rayon::scope(|_| join(|| sum(10), || sum(20))), (45, 190));
        let count = AtomicUsize::new(0);
        workers(5, &|| {
            count.fetch_add(1, Ordering::Relaxed);
        });
        assert_eq!(count.into_inner(), 5);
        assert_eq!(enter(|| sum(10)), 45);
    }

    #[test]
    fn the_caller_does_the_first() {
        let caller = std::thread::current().id();
        assert_eq!(join(|| std::thread::current().id(), || ()).0, caller);
        assert_eq!(count(), rayon::current_num_threads());
    }

    #[test]
    #[should_panic(expected = "second")]
    fn a_panic_of_the_second_reaches_the_caller() {
        join(|| (), || panic!("second"));
    }

    #[test]
    fn a_panic_of_the_first_waits_for_the_second() {
        let done = AtomicBool::new(false);
        let second = || {
            std::thread::sleep(std::time::Duration::from_millis(20));
            done.store(true, Ordering::Relaxed);
        };
        let first = std::panic::catch_unwind(core::panic::AssertUnwindSafe(|| join(|| panic!("first"), second)));
        assert!(first.is_err() && done.into_inner());
    }

    /// By `waitpid`, which sees a child that hangs ended by an alarm.
    #[cfg(unix)]
    #[test]
    fn a_forked_process_has_threads_of_its_own() {
        let solved = || {
            let n = 100_000;
            let a = crate::Tridiagonal::from_vecs(vec![1.0; n], vec![4.0; n], vec![1.0; n], false).unwrap();
            let plan = crate::Plan::new(a.shape()).threads(2);
            let x = plan.factor(&a).and_then(|factor| crate::Factor::solve(&factor, &vec![6.0; n]));
            x.is_ok_and(|x| (x.values[n / 2] - 1.0_f64).abs() < 1e-12)
        };
        let inside = || enter(|| rayon::current_thread_index().is_some());
        assert!(solved() && !inside());
        // SAFETY: the child runs a solve and ends without anything that belongs to the other threads of the parent.
        let child = unsafe { libc::fork() };
        if child == 0 {
            // SAFETY: as above.
            unsafe {
                libc::alarm(20);
                libc::_exit(if solved() && inside() { 0 } else { 1 });
            }
        }
        let mut status = -1;
        // SAFETY: a child of this process and a place for its status.
        unsafe { libc::waitpid(child, &mut status, 0) };
        assert_eq!(status, 0, "14: still waiting for threads after 20 seconds");
    }
}
