//! Eigenvectors of a block: twisted factorisations, then orthogonalisation among close eigenvalues, and inverse iteration where
//! eigenvalues agree to rounding. All is measured in the end.
//!
//! Where many eigenvalues are close, and all are wanted, by divide and conquer instead.
//!
//! Two vectors with residuals r_i, r_j have |z_iᵀ z_j| ≤ (r_i + r_j) / |λ_i − λ_j|. So only those whose eigenvalues are within
//! [`WINDOW`]·‖T‖/n of each other are orthogonalised: for all others the residuals, which are measured, prove it.

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

/// Eigenvalues this close, times ‖T‖/n, have their vectors orthogonalised.
const WINDOW: f64 = 2.0;
/// Vectors of eigenvalues this close, times ‖T‖, are found one after the other on one thread.
const TIED: f64 = 1e-6;
/// Residuals, times ε‖T‖ (1 + √n/8), that are good at once: an eigenvalue that errs by ε‖T‖ gives a vector of equal entries a γ of √n
/// times as much, which disturbs all other vectors alike, each by ε‖T‖.
const GOOD: f64 = 2.0;
/// Of a vector of norm 1 at least so much must be left when others were subtracted.
const LEFT: f64 = 0.5;
/// Rows from which on divide and conquer may be faster.
const DIVIDED_FROM: usize = 64;
/// Vectors of a piece of the spectrum, about.
const PIECE: usize = 32;
/// One in so many eigenvalues that is tied to the next makes divide and conquer faster.
const CLUSTERED: usize = 8;

/// Vectors of a block, a row each, and their largest residual ‖(T − λI) z‖ / ‖T‖.
pub struct BlockVectors {
    pub rows: Vec<f64>,
    pub residual: f64,
}

/// Vectors of ascending scaled eigenvalues of a block.
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
    // Bits of numbers that are not negative have their order; NaN is above all.
    let note = |residual: f64| largest.fetch_max(residual.to_bits(), Ordering::Relaxed);
    search.each(&pieces, &mut rows, &|piece, rows| search.compute(piece, rows).map(|residual| _ = note(residual)))?;
    // Across the ends of pieces overlaps are small, so the order does not matter to rounding.
    for piece in pieces.iter().skip(1) {
        note(search.across(piece.start, &mut rows));
    }
    Ok(BlockVectors { rows, residual: f64::from_bits(largest.into_inner()) / block.norm() })
}

