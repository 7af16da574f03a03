//! Many right-hand sides of one narrow band, which are solved on SIMD lanes, against an independent measurement.

use bandsolve::dyn_stack::PodStack;
use bandsolve::prelude::*;
use bandsolve::{Complex32, Complex64, RealScalar, Scalar};
use bandsolve_gallery::oracle::{backward_error, transpose_banded};
use bandsolve_gallery::{Random, random_vec};

const OPS: [Op; 3] = [Op::Plain, Op::Transpose, Op::ConjTranspose];

fn solve<T: Scalar>(factor: &dyn Factor<T>, op: Op, rhs: &[T]) -> (Vec<T>, Result<Report, Error>) {
    let n_rhs = factor.shape().n_rhs("rhs", rhs.len()).unwrap();
    let mut x = vec![T::from_real(T::Real::NAN); rhs.len()];
    // Scratch memory may hold any numbers before a solve. These bytes are NaN.
    let mut memory = vec![0xff; factor.solve_scratch(n_rhs).unaligned_bytes_required()];
    let report = factor.solve_into_with(op, rhs, &mut x, PodStack::new(&mut memory));
    (x, report)
}

/// The backward error of x, from the operation, the right-hand side and x.
type BackwardError<'a, T> = &'a dyn Fn(Op, &[T], &[T]) -> f64;

