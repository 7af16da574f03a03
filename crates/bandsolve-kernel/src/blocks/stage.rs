//! Tiles of block rows: copy them from the caller's arrays to lanes, and back.

use super::super::prefetch::Prefetcher;
use super::super::tile::Scaling;
use super::super::tile_runs::{Columns, ColumnsMut, Span};
use super::system::{Band, BlockMatrix, BlockSystem, BlockTarget, CoarseRows};
use crate::number::{Element, Lanes, Scalar};
use crate::rows::Orientation;
use crate::tuning::PREFETCH_MAX_BLOCK;

/// Prefetch the data of tile `t` of a span in `parts` parts. Nothing is prefetched if it would not be faster.
pub fn tile_prefetcher<T: Scalar>(level: &BlockSystem<'_, T>, (span, t): (Span, usize), parts: usize) -> Prefetcher {
    let rows = span.lanes * span.m;
    let first = span.first + t * rows;
    let arrays = match &level.matrix {
        matrix if matrix.block() > PREFETCH_MAX_BLOCK => [(&[][..], 0); 3],
        BlockMatrix::Blocks(a) => [a.sub, a.diag, a.sup].map(|array| (array, a.block * a.block)),
        BlockMatrix::Band(band) => [(band.bands, band.block * band.leading), (&[], 0), (&[], 0)],
    };
    // Convert block rows to numbers of each array.
    let part = |(array, each): (_, usize)| <[T]>::get(array, first * each..(first + rows) * each).unwrap_or(&[]);
    Prefetcher::new(arrays.map(part), parts)
}

/// The offsets of the parts of a tile, in elements.
#[derive(Debug, Clone, Copy)]
pub struct TileLayout {
    /// The blocks of a block row left of, on and right of the diagonal: three arrays of `m · b²` elements.
    pub blocks: [usize; 3],
    /// Right-hand sides with `m·b` elements each.
    pub rhs: usize,
    pub panel: usize,
    /// A zero.
    pub zero: usize,
    /// The pivot rows of `substitute`.
    pub pivots: usize,
    /// The unknowns from the block before the partition to the block after it: `(m + 2)·b` for each right-hand side.
    pub x: usize,
    /// The two equations that `reduce` computes.
    pub ends: usize,
    /// The columns of a band in memory order.
    pub flat: usize,
    pub total: usize,
}

impl TileLayout {
    /// The layout for `m` block rows with blocks of `b` rows. `leading` is the leading dimension of a band, otherwise
    /// 0.
    pub fn new((b, leading): (usize, usize), m: usize, n_rhs: usize) -> Self {
        let mut end = 0;
        let mut take = |elements: usize| {
            end += elements;
            end - elements
        };
        let blocks = [take(m * b * b), take(m * b * b), take(m * b * b)];
        let rhs = take(m * b * n_rhs);
        let panel = take(2 * b * (4 * b + n_rhs));
        let zero = take(1);
        let pivots = take(m * b * (3 * b + n_rhs));
        let x = take((m + 2) * b * n_rhs);
        let ends = take(2 * b * (3 * b + n_rhs));
        let flat = take((m + 2) * b * leading);
        Self { blocks, rhs, panel, zero, pivots, x, ends, flat, total: end }
    }
}

/// A tile of `m` block rows in every lane, with `B` rows per block (0: `b` rows).
pub struct Tile<T: Scalar, V: Lanes<Real = T::Real>, const B: usize> {
    base: *mut T::Real,
    b: usize,
    pub m: usize,
    pub n_rhs: usize,
    pub at: TileLayout,
    /// Distances in elements from one row of a block to the next, and from one column to the next.
    pub strides: (usize, usize),
    /// Whether the blocks left of the diagonal are upper triangular, and those right of it lower triangular.
    pub banded: bool,
    /// A zero that the compiler does not know. Otherwise it would clear blocks with calls, and save all registers
    /// around them.
    pub zero: T::Element<V>,
}

impl<T: Scalar, V: Lanes<Real = T::Real>, const B: usize> Tile<T, V, B> {
    const REALS: usize = T::Element::<V>::REALS;

