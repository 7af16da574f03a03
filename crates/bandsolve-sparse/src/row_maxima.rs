//! The largest entry of every row and its column: generalised products with ⊕ = max.
//!
//! # Source
//! C. J. Klein, dissertation, Heidelberg 2022, section 3.6: max1, max1-with-col, arg-max1, arg-max2.

use crate::reduce::RowReduction;
use crate::tuning::TWO_PASSES_MIN_ENTRIES;
use crate::two_largest::{ROWS, SHORTEST, places_of_two_largest};
use bandsolve::RealScalar;

/// The largest entry of every row, maxⱼ aᵢⱼ. Ignores NaN. `None` for a row without a number.
///
/// # Examples
/// ```
/// use bandsolve_sparse::{Csr, RowMax, reduce_rows};
/// let a = Csr::<f64>::from_triplets(2, 2, &[(0, 0, -4.0), (0, 1, -3.0)])?;
/// let mut largest = [None; 2];
/// reduce_rows(&a, &RowMax, &mut largest);
/// assert_eq!(largest, [Some(-3.0), None]);
/// # Ok::<(), bandsolve::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RowMax;

/// The largest product of column and entry in every row, maxⱼ j·aᵢⱼ. Columns count from 0. `None` for a row without a number.
///
/// # Examples
/// ```
/// use bandsolve_sparse::{Csr, RowMaxWithColumn, reduce_rows};
/// let a = Csr::<f64>::from_triplets(1, 3, &[(0, 1, 4.0), (0, 2, 3.0)])?;
/// let mut largest = [None];
/// reduce_rows(&a, &RowMaxWithColumn, &mut largest);
/// assert_eq!(largest, [Some(6.0)]);
/// # Ok::<(), bandsolve::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RowMaxWithColumn;

/// The column of the largest entry of every row, or the first of several. `None` for a row without a number.
///
/// # Examples
/// ```
/// use bandsolve_sparse::{Csr, RowArgMax, reduce_rows};
/// let a = Csr::<f64>::from_triplets(1, 3, &[(0, 2, 4.0), (0, 1, 5.0)])?;
/// let mut column = [None];
/// reduce_rows(&a, &RowArgMax, &mut column);
/// assert_eq!(column, [Some(1)]);
/// # Ok::<(), bandsolve::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RowArgMax;

/// The columns of the two largest entries of every row, the largest first. `None` if there are fewer.
///
/// # Examples
/// ```
/// use bandsolve_sparse::{Csr, RowArgMax2, reduce_rows};
/// let a = Csr::<f64>::from_triplets(1, 3, &[(0, 2, 4.0), (0, 1, 5.0), (0, 0, 1.0)])?;
/// let mut columns = [[None; 2]];
/// reduce_rows(&a, &RowArgMax2, &mut columns);
/// assert_eq!(columns, [[Some(1), Some(2)]]);
/// # Ok::<(), bandsolve::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RowArgMax2;

/// The largest value so far and its column. NaN if there is none yet.
type Best<T> = (T, u32);

/// The larger of two numbers in one instruction, or the second if the first is NaN.
#[inline(always)]
fn larger<T: RealScalar>(value: T, of: T) -> T {
    if value > of { value } else { of }
}

/// Whether a value replaces the largest so far.
#[inline(always)]
fn is_larger<T: RealScalar>(value: T, best: T) -> bool {
    value > best || best.is_nan()
}

/// The largest `weighted(k, values[k])` of many values, without NaN. −∞ if there is none. Eight independent maxima, since each maximum waits for the
/// previous one.
#[inline(never)]
fn largest_of<T: RealScalar>(values: &[T], weighted: impl Fn(usize, T) -> T) -> T {
    const SIDE: usize = 8;
    let mut most = [-T::INFINITY; SIDE];
    for (chunk, values) in values.chunks_exact(SIDE).enumerate() {
        for k in 0..SIDE {
            most[k] = larger(weighted(SIDE * chunk + k, values[k]), most[k]);
        }
    }
    let largest = most.iter().fold(-T::INFINITY, |largest, value| larger(*value, largest));
    let rest = values.len() / SIDE * SIDE..values.len();
    rest.fold(largest, |largest, k| larger(weighted(k, values[k]), largest))
}

#[inline(always)]
fn no_number<T: RealScalar>() -> T {
    T::from_f64(f64::NAN)
}

impl<T: RealScalar> RowReduction<T> for RowMax {
    type Sum = T;
    type Output = Option<T>;
    const ALIKE: usize = ROWS;

    #[inline(always)]
    fn start(&self, _: usize) -> T {
        no_number()
    }

    #[inline(always)]
    fn add(&self, sum: &mut T, _: usize, _: usize, value: T) {
        *sum = if is_larger(value, *sum) { value } else { *sum };
    }

