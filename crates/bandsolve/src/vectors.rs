//! Parallel operations on long vectors, for Krylov methods: sums in a fixed order, and orthonormal bases.
//!
//! Threads share the pieces of a vector, which have a fixed length. Each piece gives partial sums in double precision, which are added
//! in the order of the pieces. The result is therefore the same, bit for bit, for any number of threads. It can differ between
//! instruction sets.

use crate::error::{Error, Result};
use crate::operator::Communicator;
use crate::tuning::{BASIS_VECTORS, PARALLEL_PIECES};
use bandsolve_kernel::dense::Product;
use bandsolve_kernel::scalar::peak;
use bandsolve_kernel::spread::{RowsOf, Split, each_chunk};
use bandsolve_kernel::view::{View, ViewMut};
use bandsolve_kernel::{Complex64, RealScalar, Scalar, Simd};
use core::ops::Range;
use dyn_stack::{PodStack, StackReq};

/// Number of elements per piece. The pieces of twenty basis vectors fit into the second-level cache.
///
/// # Examples
/// ```
/// use bandsolve::vectors::{PIECE, each_piece};
/// each_piece(3 * PIECE, (), &|rows, ()| assert_eq!(rows.len(), PIECE));
/// ```
pub const PIECE: usize = 1 << 10;

/// Maximum number of sums that the functions of [`Reducer`] need for themselves.
const REDUCER_SUMS: usize = 2;

const ZERO: Complex64 = Complex64::new(0.0, 0.0);

/// Stands for the method in errors of systems that several processes share.
const DISTRIBUTED: &str = "distributed";

/// Total number of rows over all processes, or an error on all processes if one process has an error.
///
/// All processes must call this function, each with its own number of rows and its own result. No process can then wait for one that
/// has failed.
///
/// # Errors
/// The error in `result`. If only other processes have an error, an error of the same kind that names another process.
///
/// # Examples
/// ```
/// use bandsolve::{Alone, Error, vectors::agree};
/// assert_eq!(agree(&Alone, 5, Ok(())), Ok(5));
/// assert_eq!(agree(&Alone, 5, Err(Error::Interrupted)), Err(Error::Interrupted));
/// ```
pub fn agree(communicator: &dyn Communicator, rows: usize, result: Result<()>) -> Result<usize> {
    let (kind, numbers) = match &result {
        Ok(()) => (None, [0; 2]),
        Err(Error::Shape { expected, got, .. }) => (Some(0), [*expected, *got]),
        Err(Error::NotFinite { index, .. }) => (Some(1), [*index, 0]),
        Err(Error::OutOfMemory { bytes }) => (Some(2), [*bytes, 0]),
        Err(Error::Interrupted) => (Some(3), [0; 2]),
        Err(_) => (Some(4), [0; 2]),
    };
    let is = |of| if kind == Some(of) { 1.0 } else { 0.0 };
    let numbers = numbers.map(|number| number as f64);
    let mut sums = [rows as f64, is(0), is(1), is(2), is(3), is(4), numbers[0], numbers[1]];
    communicator.sum(&mut sums);
    result?;
    let [rows, shape, not_finite, memory, interrupted, other, first, second] = sums;
    // If several processes have an error, only the mean of their numbers is known.
    let failed = shape + not_finite + memory + interrupted + other;
    let [first, second] = [first, second].map(|number| (number / failed.max(1.0)) as usize);
    let what = "a vector of another process";
    match () {
        () if interrupted > 0.0 => Err(Error::Interrupted),
        () if memory > 0.0 => Err(Error::OutOfMemory { bytes: first }),
        () if not_finite > 0.0 => Err(Error::NotFinite { array: what, index: first }),
        () if shape > 0.0 => Err(Error::Shape { what, expected: first, got: second }),
        () if other > 0.0 => {
            Err(Error::Unsupported { method: DISTRIBUTED, what: "this system: see the error of another process" })
        }
        () => Ok(rows as usize),
    }
}

/// The value of this process if no process has an error, otherwise an error on all processes. All processes must call this function.
///
/// # Errors
/// Those of [`agree`].
///
/// # Examples
/// ```
/// use bandsolve::{Alone, vectors::agree_on};
/// assert_eq!(agree_on(&Alone, Ok("made")), Ok("made"));
/// ```
pub fn agree_on<V>(communicator: &dyn Communicator, result: Result<V>) -> Result<V> {
    let (result, error) = match result {
        Ok(result) => (Some(result), Ok(())),
        Err(error) => (None, Err(error)),
    };
    agree(communicator, 0, error)?;
    Ok(result.expect("no process has an error"))
}

