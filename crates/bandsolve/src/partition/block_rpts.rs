//! RPTS on blocks: block tridiagonal systems of up to 8 rows a block, and banded ones with as many off-diagonals.
//!
//! As for scalars (`partitioned.rs`): the block rows are cut into partitions of m; `reduce` eliminates the inside of each from
//! both ends until two block equations between first and last unknowns of neighbouring partitions are left, a system of the same
//! kind, 2/m as large; `substitute` repeats the elimination with known ends. Elements are b × b blocks, and an elimination step
//! is Gaussian elimination of b unknowns among the 2b equations of two block rows, with pivoting over all of them.
//!
//! Cost of a block row with R right-hand sides: about (21·b³ + 6·b²·R) multiplications in `reduce`, 8·b³ in `substitute`;
//! reads 2·(3·b² + b·R) words, writes b·R; nothing is stored in between.
//!
//! Source: Klein 2.5.3 and 2.6.9 for the reduction of blocks. There one block row or the other is the pivot, whichever block
//! has the larger determinant; here each of the 2b rows may be, as in banded LU. So blocks that are singular, or all of whose
//! determinants vanish, are nothing special.

use crate::contract::Op;
use crate::contract::equations::Matrix;
use crate::contract::factors::{FactorBy, Factors, Outcome, RhsAndSolution, Solver};
use crate::contract::verify::{Facts, Report, good, refinement_scratch};
use crate::decision::{Decision, Options, Pivoting};
use crate::error::Result;
use crate::matrix::{Banded, BlockTridiagonal};
use crate::partition::block_repair::BlockRepair;
use crate::partition::cut::{ALIGN, Cut, columns, columns_mut, cut_out_mut, middle, size_below, split_columns};
use crate::partition::driver::{self, ByPartitions, known_size, mend_bad};
use crate::partition::level::{CheckResults, both};
use crate::partition::repair::is_nothing;
use crate::tuning;
use bandsolve_kernel::blocks::{
    self, Band, BlockCoarseRows, BlockMatrix, BlockPivots, BlockRun, BlockSystem, BlockTarget, Task,
};
use bandsolve_kernel::rows::{BlockRows, Orientation};
use bandsolve_kernel::run::{Columns, ColumnsMut};
use bandsolve_kernel::scalar::{peak, reciprocal};
use bandsolve_kernel::sweep::{CheckResult, MAX_RHS};
use bandsolve_kernel::threads::join;
use bandsolve_kernel::{RealScalar, Scalar, Simd};
use core::ops::Range;
use dyn_stack::{PodStack, StackReq};
use std::sync::Arc;

/// A matrix that can be solved by small blocks.
pub(crate) trait SmallBlocks<T: Scalar>: Matrix<T> {
    /// op(A).
    fn blocks(&self, op: Op) -> BlockMatrix<'_, T>;
}

impl<T: Scalar> SmallBlocks<T> for BlockTridiagonal<'_, T> {
    fn blocks(&self, op: Op) -> BlockMatrix<'_, T> {
        BlockMatrix::Blocks(op.block_rows(self))
    }
}

impl<T: Scalar> SmallBlocks<T> for Banded<'_, T> {
    fn blocks(&self, op: Op) -> BlockMatrix<'_, T> {
        let (n, lower, upper) = (self.n(), self.lower(), self.upper());
        let (bands, leading) = self.storage();
        let orientation = match op {
            Op::Plain => Orientation::Plain,
            Op::Transpose => Orientation::Transposed { conj: false },
            Op::ConjTranspose => Orientation::Transposed { conj: T::COMPLEX },
        };
        BlockMatrix::Band(Band { bands, n, lower, upper, leading, block: lower.max(upper).max(1), orientation })
    }
}

/// What of a matrix decides how much memory its solves take.
#[derive(Clone, Copy)]
pub(crate) struct SystemSize {
    pub n: usize,
    pub block_rows: usize,
    /// [`BlockMatrix::storage`]
    pub storage: (usize, usize),
}

impl SystemSize {
    fn of<T: Scalar>(matrix: &BlockMatrix<'_, T>) -> Self {
        Self { n: matrix.n(), block_rows: matrix.block_rows(), storage: matrix.storage() }
    }
}

/// Right-hand sides that are swept together.
fn together(n_rhs: usize) -> usize {
    n_rhs.min(MAX_RHS)
}

