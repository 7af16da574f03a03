//! Batches of banded systems: every width, size, order in memory and operation against an independent measurement.

use bandsolve::prelude::*;
use bandsolve::{Complex32, Complex64, RealScalar, Scalar, Simd};
use bandsolve_gallery::oracle::{backward_error, transpose_banded};
use bandsolve_gallery::random::Random;

const OPS: [Op; 3] = [Op::Plain, Op::Transpose, Op::ConjTranspose];
const WIDTHS: [(usize, usize); 14] =
    [(0, 0), (0, 2), (1, 0), (1, 1), (2, 2), (2, 1), (1, 3), (3, 3), (4, 4), (0, 8), (5, 0), (8, 8), (15, 2), (15, 15)];

fn number<T: Scalar>(random: &mut Random) -> T {
    let mut real = || T::Real::from_f64(random.uniform(-1.0, 1.0));
    T::from_parts(real(), if T::COMPLEX { real() } else { T::Real::ZERO })
}

fn nan<T: Scalar>() -> T {
    T::from_real(T::Real::NAN)
}

/// The orders in memory of a test.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Order {
    /// LAPACK band storage, one system after the other, with this number of additional rows.
    Lapack(usize),
    /// A row for each diagonal.
    Diagonals,
    /// Diagonals, with all systems side by side.
    Interleaved,
}

const ORDERS: [Order; 4] = [Order::Lapack(0), Order::Lapack(2), Order::Diagonals, Order::Interleaved];

impl Order {
    fn strides(self, count: usize, n: usize, diagonals: usize) -> (BandStrides, Layout) {
        match self {
            Order::Lapack(more) => {
                let leading = diagonals + more;
                (BandStrides { system: n * leading, column: leading, diagonal: 1 }, Layout::Contiguous)
            }
            Order::Diagonals => (BandStrides { system: n * diagonals, column: 1, diagonal: n }, Layout::Contiguous),
            Order::Interleaved => (BandStrides { system: 1, column: count, diagonal: n * count }, Layout::Interleaved),
        }
    }
}

/// The systems in an order in memory. All entries outside of the matrices are NaN.
fn stored<T: Scalar>(
    systems: &[Banded<'_, T>],
    (n, lower, upper): (usize, usize, usize),
    order: Order,
) -> (Vec<T>, BandStrides, Layout) {
    let (count, diagonals) = (systems.len(), lower + upper + 1);
    let (strides, layout) = order.strides(count, n, diagonals);
    let len = count * n * (diagonals + if let Order::Lapack(more) = order { more } else { 0 });
    let mut bands = vec![nan::<T>(); len];
    for (s, a) in systems.iter().enumerate() {
        for j in 0..n {
            for i in j.saturating_sub(upper)..n.min(j + lower + 1) {
                bands[s * strides.system + j * strides.column + (upper + i - j) * strides.diagonal] = a.get(i, j);
            }
        }
    }
    (bands, strides, layout)
}

fn random_systems<T: Scalar>(
    count: usize,
    (n, lower, upper): (usize, usize, usize),
    random: &mut Random,
) -> Vec<Banded<'static, T>> {
    let band = |_| Banded::from_vec(n, lower, upper, (0..n * (lower + upper + 1)).map(|_| number(random)).collect());
    (0..count).map(band).collect::<Result<_, _>>().unwrap()
}

fn column<T: Scalar>(a: &BandedBatch<'_, T>, s: usize, all: &[T]) -> Vec<T> {
    (0..a.n()).map(|i| all[a.index(s, i)]).collect()
}

