//! The library's matrices: their products, A − σB, and the eigenvalues nearest to a target by one call.

use crate::problem::EigenProblem;
use crate::report::{GeneralEigen, HermitianEigen};
use crate::solver::EigenSolver;
use bandsolve::dyn_stack::PodStack;
use bandsolve::memory::{allocate, zeroed};
use bandsolve::vectors::{agree_on, widen};
use bandsolve::{
    Banded, BlockTridiagonal, Complex64, Error, Factorize, Inverse, LinearOperator, Op, Plan, RealScalar, Result,
    Scalar, Shape, Tridiagonal,
};

/// Matrices that [`EigenSolver::hermitian_nearest`] and [`EigenSolver::general_nearest`] take: those of the library, and those that
/// several processes hold.
pub trait ShiftableMatrix: Sync + Sized {
    /// The number type.
    type Scalar: Scalar;
    /// (A − σB)⁻¹.
    type ShiftedInverse: LinearOperator<Self::Scalar>;
    /// Number of rows; of a matrix that several processes hold, of those on this one.
    fn rows(&self) -> usize;
    /// y = A·x.
    ///
    /// # Errors
    /// [`Error::Shape`] if lengths do not fit.
    fn multiply(&self, x: &[Self::Scalar], y: &mut [Self::Scalar]) -> Result<()>;
    /// y = Aᴴ·x.
    ///
    /// # Errors
    /// As [`multiply`](Self::multiply), and [`Error::Unsupported`] where only A·x is known.
    fn multiply_adjoint(&self, _x: &[Self::Scalar], _y: &mut [Self::Scalar]) -> Result<()> {
        Err(Error::Unsupported { method: "multiply_adjoint", what: "adjoints of this matrix" })
    }
    /// `Err(NotDefinite)` if this matrix, as the B of a Hermitian pencil, is known not to be positive definite. By default nothing is known
    /// beforehand, and the search sees negative xᴴ·B·x alone.
    ///
    /// # Errors
    /// [`Error::NotDefinite`], and those of counting eigenvalues.
    fn check_definite(&self) -> Result<()> {
        Ok(())
    }
    /// (A − σB)⁻¹ by factors; B = I without one.
    ///
    /// # Errors
    /// [`Error::Shape`] if A and B have not the same shape, [`Error::NotFinite`] if an entry is not finite, and those of factoring.
    fn shifted_inverse(&self, sigma: Self::Scalar, b: Option<&Self>) -> Result<Self::ShiftedInverse>;
}

/// A⁻¹ by factors that own A.
pub type OwnedInverse<M> = Inverse<<M as Factorize>::OwningFactor>;

/// A⁻¹ by the method that a plan takes.
fn invert<M: Factorize>(shape: Shape, a: M) -> Result<OwnedInverse<M>> {
    Plan::new(shape).factor_owned(a).map(Inverse)
}

/// A matrix of the library as an operator.
///
/// # Example
/// ```
/// use bandsolve::{LinearOperator, Tridiagonal, dyn_stack::PodStack};
/// use bandsolve_eigen::MatrixOperator;
/// let a = Tridiagonal::new(&[1.0], &[2.0, 2.0], &[1.0])?;
/// let mut y = [0.0; 2];
/// MatrixOperator(&a).apply(&[1.0, 0.0], &mut y, PodStack::new(&mut []))?;
/// assert_eq!(y, [2.0, 1.0]);
/// # Ok::<(), bandsolve::Error>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct MatrixOperator<'m, M>(pub &'m M);

impl<M: ShiftableMatrix> LinearOperator<M::Scalar> for MatrixOperator<'_, M> {
    fn rows(&self) -> usize {
        self.0.rows()
    }

    fn columns(&self) -> usize {
        self.0.rows()
    }

    fn apply(&self, x: &[M::Scalar], y: &mut [M::Scalar], _: &mut PodStack) -> Result<()> {
        self.0.multiply(x, y)
    }

    fn apply_op(&self, op: Op, x: &[M::Scalar], y: &mut [M::Scalar], _: &mut PodStack) -> Result<()> {
        match op {
            Op::Plain => self.0.multiply(x, y),
            Op::ConjTranspose => self.0.multiply_adjoint(x, y),
            Op::Transpose => {
                let conjugate: Vec<M::Scalar> = x.iter().map(|x| Scalar::conj(*x)).collect();
                self.0.multiply_adjoint(&conjugate, y)?;
                y.iter_mut().for_each(|y| *y = Scalar::conj(*y));
                Ok(())
            }
        }
    }
}

