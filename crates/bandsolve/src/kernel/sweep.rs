//! The two sweeps of RPTS over a tile in cache: eliminate towards both ends, and substitute back.
//!
//! Source: Klein, Algorithms 1 and 2. Paper → here: a, b, c, d → sub, diag, sup, rhs; s_p → [`Chain`]; s_c → [`Row`];
//! r_p, r_c → `of_chain`, `of_row`; i[j] is not stored: the chosen pivot row itself is.

use super::element::Element;
use super::lanes::Lanes;
use crate::kernel::Machine;
use crate::scalar::{RealScalar, Scalar};

/// An array built index by index. `core::array::from_fn` would do, but its closures are not inlined into the function that
/// has the instruction set.
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

/// Right-hand sides a sweep carries at most.
pub const MAX_RHS: usize = 4;

/// One row of a tile.
#[derive(Clone, Copy)]
pub struct Row<E, const R: usize> {
    pub sub: E,
    pub diag: E,
    pub sup: E,
    pub rhs: [E; R],
}

/// The equation that is carried through a partition: coefficients of the unknown at the far end of the partition
/// (`spike`), of the unknown eliminated next (`near`) and of the one after it (`next`).
#[derive(Clone, Copy)]
pub struct Chain<E, const R: usize> {
    pub spike: E,
    pub near: E,
    pub next: E,
    pub rhs: [E; R],
}

/// How pivots are chosen.
#[derive(Clone, Copy)]
pub struct Pivots<R> {
    /// Rows are never exchanged.
    pub fixed: bool,
    /// Candidates of at most this modulus count as zero; 0: none do.
    pub noise: R,
}

/// The same in every lane. `NOISE`: the threshold is not zero.
#[derive(Clone, Copy)]
pub struct LanePivots<V: Lanes, const NOISE: bool> {
    fixed: V::Mask,
    noise: V,
}

impl<V: Lanes, const NOISE: bool> LanePivots<V, NOISE> {
    #[inline(always)]
    pub fn new(pivots: &Pivots<V::Real>) -> Self {
        let zero = V::splat(V::Real::ZERO);
        let sign = V::splat(if pivots.fixed { V::Real::ONE } else { -V::Real::ONE });
        Self { fixed: sign.ge(zero), noise: V::splat(pivots.noise) }
    }

    /// Larger of two pivot candidates (fixed: always the first). The first is a chain's `near`, which is
    /// never exactly zero, so neither is the pivot.
    #[inline(always)]
    fn choose<E: Element<V>>(&self, first: E, second: E) -> Choice<V::Mask, E> {
        let (first, second) =
            if NOISE { (self.drop(first, V::Real::GUARD), self.drop(second, V::Real::ZERO)) } else { (first, second) };
        let (keep, pivot) = E::pivot(first, second, self.fixed);
        Choice { keep, pivot, minus_other: -E::select(keep, second, first) }
    }

    /// Noise counts as `instead`.
    #[inline(always)]
    fn drop<E: Element<V>>(&self, candidate: E, instead: V::Real) -> E {
        E::select(self.noise.ge(candidate.abs1()), E::splat(instead), candidate)
    }
}

/// Where the rows of a tile lie: arrays sub, diag, sup and R right-hand sides of one row after another.
#[derive(Clone, Copy)]
pub struct TileRows<X, const R: usize> {
    pub base: *mut X,
}

impl<X: RealScalar, const R: usize> TileRows<X, R> {
    /// # Safety
    /// Row `j` lies inside the tile.
    #[inline(always)]
    unsafe fn array<V: Lanes<Real = X>, E: Element<V>>(&self, j: usize, k: usize) -> *mut X {
        // SAFETY: the caller's promise.
        unsafe { self.base.add((j * (3 + R) + k) * E::REALS * V::W) }
    }

    /// # Safety
    /// Row `j` lies inside the tile, which has been staged.
    #[inline(always)]
    pub unsafe fn row<V: Lanes<Real = X>, E: Element<V>>(&self, j: usize) -> Row<E, R> {
        // SAFETY: the caller's promise.
        unsafe {
            Row {
                sub: E::load(self.array::<V, E>(j, 0)),
                diag: E::load(self.array::<V, E>(j, 1)),
                sup: E::load(self.array::<V, E>(j, 2)),
                rhs: each!(r < R, E::splat(X::ZERO), E::load(self.array::<V, E>(j, 3 + r))),
            }
        }
    }

