//! Factors that are stored on the device.

use super::level_factors::LevelFactors;
use super::route::Route;
use super::{DeviceSolver, DeviceStatus, Pending};
use crate::cut::{DeviceCut, KernelKind};
use crate::device::{DeviceScalar, DeviceSlice, DeviceSliceMut};
use crate::launch::Arguments;
use crate::matrix::{Blocks, DeviceMatrix, MatrixSource};
use bandsolve::{Error, Op, Report, Result, Shape};

/// The operations with which solves can use stored factors ([`DeviceSolver::factored_operations`]).
///
/// # Examples
/// ```
/// # #[cfg(feature = "emulator")] {
/// use bandsolve::{Plan, Shape};
/// use bandsolve_gpu::{Device, DeviceSolver, Emulation, FactoredOperations};
/// let device = Device::cuda(0).unwrap_or_else(|_| Device::emulated(Emulation::default()));
/// let factors = |shape| DeviceSolver::<f64>::new(&device, &Plan::new(shape), 1).map(|solver| solver.factored_operations());
/// let blocks = |block| Shape::BlockTridiagonal { block_rows: 50, block, periodic: false };
/// assert_eq!(factors(blocks(3))?, FactoredOperations::One);
/// assert_eq!(factors(blocks(5))?, FactoredOperations::All);
/// assert_eq!(factors(Shape::Banded { n: 50, lower: 2, upper: 1 })?, FactoredOperations::None);
/// # }
/// # Ok::<(), bandsolve::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum FactoredOperations {
    /// No factors can be stored: bands, interleaved batches, and methods without factors. Each solve eliminates again.
    None,
    /// The operation (A, Aᵀ or Aᴴ) that was factored.
    One,
    /// A, Aᵀ and Aᴴ.
    All,
}