/// Check that all processes pass the same number, such as a [`digest`] of their options. All processes must call this function.
///
/// # Errors
/// [`Error::Unsupported`] on all processes if the numbers differ.
///
/// # Examples
/// ```
/// use bandsolve::{Alone, vectors::{agree_alike, digest}};
/// assert_eq!(agree_alike(&Alone, digest(&("gmres", 50))), Ok(()));
/// ```
pub fn agree_alike(communicator: &dyn Communicator, options: u64) -> Result<()> {
    // Sums of 16-bit parts and of their squares are exact. By the Cauchy–Schwarz inequality, p·Σv² = (Σv)² only if all v are equal.
    let parts = [0, 16, 32, 48].map(|shift| ((options >> shift) & 0xffff) as f64);
    let mut sums = [0.0; 9];
    sums[0] = 1.0;
    sums[1..5].copy_from_slice(&parts);
    sums[5..].copy_from_slice(&parts.map(|part| part * part));
    communicator.sum(&mut sums);
    let sums = sums.map(|sum| sum as u128);
    let same = (1..5).all(|k| sums[0] * sums[k + 4] == sums[k] * sums[k]);
    let different = || Error::invalid("options", "differ between the processes", "the same options on each process");
    if same { Ok(()) } else { Err(different()) }
}

