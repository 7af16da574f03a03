//! Transforms along all axes but the first, tridiagonal systems along it.
//!
//! Two rows of the same half, or i and n − i of a folded axis, are the real and the imaginary parts of one complex row, which is transformed line by line; coefficients go
//! back to the two rows, elimination runs from both ends at once, and the way back is the same.
//!
//! # Source
//! R. W. Hockney, J. ACM 12 (1965), 95–113.

mod fused;

use crate::axis::AxisOperator;
use crate::chain::{GROUP, TridiagonalChain, block_of};
use crate::dense::DenseTransform;
use crate::indefinite::IndefiniteModes;
use crate::method::{SeparableSolver, SolveRequest};
use crate::pieces::{ColumnBlocks, Mirrored, RowPairs};
use crate::scalar::{PoissonScalar, real};
use crate::separable::{RightHandSide, SeparableProblem};
use crate::transform::{LinePair, Transform};
use bandsolve::dyn_stack::{PodStack, StackReq};
use bandsolve::{Error, Result, Simd};
use bandsolve_kernel::spread::{RowsOf, each_chunk};
use bandsolve_kernel::view::ViewMut;
use bandsolve_kernel::{Job, Lanes, dispatch};
use num_complex::Complex;

/// Rows that are multiplied by eigenvectors together.
const TOGETHER: usize = 16;
/// Columns of a plane that are transformed one after the other, since they share lines of the cache.
const COLUMNS: usize = 4;
/// Unknowns from which on more than one thread works.
const SHARED: usize = 1 << 14;

/// The transform of one axis.
#[derive(Clone)]
pub(crate) enum AxisTransform<T: PoissonScalar> {
    Fast(Transform<T>),
    Dense(DenseTransform<T>),
}

impl<T: PoissonScalar> AxisTransform<T> {
    pub(crate) fn new(axis: &AxisOperator, dense: bool) -> Result<Self> {
        match axis.uniform {
            Some((_, sides)) if !dense => Ok(Self::Fast(Transform::new(axis.len(), sides))),
            _ => Ok(Self::Dense(DenseTransform::new(axis)?)),
        }
    }

    pub(crate) fn eigenvalues(&self, axis: &AxisOperator) -> Vec<f64> {
        match (self, axis.uniform) {
            (Self::Fast(transform), Some((scale, _))) => transform.eigenvalues().iter().map(|v| v * scale).collect(),
            (Self::Fast(transform), None) => transform.eigenvalues(),
            (Self::Dense(dense), _) => dense.eigenvalues.clone(),
        }
    }

    /// Where the constant stands, and what ones become there.
    pub(crate) fn constant(&self) -> Option<(usize, f64)> {
        match self {
            Self::Fast(transform) => transform.constant().map(|place| (place, transform.of_ones())),
            Self::Dense(dense) => dense.constant,
        }
    }

    pub(crate) fn scratch(&self) -> usize {
        if let Self::Fast(transform) = self { transform.scratch() } else { 0 }
    }

    /// Of matrices.
    fn bytes(&self) -> usize {
        if let Self::Dense(dense) = self { dense.bytes() } else { 0 }
    }

    fn is_dense(&self) -> bool {
        matches!(self, Self::Dense(_))
    }
}

/// The constant of a singular problem among the coefficients.
#[derive(Clone)]
struct Constant {
    mode: usize,
    of_ones: f64,
    /// Weights of the rows, with the sum 1.
    weights: Vec<f64>,
}

/// Factors for transforms and tridiagonal systems.
pub(crate) struct TransformSolver<T: PoissonScalar> {
    shape: [usize; 3],
    folded: bool,
    middle: AxisTransform<T>,
    last: AxisTransform<T>,
    chain: TridiagonalChain<T>,
    indefinite: IndefiniteModes<T>,
    constant: Option<Constant>,
    threads: usize,
    simd: Simd,
}

