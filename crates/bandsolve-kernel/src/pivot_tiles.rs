//! Diagonal pivoting on lanes: a scan of leading minors gives the factors of a tridiagonal matrix, and two more scans solve with them.
//!
//! ```text
//! minors:    θᵢ = bᵢ θᵢ₋₁ − aᵢ cᵢ₋₁ θᵢ₋₂,   θ₋₁ = 1,   θ₋₂ = 0
//! forward:   vᵢ = plusᵢ dᵢ − byᵢ vᵢ₋₁,   yᵢ = ownᵢ vᵢ − otherᵢ dᵢ₊₁
//! backward:  xᵢ = yᵢ − nextᵢ s,   s = x in the row where the pivot below starts
//! ```
//!
//! A tile has two groups of consecutive rows per lane: two vectors, whose chains of dependent operations overlap. All groups advance by one
//! row at a time. A scan sweeps over the tile several times while it is in cache:
//!
//! 1. Compute the transfer of each group, which maps the state before the group to the state after it. The state passes through the
//!    transfers to the next tile.
//! 2. Start each group from this state, and compute the state after it row by row. These states pass from tile to tile, too.
//! 3. Only for minors with 2 × 2 pivots: the same once more, from the states of sweep 2. Also determine where a 2 × 2 pivot would start, and
//!    for both cases of the first row, whether the row after the group is the second one of a pivot.
//! 4. Start each group from the state that the sweep before has after the group before, and write the results.
//!
//! The transfer of minors nearly has rank one, so a state near its kernel loses digits. A sweep over rows does not lose digits, and its
//! result depends only weakly on the state before, except where the diagonally dominant side of the rows changes: there, minors depend on
//! the last digits of those before. Sweeps 3 and 4 begin there with the same bits, because sweeps 2 and 3 agree in the group before.
//!
//! Rows are scaled by powers of two. The minors of a group are multiplied by a common factor from row to row, which keeps them in range and
//! does not change their ratios. Sweep 1 uses powers of two. The others divide by the larger of the last two minors: they begin a group
//! with ratios that differ by rounding, and the difference mostly disappears within the group. With powers of two, it would remain, and
//! be the backward error of the first row of the next group.
//!
//! Source: Chang, thesis, chapter 4. a, b, c, d → sub, diag, sup, rhs.

use crate::job::{Job, kernel};
use crate::lane_columns::{StagedMatrix, matrix_row, read, stage_matrix, write};
use crate::number::{Element, Lanes, MAX_LANES, Machine, RealScalar, Scalar};
use crate::rows::Rows;
use crate::scan::{Carry, CarryPair};
use crate::simd::Simd;
use crate::sweep::KAPPA;
use core::marker::PhantomData;
use core::mem::MaybeUninit;

/// Number of vectors that are swept together.
const STRIPES: usize = 2;
/// Maximum number of groups of a tile.
const MAX_GROUPS: usize = STRIPES * MAX_LANES;
/// Number of rows per group of a full tile. A full tile with its factors fits into the second-level cache.
const GROUP_ROWS: usize = 192;
/// Minimum number of rows per group. Minors forget within a group what they were before.
const MIN_GROUP_ROWS: usize = 64;
/// Number of rows of a tile that belong to the groups beside: two after each group, and one before it.
const BESIDE: usize = 3;

/// The sizes of the tiles of a matrix.
#[derive(Debug, Clone, Copy)]
pub struct PivotSizes {
    n: usize,
    /// Whether there are 2 × 2 pivots.
    pairs: bool,
    lanes: usize,
    /// Number of vectors of an element.
    reals: usize,
}

// Elements of the factors of a row that the forward sweep reads. In the backward sweep, these are `next` and a flag.
const PLUS: usize = 0;
const BY: usize = 1;
/// Only with 2 × 2 pivots.
const OWN: usize = 2;
/// Only with 2 × 2 pivots.
const OTHER: usize = 3;

// The products of the factors of a group, in the row after its last one: those of the forward sweep, and those of the backward sweep.
const DOWN: usize = 0;
const UP: usize = 1;

/// Number of elements of a row that the forward sweep reads.
const fn forward_elements(pairs: bool) -> usize {
    if pairs { 4 } else { 2 }
}

/// Number of real vectors of a row that the backward sweep reads.
const fn backward_vectors(pairs: bool, reals: usize) -> usize {
    if pairs { reals + 1 } else { reals }
}

impl PivotSizes {
    /// The sizes for n rows.
    pub fn new<T: Scalar>(n: usize, pairs: bool, simd: Simd) -> Self {
        let reals = if T::COMPLEX { 2 } else { 1 };
        Self { n, pairs, lanes: T::lanes(simd), reals }
    }

    fn groups(&self) -> usize {
        STRIPES * self.lanes
    }

    /// Number of rows of a full tile.
    pub fn rows(&self) -> usize {
        self.groups() * GROUP_ROWS
    }

    /// Number of rows per group of the tile that begins with row `first`. In a small tile, the last groups have no rows.
    fn group_rows(&self, first: usize) -> usize {
        let count = (self.n - first).min(self.rows());
        count.div_ceil(self.groups()).max(count.min(MIN_GROUP_ROWS))
    }