/// Scratch of one level and all below it.
fn level_scratch<T: Scalar>(settings: &BlockSettings, size: SystemSize, n_rhs: usize) -> StackReq {
    let memory = StackReq::new_aligned::<T::Real>(settings.tile_memory::<T>(size, n_rhs), ALIGN);
    memory.and(settings.scratch::<T>(size.block_rows, size.storage.0, n_rhs))
}

/// Scratch of solves by small blocks.
pub(crate) fn scratch<T: Scalar>(options: &Options, size: SystemSize, n_rhs: usize) -> StackReq {
    let (settings, together) = (&BlockSettings::new::<T>(options), together(n_rhs));
    let copy = StackReq::new_aligned::<T>(size.n, ALIGN);
    let refinement =
        refinement_scratch::<T>(options.verify, size.n).and(copy).and(level_scratch::<T>(settings, size, 1));
    StackReq::new::<T::Real>(settings.cut(size.block_rows).partitions().saturating_mul(together))
        .and(level_scratch::<T>(settings, size, together).or(refinement))
}

/// What is fixed during a solve.
#[derive(Clone, Copy)]
struct BlockSettings<'a> {
    options: &'a Options,
    /// Of a vector.
    lanes: usize,
}

impl<'a> BlockSettings<'a> {
    fn new<T: Scalar>(options: &'a Options) -> Self {
        Self { options, lanes: T::lanes(options.sweep_simd()) }
    }

    fn simd(&self) -> Simd {
        self.options.sweep_simd()
    }

    /// How a level of `n` block rows is cut; small ones are a single partition, which ends the recursion.
    fn cut(&self, n: usize) -> Cut {
        let m = self.options.partition_rows.unwrap_or_else(|| tuning::partition_rows(n, self.lanes));
        let single = n <= tuning::LAST_LEVEL_MAX_N.max(m);
        Cut::new(n, if single { n } else { m }, 2)
    }

    /// Threads worth waking: work grows with the square of the block.
    fn threads_for(&self, block_rows: usize, block: usize) -> usize {
        tuning::tasks(self.options.threads, block_rows.saturating_mul(block * block))
    }

    /// Longest partition of any level.
    fn longest(&self, n: usize) -> usize {
        Cut::longest_of_all(n, |n| self.cut(n))
    }

    /// Reals of tile memory for all threads.
    fn tile_memory<T: Scalar>(&self, size: SystemSize, n_rhs: usize) -> usize {
        let (n, block) = (size.block_rows, size.storage.0);
        // Coarse matrices take less than a band.
        blocks::memory::<T>(self.simd(), size.storage, self.longest(n), n_rhs)
            .saturating_mul(self.threads_for(n, block))
    }

    /// Scratch of [`solve_level`], without tile memory.
    fn scratch<T: Scalar>(&self, n: usize, block: usize, n_rhs: usize) -> StackReq {
        let coarse = self.cut(n).coarse();
        let rows = coarse.saturating_mul(block);
        let array = StackReq::new_aligned::<T>(rows.saturating_mul(block), ALIGN);
        let columns = StackReq::new_aligned::<T>(rows.saturating_mul(n_rhs), ALIGN);
        let below = if coarse == 2 { StackReq::empty() } else { self.scratch::<T>(coarse, block, n_rhs) };
        StackReq::all_of(&[array, array, array, columns, columns, below])
    }
}

/// One thread's share of a level: partitions `parts`.
struct Share<'a, T: Scalar> {
    settings: BlockSettings<'a>,
    level: &'a BlockSystem<'a, T>,
    cut: Cut,
    rhs: Columns<'a, T>,
    parts: Range<usize>,
    work: LevelJob<'a, T>,
    memory: &'a mut [T::Real],
}

enum LevelJob<'a, T: Scalar> {
    /// Equations of the partitions.
    Reduce(BlockCoarseRows<'a, T>),
    /// x at their rows, from the solution of the coarse system and lower bounds of ‖x‖∞.
    Substitute {
        x: ColumnsMut<'a, T>,
        gaps: ColumnsMut<'a, T::Real>,
        coarse: Columns<'a, T>,
        x_max: [T::Real; MAX_RHS],
    },
}

