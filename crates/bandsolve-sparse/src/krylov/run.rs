//! One system during an iteration: products, preconditioner, residuals with their rounding errors, and the vectors.

use super::method::{KrylovMethod, PreconditionerSide};
use super::monitor::Monitor;
use super::report::Ending;
use super::units::{self, Units};
use crate::random::mixed;
use bandsolve::dyn_stack::PodStack;
use bandsolve::vectors::{PIECE, Reducer};
use bandsolve::{Communicator, Complex64, LinearOperator, RealScalar, Result, Scalar, attention, interrupt};

/// The ending of a method that cannot go on, because these numbers are not finite, or because it cannot divide by them.
pub(super) fn broken(numbers: &[Complex64]) -> Ending {
    if numbers.iter().all(|number| number.is_finite()) { Ending::Breakdown } else { Ending::NotFinite }
}

/// The vectors of a solve. All have n elements if nothing else is said.
pub(super) struct KrylovVectors<'v, T> {
    pub x: &'v mut [T],
    /// The residual of x, with the preconditioner on the left M⁻¹ times this residual.
    pub r: &'v mut [T],
    /// The vectors of the method, one after the other. [`cut`] gives them names.
    pub workspace: &'v mut [T],
    /// Scratch for two vectors.
    pub spare: &'v mut [T],
}

impl<T> KrylovVectors<'_, T> {
    pub fn reborrow(&mut self) -> KrylovVectors<'_, T> {
        KrylovVectors { x: self.x, r: self.r, workspace: self.workspace, spare: self.spare }
    }
}

