//! Krylov methods: what they promise, of every number type, and what they say when they cannot.

use bandsolve::dyn_stack::{PodBuffer, PodStack};
use bandsolve::{Complex32, Complex64, Error, LinearOperator, RealScalar, Result, Scalar};
use bandsolve_gallery::Random;
use bandsolve_sparse::{
    Csr, Ending, IterationProgress, KrylovMethod, KrylovSolver, Preconditioner, PreconditionerOptions,
    PreconditionerSide, nine_point,
};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicUsize, Ordering};

const METHODS: [KrylovMethod; 5] = [
    KrylovMethod::Gmres { restart: 20 },
    KrylovMethod::Bicgstab,
    KrylovMethod::Cg,
    KrylovMethod::Idr { space: 4 },
    KrylovMethod::Richardson { damping: 1.0 },
];

/// A random Hermitian matrix with a dominant diagonal: every method solves it.
fn matrix<T: Scalar>(n: usize, random: &mut Random) -> Csr<'static, T, i32> {
    let mut entries = Vec::new();
    for i in 0..n {
        entries.push((i, i, T::from_real(T::Real::from_f64(3.0))));
        for _ in 0..2 {
            let j = random.below(n);
            let part = |random: &mut Random| T::Real::from_f64(random.uniform(-0.3, 0.3));
            let value = T::from_parts(part(random), part(random));
            if i != j {
                entries.extend([(i, j, value), (j, i, value.conj())]);
            }
        }
    }
    Csr::from_triplets(n, n, &entries).unwrap()
}

fn vector<T: Scalar>(n: usize, random: &mut Random) -> Vec<T> {
    let part = |random: &mut Random| T::Real::from_f64(random.uniform(-1.0, 1.0));
    (0..n).map(|_| T::from_parts(part(random), part(random))).collect()
}

fn norm<T: Scalar>(v: &[T]) -> f64 {
    v.iter().map(|v| Scalar::abs(*v).to_f64().powi(2)).sum::<f64>().sqrt()
}

fn preconditioner<'a, T: Scalar>(a: &'a Csr<'a, T, i32>, name: &str) -> Preconditioner<'a, T> {
    Preconditioner::new(a, name.parse().unwrap(), &PreconditionerOptions::default()).unwrap()
}

fn every_method_solves<T: Scalar>(rtol: f64) {
    let mut random = Random::new(7);
    for n in [1, 2, 5, 300, 3000] {
        let a = matrix::<T>(n, &mut random);
        let rhs = vector::<T>(n, &mut random);
        let m = preconditioner(&a, "alt-i:1");
        for method in METHODS {
            for side in [PreconditionerSide::Right, PreconditionerSide::Left] {
                // CG wants a Hermitian product.
                if (method, side) == (KrylovMethod::Cg, PreconditionerSide::Left) {
                    continue;
                }
                for m in [None, Some(&m as &dyn LinearOperator<T>)] {
                    // 3·x of a matrix with 3 on its diagonal goes too far without a preconditioner.
                    if m.is_none() && matches!(method, KrylovMethod::Richardson { .. }) {
                        continue;
                    }
                    let mut x = vec![T::ZERO; n];
                    let solver = KrylovSolver::new(method).rtol(rtol).side(side);
                    let report = solver.solve(&a, m, &rhs, &mut x).unwrap();
                    let (mut r, mut memory) = (vec![T::ZERO; n], PodBuffer::new(a.apply_scratch()));
                    a.residual(&x, &rhs, &mut r, PodStack::new(&mut memory)).unwrap();
                    assert!(report.converged(), "{} {n} {method} {side:?}: {}", T::NAME, report.ending);
                    assert!(norm(&r) <= 1.01 * rtol * norm(&rhs), "{} {n} {method} {side:?}", T::NAME);
                    assert_eq!(report.history.len(), report.iterations + 1);
                    assert_eq!(report.side, m.map(|_| side));
                }
            }
        }
    }
}

#[test]
fn every_method_solves_in_every_type() {
    every_method_solves::<f64>(1e-12);
    every_method_solves::<Complex64>(1e-12);
    every_method_solves::<f32>(1e-5);
    every_method_solves::<Complex32>(1e-5);
}

