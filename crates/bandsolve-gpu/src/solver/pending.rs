//! Completion of a started solve: wait, verify, refine, and if necessary solve on the host.

use super::found::{self, Verdict};
use super::{DeviceSolver, Route, fallback_plan, largest};
use crate::device::{DeviceScalar, DeviceSlice, DeviceSliceMut, DeviceVec};
use crate::launch::{Arguments, DeviceColumns, Peaks};
use crate::matrix::{DeviceMatrix, MatrixSource};
use bandsolve::dyn_stack::{PodBuffer, PodStack};
use bandsolve::{Banded, BlockTridiagonal, Error, Factor, Factorize, Op, Plan, Report, Result, Shape, Tridiagonal};
use bandsolve::{MAX_REFINEMENTS, good};
use std::sync::Arc;

/// A solve that was started. If you drop it without [`wait`](Self::wait), x is neither verified nor repaired.
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
    /// A solve that has already been started by the caller, or is complete.
    pub(crate) fn new(
        solver: &'a mut DeviceSolver<T>,
        a: DeviceMatrix<'a, T>,
        rhs: DeviceSlice<'a, T>,
        x: DeviceSliceMut<'a, T>,
    ) -> Result<Self> {
        let source = a.source(solver.shape())?;
        Ok(Self { solver, a, source, rhs, x })
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
        let mut found = self.solver.verdict()?;
        let suspects = self.set_aside(&mut found);
        let in_range = |errors: &[f64]| errors.iter().all(|error| error.is_finite());
        if found.bad > 0 && in_range(&found.errors) {
            found = self.mend(found)?;
            self.set_aside(&mut found);
        }
        let mut steps = 0;
        let (good, enough) = (good::<T>(), found.is_good::<T>());
        let (mut errors, mut rconds) = (found.errors, found.rconds);
        if !enough && in_range(&errors) {
            steps = self.refine((&mut errors, &mut rconds), good)?;
        }
        self.put(&mut errors, &suspects, f64::INFINITY);
        let fallback = errors.iter().any(|error| !(*error <= good));
        let said = if fallback { self.fall_back((&mut errors, &mut rconds), good)? } else { None };
        let said = [said, self.solver.attention(&errors, &rconds)].into_iter().flatten();
        // The systems of a batch count as one right-hand side.
        let columns = self.solver.cuts[0].0.columns as usize;
        let by_column: Vec<f64> = (0..columns).map(|k| largest(errors[k..].iter().step_by(columns))).collect();
        let mut report = self.solver.gathered(&by_column);
        (report.refinement_steps, report.fallback) = (steps, fallback);
        report.attention = said.min_by_key(|(column, _)| *column).map(|(_, text)| text);
        Ok(report)
    }

    /// The host solves systems that may be singular, with or without verification.
    fn without_verification(mut self) -> Result<Report> {
        let suspects = self.solver.suspects()?;
        let mut report = self.solver.gathered(&[]);
        report.fallback = !suspects.is_empty();
        if report.fallback {
            let [mut errors, mut rconds] = [0.0, f64::NAN].map(|value| vec![value; self.solver.columns()]);
            self.put(&mut errors, &suspects, f64::INFINITY);
            report.attention = self.fall_back((&mut errors, &mut rconds), good::<T>())?.map(|(_, text)| text);
        }
        Ok(report)
    }

    /// Remove the systems that may be singular from the measurements, so that their errors count as accurate. Returns
    /// these systems.
    ///
    /// If no other systems exist, no row is left for local repair.
    fn set_aside(&self, found: &mut Verdict) -> Vec<usize> {
        let suspects = core::mem::take(&mut found.suspects);
        self.put(&mut found.errors, &suspects, 0.0);
        if suspects.len() == self.solver.cuts[0].0.systems as usize {
            (found.bad, found.changed) = (0, false);
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

    /// Refine with the same elimination while the error decreases. Returns the number of steps.
    ///
    /// `rconds` are upper bounds of the reciprocal condition number.
    fn refine(&mut self, (errors, rconds): (&mut [f64], &mut [f64]), good: f64) -> Result<usize> {
        let device = self.solver.device.clone();
        let array = || device.zeros::<T>(self.rhs.len());
        let (mut rest, dx, mut kept) = (array()?, array()?, array()?);
        let mut found = device.zeros::<u8>(Peaks::KINDS * errors.len() * T::REAL_BYTES)?;
        // Add zero, to compute the largest |x| again. The local repair may have changed it.
        self.correct(&dx, &found)?;
        let new = self.residual(&mut found, &mut rest)?;
        errors.copy_from_slice(&new.0);
        rconds.copy_from_slice(&new.1);
        for step in 0..MAX_REFINEMENTS {
            if errors.iter().all(|error| *error <= good) {
                return Ok(step);
            }
            let given = self.solver.dense(rest.slice(..));
            self.solver.enqueue(self.source, given, dx.slice(..))?;
            kept.slice_mut(..).copy_from(self.x.as_slice())?;
            found.slice_mut(..).clear()?;
            self.correct(&dx, &found)?;
            let new = self.residual(&mut found, &mut rest)?;
            let helped = self.keep_better((&mut *errors, &mut *rconds), &new, &kept)?;
            if !helped {
                return Ok(step + 1);
            }
        }
        Ok(MAX_REFINEMENTS)
    }

    /// Undo corrections that did not reduce the error, by column, or for an interleaved batch as a whole. Returns
    /// whether any correction did.
    fn keep_better(
        &mut self,
        (errors, rconds): (&mut [f64], &mut [f64]),
        (new, new_rconds): &(Vec<f64>, Vec<f64>),
        kept: &DeviceVec<T>,
    ) -> Result<bool> {
        if self.solver.route == Route::Interleaved {
            let helped = largest(new) < largest(&*errors);
            if helped {
                errors.copy_from_slice(new);
                rconds.copy_from_slice(new_rconds);
            } else {
                self.x.copy_from(kept.slice(..))?;
            }
            return Ok(helped);
        }
        let rows = self.solver.cuts[0].0.rows as usize;
        let mut helped = false;
        for (column, (error, new)) in errors.iter_mut().zip(new).enumerate() {
            if new < error {
                (*error, rconds[column]) = (*new, new_rconds[column]);
                helped = true;
            } else {
                let first = self.place(column, 0);
                self.x.part(first..first + rows).copy_from(kept.slice(first..first + rows))?;
            }
        }
        Ok(helped)
    }

    /// rest ← rhs − A·x in twice the working precision, with the largest |x| from `found`. Returns the backward errors,
    /// and upper bounds of the reciprocal condition number.
    fn residual(&self, found: &mut DeviceVec<u8>, rest: &mut DeviceVec<T>) -> Result<(Vec<f64>, Vec<f64>)> {
        let solver = &*self.solver;
        let word = found.len() / Peaks::KINDS;
        found.slice_mut(..word).clear()?;
        let peaks = Peaks::at(found.slice(..).address(), solver.columns(), T::REAL_BYTES);
        let column = |address| DeviceColumns { first: address, step: solver.step() };
        let (arguments, ending) = self.source.with(Arguments::new(&solver.cuts[0].0));
        let name = format!("residual_{}_{}{ending}", T::NAME, solver.block);
        let arguments = arguments
            .with(column(self.rhs.address()))
            .with(column(self.x.as_slice().address()))
            .with(column(rest.slice(..).address()))
            .with(peaks);
        // SAFETY: these are the kernel's arguments, and all arrays have the length of x.
        unsafe { arguments.launch(&solver.device, &name, solver.blocks_by_rows(), 0) }?;
        let peaks = found.download()?;
        Ok((found::read::<T>(&peaks, 0), found::rconds::<T>(&peaks)))
    }

    /// x ← x + dx. The largest |x| go to `found`.
    fn correct(&mut self, dx: &DeviceVec<T>, found: &DeviceVec<u8>) -> Result<()> {
        let solver = &*self.solver;
        let peaks = Peaks::at(found.slice(..).address(), solver.columns(), T::REAL_BYTES);
        let column = |address| DeviceColumns { first: address, step: solver.step() };
        let arguments = Arguments::new(&solver.cuts[0].0)
            .with(column(dx.slice(..).address()))
            .with(column(self.x.as_slice().address()))
            .with(peaks);
        // SAFETY: these are the kernel's arguments, and both arrays have the length of x.
        unsafe { arguments.launch(&solver.device, &format!("correct_{}", T::NAME), solver.blocks_by_rows(), 0) }
    }

    /// Solve the columns that are not accurate on the host, with the sequential pivoted method.
    ///
    /// Returns the first column whose x may have no correct digit, and the text for the report. `rconds` no longer
    /// apply to the solved columns.
    fn fall_back(
        &mut self,
        (errors, rconds): (&mut [f64], &mut [f64]),
        good: f64,
    ) -> Result<Option<(usize, Arc<str>)>> {
        let shape = self.solver.plan.shape();
        let of_one = match shape {
            Shape::Batch { n, .. } => Shape::Tridiagonal { n, periodic: false },
            other => other,
        };
        let plan = fallback_plan(&self.solver.plan, of_one);
        let (arrays, leading) = self.a.download(shape)?;
        let (given, mut all) = (self.rhs.download()?, self.x.as_slice().download()?);
        let rows = self.solver.cuts[0].0.rows as usize;
        let (mut failed, mut said) = (Ok(()), None);
        for column in 0..errors.len() {
            if errors[column] <= good {
                continue;
            }
            let places: Vec<usize> = (0..rows).map(|row| self.place(column, row)).collect();
            let [rhs, mut x] = [&given, &all].map(|array| places.iter().map(|at| array[*at]).collect::<Vec<T>>());
            let solved = self.on_host(&plan, shape, (&arrays, leading), &places, (&rhs, &mut x));
            // Write the best x, even if it is not accurate enough.
            places.iter().zip(x).for_each(|(at, value)| all[*at] = value);
            match solved {
                Ok(report) => {
                    (errors[column], rconds[column]) = (report.backward_error, f64::NAN);
                    said = said.or(report.attention.map(|text| (column, text)));
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
        failed.map(|()| said)
    }

    /// Solve the system of a column on the host. `places` are the indices of its rows in x.
    fn on_host(
        &self,
        plan: &Plan,
        shape: Shape,
        (arrays, leading): (&[Vec<T>], usize),
        places: &[usize],
        (rhs, x): (&[T], &mut [T]),
    ) -> Result<Report> {
        let op = self.a.chosen_op();
        match (shape, arrays) {
            (Shape::Tridiagonal { periodic, .. }, [sub, diag, sup]) => {
                let a = if periodic { Tridiagonal::periodic } else { Tridiagonal::new };
                solve_one(plan, &a(sub, diag, sup)?, op, rhs, x)
            }
            (Shape::BlockTridiagonal { block, periodic, .. }, [sub, diag, sup]) => {
                let a = if periodic { BlockTridiagonal::periodic } else { BlockTridiagonal::new };
                solve_one(plan, &a(block, sub, diag, sup)?, op, rhs, x)
            }
            (Shape::Banded { n, lower, upper }, [bands]) => {
                solve_one(plan, &Banded::with_leading(n, lower, upper, leading, bands)?, op, rhs, x)
            }
            (Shape::Batch { .. }, [sub, diag, sup]) => {
                let part = |array: &[T]| places.iter().map(|at| array[at % shape.rows()]).collect::<Vec<T>>();
                solve_one(plan, &Tridiagonal::from_vecs(part(sub), part(diag), part(sup), false)?, op, rhs, x)
            }
            _ => unreachable!("the matrix has the shape of the plan"),
        }
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
