//! Check whether a tridiagonal matrix is Hermitian positive definite.
//!
//! The check uses the signs of the pivots of L·D·Lᴴ. By Sylvester's law of inertia, their numbers do not depend on the order of
//! elimination. Large matrices are divided into segments with separators between them. All segments are eliminated in parallel, then the
//! separators. With e the moduli of the off-diagonal entries, f the coupling of row i to the separator above the segment, and δ the
//! diagonal entry of this separator,
//!
//! ```text
//! dᵢ₊₁ = bᵢ₊₁ − eᵢ²/dᵢ,   fᵢ₊₁ = fᵢ eᵢ/dᵢ,   δ ← δ − Σᵢ fᵢ²/dᵢ
//! ```
//!
//! Moduli suffice, because a diagonal scaling by phases makes all couplings of an open matrix real. A coupling whose contribution to δ is
//! below ε³ times the sum so far is dropped. This changes no sign of a pivot if the condition is below 1/ε².

use crate::contract::factors::Factors;
use crate::decision::Decision;
use crate::error::{Error, Result};
use crate::matrix::Tridiagonal;
use crate::methods::spike_thomas;
use crate::partition::partitioned;
use crate::tuning::{SEGMENT_THREADS_FROM, SEGMENTS_FROM};
use bandsolve_kernel::rows::Rows;
use bandsolve_kernel::spread::each_chunk;
use bandsolve_kernel::{RealScalar, Scalar};
use dyn_stack::StackReq;
use std::sync::Arc;

/// Number of segments that are eliminated side by side, and number of such groups, one per thread.
const LANES: usize = 8;
const SEGMENT_GROUPS: usize = 2;
const SEGMENTS: usize = LANES * SEGMENT_GROUPS;

/// Check that a tridiagonal matrix is Hermitian positive definite, and prepare solves by partitions.
///
/// # Errors
/// `NotDefinite`, `NotFinite`.
pub(crate) fn factor<'m, T: Scalar>(
    decision: &Decision,
    a: Arc<Tridiagonal<'m, T>>,
) -> Result<Factors<T, Tridiagonal<'m, T>>> {
    check_definite(&a, decision.options.threads > 1)?;
    partitioned::factor(spike_thomas::scheme(decision), decision, a)
}

/// Scratch of solves, from the plan alone.
pub(crate) fn scratch<T: Scalar>(decision: &Decision, n: usize, n_rhs: usize) -> Option<StackReq> {
    partitioned::scratch_of_plan::<T>(spike_thomas::scheme(decision), decision, n, n_rhs)
}

/// Return an error unless the matrix is Hermitian positive definite.
///
/// # Cost
/// 5 flops and 1 division per row. Periodic matrices, and matrices that are not positive definite, are eliminated row by row.
///
/// # Errors
/// `NotDefinite`, `NotFinite`.
fn check_definite<T: Scalar>(a: &Tridiagonal<'_, T>, parallel: bool) -> Result<()> {
    match first_difference(&a.rows()) {
        Some(row) => a.check_finite().and(Err(Error::NotDefinite { row })),
        None => check_minors(a, parallel),
    }
}

/// Return an error if a Hermitian matrix is not positive definite.
///
/// # Errors
/// `NotDefinite`, `NotFinite`.
pub(super) fn check_minors<T: Scalar>(a: &Tridiagonal<'_, T>, parallel: bool) -> Result<()> {
    let rows = a.rows();
    let bad = match rows.n() {
        0 => None,
        1 | 2 => of_small(&rows),
        _ if rows.periodic => of_periodic(&rows),
        n if n >= SEGMENTS_FROM && by_segments(&rows, parallel) => None,
        _ => of_open(&rows),
    };
    bad.map_or(Ok(()), |row| a.check_finite().and(Err(Error::NotDefinite { row })))
}

/// Whether a pivot is a positive number.
#[inline(always)]
fn positive<R: RealScalar>(pivot: R) -> bool {
    pivot > R::ZERO && pivot <= R::MAX
}