/// The first K vectors of n elements in a workspace, and the rest of it.
pub(super) fn cut<T, const K: usize>(mut workspace: &mut [T], n: usize) -> ([&mut [T]; K], &mut [T]) {
    let vectors =
        core::array::from_fn(|_| workspace.split_off_mut(..n).expect("`needs` counts all vectors of a method"));
    (vectors, workspace)
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
pub(super) struct KrylovRun<'a, T: Scalar> {
    /// The method, with spaces that are at most as large as the system.
    pub method: KrylovMethod,
    pub a: &'a dyn LinearOperator<T>,
    pub m: Option<&'a dyn LinearOperator<T>>,
    pub side: PreconditionerSide,
    pub rhs: &'a [T],
    pub rhs_norm: f64,
    pub tolerance: f64,
    pub n: usize,
    /// Number of rows on all processes.
    pub all: usize,
    pub communicator: &'a dyn Communicator,
    pub reducer: Reducer<'a>,
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

impl<T: Scalar> KrylovRun<'_, T> {
    /// Whether the results of the preconditioner must be kept, since it changes.
    pub fn is_flexible(&self) -> bool {
        self.m.is_some_and(|m| m.changes())
    }

    /// y = A·v. With the preconditioner on the left, y = M⁻¹·A·v.
    pub fn apply(&mut self, v: &[T], y: &mut [T], spare: &mut [T], stack: &mut PodStack) -> Result<()> {
        interrupt::check()?;
        match (self.side, self.m) {
            (PreconditionerSide::Left, Some(m)) => {
                let w = &mut spare[..self.n];
                self.a.apply(v, w, stack)?;
                self.measure(v, &spare[..self.n]);
                m.apply(&spare[..self.n], y, stack)?;
                units::multiply(y, self.left_scale);
            }
            _ => {
                self.a.apply(v, y, stack)?;
                self.measure(v, y);
            }
        }
        Ok(())
    }

    /// Measure the size of a few of the products.
    fn measure(&mut self, v: &[T], image: &[T]) {
        self.products += 1;
        if self.products.is_power_of_two() && self.products.ilog2().is_multiple_of(3) {
            self.size = (self.reducer.norm(image) / self.reducer.norm(v)).max(self.size);
        }
    }

    /// z = M⁻¹·v. Without a preconditioner, or with one on the left, z = v.
    pub fn precondition(&mut self, v: &[T], z: &mut [T], stack: &mut PodStack) -> Result<()> {
        match (self.side, self.m) {
            (PreconditionerSide::Right, Some(m)) => {
                self.steps += 1;
                m.apply_step(self.steps - 1, v, z, stack)
            }
            _ => {
                z.copy_from_slice(v);
                Ok(())
            }
        }
    }

    /// Compute r = rhs − A·x, or M⁻¹·(rhs − A·x) with the preconditioner on the left. Returns its norms. No product if x is known to be 0.
    pub fn start(
        &mut self,
        x: &[T],
        known: Known,
        r: &mut [T],
        spare: &mut [T],
        stack: &mut PodStack,
    ) -> Result<Start> {
        interrupt::check()?;
        let (first, second) = spare.split_at_mut(self.n);
        let Some(m) = self.m.filter(|_| self.side == PreconditionerSide::Left) else {
            let (norm, proved) = self.residual(x, known, r, [first, second], stack)?;
            return Ok(Start { residual: norm, norm, proved });
        };
        let (residual, proved) = self.residual(x, known, first, [r, second], stack)?;
        m.apply(first, r, stack)?;
        units::multiply(r, self.left_scale);
        let mut norm = self.reducer.norm(r);
        let by = units::towards_one::<T>(norm);
        // A step of Richardson's iteration must be M⁻¹·r, without a scale.
        if by != 1.0 && !matches!(self.method, KrylovMethod::Richardson { .. }) {
            units::multiply(r, by);
            self.left_scale *= by;
            norm *= by;
        }
        Ok(Start { residual, norm, proved })
    }

    /// Compute w = rhs − A·x. Returns its norm, and whether this norm plus a bound on its rounding error is at most the tolerance. `free` are scratch
    /// vectors.
    fn residual(
        &mut self,
        x: &[T],
        known: Known,
        w: &mut [T],
        free: [&mut [T]; 2],
        stack: &mut PodStack,
    ) -> Result<(f64, bool)> {
        if known == Known::Zero {
            w.copy_from_slice(self.rhs);
            return Ok((self.rhs_norm, self.rhs_norm <= self.tolerance));
        }
        if known == Known::Claimed
            && let Some(accurate) = self.accurate_residual(x, w, stack)?
        {
            return Ok(accurate);
        }
        self.a.residual(x, self.rhs, w, stack)?;
        let norm = self.reducer.norm(w);
        if !(norm <= self.tolerance) || known == Known::Step {
            return Ok((norm, false));
        }
        if known == Known::Nothing
            && let Some(accurate) = self.accurate_residual(x, w, stack)?
        {
            return Ok(accurate);
        }
        let rounding = self.estimated_rounding(x, free, stack)?;
        Ok((norm, norm + rounding <= self.tolerance))
    }

    /// Compute the residual in twice the working precision. `None` if the operator does not know its entries.
    fn accurate_residual(&mut self, x: &[T], w: &mut [T], stack: &mut PodStack) -> Result<Option<(f64, bool)>> {
        let Some(worst) = self.a.accurate_residual(x, self.rhs, w, stack)? else { return Ok(None) };
        // The sum over processes is an upper bound of the maximum.
        let mut worst = [worst];
        self.communicator.sum(&mut worst);
        let norm = self.reducer.norm(w);
        // Bound the rounding of the elements to T, and of the sums of squares here and in the tolerance, which add up sums of eight. The result is the
        // same on all processes.
        let sums = 2.0 * (PIECE / 8 + self.all.div_ceil(PIECE) + 16) as f64 * f64::EPSILON;
        let error = worst[0] * (self.all as f64).sqrt() + (T::Real::EPSILON.to_f64() + sums) * norm;
        Ok(Some((norm, norm + error <= self.tolerance)))
    }

    /// Estimate the rounding error of rhs − A·x for an operator that does not know its entries: a multiple of ‖A·p‖₂ with pⱼ = dⱼ·xⱼ and random dⱼ, whose
    /// sums do not cancel. The dⱼ have different moduli, so that this holds also in rows of two entries.
    fn estimated_rounding(&mut self, x: &[T], [p, image]: [&mut [T]; 2], stack: &mut PodStack) -> Result<f64> {
        let unit = ROUNDING * T::Real::EPSILON.to_f64();
        let seen = unit * (self.size * self.reducer.norm(x) + self.rhs_norm);
        if self.size > 0.0 && FAR_ABOVE * seen <= self.tolerance {
            return Ok(seen);
        }
        let before = self.reducer.rows_before();
        for (i, (p, x)) in p.iter_mut().zip(x).enumerate() {
            let bits = mixed((before + i) as u64);
            let size = 0.5 + f64::from((bits >> 32) as u32) / f64::from(u32::MAX);
            *p = x.scale(T::Real::from_f64(if bits & 1 == 0 { size } else { -size }));
        }
        self.a.apply(p, image, stack)?;
        Ok(unit * (self.reducer.norm(image) + self.rhs_norm))
    }

    /// The warning if the size of x shows that A is singular to working precision. Since ‖A‖₂ ≥ `size` and ‖A⁻¹‖₂ ≥ ‖x‖₂/‖A·x‖₂, the reciprocal condition
    /// number of A is at most (‖rhs‖₂ + ‖rhs − A·x‖₂)/(`size`·‖x‖₂).
    pub fn attention(&mut self, x: &[T], residual: f64) -> Option<String> {
        let rcond = (self.rhs_norm + residual) / (self.size * self.reducer.norm(x));
        // For rhs = 0, the bound gives no information.
        (self.rhs_norm > 0.0).then(|| attention(T::Real::EPSILON.to_f64(), Some(rcond), f64::NAN, None))?
    }

    /// Set x to the better of x and the best x that the monitor has kept. `norm` is the norm of the residual of x. Returns the ending and the norm for the better one: the kept x may
    /// reach the tolerance although the last x does not.
    pub fn finish(
        &mut self,
        monitor: &mut Monitor<'_, T>,
        (ending, norm): (Ending, f64),
        KrylovVectors { x, r, spare, .. }: KrylovVectors<'_, T>,
        stack: &mut PodStack,
    ) -> Result<(Ending, f64)> {
        let Some((best, best_norm)) = monitor.best() else { return Ok((ending, norm)) };
        if ending == Ending::Converged || norm <= best_norm {
            return Ok((ending, norm));
        }
        self.units.round(best);
        let (first, second) = spare.split_at_mut(self.n);
        let (best_norm, proved) = self.residual(best, Known::Claimed, r, [first, second], stack)?;
        if best_norm < norm || norm.is_nan() {
            x.copy_from_slice(best);
            return Ok((if proved { Ending::Converged } else { ending }, best_norm));
        }
        Ok((ending, norm))
    }
}
