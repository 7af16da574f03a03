//! Tables of a measurement, for terminals and for pages.

use super::{BenchRow, ratio};

/// One table.
#[derive(Debug, Clone)]
pub struct Sheet {
    /// What was measured.
    pub title: String,
    /// Names begin on the left of the first column; numbers stand on the right of theirs.
    pub columns: Vec<SheetColumn>,
    /// A cell for each column.
    pub lines: Vec<Line>,
}

/// One column.
#[derive(Debug, Clone)]
pub struct SheetColumn {
    /// Its heading.
    pub name: &'static str,
    /// Characters that it takes in a terminal.
    pub width: usize,
    /// What its numbers are.
    pub meaning: &'static str,
}

/// One line.
#[derive(Debug, Clone)]
pub struct Line {
    /// In the order of the columns.
    pub cells: Vec<String>,
    /// What stands behind them.
    pub note: String,
}

/// A column.
pub const fn column(name: &'static str, width: usize, meaning: &'static str) -> SheetColumn {
    SheetColumn { name, width, meaning }
}

/// Columns that many tables have.
pub const SOLVER: SheetColumn = column("solver", 12, "");
/// Of our solvers.
pub const THREADS: SheetColumn = column("threads", 7, "how many threads the solver has");
/// How good an answer is.
pub const BACKWARD: SheetColumn =
    column("backward", 9, "backward error of the answer: how much the system had to change for it to be exact");

impl Sheet {
    /// Of a contest in which `peer` is what others' solvers are called.
    pub(super) fn of(title: String, rows: &[BenchRow], peer: Routine) -> Sheet {
        let columns = vec![
            SheetColumn { width: 22, ..SOLVER },
            THREADS,
            column("ns/row", 9, "median time over the number of rows, in nanoseconds"),
            column("min", 9, "the same of the fastest repetition"),
            peer.column(),
            column(
                "/yardstick",
                10,
                "time in units of the yardstick: the time that memory takes, with as many threads, to move the 9 words a row \
                 that a solve by partitions moves",
            ),
            BACKWARD,
        ];
        Sheet { title, columns, lines: rows.iter().map(BenchRow::line).collect() }
    }

    /// For a terminal.
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

/// The routine of other libraries that ours is compared with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Routine {
    /// Tridiagonal systems.
    Gtsv,
    /// Banded systems.
    Gbsv,
}

impl Routine {
    fn column(self) -> SheetColumn {
        match self {
            Routine::Gtsv => column("x gtsv", 8, "how many times faster than the fastest gtsv of another library"),
            Routine::Gbsv => column("x gbsv", 8, "how many times faster than the fastest gbsv of another library"),
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

    /// The backward error.
    pub fn error_text(&self) -> String {
        crate::report::error(self.backward_error)
    }

    /// What it took to answer, or why there is no answer.
    pub fn note(&self) -> &str {
        match (&self.error, self.repair) {
            (Some(error), _) => error,
            (None, Some(repair)) => repair.note(),
            (None, None) => "",
        }
    }
}
