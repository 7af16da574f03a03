//! Sparse Hermitian matrices for searches by shift-and-invert and for eigenvalue counts.

use crate::matrices::ShiftableMatrix;
use crate::multifrontal::{SparseFactors, negatives};
use bandsolve::dyn_stack::PodStack;
use bandsolve::memory::{allocate, collected, zeroed};
use bandsolve::vectors::narrow;
use bandsolve::{Complex64, Error, LinearOperator, Op, RealScalar, Result, Scalar};
use bandsolve_kernel::arithmetic::Standard;
use bandsolve_sparse::{Csr, Dissection, Graph};
use std::sync::Arc;

/// Rounding errors by which a matrix may differ from its adjoint, in units of ε times its size.
const ROUNDING: f64 = 1e3;

/// The limit of ‖b − A·x‖ / (‖A‖·‖x‖ + ‖b‖) after a solve, in units of ε, in the maximum norm.
const LIMIT: f64 = 16.0;

/// The most diagonals on each side of a band that is always solved as a band.
const NARROW: usize = 32;

/// Most steps of iterative refinement.
const STEPS: usize = 3;

/// A sparse Hermitian matrix whose factors need less work than those of its band, for example of a grid in two dimensions.
///
/// [`EigenSolver::hermitian_nearest`](crate::EigenSolver::hermitian_nearest) and
/// [`hermitian_between`](crate::EigenSolver::hermitian_between) accept such matrices. They compute L·D·Lᴴ = A − σB in the order of a
/// [nested dissection](Graph::nested_dissection), with pivots of one or two columns, for solves and for counts.
///
/// # Cost
/// For a grid of n points in two dimensions, a factorization costs approximately 60·n^1.5 flops, and a solve 30·n·log₂ n.
///
/// # Source
/// I. S. Duff, J. K. Reid, The multifrontal solution of indefinite sparse symmetric linear equations, ACM Transactions on Mathematical Software 9, 1983.
///
/// # Examples
/// ```
/// use bandsolve_eigen::{EigenSolver, SparseHermitian};
/// use bandsolve_sparse::nine_point;
/// // The five-point Laplacian of a grid of 30 × 20 points: λ = 4 − 2·cos(π·i/31) − 2·cos(π·j/21)
/// let a = nine_point([[0.0, -1.0, 0.0], [-1.0, 4.0, -1.0], [0.0, -1.0, 0.0]], (30, 20));
/// let a = SparseHermitian::new(a.to_owned_narrow()?)?;
/// let eigen = EigenSolver::new(2).hermitian_nearest(&a, None, 0.0)?;
/// let cos = |k: f64| (core::f64::consts::PI * k).cos();
/// assert!(eigen.values.iter().any(|value| (value - (4.0 - 2.0 * cos(1.0 / 31.0) - 2.0 * cos(1.0 / 21.0))).abs() < 1e-12));
/// # Ok::<(), bandsolve::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct SparseHermitian<T: Scalar> {
    a: Arc<Csr<'static, T, u32>>,
    dissection: Arc<Dissection>,
}

/// A Hermitian matrix A, and a matrix B if there is one, with the same order of the unknowns.
///
/// # Examples
/// ```
/// use bandsolve_eigen::{ShiftableMatrix, SparseHermitian, SparsePencil};
/// use bandsolve_sparse::Csr;
/// let diagonal = |values: [f64; 2]| Csr::from_triplets(2, 2, &[(0, 0, values[0]), (1, 1, values[1])]);
/// // λ = 1/2 and 6
/// let (a, b): SparsePencil<f64> = SparseHermitian::pencil(diagonal([1.0, 6.0])?, Some(diagonal([2.0, 1.0])?))?;
/// assert_eq!(a.eigenvalues_below(b.as_ref(), 3.0)?, 1);
/// # Ok::<(), bandsolve::Error>(())
/// ```
pub type SparsePencil<T> = (SparseHermitian<T>, Option<SparseHermitian<T>>);

