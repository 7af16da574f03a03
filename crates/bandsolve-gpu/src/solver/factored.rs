//! Factors that are stored on the device.

use super::level_factors::LevelFactors;
use super::route::Route;
use super::{DeviceSolver, DeviceStatus, Pending};
use crate::cut::{DeviceCut, KernelKind};
use crate::device::{DeviceScalar, DeviceSlice, DeviceSliceMut};
use crate::launch::Arguments;
use crate::matrix::{Blocks, DeviceMatrix, MatrixSource};
use bandsolve::{Error, Op, Report, Result};

/// Factors of a matrix on a device, for many solves.
///
/// A solve reads 7b² numbers of the factors and 3b² numbers of the matrix per block row of b rows. [`DeviceSolver::solve`]
/// reads 6b² numbers, but also chooses pivots and divides. Both return the same x, bit for bit.
///
/// For blocks of more than 4 rows (`Bcyclic` or `BlockSpike`), a solve reads 5b² numbers of the factors and 3b² of the matrix.
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

    /// Solve op(A)·x = rhs with the same factors, where A is the matrix without the operation that [`DeviceSolver::factor`] received.
    ///
    /// # Examples
    /// ```
    /// # #[cfg(feature = "emulator")] {
    /// use bandsolve::{Op, Plan, Shape};
    /// use bandsolve_gpu::{Device, DeviceMatrix, DeviceSolver, Emulation};
    /// let device = Device::cuda(0).unwrap_or_else(|_| Device::emulated(Emulation::default()));
    /// let (block_rows, block) = (10, 16);
    /// let unit: Vec<f64> = (0..block * block).map(|k| if k % (block + 1) == 0 { 1.0 } else { 0.0 }).collect();
    /// let blocks = |factor: f64| device.upload(&unit.iter().map(|v| factor * v).collect::<Vec<_>>().repeat(block_rows));
    /// let (sub, diag, sup) = (blocks(-2.0)?, blocks(4.0)?, blocks(-1.0)?);
    /// let plan = Plan::new(Shape::BlockTridiagonal { block_rows, block, periodic: true });
    /// let a = DeviceMatrix::block_tridiagonal(&sub, &diag, &sup);
    /// let mut factors = DeviceSolver::<f64>::new(&device, &plan, 1)?.factor(a)?;
    /// let (rhs, mut x) = (device.upload(&vec![1.0; block_rows * block])?, device.zeros(block_rows * block)?);
    /// for op in [Op::Plain, Op::Transpose] {
    ///     let report = factors.solve_with(op, &rhs, &mut x)?;
    ///     assert!(report.backward_error <= 8.0 * f64::EPSILON);
    ///     // Each row and each column of the matrix has the sum 1.
    ///     assert!(x.download()?.iter().all(|x| (x - 1.0).abs() < 1e-13));
    /// }
    /// # }
    /// # Ok::<(), bandsolve::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Unsupported`] for another operation than that of the factors, except for `Bcyclic` and `BlockSpike`; otherwise as
    /// [`DeviceSolver::solve`].
    pub fn solve_with<'s>(
        &'s mut self,
        op: Op,
        rhs: impl Into<DeviceSlice<'s, T>>,
        x: impl Into<DeviceSliceMut<'s, T>>,
    ) -> Result<Report> {
        if op != self.a.chosen_op() && self.solver.route != Route::DenseBlocks {
            let what = "another operation than that of the factors on a GPU; factor this operation too";
            return Err(Error::Unsupported { method: self.solver.method.name(), what });
        }
        self.solver.start(self.a.op(op), rhs, x)?.wait()
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

    /// Enqueue a solve with these factors; otherwise as [`DeviceSolver::enqueue_solve`].
    ///
    /// # Errors
    /// As [`DeviceSolver::enqueue_solve`].
    ///
    /// # Examples
    /// ```
    /// # #[cfg(feature = "emulator")] {
    /// use bandsolve::{Plan, Shape};
    /// use bandsolve_gpu::{Device, DeviceMatrix, DeviceSolver, DeviceStatus, Emulation};
    /// let device = Device::cuda(0).unwrap_or_else(|_| Device::emulated(Emulation::default()));
    /// let (off, diag) = (device.upload(&[-1.0; 100])?, device.upload(&[3.0; 100])?);
    /// let (mut u, mut next) = (device.upload(&[1.0; 100])?, device.zeros(100)?);
    /// let solver = DeviceSolver::new(&device, &Plan::new(Shape::Tridiagonal { n: 100, periodic: false }), 1)?;
    /// let mut factors = solver.factor(DeviceMatrix::tridiagonal(&off, &diag, &off))?;
    /// let mut status = DeviceStatus::new(&device)?;
    /// for _ in 0..50 {
    ///     factors.enqueue_solve(&u, &mut next, &mut status)?;
    ///     std::mem::swap(&mut u, &mut next);
    /// }
    /// assert!(status.read()?.is_some_and(|error| error <= 8.0 * f64::EPSILON));
    /// # }
    /// # Ok::<(), bandsolve::Error>(())
    /// ```
    pub fn enqueue_solve<'s>(
        &'s mut self,
        rhs: impl Into<DeviceSlice<'s, T>>,
        x: impl Into<DeviceSliceMut<'s, T>>,
        status: &mut DeviceStatus,
    ) -> Result<()> {
        self.solver.enqueue_solve(self.a, rhs, x, status)
    }

    /// Get the bytes of device memory of the factors and the solver.
    pub fn bytes(&self) -> usize {
        self.solver.bytes()
    }
}

