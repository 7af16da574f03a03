//! `bandsolve poisson`: solve a Poisson or Helmholtz problem on a box, or a problem with two matrices per axis.

mod pencils;
mod picture;

use crate::args::PoissonArgs;
use bandsolve::RealScalar;
use bandsolve_poisson::{Boundary, BoundaryKind, Poisson, PoissonPlan, PoissonReport, PoissonScalar, SeparablePencils};
use bandsolve_program::exit::Failure;
use bandsolve_program::io::output;
use bandsolve_program::memory::{affordable, filled};
use bandsolve_program::options::{RealDtype, set_threads};
use bandsolve_program::{io, report};
use serde_json::{Value, json};
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Solve one problem.
///
/// # Errors
/// [`Failure`] with its exit code.
pub fn run(args: &PoissonArgs) -> Result<(), Failure> {
    args.out.as_deref().map_or(Ok(()), check_npy)?;
    let outputs = [("--out", &args.out), ("--plot", &args.plot), ("--json", &args.json)];
    let inputs: Vec<_> = args.rhs.iter().chain(&args.pencils).map(PathBuf::as_path).collect();
    let stdout_used = report::check_outputs(&outputs, &inputs)?;
    set_threads(args.threads)?;
    let asked = BoxProblem::of(args)?;
    match args.dtype {
        RealDtype::F32 => solve::<f32>(args, &asked, stdout_used),
        RealDtype::F64 => solve::<f64>(args, &asked, stdout_used),
    }
}

/// Check that u can be written to this file as .npy.
fn check_npy(out: &Path) -> Result<(), Failure> {
    if output::is_stdout(out) && std::io::stdout().is_terminal() {
        let why = "the command writes .npy, which a terminal cannot show. Redirect standard output to a file or a pipe";
        return Err(Failure::Usage(format!("--out {}: {why}", out.display())));
    }
    let fits = out.extension().is_some_and(|ending| ending == "npy");
    match fits || output::is_stdout(out) || output::is_stream(out) {
        true => Ok(()),
        false => Err(output::wrong_ending(("--out", out), &["npy"])),
    }
}

/// The problem.
enum BoxProblem {
    Differences(Poisson, Vec<usize>),
    Pencils(SeparablePencils, Vec<usize>),
}

impl BoxProblem {
    fn of(args: &PoissonArgs) -> Result<Self, Failure> {
        if args.pencils.is_empty() {
            return Ok(Self::Differences(problem(args)?, args.shape.clone()));
        }
        let (problem, shape) = pencils::problem(args)?;
        Ok(Self::Pencils(problem, shape))
    }

    fn shape(&self) -> &[usize] {
        match self {
            Self::Differences(_, shape) | Self::Pencils(_, shape) => shape,
        }
    }

    fn plan<T: PoissonScalar>(&self) -> bandsolve::Result<PoissonPlan<T>> {
        match self {
            Self::Differences(problem, _) => problem.plan(),
            Self::Pencils(problem, _) => problem.plan(),
        }
    }
}

fn solve<T: PoissonScalar>(args: &PoissonArgs, asked: &BoxProblem, stdout_used: bool) -> Result<(), Failure> {
    let shape = asked.shape();
    // f, u, and two arrays for iterative refinement.
    let count = affordable(&[shape, &[4]].concat(), size_of::<f64>());
    let count = count.map_err(|why| Failure::Usage(format!("{}: {why}", report::sizes(shape))))? / 4;
    let f: Vec<T> = match &args.rhs {
        Some(path) => io::read_field(path, shape)?.into_iter().map(from_f64).collect(),
        None => congruential(count).map_err(Failure::Other)?,
    };
    let started = Instant::now();
    let plan = asked.plan::<T>().map_err(explain)?;
    let setup = started.elapsed().as_secs_f64();
    let mut u = filled(from_f64::<T>(0.0), count).map_err(Failure::Other)?;
    let started = Instant::now();
    let solved = plan.solve_into(&f, &mut u).map_err(explain)?;
    let seconds = started.elapsed().as_secs_f64();
    if let Some(path) = &args.out {
        output::write_field(path, shape, &u)?;
    }
    let outcome =
        PoissonOutcome { args, shape, report: solved, seconds: [setup, seconds], extent: FieldExtent::of(&u) };
    if let Some(path) = &args.json {
        report::write_json(path, &outcome.json())?;
    }
    if let Some(path) = &args.plot {
        picture::draw(&outcome.title(), shape, &u).write(path)?;
    }
    report::print_beside(&outcome.text(), stdout_used)
}

