//! `bandsolve bench iterate`: set-up time and solve time of every preconditioner for one sparse system.

use crate::args::BenchIterateArgs;
use crate::machine::MachineFacts;
use crate::results::{self, Results};
use crate::setup::{self, show};
use crate::sheet::{Line, Sheet, SheetColumn, THREADS, column};
use crate::spans::{SpanChart, SpanLine, SpanPanel};
use bandsolve::dyn_stack::{PodStack, StackReq};
use bandsolve::{Complex64, LinearOperator, Op, Scalar};
use bandsolve_gallery::oracle::forward_error;
use bandsolve_program::csr::{csr, product, wave};
use bandsolve_program::exit::Failure;
use bandsolve_program::memory::affordable;
use bandsolve_program::names::suggesting;
use bandsolve_program::options::set_threads;
use bandsolve_program::{io, progress, report};
use bandsolve_sparse::{
    Csr, IterationReport, KrylovMethod, KrylovSolver, MODEL_PROBLEMS, PRECONDITIONERS, Preconditioner,
    PreconditionerKind,
};
use core::sync::atomic::{AtomicUsize, Ordering};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// Measure one matrix.
///
/// # Errors
/// [`Failure::Usage`] if the model problem is unknown or too large, [`Failure::Input`] if the file is invalid, [`Failure::Other`] if the
/// report cannot be written.
pub fn run(args: &BenchIterateArgs) -> Result<(), Failure> {
    let stdout_used = results::stdout_is_used(&args.measure, args.matrix.as_deref())?;
    set_threads(args.threads)?;
    let Some(path) = &args.matrix else {
        return model(args)?.run(stdout_used);
    };
    let file = io::read_matrix(path)?;
    if file.n_rows == 0 {
        return Err(Failure::in_file(&io::name(path), "the matrix has no rows"));
    }
    let (name, grid) = (io::short_name(path), args.grid);
    match file.values.is_complex() {
        true => IterationBench { args, name, a: csr::<Complex64>(&file)?, grid }.run(stdout_used),
        false => IterationBench { args, name, a: csr::<f64>(&file)?, grid }.run(stdout_used),
    }
}

/// Number of unknowns per grid row, and number of rows.
type GridSides = (usize, usize);

/// A model problem, with its grid if the unknowns are numbered along the grid rows.
fn model(args: &BenchIterateArgs) -> Result<IterationBench<'_, f64>, Failure> {
    let name = &args.model;
    let Some(problem) = MODEL_PROBLEMS.iter().find(|problem| problem.name == name) else {
        let known: Vec<_> = MODEL_PROBLEMS.iter().map(|problem| problem.name).collect();
        let why = format!("unknown model problem `{name}`. Choose one of: {}", known.join(", "));
        return Err(Failure::Usage(suggesting(name, why)));
    };
    let spatial = name.ends_with("3d");
    let usual = match (args.measure.quick, spatial) {
        (true, true) => 8,
        (true, false) => 30,
        (false, true) => 40,
        (false, false) => 300,
    };
    let n = args.n.unwrap_or(usual);
    let unknowns = (n as u128).pow(if spatial { 3 } else { 2 });
    if unknowns > 1 << 26 {
        return Err(Failure::Usage(format!(
            "--n {n}: the model problem has {unknowns} unknowns, more than 2^26. Pass a smaller --n"
        )));
    }
    // At most 9 or 27 entries per row. Each entry takes 40 bytes in the list of triplets and in the matrix by rows together.
    affordable(&[unknowns as usize, if spatial { 27 } else { 9 }], 40)
        .map_err(|why| Failure::Usage(format!("--n {n}: {unknowns} unknowns are too many: {why}")))?;
    // The unknowns of aniso3 are numbered along diagonals.
    let grid = (!spatial && name != "aniso3").then_some((n, n));
    Ok(IterationBench { args, name: format!("{name} {n}"), a: (problem.make)(n), grid: args.grid.or(grid) })
}

