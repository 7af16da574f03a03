//! y = α·A·x + β·y, and other sums over rows.

use crate::accurate::{AccurateCall, accurate_residual};
use crate::csr::{Csr, CsrWords};
use crate::reduce::{OutputRows, ProductPlan, RowReduction};
use crate::rows::{TASK, each_row};
use crate::scratch::check;
use crate::tuning::{LARGE_PAGES_MIN_BYTES, TRANSPOSED_PARTS};
use bandsolve::dyn_stack::PodStack;
use bandsolve::matrix::Index;
use bandsolve::memory::{collected, zeroed};
use bandsolve::{Error, LinearOperator, Op, Result, Scalar};
use bandsolve_kernel::by_type;
use bandsolve_kernel::memory::zeros;
use bandsolve_kernel::prefetch::prefetch;
use bandsolve_kernel::spread::{RowsOf, Split, each_chunk};
use core::ops::Range;

impl<T: Scalar> Csr<'_, T, u32> {
    /// Σⱼ aᵢⱼ·xⱼ of row i, in the order of its entries.
    #[inline]
    pub(crate) fn row_times(&self, i: usize, x: &[T]) -> T {
        let (_, columns, values) = self.parts();
        let entries = self.range(i);
        let entries = columns[entries.clone()].iter().zip(&values[entries]);
        entries.fold(T::ZERO, |sum, (j, value)| sum + *value * x[*j as usize])
    }

    /// Call `then(i, Σⱼ aᵢⱼ·xⱼ, yᵢ)` for every element of y.
    pub(crate) fn each_sum(&self, x: &[T], y: &mut [T], then: impl Fn(usize, T, &mut T) + Sync) {
        ProductPlan::new(self).reduce(self, &RowProducts { x, then }, y);
    }
}

/// The product of each row with a vector, and the function that receives it.
struct RowProducts<'a, T, F> {
    x: &'a [T],
    then: F,
}

impl<T: Scalar, F: Fn(usize, T, &mut T) + Sync> RowReduction<T> for RowProducts<'_, T, F> {
    type Sum = T;
    type Output = T;

    #[inline]
    fn start(&self, _: usize) -> T {
        T::ZERO
    }

    #[inline]
    fn add(&self, sum: &mut T, _: usize, column: usize, value: T) {
        *sum += value * self.x[column];
    }

    #[inline]
    fn join(&self, sum: &mut T, _: usize, later: T) {
        *sum += later;
    }

    #[inline]
    fn finish(&self, row: usize, sum: T, output: &mut T) -> usize {
        (self.then)(row, sum, output);
        0
    }

    #[inline]
    fn prefetch(&self, column: usize) {
        prefetch(self.x.as_ptr().wrapping_add(column));
    }
}

/// y = α·s + β·y. If β is 0, y is not read.
#[inline]
pub(crate) fn weighted<T: Scalar>(alpha: T, sum: T, beta: T, y: &mut T) {
    *y = if beta == T::ZERO { alpha * sum } else { alpha * sum + beta * *y };
}

/// The products of each row with K vectors at once.
struct RowProductsOf<'a, T, const K: usize> {
    x: [&'a [T]; K],
    alpha: T,
    beta: T,
}

impl<T: Scalar, const K: usize> RowReduction<T> for RowProductsOf<'_, T, K> {
    type Sum = [T; K];
    type Output = [T; K];

    #[inline]
    fn start(&self, _: usize) -> [T; K] {
        [T::ZERO; K]
    }

    #[inline]
    fn add(&self, sum: &mut [T; K], _: usize, column: usize, value: T) {
        sum.iter_mut().zip(&self.x).for_each(|(sum, x)| *sum += value * x[column]);
    }

    #[inline]
    fn join(&self, sum: &mut [T; K], _: usize, later: [T; K]) {
        sum.iter_mut().zip(later).for_each(|(sum, later)| *sum += later);
    }

    #[inline]
    fn finish(&self, _: usize, sum: [T; K], output: &mut [T; K]) -> usize {
        output.iter_mut().zip(sum).for_each(|(y, sum)| weighted(self.alpha, sum, self.beta, y));
        0
    }

    #[inline]
    fn prefetch(&self, column: usize) {
        self.x.iter().for_each(|x| prefetch(x.as_ptr().wrapping_add(column)));
    }
}

