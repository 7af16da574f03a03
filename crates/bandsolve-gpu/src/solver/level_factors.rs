//! The memory of the factors of a level.

use crate::cut::{DeviceCut, KernelKind};
use crate::device::{Device, DeviceScalar, DeviceVec};
use bandsolve::Result;

/// The factors of a level in the form that the kernels use (`factored.cuh`).
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub(crate) struct FactorAddresses {
    steps: u64,
    swaps: u64,
    pivots: u64,
    ends: u64,
    scales: u64,
}

/// The factors of a level, with their memory.
#[derive(Debug)]
pub(crate) struct LevelFactors<T: DeviceScalar> {
    steps: DeviceVec<T>,
    swaps: DeviceVec<u32>,
    pivots: DeviceVec<T>,
    ends: DeviceVec<T>,
    scales: DeviceVec<T::Real>,
}

impl<T: DeviceScalar> LevelFactors<T> {
    pub fn new(device: &Device, (cut, kind): &(DeviceCut, KernelKind)) -> Result<Self> {
        let b = kind.block;
        let partitions = cut.systems as usize * cut.spans as usize * cut.lanes as usize;
        // One slot per block row, and one more for the last partition of a system, which can be longer.
        let slots = partitions * (cut.m as usize + 1);
        Ok(Self {
            steps: device.zeros(slots * b * (3 * b - 1))?,
            swaps: device.zeros(slots * 2)?,
            pivots: device.zeros(slots * (b * (b + 1) / 2 + 2 * b * b))?,
            ends: device.zeros(partitions * 6 * b * b)?,
            scales: device.zeros(cut.systems as usize * cut.n as usize * b)?,
        })
    }

    pub fn addresses(&self) -> FactorAddresses {
        FactorAddresses {
            steps: self.steps.slice(..).address(),
            swaps: self.swaps.slice(..).address(),
            pivots: self.pivots.slice(..).address(),
            ends: self.ends.slice(..).address(),
            scales: self.scales.slice(..).address(),
        }
    }

    pub fn bytes(&self) -> usize {
        let numbers = self.steps.len() + self.pivots.len() + self.ends.len();
        numbers * size_of::<T>() + self.swaps.len() * size_of::<u32>() + self.scales.len() * T::REAL_BYTES
    }
}