/// All preconditioners. Those with a number get 2 and 4, and `amg-lines` also gets 1, its default. `adi` requires a grid.
fn all_preconditioners(grid: Option<GridSides>) -> Vec<PreconditionerKind> {
    let expanded = PRECONDITIONERS.split(", ").flat_map(|name| match name.split_once(':') {
        None => vec![name.to_string()],
        Some((name, "NXxNY")) => grid.map(|(columns, rows)| format!("{name}:{columns}x{rows}")).into_iter().collect(),
        Some((name, number)) => {
            let rest = number.split_once(':').map_or(String::new(), |(_, rest)| format!(":{rest}"));
            let numbers: &[u8] = if name == "amg-lines" { &[1, 2, 4] } else { &[2, 4] };
            numbers.iter().map(|number| format!("{name}:{number}{rest}")).collect()
        }
    });
    expanded.map(|name| name.parse().expect("a name of the list")).collect()
}

/// One matrix and the settings of its benchmark.
struct IterationBench<'a, T: Scalar> {
    args: &'a BenchIterateArgs,
    name: String,
    a: Csr<'static, T, u32>,
    grid: Option<GridSides>,
}

/// The results of one preconditioner with one Krylov method.
struct IterationRow {
    asked: String,
    /// The preconditioner that `auto` chose, and the reason.
    choice: Option<(String, String)>,
    /// Set-up time and solve time of every repetition.
    seconds: Vec<[f64; 2]>,
    /// The result, which is the same in every repetition, or the error.
    outcome: Result<IterationOutcomeFacts, String>,
}

/// The part of a result that is the same in every repetition.
struct IterationOutcomeFacts {
    report: IterationReport,
    products: usize,
    applications: usize,
    forward_error: f64,
}

impl<T: Scalar> IterationBench<'_, T> {
    fn run(&self, stdout_used: bool) -> Result<(), Failure> {
        let machine = MachineFacts::here();
        report::print_beside(&machine.text(None), stdout_used)?;
        let kinds = self.args.precond.clone().unwrap_or_else(|| all_preconditioners(self.grid));
        let x = wave::<T>(self.a.rows())?;
        let rhs = product(&self.a, &x)?;
        let bar = progress::parts("solver", self.args.solver.len());
        let (mut found, mut sheets, mut panels) = (Vec::new(), Vec::new(), Vec::new());
        for method in &self.args.solver {
            let rows = self.measure(*method, &kinds, (&rhs, &x));
            let sheet = self.sheet(*method, &rows);
            show(&sheet.text(), stdout_used, &bar)?;
            found.extend(rows.iter().map(|row| row.json(&self.facts(*method))));
            let spans = rows.iter().map(IterationRow::span).collect();
            panels.push(SpanPanel { title: method.to_string(), spans });
            sheets.push(sheet);
        }
        let title = format!("{}: set-up time and solve time (ms), tolerance {:.0e}", self.name, self.args.rtol);
        let chart = SpanChart { title, machine: machine.summary(), panels };
        Results::here("iterate", &machine, None, found, sheets).write(&self.args.measure, || Some(chart.draw()))
    }

    /// Run every preconditioner once. Then repeat, in turns, those that have not used up their share of the time.
    fn measure(&self, method: KrylovMethod, kinds: &[PreconditionerKind], system: (&[T], &[T])) -> Vec<IterationRow> {
        let budget = setup::budget(&self.args.measure);
        let share = budget.seconds / kinds.len().max(1) as f64;
        let mut rows: Vec<_> = kinds.iter().map(|kind| self.once(method, *kind, system)).collect();
        let unfinished = |row: &IterationRow| {
            let used: f64 = row.seconds.iter().flatten().sum();
            row.outcome.is_ok() && used < share && row.seconds.len() < MOST_REPETITIONS
        };
        while rows.iter().any(unfinished) {
            for (row, kind) in rows.iter_mut().zip(kinds).filter(|(row, _)| unfinished(row)) {
                let again = self.once(method, *kind, system);
                row.seconds.extend(again.seconds);
                row.outcome = again.outcome;
            }
        }
        rows
    }

    fn once(&self, method: KrylovMethod, kind: PreconditionerKind, (rhs, known): (&[T], &[T])) -> IterationRow {
        let asked = kind.to_string();
        let options = self.args.iteration.preconditioner();
        let started = Instant::now();
        let m = match Preconditioner::new(&self.a, kind, &options) {
            Ok(m) => m,
            Err(error) => {
                return IterationRow {
                    asked,
                    choice: None,
                    seconds: vec![],
                    outcome: Err(format!("set-up failed: {}", why(&error))),
                };
            }
        };
        let setup = started.elapsed();
        let choice = (!m.reason().is_empty()).then(|| (m.kind().to_string(), m.reason().to_string()));
        let solver = self.args.iteration.limited(KrylovSolver::new(method).rtol(self.args.rtol));
        let (a, inverse) = (Counted::new(&self.a), Counted::new(&m));
        let given = (m.kind() != PreconditionerKind::Identity).then_some(&inverse as &dyn LinearOperator<T>);
        let mut x = vec![T::ZERO; rhs.len()];
        let started = Instant::now();
        let solved = solver.solve(&a, given, rhs, &mut x);
        let seconds = vec![[setup, started.elapsed()].map(|time: Duration| time.as_secs_f64())];
        let outcome = solved.map_err(|error| why(&error)).map(|report| IterationOutcomeFacts {
            report,
            products: a.count(),
            applications: inverse.count(),
            forward_error: forward_error(&x, known),
        });
        IterationRow { asked, choice, seconds, outcome }
    }

    fn facts(&self, method: KrylovMethod) -> Value {
        json!({
            "matrix": self.name,
            "n": self.a.rows(),
            "nnz": self.a.entries(),
            "solver": method.to_string(),
            "rtol": self.args.rtol,
            "threads": self.threads(),
        })
    }

    fn threads(&self) -> usize {
        self.args.threads.map_or_else(bandsolve_kernel::threads::count, usize::from)
    }

    fn sheet(&self, method: KrylovMethod, rows: &[IterationRow]) -> Sheet {
        let (n, entries) = (self.a.rows(), self.a.entries());
        Sheet {
            title: format!(
                "{}: {n} unknowns, {entries} entries; solver {method}, tolerance {:.0e}",
                self.name, self.args.rtol
            ),
            columns: vec![
                SheetColumn { width: 16, ..column("precond", 16, "the preconditioner") },
                THREADS,
                column("set-up ms", 10, "median time to set up the preconditioner, in milliseconds"),
                column("solve ms", 10, "median time of the iteration, in milliseconds"),
                column("iterations", 10, "number of iterations"),
                column("products", 9, "number of products with the matrix"),
                column("applied", 9, "number of preconditioner applications"),
                column("residual", 9, "|b - A x| / |b| in the 2-norm, computed from x"),
            ],
            lines: rows.iter().map(|row| row.line(self.threads())).collect(),
        }
    }
}

