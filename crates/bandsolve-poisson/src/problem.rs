//! The builder of a Poisson problem.

use crate::axis::{AxisOperator, AxisSpec};
use crate::boundary::{Boundary, BoundaryKind, Grid, Side};
use crate::choice::{choose, solving_order};
use crate::factor::FactorProblem;
use crate::method::PoissonMethod;
use crate::operator::SystemOperator;
use crate::order::AxisOrder;
use crate::parts::BoxParts;
use crate::plan::{PlanCore, PoissonPlan};
use crate::rcond::condition_of;
use crate::scalar::PoissonScalar;
use crate::separable::{ResidualOperator, SeparableProblem, SideTerm, SideTerms};
use crate::settings::{ProblemSettings, shared_setters};
use crate::slab::SlabParts;
use bandsolve::memory::{collected, copied};
use bandsolve::{Error, Result, Simd};
use bandsolve_kernel::arithmetic::Standard;

/// A Poisson or Helmholtz problem on a box in one, two or three dimensions.
///
/// The equation is `(−Δₕ + c)·u = f`. −Δₕ is the sum of the second differences (−uᵢ₋₁ + 2uᵢ − uᵢ₊₁)/h² along all axes. **Note
/// the minus sign.** For Δu = g, pass f = −g.
///
/// The defaults are u = 0 at all sides (Dirichlet), nodes, spacing 1 and c = 0. The diagonal of the matrix is then 2 in 1D, 4 in 2D and 6 in
/// 3D. The neighbors have the entries −1. The discretization error is O(h²) for all kinds of boundaries.
///
/// The solver adds the boundary values to f. Next to a side, u₀ is the last unknown and u₁ is its neighbor inside:
///
/// | side | node grid | cell grid |
/// | --- | --- | --- |
/// | Dirichlet, u = g | one spacing beyond u₀; g/h² is added to f | half a spacing beyond u₀; the diagonal is 3/h², and 2g/h² is added to f |
/// | Neumann, ∂u/∂n = q | at u₀, whose volume is h/2; the row is (2u₀ − 2u₁)/h², and 2q/h is added to f | half a spacing beyond u₀; the row is (u₀ − u₁)/h², and q/h is added to f |
/// | Robin, α·u + β·∂u/∂n = g | at u₀, whose volume is h/2; the row is (2u₀ − 2u₁)/h² + 2α/(βh)·u₀, and 2g/(βh) is added to f | half a spacing beyond u₀; with δ = (β + αh/2)·h, the row is (u₀ − u₁)/h² + α/δ·u₀, and g/δ is added to f |
/// | periodic | uₙ = u₀ | uₙ = u₀ |
///
/// **Robin sides.** β must not be 0: use a Dirichlet side for u = g/α. With α = 0, the side is a Neumann side. If α/β is positive at one
/// side, and not negative at any other side, −Δ is definite. If α/β is negative, −Δ can have negative eigenvalues or be singular, as with a
/// negative shift: check [`attention`](bandsolve::Report::attention). On a cell grid, β + αh/2 must have the sign of β.
///
/// # Shapes
/// Arrays have one number per unknown, in C order: the last axis is contiguous. Several right-hand sides follow one another.
///
/// # Cost
/// O(log n) flops per unknown for each axis with constant spacing. A second or third axis with variable spacing or Robin sides costs O(n)
/// flops per unknown. On a rectangle with at least 64 unknowns along each axis and 32768 in total, c ≥ 0 and no negative α/β, `auto` uses
/// `pscr` for such axes, which costs O(log n) flops per unknown. If the only axis of this kind is axis 0, a solve takes as long as with
/// constant spacing and Neumann sides. If it is another axis, the solver also reorders f and u, and can take four times as long. Memory: see
/// [`factor_bytes`](PoissonPlan::factor_bytes).
///
/// # Errors
/// The setters never fail. [`plan`](Self::plan) checks all options.
///
/// # Source
/// R. W. Hockney, J. ACM 12 (1965), 95–113. See docs/math/poisson.md.
///
/// # Examples
/// ```
/// use bandsolve_poisson::Poisson;
/// let plan = Poisson::new(&[127, 255]).plan::<f64>()?;
/// let f = vec![1.0; 127 * 255];
/// let solution = plan.solve(&f)?;
/// assert!(solution.report.backward_error < 1e-15);
/// # Ok::<(), bandsolve::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Poisson {
    shape: Vec<usize>,
    axes: Vec<AxisSpec>,
    values: Vec<(usize, Side, Vec<f64>)>,
    settings: ProblemSettings,
    mean: f64,
    removable: f64,
    /// The first axis that a setter named and that does not exist.
    missing: Option<usize>,
    /// Bytes of the first array that could not be copied for lack of memory.
    missing_bytes: Option<usize>,
}