/// Solve with every operation and number of right-hand sides, and compare each x with `error`, its backward error. Rows have at most `entries`
/// entries. Returns how often 33 or more right-hand sides were solved on lanes. Matrices with small pivots leave them to the method.
fn check<T: Scalar>(
    plan: &Plan,
    (lu, of_one_thread): (&AnyFactor<'_, T>, &AnyFactor<'_, T>),
    (entries, error): (usize, BackwardError<'_, T>),
) -> usize {
    let mut on_lanes = 0;
    let random = &mut Random::new(2);
    let n = lu.shape().n();
    for n_rhs in [1, 3, 4, 8, 9, 16, 31, 33, 70] {
        let rhs = random_vec::<T>(n * n_rhs, random);
        for op in OPS {
            let what = format!("{:?}, {n_rhs} right-hand sides, {op:?}", lu.shape());
            let (x, report) = solve(lu, op, &rhs);
            let report = report.unwrap_or_else(|error| panic!("{what}: {error}"));
            assert!(x == solve(of_one_thread, op, &rhs).0, "{what}");
            on_lanes += usize::from(n_rhs >= 33 && report.reason.starts_with("many right-hand sides"));
            assert!(
                plan.solve_in_place_scratch::<T>(n_rhs).unwrap().size_bytes() >= lu.solve_scratch(n_rhs).size_bytes()
            );
            let epsilon = T::Real::EPSILON.to_f64();
            assert_eq!(report.backward_errors.len(), n_rhs);
            let columns = rhs.chunks(n).zip(x.chunks(n)).zip(&report.backward_errors);
            for (k, ((rhs, x), reported)) in columns.enumerate().filter(|(k, _)| k % 5 == 0 || n < 500) {
                let eta = error(op, rhs, x);
                let rounding = (entries + 3) as f64 * epsilon;
                assert!(eta <= reported + rounding && *reported <= 64.0 * epsilon, "{what}, {k}: {eta:e} {report:?}");
            }
        }
    }
    on_lanes
}

fn every_band<T: Scalar>() {
    let random = &mut Random::new(1);
    let mut on_lanes = 0;
    for (n, lower, upper) in [
        (2, 2, 1),
        (3, 2, 2),
        (7, 9, 0),
        (40, 0, 3),
        (40, 4, 4),
        (60, 17, 2),
        (60, 2, 17),
        (70, 17, 18),
        (60, 3, 30),
        (130, 8, 8),
        (2100, 2, 3),
        (2048, 4, 5),
    ] {
        let bands = random_vec::<T>(n * (lower + upper + 1), random);
        let a = Banded::new(n, lower, upper, &bands).unwrap();
        let transposed = [false, true].map(|conj| transpose_banded(&a, conj));
        let error = |op: Op, rhs: &[T], x: &[T]| match op {
            Op::Plain => backward_error(&a, rhs, x),
            Op::Transpose => backward_error(&transposed[0], rhs, x),
            Op::ConjTranspose => backward_error(&transposed[1], rhs, x),
        };
        for plan in [Plan::new(a.shape()), Plan::new(a.shape()).method(Method::Pivoted)] {
            let one_thread = plan.clone().threads(1);
            on_lanes +=
                check(&plan, (&plan.factor(&a).unwrap(), &one_thread.factor(&a).unwrap()), (lower + upper + 1, &error));
        }
    }
    // Of 12 matrices, 2 plans, 2 numbers of right-hand sides and 3 operations. Two matrices are too wide.
    assert!(on_lanes > 54, "{on_lanes}");
}

fn every_block<T: Scalar>() {
    let random = &mut Random::new(3);
    let mut on_lanes = 0;
    // The last three are diagonally dominant, and have several tiles.
    for (block_rows, block) in [(1, 2), (2, 3), (30, 2), (20, 4), (11, 8), (30, 9), (1500, 2), (1030, 3), (260, 8)] {
        for periodic in [false, true] {
            let [sub, mut diag, sup] = [(); 3].map(|()| random_vec::<T>(block_rows * block * block, random));
            if block_rows > 30 {
                let large = T::from_real(T::Real::from_f64(3.0 * block as f64));
                let on_diagonal = |k: &usize| (k % (block * block)).is_multiple_of(block + 1);
                (0..diag.len()).filter(on_diagonal).for_each(|k| diag[k] += large);
            }
            let arrays = [&sub, &diag, &sup];
            let a = BlockTridiagonal::from_vecs(block, arrays.map(Clone::clone), periodic).unwrap();
            let transposed = [false, true].map(|conj| transposed_blocks(block, arrays, periodic, conj));
            let error = |op: Op, rhs: &[T], x: &[T]| match op {
                Op::Plain => backward_error(&a, rhs, x),
                Op::Transpose => backward_error(&transposed[0], rhs, x),
                Op::ConjTranspose => backward_error(&transposed[1], rhs, x),
            };
            let plan = Plan::new(a.shape());
            let one_thread = plan.clone().threads(1);
            let factors = (&plan.factor(&a).unwrap(), &one_thread.factor(&a).unwrap());
            let solved = check(&plan, factors, (3 * block, &error));
            assert!(solved == 6 || block_rows <= 30 || block == 8, "{block_rows} × {block} {periodic}: {solved}");
            on_lanes += solved;
        }
    }
    // Of 18 matrices, 2 numbers of right-hand sides and 3 operations. Blocks of 9 rows, and of 8 in periodic matrices, are too wide.
    assert!(on_lanes > 54, "{on_lanes}");
}

/// The transpose of a block tridiagonal matrix, or its conjugate.
fn transposed_blocks<T: Scalar>(
    block: usize,
    [sub, diag, sup]: [&Vec<T>; 3],
    periodic: bool,
    conj: bool,
) -> BlockTridiagonal<'static, T> {
    let size = block * block;
    let rows = diag.len() / size;
    let part = |from: &[T], of: &dyn Fn(usize) -> usize| {
        let entry = |k: usize| {
            let value = from[of(k / size) * size + k % block * block + k % size / block];
            if conj { Scalar::conj(value) } else { value }
        };
        (0..rows * size).map(entry).collect::<Vec<T>>()
    };
    let arrays = [part(sup, &|k| (k + rows - 1) % rows), part(diag, &|k| k), part(sub, &|k| (k + 1) % rows)];
    BlockTridiagonal::from_vecs(block, arrays, periodic).unwrap()
}