    /// Number of reals of the factors of the tile that begins with row `first`.
    pub fn tile_len(&self, first: usize) -> usize {
        let vectors = forward_elements(self.pairs) * self.reals + backward_vectors(self.pairs, self.reals);
        (self.group_rows(first) + BESIDE) * self.groups() * vectors
    }

    /// Number of reals of all factors.
    pub fn total_len(&self) -> usize {
        let last = (self.n - 1) / self.rows() * self.rows();
        last / self.rows() * self.tile_len(0) + self.tile_len(last)
    }

    /// The factors of the tile that begins with row `first`.
    pub fn tile<'a, R>(&self, memory: &'a [R], first: usize) -> &'a [R] {
        &memory[first / self.rows() * self.tile_len(0)..][..self.tile_len(first)]
    }

    /// `plus` of row `i`, and `by` if it is the second row of a 2 × 2 pivot.
    pub fn row<T: Scalar>(&self, memory: &[T::Real], i: usize) -> (T, Option<T>) {
        let first = i / self.rows() * self.rows();
        let (tile, m) = (self.tile(memory, first), self.group_rows(first));
        let (group, j) = ((i - first) / m, (i - first) % m);
        let (stripe, lane) = (group / self.lanes, group % self.lanes);
        let row = j * STRIPES + stripe;
        let element = |k: usize| {
            let at = (row * forward_elements(self.pairs) + k) * self.reals * self.lanes + lane;
            T::from_parts(tile[at], tile[if T::COMPLEX { at + self.lanes } else { at }])
        };
        let flag = || {
            let backward = (m + BESIDE) * self.groups() * forward_elements(self.pairs) * self.reals;
            tile[backward + (row * (self.reals + 1) + self.reals) * self.lanes + lane]
        };
        (element(PLUS), (self.pairs && flag() > T::Real::ZERO).then(|| element(BY)))
    }
}

/// Two elements, for the two vectors of rows.
type StripePair<E> = [E; STRIPES];

/// The factors of a tile in memory. What the forward sweep reads of all rows comes first.
///
/// Before sweep 4, the rows are those of the matrix: `plus` is sub, `by` is diag, and `next` is sup.
#[derive(Clone, Copy)]
struct PivotTile<V: Lanes, E, const PAIRS: bool> {
    forward: *mut V::Real,
    backward: *mut V::Real,
    m: usize,
    of: PhantomData<E>,
}

impl<V: Lanes, E: Element<V>, const PAIRS: bool> PivotTile<V, E, PAIRS> {
    /// Number of reals of an element.
    const ELEMENT: usize = E::REALS * V::W;

    /// # Safety
    /// The memory has `m` rows and those beside.
    #[inline(always)]
    unsafe fn new(base: *mut V::Real, m: usize) -> Self {
        let forward = (m + BESIDE) * STRIPES * forward_elements(PAIRS) * Self::ELEMENT;
        // SAFETY: the caller's promise.
        Self { forward: base, backward: unsafe { base.add(forward) }, m, of: PhantomData }
    }

    /// The place of element `k` of those that the forward sweep reads.
    ///
    /// # Safety
    /// Row `j` is in the tile, or one of the [`BESIDE`] rows after it in memory.
    #[inline(always)]
    unsafe fn place(&self, j: usize, s: usize, k: usize) -> *mut V::Real {
        // SAFETY: the caller's promise.
        unsafe { self.forward.add(((j * STRIPES + s) * forward_elements(PAIRS) + k) * Self::ELEMENT) }
    }

    /// # Safety
    /// As [`place`](Self::place), and the element has been written.
    #[inline(always)]
    unsafe fn element(&self, j: usize, s: usize, k: usize) -> E {
        // SAFETY: the caller's promise.
        unsafe { E::load(self.place(j, s, k)) }
    }

    /// The place of `next`.
    ///
    /// # Safety
    /// As [`place`](Self::place).
    #[inline(always)]
    unsafe fn next(&self, j: usize, s: usize) -> *mut V::Real {
        // SAFETY: the caller's promise.
        unsafe { self.backward.add((j * STRIPES + s) * backward_vectors(PAIRS, E::REALS) * V::W) }
    }

    /// The place of 1 or 0: first whether a 2 × 2 pivot would start in the row, then whether the row is the second one of a pivot.
    ///
    /// # Safety
    /// As [`place`](Self::place), with pairs.
    #[inline(always)]
    unsafe fn flag(&self, j: usize, s: usize) -> *mut V::Real {
        // SAFETY: the caller's promise.
        unsafe { self.next(j, s).add(Self::ELEMENT) }
    }
}

/// A tile of the matrix: rows in the memory of their factors, multiplied by powers of two, and these powers.
#[derive(Clone, Copy)]
struct MatrixTile<V: Lanes, E, const PAIRS: bool> {
    of: PivotTile<V, E, PAIRS>,
    scales: *mut V::Real,
}

