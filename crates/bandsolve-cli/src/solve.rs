//! `bandsolve solve`: read a system, solve it and report.

use crate::args::{OrderName, Place, SolveArgs};
use crate::gpu::{self, Device, DeviceScalar, HostMatrix};
use crate::renumber::{Renumbered, Renumbering, Reordering};
use bandsolve::vectors::narrow;
use bandsolve::{Complex32, Complex64, Error, Factor, Factorize, Method, Plan, Report, Scalar, Shape, attention};
use bandsolve_gallery::Random;
use bandsolve_gallery::families::System;
use bandsolve_gallery::oracle::{self, MatrixRows, forward_error, round};
use bandsolve_program::exit::Failure;
use bandsolve_program::io::output::{self, Format};
use bandsolve_program::io::{self, DenseArray, Triplets};
use bandsolve_program::memory::{affordable, collected, filled};
use bandsolve_program::options::Dtype;
use bandsolve_program::options::set_threads;
use bandsolve_program::structure::{self, out_of_range};
use bandsolve_program::{progress, report};
use bandsolve_sparse::Structure;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Solve one system.
///
/// # Errors
/// [`Failure`] with its exit code.
pub fn run(args: &SolveArgs) -> Result<(), Failure> {
    check_outputs(args)?;
    // With one thread, the calling thread does all the work.
    set_threads(args.threads.filter(|threads| *threads > 1))?;
    let device = open_device(args)?;
    let started = Instant::now();
    let matrix = args.operator.of(io::read_matrix(&args.matrix)?);
    let rhs = args.rhs.as_deref().map(|path| io::read_rhs(path, matrix.n_rows)).transpose()?;
    let seconds_read = started.elapsed().as_secs_f64();
    let dtype = choose_dtype(args.dtype, &matrix, rhs.as_ref())?;
    let given = structure::structure(&matrix)?;
    // If a row or column contains only zeros, no renumbering is necessary.
    let reordering = match args.reorder {
        Some(OrderName::Rcm) if structure::check_not_empty(&given).is_ok() => Some(Reordering::rcm(&matrix, &given)?),
        _ => None,
    };
    let structure = reordering.as_ref().map_or(given, |reordering| reordering.structure().clone());
    let shape = match args.block {
        Some(block) => structure::block_shape(&matrix, block, args.periodic)?,
        None => structure::shape(&structure, args.periodic)?,
    };
    let job = SolveTask { args, device, dtype, structure, shape, reordering, seconds_read };
    job.check_not_empty(rhs.as_ref())?;
    match dtype {
        Dtype::F32 => job.run::<f32>(matrix, rhs),
        Dtype::F64 => job.run::<f64>(matrix, rhs),
        Dtype::C64 => job.run::<Complex32>(matrix, rhs),
        Dtype::C128 => job.run::<Complex64>(matrix, rhs),
    }
}

/// Return an error before the solve if an output cannot be written.
fn check_outputs(args: &SolveArgs) -> Result<(), Failure> {
    if let Some(out) = &args.out {
        Format::of("--out", out)?;
    }
    let inputs: Vec<&Path> = [&args.matrix].into_iter().chain(&args.rhs).map(PathBuf::as_path).collect();
    report::check_outputs(&[("--out", &args.out), ("--json", &args.json)], &inputs).map(|_| ())
}

/// The GPU to solve on, or `None` for the CPU.
fn open_device(args: &SolveArgs) -> Result<Option<Device>, Failure> {
    match &args.device {
        Place::Gpu(name) => gpu::open(name).map(Some),
        Place::Cpu => Ok(None),
    }
}

fn choose_dtype(wish: Option<Dtype>, matrix: &Triplets, rhs: Option<&DenseArray>) -> Result<Dtype, Failure> {
    let complex_file = match (matrix.values.is_complex(), rhs.is_some_and(|b| b.values.is_complex())) {
        (true, _) => Some("matrix"),
        (_, true) => Some("right-hand side"),
        _ => None,
    };
    match (wish, complex_file) {
        (None, None) => Ok(Dtype::F64),
        (None, Some(_)) => Ok(Dtype::C128),
        (Some(dtype), Some(what)) if !dtype.is_complex() => {
            Err(Failure::Usage(format!("--dtype {}: the {what} is complex. Use c64 or c128", dtype.name())))
        }
        (Some(dtype), _) => Ok(dtype),
    }
}

