//! Arguments of `poisson`.

use super::EXIT_CODES;
use bandsolve_poisson::{Boundary, BoundaryKind, Grid, PoissonMethod};
use bandsolve_program::names::suggesting;
use bandsolve_program::options::{RealDtype, positive};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args as ClapArgs, ValueEnum};
use core::str::FromStr;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  bandsolve poisson 1023 1023 --plot u.png
  bandsolve poisson 1000 1000 --rhs f.npy --out u.npy --json report.json
  bandsolve poisson 256 512 --grid cell --boundary neumann --spacing 0.01
  bandsolve poisson 128 128 128 --boundary periodic,dirichlet,dirichlet=0/neumann=1 --shift 2.5
  bandsolve poisson 200 300 --grid cell --spacing 0.01 --boundary robin:5:1=100/neumann,dirichlet
  bandsolve poisson 1023 1023 --method bcr4
  bandsolve poisson --pencils x.npy,y.npy --rhs f.npy --out u.npy";

const PENCILS: &str = "\
Two tridiagonal matrices A and M for each axis, instead of second differences. In two dimensions the problem is \
(A1 x M2 + M1 x A2 + c M1 x M2) u = f, where x is the Kronecker product. In three dimensions each product has one A and two M. \
Pass one file per axis, separated by commas. A file contains an array of 6 rows and n columns: the entries of A below, on and above \
the diagonal, then the same three rows of M. Column i contains the entries of matrix row i. The first entry of rows 1 and 4 and the \
last entry of rows 3 and 6 are ignored. With 3 rows, M is the identity. The number of unknowns is the number of columns";

const BOUNDARIES: &str = "\
dirichlet (u is given), neumann (the derivative of u along the outward normal is given), robin:ALPHA:BETA (the sum of ALPHA \
times u and BETA times this derivative is given; BETA is not 0) or periodic. Pass one kind for all axes, or one per axis, separated by commas. For different kinds at the low and the high side of an axis, write \
both with a slash: dirichlet/neumann. Give a value after =, as in neumann=0.5 or robin:2:1=20; the default value is 0";

const GRIDS: &str = "\
node: a Dirichlet side is one spacing beyond the last unknown, and a Neumann or robin side is at the last unknown. \
cell: every side is half a spacing beyond the last unknown. Pass one kind for all axes, or one per axis, separated by commas";

/// Arguments of `poisson`.
#[derive(Debug, ClapArgs)]
#[command(after_help = EXAMPLES, after_long_help = format!("{EXAMPLES}\n\n{EXIT_CODES}"))]
pub struct PoissonArgs {
    /// Number of unknowns along each axis; the last axis is contiguous in memory
    #[arg(value_name = "N", num_args = 1..=3, required_unless_present = "pencils")]
    pub shape: Vec<usize>,
    /// Two tridiagonal matrices for each axis, instead of second differences: one file per axis, with 6 or 3 rows
    #[arg(long, value_name = "FILES", long_help = PENCILS, value_delimiter = ',')]
    #[arg(conflicts_with_all = ["shape", "boundary", "grid", "spacing", "mean", "removable"])]
    pub pencils: Vec<PathBuf>,
    /// Boundary conditions
    #[arg(long, default_value = "dirichlet", value_name = "KINDS", long_help = BOUNDARIES)]
    pub boundary: PerAxis<BoundaryPair>,
    /// Unknowns at grid nodes or in cell centers: node or cell
    #[arg(long, default_value = "node", value_name = "GRIDS", long_help = GRIDS)]
    pub grid: PerAxis<GridName>,
    /// Grid spacing: one for all axes, or one per axis, separated by commas
    #[arg(long, default_value = "1", value_name = "H")]
    pub spacing: PerAxis<f64>,
    /// The constant c in (-Laplace + c) u = f
    #[arg(long, default_value_t = 0.0, value_name = "C", allow_negative_numbers = true)]
    pub shift: f64,
    /// The direct method; auto chooses the fastest suitable method
    #[arg(long, default_value = "auto", value_name = "NAME", value_parser = method_parser())]
    pub method: PoissonMethod,
    /// The right-hand side f: a .npy file of the same shape, in C or Fortran order [default: pseudo-random numbers]
    #[arg(long, value_name = "f.npy")]
    pub rhs: Option<PathBuf>,
    /// Write the solution u to this .npy file (`-`: standard output)
    #[arg(long, value_name = "u.npy")]
    pub out: Option<PathBuf>,
    /// Mean of u if the problem is singular (no shift, and all sides are Neumann or periodic)
    #[arg(long, default_value_t = 0.0, allow_negative_numbers = true)]
    pub mean: f64,
    /// Largest constant to subtract from f if the problem is singular, relative to the largest entry of f
    #[arg(long, default_value_t = 0.1, value_name = "PART", value_parser = positive)]
    pub removable: f64,
    /// Number type to solve in
    #[arg(long, default_value = "f64")]
    pub dtype: RealDtype,
    /// Number of threads; the result is the same for any number [default: one per core]
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
    /// Write a picture of u to this file: .svg or .png; in 3D, it shows the middle plane of the first axis
    #[arg(long, value_name = "FILE")]
    pub plot: Option<PathBuf>,
    /// Write a JSON report to this file (`-`, or no name: standard output)
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = "-")]
    pub json: Option<PathBuf>,
}

