//! Runs of tiles: from the caller's arrays to the jobs `reduce` and `substitute`, and back. This is the safe interface
//! of the kernels.
//!
//! All loops over vectors are in a [`Job`](super::Job), which is compiled once for each instruction set.

use super::Simd;
pub use super::reduce::Reduce;
pub use super::substitute::Substitute;
pub use super::sweep::CheckResult;
use super::sweep::MAX_RHS;
use super::tile::{ARRAYS, Source, Strides, SweepOptions, TileRun};
use crate::Scalar;
use crate::rows::Rows;

/// Right-hand sides or solutions, one slice per column. Only the first few are used.
pub type Columns<'a, T> = [&'a [T]; MAX_RHS];
/// Writable right-hand sides or solutions, one slice per column.
pub type ColumnsMut<'a, T> = [&'a mut [T]; MAX_RHS];

/// The partitions of a run: `tiles` tiles of `lanes` partitions of `m` rows, from row `first` of the system on.
///
/// If `lanes` is smaller than the number of lanes of a vector, there is one tile.
#[derive(Debug, Clone, Copy)]
pub struct Span {
    pub first: usize,
    pub m: usize,
    pub lanes: usize,
    pub tiles: usize,
}

impl Span {
    /// The number of partitions.
    pub fn partitions(&self) -> usize {
        self.tiles * self.lanes
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.partitions() * self.m
    }
}

/// The offsets of the parts of a thread's memory, in reals.
#[derive(Debug, Clone, Copy)]
struct WorkspaceLayout {
    /// The number of reals of W scalars.
    element: usize,
    /// The number of reals of one array of a tile: W·m scalars.
    array: usize,
    /// The second tile, or the pivot rows.
    second: usize,
    /// Copies of data that are not in memory in the form of tiles.
    copies: usize,
    /// The coarse unknowns around the partitions of a tile that is not full, and one |residual| / scale per partition.
    around: usize,
    total: usize,
}

impl WorkspaceLayout {
    fn new<T: Scalar>(lanes: usize, m: usize, n_rhs: usize, tiles: usize) -> Self {
        let element = lanes * size_of::<T>() / size_of::<T::Real>();
        let tile = m * (3 + n_rhs) * element;
        let second = tiles * tile;
        let around = second + 2 * tile;
        let total = around + n_rhs * (4 * element + lanes);
        Self { element, array: m * element, second, copies: second + tile, around, total: total.next_multiple_of(16) }
    }
}

/// Number of reals of memory for runs of partitions with at most `m` rows, with `tiles` of them staged as a group.
pub fn memory<T: Scalar>(simd: Simd, m: usize, n_rhs: usize, tiles: usize) -> usize {
    WorkspaceLayout::new::<T>(T::lanes(simd), m, n_rhs, tiles).total
}

/// The memory of one thread.
pub struct Workspace<'a, T: Scalar> {
    pub(super) simd: Simd,
    /// The number of lanes of a vector.
    pub(super) lanes: usize,
    n_rhs: usize,
    /// The number of tiles that are staged as a group.
    pub(super) tiles: usize,
    memory: &'a mut [T::Real],
}

impl<'a, T: Scalar> Workspace<'a, T> {
    /// A workspace for `n_rhs` (1 or [`MAX_RHS`]) right-hand sides and `tiles` tiles per group. [`memory`] returns the
    /// size of `memory`.
    pub fn new(simd: Simd, n_rhs: usize, tiles: usize, memory: &'a mut [T::Real]) -> Self {
        assert!(n_rhs == 1 || n_rhs == MAX_RHS);
        Self { simd, lanes: T::lanes(simd), n_rhs, tiles, memory }
    }

    /// The memory of a group of tiles of `m` rows, and of the pivot rows of one tile.
    pub(super) fn tiles_and_pivot_rows(&mut self, m: usize) -> [*mut T::Real; 2] {
        let second = self.layout(m).second;
        let memory = self.memory.as_mut_ptr();
        [memory, memory.wrapping_add(second)]
    }

    /// Memory for a copy of array `k` of a tile of `m` rows.
    pub(super) fn copy_of(&mut self, m: usize, k: usize) -> &mut [T] {
        let layout = self.layout(m);
        self.copy(&layout, k)
    }

    fn layout(&self, m: usize) -> WorkspaceLayout {
        let layout = WorkspaceLayout::new::<T>(self.lanes, m, self.n_rhs, self.tiles);
        assert!(m >= 1 && self.memory.len() >= layout.total);
        layout
    }

    /// Memory for a copy of array `k` of a tile.
    fn copy(&mut self, layout: &WorkspaceLayout, k: usize) -> &mut [T] {
        let first = layout.copies + k * layout.array;
        bytemuck::cast_slice_mut(&mut self.memory[first..first + layout.array])
    }

    /// Memory for four coarse unknowns and one |residual| / scale per lane.
    fn around(&mut self, layout: &WorkspaceLayout, r: usize) -> (&mut [T], &mut [T::Real]) {
        let unknowns = 4 * layout.element;
        let first = layout.around + r * (unknowns + self.lanes);
        let (around, gaps) = self.memory[first..first + unknowns + self.lanes].split_at_mut(unknowns);
        (bytemuck::cast_slice_mut(around), gaps)
    }

