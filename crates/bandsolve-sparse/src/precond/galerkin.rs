//! The matrix of the next level.

use super::sliced::{LANES, SlicedMatrix};
use crate::csr::Csr;
use crate::multiply::{RowSum, adjoint};
use crate::rows::make_rows;
use bandsolve::Scalar;
use bandsolve_kernel::memory::zeros;

/// Pᴴ·A·P, its rows sorted, for a matrix A that has an entry at each mirrored place. A is given in slices, too; R = Pᴴ, its rows sorted.
///
/// Column by column: the rows of A that may meet a column p of P are those of its entries. Their products q = A·p are sums over rows, in
/// slices where A is, and Pᴴ·q has few elements.
pub(super) fn galerkin<T: Scalar>(
    (a, sliced): (&Csr<'_, T, u32>, &SlicedMatrix<'_, T>),
    r: &Csr<'_, T, u32>,
    p: &Csr<'_, T, u32>,
) -> Csr<'static, T, u32> {
    let (n, count) = (a.rows(), r.rows());
    let (of_a, of_p) = (a.parts(), p.parts());
    let by_columns = make_rows((count, count), a.entries() / 2, &|columns, made| {
        let mut own: Vec<T> = zeros(n).expect("memory");
        let mut met = MetSlices { seen: zeros(n.div_ceil(LANES)).expect("memory"), column: 0, list: vec![] };
        let mut sum = RowSum::new(count, made);
        for k in columns {
            let entries = (&r.parts().1[r.range(k)], &r.parts().2[r.range(k)]);
            met.begin(k as u32 + 1);
            for rows in entries.0.chunk_by(|i, j| *i as usize / LANES == *j as usize / LANES) {
                let (first, last) = (rows[0] as usize, rows[rows.len() - 1] as usize);
                if let Some((columns, _)) = sliced.slice(first / LANES) {
                    for column in columns {
                        met.add(*column as usize + first % LANES);
                        met.add(*column as usize + last % LANES);
                    }
                } else {
                    let columns = rows.iter().flat_map(|i| &of_a.1[a.range(*i as usize)]);
                    columns.for_each(|column| met.add(*column as usize));
                }
            }
            entries.0.iter().zip(entries.1).for_each(|(i, value)| own[*i as usize] = value.conj());
            for slice in &met.list {
                let first = *slice as usize * LANES;
                let products = sliced.sums(*slice as usize, LANES.min(n - first), &own);
                for (i, product) in (first..n).zip(products).filter(|(_, product)| *product != T::ZERO) {
                    let (own, product) = (p.range(i), product.conj());
                    sum.reserve(own.len());
                    let entries = of_p.1[own.clone()].iter().zip(&of_p.2[own]);
                    entries.for_each(|(k, value)| sum.add(*k, product * *value));
                }
            }
            entries.0.iter().for_each(|i| own[*i as usize] = T::ZERO);
            sum.finish();
        }
    });
    adjoint(&by_columns)
}

/// Slices that a column meets, each once.
struct MetSlices {
    /// The column that has met each of them last.
    seen: Vec<u32>,
    column: u32,
    list: Vec<u32>,
}

impl MetSlices {
    /// The next column, with a number that none before had; none is 0.
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

    /// Of a matrix that is not symmetric, with rows in slices and others, beside two products.
    #[test]
    fn the_product_of_three() {
        for (columns, rows) in [(3, 2), (40, 9), (61, 30)] {
            let a = nine_point([[0.1, -0.2, 0.3], [0.3, 1.7, -0.4], [0.5, 0.7, 0.6]], (columns, rows));
            let n = a.rows();
            let entry = |i: usize, k: usize| (i, k, ((i * 7 + k * 3) as f64).sin());
            let entries: Vec<_> = (0..n).flat_map(|i| [entry(i, i / 5), entry(i, (i + 9) / 7)]).collect();
            let p = Csr::<f64, u32>::from_triplets(n, n.div_ceil(5).max(n.div_ceil(7) + 2), &entries).unwrap().sorted();
            let r = adjoint(&p);
            let (got, expected) = (galerkin((&a, &SlicedMatrix::new(&a)), &r, &p), triple_product(&r, &a, &p));
            for k in 0..expected.rows() {
                let others: Vec<_> = expected.row(k).collect();
                assert!(got.row(k).all(|(j, _)| others.iter().any(|(k, _)| *k == j)), "{columns} x {rows}, row {k}");
                for (j, value) in others {
                    let own = got.row(k).find(|(k, _)| *k == j).map_or(0.0, |(_, value)| value);
                    assert!((own - value).abs() < 1e-13, "{columns} x {rows}, row {k}: {own} {value}");
                }
            }
        }
    }
}