#[test]
fn threads_change_no_bit() {
    let a = nine_point([[-0.2, -0.1, -0.2], [-1.0, 3.0, -1.0], [-0.2, -0.1, -0.2]], (150, 140));
    let rhs: Vec<f64> = (0..a.rows()).map(|i| (i as f64 * 0.7).sin()).collect();
    for kind in ["jacobi", "alt-i:2", "mos-a:2:scaled", "amg-lines:2", "ilu-isai:1"] {
        for method in METHODS {
            let solve = || {
                let m = Preconditioner::new(&a, kind.parse().unwrap(), &PreconditionerOptions::default()).unwrap();
                let mut x = vec![0.0; rhs.len()];
                let solver = KrylovSolver::new(method).max_iterations(15);
                let report = solver.solve(&a, Some(&m), &rhs, &mut x).unwrap();
                (x, report)
            };
            let with = |threads| rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(solve);
            let expected = with(1);
            for threads in [2, 3, 7] {
                let got = with(threads);
                let same = got.0.iter().zip(&expected.0).all(|(a, b)| a.to_bits() == b.to_bits());
                assert!(same && got.1 == expected.1, "{kind} {method}, {threads} threads");
            }
        }
    }
}

#[test]
fn several_right_hand_sides_and_a_start() {
    let mut random = Random::new(3);
    let a = matrix::<f64>(200, &mut random);
    let rhs = vector::<f64>(600, &mut random);
    let mut x = vec![0.0; 600];
    let solver = KrylovSolver::new(KrylovMethod::Cg).rtol(1e-10);
    let reports = solver.solve_columns(&a, None, &rhs, &mut x).unwrap();
    assert!(reports.len() == 3 && reports.iter().all(|report| report.converged()));
    // The solution itself takes no iteration.
    let again = solver.rtol(1e-9).solve(&a, None, &rhs[..200], &mut x[..200]).unwrap();
    assert!(again.converged() && again.iterations == 0);
    // Nothing to solve.
    let report = solver.solve(&a, None, &[0.0; 200], &mut [0.0; 200]).unwrap();
    assert!(report.converged() && report.iterations == 0 && report.relative_residual() == 0.0);
    assert!(solver.solve(&a, None, &rhs, &mut x).is_err());
    assert!(solver.solve_columns(&a, None, &rhs[..250], &mut x[..250]).is_err());
}

/// An operator by a function.
struct Formula<F>(usize, F);

impl<F: Fn(&[f64], &mut [f64]) + Sync> LinearOperator<f64> for Formula<F> {
    fn rows(&self) -> usize {
        self.0
    }
    fn columns(&self) -> usize {
        self.0
    }
    fn apply(&self, x: &[f64], y: &mut [f64], _: &mut PodStack) -> Result<()> {
        (self.1)(x, y);
        Ok(())
    }
}

