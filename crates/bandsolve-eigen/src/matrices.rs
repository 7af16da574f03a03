//! Products and shifted inverses of the library's matrices, and the search for the eigenvalues nearest to a target.

use crate::krylov_schur::{NEAR, PRODUCT};
use crate::problem::{EigenProblem, Which};
use crate::report::{EigenEnding, EigenReport, GeneralEigen, HermitianEigen};
use crate::solver::{EigenSolver, SearchSettings};
use bandsolve::dyn_stack::PodStack;
use bandsolve::memory::{allocate, collected, copied, reserved, zeroed};
use bandsolve::vectors::{agree_alike, agree_on, digest, narrow, widen};
use bandsolve::{
    Banded, BlockTridiagonal, Complex64, Error, Factorize, Inverse, LinearOperator, Op, Plan, RealScalar, Result,
    Scalar, Shape, Tridiagonal,
};

/// A matrix that can be multiplied by a vector, and for which A − σB can be factored.
///
/// [`EigenSolver::hermitian_nearest`] and [`EigenSolver::general_nearest`] accept such matrices. The matrices of this library and matrices
/// distributed over several processes implement this trait.
///
/// # Examples
/// ```
/// use bandsolve::Tridiagonal;
/// use bandsolve_eigen::ShiftableMatrix;
/// let a = Tridiagonal::new(&[1.0], &[2.0, 2.0], &[1.0])?;
/// let mut y = [0.0; 2];
/// a.multiply(&[1.0, 0.0], &mut y)?;
/// assert_eq!((ShiftableMatrix::rows(&a), y), (2, [2.0, 1.0]));
/// # Ok::<(), bandsolve::Error>(())
/// ```
pub trait ShiftableMatrix: Sync + Sized {
    /// The number type.
    type Scalar: Scalar;
    /// The operator (A − σB)⁻¹.
    type ShiftedInverse: LinearOperator<Self::Scalar>;
    /// The number of rows. For a distributed matrix, the number of rows on this process.
    fn rows(&self) -> usize;
    /// Compute y = A·x.
    ///
    /// # Errors
    /// [`Error::Shape`] if the length of x or y differs from the number of rows.
    fn multiply(&self, x: &[Self::Scalar], y: &mut [Self::Scalar]) -> Result<()>;
    /// Compute y = Aᴴ·x.
    ///
    /// The default implementation returns [`Error::Unsupported`].
    ///
    /// # Errors
    /// As [`multiply`](Self::multiply). [`Error::Unsupported`] if the matrix implements A·x only.
    fn multiply_adjoint(&self, _x: &[Self::Scalar], _y: &mut [Self::Scalar]) -> Result<()> {
        Err(Error::Unsupported {
            method: "multiply_adjoint",
            what: "problems with Aᴴ: this matrix implements A·x only",
        })
    }
    /// Check that this matrix can be the B of a Hermitian pencil.
    ///
    /// The default implementation checks nothing. The search then fails only if a vector with xᴴ·B·x < 0 occurs.
    ///
    /// # Errors
    /// [`Error::NotDefinite`] if the matrix is not positive definite, and the errors of [`eigenvalues_below`](crate::eigenvalues_below).
    fn check_definite(&self) -> Result<()> {
        Ok(())
    }
    /// Count the eigenvalues of a Hermitian matrix or pencil below a shift, as [`eigenvalues_below`](crate::eigenvalues_below).
    ///
    /// The default implementation returns [`Error::Unsupported`].
    ///
    /// # Errors
    /// The errors of [`eigenvalues_below`](crate::eigenvalues_below). [`Error::Unsupported`] if the matrix does not implement counts.
    fn eigenvalues_below(&self, _b: Option<&Self>, _shift: f64) -> Result<usize> {
        Err(Error::Unsupported { method: "eigenvalues_below", what: "eigenvalue counts of this matrix" })
    }
    /// Factor A − σB. Without B, factor A − σI.
    ///
    /// # Errors
    /// [`Error::Shape`] if the shapes of A and B differ, [`Error::NotFinite`] if an entry is NaN or infinite, and the errors of the
    /// factorization, such as [`Error::Singular`].
    fn shifted_inverse(&self, sigma: Self::Scalar, b: Option<&Self>) -> Result<Self::ShiftedInverse>;
}

