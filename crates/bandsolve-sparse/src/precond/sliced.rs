//! Matrices whose rows are like those beside them, as stencils make them: products without an index for each entry.

use crate::csr::{Csr, cast};
use crate::rows::{Ragged, TASK, each_row};
use bandsolve::Scalar;
use bandsolve_kernel::memory::zeros;
use bandsolve_kernel::spread::{RowsOf, each_chunk};

/// Rows of a slice.
pub(super) const LANES: usize = 8;

/// A matrix in slices: of [`LANES`] rows with their entries at the same distances from the diagonal, so that the columns of the first say
/// where those of all are. What is in no slice is kept by rows.
///
/// Sums are those of the rows one by one, bit for bit.
#[derive(Debug)]
pub(super) struct SlicedMatrix<'a, T: Scalar> {
    size: usize,
    /// Where the values of each slice begin, and where the last end; where its rows differ there are none.
    starts: Vec<usize>,
    /// Entry by entry those of all lanes.
    values: Vec<T>,
    /// The column of each entry of the first lane.
    columns: Vec<u32>,
    /// The rows that are in no slice.
    rest: Csr<'a, T, u32>,
    /// The first of them at each slice or after it; and how many come before the last rows, which are too few for one.
    others: Vec<u32>,
}

impl<'a, T: Scalar> SlicedMatrix<'a, T> {
    /// In slices, if most rows are in one; else as it is given.
    pub fn new(a: &Csr<'a, T, u32>) -> Self {
        Self::in_slices(a).unwrap_or_else(|| Self::by_rows(a.clone()))
    }

