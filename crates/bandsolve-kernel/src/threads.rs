//! The threads that share the work, which are rayon's.
//!
//! The threads are started when work for two threads exists for the first time. Until then, [`count`] returns the
//! number that would be started. If they cannot be started for lack of memory or processes, the calling thread does all
//! the work, and a new start is tried one second later. A failed start would leave rayon without threads permanently,
//! so rayon receives threads that already run.
//!
//! A forked process has only the thread that forked it, and rayon would wait for the others forever. A child process
//! therefore gets its own threads when it first needs them. Such processes are common in Python, whose
//! `multiprocessing` forks. Only forks after the first call of this module are detected. A program that starts rayon
//! before bandsolve and then forks must handle this itself.
//!
//! Threads inherit the floating-point mode of the thread that started them, or have a mode that was set later. Their
//! work is therefore done in [`Standard`] mode.

use crate::arithmetic::Standard;
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU8, AtomicU64, AtomicUsize, Ordering};
use rayon::{Scope, ThreadBuilder, ThreadPool, ThreadPoolBuilder};
use std::io;
use std::sync::Mutex;
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;
use std::time::SystemTime;

/// Run both functions in parallel.
///
/// A thread that does not belong to rayon runs the first function itself, where it would otherwise only wait. It is
/// awake and has a core. Two sleeping threads are often woken on the same core, until the system moves one of them.
pub fn join<A: Send, B: Send>(a: impl FnOnce() -> A + Send, b: impl FnOnce() -> B + Send) -> (A, B) {
    let (mut a, mut b) = (OneCall::Given(a), OneCall::Given(b));
    join_calls(&mut a, &mut b);
    (a.result(), b.result())
}

/// A call without arguments, and its result.
///
/// This trait has a table with one function. The table of `dyn FnMut` has two, each with the whole code of the closure.
pub(crate) trait Callable: Send {
    fn run(&mut self);
}

enum OneCall<F, R> {
    Given(F),
    Running,
    Done(R),
}

impl<F: FnOnce() -> R + Send, R: Send> Callable for OneCall<F, R> {
    fn run(&mut self) {
        if let OneCall::Given(work) = core::mem::replace(self, OneCall::Running) {
            *self = OneCall::Done(work());
        }
    }
}

impl<F, R> OneCall<F, R> {
    fn result(self) -> R {
        match self {
            OneCall::Done(result) => result,
            _ => unreachable!("both have run"),
        }
    }
}

/// [`join`] for calls without results. Rayon needs much code for a pair of closures, and this function is compiled only
/// once.
pub(crate) fn join_calls(a: &mut dyn Callable, b: &mut dyn Callable) {
    if rayon::current_thread_index().is_some() {
        rayon::join(|| a.run(), || standard(|| b.run()));
        return;
    }
    match pool() {
        Some(pool) => pool.scope(|scope| {
            scope.spawn(|_| standard(|| b.run()));
            a.run();
        }),
        None => {
            a.run();
            standard(|| b.run());
        }
    }
}

/// Whether threads can share work. Starts them if necessary.
pub fn available() -> bool {
    rayon::current_thread_index().is_some() || pool().is_some()
}

/// Whether the current thread is one of the threads that share work.
pub fn is_worker() -> bool {
    rayon::current_thread_index().is_some()
}

/// Run `work` in standard floating-point mode.
#[inline]
fn standard<R>(work: impl FnOnce() -> R) -> R {
    let _mode = Standard::enter();
    work()
}

/// The number of threads, or the number that would be started. Forks are detected from the first call on.
pub fn count() -> usize {
    match known() {
        _ if rayon::current_thread_index().is_some() => rayon::current_num_threads(),
        Some(Workers::Rayons) => rayon::current_num_threads(),
        Some(Workers::Own(pool)) => pool.current_num_threads(),
        None => usual(),
    }
}

/// Run `work` on `threads` threads, or on the calling thread alone if one thread is requested or no other exists.
pub fn workers(threads: usize, work: &(dyn Fn() + Sync)) {
    if threads > 1 && available() {
        join(work, || workers(threads - 1, work));
    } else {
        work();
    }
}

/// The threads that receive work.
enum Workers {
    /// Rayon's global pool, which this library or the program started.
    Rayons,
    /// A pool of the library itself.
    Own(&'static ThreadPool),
}

impl Workers {
    /// A scope whose `work` runs on the current thread.
    fn scope<'s, R>(&self, work: impl FnOnce(&Scope<'s>) -> R) -> R {
        match self {
            Workers::Rayons => rayon::in_place_scope(work),
            Workers::Own(pool) => pool.in_place_scope(work),
        }
    }
}

