//! The last equation and the last unknown of a periodic system, which border an open system.
//!
//! The corner entries couple row 0 to the last unknown, and the last row to x₀. The elimination of the open rows carries
//! the coefficient of the last unknown as the spike of the chain. It also carries one more equation, which begins as
//! x₀. Its last form, multiplied by the corner entry of the last row, is added to that row.
//!
//! The open rows are eliminated with row exchanges. Their residuals are therefore small for any value of the last
//! unknown. The last row is a candidate for the pivot of the unknown before the last, and of no other. Its residual is
//! small unless the coefficients of the carried equation grow.

use super::sweep::{Chain, Row, each};
use crate::number::{Element, Lanes, Machine, Scalar};

/// The equation that begins as x₀, without the unknowns that are eliminated.
#[derive(Clone, Copy)]
pub(super) struct CarriedEquation<E, const R: usize> {
    /// The coefficients of the unknown that is eliminated next, and of the unknown after it.
    near: E,
    next: E,
    /// The coefficient of the last unknown.
    last: E,
    rhs: [E; R],
}

/// A pivot row: the reciprocal of its pivot, and the coefficients of the next two unknowns and of the last one.
pub(super) type BorderedPivotRow<E, const R: usize> = ([E; 4], [E; R]);

impl<E: Copy, const R: usize> CarriedEquation<E, R> {
    /// x₀ = 0, which the row of the corner entry receives.
    #[inline(always)]
    pub(super) fn new<V: Lanes>() -> Self
    where
        E: Element<V>,
    {
        let zero = E::splat(V::Real::ZERO);
        Self { near: E::splat(V::Real::ONE), next: zero, last: zero, rhs: [zero; R] }
    }

    /// Eliminate an unknown with its pivot row.
    ///
    /// A number far below rounding is added to the next coefficient, which therefore never becomes subnormal.
    #[inline(always)]
    pub(super) fn eliminate<V: Lanes>(self, ([recip, next, far, last], rhs): BorderedPivotRow<E, R>) -> Self
    where
        E: Element<V>,
    {
        let factor = self.near * recip;
        let guard = V::splat(V::Real::GUARD);
        Self {
            near: factor.neg_mul_add(next, self.next + E::from_columns(&[guard, guard])),
            next: -(factor * far),
            last: factor.neg_mul_add(last, self.last),
            rhs: each!(r < R, factor, factor.neg_mul_add(rhs[r], self.rhs[r])),
        }
    }

    /// The chain and the last row before the elimination of the unknown before the last. For both, the last unknown is
    /// now the next one.
    #[inline(always)]
    pub(super) fn join<V: Lanes>(self, chain: Chain<E, R>, row: Row<E, R>) -> (Chain<E, R>, Row<E, R>)
    where
        E: Element<V>,
    {
        let zero = E::splat(V::Real::ZERO);
        let corner = row.sup;
        let joined = Row {
            sub: corner.mul_add(self.near, row.sub),
            diag: corner.mul_add(self.next + self.last, row.diag),
            sup: zero,
            rhs: each!(r < R, zero, corner.mul_add(self.rhs[r], row.rhs[r])),
        };
        (Chain { spike: zero, next: chain.next + chain.spike, ..chain }, joined)
    }
}