/// Pieces of the spectrum that end where eigenvalues are not tied.
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
    /// Whether all eigenvalues are wanted, and many are close to the next.
    fn is_clustered(&self) -> bool {
        let tied = TIED * self.block.norm();
        let close = self.values.windows(2).filter(|pair| pair[1] - pair[0] <= tied).count();
        let n = self.block.n();
        n >= DIVIDED_FROM && self.values.len() == n && close * CLUSTERED >= n
    }

    /// Calls `work` for every piece with its rows, on all threads.
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

    /// Vectors of a piece, orthogonal to each other; the largest residual.
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
            let mut own = [0.0; MOST];
            own.iter_mut().zip(some).for_each(|(own, k)| *own = shifts[*k]);
            let out = &mut out[..n * some.len()];
            // Once more is enough: a correction squares the error.
            _ = self.twist(&mut own[..some.len()], out, &mut work);
            for (k, vector) in some.iter().zip(out.chunks_exact(n)) {
                rows[k * n..][..n].copy_from_slice(vector);
            }
        }
        (0..shifts.len()).try_for_each(|k| self.orthogonalize(&piece, k, rows))?;
        Ok(self.largest_residual(piece, rows))
    }

    /// Vectors of some shifts, and which of them will gain from the corrected shifts.
    fn twist(&self, shifts: &mut [f64], out: &mut [f64], work: &mut [f64]) -> [bool; MOST] {
        let CoupledRows { diag, off, .. } = self.block;
        let results = TwistedVectors { diag, off, shifts, out, work }.compute(self.simd);
        let (norm, good) = (self.block.norm(), self.good());
        let mut gains = [false; MOST];
        for (k, (shift, result)) in shifts.iter_mut().zip(&results).enumerate() {
            // A vector that has hardly anything of the eigenvalue has a large correction, or one that is NaN.
            if result.residual > good && result.correction.abs() <= 1e-8 * norm {
                *shift += result.correction;
                gains[k] = true;
            }
        }
        gains
    }

    /// Makes a vector of a piece orthogonal to those before it, anew where too little of it is left
    /// or its residual has become large.
    fn orthogonalize(&self, piece: &Range<usize>, k: usize, rows: &mut [f64]) -> Result<()> {
        let n = self.block.n();
        let value = self.values[piece.start + k];
        let before = (0..k).rev().take_while(|j| value - self.values[piece.start + j] < self.window).count();
        let (others, own) = rows.split_at_mut(k * n);
        let (others, own) = (&others[(k - before) * n..], &mut own[..n]);
        // Residuals of those before it, which come in where it is not orthogonal to them, must not add up.
        if self.project(others, own) > LEFT && self.residual(value, own) <= self.good() {
            return Ok(());
        }
        for attempt in 0..4 {
            // At a little distance from all of a cluster it amplifies those of its vectors alike that the shift tells apart.
            let apart = 2.0 * f64::EPSILON * self.block.norm() * attempt as f64;
            let iteration = InverseIteration::new(self.block, value + apart)?;
            iteration.start((piece.start + k, attempt), own);
            for _ in 0..4 {
                self.project(others, own);
                iteration.solve(own);
                if self.project(others, own) > LEFT && self.residual(value, own) <= self.good() {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// Norms of residuals that are good.
    fn good(&self) -> f64 {
        GOOD * f64::EPSILON * self.block.norm() * (1.0 + (self.block.n() as f64).sqrt() / 8.0)
    }

    /// ‖(T − λI) z‖
    fn residual(&self, value: f64, row: &[f64]) -> f64 {
        let CoupledRows { diag, off, .. } = self.block;
        dispatch::<f64, _>(self.simd, ResidualNorm { diag, off, shift: value, row })
    }

    /// Subtracts from `own` its projections on `others`, and scales it to norm 1: how much of it was left.
    fn project(&self, others: &[f64], own: &mut [f64]) -> f64 {
        dispatch::<f64, _>(self.simd, Projection { others, own })
    }

    /// Makes the vectors that begin a piece orthogonal to those before it; the largest residual of these.
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

    /// The largest ‖(T − λI) z‖ of a piece, NaN if one is.
    fn largest_residual(&self, piece: Range<usize>, rows: &[f64]) -> f64 {
        let pairs = self.values[piece].iter().zip(rows.chunks_exact(self.block.n()));
        pairs
            .map(|(value, row)| self.residual(*value, row))
            .fold(0.0, |largest: f64, r| if r <= largest { largest } else { r })
    }
}

/// Gram–Schmidt of one vector against rows that are orthogonal.
struct Projection<'a> {
    others: &'a [f64],
    own: &'a mut [f64],
}

impl Job<f64> for Projection<'_> {
    type Output = f64;
    #[inline(always)]
    fn run<V: Lanes<Real = f64>>(self) -> f64 {
        let mut left = 1.0;
        // Twice, where something was subtracted that is more than rounding.
        for _ in 0..2 {
            let mut subtracted = 0.0;
            for other in self.others.chunks_exact(self.own.len()) {
                let c = dot::<V, f64>(other, self.own);
                subtract_multiple::<V, f64>(self.own, c, other);
                subtracted += c * c;
            }
            let norm = dot::<V, f64>(self.own, self.own).sqrt();
            left *= norm;
            let by = 1.0 / norm;
            self.own.iter_mut().for_each(|x| *x *= by);
            if subtracted < 1e-16 {
                break;
            }
        }
        left
    }
}

/// ‖(T − λI) z‖ in scaled numbers.
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
        // SAFETY: rows 1 … `whole`, which have a row before and a row after them.
        unsafe {
            for k in (1..1 + whole).step_by(V::W) {
                let (d, own) = (V::load(self.diag.as_ptr().add(k)), V::load(z.as_ptr().add(k)));
                let (e, f) = (V::load(self.off.as_ptr().add(k - 1)), V::load(self.off.as_ptr().add(k)));
                let (before, after) = (V::load(z.as_ptr().add(k - 1)), V::load(z.as_ptr().add(k + 1)));
                let r = (d - shift).mul_add(own, e.mul_add(before, f * after));
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
