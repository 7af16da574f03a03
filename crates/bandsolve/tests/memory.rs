//! With any limit on the memory of the process, each solve ends with a solution or with `OutOfMemory`.
#![cfg(target_os = "linux")]

use bandsolve::prelude::*;
use bandsolve::{Factorize, RealScalar};
use bandsolve_gallery::{Random, random_vec};
use std::hint::black_box;
use std::process::Command;

/// Number of unknowns, large enough that the allocator maps each array of this size separately.
const N: usize = 20_000;
/// Increase of the limit between two attempts, in bytes.
const STEP: u64 = 150 << 10;
/// Size in bytes from which the allocator maps memory separately. Smaller blocks do not grow with a system, and come from the heap that
/// exists before the limit is set.
const LARGE: i32 = 48 << 10;
/// Size in bytes of a free block of this heap.
const PIECE: usize = 44 << 10;
/// Number of these blocks.
const PIECES: usize = 256;
/// Size in bytes of the blocks between them. They are too large for the lists of small blocks that each thread keeps.
const BETWEEN: usize = 2 << 10;

/// Size of the memory of this process in bytes.
fn mapped() -> u64 {
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap();
    let pages: u64 = pages.split(' ').next().unwrap().parse().unwrap();
    // SAFETY: `sysconf` only returns a number.
    pages * unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as u64
}

/// Limit the memory of this process.
fn limit(bytes: u64) {
    // SAFETY: the pointers refer to a valid `rlimit`.
    unsafe {
        let mut limits = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        assert_eq!(libc::getrlimit(libc::RLIMIT_AS, &mut limits), 0);
        limits.rlim_cur = bytes.min(limits.rlim_max);
        assert_eq!(libc::setrlimit(libc::RLIMIT_AS, &limits), 0);
    }
}

/// Call `solve` under increasing limits until it succeeds. Returns the number of failed attempts.
fn climb<R>(what: &str, mut solve: impl FnMut() -> Result<R, Error>) -> usize {
    // The heap may have grown under the previous limit, when nothing could be mapped.
    // SAFETY: `malloc_trim` only returns unused memory to the system.
    unsafe { libc::malloc_trim(0) };
    let start = mapped();
    for steps in 0..1000 {
        limit(start + steps as u64 * STEP);
        let outcome = solve();
        limit(u64::MAX);
        match outcome {
            Ok(_) => return steps,
            Err(Error::OutOfMemory { .. }) => {}
            Err(other) => panic!("{what}: {other}"),
        }
    }
    panic!("{what}: 150 MB are too little");
}

/// Repeat calls that compute factors late, until there is enough memory.
fn late<T: Scalar>(what: &str, factor: &impl Inspect<T>, rhs: &[T]) -> usize {
    let mut x = rhs.to_vec();
    let mut hard = 0;
    hard += climb(&format!("{what}, transposed"), || factor.solve_transpose_in_place(&mut x));
    hard += climb(&format!("{what}, rcond"), || factor.rcond(Norm::One));
    hard += climb(&format!("{what}, determinant"), || factor.determinant());
    let mut expert = vec![T::ZERO; rhs.len()];
    hard + climb(&format!("{what}, expert"), || factor.solve_expert(Op::Plain, rhs, &mut expert))
}

/// Run all methods that solve the shape: first factoring and solving together, then with stored factors.
fn every_method<T: Scalar, M: Factorize<Scalar = T>>(a: &M, shape: Shape, threads: usize, rhs: &[T])
where
    for<'m> M::Factor<'m>: Inspect<T>,
{
    let mut tries = 0;
    for method in Method::ALL.into_iter().filter(|method| method.solves(shape) && !method.needs_definite()) {
        let plan = || Plan::new(shape).method(method).threads(threads);
        let what = format!("{shape:?} by {}", method.name());
        tries += climb(&what, || plan().factor(a)?.solve(rhs));
        tries += late(&what, &plan().factor(a).unwrap(), rhs);
    }
    assert!(tries > 20, "{shape:?}: memory was short {tries} times");
}

