//! Completion of a started solve: wait, verify, refine, and if necessary solve on the host.

use super::repair::SolveArrays;
use super::route::Route;
use super::verdict::{self, Verdict};
use super::{DeviceSolver, fallback_plan, largest};
use crate::device::{Device, DeviceScalar, DeviceSlice, DeviceSliceMut, DeviceVec};
use crate::launch::{Arguments, DeviceColumns, Peaks};
use crate::matrix::{DeviceMatrix, MatrixSource};
use bandsolve::dyn_stack::{PodBuffer, PodStack};
use bandsolve::{Banded, BlockTridiagonal, Error, Factor, Factorize, Op, Plan, Report, Result, Shape, Tridiagonal};
use bandsolve::{RefinedSystem, Refinement, StoppingRule, good, refine};
use std::sync::Arc;

/// A solve that was started. If you drop it without [`wait`](Self::wait), x is neither verified nor repaired.
///
/// The solve is in the order of the streams of all its arrays: it starts after the work that was on them, and later work on them starts
/// after the solve.
#[derive(Debug)]
#[must_use = "call `wait`, which verifies the solution"]
pub struct Pending<'a, T: DeviceScalar> {
    pub(super) solver: &'a mut DeviceSolver<T>,
    a: DeviceMatrix<'a, T>,
    pub(super) source: MatrixSource,
    pub(super) rhs: DeviceSlice<'a, T>,
    pub(super) x: DeviceSliceMut<'a, T>,
}

impl<'a, T: DeviceScalar> Pending<'a, T> {
    /// A solve that the caller starts next, or that is complete.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if an array is on another device.
    pub(crate) fn new(
        solver: &'a mut DeviceSolver<T>,
        a: DeviceMatrix<'a, T>,
        rhs: DeviceSlice<'a, T>,
        x: DeviceSliceMut<'a, T>,
    ) -> Result<Self> {
        let source = a.source(solver.shape())?;
        solver.check_stored(source)?;
        let pending = Self { solver, a, source, rhs, x };
        pending.solver.device.receive(&pending.devices())?;
        Ok(pending)
    }

    fn devices(&self) -> Vec<(&'static str, &Device)> {
        let mut devices = self.a.devices();
        devices.extend([("rhs", self.rhs.device()), ("x", self.x.as_slice().device())]);
        devices
    }

    /// Wait for the kernels, verify x, and repair it if necessary.
    ///
    /// # Errors
    /// [`Error::Device`]; the errors of the pivoted method, if it was used.
    pub fn wait(mut self) -> Result<Report> {
        if self.rhs.is_empty() {
            return Ok(self.solver.gathered(&[]));
        }
        if !self.solver.plan.options().verify {
            return self.without_verification();
        }
        if let Some(report) = self.solver.accepted()? {
            return Ok(report);
        }
        let mut verdict = self.solver.verdict()?;
        let suspects = self.set_aside(&mut verdict);
        let in_range = |errors: &[f64]| errors.iter().all(|error| error.is_finite());
        if verdict.bad > 0 && in_range(&verdict.errors) {
            let arrays = SolveArrays { source: self.source, rhs: self.rhs.address(), x: self.x.as_slice().address() };
            verdict = self.solver.repair(arrays, verdict)?;
            self.set_aside(&mut verdict);
        }
        let mut steps = 0;
        let (good, enough) = (good::<T>(), verdict.is_good::<T>());
        let mut measured = ColumnErrors { errors: verdict.errors, rconds: verdict.rconds };
        if !enough && in_range(&measured.errors) {
            (measured, steps) = self.refine()?;
        }
        self.put(&mut measured.errors, &suspects, f64::INFINITY);
        let fallback = measured.errors.iter().any(|error| !(*error <= good));
        let of_fallback = if fallback { self.fall_back(&mut measured, good)? } else { None };
        let ColumnErrors { errors, rconds } = measured;
        let attention = [of_fallback, self.solver.attention(&errors, &rconds)].into_iter().flatten();
        // The systems of a batch count as one right-hand side.
        let columns = self.solver.cuts[0].0.columns as usize;
        let by_column: Vec<f64> = (0..columns).map(|k| largest(errors[k..].iter().step_by(columns))).collect();
        let mut report = self.solver.gathered(&by_column);
        (report.refinement_steps, report.fallback) = (steps, fallback);
        report.attention = attention.min_by_key(|(column, _)| *column).map(|(_, text)| text);
        Ok(report)
    }