impl<V: Lanes, E: Element<V>, const PAIRS: bool> MatrixTile<V, E, PAIRS> {
    /// # Safety
    /// As [`PivotTile::place`].
    #[inline(always)]
    unsafe fn scale(&self, j: usize, s: usize) -> *mut V::Real {
        // SAFETY: the caller's promise.
        unsafe { self.scales.add((j * STRIPES + s) * V::W) }
    }

    /// # Safety
    /// Row `j` of the matrix has been staged.
    #[inline(always)]
    unsafe fn row(&self, j: usize, s: usize) -> [E; 3] {
        // SAFETY: the caller's promise.
        unsafe { [self.of.element(j, s, PLUS), self.of.element(j, s, BY), E::load(self.of.next(j, s))] }
    }
}

/// One of the two vectors of rows of a tile.
struct Stripe<V: Lanes, E, const PAIRS: bool>(MatrixTile<V, E, PAIRS>, usize);

impl<V: Lanes, E: Element<V>, const PAIRS: bool> StagedMatrix<E> for Stripe<V, E, PAIRS> {
    /// The row is multiplied by the power of two that brings its largest entry near 1.
    #[inline(always)]
    unsafe fn put_row(&self, j: usize, [sub, diag, sup]: [E; 3]) {
        let scale = E::largest(sub, diag, sup).equilibrate();
        // SAFETY: the caller's promise.
        unsafe {
            sub.scale(scale).store(self.0.of.place(j, self.1, PLUS));
            diag.scale(scale).store(self.0.of.place(j, self.1, BY));
            sup.scale(scale).store(self.0.of.next(j, self.1));
            scale.store(self.0.scale(j, self.1));
        }
    }
}

/// The leading minors of a row and of the two rows before, multiplied by a common factor. The leading entry of the row is last / before.
#[derive(Clone, Copy)]
struct LaneMinors<E> {
    last: E,
    before: E,
    older: E,
}

impl<E> LaneMinors<E> {
    /// The minors of the next row, with `product` = sub · (sup of the row before), divided by the larger of the last two. Equal ratios
    /// then have equal bits. If both are zero, they become (0, 1), so that a pivot is zero.
    #[inline(always)]
    fn follow<V: Lanes>(self, diag: E, product: E) -> Self
    where
        E: Element<V>,
    {
        let one = E::splat(<V::Real as Scalar>::ONE);
        let mut last = product.neg_mul_add(self.before, diag * self.last);
        let (mut before, mut older) = (self.last, self.before);
        if E::REALS == 2 {
            // The reciprocal of a complex number needs its square.
            let scale = E::larger(last, before).normalizer();
            (last, before, older) = (last.scale(scale), before.scale(scale), older.scale(scale));
        }
        let (is_last, larger) = E::pivot(before, last);
        let guard = if E::REALS == 2 { V::Real::GUARD } else { V::Real::MIN_POSITIVE };
        let recip = (larger + E::splat(guard)).recip();
        let small = E::select(is_last, before, last) * recip;
        let (last, before) = (E::select(is_last, one, small), E::select(is_last, small, one));
        Self { last, before, older: older * recip }
    }
}

/// 1 / pivot. The square of a complex pivot may leave the range.
#[inline(always)]
fn reciprocal<V: Lanes, E: Element<V>>(pivot: E) -> E {
    if E::REALS == 1 {
        return pivot.recip();
    }
    let scale = pivot.abs1().normalizer();
    pivot.scale(scale).recip().scale(scale)
}

/// One number for each group, as lanes.
#[inline(always)]
fn lanes_of_groups<T: Scalar, V: Lanes<Real = T::Real>>(of: impl Fn(usize) -> T) -> StripePair<T::Element<V>> {
    let mut lanes = [T::Real::ZERO; 2 * MAX_GROUPS];
    let mut pair = [T::Element::<V>::splat(T::Real::ZERO); STRIPES];
    let step = T::Element::<V>::REALS * V::W;
    for s in 0..STRIPES {
        for lane in 0..V::W {
            let value = of(s * V::W + lane);
            lanes[s * step + lane] = value.re();
            if T::COMPLEX {
                lanes[s * step + V::W + lane] = value.im();
            }
        }
        // SAFETY: two elements have at most as many reals.
        pair[s] = unsafe { T::Element::<V>::load(lanes.as_ptr().add(s * step)) };
    }
    pair
}

/// The inverse of [`lanes_of_groups`].
#[inline(always)]
fn groups_of_lanes<T: Scalar, V: Lanes<Real = T::Real>>(pair: StripePair<T::Element<V>>) -> [T; MAX_GROUPS] {
    let mut lanes = [T::Real::ZERO; 2 * MAX_GROUPS];
    let mut groups = [T::ZERO; MAX_GROUPS];
    let step = T::Element::<V>::REALS * V::W;
    for s in 0..STRIPES {
        // SAFETY: two elements have at most as many reals.
        unsafe { pair[s].store(lanes.as_mut_ptr().add(s * step)) };
        for lane in 0..V::W {
            let im = if T::COMPLEX { lanes[s * step + V::W + lane] } else { T::Real::ZERO };
            groups[s * V::W + lane] = T::from_parts(lanes[s * step + lane], im);
        }
    }
    groups
}