impl<T: PoissonScalar> TransformSolver<T> {
    /// `dense`: products also along axes with one spacing.
    pub fn new(problem: &SeparableProblem, dense: bool, threads: usize) -> Result<Self> {
        let [first, middle, last] = &problem.axes;
        if first.periodic && first.uniform.is_none() {
            return Err(Error::Unsupported { method: "fft", what: "a periodic first axis whose spacing varies" });
        }
        let (of_middle, of_last) = (
            AxisTransform::new(middle, dense && middle.len() > 1)?,
            AxisTransform::new(last, dense && last.len() > 1)?,
        );
        let (a, b) = (of_middle.eigenvalues(middle), of_last.eigenvalues(last));
        let mut lambda: Vec<f64> = a.iter().flat_map(|a| b.iter().map(move |b| (a + b) + problem.shift)).collect();
        let indefinite = IndefiniteModes::new(first, &mut lambda)?;
        let constant = if problem.is_singular() {
            let at = of_middle.constant().zip(of_last.constant());
            at.map(|((j, a), (k, b))| Constant { mode: j * last.len() + k, of_ones: a * b, weights: weights(first) })
        } else {
            None
        };
        let chain = TridiagonalChain::new(first, &lambda);
        let (shape, folded) = (problem.shape(), first.periodic);
        Ok(Self {
            shape,
            folded,
            middle: of_middle,
            last: of_last,
            chain,
            indefinite,
            constant,
            threads,
            simd: Simd::detect(),
        })
    }

    /// Pieces that the rows are cut into: as many as threads.
    fn pieces(&self) -> usize {
        let [rows, lines, n] = self.shape;
        if rows * lines * n < SHARED { 1 } else { self.threads.clamp(1, rows.div_ceil(2)) }
    }

    /// Pairs of rows that are taken together.
    fn together(&self) -> usize {
        if self.shape[1] == 1 && self.last.is_dense() { TOGETHER } else { 1 }
    }

    /// Complex numbers of scratch of a piece: lines, slabs, and what transforms need.
    fn words(&self) -> [usize; 3] {
        let [_, lines, n] = self.shape;
        let line = if lines == 1 { 2 * n } else { 2 * n.max(COLUMNS * lines) };
        let slab = self.together() * lines * n;
        let slabs = if self.middle.is_dense() || self.last.is_dense() { 2 * slab } else { slab };
        [line, slabs, self.middle.scratch().max(self.last.scratch())]
    }

    /// Coefficients of all rows, in x.
    fn forward(&self, request: &SolveRequest<'_, T>, x: &mut [T], scratch: &mut [Complex<T>]) {
        self.each_pair(x, scratch, &|part, piece| {
            dispatch(self.simd, RowJob { solver: self, rhs: request.rhs, inverse: false, part, scratch: piece });
        });
    }

    /// Numbers of all rows from their coefficients.
    fn inverse(&self, x: &mut [T], scratch: &mut [Complex<T>]) {
        self.each_pair(x, scratch, &|part, piece| {
            dispatch(self.simd, RowJob { solver: self, rhs: None, inverse: true, part, scratch: piece });
        });
    }

