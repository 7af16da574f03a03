//! All eigenvectors of a block by divide and conquer, for matrices with many close eigenvalues.
//!
//! The vectors of a cluster are orthogonal without explicit orthogonalization.
//!
//! # Method
//! Let e be the off-diagonal entry in the middle of T, between the rows m and m + 1. Let eᵢ be the unit vectors.
//!
//! ```text
//! 1. Divide:         T = (T₁ 0; 0 T₂) + ϱ·u·uᵀ            ϱ = 2·|e|,  u = (eₘ + sign(e)·eₘ₊₁) / √2
//! 2. Solve halves:   (T₁ 0; 0 T₂) = V·D·Vᵀ                V = (V₁ 0; 0 V₂)
//!    Merge:          Vᵀ·T·V = D + ϱ·z·zᵀ                  z = Vᵀ·u,  ‖z‖ = 1
//! 3. Deflate:        zᵢ ← 0  if ϱ·|zᵢ| ≤ τ                 then (dᵢ, vᵢ) is an eigenpair of T
//!                    rotate vᵢ, vⱼ so that zᵢ = 0         if |(dⱼ − dᵢ)·c·s| ≤ τ
//! 4. Secular eq.:    f(λ) = 1/ϱ + Σ zᵢ² / (dᵢ − λ) = 0     zeros λ₁ < λ₂ < …, one after each dᵢ
//! 5. Gu–Eisenstat:   ẑᵢ² = Πⱼ (λⱼ − dᵢ) / Πⱼ (dⱼ − dᵢ)          without j = i in the last product
//! 6. Vectors:        qⱼ = (ẑᵢ / (dᵢ − λⱼ))ᵢ, scaled to norm 1;  vector j of T is V·qⱼ
//! ```
//!
//! In clusters, nearly all vectors deflate. The computed λⱼ are the exact eigenvalues of D + ϱ·ẑ·ẑᵀ, and ẑ differs
//! from z by rounding errors. The vectors qⱼ are therefore orthogonal up to rounding errors.
//!
//! # Cost
//! A merge of n rows has k active vectors after deflation. Of these, b have non-zero entries in both halves. Each
//! rotation deflates a vector, so b ≤ n − k. The counts are for halves of n/2 rows. A division is one flop, and a
//! multiply-add is two.
//!
//! | step | flops | numbers read and written |
//! | --- | --- | --- |
//! | rotations, at most n − k | 6·n each | 4·n each |
//! | zeros, s steps each | 9·(s + 1)·k², with (s + 1)·k² reciprocals | 2·k read per evaluation, from cache |
//! | differences dᵢ − λⱼ | 2·k² | k² written |
//! | ẑ | 3·k², with k² divisions | k² read |
//! | Q | 4·k², with 2·k² divisions | k² read, k² written |
//! | copy of the active vectors | none | n·(k + b)/2 read, n·(k + b)/2 written |
//! | product V·Q | n·k·(k + b) | n·(k + b)/2 read per [`VECTORS_PER_PRODUCT`] vectors |
//! | new vectors | none | n·k read, 3·n·k written (cleared, computed, copied) |
//!
//! The product dominates. Without deflation (k = n, b = 0), it takes n³ flops and reads at least n³/96 numbers. In
//! total, the products of all merges take 4/3·n³ flops. A merge needs memory for k² + n·(k + b)/2 numbers, which is at
//! most 3/2·n².
//!
//! # Source
//! J. J. M. Cuppen, Numer. Math. 36 (1981); M. Gu, S. C. Eisenstat, SIAM J. Matrix Anal. Appl. 16 (1995); R.-C. Li,
//! LAPACK Working Note 89 (1993).

use super::block::CoupledRows;
use bandsolve::Result;
use bandsolve::memory::{allocate, collected, copied, reserved, zeroed};
use bandsolve_kernel::dense::Product;
use bandsolve_kernel::view::{View, ViewMut};
use bandsolve_kernel::{Job, Lanes, Simd, dispatch, threads};
use core::f64::consts::FRAC_1_SQRT_2;
use core::ops::Range;