/// One value for all axes, or one per axis.
#[derive(Debug, Clone, PartialEq)]
pub struct PerAxis<T>(Vec<T>);

impl<T: Copy> PerAxis<T> {
    /// One value per axis.
    ///
    /// # Errors
    /// A message if the number of values is neither 1 nor `axes`.
    pub fn spread(&self, axes: usize) -> Result<Vec<T>, String> {
        match self.0[..] {
            [one] => Ok(vec![one; axes]),
            _ if self.0.len() == axes => Ok(self.0.clone()),
            _ => Err(format!(
                "{} values are given for {axes} axes. Pass one value for all axes, or one per axis",
                self.0.len()
            )),
        }
    }
}

impl<T: FromStr<Err: ToString>> FromStr for PerAxis<T> {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let one = |part: &str| part.trim().parse().map_err(|error: T::Err| error.to_string());
        text.split(',').map(one).collect::<Result<_, _>>().map(Self)
    }
}

/// The low and the high side of an axis.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BoundaryPair(pub [Boundary; 2]);

impl FromStr for BoundaryPair {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (low, high) = text.split_once('/').unwrap_or((text, text));
        Ok(Self([boundary(low)?, boundary(high)?]))
    }
}

fn boundary(text: &str) -> Result<Boundary, String> {
    let (name, value) = text.split_once('=').map_or((text, None), |(name, value)| (name, Some(value)));
    let kind = match name.split_once(':') {
        Some(("robin", coefficients)) => robin(text, coefficients)?,
        _ => named(name)?,
    };
    match (kind, value.map(str::parse)) {
        (_, None) => Ok(kind.into()),
        (BoundaryKind::Periodic, Some(_)) => Err("a periodic boundary has no value. Leave out the part after =".into()),
        (_, Some(Ok(value))) if f64::is_finite(value) => Ok(Boundary { kind, value }),
        _ => Err(format!("`{text}`: expected a finite number after =")),
    }
}

/// A kind of boundary without coefficients.
fn named(name: &str) -> Result<BoundaryKind, String> {
    if name == "robin" {
        return Err("`robin` requires two coefficients. Write robin:ALPHA:BETA, as in robin:2:1".into());
    }
    BoundaryKind::from_name(name).ok_or_else(|| {
        let names: Vec<_> = BoundaryKind::ALL.iter().map(|kind| kind.name()).collect();
        let known = format!("{}, robin:ALPHA:BETA", names.join(", "));
        suggesting(name, format!("unknown boundary `{name}`. Choose one of: {known}"))
    })
}

/// The kind `robin:ALPHA:BETA` of the condition `text`, from the text after the first colon.
fn robin(text: &str, coefficients: &str) -> Result<BoundaryKind, String> {
    let number = |text: &str| text.parse::<f64>().ok().filter(|number| number.is_finite());
    let numbers = coefficients.split_once(':').and_then(|(alpha, beta)| Some((number(alpha)?, number(beta)?)));
    match numbers {
        None => Err(format!("`{text}`: expected two finite numbers, as in robin:2:1")),
        Some((_, 0.0)) => Err(format!("`{text}`: BETA is 0. Use dirichlet=VALUE, where VALUE is the value of u")),
        Some((alpha, beta)) => Ok(BoundaryKind::Robin { alpha, beta }),
    }
}

/// The value of `--grid`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum GridName {
    /// Unknowns at grid nodes
    Node,
    /// Unknowns in cell centers
    Cell,
}

impl FromStr for GridName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let why = || suggesting(text, format!("unknown grid `{text}`. Choose one of: node, cell"));
        ValueEnum::from_str(text, false).map_err(|_| why())
    }
}

impl From<GridName> for Grid {
    fn from(name: GridName) -> Self {
        match name {
            GridName::Node => Self::Node,
            GridName::Cell => Self::Cell,
        }
    }
}

fn method_parser() -> impl TypedValueParser<Value = PoissonMethod> {
    PossibleValuesParser::new(PoissonMethod::ALL.iter().map(|method| method.name()))
        .map(|name| PoissonMethod::from_name(&name).expect("a listed name"))
}
