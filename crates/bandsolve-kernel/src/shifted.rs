//! Sums of solves of one tridiagonal matrix with many shifts: each SIMD lane has its own shift.
//!
//! Row k of the matrix R is −subₖ vₖ₋₁ + (subₖ + supₖ + gapₖ) vₖ − supₖ vₖ₊₁. The elimination stores the
//! excess tₖ of the diagonal over the couplings of a row. No cancellation occurs if shifts and gaps are small:
//!
//! ```text
//! tₖ = gapₖ + λ + subₖ tₖ₋₁ rₖ₋₁     rₖ = 1 / (tₖ + supₖ)
//! gₖ ← gₖ + subₖ rₖ₋₁ gₖ₋₁           vₖ = rₖ (gₖ + supₖ vₖ₊₁)
//! ```
//!
//! A *pack* is a vector of shifts with its right-hand sides. Each step depends on the step before, so [`ShiftedSweep`]
//! processes several packs at the same time to hide the latency.

use crate::{Job, Lanes, RealScalar, Scalar, Simd};

/// Maximum number of input rows of a pack.
pub const MAX_INS: usize = 6;
/// Maximum number of output rows of a pack.
pub const MAX_OUTS: usize = 3;
/// Maximum number of lanes of a vector.
const WIDEST: usize = 16;

/// The matrix along a line.
#[derive(Clone, Copy)]
pub struct LineRows<'a, R> {
    /// The coupling of each row with the previous one. The first entry couples with a point outside of the line.
    pub sub: &'a [R],
    /// The coupling of each row with the next one. The last entry couples with a point outside of the line.
    pub sup: &'a [R],
    /// The excess of the diagonal entry of each row over its couplings.
    pub gap: &'a [R],
    /// Whether all rows are equal, and symmetric.
    pub uniform: bool,
}

/// The shifts for the lanes of a vector, the sources of their right-hand sides, and the destinations of the sums.
///
/// outₒ = Σⱼ weightₒⱼ (R + λⱼ)⁻¹ Σₛ coefficientₛⱼ inₛ
#[derive(Clone, Copy)]
pub struct ShiftedPack<R> {
    /// λⱼ, one per lane.
    pub roots: *const R,
    /// The coefficients of input s begin at offset s·`stride`.
    pub coefficients: *const R,
    /// The weights of output o begin at offset o·`stride`.
    pub weights: *const R,
    /// Distance from one input or output to the next.
    pub stride: usize,
    /// Input rows of n numbers.
    pub ins: [*const R; MAX_INS],
    /// Output rows of n numbers, which can be inputs too.
    pub outs: [*mut R; MAX_OUTS],
}

/// Number of packs that are processed at the same time to hide the latency of a step.
pub const fn packs(lanes: usize) -> usize {
    if lanes <= 4 { 4 } else { 2 }
}

/// Solves with [`packs`] packs.
pub struct ShiftedSweep<'a, R> {
    pub rows: LineRows<'a, R>,
    /// The shift that is added to all roots.
    pub shift: R,
    /// Number of input rows of each pack.
    pub ins: usize,
    /// Number of output rows of each pack.
    pub outs: usize,
    pub packs: &'a [ShiftedPack<R>],
    /// Whether all packs share the right-hand side and the sum of the first pack.
    pub together: bool,
    /// Add the sums to the contents of the output.
    pub add: bool,
    /// Memory for [`work`](ShiftedSweep::work) numbers.
    pub work: &'a mut [R],
}

impl<R: RealScalar> ShiftedSweep<'_, R> {
    /// Length of the working memory for lines of n rows.
    pub fn work(n: usize, simd: Simd) -> usize {
        let lanes = R::lanes(simd);
        2 * n * lanes * packs(lanes)
    }
}

impl<R: RealScalar> Job<R> for ShiftedSweep<'_, R> {
    type Output = ();
    #[inline(always)]
    fn run<V: Lanes<Real = R>>(self) {
        assert!(self.packs.len() == packs(V::W) && self.work.len() >= 2 * self.rows.gap.len() * V::W * packs(V::W));
        if const { packs(V::W) == 4 } {
            self.side_by_side::<V, 4>();
        } else {
            self.side_by_side::<V, 2>();
        }
    }
}

/// Call a function with a value as its constant.
macro_rules! constant {
    ($value:expr, $self:ident.$name:ident::<$v:ident, $p:ident, _, $a:literal, $b:literal>$arguments:tt: $($n:literal)*) => {
        match $value {
            $($n => $self.$name::<$v, $p, $n, $a, $b>$arguments,)*
            _ => unreachable!("more rows than a pack has"),
        }
    };
}

