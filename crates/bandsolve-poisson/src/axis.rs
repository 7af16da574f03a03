//! The operator −d²/dx² along one axis, with two couplings and a gap for each unknown.

use crate::boundary::{Boundary, BoundaryKind, Grid};
use crate::transform::AxisSides;
use bandsolve::memory::{allocate, collected, copied};
use bandsolve::{Error, Result};

/// The options of one axis, as the caller set them.
#[derive(Debug, Clone)]
pub struct AxisSpec {
    pub grid: Grid,
    pub sides: [Boundary; 2],
    pub spacing: f64,
    /// The nodes with the points of Dirichlet sides, or the faces of the cells. Empty if the spacing is constant.
    pub coordinates: Vec<f64>,
}

impl Default for AxisSpec {
    fn default() -> Self {
        let sides = [Boundary::dirichlet(0.0); 2];
        Self { grid: Grid::Node, sides, spacing: 1.0, coordinates: Vec::new() }
    }
}

/// The matrix of one axis. Row i is `lowerᵢ·(uᵢ − uᵢ₋₁) + upperᵢ·(uᵢ − uᵢ₊₁) + gapᵢ·uᵢ`.
///
/// On a periodic axis, the first `lower` and the last `upper` couple the two ends. Otherwise they are zero. The row sum is `gap_i`. It is stored, so
/// it has no rounding error from cancellation.
#[derive(Debug, Clone)]
pub struct AxisOperator {
    /// The coupling to the previous unknown.
    pub lower: Vec<f64>,
    /// The coupling to the next unknown.
    pub upper: Vec<f64>,
    /// The sum of each row.
    pub gap: Vec<f64>,
    /// The length of the finite volume of each unknown.
    pub volume: Vec<f64>,
    /// Whether the first and the last unknown are neighbors.
    pub periodic: bool,
    /// 1/h² and the transform that diagonalizes the axis, if the spacing h is constant and no side is a Robin side with α ≠ 0.
    pub uniform: Option<(f64, AxisSides)>,
    /// The factors of the boundary values in the right-hand side of the first and the last unknown.
    pub inflow: [f64; 2],
}

impl AxisOperator {
    /// The number of unknowns.
    #[expect(clippy::len_without_is_empty, reason = "an axis has unknowns")]
    pub fn len(&self) -> usize {
        self.volume.len()
    }

    /// Whether the operator maps constants to zero.
    pub fn keeps_constants(&self) -> bool {
        self.gap.iter().all(|gap| *gap == 0.0)
    }

    /// The smallest gap, or 0 if no gap is negative. No eigenvalue is smaller.
    pub fn least_gap(&self) -> f64 {
        self.gap.iter().fold(0.0, |least: f64, gap| least.min(*gap))
    }

    /// Whether all rows between the first and the last row have the same coefficients.
    pub fn is_even(&self) -> bool {
        let row = |k: usize| (self.lower[k], self.upper[k], self.gap[k]);
        (2..self.len().saturating_sub(1)).all(|k| row(k) == row(1))
    }

    /// Whether the solver folds the axis, see module `folded`: periodic axes with constant spacing.
    pub fn is_folded(&self) -> bool {
        self.periodic && self.uniform.is_some()
    }

    /// The operator of a missing axis: one unknown, all entries zero.
    pub fn trivial() -> Self {
        let none = vec![0.0];
        let uniform = Some((1.0, AxisSides::CellNeumann));
        let (lower, upper, gap) = (none.clone(), none.clone(), none);
        Self { lower, upper, gap, volume: vec![1.0], periodic: false, uniform, inflow: [0.0; 2] }
    }

    /// A copy, or `OutOfMemory`.
    pub fn copied(&self) -> Result<Self> {
        let (lower, upper, gap) = (copied(&self.lower)?, copied(&self.upper)?, copied(&self.gap)?);
        let Self { periodic, uniform, inflow, .. } = *self;
        Ok(Self { lower, upper, gap, volume: copied(&self.volume)?, periodic, uniform, inflow })
    }

