//! The operations of Krylov methods on vectors that may be anywhere.

use crate::error::Result;
use bandsolve_kernel::Complex64;
use bandsolve_kernel::view::View;

/// A vector of [`Vectors`].
///
/// # Examples
/// ```
/// use bandsolve::vectors::VectorId;
/// let [direction, image] = [0, 1].map(VectorId::Work);
/// assert_ne!(direction, image);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VectorId {
    /// The right-hand side, which no operation writes.
    Rhs,
    /// The solution x.
    Solution,
    /// One of the vectors that belong to the method.
    Work(usize),
}

/// A linear operator of [`Vectors`].
///
/// # Examples
/// ```
/// use bandsolve::vectors::{Operator, VectorId, Vectors};
/// /// z = M⁻¹·(A·x)
/// fn preconditioned(vectors: &mut dyn Vectors, x: VectorId, z: VectorId) -> bandsolve::Result<()> {
///     let y = VectorId::Work(0);
///     vectors.apply(Operator::Matrix, x, y)?;
///     vectors.apply(Operator::Preconditioner, y, z)
/// }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operator {
    /// The matrix A of the system.
    Matrix,
    /// The inverse M⁻¹ of a preconditioner. In an eigenvalue problem, the inverse of A − σB or of B.
    Preconditioner,
    /// The inverse of a preconditioner that may change, in this step.
    Step(usize),
    /// The matrix B of an eigenvalue problem A·x = λ·B·x.
    Mass,
}

/// Maximum number of vectors of a [`LinearCombination`].
///
/// # Examples
/// ```
/// assert_eq!(bandsolve::vectors::MOST_TERMS, 8);
/// ```
pub use bandsolve_kernel::combine::MOST_TERMS;

/// The vector `out` = `plus` + `factor`·Σ cₖ·vₖ.
///
/// The sum of the products cₖ·vₖ is formed from left to right, then multiplied by the factor, and added to `plus`. Without `plus`, there is no
/// addition. `out` may be one of the other vectors, but it is not `plus` if the factor is not 1. Products and sums are rounded one by one.
///
/// # Examples
/// ```
/// use bandsolve::vectors::{LinearCombination, VectorId};
/// // x ← x + 2·p
/// let step = [(2.0.into(), VectorId::Work(0))];
/// let combination = LinearCombination::add_to(VectorId::Solution, &step);
/// assert_eq!(combination.plus, Some(VectorId::Solution));
/// ```
#[derive(Debug, Clone, Copy)]
pub struct LinearCombination<'t> {
    /// The vector that is written.
    pub out: VectorId,
    /// The first term.
    pub plus: Option<VectorId>,
    /// The factor of the sum.
    pub factor: Complex64,
    /// The terms cₖ and vₖ of the sum. With `plus`, there are at most [`MOST_TERMS`] vectors.
    pub terms: &'t [(Complex64, VectorId)],
}

impl<'t> LinearCombination<'t> {
    /// `out` = Σ cₖ·vₖ.
    pub const fn of(out: VectorId, terms: &'t [(Complex64, VectorId)]) -> Self {
        Self { out, plus: None, factor: Complex64::new(1.0, 0.0), terms }
    }

    /// `out` = `out` + Σ cₖ·vₖ.
    pub const fn add_to(out: VectorId, terms: &'t [(Complex64, VectorId)]) -> Self {
        Self { plus: Some(out), ..Self::of(out, terms) }
    }
}

/// The vectors of a Krylov method, all of one length, and what a method does with them.
///
/// A method names its vectors by [`VectorId`], and computes with numbers in double precision. It does not know the number type of the vectors, nor
/// where they are. So one text of a method serves all number types, devices, and processes.
///
/// If several processes share a system, each has some of its rows. Sums are over all processes, so all processes call the same functions in the same
/// order.
///
/// # Examples
/// ```
/// use bandsolve::dyn_stack::{PodBuffer, PodStack};
/// use bandsolve::vectors::{HostVectors, LinearCombination, Reducer, VectorId, Vectors};
/// use bandsolve::{Alone, LinearOperator, Result};
/// struct Twice;
/// impl LinearOperator<f64> for Twice {
///     fn rows(&self) -> usize { 3 }
///     fn columns(&self) -> usize { 3 }
///     fn apply(&self, x: &[f64], y: &mut [f64], _: &mut PodStack) -> Result<()> {
///         y.iter_mut().zip(x).for_each(|(y, x)| *y = 2.0 * x);
///         Ok(())
///     }
/// }
/// let mut memory = PodBuffer::new(Reducer::scratch(3, 1));
/// let (reducer, stack) = Reducer::new(&Alone, 3, 1, PodStack::new(&mut memory));
/// let (mut x, mut work) = ([0.0; 3], vec![0.0; HostVectors::<f64>::stride(3)]);
/// let mut vectors = HostVectors { a: &Twice, b: None, m: None, rhs: &[6.0, 0.0, 8.0], x: &mut x, work: &mut work, reducer, stack };
/// let (x, r) = (VectorId::Solution, VectorId::Work(0));
/// // x ← x + ½·rhs, r = rhs − A·x
/// vectors.combine(&[LinearCombination::add_to(x, &[(0.5.into(), VectorId::Rhs)])], &[], &mut []);
/// vectors.residual(x, VectorId::Rhs, r)?;
/// assert_eq!((vectors.norm(x), vectors.norm(r)), (5.0, 0.0));
/// # Ok::<(), bandsolve::Error>(())
/// ```
pub trait Vectors {
    /// The unit roundoff ε of the number type, as [`RealScalar::EPSILON`](bandsolve_kernel::RealScalar::EPSILON).
    fn epsilon(&self) -> f64;