/// The state between two groups in sweep 3 of the minors.
#[derive(Debug, Clone, Copy)]
struct GroupBorder<T> {
    /// Whether the next row is the second one of a 2 × 2 pivot.
    second: bool,
    /// The minors of the previous two rows, the last first.
    minors: [T; 2],
}

/// The states of a factorization that pass from tile to tile.
pub struct PivotCarry<T> {
    /// The minors of the previous two rows, as the transfers give them.
    minors: Carry<[T; 2]>,
    /// The same minors, row by row from those before. Only with pairs.
    row_by_row: Carry<[T; 2]>,
    borders: Carry<GroupBorder<T>>,
}

impl<T: Scalar> Default for PivotCarry<T> {
    /// The states before the first row.
    fn default() -> Self {
        let border = GroupBorder { second: false, minors: [T::ONE, T::ZERO] };
        let minors = || Carry::new(border.minors);
        Self { minors: minors(), row_by_row: minors(), borders: Carry::new(border) }
    }
}

impl<T: Scalar> PivotCarry<T> {
    /// Tell all waiting tiles that an earlier tile has failed.
    pub fn give_up(&self) {
        self.minors.give_up();
        self.row_by_row.give_up();
        self.borders.give_up();
    }
}

/// Maximum size of a vector.
const VECTOR_BYTES: usize = 64;

/// Memory for the scales of the rows of a tile, on the stack.
#[repr(align(64))]
struct TileScales {
    _bytes: [MaybeUninit<u8>; VECTOR_BYTES * STRIPES * (GROUP_ROWS + BESIDE)],
}

/// Factor one tile.
///
/// # Cost
/// Per row: about 60 flops and 4 divisions (30 flops and 3 divisions without pairs), 3 words read, and 6 written (3 without pairs).
pub struct FactorPivots<'a, T: Scalar> {
    pub rows: Rows<'a, T>,
    pub sizes: PivotSizes,
    /// The first row of the tile, and the number of the tile.
    pub first: usize,
    pub index: usize,
    /// [`PivotSizes::tile_len`] reals.
    pub memory: &'a mut [T::Real],
    pub carry: &'a PivotCarry<T>,
}

kernel!(FactorPivotsKernel: FactorPivots<'a> => Option<bool>);

impl<T: Scalar> Job<T> for FactorPivots<'_, T> {
    /// Whether a pivot is zero; `None` if an earlier tile has failed.
    type Output = Option<bool>;
    #[inline(always)]
    fn run<V: Lanes<Real = T::Real>>(self) -> Option<bool> {
        if self.sizes.pairs { self.factor::<V, true>() } else { self.factor::<V, false>() }
    }
}

impl<T: Scalar> FactorPivots<'_, T> {
    #[inline(always)]
    fn factor<V: Lanes<Real = T::Real>, const PAIRS: bool>(self) -> Option<bool> {
        let Self { rows, sizes, first, index, memory, carry } = self;
        let (m, groups) = (sizes.group_rows(first), STRIPES * V::W);
        assert!(memory.len() == sizes.tile_len(first) && sizes.groups() == groups && rows.n() == sizes.n);
        assert!(sizes.reals == T::Element::<V>::REALS);
        const { assert!(size_of::<V::Real>() * V::W <= VECTOR_BYTES) }
        let mut scales = MaybeUninit::<TileScales>::uninit();
        // SAFETY: `memory` and `scales` have m rows and those beside, for two vectors.
        unsafe {
            let of = PivotTile::<V, T::Element<V>, PAIRS>::new(memory.as_mut_ptr(), m);
            let tile = MatrixTile { of, scales: scales.as_mut_ptr().cast() };
            tile.stage(&rows, first);
            let transfers = tile.minor_transfers::<T>();
            let mut before = [[T::ZERO; 2]; MAX_GROUPS];
            let through = |g: usize, state: [T; 2]| {
                let [p, q] = [0, 1].map(|k| transfers[k][g] * state[0] + transfers[2 + k][g] * state[1]);
                let size = Scalar::abs1(p).max_nan(Scalar::abs1(q));
                [p, q].map(|v| v.scale(size.normalizer()))
            };
            if !carry.minors.pass(index, &mut before[..groups], through) {
                return None;
            }
            if PAIRS {
                let [leaving, _] = tile.minors_row_by_row::<T, false>(&before);
                if !carry.row_by_row.pass(index, &mut before[..groups], |g, _| [leaving[0][g], leaving[1][g]]) {
                    return None;
                }
            }
            let [leaving, second] = tile.minors_row_by_row::<T, PAIRS>(&before);
            let mut borders = [GroupBorder { second: false, minors: [T::ZERO; 2] }; MAX_GROUPS];
            let through = |g: usize, border: GroupBorder<T>| GroupBorder {
                second: second[usize::from(border.second)][g] != T::ZERO,
                minors: [leaving[0][g], leaving[1][g]],
            };
            if !carry.borders.pass(index, &mut borders[..groups], through) {
                return None;
            }
            Some(tile.put_factors::<T>(&borders))
        }
    }
}