impl<T: Scalar> LevelJob<'_, T> {
    /// The first `parts` partitions of `rows` rows each, and the rest; a coarse equation has `block` rows.
    fn split_at(self, parts: usize, rows: usize, block: usize) -> (Self, Self) {
        match self {
            LevelJob::Reduce(BlockCoarseRows { sub, diag, sup, rhs }) => {
                let equations = 2 * parts * block;
                let [sub, diag, sup] = [sub, diag, sup].map(|array| array.split_at_mut(equations * block));
                let rhs = split_columns(rhs, equations);
                let first = BlockCoarseRows { sub: sub.0, diag: diag.0, sup: sup.0, rhs: rhs.0 };
                (
                    LevelJob::Reduce(first),
                    LevelJob::Reduce(BlockCoarseRows { sub: sub.1, diag: diag.1, sup: sup.1, rhs: rhs.1 }),
                )
            }
            LevelJob::Substitute { x, gaps, coarse, x_max } => {
                let (x, gaps) = (split_columns(x, parts * rows), split_columns(gaps, parts));
                let first = LevelJob::Substitute { x: x.0, gaps: gaps.0, coarse, x_max };
                (first, LevelJob::Substitute { x: x.1, gaps: gaps.1, coarse, x_max })
            }
        }
    }
}

impl<T: Scalar> Share<'_, T> {
    fn parallel(mut self, threads: usize) -> CheckResults {
        let (lanes, block) = (self.settings.lanes, self.level.matrix.block());
        if threads <= 1 || self.parts.len() <= lanes {
            return self.run();
        }
        let mid = middle(&self.parts, lanes, threads);
        let memory = self.memory.split_at_mut(self.memory.len() / threads * (threads / 2));
        let work = self.work.split_at(mid - self.parts.start, self.cut.m * block, block);
        let left = Share { parts: self.parts.start..mid, work: work.0, memory: memory.0, ..self };
        let right = Share { parts: mid..self.parts.end, work: work.1, memory: memory.1, ..self };
        let (a, b) = join(|| left.parallel(threads / 2), || right.parallel(threads - threads / 2));
        both(a, b)
    }

    fn run(&mut self) -> CheckResults {
        let (mut found, mut part) = (CheckResults::default(), self.parts.start);
        let (block, base) = (self.level.matrix.block(), self.cut.start(part) * self.level.matrix.block());
        while part < self.parts.end {
            let span = self.cut.span(part, self.parts.end, self.settings.lanes);
            let task = match &mut self.work {
                LevelJob::Reduce(out) => {
                    let equations = part - self.parts.start..part - self.parts.start + span.partitions();
                    let rows = 2 * equations.start * block..2 * equations.end * block;
                    let square = rows.start * block..rows.end * block;
                    Task::Reduce(BlockCoarseRows {
                        sub: &mut out.sub[square.clone()],
                        diag: &mut out.diag[square.clone()],
                        sup: &mut out.sup[square],
                        rhs: cut_out_mut(&mut out.rhs, rows),
                    })
                }
                LevelJob::Substitute { x, gaps, coarse, x_max } => {
                    let own = part - self.parts.start..part - self.parts.start + span.partitions();
                    let first = span.first * block - base;
                    let rows = first..(first + span.rows() * block).min(x[0].len());
                    let (x, gaps) = (cut_out_mut(x, rows), cut_out_mut(gaps, own));
                    Task::Substitute(BlockTarget { coarse: *coarse, partition: part, x, gaps, x_max: *x_max })
                }
            };
            let (rhs, memory) = (self.rhs, &mut *self.memory);
            let of_span = T::blocks(self.settings.simd(), BlockRun { level: self.level, rhs, span, task, memory });
            found = both(found, of_span);
            part += span.partitions();
        }
        found
    }
}

