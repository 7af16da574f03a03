//! The threads that share the work: rayon's.
//!
//! They are started when there is work for two for the first time; until then their number is the one that would be started.
//! Where they cannot be started, for lack of memory or of processes, the caller does everything alone, and a start is tried
//! again a second later. (A start that fails leaves rayon without threads for ever; so it gets threads that run already.)
//!
//! A forked process has only the thread that forked it, and rayon would wait for the others for ever. So a child gets threads of
//! its own when it first needs some. Children are common in Python, whose `multiprocessing` forks. What is noticed are forks after
//! the first question here: a program that starts rayon itself, before bandsolve, and then forks, is on its own.
//!
//! Threads have the arithmetic of the one that started them, or whatever was set since: what is handed to them is done in
//! [`Standard`] arithmetic.

use crate::arithmetic::Standard;
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU8, AtomicU64, AtomicUsize, Ordering};
use rayon::{Scope, ThreadBuilder, ThreadPool, ThreadPoolBuilder};
use std::io;
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;
use std::time::SystemTime;

/// Both, in parallel. A thread that does not belong to rayon does the first itself, where it would otherwise only wait: it is
/// awake and has a core, while two threads that sleep are often woken on one and the same, until the system moves one of them.
pub fn join<A: Send, B: Send>(a: impl FnOnce() -> A + Send, b: impl FnOnce() -> B + Send) -> (A, B) {
    let (mut a, mut b) = (OneCall::Given(a), OneCall::Given(b));
    join_calls(&mut a, &mut b);
    (a.result(), b.result())
}

