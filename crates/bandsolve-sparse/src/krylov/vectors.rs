//! The vectors of a solve.

use bandsolve::Complex64;
use bandsolve::vectors::VectorId;

/// The residual of x; with the preconditioner on the left, M⁻¹ times this residual.
pub(super) const R: VectorId = VectorId::Work(0);
/// The best x so far.
pub(super) const BEST: VectorId = VectorId::Work(1);
/// Scratch for two vectors, and for a third one in rare steps.
pub(super) const SPARE: [VectorId; 2] = [VectorId::Work(2), VectorId::Work(3)];
pub(super) const SCRATCH: VectorId = VectorId::Work(4);
/// The right-hand side, if it is scaled.
pub(super) const SCALED: VectorId = VectorId::Work(5);
/// The first of the vectors that belong to a method.
pub(super) const FIRST: usize = 6;

/// Vector k of a method.
pub(super) const fn own(k: usize) -> VectorId {
    VectorId::Work(FIRST + k)
}

/// 1 as a coefficient.
pub(super) const ONE: Complex64 = Complex64::new(1.0, 0.0);