impl<T: DeviceScalar> DeviceSolver<T> {
    /// Factor a matrix for many solves: a tridiagonal or block tridiagonal matrix, open or periodic, or a contiguous batch.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for other matrices, [`Error::Shape`], [`Error::Device`].
    pub fn factor<'a>(mut self, a: DeviceMatrix<'a, T>) -> Result<Factored<'a, T>> {
        if self.route == Route::DenseBlocks {
            self.store_blocks(a)?;
            return Ok(Factored { solver: self, a });
        }
        let lanes = self.partitions_are_lanes() || self.route == Route::Alone;
        let (MatrixSource::Blocks(top), true) = (a.source(self.plan.shape())?, lanes) else {
            let what = "this system with stored factors on a GPU; use `DeviceSolver::solve`";
            return Err(Error::Unsupported { method: self.plan.asked_method().name(), what });
        };
        let mut source = top;
        self.device.receive(&a.devices())?;
        self.measurements.clear(false)?;
        for k in 0..self.levels.len() {
            let (cut, kind) = &self.cuts[k];
            let factors = LevelFactors::new(&self.device, &self.cuts[k])?;
            let (cut, one) = (DeviceCut { columns: 1, ..*cut }, KernelKind { on_chip: 1, ..*kind });
            let coarse = self.coarse(k + 1);
            let arguments = Arguments::new(&cut).with(source).with(coarse).with(factors.addresses()).with(self.rule());
            let (blocks, name) =
                (cut.spans as usize * cut.systems as usize, format!("factor_{}_{}_1", T::NAME, self.block));
            // SAFETY: these are the kernel's arguments. The arrays have the lengths of the cut, or `source` checked
            // them.
            unsafe { arguments.launch(&self.device, &name, blocks, one.reduce_bytes(&cut)) }?;
            self.factors.push(factors);
            source = Blocks::new(coarse.arrays, Op::Plain);
        }
        self.measurements.store_suspects(&self.device)?;
        Ok(Factored { solver: self, a })
    }

    /// Factor dense blocks for all later solves, which must have the same matrix with any operation. Other methods, and solvers that
    /// store factors already, do nothing.
    pub(crate) fn store_blocks(&mut self, a: DeviceMatrix<'_, T>) -> Result<()> {
        let (Route::DenseBlocks, false, MatrixSource::Blocks(source)) =
            (self.route, self.factored, a.source(self.plan.shape())?)
        else {
            return Ok(());
        };
        self.device.receive(&a.devices())?;
        self.measurements.clear(false)?;
        self.factor_blocks(source, true)?;
        self.measurements.store_suspects(&self.device)?;
        self.factored = true;
        Ok(())
    }
}
