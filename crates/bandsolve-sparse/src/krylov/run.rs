//! One system during an iteration: products, preconditioner, residuals with their rounding errors, and the vectors.

use super::method::{KrylovMethod, PreconditionerSide};
use super::monitor::Monitor;
use super::report::Ending;
use super::units::{self, Units};
use super::vectors::{BEST, R, SPARE};
use crate::random::mixed;
use bandsolve::vectors::{LinearCombination, Operator, PIECE, VectorId, Vectors};
use bandsolve::{Complex64, Result, attention, interrupt};

/// The ending of a method that cannot go on, because these numbers are not finite, or because it cannot divide by them.
pub(super) fn broken(numbers: &[Complex64]) -> Ending {
    if numbers.iter().all(|number| number.is_finite()) { Ending::Breakdown } else { Ending::NotFinite }
}

/// The information about an x before its residual is computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Known {
    /// x is 0.
    Zero,
    /// No information.
    Nothing,
    /// The residual is small enough according to the method.
    Claimed,
    /// x belongs to a step after which the method goes on. No proof is needed.
    Step,
}

/// The start of a cycle.
#[derive(Debug, Clone, Copy)]
pub(super) struct Start {
    /// ‖rhs − A·x‖₂.
    pub residual: f64,
    /// The norm of the residual for the method. With the preconditioner on the left, the norm of M⁻¹·(rhs − A·x).
    pub norm: f64,
    /// Whether ‖rhs − A·x‖₂ plus a bound on its rounding error is at most the tolerance.
    pub proved: bool,
}

/// One system, as the methods use it.
pub(super) struct KrylovRun<'a> {
    pub vectors: &'a mut dyn Vectors,
    /// The method, with spaces that are at most as large as the system.
    pub method: KrylovMethod,
    /// The side of the preconditioner, `None` without one.
    pub side: Option<PreconditionerSide>,
    /// Whether the results of the preconditioner must be kept, since it changes.
    pub flexible: bool,
    pub rhs: VectorId,
    pub rhs_norm: f64,
    pub tolerance: f64,
    /// Number of rows on all processes.
    pub all: usize,
    /// The scaling of rhs and x.
    pub units: Units,
    /// The power of two that multiplies a preconditioner on the left, so that the first residual is near 1.
    pub left_scale: f64,
    /// Number of products with A in cycles.
    pub products: usize,
    /// The largest ‖A·v‖₂/‖v‖₂ of products 1, 8, 64, …
    pub size: f64,
    /// Number of applications of the preconditioner.
    pub steps: usize,
}

/// The estimated rounding error of a product, in ε times the sum of moduli, for operators that do not know their entries.
const ROUNDING: f64 = 8.0;
/// The minimum ratio of the tolerance to the estimated rounding error for which no further product is spent on a better estimate.
const FAR_ABOVE: f64 = 1e4;

