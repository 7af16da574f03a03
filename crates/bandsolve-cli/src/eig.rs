//! `bandsolve eig`: find some eigenvalues of a matrix or a pencil.

use crate::args::{EigArgs, WhichName};
use bandsolve::vectors::{narrow, widen};
use bandsolve::{Banded, BlockTridiagonal, Complex64, LinearOperator, Method, Plan, Scalar, Shape, Tridiagonal};
use bandsolve_eigen::{
    EigenProblem, EigenReport, EigenSolver, GeneralEigen, HermitianEigen, MatrixOperator, ShiftableMatrix,
    SparseHermitian, SparsePencil, Which,
};
use bandsolve_gallery::families::System;
use bandsolve_program::csr::csr;
use bandsolve_program::exit::Failure;
use bandsolve_program::io::output::{self, Format};
use bandsolve_program::io::{self, Triplets};
use bandsolve_program::options::set_threads;
use bandsolve_program::{progress, report, structure};
use bandsolve_sparse::Structure;
use serde_json::{Value, json};
use std::path::Path;
use std::time::Instant;

/// Find the requested eigenvalues.
///
/// # Errors
/// [`Failure`] with its exit code.
pub fn run(args: &EigArgs) -> Result<(), Failure> {
    for (option, path) in [("--out", &args.out), ("--vectors", &args.vectors)] {
        path.as_deref().map(|path| Format::of(option, path)).transpose()?;
    }
    let inputs: Vec<&Path> = [Some(&args.matrix), args.mass.as_ref()].into_iter().flatten().map(|p| &**p).collect();
    report::check_outputs(&[("--out", &args.out), ("--vectors", &args.vectors), ("--json", &args.json)], &inputs)?;
    if let Some([low, high]) = args.interval.as_deref().filter(|ends| ends[0] > ends[1]) {
        return Err(Failure::Usage(format!(
            "--interval {low} {high}: LOW is above HIGH. Pass the smaller number first"
        )));
    }
    set_threads(args.threads)?;
    let task = EigTask { args, target: target(args)? };
    let a = io::read_matrix(&args.matrix)?;
    let b = args.mass.as_ref().map(|path| io::read_matrix(path)).transpose()?;
    if let (Some(b), Some(path)) = (&b, &args.mass)
        && b.n_rows != a.n_rows
    {
        let why = format!("B has {} rows, but A has {}. Pass two matrices of the same size", b.n_rows, a.n_rows);
        return Err(Failure::in_file(&io::name(path), why));
    }
    if let Some(k) = args.k.filter(|k| *k == 0 || *k > a.n_rows) {
        let (name, n) = (io::name(&args.matrix), a.n_rows);
        return Err(Failure::Usage(format!("-k {k}: {name} has {n} rows and {n} eigenvalues. Pass a K from 1 to {n}")));
    }
    let complex = [Some(&a), b.as_ref()].into_iter().flatten().any(|matrix| matrix.values.is_complex());
    if complex || task.target.is_some_and(|target| target.im != 0.0) {
        task.run::<Complex64>(&a, b.as_ref())
    } else {
        task.run::<f64>(&a, b.as_ref())
    }
}

/// The target of shift-and-invert, if there is one.
fn target(args: &EigArgs) -> Result<Option<Complex64>, Failure> {
    match (args.which, args.target) {
        (Some(WhichName::End(which)), Some(_)) => {
            Err(Failure::Usage(format!("--which {which} has no target. Leave out --target, or use --which nearest")))
        }
        // Shift-and-invert with target 0 finds the eigenvalues of smallest magnitude.
        (Some(WhichName::Nearest | WhichName::End(Which::SmallestMagnitude)), None) => Ok(Some(Complex64::ZERO)),
        (_, target) => Ok(target),
    }
}

/// Number of eigenvalues without `-k`.
const DEFAULT_K: usize = 5;

struct EigTask<'a> {
    args: &'a EigArgs,
    target: Option<Complex64>,
}

/// The result of the search.
struct EigOutcome {
    values: Vec<Complex64>,
    offsets: Vec<Complex64>,
    /// The eigenvectors, one after the other.
    vectors: Vec<Complex64>,
    report: EigenReport,
    hermitian: bool,
    seconds: f64,
}

