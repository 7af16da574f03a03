//! Scaling by powers of two to numbers near 1, so that neither squares nor products leave the range.

use bandsolve::vectors::{VectorId, Vectors};
use bandsolve_kernel::exact::{exponent, pow2};

/// The scaling of a system: right-hand side and solution are multiplied by 2^shift.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Units {
    shift: i32,
}

/// The largest exponent of norms that are not scaled, and the largest exponent of a scaled x.
fn limits(epsilon: f64) -> [i32; 2] {
    if epsilon > f64::EPSILON { [32, 64] } else { [128, 900] }
}

/// The power of two that brings a norm near 1, or 1 if the norm is not far from 1. ε is that of the number type.
pub(super) fn towards_one(epsilon: f64, norm: f64) -> f64 {
    let size = exponent(norm);
    if norm == 0.0 || !norm.is_finite() || size.abs() <= limits(epsilon)[0] { 1.0 } else { pow2(-size) }
}

/// v ← by·v, where `by` is a power of two.
pub(super) fn multiply(vectors: &mut dyn Vectors, v: VectorId, by: f64) {
    if by != 1.0 {
        vectors.scale(v, v, by);
    }
}

impl Units {
    /// The scaling for a right-hand side and an initial x with these norms.
    pub fn of(epsilon: f64, rhs_norm: f64, x_norm: f64) -> Self {
        let [far, most] = limits(epsilon);
        let size = if rhs_norm > 0.0 { rhs_norm } else { x_norm };
        let shift = -exponent(size);
        if size == 0.0 || shift.abs() <= far {
            return Self { shift: 0 };
        }
        // A large initial x must stay in the range.
        let room = if x_norm > 0.0 { (most - exponent(x_norm)).max(0) } else { i32::MAX };
        Self { shift: shift.min(room) }
    }

    /// The factor that undoes the scaling.
    pub fn inverse(self) -> f64 {
        pow2(-self.shift)
    }

    /// Whether nothing is scaled.
    pub fn is_plain(self) -> bool {
        self.shift == 0
    }

    /// Scale a norm.
    pub fn scaled(self, norm: f64) -> f64 {
        norm * pow2(self.shift)
    }

    /// Scale a bound without increasing it: the result is 0 if it would be rounded.
    pub fn scaled_bound(self, bound: f64) -> f64 {
        let scaled = self.scaled(bound);
        if scaled < f64::MIN_POSITIVE && !self.is_plain() { 0.0 } else { scaled }
    }

    /// Undo the scaling of a norm. The result is infinite if it exceeds the range.
    pub fn unscaled(self, norm: f64) -> f64 {
        norm * self.inverse()
    }

    /// Scale v.
    pub fn scale(self, vectors: &mut dyn Vectors, v: VectorId) {
        multiply(vectors, v, pow2(self.shift));
    }

    /// Undo the scaling of v.
    pub fn unscale(self, vectors: &mut dyn Vectors, v: VectorId) {
        multiply(vectors, v, self.inverse());
    }

    /// Round v as unscaling will do later: elements near the ends of the range may lose digits.
    pub fn round(self, vectors: &mut dyn Vectors, v: VectorId) {
        self.unscale(vectors, v);
        self.scale(vectors, v);
    }
}