impl Poisson {
    /// Start a problem with `shape[k]` unknowns along axis k, for one to three axes.
    ///
    /// Defaults: u = 0 at all sides (Dirichlet), nodes, spacing 1, no shift.
    pub fn new(shape: &[usize]) -> Self {
        Self {
            shape: shape.to_vec(),
            axes: vec![AxisSpec::default(); shape.len()],
            values: Vec::new(),
            settings: ProblemSettings::default(),
            mean: 0.0,
            removable: 0.1,
            missing: None,
            missing_bytes: None,
        }
    }

    /// A copy of the caller's numbers. Records a lack of memory.
    fn copy_of(&mut self, numbers: &[f64]) -> Vec<f64> {
        copied(numbers).unwrap_or_else(|_| {
            self.missing_bytes = self.missing_bytes.or(Some(size_of_val(numbers)));
            Vec::new()
        })
    }

    /// Changes an axis, or records that the axis does not exist.
    fn axis(mut self, axis: usize, change: impl FnOnce(&mut AxisSpec)) -> Self {
        match self.axes.get_mut(axis) {
            Some(spec) => change(spec),
            None => self.missing = self.missing.or(Some(axis)),
        }
        self
    }

    /// Set the spacing h of all axes. Default: 1.
    pub fn spacing(mut self, h: f64) -> Self {
        self.axes.iter_mut().for_each(|axis| axis.spacing = h);
        self
    }

    /// Set the spacing h of one axis. Default: 1.
    pub fn axis_spacing(self, axis: usize, h: f64) -> Self {
        self.axis(axis, |spec| spec.spacing = h)
    }

    /// Set increasing coordinates along one axis, for a variable spacing.
    ///
    /// | grid | coordinates to pass |
    /// | --- | --- |
    /// | node | the n nodes and the points of the Dirichlet sides: n to n + 2 numbers. Neumann and Robin sides are at nodes |
    /// | node, periodic | the n nodes and the end of the period: n + 1 numbers |
    /// | cell | the n + 1 faces of the cells |
    ///
    /// The discretization is by finite volumes: the flux between neighbors is (uᵢ − uᵢ₋₁)/h_(i−½). On a node grid, the volumes end in the
    /// middle between nodes.
    ///
    /// # Examples
    /// ```
    /// use bandsolve_poisson::{Boundary, Poisson};
    /// // −u″ = 0 with u = x at both ends: u = x at the nodes 1, 2 and 5.
    /// let problem = Poisson::new(&[3]).coordinates(0, &[0.0, 1.0, 2.0, 5.0, 9.0]);
    /// let problem = problem.axis_boundary(0, Boundary::dirichlet(0.0), Boundary::dirichlet(9.0));
    /// let u = problem.plan::<f64>()?.solve(&[0.0; 3])?.values;
    /// assert!(u.iter().zip([1.0, 2.0, 5.0]).all(|(u, x)| (u - x).abs() < 1e-12));
    /// # Ok::<(), bandsolve::Error>(())
    /// ```
    pub fn coordinates(mut self, axis: usize, points: &[f64]) -> Self {
        let points = self.copy_of(points);
        self.axis(axis, |spec| spec.coordinates = points)
    }

    /// Set the same boundary condition at all sides. Default: u = 0.
    pub fn boundary(mut self, boundary: impl Into<Boundary>) -> Self {
        let boundary = boundary.into();
        self.axes.iter_mut().for_each(|axis| axis.sides = [boundary; 2]);
        self
    }

    /// Set the boundary conditions at the low and the high side of one axis. Default: u = 0.
    pub fn axis_boundary(self, axis: usize, low: impl Into<Boundary>, high: impl Into<Boundary>) -> Self {
        self.axis(axis, |spec| spec.sides = [low.into(), high.into()])
    }

    /// Set values that vary along a side: one number per point of the side, in C order.
    ///
    /// They replace the value of the [`Boundary`] at this side, and have its kind. See [`Side`] for an example.
    pub fn boundary_values(mut self, axis: usize, side: Side, values: &[f64]) -> Self {
        let values = self.copy_of(values);
        self.values.push((axis, side, values));
        self
    }

