//! One step of Gaussian elimination with row pivoting, in every lane: pivot rows are chosen by comparison and exchanged by selection.

use super::super::sweep::{above_noise, denoise};
use super::system::BlockPivots;
use crate::number::{Element, Lanes, Machine, RealScalar, Scalar};
use crate::tuning::SMALL_BLOCK_MAX;
use core::mem::MaybeUninit;

/// Number of rows of the largest panel.
pub const PANEL_ROWS: usize = 2 * SMALL_BLOCK_MAX;

/// The entries of a column of the panel.
pub type PanelColumn<T, V> = [MaybeUninit<<T as Scalar>::Element<V>>; PANEL_ROWS];

/// The elimination of one unknown in blocks of `N` rows (0: any size).
pub struct PanelStep<T: Scalar, V: Lanes<Real = T::Real>, const N: usize, const BAND: bool> {
    /// For each row r, the lanes in which it is the pivot row.
    takes: [MaybeUninit<V::Mask>; PANEL_ROWS],
    /// For each row r, the factor of the pivot row that is subtracted from it.
    factors: PanelColumn<T, V>,
}

impl<T: Scalar, V: Lanes<Real = T::Real>, const N: usize, const BAND: bool> PanelStep<T, V, N, BAND> {
    pub const NONE: Self = Self {
        takes: [const { MaybeUninit::uninit() }; PANEL_ROWS],
        factors: [const { MaybeUninit::uninit() }; PANEL_ROWS],
    };

    /// The row after the last one that step `p` changes.
    #[inline(always)]
    fn end(b: usize, p: usize) -> usize {
        if BAND { b + p + 1 } else { 2 * b }
    }

    /// Choose the pivot of column `c`, to which all previous steps were applied. Returns the reciprocal of the pivot.
    #[inline(always)]
    pub fn choose(
        &mut self,
        b: usize,
        c: usize,
        choice: BlockPivots<T::Real>,
        column: &mut PanelColumn<T, V>,
    ) -> T::Element<V> {
        let b = if N == 0 { b } else { N };
        if const { V::PORTABLE } && choice.noise > T::Real::ZERO {
            Self::denoise(b, c, choice.noise, column);
        }
        let exchange = V::splat(choice.exchange);
        // SAFETY: here and below, all 2b entries of the column were filled in.
        let top = unsafe { column[c].assume_init() };
        let (mut best, mut pivot) = (top.abs1(), top);
        let mut chosen = V::splat(T::Real::from_f64(c as f64));
        for r in c + 1..Self::end(b, c) {
            // SAFETY: see above.
            let entry = unsafe { column[r].assume_init() };
            let size = entry.abs1() * exchange;
            let better = size.gt(best);
            best = V::select(better, size, best);
            pivot = T::Element::select(better, entry, pivot);
            chosen = V::select(better, V::splat(T::Real::from_f64(r as f64)), chosen);
        }
        // If row r is the pivot row, row c takes its place.
        let half = V::splat(T::Real::from_f64(0.5));
        for r in c + 1..Self::end(b, c) {
            self.takes[r].write(half.gt((chosen - V::splat(T::Real::from_f64(r as f64))).abs()));
        }
        let recip = (pivot + T::Element::<V>::splat(T::Real::GUARD)).recip();
        for r in c + 1..Self::end(b, c) {
            // SAFETY: see above; `takes` was just written.
            let (take, entry) = unsafe { (self.takes[r].assume_init(), column[r].assume_init()) };
            self.factors[r].write(T::Element::select(take, top, entry) * recip);
        }
        recip
    }

    /// Set small candidates for the pivot of column `c` to zero.
    #[inline(always)]
    fn denoise(b: usize, c: usize, noise: T::Real, column: &mut PanelColumn<T, V>) {
        let noise = above_noise::<V>(noise);
        for r in c..Self::end(b, c) {
            // SAFETY: all 2b entries of the column were filled in.
            let entry = unsafe { column[r].assume_init() };
            column[r].write(denoise(entry, noise, T::Real::ZERO));
        }
    }

    /// Apply this step, number `p`, to another column: entry r ← entry r − factor_r · pivot row's entry.
    #[inline(always)]
    pub fn apply(&self, b: usize, p: usize, column: &mut PanelColumn<T, V>) {
        let b = if N == 0 { b } else { N };
        // SAFETY: here and below, all 2b entries of the column were filled in, and `choose` wrote the masks and
        // factors.
        let top = unsafe { column[p].assume_init() };
        let mut pivot = top;
        for r in p + 1..Self::end(b, p) {
            // SAFETY: see above.
            let (take, entry) = unsafe { (self.takes[r].assume_init(), column[r].assume_init()) };
            pivot = T::Element::select(take, entry, pivot);
        }
        column[p].write(pivot);
        for r in p + 1..Self::end(b, p) {
            // SAFETY: see above.
            let (take, entry, factor) =
                unsafe { (self.takes[r].assume_init(), column[r].assume_init(), self.factors[r].assume_init()) };
            column[r].write(factor.neg_mul_add(pivot, T::Element::select(take, top, entry)));
        }
    }
}
