//! Interruption of long computations by Ctrl-C, and by other signals whose handlers raise exceptions.

use bandsolve::interrupt::{Stop, interruptible};
use core::cell::{Cell, RefCell};
use pyo3::prelude::*;
use std::rc::Rc;
use std::time::{Duration, Instant};

/// Minimum time between two checks for signals. A check needs the GIL.
const LOOK: Duration = Duration::from_millis(50);

/// The exception that a signal handler raised.
type Raised = Rc<RefCell<Option<PyErr>>>;

/// Create a check for signals that stores the exception of a handler in `raised`.
fn signals(raised: Raised) -> Stop {
    let looked = Cell::new(Instant::now());
    Rc::new(move || {
        if raised.borrow().is_none() && looked.get().elapsed() >= LOOK {
            // A handler may call this package, so `raised` must not be borrowed during the call.
            let error = Python::attach(|py| py.check_signals()).err();
            looked.set(Instant::now());
            *raised.borrow_mut() = error;
        }
        raised.borrow().is_some()
    })
}

/// Call `work` without the GIL, as [`interruptible_by_signals`] does.
pub fn detached<R: Send>(py: Python<'_>, work: impl FnOnce() -> R + Send) -> PyResult<R> {
    py.detach(|| interruptible_by_signals(work))
}

/// Call `work`, on a thread that does not hold the GIL. If a signal handler raises an exception, such as `KeyboardInterrupt` after Ctrl-C, `work`
/// ends at its next check for interrupts. The function then returns the exception.
///
/// Python calls signal handlers only on its main thread, so signals do not interrupt `work` on other threads.
pub fn interruptible_by_signals<R>(work: impl FnOnce() -> R) -> PyResult<R> {
    let raised = Raised::default();
    let result = interruptible(signals(raised.clone()), work);
    let raised = raised.take();
    raised.map_or(Ok(result), Err)
}