impl<R: RealScalar> ShiftedSweep<'_, R> {
    #[inline(always)]
    fn side_by_side<V: Lanes<Real = R>, const P: usize>(mut self) {
        let n = self.rows.gap.len();
        if n == 0 {
            return;
        }
        let (pivots, g) = self.work.split_at_mut(n * P * V::W);
        let (pivots, g) = (pivots.as_mut_ptr(), g.as_mut_ptr());
        // SAFETY: `work` has room for n rows of P vectors, twice. The pointers of each pack are valid for `ins` and
        // `outs` rows.
        unsafe {
            let stored = match (self.rows.uniform, self.same_roots::<P>()) {
                (true, true) => self.uniform_pivots::<V, P, 1>(pivots),
                (true, false) => self.uniform_pivots::<V, P, P>(pivots),
                (false, true) => self.pivots::<V, P, 1>(pivots),
                (false, false) => self.pivots::<V, P, P>(pivots),
            };
            match (self.rows.uniform, self.together) {
                (true, true) => {
                    constant!(self.ins, self.forward::<V, P, _, true, true>(pivots, g, stored): 1 2 3 4 5 6);
                    constant!(self.outs, self.backward::<V, P, _, true, true>(pivots, g, stored): 1 2 3);
                }
                (true, false) => {
                    constant!(self.ins, self.forward::<V, P, _, true, false>(pivots, g, stored): 1 2 3 4 5 6);
                    constant!(self.outs, self.backward::<V, P, _, true, false>(pivots, g, stored): 1 2 3);
                }
                (false, true) => {
                    constant!(self.ins, self.forward::<V, P, _, false, true>(pivots, g, stored): 1 2 3 4 5 6);
                    constant!(self.outs, self.backward::<V, P, _, false, true>(pivots, g, stored): 1 2 3);
                }
                (false, false) => {
                    constant!(self.ins, self.forward::<V, P, _, false, false>(pivots, g, stored): 1 2 3 4 5 6);
                    constant!(self.outs, self.backward::<V, P, _, false, false>(pivots, g, stored): 1 2 3);
                }
            }
        }
    }

    /// Whether all packs have the same roots.
    #[inline(always)]
    fn same_roots<const P: usize>(&self) -> bool {
        let mut same = true;
        for p in 1..P {
            same &= self.packs[p].roots == self.packs[0].roots;
        }
        same
    }

    /// Compute rₖ of all rows in units of the coupling, up to the first row from which on they are constant. Returns
    /// their number.
    ///
    /// # Safety
    /// There is room for n rows of P vectors.
    #[inline(always)]
    unsafe fn uniform_pivots<V: Lanes<Real = R>, const P: usize, const D: usize>(&mut self, pivots: *mut R) -> usize {
        let (n, one, by) = (self.rows.gap.len(), V::splat(R::ONE), R::ONE / self.rows.sub[0]);
        // SAFETY: the caller's promise.
        unsafe {
            let (mut lambda, mut t) = ([one; D], [one; D]);
            for p in 0..D {
                let roots = V::load(self.packs[p].roots) + V::splat(self.rows.gap[0] + self.shift);
                lambda[p] = roots * V::splat(by);
                t[p] = lambda[p] + one;
            }
            for k in 0..n {
                let mut still = true;
                for p in 0..D {
                    let r = (t[p] + one).recip();
                    r.store(pivots.add((k * P + p) * V::W));
                    let next = t[p].mul_add(r, lambda[p]);
                    still &= next.equal_bits(t[p]) == (1 << V::W) - 1;
                    t[p] = next;
                }
                repeat::<V>(pivots.add(k * P * V::W), D..P);
                if still {
                    return k + 1;
                }
            }
        }
        n
    }

    /// Compute rₖ of all rows. A zero pivot gives 0; only the last pivot of a singular matrix is zero. Returns the
    /// number of rows.
    ///
    /// # Safety
    /// There is room for n rows of P vectors.
    #[inline(always)]
    unsafe fn pivots<V: Lanes<Real = R>, const P: usize, const D: usize>(&mut self, pivots: *mut R) -> usize {
        let LineRows { sub, sup, gap, .. } = self.rows;
        let (one, zero) = (V::splat(R::ONE), V::splat(R::ZERO));
        // SAFETY: the caller's promise; all three arrays have n entries.
        unsafe {
            let (mut lambda, mut share) = ([zero; D], [one; D]);
            for p in 0..D {
                lambda[p] = V::load(self.packs[p].roots) + V::splat(self.shift);
            }
            for k in 0..gap.len() {
                let (sub, sup, gap) = (V::splat(sub[k]), V::splat(sup[k]), V::splat(gap[k]));
                for p in 0..D {
                    let t = sub.mul_add(share[p], gap + lambda[p]);
                    let pivot = t + sup;
                    let r = V::select(pivot.abs().gt(zero), pivot.recip(), zero);
                    r.store(pivots.add((k * P + p) * V::W));
                    share[p] = t * r;
                }
                repeat::<V>(pivots.add(k * P * V::W), D..P);
            }
        }
        gap.len()
    }

    /// Eliminate the right-hand sides downwards.
    ///
    /// # Safety
    /// `pivots` contains `stored` rows, `g` has room for n rows of P vectors, and packs have S inputs.
    #[inline(always)]
    unsafe fn forward<V: Lanes<Real = R>, const P: usize, const S: usize, const UNIFORM: bool, const TOGETHER: bool>(
        &mut self,
        pivots: *const R,
        g: *mut R,
        stored: usize,
    ) {
        let (n, zero) = (self.rows.gap.len(), V::splat(R::ZERO));
        let (mut coefficients, mut ins) = ([[zero; P]; S], [[core::ptr::null::<R>(); P]; S]);
        // SAFETY: the caller's promise.
        unsafe {
            for p in 0..P {
                for s in 0..S {
                    coefficients[s][p] = V::load(self.packs[p].coefficients.add(s * self.packs[p].stride));
                    ins[s][p] = self.packs[if TOGETHER { 0 } else { p }].ins[s];
                }
            }
            let (mut last, mut r) = ([zero; P], [zero; P]);
            for k in 0..n {
                if !UNIFORM {
                    let sub = V::splat(self.rows.sub[k]);
                    for p in 0..P {
                        r[p] = r[p] * sub;
                    }
                }
                let mut now = [zero; P];
                for s in 0..S {
                    let mut value = V::splat(*ins[s][0].add(k));
                    for p in 0..P {
                        if !TOGETHER && p > 0 {
                            value = V::splat(*ins[s][p].add(k));
                        }
                        now[p] =
                            if s == 0 { value * coefficients[s][p] } else { value.mul_add(coefficients[s][p], now[p]) };
                    }
                }
                for p in 0..P {
                    last[p] = r[p].mul_add(last[p], now[p]);
                    last[p].store(g.add((k * P + p) * V::W));
                }
                if !UNIFORM || k < stored {
                    for p in 0..P {
                        r[p] = V::load(pivots.add((k * P + p) * V::W));
                    }
                }
            }
        }
    }

    /// Substitute upwards, and compute the sums.
    ///
    /// # Safety
    /// As [`forward`](Self::forward), which wrote `g`; packs have O outputs.
    #[inline(always)]
    unsafe fn backward<
        V: Lanes<Real = R>,
        const P: usize,
        const O: usize,
        const UNIFORM: bool,
        const TOGETHER: bool,
    >(
        &mut self,
        pivots: *const R,
        g: *const R,
        stored: usize,
    ) {
        let (n, zero) = (self.rows.gap.len(), V::splat(R::ZERO));
        let unit = V::splat(if UNIFORM { R::ONE / self.rows.sub[0] } else { R::ONE });
        let (mut weights, mut v, mut r) = ([[zero; P]; O], [zero; P], [zero; P]);
        // W vectors of products for each output and pack.
        let mut block = [[core::mem::MaybeUninit::<[R; WIDEST * WIDEST]>::uninit(); P]; O];
        let block = block.as_mut_ptr().cast::<R>();
        // SAFETY: the caller's promise; `block` has room for O·P·W vectors, and results that depend on unwritten
        // vectors are not used.
        unsafe {
            for p in 0..P {
                for o in 0..O {
                    weights[o][p] = V::load(self.packs[p].weights.add(o * self.packs[p].stride)) * unit;
                }
                r[p] = V::load(pivots.add(((stored - 1) * P + p) * V::W));
            }
            for k in (0..n).rev() {
                if !UNIFORM || k < stored {
                    for p in 0..P {
                        r[p] = V::load(pivots.add((k * P + p) * V::W));
                    }
                }
                for p in 0..P {
                    let ratio = if UNIFORM { r[p] } else { r[p] * V::splat(self.rows.sup[k]) };
                    v[p] = ratio.mul_add(v[p], r[p] * V::load(g.add((k * P + p) * V::W)));
                }
                let row = k % V::W;
                for o in 0..O {
                    let mut sum = weights[o][0] * v[0];
                    for p in 1..P {
                        if TOGETHER {
                            sum = weights[o][p].mul_add(v[p], sum);
                        } else {
                            (weights[o][p] * v[p]).store(block.add(((o * P + p) * V::W + row) * V::W));
                        }
                    }
                    sum.store(block.add((o * P * V::W + row) * V::W));
                }
                if row == 0 {
                    let count = V::W.min(n - k);
                    for p in 0..if TOGETHER { 1 } else { P } {
                        for o in 0..O {
                            let values = block.add((o * P + p) * V::W * V::W);
                            add_lanes::<V>(values, self.packs[p].outs[o].add(k), (count, self.add));
                        }
                    }
                }
            }
        }
    }
}

