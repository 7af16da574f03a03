//! Operations on one piece of a vector, and the work on all pieces.

use super::numbers::{narrow, widen};
use crate::tuning::{BASIS_VECTORS, PARALLEL_PIECES};
use bandsolve_kernel::dense::Product;
use bandsolve_kernel::spread::{Split, each_chunk};
use bandsolve_kernel::view::{View, ViewMut};
use bandsolve_kernel::{Complex64, RealScalar, Scalar, Simd};
use core::ops::Range;

pub(super) const ZERO: Complex64 = Complex64::new(0.0, 0.0);

/// Number of elements per piece. The pieces of twenty basis vectors fit into the second-level cache.
///
/// # Examples
/// ```
/// use bandsolve::vectors::{PIECE, each_piece};
/// each_piece(3 * PIECE, (), &|rows, ()| assert_eq!(rows.len(), PIECE));
/// ```
pub const PIECE: usize = 1 << 10;

/// The rows of one piece of a vector of length n.
pub(super) fn rows_of(piece: usize, n: usize) -> Range<usize> {
    piece * PIECE..((piece + 1) * PIECE).min(n)
}

/// Call `work` for each piece of a vector of length n, on all threads. `out` is split into parts of [`PIECE`] elements.
///
/// # Examples
/// ```
/// use bandsolve::vectors::each_piece;
/// use std::sync::atomic::{AtomicUsize, Ordering};
/// let rows_seen = AtomicUsize::new(0);
/// each_piece(5000, (), &|rows, ()| _ = rows_seen.fetch_add(rows.len(), Ordering::Relaxed));
/// assert_eq!(rows_seen.into_inner(), 5000);
/// ```
pub fn each_piece<S: Split>(n: usize, out: S, work: &(impl Fn(Range<usize>, S) + Sync)) {
    each_chunk((n.div_ceil(PIECE), PARALLEL_PIECES), out, &|piece, out| work(rows_of(piece, n), out));
}

/// Number of independent partial sums, so that an addition need not wait for the previous one.
const PARTIAL_SUMS: usize = 8;

/// The inner product aᴴ·b of one piece.
///
/// # Examples
/// ```
/// use bandsolve::{Complex64, vectors::dot};
/// let i = Complex64::new(0.0, 1.0);
/// assert_eq!(dot(&[i], &[i]), Complex64::new(1.0, 0.0));
/// ```
pub fn dot<T: Scalar>(a: &[T], b: &[T]) -> Complex64 {
    if by_products::<T>() && a.len() == b.len() {
        let mut sum = [ZERO];
        products((a, a.len()), &(0..a.len()), b, &mut sum);
        return sum[0];
    }
    let (mut re, mut im) = ([0.0; PARTIAL_SUMS], [0.0; PARTIAL_SUMS]);
    let mut add = |a: &[T], b: &[T]| {
        for k in 0..a.len().min(b.len()) {
            re[k] += a[k].re().to_f64() * b[k].re().to_f64();
            if T::COMPLEX {
                re[k] += a[k].im().to_f64() * b[k].im().to_f64();
                im[k] += a[k].re().to_f64() * b[k].im().to_f64() - a[k].im().to_f64() * b[k].re().to_f64();
            }
        }
    };
    let (a_whole, b_whole) = (a.chunks_exact(PARTIAL_SUMS), b.chunks_exact(PARTIAL_SUMS));
    let (a_rest, b_rest) = (a_whole.remainder(), b_whole.remainder());
    for (a, b) in a_whole.zip(b_whole) {
        let (a, b): (&[T; PARTIAL_SUMS], &[T; PARTIAL_SUMS]) =
            (a.try_into().expect("as long"), b.try_into().expect("as long"));
        add(a, b);
    }
    add(a_rest, b_rest);
    Complex64::new(re.iter().sum(), im.iter().sum())
}

/// The square ‖a‖₂² of the norm of one piece.
///
/// # Examples
/// ```
/// assert_eq!(bandsolve::vectors::norm_squared(&[3.0, 4.0]), 25.0);
/// ```
pub fn norm_squared<T: Scalar>(a: &[T]) -> f64 {
    dot(a, a).re
}

/// Compute y ← y − c·v for one piece.
///
/// # Examples
/// ```
/// use bandsolve::{Complex64, vectors::subtract};
/// let mut y = [5.0, 7.0];
/// subtract(&mut y, Complex64::new(2.0, 0.0), &[1.0, 3.0]);
/// assert_eq!(y, [3.0, 1.0]);
/// ```
pub fn subtract<T: Scalar>(y: &mut [T], c: Complex64, v: &[T]) {
    let c: T = narrow(c);
    y.iter_mut().zip(v).for_each(|(y, v)| *y -= c * *v);
}

/// Whether matrix products can form the sums. Products in single precision are less precise, and complex ones do not conjugate.
const fn by_products<T: Scalar>() -> bool {
    !T::COMPLEX && size_of::<T>() == size_of::<f64>()
}

/// The parts of vₖᴴ·w in some rows, one vector of length n per sum.
pub(super) fn products<T: Scalar>((basis, n): (&[T], usize), rows: &Range<usize>, w: &[T], sums: &mut [Complex64]) {
    for (block, sums) in sums.chunks_mut(BASIS_VECTORS).enumerate() {
        let basis = &basis[block * BASIS_VECTORS * n + rows.start..];
        if by_products::<T>() {
            let (mut c, count) = ([T::ZERO; BASIS_VECTORS], sums.len());
            let (v, w) = (View::with_stride(basis, rows.len(), count, n), View::new(w, rows.len(), 1));
            let into = ViewMut::new(&mut c[..count], count, 1);
            Product::replace(into, v.transpose(), w).run_on(Simd::detect());
            sums.iter_mut().zip(c).for_each(|(sum, c)| *sum = widen(c));
        } else {
            sums.iter_mut().enumerate().for_each(|(k, sum)| *sum = dot(&basis[k * n..][..rows.len()], w));
        }
    }
}

/// Compute y ← y − V·c in some rows.
pub(super) fn subtract_combination<T: Scalar>(
    y: &mut [T],
    (basis, n): (&[T], usize),
    rows: &Range<usize>,
    c: &[Complex64],
) {
    for (block, c) in c.chunks(BASIS_VECTORS).enumerate() {
        let basis = &basis[block * BASIS_VECTORS * n + rows.start..];
        if by_products::<T>() {
            let (mut narrowed, count) = ([T::ZERO; BASIS_VECTORS], c.len());
            narrowed.iter_mut().zip(c).for_each(|(to, c)| *to = narrow(*c));
            let (v, c) = (View::with_stride(basis, rows.len(), count, n), View::new(&narrowed[..count], count, 1));
            let into = ViewMut::new(&mut *y, rows.len(), 1);
            Product::subtract(into, v, c).run_on(Simd::detect());
        } else {
            c.iter().enumerate().for_each(|(k, c)| subtract(y, *c, &basis[k * n..][..rows.len()]));
        }
    }
}
