//! Options that several commands have: number types, methods, devices, threads, and parsers of numbers.

use crate::exit::Failure;
use crate::names::suggesting;
use bandsolve::{Method, Shape};
use bandsolve_sparse::{KrylovSolver, PreconditionerOptions};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};
use core::str::FromStr;

/// Number types. The digits count the bits of the whole number, as in NumPy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Dtype {
    /// Single precision
    F32,
    /// Double precision
    F64,
    /// Complex, two f32
    C64,
    /// Complex, two f64
    C128,
}

impl Dtype {
    /// All number types.
    pub const ALL: [Dtype; 4] = [Dtype::F32, Dtype::F64, Dtype::C64, Dtype::C128];

    /// The name on the command line and in reports.
    pub fn name(self) -> &'static str {
        match self {
            Dtype::F32 => "f32",
            Dtype::F64 => "f64",
            Dtype::C64 => "c64",
            Dtype::C128 => "c128",
        }
    }

    /// Whether the numbers have an imaginary part.
    pub fn is_complex(self) -> bool {
        matches!(self, Dtype::C64 | Dtype::C128)
    }
}

/// The real number types.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum RealDtype {
    /// Single precision
    F32,
    /// Double precision
    F64,
}

impl RealDtype {
    /// Size of a number in bytes.
    pub fn bytes(self) -> usize {
        match self {
            RealDtype::F32 => 4,
            RealDtype::F64 => 8,
        }
    }
}

impl std::fmt::Display for RealDtype {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "f{}", 8 * self.bytes())
    }
}

/// Parse the name of a GPU. Only test builds have the `emulated` device.
pub fn gpu_parser(text: &str) -> Result<String, String> {
    let numbered = text.strip_prefix("cuda:").is_some_and(|number| number.parse::<usize>().is_ok());
    match numbered || ["cuda", "emulated"].contains(&text) {
        true => Ok(text.into()),
        false => Err("unknown device. GPUs are named cuda, cuda:1, ...".into()),
    }
}

/// The methods that solve systems of at least one of these shapes.
fn methods_for(shapes: &'static [Shape]) -> impl Iterator<Item = Method> {
    Method::ALL.into_iter().filter(|method| shapes.iter().any(|shape| method.solves(*shape)))
}

/// The shape of a tridiagonal system.
pub const TRIDIAGONAL: Shape = Shape::Tridiagonal { n: 1, periodic: false };
/// The shape of a banded system.
pub const BANDED: Shape = Shape::Banded { n: 3, lower: 2, upper: 2 };

/// The shape of a block tridiagonal system.
pub const BLOCK_TRIDIAGONAL: Shape = Shape::BlockTridiagonal { block_rows: 3, block: 2, periodic: false };

/// Every method that solves all tridiagonal systems, without `Auto`, which only chooses one of the others.
pub fn named_methods() -> impl Iterator<Item = Method> {
    methods_for(&[TRIDIAGONAL]).filter(|method| *method != Method::Auto && !method.needs_definite())
}

/// A parser for the names of these methods.
pub fn method_parser(shapes: &'static [Shape]) -> impl TypedValueParser<Value = Method> {
    let names: Vec<&str> = methods_for(shapes).map(Method::name).collect();
    PossibleValuesParser::new(names).map(|s| Method::from_name(&s).expect("a listed name"))
}

/// Options of commands that solve a sparse system iteratively.
#[derive(Debug, Args)]
pub struct IterationArgs {
    /// Maximum number of iterations [default: 10 n (at most 10000)]
    #[arg(long, value_name = "N")]
    pub max_iterations: Option<usize>,
    /// For alt-i and alt-o: factor that reduces the weights of the edges of earlier forests before the next forest is computed
    #[arg(long, default_value_t = 0.01, allow_negative_numbers = true, value_parser = positive)]
    pub omega: f64,
    /// Seed of the random numbers in forest-based preconditioners
    #[arg(long, default_value_t = 0)]
    pub seed: u64,
}

impl IterationArgs {
    /// The options of the preconditioner.
    pub fn preconditioner(&self) -> PreconditionerOptions {
        let mut options = PreconditionerOptions::default();
        (options.omega, options.factors.seed) = (self.omega, self.seed);
        options
    }

    /// The solver with the maximum number of iterations.
    pub fn limited<'c>(&self, solver: KrylovSolver<'c>) -> KrylovSolver<'c> {
        self.max_iterations.map_or(solver, |limit| solver.max_iterations(limit))
    }
}

/// Parse a name. If there is no such name, the message suggests a similar one.
///
/// # Errors
/// The message of the type.
pub fn named<T: FromStr<Err = String>>(text: &str) -> Result<T, String> {
    text.parse().map_err(|why| suggesting(text, why))
}

/// Parse a number from 0 up to, but not including, 1.
pub fn tolerance(text: &str) -> Result<f64, String> {
    let value = text.parse().ok().filter(|value| (0.0..1.0).contains(value));
    value.ok_or_else(|| "expected a number from 0 up to, but not including, 1".into())
}

/// Parse a finite real number.
pub fn finite(text: &str) -> Result<f64, String> {
    text.parse()
        .ok()
        .filter(|value: &f64| value.is_finite())
        .ok_or_else(|| "expected a finite number, such as 0.75".into())
}

/// Parse a finite number of at least 0.
pub fn positive(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(value) if (0.0..f64::INFINITY).contains(&value) => Ok(value),
        _ => Err("expected a number of at least 0".into()),
    }
}

/// Start rayon's global thread pool with the requested number of threads.
pub fn set_threads(threads: Option<u16>) -> Result<(), Failure> {
    let Some(threads) = threads else { return Ok(()) };
    let pool = rayon::ThreadPoolBuilder::new().num_threads(usize::from(threads)).build_global();
    pool.map_err(|e| Failure::Other(format!("--threads {threads}: cannot start the threads: {e}")))
}