/// Solves the system of one level. Where `gaps` has room for them, verifies: returns what it found, and writes the gap of
/// every partition. Without, what it found is no more than whether the matrix may be singular.
fn solve_level<T: Scalar>(
    settings: BlockSettings,
    (matrix, n_rhs): (BlockMatrix<'_, T>, usize),
    rhs: Columns<'_, T>,
    (x, gaps): (ColumnsMut<'_, T>, ColumnsMut<'_, T::Real>),
    (memory, stack): (&mut [T::Real], &mut PodStack),
) -> CheckResults {
    let (cut, b) = (settings.cut(matrix.block_rows()), matrix.block());
    let n = cut.coarse();
    let threads = settings.threads_for(matrix.block_rows(), b);
    let (sub, stack) = stack.make_aligned_raw::<T>(n * b * b, ALIGN);
    let (diag, stack) = stack.make_aligned_raw::<T>(n * b * b, ALIGN);
    let (sup, stack) = stack.make_aligned_raw::<T>(n * b * b, ALIGN);
    let (coarse_rhs, stack) = stack.make_aligned_raw::<T>(n_rhs * n * b, ALIGN);
    let (coarse, stack) = stack.make_aligned_raw::<T>(n_rhs * n * b, ALIGN);

    let exchange = T::Real::from_f64(f64::from(settings.options.pivoting != Pivoting::None));
    let choice = BlockPivots { exchange, noise: T::Real::from_f64(settings.options.noise_threshold) };
    let level = &BlockSystem { matrix, scaling: settings.options.scaling(), choice, n_rhs };
    let parts = 0..cut.partitions();
    let out = BlockCoarseRows { sub: &mut *sub, diag: &mut *diag, sup: &mut *sup, rhs: columns_mut(coarse_rhs, n_rhs) };
    let work = LevelJob::Reduce(out);
    let [reduced, ..] =
        Share { settings, level, cut, rhs, parts: parts.clone(), work, memory: &mut *memory }.parallel(threads);

    let square = b * b;
    let (first, last) = if matrix.periodic() { (&sub[..square], &sup[(n - 1) * square..]) } else { (&[][..], &[][..]) };
    let (sub, sup) = (&sub[square..], &sup[..(n - 1) * square]);
    let below = BlockRows { block: b, sub, diag, sup, first, last, orientation: Orientation::Plain };
    let suspect = if n == 2 {
        solve_two(&below, columns(coarse_rhs, n_rhs), columns_mut(coarse, n_rhs), n_rhs)
    } else {
        let system = (BlockMatrix::Blocks(below), n_rhs);
        let (rhs, x) = (columns(coarse_rhs, n_rhs), columns_mut(coarse, n_rhs));
        solve_level(settings, system, rhs, (x, Default::default()), (&mut *memory, stack))[0].suspect
    };

    let coarse = columns(coarse, n_rhs);
    let x_max = coarse.map(size_below);
    let work = LevelJob::Substitute { x, gaps, coarse, x_max };
    let mut found = Share { settings, level, cut, rhs, parts, work, memory }.parallel(threads);
    for (found, x_max) in found.iter_mut().zip(x_max) {
        found.x_max = found.x_max.max_nan(x_max.to_f64());
        found.suspect |= reduced.suspect | suspect;
    }
    found
}

/// Rows of two blocks.
const TWO: usize = 2 * tuning::SMALL_BLOCK_MAX;

/// Solves a system of two block rows by elimination with scaled partial pivoting. Returns whether a pivot was next to zero.
fn solve_two<T: Scalar>(rows: &BlockRows<'_, T>, rhs: Columns<'_, T>, x: ColumnsMut<'_, T>, n_rhs: usize) -> bool {
    let n = 2 * rows.block;
    let mut a = [[T::ZERO; TWO + MAX_RHS]; TWO];
    for i in 0..n {
        rows.visit_row(i, |j, value| a[i][j] = value);
        (0..n_rhs).for_each(|s| a[i][n + s] = rhs[s][i]);
        let largest = a[i][..n].iter().fold(T::Real::ZERO, |max, v| max.max_nan(peak(*v)));
        a[i].iter_mut().for_each(|v| *v = v.scale(largest.equilibrate()));
    }
    let mut suspect = false;
    for c in 0..n {
        let size = |r: usize| a[r][c].abs1();
        let pivot = (c..n).fold(c, |best, r| if size(r) > size(best) { r } else { best });
        suspect |= is_nothing(a[pivot][c]);
        a.swap(c, pivot);
        let (above, below) = a.split_at_mut(c + 1);
        let (pivot_row, recip) = (&above[c], reciprocal(above[c][c]));
        for row in &mut below[..n - c - 1] {
            let factor = row[c] * recip;
            row[c..n + n_rhs].iter_mut().zip(&pivot_row[c..]).for_each(|(v, p)| *v -= factor * *p);
        }
    }
    for s in 0..n_rhs {
        for i in (0..n).rev() {
            let known = (i + 1..n).fold(a[i][n + s], |sum, j| sum - a[i][j] * x[s][j]);
            x[s][i] = known * reciprocal(a[i][i]);
        }
    }
    suspect
}

/// RPTS on a matrix of small blocks. Holds no factors: they are recomputed in cache.
#[derive(Debug)]
struct BlockRpts {
    options: Options,
}

/// Takes `a`, of at least two block rows; reads no numbers. `sequential`: the sequential pivoted method.
pub(crate) fn factor<T: Scalar, A: SmallBlocks<T>>(
    decision: &Decision,
    a: Arc<A>,
    sequential: FactorBy<T, A>,
) -> Result<Factors<T, A>> {
    let own = BlockRpts { options: decision.options };
    Ok(Factors::new(a, Facts::new(decision), own).or_else(decision, sequential))
}

impl BlockRpts {
    fn settings<T: Scalar>(&self) -> BlockSettings<'_> {
        BlockSettings::new::<T>(&self.options)
    }
}

