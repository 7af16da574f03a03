//! Sums over pieces and processes, in a fixed order, and orthogonalization.

use super::piece::{PIECE, ZERO, dot, each_piece, norm_squared, products, rows_of, subtract_combination};
use crate::operator::Communicator;
use crate::tuning::PARALLEL_PIECES;
use bandsolve_kernel::spread::{RowsOf, Split, each_chunk};
use bandsolve_kernel::{Complex64, RealScalar, Scalar, Simd};
use core::ops::Range;
use dyn_stack::{PodStack, StackReq};

/// Maximum number of sums that the functions of [`Reducer`] need for themselves.
const REDUCER_SUMS: usize = 2;

/// Memory and communicator for sums over vectors of one length.
///
/// # Examples
/// ```
/// use bandsolve::{Alone, vectors::Reducer, dyn_stack::{PodBuffer, PodStack}};
/// let mut memory = PodBuffer::new(Reducer::scratch(2, 1));
/// let (mut reducer, _rest) = Reducer::new(&Alone, 2, 1, PodStack::new(&mut memory));
/// assert_eq!(reducer.norm(&[3.0, 4.0]), 5.0);
/// assert_eq!(reducer.dot(&[3.0, 4.0], &[1.0, 1.0]).re, 7.0);
/// ```
pub struct Reducer<'s> {
    communicator: &'s dyn Communicator,
    n: usize,
    partial: &'s mut [Complex64],
}

impl<'s> Reducer<'s> {
    /// Scratch for vectors of length n and at most `sums` sums at a time.
    pub fn scratch(n: usize, sums: usize) -> StackReq {
        // The first call reads an environment variable, which allocates memory. It must not happen in an iteration.
        _ = Simd::detect();
        StackReq::new::<Complex64>(n.div_ceil(PIECE).saturating_mul(sums.max(REDUCER_SUMS)))
    }

    /// A reducer for vectors of length n on this process and at most `sums` sums at a time, and the rest of the stack.
    pub fn new(
        communicator: &'s dyn Communicator,
        n: usize,
        sums: usize,
        stack: &'s mut PodStack,
    ) -> (Self, &'s mut PodStack) {
        let (partial, stack) = stack.make_raw::<Complex64>(n.div_ceil(PIECE) * sums.max(REDUCER_SUMS));
        (Self { communicator, n, partial }, stack)
    }

    /// Add up numbers over all processes. All processes must call this function.
    pub fn sum(&self, values: &mut [f64]) {
        self.communicator.sum(values);
    }

    /// Number of rows on the processes before this one. All processes must call this function.
    pub fn rows_before(&self) -> usize {
        self.communicator.rows_before(self.n)
    }

    /// Compute sums over all pieces and all processes.
    ///
    /// For each piece, `work` gets the rows, the part of `out` that belongs to them, and partial sums that start at 0. `out` is split
    /// into parts of [`PIECE`] elements. All processes must call this function.
    pub fn sums<S: Split>(
        &mut self,
        out: S,
        sums: &mut [Complex64],
        work: &(impl Fn(Range<usize>, S, &mut [Complex64]) + Sync),
    ) {
        let (n, wide, pieces) = (self.n, sums.len(), self.n.div_ceil(PIECE));
        let partial = &mut self.partial[..pieces * wide];
        each_chunk((pieces, PARALLEL_PIECES), (RowsOf(partial, wide), out), &|piece, (RowsOf(partial, _), out)| {
            partial.fill(ZERO);
            work(rows_of(piece, n), out, partial);
        });
        sums.fill(ZERO);
        if wide > 0 {
            for partial in self.partial[..pieces * wide].chunks_exact(wide) {
                sums.iter_mut().zip(partial).for_each(|(sum, partial)| *sum += *partial);
            }
        }
        self.communicator.sum(bytemuck::cast_slice_mut(sums));
    }

    /// The inner product aᴴ·b.
    pub fn dot<T: Scalar>(&mut self, a: &[T], b: &[T]) -> Complex64 {
        let mut sum = [ZERO];
        self.sums((), &mut sum, &|rows, (), sum| sum[0] += dot(&a[rows.clone()], &b[rows]));
        sum[0]
    }

    /// The norm ‖a‖₂; NaN if an element is not finite. It overflows only if the norm itself exceeds the largest number.
    pub fn norm<T: Scalar>(&mut self, a: &[T]) -> f64 {
        let mut sum = [ZERO];
        self.sums((), &mut sum, &|rows, (), sum| sum[0].re += norm_squared(&a[rows]));
        self.root(sum[0].re, a)
    }

    /// The norm ‖a‖₂ from the sum of squares. If this sum may have overflowed or underflowed, the norm is computed from a again.
    pub fn root<T: Scalar>(&mut self, squared: f64, a: &[T]) -> f64 {
        if (1e-200..1e200).contains(&squared) { squared.sqrt() } else { self.norm_of_extremes(a) }
    }