/// Random diagonally dominant systems.
fn tridiagonal<T: Scalar>(periodic: bool) {
    let random = &mut Random::new(3);
    let [sub, mut diag, sup] = [(); 3].map(|()| random_vec::<T>(N, random));
    diag.iter_mut().for_each(|v| *v += T::from_real(T::Real::from_f64(4.0)));
    let a = Tridiagonal::from_vecs(sub, diag, sup, periodic).unwrap();
    every_method(&a, a.shape(), 2, &random_vec::<T>(N, random));
}

fn blocks<T: Scalar>(block: usize, periodic: bool) {
    let random = &mut Random::new(4);
    let rows = N / block / block;
    let mut blocks = [(); 3].map(|()| random_vec::<T>(rows * block * block, random));
    let large = T::from_real(T::Real::from_f64(5.0 * block as f64));
    (0..rows * block).for_each(|i| blocks[1][i / block * block * block + i % block * (block + 1)] += large);
    let a = BlockTridiagonal::from_vecs(block, blocks, periodic).unwrap();
    let rhs = random_vec::<T>(rows * block, random);
    // Products of dense blocks allocate a buffer of fixed size once per thread. This allocation is infallible.
    let threads = if block > 8 { 1 } else { 2 };
    for method in [Method::BlockSpike, Method::Bcyclic] {
        Plan::new(a.shape()).method(method).threads(threads).factor(&a).unwrap().solve(&rhs).unwrap();
    }
    every_method(&a, a.shape(), threads, &rhs);
}

fn banded<T: Scalar>(lower: usize, upper: usize) {
    let random = &mut Random::new(5);
    let leading = lower + upper + 1;
    let n = 4 * N / leading;
    let mut bands = random_vec::<T>(n * leading, random);
    let large = T::from_real(T::Real::from_f64(2.0 * leading as f64));
    bands.iter_mut().skip(upper).step_by(leading).for_each(|v| *v += large);
    let a = Banded::from_vec(n, lower, upper, bands).unwrap();
    every_method(&a, a.shape(), 2, &random_vec::<T>(n, random));
}

fn batch(layout: Layout) {
    let random = &mut Random::new(6);
    let (n, count) = (50, N / 50);
    let [sub, mut diag, sup, rhs] = [(); 4].map(|()| random_vec::<f64>(n * count, random));
    // With these pivots, many systems must be solved again alone.
    diag.iter_mut().enumerate().for_each(|(i, v)| *v = if i % 3 == 0 { 1e-13 } else { *v + 3.0 });
    let a = TridiagonalBatch::new(count, n, layout, &sub, &diag, &sup).unwrap();
    climb("a batch", || a.solve(&rhs));
    let factor = Plan::new(a.shape()).factor(&a).unwrap();
    climb("the systems of a batch", || factor.of_systems(|system| system.rcond(Norm::One)));
}

/// Methods without row exchanges refine, then fall back. Both allocate memory in the middle of a solve.
fn fallback() {
    let random = &mut Random::new(7);
    let [sub, mut diag, sup, rhs] = [(); 4].map(|()| random_vec::<f64>(N, random));
    diag.iter_mut().step_by(3).for_each(|v| *v *= 1e-18);
    let a = Tridiagonal::from_vecs(sub, diag, sup, false).unwrap();
    let mut fell_back = 0;
    for method in [Method::SpikeThomas, Method::Thomas, Method::CfLu, Method::Cr, Method::SpikeCr] {
        let factor = Plan::new(a.shape()).method(method).factor(&a).unwrap();
        // The same factors are used again, so that failed allocations are repeated.
        let tries = climb(&format!("{} that falls back", method.name()), || factor.solve(&rhs));
        fell_back += usize::from(tries > 5 && factor.solve(&rhs).unwrap().report.fallback);
    }
    assert!(fell_back > 2, "{fell_back}");
}

