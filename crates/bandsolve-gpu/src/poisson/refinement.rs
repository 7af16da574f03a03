//! The solve of one right-hand side: the accuracy contract, singular problems, and numbers near the limits of the type.

use super::matrix::{MatrixOnDevice, ResidualArrays, WholeMeasure};
use super::passes::{PassArrays, TransformPasses};
use crate::device::{Device, DeviceScalar, DeviceSlice, DeviceSliceMut, DeviceVec};
use bandsolve::{Error, RealScalar, RefinedSystem, Refinement, Result, Scalar, StoppingRule, good, refine, tolerable};
use bandsolve_poisson::PoissonScalar;
use bandsolve_poisson::device::{BoxParts, Solved, levelled};

/// A problem on a device.
pub struct BoxSolver<T: DeviceScalar + PoissonScalar> {
    pub device: Device,
    pub parts: BoxParts<T>,
    pub passes: TransformPasses<T>,
    matrix: MatrixOnDevice<T>,
    /// The constant that is subtracted from f if the problem is singular.
    removed: DeviceVec<f64>,
    /// Residuals, and the corrections that replace them.
    rest: DeviceVec<T>,
}

/// A right-hand side and its solution.
struct BoxSolve<'s, 'a, T: DeviceScalar + PoissonScalar> {
    solver: &'s mut BoxSolver<T>,
    f: DeviceSlice<'a, T>,
    u: DeviceSliceMut<'s, T>,
    /// The factor of the right-hand side, a power of two.
    scale: T,
    /// The last measure of u.
    last: WholeMeasure,
}

impl<T: DeviceScalar + PoissonScalar> BoxSolver<T> {
    pub fn new(device: &Device, parts: BoxParts<T>) -> Result<Self> {
        let n = parts.given().iter().product();
        let passes = TransformPasses::new(device, &parts)?;
        let matrix = MatrixOnDevice::new(device, &parts)?;
        Ok(Self { passes, matrix, removed: device.zeros(1)?, rest: device.zeros(n)?, device: device.clone(), parts })
    }

    /// Solve one right-hand side. The device may still use f and u after an error.
    pub fn solve(&mut self, f: DeviceSlice<'_, T>, u: DeviceSliceMut<'_, T>) -> Result<Solved> {
        BoxSolve { solver: self, f, u, scale: T::ONE, last: WholeMeasure::default() }.solve()
    }
}

impl<T: DeviceScalar + PoissonScalar> BoxSolve<'_, '_, T> {
    /// Solve. If numbers leave the range of the type, solve again with f times a power of two.
    fn solve(mut self) -> Result<Solved> {
        let solved = self.attempt();
        let Some(scale) = self.rescue(&solved)? else { return self.completed(solved?) };
        self.scale = scale;
        let solved = self.attempt()?;
        let mut solved = self.completed(solved)?;
        let by = RealScalar::to_f64(scale);
        solved.mean = solved.mean.map(|means| means.map(|mean| mean / by));
        solved.removed /= by;
        let largest = self.last.largest / by;
        if !Scalar::is_finite(<T as RealScalar>::from_f64(largest)) {
            return Err(Error::NotConverged { backward_error: f64::NAN, refinement_steps: solved.refinement_steps });
        }
        self.solver.matrix.shift(&self.solver.device, self.u.as_slice().address(), [T::ONE / scale, T::ZERO])?;
        Ok(solved)
    }

    /// Solve, measure and refine.
    fn attempt(&mut self) -> Result<Solved> {
        let rhs = self.solver.matrix.rhs(self.f.address(), self.scale);
        let u = self.u.as_slice().address();
        let mean = self.solver.parts.mean * RealScalar::to_f64(self.scale);
        let removed = self.solver.removed.slice(..).address();
        let arrays = PassArrays { rhs, work: u, u, add: false, removed, mean };
        self.solver.passes.enqueue(&self.solver.device, &arrays)?;
        let (mut system, rule) = ([RefinedSystem::open()], StoppingRule::contract::<T>().without_copy());
        let refinement_steps = refine(&rule, &mut system, self)?;
        let error = system[0].error;
        if error <= tolerable::<T>() {
            let is_singular = self.solver.parts.problem.is_singular();
            let removed = if is_singular { self.solver.removed.download()?[0] } else { 0.0 };
            return Ok(Solved { error, removed, refinement_steps, mean: None });
        }
        Err(Error::NotConverged { backward_error: error, refinement_steps })
    }

    /// Measure the residuals. `largest`: the largest |uᵢ|, for the backward error and to store the residuals, or 0.
    fn measure(&mut self, largest: f64) -> Result<WholeMeasure> {
        let Self { solver, f, u, scale, last } = self;
        let is_singular = solver.parts.problem.is_singular();
        let arrays = ResidualArrays {
            rhs: solver.matrix.rhs(f.address(), *scale),
            u: u.as_slice().address(),
            removed: if is_singular { solver.removed.slice(..).address() } else { 0 },
            largest,
            rest: if largest > 0.0 { solver.rest.slice(..).address() } else { 0 },
        };
        *last = solver.matrix.measure(&solver.device, &arrays)?;
        Ok(*last)
    }

    /// The backward error, or an upper bound of it if the bound is good enough. Otherwise, the residuals are stored.
    fn error(&mut self, measure: WholeMeasure) -> Result<f64> {
        let WholeMeasure { ratio, largest, .. } = measure;
        if ratio.is_nan() || !largest.is_finite() {
            return Ok(f64::NAN);
        }
        let largest = largest.max(RealScalar::to_f64(T::MIN_POSITIVE));
        if ratio <= good::<T>() * largest {
            return Ok(ratio / largest);
        }
        Ok(self.measure(largest)?.ratio)
    }

