//! A group of tiles: partitions copied into cache, one a SIMD lane, swept, and copied back.
//!
//! Every method of [`Group`] that loops over vectors is a [`Job`], compiled once for each instruction set; what is not
//! inside a loop over vectors is plain code.

use super::element::Element;
use super::lanes::{Lanes, prefetch};
use super::sweep::{self, Boundary, CHECK_VECTORS, Check, Found, LanePivots, MAX_RHS, Pivots, TileRows, each};
use super::{Job, Simd, dispatch};
use crate::matrix::Rows;
use crate::scalar::Scalar;
use core::ops::Range;

/// Which rows of a system a tile holds: `lanes ≤ W` partitions of `m` rows, from row `first` on.
#[derive(Clone, Copy)]
pub struct Window {
    pub first: usize,
    pub m: usize,
    pub lanes: usize,
}

impl Window {
    /// The rows of the system that it holds.
    pub fn span(&self) -> Range<usize> {
        self.first..self.first + self.lanes * self.m
    }
}

/// How rows are scaled as they are staged, always by powers of two.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Scaling {
    /// Every row by itself: pivots become independent of row scaling.
    Rows,
    /// All rows of a partition alike: pivots are those of the unscaled matrix.
    Partition,
}

/// Right-hand sides or solutions, a slice a column; only the first few are used.
pub type Columns<'a, T> = [&'a [T]; MAX_RHS];

/// Lanes of a tile and tiles of a group, for one instruction set and number type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    pub lanes: usize,
    pub tiles: usize,
}

/// One real right-hand side: as many tiles as the registers hold. Complex numbers and several right-hand sides have
/// enough independent work in one tile.
const fn tiles<V: Lanes, E: Element<V>>(n_rhs: usize) -> usize {
    if n_rhs == 1 && E::REALS == 1 { V::TILES } else { 1 }
}

struct SizeJob(usize);

impl<T: Scalar> Job<T> for SizeJob {
    type Output = Size;
    #[inline(always)]
    fn run<V: Lanes<Real = T::Real>>(self) -> Size {
        Size { lanes: V::W, tiles: tiles::<V, T::Element<V>>(self.0) }
    }
}

impl Size {
    /// For `n_rhs` right-hand sides at a time (1 or [`MAX_RHS`]).
    pub fn of<T: Scalar>(simd: Simd, n_rhs: usize) -> Size {
        dispatch::<T, _>(simd, SizeJob(n_rhs))
    }

    /// Partitions of a group.
    pub fn partitions(&self) -> usize {
        self.lanes * self.tiles
    }

    /// Reals of memory that a group of partitions of `m` rows needs.
    pub fn memory<T: Scalar>(&self, m: usize, n_rhs: usize) -> usize {
        self.tiles * Layout::new::<T>(self.lanes, m, n_rhs).total
    }
}

/// Where the parts of one tile's memory begin, in reals.
#[derive(Clone, Copy)]
struct Layout {
    /// Reals of one element.
    element: usize,
    pivot_rows: usize,
    old: usize,
    boundary: usize,
    equations: usize,
    checks: usize,
    total: usize,
}

impl Layout {
    fn new<T: Scalar>(lanes: usize, m: usize, n_rhs: usize) -> Self {
        let element = lanes * size_of::<T>() / size_of::<T::Real>();
        let wide = (3 + n_rhs) * element;
        let pivot_rows = m * wide;
        let old = pivot_rows + m * wide;
        let boundary = old + m * n_rhs * element;
        let equations = boundary + 4 * n_rhs * element;
        let checks = equations + 2 * wide;
        let total = checks + n_rhs * CHECK_VECTORS * lanes;
        Self { element, pivot_rows, old, boundary, equations, checks, total: total.next_multiple_of(16) }
    }
}

/// A group of tiles in the memory of one thread.
pub struct Group<'a, T: Scalar> {
    simd: Simd,
    size: Size,
    n_rhs: usize,
    m: usize,
    layout: Layout,
    memory: &'a mut [T::Real],
    system: core::marker::PhantomData<T>,
}

impl<'a, T: Scalar> Group<'a, T> {
    /// Tiles for up to `count` partitions of `m` rows: one tile if that holds them, else all.
    pub fn new(simd: Simd, count: usize, m: usize, n_rhs: usize, memory: &'a mut [T::Real]) -> Self {
        let mut size = Size::of::<T>(simd, n_rhs);
        if count <= size.lanes {
            size.tiles = 1;
        }
        assert!(m >= 2 && memory.len() >= size.memory::<T>(m, n_rhs) && (n_rhs == 1 || n_rhs == MAX_RHS));
        Self {
            simd,
            size,
            n_rhs,
            m,
            layout: Layout::new::<T>(size.lanes, m, n_rhs),
            memory,
            system: Default::default(),
        }
    }

    /// Tiles and lanes.
    pub fn size(&self) -> Size {
        self.size
    }

    fn tile(&mut self, p: usize) -> &mut [T::Real] {
        let total = self.layout.total;
        &mut self.memory[p * total..(p + 1) * total]
    }

