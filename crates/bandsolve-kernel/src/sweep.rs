//! The steps of the RPTS sweeps for the rows of a tile, as functions of vectors: eliminate, choose pivots, check
//! residuals.
//!
//! # Source
//! Klein, Algorithms 1 and 2. Paper → here: a, b, c, d → sub, diag, sup, rhs; `s_p` → [`Chain`]; `s_c` → [`Row`]; `r_p`, `r_c`
//! → `of_chain`, `of_row`. `i[j]` is not stored, because the chosen pivot row is.

use crate::number::{Element, Lanes, MAX_LANES, Machine, RealScalar, Scalar};

/// An array built index by index.
///
/// The closures of `core::array::from_fn` are not inlined into the function that is compiled for the instruction set.
macro_rules! each {
    ($index:ident < $n:ident, $start:expr, $value:expr) => {{
        let mut all = [$start; $n];
        for $index in 0..$n {
            all[$index] = $value;
        }
        all
    }};
}
pub(crate) use each;

/// Maximum number of right-hand sides of a sweep.
pub const MAX_RHS: usize = 4;

/// One row of a tile.
#[derive(Clone, Copy)]
pub struct Row<E, const R: usize> {
    pub sub: E,
    pub diag: E,
    pub sup: E,
    pub rhs: [E; R],
}

/// The equation that a sweep carries through a partition.
///
/// `spike` is the coefficient of the unknown at the far end of the partition. `near` is that of the unknown that is
/// eliminated next, and `next` is that of the unknown after it.
#[derive(Clone, Copy)]
pub struct Chain<E, const R: usize> {
    pub spike: E,
    pub near: E,
    pub next: E,
    pub rhs: [E; R],
}

/// How an unknown is eliminated between the carried equation and the next row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Eliminator {
    /// By the one of the two with the larger coefficient.
    Exchange,
    /// By the carried equation, unless a 2×2 pivot begins: diagonal pivoting.
    Diagonal,
    /// By a rotation of both.
    Rotation,
}

/// The choice of pivots.
#[derive(Clone, Copy)]
pub struct Pivots<R> {
    pub eliminator: Eliminator,
    /// Rows are never exchanged.
    pub fixed: bool,
    /// Candidates up to this modulus count as zero. With 0, no candidate does.
    pub noise: R,
}

/// The pivoting rules that sweeps are compiled for.
pub mod rule {
    /// The larger candidate, or always the first.
    pub const LARGER: usize = 0;
    /// As `LARGER`, and small candidates count as zero.
    pub const NOISE: usize = 1;
    /// Always the first candidate.
    pub const FIRST: usize = 2;
    /// Pivots of one or two rows (1×1 or 2×2).
    pub const DIAGONAL: usize = 3;
    /// Rotations.
    pub const ROTATION: usize = 4;
}

/// The choice of pivots, with the same options in every lane.
#[derive(Clone, Copy)]
pub struct LanePivots<V: Lanes, const RULE: usize> {
    /// All bits are set if rows may be exchanged, otherwise none.
    free: V,
    /// A number just above the noise threshold.
    noise: V,
}

impl<V: Lanes, const RULE: usize> LanePivots<V, RULE> {
    #[inline(always)]
    pub fn new(pivots: &Pivots<V::Real>) -> Self {
        let free = if pivots.fixed { V::Real::ZERO } else { V::Real::ALL_BITS };
        Self { free: V::splat(free), noise: above_noise(pivots.noise) }
    }

    /// The candidate if rows may be exchanged, otherwise zero.
    #[inline(always)]
    pub fn if_free<E: Element<V>>(&self, candidate: E) -> E {
        candidate.and_bits(self.free)
    }

    /// Choose the larger of two pivot candidates: the chain's `near` and the `sub` of a row. If rows are fixed, choose
    /// `near`.
    ///
    /// In `substitute`, `near` is never exactly zero, so the pivot is not zero either.
    #[inline(always)]
    pub fn choose<E: Element<V>>(&self, near: E, sub: E) -> Choice<V::Mask, E> {
        let (near, sub) = self.denoise(near, sub);
        let (take, pivot) = E::pivot(near, sub.and_bits(self.free));
        Choice { take, pivot, near, sub }
    }

