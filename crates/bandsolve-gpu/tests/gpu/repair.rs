//! Local repair: only a few rows are solved again, where the elimination was not stable enough.

use crate::oracle::ORDERS;
use crate::reference::{Number, PivotOptions, Random, RealNumber, Row, solve};
use crate::test_device;
use bandsolve::{Complex32, Complex64, Layout, Op, Plan, RealScalar, Report, Scalar, Shape};
use bandsolve_gpu::{DeviceMatrix, DeviceSolver, Emulation};

/// A real sum and its rounding errors.
fn subtract<R: RealNumber + RealScalar>([sum, rest]: [R; 2], a: R, x: R) -> [R; 2] {
    let product = a * x;
    let error = a.fused(x, -product);
    let s = sum - product;
    let back = s - sum;
    [s, rest + ((sum - (s - back)) - (product + back) - error)]
}

/// d − Σ a·x in twice the working precision.
fn rest<T: Number<Real: RealNumber>>(d: T, entries: &[T], x: &[T]) -> T {
    let (mut re, mut im) = ([d.re(), Scalar::ZERO], [d.im(), Scalar::ZERO]);
    for (a, x) in entries.iter().zip(x) {
        if !T::COMPLEX {
            re = subtract(re, a.re(), x.re());
            continue;
        }
        re = subtract(re, a.re(), x.re());
        re = subtract(re, -a.im(), x.im());
        im = subtract(im, a.re(), x.im());
        im = subtract(im, a.im(), x.re());
    }
    T::from_parts(re[0] + re[1], im[0] + im[1])
}

/// The solution of a window of block rows that begins with block row `first`.
fn repaired<T: Number<Real: RealNumber>>(rows: &[Row<T>], x: &[T], first: usize, count: usize) -> Vec<T> {
    let (n, b) = (rows.len(), rows[0].d.len());
    let rule = PivotOptions { exchange: true, diagonal: false, scale: true, noise: 0.0 };
    let residual_row = |i: usize| {
        let mut row = rows[i].scaled(rule);
        let around = [(i + n - 1) % n, i, (i + 1) % n].map(|i| &x[i * b..(i + 1) * b]).concat();
        for r in 0..b {
            let zeros = vec![T::ZERO; b];
            let [a, c] = [(i > 0, &row.a[r]), (i + 1 < n, &row.c[r])].map(|(there, v)| if there { v } else { &zeros });
            row.d[r] = rest(row.d[r], &[&a[..], &row.b[r], &c[..]].concat(), &around);
        }
        row
    };
    let window: Vec<_> = (first..first + count).map(residual_row).collect();
    let dx = solve(&window, &[count], false, rule);
    dx.iter().zip(&x[first * b..]).map(|(dx, x)| *x + *dx).collect()
}

/// Solve on a device with one of the thread orders, with or without verification.
fn solved<T: Number<Real: RealNumber>>(given: &Random<T>, plan: &Plan, op: Op, order: usize) -> (Report, Vec<T>) {
    let device = test_device(Emulation { order: ORDERS[order], seed: 7, ..Emulation::default() });
    let [sub, diag, sup] = given.arrays.each_ref().map(|v| device.upload(v).unwrap());
    let a = match plan.shape() {
        Shape::Banded { n, lower, upper } => {
            let leading = lower + upper + 1;
            DeviceMatrix::banded(diag.slice(..n * leading), leading)
        }
        _ => DeviceMatrix::block_tridiagonal(&sub, &diag, &sup),
    };
    let rhs = device.upload(&given.rhs).unwrap();
    let mut x = device.zeros(rhs.len()).unwrap();
    let n_rhs = given.rhs.len() / plan.shape().rows();
    let mut solver = DeviceSolver::<T>::new(&device, plan, n_rhs).unwrap();
    let report = solver.solve(a.op(op), &rhs, &mut x).unwrap();
    (report, x.download().unwrap())
}

/// The rows in which two solutions differ.
fn changed<T: Number>(x: &[T], y: &[T]) -> Vec<usize> {
    (0..x.len()).filter(|i| x[*i].bits() != y[*i].bits()).collect()
}

