//! The cells of a table or of a heat map: one error each, with the repair of the solution.

/// The errors of one solver for the matrices of one section.
#[derive(Debug, Clone)]
pub struct ErrorColumn {
    pub head: String,
    pub cells: Vec<Cell>,
}

/// One error.
#[derive(Debug, Clone, Copy)]
pub struct Cell {
    /// `None` if there is no solution.
    pub error: Option<f64>,
    pub mark: Mark,
}

impl Cell {
    /// A published error; NaN means that the paper does not have the matrix.
    pub fn published(error: f64) -> Cell {
        let known = !error.is_nan();
        Cell { error: known.then_some(error), mark: if known { Mark::Plain } else { Mark::Absent } }
    }
}

/// The repair of a solution.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    /// No repair.
    Plain,
    /// Iterative refinement.
    Refined,
    /// Fallback to the pivoted solver.
    Fallback,
    /// The solver returned an error.
    Failed,
    /// There is no value.
    Absent,
}
