//! Every method: its name, its page, the shapes it solves.

use crate::matrix::Shape;

/// How a system is solved. Each method has a page in `docs/math`: equations, cost, and the matrices that break it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Method {
    /// The plan chooses; [`Plan::reason`](crate::Plan::reason) says why.
    Auto,
    /// Sequential elimination with pivoting, LAPACK's way; banded systems by blocked LU.
    Pivoted,
    /// Sequential elimination without pivoting: for dominant or positive definite matrices.
    Thomas,
    /// Sequential elimination with pivots of one or two rows on the diagonal, no rows exchanged.
    DiagonalPivoting,
    /// Recursive partitioned Schur complement: SIMD lanes and threads work on partitions of one tridiagonal system.
    Rpts,
    /// Partitions on SIMD lanes, diagonal pivoting inside.
    SpikeDiagonalPivoting,
    /// Partitions on SIMD lanes, no pivoting inside.
    SpikeThomas,
    /// Partitions on threads, cyclic reduction inside.
    SpikeCr,
    /// Partitions on SIMD lanes whose couplings decay inside: for strongly dominant matrices.
    SpikeTruncated,
    /// Partitions on SIMD lanes, Givens rotations inside.
    SpikeQr,
    /// Diagonal pivoting as linear recurrences, solved by a scan over tiles.
    ParallelDiagonalPivoting,
    /// LU without pivoting as linear recurrences, solved by a scan over tiles.
    CfLu,
    /// Cyclic reduction: every other row is eliminated, level by level.
    Cr,
    /// Tricyclic reduction: two of three rows are eliminated, level by level.
    Tricr,
    /// Parallel cyclic reduction: all rows are reduced at every level.
    Pcr,
    /// Cyclic reduction with diagonal pivots: one or two rows between those that stay, level by level.
    AdaptiveCr,
    /// Banded systems: partitions on threads, LU and UL inside, recursive reduced system.
    Spike,
    /// Dense blocks: block cyclic reduction on threads.
    Bcyclic,
    /// Dense blocks: partitions on threads, spikes of blocks.
    BlockSpike,
}

impl Method {
    /// Every method that can be asked for; which shapes it solves, [`solves`](Self::solves) tells.
    pub const ALL: [Method; 19] = [
        Method::Auto,
        Method::Pivoted,
        Method::Thomas,
        Method::DiagonalPivoting,
        Method::Rpts,
        Method::SpikeDiagonalPivoting,
        Method::SpikeThomas,
        Method::SpikeCr,
        Method::SpikeTruncated,
        Method::SpikeQr,
        Method::ParallelDiagonalPivoting,
        Method::CfLu,
        Method::Cr,
        Method::Tricr,
        Method::Pcr,
        Method::AdaptiveCr,
        Method::Spike,
        Method::Bcyclic,
        Method::BlockSpike,
    ];

    /// What it takes systems of this shape for: bands with at most one diagonal on either side, and blocks of one row, are
    /// tridiagonal to all but the methods that know bands and blocks alone.
    pub(crate) fn takes_for(self, shape: Shape) -> Shape {
        match self {
            Method::Spike | Method::Bcyclic | Method::BlockSpike => shape,
            _ => shape.as_tridiagonal().unwrap_or(shape),
        }
    }

    /// Whether systems of this shape can be solved by it.
    ///
    /// Bands with at most one diagonal on either side, and blocks of one row, are tridiagonal.
    pub fn solves(self, shape: Shape) -> bool {
        let small = |size: usize| size <= crate::tuning::SMALL_BLOCK_MAX;
        match (self, self.takes_for(shape)) {
            (Method::Auto | Method::Pivoted, _) => true,
            (Method::Spike | Method::Bcyclic | Method::BlockSpike, Shape::BlockTridiagonal { .. }) => true,
            (Method::Rpts, Shape::BlockTridiagonal { block, .. }) => small(block),
            (Method::Spike, Shape::Banded { .. }) => true,
            (Method::Rpts, Shape::Banded { lower, upper, .. }) => small(lower.max(upper)),
            (Method::Spike | Method::Bcyclic | Method::BlockSpike, Shape::Tridiagonal { .. }) => false,
            (_, Shape::Tridiagonal { .. }) => true,
            _ => false,
        }
    }

    /// The name used on the command line and in reports.
    pub fn name(self) -> &'static str {
        match self {
            Method::Auto => "auto",
            Method::Pivoted => "pivoted",
            Method::Thomas => "thomas",
            Method::DiagonalPivoting => "diagonal-pivoting",
            Method::Rpts => "rpts",
            Method::SpikeDiagonalPivoting => "spike-diagonal-pivoting",
            Method::SpikeThomas => "spike-thomas",
            Method::SpikeCr => "spike-cr",
            Method::SpikeTruncated => "spike-truncated",
            Method::SpikeQr => "spike-qr",
            Method::ParallelDiagonalPivoting => "parallel-diagonal-pivoting",
            Method::CfLu => "cf-lu",
            Method::Cr => "cr",
            Method::Tricr => "tricr",
            Method::Pcr => "pcr",
            Method::AdaptiveCr => "adaptive-cr",
            Method::Spike => "spike",
            Method::Bcyclic => "bcyclic",
            Method::BlockSpike => "block-spike",
        }
    }

    /// Where its equations stand, its cost, and what breaks it; of `rpts` for tridiagonal systems, for blocks and narrow bands
    /// `docs/math/block-rpts.md`.
    pub fn page(self) -> &'static str {
        match self {
            Method::Auto => "docs/math/verification.md",
            Method::Pivoted => "docs/math/pivoted.md",
            Method::Thomas => "docs/math/thomas.md",
            Method::DiagonalPivoting => "docs/math/diagonal-pivoting.md",
            Method::Rpts => "docs/math/rpts.md",
            Method::SpikeDiagonalPivoting => "docs/math/spike-diagonal-pivoting.md",
            Method::SpikeThomas | Method::SpikeTruncated => "docs/math/spike-thomas.md",
            Method::SpikeCr => "docs/math/spike-cr.md",
            Method::SpikeQr => "docs/math/spike-qr.md",
            Method::ParallelDiagonalPivoting => "docs/math/parallel-diagonal-pivoting.md",
            Method::CfLu => "docs/math/cf-lu.md",
            Method::Cr | Method::Tricr | Method::Pcr => "docs/math/cyclic-reduction.md",
            Method::AdaptiveCr => "docs/math/adaptive-cr.md",
            Method::Spike => "docs/math/spike.md",
            Method::Bcyclic => "docs/math/bcyclic.md",
            Method::BlockSpike => "docs/math/block-spike.md",
        }
    }

    /// The method of this name.
    pub fn from_name(name: &str) -> Option<Method> {
        Self::ALL.into_iter().find(|m| m.name() == name)
    }
}
