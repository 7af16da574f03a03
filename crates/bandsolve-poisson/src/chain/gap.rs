//! By how much pivots exceed their couplings.

use bandsolve_kernel::exact::lost;

/// Eigenvalues, in parts of the coupling, from which on few rows before count, so that roundings do not add up.
const LARGE: f64 = 1e-3;
/// Couplings whose products leave no range.
const USUAL: core::ops::Range<f64> = 1e-100..1e100;

/// Q of one system, from row to row.
pub(super) struct PivotGap {
    lambda: f64,
    /// Of a small eigenvalue the sum of two numbers.
    value: [f64; 2],
}

impl PivotGap {
    pub fn new(lambda: f64) -> Self {
        Self { lambda, value: [0.0; 2] }
    }

    pub fn value(&self) -> f64 {
        self.value[0]
    }

    /// Q = gap + λ + b·Q/(Q + a) with the coupling b of the row to the one before, and the coupling a of that to the row; nothing is before if b is
    /// zero. Whether it changed.
    pub fn advance(&mut self, gap: f64, [b, a]: [f64; 2]) -> bool {
        let [high, low] = self.value;
        if b == 0.0 {
            self.value = two_sum(gap, self.lambda);
            return true;
        }
        if self.lambda >= LARGE * b || !USUAL.contains(&b) {
            // As 1/(1 + a/Q) it rises with Q also where it is rounded: so Q settles.
            let next = gap + self.lambda + b / (1.0 + a / high);
            self.value = [next, 0.0];
            return next != high;
        }
        let [pivot, rest] = two_sum(high, a);
        let rest = rest + low;
        let product = b * high;
        let below = lost(b, high, product) + b * low;
        let kept = product / pivot;
        let back = kept * pivot;
        let correction = ((product - back) - lost(kept, pivot, back) + below - kept * rest) / pivot;
        let [own, of_own] = two_sum(gap, self.lambda);
        let [sum, of_sum] = two_sum(own, kept);
        self.value = two_sum(sum, of_sum + of_own + correction);
        // Far less than a digit in all rows to come.
        const SETTLED: f64 = f64::EPSILON * 1e-6;
        ((self.value[0] - high) + (self.value[1] - low)).abs() > SETTLED * high
    }
}

/// The sum and what is lost of it.
pub(crate) fn two_sum(a: f64, b: f64) -> [f64; 2] {
    let sum = a + b;
    let part = sum - a;
    [sum, (a - (sum - part)) + (b - part)]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With couplings of 1 and u = 0 before the first row: Q + 1 = sinh((i + 1)θ)/sinh(iθ), 2 sinh(θ/2) = √λ.
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