    /// Rows of tile `p`, and the memory of its pivot rows as scalars.
    fn tile_parts(&mut self, p: usize) -> (&mut [T::Real], &mut [T]) {
        let layout = self.layout;
        let (rows, rest) = self.tile(p).split_at_mut(layout.pivot_rows);
        (rows, bytemuck::cast_slice_mut(&mut rest[..layout.pivot_rows]))
    }

    /// Row stride of a tile.
    fn stride(&self) -> usize {
        (3 + self.n_rhs) * self.layout.element
    }

    /// Instruction set.
    pub(super) fn simd(&self) -> Simd {
        self.simd
    }

    /// Memory of tile `p`, row after row (sub, diag, sup, right-hand sides), and the reals of an element.
    pub(super) fn tile_memory(&mut self, p: usize) -> (&mut [T::Real], usize) {
        let element = self.layout.element;
        (self.tile(p), element)
    }

    /// Copies x (one right-hand side) of `m` rows from row `first` on to `out`, lane after lane, for `lanes` lanes.
    pub(super) fn write_rows(&mut self, p: usize, first: usize, m: usize, lanes: usize, out: &mut [T]) {
        let first = first * self.stride() + 3 * self.layout.element;
        self.copy_out(p, first, (m, lanes), false, out);
    }

    /// Copies `m` scalars of each of the first `lanes` lanes of tile `p`, from real `first` on, a row apart.
    fn copy_out(&mut self, p: usize, first: usize, (m, lanes): (usize, usize), stream: bool, out: &mut [T]) {
        let (width, stride, simd, buffer) = (self.size.lanes, self.stride(), self.simd, self.layout.pivot_rows);
        let tile = self.tile(p);
        if lanes == width {
            return dispatch::<T, _>(simd, WriteBack { tile, first, stride, m, buffer, stream, out });
        }
        for (i, x) in out.iter_mut().enumerate() {
            *x = get::<T>(tile, first + i % m * stride, width, i / m);
        }
    }

    /// Copies a window of the system into tile `p` and scales its rows. `rhs` holds the window's rows only. Idle lanes
    /// repeat the first one.
    pub fn stage(&mut self, p: usize, rows: &Rows<T>, rhs: Columns<T>, window: Window, scaling: Scaling) {
        let (lanes, m, n_rhs, simd) = (self.size.lanes, self.m, self.n_rhs, self.simd);
        let (n, span) = (rows.n(), window.span());
        let full = window.lanes == lanes;
        let (tile, spare) = self.tile_parts(p);
        let mut spare = spare.chunks_exact_mut(lanes * m);
        // What does not lie in memory as the gather wants it is put together first.
        let mut copy = |array: &[T], before: Option<T>, after: Option<T>| -> Option<&[T]> {
            let place = spare.next()?;
            let (head, len) = (usize::from(before.is_some()), window.lanes * m);
            place[..head].copy_from_slice(before.as_slice());
            place[head..head + array.len()].copy_from_slice(array);
            place[head + array.len()..len].copy_from_slice(after.as_slice());
            for lane in window.lanes..lanes {
                place.copy_within(..m, lane * m);
            }
            Some(place)
        };
        let mut sources = [None; 3 + MAX_RHS];
        sources[0] = match (span.start, full) {
            (0, _) => copy(&rows.sub[..span.end - 1], Some(rows.first), None),
            (start, false) => copy(&rows.sub[start - 1..span.end - 1], None, None),
            (start, true) => Some(&rows.sub[start - 1..span.end - 1]),
        };
        sources[2] = match (span.end == n, full) {
            (true, _) => copy(&rows.sup[span.start..], None, Some(rows.last)),
            (false, false) => copy(&rows.sup[span.clone()], None, None),
            (false, true) => Some(&rows.sup[span.clone()]),
        };
        let diag = &rows.diag[span];
        sources[1] = if full { Some(diag) } else { copy(diag, None, None) };
        for r in 0..n_rhs {
            sources[3 + r] = if full { Some(rhs[r]) } else { copy(rhs[r], None, None) };
        }
        let conj = rows.conj;
        dispatch::<T, _>(simd, Stage { tile, open: false, sources, n_rhs, m, scaling, conj });
    }

    /// Turns the right-hand sides of staged tile `p` into residuals of the old solution `x` (the window's rows), which is
    /// staged too. `around(r, lane)` gives the old solution before and after the partition.
    pub fn form_residual(&mut self, p: usize, x: Columns<T>, window: Window, around: impl Fn(usize, usize) -> [T; 2]) {
        let (lanes, m, n_rhs, layout) = (self.size.lanes, self.m, self.n_rhs, self.layout);
        let simd = self.simd;
        let tile = self.tile(p);
        for r in 0..n_rhs {
            let column = |i: usize| x[r][i - window.first];
            fill::<T>(tile, (layout.old + r * layout.element, n_rhs * layout.element, lanes), window, column);
            for lane in 0..lanes {
                let [before, after] = around(r, if lane < window.lanes { lane } else { 0 });
                put::<T>(tile, layout.boundary + r * layout.element, lanes, lane, before);
                put::<T>(tile, layout.boundary + (n_rhs + r) * layout.element, lanes, lane, after);
            }
        }
        dispatch::<T, _>(simd, Residual { tile, layout, n_rhs, m, system: core::marker::PhantomData::<T> });
    }

