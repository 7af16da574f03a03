//! The common part of parallel diagonal pivoting and CF-LU: leading minors by a second-order recurrence.
//!
//! ```text
//! θᵢ = bᵢ θᵢ₋₁ − aᵢ cᵢ₋₁ θᵢ₋₂,   θ₋₁ = 1,   θ₋₂ = 0,   b̂ᵢ = θᵢ / θᵢ₋₁
//! ```
//!
//! The leading entries b̂ do not depend on whether earlier pivots are 1 × 1 or 2 × 2. They are therefore computed before the pivots are
//! chosen. Tiles of rows are processed on SIMD lanes, several at a time on threads; `pivot_tiles.rs` of the kernels has the steps.
//!
//! A solve reads the factors but not the matrix.
//!
//! Source: Chang, thesis, chapter 4. a, b, c, d → sub, diag, sup, rhs.

use crate::contract::determinant::ScaledProduct;
use crate::decision::Options;
use crate::error::Result;
use crate::memory::array;
use crate::methods::diagonal_pivoting::determinant;
use crate::methods::stored::Elimination;
use crate::tuning::tasks;
use bandsolve_kernel::memory::{Array, MemoryPool};
use bandsolve_kernel::pivot_tiles::{FactorPivots, PivotCarry, PivotSizes, SolveTile};
use bandsolve_kernel::rows::Rows;
use bandsolve_kernel::scan::{CarryPair, Scan, ScanTile, run};
use bandsolve_kernel::{Scalar, Simd};
use core::sync::atomic::{AtomicBool, Ordering};
use dyn_stack::PodStack;

/// Factors of an open system. If `PAIRS`, 2 × 2 pivots are used where they are needed.
///
/// # Cost
/// Factor: about 60 flops and 4 divisions per row (30 flops and 3 divisions without pairs). Solve: 18 flops per row and right-hand side (15 without pairs).
#[derive(Debug)]
pub(crate) struct Theta<T: Scalar, const PAIRS: bool> {
    memory: Array<T::Real>,
    sizes: PivotSizes,
    simd: Simd,
    threads: usize,
    singular: bool,
}

impl<T: Scalar, const PAIRS: bool> Elimination<T> for Theta<T, PAIRS> {
    fn new(rows: &Rows<'_, T>, options: &Options, pool: &MemoryPool) -> Result<Self> {
        let (n, simd) = (rows.n(), options.simd);
        let sizes = PivotSizes::new::<T>(n, PAIRS, simd);
        let mut memory = array(sizes.total_len(), Some(pool))?;
        let threads = tasks(options.threads, n);
        let scan = FactorScan { rows, sizes, simd, carry: PivotCarry::default(), singular: AtomicBool::new(false) };
        run(&scan, &mut memory, threads);
        let singular = scan.singular.into_inner();
        Ok(Self { memory, sizes, simd, threads, singular })
    }

    fn is_singular(&self) -> bool {
        self.singular
    }

    /// Return the determinant only with 2 × 2 pivots, because without them pivots can lose digits.
    fn product(&self, rows: &Rows<'_, T>) -> Option<ScaledProduct> {
        PAIRS.then(|| determinant(rows, |i| self.sizes.row::<T>(&self.memory, i)))
    }

    fn solve(&self, rows: &Rows<'_, T>, x: &mut [T], _stack: &mut PodStack) {
        for x in x.chunks_exact_mut(rows.n()) {
            run(&SolveScan::<T, PAIRS, false> { factors: self, carry: CarryPair::new(T::ZERO) }, &mut *x, self.threads);
            run(&SolveScan::<T, PAIRS, true> { factors: self, carry: CarryPair::new(T::ZERO) }, x, self.threads);
        }
    }
}

/// The scan that factors.
struct FactorScan<'m, T> {
    rows: &'m Rows<'m, T>,
    sizes: PivotSizes,
    simd: Simd,
    carry: PivotCarry<T>,
    singular: AtomicBool,
}