/// Whether this process was forked from a process that watched for forks.
static FORKED: AtomicBool = AtomicBool::new(false);
/// Whether the library keeps its threads apart from rayon's global pool, so that [`stop`] can end them.
static STOPPABLE: AtomicBool = AtomicBool::new(false);
/// The handles of the threads in `OWN_POOL`.
static RUNNING: Mutex<Vec<JoinHandle<()>>> = Mutex::new(Vec::new());
/// The state of the threads: [`NONE`], [`STARTING`] or [`STARTED`].
static STATE: AtomicU8 = AtomicU8::new(NONE);
const NONE: u8 = 0;
const STARTING: u8 = 1;
const STARTED: u8 = 2;
/// The threads of a forked process, or threads that [`stop`] can end. Null in other processes, which use rayon's pool.
static OWN_POOL: AtomicPtr<ThreadPool> = AtomicPtr::new(core::ptr::null_mut());
/// The time of the last failed start in seconds, or 0 if none failed.
static FAILED: AtomicU64 = AtomicU64::new(0);

/// The threads, if they were started.
fn known() -> Option<Workers> {
    watch();
    if STATE.load(Ordering::Acquire) != STARTED {
        return None;
    }
    let own_pool = OWN_POOL.load(Ordering::Relaxed);
    if own_pool.is_null() {
        return Some(Workers::Rayons);
    }
    // SAFETY: `into_raw` made this pointer. Only `stop` frees it, during which nobody else calls this module.
    Some(Workers::Own(unsafe { &*own_pool }))
}

/// The threads, which are started if necessary. `None` if they cannot be started, or if another thread is starting
/// them.
fn pool() -> Option<Workers> {
    known().or_else(start)
}

#[cold]
fn start() -> Option<Workers> {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(1, |time| time.as_secs());
    if FAILED.load(Ordering::Relaxed) == now {
        return None;
    }
    // Not a `Once`, because a fork may leave a `Once` half done.
    if STATE.compare_exchange(NONE, STARTING, Ordering::Acquire, Ordering::Relaxed).is_err() {
        return known();
    }
    let started = make(usual());
    if started.is_none() {
        FAILED.store(now, Ordering::Relaxed);
    }
    STATE.store(if started.is_some() { STARTED } else { NONE }, Ordering::Release);
    known()
}

/// Start the threads: in a forked process, or if they are [`stoppable`], as a pool of the library, otherwise as rayon's
/// global pool unless the program configured it.
fn make(threads: usize) -> Option<()> {
    // In a forked process, these are handles of threads that do not exist. To drop them would detach new threads with the
    // same addresses. The parent may have been forked while it held the lock, so nobody may wait for it.
    if let Ok(mut handles) = RUNNING.try_lock() {
        core::mem::forget(core::mem::take(&mut *handles));
    }
    let running = run(threads)?;
    let gone = |_| io::Error::other("a worker thread ended before it received work");
    let hand = |worker: ThreadBuilder| running[worker.index()].work.send(worker).map_err(gone);
    let builder = ThreadPoolBuilder::new().num_threads(threads).spawn_handler(hand);
    if !FORKED.load(Ordering::Relaxed) && !STOPPABLE.load(Ordering::Relaxed) {
        // An error means that a global pool already exists.
        _ = builder.build_global();
        return Some(());
    }
    let pool = builder.build().ok()?;
    if let Ok(mut handles) = RUNNING.try_lock() {
        *handles = running.into_iter().map(|running| running.thread).collect();
    }
    OWN_POOL.store(Box::into_raw(Box::new(pool)), Ordering::Relaxed);
    Some(())
}

/// Keep the threads that will be started apart from rayon's global pool, so that [`stop`] can end them. For libraries
/// that contain their own rayon, whose global pool no program can use.
pub fn stoppable() {
    // Callers on many threads only read the flag, so that it stays in the cache of each core.
    if !STOPPABLE.load(Ordering::Relaxed) {
        STOPPABLE.store(true, Ordering::Relaxed);
    }
}