    /// Choose the pivot for the unknown between a chain and the next row.
    ///
    /// `was_pivot` is true if the row was the pivot row for the previous unknown.
    ///
    /// Diagonal pivoting: a 2×2 pivot begins if |b̂|·σ < κ·|a·c|. Here b̂ and c are `near` and `next` of the chain, and
    /// a is the `sub` of the row. σ is the largest modulus of c and the entries of the row. The row is then the pivot
    /// row of the first of the two unknowns. The remainder is the pivot row of the second, without a choice.
    ///
    /// In the literature, σ also contains the next `sub`. Rows are scaled to a largest entry in \[2, 4), so the next
    /// `sub` would change σ at most by a factor of 2.
    #[inline(always)]
    pub fn step<E: Element<V>, const R: usize>(
        &self,
        chain: &Chain<E, R>,
        row: &Row<E, R>,
        was_pivot: V::Mask,
    ) -> Choice<V::Mask, E> {
        if RULE == rule::DIAGONAL {
            let sigma = E::largest(row.sub, row.diag, row.sup).max(chain.next.abs1());
            let product = row.sub.abs1() * chain.next.abs1() * V::splat(V::Real::from_f64(KAPPA));
            let product = V::select(was_pivot, V::splat(V::Real::ZERO), product);
            let take = product.gt(chain.near.abs1() * sigma);
            return Choice { take, pivot: E::select(take, row.sub, chain.near), near: chain.near, sub: row.sub };
        }
        if RULE == rule::FIRST || RULE == rule::ROTATION {
            return Choice { take: was_pivot, pivot: chain.near, near: chain.near, sub: row.sub };
        }
        self.choose(chain.near, row.sub)
    }

    /// The two candidates. With the rule `NOISE`, candidates that are too small are replaced.
    #[inline(always)]
    fn denoise<E: Element<V>>(&self, near: E, sub: E) -> (E, E) {
        if RULE == rule::NOISE {
            (denoise(near, self.noise, V::Real::GUARD), denoise(sub, self.noise, V::Real::ZERO))
        } else {
            (near, sub)
        }
    }
}

/// A number just above the noise threshold, because comparisons are strict.
#[inline(always)]
pub fn above_noise<V: Lanes>(threshold: V::Real) -> V {
    V::splat(threshold + threshold * V::Real::EPSILON)
}

/// The candidate, or `instead` if the candidate is below `noise`.
#[inline(always)]
pub fn denoise<V: Lanes, E: Element<V>>(candidate: E, noise: V, instead: V::Real) -> E {
    E::select(noise.gt(candidate.abs1()), E::splat(instead), candidate)
}

/// (√5 − 1) / 2: with this constant, one 2×2 pivot allows the same growth as two 1×1 pivots.
pub const KAPPA: f64 = 0.618_033_988_749_894_8;

/// Add the residual of one row, rhs − sub·left − diag·mid − sup·right, to the checks.
///
/// `left`, `mid` and `right` are the unknowns left of, at and right of the diagonal.
#[inline(always)]
pub fn check_row<V: Lanes, E: Element<V>, const R: usize>(
    checks: &mut [Check<V>; R],
    row: &Row<E, R>,
    left: &[E; R],
    mid: &[E; R],
    right: &[E; R],
) {
    let row_sum = row.sub.measure() + row.diag.measure() + row.sup.measure();
    for r in 0..R {
        let rest = row.sup.neg_mul_add(right[r], row.rhs[r]);
        let residual = row.sub.neg_mul_add(left[r], row.diag.neg_mul_add(mid[r], rest));
        checks[r].see_row(residual.measure(), row_sum, row.rhs[r].measure());
    }
}

