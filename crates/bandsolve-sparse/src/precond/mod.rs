//! Preconditioners: operators M⁻¹ that approximate A⁻¹ and are cheap to apply.

mod aggregates;
mod alternating;
mod amg;
mod auto;
mod block_lines;
mod diagonal;
mod galerkin;
mod ilu;
mod incomplete;
mod lines;
mod path_solver;
mod products;
mod splitting;
mod strong_edges;

pub use alternating::{AlternatingInner, AlternatingOuter};
pub use amg::{LineMultigrid, MultigridOptions};
pub use block_lines::PairForestSolver;
pub use diagonal::{DiagonalInverse, DiagonalRule};
pub use ilu::{IncompleteInverse, IncompleteLu};
pub use lines::ForestSolver;
pub use products::ForestProduct;
pub use splitting::comparable_graph;

use crate::csr::Csr;
use crate::factor::{GraphFactor, GraphFactorOptions};
use crate::forest::Forest;
use crate::instances::MakePreconditioner;
use crate::krylov::KrylovMethod;
use bandsolve::dyn_stack::{PodStack, StackReq};
use bandsolve::matrix::Index;
use bandsolve::{Error, LinearOperator, Op, Result, Scalar};
use bandsolve_kernel::arithmetic::Standard;
use core::fmt::{self, Debug, Display, Formatter};
use core::str::FromStr;

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
    /// No preconditioner.
    Identity,
    /// A diagonal matrix: [`DiagonalInverse`].
    Diagonal(DiagonalRule),
    /// The tridiagonal part of the matrix, in the given order of the unknowns.
    Tridiagonal,
    /// The tridiagonal system of one linear forest (AlgTriScal): [`ForestSolver`].
    Forest,
    /// The block tridiagonal system of a linear forest of pairs (AlgTriBlock): [`PairForestSolver`].
    ForestBlock,
    /// Solves with m forests in turn, and forms a residual between two solves (ALT-i): [`AlternatingInner`]. If m = 0, the weights of the forests
    /// decide how many there are.
    AltInner(usize),
    /// Step k solves with the next of m forests (ALT-o): [`AlternatingOuter`]. If m = 0, the weights of the forests decide how many there are.
    AltOuter(usize),
    /// A product of the systems of m disjoint forests (MOS-d): [`ForestProduct::diagonal`]. If m = 0, the weights of the forests decide how many
    /// there are.
    ProductDiagonal(usize),
    /// A product of the systems of m forests (MOS-a): [`ForestProduct::adaptive`]. Each forest comes from the matrix that the factors before it
    /// leave.
    ProductAdaptive {
        /// Number of forests m. If 0, their weights decide how many there are.
        forests: usize,
        /// Whether the result is independent of a scaling of the rows of A.
        scaled: bool,
    },
    /// ILU(0), incomplete LU with the sparsity pattern of A: [`IncompleteLu`].
    Ilu0,
    /// ILU(0) with approximate inverses of the triangles, and this number of sweeps: [`IncompleteInverse`].
    IluIsai(usize),
    /// Tridiagonal solves along the rows, then along the columns of a grid (ADI).
    Grid {
        /// Unknowns per row of the grid.
        columns: usize,
        /// Number of rows of the grid.
        rows: usize,
    },
    /// Algebraic multigrid whose smoother solves along this number of forests on each level: [`LineMultigrid`].
    AmgLines(usize),
    /// The library chooses one of the others, and a Krylov method. It tries a few steps with each candidate, and predicts the time to solution.
    Auto,
}

/// The kinds without a parameter, by name.
const PLAIN: [(&str, PreconditionerKind); 10] = [
    ("auto", PreconditionerKind::Auto),
    ("none", PreconditionerKind::Identity),
    ("jacobi", PreconditionerKind::Diagonal(DiagonalRule::Jacobi)),
    ("diagp1", PreconditionerKind::Diagonal(DiagonalRule::P1)),
    ("diagp2", PreconditionerKind::Diagonal(DiagonalRule::P2)),
    ("l1", PreconditionerKind::Diagonal(DiagonalRule::L1)),
    ("tridiagonal", PreconditionerKind::Tridiagonal),
    ("forest", PreconditionerKind::Forest),
    ("forest-block", PreconditionerKind::ForestBlock),
    ("ilu0", PreconditionerKind::Ilu0),
];

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
pub const PRECONDITIONERS: &str = "auto, none, jacobi, diagp1, diagp2, l1, tridiagonal, forest, forest-block, alt-i:M, alt-o:M, mos-d:M, mos-a:M, \
                                   mos-a:M:scaled, ilu0, ilu-isai:S, adi:NXxNY, amg-lines:M";

impl Display for PreconditionerKind {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
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
            plain => f.write_str(PLAIN.iter().find(|(_, kind)| kind == plain).map_or("", |(name, _)| name)),
        }
    }
}

impl FromStr for PreconditionerKind {
    type Err = String;