    #[inline(always)]
    fn add_entries(&self, sum: &mut T, row: usize, _: impl Fn(usize) -> usize, values: &[T]) {
        let mut largest = -T::INFINITY;
        if values.len() >= TWO_PASSES_MIN_ENTRIES {
            largest = largest_of(values, |_, value| value);
        } else {
            for value in values {
                largest = larger(*value, largest);
            }
        }
        if largest > -T::INFINITY {
            return self.add(sum, row, 0, largest);
        }
        // −∞ is a number, NaN is none.
        for value in values {
            self.add(sum, row, 0, *value);
        }
    }

    #[inline(always)]
    fn takes_alike(&self, length: usize) -> bool {
        <RowArgMax as RowReduction<T>>::takes_alike(&RowArgMax, length)
    }

    #[inline(always)]
    fn reduce_alike(
        &self,
        length: usize,
        column: impl Fn(usize) -> usize,
        values: &[T],
        mut give: impl FnMut(usize, T),
    ) {
        RowArgMax.reduce_alike(length, column, values, |k, best: Best<T>| give(k, best.0));
    }

    #[inline]
    fn join(&self, sum: &mut T, row: usize, later: T) {
        self.add(sum, row, 0, later);
    }

    #[inline(always)]
    fn finish(&self, _: usize, sum: T, output: &mut Option<T>) -> usize {
        *output = (!sum.is_nan()).then_some(sum);
        0
    }
}

impl<T: RealScalar> RowReduction<T> for RowMaxWithColumn {
    type Sum = T;
    type Output = Option<T>;
    const ALIKE: usize = ROWS;

    #[inline(always)]
    fn start(&self, _: usize) -> T {
        no_number()
    }

    #[inline(always)]
    fn add(&self, sum: &mut T, row: usize, column: usize, value: T) {
        RowMax.add(sum, row, column, T::from_f64(column as f64) * value);
    }

    #[inline(always)]
    fn add_entries(&self, sum: &mut T, row: usize, column: impl Fn(usize) -> usize, values: &[T]) {
        let weighted = |k: usize, value: T| T::from_f64(column(k) as u32 as f64) * value;
        let mut largest = -T::INFINITY;
        if values.len() >= TWO_PASSES_MIN_ENTRIES {
            largest = largest_of(values, weighted);
        } else {
            for k in 0..values.len() {
                largest = larger(weighted(k, values[k]), largest);
            }
        }
        if largest > -T::INFINITY {
            return RowMax.add(sum, row, 0, largest);
        }
        for k in 0..values.len() {
            self.add(sum, row, column(k), values[k]);
        }
    }

    #[inline(always)]
    fn takes_alike(&self, length: usize) -> bool {
        length == 1
    }

    #[inline(always)]
    fn reduce_alike(&self, _: usize, column: impl Fn(usize) -> usize, values: &[T], mut give: impl FnMut(usize, T)) {
        let values: &[T; ROWS] = values.try_into().expect("rows of one entry");
        for (k, value) in values.iter().enumerate() {
            give(k, T::from_f64(column(k) as u32 as f64) * *value);
        }
    }

    #[inline]
    fn join(&self, sum: &mut T, row: usize, later: T) {
        RowMax.join(sum, row, later);
    }

    #[inline(always)]
    fn finish(&self, row: usize, sum: T, output: &mut Option<T>) -> usize {
        RowMax.finish(row, sum, output)
    }
}

impl<T: RealScalar> RowReduction<T> for RowArgMax {
    type Sum = Best<T>;
    type Output = Option<u32>;
    const ALIKE: usize = ROWS;

    #[inline(always)]
    fn start(&self, _: usize) -> Best<T> {
        (no_number(), 0)
    }

    #[inline(always)]
    fn add(&self, sum: &mut Best<T>, _: usize, column: usize, value: T) {
        *sum = if is_larger(value, sum.0) { (value, column as u32) } else { *sum };
    }

    #[inline(always)]
    fn add_entries(&self, sum: &mut Best<T>, row: usize, column: impl Fn(usize) -> usize, values: &[T]) {
        let (mut largest, mut place) = (-T::INFINITY, usize::MAX);
        for (k, value) in values.iter().enumerate() {
            place = if *value > largest { k } else { place };
            largest = larger(*value, largest);
        }
        if place < values.len() {
            return self.add(sum, row, column(place), largest);
        }
        // −∞ is a number, NaN is none.
        for k in 0..values.len() {
            self.add(sum, row, column(k), values[k]);
        }
    }

    #[inline(always)]
    fn takes_alike(&self, length: usize) -> bool {
        <RowArgMax2 as RowReduction<T>>::takes_alike(&RowArgMax2, length)
    }

