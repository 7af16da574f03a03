//! Tables of measurements, for terminals and HTML pages.

use crate::args::BatchShape;
use crate::row::{BenchRow, ratio};
use crate::yardstick::Passes;

/// One table.
#[derive(Debug, Clone)]
pub struct Sheet {
    /// The measured system.
    pub title: String,
    /// The first column is aligned to the left, the others to the right.
    pub columns: Vec<SheetColumn>,
    /// Lines with one cell per column.
    pub lines: Vec<Line>,
}

/// One column.
#[derive(Debug, Clone)]
pub struct SheetColumn {
    /// The heading.
    pub name: &'static str,
    /// Number of characters in a terminal.
    pub width: usize,
    /// The explanation on an HTML page.
    pub meaning: &'static str,
}

/// One line.
#[derive(Debug, Clone)]
pub struct Line {
    /// One cell per column.
    pub cells: Vec<String>,
    /// A note after the last cell.
    pub note: String,
}

/// A column from its heading, width and explanation.
pub const fn column(name: &'static str, width: usize, meaning: &'static str) -> SheetColumn {
    SheetColumn { name, width, meaning }
}

/// The first column of most tables.
pub const SOLVER: SheetColumn = column("solver", 12, "");
/// The number of threads.
pub const THREADS: SheetColumn = column("threads", 7, "number of threads that the solver uses");
/// The backward error.
pub const BACKWARD: SheetColumn = column(
    "backward error",
    14,
    "the smallest relative change of the matrix and the right-hand side for which the solution is exact",
);

impl Sheet {
    /// A table that compares with the routine `peer` of other libraries.
    pub(super) fn of(title: String, rows: &[BenchRow], peer: Routine, passes: Passes) -> Sheet {
        let columns = vec![
            SheetColumn { width: 22, ..SOLVER },
            THREADS,
            column("ns per row", 10, "median time divided by the number of rows, in nanoseconds"),
            column("min", 9, "time of the fastest repetition divided by the number of rows, in nanoseconds"),
            peer.column(),
            column(
                "time/yardstick",
                14,
                match passes {
                    Passes::One => {
                        "time divided by the time of the yardstick. The yardstick moves 5 words per row through memory with \
                         the same number of threads, as many as a batch moves."
                    }
                    Passes::Two => {
                        "time divided by the time of the yardstick. The yardstick moves 9 words per row through memory with \
                         the same number of threads, as many as a partitioned solve that reads the matrix twice."
                    }
                },
            ),
            BACKWARD,
        ];
        Sheet { title, columns, lines: rows.iter().map(BenchRow::line).collect() }
    }

    /// The table for a terminal.
    pub fn text(&self) -> String {
        let longest = self.lines.iter().map(|line| line.cells[0].chars().count()).max().unwrap_or(0);
        let heads: Vec<&str> = self.columns.iter().map(|column| column.name).collect();
        let mut text = format!("\n{}\n{}", self.title, self.line_text(&heads, "", longest));
        for line in &self.lines {
            let cells: Vec<&str> = line.cells.iter().map(String::as_str).collect();
            text += &self.line_text(&cells, &line.note, longest);
        }
        text
    }

    fn line_text(&self, cells: &[&str], note: &str, longest: usize) -> String {
        let first = longest.max(self.columns[0].width);
        let mut text = format!("  {:first$}", cells[0]);
        for (cell, column) in cells.iter().zip(&self.columns).skip(1) {
            text += &format!(" {cell:>0$}", column.width);
        }
        if !note.is_empty() {
            text += &format!("  {note}");
        }
        text.trim_end().to_string() + "\n"
    }
}

/// The routine of other libraries in a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Routine {
    /// The routine for tridiagonal systems.
    Gtsv,
    /// The routine for banded systems.
    Gbsv,
    /// The routine for positive definite tridiagonal systems.
    Ptsv,
    /// The routine for positive definite banded systems.
    Pbsv,
}

impl Routine {
    /// The routine for systems of a batch.
    pub fn of_batch(shape: BatchShape) -> Self {
        match (shape.is_definite(), shape.half_bandwidth()) {
            (false, 1) => Routine::Gtsv,
            (false, _) => Routine::Gbsv,
            (true, 1) => Routine::Ptsv,
            (true, _) => Routine::Pbsv,
        }
    }

    fn column(self) -> SheetColumn {
        match self {
            Routine::Gtsv => {
                column("speedup vs gtsv", 15, "time of the fastest gtsv of another library divided by this time")
            }
            Routine::Gbsv => {
                column("speedup vs gbsv", 15, "time of the fastest gbsv of another library divided by this time")
            }
            Routine::Ptsv => {
                column("speedup vs ptsv", 15, "time of the fastest ptsv of another library divided by this time")
            }
            Routine::Pbsv => {
                column("speedup vs pbsv", 15, "time of the fastest pbsv of another library divided by this time")
            }
        }
    }
}

impl BenchRow {
    fn line(&self) -> Line {
        let number = |value: f64| format!("{value:.2}");
        Line {
            cells: vec![
                self.solver.clone(),
                self.threads.to_string(),
                number(self.ns_per_row),
                number(self.ns_per_row_min),
                ratio(self.speedup_over_gtsv),
                ratio(self.times_yardstick),
                self.error_text(),
            ],
            note: self.note().into(),
        }
    }

    /// The backward error in two digits.
    pub fn error_text(&self) -> String {
        bandsolve_program::report::error(self.backward_error)
    }

    /// The repair that the solution needed, or the reason why the solver returned none.
    pub fn note(&self) -> &str {
        match (&self.error, self.repair) {
            (Some(error), _) => error,
            (None, Some(repair)) => repair.note(),
            (None, None) => "",
        }
    }
}