    #[inline(always)]
    pub fn new(level: &BlockSystem<'_, T>, m: usize, memory: &mut [T::Real]) -> Self {
        let (at, b) = (TileLayout::new(level.matrix.storage(), m, level.n_rhs), level.matrix.block());
        assert!(memory.len() >= at.total * Self::REALS * V::W && m >= 2 && (B == 0 || B == b));
        let plain = level.matrix.orientation() == Orientation::Plain || matches!(level.matrix, BlockMatrix::Band(_));
        let strides = if plain { (1, b) } else { (b, 1) };
        let zero = T::Element::<V>::splat(core::hint::black_box(T::Real::ZERO));
        let banded = matches!(level.matrix, BlockMatrix::Band(_));
        let tile = Self { base: memory.as_mut_ptr(), b, m, n_rhs: level.n_rhs, at, strides, banded, zero };
        tile.store(at.zero, zero);
        tile
    }

    /// The number of rows of a block.
    #[inline(always)]
    pub fn b(&self) -> usize {
        if B == 0 { self.b } else { B }
    }

    #[inline(always)]
    pub fn load(&self, i: usize) -> T::Element<V> {
        debug_assert!(i < self.at.total);
        // SAFETY: `new` checked that there is memory for all elements of the layout, and every index is inside the
        // layout.
        unsafe { T::Element::<V>::load(self.base.add(i * Self::REALS * V::W)) }
    }

    #[inline(always)]
    pub fn store(&self, i: usize, value: T::Element<V>) {
        debug_assert!(i < self.at.total);
        // SAFETY: as in `load`; only this tile uses the memory while it is borrowed.
        unsafe { value.store(self.base.add(i * Self::REALS * V::W)) }
    }

    /// Entry (r, c) of block `k` (left of, on, right of the diagonal) in block row `j`.
    #[inline(always)]
    pub fn entry(&self, (j, k): (usize, usize), r: usize, c: usize) -> T::Element<V> {
        let b = self.b();
        self.load(self.at.blocks[k] + j * b * b + r * self.strides.0 + c * self.strides.1)
    }

    /// Store one scalar of a lane.
    fn put(&self, i: usize, lane: usize, value: T) {
        assert!(i < self.at.total && lane < V::W);
        // SAFETY: the assertion checked the index.
        unsafe {
            let place = self.base.add(i * Self::REALS * V::W + lane);
            *place = value.re();
            if T::COMPLEX {
                *place.add(V::W) = value.im();
            }
        }
    }

    fn get(&self, i: usize, lane: usize) -> T {
        assert!(i < self.at.total && lane < V::W);
        // SAFETY: the assertion checked the index.
        unsafe {
            let place = self.base.add(i * Self::REALS * V::W + lane);
            T::from_parts(*place, if T::COMPLEX { *place.add(V::W) } else { T::Real::ZERO })
        }
    }

    /// Copy the block rows of tile `t` of a span, and scale them.
    #[inline(always)]
    pub fn stage(&self, level: &BlockSystem<'_, T>, rhs: &Columns<'_, T>, (span, t): (Span, usize)) {
        let (b, first) = (self.b(), span.first + t * span.lanes * span.m);
        let end = first + span.lanes * self.m;
        // Include one more block row at both ends, if all lanes have it.
        let inner = span.lanes == V::W && first > 0 && end < level.matrix.block_rows();
        match &level.matrix {
            BlockMatrix::Blocks(rows) if inner => {
                let sources = [(rows.sub, first - 1), (rows.diag, first), (rows.sup, first)];
                for k in 0..3 {
                    let (array, from) = sources[k];
                    self.transpose_in(&array[from * b * b..], self.m * b * b, (self.at.blocks[k], self.m * b * b));
                }
            }
            BlockMatrix::Band(band) if inner && (end + 1) * b <= band.n => {
                let columns = (self.m + 2) * b * band.leading;
                let source = &band.bands[(first - 1) * b * band.leading..];
                self.transpose_in(source, self.m * b * band.leading, (self.at.flat, columns));
                self.cut_band(band);
            }
            matrix => self.stage_lanes(matrix, (first, span.lanes)),
        }
        for r in 0..self.n_rhs {
            let at = self.at.rhs + r * self.m * b;
            if inner && end * b <= level.matrix.n() {
                self.transpose_in(&rhs[r][first * b..], self.m * b, (at, self.m * b));
            } else {
                self.stage_rhs_lanes(rhs[r], (first, span.lanes), at);
            }
        }
        let conj = T::COMPLEX && level.matrix.orientation() == (Orientation::Transposed { conj: true });
        self.scale(level.scaling, conj);
    }

