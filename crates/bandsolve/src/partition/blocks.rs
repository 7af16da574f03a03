//! RPTS on blocks, for block tridiagonal systems of up to 8 rows per block and bands with up to 8 diagonals on each side.
//!
//! The method is that of `partitioned.rs` with b × b blocks as elements. An elimination step is Gaussian elimination of b unknowns from
//! the 2b equations of two block rows, with pivoting over all of these equations.
//!
//! Cost per block row with R right-hand sides: about 21·b³ + 6·b²·R multiplications in `reduce` and 8·b³ in `substitute`;
//! 2·(3·b² + b·R) words read and b·R words written. No factors are stored.
//!
//! Source: Klein 2.5.3 and 2.6.9 for the reduction of blocks. In Klein's method, the block with the larger determinant makes its block row
//! the pivot. Here each of the 2b rows can be a pivot row, as in banded LU, so that singular blocks need no special treatment.

use crate::contract::Op;
use crate::contract::equations::Matrix;
use crate::contract::factors::FactorBy;
use crate::matrix::{Banded, BlockTridiagonal};
use crate::partition::block_repair::BlockWindows;
use crate::partition::level_matrix::LevelMatrix;
use crate::partition::partitioned::Partitionable;
use crate::partition::repair::Windows;
use crate::pivoted::{banded, block_band};
use bandsolve_kernel::blocks::{Band, BlockMatrix};
use bandsolve_kernel::rows::Orientation;
use bandsolve_kernel::{Scalar, Simd};

impl<T: Scalar> Partitionable<T> for BlockTridiagonal<'_, T> {
    const SEQUENTIAL: FactorBy<T, Self> = block_band::factor;

    fn level_matrix(&self, op: Op) -> LevelMatrix<'_, T> {
        LevelMatrix::Blocks(BlockMatrix::Blocks(op.block_rows(self)))
    }

    fn windows(&self, op: Op, simd: Simd) -> impl Windows<T> {
        BlockWindows { equations: self.equations(op, simd), block: self.block(), simd }
    }
}

impl<T: Scalar> Partitionable<T> for Banded<'_, T> {
    const SEQUENTIAL: FactorBy<T, Self> = banded::factor;

    fn level_matrix(&self, op: Op) -> LevelMatrix<'_, T> {
        let (n, lower, upper) = (self.n(), self.lower(), self.upper());
        let (bands, leading) = self.storage();
        let orientation = match op {
            Op::Plain => Orientation::Plain,
            Op::Transpose => Orientation::Transposed { conj: false },
            Op::ConjTranspose => Orientation::Transposed { conj: T::COMPLEX },
        };
        let band = Band { bands, n, lower, upper, leading, block: block_of(lower, upper), orientation };
        LevelMatrix::Blocks(BlockMatrix::Band(band))
    }

    fn windows(&self, op: Op, simd: Simd) -> impl Windows<T> {
        BlockWindows { equations: self.equations(op, simd), block: block_of(self.lower(), self.upper()), simd }
    }
}