impl<V: Lanes, E: Element<V>, const PAIRS: bool> MatrixTile<V, E, PAIRS> {
    /// Copy the rows of the matrix from row `first` on.
    ///
    /// # Safety
    /// The memory has m rows and those beside.
    #[inline(always)]
    unsafe fn stage<T: Scalar<Real = V::Real, Element<V> = E>>(&self, rows: &Rows<T>, first: usize) {
        let m = self.of.m;
        for s in 0..STRIPES {
            let (first, stripe) = (first + s * V::W * m, Stripe(*self, s));
            // SAFETY: the caller's promise.
            unsafe {
                stage_matrix::<T, V, _>(rows, (first, m), &stripe);
                stripe.put_row(m, matrix_row::<T, V>(rows, first + m, m));
                stripe.put_row(m + 1, matrix_row::<T, V>(rows, first + m + 1, m));
                stripe.put_row(m + 2, matrix_row::<T, V>(rows, first.wrapping_sub(1), m));
            }
        }
    }

    /// `sup` of the row before each group.
    ///
    /// # Safety
    /// The matrix has been staged.
    #[inline(always)]
    unsafe fn sup_before(&self) -> StripePair<E> {
        // SAFETY: the caller's promise.
        unsafe { [0, 1].map(|s| E::load(self.of.next(self.of.m + 2, s))) }
    }

    /// The transfers of the groups: the images (last, before) of the minors (1, 0), then those of (0, 1).
    ///
    /// # Safety
    /// The matrix has been staged.
    #[inline(always)]
    unsafe fn minor_transfers<T: Scalar<Real = V::Real, Element<V> = E>>(&self) -> [[T; MAX_GROUPS]; 4] {
        let (zero, one) = (E::splat(<V::Real as Scalar>::ZERO), E::splat(<V::Real as Scalar>::ONE));
        let mut images = [[one; STRIPES], [zero; STRIPES], [zero; STRIPES], [one; STRIPES]];
        // SAFETY: the caller's promise.
        unsafe {
            let mut sup = self.sup_before();
            for j in 0..self.of.m {
                for s in 0..STRIPES {
                    let [sub, diag, sup_here] = self.row(j, s);
                    let product = sub * sup[s];
                    sup[s] = sup_here;
                    let (p, q) = (images[0][s], images[2][s]);
                    let next_p = product.neg_mul_add(images[1][s], diag * p);
                    let next_q = product.neg_mul_add(images[3][s], diag * q);
                    let scale = E::larger(next_p, p).max(E::larger(next_q, q)).normalizer();
                    images[0][s] = next_p.scale(scale);
                    images[1][s] = p.scale(scale);
                    images[2][s] = next_q.scale(scale);
                    images[3][s] = q.scale(scale);
                }
            }
        }
        images.map(groups_of_lanes::<T, V>)
    }

    /// Sweep 2, or 3 if it chooses pivots, from the minors before each group. Returns the minors after it, and whether the next row is the
    /// second one of a pivot if the first row of the group is not, and if it is.
    ///
    /// # Safety
    /// The matrix has been staged.
    #[inline(always)]
    unsafe fn minors_row_by_row<T: Scalar<Real = V::Real, Element<V> = E>, const CHOOSES: bool>(
        &self,
        before: &[[T; 2]; MAX_GROUPS],
    ) -> [[[T; MAX_GROUPS]; 2]; 2] {
        let (zero, one) = (V::splat(<V::Real as Scalar>::ZERO), V::splat(<V::Real as Scalar>::ONE));
        let kappa = V::splat(<V::Real as RealScalar>::from_f64(KAPPA));
        let (last, older) = (lanes_of_groups::<T, V>(|g| before[g][0]), lanes_of_groups::<T, V>(|g| before[g][1]));
        let none = E::splat(<V::Real as Scalar>::ZERO);
        let mut minors = [LaneMinors { last: none, before: none, older: none }; STRIPES];
        let mut second = [[zero; STRIPES], [one; STRIPES]];
        // SAFETY: the caller's promise.
        unsafe {
            let (mut sup, mut rows) = (self.sup_before(), [[self.row(0, 0); 2]; STRIPES]);
            for s in 0..STRIPES {
                minors[s] = LaneMinors { last: last[s], before: older[s], older: none };
                rows[s] = [self.row(0, s), self.row(1, s)];
            }
            for j in 0..self.of.m {
                for s in 0..STRIPES {
                    let ([here, next], after) = (rows[s], self.row(j + 2, s));
                    let ([a, b, c], [a1, b1, c1]) = (here, next);
                    minors[s] = minors[s].follow::<V>(b, a * sup[s]);
                    sup[s] = c;
                    rows[s] = [next, after];
                    if CHOOSES {
                        // σ |b̂| < κ |a c|, multiplied by the minor before.
                        let sigma = E::largest(a1, b1, c1).max(E::larger(after[0], c));
                        let limit = (a1 * c).abs1() * minors[s].before.abs1() * kappa;
                        let begins = V::select(limit.gt(minors[s].last.abs1() * sigma), one, zero);
                        begins.store(self.of.flag(j, s));
                        second[0][s] = begins.neg_mul_add(second[0][s], begins);
                        second[1][s] = begins.neg_mul_add(second[1][s], begins);
                    }
                }
            }
        }
        let (last, before) = (minors.map(|minors| minors.last), minors.map(|minors| minors.before));
        [[last, before].map(groups_of_lanes::<T, V>), second.map(groups_of_reals::<T, V>)]
    }

