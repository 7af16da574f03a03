//! The table of methods: the name, the shapes, the page and the functions of each method.

use crate::matrix::Shape;
use crate::tuning::SMALL_BLOCK_MAX;

/// Calls `$then!` with the table.
///
/// For each kind of system that a method solves, the table has its page and, in brackets, the code that factors such systems. `plan/`
/// expands the table and reads the brackets as follows:
///
/// - `stored E`: an `Elimination` of `methods/`
/// - `block_stored E`: a `BlockElimination` of `methods/`
/// - `scheme m`: partitions on SIMD lanes, by the function `scheme` of a file of `methods/`
/// - `module m`: the functions `factor` and `scratch` of a module
/// - `lanes`: a variant of the kernels for batches
#[doc(hidden)]
#[macro_export]
macro_rules! methods {
    ($then:ident) => {
        $then! {
            /// Sequential elimination with pivoting, as in LAPACK. Banded systems use blocked LU.
            Pivoted "pivoted" {
                Tridiagonal "pivoted.md" [module pivoted::tridiagonal];
                Band "pivoted.md" [module pivoted::banded];
                Blocks "pivoted.md" [module pivoted::block_band];
            }
            /// Sequential elimination without pivoting, for diagonally dominant or positive definite matrices.
            Thomas "thomas" {
                Tridiagonal "thomas.md" [stored thomas::Thomas<T>];
            }
            /// L·D·Lᴴ from both ends, for Hermitian positive definite matrices. All other matrices give an error.
            Cholesky "cholesky" {
                Tridiagonal "cholesky.md" [module methods::cholesky::tridiagonal];
                Band "cholesky.md" [module methods::cholesky::band];
                Batch "cholesky.md" [lanes];
            }
            /// Sequential elimination with 1 × 1 and 2 × 2 pivots on the diagonal, without row exchanges.
            DiagonalPivoting "diagonal-pivoting" {
                Tridiagonal "diagonal-pivoting.md" [stored diagonal_pivoting::DiagonalPivoting<T>];
            }
            /// Recursive partitioned Schur complement: SIMD lanes and threads eliminate the partitions of one system.
            Rpts "rpts" {
                Tridiagonal "rpts.md" [module methods::rpts::of_tridiagonal];
                NarrowBand "block-rpts.md" [module methods::rpts::of_bands];
                SmallBlocks "block-rpts.md" [module methods::rpts::of_blocks];
            }
            /// Partitions on SIMD lanes, with diagonal pivoting inside each partition.
            SpikeDiagonalPivoting "spike-diagonal-pivoting" {
                Tridiagonal "spike-diagonal-pivoting.md" [scheme spike_diagonal_pivoting];
            }
            /// Partitions on SIMD lanes, without pivoting inside each partition.
            SpikeThomas "spike-thomas" {
                Tridiagonal "spike-thomas.md" [scheme spike_thomas];
            }
            /// Partitions on threads, with cyclic reduction inside each partition.
            SpikeCr "spike-cr" {
                Tridiagonal "spike-cr.md" [stored spike_cr::SpikeCr<T>];
            }
            /// Partitions on SIMD lanes, with a coarse system of independent pairs, for strongly dominant matrices.
            SpikeTruncated "spike-truncated" {
                Tridiagonal "spike-thomas.md" [scheme spike_truncated];
            }
            /// Partitions on SIMD lanes, with Givens rotations inside each partition.
            SpikeQr "spike-qr" {
                Tridiagonal "spike-qr.md" [scheme spike_qr];
            }
            /// Diagonal pivoting as linear recurrences, which a scan over tiles solves.
            ParallelDiagonalPivoting "parallel-diagonal-pivoting" {
                Tridiagonal "parallel-diagonal-pivoting.md" [stored parallel_diagonal_pivoting::ParallelDiagonalPivoting<T>];
            }
            /// LU without pivoting as linear recurrences, which a scan over tiles solves.
            CfLu "cf-lu" {
                Tridiagonal "cf-lu.md" [stored cf_lu::CfLu<T>];
            }
            /// Cyclic reduction: each level eliminates every other row.
            Cr "cr" {
                Tridiagonal "cyclic-reduction.md" [stored cr::Cr<T>];
            }
            /// Tricyclic reduction: each level eliminates two of three rows.
            Tricr "tricr" {
                Tridiagonal "cyclic-reduction.md" [stored tricr::Tricr<T>];
            }
            /// Parallel cyclic reduction: each level reduces all rows.
            Pcr "pcr" {
                Tridiagonal "cyclic-reduction.md" [stored pcr::ParallelCyclicReduction];
            }
            /// Cyclic reduction with diagonal pivoting: each level eliminates one or two rows between those that it keeps.
            AdaptiveCr "adaptive-cr" {
                Tridiagonal "adaptive-cr.md" [stored adaptive_cr::AdaptiveCr<T>];
            }
            /// Banded systems: partitions on threads with LU and UL, and a coarse system that is solved recursively.
            Spike "spike" {
                Band "spike.md" [module methods::spike];
                Blocks "spike.md" [module methods::spike::of_blocks];
            }
            /// Dense blocks: block cyclic reduction on threads.
            Bcyclic "bcyclic" {
                Blocks "bcyclic.md" [block_stored bcyclic::Bcyclic<T>];
            }
            /// Dense blocks: partitions on threads, with block LU inside each partition.
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
    /// A band of any width.
    Band,
    /// A band with at most `SMALL_BLOCK_MAX` diagonals on each side.
    NarrowBand,
    /// Block tridiagonal, with blocks of any size.
    Blocks,
    /// Block tridiagonal, with at most `SMALL_BLOCK_MAX` rows per block.
    SmallBlocks,
    /// A batch of any kind.
    Batch,
}

impl SolvedShape {
    /// Whether systems of this shape have this kind.
    fn holds(self, shape: Shape) -> bool {
        match (self, shape) {
            (SolvedShape::Tridiagonal, Shape::Tridiagonal { .. }) => true,
            (SolvedShape::Band, Shape::Banded { .. }) | (SolvedShape::Blocks, Shape::BlockTridiagonal { .. }) => true,
            (SolvedShape::NarrowBand, Shape::Banded { lower, upper, .. }) => lower.max(upper) <= SMALL_BLOCK_MAX,
            (SolvedShape::SmallBlocks, Shape::BlockTridiagonal { block, .. }) => block <= SMALL_BLOCK_MAX,
            (SolvedShape::Batch, Shape::Batch { .. } | Shape::BandedBatch { .. }) => true,
            _ => false,
        }
    }
}

macro_rules! declare {
    ($(
        $(#[$doc:meta])*
        $variant:ident $name:literal { $($kind:ident $page:literal [$($how:tt)+];)* }
    )*) => {
        /// A method to solve a system. Each has a page in `docs/math` with its equations, its cost and the matrices for which it fails.
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
            /// The plan chooses the method. [`Plan::reason`](crate::Plan::reason) gives the reason.
            #[cfg_attr(feature = "serde", serde(rename = "auto"))]
            Auto,
            $(
                $(#[$doc])*
                #[cfg_attr(feature = "serde", serde(rename = $name))]
                $variant,
            )*
        }

        impl Method {
            /// All methods, including `Auto`. [`solves`](Self::solves) tells which shapes a method solves.
            pub const ALL: [Method; 1 + [$($name),*].len()] = [Method::Auto, $(Method::$variant),*];

            /// The name used on the command line and in reports.
            pub fn name(self) -> &'static str {
                match self {
                    Method::Auto => "auto",
                    $(Method::$variant => $name,)*
                }
            }

            /// The kinds of systems that the method solves, each with its page.
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
    /// The method with this name.
    pub fn from_name(name: &str) -> Option<Method> {
        Self::ALL.into_iter().find(|m| m.name() == name)
    }

    /// Whether the method requires a Hermitian positive definite matrix, and returns [`NotDefinite`](crate::Error::NotDefinite) for all
    /// other matrices.
    pub fn needs_definite(self) -> bool {
        self == Method::Cholesky
    }

    /// The shape as which the method solves systems of `shape`. Bands with at most one diagonal on each side, and blocks of one row, are
    /// tridiagonal, except for methods that only solve bands or blocks.
    pub(crate) fn takes_for(self, shape: Shape) -> Shape {
        let knows = self == Method::Auto || self.kinds().iter().any(|(kind, _)| *kind == SolvedShape::Tridiagonal);
        if knows { shape.as_tridiagonal().unwrap_or(shape) } else { shape }
    }

    /// Whether the method solves systems of this shape.
    ///
    /// Bands with at most one diagonal on each side, and blocks of one row, count as tridiagonal.
    pub fn solves(self, shape: Shape) -> bool {
        let taken_for = self.takes_for(shape);
        matches!(self, Method::Auto | Method::Pivoted) || self.kinds().iter().any(|(kind, _)| kind.holds(taken_for))
    }

    /// The path of the page on this method. For `rpts`, this is the page on tridiagonal systems; `docs/math/block-rpts.md` is the page on
    /// blocks and narrow bands.
    pub fn page(self) -> &'static str {
        self.kinds().first().map_or("docs/math/verification.md", |(_, page)| page)
    }

    /// The page for systems of this shape.
    pub(crate) fn page_for(self, shape: Shape) -> &'static str {
        let taken_for = self.takes_for(shape);
        self.kinds().iter().find(|(kind, _)| kind.holds(taken_for)).map_or(self.page(), |(_, page)| page)
    }
}
