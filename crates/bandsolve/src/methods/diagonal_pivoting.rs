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
//! `theta.rs` computes the same factors in parallel and uses the same solve. It computes leading entries as ratios of leading minors, so
//! pivots are computed from minors. Here the minors are 1, b̂ and Δ.
//!
//! Source: Erway, Marcia, Tyson, IAENG J. Appl. Math. 40 (2010); Chang, thesis, section 2.2. a, b, c, d → sub, diag, sup, rhs.

use crate::contract::determinant::ScaledProduct;
use crate::decision::Options;
use crate::error::Result;
use crate::memory::allocate;
use crate::methods::stored::Elimination;
use crate::recurrence::{Affine, solve, solve_sequentially};
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

    /// The minors multiplied by a number.
    #[inline(always)]
    pub fn scale(self, by: T::Real) -> Self {
        Self { last: self.last.scale(by), before: self.before.scale(by), older: self.older.scale(by) }
    }

    /// The minors divided by the larger of the last two, so that equal ratios give equal bits.
    #[inline(always)]
    pub fn normalized(self) -> Self {
        let last_is_larger = peak(self.last) > peak(self.before);
        let recip = reciprocal(if last_is_larger { self.last } else { self.before });
        let (small, older) = (if last_is_larger { self.before } else { self.last } * recip, self.older * recip);
        let (last, before) = if last_is_larger { (T::ONE, small) } else { (small, T::ONE) };
        Self { last, before, older }
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
    pub const NONE: Self = Self { plus: T::ZERO, by: T::ZERO, own: T::ZERO, other: T::ZERO, next: T::ZERO };

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

/// Factors of an open system: 5 words per row, and the sizes of the pivots.
#[derive(Debug)]
pub(crate) struct PivotFactors<T> {
    pub pivots: Vec<RowPivot<T>>,
    /// Whether a 2 × 2 pivot starts in a row.
    pub pair: Vec<bool>,
    pub singular: bool,
}

impl<T: Scalar> PivotFactors<T> {
    /// Allocate factors of n rows.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn new(n: usize) -> Result<Self> {
        Ok(Self { pivots: allocate(n, RowPivot::NONE)?, pair: allocate(n, false)?, singular: false })
    }

    /// Return det A of the matrix with these `rows`.
    ///
    /// 1/`plus` is a 1 × 1 pivot. sub/(`by`·`plus`), with `sub` and `by` of the second row and `plus` of the first, is Δ of a 2 × 2 pivot.
    /// The scales of the rows cancel.
    pub fn product(&self, rows: &Rows<'_, T>) -> ScaledProduct {
        let mut product = ScaledProduct::ONE;
        for (i, pivot) in self.pivots.iter().enumerate() {
            if i > 0 && self.pair[i - 1] {
                product.multiply(pivot.by);
                product.divide(rows.row(i).0);
            } else {
                product.multiply(pivot.plus);
            }
        }
        product.invert();
        product
    }

    /// Replace right-hand sides by solutions.
    ///
    /// # Cost
    /// Per row and right-hand side, 8 flops on one thread and 22 in parallel. The factors are read twice.
    pub fn solve(&self, x: &mut [T], threads: Option<usize>) {
        let (forward, backward) = (Forward { factors: self }, Backward { factors: self });
        for x in x.chunks_exact_mut(self.pivots.len()) {
            match threads {
                Some(threads) => {
                    solve(&forward, [T::ZERO], threads, x);
                    solve(&backward, [T::ZERO], threads, x);
                }
                None => {
                    solve_sequentially(&forward, [T::ZERO], x);
                    solve_sequentially(&backward, [T::ZERO], x);
                }
            }
        }
    }
}

/// The sweep with L and B, from d to y.
struct Forward<'f, T> {
    factors: &'f PivotFactors<T>,
}

impl<T: Scalar> Affine<T, 1> for Forward<'_, T> {
    const REVERSED: bool = false;

    #[inline(always)]
    fn row(&self, i: usize, d: T) -> ([T; 1], T) {
        let RowPivot { plus, by, .. } = self.factors.pivots[i];
        ([-by], plus * d)
    }

    #[inline(always)]
    fn output(&self, i: usize, [_, next]: [T; 2], _before: T, v: T) -> T {
        let RowPivot { own, other, .. } = self.factors.pivots[i];
        own * v - other * next
    }
}

/// The sweep with Mᵀ, from y to x. Its state is x in the row where the pivot below starts.
struct Backward<'f, T> {
    factors: &'f PivotFactors<T>,
}

impl<T: Scalar> Backward<'_, T> {
    /// Whether row `i` is the second one of a 2 × 2 pivot.
    #[inline(always)]
    fn is_second(&self, i: usize) -> bool {
        i > 0 && self.factors.pair[i - 1]
    }
}

impl<T: Scalar> Affine<T, 1> for Backward<'_, T> {
    const REVERSED: bool = true;

    #[inline(always)]
    fn row(&self, i: usize, y: T) -> ([T; 1], T) {
        let (second, next) = (self.is_second(i), self.factors.pivots[i].next);
        ([if second { T::ONE } else { -next }], if second { T::ZERO } else { y })
    }

    #[inline(always)]
    fn output(&self, i: usize, [y, _]: [T; 2], before: T, x: T) -> T {
        let of_second = y - self.factors.pivots[i].next * before;
        if self.is_second(i) { of_second } else { x }
    }
}

/// Factors that are computed row by row.
///
/// # Cost
/// Factor: 20 flops and 1 division per row. Solve: 8 flops per row and right-hand side.
#[derive(Debug)]
pub(crate) struct DiagonalPivoting<T>(PivotFactors<T>);

impl<T: Scalar> Elimination<T> for DiagonalPivoting<T> {
    fn new(rows: &Rows<'_, T>, _options: &Options) -> Result<Self> {
        let n = rows.n();
        let mut f = PivotFactors::new(n)?;
        let (mut here, mut next) = (scaled(rows, 0), scaled(rows, 1));
        // u of the row above.
        let (mut above, mut i) = (T::ZERO, 0);
        while i < n {
            let after = scaled(rows, i + 2);
            let minors = Minors { last: here.entries[1] - here.entries[0] * above, before: T::ONE, older: T::ZERO };
            f.pair[i] = i + 1 < n && minors.begin_pair(&here, &next, &after);
            let singular;
            (f.pivots[i], singular) = RowPivot::new(minors, &here, &next, f.pair[i], false);
            f.singular |= singular;
            if f.pair[i] {
                // The minors of the second row are those of the pivot, Δ and b̂.
                let minors = minors.follow(here.entries[2], &next);
                (f.pivots[i + 1], _) = RowPivot::new(minors, &next, &after, false, true);
                (here, next, i) = (after, scaled(rows, i + 3), i + 2);
            } else {
                (here, next, i) = (next, after, i + 1);
            }
            above = f.pivots[i - 1].next;
        }
        Ok(Self(f))
    }

    fn is_singular(&self) -> bool {
        self.0.singular
    }

    fn product(&self, rows: &Rows<'_, T>) -> Option<ScaledProduct> {
        Some(self.0.product(rows))
    }

    fn solve(&self, _rows: &Rows<'_, T>, x: &mut [T], _stack: &mut PodStack) {
        self.0.solve(x, None);
    }
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
