//! The demo: a cubic spline through ten million points.
//!
//! With hᵢ = tᵢ₊₁ − tᵢ and sᵢ = (yᵢ₊₁ − yᵢ) / hᵢ, the second derivatives Mᵢ of the natural cubic spline through (tᵢ, yᵢ) solve
//!
//! ```text
//! hᵢ₋₁ Mᵢ₋₁ + 2 (hᵢ₋₁ + hᵢ) Mᵢ + hᵢ Mᵢ₊₁ = 6 (sᵢ − sᵢ₋₁)
//! ```
//!
//! The points are on a sine curve, at uneven distances between 0.05 and 0.15. The demo compares the spline with the sine between the points. Away from
//! the ends, the error of the spline is at most 5/384·h⁴·max|f⁗|.

use bandsolve::dyn_stack::{PodBuffer, PodStack};
use bandsolve::memory::collected;
use bandsolve::{Factor, Op, Plan, Report, Result, Tridiagonal};
use std::time::{Duration, Instant};

/// Number of unknowns.
const N: usize = 10_000_000;
/// Mean distance between neighboring points, and the largest difference from it.
const STEP: (f64, f64) = (0.1, 0.05);
/// Number of solves. The report shows the fastest.
const REPETITIONS: usize = 5;
/// Number of intervals at each end where the end condition M = 0 has an effect. It decays by a factor of 0.27 per interval.
const ENDS: usize = 40;

/// Run the demo and return its report. `progress` receives the name of each step.
///
/// # Errors
/// `OutOfMemory` if less than one gigabyte is free, and the errors of the solver.
pub fn run(progress: impl Fn(&'static str)) -> Result<String> {
    progress("computing 10 million points on a sine curve …");
    let points = Points::new(N + 2)?;
    progress("setting up the spline equations …");
    let (a, rhs) = points.equations()?;
    progress("solving …");
    let mut curvature = bandsolve::memory::zeroed(N)?;
    let (report, time) = solve(&a, &rhs, &mut curvature)?;
    progress("comparing the spline with the sine …");
    Ok(text(&report, time, points.error_between(&curvature)))
}

/// Points on the curve.
struct Points {
    t: Vec<f64>,
    y: Vec<f64>,
}

/// The function that the spline interpolates.
fn curve(t: f64) -> f64 {
    t.sin()
}

impl Points {
    fn new(count: usize) -> Result<Self> {
        let mut t = 0.0;
        let t: Vec<f64> = collected((0..count).map(|i| {
            t += STEP.0 + STEP.1 * (i as f64).sin();
            t
        }))?;
        let y = collected(t.iter().map(|t| curve(*t)))?;
        Ok(Self { t, y })
    }

    /// The matrix and the right-hand side for the second derivatives at all points except the first and the last.
    fn equations(&self) -> Result<(Tridiagonal<'static, f64>, Vec<f64>)> {
        let h = |i: usize| self.t[i + 1] - self.t[i];
        let slope = |i: usize| (self.y[i + 1] - self.y[i]) / h(i);
        let n = self.t.len() - 2;
        // Row k is the equation of point k + 1.
        let sub = collected((0..n).map(h))?;
        let diag = collected((0..n).map(|k| 2.0 * (h(k) + h(k + 1))))?;
        let sup = collected((0..n).map(|k| h(k + 1)))?;
        let rhs = collected((0..n).map(|k| 6.0 * (slope(k + 1) - slope(k))))?;
        Ok((Tridiagonal::from_vecs(sub, diag, sup, false)?, rhs))
    }

    /// Largest difference between spline and curve at the midpoints of the intervals, without the intervals at the ends.
    fn error_between(&self, curvature: &[f64]) -> f64 {
        let difference = |i: usize| {
            let (t0, t1) = (self.t[i], self.t[i + 1]);
            let (m0, m1) = (curvature[i - 1], curvature[i]);
            let spline = (self.y[i] + self.y[i + 1]) / 2.0 - (t1 - t0).powi(2) / 16.0 * (m0 + m1);
            (spline - curve((t0 + t1) / 2.0)).abs()
        };
        (1 + ENDS..curvature.len() - ENDS).map(difference).fold(0.0, f64::max)
    }

    /// The theoretical bound of [`error_between`](Self::error_between).
    fn error_bound() -> f64 {
        5.0 / 384.0 * (STEP.0 + STEP.1).powi(4)
    }
}

/// Solve [`REPETITIONS`] times in preallocated memory, and return the shortest time.
fn solve(a: &Tridiagonal<'_, f64>, rhs: &[f64], x: &mut [f64]) -> Result<(Report, Duration)> {
    let factor = Plan::new(a.shape()).factor(a)?;
    let mut memory = PodBuffer::new(factor.solve_scratch(1));
    let mut once = || {
        let started = Instant::now();
        let report = factor.solve_into_with(Op::Plain, rhs, x, PodStack::new(&mut memory))?;
        Ok((report, started.elapsed()))
    };
    let mut best = once()?;
    for _ in 1..REPETITIONS {
        let next = once()?;
        best = if next.1 < best.1 { next } else { best };
    }
    Ok(best)
}

fn text(report: &Report, time: Duration, error: f64) -> String {
    let seconds = time.as_secs_f64();
    let rate = N as f64 / seconds;
    format!(
        "  problem         cubic spline through 10 million unevenly spaced points on a sine curve
  system          tridiagonal, 10 million unknowns, f64
  method          {}: {}
  time            {:.1} ms, best of {REPETITIONS}
  speed           {:.0} million rows/s
  backward error  {:.1e} after {} refinement steps, verified during the solve
  spline error    at most {error:.1e} between the points; theoretical bound {:.1e}
",
        report.method.name(),
        report.reason,
        seconds * 1e3,
        rate * 1e-6,
        report.backward_error,
        report.refinement_steps,
        Points::error_bound(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn error_of_a_small_spline_is_below_the_theoretical_bound() -> Result<()> {
        let points = Points::new(2002)?;
        let (a, rhs) = points.equations()?;
        let curvature = a.solve(&rhs)?.values;
        let error = points.error_between(&curvature);
        // The error would be 0 if nothing were compared.
        assert!(error > Points::error_bound() / 100.0 && error < Points::error_bound(), "{error}");
        Ok(())
    }
}
