//! All eigenvectors of a block by divide and conquer, for matrices with many close eigenvalues.
//!
//! The vectors of a cluster are orthogonal without explicit orthogonalization. The method cuts T into halves:
//!
//! ```text
//! T = (T₁ 0; 0 T₂) + ϱ·u·uᵀ,   Vᵀ·T·V = D + ϱ·z·zᵀ
//! ```
//!
//! V and D contain the eigenpairs of the halves. If ϱ·z_i is negligible, or two entries of D are nearly equal, a vector of V is an
//! eigenvector of T (deflation). In clusters, this applies to nearly all vectors. The other eigenvalues are the zeros of
//! 1 + ϱ·Σ z_i² / (d_i − λ). The computed zeros are exact for a vector z that differs by rounding errors. Eigenvectors computed with this z
//! are orthogonal up to rounding errors.
//!
//! # Source
//! J. J. M. Cuppen, Numer. Math. 36 (1981); M. Gu, S. C. Eisenstat, SIAM J. Matrix Anal. Appl. 16 (1995); R.-C. Li, LAPACK Working
//! Note 89 (1993).

use super::block::CoupledRows;
use bandsolve::Result;
use bandsolve::memory::{allocate, collected, copied, reserved, zeroed};
use bandsolve_kernel::dense::Product;
use bandsolve_kernel::view::{View, ViewMut};
use bandsolve_kernel::{Job, Lanes, Simd, dispatch, threads};
use core::f64::consts::FRAC_1_SQRT_2;
use core::ops::Range;

/// The smallest number of rows for which the halves run on two threads.
const WORTH_A_THREAD: usize = 96;
/// The number of new vectors per matrix product.
const TOGETHER: usize = 48;
/// The maximum number of steps for a zero. Usually, 5 are enough.
const STEPS: usize = 100;

