//! Factors that are stored on the device.

use crate::cut::{DeviceCut, KernelKind};
use crate::device::{Device, DeviceScalar, DeviceSlice, DeviceSliceMut, DeviceVec};
use crate::matrix::DeviceMatrix;
use crate::solver::{DeviceSolver, Pending};
use bandsolve::{Report, Result};

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

/// Factors of a matrix on a device, for many solves.
///
/// A solve reads 7b² numbers of the factors and 3b² numbers of the matrix per block row of b rows. [`DeviceSolver::solve`]
/// reads 6b² numbers, but also chooses pivots and divides. Both return the same x, bit for bit.
///
/// # Cost
/// Memory for approximately 7b² numbers per block row, twice the memory of the matrix.
///
/// # Source
/// Klein, dissertation, 2.6.10. In Klein's version blocks are pivots as a whole. This version pivots by rows, so it has row
/// exchanges and factors of b(3b − 1) numbers.
#[derive(Debug)]
pub struct Factored<'a, T: DeviceScalar> {
    solver: DeviceSolver<T>,
    a: DeviceMatrix<'a, T>,
}

impl<'a, T: DeviceScalar> Factored<'a, T> {
    pub(crate) fn new(solver: DeviceSolver<T>, a: DeviceMatrix<'a, T>) -> Self {
        Self { solver, a }
    }

    /// Solve with these factors; otherwise as [`DeviceSolver::solve`].
    ///
    /// # Errors
    /// As [`DeviceSolver::solve`].
    pub fn solve<'s>(
        &'s mut self,
        rhs: impl Into<DeviceSlice<'s, T>>,
        x: impl Into<DeviceSliceMut<'s, T>>,
    ) -> Result<Report> {
        self.start(rhs, x)?.wait()
    }

    /// Start a solve with these factors; otherwise as [`DeviceSolver::start`].
    ///
    /// # Errors
    /// As [`DeviceSolver::start`].
    pub fn start<'s>(
        &'s mut self,
        rhs: impl Into<DeviceSlice<'s, T>>,
        x: impl Into<DeviceSliceMut<'s, T>>,
    ) -> Result<Pending<'s, T>> {
        self.solver.start(self.a, rhs, x)
    }

    /// Get the bytes of device memory of the factors and the solver.
    pub fn bytes(&self) -> usize {
        self.solver.bytes()
    }
}
