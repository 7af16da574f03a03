//! Periodic bands, alone and in batches: every width, size, order in memory and operation against dense matrices.

use bandsolve::dyn_stack::{PodBuffer, PodStack};
use bandsolve::prelude::*;
use bandsolve::{Complex32, Complex64, PeriodicBanded, RealScalar, Scalar};
use bandsolve_gallery::oracle::{backward_error, transpose_banded};
use bandsolve_gallery::{Random, random_vec};

const OPS: [Op; 3] = [Op::Plain, Op::Transpose, Op::ConjTranspose];
const WIDTHS: [(usize, usize); 8] = [(0, 0), (0, 2), (1, 0), (1, 1), (2, 2), (3, 1), (1, 4), (7, 6)];

/// The periodic matrix with this array, by its definition, as a band with all diagonals.
fn dense<T: Scalar>(n: usize, (lower, upper): (usize, usize), bands: &[T]) -> Banded<'static, T> {
    let (height, beside) = (2 * n - 1, n - 1);
    let mut all = vec![T::ZERO; n * height];
    for (j, column) in bands.chunks(lower + upper + 1).enumerate() {
        for (r, v) in column.iter().enumerate() {
            let i = (j as isize + r as isize - upper as isize).rem_euclid(n as isize) as usize;
            all[j * height + beside + i - j] += *v;
        }
    }
    Banded::from_vec(n, beside, beside, all).unwrap()
}