/// Rows of a block, if block diagonals hold the entries of a band of n rows in fewer places than the band, with `width` entries on either
/// side of the diagonal; `fits` says whether all entries are in neighbouring blocks of a size.
///
/// A band of 2·b − 1 diagonals on either side costs about 8·b² operations a row, with exchanges more, blocks of b rows about 5·b².
///
/// # Example
/// ```
/// // A full block tridiagonal matrix in blocks of 10 rows has 19 entries on either side.
/// assert_eq!(bandsolve_eigen::block_rows(100, 19, |block| *block == 10), Some(10));
/// assert_eq!(bandsolve_eigen::block_rows(100, 19, |_| false), None);
/// ```
pub fn block_rows(n: usize, width: usize, fits: impl FnMut(&usize) -> bool) -> Option<usize> {
    let sizes = (width / 2 + 1..=2 * width / 3).filter(|block| n.is_multiple_of(*block) && *block > 8);
    sizes.take(4).find(fits)
}

/// `Err(Shape)` unless both vectors have length n.
fn check_lengths<T>(n: usize, x: &[T], y: &[T]) -> Result<()> {
    let wrong = [("x", x.len()), ("y", y.len())].into_iter().find(|(_, got)| *got != n);
    wrong.map_or(Ok(()), |(what, got)| Err(Error::Shape { what, expected: n, got }))
}

/// Σ conj(a_i)·x_i on their common length.
fn adjoint_dot<T: Scalar>(a: &[T], x: &[T]) -> T {
    a.iter().zip(x).fold(T::ZERO, |sum, (a, x)| sum + a.conj() * *x)
}

/// `Err(Shape)` unless both matrices are of one shape.
fn same_shape(a: Shape, b: Option<Shape>) -> Result<()> {
    match b {
        Some(b) if b != a => Err(Error::Shape { what: "B, which is not of A's shape,", expected: a.n(), got: b.n() }),
        _ => Ok(()),
    }
}

/// a − σ·b, element by element; b may be a part that is not there.
fn subtract<T: Scalar>(a: &[T], sigma: T, b: Option<&[T]>) -> Vec<T> {
    match b {
        Some(b) => a.iter().zip(b).map(|(a, b)| *a - sigma * *b).collect(),
        None => a.to_vec(),
    }
}

/// An array beside the diagonal with all its `len` elements: the first or last may have been left out.
fn whole<T: Scalar>(beside: &[T], len: usize, at_end: bool) -> Vec<T> {
    let mut all = vec![T::ZERO; len];
    let missing = len - beside.len();
    let from = if at_end { 0 } else { missing };
    all[from..from + beside.len()].copy_from_slice(beside);
    all
}

impl<T: Scalar> ShiftableMatrix for Tridiagonal<'_, T> {
    type Scalar = T;
    type ShiftedInverse = OwnedInverse<Tridiagonal<'static, T>>;

    fn rows(&self) -> usize {
        self.shape().n()
    }

    fn multiply(&self, x: &[T], y: &mut [T]) -> Result<()> {
        self.apply_into(x, y)
    }

    fn multiply_adjoint(&self, x: &[T], y: &mut [T]) -> Result<()> {
        self.transposed(true).apply_into(x, y)
    }

    fn shifted_inverse(&self, sigma: T, b: Option<&Self>) -> Result<Self::ShiftedInverse> {
        same_shape(self.shape(), b.map(Self::shape))?;
        self.check_finite()?;
        b.map_or(Ok(()), |b| b.check_finite())?;
        let n = self.n();
        let rows = |part: fn((T, T, T)) -> T| -> Vec<T> {
            let shifted = |i: usize| part(self.row(i)) - b.map_or(T::ZERO, |b| sigma * part(b.row(i)));
            (0..n).map(shifted).collect()
        };
        let (sub, mut diag, sup) = (rows(|row| row.0), rows(|row| row.1), rows(|row| row.2));
        if b.is_none() {
            diag.iter_mut().for_each(|diag| *diag -= sigma);
        }
        invert(self.shape(), Tridiagonal::from_vecs(sub, diag, sup, self.is_periodic())?)
    }
}

