//! The builder of a problem in the general separable form.

use crate::condition::Condition;
use crate::method::PoissonMethod;
use crate::operator::SystemOperator;
use crate::order::AxisOrder;
use crate::pencil::{AxisPencil, FactorPencils, LumpedSolver, PencilOperator, has_eigenvectors};
use crate::plan::{PlanCore, PoissonPlan};
use crate::scalar::PoissonScalar;
use crate::separable::SideTerms;
use crate::settings::{ProblemSettings, shared_setters};
use bandsolve::{Error, Result, Simd};
use bandsolve_kernel::arithmetic::Standard;

/// The plan of a [`SeparablePencils`] problem: another name of [`PoissonPlan`].
///
/// # Examples
/// ```
/// use bandsolve_poisson::{AxisPencil, PencilPlan, SeparablePencils};
/// // A = tridiag(−1, 2, −1) and M = I along both axes: −Δ with u = 0 at all sides.
/// let axis = AxisPencil::with_identity([&[-1.0; 3], &[2.0; 3], &[-1.0; 3]]);
/// let plan: PencilPlan<f64> = SeparablePencils::new(&[axis.clone(), axis]).plan()?;
/// assert_eq!(plan.method().0.name(), "gemm");
/// assert!(plan.solve(&[1.0; 9])?.report.backward_error < 1e-14);
/// # Ok::<(), bandsolve::Error>(())
/// ```
pub type PencilPlan<T> = PoissonPlan<T>;

/// A problem on a box in the general separable form, with two tridiagonal matrices A and M per axis.
///
/// The equation in two dimensions is
///
/// ```text
/// (A₁ ⊗ M₂ + M₁ ⊗ A₂ + c·M₁ ⊗ M₂) u = f
/// ```
///
/// In three dimensions, the matrix is
///
/// ```text
/// A₁ ⊗ M₂ ⊗ M₃ + M₁ ⊗ A₂ ⊗ M₃ + M₁ ⊗ M₂ ⊗ A₃ + c·M₁ ⊗ M₂ ⊗ M₃
/// ```
///
/// Finite elements on a grid of boxes have this form. A is then the stiffness matrix of an axis, and M is its mass matrix.
///
/// Along all axes except one, A must be symmetric, and M must be symmetric and definite. The remaining axis may have any two matrices.
///
/// # Shapes
/// As for [`Poisson`](crate::Poisson): the last axis is contiguous.
///
/// # Cost
/// A plan costs 6n³ flops per axis, for all axes except one. A solve costs 4n flops per unknown for each of these axes, and 12 flops per
/// unknown for the tridiagonal systems.
///
/// # Errors
/// The setters never fail. [`plan`](Self::plan) checks all options.
///
/// # Source
/// R. E. Lynch, J. R. Rice, D. H. Thomas, Numer. Math. 6 (1964), 185–199. See docs/math/poisson.md.
///
/// # Examples
/// ```
/// use bandsolve_poisson::{AxisPencil, SeparablePencils};
/// // Bilinear finite elements on the unit square, with u = 0 at all sides.
/// let (n, h) = (31, 1.0 / 32.0);
/// let (off, diag) = (vec![-1.0 / h; n], vec![2.0 / h; n]);
/// let (mass_off, mass) = (vec![h / 6.0; n], vec![2.0 * h / 3.0; n]);
/// let axis = AxisPencil::new([&off, &diag, &off], [&mass_off, &mass, &mass_off]);
/// let plan = SeparablePencils::new(&[axis.clone(), axis]).plan::<f64>()?;
/// let u = plan.solve(&vec![h * h; n * n])?;
/// assert!((u.values[n * n / 2] - 0.0737).abs() < 1e-3);
/// assert!(u.report.backward_error < 2e-15);
/// # Ok::<(), bandsolve::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct SeparablePencils {
    pencils: Vec<AxisPencil>,
    settings: ProblemSettings,
}

impl SeparablePencils {
    /// Start a problem with one to three axes, without a shift.
    pub fn new(pencils: &[AxisPencil]) -> Self {
        Self { pencils: pencils.to_vec(), settings: ProblemSettings::default() }
    }

