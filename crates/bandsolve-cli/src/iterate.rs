//! `bandsolve iterate`: solve a sparse system with a preconditioned Krylov method.

use crate::args::{IterateArgs, SideName, SolverName};
use bandsolve::vectors::narrow;
use bandsolve::{Complex64, LinearOperator, Scalar, attention};
use bandsolve_bench::plot::{self, Axis, Picture, Svg};
use bandsolve_gallery::oracle::forward_error;
use bandsolve_program::csr::{csr, product, wave};
use bandsolve_program::exit::Failure;
use bandsolve_program::io::output::{self, Format};
use bandsolve_program::io::{self, DenseArray, Triplets};
use bandsolve_program::memory::{collected, filled};
use bandsolve_program::options::{RealDtype, set_threads};
use bandsolve_program::{progress, report};
use bandsolve_sparse::{
    Csr, DoubleScalar, Ending, IterationProgress, IterationReport, KrylovMethod, KrylovSolver, Preconditioner,
    PreconditionerKind, PreconditionerOptions, PreconditionerSide, PreparedProduct, SingleInverse,
};
use core::ops::ControlFlow;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Solve one sparse system.
///
/// # Errors
/// [`Failure`] with its exit code.
pub fn run(args: &IterateArgs) -> Result<(), Failure> {
    if let Some(out) = &args.out {
        Format::of("--out", out)?;
    }
    let outputs = [("--out", &args.out), ("--plot", &args.plot), ("--json", &args.json)];
    let inputs: Vec<&Path> = [&args.matrix].into_iter().chain(&args.rhs).map(PathBuf::as_path).collect();
    report::check_outputs(&outputs, &inputs)?;
    set_threads(args.threads)?;
    let matrix = args.operator.of(io::read_matrix(&args.matrix)?);
    let rhs = args.rhs.as_deref().map(|path| io::read_rhs(path, matrix.n_rows)).transpose()?;
    match matrix.values.is_complex() || rhs.as_ref().is_some_and(|rhs| rhs.values.is_complex()) {
        true => IterateTask { args }.run::<Complex64>(&matrix, rhs),
        false => IterateTask { args }.run::<f64>(&matrix, rhs),
    }
}

struct IterateTask<'a> {
    args: &'a IterateArgs,
}

/// The result of the iteration.
struct IterateOutcome {
    /// The requested or chosen solver.
    solver: SolverName,
    /// One report per right-hand side.
    reports: Vec<IterationReport>,
    /// The right-hand side with the largest residual among those that did not converge, or else among all.
    worst: usize,
    kind: PreconditionerKind,
    entries: usize,
    reason: String,
    forward_error: Option<f64>,
    /// Iterations in single precision, for iterative refinement.
    inner_iterations: Option<usize>,
    seconds: [f64; 2],
}

impl IterateOutcome {
    /// The report on the worst right-hand side.
    fn report(&self) -> &IterationReport {
        &self.reports[self.worst]
    }

    /// A warning if x is inaccurate although the residual is small.
    fn attention(&self) -> Option<String> {
        let reported = self.reports.iter().find_map(|report| report.attention.clone());
        reported.or_else(|| attention(f64::EPSILON, None, f64::NAN, self.forward_error))
    }
}

/// The preconditioner.
enum Inner<'a, T: DoubleScalar> {
    Double(Preconditioner<'a, T>),
    Single(SingleInverse<T>),
}

