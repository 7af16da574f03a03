//! Unusual matrices of other libraries, and the methods of faer with operators of this crate.

use super::faer::FaerOperator;
use crate::csr::Csr;
use crate::forest::Forest;
use crate::krylov::{KrylovMethod, KrylovSolver};
use crate::precond::{AlternatingInner, ForestSolver, Preconditioner, PreconditionerKind};
use crate::stencils::nine_point;
use ::faer::dyn_stack::{MemBuffer, MemStack};
use ::faer::matrix_free::bicgstab::{BicgParams, bicgstab, bicgstab_scratch};
use ::faer::matrix_free::conjugate_gradient::{CgParams, conjugate_gradient, conjugate_gradient_scratch};
use ::faer::matrix_free::{IdentityPrecond, LinOp, Precond};
use ::faer::sparse::{SparseColMat, SparseRowMat, SparseRowMatRef, SymbolicSparseRowMatRef, Triplet};
use ::faer::{Mat, Par};
use ::sprs::{CsMat, CsMatViewI};
use bandsolve::dyn_stack::{PodBuffer, PodStack};
use bandsolve::matrix::Index;
use bandsolve::{Complex64, Error, Inverse, LinearOperator, Plan, Result, Scalar, Tridiagonal};

/// The matrix (1 0 2 0), (0 0 0 0), (0 3 0 4), with a row and a column without entries.
const POINTERS: [u32; 4] = [0, 2, 2, 4];
const COLUMNS: [u32; 4] = [0, 2, 1, 3];
const VALUES: [f64; 4] = [1.0, 2.0, 3.0, 4.0];

fn entries<I: Index>(a: &Csr<'_, f64, I>) -> Vec<(usize, usize, f64)> {
    (0..a.rows()).flat_map(|i| a.row(i).map(move |(j, value)| (i, j, value))).collect()
}

const ENTRIES: [(usize, usize, f64); 4] = [(0, 0, 1.0), (0, 2, 2.0), (2, 1, 3.0), (2, 3, 4.0)];

/// The transpose of the matrix, in order of rows.
const TRANSPOSED: [(usize, usize, f64); 4] = [(0, 0, 1.0), (1, 2, 3.0), (2, 0, 2.0), (3, 2, 4.0)];

#[test]
fn rows_of_faer_are_borrowed_and_given_back() {
    let symbolic = SymbolicSparseRowMatRef::new_checked(3, 4, &POINTERS, None, &COLUMNS);
    let a = Csr::from_faer(SparseRowMatRef::new(symbolic, &VALUES)).unwrap();
    assert_eq!((a.rows(), a.columns(), entries(&a)), (3, 4, ENTRIES.to_vec()));
    assert_eq!(a.parts().2.as_ptr(), VALUES.as_ptr(), "nothing is copied");
    let back = a.as_faer().unwrap();
    assert_eq!((back.shape(), back.val().as_ptr()), ((3, 4), VALUES.as_ptr()));
    assert_eq!(back.to_dense()[(2, 3)], 4.0);
}

#[test]
fn gaps_of_faer_are_closed_by_a_copy() {
    // The arrays have room for three entries per row, and elements before the first and after the last row.
    let (pointers, counts): ([u64; 4], [u64; 3]) = ([1, 4, 7, 10], [2, 0, 2]);
    let (mut columns, mut values) = ([9; 11], [f64::NAN; 11]);
    for (k, at) in [1, 2, 7, 8].into_iter().enumerate() {
        (columns[at], values[at]) = (u64::from(COLUMNS[k]), VALUES[k]);
    }
    let symbolic = SymbolicSparseRowMatRef::new_checked(3, 4, &pointers, Some(&counts), &columns);
    let a = Csr::from_faer(SparseRowMatRef::new(symbolic, &values)).unwrap();
    assert_eq!((a.entries(), entries(&a)), (4, ENTRIES.to_vec()));

    // Elements after the last row are no gap.
    let (columns, values) = ([0_u32, 2, 1, 3, 9, 9], [1.0, 2.0, 3.0, 4.0, f64::NAN, f64::NAN]);
    let symbolic = SymbolicSparseRowMatRef::new_checked(3, 4, &POINTERS, None, &columns);
    let a = Csr::from_faer(SparseRowMatRef::new(symbolic, &values)).unwrap();
    assert_eq!((entries(&a), a.parts().2.as_ptr()), (ENTRIES.to_vec(), values.as_ptr()));
}