/// The matrix that op(A) solves with.
fn applied<T: Scalar>(op: Op, a: &Banded<'_, T>) -> Banded<'static, T> {
    if op == Op::Plain { a.clone().into_owned() } else { transpose_banded(a, op == Op::ConjTranspose) }
}

fn solve<T: Scalar>(a: &BandedBatch<'_, T>, plan: &Plan, op: Op, rhs: &[T]) -> (Vec<T>, Result<Report, Error>) {
    let factor = plan.factor(a).unwrap();
    let mut x = vec![nan::<T>(); rhs.len()];
    let mut memory = bandsolve::dyn_stack::PodBuffer::new(factor.solve_scratch(1));
    let report = factor.solve_into_with(op, rhs, &mut x, bandsolve::dyn_stack::PodStack::new(&mut memory));
    (x, report)
}

/// The reported backward error is that of the worst system, with every number of threads and the same bits.
fn every_width_and_order<T: Scalar>() {
    let mut random = Random::new(11);
    for (lower, upper) in WIDTHS {
        for n in [1, 2, 3, 5, 8, 21] {
            for count in [1, 7, 16, 37] {
                let systems = random_systems::<T>(count, (n, lower, upper), &mut random);
                let rhs: Vec<T> = (0..2 * count * n).map(|_| number(&mut random)).collect();
                let mut first: Option<Vec<T>> = None;
                for order in ORDERS {
                    let (bands, strides, layout) = stored(&systems, (n, lower, upper), order);
                    let a = BandedBatch::with_strides(count, n, (lower, upper), layout, strides, &bands).unwrap();
                    assert_eq!(a.check_finite(), Ok(()));
                    for op in OPS {
                        let what = format!("{count} systems of {n}, ({lower}, {upper}), {order:?}, {op:?}");
                        let (x, report) = solve(&a, &Plan::new(a.shape()), op, &rhs);
                        let report = report.unwrap_or_else(|error| panic!("{what}: {error}"));
                        let limit = T::Real::EPSILON.to_f64() * if report.fallback { 64.0 } else { 8.0 };
                        assert!(report.backward_error <= limit, "{what}: {report:?}");
                        for (s, system) in systems.iter().enumerate() {
                            for (rhs, x) in rhs.chunks(count * n).zip(x.chunks(count * n)) {
                                let eta = backward_error(&applied(op, system), &column(&a, s, rhs), &column(&a, s, x));
                                let most =
                                    report.backward_error + (lower + upper + 4) as f64 * T::Real::EPSILON.to_f64();
                                assert!(eta <= most, "{what}, system {s}: {eta:e}, {report:?}");
                            }
                        }
                        assert!(x == solve(&a, &Plan::new(a.shape()).threads(1), op, &rhs).0, "{what}");
                        // All orders of the matrix in memory give the same bits.
                        if op == Op::Plain && layout == Layout::Contiguous {
                            assert!(first.get_or_insert_with(|| x.clone()) == &x, "{what}");
                        }
                    }
                }
            }
        }
    }
}

/// The lanes themselves solve diagonally dominant systems, without the fallback.
fn dominant_systems_need_no_fallback<T: Scalar>() {
    let mut random = Random::new(4);
    for (lower, upper) in WIDTHS {
        for (n, count) in [(1, 3), (2, 20), (5, 33), (40, 17)] {
            let systems: Vec<_> = random_systems::<T>(count, (n, lower, upper), &mut random)
                .into_iter()
                .map(|a| {
                    // Both the rows and the columns are dominant: each of the 31 entries is at most √2.
                    let mut bands = a.storage().0.to_vec();
                    let added = T::from_real(T::Real::from_f64(50.0));
                    bands.iter_mut().skip(upper).step_by(lower + upper + 1).for_each(|v| *v += added);
                    Banded::from_vec(n, lower, upper, bands).unwrap()
                })
                .collect();
            let rhs: Vec<T> = (0..count * n).map(|_| number(&mut random)).collect();
            for order in ORDERS {
                let (bands, strides, layout) = stored(&systems, (n, lower, upper), order);
                let a = BandedBatch::with_strides(count, n, (lower, upper), layout, strides, &bands).unwrap();
                for op in OPS {
                    let report = solve(&a, &Plan::new(a.shape()), op, &rhs).1.unwrap();
                    let what = format!("{count} systems of {n}, ({lower}, {upper}), {order:?}, {op:?}: {report:?}");
                    assert!(!report.fallback && report.attention.is_none(), "{what}");
                }
            }
        }
    }
}

/// Each system has the same bits as in a batch of its own, wherever it lies, and with every number of threads.
fn place_and_threads_change_nothing<T: Scalar>() {
    let mut random = Random::new(5);
    let (n, lower, upper, count) = (300, 2, 2, 301);
    let systems = random_systems::<T>(count, (n, lower, upper), &mut random);
    let rhs: Vec<T> = (0..count * n).map(|_| number(&mut random)).collect();
    for order in [Order::Lapack(0), Order::Interleaved] {
        let (bands, strides, layout) = stored(&systems, (n, lower, upper), order);
        let a = BandedBatch::with_strides(count, n, (lower, upper), layout, strides, &bands).unwrap();
        let with = |threads: usize| solve(&a, &Plan::new(a.shape()).threads(threads), Op::Plain, &rhs).0;
        let x = with(1);
        assert!([2, 3, 7].into_iter().all(|threads| with(threads) == x));
        for s in [0, 150, count - 5] {
            let (bands, strides, layout) = stored(&systems[s..s + 5], (n, lower, upper), Order::Diagonals);
            let some = BandedBatch::with_strides(5, n, (lower, upper), layout, strides, &bands).unwrap();
            let of_some = (s..s + 5).flat_map(|s| column(&a, s, &rhs)).collect::<Vec<T>>();
            let y = some.solve(&of_some).unwrap().values;
            assert!((0..5).all(|k| column(&some, k, &y) == column(&a, s + k, &x)), "system {s}, {order:?}");
        }
    }
}

/// One matrix for all systems, by a distance of zero from one system to the next: every width, size, layout and operation, with the same bits on
/// one thread and on three, wherever a system lies in the batch.
fn one_matrix<T: Scalar>() {
    let mut random = Random::new(8);
    // The last size has three tiles of rows.
    let sizes = [(1, 70), (2, 70), (3, 131), (8, 29), (21, 131), (40, 70)].map(|size| (size, &WIDTHS[..]));
    for ((n, count), widths) in sizes.into_iter().chain([((2100, 66), &WIDTHS[3..6])]) {
        for (lower, upper) in widths.iter().copied() {
            let one = random_systems::<T>(1, (n, lower, upper), &mut random);
            let rhs: Vec<T> = (0..2 * count * n).map(|_| number(&mut random)).collect();
            for (order, layout) in [(Order::Lapack(2), Layout::Contiguous), (Order::Diagonals, Layout::Interleaved)] {
                let (bands, strides, _) = stored(&one, (n, lower, upper), order);
                let shared = BandStrides { system: 0, ..strides };
                let a = BandedBatch::with_strides(count, n, (lower, upper), layout, shared, &bands).unwrap();
                assert!(a.is_shared() && a.check_finite() == Ok(()));
                for op in OPS {
                    let what = format!("{count} systems of {n}, ({lower}, {upper}), {layout:?}, {op:?}");
                    let (x, report) = solve(&a, &Plan::new(a.shape()).threads(1), op, &rhs);
                    let report = report.unwrap_or_else(|error| panic!("{what}: {error}"));
                    assert!(x == solve(&a, &Plan::new(a.shape()).threads(3), op, &rhs).0, "{what}");
                    let matrix = applied(op, &one[0]);
                    for (rhs, x) in rhs.chunks(count * n).zip(x.chunks(count * n)) {
                        for s in [0, count / 2, count - 1] {
                            let eta = backward_error(&matrix, &column(&a, s, rhs), &column(&a, s, x));
                            let most = report.backward_error + (lower + upper + 4) as f64 * T::Real::EPSILON.to_f64();
                            assert!(eta <= most, "{what}, system {s}: {eta:e}, {report:?}");
                        }
                    }
                    if op == Op::Plain && n < 50 {
                        let (mut turned, rhs) = (rhs[..count * n].to_vec(), &rhs[..count * n]);
                        for (s, i) in (0..count).flat_map(|s| (0..n).map(move |i| (s, i))) {
                            turned[a.index(count - 1 - s, i)] = rhs[a.index(s, i)];
                        }
                        let y = solve(&a, &Plan::new(a.shape()), op, &turned).0;
                        assert!((0..count).all(|s| column(&a, s, &y) == column(&a, count - 1 - s, &x)), "{what}");
                    }
                }
            }
        }
    }
}

/// One dominant matrix needs no fallback, with rows between 1e±300 (1e±30 in single precision), in all orders and operations.
fn one_dominant_matrix<T: Scalar>() {
    let mut random = Random::new(9);
    let large = if T::Real::EPSILON.to_f64() > 1e-10 { 1e30 } else { 1e300 };
    let (n, count) = (60, 80);
    for (lower, upper) in WIDTHS {
        let power = |i: usize| T::Real::from_f64([large, 1.0, 1.0 / large][i % 3]);
        let band = random_systems::<T>(1, (n, lower, upper), &mut random).remove(0);
        let mut bands = band.storage().0.to_vec();
        for (k, v) in bands.iter_mut().enumerate() {
            let (j, r) = (k / (lower + upper + 1), k % (lower + upper + 1));
            let added = if r == upper { T::Real::from_f64(50.0) } else { T::Real::ZERO };
            *v = (*v + T::from_real(added)).scale(power((j + r + n * 3 - upper) % 3));
        }
        let strides = BandStrides { system: 0, column: lower + upper + 1, diagonal: 1 };
        let a = BandedBatch::with_strides(count, n, (lower, upper), Layout::Interleaved, strides, &bands).unwrap();
        let mut rhs = vec![T::ZERO; count * n];
        for (s, i) in (0..count).flat_map(|s| (0..n).map(move |i| (s, i))) {
            rhs[a.index(s, i)] = number::<T>(&mut random).scale(power(i));
        }
        let (_, report) = solve(&a, &Plan::new(a.shape()), Op::Plain, &rhs);
        let report = report.unwrap();
        assert!(!report.fallback && report.attention.is_none(), "({lower}, {upper}): {report:?}");
        assert!(report.backward_error <= 8.0 * T::Real::EPSILON.to_f64(), "({lower}, {upper}): {report:?}");
    }
}

/// One singular matrix, a NaN in it, and one in the right-hand side are named. The last leaves all other systems solved.
fn errors_of_one_matrix<T: Scalar>() {
    let (n, lower, upper, count) = (20, 2, 2, 100);
    let four = T::from_real(T::Real::from_f64(4.0));
    let regular: Vec<T> = (0..n * 5).map(|k| if k % 5 == 2 { four } else { T::ONE }).collect();
    let strides = BandStrides { system: 0, column: 5, diagonal: 1 };
    for layout in [Layout::Contiguous, Layout::Interleaved] {
        let solved = |bands: &[T], rhs: &[T], op: Op| {
            let a = BandedBatch::with_strides(count, n, (lower, upper), layout, strides, bands).unwrap();
            solve(&a, &Plan::new(a.shape()), op, rhs)
        };
        let rhs = vec![T::ONE; count * n];
        for op in OPS {
            let mut zero_column = regular.clone();
            zero_column[5 * 7..5 * 8].fill(T::ZERO);
            let named = solved(&zero_column, &rhs, op).1.unwrap_err();
            assert!(matches!(named, Error::Singular { row } if row < n), "{op:?} {named:?}");
            let mut wrong = regular.clone();
            wrong[5 * 4 + 3] = nan();
            assert_eq!(solved(&wrong, &rhs, op).1.unwrap_err(), Error::NotFinite { array: "bands", index: 23 });
        }
        let a = BandedBatch::with_strides(count, n, (lower, upper), layout, strides, &regular).unwrap();
        let good = solve(&a, &Plan::new(a.shape()), Op::Plain, &rhs).0;
        let mut wrong = rhs.clone();
        let index = a.index(71, 5);
        wrong[index] = nan();
        let (x, report) = solve(&a, &Plan::new(a.shape()), Op::Plain, &wrong);
        assert_eq!(report.unwrap_err(), Error::NotFinite { array: "rhs", index });
        assert!((0..count).filter(|s| *s != 71).all(|s| column(&a, s, &x) == column(&a, s, &good)));
    }
}

/// Rows between 1e±300 (1e±30 in single precision), with a zero diagonal, need neither a fallback nor refinement.
fn extremes<T: Scalar>() {
    let mut random = Random::new(3);
    let large = if T::Real::EPSILON.to_f64() > 1e-10 { 1e30 } else { 1e300 };
    let (n, lower, upper, count) = (50, 2, 2, 40);
    let systems: Vec<_> = (0..count)
        .map(|s| {
            let mut bands: Vec<T> = vec![T::ZERO; n * 5];
            for j in 0..n {
                for r in 0..5 {
                    // Row i of A is row j + r − 2.
                    let power = T::Real::from_f64([large, 1.0, 1.0 / large][(j + r + s) % 3]);
                    let entry = number::<T>(&mut random).scale(power);
                    bands[5 * j + r] = if r == 2 { T::ZERO } else { entry };
                }
            }
            Banded::from_vec(n, lower, upper, bands).unwrap()
        })
        .collect();
    let rhs: Vec<T> = (0..count * n)
        .map(|k| number::<T>(&mut random).scale(T::Real::from_f64([large, 1.0, 1.0 / large][(k % n + k / n + 2) % 3])))
        .collect();
    for order in ORDERS {
        let (bands, strides, layout) = stored(&systems, (n, lower, upper), order);
        let a = BandedBatch::with_strides(count, n, (lower, upper), layout, strides, &bands).unwrap();
        let mut of_order = rhs.clone();
        for (s, i) in (0..count).flat_map(|s| (0..n).map(move |i| (s, i))) {
            of_order[a.index(s, i)] = rhs[s * n + i];
        }
        let (x, report) = solve(&a, &Plan::new(a.shape()), Op::Plain, &of_order);
        let report = report.unwrap();
        for (s, system) in systems.iter().enumerate() {
            let eta = backward_error(system, &column(&a, s, &of_order), &column(&a, s, &x));
            assert!(eta <= report.backward_error + 8.0 * T::Real::EPSILON.to_f64(), "{order:?}, system {s}: {eta:e}");
        }
    }
}

/// A singular system, a NaN and an infinity are named. All other systems are solved as without them.
fn errors_name_the_system<T: Scalar>() {
    let (n, lower, upper, count, at) = (20, 2, 2, 35, 17);
    let four = T::from_real(T::Real::from_f64(4.0));
    let bands: Vec<T> = (0..n * 5).map(|k| if k % 5 == 2 { four } else { T::ONE }).collect();
    let good = Banded::from_vec(n, lower, upper, bands.clone()).unwrap();
    let mut zero_column = bands;
    zero_column[5 * 7..5 * 8].fill(T::ZERO);
    let mut systems = vec![good; count];
    systems[at] = Banded::from_vec(n, lower, upper, zero_column).unwrap();
    for order in ORDERS {
        let make = |systems: &[Banded<'_, T>]| stored(systems, (n, lower, upper), order);
        let (bands, strides, layout) = make(&systems);
        let rhs = vec![T::ONE; count * n];
        let a = BandedBatch::with_strides(count, n, (lower, upper), layout, strides, &bands).unwrap();
        for threads in [1, 3] {
            let (x, report) = solve(&a, &Plan::new(a.shape()).threads(threads), Op::Plain, &rhs);
            assert_eq!(report.unwrap_err(), Error::Singular { row: at * n + 7 }, "{order:?}");
            for s in (0..count).filter(|s| *s != at) {
                assert!(column(&a, s, &x) == column(&a, 0, &x), "{order:?}, system {s}");
            }
        }
        for (bad, s) in [(T::Real::NAN, 3), (T::Real::INFINITY, count - 1)] {
            let mut wrong = bands.clone();
            let index = s * strides.system + 4 * strides.column + 3 * strides.diagonal;
            wrong[index] = T::from_real(bad);
            // The singular system must not hide it.
            let regular = at * strides.system + 7 * strides.column + 2 * strides.diagonal;
            wrong[regular] = four;
            let b = BandedBatch::with_strides(count, n, (lower, upper), layout, strides, &wrong).unwrap();
            let error = Error::NotFinite { array: "bands", index };
            assert_eq!(b.check_finite(), Err(error.clone()));
            assert_eq!(b.solve(&rhs).unwrap_err(), error, "{order:?}");
        }
        let mut wrong = rhs.clone();
        let index = a.index(2, 9);
        wrong[index] = nan();
        let mut regular = bands.clone();
        regular[at * strides.system + 7 * strides.column + 2 * strides.diagonal] = four;
        let b = BandedBatch::with_strides(count, n, (lower, upper), layout, strides, &regular).unwrap();
        assert_eq!(b.solve(&wrong).unwrap_err(), Error::NotFinite { array: "rhs", index }, "{order:?}");
    }
}

/// Without row exchanges, a zero pivot needs the fallback. The report names exactly these systems, for one and for several right-hand sides.
fn repaired_systems_are_named<T: Scalar>() {
    let (n, lower, upper) = (20, 2, 2);
    let number = |value: f64| T::from_real(T::Real::from_f64(value));
    let bands: Vec<T> = (0..n * 5).map(|k| number(if k % 5 == 2 { 8.0 } else { 1.0 })).collect();
    let good = Banded::from_vec(n, lower, upper, bands.clone()).unwrap();
    let mut zero_pivot = bands;
    zero_pivot[upper] = T::ZERO;
    let bad = Banded::from_vec(n, lower, upper, zero_pivot).unwrap();
    // Up to 4 contiguous systems are solved one by one.
    for (count, at) in [(40, vec![0, 17, 39]), (40, vec![]), (3, vec![1, 2])] {
        let systems: Vec<_> = (0..count).map(|s| if at.contains(&s) { bad.clone() } else { good.clone() }).collect();
        for order in ORDERS {
            let (bands, strides, layout) = stored(&systems, (n, lower, upper), order);
            let a = BandedBatch::with_strides(count, n, (lower, upper), layout, strides, &bands).unwrap();
            for (threads, n_rhs) in [(1, 1), (3, 1), (2, 3)] {
                let plan = Plan::new(a.shape()).pivoting(Pivoting::None).threads(threads);
                let report = solve(&a, &plan, Op::Plain, &vec![T::ONE; n_rhs * count * n]).1.unwrap();
                assert_eq!((&report.fallback_systems, report.fallback), (&at, !at.is_empty()), "{order:?}: {report:?}");
            }
        }
    }
}

macro_rules! for_all_scalars {
    ($($name:ident)*) => {$(
        mod $name {
            use super::*;
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
                super::$name::<Complex64>();
            }
            #[test]
            fn c32() {
                super::$name::<Complex32>();
            }
        }
    )*};
}
for_all_scalars! {
    every_width_and_order dominant_systems_need_no_fallback place_and_threads_change_nothing one_matrix one_dominant_matrix
        errors_of_one_matrix extremes errors_name_the_system
        repaired_systems_are_named
}

#[test]
fn empty_batches_and_wrong_lengths() {
    for (count, n) in [(0, 5), (5, 0), (0, 0)] {
        let a = BandedBatch::<f64>::contiguous(count, n, (2, 2), &[]).unwrap();
        assert!(a.solve(&[]).unwrap().values.is_empty());
        assert_eq!(a.solve(&[1.0]).unwrap_err(), Error::Shape { what: "rhs", expected: 0, got: 1 });
    }
    let wrong = BandedBatch::contiguous(2, 3, (1, 1), &[1.0; 17]).unwrap_err();
    assert_eq!(wrong, Error::Shape { what: "bands", expected: 18, got: 17 });
    let what = "the number of diagonals on one side of a batch of bands";
    let wide = BandedBatch::interleaved(1, 1, (0, 16), &[1.0; 17]).unwrap_err();
    assert_eq!(wide, Error::Shape { what, expected: 15, got: 16 });
    let huge = BandStrides { system: usize::MAX, column: usize::MAX, diagonal: 2 };
    assert!(BandedBatch::with_strides(3, 4, (1, 1), Layout::Contiguous, huge, &[1.0; 12]).is_err());
    let a = BandedBatch::contiguous(1, 3, (1, 1), &[1.0; 9]).unwrap();
    let other = Plan::new(Shape::BandedBatch { n: 3, count: 2, layout: Layout::Contiguous, lower: 1, upper: 1 });
    assert!(matches!(other.factor(&a).unwrap_err(), Error::Shape { .. }));
}

/// Few or long systems are solved one by one. Errors name the same places as in other batches.
#[test]
fn few_and_long_systems_are_solved_alone() {
    let mut random = Random::new(6);
    for (count, n) in [(2, 9), (4, 300), (5, 8192)] {
        let mut systems = random_systems::<f64>(count, (n, 2, 1), &mut random);
        let rhs: Vec<f64> = (0..count * n).map(|_| number(&mut random)).collect();
        for order in [Order::Lapack(0), Order::Lapack(3), Order::Diagonals] {
            let (mut bands, strides, layout) = stored(&systems, (n, 2, 1), order);
            let a = BandedBatch::with_strides(count, n, (2, 1), layout, strides, &bands).unwrap();
            for op in OPS {
                let (x, report) = solve(&a, &Plan::new(a.shape()), op, &rhs);
                let report = report.unwrap();
                assert!(!report.reason.contains("batch"), "{report:?}");
                for (s, system) in systems.iter().enumerate() {
                    let alone = Plan::new(system.shape()).factor(system).unwrap();
                    let mut y = vec![0.0; n];
                    let mut memory = bandsolve::dyn_stack::PodBuffer::new(alone.solve_scratch(1));
                    let stack = bandsolve::dyn_stack::PodStack::new(&mut memory);
                    alone.solve_into_with(op, &column(&a, s, &rhs), &mut y, stack).unwrap();
                    assert!(column(&a, s, &x) == y, "{order:?}, {op:?}, system {s}");
                }
            }
            let index = strides.system + 5 * strides.column + 2 * strides.diagonal;
            bands[index] = f64::NAN;
            let a = BandedBatch::with_strides(count, n, (2, 1), layout, strides, &bands).unwrap();
            assert_eq!(a.solve(&rhs).unwrap_err(), Error::NotFinite { array: "bands", index });
        }
        let mut zero = systems[1].storage().0.to_vec();
        zero[4 * 6..4 * 7].fill(0.0);
        systems[1] = Banded::from_vec(n, 2, 1, zero).unwrap();
        let (bands, strides, layout) = stored(&systems, (n, 2, 1), Order::Diagonals);
        let a = BandedBatch::with_strides(count, n, (2, 1), layout, strides, &bands).unwrap();
        assert_eq!(a.solve(&rhs).unwrap_err(), Error::Singular { row: n + 6 });
    }
}

#[test]
fn options_and_inspection() {
    let mut random = Random::new(2);
    let systems = random_systems::<f64>(9, (12, 2, 3), &mut random);
    let (bands, strides, layout) = stored(&systems, (12, 2, 3), Order::Diagonals);
    let a = BandedBatch::with_strides(9, 12, (2, 3), layout, strides, &bands).unwrap();
    let rhs: Vec<f64> = (0..9 * 12).map(|_| number(&mut random)).collect();
    let plan = Plan::new(a.shape());
    assert!(plan.reason().contains("2 lower and 3 upper diagonals"), "{}", plan.reason());
    for plan in [
        plan.clone().pivoting(Pivoting::Partial),
        plan.clone().pivoting(Pivoting::None),
        plan.clone().noise_threshold(1e-200),
        plan.clone().simd(Simd::Portable),
    ] {
        let (x, report) = solve(&a, &plan, Op::Plain, &rhs);
        assert!(report.unwrap().backward_error <= 64.0 * f64::EPSILON);
        for (s, system) in systems.iter().enumerate() {
            assert!(backward_error(system, &column(&a, s, &rhs), &column(&a, s, &x)) <= 64.0 * f64::EPSILON);
        }
    }
    let (x, report) = solve(&a, &plan.clone().verify(false), Op::Plain, &rhs);
    assert!(report.unwrap().backward_errors.is_empty() && x.iter().all(|x| x.is_finite()));
    let lu = plan.factor(&a).unwrap();
    let alone: Vec<f64> =
        systems.iter().map(|a| Plan::new(a.shape()).factor(a).unwrap().rcond(Norm::One).unwrap()).collect();
    assert_eq!(lu.of_systems(|system| system.rcond(Norm::One)).unwrap(), alone);
    let product = systems.iter().map(|a| Plan::new(a.shape()).factor(a).unwrap().determinant().unwrap().value());
    let expected: f64 = product.product();
    assert!((lu.determinant().unwrap().value() / expected - 1.0).abs() < 1e-12);
}