/// Try random systems until one needs local repair. Returns its unverified and its repaired solution, which is the same
/// in every order.
fn find<T: Number<Real: RealNumber>>(
    mut shape_of: impl FnMut(usize) -> Shape,
    block: usize,
    n_rhs: usize,
    op: Op,
) -> (Random<T>, Vec<T>, Vec<T>) {
    for n in (700..).step_by(131).take(120) {
        let shape = shape_of(n);
        let mut given = Random::<T>::new(shape.rows().div_ceil(block), block, n_rhs, 0.0);
        if let Shape::Banded { n, .. } = shape {
            given = Random::new(n, block, n_rhs, 0.0);
            given.rhs.truncate(n * n_rhs);
        }
        let raw = solved(&given, &Plan::new(shape).verify(false), op, 0).1;
        let (report, x) = solved(&given, &Plan::new(shape), op, 0);
        let rows = changed(&raw, &x).len();
        assert!(report.backward_error <= 8.0 * T::Real::EPSILON.to_f64(), "{report:?}");
        if rows == 0 || report.refinement_steps > 0 || report.fallback {
            continue;
        }
        assert!(report.backward_error <= 4.0 * T::Real::EPSILON.to_f64(), "{report:?}");
        for order in [1, 2] {
            let (again, y) = solved(&given, &Plan::new(shape), op, order);
            assert!(
                changed(&x, &y).is_empty() && again.backward_errors == report.backward_errors,
                "{again:?}, {report:?}"
            );
        }
        return (given, raw, x);
    }
    panic!("no system needed local repair");
}

/// Find a window that explains all repaired rows, bit for bit.
fn check<T: Number<Real: RealNumber>>(block: usize) {
    let shape = |n: usize| match block {
        1 => Shape::Tridiagonal { n, periodic: false },
        _ => Shape::BlockTridiagonal { block_rows: n, block, periodic: false },
    };
    let mut n = 0;
    for _ in 0..20 {
        let (given, raw, x) = find::<T>(
            |k| {
                n = n.max(k) + 1;
                shape(n)
            },
            block,
            1,
            Op::Plain,
        );
        let rows = changed(&raw, &x);
        let (low, high) = (rows[0] / block, rows[rows.len() - 1] / block);
        if high - low >= 64 {
            continue;
        }
        let all = given.rows(0, Op::Plain);
        let first = (high.saturating_sub(63)..=low.min(all.len() - 64)).find(|first| {
            let window = repaired(&all, &raw, *first, 64);
            window.iter().zip(&x[first * block..]).all(|(a, b)| a.bits() == b.bits())
        });
        assert!(first.is_some(), "{} blocks of {block}: rows {low} to {high} of {} differ", T::NAME, all.len());
        return;
    }
    panic!("no system was repaired by a single window");
}

macro_rules! tests {
    ($($name:ident, $t:ty;)*) => {$(
        #[test]
        fn $name() {
            check::<$t>(1);
            check::<$t>(2);
            check::<$t>(3);
        }
    )*};
}
tests! {
    windows_are_solved_bit_for_bit_f32, f32;
    windows_are_solved_bit_for_bit_f64, f64;
    windows_are_solved_bit_for_bit_c32, Complex32;
    windows_are_solved_bit_for_bit_c64, Complex64;
}

#[test]
fn systems_of_every_kind_are_repaired() {
    let periodic = |n: usize| Shape::Tridiagonal { n, periodic: true };
    find::<f32>(periodic, 1, 1, Op::Plain);
    find::<f64>(periodic, 1, 3, Op::Transpose);
    find::<Complex32>(
        |n| Shape::BlockTridiagonal { block_rows: n / 2, block: 2, periodic: true },
        2,
        2,
        Op::ConjTranspose,
    );
    find::<f32>(|n| Shape::Batch { n, count: 5, layout: Layout::Contiguous, periodic: false }, 1, 2, Op::Plain);
    find::<f64>(|n| Shape::Banded { n, lower: 1, upper: 2 }, 2, 1, Op::Plain);
    find::<f32>(|n| Shape::Banded { n, lower: 3, upper: 2 }, 3, 1, Op::Transpose);
}