#[test]
fn columns_of_faer_are_copied_or_borrowed_as_rows_of_the_transpose() {
    let triplets = ENTRIES.map(|(i, j, value)| Triplet::new(i, j, value));
    let a = SparseColMat::<usize, f64>::try_new_from_triplets(3, 4, &triplets).unwrap();
    assert_eq!(entries(&Csr::from_faer_columns(a.as_ref()).unwrap()), ENTRIES);
    let transposed = Csr::from_faer(a.transpose()).unwrap();
    assert_eq!((entries(&transposed), transposed.columns()), (TRANSPOSED.to_vec(), 3));
    assert_eq!(transposed.parts().2.as_ptr(), a.val().as_ptr());
}

#[test]
fn rows_of_sprs_are_borrowed_and_columns_copied() {
    let rows = CsMatViewI::new((3, 4), &POINTERS[..], &COLUMNS[..], &VALUES[..]);
    let a = Csr::from_sprs(rows).unwrap();
    assert_eq!((a.rows(), a.columns(), entries(&a)), (3, 4, ENTRIES.to_vec()));
    assert_eq!(a.parts().2.as_ptr(), VALUES.as_ptr(), "nothing is copied");
    assert_eq!(a.as_sprs().unwrap(), rows);

    let columns = rows.to_csc();
    assert_eq!(entries(&Csr::from_sprs(columns.view()).unwrap()), ENTRIES);
    let transposed = Csr::from_sprs(columns.transpose_view()).unwrap();
    assert_eq!((entries(&transposed), transposed.parts().2.as_ptr()), (TRANSPOSED.to_vec(), columns.data().as_ptr()));
}

#[test]
fn slices_of_sprs_begin_anywhere() {
    let rows = CsMatViewI::new((3, 4), &POINTERS[..], &COLUMNS[..], &VALUES[..]);
    let last = rows.slice_outer_rbr(2..3);
    assert_eq!(entries(&Csr::from_sprs(last).unwrap()), [(0, 1, 3.0), (0, 3, 4.0)]);
    let none = CsMat::<f64>::zero((0, 0));
    assert_eq!(Csr::from_sprs(none.view()).unwrap().rows(), 0);
    assert_eq!(Csr::from_sprs(rows.slice_outer_rbr(1..1)).unwrap().columns(), 4);
}

#[test]
fn what_other_libraries_do_not_know_is_refused() {
    let unsorted = Csr::new(3, &[0_u32, 2][..], &[2, 0][..], &[1.0, 2.0][..]).unwrap();
    let twice = Csr::new(3, &[0_u32, 2][..], &[1, 1][..], &[1.0, 2.0][..]).unwrap();
    for a in [unsorted, twice] {
        assert!(matches!(a.as_faer(), Err(Error::Layout { array: "column_indices", .. })));
        assert!(matches!(a.as_sprs(), Err(Error::Layout { array: "column_indices", .. })));
    }
    let columns = 1 << 31;
    let wide = Csr::new(columns, &[0_u32, 0][..], &[][..], &[0.0; 0][..]).unwrap();
    let limit = Error::Shape { what: "rows or columns of a matrix of faer", expected: columns - 1, got: columns };
    assert_eq!(wide.as_faer().err(), Some(limit));
    let signed = Csr::new(columns, &[0_i32, 0][..], &[][..], &[0.0; 0][..]).unwrap();
    assert!(matches!(signed.as_sprs(), Err(Error::Shape { expected: 0x7fff_ffff, .. })));
}

/// Create the matrix of a grid with strong couplings along its rows. Without `symmetric`, the couplings to the left and to the right differ.
fn anisotropic(symmetric: bool) -> Csr<'static, f64, u32> {
    let drift = if symmetric { 0.0 } else { 0.05 };
    nine_point([[0.0, -0.1, 0.0], [-1.0 - drift, 2.25, -1.0 + drift], [0.0, -0.1, 0.0]], (24, 18))
}

