//! ILU(0), and ILU(0) with incomplete inverses (ISAI) of the triangles.
//!
//! # Source
//! Y. Saad, Iterative methods for sparse linear systems, 2nd edition, algorithm 10.4; H. Anzt et al., Incomplete sparse approximate
//! inverses for parallel preconditioning, Parallel Computing 71 (2018).

use crate::csr::Csr;
use crate::row_builder::make_rows;
use crate::tuning::{PAIRS_MAX_ENTRIES, SEARCH_MIN_RATIO};
use bandsolve::dyn_stack::{PodStack, StackReq};
use bandsolve::matrix::Index;
use bandsolve::memory::{allocate, copied, refill};
use bandsolve::vectors::divide;
use bandsolve::{Error, LinearOperator, Result, Scalar, interrupt};

/// ILU(0) as a preconditioner: A ≈ L·U, where L and U have entries only where A has entries.
///
/// The diagonal of L is 1. Set-up and applications run on one thread.
///
/// # Cost
/// One application costs two flops per entry of A: one solve with L and one with U.
///
/// # Examples
/// ```
/// use bandsolve_sparse::{IncompleteLu, KrylovMethod, KrylovSolver, nine_point};
/// let a = nine_point([[0.0, -1.0, 0.0], [-1.5, 4.0, -0.5], [0.0, -1.0, 0.0]], (20, 30));
/// let m = IncompleteLu::new(&a)?;
/// let mut x = vec![0.0; 600];
/// let report = KrylovSolver::new(KrylovMethod::Gmres { restart: 30 }).solve(&a, Some(&m), &vec![1.0; 600], &mut x)?;
/// assert!(report.converged());
/// # Ok::<(), bandsolve::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct IncompleteLu<T: Scalar> {
    /// L without its diagonal, and U, in rows sorted by columns.
    factors: Csr<'static, T, u32>,
    /// The position of the diagonal entry of each row.
    diagonal: Vec<u32>,
}

/// Number of rows between two checks for an interruption.
const BETWEEN: usize = 1 << 10;

impl<T: Scalar> IncompleteLu<T> {
    /// Factor a matrix row by row. The elimination drops fill-in, entries where A has none.
    ///
    /// # Cost
    /// For each entry aᵢₖ with k < i: the number of later entries in row i or in row k, whichever is smaller, times a logarithm.
    ///
    /// # Errors
    /// [`Error::Shape`] if the matrix is not square. [`Error::Singular`] with the first row whose pivot is 0, missing, NaN or infinite.
    /// [`Error::OutOfMemory`]. [`Error::Interrupted`] if the caller stops the set-up.
    pub fn new<I: Index>(a: &Csr<'_, T, I>) -> Result<Self> {
        let n = a.rows();
        a.check_square()?;
        let sorted = a.sorted()?;
        let (pointers, columns, values) = sorted.parts();
        let mut values = copied(values)?;
        let range = |i: usize| pointers[i] as usize..pointers[i + 1] as usize;
        let (mut diagonal, mut places) = (allocate(n, 0)?, allocate(n, u32::MAX)?);
        for i in 0..n {
            if i % BETWEEN == 0 {
                interrupt::check()?;
            }
            let row = range(i);
            row.clone().for_each(|e| places[columns[e] as usize] = e as u32);
            // For each k < i in row i: lᵢₖ = aᵢₖ / uₖₖ, then aᵢⱼ ← aᵢⱼ − lᵢₖ·uₖⱼ for the entries j > k that both rows have.
            for e in row.clone() {
                let k = columns[e] as usize;
                if k >= i {
                    break;
                }
                values[e] = divide(values[e], values[diagonal[k] as usize]);
                let (right, rest) = (diagonal[k] as usize + 1..range(k).end, e + 1..row.end);
                let factor = values[e];
                let mut subtract = |place: usize, f: usize| values[place] = values[place] - factor * values[f];
                if right.len() > SEARCH_MIN_RATIO * rest.len() {
                    // Search row k for the columns of row i, so that the cost does not grow with the length of row k.
                    let mut from = right.start;
                    for place in rest {
                        from += columns[from..right.end].partition_point(|column| *column < columns[place]);
                        if from < right.end && columns[from] == columns[place] {
                            subtract(place, from);
                        }
                    }
                } else {
                    for f in right {
                        let place = places[columns[f] as usize];
                        if place != u32::MAX {
                            subtract(place as usize, f);
                        }
                    }
                }
            }
            // uᵢᵢ
            let place = places[i];
            let pivot = if place == u32::MAX { T::ZERO } else { values[place as usize] };
            if pivot == T::ZERO || !Scalar::is_finite(pivot) {
                return Err(Error::Singular { row: i });
            }
            diagonal[i] = place;
            row.for_each(|e| places[columns[e] as usize] = u32::MAX);
        }
        Ok(Self { factors: sorted.with_values(values), diagonal })
    }

