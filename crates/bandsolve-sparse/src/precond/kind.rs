//! The table of preconditioners: kinds, names and properties. Also their options.

use super::diagonal::DiagonalRule;
use crate::factor::GraphFactorOptions;
use crate::tuning::FOREST_OMEGA;
use bandsolve::Result;
use core::fmt::{self, Display, Formatter};
use core::str::FromStr;

/// Calls `$then!` with the table of preconditioners.
///
/// An entry has the documentation and the variant of `PreconditionerKind`, its names, and
///
/// - `hermitian`: whether M is Hermitian if A is, so that conjugate gradients can use it
/// - `adjoint`: whether the operator implements products with M⁻ᴴ
/// - `set_up`: the constructor, as a function of the matrix and the options; `branch` stands for a branch of `build.rs`, for kinds with a
///   parameter or several steps
macro_rules! preconditioners {
    ($then:ident) => {
        $then! {
            /// No preconditioner.
            Identity "none" [hermitian: true, adjoint: true, set_up: branch];
            /// A diagonal matrix: [`DiagonalInverse`](crate::DiagonalInverse).
            Diagonal(DiagonalRule) "jacobi, diagp1, diagp2, l1" [hermitian: true, adjoint: true, set_up: branch];
            /// The tridiagonal part of the matrix, in the given order of the unknowns.
            Tridiagonal "tridiagonal" [hermitian: true, adjoint: true, set_up: branch];
            /// The tridiagonal system of one linear forest (AlgTriScal): [`ForestSolver`](crate::ForestSolver).
            Forest "forest" [hermitian: true, adjoint: true, set_up: branch];
            /// The block tridiagonal system of a linear forest of pairs (AlgTriBlock): [`PairForestSolver`](crate::PairForestSolver).
            ForestBlock "forest-block" [hermitian: true, adjoint: true, set_up: branch];
            /// Solves with m forests in turn, and forms a residual between two solves (ALT-i): [`AlternatingInner`](crate::AlternatingInner). If
            /// m = 0, the weights of the forests decide how many there are.
            AltInner(usize) "alt-i:M" [hermitian: false, adjoint: false, set_up: branch];
            /// Step k solves with the next of m forests (ALT-o): [`AlternatingOuter`](crate::AlternatingOuter). If m = 0, the weights of the
            /// forests decide how many there are.
            AltOuter(usize) "alt-o:M" [hermitian: false, adjoint: false, set_up: branch];
            /// A product of the systems of m disjoint forests (MOS-d): [`ForestProduct::diagonal`](crate::ForestProduct::diagonal). If m = 0, the
            /// weights of the forests decide how many there are.
            ProductDiagonal(usize) "mos-d:M" [hermitian: false, adjoint: false, set_up: branch];
            /// A product of the systems of m forests (MOS-a): [`ForestProduct::adaptive`](crate::ForestProduct::adaptive). Each forest comes from
            /// the matrix that the factors before it leave.
            ProductAdaptive {
                /// Number of forests m. If 0, their weights decide how many there are.
                forests: usize,
                /// Whether the result is independent of a scaling of the rows of A.
                scaled: bool,
            } "mos-a:M, mos-a:M:scaled" [hermitian: false, adjoint: false, set_up: branch];
            /// ILU(0), incomplete LU with the sparsity pattern of A: [`IncompleteLu`](crate::IncompleteLu).
            Ilu0 "ilu0" [hermitian: true, adjoint: false, set_up: |a, _| super::ilu::IncompleteLu::new(&a)];
            /// ILU(0) with approximate inverses of the triangles, and this number of sweeps: [`IncompleteInverse`](crate::IncompleteInverse).
            IluIsai(usize) "ilu-isai:S" [hermitian: false, adjoint: false, set_up: branch];
            /// Tridiagonal solves along the rows, then along the columns of a grid (ADI).
            Grid {
                /// Unknowns per row of the grid.
                columns: usize,
                /// Number of rows of the grid.
                rows: usize,
            } "adi:NXxNY" [hermitian: false, adjoint: false, set_up: branch];
            /// Algebraic multigrid whose smoother solves along this number of forests on each level: [`LineMultigrid`](crate::LineMultigrid).
            AmgLines(usize) "amg-lines:M" [hermitian: true, adjoint: false, set_up: branch];
        }
    };
}
pub(super) use preconditioners;