/// The task without the numbers of matrix and right-hand side.
struct SolveTask<'a> {
    args: &'a SolveArgs,
    device: Option<Device>,
    dtype: Dtype,
    structure: Structure,
    shape: Shape,
    reordering: Option<Reordering>,
    seconds_read: f64,
}

/// The result of the solve.
struct SolveOutcome {
    solved: Result<Report, Error>,
    n_rhs: usize,
    seconds: f64,
    forward_error: Option<f64>,
}

impl SolveOutcome {
    /// A warning if x is inaccurate although the backward error is small.
    fn attention(&self) -> Option<String> {
        let reported = self.solved.as_ref().ok().and_then(|report| report.attention.as_deref().map(String::from));
        let text = reported.or_else(|| attention(f64::EPSILON, None, f64::NAN, self.forward_error))?;
        Some(format!("{text}. `bandsolve info` estimates how close to singular the matrix is"))
    }
}

impl SolveTask<'_> {
    fn run<T: DeviceScalar>(&self, matrix: Triplets, rhs: Option<DenseArray>) -> Result<(), Failure> {
        structure::check_range::<T>(&matrix)?;
        let places = self.renumbering().map(Renumbering::places);
        let entries = Renumbered { matrix: &matrix, places };
        if let Shape::BlockTridiagonal { block, periodic, .. } = self.shape {
            let a = structure::assemble_blocks::<T>(&entries, block, periodic)?;
            drop(matrix);
            return self.solve(&a, rhs);
        }
        let system = structure::assemble::<T>(&entries, self.shape)?;
        drop(matrix);
        match &system {
            System::Tridiagonal(a) => self.solve(a, rhs),
            System::Banded(a) => self.solve(a, rhs),
        }
    }

    fn solve<T, M>(&self, a: &M, rhs: Option<DenseArray>) -> Result<(), Failure>
    where
        T: DeviceScalar,
        M: Factorize<Scalar = T> + MatrixRows<T> + HostMatrix<T>,
    {
        let plan = self.plan()?;
        let numbers = rhs.as_ref().map_or(self.structure.n, |rhs| rhs.values.len());
        let too_many = |why: String| Failure::Input(format!("{numbers} numbers of x are too many: {why}"));
        // Right-hand sides, solutions, and a copy of each. A known solution needs additional memory in twice the precision.
        let known_bytes = if rhs.is_some() { 0 } else { size_of::<f64>() * if T::COMPLEX { 4 } else { 2 } };
        affordable(&[numbers], 4 * size_of::<T>() + known_bytes).map_err(too_many)?;
        let known = match &rhs {
            None => Some(self.reordered(known_solution::<T>(self.structure.n, self.args.seed).map_err(too_many)?)?),
            Some(_) => None,
        };
        let rhs = match (&rhs, &known) {
            (Some(file), _) => self.reordered(convert_rhs(file)?)?,
            (None, Some(x)) => self.made_up(a, x)?,
            (None, None) => Vec::new(),
        };
        let mut x = filled(T::ZERO, rhs.len()).map_err(too_many)?;
        let waiting = progress::solving(x.len());
        let started = Instant::now();
        let solved = match &self.device {
            None => plan.factor(a).and_then(|factor| factor.solve_into(&rhs, &mut x)),
            Some(device) => gpu::factor(device, a, &plan).and_then(|factor| factor.solve_into(&rhs, &mut x)),
        };
        let solved = solved.map_err(|error| self.given(error));
        let seconds = started.elapsed().as_secs_f64();
        waiting.finish_and_clear();
        let forward_error = known.map(|known| forward_error(&x, &known));
        let n_rhs = rhs.len().checked_div(self.structure.n).unwrap_or(1);
        if let Some(stdout_used) = self.renumbering() {
            x = stdout_used.restored(&x).map_err(too_many)?;
        }
        self.finish(&plan, &SolveOutcome { solved, n_rhs, seconds, forward_error }, &x)
    }

    /// The order in which the system is solved, if it differs from the given order.
    fn renumbering(&self) -> Option<&Renumbering> {
        self.reordering.as_ref().and_then(Reordering::taken)
    }

    /// Convert the row numbers of an error to the given order.
    fn given(&self, error: Error) -> Error {
        match self.renumbering() {
            Some(stdout_used) => stdout_used.given(error),
            None => error,
        }
    }

    /// Copy columns to the order in which the system is solved.
    fn reordered<T: Scalar>(&self, columns: Vec<T>) -> Result<Vec<T>, Failure> {
        match self.renumbering() {
            Some(stdout_used) => stdout_used.reordered(&columns).map_err(Failure::Input),
            None => Ok(columns),
        }
    }

    /// Compute the right-hand side of a known solution.
    fn made_up<T: Scalar>(&self, a: &impl MatrixRows<T>, x: &[T]) -> Result<Vec<T>, Failure> {
        let rhs = oracle::product(a, x);
        match rhs.iter().all(|v| Scalar::is_finite(*v)) {
            true => Ok(rhs),
            false => Err(Failure::in_file(
                &io::name(&self.args.matrix),
                "the product of the matrix with a known solution overflows. Pass a right-hand side with --rhs",
            )),
        }
    }

    /// Return an error, like for other singular matrices, if a row or column contains only zeros.
    fn check_not_empty(&self, rhs: Option<&DenseArray>) -> Result<(), Failure> {
        let Err(reason) = structure::check_not_empty(&self.structure) else { return Ok(()) };
        let failure = Failure::Unsolved(format!("{}: {reason}", self.name()));
        if let Some(path) = &self.args.json {
            let row = self.structure.empty_row.or(self.structure.empty_column).unwrap_or(0);
            let n_rhs = rhs.map_or(1, |b| b.n_cols);
            let solved = Err(Error::Singular { row });
            let mut json = self.json(&self.plan()?, &SolveOutcome { solved, n_rhs, seconds: 0.0, forward_error: None });
            json["error"] = reason.to_string().into();
            json["rows_per_second"] = Value::Null;
            report::write_json(path, &json)?;
        }
        Err(failure)
    }

    fn plan(&self) -> Result<Plan, Failure> {
        let args = self.args;
        let mut plan = Plan::once(self.shape).method(args.method).pivoting(args.pivoting);
        if let Some(threads) = args.threads {
            plan = plan.threads(usize::from(threads));
        }
        if let Some(device) = &self.device {
            return gpu::plan(device, &plan).map_err(|error| self.explain(&error));
        }
        if args.method != Method::Auto && plan.chosen_method() != args.method {
            let (method, kind) = (args.method.name(), structure::kind(self.shape));
            return Err(Failure::Usage(format!("--method {method} cannot solve a {kind} system. Use --method auto")));
        }
        Ok(plan)
    }

    /// Write the requested outputs: the reports in any case, and x only if the solve succeeded.
    fn finish<T: Scalar>(&self, plan: &Plan, outcome: &SolveOutcome, x: &[T]) -> Result<(), Failure> {
        let args = self.args;
        if let (Some(path), Ok(_)) = (&args.out, &outcome.solved) {
            output::write_solution(path, Format::of("--out", path)?, self.structure.n, x)?;
        }
        if let Some(path) = &args.json {
            report::write_json(path, &self.json(plan, outcome))?;
        }
        let solved = outcome.solved.as_ref().map_err(|e| self.explain(e))?;
        let stdout_used = report::is_stdout(args.out.as_deref()) || report::is_stdout(args.json.as_deref());
        report::print_beside(&self.text(solved, outcome), stdout_used)
    }

    fn explain(&self, error: &Error) -> Failure {
        if let (Error::Unsupported { .. }, Place::Gpu(name)) = (error, &self.args.device) {
            return Failure::Usage(format!("--device {name}: {error}. Leave out --device to solve on the CPU"));
        }
        let advice = match error.cause() {
            Error::Singular { .. } => "The solution is not unique, or does not exist. Check the matrix",
            Error::NotDefinite { .. } => "Leave out --method, so that bandsolve chooses a method for such matrices",
            Error::NotConverged { .. } => "`bandsolve info` estimates how close to singular the matrix is",
            _ => "",
        };
        match (Failure::from(error.clone()), advice) {
            (Failure::Unsolved(text), advice) => Failure::Unsolved(format!("{}: {text}. {advice}", self.name())),
            (other, _) => other,
        }
    }

    fn text(&self, solved: &Report, outcome: &SolveOutcome) -> String {
        let system = format!(
            "{}, {}, {}, {}{}",
            structure::kind(self.shape),
            report::counted(self.structure.n, "unknown"),
            self.dtype.name(),
            self.bands(),
            self.corner_note()
        );
        let order = self.reordering.as_ref().map(|reordering| ("order", reordering.text()));
        let steps = report::counted(solved.refinement_steps, "refinement step");
        let fallback = if solved.fallback { ", with a fallback to the sequential pivoted method" } else { "" };
        let rate = self.rows_per_second(outcome);
        let mut lines = vec![("system", system)];
        lines.extend(order);
        lines.extend([
            ("method", format!("{}: {}", solved.method.name(), solved.reason)),
            ("backward error", format!("{} after {steps}{fallback}", report::error(Some(solved.backward_error)))),
        ]);
        if let Some(error) = outcome.forward_error {
            lines.push(("forward error", format!("{error:.1e} against the known solution")));
        }
        let columns = report::counted(outcome.n_rhs, "right-hand side");
        let copies = if self.device.is_some() { ", including copies to the device and back" } else { "" };
        let time = report::seconds(outcome.seconds);
        lines.push(("time", format!("{time} for {columns}, {}{copies}", report::rate(rate))));
        lines.extend(outcome.attention().map(|text| ("attention", text)));
        format!("solved {}\n{}", self.name(), report::columns(&lines))
    }

    /// The bandwidths, or the size of the blocks.
    fn bands(&self) -> String {
        let (lower, upper) = self.structure.diagonals_in(self.shape);
        match self.shape {
            Shape::BlockTridiagonal { block, .. } => format!("blocks of {}", report::counted(block, "row")),
            _ => report::bands(lower, upper),
        }
    }

    /// The matrix in messages.
    fn name(&self) -> String {
        self.args.operator.name_of(&self.args.matrix)
    }

    fn corner_note(&self) -> &'static str {
        match structure::is_periodic(self.shape) {
            true if self.args.periodic => ", periodic",
            true => ", periodic because of its corner entries",
            false => "",
        }
    }

    fn rows_per_second(&self, outcome: &SolveOutcome) -> f64 {
        (self.structure.n * outcome.n_rhs) as f64 / outcome.seconds
    }

    fn json(&self, plan: &Plan, outcome: &SolveOutcome) -> Value {
        let (lower, upper) = self.structure.diagonals_in(self.shape);
        let solved = outcome.solved.as_ref().ok();
        json!({
            "file": io::name(&self.args.matrix),
            "status": status(&outcome.solved),
            "error": outcome.solved.as_ref().err().map(|error| Failure::from(error.clone()).to_string()),
            "kind": structure::kind(self.shape),
            "method": solved.map_or(plan.chosen_method(), |r| r.method).name(),
            "reason": solved.map_or(plan.reason(), |r| &r.reason),
            "device": self.device.as_ref().map_or("cpu".into(), gpu::name),
            "pivoting": self.args.pivoting.name(),
            "n": self.structure.n,
            "lower": lower,
            "upper": upper,
            "block": self.args.block,
            "periodic": structure::is_periodic(self.shape),
            "transpose": self.args.operator.json(),
            "reordering": self.reordering.as_ref().map(Reordering::json),
            "n_rhs": outcome.n_rhs,
            "dtype": self.dtype.name(),
            "threads": self.args.threads.map_or_else(bandsolve_kernel::threads::count, usize::from),
            "backward_error": backward_error(&outcome.solved),
            "backward_errors": solved.map(|r| r.backward_errors.to_vec()),
            "refinement_steps": refinement_steps(&outcome.solved),
            "fallback": solved.map(|r| r.fallback),
            "pivot_growth": solved.and_then(|r| r.pivot_growth),
            "forward_error": outcome.forward_error,
            "attention": outcome.attention(),
            "seconds": outcome.seconds,
            "rows_per_second": self.rows_per_second(outcome),
            "seconds_read": self.seconds_read,
        })
    }
}

