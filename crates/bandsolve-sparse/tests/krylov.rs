//! Krylov methods: convergence for every number type, and reports of solves that do not converge.

use bandsolve::dyn_stack::{PodBuffer, PodStack};
use bandsolve::{Complex32, Complex64, Error, LinearOperator, RealScalar, Result, Scalar};
use bandsolve_gallery::Random;
use bandsolve_gallery::wide::Double;
use bandsolve_sparse::{
    Csr, Ending, IterationProgress, KrylovInverse, KrylovMethod, KrylovSolver, Preconditioner, PreconditionerOptions,
    PreconditionerSide, PreparedProduct, nine_point,
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

/// A random Hermitian matrix with a dominant diagonal, which every method solves.
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
                for m in [None, Some(&m as &dyn LinearOperator<T>)] {
                    // Without a preconditioner, the steps are too long for a matrix with 3 on its diagonal.
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
                    let taken = if method == KrylovMethod::Cg { PreconditionerSide::Right } else { side };
                    assert_eq!(report.side, m.map(|_| taken));
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
    // If x is the solution, the solve needs no iteration.
    let again = solver.rtol(1e-9).solve(&a, None, &rhs[..200], &mut x[..200]).unwrap();
    assert!(again.converged() && again.iterations == 0);
    // The system has no rows.
    let report = solver.solve(&a, None, &[0.0; 200], &mut [0.0; 200]).unwrap();
    assert!(report.converged() && report.iterations == 0 && report.relative_residual() == 0.0);
    assert!(solver.solve(&a, None, &rhs, &mut x).is_err());
    assert!(solver.solve_columns(&a, None, &rhs[..250], &mut x[..250]).is_err());
}

/// An operator from a function.
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
    // For a cyclic shift, GMRES does not reduce the residual before step n.
    let shift = Formula(n, |x: &[f64], y: &mut [f64]| {
        y.copy_from_slice(x);
        y.rotate_right(1);
    });
    let gmres = KrylovSolver::new(KrylovMethod::Gmres { restart: 20 });
    let report = gmres.solve(&shift, None, &rhs, &mut vec![0.0; n]).unwrap();
    assert_eq!(report.ending, Ending::Stagnated);
    let whole = KrylovSolver::new(KrylovMethod::Gmres { restart: n });
    assert!(whole.solve(&shift, None, &rhs, &mut vec![0.0; n]).unwrap().converged());
    // The matrix is not definite.
    let negative = Formula(n, |x: &[f64], y: &mut [f64]| y.iter_mut().zip(x).for_each(|(y, x)| *y = -x));
    let report = KrylovSolver::new(KrylovMethod::Cg).solve(&negative, None, &rhs, &mut vec![0.0; n]).unwrap();
    assert_eq!(report.ending, Ending::Breakdown);
    // The matrix is singular, and the system has no solution.
    let zero = Formula(n, |_: &[f64], y: &mut [f64]| y.fill(0.0));
    for method in METHODS {
        let mut x = vec![0.0; n];
        let report = KrylovSolver::new(method).solve(&zero, None, &rhs, &mut x).unwrap();
        assert!(!report.converged() && report.residual_norm == 1.0, "{method}: {}", report.ending);
        assert!(x.iter().all(|x| x.is_finite()), "{method}");
    }
    // The iteration produces NaN. The solver returns the best x.
    let wrong = Formula(n, |_: &[f64], y: &mut [f64]| y.fill(f64::NAN));
    for method in METHODS {
        let mut x = vec![0.0; n];
        let shifted = Formula(n, |x: &[f64], y: &mut [f64]| {
            y.iter_mut().zip(x).enumerate().for_each(|(i, (y, x))| *y = (2.0 + i as f64) * x);
        });
        let report = KrylovSolver::new(method).solve(&shifted, Some(&wrong), &rhs, &mut x).unwrap();
        assert!(!report.converged() && x.iter().all(|x| *x == 0.0), "{method}: {}", report.ending);
    }
    // The steps of Richardson's iteration are too long.
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

/// An operator that returns NaN after a number of products.
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

/// The diagonal matrix 1, 1.02, …, for which every method needs some iterations without a good preconditioner.
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
        // Numbers outside the range.
        let huge = Formula(50, |x: &[f64], y: &mut [f64]| y.iter_mut().zip(x).for_each(|(y, x)| *y = 1e308 * x * 1e10));
        assert_eq!(solve(method, &slow(), Some(&huge)), Ending::NotFinite, "{method}");
        let zero = Formula(50, |_: &[f64], y: &mut [f64]| y.fill(0.0));
        let richardson = matches!(method, KrylovMethod::Richardson { .. });
        let expected = if richardson { Ending::Stagnated } else { Ending::Breakdown };
        assert_eq!(solve(method, &zero, None), expected, "{method}");
        assert_eq!(solve(method, &slow(), Some(&zero)), expected, "{method}");
    }
}

