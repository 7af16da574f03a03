//! How an iteration goes: its history, its best x, and when it ends.

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
    pub tolerance: f64,
    /// ‖rhs − A·x‖ beside the norm that the method knows, at the last restart.
    scale: f64,
    /// What the method knew after the last iteration.
    preconditioned_norm: f64,
    kept: &'a mut [T],
    kept_norm: f64,
    watch: &'a mut dyn FnMut(IterationProgress<'_, T>) -> ControlFlow<()>,
}

impl<'a, T: Scalar> Monitor<'a, T> {
    pub fn new(
        limit: usize,
        tolerance: f64,
        kept: &'a mut [T],
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
            scale: 1.0,
            preconditioned_norm: f64::INFINITY,
            kept,
            kept_norm,
            watch,
        }
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

    fn advance(&mut self, norm: f64, x: Option<&[T]>) -> Option<Ending> {
        let residual_norm = norm * self.scale;
        self.iterations += 1;
        self.preconditioned_norm = norm;
        self.history.push(residual_norm);
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
        let progress = IterationProgress {
            iteration: self.iterations,
            residual_norm: norm * self.scale,
            preconditioned_norm: norm,
            tolerance: self.tolerance,
            x,
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

    /// The x that was kept.
    pub fn kept(&self) -> &[T] {
        self.kept
    }

    /// The norm of its residual, as the method knew it.
    pub fn kept_norm(&self) -> f64 {
        self.kept_norm
    }
}