fn status(solved: &Result<Report, Error>) -> &'static str {
    match solved.as_ref().map_err(Error::cause) {
        Ok(_) => "solved",
        Err(Error::Singular { .. }) => "singular",
        Err(Error::NotDefinite { .. }) => "not definite",
        Err(Error::NotConverged { .. }) => "not converged",
        Err(_) => "failed",
    }
}

fn backward_error(solved: &Result<Report, Error>) -> Option<f64> {
    match solved.as_ref().map_err(Error::cause) {
        Ok(report) => Some(report.backward_error),
        Err(Error::NotConverged { backward_error, .. }) => Some(*backward_error),
        Err(_) => None,
    }
}

/// A random solution: each real and imaginary part is normally distributed with mean 3 and standard deviation 1.
fn known_solution<T: Scalar>(n: usize, seed: u64) -> Result<Vec<T>, String> {
    let mut random = Random::new(seed);
    let mut part = || random.normal(3.0, 1.0);
    collected((0..n).map(|_| if T::COMPLEX { round(part(), part()) } else { round(part(), 0.0) }))
}

fn refinement_steps(solved: &Result<Report, Error>) -> Option<usize> {
    match solved.as_ref().map_err(Error::cause) {
        Ok(report) => Some(report.refinement_steps),
        Err(Error::NotConverged { refinement_steps, .. }) => Some(*refinement_steps),
        Err(_) => None,
    }
}

