//! Memory that is not there: every solve ends with an answer or with `OutOfMemory`, whatever the limit on the memory of the process.
#![cfg(target_os = "linux")]

use bandsolve::prelude::*;
use bandsolve::{Factorize, RealScalar};
use bandsolve_gallery::{Random, random_vec};
use std::process::Command;

/// Unknowns: enough for what grows with them to be mapped by itself.
const N: usize = 20_000;
/// So much is added to the limit between two tries.
const STEP: u64 = 150 << 10;
/// Bytes from which on memory is mapped by itself. What is smaller comes from pieces that were there before the limit was set: it does
/// not grow with a system.
const LARGE: i32 = 48 << 10;
/// Bytes of such a piece.
const PIECE: usize = 44 << 10;

/// Bytes of memory of this process.
fn mapped() -> u64 {
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap();
    let pages: u64 = pages.split(' ').next().unwrap().parse().unwrap();
    // SAFETY: asks for a number.
    pages * unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as u64
}

/// Limits the memory of this process.
fn limit(bytes: u64) {
    // SAFETY: structures of the right kind.
    unsafe {
        let mut limits = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        assert_eq!(libc::getrlimit(libc::RLIMIT_AS, &mut limits), 0);
        limits.rlim_cur = bytes.min(limits.rlim_max);
        assert_eq!(libc::setrlimit(libc::RLIMIT_AS, &limits), 0);
    }
}

/// Calls `solve` under higher and higher limits until it succeeds; returns how often there was too little.
fn climb<R>(what: &str, mut solve: impl FnMut() -> Result<R, Error>) -> usize {
    // The heap may have grown under the limit before, where nothing could be mapped.
    // SAFETY: gives back what nobody uses.
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

/// Factors that failed for want of memory where they are made late, asked again.
fn late<T: Scalar>(what: &str, factor: &impl Inspect<T>, rhs: &[T]) -> usize {
    let mut x = rhs.to_vec();
    let mut hard = 0;
    hard += climb(&format!("{what}, transposed"), || factor.solve_transpose_in_place(&mut x));
    hard += climb(&format!("{what}, rcond"), || factor.rcond(Norm::One));
    hard += climb(&format!("{what}, determinant"), || factor.determinant());
    let mut expert = vec![T::ZERO; rhs.len()];
    hard + climb(&format!("{what}, expert"), || factor.solve_expert(Op::Plain, rhs, &mut expert))
}

/// Every method that solves the shape: factored and solved at once, then with factors that are kept.
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

/// Random, dominant.
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
    // Products of dense blocks take what the cache has, once for each thread and without asking: it does not grow with a system.
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
    // Every other system has to be solved again alone, or so it seems.
    diag.iter_mut().enumerate().for_each(|(i, v)| *v = if i % 3 == 0 { 1e-13 } else { *v + 3.0 });
    let a = TridiagonalBatch::new(count, n, layout, &sub, &diag, &sup).unwrap();
    climb("a batch", || a.solve(&rhs));
    let factor = Plan::new(a.shape()).factor(&a).unwrap();
    climb("the systems of a batch", || factor.of_systems(|system| system.rcond(Norm::One)));
}

/// What does not exchange rows is refined as a whole, then solved again: both ask for memory in the middle of a solve.
fn fallback() {
    let random = &mut Random::new(7);
    let [sub, mut diag, sup, rhs] = [(); 4].map(|()| random_vec::<f64>(N, random));
    diag.iter_mut().step_by(3).for_each(|v| *v *= 1e-18);
    let a = Tridiagonal::from_vecs(sub, diag, sup, false).unwrap();
    let mut fell_back = 0;
    for method in [Method::SpikeThomas, Method::Thomas, Method::CfLu, Method::Cr, Method::SpikeCr] {
        let factor = Plan::new(a.shape()).method(method).factor(&a).unwrap();
        // The same factors again and again: what failed for want of memory is tried again.
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

/// What the child does: its name is an environment variable.
fn child(work: &str) {
    // What is large is mapped by itself and given back, and there is enough of the heap for all that is small.
    // SAFETY: settings of the allocator.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, LARGE);
        libc::mallopt(libc::M_TRIM_THRESHOLD, i32::MAX);
    }
    // The threads of the pool, and what their stacks need, are there from now on.
    let warm = Tridiagonal::from_vecs(vec![1.0; 100_000], vec![4.0; 100_000], vec![1.0; 100_000], false).unwrap();
    Plan::new(warm.shape()).threads(2).factor(&warm).unwrap().solve(&vec![1.0; 100_000]).unwrap();
    // What lies between keeps the pieces that are given back from becoming a large one.
    let (pieces, between): (Vec<_>, Vec<_>) = (0..256).map(|_| (vec![1_u8; PIECE], vec![1_u8; 64])).unzip();
    drop(pieces);
    std::mem::forget(between);
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

/// Not a test by itself: what [`every_solve_ends`] runs in processes of its own.
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
        // One heap: those of threads are mapped with room to grow, which no limit counts.
        let command = command.env("MALLOC_ARENA_MAX", "1");
        let done = command.output().unwrap();
        let said = String::from_utf8_lossy(&done.stderr);
        assert!(done.status.success(), "{work}: {}\n{said}", done.status);
    }
}