/// The report has a warning if x is so large that the matrix is singular to working precision, but not for a small x, or a large x with a large
/// right-hand side.
#[test]
fn solutions_without_a_digit_are_named() {
    for (least, expected) in [(1e-17, true), (1e-13, false), (1.0, false)] {
        let a = Csr::<_, i32>::from_triplets(2, 2, &[(0, 0, 1.0), (1, 1, least)]).unwrap();
        for scale in [1.0, 1e200, 1e-200] {
            let mut x = [0.0; 2];
            let solver = KrylovSolver::new(KrylovMethod::Gmres { restart: 2 }).rtol(1e-6);
            let report = solver.solve(&a, None, &[scale, scale], &mut x).unwrap();
            assert!(report.converged(), "{least} {scale} {report:?}");
            assert_eq!(report.attention.is_some(), expected, "{least} {scale} {report:?}");
        }
    }
}

/// With M on the left, the residual of M⁻¹·A·x = M⁻¹·b is smaller by a factor of 1e5. In single precision, its scale changes during the iteration.
#[test]
fn small_residuals_on_the_left_are_not_stagnation() {
    let n = 300;
    let entries =
        (0..n).flat_map(|i| [(i, i, 1e5 * (2.0 + (i % 7) as f32)), (i, (i + 1) % n, -2e5), ((i + 1) % n, i, 1e4)]);
    let a: Csr<'_, f32, i32> = Csr::from_triplets(n, n, &entries.collect::<Vec<_>>()).unwrap();
    let m = preconditioner(&a, "jacobi");
    let rhs: Vec<f32> = (0..n).map(|i| (i as f32 * 0.7).sin()).collect();
    for method in [KrylovMethod::Gmres { restart: 4 }, KrylovMethod::Bicgstab, KrylovMethod::Idr { space: 4 }] {
        let solver = KrylovSolver::new(method).rtol(1e-5).side(PreconditionerSide::Left);
        let report = solver.solve(&a, Some(&m), &rhs, &mut vec![0.0; n]).unwrap();
        assert!(report.converged(), "{method}: {report:?}");
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
            // The solver returns x of its three iterations.
            assert!(report.residual_norm < report.rhs_norm, "{method} {side:?}");
        }
    }
}

/// A residual that stays constant and then becomes 0 is no stagnation of Richardson's iteration. A residual that only stays constant is.
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

/// A tolerance below the attainable accuracy ends as stagnation, with the best x.
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

/// An operator with a product, but without known entries.
struct Opaque<'a, T: Scalar>(&'a Csr<'a, T, i32>);

impl<T: Scalar> LinearOperator<T> for Opaque<'_, T> {
    fn rows(&self) -> usize {
        self.0.rows()
    }
    fn columns(&self) -> usize {
        self.0.columns()
    }
    fn apply(&self, x: &[T], y: &mut [T], stack: &mut PodStack) -> Result<()> {
        self.0.apply(x, y, stack)
    }
}