/// The smallest number of rows for which the halves run on two threads.
const MIN_ROWS_FOR_THREADS: usize = 96;
/// The maximum number of new vectors per matrix product.
const VECTORS_PER_PRODUCT: usize = 48;
/// The maximum number of steps for a zero. Usually, 5 are enough.
const MAX_STEPS: usize = 100;

/// Compute all eigenvectors of a block, one per row, in the order of their eigenvalues.
///
/// # Cost
/// All merges, and a copy of the n² numbers to sort the vectors.
pub fn divided_vectors(block: &CoupledRows, simd: Simd) -> Result<Vec<f64>> {
    let n = block.n();
    let mut diag = copied(&block.diag)?;
    // The recursion cuts T between all rows. Each cut subtracts |e| from the two diagonal entries next to it.
    for (k, e) in block.off.iter().enumerate() {
        diag[k] -= e.abs();
        diag[k + 1] -= e.abs();
    }
    let divided = Divided { n, diag: &diag, off: &block.off, simd };
    let mut vectors = zeroed(n.saturating_mul(n))?;
    let mut rows = zeroed(vectors.len())?;
    let (mut values, mut order) = (zeroed(n)?, zeroed(n)?);
    divided.solve(0..n, &mut vectors, (&mut values, &mut order))?;
    // Sort the vectors by their eigenvalues.
    rows.chunks_exact_mut(n).zip(&order).for_each(|(row, k)| row.copy_from_slice(&vectors[k * n..][..n]));
    Ok(rows)
}

struct Divided<'a> {
    n: usize,
    /// The diagonal entries of T, minus the moduli of the off-diagonal entries in the same row.
    diag: &'a [f64],
    off: &'a [f64],
    simd: Simd,
}

/// The half of the rows in which a vector has non-zero entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Half {
    Upper,
    Both,
    Lower,
}

/// The matrix D + ϱ·z·zᵀ of two halves. The caller stores D.
struct RankOneUpdate {
    /// The rows of both halves.
    rows: Range<usize>,
    /// The number of rows of the upper half.
    middle: usize,
    rho: f64,
    z: Vec<f64>,
    /// For each vector of V, the half with its non-zero entries.
    half: Vec<Half>,
}

