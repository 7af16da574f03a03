//! The steps of an LU factorization of one dense block with partial pivoting.

use super::Job;
use crate::job::kernel;
use crate::number::{Lanes, Scalar};
use crate::scalar::reciprocal;

/// A step of the factorization.
pub enum Step<'a, T> {
    Eliminate(Eliminate<'a, T>),
    EliminatedRows(EliminatedRows<'a, T>),
    Invert(Invert<'a, T>),
}

kernel!(StepKernel: Step<'a> => ());

impl<T: Scalar> Job<T> for Step<'_, T> {
    type Output = ();
    #[inline(always)]
    fn run<V: Lanes<Real = T::Real>>(self) {
        match self {
            Step::Eliminate(step) => step.run(),
            Step::EliminatedRows(step) => step.run(),
            Step::Invert(step) => step.run(),
        }
    }
}

/// Eliminate columns of length n: lᵢₖ = aᵢₖ / uₖₖ, aᵢⱼ ← aᵢⱼ − lᵢₖ·uₖⱼ.
///
/// The pivot of column k is chosen from the rows `first + k` to n − 1. The rows `first + k` and
/// `first + k + exchange[k]` are then exchanged, in these columns only.
pub struct Eliminate<'a, T> {
    pub columns: &'a mut [T],
    pub n: usize,
    pub first: usize,
    pub exchange: &'a mut [usize],
}

impl<T: Scalar> Eliminate<'_, T> {
    #[inline(always)]
    fn run(self) {
        let Self { columns, n, first, exchange } = self;
        let width = exchange.len();
        for k in 0..width {
            let row = first + k;
            let q = pivot(&columns[k * n + row..(k + 1) * n]);
            exchange[k] = q;
            for c in 0..width {
                columns.swap(c * n + row, c * n + row + q);
            }
            let (left, right) = columns.split_at_mut((k + 1) * n);
            let (u, multipliers) = left[k * n + row..].split_at_mut(1);
            let inverse = reciprocal(u[0]);
            for i in 0..multipliers.len() {
                multipliers[i] *= inverse;
            }
            for c in 0..width - k - 1 {
                let column = &mut right[c * n + row..(c + 1) * n];
                let (u, below) = column.split_at_mut(1);
                subtract_multiple(below, u[0], multipliers);
            }
        }
    }
}

/// U = L⁻¹·A for the rows of the eliminated columns, in the columns `rest`.
pub struct EliminatedRows<'a, T> {
    pub columns: &'a [T],
    pub n: usize,
    pub first: usize,
    pub rest: &'a mut [T],
}

impl<T: Scalar> EliminatedRows<'_, T> {
    #[inline(always)]
    fn run(self) {
        let Self { columns, n, first, rest } = self;
        let width = columns.len() / n;
        for c in 0..rest.len() / n {
            let top = &mut rest[c * n + first..][..width];
            for k in 0..width {
                let (u, below) = top[k..].split_at_mut(1);
                subtract_multiple(below, u[0], &columns[k * n + first + k + 1..k * n + first + width]);
            }
        }
    }
}

/// Compute the inverses of the w × w triangles that begin at `lu[0]`.
pub struct Invert<'a, T> {
    pub lu: &'a [T],
    pub n: usize,
    pub w: usize,
    pub lower: &'a mut [T],
    pub upper: &'a mut [T],
}

impl<T: Scalar> Invert<'_, T> {
    #[inline(always)]
    fn run(self) {
        let Self { lu, n, w, lower, upper } = self;
        for c in 0..w {
            let x = &mut lower[c * w..(c + 1) * w];
            x[c] = T::ONE;
            for k in c..w {
                let (x, below) = x[k..].split_at_mut(1);
                subtract_multiple(below, x[0], &lu[k * n + k + 1..k * n + w]);
            }
            let x = &mut upper[c * w..(c + 1) * w];
            x[c] = T::ONE;
            for k in (0..c + 1).rev() {
                let (above, x) = x.split_at_mut(k);
                x[0] *= reciprocal(lu[k * n + k]);
                subtract_multiple(above, x[0], &lu[k * n..k * n + k]);
            }
        }
    }
}

/// y ← y − c·v for vectors of the same length.
#[inline(always)]
fn subtract_multiple<T: Scalar>(y: &mut [T], c: T, v: &[T]) {
    let y = &mut y[..v.len()];
    for i in 0..v.len() {
        y[i] -= c * v[i];
    }
}

/// The index of the entry with the largest |re| + |im|.
#[inline(always)]
fn pivot<T: Scalar>(column: &[T]) -> usize {
    let (mut best, mut at) = (column[0].abs1(), 0);
    for i in 1..column.len() {
        let size = column[i].abs1();
        if size > best {
            (best, at) = (size, i);
        }
    }
    at
}
