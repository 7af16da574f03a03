//! The general separable form: two tridiagonal matrices an axis.

mod condition;
mod eigen;
mod lumped;
mod problem;
mod residual;
mod solver;

pub use problem::SeparablePencils;
pub(crate) use residual::{PencilOperator, PencilResidual};

use crate::method::SeparableSolver;
use crate::plan::PoissonPlan;
use crate::scalar::PoissonScalar;
use bandsolve::memory::copied;
use bandsolve::{Error, Result};
use solver::PencilSolver;

/// The plan of [`SeparablePencils`]: one like any other.
pub type PencilPlan<T> = PoissonPlan<T>;

/// Generalised eigenvectors of all axes but the first.
pub(crate) fn products<T: PoissonScalar>(
    axes: &[AxisPencil; 3],
    shift: f64,
    threads: usize,
) -> Result<Box<dyn SeparableSolver<T>>> {
    Ok(Box::new(PencilSolver::new(axes, shift, threads)?))
}

/// Two tridiagonal matrices A and M of one axis.
///
/// # Shapes
/// All arrays have one number for each of the n unknowns of the axis; `sub[0]` and `sup[n - 1]` are ignored.
///
/// ```
/// use bandsolve_poisson::AxisPencil;
/// // Linear finite elements of width h, u = 0 at both ends.
/// let (n, h) = (7, 0.125);
/// let stiffness = [vec![-1.0 / h; n], vec![2.0 / h; n], vec![-1.0 / h; n]];
/// let mass = [vec![h / 6.0; n], vec![2.0 * h / 3.0; n], vec![h / 6.0; n]];
/// let axis = AxisPencil::new(stiffness.each_ref().map(|x| &x[..]), mass.each_ref().map(|x| &x[..]));
/// assert_eq!(axis.len(), 7);
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct AxisPencil {
    /// sub, diag, sup
    a: [Vec<f64>; 3],
    m: [Vec<f64>; 3],
}

impl AxisPencil {
    /// `a` and `m` as `[sub, diag, sup]`. What does not fit is an error of [`SeparablePencils::plan`].
    pub fn new(a: [&[f64]; 3], m: [&[f64]; 3]) -> Self {
        let own = |arrays: [&[f64]; 3]| {
            let mut owned = arrays.map(<[f64]>::to_vec);
            owned[0].first_mut().into_iter().for_each(|x| *x = 0.0);
            owned[2].last_mut().into_iter().for_each(|x| *x = 0.0);
            owned
        };
        Self { a: own(a), m: own(m) }
    }

    /// A with M = I.
    pub fn with_identity(a: [&[f64]; 3]) -> Self {
        let n = a[1].len();
        Self::new(a, [&vec![0.0; n], &vec![1.0; n], &vec![0.0; n]])
    }

    /// Unknowns.
    pub fn len(&self) -> usize {
        self.a[1].len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn check(&self) -> Result<()> {
        let n = self.len();
        for (name, array) in ["a", "m"].into_iter().zip([&self.a, &self.m]) {
            for x in array {
                if x.len() != n {
                    return Err(Error::Shape { what: "pencil", expected: n, got: x.len() });
                }
                if let Some(index) = x.iter().position(|x| !x.is_finite()) {
                    return Err(Error::NotFinite { array: name, index });
                }
            }
        }
        Ok(())
    }

    /// Of an axis that is not there: A = 0, M = 1.
    fn trivial() -> Self {
        Self::with_identity([&[0.0]; 3])
    }

    /// Both with the other sign.
    fn negated(&self) -> Result<Self> {
        let mut turned = self.copied()?;
        turned.a.iter_mut().chain(&mut turned.m).flatten().for_each(|x| *x = -*x);
        Ok(turned)
    }

    /// The same, or `OutOfMemory`.
    fn copied(&self) -> Result<Self> {
        let copy = |[sub, diag, sup]: &[Vec<f64>; 3]| Ok([copied(sub)?, copied(diag)?, copied(sup)?]);
        Ok(Self { a: copy(&self.a)?, m: copy(&self.m)? })
    }

    /// Whether the first matrix is symmetric up to the rounding of its entries.
    fn is_symmetric(&self) -> bool {
        is_symmetric(&self.a) && is_symmetric(&self.m)
    }

    fn has_diagonal_mass(&self) -> bool {
        self.m[0].iter().chain(&self.m[2]).all(|m| *m == 0.0)
    }
}

/// Whether sub and sup are the same up to the rounding of entries.
fn is_symmetric(matrix: &[Vec<f64>; 3]) -> bool {
    let [sub, _, sup] = matrix;
    let same = |(a, b): (&f64, &f64)| (a - b).abs() <= 4.0 * f64::EPSILON * a.abs().max(b.abs());
    sub.iter().skip(1).zip(sup).all(same)
}