    /// Set the grid of all axes: nodes or cells. Default: nodes.
    pub fn grid(mut self, grid: Grid) -> Self {
        self.axes.iter_mut().for_each(|axis| axis.grid = grid);
        self
    }

    /// Set the grid of one axis: nodes or cells. Default: nodes.
    pub fn axis_grid(self, axis: usize, grid: Grid) -> Self {
        self.axis(axis, |spec| spec.grid = grid)
    }

    shared_setters! {
        /// Set the shift c of −Δ + c. Default: 0.
        shift
        /// Set the method. Default: [`PoissonMethod::Auto`].
        method
    }

    /// Set the mean of u for singular problems. Default: 0.
    ///
    /// The mean is the mean over the box: the weight of an unknown is its volume.
    pub fn mean(mut self, mean: f64) -> Self {
        self.mean = mean;
        self
    }

    /// Set the largest constant that a solve may remove from f if the problem is singular, relative to the largest entry of f with boundary
    /// values. Default: 0.1.
    ///
    /// If the exact data are compatible, the constant is O(h²), which is below 0.1 from eight unknowns per axis on. If the data are
    /// incompatible, the constant is approximately 1, and the solve returns [`Error::Incompatible`]. Infinity accepts all data.
    ///
    /// # Examples
    /// ```
    /// use bandsolve::Error;
    /// use bandsolve_poisson::{Boundary, Poisson};
    /// // ∂u/∂n = 0 at all sides, so the mean of f must be 0.
    /// let problem = Poisson::new(&[16, 16]).boundary(Boundary::neumann(0.0));
    /// let f = vec![1.0; 256];
    /// assert!(matches!(problem.plan::<f64>()?.solve(&f), Err(Error::Incompatible { .. })));
    /// let solution = problem.removable(f64::INFINITY).plan::<f64>()?.solve(&f)?;
    /// assert!((solution.report.removed - 1.0).abs() < 1e-12);
    /// # Ok::<(), bandsolve::Error>(())
    /// ```
    pub fn removable(mut self, part: f64) -> Self {
        self.removable = part;
        self
    }

    /// Check the options, choose the method, and compute its transforms and factors.
    ///
    /// # Errors
    /// - [`Error::Shape`] if an axis does not exist or an array has the wrong length.
    /// - [`Error::NotFinite`] if a coordinate, a boundary value, the shift or the mean is NaN or infinite. For the value of a [`Boundary`], the
    ///   index is that of the axis.
    /// - [`Error::InvalidArgument`] if an option is invalid.
    /// - [`Error::Unsupported`] if the method cannot solve this problem.
    /// - [`Error::OutOfMemory`].
    pub fn plan<T: PoissonScalar>(&self) -> Result<PoissonPlan<T>> {
        let _mode = Standard::enter();
        self.check()?;
        if self.shape.contains(&0) {
            let method = match self.settings.method {
                PoissonMethod::Auto => PoissonMethod::Fft,
                method => method,
            };
            return Ok(PoissonPlan::new(&self.shape, (method, "the problem has no unknowns".to_owned()), None));
        }
        let axes = self.operators()?;
        let (shift, threads) = (self.settings.shift, self.settings.threads());
        let (method, reason) = choose(&axes, shift, self.settings.method);
        let order = AxisOrder::new(solving_order(&axes, method), &self.shape);
        let sides = self.sides(&axes, &order)?;
        let problem = SeparableProblem { axes: picked(axes, order.axes), shift };
        let (condition, weights) = (condition_of(&problem)?, problem.weights()?);
        let solver = T::by_real_type::<FactorProblem<'_>>((&problem, method, threads))?;
        let operator = SystemOperator::Differences(ResidualOperator::new(&problem)?);
        let core = PlanCore { order, sides, operator, weights, condition, solver, threads, simd: Simd::detect() };
        Ok(PoissonPlan::new(&self.shape, (method, reason), Some(core)).with_mean(self.mean, self.removable))
    }

    /// The problem for processes that own planes along the first axis. Not part of the public interface.
    #[doc(hidden)]
    pub fn slabs<T: PoissonScalar>(&self) -> Result<SlabParts<T>> {
        SlabParts::new(self.parts()?)
    }