/// Factors of a matrix on a device, for many solves.
///
/// A solve reads 7b² numbers of the factors and 3b² numbers of the matrix per block row of b rows. [`DeviceSolver::solve`]
/// reads 6b² numbers, but also chooses pivots and divides. Both return the same x, bit for bit.
///
/// Scalar systems are eliminated again for 3 right-hand sides or more: several right-hand sides then share one pass over the matrix.
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
    /// As [`store`](Self::store).
    pub fn factor<'a>(mut self, a: DeviceMatrix<'a, T>) -> Result<Factored<'a, T>> {
        self.store(a)?;
        Ok(Factored { solver: self, a })
    }

    /// Get with which operations solves can use the factors that [`store`](Self::store) or [`factor`](Self::factor) computes.
    pub fn factored_operations(&self) -> FactoredOperations {
        let lanes = self.partitions_are_lanes() || self.route == Route::Alone;
        match self.route {
            Route::DenseBlocks => FactoredOperations::All,
            _ if lanes && !matches!(self.shape(), Shape::Banded { .. }) => FactoredOperations::One,
            _ => FactoredOperations::None,
        }
    }

    /// Factor a matrix for all later solves of this solver, and return without waiting for the device.
    ///
    /// Later solves must have the same arrays with the same entries, and the same operation, except if
    /// [`factored_operations`](Self::factored_operations) is [`All`](FactoredOperations::All). If the entries changed, call the
    /// function again. It then allocates nothing.
    ///
    /// # Cost
    /// As for [`Factored`]. Systems that one thread block solves on chip need no factors: each solve eliminates again. So do solves of scalar systems for 3
    /// right-hand sides or more: they read the matrix once for several right-hand sides.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if `factored_operations` is [`None`](FactoredOperations::None), [`Error::Shape`], [`Error::Device`].
    ///
    /// # Examples
    /// ```
    /// # #[cfg(feature = "emulator")] {
    /// use bandsolve::{Plan, Shape};
    /// use bandsolve_gpu::{Device, DeviceMatrix, DeviceSolver, Emulation, FactoredOperations};
    /// let device = Device::cuda(0).unwrap_or_else(|_| Device::emulated(Emulation::default()));
    /// let (off, mut diag) = (device.upload(&[-1.0; 5000])?, device.upload(&[3.0; 5000])?);
    /// let (rhs, mut x) = (device.upload(&[1.0; 5000])?, device.zeros(5000)?);
    /// let mut solver = DeviceSolver::<f64>::new(&device, &Plan::new(Shape::Tridiagonal { n: 5000, periodic: true }), 1)?;
    /// assert_eq!(solver.factored_operations(), FactoredOperations::One);
    /// for value in [3.0, 4.0] {
    ///     diag.slice_mut(..).write(&[value; 5000])?;
    ///     let a = DeviceMatrix::tridiagonal(&off, &diag, &off);
    ///     solver.store(a)?;
    ///     for _ in 0..10 {
    ///         solver.solve(a, &rhs, &mut x)?;
    ///     }
    ///     // Each row of the matrix has the sum value − 2.
    ///     assert!((x.download()?[7] - 1.0 / (value - 2.0)).abs() < 1e-15);
    /// }
    /// # }
    /// # Ok::<(), bandsolve::Error>(())
    /// ```
    pub fn store(&mut self, a: DeviceMatrix<'_, T>) -> Result<()> {
        let (MatrixSource::Blocks(top), true) =
            (a.source(self.plan.shape())?, self.factored_operations() != FactoredOperations::None)
        else {
            let what = "this system with stored factors on a GPU; use `DeviceSolver::solve`";
            return Err(Error::Unsupported { method: self.plan.asked_method().name(), what });
        };
        self.device.receive(&a.devices())?;
        self.measurements.clear_before_factors()?;
        if self.route == Route::DenseBlocks {
            self.factor_blocks(top, true)?;
        } else {
            self.factor_levels(top)?;
        }
        self.measurements.store_suspects(&self.device)?;
        self.stored = Some(top);
        Ok(())
    }

    /// Factor a matrix level by level.
    fn factor_levels(&mut self, top: Blocks) -> Result<()> {
        while self.factors.len() < self.levels.len() {
            self.factors.push(LevelFactors::new(&self.device, &self.cuts[self.factors.len()])?);
        }
        let mut source = top;
        for k in 0..self.levels.len() {
            let (cut, kind) = &self.cuts[k];
            let (cut, one) = (DeviceCut { columns: 1, ..*cut }, KernelKind { on_chip: 1, ..*kind });
            let (coarse, factors) = (self.coarse(k + 1), self.factors[k].addresses());
            let arguments = Arguments::new(&cut).with(source).with(coarse).with(factors).with(self.rule());
            let (blocks, name) =
                (cut.spans as usize * cut.systems as usize, format!("factor_{}_{}_1", T::NAME, self.block));
            // SAFETY: these are the kernel's arguments. The arrays have the lengths of the cut, or `source` checked
            // them.
            unsafe { arguments.launch(&self.device, &name, blocks, one.reduce_bytes(&cut)) }?;
            source = Blocks::new(coarse.arrays, Op::Plain);
        }
        Ok(())
    }

    /// Factor dense blocks for all later solves, which must have the same matrix with any operation. Other methods, and solvers that
    /// store factors already, do nothing.
    pub(crate) fn store_blocks(&mut self, a: DeviceMatrix<'_, T>) -> Result<()> {
        if self.route == Route::DenseBlocks && self.stored.is_none() { self.store(a) } else { Ok(()) }
    }

    /// Check that a matrix is that of the stored factors, if there are any.
    pub(super) fn check_stored(&self, source: MatrixSource) -> Result<()> {
        let same = |stored: Blocks| match source {
            MatrixSource::Blocks(blocks) if self.route == Route::DenseBlocks => blocks.plain() == stored.plain(),
            MatrixSource::Blocks(blocks) => blocks == stored,
            _ => false,
        };
        if self.stored.is_none_or(same) {
            return Ok(());
        }
        Err(Error::invalid(
            "matrix",
            "is not that of the stored factors, or has another operation",
            "the matrix that `DeviceSolver::store` received",
        ))
    }
}