    /// The host solves systems that may be singular, with or without verification.
    fn without_verification(mut self) -> Result<Report> {
        let suspects = self.solver.suspects()?;
        let mut report = self.solver.gathered(&[]);
        report.fallback = !suspects.is_empty();
        if report.fallback {
            let [errors, rconds] = [0.0, f64::NAN].map(|value| vec![value; self.solver.columns()]);
            let mut measured = ColumnErrors { errors, rconds };
            self.put(&mut measured.errors, &suspects, f64::INFINITY);
            report.attention = self.fall_back(&mut measured, good::<T>())?.map(|(_, text)| text);
        }
        Ok(report)
    }

    /// Remove the systems that may be singular from the measurements, so that their errors count as accurate. Returns
    /// these systems.
    ///
    /// If no other systems exist, no row is left for local repair.
    fn set_aside(&self, verdict: &mut Verdict) -> Vec<usize> {
        let suspects = core::mem::take(&mut verdict.suspects);
        self.put(&mut verdict.errors, &suspects, 0.0);
        if suspects.len() == self.solver.cuts[0].0.systems as usize {
            (verdict.bad, verdict.changed) = (0, false);
        }
        suspects
    }

    /// Write an error for all columns of some systems.
    fn put(&self, errors: &mut [f64], systems: &[usize], error: f64) {
        let columns = self.solver.cuts[0].0.columns as usize;
        systems.iter().for_each(|system| errors[system * columns..][..columns].fill(error));
    }

    /// The index in x of a row of a column. Columns are counted over all systems.
    fn place(&self, column: usize, row: usize) -> usize {
        let cut = self.solver.cuts[0].0;
        let (system, column) = (column / cut.columns as usize, column % cut.columns as usize);
        column * self.solver.step() as usize + system * cut.system_step as usize + row * cut.row_step as usize
    }

    /// Refine with the same elimination. Returns the backward errors, upper bounds of the reciprocal condition number, and the number of
    /// steps.
    ///
    /// An interleaved batch is refined as a whole, other systems by column.
    fn refine(&mut self) -> Result<(ColumnErrors, usize)> {
        let device = self.solver.device.clone();
        let array = || device.zeros::<T>(self.rhs.len());
        let (rest, dx, before) = (array()?, array()?, array()?);
        let columns = self.solver.columns();
        let peaks = device.zeros::<u8>(Peaks::KINDS * columns * T::REAL_BYTES)?;
        // Add zero, to compute the largest |x| again. The local repair may have changed it.
        self.correct(&dx, &peaks)?;
        let systems = if self.solver.route == Route::Interleaved { 1 } else { columns };
        let [measured, previous] = [(); 2].map(|()| ColumnErrors::default());
        let mut refinement = DeviceRefinement { solve: self, rest, dx, before, peaks, measured, previous };
        let steps = refine(&StoppingRule::contract::<T>(), &mut vec![RefinedSystem::open(); systems], &mut refinement)?;
        Ok((refinement.measured, steps))
    }

    /// rest ← rhs − A·x in twice the working precision, with the largest |x| from `peaks`. Returns the backward errors,
    /// and upper bounds of the reciprocal condition number.
    fn residual(&self, peaks: &mut DeviceVec<u8>, rest: &mut DeviceVec<T>) -> Result<ColumnErrors> {
        let solver = &*self.solver;
        let word = peaks.len() / Peaks::KINDS;
        peaks.slice_mut(..word).clear()?;
        let addresses = Peaks::at(peaks.slice(..).address(), solver.columns(), T::REAL_BYTES);
        let column = |address| DeviceColumns { first: address, step: solver.step() };
        let head = Arguments::new(&solver.cuts[0].0);
        let (arguments, name) = match (&solver.dense_factors, self.source) {
            (Some(factors), MatrixSource::Blocks(blocks)) => {
                (head.with(factors.matrix(blocks)), format!("blockresidual_{}", T::NAME))
            }
            _ => {
                let (arguments, ending) = self.source.with(head);
                (arguments, format!("residual_{}_{}{ending}", T::NAME, solver.block))
            }
        };
        let arguments = arguments
            .with(column(self.rhs.address()))
            .with(column(self.x.as_slice().address()))
            .with(column(rest.slice(..).address()))
            .with(addresses);
        // SAFETY: these are the kernel's arguments, and all arrays have the length of x.
        unsafe { arguments.launch(&solver.device, &name, solver.blocks_by_rows(), 0) }?;
        let peaks = peaks.download()?;
        Ok(ColumnErrors { errors: verdict::read::<T>(&peaks, 0), rconds: verdict::rconds::<T>(&peaks) })
    }

