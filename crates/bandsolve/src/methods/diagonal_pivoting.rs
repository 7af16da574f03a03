//! Diagonal pivoting: T = L·B·Mᵀ with 1 × 1 and 2 × 2 pivots on the diagonal of B, without row exchanges.
//!
//! b̂ is the leading entry of the remaining matrix. The pivot is 1 × 1 if b̂ is large enough:
//!
//! ```text
//! σ |b̂ᵢ| ≥ κ |aᵢ₊₁ cᵢ|
//! σ = max(|aᵢ₊₁|, |aᵢ₊₂|, |bᵢ₊₁|, |cᵢ|, |cᵢ₊₁|),   κ = (√5 − 1)/2
//! ```
//!
//! Otherwise it is 2 × 2 with determinant Δ = b̂ᵢ bᵢ₊₁ − aᵢ₊₁ cᵢ. The remaining matrix is tridiagonal. Its leading entry and right-hand
//! side are
//!
//! ```text
//! b̂ = b − a u,   d̂ = d − a y
//! ```
//!
//! where (u, y) belong to the row above. x = y − u·(x below) gives the unknown of a 1 × 1 pivot and the second one of a 2 × 2 pivot. The
//! first unknown of a 2 × 2 pivot depends on the unknown after the pivot.
//!
//! The method fails only if the whole matrix is singular, and its growth is bounded. Rows are first scaled by powers of two, so that
//! scaling the matrix does not change x.
//!
//! `theta.rs` computes the same factors in parallel, with leading entries as ratios of leading minors. Pivots are computed from minors
//! here, too; they are 1, b̂ and Δ.
//!
//! Source: Erway, Marcia, Tyson, IAENG J. Appl. Math. 40 (2010); Chang, thesis, section 2.2. a, b, c, d → sub, diag, sup, rhs.

use crate::contract::determinant::ScaledProduct;
use crate::decision::Options;
use crate::error::Result;
use crate::memory::array;
use crate::methods::stored::Elimination;
use bandsolve_kernel::memory::{Array, MemoryPool};
use bandsolve_kernel::rows::Rows;
use bandsolve_kernel::scalar::{peak, reciprocal};
use bandsolve_kernel::sweep::KAPPA;
use bandsolve_kernel::{RealScalar, Scalar};
use dyn_stack::PodStack;

/// The factors of a row.
///
/// The forward sweep passes v = plus·d − by·(v above) from row to row. v is y at the end of a pivot, and d̂ after the first row of a 2 × 2
/// pivot. In all rows y = own·v − other·(d of the next row).
#[derive(Debug, Clone, Copy)]
pub(crate) struct RowPivot<T> {
    plus: T,
    by: T,
    own: T,
    other: T,
    /// The coefficient of the next unknown, or in the first row of a 2 × 2 pivot, of the one after.
    next: T,
}

/// A row multiplied by a power of two, and this power.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ScaledRow<T: Scalar> {
    pub entries: [T; 3],
    pub scale: T::Real,
}

/// The leading minors of a row and of the two previous rows, multiplied by a common factor. The leading entry of the row is last / before.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Minors<T> {
    pub last: T,
    pub before: T,
    pub older: T,
}

impl<T: Scalar> Minors<T> {
    /// The minors of row `here`, after a row with the entry `sup`.
    #[inline(always)]
    pub fn follow(self, sup: T, here: &ScaledRow<T>) -> Self {
        let [a, b, _] = here.entries;
        Self { last: b * self.last - a * sup * self.before, before: self.last, older: self.before }
    }

    /// Whether a 2 × 2 pivot starts at row `here`, which has these minors. `next` and `after` are the next two rows.
    #[inline(always)]
    pub fn begin_pair(self, here: &ScaledRow<T>, next: &ScaledRow<T>, after: &ScaledRow<T>) -> bool {
        let (here, next, after) = (here.entries, next.entries, after.entries);
        let larger = |a: T::Real, b: T::Real| if a > b { a } else { b };
        let (a, b) = (larger(peak(next[0]), peak(after[0])), larger(peak(next[1]), peak(here[2])));
        let sigma = larger(larger(a, b), peak(next[2]));
        let limit = T::Real::from_f64(KAPPA) * peak(next[0] * here[2]) * peak(self.before);
        !(peak(self.last) * sigma >= limit)
    }
}

impl<T: Scalar> RowPivot<T> {
    /// The factors of row `here` before row `next`, and whether the pivot is zero.
    ///
    /// If `begins`, the row is the first one of a 2 × 2 pivot. Otherwise it completes a pivot, which is 2 × 2 if `second`. The function has
    /// no branches, because the pivots of random matrices are unpredictable.
    #[inline(always)]
    pub fn new(
        minors: Minors<T>,
        here: &ScaledRow<T>,
        next: &ScaledRow<T>,
        begins: bool,
        second: bool,
    ) -> (Self, bool) {
        let ([a, _, c], [_, b1, c1], before) = (here.entries, next.entries, minors.before);
        let pick = |first: T, other: T| if begins { first } else { other };
        let recip = reciprocal(pick(minors.follow(c, next).last, minors.last));
        let (above, scale) = (if second { minors.older } else { before }, here.scale);
        let pivot = Self {
            plus: pick(T::ONE, before * recip).scale(scale),
            by: pick(a, a * above * recip),
            own: pick(b1 * before * recip, T::ONE),
            other: pick((c * before * recip).scale(next.scale), T::ZERO),
            next: pick(-(c * c1), c) * before * recip,
        };
        (pivot, recip == T::ZERO)
    }
}

