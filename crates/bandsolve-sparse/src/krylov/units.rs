//! Scaling by powers of two to numbers near 1, so that neither squares nor products leave the range.

use bandsolve::Scalar;
use bandsolve::vectors::{PIECE, each_piece, narrow, widen};
use bandsolve_kernel::exact::{exponent, pow2};
use bandsolve_kernel::spread::RowsOf;

/// The scaling of a system: right-hand side and solution are multiplied by 2^shift.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Units {
    shift: i32,
}

/// The largest exponent of norms that are not scaled, and the largest exponent of a scaled x.
fn limits<T: Scalar>() -> [i32; 2] {
    if size_of::<T::Real>() == 4 { [32, 64] } else { [128, 900] }
}

/// The power of two that brings a norm near 1, or 1 if the norm is not far from 1.
pub(super) fn towards_one<T: Scalar>(norm: f64) -> f64 {
    let size = exponent(norm);
    if norm == 0.0 || !norm.is_finite() || size.abs() <= limits::<T>()[0] { 1.0 } else { pow2(-size) }
}

/// v ← by·v, where `by` is a power of two.
pub(super) fn multiply<T: Scalar>(v: &mut [T], by: f64) {
    if by == 1.0 {
        return;
    }
    each_piece(v.len(), RowsOf(v, PIECE), &|_, v| v.0.iter_mut().for_each(|v| *v = times(*v, by)));
}

/// The product in double precision, rounded once.
fn times<T: Scalar>(v: T, by: f64) -> T {
    narrow(widen(v) * by)
}

impl Units {
    /// The scaling for a right-hand side and an initial x with these norms.
    pub fn of<T: Scalar>(rhs_norm: f64, x_norm: f64) -> Self {
        let [far, most] = limits::<T>();
        let size = if rhs_norm > 0.0 { rhs_norm } else { x_norm };
        let shift = -exponent(size);
        if size == 0.0 || shift.abs() <= far {
            return Self { shift: 0 };
        }
        // A large initial x must stay in the range.
        let room = if x_norm > 0.0 { (most - exponent(x_norm)).max(0) } else { i32::MAX };
        Self { shift: shift.min(room) }
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
        norm * pow2(-self.shift)
    }

    /// Scale v.
    pub fn scale<T: Scalar>(self, v: &mut [T]) {
        multiply(v, pow2(self.shift));
    }

    /// Scale a copy of v.
    pub fn scale_to<'a, T: Scalar>(self, v: &[T], out: &'a mut [T]) -> &'a [T] {
        convert(v, out, pow2(self.shift));
        out
    }

    /// Undo the scaling of v.
    pub fn unscale<T: Scalar>(self, v: &mut [T]) {
        multiply(v, pow2(-self.shift));
    }

    /// Undo the scaling of a copy of v.
    pub fn unscale_to<'a, T: Scalar>(self, v: &[T], out: &'a mut [T]) -> &'a [T] {
        convert(v, out, pow2(-self.shift));
        out
    }

    /// Round v as unscaling will do later: elements near the ends of the range may lose digits.
    pub fn round<T: Scalar>(self, v: &mut [T]) {
        if self.is_plain() {
            return;
        }
        self.unscale(v);
        self.scale(v);
    }
}

fn convert<T: Scalar>(v: &[T], out: &mut [T], by: f64) {
    each_piece(v.len(), RowsOf(out, PIECE), &|rows, out| {
        out.0.iter_mut().zip(&v[rows]).for_each(|(out, v)| *out = times(*v, by));
    });
}