#[test]
fn endings_have_names() {
    let n = 50;
    let rhs: Vec<f64> = (0..n).map(|i| if i == 0 { 1.0 } else { 0.0 }).collect();
    // A cyclic shift: GMRES gains nothing before step n.
    let shift = Formula(n, |x: &[f64], y: &mut [f64]| {
        y.copy_from_slice(x);
        y.rotate_right(1);
    });
    let gmres = KrylovSolver::new(KrylovMethod::Gmres { restart: 20 });
    let report = gmres.solve(&shift, None, &rhs, &mut vec![0.0; n]).unwrap();
    assert_eq!(report.ending, Ending::Stagnated);
    let whole = KrylovSolver::new(KrylovMethod::Gmres { restart: n });
    assert!(whole.solve(&shift, None, &rhs, &mut vec![0.0; n]).unwrap().converged());
    // Not definite.
    let negative = Formula(n, |x: &[f64], y: &mut [f64]| y.iter_mut().zip(x).for_each(|(y, x)| *y = -x));
    let report = KrylovSolver::new(KrylovMethod::Cg).solve(&negative, None, &rhs, &mut vec![0.0; n]).unwrap();
    assert_eq!(report.ending, Ending::Breakdown);
    // Singular, and the right-hand side is out of reach.
    let zero = Formula(n, |_: &[f64], y: &mut [f64]| y.fill(0.0));
    for method in METHODS {
        let mut x = vec![0.0; n];
        let report = KrylovSolver::new(method).solve(&zero, None, &rhs, &mut x).unwrap();
        assert!(!report.converged() && report.residual_norm == 1.0, "{method}: {}", report.ending);
        assert!(x.iter().all(|x| x.is_finite()), "{method}");
    }
    // NaN on the way: the best x is kept.
    let wrong = Formula(n, |_: &[f64], y: &mut [f64]| y.fill(f64::NAN));
    for method in METHODS {
        let mut x = vec![0.0; n];
        let shifted = Formula(n, |x: &[f64], y: &mut [f64]| {
            y.iter_mut().zip(x).enumerate().for_each(|(i, (y, x))| *y = (2.0 + i as f64) * x);
        });
        let report = KrylovSolver::new(method).solve(&shifted, Some(&wrong), &rhs, &mut x).unwrap();
        assert!(!report.converged() && x.iter().all(|x| *x == 0.0), "{method}: {}", report.ending);
    }
    // Richardson's steps are too long.
    let steep = Formula(n, |x: &[f64], y: &mut [f64]| y.iter_mut().zip(x).for_each(|(y, x)| *y = 5.0 * x));
    let richardson = KrylovSolver::new(KrylovMethod::Richardson { damping: 1.0 }).max_iterations(40);
    let mut x = vec![0.0; n];
    let report = richardson.solve(&steep, None, &rhs, &mut x).unwrap();
    assert!(!report.converged() && report.residual_norm <= 1.0 && x.iter().all(|x| *x == 0.0), "{}", report.ending);
    let bad = [f64::NAN; 50];
    assert!(matches!(
        gmres.solve(&shift, None, &bad, &mut vec![0.0; n]),
        Err(Error::NotFinite { array: "rhs", index: 0 })
    ));
}

/// An operator that goes wrong: numbers become NaN after so many products.
struct Failing(usize, AtomicUsize);

impl LinearOperator<f64> for Failing {
    fn rows(&self) -> usize {
        50
    }
    fn columns(&self) -> usize {
        50
    }
    fn apply(&self, x: &[f64], y: &mut [f64], _: &mut PodStack) -> Result<()> {
        let fails = self.1.fetch_add(1, Ordering::Relaxed) >= self.0;
        y.iter_mut().zip(x).for_each(|(y, x)| *y = if fails { f64::NAN } else { *x });
        Ok(())
    }
}

/// The diagonal matrix 1, 1.02, …: without a good preconditioner every method takes some iterations.
fn slow() -> Formula<impl Fn(&[f64], &mut [f64]) + Sync> {
    Formula(50, |x: &[f64], y: &mut [f64]| {
        y.iter_mut().zip(x).enumerate().for_each(|(i, (y, x))| *y = (1.0 + 0.02 * i as f64) * x);
    })
}

#[test]
fn nan_and_breakdowns_are_named() {
    let rhs: Vec<f64> = (0..50).map(|i| (i as f64 * 0.7).sin()).collect();
    let solve = |method, a: &dyn LinearOperator<f64>, m: Option<&dyn LinearOperator<f64>>| {
        let mut x = vec![0.0; 50];
        let report = KrylovSolver::new(method).rtol(1e-14).solve(a, m, &rhs, &mut x).unwrap();
        assert!(x.iter().all(|x| x.is_finite()), "{method}: {}", report.ending);
        assert!(report.residual_norm <= report.rhs_norm, "{method}: {}", report.ending);
        report.ending
    };
    for method in METHODS {
        for products in 0..5 {
            let wrong = Failing(products, AtomicUsize::new(0));
            assert_eq!(solve(method, &slow(), Some(&wrong)), Ending::NotFinite, "{method} {products}");
        }
        // Numbers beyond the range.
        let huge = Formula(50, |x: &[f64], y: &mut [f64]| y.iter_mut().zip(x).for_each(|(y, x)| *y = 1e308 * x * 1e10));
        assert_eq!(solve(method, &slow(), Some(&huge)), Ending::NotFinite, "{method}");
        let zero = Formula(50, |_: &[f64], y: &mut [f64]| y.fill(0.0));
        let richardson = matches!(method, KrylovMethod::Richardson { .. });
        let expected = if richardson { Ending::Stagnated } else { Ending::Breakdown };
        assert_eq!(solve(method, &zero, None), expected, "{method}");
        assert_eq!(solve(method, &slow(), Some(&zero)), expected, "{method}");
    }
}

