//! The table of methods: of each its name, the systems that it solves, its page, and what factors them.

use crate::matrix::Shape;
use crate::tuning::SMALL_BLOCK_MAX;

/// Calls `$then!` with the table. For every kind of system that a method solves: its page, and in brackets how factors are made, which is
/// looked up where the table is expanded, in `plan/`:
///
/// - `stored E`: an `Elimination` of `methods/`; `block_stored E`: a `BlockElimination`;
/// - `scheme m`: partitions on SIMD lanes by the `scheme` of a file of `methods/`;
/// - `own m`: the functions `factor` and `scratch` of a module.
#[doc(hidden)]
#[macro_export]
macro_rules! methods {
    ($then:ident) => {
        $then! {
            /// Sequential elimination with pivoting, as in LAPACK; banded systems by blocked LU.
            Pivoted "pivoted" {
                Tridiagonal "pivoted.md" [own pivoted::tridiagonal];
                Band "pivoted.md" [own pivoted::banded];
                Blocks "pivoted.md" [own pivoted::block_band];
            }
            /// Sequential elimination without pivoting: for dominant or positive definite matrices.
            Thomas "thomas" {
                Tridiagonal "thomas.md" [stored thomas::Thomas<T>];
            }
            /// L·D·Lᴴ from both ends: for Hermitian positive definite matrices, which it tells from others.
            Cholesky "cholesky" {
                Tridiagonal "cholesky.md" [own methods::cholesky::tridiagonal];
                Band "cholesky.md" [own methods::cholesky::band];
            }
            /// Sequential elimination with pivots of one or two rows on the diagonal, no rows exchanged.
            DiagonalPivoting "diagonal-pivoting" {
                Tridiagonal "diagonal-pivoting.md" [stored diagonal_pivoting::DiagonalPivoting<T>];
            }
            /// Recursive partitioned Schur complement: SIMD lanes and threads work on partitions of one tridiagonal system.
            Rpts "rpts" {
                Tridiagonal "rpts.md" [scheme rpts];
                NarrowBand "block-rpts.md" [own methods::rpts::of_bands];
                SmallBlocks "block-rpts.md" [own methods::rpts::of_blocks];
            }
            /// Partitions on SIMD lanes, diagonal pivoting inside.
            SpikeDiagonalPivoting "spike-diagonal-pivoting" {
                Tridiagonal "spike-diagonal-pivoting.md" [scheme spike_diagonal_pivoting];
            }
            /// Partitions on SIMD lanes, no pivoting inside.
            SpikeThomas "spike-thomas" {
                Tridiagonal "spike-thomas.md" [scheme spike_thomas];
            }
            /// Partitions on threads, cyclic reduction inside.
            SpikeCr "spike-cr" {
                Tridiagonal "spike-cr.md" [stored spike_cr::SpikeCr<T>];
            }
            /// Partitions on SIMD lanes whose couplings decay inside: for strongly dominant matrices.
            SpikeTruncated "spike-truncated" {
                Tridiagonal "spike-thomas.md" [scheme spike_truncated];
            }
            /// Partitions on SIMD lanes, Givens rotations inside.
            SpikeQr "spike-qr" {
                Tridiagonal "spike-qr.md" [scheme spike_qr];
            }
            /// Diagonal pivoting as linear recurrences, solved by a scan over tiles.
            ParallelDiagonalPivoting "parallel-diagonal-pivoting" {
                Tridiagonal "parallel-diagonal-pivoting.md" [stored parallel_diagonal_pivoting::ParallelDiagonalPivoting<T>];
            }
            /// LU without pivoting as linear recurrences, solved by a scan over tiles.
            CfLu "cf-lu" {
                Tridiagonal "cf-lu.md" [stored cf_lu::CfLu<T>];
            }
            /// Cyclic reduction: every other row is eliminated, level by level.
            Cr "cr" {
                Tridiagonal "cyclic-reduction.md" [stored cr::Cr<T>];
            }
            /// Tricyclic reduction: two of three rows are eliminated, level by level.
            Tricr "tricr" {
                Tridiagonal "cyclic-reduction.md" [stored tricr::Tricr<T>];
            }
            /// Parallel cyclic reduction: all rows are reduced at every level.
            Pcr "pcr" {
                Tridiagonal "cyclic-reduction.md" [stored pcr::ParallelCyclicReduction];
            }
            /// Cyclic reduction with diagonal pivots: one or two rows between those that stay, level by level.
            AdaptiveCr "adaptive-cr" {
                Tridiagonal "adaptive-cr.md" [stored adaptive_cr::AdaptiveCr<T>];
            }
            /// Banded systems: partitions on threads, LU and UL inside, recursive reduced system.
            Spike "spike" {
                Band "spike.md" [own methods::spike];
                Blocks "spike.md" [own methods::spike::of_blocks];
            }
            /// Dense blocks: block cyclic reduction on threads.
            Bcyclic "bcyclic" {
                Blocks "bcyclic.md" [block_stored bcyclic::Bcyclic<T>];
            }
            /// Dense blocks: partitions on threads, spikes of blocks.
            BlockSpike "block-spike" {
                Blocks "block-spike.md" [block_stored block_spike::BlockSpike<T>];
            }
        }
    };
}