fn sparse() {
    let (sub, diag) = (vec![-1.0; N], vec![2.0; N]);
    let a = Tridiagonal::new(&sub, &diag, &sub).unwrap();
    let columns = 9;
    let (pointers, rows): (Vec<usize>, Vec<usize>) =
        ((0..=columns).collect(), (0..columns).map(|j| j * (N / 10)).collect());
    let values = vec![1.0; columns];
    let rhs = Csc::new(N, &pointers, &rows, &values).unwrap();
    for method in [Method::Rpts, Method::Pivoted] {
        let mut x = vec![0.0; N * columns];
        climb("sparse right-hand sides", || {
            Plan::new(a.shape()).method(method).threads(2).factor(&a)?.solve_sparse_into(Op::Plain, &rhs, &mut x)
        });
        let kept: Vec<usize> = (0..=columns).map(|j| j * 1000).collect();
        let (mut rows, mut values) = (vec![0; 1000 * columns], vec![0.0; 1000 * columns]);
        climb("pruned solutions", || {
            let x = CscMut::new(N, &kept, &mut rows, &mut values)?;
            Plan::new(a.shape()).method(method).threads(2).factor(&a)?.solve_pruned_into(Op::Plain, &rhs, x)
        });
    }
}

/// The work of the child process, whose name is in an environment variable.
fn child(work: &str) {
    // Large blocks are mapped separately and returned to the system. The heap is never trimmed.
    // SAFETY: `mallopt` only changes settings of the allocator.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, LARGE);
        libc::mallopt(libc::M_TRIM_THRESHOLD, i32::MAX);
    }
    // Start the threads of the pool now, so that their stacks exist before a limit is set.
    let warm = Tridiagonal::from_vecs(vec![1.0; 100_000], vec![4.0; 100_000], vec![1.0; 100_000], false).unwrap();
    Plan::new(warm.shape()).threads(2).factor(&warm).unwrap().solve(&vec![1.0; 100_000]).unwrap();
    // Small blocks in between stay allocated, so that the free blocks cannot merge into a large one. Others first fill the gaps that are
    // left in the heap. (The compiler removes an allocation that nothing reads: hence `black_box`.)
    let block = |bytes| black_box(vec![1_u8; bytes]);
    let gaps: Vec<_> = (0..256).map(|_| block(BETWEEN)).collect();
    let (pieces, between): (Vec<_>, Vec<_>) = (0..PIECES).map(|_| (block(PIECE), block(BETWEEN))).unzip();
    drop(pieces);
    std::mem::forget((gaps, between));
    // SAFETY: the calls only return unused memory to the system, and numbers.
    let free = unsafe {
        libc::malloc_trim(0);
        libc::mallinfo2().fordblks
    };
    assert!(free > PIECES / 2 * PIECE, "the heap has {free} free bytes");
    match work {
        "tridiagonal" => tridiagonal::<f64>(false),
        "periodic" => tridiagonal::<f32>(true),
        "complex" => tridiagonal::<Complex64>(false),
        "small blocks" => blocks::<f64>(2, false),
        "blocks" => blocks::<f64>(6, false),
        "dense blocks" => blocks::<f64>(40, true),
        "narrow" => banded::<f64>(2, 1),
        "wide" => banded::<f64>(20, 9),
        "batch" => [Layout::Contiguous, Layout::Interleaved].into_iter().for_each(batch),
        "fallback" => fallback(),
        "sparse" => sparse(),
        other => panic!("{other}?"),
    }
}

/// The name of the variable.
const CHILD: &str = "BANDSOLVE_TEST_MEMORY";

/// Not a test itself: [`every_solve_ends`] runs it in child processes.
#[test]
fn limited() {
    if let Ok(work) = std::env::var(CHILD) {
        child(&work);
    }
}

#[test]
fn every_solve_ends() {
    let works = [
        "tridiagonal",
        "periodic",
        "complex",
        "small blocks",
        "blocks",
        "dense blocks",
        "narrow",
        "wide",
        "batch",
        "fallback",
        "sparse",
    ];
    for work in works {
        let mut command = Command::new(std::env::current_exe().unwrap());
        let command = command.args(["--exact", "limited", "--nocapture"]).env(CHILD, work).env("RUST_BACKTRACE", "0");
        // One heap for all threads: heaps of threads are mapped with room to grow, which the limit would not count.
        let command = command.env("MALLOC_ARENA_MAX", "1");
        let done = command.output().unwrap();
        let said = String::from_utf8_lossy(&done.stderr);
        assert!(done.status.success(), "{work}: {}\n{said}", done.status);
    }
}