impl Divided<'_> {
    /// Compute the eigenpairs of these rows without their coupling to other rows.
    ///
    /// Row k of `vectors` is vector k, and `values[k]` is its eigenvalue. `order` lists the indices in ascending order
    /// of the eigenvalues.
    fn solve(
        &self,
        rows: Range<usize>,
        vectors: &mut [f64],
        (values, order): (&mut [f64], &mut [usize]),
    ) -> Result<()> {
        // One row: the eigenvalue is the diagonal entry, and the vector is 1.
        if let [value] = values {
            vectors[rows.start] = 1.0;
            (*value, order[0]) = (self.diag[rows.start], 0);
            return Ok(());
        }
        // Solve the halves T₁ and T₂.
        let middle = rows.len() / 2;
        let cut = rows.start + middle;
        {
            let (upper, lower) = vectors.split_at_mut(middle * self.n);
            let ((upper_values, lower_values), (upper_order, lower_order)) =
                (values.split_at_mut(middle), order.split_at_mut(middle));
            let mut first = || self.solve(rows.start..cut, upper, (upper_values, upper_order));
            let mut second = || self.solve(cut..rows.end, lower, (lower_values, lower_order));
            let (first, second) =
                if rows.len() >= MIN_ROWS_FOR_THREADS { threads::join(first, second) } else { (first(), second()) };
            first.and(second)?;
        }
        // The lower half counts its vectors from 0.
        order[middle..].iter_mut().for_each(|k| *k += middle);
        self.merge(&rows, cut, vectors, (values, order))
    }

    /// Compute the eigenpairs of the rows from the eigenpairs of their two halves, in place.
    fn merge(
        &self,
        rows: &Range<usize>,
        cut: usize,
        vectors: &mut [f64],
        (values, order): (&mut [f64], &mut [usize]),
    ) -> Result<()> {
        let e = self.off[cut - 1];
        let sort = |values: &[f64], order: &mut [usize]| {
            order.sort_unstable_by(|a, b| values[*a].total_cmp(&values[*b]).then(a.cmp(b)));
        };
        sort(values, order);
        let middle = cut - rows.start;
        // z = Vᵀ·u: the last row of V₁, and sign(e) times the first row of V₂, divided by √2.
        let at_cut =
            |k: usize| if k < middle { vectors[k * self.n + cut - 1] } else { e.signum() * vectors[k * self.n + cut] };
        let z = (0..rows.len()).map(|k| FRAC_1_SQRT_2 * at_cut(k));
        let half = |k: usize| if k < middle { Half::Upper } else { Half::Lower };
        let mut update = RankOneUpdate {
            rows: rows.clone(),
            middle,
            rho: 2.0 * e.abs(),
            z: collected(z)?,
            half: collected((0..rows.len()).map(half))?,
        };
        // Deflated pairs stay in place. The active pairs are replaced.
        let active = update.deflate(self.n, vectors, (values, order))?;
        if !active.is_empty() {
            self.combine(&update, &active, vectors, values)?;
        }
        sort(values, order);
        Ok(())
    }

    /// Replace the active pairs (dᵢ, vᵢ) by the eigenpairs (λⱼ, V·qⱼ) of V·(D + ϱ·z·zᵀ)·Vᵀ.
    fn combine(&self, update: &RankOneUpdate, active: &[usize], vectors: &mut [f64], values: &mut [f64]) -> Result<()> {
        let (k, n) = (active.len(), self.n);
        let mut secular = SecularEquation::new(update, active, values)?;
        let mut delta = zeroed(k.saturating_mul(k))?;
        let mut roots = zeroed(k)?;
        // λ_j and d_i − λ_j from the secular equation, then ẑ.
        secular.solve(0..k, (&mut delta, &mut roots), self.simd);
        secular.exact_z(&delta)?;
        // Sort the active vectors as Upper, Both, Lower, and copy their non-zero halves. The products then skip the
        // zeros: the new upper rows are V_upper·Q with the vectors Upper and Both, and the new lower rows use Both and
        // Lower.
        let mut by_half: Vec<usize> = collected(0..k)?;
        by_half.sort_unstable_by_key(|i| (update.half[active[*i]], *i));
        let count = |half: Half| active.iter().filter(|slot| update.half[**slot] == half).count();
        let (upper, lower) = (count(Half::Upper), count(Half::Lower));
        let pack = |from: usize, to: usize, rows: Range<usize>| {
            let mut packed = reserved(rows.len() * (to - from))?;
            for i in &by_half[from..to] {
                packed.extend_from_slice(&vectors[active[*i] * n..][rows.clone()]);
            }
            Ok(packed)
        };
        // For each half: its range of sorted vectors, and its rows.
        let (start, cut, end) = (update.rows.start, update.rows.start + update.middle, update.rows.end);
        let parts = [(0..k - lower, start..cut), (upper..k, cut..end)];
        let [upper, lower] = parts.clone().map(|(columns, rows)| pack(columns.start, columns.end, rows));
        let packed: [Vec<f64>; 2] = [upper?, lower?];
        // The new vector j takes the place of the active vector j.
        let mut places = collected(vectors.chunks_exact_mut(n).map(Some))?;
        let mut targets: Vec<&mut [f64]> = collected(active.iter().filter_map(|slot| places[*slot].take()))?;
        let combination = Combination {
            secular: &secular,
            delta: &delta,
            by_half: &by_half,
            parts: &parts,
            packed: &packed,
            simd: self.simd,
        };
        combination.write(0, &mut targets)?;
        active.iter().zip(&roots).for_each(|(slot, root)| values[*slot] = *root);
        Ok(())
    }
}