    /// # Safety
    /// Row `j` lies inside the tile.
    #[inline(always)]
    pub unsafe fn put_row<V: Lanes<Real = X>, E: Element<V>>(&self, j: usize, row: &Row<E, R>) {
        // SAFETY: the caller's promise.
        unsafe {
            row.sub.store(self.array::<V, E>(j, 0));
            row.diag.store(self.array::<V, E>(j, 1));
            row.sup.store(self.array::<V, E>(j, 2));
            self.put_rhs::<V, E>(j, &row.rhs);
        }
    }

    /// # Safety
    /// Row `j` lies inside the tile.
    #[inline(always)]
    pub unsafe fn put_rhs<V: Lanes<Real = X>, E: Element<V>>(&self, j: usize, rhs: &[E; R]) {
        for r in 0..R {
            // SAFETY: the caller's promise.
            unsafe { rhs[r].store(self.array::<V, E>(j, 3 + r)) }
        }
    }
}

/// Folds the residual of one row into the checks; `x`: the unknowns left of, at and right of the diagonal.
#[inline(always)]
fn check_row<V: Lanes, E: Element<V>, const R: usize>(
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
    /// The row as seen when walking towards row 0.
    #[inline(always)]
    fn reversed(self) -> Self {
        Self { sub: self.sup, sup: self.sub, ..self }
    }
}

/// A pivot decision: `keep` the chain as pivot, or take the row.
#[derive(Clone, Copy)]
struct Choice<M, E> {
    keep: M,
    /// The larger candidate, by which is divided.
    pivot: E,
    /// Minus the smaller candidate, which is eliminated.
    minus_other: E,
}

impl<E: Copy, const R: usize> Chain<E, R> {
    #[inline(always)]
    fn start<V: Lanes>(row: Row<E, R>) -> Self
    where
        E: Element<V>,
    {
        Self { spike: row.sub, near: row.diag + E::splat(V::Real::GUARD), next: row.sup, rhs: row.rhs }
    }

    /// Eliminates `near` between the chain and `row`; what is left is the new chain.
    #[inline(always)]
    fn eliminate<V: Lanes>(self, row: Row<E, R>, keep: V::Mask, ratio: E) -> Self
    where
        E: Element<V>,
    {
        let (one, guard) = (E::splat(V::Real::ONE), E::splat(V::Real::GUARD));
        let of_chain = E::select(keep, ratio, one);
        let of_row = E::select(keep, one, ratio);
        Self {
            spike: of_chain.mul_add(self.spike, guard),
            near: of_row.mul_add(row.diag, of_chain.mul_add(self.next, guard)),
            next: of_row * row.sup,
            rhs: each!(r < R, one, of_row.mul_add(row.rhs[r], of_chain * self.rhs[r])),
        }
    }
}

/// Both interface equations of every partition of `P` tiles of `m` rows.
///
/// Returned per tile: the top equation, walked towards row 0 (`spike` multiplies the last unknown of the partition,
/// `near` its first, `next` the last one of the partition before), and the bottom equation (`spike`: first unknown,
/// `near`: last, `next`: first of the partition after). `ahead(j)` is called at every step, to prefetch.
///
/// # Safety
/// Every tile holds `m ≥ 2` staged rows of `V`-wide elements.
#[inline(always)]
pub unsafe fn reduce<V: Lanes, E: Element<V>, const P: usize, const R: usize, const NOISE: bool>(
    tiles: [TileRows<V::Real, R>; P],
    m: usize,
    pivots: LanePivots<V, NOISE>,
    mut ahead: impl FnMut(usize),
) -> [[Chain<E, R>; 2]; P] {
    // Row j of tile p.
    macro_rules! at {
        ($p:expr, $j:expr) => {
            // SAFETY: rows 0..m, as promised.
            unsafe { tiles[$p].row::<V, E>($j) }
        };
    }
    let mut chains = [[Chain::start::<V>(at!(0, m - 2).reversed()), Chain::start::<V>(at!(0, 1))]; P];
    for p in 1..P {
        chains[p] = [Chain::start::<V>(at!(p, m - 2).reversed()), Chain::start::<V>(at!(p, 1))];
    }
    for j in 2..m {
        ahead(j);
        for p in 0..P {
            let [up, down] = &mut chains[p];
            let (above, below) = (at!(p, m - 1 - j).reversed(), at!(p, j));
            let of_up = pivots.choose(up.near, above.sub);
            let of_down = pivots.choose(down.near, below.sub);
            let (up_ratio, down_ratio) =
                E::divide_both((of_up.minus_other, of_up.pivot), (of_down.minus_other, of_down.pivot));
            *up = up.eliminate::<V>(above, of_up.keep, up_ratio);
            *down = down.eliminate::<V>(below, of_down.keep, down_ratio);
        }
    }
    chains
}