/// K vectors of the same length.
struct VectorsMut<'a, T, const K: usize>([&'a mut [T]; K]);

impl<T: Send, const K: usize> Split for VectorsMut<'_, T, K> {
    fn split(self, rows: usize) -> (Self, Self) {
        let mut rest = self.0.map(|vector| Some(vector.split_at_mut(rows)));
        let mut right = Vec::with_capacity(K);
        let left = core::array::from_fn(|k| {
            let (left, other) = rest[k].take().expect("taken once");
            right.push(other);
            left
        });
        (Self(left), Self(right.try_into().unwrap_or_else(|_| unreachable!("as many"))))
    }
}

impl<T: Scalar, const K: usize> OutputRows<[T; K]> for VectorsMut<'_, T, K> {
    #[inline]
    fn update(&mut self, row: usize, write: impl FnOnce(&mut [T; K]) -> usize) -> usize {
        let mut results = core::array::from_fn(|k| self.0[k][row]);
        let count = write(&mut results);
        self.0.iter_mut().zip(results).for_each(|(vector, result)| vector[row] = result);
        count
    }
}

by_type! {
    /// [`product`] for each number type, compiled once, in this crate.
    struct MultiplyRows<'a>: ProductCall<'a, T> => Result<()> = product;
    /// [`accurate_residual`] for each number type, compiled once, in this crate.
    struct AccurateResidual<'a>: AccurateCall<'a, T> => f64 = accurate_residual;
}

/// y = α·op(A)·x + β·y for the vectors of x and y, or y = rhs − A·x for one.
struct ProductCall<'a, T: Scalar> {
    a: CsrWords<'a, T>,
    /// `None`: choose one for the matrix.
    plan: Option<&'a ProductPlan>,
    op: Op,
    alpha: T,
    beta: T,
    rhs: Option<&'a [T]>,
    x: &'a [T],
    y: &'a mut [T],
}

///
/// # Errors
/// [`Error::OutOfMemory`](bandsolve::Error::OutOfMemory), for several vectors, or for the transpose or adjoint of the matrix.
fn product<T: Scalar>(mut call: ProductCall<'_, T>) -> Result<()> {
    match core::mem::replace(&mut call.a, CsrWords::Narrow(Csr::nothing())) {
        CsrWords::Narrow(a) => of_words(&a, call),
        CsrWords::Wide(a) => of_words(&a, call),
    }
}

fn of_words<T: Scalar, I: Index>(a: &Csr<'_, T, I>, call: ProductCall<'_, T>) -> Result<()> {
    let ProductCall { plan, op, alpha, beta, rhs, x, y, .. } = call;
    if y.is_empty() {
        return Ok(());
    }
    let plan = plan.cloned().unwrap_or_else(|| ProductPlan::new(a));
    let copy =
        if op == Op::Plain && y.len() == plan.rows() && plan.is_scattered() { on_large_pages(x) } else { vec![] };
    let x = if copy.is_empty() { x } else { &copy };
    match (op, rhs) {
        (Op::Plain, Some(rhs)) => {
            plan.reduce(a, &RowProducts { x, then: |i: usize, sum, y: &mut T| *y = rhs[i] - sum }, y);
        }
        (Op::Plain, None) if y.len() == plan.rows() && alpha == T::ONE && beta == T::ZERO => {
            plan.reduce(a, &RowProducts { x, then: |_, sum, y: &mut T| *y = sum }, y);
        }
        (Op::Plain, None) if y.len() == plan.rows() => {
            plan.reduce(a, &RowProducts { x, then: |_, sum, y: &mut T| weighted(alpha, sum, beta, y) }, y);
        }
        (Op::Plain, None) => columns(a, &plan, (alpha, x), (beta, y))?,
        _ => {
            for (k, y) in y.chunks_exact_mut(a.columns()).enumerate() {
                let x = &x[k * a.rows()..(k + 1) * a.rows()];
                transposed(a, op == Op::ConjTranspose, (alpha, x), (beta, y))?;
            }
        }
    }
    Ok(())
}