/// End the threads and wait until they have ended. The next call with work for two threads starts them again. Threads of
/// rayon's global pool remain.
///
/// # Safety
/// No other thread calls a function of this module, directly or through a solver, during the call.
pub unsafe fn stop() {
    if STATE.compare_exchange(STARTED, STARTING, Ordering::Acquire, Ordering::Relaxed).is_err() {
        return;
    }
    let own_pool = OWN_POOL.swap(core::ptr::null_mut(), Ordering::Relaxed);
    if own_pool.is_null() {
        // Rayon's global pool cannot be ended.
        STATE.store(STARTED, Ordering::Release);
        return;
    }
    // SAFETY: `into_raw` made this pointer, and by the caller's promise nobody uses the pool.
    drop(unsafe { Box::from_raw(own_pool) });
    let handles = RUNNING.try_lock().map(|mut handles| core::mem::take(&mut *handles)).unwrap_or_default();
    for thread in handles {
        _ = thread.join();
    }
    STATE.store(NONE, Ordering::Release);
}

/// A thread that becomes the worker that it receives. It ends if it receives none.
struct PooledThread {
    thread: JoinHandle<()>,
    work: Sender<ThreadBuilder>,
}

impl PooledThread {
    /// Start a thread, which sends a message to `begun`.
    fn start(begun: Sender<()>) -> io::Result<Self> {
        let (work, given) = channel::<ThreadBuilder>();
        let run = move || {
            _ = begun.send(());
            given.into_iter().take(1).for_each(ThreadBuilder::run);
        };
        Ok(Self { thread: std::thread::Builder::new().spawn(run)?, work })
    }
}

/// Start all of these threads, or none.
///
/// A thread that runs out of memory while it starts ends the process. If the address space is limited, there must be
/// room for the next thread, and each thread must have started before the next one is created.
fn run(threads: usize) -> Option<Vec<PooledThread>> {
    let limited = room::is_limited();
    if limited && !room::is_there(threads.saturating_mul(room::STACK)) {
        return None;
    }
    let (begun, begins) = channel();
    let mut running = Vec::with_capacity(threads);
    while running.len() < threads {
        let there = !limited || room::is_there(room::STACK + room::SPARE);
        let Some(thread) = there.then(|| PooledThread::start(begun.clone()).ok()).flatten() else {
            // Their memory is available again after they have ended.
            for PooledThread { thread, work } in running {
                drop(work);
                _ = thread.join();
            }
            return None;
        };
        if limited {
            _ = begins.recv();
        }
        running.push(thread);
    }
    Some(running)
}

/// The remaining address space of the process.
#[cfg(unix)]
mod room {
    use libc::{MAP_ANON, MAP_NORESERVE, MAP_PRIVATE, PROT_READ, PROT_WRITE};

    /// Bytes of the stack of a thread, unless an environment variable sets another size.
    pub const STACK: usize = 2 << 20;
    /// Bytes that a thread needs in addition to start, and for a solve.
    pub const SPARE: usize = 8 << 20;

    pub fn is_limited() -> bool {
        [libc::RLIMIT_AS, libc::RLIMIT_DATA].into_iter().any(|kind| {
            let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
            // SAFETY: `limit` is a valid place for the result.
            unsafe { libc::getrlimit(kind, &mut limit) == 0 && limit.rlim_cur != libc::RLIM_INFINITY }
        })
    }

    pub fn is_there(bytes: usize) -> bool {
        let (access, kind) = (PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANON | MAP_NORESERVE);
        // SAFETY: these are new pages, and nobody accesses them before they are released. (The heap would keep previous
        // memory.)
        unsafe {
            let pages = libc::mmap(core::ptr::null_mut(), bytes, access, kind, -1, 0);
            pages != libc::MAP_FAILED && libc::munmap(pages, bytes) == 0
        }
    }
}

#[cfg(not(unix))]
mod room {
    pub const STACK: usize = 0;
    pub const SPARE: usize = 0;

    pub fn is_limited() -> bool {
        false
    }

    pub fn is_there(_: usize) -> bool {
        true
    }
}

/// The number of threads that rayon starts by default: the value of its environment variable, or the number of cores.
fn usual() -> usize {
    static USUAL: AtomicUsize = AtomicUsize::new(0);
    let known = USUAL.load(Ordering::Relaxed);
    if known > 0 {
        return known;
    }
    let variable = |name: &&str| std::env::var(name).ok()?.parse::<usize>().ok();
    let asked = ["RAYON_NUM_THREADS", "RAYON_RS_NUM_CPUS"].iter().find_map(variable).filter(|threads| *threads > 0);
    let threads = asked.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from));
    // The first result remains valid, because sizes of scratch memory depend on it.
    let threads = threads.min(rayon::max_num_threads());
    USUAL.compare_exchange(0, threads, Ordering::Relaxed, Ordering::Relaxed).err().unwrap_or(threads)
}

