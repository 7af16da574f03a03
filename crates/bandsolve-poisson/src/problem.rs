//! What a problem is, step by step.

use crate::axis::{AxisOperator, AxisSpec};
use crate::boundary::{Boundary, BoundaryKind, Grid, Side};
use crate::choice::{choose, solving_order};
use crate::condition::Condition;
use crate::method::PoissonMethod;
use crate::operator::SystemOperator;
use crate::order::AxisOrder;
use crate::plan::{PlanCore, PoissonPlan};
use crate::scalar::PoissonScalar;
use crate::separable::{ResidualOperator, SeparableProblem, SideTerm, SideTerms};
use crate::settings::{ProblemSettings, shared_setters};
use crate::slab::SlabParts;
use bandsolve::memory::{collected, copied};
use bandsolve::{Error, Result, Simd};
use bandsolve_kernel::arithmetic::Standard;

/// A Poisson or Helmholtz problem on a box of one, two or three dimensions:
///
/// $$ (-\Delta_h + c)\,u = f $$
///
/// −Δ_h is the sum over the axes of the second difference (−u_{i−1} + 2u_i − u_{i+1})/h². With spacing 1, as long as nothing else is said, the
/// matrix has 2, 4 or 6 on its diagonal and −1 beside it. The order of the error is h² for every kind of boundary.
///
/// | side | node grid | cell grid |
/// | --- | --- | --- |
/// | Dirichlet, u = g | one spacing beyond the last unknown: g/h² goes to f | half a spacing beyond: diagonal 3/h², 2g/h² goes to f |
/// | Neumann, ∂u/∂n = q | where the last unknown is, whose volume is h/2: (2u₀ − 2u₁)/h², 2q/h goes to f | half a spacing beyond: (u₀ − u₁)/h², q/h goes to f |
/// | periodic | u_n = u₀ | u_n = u₀ |
///
/// # Shapes
/// Arrays have one number for every unknown, by rows: the last axis is contiguous. Several right-hand sides follow one another.
///
/// # Cost
/// O(log n) flops for every unknown and axis with one spacing, O(n) along a second and a third axis whose spacing varies (O(log n) in two
/// dimensions, where axes are long). Memory: [`factor_bytes`](PoissonPlan::factor_bytes).
///
/// # Errors
/// Setting an option never fails; [`plan`](Self::plan) says what is wrong with it.
///
/// # Source
/// R. W. Hockney, J. ACM 12 (1965), 95–113; see docs/math/poisson.md.
///
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
    /// The first axis that was named and is not there.
    missing: Option<usize>,
    /// Bytes of the first array that there was no memory to keep.
    missing_bytes: Option<usize>,
}

impl Poisson {
    /// So many unknowns along each of one to three axes; Dirichlet boundaries with u = 0, nodes, spacing 1, no shift.
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

    /// The caller's numbers, or notes that there is no memory for them.
    fn kept(&mut self, numbers: &[f64]) -> Vec<f64> {
        copied(numbers).unwrap_or_else(|_| {
            self.missing_bytes = self.missing_bytes.or(Some(size_of_val(numbers)));
            Vec::new()
        })
    }

    /// Changes an axis, or notes that it is not there.
    fn axis(mut self, axis: usize, change: impl FnOnce(&mut AxisSpec)) -> Self {
        match self.axes.get_mut(axis) {
            Some(spec) => change(spec),
            None => self.missing = self.missing.or(Some(axis)),
        }
        self
    }

    /// The same spacing along all axes.
    pub fn spacing(mut self, h: f64) -> Self {
        self.axes.iter_mut().for_each(|axis| axis.spacing = h);
        self
    }

    /// The spacing along one axis.
    pub fn axis_spacing(self, axis: usize, h: f64) -> Self {
        self.axis(axis, |spec| spec.spacing = h)
    }

    /// Increasing coordinates along one axis: of a node grid its points with those of Dirichlet sides (n to n + 2 numbers), and n + 1 where it
    /// is periodic; of a cell grid the n + 1 faces of its cells.
    ///
    /// Differences are those of finite volumes: (u_i − u_{i−1})/h_{i−½} flows out of a volume, which ends in the middle between nodes.
    pub fn coordinates(mut self, axis: usize, points: &[f64]) -> Self {
        let points = self.kept(points);
        self.axis(axis, |spec| spec.coordinates = points)
    }

    /// The same boundary on all sides.
    pub fn boundary(mut self, boundary: impl Into<Boundary>) -> Self {
        let boundary = boundary.into();
        self.axes.iter_mut().for_each(|axis| axis.sides = [boundary; 2]);
        self
    }

    /// The boundaries of one axis.
    pub fn axis_boundary(self, axis: usize, low: impl Into<Boundary>, high: impl Into<Boundary>) -> Self {
        self.axis(axis, |spec| spec.sides = [low.into(), high.into()])
    }

    /// Values along a side instead of one: a number for every point of it, in the order of memory.
    pub fn boundary_values(mut self, axis: usize, side: Side, values: &[f64]) -> Self {
        let values = self.kept(values);
        self.values.push((axis, side, values));
        self
    }