    /// Eliminates the inside of every partition; [`write_equations`](Self::write_equations) copies what is left.
    pub fn reduce(&mut self, pivots: Pivots<T::Real>, ahead: &Ahead) {
        let job = Reduce::<T> { group: self.parts(), pivots, ahead };
        dispatch::<T, _>(self.simd, job);
    }

    /// Copies array `k` (0, 1, 2: what multiplies the coarse unknown to the left, the own one, the one to the right; 3 + r:
    /// right-hand side r) of the top and bottom equations of tile `p` to consecutive rows of the coarse system.
    pub fn write_equations(&mut self, p: usize, k: usize, out: &mut [T]) {
        let (lanes, simd, layout, row) = (self.size.lanes, self.simd, self.layout, self.stride());
        let tile = self.tile(p);
        let first = layout.equations + k * layout.element;
        if out.len() == 2 * lanes {
            return dispatch::<T, _>(simd, WriteEquations { tile, first, row, out });
        }
        for (i, x) in out.iter_mut().enumerate() {
            *x = get::<T>(tile, first + i % 2 * row, lanes, i / 2);
        }
    }

    /// The unknowns around the partition in lane `lane` of tile `p`: before, first, last, after.
    #[inline]
    pub fn set_boundary(&mut self, p: usize, lane: usize, r: usize, x: [T; 4]) {
        let (lanes, n_rhs, layout) = (self.size.lanes, self.n_rhs, self.layout);
        let tile = self.tile(p);
        for (k, x) in x.into_iter().enumerate() {
            put::<T>(tile, layout.boundary + (k * n_rhs + r) * layout.element, lanes, lane, x);
        }
    }

    /// The same for all lanes of tile `p`, each of which is a partition with neighbours: `coarse` holds the coarse unknowns
    /// from the one before the first partition to the one after the last.
    pub fn set_boundaries(&mut self, p: usize, r: usize, coarse: &[T]) {
        let (lanes, n_rhs, layout, simd) = (self.size.lanes, self.n_rhs, self.layout, self.simd);
        assert_eq!(coarse.len(), 2 * lanes + 2);
        let tile = self.tile(p);
        let job =
            Boundaries { tile, first: layout.boundary + r * layout.element, step: n_rhs * layout.element, coarse };
        dispatch::<T, _>(simd, job);
    }

    /// Solves for the inner unknowns; x replaces the right-hand sides. With `verify`, [`check`](Self::check) reads what
    /// the residuals amount to; `x_max` are known lower bounds of ‖x‖∞.
    pub fn substitute(&mut self, pivots: Pivots<T::Real>, x_max: [T::Real; MAX_RHS], verify: bool, ahead: &Ahead) {
        let job = Substitute::<T> { group: self.parts(), pivots, x_max, verify, ahead };
        dispatch::<T, _>(self.simd, job);
    }

    /// What the residuals of right-hand side `r` amount to in this group.
    pub fn check(&self, r: usize) -> Found {
        let len = CHECK_VECTORS * self.size.lanes;
        let slack = if T::COMPLEX { sweep::COMPLEX_SLACK * sweep::COMPLEX_SLACK } else { 1.0 };
        let stored = |p: usize| p * self.layout.total + self.layout.checks + r * len;
        let tiles = (0..self.size.tiles).map(|p| sweep::read_check(&self.memory[stored(p)..stored(p) + len], slack));
        tiles.fold(Found::default(), Found::and)
    }

    /// Adds the old solution to the x of tile `p`.
    pub fn add_old(&mut self, p: usize) {
        let (layout, n_rhs, m, simd) = (self.layout, self.n_rhs, self.m, self.simd);
        let tile = self.tile(p);
        dispatch::<T, _>(simd, AddOld { tile, layout, n_rhs, m, system: core::marker::PhantomData::<T> });
    }

    /// Copies x of right-hand side `r` from tile `p` to `out`, past the caches if `stream`.
    pub fn write_back(&mut self, p: usize, r: usize, window: Window, stream: bool, out: &mut [T]) {
        let first = (3 + r) * self.layout.element;
        self.copy_out(p, first, (self.m, window.lanes), stream, out);
    }

    fn parts(&mut self) -> GroupParts<T> {
        GroupParts {
            base: self.memory.as_mut_ptr(),
            layout: self.layout,
            m: self.m,
            size: self.size,
            n_rhs: self.n_rhs,
        }
    }
}

/// Lane `lane` of the element at `base`.
#[inline(always)]
fn get<T: Scalar>(memory: &[T::Real], base: usize, lanes: usize, lane: usize) -> T {
    let im = if T::COMPLEX { memory[base + lanes + lane] } else { T::Real::ZERO };
    T::from_parts(memory[base + lane], im)
}