/// The unknowns around a partition: last of the one before, own first, own last, first of the one after.
#[derive(Clone, Copy)]
pub struct Boundary<E, const R: usize> {
    pub before: [E; R],
    pub first: [E; R],
    pub last: [E; R],
    pub after: [E; R],
}

/// What the residuals of the rows seen so far amount to, in every lane.
#[derive(Clone, Copy)]
pub struct Check<V> {
    /// The row with the largest ratio |residual| / scale.
    residual: V,
    scale: V,
    /// Lower bound of ‖x‖∞.
    x_max: V,
    /// Smallest scale, below which the comparison of ratios cannot be trusted.
    scale_min: V,
    /// Smallest Σ|a_ij|: zero where a row is.
    row_min: V,
    /// Largest |rhs|.
    rhs_max: V,
    /// NaN as soon as a residual is not finite.
    poison: V,
}

impl<V: Lanes> Check<V> {
    /// Nothing seen yet; `x_max` is a known lower bound of ‖x‖∞.
    #[inline(always)]
    pub fn new(x_max: V::Real) -> Self {
        let (zero, one) = (V::splat(V::Real::ZERO), V::splat(V::Real::ONE));
        let x_max = V::splat(x_max);
        Self { residual: zero, scale: one, x_max, scale_min: one, row_min: one, rhs_max: zero, poison: zero }
    }

    #[inline(always)]
    fn see_x(&mut self, size: V) {
        self.x_max = size.abs_max(self.x_max);
    }

    /// Takes in one row: its |residual|, Σ|a_ij| and |rhs|.
    #[inline(always)]
    fn see_row(&mut self, residual: V, row_sum: V, rhs: V) {
        let scale = row_sum.mul_add(self.x_max, rhs);
        // residual/scale > self.residual/self.scale, without dividing
        let larger = (residual * self.scale).ge(self.residual * scale);
        self.residual = V::select(larger, residual, self.residual);
        self.scale = V::select(larger, scale, self.scale);
        self.scale_min = scale.min(self.scale_min);
        self.row_min = row_sum.min(self.row_min);
        self.rhs_max = rhs.max(self.rhs_max);
        self.poison = residual.mul_add(V::splat(V::Real::ZERO), self.poison);
    }

    /// # Safety
    /// `p` points to [`CHECK_VECTORS`]` · W` writable numbers.
    #[inline(always)]
    pub unsafe fn store(&self, p: *mut V::Real) {
        let all = [self.residual, self.scale, self.scale_min, self.row_min, self.rhs_max, self.poison, self.x_max];
        for (k, v) in all.into_iter().enumerate() {
            // SAFETY: the caller's promise.
            unsafe { v.store(p.add(k * V::W)) }
        }
    }
}

/// |z| ≤ `COMPLEX_SLACK` · measure(z): 1/cos(π/8) = 1.0824, a little more for the rounded 1/√2.
pub const COMPLEX_SLACK: f64 = 1.0826;

/// Vectors that a stored [`Check`] takes.
pub const CHECK_VECTORS: usize = 7;

/// What stored [`Check`]s say, over all lanes.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Found {
    /// Upper bound of the backward error; NaN where it cannot be trusted.
    pub bound: f64,
    /// Lower bound of ‖x‖∞.
    pub x_max: f64,
    /// Largest right-hand side, rows being scaled.
    pub rhs_max: f64,
    /// Whether a row of the matrix is zero.
    pub zero_row: bool,
}

impl Found {
    /// All of two parts.
    pub fn and(self, other: Self) -> Self {
        Self {
            bound: self.bound.max_nan(other.bound),
            x_max: self.x_max.max_nan(other.x_max),
            rhs_max: self.rhs_max.max_nan(other.rhs_max),
            zero_row: self.zero_row | other.zero_row,
        }
    }

    /// Whether x is so much larger than the right-hand side that a zero pivot is the likely cause ([`Machine::GUARD`]
    /// hides it), or a row has no entry at all.
    pub fn looks_singular<R: RealScalar>(&self) -> bool {
        self.zero_row || !(self.x_max <= self.rhs_max * R::IMPLAUSIBLE)
    }
}