    /// x ← x + dx. The largest |x| go to `peaks`.
    fn correct(&mut self, dx: &DeviceVec<T>, peaks: &DeviceVec<u8>) -> Result<()> {
        let solver = &*self.solver;
        let addresses = Peaks::at(peaks.slice(..).address(), solver.columns(), T::REAL_BYTES);
        let column = |address| DeviceColumns { first: address, step: solver.step() };
        let arguments = Arguments::new(&solver.cuts[0].0)
            .with(column(dx.slice(..).address()))
            .with(column(self.x.as_slice().address()))
            .with(addresses);
        // SAFETY: these are the kernel's arguments, and both arrays have the length of x.
        unsafe { arguments.launch(&solver.device, &format!("correct_{}", T::NAME), solver.blocks_by_rows(), 0) }
    }

    /// Solve the columns that are not accurate on the host, with the sequential pivoted method.
    ///
    /// Returns the first column whose x may have no correct digit, and the text for the report. `rconds` become
    /// NaN for the solved columns.
    fn fall_back(&mut self, measured: &mut ColumnErrors, good: f64) -> Result<Option<(usize, Arc<str>)>> {
        let shape = self.solver.plan.shape();
        let of_one = match shape {
            Shape::Batch { n, .. } => Shape::Tridiagonal { n, periodic: false },
            other => other,
        };
        let plan = fallback_plan(&self.solver.plan, of_one);
        let (arrays, leading) = self.a.download(shape)?;
        let matrix = HostCopy { plan, shape, arrays, leading };
        let (given, mut all) = (self.rhs.download()?, self.x.as_slice().download()?);
        let rows = self.solver.cuts[0].0.rows as usize;
        let (mut failed, mut attention) = (Ok(()), None);
        for column in 0..measured.errors.len() {
            if measured.errors[column] <= good {
                continue;
            }
            let places: Vec<usize> = (0..rows).map(|row| self.place(column, row)).collect();
            let [rhs, mut x] = [&given, &all].map(|array| places.iter().map(|at| array[*at]).collect::<Vec<T>>());
            let solved = self.on_host(&matrix, &places, &rhs, &mut x);
            // Write the best x, even if it is not accurate enough.
            places.iter().zip(x).for_each(|(at, value)| all[*at] = value);
            match solved {
                Ok(report) => {
                    (measured.errors[column], measured.rconds[column]) = (report.backward_error, f64::NAN);
                    attention = attention.or(report.attention.map(|text| (column, text)));
                }
                // Report the index in the caller's layout.
                Err(Error::NotFinite { array: "rhs", index }) => {
                    failed = failed.and(Err(Error::NotFinite { array: "rhs", index: places[index] }));
                }
                // The systems are consecutive.
                Err(Error::Singular { row }) => {
                    let system = column / self.solver.cuts[0].0.columns as usize;
                    failed = failed.and(Err(Error::Singular { row: system * rows + row }));
                }
                Err(error) => failed = failed.and(Err(error)),
            }
        }
        self.x.write(&all)?;
        failed.map(|()| attention)
    }

    /// Solve the system of a column on the host. `places` are the indices of its rows in x.
    fn on_host(&self, matrix: &HostCopy<T>, places: &[usize], rhs: &[T], x: &mut [T]) -> Result<Report> {
        let HostCopy { plan, shape, arrays, leading } = matrix;
        let op = self.a.chosen_op();
        match (*shape, &**arrays) {
            (Shape::Tridiagonal { periodic, .. }, [sub, diag, sup]) => {
                let a = if periodic { Tridiagonal::periodic } else { Tridiagonal::new };
                solve_one(plan, &a(sub, diag, sup)?, op, rhs, x)
            }
            (Shape::BlockTridiagonal { block, periodic, .. }, [sub, diag, sup]) => {
                let a = if periodic { BlockTridiagonal::periodic } else { BlockTridiagonal::new };
                solve_one(plan, &a(block, sub, diag, sup)?, op, rhs, x)
            }
            (Shape::Banded { n, lower, upper }, [bands]) => {
                solve_one(plan, &Banded::with_leading(n, lower, upper, *leading, bands)?, op, rhs, x)
            }
            (Shape::Batch { .. }, [sub, diag, sup]) => {
                let part = |array: &[T]| places.iter().map(|at| array[at % shape.rows()]).collect::<Vec<T>>();
                solve_one(plan, &Tridiagonal::from_vecs(part(sub), part(diag), part(sup), false)?, op, rhs, x)
            }
            _ => unreachable!("the matrix has the shape of the plan"),
        }
    }
}