impl<T: Scalar> SparseHermitian<T> {
    /// Find the order of the unknowns.
    ///
    /// # Errors
    /// As [`pencil`](Self::pencil).
    pub fn new(a: Csr<'static, T, u32>) -> Result<Self> {
        Self::pencil(a, None).map(|(a, _)| a)
    }

    /// Find the order of the unknowns of a pencil A − σB.
    ///
    /// # Errors
    /// [`Error::Shape`] if a matrix is not square, or their sizes differ. [`Error::NotFinite`] if an entry is NaN or infinite.
    /// [`Error::InvalidArgument`] if a matrix differs from its adjoint by more than rounding errors. [`Error::OutOfMemory`],
    /// [`Error::Interrupted`].
    pub fn pencil(a: Csr<'static, T, u32>, b: Option<Csr<'static, T, u32>>) -> Result<SparsePencil<T>> {
        let all = a.shifted(T::ONE, b.as_ref())?;
        for (name, matrix) in [("A", Some(&a)), ("B", b.as_ref())] {
            matrix.map_or(Ok(()), |matrix| check(name, matrix))?;
        }
        let (pointers, columns, values) = all.parts();
        // Ones instead of the values: an entry of A − σB may be zero for one shift only.
        let pattern = Csr::new(all.columns(), pointers, columns, allocate(values.len(), 1.0_f32)?)?;
        let dissection = Arc::new(Graph::of(&pattern)?.nested_dissection()?);
        let with = |a| Self { a: Arc::new(a), dissection: Arc::clone(&dissection) };
        Ok((with(a), b.map(with)))
    }

    /// The order of the unknowns.
    pub fn dissection(&self) -> &Dissection {
        &self.dissection
    }

