//! `bandsolve stability pentadiagonal`, `block` and `banded`: forward errors, compared with LAPACK and published errors.

use super::cells::{Cell, ErrorColumn, Mark};
use super::heat_map::{self, HeatPanel, HeatPart};
use crate::args::{StabilityBandedArgs, StabilityBandsArgs, TableOutputs};
use crate::peers::{BandArrays, Peer};
use bandsolve_program::exit::Failure;
use bandsolve_program::report::{self, largest};
use bandsolve_program::{io, progress, structure};

use bandsolve::{Banded, BlockTridiagonal, Error, Factor, Method, Plan, Shape};
use bandsolve_gallery::band_tables::{
    BANDED_CASES, BLOCK_SOLVERS, PENTADIAGONAL_SOLVERS, block_cases, pentadiagonal_cases, rotated_blocks,
};
use bandsolve_gallery::families::System;
use bandsolve_gallery::matrices::banded;
use bandsolve_gallery::oracle;
use bandsolve_gallery::tables::{PUBLISHED_N, x_true};
use bandsolve_sparse::Structure;
use indicatif::ProgressIterator;
use serde_json::{Value, json};
use std::path::PathBuf;

/// Number of unknowns of the block tridiagonal systems with published errors.
const BLOCK_N: usize = 1024;

/// Klein's Tables 6 and 7.
pub fn pentadiagonal(args: &StabilityBandsArgs) -> Result<(), Failure> {
    let stdout_used = report::check_outputs(&args.outputs.named(), &[])?;
    let n = args.n.map_or(PUBLISHED_N, |n| n as usize);
    let problem = |case: bandsolve_gallery::band_tables::PentadiagonalCase| {
        let a = case.matrix(n, args.seed);
        BandProblem {
            name: case.id.to_string(),
            condition: (n == PUBLISHED_N).then_some(case.condition),
            a: TableMatrix::Band(a),
            published: case.published.to_vec(),
        }
    };
    let problems = pentadiagonal_cases().into_iter().map(problem).collect();
    BandTable::new("Klein 2022, Tables 6 and 7", &PENTADIAGONAL_SOLVERS, problems, args.seed)
        .write(&args.outputs, stdout_used)
}

/// Klein's Table 8.
pub fn block(args: &StabilityBandsArgs) -> Result<(), Failure> {
    let stdout_used = report::check_outputs(&args.outputs.named(), &[])?;
    let n = args.n.map_or(BLOCK_N, |n| n as usize);
    let problem = |(case, published): (bandsolve_gallery::tables::Case, [f64; 4])| BandProblem {
        name: case.id.to_string(),
        condition: (n == BLOCK_N).then_some(case.condition),
        a: TableMatrix::Blocks(rotated_blocks(&case, n, args.seed)),
        published: published.to_vec(),
    };
    let problems = block_cases().into_iter().map(problem).collect();
    BandTable::new("Klein 2022, Table 8", &BLOCK_SOLVERS, problems, args.seed).write(&args.outputs, stdout_used)
}

/// Klein's Table 9, for the matrices in the given files.
pub fn real(args: &StabilityBandedArgs) -> Result<(), Failure> {
    let stdout_used =
        report::check_outputs(&args.outputs.named(), &args.files.iter().map(PathBuf::as_path).collect::<Vec<_>>())?;
    let problem = |path: &PathBuf| {
        let triplets = io::read_matrix(path)?;
        io::check_real(&triplets, path)?;
        let Structure { n, lower, upper, .. } = structure::structure(&triplets)?;
        let System::Banded(a) = structure::assemble::<f64>(&triplets, Shape::Banded { n, lower, upper })? else {
            unreachable!("a banded kind makes a band");
        };
        let stem = path.file_stem().unwrap_or_default().to_string_lossy().to_string();
        let known = BANDED_CASES.iter().find(|(name, _)| *name == stem.to_lowercase());
        let published = known.map_or(vec![f64::NAN; 4], |(_, published)| published.to_vec());
        Ok(BandProblem { name: stem, condition: None, a: TableMatrix::Band(a), published })
    };
    let problems = args.files.iter().map(problem).collect::<Result<_, Failure>>()?;
    BandTable::new("Klein 2022, Table 9", &BLOCK_SOLVERS, problems, args.seed).write(&args.outputs, stdout_used)
}