    /// Parse one of the names in [`PRECONDITIONERS`].
    fn from_str(text: &str) -> Result<Self, String> {
        if let Some((_, kind)) = PLAIN.iter().find(|(name, _)| *name == text) {
            return Ok(*kind);
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
        Self { omega: 0.01, factors: GraphFactorOptions::default() }
    }
}

/// A preconditioner of a matrix, of any kind: an operator z = M⁻¹·r for [`KrylovSolver`](crate::KrylovSolver).
///
/// # Examples
/// ```
/// use bandsolve_sparse::{Csr, KrylovMethod, KrylovSolver, Preconditioner, PreconditionerOptions};
/// let n = 100;
/// let row = |i: usize| [(i, i, 2.1), (i, (i + 1) % n, -1.0), (i, (i + n - 1) % n, -1.0)];
/// let a = Csr::<f64>::from_triplets(n, n, &(0..n).flat_map(row).collect::<Vec<_>>())?;
/// let m = Preconditioner::new(&a, "alt-i:2".parse().expect("a name"), &PreconditionerOptions::default())?;
/// let mut x = vec![0.0; n];
/// let report = KrylovSolver::new(KrylovMethod::Gmres { restart: 20 }).solve(&a, Some(&m), &vec![1.0; n], &mut x)?;
/// assert!(report.converged() && report.iterations < 5);
/// # Ok::<(), bandsolve::Error>(())
/// ```
pub struct Preconditioner<'a, T: Scalar> {
    kind: PreconditionerKind,
    reason: String,
    method: Option<KrylovMethod>,
    operator: Box<dyn LinearOperator<T> + Send + 'a>,
}

impl<T: Scalar> Debug for Preconditioner<'_, T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("Preconditioner").field("kind", &self.kind).finish_non_exhaustive()
    }
}

impl<'a, T: Scalar> Preconditioner<'a, T> {
    /// Set up the preconditioner of a square matrix. It borrows the matrix.
    ///
    /// # Errors
    /// [`Error::Shape`] if the matrix is not square, if it has 2³² − 1 entries or more, or if the size of a grid does not match. [`Error::Singular`]
    /// with the first singular row, if the matrix that the preconditioner inverts is singular. [`Error::NotFinite`] if this matrix contains NaN or
    /// infinity. [`Error::OutOfMemory`]. [`Error::Interrupted`] if the caller stops the set-up.
    pub fn new<I: Index>(
        a: &'a Csr<'a, T, I>,
        kind: PreconditionerKind,
        options: &PreconditionerOptions,
    ) -> Result<Self> {
        Self::from_csr(a.narrow()?, kind, options)
    }

    /// Set up the preconditioner of a matrix that the preconditioner then owns.
    ///
    /// If the matrix owns its arrays, the preconditioner has the lifetime `'static`.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn from_csr(a: Csr<'a, T, u32>, kind: PreconditionerKind, options: &PreconditionerOptions) -> Result<Self> {
        let _mode = Standard::enter();
        T::by_type::<MakePreconditioner<'_>>((a, kind, *options))
    }

    /// The reason for the choice of this kind, in words. Empty if the caller named the kind and its parameter.
    pub fn reason(&self) -> &str {
        &self.reason
    }

    /// The Krylov method that [`PreconditionerKind::Auto`] chose together with the preconditioner. `None` if the caller named the kind.
    ///
    /// # Examples
    /// ```
    /// use bandsolve_sparse::{KrylovMethod, Preconditioner, PreconditionerKind, nine_point};
    /// let a = nine_point([[0.0, -1.0, 0.0], [-1.0, 4.0, -1.0], [0.0, -1.0, 0.0]], (20, 20));
    /// let m = Preconditioner::new(&a, PreconditionerKind::Auto, &Default::default())?;
    /// assert_eq!(m.method(), Some(KrylovMethod::Cg));
    /// # Ok::<(), bandsolve::Error>(())
    /// ```
    pub fn method(&self) -> Option<KrylovMethod> {
        self.method
    }

    /// Set the reason.
    fn because(self, reason: String) -> Self {
        Self { reason, ..self }
    }

    /// Set the Krylov method.
    fn with_method(self, method: KrylovMethod) -> Self {
        Self { method: Some(method), ..self }
    }

    /// The kind, with the number of forests. For [`PreconditionerKind::Auto`] this is the chosen kind.
    pub fn kind(&self) -> PreconditionerKind {
        self.kind
    }
}

