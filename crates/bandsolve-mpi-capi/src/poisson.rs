//! Poisson problems on boxes, distributed over ranks by planes.

use crate::any_type::{numbers, numbers_mut};
use crate::status::{RankFailure, RankResult};
use bandsolve_mpi::{DistributedPoisson, Ranks};
use bandsolve_poisson::{Boundary, BoundaryKind, Grid, Poisson, PoissonReport, PoissonScalar, Side};
use core::ffi::c_void;

/// An axis of the whole box.
#[repr(C)]
pub struct bandsolve_mpi_axis_t {
    /// Number of unknowns along the axis, on all ranks.
    pub n: usize,
    /// 0: unknowns at nodes, 1: unknowns at cell centers.
    pub grid: i32,
    /// The boundary conditions of the two sides: 0 Dirichlet, 1 Neumann, 2 periodic, 3 Robin.
    pub kinds: [i32; 2],
    /// alpha and beta of each side, if it is a Robin side.
    pub coefficients: [[f64; 2]; 2],
    /// Distance between neighbouring unknowns.
    pub spacing: f64,
    /// Coordinates instead of `spacing`, or null.
    pub coordinates: *const f64,
    /// Number of coordinates.
    pub n_coordinates: usize,
    /// Boundary values of the two sides: one number, or one number for each point of the side.
    pub values: [*const f64; 2],
    /// Number of boundary values of each side.
    pub n_values: [usize; 2],
}

/// The options for the whole box.
#[repr(C)]
pub struct bandsolve_mpi_box_t {
    /// Number of axes.
    pub n_axes: usize,
    /// The constant c in (−Δ + c)·u = f.
    pub shift: f64,
    /// The mean of u for a singular problem.
    pub mean: f64,
    /// Maximum that may be subtracted from f for a singular problem, as a fraction of the largest entry of f.
    pub removable: f64,
}

/// How a Poisson problem was solved; the same on all ranks.
#[repr(C)]
pub struct bandsolve_mpi_poisson_report_t {
    /// The constant that was subtracted from f.
    pub removed: f64,
    /// The mean of u for a singular problem, else NaN.
    pub mean: f64,
    /// Maximum number of refinement steps of any right-hand side.
    pub refinement_steps: usize,
    /// Number of tridiagonal systems of a right-hand side, on all ranks.
    pub subproblems: usize,
    /// Estimate of the reciprocal condition number, or NaN if it is unknown.
    pub rcond: f64,
    /// A warning in words if u may have no correct digit, else empty.
    pub attention: [core::ffi::c_char; 256],
    /// Name of the method.
    pub method: [core::ffi::c_char; 32],
    /// The reason for the method.
    pub reason: [core::ffi::c_char; 160],
}

/// The kind of a side from its number. `alpha` and `beta` are the coefficients of a Robin side.
fn boundary_kind(kind: i32, [alpha, beta]: [f64; 2]) -> Option<BoundaryKind> {
    match kind {
        3 => Some(BoundaryKind::Robin { alpha, beta }),
        _ => usize::try_from(kind).ok().and_then(|kind| BoundaryKind::ALL.get(kind)).copied(),
    }
}

impl bandsolve_mpi_axis_t {
    /// Add this axis to a problem.
    ///
    /// # Safety
    /// The arrays of the axis have the lengths that it says.
    unsafe fn add_to(&self, problem: Poisson, axis: usize) -> RankResult<Poisson> {
        // SAFETY: the caller's promise.
        let values = [0, 1].map(|side| unsafe { numbers::<f64>(self.values[side].cast(), self.n_values[side]) });
        let mut sides = [Boundary::periodic(); 2];
        for (k, side) in sides.iter_mut().enumerate() {
            let kind = boundary_kind(self.kinds[k], self.coefficients[k]).ok_or_else(|| {
                RankFailure::argument(format!(
                    "axis {axis} has the boundary conditions {:?}, expected 0 (Dirichlet), 1 (Neumann), 2 (periodic) or 3 (Robin)",
                    self.kinds
                ))
            })?;
            let value = if kind == BoundaryKind::Periodic { 0.0 } else { values[k].first().copied().unwrap_or(0.0) };
            *side = Boundary { kind, value };
        }
        let grid = if self.grid == 0 { Grid::Node } else { Grid::Cell };
        let mut problem =
            problem.axis_boundary(axis, sides[0], sides[1]).axis_grid(axis, grid).axis_spacing(axis, self.spacing);
        if !self.coordinates.is_null() {
            // SAFETY: the caller's promise.
            problem = problem.coordinates(axis, unsafe { numbers(self.coordinates.cast(), self.n_coordinates) });
        }
        for (side, values) in [Side::Low, Side::High].into_iter().zip(values).filter(|(_, values)| values.len() > 1) {
            problem = problem.boundary_values(axis, side, values);
        }
        Ok(problem)
    }
}

/// A distributed Poisson problem of any number type.
pub(crate) trait AnyRankPoisson {
    /// Solve in place: u replaces f.
    ///
    /// # Safety
    /// x has `len` numbers of the type of the problem.
    unsafe fn solve(&self, x: *mut c_void, len: usize) -> RankResult<PoissonReport>;
}

impl<T: PoissonScalar> AnyRankPoisson for DistributedPoisson<T> {
    unsafe fn solve(&self, x: *mut c_void, len: usize) -> RankResult<PoissonReport> {
        // SAFETY: the caller's promise.
        Ok(self.solve_in_place(unsafe { numbers_mut(x, len) })?)
    }
}

/// Create a problem with `planes` planes on this rank. Collective.
///
/// # Safety
/// `axes` points to as many axes as `all` says, and their arrays have the lengths that they say.
pub(crate) unsafe fn poisson(
    ranks: &Ranks,
    kind: i32,
    (axes, all): (*const bandsolve_mpi_axis_t, &bandsolve_mpi_box_t),
    planes: usize,
) -> RankResult<Box<dyn AnyRankPoisson>> {
    // SAFETY: the caller's promise.
    let axes = unsafe { core::slice::from_raw_parts(axes, all.n_axes) };
    let shape: Vec<usize> = axes.iter().map(|axis| axis.n).collect();
    let mut problem = Poisson::new(&shape).shift(all.shift).mean(all.mean).removable(all.removable);
    for (k, axis) in axes.iter().enumerate() {
        // SAFETY: the caller's promise.
        problem = unsafe { axis.add_to(problem, k)? };
    }
    match kind {
        0 => Ok(Box::new(DistributedPoisson::<f32>::new(ranks, &problem, planes)?)),
        1 => Ok(Box::new(DistributedPoisson::<f64>::new(ranks, &problem, planes)?)),
        other => {
            Err(RankFailure::argument(format!("kind is {other}, expected a real number type: 0 (float) or 1 (double)")))
        }
    }
}
