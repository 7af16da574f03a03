//! Multiple eigenvalues of non-symmetric matrices: no eigenvalue is missing, for any start vector.

use bandsolve::{Complex64, Tridiagonal};
use bandsolve_eigen::{EigenProblem, EigenSolver, GeneralEigen, MatrixOperator, Which};
use bandsolve_gallery::Random;

/// Make a matrix with two equal parts, which has the eigenvalues ±2i, 1, … twice each, none defective.
///
/// Each part begins with the block (0 −2; 2 0). Diagonal entries that increase to 1 follow, with weak coupling above the diagonal.
fn twice(n: usize, seed: u64) -> Tridiagonal<'static, f64> {
    let sup = Random::new(seed).uniform_vec(n, -5e-3, 5e-3);
    let mut arrays = [vec![], vec![], vec![]];
    for _ in 0..2 {
        let mut part = [vec![0.0; n], (0..n).map(|i| i as f64 / n as f64).collect::<Vec<_>>(), sup.clone()];
        (part[0][1], part[2][0], part[1][0], part[1][1]) = (2.0, -2.0, 0.0, 0.0);
        (part[2][1], part[2][n - 1]) = (0.0, 0.0);
        arrays.iter_mut().zip(part).for_each(|(all, part)| all.extend(part));
    }
    let [sub, diag, sup] = arrays;
    Tridiagonal::from_vecs(sub, diag, sup, false).unwrap()
}

fn check(eigen: &GeneralEigen, expected: &[Complex64], what: &str) {
    assert!(eigen.converged() && eigen.values.len() == expected.len(), "{what}: {:?} {:?}", eigen.values, eigen.report);
    let mut left = expected.to_vec();
    for value in &eigen.values {
        let at = left.iter().position(|other| (other - value).norm() < 1e-6);
        let at = at.unwrap_or_else(|| panic!("{what}: {value} of {:?}", eigen.values));
        left.remove(at);
    }
    assert!(eigen.report.residuals.iter().all(|residual| *residual < 1e-7), "{what}: {:?}", eigen.report.residuals);
}

/// The norm of the component of the second vector that is orthogonal to the first. Both vectors have norm 1.
fn apart(eigen: &GeneralEigen, n: usize, (i, j): (usize, usize)) -> f64 {
    let (x, y) = (&eigen.vectors[i * n..][..n], &eigen.vectors[j * n..][..n]);
    let dot: Complex64 = x.iter().zip(y).map(|(x, y)| x.conj() * y).sum();
    x.iter().zip(y).map(|(x, y)| (y - dot * x).norm_sqr()).sum::<f64>().sqrt()
}

#[test]
fn conjugate_pairs_twice_each() {
    let a = twice(40, 1);
    let (operator, twoi) = (MatrixOperator(&a), Complex64::new(0.0, 2.0));
    for seed in 0..100 {
        let solver = EigenSolver::new(4).seed(seed);
        let eigen = solver.general(&EigenProblem::new(&operator)).unwrap();
        check(&eigen, &[twoi, twoi, twoi.conj(), twoi.conj()], &format!("seed {seed}"));
        // Equal values must have different vectors.
        let equal: Vec<usize> = (0..4).filter(|k| eigen.values[*k].im > 0.0).collect();
        assert!(apart(&eigen, 80, (equal[0], equal[1])) > 0.1, "seed {seed}");
        let eigen = EigenSolver::new(3).seed(seed).which(Which::LargestReal).ncv(25);
        let eigen = eigen.general(&EigenProblem::new(&operator)).unwrap();
        let [first, second] = [39.0 / 40.0, 38.0 / 40.0].map(Complex64::from);
        check(&eigen, &[first, first, second], &format!("largest real, seed {seed}"));
    }
}

