//! Eigenvectors by twisted factorizations, with one shift per SIMD lane.
//!
//! Elimination of T − λI from above has the pivots pₖ = dₖ − λ − e²ₖ₋₁ / pₖ₋₁. Elimination from below has the pivots
//! qₖ = dₖ − λ − e²ₖ / qₖ₊₁. In row k, both meet with γₖ = pₖ + qₖ − (dₖ − λ).
//!
//! Let zₖ = 1, zⱼ₋₁ = −(eⱼ₋₁ / pⱼ₋₁)·zⱼ above row k, and zⱼ₊₁ = −(eⱼ / qⱼ₊₁)·zⱼ below. Then (T − λI)·z = γₖ·eₖ, and the
//! Rayleigh quotient of z is λ + γₖ / ‖z‖². The method chooses the k with the smallest |γₖ|. All other rows hold up to rounding errors, even
//! with large pivots.

use bandsolve_kernel::{Job, Lanes, Scalar, Simd, dispatch};

/// The number of SIMD vectors of shifts per job.
const PACKS: usize = 2;
/// The maximum number of shifts per job.
pub const MOST: usize = PACKS * 16;
/// The smallest pivot. It is far below the rounding errors of a matrix whose largest entry is in [1, 2).
const GUARD: f64 = f64::from_bits((1023 - 110) << 52);
/// Smaller entries of a vector become zero. Otherwise decaying entries would become subnormal, which is slow.
const FAINT: f64 = f64::from_bits((1023 - 900) << 52);

/// The maximum number of shifts per call.
pub fn twisted_lanes(simd: Simd) -> usize {
    PACKS * f64::lanes(simd)
}

/// The job that computes vectors for at most [`twisted_lanes`] shifts.
pub struct TwistedVectors<'a> {
    pub diag: &'a [f64],
    pub off: &'a [f64],
    /// The shift λ of each vector.
    pub shifts: &'a [f64],
    /// The vectors of norm 1, one row of n numbers each.
    pub out: &'a mut [f64],
    /// Scratch memory of 2·n·[`twisted_lanes`] numbers.
    pub work: &'a mut [f64],
}

/// The residual of a vector, and the correction of its shift.
#[derive(Debug, Clone, Copy, Default)]
pub struct TwistedResult {
    /// The residual ‖(T − λI)·z‖ / ‖z‖.
    pub residual: f64,
    /// The Rayleigh quotient minus λ, which is γ / ‖z‖².
    pub correction: f64,
}

impl TwistedVectors<'_> {
    /// Compute the vectors.
    pub fn compute(self, simd: Simd) -> [TwistedResult; MOST] {
        dispatch::<f64, _>(simd, self)
    }
}

impl Job<f64> for TwistedVectors<'_> {
    type Output = [TwistedResult; MOST];
    #[inline(always)]
    fn run<V: Lanes<Real = f64>>(self) -> Self::Output {
        let (n, lanes, used) = (self.diag.len(), PACKS * V::W, self.shifts.len());
        assert!(used >= 1 && used <= lanes && self.out.len() == n * used && self.work.len() == 2 * n * lanes);
        assert!(self.off.len() + 1 == n);
        let (above, below) = self.work.split_at_mut(n * lanes);
        let mut shifts = [0.0; MOST];
        for lane in 0..lanes {
            shifts[lane] = self.shifts[lane.min(used - 1)];
        }
        let mut numbers = [[0.0; MOST]; 2];
        // SAFETY: `above` and `below` have room for n rows of `PACKS` vectors each, `shifts` and `numbers` for `PACKS` vectors.
        let scale = unsafe {
            let mut twist = Twist::<V>::new(self.diag, self.off, shifts.as_ptr());
            twist.eliminate_upwards(below.as_mut_ptr());
            twist.eliminate_downwards(above.as_mut_ptr(), below.as_ptr());
            twist.substitute_upwards(above.as_mut_ptr());
            twist.substitute_downwards(below.as_mut_ptr());
            twist.results(&mut numbers)
        };
        let mut results = [TwistedResult::default(); MOST];
        for lane in 0..lanes {
            results[lane] = TwistedResult { residual: numbers[0][lane], correction: numbers[1][lane] };
        }
        for p in 0..used.div_ceil(V::W) {
            let lanes = V::W.min(used - p * V::W);
            let out = &mut self.out[p * V::W * n..(p * V::W + lanes) * n];
            // SAFETY: `above` and `below` hold n rows of `PACKS` vectors, `out` has `lanes` rows of n numbers.
            unsafe { gather::<V>((above.as_ptr(), below.as_ptr()), p, scale[p], (out, lanes)) };
        }
        results
    }
}

