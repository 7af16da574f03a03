//! `bandsolve stability pentadiagonal | block | banded`: forward errors beside LAPACK's and the published ones.

use super::columns::{Cell, Column, Mark};
use super::heat_map::{self, Panel, Part};

use crate::args::{StabilityBandedArgs, StabilityBandsArgs, TableOutputs};
use crate::exit::Failure;
use crate::io;
use crate::peers::{BandArrays, Peer};
use crate::progress;
use crate::report::{self, largest};
use crate::structure::{Kind, System};
use bandsolve::{Banded, BlockTridiagonal, Error, Factor, Method, Plan, Shape};
use bandsolve_testkit::band_tables::{
    BANDED_CASES, BLOCK_SOLVERS, PENTADIAGONAL_SOLVERS, block_cases, pentadiagonal_cases, rotated_blocks,
};
use bandsolve_testkit::gallery::banded;
use bandsolve_testkit::oracle;
use bandsolve_testkit::tables::x_true;
use indicatif::ProgressIterator;
use serde_json::{Value, json};
use std::path::PathBuf;

/// Klein's Tables 6 and 7.
pub fn pentadiagonal(args: &StabilityBandsArgs) -> Result<(), Failure> {
    let taken = report::check_outputs(&args.outputs.named())?;
    let n = args.n.unwrap_or(512) as usize;
    let problem = |case: bandsolve_testkit::band_tables::PentadiagonalCase| {
        let a = case.matrix(n, args.seed);
        Problem {
            name: case.id.to_string(),
            condition: Some(case.condition),
            a: Matrix::Band(a),
            published: case.published.to_vec(),
        }
    };
    let problems = pentadiagonal_cases().into_iter().map(problem).collect();
    Table::new("Klein 2022, Tables 6 and 7", &PENTADIAGONAL_SOLVERS, problems, args.seed).write(&args.outputs, taken)
}

/// Klein's Table 8.
pub fn block(args: &StabilityBandsArgs) -> Result<(), Failure> {
    let taken = report::check_outputs(&args.outputs.named())?;
    let n = args.n.unwrap_or(1024) as usize;
    let problem = |(case, published): (bandsolve_testkit::tables::Case, [f64; 4])| Problem {
        name: case.id.to_string(),
        condition: Some(case.condition),
        a: Matrix::Blocks(rotated_blocks(&case, n, args.seed)),
        published: published.to_vec(),
    };
    let problems = block_cases().into_iter().map(problem).collect();
    Table::new("Klein 2022, Table 8", &BLOCK_SOLVERS, problems, args.seed).write(&args.outputs, taken)
}

/// Klein's Table 9, of the matrices in the given files.
pub fn real(args: &StabilityBandedArgs) -> Result<(), Failure> {
    let taken = report::check_outputs(&args.outputs.named())?;
    let problem = |path: &PathBuf| {
        let triplets = io::read_matrix(path)?;
        let reach = |below: bool| {
            let mut reach = 0;
            triplets
                .for_each(|i, j, _| reach = reach.max(if below { i.saturating_sub(j) } else { j.saturating_sub(i) }));
            reach
        };
        let (lower, upper) = (reach(true), reach(false));
        let System::Banded(a) = System::<f64>::assemble(&triplets, Kind::Banded { lower, upper })? else {
            unreachable!("asked for a band");
        };
        let stem = path.file_stem().unwrap_or_default().to_string_lossy().to_string();
        let known = BANDED_CASES.iter().find(|(name, _)| *name == stem.to_lowercase());
        let published = known.map_or(vec![f64::NAN; 4], |(_, published)| published.to_vec());
        Ok(Problem { name: stem, condition: None, a: Matrix::Band(a), published })
    };
    let problems = args.files.iter().map(problem).collect::<Result<_, Failure>>()?;
    Table::new("Klein 2022, Table 9", &BLOCK_SOLVERS, problems, args.seed).write(&args.outputs, taken)
}

