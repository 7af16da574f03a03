//! The difference Q between a pivot and its coupling, computed row by row.

use bandsolve_kernel::exact::lost;

/// Minimum λ/b for double precision. For larger λ/b, Q depends on few earlier rows, and their rounding errors do not accumulate.
const LARGE: f64 = 1e-3;
/// Couplings whose products neither overflow nor underflow.
const USUAL: core::ops::Range<f64> = 1e-100..1e100;

/// Q of the current row of one system.
pub(super) struct PivotGap {
    lambda: f64,
    /// Q = `value[0] + value[1]`. The second part is 0 if λ is not small.
    value: [f64; 2],
}

impl PivotGap {
    /// The state before the first row.
    pub fn new(lambda: f64) -> Self {
        Self { lambda, value: [0.0; 2] }
    }

    /// Q of the current row, in double precision.
    pub fn value(&self) -> f64 {
        self.value[0]
    }

    /// Go to the next row, and return whether Q changed: Q ← gap + λ + b·Q/(Q + a).
    ///
    /// b is the coupling of the new row to the row before, and a is the coupling of the row before to the new row. b = 0 starts a system.
    pub fn advance(&mut self, gap: f64, [b, a]: [f64; 2]) -> bool {
        let [high, low] = self.value;
        if b == 0.0 {
            self.value = two_sum(gap, self.lambda);
            return true;
        }
        if self.lambda >= LARGE * b || !USUAL.contains(&b) {
            // This form is monotonic in Q even after rounding, so that Q becomes constant after some rows.
            let next = gap + self.lambda + b / (1.0 + a / high);
            self.value = [next, 0.0];
            return next != high;
        }
        // quotient + correction = b·Q/(Q + a) in twice the precision
        let [pivot, rest] = two_sum(high, a);
        let rest = rest + low;
        let product = b * high;
        let below = lost(b, high, product) + b * low;
        let quotient = product / pivot;
        let back = quotient * pivot;
        let correction = ((product - back) - lost(quotient, pivot, back) + below - quotient * rest) / pivot;
        let [shifted, of_shifted] = two_sum(gap, self.lambda);
        let [sum, of_sum] = two_sum(shifted, quotient);
        self.value = two_sum(sum, of_sum + of_shifted + correction);
        // So small a change affects no digit of a later row.
        const SETTLED: f64 = f64::EPSILON * 1e-6;
        ((self.value[0] - high) + (self.value[1] - low)).abs() > SETTLED * high
    }
}

/// The rounded sum of a and b, and its rounding error.
pub(crate) fn two_sum(a: f64, b: f64) -> [f64; 2] {
    let sum = a + b;
    let part = sum - a;
    [sum, (a - (sum - part)) + (b - part)]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// If all couplings are 1 and u = 0 before the first row: Qᵢ + 1 = sinh((i + 1)θ)/sinh(iθ) with 2 sinh(θ/2) = √λ.
    #[test]
    fn gaps_are_correct_after_thousands_of_rows() {
        for lambda in [1e-300, 1e-12, 1e-7, 6e-7, 1e-5, 9e-4] {
            let mut gap = PivotGap::new(lambda);
            let theta = 2.0 * (f64::sqrt(lambda) / 2.0).asinh();
            for i in 1..=5000 {
                gap.advance(if i == 1 { 1.0 } else { 0.0 }, if i == 1 { [0.0; 2] } else { [1.0; 2] });
                let x = f64::from(i) * theta;
                // Q = cosh θ − 1 + sinh θ / tanh(iθ)
                let expected = lambda / 2.0 + if x < 1e-8 { 1.0 / f64::from(i) } else { theta.sinh() / x.tanh() };
                let error = (gap.value() / expected - 1.0).abs();
                assert!(error <= 1e-15, "{lambda} {i}: {error:e}");
            }
        }
    }
}
