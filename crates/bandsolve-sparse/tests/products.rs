//! Products of sparse matrices, plain and generalised, compared with loops over the rows.

use bandsolve::dyn_stack::PodStack;
use bandsolve::{Complex64, Error, LinearOperator, Op, RealScalar, Scalar};
use bandsolve_gallery::Random;
use bandsolve_sparse::{
    Csr, PreparedProduct, ProductPlan, ProductSchedule, RowArgMax, RowArgMax2, RowMax, RowMaxWithColumn, RowReduction,
    reduce_rows,
};
use std::fmt::Debug;

const SCHEDULES: [ProductSchedule; 2] = [ProductSchedule::Adaptive, ProductSchedule::Balanced];

/// Create rows of these lengths, with random columns and values.
fn matrix<T: Scalar>(columns: usize, lengths: &[usize], random: &mut Random) -> Csr<'static, T, i32> {
    let mut pointers = vec![0];
    lengths.iter().for_each(|length| pointers.push(pointers[pointers.len() - 1] + *length as i32));
    let entries = lengths.iter().sum();
    let indices: Vec<i32> = (0..entries).map(|_| random.below(columns) as i32).collect();
    let values: Vec<T> = (0..entries).map(|_| number(random)).collect();
    Csr::new(columns, pointers, indices, values).unwrap()
}

fn number<T: Scalar>(random: &mut Random) -> T {
    T::from_real(T::Real::from_f64((random.below(2001) as f64 - 1000.0) / 64.0))
}

/// Matrices without rows, with empty rows, with long rows at the beginning, in the middle and at the end, and with one row.
fn lengths(random: &mut Random) -> Vec<Vec<usize>> {
    let mut short = |rows: usize| (0..rows).map(|_| random.below(6)).collect::<Vec<_>>();
    let with = |mut rows: Vec<usize>, at: usize, length: usize| {
        rows[at] = length;
        rows
    };
    vec![
        vec![],
        vec![0],
        vec![1],
        vec![0; 100_000],
        vec![300_000],
        vec![9; 20_000],
        with(vec![1; 50_000], 20_000, 200_000),
        short(70_000),
        with(short(50_000), 0, 200_000),
        with(short(50_000), 25_000, 200_000),
        with(short(50_000), 49_999, 200_000),
        with(with(vec![0; 50_000], 7, 100_000), 8, 100_000),
    ]
}

#[test]
fn products_are_sums_over_rows() {
    let mut random = Random::new(1);
    for lengths in lengths(&mut random) {
        let (rows, columns) = (lengths.len(), 40_000);
        let a = matrix::<f64>(columns, &lengths, &mut random);
        // The product handles up to four vectors together. Five vectors also test a remainder.
        let x: Vec<f64> = (0..5 * columns).map(|_| number(&mut random)).collect();
        let y: Vec<f64> = (0..5 * rows).map(|_| number(&mut random)).collect();
        for vectors in [1, 2, 4, 5] {
            let mut got = y[..vectors * rows].to_vec();
            a.product(Op::Plain, 0.5, &x[..vectors * columns], 2.0, &mut got).unwrap();
            for (k, got) in got.iter().enumerate() {
                let (vector, i) = (k / rows, k % rows);
                let sum: f64 = a.row(i).map(|(j, value)| value * x[vector * columns + j]).sum();
                // All numbers are multiples of 2⁻¹², and no sum exceeds 2⁴¹, so every order of a sum gives the same result.
                assert_eq!(*got, 0.5 * sum + 2.0 * y[k], "{rows} rows, {vectors} vectors, row {i}");
            }
        }
        let mut expected = vec![0.0; columns];
        (0..rows).for_each(|i| a.row(i).for_each(|(j, value)| expected[j] += value * y[i]));
        let mut got = vec![f64::NAN; columns];
        a.product(Op::Transpose, 1.0, &y[..rows], 0.0, &mut got).unwrap();
        assert!(got == expected, "{rows} rows, transposed");
    }
}

#[test]
fn adjoints_are_conjugate() {
    let a = [(0, 0, Complex64::new(1.0, 2.0)), (0, 1, Complex64::new(0.0, 3.0))];
    let a = Csr::<Complex64, u64>::from_triplets(1, 2, &a).unwrap();
    let (x, mut y) = ([Complex64::new(0.0, 1.0)], [Complex64::ZERO; 2]);
    a.product(Op::ConjTranspose, Complex64::ONE, &x, Complex64::ZERO, &mut y).unwrap();
    assert_eq!(y, [Complex64::new(2.0, 1.0), Complex64::new(3.0, 0.0)]);
    a.product(Op::Transpose, Complex64::ONE, &x, Complex64::ZERO, &mut y).unwrap();
    assert_eq!(y, [Complex64::new(-2.0, 1.0), Complex64::new(-3.0, 0.0)]);
}

