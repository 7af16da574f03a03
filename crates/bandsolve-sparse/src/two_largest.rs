//! The two largest entries of rows of the same length, with one row per lane.

use bandsolve::{RealScalar, Simd};
use bandsolve_kernel::{Job, Lanes, dispatch};

/// Number of rows at a time: a multiple of all numbers of lanes.
pub(crate) const ROWS: usize = 16;
/// Minimum length of a row.
pub(crate) const SHORTEST: usize = 4;

/// For [`ROWS`] rows of `length` entries, one after the other: the places of the largest and the second largest entry in each row. Ties go to the first.
/// The second place is −1 if fewer than two entries are numbers above −∞.
pub(crate) fn places_of_two_largest<T: RealScalar>(values: &[T], length: usize) -> [[T; ROWS]; 2] {
    assert!(length >= SHORTEST && values.len() == ROWS * length, "rows of the same length");
    dispatch::<T, _>(Simd::detect(), TwoLargest { values, length })
}

struct TwoLargest<'a, T> {
    values: &'a [T],
    length: usize,
}

impl<T: RealScalar> Job<T> for TwoLargest<'_, T> {
    type Output = [[T; ROWS]; 2];

    #[inline(always)]
    fn run<V: Lanes<Real = T>>(self) -> [[T; ROWS]; 2] {
        let mut places = [[T::ZERO; ROWS]; 2];
        for row in (0..ROWS).step_by(V::W) {
            // SAFETY: `values` has `ROWS` rows of `length` entries, and `row` + W ≤ ROWS.
            unsafe {
                let largest = two_largest::<T, V>(self.values.as_ptr().add(row * self.length), self.length);
                largest[0].store(places[0].as_mut_ptr().add(row));
                largest[1].store(places[1].as_mut_ptr().add(row));
            }
        }
        places
    }
}

/// The places in W rows.
///
/// # Safety
/// `rows` points to W · `length` readable numbers, and `length` is at least 4.
#[inline(always)]
unsafe fn two_largest<T: RealScalar, V: Lanes<Real = T>>(rows: *const T, length: usize) -> [V; 2] {
    let (nothing, nowhere) = (V::splat(-T::INFINITY), V::splat(-T::ONE));
    let mut best = TwoLargestLanes { values: [nothing; 2], places: [nowhere; 2], at: V::splat(T::ZERO) };
    let whole = length / 4 * 4;
    for k in (0..whole).step_by(4) {
        // SAFETY: the rows have at least four columns from k on.
        let columns = unsafe { V::load_columns(rows.add(k), length) };
        for k in 0..4 {
            best.take(columns[k]);
        }
    }
    // Load the last four columns, and skip those that were already processed.
    let remainder = length - whole;
    if remainder > 0 {
        // SAFETY: the last four of at least four columns.
        let columns = unsafe { V::load_columns(rows.add(length - 4), length) };
        for k in 1..4 {
            if k + remainder >= 4 {
                best.take(columns[k]);
            }
        }
    }
    best.places
}

/// The two largest of each lane so far.
struct TwoLargestLanes<V> {
    values: [V; 2],
    places: [V; 2],
    /// The place of the next entry.
    at: V,
}

impl<T: RealScalar, V: Lanes<Real = T>> TwoLargestLanes<V> {
    /// Process the next entry of each lane. Ignores NaN.
    #[inline(always)]
    fn take(&mut self, value: V) {
        let ([first, second], [place, other]) = (self.values, self.places);
        let (displaces, rises) = (value.gt(first), value.gt(second));
        // The smaller of the new entry and the old first.
        let behind = V::select(displaces, place, self.at);
        self.places = [V::select(displaces, self.at, place), V::select(rises, behind, other)];
        self.values = [value.max(first), first.min(value).max(second)];
        self.at = self.at + V::splat(T::ONE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bandsolve_gallery::Random;

    /// Rows with few different numbers, infinities and NaN, on every instruction set, compared with sorting.
    fn places_are_those_of_sorted_rows<T: RealScalar>() {
        let mut random = Random::new(8);
        let some = [-T::INFINITY, -T::ONE, -T::ZERO, T::ZERO, T::ONE, T::INFINITY, T::from_f64(f64::NAN)];
        for length in SHORTEST..=21 {
            let values: Vec<T> = (0..ROWS * length).map(|_| some[random.below(some.len())]).collect();
            for simd in Simd::ALL.iter().copied().filter(|simd| simd.is_available()) {
                let got = dispatch::<T, _>(simd, TwoLargest { values: &values, length });
                for (row, row_values) in values.chunks(length).enumerate() {
                    let mut order: Vec<usize> = (0..length).filter(|k| row_values[*k] > -T::INFINITY).collect();
                    order.sort_by(|a, b| row_values[*b].partial_cmp(&row_values[*a]).unwrap());
                    let expected = [0, 1].map(|k| order.get(k).map_or(-1.0, |place| *place as f64));
                    assert_eq!(got[1][row].to_f64(), expected[1], "{} entries, {simd:?}, {row_values:?}", length);
                    assert_eq!(got[0][row].to_f64(), expected[0], "{} entries, {simd:?}, {row_values:?}", length);
                }
            }
        }
    }

    #[test]
    fn double_precision() {
        places_are_those_of_sorted_rows::<f64>();
    }

    #[test]
    fn single_precision() {
        places_are_those_of_sorted_rows::<f32>();
    }
}
