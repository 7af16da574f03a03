//! Arguments of `poisson`.

use super::{EXIT_CODES, positive};
use bandsolve_poisson::{Boundary, BoundaryKind, Grid, PoissonMethod};
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
  bandsolve poisson 1023 1023 --method bcr4
  bandsolve poisson --pencils x.npy,y.npy --rhs f.npy --out u.npy";

const PENCILS: &str = "\
Two tridiagonal matrices A and M for each axis, in place of second differences: the problem is \
(A1 x M2 + M1 x A2 + c M1 x M2) u = f with Kronecker products, in three dimensions the sum of three products with one A each. \
One file for each axis, separated by commas: an array of 6 rows and n columns, which are the entries of A before, on and after the \
diagonal, and then those of M. Row i of the matrix is column i; the first number of rows 1 and 4 and the last of rows 3 and 6 are \
not used. 3 rows: M is the identity. The files say how many unknowns there are";

const BOUNDARIES: &str = "\
dirichlet (u is given), neumann (its derivative along the outward normal is given) or periodic. One kind for all \
axes, or one for each, separated by commas. Both sides of an axis differ with a slash between them: \
dirichlet/neumann. A value stands behind =, as in neumann=0.5; 0 unless given";

const GRIDS: &str = "\
node: a Dirichlet side is one spacing beyond the last unknown, a Neumann side where the last unknown is. \
cell: sides are half a spacing beyond the last unknown. One for all axes, or one for each, separated by commas";

/// Solve (-Laplace + c) u = f on a box of one, two or three dimensions, directly
///
/// With spacing 1 the matrix has 2, 4 or 6 on its diagonal and -1 beside it. Without --rhs, f is pseudo-random in [-1, 1],
/// the same in every run.
#[derive(Debug, ClapArgs)]
#[command(after_help = EXAMPLES, after_long_help = format!("{EXAMPLES}\n\n{EXIT_CODES}"))]
pub struct PoissonArgs {
    /// Unknowns along each axis; the last is contiguous in memory
    #[arg(value_name = "N", num_args = 1..=3, required_unless_present = "pencils")]
    pub shape: Vec<usize>,
    /// Two tridiagonal matrices for each axis, in place of second differences: an array of 6 or 3 rows for each axis
    #[arg(long, value_name = "FILES", long_help = PENCILS, value_delimiter = ',')]
    #[arg(conflicts_with_all = ["shape", "boundary", "grid", "spacing", "mean", "removable"])]
    pub pencils: Vec<PathBuf>,
    /// Boundary conditions
    #[arg(long, default_value = "dirichlet", value_name = "KINDS", long_help = BOUNDARIES)]
    pub boundary: PerAxis<BoundaryPair>,
    /// Unknowns at grid nodes, or in cell centers: node or cell
    #[arg(long, default_value = "node", value_name = "GRIDS", long_help = GRIDS)]
    pub grid: PerAxis<GridName>,
    /// Grid spacing: one for all axes, or one for each, separated by commas
    #[arg(long, default_value = "1", value_name = "H")]
    pub spacing: PerAxis<f64>,
    /// c
    #[arg(long, default_value_t = 0.0, value_name = "C", allow_negative_numbers = true)]
    pub shift: f64,
    /// The method
    #[arg(long, default_value = "auto", value_name = "NAME", value_parser = method_parser())]
    pub method: PoissonMethod,
    /// f: .npy of the same shape, by rows or by columns [default: pseudo-random numbers]
    #[arg(long, value_name = "f.npy")]
    pub rhs: Option<PathBuf>,
    /// Write u here, as .npy
    #[arg(long, value_name = "u.npy")]
    pub out: Option<PathBuf>,
    /// Mean of u where the problem is singular: with neither shift nor Dirichlet sides
    #[arg(long, default_value_t = 0.0, allow_negative_numbers = true)]
    pub mean: f64,
    /// Largest part of f that may be removed where the problem is singular, relative to the largest entry of f
    #[arg(long, default_value_t = 0.1, value_name = "PART", value_parser = positive)]
    pub removable: f64,
    /// Solve in single precision
    #[arg(long)]
    pub single: bool,
    /// Number of threads; the result is the same for any number [default: one per core]
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
    /// Draw u here: .svg or .png; of three dimensions the plane in the middle of the first axis
    #[arg(long, value_name = "FILE")]
    pub plot: Option<PathBuf>,
    /// Write a machine-readable report here (`-`: standard output)
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
}

/// One for all axes, or one for each.
#[derive(Debug, Clone, PartialEq)]
pub struct PerAxis<T>(Vec<T>);

impl<T: Copy> PerAxis<T> {
    /// One for each of so many axes.
    ///
    /// # Errors
    /// If there is another number of them, in words.
    pub fn spread(&self, axes: usize) -> Result<Vec<T>, String> {
        match self.0[..] {
            [one] => Ok(vec![one; axes]),
            _ if self.0.len() == axes => Ok(self.0.clone()),
            _ => Err(format!("{} are given for {axes} axes", self.0.len())),
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
    let Some(kind) = BoundaryKind::from_name(name) else {
        let names: Vec<_> = BoundaryKind::ALL.iter().map(|kind| kind.name()).collect();
        return Err(format!("no boundary `{name}`; there are: {}", names.join(", ")));
    };
    match (kind, value.map(str::parse)) {
        (_, None) => Ok(kind.into()),
        (BoundaryKind::Periodic, Some(_)) => Err("a periodic boundary has no value".into()),
        (_, Some(Ok(value))) if f64::is_finite(value) => Ok(Boundary { kind, value }),
        _ => Err(format!("`{text}`: no number stands behind =")),
    }
}

/// Names of grids.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum GridName {
    /// At nodes
    Node,
    /// In cells
    Cell,
}

impl FromStr for GridName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        ValueEnum::from_str(text, false).map_err(|_| format!("no grid `{text}`; there are: node, cell"))
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
