//! Eigenvectors of a block.
//!
//! Vectors come from twisted factorizations. Vectors of close eigenvalues are then orthogonalized. If eigenvalues agree up to rounding errors,
//! vectors come from inverse iteration. If all eigenvectors are wanted and many eigenvalues are close, they come from divide and conquer. The
//! residuals of all vectors are computed at the end.
//!
//! Two vectors with residuals rᵢ and rⱼ satisfy |zᵢᵀ·zⱼ| ≤ (rᵢ + rⱼ) / |λᵢ − λⱼ|. Only vectors whose eigenvalues are within
//! [`WINDOW`]·‖T‖/n of each other need orthogonalization. For all others, the residuals prove orthogonality.

use super::block::CoupledRows;
use super::divide::divided_vectors;
use super::iterate::InverseIteration;
use super::twisted::{MOST, TwistedVectors, twisted_lanes};
use bandsolve::Result;
use bandsolve::memory::{allocate, copied, push, reserved, zeroed};
use bandsolve_kernel::vectors::{dot, subtract_multiple};
use bandsolve_kernel::{Job, Lanes, Simd, dispatch, threads};
use core::ops::Range;
use core::sync::atomic::{AtomicU64, Ordering};

/// The largest distance of eigenvalues whose vectors are orthogonalized, in units of ‖T‖/n.
const WINDOW: f64 = 2.0;
/// The largest distance of tied eigenvalues, in units of ‖T‖. One thread computes the vectors of tied eigenvalues one after the other.
const TIED: f64 = 1e-6;
/// The largest residual of a vector that needs no correction, in units of ε·‖T‖·(1 + √n/8).
///
/// The factor √n has this reason: if the eigenvalue has an error of ε·‖T‖ and all entries of the vector are equal, γ is √n times as large.
const GOOD: f64 = 2.0;
/// The smallest norm that projections may leave of a vector of norm 1.
const MIN_REMAINDER: f64 = 0.5;
/// The smallest number of rows for divide and conquer.
const DIVIDED_FROM: usize = 64;
/// The approximate number of vectors in a piece of the spectrum.
const PIECE: usize = 32;
/// Divide and conquer is faster if at least one eigenvalue in this many is tied to the next.
const CLUSTERED: usize = 8;

/// The vectors of a block, one per row, and their largest residual ‖(T − λI)·z‖ / ‖T‖.
pub struct BlockVectors {
    pub rows: Vec<f64>,
    pub residual: f64,
}

/// Compute the eigenvectors of a block for its scaled eigenvalues, which are in ascending order.
pub fn block_vectors(block: &CoupledRows, values: &[f64]) -> Result<BlockVectors> {
    let n = block.n();
    if n == 1 || values.is_empty() {
        return Ok(BlockVectors { rows: allocate(values.len(), 1.0)?, residual: 0.0 });
    }
    let search = VectorSearch { block, values, simd: Simd::detect(), window: WINDOW * block.norm() / n as f64 };
    if search.is_clustered() {
        let rows = divided_vectors(block, search.simd)?;
        let residual = search.largest_residual(0..n, &rows);
        if residual <= 4.0 * search.good() {
            return Ok(BlockVectors { rows, residual: residual / block.norm() });
        }
    }
    let mut rows = zeroed(n.saturating_mul(values.len()))?;
    let pieces = pieces(block, values)?;
    let largest = AtomicU64::new(0);
    // Non-negative numbers have the same order as their bits. NaN is above all numbers.
    let note = |residual: f64| largest.fetch_max(residual.to_bits(), Ordering::Relaxed);
    search.each(&pieces, &mut rows, &|piece, rows| search.compute(piece, rows).map(|residual| _ = note(residual)))?;
    // Inner products across the ends of pieces are small, so the order of these projections matters only at the level of rounding errors.
    for piece in pieces.iter().skip(1) {
        note(search.across(piece.start, &mut rows));
    }
    Ok(BlockVectors { rows, residual: f64::from_bits(largest.into_inner()) / block.norm() })
}

/// Cut the spectrum into pieces that end between eigenvalues that are not tied.
fn pieces(block: &CoupledRows, values: &[f64]) -> Result<Vec<Range<usize>>> {
    let tied = TIED * block.norm();
    let (mut pieces, mut first) = (Vec::new(), 0);
    for k in 1..=values.len() {
        if k == values.len() || (k - first >= PIECE && values[k] - values[k - 1] > tied) {
            push(&mut pieces, first..k)?;
            first = k;
        }
    }
    Ok(pieces)
}

struct VectorSearch<'a> {
    block: &'a CoupledRows,
    values: &'a [f64],
    simd: Simd,
    window: f64,
}