    /// The same grid along all axes.
    pub fn grid(mut self, grid: Grid) -> Self {
        self.axes.iter_mut().for_each(|axis| axis.grid = grid);
        self
    }

    /// The grid along one axis.
    pub fn axis_grid(self, axis: usize, grid: Grid) -> Self {
        self.axis(axis, |spec| spec.grid = grid)
    }

    shared_setters! {
        /// c of −Δ + c; 0 unless set.
        shift
        /// The method; chosen unless set.
        method
    }

    /// The mean of u of a singular problem; 0 unless set. It is the mean over the box: each unknown counts by the volume that belongs to it.
    pub fn mean(mut self, mean: f64) -> Self {
        self.mean = mean;
        self
    }

    /// How much may be removed from f where the problem is singular, in parts of its largest entry (boundary values included).
    ///
    /// One tenth unless set: data that balance in the limit miss it by O(h²) on a grid, which is less from eight unknowns an axis on,
    /// while data that do not balance at all miss it by about 1. Infinity accepts everything.
    pub fn removable(mut self, part: f64) -> Self {
        self.removable = part;
        self
    }

    /// Looks at the problem, makes transforms and factors.
    ///
    /// # Errors
    /// [`Error::Shape`] where sizes do not fit, [`Error::NotFinite`] for coordinates, boundary values and the shift, [`Error::Unsupported`] for
    /// what the method does not solve, [`Error::OutOfMemory`].
    pub fn plan<T: PoissonScalar>(&self) -> Result<PoissonPlan<T>> {
        let _mode = Standard::enter();
        self.check()?;
        if self.shape.contains(&0) {
            let method = match self.settings.method {
                PoissonMethod::Auto => PoissonMethod::Fft,
                asked => asked,
            };
            return Ok(PoissonPlan::new(&self.shape, (method, "nothing to solve".to_owned()), None));
        }
        let axes = self.operators()?;
        let (shift, threads) = (self.settings.shift, self.settings.threads());
        let (method, reason) = choose(&axes, shift, self.settings.method);
        let order = AxisOrder::new(solving_order(&axes, method), &self.shape);
        let sides = self.sides(&axes, &order)?;
        let problem = SeparableProblem { axes: picked(axes, order.axes), shift };
        let (condition, weights) = (Condition::of(&problem)?, problem.weights()?);
        let solver = T::factor(&problem, method, threads)?;
        let operator = SystemOperator::Differences(ResidualOperator::new(&problem)?);
        let core = PlanCore { order, sides, operator, weights, condition, solver, threads, simd: Simd::detect() };
        Ok(PoissonPlan::new(&self.shape, (method, reason), Some(core)).with_mean(self.mean, self.removable))
    }

    /// The problem as processes solve it that own planes along the first axis. No part of the interface.
    #[doc(hidden)]
    pub fn slabs<T: PoissonScalar>(&self) -> Result<SlabParts<T>> {
        self.check()?;
        if self.shape.contains(&0) {
            return Err(Error::Shape { what: "shape", expected: 1, got: 0 });
        }
        let axes = self.operators()?;
        // Of two axes the second is the last, along which lines lie.
        let places =
            if axes.len() == 2 { [Some(0), None, Some(1)] } else { [0, 1, 2].map(|k| (k < axes.len()).then_some(k)) };
        let sides = self.sides(&axes, &AxisOrder::new(places, &self.shape))?;
        let problem = SeparableProblem { axes: picked(axes, places), shift: self.settings.shift };
        SlabParts::new(problem, sides, &self.shape, (self.mean, self.removable))
    }

    /// The operators of all axes.
    fn operators(&self) -> Result<Vec<AxisOperator>> {
        self.shape.iter().zip(&self.axes).map(|(n, spec)| AxisOperator::new(*n, spec)).collect()
    }

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

    /// The boundary terms in solving order.
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
            return Err(Error::Unsupported { method: "poisson", what: "boundary values at a periodic side" });
        }
        if let Some(index) = values.iter().position(|value| !value.is_finite()) {
            return Err(Error::NotFinite { array: "boundary values", index });
        }
        Ok(SideTerm::Array(collected(self.reordered(axis, values, order)?.into_iter().map(convert))?))
    }

    /// Values along a side of the caller's `axis`, in solving order.
    fn reordered(&self, axis: usize, values: &[f64], order: &AxisOrder) -> Result<Vec<f64>> {
        let others: Vec<usize> = order.axes.iter().flatten().copied().filter(|other| *other != axis).collect();
        if others.is_sorted() || others.len() < 2 {
            return copied(values);
        }
        // Two axes, exchanged.
        let (rows, columns) = (self.shape[others[0]], self.shape[others[1]]);
        collected((0..rows * columns).map(|e| values[(e % columns) * rows + e / columns]))
    }
}

/// The operators of three axes from those of the caller's; axes that are not there have one unknown.
fn picked(axes: Vec<AxisOperator>, order: [Option<usize>; 3]) -> [AxisOperator; 3] {
    let mut axes: Vec<Option<AxisOperator>> = axes.into_iter().map(Some).collect();
    order.map(|axis| axis.and_then(|axis| axes[axis].take()).unwrap_or_else(AxisOperator::trivial))
}
