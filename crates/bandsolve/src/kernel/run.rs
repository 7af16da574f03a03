//! Runs of tiles: the loops of `reduce` and `substitute`, from the caller's arrays to the coarse system and to x.
//!
//! A sweep waits for its own last step, the staging of a tile for nothing; so they are interleaved, row by row: while a
//! tile is staged its rows are eliminated downwards, and in `reduce` those of the tile before upwards.
//!
//! Everything that loops over vectors is a [`Job`], compiled once for each instruction set.

use super::element::Element;
use super::lanes::Lanes;
pub use super::sweep::Found;
use super::sweep::{
    self, Boundary, CHECK_VECTORS, Chain, Check, Choice, Eliminator, LanePivots, MAX_RHS, Pivots, Rotation, Row,
    check_row, each, prefer_first_row, rule,
};
use super::tile::{ARRAYS, BLOCK, Scaling, Source, Strides, TileRows, copy_streaming, opaque};
use super::{Job, Machine, Simd};
use crate::matrix::Rows;
use crate::scalar::{RealScalar, Scalar};

/// Right-hand sides or solutions, a slice a column; only the first few are used.
pub type Columns<'a, T> = [&'a [T]; MAX_RHS];
/// The same, to be written.
pub type ColumnsMut<'a, T> = [&'a mut [T]; MAX_RHS];

/// Partitions of a run: `tiles` tiles of `lanes` partitions of `m` rows, from row `first` of the system on. Where `lanes` is
/// less than a vector has, there is one tile.
#[derive(Debug, Clone, Copy)]
pub struct Span {
    pub first: usize,
    pub m: usize,
    pub lanes: usize,
    pub tiles: usize,
}

impl Span {
    /// Partitions.
    pub fn partitions(&self) -> usize {
        self.tiles * self.lanes
    }

    /// Rows.
    pub fn rows(&self) -> usize {
        self.partitions() * self.m
    }
}

/// How a run is done.
#[derive(Clone, Copy)]
pub struct How<X> {
    pub pivots: Pivots<X>,
    pub scaling: Scaling,
}

/// Where the parts of a thread's memory begin, in reals.
#[derive(Debug, Clone, Copy)]
struct Layout {
    /// Reals of W scalars.
    element: usize,
    /// Reals of one array of a tile: W·m scalars.
    array: usize,
    /// A second tile, or the pivot rows.
    second: usize,
    /// Copies of what does not lie in memory as tiles want it.
    copies: usize,
    /// Coarse unknowns around the partitions of a tile that is not full, and their gaps.
    around: usize,
    total: usize,
}

impl Layout {
    fn new<T: Scalar>(lanes: usize, m: usize, n_rhs: usize, tiles: usize) -> Self {
        let element = lanes * size_of::<T>() / size_of::<T::Real>();
        let tile = m * (3 + n_rhs) * element;
        let second = tiles * tile;
        let around = second + 2 * tile;
        let total = around + n_rhs * (4 * element + lanes);
        Self { element, array: m * element, second, copies: second + tile, around, total: total.next_multiple_of(16) }
    }
}

/// Reals of memory that runs of partitions of up to `m` rows need, `tiles` of them staged together.
pub fn memory<T: Scalar>(simd: Simd, m: usize, n_rhs: usize, tiles: usize) -> usize {
    Layout::new::<T>(T::lanes(simd), m, n_rhs, tiles).total
}

/// The memory of one thread.
pub struct Workspace<'a, T: Scalar> {
    pub(super) simd: Simd,
    /// Of a vector.
    pub(super) lanes: usize,
    n_rhs: usize,
    /// Tiles that are staged together.
    pub(super) tiles: usize,
    memory: &'a mut [T::Real],
}

/// Tiles one after the other.
#[derive(Clone, Copy)]
pub(super) struct Run<T: Scalar> {
    /// The first tile, as it lies in memory.
    pub(super) plain: Source<T>,
    /// First and last tile, with what has no place in memory.
    pub(super) first: [*const T; ARRAYS],
    pub(super) last: [*const T; ARRAYS],
    pub(super) tiles: usize,
    pub(super) m: usize,
    /// Scalars from one tile to the next.
    pub(super) step: usize,
}

impl<T: Scalar> Run<T> {
    /// The first block of tile `t`.
    #[inline(always)]
    pub(super) fn source(&self, t: usize) -> Source<T> {
        let mut source = self.plain;
        for k in 0..ARRAYS {
            source.ahead[k] = self.plain.arrays[k].wrapping_add((t + 1) * self.step);
            source.arrays[k] = self.plain.arrays[k].wrapping_add(t * self.step);
        }
        if t == 0 {
            source.arrays = self.first;
        } else if t + 1 == self.tiles {
            source.arrays = self.last;
        }
        source
    }
}

impl<'a, T: Scalar> Workspace<'a, T> {
    /// Memory for `n_rhs` (1 or [`MAX_RHS`]) right-hand sides and so many `tiles` staged together, of the size that
    /// [`memory`] says.
    pub fn new(simd: Simd, n_rhs: usize, tiles: usize, memory: &'a mut [T::Real]) -> Self {
        assert!(n_rhs == 1 || n_rhs == MAX_RHS);
        Self { simd, lanes: T::lanes(simd), n_rhs, tiles, memory }
    }

    /// Memory of the tiles of `m` rows that are staged together, and of the pivot rows of one.
    pub(super) fn tiles_and_pivot_rows(&mut self, m: usize) -> [*mut T::Real; 2] {
        let second = self.layout(m).second;
        let memory = self.memory.as_mut_ptr();
        [memory, memory.wrapping_add(second)]
    }