    /// Find the order of the unknowns of a pencil, if its factors need less work than those of its band.
    ///
    /// `width` is the number of diagonals of the pencil on each side. The function returns `None` for a narrow band, if a matrix is not Hermitian or
    /// not finite, and if the factors need more than `most` numbers.
    ///
    /// # Errors
    /// As [`pencil`](Self::pencil) otherwise.
    pub fn instead_of_band(
        (a, b): (&Csr<'_, T, u32>, Option<&Csr<'_, T, u32>>),
        width: usize,
        most: usize,
    ) -> Result<Option<SparsePencil<T>>> {
        if width <= NARROW {
            return Ok(None);
        }
        let b = b.map(Csr::to_owned_narrow).transpose()?;
        match Self::pencil(a.to_owned_narrow()?, b) {
            Ok(pencil) => Ok(Some(pencil).filter(|(a, _)| a.is_better_than_band(width, most))),
            Err(Error::InvalidArgument { .. } | Error::NotFinite { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Whether the factors need fewer flops than those of a band, and at most `most` numbers.
    fn is_better_than_band(&self, width: usize, most: usize) -> bool {
        let (n, width) = (self.a.rows() as f64, width as f64);
        // A band costs 2 to 4 times n·width² flops. Small fronts reach half of the speed.
        self.dissection.entries() <= most as f64 && self.dissection.flops() < n * width * width
    }

    /// A − σB. The graph of B must be part of the dissected graph.
    fn minus(&self, sigma: T, b: Option<&Self>) -> Result<Csr<'static, T, u32>> {
        if b.is_some_and(|b| !Arc::ptr_eq(&self.dissection, &b.dissection)) {
            return Err(Error::invalid(
                "B",
                "has another order of the unknowns than A",
                "matrices of one `SparseHermitian::pencil`",
            ));
        }
        let shifted = self.a.shifted(sigma, b.map(|b| &*b.a))?;
        finite("A - sigma B", &shifted)?;
        Ok(shifted)
    }
}

/// Return an error if an entry is NaN or infinite.
fn finite<T: Scalar>(array: &'static str, a: &Csr<'_, T, u32>) -> Result<()> {
    let bad = a.parts().2.iter().position(|value| !Scalar::is_finite(*value));
    bad.map_or(Ok(()), |index| Err(Error::NotFinite { array, index }))
}

/// Return an error unless A·x = Aᴴ·x for a random x, up to rounding errors.
fn check<T: Scalar>(name: &'static str, a: &Csr<'static, T, u32>) -> Result<()> {
    finite(name, a)?;
    let n = a.rows();
    let x: Vec<T> = collected((0..n).map(|i| narrow(Complex64::from(crate::random::unit(1, i as u64)))))?;
    let (mut image, mut adjoint) = (zeroed(n)?, zeroed(n)?);
    // Products need no scratch memory.
    a.apply(&x, &mut image, PodStack::new(&mut []))?;
    a.apply_op(Op::ConjTranspose, &x, &mut adjoint, PodStack::new(&mut []))?;
    let largest = a.parts().2.iter().fold(0.0_f64, |most, value| most.max(value.abs1().to_f64()));
    let limit = ROUNDING * T::Real::EPSILON.to_f64() * largest;
    match image.iter().zip(&adjoint).all(|(one, other)| (*one - *other).abs1().to_f64() <= limit) {
        true => Ok(()),
        false => Err(Error::invalid(name, "differs from its adjoint", "a Hermitian matrix")),
    }
}

impl<T: Scalar> ShiftableMatrix for SparseHermitian<T> {
    type Scalar = T;
    type ShiftedInverse = SparseHermitianInverse<T>;

    fn rows(&self) -> usize {
        self.a.rows()
    }

    fn multiply(&self, x: &[T], y: &mut [T]) -> Result<()> {
        self.a.apply(x, y, PodStack::new(&mut []))
    }

    fn multiply_adjoint(&self, x: &[T], y: &mut [T]) -> Result<()> {
        self.multiply(x, y)
    }

    fn check_definite(&self) -> Result<()> {
        if self.eigenvalues_below(None, 0.0)? == 0 {
            return Ok(());
        }
        let diagonal = |i: usize| {
            self.a.row(i).filter(|(j, _)| *j == i).map(|(_, value)| value.re()).fold(T::Real::ZERO, |sum, x| sum + x)
        };
        let negative = (0..self.a.rows()).find(|i| diagonal(*i) < T::Real::ZERO);
        Err(Error::NotDefinite { row: negative.unwrap_or(self.a.rows() - 1) })
    }

    fn shifted_inverse(&self, sigma: T, b: Option<&Self>) -> Result<SparseHermitianInverse<T>> {
        let _mode = Standard::enter();
        let shifted = self.minus(T::from_real(sigma.re()), b)?;
        let factors = SparseFactors::new(&shifted, &self.dissection)?;
        let row_sum = |i: usize| shifted.row(i).map(|(_, value)| value.abs1().to_f64()).sum::<f64>();
        let norm = (0..shifted.rows()).map(row_sum).fold(0.0, f64::max);
        Ok(SparseHermitianInverse { shifted, norm, factors, dissection: Arc::clone(&self.dissection) })
    }

    fn eigenvalues_below(&self, b: Option<&Self>, shift: f64) -> Result<usize> {
        let _mode = Standard::enter();
        let narrowed = T::Real::from_f64(shift);
        if !shift.is_finite() || !narrowed.to_f64().is_finite() {
            return Err(Error::NotFinite { array: "shift", index: 0 });
        }
        let shifted = self.minus(T::from_real(narrowed), b)?;
        let overflow = Error::NotConverged { backward_error: f64::NAN, refinement_steps: 0 };
        negatives(&shifted, &self.dissection)?.ok_or(overflow)
    }
}

/// The operator (A − σB)⁻¹ of sparse Hermitian matrices, from [`SparseHermitian`]. Each solve is checked, and refined if necessary.
///
/// # Examples
/// ```
/// use bandsolve::{LinearOperator, dyn_stack::PodStack};
/// use bandsolve_eigen::{ShiftableMatrix, SparseHermitian, SparseHermitianInverse};
/// use bandsolve_sparse::Csr;
/// let a = SparseHermitian::new(Csr::from_triplets(2, 2, &[(0, 1, 1.0), (1, 0, 1.0)])?)?;
/// let inverse: SparseHermitianInverse<f64> = a.shifted_inverse(2.0, None)?; // (A − 2·I)⁻¹
/// let mut y = [0.0; 2];
/// inverse.apply(&[-1.0, -1.0], &mut y, PodStack::new(&mut []))?;
/// assert!(y.iter().all(|y| (y - 1.0).abs() < 1e-15));
/// # Ok::<(), bandsolve::Error>(())
/// ```
#[derive(Debug)]
pub struct SparseHermitianInverse<T: Scalar> {
    shifted: Csr<'static, T, u32>,
    /// The maximum norm of the matrix.
    norm: f64,
    factors: SparseFactors<T>,
    dissection: Arc<Dissection>,
}

impl<T: Scalar> SparseHermitianInverse<T> {
    /// Set `residual` to b − A·x, in the order of the dissection. Returns its largest modulus, and those of x and b.
    fn residual(&self, b: &[T], x: &[T], residual: &mut [T]) -> [f64; 3] {
        let mut largest = [0.0_f64; 3];
        for (v, residual) in self.dissection.order.iter().zip(residual) {
            let v = *v as usize;
            *residual = self.shifted.row(v).fold(b[v], |sum, (j, value)| sum - value * x[j]);
            for (most, value) in largest.iter_mut().zip([*residual, x[v], b[v]]) {
                *most = value.abs1().max_nan(T::Real::from_f64(*most)).to_f64();
            }
        }
        largest
    }
}

impl<T: Scalar> LinearOperator<T> for SparseHermitianInverse<T> {
    fn rows(&self) -> usize {
        self.shifted.rows()
    }

    fn columns(&self) -> usize {
        self.shifted.rows()
    }

    fn apply(&self, b: &[T], x: &mut [T], _: &mut PodStack) -> Result<()> {
        let n = self.shifted.rows();
        for (what, got) in [("x", b.len()), ("y", x.len())] {
            if got != n {
                return Err(Error::Shape { what, expected: n, got });
            }
        }
        let (mut change, mut residual) = (zeroed(n)?, collected(self.dissection.order.iter().map(|v| b[*v as usize]))?);
        x.fill(T::ZERO);
        let limit = LIMIT * T::Real::EPSILON.to_f64();
        let mut steps = 0;
        loop {
            self.factors.solve(&self.dissection, &residual, &mut change)?;
            self.dissection.order.iter().zip(&change).for_each(|(v, change)| x[*v as usize] += *change);
            let [of_residual, of_x, of_b] = self.residual(b, x, &mut residual);
            let backward_error = of_residual / (self.norm * of_x + of_b);
            if backward_error <= limit || of_residual == 0.0 {
                return Ok(());
            }
            if steps == STEPS || backward_error.is_nan() {
                return Err(Error::NotConverged { backward_error, refinement_steps: steps });
            }
            steps += 1;
        }
    }

    fn apply_op(&self, op: Op, b: &[T], x: &mut [T], stack: &mut PodStack) -> Result<()> {
        match op {
            // The matrix is Hermitian.
            Op::Plain | Op::ConjTranspose => self.apply(b, x, stack),
            Op::Transpose => {
                let conjugate: Vec<T> = collected(b.iter().map(|b| Scalar::conj(*b)))?;
                self.apply(&conjugate, x, stack)?;
                x.iter_mut().for_each(|x| *x = Scalar::conj(*x));
                Ok(())
            }
        }
    }
}