/// A copy of a large vector on large pages. Random reads from small pages take 1.5 times as long. The copy is empty if the vector is small, or if the
/// memory does not suffice.
fn on_large_pages<T: Scalar>(x: &[T]) -> Vec<T> {
    if size_of_val(x) < LARGE_PAGES_MIN_BYTES {
        return vec![];
    }
    let mut copy = zeros::<T>(x.len()).unwrap_or_default();
    each_chunk((copy.len().div_ceil(TASK), 2), RowsOf(&mut copy, TASK), &|task, part| {
        part.0.copy_from_slice(&x[task * TASK..][..part.0.len()]);
    });
    copy
}

/// Multiply with several vectors, four at a time.
fn columns<T: Scalar, I: Index>(
    a: &Csr<'_, T, I>,
    plan: &ProductPlan,
    (alpha, x): (T, &[T]),
    (beta, y): (T, &mut [T]),
) -> Result<()> {
    let mut vectors = y.chunks_exact_mut(a.rows());
    let x: Vec<&[T]> = collected((0..vectors.len()).map(|k| &x[k * a.columns()..(k + 1) * a.columns()]))?;
    for x in x.chunks(4) {
        let mut next = || vectors.next().expect("as many as of x");
        if let [p, q, r, s] = *x {
            let y = VectorsMut([next(), next(), next(), next()]);
            plan.reduce_to(a, &RowProductsOf { x: [p, q, r, s], alpha, beta }, y);
        } else {
            for x in x {
                plan.reduce(a, &RowProducts { x, then: |_, sum, y: &mut T| weighted(alpha, sum, beta, y) }, next());
            }
        }
    }
    Ok(())
}

/// Each part adds up its contributions to its columns. The results of the parts are then added in a fixed order.
fn transposed<T: Scalar, I: Index>(
    a: &Csr<'_, T, I>,
    conjugate: bool,
    (alpha, x): (T, &[T]),
    (beta, y): (T, &mut [T]),
) -> Result<()> {
    let parts = if a.entries() < TASK { 1 } else { TRANSPOSED_PARTS };
    let mut sums: Vec<Result<(usize, Vec<T>)>> = vec![Ok((0, vec![])); parts];
    let rows = |part: usize| a.row_at(a.entries() * part / parts)..a.row_at(a.entries() * (part + 1) / parts);
    each_chunk((parts, 1), RowsOf(&mut sums, 1), &|part, sum| {
        sum.0[0] = transposed_rows(a, conjugate, rows(part), x);
    });
    sums.iter().try_for_each(|sum| sum.as_ref().map(|_| ()).map_err(Error::clone))?;
    each_row(y, &|j, y| {
        let parts = sums.iter().flatten().filter_map(|(least, sum)| sum.get(j.wrapping_sub(*least)));
        weighted(alpha, parts.fold(T::ZERO, |all, sum| all + *sum), beta, y);
        0
    });
    Ok(())
}

/// The product with the transpose of some rows: the number of their first column, and the sums from this column to their last.
fn transposed_rows<T: Scalar, I: Index>(
    a: &Csr<'_, T, I>,
    conjugate: bool,
    rows: Range<usize>,
    x: &[T],
) -> Result<(usize, Vec<T>)> {
    let known = rows.clone().flat_map(|i| a.row(i));
    let (least, end) = known.fold((usize::MAX, 0), |(least, end), (j, _)| (least.min(j), end.max(j + 1)));
    let mut sum = zeroed(end.saturating_sub(least))?;
    for i in rows {
        for (j, value) in a.row(i) {
            sum[j - least] += x[i] * if conjugate { value.conj() } else { value };
        }
    }
    Ok((least, sum))
}

impl ProductPlan {
    /// Compute y = α·A·x + β·y for the rows of the plan, with its schedule. If β is 0, y is not read.
    ///
    /// # Shapes
    /// x has one element per column of A, and y one per row of the plan.
    ///
    /// # Panics
    /// If a length is wrong.
    pub fn product<T: Scalar, I: Index>(&self, a: &Csr<'_, T, I>, alpha: T, x: &[T], beta: T, y: &mut [T]) {
        assert_eq!(x.len(), a.columns(), "`x` must have one element per column of the matrix");
        let done = T::by_type::<MultiplyRows<'_>>(ProductCall {
            a: a.words(),
            plan: Some(self),
            op: Op::Plain,
            alpha,
            beta,
            rhs: None,
            x,
            y,
        });
        done.expect("one vector takes no memory");
    }
}

