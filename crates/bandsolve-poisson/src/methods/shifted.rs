//! Sums of solves of one tridiagonal matrix with many shifts: in every SIMD lane a shift.
//!
//! Row k of the matrix R is −sub_k v_{k−1} + (sub_k + sup_k + gap_k) v_k − sup_k v_{k+1}. Elimination keeps what a row has beyond its
//! couplings, so that nothing cancels where shifts and gaps are small:
//!
//! t_k = gap_k + λ + sub_k t_{k−1} r_{k−1}, r_k = 1 / (t_k + sup_k), g_k ← g_k + sub_k r_{k−1} g_{k−1}, v_k = r_k (g_k + sup_k v_{k+1}).
//!
//! A *pack* is a vector of shifts with its right-hand sides; [`ShiftedSweep`] goes through a few of them side by side, since every
//! step waits for the one before.

use bandsolve_kernel::{Job, Lanes, RealScalar, Scalar, Simd};

/// Input rows of a pack at most.
pub const MAX_INS: usize = 6;
/// Output rows of a pack at most.
pub const MAX_OUTS: usize = 3;
/// Most numbers of a vector.
const WIDEST: usize = 16;

/// The matrix along a line.
#[derive(Clone, Copy)]
pub struct LineRows<'a, R> {
    /// What couples a row to the one before; that of the first row leads outside.
    pub sub: &'a [R],
    /// What couples a row to the next; that of the last row leads outside.
    pub sup: &'a [R],
    /// What a row has on its diagonal beyond its couplings.
    pub gap: &'a [R],
    /// All rows are the same, and symmetric.
    pub uniform: bool,
}

/// Shifts for the lanes of a vector, where their right-hand sides come from, and where the sums go.
///
/// out_o = Σ_j weight_{o,j} (R + λ_j)⁻¹ Σ_s coefficient_{s,j} in_s
#[derive(Clone, Copy)]
pub struct ShiftedPack<R> {
    /// λ_j, one a lane.
    pub roots: *const R,
    /// Those of input s begin s·`stride` further.
    pub coefficients: *const R,
    /// Those of output o begin o·`stride` further.
    pub weights: *const R,
    /// Numbers from one input or output to the next.
    pub stride: usize,
    /// Rows of n numbers.
    pub ins: [*const R; MAX_INS],
    /// Rows of n numbers, which may be inputs, too.
    pub outs: [*mut R; MAX_OUTS],
}

/// Packs side by side: as many as hide how long one step takes.
pub const fn packs(lanes: usize) -> usize {
    if lanes <= 4 { 4 } else { 2 }
}

/// Solves with [`packs`] packs.
pub struct ShiftedSweep<'a, R> {
    pub rows: LineRows<'a, R>,
    /// Added to all roots.
    pub shift: R,
    /// Input rows of each pack.
    pub ins: usize,
    /// Output rows of each pack.
    pub outs: usize,
    pub packs: &'a [ShiftedPack<R>],
    /// The packs have one right-hand side and one sum, those of the first; else each its own.
    pub together: bool,
    /// Sums are added to what is there.
    pub add: bool,
    /// [`work`](ShiftedSweep::work) numbers.
    pub work: &'a mut [R],
}

impl<R: RealScalar> ShiftedSweep<'_, R> {
    /// Numbers of work memory for lines of n rows.
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