/// Convert an error of the solver. The message names the option that helps.
fn explain(error: bandsolve::Error) -> Failure {
    match error {
        bandsolve::Error::Unsupported { .. } => Failure::Usage(error.to_string()),
        bandsolve::Error::Incompatible { .. } => Failure::Unsolved(format!("{error}. Use --removable to allow more")),
        other => other.into(),
    }
}

/// Round to the number type of the solve.
fn from_f64<T: PoissonScalar>(x: f64) -> T {
    <T as RealScalar>::from_f64(x)
}

/// The problem with second differences.
///
/// # Errors
/// [`Failure::Usage`] if an option has values for another number of axes.
pub fn problem(args: &PoissonArgs) -> Result<Poisson, Failure> {
    let axes = args.shape.len();
    let wrong = |option: &str, why: String| Failure::Usage(format!("{option}: {why}"));
    let boundaries = args.boundary.spread(axes).map_err(|why| wrong("--boundary", why))?;
    let grids = args.grid.spread(axes).map_err(|why| wrong("--grid", why))?;
    let spacings = args.spacing.spread(axes).map_err(|why| wrong("--spacing", why))?;
    let mut problem = Poisson::new(&args.shape).shift(args.shift).method(args.method);
    problem = problem.mean(args.mean).removable(args.removable);
    if let Some(threads) = args.threads {
        problem = problem.threads(usize::from(threads));
    }
    for axis in 0..axes {
        let [low, high] = boundaries[axis].0;
        problem = problem.axis_boundary(axis, low, high).axis_grid(axis, grids[axis].into());
        problem = problem.axis_spacing(axis, spacings[axis]);
    }
    Ok(problem)
}

/// Pseudo-random numbers from −1 to 1: 2x/2³¹ − 1 with x ← (1103515245·x + 12345) mod 2³¹, from x = 1.
///
/// # Errors
/// A message if too little memory is free.
fn congruential<T: PoissonScalar>(count: usize) -> Result<Vec<T>, String> {
    let mut values = filled(from_f64::<T>(0.0), count)?;
    let mut x: u32 = 1;
    for value in &mut values {
        x = x.wrapping_mul(1_103_515_245).wrapping_add(12_345) & 0x7fff_ffff;
        *value = from_f64(f64::from(x) / 2.0_f64.powi(30) - 1.0);
    }
    Ok(values)
}

/// Smallest value, largest value and sum of u.
struct FieldExtent {
    least: f64,
    most: f64,
    sum: f64,
}

impl FieldExtent {
    fn of<T: PoissonScalar>(u: &[T]) -> Self {
        let values = || u.iter().map(|value| value.to_f64());
        let (least, most) = values().fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), v| (a.min(v), b.max(v)));
        Self { least, most, sum: values().sum() }
    }
}

/// The result of the solve.
struct PoissonOutcome<'a> {
    args: &'a PoissonArgs,
    shape: &'a [usize],
    report: PoissonReport,
    seconds: [f64; 2],
    extent: FieldExtent,
}

