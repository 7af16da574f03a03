//! Sturm counts with twice the working precision, for shifts that are within rounding errors of an eigenvalue.

use bandsolve_kernel::exact::{exponent, lost, pow2};

/// An unevaluated sum of two numbers. The second is at most half a unit in the last place of the first.
type DoublePair = [f64; 2];

/// Count the eigenvalues λ ≤ σ of a symmetric tridiagonal matrix, with minors of approximately 106 bits.
///
/// The minors are pₖ₊₁ = (dₖ − σ)·pₖ − e²ₖ₋₁·pₖ₋₁. The count is exact if no minor needs more bits, as in small integer matrices.
///
/// A zero minor gets the opposite sign of the previous minor. If it is the last minor, σ is an eigenvalue, and the change of sign counts it.
/// Otherwise the next minor has the same sign as the zero, so the two minors together give one change of sign.
///
/// # Cost
/// Approximately 60 operations per row, each of which depends on the previous one.
pub fn count_at_most(diag: &[f64], off: &[f64], shift: f64) -> usize {
    let (mut last, mut now): (DoublePair, DoublePair) = ([0.0; 2], [1.0, 0.0]);
    let (mut negative, mut count) = (false, 0);
    for (k, d) in diag.iter().enumerate() {
        let coupling = if k > 0 { square(off[k - 1]) } else { [0.0; 2] };
        let product = times(coupling, last);
        let next = plus(times(two_sum(*d, -shift), now), [-product[0], -product[1]]);
        let side = if next[0] == 0.0 { !negative } else { next[0] < 0.0 };
        count += usize::from(side != negative);
        negative = side;
        // Scaling by a power of two has no rounding error.
        let by = pow2(-exponent(next[0].abs().max(now[0].abs())));
        (last, now) = (now.map(|p| p * by), next.map(|p| p * by));
    }
    count
}

/// Compute a + b exactly.
fn two_sum(a: f64, b: f64) -> DoublePair {
    let sum = a + b;
    let part = sum - a;
    [sum, (a - (sum - part)) + (b - part)]
}

/// Compute e² exactly.
fn square(e: f64) -> DoublePair {
    let product = e * e;
    [product, lost(e, e, product)]
}

fn times(a: DoublePair, b: DoublePair) -> DoublePair {
    let product = a[0] * b[0];
    two_sum(product, lost(a[0], b[0], product) + (a[0] * b[1] + a[1] * b[0]))
}

fn plus(a: DoublePair, b: DoublePair) -> DoublePair {
    let ([high, of_high], [low, of_low]) = (two_sum(a[0], b[0]), two_sum(a[1], b[1]));
    let [high, rest] = two_sum(high, of_high + low);
    two_sum(high, rest + of_low)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn eigenvalues_at_the_shift_count() {
        // The eigenvalues are 1 and 3, then 0 and ±√2.
        let counts = |diag: &[f64], off: &[f64], shifts: [f64; 3]| shifts.map(|shift| count_at_most(diag, off, shift));
        assert_eq!(counts(&[2.0; 2], &[-1.0; 1], [1.0, 3.0, 2.0]), [1, 2, 1]);
        assert_eq!(counts(&[2.0; 2], &[-1.0; 1], [1.0_f64.next_down(), 3.0_f64.next_down(), 3.5]), [0, 1, 2]);
        assert_eq!(counts(&[0.0; 3], &[1.0; 2], [0.0, -1.0, 1.0]), [2, 1, 2]);
        // The eigenvalues are 10⁹ ± 1. In working precision, the determinant at an eigenvalue consists of rounding errors.
        let off = [1.0];
        assert_eq!(counts(&[1e9; 2], &off, [1e9 - 1.0, 1e9 + 1.0, (1e9_f64 + 1.0).next_down()]), [1, 2, 1]);
    }
}