#[inline(always)]
fn put<T: Scalar>(memory: &mut [T::Real], base: usize, lanes: usize, lane: usize, x: T) {
    memory[base + lane] = x.re();
    if T::COMPLEX {
        memory[base + lanes + lane] = x.im();
    }
}

/// Copies a window one number at a time, for tiles at the ends of a system: `at(i)` is the scalar of row i. Idle lanes
/// repeat lane 0. `place`: where the array begins, row stride, lanes.
#[inline]
fn fill<T: Scalar>(
    tile: &mut [T::Real],
    (base, stride, lanes): (usize, usize, usize),
    window: Window,
    at: impl Fn(usize) -> T,
) {
    for j in 0..window.m {
        let row = base + j * stride;
        let own = at(window.first + j);
        tile[row..row + lanes].fill(own.re());
        if T::COMPLEX {
            tile[row + lanes..row + 2 * lanes].fill(own.im());
        }
        for lane in 1..window.lanes {
            put::<T>(tile, row, lanes, lane, at(window.first + lane * window.m + j));
        }
    }
}

/// Rows of a tile whose number of right-hand sides is not a constant.
#[derive(Clone, Copy)]
struct Grid<T: Scalar> {
    base: *mut T::Real,
    /// Reals of a row and of an element.
    row: usize,
    element: usize,
}

impl<T: Scalar> Grid<T> {
    /// # Safety
    /// Row `j`, array `k` lies inside the tile.
    #[inline(always)]
    unsafe fn array(&self, j: usize, k: usize) -> *mut T::Real {
        // SAFETY: the caller's promise.
        unsafe { self.base.add(j * self.row + k * self.element) }
    }
}

struct Stage<'a, T: Scalar> {
    /// Memory from the first row on.
    tile: &'a mut [T::Real],
    /// Every lane is a system of its own: what stands in the first `sub` and the last `sup` is ignored.
    open: bool,
    sources: [Option<&'a [T]>; 3 + MAX_RHS],
    n_rhs: usize,
    m: usize,
    scaling: Scaling,
    conj: bool,
}

impl<T: Scalar> Stage<'_, T> {
    /// Array `k` of rows `j` and following (four of them, two if complex), transposed; what was filled before is loaded.
    #[inline(always)]
    fn columns<V: Lanes<Real = T::Real>>(&self, tile: Grid<T>, m: usize, j: usize, k: usize) -> [V; 4] {
        let reals = T::Element::<V>::REALS;
        // SAFETY: rows j .. j + 4/reals are inside tile and source.
        unsafe {
            if let Some(source) = self.sources[k] {
                return V::load_columns(source.as_ptr().cast::<T::Real>().add(j * reals), m * reals);
            }
            let x = tile.array(j, k);
            let step = steps::<T, V>(tile.row);
            [V::load(x), V::load(x.add(step[1])), V::load(x.add(step[2])), V::load(x.add(step[3]))]
        }
    }

    /// Stages the first and the last row again, without the entries that are ignored.
    #[inline(always)]
    fn close_ends<V: Lanes<Real = T::Real>>(&self, tile: Grid<T>, m: usize, n_rhs: usize) {
        for j in [0, m - 1] {
            let zero = T::Element::<V>::splat(T::Real::ZERO);
            let sub = if j == 0 { zero } else { self.single::<V>(tile, j, 0) };
            let sup = if j + 1 == m { zero } else { self.single::<V>(tile, j, 2) };
            let scale = self.finish::<V>(tile, j, [sub, self.single::<V>(tile, j, 1), sup]);
            for k in 3..3 + n_rhs {
                let x = self.single::<V>(tile, j, k).scale(scale);
                // SAFETY: row j is inside the tile.
                unsafe { x.store(tile.array(j, k)) }
            }
        }
    }

    /// The same for row `j` alone.
    #[inline(always)]
    fn single<V: Lanes<Real = T::Real>>(&self, tile: Grid<T>, j: usize, k: usize) -> T::Element<V> {
        if let Some(source) = self.sources[k] {
            for lane in 0..V::W {
                let x = source[lane * self.m + j];
                // SAFETY: row j is inside the tile.
                unsafe {
                    let p = tile.array(j, k).add(lane);
                    *p = x.re();
                    if T::COMPLEX {
                        *p.add(V::W) = x.im();
                    }
                }
            }
        }
        // SAFETY: the same.
        unsafe { T::Element::<V>::load(tile.array(j, k)) }
    }

    /// Scales row `j` by a power of two that brings its largest entry near 1, and stores it.
    #[inline(always)]
    fn finish<V: Lanes<Real = T::Real>>(&self, tile: Grid<T>, j: usize, matrix: [T::Element<V>; 3]) -> V {
        let size = T::Element::<V>::largest(matrix[0], matrix[1], matrix[2]);
        let scale = match self.scaling {
            Scaling::Rows => size.equilibrate(),
            Scaling::Partition => V::splat(T::Real::ONE),
        };
        for k in 0..3 {
            let x = matrix[k].scale(scale);
            let x = if T::COMPLEX && self.conj { x.conj() } else { x };
            // SAFETY: row j is inside the tile.
            unsafe { x.store(tile.array(j, k)) }
        }
        scale
    }

    #[inline(always)]
    fn stage<V: Lanes<Real = T::Real>>(&mut self, m: usize, n_rhs: usize) {
        let reals = T::Element::<V>::REALS;
        let (element, block) = (reals * V::W, 4 / reals);
        let tile = Grid::<T> { base: self.tile.as_mut_ptr(), row: (3 + n_rhs) * element, element };

        for j in (0..m / block).map(|i| i * block) {
            let [sub, diag, sup] =
                [self.columns::<V>(tile, m, j, 0), self.columns::<V>(tile, m, j, 1), self.columns::<V>(tile, m, j, 2)];
            let mut scales = [V::splat(T::Real::ONE); 4];
            for i in 0..block {
                let matrix = [
                    T::Element::<V>::from_columns(&sub[i * reals..]),
                    T::Element::<V>::from_columns(&diag[i * reals..]),
                    T::Element::<V>::from_columns(&sup[i * reals..]),
                ];
                scales[i] = self.finish::<V>(tile, j + i, matrix);
            }
            for k in 3..3 + n_rhs {
                let rhs = self.columns::<V>(tile, m, j, k);
                for i in 0..block {
                    let x = T::Element::<V>::from_columns(&rhs[i * reals..]).scale(scales[i]);
                    // SAFETY: row j + i is inside the tile.
                    unsafe { x.store(tile.array(j + i, k)) }
                }
            }
        }
        for j in m / block * block..m {
            let matrix = [self.single::<V>(tile, j, 0), self.single::<V>(tile, j, 1), self.single::<V>(tile, j, 2)];
            let scale = self.finish::<V>(tile, j, matrix);
            for k in 3..3 + n_rhs {
                let x = self.single::<V>(tile, j, k).scale(scale);
                // SAFETY: row j is inside the tile.
                unsafe { x.store(tile.array(j, k)) }
            }
        }
        if self.open {
            self.close_ends::<V>(tile, m, n_rhs);
        }
        if self.scaling == Scaling::Partition {
            // SAFETY: the tile was sized for m rows of 3 + n_rhs elements.
            unsafe { scale_alike::<T, V>(tile, n_rhs, m) }
        }
    }
}