impl<T: DoubleScalar> Inner<'_, T> {
    /// The kind of the preconditioner, and the reason for the choice.
    fn facts(&self) -> (PreconditionerKind, &str) {
        match self {
            Self::Double(m) => (m.kind(), m.reason()),
            Self::Single(m) => (m.preconditioner().kind(), m.preconditioner().reason()),
        }
    }

    /// The method that `auto` chose with the preconditioner, or GMRES, which works with any preconditioner.
    fn method(&self) -> KrylovMethod {
        let chosen = match self {
            Self::Double(m) => m.method(),
            // Rounding makes a preconditioner in single precision slightly nonlinear.
            Self::Single(_) => None,
        };
        chosen.unwrap_or(KrylovMethod::Gmres { restart: 30 })
    }

    fn operator(&self) -> Option<&dyn LinearOperator<T>> {
        match self {
            Self::Double(m) if m.kind() == PreconditionerKind::Identity => None,
            Self::Double(m) => Some(m),
            Self::Single(m) => Some(m),
        }
    }
}

/// Relative tolerance of the inner iteration of a refinement step, which single precision reaches safely.
const REFINED: f64 = 1e-4;

impl IterateTask<'_> {
    fn run<T: DoubleScalar>(&self, matrix: &Triplets, rhs: Option<DenseArray>) -> Result<(), Failure> {
        let args = self.args;
        let a = csr::<T>(matrix)?;
        let known = rhs.is_none().then(|| wave::<T>(a.rows())).transpose()?;
        let rhs = match (rhs, &known) {
            (Some(file), _) => {
                collected((0..file.values.len()).map(|k| narrow(file.values.get(k)))).map_err(Failure::Input)?
            }
            (None, Some(x)) => product(&a, x)?,
            (None, None) => Vec::new(),
        };
        let mut x = filled(T::ZERO, rhs.len()).map_err(Failure::Input)?;
        let started = Instant::now();
        let m = self.inner(&a, &args.iteration.preconditioner()).map_err(|error| self.explain(&error))?;
        let operator = PreparedProduct::new(&a).map_err(|error| self.explain(&error))?;
        let setup = started.elapsed().as_secs_f64();
        let started = Instant::now();
        let reports = self.solve((&operator, &m), &rhs, &mut x).map_err(|error| self.explain(&error))?;
        let solve = started.elapsed().as_secs_f64();
        let rank = |report: &IterationReport| (!report.converged(), report.relative_residual());
        let worst = (0..reports.len()).max_by(|i, j| {
            let (one, other) = (rank(&reports[*i]), rank(&reports[*j]));
            // Of equal columns, the first.
            one.0.cmp(&other.0).then(one.1.total_cmp(&other.1)).then(j.cmp(i))
        });
        let worst = worst.unwrap_or(0);
        let chosen = match args.solver {
            SolverName::Auto => SolverName::Krylov(reports[worst].method),
            asked => asked,
        };
        let forward_error = known.map(|known| forward_error(&x, &known));
        let (kind, reason) = m.facts();
        let reason = if reason.is_empty() { "requested by name".into() } else { reason.to_string() };
        let inner_iterations = match (&m, args.solver) {
            (Inner::Single(m), SolverName::Refine(_)) => Some(m.iterations()),
            _ => None,
        };
        let (entries, seconds) = (a.entries(), [setup, solve]);
        let outcome = IterateOutcome {
            solver: chosen,
            reports,
            worst,
            kind,
            entries,
            reason,
            forward_error,
            inner_iterations,
            seconds,
        };
        self.finish(&outcome, a.rows(), &x)
    }

    /// Solve for each right-hand side.
    fn solve<T: DoubleScalar>(
        &self,
        (a, m): (&PreparedProduct<'_, T, u32>, &Inner<'_, T>),
        rhs: &[T],
        x: &mut [T],
    ) -> bandsolve::Result<Vec<IterationReport>> {
        let args = self.args;
        let side = if args.side == SideName::Left { PreconditionerSide::Left } else { PreconditionerSide::Right };
        let method = match args.solver {
            SolverName::Auto => m.method(),
            SolverName::Krylov(method) => method,
            SolverName::Refine(_) => KrylovMethod::Richardson { damping: 1.0 },
        };
        let solver = args.iteration.limited(KrylovSolver::new(method).rtol(args.rtol).atol(args.atol).side(side));
        let bar = progress::spinner();
        let n = a.rows().max(1);
        let count = (rhs.len() / n).max(1);
        let solve = |k: usize, (rhs, x): (&[T], &mut [T])| {
            let column = if count > 1 { format!("right-hand side {} of {count}, ", k + 1) } else { String::new() };
            let watch = &mut |at: IterationProgress<'_, T>| {
                if at.iteration.is_multiple_of(16) {
                    bar.set_message(format!(
                        "{column}iteration {}, residual {:.1e}, tolerance {:.1e}",
                        at.iteration, at.residual_norm, at.tolerance
                    ));
                }
                ControlFlow::Continue(())
            };
            match args.solver {
                SolverName::Auto => solver.solve_chosen(a, m.operator(), rhs, x, watch),
                _ => solver.solve_watched(a, m.operator(), rhs, x, watch),
            }
        };
        // A matrix without rows has one right-hand side without numbers.
        if rhs.is_empty() {
            return Ok(vec![solve(0, (rhs, x))?]);
        }
        rhs.chunks_exact(n).zip(x.chunks_exact_mut(n)).enumerate().map(|(k, column)| solve(k, column)).collect()
    }

    /// Set up the preconditioner in the requested precision. For iterative refinement, add the inner iteration.
    fn inner<'a, T: DoubleScalar>(
        &self,
        a: &'a Csr<'a, T, u32>,
        options: &PreconditionerOptions,
    ) -> bandsolve::Result<Inner<'a, T>> {
        let args = self.args;
        match args.solver {
            SolverName::Refine(method) => {
                let solver = KrylovSolver::new(method).rtol(REFINED);
                SingleInverse::new(a, args.precond, options).map(|m| Inner::Single(m.with_solver(solver)))
            }
            _ if args.precond_dtype == RealDtype::F32 => {
                SingleInverse::new(a, args.precond, options).map(Inner::Single)
            }
            _ => Preconditioner::new(a, args.precond, options).map(Inner::Double),
        }
    }

    fn explain(&self, error: &bandsolve::Error) -> Failure {
        match error {
            bandsolve::Error::Singular { row } => Failure::Unsolved(format!(
                "{}: cannot set up --precond {}: its factorization has no pivot in row {}. Try auto or none",
                self.args.operator.name_of(&self.args.matrix),
                self.args.precond,
                row + 1
            )),
            bandsolve::Error::Shape { what: "unknowns of the grid", expected, got } => Failure::Usage(format!(
                "--precond {}: the grid has {got} unknowns, but {} has {expected} rows. Pass a grid with as many unknowns",
                self.args.precond,
                self.args.operator.name_of(&self.args.matrix),
            )),
            bandsolve::Error::Unsupported { .. } | bandsolve::Error::Shape { .. } => Failure::Usage(error.to_string()),
            other => Failure::from(other.clone()),
        }
    }

    /// Write the requested outputs. If the iteration did not converge, x is the best iterate.
    fn finish<T: Scalar>(&self, outcome: &IterateOutcome, n: usize, x: &[T]) -> Result<(), Failure> {
        let args = self.args;
        if let Some(path) = &args.out {
            output::write_solution(path, Format::of("--out", path)?, n, x)?;
        }
        if let Some(path) = &args.json {
            report::write_json(path, &self.json(outcome, n))?;
        }
        if let Some(path) = &args.plot {
            self.draw(outcome).write(path)?;
        }
        let stdout = [&args.out, &args.json, &args.plot].iter().any(|path| report::is_stdout(path.as_deref()));
        let report = outcome.report();
        report::print_beside(&self.text(outcome, n), stdout)?;
        match report.ending {
            Ending::Converged => Ok(()),
            ending => {
                let hint = match (ending, outcome.solver) {
                    (Ending::Breakdown, SolverName::Krylov(KrylovMethod::Cg)) => {
                        "cg needs a Hermitian positive definite matrix and preconditioner; try gmres"
                    }
                    (Ending::IterationLimit, _) => "Try another --precond or --solver, or a larger --max-iterations",
                    _ => "Try another --precond or --solver",
                };
                let columns = outcome.reports.len();
                let column = match columns {
                    1 => String::new(),
                    _ => format!(", right-hand side {} of {columns}", outcome.worst + 1),
                };
                Err(Failure::Unsolved(format!(
                    "{}{column}: not converged ({ending}): relative residual {:.1e} after {}. {hint}",
                    args.operator.name_of(&args.matrix),
                    report.relative_residual(),
                    report::counted(report.iterations, "iteration"),
                )))
            }
        }
    }

    fn text(&self, outcome: &IterateOutcome, n: usize) -> String {
        let report = outcome.report();
        let [setup, solve] = outcome.seconds.map(report::seconds);
        let side = report
            .side
            .map_or("", |side| if side == PreconditionerSide::Left { ", applied from the left" } else { "" });
        let iterations = match outcome.inner_iterations {
            Some(inner) => format!("{}, {inner} in single precision", report.iterations),
            None => format!("{}, {}", report.iterations, report::counted(report.restarts, "restart")),
        };
        let mut lines = vec![
            (
                "system",
                format!(
                    "{}, {}",
                    report::counted(n, "unknown"),
                    report::counted(outcome.entries, "entry").replace("entrys", "entries")
                ),
            ),
            ("solver", outcome.solver.to_string()),
            ("preconditioner", format!("{}{}: {}{side}", outcome.kind, self.precision_said(), outcome.reason)),
        ];
        if outcome.reports.len() > 1 {
            let (count, worst) = (outcome.reports.len(), outcome.worst + 1);
            let converged = outcome.reports.iter().filter(|report| report.converged()).count();
            lines.push((
                "right-hand sides",
                format!("{count}, of which {converged} converged; the worst is number {worst}"),
            ));
        }
        lines.extend([
            ("iterations", iterations),
            (
                "residual",
                format!(
                    "{} relative to |b| (2-norm), computed from x",
                    report::error(Some(report.relative_residual()))
                ),
            ),
        ]);
        if let Some(error) = outcome.forward_error {
            lines.push(("forward error", format!("{error:.1e} against the known solution")));
        }
        lines.extend(outcome.attention().map(|text| ("attention", text)));
        lines.push(("time", format!("{setup} to set up, {solve} to solve")));
        format!("{} {}\n{}", report.ending, self.args.operator.name_of(&self.args.matrix), report::columns(&lines))
    }

    fn is_single(&self) -> bool {
        self.args.precond_dtype == RealDtype::F32 || matches!(self.args.solver, SolverName::Refine(_))
    }

    fn precision_said(&self) -> &'static str {
        if self.is_single() { " in single precision" } else { "" }
    }

    fn json(&self, outcome: &IterateOutcome, n: usize) -> Value {
        let report = outcome.report();
        let side = match report.side {
            None => Value::Null,
            Some(PreconditionerSide::Left) => "left".into(),
            Some(PreconditionerSide::Right) => "right".into(),
        };
        json!({
            "file": io::name(&self.args.matrix),
            "transpose": self.args.operator.json(),
            "n": n,
            "nnz": outcome.entries,
            "n_rhs": outcome.reports.len(),
            "worst_column": outcome.worst,
            "solver": outcome.solver.to_string(),
            "preconditioner": outcome.kind.to_string(),
            "precond_dtype": if self.is_single() { RealDtype::F32 } else { RealDtype::F64 }.to_string(),
            "side": side,
            "reason": outcome.reason,
            "status": report::status(report.converged()),
            "converged": report.converged(),
            "ending": report.ending.to_string(),
            "iterations": report.iterations,
            "inner_iterations": outcome.inner_iterations,
            "restarts": report.restarts,
            "residual": report.relative_residual(),
            "residuals": outcome.reports.iter().map(IterationReport::relative_residual).collect::<Vec<_>>(),
            "residual_norm": report.residual_norm,
            "rhs_norm": report.rhs_norm,
            "tolerance": report.tolerance,
            "forward_error": outcome.forward_error,
            "attention": outcome.attention(),
            "seconds_setup": outcome.seconds[0],
            "seconds": outcome.seconds[1],
            "threads": self.args.threads.map_or_else(bandsolve_kernel::threads::count, usize::from),
            "history": report.history.iter().map(|residual| report.relative(*residual)).collect::<Vec<_>>(),
        })
    }

    fn draw(&self, outcome: &IterateOutcome) -> Picture {
        let report = outcome.report();
        let name = io::short_name(&self.args.matrix);
        let title = format!("{name}: {} with {}", outcome.solver, outcome.kind);
        let history: Vec<f64> = report.history.iter().map(|residual| report.relative(*residual)).collect();
        draw_history(&title, &history, report.relative(report.tolerance))
    }
}