/// Size of the blocks of a band as a block tridiagonal matrix.
pub(crate) fn block_of(lower: usize, upper: usize) -> usize {
    lower.max(upper).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::factors::Factors;
    use crate::contract::measure::measure;
    use crate::contract::refine::good;
    use crate::decision::Pivoting;
    use crate::partition::partitioned::{self, Scheme};
    use crate::{Complex32, Complex64, Error, Factor, Method, Plan, Shape};
    use bandsolve_kernel::RealScalar;
    use dyn_stack::PodStack;
    use std::sync::Arc;

    /// Random numbers whose parts are uniform in (−1, 1).
    fn random<T: Scalar>(n: usize, seed: u64) -> Vec<T> {
        let mut state = seed;
        let mut unit = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            T::Real::from_f64((state >> 11) as f64 / (1u64 << 52) as f64 - 1.0)
        };
        (0..n).map(|_| T::from_parts(unit(), unit())).collect()
    }

    fn matrix<T: Scalar>(rows: usize, block: usize, periodic: bool) -> BlockTridiagonal<'static, T> {
        let len = rows * block * block;
        BlockTridiagonal::from_vecs(block, [1, 2, 3].map(|seed| random(len, seed)), periodic).unwrap()
    }

    fn rpts(shape: Shape) -> Plan {
        Plan::new(shape).method(Method::Rpts)
    }

    fn by_partitions<T: Scalar, A: Partitionable<T> + Clone>(a: &A, plan: &Plan) -> Factors<T, A> {
        partitioned::factor(Scheme::BLOCKS, &plan.decision, Arc::new(a.clone())).unwrap()
    }

    /// Solve and compare the reported η with a new measurement.
    fn check<T: Scalar, M: Partitionable<T> + Clone>(a: &M, plan: &Plan, op: Op, rhs: &[T]) -> Vec<T> {
        let factor = by_partitions(a, plan);
        let n_rhs = rhs.len() / a.shape().n();
        let mut x = vec![T::from_real(T::Real::NAN); rhs.len()];
        let mut memory = dyn_stack::PodBuffer::new(factor.solve_scratch(n_rhs));
        let report = factor.solve_into_with(op, rhs, &mut x, PodStack::new(&mut memory)).unwrap();
        assert!(report.backward_error <= good::<T>() && !report.fallback, "{:?} {op:?}: {report:?}", a.shape());
        for (rhs, x) in rhs.chunks(a.shape().n()).zip(x.chunks(a.shape().n())) {
            // The reported bound holds up to the rounding of the second measurement.
            let eta = measure(&a.equations(op, Simd::detect()), rhs, x, false);
            let rounding = 0.5 * good::<T>();
            assert!(eta <= report.backward_error + rounding, "{:?} {op:?}: {eta:e} {report:?}", a.shape());
        }
        x
    }

    fn systems_of_all_sizes<T: Scalar>() {
        for block in 1..=8 {
            for rows in [2, 3, 7, 8, 9, 31, 33, 64, 97, 300, 1031] {
                for periodic in [false, true] {
                    let a = matrix::<T>(rows, block, periodic);
                    let plan = rpts(a.shape()).partition_rows(if rows % 2 == 0 { 8 } else { 5 });
                    for (n_rhs, op) in [(1, Op::Plain), (3, Op::Transpose), (5, Op::ConjTranspose)] {
                        check(&a, &plan, op, &random(a.n() * n_rhs, 4));
                    }
                }
            }
        }
    }

    #[test]
    fn systems_of_all_sizes_f64() {
        systems_of_all_sizes::<f64>();
    }

    #[test]
    fn systems_of_all_sizes_f32() {
        systems_of_all_sizes::<f32>();
    }

    #[test]
    fn systems_of_all_sizes_c64() {
        systems_of_all_sizes::<Complex64>();
    }

    #[test]
    fn systems_of_all_sizes_c32() {
        systems_of_all_sizes::<Complex32>();
    }

    #[test]
    fn bands_are_cut_into_blocks() {
        for (lower, upper) in [(0, 0), (0, 1), (1, 0), (2, 2), (1, 3), (4, 2), (0, 5), (8, 8)] {
            for n in [17, 18, 64, 100, 509, 2003] {
                // Additional rows of the array outside of the band, as in LAPACK.
                let leading = lower + upper + 4;
                let mut bands = random::<f64>(n * leading, 7);
                bands.iter_mut().skip(upper).step_by(leading).for_each(|v| *v += 2.0);
                let a = Banded::with_leading(n, lower, upper, leading, &bands).unwrap();
                for (plan, op) in [
                    (rpts(a.shape()), Op::Plain),
                    (rpts(a.shape()).partition_rows(5), Op::Transpose),
                    (rpts(a.shape()).pivoting(Pivoting::Partial), Op::Plain),
                ] {
                    check(&a, &plan, op, &random(2 * n, 9));
                }
            }
        }
    }

    #[test]
    fn threads_do_not_change_a_bit() {
        let a = matrix::<f64>(9000, 2, true);
        let rhs = random(a.n(), 5);
        let x = [1, 2, 3, 7].map(|threads| check(&a, &rpts(a.shape()).threads(threads), Op::Plain, &rhs));
        assert!(x.iter().all(|y| *y == x[0]));
    }

    /// Multiplying rows and right-hand sides by powers of two changes neither pivots nor bits of x.
    #[test]
    fn row_scaling_changes_nothing() {
        let (rows, block) = (500, 3);
        let blocks = [1, 2, 3].map(|seed| random::<f64>(rows * block * block, seed));
        let power = |i: usize| 2.0f64.powi((i * 37 % 1901) as i32 - 950);
        let scaled = blocks.clone().map(|array| {
            let scaled = |(k, v): (usize, f64)| v * power(k / (block * block) * block + k % block);
            array.into_iter().enumerate().map(scaled).collect()
        });
        let a = BlockTridiagonal::from_vecs(block, blocks, false).unwrap();
        let b = BlockTridiagonal::from_vecs(block, scaled, false).unwrap();
        let rhs = random(a.n(), 6);
        let scaled: Vec<f64> = rhs.iter().enumerate().map(|(i, v)| v * power(i)).collect();
        let plan = rpts(a.shape()).verify(false);
        let solve = |a: &BlockTridiagonal<'_, f64>, rhs: &[f64]| by_partitions(a, &plan).solve(rhs).unwrap().values;
        assert_eq!(solve(&a, &rhs), solve(&b, &scaled));
    }

    /// All diagonal blocks and every other off-diagonal block are zero, so that no block inside a partition is regular.
    #[test]
    fn decoupled_pairs_need_no_fallback() {
        let (rows, block) = (512, 2);
        let beside = |odd: usize| -> Vec<f64> {
            let unit = |k: usize| f64::from(u8::from(k / 4 % 2 == odd && [0, 3].contains(&(k % 4))));
            (0..4 * rows).map(unit).collect()
        };
        let a = BlockTridiagonal::from_vecs(block, [beside(1), vec![0.0; 4 * rows], beside(0)], false).unwrap();
        check(&a, &rpts(a.shape()), Op::Plain, &random(a.n(), 3));
    }

    #[test]
    fn singular_and_infinite_systems_are_errors() {
        let n = 200;
        let blocks = || [1, 2, 3].map(|seed| random::<f64>(4 * n, seed));
        let solve = |blocks: [Vec<f64>; 3], rhs: &[f64]| {
            let a = BlockTridiagonal::from_vecs(2, blocks, false).unwrap();
            rpts(a.shape()).factor(&a).unwrap().solve(rhs).map(|x| x.report).unwrap_err()
        };
        let rhs = random(2 * n, 4);
        // A column of zeros.
        let mut singular = blocks();
        singular[0][4 * 101..][..2].fill(0.0);
        singular[1][4 * 100..][..2].fill(0.0);
        singular[2][4 * 99..][..2].fill(0.0);
        assert_eq!(solve(singular, &rhs), Error::Singular { row: 200 });
        let mut infinite = blocks();
        infinite[2][17] = f64::INFINITY;
        assert_eq!(solve(infinite, &rhs), Error::NotFinite { array: "sup", index: 17 });
        let mut wrong = rhs;
        wrong[399] = f64::NAN;
        assert_eq!(solve(blocks(), &wrong), Error::NotFinite { array: "rhs", index: 399 });
    }
}