/// Factors of an open system that are computed row by row: 5 words per row, and the sizes of the pivots.
///
/// # Cost
/// Factor: 20 flops and 1 division per row. Solve: 8 flops per row and right-hand side, the factors are read twice.
#[derive(Debug)]
pub(crate) struct DiagonalPivoting<T> {
    /// The numbers of [`RowPivot`] for each row.
    pivots: Array<[T; 5]>,
    /// 1 if a 2 × 2 pivot starts in a row, else 0.
    pair: Array<u8>,
    singular: bool,
}

/// The factors as slices.
#[derive(Debug, Clone, Copy)]
struct PivotSlices<'f, T> {
    pivots: &'f [[T; 5]],
    pair: &'f [u8],
}

impl<T: Scalar> PivotSlices<'_, T> {
    #[inline(always)]
    fn pivot(self, i: usize) -> RowPivot<T> {
        let [plus, by, own, other, next] = self.pivots[i];
        RowPivot { plus, by, own, other, next }
    }

    /// Whether row `i` is the second one of a 2 × 2 pivot.
    #[inline(always)]
    fn is_second(self, i: usize) -> bool {
        i > 0 && self.pair[i - 1] == 1
    }
}

impl<T: Scalar> DiagonalPivoting<T> {
    fn rows(&self) -> PivotSlices<'_, T> {
        PivotSlices { pivots: &self.pivots, pair: &self.pair }
    }
}

impl<T: Scalar> Elimination<T> for DiagonalPivoting<T> {
    fn new(rows: &Rows<'_, T>, _options: &Options, pool: &MemoryPool) -> Result<Self> {
        let n = rows.n();
        let (mut pivots, mut pair) = (array::<[T; 5]>(n, Some(pool))?, array::<u8>(n, Some(pool))?);
        let (to, pairs) = (&mut *pivots, &mut *pair);
        let mut put = |i: usize, pivot: RowPivot<T>, begins: bool| {
            let RowPivot { plus, by, own, other, next } = pivot;
            (to[i], pairs[i]) = ([plus, by, own, other, next], u8::from(begins));
        };
        let (mut here, mut next) = (scaled(rows, 0), scaled(rows, 1));
        // u of the row above.
        let (mut above, mut i, mut is_singular) = (T::ZERO, 0, false);
        while i < n {
            let after = scaled(rows, i + 2);
            let minors = Minors { last: here.entries[1] - here.entries[0] * above, before: T::ONE, older: T::ZERO };
            let begins = i + 1 < n && minors.begin_pair(&here, &next, &after);
            let (mut pivot, singular) = RowPivot::new(minors, &here, &next, begins, false);
            is_singular |= singular;
            put(i, pivot, begins);
            if begins {
                // The minors of the second row are those of the pivot, Δ and b̂.
                let minors = minors.follow(here.entries[2], &next);
                (pivot, _) = RowPivot::new(minors, &next, &after, false, true);
                put(i + 1, pivot, false);
                (here, next, i) = (after, scaled(rows, i + 3), i + 2);
            } else {
                (here, next, i) = (next, after, i + 1);
            }
            above = pivot.next;
        }
        Ok(Self { pivots, pair, singular: is_singular })
    }

    fn is_singular(&self) -> bool {
        self.singular
    }

    fn product(&self, rows: &Rows<'_, T>) -> Option<ScaledProduct> {
        let factors = self.rows();
        let pivot = |i: usize| {
            let RowPivot { plus, by, .. } = factors.pivot(i);
            (plus, factors.is_second(i).then_some(by))
        };
        Some(determinant(rows, pivot))
    }

    fn solve(&self, _rows: &Rows<'_, T>, x: &mut [T], _stack: &mut PodStack) {
        let factors = self.rows();
        for x in x.chunks_exact_mut(factors.pivots.len()) {
            // With L and B, from d to y.
            let mut v = T::ZERO;
            for i in 0..x.len() {
                let RowPivot { plus, by, own, other, .. } = factors.pivot(i);
                v = plus * x[i] - by * v;
                let next = x.get(i + 1).copied().unwrap_or(T::ZERO);
                x[i] = own * v - other * next;
            }
            // With Mᵀ, from y to x. `below` is x in the row where the pivot below starts.
            let mut below = T::ZERO;
            for (i, x) in x.iter_mut().enumerate().rev() {
                *x -= factors.pivot(i).next * below;
                below = if factors.is_second(i) { below } else { *x };
            }
        }
    }
}

/// det A of the matrix with these rows, from `plus`, and `by` in the second rows of 2 × 2 pivots.
///
/// 1/`plus` is a 1 × 1 pivot. sub/(`by`·`plus`), with `sub` and `by` of the second row and `plus` of the first, is Δ of a 2 × 2 pivot.
/// The scales of the rows cancel.
pub(crate) fn determinant<T: Scalar>(rows: &Rows<'_, T>, pivot: impl Fn(usize) -> (T, Option<T>)) -> ScaledProduct {
    let mut product = ScaledProduct::ONE;
    for i in 0..rows.n() {
        let (plus, by) = pivot(i);
        product.multiply(by.unwrap_or(plus));
        if by.is_some() {
            product.divide(rows.row(i).0);
        }
    }
    product.invert();
    product
}

/// Row `i` multiplied by the power of two for which its largest entry is in [2, 4), or zero beyond the last row.
#[inline(always)]
pub(crate) fn scaled<T: Scalar>(rows: &Rows<'_, T>, i: usize) -> ScaledRow<T> {
    if i >= rows.n() {
        return ScaledRow { entries: [T::ZERO; 3], scale: T::Real::ONE };
    }
    let (a, b, c) = rows.row(i);
    let larger = |a: T::Real, b: T::Real| if a > b { a } else { b };
    let scale = larger(larger(peak(a), peak(b)), peak(c)).equilibrate();
    ScaledRow { entries: [a, b, c].map(|v| v.scale(scale)), scale }
}
