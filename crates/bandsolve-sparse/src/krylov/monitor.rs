//! The progress of an iteration: its history, its best x, and its end.

use super::report::{Ending, IterationProgress};
use super::units::Units;
use bandsolve::Scalar;
use bandsolve::vectors::{PIECE, each_piece};
use bandsolve_kernel::spread::RowsOf;
use core::ops::ControlFlow;

/// Records an iteration, and decides when it ends.
pub(super) struct Monitor<'a, T: Scalar> {
    pub history: Vec<f64>,
    pub iterations: usize,
    /// Number of cycles that the method began.
    pub cycles: usize,
    pub limit: usize,
    tolerance: f64,
    /// The scaling of all norms here, except those of `history`, which are unscaled.
    units: Units,
    /// The factor of a preconditioner on the left.
    left_scale: f64,
    /// The ratio of ‖rhs − A·x‖ to the norm that the method knows, at the last restart.
    scale: f64,
    /// The norm that the method knows after the last iteration.
    preconditioned_norm: f64,
    /// The best x so far, up to a factor of 2 in the residual.
    best: &'a mut [T],
    best_norm: f64,
    /// `best_norm` at the last call of [`has_halved`](Self::has_halved).
    last_best_norm: f64,
    /// Memory for the unscaled x, if the system is scaled.
    view: &'a mut [T],
    watch: &'a mut dyn FnMut(IterationProgress<'_, T>) -> ControlFlow<()>,
}

impl<'a, T: Scalar> Monitor<'a, T> {
    pub fn new(
        (limit, tolerance): (usize, f64),
        units: Units,
        (best, view): (&'a mut [T], &'a mut [T]),
        watch: &'a mut dyn FnMut(IterationProgress<'_, T>) -> ControlFlow<()>,
    ) -> Self {
        let mut history = Vec::new();
        // Memory for a usual history. A longer one grows, in fewer and fewer iterations.
        _ = history.try_reserve(limit.saturating_add(1).min(1 << 20));
        let best_norm = f64::INFINITY;
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
            best,
            best_norm,
            last_best_norm: f64::INFINITY,
            view,
            watch,
        }
    }

    /// Record that a cycle begins from an x with this residual. `norm` is the norm that the method knows.
    pub fn restart(&mut self, (residual, norm): (f64, f64), left_scale: f64, x: &[T]) {
        if self.history.is_empty() {
            self.history.push(self.units.unscaled(residual));
        }
        self.left_scale = left_scale;
        self.scale = if norm > 0.0 { residual / norm } else { 1.0 };
        if residual < self.best_norm {
            self.best_norm = residual;
            self.best.copy_from_slice(x);
        }
    }

    /// Record an iteration, after which the method knows this norm. Returns the reason if the method must stop. `Converged` only means that x is worth a
    /// check.
    pub fn step(&mut self, norm: f64) -> Option<Ending> {
        self.advance(norm, None)
    }

    /// Record an iteration of a method that has x after each iteration. Keeps x if the method goes on.
    pub fn step_to(&mut self, norm: f64, x: &[T]) -> Option<Ending> {
        let ending = self.advance(norm, Some(x));
        if ending.is_none() {
            self.keep(norm, x);
        }
        ending
    }

    /// Call the callback with an x that exists only at the end of a cycle. Returns `Cancelled` if the callback ends the iteration.
    pub fn cycle(&mut self, x: &[T]) -> Option<Ending> {
        self.notify(self.preconditioned_norm, Some(x))
    }

    /// Whether the residual of the last iteration is small enough according to the method.
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
        let cancelled = self.notify(norm, x);
        if cancelled.is_some() {
            return cancelled;
        }
        if residual_norm <= self.tolerance {
            return Some(Ending::Converged);
        }
        (self.iterations >= self.limit).then_some(Ending::IterationLimit)
    }

    fn notify(&mut self, norm: f64, x: Option<&[T]>) -> Option<Ending> {
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

    /// Keep x if its residual is less than half of that of the x kept before.
    fn keep(&mut self, norm: f64, x: &[T]) {
        if norm * self.scale < 0.5 * self.best_norm {
            self.best_norm = norm * self.scale;
            each_piece(x.len(), RowsOf(&mut *self.best, PIECE), &|rows, best| best.0.copy_from_slice(&x[rows]));
        }
    }

    /// Whether the residual of the best x has become less than half since the last call.
    pub fn has_halved(&mut self) -> bool {
        let before = core::mem::replace(&mut self.last_best_norm, self.best_norm);
        self.best_norm < before
    }

    /// The best x, and the norm of its residual as the method knew it. `None` if no x was kept.
    pub fn best(&mut self) -> Option<(&mut [T], f64)> {
        self.best_norm.is_finite().then_some((&mut *self.best, self.best_norm))
    }
}
