//! The coefficient of the constant of a singular problem.

use crate::axis::AxisOperator;
use crate::scalar::{PoissonScalar, real};
use bandsolve::Result;
use bandsolve::memory::collected;

/// The coefficient of the constant.
#[derive(Clone)]
pub(super) struct Constant {
    /// Index of the coefficient.
    mode: usize,
    /// Number of coefficients of a row.
    modes: usize,
    /// Number of rows in which the coefficient belongs to the constant. On a folded axis, these are the even rows.
    rows: usize,
    /// Value of the coefficient for a vector of ones.
    of_ones: f64,
    /// Weights of the rows. Their sum is 1.
    weights: Vec<f64>,
}

impl Constant {
    /// The coefficient `mode` of the rows of `axis`, which have `modes` coefficients.
    pub fn new(axis: &AxisOperator, (mode, modes): (usize, usize), of_ones: f64) -> Result<Self> {
        let rows = if axis.is_folded() { axis.len() / 2 + 1 } else { axis.len() };
        Ok(Self { mode, modes, rows, of_ones, weights: weights(axis)? })
    }

    /// The mean of the unknowns with the coefficients x: Σᵢ wᵢ cᵢ / `of_ones`, where cᵢ is the coefficient of the constant in row i.
    pub fn level<T: PoissonScalar>(&self, x: &[T]) -> f64 {
        let column = x[self.mode..].iter().step_by(self.modes);
        column.zip(&self.weights).map(|(x, w)| x.to_f64() * w).sum::<f64>() / self.of_ones
    }

    /// Add `level` to all unknowns: add `level`·`of_ones` to the coefficients of the constant.
    pub fn shift_level<T: PoissonScalar>(&self, x: &mut [T], level: f64) {
        let add = real::<T>(level * self.of_ones);
        x[self.mode..].iter_mut().step_by(self.modes).take(self.rows).for_each(|x| *x += add);
    }
}

/// Volumes of the rows, divided by their sum. On a folded axis, only the even rows have weights.
fn weights(axis: &AxisOperator) -> Result<Vec<f64>> {
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