/// Copy the first vector to the vectors of `places`.
///
/// # Safety
/// All these vectors are writable.
#[inline(always)]
unsafe fn repeat<V: Lanes>(vectors: *mut V::Real, places: core::ops::Range<usize>) {
    // SAFETY: the caller's promise.
    unsafe {
        let first = V::load(vectors);
        for p in places {
            first.store(vectors.add(p * V::W));
        }
    }
}

/// Sum the lanes of each of W vectors, and write or add the first `count` sums to `out`.
///
/// # Safety
/// W vectors are readable, `count` numbers writable.
#[inline(always)]
unsafe fn add_lanes<V: Lanes>(vectors: *const V::Real, out: *mut V::Real, (count, add): (usize, bool)) {
    // SAFETY: the caller's promise.
    unsafe {
        let mut sum = V::splat(<V::Real as Scalar>::ZERO);
        for first in (0..V::W).step_by(4) {
            if V::W < 4 {
                break;
            }
            let [a, b, c, d] = V::load_columns(vectors.add(first), V::W);
            sum = sum + ((a + b) + (c + d));
        }
        if V::W == 2 {
            let [a, b] = V::load(vectors).interleave(V::load(vectors.add(2)));
            sum = a + b;
        }
        if count == V::W {
            if add {
                sum = sum + V::load(out);
            }
            sum.store(out);
        } else {
            if add {
                sum = sum + V::load_first(out, count);
            }
            sum.store_first(out, count);
        }
    }
}

