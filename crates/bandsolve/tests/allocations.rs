//! Solves in scratch memory of the caller allocate no memory.

use bandsolve::dyn_stack::{PodBuffer, PodStack};
use bandsolve::prelude::*;
use bandsolve::{Factorize, RealScalar, Simd};
use bandsolve_gallery::{Random, random_vec};
use bandsolve_testkit::allocations::{WatchedMemory, allocations};

#[global_allocator]
static MEMORY: WatchedMemory = WatchedMemory;

/// Solve with factors by every method that solves the shape, and count the allocations of this thread.
///
/// `lazy` says whether the first solve may compute factors.
fn check<T: Scalar, M: Factorize<Scalar = T>>(a: &M, shape: Shape, lazy: bool) {
    for method in Method::ALL.into_iter().filter(|method| method.solves(shape)) {
        let all = shape.rows() < 2000;
        for simd in Simd::ALL.iter().copied().filter(|simd| all && simd.is_available() || *simd == Simd::detect()) {
            for verify in [true, false] {
                let plan = Plan::new(shape).method(method).threads(1).simd(simd).verify(verify);
                let factor = plan.factor(a).unwrap();
                for op in [Op::Plain, Op::Transpose, Op::ConjTranspose] {
                    let first = lazy || op != Op::Plain;
                    count(&factor, (op, verify), first, &format!("{shape:?} by {} on {}", method.name(), simd.name()));
                }
            }
        }
    }
}

/// Count the allocations of solves with 1 to 9 right-hand sides. If `first`, one solve is not counted.
fn count<T: Scalar>(factor: &impl Factor<T>, (op, verify): (Op, bool), first: bool, what: &str) {
    let mut uncounted = usize::from(first);
    for n_rhs in [1, 2, 3, 4, 9] {
        // The first solve with many right-hand sides may factor a band again, for all of them together.
        if n_rhs == 9 && matches!(factor.shape(), Shape::Banded { .. } | Shape::BlockTridiagonal { .. }) {
            uncounted = 1;
        }
        let rhs = random_vec::<T>(n_rhs * factor.shape().rows(), &mut Random::new(2));
        let mut x = rhs.clone();
        let mut memory = PodBuffer::new(factor.solve_scratch(n_rhs).or(factor.solve_in_place_scratch(n_rhs)));
        for in_place in [false, true, false] {
            let before = allocations();
            let stack = PodStack::new(&mut memory);
            let report = if in_place {
                x.copy_from_slice(&rhs);
                factor.solve_in_place_with(op, &mut x, stack)
            } else {
                factor.solve_into_with(op, &rhs, &mut x, stack)
            };
            let (made, report) = (allocations() - before, report.unwrap());
            assert!(report.refinement_steps == 0 && !report.fallback, "{what}: {report:?}");
            // The list of backward errors.
            let most = usize::from(verify && n_rhs > 4);
            assert!(made <= most || uncounted > 0, "{what}, {op:?}, {n_rhs} right-hand sides, verify {verify}: {made}");
            uncounted = uncounted.saturating_sub(1);
        }
    }
}

/// Strongly dominant Hermitian matrices of all kinds, which every method solves without refinement.
fn every_kind<T: Scalar>() {
    let random = &mut Random::new(1);
    let real = |value: f64| T::from_real(T::Real::from_f64(value));
    for n in [3, 100, 1500] {
        let sub = random_vec::<T>(n, random);
        let mut sup: Vec<T> = sub.iter().map(|v| Scalar::conj(*v)).collect();
        sup.rotate_left(1);
        for periodic in [false, true] {
            let a = Tridiagonal::from_vecs(sub.clone(), vec![real(40.0); n], sup.clone(), periodic).unwrap();
            check(&a, a.shape(), false);
        }
    }
    for (block_rows, block) in [(200, 1), (3, 2), (600, 2), (100, 5), (20, 12), (4, 70)] {
        let [mut sub, mut diag, mut sup] = [(); 3].map(|()| vec![T::ZERO; block_rows * block * block]);
        for (k, at) in (0..block_rows * block).map(|row| (row, row % block * (block + 1) + row / block * block * block))
        {
            diag[at] = real(40.0 + k as f64 % 7.0);
            (sub[at], sup[at]) = (real(-1.0), real(-1.0));
        }
        for periodic in [false, true] {
            let a = BlockTridiagonal::from_vecs(block, [sub.clone(), diag.clone(), sup.clone()], periodic).unwrap();
            check(&a, a.shape(), false);
        }
    }
    for (n, width) in [(500, 1), (5, 2), (1500, 2), (15_000, 4), (300, 20), (300, 70)] {
        let leading = 2 * width + 1;
        let column = |k: usize| real(if k == width { 40.0 * leading as f64 } else { -1.0 });
        let bands = (0..n * leading).map(|k| column(k % leading)).collect();
        let a = Banded::from_vec(n, width, width, bands).unwrap();
        check(&a, a.shape(), false);
    }
    for layout in [Layout::Contiguous, Layout::Interleaved] {
        for (count, n) in [(300, 50), (7, 300), (3, 5)] {
            // Symmetric, for method `cholesky`.
            let [sub, sup] = [(); 2].map(|()| vec![real(-1.0); n * count]);
            let diag = vec![real(40.0); n * count];
            let a = TridiagonalBatch::new(count, n, layout, &sub, &diag, &sup).unwrap();
            check(&a, a.shape(), false);
            let a = TridiagonalBatch::shared(count, n, layout, &sub[..n], &diag[..n], &sup[..n]).unwrap();
            check(&a, a.shape(), true);
        }
    }
    for (count, n) in [(300, 50), (7, 300), (3, 5)] {
        let bands: Vec<T> = (0..count * n * 5).map(|k| real(if k % 5 == 2 { 40.0 } else { -1.0 })).collect();
        let a = BandedBatch::contiguous(count, n, (2, 2), &bands).unwrap();
        check(&a, a.shape(), false);
    }
}

/// Use only this thread, so that the count includes all allocations.
fn on_this_thread(work: impl FnOnce() + Send) {
    rayon::ThreadPoolBuilder::new().num_threads(1).use_current_thread().build().unwrap().install(work);
}

#[test]
fn real_solves_allocate_nothing() {
    on_this_thread(every_kind::<f64>);
}

#[test]
fn complex_solves_allocate_nothing() {
    on_this_thread(every_kind::<Complex32>);
}
