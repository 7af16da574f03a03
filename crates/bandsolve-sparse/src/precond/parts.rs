//! What preconditioners consist of, before anything is factored: for a device, which solves with the systems itself.

use super::block_lines::PairForestSystem;
use super::diagonal::DiagonalInverse;
use super::forest_system::ForestSystem;
use super::kind::{PreconditionerKind, PreconditionerOptions};
use super::products::{adaptive_systems, diagonal_systems};
use super::splitting::{comparable_graph, forests as forests_of_graph, worthy_forests};
use crate::csr::Csr;
use crate::factor::GraphFactor;
use crate::forest::Forest;
use bandsolve::matrix::Index;
use bandsolve::{Error, Result, Scalar};
use bandsolve_kernel::arithmetic::Standard;
use bandsolve_kernel::by_type;

/// The parts of a preconditioner: an operator z = M⁻¹·r, with systems that are not yet factored.
///
/// [`Preconditioner`](crate::Preconditioner) factors them on the CPU. Other hardware, such as a GPU, can solve with them in its own way.
///
/// # Examples
/// ```
/// use bandsolve_sparse::{PreconditionerOptions, PreconditionerParts, nine_point};
/// let a = nine_point([[0.0, -1.0, 0.0], [-1.0, 4.0, -1.0], [0.0, -1.0, 0.0]], (20, 30));
/// let parts = PreconditionerParts::new(&a, "alt-i:2".parse().expect("a name"), &PreconditionerOptions::default())?;
/// assert!(matches!(parts, PreconditionerParts::AlternatingInner(systems) if systems.len() == 2));
/// # Ok::<(), bandsolve::Error>(())
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum PreconditionerParts<T: Scalar> {
    /// z = r
    Identity,
    /// z = D⁻¹·r
    Diagonal(DiagonalInverse<T>),
    /// The system of one forest: [`ForestSolver`](crate::ForestSolver).
    Forest(ForestSystem<T>),
    /// The system of a forest of pairs: [`PairForestSolver`](crate::PairForestSolver).
    Pairs(PairForestSystem<T>),
    /// The systems of forests, with a residual of A between two solves: [`AlternatingInner`](crate::AlternatingInner).
    AlternatingInner(Vec<ForestSystem<T>>),
    /// The systems of forests, of which each step solves one: [`AlternatingOuter`](crate::AlternatingOuter).
    AlternatingOuter(Vec<ForestSystem<T>>),
    /// z = M₁⁻¹ ··· Mₘ⁻¹·T⁻¹·r: [`ForestProduct`](crate::ForestProduct).
    Product {
        /// The diagonal of T⁻¹.
        inverse: Vec<T>,
        /// M₁ first.
        systems: Vec<ForestSystem<T>>,
    },
}

/// Parts, with their kind, in which the number of forests is known, and the reason for this number if it was chosen.
pub(super) type ChosenParts<T> = (PreconditionerParts<T>, PreconditionerKind, String);

by_type! {
    /// [`parts`] for each number type, compiled once, in this crate.
    struct MakeParts<'a>: (&'a Csr<'a, T, u32>, PreconditionerKind, PreconditionerOptions) => Result<ChosenParts<T>> = parts;
}

impl<T: Scalar> PreconditionerParts<T> {
    /// Find the parts of the preconditioner of a square matrix.
    ///
    /// # Errors
    /// As [`Preconditioner::new`](crate::Preconditioner::new), except for errors of factors. [`Error::Unsupported`] for `auto`, `ilu0`, `ilu-isai`
    /// and `amg-lines`, which have other parts.
    pub fn new<I: Index>(a: &Csr<'_, T, I>, kind: PreconditionerKind, options: &PreconditionerOptions) -> Result<Self> {
        a.check_square()?;
        let _mode = Standard::enter();
        T::by_type::<MakeParts<'_>>((&a.narrow()?, kind, *options)).map(|(parts, ..)| parts)
    }
}

/// Find the parts of a named kind.
pub(super) fn parts<T: Scalar>(
    (a, kind, options): (&Csr<'_, T, u32>, PreconditionerKind, PreconditionerOptions),
) -> Result<ChosenParts<T>> {
    let n = a.rows();
    let mut reason = String::new();
    let mut forests = |count: usize, omega: f64| match count {
        0 => worthy_forests(comparable_graph(a)?, omega, &options.factors).map(|(forests, why)| {
            reason = why;
            forests
        }),
        count => forests_of_graph(comparable_graph(a)?, count, omega, &options.factors),
    };
    let systems = |forests: Vec<Forest>| {
        forests.into_iter().map(|forest| ForestSystem::new(a, forest)).collect::<Result<Vec<_>>>()
    };
    let mut built_kind = kind;
    let parts = match kind {
        PreconditionerKind::Identity => PreconditionerParts::Identity,
        PreconditionerKind::Diagonal(rule) => PreconditionerParts::Diagonal(DiagonalInverse::new(a, rule)?),
        PreconditionerKind::Tridiagonal => PreconditionerParts::Forest(ForestSystem::new(a, Forest::in_order(n)?)?),
        PreconditionerKind::Forest => {
            let graph = comparable_graph(a)?;
            let forest = Forest::heaviest(&graph, &GraphFactor::of(&graph, &options.factors)?)?;
            drop(graph);
            PreconditionerParts::Forest(ForestSystem::new(a, forest)?)
        }
        PreconditionerKind::ForestBlock => PreconditionerParts::Pairs(PairForestSystem::new(a, &options.factors)?),
        PreconditionerKind::AltInner(m) => {
            let systems = systems(forests(m, options.omega)?)?;
            built_kind = PreconditionerKind::AltInner(systems.len());
            PreconditionerParts::AlternatingInner(systems)
        }
        PreconditionerKind::AltOuter(m) => {
            let systems = systems(forests(m, options.omega)?)?;
            built_kind = PreconditionerKind::AltOuter(systems.len());
            PreconditionerParts::AlternatingOuter(systems)
        }
        PreconditionerKind::ProductDiagonal(m) => {
            let (inverse, systems) = diagonal_systems(a, forests(m, 0.0)?)?;
            built_kind = PreconditionerKind::ProductDiagonal(systems.len());
            PreconditionerParts::Product { inverse, systems }
        }
        PreconditionerKind::ProductAdaptive { forests, scaled } => {
            let ((inverse, systems), why) = adaptive_systems(a, (forests, scaled), &options.factors)?;
            reason = why;
            built_kind = PreconditionerKind::ProductAdaptive { forests: systems.len(), scaled };
            PreconditionerParts::Product { inverse, systems }
        }
        PreconditionerKind::Grid { columns, rows } => {
            PreconditionerParts::AlternatingInner(systems(Forest::grid_axes(n, [columns, rows])?.into())?)
        }
        PreconditionerKind::Auto
        | PreconditionerKind::Ilu0
        | PreconditionerKind::IluIsai(_)
        | PreconditionerKind::AmgLines(_) => {
            return Err(Error::Unsupported {
                method: "a preconditioner by its parts",
                what: "`auto`, `ilu0`, `ilu-isai` and `amg-lines`",
            });
        }
    };
    Ok((parts, built_kind, reason))
}