/// Register for notifications of forks at the first call.
fn watch() {
    // Not a `Once`, because a fork may leave a `Once` half done. A second registration is harmless.
    static WATCHED: AtomicBool = AtomicBool::new(false);
    if !WATCHED.load(Ordering::Acquire) {
        tell_of_forks();
        WATCHED.store(true, Ordering::Release);
    }
}

#[cfg(unix)]
fn tell_of_forks() {
    /// Runs in a forked process, where few operations are allowed. If the parent was itself forked, its threads are not
    /// freed.
    extern "C" fn forked() {
        OWN_POOL.store(core::ptr::null_mut(), Ordering::Relaxed);
        FAILED.store(0, Ordering::Relaxed);
        FORKED.store(true, Ordering::Relaxed);
        STATE.store(NONE, Ordering::Release);
    }
    // SAFETY: the function only stores atomics. If there is no memory for the entry, forks go undetected.
    unsafe { libc::pthread_atfork(None, None, Some(forked)) };
}

#[cfg(not(unix))]
fn tell_of_forks() {}

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
    }

    #[test]
    fn the_caller_does_the_first() {
        let caller = std::thread::current().id();
        assert_eq!(join(|| std::thread::current().id(), || ()).0, caller);
        assert!(available());
        assert_eq!(count(), rayon::current_num_threads());
    }

    #[test]
    #[should_panic(expected = "second")]
    fn a_panic_of_the_second_reaches_the_caller() {
        join(|| (), || panic!("second"));
    }

    #[test]
    fn a_panic_of_the_first_waits_for_the_second() {
        // While another test starts the threads, the caller would do both, one after the other.
        while !available() {
            std::thread::yield_now();
        }
        let done = AtomicBool::new(false);
        let second = || {
            std::thread::sleep(std::time::Duration::from_millis(20));
            done.store(true, Ordering::Relaxed);
        };
        let first = std::panic::catch_unwind(core::panic::AssertUnwindSafe(|| join(|| panic!("first"), second)));
        assert!(first.is_err() && done.into_inner());
    }

    /// Whether `work` returns true in a forked process, which has one thread. The work exits without access to anything that
    /// belongs to other threads of this process.
    #[cfg(unix)]
    fn holds_in_a_fork(work: impl FnOnce() -> bool) -> bool {
        // SAFETY: see above.
        let child = unsafe { libc::fork() };
        if child == 0 {
            // SAFETY: the alarm ends a child that hangs, and `_exit` runs nothing of this process.
            unsafe {
                libc::alarm(20);
                libc::_exit(i32::from(!work()));
            }
        }
        let mut status = -1;
        // SAFETY: this is a child of this process, and `status` is a valid place.
        unsafe { libc::waitpid(child, &mut status, 0) };
        assert_ne!(status, 14, "still waiting for threads after 20 seconds");
        status == 0
    }

    #[cfg(unix)]
    fn joined() -> bool {
        let sum = |n: u64| (0..n).sum::<u64>();
        join(|| sum(10), || sum(20)) == (45, 190)
    }

    /// In a process of its own, because threads of other tests may be at work: a child has its own pool, which it can end.
    #[cfg(unix)]
    #[test]
    fn threads_of_the_library_end_and_start_again() {
        let threads = || std::fs::read_dir("/proc/self/task").map_or(1, Iterator::count);
        // SAFETY: nobody else is at work in the child.
        let end = || unsafe { stop() };
        assert!(joined());
        assert!(holds_in_a_fork(|| {
            let first = joined() && (count() == 1 || matches!(known(), Some(Workers::Own(_))));
            end();
            let ended = known().is_none();
            // The system may still list a thread that has been joined.
            while threads() > 1 {
                std::thread::yield_now();
            }
            let again = joined() && known().is_some();
            end();
            end();
            first && ended && again && known().is_none()
        }));
    }

    #[cfg(unix)]
    #[test]
    fn a_forked_process_has_threads_of_its_own() {
        let own = || matches!(pool(), Some(Workers::Own(_)));
        assert!(joined() && !own());
        assert!(holds_in_a_fork(|| joined() && own()));
    }
}