    /// Copy `count` consecutive numbers per lane to elements from `at` on. The distance between lanes is `stride`.
    #[inline(always)]
    fn transpose_in(&self, source: &[T], stride: usize, (at, count): (usize, usize)) {
        assert!(source.len() >= (V::W - 1) * stride + count);
        let reals = count * Self::REALS;
        let whole = reals / 4 * 4;
        let from: *const T::Real = source.as_ptr().cast();
        // SAFETY: the assertion checked that `source` has `count` numbers for every lane; the elements are inside the
        // tile.
        unsafe {
            debug_assert!(at + count <= self.at.total);
            let to = self.base.add(at * Self::REALS * V::W);
            for i in (0..whole).step_by(4) {
                let columns = V::load_columns(from.add(i), stride * Self::REALS);
                for k in 0..4 {
                    columns[k].store(to.add((i + k) * V::W));
                }
            }
        }
        for i in whole / Self::REALS..count {
            (0..V::W).for_each(|lane| self.put(at + i, lane, source[lane * stride + i]));
        }
    }

    /// Stage block rows scalar by scalar. Unused lanes repeat the first one.
    #[inline(never)]
    fn stage_lanes(&self, matrix: &BlockMatrix<'_, T>, (first, lanes): (usize, usize)) {
        let b = self.b();
        for lane in 0..V::W {
            let start = first + if lane < lanes { lane } else { 0 } * self.m;
            for (j, k) in (0..self.m).flat_map(|j| [(j, 0), (j, 1), (j, 2)]) {
                for (r, c) in (0..b).flat_map(|c| (0..b).map(move |r| (r, c))) {
                    let at = self.at.blocks[k] + j * b * b + r * self.strides.0 + c * self.strides.1;
                    self.put(at, lane, matrix.entry(start + j, k, (r, c)));
                }
            }
        }
    }

    #[inline(never)]
    fn stage_rhs_lanes(&self, rhs: &[T], (first, lanes): (usize, usize), at: usize) {
        let rows = self.m * self.b();
        for lane in 0..V::W {
            let start = first * self.b() + if lane < lanes { lane } else { 0 } * rows;
            for i in 0..rows {
                self.put(at + i, lane, rhs.get(start + i).copied().unwrap_or(T::ZERO));
            }
        }
    }

    /// Divide staged columns of a band into blocks.
    #[inline(always)]
    fn cut_band(&self, band: &Band<'_, T>) {
        let b = self.b();
        let plain = band.orientation == Orientation::Plain;
        for j in 0..self.m {
            for k in 0..3 {
                for c in 0..b {
                    for r in 0..b {
                        // The row and column in the staged columns.
                        let (row, column) = ((j + 1) * b + r, (j + k) * b + c);
                        let (row, column) = if plain { (row, column) } else { (column, row) };
                        let in_column = (band.upper + row).wrapping_sub(column);
                        let inside = in_column <= band.lower + band.upper;
                        let at = self.at.flat + column * band.leading;
                        let value = if inside { self.load(at + in_column) } else { self.zero };
                        self.store(self.at.blocks[k] + j * b * b + r + c * b, value);
                    }
                }
            }
        }
    }

    /// Multiply each row, or the whole partition, by the power of two that brings its largest entry into \[2, 4).
    #[inline(always)]
    fn scale(&self, scaling: Scaling, conj: bool) {
        let b = self.b();
        let mut all = V::splat(T::Real::ZERO);
        if scaling == Scaling::Partition {
            for j in 0..self.m {
                for r in 0..b {
                    all = all.max(self.largest_in_row(j, r));
                }
            }
        }
        for j in 0..self.m {
            for r in 0..b {
                let largest = if scaling == Scaling::Rows { self.largest_in_row(j, r) } else { all };
                let by = largest.equilibrate();
                for k in 0..3 {
                    for c in 0..b {
                        let at = self.at.blocks[k] + j * b * b + r * self.strides.0 + c * self.strides.1;
                        let value = self.load(at).scale(by);
                        self.store(at, if T::COMPLEX && conj { value.conj() } else { value });
                    }
                }
                for s in 0..self.n_rhs {
                    let at = self.at.rhs + (s * self.m + j) * b + r;
                    self.store(at, self.load(at).scale(by));
                }
            }
        }
    }

    #[inline(always)]
    fn largest_in_row(&self, j: usize, r: usize) -> V {
        let mut largest = V::splat(T::Real::ZERO);
        for c in 0..self.b() {
            let of = |k: usize| self.entry((j, k), r, c);
            largest = T::Element::<V>::largest(of(0), of(1), of(2)).max(largest);
        }
        largest
    }