/// The matrix times 2^e.
fn times<T: Scalar>(a: &Csr<'_, T, i32>, e: i32) -> Csr<'static, T, i32> {
    let by = T::Real::from_f64(2_f64.powi(e));
    let entries = (0..a.rows()).flat_map(|i| a.row(i).map(move |(j, value)| (i, j, value.scale(by))));
    Csr::from_triplets(a.rows(), a.columns(), &entries.collect::<Vec<_>>()).unwrap()
}

fn vector_times<T: Scalar>(v: &[T], e: i32) -> Vec<T> {
    v.iter().map(|v| v.scale(T::Real::from_f64(2_f64.powi(e)))).collect()
}

/// A right-hand side times a power of two gives x times this power, bit for bit, in the same number of iterations. For a matrix times a power of two,
/// the norms of extreme numbers are rounded differently, so the number of iterations may differ by one.
fn scaled_systems_are_solved_alike<T: Scalar>((of_b, of_a): (i32, i32), rtol: f64) {
    let mut random = Random::new(11);
    let n = 60;
    let a = matrix::<T>(n, &mut random);
    let (rhs, start) = (vector::<T>(n, &mut random), vector::<T>(n, &mut random));
    for (method, side) in METHODS.iter().flat_map(|m| [(*m, PreconditionerSide::Right), (*m, PreconditionerSide::Left)])
    {
        for (kind, begin) in ["none", "jacobi", "alt-i:1", "ilu0"].iter().flat_map(|kind| [(*kind, 0.0), (*kind, 1.0)])
        {
            if kind == "none" && matches!(method, KrylovMethod::Richardson { .. }) {
                continue;
            }
            let solve = |(of_b, of_a): (i32, i32)| {
                let (a, rhs) = (times(&a, of_a), vector_times(&rhs, of_b));
                let m = preconditioner(&a, kind);
                let mut x: Vec<T> = start.iter().map(|x| x.scale(T::Real::from_f64(begin))).collect();
                x = vector_times(&x, of_b - of_a);
                let mut last = Vec::new();
                let watch = &mut |at: IterationProgress<'_, T>| {
                    last = at.x.map_or_else(|| last.clone(), <[T]>::to_vec);
                    ControlFlow::Continue(())
                };
                let solver = KrylovSolver::new(method).rtol(rtol).side(side);
                let report = solver.solve_watched(&a, Some(&m), &rhs, &mut x, watch).unwrap();
                let what = format!("{} {method} {side:?} {kind} {of_b} {of_a}", T::NAME);
                assert!(report.converged(), "{what}: {}", report.ending);
                // Callbacks and reports have unscaled values.
                assert!(last == x, "{what}");
                assert!(
                    (report.rhs_norm / norm_times(&rhs, -of_b) - 2_f64.powi(of_b)).abs() <= 1e-6 * 2_f64.powi(of_b),
                    "{what}"
                );
                assert!(
                    (report.history[0] - report.rhs_norm).abs()
                        <= if begin == 0.0 { 0.0 } else { 50.0 * report.rhs_norm },
                    "{what}"
                );
                assert!(report.relative_residual() <= rtol && report.relative(report.residual_norm) <= rtol, "{what}");
                (report.iterations, vector_times(&x, of_a - of_b), what)
            };
            let expected = solve((0, 0));
            for size in [of_b, -of_b] {
                let (iterations, x, what) = solve((size, 0));
                assert!(iterations == expected.0 && x == expected.1, "{what}: {iterations} {}", expected.0);
            }
            for size in [of_a, -of_a] {
                let (iterations, _, what) = solve((0, size));
                assert!(iterations.abs_diff(expected.0) <= 1, "{what}: {iterations} {}", expected.0);
            }
        }
    }
}

/// Compute ‖2^e·v‖₂.
fn norm_times<T: Scalar>(v: &[T], e: i32) -> f64 {
    let by = 2_f64.powi(e);
    v.iter().map(|v| (v.re().to_f64() * by).powi(2) + (v.im().to_f64() * by).powi(2)).sum::<f64>().sqrt()
}

#[test]
fn scaled_systems_are_solved_alike_in_every_type() {
    scaled_systems_are_solved_alike::<f64>((996, 498), 1e-10);
    scaled_systems_are_solved_alike::<Complex64>((996, 498), 1e-10);
    scaled_systems_are_solved_alike::<f32>((110, 50), 1e-5);
    scaled_systems_are_solved_alike::<Complex32>((110, 50), 1e-5);
}