    /// Sweep 4, from the borders before each group. Returns whether a pivot is zero.
    ///
    /// # Safety
    /// The matrix has been staged, and sweep 3 has been done.
    #[inline(always)]
    unsafe fn put_factors<T: Scalar<Real = V::Real, Element<V> = E>>(
        &self,
        borders: &[GroupBorder<T>; MAX_GROUPS],
    ) -> bool {
        let zero = V::splat(<V::Real as Scalar>::ZERO);
        let unit = E::splat(<V::Real as Scalar>::ONE);
        let start = [0, 1].map(|k| lanes_of_groups::<T, V>(|g| borders[g].minors[k]));
        let second = lanes_of_groups::<T, V>(|g| if borders[g].second { T::ONE } else { T::ZERO });
        let none = E::splat(<V::Real as Scalar>::ZERO);
        let mut minors = [LaneMinors { last: none, before: none, older: none }; STRIPES];
        let mut is_second = [zero; STRIPES];
        let (mut down, mut up, mut zeros) = ([unit; STRIPES], [unit; STRIPES], 0);
        // SAFETY: the caller's promise.
        unsafe {
            let (mut sup, mut rows) = (self.sup_before(), [self.row(0, 0); STRIPES]);
            for s in 0..STRIPES {
                minors[s] = LaneMinors { last: start[0][s], before: start[1][s], older: none };
                is_second[s] = second[s].columns()[0];
                rows[s] = self.row(0, s);
            }
            for j in 0..self.of.m {
                for s in 0..STRIPES {
                    let ([a, b, c], next) = (rows[s], self.row(j + 1, s));
                    let ([a1, b1, c1], scale) = (next, V::load(self.scale(j, s)));
                    let now = minors[s].follow::<V>(b, a * sup[s]);
                    minors[s] = now;
                    sup[s] = c;
                    rows[s] = next;
                    if PAIRS {
                        let begins = V::load(self.of.flag(j, s));
                        let begins = begins.neg_mul_add(is_second[s], begins);
                        let (first, last) = (begins.gt(zero), is_second[s].gt(zero));
                        // Δ of a 2 × 2 pivot, or the minor of a 1 × 1 pivot.
                        let of_pair = (a1 * c).neg_mul_add(now.before, b1 * now.last);
                        let minor = E::select(first, of_pair, now.last);
                        zeros |= minor.abs1().equal_bits(zero);
                        let recip = reciprocal::<V, E>(minor);
                        let ratio = now.before * recip;
                        let above = E::select(last, now.older, now.before) * recip;
                        let by = E::select(first, a, a * above);
                        let next_entry = E::select(first, -(c * c1), c) * ratio;
                        E::select(first, unit, ratio).scale(scale).store(self.of.place(j, s, PLUS));
                        by.store(self.of.place(j, s, BY));
                        next_entry.store(self.of.next(j, s));
                        E::select(first, b1 * ratio, unit).store(self.of.place(j, s, OWN));
                        let other = (c * ratio).scale(V::load(self.scale(j + 1, s)));
                        E::select(first, other, none).store(self.of.place(j, s, OTHER));
                        is_second[s].store(self.of.flag(j, s));
                        is_second[s] = begins;
                        down[s] = -(down[s] * by);
                        up[s] = E::select(last, up[s], -(up[s] * next_entry));
                    } else {
                        zeros |= now.last.abs1().equal_bits(zero);
                        let ratio = now.before * reciprocal::<V, E>(now.last);
                        let (by, next_entry) = (a * ratio, c * ratio);
                        ratio.scale(scale).store(self.of.place(j, s, PLUS));
                        by.store(self.of.place(j, s, BY));
                        next_entry.store(self.of.next(j, s));
                        down[s] = -(down[s] * by);
                        up[s] = -(up[s] * next_entry);
                    }
                }
            }
            for s in 0..STRIPES {
                down[s].store(self.of.place(self.of.m, s, DOWN));
                up[s].store(self.of.place(self.of.m, s, UP));
            }
        }
        zeros != 0
    }
}

/// [`groups_of_lanes`] for reals.
#[inline(always)]
fn groups_of_reals<T: Scalar, V: Lanes<Real = T::Real>>(pair: StripePair<V>) -> [T; MAX_GROUPS] {
    let mut elements = [T::Element::<V>::splat(T::Real::ZERO); STRIPES];
    for s in 0..STRIPES {
        elements[s] = T::Element::<V>::from_columns(&[pair[s], V::splat(T::Real::ZERO)]);
    }
    groups_of_lanes::<T, V>(elements)
}