/// Maximum number of repetitions per row, which is enough for a median.
const MOST_REPETITIONS: usize = 99;

fn why(error: &bandsolve::Error) -> String {
    match error {
        bandsolve::Error::Singular { row } => format!("no pivot in row {}", row + 1),
        other => other.to_string(),
    }
}

impl IterationRow {
    /// Medians of set-up time and solve time.
    fn medians(&self) -> Option<[f64; 2]> {
        (!self.seconds.is_empty()).then(|| {
            [0, 1].map(|part| {
                let mut times: Vec<f64> = self.seconds.iter().map(|pair| pair[part]).collect();
                times.sort_by(f64::total_cmp);
                times[times.len() / 2]
            })
        })
    }

    /// How the iteration ended, or `None` if it converged.
    fn trouble(&self) -> Option<String> {
        match &self.outcome {
            Ok(facts) if facts.report.converged() => None,
            Ok(facts) => Some(facts.report.ending.to_string()),
            Err(error) => Some(error.clone()),
        }
    }

    fn line(&self, threads: usize) -> Line {
        let times = self.medians().map(|times| times.map(|seconds| format!("{:.3}", 1e3 * seconds)));
        let [setup, solve] = times.unwrap_or(["-".into(), "-".into()]);
        let counts = match &self.outcome {
            Ok(facts) => {
                let counts = [facts.report.iterations, facts.products, facts.applications];
                let residual = format!("{:.1e}", facts.report.relative_residual());
                counts.iter().map(usize::to_string).chain([residual]).collect()
            }
            Err(_) => vec!["-".to_string(); 4],
        };
        let chosen = self.choice.as_ref().map(|(kind, _)| kind).filter(|kind| **kind != self.asked);
        let notes = self.trouble().into_iter().chain(chosen.map(|kind| format!("chose {kind}")));
        Line {
            cells: [self.asked.clone(), threads.to_string(), setup, solve].into_iter().chain(counts).collect(),
            note: notes.collect::<Vec<_>>().join("; "),
        }
    }