/// The norm of b is outside the range, but the norm of x is not.
#[test]
fn right_hand_sides_whose_norm_overflows() {
    let a = Csr::<f64, i32>::from_triplets(4, 4, &[0, 1, 2, 3].map(|i| (i, i, 2.0))).unwrap();
    for method in METHODS.into_iter().filter(|m| !matches!(m, KrylovMethod::Richardson { .. })) {
        for (begin, size) in [(0.0, 1.7e308), (1.0, 1.7e308), (0.0, 1e-310), (-1e100, 1.0)] {
            let mut x = [begin; 4];
            let report = KrylovSolver::new(method).solve(&a, None, &[size; 4], &mut x).unwrap();
            assert!(report.converged() && report.relative_residual() <= 1e-6, "{method} {begin} {size}: {report:?}");
            assert!(x.iter().all(|x| (x / size - 0.5).abs() <= 1e-6), "{method} {begin} {size}: {x:?}");
        }
    }
    // Richardson's iteration diverges. The solver returns the initial x, and does not report convergence.
    for begin in [0.0, 1.0] {
        let mut x = [begin; 4];
        let diverging = KrylovSolver::new(KrylovMethod::Richardson { damping: 3.0 });
        let report = diverging.solve(&a, None, &[1.7e308; 4], &mut x).unwrap();
        assert!(!report.converged() && x == [begin; 4], "{report:?}");
    }
    // The product with the initial x is not finite, so no x was kept.
    let mut x = [1.7e308; 4];
    let report = KrylovSolver::new(KrylovMethod::Bicgstab).solve(&a, None, &[1.0; 4], &mut x).unwrap();
    assert!(report.ending == Ending::NotFinite && x == [1.7e308; 4], "{report:?}");
}

/// An inverse by iteration does not accept a residual because of an infinite bound.
#[test]
fn inverses_of_large_operators_are_checked() {
    let mut random = Random::new(5);
    for (size, rhs) in [(530, 0), (0, 530), (-530, 0)] {
        let a = times(&matrix::<f64>(40, &mut random), size);
        let solver = KrylovSolver::new(KrylovMethod::Cg).rtol(1e-12).max_iterations(2);
        let inverse = KrylovInverse::new(solver, &a, None).unwrap();
        let mut memory = PodBuffer::new(inverse.apply_scratch());
        let rhs = vector_times(&vector::<f64>(40, &mut random), rhs);
        let applied = inverse.apply(&rhs, &mut [0.0; 40], PodStack::new(&mut memory));
        assert!(matches!(applied, Err(Error::NotConverged { .. })), "{applied:?}");
    }
}

/// For b = fl(a·x), the residual of x is 0 in working precision. The exact residual is the rounding error of one product.
#[test]
fn residuals_below_their_rounding_prove_nothing() {
    let (a, start) = (Csr::<f64, i32>::from_triplets(1, 1, &[(0, 0, 0.1)]).unwrap(), 0.1);
    for method in METHODS {
        for operator in [&a as &dyn LinearOperator<f64>, &Opaque(&a)] {
            for (rtol, reached) in [(1e-18, false), (1e-6, true)] {
                let mut x = [start];
                let report =
                    KrylovSolver::new(method).rtol(rtol).solve(operator, None, &[0.1 * start], &mut x).unwrap();
                assert_eq!(report.converged(), reached, "{method} {rtol}: {report:?}");
                assert!((x[0] - start).abs() < 1e-16, "{method} {rtol}: {x:?}");
            }
        }
    }
}

/// Compute ‖(b − A·x)·2^e‖₂ and ‖b·2^e‖₂ in double-double, with e such that the second norm is near 1.
fn true_residual<T: Scalar>(a: &Csr<'_, T, i32>, b: &[T], x: &[T]) -> [f64; 2] {
    let size = |v: &[T]| v.iter().map(|v| v.re().to_f64().abs().max(v.im().to_f64().abs())).fold(0.0, f64::max);
    let log = |v: f64| if v > 0.0 { v.log2() as i32 } else { 0 };
    let (of_b, of_a) = (-log(size(b)), -log(size(a.parts().2)));
    // Scale in two steps, because the power may be outside the range.
    let times = |v: f64, e: i32| v * 2_f64.powi(e / 2) * 2_f64.powi(e - e / 2);
    let wide = |v: T, e: i32| [v.re(), v.im()].map(|v| Double::new(times(v.to_f64(), e)));
    let mut squares = [0.0; 2];
    for (i, b) in b.iter().enumerate() {
        let b = wide(*b, of_b);
        squares[1] += b[0].high.powi(2) + b[1].high.powi(2);
        let mut r = b;
        for (j, value) in a.row(i) {
            let (a, x) = (wide(value, of_a), wide(x[j], of_b - of_a));
            r = [r[0] - a[0] * x[0] + a[1] * x[1], r[1] - a[0] * x[1] - a[1] * x[0]];
        }
        squares[0] += r[0].high.powi(2) + r[1].high.powi(2);
    }
    squares.map(f64::sqrt)
}