impl<T: DeviceScalar> Drop for Pending<'_, T> {
    fn drop(&mut self) {
        let solver = &self.solver.device;
        for (_, device) in self.devices() {
            // Errors can no longer be reported. The next call on this stream reports them. Without an event, the host waits.
            if device.wait_for(solver).is_err() {
                _ = solver.synchronize();
            }
        }
    }
}

/// A copy of the matrix in host memory, with the plan of the fallback for one of its systems.
struct HostCopy<T> {
    plan: Plan,
    shape: Shape,
    arrays: Vec<Vec<T>>,
    /// The leading dimension of band storage.
    leading: usize,
}

/// Measurements of all columns.
#[derive(Default)]
struct ColumnErrors {
    /// Backward errors.
    errors: Vec<f64>,
    /// Upper bounds of the reciprocal condition number.
    rconds: Vec<f64>,
}

/// The columns that are refined.
struct DeviceRefinement<'s, 'a, T: DeviceScalar> {
    solve: &'s mut Pending<'a, T>,
    /// The residual.
    rest: DeviceVec<T>,
    dx: DeviceVec<T>,
    /// x before the last step.
    before: DeviceVec<T>,
    /// The memory of the [`Peaks`] of all columns.
    peaks: DeviceVec<u8>,
    measured: ColumnErrors,
    /// The measurements before the last step.
    previous: ColumnErrors,
}

impl<T: DeviceScalar> Refinement for DeviceRefinement<'_, '_, T> {
    type Error = Error;

    fn measure(&mut self, systems: &mut [RefinedSystem]) -> Result<()> {
        let measured = self.solve.residual(&mut self.peaks, &mut self.rest)?;
        self.previous = core::mem::replace(&mut self.measured, measured);
        match systems {
            [whole] => whole.error = largest(&self.measured.errors),
            _ => systems.iter_mut().zip(&self.measured.errors).for_each(|(system, error)| system.error = *error),
        }
        Ok(())
    }

    /// The kernels correct all columns. `restore` undoes the corrections of the columns that are not open.
    fn correct(&mut self, _systems: &[RefinedSystem]) -> Result<()> {
        self.solve.solver.enqueue_correction(self.solve.source, self.rest.slice(..), self.dx.slice(..))?;
        self.before.slice_mut(..).copy_from(self.solve.x.as_slice())?;
        self.peaks.slice_mut(..).clear()?;
        self.solve.correct(&self.dx, &self.peaks)
    }

    fn restore(&mut self, systems: &[RefinedSystem]) -> Result<bool> {
        let rows = self.solve.solver.cuts[0].0.rows as usize;
        match systems {
            [RefinedSystem { improved: true, .. }] => {}
            [_] => {
                self.solve.x.copy_from(self.before.slice(..))?;
                core::mem::swap(&mut self.measured, &mut self.previous);
            }
            _ => {
                for column in (0..systems.len()).filter(|column| !systems[*column].improved) {
                    let first = self.solve.place(column, 0);
                    self.solve.x.part(first..first + rows).copy_from(self.before.slice(first..first + rows))?;
                    self.measured.errors[column] = self.previous.errors[column];
                    self.measured.rconds[column] = self.previous.rconds[column];
                }
            }
        }
        Ok(true)
    }
}

/// Solve a system on the host.
fn solve_one<T: DeviceScalar, M: Factorize<Scalar = T>>(
    plan: &Plan,
    a: &M,
    op: Op,
    rhs: &[T],
    x: &mut [T],
) -> Result<Report> {
    let factor = plan.factor(a)?;
    let mut memory = PodBuffer::new(factor.solve_scratch(1));
    factor.solve_into_with(op, rhs, x, PodStack::new(&mut memory))
}
