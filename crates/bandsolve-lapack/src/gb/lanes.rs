//! Solve for several right-hand sides at the same time. Every element of the factors is read once per group.

use super::{GbLu, GbSolve, Unknown};
use crate::number::{LapackScalar, divide};
use crate::raw::RawColumns;
use crate::wide;
use bandsolve::{Op, Scalar};
use bandsolve_kernel::memory::zeros;

/// Number of right-hand sides per group.
const LANES: usize = 8;
/// Fewer right-hand sides are solved one by one.
const FEW: usize = 3;

/// Solve op(A)·x = rhs in groups of columns, as long as enough columns are left. Returns the number of solved columns.
pub(super) fn solve<T: LapackScalar>(lu: &GbLu<'_, T>, op: Op, rhs: &mut RawColumns<'_, T>) -> usize {
    if rhs.count() < FEW {
        return 0;
    }
    let Some(mut rows) = zeros::<[T; LANES]>(rhs.rows()) else { return 0 };
    let mut done = 0;
    while rhs.count() - done >= FEW {
        let here = (rhs.count() - done).min(LANES);
        for c in 0..here {
            rows.iter_mut().zip(rhs.column(done + c)).for_each(|(row, x)| row[c] = *x);
        }
        wide::run(GbSolve { lu, op, x: &mut rows });
        for c in 0..here {
            rows.iter().zip(rhs.column(done + c)).for_each(|(row, x)| *x = row[c]);
        }
        done += here;
    }
    done
}

impl<T: Scalar> Unknown<T> for [T; LANES] {
    #[inline(always)]
    fn divide_by(&mut self, d: T) {
        for c in 0..LANES {
            self[c] = divide(self[c], d);
        }
    }

    #[inline(always)]
    fn subtract_multiples(self, v: &[T], y: &mut [Self]) {
        for (y, v) in y.iter_mut().zip(v) {
            for c in 0..LANES {
                y[c] -= *v * self[c];
            }
        }
    }

    #[inline(always)]
    fn subtract_dot(&mut self, v: &[T], y: &[Self], conj: impl Fn(T) -> T) {
        let mut sum = *self;
        for (y, v) in y.iter().zip(v) {
            let v = conj(*v);
            for c in 0..LANES {
                sum[c] -= v * y[c];
            }
        }
        *self = sum;
    }
}
