//! How an iteration goes: its history, its best x, and when it ends.

use super::{Ending, IterationProgress};
use bandsolve::Scalar;
use core::ops::ControlFlow;

/// Watches an iteration.
pub(super) struct Monitor<'a, T: Scalar> {
    pub history: Vec<f64>,
    pub iterations: usize,
    /// Times that the method began.
    pub cycles: usize,
    pub limit: usize,
    pub tolerance: f64,
    /// ‖rhs − A·x‖ beside the norm that the method knows, at the last restart.
    scale: f64,
    kept: &'a mut [T],
    kept_norm: f64,
    watch: &'a mut dyn FnMut(IterationProgress) -> ControlFlow<()>,
}

impl<'a, T: Scalar> Monitor<'a, T> {
    pub fn new(
        limit: usize,
        tolerance: f64,
        kept: &'a mut [T],
        watch: &'a mut dyn FnMut(IterationProgress) -> ControlFlow<()>,
    ) -> Self {
        let mut history = Vec::new();
        // Room for what is usual, at least; a longer one grows, at less and less iterations.
        _ = history.try_reserve(limit.saturating_add(1).min(1 << 20));
        let kept_norm = f64::INFINITY;
        Self { history, iterations: 0, cycles: 0, limit, tolerance, scale: 1.0, kept, kept_norm, watch }
    }

    /// The method begins again from an x with this residual, whose norm it sees as `norm`.
    pub fn restart(&mut self, residual: f64, norm: f64, x: &[T]) {
        if self.history.is_empty() {
            self.history.push(residual);
        }
        self.scale = if norm > 0.0 { residual / norm } else { 1.0 };
        if residual < self.kept_norm {
            self.kept_norm = residual;
            self.kept.copy_from_slice(x);
        }
    }

    /// Takes note of an iteration, after which the residual has this norm for the method. Says whether the method has to stop:
    /// `Converged` is only that x is worth looking at.
    pub fn step(&mut self, norm: f64) -> Option<Ending> {
        let residual_norm = norm * self.scale;
        self.iterations += 1;
        self.history.push(residual_norm);
        let progress = IterationProgress { iteration: self.iterations, residual_norm, tolerance: self.tolerance };
        if !norm.is_finite() {
            return Some(Ending::NotFinite);
        }
        if (self.watch)(progress).is_break() {
            return Some(Ending::Cancelled);
        }
        if residual_norm <= self.tolerance {
            return Some(Ending::Converged);
        }
        (self.iterations >= self.limit).then_some(Ending::IterationLimit)
    }

    /// Keeps x if it is better by a factor of 2 than what was kept.
    pub fn keep(&mut self, norm: f64, x: &[T]) {
        if norm * self.scale < 0.5 * self.kept_norm {
            self.kept_norm = norm * self.scale;
            self.kept.copy_from_slice(x);
        }
    }

    /// The x that was kept.
    pub fn kept(&self) -> &[T] {
        self.kept
    }

    /// The norm of its residual, as the method knew it.
    pub fn kept_norm(&self) -> f64 {
        self.kept_norm
    }
}