/// A kind of system that a method of the table solves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SolvedShape {
    Tridiagonal,
    /// Of any width.
    Band,
    /// With at most `SMALL_BLOCK_MAX` diagonals on either side.
    NarrowBand,
    /// Block tridiagonal, with blocks of any size.
    Blocks,
    /// With at most `SMALL_BLOCK_MAX` rows a block.
    SmallBlocks,
}

impl SolvedShape {
    /// Whether a system is of this kind.
    fn holds(self, shape: Shape) -> bool {
        match (self, shape) {
            (SolvedShape::Tridiagonal, Shape::Tridiagonal { .. }) => true,
            (SolvedShape::Band, Shape::Banded { .. }) | (SolvedShape::Blocks, Shape::BlockTridiagonal { .. }) => true,
            (SolvedShape::NarrowBand, Shape::Banded { lower, upper, .. }) => lower.max(upper) <= SMALL_BLOCK_MAX,
            (SolvedShape::SmallBlocks, Shape::BlockTridiagonal { block, .. }) => block <= SMALL_BLOCK_MAX,
            _ => false,
        }
    }
}

macro_rules! declare {
    ($(
        $(#[$doc:meta])*
        $variant:ident $name:literal { $($kind:ident $page:literal [$($how:tt)+];)* }
    )*) => {
        /// How a system is solved. Each method has a page in `docs/math`: equations, cost, and the matrices for which it fails.
        ///
        /// # Examples
        /// ```
        /// use bandsolve::{Method, Shape};
        /// let shape = Shape::Tridiagonal { n: 1000, periodic: false };
        /// assert_eq!(Method::from_name("rpts"), Some(Method::Rpts));
        /// assert!(Method::Rpts.solves(shape) && !Method::Bcyclic.solves(shape));
        /// ```
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        #[cfg_attr(feature = "serde", derive(serde::Serialize))]
        pub enum Method {
            /// The plan chooses; [`Plan::reason`](crate::Plan::reason) says why.
            #[cfg_attr(feature = "serde", serde(rename = "auto"))]
            Auto,
            $(
                $(#[$doc])*
                #[cfg_attr(feature = "serde", serde(rename = $name))]
                $variant,
            )*
        }

        impl Method {
            /// Every method that can be asked for; which shapes it solves, [`solves`](Self::solves) tells.
            pub const ALL: [Method; 1 + [$($name),*].len()] = [Method::Auto, $(Method::$variant),*];

            /// The name used on the command line and in reports.
            pub fn name(self) -> &'static str {
                match self {
                    Method::Auto => "auto",
                    $(Method::$variant => $name,)*
                }
            }

            /// What it solves, with the page of each.
            fn kinds(self) -> &'static [(SolvedShape, &'static str)] {
                match self {
                    Method::Auto => &[],
                    $(Method::$variant => &[$((SolvedShape::$kind, concat!("docs/math/", $page))),*],)*
                }
            }
        }
    };
}
methods!(declare);

impl Method {
    /// The method of this name.
    pub fn from_name(name: &str) -> Option<Method> {
        Self::ALL.into_iter().find(|m| m.name() == name)
    }

    /// Whether it solves systems with Hermitian positive definite matrices only, and refuses all others by
    /// [`NotDefinite`](crate::Error::NotDefinite).
    pub fn needs_definite(self) -> bool {
        self == Method::Cholesky
    }

    /// What it takes systems of this shape for: bands with at most one diagonal on either side, and blocks of one row, are
    /// tridiagonal to all but the methods that know bands and blocks alone.
    pub(crate) fn takes_for(self, shape: Shape) -> Shape {
        let knows = self == Method::Auto || self.kinds().iter().any(|(kind, _)| *kind == SolvedShape::Tridiagonal);
        if knows { shape.as_tridiagonal().unwrap_or(shape) } else { shape }
    }

    /// Whether systems of this shape can be solved by it.
    ///
    /// Bands with at most one diagonal on either side, and blocks of one row, are tridiagonal.
    pub fn solves(self, shape: Shape) -> bool {
        let taken_for = self.takes_for(shape);
        matches!(self, Method::Auto | Method::Pivoted) || self.kinds().iter().any(|(kind, _)| kind.holds(taken_for))
    }

    /// Where its equations stand, its cost, and what breaks it; of `rpts` for tridiagonal systems, for blocks and narrow bands
    /// `docs/math/block-rpts.md`.
    pub fn page(self) -> &'static str {
        self.kinds().first().map_or("docs/math/verification.md", |(_, page)| page)
    }

    /// The page for systems of this shape.
    pub(crate) fn page_for(self, shape: Shape) -> &'static str {
        let taken_for = self.takes_for(shape);
        self.kinds().iter().find(|(kind, _)| kind.holds(taken_for)).map_or(self.page(), |(_, page)| page)
    }
}