    /// Room for a copy of array `k` of a tile of `m` rows.
    pub(super) fn copy_of(&mut self, m: usize, k: usize) -> &mut [T] {
        let layout = self.layout(m);
        self.copy(&layout, k)
    }

    fn layout(&self, m: usize) -> Layout {
        let layout = Layout::new::<T>(self.lanes, m, self.n_rhs, self.tiles);
        assert!(m >= 1 && self.memory.len() >= layout.total);
        layout
    }

    /// Room for a copy of array `k` of a tile.
    fn copy(&mut self, layout: &Layout, k: usize) -> &mut [T] {
        let first = layout.copies + k * layout.array;
        bytemuck::cast_slice_mut(&mut self.memory[first..first + layout.array])
    }

    /// Room for four coarse unknowns and a gap for every lane.
    fn around(&mut self, layout: &Layout, r: usize) -> (&mut [T], &mut [T::Real]) {
        let unknowns = 4 * layout.element;
        let first = layout.around + r * (unknowns + self.lanes);
        let (around, gaps) = self.memory[first..first + unknowns + self.lanes].split_at_mut(unknowns);
        (bytemuck::cast_slice_mut(around), gaps)
    }

    /// Copies what stands in `parts`, one after the other, to copy `k`; idle lanes repeat the first.
    fn put_copy(&mut self, layout: &Layout, k: usize, m: usize, parts: [&[T]; 3]) -> *const T {
        let copy = self.copy(layout, k);
        let mut len = 0;
        for part in parts {
            copy[len..len + part.len()].copy_from_slice(part);
            len += part.len();
        }
        for lane in len / m..copy.len() / m {
            copy.copy_within(..m, lane * m);
        }
        copy.as_ptr()
    }

    /// The tiles of a span of a matrix. `rhs`: the span's rows of the right-hand sides.
    fn run(&mut self, layout: &Layout, rows: &Rows<T>, rhs: Columns<T>, span: Span) -> Run<T> {
        let (m, n, n_rhs) = (span.m, rows.n(), self.n_rhs);
        let own = span.first..span.first + span.rows();
        assert!(own.end <= n && rhs[..n_rhs].iter().all(|rhs| rhs.len() == own.len()));
        // One row before the matrix, `sub` is not in memory, nor `sup` in its last row: neither is read there.
        let mut plain = [core::ptr::null(); ARRAYS];
        plain[0] = rows.sub.as_ptr().wrapping_add(own.start).wrapping_sub(1);
        plain[1] = rows.diag.as_ptr().wrapping_add(own.start);
        plain[2] = rows.sup.as_ptr().wrapping_add(own.start);
        for r in 0..n_rhs {
            plain[3 + r] = rhs[r].as_ptr();
        }
        let step = span.lanes * m;
        let mut first = plain;
        let mut last = plain.map(|array| array.wrapping_add((span.tiles - 1) * step));
        let partial = span.lanes < self.lanes;
        if partial || own.start == 0 {
            let (before, from) = if own.start == 0 { (&[rows.first][..], 0) } else { (&[][..], own.start - 1) };
            first[0] = self.put_copy(layout, 0, m, [before, &rows.sub[from..own.start + step - 1], &[]]);
        }
        if partial || own.end == n {
            let from = own.end - step;
            let (after, to) = if own.end == n { (&[rows.last][..], n - 1) } else { (&[][..], own.end) };
            last[2] = self.put_copy(layout, 2, m, [&rows.sup[from..to], after, &[]]);
        }
        if partial {
            first[1] = self.put_copy(layout, 1, m, [&rows.diag[own.clone()], &[], &[]]);
            for r in 0..n_rhs {
                first[3 + r] = self.put_copy(layout, 3 + r, m, [rhs[r], &[], &[]]);
            }
        }
        if span.tiles == 1 {
            first[2] = last[2];
        }
        let source = Source { arrays: plain, ahead: plain, strides: Strides::contiguous(m), conj: rows.conj };
        Run { plain: source, first, last, tiles: span.tiles, m, step }
    }

    /// Eliminates the inside of every partition of a span; the equations that are left, two a partition, go to `out`: what
    /// multiplies the coarse unknown to the left, the own one, the one to the right, and right-hand sides.
    pub fn reduce(&mut self, rows: &Rows<T>, rhs: Columns<T>, span: Span, how: How<T::Real>, out: [&mut [T]; ARRAYS]) {
        let layout = self.layout(span.m);
        let run = self.run(&layout, rows, rhs, span);
        let arrays = 3 + self.n_rhs;
        assert!(out[..arrays].iter().all(|out| out.len() == 2 * span.partitions()));
        let memory = self.memory.as_mut_ptr();
        let partial = span.lanes < self.lanes;
        let mut to = [core::ptr::null_mut(); ARRAYS];
        for k in 0..arrays {
            // Copies are no longer needed when equations are written.
            to[k] = if partial { self.copy(&layout, k).as_mut_ptr() } else { out[k].as_mut_ptr() };
        }
        let tiles = [memory, memory.wrapping_add(layout.second)];
        T::reduce(self.simd, Reduce { run, tiles, how, n_rhs: self.n_rhs, out: to });
        if partial {
            for k in 0..arrays {
                let len = out[k].len();
                out[k].copy_from_slice(&self.copy(&layout, k)[..len]);
            }
        }
    }