impl<T: Scalar> Job<T> for Stage<'_, T> {
    type Output = ();
    #[inline(always)]
    fn run<V: Lanes<Real = T::Real>>(mut self) {
        assert!(self.sources.iter().flatten().all(|source| source.len() == V::W * self.m));
        // With a constant number of rows all addresses are constant offsets: half the instructions.
        match (self.m, self.n_rhs) {
            (32, 1) => self.stage::<V>(32, 1),
            (16, 1) => self.stage::<V>(16, 1),
            (m, n_rhs) => self.stage::<V>(m, n_rhs),
        }
    }
}

/// Stages tiles whose lanes are systems of `m` rows with one right-hand side; arrays without a source stand in `tile`.
pub(super) fn stage_open<T: Scalar>(
    simd: Simd,
    tile: &mut [T::Real],
    [sub, diag, sup, rhs]: [Option<&[T]>; 4],
    m: usize,
    scaling: Scaling,
    conj: bool,
) {
    let mut sources = [None; 3 + MAX_RHS];
    sources[..4].copy_from_slice(&[sub, diag, sup, rhs]);
    dispatch::<T, _>(simd, Stage { tile, open: true, sources, n_rhs: 1, m, scaling, conj });
}

/// Where the four vectors of four real or two complex rows lie, `stride` apart.
#[inline(always)]
fn steps<T: Scalar, V: Lanes<Real = T::Real>>(stride: usize) -> [usize; 4] {
    if T::COMPLEX { [0, V::W, stride, stride + V::W] } else { [0, stride, 2 * stride, 3 * stride] }
}

/// Multiplies all rows of a partition by one power of two that brings its largest entry near 1.
///
/// # Safety
/// The tile holds `m` rows of 3 + n_rhs elements.
#[inline(always)]
unsafe fn scale_alike<T: Scalar, V: Lanes<Real = T::Real>>(tile: Grid<T>, n_rhs: usize, m: usize) {
    let mut size = V::splat(T::Real::ZERO);
    for j in 0..m {
        for k in 0..3 {
            // SAFETY: row j < m, array k < 3 + n_rhs.
            unsafe { size = T::Element::<V>::load(tile.array(j, k)).abs1().max(size) }
        }
    }
    let scale = size.equilibrate();
    for j in 0..m {
        for k in 0..3 + n_rhs {
            // SAFETY: the same.
            unsafe {
                let p = tile.array(j, k);
                T::Element::<V>::load(p).scale(scale).store(p);
            }
        }
    }
}

struct WriteEquations<'a, T: Scalar> {
    tile: &'a mut [T::Real],
    first: usize,
    row: usize,
    out: &'a mut [T],
}