/// Singular matrices, NaN and infinities are errors as for one right-hand side. One bad column leaves the others solved.
fn errors<T: Scalar>() {
    let (n, n_rhs) = (50, 40);
    let number = |v: f64| T::from_real(T::Real::from_f64(v));
    let good: Vec<T> = (0..n * 5).map(|k| number(if k % 5 == 2 { 6.0 } else { 1.0 })).collect();
    let rhs = vec![T::ONE; n * n_rhs];
    let factor = |bands: &[T]| {
        let a = Banded::from_vec(n, 2, 2, bands.to_vec()).unwrap();
        Plan::new(a.shape()).factor_owned(a).unwrap()
    };
    for op in OPS {
        let mut zero_column = good.clone();
        zero_column[5 * 7..5 * 8].fill(T::ZERO);
        assert_eq!(solve(&factor(&zero_column), op, &rhs).1, solve(&factor(&zero_column), op, &rhs[..n]).1);
        let mut wrong = good.clone();
        wrong[5 * 7 + 1] = number(f64::INFINITY);
        let error = Error::NotFinite { array: "bands", index: 36 };
        assert_eq!(solve(&factor(&wrong), op, &rhs).1.unwrap_err(), error);

        let (x, report) = solve(&factor(&good), op, &rhs);
        assert!(!report.as_ref().unwrap().fallback && report.unwrap().attention.is_none());
        let mut bad = rhs.clone();
        bad[33 * n + 4] = number(f64::NAN);
        let (y, report) = solve(&factor(&good), op, &bad);
        assert_eq!(report.unwrap_err(), Error::NotFinite { array: "rhs", index: 33 * n + 4 });
        assert!((0..n_rhs).filter(|k| *k != 33).all(|k| x[k * n..(k + 1) * n] == y[k * n..(k + 1) * n]));
    }
}

/// The product of op(A) and a vector of ones, `n_rhs` times.
fn consistent<T: Scalar>(a: &Banded<'_, T>, op: Op, n_rhs: usize) -> Vec<T> {
    let a = if op == Op::Plain { a.clone() } else { transpose_banded(a, op == Op::ConjTranspose) };
    a.apply(&vec![T::ONE; a.n()]).unwrap().repeat(n_rhs)
}

/// A singular matrix is an error as for one right-hand side, with a solution or without, verified or not.
fn singular_matrices<T: Scalar>() {
    let (n, n_rhs) = (50, 40);
    let number = |v: f64| T::from_real(T::Real::from_f64(v));
    let good: Vec<T> = (0..n * 5).map(|k| number(if k % 5 == 2 { 6.0 } else { 1.0 })).collect();
    let (mut zero_column, mut zero_block) = (good.clone(), good);
    zero_column[5 * 7..5 * 8].fill(T::ZERO);
    // Columns 20 and 21 have zeros in all but three rows of the band, where they are the same.
    zero_block[5 * 20..5 * 22].fill(T::ZERO);
    (20..22).for_each(|j| zero_block[5 * j + 22 - j] = T::ONE);
    for bands in [zero_column, zero_block] {
        let a = Banded::new(n, 2, 2, &bands).unwrap();
        for op in OPS {
            for (rhs, verify) in
                [(consistent(&a, op, n_rhs), true), (vec![T::ONE; n * n_rhs], true), (vec![T::ONE; n * n_rhs], false)]
            {
                let lu = Plan::new(a.shape()).verify(verify).factor(&a).unwrap();
                let (one, many) = (solve(&lu, op, &rhs[..n]).1, solve(&lu, op, &rhs).1);
                assert!(matches!(one, Err(Error::Singular { .. })), "{one:?}");
                assert_eq!(many, one, "{op:?} {verify}");
            }
            // The batch with this matrix, too.
            let strides = BandStrides { system: 0, column: 5, diagonal: 1 };
            let batch = BandedBatch::with_strides(n_rhs, n, (2, 2), Layout::Contiguous, strides, &bands).unwrap();
            let lu = Plan::new(batch.shape()).factor(&batch).unwrap();
            let rhs = consistent(&a, op, n_rhs);
            let mut x = vec![T::ZERO; n * n_rhs];
            let mut memory = vec![0xff; lu.solve_scratch(1).unaligned_bytes_required()];
            let solved = lu.solve_into_with(op, &rhs, &mut x, PodStack::new(&mut memory));
            assert!(matches!(solved, Err(Error::Singular { .. })), "{op:?} {solved:?}");
        }
    }
}