#[test]
fn wrong_lengths_are_errors() {
    let a = Csr::<f64>::from_triplets(2, 3, &[(0, 0, 1.0)]).unwrap();
    for (op, x, y) in [(Op::Plain, 2, 2), (Op::Plain, 3, 3), (Op::Transpose, 3, 2), (Op::Plain, 3, 4)] {
        assert!(a.product(op, 1.0, &vec![1.0; x], 0.0, &mut vec![0.0; y]).is_err(), "{op:?} {x} {y}");
    }
    a.product(Op::Plain, 1.0, &[], 0.0, &mut []).unwrap();
}

/// Results of both schedules, for some rows and for all rows.
fn reduced<T: Scalar, R: RowReduction<T, Output: Clone + Debug + PartialEq>>(
    a: &Csr<'_, T, i32>,
    reduction: &R,
    nothing: R::Output,
    expected: impl Fn(usize) -> R::Output,
) {
    let rows = a.rows();
    for schedule in SCHEDULES {
        for own in [0..rows, rows / 3..rows - rows / 5, rows / 2..rows / 2] {
            let plan = ProductPlan::new(a).with_schedule(schedule).with_rows(own.clone());
            let mut output = vec![nothing.clone(); own.len()];
            plan.reduce(a, reduction, &mut output);
            for (i, got) in own.zip(output) {
                assert_eq!(got, expected(i), "row {i} of {rows}, {schedule:?}");
            }
        }
    }
}

#[test]
fn maxima_are_those_of_the_rows() {
    let mut random = Random::new(2);
    for lengths in lengths(&mut random) {
        let a = matrix::<f64>(1000, &lengths, &mut random);
        let largest =
            |i: usize, by: &dyn Fn(usize, f64) -> f64| a.row(i).map(|(j, value)| by(j, value)).max_by(f64::total_cmp);
        reduced(&a, &RowMax, None, |i| largest(i, &|_, value| value));
        reduced(&a, &RowMaxWithColumn, None, |i| largest(i, &|j, value| j as f64 * value));
        let best = |i: usize, without: Option<usize>| {
            let entries = a.row(i).enumerate().filter(|(k, _)| Some(*k) != without);
            // The first of several equal entries.
            entries.rev_by_value()
        };
        reduced(&a, &RowArgMax, None, |i| best(i, None).map(|(_, j)| j));
        reduced(&a, &RowArgMax2, [None; 2], |i| {
            let first = best(i, None);
            [first, first.and_then(|(k, _)| best(i, Some(k)))].map(|best| best.map(|(_, j)| j))
        });
    }
}

/// The position and the column of the largest entry, or of the first of several.
trait Largest: Iterator<Item = (usize, (usize, f64))> + Sized {
    fn rev_by_value(self) -> Option<(usize, u32)> {
        let first = |best: Option<(usize, usize, f64)>, (k, (j, value)): (usize, (usize, f64))| match best {
            Some(best) if best.2 >= value => Some(best),
            _ => Some((k, j, value)),
        };
        self.fold(None, first).map(|(k, j, _)| (k, j as u32))
    }
}

impl<E: Iterator<Item = (usize, (usize, f64))>> Largest for E {}

#[test]
fn what_is_no_number_is_never_largest() {
    let nan = f64::NAN;
    let entries = [(0, 0, nan), (0, 1, f64::NEG_INFINITY), (1, 0, nan), (2, 0, 1.0), (2, 1, nan), (2, 2, 1.0)];
    let a = Csr::<f64>::from_triplets(3, 3, &entries).unwrap();
    let mut largest = [None; 3];
    reduce_rows(&a, &RowMax, &mut largest);
    assert_eq!(largest, [Some(f64::NEG_INFINITY), None, Some(1.0)]);
    let mut columns = [[None; 2]; 3];
    reduce_rows(&a, &RowArgMax2, &mut columns);
    assert_eq!(columns, [[Some(1), None], [None, None], [Some(0), Some(2)]]);
}

/// The product handles rows of the same length together. Each result is the same as for the row alone, for any entries.
#[test]
fn rows_alike_are_reduced_as_each_by_itself() {
    fn check<R: RowReduction<f64, Output: Clone + Debug + PartialEq>>(a: &Csr<'_, f64, i32>, by: &R, none: R::Output) {
        let (plan, mut together) = (ProductPlan::new(a), vec![none.clone(); a.rows()]);
        plan.reduce(a, by, &mut together);
        for (i, together) in together.iter().enumerate() {
            let mut alone = [none.clone()];
            plan.clone().with_rows(i..i + 1).reduce(a, by, &mut alone);
            assert_eq!(alone[0], *together, "row {i}: {:?}", a.row(i).collect::<Vec<_>>());
        }
    }
    let some = [f64::NEG_INFINITY, -1.0, 0.0, 1.0, f64::INFINITY, f64::NAN, f64::NAN];
    let mut random = Random::new(5);
    for length in [1_i32, 2, 3, 4, 5, 9, 40, 70] {
        let (rows, entries) = (70, 70 * length as usize);
        let pointers: Vec<i32> = (0..=rows).map(|i| i * length).collect();
        let columns: Vec<i32> = (0..entries).map(|_| 1 + random.below(99) as i32).collect();
        let values: Vec<f64> = (0..entries).map(|_| some[random.below(some.len())]).collect();
        let a = Csr::new(100, pointers, columns, values).unwrap();
        check(&a, &RowMax, None);
        check(&a, &RowMaxWithColumn, None);
        check(&a, &RowArgMax, None);
        check(&a, &RowArgMax2, [None; 2]);
    }
}

