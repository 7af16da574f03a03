//! All kinds of arrays, with and without gaps, in two number types.

use super::{AsColumns, AsColumnsMut, SolveArray};
use crate::contract::condition::Norm;
use crate::contract::inspect::Inspect;
use crate::contract::{Factor, Op};
use crate::decision::Pivoting;
use crate::error::Error;
use crate::matrix::{Banded, Layout, Shape, Tridiagonal};
use crate::method::Method;
use crate::plan::Plan;
use ::faer::{Col, ColRef, Mat, MatMut, MatRef};
use ::nalgebra::{DMatrix, DMatrixView, DVector, Matrix3x2, Vector3};
use ::ndarray::{Array1, Array2, ArrayView1, ArrayView2, ArrayViewMut2, ShapeBuilder, s};
use bandsolve_kernel::{Complex64, RealScalar, Scalar};

/// Number of rows. It differs from the column stride of `faer::Mat`, so that columns have gaps.
const N: usize = 21;
const COLUMNS: usize = 3;

/// A number that depends on i, with an imaginary part if T is complex.
fn number<T: Scalar>(i: usize) -> T {
    T::from_parts(T::Real::from_f64(1.0 + (i % 13) as f64), T::Real::from_f64((i % 7) as f64))
}

fn numbers<T: Scalar>(n: usize) -> Vec<T> {
    (0..n).map(number).collect()
}

/// The three arrays of a diagonally dominant matrix.
fn system<T: Scalar>() -> [Vec<T>; 3] {
    let diag = (0..N).map(|i| number::<T>(i) + T::from_real(T::Real::from_f64(40.0))).collect();
    [numbers(N), diag, numbers(N - 1)]
}

/// Check that a solve for an array gives the same x as a solve for a slice.
fn check_solves<T: Scalar, A: AsColumnsMut<T>>(mut rhs: A)
where
    A::Owned: AsColumns<T>,
{
    let entries = |array: &dyn Fn(usize, usize) -> T, (rows, columns): (usize, usize)| -> Vec<T> {
        (0..rows * columns).map(|k| array(k % rows, k / rows)).collect()
    };
    let [sub, diag, sup] = system::<T>();
    let a = Tridiagonal::new(&sub, &diag, &sup).unwrap();
    let lu = Plan::new(a.shape()).factor(&a).unwrap();
    for op in [Op::Plain, Op::ConjTranspose] {
        let mut expected = entries(&|i, j| rhs.entry(i, j), rhs.dimensions());
        crate::contract::solve_in_place(&lu, op, &mut expected).unwrap();
        if op == Op::Plain {
            let (x, report) = lu.solve_array(&rhs).unwrap();
            assert_eq!(entries(&|i, j| x.entry(i, j), x.dimensions()), expected);
            assert_eq!((x.dimensions(), report.backward_errors.len()), (rhs.dimensions(), rhs.dimensions().1));
        }
        lu.solve_array_in_place(op, &mut rhs).unwrap();
        assert_eq!(entries(&|i, j| rhs.entry(i, j), rhs.dimensions()), expected);
    }
}

/// Check an array that holds the numbers in order, column by column. `gapless` is the expected answer of `as_columns`.
fn check_entries<T: Scalar, A: AsColumns<T>>(array: &A, dimensions: (usize, usize), gapless: bool) {
    let expected = numbers::<T>(dimensions.0 * dimensions.1);
    assert_eq!(array.dimensions(), dimensions);
    assert_eq!(array.as_columns(), gapless.then_some(&expected[..]));
    expected.iter().enumerate().for_each(|(k, e)| assert_eq!(array.entry(k % dimensions.0, k / dimensions.0), *e));
}

/// Checks of the entries and of solves.
macro_rules! check {
    ($t:ty: $($array:expr, $columns:literal, $gapless:literal;)*) => {$({
        check_entries::<$t, _>(&$array, (N, $columns), $gapless);
        check_solves::<$t, _>($array);
    })*};
}