    fn span(&self) -> SpanLine {
        let iterations = self.outcome.as_ref().ok().map(|facts| facts.report.iterations);
        let note = match (self.trouble(), iterations) {
            (None, Some(count)) => report::counted(count, "iteration"),
            (Some(trouble), Some(count)) => format!("{trouble}, {}", report::counted(count, "iteration")),
            (trouble, None) => trouble.unwrap_or_default(),
        };
        let times = self.medians().map(|times| times.map(|seconds| 1e3 * seconds));
        SpanLine { name: self.asked.clone(), times, note, failed: self.trouble().is_some() }
    }

    fn json(&self, system: &Value) -> Value {
        let facts = self.outcome.as_ref().ok();
        let report = facts.map(|facts| &facts.report);
        let times = self.medians();
        let mut row = json!({
            "preconditioner": self.asked,
            "made": self.choice.as_ref().map_or(&self.asked, |(kind, _)| kind),
            "reason": self.choice.as_ref().map(|(_, reason)| reason),
            "seconds_setup": times.map(|times| times[0]),
            "seconds": times.map(|times| times[1]),
            "repetitions": self.seconds.len(),
            "converged": report.is_some_and(IterationReport::converged),
            "ending": report.map(|report| report.ending.to_string()),
            "iterations": report.map(|report| report.iterations),
            "restarts": report.map(|report| report.restarts),
            "products": facts.map(|facts| facts.products),
            "applications": facts.map(|facts| facts.applications),
            "residual": report.map(IterationReport::relative_residual),
            "forward_error": facts.map(|facts| facts.forward_error),
            "error": self.outcome.as_ref().err(),
        });
        let fields = row.as_object_mut().expect("an object");
        fields.extend(system.as_object().cloned().into_iter().flatten());
        row
    }
}

/// An operator that counts its applications.
struct Counted<'a, T> {
    operator: &'a dyn LinearOperator<T>,
    count: AtomicUsize,
}

impl<'a, T: Scalar> Counted<'a, T> {
    fn new(operator: &'a dyn LinearOperator<T>) -> Self {
        Self { operator, count: AtomicUsize::new(0) }
    }

    fn count(&self) -> usize {
        self.count.load(Ordering::Relaxed)
    }

    fn next(&self) -> &'a dyn LinearOperator<T> {
        self.count.fetch_add(1, Ordering::Relaxed);
        self.operator
    }
}

impl<T: Scalar> LinearOperator<T> for Counted<'_, T> {
    fn rows(&self) -> usize {
        self.operator.rows()
    }

    fn columns(&self) -> usize {
        self.operator.columns()
    }

    fn apply_scratch(&self) -> StackReq {
        self.operator.apply_scratch()
    }

    fn apply(&self, x: &[T], y: &mut [T], stack: &mut PodStack) -> bandsolve::Result<()> {
        self.next().apply(x, y, stack)
    }

    fn apply_op(&self, op: Op, x: &[T], y: &mut [T], stack: &mut PodStack) -> bandsolve::Result<()> {
        self.next().apply_op(op, x, y, stack)
    }

    fn residual(&self, x: &[T], rhs: &[T], r: &mut [T], stack: &mut PodStack) -> bandsolve::Result<()> {
        self.next().residual(x, rhs, r, stack)
    }

    fn accurate_residual(
        &self,
        x: &[T],
        rhs: &[T],
        r: &mut [T],
        stack: &mut PodStack,
    ) -> bandsolve::Result<Option<f64>> {
        self.next().accurate_residual(x, rhs, r, stack)
    }

    fn changes(&self) -> bool {
        self.operator.changes()
    }

    fn apply_step(&self, step: usize, x: &[T], y: &mut [T], stack: &mut PodStack) -> bandsolve::Result<()> {
        self.next().apply_step(step, x, y, stack)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_preconditioner_of_the_list_is_tried() {
        let names: Vec<String> = all_preconditioners(Some((4, 5))).iter().map(ToString::to_string).collect();
        for name in [
            "auto",
            "none",
            "jacobi",
            "forest",
            "alt-i:2",
            "mos-a:4:scaled",
            "ilu-isai:2",
            "adi:4x5",
            "amg-lines:1",
            "amg-lines:4",
        ] {
            assert!(names.iter().any(|own| own == name), "{name} in {names:?}");
        }
        assert_eq!(all_preconditioners(None).len() + 1, names.len());
    }
}