/// The state that the passes share.
struct Twist<'a, V> {
    diag: &'a [f64],
    off: &'a [f64],
    shift: [V; PACKS],
    /// The γ with the smallest modulus.
    gamma: [V; PACKS],
    /// The row of this γ.
    row: [V; PACKS],
    /// The squared norm ‖z‖².
    norm: [V; PACKS],
}

impl<'a, V: Lanes<Real = f64>> Twist<'a, V> {
    /// Load the shifts.
    ///
    /// # Safety
    /// `shifts` has [`PACKS`] vectors.
    #[inline(always)]
    unsafe fn new(diag: &'a [f64], off: &'a [f64], shifts: *const f64) -> Self {
        let zero = V::splat(0.0);
        let mut shift = [zero; PACKS];
        for p in 0..PACKS {
            // SAFETY: the caller's promise.
            shift[p] = unsafe { V::load(shifts.add(p * V::W)) };
        }
        Self { diag, off, shift, gamma: [V::splat(f64::MAX); PACKS], row: [zero; PACKS], norm: [zero; PACKS] }
    }

    /// Eliminate from below, and write eₖ / qₖ₊₁ to row k + 1 of `below`.
    ///
    /// # Safety
    /// `below` has room for n rows.
    #[inline(always)]
    unsafe fn eliminate_upwards(&mut self, below: *mut f64) {
        let zero = V::splat(0.0);
        let mut share = [zero; PACKS];
        for k in (1..self.diag.len()).rev() {
            let (d, e) = (V::splat(self.diag[k]), V::splat(self.off[k - 1]));
            for p in 0..PACKS {
                let pivot = guarded(d - self.shift[p] - share[p]);
                let ratio = e * pivot.recip();
                share[p] = e * ratio;
                // SAFETY: the caller's promise.
                unsafe { ratio.store(below.add((k * PACKS + p) * V::W)) };
            }
        }
    }

    /// Eliminate from above, write eₖ / pₖ to row k of `above`, and find γ and its row.
    ///
    /// # Safety
    /// `above` has room for n rows. [`eliminate_upwards`](Self::eliminate_upwards) wrote `below`.
    #[inline(always)]
    unsafe fn eliminate_downwards(&mut self, above: *mut f64, below: *const f64) {
        let (n, zero) = (self.diag.len(), V::splat(0.0));
        let mut share = [zero; PACKS];
        for k in 0..n {
            let (d, row) = (V::splat(self.diag[k]), V::splat(k as f64));
            let e = V::splat(if k + 1 < n { self.off[k] } else { 0.0 });
            for p in 0..PACKS {
                let pivot = d - self.shift[p] - share[p];
                let mut gamma = pivot;
                // SAFETY: the caller's promise. Row k + 1 is read only if it exists.
                unsafe {
                    if k + 1 < n {
                        gamma = e.neg_mul_add(V::load(below.add(((k + 1) * PACKS + p) * V::W)), pivot);
                    }
                    let better = self.gamma[p].abs().gt(gamma.abs());
                    self.gamma[p] = V::select(better, gamma, self.gamma[p]);
                    self.row[p] = V::select(better, row, self.row[p]);
                    let ratio = e * guarded(pivot).recip();
                    share[p] = e * ratio;
                    ratio.store(above.add((k * PACKS + p) * V::W));
                }
            }
        }
    }

    /// Replace the ratios by z in the twisted row and the rows above, and by 0 below.
    ///
    /// # Safety
    /// [`eliminate_downwards`](Self::eliminate_downwards) wrote `above`.
    #[inline(always)]
    unsafe fn substitute_upwards(&mut self, above: *mut f64) {
        let zero = V::splat(0.0);
        let mut z = [zero; PACKS];
        for k in (0..self.diag.len()).rev() {
            for p in 0..PACKS {
                // SAFETY: the caller's promise.
                unsafe {
                    let place = above.add((k * PACKS + p) * V::W);
                    z[p] = self.next(p, k, -(V::load(place) * z[p]));
                    self.norm[p] = z[p].mul_add(z[p], self.norm[p]);
                    z[p].store(place);
                }
            }
        }
    }

