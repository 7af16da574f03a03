//! The progress of an iteration: its history, its best x, and its end.

use super::report::Ending;
use super::units::Units;
use super::vectors::{BEST, SCRATCH};
use bandsolve::vectors::{VectorId, Vectors};
use core::ops::ControlFlow;

/// The norms of an iteration, unscaled, for its callback.
#[derive(Clone, Copy)]
pub(super) struct Norms {
    pub iteration: usize,
    pub residual_norm: f64,
    pub preconditioned_norm: f64,
    pub tolerance: f64,
}

/// Gets the norms after an iteration, and the bytes of x if it exists.
pub(super) type Watch<'w> = dyn FnMut(Norms, Option<&[u8]>) -> ControlFlow<()> + 'w;

/// Records an iteration, and decides when it ends.
pub(super) struct Monitor<'a> {
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
    /// The norm of the best x so far, up to a factor of 2. The vector [`BEST`] holds this x.
    best_norm: f64,
    /// `best_norm` at the last call of [`has_halved`](Self::has_halved).
    last_best_norm: f64,
    watch: Option<&'a mut Watch<'a>>,
}

impl<'a> Monitor<'a> {
    pub fn new((limit, tolerance): (usize, f64), units: Units, watch: Option<&'a mut Watch<'a>>) -> Self {
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
            best_norm,
            last_best_norm: f64::INFINITY,
            watch,
        }
    }

    /// Record that a cycle begins from an x with this residual. `norm` is the norm that the method knows.
    pub fn restart(&mut self, (residual, norm): (f64, f64), left_scale: f64, vectors: &mut dyn Vectors) {
        if self.history.is_empty() {
            self.history.push(self.units.unscaled(residual));
        }
        self.left_scale = left_scale;
        self.scale = if norm > 0.0 { residual / norm } else { 1.0 };
        if residual < self.best_norm {
            self.best_norm = residual;
            vectors.copy(VectorId::Solution, BEST);
        }
    }

    /// Record an iteration, after which the method knows this norm. Returns the reason if the method must stop. `Converged` only means that x is worth a
    /// check.
    pub fn step(&mut self, norm: f64, vectors: &mut dyn Vectors) -> Option<Ending> {
        self.advance(norm, vectors, false)
    }

    /// Record an iteration of a method that has x after each iteration. Keeps x if the method goes on.
    pub fn step_to(&mut self, norm: f64, vectors: &mut dyn Vectors) -> Option<Ending> {
        let ending = self.advance(norm, vectors, true);
        if ending.is_none() {
            self.keep(norm, vectors);
        }
        ending
    }

    /// Call the callback with an x that exists only at the end of a cycle. Returns `Cancelled` if the callback ends the iteration.
    pub fn cycle(&mut self, vectors: &mut dyn Vectors) -> Option<Ending> {
        self.notify(self.preconditioned_norm, vectors, true)
    }

    /// Whether the residual of the last iteration is small enough according to the method.
    pub fn is_small(&self) -> bool {
        self.preconditioned_norm * self.scale <= self.tolerance
    }

    fn advance(&mut self, norm: f64, vectors: &mut dyn Vectors, has_x: bool) -> Option<Ending> {
        let residual_norm = norm * self.scale;
        self.iterations += 1;
        self.preconditioned_norm = norm;
        self.history.push(self.units.unscaled(residual_norm));
        if !norm.is_finite() {
            return Some(Ending::NotFinite);
        }
        let cancelled = self.notify(norm, vectors, has_x);
        if cancelled.is_some() {
            return cancelled;
        }
        if residual_norm <= self.tolerance {
            return Some(Ending::Converged);
        }
        (self.iterations >= self.limit).then_some(Ending::IterationLimit)
    }

    fn notify(&mut self, norm: f64, vectors: &mut dyn Vectors, has_x: bool) -> Option<Ending> {
        let units = self.units;
        let norms = Norms {
            iteration: self.iterations,
            residual_norm: units.unscaled(norm * self.scale),
            preconditioned_norm: units.unscaled(norm / self.left_scale),
            tolerance: units.unscaled(self.tolerance),
        };
        let watch = self.watch.as_mut()?;
        let mut flow = ControlFlow::Continue(());
        if !has_x {
            flow = watch(norms, None);
        } else if units.is_plain() {
            vectors.read(VectorId::Solution, &mut |x| flow = watch(norms, Some(x)));
        } else {
            vectors.scale(VectorId::Solution, SCRATCH, units.inverse());
            vectors.read(SCRATCH, &mut |x| flow = watch(norms, Some(x)));
        }
        flow.is_break().then_some(Ending::Cancelled)
    }

    /// Keep x if its residual is less than half of that of the x kept before.
    fn keep(&mut self, norm: f64, vectors: &mut dyn Vectors) {
        if norm * self.scale < 0.5 * self.best_norm {
            self.best_norm = norm * self.scale;
            vectors.copy(VectorId::Solution, BEST);
        }
    }

    /// Whether the residual of the best x has become less than half since the last call.
    pub fn has_halved(&mut self) -> bool {
        let before = core::mem::replace(&mut self.last_best_norm, self.best_norm);
        self.best_norm < before
    }

    /// The norm of the residual of the best x, as the method knew it. `None` if no x was kept.
    pub fn best(&self) -> Option<f64> {
        self.best_norm.is_finite().then_some(self.best_norm)
    }
}