/// The name and the kind, if the kind has no parameter.
macro_rules! plain {
    ($variant:ident $name:literal) => {
        Some(($name, PreconditionerKind::$variant))
    };
    ($variant:ident $parameters:tt $names:literal) => {
        None
    };
}

macro_rules! declare {
    ($(
        $(#[$doc:meta])*
        $variant:ident $(($($element:tt)*))? $({$($field:tt)*})? $names:literal
            [hermitian: $hermitian:literal, adjoint: $adjoint:literal, set_up: $($set_up:tt)+];
    )*) => {
        /// The kind of a preconditioner, with its parameter.
        ///
        /// # Examples
        /// A kind has a name, as on the command line and in Python ([`PRECONDITIONERS`] lists all names):
        /// ```
        /// use bandsolve_sparse::PreconditionerKind;
        /// assert_eq!("amg-lines:2".parse(), Ok(PreconditionerKind::AmgLines(2)));
        /// assert_eq!(PreconditionerKind::Grid { columns: 100, rows: 50 }.to_string(), "adi:100x50");
        /// ```
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[non_exhaustive]
        pub enum PreconditionerKind {
            /// The library chooses one of the others, and a Krylov method. It tries a few steps with each candidate, and predicts the time to
            /// solution.
            Auto,
            $(
                $(#[$doc])*
                $variant $(($($element)*))? $({$($field)*})?,
            )*
        }

        /// The names of all preconditioners, separated by commas, for messages and help texts.
        ///
        /// M is a number of forests, S a number of sweeps, and NXxNY the size of a grid. You may omit `:M`.
        ///
        /// # Examples
        /// ```
        /// use bandsolve_sparse::{PRECONDITIONERS, PreconditionerKind};
        /// assert!(PRECONDITIONERS.starts_with("auto, none, jacobi"));
        /// assert_eq!("jacobi".parse::<PreconditionerKind>().expect("a name").to_string(), "jacobi");
        /// ```
        pub const PRECONDITIONERS: &str = concat!("auto", $(", ", $names),*);

        /// The kinds without a parameter, by name.
        const PLAIN: &[Option<(&str, PreconditionerKind)>] = &[
            Some(("auto", PreconditionerKind::Auto)),
            $(plain!($variant $(($($element)*))? $({$($field)*})? $names),)*
        ];

        impl PreconditionerKind {
            /// Whether M is Hermitian if A is.
            pub(super) fn is_hermitian(self) -> bool {
                match self {
                    Self::Auto => false,
                    $(Self::$variant { .. } => $hermitian,)*
                }
            }

            /// Whether [`apply_op`](bandsolve::LinearOperator::apply_op) of the preconditioner computes products with M⁻ᴴ.
            ///
            /// # Examples
            /// ```
            /// use bandsolve_sparse::PreconditionerKind;
            /// assert!(PreconditionerKind::Forest.has_adjoint() && !PreconditionerKind::Ilu0.has_adjoint());
            /// ```
            pub fn has_adjoint(self) -> bool {
                match self {
                    Self::Auto => false,
                    $(Self::$variant { .. } => $adjoint,)*
                }
            }
        }
    };
}
preconditioners!(declare);

impl Display for PreconditionerKind {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Diagonal(rule) => f.write_str(rule.name()),
            Self::AltInner(0) => f.write_str("alt-i"),
            Self::AltOuter(0) => f.write_str("alt-o"),
            Self::ProductDiagonal(0) => f.write_str("mos-d"),
            Self::AltInner(m) => write!(f, "alt-i:{m}"),
            Self::AltOuter(m) => write!(f, "alt-o:{m}"),
            Self::ProductDiagonal(m) => write!(f, "mos-d:{m}"),
            Self::ProductAdaptive { forests, scaled } => {
                let number = if *forests == 0 { String::new() } else { format!(":{forests}") };
                write!(f, "mos-a{number}{}", if *scaled { ":scaled" } else { "" })
            }
            Self::IluIsai(sweeps) => write!(f, "ilu-isai:{sweeps}"),
            Self::Grid { columns, rows } => write!(f, "adi:{columns}x{rows}"),
            Self::AmgLines(m) => write!(f, "amg-lines:{m}"),
            plain => f.write_str(PLAIN.iter().flatten().find(|(_, kind)| kind == plain).map_or("", |(name, _)| name)),
        }
    }
}

