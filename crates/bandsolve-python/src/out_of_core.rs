//! Systems that are larger than memory: the compiled part of `bandsolve.out_of_core`.

use crate::arrays::{DtypeKind, Number, array, filled, rows, slice, with_number};
use crate::errors::exception;
use crate::interrupt::detached;
use crate::report::PyReport;
use bandsolve::out_of_core::{OutOfCoreSolver, PieceRows};
use numpy::{PyUntypedArray, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

/// What the class does with a solver for any type of numbers.
trait PieceSolver: Send + Sync {
    fn next_piece(&self) -> Option<NextPiece>;
    fn advance<'py>(
        &mut self,
        piece: [&Bound<'py, PyUntypedArray>; 4],
        x: Option<&Bound<'py, PyUntypedArray>>,
    ) -> PyResult<Bound<'py, PyAny>>;
    fn state(&self) -> std::io::Result<Vec<u8>>;
    fn report(&self) -> bandsolve::Result<bandsolve::Report>;
}

/// A piece as Python gets it: its rows and those of the piece after it, whether the call reads and writes x, and the progress in rows.
type NextPiece = ((usize, usize), (usize, usize), (bool, bool), (usize, usize));

impl<T: Number> PieceSolver for OutOfCoreSolver<T> {
    fn next_piece(&self) -> Option<NextPiece> {
        let piece = self.next_piece()?;
        let (rows, after) = ((piece.rows.start, piece.rows.end), (piece.following.start, piece.following.end));
        Some((rows, after, (piece.reads_x, piece.writes_x), (piece.done, piece.total)))
    }

    fn advance<'py>(
        &mut self,
        piece: [&Bound<'py, PyUntypedArray>; 4],
        x: Option<&Bound<'py, PyUntypedArray>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = piece[0].py();
        let [sub, diag, sup, rhs] = piece.map(rows::<T>);
        let (sub, diag, sup, rhs) = (sub?, diag?, sup?, rhs?);
        let piece = PieceRows { sub: slice(&sub), diag: slice(&diag), sup: slice(&sup), rhs: slice(&rhs) };
        let before = x.map(rows::<T>).transpose()?;
        let (x, advanced) = filled::<T, _>(py, &[piece.diag.len()], false, |x| {
            match before.as_ref().map(slice) {
                Some(before) if before.len() == x.len() => x.copy_from_slice(before),
                _ => x.fill(T::ZERO),
            }
            detached(py, || self.advance(piece, x))
        })?;
        advanced?.map_err(|error| exception(py, &error))?;
        Ok(x.into_any())
    }

    fn state(&self) -> std::io::Result<Vec<u8>> {
        let mut state = Vec::new();
        self.write_state(&mut state).map(|()| state)
    }

    fn report(&self) -> bandsolve::Result<bandsolve::Report> {
        self.report()
    }
}

/// A solver that is given the rows of a system piece by piece.
#[pyclass(module = "bandsolve._bandsolve", name = "PieceSolver")]
pub struct PyPieceSolver(Box<dyn PieceSolver>);

#[pymethods]
impl PyPieceSolver {
    /// Create a solver for n unknowns of the number type of `like`, or one that continues from a state.
    #[new]
    #[pyo3(signature = (like, n, piece_rows, state=None))]
    fn new(like: &Bound<'_, PyAny>, n: usize, piece_rows: usize, state: Option<&[u8]>) -> PyResult<Self> {
        fn solver<T: Number>(
            py: Python<'_>,
            (n, piece_rows): (usize, usize),
            state: Option<&[u8]>,
        ) -> PyResult<Box<dyn PieceSolver>> {
            let solver = match state {
                None => OutOfCoreSolver::<T>::new(n, piece_rows).map_err(|error| exception(py, &error))?,
                Some(mut state) => OutOfCoreSolver::<T>::read_state(&mut state)?,
            };
            match solver.n() == n {
                true => Ok(Box::new(solver)),
                false => Err(PyValueError::new_err(format!("the state is for {} unknowns, not for {n}", solver.n()))),
            }
        }
        let (_, kind): (_, DtypeKind) = array(like)?;
        with_number!(kind, solver(like.py(), (n, piece_rows), state)).map(Self)
    }

    /// The next piece, or None at the end.
    fn next_piece(&self) -> Option<NextPiece> {
        self.0.next_piece()
    }

    /// Work on the next piece. Returns x of its rows, which is meaningful if the piece writes x.
    #[pyo3(signature = (sub, diag, sup, rhs, x=None))]
    fn advance<'py>(
        &mut self,
        sub: &Bound<'py, PyAny>,
        diag: &Bound<'py, PyAny>,
        sup: &Bound<'py, PyAny>,
        rhs: &Bound<'py, PyAny>,
        x: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let [sub, diag, sup, rhs] = [sub, diag, sup, rhs].map(array);
        let x = x.map(array).transpose()?;
        self.0.advance([&sub?.0, &diag?.0, &sup?.0, &rhs?.0], x.as_ref().map(|x| &x.0))
    }

    /// The state between two pieces.
    fn state<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, &self.0.state()?))
    }

    /// The report after the last piece.
    fn report(&self, py: Python<'_>) -> PyResult<PyReport> {
        self.0.report().map(PyReport::new).map_err(|error| exception(py, &error))
    }
}
