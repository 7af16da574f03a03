//! The coefficient of the constant of a singular problem.

use super::TransformSolver;
use crate::axis::AxisOperator;
use crate::scalar::{PoissonScalar, real};
use bandsolve::Result;
use bandsolve::memory::collected;

/// The coefficient of the constant.
#[derive(Clone)]
pub(super) struct Constant {
    /// Index of the coefficient.
    pub mode: usize,
    /// Value of the coefficient for a vector of ones.
    pub of_ones: f64,
    /// Weights of the rows. Their sum is 1.
    pub weights: Vec<f64>,
}

impl<T: PoissonScalar> TransformSolver<T> {
    /// The mean of the unknowns with the coefficients x: Σ_i w_i c_i / `of_ones`, where c_i is the coefficient of the constant in row i.
    pub(super) fn level(&self, constant: &Constant, x: &[T]) -> f64 {
        let modes = self.shape[1] * self.shape[2];
        let column = x[constant.mode..].iter().step_by(modes);
        column.zip(&constant.weights).map(|(x, w)| x.to_f64() * w).sum::<f64>() / constant.of_ones
    }

    /// Add `level` to all unknowns: add `level`·`of_ones` to the coefficients of the constant.
    pub(super) fn shift_level(&self, constant: &Constant, x: &mut [T], level: f64) {
        let (modes, rows) = (self.shape[1] * self.shape[2], self.shape[0]);
        let add = real::<T>(level * constant.of_ones);
        // The constant has no odd part on a folded axis.
        let even = if self.folded { rows / 2 + 1 } else { rows };
        x[constant.mode..].iter_mut().step_by(modes).take(even).for_each(|x| *x += add);
    }
}

/// Volumes of the rows, divided by their sum. On a folded axis, only the even rows have weights.
pub(super) fn weights(axis: &AxisOperator) -> Result<Vec<f64>> {
    let n = axis.len();
    let total: f64 = axis.volume.iter().sum();
    let weight = |i: usize| match i {
        _ if !axis.is_folded() => axis.volume[i] / total,
        _ if i > n / 2 => 0.0,
        _ if i == 0 || 2 * i == n => 1.0 / n as f64,
        _ => 2.0 / n as f64,
    };
    collected((0..n).map(weight))
}
