//! Approximate inverses in single precision are as good as those in double precision, for all scales.

use bandsolve::{Complex64, LinearOperator, Scalar};
use bandsolve_gallery::Random;
use bandsolve_sparse::{
    Csr, DoubleScalar, Ending, IterationReport, KrylovMethod, KrylovSolver, Preconditioner, PreconditionerOptions,
    SingleInverse, nine_point,
};

/// ANISO1 on a grid, with its rows multiplied by `scale`.
fn matrix<T: DoubleScalar>(side: usize, scale: &dyn Fn(usize) -> f64) -> Csr<'static, T, u32> {
    let grid = nine_point([[-0.2, -0.1, -0.2], [-1.0, 3.0, -1.0], [-0.2, -0.1, -0.2]], (side, side));
    let entry = |i: usize, j: usize, value: f64| {
        // Off-diagonal entries have the phase ±0.1 in complex types. The matrix is Hermitian and definite except for the scale.
        let by = if i == j { 0.0 } else { 0.1_f64.copysign(j as f64 - i as f64) };
        let turned = T::from_parts(value * by.cos(), value * by.sin());
        (i, j, turned.scale(scale(i)))
    };
    let rows = (0..side * side).flat_map(|i| grid.row(i).map(move |(j, value)| (i, j, value)));
    let entries: Vec<_> = rows.map(|(i, j, value)| entry(i, j, value)).collect();
    Csr::from_triplets(side * side, side * side, &entries).unwrap()
}

fn solve<T: DoubleScalar>(
    a: &Csr<'_, T, u32>,
    m: &dyn LinearOperator<T>,
    (method, rtol): (KrylovMethod, f64),
    size: f64,
) -> IterationReport {
    let mut random = Random::new(3);
    let rhs: Vec<T> = (0..a.rows()).map(|_| T::from_parts(random.uniform(-1.0, 1.0), 0.0).scale(size)).collect();
    let mut x = vec![T::ZERO; a.rows()];
    let report = KrylovSolver::new(method).rtol(rtol).solve(a, Some(m), &rhs, &mut x).unwrap();
    assert!(report.converged(), "{method} {size:e}: {}", report.ending);
    report
}

const GMRES: KrylovMethod = KrylovMethod::Gmres { restart: 20 };
const REFINEMENT: KrylovMethod = KrylovMethod::Richardson { damping: 1.0 };

/// Rounding a preconditioner to 24 bits changes its result by a relative 1e-7, which costs hardly an iteration. `amg-lines`
/// rounds by itself, and can need fewer iterations.
fn iterations_are_those_of_double_precision<T: DoubleScalar>() {
    let a = matrix::<T>(60, &|_| 1.0);
    for name in ["jacobi", "tridiagonal", "alt-i:2", "mos-d:2", "ilu0", "amg-lines:2", "alt-o:2"] {
        let options = PreconditionerOptions::default();
        let double = Preconditioner::new(&a, name.parse().unwrap(), &options).unwrap();
        let single = SingleInverse::new(&a, name.parse().unwrap(), &options).unwrap();
        let counts = [&double as &dyn LinearOperator<T>, &single].map(|m| solve(&a, m, (GMRES, 1e-10), 1.0).iterations);
        let fewer = counts[1] <= counts[0] && name.starts_with("amg-lines");
        assert!(fewer || counts[0].abs_diff(counts[1]) * 20 <= counts[0] + 20, "{} {name}: {counts:?}", T::NAME);
    }
}

#[test]
fn real() {
    iterations_are_those_of_double_precision::<f64>();
}

#[test]
fn complex() {
    iterations_are_those_of_double_precision::<Complex64>();
}

/// Each step of refinement reduces the residual by approximately the tolerance of the inner iteration, down to double precision.
#[test]
fn refinement_reaches_double_precision() {
    for size in [1.0, 1e-300, 1e300] {
        for scale in [1.0, 1e-290, 1e290] {
            // A right-hand side of 1e300 with entries of 1e-290 has a solution outside the range.
            if (size / scale).abs() > 1e290 || (size / scale).abs() < 1e-290 {
                continue;
            }
            let a = matrix::<f64>(40, &|_| scale);
            let m = SingleInverse::new(&a, "ilu0".parse().unwrap(), &PreconditionerOptions::default()).unwrap();
            let m = m.with_solver(KrylovSolver::new(GMRES).rtol(1e-4));
            let report = solve(&a, &m, (REFINEMENT, 1e-13), size);
            assert!(report.iterations <= 5, "{size:e} {scale:e}: {}", report.iterations);
            assert!(m.iterations() >= report.iterations);
        }
    }
}

/// A tolerance below double precision ends after some steps, and the report has the reason.
#[test]
fn refinement_that_gains_nothing_has_stagnated() {
    let a = matrix::<f64>(40, &|_| 1.0);
    let rhs: Vec<f64> = (0..a.rows()).map(|i| (i as f64 * 0.7).sin()).collect();
    for rtol in [1e-4, 2.0] {
        let m = SingleInverse::new(&a, "ilu0".parse().unwrap(), &PreconditionerOptions::default()).unwrap();
        let m = m.with_solver(KrylovSolver::new(GMRES).rtol(rtol));
        let mut x = vec![0.0; a.rows()];
        let report = KrylovSolver::new(REFINEMENT).rtol(1e-18).solve(&a, Some(&m), &rhs, &mut x).unwrap();
        assert!(report.ending == Ending::Stagnated && report.iterations < 100, "{report:?}");
        // With a tolerance of 2, the inner iteration returns zero, and refinement makes no progress.
        assert!(report.relative_residual() < if rtol < 1.0 { 1e-14 } else { 1.1 }, "{report:?}");
    }
}

#[test]
fn rows_of_all_sizes_fit() {
    let a = matrix::<f64>(40, &|i| 10.0_f64.powi((i * 37 % 401) as i32 - 200));
    let m = SingleInverse::new(&a, "ilu0".parse().unwrap(), &PreconditionerOptions::default()).unwrap();
    // The residual of the scaled system, in which every row counts equally.
    let rhs: Vec<f64> = (0..a.rows()).map(|i| a.row(i).map(|(_, value)| value).sum()).collect();
    let mut z = vec![0.0; a.rows()];
    let mut memory = bandsolve::dyn_stack::PodBuffer::new(m.apply_scratch());
    m.apply(&rhs, &mut z, bandsolve::dyn_stack::PodStack::new(&mut memory)).unwrap();
    let plain = matrix::<f64>(40, &|_| 1.0);
    let reference = SingleInverse::new(&plain, "ilu0".parse().unwrap(), &PreconditionerOptions::default()).unwrap();
    let rhs: Vec<f64> = (0..plain.rows()).map(|i| plain.row(i).map(|(_, value)| value).sum()).collect();
    let mut expected = vec![0.0; plain.rows()];
    let mut memory = bandsolve::dyn_stack::PodBuffer::new(reference.apply_scratch());
    reference.apply(&rhs, &mut expected, bandsolve::dyn_stack::PodStack::new(&mut memory)).unwrap();
    // ILU(0) of scaled rows equals the scaled ILU(0). Its condition number is a few hundred, and the rounding unit is 6e-8.
    let error = z.iter().zip(&expected).map(|(z, e)| (z - e).abs()).fold(0.0, f64::max);
    assert!(error < 1e-4, "{error:e}");
}

#[test]
fn what_is_not_square_is_refused() {
    let a = Csr::<f64>::from_triplets(2, 3, &[(0, 0, 1.0)]).unwrap();
    assert!(SingleInverse::new(&a, "none".parse().unwrap(), &PreconditionerOptions::default()).is_err());
}