impl FromStr for PreconditionerKind {
    type Err = String;

    /// Parse one of the names in [`PRECONDITIONERS`].
    fn from_str(text: &str) -> Result<Self, String> {
        if let Some((_, kind)) = PLAIN.iter().flatten().find(|(name, _)| *name == text) {
            return Ok(*kind);
        }
        if let Some(rule) = DiagonalRule::ALL.into_iter().find(|rule| rule.name() == text) {
            return Ok(Self::Diagonal(rule));
        }
        let (name, number) = text.split_once(':').unwrap_or((text, ""));
        let count = |number: &str, least: usize| match number.parse() {
            Ok(count) if (least..=64).contains(&count) => Ok(count),
            _ => Err(format!("`{text}`: the number after the colon must be a whole number from {least} to 64")),
        };
        match name {
            "alt-i" if number.is_empty() => Ok(Self::AltInner(0)),
            "alt-o" if number.is_empty() => Ok(Self::AltOuter(0)),
            "mos-d" if number.is_empty() => Ok(Self::ProductDiagonal(0)),
            "alt-i" => count(number, 1).map(Self::AltInner),
            "alt-o" => count(number, 1).map(Self::AltOuter),
            "mos-d" => count(number, 1).map(Self::ProductDiagonal),
            "mos-a" if ["", "scaled"].contains(&number) => {
                Ok(Self::ProductAdaptive { forests: 0, scaled: number == "scaled" })
            }
            "mos-a" => {
                let (number, scaled) = number.strip_suffix(":scaled").map_or((number, false), |number| (number, true));
                Ok(Self::ProductAdaptive { forests: count(number, 1)?, scaled })
            }
            "amg-lines" if number.is_empty() => Ok(Self::AmgLines(1)),
            "amg-lines" => count(number, 1).map(Self::AmgLines),
            "ilu-isai" => count(number, 0).map(Self::IluIsai),
            "adi" => match number.split_once('x').map(|(columns, rows)| (columns.parse(), rows.parse())) {
                Some((Ok(columns), Ok(rows))) => Ok(Self::Grid { columns, rows }),
                _ => Err(format!(
                    "`{text}`: write the unknowns per row and the number of rows after the colon, as in adi:100x50"
                )),
            },
            _ => Err(format!("no preconditioner `{text}`. Choose one of: {PRECONDITIONERS}")),
        }
    }
}

/// Options for preconditioners with linear forests.
///
/// # Examples
/// ```
/// use bandsolve_sparse::PreconditionerOptions;
/// let mut options = PreconditionerOptions::default();
/// options.omega = 0.1;
/// options.factors.seed = 7;
/// assert_eq!(options.factors.degree, 2);
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct PreconditionerOptions {
    /// The factor ω by which the edge weights of a forest are multiplied before the search for the next forest. It applies to kinds whose forests
    /// may share edges (ALT-i, ALT-o, `amg-lines`). Default: 0.01.
    pub omega: f64,
    /// Options of the search for forests. Forest l uses `seed` + l.
    pub factors: GraphFactorOptions,
}

impl Default for PreconditionerOptions {
    fn default() -> Self {
        Self { omega: FOREST_OMEGA, factors: GraphFactorOptions::default() }
    }
}