    /// The discretized problem, for solvers of other crates. Not part of the public interface.
    #[doc(hidden)]
    pub fn parts<T: PoissonScalar>(&self) -> Result<BoxParts<T>> {
        self.check()?;
        if self.shape.contains(&0) {
            return Err(Error::Shape { what: "shape", expected: 1, got: 0 });
        }
        let axes = self.operators()?;
        // With two axes, the lines lie along the second one.
        let places =
            if axes.len() == 2 { [Some(0), None, Some(1)] } else { [0, 1, 2].map(|k| (k < axes.len()).then_some(k)) };
        let sides = self.sides(&axes, &AxisOrder::new(places, &self.shape))?;
        let problem = SeparableProblem { axes: picked(axes, places), shift: self.settings.shift };
        BoxParts::new((problem, sides), &self.shape, self.settings.method, (self.mean, self.removable))
    }

    /// The operators of all axes.
    fn operators(&self) -> Result<Vec<AxisOperator>> {
        let axes = self.shape.iter().zip(&self.axes).enumerate();
        axes.map(|(axis, (n, spec))| AxisOperator::new(axis, *n, spec)).collect()
    }

    /// The first error in the options that does not depend on one axis.
    fn check(&self) -> Result<()> {
        if let Some(bytes) = self.missing_bytes {
            return Err(Error::OutOfMemory { bytes });
        }
        if let Some(axis) =
            self.missing.or(self.values.iter().map(|value| value.0).find(|axis| *axis >= self.shape.len()))
        {
            return Err(Error::Shape { what: "shape", expected: axis + 1, got: self.shape.len() });
        }
        self.settings.check(&self.shape)?;
        if self.mean.is_finite() { Ok(()) } else { Err(Error::NotFinite { array: "mean", index: 0 }) }
    }

    /// The boundary terms, with the axes in solving order.
    fn sides<T: PoissonScalar>(&self, axes: &[AxisOperator], order: &AxisOrder) -> Result<SideTerms<T>> {
        let mut terms = SideTerms::none();
        for (k, axis) in order.axes.iter().enumerate() {
            let Some(axis) = *axis else { continue };
            for side in 0..2 {
                terms.0[k][side] = self.side((axis, side), &axes[axis], order)?;
            }
        }
        Ok(terms)
    }

    /// The boundary term of one side, with the axes in solving order.
    fn side<T: PoissonScalar>(
        &self,
        (axis, side): (usize, usize),
        operator: &AxisOperator,
        order: &AxisOrder,
    ) -> Result<SideTerm<T>> {
        let convert = |value: f64| crate::scalar::real::<T>(value * operator.inflow[side]);
        let name = [Side::Low, Side::High][side];
        let given = self.values.iter().rev().find(|(a, s, _)| (*a, *s) == (axis, name));
        let boundary = self.axes[axis].sides[side];
        let Some((.., values)) = given else {
            return Ok(if boundary.value == 0.0 || boundary.kind == BoundaryKind::Periodic {
                SideTerm::None
            } else {
                SideTerm::Constant(convert(boundary.value))
            });
        };
        let points = self.shape.iter().product::<usize>() / self.shape[axis];
        if values.len() != points {
            return Err(Error::Shape { what: "boundary values", expected: points, got: values.len() });
        }
        if boundary.kind == BoundaryKind::Periodic {
            let (argument, problem) = (format!("boundary[{axis}]"), "has values at a periodic side");
            return Err(Error::invalid(argument, problem, "values at sides of other kinds only"));
        }
        if let Some(index) = values.iter().position(|value| !value.is_finite()) {
            return Err(Error::NotFinite { array: "boundary values", index });
        }
        Ok(SideTerm::Array(collected(self.reordered(axis, values, order)?.into_iter().map(convert))?))
    }

    /// The values along a side of the caller's `axis`, with the axes in solving order.
    fn reordered(&self, axis: usize, values: &[f64], order: &AxisOrder) -> Result<Vec<f64>> {
        let others: Vec<usize> = order.axes.iter().flatten().copied().filter(|other| *other != axis).collect();
        if others.is_sorted() || others.len() < 2 {
            return copied(values);
        }
        // The two axes of the side are exchanged.
        let (rows, columns) = (self.shape[others[0]], self.shape[others[1]]);
        collected((0..rows * columns).map(|e| values[(e % columns) * rows + e / columns]))
    }
}

/// The operators of three axes, from those of the caller's axes. A missing axis gets one unknown.
fn picked(axes: Vec<AxisOperator>, order: [Option<usize>; 3]) -> [AxisOperator; 3] {
    let mut axes: Vec<Option<AxisOperator>> = axes.into_iter().map(Some).collect();
    order.map(|axis| axis.and_then(|axis| axes[axis].take()).unwrap_or_else(AxisOperator::trivial))
}
