//! Sparse matrices of `faer`, and operators of bandsolve in the iterative methods of `faer`.
//!
//! [`Csr::from_faer`] and [`Csr::as_faer`] borrow matrices in CSR format. For a matrix `a` in CSC format, `Csr::from_faer(a.transpose())` borrows
//! the transpose, which is `a` itself if `a` is symmetric. [`Csr::from_faer_columns`] copies.
//!
//! ```
//! use bandsolve::Error;
//! use bandsolve_sparse::{Csr, KrylovMethod, KrylovSolver, Preconditioner, PreconditionerKind};
//! use faer::sparse::{SparseColMat, Triplet};
//! // −1 4 −1 along the diagonal, by columns.
//! let entry = |k: u32| Triplet::new(k / 3, k / 3 + k % 3 - 1, if k % 3 == 1 { 4.0 } else { -1.0 });
//! let entries: Vec<_> = (1..299).map(entry).collect();
//! let columns = SparseColMat::<u32, f64>::try_new_from_triplets(100, 100, &entries).unwrap();
//!
//! // Symmetric: its columns are its rows.
//! let a = Csr::from_faer(columns.transpose())?;
//! let m = Preconditioner::new(&a, PreconditionerKind::Auto, &Default::default())?;
//! let mut x = [0.0; 100];
//! KrylovSolver::new(KrylovMethod::Cg).solve(&a, Some(&m), &[1.0; 100], &mut x)?;
//! assert!((x[50] - 0.5).abs() < 1e-6);
//!
//! // Back, as rows; `transpose` makes columns of them.
//! assert_eq!(a.as_faer()?.transpose().val(), columns.val());
//! # Ok::<(), Error>(())
//! ```

use super::check_rising;
use crate::csr::Csr;
use bandsolve::dyn_stack::{DynArray, PodStack, StackReq};
use bandsolve::matrix::Index;
use bandsolve::memory::reserved;
use bandsolve::{Csc, Error, LinearOperator, RealScalar, Result, Scalar};
use core::fmt::{self, Debug, Formatter};
use faer::dyn_stack::MemStack;
use faer::matrix_free::{LinOp, Precond};
use faer::prelude::{Reborrow, ReborrowMut};
use faer::sparse::{SparseColMatRef, SparseRowMatRef, SymbolicSparseRowMatRef};
use faer::traits::ComplexField;
use faer::{ColMut, ColRef, MatMut, MatRef, Par};
use std::sync::OnceLock;

impl<'a, T: Copy, I: Index + faer::Index> Csr<'a, T, I> {
    /// Convert a CSR matrix of `faer`. Borrows the arrays if there are no gaps between rows.
    ///
    /// # Cost
    /// One pass over the indices. A matrix with gaps (with a number of entries per row) costs a copy of the three arrays.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    ///
    /// # Examples
    /// ```
    /// use bandsolve_sparse::Csr;
    /// use faer::sparse::{SparseRowMat, Triplet};
    /// let entries = [(0, 0, 4.0), (0, 1, -1.0), (1, 1, 4.0)].map(|(i, j, value)| Triplet::new(i, j, value));
    /// let a = SparseRowMat::<u32, f64>::try_new_from_triplets(2, 2, &entries).unwrap();
    /// let ours = Csr::from_faer(a.as_ref())?;
    /// assert_eq!(ours.row(0).collect::<Vec<_>>(), [(0, 4.0), (1, -1.0)]);
    /// # Ok::<(), bandsolve::Error>(())
    /// ```
    pub fn from_faer(a: SparseRowMatRef<'a, I, T>) -> Result<Self> {
        let (symbolic, values) = a.parts();
        let (pointers, columns) = (symbolic.row_ptr(), symbolic.col_idx());
        let (rows, ranges) = (symbolic.nrows(), |i| symbolic.row_range(i));
        let at = |i: usize| Index::to_usize(pointers[i]).unwrap_or(usize::MAX);
        if at(0) == 0 && (0..rows).all(|i| ranges(i).end == at(i + 1)) {
            // Elements after the last row are not entries.
            let used = ..at(rows);
            return Self::new(symbolic.ncols(), pointers, &columns[used], &values[used]);
        }
        let count = (0..rows).map(|i| ranges(i).len()).sum();
        let (mut ends, mut copies) = (reserved(rows + 1)?, (reserved::<I>(count)?, reserved::<T>(count)?));
        ends.push(<I as Index>::from_usize(0));
        for range in (0..rows).map(ranges) {
            copies.0.extend_from_slice(&columns[range.clone()]);
            copies.1.extend_from_slice(&values[range]);
            ends.push(<I as Index>::from_usize(copies.0.len()));
        }
        let (columns, values) = copies;
        Self::new(symbolic.ncols(), ends, columns, values)
    }