/// Compute all eigenvectors of a block, one per row, in the order of their eigenvalues.
pub fn divided_vectors(block: &CoupledRows, simd: Simd) -> Result<Vec<f64>> {
    let n = block.n();
    let mut diag = copied(&block.diag)?;
    for (k, e) in block.off.iter().enumerate() {
        diag[k] -= e.abs();
        diag[k + 1] -= e.abs();
    }
    let divided = Divided { n, diag: &diag, off: &block.off, simd };
    let mut vectors = zeroed(n.saturating_mul(n))?;
    let mut rows = zeroed(vectors.len())?;
    let (mut values, mut order) = (zeroed(n)?, zeroed(n)?);
    divided.solve(0..n, &mut vectors, (&mut values, &mut order))?;
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

/// The matrix D + ϱ·z·zᵀ of two halves.
struct RankOneUpdate {
    /// The rows of both halves.
    rows: Range<usize>,
    middle: usize,
    rho: f64,
    z: Vec<f64>,
    half: Vec<Half>,
}

impl Divided<'_> {
    /// Compute the eigenpairs of these rows without their coupling to other rows.
    ///
    /// Row k of `vectors` is vector k, and `values[k]` is its eigenvalue. `order` lists the indices in ascending order of the eigenvalues.
    fn solve(
        &self,
        rows: Range<usize>,
        vectors: &mut [f64],
        (values, order): (&mut [f64], &mut [usize]),
    ) -> Result<()> {
        if let [value] = values {
            vectors[rows.start] = 1.0;
            (*value, order[0]) = (self.diag[rows.start], 0);
            return Ok(());
        }
        let middle = rows.len() / 2;
        let cut = rows.start + middle;
        {
            let (upper, lower) = vectors.split_at_mut(middle * self.n);
            let ((upper_values, lower_values), (upper_order, lower_order)) =
                (values.split_at_mut(middle), order.split_at_mut(middle));
            let mut first = || self.solve(rows.start..cut, upper, (upper_values, upper_order));
            let mut second = || self.solve(cut..rows.end, lower, (lower_values, lower_order));
            let (first, second) =
                if rows.len() >= WORTH_A_THREAD { threads::join(first, second) } else { (first(), second()) };
            first.and(second)?;
        }
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
        let beside =
            |k: usize| if k < middle { vectors[k * self.n + cut - 1] } else { e.signum() * vectors[k * self.n + cut] };
        let z = (0..rows.len()).map(|k| FRAC_1_SQRT_2 * beside(k));
        let half = |k: usize| if k < middle { Half::Upper } else { Half::Lower };
        let mut update = RankOneUpdate {
            rows: rows.clone(),
            middle,
            rho: 2.0 * e.abs(),
            z: collected(z)?,
            half: collected((0..rows.len()).map(half))?,
        };
        let active = update.deflate(self.n, vectors, (values, order))?;
        if !active.is_empty() {
            self.combine(&update, &active, vectors, values)?;
        }
        sort(values, order);
        Ok(())
    }

    /// Replace the active pairs by the new ones.
    fn combine(&self, update: &RankOneUpdate, active: &[usize], vectors: &mut [f64], values: &mut [f64]) -> Result<()> {
        let (k, n) = (active.len(), self.n);
        let mut secular = SecularEquation::new(update, active, values)?;
        let mut apart = zeroed(k.saturating_mul(k))?;
        let mut roots = zeroed(k)?;
        secular.solve(0..k, (&mut apart, &mut roots), self.simd);
        secular.exact_z(&apart)?;
        // Sort vectors by halves, so that the products skip zeros.
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
        let (start, cut, end) = (update.rows.start, update.rows.start + update.middle, update.rows.end);
        let parts = [(0..k - lower, start..cut), (upper..k, cut..end)];
        let [upper, lower] = parts.clone().map(|(columns, rows)| pack(columns.start, columns.end, rows));
        let packed: [Vec<f64>; 2] = [upper?, lower?];
        let mut places = collected(vectors.chunks_exact_mut(n).map(Some))?;
        let mut targets: Vec<&mut [f64]> = collected(active.iter().filter_map(|slot| places[*slot].take()))?;
        let combination = Combination {
            secular: &secular,
            apart: &apart,
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
    /// Deflate: set entries of z to zero where this changes the matrix only by rounding errors.
    ///
    /// If two values are close, a rotation of their vectors makes an entry of z zero. Returns the active indices. Their values are separate and
    /// in ascending order.
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
            if self.rho * self.z[slot].abs() <= tolerance {
                continue;
            }
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

/// The equation 1/ϱ + Σ z_i² / (d_i − λ) = 0, with d in ascending order.
struct SecularEquation {
    d: Vec<f64>,
    z: Vec<f64>,
    z2: Vec<f64>,
    rho: f64,
}

impl SecularEquation {
    fn new(update: &RankOneUpdate, active: &[usize], values: &[f64]) -> Result<Self> {
        let z: Vec<f64> = collected(active.iter().map(|slot| update.z[*slot]))?;
        let z2 = collected(z.iter().map(|z| z * z))?;
        Ok(Self { d: collected(active.iter().map(|slot| values[*slot]))?, z, z2, rho: update.rho })
    }

    /// Compute the zeros with these indices, and d_i − λ for each zero.
    fn solve(&self, range: Range<usize>, (apart, roots): (&mut [f64], &mut [f64]), simd: Simd) {
        let k = self.d.len();
        if range.len() * k > 1 << 13 && range.len() > 1 {
            let half = range.len() / 2;
            let cut = range.start + half;
            let (left, right) = apart.split_at_mut(half * k);
            let (left_roots, right_roots) = roots.split_at_mut(half);
            threads::join(
                || self.solve(range.start..cut, (left, left_roots), simd),
                || self.solve(cut..range.end, (right, right_roots), simd),
            );
            return;
        }
        dispatch::<f64, _>(simd, SecularRoots { equation: self, first: range.start, apart, roots });
    }

    /// Replace z by the vector for which the computed zeros are exact.
    ///
    /// z_i² = Π_j (λ_j − d_i) / Π_{j≠i} (d_j − d_i), up to a common factor.
    fn exact_z(&mut self, apart: &[f64]) -> Result<()> {
        let k = self.d.len();
        let mut products: Vec<f64> = allocate(k, 1.0)?;
        for (j, apart) in apart.chunks_exact(k).enumerate() {
            let own = self.d[j];
            for (i, product) in products.iter_mut().enumerate() {
                let gap = self.d[i] - own;
                *product *= if i == j { -apart[i] } else { apart[i] / gap };
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
    /// The differences d_i − λ, one row per zero.
    apart: &'a mut [f64],
    roots: &'a mut [f64],
}

/// The sum Σ z_i²/(d_i − λ) and its derivative, separately for the d_i below λ and above λ.
#[derive(Clone, Copy)]
struct SecularSums {
    below: [f64; 2],
    above: [f64; 2],
}

impl SecularSums {
    /// The derivative of Σ z_i²/(d_i − λ).
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
        for (j, (apart, root)) in self.apart.chunks_exact_mut(k).zip(self.roots).enumerate() {
            let (origin, offset) = self.equation.zero::<V>(self.first + j);
            let from = self.equation.d[origin];
            for (apart, d) in apart.iter_mut().zip(&self.equation.d) {
                *apart = (d - from) - offset;
            }
            *root = from + offset;
        }
    }
}

impl SecularEquation {
    /// Compute the sums at λ = d_origin + offset.
    #[inline(always)]
    fn sums<V: Lanes<Real = f64>>(&self, origin: usize, offset: f64) -> SecularSums {
        let (k, zero) = (self.d.len(), V::splat(0.0));
        let (from, to) = (V::splat(self.d[origin]), V::splat(offset));
        let mut sums = [zero; 4];
        let whole = k / V::W * V::W;
        // SAFETY: both arrays have k numbers, and k ≥ `whole`.
        unsafe {
            for i in (0..whole).step_by(V::W) {
                let apart = (V::load(self.d.as_ptr().add(i)) - from) - to;
                let by = apart.recip();
                let value = V::load(self.z2.as_ptr().add(i)) * by;
                let slope = value * by;
                let is_below = zero.gt(apart);
                sums[0] = sums[0] + V::select(is_below, value, zero);
                sums[1] = sums[1] + V::select(is_below, slope, zero);
                sums[2] = sums[2] + V::select(is_below, zero, value);
                sums[3] = sums[3] + V::select(is_below, zero, slope);
            }
        }
        let [mut b0, mut b1, mut a0, mut a1] =
            [sums[0].total().first(), sums[1].total().first(), sums[2].total().first(), sums[3].total().first()];
        for i in whole..k {
            let apart = (self.d[i] - self.d[origin]) - offset;
            let (value, slope) = (self.z2[i] / apart, self.z2[i] / apart / apart);
            if apart < 0.0 {
                (b0, b1) = (b0 + value, b1 + slope);
            } else {
                (a0, a1) = (a0 + value, a1 + slope);
            }
        }
        SecularSums { below: [b0, b1], above: [a0, a1] }
    }

    /// Compute zero i. Returns the index of the nearest d, and the distance of the zero from that d.
    #[inline(always)]
    fn zero<V: Lanes<Real = f64>>(&self, i: usize) -> (usize, f64) {
        let (k, inverse) = (self.d.len(), 1.0 / self.rho);
        if k == 1 {
            return (0, self.rho * self.z2[0]);
        }
        let last = i + 1 == k;
        // The zero lies in (d_i, d_i+1), and the last one in (d_i, d_i + ρ·Σ z²).
        let width = if last { self.rho * self.z2.iter().sum::<f64>() } else { self.d[i + 1] - self.d[i] };
        // f(λ) = 1/ρ + Σ z_i²/(d_i − λ) rises from −∞ to ∞. If f < 0 in the middle, the zero is in the right half.
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
        for step in 1..STEPS {
            let sums = self.sums::<V>(origin, offset);
            let value = inverse + sums.below[0] + sums.above[0];
            let slope = sums.slope();
            // Stop if |f| is below its own rounding error.
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

    /// The step to the zero of c + s/(d_p − λ) + t/(d_q − λ), which has the same value and slopes as the sums. d_p and d_q are next to the zero.
    #[inline(always)]
    fn step(&self, i: usize, (origin, offset): (usize, f64), value: f64, sums: &SecularSums) -> f64 {
        let (last, slope) = (i + 1 == self.d.len(), sums.slope());
        let (p, q) = if last { (i - 1, i) } else { (i, i + 1) };
        let apart = |j: usize| (self.d[j] - self.d[origin]) - offset;
        let (first, second) = (apart(p), apart(q));
        // For the last zero, both are below: the last term is its own sum.
        let own = self.z2[q] / second / second;
        let (first_slope, second_slope) =
            if last { (sums.below[1] - own, own) } else { (sums.below[1], sums.above[1]) };
        let mut c = value - first * first_slope - second * second_slope;
        let a = (first + second) * value - first * second * slope;
        let b = first * second * value;
        if last {
            c = c.abs();
        }
        let root = (a * a - 4.0 * b * c).abs().sqrt();
        match (last, a <= 0.0) {
            (true, true) => 2.0 * b / (a - root),
            (true, false) => (a + root) / (2.0 * c),
            (false, true) => (a - root) / (2.0 * c),
            (false, false) => 2.0 * b / (a + root),
        }
    }
}

/// The new vectors as linear combinations of the old ones.
struct Combination<'a> {
    secular: &'a SecularEquation,
    apart: &'a [f64],
    by_half: &'a [usize],
    /// For the upper and the lower half, the range of old vectors (sorted by halves) and the range of rows.
    parts: &'a [(Range<usize>, Range<usize>); 2],
    packed: &'a [Vec<f64>; 2],
    simd: Simd,
}

impl Combination<'_> {
    /// Write the vectors from index `first` on.
    fn write(&self, first: usize, targets: &mut [&mut [f64]]) -> Result<()> {
        if targets.len() > TOGETHER {
            let half = (targets.len() / 2).next_multiple_of(8);
            let (left, right) = targets.split_at_mut(half);
            let (left, right) = threads::join(|| self.write(first, left), || self.write(first + half, right));
            return left.and(right);
        }
        let k = self.secular.d.len();
        let mut factors = reserved(k * targets.len())?;
        for apart in self.apart.chunks_exact(k).skip(first).take(targets.len()) {
            let from = factors.len();
            factors.extend(self.by_half.iter().map(|i| self.secular.z[*i] / apart[*i]));
            let own = &mut factors[from..];
            let norm = own.iter().map(|x| x * x).sum::<f64>().sqrt();
            own.iter_mut().for_each(|x| *x /= norm);
        }
        for ((columns, rows), packed) in self.parts.iter().zip(self.packed) {
            let mut made = zeroed(rows.len() * targets.len())?;
            let factors = View::new(&factors, k, targets.len()).rows(columns.clone());
            let old = View::new(packed, rows.len(), columns.len());
            let product = Product::replace(ViewMut::new(&mut made, rows.len(), targets.len()), old, factors);
            dispatch::<f64, _>(self.simd, product);
            for (target, made) in targets.iter_mut().zip(made.chunks_exact(rows.len())) {
                target[rows.clone()].copy_from_slice(made);
            }
        }
        Ok(())
    }
}