impl RankOneUpdate {
    /// Deflate: set entries of z to zero where this changes entries of the matrix by at most
    /// τ = 8·ε·max(max |dᵢ|, max |zᵢ|).
    ///
    /// 1. If ϱ·|zᵢ| ≤ τ, set zᵢ to zero. (dᵢ, vᵢ) is an eigenpair.
    /// 2. If dᵢ ≤ dⱼ are neighbours, rotate vᵢ and vⱼ with c = zⱼ/r, s = −zᵢ/r and r = √(zᵢ² + zⱼ²). Then zᵢ
    ///    becomes 0, zⱼ becomes r, and the off-diagonal entry (dⱼ − dᵢ)·c·s appears in D. If its modulus is at most
    ///    τ, set the entry to zero.
    ///
    /// Returns the active indices. Their values are separate and in ascending order.
    ///
    /// # Cost
    /// 6·n flops per rotation, for n rows.
    fn deflate(
        &mut self,
        n: usize,
        vectors: &mut [f64],
        (values, order): (&mut [f64], &[usize]),
    ) -> Result<Vec<usize>> {
        let largest = |x: &[f64]| x.iter().fold(0.0, |largest: f64, x| largest.max(x.abs()));
        let tolerance = 8.0 * f64::EPSILON * largest(values).max(largest(&self.z));
        let mut active = reserved(order.len())?;
        let mut last: Option<usize> = None;
        for slot in order.iter().copied() {
            // Rule 1.
            if self.rho * self.z[slot].abs() <= tolerance {
                continue;
            }
            // Rule 2 for the previous active value and this one.
            if let Some(before) = last {
                let (s, c) = (self.z[before], self.z[slot]);
                let size = s.hypot(c);
                let (s, c) = (-s / size, c / size);
                let (low, high) = (values[before], values[slot]);
                if ((high - low) * c * s).abs() <= tolerance {
                    (self.z[before], self.z[slot]) = (0.0, size);
                    let half = if self.half[before] == self.half[slot] { self.half[slot] } else { Half::Both };
                    (self.half[before], self.half[slot]) = (half, half);
                    self.rotate(n, vectors, (before, slot), (c, s));
                    // The rotated diagonal entries c²·d_i + s²·d_j and s²·d_i + c²·d_j.
                    values[before] = low * c * c + high * s * s;
                    values[slot] = low * s * s + high * c * c;
                } else {
                    active.push(before);
                }
            }
            last = Some(slot);
        }
        active.extend(last);
        Ok(active)
    }

    /// Replace vectors p and q by c·p + s·q and c·q − s·p.
    fn rotate(&self, n: usize, vectors: &mut [f64], (p, q): (usize, usize), (c, s): (f64, f64)) {
        let rows = self.rows.clone();
        let (low, high) = (p.min(q), p.max(q));
        let (before, after) = vectors.split_at_mut(high * n);
        let (low, high) = (&mut before[low * n..][rows.clone()], &mut after[rows]);
        let (p, q) = if p < q { (low, high) } else { (high, low) };
        for (p, q) in p.iter_mut().zip(q) {
            (*p, *q) = (c * *p + s * *q, c * *q - s * *p);
        }
    }
}

/// The secular equation f(λ) = 1/ϱ + Σ zᵢ² / (dᵢ − λ) = 0, with the active d in ascending order.
struct SecularEquation {
    d: Vec<f64>,
    /// z, or ẑ after [`exact_z`](Self::exact_z).
    z: Vec<f64>,
    /// The squares zᵢ².
    z2: Vec<f64>,
    rho: f64,
}

impl SecularEquation {
    fn new(update: &RankOneUpdate, active: &[usize], values: &[f64]) -> Result<Self> {
        let z: Vec<f64> = collected(active.iter().map(|slot| update.z[*slot]))?;
        let z2 = collected(z.iter().map(|z| z * z))?;
        Ok(Self { d: collected(active.iter().map(|slot| values[*slot]))?, z, z2, rho: update.rho })
    }

    /// Compute the zeros λⱼ with these indices, and `delta` with dᵢ − λⱼ in row j.
    fn solve(&self, range: Range<usize>, (delta, roots): (&mut [f64], &mut [f64]), simd: Simd) {
        let k = self.d.len();
        if range.len() * k > 1 << 13 && range.len() > 1 {
            let half = range.len() / 2;
            let cut = range.start + half;
            let (left, right) = delta.split_at_mut(half * k);
            let (left_roots, right_roots) = roots.split_at_mut(half);
            threads::join(
                || self.solve(range.start..cut, (left, left_roots), simd),
                || self.solve(cut..range.end, (right, right_roots), simd),
            );
            return;
        }
        dispatch::<f64, _>(simd, SecularRoots { equation: self, first: range.start, delta, roots });
    }