impl<T: Scalar> ShiftableMatrix for Banded<'_, T> {
    type Scalar = T;
    type ShiftedInverse = OwnedInverse<Banded<'static, T>>;

    fn rows(&self) -> usize {
        self.shape().n()
    }

    fn multiply(&self, x: &[T], y: &mut [T]) -> Result<()> {
        self.apply_into(x, y)
    }

    fn multiply_adjoint(&self, x: &[T], y: &mut [T]) -> Result<()> {
        check_lengths(self.n(), x, y)?;
        for (j, y) in y.iter_mut().enumerate() {
            let (first, column) = self.column(j);
            *y = adjoint_dot(column, &x[first..]);
        }
        Ok(())
    }

    fn shifted_inverse(&self, sigma: T, b: Option<&Self>) -> Result<Self::ShiftedInverse> {
        same_shape(self.shape(), b.map(Self::shape))?;
        self.check_finite()?;
        b.map_or(Ok(()), |b| b.check_finite())?;
        let (n, lower, upper) = (self.n(), self.lower(), self.upper());
        let leading = lower + upper + 1;
        let mut bands = vec![T::ZERO; n * leading];
        for j in 0..n {
            let (first, column) = self.column(j);
            let shifted = subtract(column, sigma, b.map(|b| b.column(j).1));
            let from = j * leading + upper + first - j;
            bands[from..from + shifted.len()].copy_from_slice(&shifted);
            if b.is_none() {
                bands[j * leading + upper] -= sigma;
            }
        }
        invert(self.shape(), Banded::from_vec(n, lower, upper, bands)?)
    }
}

impl<T: Scalar> ShiftableMatrix for BlockTridiagonal<'_, T> {
    type Scalar = T;
    type ShiftedInverse = OwnedInverse<BlockTridiagonal<'static, T>>;

    fn rows(&self) -> usize {
        self.shape().n()
    }

    fn multiply(&self, x: &[T], y: &mut [T]) -> Result<()> {
        self.apply_into(x, y)
    }

    fn multiply_adjoint(&self, x: &[T], y: &mut [T]) -> Result<()> {
        check_lengths(self.n(), x, y)?;
        let (b, count, arrays) = (self.block(), self.block_rows(), self.arrays());
        y.fill(T::ZERO);
        for row in 0..count {
            let own = &x[row * b..][..b];
            let near = [(0, (row + count - 1) % count), (1, row), (2, (row + 1) % count)];
            for (which, column) in near {
                let open = which == 0 && row == 0 || which == 2 && row + 1 == count;
                if open && !self.is_periodic() {
                    continue;
                }
                // `sub` has all blocks or begins with that of block row 1.
                let missing = if which == 0 { count - arrays[0].len() / (b * b) } else { 0 };
                let block = &arrays[which][(row - missing) * b * b..][..b * b];
                let to = &mut y[column * b..][..b];
                to.iter_mut().zip(block.chunks_exact(b)).for_each(|(y, column)| *y += adjoint_dot(column, own));
            }
        }
        Ok(())
    }

    fn shifted_inverse(&self, sigma: T, b: Option<&Self>) -> Result<Self::ShiftedInverse> {
        same_shape(self.shape(), b.map(Self::shape))?;
        self.check_finite()?;
        b.map_or(Ok(()), |b| b.check_finite())?;
        let (len, square) = (self.arrays()[1].len(), self.block() * self.block());
        let arrays = |a: &Self| {
            let [sub, diag, sup] = a.arrays();
            [whole(sub, len, false), diag.to_vec(), whole(sup, len, true)]
        };
        let (own, other) = (arrays(self), b.map(arrays));
        let mut blocks: [Vec<T>; 3] =
            core::array::from_fn(|k| subtract(&own[k], sigma, other.as_ref().map(|other| &other[k][..])));
        if b.is_none() {
            for block in blocks[1].chunks_exact_mut(square) {
                block.iter_mut().step_by(self.block() + 1).for_each(|diag| *diag -= sigma);
            }
        }
        invert(self.shape(), BlockTridiagonal::from_vecs(self.block(), blocks, self.is_periodic())?)
    }
}

/// How far a shift is moved that is an eigenvalue, relative to the norm that was seen; again four times as far.
const MOVED: f64 = 1.0 / (1 << 20) as f64;

/// Times that a shift is moved.
const MOVES: usize = 3;

/// What [`EigenSolver::nearest`] finds.
trait FoundNearest: Sized {
    /// The smallest |λ − σ|, and ‖A‖.
    fn nearest_and_norm(&self) -> (f64, f64);
    /// Offsets from another target.
    fn relate(&mut self, moved_by: Complex64);
}