/// A matrix of one of the tables.
enum TableMatrix {
    Band(Banded<'static, f64>),
    Blocks(BlockTridiagonal<'static, f64>),
}

impl TableMatrix {
    fn shape(&self) -> Shape {
        match self {
            TableMatrix::Band(a) => a.shape(),
            TableMatrix::Blocks(a) => a.shape(),
        }
    }

    /// The matrix as a band.
    fn band(&self) -> Banded<'static, f64> {
        match self {
            TableMatrix::Band(a) => a.clone(),
            TableMatrix::Blocks(a) => {
                let half = 2 * a.block() - 1;
                banded(a.n(), half, half, |i, j| a.get(i, j))
            }
        }
    }

    fn solve(&self, plan: &Plan, rhs: &[f64], x: &mut [f64]) -> Result<bandsolve::Report, Error> {
        match self {
            TableMatrix::Band(a) => plan.factor(a)?.solve_into(rhs, x),
            TableMatrix::Blocks(a) => plan.factor(a)?.solve_into(rhs, x),
        }
    }
}

struct BandProblem {
    name: String,
    /// The published condition number.
    condition: Option<f64>,
    a: TableMatrix,
    published: Vec<f64>,
}

/// The errors of one solution.
struct BandAnswer {
    forward_error: f64,
    backward_error: f64,
    /// `+` after iterative refinement, `*` after a fallback, `!` after an error, else a space.
    mark: char,
}

impl BandAnswer {
    fn cell(answer: Option<&BandAnswer>) -> Cell {
        let Some(answer) = answer else { return Cell { error: None, mark: Mark::Absent } };
        let mark = match answer.mark {
            '!' => Mark::Failed,
            '*' => Mark::Fallback,
            '+' => Mark::Refined,
            _ => Mark::Plain,
        };
        Cell { error: Some(answer.forward_error), mark }
    }

    fn text(answer: Option<&BandAnswer>) -> String {
        answer.map_or("- ".into(), |answer| format!("{:.1e}{}", answer.forward_error, answer.mark))
    }

    fn is_accepted(&self) -> bool {
        self.mark != '!'
    }
}

struct BandRow {
    problem: BandProblem,
    /// One element per column; `None` if the method does not solve systems of this kind.
    answers: Vec<Option<BandAnswer>>,
    lapack: Option<BandAnswer>,
}

struct BandTable {
    source: &'static str,
    columns: Vec<(Method, bool)>,
    solvers: &'static [&'static str],
    rows: Vec<BandRow>,
}