/// A matrix of one of the tables.
enum Matrix {
    Band(Banded<'static, f64>),
    Blocks(BlockTridiagonal<'static, f64>),
}

impl Matrix {
    fn shape(&self) -> Shape {
        match self {
            Matrix::Band(a) => a.shape(),
            Matrix::Blocks(a) => a.shape(),
        }
    }

    /// The same as a band.
    fn band(&self) -> Banded<'static, f64> {
        match self {
            Matrix::Band(a) => a.clone(),
            Matrix::Blocks(a) => {
                let half = 2 * a.block() - 1;
                banded(a.n(), half, half, |i, j| a.get(i, j))
            }
        }
    }

    fn solve(&self, plan: &Plan, rhs: &[f64], x: &mut [f64]) -> Result<bandsolve::Report, Error> {
        match self {
            Matrix::Band(a) => plan.factor(a)?.solve_into(rhs, x),
            Matrix::Blocks(a) => plan.factor(a)?.solve_into(rhs, x),
        }
    }
}

struct Problem {
    name: String,
    /// As published.
    condition: Option<f64>,
    a: Matrix,
    published: Vec<f64>,
}

/// One answer.
struct Answer {
    forward_error: f64,
    backward_error: f64,
    /// Refined (+), solved again (*), refused (!).
    mark: char,
}

impl Answer {
    fn cell(&self) -> Cell {
        let mark = match self.mark {
            '!' => Mark::Failed,
            '*' => Mark::Fallback,
            '+' => Mark::Refined,
            _ => Mark::Plain,
        };
        Cell { error: Some(self.forward_error), mark }
    }
}

struct Row {
    problem: Problem,
    /// One a column.
    answers: Vec<Answer>,
    lapack: Option<Answer>,
}

struct Table {
    source: &'static str,
    columns: Vec<(Method, bool)>,
    solvers: &'static [&'static str],
    rows: Vec<Row>,
}