    /// Borrow the matrix as a CSR matrix of `faer`.
    ///
    /// # Cost
    /// Two passes over the indices.
    ///
    /// # Errors
    /// [`Error::Layout`] if the columns do not strictly ascend in every row. [`Error::Shape`] if the number of rows or columns exceeds half of the
    /// largest number of type `I`, the limit of `faer`.
    ///
    /// # Examples
    /// ```
    /// use bandsolve_sparse::Csr;
    /// let a = Csr::<f64>::from_triplets(2, 3, &[(0, 0, 4.0), (1, 2, 5.0)])?;
    /// assert_eq!(a.as_faer()?.to_dense()[(1, 2)], 5.0);
    /// # Ok::<(), bandsolve::Error>(())
    /// ```
    pub fn as_faer(&self) -> Result<SparseRowMatRef<'_, I, T>> {
        let (most, limit) = (self.rows().max(self.columns()), usize::MAX >> (usize::BITS + 1 - I::BITS));
        if most > limit {
            return Err(Error::Shape { what: "rows or columns of a matrix of faer", expected: limit, got: most });
        }
        check_rising(self)?;
        let (pointers, columns, values) = self.parts();
        let symbolic = SymbolicSparseRowMatRef::new_checked(self.rows(), self.columns(), pointers, None, columns);
        Ok(SparseRowMatRef::new(symbolic, values))
    }
}

impl<T: Copy, I: Index + faer::Index> Csr<'static, T, I> {
    /// Convert a CSC matrix of `faer`. Copies it.
    ///
    /// # Errors
    /// As [`from_columns`](Self::from_columns).
    ///
    /// # Examples
    /// ```
    /// use bandsolve_sparse::Csr;
    /// use faer::sparse::{SparseColMat, Triplet};
    /// let entries = [(0, 0, 4.0), (1, 0, -1.0), (1, 1, 4.0)].map(|(i, j, value)| Triplet::new(i, j, value));
    /// let a = SparseColMat::<usize, f64>::try_new_from_triplets(2, 2, &entries).unwrap();
    /// let ours = Csr::from_faer_columns(a.as_ref())?;
    /// assert_eq!(ours.row(1).collect::<Vec<_>>(), [(0, -1.0), (1, 4.0)]);
    /// # Ok::<(), bandsolve::Error>(())
    /// ```
    pub fn from_faer_columns(a: SparseColMatRef<'_, I, T>) -> Result<Self> {
        let transposed = Csr::from_faer(a.transpose())?;
        let (pointers, rows, values) = transposed.parts();
        Self::from_columns(&Csc::new(a.nrows(), pointers, rows, values)?)
    }
}

/// An operator or preconditioner of bandsolve for the iterative methods of `faer`.
///
/// It wraps any [`LinearOperator`], such as a [`Csr`], a [`Preconditioner`](crate::Preconditioner), or the [`Inverse`](bandsolve::Inverse) of factors.
///
/// Conjugate gradients need a Hermitian positive definite preconditioner; in general, [`AlternatingInner`](crate::AlternatingInner) is not one. An
/// operator that changes from step to step always applies its first step.
///
/// # Cost
/// The cost of the operator, for one column after the other. The scratch memory is cleared each time. Columns whose entries are not contiguous are
/// copied; the methods of `faer` have no such columns. The operator chooses its number of threads, and ignores `Par`.
///
/// # Errors
/// The traits of `faer` cannot return errors. If the operator fails, the result is NaN, and [`error`](Self::error) returns the first error. Always
/// set `max_iters`: with NaN, the methods of `faer` run until this limit.
///
/// # Examples
/// ```
/// use bandsolve_sparse::interop::faer::FaerOperator;
/// use bandsolve_sparse::{Preconditioner, PreconditionerKind, nine_point};
/// use faer::dyn_stack::{MemBuffer, MemStack};
/// use faer::matrix_free::bicgstab::{BicgParams, bicgstab, bicgstab_scratch};
/// use faer::matrix_free::IdentityPrecond;
/// use faer::{Mat, Par};
/// let a = nine_point([[0.0, -0.1, 0.0], [-1.0, 2.4, -1.0], [0.0, -0.1, 0.0]], (20, 20));
/// let m = Preconditioner::new(&a, PreconditionerKind::AltInner(2), &Default::default())?;
/// let (ours, inverse, none) = (FaerOperator::new(&a), FaerOperator::new(&m), IdentityPrecond { dim: 400 });
///
/// let (rhs, mut x) = (Mat::<f64>::full(400, 1, 1.0), Mat::<f64>::zeros(400, 1));
/// let params = BicgParams { rel_tolerance: 1e-10, max_iters: 100, ..Default::default() };
/// let mut memory = MemBuffer::new(bicgstab_scratch::<f64>(none, &inverse, &ours, 1, Par::Seq));
/// let stack = MemStack::new(&mut memory);
/// let end = bicgstab(x.as_mut(), none, &inverse, &ours, rhs.as_ref(), params, |_| {}, Par::Seq, stack);
/// assert!(end.is_ok_and(|info| info.iter_count < 20) && inverse.error().is_none());
/// # Ok::<(), bandsolve::Error>(())
/// ```
pub struct FaerOperator<'a, T: Scalar> {
    operator: &'a dyn LinearOperator<T>,
    error: OnceLock<Error>,
}