fn convert_rhs<T: Scalar>(file: &DenseArray) -> Result<Vec<T>, Failure> {
    let rhs: Vec<T> = collected((0..file.values.len()).map(|k| narrow(file.values.get(k)))).map_err(Failure::Input)?;
    match rhs.iter().position(|v| !Scalar::is_finite(*v)) {
        Some(k) => Err(out_of_range::<T>("the right-hand side", k % file.n_rows, k / file.n_rows)),
        None => Ok(rhs),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bandsolve_program::io::{Numbers, Symmetry};

    fn matrix(complex: bool) -> Triplets {
        let values = Numbers::new(complex);
        Triplets {
            n_rows: 0,
            n_cols: 0,
            rows: vec![],
            cols: vec![],
            values,
            symmetry: Symmetry::General,
            pattern: false,
        }
    }

    #[test]
    fn the_default_number_type_depends_on_the_files() {
        let rhs = DenseArray { n_rows: 0, n_cols: 1, values: Numbers::new(true) };
        assert_eq!(choose_dtype(None, &matrix(false), None).unwrap(), Dtype::F64);
        assert_eq!(choose_dtype(None, &matrix(true), None).unwrap(), Dtype::C128);
        assert_eq!(choose_dtype(None, &matrix(false), Some(&rhs)).unwrap(), Dtype::C128);
        assert_eq!(choose_dtype(Some(Dtype::C64), &matrix(false), None).unwrap(), Dtype::C64);
        assert!(choose_dtype(Some(Dtype::F64), &matrix(true), None).is_err());
        assert!(choose_dtype(Some(Dtype::F32), &matrix(false), Some(&rhs)).is_err());
    }
}
