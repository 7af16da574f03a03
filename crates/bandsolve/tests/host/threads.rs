//! Numbers of threads. Each test runs in a separate process.

use crate::work::{Scale, tasks};
use bandsolve::{Plan, Shape, Tridiagonal};
use std::panic::UnwindSafe;
use std::process::Command;
use std::time::{Duration, Instant};

/// Run a test of this file in a child process and check that it passes. An environment variable tells the child what to do.
fn alone(test: &str, threads: &str) {
    let name = format!("threads::{test}");
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args([&name, "--exact", "--nocapture"]).env(CHILD, "1").env("RAYON_NUM_THREADS", threads);
    let output = child.output().unwrap();
    let said = [output.stdout, output.stderr].map(|out| String::from_utf8_lossy(&out).into_owned()).join("\n");
    assert!(output.status.success() && said.contains("1 passed"), "{said}");
}

const CHILD: &str = "BANDSOLVE_HOST_TEST";

fn is_child() -> bool {
    std::env::var_os(CHILD).is_some()
}

fn count() -> usize {
    std::fs::read_dir("/proc/self/task").unwrap().count()
}

/// Solve a system that is large enough for many threads.
fn solve() {
    let n = 400_000;
    let a = Tridiagonal::from_vecs(vec![1.0; n], vec![4.0; n], vec![1.0; n], false).unwrap();
    let x = a.solve(&vec![6.0; n]).unwrap();
    assert!((x.values[n / 2] - 1.0_f64).abs() < 1e-12);
}

#[test]
fn one_thread_is_one_thread() {
    if !is_child() {
        return alone("one_thread_is_one_thread", "3");
    }
    let before = count();
    let shape = Shape::Tridiagonal { n: 1 << 30, periodic: false };
    assert_eq!(Plan::new(shape).options().threads, 3);
    Tridiagonal::new(&[1.0], &[4.0; 2], &[1.0]).unwrap().solve(&[5.0; 2]).unwrap();
    for task in tasks(Scale { n: 120_000, rhs: 1.0 }) {
        (task.run)(1);
        assert_eq!(count(), before, "{}", task.name);
    }
    solve();
    assert_eq!(count(), before + 3);
    assert_eq!(Plan::new(shape).options().threads, 3);
}

#[test]
fn the_threads_of_the_program_are_used() {
    if !is_child() {
        return alone("the_threads_of_the_program_are_used", "5");
    }
    rayon::ThreadPoolBuilder::new().num_threads(2).build_global().unwrap();
    let before = count();
    solve();
    let end = Instant::now() + Duration::from_secs(20);
    while count() > before {
        assert!(Instant::now() < end, "threads that nobody needs");
        std::thread::yield_now();
    }
    assert_eq!(Plan::new(Shape::Tridiagonal { n: 9, periodic: false }).options().threads, 2);
}

/// Limit the additional address space of this process.
fn bound(more: Option<u64>) {
    let pages: u64 = std::fs::read_to_string("/proc/self/statm").unwrap().split(' ').next().unwrap().parse().unwrap();
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the pointers refer to a valid `rlimit`.
    unsafe {
        assert_eq!(libc::getrlimit(libc::RLIMIT_AS, &mut limit), 0);
        limit.rlim_cur = more.map_or(limit.rlim_max, |more| pages * libc::sysconf(libc::_SC_PAGESIZE) as u64 + more);
        assert_eq!(libc::setrlimit(libc::RLIMIT_AS, &limit), 0);
    }
}

/// The stacks of the threads would need two gigabytes.
#[test]
fn threads_that_cannot_be_started() {
    if !is_child() {
        return alone("threads_that_cannot_be_started", "1000");
    }
    let before = count();
    bound(Some(1 << 30));
    for _ in 0..3 {
        solve();
        assert_eq!(count(), before);
    }
    in_a_child_of_a_fork(before);
    bound(None);
    // The library tries again after a second.
    let end = Instant::now() + Duration::from_secs(20);
    while count() == before {
        assert!(Instant::now() < end, "no threads although they can be had");
        solve();
    }
    assert_eq!(count(), before + 1000);
}

/// There is room for the stacks, but little for the other memory of threads.
#[test]
fn threads_with_little_memory() {
    if !is_child() {
        return alone("threads_with_little_memory", "100");
    }
    bound(Some(230 << 20));
    (0..3).for_each(|_| solve());
}

/// Do `work` in a forked process, which has one thread and needs its own pool. Returns its status, 0 if nothing panics.
fn in_a_fork(work: impl FnOnce() + UnwindSafe) -> i32 {
    // SAFETY: the child uses nothing that belongs to other threads of the parent, and then exits.
    let child = unsafe { libc::fork() };
    if child == 0 {
        // The alarm ends a child that hangs.
        // SAFETY: `alarm` only sets a timer.
        unsafe { libc::alarm(20) };
        let worked = std::panic::catch_unwind(work);
        // SAFETY: `_exit` ends the child without running handlers of the parent.
        unsafe { libc::_exit(i32::from(worked.is_err())) };
    }
    let mut status = -1;
    // SAFETY: `child` is a child of this process, and `status` is valid.
    unsafe { libc::waitpid(child, &mut status, 0) };
    status
}

/// Run in a forked process that cannot start threads.
fn in_a_child_of_a_fork(threads: usize) {
    let status = in_a_fork(|| {
        solve();
        assert_eq!(count(), 1);
    });
    assert_eq!((status, count()), (0, threads));
}

#[test]
fn forked_processes_solve_on_threads_of_their_own() {
    if !is_child() {
        return alone("forked_processes_solve_on_threads_of_their_own", "2");
    }
    solve();
    let status = in_a_fork(|| {
        solve();
        assert!(count() > 1);
    });
    assert_eq!(status, 0, "14: still waiting for threads after 20 seconds");
}