/// The matrix that op(A) solves with.
fn applied<T: Scalar>(op: Op, a: &Banded<'_, T>) -> Banded<'static, T> {
    if op == Op::Plain { a.clone().into_owned() } else { transpose_banded(a, op == Op::ConjTranspose) }
}

fn solve<T: Scalar>(factor: &dyn Factor<T>, op: Op, rhs: &[T]) -> (Vec<T>, Result<Report, Error>) {
    let n_rhs = factor.shape().n_rhs("rhs", rhs.len()).unwrap();
    let mut x = vec![T::from_real(T::Real::NAN); rhs.len()];
    let mut memory = PodBuffer::new(factor.solve_scratch(n_rhs));
    let report = factor.solve_into_with(op, rhs, &mut x, PodStack::new(&mut memory));
    (x, report)
}

/// The limit of the backward errors in a report, and of ours, which rounds sums of `terms` terms.
fn limits<T: Scalar>(report: &Report, terms: usize) -> (f64, f64) {
    let epsilon = T::Real::EPSILON.to_f64();
    (epsilon * if report.fallback { 64.0 } else { 8.0 }, report.backward_error + terms as f64 * epsilon)
}

/// All methods solve with A, its transposes and several right-hand sides; the same bits for any number of threads.
fn every_width_and_method<T: Scalar>() {
    let random = &mut Random::new(3);
    for widths @ (lower, upper) in WIDTHS {
        for n in [1, 2, 3, 5, 8, 21, 60] {
            let bands: Vec<T> = random_vec(n * (lower + upper + 1), random);
            let a = Banded::new(n, lower, upper, &bands).unwrap().periodic().unwrap();
            let (full, rhs) = (dense(n, widths, &bands), random_vec::<T>(2 * n, random));
            for method in Method::ALL.into_iter().filter(|m| m.solves(a.shape()) && !m.needs_definite()) {
                let plan = Plan::new(a.shape()).method(method);
                let lu = plan.factor(&a).unwrap();
                for op in OPS {
                    let (x, report) = solve(&lu, op, &rhs);
                    let what = format!("{widths:?}, {n} rows, {method:?}, {op:?}");
                    let report = report.unwrap_or_else(|error| panic!("{what}: {error}"));
                    let (allowed, most) = limits::<T>(&report, n + 4);
                    assert!(report.backward_error <= allowed, "{what}: {report:?}");
                    for (rhs, x) in rhs.chunks(n).zip(x.chunks(n)) {
                        let eta = backward_error(&applied(op, &full), rhs, x);
                        assert!(eta <= most, "{what}: {eta:e}, {report:?}");
                    }
                    let owned = plan.clone().threads(1).factor_owned(a.clone()).unwrap();
                    assert!(solve(&owned, op, &rhs).0 == x, "{what}");
                }
            }
        }
    }
}

/// The array of a batch in an order in memory: one system after the other by columns or by diagonals, or side by side.
fn stored<T: Scalar>(
    systems: &[Vec<T>],
    (n, diagonals): (usize, usize),
    order: usize,
) -> (Vec<T>, BandStrides, Layout) {
    let count = systems.len();
    let (system, column, diagonal, layout) = match order {
        0 => (n * diagonals, diagonals, 1, Layout::Contiguous),
        1 => (n * diagonals, 1, n, Layout::Contiguous),
        _ => (1, count, n * count, Layout::Interleaved),
    };
    let mut bands = vec![T::ZERO; count * n * diagonals];
    for (s, one) in systems.iter().enumerate() {
        for (k, v) in one.iter().enumerate() {
            bands[s * system + k / diagonals * column + k % diagonals * diagonal] = *v;
        }
    }
    (bands, BandStrides { system, column, diagonal }, layout)
}

fn index(layout: Layout, (count, n): (usize, usize), (s, i): (usize, usize)) -> usize {
    if layout == Layout::Contiguous { s * n + i } else { i * count + s }
}

/// Each system of a batch is solved and judged, in every order of memory, with the same bits for any number of threads.
fn every_batch<T: Scalar>() {
    let random = &mut Random::new(7);
    for widths @ (lower, upper) in WIDTHS {
        let diagonals = lower + upper + 1;
        for (n, count) in [(1, 3), (2, 9), (4, 17), (9, 37), (50, 5), (33, 2)] {
            let systems: Vec<Vec<T>> = (0..count).map(|_| random_vec(n * diagonals, random)).collect();
            let rhs = random_vec::<T>(2 * n * count, random);
            for order in 0..3 {
                let (bands, strides, layout) = stored(&systems, (n, diagonals), order);
                let open = BandedBatch::with_strides(count, n, widths, layout, strides, &bands).unwrap();
                let a = open.periodic().unwrap();
                for op in OPS {
                    let what = format!("{count} systems of {n}, {widths:?}, order {order}, {op:?}");
                    let (x, report) = solve(&Plan::new(a.shape()).factor(&a).unwrap(), op, &rhs);
                    let report = report.unwrap_or_else(|error| panic!("{what}: {error}"));
                    let (allowed, most) = limits::<T>(&report, n + 4);
                    assert!(report.backward_error <= allowed, "{what}: {report:?}");
                    for (s, system) in systems.iter().enumerate() {
                        let full = applied(op, &dense(n, widths, system));
                        for (rhs, x) in rhs.chunks(n * count).zip(x.chunks(n * count)) {
                            let of = |all: &[T]| -> Vec<T> {
                                (0..n).map(|i| all[index(layout, (count, n), (s, i))]).collect()
                            };
                            let eta = backward_error(&full, &of(rhs), &of(x));
                            assert!(eta <= most, "{what}, system {s}: {eta:e}, {report:?}");
                        }
                    }
                    for threads in [1, 3] {
                        let plan = Plan::new(a.shape()).threads(threads);
                        assert!(solve(&plan.factor(&a).unwrap(), op, &rhs).0 == x, "{what}");
                    }
                }
            }
        }
    }
}

/// One matrix for all systems, by a distance of zero from one system to the next.
fn one_matrix<T: Scalar>() {
    let random = &mut Random::new(8);
    for (n, widths, count) in [(1, (1, 1), 70), (2, (2, 1), 70), (5, (2, 2), 131), (40, (2, 1), 29), (41, (7, 7), 70)] {
        let q = widths.0 + widths.1;
        let one: Vec<T> = random_vec(n * (q + 1), random);
        let rhs = random_vec::<T>(count * n, random);
        let dense = dense(n, widths, &one);
        for (order, op) in (0..3).flat_map(|order| OPS.map(|op| (order, op))) {
            let (bands, strides, layout) = stored(core::slice::from_ref(&one), (n, q + 1), order);
            let strides = BandStrides { system: 0, ..strides };
            let open = BandedBatch::with_strides(count, n, widths, layout, strides, &bands).unwrap();
            let a = open.periodic().unwrap();
            let with = |threads| solve(&Plan::new(a.shape()).threads(threads).factor(&a).unwrap(), op, &rhs);
            let (x, report) = with(1);
            let (report, what) = (report.unwrap(), format!("{n} {widths:?} {order} {op:?}"));
            assert!(with(3).0 == x, "{what}");
            for s in [0, count / 2, count - 1] {
                let of = |all: &[T]| -> Vec<T> { (0..n).map(|i| all[a.index(s, i)]).collect() };
                let eta = backward_error(&applied(op, &dense), &of(&rhs), &of(&x));
                let (allowed, most) = limits::<T>(&report, n + 4);
                assert!(report.backward_error <= allowed && eta <= most, "{what}: {eta:e}, {report:?}");
            }
        }
    }
}

/// Errors name rows and entries of the periodic matrix, and the system.
fn errors_name_rows_of_the_caller<T: Scalar>() {
    let (n, widths, count) = (20, (2, 2), 35);
    let four = T::from_real(T::Real::from_f64(8.0));
    let good: Vec<T> = (0..n * 5).map(|k| if k % 5 == 2 { four } else { T::ONE }).collect();
    for row in [0, 1, 7, 10, 18, 19] {
        let mut zero_column = good.clone();
        zero_column[5 * row..5 * row + 5].fill(T::ZERO);
        let a = Banded::new(n, 2, 2, &zero_column).unwrap().periodic().unwrap();
        let mut rhs = vec![T::ONE; 2 * n];
        assert_eq!(a.solve(&rhs[..n]).unwrap_err(), Error::Singular { row });
        assert_eq!(a.solve(&rhs).unwrap_err(), Error::Singular { row });
        let open = Banded::new(n, 2, 2, &good).unwrap();
        rhs[n + row] = T::from_real(T::Real::INFINITY);
        let error = Error::NotFinite { array: "rhs", index: n + row };
        assert_eq!(open.periodic().unwrap().solve(&rhs).unwrap_err(), error);
        let mut wrong = good.clone();
        wrong[5 * row + 4] = T::from_real(T::Real::NAN);
        let error = Banded::new(n, 2, 2, &wrong).unwrap().periodic().unwrap_err();
        assert_eq!(error, Error::NotFinite { array: "bands", index: 5 * row + 4 });

        let (at, mut systems) = (17, vec![good.clone(); count]);
        systems[at] = zero_column;
        for order in 0..3 {
            let (bands, strides, layout) = stored(&systems, (n, 5), order);
            let (x, report) = {
                let open = BandedBatch::with_strides(count, n, widths, layout, strides, &bands).unwrap();
                let a = open.periodic().unwrap();
                solve(&Plan::new(a.shape()).factor(&a).unwrap(), Op::Plain, &vec![T::ONE; count * n])
            };
            assert_eq!(report.unwrap_err(), Error::Singular { row: at * n + row }, "order {order}");
            for s in (0..count).filter(|s| *s != at) {
                let place = |s: usize, i: usize| x[index(layout, (count, n), (s, i))];
                assert!((0..n).all(|i| place(s, i) == place(0, i)), "order {order}, system {s}");
            }
            let mut wrong = bands.clone();
            let bad = 5 * strides.system + row * strides.column + 3 * strides.diagonal;
            wrong[bad] = T::from_real(T::Real::INFINITY);
            let open = BandedBatch::with_strides(count, n, widths, layout, strides, &wrong).unwrap();
            let a = open.periodic().unwrap();
            assert_eq!(a.check_finite(), Err(Error::NotFinite { array: "bands", index: bad }));
            assert_eq!(a.solve(&vec![T::ONE; count * n]).unwrap_err(), Error::NotFinite { array: "bands", index: bad });
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
for_all_scalars! { every_width_and_method every_batch one_matrix errors_name_rows_of_the_caller }

/// Condition, determinant and error bounds are those of the periodic matrix.
#[test]
fn inspection() {
    let random = &mut Random::new(5);
    for n in [1, 2, 3, 6, 31] {
        let bands: Vec<f64> = random_vec(n * 5, random);
        let (a, full) = (Banded::new(n, 2, 2, &bands).unwrap().periodic().unwrap(), dense(n, (2, 2), &bands));
        let (ours, theirs) = (Plan::new(a.shape()).factor(&a).unwrap(), Plan::new(full.shape()).factor(&full).unwrap());
        let ratio = ours.determinant().unwrap().value() / theirs.determinant().unwrap().value();
        assert!((ratio - 1.0).abs() < 1e-10, "{n}: {ratio}");
        for norm in [Norm::One, Norm::Infinity] {
            assert!((ours.norm(norm) / theirs.norm(norm) - 1.0).abs() < 1e-13);
        }
        let known = random_vec::<f64>(2 * n, random);
        let rhs = [full.apply(&known[..n]).unwrap(), full.apply(&known[n..]).unwrap()].concat();
        let mut x = vec![0.0; 2 * n];
        let expert = ours.solve_expert(Op::Plain, &rhs, &mut x).unwrap();
        for (k, (x, known)) in x.chunks(n).zip(known.chunks(n)).enumerate() {
            let size = known.iter().fold(0.0f64, |m, v| m.max(v.abs()));
            let error = x.iter().zip(known).fold(0.0f64, |m, (x, v)| m.max((x - v).abs()));
            // The right-hand side was rounded.
            let bound = expert.forward_errors[k] + 2.0 * n as f64 * f64::EPSILON / expert.rcond;
            assert!(error <= bound * size && expert.componentwise_errors[k] < 1e-14, "{n}: {error:e}, {expert:?}");
        }
        // The batch of this system and another one.
        let twice = [&bands[..], &[1.0, 1.0, 9.0, 1.0, 1.0].repeat(n)].concat();
        let batch = BandedBatch::contiguous(2, n, (2, 2), &twice).unwrap().periodic().unwrap();
        let lu = Plan::new(batch.shape()).factor(&batch).unwrap();
        assert_eq!(lu.system(0).unwrap().determinant(), Ok(theirs_of(&a)));
        let mut y = vec![0.0; 2 * n];
        let expert = lu.solve_expert(Op::Plain, &rhs, &mut y).unwrap();
        assert!(expert.componentwise_errors[0] < 1e-14, "{n}: {expert:?}");
        assert!(backward_error(&full, &rhs[..n], &y[..n]) < 1e-14);
    }
}

fn theirs_of(a: &PeriodicBanded<f64>) -> bandsolve::Determinant<f64> {
    Plan::new(a.shape()).method(Method::Pivoted).factor(a).unwrap().determinant().unwrap()
}

/// Sparse right-hand sides have the bits of dense ones, also of diagonal matrices, whose method skips zeros.
#[test]
fn sparse_right_hand_sides() {
    let random = &mut Random::new(6);
    for (n, widths) in [(1, (0, 0)), (2, (1, 1)), (500, (0, 0)), (500, (2, 2))] {
        let diagonals = widths.0 + widths.1 + 1;
        let mut bands: Vec<f64> = random_vec(n * diagonals, random);
        bands.iter_mut().skip(widths.1).step_by(diagonals).for_each(|v| *v += 9.0);
        let a = Banded::new(n, widths.0, widths.1, &bands).unwrap().periodic().unwrap();
        let lu = Plan::new(a.shape()).factor(&a).unwrap();
        for row in [0, n / 3, n - 1] {
            let mut rhs = vec![0.0; n];
            rhs[row] = 2.0;
            let (rows, mut x) = ([row], vec![0.0; n]);
            let sparse = Csc::new(n, &[0, 1], &rows, &[2.0]).unwrap();
            lu.solve_sparse_into(Op::Plain, &sparse, &mut x).unwrap();
            assert_eq!(x, lu.solve(&rhs).unwrap().values);
        }
    }
}

#[test]
fn empty_systems_wrong_lengths_and_scratch() {
    let empty = Banded::<f64>::new(0, 2, 2, &[]).unwrap().periodic().unwrap();
    assert!(empty.solve(&[]).unwrap().values.is_empty());
    for (count, n) in [(0, 5), (5, 0), (0, 0)] {
        let a = BandedBatch::<f64>::contiguous(count, n, (2, 2), &[]).unwrap().periodic().unwrap();
        assert!(a.solve(&[]).unwrap().values.is_empty());
        assert_eq!(a.solve(&[1.0]).unwrap_err(), Error::Shape { what: "rhs", expected: 0, got: 1 });
    }
    let what = "the number of diagonals on one side of a batch of periodic bands";
    let wide = BandedBatch::contiguous(1, 9, (1, 8), &[1.0; 90]).unwrap().periodic().unwrap_err();
    assert_eq!(wide, Error::Shape { what, expected: 7, got: 8 });
    // Wide bands on a short ring. Entries that meet may overflow.
    let a = Banded::new(2, 3, 4, &[1.0; 16]).unwrap().periodic().unwrap();
    assert_eq!(a.folded().storage().0, [0.0, 4.0, 4.0, 4.0, 4.0, 0.0]);
    let huge = Banded::new(1, 1, 1, &[1e308; 3]).unwrap().periodic().unwrap_err();
    assert!(huge.to_string().contains("row 0 and column 0, whose sum overflows"), "{huge}");
    let huge = BandedBatch::contiguous(1, 1, (1, 1), &[1e308; 3]).unwrap().periodic().unwrap();
    let error = huge.solve(&[1.0]).unwrap_err();
    assert!(error.to_string().contains("row 0 and column 0, whose sum overflows"), "{error}");

    let a = Banded::new(6, 1, 1, &[1.0, 4.0, 1.0].repeat(6)).unwrap().periodic().unwrap();
    let lu = Plan::new(a.shape()).factor(&a).unwrap();
    assert_eq!(lu.solve(&[1.0; 5]).unwrap_err(), Error::Shape { what: "rhs", expected: 6, got: 5 });
    let too_small = lu.solve_into_with(Op::Plain, &[1.0; 6], &mut [0.0; 6], PodStack::new(&mut []));
    assert!(matches!(too_small.unwrap_err(), Error::Scratch { .. }));
    let wrong = lu.solve_into(&[1.0; 6], &mut [0.0; 12]).unwrap_err();
    assert_eq!(wrong, Error::Shape { what: "x", expected: 6, got: 12 });
    let mut in_place = [6.0; 12];
    lu.solve_in_place(&mut in_place).unwrap();
    assert!(in_place.iter().all(|v| (v - 1.0f64).abs() < 1e-15));
}

/// Entries that meet are added in the order of the array, alone and in batches of any size.
#[test]
fn entries_that_meet_are_added_in_order() {
    let mut bands = [0.0; 7 * 3];
    for column in bands.chunks_mut(7) {
        (column[0], column[3], column[6]) = (1.0, -1e16, 1e16);
    }
    let alone = Banded::new(3, 3, 3, &bands).unwrap().periodic().unwrap();
    assert_eq!(alone.solve(&[1.0; 3]).unwrap_err(), Error::Singular { row: 0 });
    // In the other order, the sum is 1. From 5 systems on, they are on lanes.
    bands.chunks_mut(7).for_each(|column| column.reverse());
    for count in [1, 5] {
        let all = bands.repeat(count);
        let batch = BandedBatch::contiguous(count, 3, (3, 3), &all).unwrap().periodic().unwrap();
        assert!(batch.solve(&vec![1.0; 3 * count]).unwrap().values.iter().all(|v: &f64| *v == 1.0), "{count}");
        let lu = Plan::new(batch.shape()).factor(&batch).unwrap();
        assert_eq!(lu.determinant().unwrap().value(), 1.0);
        assert_eq!(lu.norm(Norm::One), 1.0);
    }
}

/// A matrix that is not Hermitian has an error with the row of the periodic matrix.
#[test]
fn definite_matrices() {
    let n = 60;
    let good = [1.0, -4.0, 9.0, -4.0, 1.0].repeat(n);
    let factor = |bands: &[f64]| {
        let a = Banded::new(n, 2, 2, bands).unwrap().periodic().unwrap();
        let plan = Plan::new(a.shape()).method(Method::Cholesky);
        let owned = plan.factor_owned(a.clone()).map(|_| ());
        assert_eq!(plan.factor(&a).map(|_| ()), owned);
        owned
    };
    assert_eq!(factor(&good), Ok(()));
    for row in [0, 1, 7, 30, 50, 59] {
        let mut bad = good.clone();
        bad[5 * row + 2] = -50.0;
        assert_eq!(factor(&bad), Err(Error::NotDefinite { row }));
    }
}

/// Long systems are solved one by one, as each of them alone; shorter ones on lanes.
#[test]
fn long_systems() {
    let random = &mut Random::new(12);
    for (n, alone) in [(8191, false), (8192, true)] {
        let count = 5;
        let bands: Vec<f64> = random_vec(count * n * 5, random);
        let rhs = random_vec::<f64>(count * n, random);
        let batch = BandedBatch::contiguous(count, n, (2, 2), &bands).unwrap().periodic().unwrap();
        let (x, report) = solve(&Plan::new(batch.shape()).factor(&batch).unwrap(), Op::Plain, &rhs);
        assert_eq!(report.unwrap().reason.contains("batch"), !alone, "{n}");
        for (bands, (rhs, x)) in bands.chunks(5 * n).zip(rhs.chunks(n).zip(x.chunks(n))) {
            let a = Banded::new(n, 2, 2, bands).unwrap().periodic().unwrap();
            let y = Plan::new(a.shape()).factor(&a).unwrap().solve(rhs).unwrap().values;
            let place = |i: usize, j: usize| bands[(i + n + 2 - j) % n + 5 * j];
            let near = |i: usize| (0..5).map(move |k| (i + n + k - 2) % n);
            let eta = (0..n).map(|i| {
                let residual = rhs[i] - near(i).map(|j| place(i, j) * x[j]).sum::<f64>();
                residual.abs() / (near(i).map(|j| place(i, j).abs()).sum::<f64>() + rhs[i].abs())
            });
            let largest = x.iter().fold(1.0f64, |m, v| m.max(v.abs()));
            assert!(eta.fold(0.0, f64::max) <= 64.0 * 8.0 * f64::EPSILON * largest, "{n}");
            assert!(!alone || x == y, "{n}");
        }
    }
}