impl<T> FoundNearest for HermitianEigen<T> {
    fn nearest_and_norm(&self) -> (f64, f64) {
        (self.offsets.iter().fold(f64::INFINITY, |least, offset| least.min(offset.abs())), self.report.norms[0])
    }

    fn relate(&mut self, moved_by: Complex64) {
        self.offsets.iter_mut().for_each(|offset| *offset += moved_by.re);
    }
}

impl FoundNearest for GeneralEigen {
    fn nearest_and_norm(&self) -> (f64, f64) {
        (self.offsets.iter().fold(f64::INFINITY, |least, offset| least.min(offset.norm())), self.report.norms[0])
    }

    fn relate(&mut self, moved_by: Complex64) {
        self.offsets.iter_mut().for_each(|offset| *offset += moved_by);
    }
}

impl<T: Scalar> EigenSolver<'_, T> {
    /// The eigenvalues of a Hermitian matrix or pencil that are nearest to a target, by shift-and-invert. A target that is an
    /// eigenvalue, so that A − σB is singular, is moved by about 10⁻⁶ of ‖A‖ for the solves.
    ///
    /// # Errors
    /// As [`hermitian`](Self::hermitian), and [`Error::Singular`] where moving did not help.
    pub fn hermitian_nearest<M>(&self, a: &M, b: Option<&M>, target: f64) -> Result<HermitianEigen<T>>
    where
        M: ShiftableMatrix<Scalar = T>,
    {
        let target = T::from_parts(T::Real::from_f64(target), T::Real::ZERO);
        b.map_or(Ok(()), M::check_definite)?;
        self.nearest((a, b), target, |problem| self.hermitian(problem))
    }

    /// The eigenvalues of a matrix or pencil that are nearest to a target, by shift-and-invert.
    ///
    /// # Errors
    /// As [`hermitian_nearest`](Self::hermitian_nearest).
    pub fn general_nearest<M>(&self, a: &M, b: Option<&M>, target: T) -> Result<GeneralEigen>
    where
        M: ShiftableMatrix<Scalar = T>,
    {
        self.nearest((a, b), target, |problem| self.general(problem))
    }

    fn nearest<M, R: FoundNearest>(
        &self,
        (a, b): (&M, Option<&M>),
        target: T,
        search: impl Fn(&EigenProblem<'_, T>) -> Result<R>,
    ) -> Result<R>
    where
        M: ShiftableMatrix<Scalar = T>,
    {
        if !Scalar::is_finite(target) {
            return Err(Error::NotFinite { array: "shift", index: 0 });
        }
        let (operator, mass) = (MatrixOperator(a), b.map(MatrixOperator));
        let mass = mass.as_ref().map(|mass| mass as &dyn LinearOperator<T>);
        let (mut sigma, mut moves) = (target, 0);
        loop {
            let found = a.shifted_inverse(sigma, b).and_then(|inverse| {
                let problem = EigenProblem::new(&operator).shifted(sigma, &inverse);
                search(&EigenProblem { b: mass, ..problem })
            });
            let norm = match found {
                Err(Error::Singular { .. } | Error::NotConverged { .. }) if moves < MOVES => self.size_of(a)?,
                Err(error) => return Err(error),
                Ok(mut found) => {
                    let (nearest, norm) = found.nearest_and_norm();
                    // Beside such an eigenvalue the others would be lost in rounding.
                    let lost = nearest <= 1e3 * T::Real::EPSILON.to_f64() * norm;
                    if !lost || moves >= MOVES {
                        found.relate(widen(sigma) - widen(target));
                        return Ok(found);
                    }
                    norm
                }
            };
            let size = norm.max(Scalar::abs(target).to_f64());
            let step = if size > 0.0 { size } else { 1.0 } * MOVED * 4_f64.powi(moves as i32);
            sigma = target + T::from_parts(T::Real::from_f64(step), T::Real::ZERO);
            moves += 1;
        }
    }

    /// A number of the size of ‖A‖: the largest entry of A·e, added up over the processes; e: ones.
    fn size_of<M: ShiftableMatrix<Scalar = T>>(&self, a: &M) -> Result<f64> {
        let vectors = || Ok((allocate(a.rows(), T::ONE)?, zeroed(a.rows())?));
        let (ones, mut image) = agree_on(self.communicator, vectors())?;
        a.multiply(&ones, &mut image)?;
        let mut largest = [image.iter().map(|y| Scalar::abs(*y).to_f64()).fold(0.0, f64::max)];
        self.communicator.sum(&mut largest);
        Ok(largest[0])
    }
}