/// Number of rows that are compared without a branch.
const COMPARED_ENTRIES: usize = 256;

/// The first row that is not the conjugate of its column.
fn first_difference<T: Scalar>(rows: &Rows<'_, T>) -> Option<usize> {
    let n = rows.n();
    let real = |v: T| v.im() == T::Real::ZERO;
    // For n ≤ 2, corner entries are added to other entries.
    let sum = |i: usize| rows.row(i).0 + rows.row(i).2;
    match (rows.periodic, n) {
        (_, 0) => return None,
        (true, 1) => return (!real(sum(0) + rows.diag[0])).then_some(0),
        (true, 2) if sum(0) != Scalar::conj(sum(1)) => return Some(0),
        (true, 2) => return (0..2).find(|i| !real(rows.diag[*i])),
        (true, _) if rows.first != Scalar::conj(rows.last) => return Some(0),
        _ => {}
    }
    let differs = |i: usize| {
        let beside = i + 1 < n && rows.sub[i] != Scalar::conj(rows.sup[i]);
        beside | !real(rows.diag[i])
    };
    let mut chunks = (0..n).step_by(COMPARED_ENTRIES).map(|i| i..(i + COMPARED_ENTRIES).min(n));
    let mut chunk = chunks.find(|chunk| chunk.clone().fold(false, |any, i| any | differs(i)))?;
    chunk.find(|i| differs(*i))
}

/// The first leading minor of at most two rows that is not positive.
fn of_small<T: Scalar>(rows: &Rows<'_, T>) -> Option<usize> {
    let (a, b, c) = rows.row(0);
    if rows.n() == 1 {
        let pivot = if rows.periodic { a + b + c } else { b };
        return (!positive(pivot.re())).then_some(0);
    }
    let beside = if rows.periodic { a + c } else { c };
    let first = b.re();
    if !positive(first) {
        return Some(0);
    }
    let e = Scalar::abs(beside);
    (!positive(rows.diag[1].re() - e / first * e)).then_some(1)
}

/// The first leading minor of an open matrix that is not positive.
fn of_open<T: Scalar>(rows: &Rows<'_, T>) -> Option<usize> {
    let mut pivot = rows.diag[0].re();
    for i in 1..rows.n() {
        if !positive(pivot) {
            return Some(i - 1);
        }
        let e = Scalar::abs(rows.sub[i - 1]);
        pivot = rows.diag[i].re() - e / pivot * e;
    }
    (!positive(pivot)).then_some(rows.n() - 1)
}

/// The first leading minor of a periodic matrix that is not positive. The last row is updated by each elimination.
fn of_periodic<T: Scalar>(rows: &Rows<'_, T>) -> Option<usize> {
    let last = rows.n() - 1;
    let (sub, diag, sup) = rows.row(last);
    let (mut pivot, mut coupling, mut rest) = (rows.diag[0].re(), sup, diag.re());
    for i in 0..last {
        if !positive(pivot) {
            return Some(i);
        }
        if i + 1 == last {
            coupling += sub;
        }
        let f = Scalar::abs(coupling);
        rest -= f / pivot * f;
        let (_, _, c) = rows.row(i);
        let e = Scalar::abs(c);
        // Subtract row i times coupling / pivot from the last row.
        coupling = -(coupling.scale(T::Real::ONE / pivot) * c);
        if i + 1 < last {
            pivot = rows.diag[i + 1].re() - e / pivot * e;
        }
    }
    (!positive(rest)).then_some(last)
}

/// The result of a segment: the numbers to subtract from the separators above and below, and the coupling between both.
#[derive(Debug, Clone, Copy)]
struct SegmentUpdates<R> {
    above: R,
    between: R,
    below: R,
    definite: bool,
}