/// Hash of the debug text of `options` (FNV-1a), for [`agree_alike`].
///
/// # Examples
/// ```
/// use bandsolve::vectors::digest;
/// assert_eq!(digest(&("gmres", 50)), digest(&("gmres", 50)));
/// assert_ne!(digest(&("gmres", 50)), digest(&("gmres", 51)));
/// ```
pub fn digest(options: &dyn core::fmt::Debug) -> u64 {
    struct Fnv(u64);
    impl core::fmt::Write for Fnv {
        fn write_str(&mut self, text: &str) -> core::fmt::Result {
            text.bytes().for_each(|byte| self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
            Ok(())
        }
    }
    let mut state = Fnv(0xcbf2_9ce4_8422_2325);
    // `write_str` never fails. An error of the type's own `Debug` is the same on all processes.
    _ = core::fmt::Write::write_fmt(&mut state, format_args!("{options:?}"));
    state.0
}

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

    /// Call [`agree_on`] for the processes of this reducer.
    ///
    /// # Errors
    /// Those of [`agree`].
    pub fn agree_on<V>(&self, result: Result<V>) -> Result<V> {
        agree_on(self.communicator, result)
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
    /// Applies classical Gram–Schmidt twice: h = Vᴴ·w, w ← w − V·h. `again` is scratch of the length of h.
    ///
    /// # Cost
    /// Reads the basis three times.
    pub fn orthogonalize<T: Scalar>(
        &mut self,
        basis: &[T],
        w: &mut [T],
        h: &mut [Complex64],
        again: &mut [Complex64],
    ) -> f64 {
        let n = self.n;
        let part = &*w;
        self.sums((), h, &|rows, (), sums| products((basis, n), &rows, &part[rows.clone()], sums));
        let first = &*h;
        self.sums(RowsOf(&mut *w, PIECE), again, &|rows, w, sums| {
            subtract_combination(w.0, (basis, n), &rows, first);
            products((basis, n), &rows, w.0, sums);
        });
        let second = &*again;
        let mut squared = [ZERO];
        self.sums(RowsOf(&mut *w, PIECE), &mut squared, &|rows, w, sums| {
            subtract_combination(w.0, (basis, n), &rows, second);
            sums[0].re += norm_squared(w.0);
        });
        h.iter_mut().zip(&*again).for_each(|(h, again)| *h += *again);
        self.root(squared[0].re, w)
    }

    /// Compute y ← y − V·c with the first `c.len()` vectors of a basis V.
    pub fn subtract_combination<T: Scalar>(&mut self, y: &mut [T], basis: &[T], c: &[Complex64]) {
        let n = self.n;
        each_piece(n, RowsOf(y, PIECE), &|rows, y| subtract_combination(y.0, (basis, n), &rows, c));
    }
}

/// Whether matrix products can form the sums. Products in single precision are less precise, and complex ones do not conjugate.
const fn by_products<T: Scalar>() -> bool {
    !T::COMPLEX && size_of::<T>() == size_of::<f64>()
}

/// The parts of vₖᴴ·w in some rows, one vector of length n per sum.
fn products<T: Scalar>((basis, n): (&[T], usize), rows: &Range<usize>, w: &[T], sums: &mut [Complex64]) {
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
fn subtract_combination<T: Scalar>(y: &mut [T], (basis, n): (&[T], usize), rows: &Range<usize>, c: &[Complex64]) {
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

/// The rows of one piece of a vector of length n.
fn rows_of(piece: usize, n: usize) -> Range<usize> {
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

/// Convert a number to type T. If T is real, the imaginary part is dropped.
///
/// # Examples
/// ```
/// use bandsolve::{Complex64, vectors::narrow};
/// assert_eq!(narrow::<f64>(Complex64::new(2.0, 3.0)), 2.0);
/// ```
#[inline(always)]
pub fn narrow<T: Scalar>(c: Complex64) -> T {
    T::from_parts(T::Real::from_f64(c.re), T::Real::from_f64(c.im))
}

/// Convert a number to double precision.
///
/// # Examples
/// ```
/// use bandsolve::{Complex64, vectors::widen};
/// assert_eq!(widen(2.0_f32), Complex64::new(2.0, 0.0));
/// ```
#[inline(always)]
pub fn widen<T: Scalar>(v: T) -> Complex64 {
    Complex64::new(v.re().to_f64(), v.im().to_f64())
}

/// The quotient a / b, without overflow or underflow of |b|².
///
/// The division of `num_complex` divides by |b|², which overflows or underflows in double precision if |b| is above 1e154 or below
/// 1e-154.
///
/// # Examples
/// ```
/// use bandsolve::{Complex64, vectors::divide};
/// let b = Complex64::new(0.0, 1e200); // |b|² overflows
/// assert!((divide(b, b) - 1.0).norm() < 1e-15);
/// ```
#[inline(always)]
pub fn divide<T: Scalar>(a: T, b: T) -> T {
    if !T::COMPLEX {
        return a / b;
    }
    if b.im() == T::Real::ZERO {
        return T::from_parts(a.re() / b.re(), a.im() / b.re());
    }
    let scale = peak(b).equilibrate();
    // The larger part of q is in [2, 4).
    let q = b.scale(scale);
    let square = q.re() * q.re() + q.im() * q.im();
    let inverse = Scalar::conj(q).scale(T::Real::ONE / square);
    (a * inverse).scale(scale)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operator::Alone;
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

    /// (3 − 2i)/(1 + 4i) = (−5 − 14i)/17, for numbers of all sizes. Each quotient has four roundings.
    #[test]
    fn quotients_in_the_whole_range() {
        let c = Complex64::new;
        for (of_a, of_b) in [(0, 0), (300, 300), (-300, -300), (160, 0), (0, 160), (-160, 140), (307, 200), (-5, -300)]
        {
            let (s, t) = (10_f64.powi(of_a), 10_f64.powi(of_b));
            let q = divide(c(3.0 * s, -2.0 * s), c(t, 4.0 * t)) / (s / t);
            assert!((q - c(-5.0 / 17.0, -14.0 / 17.0)).norm() < 8.0 * f64::EPSILON, "{of_a} {of_b}: {q}");
        }
        assert_eq!(divide(c(1.0, 2.0), c(f64::MAX, f64::MAX)).re, 1.5 / f64::MAX);
        assert_eq!(divide(c(1e-310, 0.0), c(1e-310, 0.0)), c(1.0, 0.0));
        assert!(!divide(c(1.0, 1.0), c(0.0, 0.0)).is_finite());
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
                let norm = reducer.orthogonalize(&basis, &mut w, &mut h[..k], &mut again[..k]);
                // w + V·h is what it was.
                let back: Vec<Complex64> = h[..k].iter().map(|h| -h).collect();
                reducer.subtract_combination(&mut w, &basis, &back);
                assert!(w.iter().zip(&before).all(|(w, before)| (w - before).norm() < 1e-11));
                reducer.orthogonalize(&basis, &mut w, &mut h[..k], &mut again[..k]);
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
