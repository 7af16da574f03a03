//! What a problem is, step by step.

use crate::axis::{AxisOperator, AxisSpec};
use crate::boundary::{Boundary, BoundaryKind, Grid, Side};
use crate::cyclic::toeplitz_scale;
use crate::method::PoissonMethod;
use crate::order::AxisOrder;
use crate::plan::PoissonPlan;
use crate::scalar::PoissonScalar;
use crate::separable::{SeparableProblem, SideTerm, SideTerms};
use crate::slab::SlabParts;
use bandsolve::{Error, Result};
use bandsolve_kernel::threads;

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
/// O(log n) flops for every unknown and axis with one spacing, O(n) along a second and a third axis whose spacing varies.
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
    shift: f64,
    method: PoissonMethod,
    threads: Option<usize>,
    mean: f64,
    removable: f64,
    /// The first axis that was named and is not there.
    missing: Option<usize>,
}

impl Poisson {
    /// So many unknowns along each of one to three axes; Dirichlet boundaries with u = 0, nodes, spacing 1, no shift.
    pub fn new(shape: &[usize]) -> Self {
        Self {
            shape: shape.to_vec(),
            axes: vec![AxisSpec::default(); shape.len()],
            values: Vec::new(),
            shift: 0.0,
            method: PoissonMethod::Auto,
            threads: None,
            mean: 0.0,
            removable: 0.1,
            missing: None,
        }
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
    pub fn coordinates(self, axis: usize, points: &[f64]) -> Self {
        self.axis(axis, |spec| spec.coordinates = points.to_vec())
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
        self.values.push((axis, side, values.to_vec()));
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

    /// c of −Δ + c; 0 unless set.
    pub fn shift(mut self, c: f64) -> Self {
        self.shift = c;
        self
    }

    /// The method; chosen unless set.
    pub fn method(mut self, method: PoissonMethod) -> Self {
        self.method = method;
        self
    }

    /// How many threads work; all unless set. The answer does not depend on it.
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = Some(threads);
        self
    }

    /// The mean of u, weighted by volumes, of a singular problem; 0 unless set.
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
    /// what the method does not solve.
    pub fn plan<T: PoissonScalar>(&self) -> Result<PoissonPlan<T>> {
        self.check()?;
        let threads = self.threads.unwrap_or_else(threads::count).max(1);
        if self.shape.contains(&0) {
            return Ok(PoissonPlan::empty(&self.shape, self.method));
        }
        let axes: Vec<AxisOperator> =
            self.shape.iter().zip(&self.axes).map(|(n, spec)| AxisOperator::new(*n, spec)).collect::<Result<_>>()?;
        let order = AxisOrder::new(solving_order(&axes, self.method)?, &self.shape);
        let sides = self.sides(&axes, &order)?;
        let pick = |axis: Option<usize>| axis.map_or_else(AxisOperator::trivial, |axis| axes[axis].clone());
        let problem = SeparableProblem { axes: order.axes.map(pick), shift: self.shift };
        PoissonPlan::new(problem, (self.shape.as_slice().into(), order, sides), self.method, threads)
            .map(|plan| plan.with_mean(self.mean, self.removable))
    }

    /// The problem as processes solve it that own planes along the first axis. No part of the interface.
    #[doc(hidden)]
    pub fn slabs<T: PoissonScalar>(&self) -> Result<SlabParts<T>> {
        self.check()?;
        if self.shape.contains(&0) {
            return Err(Error::Shape { what: "shape", expected: 1, got: 0 });
        }
        let axes: Vec<AxisOperator> =
            self.shape.iter().zip(&self.axes).map(|(n, spec)| AxisOperator::new(*n, spec)).collect::<Result<_>>()?;
        // Of two axes the second is the last, along which lines lie.
        let places =
            if axes.len() == 2 { [Some(0), None, Some(1)] } else { [0, 1, 2].map(|k| (k < axes.len()).then_some(k)) };
        let sides = self.sides(&axes, &AxisOrder::new(places, &self.shape))?;
        let pick = |axis: Option<usize>| axis.map_or_else(AxisOperator::trivial, |axis| axes[axis].clone());
        let problem = SeparableProblem { axes: places.map(pick), shift: self.shift };
        SlabParts::new(problem, sides, &self.shape, (self.mean, self.removable))
    }

    fn check(&self) -> Result<()> {
        if let Some(axis) =
            self.missing.or(self.values.iter().map(|value| value.0).find(|axis| *axis >= self.shape.len()))
        {
            return Err(Error::Shape { what: "shape", expected: axis + 1, got: self.shape.len() });
        }
        if self.shape.is_empty() || self.shape.len() > 3 {
            return Err(Error::Unsupported { method: "poisson", what: "boxes of no or of more than three dimensions" });
        }
        for (array, value) in [("shift", self.shift), ("mean", self.mean)] {
            if !value.is_finite() {
                return Err(Error::NotFinite { array, index: 0 });
            }
        }
        let total = self.shape.iter().try_fold(size_of::<f64>(), |total, n| total.checked_mul((*n).max(1)));
        total
            .filter(|bytes| isize::try_from(*bytes).is_ok())
            .map(|_| ())
            .ok_or(Error::OutOfMemory { bytes: usize::MAX })
    }

    /// The boundary terms in solving order.
    fn sides<T: PoissonScalar>(&self, axes: &[AxisOperator], order: &AxisOrder) -> Result<SideTerms<T>> {
        let mut terms = SideTerms([const { [const { SideTerm::None }; 2] }; 3]);
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
        Ok(SideTerm::Array(self.reordered(axis, values, order).into_iter().map(convert).collect()))
    }

    /// Values along a side of the caller's `axis`, in solving order.
    fn reordered(&self, axis: usize, values: &[f64], order: &AxisOrder) -> Vec<f64> {
        let others: Vec<usize> = order.axes.iter().flatten().copied().filter(|other| *other != axis).collect();
        if others.is_sorted() || others.len() < 2 {
            return values.to_vec();
        }
        // Two axes, exchanged.
        let (rows, columns) = (self.shape[others[0]], self.shape[others[1]]);
        (0..rows * columns).map(|e| values[(e % columns) * rows + e / columns]).collect()
    }
}

/// The axis along which systems are solved first: one whose spacing varies, if there is one.
///
/// Block cyclic reduction wants the axes first that it reduces.
fn solving_order(axes: &[AxisOperator], method: PoissonMethod) -> Result<[Option<usize>; 3]> {
    if matches!(method, PoissonMethod::Bcr2 | PoissonMethod::Bcr4) {
        let mut order: Vec<usize> = (0..axes.len()).collect();
        order.sort_by_key(|axis| axes[*axis].len() > 1 && toeplitz_scale(&axes[*axis]).is_none());
        return Ok(match order[..] {
            [first, last] => [Some(first), None, Some(last)],
            _ => [0, 1, 2].map(|k| order.get(k).copied()),
        });
    }
    let varies = |axis: &&AxisOperator| axis.uniform.is_none();
    let first = axes.iter().position(|axis| varies(&axis) && !axis.periodic);
    let first = first.or_else(|| axes.iter().position(|axis| axis.uniform.is_some()));
    let others: Vec<usize> = (0..axes.len()).filter(|axis| Some(*axis) != first).collect();
    match (first, others.len()) {
        (None, 3) => Err(Error::Unsupported { method: "poisson", what: "three periodic axes whose spacings vary" }),
        (_, 0) => Ok([first, None, None]),
        (_, 1) => Ok([first, None, Some(others[0])]),
        _ => Ok([first, Some(others[0]), Some(others[1])]),
    }
}
