//! The two tridiagonal matrices of one axis.

use bandsolve::memory::copied;
use bandsolve::{Error, Result};

/// The two tridiagonal matrices A and M of one axis.
///
/// # Shapes
/// All arrays have length n, the number of unknowns along the axis. `sub[0]` and `sup[n - 1]` are ignored.
///
/// # Examples
/// ```
/// use bandsolve_poisson::AxisPencil;
/// // Linear finite elements of width h, with u = 0 at both ends.
/// let (n, h) = (7, 0.125);
/// let stiffness = [vec![-1.0 / h; n], vec![2.0 / h; n], vec![-1.0 / h; n]];
/// let mass = [vec![h / 6.0; n], vec![2.0 * h / 3.0; n], vec![h / 6.0; n]];
/// let axis = AxisPencil::new(stiffness.each_ref().map(|x| &x[..]), mass.each_ref().map(|x| &x[..]));
/// assert_eq!(axis.len(), 7);
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct AxisPencil {
    /// Diagonals `[sub, diag, sup]` of A.
    pub(super) a: [Vec<f64>; 3],
    /// Diagonals `[sub, diag, sup]` of M.
    pub(super) m: [Vec<f64>; 3],
}

impl AxisPencil {
    /// Copy the diagonals `[sub, diag, sup]` of A and M. [`SeparablePencils::plan`](crate::SeparablePencils::plan) checks their lengths and values.
    pub fn new(a: [&[f64]; 3], m: [&[f64]; 3]) -> Self {
        let copy = |arrays: [&[f64]; 3]| {
            let mut owned = arrays.map(<[f64]>::to_vec);
            owned[0].first_mut().into_iter().for_each(|x| *x = 0.0);
            owned[2].last_mut().into_iter().for_each(|x| *x = 0.0);
            owned
        };
        Self { a: copy(a), m: copy(m) }
    }

    /// Copy the diagonals `[sub, diag, sup]` of A, and set M = I.
    pub fn with_identity(a: [&[f64]; 3]) -> Self {
        let n = a[1].len();
        Self::new(a, [&vec![0.0; n], &vec![1.0; n], &vec![0.0; n]])
    }

    /// The number of unknowns along the axis.
    pub fn len(&self) -> usize {
        self.a[1].len()
    }

    /// Whether the axis has no unknowns.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Check that the six diagonals have the same length and only finite entries.
    pub(crate) fn check(&self) -> Result<()> {
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

    /// The pencil of a missing axis: A = 0, M = 1.
    pub(crate) fn trivial() -> Self {
        Self::with_identity([&[0.0]; 3])
    }

    /// The pencil −A, −M.
    pub(crate) fn negated(&self) -> Result<Self> {
        let mut turned = self.copied()?;
        turned.a.iter_mut().chain(&mut turned.m).flatten().for_each(|x| *x = -*x);
        Ok(turned)
    }

    /// A copy. The error is `OutOfMemory` if the allocation fails.
    pub(crate) fn copied(&self) -> Result<Self> {
        let copy = |[sub, diag, sup]: &[Vec<f64>; 3]| Ok([copied(sub)?, copied(diag)?, copied(sup)?]);
        Ok(Self { a: copy(&self.a)?, m: copy(&self.m)? })
    }

    /// Whether A and M are symmetric up to the rounding of their entries.
    pub(super) fn is_symmetric(&self) -> bool {
        is_symmetric(&self.a) && is_symmetric(&self.m)
    }

    /// Whether all off-diagonal entries of M are 0.
    pub(super) fn has_diagonal_mass(&self) -> bool {
        self.m[0].iter().chain(&self.m[2]).all(|m| *m == 0.0)
    }
}

/// Whether `sub[i + 1]` and `sup[i]` are equal up to the rounding of the entries, for each i.
fn is_symmetric(matrix: &[Vec<f64>; 3]) -> bool {
    let [sub, _, sup] = matrix;
    let same = |(a, b): (&f64, &f64)| (a - b).abs() <= 4.0 * f64::EPSILON * a.abs().max(b.abs());
    sub.iter().skip(1).zip(sup).all(same)
}
