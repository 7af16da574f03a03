//! The largest entry of every row and where it is: generalised products with ⊕ = max.
//!
//! # Source
//! C. J. Klein, dissertation, Heidelberg 2022, section 3.6: max1, max1-with-col, arg-max1, arg-max2.

use crate::reduce::RowReduction;

/// maxⱼ aᵢⱼ of every row; `None` of a row without numbers. NaN is no number.
///
/// # Example
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

/// maxⱼ j·aᵢⱼ of every row, columns counted from 0; `None` of a row without numbers.
///
/// # Example
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

/// The column of the largest entry of every row, the first of several; `None` of a row without numbers.
///
/// # Example
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

/// The columns of the two largest entries of every row, the largest first; `None` where there are fewer.
///
/// # Example
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

/// The largest value so far and its column.
type Best<T> = Option<(T, u32)>;

#[inline]
fn is_number<T: PartialOrd>(value: T) -> bool {
    value.partial_cmp(&value).is_some()
}

/// Whether a value is larger than what there is. NaN never is.
#[inline]
fn is_larger<T: PartialOrd + Copy>(value: T, best: &Best<T>) -> bool {
    best.map_or(is_number(value), |(other, _)| value > other)
}

impl<T: PartialOrd + Copy + Send> RowReduction<T> for RowMax {
    type Sum = Option<T>;
    type Output = Option<T>;

    fn start(&self, _: usize) -> Option<T> {
        None
    }

    #[inline]
    fn add(&self, sum: &mut Option<T>, _: usize, _: usize, value: T) {
        if sum.map_or(is_number(value), |sum| value > sum) {
            *sum = Some(value);
        }
    }

    fn join(&self, sum: &mut Option<T>, row: usize, later: Option<T>) {
        if let Some(value) = later {
            self.add(sum, row, 0, value);
        }
    }

    #[inline]
    fn finish(&self, _: usize, sum: Option<T>, output: &mut Option<T>) -> usize {
        *output = sum;
        0
    }
}

macro_rules! max_with_column {
    ($($t:ty),*) => {$(impl RowReduction<$t> for RowMaxWithColumn {
        type Sum = Option<$t>;
        type Output = Option<$t>;

        fn start(&self, _: usize) -> Option<$t> {
            None
        }

        #[inline]
        fn add(&self, sum: &mut Option<$t>, row: usize, column: usize, value: $t) {
            RowMax.add(sum, row, column, column as $t * value);
        }

        fn join(&self, sum: &mut Option<$t>, row: usize, later: Option<$t>) {
            RowMax.join(sum, row, later);
        }

        #[inline]
        fn finish(&self, row: usize, sum: Option<$t>, output: &mut Option<$t>) -> usize {
            RowMax.finish(row, sum, output)
        }
    })*};
}
max_with_column!(f32, f64);

impl<T: PartialOrd + Copy + Send> RowReduction<T> for RowArgMax {
    type Sum = Best<T>;
    type Output = Option<u32>;

    fn start(&self, _: usize) -> Best<T> {
        None
    }

    #[inline]
    fn add(&self, sum: &mut Best<T>, _: usize, column: usize, value: T) {
        if is_larger(value, sum) {
            *sum = Some((value, column as u32));
        }
    }

    fn join(&self, sum: &mut Best<T>, row: usize, later: Best<T>) {
        if let Some((value, column)) = later {
            self.add(sum, row, column as usize, value);
        }
    }

    #[inline]
    fn finish(&self, _: usize, sum: Best<T>, output: &mut Option<u32>) -> usize {
        *output = sum.map(|(_, column)| column);
        0
    }
}

impl<T: PartialOrd + Copy + Send> RowReduction<T> for RowArgMax2 {
    type Sum = [Best<T>; 2];
    type Output = [Option<u32>; 2];

    fn start(&self, _: usize) -> [Best<T>; 2] {
        [None; 2]
    }

    #[inline]
    fn add(&self, [first, second]: &mut [Best<T>; 2], _: usize, column: usize, value: T) {
        if is_larger(value, first) {
            (*second, *first) = (*first, Some((value, column as u32)));
        } else if is_larger(value, second) {
            *second = Some((value, column as u32));
        }
    }

    fn join(&self, sum: &mut [Best<T>; 2], row: usize, later: [Best<T>; 2]) {
        for (value, column) in later.into_iter().flatten() {
            self.add(sum, row, column as usize, value);
        }
    }

    #[inline]
    fn finish(&self, _: usize, sum: [Best<T>; 2], output: &mut [Option<u32>; 2]) -> usize {
        *output = sum.map(|best| best.map(|(_, column)| column));
        0
    }
}