    /// Number of rows on the processes before this one.
    fn rows_before(&self) -> usize;

    /// The sums of these numbers over all processes.
    fn sum(&self, values: &mut [f64]);

    /// Compute y = OP·x. The vectors must differ.
    ///
    /// # Errors
    /// Those of the operator.
    fn apply(&mut self, operator: Operator, x: VectorId, y: VectorId) -> Result<()>;

    /// Compute r = rhs − A·x. r must differ from x and rhs.
    ///
    /// # Errors
    /// Those of the operator.
    fn residual(&mut self, x: VectorId, rhs: VectorId, r: VectorId) -> Result<()>;

    /// Compute r = rhs − A·x in twice the working precision, and return a bound on the error of its elements: see
    /// [`LinearOperator::accurate_residual`](crate::LinearOperator::accurate_residual). `None` if the operator does not know its entries.
    ///
    /// # Errors
    /// Those of the operator.
    fn accurate_residual(&mut self, x: VectorId, rhs: VectorId, r: VectorId) -> Result<Option<f64>>;

    /// Compute linear combinations, one after the other, and at most [`MOST_TERMS`] inner products aᴴ·b of their results or of other vectors, one for
    /// each sum.
    ///
    /// An element of a result depends only on the same elements of other vectors. A pass over the memory can therefore compute all.
    fn combine(
        &mut self,
        combinations: &[LinearCombination<'_>],
        products: &[(VectorId, VectorId)],
        sums: &mut [Complex64],
    );

    /// Make w orthogonal to h.len() vectors of an orthonormal basis V, and return ‖w‖₂.
    ///
    /// Applies classical Gram–Schmidt twice: h = Uᴴ·w, w ← w − V·h. `again` is scratch of the length of h. `bases` are the numbers of the first
    /// work vectors of V and of U, which are equal, or U = B·V if V is orthonormal in the inner product xᴴ·B·y.
    fn orthogonalize(&mut self, bases: [usize; 2], w: VectorId, h: &mut [Complex64], again: &mut [Complex64]) -> f64;

    /// Replace the vectors of a basis V, which begins at `basis` in the order of the work vectors, by V·Q.
    ///
    /// V has a vector for each row of Q, and V·Q one for each column, at most as many. The other vectors of V become undefined.
    fn rotate(&mut self, basis: usize, q: View<'_, Complex64>);

    /// Compute y ← y − V·c with the c.len() vectors of a basis V, which begins at `basis` in the order of the work vectors.
    fn subtract_combination(&mut self, y: VectorId, basis: usize, c: &[Complex64]);

    /// The norm ‖v‖₂ from its square, or from v again if the square may have overflowed or underflowed; NaN if an element is not finite.
    fn root(&mut self, squared: f64, v: VectorId) -> f64;

    /// Compute `to` = by·`from` in double precision, rounded once.
    fn scale(&mut self, from: VectorId, to: VectorId, by: f64);

    /// Set the elements vᵢ to `value(i)`, or to `value(i)` times the elements of `times`. The number i counts the rows of this process.
    fn set(&mut self, v: VectorId, times: Option<VectorId>, value: &(dyn Fn(usize) -> Complex64 + Sync));

    /// Pass the elements of v to `to`, as the bytes of the number type.
    fn read(&mut self, v: VectorId, to: &mut dyn FnMut(&[u8]));

    /// Write the elements of v to `to`, in double precision.
    fn elements(&mut self, v: VectorId, to: &mut [Complex64]);

    /// The inner product aᴴ·b.
    fn dot(&mut self, a: VectorId, b: VectorId) -> Complex64 {
        let mut sum = [Complex64::default()];
        self.combine(&[], &[(a, b)], &mut sum);
        sum[0]
    }

    /// The norm ‖v‖₂; NaN if an element is not finite. It overflows only if the norm itself exceeds the largest number.
    fn norm(&mut self, v: VectorId) -> f64 {
        let squared = self.dot(v, v).re;
        self.root(squared, v)
    }

    /// Compute `to` = `from`.
    fn copy(&mut self, from: VectorId, to: VectorId) {
        self.combine(&[LinearCombination::of(to, &[(Complex64::new(1.0, 0.0), from)])], &[], &mut []);
    }
}