/// The value at which the plot shows a residual of 0.
const EXACT: f64 = 1e-17;
/// Pixels of the panel.
const SIZE: (f64, f64) = (520.0, 280.0);
const LEFT: f64 = 78.0;
const TOP: f64 = 64.0;

/// Draw the residual after each iteration, and the tolerance.
fn draw_history(title: &str, history: &[f64], tolerance: f64) -> Picture {
    let mut svg = Svg::default();
    svg.text((24.0, 32.0), "title", title);
    // The axis is logarithmic, so a residual of 0 needs another value.
    let exact = history.contains(&0.0);
    let history: Vec<f64> = history.iter().map(|value| if *value == 0.0 { EXACT } else { *value }).collect();
    let note = if exact { "; a residual of 0 is drawn as 1e-17" } else { "" };
    svg.text((24.0, 50.0), "soft", &format!("|b - A x| / |b| after each iteration; dashed line: tolerance{note}"));
    let axis = Axis::over(history.iter().copied().chain([tolerance]), SIZE.1);
    let height = |value: f64| TOP + SIZE.1 - axis.place(value);
    for tick in axis.ticks(34.0) {
        svg.line((LEFT, height(tick)), (LEFT + SIZE.0, height(tick)), r#"class="grid""#);
        svg.text((LEFT - 8.0, height(tick) + 4.0), "end", &format!("{tick:.0e}"));
    }
    let last = history.len().saturating_sub(1).max(1);
    let across = |iteration: usize| LEFT + SIZE.0 * iteration as f64 / last as f64;
    let step = [1, 2, 5].into_iter().cycle().zip([0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4]);
    let step = step.map(|(m, power)| m * 10_usize.pow(power)).find(|step| last / step <= 8).unwrap_or(last);
    for iteration in (0..=last).step_by(step) {
        svg.text((across(iteration), TOP + SIZE.1 + 18.0), "mid", &iteration.to_string());
    }
    svg.text((LEFT + SIZE.0 / 2.0, TOP + SIZE.1 + 38.0), "mid", "iteration");
    if tolerance > 0.0 {
        let ends = [(LEFT, height(tolerance)), (LEFT + SIZE.0, height(tolerance))];
        svg.line(ends[0], ends[1], r#"class="frame" stroke-dasharray="5 4""#);
    }
    let points = history.iter().enumerate().filter(|(_, v)| v.is_finite() && **v > 0.0);
    let points: Vec<_> = points.map(|(k, v)| (across(k), height(*v))).collect();
    svg.polyline(&points, r#"class="k0" stroke-width="1.6""#);
    if let [point] = points[..] {
        svg.circle(point, 3.0, r#"class="s0""#);
    }
    let width = (LEFT + SIZE.0 + 24.0).max(plot::title_length(title) + 48.0);
    svg.on_page((width, TOP + SIZE.1 + 56.0))
}
