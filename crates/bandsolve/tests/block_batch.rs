//! Batches of block tridiagonal systems, open and periodic: every block size, order in memory and operation against an independent measurement.

use bandsolve::dyn_stack::{PodBuffer, PodStack};
use bandsolve::prelude::*;
use bandsolve::{BatchFactor, BlockStrides, Complex32, Complex64, RealScalar, Scalar};
use bandsolve_gallery::oracle::{backward_error, transpose_banded};
use bandsolve_gallery::{Random, random_vec};

const OPS: [Op; 3] = [Op::Plain, Op::Transpose, Op::ConjTranspose];

/// One block tridiagonal matrix: blocks by rows, indexed by block row.
struct Blocks<T> {
    block_rows: usize,
    block: usize,
    periodic: bool,
    arrays: [Vec<T>; 3],
}

impl<T: Scalar> Blocks<T> {
    /// Random blocks; those that are ignored are NaN.
    fn random(block_rows: usize, block: usize, periodic: bool, random: &mut Random) -> Self {
        let size = block * block;
        let mut arrays = [0, 1, 2].map(|_| random_vec::<T>(block_rows * size, random));
        if !periodic {
            arrays[0][..size].fill(T::from_real(T::Real::NAN));
            arrays[2][(block_rows - 1) * size..].fill(T::from_real(T::Real::NAN));
        }
        Self { block_rows, block, periodic, arrays }
    }

    /// The matrix by its definition, as a band with all diagonals.
    fn dense(&self) -> Banded<'static, T> {
        let (rows, b) = (self.block_rows, self.block);
        let n = rows * b;
        let height = 2 * n - 1;
        let mut all = vec![T::ZERO; n * height];
        for (which, array) in self.arrays.iter().enumerate() {
            for (index, v) in array.iter().enumerate() {
                let (i, r, c) = (index / (b * b), index / b % b, index % b);
                let j = i as isize + which as isize - 1;
                if self.periodic || (0..rows as isize).contains(&j) {
                    let j = j.rem_euclid(rows as isize) as usize;
                    let (i, j) = (i * b + r, j * b + c);
                    all[j * height + n - 1 + i - j] += *v;
                }
            }
        }
        Banded::from_vec(n, n - 1, n - 1, all).unwrap()
    }
}

/// The arrays of a batch: one system after the other with row-major or column-major blocks, or side by side.
fn stored<T: Scalar>(systems: &[Blocks<T>], order: usize) -> ([Vec<T>; 3], BlockStrides, Layout) {
    let (count, b, rows) = (systems.len(), systems[0].block, systems[0].block_rows);
    let (strides, layout) = match order {
        0 => (BlockStrides { system: rows * b * b, block: b * b, row: b, column: 1 }, Layout::Contiguous),
        1 => (BlockStrides { system: rows * b * b, block: b * b, row: 1, column: b }, Layout::Contiguous),
        _ => (BlockStrides { system: 1, block: count * b * b, row: count * b, column: count }, Layout::Interleaved),
    };
    let mut arrays = [0, 1, 2].map(|_| vec![T::ZERO; count * rows * b * b]);
    for (s, system) in systems.iter().enumerate() {
        for (to, from) in arrays.iter_mut().zip(&system.arrays) {
            for (index, v) in from.iter().enumerate() {
                let BlockStrides { system, block, row, column } = strides;
                to[s * system + index / (b * b) * block + index / b % b * row + index % b * column] = *v;
            }
        }
    }
    (arrays, strides, layout)
}

fn solve<T: Scalar>(factor: &dyn Factor<T>, op: Op, rhs: &[T]) -> (Vec<T>, Result<Report, Error>) {
    let n_rhs = factor.shape().n_rhs("rhs", rhs.len()).unwrap();
    let mut x = vec![T::from_real(T::Real::NAN); rhs.len()];
    let mut memory = PodBuffer::new(factor.solve_scratch(n_rhs));
    let report = factor.solve_into_with(op, rhs, &mut x, PodStack::new(&mut memory));
    (x, report)
}

