//! How an iteration goes: its history, its best x, and when it ends.

use super::units::Units;
use super::{Ending, IterationProgress};
use bandsolve::Scalar;
use bandsolve::vectors::{PIECE, each_piece};
use bandsolve_kernel::spread::RowsOf;
use core::ops::ControlFlow;

/// Watches an iteration.
pub(super) struct Monitor<'a, T: Scalar> {
    pub history: Vec<f64>,
    pub iterations: usize,
    /// Times that the method began.
    pub cycles: usize,
    pub limit: usize,
    tolerance: f64,
    /// Those of all norms here but `history`, which has the caller's.
    units: Units,
    /// What multiplies a preconditioner on the left.
    left_scale: f64,
    /// ‖rhs − A·x‖ beside the norm that the method knows, at the last restart.
    scale: f64,
    /// What the method knew after the last iteration.
    preconditioned_norm: f64,
    kept: &'a mut [T],
    kept_norm: f64,
    /// The same at the last look of [`has_halved`](Self::has_halved).
    looked_norm: f64,
    /// Room for x in the caller's units, where these are others.
    view: &'a mut [T],
    watch: &'a mut dyn FnMut(IterationProgress<'_, T>) -> ControlFlow<()>,
}

impl<'a, T: Scalar> Monitor<'a, T> {
    pub fn new(
        (limit, tolerance): (usize, f64),
        units: Units,
        (kept, view): (&'a mut [T], &'a mut [T]),
        watch: &'a mut dyn FnMut(IterationProgress<'_, T>) -> ControlFlow<()>,
    ) -> Self {
        let mut history = Vec::new();
        // Room for what is usual, at least; a longer one grows, at less and less iterations.
        _ = history.try_reserve(limit.saturating_add(1).min(1 << 20));
        let kept_norm = f64::INFINITY;
        Self {
            history,
            iterations: 0,
            cycles: 0,
            limit,
            tolerance,
            units,
            left_scale: 1.0,
            scale: 1.0,
            preconditioned_norm: f64::INFINITY,
            kept,
            kept_norm,
            looked_norm: f64::INFINITY,
            view,
            watch,
        }
    }

    /// The method begins again from an x with this residual, whose norm it sees as `norm`.
    pub fn restart(&mut self, (residual, norm): (f64, f64), left_scale: f64, x: &[T]) {
        if self.history.is_empty() {
            self.history.push(self.units.unscaled(residual));
        }
        self.left_scale = left_scale;
        self.scale = if norm > 0.0 { residual / norm } else { 1.0 };
        if residual < self.kept_norm {
            self.kept_norm = residual;
            self.kept.copy_from_slice(x);
        }
    }

    /// Takes note of an iteration, after which the residual has this norm for the method. Says whether the method has to stop:
    /// `Converged` is only that x is worth looking at.
    pub fn step(&mut self, norm: f64) -> Option<Ending> {
        self.advance(norm, None)
    }

    /// The same of a method that has x after each iteration, and keeps x if the method goes on.
    pub fn step_to(&mut self, norm: f64, x: &[T]) -> Option<Ending> {
        let ending = self.advance(norm, Some(x));
        if ending.is_none() {
            self.keep(norm, x);
        }
        ending
    }

    /// Tells of x, which a method has at the end of its cycle only; `Cancelled` if that is to be all.
    pub fn cycle(&mut self, x: &[T]) -> Option<Ending> {
        self.tell(self.preconditioned_norm, Some(x))
    }

    /// Whether the method takes the residual of the last iteration for small enough.
    pub fn is_small(&self) -> bool {
        self.preconditioned_norm * self.scale <= self.tolerance
    }

    fn advance(&mut self, norm: f64, x: Option<&[T]>) -> Option<Ending> {
        let residual_norm = norm * self.scale;
        self.iterations += 1;
        self.preconditioned_norm = norm;
        self.history.push(self.units.unscaled(residual_norm));
        if !norm.is_finite() {
            return Some(Ending::NotFinite);
        }
        let cancelled = self.tell(norm, x);
        if cancelled.is_some() {
            return cancelled;
        }
        if residual_norm <= self.tolerance {
            return Some(Ending::Converged);
        }
        (self.iterations >= self.limit).then_some(Ending::IterationLimit)
    }

    fn tell(&mut self, norm: f64, x: Option<&[T]>) -> Option<Ending> {
        let units = self.units;
        let view = &mut *self.view;
        let progress = IterationProgress {
            iteration: self.iterations,
            residual_norm: units.unscaled(norm * self.scale),
            preconditioned_norm: units.unscaled(norm / self.left_scale),
            tolerance: units.unscaled(self.tolerance),
            x: x.map(|x| if units.is_plain() { x } else { units.unscale_to(x, view) }),
        };
        (self.watch)(progress).is_break().then_some(Ending::Cancelled)
    }

    /// Keeps x if it is better by a factor of 2 than what was kept.
    fn keep(&mut self, norm: f64, x: &[T]) {
        if norm * self.scale < 0.5 * self.kept_norm {
            self.kept_norm = norm * self.scale;
            each_piece(x.len(), RowsOf(&mut *self.kept, PIECE), &|own, kept| kept.0.copy_from_slice(&x[own]));
        }
    }

    /// Whether the least residual has become less than half since it was asked the last time.
    pub fn has_halved(&mut self) -> bool {
        let before = core::mem::replace(&mut self.looked_norm, self.kept_norm);
        self.kept_norm < before
    }

    /// The x that was kept, and the norm of its residual as the method knew it; `None` if none was.
    pub fn kept(&mut self) -> Option<(&mut [T], f64)> {
        self.kept_norm.is_finite().then_some((&mut *self.kept, self.kept_norm))
    }
}