/// Compute ‖rhs − A·x‖ / ‖rhs‖.
fn residual(a: &Csr<'_, f64, u32>, x: &[f64], rhs: &[f64]) -> f64 {
    let mut r = vec![0.0; rhs.len()];
    a.residual(x, rhs, &mut r, PodStack::new(&mut [])).unwrap();
    let norm = |v: &[f64]| v.iter().map(|v| v * v).sum::<f64>().sqrt();
    norm(&r) / norm(rhs)
}

/// Compute x with the method of this crate, and return it with the right-hand side.
fn ours(a: &Csr<'_, f64, u32>, m: &dyn LinearOperator<f64>, method: KrylovMethod) -> (Vec<f64>, Vec<f64>) {
    let rhs: Vec<f64> = (0..a.rows()).map(|i| 1.0 + (i % 7) as f64).collect();
    let mut x = vec![0.0; rhs.len()];
    let report = KrylovSolver::new(method).rtol(1e-12).solve(a, Some(m), &rhs, &mut x).unwrap();
    assert!(report.converged());
    (x, rhs)
}

/// Check that `x` solves A·x = rhs to the tolerance of the methods of faer, and agrees with x of this crate.
fn check_answer(a: &Csr<'_, f64, u32>, x: &Mat<f64>, (ours, rhs): (&[f64], &[f64])) {
    let x: Vec<f64> = x.col(0).iter().copied().collect();
    assert!(residual(a, &x, rhs) < 2e-12, "{:.1e}", residual(a, &x, rhs));
    // Diagonals exceed the other entries of their rows by 0.05, so that ‖A⁻¹‖∞ is at most 20; both residuals are at most 2e-12·‖rhs‖₂.
    let limit = 20.0 * 4e-12 * rhs.iter().map(|v| v * v).sum::<f64>().sqrt();
    assert!(x.iter().zip(ours).all(|(x, ours)| (x - ours).abs() <= limit));
}

#[test]
fn conjugate_gradients_of_faer_take_our_matrix_and_preconditioner() {
    let a = anisotropic(true);
    // Rows of the grid, its columns, and rows again: ALT-i that ends as it began is symmetric.
    let solvers =
        [true, false, true].map(|rows| ForestSolver::new(&a, Forest::grid_lines(24, 18, rows).unwrap()).unwrap());
    let m = AlternatingInner::new(a.view(), solvers.into());
    let (expected, rhs) = ours(&a, &m, KrylovMethod::Cg);
    let (operator, inverse) = (FaerOperator::new(&a), FaerOperator::new(&m));
    let (b, mut x) = (Mat::from_fn(rhs.len(), 1, |i, _| rhs[i]), Mat::<f64>::zeros(rhs.len(), 1));
    let params = CgParams { rel_tolerance: 1e-12, max_iters: 200, ..CgParams::default() };
    let mut memory = MemBuffer::new(conjugate_gradient_scratch::<f64>(&inverse, &operator, 1, Par::Seq));
    let stack = MemStack::new(&mut memory);
    let end = conjugate_gradient(x.as_mut(), &inverse, &operator, b.as_ref(), params, |_| {}, Par::Seq, stack).unwrap();
    assert!(end.iter_count < 40, "{}", end.iter_count);
    check_answer(&a, &x, (&expected, &rhs));
    assert!(operator.error().is_none() && inverse.error().is_none());
}

#[test]
fn bicgstab_of_faer_takes_our_matrix_and_preconditioner() {
    for symmetric in [true, false] {
        let a = anisotropic(symmetric);
        let m = Preconditioner::new(&a, PreconditionerKind::AltInner(2), &Default::default()).unwrap();
        let (expected, rhs) = ours(&a, &m, KrylovMethod::Bicgstab);
        let (operator, inverse) = (FaerOperator::new(&a), FaerOperator::new(&m));
        let none = IdentityPrecond { dim: rhs.len() };
        let (b, mut x) = (Mat::from_fn(rhs.len(), 1, |i, _| rhs[i]), Mat::<f64>::zeros(rhs.len(), 1));
        let params = BicgParams { rel_tolerance: 1e-12, max_iters: 200, ..BicgParams::default() };
        let mut memory = MemBuffer::new(bicgstab_scratch::<f64>(none, &inverse, &operator, 1, Par::Seq));
        let stack = MemStack::new(&mut memory);
        let end = bicgstab(x.as_mut(), none, &inverse, &operator, b.as_ref(), params, |_| {}, Par::Seq, stack);
        assert!(end.unwrap().iter_count < 30);
        check_answer(&a, &x, (&expected, &rhs));
    }
}