    /// The power of two for a second attempt, if numbers left the range of the type. `Err` if f is not finite.
    fn rescue(&mut self, solved: &Result<Solved>) -> Result<Option<T>> {
        if !matches!(solved, Err(Error::NotConverged { .. })) {
            return Ok(None);
        }
        let WholeMeasure { rhs, f, .. } = self.last;
        if !f.is_finite() {
            let values = self.f.download()?;
            let index = values.iter().position(|f| !Scalar::is_finite(*f)).unwrap_or(0);
            return Err(Error::NotFinite { array: "f", index });
        }
        let [safe, tiny] = [T::SAFE, T::TINY].map(RealScalar::to_f64);
        let unusual = !(rhs < safe && rhs > tiny);
        Ok((unusual && rhs != 0.0).then_some(if rhs < 1.0 { T::SAFE } else { T::TINY }))
    }

    /// Check what was removed from f, and set the mean of u, if the problem is singular.
    fn completed(&mut self, mut solved: Solved) -> Result<Solved> {
        if !self.solver.parts.problem.is_singular() {
            return Ok(solved);
        }
        let scale = RealScalar::to_f64(self.scale);
        let measure = self.last;
        let allowed = self.solver.parts.removable * measure.rhs;
        // The rounding error of f and of the boundary terms is always allowed, even if their sum cancels.
        let terms = (measure.f + self.solver.parts.sides.largest()) * scale;
        if !(solved.removed.abs() <= allowed || solved.removed.abs() <= good::<T>() * terms) {
            return Err(Error::Incompatible { removed: solved.removed / scale, allowed: allowed / scale });
        }
        let mut failed = None;
        let target = self.solver.parts.mean * scale;
        let (mean, changed) = levelled(target, |level: Option<T>| {
            if let Some(level) = level {
                let shifted = self.shift(level).and_then(|()| self.measure(0.0));
                failed = failed.take().or(shifted.err());
            }
            self.last.means
        });
        failed.map_or(Ok(()), Err)?;
        if changed {
            solved.error = self.error(self.last)?;
        }
        solved.mean = Some([target, mean]);
        if solved.error <= tolerable::<T>() {
            return Ok(solved);
        }
        Err(Error::NotConverged { backward_error: solved.error, refinement_steps: solved.refinement_steps })
    }

    /// Add a constant to u.
    fn shift(&mut self, level: T) -> Result<()> {
        self.solver.matrix.shift(&self.solver.device, self.u.as_slice().address(), [T::ONE, level])
    }
}

impl<T: DeviceScalar + PoissonScalar> Refinement for BoxSolve<'_, '_, T> {
    type Error = Error;

    fn measure(&mut self, systems: &mut [RefinedSystem]) -> Result<()> {
        let measure = BoxSolve::measure(self, 0.0)?;
        systems[0].error = self.error(measure)?;
        Ok(())
    }

    fn correct(&mut self, _systems: &[RefinedSystem]) -> Result<()> {
        let Self { solver, u, .. } = self;
        let rest = solver.rest.slice(..).address();
        let (rhs, removed) = (solver.matrix.without_sides(rest), solver.removed.slice(..).address());
        let arrays = PassArrays { rhs, work: rest, u: u.as_slice().address(), add: true, removed, mean: 0.0 };
        solver.passes.enqueue(&solver.device, &arrays)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::emulated::Emulation;
    use bandsolve_poisson::{Boundary, Poisson};

    /// Solve with eigenvalues that have an error.
    fn solve(problem: &Poisson, error: f64) -> Result<(Vec<f64>, Solved)> {
        let device = Device::emulated(Emulation::default());
        let mut solver = BoxSolver::new(&device, problem.parts()?)?;
        solver.passes.shift += error;
        let n = solver.rest.len();
        let f: Vec<f64> = (0..n).map(|k| ((k * 37) % 101) as f64 - 50.0).collect();
        let (f, mut u) = (device.upload(&f)?, device.zeros(n)?);
        let solved = solver.solve(f.slice(..), u.slice_mut(..))?;
        Ok((u.download()?, solved))
    }

    #[test]
    fn one_refinement_step_corrects_an_inexact_solver() {
        let sides = Boundary::dirichlet(3.0);
        let neumann = Poisson::new(&[11, 9]).boundary(Boundary::neumann(0.0)).removable(f64::INFINITY).mean(2.0);
        for problem in [Poisson::new(&[40]), Poisson::new(&[31, 20]).boundary(sides), Poisson::new(&[9, 8, 7]), neumann]
        {
            let (exact, solved) = solve(&problem, 0.0).unwrap();
            assert_eq!(solved.refinement_steps, 0, "{problem:?}");
            let (refined, solved) = solve(&problem, 1e-10).unwrap();
            assert_eq!(solved.refinement_steps, 1, "{problem:?} {solved:?}");
            assert!(solved.error <= good::<f64>(), "{solved:?}");
            let largest = exact.iter().fold(0.0f64, |a, b| a.max(b.abs()));
            assert!(exact.iter().zip(&refined).all(|(a, b)| (a - b).abs() < 1e-13 * largest), "{problem:?}");
        }
        // A step multiplies the error of the smoothest part of u by 0.5 / (0.5 + λ), which is above ½.
        let failed = solve(&Poisson::new(&[31, 20]), 0.5);
        assert!(matches!(failed, Err(Error::NotConverged { refinement_steps: 3, .. })), "{failed:?}");
    }
}