impl<'a, T: Scalar> FaerOperator<'a, T> {
    /// Wrap an operator for `faer`.
    pub fn new(operator: &'a dyn LinearOperator<T>) -> Self {
        Self { operator, error: OnceLock::new() }
    }

    /// The first error of an application. Results after this error may contain NaN.
    pub fn error(&self) -> Option<&Error> {
        self.error.get()
    }

    /// Panic if the shapes do not match, as other operators of `faer` do.
    fn check_shapes(&self, out: MatRef<'_, T>, rhs: MatRef<'_, T>) {
        assert_eq!(rhs.nrows(), self.operator.columns(), "rows of rhs");
        assert_eq!(out.shape(), (self.operator.rows(), rhs.ncols()), "shape of out");
    }

    /// Scratch memory for one column of x and one of y.
    fn copies(&self) -> StackReq {
        StackReq::new::<T>(self.operator.columns()).and(StackReq::new::<T>(self.operator.rows()))
    }

    /// y = A·x. If the operator fails, y is NaN, and the first error is stored.
    fn apply_slices(&self, x: &[T], y: &mut [T], stack: &mut PodStack) {
        if let Err(error) = self.operator.apply(x, y, stack) {
            // Keep the first error only.
            let _ = self.error.set(error);
            y.fill(T::from_real(T::Real::from_f64(f64::NAN)));
        }
    }
}

impl<T: Scalar + ComplexField> FaerOperator<'_, T> {
    /// y = map(A·map(x)), with contiguous copies of x and y.
    fn apply_copied(&self, y: ColMut<'_, T>, x: ColRef<'_, T>, map: fn(T) -> T, stack: &mut MemStack) {
        let mut memory = cleared(self.copies().and(self.operator.apply_scratch()), stack);
        let (from, stack) = PodStack::new(&mut memory).make_raw::<T>(x.nrows());
        let (to, stack) = stack.make_raw::<T>(y.nrows());
        from.iter_mut().zip(x.iter()).for_each(|(to, v)| *to = map(*v));
        self.apply_slices(from, to, stack);
        y.iter_mut().zip(to).for_each(|(to, v)| *to = map(*v));
    }
}

/// Scratch memory of `faer`, cleared, since ours must be initialised.
fn cleared(need: StackReq, stack: &mut MemStack) -> DynArray<'_, u8> {
    stack.make_aligned_with(need.size_bytes(), need.align_bytes(), |_| 0).0
}

impl<T: Scalar + ComplexField> LinOp<T> for FaerOperator<'_, T> {
    fn apply_scratch(&self, _columns: usize, _par: Par) -> StackReq {
        self.copies().and(self.operator.apply_scratch())
    }

    fn nrows(&self) -> usize {
        self.operator.rows()
    }

    fn ncols(&self) -> usize {
        self.operator.columns()
    }

    fn apply(&self, mut out: MatMut<'_, T>, rhs: MatRef<'_, T>, _par: Par, stack: &mut MemStack) {
        self.check_shapes(out.rb(), rhs);
        for j in 0..rhs.ncols() {
            let (x, mut y) = (rhs.col(j), out.rb_mut().col_mut(j));
            match (x.try_as_col_major(), y.rb_mut().try_as_col_major_mut()) {
                (Some(x), Some(y)) => {
                    let mut memory = cleared(self.operator.apply_scratch(), stack);
                    self.apply_slices(x.as_slice(), y.as_slice_mut(), PodStack::new(&mut memory));
                }
                _ => self.apply_copied(y, x, |v| v, stack),
            }
        }
    }

    fn conj_apply(&self, mut out: MatMut<'_, T>, rhs: MatRef<'_, T>, _par: Par, stack: &mut MemStack) {
        self.check_shapes(out.rb(), rhs);
        for j in 0..rhs.ncols() {
            self.apply_copied(out.rb_mut().col_mut(j), rhs.col(j), Scalar::conj, stack);
        }
    }
}

impl<T: Scalar + ComplexField> Precond<T> for FaerOperator<'_, T> {}

impl<T: Scalar> Debug for FaerOperator<'_, T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "FaerOperator({} × {})", self.operator.rows(), self.operator.columns())
    }
}
