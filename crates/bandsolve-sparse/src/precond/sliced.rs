//! Matrices whose rows are like those beside them, as stencils make them: products without an index for each entry.

use crate::csr::Csr;
use crate::rows::{Ragged, TASK, each_row};
use bandsolve::Scalar;
use bandsolve_kernel::memory::zeros;
use bandsolve_kernel::spread::{RowsOf, each_chunk};

/// Rows of a slice.
const LANES: usize = 8;

/// A matrix, and a second copy of its slices: of [`LANES`] rows with their entries at the same distances from the diagonal, so that the
/// columns of the first say where those of all are.
///
/// Sums are those of the rows one by one, bit for bit.
#[derive(Debug)]
pub(super) struct SlicedMatrix<'a, T: Scalar> {
    rows: Csr<'a, T, u32>,
    /// Where the values of each slice begin, and where the last end; where its rows differ there are none.
    starts: Vec<usize>,
    /// Entry by entry those of all lanes.
    values: Vec<T>,
    /// The column of each entry of the first lane.
    columns: Vec<u32>,
}

impl<'a, T: Scalar> SlicedMatrix<'a, T> {
    /// With slices, if most rows are in one.
    pub fn new(rows: Csr<'a, T, u32>) -> Self {
        let count = rows.rows() / LANES;
        let mut starts = vec![0; count + 1];
        let alike = each_row(&mut starts[1..], &|slice, length| {
            *length = if are_alike(&rows, slice * LANES) { LANES * rows.range(slice * LANES).len() } else { 0 };
            usize::from(*length > 0)
        });
        if 2 * alike < count {
            return Self { rows, starts: vec![0; count + 1], values: vec![], columns: vec![] };
        }
        (0..count).for_each(|slice| starts[slice + 1] += starts[slice]);
        let mut values = zeros(starts[count]).expect("memory");
        let mut columns = Vec::with_capacity(starts[count] / LANES);
        for slice in (0..count).filter(|slice| starts[*slice] < starts[slice + 1]) {
            columns.extend_from_slice(&rows.parts().1[rows.range(slice * LANES)]);
        }
        let tasks: Vec<usize> = (0..count).step_by(TASK / LANES).chain([count]).map(|slice| starts[slice]).collect();
        let out = Ragged { values: &mut values, starts: &tasks };
        each_chunk((tasks.len() - 1, 2), out, &|task, own| {
            let slices = task * TASK / LANES..((task + 1) * TASK / LANES).min(count);
            for slice in slices.filter(|slice| starts[*slice] < starts[slice + 1]) {
                let own = &mut own.values[starts[slice] - tasks[task]..starts[slice + 1] - tasks[task]];
                for lane in 0..LANES {
                    let entries = own[lane..].iter_mut().step_by(LANES);
                    entries.zip(rows.row(slice * LANES + lane)).for_each(|(to, (_, value))| *to = value);
                }
            }
        });
        Self { rows, starts, values, columns }
    }

    /// The matrix by rows.
    pub fn by_rows(&self) -> &Csr<'a, T, u32> {
        &self.rows
    }

    /// r = rhs − A·x.
    pub fn residual(&self, x: &[T], rhs: &[T], r: &mut [T]) {
        each_chunk((r.len().div_ceil(TASK), 2), RowsOf(r, TASK), &|task, r| {
            let first = task * TASK;
            for (k, r) in r.0.chunks_mut(LANES).enumerate() {
                let i = first + k * LANES;
                let sums = self.sums(i / LANES, r.len(), x);
                r.iter_mut().zip(&rhs[i..]).zip(sums).for_each(|((r, rhs), sum)| *r = *rhs - sum);
            }
        });
    }

    /// Σⱼ aᵢⱼ·xⱼ of the first rows of a slice, in the order of entries.
    #[inline]
    fn sums(&self, slice: usize, count: usize, x: &[T]) -> [T; LANES] {
        let (mut sums, first) = ([T::ZERO; LANES], slice * LANES);
        let own = self.starts.get(slice..slice + 2).map_or(0..0, |own| own[0]..own[1]);
        if own.is_empty() {
            (0..count).for_each(|k| sums[k] = self.rows.row_times(first + k, x));
            return sums;
        }
        let (columns, values) = (&self.columns[own.start / LANES..own.end / LANES], &self.values[own]);
        for (column, values) in columns.iter().zip(values.chunks_exact(LANES)) {
            let x = &x[*column as usize..*column as usize + LANES];
            for k in 0..LANES {
                sums[k] += values[k] * x[k];
            }
        }
        sums
    }
}

/// Whether the rows of a slice have their entries at the same distances from the diagonal.
fn are_alike<T: Scalar>(rows: &Csr<'_, T, u32>, first: usize) -> bool {
    let columns = |i: usize| &rows.parts().1[rows.range(i)];
    let of_first = columns(first);
    (1..LANES).all(|lane| {
        let own = columns(first + lane);
        own.len() == of_first.len() && of_first.iter().zip(own).all(|(of_first, own)| of_first + lane as u32 == *own)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nine_point;

    #[test]
    fn the_same_bits_as_by_rows() {
        for (columns, rows) in [(1, 1), (3, 2), (40, 9), (61, 80)] {
            let a = nine_point([[0.1, 0.2, 0.0], [0.3, 1.7, 0.4], [0.5, 0.0, 0.6]], (columns, rows));
            let x: Vec<f64> = (0..a.rows()).map(|i| (i as f64).sin()).collect();
            let mut r = vec![0.0; x.len()];
            let sliced = SlicedMatrix::new(a.view());
            assert!(columns < 40 || sliced.values.len() > a.entries() / 2, "{columns}");
            sliced.residual(&x, &x, &mut r);
            assert!((0..r.len()).all(|i| r[i] == x[i] - a.row_times(i, &x)), "{columns} x {rows}");
        }
    }
}