    /// The norm ‖a‖₂ of elements whose squares may overflow or underflow. The sum of squares is the same on all processes, so all
    /// processes call this function or none does.
    #[cold]
    fn norm_of_extremes<T: Scalar>(&mut self, a: &[T]) -> f64 {
        // Communicators have no maximum. The sum of moduli is at most n times as large. If it overflows although the norm does not, the
        // sum of the scaled moduli takes its place.
        let mut sums = [ZERO; 2];
        self.sums((), &mut sums, &|rows, (), sums| {
            let moduli = || a[rows.clone()].iter().map(|a| Scalar::abs(*a).to_f64());
            sums[0].re += moduli().sum::<f64>();
            sums[1].re += moduli().map(|modulus| modulus * 1e-10).sum::<f64>();
        });
        let scale = if sums[0].re.is_finite() { sums[0].re } else { sums[1].re };
        if !scale.is_finite() {
            return f64::NAN;
        }
        if scale == 0.0 {
            return 0.0;
        }
        let mut sum = [ZERO];
        self.sums((), &mut sum, &|rows, (), sum| {
            sum[0].re += a[rows].iter().map(|a| (Scalar::abs(*a).to_f64() / scale).powi(2)).sum::<f64>();
        });
        scale * sum[0].re.sqrt()
    }

    /// Make w orthogonal to the first `h.len()` vectors of an orthonormal basis V and return ‖w‖₂.
    ///
    /// Applies classical Gram–Schmidt twice: h = Uᴴ·w, w ← w − V·h. `again` is scratch of the length of h. V and U are equal, or U = B·V if V is orthonormal in
    /// the inner product xᴴ·B·y. Both have a vector every `stride` elements.
    ///
    /// # Cost
    /// Reads the basis three times, or V and U twice.
    pub fn orthogonalize<T: Scalar>(
        &mut self,
        ([basis, dual], stride): ([&[T]; 2], usize),
        w: &mut [T],
        h: &mut [Complex64],
        again: &mut [Complex64],
    ) -> f64 {
        let part = &*w;
        self.sums((), h, &|rows, (), sums| products((dual, stride), &rows, &part[rows.clone()], sums));
        let first = &*h;
        self.sums(RowsOf(&mut *w, PIECE), again, &|rows, w, sums| {
            subtract_combination(w.0, (basis, stride), &rows, first);
            products((dual, stride), &rows, w.0, sums);
        });
        let second = &*again;
        let mut squared = [ZERO];
        self.sums(RowsOf(&mut *w, PIECE), &mut squared, &|rows, w, sums| {
            subtract_combination(w.0, (basis, stride), &rows, second);
            sums[0].re += norm_squared(w.0);
        });
        h.iter_mut().zip(&*again).for_each(|(h, again)| *h += *again);
        self.root(squared[0].re, w)
    }

    /// Compute y ← y − V·c with the first `c.len()` vectors of a basis V, which has a vector every `stride` elements.
    pub fn subtract_combination<T: Scalar>(&mut self, y: &mut [T], (basis, stride): (&[T], usize), c: &[Complex64]) {
        each_piece(self.n, RowsOf(y, PIECE), &|rows, y| subtract_combination(y.0, (basis, stride), &rows, c));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operator::Alone;
    use crate::vectors::piece::PIECE;
    use dyn_stack::PodBuffer;

    fn with_reducer<R>(n: usize, sums: usize, work: impl FnOnce(&mut Reducer<'_>) -> R) -> R {
        let mut memory = PodBuffer::new(Reducer::scratch(n, sums));
        work(&mut Reducer::new(&Alone, n, sums, PodStack::new(&mut memory)).0)
    }

    #[test]
    fn norms_of_extremes() {
        for (n, value) in [(0, 0.0_f64), (1, 1e300), (3, -1e-300), (5000, 1e155), (2, 5e-324), (3, 1e308)] {
            let norm: f64 = with_reducer(n, 1, |reducer| reducer.norm(&vec![value; n]));
            let expected = value.abs() * (n as f64).sqrt();
            assert!((norm - expected).abs() <= 1e-12 * expected, "{n} {value}: {norm}");
        }
        for bad in [f64::NAN, f64::INFINITY] {
            assert!(with_reducer(3, 1, |reducer| reducer.norm(&[1.0, bad, 0.0])).is_nan());
        }
        assert!((with_reducer(2, 1, |reducer| reducer.norm(&[3e38_f32, 3e38])) - 3e38 * 2_f64.sqrt()).abs() < 1e32);
    }

    #[test]
    fn orthogonal_to_the_basis() {
        let n = 3 * PIECE + 5;
        let value =
            |i: usize, k: usize| Complex64::new((i * (k + 3)) as f64 % 7.0 - 3.0, (i * (k + 2)) as f64 % 5.0 - 2.0);
        let mut basis: Vec<Complex64> = vec![];
        let (mut h, mut again) = ([ZERO; 4], [ZERO; 4]);
        with_reducer(n, 4, |reducer| {
            for k in 0..4 {
                let mut w: Vec<_> = (0..n).map(|i| value(i, k)).collect();
                let before = w.clone();
                let norm = reducer.orthogonalize(([&basis, &basis], n), &mut w, &mut h[..k], &mut again[..k]);
                // w + V·h is what it was.
                let back: Vec<Complex64> = h[..k].iter().map(|h| -h).collect();
                reducer.subtract_combination(&mut w, (&basis, n), &back);
                assert!(w.iter().zip(&before).all(|(w, before)| (w - before).norm() < 1e-11));
                reducer.orthogonalize(([&basis, &basis], n), &mut w, &mut h[..k], &mut again[..k]);
                basis.extend(w.iter().map(|w| w / norm));
            }
            for (a, va) in basis.chunks(n).enumerate() {
                for (b, vb) in basis.chunks(n).enumerate() {
                    let expected = if a == b { 1.0 } else { 0.0 };
                    assert!((reducer.dot(va, vb) - expected).norm() < 1e-14, "{a} {b}");
                }
            }
        });
    }
}