/// The factors of a batch in an order in memory.
fn factors<T: Scalar>(
    systems: &[Blocks<T>],
    (order, shared): (usize, bool),
    count: usize,
    threads: usize,
) -> (BatchFactor<'static, T>, Layout) {
    let (arrays, strides, layout) = stored(systems, order);
    let strides = if shared { BlockStrides { system: 0, ..strides } } else { strides };
    let size = (systems[0].block_rows, systems[0].block);
    let arrays = arrays.each_ref().map(|array| &array[..]);
    let a = BandedBatch::from_blocks(count, size, layout, strides, arrays).unwrap();
    let a = if systems[0].periodic { a.periodic().unwrap() } else { a }.try_into_owned().unwrap();
    let factor = Plan::new(a.shape()).threads(threads).factor_owned(a);
    (factor.unwrap(), layout)
}

fn every_block_and_order<T: Scalar>() {
    let random = &mut Random::new(9);
    let epsilon = T::Real::EPSILON.to_f64();
    for (periodic, block) in (1..=8).map(|b| (false, b)).chain((1..=5).map(|b| (true, b))) {
        for (block_rows, count) in [(1, 3), (2, 9), (3, 17), (6, 2), (9, 21)] {
            let systems: Vec<_> =
                (0..count).map(|_| Blocks::<T>::random(block_rows, block, periodic, random)).collect();
            let n = block_rows * block;
            let rhs = random_vec::<T>(2 * n * count, random);
            for (order, op) in (0..3).flat_map(|order| OPS.map(|op| (order, op))) {
                let (factor, layout) = factors(&systems, (order, false), count, 2);
                let (x, report) = solve(&factor, op, &rhs);
                let what = format!("{count} of {block_rows} × {block}, periodic {periodic}, order {order}, {op:?}");
                let report = report.unwrap_or_else(|error| panic!("{what}: {error}"));
                assert!(
                    report.backward_error <= epsilon * if report.fallback { 64.0 } else { 8.0 },
                    "{what}: {report:?}"
                );
                for (s, system) in systems.iter().enumerate() {
                    let a = system.dense();
                    let a = if op == Op::Plain { a } else { transpose_banded(&a, op == Op::ConjTranspose) };
                    for (rhs, x) in rhs.chunks(n * count).zip(x.chunks(n * count)) {
                        let of = |all: &[T]| -> Vec<T> {
                            let at = |i| if layout == Layout::Contiguous { s * n + i } else { i * count + s };
                            (0..n).map(|i| all[at(i)]).collect()
                        };
                        let eta = backward_error(&a, &of(rhs), &of(x));
                        let most = report.backward_error + (n + 4) as f64 * epsilon;
                        assert!(eta <= most, "{what}, system {s}: {eta:e}, {report:?}");
                    }
                }
                let (other, _) = factors(&systems, (order, false), count, 1);
                assert!(solve(&other, op, &rhs).0 == x, "{what}");
            }
        }
    }
}

#[test]
fn every_block_and_order_f64() {
    every_block_and_order::<f64>();
}

#[test]
fn every_block_and_order_f32() {
    every_block_and_order::<f32>();
}

#[test]
fn every_block_and_order_c64() {
    every_block_and_order::<Complex64>();
}

/// One matrix for all systems, by a distance of zero from one system to the next.
fn one_matrix<T: Scalar>() {
    let random = &mut Random::new(4);
    let epsilon = T::Real::EPSILON.to_f64();
    for (periodic, block) in (1..=8).map(|b| (false, b)).chain((1..=5).map(|b| (true, b))) {
        for (block_rows, count) in [(1, 70), (2, 19), (3, 70), (7, 131), (40, 66)] {
            let one = [Blocks::<T>::random(block_rows, block, periodic, random)];
            let n = block_rows * block;
            let rhs = random_vec::<T>(n * count, random);
            for (order, op) in [0, 2].into_iter().flat_map(|order| OPS.map(|op| (order, op))) {
                let (factor, layout) = factors(&one, (order, true), count, 3);
                let (x, report) = solve(&factor, op, &rhs);
                let what = format!("{count} of {block_rows} × {block}, periodic {periodic}, order {order}, {op:?}");
                let report = report.unwrap_or_else(|error| panic!("{what}: {error}"));
                let a = one[0].dense();
                let a = if op == Op::Plain { a } else { transpose_banded(&a, op == Op::ConjTranspose) };
                for s in [0, count / 2, count - 1] {
                    let of = |all: &[T]| -> Vec<T> {
                        let at = |i| if layout == Layout::Contiguous { s * n + i } else { i * count + s };
                        (0..n).map(|i| all[at(i)]).collect()
                    };
                    let eta = backward_error(&a, &of(&rhs), &of(&x));
                    assert!(eta <= report.backward_error + (n + 4) as f64 * epsilon, "{what}: {eta:e}, {report:?}");
                }
                assert!(solve(&factors(&one, (order, true), count, 1).0, op, &rhs).0 == x, "{what}");
            }
        }
    }
}

