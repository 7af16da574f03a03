//! Linear operators for iterative solvers: matrices, inverses and functions that are known by their products.

use crate::contract::{Factor, Op};
use crate::error::{Error, Result, check_len};
use bandsolve_kernel::Scalar;
use dyn_stack::{PodStack, StackReq};

/// A linear operator y = A·x that is known by its products.
///
/// [`apply`](Self::apply) must not depend on earlier calls. If the operator changes from step to step, implement
/// [`changes`](Self::changes) and [`apply_step`](Self::apply_step).
///
/// # Examples
/// The second difference, without a stored matrix:
///
/// ```
/// use bandsolve::{Error, LinearOperator, dyn_stack::PodStack};
/// struct SecondDifference(usize);
/// impl LinearOperator<f64> for SecondDifference {
///     fn rows(&self) -> usize {
///         self.0
///     }
///     fn columns(&self) -> usize {
///         self.0
///     }
///     fn apply(&self, x: &[f64], y: &mut [f64], _: &mut PodStack) -> Result<(), Error> {
///         let at = |i: usize| x.get(i).copied().unwrap_or(0.0);
///         (0..x.len()).for_each(|i| y[i] = 2.0 * x[i] - at(i.wrapping_sub(1)) - at(i + 1));
///         Ok(())
///     }
/// }
/// let mut y = [0.0; 3];
/// SecondDifference(3).apply(&[1.0, 2.0, 4.0], &mut y, PodStack::new(&mut []))?;
/// assert_eq!(y, [0.0, -1.0, 6.0]);
/// # Ok::<(), Error>(())
/// ```
pub trait LinearOperator<T: Scalar>: Sync {
    /// Number of rows, which is the length of y.
    fn rows(&self) -> usize;

    /// Number of columns, which is the length of x.
    fn columns(&self) -> usize;

    /// Scratch for the other functions.
    fn apply_scratch(&self) -> StackReq {
        StackReq::EMPTY
    }

    /// Compute y = A·x for one vector.
    ///
    /// The caller must pass arrays of the right lengths. Implementations may panic otherwise.
    ///
    /// # Errors
    /// Any error that prevents the product.
    fn apply(&self, x: &[T], y: &mut [T], stack: &mut PodStack) -> Result<()>;

    /// Compute y = op(A)·x.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if the operator only implements A·x, otherwise those of [`apply`](Self::apply).
    fn apply_op(&self, op: Op, x: &[T], y: &mut [T], stack: &mut PodStack) -> Result<()> {
        match op {
            Op::Plain => self.apply(x, y, stack),
            _ => {
                Err(Error::Unsupported { method: "apply", what: "transposes: implement `apply_op` for this operator" })
            }
        }
    }

    /// Compute r = rhs − A·x.
    ///
    /// # Errors
    /// Those of [`apply`](Self::apply).
    fn residual(&self, x: &[T], rhs: &[T], r: &mut [T], stack: &mut PodStack) -> Result<()> {
        self.apply(x, r, stack)?;
        r.iter_mut().zip(rhs).for_each(|(r, rhs)| *r = *rhs - *r);
        Ok(())
    }

    /// Compute r = rhs − A·x in about twice the working precision and round r to T at the end.
    ///
    /// Returns a bound on the error of each element of r, in addition to its own rounding to T. The default returns `None` and does not
    /// change r, because the entries of A are not known. Iterative solvers call this function before they report a small residual.
    ///
    /// # Errors
    /// Those of [`apply`](Self::apply).
    fn accurate_residual(&self, _x: &[T], _rhs: &[T], _r: &mut [T], _stack: &mut PodStack) -> Result<Option<f64>> {
        Ok(None)
    }

    /// Whether [`apply_step`](Self::apply_step) depends on the step.
    fn changes(&self) -> bool {
        false
    }

    /// Compute y = A·x with the operator of this step, counted from 0.
    ///
    /// # Errors
    /// Those of [`apply`](Self::apply).
    fn apply_step(&self, _step: usize, x: &[T], y: &mut [T], stack: &mut PodStack) -> Result<()> {
        self.apply(x, y, stack)
    }
}

/// The operator A⁻¹, which solves with factors of A.
///
/// # Examples
/// ```
/// use bandsolve::prelude::*;
/// use bandsolve::{LinearOperator, Inverse, dyn_stack::{PodBuffer, PodStack}};
/// let a = Tridiagonal::new(&[0.0, -1.0], &[2.0, 2.0], &[-1.0, 0.0])?;
/// let inverse = Inverse(Plan::new(a.shape()).factor(&a)?);
/// let (mut y, mut memory) = ([0.0; 2], PodBuffer::new(LinearOperator::<f64>::apply_scratch(&inverse)));
/// inverse.apply(&[1.0, 1.0], &mut y, PodStack::new(&mut memory))?;
/// assert_eq!(y, [1.0, 1.0]);
/// # Ok::<(), Error>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Inverse<F>(pub F);

impl<T: Scalar, F: Factor<T>> LinearOperator<T> for Inverse<F> {
    fn rows(&self) -> usize {
        self.0.shape().rows()
    }

    fn columns(&self) -> usize {
        self.0.shape().rows()
    }

    fn apply_scratch(&self) -> StackReq {
        self.0.solve_scratch(1)
    }

    fn apply(&self, x: &[T], y: &mut [T], stack: &mut PodStack) -> Result<()> {
        self.apply_op(Op::Plain, x, y, stack)
    }

    fn apply_op(&self, op: Op, x: &[T], y: &mut [T], stack: &mut PodStack) -> Result<()> {
        check_len("x", self.0.shape().rows(), x.len())?;
        self.0.solve_into_with(op, x, y, stack).map(|_| ())
    }
}

/// A group of processes, each of which holds a part of each vector.
///
/// # Examples
/// ```
/// use bandsolve::Communicator;
/// /// Two processes that hold the same values.
/// struct Twice;
/// impl Communicator for Twice {
///     fn sum(&self, values: &mut [f64]) {
///         values.iter_mut().for_each(|value| *value *= 2.0);
///     }
/// }
/// let mut values = [3.0];
/// Twice.sum(&mut values);
/// assert_eq!(values, [6.0]);
/// ```
pub trait Communicator: Sync {
    /// Replace each value by its sum over all processes. All processes must call this function, and get the same bits.
    fn sum(&self, values: &mut [f64]);

    /// Number of rows on the processes before this one, which itself holds `own` rows. All processes must call this function.
    fn rows_before(&self, rows: usize) -> usize {
        let _ = rows;
        0
    }
}

/// A single process, which holds all vectors completely.
///
/// # Examples
/// ```
/// use bandsolve::{Alone, Communicator};
/// let mut sums = [1.0, 2.0];
/// Alone.sum(&mut sums);
/// assert_eq!(sums, [1.0, 2.0]);
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct Alone;

impl Communicator for Alone {
    fn sum(&self, _: &mut [f64]) {}
}
