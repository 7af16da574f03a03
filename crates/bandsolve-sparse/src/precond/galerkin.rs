//! The matrix of the next level.

use crate::csr::Csr;
use crate::multiply::{RowSum, adjoint};
use crate::row_builder::{BuiltRows, make_rows};
use crate::sliced::{LANES, SlicedMatrix};
use bandsolve::memory::{reserved, zeroed};
use bandsolve::{Result, Scalar, Simd};
use bandsolve_kernel::{Job, Lanes, dispatch};
use core::mem::take;
use core::ops::Range;

/// Compute Pᴴ·A·P with sorted rows, for a matrix A with a symmetric pattern. The arguments have A in slices, too, and R = Pᴴ with sorted rows.
///
/// The product is computed column by column. Since the pattern is symmetric, the entries of a column p of P select the rows of A with products. The
/// products q = A·p are sums over rows, in slices if A has slices, and Pᴴ·q has few elements.
pub(super) fn galerkin<T: Scalar>(
    (a, sliced): (&Csr<'_, T, u32>, &SlicedMatrix<'_, T>),
    r: &Csr<'_, T, u32>,
    p: &Csr<'_, T, u32>,
) -> Result<Csr<'static, T, u32>> {
    let count = r.rows();
    let by_columns = make_rows((count, count), a.entries() / 2, &|columns, built| {
        dispatch::<T, _>(Simd::detect(), GalerkinColumns { a, sliced, r, p, columns, built })
    });
    adjoint(&by_columns?)
}

/// Some columns of Pᴴ·A·P.
struct GalerkinColumns<'a, T: Scalar> {
    a: &'a Csr<'a, T, u32>,
    sliced: &'a SlicedMatrix<'a, T>,
    r: &'a Csr<'a, T, u32>,
    p: &'a Csr<'a, T, u32>,
    columns: Range<usize>,
    built: &'a mut BuiltRows<T>,
}

impl<T: Scalar> Job<T> for GalerkinColumns<'_, T> {
    type Output = Result<()>;

    #[inline(always)]
    fn run<V: Lanes<Real = T::Real>>(self) -> Result<()> {
        let Self { a, sliced, r, p, columns, built } = self;
        let (n, of_a, of_p) = (a.rows(), a.parts(), p.parts());
        let scratch = &mut built.scratch;
        if scratch.numbers.len() < n {
            (scratch.numbers, scratch.marks) = (zeroed(n)?, zeroed(n.div_ceil(LANES))?);
        }
        // These numbers are zero, and each column resets them to zero.
        let mut column = take(&mut scratch.numbers);
        // Each slice occurs at most once.
        let mut met = MetSlices { seen: take(&mut scratch.marks), column: 0, list: reserved(n.div_ceil(LANES))? };
        let mut sum = RowSum::new(r.rows(), built)?;
        for k in columns {
            let entries = (&r.parts().1[r.range(k)], &r.parts().2[r.range(k)]);
            // The slices of A with a neighbor of an entry of column p: only these have products.
            met.begin(k as u32 + 1);
            for rows in entries.0.chunk_by(|i, j| *i as usize / LANES == *j as usize / LANES) {
                let (first, last) = (rows[0] as usize, rows[rows.len() - 1] as usize);
                if let Some((columns, _)) = sliced.slice(first / LANES) {
                    for column in columns {
                        met.add(*column as usize + first % LANES);
                        met.add(*column as usize + last % LANES);
                    }
                } else {
                    for i in rows {
                        of_a.1[a.range(*i as usize)].iter().for_each(|column| met.add(*column as usize));
                    }
                }
            }
            // Column k of P, scattered to a full vector
            for (i, value) in entries.0.iter().zip(entries.1) {
                column[*i as usize] = value.conj();
            }
            // q = A·p, slice by slice, and the sum Σᵢ q̄ᵢ·pᵢⱼ over the rows i, which is row k of (Pᴴ·A·P)ᴴ
            for slice in &met.list {
                let first = *slice as usize * LANES;
                let count = LANES.min(n - first);
                let products = sliced.sums(*slice as usize, count, &column);
                let mut nonzero = 0_u32;
                for (lane, product) in products.iter().enumerate() {
                    nonzero |= u32::from(*product != T::ZERO) << lane;
                }
                sum.reserve(p.range(first + count - 1).end - p.range(first).start)?;
                while nonzero != 0 {
                    let lane = nonzero.trailing_zeros() as usize;
                    nonzero &= nonzero - 1;
                    let (entries, product) = (p.range(first + lane), products[lane].conj());
                    for (k, value) in of_p.1[entries.clone()].iter().zip(&of_p.2[entries]) {
                        sum.add(*k, product * *value);
                    }
                }
            }
            for i in entries.0 {
                column[*i as usize] = T::ZERO;
            }
            sum.finish();
        }
        drop(sum);
        (built.scratch.numbers, built.scratch.marks) = (column, met.seen);
        Ok(())
    }
}

/// The slices that a column needs, without duplicates.
struct MetSlices {
    /// For each slice, the last column that needed it.
    seen: Vec<u32>,
    column: u32,
    list: Vec<u32>,
}

impl MetSlices {
    /// Begin the next column, with a new number above 0.
    fn begin(&mut self, column: u32) {
        self.column = column;
        self.list.clear();
    }

    /// The slice of a row.
    #[inline(always)]
    fn add(&mut self, row: usize) {
        let slice = row / LANES;
        if self.seen[slice] != self.column {
            self.seen[slice] = self.column;
            self.list.push(slice as u32);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::multiply::triple_product;
    use crate::nine_point;

    /// Compare with two products, for a matrix that is not symmetric, with rows in slices and other rows.
    #[test]
    fn the_product_of_three() {
        for (columns, rows) in [(3, 2), (40, 9), (61, 30)] {
            let a = nine_point([[0.1, -0.2, 0.3], [0.3, 1.7, -0.4], [0.5, 0.7, 0.6]], (columns, rows));
            let n = a.rows();
            let entry = |i: usize, k: usize| (i, k, ((i * 7 + k * 3) as f64).sin());
            let entries: Vec<_> = (0..n).flat_map(|i| [entry(i, i / 5), entry(i, (i + 9) / 7)]).collect();
            let p = Csr::<f64, u32>::from_triplets(n, n.div_ceil(5).max(n.div_ceil(7) + 2), &entries)
                .unwrap()
                .sorted()
                .unwrap();
            let r = adjoint(&p).unwrap();
            let got = galerkin((&a, &SlicedMatrix::new(&a).unwrap()), &r, &p).unwrap();
            let expected = triple_product(&r, &a, &p).unwrap();
            for k in 0..expected.rows() {
                let others: Vec<_> = expected.row(k).collect();
                assert!(got.row(k).all(|(j, _)| others.iter().any(|(k, _)| *k == j)), "{columns} x {rows}, row {k}");
                for (j, value) in others {
                    let computed = got.row(k).find(|(k, _)| *k == j).map_or(0.0, |(_, value)| value);
                    assert!((computed - value).abs() < 1e-13, "{columns} x {rows}, row {k}: {computed} {value}");
                }
            }
        }
    }
}