    /// Replace z by the vector ẑ of Gu and Eisenstat, for which the computed zeros are exact.
    ///
    /// ẑᵢ² = Πⱼ (λⱼ − dᵢ) / Πⱼ (dⱼ − dᵢ), without j = i in the last product, up to the common factor 1/ϱ,
    /// which does not change the directions qⱼ. ẑᵢ has the sign of zᵢ. Each step multiplies by one quotient, because the products of all numerators or
    /// denominators could overflow or underflow.
    fn exact_z(&mut self, delta: &[f64]) -> Result<()> {
        let k = self.d.len();
        let mut products: Vec<f64> = allocate(k, 1.0)?;
        for (j, delta) in delta.chunks_exact(k).enumerate() {
            let d_j = self.d[j];
            for (i, product) in products.iter_mut().enumerate() {
                // The factor (λ_j − d_i) / (d_j − d_i), or λ_i − d_i for j = i.
                let gap = self.d[i] - d_j;
                *product *= if i == j { -delta[i] } else { delta[i] / gap };
            }
        }
        self.z.iter_mut().zip(&products).for_each(|(z, product)| *z = product.abs().sqrt().copysign(*z));
        Ok(())
    }
}

/// The job that computes zeros of a secular equation, from index `first` on.
struct SecularRoots<'a> {
    equation: &'a SecularEquation,
    first: usize,
    /// The differences dᵢ − λ, one row per zero.
    delta: &'a mut [f64],
    roots: &'a mut [f64],
}

/// The sum Σ zᵢ²/(dᵢ − λ) and its derivative Σ zᵢ²/(dᵢ − λ)², separately for the dᵢ below λ (ψ, ψ′) and above λ
/// (φ, φ′).
#[derive(Clone, Copy)]
struct SecularSums {
    below: [f64; 2],
    above: [f64; 2],
}

impl SecularSums {
    /// The derivative of Σ zᵢ²/(dᵢ − λ).
    #[inline(always)]
    fn slope(&self) -> f64 {
        self.below[1] + self.above[1]
    }
}

impl Job<f64> for SecularRoots<'_> {
    type Output = ();
    #[inline(always)]
    fn run<V: Lanes<Real = f64>>(self) {
        let k = self.equation.d.len();
        for (j, (delta, root)) in self.delta.chunks_exact_mut(k).zip(self.roots).enumerate() {
            // λ_j = d_origin + offset. With this form, the small differences d_i − λ_j have small relative errors.
            let (origin, offset) = self.equation.zero::<V>(self.first + j);
            let from = self.equation.d[origin];
            for (delta, d) in delta.iter_mut().zip(&self.equation.d) {
                *delta = (d - from) - offset;
            }
            *root = from + offset;
        }
    }
}

impl SecularEquation {
    /// Compute the sums at λ = d_origin + offset. Per term: a reciprocal, two subtractions, two products and four
    /// additions.
    #[inline(always)]
    fn sums<V: Lanes<Real = f64>>(&self, origin: usize, offset: f64) -> SecularSums {
        let (k, zero) = (self.d.len(), V::splat(0.0));
        let (from, to) = (V::splat(self.d[origin]), V::splat(offset));
        let mut sums = [zero; 4];
        let whole = k / V::W * V::W;
        // SAFETY: both arrays have k numbers, and k ≥ `whole`.
        unsafe {
            for i in (0..whole).step_by(V::W) {
                let delta = (V::load(self.d.as_ptr().add(i)) - from) - to;
                let by = delta.recip();
                let value = V::load(self.z2.as_ptr().add(i)) * by;
                let slope = value * by;
                let is_below = zero.gt(delta);
                sums[0] = sums[0] + V::select(is_below, value, zero);
                sums[1] = sums[1] + V::select(is_below, slope, zero);
                sums[2] = sums[2] + V::select(is_below, zero, value);
                sums[3] = sums[3] + V::select(is_below, zero, slope);
            }
        }
        let [mut b0, mut b1, mut a0, mut a1] =
            [sums[0].total().first(), sums[1].total().first(), sums[2].total().first(), sums[3].total().first()];
        for i in whole..k {
            let delta = (self.d[i] - self.d[origin]) - offset;
            let (value, slope) = (self.z2[i] / delta, self.z2[i] / delta / delta);
            if delta < 0.0 {
                (b0, b1) = (b0 + value, b1 + slope);
            } else {
                (a0, a1) = (a0 + value, a1 + slope);
            }
        }
        SecularSums { below: [b0, b1], above: [a0, a1] }
    }

