//! Poisson problems on boxes that are cut into slabs.

use crate::held::{numbers, numbers_mut};
use crate::status::{RankFailure, RankResult};
use bandsolve_mpi::{DistributedPoisson, Ranks};
use bandsolve_poisson::{Boundary, BoundaryKind, Grid, Poisson, PoissonReport, PoissonScalar, Side};
use core::ffi::c_void;

/// An axis of the whole box.
#[repr(C)]
pub struct bandsolve_mpi_axis_t {
    /// Unknowns along it, on all ranks.
    pub n: usize,
    /// 0: at nodes, 1: in the middle of cells.
    pub grid: i32,
    /// What is given at its two sides: 0 Dirichlet, 1 Neumann, 2 periodic.
    pub kinds: [i32; 2],
    /// Distance of the unknowns.
    pub spacing: f64,
    /// Coordinates in the place of it, or null.
    pub coordinates: *const f64,
    /// How many.
    pub n_coordinates: usize,
    /// Values at the two sides: one number, or one for each point of the side.
    pub values: [*const f64; 2],
    /// How many.
    pub n_values: [usize; 2],
}

/// What belongs to the whole box.
#[repr(C)]
pub struct bandsolve_mpi_box_t {
    /// How many axes.
    pub n_axes: usize,
    /// c of −Δ + c.
    pub shift: f64,
    /// The mean of u where it is free.
    pub mean: f64,
    /// How much may be removed from f, in parts of its largest entry.
    pub removable: f64,
}

/// How a Poisson problem was solved; the same on all ranks.
#[repr(C)]
pub struct bandsolve_mpi_poisson_report_t {
    /// What was subtracted from f.
    pub removed: f64,
    /// The mean of u where it was free, else NaN.
    pub mean: f64,
    /// Most refinement steps of a right-hand side.
    pub refinement_steps: usize,
    /// Tridiagonal systems of a right-hand side, on all ranks.
    pub subproblems: usize,
    /// An estimate of the reciprocal condition; NaN where it is not known.
    pub rcond: f64,
    /// In words, whether u may have no correct digit; empty if nothing suggests that.
    pub attention: [core::ffi::c_char; 256],
    /// Name of the method.
    pub method: [core::ffi::c_char; 32],
    /// Why this method.
    pub reason: [core::ffi::c_char; 160],
}

impl bandsolve_mpi_axis_t {
    /// The problem with this axis.
    ///
    /// # Safety
    /// There are as many coordinates and values as it says.
    unsafe fn add_to(&self, problem: Poisson, axis: usize) -> RankResult<Poisson> {
        // SAFETY: the caller's promise.
        let values = [0, 1].map(|side| unsafe { numbers::<f64>(self.values[side].cast(), self.n_values[side]) });
        let mut sides = [Boundary::periodic(); 2];
        for ((side, kind), values) in sides.iter_mut().zip(self.kinds).zip(values) {
            let kind = usize::try_from(kind).ok().and_then(|kind| BoundaryKind::ALL.get(kind));
            let kind = *kind.ok_or_else(|| {
                RankFailure::argument(format!(
                    "there is no boundary {:?}; use 0 (Dirichlet), 1 (Neumann) or 2 (periodic)",
                    self.kinds
                ))
            })?;
            *side = Boundary {
                kind,
                value: if kind == BoundaryKind::Periodic { 0.0 } else { values.first().copied().unwrap_or(0.0) },
            };
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

/// A problem in slabs, of any number type.
pub(crate) trait RankHeldPoisson {
    /// u in the place of f.
    ///
    /// # Safety
    /// x has `len` numbers of the type of the problem.
    unsafe fn solve(&self, x: *mut c_void, len: usize) -> RankResult<PoissonReport>;
}

impl<T: PoissonScalar> RankHeldPoisson for DistributedPoisson<T> {
    unsafe fn solve(&self, x: *mut c_void, len: usize) -> RankResult<PoissonReport> {
        // SAFETY: the caller's promise.
        Ok(self.solve_in_place(unsafe { numbers_mut(x, len) })?)
    }
}

/// A problem of which this rank has so many planes. Collective.
///
/// # Safety
/// There are as many axes as `all` says, with what they say.
pub(crate) unsafe fn poisson(
    ranks: &Ranks,
    kind: i32,
    (axes, all): (*const bandsolve_mpi_axis_t, &bandsolve_mpi_box_t),
    planes: usize,
) -> RankResult<Box<dyn RankHeldPoisson>> {
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
            Err(RankFailure::argument(format!("there is no real number type {other}; use 0 (float) or 1 (double)")))
        }
    }
}