impl BandTable {
    fn new(source: &'static str, solvers: &'static [&'static str], problems: Vec<BandProblem>, seed: u64) -> Self {
        let solves = |method: &Method| problems.iter().any(|problem| method.solves(problem.a.shape()));
        let general = |method: &Method| *method != Method::Auto && !method.needs_definite();
        let methods = Method::ALL.into_iter().filter(|method| general(method) && solves(method));
        let columns: Vec<_> = methods.flat_map(|method| [(method, false), (method, true)]).collect();
        let peer = Peer::lapack();
        let bar = progress::parts("matrix", problems.len());
        let problems = problems.into_iter().progress_with(bar);
        let rows = problems.map(|problem| BandRow::new(problem, &columns, peer.as_ref(), seed)).collect();
        Self { source, columns, solvers, rows }
    }

    fn write(&self, outputs: &TableOutputs, stdout_used: bool) -> Result<(), Failure> {
        if let Some(path) = &outputs.json {
            report::write_json(path, &self.json())?;
        }
        if let Some(path) = &outputs.plot {
            heat_map::draw("Decimal exponents of the errors of every method", &[self.part()]).write(path)?;
        }
        report::print_beside(&self.text(), stdout_used)
    }

    /// The table as a part of a heat map.
    fn part(&self) -> HeatPart {
        let ours = |verified: bool| {
            let columns = self.columns.iter().enumerate().filter(move |(_, column)| column.1 == verified);
            columns.map(|(k, column)| ErrorColumn {
                head: column.0.name().into(),
                cells: self.rows.iter().map(|row| BandAnswer::cell(row.answers[k].as_ref())).collect(),
            })
        };
        let none = Cell { error: None, mark: Mark::Failed };
        let lapack = |row: &BandRow| row.lapack.as_ref().map_or(none, |answer| BandAnswer::cell(Some(answer)));
        let lapack = ErrorColumn { head: "LAPACK gbsv".into(), cells: self.rows.iter().map(lapack).collect() };
        let has_lapack = self.rows.iter().any(|row| row.lapack.is_some());
        let published = self.solvers.iter().enumerate().map(|(k, head)| ErrorColumn {
            head: head.to_string(),
            cells: self.rows.iter().map(|row| Cell::published(row.problem.published[k])).collect(),
        });
        HeatPart {
            title: format!("{}: forward error |x − x_true|₂ / |x_true|₂", self.source),
            rows: self.rows.iter().map(|row| (row.problem.name.clone(), row.problem.condition)).collect(),
            panels: vec![
                HeatPanel { title: "unverified", columns: ours(false).chain(has_lapack.then_some(lapack)).collect() },
                HeatPanel { title: "verified", columns: ours(true).collect() },
                HeatPanel { title: "published", columns: published.collect() },
            ],
        }
    }

    /// The heading of a column.
    fn head(&(method, verified): &(Method, bool)) -> String {
        format!("{}{}", method.name(), if verified { "" } else { " raw" })
    }

    fn text(&self) -> String {
        let heads: Vec<String> = self.columns.iter().map(Self::head).chain(["LAPACK gbsv".into()]).collect();
        let width = |head: &str| head.len().max(8) + 2;
        let mut text =
            format!("\n{}: forward error |x - x_true|_2 / |x_true|_2; right of the bar: published\n", self.source);
        text += &format!("{:10}{:>9}", "matrix", "cond.");
        heads.iter().for_each(|head| text += &format!("{head:>0$}", width(head)));
        text += " |";
        self.solvers.iter().for_each(|head| text += &format!("{head:>0$}", width(head)));
        text.push('\n');
        for row in &self.rows {
            let condition = row.problem.condition.map_or("-".into(), |c| format!("{c:.1e}"));
            text += &format!("{:10}{condition:>9}", row.problem.name);
            for (head, answer) in heads.iter().zip(row.answers.iter().chain([&row.lapack])) {
                text += &format!("{:>1$}", BandAnswer::text(answer.as_ref()), width(head));
            }
            text += " |";
            for (head, error) in self.solvers.iter().zip(&row.problem.published) {
                let cell = if error.is_nan() { "-".into() } else { format!("{error:.1e}") };
                text += &format!("{cell:>0$}", width(head));
            }
            text.push('\n');
        }
        text + "\nraw: without verification, + needed iterative refinement, * fallback to the pivoted solver,\n\
                ! the solver returned an error, - no value\n"
            + &self.summary()
    }

    /// One line per column: the largest backward error, and the number of matrices for which the error is close to LAPACK's.
    fn summary(&self) -> String {
        let mut text = format!("\n{:28}{:>22}{:>24}\n", "solver", "largest backward error", "error <= 10 x LAPACK");
        for (k, column) in self.columns.iter().enumerate() {
            let returned = self.rows.iter().filter_map(|row| row.answers[k].as_ref()).filter(|a| a.is_accepted());
            let errors: Vec<f64> = returned.map(|answer| answer.backward_error).collect();
            let error = report::error((!errors.is_empty()).then(|| largest(errors.into_iter())));
            let near: Vec<bool> = self.rows.iter().filter_map(|row| row.is_near(k)).collect();
            let near = format!("{} of {}", near.iter().filter(|near| **near).count(), near.len());
            text += &format!("{:28}{error:>22}{near:>24}\n", Self::head(column));
        }
        text
    }

    fn json(&self) -> Value {
        let answer = |a: &BandAnswer| json!({ "forward_error": a.forward_error, "backward_error": a.backward_error });
        let row = |row: &BandRow| {
            let ours = self.columns.iter().zip(&row.answers);
            let ours = ours.filter_map(|(column, a)| Some((Self::head(column), answer(a.as_ref()?))));
            let published = self.solvers.iter().zip(&row.problem.published).map(|(s, e)| (s.to_string(), json!(e)));
            json!({
                "matrix": row.problem.name,
                "published_condition": row.problem.condition,
                "solvers": ours.collect::<serde_json::Map<_, _>>(),
                "lapack": row.lapack.as_ref().map(answer),
                "published": published.collect::<serde_json::Map<_, _>>(),
                "within_10x_of_lapack": (0..self.columns.len()).filter(|k| row.is_near(*k) == Some(true))
                    .map(|k| Self::head(&self.columns[k])).collect::<Vec<_>>(),
            })
        };
        json!({ "table": self.source, "rows": self.rows.iter().map(row).collect::<Vec<_>>() })
    }
}

impl BandRow {
    fn new(problem: BandProblem, columns: &[(Method, bool)], peer: Option<&Peer>, seed: u64) -> Self {
        let band = problem.a.band();
        let x = x_true(band.n(), seed);
        let rhs = oracle::product(&band, &x);
        let judge = |y: &[f64], mark| BandAnswer {
            forward_error: oracle::forward_error(y, &x),
            backward_error: oracle::backward_error(&band, &rhs, y),
            mark,
        };
        let answer = |(method, verify): &(Method, bool)| {
            if !method.solves(problem.a.shape()) {
                return None;
            }
            let plan = Plan::new(problem.a.shape()).method(*method).verify(*verify);
            let mut y = vec![f64::NAN; rhs.len()];
            let mark = match problem.a.solve(&plan, &rhs, &mut y) {
                Err(_) => '!',
                Ok(report) if report.fallback => '*',
                Ok(report) if report.refinement_steps > 0 => '+',
                Ok(_) => ' ',
            };
            Some(judge(&y, mark))
        };
        let answers = columns.iter().map(answer).collect();
        let lapack = peer.and_then(|peer| gbsv(&band, &rhs, peer)).map(|y| judge(&y, ' '));
        BandRow { problem, answers, lapack }
    }