impl KrylovRun<'_> {
    /// y = A·v. With the preconditioner on the left, y = M⁻¹·A·v.
    pub fn apply(&mut self, v: VectorId, y: VectorId) -> Result<()> {
        interrupt::check()?;
        if self.side != Some(PreconditionerSide::Left) {
            self.vectors.apply(Operator::Matrix, v, y)?;
            self.measure(v, y);
            return Ok(());
        }
        let w = SPARE[0];
        self.vectors.apply(Operator::Matrix, v, w)?;
        self.measure(v, w);
        self.vectors.apply(Operator::Preconditioner, w, y)?;
        units::multiply(self.vectors, y, self.left_scale);
        Ok(())
    }

    /// Measure the size of a few of the products.
    fn measure(&mut self, v: VectorId, image: VectorId) {
        self.products += 1;
        if self.products.is_power_of_two() && self.products.ilog2().is_multiple_of(3) {
            self.size = (self.vectors.norm(image) / self.vectors.norm(v)).max(self.size);
        }
    }

    /// z = M⁻¹·v. Without a preconditioner, or with one on the left, z = v.
    pub fn precondition(&mut self, v: VectorId, z: VectorId) -> Result<()> {
        if self.side != Some(PreconditionerSide::Right) {
            self.vectors.copy(v, z);
            return Ok(());
        }
        self.steps += 1;
        self.vectors.apply(Operator::Step(self.steps - 1), v, z)
    }

    /// Compute one linear combination.
    pub fn compute(&mut self, combination: LinearCombination<'_>) {
        self.vectors.combine(&[combination], &[], &mut []);
    }

    /// Compute r = rhs − A·x, or M⁻¹·(rhs − A·x) with the preconditioner on the left. Returns its norms. No product if x is known to be 0.
    pub fn start(&mut self, known: Known) -> Result<Start> {
        interrupt::check()?;
        if self.side != Some(PreconditionerSide::Left) {
            let (norm, proved) = self.residual(VectorId::Solution, known, R, SPARE)?;
            return Ok(Start { residual: norm, norm, proved });
        }
        let [first, second] = SPARE;
        let (residual, proved) = self.residual(VectorId::Solution, known, first, [R, second])?;
        self.vectors.apply(Operator::Preconditioner, first, R)?;
        units::multiply(self.vectors, R, self.left_scale);
        let mut norm = self.vectors.norm(R);
        let by = units::towards_one(self.vectors.epsilon(), norm);
        // A step of Richardson's iteration must be M⁻¹·r, without a scale.
        if by != 1.0 && !matches!(self.method, KrylovMethod::Richardson { .. }) {
            units::multiply(self.vectors, R, by);
            self.left_scale *= by;
            norm *= by;
        }
        Ok(Start { residual, norm, proved })
    }

    /// Compute w = rhs − A·x. Returns its norm, and whether this norm plus a bound on its rounding error is at most the tolerance. `free` are scratch
    /// vectors.
    fn residual(&mut self, x: VectorId, known: Known, w: VectorId, free: [VectorId; 2]) -> Result<(f64, bool)> {
        if known == Known::Zero {
            self.vectors.copy(self.rhs, w);
            return Ok((self.rhs_norm, self.rhs_norm <= self.tolerance));
        }
        if known == Known::Claimed
            && let Some(accurate) = self.accurate_residual(x, w)?
        {
            return Ok(accurate);
        }
        self.vectors.residual(x, self.rhs, w)?;
        let norm = self.vectors.norm(w);
        if !(norm <= self.tolerance) || known == Known::Step {
            return Ok((norm, false));
        }
        if known == Known::Nothing
            && let Some(accurate) = self.accurate_residual(x, w)?
        {
            return Ok(accurate);
        }
        let rounding = self.estimated_rounding(x, free)?;
        Ok((norm, norm + rounding <= self.tolerance))
    }

    /// Compute the residual in twice the working precision. `None` if the operator does not know its entries.
    fn accurate_residual(&mut self, x: VectorId, w: VectorId) -> Result<Option<(f64, bool)>> {
        let Some(worst) = self.vectors.accurate_residual(x, self.rhs, w)? else { return Ok(None) };
        // The sum over processes is an upper bound of the maximum.
        let mut worst = [worst];
        self.vectors.sum(&mut worst);
        let norm = self.vectors.norm(w);
        // Bound the rounding of the elements to T, and of the sums of squares here and in the tolerance, which add up sums of eight. The result is the
        // same on all processes.
        let sums = 2.0 * (PIECE / 8 + self.all.div_ceil(PIECE) + 16) as f64 * f64::EPSILON;
        let error = worst[0] * (self.all as f64).sqrt() + (self.vectors.epsilon() + sums) * norm;
        Ok(Some((norm, norm + error <= self.tolerance)))
    }

    /// Estimate the rounding error of rhs − A·x for an operator that does not know its entries: a multiple of ‖A·p‖₂ with pⱼ = dⱼ·xⱼ and random dⱼ, whose
    /// sums do not cancel. The dⱼ have different moduli, so that this holds also in rows of two entries.
    fn estimated_rounding(&mut self, x: VectorId, [p, image]: [VectorId; 2]) -> Result<f64> {
        let unit = ROUNDING * self.vectors.epsilon();
        let seen = unit * (self.size * self.vectors.norm(x) + self.rhs_norm);
        if self.size > 0.0 && FAR_ABOVE * seen <= self.tolerance {
            return Ok(seen);
        }
        let before = self.vectors.rows_before();
        self.vectors.set(p, Some(x), &|i| {
            let bits = mixed((before + i) as u64);
            let size = 0.5 + f64::from((bits >> 32) as u32) / f64::from(u32::MAX);
            Complex64::from(if bits & 1 == 0 { size } else { -size })
        });
        self.vectors.apply(Operator::Matrix, p, image)?;
        Ok(unit * (self.vectors.norm(image) + self.rhs_norm))
    }

    /// The warning if the size of x shows that A is singular to working precision. Since ‖A‖₂ ≥ `size` and ‖A⁻¹‖₂ ≥ ‖x‖₂/‖A·x‖₂, the reciprocal condition
    /// number of A is at most (‖rhs‖₂ + ‖rhs − A·x‖₂)/(`size`·‖x‖₂).
    pub fn attention(&mut self, residual: f64) -> Option<String> {
        let rcond = (self.rhs_norm + residual) / (self.size * self.vectors.norm(VectorId::Solution));
        // For rhs = 0, the bound gives no information.
        (self.rhs_norm > 0.0).then(|| attention(self.vectors.epsilon(), Some(rcond), f64::NAN, None))?
    }

    /// Set x to the better of x and the best x that the monitor has kept. `norm` is the norm of the residual of x. Returns the ending and the norm for
    /// the better one: the kept x may reach the tolerance although the last x does not.
    pub fn finish(&mut self, monitor: &Monitor<'_>, (ending, norm): (Ending, f64)) -> Result<(Ending, f64)> {
        let Some(best_norm) = monitor.best() else { return Ok((ending, norm)) };
        if ending == Ending::Converged || norm <= best_norm {
            return Ok((ending, norm));
        }
        self.units.round(self.vectors, BEST);
        let (best_norm, proved) = self.residual(BEST, Known::Claimed, R, SPARE)?;
        if best_norm < norm || norm.is_nan() {
            self.vectors.copy(BEST, VectorId::Solution);
            return Ok((if proved { Ending::Converged } else { ending }, best_norm));
        }
        Ok((ending, norm))
    }
}