    /// Write the equations of `reduce` for the first and the last unknown of every partition.
    #[inline(never)]
    pub fn put_coarse(&self, out: &mut CoarseRows<'_, T>, (span, t): (Span, usize)) {
        let (b, end) = (self.b(), self.ends_len());
        for lane in 0..span.lanes {
            for which in 0..2 {
                let row = 2 * (t * span.lanes + lane) + which;
                let from = self.at.ends + which * end;
                let blocks = [&mut *out.sub, &mut *out.diag, &mut *out.sup];
                for (k, to) in blocks.into_iter().enumerate() {
                    for i in 0..b * b {
                        to[row * b * b + i] = self.get(from + k * b * b + i, lane);
                    }
                }
                for s in 0..self.n_rhs {
                    (0..b).for_each(|i| out.rhs[s][row * b + i] = self.get(from + 3 * b * b + s * b + i, lane));
                }
            }
        }
    }

    /// Number of elements of one equation of `reduce`: three blocks (column-major) and the right-hand sides.
    pub fn ends_len(&self) -> usize {
        self.b() * (3 * self.b() + self.n_rhs)
    }

    /// Index of entry i of unknown block `j` (0: the block before the partition) for right-hand side `s`.
    #[inline(always)]
    pub fn x(&self, s: usize, j: usize, i: usize) -> usize {
        self.at.x + (s * (self.m + 2) + j) * self.b() + i
    }

    /// Copy the unknowns at the ends of the partitions, and those next to them, from the coarse solution.
    #[inline(never)]
    pub fn take_ends(&self, level: &BlockSystem<'_, T>, to: &BlockTarget<'_, T>, (span, t): (Span, usize)) {
        let b = self.b();
        for (s, coarse) in to.coarse.iter().enumerate().take(self.n_rhs) {
            let n = coarse.len() / b;
            for lane in 0..V::W {
                let first = 2 * (to.partition + t * span.lanes + if lane < span.lanes { lane } else { 0 });
                let outside = |inside: bool, other: usize| (inside || level.matrix.periodic()).then_some(other);
                let before = outside(first > 0, (first + n - 1) % n);
                let after = outside(first + 2 < n, (first + 2) % n);
                let ends = [(0, before), (1, Some(first)), (self.m, Some(first + 1)), (self.m + 1, after)];
                for ((j, row), i) in ends.into_iter().flat_map(|end| (0..b).map(move |i| (end, i))) {
                    self.put(self.x(s, j, i), lane, row.map_or(T::ZERO, |row| coarse[row * b + i]));
                }
            }
        }
    }

    /// Copy x to the caller's array.
    #[inline(always)]
    pub fn put_x(&self, x: &mut ColumnsMut<'_, T>, (span, t): (Span, usize)) {
        let rows = self.m * self.b();
        for s in 0..self.n_rhs {
            let out = &mut x[s][t * span.lanes * rows..];
            if span.lanes == V::W && out.len() >= V::W * rows {
                self.transpose_out(out, rows, self.x(s, 1, 0));
            } else {
                self.put_x_lanes(out, span.lanes, self.x(s, 1, 0));
            }
        }
    }

    /// The inverse of [`transpose_in`](Self::transpose_in), with the distance `count` between lanes.
    #[inline(always)]
    fn transpose_out(&self, out: &mut [T], count: usize, at: usize) {
        assert!(out.len() >= V::W * count);
        let whole = count * Self::REALS / 4 * 4;
        let to: *mut T::Real = out.as_mut_ptr().cast();
        // SAFETY: the assertion checked that `out` has `count` numbers for every lane; the elements are inside the
        // tile.
        unsafe {
            debug_assert!(at + count <= self.at.total);
            let from = self.base.add(at * Self::REALS * V::W);
            for i in (0..whole).step_by(4) {
                let column = from.add(i * V::W);
                let columns = [
                    V::load(column),
                    V::load(column.add(V::W)),
                    V::load(column.add(2 * V::W)),
                    V::load(column.add(3 * V::W)),
                ];
                V::store_columns(columns, to.add(i), count * Self::REALS);
            }
        }
        for i in whole / Self::REALS..count {
            (0..V::W).for_each(|lane| out[lane * count + i] = self.get(at + i, lane));
        }
    }

    #[inline(never)]
    fn put_x_lanes(&self, out: &mut [T], lanes: usize, at: usize) {
        let rows = self.m * self.b();
        for (i, x) in out.iter_mut().enumerate().take(lanes * rows) {
            *x = self.get(at + i % rows, i / rows);
        }
    }
}
