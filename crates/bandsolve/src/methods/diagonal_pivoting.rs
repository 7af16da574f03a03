//! Diagonal pivoting: T = L B Mᵀ with pivots of one or two rows on the diagonal of B, without exchanging rows.
//!
//! With b̂ the leading entry of what is left, a pivot is one row if b̂ is large enough beside what it would be divided into,
//!
//! $$ \sigma\,|\hat b_i| \ge \kappa\,|a_{i+1} c_i|, \qquad \sigma = \max(|a_{i+1}|, |a_{i+2}|, |b_{i+1}|, |c_i|, |c_{i+1}|), \quad \kappa = \tfrac{\sqrt5-1}{2} $$
//!
//! and else two, with Δ = b̂ᵢ bᵢ₊₁ − aᵢ₊₁ cᵢ. Both leave a tridiagonal rest whose leading entry and right-hand side are
//!
//! $$ \hat b = b - a u, \qquad \hat d = d - a y $$
//!
//! where (u, y) belong to the row above: x = y − u·(x below) holds for a pivot of one row and for the second of two; the
//! first of two is given by the unknown after the next one.
//!
//! Breaks down only where the whole matrix is singular; growth is bounded. Rows are scaled by powers of two first, so
//! that scaling them changes nothing.
//!
//! The factors, and the solve with them, are those of `theta.rs` too, which finds them in parallel. There, leading entries are
//! ratios of leading minors, so pivots are formed from minors; here these are 1, b̂, Δ.
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

/// What becomes of a row. Downwards v = plus·d − by·(v above) goes from row to row: y where a pivot is complete, d̂ after the
/// first of two rows; y = own·v − other·(d of the next row) everywhere.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RowPivot<T> {
    plus: T,
    by: T,
    own: T,
    other: T,
    /// What multiplies the unknown after; in the first of two rows the one after that.
    next: T,
}

/// A row multiplied by a power of two, and that power.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ScaledRow<T: Scalar> {
    pub entries: [T; 3],
    pub scale: T::Real,
}

/// Determinants of the leading rows and columns: up to some row, up to the one before, and to the one before that, all
/// multiplied by the same number. The leading entry of that row is last / before.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Minors<T> {
    pub last: T,
    pub before: T,
    pub older: T,
}

impl<T: Scalar> Minors<T> {
    /// Those of row `here`, which follows a row with the upper entry `sup`.
    #[inline(always)]
    pub fn follow(self, sup: T, here: &ScaledRow<T>) -> Self {
        let [a, b, _] = here.entries;
        Self { last: b * self.last - a * sup * self.before, before: self.last, older: self.before }
    }

    /// All multiplied by a number.
    #[inline(always)]
    pub fn scale(self, by: T::Real) -> Self {
        Self { last: self.last.scale(by), before: self.before.scale(by), older: self.older.scale(by) }
    }

    /// Divided by the larger of the newest two, so that equal ratios are equal bits.
    #[inline(always)]
    pub fn normalized(self) -> Self {
        let last_is_larger = peak(self.last) > peak(self.before);
        let recip = reciprocal(if last_is_larger { self.last } else { self.before });
        let (small, older) = (if last_is_larger { self.before } else { self.last } * recip, self.older * recip);
        let (last, before) = if last_is_larger { (T::ONE, small) } else { (small, T::ONE) };
        Self { last, before, older }
    }

    /// Whether a pivot of two rows begins at row `here` with these minors; `next` and `after` follow.
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

    /// That of row `here`, which `next` follows, and whether there was nothing to divide by. It is the first of two rows if
    /// `begins`, else it completes a pivot, of two rows if `second`. No branch: which it is, is as random as the matrix.
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

/// Factors of an open system: 5 words a row and how many rows each pivot has.
#[derive(Debug)]
pub(crate) struct PivotFactors<T> {
    pub pivots: Vec<RowPivot<T>>,
    /// Whether a pivot of two rows begins here.
    pub pair: Vec<bool>,
    pub singular: bool,
}

impl<T: Scalar> PivotFactors<T> {
    /// Of n rows, to be written.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn new(n: usize) -> Result<Self> {
        Ok(Self { pivots: allocate(n, RowPivot::NONE)?, pair: allocate(n, false)?, singular: false })
    }

    /// det A of the matrix with these `rows`: 1/`plus` is a pivot of one row, and sub/(`by`·`plus`), with `sub` and `by` of
    /// its second row and `plus` of its first, is Δ of a pivot of two. Scales of rows have cancelled out.
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

    /// Replaces right-hand sides by solutions.
    ///
    /// # Cost
    /// 8 flops a row and right-hand side one after the other, 22 in parallel; the factors are read twice.
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

/// L and B: from d to y.
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

/// Mᵀ: from y to x. What goes from row to row is the x of the row where the pivot below begins.
struct Backward<'f, T> {
    factors: &'f PivotFactors<T>,
}

impl<T: Scalar> Backward<'_, T> {
    /// Whether row `i` is the second of two.
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

/// Factors found one row after the other.
///
/// # Cost
/// Factor: 20 flops and 1 division a row. Solve: 8 flops a row and right-hand side.
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
                // Of the second row, both minors are those of the pivot: Δ and b̂.
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

/// Row `i` multiplied by the power of two that brings its largest entry into [2, 4); zero beyond the last row.
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