    /// Copy the consecutive `parts` to copy `k`. Idle lanes repeat the first one.
    fn put_copy(&mut self, layout: &WorkspaceLayout, k: usize, m: usize, parts: [&[T]; 3]) -> *const T {
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

    /// The tiles of a span of a matrix. `rhs` has the rows of the span.
    fn run(&mut self, layout: &WorkspaceLayout, rows: &Rows<T>, rhs: Columns<T>, span: Span) -> TileRun<T> {
        let (m, n, n_rhs) = (span.m, rows.n(), self.n_rhs);
        let range = span.first..span.first + span.rows();
        assert!(range.end <= n && rhs[..n_rhs].iter().all(|rhs| rhs.len() == range.len()));
        // `sub` has no entry in the first row of the matrix, and `sup` has none in the last. The kernels do not read
        // them there.
        let mut plain = [core::ptr::null(); ARRAYS];
        plain[0] = rows.sub.as_ptr().wrapping_add(range.start).wrapping_sub(1);
        plain[1] = rows.diag.as_ptr().wrapping_add(range.start);
        plain[2] = rows.sup.as_ptr().wrapping_add(range.start);
        for r in 0..n_rhs {
            plain[3 + r] = rhs[r].as_ptr();
        }
        let step = span.lanes * m;
        let mut first = plain;
        let mut last = plain.map(|array| array.wrapping_add((span.tiles - 1) * step));
        let partial = span.lanes < self.lanes;
        if partial || range.start == 0 {
            let (before, from) = if range.start == 0 { (&[rows.first][..], 0) } else { (&[][..], range.start - 1) };
            first[0] = self.put_copy(layout, 0, m, [before, &rows.sub[from..range.start + step - 1], &[]]);
        }
        if partial || range.end == n {
            let from = range.end - step;
            let (after, to) = if range.end == n { (&[rows.last][..], n - 1) } else { (&[][..], range.end) };
            last[2] = self.put_copy(layout, 2, m, [&rows.sup[from..to], after, &[]]);
        }
        if partial {
            first[1] = self.put_copy(layout, 1, m, [&rows.diag[range.clone()], &[], &[]]);
            for r in 0..n_rhs {
                first[3 + r] = self.put_copy(layout, 3 + r, m, [rhs[r], &[], &[]]);
            }
        }
        if span.tiles == 1 {
            first[2] = last[2];
        }
        let source =
            Source { arrays: plain, ahead: plain, strides: Strides::contiguous(m), conj: rows.conj, periodic: false };
        TileRun { plain: source, first, last, tiles: span.tiles, m, step }
    }

    /// Eliminate the inner unknowns of every partition of a span. `out` receives the remaining equations, two per
    /// partition.
    ///
    /// The columns of an equation are the coefficients of three coarse unknowns (the left neighbor, the unknown itself,
    /// the right neighbor) and the right-hand sides. Returns whether an equation vanished.
    pub fn reduce(
        &mut self,
        rows: &Rows<T>,
        rhs: Columns<T>,
        span: Span,
        how: SweepOptions<T::Real>,
        out: [&mut [T]; ARRAYS],
    ) -> bool {
        let layout = self.layout(span.m);
        let run = self.run(&layout, rows, rhs, span);
        let arrays = 3 + self.n_rhs;
        assert!(out[..arrays].iter().all(|out| out.len() == 2 * span.partitions()));
        let memory = self.memory.as_mut_ptr();
        let partial = span.lanes < self.lanes;
        let mut to = [core::ptr::null_mut(); ARRAYS];
        for k in 0..arrays {
            // The copies are no longer needed when the equations are written.
            to[k] = if partial { self.copy(&layout, k).as_mut_ptr() } else { out[k].as_mut_ptr() };
        }
        let tiles = [memory, memory.wrapping_add(layout.second)];
        let suspect = Reduce { run, tiles, how, n_rhs: self.n_rhs, out: to }.run_on(self.simd);
        if partial {
            for k in 0..arrays {
                let len = out[k].len();
                out[k].copy_from_slice(&self.copy(&layout, k)[..len]);
            }
        }
        suspect
    }

    /// Solve for the inner unknowns of every partition of a span. Returns the result of the checks for every right-hand
    /// side.
    pub fn substitute(
        &mut self,
        rows: &Rows<T>,
        rhs: Option<Columns<T>>,
        span: Span,
        how: SweepOptions<T::Real>,
        to: Target<T>,
    ) -> [CheckResult; MAX_RHS] {
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
                // The same pointer for reading and then writing.
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
                    let first = 2 * if lane < span.lanes { lane } else { 0 };
                    around.copy_from_slice(&coarse[r][first..first + 4]);
                }
                (job.coarse[r], job.gaps[r]) = (around.as_ptr(), gap.as_mut_ptr());
                job.out[r] = self.copy(&layout, 3 + r).as_mut_ptr();
            }
        }
        job.run = run;
        let checks = job.run_on(self.simd);
        if partial {
            for r in 0..n_rhs {
                let len = x[r].len();
                x[r].copy_from_slice(&self.copy(&layout, 3 + r)[..len]);
                if verify {
                    gaps[r].copy_from_slice(&self.around(&layout, r).1[..span.lanes]);
                }
            }
        }
        checks
    }
}

/// The inputs and outputs of `substitute`.
pub struct Target<'a, T: Scalar> {
    /// The coarse unknowns from the one before the first partition to the one after the last.
    pub coarse: Columns<'a, T>,
    /// x. It can contain the right-hand sides at the start.
    pub x: ColumnsMut<'a, T>,
    /// For every partition the largest |residual| / scale, as [`RealScalar::log_gap`](crate::RealScalar::log_gap). If empty, nothing is verified.
    pub gaps: ColumnsMut<'a, T::Real>,
    /// Known lower bounds of ‖x‖∞.
    pub x_max: [T::Real; MAX_RHS],
    /// Whether x is stored past the caches.
    pub stream: bool,
}