impl Table {
    fn new(source: &'static str, solvers: &'static [&'static str], problems: Vec<Problem>, seed: u64) -> Self {
        let shape = problems.first().map_or(Shape::Banded { n: 0, lower: 0, upper: 0 }, |p| p.a.shape());
        let methods = Method::ALL.into_iter().filter(|m| *m != Method::Auto && m.solves(shape));
        let columns: Vec<_> = methods.flat_map(|method| [(method, false), (method, true)]).collect();
        let peer = Peer::lapack();
        let bar = progress::parts("matrix", problems.len());
        let problems = problems.into_iter().progress_with(bar);
        let rows = problems.map(|problem| Row::new(problem, &columns, peer.as_ref(), seed)).collect();
        Self { source, columns, solvers, rows }
    }

    fn write(&self, outputs: &TableOutputs, taken: bool) -> Result<(), Failure> {
        if let Some(path) = &outputs.json {
            report::write_json(path, &self.json())?;
        }
        if let Some(path) = &outputs.plot {
            heat_map::draw("Errors of every method: decimal exponents", &[self.part()]).write(path)?;
        }
        report::print_beside(&self.text(), taken)
    }

    /// As a part of a picture.
    fn part(&self) -> Part {
        let ours = |verified: bool| {
            let columns = self.columns.iter().enumerate().filter(move |(_, column)| column.1 == verified);
            columns.map(|(k, column)| Column {
                head: column.0.name().into(),
                cells: self.rows.iter().map(|row| row.answers[k].cell()).collect(),
            })
        };
        let none = Cell { error: None, mark: Mark::Failed };
        let lapack = |row: &Row| row.lapack.as_ref().map_or(none, Answer::cell);
        let lapack = Column { head: "LAPACK gbsv".into(), cells: self.rows.iter().map(lapack).collect() };
        let found = self.rows.iter().any(|row| row.lapack.is_some());
        let published = self.solvers.iter().enumerate().map(|(k, head)| Column {
            head: head.to_string(),
            cells: self.rows.iter().map(|row| Cell::published(row.problem.published[k])).collect(),
        });
        Part {
            title: format!("{}: forward error |x − x_true|₂ / |x_true|₂", self.source),
            rows: self.rows.iter().map(|row| (row.problem.name.clone(), row.problem.condition)).collect(),
            panels: vec![
                Panel { title: "unverified", columns: ours(false).chain(found.then_some(lapack)).collect() },
                Panel { title: "verified", columns: ours(true).collect() },
                Panel { title: "published", columns: published.collect() },
            ],
        }
    }

    /// The name of a column.
    fn head(&(method, verified): &(Method, bool)) -> String {
        format!("{}{}", method.name(), if verified { "" } else { " raw" })
    }

    fn text(&self) -> String {
        let heads: Vec<String> = self.columns.iter().map(Self::head).chain(["LAPACK gbsv".into()]).collect();
        let width = |head: &str| head.len().max(8) + 2;
        let mut text =
            format!("\n{}: forward error |x - x_true|_2 / |x_true|_2; on the right as published\n", self.source);
        text += &format!("{:10}{:>9}", "matrix", "cond.");
        heads.iter().for_each(|head| text += &format!("{head:>0$}", width(head)));
        text += " |";
        self.solvers.iter().for_each(|head| text += &format!("{head:>0$}", width(head)));
        text.push('\n');
        for row in &self.rows {
            let condition = row.problem.condition.map_or("-".into(), |c| format!("{c:.1e}"));
            text += &format!("{:10}{condition:>9}", row.problem.name);
            let answers = row.answers.iter().map(Some).chain([row.lapack.as_ref()]);
            for (head, answer) in heads.iter().zip(answers) {
                let cell = answer.map_or("- ".into(), |a| format!("{:.1e}{}", a.forward_error, a.mark));
                text += &format!("{cell:>0$}", width(head));
            }
            text += " |";
            for (head, error) in self.solvers.iter().zip(&row.problem.published) {
                let cell = if error.is_nan() { "-".into() } else { format!("{error:.1e}") };
                text += &format!("{cell:>0$}", width(head));
            }
            text.push('\n');
        }
        text + "\n+ refined, * solved again by the pivoted method, ! returned as an error, - no answer\n"
            + &self.summary()
    }

    /// A line for each column over all matrices.
    fn summary(&self) -> String {
        let mut text = format!("\n{:28}{:>22}{:>24}\n", "solver", "largest backward error", "within 10x of LAPACK");
        for (k, column) in self.columns.iter().enumerate() {
            let eta = largest(self.rows.iter().map(|row| row.answers[k].backward_error));
            let near = self.rows.iter().filter(|row| row.is_near(k)).count();
            text += &format!("{:28}{eta:>22.1e}{:>24}\n", Self::head(column), format!("{near} of {}", self.rows.len()));
        }
        text
    }

    fn json(&self) -> Value {
        let answer = |a: &Answer| json!({ "forward_error": a.forward_error, "backward_error": a.backward_error });
        let row = |row: &Row| {
            let ours = self.columns.iter().zip(&row.answers).map(|(column, a)| (Self::head(column), answer(a)));
            let published = self.solvers.iter().zip(&row.problem.published).map(|(s, e)| (s.to_string(), json!(e)));
            json!({
                "matrix": row.problem.name,
                "published_condition": row.problem.condition,
                "solvers": ours.collect::<serde_json::Map<_, _>>(),
                "lapack": row.lapack.as_ref().map(answer),
                "published": published.collect::<serde_json::Map<_, _>>(),
                "within_10x_of_lapack": (0..self.columns.len()).filter(|k| row.is_near(*k)).map(|k| Self::head(&self.columns[k]))
                    .collect::<Vec<_>>(),
            })
        };
        json!({ "table": self.source, "rows": self.rows.iter().map(row).collect::<Vec<_>>() })
    }
}

impl Row {
    fn new(problem: Problem, columns: &[(Method, bool)], peer: Option<&Peer>, seed: u64) -> Self {
        let band = problem.a.band();
        let x = x_true(band.n(), seed);
        let rhs = oracle::product(&band, &x);
        let judge = |y: &[f64], mark| Answer {
            forward_error: oracle::forward_error(y, &x),
            backward_error: oracle::backward_error(&band, &rhs, y),
            mark,
        };
        let answer = |(method, verify): &(Method, bool)| {
            let plan = Plan::new(problem.a.shape()).method(*method).verify(*verify);
            let mut y = vec![f64::NAN; rhs.len()];
            let mark = match problem.a.solve(&plan, &rhs, &mut y) {
                Err(_) => '!',
                Ok(report) if report.fallback => '*',
                Ok(report) if report.refinement_steps > 0 => '+',
                Ok(_) => ' ',
            };
            judge(&y, mark)
        };
        let answers = columns.iter().map(answer).collect();
        let lapack = peer.and_then(|peer| gbsv(&band, &rhs, peer)).map(|y| judge(&y, ' '));
        Row { problem, answers, lapack }
    }

    /// Whether an answer is at most ten times as wrong as LAPACK's, here or as published, whichever is worse.
    fn is_near(&self, column: usize) -> bool {
        let published = self.problem.published.first().copied().unwrap_or(f64::NAN);
        let lapack = self.lapack.as_ref().map_or(f64::NAN, |a| a.forward_error).max(published);
        let error = self.answers[column].forward_error;
        error <= 10.0 * lapack || lapack.is_nan()
    }
}

/// LAPACK's answer; `None` if it found no pivot.
fn gbsv(a: &Banded<'_, f64>, rhs: &[f64], peer: &Peer) -> Option<Vec<f64>> {
    let (n, lower, upper) = (a.n(), a.lower(), a.upper());
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
