//! Columns of a table or of a heat map: the errors of one solver for many matrices.

use super::cells::{Cell, ErrorColumn, Mark};
use super::errors::{Attempt, Judgement, ProblemRow};
use super::heat_map::{HeatPanel, HeatPart};
use bandsolve_gallery::tables::Paper;

/// Selects the error to show.
pub type Measure = fn(&Judgement) -> f64;

/// The repair that verification triggered.
pub fn mark(attempt: &Attempt) -> Mark {
    match attempt.outcome {
        Ok((0, false)) => Mark::Plain,
        Ok((_, false)) => Mark::Refined,
        Ok((_, true)) => Mark::Fallback,
        Err(_) => Mark::Failed,
    }
}

/// Matrices of the same source.
pub struct Section<'a> {
    /// `None` for the random matrices with scaled rows, which are not published.
    pub paper: Option<Paper>,
    pub rows: Vec<&'a ProblemRow>,
}

impl<'a> Section<'a> {
    /// One section per paper, then the random matrices with scaled rows.
    pub fn all(rows: &'a [ProblemRow]) -> Vec<Section<'a>> {
        let of = |paper: Option<Paper>| Section {
            paper,
            rows: rows.iter().filter(|r| r.problem.case.map(|c| c.paper) == paper).collect(),
        };
        [Some(Paper::Chang), Some(Paper::Klein), None].map(of).into()
    }

    /// The source of the matrices.
    pub fn source(&self) -> &'static str {
        match self.paper {
            Some(Paper::Chang) => "Chang 2014, Tables 6.1 and 6.2",
            Some(Paper::Klein) => "Klein 2022, Tables 4 and 5",
            None => "Random matrices (some-1eK: a tenth of the rows scaled by up to 1e±K, rows-1eK: all rows)",
        }
    }

    /// The section as a part of a heat map. It shows the error measure of the paper, or the row-wise backward error for random matrices.
    pub fn part(&self, lapack: bool) -> HeatPart {
        let measure: Measure = if self.paper.is_some() { |j| j.error } else { |j| j.backward_error };
        let name = self.paper.map_or("row-wise backward error", Paper::measure);
        let label = |row: &&ProblemRow| (row.problem.name.clone(), row.problem.condition());
        HeatPart {
            title: format!("{}: {name}", self.source()),
            rows: self.rows.iter().map(label).collect(),
            panels: vec![
                HeatPanel { title: "unverified", columns: self.raw(measure, lapack) },
                HeatPanel { title: "verified", columns: self.verified(measure) },
                HeatPanel { title: "published", columns: self.published() },
            ],
        }
    }

    /// The columns of bandsolve without verification, and the column of LAPACK if the machine has it.
    pub fn raw(&self, measure: Measure, lapack: bool) -> Vec<ErrorColumn> {
        let plain = |error| Cell { error: Some(error), mark: Mark::Plain };
        let mut columns = self.ours(|attempt| plain(measure(&attempt.raw)));
        let none = Cell { error: None, mark: Mark::Failed };
        let cells = self.rows.iter().map(|r| r.lapack.as_ref().map_or(none, |j| plain(measure(j)))).collect();
        columns.extend(lapack.then(|| ErrorColumn { head: "LAPACK gtsv".into(), cells }));
        columns
    }

    /// The columns of bandsolve with verification.
    pub fn verified(&self, measure: Measure) -> Vec<ErrorColumn> {
        self.ours(|attempt| Cell { error: Some(measure(&attempt.verified)), mark: mark(attempt) })
    }

    fn ours(&self, cell: impl Fn(&Attempt) -> Cell) -> Vec<ErrorColumn> {
        let solvers = self.rows.first().map_or(0, |r| r.attempts.len());
        let column = |k: usize| ErrorColumn {
            head: self.rows[0].attempts[k].solver.into(),
            cells: self.rows.iter().map(|r| cell(&r.attempts[k])).collect(),
        };
        (0..solvers).map(column).collect()
    }

    /// The published columns.
    pub fn published(&self) -> Vec<ErrorColumn> {
        let solvers = self.paper.map_or(&[][..], Paper::solvers).iter().enumerate();
        let error = |row: &ProblemRow, k: usize| row.problem.case.and_then(|c| c.published.get(k).copied());
        let cells = |k| self.rows.iter().map(|r| Cell { error: error(r, k), mark: Mark::Plain }).collect();
        solvers.map(|(k, head)| ErrorColumn { head: head.to_string(), cells: cells(k) }).collect()
    }
}