#[test]
fn nearest_to_a_target_twice_each() {
    let a = twice(40, 2);
    let complex = |x: &[f64]| x.iter().map(|x| Complex64::from(*x)).collect::<Vec<_>>();
    let [sub, diag, sup] = a.arrays().map(complex);
    let c = Tridiagonal::from_vecs(sub, diag, sup, false).unwrap();
    let zeros = vec![0.0; 80];
    let b = Tridiagonal::from_vecs(zeros.clone(), vec![2.0; 80], zeros, false).unwrap();
    let expected = [20.0, 20.0, 21.0, 21.0].map(|k| Complex64::from(k / 40.0));
    let twoi = Complex64::new(0.0, 2.0);
    for seed in 0..100 {
        let solver = EigenSolver::new(4).seed(seed);
        check(&solver.general_nearest(&a, None, 0.51).unwrap(), &expected, &format!("seed {seed}"));
        let halves = expected.map(|value| 0.5 * value);
        check(&solver.general_nearest(&a, Some(&b), 0.255).unwrap(), &halves, &format!("pencil, seed {seed}"));
        let eigen = EigenSolver::new(2).seed(seed).general_nearest(&c, None, Complex64::new(0.1, 1.9)).unwrap();
        check(&eigen, &[twoi, twoi], &format!("complex, seed {seed}"));
    }
}

#[test]
fn defective_values_and_the_identity_end() {
    // Two Jordan blocks for the eigenvalue 5, with three rows and with two rows.
    let n = 60;
    let mut diag: Vec<f64> = (0..n).map(|i| i as f64 / n as f64).collect();
    let mut sup = vec![0.0; n];
    diag[..5].fill(5.0);
    (sup[0], sup[1], sup[3]) = (1.0, 1.0, 1.0);
    let jordan = Tridiagonal::from_vecs(vec![0.0; n], diag.clone(), sup, false).unwrap();
    diag[..5].copy_from_slice(&[1.0, 1.0, 1.0, 3.0, 1.0]);
    diag[5..].fill(1.0);
    let identity = Tridiagonal::from_vecs(vec![0.0; n], diag, vec![0.0; n], false).unwrap();
    for seed in 0..100 {
        let eigen = EigenSolver::new(5).seed(seed).tol(1e-10).general(&EigenProblem::new(&MatrixOperator(&jordan)));
        let eigen = eigen.unwrap();
        assert!(eigen.values.iter().all(|value| (value - 5.0).norm() < 1e-3), "seed {seed}: {:?}", eigen.values);
        assert!(!eigen.converged() || eigen.values.len() == 5);
        let eigen = EigenSolver::new(3).seed(seed).general(&EigenProblem::new(&MatrixOperator(&identity))).unwrap();
        check(&eigen, &[3.0, 1.0, 1.0].map(Complex64::from), &format!("identity, seed {seed}"));
    }
}

#[test]
fn a_second_look_can_be_left_out() {
    let a = twice(40, 3);
    let operator = MatrixOperator(&a);
    let count = |second: bool| {
        let eigen = EigenSolver::new(4).second_look(second).general(&EigenProblem::new(&operator)).unwrap();
        assert!(eigen.converged());
        eigen.report.solves
    };
    assert!(count(false) < count(true));
}

#[test]
fn zero_and_matrices_of_extreme_sizes() {
    let a = twice(40, 4);
    for by in [0.0, 1e-140, 1e140] {
        let scaled = |x: &[f64]| x.iter().map(|x| by * x).collect::<Vec<_>>();
        let [sub, diag, sup] = a.arrays().map(scaled);
        let general = Tridiagonal::from_vecs(sub, diag.clone(), sup, false).unwrap();
        let off = vec![0.25 * by; 80];
        let symmetric = Tridiagonal::from_vecs(off.clone(), diag, off, false).unwrap();
        let eigen = EigenSolver::new(4).general(&EigenProblem::new(&MatrixOperator(&general))).unwrap();
        assert!(eigen.converged() && eigen.values.len() == 4, "{by}: {:?}", eigen.report);
        for value in &eigen.values {
            assert!((value.norm() - 2.0 * by).abs() <= 1e-8 * by, "{by}: {:?}", eigen.values);
        }
        let eigen = EigenSolver::new(4).hermitian(&EigenProblem::new(&MatrixOperator(&symmetric))).unwrap();
        assert!(eigen.converged() && eigen.values.len() == 4, "{by}: {:?}", eigen.report);
        assert!(eigen.report.residuals.iter().all(|residual| *residual < 1e-7), "{by}: {:?}", eigen.report);
    }
}