impl<E: Copy, const R: usize> Row<E, R> {
    /// The row for a sweep towards row 0.
    #[inline(always)]
    pub fn reversed(self) -> Self {
        Self { sub: self.sup, sup: self.sub, ..self }
    }
}

/// The choice of a pivot: `take` the row as pivot row, or keep the chain.
#[derive(Clone, Copy)]
pub struct Choice<M, E> {
    pub take: M,
    /// The larger candidate, which is the divisor.
    pub pivot: E,
    /// The two candidates.
    near: E,
    sub: E,
}

impl<E: Copy, const R: usize> Chain<E, R> {
    /// The chain that begins with this row. `guard` prevents a zero `near`.
    #[inline(always)]
    pub fn start<V: Lanes>(row: Row<E, R>, guard: V::Real) -> Self
    where
        E: Element<V>,
    {
        Self { spike: row.sub, near: row.diag + E::splat(guard), next: row.sup, rhs: row.rhs }
    }

    /// Eliminate `near` between the chain and `row` if only the equations of the partition's ends are needed.
    ///
    /// The result is sub·chain − near·row, scaled so that the larger factor lies in \[½, 1). It equals the result of
    /// elimination with either of the two as pivot row up to a factor, and needs no division. If neither equation
    /// contains the unknown, the row remains.
    #[inline(always)]
    pub fn merge<V: Lanes, const RULE: usize>(self, row: Row<E, R>, pivots: LanePivots<V, RULE>) -> Self
    where
        E: Element<V>,
    {
        let (near, sub) = pivots.denoise(self.near, row.sub);
        let (zero, by) = (E::splat(V::Real::ZERO), E::larger(near, sub).normalizer());
        let (of_row, of_chain) = (near.scale(by), sub.scale(by));
        let near = of_row.neg_mul_add(row.diag, of_chain.mul_add(self.next, E::splat(V::Real::FAINT)));
        Self {
            // A decaying spike remains a normal number, far below the rounding errors of the other coefficients.
            spike: near.scale_add(V::splat(V::Real::GUARD), of_chain * self.spike),
            near,
            next: of_row.neg_mul_add(row.sup, zero),
            rhs: each!(r < R, zero, of_row.neg_mul_add(row.rhs[r], of_chain * self.rhs[r])),
        }
    }

    /// The largest term in the sums that [`merge`](Self::merge) with `row` computes.
    #[inline(always)]
    pub fn terms<V: Lanes>(&self, row: &Row<E, R>) -> V
    where
        E: Element<V>,
    {
        let by = E::larger(self.near, row.sub).normalizer();
        let (of_row, of_chain) = (self.near.scale(by), row.sub.scale(by));
        let of_both = E::largest(of_row * row.diag, of_chain * self.next, of_row * row.sup);
        (of_chain * self.spike).abs1().max(of_both)
    }

    /// Eliminate `near` between the chain and `row` of a scaled tile, with the given choice and 1/pivot known to 2^−13.
    ///
    /// The result is (near·row − sub·chain)/pivot. Its spike does not change, because the first unknown is already known
    /// and moved to the right-hand side. The sizes of row and chain stay correct to 2^−13, so later choices remain valid.
    #[inline(always)]
    pub fn eliminate<V: Lanes>(self, row: Row<E, R>, choice: &Choice<V::Mask, E>, recip: E) -> Self
    where
        E: Element<V>,
    {
        let guard = E::splat(V::Real::GUARD);
        let (of_row, of_chain) = (choice.near * recip, choice.sub * recip);
        Self {
            spike: self.spike,
            // This formula does not use the factors, so it does not wait for the reciprocal. All other steps wait for
            // `near`.
            near: choice.sub.neg_mul_add(self.next, choice.near * row.diag).mul_add(recip, guard),
            next: of_row * row.sup,
            rhs: each!(r < R, guard, of_chain.neg_mul_add(self.rhs[r], of_row * row.rhs[r])),
        }
    }

