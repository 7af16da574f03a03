//! Matrices of stencils, whose rows have the pattern of their neighbors: products with less than one index per entry.

use crate::csr::{Csr, cast};
use crate::rows::{Ragged, SMALL_TASK as TASK};
use crate::tuning::{SHARED_VALUES_MAX_ENTRIES, SLICE_AHEAD};
use bandsolve::memory::{allocate, collected, copied, reserved, zeroed};
use bandsolve::{Result, Scalar, Simd};
use bandsolve_kernel::prefetch::prefetch;
use bandsolve_kernel::spread::{RowsOf, chunks, each_chunk};
use bandsolve_kernel::{Job, Lanes, dispatch};

/// Number of rows of a slice.
pub(crate) const LANES: usize = 8;
/// Number of slices per task.
const SLICES: usize = TASK / LANES;

/// A matrix in slices. The [`LANES`] rows of a slice have their entries at the same distances from the diagonal, so that the columns of the first row
/// suffice. Rows that are in no slice are stored in CSR format.
///
/// The products are bit for bit those of the CSR matrix.
#[derive(Debug)]
pub(crate) struct SlicedMatrix<'a, T: Scalar> {
    size: usize,
    /// The first column of each slice, and the end of the last. A slice whose rows differ has no columns.
    starts: Vec<usize>,
    /// The column of each entry of the first row.
    columns: Vec<u32>,
    /// The first value of each slice.
    blocks: Vec<usize>,
    /// For each entry, the values of all rows. Slices with the same values share them, if they are near each other.
    values: Vec<T>,
    /// The rows that are in no slice.
    rest: Csr<'a, T, u32>,
    /// The first of these rows at each slice or after it, and their number before the last rows, which are too few for a slice.
    others: Vec<u32>,
}

impl<'a, T: Scalar> SlicedMatrix<'a, T> {
    /// Use slices if most rows are in one, otherwise the matrix as it is.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](bandsolve::Error::OutOfMemory), here and below.
    pub fn new(a: &'a Csr<'_, T, u32>) -> Result<Self> {
        match Self::in_slices(a)? {
            Some(sliced) => Ok(sliced),
            None => Self::by_rows(a.view()),
        }
    }

