//! The vectors of a search, and products with its operators.

use super::scaling::ProblemScaling;
use crate::problem::{SearchOperator, SpectralTransform};
use bandsolve::vectors::{LinearCombination, Operator, VectorId, Vectors};
use bandsolve::{Complex64, Result};
use bandsolve_kernel::exact::ldexp;

/// The start vector.
pub(super) const START: VectorId = VectorId::Rhs;
/// Scratch for one vector.
pub(super) const SPARE: VectorId = VectorId::Solution;
/// A vector times a power of two.
const SCALED: VectorId = VectorId::Work(0);
/// A product that is not a vector of the basis.
pub(super) const IMAGE: VectorId = VectorId::Work(1);
/// The number of the first vector of the basis.
pub(super) const FIRST: usize = 2;

/// The vectors of a search, which may be anywhere, and the problem.
pub(super) struct SearchVectors<'v> {
    pub of: &'v mut dyn Vectors,
    /// The number of rows on this process.
    pub rows: usize,
    /// The number of rows on all processes, which is the largest number of independent vectors.
    pub total: usize,
    pub operator: SearchOperator,
    pub scaling: ProblemScaling,
}

impl SearchVectors<'_> {
    /// Compute y = A·x for one of the operators of the scaled problem.
    ///
    /// Scales x by half of the power of two and y by the other half, so that A·x neither overflows nor underflows.
    pub fn apply(&mut self, operator: Operator, x: VectorId, y: VectorId) -> Result<()> {
        let power = self.scaling.power(operator, self.operator.transform);
        if power == 0 {
            return self.of.apply(operator, x, y);
        }
        let half = power / 2;
        self.of.scale(x, SCALED, ldexp(1.0, half));
        self.of.apply(operator, SCALED, y)?;
        self.of.scale(y, y, ldexp(1.0, power - half));
        Ok(())
    }

    /// Compute w = OP·v for the operator OP of the search. `bv` is B·v if known.
    pub fn transform(&mut self, v: VectorId, bv: Option<VectorId>, w: VectorId) -> Result<()> {
        match self.operator.transform {
            SpectralTransform::Plain => self.apply(Operator::Matrix, v, w),
            SpectralTransform::Shifted(_) => self.solve(v, bv, w),
            SpectralTransform::Cayley(sigma) => {
                self.solve(v, bv, w)?;
                // w ← v + 2σ·w
                let term = [(sigma + sigma, w)];
                let sum = LinearCombination { plus: Some(v), ..LinearCombination::of(w, &term) };
                self.of.combine(&[sum], &[], &mut []);
                Ok(())
            }
            SpectralTransform::Mass => {
                self.apply(Operator::Matrix, v, SPARE)?;
                self.apply(Operator::Preconditioner, SPARE, w)
            }
        }
    }

    /// Compute w = (A − σB)⁻¹·B·v.
    fn solve(&mut self, v: VectorId, bv: Option<VectorId>, w: VectorId) -> Result<()> {
        let rhs = match bv {
            _ if !self.operator.mass => v,
            Some(bv) => bv,
            None => {
                self.apply(Operator::Mass, v, SPARE)?;
                SPARE
            }
        };
        self.apply(Operator::Preconditioner, rhs, w)
    }

    /// Compute one linear combination.
    pub fn compute(&mut self, out: VectorId, terms: &[(Complex64, VectorId)]) {
        self.of.combine(&[LinearCombination::of(out, terms)], &[], &mut []);
    }
}
