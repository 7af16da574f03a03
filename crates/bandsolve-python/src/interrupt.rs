//! Ctrl-C, and other signals whose handlers raise exceptions, while numbers are crunched.

use bandsolve::interrupt::{Stop, interruptible};
use core::cell::{Cell, RefCell};
use pyo3::prelude::*;
use std::rc::Rc;
use std::time::{Duration, Instant};

/// Between two looks at Python's signals, for which the interpreter's lock is needed.
const LOOK: Duration = Duration::from_millis(50);

/// What a signal handler has raised.
type Raised = Rc<RefCell<Option<PyErr>>>;

/// Looks at Python's signals, and keeps what a handler raises.
fn signals(raised: Raised) -> Stop {
    let looked = Cell::new(Instant::now());
    Rc::new(move || {
        if raised.borrow().is_none() && looked.get().elapsed() >= LOOK {
            // Handlers are functions of Python, which may take long or call this package.
            let error = Python::attach(|py| py.check_signals()).err();
            looked.set(Instant::now());
            *raised.borrow_mut() = error;
        }
        raised.borrow().is_some()
    })
}

/// Calls `work` without the interpreter's lock. If a signal handler raises an exception meanwhile, such as `KeyboardInterrupt` after Ctrl-C,
/// the work ends at its next check for interrupts, and the exception is the error.
///
/// Python calls signal handlers on its main thread only. On other threads nothing is interrupted.
pub fn detached<R: Send>(py: Python<'_>, work: impl FnOnce() -> R + Send) -> PyResult<R> {
    let (result, raised) = py.detach(|| {
        let raised = Raised::default();
        let result = interruptible(signals(raised.clone()), work);
        (result, raised.take())
    });
    raised.map_or(Ok(result), Err)
}