/// Calls a function with a number as its constant.
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
        // SAFETY: `work` has room for n rows of P vectors, twice; packs hold what their fields promise, which `ins` and `outs` count.
        unsafe {
            match (self.rows.uniform, self.together) {
                (true, true) => {
                    let kept = self.uniform_pivots::<V, P>(pivots);
                    constant!(self.ins, self.forward::<V, P, _, true, true>(pivots, g, kept): 1 2 3 4 5 6);
                    constant!(self.outs, self.backward::<V, P, _, true, true>(pivots, g, kept): 1 2 3);
                }
                (true, false) => {
                    let kept = self.uniform_pivots::<V, P>(pivots);
                    constant!(self.ins, self.forward::<V, P, _, true, false>(pivots, g, kept): 1 2 3 4 5 6);
                    constant!(self.outs, self.backward::<V, P, _, true, false>(pivots, g, kept): 1 2 3);
                }
                (false, true) => {
                    self.pivots::<V, P>(pivots);
                    constant!(self.ins, self.forward::<V, P, _, false, true>(pivots, g, n): 1 2 3 4 5 6);
                    constant!(self.outs, self.backward::<V, P, _, false, true>(pivots, g, n): 1 2 3);
                }
                (false, false) => {
                    self.pivots::<V, P>(pivots);
                    constant!(self.ins, self.forward::<V, P, _, false, false>(pivots, g, n): 1 2 3 4 5 6);
                    constant!(self.outs, self.backward::<V, P, _, false, false>(pivots, g, n): 1 2 3);
                }
            }
        }
    }

    /// r_k of all rows, in units of the coupling, up to the first from which on they stay the same; how many.
    ///
    /// # Safety
    /// Room for n rows of P vectors.
    #[inline(always)]
    unsafe fn uniform_pivots<V: Lanes<Real = R>, const P: usize>(&mut self, pivots: *mut R) -> usize {
        let (n, one, by) = (self.rows.gap.len(), V::splat(R::ONE), R::ONE / self.rows.sub[0]);
        // SAFETY: the caller's promise.
        unsafe {
            let (mut lambda, mut t) = ([one; P], [one; P]);
            for p in 0..P {
                let roots = V::load(self.packs[p].roots) + V::splat(self.rows.gap[0] + self.shift);
                lambda[p] = roots * V::splat(by);
                t[p] = lambda[p] + one;
            }
            for k in 0..n {
                let mut still = true;
                for p in 0..P {
                    let r = (t[p] + one).recip();
                    r.store(pivots.add((k * P + p) * V::W));
                    let next = t[p].mul_add(r, lambda[p]);
                    still &= next.equal_bits(t[p]) == (1 << V::W) - 1;
                    t[p] = next;
                }
                if still {
                    return k + 1;
                }
            }
        }
        n
    }

    /// r_k of all rows; 0 for a pivot that is 0, which only the last one of a singular matrix is.
    ///
    /// # Safety
    /// Room for n rows of P vectors.
    #[inline(always)]
    unsafe fn pivots<V: Lanes<Real = R>, const P: usize>(&mut self, pivots: *mut R) {
        let LineRows { sub, sup, gap, .. } = self.rows;
        let (one, zero) = (V::splat(R::ONE), V::splat(R::ZERO));
        // SAFETY: the caller's promise; all three arrays have n entries.
        unsafe {
            let (mut lambda, mut share) = ([zero; P], [one; P]);
            for p in 0..P {
                lambda[p] = V::load(self.packs[p].roots) + V::splat(self.shift);
            }
            for k in 0..gap.len() {
                let (sub, sup, gap) = (V::splat(sub[k]), V::splat(sup[k]), V::splat(gap[k]));
                for p in 0..P {
                    let t = sub.mul_add(share[p], gap + lambda[p]);
                    let pivot = t + sup;
                    let r = V::select(pivot.abs().gt(zero), pivot.recip(), zero);
                    r.store(pivots.add((k * P + p) * V::W));
                    share[p] = t * r;
                }
            }
        }
    }

    /// Right-hand sides, eliminated downwards.
    ///
    /// # Safety
    /// `pivots` are those of `kept` rows; room for n rows of P vectors in `g`; packs have S inputs.
    #[inline(always)]
    unsafe fn forward<V: Lanes<Real = R>, const P: usize, const S: usize, const UNIFORM: bool, const TOGETHER: bool>(
        &mut self,
        pivots: *const R,
        g: *mut R,
        kept: usize,
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
                if !UNIFORM || k < kept {
                    for p in 0..P {
                        r[p] = V::load(pivots.add((k * P + p) * V::W));
                    }
                }
            }
        }
    }

    /// Substitution upwards, and the sums.
    ///
    /// # Safety
    /// As [`forward`](Self::forward), which has written `g`; packs have O outputs.
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
        kept: usize,
    ) {
        let (n, zero) = (self.rows.gap.len(), V::splat(R::ZERO));
        let unit = V::splat(if UNIFORM { R::ONE / self.rows.sub[0] } else { R::ONE });
        let (mut weights, mut v, mut r) = ([[zero; P]; O], [zero; P], [zero; P]);
        // W vectors of products, for each output and pack.
        let mut block = [[core::mem::MaybeUninit::<[R; WIDEST * WIDEST]>::uninit(); P]; O];
        let block = block.as_mut_ptr().cast::<R>();
        // SAFETY: the caller's promise; `block` has room for O·P·W vectors, and what is read of them beyond what was written is not
        // used.
        unsafe {
            for p in 0..P {
                for o in 0..O {
                    weights[o][p] = V::load(self.packs[p].weights.add(o * self.packs[p].stride)) * unit;
                }
                r[p] = V::load(pivots.add(((kept - 1) * P + p) * V::W));
            }
            for k in (0..n).rev() {
                if !UNIFORM || k < kept {
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
                            let own = block.add((o * P + p) * V::W * V::W);
                            add_lanes::<V>(own, self.packs[p].outs[o].add(k), (count, self.add));
                        }
                    }
                }
            }
        }
    }
}

/// The sums of the lanes of W vectors; of the first `count` of them to `out`, added or not.
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

/// out = (`keep`: out +) Σ c·row, eight rows at a time summed in pairs.
pub struct RowSum<'a, R> {
    pub out: *mut R,
    pub keep: bool,
    /// Rows of n numbers, one after the other.
    pub from: *const R,
    /// How many there are; others are left out.
    pub valid: usize,
    /// Numbers of rows, counted from row `first` on, each with its c.
    pub rows: &'a [(isize, R)],
    pub first: isize,
    pub n: usize,
}

impl<R: RealScalar> Job<R> for RowSum<'_, R> {
    type Output = ();
    #[inline(always)]
    fn run<V: Lanes<Real = R>>(self) {
        let zero = V::splat(R::ZERO);
        // SAFETY: `out` and all rows have n numbers; a vector is read before it is written.
        unsafe {
            for k in (0..self.n).step_by(V::W) {
                let count = V::W.min(self.n - k);
                let mut sum = if self.keep { load_some::<V>(self.out.add(k), count) } else { zero };
                for begin in (0..self.rows.len()).step_by(8) {
                    let mut terms = [zero; 8];
                    for i in 0..8.min(self.rows.len() - begin) {
                        let (row, by) = self.rows[begin + i];
                        let row = (self.first + row) as usize;
                        if row < self.valid {
                            terms[i] = load_some::<V>(self.from.add(row * self.n + k), count) * V::splat(by);
                        }
                    }
                    let [a, b, c, d, e, f, g, h] = terms;
                    sum = sum + (((a + b) + (c + d)) + ((e + f) + (g + h)));
                }
                if count == V::W { sum.store(self.out.add(k)) } else { sum.store_first(self.out.add(k), count) }
            }
        }
    }
}

/// # Safety
/// `count` ≤ W numbers are readable.
#[inline(always)]
unsafe fn load_some<V: Lanes>(p: *const V::Real, count: usize) -> V {
    // SAFETY: the caller's promise.
    unsafe { if count == V::W { V::load(p) } else { V::load_first(p, count) } }
}
