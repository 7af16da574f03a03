//! Many right-hand sides of one narrow band, which are solved together on SIMD lanes, against an independent measurement.

use bandsolve::dyn_stack::{PodBuffer, PodStack};
use bandsolve::prelude::*;
use bandsolve::{Complex32, Complex64, RealScalar, Scalar};
use bandsolve_gallery::oracle::{backward_error, transpose_banded};
use bandsolve_gallery::{Random, random_vec};

const OPS: [Op; 3] = [Op::Plain, Op::Transpose, Op::ConjTranspose];

fn solve<T: Scalar>(factor: &dyn Factor<T>, op: Op, rhs: &[T]) -> (Vec<T>, Result<Report, Error>) {
    let n_rhs = factor.shape().n_rhs("rhs", rhs.len()).unwrap();
    let mut x = vec![T::from_real(T::Real::NAN); rhs.len()];
    let mut memory = PodBuffer::new(factor.solve_scratch(n_rhs));
    let report = factor.solve_into_with(op, rhs, &mut x, PodStack::new(&mut memory));
    (x, report)
}

/// Solve with every operation and number of right-hand sides, and measure each x. `full` is the matrix as a band. Returns how often 33 or more
/// right-hand sides were solved together. Matrices with small pivots leave them to the method.
fn check<T: Scalar>(
    plan: &Plan,
    (lu, of_one_thread): (&AnyFactor<'_, T>, &AnyFactor<'_, T>),
    full: &Banded<'_, T>,
) -> usize {
    let mut together = 0;
    let random = &mut Random::new(2);
    let n = full.n();
    for n_rhs in [1, 3, 4, 8, 9, 16, 31, 33, 70] {
        let rhs = random_vec::<T>(n * n_rhs, random);
        for op in OPS {
            let what = format!("{:?}, {n_rhs} right-hand sides, {op:?}", lu.shape());
            let (x, report) = solve(lu, op, &rhs);
            let report = report.unwrap_or_else(|error| panic!("{what}: {error}"));
            assert!(x == solve(of_one_thread, op, &rhs).0, "{what}");
            together += usize::from(n_rhs >= 33 && report.reason.starts_with("many right-hand sides"));
            assert!(
                plan.solve_in_place_scratch::<T>(n_rhs).unwrap().size_bytes() >= lu.solve_scratch(n_rhs).size_bytes()
            );
            let a = if op == Op::Plain { full.clone() } else { transpose_banded(full, op == Op::ConjTranspose) };
            let epsilon = T::Real::EPSILON.to_f64();
            assert_eq!(report.backward_errors.len(), n_rhs);
            let columns = rhs.chunks(n).zip(x.chunks(n)).zip(&report.backward_errors);
            for (k, ((rhs, x), reported)) in columns.enumerate().filter(|(k, _)| k % 5 == 0 || n < 500) {
                let eta = backward_error(&a, rhs, x);
                let rounding = (full.lower() + full.upper() + 4) as f64 * epsilon;
                assert!(eta <= reported + rounding && *reported <= 64.0 * epsilon, "{what}, {k}: {eta:e} {report:?}");
            }
        }
    }
    together
}

fn every_band<T: Scalar>() {
    let random = &mut Random::new(1);
    let mut together = 0;
    for (n, lower, upper) in
        [(2, 2, 1), (3, 2, 2), (7, 9, 0), (40, 0, 3), (40, 4, 4), (60, 17, 2), (130, 8, 8), (2100, 2, 3), (2048, 4, 5)]
    {
        let bands = random_vec::<T>(n * (lower + upper + 1), random);
        let a = Banded::new(n, lower, upper, &bands).unwrap();
        for plan in [Plan::new(a.shape()), Plan::new(a.shape()).method(Method::Pivoted)] {
            let one_thread = plan.clone().threads(1);
            together += check(&plan, (&plan.factor(&a).unwrap(), &one_thread.factor(&a).unwrap()), &a);
        }
    }
    // Of 9 matrices, 2 plans, 2 numbers of right-hand sides and 3 operations.
    assert!(together > 54, "{together}");
}

fn every_block<T: Scalar>() {
    let random = &mut Random::new(3);
    let mut together = 0;
    for (block_rows, block) in [(1, 2), (2, 3), (30, 2), (20, 4), (11, 8)] {
        let arrays = [(); 3].map(|()| random_vec::<T>(block_rows * block * block, random));
        let a = BlockTridiagonal::from_vecs(block, arrays, false).unwrap();
        let (n, width) = (block_rows * block, 2 * block - 1);
        let mut bands = vec![T::ZERO; n * (2 * width + 1)];
        for (i, j) in (0..n).flat_map(|i| (0..n).map(move |j| (i, j))).filter(|(i, j)| i.abs_diff(*j) <= width) {
            bands[j * (2 * width + 1) + width + i - j] = a.get(i, j);
        }
        let full = Banded::new(n, width, width, &bands).unwrap();
        let plan = Plan::new(a.shape());
        let one_thread = plan.clone().threads(1);
        together += check(&plan, (&plan.factor(&a).unwrap(), &one_thread.factor(&a).unwrap()), &full);
    }
    // Of 5 matrices, 2 numbers of right-hand sides and 3 operations.
    assert!(together > 15, "{together}");
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

/// A matrix that is singular to working precision has a warning for many right-hand sides, as for one.
#[test]
fn a_warning_for_large_solutions() {
    let (n, n_rhs) = (60, 40);
    let bands: Vec<f64> = (0..n * 5).map(|k| [1.0, -4.0, 6.0, -4.0, 1.0][k % 5]).collect();
    let mut bands = bands;
    // Each row has the sum 0, up to 1e-15 in one of them.
    bands[2] = 3.0;
    bands[7] = 7.0;
    bands[5 * (n - 2) + 2] = 7.0;
    bands[5 * (n - 1) + 2] = 3.0 + 1e-15;
    let a = Banded::new(n, 2, 2, &bands).unwrap();
    let lu = Plan::new(a.shape()).factor(&a).unwrap();
    let rhs: Vec<f64> = (0..n * n_rhs).map(|k| ((k * k) as f64 * 0.618).fract()).collect();
    let (one, many) = (solve(&lu, Op::Plain, &rhs[..n]).1, solve(&lu, Op::Plain, &rhs).1);
    match (one, many) {
        (Ok(one), Ok(many)) => assert_eq!(one.attention.is_some(), many.attention.is_some(), "{one:?} {many:?}"),
        (one, many) => assert_eq!(one, many),
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
for_all_scalars! { every_band every_block errors }