    /// Solves for the inner unknowns of every partition of a span. Returns what verification found of every right-hand
    /// side.
    pub fn substitute(
        &mut self,
        rows: &Rows<T>,
        rhs: Option<Columns<T>>,
        span: Span,
        how: How<T::Real>,
        to: Target<T>,
    ) -> [Found; MAX_RHS] {
        let layout = self.layout(span.m);
        let Target { coarse, x, gaps, x_max, stream } = to;
        let (n_rhs, partial) = (self.n_rhs, span.lanes < self.lanes);
        let mut run = {
            let [a, b, c, d] = &x;
            self.run(&layout, rows, rhs.unwrap_or([a, b, c, d]), span)
        };
        let verify = !gaps[0].is_empty();
        let memory = self.memory.as_mut_ptr();
        let mut job = Substitute {
            run,
            tile: memory,
            pivot_rows: memory.wrapping_add(layout.second),
            how,
            verify,
            n_rhs,
            x_max,
            coarse: [core::ptr::null(); MAX_RHS],
            coarse_step: if partial { 4 } else { 2 },
            out: [core::ptr::null_mut(); MAX_RHS],
            gaps: [core::ptr::null_mut(); MAX_RHS],
            buffers: [core::ptr::null_mut(); MAX_RHS],
        };
        for r in 0..n_rhs {
            assert!(coarse[r].len() == 2 * span.partitions() + 2 && x[r].len() == span.rows());
            assert!(!verify || gaps[r].len() == span.partitions());
            (job.coarse[r], job.out[r], job.gaps[r]) = (coarse[r].as_ptr(), x[r].as_mut_ptr(), gaps[r].as_mut_ptr());
            if rhs.is_none() && !partial {
                // One pointer for what is read and then written.
                let last = (span.tiles - 1) * run.step;
                run.plain.arrays[3 + r] = job.out[r];
                (run.first[3 + r], run.last[3 + r]) = (job.out[r], job.out[r].wrapping_add(last));
            }
            if stream && !partial {
                job.buffers[r] = self.copy(&layout, 3 + r).as_mut_ptr();
            }
            if partial {
                let (around, gap) = self.around(&layout, r);
                for (lane, around) in around.chunks_exact_mut(4).enumerate() {
                    let own = 2 * if lane < span.lanes { lane } else { 0 };
                    around.copy_from_slice(&coarse[r][own..own + 4]);
                }
                (job.coarse[r], job.gaps[r]) = (around.as_ptr(), gap.as_mut_ptr());
                job.out[r] = self.copy(&layout, 3 + r).as_mut_ptr();
            }
        }
        job.run = run;
        let found = T::substitute(self.simd, job);
        if partial {
            for r in 0..n_rhs {
                let len = x[r].len();
                x[r].copy_from_slice(&self.copy(&layout, 3 + r)[..len]);
                if verify {
                    gaps[r].copy_from_slice(&self.around(&layout, r).1[..span.lanes]);
                }
            }
        }
        found
    }
}

/// What `substitute` starts from and where its results go.
pub struct Target<'a, T: Scalar> {
    /// Coarse unknowns from the one before the first partition to the one after the last.
    pub coarse: Columns<'a, T>,
    /// x, and the right-hand sides too if they stand there.
    pub x: ColumnsMut<'a, T>,
    /// For every partition the largest |residual| / scale, as [`RealScalar::log_gap`](crate::RealScalar::log_gap); empty:
    /// nothing is verified.
    pub gaps: ColumnsMut<'a, T::Real>,
    /// Known lower bounds of ‖x‖∞.
    pub x_max: [T::Real; MAX_RHS],
    /// Whether x is stored past the caches.
    pub stream: bool,
}

pub struct Reduce<T: Scalar> {
    run: Run<T>,
    tiles: [*mut T::Real; 2],
    how: How<T::Real>,
    n_rhs: usize,
    out: [*mut T; ARRAYS],
}

impl<T: Scalar> Job<T> for Reduce<T> {
    type Output = ();
    #[inline(always)]
    fn run<V: Lanes<Real = T::Real>>(self) {
        match self.n_rhs {
            1 => self.sweep::<V, 1>(),
            _ => self.sweep::<V, MAX_RHS>(),
        }
    }
}

impl<T: Scalar> Reduce<T> {
    #[inline(always)]
    fn sweep<V: Lanes<Real = T::Real>, const R: usize>(&self) {
        // The noise threshold is rarely used and is compiled for plain arrays and single columns only.
        if const { V::PORTABLE && R == 1 } && self.how.pivots.noise > T::Real::ZERO {
            return self.one_by_one::<V, R>();
        }
        // With a constant number of rows all addresses are constant offsets.
        match self.run.m {
            32 if const { special::<T, V, R>() } => self.pipelined::<V, R>(32),
            m => self.pipelined::<V, R>(m),
        }
    }

    /// Stages tile `t` and eliminates downwards while the tile before is eliminated upwards. In the first step there is no
    /// tile before, in the last no tile `t`: then whatever memory holds, and the last tile once more, is swept in its place.
    #[inline(always)]
    fn pipelined<V: Lanes<Real = T::Real>, const R: usize>(&self, m: usize) {
        let tiles = [TileRows::<T::Real, R> { base: self.tiles[0] }, TileRows { base: self.tiles[1] }];
        let pivots = LanePivots::<V, { rule::LARGER }>::new(&self.how.pivots);
        // SAFETY: `Workspace::reduce` made room for two tiles of m ≥ 2 rows, and checked all arrays.
        unsafe {
            let mut bottom = None;
            for t in 0..=self.run.tiles {
                let (here, before) = (tiles[t % 2], tiles[(t + 1) % 2]);
                let mut source = self.run.source(t.min(self.run.tiles - 1));
                here.stage_rest::<T, V, false>(&source, m, false);
                let mut up = Chain::start(before.row::<V, T::Element<V>>(m - 2).reversed(), T::Real::FAINT);
                let mut down = up;
                for block in 0..m.div_ceil(BLOCK) {
                    let j = block * BLOCK;
                    here.at::<V, T::Element<V>>(j).stage::<T, V, false>(&source, (m, j, false));
                    source.prefetch::<R, false>(V::W);
                    source.next_block::<R, false>(V::W);
                    if block == 0 {
                        down = Chain::start(here.row::<V, T::Element<V>>(1), T::Real::FAINT);
                    }
                    for j in j.max(2)..m.min(j + BLOCK) {
                        let above = before.at::<V, T::Element<V>>(m - 1 - j).row::<V, T::Element<V>>(0);
                        let below = here.at::<V, T::Element<V>>(j).row::<V, T::Element<V>>(0);
                        up = up.merge(above.reversed(), pivots);
                        down = down.merge(below, pivots);
                    }
                }
                if let Some(bottom) = bottom {
                    self.put_equations::<V, R>(t - 1, &up, &bottom);
                }
                bottom = Some(down);
            }
        }
    }