/// A call without arguments, before and after. A trait of its own, whose table has one function: that of `dyn FnMut` has two, each
/// with the whole of the closure.
trait Callable: Send {
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

/// [`join`] of calls without results: what rayon needs for a pair of closures is a lot of code, compiled here and once.
fn join_calls(a: &mut dyn Callable, b: &mut dyn Callable) {
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

/// Whether there are threads to share work with. Starts them, if there are none yet.
pub fn available() -> bool {
    rayon::current_thread_index().is_some() || pool().is_some()
}

/// Whether this thread is one of those that share work.
pub fn is_worker() -> bool {
    rayon::current_thread_index().is_some()
}

/// Work on a thread whose arithmetic may be any.
#[inline]
fn standard<R>(work: impl FnOnce() -> R) -> R {
    let _mode = Standard::enter();
    work()
}

/// How many there are, or will be once they are needed. Forks are noticed from the first question on.
pub fn count() -> usize {
    match known() {
        _ if rayon::current_thread_index().is_some() => rayon::current_num_threads(),
        Some(Workers::Rayons) => rayon::current_num_threads(),
        Some(Workers::Own(pool)) => pool.current_num_threads(),
        None => usual(),
    }
}

/// Runs `work` on so many threads, on the caller's alone if one is asked for, or there is no other.
pub fn workers(threads: usize, work: &(dyn Fn() + Sync)) {
    if threads > 1 && available() {
        join(work, || workers(threads - 1, work));
    } else {
        work();
    }
}

/// Where work goes.
enum Workers {
    /// To rayon's global pool, ours or that of the program.
    Rayons,
    /// To that of a forked process.
    Own(&'static ThreadPool),
}

impl Workers {
    /// A scope whose own work stays on this thread.
    fn scope<'s, R>(&self, work: impl FnOnce(&Scope<'s>) -> R) -> R {
        match self {
            Workers::Rayons => rayon::in_place_scope(work),
            Workers::Own(pool) => pool.in_place_scope(work),
        }
    }
}

/// Whether this process was forked by one that had asked to be told of forks.
static FORKED: AtomicBool = AtomicBool::new(false);
/// Whether there are threads: [`NONE`], [`STARTING`] or [`STARTED`].
static STATE: AtomicU8 = AtomicU8::new(NONE);
const NONE: u8 = 0;
const STARTING: u8 = 1;
const STARTED: u8 = 2;
/// The threads of a child, which are never freed; null in others, where rayon's own are good.
static OF_CHILD: AtomicPtr<ThreadPool> = AtomicPtr::new(core::ptr::null_mut());
/// When a start failed, in seconds; 0: never.
static FAILED: AtomicU64 = AtomicU64::new(0);

/// The threads that were started.
fn known() -> Option<Workers> {
    watch();
    if STATE.load(Ordering::Acquire) != STARTED {
        return None;
    }
    let of_child = OF_CHILD.load(Ordering::Relaxed);
    if of_child.is_null() {
        return Some(Workers::Rayons);
    }
    // SAFETY: made by `into_raw`, never freed.
    Some(Workers::Own(unsafe { &*of_child }))
}

/// The threads, started if they are not yet; `None` if they cannot be, or while another thread is about to start them.
fn pool() -> Option<Workers> {
    known().or_else(start)
}

#[cold]
fn start() -> Option<Workers> {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(1, |time| time.as_secs());
    if FAILED.load(Ordering::Relaxed) == now {
        return None;
    }
    // Not a `Once`, which a fork may leave half done.
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

/// Starts so many threads: as rayon's, unless the program has configured those itself; in a child as its own.
fn make(threads: usize) -> Option<()> {
    let running = run(threads)?;
    let gone = |_| io::Error::other("a thread is gone");
    let hand = |worker: ThreadBuilder| running[worker.index()].work.send(worker).map_err(gone);
    let builder = ThreadPoolBuilder::new().num_threads(threads).spawn_handler(hand);
    if !FORKED.load(Ordering::Relaxed) {
        // An error says that there is one already.
        _ = builder.build_global();
        return Some(());
    }
    OF_CHILD.store(Box::into_raw(Box::new(builder.build().ok()?)), Ordering::Relaxed);
    Some(())
}

/// A thread that becomes the worker that it is sent; it ends if there will be none.
struct PooledThread {
    thread: JoinHandle<()>,
    work: Sender<ThreadBuilder>,
}

impl PooledThread {
    /// `begun` gets a message from it.
    fn start(begun: Sender<()>) -> io::Result<Self> {
        let (work, given) = channel::<ThreadBuilder>();
        let run = move || {
            _ = begun.send(());
            given.into_iter().take(1).for_each(ThreadBuilder::run);
        };
        Ok(Self { thread: std::thread::Builder::new().spawn(run)?, work })
    }
}

/// So many threads, or none.
///
/// A thread that lacks memory while it begins ends the process. So where addresses are limited there must be room for another,
/// and it has begun before the next is started.
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
            // What they took is there again when they have ended.
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

/// Addresses that the process may still take.
#[cfg(unix)]
mod room {
    use libc::{MAP_ANON, MAP_NORESERVE, MAP_PRIVATE, PROT_READ, PROT_WRITE};

    /// Bytes of the stack of a thread, unless an environment variable says otherwise.
    pub const STACK: usize = 2 << 20;
    /// Enough for what a thread needs beside it to begin, and for a solve.
    pub const SPARE: usize = 8 << 20;

    pub fn is_limited() -> bool {
        [libc::RLIMIT_AS, libc::RLIMIT_DATA].into_iter().any(|kind| {
            let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
            // SAFETY: a place for a limit.
            unsafe { libc::getrlimit(kind, &mut limit) == 0 && limit.rlim_cur != libc::RLIM_INFINITY }
        })
    }

    pub fn is_there(bytes: usize) -> bool {
        let (access, kind) = (PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANON | MAP_NORESERVE);
        // SAFETY: new pages, which nobody touches before they are given back. (Not from the heap, which keeps what it had.)
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

/// How many threads rayon starts unless it is told otherwise: what its environment variable says, or as many as there are cores.
fn usual() -> usize {
    static USUAL: AtomicUsize = AtomicUsize::new(0);
    let known = USUAL.load(Ordering::Relaxed);
    if known > 0 {
        return known;
    }
    let variable = |name: &&str| std::env::var(name).ok()?.parse::<usize>().ok();
    let asked = ["RAYON_NUM_THREADS", "RAYON_RS_NUM_CPUS"].iter().find_map(variable).filter(|threads| *threads > 0);
    let threads = asked.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from));
    // The first answer holds: sizes of scratch follow from it.
    let threads = threads.min(rayon::max_num_threads());
    USUAL.compare_exchange(0, threads, Ordering::Relaxed, Ordering::Relaxed).err().unwrap_or(threads)
}

/// Asks to be told of forks, when first called.
fn watch() {
    // Not a `Once`, which a fork may leave half done: asked twice does no harm.
    static WATCHED: AtomicBool = AtomicBool::new(false);
    if !WATCHED.load(Ordering::Acquire) {
        tell_of_forks();
        WATCHED.store(true, Ordering::Release);
    }
}

#[cfg(unix)]
fn tell_of_forks() {
    /// Runs in a child, which may do little there: the threads of a parent that is itself a child are left alone, too.
    extern "C" fn forked() {
        OF_CHILD.store(core::ptr::null_mut(), Ordering::Relaxed);
        FAILED.store(0, Ordering::Relaxed);
        FORKED.store(true, Ordering::Relaxed);
        STATE.store(NONE, Ordering::Release);
    }
    // SAFETY: a function that does nothing but store atomics. Without memory for the entry forks go unnoticed, as before.
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
        let sum = |n: u64| (0..n).sum::<u64>();
        let joined = || join(|| sum(10), || sum(20)) == (45, 190);
        let own = || matches!(pool(), Some(Workers::Own(_)));
        assert!(joined() && !own());
        // SAFETY: the child hands work to a thread and ends without anything that belongs to the other threads of the parent.
        let child = unsafe { libc::fork() };
        if child == 0 {
            // SAFETY: as above.
            unsafe {
                libc::alarm(20);
                libc::_exit(if joined() && own() { 0 } else { 1 });
            }
        }
        let mut status = -1;
        // SAFETY: a child of this process and a place for its status.
        unsafe { libc::waitpid(child, &mut status, 0) };
        assert_eq!(status, 0, "14: still waiting for threads after 20 seconds");
    }
}
