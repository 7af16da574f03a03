//! ILU(0), and its triangles solved by incomplete inverses (ISAI).
//!
//! # Source
//! Y. Saad, Iterative methods for sparse linear systems, 2nd edition, algorithm 10.4; H. Anzt et al., Incomplete sparse approximate
//! inverses for parallel preconditioning, Parallel Computing 71 (2018).

use crate::csr::Csr;
use crate::rows::make_rows;
use bandsolve::dyn_stack::{PodStack, StackReq};
use bandsolve::matrix::Index;
use bandsolve::memory::{allocate, copied, refill};
use bandsolve::vectors::divide;
use bandsolve::{Error, LinearOperator, Result, Scalar, interrupt};

/// A ≈ L·U on the places of A's entries. L has ones on its diagonal. Sequential, to make and to apply.
#[derive(Debug, Clone)]
pub struct IncompleteLu<T: Scalar> {
    /// L without its diagonal, and U, in rows sorted by columns.
    factors: Csr<'static, T, u32>,
    /// Where the diagonal stands in each row.
    diagonal: Vec<u32>,
}

/// A row above that is longer than what is left of the row by this factor is searched, not read.
const FAR_LONGER: usize = 16;
/// Rows between two questions whether to go on.
const BETWEEN: usize = 1 << 10;