    /// The operator of axis `index` with n unknowns. `Err` if the options are invalid.
    pub fn new(index: usize, n: usize, spec: &AxisSpec) -> Result<Self> {
        let kinds = spec.sides.map(|side| side.kind);
        let periodic = kinds[0] == BoundaryKind::Periodic;
        if periodic != (kinds[1] == BoundaryKind::Periodic) {
            let problem = "has one periodic side";
            return Err(Error::invalid(format!("boundary[{index}]"), problem, "two periodic sides or none"));
        }
        for side in &spec.sides {
            if !side.value.is_finite() {
                return Err(Error::NotFinite { array: "boundary", index });
            }
        }
        check_robin(index, kinds)?;
        let steps = steps(index, n, spec)?;
        check_cells((index, n), spec, &steps)?;
        let mut axis = match spec.grid {
            Grid::Node => of_nodes(n, kinds, &steps)?,
            Grid::Cell => of_cells(n, kinds, steps)?,
        };
        if periodic && n == 1 {
            // The only unknown is its own neighbor, so the differences are zero.
            (axis.lower[0], axis.upper[0]) = (0.0, 0.0);
        }
        let numbers = axis.gap.iter().chain(&axis.inflow);
        if kinds.iter().any(|kind| exchange(*kind).is_some()) && !numbers.copied().all(f64::is_finite) {
            let problem = "has coefficients alpha and beta with too large a ratio";
            return Err(Error::invalid(format!("boundary[{index}]"), problem, "coefficients of similar size"));
        }
        let transformed =
            spec.coordinates.is_empty() && kinds.iter().all(|kind| exchange(*kind).is_none_or(|k| k == 0.0));
        axis.uniform = transformed.then(|| (1.0 / (spec.spacing * spec.spacing), sides(spec.grid, kinds)));
        Ok(axis)
    }
}

/// κ = α/β of a Robin side, whose condition is ∂u/∂n + κu = g/β.
fn exchange(kind: BoundaryKind) -> Option<f64> {
    let BoundaryKind::Robin { alpha, beta } = kind else { return None };
    Some(alpha / beta)
}

/// The gap and the inflow of the last unknown next to a Neumann or Robin side, at the distance `beyond` from the side.
///
/// The derivative is (u₋ − u)/2δ, where u₋ is the ghost value at the distance δ = `beyond` behind the side. The value at the side is
/// (u₋ + u)/2. Without u₋, the condition is ∂u/∂n = (g − αu)/(β + αδ).
fn outflow(kind: BoundaryKind, beyond: f64, volume: f64) -> [f64; 2] {
    let BoundaryKind::Robin { alpha, beta } = kind else { return [0.0, 1.0 / volume] };
    let kappa = alpha / beta;
    let width = (1.0 + kappa * beyond) * volume;
    [kappa / width, 1.0 / (width * beta)]
}

/// `Err` if a Robin side of axis `index` has invalid coefficients.
fn check_robin(index: usize, kinds: [BoundaryKind; 2]) -> Result<()> {
    for (kind, side) in kinds.into_iter().zip(["low", "high"]) {
        let BoundaryKind::Robin { alpha, beta } = kind else { continue };
        let argument = format!("boundary[{index}]");
        if !(alpha.is_finite() && beta.is_finite()) {
            let problem = format!("has alpha = {alpha} and beta = {beta} at the {side} side");
            return Err(Error::invalid(argument, problem, "finite coefficients"));
        }
        if beta == 0.0 {
            let problem = format!("has beta = 0 at the {side} side");
            return Err(Error::invalid(argument, problem, "beta other than 0. Use a Dirichlet side for u = g/alpha"));
        }
    }
    Ok(())
}

/// `Err` if a cell next to a Robin side is so wide that its ghost value is not determined by the value of the cell, or changes its sign.
fn check_cells((index, n): (usize, usize), spec: &AxisSpec, steps: &[f64]) -> Result<()> {
    if spec.grid == Grid::Node || n == 0 {
        return Ok(());
    }
    for (side, width, name) in [(0, steps[0], "low"), (1, steps[n - 1], "high")] {
        let kappa = exchange(spec.sides[side].kind).unwrap_or(0.0);
        if 1.0 + 0.5 * kappa * width <= 0.0 {
            let problem = format!("has alpha/beta = {kappa} at the {name} side, next to a cell of width {width}");
            let expected = format!("cells narrower than {} at this side", -2.0 / kappa);
            return Err(Error::invalid(format!("boundary[{index}]"), problem, expected));
        }
    }
    Ok(())
}

/// The transform of an axis with constant spacing.
fn sides(grid: Grid, kinds: [BoundaryKind; 2]) -> AxisSides {
    let dirichlet = kinds.map(|kind| kind == BoundaryKind::Dirichlet);
    match (grid, dirichlet) {
        _ if kinds[0] == BoundaryKind::Periodic => AxisSides::Periodic,
        (Grid::Node, [true, true]) => AxisSides::NodeDirichlet,
        (Grid::Node, [false, false]) => AxisSides::NodeNeumann,
        (Grid::Node, [lower, _]) => AxisSides::NodeMixed(lower),
        (Grid::Cell, [true, true]) => AxisSides::CellDirichlet,
        (Grid::Cell, [false, false]) => AxisSides::CellNeumann,
        (Grid::Cell, [lower, _]) => AxisSides::CellMixed(lower),
    }
}