    /// [`eliminate`](Self::eliminate), if the spike belongs to an unknown that is not known and that the row lacks.
    #[inline(always)]
    pub fn eliminate_bordered<V: Lanes>(self, row: Row<E, R>, choice: &Choice<V::Mask, E>, recip: E) -> Self
    where
        E: Element<V>,
    {
        let chain = self.eliminate(row, choice, recip);
        // As in `merge`, a decaying spike remains a normal number.
        let faint = chain.near.scale(V::splat(V::Real::GUARD));
        Self { spike: (choice.sub * recip).neg_mul_add(self.spike, faint), ..chain }
    }
}

/// The smallest size that any step of the elimination left: of the pivot, or of the chain's larger coefficient.
///
/// Rows are scaled to a largest entry near 1. If the pivot vanishes, neither equation contains the unknown. If both
/// coefficients vanish, the chain is no longer an equation. In both cases the matrix may be singular, but a guard or
/// rounding errors would hide this.
#[derive(Clone, Copy)]
pub struct Least<V> {
    least: V,
    /// Σ 1/|pivot|² of the steps since the last [`include_reciprocals`](Self::include_reciprocals). This is one operation per step, which delays
    /// no other.
    squares: V,
}

impl<V: Lanes> Least<V> {
    /// The state before any step.
    #[inline(always)]
    pub(crate) fn new() -> Self {
        Self { least: V::splat(V::Real::ONE), squares: V::splat(V::Real::ZERO) }
    }

    /// Add the pivot of a step, given by its reciprocal. A call of [`include_reciprocals`](Self::include_reciprocals) must follow.
    #[inline(always)]
    pub fn see_reciprocal<E: Element<V>>(&mut self, recip: E) {
        self.squares = recip.square_add(self.squares);
    }

    /// Add the chain after a step.
    #[inline(always)]
    pub fn see_chain<E: Element<V>>(&mut self, near: E, next: E) {
        self.see_size(E::larger(near, next));
    }

    /// Include the reciprocals since the last call, and reset their sum.
    ///
    /// They must be of few steps, so that the sum has the size of its largest term.
    #[inline(always)]
    pub fn include_reciprocals(&mut self) {
        let (nothing, limit) = (V::splat(V::Real::ZERO), V::Real::from_f64(V::Real::NO_PIVOT.powi(-2)));
        self.least = V::select(V::splat(limit).gt(self.squares), self.least, nothing);
        self.squares = nothing;
    }

    /// Add the last step: the pivot and the chain.
    #[inline(always)]
    pub fn see_last<E: Element<V>>(&mut self, pivot: E, near: E, next: E) {
        self.see_size(E::smaller(pivot, E::larger(near, next)));
    }

    /// Add the first step of a partition.
    ///
    /// The row `above` can also contain the unknown. The chain can contain the first unknown of the partition,
    /// which is known, with the coefficient `sub`.
    #[inline(always)]
    pub fn see_first<E: Element<V>>(&mut self, (pivot, above): (E, E), (near, next, sub): (E, E, E)) {
        self.see_size(E::larger(pivot, above).min(E::largest(near, next, sub)));
    }

    /// Add the equation that remains at an end of a partition.
    ///
    /// This equation need not be scaled. It is therefore compared with the `terms` whose difference it is, and with the
    /// number that is added to zeros.
    #[inline(always)]
    pub fn see_equation<E: Element<V>, const R: usize>(&mut self, remaining: &Chain<E, R>, terms: V) {
        let (nothing, all) = (V::splat(V::Real::ZERO), V::splat(V::Real::ONE));
        let added = V::splat(V::Real::FAINT + V::Real::FAINT);
        let limit = terms.mul_add(V::splat(V::Real::from_f64(V::Real::NO_PIVOT)), added);
        let is_large = E::largest(remaining.spike, remaining.near, remaining.next).gt(limit);
        self.see_size(V::select(is_large, all, nothing));
    }

    /// Add a size.
    #[inline(always)]
    pub fn see_size(&mut self, size: V) {
        self.least = size.min(self.least);
    }

