//! The accuracy contract of all methods: solves are verified, refined and reported. Factors also give condition and determinant.

pub(crate) mod band_residual;
pub(crate) mod block_residual;
pub(crate) mod component_row;
pub(crate) mod condition;
pub(crate) mod determinant;
pub(crate) mod equations;
pub(crate) mod expert;
pub(crate) mod factors;
pub(crate) mod inspect;
pub(crate) mod measure;
pub(crate) mod op;
pub(crate) mod probe;
pub(crate) mod refine;
pub(crate) mod sparse;
pub(crate) mod verify;

pub use op::Op;
pub use verify::{Report, Solution};

use crate::error::{Error, Result, check_len};
use crate::matrix::{ColumnStrides, Shape};
use crate::memory::{buffer, zeroed};
use bandsolve_kernel::Scalar;
use dyn_stack::{PodStack, StackReq};

/// Reusable factors of one matrix, as [`Plan::factor`](crate::Plan::factor) returns them.
///
/// [`Inspect`](crate::Inspect) has the functions for condition, determinant and error bounds.
///
/// # Shapes
/// Right-hand sides are column-major, `rows × n_rhs`. The length of the array determines n_rhs.
///
/// # Cost
/// [`solve`](Self::solve), [`solve_into`](Self::solve_into) and the `…_in_place` functions allocate their scratch memory. The `…_with`
/// functions use the scratch memory of the caller. With up to four right-hand sides, they allocate no memory, with these exceptions:
///
/// - The first solve with Aᵀ or Aᴴ, the first solve of a batch with one matrix, and the first solve of a band or of blocks with more
///   than four right-hand sides may compute factors, which are kept.
/// - A solve on several threads allocates to pass work to other threads.
/// - A solve allocates if it must refine x or fall back; `refinement_steps` and `fallback` in the report show this.
/// - A warning ([`Report::attention`]) is a text, which is allocated.
///
/// For more right-hand sides, a verified solve also allocates the list of their backward errors.
///
/// # Errors
/// Each solve returns one of these errors:
///
/// - [`Error::Shape`](crate::Error::Shape) if an array has the wrong length.
/// - [`Error::NotFinite`](crate::Error::NotFinite) if the matrix or a right-hand side has a NaN or an infinity. Solves without
///   verification do not check this.
/// - [`Error::Singular`](crate::Error::Singular) or [`Error::NotConverged`](crate::Error::NotConverged) if there is no accurate x. The
///   array of the caller then holds the best x that the solver found.
/// - [`Error::Columns`](crate::Error::Columns) if some right-hand sides of several failed.
/// - [`Error::Scratch`](crate::Error::Scratch) if the scratch memory is too small, [`Error::OutOfMemory`](crate::Error::OutOfMemory)
///   if there is no memory.
///
/// # Examples
/// ```
/// use bandsolve::prelude::*;
/// let a = Tridiagonal::new(&[0.0], &[2.0, 4.0], &[0.0])?;
/// let lu = Plan::new(a.shape()).factor(&a)?;
/// assert_eq!(lu.solve(&[2.0, 4.0])?.values, [1.0, 1.0]);
/// assert_eq!(lu.solve(&[4.0, 4.0])?.values, [2.0, 1.0]); // uses the same factors
/// # Ok::<(), bandsolve::Error>(())
/// ```
pub trait Factor<T: Scalar>: Send + Sync {
    /// Kind and size of the system.
    fn shape(&self) -> Shape;

    /// Scratch for [`solve_into_with`](Self::solve_into_with) with `n_rhs` right-hand sides.
    fn solve_scratch(&self, n_rhs: usize) -> StackReq;

    /// Solve op(A)·x = rhs and write x to `x`.
    fn solve_into_with(&self, op: Op, rhs: &[T], x: &mut [T], stack: &mut PodStack) -> Result<Report>;

    /// Scratch for [`solve_in_place_with`](Self::solve_in_place_with) with `n_rhs` right-hand sides. It has room for a copy of the
    /// right-hand sides, which verification and refinement need.
    fn solve_in_place_scratch(&self, n_rhs: usize) -> StackReq {
        StackReq::new::<T>(n_rhs.saturating_mul(self.shape().rows())).and(self.solve_scratch(n_rhs))
    }

    /// Solve op(A)·x = rhs and overwrite `rhs` with x.
    fn solve_in_place_with(&self, op: Op, rhs: &mut [T], stack: &mut PodStack) -> Result<Report> {
        let needed = self.solve_in_place_scratch(self.shape().n_rhs("rhs", rhs.len())?);
        verify::check_scratch(needed, stack)?;
        let (copy, stack) = stack.make_raw::<T>(rhs.len());
        copy.copy_from_slice(rhs);
        self.solve_into_with(op, copy, rhs, stack)
    }

    /// Solve A·x = rhs and write x to `x`.
    fn solve_into(&self, rhs: &[T], x: &mut [T]) -> Result<Report> {
        let n_rhs = self.shape().n_rhs("rhs", rhs.len())?;
        check_len("x", rhs.len(), x.len())?;
        let mut memory = buffer(self.solve_scratch(n_rhs))?;
        self.solve_into_with(Op::Plain, rhs, x, PodStack::new(&mut memory))
    }

    /// Solve A·x = rhs and return x.
    fn solve(&self, rhs: &[T]) -> Result<Solution<T>> {
        let mut values = zeroed(rhs.len())?;
        let report = self.solve_into(rhs, &mut values)?;
        Ok(Solution { values, report })
    }

    /// Solve A·x = rhs and overwrite `rhs` with x.
    fn solve_in_place(&self, rhs: &mut [T]) -> Result<Report> {
        solve_in_place(self, Op::Plain, rhs)
    }

    /// Solve Aᵀ·x = rhs and overwrite `rhs` with x.
    fn solve_transpose_in_place(&self, rhs: &mut [T]) -> Result<Report> {
        solve_in_place(self, Op::Transpose, rhs)
    }

    /// Solve Aᴴ·x = rhs and overwrite `rhs` with x.
    fn solve_conj_transpose_in_place(&self, rhs: &mut [T]) -> Result<Report> {
        solve_in_place(self, Op::ConjTranspose, rhs)
    }

    /// Solve op(A)·x = rhs for right-hand sides in any order of memory, and overwrite them with x.
    ///
    /// # Cost
    /// Columns without gaps are solved where they are. Others are copied to columns without gaps and back.
    fn solve_strided_in_place(&self, op: Op, rhs: &mut [T], strides: ColumnStrides) -> Result<Report> {
        check_len("rows of the strides", self.shape().rows(), strides.rows)?;
        if strides.is_contiguous() {
            let len = strides.len()?;
            let got = rhs.len();
            let rhs = rhs.get_mut(..len).ok_or(Error::Shape { what: "rhs", expected: len, got })?;
            return solve_in_place(self, op, rhs);
        }
        let mut columns = strides.gather("rhs", rhs)?;
        let solved = solve_in_place(self, op, &mut columns);
        // Errors of a solve leave the best x with the caller.
        strides.scatter("rhs", &columns, rhs)?;
        solved
    }
}

/// Solve op(A)·x = rhs in scratch memory of its own, and overwrite `rhs` with x.
pub(crate) fn solve_in_place<T: Scalar, F: Factor<T> + ?Sized>(factor: &F, op: Op, rhs: &mut [T]) -> Result<Report> {
    let n_rhs = factor.shape().n_rhs("rhs", rhs.len())?;
    let mut memory = buffer(factor.solve_in_place_scratch(n_rhs))?;
    factor.solve_in_place_with(op, rhs, PodStack::new(&mut memory))
}