    /// L or U, with its diagonal.
    fn triangle(&self, lower: bool) -> Result<Csr<'static, T, u32>> {
        let n = self.factors.rows();
        make_rows((n, n), self.factors.entries(), &|rows, built| {
            for i in rows {
                let first = built.columns.len();
                built.reserve(self.factors.range(i).len())?;
                for (j, value) in self.factors.row(i).filter(|(j, _)| if lower { *j <= i } else { *j >= i }) {
                    built.columns.push(j as u32);
                    built.values.push(if lower && j == i { T::ONE } else { value });
                }
                built.lengths.push((built.columns.len() - first) as u32);
            }
            Ok(())
        })
    }
}

impl<T: Scalar> LinearOperator<T> for IncompleteLu<T> {
    fn rows(&self) -> usize {
        self.diagonal.len()
    }

    fn columns(&self) -> usize {
        self.diagonal.len()
    }

    fn apply(&self, x: &[T], y: &mut [T], _: &mut PodStack) -> Result<()> {
        let (_, columns, values) = self.factors.parts();
        let n = x.len();
        // L·y = x: yᵢ = xᵢ − Σ lᵢⱼ·yⱼ over j < i
        for i in 0..n {
            let left = self.factors.range(i).start..self.diagonal[i] as usize;
            let known = columns[left.clone()].iter().zip(&values[left]);
            y[i] = known.fold(x[i], |sum, (j, value)| sum - *value * y[*j as usize]);
        }
        // U·y = y: yᵢ ← (yᵢ − Σ uᵢⱼ·yⱼ over j > i) / uᵢᵢ
        for i in (0..n).rev() {
            let pivot = self.diagonal[i] as usize;
            let right = pivot + 1..self.factors.range(i).end;
            let known = columns[right.clone()].iter().zip(&values[right]);
            y[i] = divide(known.fold(y[i], |sum, (j, value)| sum - *value * y[*j as usize]), values[pivot]);
        }
        Ok(())
    }
}