    /// Calls `work` for pieces of pairs of rows.
    fn each_pair(
        &self,
        x: &mut [T],
        scratch: &mut [Complex<T>],
        work: &(impl Fn(RowPairs<'_, T>, &mut [Complex<T>]) + Sync),
    ) {
        let (row, pieces) = (self.shape[1] * self.shape[2], self.pieces());
        if self.folded {
            let (first, x) = x.split_at_mut(row);
            work(RowPairs::Mirrored(Mirrored::single(first, row)), &mut *scratch);
            let all = RowPairs::Mirrored(Mirrored::new(x, (row, 1), pieces));
            return self.each_piece((pieces, all, scratch), work);
        }
        let [top, inner, bottom] = self.halves(x);
        for lane in [top, bottom] {
            self.each_piece((pieces, RowPairs::Adjacent(lane.in_pieces(pieces)), &mut *scratch), work);
        }
        if let Some(inner) = inner.mirrored(1) {
            work(inner, scratch);
        }
    }

    /// Calls `work` for so many pieces.
    fn each_piece(
        &self,
        (pieces, rows, scratch): (usize, RowPairs<'_, T>, &mut [Complex<T>]),
        work: &(impl Fn(RowPairs<'_, T>, &mut [Complex<T>]) + Sync),
    ) {
        let per = self.words().iter().sum();
        if self.pieces() == 1 {
            return work(rows, &mut scratch[..per]);
        }
        each_chunk((pieces, usize::from(pieces > 1)), (rows, RowsOf(scratch, per)), &|_, (part, scratch)| {
            work(part, scratch.0);
        });
    }

    /// Solves the tridiagonal systems.
    fn sweep(&self, x: &mut [T]) {
        let [rows, lines, n] = self.shape;
        let modes = lines * n;
        let block = block_of::<T>(rows);
        let chunks = modes.div_ceil(block);
        let all = ColumnBlocks::new(ViewMut::new(x, modes, rows), block);
        let least = if self.pieces() > 1 { chunks.div_ceil(4 * self.threads).max(1) } else { 0 };
        each_chunk((chunks, least), all, &|chunk, columns| {
            dispatch(self.simd, SweepJob { chain: &self.chain, first: chunk * block, x: columns.view });
        });
    }

    /// The coefficients of the constant of all rows, as Σ weights · coefficient / (what ones become).
    fn level(&self, constant: &Constant, x: &[T]) -> f64 {
        let modes = self.shape[1] * self.shape[2];
        let column = x[constant.mode..].iter().step_by(modes);
        column.zip(&constant.weights).map(|(x, w)| x.to_f64() * w).sum::<f64>() / constant.of_ones
    }

    /// Adds to the coefficients of the constant what adds `level` to every number.
    fn shift_level(&self, constant: &Constant, x: &mut [T], level: f64) {
        let (modes, rows) = (self.shape[1] * self.shape[2], self.shape[0]);
        let add = real::<T>(level * constant.of_ones);
        // The odd rows of a folded axis have no constant.
        let even = if self.folded { rows / 2 + 1 } else { rows };
        x[constant.mode..].iter_mut().step_by(modes).take(even).for_each(|x| *x += add);
    }
}

/// Volumes of the rows as parts of their sum; those of a folded axis stand with the even rows.
fn weights(axis: &AxisOperator) -> Vec<f64> {
    let n = axis.len();
    let total: f64 = axis.volume.iter().sum();
    let weight = |i: usize| match i {
        _ if !axis.periodic => axis.volume[i] / total,
        _ if i > n / 2 => 0.0,
        _ if i == 0 || 2 * i == n => 1.0 / n as f64,
        _ => 2.0 / n as f64,
    };
    (0..n).map(weight).collect()
}

impl<T: PoissonScalar> SeparableSolver<T> for TransformSolver<T> {
    fn scratch(&self) -> StackReq {
        let transforms = StackReq::new::<Complex<T>>(self.pieces() * self.words().iter().sum::<usize>());
        transforms.and(StackReq::new::<T>(self.indefinite.words())).and(self.indefinite.scratch())
    }

    fn solve(&self, request: &SolveRequest<'_, T>, x: &mut [T], stack: &mut PodStack) -> f64 {
        let (scratch, stack) = stack.make_raw::<Complex<T>>(self.pieces() * self.words().iter().sum::<usize>());
        if self.is_fused() {
            self.solve_fused(request, x, scratch);
            return 0.0;
        }
        self.forward(request, x, scratch);
        let mut removed = 0.0;
        if let Some(constant) = &self.constant {
            removed = self.level(constant, x);
            self.shift_level(constant, x, -removed);
        }
        let (kept, stack) = stack.make_raw::<T>(self.indefinite.words());
        self.indefinite.take(x, kept, stack);
        self.sweep(x);
        self.indefinite.put(x, kept);
        if let Some(constant) = &self.constant {
            let level = request.mean - self.level(constant, x);
            self.shift_level(constant, x, level);
        }
        self.inverse(x, scratch);
        removed
    }

    fn bytes(&self) -> usize {
        self.chain.bytes() + self.middle.bytes() + self.last.bytes()
    }

    fn subproblems(&self) -> usize {
        self.shape[1] * self.shape[2]
    }
}

/// Tridiagonal systems of some columns.
struct SweepJob<'a, T> {
    chain: &'a TridiagonalChain<T>,
    first: usize,
    x: ViewMut<'a, T>,
}

impl<T: PoissonScalar> Job<T> for SweepJob<'_, T> {
    type Output = ();
    #[inline(always)]
    fn run<V: Lanes<Real = T::Real>>(self) {
        debug_assert!(self.first.is_multiple_of(GROUP));
        self.chain.solve(self.first, self.x);
    }
}

/// Transforms of some pairs of rows.
struct RowJob<'a, 'x, T: PoissonScalar> {
    solver: &'a TransformSolver<T>,
    rhs: Option<&'a RightHandSide<'a, T>>,
    inverse: bool,
    part: RowPairs<'x, T>,
    scratch: &'a mut [Complex<T>],
}

impl<T: PoissonScalar> Job<T> for RowJob<'_, '_, T> {
    type Output = ();
    #[inline(always)]
    fn run<V: Lanes<Real = T::Real>>(self) {
        let RowJob { solver, rhs, inverse, mut part, scratch } = self;
        let mut room = Room::new(scratch, solver.words());
        let (count, together) = (part.pairs(), solver.together());
        for first in (0..count).step_by(together) {
            let pairs = first..count.min(first + together);
            if inverse {
                solver.backwards(&mut part, pairs, &mut room);
            } else {
                solver.forwards((rhs, &mut part), pairs, &mut room);
            }
        }
    }
}

/// Scratch of a piece.
struct Room<'a, T: PoissonScalar> {
    lines: &'a mut [Complex<T>],
    slabs: &'a mut [Complex<T>],
    fft: &'a mut [Complex<T>],
}

impl<'a, T: PoissonScalar> Room<'a, T> {
    fn new(scratch: &'a mut [Complex<T>], [line, slab, _]: [usize; 3]) -> Self {
        let (lines, scratch) = scratch.split_at_mut(line);
        let (slabs, fft) = scratch.split_at_mut(slab);
        Self { lines, slabs, fft }
    }
}

impl<T: PoissonScalar> TransformSolver<T> {
    /// Coefficients of some pairs, to their rows.
    #[inline(always)]
    fn forwards(
        &self,
        (rhs, part): (Option<&RightHandSide<'_, T>>, &mut RowPairs<'_, T>),
        pairs: core::ops::Range<usize>,
        room: &mut Room<'_, T>,
    ) {
        self.last_forwards((rhs, &mut *part), pairs.clone(), room);
        self.middle_of(pairs.len(), room, false);
        self.store(part, pairs, room);
    }

    /// The way back.
    #[inline(always)]
    fn backwards(&self, part: &mut RowPairs<'_, T>, pairs: core::ops::Range<usize>, room: &mut Room<'_, T>) {
        self.load(part, pairs.clone(), room);
        self.middle_of(pairs.len(), room, true);
        self.last_backwards(part, pairs, room);
    }

    /// Complex rows of some pairs, transformed along the last axis.
    #[inline(always)]
    fn last_forwards(
        &self,
        (rhs, part): (Option<&RightHandSide<'_, T>>, &mut RowPairs<'_, T>),
        pairs: core::ops::Range<usize>,
        room: &mut Room<'_, T>,
    ) {
        let [_, lines, n] = self.shape;
        let (z, spare) = room.lines.split_at_mut(n);
        let spare: &mut [T] = bytemuck::cast_slice_mut(spare);
        let (spare_one, spare_two) = spare.split_at_mut(n);
        for (p, slab) in pairs.clone().zip(room.slabs.chunks_exact_mut(lines * n)) {
            let (own, mirror) = part.indices(p);
            let folded = self.folded && mirror.is_some();
            for (j, out) in slab.chunks_exact_mut(n).enumerate() {
                let (a, b) = match rhs {
                    Some(rhs) => {
                        (rhs.line((own, j), spare_one), mirror.map(|mirror| rhs.line((mirror, j), &mut spare_two[..n])))
                    }
                    None => {
                        let (a, b) = part.rows(p);
                        (&a[j * n..][..n], b.map(|b| &b[j * n..][..n]))
                    }
                };
                match &self.last {
                    AxisTransform::Dense(_) => pack((a, b), out, folded),
                    AxisTransform::Fast(transform) => {
                        pack((a, b), z, folded);
                        transform.forward(LinePair { z, out, scratch: room.fft });
                    }
                }
            }
        }
        self.dense_lines(pairs.len(), room, false);
    }

    /// The way back.
    #[inline(always)]
    fn last_backwards(&self, part: &mut RowPairs<'_, T>, pairs: core::ops::Range<usize>, room: &mut Room<'_, T>) {
        let [_, lines, n] = self.shape;
        self.dense_lines(pairs.len(), room, true);
        for (p, slab) in pairs.zip(room.slabs.chunks_exact_mut(lines * n)) {
            let folded = self.folded && part.indices(p).1.is_some();
            let (a, mut b) = part.rows_mut(p);
            for (j, z) in slab.chunks_exact_mut(n).enumerate() {
                let mut out = &mut room.lines[..n];
                match &self.last {
                    AxisTransform::Fast(transform) => transform.inverse(LinePair { z, out, scratch: room.fft }),
                    AxisTransform::Dense(_) => out = z,
                }
                let b = b.as_deref_mut().map(|b| &mut b[j * n..][..n]);
                unpack(out, (&mut a[j * n..][..n], b), folded);
            }
        }
    }

    /// Lines of all slabs times eigenvectors.
    #[inline(always)]
    fn dense_lines(&self, pairs: usize, room: &mut Room<'_, T>, inverse: bool) {
        let AxisTransform::Dense(dense) = &self.last else { return };
        let [_, lines, n] = self.shape;
        let count = pairs * lines;
        let (slab, other) = room.slabs.split_at_mut(self.together() * lines * n);
        let (slab, other) = (&mut slab[..count * n], &mut other[..count * n]);
        transpose(slab, other, (count, n));
        dense.multiply(bytemuck::cast_slice(other), bytemuck::cast_slice_mut(slab), 2 * count, inverse);
        transpose(slab, other, (n, count));
        slab.copy_from_slice(other);
    }

    /// The middle axis of some slabs.
    #[inline(always)]
    fn middle_of(&self, pairs: usize, room: &mut Room<'_, T>, inverse: bool) {
        let [_, lines, n] = self.shape;
        if lines == 1 {
            return;
        }
        let (slab, other) = room.slabs.split_at_mut(self.together() * lines * n);
        debug_assert!(pairs == 1);
        let transform = match &self.middle {
            AxisTransform::Fast(transform) => transform,
            AxisTransform::Dense(dense) => {
                dense.multiply(bytemuck::cast_slice(slab), bytemuck::cast_slice_mut(other), 2 * n, inverse);
                slab.copy_from_slice(&other[..lines * n]);
                return;
            }
        };
        let (from, to) = room.lines.split_at_mut(COLUMNS * lines);
        for k in (0..n).step_by(COLUMNS) {
            let width = COLUMNS.min(n - k);
            for (j, row) in slab.chunks_exact(n).enumerate() {
                for c in 0..width {
                    from[c * lines + j] = row[k + c];
                }
            }
            for (z, out) in from.chunks_exact_mut(lines).zip(to.chunks_exact_mut(lines)).take(width) {
                let line = LinePair { z, out, scratch: room.fft };
                if inverse { transform.inverse(line) } else { transform.forward(line) }
            }
            for (j, row) in slab.chunks_exact_mut(n).enumerate() {
                for c in 0..width {
                    row[k + c] = to[c * lines + j];
                }
            }
        }
    }

    /// Coefficients of slabs to their rows.
    #[inline(always)]
    fn store(&self, part: &mut RowPairs<'_, T>, pairs: core::ops::Range<usize>, room: &mut Room<'_, T>) {
        let row = self.shape[1] * self.shape[2];
        for (p, slab) in pairs.zip(room.slabs.chunks_exact(row)) {
            let (a, b) = part.rows_mut(p);
            unpack(slab, (a, b), false);
        }
    }

    /// Slabs of coefficients from their rows.
    #[inline(always)]
    fn load(&self, part: &mut RowPairs<'_, T>, pairs: core::ops::Range<usize>, room: &mut Room<'_, T>) {
        let row = self.shape[1] * self.shape[2];
        for (p, slab) in pairs.zip(room.slabs.chunks_exact_mut(row)) {
            let (a, b) = part.rows(p);
            pack((a, b), slab, false);
        }
    }
}

/// Two rows as one of complex numbers; `folded`: half their sum and half their difference.
#[inline(always)]
fn pack<T: PoissonScalar>((a, b): (&[T], Option<&[T]>), z: &mut [Complex<T>], folded: bool) {
    let Some(b) = b else {
        z.iter_mut().zip(a).for_each(|(z, a)| *z = Complex::new(*a, T::ZERO));
        return;
    };
    if folded {
        let half = real::<T>(0.5);
        for ((z, a), b) in z.iter_mut().zip(a).zip(b) {
            *z = Complex::new((*a + *b) * half, (*a - *b) * half);
        }
        return;
    }
    // Eight numbers at a time, so that it becomes shuffles of registers.
    const EIGHT: usize = 8;
    let whole = z.len() / EIGHT * EIGHT;
    for k in (0..whole).step_by(EIGHT) {
        let (z, a, b) = (&mut z[k..][..EIGHT], &a[k..][..EIGHT], &b[k..][..EIGHT]);
        for l in 0..EIGHT {
            z[l] = Complex::new(a[l], b[l]);
        }
    }
    for k in whole..z.len() {
        z[k] = Complex::new(a[k], b[k]);
    }
}

/// The inverse of it.
#[inline(always)]
fn unpack<T: PoissonScalar>(z: &[Complex<T>], (a, b): (&mut [T], Option<&mut [T]>), folded: bool) {
    let Some(b) = b else {
        z.iter().zip(a).for_each(|(z, a)| *a = z.re);
        return;
    };
    if folded {
        for ((z, a), b) in z.iter().zip(a).zip(b) {
            (*a, *b) = (z.re + z.im, z.re - z.im);
        }
        return;
    }
    for ((z, a), b) in z.iter().zip(a).zip(b) {
        (*a, *b) = (z.re, z.im);
    }
}

/// `to` = the rows × columns matrix `from`, transposed.
#[inline(always)]
fn transpose<T: Copy>(from: &[T], to: &mut [T], (rows, columns): (usize, usize)) {
    const TILE: usize = 8;
    for i in (0..rows).step_by(TILE) {
        for j in (0..columns).step_by(TILE) {
            for r in i..rows.min(i + TILE) {
                for c in j..columns.min(j + TILE) {
                    to[c * rows + r] = from[r * columns + c];
                }
            }
        }
    }
}
