//! ILU(0), and its triangles solved by incomplete inverses (ISAI).
//!
//! # Source
//! Y. Saad, Iterative methods for sparse linear systems, 2nd edition, algorithm 10.4; H. Anzt et al., Incomplete sparse approximate
//! inverses for parallel preconditioning, Parallel Computing 71 (2018).

use crate::csr::Csr;
use crate::rows::make_rows;
use bandsolve::dyn_stack::{PodStack, StackReq};
use bandsolve::matrix::Index;
use bandsolve::vectors::divide;
use bandsolve::{Error, LinearOperator, Result, Scalar};

/// A ≈ L·U on the places of A's entries. L has ones on its diagonal. Sequential, to make and to apply.
#[derive(Debug, Clone)]
pub struct IncompleteLu<T: Scalar> {
    /// L without its diagonal, and U, in rows sorted by columns.
    factors: Csr<'static, T, u32>,
    /// Where the diagonal stands in each row.
    diagonal: Vec<u32>,
}

impl<T: Scalar> IncompleteLu<T> {
    /// Eliminates row by row; what would come where A has no entry is dropped.
    ///
    /// # Errors
    /// [`Error::Shape`] if the matrix is not square, [`Error::Singular`] with the first row whose pivot is 0, absent or not finite.
    pub fn new<I: Index>(a: &Csr<'_, T, I>) -> Result<Self> {
        let n = a.rows();
        if a.columns() != n {
            return Err(Error::Shape { what: "columns of a square matrix", expected: n, got: a.columns() });
        }
        let sorted = a.sorted();
        let (pointers, columns, values) = sorted.parts();
        let mut values = values.to_vec();
        let range = |i: usize| pointers[i] as usize..pointers[i + 1] as usize;
        let (mut diagonal, mut places) = (vec![0; n], vec![u32::MAX; n]);
        for i in 0..n {
            let own = range(i);
            own.clone().for_each(|e| places[columns[e] as usize] = e as u32);
            for e in own.clone() {
                let k = columns[e] as usize;
                if k >= i {
                    break;
                }
                values[e] = values[e] / values[diagonal[k] as usize];
                for f in diagonal[k] as usize + 1..range(k).end {
                    let place = places[columns[f] as usize];
                    if place != u32::MAX {
                        values[place as usize] = values[place as usize] - values[e] * values[f];
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
        let factors = Csr::from_rows(n, pointers.to_vec(), columns.to_vec(), values);
        Ok(Self { factors, diagonal })
    }

    /// One of the triangles, with its diagonal.
    fn triangle(&self, lower: bool) -> Csr<'static, T, u32> {
        let n = self.factors.rows();
        make_rows((n, n), self.factors.entries(), &|rows, made| {
            for i in rows {
                let first = made.columns.len();
                for (j, value) in self.factors.row(i).filter(|(j, _)| if lower { *j <= i } else { *j >= i }) {
                    made.columns.push(j as u32);
                    made.values.push(if lower && j == i { T::ONE } else { value });
                }
                made.lengths.push((made.columns.len() - first) as u32);
            }
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
            y[i] = known.fold(y[i], |sum, (j, value)| sum - *value * y[*j as usize]) / values[pivot];
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
            let triangle = ilu.triangle(lower);
            let inverse = on_its_places(&triangle, lower);
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
fn on_its_places<T: Scalar>(triangle: &Csr<'_, T, u32>, lower: bool) -> Csr<'static, T, u32> {
    make_rows((triangle.rows(), triangle.columns()), triangle.entries(), &|rows, made| {
        let mut row: Vec<T> = Vec::new();
        for i in rows {
            let places: Vec<usize> = triangle.row(i).map(|(j, _)| j).collect();
            let count = places.len();
            row.clear();
            row.resize(count, T::ZERO);
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
    })
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