    /// Replace the ratios by z in the rows below the twisted row, and by 0 in the twisted row and above.
    ///
    /// # Safety
    /// [`eliminate_upwards`](Self::eliminate_upwards) wrote `below`.
    #[inline(always)]
    unsafe fn substitute_downwards(&mut self, below: *mut f64) {
        let zero = V::splat(0.0);
        let mut z = [zero; PACKS];
        for k in 0..self.diag.len() {
            let row = V::splat(k as f64);
            for p in 0..PACKS {
                // SAFETY: the caller's promise. Row 0 is not written, and its value is not used.
                unsafe {
                    let place = below.add((k * PACKS + p) * V::W);
                    let ratio = if k > 0 { V::load(place) } else { zero };
                    z[p] = self.next(p, k, -(ratio * z[p]));
                    let entry = V::select(row.gt(self.row[p]), z[p], zero);
                    self.norm[p] = entry.mul_add(entry, self.norm[p]);
                    entry.store(place);
                }
            }
        }
    }

    /// Return 1 in the twisted row, and otherwise `z`, or 0 if |z| is below [`FAINT`].
    #[inline(always)]
    fn next(&self, p: usize, k: usize, z: V) -> V {
        let twisted = V::splat(0.5).gt((V::splat(k as f64) - self.row[p]).abs());
        let seen = V::select(z.abs().gt(V::splat(FAINT)), z, V::splat(0.0));
        V::select(twisted, V::splat(1.0), seen)
    }

    /// Return 1 / ‖z‖, and store residuals and corrections in `numbers`.
    #[inline(always)]
    fn results(&self, numbers: &mut [[f64; MOST]; 2]) -> [V; PACKS] {
        let mut scale = [V::splat(0.0); PACKS];
        for p in 0..PACKS {
            scale[p] = self.norm[p].sqrt().recip();
            // SAFETY: the rows of `numbers` have room for `PACKS` vectors.
            unsafe {
                (self.gamma[p].abs() * scale[p]).store(numbers[0].as_mut_ptr().add(p * V::W));
                (self.gamma[p] * scale[p] * scale[p]).store(numbers[1].as_mut_ptr().add(p * V::W));
            }
        }
        scale
    }
}

/// Replace a pivot with a modulus below [`GUARD`] by [`GUARD`].
#[inline(always)]
fn guarded<V: Lanes<Real = f64>>(pivot: V) -> V {
    let guard = V::splat(GUARD);
    V::select(guard.gt(pivot.abs()), guard, pivot)
}

/// Write (above + below)·scale of pack p to `out`, transposed. The first `lanes` lanes become rows.
///
/// # Safety
/// `above` and `below` have n rows of [`PACKS`] vectors. `out` has `lanes` rows of n numbers.
#[inline(always)]
unsafe fn gather<V: Lanes<Real = f64>>(
    (above, below): (*const f64, *const f64),
    p: usize,
    scale: V,
    (out, lanes): (&mut [f64], usize),
) {
    let n = out.len() / lanes;
    let whole = if lanes == V::W { n / 4 * 4 } else { 0 };
    // SAFETY: the caller's promise.
    unsafe {
        for k in (0..whole).step_by(4) {
            let mut columns = [scale; 4];
            for j in 0..4 {
                let place = ((k + j) * PACKS + p) * V::W;
                columns[j] = (V::load(above.add(place)) + V::load(below.add(place))) * scale;
            }
            V::store_columns(columns, out.as_mut_ptr().add(k), n);
        }
        for k in whole..n {
            let place = (k * PACKS + p) * V::W;
            let mut row = [0.0; 16];
            ((V::load(above.add(place)) + V::load(below.add(place))) * scale).store(row.as_mut_ptr());
            for lane in 0..lanes {
                out[lane * n + k] = row[lane];
            }
        }
    }
}