/// The operator A⁻¹, from factors that own A.
///
/// # Examples
/// ```
/// use bandsolve::{LinearOperator, Tridiagonal};
/// use bandsolve_eigen::{OwnedInverse, ShiftableMatrix};
/// let a = Tridiagonal::new(&[1.0], &[2.0, 2.0], &[1.0])?;
/// let inverse: OwnedInverse<Tridiagonal<'static, f64>> = a.shifted_inverse(1.5, None)?; // (A − 1.5·I)⁻¹
/// assert_eq!(inverse.rows(), 2);
/// # Ok::<(), bandsolve::Error>(())
/// ```
pub type OwnedInverse<M> = Inverse<<M as Factorize>::OwningFactor>;

/// Factor a matrix by the method that [`Plan`] chooses.
fn invert<M: Factorize>(shape: Shape, a: M) -> Result<OwnedInverse<M>> {
    Plan::new(shape).factor_owned(a).map(Inverse)
}

/// The operator of a matrix of the library.
///
/// # Examples
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
                let conjugate = collected(x.iter().map(|x| Scalar::conj(*x)))?;
                self.0.multiply_adjoint(&conjugate, y)?;
                y.iter_mut().for_each(|y| *y = Scalar::conj(*y));
                Ok(())
            }
        }
    }
}

/// Check that both vectors have length n.
fn check_lengths<T>(n: usize, x: &[T], y: &[T]) -> Result<()> {
    let wrong = [("x", x.len()), ("y", y.len())].into_iter().find(|(_, got)| *got != n);
    wrong.map_or(Ok(()), |(what, got)| Err(Error::Shape { what, expected: n, got }))
}

/// Σ conj(aᵢ)·xᵢ over the shorter of the two lengths.
fn adjoint_dot<T: Scalar>(a: &[T], x: &[T]) -> T {
    a.iter().zip(x).fold(T::ZERO, |sum, (a, x)| sum + a.conj() * *x)
}