impl<T: Scalar, A: SmallBlocks<T>> Solver<T, A> for BlockRpts {
    fn scratch(&self, a: &A, n_rhs: usize) -> StackReq {
        let (size, together) = (SystemSize::of(&a.blocks(Op::Plain)), together(n_rhs));
        let rhs = StackReq::new_aligned::<T>(size.n.saturating_mul(together), ALIGN);
        rhs.and(level_scratch::<T>(&self.settings::<T>(), size, together))
    }

    fn solve(&self, a: &A, transposed: bool, x: &mut [T], stack: &mut PodStack) {
        let (settings, matrix) = (self.settings::<T>(), a.blocks(if transposed { Op::Transpose } else { Op::Plain }));
        let n = matrix.n();
        let n_rhs = together(x.len() / n);
        let (memory, stack) =
            stack.make_aligned_raw::<T::Real>(settings.tile_memory::<T>(SystemSize::of(&matrix), n_rhs), ALIGN);
        let (rhs, stack) = stack.make_aligned_raw::<T>(n_rhs * n, ALIGN);
        for x in x.chunks_mut(n_rhs * n) {
            let n_rhs = x.len() / n;
            let rhs = &mut rhs[..x.len()];
            rhs.copy_from_slice(x);
            let work = (&mut *memory, &mut *stack);
            let x = (columns_mut(x, n_rhs), Default::default());
            solve_level(settings, (matrix, n_rhs), columns(rhs, n_rhs), x, work);
        }
    }

    fn solve_scratch(&self, factors: &Factors<T, A>, n_rhs: usize) -> StackReq {
        scratch::<T>(&self.options, SystemSize::of(&factors.matrix().blocks(Op::Plain)), n_rhs)
    }

    fn solve_all(
        &self,
        factors: &Factors<T, A>,
        op: Op,
        system: RhsAndSolution<'_, T>,
        outcome: &mut Outcome<'_>,
    ) -> Result<()> {
        driver::solve_all(self, factors, op, system, outcome)
    }
}

impl<T: Scalar, A: SmallBlocks<T>> ByPartitions<T, A> for BlockRpts {
    fn together(&self, n_rhs: usize) -> usize {
        together(n_rhs)
    }

    fn partitions(&self, a: &A) -> usize {
        self.settings::<T>().cut(a.blocks(Op::Plain).block_rows()).partitions()
    }

    fn solve_and_measure(
        &self,
        a: &A,
        op: Op,
        (rhs, x): RhsAndSolution<'_, T>,
        gaps: &mut [T::Real],
        (_, stack): (&mut Report, &mut PodStack),
    ) -> [CheckResult; MAX_RHS] {
        let (settings, matrix) = (self.settings::<T>(), a.blocks(op));
        let n_rhs = rhs.len() / matrix.n();
        let memory = settings.tile_memory::<T>(SystemSize::of(&matrix), n_rhs);
        let (memory, stack) = stack.make_aligned_raw::<T::Real>(memory, ALIGN);
        let (x, gaps) = (columns_mut(x, n_rhs), columns_mut(gaps, n_rhs));
        solve_level(settings, (matrix, n_rhs), columns(rhs, n_rhs), (x, gaps), (memory, stack))
    }

