//! The settings that all problems share: shift, method and number of threads.

use crate::method::PoissonMethod;
use bandsolve::{Error, Result};
use bandsolve_kernel::threads;

/// Shift, method and number of threads of a problem.
#[derive(Debug, Clone, Default)]
pub(crate) struct ProblemSettings {
    pub shift: f64,
    pub method: PoissonMethod,
    pub threads: Option<usize>,
}

/// The setters of a problem with the field `settings`. The caller supplies the documentation of the shift and the method.
macro_rules! shared_setters {
    ($(#[$shift:meta])* shift $(#[$method:meta])* method) => {
        $(#[$shift])*
        pub fn shift(mut self, c: f64) -> Self {
            self.settings.shift = c;
            self
        }

        $(#[$method])*
        pub fn method(mut self, method: PoissonMethod) -> Self {
            self.settings.method = method;
            self
        }

        /// Set the number of threads. Default: all threads of the pool. The result does not depend on this number.
        pub fn threads(mut self, threads: usize) -> Self {
            self.settings.threads = Some(threads);
            self
        }
    };
}
pub(crate) use shared_setters;

impl ProblemSettings {
    /// The number of threads to use, at least 1.
    pub fn threads(&self) -> usize {
        self.threads.unwrap_or_else(threads::count).max(1)
    }

    /// `Err` unless the shift is finite, the box has one to three dimensions, and an array of its size can exist.
    pub fn check(&self, shape: &[usize]) -> Result<()> {
        if !(1..=3).contains(&shape.len()) {
            return Err(Error::invalid("shape", format!("has {} axes", shape.len()), "one to three axes"));
        }
        if !self.shift.is_finite() {
            return Err(Error::NotFinite { array: "shift", index: 0 });
        }
        let total = shape.iter().try_fold(size_of::<f64>(), |total, n| total.checked_mul((*n).max(1)));
        let addressed = total.filter(|bytes| isize::try_from(*bytes).is_ok());
        addressed.map(|_| ()).ok_or(Error::OutOfMemory { bytes: usize::MAX })
    }
}