/// Reads a stored [`Check`].
pub fn read_check<R: RealScalar>(stored: &[R], slack: f64) -> Found {
    let w = stored.len() / CHECK_VECTORS;
    let vector = |k: usize| &stored[k * w..(k + 1) * w];
    let largest = |k: usize| vector(k).iter().fold(R::ZERO, |a, b| if *b > a { *b } else { a });
    let smallest = |k: usize| vector(k).iter().fold(R::ONE, |a, b| if *b < a { *b } else { a });
    let (scale_min, row_min, rhs_max, x_max) = (smallest(2), smallest(3), largest(4), largest(6));
    let finite = vector(5).iter().all(|poison| *poison == R::ZERO);
    let mut ratio = R::ZERO;
    for (residual, scale) in vector(0).iter().zip(vector(1)) {
        let own = *residual / *scale;
        ratio = if own > ratio { own } else { ratio };
    }
    // No row sum exceeds 12: rows are scaled to a largest entry below 4.
    let trusted = finite && (x_max + rhs_max) * R::from_f64(16.0) <= R::SAFE && scale_min * R::SAFE >= R::ONE;
    let bound = if trusted { ratio.to_f64() * slack } else { f64::NAN };
    Found { bound, x_max: x_max.to_f64(), rhs_max: rhs_max.to_f64(), zero_row: row_min == R::ZERO }
}

/// Solves for the inner unknowns of every partition of `P` tiles of `m` rows; x replaces the right-hand side of the tile
/// (rows 0 and m−1 get the boundary's `first` and `last`). With `VERIFY`, the residual of every row is folded into
/// `checks`.
///
/// # Safety
/// Every tile holds `m ≥ 2` staged rows, and `pivot_rows` has room for `m` rows of 3 + R elements per tile.
#[inline(always)]
pub unsafe fn substitute<
    V: Lanes,
    E: Element<V>,
    const P: usize,
    const R: usize,
    const VERIFY: bool,
    const NOISE: bool,