    /// Convert to another precision, with the lifetime of the matrix `a`.
    pub fn rounded<'b, S: Scalar>(&self, a: &Csr<'b, T, u32>) -> Result<SlicedMatrix<'b, S>> {
        let mut values = zeroed(self.values.len())?;
        each_chunk((values.len().div_ceil(TASK), 2), RowsOf(&mut values, TASK), &|task, part| {
            part.0.iter_mut().zip(&self.values[task * TASK..]).for_each(|(to, value)| *to = cast(*value));
        });
        let rest = if self.values.is_empty() {
            a.places()?.with_values(a.rounded_values()?)
        } else {
            let (pointers, columns, _) = self.rest.parts();
            let (pointers, columns) = (copied(pointers)?, copied(columns)?);
            Csr::from_rows(self.rest.columns(), pointers, columns, self.rest.rounded_values()?)
        };
        let (starts, columns) = (copied(&self.starts)?, copied(&self.columns)?);
        let (blocks, others) = (copied(&self.blocks)?, copied(&self.others)?);
        Ok(SlicedMatrix { size: self.size, starts, columns, blocks, values, rest, others })
    }

    /// Number of rows.
    pub fn size(&self) -> usize {
        self.size
    }

    fn by_rows(rest: Csr<'a, T, u32>) -> Result<Self> {
        let count = rest.rows() / LANES;
        let others = collected((0..=count).map(|slice| (slice * LANES) as u32))?;
        let (starts, columns, blocks, values) = (allocate(count + 1, 0)?, vec![], allocate(count, 0)?, vec![]);
        Ok(Self { size: rest.rows(), starts, columns, blocks, values, rest, others })
    }

    /// `None` if most rows are in no slice.
    pub fn in_slices(a: &Csr<'_, T, u32>) -> Result<Option<SlicedMatrix<'static, T>>> {
        let count = a.rows() / LANES;
        let (mut starts, mut models) = (allocate(count + 1, 0)?, allocate(count, 0)?);
        let tasks = count.div_ceil(SLICES);
        let out = (RowsOf(&mut starts[1..], SLICES), RowsOf(&mut models, SLICES));
        let alike = chunks(
            (tasks, 2),
            out,
            &|task, (lengths, models)| find_slices(a, task * SLICES, lengths.0, models.0),
            (0, &|a, b| a + b),
        );
        if 2 * alike < count || alike == 0 {
            return Ok(None);
        }
        let (mut others, mut blocks, mut filled) = (allocate(count + 1, 0)?, allocate(count, 0)?, 0);
        let mut of_tasks = reserved(tasks + 1)?;
        for slice in 0..count {
            if slice % SLICES == 0 {
                of_tasks.push(filled);
            }
            let length = starts[slice + 1];
            others[slice + 1] = others[slice] + if length == 0 { LANES as u32 } else { 0 };
            starts[slice + 1] += starts[slice];
            blocks[slice] = if models[slice] == slice { filled } else { blocks[models[slice]] };
            filled += if models[slice] == slice { LANES * length } else { 0 };
        }
        of_tasks.push(filled);
        let of_columns: Vec<usize> = collected((0..=tasks).map(|task| starts[(task * SLICES).min(count)]))?;
        let (mut values, mut columns) = (zeroed(filled)?, zeroed(starts[count])?);
        let out =
            (Ragged { values: &mut values, starts: &of_tasks }, Ragged { values: &mut columns, starts: &of_columns });
        each_chunk((tasks, 2), out, &|task, (values, columns)| {
            let slices = task * SLICES..((task + 1) * SLICES).min(count);
            for slice in slices.filter(|slice| starts[*slice] < starts[slice + 1]) {
                let columns_of_slice = starts[slice]..starts[slice + 1];
                let of_first = &a.parts().1[a.range(slice * LANES)];
                columns.values[columns_of_slice.start - of_columns[task]..columns_of_slice.end - of_columns[task]]
                    .copy_from_slice(of_first);
                if models[slice] == slice {
                    let first = blocks[slice] - of_tasks[task];
                    fill_slice(a, slice * LANES, &mut values.values[first..first + LANES * columns_of_slice.len()]);
                }
            }
        });
        let unlike = (0..count).filter(|slice| starts[*slice] == starts[slice + 1]);
        let rows = unlike.flat_map(|slice| slice * LANES..(slice + 1) * LANES).chain(count * LANES..a.rows());
        let rest = rows_of(a, rows)?;
        Ok(Some(SlicedMatrix { size: a.rows(), rest, starts, columns, blocks, values, others }))
    }

    /// r = rhs − A·x.
    pub fn residual(&self, x: &[T], rhs: &[T], r: &mut [T]) {
        self.each_sum(x, r, &|i, sum, r| *r = rhs[i] - sum);
    }

    /// Call `then(i, Σⱼ aᵢⱼ·xⱼ, yᵢ)` for every element of y.
    pub fn each_sum(&self, x: &[T], y: &mut [T], then: &(impl Fn(usize, T, &mut T) + Sync)) {
        each_chunk((y.len().div_ceil(TASK), 2), RowsOf(y, TASK), &|task, y| {
            dispatch::<T, _>(Simd::detect(), SliceSums { a: self, first: task * TASK, x, y: y.0, then });
        });
    }

    /// Size of the memory in bytes, without the rows that are in no slice.
    pub fn bytes(&self) -> usize {
        let (of_slices, columns) = (size_of_val(&self.starts[..]) + size_of_val(&self.blocks[..]), &self.columns[..]);
        of_slices + size_of_val(columns) + size_of_val(&self.values[..]) + size_of_val(&self.others[..])
    }

    /// The columns of the first row of a slice, and for each entry the values of all rows. `None` if the rows differ.
    #[inline(always)]
    pub fn slice(&self, slice: usize) -> Option<(&[u32], &[T])> {
        let entries = self.starts.get(slice..slice + 2).map_or(0..0, |entries| entries[0]..entries[1]);
        if entries.is_empty() {
            return None;
        }
        let first = self.blocks[slice];
        Some((&self.columns[entries.clone()], &self.values[first..first + LANES * entries.len()]))
    }

    /// For each row of a slice, the value of the mirrored entry of entry k. In the first row, entry k is in this column. `None` if a mirrored entry is
    /// missing, or its row is in no slice.
    #[inline(always)]
    pub fn mirrored(&self, slice: usize, k: usize, column: usize) -> Option<[T; LANES]> {
        let (first, other, lane) = (slice * LANES, column / LANES, column % LANES);
        let values_at = |slice: usize, column: usize| {
            let (columns, values) = self.slice(slice)?;
            // In a stencil, the mirrored entry is as far from the end of its row as k is from the beginning.
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
        let (mut mirrored, both) = ([T::ZERO; LANES], &both[lane..lane + LANES]);
        mirrored.copy_from_slice(both);
        Some(mirrored)
    }

    /// Σⱼ aᵢⱼ·xⱼ for the first rows of a slice, in the order of the entries.
    #[inline(always)]
    pub fn sums(&self, slice: usize, count: usize, x: &[T]) -> [T; LANES] {
        let mut sums = [T::ZERO; LANES];
        let Some((columns, values)) = self.slice(slice) else {
            let first = self.others[slice] as usize;
            (0..count).for_each(|k| sums[k] = self.rest.row_times(first + k, x));
            return sums;
        };
        for (column, values) in columns.iter().zip(values.as_chunks::<LANES>().0) {
            prefetch(values.as_ptr().wrapping_add(SLICE_AHEAD));
            let x = x[*column as usize..].first_chunk::<LANES>().expect("columns of all lanes");
            sums = core::array::from_fn(|k| sums[k] + values[k] * x[k]);
        }
        sums
    }
}

/// The products of the rows of a slice with a vector, and the function that receives them.
struct SliceSums<'a, T: Scalar, F> {
    a: &'a SlicedMatrix<'a, T>,
    first: usize,
    x: &'a [T],
    y: &'a mut [T],
    then: &'a F,
}