/// Whether all pivots of an open matrix are positive. The first row of each segment is its separator, and separators are eliminated last.
fn by_segments<T: Scalar>(rows: &Rows<'_, T>, parallel: bool) -> bool {
    let zero = T::Real::ZERO;
    let none = SegmentUpdates { above: zero, between: zero, below: zero, definite: true };
    let mut segments = [none; SEGMENTS];
    let each = rows.n() / SEGMENTS;
    let group = |g: usize, segments: &mut [[SegmentUpdates<T::Real>; LANES]]| {
        segments[0] = eliminate(rows, g * LANES * each, each)
    };
    let least = usize::from(parallel && rows.n() >= SEGMENT_THREADS_FROM);
    each_chunk((SEGMENT_GROUPS, least), segments.as_chunks_mut::<LANES>().0, &group);
    // The rows after the last segment have no separator below.
    let (mut pivot, mut coupling, mut definite) = (zero, zero, true);
    for (k, segment) in segments.iter().enumerate() {
        let diagonal = rows.diag[k * each].re() - segment.above;
        let before = if k == 0 { zero } else { segments[k - 1].below };
        let update = if k == 0 { zero } else { coupling / pivot * coupling };
        pivot = diagonal - before - update;
        definite &= segment.definite && positive(pivot);
        coupling = segment.between;
    }
    // The last rows, one by one.
    let start = SEGMENTS * each;
    let mut above = pivot;
    let last = segments[SEGMENTS - 1];
    for i in start..rows.n() {
        let e = if i == start { coupling } else { Scalar::abs(rows.sub[i - 1]) };
        let lost = if i == start { last.below } else { zero };
        above = rows.diag[i].re() - lost - e / above * e;
        definite &= positive(above);
    }
    definite
}

/// Eliminate the inner rows of `LANES` segments of `each` rows.
fn eliminate<T: Scalar>(rows: &Rows<'_, T>, first: usize, each: usize) -> [SegmentUpdates<T::Real>; LANES] {
    let zero = T::Real::ZERO;
    let beside = |i: usize| rows.sub.get(i).map_or(zero, |e| Scalar::abs(*e));
    let (mut pivot, mut f, mut above) = ([zero; LANES], [zero; LANES], [zero; LANES]);
    let (mut least, mut most) = ([T::Real::MAX; LANES], [zero; LANES]);
    for k in 0..LANES {
        let start = first + k * each;
        (f[k], pivot[k]) = (beside(start), rows.diag[start + 1].re());
    }
    let negligible = T::Real::EPSILON * T::Real::EPSILON * T::Real::EPSILON;
    let mut diag: [&[T]; LANES] = [&[]; LANES];
    let mut sub = diag;
    for k in 0..LANES {
        let start = first + k * each;
        (diag[k], sub[k]) = (&rows.diag[start + 2..start + each], &rows.sub[start + 1..start + each - 1]);
    }
    for i in 0..each - 2 {
        let (mut e, mut b) = ([zero; LANES], [zero; LANES]);
        for k in 0..LANES {
            (e[k], b[k]) = (Scalar::abs(sub[k][i]), diag[k][i].re());
        }
        for k in 0..LANES {
            let inverse = T::Real::ONE / pivot[k];
            let (l, update) = (e[k] * inverse, f[k] * inverse * f[k]);
            above[k] += update;
            f[k] = if update > negligible * above[k] { f[k] * l } else { zero };
            least[k] = if pivot[k] < least[k] { pivot[k] } else { least[k] };
            most[k] = if pivot[k] > most[k] { pivot[k] } else { most[k] };
            pivot[k] = b[k] - l * e[k];
        }
    }
    core::array::from_fn(|k| {
        let e = beside(first + (k + 1) * each - 1);
        let l = e / pivot[k];
        let update = f[k] / pivot[k] * f[k];
        let definite = positive(least[k]) && positive(pivot[k]) && most[k] <= T::Real::MAX;
        SegmentUpdates { above: above[k] + update, between: f[k] * l, below: e * l, definite }
    })
}