/// Also for long rows, which the search processes part by part.
#[test]
fn the_two_largest_of_long_rows() {
    for (first, second) in [(0, 1), (3, 900), (900, 3), (64, 63), (998, 999), (700, 70)] {
        for nothing in [f64::NAN, f64::NEG_INFINITY, -1.0] {
            let values = (0..1000).map(|k| {
                (
                    0,
                    k,
                    if k == first {
                        2.0
                    } else if k == second {
                        1.0
                    } else {
                        nothing
                    },
                )
            });
            let a = Csr::<f64>::from_triplets(1, 1000, &values.collect::<Vec<_>>()).unwrap();
            let mut columns = [[None; 2]];
            reduce_rows(&a, &RowArgMax2, &mut columns);
            assert_eq!(columns, [[Some(first as u32), Some(second as u32)]], "{nothing}");
        }
    }
}

#[test]
fn schedules_fit_the_rows() {
    let mut random = Random::new(3);
    let plan = |lengths: &[usize], random: &mut Random| ProductPlan::new(&matrix::<f64>(100_000, lengths, random));
    assert_eq!(plan(&[5; 50_000], &mut random).schedule(), ProductSchedule::Adaptive);
    assert!(plan(&[5; 50_000], &mut random).is_scattered());
    let mut long = vec![5; 50_000];
    long[123] = 100_000;
    assert_eq!(plan(&long, &mut random).schedule(), ProductSchedule::Balanced);
    let near = bandsolve_sparse::nine_point([[1.0; 3]; 3], (300, 300));
    assert!(!ProductPlan::new(&near).is_scattered());
}

#[test]
fn threads_change_no_bit() {
    let mut random = Random::new(4);
    for lengths in lengths(&mut random) {
        let columns = 30_000;
        let a = matrix::<f64>(columns, &lengths, &mut random);
        let x: Vec<f64> = (0..columns).map(|j| 1.0 / (1.0 + j as f64)).collect();
        let of = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let (mut y, mut z) = (vec![0.0; a.rows()], vec![0.0; columns]);
            pool.install(|| {
                a.product(Op::Plain, 1.0, &x, 0.0, &mut y).unwrap();
                a.product(Op::Transpose, 1.0, &y, 0.0, &mut z).unwrap();
            });
            (y, z)
        };
        let one = of(1);
        assert!([2, 3, 7].into_iter().all(|threads| of(threads) == one), "{} rows", a.rows());
    }
}

/// Also for rows that the schedule cuts, compared with loops over the rows.
#[test]
fn prepared_products_are_the_same_for_any_number_of_threads() {
    let mut random = Random::new(5);
    let n = 300_000;
    let mut lengths: Vec<usize> = (0..n).map(|_| 2 + random.below(6)).collect();
    lengths[n / 2] = 200_000;
    let a = matrix::<f64>(n, &lengths, &mut random);
    let prepared = PreparedProduct::new(&a).unwrap();
    assert!(prepared.is_in_panels() && prepared.bytes() >= 12 * (a.entries() - 200_000));
    let x: Vec<f64> = (0..n).map(|j| 1.0 / (1.0 + j as f64)).collect();
    let of = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let mut y = vec![0.0; n];
        pool.install(|| prepared.apply(&x, &mut y, PodStack::new(&mut [])).unwrap());
        y
    };
    let one = of(1);
    for (i, y) in one.iter().enumerate() {
        let (sum, size) = a.row(i).fold((0.0, 0.0), |(sum, size), (j, v)| (sum + v * x[j], size + (v * x[j]).abs()));
        assert!((y - sum).abs() <= 1e-14 * size, "row {i}: {y}, {sum}");
    }
    assert!([2, 3, 7].into_iter().all(|threads| of(threads) == one));
}

/// The error names the array that has too many elements for 32-bit indices.
#[test]
fn columns_beyond_32_bits_are_an_error() {
    let columns = 1 << 33;
    let wide = Csr::<f64, i64>::new(columns, &[0, 1][..], &[7][..], &[2.0][..]).unwrap();
    let what = "a row of a matrix with 32-bit indices";
    let expected = Error::Shape { what, expected: u32::MAX as usize - 1, got: columns };
    assert_eq!(wide.to_owned_narrow().unwrap_err(), expected);
}