impl<T: Scalar, F: Fn(usize, T, &mut T)> Job<T> for SliceSums<'_, T, F> {
    type Output = ();

    #[inline(always)]
    fn run<V: Lanes<Real = T::Real>>(self) {
        for (k, y) in self.y.chunks_mut(LANES).enumerate() {
            let first = self.first + k * LANES;
            let sums = self.a.sums(first / LANES, y.len(), self.x);
            for (lane, (y, sum)) in y.iter_mut().zip(sums).enumerate() {
                (self.then)(first + lane, sum, y);
            }
        }
    }
}

/// For each slice from this one on, the number of entries per row, or 0 if its rows differ. Also the slice with the same values: the last slice of the
/// same length with separate values, or the slice itself. Returns the number of slices.
fn find_slices<T: Scalar>(a: &Csr<'_, T, u32>, first: usize, lengths: &mut [usize], models: &mut [usize]) -> usize {
    let (mut alike, mut last) = (0, [None; SHARED_VALUES_MAX_ENTRIES]);
    let values = |slice: usize| {
        let entries = a.range(slice * LANES).start..a.range(slice * LANES + LANES - 1).end;
        bytemuck::cast_slice::<T, u8>(&a.parts().2[entries])
    };
    for (k, (entries, model)) in lengths.iter_mut().zip(models).enumerate() {
        let slice = first + k;
        (*entries, *model) = (0, slice);
        let length = a.range(slice * LANES).len();
        if length == 0 || !are_alike(a, slice * LANES) {
            continue;
        }
        alike += 1;
        *entries = length;
        if let Some(last) = last.get_mut(*entries) {
            match last {
                Some(last) if values(*last) == values(slice) => *model = *last,
                _ => *last = Some(slice),
            }
        }
    }
    alike
}

/// The values of rows with the same pattern: for each entry, the values of all rows.
fn fill_slice<T: Scalar>(a: &Csr<'_, T, u32>, first: usize, out: &mut [T]) {
    let (length, values) = (out.len() / LANES, a.parts().2);
    let rows: [&[T]; LANES] = core::array::from_fn(|lane| &values[a.range(first + lane)][..length]);
    for (k, out) in out.chunks_exact_mut(LANES).enumerate() {
        out.iter_mut().zip(rows).for_each(|(to, row)| *to = row[k]);
    }
}

/// Some rows of a matrix.
fn rows_of<T: Scalar>(a: &Csr<'_, T, u32>, rows: impl Iterator<Item = usize> + Clone) -> Result<Csr<'static, T, u32>> {
    let entries = rows.clone().map(|i| a.range(i).len()).sum();
    let (mut columns, mut values) = (reserved(entries)?, reserved(entries)?);
    let mut pointers = reserved(rows.clone().count() + 1)?;
    pointers.push(0);
    for i in rows {
        columns.extend_from_slice(&a.parts().1[a.range(i)]);
        values.extend_from_slice(&a.parts().2[a.range(i)]);
        pointers.push(columns.len() as u32);
    }
    Ok(Csr::from_rows(a.columns(), pointers, columns, values))
}

/// Whether the rows of a slice have their entries at the same distances from the diagonal.
fn are_alike<T: Scalar>(rows: &Csr<'_, T, u32>, first: usize) -> bool {
    let columns = |i: usize| &rows.parts().1[rows.range(i)];
    let of_first = columns(first);
    (1..LANES).all(|lane| {
        let others = columns(first + lane);
        others.len() == of_first.len()
            && of_first.iter().zip(others).all(|(of_first, others)| of_first + lane as u32 == *others)
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
            let sliced = SlicedMatrix::new(&a).unwrap();
            assert!(columns < 40 || LANES * sliced.columns.len() > a.entries() / 2, "{columns}");
            assert!(columns < 40 || 4 * sliced.values.len() < a.entries(), "{columns}: shared");
            sliced.residual(&x, &x, &mut r);
            assert!((0..r.len()).all(|i| r[i] == x[i] - a.row_times(i, &x)), "{columns} x {rows}");
        }
    }
}
