//! The hierarchy of `amg-lines`, for hardware that runs the cycle in its own way.

use super::amg::{CoarsestLevel, MultigridCycle, MultigridLevel, MultigridOptions, damping, on_threads, surveyed};
use super::forest_system::ForestSystem;
use super::lines::ForestSolver;
use crate::csr::Csr;
use bandsolve::matrix::Index;
use bandsolve::{AnyFactor, Result, Scalar};
use bandsolve_kernel::arithmetic::Standard;
use bandsolve_kernel::by_type;

/// The hierarchy of [`LineMultigrid`](super::LineMultigrid) in the precision of its matrix, with systems that are not factored.
///
/// [`LineMultigrid`](super::LineMultigrid) runs its cycle on the CPU. Other hardware, such as a GPU, can run it in its own way.
///
/// # Examples
/// ```
/// use bandsolve_sparse::{MultigridOptions, MultigridParts, nine_point};
/// let a = nine_point([[0.0, -0.1, 0.0], [-1.0, 2.2, -1.0], [0.0, -0.1, 0.0]], (40, 40));
/// let parts = MultigridParts::new(&a, &MultigridOptions::default())?;
/// let [fine, coarsest] = &parts.levels[..] else { panic!("two levels") };
/// assert_eq!(fine.transfer.as_ref().expect("a coarser level").restriction.rows(), coarsest.a.rows());
/// assert!(coarsest.direct.is_some());
/// # Ok::<(), bandsolve::Error>(())
/// ```
#[derive(Debug)]
pub struct MultigridParts<'a, T: Scalar> {
    /// The levels, the finest first.
    pub levels: Vec<MultigridLevelParts<'a, T>>,
    /// Visits per cycle of each level except the first and the last.
    pub visits: usize,
}

/// A level of [`MultigridParts`].
///
/// # Examples
/// ```
/// use bandsolve_sparse::{MultigridLevelParts, MultigridOptions, MultigridParts, nine_point};
/// let a = nine_point([[0.0, -0.1, 0.0], [-1.0, 2.2, -1.0], [0.0, -0.1, 0.0]], (40, 40));
/// let parts = MultigridParts::new(&a, &MultigridOptions::default())?;
/// let fine: &MultigridLevelParts<'_, f64> = &parts.levels[0];
/// assert!(fine.smoother.len() == 1 && fine.direct.is_none());
/// # Ok::<(), bandsolve::Error>(())
/// ```
#[derive(Debug)]
pub struct MultigridLevelParts<'a, T: Scalar> {
    /// The matrix.
    pub a: Csr<'a, T, u32>,
    /// The systems of the forests of the smoother, in order. Empty if the level is solved directly.
    pub smoother: Vec<ForestSystem<T>>,
    /// The transfer to and from the next level. `None` for the coarsest level.
    pub transfer: Option<MultigridTransfer<T>>,
    /// The factors of the coarsest level, unless it is only smoothed.
    pub direct: Option<AnyFactor<'static, T>>,
}

/// The transfer between a level of [`MultigridParts`] and the next one.
///
/// # Examples
/// ```
/// use bandsolve_sparse::{MultigridOptions, MultigridParts, MultigridTransfer, nine_point};
/// let a = nine_point([[0.0, -0.1, 0.0], [-1.0, 2.2, -1.0], [0.0, -0.1, 0.0]], (40, 40));
/// let parts = MultigridParts::new(&a, &MultigridOptions::default())?;
/// let transfer: &MultigridTransfer<f64> = parts.levels[0].transfer.as_ref().expect("a coarser level");
/// assert_eq!(transfer.prolongation.rows(), 1600);
/// # Ok::<(), bandsolve::Error>(())
/// ```
#[derive(Debug)]
pub struct MultigridTransfer<T: Scalar> {
    /// From the next level to this one.
    pub prolongation: Csr<'static, T, u32>,
    /// The adjoint of the prolongation.
    pub restriction: Csr<'static, T, u32>,
}

impl<'a, T: Scalar> MultigridParts<'a, T> {
    /// Set up the hierarchy of a square matrix.
    ///
    /// # Errors
    /// Those of [`LineMultigrid::new`](super::LineMultigrid::new).
    pub fn new<I: Index>(a: &'a Csr<'a, T, I>, options: &MultigridOptions) -> Result<Self> {
        a.check_square()?;
        let (a, _mode) = (a.narrow()?, Standard::enter());
        on_threads(a.rows(), || T::by_type::<MakeMultigridParts<'_>>((a, *options)))
    }

    fn set_up((a, options): (Csr<'a, T, u32>, MultigridOptions)) -> Result<Self> {
        let (a, _) = surveyed(a)?;
        let mut coarse = Vec::new();
        let cycle = MultigridCycle::<T>::new(&a, &options, f64::INFINITY, &mut |a| coarse.push(a))?;
        let MultigridCycle { visits, levels, coarsest, .. } = cycle;
        let mut matrices = core::iter::once(a).chain(coarse);
        let mut matrix = || matrices.next().expect("each level has a matrix");
        let mut parts = Vec::new();
        for MultigridLevel { lines, prolongation, restriction } in levels {
            let (a, transfer) = (matrix(), Some(MultigridTransfer { prolongation, restriction }));
            parts.push(MultigridLevelParts { smoother: systems_of(&a, lines)?, a, transfer, direct: None });
        }
        let (a, transfer) = (matrix(), None);
        let (smoother, direct) = match coarsest {
            CoarsestLevel::Direct(factor) => (vec![], Some(factor)),
            CoarsestLevel::Smoothed(lines) => (systems_of(&a, lines)?, None),
        };
        parts.push(MultigridLevelParts { a, smoother, transfer, direct });
        Ok(Self { levels: parts, visits })
    }
}

by_type! {
    /// [`MultigridParts::set_up`] for each number type, compiled once, in this crate.
    struct MakeMultigridParts<'a>: (Csr<'a, T, u32>, MultigridOptions) => Result<MultigridParts<'a, T>> = MultigridParts::set_up;
}

/// The systems of the solvers of a smoother.
fn systems_of<T: Scalar>(a: &Csr<'_, T, u32>, lines: Vec<ForestSolver<T>>) -> Result<Vec<ForestSystem<T>>> {
    let damping = damping(lines.len());
    lines.into_iter().map(|lines| ForestSystem::of_smoother(a, lines.into_forest(), damping)).collect()
}