/// Do the forward or the backward sweep of a solve in one tile: replace d by y, or y by x.
///
/// # Cost
/// Per row: 12 flops and 5 words read forward, 6 flops and 3 words read backward (without pairs 9, 3, 6 and 2), and a word written.
pub struct SolveTile<'a, T: Scalar> {
    pub sizes: PivotSizes,
    /// The first row of the tile.
    pub first: usize,
    /// The number of the tile in the order of the sweep.
    pub index: usize,
    /// The factors of all tiles.
    pub memory: &'a [T::Real],
    pub x: &'a mut [T],
    /// d of the row after the tile. `None` in a backward sweep and after the last row.
    pub after: Option<T>,
    pub backward: bool,
    pub carry: &'a CarryPair<T>,
}

kernel!(SolveTileKernel: SolveTile<'a> => bool);

impl<T: Scalar> Job<T> for SolveTile<'_, T> {
    /// Whether all earlier tiles were finished.
    type Output = bool;
    #[inline(always)]
    fn run<V: Lanes<Real = T::Real>>(self) -> bool {
        match (self.sizes.pairs, self.backward) {
            (false, false) => self.solve::<V, false, false>(),
            (false, true) => self.solve::<V, false, true>(),
            (true, false) => self.solve::<V, true, false>(),
            (true, true) => self.solve::<V, true, true>(),
        }
    }
}

/// Memory for the numbers of a tile, on the stack. An element has at most two vectors.
#[repr(align(64))]
struct TileNumbers {
    _bytes: [MaybeUninit<u8>; 2 * VECTOR_BYTES * STRIPES * (GROUP_ROWS + 1)],
}

impl<T: Scalar> SolveTile<'_, T> {
    #[inline(always)]
    fn solve<V: Lanes<Real = T::Real>, const PAIRS: bool, const BACKWARD: bool>(self) -> bool {
        let Self { sizes, first, index, memory, x, after, carry, .. } = self;
        let (m, groups) = (sizes.group_rows(first), STRIPES * V::W);
        assert!(memory.len() == sizes.total_len() && sizes.groups() == groups && m <= GROUP_ROWS);
        assert!(sizes.reals == T::Element::<V>::REALS);
        assert!(x.len() == (sizes.n - first).min(sizes.rows()));
        const { assert!(size_of::<V::Real>() * V::W <= VECTOR_BYTES) }
        let mut numbers = MaybeUninit::<TileNumbers>::uninit();
        let numbers = RowNumbers::<V, T::Element<V>> { base: numbers.as_mut_ptr().cast(), of: PhantomData };
        // The state passes through the groups in this order.
        let group = |k: usize| if BACKWARD { groups - 1 - k } else { k };
        // SAFETY: `memory` has the factors of m rows, which are only read. All numbers are written before they are read.
        unsafe {
            let base = sizes.tile(memory, first).as_ptr().cast_mut();
            let tile = PivotTile::<V, T::Element<V>, PAIRS>::new(base, m);
            numbers.stage(x, m, if PAIRS && !BACKWARD { Some(after) } else { None });
            let zero = T::Element::<V>::splat(T::Real::ZERO);
            let plus = groups_of_lanes::<T, V>(tile.pass_through::<BACKWARD>(&numbers, [zero; STRIPES]));
            let product = if BACKWARD { UP } else { DOWN };
            let by = groups_of_lanes::<T, V>([tile.element(m, 0, product), tile.element(m, 1, product)]);
            let mut states = [T::ZERO; MAX_GROUPS];
            let through = |k: usize, state: T| {
                let g = group(k);
                let result = by[g] * state + plus[g];
                if result.is_finite() || !state.is_finite() {
                    return result;
                }
                // Products of factors overflow, but the recurrence itself may stay finite.
                let alone = lanes_of_groups::<T, V>(|other| if other == g { state } else { T::ZERO });
                groups_of_lanes::<T, V>(tile.pass_through::<BACKWARD>(&numbers, alone))[g]
            };
            if !carry.states.pass(index, &mut states[..groups], through) {
                return false;
            }
            let entering = lanes_of_groups::<T, V>(|g| states[group(g)]);
            let leaving = groups_of_lanes::<T, V>(tile.pass_through::<BACKWARD>(&numbers, entering));
            if !carry.borders.pass(index, &mut states[..groups], |k, _| leaving[group(k)]) {
                return false;
            }
            tile.put_solution::<BACKWARD>(&numbers, lanes_of_groups::<T, V>(|g| states[group(g)]));
            numbers.write(x, m);
        }
        true
    }
}

/// The numbers d, y or x of the rows of a tile.
#[derive(Clone, Copy)]
struct RowNumbers<V: Lanes, E> {
    base: *mut V::Real,
    of: PhantomData<E>,
}

impl<V: Lanes, E: Element<V>> RowNumbers<V, E> {
    /// Number of reals of a row.
    const ROW: usize = STRIPES * E::REALS * V::W;

    /// # Safety
    /// Row `j` is one of the tile, or the one after it.
    #[inline(always)]
    unsafe fn place(&self, j: usize, s: usize) -> *mut V::Real {
        // SAFETY: the caller's promise.
        unsafe { self.base.add(j * Self::ROW + s * E::REALS * V::W) }
    }

