//! Systems that are larger than memory: the compiled part of `bandsolve.out_of_core`.

use crate::arrays::{DtypeKind, Number, array, rows, slice, with_number};
use crate::errors::exception;
use crate::interrupt::detached;
use crate::report::PyReport;
use bandsolve::Error;
use bandsolve::out_of_core::{OutOfCoreSolver, PieceRows};
use numpy::{PyArray1, PyArrayMethods, PyUntypedArray};
use pyo3::exceptions::{PyMemoryError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::io;

/// A piece as Python gets it: its rows and those of the piece after it, whether the call reads and writes x, and the progress in rows.
type NextPiece = ((usize, usize), (usize, usize), (bool, bool), (usize, usize));

/// A solver for any type of numbers.
trait PieceSolver: Send + Sync {
    fn next_piece(&self) -> Option<NextPiece>;
    fn advance(&mut self, piece: [&Bound<'_, PyUntypedArray>; 4], x: &Bound<'_, PyAny>) -> PyResult<()>;
    fn state(&self) -> io::Result<Vec<u8>>;
    fn report(&self) -> bandsolve::Result<bandsolve::Report>;
}

impl<T: Number> PieceSolver for OutOfCoreSolver<T> {
    fn next_piece(&self) -> Option<NextPiece> {
        let piece = self.next_piece()?;
        let (rows, following) = ((piece.rows.start, piece.rows.end), (piece.following.start, piece.following.end));
        Some((rows, following, (piece.reads_x, piece.writes_x), (piece.done, piece.total)))
    }

    fn advance(&mut self, piece: [&Bound<'_, PyUntypedArray>; 4], x: &Bound<'_, PyAny>) -> PyResult<()> {
        let py = x.py();
        let [sub, diag, sup, rhs] = piece.map(rows::<T>);
        let (sub, diag, sup, rhs) = (sub?, diag?, sup?, rhs?);
        let piece = PieceRows { sub: slice(&sub), diag: slice(&diag), sup: slice(&sup), rhs: slice(&rhs) };
        let mut x = x.cast::<PyArray1<T>>()?.try_readwrite()?;
        let x = x.as_slice_mut()?;
        detached(py, || self.advance(piece, x))?.map_err(|error| match error {
            // The array `sub` of Python begins with row 1.
            Error::NotFinite { array: "sub", index } => {
                exception(py, &Error::NotFinite { array: "sub", index: index - 1 })
            }
            other => exception(py, &other),
        })
    }

    fn state(&self) -> io::Result<Vec<u8>> {
        let mut state = Vec::new();
        state.try_reserve_exact(self.state_bytes()).map_err(|_| io::Error::from(io::ErrorKind::OutOfMemory))?;
        self.write_state(&mut state).map(|()| state)
    }

    fn report(&self) -> bandsolve::Result<bandsolve::Report> {
        self.report()
    }
}

/// The exception for an error in a state.
fn state_exception(error: io::Error) -> PyErr {
    match error.kind() {
        io::ErrorKind::InvalidData => PyValueError::new_err(error.to_string()),
        io::ErrorKind::OutOfMemory => PyMemoryError::new_err(error.to_string()),
        _ => error.into(),
    }
}

fn solver<T: Number>(
    py: Python<'_>,
    (n, piece_rows): (usize, usize),
    state: Option<&[u8]>,
) -> PyResult<Box<dyn PieceSolver>> {
    let solver = match state {
        None => OutOfCoreSolver::<T>::new(n, piece_rows).map_err(|error| exception(py, &error))?,
        Some(mut state) => OutOfCoreSolver::<T>::read_state(n, piece_rows, &mut state).map_err(state_exception)?,
    };
    Ok(Box::new(solver))
}

/// A solver that receives the rows of a system piece by piece.
#[pyclass(module = "bandsolve._bandsolve", name = "PieceSolver")]
pub struct PyPieceSolver(Box<dyn PieceSolver>);

#[pymethods]
impl PyPieceSolver {
    /// Create a solver for n unknowns of the number type of `like`. With a state, it continues from there.
    #[new]
    #[pyo3(signature = (like, n, piece_rows, state=None))]
    fn new(like: &Bound<'_, PyAny>, n: usize, piece_rows: usize, state: Option<&[u8]>) -> PyResult<Self> {
        let (_, kind): (_, DtypeKind) = array(like)?;
        with_number!(kind, solver(like.py(), (n, piece_rows), state)).map(Self)
    }

    /// The next piece, or None at the end.
    fn next_piece(&self) -> Option<NextPiece> {
        self.0.next_piece()
    }

    /// Work on the next piece. `x` is a contiguous array of the number type of the solver.
    fn advance(
        &mut self,
        sub: &Bound<'_, PyAny>,
        diag: &Bound<'_, PyAny>,
        sup: &Bound<'_, PyAny>,
        rhs: &Bound<'_, PyAny>,
        x: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let [sub, diag, sup, rhs] = [sub, diag, sup, rhs].map(array);
        self.0.advance([&sub?.0, &diag?.0, &sup?.0, &rhs?.0], x)
    }

    /// The state between two pieces.
    fn state<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, &self.0.state().map_err(state_exception)?))
    }

    /// The report after the last piece.
    fn report(&self, py: Python<'_>) -> PyResult<PyReport> {
        self.0.report().map(PyReport::new).map_err(|error| exception(py, &error))
    }
}