impl<T: Scalar> Job<T> for WriteEquations<'_, T> {
    type Output = ();
    #[inline(always)]
    fn run<V: Lanes<Real = T::Real>>(self) {
        assert_eq!(self.out.len(), 2 * V::W);
        let (base, out) = (self.tile.as_ptr(), self.out.as_mut_ptr().cast::<T::Real>());
        // SAFETY: two elements of the tile's equations, 2·W scalars of `out`.
        unsafe {
            let top = T::Element::<V>::load(base.add(self.first)).columns();
            let bottom = T::Element::<V>::load(base.add(self.first + self.row)).columns();
            if T::COMPLEX {
                V::store_columns([top[0], top[1], bottom[0], bottom[1]], out, 4);
            } else {
                let [low, high] = top[0].interleave(bottom[0]);
                low.store(out);
                high.store(out.add(V::W));
            }
        }
    }
}

struct Boundaries<'a, T: Scalar> {
    tile: &'a mut [T::Real],
    first: usize,
    step: usize,
    coarse: &'a [T],
}

impl<T: Scalar> Job<T> for Boundaries<'_, T> {
    type Output = ();
    #[inline(always)]
    fn run<V: Lanes<Real = T::Real>>(self) {
        assert_eq!(self.coarse.len(), 2 * V::W + 2);
        let (base, coarse) = (self.tile.as_mut_ptr(), self.coarse.as_ptr().cast::<T::Real>());
        let reals = T::Element::<V>::REALS;
        // SAFETY: four scalars for each of W partitions, two apart; four elements of the tile.
        unsafe {
            let columns = V::load_columns(coarse, 2 * reals);
            if T::COMPLEX {
                let more = V::load_columns(coarse.add(4), 2 * reals);
                for (k, pair) in [&columns[..2], &columns[2..], &more[..2], &more[2..]].into_iter().enumerate() {
                    T::Element::<V>::from_columns(pair).store(base.add(self.first + k * self.step));
                }
            } else {
                for (k, column) in columns.into_iter().enumerate() {
                    column.store(base.add(self.first + k * self.step));
                }
            }
        }
    }
}

struct Residual<'a, T: Scalar> {
    tile: &'a mut [T::Real],
    layout: Layout,
    n_rhs: usize,
    m: usize,
    system: core::marker::PhantomData<T>,
}

impl<T: Scalar> Job<T> for Residual<'_, T> {
    type Output = ();
    #[inline(always)]
    fn run<V: Lanes<Real = T::Real>>(self) {
        let (layout, n_rhs, base) = (self.layout, self.n_rhs, self.tile.as_mut_ptr());
        let tile = Grid::<T> { base, row: (3 + n_rhs) * layout.element, element: layout.element };
        for r in 0..n_rhs {
            // SAFETY: all inside the tile's memory: j < m, and the boundary has four elements a right-hand side.
            unsafe {
                let x = base.add(layout.old + r * layout.element);
                let sides = base.add(layout.boundary + r * layout.element);
                let mut left = T::Element::<V>::load(sides);
                let mut mid = T::Element::<V>::load(x);
                for j in 0..self.m {
                    let next = if j + 1 < self.m {
                        x.add((j + 1) * n_rhs * layout.element)
                    } else {
                        sides.add(n_rhs * layout.element)
                    };
                    let right = T::Element::<V>::load(next);
                    let sub = T::Element::<V>::load(tile.array(j, 0));
                    let diag = T::Element::<V>::load(tile.array(j, 1));
                    let sup = T::Element::<V>::load(tile.array(j, 2));
                    let rhs = tile.array(j, 3 + r);
                    let rest = diag.neg_mul_add(mid, sup.neg_mul_add(right, T::Element::<V>::load(rhs)));
                    sub.neg_mul_add(left, rest).store(rhs);
                    (left, mid) = (mid, right);
                }
            }
        }
    }
}

struct AddOld<'a, T: Scalar> {
    tile: &'a mut [T::Real],
    layout: Layout,
    n_rhs: usize,
    m: usize,
    system: core::marker::PhantomData<T>,
}

impl<T: Scalar> Job<T> for AddOld<'_, T> {
    type Output = ();
    #[inline(always)]
    fn run<V: Lanes<Real = T::Real>>(self) {
        let (layout, n_rhs) = (self.layout, self.n_rhs);
        let element = layout.element;
        let tile = Grid::<T> { base: self.tile.as_mut_ptr(), row: (3 + n_rhs) * element, element };
        let old = Grid::<T> { base: tile.base.wrapping_add(layout.old), row: n_rhs * element, element };
        for j in 0..self.m {
            for r in 0..n_rhs {
                // SAFETY: all inside the tile's memory.
                unsafe {
                    let x = tile.array(j, 3 + r);
                    let sum = T::Element::<V>::load(x) + T::Element::<V>::load(old.array(j, r));
                    sum.store(x);
                }
            }
        }
    }
}

struct WriteBack<'a, T: Scalar> {
    tile: &'a mut [T::Real],
    first: usize,
    stride: usize,
    m: usize,
    /// Memory of the tile that is no longer needed.
    buffer: usize,
    stream: bool,
    out: &'a mut [T],
}