pub(crate) fn make<'a, T: Scalar>(
    (a, kind, options): (Csr<'a, T, u32>, PreconditionerKind, PreconditionerOptions),
) -> Result<Preconditioner<'a, T>> {
    let n = a.rows();
    if a.columns() != n {
        return Err(Error::Shape { what: "columns of a square matrix", expected: n, got: a.columns() });
    }
    if kind == PreconditionerKind::Auto {
        return auto::choose(&a, &options);
    }
    let mut reason = String::new();
    let mut forests = |count: usize, omega: f64| match count {
        0 => splitting::worthy_forests(comparable_graph(&a)?, omega, &options.factors).map(|(forests, why)| {
            reason = why;
            forests
        }),
        count => splitting::forests(comparable_graph(&a)?, count, omega, &options.factors),
    };
    let solvers = |forests: Vec<Forest>| {
        forests.into_iter().map(|forest| ForestSolver::new(&a, forest)).collect::<Result<Vec<_>>>()
    };
    let mut made = kind;
    let operator: Box<dyn LinearOperator<T> + Send + 'a> = match kind {
        // `auto` returned above.
        PreconditionerKind::Identity | PreconditionerKind::Auto => Box::new(Identity(n)),
        PreconditionerKind::Diagonal(rule) => Box::new(DiagonalInverse::new(&a, rule)?),
        PreconditionerKind::Tridiagonal => Box::new(ForestSolver::new(&a, Forest::in_order(n)?)?),
        PreconditionerKind::Forest => {
            let graph = comparable_graph(&a)?;
            let forest = Forest::heaviest(&graph, &GraphFactor::of(&graph, &options.factors)?)?;
            drop(graph);
            Box::new(ForestSolver::new(&a, forest)?)
        }
        PreconditionerKind::ForestBlock => Box::new(PairForestSolver::new(&a, &options.factors)?),
        PreconditionerKind::AltInner(m) => {
            let solvers = solvers(forests(m, options.omega)?)?;
            made = PreconditionerKind::AltInner(solvers.len());
            Box::new(AlternatingInner::new(a, solvers))
        }
        PreconditionerKind::AltOuter(m) => {
            let solvers = solvers(forests(m, options.omega)?)?;
            made = PreconditionerKind::AltOuter(solvers.len());
            Box::new(AlternatingOuter::new(solvers))
        }
        PreconditionerKind::ProductDiagonal(m) => {
            let product = ForestProduct::diagonal(&a, forests(m, 0.0)?)?;
            made = PreconditionerKind::ProductDiagonal(product.forests());
            Box::new(product)
        }
        PreconditionerKind::ProductAdaptive { forests, scaled } => {
            let (product, why) = ForestProduct::adaptive_said(&a, (forests, scaled), &options.factors)?;
            reason = why;
            made = PreconditionerKind::ProductAdaptive { forests: product.forests(), scaled };
            Box::new(product)
        }
        PreconditionerKind::Ilu0 => Box::new(IncompleteLu::new(&a)?),
        PreconditionerKind::IluIsai(sweeps) => Box::new(IncompleteInverse::new(&a, sweeps)?),
        PreconditionerKind::AmgLines(forests) => {
            let multigrid = MultigridOptions {
                forests,
                omega: options.omega,
                factors: options.factors,
                ..MultigridOptions::default()
            };
            Box::new(LineMultigrid::new(a, &multigrid)?)
        }
        PreconditionerKind::Grid { columns, rows } => {
            if columns.checked_mul(rows) != Some(n) {
                let got = columns.saturating_mul(rows);
                return Err(Error::Shape { what: "unknowns of the grid", expected: n, got });
            }
            let lines = vec![Forest::grid_lines(columns, rows, true)?, Forest::grid_lines(columns, rows, false)?];
            let solvers = solvers(lines)?;
            Box::new(AlternatingInner::new(a, solvers))
        }
    };
    Ok(Preconditioner { kind: made, reason, method: None, operator })
}

impl<T: Scalar> LinearOperator<T> for Preconditioner<'_, T> {
    fn rows(&self) -> usize {
        self.operator.rows()
    }

    fn columns(&self) -> usize {
        self.operator.columns()
    }

    fn apply_scratch(&self) -> StackReq {
        self.operator.apply_scratch()
    }

    fn apply(&self, x: &[T], y: &mut [T], stack: &mut PodStack) -> Result<()> {
        self.operator.apply(x, y, stack)
    }

    fn apply_op(&self, op: Op, x: &[T], y: &mut [T], stack: &mut PodStack) -> Result<()> {
        self.operator.apply_op(op, x, y, stack)
    }

    fn changes(&self) -> bool {
        self.operator.changes()
    }

    fn apply_step(&self, step: usize, x: &[T], y: &mut [T], stack: &mut PodStack) -> Result<()> {
        self.operator.apply_step(step, x, y, stack)
    }
}

/// z = r.
struct Identity(usize);

impl<T: Scalar> LinearOperator<T> for Identity {
    fn rows(&self) -> usize {
        self.0
    }

    fn columns(&self) -> usize {
        self.0
    }

    fn apply(&self, x: &[T], y: &mut [T], stack: &mut PodStack) -> Result<()> {
        self.apply_op(Op::Plain, x, y, stack)
    }

    fn apply_op(&self, _: Op, x: &[T], y: &mut [T], _: &mut PodStack) -> Result<()> {
        y.copy_from_slice(x);
        Ok(())
    }
}