fn arrays<T: Scalar>() {
    let numbers = numbers::<T>(N * COLUMNS);
    let spread: Vec<T> = numbers.iter().flat_map(|v| [*v, T::ZERO]).collect();
    let by_rows: Vec<T> = (0..N * COLUMNS).map(|k| numbers[k % COLUMNS * N + k / COLUMNS]).collect();

    check! { T:
        Array1::from_vec(numbers[..N].to_vec()), 1, true;
        Array1::from_vec(spread[..2 * N].to_vec()).slice_mut(s![..;2]), 1, false;
        Array2::from_shape_vec((N, 1), numbers[..N].to_vec()).unwrap(), 1, true;
        Array2::from_shape_vec((N, COLUMNS).f(), numbers.clone()).unwrap(), 3, true;
        Array2::from_shape_vec((N, COLUMNS), by_rows.clone()).unwrap(), 3, false;
        ArrayViewMut2::from_shape((N, COLUMNS).strides((2, 2 * N)), &mut spread.clone()).unwrap(), 3, false;
    }
    check! { T:
        DVector::from_vec(numbers[..N].to_vec()), 1, true;
        DMatrix::from_vec(N, COLUMNS, numbers.clone()), 3, true;
        // A view of some rows of a larger matrix.
        DMatrix::from_fn(N + 2, COLUMNS, |i, j| numbers[(j * N + i).saturating_sub(1).min(N * COLUMNS - 1)]).rows_mut(1, N), 3, false;
        // Some columns of one.
        DMatrix::from_fn(N, COLUMNS + 2, |i, j| numbers[(j * N + i).saturating_sub(N).min(N * COLUMNS - 1)]).columns_mut(1, COLUMNS), 3, true;
    }
    check! { T:
        Col::from_fn(N, |i| numbers[i]), 1, true;
        // Padded.
        Mat::from_fn(N, COLUMNS, |i, j| numbers[j * N + i]), 3, false;
        Mat::from_fn(N, COLUMNS, |i, j| numbers[j * N + i]).as_mut(), 3, false;
        MatMut::from_column_major_slice_mut(&mut numbers.clone(), N, COLUMNS), 3, true;
        MatMut::from_row_major_slice_mut(&mut by_rows.clone(), N, COLUMNS), 3, false;
        Mat::from_fn(1, N, |_, j| numbers[j]).transpose_mut().col_mut(0), 1, false;
    }
    check_entries(&ArrayView1::from(&numbers[..]), (N * COLUMNS, 1), true);
    check_entries(&ArrayView2::from_shape((1, N), &numbers[..N]).unwrap(), (1, N), true);
    check_entries(&DMatrixView::from_slice(&numbers, N, COLUMNS), (N, COLUMNS), true);
    check_entries(&Vector3::from_column_slice(&numbers[..3]), (3, 1), true);
    check_entries(&Matrix3x2::from_column_slice(&numbers[..6]), (3, 2), true);
    check_entries(&ColRef::from_slice(&numbers), (N * COLUMNS, 1), true);
    check_entries(&MatRef::from_column_major_slice(&numbers, N, COLUMNS), (N, COLUMNS), true);
    // Backwards.
    check_entries::<T, _>(
        &ColRef::from_slice(&numbers.iter().copied().rev().collect::<Vec<_>>()).reverse_rows(),
        (N * COLUMNS, 1),
        false,
    );
}

#[test]
fn real() {
    arrays::<f64>();
}

#[test]
fn complex() {
    arrays::<Complex64>();
}

#[test]
fn matrices_are_borrowed() {
    let [sub, diag, sup] = system::<f64>();
    let arrays = (Array1::from(sub.clone()), DVector::from_vec(diag.clone()), ColRef::from_slice(&sup));
    let a = Tridiagonal::from_arrays(&arrays.0, &arrays.1, &arrays.2).unwrap();
    assert_eq!(a.arrays().map(<[f64]>::as_ptr), [arrays.0.as_ptr(), arrays.1.as_ptr(), sup.as_ptr()]);
    let ring = Tridiagonal::periodic_from_arrays(&arrays.0, &arrays.1, &arrays.0).unwrap();
    assert!(ring.is_periodic());
    let missing = Tridiagonal::periodic_from_arrays(&arrays.0, &arrays.1, &arrays.2);
    assert_eq!(missing.err(), Some(Error::Shape { what: "sup", expected: N, got: N - 1 }));

    let bands = DMatrix::from_fn(4, N, |i, j| number::<f64>(4 * j + i));
    let a = Banded::from_array(2, 0, &bands).unwrap();
    assert_eq!((a.n(), a.storage()), (N, (bands.as_slice(), 4)));
    let error = Banded::from_array(2, 2, &bands).err();
    assert_eq!(error, Some(Error::Shape { what: "leading dimension of bands", expected: 5, got: 4 }));
}

#[test]
fn layouts_that_cannot_be_borrowed_are_named() {
    let by_rows = Array2::<f64>::zeros((3, N));
    let Err(Error::Layout { array: "bands", expected }) = Banded::from_array(1, 1, &by_rows) else { panic!() };
    assert_eq!(expected, "columns one after another without gaps");
    let (fits, with_stride) = (Array1::<f64>::zeros(3), by_rows.column(0));
    let error = Tridiagonal::from_arrays(&fits, &with_stride, &fits).unwrap_err();
    let expected = "diag cannot be used without a copy: expected one column, its entries next to each other. \
                    Copy the entries to such an array first";
    assert_eq!(error.to_string(), expected);
    // A matrix is not a vector, in any memory order.
    let error = Tridiagonal::from_arrays(&fits, &fits, &DMatrix::<f64>::zeros(3, 2)).unwrap_err();
    assert!(matches!(error, Error::Layout { array: "sup", .. }), "{error}");
}

