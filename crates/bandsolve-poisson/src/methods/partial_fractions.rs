//! Block cyclic reduction by partial fractions, the common part of `bcr2`, `bcr4` and `pscr`.
//!
//! The matrix is B ⊗ I + I ⊗ R, where B is tridiagonal along the first axis, and R is the matrix of the other axes. Each stage of a
//! reduction computes, for several nodes (intervals of block rows), a sum of solves with shifted R:
//!
//! ```text
//! outₒ = Σⱼ weightₒⱼ (R + λⱼ)⁻¹ Σₛ coefficientₛⱼ inₛ
//! ```
//!
//! The inputs inₛ are block rows or sums of block rows. The outputs are added to block rows, or replace them. The nodes of a stage are
//! independent of each other. Threads share the solves in units whose size does not depend on the number of threads, so that results do
//! not depend on it either.
//!
//! # Source
//! M. Myllykoski, T. Rossi, J. Toivanen, *Fast Poisson solvers for graphics processing units*, PARA 2012, (11) to (14).

mod nodes;
mod solve;
mod stages;

use super::toeplitz::ShiftedLine;
use bandsolve::Result;
use bandsolve::memory::reserved;
use bandsolve_kernel::shifted::ShiftedSweep;
use bandsolve_kernel::{RealScalar, Simd, tuning};
pub(crate) use nodes::{FractionPiece, FractionRoot, NodeGroup};
use stages::{NodeStage, RootChunking};

/// The solver for R + λ.
#[derive(Debug, Clone)]
pub(crate) enum BelowAxis<R> {
    /// R is tridiagonal.
    Line(ShiftedLine<R>),
    /// R has several axes. Another plan solves its systems.
    Block(Box<PartialFractions<R>>),
}

impl<R: RealScalar> BelowAxis<R> {
    /// Number of unknowns of R.
    pub fn len(&self) -> usize {
        match self {
            BelowAxis::Line(line) => line.n(),
            BelowAxis::Block(block) => block.unknowns(),
        }
    }
}

/// Minimum number of unknowns for the widest vectors of the machine.
const WIDE: usize = 1 << 17;

/// A plan for B ⊗ I + I ⊗ R + shift: stages of partial fractions.
#[derive(Debug, Clone)]
pub(crate) struct PartialFractions<R> {
    /// Number of block rows.
    rows: usize,
    /// Whether the axis is periodic. Row 0 is then the last row.
    ring: bool,
    /// Number of unknowns of a block row.
    len: usize,
    stages: Vec<NodeStage<R>>,
    below: BelowAxis<R>,
    simd: Simd,
    /// Maximum number of partial sums that a stage stores, in block rows.
    slots: usize,
    /// Number of scratch elements per thread.
    scratch_per_thread: usize,
}

impl<R: RealScalar> PartialFractions<R> {
    /// A plan for `rows` block rows.
    pub fn new(rows: usize, stages: &[Vec<NodeGroup>], below: BelowAxis<R>, simd: Simd) -> Result<Self> {
        // The widest vectors need padded roots, and more scratch than a small problem justifies.
        let simd = if rows * below.len() < WIDE { simd.min(Simd::Avx2) } else { simd };
        let chunking = match &below {
            BelowAxis::Line(_) => RootChunking::of_line::<R>(simd),
            BelowAxis::Block(_) => RootChunking::OF_BLOCK,
        };
        let mut planned = reserved(stages.len())?;
        for groups in stages {
            planned.push(NodeStage::new(groups, chunking)?);
        }
        let stages: Vec<NodeStage<R>> = planned;
        let slots = stages.iter().map(|stage| stage.slots).max().unwrap_or(0);
        let len = below.len();
        let groups = stages.iter().flat_map(|stage| &stage.groups);
        let sums = groups.map(|group| group.rows_of_a_thread(chunking)).max().unwrap_or(0) * len;
        let scratch_per_thread = sums
            + match &below {
                BelowAxis::Line(line) => ShiftedSweep::<R>::work(line.n(), simd),
                BelowAxis::Block(block) => len + block.scratch(1),
            };
        Ok(Self { rows, ring: false, len, stages, below, simd, slots, scratch_per_thread })
    }

    /// The same plan for a periodic axis: row 0 means the last row n, and row n + i means row i.
    pub fn in_a_ring(self) -> Self {
        Self { ring: true, ..self }
    }

    /// A plan for R alone, with one block row and one solve.
    pub fn line(line: ShiftedLine<R>, simd: Simd) -> Result<Self> {
        let root = FractionRoot { class: 0, root: 0.0, coefficients: vec![1.0], weights: vec![1.0] };
        let pieces = vec![FractionPiece { ins: vec![1], roots: vec![root] }];
        let group = NodeGroup { base: 0, stride: 1, count: 1, pieces, targets: vec![1], keep: false };
        Self::new(1, &[vec![group]], BelowAxis::Line(line), simd)
    }

    /// Number of unknowns.
    pub fn unknowns(&self) -> usize {
        self.rows * self.len
    }

    /// Number of scratch elements for a number of threads.
    pub fn scratch(&self, threads: usize) -> usize {
        (1 + self.slots) * self.len + self.tasks(threads) * self.scratch_per_thread
    }

    /// Memory of the roots, coefficients and weights, in bytes.
    pub fn bytes(&self) -> usize {
        let groups = self.stages.iter().flat_map(|stage| &stage.groups);
        let terms = groups.flat_map(|group| &group.terms);
        let words = terms.map(|term| term.roots.len() + term.coefficients.len() + term.weights.len()).sum::<usize>();
        let below = if let BelowAxis::Block(block) = &self.below { block.bytes() } else { 0 };
        words * size_of::<R>() + below
    }

    /// Number of tasks for a number of threads.
    fn tasks(&self, threads: usize) -> usize {
        tuning::tasks(threads, self.rows * self.len)
    }

    /// Number of systems per solve: with the matrix of all axes except the first, then of all axes except the first two, and so on.
    pub fn counts(&self) -> Vec<usize> {
        let groups = self.stages.iter().flat_map(|stage| &stage.groups);
        let solves = groups.map(|group| group.count * group.terms.iter().map(|term| term.count).sum::<usize>()).sum();
        let mut counts = vec![solves];
        if let BelowAxis::Block(block) = &self.below {
            counts.extend(block.counts().iter().map(|count| count * solves));
        }
        counts
    }
}