    fn mend(
        &self,
        a: &A,
        op: Op,
        (rhs, x): RhsAndSolution<'_, T>,
        found: CheckResult,
        gaps: &[T::Real],
    ) -> Option<(f64, usize)> {
        let matrix = a.blocks(op);
        let (n, block, cut) = (matrix.n(), matrix.block(), self.settings::<T>().cut(matrix.block_rows()));
        let simd = self.options.simd;
        let equations = &a.equations(op, simd);
        let (x_max, goal) = (known_size(found), good::<T>());
        let mut repair = BlockRepair { equations, block, simd, rhs, x, x_max, goal, largest_changed: false };
        let unknowns = |p: usize| cut.start(p) * block..(cut.end(p) * block).min(n);
        let mended = mend_bad::<T>(found, gaps, |p| repair.mend(unknowns(p)))?;
        // Errors were measured against the largest x there was. If that was among the mended, nothing is known yet.
        (!repair.largest_changed).then_some(mended)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Plan;
    use crate::contract::measure::measure;
    use crate::pivoted::{banded, block_band};
    use crate::{Complex32, Complex64, Error, Factor, Method, Shape};

    /// Numbers from U(−1, 1), both parts.
    fn random<T: Scalar>(n: usize, seed: u64) -> Vec<T> {
        let mut state = seed;
        let mut unit = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            T::Real::from_f64((state >> 11) as f64 / (1u64 << 52) as f64 - 1.0)
        };
        (0..n).map(|_| T::from_parts(unit(), unit())).collect()
    }

