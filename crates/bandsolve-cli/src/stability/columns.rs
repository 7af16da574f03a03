//! Columns of a table or of a picture: one solver on many matrices.

use super::heat_map::{HeatPanel, HeatPart};
use super::{Attempt, Judgement, ProblemRow};
use bandsolve_gallery::tables::Paper;

/// The part of a judgement that is shown.
pub type Measure = fn(&Judgement) -> f64;

/// One solver on the matrices of one section.
#[derive(Debug, Clone)]
pub struct ErrorColumn {
    pub head: String,
    pub cells: Vec<Cell>,
}

/// One error.
#[derive(Debug, Clone, Copy)]
pub struct Cell {
    /// `None` where there is not even a wrong answer.
    pub error: Option<f64>,
    pub mark: Mark,
}

impl Cell {
    /// Of a paper, which may not have the matrix.
    pub fn published(error: f64) -> Cell {
        let known = !error.is_nan();
        Cell { error: known.then_some(error), mark: if known { Mark::Plain } else { Mark::Absent } }
    }
}

/// What became of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    /// Taken as it is.
    Plain,
    /// Refined.
    Refined,
    /// Solved again by the pivoted method.
    Fallback,
    /// Returned as an error.
    Failed,
    /// Not there to be shown.
    Absent,
}

impl Mark {
    /// What verification did.
    pub fn of(attempt: &Attempt) -> Mark {
        match attempt.outcome {
            Ok((0, false)) => Mark::Plain,
            Ok((_, false)) => Mark::Refined,
            Ok((_, true)) => Mark::Fallback,
            Err(_) => Mark::Failed,
        }
    }
}

/// Matrices that are shown together.
pub struct Section<'a> {
    /// `None`: our own randomly scaled rows.
    pub paper: Option<Paper>,
    pub rows: Vec<&'a ProblemRow>,
}

impl<'a> Section<'a> {
    /// The papers, then our own matrices.
    pub fn all(rows: &'a [ProblemRow]) -> Vec<Section<'a>> {
        let of = |paper: Option<Paper>| Section {
            paper,
            rows: rows.iter().filter(|r| r.problem.case.map(|c| c.paper) == paper).collect(),
        };
        [Some(Paper::Chang), Some(Paper::Klein), None].map(of).into()
    }

    /// Where the matrices come from.
    pub fn source(&self) -> &'static str {
        match self.paper {
            Some(Paper::Chang) => "Chang 2014, Tables 6.1 and 6.2",
            Some(Paper::Klein) => "Klein 2022, Tables 4 and 5",
            None => "Random rows (some: a tenth, rows: all) scaled up to the given power of ten",
        }
    }

    /// As a part of a picture: in the measure of the paper; our own matrices have no paper and show the row-wise backward
    /// error.
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

    /// Ours without verification, and LAPACK's where it was there.
    pub fn raw(&self, measure: Measure, lapack: bool) -> Vec<ErrorColumn> {
        let plain = |error| Cell { error: Some(error), mark: Mark::Plain };
        let mut columns = self.ours(|attempt| plain(measure(&attempt.raw)));
        let none = Cell { error: None, mark: Mark::Failed };
        let cells = self.rows.iter().map(|r| r.lapack.as_ref().map_or(none, |j| plain(measure(j)))).collect();
        columns.extend(lapack.then(|| ErrorColumn { head: "LAPACK gtsv".into(), cells }));
        columns
    }

    /// Ours with verification.
    pub fn verified(&self, measure: Measure) -> Vec<ErrorColumn> {
        self.ours(|attempt| Cell { error: Some(measure(&attempt.verified)), mark: Mark::of(attempt) })
    }

    fn ours(&self, cell: impl Fn(&Attempt) -> Cell) -> Vec<ErrorColumn> {
        let solvers = self.rows.first().map_or(0, |r| r.attempts.len());
        let column = |k: usize| ErrorColumn {
            head: self.rows[0].attempts[k].solver.into(),
            cells: self.rows.iter().map(|r| cell(&r.attempts[k])).collect(),
        };
        (0..solvers).map(column).collect()
    }

    /// The paper's columns.
    pub fn published(&self) -> Vec<ErrorColumn> {
        let solvers = self.paper.map_or(&[][..], Paper::solvers).iter().enumerate();
        let error = |row: &ProblemRow, k: usize| row.problem.case.and_then(|c| c.published.get(k).copied());
        let cells = |k| self.rows.iter().map(|r| Cell { error: error(r, k), mark: Mark::Plain }).collect();
        solvers.map(|(k, head)| ErrorColumn { head: head.to_string(), cells: cells(k) }).collect()
    }
}