    #[inline(always)]
    fn reduce_alike(
        &self,
        length: usize,
        column: impl Fn(usize) -> usize,
        values: &[T],
        mut give: impl FnMut(usize, Best<T>),
    ) {
        if length == 1 {
            let values: &[T; ROWS] = values.try_into().expect("rows of one entry");
            for (k, value) in values.iter().enumerate() {
                give(k, (*value, column(k) as u32));
            }
            return;
        }
        let [places, _] = places_of_two_largest(values, length);
        for k in 0..ROWS {
            let entries = k * length..(k + 1) * length;
            if places[k] >= T::ZERO {
                let entry = entries.start + (places[k].to_f64() as u32 as usize).min(length - 1);
                give(k, (values[entry], column(entry) as u32));
                continue;
            }
            // −∞ is a number, NaN is none.
            let mut sum = (no_number(), 0);
            entries.for_each(|entry| self.add(&mut sum, 0, column(entry), values[entry]));
            give(k, sum);
        }
    }

    #[inline]
    fn join(&self, sum: &mut Best<T>, row: usize, (value, column): Best<T>) {
        self.add(sum, row, column as usize, value);
    }

    #[inline(always)]
    fn finish(&self, _: usize, (value, column): Best<T>, output: &mut Option<u32>) -> usize {
        *output = (!value.is_nan()).then_some(column);
        0
    }
}

impl<T: RealScalar> RowReduction<T> for RowArgMax2 {
    type Sum = [Best<T>; 2];
    type Output = [Option<u32>; 2];
    const ALIKE: usize = ROWS;

    #[inline(always)]
    fn start(&self, row: usize) -> [Best<T>; 2] {
        [RowArgMax.start(row); 2]
    }

    #[inline(always)]
    fn add(&self, [first, second]: &mut [Best<T>; 2], row: usize, column: usize, value: T) {
        // The smaller of the new entry and the old first.
        let other = if is_larger(value, first.0) { *first } else { (value, column as u32) };
        let displaced = is_larger(value, first.0);
        RowArgMax.add(first, row, column, value);
        *second = if displaced || is_larger(other.0, second.0) { other } else { *second };
    }

    #[inline(always)]
    fn add_entries(&self, sum: &mut [Best<T>; 2], row: usize, column: impl Fn(usize) -> usize, values: &[T]) {
        if let [value] = values {
            return self.add(sum, row, column(0), *value);
        }
        // Most parts of a long row contain none of the two largest. As long as there is no second (NaN), any part may.
        if values.len() >= TWO_PASSES_MIN_ENTRIES && largest_of(values, |_, value| value) <= sum[1].0 {
            return;
        }
        let [mut first, mut second] = [-T::INFINITY; 2];
        let [mut place, mut other] = [usize::MAX; 2];
        for (k, value) in values.iter().enumerate() {
            // Treat NaN as −∞.
            let value = larger(*value, -T::INFINITY);
            let (displaces, rises) = (value > first, value > second);
            // The smaller of the new entry and the old first, which is at least as large as the second.
            let smaller = if value < first { value } else { first };
            let behind = if displaces { place } else { k };
            place = if displaces { k } else { place };
            first = larger(value, first);
            other = if rises { behind } else { other };
            second = larger(smaller, second);
        }
        if other < values.len() {
            self.add(sum, row, column(place), first);
            return self.add(sum, row, column(other), second);
        }
        // −∞ is a number, NaN is none.
        for k in 0..values.len() {
            self.add(sum, row, column(k), values[k]);
        }
    }

    #[inline(always)]
    fn takes_alike(&self, length: usize) -> bool {
        length == 1 || length >= SHORTEST
    }

    #[inline(always)]
    fn reduce_alike(
        &self,
        length: usize,
        column: impl Fn(usize) -> usize,
        values: &[T],
        mut give: impl FnMut(usize, [Best<T>; 2]),
    ) {
        if length == 1 {
            return RowArgMax
                .reduce_alike(length, column, values, |k, best: Best<T>| give(k, [best, (no_number(), 0)]));
        }
        let places = places_of_two_largest(values, length);
        for k in 0..ROWS {
            let entries = k * length..(k + 1) * length;
            if places[1][k] >= T::ZERO {
                let best = |place: T| {
                    let entry = entries.start + (place.to_f64() as u32 as usize).min(length - 1);
                    (values[entry], column(entry) as u32)
                };
                give(k, [best(places[0][k]), best(places[1][k])]);
                continue;
            }
            // −∞ is a number, NaN is none.
            let mut sum = [(no_number(), 0); 2];
            entries.for_each(|entry| self.add(&mut sum, 0, column(entry), values[entry]));
            give(k, sum);
        }
    }

    #[inline]
    fn join(&self, sum: &mut [Best<T>; 2], row: usize, later: [Best<T>; 2]) {
        later.into_iter().for_each(|(value, column)| self.add(sum, row, column as usize, value));
    }

    #[inline(always)]
    fn finish(&self, row: usize, sum: [Best<T>; 2], output: &mut [Option<u32>; 2]) -> usize {
        let [first, second] = output;
        RowArgMax.finish(row, sum[0], first) + RowArgMax.finish(row, sum[1], second)
    }
}