impl<T: Scalar> Job<T> for WriteBack<'_, T> {
    type Output = ();
    #[inline(always)]
    fn run<V: Lanes<Real = T::Real>>(self) {
        assert_eq!(self.out.len(), V::W * self.m);
        match (self.m, self.stride) {
            (32, stride) if stride == 4 * T::Element::<V>::REALS * V::W => {
                self.write::<V>(32, 4 * T::Element::<V>::REALS * V::W);
            }
            (m, stride) => self.write::<V>(m, stride),
        }
    }
}

impl<T: Scalar> WriteBack<'_, T> {
    #[inline(always)]
    fn write<V: Lanes<Real = T::Real>>(self, m: usize, stride: usize) {
        let (base, reals) = (self.tile.as_mut_ptr(), T::Element::<V>::REALS);
        let out = self.out.as_mut_ptr().cast::<T::Real>();
        let target = if self.stream { base.wrapping_add(self.buffer) } else { out };
        let block = 4 / reals;
        // SAFETY: x stands in rows 0..m of the tile; the pivot rows, used as buffer, are larger than W·m scalars.
        unsafe {
            for j in (0..m / block).map(|i| i * block) {
                let x = base.add(self.first + j * stride);
                let step = steps::<T, V>(stride);
                let columns = [V::load(x), V::load(x.add(step[1])), V::load(x.add(step[2])), V::load(x.add(step[3]))];
                V::store_columns(columns, target.add(j * reals), m * reals);
            }
            for j in m / block * block..m {
                for lane in 0..V::W {
                    for part in 0..reals {
                        *target.add((lane * m + j) * reals + part) =
                            *base.add(self.first + j * stride + part * V::W + lane);
                    }
                }
            }
            if self.stream {
                copy_streaming::<V>(target, out, V::W * m * reals);
            }
        }
    }
}

/// Copies with stores that bypass the caches: for results that will not be read again soon.
///
/// # Safety
/// `len` numbers are readable at `src`, writable at `dst`.
#[inline(always)]
unsafe fn copy_streaming<V: Lanes>(src: *const V::Real, dst: *mut V::Real, len: usize) {
    let head = dst.align_offset(V::W * size_of::<V::Real>()).min(len);
    let tail = head + (len - head) / V::W * V::W;
    // SAFETY: the caller's promise; from `head` on, `dst` is aligned.
    unsafe {
        core::ptr::copy_nonoverlapping(src, dst, head);
        for i in (head..tail).step_by(V::W) {
            V::load(src.add(i)).stream(dst.add(i));
        }
        core::ptr::copy_nonoverlapping(src.add(tail), dst.add(tail), len - tail);
    }
}

/// Makes streamed stores visible before what follows.
pub fn fence() {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: SSE is part of the architecture.
    unsafe {
        core::arch::x86_64::_mm_sfence()
    }
}

/// The parts of a group that the sweeps need, as pointers.
#[derive(Clone, Copy)]
struct GroupParts<T: Scalar> {
    base: *mut T::Real,
    layout: Layout,
    m: usize,
    size: Size,
    n_rhs: usize,
}

impl<T: Scalar> GroupParts<T> {
    #[inline(always)]
    fn rows<const P: usize, const R: usize>(&self, offset: usize) -> [TileRows<T::Real, R>; P] {
        let mut rows = [TileRows { base: self.base.wrapping_add(offset) }; P];
        for p in 1..P {
            rows[p].base = rows[p - 1].base.wrapping_add(self.layout.total);
        }
        rows
    }
}

struct Reduce<'a, T: Scalar> {
    group: GroupParts<T>,
    pivots: Pivots<T::Real>,
    ahead: &'a Ahead,
}

impl<T: Scalar> Reduce<'_, T> {
    #[inline(always)]
    fn sweep<V: Lanes<Real = T::Real>, const P: usize, const R: usize>(&self) {
        // The noise threshold is rarely used and is compiled for plain arrays only.
        if const { V::PORTABLE } && self.pivots.noise > T::Real::ZERO {
            self.sweep_with::<V, P, R, true>();
        } else {
            self.sweep_with::<V, P, R, false>();
        }
    }

    #[inline(always)]
    fn sweep_with<V: Lanes<Real = T::Real>, const P: usize, const R: usize, const NOISE: bool>(&self) {
        let group = &self.group;
        let (tiles, pivots) = (group.rows::<P, R>(0), LanePivots::<V, NOISE>::new(&self.pivots));
        let ahead = *self.ahead;
        // SAFETY: `Group::new` checked that P tiles of m ≥ 2 rows fit; the equations have their place behind them.
        unsafe {
            let equations = sweep::reduce::<V, T::Element<V>, P, R, NOISE>(tiles, group.m, pivots, |j| ahead.step(j));
            for p in 0..P {
                let out = TileRows::<T::Real, R> { base: tiles[p].base.add(group.layout.equations) };
                for second in 0..2 {
                    let chain = equations[p][second];
                    // The far end of the partition is to the right of the top equation, to the left of the bottom one.
                    let (left, right) = if second == 0 { (chain.next, chain.spike) } else { (chain.spike, chain.next) };
                    let row = sweep::Row { sub: left, diag: chain.near, sup: right, rhs: chain.rhs };
                    out.put_row::<V, T::Element<V>>(second, &row);
                }
            }
        }
    }
}

