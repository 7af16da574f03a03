//! Inverse iteration for one eigenvalue, by elimination of T − λI with exchanges of neighbouring rows.

use super::block::CoupledRows;
use crate::random::{STEP, uniform};
use bandsolve::Result;
use bandsolve::memory::reserved;

/// The factor that scales a vector before a solve. Pivots are at least ε² times the largest entry, so the solve does not overflow.
const SMALL: f64 = 1e-100;

/// The triangular factors of T − λI.
pub struct InverseIteration {
    /// For each row, the pivot and the two entries to the right.
    upper: Vec<[f64; 3]>,
    /// For each row, the multiplier and whether the row changed places with the next.
    lower: Vec<(f64, bool)>,
}

impl InverseIteration {
    pub fn new(block: &CoupledRows, shift: f64) -> Result<Self> {
        let (diag, off, n) = (&block.diag, &block.off, block.n());
        let least = f64::EPSILON * f64::EPSILON;
        let nonzero = |pivot: f64| if pivot.abs() < least { least } else { pivot };
        let at = |k: usize| off.get(k).copied().unwrap_or(0.0);
        let (mut upper, mut lower) = (reserved(n)?, reserved(n)?);
        let mut row = [diag[0] - shift, at(0)];
        for k in 0..n - 1 {
            let next = [off[k], diag[k + 1] - shift, at(k + 1)];
            let exchanged = next[0].abs() > row[0].abs();
            if exchanged {
                let by = row[0] / next[0];
                upper.push(next);
                row = [row[1] - by * next[1], -by * next[2]];
                lower.push((by, true));
            } else {
                let pivot = nonzero(row[0]);
                let by = next[0] / pivot;
                upper.push([pivot, row[1], 0.0]);
                row = [next[1] - by * row[1], next[2]];
                lower.push((by, false));
            }
        }
        upper.push([nonzero(row[0]), 0.0, 0.0]);
        Ok(Self { upper, lower })
    }

    /// Compute x ← (T − λI)⁻¹·x, scaled to norm 1.
    pub fn solve(&self, x: &mut [f64]) {
        x.iter_mut().for_each(|x| *x *= SMALL);
        for (k, (by, exchanged)) in self.lower.iter().enumerate() {
            if *exchanged {
                x.swap(k, k + 1);
            }
            x[k + 1] -= by * x[k];
        }
        let mut after = [0.0; 2];
        for (x, row) in x.iter_mut().zip(&self.upper).rev() {
            *x = (*x - row[1] * after[0] - row[2] * after[1]) / row[0];
            after = [*x, after[0]];
        }
        // Scale in two steps, because squares of small numbers can underflow.
        let largest = x.iter().fold(0.0, |largest: f64, x| largest.max(x.abs()));
        x.iter_mut().for_each(|x| *x /= largest);
        let norm = x.iter().map(|x| *x * *x).sum::<f64>().sqrt();
        x.iter_mut().for_each(|x| *x /= norm);
    }

    /// Fill x with random numbers in [−1, 1) that depend only on the index of the eigenvalue and the attempt.
    pub fn start(&self, (number, attempt): (usize, u64), x: &mut [f64]) {
        let mut state = (number as u64) << 8 | attempt;
        for x in x {
            *x = uniform(state);
            state = state.wrapping_add(STEP);
        }
    }
}
