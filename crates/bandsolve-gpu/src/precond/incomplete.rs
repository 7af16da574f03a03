//! `ilu-isai` on a device: products with the triangles of ILU(0) and with their approximate inverses.

use super::systems::Gather;
use crate::csr::DeviceCsr;
use crate::device::{Device, DeviceScalar, DeviceSlice, DeviceSliceMut, DeviceVec};
use bandsolve::Result;
use bandsolve_sparse::IncompleteInverse;

/// The triangles on a device, and vectors for solves with them.
#[derive(Debug)]
pub(super) struct IncompleteTriangles<T: DeviceScalar> {
    /// L and U, each with its approximate inverse.
    triangles: [[DeviceCsr<T>; 2]; 2],
    sweeps: usize,
    middle: DeviceVec<T>,
    residual: DeviceVec<T>,
    step: DeviceVec<T>,
}

impl<T: DeviceScalar> IncompleteTriangles<T> {
    /// Copy the triangles to a device.
    pub fn new(device: &Device, m: &IncompleteInverse<T>, sweeps: usize) -> Result<Self> {
        let [[l, inverse_of_l], [u, inverse_of_u]] = m.triangles();
        let (on_device, vector) = (|a| DeviceCsr::new(device, a), || device.zeros(l.rows()));
        Ok(Self {
            triangles: [[on_device(l)?, on_device(inverse_of_l)?], [on_device(u)?, on_device(inverse_of_u)?]],
            sweeps,
            middle: vector()?,
            residual: vector()?,
            step: vector()?,
        })
    }

    /// y ≈ U⁻¹·L⁻¹·x
    pub fn solve(&mut self, x: DeviceSlice<'_, T>, y: DeviceSlice<'_, T>) -> Result<()> {
        let Self { triangles: [lower, upper], sweeps, middle, residual, step } = self;
        solve(lower, *sweeps, (x, middle.slice(..)), [residual, step])?;
        solve(upper, *sweeps, (middle.slice(..), y), [residual, step])
    }
}

/// x = N·rhs, then `sweeps` times x ← x + N·(rhs − T·x), with a triangle T and its approximate inverse N.
fn solve<T: DeviceScalar>(
    [triangle, inverse]: &[DeviceCsr<T>; 2],
    sweeps: usize,
    (rhs, x): (DeviceSlice<'_, T>, DeviceSlice<'_, T>),
    [residual, step]: [&mut DeviceVec<T>; 2],
) -> Result<()> {
    let device = triangle.device();
    // SAFETY: the caller of `apply` has borrowed y exclusively, and this function the vector between both solves.
    let to_x = unsafe { DeviceSliceMut::from_raw(x.device(), x.address(), x.len()) };
    inverse.multiply(rhs, to_x)?;
    for _ in 0..sweeps {
        triangle.multiply(x, &mut *residual)?;
        let minus = residual.slice(..).address();
        // SAFETY: here and below, all vectors have the length of the triangle.
        unsafe { Gather { minus, ..Gather::new(None, rhs, residual.slice(..)) }.launch::<T>(device) }?;
        inverse.multiply(&*residual, &mut *step)?;
        // SAFETY: see above.
        unsafe { Gather { plus: x.address(), ..Gather::new(None, step.slice(..), x) }.launch::<T>(device) }?;
    }
    Ok(())
}