    shared_setters! {
        /// Set the shift c, the factor of the product of all M. Default: 0.
        shift
        /// Set the method: [`Gemm`](PoissonMethod::Gemm), which `Auto` chooses, or [`Pscr`](PoissonMethod::Pscr).
        ///
        /// `Pscr` requires symmetric A with negative off-diagonal entries, and diagonal M with positive entries.
        method
    }

    /// Check the options, and compute the eigenvectors of all axes except one.
    ///
    /// # Errors
    /// - [`Error::Shape`] if the six diagonals of an axis have different lengths.
    /// - [`Error::NotFinite`] if a matrix entry or the shift is NaN or infinite.
    /// - [`Error::Unsupported`] if the method cannot solve this problem.
    /// - [`Error::OutOfMemory`].
    pub fn plan<T: PoissonScalar>(&self) -> Result<PoissonPlan<T>> {
        let _mode = Standard::enter();
        let shape: Vec<usize> = self.pencils.iter().map(AxisPencil::len).collect();
        self.settings.check(&shape)?;
        self.pencils.iter().try_for_each(AxisPencil::check)?;
        let (method, reason) = match self.settings.method {
            PoissonMethod::Auto => (PoissonMethod::Gemm, "generalized eigenvectors also work if M is not diagonal"),
            method @ (PoissonMethod::Gemm | PoissonMethod::Pscr) => (method, "requested by name"),
            other => {
                return Err(Error::Unsupported {
                    method: other.name(),
                    what: "problems with two matrices per axis: use gemm or pscr",
                });
            }
        };
        let core = if shape.contains(&0) { None } else { Some(self.core(method, &shape)?) };
        Ok(PoissonPlan::new(&shape, (method, reason.to_owned()), core))
    }

    /// Everything that a plan of a problem with unknowns needs.
    fn core<T: PoissonScalar>(&self, method: PoissonMethod, shape: &[usize]) -> Result<PlanCore<T>> {
        let (shift, threads) = (self.settings.shift, self.settings.threads());
        let order = AxisOrder::new(self.order(method)?, shape);
        let pick =
            |axis: Option<usize>| axis.map_or_else(|| Ok(AxisPencil::trivial()), |axis| self.pencils[axis].copied());
        let [one, two, three] = order.axes.map(pick);
        let axes = [one?, two?, three?];
        let solver = match method {
            PoissonMethod::Pscr => LumpedSolver::boxed(&axes, shift, threads)?,
            _ => T::by_real_type::<FactorPencils<'_>>((&axes, shift, threads))?,
        };
        let condition = solver.condition().unwrap_or(Condition { rcond: f64::NAN, cancelling: true });
        let operator = SystemOperator::Pencils(PencilOperator { axes, shift });
        let (sides, simd) = (SideTerms::none(), Simd::detect());
        Ok(PlanCore { order, sides, operator, weights: None, condition, solver, threads, simd })
    }

    /// The axes in the order in which the solver uses them.
    ///
    /// With `gemm`, the first axis is the one that has no eigenvectors, or else the longest one. With `pscr`, it is axis 0.
    fn order(&self, method: PoissonMethod) -> Result<[Option<usize>; 3]> {
        let count = self.pencils.len();
        let mut others: Vec<usize> = Vec::new();
        for (k, axis) in self.pencils.iter().enumerate() {
            if !has_eigenvectors(axis) && !has_eigenvectors(&axis.negated()?) {
                others.push(k);
            }
        }
        let longest = (0..count).rev().max_by_key(|k| self.pencils[*k].len());
        let first = match others[..] {
            _ if method == PoissonMethod::Pscr => Some(0),
            [] => longest,
            [alone] => Some(alone),
            _ => {
                let what = "problems in which more than one axis has an A that is not symmetric, or an M that is not symmetric and definite. \
                            Only one axis can have such matrices";
                return Err(Error::Unsupported { method: method.name(), what });
            }
        };
        let mut rest = (0..count).filter(|k| Some(*k) != first);
        let (one, two) = (rest.next(), rest.next());
        Ok(if two.is_some() { [first, one, two] } else { [first, None, one] })
    }
}