    /// The same where candidates may count as noise: tile after tile, for rows of known size.
    #[inline(always)]
    fn one_by_one<V: Lanes<Real = T::Real>, const R: usize>(&self) {
        let (tile, m) = (TileRows::<T::Real, R> { base: self.tiles[0] }, self.run.m);
        let pivots = LanePivots::<V, { rule::NOISE }>::new(&self.how.pivots);
        // SAFETY: `Workspace::reduce` made room for a tile of m ≥ 2 rows, and checked all arrays.
        unsafe {
            for t in 0..self.run.tiles {
                tile.stage_all::<T, V, false>(self.run.source(t), m, self.how.scaling);
                let mut up = Chain::start(tile.row::<V, T::Element<V>>(m - 2).reversed(), T::Real::FAINT);
                let mut down = Chain::start(tile.row::<V, T::Element<V>>(1), T::Real::FAINT);
                for j in 2..m {
                    up = up.merge(tile.row::<V, T::Element<V>>(m - 1 - j).reversed(), pivots);
                    down = down.merge(tile.row::<V, T::Element<V>>(j), pivots);
                }
                self.put_equations::<V, R>(t, &up, &down);
            }
        }
    }

    /// Writes the equations of tile `t`: `top` is solved for the first unknown of every partition, `bottom` for the last.
    ///
    /// # Safety
    /// `out` is writable for the equations of all tiles of the run, and `t` is one of these.
    #[inline(always)]
    unsafe fn put_equations<V: Lanes<Real = T::Real>, const R: usize>(
        &self,
        t: usize,
        top: &Chain<T::Element<V>, R>,
        bottom: &Chain<T::Element<V>, R>,
    ) {
        // The far end of the partition is to the right of the top equation, to the left of the bottom one.
        let (top, top_rhs) = equilibrated([top.next, top.near, top.spike], top.rhs);
        let (bottom, bottom_rhs) = equilibrated([bottom.spike, bottom.near, bottom.next], bottom.rhs);
        // SAFETY: an equation for each end of W partitions is 2·W scalars a tile, from 2·W·t on: within what was promised.
        unsafe {
            for k in 0..3 {
                put_pairs::<T, V>((top[k], bottom[k]), self.out[k].add(t * 2 * V::W));
            }
            for r in 0..R {
                put_pairs::<T, V>((top_rhs[r], bottom_rhs[r]), self.out[3 + r].add(t * 2 * V::W));
            }
        }
    }
}

/// An equation multiplied by a power of two that brings its largest coefficient near 1. A merge may halve what it merges:
/// else equations would become smaller from level to level, down to the size of [`Machine::FAINT`].
#[inline(always)]
fn equilibrated<V: Lanes, E: Element<V>, const R: usize>(mut row: [E; 3], mut rhs: [E; R]) -> ([E; 3], [E; R]) {
    let by = E::largest(row[0], row[1], row[2]).equilibrate();
    for k in 0..3 {
        row[k] = row[k].scale(by);
    }
    for r in 0..R {
        rhs[r] = rhs[r].scale(by);
    }
    (row, rhs)
}

/// Writes the scalars of two elements, alternating.
///
/// # Safety
/// `out` is writable for 2·W scalars.
#[inline(always)]
unsafe fn put_pairs<T: Scalar, V: Lanes<Real = T::Real>>((a, b): (T::Element<V>, T::Element<V>), out: *mut T) {
    let (a, b, out) = (a.columns(), b.columns(), out.cast::<T::Real>());
    // SAFETY: four columns of W reals are 2·W complex scalars, two vectors 2·W real ones: as promised.
    unsafe {
        if T::COMPLEX {
            V::store_columns([a[0], a[1], b[0], b[1]], out, 4);
        } else {
            let [low, high] = a[0].interleave(b[0]);
            low.store(out);
            high.store(out.add(V::W));
        }
    }
}

/// Four scalars for each of W lanes, `step` apart.
///
/// # Safety
/// `at` is readable for (W − 1)·`step` + 4 scalars.
#[inline(always)]
unsafe fn load_around<T: Scalar, V: Lanes<Real = T::Real>>(at: *const T, step: usize) -> [T::Element<V>; 4] {
    let (at, step) = (at.cast::<T::Real>(), step * T::Element::<V>::REALS);
    // SAFETY: lane l reads the four scalars from l·`step` on, l < W: as promised.
    unsafe {
        let c = V::load_columns(at, step);
        if T::COMPLEX {
            let d = V::load_columns(at.add(4), step);
            let element = T::Element::<V>::from_columns;
            [element(&c[..2]), element(&c[2..]), element(&d[..2]), element(&d[2..])]
        } else {
            let element = T::Element::<V>::from_columns;
            [element(&c[..1]), element(&c[1..2]), element(&c[2..3]), element(&c[3..])]
        }
    }
}

/// Memory of the pivot rows of a tile: of each 1/pivot, the coefficient of the unknown after, right-hand sides; apart from
/// these, of which part of the row `sup` multiplies the second unknown after: all of it where the row was taken, else
/// nothing; after a rotation a multiple.
#[derive(Clone, Copy)]
struct PivotRows<V: Lanes, const R: usize, const RULE: usize> {
    rows: *mut V::Real,
    part: *mut V::Real,
}