    /// `gap` if all pivots and equations are large enough, otherwise the largest possible value.
    #[inline(always)]
    pub fn judge(&self, gap: V) -> V {
        V::select(self.least.gt(V::splat(V::Real::from_f64(V::Real::NO_PIVOT))), gap, V::splat(V::Real::MAX_BITS))
    }

    /// Whether a pivot or an equation nearly vanished in any lane.
    #[inline(always)]
    pub fn suspect(&self) -> bool {
        let mut lanes = [V::Real::ONE; MAX_LANES];
        // SAFETY: there is room for the lanes of the widest vector.
        unsafe { self.least.store(lanes.as_mut_ptr()) }
        let limit = V::Real::from_f64(V::Real::NO_PIVOT);
        lanes.iter().fold(false, |suspect, least| suspect | !(*least > limit))
    }
}

/// A rotation that eliminates `near` between the chain and a row.
///
/// The pivot row is (conj(near)·chain + conj(sub)·row)/ρ. The remainder is (near·row − sub·chain)/ρ.
#[derive(Clone, Copy)]
pub struct Rotation<V, E> {
    /// 1/ρ, ρ² = |near|² + |sub|²
    pub recip: V,
    /// conj(near)/ρ, conj(sub)/ρ
    pub of_chain: E,
    pub of_row: E,
}

impl<V: Lanes, E: Element<V>> Rotation<V, E> {
    #[inline(always)]
    pub fn new(near: E, sub: E) -> Self {
        let recip = (near.square() + sub.square()).sqrt().recip();
        Self { recip, of_chain: near.conj().scale(recip), of_row: sub.conj().scale(recip) }
    }
}

/// The unknowns around a partition: the last one before it, its first and last one, and the first one after it.
#[derive(Clone, Copy)]
pub struct PartitionEnds<E, const R: usize> {
    pub before: [E; R],
    pub first: [E; R],
    pub last: [E; R],
    pub after: [E; R],
}

/// The largest residual of the rows checked so far, and related sizes, for every lane.
#[derive(Clone, Copy)]
pub struct Check<V> {
    /// Largest |residual| / scale, as [`RealScalar::log_gap`].
    gap: V,
    /// Smallest scale. If it is too small, the residuals cannot be trusted.
    scale_min: V,
    /// Lower bound of ‖x‖∞.
    x_max: V,
    /// Largest |rhs|.
    rhs_max: V,
}

impl<V: Lanes> Check<V> {
    /// The state before any row. `x_max` is a known lower bound of ‖x‖∞.
    #[inline(always)]
    pub fn new(x_max: V::Real) -> Self {
        let (zero, one) = (V::splat(V::Real::ZERO), V::splat(V::Real::ONE));
        // If x is smaller than this bound, no residual is trusted.
        let x_max = if x_max > V::Real::TINY { x_max } else { V::Real::TINY };
        Self { gap: zero.log_gap(one), scale_min: one, x_max: V::splat(x_max), rhs_max: zero }
    }

    #[inline(always)]
    pub fn see_x(&mut self, size: V) {
        self.x_max = size.abs_max(self.x_max);
    }

    /// The largest |residual| / scale so far, as [`RealScalar::log_gap`].
    #[inline(always)]
    pub fn gap(&self) -> V {
        self.gap
    }

    /// Combine two checks.
    #[inline(always)]
    pub fn and(&self, other: &Self) -> Self {
        Self {
            gap: self.gap.max_bits(other.gap),
            scale_min: self.scale_min.min(other.scale_min),
            x_max: self.x_max.abs_max(other.x_max),
            rhs_max: self.rhs_max.max(other.rhs_max),
        }
    }