impl<T: Scalar> Scan<T::Real> for FactorScan<'_, T> {
    const REVERSED: bool = false;

    fn tile_rows(&self, left: usize) -> usize {
        left.min(self.sizes.tile_len(0))
    }

    fn tile(&self, tile: &mut ScanTile<T::Real>) -> bool {
        let (index, first, carry) = (tile.index, tile.index * self.sizes.rows(), &self.carry);
        let Self { rows, sizes, simd, .. } = *self;
        let job = FactorPivots { rows: *rows, sizes, first, index, memory: tile.output, carry };
        let singular = job.run_on(simd);
        if singular == Some(true) {
            self.singular.store(true, Ordering::Relaxed);
        }
        singular.is_some()
    }

    fn give_up(&self) {
        self.carry.give_up();
    }
}

/// The scan of the forward or the backward sweep of a solve.
struct SolveScan<'f, T: Scalar, const PAIRS: bool, const BACKWARD: bool> {
    factors: &'f Theta<T, PAIRS>,
    carry: CarryPair<T>,
}

impl<T: Scalar, const PAIRS: bool, const BACKWARD: bool> Scan<T> for SolveScan<'_, T, PAIRS, BACKWARD> {
    const REVERSED: bool = BACKWARD;

    /// The last tile of the matrix may have fewer rows. It is the first one backward.
    fn tile_rows(&self, left: usize) -> usize {
        let full = self.factors.sizes.rows();
        if BACKWARD { left - (left - 1) / full * full } else { left.min(full) }
    }

    fn tile(&self, tile: &mut ScanTile<T>) -> bool {
        let Theta { memory, sizes, simd, .. } = self.factors;
        let (first, index, after) = (tile.offset, tile.index, tile.after);
        let (x, carry, backward) = (&mut *tile.output, &self.carry, BACKWARD);
        let tile = SolveTile { sizes: *sizes, first, index, memory, x, after, backward, carry };
        tile.run_on(*simd)
    }

    fn give_up(&self) {
        self.carry.give_up();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::verify::backward_error;
    use crate::methods::diagonal_pivoting::DiagonalPivoting;
    use crate::methods::stored::testing::{check_dominant, matrix, options};
    use crate::{Complex32, Complex64, RealScalar, Tridiagonal};
    use bandsolve_gallery::Random;
    use dyn_stack::PodBuffer;

    /// Entries from U(−1, 1).
    fn random<T: Scalar>(n: usize, seed: u64) -> Tridiagonal<'static, T> {
        let mut random = Random::new(seed);
        let mut draw = || T::Real::from_f64(random.uniform(-1.0, 1.0));
        let mut column = || (0..n).map(|_| T::from_parts(draw(), draw())).collect();
        Tridiagonal::from_vecs(column(), column(), column(), false).unwrap()
    }

    fn factors<T: Scalar, E: Elimination<T>>(rows: &Rows<'_, T>, options: &Options) -> E {
        E::new(rows, options, &MemoryPool::default()).unwrap()
    }

    /// The backward error of a solve with pairs, which is the same for any number of threads.
    fn error<T: Scalar>(rows: &Rows<'_, T>, simd: Simd) -> f64 {
        let n = rows.n();
        let d: Vec<T> = (0..n).map(|i| T::from_parts(T::Real::from_f64((i as f64).sin()), T::Real::ONE)).collect();
        let of = |threads| {
            let theta: Theta<T, true> = factors(rows, &Options { simd, threads, ..options() });
            assert!(!theta.is_singular());
            let mut x = d.clone();
            theta.solve(rows, &mut x, PodStack::new(&mut PodBuffer::new(dyn_stack::StackReq::EMPTY)));
            x
        };
        let x = of(1);
        assert!(of(3) == x, "n = {n}");
        backward_error(*rows, (&d, &x), false)
    }

    /// Sizes around a full group and a full tile of every instruction set.
    fn sizes() -> impl Iterator<Item = usize> {
        let tiles = Simd::ALL.iter().map(|simd| PivotSizes::new::<f64>(1, true, simd.or_best()).rows());
        (2..70).chain(tiles.flat_map(|rows| [rows - 1, rows, rows + 1, 3 * rows + 7]))
    }

    #[test]
    fn dominant_systems_of_every_size() {
        check_dominant::<Theta<f64, false>>();
        check_dominant::<Theta<f64, true>>();
    }

    fn of_type<T: Scalar>() {
        for n in sizes() {
            let a = random::<T>(n, n as u64);
            for simd in Simd::ALL.iter().map(|simd| simd.or_best()) {
                for rows in [a.rows(), a.rows().transposed(true)] {
                    let eta = error(&rows, simd) / T::Real::EPSILON.to_f64();
                    assert!(eta <= 8.0, "n = {n}, {}: {eta} ε", simd.name());
                }
            }
        }
    }

    #[test]
    fn random_systems_of_every_type_need_pivots() {
        of_type::<f64>();
        of_type::<f32>();
        of_type::<Complex64>();
        of_type::<Complex32>();
    }

    #[test]
    fn every_row_needs_a_pivot() {
        for n in sizes().filter(|n| n % 2 == 0) {
            let rows: Vec<_> = (0..n).map(|_| [1.0, 0.0, 1.0]).collect();
            assert!(error(&matrix(&rows).rows(), Simd::detect()) <= 2.0 * f64::EPSILON, "n = {n}");
        }
    }

    #[test]
    fn determinants_are_those_of_sequential_pivots() {
        for n in sizes().filter(|n| *n < 3000) {
            let a = random::<f64>(n, 7);
            let [theirs, ours] = [
                factors::<f64, DiagonalPivoting<f64>>(&a.rows(), &options()).product(&a.rows()),
                factors::<f64, Theta<f64, true>>(&a.rows(), &options()).product(&a.rows()),
            ]
            .map(|product| product.unwrap().determinant::<f64>());
            assert!(ours.phase == theirs.phase && (ours.log_abs - theirs.log_abs).abs() < 1e-9, "n = {n}");
        }
    }

    #[test]
    fn tiny_pivots_of_complex_rows() {
        // The square of the pivot of row 1 leaves the range of c32, and that of c64.
        fn of<T: Scalar>(tiny: f64) {
            let of = |values: [f64; 3]| values.map(|v| T::from_real(T::Real::from_f64(v))).to_vec();
            let a = Tridiagonal::from_vecs(of([0.0, 1.0, 0.0]), of([1.0, tiny, 1.0]), of([0.0; 3]), false).unwrap();
            assert!(error(&a.rows(), Simd::detect()) <= 4.0 * T::Real::EPSILON.to_f64());
        }
        of::<Complex32>(1e-21);
        of::<Complex64>(1e-170);
    }

    #[test]
    fn minors_that_vanish_are_no_nan() {
        // All leading entries are ½. The transfers of all groups but the first map this state to zero, because of rounding. x of more rows
        // would leave the range.
        let rows: Vec<_> = (0..480).map(|i| [1.0, if i == 0 { 0.5 } else { 2.5 }, 1.0]).collect();
        let (a, empty) = (matrix(&rows), dyn_stack::StackReq::EMPTY);
        for simd in Simd::ALL.iter().map(|simd| simd.or_best()) {
            let theta: Theta<f64, true> = factors(&a.rows(), &Options { simd, ..options() });
            let mut x = vec![1.0; rows.len()];
            theta.solve(&a.rows(), &mut x, PodStack::new(&mut PodBuffer::new(empty)));
            assert!(theta.is_singular() || x.iter().all(|x| x.is_finite()), "{}", simd.name());
        }
    }

    #[test]
    fn zero_pivots_are_seen_in_every_row() {
        for n in [3, 40, 700] {
            for zero in 0..n {
                let rows: Vec<_> = (0..n).map(|i| if i == zero { [0.0; 3] } else { [1.0, 4.0, 1.0] }).collect();
                let a = matrix(&rows);
                assert!(factors::<f64, Theta<f64, false>>(&a.rows(), &options()).is_singular(), "n = {n}, row {zero}");
                assert!(factors::<f64, Theta<f64, true>>(&a.rows(), &options()).is_singular(), "n = {n}, row {zero}");
            }
        }
    }
}
