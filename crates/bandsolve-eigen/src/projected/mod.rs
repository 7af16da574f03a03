//! Small dense matrices: projections of an operator onto a Krylov space, and their eigenvalues.

mod jacobi;
mod schur;

pub(crate) use jacobi::hermitian_eigen;
pub(crate) use schur::{SchurForm, schur};

use bandsolve::memory::{copied, zeroed};
use bandsolve::{Complex64, Result};
use bandsolve_kernel::view::View;
use core::ops::{Index, IndexMut};

pub(crate) const ZERO: Complex64 = Complex64::new(0.0, 0.0);
pub(crate) const ONE: Complex64 = Complex64::new(1.0, 0.0);

/// A dense matrix in column-major order. Functions that make a matrix return an error if there is no memory.
#[derive(Debug, PartialEq)]
pub(crate) struct ProjectedMatrix {
    rows: usize,
    columns: usize,
    entries: Vec<Complex64>,
}

impl ProjectedMatrix {
    pub fn zeros(rows: usize, columns: usize) -> Result<Self> {
        Ok(Self { rows, columns, entries: zeroed(rows.saturating_mul(columns))? })
    }

    pub fn identity(n: usize) -> Result<Self> {
        let mut unit = Self::zeros(n, n)?;
        (0..n).for_each(|k| unit[(k, k)] = ONE);
        Ok(unit)
    }

    pub fn copy(&self) -> Result<Self> {
        Ok(Self { entries: copied(&self.entries)?, ..*self })
    }

    pub fn rows(&self) -> usize {
        self.rows
    }

    pub fn columns(&self) -> usize {
        self.columns
    }

    pub fn column(&self, j: usize) -> &[Complex64] {
        &self.entries[j * self.rows..][..self.rows]
    }

    pub fn column_mut(&mut self, j: usize) -> &mut [Complex64] {
        &mut self.entries[j * self.rows..][..self.rows]
    }

    pub fn view(&self) -> View<'_, Complex64> {
        View::new(&self.entries, self.rows, self.columns)
    }

    /// Copy the rows and columns `from .. to` of a square matrix.
    pub fn block(&self, from: usize, to: usize) -> Result<Self> {
        let mut block = Self::zeros(to - from, to - from)?;
        for j in from..to {
            block.column_mut(j - from).copy_from_slice(&self.column(j)[from..to]);
        }
        Ok(block)
    }

    /// Compute A·B.
    pub fn times(&self, b: &Self) -> Result<Self> {
        debug_assert_eq!(self.columns, b.rows);
        let mut product = Self::zeros(self.rows, b.columns)?;
        for j in 0..b.columns {
            for k in 0..self.columns {
                let factor = b[(k, j)];
                let column = self.column(k);
                product.column_mut(j).iter_mut().zip(column).for_each(|(to, a)| *to += a * factor);
            }
        }
        Ok(product)
    }

    /// Compute Aᴴ.
    pub fn adjoint(&self) -> Result<Self> {
        let mut adjoint = Self::zeros(self.columns, self.rows)?;
        for j in 0..self.columns {
            (0..self.rows).for_each(|i| adjoint[(j, i)] = self[(i, j)].conj());
        }
        Ok(adjoint)
    }

    /// Copy the columns with these indices.
    pub fn columns_at(&self, places: impl ExactSizeIterator<Item = usize>) -> Result<Self> {
        let mut some = Self::zeros(self.rows, places.len())?;
        places.enumerate().for_each(|(to, from)| some.column_mut(to).copy_from_slice(self.column(from)));
        Ok(some)
    }

    /// Compute the Frobenius norm ‖A‖_F without overflow.
    pub fn norm(&self) -> f64 {
        let largest = self.entries.iter().map(|a| a.re.abs().max(a.im.abs())).fold(0.0, f64::max);
        if largest == 0.0 || !largest.is_finite() {
            return largest;
        }
        largest * self.entries.iter().map(|a| (a / largest).norm_sqr()).sum::<f64>().sqrt()
    }

    /// Multiply all entries by a factor.
    pub fn scale(&mut self, factor: f64) {
        self.entries.iter_mut().for_each(|a| *a *= factor);
    }

    pub fn is_finite(&self) -> bool {
        self.entries.iter().all(|a| a.re.is_finite() && a.im.is_finite())
    }

    /// Replace columns p and q by c·p + s̄·q and −s·p + c·q, in the rows before `end`.
    fn rotate_columns(&mut self, (p, q): (usize, usize), (c, s): PlaneRotation, end: usize) {
        for i in 0..end {
            let (a, b) = (self[(i, p)], self[(i, q)]);
            self[(i, p)] = c * a + s.conj() * b;
            self[(i, q)] = c * b - s * a;
        }
    }

    /// Replace rows p and q by c·p + s·q and −s̄·p + c·q, from column `begin` on.
    fn rotate_rows(&mut self, (p, q): (usize, usize), (c, s): PlaneRotation, begin: usize) {
        for j in begin..self.columns {
            let (a, b) = (self[(p, j)], self[(q, j)]);
            self[(p, j)] = c * a + s * b;
            self[(q, j)] = c * b - s.conj() * a;
        }
    }
}

impl Index<(usize, usize)> for ProjectedMatrix {
    type Output = Complex64;

    fn index(&self, (i, j): (usize, usize)) -> &Complex64 {
        &self.entries[i + j * self.rows]
    }
}

impl IndexMut<(usize, usize)> for ProjectedMatrix {
    fn index_mut(&mut self, (i, j): (usize, usize)) -> &mut Complex64 {
        &mut self.entries[i + j * self.rows]
    }
}

/// The numbers c and s of a plane rotation (c s; −s̄ c).
type PlaneRotation = (f64, Complex64);

/// The plane rotation that maps (f, g) to (r, 0).
fn rotation(f: Complex64, g: Complex64) -> PlaneRotation {
    let (a, b) = (f.norm(), g.norm());
    let r = a.hypot(b);
    if b == 0.0 || r == 0.0 {
        return (1.0, ZERO);
    }
    if a == 0.0 {
        return (0.0, g.conj() / b);
    }
    (a / r, (f / a) * (g.conj() / r))
}