/// Apply an operator to an array of two columns, with every layout and function.
fn applied<T: Scalar + ::faer::traits::ComplexField>(operator: &dyn LinearOperator<T>, x: &Mat<T>) -> [Mat<T>; 4] {
    let n = x.nrows();
    let ours = FaerOperator::new(operator);
    let mut memory = MemBuffer::new(ours.apply_in_place_scratch(2, Par::Seq));
    let stack = MemStack::new(&mut memory);
    let (mut plain, mut spread) = (Mat::zeros(n, 2), Mat::zeros(2, n));
    ours.apply(plain.as_mut(), x.as_ref(), Par::Seq, stack);
    ours.apply(spread.as_mut().transpose_mut(), x.transpose().to_owned().transpose(), Par::Seq, stack);
    let (mut in_place, mut conjugate) = (x.clone(), Mat::zeros(n, 2));
    ours.apply_in_place(in_place.as_mut(), Par::Seq, stack);
    ours.conj_apply(conjugate.as_mut(), x.as_ref(), Par::Seq, stack);
    assert!(ours.error().is_none());
    [plain, spread.transpose().to_owned(), in_place, conjugate]
}

#[test]
fn every_layout_is_applied_to_and_conjugates_too() {
    let number = |k: usize| Complex64::new(1.0 + (k % 5) as f64, (k % 3) as f64 - 1.0);
    let n = 9;
    let (sub, diag): (Vec<_>, Vec<_>) = (0..n).map(|k| (number(k), number(k + 1) + 9.0)).unzip();
    let a = Tridiagonal::new(&sub, &diag, &sub[..n - 1]).unwrap();
    let x = Mat::from_fn(n, 2, |i, j| number(i + 4 * j));
    let inverse = Inverse(Plan::new(a.shape()).factor(&a).unwrap());
    let mut memory = PodBuffer::new(LinearOperator::<Complex64>::apply_scratch(&inverse));
    let mut expected = |conjugate: bool| {
        let conj = |v: Complex64| if conjugate { v.conj() } else { v };
        let mut all = Mat::zeros(n, 2);
        for j in 0..2 {
            let (from, mut to): (Vec<_>, _) = (x.col(j).iter().map(|v| conj(*v)).collect(), vec![Complex64::ZERO; n]);
            inverse.apply(&from, &mut to, PodStack::new(&mut memory)).unwrap();
            to.iter().enumerate().for_each(|(i, v)| all[(i, j)] = conj(*v));
        }
        all
    };
    let (plain, conjugate) = (expected(false), expected(true));
    assert_eq!(applied(&inverse, &x), [plain.clone(), plain.clone(), plain, conjugate]);
}

/// An operator that returns an error from each application.
#[derive(Debug)]
struct NeverApplied;

impl LinearOperator<f64> for NeverApplied {
    fn rows(&self) -> usize {
        2
    }

    fn columns(&self) -> usize {
        2
    }

    fn apply(&self, _: &[f64], _: &mut [f64], _: &mut PodStack) -> Result<()> {
        Err(Error::Singular { row: 1 })
    }
}

#[test]
fn errors_are_kept_and_show_as_nan() {
    let ours = FaerOperator::new(&NeverApplied);
    let (x, mut y) = (Mat::<f64>::full(2, 1, 1.0), Mat::zeros(2, 1));
    let mut memory = MemBuffer::new(ours.apply_scratch(1, Par::Seq));
    ours.apply(y.as_mut(), x.as_ref(), Par::Seq, MemStack::new(&mut memory));
    assert!(y[(0, 0)].is_nan() && y[(1, 0)].is_nan());
    assert_eq!(ours.error(), Some(&Error::Singular { row: 1 }));
    assert_eq!(format!("{ours:?}"), "FaerOperator(2 × 2)");
}

#[test]
fn matrices_of_faer_that_own_their_arrays_are_borrowed_from() {
    let triplets = ENTRIES.map(|(i, j, value)| Triplet::new(i as u32, j as u32, value));
    let a = SparseRowMat::<u32, f64>::try_new_from_triplets(3, 4, &triplets).unwrap();
    assert_eq!(entries(&Csr::from_faer(a.as_ref()).unwrap()), ENTRIES);
}