/// One of them. Rules that select know `take`, rotations know `share`.
#[derive(Clone, Copy)]
struct PivotRow<M, E, const R: usize> {
    recip: E,
    next: E,
    rhs: [E; R],
    take: M,
    share: E,
}

impl<V: Lanes, const R: usize, const RULE: usize> PivotRows<V, R, RULE> {
    /// The pivot rows of m rows, in memory for m·(3 + R) elements.
    #[inline(always)]
    fn new(memory: *mut V::Real, m: usize, reals: usize) -> Self {
        const { assert!(size_of::<V::Mask>() <= size_of::<V::Real>() * V::W) }
        Self { rows: memory, part: memory.wrapping_add(m * (2 + R) * reals * V::W) }
    }

    /// The pivot rows from row `j` on.
    #[inline(always)]
    fn at<E: Element<V>>(&self, j: usize) -> Self {
        let rows = self.rows.wrapping_add(j * (2 + R) * E::REALS * V::W);
        let part = if RULE == rule::ROTATION {
            self.part.wrapping_add(j * E::REALS * V::W)
        } else {
            self.part.cast::<V::Mask>().wrapping_add(j).cast()
        };
        Self { rows: opaque(rows), part: opaque(part) }
    }

    /// Keeps `row` as the first of these pivot rows.
    ///
    /// # Safety
    /// There is room for one more, with the type `E` of all.
    #[inline(always)]
    unsafe fn put<E: Element<V>>(&self, row: &PivotRow<V::Mask, E, R>) {
        let step = E::REALS * V::W;
        // SAFETY: a pivot row is 2 + R elements of `step` reals in `rows`, and in `part` one element, or one mask, which is no
        // larger than a vector and aligned as one: `new` asserts the size, and where `part` begins is W reals from `rows`.
        unsafe {
            row.recip.store(self.rows);
            row.next.store(self.rows.add(step));
            for r in 0..R {
                row.rhs[r].store(self.rows.add((2 + r) * step));
            }
            match RULE {
                rule::FIRST => {}
                rule::ROTATION => row.share.store(self.part),
                _ => *self.part.cast() = row.take,
            }
        }
    }

    /// x of the row, when the two after are known: `row` is the one that follows.
    ///
    /// # Safety
    /// The first of these pivot rows has been [`put`](Self::put), with the same `E`.
    #[inline(always)]
    unsafe fn solve<E: Element<V>>(&self, row: &Row<E, R>, mid: &[E; R], right: &[E; R]) -> ([E; R], E) {
        let step = E::REALS * V::W;
        // SAFETY: reads what `put` has written, at the same places and in the same types.
        unsafe {
            let (recip, next) = (E::load(self.rows), E::load(self.rows.add(step)));
            let far = if RULE == rule::ROTATION { E::load(self.part) * row.sup } else { row.sup };
            let mut x = *mid;
            for r in 0..R {
                let rhs = E::load(self.rows.add((2 + r) * step));
                let rest = match RULE {
                    rule::FIRST => rhs,
                    rule::ROTATION => far.neg_mul_add(right[r], rhs),
                    _ => far.neg_mul_add_where(*self.part.cast(), right[r], rhs),
                };
                x[r] = next.neg_mul_add(mid[r], rest) * recip;
            }
            (x, recip)
        }
    }
}

/// One tile between its staging and its x. `OPEN`: every partition is a system of its own, and there is nothing around it.
#[derive(Clone, Copy)]
pub(super) struct Work<V: Lanes, const R: usize, const RULE: usize, const OPEN: bool> {
    pub(super) tile: TileRows<V::Real, R>,
    pivot_rows: PivotRows<V, R, RULE>,
    m: usize,
    pivots: LanePivots<V, RULE>,
}

impl<V: Lanes, const R: usize, const RULE: usize, const OPEN: bool> Work<V, R, RULE, OPEN> {
    /// First of the unknowns that are solved for.
    const FIRST: usize = if OPEN { 0 } else { 1 };

    #[inline(always)]
    pub(super) fn new<E: Element<V>>(
        [tile, pivot_rows]: [*mut V::Real; 2],
        m: usize,
        pivots: LanePivots<V, RULE>,
    ) -> Self {
        let pivot_rows = PivotRows::new(pivot_rows, m, E::REALS);
        Self { tile: TileRows { base: tile }, pivot_rows, m, pivots }
    }

    /// Stages tile `t` of a run and eliminates downwards through it; keeps the pivot rows and returns what is left: an
    /// equation for the last unknown. `first`: x at the first row. `scaling`: of the rows that are staged; `None`: the tile
    /// has been staged.
    ///
    /// # Safety
    /// Tile and pivot rows have room for m ≥ 2 rows (`OPEN`: m ≥ 1), and tile `t` of the run is readable, or has been staged.
    #[inline(always)]
    pub(super) unsafe fn eliminate<T: Scalar<Real = V::Real>>(
        &self,
        run: &Run<T>,
        (t, scaling): (usize, Option<Scaling>),
        first: &[T::Element<V>; R],
    ) -> Chain<T::Element<V>, R> {
        let mut source = run.source(t);
        // SAFETY: rows below m of a readable run are staged, and stepped through once they are; one pivot row is put for each.
        unsafe {
            match scaling {
                // Block by block as it is eliminated.
                Some(Scaling::Rows) => self.tile.stage_rest::<T, V, OPEN>(&source, self.m, true),
                // One scale for all rows is known when all have been seen: then they are staged before they are eliminated.
                Some(Scaling::Partition) => self.tile.stage_all::<T, V, OPEN>(source, self.m, Scaling::Partition),
                None => {}
            }
            let end = if OPEN { self.m } else { self.m - 1 };
            let mut chain = Chain { spike: first[0], near: first[0], next: first[0], rhs: *first };
            let zero = V::splat(V::Real::ZERO);
            let mut taken = zero.gt(zero);
            for block in 0..self.m.div_ceil(BLOCK) {
                let j = block * BLOCK;
                if scaling.is_some() {
                    source.prefetch::<R, OPEN>(V::W);
                }
                if scaling == Some(Scaling::Rows) {
                    self.tile.at::<V, T::Element<V>>(j).stage::<T, V, OPEN>(&source, (self.m, j, true));
                }
                source.next_block::<R, OPEN>(V::W);
                if block == 0 {
                    chain = self.start(first);
                }
                for j in j.max(Self::FIRST + 1)..end.min(j + BLOCK) {
                    (chain, taken) = self.step::<T::Element<V>>(chain, j, taken);
                }
            }
            chain
        }
    }