#[test]
fn columns_of_another_length_are_refused() {
    let [sub, diag, sup] = system::<f64>();
    let a = Tridiagonal::new(&sub, &diag, &sup).unwrap();
    let lu = Plan::new(a.shape()).factor(&a).unwrap();
    // The transpose of three right-hand sides has the right number of entries, but the wrong shape.
    let mut transposed = Array2::<f64>::zeros((COLUMNS, N));
    let expected = Error::Shape { what: "a column of rhs", expected: N, got: COLUMNS };
    assert_eq!(lu.solve_array(&transposed).err(), Some(expected.clone()));
    assert_eq!(lu.solve_array_in_place(Op::Plain, &mut transposed).err(), Some(expected));
    // An error before the solve does not change the array.
    let mut with_nan = Array2::<f64>::ones((N, COLUMNS));
    with_nan[(4, 1)] = f64::NAN;
    let error = lu.solve_array_in_place(Op::Plain, &mut with_nan).unwrap_err();
    assert!(matches!(error.cause(), Error::NotFinite { array: "rhs", .. }), "{error}");
}

#[test]
fn nothing_to_solve() {
    let none = DVector::<f64>::zeros(0);
    let a = Tridiagonal::from_arrays(&none, &none, &none).unwrap();
    let lu = Plan::new(a.shape()).factor(&a).unwrap();
    assert_eq!(lu.solve_array(&none).unwrap().0, none);
    assert_eq!(lu.solve_array(&Array2::<f64>::zeros((0, 4))).unwrap().0.dim(), (0, 4));
    assert_eq!(lu.solve_array(&Mat::<f64>::zeros(0, 4)).unwrap().0.shape(), (0, 4));
    assert_eq!(Banded::from_array(1, 1, &Mat::<f64>::zeros(3, 0)).unwrap().n(), 0);
    let [sub, diag, sup] = system::<f64>();
    let a = Tridiagonal::new(&sub, &diag, &sup).unwrap();
    let lu = Plan::new(a.shape()).factor(&a).unwrap();
    assert_eq!(lu.solve_array(&Array2::<f64>::zeros((N, 0))).unwrap().0.dim(), (N, 0));
}

#[test]
fn one_unknown() {
    let two = Vector3::repeat(2.0);
    let two = two.rows(0, 1);
    let a = Tridiagonal::from_arrays(&two, &two, &two).unwrap();
    let lu = Plan::new(a.shape()).factor(&a).unwrap();
    assert_eq!(lu.solve_array(&Array2::from_elem((1, 4), 6.0)).unwrap().0, Array2::from_elem((1, 4), 3.0));
}

/// The JSON that serde writes.
fn json(value: impl ::serde::Serialize) -> serde_json::Value {
    serde_json::to_value(value).unwrap()
}

#[test]
fn names_in_json_are_those_of_the_command_line() {
    Method::ALL.iter().for_each(|method| assert_eq!(json(method), method.name()));
    Pivoting::ALL.iter().for_each(|pivoting| assert_eq!(json(pivoting), pivoting.name()));
    assert_eq!(json(Op::ConjTranspose), "conj-transpose");
    assert_eq!(json(Norm::Infinity), "infinity");
    let shape = Shape::Batch { n: 3, count: 2, layout: Layout::Interleaved, periodic: false };
    assert_eq!(
        json(shape),
        serde_json::json!({"batch": {"n": 3, "count": 2, "layout": "interleaved", "periodic": false}})
    );
    let options = json(Plan::new(shape).threads(2).options());
    assert_eq!((&options["threads"], &options["pivoting"]), (&json(2), &json("scaled-partial")));
    assert!(options["simd"].is_string());
    assert_eq!(json(Error::Singular { row: 4 }), serde_json::json!({"singular": {"row": 4}}));
}

#[test]
fn reports_in_json() {
    let [sub, diag, sup] = system::<f64>();
    let a = Tridiagonal::new(&sub, &diag, &sup).unwrap();
    let x = Plan::new(a.shape()).factor(&a).unwrap().solve(&numbers(2 * N)).unwrap();
    let solution = json(&x);
    assert_eq!(solution["values"], json(&x.values));
    assert_eq!(solution["report"]["method"], "pivoted");
    assert_eq!(solution["report"]["backward_errors"], json(&x.report.backward_errors[..]));
    assert_eq!(solution["report"]["fallback"], false);
    let unverified = Plan::new(a.shape()).verify(false).factor(&a).unwrap().solve(&numbers(N)).unwrap();
    assert!(unverified.report.backward_error.is_nan() && json(unverified.report)["backward_error"].is_null());

    let lu = Plan::new(a.shape()).factor(&a).unwrap();
    let determinant = lu.determinant().unwrap();
    assert_eq!(json(determinant), serde_json::json!({"phase": determinant.phase, "log_abs": determinant.log_abs}));
    let report = lu.solve_expert(Op::Plain, &numbers(N), &mut [0.0; N]).unwrap();
    assert_eq!(json(&report)["rcond"], report.rcond);
}