/// The distances between neighboring points (node grid), or the widths of the cells.
fn steps(index: usize, n: usize, spec: &AxisSpec) -> Result<Vec<f64>> {
    let beyond = spec.sides.iter().filter(|side| side.kind == BoundaryKind::Dirichlet).count();
    let points = match spec.grid {
        Grid::Cell => n + 1,
        Grid::Node if spec.sides[0].kind == BoundaryKind::Periodic => n + 1,
        Grid::Node => n + beyond,
    };
    if spec.coordinates.is_empty() {
        let spacing = spec.spacing;
        if !(spacing > 0.0 && spacing.is_finite() && (1.0 / (spacing * spacing)).is_normal()) {
            let problem = format!("is {spacing}");
            return Err(Error::invalid(format!("spacing[{index}]"), problem, "a number between 1e-154 and 1e153"));
        }
        return allocate(points.saturating_sub(1), spacing);
    }
    if spec.coordinates.len() != points {
        return Err(Error::Shape { what: "coordinates", expected: points, got: spec.coordinates.len() });
    }
    if let Some(index) = spec.coordinates.iter().position(|x| !x.is_finite()) {
        return Err(Error::NotFinite { array: "coordinates", index });
    }
    let steps = collected(spec.coordinates.windows(2).map(|x| x[1] - x[0]))?;
    if steps.iter().all(|step| *step > 0.0) {
        return Ok(steps);
    }
    Err(Error::invalid(format!("coordinates[{index}]"), "do not increase", "increasing numbers"))
}

/// An operator with these volumes and zeros elsewhere.
fn empty(n: usize, volume: Vec<f64>, periodic: bool) -> Result<AxisOperator> {
    let (lower, upper, gap) = (allocate(n, 0.0)?, allocate(n, 0.0)?, allocate(n, 0.0)?);
    Ok(AxisOperator { lower, upper, gap, volume, periodic, uniform: None, inflow: [0.0; 2] })
}

/// The operator on a node grid with these distances.
fn of_nodes(n: usize, kinds: [BoundaryKind; 2], steps: &[f64]) -> Result<AxisOperator> {
    let periodic = kinds[0] == BoundaryKind::Periodic;
    let dirichlet = kinds.map(|kind| kind == BoundaryKind::Dirichlet);
    // `steps` starts with the distance to a low Dirichlet side, or with the distance from unknown 0 to unknown 1.
    let skip = usize::from(dirichlet[0]);
    let left = |i: usize| match i + skip {
        0 if periodic => Some(steps[n - 1]),
        0 => None,
        i => Some(steps[i - 1]),
    };
    let right = |i: usize| steps.get(i + skip).copied();
    let volume = |i: usize| match 0.5 * (left(i).unwrap_or(0.0) + right(i).unwrap_or(0.0)) {
        // The only unknown lies on both sides, so no distance gives it a volume.
        0.0 => 1.0,
        volume => volume,
    };
    let mut axis = empty(n, collected((0..n).map(volume))?, periodic)?;
    for i in 0..n {
        let couple = |step: Option<f64>| step.map_or(0.0, |step| 1.0 / (step * axis.volume[i]));
        let (below, above) = (couple(left(i)), couple(right(i)));
        let inside = [periodic || i > 0, periodic || i + 1 < n];
        axis.lower[i] = if inside[0] { below } else { 0.0 };
        axis.upper[i] = if inside[1] { above } else { 0.0 };
        axis.gap[i] = if inside[0] { 0.0 } else { below } + if inside[1] { 0.0 } else { above };
        for (side, coupling) in [below, above].into_iter().enumerate() {
            if inside[side] {
                continue;
            }
            axis.inflow[side] = coupling;
            if !dirichlet[side] {
                let [gap, inflow] = outflow(kinds[side], 0.0, axis.volume[i]);
                axis.gap[i] += gap;
                axis.inflow[side] = inflow;
            }
        }
    }
    Ok(axis)
}

/// The operator on a cell grid with these widths.
fn of_cells(n: usize, kinds: [BoundaryKind; 2], steps: Vec<f64>) -> Result<AxisOperator> {
    let periodic = kinds[0] == BoundaryKind::Periodic;
    let mut axis = empty(n, steps, periodic)?;
    for i in 0..n {
        let width = axis.volume[i];
        for side in 0..2 {
            let inside = if side == 0 { i > 0 } else { i + 1 < n };
            let other = if side == 0 { (i + n - 1) % n } else { (i + 1) % n };
            let coupling = 2.0 / ((width + axis.volume[other]) * width);
            if inside || periodic {
                *(if side == 0 { &mut axis.lower[i] } else { &mut axis.upper[i] }) = coupling;
            } else if kinds[side] == BoundaryKind::Dirichlet {
                // The side is half a width from the center of the cell.
                let coupling = 2.0 / (width * width);
                axis.gap[i] += coupling;
                axis.inflow[side] = coupling;
            } else {
                let [gap, inflow] = outflow(kinds[side], 0.5 * width, width);
                axis.gap[i] += gap;
                axis.inflow[side] = inflow;
            }
        }
    }
    Ok(axis)
}
