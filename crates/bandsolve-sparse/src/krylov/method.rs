//! The Krylov methods and their names, and the side of the preconditioner.

use bandsolve::Result;
use core::fmt::{self, Display, Formatter};
use core::str::FromStr;

/// An iterative method, with its parameter.
///
/// One iteration costs one product with A and one application of the preconditioner. An iteration of BiCGStab costs two of each.
///
/// # Examples
/// A method has a name, as on the command line and in Python:
/// ```
/// use bandsolve_sparse::KrylovMethod;
/// assert_eq!("gmres:50".parse(), Ok(KrylovMethod::Gmres { restart: 50 }));
/// assert_eq!(KrylovMethod::Idr { space: 4 }.to_string(), "idr:4");
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum KrylovMethod {
    /// GMRES with restarts, for any matrix. It orthogonalises by classical Gram–Schmidt, twice.
    ///
    /// If the preconditioner changes from step to step, it runs as flexible GMRES (FGMRES).
    Gmres {
        /// Iterations between restarts. The method keeps `restart` + 1 vectors, FGMRES 2·`restart` + 1.
        restart: usize,
    },
    /// BiCGStab (stabilised bi-conjugate gradients), for any matrix. It keeps seven vectors.
    Bicgstab,
    /// Conjugate gradients, for a Hermitian positive definite matrix and preconditioner. It keeps four vectors.
    Cg,
    /// IDR(s) (induced dimension reduction) in its bi-orthogonal form, for any matrix. It keeps 3·s + 4 vectors.
    Idr {
        /// s: the dimension of the shadow space.
        space: usize,
    },
    /// Richardson's iteration, x ← x + ω·M⁻¹·(rhs − A·x). It converges if the spectral radius of I − ω·M⁻¹·A is below 1.
    Richardson {
        /// The damping factor ω.
        damping: f64,
    },
}

impl Display for KrylovMethod {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Gmres { restart } => write!(f, "gmres:{restart}"),
            Self::Bicgstab => write!(f, "bicgstab"),
            Self::Cg => write!(f, "cg"),
            Self::Idr { space } => write!(f, "idr:{space}"),
            Self::Richardson { damping: 1.0 } => write!(f, "richardson"),
            Self::Richardson { damping } => write!(f, "richardson:{damping}"),
        }
    }
}

impl FromStr for KrylovMethod {
    type Err = String;

    /// Parse `gmres:30`, `bicgstab`, `cg`, `idr:4` or `richardson:1`. Without a number, `gmres` means `gmres:30`, `idr` means `idr:4`, and `richardson`
    /// means `richardson:1`. `fgmres:30` is the same as `gmres:30`, which is flexible if the preconditioner changes.
    fn from_str(text: &str) -> Result<Self, String> {
        let (name, number) = text.split_once(':').map_or((text, None), |(name, number)| (name, Some(number)));
        let count = |default: usize| match number.map(str::parse) {
            None => Ok(default),
            Some(Ok(count)) if count > 0 => Ok(count),
            Some(_) => Err(format!("`{text}`: the number after the colon must be a whole number of at least 1")),
        };
        let method = match name {
            "gmres" | "fgmres" => return Ok(Self::Gmres { restart: count(30)? }),
            "idr" => return Ok(Self::Idr { space: count(4)? }),
            "richardson" => match number.map_or(Ok(1.0), str::parse) {
                Ok(damping) if f64::is_finite(damping) => return Ok(Self::Richardson { damping }),
                _ => return Err(format!("`{text}`: the damping factor after the colon must be a finite number")),
            },
            "bicgstab" => Self::Bicgstab,
            "cg" => Self::Cg,
            _ => {
                return Err(format!(
                    "no solver `{text}`. Choose one of: gmres:M (or fgmres:M), bicgstab, cg, idr:S, richardson:OMEGA"
                ));
            }
        };
        if number.is_some() { Err(format!("`{text}`: `{name}` takes no number")) } else { Ok(method) }
    }
}

/// The side of A on which the method applies the preconditioner M⁻¹.
///
/// # Examples
/// ```
/// use bandsolve_sparse::{KrylovMethod, KrylovSolver, PreconditionerSide};
/// let solver = KrylovSolver::new(KrylovMethod::Gmres { restart: 30 }).side(PreconditionerSide::Left);
/// assert_eq!(PreconditionerSide::default(), PreconditionerSide::Right);
/// # _ = solver;
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PreconditionerSide {
    /// Solve A·M⁻¹·(M·x) = rhs. The method then minimises the residual of the system itself.
    #[default]
    Right,
    /// Solve M⁻¹·A·x = M⁻¹·rhs. The stopping rule still uses ‖rhs − A·x‖.
    Left,
}

/// Whether a preconditioner is the same in every step.
///
/// # Examples
/// ```
/// use bandsolve_sparse::{KrylovMethod, KrylovSolver, Preconditioning};
/// let solver = KrylovSolver::new(KrylovMethod::Gmres { restart: 20 });
/// let [same, changing] = [Preconditioning::Constant, Preconditioning::Changing].map(|m| solver.work_vectors(1000, Some(m)));
/// assert_eq!(changing - same, 20);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Preconditioning {
    /// The same in every step.
    Constant,
    /// It may differ from step to step.
    Changing,
}