    /// Copy the numbers of a tile with `m` rows per group to lanes. Numbers beyond the end are 0. With `after`, which is the number after
    /// the tile, also copy the number after each group.
    ///
    /// # Safety
    /// There is memory for m + 1 rows.
    #[inline(always)]
    unsafe fn stage<T: Scalar<Real = V::Real, Element<V> = E>>(&self, x: &[T], m: usize, after: Option<Option<T>>) {
        // SAFETY: the caller's promise; full vectors of groups exist in x.
        unsafe {
            for s in 0..STRIPES {
                let first = s * V::W * m;
                if x.len() >= first + V::W * m {
                    read::<T, V>(x.as_ptr().add(first), m, (self.place(0, s), Self::ROW));
                } else {
                    for j in 0..m {
                        self.put(j, s, |lane| x.get(first + lane * m + j).copied());
                    }
                }
                if let Some(after) = after {
                    self.put(m, s, |lane| x.get(first + lane * m + m).copied().or(after));
                }
            }
        }
    }

    /// Store a number for each lane, or 0.
    ///
    /// # Safety
    /// As [`place`](Self::place).
    #[inline(always)]
    unsafe fn put<T: Scalar<Real = V::Real>>(&self, j: usize, s: usize, of: impl Fn(usize) -> Option<T>) {
        for lane in 0..V::W {
            let value = of(lane).unwrap_or(T::ZERO);
            // SAFETY: the caller's promise.
            unsafe {
                *self.place(j, s).add(lane) = value.re();
                if T::COMPLEX {
                    *self.place(j, s).add(V::W + lane) = value.im();
                }
            }
        }
    }

    /// Copy the numbers of lanes to those of a tile with `m` rows per group.
    ///
    /// # Safety
    /// All m rows have been written.
    #[inline(always)]
    unsafe fn write<T: Scalar<Real = V::Real, Element<V> = E>>(&self, x: &mut [T], m: usize) {
        // SAFETY: the caller's promise; full vectors of groups exist in x.
        unsafe {
            for s in 0..STRIPES {
                let first = s * V::W * m;
                if x.len() >= first + V::W * m {
                    write::<T, V>((self.place(0, s), Self::ROW), m, x.as_mut_ptr().add(first));
                    continue;
                }
                for lane in 0..V::W {
                    for (j, x) in x.iter_mut().skip(first + lane * m).take(m).enumerate() {
                        let place = self.place(j, s).add(lane);
                        *x = T::from_parts(*place, if T::COMPLEX { *place.add(V::W) } else { T::Real::ZERO });
                    }
                }
            }
        }
    }
}

impl<V: Lanes, E: Element<V>, const PAIRS: bool> PivotTile<V, E, PAIRS> {
    /// Advance the state of a sweep of a solve by row `j`. Returns the state and the number to write.
    ///
    /// # Safety
    /// The factors have been computed, and the numbers have been staged.
    #[inline(always)]
    unsafe fn advance<const BACKWARD: bool, const WRITES: bool>(
        &self,
        numbers: &RowNumbers<V, E>,
        (j, s): (usize, usize),
        state: E,
    ) -> (E, E) {
        // SAFETY: the caller's promise.
        unsafe {
            let number = E::load(numbers.place(j, s));
            if BACKWARD {
                let x = E::load(self.next(j, s)).neg_mul_add(state, number);
                if !PAIRS {
                    return (x, x);
                }
                let second = V::load(self.flag(j, s)).gt(V::splat(<V::Real as Scalar>::ZERO));
                return (E::select(second, state, x), x);
            }
            let v = self.element(j, s, BY).neg_mul_add(state, self.element(j, s, PLUS) * number);
            if !PAIRS || !WRITES {
                return (v, v);
            }
            let next = E::load(numbers.place(j + 1, s));
            (v, self.element(j, s, OTHER).neg_mul_add(next, self.element(j, s, OWN) * v))
        }
    }

    /// The states after all groups, from those before.
    ///
    /// # Safety
    /// As [`advance`](Self::advance).
    #[inline(always)]
    unsafe fn pass_through<const BACKWARD: bool>(
        &self,
        numbers: &RowNumbers<V, E>,
        mut state: StripePair<E>,
    ) -> StripePair<E> {
        for step in 0..self.m {
            let j = if BACKWARD { self.m - 1 - step } else { step };
            for s in 0..STRIPES {
                // SAFETY: the caller's promise.
                (state[s], _) = unsafe { self.advance::<BACKWARD, false>(numbers, (j, s), state[s]) };
            }
        }
        state
    }

    /// Replace the numbers of the tile by the results of the sweep, from the states before all groups.
    ///
    /// # Safety
    /// As [`advance`](Self::advance).
    #[inline(always)]
    unsafe fn put_solution<const BACKWARD: bool>(&self, numbers: &RowNumbers<V, E>, mut state: StripePair<E>) {
        for step in 0..self.m {
            let j = if BACKWARD { self.m - 1 - step } else { step };
            for s in 0..STRIPES {
                // SAFETY: the caller's promise.
                unsafe {
                    let result;
                    (state[s], result) = self.advance::<BACKWARD, true>(numbers, (j, s), state[s]);
                    result.store(numbers.place(j, s));
                }
            }
        }
    }
}