#[test]
fn one_matrix_f64() {
    one_matrix::<f64>();
}

#[test]
fn one_matrix_c32() {
    one_matrix::<Complex32>();
}

#[test]
fn errors_name_rows_and_entries() {
    let random = &mut Random::new(2);
    let (rows, block, count) = (5, 3, 12);
    for (periodic, order) in [false, true].into_iter().flat_map(|periodic| [0, 1, 2].map(|order| (periodic, order))) {
        let make = |arrays: &[Vec<f64>; 3], strides, layout| {
            let arrays = arrays.each_ref().map(|array| &array[..]);
            let a = BandedBatch::from_blocks(count, (rows, block), layout, strides, arrays)?;
            let a = if periodic { a.periodic()? } else { a };
            let error = a.check_finite().err();
            assert_eq!(a.solve(&vec![1.0; count * rows * block]).err(), error.clone());
            error.map_or(Ok(()), Err)
        };
        let mut systems: Vec<_> = (0..count).map(|_| Blocks::<f64>::random(rows, block, periodic, random)).collect();
        // The last unknown of block 3 of system 4 has a column of zeros.
        for (array, i) in systems[4].arrays.iter_mut().zip([4, 3, 2]) {
            (0..block).for_each(|r| array[i * block * block + r * block + 2] = 0.0);
        }
        let (factor, _) = factors(&systems, (order, false), count, 2);
        let error = solve(&factor, Op::Plain, &vec![1.0; count * rows * block]).1.unwrap_err();
        assert_eq!(error, Error::Singular { row: 4 * rows * block + 3 * block + 2 });
        let (arrays, strides, layout) = stored(&systems, order);
        for (which, array) in ["sub", "diag", "sup"].into_iter().enumerate() {
            let mut wrong = arrays.clone();
            let index = strides.system + 2 * strides.block + strides.row;
            wrong[which][index] = f64::INFINITY;
            assert_eq!(make(&wrong, strides, layout), Err(Error::NotFinite { array, index }));
        }
        let short = arrays.each_ref().map(|array| array[1..].to_vec());
        let len = arrays[0].len();
        assert_eq!(make(&short, strides, layout), Err(Error::Shape { what: "sub", expected: len, got: len - 1 }));
        let mut uneven = arrays.clone();
        uneven[2].push(1.0);
        assert_eq!(make(&uneven, strides, layout), Err(Error::Shape { what: "sup", expected: len, got: len + 1 }));
    }
}

#[test]
fn sizes_at_the_limits() {
    let strides = BlockStrides { system: 0, block: 0, row: 0, column: 0 };
    let numbers = [1.0; 1];
    let open = |block| BandedBatch::from_blocks(1, (1, block), Layout::Contiguous, strides, [&numbers; 3]);
    let ring = |block| open(block)?.periodic();
    let what = "the number of rows of a block of a batch";
    assert!(open(8).is_ok() && ring(5).is_ok());
    assert_eq!(open(9).err(), Some(Error::Shape { what, expected: 8, got: 9 }));
    assert_eq!(open(0).err(), Some(Error::Shape { what, expected: 1, got: 0 }));
    let what = "the number of rows of a block of a periodic batch";
    assert_eq!(ring(6).err(), Some(Error::Shape { what, expected: 5, got: 6 }));
    for (count, rows) in [(0, 3), (3, 0), (0, 0)] {
        let empty = BandedBatch::<f64>::from_blocks(count, (rows, 2), Layout::Contiguous, strides, [&[]; 3]).unwrap();
        assert!(empty.solve(&[]).unwrap().values.is_empty());
        assert!(empty.periodic().unwrap().solve(&[]).unwrap().values.is_empty());
    }
    // Blocks of a ring that meet may overflow.
    let huge = BandedBatch::from_blocks(1, (1, 1), Layout::Contiguous, strides, [&[1e308]; 3]).unwrap();
    let huge = huge.periodic().unwrap();
    let error = huge.solve(&[1.0]).unwrap_err();
    assert!(error.to_string().contains("row 0 and column 0, whose sum overflows"), "{error}");
}