impl VectorSearch<'_> {
    /// Whether all eigenvalues are wanted, and many are tied to the next.
    fn is_clustered(&self) -> bool {
        let tied = TIED * self.block.norm();
        let close = self.values.windows(2).filter(|pair| pair[1] - pair[0] <= tied).count();
        let n = self.block.n();
        n >= DIVIDED_FROM && self.values.len() == n && close * CLUSTERED >= n
    }

    /// Call `work` for each piece with its rows, on all threads.
    fn each(
        &self,
        pieces: &[Range<usize>],
        rows: &mut [f64],
        work: &(impl Fn(Range<usize>, &mut [f64]) -> Result<()> + Sync),
    ) -> Result<()> {
        if let [piece] = pieces {
            return work(piece.clone(), rows);
        }
        let (left, right) = pieces.split_at(pieces.len() / 2);
        let (left_rows, right_rows) = rows.split_at_mut((right[0].start - left[0].start) * self.block.n());
        let (left, right) = threads::join(|| self.each(left, left_rows, work), || self.each(right, right_rows, work));
        left.and(right)
    }

    /// Compute orthogonal vectors for a piece. Returns the largest residual.
    fn compute(&self, piece: Range<usize>, rows: &mut [f64]) -> Result<f64> {
        let n = self.block.n();
        let mut shifts = copied(&self.values[piece.clone()])?;
        let lanes = twisted_lanes(self.simd);
        let mut work = zeroed(2 * n * lanes)?;
        let mut again = reserved(shifts.len())?;
        for (some, shifts) in shifts.chunks_mut(lanes).enumerate() {
            let out = &mut rows[some * lanes * n..][..shifts.len() * n];
            let better = self.twist(shifts, out, &mut work);
            again.extend((0..lanes).filter(|k| better[*k]).map(|k| some * lanes + k));
        }
        let mut out = zeroed(n * lanes.min(again.len()))?;
        for some in again.chunks(lanes) {
            let mut corrected = [0.0; MOST];
            corrected.iter_mut().zip(some).for_each(|(shift, k)| *shift = shifts[*k]);
            let out = &mut out[..n * some.len()];
            // One repetition is enough, because a correction squares the error.
            _ = self.twist(&mut corrected[..some.len()], out, &mut work);
            for (k, vector) in some.iter().zip(out.chunks_exact(n)) {
                rows[k * n..][..n].copy_from_slice(vector);
            }
        }
        (0..shifts.len()).try_for_each(|k| self.orthogonalize(&piece, k, rows))?;
        Ok(self.largest_residual(piece, rows))
    }

    /// Compute vectors for these shifts, and correct the shifts. Returns which vectors improve with the corrected shift.
    fn twist(&self, shifts: &mut [f64], out: &mut [f64], work: &mut [f64]) -> [bool; MOST] {
        let CoupledRows { diag, off, .. } = self.block;
        let results = TwistedVectors { diag, off, shifts, out, work }.compute(self.simd);
        let (norm, good) = (self.block.norm(), self.good());
        let mut gains = [false; MOST];
        for (k, (shift, result)) in shifts.iter_mut().zip(&results).enumerate() {
            // If the vector has almost no component along the eigenvector, the correction is large or NaN, so ignore it.
            if result.residual > good && result.correction.abs() <= 1e-8 * norm {
                *shift += result.correction;
                gains[k] = true;
            }
        }
        gains
    }

    /// Orthogonalize a vector of a piece against the vectors before.
    ///
    /// If too little of the vector is left, or its residual is too large, compute it again by inverse iteration.
    fn orthogonalize(&self, piece: &Range<usize>, k: usize, rows: &mut [f64]) -> Result<()> {
        let n = self.block.n();
        let value = self.values[piece.start + k];
        let before = (0..k).rev().take_while(|j| value - self.values[piece.start + j] < self.window).count();
        let (others, row) = rows.split_at_mut(k * n);
        let (others, row) = (&others[(k - before) * n..], &mut row[..n]);
        // Projections add residuals of the earlier vectors to this vector. Check its residual, so that they do not accumulate.
        if self.project(others, row) > MIN_REMAINDER && self.residual(value, row) <= self.good() {
            return Ok(());
        }
        for attempt in 0..4 {
            // A shift at a small distance from a cluster amplifies all vectors of the cluster equally.
            let apart = 2.0 * f64::EPSILON * self.block.norm() * attempt as f64;
            let iteration = InverseIteration::new(self.block, value + apart)?;
            iteration.start((piece.start + k, attempt), row);
            for _ in 0..4 {
                self.project(others, row);
                iteration.solve(row);
                if self.project(others, row) > MIN_REMAINDER && self.residual(value, row) <= self.good() {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// The largest residual of a vector that needs no correction.
    fn good(&self) -> f64 {
        GOOD * f64::EPSILON * self.block.norm() * (1.0 + (self.block.n() as f64).sqrt() / 8.0)
    }

    /// Compute the residual ‖(T − λI)·z‖.
    fn residual(&self, value: f64, row: &[f64]) -> f64 {
        let CoupledRows { diag, off, .. } = self.block;
        dispatch::<f64, _>(self.simd, ResidualNorm { diag, off, shift: value, row })
    }

    /// Subtract from `row` its projections on `others`, and scale it to norm 1. Returns the norm before scaling.
    fn project(&self, others: &[f64], row: &mut [f64]) -> f64 {
        dispatch::<f64, _>(self.simd, Projection { others, row })
    }

    /// Orthogonalize the first vectors of a piece against the previous piece. Returns their largest residual.
    fn across(&self, start: usize, rows: &mut [f64]) -> f64 {
        let n = self.block.n();
        let near = |k: usize, j: usize| self.values[k] - self.values[j] < self.window;
        let mut end = start;
        while end < self.values.len() && near(end, start - 1) {
            let first = (0..start).rev().take_while(|j| near(end, *j)).last().unwrap_or(start);
            let (before, after) = rows.split_at_mut(end * n);
            self.project(&before[first * n..start * n], &mut after[..n]);
            end += 1;
        }
        self.largest_residual(start..end, &rows[start * n..end * n])
    }

    /// The largest ‖(T − λI)·z‖ of a piece, or NaN if one of them is NaN.
    fn largest_residual(&self, piece: Range<usize>, rows: &[f64]) -> f64 {
        let pairs = self.values[piece].iter().zip(rows.chunks_exact(self.block.n()));
        pairs
            .map(|(value, row)| self.residual(*value, row))
            .fold(0.0, |largest: f64, r| if r <= largest { largest } else { r })
    }
}

/// The job that orthogonalizes one vector against orthogonal rows by Gram–Schmidt.
struct Projection<'a> {
    others: &'a [f64],
    row: &'a mut [f64],
}

impl Job<f64> for Projection<'_> {
    type Output = f64;
    #[inline(always)]
    fn run<V: Lanes<Real = f64>>(self) -> f64 {
        let mut remainder = 1.0;
        // Repeat if the first pass subtracted more than rounding errors.
        for _ in 0..2 {
            let mut subtracted = 0.0;
            for other in self.others.chunks_exact(self.row.len()) {
                let c = dot::<V, f64>(other, self.row);
                subtract_multiple::<V, f64>(self.row, c, other);
                subtracted += c * c;
            }
            let norm = dot::<V, f64>(self.row, self.row).sqrt();
            remainder *= norm;
            let by = 1.0 / norm;
            self.row.iter_mut().for_each(|x| *x *= by);
            if subtracted < 1e-16 {
                break;
            }
        }
        remainder
    }
}

/// The job that computes ‖(T − λI)·z‖ in scaled numbers.
struct ResidualNorm<'a> {
    diag: &'a [f64],
    off: &'a [f64],
    shift: f64,
    row: &'a [f64],
}