    /// The chain before any elimination; `first`: x at the first row, if that is not solved for.
    ///
    /// # Safety
    /// The first block of the tile has been staged.
    #[inline(always)]
    unsafe fn start<E: Element<V>>(&self, first: &[E; R]) -> Chain<E, R> {
        // SAFETY: row 0 or 1 of a tile of at least that many, in the first block.
        let row = unsafe { self.tile.row::<V, E>(Self::FIRST) };
        let mut chain = Chain::start(row, V::Real::GUARD);
        if !OPEN {
            chain.rhs = each!(r < R, row.sub, row.sub.neg_mul_add(first[r], row.rhs[r]));
        }
        chain
    }

    /// Eliminates x_{j−1} between the chain and row `j`, and keeps the row that it was eliminated with. `taken`: for the unknown
    /// before, the row was.
    ///
    /// # Safety
    /// 1 ≤ j < m, and row `j` of the tile has been staged.
    #[inline(always)]
    unsafe fn step<E: Element<V>>(&self, chain: Chain<E, R>, j: usize, taken: V::Mask) -> (Chain<E, R>, V::Mask) {
        // SAFETY: row j < m of the tile is staged; of the m pivot rows there is room for, j − 1 is one.
        unsafe {
            let row = self.tile.at::<V, E>(j).row::<V, E>(0);
            let choice = self.pivots.step(&chain, &row, taken);
            let (pivot_row, rough) = if RULE == rule::ROTATION {
                let turn = Rotation::new(chain.near, row.sub);
                let recip = E::splat(V::Real::ONE).scale(turn.recip);
                let pivot_row = PivotRow {
                    recip,
                    next: turn.of_row.mul_add(row.diag, turn.of_chain * chain.next),
                    rhs: each!(r < R, recip, turn.of_row.mul_add(row.rhs[r], turn.of_chain * chain.rhs[r])),
                    take: choice.take,
                    share: turn.of_row,
                };
                (pivot_row, recip)
            } else {
                let [rough, recip] = choice.pivot.recips();
                let pivot_row = PivotRow {
                    recip,
                    next: self.selected(&choice, row.diag, chain.next),
                    rhs: each!(r < R, recip, self.selected(&choice, row.rhs[r], chain.rhs[r])),
                    take: choice.take,
                    share: recip,
                };
                (pivot_row, rough)
            };
            self.pivot_rows.at::<E>(j - 1).put::<E>(&pivot_row);
            (chain.eliminate(row, &choice, rough), choice.take)
        }
    }

    /// What belongs to the pivot row, of the two.
    #[inline(always)]
    fn selected<E: Element<V>>(&self, choice: &Choice<V::Mask, E>, of_row: E, of_chain: E) -> E {
        if RULE == rule::FIRST { of_chain } else { E::select(choice.take, of_row, of_chain) }
    }

    /// x of the last unknown that is solved for: from the chain or, in a partition, from its last row, if that has the larger
    /// coefficient.
    ///
    /// # Safety
    /// The tile has been staged.
    #[inline(always)]
    unsafe fn last<E: Element<V>>(&self, chain: &Chain<E, R>, around: &Boundary<E, R>) -> [E; R] {
        if OPEN {
            let recip = self.pivots.choose(chain.near, E::splat(V::Real::ZERO)).pivot.recip();
            return each!(r < R, recip, chain.rhs[r] * recip);
        }
        // SAFETY: the last of the m staged rows.
        let row: Row<E, R> = unsafe { self.tile.row::<V, E>(self.m - 1) };
        let choice = self.pivots.choose(chain.near, row.sub);
        let recip = choice.pivot.recip();
        let mut x = around.last;
        for r in 0..R {
            let of_chain = chain.next.neg_mul_add(around.last[r], chain.rhs[r]);
            let of_row = row.diag.neg_mul_add(around.last[r], row.sup.neg_mul_add(around.after[r], row.rhs[r]));
            x[r] = E::select(choice.take, of_row, of_chain) * recip;
        }
        if self.m == 3 {
            // SAFETY: the first of them.
            let row = unsafe { self.tile.row::<V, E>(0) };
            x = prefer_first_row(&row, around, x, recip, &self.pivots);
        }
        x
    }