    /// Compute zero i. Returns the index of the nearest d, the origin, and the offset λ − d_origin.
    ///
    /// Each step replaces f by a rational function with two poles ([`step`](Self::step)). If the step leaves the
    /// bracket, Newton's method or bisection follows.
    #[inline(always)]
    fn zero<V: Lanes<Real = f64>>(&self, i: usize) -> (usize, f64) {
        let (k, inverse) = (self.d.len(), 1.0 / self.rho);
        // 1/ϱ + z²/(d − λ) = 0
        if k == 1 {
            return (0, self.rho * self.z2[0]);
        }
        let last = i + 1 == k;
        // The zero lies in (d_i, d_i+1), and the last one in (d_i, d_i + ϱ·Σ z²).
        let width = if last { self.rho * self.z2.iter().sum::<f64>() } else { self.d[i + 1] - self.d[i] };
        // f(λ) = 1/ϱ + Σ z_i²/(d_i − λ) rises from −∞ to ∞, in the last interval to f ≥ 0. If f < 0 in the middle, the zero is in
        // the right half.
        let sums = self.sums::<V>(i, 0.5 * width);
        let right = inverse + sums.below[0] + sums.above[0] < 0.0;
        // The zero is in (low, high), relative to the origin, which is a d at one end of the interval.
        let (origin, mut low, mut high) = match (right, last) {
            (false, _) => (i, 0.0, 0.5 * width),
            (true, true) => (i, 0.5 * width, width * (1.0 + 4.0 * f64::EPSILON)),
            (true, false) => (i + 1, -0.5 * width, 0.0),
        };
        let mut offset = if right && !last { low } else { 0.5 * width };
        let mut checked = high - low;
        for step in 1..MAX_STEPS {
            let sums = self.sums::<V>(origin, offset);
            let value = inverse + sums.below[0] + sums.above[0];
            let slope = sums.slope();
            // Stop if |f| is below its rounding error ε·(8·(φ − ψ) + 1/ϱ + |offset|·f′).
            let size = 8.0 * (sums.above[0] - sums.below[0]) + inverse + offset.abs() * slope;
            if value.abs() <= f64::EPSILON * size {
                break;
            }
            // f increases, so its sign tells which end of the bracket moves.
            (low, high) = if value > 0.0 { (low, offset) } else { (offset, high) };
            let mut next = offset + self.step(i, (origin, offset), value, &sums);
            let inside = |x: f64| low < x && x < high;
            if !inside(next) {
                // Newton's step
                next = offset - value / slope;
            }
            // If three steps did not reduce the bracket to a quarter, cut the bracket.
            let slow = step % 3 == 0 && high - low > 0.25 * checked;
            if step % 3 == 0 {
                checked = high - low;
            }
            if slow || !inside(next) {
                // Bisection, or an eighth of the distance to the pole at 0.
                next = if low == 0.0 {
                    high * 0.125
                } else if high == 0.0 {
                    low * 0.125
                } else {
                    low + 0.5 * (high - low)
                };
            }
            if next == offset || !inside(next) {
                break;
            }
            offset = next;
        }
        (origin, offset)
    }