/// A matrix that is singular to working precision has a warning for many right-hand sides, as for one.
#[test]
fn a_warning_for_large_solutions() {
    let (n, n_rhs) = (60, 40);
    // Second differences with Neumann ends are singular: the smallest change of one entry makes x 1e15 times as large as d.
    let mut bands = [0.0, -1.0, 2.0, -1.0, 0.0].repeat(n);
    (bands[2], bands[5 * (n - 1) + 2]) = (1.0, 1.0 + 2.0 * f64::EPSILON);
    let a = Banded::new(n, 2, 2, &bands).unwrap();
    let lu = Plan::new(a.shape()).factor(&a).unwrap();
    let rhs: Vec<f64> = (0..n * n_rhs).map(|k| ((k * k) as f64 * 0.618).fract()).collect();
    for report in [solve(&lu, Op::Plain, &rhs[..n]).1.unwrap(), solve(&lu, Op::Plain, &rhs).1.unwrap()] {
        assert!(report.attention.is_some(), "{report:?}");
    }
}

/// A right-hand side with a NaN is refined, in scratch memory for a single one, and leaves the others solved, whichever method was planned.
#[test]
fn a_bad_column_of_a_long_system() {
    let (n, n_rhs) = (5000, 40);
    let bands: Vec<f64> = (0..n * 5).map(|k| if k % 5 == 2 { 6.0 } else { 1.0 }).collect();
    let a = Banded::new(n, 2, 2, &bands).unwrap();
    for plan in [Plan::new(a.shape()), Plan::once(a.shape()), Plan::new(a.shape()).threads(1)] {
        let lu = plan.factor(&a).unwrap();
        let mut rhs = vec![1.0; n * n_rhs];
        let good = solve(&lu, Op::Plain, &rhs).0;
        rhs[7 * n + 4999] = f64::NAN;
        let (x, report) = solve(&lu, Op::Plain, &rhs);
        assert_eq!(report.unwrap_err(), Error::NotFinite { array: "rhs", index: 7 * n + 4999 });
        assert!((0..n_rhs).filter(|k| *k != 7).all(|k| x[k * n..(k + 1) * n] == good[k * n..(k + 1) * n]));
    }
}

/// Methods that the caller names are used for any number of right-hand sides. Without verification, x is the same.
#[test]
fn options() {
    let random = &mut Random::new(4);
    let (n, n_rhs) = (300, 64);
    let mut bands = random_vec::<f64>(n * 5, random);
    bands.iter_mut().skip(2).step_by(5).for_each(|v| *v += 9.0);
    let a = Banded::new(n, 2, 2, &bands).unwrap();
    let rhs = random_vec::<f64>(n * n_rhs, random);
    for method in [Method::Spike, Method::Rpts] {
        let report = solve(&Plan::new(a.shape()).method(method).factor(&a).unwrap(), Op::Plain, &rhs).1.unwrap();
        assert_eq!(report.method, method);
    }
    for pivoting in [Pivoting::None, Pivoting::Partial] {
        let lu = Plan::new(a.shape()).pivoting(pivoting).factor(&a).unwrap();
        assert!(!solve(&lu, Op::Plain, &rhs).1.unwrap().reason.starts_with("many"));
    }
    let verified = solve(&Plan::new(a.shape()).factor(&a).unwrap(), Op::Plain, &rhs).0;
    let (x, report) = solve(&Plan::new(a.shape()).verify(false).factor(&a).unwrap(), Op::Plain, &rhs);
    let report = report.unwrap();
    assert!(x == verified && report.backward_error.is_nan() && report.backward_errors.is_empty(), "{report:?}");
}

macro_rules! for_all_scalars {
    ($($name:ident)*) => {$(
        mod $name {
            #[test]
            fn f64() {
                super::$name::<f64>();
            }
            #[test]
            fn f32() {
                super::$name::<f32>();
            }
            #[test]
            fn c64() {
                super::$name::<super::Complex64>();
            }
            #[test]
            fn c32() {
                super::$name::<super::Complex32>();
            }
        }
    )*};
}
for_all_scalars! { every_band every_block errors singular_matrices }