    /// Substitutes upwards and writes x (in an `OPEN` tile only if `out` is not null). With `VERIFY`, the residual of every row
    /// is folded into `checks`.
    ///
    /// # Safety
    /// The tile has been eliminated; `out` is writable for all of it, or null.
    #[inline(always)]
    pub(super) unsafe fn substitute<T: Scalar<Real = V::Real>, const VERIFY: bool>(
        &self,
        chain: &Chain<T::Element<V>, R>,
        around: &Boundary<T::Element<V>, R>,
        checks: &mut [Check<V>; R],
        to: ([*mut T; R], Strides),
    ) {
        let m = self.m;
        // SAFETY: rows 0..m of the staged tile, and the pivot rows that `eliminate` has put; `out` as promised.
        unsafe {
            // x_j is `mid`, x_{j+1} is `right`.
            let (mut mid, mut right, top) = if OPEN {
                (self.last(chain, around), [T::Element::<V>::splat(V::Real::ZERO); R], m - 1)
            } else if m == 2 {
                (around.first, around.last, 0)
            } else {
                (self.last(chain, around), around.last, m - 2)
            };
            if VERIFY {
                see_x::<V, T::Element<V>, R>(checks, &mid);
                see_x::<V, T::Element<V>, R>(checks, &right);
            }
            if !OPEN {
                finish::<T, V, R, VERIFY>(
                    self.tile.at::<V, T::Element<V>>(m - 1),
                    [&mid, &right, &around.after],
                    checks,
                );
            }
            for j in (Self::FIRST..top).rev() {
                let tile = self.tile.at::<V, T::Element<V>>(j + 1);
                let row: Row<T::Element<V>, R> = tile.row::<V, T::Element<V>>(0);
                let pivot_row = self.pivot_rows.at::<T::Element<V>>(j);
                let (mut left, recip) = pivot_row.solve::<T::Element<V>>(&row, &mid, &right);
                if !OPEN && j == 1 {
                    let row = self.tile.row::<V, T::Element<V>>(0);
                    left = prefer_first_row(&row, around, left, recip, &self.pivots);
                }
                if VERIFY {
                    see_x::<V, T::Element<V>, R>(checks, &left);
                }
                finish::<T, V, R, VERIFY>(tile, [&left, &mid, &right], checks);
                if (j + 1).is_multiple_of(BLOCK) {
                    self.write(j + 1, to);
                }
                (right, mid) = (mid, left);
            }
            if !OPEN && m > 2 {
                finish::<T, V, R, VERIFY>(self.tile.at::<V, T::Element<V>>(1), [&around.first, &mid, &right], checks);
                (right, mid) = (mid, around.first);
            }
            finish::<T, V, R, VERIFY>(self.tile, [&around.before, &mid, &right], checks);
            self.write(0, to);
            self.write_rest(to);
        }
    }

    /// Writes x of the block of rows that begins with row `j`, unless `out` is null.
    ///
    /// # Safety
    /// As [`substitute`](Self::substitute).
    #[inline(always)]
    pub(super) unsafe fn write<T: Scalar<Real = V::Real>>(&self, j: usize, (out, strides): ([*mut T; R], Strides)) {
        if OPEN && out[0].is_null() {
            return;
        }
        for r in 0..R {
            // SAFETY: rows j to j + BLOCK, as far as there are, of a tile whose x is complete from row j on; `out` as promised.
            unsafe {
                let tile = self.tile.at::<V, T::Element<V>>(j);
                tile.write::<T, V, OPEN>(r, (self.m, j), (out[r].wrapping_add(j * strides.row), strides));
            }
        }
    }

    /// Writes x of the rows that are left, unless `out` is null.
    ///
    /// # Safety
    /// As [`substitute`](Self::substitute).
    #[inline(always)]
    pub(super) unsafe fn write_rest<T: Scalar<Real = V::Real>>(&self, (out, strides): ([*mut T; R], Strides)) {
        if OPEN && out[0].is_null() {
            return;
        }
        for r in 0..R {
            // SAFETY: x of the tile is complete, and `out` is writable for all of it.
            unsafe { self.tile.write_rest::<T, V, OPEN>(r, self.m, (out[r], strides)) }
        }
    }
}

/// A row, the first of `tile`, when x left of, at and right of its diagonal is known: checks it and puts x in place of its
/// right-hand side.
///
/// # Safety
/// `tile` points to a staged row.
#[inline(always)]
unsafe fn finish<T: Scalar, V: Lanes<Real = T::Real>, const R: usize, const VERIFY: bool>(
    tile: TileRows<T::Real, R>,
    [left, mid, right]: [&[T::Element<V>; R]; 3],
    checks: &mut [Check<V>; R],
) {
    // SAFETY: reads and writes the first row of `tile`, which is staged.
    unsafe {
        if VERIFY {
            let row = tile.row::<V, T::Element<V>>(0);
            check_row::<V, T::Element<V>, R>(checks, &row, left, mid, right);
        }
        tile.put_rhs::<V, T::Element<V>>(0, mid);
    }
}

#[inline(always)]
fn see_x<V: Lanes, E: Element<V>, const R: usize>(checks: &mut [Check<V>; R], x: &[E; R]) {
    for r in 0..R {
        checks[r].see_x(x[r].measure());
    }
}

pub struct Substitute<T: Scalar> {
    run: Run<T>,
    tile: *mut T::Real,
    pivot_rows: *mut T::Real,
    how: How<T::Real>,
    verify: bool,
    n_rhs: usize,
    x_max: [T::Real; MAX_RHS],
    coarse: [*const T; MAX_RHS],
    /// Coarse unknowns from one partition to the next.
    coarse_step: usize,
    out: [*mut T; MAX_RHS],
    /// Where x is collected to be stored past the caches; null if it is not.
    buffers: [*mut T; MAX_RHS],
    gaps: [*mut T::Real; MAX_RHS],
}

impl<T: Scalar> Job<T> for Substitute<T> {
    type Output = [Found; MAX_RHS];
    #[inline(always)]
    fn run<V: Lanes<Real = T::Real>>(self) -> Self::Output {
        match self.n_rhs {
            1 => self.sweep::<V, 1>(),
            _ => self.sweep::<V, MAX_RHS>(),
        }
    }
}