impl EigTask<'_> {
    fn run<T: Scalar>(&self, a: &Triplets, b: Option<&Triplets>) -> Result<(), Failure> {
        let matrices: Vec<&Triplets> = [Some(a), b].into_iter().flatten().collect();
        let structure = Structure::of_all::<Complex64, _>(&matrices)?;
        let (n, shape) = (structure.n, structure.shape());
        // Block LU, if it needs fewer operations than banded LU.
        let block = match (b, shape) {
            (None, Shape::Banded { .. }) => structure.compact_block::<Complex64, _>(&matrices),
            _ => None,
        };
        let bar = progress::spinner();
        bar.set_message("searching for eigenvalues".to_string());
        let solved = if let Some((a, b)) = self.sparse::<T>(&structure, a, b)? {
            self.find((&a, b.as_ref()), true)
        } else if let Some(block) = block {
            let a = structure::assemble_blocks::<T>(a, block, false)?;
            self.find::<T, BlockTridiagonal<'_, T>>((&a, None), blocks_are_hermitian(&a) && self.is_real())
        } else {
            let a = structure::assemble::<T>(a, shape)?;
            let b = b.map(|b| structure::assemble::<T>(b, shape)).transpose()?;
            let definite = b.as_ref().is_none_or(|b| {
                let plan = Plan::new(shape).method(Method::Cholesky);
                is_hermitian(b) && structure::factor(b, &plan).is_ok()
            });
            let hermitian = definite && is_hermitian(&a) && self.is_real();
            match (&a, &b) {
                (System::Tridiagonal(a), None) => self.find::<T, Tridiagonal<'_, T>>((a, None), hermitian),
                (System::Tridiagonal(a), Some(System::Tridiagonal(b))) => self.find((a, Some(b)), hermitian),
                (System::Banded(a), None) => self.find::<T, Banded<'_, T>>((a, None), hermitian),
                (System::Banded(a), Some(System::Banded(b))) => self.find((a, Some(b)), hermitian),
                _ => unreachable!("both matrices have the same kind"),
            }
        };
        bar.finish_and_clear();
        self.finish(&solved?, n)
    }

    /// The matrix or pencil as sparse Hermitian matrices, if solves and counts with it need less work than with its band.
    fn sparse<T: Scalar>(
        &self,
        structure: &Structure,
        a: &Triplets,
        b: Option<&Triplets>,
    ) -> Result<Option<SparsePencil<T>>, Failure> {
        if !self.is_real() || !self.is_inverted() {
            return Ok(None);
        }
        let (a, b) = (csr::<T>(a)?, b.map(csr::<T>).transpose()?);
        let sparse = SparseHermitian::instead_of_band((&a, b.as_ref()), structure.width(), usize::MAX)?;
        let definite = |b: &SparseHermitian<T>| b.check_definite().is_ok();
        Ok(sparse.filter(|(_, b)| b.as_ref().is_none_or(definite)))
    }

    /// Whether there is no target, or a real one.
    fn is_real(&self) -> bool {
        self.target.is_none_or(|target| target.im == 0.0)
    }

    fn find<T: Scalar, M: ShiftableMatrix<Scalar = T>>(
        &self,
        (a, b): (&M, Option<&M>),
        hermitian: bool,
    ) -> Result<EigOutcome, Failure> {
        let (args, started) = (self.args, Instant::now());
        let mut solver = EigenSolver::new(args.k.unwrap_or_else(|| a.rows().min(DEFAULT_K)))
            .tol(args.tol)
            .max_restarts(args.max_iterations)
            .seed(args.seed);
        if let Some(ncv) = args.ncv {
            solver = solver.ncv(ncv);
        }
        if let (Some(WhichName::End(which)), None) = (args.which, self.target) {
            solver = solver.which(which);
        }
        // Eigenvalue counts can prove that no eigenvalue is missing.
        let below = |shift: f64| a.eigenvalues_below(b, shift);
        if hermitian {
            solver = solver.count(&below);
        }
        let outcome = |values, offsets, vectors, report| {
            let seconds = started.elapsed().as_secs_f64();
            EigOutcome { values, offsets, vectors, report, hermitian, seconds }
        };
        let real = |pairs: HermitianEigen<T>| {
            let complex = |values: Vec<f64>| values.into_iter().map(Complex64::from).collect();
            let vectors = pairs.vectors.iter().copied().map(widen).collect();
            outcome(complex(pairs.values), complex(pairs.offsets), vectors, pairs.report)
        };
        let general = |pairs: GeneralEigen| outcome(pairs.values, pairs.offsets, pairs.vectors, pairs.report);
        let plain = || -> bandsolve::Result<_> {
            let inverse = b.map(|b| b.shifted_inverse(T::ZERO, None)).transpose()?;
            let (a, b) = (MatrixOperator(a), b.map(MatrixOperator));
            let mut problem = EigenProblem::new(&a);
            if let (Some(b), Some(inverse)) = (&b, &inverse) {
                problem = problem.mass(b as &dyn LinearOperator<T>).mass_inverse(inverse);
            }
            if hermitian { solver.hermitian(&problem).map(real) } else { solver.general(&problem).map(general) }
        };
        match (&args.interval, self.target) {
            (Some(_), _) if !hermitian => {
                let why =
                    "A is not Hermitian, or B is not Hermitian positive definite. Use --target instead of --interval";
                return Err(Failure::in_file(&io::name(&args.matrix), why));
            }
            (Some(ends), _) => solver.hermitian_between(a, b, (ends[0], ends[1])).map(real),
            (None, Some(target)) if hermitian => solver.hermitian_nearest(a, b, target.re).map(real),
            (None, Some(target)) => solver.general_nearest(a, b, narrow(target)).map(general),
            (None, None) => plain(),
        }
        .map_err(|error| self.explain(error))
    }

    fn explain(&self, error: bandsolve::Error) -> Failure {
        let name = io::name(&self.args.matrix);
        match (error, &self.args.mass) {
            (bandsolve::Error::Singular { row }, Some(mass)) if self.target.is_none() => Failure::Unsolved(format!(
                "{}: B is singular: no pivot in row {}. Use --target, which does not solve with B",
                io::name(mass),
                row + 1
            )),
            (bandsolve::Error::Singular { row }, _) => Failure::Unsolved(format!(
                "{name}: {} is singular: no pivot in row {}. Try another {}",
                self.shifted(),
                row + 1,
                self.shift_option()
            )),
            (bandsolve::Error::NotConverged { .. }, _) if self.is_inverted() => Failure::Unsolved(format!(
                "{name}: {} is singular to working precision. Try another {}",
                self.shifted(),
                self.shift_option()
            )),
            (bandsolve::Error::Unsupported { what, .. }, _) => {
                Failure::Input(format!("{name}: bandsolve does not find eigenvalues of {what}"))
            }
            (bandsolve::Error::NotFinite { .. }, _) => Failure::Input(format!(
                "{name}: the entries are too large: a product with the matrix overflows. Scale the matrix"
            )),
            (error, _) => Failure::from(error),
        }
    }

    /// Whether the search uses shift-and-invert.
    fn is_inverted(&self) -> bool {
        self.target.is_some() || self.args.interval.is_some()
    }

    /// The shifted matrix, in messages.
    fn shifted(&self) -> String {
        let mass = if self.args.mass.is_some() { "B" } else { "I" };
        match (self.target, &self.args.interval) {
            (Some(target), _) if target.im == 0.0 => format!("A - σ {mass} with σ = {}", target.re),
            (Some(target), _) => format!("A - σ {mass} with σ = {target}"),
            (None, Some(ends)) => format!("A - σ {mass} with a σ from {} to {}", ends[0], ends[1]),
            (None, None) => "A".to_string(),
        }
    }

    /// The option that sets the shift.
    fn shift_option(&self) -> &'static str {
        if self.args.interval.is_some() { "--interval" } else { "--target" }
    }

    fn finish(&self, outcome: &EigOutcome, n: usize) -> Result<(), Failure> {
        let args = self.args;
        if let Some(path) = &args.out {
            output::write_numbers(("--out", path), outcome.values.len(), &outcome.values)?;
        }
        if let Some(path) = &args.vectors {
            output::write_numbers(("--vectors", path), n, &outcome.vectors)?;
        }
        if let Some(path) = &args.json {
            report::write_json(path, &self.json(outcome, n))?;
        }
        let stdout = [&args.out, &args.vectors, &args.json].iter().any(|path| report::is_stdout(path.as_deref()));
        report::print_beside(&self.text(outcome, n), stdout)?;
        let report = &outcome.report;
        if report.ending == bandsolve_eigen::EigenEnding::Converged {
            return Ok(());
        }
        Err(Failure::Unsolved(format!(
            "{}: found {} of {} ({}) after {}. Try a larger --ncv, or --target",
            io::name(&args.matrix),
            outcome.values.len(),
            report::counted(report.wanted, "eigenvalue"),
            report.ending,
            report::counted(report.restarts, "restart"),
        )))
    }

    fn json(&self, outcome: &EigOutcome, n: usize) -> Value {
        let report = &outcome.report;
        let converged = report.ending == bandsolve_eigen::EigenEnding::Converged;
        json!({
            "file": io::name(&self.args.matrix),
            "mass": self.args.mass.as_ref().map(|path| io::name(path)),
            "n": n,
            "hermitian": outcome.hermitian,
            "target": self.target.map(|target| report::numbers(&[target])[0].clone()),
            "which": self.which(),
            "interval": self.args.interval,
            "status": report::status(converged),
            "converged": converged,
            "ending": report.ending.to_string(),
            "complete": report.complete,
            "eigenvalues": report::numbers(&outcome.values),
            "offsets": report::numbers(&outcome.offsets),
            "residuals": report.residuals,
            "orthogonality": report.orthogonality,
            "restarts": report.restarts,
            "solves": report.solves,
            "seconds": outcome.seconds,
            "threads": self.args.threads.map_or_else(bandsolve_kernel::threads::count, usize::from),
        })
    }

    fn which(&self) -> String {
        match (self.args.which, self.target) {
            _ if self.args.interval.is_some() => "interval".to_string(),
            (Some(which), _) => which.to_string(),
            (None, Some(_)) => WhichName::Nearest.to_string(),
            (None, None) => Which::LargestMagnitude.to_string(),
        }
    }

    fn text(&self, outcome: &EigOutcome, n: usize) -> String {
        let report = &outcome.report;
        let inverted = self.is_inverted();
        let mut text = format!(
            "{} {}\n  {}, {}, {}, {}, {}\n",
            report.ending,
            io::name(&self.args.matrix),
            report::counted(n, "unknown"),
            if outcome.hermitian { "Hermitian" } else { "general" },
            report::counted(report.solves, if inverted { "solve" } else { "product" }),
            report::counted(report.restarts, "restart"),
            report::seconds(outcome.seconds)
        );
        if let Some(ends) = &self.args.interval {
            let count = report::counted(outcome.values.len(), "eigenvalue");
            text += &format!("  {count} in the interval {} <= λ < {}\n", ends[0], ends[1]);
        }
        let offsets = self.target.map(|_| &*outcome.offsets);
        text + &report::eigenvalues(&outcome.values, offsets, &report.residuals, report.complete)
    }
}