/// Maximum number of rows in a sum.
pub const MAX_SUM: usize = 8;

/// out = (`keep`: out +) Σ c·row, summed in pairs.
pub struct ScaledRowSum<'a, R> {
    pub out: *mut R,
    pub keep: bool,
    /// Rows of n numbers, at most [`MAX_SUM`]. A row can be `out`.
    pub rows: &'a [(*const R, R)],
    pub n: usize,
}

impl<R: RealScalar> Job<R> for ScaledRowSum<'_, R> {
    type Output = ();
    #[inline(always)]
    fn run<V: Lanes<Real = R>>(self) {
        // SAFETY: `out` and all rows have n numbers.
        unsafe {
            match (self.rows.len(), self.keep) {
                (0, true) => (),
                (0, false) => self.sum::<V, 0, false>(),
                (1, false) => self.sum::<V, 1, false>(),
                (1, true) => self.sum::<V, 1, true>(),
                (2, false) => self.sum::<V, 2, false>(),
                (2, true) => self.sum::<V, 2, true>(),
                (3 | 4, false) => self.sum::<V, 4, false>(),
                (3 | 4, true) => self.sum::<V, 4, true>(),
                (_, false) => self.sum::<V, MAX_SUM, false>(),
                (_, true) => self.sum::<V, MAX_SUM, true>(),
            }
        }
    }
}

impl<R: RealScalar> ScaledRowSum<'_, R> {
    /// Sum N rows. Missing rows are replaced by the first one times 0.
    ///
    /// # Safety
    /// `out` and all rows have n numbers.
    #[inline(always)]
    unsafe fn sum<V: Lanes<Real = R>, const N: usize, const KEEP: bool>(&self) {
        let (n, zero) = (self.n, V::splat(R::ZERO));
        let (mut rows, mut by) = ([core::ptr::null::<R>(); N], [zero; N]);
        for i in 0..N {
            let given = i < self.rows.len();
            rows[i] = self.rows[if given { i } else { 0 }].0;
            by[i] = if given { V::splat(self.rows[i].1) } else { zero };
        }
        // SAFETY: the caller's promise; each vector is read before it is written.
        unsafe {
            let whole = n / V::W * V::W;
            for k in (0..whole).step_by(V::W) {
                let mut terms = [zero; N];
                for i in 0..N {
                    terms[i] = V::load(rows[i].add(k)) * by[i];
                }
                let sum = in_pairs(terms);
                (if KEEP { V::load(self.out.add(k)) + sum } else { sum }).store(self.out.add(k));
            }
            let rest = n - whole;
            if rest > 0 {
                let mut terms = [zero; N];
                for i in 0..N {
                    terms[i] = V::load_first(rows[i].add(whole), rest) * by[i];
                }
                let (sum, out) = (in_pairs(terms), self.out.add(whole));
                (if KEEP { V::load_first(out, rest) + sum } else { sum }).store_first(out, rest);
            }
        }
    }
}

/// Sum all terms in pairs.
#[inline(always)]
fn in_pairs<V: Lanes, const N: usize>(mut terms: [V; N]) -> V {
    if N == 0 {
        return V::splat(<V::Real as Scalar>::ZERO);
    }
    let mut half = N / 2;
    while half > 0 {
        for i in 0..half {
            terms[i] = terms[i] + terms[i + half];
        }
        half /= 2;
    }
    terms[0]
}