impl PoissonOutcome<'_> {
    fn shape(&self) -> String {
        report::sizes(self.shape)
    }

    fn unknowns(&self) -> usize {
        self.shape.iter().product()
    }

    fn title(&self) -> String {
        match self.args.pencils.is_empty() {
            true if self.args.shift == 0.0 => format!("u of −Δu = f, {}", self.shape()),
            true => format!("u of (−Δ + {}) u = f, {}", self.args.shift, self.shape()),
            false => format!("u of a problem with two matrices per axis, {}", self.shape()),
        }
    }

    /// The boundary conditions of each axis, for second differences.
    fn boundaries(&self) -> Vec<[Boundary; 2]> {
        self.args
            .boundary
            .spread(self.args.shape.len())
            .map_or_else(|_| vec![], |all| all.iter().map(|pair| pair.0).collect())
    }

    /// The matrix file of each axis.
    fn pencils(&self) -> Vec<String> {
        self.args.pencils.iter().map(|file| file.display().to_string()).collect()
    }

    fn text(&self) -> String {
        let (report, n) = (&self.report, self.unknowns());
        let [setup, solve] = self.seconds;
        let per_point = if n > 0 { format!(", {:.1} ns per point", solve * 1e9 / n as f64) } else { String::new() };
        let mut lines = vec![
            ("problem", format!("{} points, shift {}", self.shape(), self.args.shift)),
            match self.args.pencils.is_empty() {
                true => {
                    ("boundary", self.boundaries().iter().map(|sides| of_axis(*sides)).collect::<Vec<_>>().join(", "))
                }
                false => ("matrices", self.pencils().join(", ")),
            },
            ("method", format!("{}: {}", report.method.name(), report.reason)),
            ("subproblems", report::counted(report.subproblems, "tridiagonal system")),
            ("backward error", report::error(Some(report.backward_error)) + &refined(report.refinement_steps)),
        ];
        if n > 0 {
            lines.push(("u", {
                let [least, most] = [self.extent.least, self.extent.most].map(report::shown);
                format!("from {least} to {most}")
            }));
        }
        if let Some(mean) = report.mean {
            lines.push((
                "singular",
                format!(
                    "{} was subtracted from f, and the mean of u is {}",
                    report::shown(report.removed),
                    report::shown(mean)
                ),
            ));
        }
        if report.rcond.is_finite() {
            lines.push(("reciprocal condition", format!("{:.1e}", report.rcond)));
        }
        lines.extend(report.attention.iter().map(|text| ("attention", text.to_string())));
        lines.push((
            "time",
            format!("{} to plan, {} to solve{per_point}", report::seconds(setup), report::seconds(solve)),
        ));
        format!("solved\n{}", report::columns(&lines))
    }

    fn json(&self) -> Value {
        let (report, n) = (&self.report, self.unknowns());
        let axes = self.args.shape.len();
        let spread = |values: Result<Vec<f64>, String>| values.unwrap_or_default();
        let grids = self.args.grid.spread(axes).unwrap_or_default();
        json!({
            "status": "solved",
            "shape": self.shape,
            "n": n,
            "pencils": self.pencils(),
            "boundary": self.boundaries().iter().map(|sides| sides.map(|s| s.kind.name())).collect::<Vec<_>>(),
            "boundary_coefficients": self.boundaries().iter().map(|sides| sides.map(|s| coefficients(s.kind))).collect::<Vec<_>>(),
            "boundary_values": self.boundaries().iter().map(|sides| sides.map(|s| s.value)).collect::<Vec<_>>(),
            "grid": grids.iter().map(|grid| bandsolve_poisson::Grid::from(*grid).name()).collect::<Vec<_>>(),
            "spacing": spread(self.args.spacing.spread(axes)),
            "shift": self.args.shift,
            "dtype": self.args.dtype.to_string(),
            "method": report.method.name(),
            "reason": &*report.reason,
            "backward_error": report.backward_error,
            "refinement_steps": report.refinement_steps,
            "subproblems": report.subproblems,
            "removed": report.removed,
            "mean": report.mean,
            "rcond": report.rcond,
            "attention": report.attention.as_deref(),
            "u_min": self.extent.least,
            "u_max": self.extent.most,
            "u_sum": self.extent.sum,
            "seconds_setup": self.seconds[0],
            "seconds": self.seconds[1],
            "points_per_second": n as f64 / self.seconds[1],
            "threads": self.args.threads.map_or_else(bandsolve_kernel::threads::count, usize::from),
        })
    }
}

/// The boundary conditions of an axis, as one word if both sides are alike.
fn of_axis(sides: [Boundary; 2]) -> String {
    let [low, high] = sides.map(side);
    if low == high { low } else { format!("{low}/{high}") }
}

/// α and β of a Robin side; `None` for other sides.
fn coefficients(kind: BoundaryKind) -> Option<[f64; 2]> {
    let BoundaryKind::Robin { alpha, beta } = kind else { return None };
    Some([alpha, beta])
}

/// A boundary condition in the report.
fn side(boundary: Boundary) -> String {
    let name = match boundary.kind {
        BoundaryKind::Robin { alpha, beta } => format!("robin:{alpha}:{beta}"),
        kind => kind.name().to_owned(),
    };
    if boundary.value == 0.0 { name } else { format!("{name}={}", boundary.value) }
}

fn refined(steps: usize) -> String {
    if steps == 0 { String::new() } else { format!(", after {}", report::counted(steps, "refinement step")) }
}
