//! The cycle of `amg-lines` on a device.

use super::systems::{ForestSystems, Gather};
use crate::csr::DeviceCsr;
use crate::device::{Device, DeviceScalar, DeviceSlice, DeviceVec};
use bandsolve::{AnyFactor, Factor, Result};
use bandsolve_sparse::{MultigridLevelParts, MultigridParts};

/// A hierarchy on a device. The host solves the coarsest level.
#[derive(Debug)]
pub(super) struct Multigrid<T: DeviceScalar> {
    levels: Vec<LevelOnDevice<T>>,
    visits: usize,
}

/// A level, with vectors for a cycle from this level on.
#[derive(Debug)]
struct LevelOnDevice<T: DeviceScalar> {
    a: DeviceCsr<T>,
    smoother: ForestSystems<T>,
    transfer: Option<TransferOnDevice<T>>,
    direct: Option<AnyFactor<'static, T>>,
    /// A·x, P·x_c or a residual.
    work: DeviceVec<T>,
}

/// The transfer to and from the next level, with vectors of the next level.
#[derive(Debug)]
struct TransferOnDevice<T: DeviceScalar> {
    prolongation: DeviceCsr<T>,
    restriction: DeviceCsr<T>,
    rhs: DeviceVec<T>,
    x: DeviceVec<T>,
    residual: DeviceVec<T>,
    correction: DeviceVec<T>,
}

impl<T: DeviceScalar> LevelOnDevice<T> {
    fn new(device: &Device, parts: MultigridLevelParts<'_, T>) -> Result<Self> {
        let MultigridLevelParts { a, smoother, transfer, direct } = parts;
        let transfer = transfer.map(|transfer| {
            let vector = || device.zeros(transfer.prolongation.columns());
            Ok(TransferOnDevice {
                prolongation: DeviceCsr::new(device, &transfer.prolongation)?,
                restriction: DeviceCsr::new(device, &transfer.restriction)?,
                rhs: vector()?,
                x: vector()?,
                residual: vector()?,
                correction: vector()?,
            })
        });
        Ok(Self {
            work: device.zeros(a.rows())?,
            a: DeviceCsr::new(device, &a)?,
            smoother: ForestSystems::upload(device, &smoother)?,
            transfer: transfer.transpose()?,
            direct,
        })
    }

    /// out ← rhs − A·x
    fn residual(
        &mut self,
        rhs: DeviceSlice<'_, T>,
        x: DeviceSlice<'_, T>,
        out: Option<DeviceSlice<'_, T>>,
    ) -> Result<()> {
        self.a.multiply(x, &mut self.work)?;
        let (work, device) = (self.work.slice(..), self.a.device());
        let residual = Gather { minus: work.address(), ..Gather::new(None, rhs, out.unwrap_or(work)) };
        // SAFETY: all vectors have the length of the level.
        unsafe { residual.launch::<T>(device) }
    }

    /// x ← A⁻¹·rhs on the host, or two sweeps from x = 0.
    fn solve_coarsest(&mut self, rhs: DeviceSlice<'_, T>, x: DeviceSlice<'_, T>) -> Result<()> {
        let Some(factor) = &self.direct else {
            self.smooth(rhs, x)?;
            return self.smooth_back(rhs, x);
        };
        let solution = factor.solve(&rhs.download()?)?;
        add_to(x, &self.a.device().upload(&solution.values)?, false)
    }

    /// One sweep with the forests in order, from x = 0.
    fn smooth(&mut self, rhs: DeviceSlice<'_, T>, x: DeviceSlice<'_, T>) -> Result<()> {
        self.smoother.solve(0, rhs, x)?;
        (1..self.smoother.count()).try_for_each(|k| self.smoother.sweep(k, &self.a, rhs, x))
    }

    /// One sweep with the forests in reverse order.
    fn smooth_back(&mut self, rhs: DeviceSlice<'_, T>, x: DeviceSlice<'_, T>) -> Result<()> {
        (0..self.smoother.count()).rev().try_for_each(|k| self.smoother.sweep(k, &self.a, rhs, x))
    }
}

/// x ← x + v, or x ← v.
fn add_to<T: DeviceScalar>(x: DeviceSlice<'_, T>, v: &DeviceVec<T>, add: bool) -> Result<()> {
    let sum = Gather { plus: if add { x.address() } else { 0 }, ..Gather::new(None, v.slice(..), x) };
    // SAFETY: both vectors have the same length.
    unsafe { sum.launch::<T>(v.slice(..).device()) }
}

impl<T: DeviceScalar> Multigrid<T> {
    /// Copy a hierarchy to a device.
    pub fn new(device: &Device, parts: MultigridParts<'_, T>) -> Result<Self> {
        let levels = parts.levels.into_iter().map(|level| LevelOnDevice::new(device, level)).collect::<Result<_>>()?;
        Ok(Self { levels, visits: parts.visits })
    }

    /// One cycle from x = 0.
    pub fn cycle(&mut self, rhs: DeviceSlice<'_, T>, x: DeviceSlice<'_, T>) -> Result<()> {
        cycle(&mut self.levels, self.visits, rhs, x)
    }
}

/// One cycle from x = 0 on the first of these levels and the coarser ones.
fn cycle<T: DeviceScalar>(
    levels: &mut [LevelOnDevice<T>],
    visits: usize,
    rhs: DeviceSlice<'_, T>,
    x: DeviceSlice<'_, T>,
) -> Result<()> {
    let (level, coarser) = levels.split_first_mut().expect("a hierarchy has a level");
    let Some(mut transfer) = level.transfer.take() else { return level.solve_coarsest(rhs, x) };
    let result = level.smooth(rhs, x).and_then(|()| {
        // rhs_c = R·(rhs − A·x)
        level.residual(rhs, x, None)?;
        transfer.restriction.multiply(&level.work, &mut transfer.rhs)?;
        visit(coarser, visits, &mut transfer)?;
        // x ← x + P·x_c
        transfer.prolongation.multiply(&transfer.x, &mut level.work)?;
        add_to(x, &level.work, true)
    });
    level.transfer = Some(transfer);
    result?;
    level.smooth_back(rhs, x)
}

/// x_c ≈ A_c⁻¹·rhs_c by cycles of the next level.
fn visit<T: DeviceScalar>(
    levels: &mut [LevelOnDevice<T>],
    visits: usize,
    transfer: &mut TransferOnDevice<T>,
) -> Result<()> {
    let TransferOnDevice { rhs, x, residual, correction, .. } = transfer;
    cycle(levels, visits, rhs.slice(..), x.slice(..))?;
    if levels.len() == 1 {
        return Ok(());
    }
    for _ in 1..visits {
        // x_c ← x_c + e with e ≈ A_c⁻¹·(rhs_c − A_c·x_c)
        levels[0].residual(rhs.slice(..), x.slice(..), Some(residual.slice(..)))?;
        cycle(levels, visits, residual.slice(..), correction.slice(..))?;
        add_to(x.slice(..), correction, true)?;
    }
    Ok(())
}