/// Whether A = Aᴴ, entry by entry.
fn is_hermitian<T: Scalar>(a: &System<T>) -> bool {
    match a {
        System::Tridiagonal(a) => {
            let (n, conj) = (a.n(), Scalar::conj);
            (0..n)
                .map(|i| (a.row(i), a.row((i + 1) % n)))
                .all(|((_, diag, sup), (sub, ..))| diag == conj(diag) && sup == conj(sub))
        }
        System::Banded(a) => (0..a.n()).all(|j| {
            let (first, column) = a.column(j);
            column.iter().enumerate().all(|(k, value)| *value == Scalar::conj(a.get(j, first + k)))
        }),
    }
}

/// Whether A = Aᴴ, entry by entry.
fn blocks_are_hermitian<T: Scalar>(a: &BlockTridiagonal<'_, T>) -> bool {
    let ([sub, diag, sup], b) = (a.arrays(), a.block());
    let adjoint = |one: &[T], other: &[T]| (0..b * b).all(|at| one[at] == Scalar::conj(other[at / b + at % b * b]));
    let (mut below, above) = (sub.chunks_exact(b * b).skip(1), sup.chunks_exact(b * b));
    diag.chunks_exact(b * b).all(|block| adjoint(block, block))
        && above.into_iter().all(|above| below.next().is_none_or(|below| adjoint(below, above)))
}