    /// The largest |residual| / scale of each lane, or infinity if the lane must not be accepted.
    ///
    /// This is the case if residuals cannot be trusted ([`read_check`]), if x is implausibly large
    /// ([`CheckResult::looks_singular`]), or if the system may be singular.
    #[inline(always)]
    pub fn judged_gap(&self, least: &Least<V>) -> V {
        let (worst, safe, tiny) = (V::splat(V::Real::MAX_BITS), V::splat(V::Real::SAFE), V::splat(V::Real::TINY));
        let size = (self.x_max + self.rhs_max) * V::splat(V::Real::from_f64(ROW_SUM));
        let plausible = self.rhs_max * V::splat(V::Real::from_f64(V::Real::IMPLAUSIBLE));
        let mut gap = V::select(self.x_max.gt(tiny), self.gap, worst);
        gap = V::select(safe.gt(size), gap, worst);
        gap = V::select((self.scale_min * safe).gt(tiny), gap, worst);
        least.judge(V::select(plausible.gt(self.x_max), gap, worst))
    }

    /// ‖x‖∞ if x may be so large that the matrix, with this number of entries per row, is singular to working precision
    /// ([`CheckResult::may_be_too_large`]), otherwise 0.
    #[inline(always)]
    pub fn size_if_large(&self, entries: usize) -> V {
        let limit = V::splat(V::Real::from_f64(entries as f64 * ENTRY) * V::Real::EPSILON);
        V::select((self.x_max * limit).gt(self.rhs_max), self.x_max, V::splat(V::Real::ZERO))
    }

    /// Add one row, given by its |residual|, Σ|aᵢⱼ| and |rhs|.
    #[inline(always)]
    pub fn see_row(&mut self, residual: V, row_sum: V, rhs: V) {
        let scale = row_sum.mul_add(self.x_max, rhs);
        self.gap = residual.log_gap(scale).max_bits(self.gap);
        self.scale_min = scale.min(self.scale_min);
        self.rhs_max = rhs.max(self.rhs_max);
    }

    /// # Safety
    /// `p` points to [`CHECK_VECTORS`]` · W` writable numbers.
    #[inline(always)]
    pub unsafe fn store(&self, p: *mut V::Real) {
        for (k, v) in [self.gap, self.scale_min, self.x_max, self.rhs_max].into_iter().enumerate() {
            // SAFETY: the caller's promise.
            unsafe { v.store(p.add(k * V::W)) }
        }
    }
}

/// |z| ≤ `COMPLEX_SLACK` · measure(z). The factor is 1/cos(π/8) = 1.0824, rounded up because 1/√2 is rounded.
pub const COMPLEX_SLACK: f64 = 1.0826;

/// The factor by which the backward error can exceed the measured one. Moduli of complex residuals are approximated.
pub(super) fn slack<T: Scalar>() -> f64 {
    if T::COMPLEX { COMPLEX_SLACK } else { 1.0 }
}

/// An upper bound of the backward error of rows whose largest |residual| / scale is `gap`.
pub fn bound<T: Scalar>(gap: T::Real) -> f64 {
    gap.gap_to_ratio() * slack::<T>()
}

/// Number of vectors of a stored [`Check`].
pub const CHECK_VECTORS: usize = 4;

/// The result of stored [`Check`]s over all lanes.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct CheckResult {
    /// Upper bound of the backward error. NaN if the residuals cannot be trusted.
    pub bound: f64,
    /// Lower bound of ‖x‖∞.
    pub x_max: f64,
    /// Largest right-hand side of the scaled rows.
    pub rhs_max: f64,
    /// Whether a row of the matrix is zero.
    pub zero_row: bool,
    /// Whether a pivot or an equation nearly vanished, so that the matrix may be singular.
    pub suspect: bool,
}

impl CheckResult {
    /// Combine the results of two parts.
    pub fn and(self, other: Self) -> Self {
        Self {
            bound: self.bound.max_nan(other.bound),
            x_max: self.x_max.max_nan(other.x_max),
            rhs_max: self.rhs_max.max_nan(other.rhs_max),
            zero_row: self.zero_row | other.zero_row,
            suspect: self.suspect | other.suspect,
        }
    }