impl<T: Scalar, I: Index> Csr<'_, T, I> {
    /// Compute y = α·op(A)·x + β·y for one or more vectors. If β is 0, y is not read.
    ///
    /// # Shapes
    /// x and y contain the same number of vectors, one after the other.
    ///
    /// # Cost
    /// Two flops per entry and vector. Four vectors cost one pass over the matrix. A single vector of 4 MiB or more is copied if the columns of neighboring
    /// entries are far apart. Products with Aᵀ and Aᴴ need scratch memory for at most eight vectors of the length of y.
    ///
    /// # Errors
    /// [`bandsolve::Error::Shape`] if the lengths of x and y do not match. [`bandsolve::Error::OutOfMemory`].
    ///
    /// # Examples
    /// ```
    /// use bandsolve::Op;
    /// use bandsolve_sparse::Csr;
    /// let a = Csr::<f64>::from_triplets(2, 3, &[(0, 0, 1.0), (0, 2, 2.0), (1, 1, 3.0)])?;
    /// let mut y = [10.0, 20.0];
    /// a.product(Op::Plain, 2.0, &[1.0, 1.0, 1.0], 1.0, &mut y)?;
    /// assert_eq!(y, [16.0, 26.0]);
    /// let mut z = [0.0; 3];
    /// a.product(Op::Transpose, 1.0, &y, 0.0, &mut z)?;
    /// assert_eq!(z, [16.0, 78.0, 32.0]);
    /// # Ok::<(), bandsolve::Error>(())
    /// ```
    pub fn product(&self, op: Op, alpha: T, x: &[T], beta: T, y: &mut [T]) -> Result<()> {
        self.check_vectors(op, x, y)?;
        self.call(op, (alpha, x), (beta, y), None)
    }

    /// Check that x and y contain the same number of vectors, with the lengths of op(A).
    pub(crate) fn check_vectors(&self, op: Op, x: &[T], y: &[T]) -> Result<()> {
        let plain = [self.columns(), self.rows()];
        let [from, to] = if op == Op::Plain { plain } else { [plain[1], plain[0]] };
        let vectors = y.len().checked_div(to).or(x.len().checked_div(from)).unwrap_or(0);
        check("x", from * vectors, x.len())?;
        check("y", to * vectors, y.len())
    }

    fn call(&self, op: Op, (alpha, x): (T, &[T]), (beta, y): (T, &mut [T]), rhs: Option<&[T]>) -> Result<()> {
        T::by_type::<MultiplyRows<'_>>(ProductCall { a: self.words(), plan: None, op, alpha, beta, rhs, x, y })
    }
}

impl<T: Scalar, I: Index> LinearOperator<T> for Csr<'_, T, I> {
    fn rows(&self) -> usize {
        Csr::rows(self)
    }

    fn columns(&self) -> usize {
        Csr::columns(self)
    }

    fn apply(&self, x: &[T], y: &mut [T], stack: &mut PodStack) -> Result<()> {
        self.apply_op(Op::Plain, x, y, stack)
    }

    fn apply_op(&self, op: Op, x: &[T], y: &mut [T], _: &mut PodStack) -> Result<()> {
        self.call(op, (T::ONE, x), (T::ZERO, y), None)
    }

    fn residual(&self, x: &[T], rhs: &[T], r: &mut [T], _: &mut PodStack) -> Result<()> {
        self.call(Op::Plain, (T::ONE, x), (T::ZERO, r), Some(rhs))
    }

    fn accurate_residual(&self, x: &[T], rhs: &[T], r: &mut [T], _: &mut PodStack) -> Result<Option<f64>> {
        Ok(Some(T::by_type::<AccurateResidual<'_>>(AccurateCall { a: self.words(), x, rhs, r })))
    }
}