impl<T: Scalar> IncompleteLu<T> {
    /// Eliminates row by row; what would come where A has no entry is dropped.
    ///
    /// # Cost
    /// For each entry below the diagonal, the entries that its own row or the row above has behind it, whichever are fewer, up to a logarithm.
    ///
    /// # Errors
    /// [`Error::Shape`] if the matrix is not square, [`Error::Singular`] with the first row whose pivot is 0, absent or not finite;
    /// [`Error::OutOfMemory`], [`Error::Interrupted`].
    pub fn new<I: Index>(a: &Csr<'_, T, I>) -> Result<Self> {
        let n = a.rows();
        if a.columns() != n {
            return Err(Error::Shape { what: "columns of a square matrix", expected: n, got: a.columns() });
        }
        let sorted = a.sorted()?;
        let (pointers, columns, values) = sorted.parts();
        let mut values = copied(values)?;
        let range = |i: usize| pointers[i] as usize..pointers[i + 1] as usize;
        let (mut diagonal, mut places) = (allocate(n, 0)?, allocate(n, u32::MAX)?);
        for i in 0..n {
            if i % BETWEEN == 0 {
                interrupt::check()?;
            }
            let own = range(i);
            own.clone().for_each(|e| places[columns[e] as usize] = e as u32);
            for e in own.clone() {
                let k = columns[e] as usize;
                if k >= i {
                    break;
                }
                values[e] = divide(values[e], values[diagonal[k] as usize]);
                let (right, rest) = (diagonal[k] as usize + 1..range(k).end, e + 1..own.end);
                let factor = values[e];
                let mut subtract = |place: usize, f: usize| values[place] = values[place] - factor * values[f];
                if right.len() > FAR_LONGER * rest.len() {
                    // What the row has is looked for: a row costs no more than its own entries, however long others are.
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
            let place = places[i];
            let pivot = if place == u32::MAX { T::ZERO } else { values[place as usize] };
            if pivot == T::ZERO || !Scalar::is_finite(pivot) {
                return Err(Error::Singular { row: i });
            }
            diagonal[i] = place;
            own.for_each(|e| places[columns[e] as usize] = u32::MAX);
        }
        Ok(Self { factors: sorted.with_values(values), diagonal })
    }

    /// One of the triangles, with its diagonal.
    fn triangle(&self, lower: bool) -> Result<Csr<'static, T, u32>> {
        let n = self.factors.rows();
        make_rows((n, n), self.factors.entries(), &|rows, made| {
            for i in rows {
                let first = made.columns.len();
                made.reserve(self.factors.range(i).len())?;
                for (j, value) in self.factors.row(i).filter(|(j, _)| if lower { *j <= i } else { *j >= i }) {
                    made.columns.push(j as u32);
                    made.values.push(if lower && j == i { T::ONE } else { value });
                }
                made.lengths.push((made.columns.len() - first) as u32);
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
        for i in 0..n {
            let left = self.factors.range(i).start..self.diagonal[i] as usize;
            let known = columns[left.clone()].iter().zip(&values[left]);
            y[i] = known.fold(x[i], |sum, (j, value)| sum - *value * y[*j as usize]);
        }
        for i in (0..n).rev() {
            let pivot = self.diagonal[i] as usize;
            let right = pivot + 1..self.factors.range(i).end;
            let known = columns[right.clone()].iter().zip(&values[right]);
            y[i] = divide(known.fold(y[i], |sum, (j, value)| sum - *value * y[*j as usize]), values[pivot]);
        }
        Ok(())
    }
}

/// ILU(0) whose triangles T are solved by an approximate inverse N with T's places, (N·T)ᵢⱼ = δᵢⱼ on them, and sweeps of
/// y ← y + N·(r − T·y).
#[derive(Debug, Clone)]
pub struct IncompleteInverse<T: Scalar> {
    /// L, U, and the inverse of each.
    triangles: [[Csr<'static, T, u32>; 2]; 2],
    sweeps: usize,
}

impl<T: Scalar> IncompleteInverse<T> {
    /// With so many sweeps.
    ///
    /// # Errors
    /// As [`IncompleteLu::new`], and [`Error::Singular`] if a small matrix of the triangles is.
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
}

/// N with the places of a triangle T whose rows are sorted, and (N·T)ᵢⱼ = δᵢⱼ on them: each row solves a small triangular system.
fn on_its_places<T: Scalar>(triangle: &Csr<'_, T, u32>, lower: bool) -> Result<Csr<'static, T, u32>> {
    make_rows((triangle.rows(), triangle.columns()), triangle.entries(), &|rows, made| {
        let (mut row, mut places): (Vec<T>, Vec<usize>) = (Vec::new(), Vec::new());
        for i in rows {
            refill(&mut places, triangle.row(i).map(|(j, _)| j))?;
            let count = places.len();
            refill(&mut row, places.iter().map(|_| T::ZERO))?;
            made.reserve(count)?;
            if count > LONG {
                made.columns.extend(places.iter().map(|j| *j as u32));
                long_row(triangle, (&places, lower), &mut row);
                made.values.extend_from_slice(&row);
                made.lengths.push(count as u32);
                continue;
            }
            // Σ_a x_a·T[p_a][p_c] = δ: column p_c knows of those a alone that stand on the far side of it.
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
            made.columns.extend(places.iter().map(|j| *j as u32));
            made.values.extend_from_slice(&row);
            made.lengths.push(count as u32);
        }
        Ok(())
    })
}

/// Entries of a row of the inverse from which on its system is solved by columns, without a look at all pairs of its entries.
const LONG: usize = 64;

/// The same for one row with many places: each element, once it is known, is subtracted from the sums of those that its row of T has among the
/// places.
fn long_row<T: Scalar>(triangle: &Csr<'_, T, u32>, (places, lower): (&[usize], bool), row: &mut [T]) {
    let (_, columns, values) = triangle.parts();
    let count = places.len();
    // The unit vector of the row's own place, which is the last of L's and the first of U's.
    row[if lower { count - 1 } else { 0 }] = T::ONE;
    for step in 0..count {
        let c = if lower { count - 1 - step } else { step };
        let own = triangle.range(places[c]);
        let (columns, values) = (&columns[own.clone()], &values[own]);
        row[c] = divide(row[c], columns.binary_search(&(places[c] as u32)).map_or(T::ZERO, |at| values[at]));
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
    let own = a.range(i);
    columns[own.clone()].binary_search(&(j as u32)).map_or(T::ZERO, |k| values[own.start + k])
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