/// ILU(0) with an approximate inverse of each triangle as a preconditioner (ILU-ISAI).
///
/// The approximate inverse N of a triangle T has the sparsity pattern of T, with (N·T)ᵢⱼ = δᵢⱼ on this pattern. A solve with T computes y = N·r, and
/// then improves y by sweeps y ← y + N·(r − T·y). All steps run in parallel, unlike those of [`IncompleteLu`].
///
/// # Examples
/// ```
/// use bandsolve_sparse::{IncompleteInverse, KrylovMethod, KrylovSolver, nine_point};
/// let a = nine_point([[0.0, -1.0, 0.0], [-1.5, 4.0, -0.5], [0.0, -1.0, 0.0]], (20, 30));
/// let m = IncompleteInverse::new(&a, 1)?;
/// let mut x = vec![0.0; 600];
/// let report = KrylovSolver::new(KrylovMethod::Gmres { restart: 30 }).solve(&a, Some(&m), &vec![1.0; 600], &mut x)?;
/// assert!(report.converged());
/// # Ok::<(), bandsolve::Error>(())
/// ```
///
/// # Cost
/// One application costs 4·`sweeps` + 2 products with a triangle.
#[derive(Debug, Clone)]
pub struct IncompleteInverse<T: Scalar> {
    /// L, U, and the inverse of each.
    triangles: [[Csr<'static, T, u32>; 2]; 2],
    sweeps: usize,
}

impl<T: Scalar> IncompleteInverse<T> {
    /// Factor a matrix and invert the triangles approximately. `sweeps` is the number of sweeps per solve with a triangle; 0 is possible.
    ///
    /// # Errors
    /// As [`IncompleteLu::new`], and [`Error::Singular`] with the first row whose approximate inverse is not finite.
    pub fn new<I: Index>(a: &Csr<'_, T, I>, sweeps: usize) -> Result<Self> {
        let ilu = IncompleteLu::new(a)?;
        let pair = |lower: bool| {
            let triangle = ilu.triangle(lower)?;
            let inverse = on_its_places(&triangle, lower)?;
            let (_, _, values) = inverse.parts();
            match values.iter().position(|value| !Scalar::is_finite(*value)) {
                Some(place) => {
                    Err(Error::Singular { row: inverse.parts().0.partition_point(|p| *p as usize <= place) - 1 })
                }
                None => Ok([triangle, inverse]),
            }
        };
        Ok(Self { triangles: [pair(true)?, pair(false)?], sweeps })
    }

    /// L and U, each with its approximate inverse, for other hardware that multiplies with them.
    ///
    /// # Examples
    /// ```
    /// use bandsolve_sparse::{Csr, IncompleteInverse};
    /// let a = Csr::<f64>::from_triplets(2, 2, &[(0, 0, 2.0), (1, 0, 1.0), (1, 1, 4.0)])?;
    /// let m = IncompleteInverse::new(&a, 0)?;
    /// let [[lower, _], [_, inverse_of_upper]] = m.triangles();
    /// assert_eq!(lower.row(1).collect::<Vec<_>>(), [(0, 0.5), (1, 1.0)]);
    /// assert_eq!(inverse_of_upper.row(1).collect::<Vec<_>>(), [(1, 0.25)]);
    /// # Ok::<(), bandsolve::Error>(())
    /// ```
    pub fn triangles(&self) -> &[[Csr<'static, T, u32>; 2]; 2] {
        &self.triangles
    }
}

/// The approximate inverse N of a triangle T with sorted rows: (N·T)ᵢⱼ = δᵢⱼ on the pattern of T. Each row solves a small triangular system.
fn on_its_places<T: Scalar>(triangle: &Csr<'_, T, u32>, lower: bool) -> Result<Csr<'static, T, u32>> {
    make_rows((triangle.rows(), triangle.columns()), triangle.entries(), &|rows, built| {
        let (mut row, mut places): (Vec<T>, Vec<usize>) = (Vec::new(), Vec::new());
        for i in rows {
            refill(&mut places, triangle.row(i).map(|(j, _)| j))?;
            let count = places.len();
            refill(&mut row, places.iter().map(|_| T::ZERO))?;
            built.reserve(count)?;
            if count > PAIRS_MAX_ENTRIES {
                built.columns.extend(places.iter().map(|j| *j as u32));
                long_row(triangle, (&places, lower), &mut row);
                built.values.extend_from_slice(&row);
                built.lengths.push(count as u32);
                continue;
            }
            // Solve Σ_a x_a·T[p_a][p_c] = δ. Since T is triangular, column p_c has entries from one side of c only.
            let mut solve = |c: usize| {
                let mut sum = if places[c] == i { T::ONE } else { T::ZERO };
                for a in if lower { c + 1..count } else { 0..c } {
                    sum -= row[a] * entry(triangle, places[a], places[c]);
                }
                row[c] = divide(sum, entry(triangle, places[c], places[c]));
            };
            if lower {
                (0..count).rev().for_each(&mut solve);
            } else {
                (0..count).for_each(&mut solve);
            }
            built.columns.extend(places.iter().map(|j| *j as u32));
            built.values.extend_from_slice(&row);
            built.lengths.push(count as u32);
        }
        Ok(())
    })
}

/// Solve the system of one long row by columns: each known element is multiplied with its row of T, and subtracted from the other sums.
fn long_row<T: Scalar>(triangle: &Csr<'_, T, u32>, (places, lower): (&[usize], bool), row: &mut [T]) {
    let (_, columns, values) = triangle.parts();
    let count = places.len();
    // The right-hand side is the unit vector of the diagonal entry: the last place of a row of L, the first of a row of U.
    row[if lower { count - 1 } else { 0 }] = T::ONE;
    for step in 0..count {
        let c = if lower { count - 1 - step } else { step };
        let entries = triangle.range(places[c]);
        let (columns, values) = (&columns[entries.clone()], &values[entries]);
        row[c] = divide(row[c], columns.binary_search(&(places[c] as u32)).map_or(T::ZERO, |at| values[at]));
        // row_p ← row_p − x·t_cp for the other places p
        let x = row[c];
        let others = if lower { 0..c } else { c + 1..count };
        if columns.len() <= others.len() {
            let outside = |j: &u32| if lower { (*j as usize) < places[c] } else { *j as usize > places[c] };
            for (j, value) in columns.iter().zip(values).filter(|(j, _)| outside(j)) {
                if let Ok(at) = places.binary_search(&(*j as usize)) {
                    row[at] -= x * *value;
                }
            }
        } else {
            for at in others {
                if let Ok(k) = columns.binary_search(&(places[at] as u32)) {
                    row[at] -= x * values[k];
                }
            }
        }
    }
}

/// An entry of a matrix with sorted rows.
fn entry<T: Scalar>(a: &Csr<'_, T, u32>, i: usize, j: usize) -> T {
    let (_, columns, values) = a.parts();
    let entries = a.range(i);
    columns[entries.clone()].binary_search(&(j as u32)).map_or(T::ZERO, |k| values[entries.start + k])
}

impl<T: Scalar> LinearOperator<T> for IncompleteInverse<T> {
    fn rows(&self) -> usize {
        self.triangles[0][0].rows()
    }

    fn columns(&self) -> usize {
        self.triangles[0][0].columns()
    }

    fn apply_scratch(&self) -> StackReq {
        StackReq::new::<T>(2 * self.triangles[0][0].rows())
    }

    fn apply(&self, x: &[T], y: &mut [T], stack: &mut PodStack) -> Result<()> {
        let (middle, stack) = stack.make_raw::<T>(x.len());
        let (r, stack) = stack.make_raw::<T>(x.len());
        let mut solve = |[triangle, inverse]: &[Csr<'static, T, u32>; 2], rhs: &[T], x: &mut [T]| {
            inverse.apply(rhs, x, stack)?;
            for _ in 0..self.sweeps {
                triangle.residual(x, rhs, r, stack)?;
                let r = &*r;
                inverse.each_sum(r, x, |_, sum, x| *x += sum);
            }
            Ok(())
        };
        solve(&self.triangles[0], x, middle)?;
        solve(&self.triangles[1], middle, y)
    }
}