    /// The step η to the zero of g(η) = c + s/(Δₚ − η) + t/(Δ_q − η), with Δᵢ = dᵢ − λ. dₚ and d_q are the poles
    /// next to the zero.
    ///
    /// s = Δₚ²·ψ′ and t = Δ_q²·φ′, so g has the slopes of both sums. c = f − Δₚ·ψ′ − Δ_q·φ′, so g(0) = f. Then η is a
    /// zero of c·η² − a·η + b with a = (Δₚ + Δ_q)·f − Δₚ·Δ_q·f′ and b = Δₚ·Δ_q·f.
    #[inline(always)]
    fn step(&self, i: usize, (origin, offset): (usize, f64), value: f64, sums: &SecularSums) -> f64 {
        let (last, slope) = (i + 1 == self.d.len(), sums.slope());
        let (p, q) = if last { (i - 1, i) } else { (i, i + 1) };
        let delta = |j: usize| (self.d[j] - self.d[origin]) - offset;
        let (first, second) = (delta(p), delta(q));
        // Both poles are below the last zero. Then φ′ is the last term of the sum, and ψ′ is the sum of the other
        // terms.
        let last_term = self.z2[q] / second / second;
        let (first_slope, second_slope) =
            if last { (sums.below[1] - last_term, last_term) } else { (sums.below[1], sums.above[1]) };
        let mut c = value - first * first_slope - second * second_slope;
        let a = (first + second) * value - first * second * slope;
        let b = first * second * value;
        // As LAPACK's `dlaed4`, use |c| for the last zero.
        if last {
            c = c.abs();
        }
        let root = (a * a - 4.0 * b * c).abs().sqrt();
        // The zero is (a + √(a² − 4·b·c)) / (2·c) for the last zero, and (a − √(a² − 4·b·c)) / (2·c) otherwise. Use the
        // form without cancellation.
        match (last, a <= 0.0) {
            (true, true) => 2.0 * b / (a - root),
            (true, false) => (a + root) / (2.0 * c),
            (false, true) => (a - root) / (2.0 * c),
            (false, false) => 2.0 * b / (a + root),
        }
    }
}

/// The new vectors V·qⱼ as linear combinations of the old ones.
struct Combination<'a> {
    /// The equation, with ẑ.
    secular: &'a SecularEquation,
    /// The differences dᵢ − λⱼ, row j per zero.
    delta: &'a [f64],
    /// The active indices i, sorted by halves.
    by_half: &'a [usize],
    /// For the upper and the lower half, the range of old vectors (sorted by halves) and the range of rows.
    parts: &'a [(Range<usize>, Range<usize>); 2],
    /// For each half, these rows of these old vectors, one vector after the other.
    packed: &'a [Vec<f64>; 2],
    simd: Simd,
}

impl Combination<'_> {
    /// Write the new vectors from index `first` on to `targets`.
    ///
    /// # Cost
    /// 4 flops per entry of Q, two of them divisions. Each new vector takes 2 flops per packed number.
    fn write(&self, first: usize, targets: &mut [&mut [f64]]) -> Result<()> {
        if targets.len() > VECTORS_PER_PRODUCT {
            let half = (targets.len() / 2).next_multiple_of(8);
            let (left, right) = targets.split_at_mut(half);
            let (left, right) = threads::join(|| self.write(first, left), || self.write(first + half, right));
            return left.and(right);
        }
        // q_j = (ẑ_i / (d_i − λ_j))_i, scaled to norm 1, with the entries i sorted by halves.
        let k = self.secular.d.len();
        let mut factors = reserved(k * targets.len())?;
        for delta in self.delta.chunks_exact(k).skip(first).take(targets.len()) {
            let from = factors.len();
            factors.extend(self.by_half.iter().map(|i| self.secular.z[*i] / delta[*i]));
            let column = &mut factors[from..];
            let norm = column.iter().map(|x| x * x).sum::<f64>().sqrt();
            column.iter_mut().for_each(|x| *x /= norm);
        }
        // The rows of one half: V_half·Q.
        for ((columns, rows), packed) in self.parts.iter().zip(self.packed) {
            let mut combined = zeroed(rows.len() * targets.len())?;
            let factors = View::new(&factors, k, targets.len()).rows(columns.clone());
            let old = View::new(packed, rows.len(), columns.len());
            let product = Product::replace(ViewMut::new(&mut combined, rows.len(), targets.len()), old, factors);
            dispatch::<f64, _>(self.simd, product);
            for (target, row) in targets.iter_mut().zip(combined.chunks_exact(rows.len())) {
                target[rows.clone()].copy_from_slice(row);
            }
        }
        Ok(())
    }
}