    /// The same in another precision.
    pub fn rounded<S: Scalar>(&self) -> SlicedMatrix<'a, S> {
        let mut values = zeros(self.values.len()).expect("memory");
        each_row(&mut values, &|k, value| {
            *value = cast(self.values[k]);
            0
        });
        let (starts, columns, others) = (self.starts.clone(), self.columns.clone(), self.others.clone());
        SlicedMatrix { size: self.size, starts, values, columns, rest: self.rest.clone().rounded(), others }
    }

    /// Number of rows.
    pub fn size(&self) -> usize {
        self.size
    }

    fn by_rows(rest: Csr<'a, T, u32>) -> Self {
        let count = rest.rows() / LANES;
        let others = (0..=count).map(|slice| (slice * LANES) as u32).collect();
        Self { size: rest.rows(), starts: vec![0; count + 1], values: vec![], columns: vec![], rest, others }
    }

    /// `None` if most rows are in no slice.
    fn in_slices(a: &Csr<'_, T, u32>) -> Option<Self> {
        let count = a.rows() / LANES;
        let mut starts = vec![0; count + 1];
        let alike = each_row(&mut starts[1..], &|slice, length| {
            *length = if are_alike(a, slice * LANES) { LANES * a.range(slice * LANES).len() } else { 0 };
            usize::from(*length > 0)
        });
        if 2 * alike < count || alike == 0 {
            return None;
        }
        let mut others = vec![0; count + 1];
        for slice in 0..count {
            others[slice + 1] = others[slice] + if starts[slice + 1] == 0 { LANES as u32 } else { 0 };
            starts[slice + 1] += starts[slice];
        }
        let tasks: Vec<usize> = (0..count).step_by(TASK / LANES).chain([count]).map(|slice| starts[slice]).collect();
        let of_columns: Vec<usize> = tasks.iter().map(|start| start / LANES).collect();
        let mut values = zeros(starts[count]).expect("memory");
        let mut columns = zeros(starts[count] / LANES).expect("memory");
        let out =
            (Ragged { values: &mut values, starts: &tasks }, Ragged { values: &mut columns, starts: &of_columns });
        each_chunk((tasks.len() - 1, 2), out, &|task, (values, columns)| {
            let slices = task * TASK / LANES..((task + 1) * TASK / LANES).min(count);
            for slice in slices.filter(|slice| starts[*slice] < starts[slice + 1]) {
                let own = starts[slice] - tasks[task]..starts[slice + 1] - tasks[task];
                let of_first = &a.parts().1[a.range(slice * LANES)];
                columns.values[own.start / LANES..own.end / LANES].copy_from_slice(of_first);
                fill_slice(a, slice * LANES, &mut values.values[own]);
            }
        });
        let unlike = (0..count).filter(|slice| starts[*slice] == starts[slice + 1]);
        let rows = unlike.flat_map(|slice| slice * LANES..(slice + 1) * LANES).chain(count * LANES..a.rows());
        Some(Self { size: a.rows(), rest: rows_of(a, rows), starts, values, columns, others })
    }

    /// r = rhs − A·x.
    pub fn residual(&self, x: &[T], rhs: &[T], r: &mut [T]) {
        each_chunk((r.len().div_ceil(TASK), 2), RowsOf(r, TASK), &|task, r| {
            for (k, r) in r.0.chunks_mut(LANES).enumerate() {
                let own = self.residuals(task * TASK + k * LANES, x, rhs);
                match <&mut [T; LANES]>::try_from(&mut *r) {
                    Ok(r) => *r = own,
                    Err(_) => r.copy_from_slice(&own[..r.len()]),
                }
            }
        });
    }

    /// The elements of rhs − A·x in a slice, which begins with this one; 0 behind the last.
    #[inline]
    pub fn residuals(&self, first: usize, x: &[T], rhs: &[T]) -> [T; LANES] {
        let count = LANES.min(self.size - first);
        let (mut r, sums) = ([T::ZERO; LANES], self.sums(first / LANES, count, x));
        r.iter_mut().zip(&rhs[first..first + count]).zip(sums).for_each(|((r, rhs), sum)| *r = *rhs - sum);
        r
    }

    /// The entries of the rows of a slice: their columns in its first row, and the values of all rows entry by entry. `None` where rows differ.
    #[inline]
    pub fn slice(&self, slice: usize) -> Option<(&[u32], &[T])> {
        let own = self.starts.get(slice..slice + 2).map_or(0..0, |own| own[0]..own[1]);
        (!own.is_empty()).then(|| (&self.columns[own.start / LANES..own.end / LANES], &self.values[own]))
    }

    /// The values at the mirrored places of an entry of each row of a slice: the k-th, which is in this column in its first row. `None` unless
    /// the rows of these places are in slices, too, and have such entries.
    #[inline]
    pub fn mirrored(&self, slice: usize, k: usize, column: usize) -> Option<[T; LANES]> {
        let (first, other, lane) = (slice * LANES, column / LANES, column % LANES);
        let values_at = |slice: usize, column: usize| {
            let (columns, values) = self.slice(slice)?;
            // As far from the end of its row as k is from the beginning of its own, where it is in a stencil.
            let likely = columns.len().wrapping_sub(k + 1);
            let is_there = |at: &u32| *at as usize == column;
            let at =
                if columns.get(likely).is_some_and(is_there) { likely } else { columns.iter().position(is_there)? };
            Some(&values[at * LANES..(at + 1) * LANES])
        };
        let mut both = [T::ZERO; 2 * LANES];
        both[..LANES].copy_from_slice(values_at(other, first.checked_sub(lane)?)?);
        if lane > 0 {
            both[LANES..].copy_from_slice(values_at(other + 1, first - lane + LANES)?);
        }
        let (mut found, both) = ([T::ZERO; LANES], &both[lane..lane + LANES]);
        found.copy_from_slice(both);
        Some(found)
    }

    /// Σⱼ aᵢⱼ·xⱼ of the first rows of a slice, in the order of entries.
    #[inline]
    pub fn sums(&self, slice: usize, count: usize, x: &[T]) -> [T; LANES] {
        let mut sums = [T::ZERO; LANES];
        let Some((columns, values)) = self.slice(slice) else {
            let first = self.others[slice] as usize;
            (0..count).for_each(|k| sums[k] = self.rest.row_times(first + k, x));
            return sums;
        };
        for (column, values) in columns.iter().zip(values.chunks_exact(LANES)) {
            let x = &x[*column as usize..*column as usize + LANES];
            for k in 0..LANES {
                sums[k] += values[k] * x[k];
            }
        }
        sums
    }
}

/// The values of alike rows, entry by entry those of all.
fn fill_slice<T: Scalar>(a: &Csr<'_, T, u32>, first: usize, own: &mut [T]) {
    let (length, values) = (own.len() / LANES, a.parts().2);
    let rows: [&[T]; LANES] = core::array::from_fn(|lane| &values[a.range(first + lane)][..length]);
    for (k, own) in own.chunks_exact_mut(LANES).enumerate() {
        own.iter_mut().zip(rows).for_each(|(to, row)| *to = row[k]);
    }
}

/// Some rows of a matrix.
fn rows_of<T: Scalar>(a: &Csr<'_, T, u32>, rows: impl Iterator<Item = usize>) -> Csr<'static, T, u32> {
    let (mut pointers, mut columns, mut values) = (vec![0], vec![], vec![]);
    for i in rows {
        columns.extend_from_slice(&a.parts().1[a.range(i)]);
        values.extend_from_slice(&a.parts().2[a.range(i)]);
        pointers.push(columns.len() as u32);
    }
    Csr::from_rows(a.columns(), pointers, columns, values)
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
            let sliced = SlicedMatrix::new(&a);
            assert!(columns < 40 || sliced.values.len() > a.entries() / 2, "{columns}");
            sliced.residual(&x, &x, &mut r);
            assert!((0..r.len()).all(|i| r[i] == x[i] - a.row_times(i, &x)), "{columns} x {rows}");
        }
    }
}
