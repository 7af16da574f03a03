//! Shift-and-invert with iterative solves: a preconditioned Krylov method instead of factors.

use bandsolve::Error;
use bandsolve_eigen::{EigenProblem, EigenSolver, HermitianEigen};
use bandsolve_sparse::{Csr, KrylovInverse, KrylovMethod, KrylovSolver, Preconditioner, nine_point};
use core::f64::consts::PI;

type Matrix = Csr<'static, f64, u32>;

/// The matrix of −u_xx − ε·u_yy on n × n nodes with ε = 0.01, in row-major order.
fn anisotropic(n: usize) -> Matrix {
    nine_point([[0.0, -0.01, 0.0], [-1.0, 2.02, -1.0], [0.0, -0.01, 0.0]], (n, n))
}

/// The offsets λ − σ of all eigenvalues, nearest to σ first.
fn exact_offsets(n: usize, sigma: f64) -> Vec<f64> {
    let line = |k: usize| 4.0 * (PI * k as f64 / (2 * (n + 1)) as f64).sin().powi(2);
    let mut all: Vec<f64> = (0..n * n).map(|k| line(1 + k / n) + 0.01 * line(1 + k % n) - sigma).collect();
    all.sort_by(|a, b| a.abs().total_cmp(&b.abs()));
    all
}

/// Find the k eigenvalues of (A, B) nearest to σ. Also returns the number of iterations per solve.
fn nearest(
    matrices: (&Matrix, Option<&Matrix>),
    (k, sigma): (usize, f64),
    solver: KrylovSolver<'_>,
) -> bandsolve::Result<(HermitianEigen<f64>, f64)> {
    nearest_to(1e-8, matrices, (k, sigma), solver)
}

/// Do the same with another tolerance.
fn nearest_to(
    tol: f64,
    (a, b): (&Matrix, Option<&Matrix>),
    (k, sigma): (usize, f64),
    solver: KrylovSolver<'_>,
) -> bandsolve::Result<(HermitianEigen<f64>, f64)> {
    let shifted = a.shifted(sigma, b)?;
    let m = Preconditioner::new(&shifted, "amg-lines".parse().expect("a name"), &Default::default())?;
    let inverse = KrylovInverse::new(solver, &shifted, Some(&m))?;
    let mut problem = EigenProblem::new(a).shifted(sigma, &inverse);
    if let Some(b) = b {
        problem = problem.mass(b);
    }
    let eigen = EigenSolver::new(k).tol(tol).hermitian(&problem)?;
    let iterations = inverse.iterations() as f64 / eigen.report.solves as f64;
    Ok((eigen, iterations))
}

/// The largest relative error of the offsets.
fn error_of(eigen: &HermitianEigen<f64>, exact: &[f64]) -> f64 {
    eigen.offsets.iter().zip(exact).map(|(eigen, exact)| ((eigen - exact) / exact).abs()).fold(0.0, f64::max)
}

const CG: KrylovMethod = KrylovMethod::Cg;
const GMRES: KrylovMethod = KrylovMethod::Gmres { restart: 60 };

#[test]
fn smallest_of_an_anisotropic_grid() {
    let a = anisotropic(200);
    let exact = exact_offsets(200, 0.0);
    for method in [CG, GMRES] {
        let (eigen, iterations) = nearest((&a, None), (6, 0.0), KrylovSolver::new(method).rtol(1e-10)).unwrap();
        assert!(eigen.converged() && eigen.values.len() == 6, "{method}: {:?}", eigen.report);
        assert!(error_of(&eigen, &exact) < 1e-9, "{method}: {:?}, {:?}", eigen.offsets, &exact[..6]);
        assert!(eigen.report.residuals.iter().all(|residual| *residual < 1e-8) && eigen.report.orthogonality < 1e-13);
        assert!(iterations < 30.0, "{method}: {iterations} iterations a solve");
    }
}

#[test]
fn inside_a_spectrum() {
    // A − σI is indefinite, so conjugate gradients do not apply.
    let (a, sigma) = (anisotropic(60), 0.011);
    let (eigen, _) = nearest((&a, None), (5, sigma), KrylovSolver::new(GMRES).rtol(1e-10)).unwrap();
    let error = error_of(&eigen, &exact_offsets(60, sigma));
    assert!(eigen.converged() && error < 1e-8, "{error}: {eigen:?}");
}

#[test]
fn a_pencil() {
    // With B = 2·I, eigenvalues are half as large.
    let (n, sigma) = (60, -0.001);
    let two: Vec<_> = (0..n * n).map(|i| (i, i, 2.0)).collect();
    let (a, b) = (anisotropic(n), Matrix::from_triplets(n * n, n * n, &two).unwrap());
    let (eigen, _) = nearest((&a, Some(&b)), (4, sigma), KrylovSolver::new(CG).rtol(1e-10)).unwrap();
    let exact: Vec<f64> = exact_offsets(n, 2.0 * sigma).iter().map(|offset| offset / 2.0).collect();
    assert!(eigen.converged() && error_of(&eigen, &exact) < 1e-9, "{eigen:?}");
}

#[test]
fn errors_of_solves_are_those_of_offsets() {
    let a = anisotropic(100);
    let exact = exact_offsets(100, 0.0);
    for rtol in [1e-4_f64, 1e-6, 1e-8, 1e-10] {
        // A solve with a unit vector and a residual of rtol perturbs A·x = λ·x by at most rtol·|λ − σ| = rtol·‖A‖/2000.
        let (asked, solver) = ((1e-2 * rtol).max(1e-8), KrylovSolver::new(CG).rtol(rtol));
        let (eigen, _) = nearest_to(asked, (&a, None), (3, 0.0), solver).unwrap();
        assert!(eigen.converged() && error_of(&eigen, &exact) < rtol, "{rtol}: {eigen:?}");
    }
    // If the tolerance is below the rounding errors, residuals of the size of rounding errors are accepted.
    let (eigen, _) = nearest((&a, None), (3, 0.0), KrylovSolver::new(CG).rtol(1e-16)).unwrap();
    assert!(eigen.converged() && error_of(&eigen, &exact) < 1e-11, "{eigen:?}");
}

#[test]
fn solves_that_are_no_solves_are_told() {
    let a = anisotropic(40);
    let few = KrylovSolver::new(CG).rtol(1e-10).max_iterations(2);
    let error = nearest((&a, None), (3, 0.0), few).unwrap_err();
    assert!(matches!(error, Error::NotConverged { backward_error, .. } if backward_error > 1e-10), "{error}");
    // This operator is not the inverse, so the residuals are large.
    let wrong = a.shifted(-1.0, None).unwrap();
    let m = Preconditioner::new(&wrong, "amg-lines".parse().expect("a name"), &Default::default()).unwrap();
    let inverse = KrylovInverse::new(KrylovSolver::new(CG).rtol(1e-10), &wrong, Some(&m)).unwrap();
    let eigen = EigenSolver::new(3).hermitian(&EigenProblem::new(&a).shifted(0.0, &inverse)).unwrap();
    assert!(!eigen.converged() && eigen.report.ending.to_string() == "large residuals", "{:?}", eigen.report);
}