    /// Whether the forward error is at most ten times as large as LAPACK's. LAPACK's error is the larger one of the measured and the
    /// published error, and at least ε. `None` if LAPACK has no error or the method does not solve the system.
    fn is_near(&self, column: usize) -> Option<bool> {
        let published = self.problem.published.first().copied().unwrap_or(f64::NAN);
        let lapack = self.lapack.as_ref().map_or(f64::NAN, |a| a.forward_error).max(published);
        let answer = self.answers[column].as_ref().filter(|_| !lapack.is_nan())?;
        Some(answer.is_accepted() && answer.forward_error <= 10.0 * lapack.max(f64::EPSILON))
    }
}

/// The solution of LAPACK's `gbsv`; `None` if a pivot is zero.
pub fn gbsv(a: &Banded<'_, f64>, rhs: &[f64], peer: &Peer) -> Option<Vec<f64>> {
    let (n, lower, upper) = (a.n(), a.lower(), a.upper());
    if n == 0 {
        return Some(Vec::new());
    }
    let leading = 2 * lower + upper + 1;
    let (mut bands, mut pivots, mut x) = (vec![0.0; n * leading], vec![0; n], rhs.to_vec());
    for j in 0..n {
        let (first, column) = a.column(j);
        bands[j * leading + lower + upper + first - j..][..column.len()].copy_from_slice(column);
    }
    let arrays = BandArrays { n, widths: [lower, upper], bands: &mut bands, pivots: &mut pivots, rhs: &mut x };
    peer.gbsv::<f64>()?.solve(arrays).ok()?;
    Some(x)
}
