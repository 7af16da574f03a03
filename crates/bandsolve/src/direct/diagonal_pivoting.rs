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
//! Source: Erway, Marcia, Tyson, IAENG J. Appl. Math. 40 (2010); Chang, thesis, section 2.2. a, b, c, d → sub, diag, sup, rhs.

use super::pivoted::{allocate, reciprocal};
use super::stored::Elimination;
use super::verify::peak;
use crate::error::Result;
use crate::matrix::Rows;
use crate::plan::Options;
use crate::scalar::{RealScalar, Scalar};
use dyn_stack::PodStack;

/// Rows as they are eliminated.
#[derive(Debug, Clone, Copy)]
struct Pivot<T> {
    /// One row: y = from_own·d − from_above·(y above). Two rows, second: y = from_own·d + from_first·(d̂ of the first).
    /// Two rows, first: y = from_own·d̂ + from_second·(d of the second), the latter in `other`.
    own: T,
    other: T,
    /// What multiplies the unknown after; in the first of two rows the one after that.
    next: T,
}

/// Factors of an open system: 3 words a row and how many rows each pivot has.
///
/// # Cost
/// Factor: 4 flops and 1 division a row, 10 and 1 for two rows. Solve: 5 flops a row and right-hand side.
#[derive(Debug)]
pub(super) struct DiagonalPivoting<T> {
    pivots: Vec<Pivot<T>>,
    /// Whether a pivot of two rows begins here.
    pair: Vec<bool>,
    singular: bool,
}

/// (√5 − 1) / 2
pub(super) const KAPPA: f64 = 0.618_033_988_749_894_8;

/// Whether a pivot of two rows begins at a row with leading entry `lead`: `here` is that row, `next` and `after` follow, all
/// scaled.
#[inline(always)]
fn begins_pair<T: Scalar>(lead: T, here: [T; 3], next: [T; 3], after: [T; 3]) -> bool {
    let larger = |a: T::Real, b: T::Real| if a > b { a } else { b };
    let (a, b) = (larger(peak(next[0]), peak(after[0])), larger(peak(next[1]), peak(here[2])));
    let sigma = larger(larger(a, b), peak(next[2]));
    !(peak(lead) * sigma >= T::Real::from_f64(KAPPA) * peak(next[0] * here[2]))
}

impl<T: Scalar> Elimination<T> for DiagonalPivoting<T> {
    fn new(rows: &Rows<'_, T>, _options: &Options) -> Result<Self> {
        let n = rows.n();
        let none = Pivot { own: T::ZERO, other: T::ZERO, next: T::ZERO };
        let mut f = Self { pivots: allocate(n, none)?, pair: allocate(n, false)?, singular: false };
        let zero = [T::ZERO; 3];
        let (mut here, mut next) = (scaled(rows, 0), scaled(rows, 1));
        // u of the row above.
        let (mut above, mut i) = (T::ZERO, 0);
        while i < n {
            let after = if i + 2 < n { scaled(rows, i + 2) } else { (zero, T::Real::ONE) };
            let ([a, b, c], scale) = here;
            let lead = b - a * above;
            f.pair[i] = i + 1 < n && begins_pair(lead, here.0, next.0, after.0);
            if !f.pair[i] {
                let recip = reciprocal(lead);
                f.singular |= recip == T::ZERO;
                above = c * recip;
                f.pivots[i] = Pivot { own: recip.scale(scale), other: a * recip, next: above };
                (here, next, i) = (next, after, i + 1);
                continue;
            }
            let ([a1, b1, c1], scale1) = next;
            let recip = reciprocal(lead * b1 - a1 * c);
            f.singular |= recip == T::ZERO;
            f.pivots[i] = Pivot { own: b1 * recip, other: (c * recip).scale(scale1), next: -(c * c1) * recip };
            above = lead * c1 * recip;
            f.pivots[i + 1] = Pivot { own: (lead * recip).scale(scale1), other: a1 * recip, next: above };
            let later = if i + 3 < n { scaled(rows, i + 3) } else { (zero, T::Real::ONE) };
            (here, next, i) = (after, later, i + 2);
        }
        Ok(f)
    }

    fn is_singular(&self) -> bool {
        self.singular
    }

    fn solve(&self, rows: &Rows<'_, T>, x: &mut [T], _stack: &mut PodStack) {
        let n = rows.n();
        for x in x.chunks_exact_mut(n) {
            let (mut above, mut i) = (T::ZERO, 0);
            while i < n {
                let Pivot { own, other, .. } = self.pivots[i];
                if !self.pair[i] {
                    above = own * x[i] - other * above;
                    x[i] = above;
                    i += 1;
                    continue;
                }
                // d̂ of the first row, scaled as the row.
                let ([a, _, _], scale) = scaled(rows, i);
                let (lead, second) = (x[i].scale(scale) - a * above, x[i + 1]);
                let Pivot { own: own1, other: other1, .. } = self.pivots[i + 1];
                x[i] = own * lead - other * second;
                above = own1 * second - other1 * lead;
                x[i + 1] = above;
                i += 2;
            }
            let mut below = [T::ZERO; 2];
            for i in (0..n).rev() {
                let by = if self.pair[i] { below[1] } else { below[0] };
                below = [x[i] - self.pivots[i].next * by, below[0]];
                x[i] = below[0];
            }
        }
    }
}

/// Row `i` multiplied by the power of two that brings its largest entry into [2, 4), and that power.
#[inline(always)]
pub(super) fn scaled<T: Scalar>(rows: &Rows<'_, T>, i: usize) -> ([T; 3], T::Real) {
    let (a, b, c) = rows.row(i);
    let larger = |a: T::Real, b: T::Real| if a > b { a } else { b };
    let scale = larger(larger(peak(a), peak(b)), peak(c)).equilibrate();
    ([a.scale(scale), b.scale(scale), c.scale(scale)], scale)
}