>(
    tiles: [TileRows<V::Real, R>; P],
    pivot_rows: [TileRows<V::Real, R>; P],
    m: usize,
    pivots: LanePivots<V, NOISE>,
    boundary: &[Boundary<E, R>; P],
    checks: &mut [[Check<V>; R]; P],
    mut ahead: impl FnMut(usize),
) {
    // Row j of tile p.
    macro_rules! at {
        ($p:expr, $j:expr) => {
            // SAFETY: rows 0..m, as promised.
            unsafe { tiles[$p].row::<V, E>($j) }
        };
    }
    if m > 2 {
        // Downwards: eliminate x_{j-1} between the chain and row j, and keep the row that it was eliminated with.
        let mut chains = [Chain::start::<V>(at!(0, 1)); P];
        for p in 0..P {
            let row = at!(p, 1);
            chains[p] = Chain::start::<V>(row);
            chains[p].spike = E::splat(V::Real::ZERO);
            for r in 0..R {
                chains[p].rhs[r] = row.sub.neg_mul_add(boundary[p].first[r], row.rhs[r]);
            }
        }
        for j in 2..m - 1 {
            ahead(j);
            let rows: [Row<E, R>; P] = each!(p < P, at!(0, j), at!(p, j));
            let mut choices = [pivots.choose(chains[0].near, rows[0].sub); P];
            for p in 1..P {
                choices[p] = pivots.choose(chains[p].near, rows[p].sub);
            }
            let (ratios, recips) = divide_all::<V, E, P>(&choices);
            for p in 0..P {
                let pivot_row = Row {
                    sub: recips[p],
                    diag: E::select(choices[p].keep, chains[p].next, rows[p].diag),
                    sup: E::select(choices[p].keep, E::splat(V::Real::ZERO), rows[p].sup),
                    rhs: each!(r < R, rows[p].sub, E::select(choices[p].keep, chains[p].rhs[r], rows[p].rhs[r])),
                };
                // SAFETY: rows 1..m-2 of the pivot rows, as promised.
                unsafe { pivot_rows[p].put_row::<V, E>(j - 1, &pivot_row) }
                chains[p] = chains[p].eliminate::<V>(rows[p], choices[p].keep, ratios[p]);
            }
        }
        // x_{m-2} from the chain, or from row m−1 where that has the larger coefficient.
        let mut right: [[E; R]; P] = each!(p < P, boundary[0].last, boundary[p].last);
        let mut mid = right;
        for p in 0..P {
            let (row, chain, b): (Row<E, R>, _, _) = (at!(p, m - 1), &chains[p], &boundary[p]);
            let choice = pivots.choose(chain.near, row.sub);
            let recip = choice.pivot.recip();
            for r in 0..R {
                let of_chain = chain.next.neg_mul_add(b.last[r], chain.rhs[r]);
                let of_row = row.diag.neg_mul_add(b.last[r], row.sup.neg_mul_add(b.after[r], row.rhs[r]));
                mid[p][r] = E::select(choice.keep, of_chain, of_row) * recip;
            }
            if m == 3 {
                mid[p] = prefer_first_row::<V, E, R>(&at!(p, 0), b, mid[p], recip, pivots.fixed);
            }
        }
        for p in 0..P {
            for r in 0..R {
                checks[p][r].see_x(mid[p][r].measure());
                checks[p][r].see_x(right[p][r].measure());
            }
            if VERIFY {
                check_row::<V, E, R>(&mut checks[p], &at!(p, m - 1), &mid[p], &right[p], &boundary[p].after);
            }
            // SAFETY: a row of the tile.
            unsafe { tiles[p].put_rhs::<V, E>(m - 1, &right[p]) }
        }
        // Upwards: x_j from its pivot row; the residual of row j+1 as soon as its three unknowns are known.
        for j in (1..m - 2).rev() {
            for p in 0..P {
                // SAFETY: row j of the pivot rows, written above.
                let pivot: Row<E, R> = unsafe { pivot_rows[p].row::<V, E>(j) };
                let mut left = mid[p];
                for r in 0..R {
                    let rest = pivot.diag.neg_mul_add(mid[p][r], pivot.sup.neg_mul_add(right[p][r], pivot.rhs[r]));
                    left[r] = rest * pivot.sub;
                }
                if j == 1 {
                    left = prefer_first_row::<V, E, R>(&at!(p, 0), &boundary[p], left, pivot.sub, pivots.fixed);
                }
                if VERIFY {
                    for r in 0..R {
                        checks[p][r].see_x(left[r].measure());
                    }
                    check_row::<V, E, R>(&mut checks[p], &at!(p, j + 1), &left, &mid[p], &right[p]);
                }
                // SAFETY: a row of the tile.
                unsafe { tiles[p].put_rhs::<V, E>(j + 1, &mid[p]) }
                (right[p], mid[p]) = (mid[p], left);
            }
        }
        // mid = x_1, right = x_2
        for p in 0..P {
            if VERIFY {
                check_row::<V, E, R>(&mut checks[p], &at!(p, 1), &boundary[p].first, &mid[p], &right[p]);
                check_row::<V, E, R>(&mut checks[p], &at!(p, 0), &boundary[p].before, &boundary[p].first, &mid[p]);
            }
            // SAFETY: a row of the tile.
            unsafe { tiles[p].put_rhs::<V, E>(1, &mid[p]) }
            // SAFETY: a row of the tile.
            unsafe { tiles[p].put_rhs::<V, E>(0, &boundary[p].first) }
        }
    } else {
        for p in 0..P {
            let b = &boundary[p];
            if VERIFY {
                check_row::<V, E, R>(&mut checks[p], &at!(p, 0), &b.before, &b.first, &b.last);
                check_row::<V, E, R>(&mut checks[p], &at!(p, 1), &b.first, &b.last, &b.after);
            }
            // SAFETY: a row of the tile.
            unsafe { tiles[p].put_rhs::<V, E>(0, &b.first) }
            // SAFETY: a row of the tile.
            unsafe { tiles[p].put_rhs::<V, E>(1, &b.last) }
        }
    }
}

/// x_1 from row 0 instead of its pivot row, where row 0 has the larger coefficient of it.
#[inline(always)]
fn prefer_first_row<V: Lanes, E: Element<V>, const R: usize>(
    row: &Row<E, R>,
    boundary: &Boundary<E, R>,
    x: [E; R],
    pivot_recip: E,
    fixed: V::Mask,
) -> [E; R] {
    let keep = V::or(V::splat(V::Real::ONE).ge((row.sup * pivot_recip).abs1()), fixed);
    let recip = (row.sup + E::splat(V::Real::GUARD)).recip();
    let mut result = x;
    for r in 0..R {
        let rest = row.diag.neg_mul_add(boundary.first[r], row.sub.neg_mul_add(boundary.before[r], row.rhs[r]));
        result[r] = E::select(keep, x[r], rest * recip);
    }
    result
}

/// −other/pivot and 1/pivot of one choice a tile.
#[inline(always)]
fn divide_all<V: Lanes, E: Element<V>, const P: usize>(choices: &[Choice<V::Mask, E>; P]) -> ([E; P], [E; P]) {
    let mut ratios = [choices[0].pivot; P];
    let mut recips = ratios;
    for p in 0..P {
        recips[p] = choices[p].pivot.recip();
        ratios[p] = choices[p].minus_other * recips[p];
    }
    (ratios, recips)
}
