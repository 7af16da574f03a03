//! Cyclic reduction of blocks by partial fractions: what `bcr2`, `bcr4` and `pscr` share.
//!
//! The matrix is B ⊗ I + I ⊗ R, B tridiagonal along the first axis, R that of the other axes. Every step of a reduction is, for some
//! nodes (intervals of block rows), a sum of solves with shifts of R,
//!
//! out_o = Σ_j weight_{o,j} (R + λ_j)⁻¹ Σ_s coefficient_{s,j} in_s,
//!
//! where in_s are block rows or sums of them, and block rows are what outputs are added to or replace. Nodes of a stage have nothing
//! to do with one another. Their solves go to threads in pieces that do not depend on how many there are, and sums go in a tree.
//!
//! Source: M. Myllykoski, T. Rossi, J. Toivanen, *Fast Poisson solvers for graphics processing units*, PARA 2012, (11) to (14).

mod solve;
mod stages;

use super::toeplitz::ShiftedLine;
use bandsolve::Result;
use bandsolve_kernel::shifted::ShiftedSweep;
use bandsolve_kernel::{RealScalar, Simd, tuning};
use stages::{NodeStage, RootChunking};

/// A root of a node: where it stands among those that are alike, and what it takes part with.
#[derive(Debug, Clone)]
pub(crate) struct FractionRoot {
    /// Roots of one class have coefficients and weights that are equal, or opposite, in the same places.
    pub class: usize,
    pub root: f64,
    /// For each input of the piece.
    pub coefficients: Vec<f64>,
    /// For each target of the group.
    pub weights: Vec<f64>,
}

/// Fractions with the same inputs.
#[derive(Debug, Clone)]
pub(crate) struct FractionPiece {
    /// Block rows, counted from the base of the node.
    pub ins: Vec<isize>,
    pub roots: Vec<FractionRoot>,
}

/// Nodes with the same fractions: their bases are `stride` block rows apart.
#[derive(Debug, Clone)]
pub(crate) struct NodeGroup {
    pub base: usize,
    pub stride: usize,
    pub count: usize,
    pub pieces: Vec<FractionPiece>,
    /// Block rows, counted from the base of the node.
    pub targets: Vec<isize>,
    /// Targets are added to, not replaced.
    pub keep: bool,
}

/// What is below the first axis.
#[derive(Debug, Clone)]
pub(crate) enum BelowAxis<R> {
    Line(ShiftedLine<R>),
    Block(Box<PartialFractions<R>>),
}

impl<R: RealScalar> BelowAxis<R> {
    /// Unknowns.
    pub fn len(&self) -> usize {
        match self {
            BelowAxis::Line(line) => line.n(),
            BelowAxis::Block(block) => block.unknowns(),
        }
    }
}

/// Unknowns from which on vectors are as wide as the machine has them.
const WIDE: usize = 1 << 17;

/// A plan for B ⊗ I + I ⊗ R + shift: stages of partial fractions.
#[derive(Debug, Clone)]
pub(crate) struct PartialFractions<R> {
    /// Block rows.
    rows: usize,
    /// Whether the block rows are a ring: row 0 is the last one.
    ring: bool,
    /// Unknowns of a block row.
    len: usize,
    stages: Vec<NodeStage<R>>,
    below: BelowAxis<R>,
    simd: Simd,
    /// Rows that wait to be summed at most.
    slots: usize,
    /// Numbers that one thread needs.
    own: usize,
}

impl<R: RealScalar> PartialFractions<R> {
    /// A plan for so many block rows.
    pub fn new(rows: usize, stages: &[Vec<NodeGroup>], below: BelowAxis<R>, simd: Simd) -> Result<Self> {
        // The widest vectors pad roots, and take memory that a small box does not have.
        let simd = if rows * below.len() < WIDE { simd.min(Simd::Avx2) } else { simd };
        let chunking = RootChunking::of(&below, simd);
        let stages =
            stages.iter().map(|groups| NodeStage::new(groups, chunking)).collect::<Result<Vec<NodeStage<R>>>>()?;
        let slots = stages.iter().map(|stage| stage.slots).max().unwrap_or(0);
        let len = below.len();
        let groups = stages.iter().flat_map(|stage| &stage.groups);
        let own = groups.map(|group| group.rows_of_a_thread(chunking)).max().unwrap_or(0) * len;
        let own = own
            + match &below {
                BelowAxis::Line(line) => ShiftedSweep::<R>::work(line.n(), simd),
                BelowAxis::Block(block) => len + block.scratch(1),
            };
        Ok(Self { rows, ring: false, len, stages, below, simd, slots, own })
    }

    /// The same for block rows in a ring: what is said of row 0 is said of the last one, and of row n + i of row i.
    pub fn in_a_ring(self) -> Self {
        Self { ring: true, ..self }
    }

    /// A plan for R alone: one block row, one solve.
    pub fn line(line: ShiftedLine<R>, simd: Simd) -> Result<Self> {
        let root = FractionRoot { class: 0, root: 0.0, coefficients: vec![1.0], weights: vec![1.0] };
        let pieces = vec![FractionPiece { ins: vec![1], roots: vec![root] }];
        let group = NodeGroup { base: 0, stride: 1, count: 1, pieces, targets: vec![1], keep: false };
        Self::new(1, &[vec![group]], BelowAxis::Line(line), simd)
    }

    /// Unknowns.
    pub fn unknowns(&self) -> usize {
        self.rows * self.len
    }

    /// Numbers of scratch for so many threads.
    pub fn scratch(&self, threads: usize) -> usize {
        (1 + self.slots) * self.len + self.tasks(threads) * self.own
    }

    /// Bytes of roots, coefficients and weights.
    pub fn bytes(&self) -> usize {
        let groups = self.stages.iter().flat_map(|stage| &stage.groups);
        let terms = groups.flat_map(|group| &group.terms);
        let words = terms.map(|term| term.roots.len() + term.coefficients.len() + term.weights.len()).sum::<usize>();
        let below = if let BelowAxis::Block(block) = &self.below { block.bytes() } else { 0 };
        words * size_of::<R>() + below
    }

    fn tasks(&self, threads: usize) -> usize {
        tuning::tasks(threads, self.rows * self.len)
    }

    /// Systems that a solve solves, by axis: those of all axes but the first, of all but the first two, …
    pub fn counts(&self) -> Vec<usize> {
        let groups = self.stages.iter().flat_map(|stage| &stage.groups);
        let own = groups.map(|group| group.count * group.terms.iter().map(|term| term.count).sum::<usize>()).sum();
        let mut counts = vec![own];
        if let BelowAxis::Block(block) = &self.below {
            counts.extend(block.counts().iter().map(|count| count * own));
        }
        counts
    }
}