/// A random system with rows and columns of all scales, often nearly singular.
fn random_system<T: Scalar>(random: &mut Random) -> (Csr<'static, T, i32>, Vec<T>, Vec<T>) {
    let n = 1 + random.below(12);
    let part = |random: &mut Random| random.uniform(-1.0, 1.0);
    let spread = random.uniform(0.0, 0.5 * f64::from(T::Real::EPSILON.to_f64().log10().abs() as f32));
    let power = |random: &mut Random| 10_f64.powf(random.uniform(-spread, 0.0));
    let hermitian = random.bernoulli(0.5);
    let mut entries: Vec<(usize, usize, T)> = Vec::new();
    let number = |re: f64, im: f64| T::from_parts(T::Real::from_f64(re), T::Real::from_f64(im));
    for i in 0..n {
        entries.push((i, i, number(power(random), 0.0)));
        for _ in 0..random.below(4) {
            let (j, by) = (random.below(n), power(random));
            let value = number(part(random) * by, part(random) * by);
            if j != i {
                entries.push((i, j, value));
                if hermitian {
                    entries.push((j, i, value.conj()));
                    // The matrix stays definite.
                    let more = number(2.0 * by, 0.0);
                    entries.extend([(i, i, more), (j, j, more)]);
                }
            }
        }
    }
    let single = size_of::<T::Real>() == 4;
    let pick = |random: &mut Random, of: [i32; 3]| of[random.below(3)];
    let of_a = if single { pick(random, [0, 50, -50]) } else { pick(random, [0, 498, -498]) };
    let of_b = if single { pick(random, [0, 100, -100]) } else { pick(random, [0, 996, -996]) };
    let a = times(&Csr::from_triplets(n, n, &entries).unwrap(), of_a);
    // The right-hand side belongs to a solution of moderate size, or is random.
    let mut rhs = vector::<T>(n, random);
    if random.bernoulli(0.5) {
        let mut image = vec![T::ZERO; n];
        a.apply(&rhs, &mut image, PodStack::new(&mut [])).unwrap();
        rhs = vector_times(&image, -of_a);
    }
    let reachable = (of_b - of_a).abs() < if single { 100 } else { 900 };
    let mut begin = vec![T::ZERO; n];
    if reachable && random.bernoulli(0.3) {
        begin = vector_times(&vector::<T>(n, random), of_b - of_a);
    }
    (a, vector_times(&rhs, of_b), begin)
}

/// Check in double-double that the report of a random solve is correct. Return the number of reports of convergence.
fn claims_hold<T: Scalar>(cases: usize, random: &mut Random) -> usize {
    const KINDS: [&str; 9] =
        ["none", "jacobi", "tridiagonal", "ilu0", "alt-i:1", "alt-o:1", "mos-d:1", "amg-lines:1", "diagp1"];
    let digits = -T::Real::EPSILON.to_f64().log10();
    let mut claims = 0;
    for case in 0..cases {
        let (a, rhs, mut x) = random_system::<T>(random);
        let kind = KINDS[random.below(KINDS.len())];
        let Ok(m) = Preconditioner::new(&a, kind.parse().unwrap(), &PreconditionerOptions::default()) else { continue };
        let side =
            if random.bernoulli(0.3) && !m.changes() { PreconditionerSide::Left } else { PreconditionerSide::Right };
        let method = METHODS[random.below(METHODS.len())];
        // Most tolerances are near the rounding errors.
        let rtol = 10_f64.powf(-digits * (1.0 - 0.6 * random.unit().powi(3)));
        let (product, opaque) = (PreparedProduct::new(&a).unwrap(), Opaque(&a));
        let operators = [&a as &dyn LinearOperator<T>, &product, &opaque];
        let solver = KrylovSolver::new(method).rtol(rtol).side(side).max_iterations(200);
        let report = solver.solve(operators[random.below(3)], (kind != "none").then_some(&m), &rhs, &mut x).unwrap();
        if report.converged() {
            claims += 1;
            let [residual, size] = true_residual(&a, &rhs, &x);
            let what = format!("{} case {case}: {method} {kind} {side:?}, {} rows", T::NAME, rhs.len());
            assert!(residual <= rtol * size, "{what}: {residual:e} > {rtol:e}·{size:e}, {report:?}");
        }
    }
    claims
}

