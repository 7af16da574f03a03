//! `bandsolve` without arguments: a spline through ten million points.
//!
//! With hᵢ = tᵢ₊₁ − tᵢ and sᵢ = (yᵢ₊₁ − yᵢ) / hᵢ, the second derivatives Mᵢ of the natural cubic spline through (tᵢ, yᵢ) solve
//!
//! ```text
//! hᵢ₋₁ Mᵢ₋₁ + 2 (hᵢ₋₁ + hᵢ) Mᵢ + hᵢ Mᵢ₊₁ = 6 (sᵢ − sᵢ₋₁)
//! ```
//!
//! The points are on a sine curve, at random distances in [0.05, 0.15). The program compares the spline with the sine between the
//! points. Away from the ends, the error of the spline is at most 5/384·h⁴·max|f⁗|.

use crate::exit::Failure;
use crate::memory::affordable;
use crate::progress;
use crate::report;
use bandsolve::dyn_stack::{PodBuffer, PodStack};
use bandsolve::{Factor, Op, Plan, Report, Tridiagonal};
use bandsolve_gallery::Random;
use std::time::{Duration, Instant};

/// Number of unknowns.
const N: usize = 10_000_000;
/// Smallest and largest distance between neighboring points.
const STEP: (f64, f64) = (0.05, 0.15);
/// Number of solves. The report shows the fastest.
const REPETITIONS: usize = 5;
/// Number of intervals at each end where the end condition M = 0 has an effect. It decays by a factor of 0.27 per interval.
const ENDS: usize = 40;

/// Run the demonstration.
///
/// # Errors
/// [`Failure::Other`] if too little memory is free.
pub fn run() -> Result<(), Failure> {
    affordable(&[N, 9], size_of::<f64>())
        .map_err(|why| Failure::Other(format!("the demonstration needs more memory: {why}")))?;
    let progress = progress::spinner();
    progress.set_message("computing 10 million points on a sine curve …");
    let points = Points::new(N + 2);
    progress.set_message("setting up the spline equations …");
    let (a, rhs) = points.equations();
    progress.set_message("solving …");
    let mut curvature = vec![0.0; N];
    let (solved, time) = solve(&a, &rhs, &mut curvature)?;
    progress.set_message("comparing the spline with the sine …");
    let error = points.error_between(&curvature);
    progress.finish_and_clear();
    report::print(&text(&solved, time, error))
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
    fn new(count: usize) -> Points {
        let mut random = Random::new(1);
        let mut t = 0.0;
        let mut advance = || {
            t += random.uniform(STEP.0, STEP.1);
            t
        };
        let t: Vec<f64> = (0..count).map(|_| advance()).collect();
        let y = t.iter().map(|t| curve(*t)).collect();
        Points { t, y }
    }

    /// The matrix and the right-hand side for the second derivatives at all points except the first and the last.
    fn equations(&self) -> (Tridiagonal<'static, f64>, Vec<f64>) {
        let h = |i: usize| self.t[i + 1] - self.t[i];
        let slope = |i: usize| (self.y[i + 1] - self.y[i]) / h(i);
        let n = self.t.len() - 2;
        // Row k is the equation of point k + 1.
        let sub = (0..n).map(h).collect();
        let diag = (0..n).map(|k| 2.0 * (h(k) + h(k + 1))).collect();
        let sup = (0..n).map(|k| h(k + 1)).collect();
        let rhs = (0..n).map(|k| 6.0 * (slope(k + 1) - slope(k))).collect();
        let a = Tridiagonal::from_vecs(sub, diag, sup, false).expect("three arrays of length n");
        (a, rhs)
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
}

/// Solve [`REPETITIONS`] times in preallocated memory, and return the shortest time.
fn solve(a: &Tridiagonal<'_, f64>, rhs: &[f64], x: &mut [f64]) -> Result<(Report, Duration), Failure> {
    let factor = Plan::new(a.shape()).factor(a)?;
    let mut memory = PodBuffer::new(factor.solve_scratch(1));
    let mut once = || {
        let started = Instant::now();
        let solved = factor.solve_into_with(Op::Plain, rhs, x, PodStack::new(&mut memory))?;
        Ok::<_, Failure>((solved, started.elapsed()))
    };
    let mut best = once()?;
    for _ in 1..REPETITIONS {
        let next = once()?;
        best = if next.1 < best.1 { next } else { best };
    }
    Ok(best)
}

fn text(solved: &Report, time: Duration, error: f64) -> String {
    let seconds = time.as_secs_f64();
    let rate = N as f64 / seconds;
    let bound = 5.0 / 384.0 * STEP.1.powi(4);
    let steps = report::counted(solved.refinement_steps, "refinement step");
    let facts = report::columns(&[
        ("problem", "cubic spline through 10 million unevenly spaced points on a sine curve".into()),
        ("system", "tridiagonal, 10 million unknowns, f64".into()),
        ("method", format!("{}: {}", solved.method.name(), solved.reason)),
        ("time", format!("{}, best of {REPETITIONS}", report::seconds(seconds))),
        ("speed", format!("{}, memory traffic {:.1} GB/s (9 words per row)", report::rate(rate), rate * 72e-9)),
        ("backward error", format!("{:.1e} after {steps}, verified during the solve", solved.backward_error)),
        ("spline error", format!("at most {error:.1e} between the points; theoretical bound {bound:.1e}")),
    ]);
    format!("{facts}\n{NEXT}")
}

const NEXT: &str = "\
Next:
  bandsolve solve A.mtx --rhs b.mtx --out x.mtx      solve your own system
  bandsolve generate random 1000000 --out A.mtx      write a matrix of a known family
  bandsolve stability tridiagonal                    compare the accuracy with published results
  bandsolve bench tridiagonal --quick                compare the speed with LAPACK, OpenBLAS and MKL
  bandsolve --help                                   list all commands
";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn error_of_a_small_spline_is_below_the_theoretical_bound() {
        let points = Points::new(2002);
        let (a, rhs) = points.equations();
        let x = a.solve(&rhs).unwrap().values;
        let error = points.error_between(&x);
        let bound = 5.0 / 384.0 * STEP.1.powi(4);
        assert!(error > bound / 1000.0 && error <= bound, "{error:e} {bound:e}");
    }
}