impl<T: Scalar> Substitute<T> {
    #[inline(always)]
    fn sweep<V: Lanes<Real = T::Real>, const R: usize>(&self) -> [Found; MAX_RHS] {
        if const { V::PORTABLE && R == 1 } && self.how.pivots.noise > T::Real::ZERO {
            return self.sweep_with::<V, R, true, { rule::NOISE }>(self.run.m);
        }
        match (self.how.pivots.eliminator, self.verify, self.run.m) {
            (Eliminator::Diagonal, _, m) if const { R == 1 || !T::COMPLEX } => {
                self.sweep_with::<V, R, true, { rule::DIAGONAL }>(m)
            }
            (Eliminator::Rotation, _, m) if const { R == 1 || !T::COMPLEX } => {
                self.sweep_with::<V, R, true, { rule::ROTATION }>(m)
            }
            (_, _, 32) if const { special::<T, V, R>() } && self.how.pivots.fixed => {
                self.sweep_with::<V, R, true, { rule::FIRST }>(32)
            }
            (_, false, m) if const { special::<T, V, R>() } => self.sweep_with::<V, R, false, { rule::LARGER }>(m),
            (_, true, 32) if const { special::<T, V, R>() } => self.sweep_with::<V, R, true, { rule::LARGER }>(32),
            (_, _, m) => self.sweep_with::<V, R, true, { rule::LARGER }>(m),
        }
    }

    #[inline(always)]
    fn sweep_with<V: Lanes<Real = T::Real>, const R: usize, const VERIFY: bool, const RULE: usize>(
        &self,
        m: usize,
    ) -> [Found; MAX_RHS] {
        let memory = [self.tile, self.pivot_rows];
        let work = Work::<V, R, RULE, false>::new::<T::Element<V>>(memory, m, LanePivots::new(&self.how.pivots));
        let mut total = [Check::<V>::new(T::Real::ZERO); R];
        // SAFETY: `Workspace::substitute` made room for a tile of m ≥ 2 rows and its pivot rows, and checked all arrays.
        unsafe {
            for t in 0..self.run.tiles {
                let around = self.around::<V, R>(t);
                let chain = work.eliminate::<T>(&self.run, (t, Some(self.how.scaling)), &around.first);
                let (mut checks, mut out) = (total, [core::ptr::null_mut(); R]);
                for r in 0..R {
                    checks[r] = Check::new(self.x_max[r]);
                    let (buffer, own) = (self.buffers[r], self.out[r].wrapping_add(t * self.run.step));
                    out[r] = if buffer.is_null() { own } else { buffer };
                }
                work.substitute::<T, VERIFY>(&chain, &around, &mut checks, (out, self.run.plain.strides));
                for r in 0..R {
                    if !self.buffers[r].is_null() {
                        let len = self.run.step * T::Element::<V>::REALS;
                        let own = self.out[r].wrapping_add(t * self.run.step);
                        copy_streaming::<V>(out[r].cast(), own.cast(), len);
                    }
                    if VERIFY && self.verify {
                        checks[r].gap().store(self.gaps[r].add(t * V::W));
                    }
                    total[r] = total[r].and(&checks[r]);
                }
            }
        }
        read_checks::<T, V, R, VERIFY>(&total)
    }

    /// The unknowns around the partitions of tile `t`.
    ///
    /// # Safety
    /// `t` is a tile of the run.
    #[inline(always)]
    unsafe fn around<V: Lanes<Real = T::Real>, const R: usize>(&self, t: usize) -> Boundary<T::Element<V>, R> {
        let zero = [T::Element::<V>::splat(T::Real::ZERO); R];
        let mut around = Boundary { before: zero, first: zero, last: zero, after: zero };
        for r in 0..R {
            let at = self.coarse[r].wrapping_add(t * V::W * self.coarse_step);
            // SAFETY: four coarse unknowns a partition, `coarse_step` apart: `Workspace::substitute` checked the length or made
            // the copy.
            [around.before[r], around.first[r], around.last[r], around.after[r]] =
                unsafe { load_around::<T, V>(at, self.coarse_step) };
        }
        around
    }
}

/// Whether the sweeps are compiled for this case by itself: real numbers and one right-hand side, which are most of the use.
/// (What is not verified is else verified in vain.)
pub(super) const fn special<T: Scalar, V: Lanes, const R: usize>() -> bool {
    R == 1 && !T::COMPLEX && !V::PORTABLE
}

/// What the checks of a run say, over all lanes; nothing unless `VERIFY`.
#[inline(always)]
fn read_checks<T: Scalar, V: Lanes<Real = T::Real>, const R: usize, const VERIFY: bool>(
    checks: &[Check<V>; R],
) -> [Found; MAX_RHS] {
    let mut found = [Found::default(); MAX_RHS];
    if VERIFY {
        for r in 0..R {
            let mut stored = [T::Real::ZERO; CHECK_VECTORS * MAX_LANES];
            let stored = &mut stored[..CHECK_VECTORS * V::W];
            // SAFETY: CHECK_VECTORS·W numbers long.
            unsafe { checks[r].store(stored.as_mut_ptr()) }
            found[r] = sweep::read_check(stored, slack::<T>());
        }
    }
    found
}

pub(super) const MAX_LANES: usize = 16;

/// By how much more than the measured one the backward error may be: moduli of complex residuals are measured roughly.
fn slack<T: Scalar>() -> f64 {
    if T::COMPLEX { sweep::COMPLEX_SLACK } else { 1.0 }
}

/// Upper bound of the backward error of rows whose largest |residual| / scale is `gap`.
pub fn bound<T: Scalar>(gap: T::Real) -> f64 {
    gap.gap_to_ratio() * slack::<T>()
}