    fn matrix<T: Scalar>(rows: usize, block: usize, periodic: bool) -> BlockTridiagonal<'static, T> {
        let len = rows * block * block;
        BlockTridiagonal::from_vecs(block, [1, 2, 3].map(|seed| random(len, seed)), periodic).unwrap()
    }

    fn rpts(shape: Shape) -> Plan {
        Plan::new(shape).method(Method::Rpts)
    }

    /// Matrices with their sequential method.
    trait Solvable<T: Scalar>: SmallBlocks<T> + Clone {
        const SEQUENTIAL: FactorBy<T, Self>;

        fn factor(&self, plan: &Plan) -> Factors<T, Self> {
            factor(&plan.decision, Arc::new(self.clone()), Self::SEQUENTIAL).unwrap()
        }
    }

    impl<T: Scalar> Solvable<T> for Banded<'_, T> {
        const SEQUENTIAL: FactorBy<T, Self> = banded::factor;
    }

    impl<T: Scalar> Solvable<T> for BlockTridiagonal<'_, T> {
        const SEQUENTIAL: FactorBy<T, Self> = block_band::factor;
    }

    /// Solves and checks what is reported against η measured anew.
    fn check<T: Scalar, M: Solvable<T>>(a: &M, plan: &Plan, op: Op, rhs: &[T]) -> Vec<T> {
        let factor = Solvable::factor(a, plan);
        let n_rhs = rhs.len() / a.shape().n();
        let mut x = vec![T::from_real(T::Real::NAN); rhs.len()];
        let mut memory = dyn_stack::PodBuffer::new(factor.solve_scratch(n_rhs));
        let report = factor.solve_into_with(op, rhs, &mut x, PodStack::new(&mut memory)).unwrap();
        assert!(report.backward_error <= good::<T>() && !report.fallback, "{:?} {op:?}: {report:?}", a.shape());
        for (rhs, x) in rhs.chunks(a.shape().n()).zip(x.chunks(a.shape().n())) {
            // What is reported holds, but for the rounding of measuring it again.
            let eta = measure(&a.equations(op, Simd::detect()), rhs, x, false);
            let rounding = 0.5 * good::<T>();
            assert!(eta <= report.backward_error + rounding, "{:?} {op:?}: {eta:e} {report:?}", a.shape());
        }
        x
    }

    fn systems_of_all_sizes<T: Scalar>() {
        for block in 1..=8 {
            for rows in [2, 3, 7, 8, 9, 31, 33, 64, 97, 300, 1031] {
                for periodic in [false, true] {
                    let a = matrix::<T>(rows, block, periodic);
                    let plan = rpts(a.shape()).partition_rows(if rows % 2 == 0 { 8 } else { 5 });
                    for (n_rhs, op) in [(1, Op::Plain), (3, Op::Transpose), (5, Op::ConjTranspose)] {
                        check(&a, &plan, op, &random(a.n() * n_rhs, 4));
                    }
                }
            }
        }
    }

    #[test]
    fn systems_of_all_sizes_f64() {
        systems_of_all_sizes::<f64>();
    }

    #[test]
    fn systems_of_all_sizes_f32() {
        systems_of_all_sizes::<f32>();
    }

    #[test]
    fn systems_of_all_sizes_c64() {
        systems_of_all_sizes::<Complex64>();
    }

    #[test]
    fn systems_of_all_sizes_c32() {
        systems_of_all_sizes::<Complex32>();
    }

    #[test]
    fn bands_are_cut_into_blocks() {
        for (lower, upper) in [(0, 0), (0, 1), (1, 0), (2, 2), (1, 3), (4, 2), (0, 5), (8, 8)] {
            for n in [17, 18, 64, 100, 509, 2003] {
                // Rows of the array that are no part of the matrix, as LAPACK has them.
                let leading = lower + upper + 4;
                let mut bands = random::<f64>(n * leading, 7);
                bands.iter_mut().skip(upper).step_by(leading).for_each(|v| *v += 2.0);
                let a = Banded::with_leading(n, lower, upper, leading, &bands).unwrap();
                for (plan, op) in [
                    (rpts(a.shape()), Op::Plain),
                    (rpts(a.shape()).partition_rows(5), Op::Transpose),
                    (rpts(a.shape()).pivoting(Pivoting::Partial), Op::Plain),
                ] {
                    check(&a, &plan, op, &random(2 * n, 9));
                }
            }
        }
    }

    #[test]
    fn threads_do_not_change_a_bit() {
        let a = matrix::<f64>(9000, 2, true);
        let rhs = random(a.n(), 5);
        let x = [1, 2, 3, 7].map(|threads| check(&a, &rpts(a.shape()).threads(threads), Op::Plain, &rhs));
        assert!(x.iter().all(|y| *y == x[0]));
    }

    /// Rows and right-hand sides multiplied by powers of two: the same pivots, the same bits of x.
    #[test]
    fn row_scaling_changes_nothing() {
        let (rows, block) = (500, 3);
        let blocks = [1, 2, 3].map(|seed| random::<f64>(rows * block * block, seed));
        let power = |i: usize| 2.0f64.powi((i * 37 % 1901) as i32 - 950);
        let scaled = blocks.clone().map(|array| {
            let scaled = |(k, v): (usize, f64)| v * power(k / (block * block) * block + k % block);
            array.into_iter().enumerate().map(scaled).collect()
        });
        let a = BlockTridiagonal::from_vecs(block, blocks, false).unwrap();
        let b = BlockTridiagonal::from_vecs(block, scaled, false).unwrap();
        let rhs = random(a.n(), 6);
        let scaled: Vec<f64> = rhs.iter().enumerate().map(|(i, v)| v * power(i)).collect();
        let plan = rpts(a.shape()).verify(false);
        let solve = |a: &BlockTridiagonal<'_, f64>, rhs: &[f64]| Solvable::factor(a, &plan).solve(rhs).unwrap().values;
        assert_eq!(solve(&a, &rhs), solve(&b, &scaled));
    }

    /// All diagonal blocks and every other block beside them zero: no block inside a partition is regular.
    #[test]
    fn decoupled_pairs_need_no_fallback() {
        let (rows, block) = (512, 2);
        let beside = |odd: usize| -> Vec<f64> {
            let unit = |k: usize| f64::from(u8::from(k / 4 % 2 == odd && [0, 3].contains(&(k % 4))));
            (0..4 * rows).map(unit).collect()
        };
        let a = BlockTridiagonal::from_vecs(block, [beside(1), vec![0.0; 4 * rows], beside(0)], false).unwrap();
        check(&a, &rpts(a.shape()), Op::Plain, &random(a.n(), 3));
    }

    #[test]
    fn what_cannot_be_solved_is_said() {
        let n = 200;
        let blocks = || [1, 2, 3].map(|seed| random::<f64>(4 * n, seed));
        let solve = |blocks: [Vec<f64>; 3], rhs: &[f64]| {
            let a = BlockTridiagonal::from_vecs(2, blocks, false).unwrap();
            rpts(a.shape()).factor(&a).unwrap().solve(rhs).map(|x| x.report).unwrap_err()
        };
        let rhs = random(2 * n, 4);
        // A column of zeros.
        let mut singular = blocks();
        singular[0][4 * 101..][..2].fill(0.0);
        singular[1][4 * 100..][..2].fill(0.0);
        singular[2][4 * 99..][..2].fill(0.0);
        assert_eq!(solve(singular, &rhs), Error::Singular { row: 200 });
        let mut infinite = blocks();
        infinite[2][17] = f64::INFINITY;
        assert_eq!(solve(infinite, &rhs), Error::NotFinite { array: "sup", index: 17 });
        let mut wrong = rhs;
        wrong[399] = f64::NAN;
        assert_eq!(solve(blocks(), &wrong), Error::NotFinite { array: "rhs", index: 399 });
    }
}