impl Job<f64> for ResidualNorm<'_> {
    type Output = f64;
    #[inline(always)]
    fn run<V: Lanes<Real = f64>>(self) -> f64 {
        let (n, z) = (self.diag.len(), self.row);
        let mut sum = V::splat(0.0);
        let shift = V::splat(self.shift);
        let whole = (n - 2) / V::W * V::W;
        // SAFETY: rows 1 … `whole` each have a row before and a row after.
        unsafe {
            for k in (1..1 + whole).step_by(V::W) {
                let (d, center) = (V::load(self.diag.as_ptr().add(k)), V::load(z.as_ptr().add(k)));
                let (e, f) = (V::load(self.off.as_ptr().add(k - 1)), V::load(self.off.as_ptr().add(k)));
                let (before, after) = (V::load(z.as_ptr().add(k - 1)), V::load(z.as_ptr().add(k + 1)));
                let r = (d - shift).mul_add(center, e.mul_add(before, f * after));
                sum = r.mul_add(r, sum);
            }
        }
        let mut total = sum.total().first();
        for k in core::iter::once(0).chain(1 + whole..n) {
            let before = if k > 0 { self.off[k - 1] * z[k - 1] } else { 0.0 };
            let after = if k + 1 < n { self.off[k] * z[k + 1] } else { 0.0 };
            let r = (self.diag[k] - self.shift) * z[k] + before + after;
            total += r * r;
        }
        total.sqrt()
    }
}
