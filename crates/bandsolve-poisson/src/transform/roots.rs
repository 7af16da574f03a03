//! Sines, cosines and roots of unity, accurate to approximately one ulp.

use crate::scalar::{PoissonScalar, real};
use std::f64::consts::PI;

/// Sine and cosine of π·part/of, computed from an angle of at most π/4.
pub fn half_turns(part: usize, of: usize) -> (f64, f64) {
    let part = part % (2 * of);
    if part > of {
        let (sin, cos) = half_turns(2 * of - part, of);
        return (-sin, cos);
    }
    if 2 * part > of {
        let (sin, cos) = half_turns(of - part, of);
        return (sin, -cos);
    }
    if 4 * part > of {
        // sin x = cos(π/2 − x), π/2 − x = π (of − 2·part)/(2·of)
        let (sin, cos) = (PI * (of - 2 * part) as f64 / (2 * of) as f64).sin_cos();
        return (cos, sin);
    }
    (PI * part as f64 / of as f64).sin_cos()
}

/// exp(iπ·part/of)
pub(super) fn root<T: PoissonScalar>(part: usize, of: usize) -> [T; 2] {
    let (sin, cos) = half_turns(part, of);
    [real(cos), real(sin)]
}