#[test]
fn the_caller_ends_every_method() {
    let rhs: Vec<f64> = (0..50).map(|i| (i as f64 * 0.7).sin()).collect();
    let m = Formula(50, |x: &[f64], y: &mut [f64]| y.iter_mut().zip(x).for_each(|(y, x)| *y = 0.9 * x));
    for method in METHODS {
        for side in [PreconditionerSide::Right, PreconditionerSide::Left] {
            let mut seen = Vec::new();
            let watch = &mut |at: IterationProgress<'_, f64>| {
                seen.push(at.residual_norm);
                if at.iteration == 3 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            };
            let solver = KrylovSolver::new(method).rtol(1e-14).side(side);
            let report = solver.solve_watched(&slow(), Some(&m), &rhs, &mut [0.0; 50], watch).unwrap();
            assert_eq!((report.ending, report.iterations), (Ending::Cancelled, 3), "{method} {side:?}");
            assert_eq!(seen, report.history[1..], "{method} {side:?}");
            // With the x of its three iterations.
            assert!(report.residual_norm < report.rhs_norm, "{method} {side:?}");
        }
    }
}

/// A residual that stays as it is, and then vanishes, is no stagnation of Richardson's iteration; one that only stays is.
#[test]
fn richardson_waits_for_residuals_that_wander() {
    let n = 300;
    let chain = Formula(n, |x: &[f64], y: &mut [f64]| {
        (0..n).for_each(|i| y[i] = x[i] - if i > 0 { x[i - 1] } else { 0.0 });
    });
    let rhs: Vec<f64> = (0..n).map(|i| if i == 0 { 1.0 } else { 0.0 }).collect();
    let richardson = KrylovSolver::new(KrylovMethod::Richardson { damping: 1.0 });
    let report = richardson.solve(&chain, None, &rhs, &mut vec![0.0; n]).unwrap();
    assert!(report.converged() && report.iterations == n, "{}", report.ending);
    let shift = Formula(n, |x: &[f64], y: &mut [f64]| (0..n).for_each(|i| y[i] = x[i] - x[(i + n - 1) % n]));
    let report = richardson.solve(&shift, None, &rhs, &mut vec![0.0; n]).unwrap();
    assert_eq!((report.ending, report.iterations), (Ending::Stagnated, n + 2));
}

#[test]
fn names_are_read_and_written() {
    let same = ["gmres:20", "bicgstab", "cg", "idr:4", "richardson", "richardson:0.5"];
    let others =
        [("gmres", "gmres:30"), ("fgmres", "gmres:30"), ("fgmres:20", "gmres:20"), ("richardson:1", "richardson")];
    for (name, written) in same.map(|name| (name, name)).into_iter().chain(others) {
        assert_eq!(name.parse::<KrylovMethod>().unwrap().to_string(), written);
    }
    for wrong in ["", "gmres:", "gmres:0", "fgmres:x", "cg:1", "bicgstab:2", "idr:-1", "richardson:inf", "minres"] {
        assert!(wrong.parse::<KrylovMethod>().is_err(), "{wrong}");
    }
}

/// Attainable accuracy: what is asked for beyond it ends as stagnation, with the best x.
#[test]
fn convergence_is_never_claimed() {
    let a = nine_point([[0.0, -1.0, 0.0], [-1.0, 4.0, -1.0], [0.0, -1.0, 0.0]], (20, 20));
    let rhs: Vec<f64> = (0..a.rows()).map(|i| (i as f64 * 0.7).sin()).collect();
    for method in METHODS {
        let m = Preconditioner::new(&a, "alt-i:1".parse().unwrap(), &PreconditionerOptions::default()).unwrap();
        let mut x = vec![0.0; rhs.len()];
        let solver = KrylovSolver::new(method).rtol(1e-18).max_iterations(100_000);
        let report = solver.solve(&a, Some(&m), &rhs, &mut x).unwrap();
        assert!(
            report.ending == Ending::Stagnated && report.relative_residual() < 1e-13,
            "{method}: {}",
            report.ending
        );
    }
}