#[test]
fn what_is_claimed_is_so_in_twice_the_precision() {
    let cases = 500;
    let mut random = Random::new(37);
    let claims = [
        claims_hold::<f64>(cases, &mut random),
        claims_hold::<Complex64>(cases, &mut random),
        claims_hold::<f32>(cases, &mut random),
        claims_hold::<Complex32>(cases, &mut random),
    ];
    println!("claims of {cases}: {claims:?}");
    // The check needs enough converged solves.
    assert!(claims.iter().all(|claims| claims * 10 >= cases), "{claims:?}");
}

/// With an indefinite preconditioner, conjugate gradients end when rᴴ·M⁻¹·r is not positive.
#[test]
fn indefinite_preconditioners_break_down() {
    let n = 200;
    let a = Formula(n, |x: &[f64], y: &mut [f64]| {
        let at = |i: usize| x.get(i).copied().unwrap_or(0.0);
        (0..n).for_each(|i| y[i] = 2.0 * x[i] - at(i.wrapping_sub(1)) - at(i + 1));
    });
    let mut random = Random::new(23);
    for (every, seed) in [2, 3, 10, 50, 200].iter().flat_map(|every| (0..5).map(move |seed| (every, seed))) {
        let m = Formula(n, |x: &[f64], y: &mut [f64]| {
            (0..n).for_each(|i| y[i] = if (i + seed).is_multiple_of(*every) { -x[i] } else { x[i] });
        });
        let rhs = vector::<f64>(n, &mut random);
        for flexible in [false, true] {
            let solver = KrylovSolver::new(KrylovMethod::Cg).rtol(1e-10).max_iterations(2000);
            let m = Changing(&m, flexible);
            let report = solver.solve(&a, Some(&m), &rhs, &mut vec![0.0; n]).unwrap();
            let (ending, steps) = (report.ending, report.iterations);
            assert_eq!(ending, Ending::Breakdown, "{every} {seed} {flexible}: after {steps}");
            // Conjugate gradients end after the first few steps.
            assert!(steps < 20, "{every} {seed} {flexible}: {steps}");
        }
    }
}

/// A preconditioner that is not Hermitian. Conjugate gradients would use all iterations without progress.
#[test]
fn preconditioners_that_are_not_hermitian_break_down() {
    let n = 400;
    let a = Formula(n, |x: &[f64], y: &mut [f64]| {
        let at = |i: usize| x.get(i).copied().unwrap_or(0.0);
        (0..n).for_each(|i| y[i] = 2.0 * x[i] - at(i.wrapping_sub(1)) - at(i + 1));
    });
    // I + S is definite, but far from Hermitian.
    let m = Formula(n, |x: &[f64], y: &mut [f64]| {
        (0..n).for_each(|i| y[i] = x[i] + 0.9 * x[(i + 7) % n]);
    });
    let rhs: Vec<f64> = (0..n).map(|i| (i as f64 * 0.7).sin()).collect();
    let solver = KrylovSolver::new(KrylovMethod::Cg).rtol(1e-10).max_iterations(2000);
    let report = solver.solve(&a, Some(&m), &rhs, &mut vec![0.0; n]).unwrap();
    assert!(
        report.ending == Ending::Breakdown && report.iterations <= 1024,
        "{}: {}",
        report.ending,
        report.iterations
    );
    // With a Hermitian preconditioner, a slow iteration continues.
    let report = solver.solve(&a, Some(&slow_diagonal(n)), &rhs, &mut vec![0.0; n]).unwrap();
    assert_ne!(report.ending, Ending::Breakdown);
}

/// Entries from 1e-3 to 1 in irregular order.
fn slow_diagonal(n: usize) -> Formula<impl Fn(&[f64], &mut [f64]) + Sync> {
    Formula(n, move |x: &[f64], y: &mut [f64]| {
        (0..n).for_each(|i| y[i] = 10_f64.powf(-3.0 * ((i * 37) % n) as f64 / n as f64) * x[i]);
    })
}

/// An operator that says that it changes from step to step.
struct Changing<'a>(&'a dyn LinearOperator<f64>, bool);

impl LinearOperator<f64> for Changing<'_> {
    fn rows(&self) -> usize {
        self.0.rows()
    }
    fn columns(&self) -> usize {
        self.0.columns()
    }
    fn changes(&self) -> bool {
        self.1
    }
    fn apply(&self, x: &[f64], y: &mut [f64], stack: &mut PodStack) -> Result<()> {
        self.0.apply(x, y, stack)
    }
}