impl<T: Scalar> Job<T> for Reduce<'_, T> {
    type Output = ();
    #[inline(always)]
    fn run<V: Lanes<Real = T::Real>>(self) {
        match (self.group.n_rhs, self.group.size.tiles) {
            (1, 1) => self.sweep::<V, 1, 1>(),
            (1, _) => {
                if const { tiles::<V, T::Element<V>>(1) > 1 } {
                    self.sweep::<V, 2, 1>();
                }
            }
            _ => self.sweep::<V, 1, MAX_RHS>(),
        }
    }
}

struct Substitute<'a, T: Scalar> {
    group: GroupParts<T>,
    pivots: Pivots<T::Real>,
    x_max: [T::Real; MAX_RHS],
    verify: bool,
    ahead: &'a Ahead,
}

impl<T: Scalar> Substitute<'_, T> {
    #[inline(always)]
    fn sweep<V: Lanes<Real = T::Real>, const P: usize, const R: usize>(&self) {
        match (const { V::PORTABLE } && self.pivots.noise > T::Real::ZERO, self.verify) {
            (false, true) => self.sweep_with::<V, P, R, true, false>(),
            (false, false) => self.sweep_with::<V, P, R, false, false>(),
            (true, _) => {
                if const { V::PORTABLE } {
                    self.sweep_with::<V, P, R, true, true>();
                }
            }
        }
    }

    #[inline(always)]
    fn sweep_with<V: Lanes<Real = T::Real>, const P: usize, const R: usize, const VERIFY: bool, const NOISE: bool>(
        &self,
    ) {
        let group = &self.group;
        let (tiles, pivot_rows) = (group.rows::<P, R>(0), group.rows::<P, R>(group.layout.pivot_rows));
        let (element, ahead) = (group.layout.element, *self.ahead);
        // SAFETY: `Group::new` checked that P tiles of m ≥ 2 rows, their pivot rows, boundaries and checks fit.
        unsafe {
            let zero = [T::Element::<V>::splat(T::Real::ZERO); R];
            let mut boundary = [Boundary { before: zero, first: zero, last: zero, after: zero }; P];
            for p in 0..P {
                let base = tiles[p].base.add(group.layout.boundary);
                for r in 0..R {
                    let own = base.add(r * element);
                    boundary[p].before[r] = T::Element::<V>::load(own);
                    boundary[p].first[r] = T::Element::<V>::load(own.add(R * element));
                    boundary[p].last[r] = T::Element::<V>::load(own.add(2 * R * element));
                    boundary[p].after[r] = T::Element::<V>::load(own.add(3 * R * element));
                }
            }
            let mut checks = [each!(r < R, Check::<V>::new(self.x_max[0]), Check::new(self.x_max[r])); P];
            let pivots = LanePivots::<V, NOISE>::new(&self.pivots);
            sweep::substitute::<V, T::Element<V>, P, R, VERIFY, NOISE>(
                tiles,
                pivot_rows,
                group.m,
                pivots,
                &boundary,
                &mut checks,
                |j| ahead.step(j),
            );
            for p in 0..P {
                for r in 0..R {
                    checks[p][r].store(tiles[p].base.add(group.layout.checks + r * CHECK_VECTORS * V::W));
                }
            }
        }
    }
}

impl<T: Scalar> Job<T> for Substitute<'_, T> {
    type Output = ();
    #[inline(always)]
    fn run<V: Lanes<Real = T::Real>>(self) {
        match (self.group.n_rhs, self.group.size.tiles) {
            (1, 1) => self.sweep::<V, 1, 1>(),
            (1, _) => {
                if const { tiles::<V, T::Element<V>>(1) > 1 } {
                    self.sweep::<V, 2, 1>();
                }
            }
            _ => self.sweep::<V, 1, MAX_RHS>(),
        }
    }
}

/// Spreads the prefetching of the next group over the steps of a sweep.
#[derive(Clone, Copy)]
pub struct Ahead {
    arrays: [*const u8; 4],
    /// Bytes of each array that a step asks for: whole cache lines.
    per_step: usize,
}

impl Ahead {
    /// `arrays`: where the next group begins; `bytes`: how much of each it takes; `steps` of the sweep.
    pub fn new(arrays: [*const u8; 4], bytes: usize, steps: usize) -> Self {
        Self { arrays, per_step: bytes.div_ceil(64 * steps.max(1)) * 64 }
    }

    /// Nothing to prefetch: all is in cache.
    pub fn nothing() -> Self {
        Self { arrays: [core::ptr::null(); 4], per_step: 0 }
    }

    /// The share of step `j`, counted from 2.
    #[inline(always)]
    fn step(&self, j: usize) {
        let first = (j - 2) * self.per_step;
        for at in (first..first + self.per_step).step_by(64) {
            for array in self.arrays {
                prefetch(array.wrapping_add(at));
            }
        }
    }
}