    /// Whether x is so much larger than the right-hand side that a nearly zero pivot is the likely cause, or whether a
    /// row is zero.
    pub fn looks_singular<R: RealScalar>(&self) -> bool {
        self.zero_row || !(self.x_max <= self.rhs_max * R::IMPLAUSIBLE)
    }

    /// Whether ‖x‖∞ may exceed maxᵢ(|dᵢ|/Σⱼ|aᵢⱼ|)/ε. In that case the matrix is singular to working precision.
    ///
    /// Each row has at most `entries` entries, which are below `ENTRY`.
    pub fn may_be_too_large<R: RealScalar>(&self, entries: usize) -> bool {
        !(self.x_max * (entries as f64 * ENTRY * R::EPSILON.to_f64()) <= self.rhs_max)
    }

    /// An upper bound of the reciprocal condition number. Each row must be scaled, and x unchanged since the check.
    ///
    /// With Σⱼ|aᵢⱼ| = sᵢ, ‖A⁻¹·diag(s)‖∞ ≥ ‖x‖∞ / maxᵢ(|dᵢ|/sᵢ), and sᵢ is above [`COMPLEX_SLACK`].
    pub fn rcond_at_most(&self) -> f64 {
        self.rhs_max / self.x_max
    }

    /// An upper bound of ‖x‖∞, unless x changed since the check.
    pub fn x_at_most(&self) -> f64 {
        self.x_max * COMPLEX_SLACK
    }
}

/// Number of entries in a row of a tridiagonal matrix.
pub const TRIDIAGONAL_ENTRIES: usize = 3;
/// An upper bound of √2·4 · [`COMPLEX_SLACK`], where √2·4 is the largest modulus of an entry of a scaled row.
const ENTRY: f64 = 8.0;

/// An upper bound of all row sums: at most three entries per row, each below 4 after scaling.
const ROW_SUM: f64 = 16.0;

/// Evaluate stored [`Check`]s.
///
/// Residuals are trusted if the scales are not near the end of the exponent range, and not so small that underflow
/// matters.
pub fn read_check<R: RealScalar>(stored: &[R], slack: f64) -> CheckResult {
    let mut vectors = stored.chunks_exact(stored.len() / CHECK_VECTORS);
    let mut fold = |pick: fn(R, R) -> R| vectors.next().and_then(|v| v.iter().copied().reduce(pick)).unwrap_or(R::ZERO);
    let gap = fold(R::max_bits);
    let scale_min = fold(|a, b| if b < a { b } else { a });
    let [x_max, rhs_max] = [fold(R::max_nan), fold(R::max_nan)];
    let trusted =
        x_max > R::TINY && (x_max + rhs_max) * R::from_f64(ROW_SUM) <= R::SAFE && scale_min * R::SAFE >= R::TINY;
    let bound = if trusted { gap.gap_to_ratio() * slack } else { f64::NAN };
    CheckResult {
        bound,
        x_max: x_max.to_f64(),
        rhs_max: rhs_max.to_f64(),
        zero_row: scale_min == R::ZERO,
        suspect: false,
    }
}

/// Compute x₁ from row 0 instead of its pivot row, if row 0 has the larger coefficient of x₁:
/// x₁ = (rhs − sub·x_before − diag·x₀) / sup.
#[inline(always)]
pub fn prefer_first_row<V: Lanes, E: Element<V>, const R: usize, const RULE: usize>(
    row: &Row<E, R>,
    boundary: &PartitionEnds<E, R>,
    x: [E; R],
    pivot_recip: E,
    pivots: &LanePivots<V, RULE>,
) -> [E; R] {
    let take = (row.sup * pivot_recip).and_bits(pivots.free).abs1().gt(V::splat(V::Real::ONE));
    let recip = (row.sup + E::splat(V::Real::GUARD)).recip();
    let mut result = x;
    for r in 0..R {
        let rest = row.diag.neg_mul_add(boundary.first[r], row.sub.neg_mul_add(boundary.before[r], row.rhs[r]));
        result[r] = E::select(take, rest * recip, x[r]);
    }
    result
}