/// The sizes of a shape, each with its name in an error about B.
fn sizes(shape: Shape) -> [(&'static str, usize); 3] {
    let corners = |periodic: bool| ("the list of corners of B", if periodic { 2 } else { 0 });
    let [second, third] = match shape {
        Shape::Tridiagonal { periodic, .. } => [corners(periodic), corners(periodic)],
        Shape::Banded { lower, upper, .. } => {
            [("the band of B below the diagonal", lower), ("the band of B above the diagonal", upper)]
        }
        Shape::BlockTridiagonal { block, periodic, .. } => [("a block of B", block), corners(periodic)],
        _ => [("B", shape.n()); 2],
    };
    [("B", shape.n()), second, third]
}

/// Check that A and B have the same shape.
///
/// # Errors
/// [`Error::Shape`] with the first size that differs.
fn same_shape(a: Shape, b: Option<Shape>) -> Result<()> {
    let Some(b) = b else { return Ok(()) };
    let differing = sizes(a).into_iter().zip(sizes(b)).find(|(of_a, of_b)| of_a != of_b);
    differing.map_or(Ok(()), |((what, expected), (_, got))| Err(Error::Shape { what, expected, got }))
}

/// Copy an off-diagonal array to `len` elements. Callers may omit the first or the last element or block, which then becomes zero.
fn whole<T: Scalar>(beside: &[T], len: usize, at_end: bool) -> Result<Vec<T>> {
    let mut all = zeroed(len)?;
    let missing = len - beside.len();
    let from = if at_end { 0 } else { missing };
    all[from..from + beside.len()].copy_from_slice(beside);
    Ok(all)
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
        check_lengths(self.n(), x, y)?;
        let n = self.n();
        y.fill(T::ZERO);
        for (i, x) in x.iter().enumerate() {
            let (sub, diag, sup) = self.row(i);
            for (entry, column) in [(sub, (i + n - 1) % n), (diag, i), (sup, (i + 1) % n)] {
                y[column] += Scalar::conj(entry) * *x;
            }
        }
        Ok(())
    }

    fn check_definite(&self) -> Result<()> {
        crate::check_definite(self)
    }

    fn eigenvalues_below(&self, b: Option<&Self>, shift: f64) -> Result<usize> {
        crate::eigenvalues_below(self, b, shift)
    }

    fn shifted_inverse(&self, sigma: T, b: Option<&Self>) -> Result<Self::ShiftedInverse> {
        same_shape(self.shape(), b.map(Self::shape))?;
        self.check_finite()?;
        b.map_or(Ok(()), |b| b.check_finite())?;
        let n = self.n();
        let rows = |part: fn((T, T, T)) -> T| {
            collected((0..n).map(|i| part(self.row(i)) - b.map_or(T::ZERO, |b| sigma * part(b.row(i)))))
        };
        let (sub, mut diag, sup) = (rows(|row| row.0)?, rows(|row| row.1)?, rows(|row| row.2)?);
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

    fn check_definite(&self) -> Result<()> {
        crate::check_definite(self)
    }

    fn eigenvalues_below(&self, b: Option<&Self>, shift: f64) -> Result<usize> {
        crate::eigenvalues_below(self, b, shift)
    }

    fn shifted_inverse(&self, sigma: T, b: Option<&Self>) -> Result<Self::ShiftedInverse> {
        same_shape(self.shape(), b.map(Self::shape))?;
        self.check_finite()?;
        b.map_or(Ok(()), |b| b.check_finite())?;
        let (n, lower, upper) = (self.n(), self.lower(), self.upper());
        let leading = lower + upper + 1;
        let mut bands = zeroed(n.saturating_mul(leading))?;
        for j in 0..n {
            let (first, column) = self.column(j);
            let shifted = &mut bands[j * leading + upper + first - j..][..column.len()];
            shifted.copy_from_slice(column);
            match b {
                Some(b) => shifted.iter_mut().zip(b.column(j).1).for_each(|(a, b)| *a -= sigma * *b),
                None => shifted[j - first] -= sigma,
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
            let x_row = &x[row * b..][..b];
            let near = [(0, (row + count - 1) % count), (1, row), (2, (row + 1) % count)];
            for (which, column) in near {
                let open = which == 0 && row == 0 || which == 2 && row + 1 == count;
                if open && !self.is_periodic() {
                    continue;
                }
                // `sub` begins with block row 0 or block row 1.
                let missing = if which == 0 { count - arrays[0].len() / (b * b) } else { 0 };
                let block = &arrays[which][(row - missing) * b * b..][..b * b];
                let to = &mut y[column * b..][..b];
                to.iter_mut().zip(block.chunks_exact(b)).for_each(|(y, column)| *y += adjoint_dot(column, x_row));
            }
        }
        Ok(())
    }

    fn check_definite(&self) -> Result<()> {
        crate::check_definite(self)
    }

    fn eigenvalues_below(&self, b: Option<&Self>, shift: f64) -> Result<usize> {
        crate::eigenvalues_below(self, b, shift)
    }

    fn shifted_inverse(&self, sigma: T, b: Option<&Self>) -> Result<Self::ShiftedInverse> {
        same_shape(self.shape(), b.map(Self::shape))?;
        self.check_finite()?;
        b.map_or(Ok(()), |b| b.check_finite())?;
        let (len, square) = (self.arrays()[1].len(), self.block() * self.block());
        let arrays = |a: &Self| {
            let [sub, diag, sup] = a.arrays();
            Ok([whole(sub, len, false)?, copied(diag)?, whole(sup, len, true)?])
        };
        let mut blocks: [Vec<T>; 3] = arrays(self)?;
        if let Some(b) = b {
            for (entries, b_entries) in blocks.iter_mut().zip(arrays(b)?) {
                entries.iter_mut().zip(&b_entries).for_each(|(a, b)| *a -= sigma * *b);
            }
        }
        if b.is_none() {
            for block in blocks[1].chunks_exact_mut(square) {
                block.iter_mut().step_by(self.block() + 1).for_each(|diag| *diag -= sigma);
            }
        }
        invert(self.shape(), BlockTridiagonal::from_vecs(self.block(), blocks, self.is_periodic())?)
    }
}

/// How far to move a shift that is an eigenvalue. Each further move is four times as far. `size` is the size of the largest eigenvalues.
///
/// If an eigenvalue has the distance δ from the shift, eigenvalues at the distance d have errors of approximately ε·d²/δ. A larger δ reduces
/// these errors.
fn moved_by<T: Scalar>(moves: usize, size: f64) -> f64 {
    // 2⁻²⁰ in double precision, 2⁻⁹ in single precision.
    let exponent = if size_of::<T::Real>() == size_of::<f64>() { -20 } else { -9 };
    let size = if size > 0.0 { size } else { 1.0 };
    size * f64::exp2(f64::from(exponent)) * 4_f64.powi(moves as i32)
}

/// The maximum number of moves of a shift.
const MOVES: usize = 4;

/// The number of additional eigenvalues to request near a moved shift.
const BESIDE: usize = 2;

/// The maximum number of times that a search near a moved shift doubles the number of requested eigenvalues.
const DOUBLINGS: usize = 6;

/// Rounding errors of eigenvalues and counts, in units of ε times the size of the largest eigenvalues.
const ROUNDING: f64 = 64.0;

/// The result of [`EigenSolver::nearest`].
pub(crate) trait NearestEigen: Sized {
    /// The offsets λ − σ.
    fn offsets(&self) -> Vec<Complex64>;
    fn report(&self) -> &EigenReport;
    fn report_mut(&mut self) -> &mut EigenReport;
    /// Add a number to all offsets.
    fn relate(&mut self, moved_by: Complex64);
    /// Keep only the pairs at these places, in this order. Vectors have n numbers.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`]. The pairs are then unchanged.
    fn select(&mut self, places: &[usize], n: usize) -> Result<()>;
}

/// Copy the pieces of `all` at these places. Each piece has `len` numbers.
fn parts<V: Copy>(all: &[V], places: &[usize], len: usize) -> Result<Vec<V>> {
    let mut some = reserved(places.len() * len)?;
    places.iter().for_each(|place| some.extend_from_slice(&all[place * len..][..len]));
    Ok(some)
}

/// Keep only the pairs at these places. Vectors have n numbers.
fn select_pairs<V: Copy, X: Copy>(
    (values, offsets): (&mut Vec<V>, &mut Vec<V>),
    vectors: &mut Vec<X>,
    residuals: &mut Vec<f64>,
    (places, n): (&[usize], usize),
) -> Result<()> {
    let selected = (parts(values, places, 1)?, parts(offsets, places, 1)?, parts(vectors, places, n)?);
    *residuals = parts(residuals, places, 1)?;
    (*values, *offsets, *vectors) = selected;
    Ok(())
}

impl<T: Scalar> NearestEigen for HermitianEigen<T> {
    fn offsets(&self) -> Vec<Complex64> {
        self.offsets.iter().map(|offset| Complex64::from(*offset)).collect()
    }

    fn report(&self) -> &EigenReport {
        &self.report
    }

    fn report_mut(&mut self) -> &mut EigenReport {
        &mut self.report
    }

    fn relate(&mut self, moved_by: Complex64) {
        self.offsets.iter_mut().for_each(|offset| *offset += moved_by.re);
    }

    fn select(&mut self, places: &[usize], n: usize) -> Result<()> {
        select_pairs((&mut self.values, &mut self.offsets), &mut self.vectors, &mut self.report.residuals, (places, n))
    }
}

impl NearestEigen for GeneralEigen {
    fn offsets(&self) -> Vec<Complex64> {
        self.offsets.clone()
    }

    fn report(&self) -> &EigenReport {
        &self.report
    }

    fn report_mut(&mut self) -> &mut EigenReport {
        &mut self.report
    }

    fn relate(&mut self, moved_by: Complex64) {
        self.offsets.iter_mut().for_each(|offset| *offset += moved_by);
    }

    fn select(&mut self, places: &[usize], n: usize) -> Result<()> {
        select_pairs((&mut self.values, &mut self.offsets), &mut self.vectors, &mut self.report.residuals, (places, n))
    }
}

/// The caller's target, and the shift of the solves.
#[derive(Debug, Clone, Copy)]
struct MovedTarget<T> {
    target: Complex64,
    sigma: T,
}

impl<T: Scalar> MovedTarget<T> {
    /// σ minus the target.
    fn by(&self) -> Complex64 {
        widen(self.sigma) - self.target
    }
}

impl<T: Scalar> EigenSolver<'_, T> {
    /// Find the k eigenpairs of a Hermitian matrix or pencil that are nearest to a target.
    ///
    /// The function factors A − σB with the target as σ, and applies shift-and-invert. Without B, it solves A·x = λ·x. To find only eigenvalues
    /// above or below the target, set [`which`](Self::which) to `LargestReal` or `SmallestReal`.
    ///
    /// If the target is an eigenvalue, A − σB is singular. The function then moves σ by approximately 10⁻⁶·‖A‖ (2·10⁻³·‖A‖ in single precision).
    /// It requests more eigenvalues until the k nearest to the caller's target are certainly among them. If residuals are large, or if rounding
    /// errors hide which eigenvalues are nearest, the function moves σ by a tenth of the distance of the last one. Offsets, order and counts
    /// always refer to the caller's target.
    ///
    /// # Cost
    /// One factorization of A − σB, and one solve per vector of the Krylov space. Each moved shift costs another factorization and search.
    ///
    /// # Errors
    /// The errors of [`hermitian`](Self::hermitian). [`Error::NotDefinite`] if B is not positive definite. [`Error::Singular`] or
    /// [`Error::NotConverged`] if all moved shifts fail, too.
    ///
    /// # Examples
    /// ```
    /// use bandsolve::Tridiagonal;
    /// use bandsolve_eigen::EigenSolver;
    /// // λ = 2 − 2·cos(π·k/101), and λ/2 with B = 2·I.
    /// let a = Tridiagonal::from_vecs(vec![-1.0; 100], vec![2.0; 100], vec![-1.0; 100], false)?;
    /// let b = Tridiagonal::from_vecs(vec![0.0; 100], vec![2.0; 100], vec![0.0; 100], false)?;
    /// let plain = EigenSolver::new(2).hermitian_nearest(&a, None, 1.0)?;
    /// let pencil = EigenSolver::new(2).hermitian_nearest(&a, Some(&b), 0.5)?;
    /// assert!(plain.values.iter().zip(&pencil.values).all(|(plain, pencil)| (plain - 2.0 * pencil).abs() < 1e-12));
    /// # Ok::<(), bandsolve::Error>(())
    /// ```
    pub fn hermitian_nearest<M>(&self, a: &M, b: Option<&M>, target: f64) -> Result<HermitianEigen<T>>
    where
        M: ShiftableMatrix<Scalar = T>,
    {
        agree_alike(self.settings.communicator, digest(&(b.is_some(), target)))?;
        b.map_or(Ok(()), M::check_definite)?;
        self.hermitian_around(a, b, target)
    }

    /// Do the same as [`hermitian_nearest`](Self::hermitian_nearest), for a B that is known to be positive definite.
    pub(crate) fn hermitian_around<M>(&self, a: &M, b: Option<&M>, target: f64) -> Result<HermitianEigen<T>>
    where
        M: ShiftableMatrix<Scalar = T>,
    {
        let search = |solver: &EigenSolver<'_, T>, problem: &EigenProblem<'_, T>| solver.hermitian(problem);
        self.nearest((a, b), Complex64::from(target), &search)
    }

    /// Find the k eigenpairs of any matrix or pencil that are nearest to a target.
    ///
    /// The function factors A − σB with the target as σ, and applies shift-and-invert. If the target is an eigenvalue, the function moves σ as
    /// [`hermitian_nearest`](Self::hermitian_nearest) does. Offsets and order refer to the caller's target.
    ///
    /// # Cost
    /// As [`hermitian_nearest`](Self::hermitian_nearest).
    ///
    /// # Errors
    /// The errors of [`general`](Self::general). [`Error::Singular`] or [`Error::NotConverged`] if all moved shifts fail, too.
    ///
    /// # Examples
    /// ```
    /// use bandsolve::Tridiagonal;
    /// use bandsolve_eigen::EigenSolver;
    /// // Upper bidiagonal: the eigenvalues 1, …, 30 are the entries of the diagonal.
    /// let diag: Vec<f64> = (1..=30).map(f64::from).collect();
    /// let a = Tridiagonal::from_vecs(vec![0.0; 30], diag, vec![0.1; 30], false)?;
    /// let eigen = EigenSolver::new(2).general_nearest(&a, None, 7.2)?;
    /// assert!(eigen.converged() && (eigen.values[0] - 7.0).norm() < 1e-6 && (eigen.values[1] - 8.0).norm() < 1e-6);
    /// # Ok::<(), bandsolve::Error>(())
    /// ```
    pub fn general_nearest<M>(&self, a: &M, b: Option<&M>, target: T) -> Result<GeneralEigen>
    where
        M: ShiftableMatrix<Scalar = T>,
    {
        agree_alike(self.settings.communicator, digest(&(b.is_some(), target)))?;
        let search = |solver: &EigenSolver<'_, T>, problem: &EigenProblem<'_, T>| solver.general(problem);
        self.nearest((a, b), widen(target), &search)
    }

    fn nearest<M, R: NearestEigen>(
        &self,
        matrices: (&M, Option<&M>),
        target: Complex64,
        search: &Searcher<'_, T, R>,
    ) -> Result<R>
    where
        M: ShiftableMatrix<Scalar = T>,
    {
        let mut shift = MovedTarget { target, sigma: narrow(target) };
        if !Scalar::is_finite(shift.sigma) {
            return Err(Error::NotFinite { array: "shift", index: 0 });
        }
        let mut moves = 0;
        loop {
            let result = if moves == 0 {
                self.around(matrices, shift, search)
            } else {
                self.around_moved(matrices, shift, search)
            };
            let step = match result {
                // If A − σB is singular up to rounding errors, solves can overflow.
                Err(Error::Singular { .. } | Error::NotConverged { .. } | Error::NotFinite { array: PRODUCT, .. })
                    if moves < MOVES =>
                {
                    let of_b = matrices.1.map_or(Ok(1.0), |b| self.size_of(b))?;
                    moved_by::<T>(moves, target.norm().max(eigenvalue_size([self.size_of(matrices.0)?, of_b])))
                }
                Err(error) => return Err(error),
                Ok(eigen) => match lost(&eigen, shift, moves) {
                    Some(step) if moves < MOVES => step,
                    _ => return Ok(eigen),
                },
            };
            // Move the shift away from the wanted side, so that wanted eigenvalues stay on that side.
            let step = if self.settings.which == Which::LargestReal { -step } else { step };
            shift.sigma = narrow(target + step);
            moves += 1;
        }
    }

    /// Find the eigenvalues nearest to the shift. Offsets refer to the target.
    fn around<M, R: NearestEigen>(
        &self,
        (a, b): (&M, Option<&M>),
        shift: MovedTarget<T>,
        search: &Searcher<'_, T, R>,
    ) -> Result<R>
    where
        M: ShiftableMatrix<Scalar = T>,
    {
        let (operator, mass) = (MatrixOperator(a), b.map(MatrixOperator));
        let mass = mass.as_ref().map(|mass| mass as &dyn LinearOperator<T>);
        let inverse = a.shifted_inverse(shift.sigma, b)?;
        let problem = EigenProblem::new(&operator).shifted(shift.sigma, &inverse);
        let mut eigen = search(self, &EigenProblem { b: mass, ..problem })?;
        eigen.relate(shift.by());
        Ok(eigen)
    }

    /// Find the eigenvalues nearest to the target τ, by a search around the moved shift σ.
    ///
    /// If a search finds all eigenvalues within the distance R of σ, it finds all within R − |σ − τ| of τ.
    fn around_moved<M, R: NearestEigen>(
        &self,
        matrices: (&M, Option<&M>),
        shift: MovedTarget<T>,
        search: &Searcher<'_, T, R>,
    ) -> Result<R>
    where
        M: ShiftableMatrix<Scalar = T>,
    {
        let n = matrices.0.rows();
        let mut total = [n as f64];
        self.settings.communicator.sum(&mut total);
        let (total, mut doubled) = (total[0] as usize, 0);
        let mut wanted = self.settings.k.saturating_add(BESIDE).min(total);
        loop {
            // Only the residuals of the chosen pairs decide on the ending, below.
            let inner = Some(self.settings.tol / 64.0);
            let solver = self.with(SearchSettings { k: wanted, judged: false, inner, ..self.settings });
            let mut eigen = solver.around(matrices, shift, search)?;
            let offsets = eigen.offsets();
            let size = shift.target.norm().max(eigenvalue_size(eigen.report().norms));
            let rounding = ROUNDING * T::Real::EPSILON.to_f64() * size;
            let order = self.settings.which.order_of_offsets(&offsets, !T::COMPLEX, rounding);
            let chosen = &order[..order.len().min(self.settings.k)];
            let counted = self.counted_around(shift.target, (&offsets, chosen), rounding)?;
            let certain = offsets.len() == total || self.is_certain(shift, (&offsets, chosen), rounding);
            if (certain && counted != Some(false)) || doubled == DOUBLINGS || wanted == total {
                agree_on(self.settings.communicator, eigen.select(chosen, n))?;
                let report = eigen.report_mut();
                (report.wanted, report.complete) = (self.settings.k, counted);
                let (proved, all) = (counted == Some(true), chosen.len() == self.settings.k.min(total));
                let limit = self.settings.limit(total as f64);
                report.ending = match report.residuals.iter().all(|residual| *residual <= limit) {
                    false => EigenEnding::LargeResiduals,
                    // If counts prove the chosen pairs complete, the ending of the larger search does not matter.
                    true if proved && all => EigenEnding::Converged,
                    true if report.ending == EigenEnding::Converged && !certain => EigenEnding::RestartLimit,
                    true => report.ending,
                };
                return Ok(eigen);
            }
            wanted = wanted.saturating_mul(2).min(total);
            doubled += 1;
        }
    }

    /// Whether every eigenvalue that the search has not found comes after the chosen ones in the requested order.
    ///
    /// This follows because the search found the eigenvalues nearest to the shift.
    fn is_certain(&self, shift: MovedTarget<T>, (offsets, chosen): (&[Complex64], &[usize]), rounding: f64) -> bool {
        let by = shift.by();
        let reach = offsets.iter().map(|offset| (offset - by).norm()).fold(0.0, f64::max);
        let last = chosen.iter().map(|at| offsets[*at].norm()).fold(0.0, f64::max);
        let beside = |side: f64| offsets.iter().filter(|offset| side * offset.re >= -rounding).count();
        match self.settings.which {
            _ if chosen.len() < self.settings.k => true,
            Which::LargestMagnitude => last + by.norm() <= reach + rounding,
            Which::LargestReal => beside(1.0) >= self.settings.k,
            Which::SmallestReal => beside(-1.0) >= self.settings.k,
            // Eigenvalues at the target count as the nearest above it. One found below the target proves that none is missing between
            // it and the shift.
            Which::BothEnds => {
                let above = beside(1.0);
                above >= self.settings.k.div_ceil(2) && offsets.len() - above >= (self.settings.k / 2).max(1)
            }
            _ => false,
        }
    }

    /// Whether counts prove that the chosen eigenvalues are the nearest to the target, up to the tolerance. `None` without counts.
    fn counted_around(
        &self,
        target: Complex64,
        (offsets, chosen): (&[Complex64], &[usize]),
        rounding: f64,
    ) -> Result<Option<bool>> {
        let (Some(below), Which::LargestMagnitude) = (self.settings.count, self.settings.which) else {
            return Ok(None);
        };
        let last = chosen.iter().map(|at| offsets[*at].norm()).fold(0.0, f64::max);
        // Count beside the last eigenvalue, which is known only to the tolerance. Count at a second place if the first count fails: another
        // eigenvalue may lie at the first place.
        for times in [1.0, 2.0] {
            let radius = last - times * (self.settings.tol * last).max(rounding);
            if radius <= 0.0 {
                return Ok(Some(true));
            }
            let counted = below(target.re + radius)?.saturating_sub(below(target.re - radius)?);
            let computed = offsets.iter().filter(|offset| offset.norm() < radius).count();
            if counted <= computed {
                return Ok(Some(counted == computed));
            }
        }
        Ok(Some(false))
    }

    /// An estimate of ‖A‖: the largest entry of A·e, summed over the processes, with e = (1, …, 1).
    fn size_of<M: ShiftableMatrix<Scalar = T>>(&self, a: &M) -> Result<f64> {
        let vectors = || Ok((allocate(a.rows(), T::ONE)?, zeroed(a.rows())?));
        let (ones, mut image) = agree_on(self.settings.communicator, vectors())?;
        a.multiply(&ones, &mut image)?;
        let mut largest = [image.iter().map(|y| Scalar::abs(*y).to_f64()).fold(0.0, f64::max)];
        self.settings.communicator.sum(&mut largest);
        Ok(largest[0])
    }
}

/// A function that runs a search for a problem.
type Searcher<'s, T, R> = dyn Fn(&EigenSolver<'_, T>, &EigenProblem<'_, T>) -> Result<R> + 's;

/// How far to move the shift. `None` unless an eigenvalue is so near to the shift that the others are inaccurate.
fn lost<T: Scalar>(eigen: &impl NearestEigen, shift: MovedTarget<T>, moves: usize) -> Option<f64> {
    let offsets = eigen.offsets();
    let nearest = offsets.iter().fold(f64::INFINITY, |least, offset| least.min((offset - shift.by()).norm()));
    let farthest = offsets.iter().fold(0.0, |most: f64, offset| most.max(offset.norm()));
    let (epsilon, report) = (T::Real::EPSILON.to_f64(), eigen.report());
    let size = eigenvalue_size(report.norms).max(shift.target.norm());
    if nearest <= 1e3 * epsilon * size {
        return Some(moved_by::<T>(moves, size));
    }
    // At a fixed fraction of the distance of the last wanted eigenvalue, errors are a few rounding errors.
    let moved = 1.0 + 0.3 * moves as f64;
    let inexact = report.ending == EigenEnding::LargeResiduals
        || report.ending == EigenEnding::Incomplete && report.complete == Some(false);
    (inexact && nearest < NEAR * moved * farthest).then_some(2.0 * NEAR * moved * farthest)
}

/// An estimate of the largest eigenvalue modulus, from ‖A‖ and ‖B‖.
pub(crate) fn eigenvalue_size([of_a, of_b]: [f64; 2]) -> f64 {
    if of_b > 0.0 { of_a / of_b } else { of_a }
}

impl Which {
    /// The indices of the offsets λ − τ, in the requested order of 1/(λ − τ). An offset that is zero up to rounding errors comes first, as the
    /// nearest on each side.
    fn order_of_offsets(self, offsets: &[Complex64], real: bool, rounding: f64) -> Vec<usize> {
        let largest = offsets.iter().fold(0.0_f64, |largest, offset| largest.max(offset.norm()));
        let theta = |offset: &Complex64| match offset.norm() > rounding.max(1e-150 * largest) {
            true => 1.0 / (offset / largest),
            false if self == Self::SmallestReal => Complex64::from(-f64::MAX),
            false => Complex64::from(f64::MAX),
        };
        self.order(&offsets.iter().map(theta).collect::<Vec<_>>(), real, 0)
    }
}
