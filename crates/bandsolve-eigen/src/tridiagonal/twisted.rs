//! Eigenvectors by twisted factorisations: in every SIMD lane a shift.
//!
//! Elimination of T − λI from above has the pivots p_k = d_k − λ − e²_{k−1} / p_{k−1}, from below q_k = d_k − λ − e²_k / q_{k+1}. Both meet in
//! row k with γ_k = p_k + q_k − (d_k − λ). The vector z with z_k = 1, z_{j−1} = −(e_{j−1} / p_{j−1}) z_j above and
//! z_{j+1} = −(e_j / q_{j+1}) z_j below has (T − λI) z = γ_k e_k: the k with the smallest |γ_k| is taken, and λ + γ_k / ‖z‖² is the Rayleigh
//! quotient of z. All other rows hold to rounding, however large a pivot gets.

use bandsolve_kernel::{Job, Kernels, Lanes, Simd, dispatch};

/// Vectors of shifts side by side.
const PACKS: usize = 2;
/// Most shifts of a job.
pub const MOST: usize = PACKS * 16;
/// Added to a pivot that is smaller: far below the rounding of a matrix whose largest entry is in [1, 2).
const GUARD: f64 = f64::from_bits((1023 - 110) << 52);
/// What is smaller is zero: numbers that decay further would become subnormal, which costs time.
const FAINT: f64 = f64::from_bits((1023 - 900) << 52);

/// Shifts that a call takes.
pub fn twisted_lanes(simd: Simd) -> usize {
    PACKS * f64::lanes(simd)
}

/// Vectors for at most [`twisted_lanes`] shifts.
pub struct TwistedVectors<'a> {
    pub diag: &'a [f64],
    pub off: &'a [f64],
    /// λ, one a vector.
    pub shifts: &'a [f64],
    /// A row of n numbers a vector; they get norm 1.
    pub out: &'a mut [f64],
    /// 2·n·[`twisted_lanes`] numbers.
    pub work: &'a mut [f64],
}

/// What is known of a vector.
#[derive(Debug, Clone, Copy, Default)]
pub struct TwistedResult {
    /// ‖(T − λI) z‖ / ‖z‖
    pub residual: f64,
    /// γ / ‖z‖²: how far the Rayleigh quotient is from λ.
    pub correction: f64,
}

impl TwistedVectors<'_> {
    /// Computes the vectors.
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

/// What the passes have in common.
struct Twist<'a, V> {
    diag: &'a [f64],
    off: &'a [f64],
    shift: [V; PACKS],
    /// The smallest |γ|, with its sign, and its row.
    gamma: [V; PACKS],
    row: [V; PACKS],
    /// ‖z‖²
    norm: [V; PACKS],
}

impl<'a, V: Lanes<Real = f64>> Twist<'a, V> {
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

    /// e_k / q_{k+1} to row k + 1 of `below`.
    ///
    /// # Safety
    /// Room for n rows.
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

    /// e_k / p_k to row k of `above`; γ and its row.
    ///
    /// # Safety
    /// Room for n rows; `below` is what [`eliminate_upwards`](Self::eliminate_upwards) wrote.
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
                // SAFETY: the caller's promise; row k + 1 is there if it is read.
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

    /// z of the twisted row and those above it, 0 below, in place of the ratios.
    ///
    /// # Safety
    /// `above` is what [`eliminate_downwards`](Self::eliminate_downwards) wrote.
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

    /// z of the rows below the twisted row, 0 in it and above, in place of the ratios.
    ///
    /// # Safety
    /// `below` is what [`eliminate_upwards`](Self::eliminate_upwards) wrote.
    #[inline(always)]
    unsafe fn substitute_downwards(&mut self, below: *mut f64) {
        let zero = V::splat(0.0);
        let mut z = [zero; PACKS];
        for k in 0..self.diag.len() {
            let row = V::splat(k as f64);
            for p in 0..PACKS {
                // SAFETY: the caller's promise. Row 0 was not written, and is not used.
                unsafe {
                    let place = below.add((k * PACKS + p) * V::W);
                    let ratio = if k > 0 { V::load(place) } else { zero };
                    z[p] = self.next(p, k, -(ratio * z[p]));
                    let own = V::select(row.gt(self.row[p]), z[p], zero);
                    self.norm[p] = own.mul_add(own, self.norm[p]);
                    own.store(place);
                }
            }
        }
    }

    /// 1 in the twisted row, else `z`, or 0 for what is faint.
    #[inline(always)]
    fn next(&self, p: usize, k: usize, z: V) -> V {
        let twisted = V::splat(0.5).gt((V::splat(k as f64) - self.row[p]).abs());
        let seen = V::select(z.abs().gt(V::splat(FAINT)), z, V::splat(0.0));
        V::select(twisted, V::splat(1.0), seen)
    }

    /// 1 / ‖z‖; residuals and corrections to `numbers`.
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

/// The pivot, or [`GUARD`] in place of one that is smaller.
#[inline(always)]
fn guarded<V: Lanes<Real = f64>>(pivot: V) -> V {
    let guard = V::splat(GUARD);
    V::select(guard.gt(pivot.abs()), guard, pivot)
}

/// (above + below) · scale of pack p, transposed: the first `lanes` lanes become rows.
///
/// # Safety
/// Both hold n rows of [`PACKS`] vectors, `out` has `lanes` rows of n numbers.
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
