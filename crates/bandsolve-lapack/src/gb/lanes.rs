//! Solves for several right-hand sides side by side: every element of the factors is read once for all of them.

use super::Lu;
use crate::number::{Number, divide};
use crate::raw::Columns;
use crate::wide::{self, Job};
use bandsolve::{Op, Scalar};

/// Right-hand sides in a row.
const LANES: usize = 8;
/// Fewer are solved one by one.
const FEW: usize = 3;

type Row<T> = [T; LANES];

/// Solves op(A)·x = rhs for all columns, in groups, as long as a group is worth it; returns how many are solved.
pub(super) fn solve<T: Number>(lu: &Lu<'_, T>, op: Op, rhs: &mut Columns<'_, T>) -> usize {
    let mut rows: Vec<Row<T>> = Vec::new();
    if rhs.count() < FEW || rows.try_reserve_exact(rhs.rows()).is_err() {
        return 0;
    }
    rows.resize(rhs.rows(), [T::ZERO; LANES]);
    let mut done = 0;
    while rhs.count() - done >= FEW {
        let here = (rhs.count() - done).min(LANES);
        for c in 0..here {
            rows.iter_mut().zip(rhs.column(done + c)).for_each(|(row, x)| row[c] = *x);
        }
        match op {
            Op::Plain => wide::run(Plain { lu, x: &mut rows }),
            Op::Transpose => wide::run(Transposed { lu, x: &mut rows, conj: |v| v }),
            Op::ConjTranspose => wide::run(Transposed { lu, x: &mut rows, conj: Scalar::conj }),
        }
        for c in 0..here {
            rows.iter().zip(rhs.column(done + c)).for_each(|(row, x)| *x = row[c]);
        }
        done += here;
    }
    done
}

struct Plain<'a, 'f, T> {
    lu: &'a Lu<'f, T>,
    x: &'a mut [Row<T>],
}

impl<T: Number> Job for Plain<'_, '_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let (lu, x) = (self.lu, self.x);
        let n = lu.n();
        if lu.factors.band.lower > 0 {
            for j in 0..n {
                x.swap(j, lu.pivot[j] as usize - 1);
                let (xj, below) = x[j..].split_first_mut().expect("j < n");
                subtract_multiples(below, xj, lu.l(j));
            }
        }
        for j in (0..n).rev() {
            let (first, above, diagonal) = lu.u(j);
            let (left, right) = x.split_at_mut(j);
            for c in 0..LANES {
                right[0][c] = divide(right[0][c], diagonal);
            }
            subtract_multiples(&mut left[first..], &right[0], above);
        }
    }
}

struct Transposed<'a, 'f, T, C> {
    lu: &'a Lu<'f, T>,
    x: &'a mut [Row<T>],
    conj: C,
}

impl<T: Number, C: Fn(T) -> T> Job for Transposed<'_, '_, T, C> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let (lu, x, conj) = (self.lu, self.x, self.conj);
        let n = lu.n();
        for j in 0..n {
            let (first, above, diagonal) = lu.u(j);
            let (left, right) = x.split_at_mut(j);
            subtract_dots(&mut right[0], above, &left[first..], &conj);
            for c in 0..LANES {
                right[0][c] = divide(right[0][c], conj(diagonal));
            }
        }
        if lu.factors.band.lower == 0 {
            return;
        }
        for j in (0..n).rev() {
            let (xj, below) = x[j..].split_first_mut().expect("j < n");
            subtract_dots(xj, lu.l(j), below, &conj);
            x.swap(j, lu.pivot[j] as usize - 1);
        }
    }
}

/// y_i ← y_i − v_i·x
#[inline(always)]
fn subtract_multiples<T: Scalar>(y: &mut [Row<T>], x: &Row<T>, v: &[T]) {
    for (y, v) in y.iter_mut().zip(v) {
        for c in 0..LANES {
            y[c] -= *v * x[c];
        }
    }
}

/// x ← x − Σ conj(v_i)·y_i
#[inline(always)]
fn subtract_dots<T: Scalar>(x: &mut Row<T>, v: &[T], y: &[Row<T>], conj: &impl Fn(T) -> T) {
    let mut sum = *x;
    for (y, v) in y.iter().zip(v) {
        let v = conj(*v);
        for c in 0..LANES {
            sum[c] -= v * y[c];
        }
    }
    *x = sum;
}
