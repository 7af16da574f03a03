//! Solve linear recurrences in parallel, in one pass over memory.
//!
//! | function | recurrence |
//! | --- | --- |
//! | [`first_order`] | yᵢ = pᵢ·yᵢ₋₁ + qᵢ |
//! | [`first_order_reversed`] | yᵢ = pᵢ·yᵢ₊₁ + qᵢ |
//! | [`second_order`] | yᵢ = pᵢ·yᵢ₋₁ + qᵢ·yᵢ₋₂ + rᵢ |
//! | [`second_order_reversed`] | yᵢ = pᵢ·yᵢ₊₁ + qᵢ·yᵢ₊₂ + rᵢ |
//!
//! # Method
//!
//! Rows are divided into tiles of fixed size, and each tile into eight groups of consecutive rows. The *state* consists of the last one
//! or two values of y. A group maps the state s before it to the state s′ after it by its *transfer*, an affine map:
//!
//! ```text
//! s′ = Q + Σₕ sₕ Pₕ
//! ```
//!
//! - A thread takes the next tile and computes the transfers of its groups. All groups advance one row at a time, so that their chains
//!   of dependent operations overlap.
//! - The thread then waits for the state after the previous tile, applies the transfers and passes on the state after its own tile.
//! - It finishes the tile, which is still in cache.
//!
//! The order of all operations is fixed, so the result is the same, bit for bit, for any number of threads.
//!
//! # Accuracy
//!
//! A state from a transfer is rounded differently from a state that the recurrence gives row by row. The rows on both sides of a group
//! border would then not satisfy the recurrence to the last digit. The solver therefore runs the recurrence through each group once
//! without writing, and starts the next group from the state that it finds. If the recurrence decays along a group, rows at borders are
//! as accurate as rows inside.
//!
//! If products of coefficients overflow, a transfer is useless although y may be finite. The solver then computes the state by the
//! recurrence itself. If products of coefficients underflow, the result loses contributions that later large coefficients would
//! restore. `docs/math/recurrence.md` has the details.
//!
//! # Source
//!
//! L.-W. Chang, MSc thesis, UIUC 2014, sections 4.1.2 and 4.2.1.

mod linear;

use crate::error::{Result, check_len};
use bandsolve_kernel::Scalar;
use bandsolve_kernel::arithmetic::Standard;
use linear::{Plain, solve};

/// Solve yᵢ = pᵢ·yᵢ₋₁ + qᵢ for i = 0 … n−1, with y₋₁ = `start`.
///
/// # Shapes
/// `p`, `q`, `y`: n.
///
/// # Cost
/// Per row: 7 flops, 2 words read, 1 word written.
///
/// # Errors
/// [`Error::Shape`](crate::Error::Shape) if the arrays differ in length.
///
/// # Source
/// Chang, thesis, section 4.1.2.
///
/// # Examples
/// ```
/// let (p, q, mut y) = ([2.0; 4], [1.0, 0.0, 0.0, 1.0], [0.0; 4]);
/// bandsolve::recurrence::first_order(&p, &q, 1.0, 2, &mut y)?;
/// assert_eq!(y, [3.0, 6.0, 12.0, 25.0]);
/// # Ok::<(), bandsolve::Error>(())
/// ```
pub fn first_order<T: Scalar>(p: &[T], q: &[T], start: T, threads: usize, y: &mut [T]) -> Result<()> {
    checked::<T, 1, false>([p], q, [start], threads, y)
}

/// Solve yᵢ = pᵢ·yᵢ₊₁ + qᵢ for i = n−1 … 0, with yₙ = `start`. Shapes and cost are those of [`first_order`].
///
/// # Errors
/// [`Error::Shape`](crate::Error::Shape) if the arrays differ in length.
///
/// # Examples
/// ```
/// let (p, q, mut y) = ([2.0; 3], [0.0, 0.0, 1.0], [0.0; 3]);
/// bandsolve::recurrence::first_order_reversed(&p, &q, 1.0, 2, &mut y)?;
/// assert_eq!(y, [12.0, 6.0, 3.0]);
/// # Ok::<(), bandsolve::Error>(())
/// ```
pub fn first_order_reversed<T: Scalar>(p: &[T], q: &[T], start: T, threads: usize, y: &mut [T]) -> Result<()> {
    checked::<T, 1, true>([p], q, [start], threads, y)
}

/// Solve yᵢ = pᵢ·yᵢ₋₁ + qᵢ·yᵢ₋₂ + rᵢ for i = 0 … n−1, with \[y₋₁, y₋₂\] = `start`.
///
/// # Shapes
/// `coefficients` is \[p, q, r\]. Each of p, q, r and `y` has length n.
///
/// # Cost
/// Per row: 18 flops, 3 words read, 1 word written.
///
/// # Errors
/// [`Error::Shape`](crate::Error::Shape) if the arrays differ in length.
///
/// # Source
/// Chang, thesis, section 4.1.2.
///
/// # Examples
/// ```
/// let (one, zero, mut fibonacci) = ([1.0; 6], [0.0; 6], [0.0; 6]);
/// bandsolve::recurrence::second_order([&one, &one, &zero], [1.0, 0.0], 2, &mut fibonacci)?;
/// assert_eq!(fibonacci, [1.0, 2.0, 3.0, 5.0, 8.0, 13.0]);
/// # Ok::<(), bandsolve::Error>(())
/// ```
pub fn second_order<T: Scalar>(coefficients: [&[T]; 3], start: [T; 2], threads: usize, y: &mut [T]) -> Result<()> {
    let [p, q, r] = coefficients;
    checked::<T, 2, false>([p, q], r, start, threads, y)
}

/// Solve yᵢ = pᵢ·yᵢ₊₁ + qᵢ·yᵢ₊₂ + rᵢ for i = n−1 … 0, with \[yₙ, yₙ₊₁\] = `start`. Shapes and cost are those of [`second_order`].
///
/// # Errors
/// [`Error::Shape`](crate::Error::Shape) if the arrays differ in length.
///
/// # Examples
/// ```
/// let (one, zero, mut y) = ([1.0; 4], [0.0; 4], [0.0; 4]);
/// bandsolve::recurrence::second_order_reversed([&one, &one, &zero], [1.0, 0.0], 2, &mut y)?;
/// assert_eq!(y, [5.0, 3.0, 2.0, 1.0]);
/// # Ok::<(), bandsolve::Error>(())
/// ```
pub fn second_order_reversed<T: Scalar>(
    coefficients: [&[T]; 3],
    start: [T; 2],
    threads: usize,
    y: &mut [T],
) -> Result<()> {
    let [p, q, r] = coefficients;
    checked::<T, 2, true>([p, q], r, start, threads, y)
}

fn checked<T: Scalar, const K: usize, const REVERSED: bool>(
    by: [&[T]; K],
    plus: &[T],
    start: [T; K],
    threads: usize,
    y: &mut [T],
) -> Result<()> {
    let _mode = Standard::enter();
    for by in by {
        check_len("a coefficient array", y.len(), by.len())?;
    }
    check_len("the array of constants", y.len(), plus.len())?;
    solve(&Plain::<T, K, REVERSED> { by, plus }, start, threads, y);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tuning::SCAN_TILE_ROWS;
    use crate::{Complex32, Complex64, RealScalar};
    use bandsolve_gallery::Random;
    use bandsolve_kernel::tuning::MIN_ROWS_PER_THREAD;

    const LENGTHS: [usize; 11] = [
        0,
        1,
        7,
        8,
        9,
        SCAN_TILE_ROWS - 1,
        SCAN_TILE_ROWS,
        SCAN_TILE_ROWS + 1,
        5 * SCAN_TILE_ROWS + 77,
        7 * MIN_ROWS_PER_THREAD,
        7 * MIN_ROWS_PER_THREAD + 13,
    ];

    fn random<T: Scalar>(n: usize, size: f64, seed: u64) -> Vec<T> {
        let mut random = Random::new(seed);
        let mut draw = || T::Real::from_f64(random.uniform(-size, size));
        (0..n).map(|_| T::from_parts(draw(), draw())).collect()
    }

    /// |y − reference| ≤ bound, entry by entry, and the same bits for any number of threads.
    fn check<T: Scalar>(reference: &[T], bound: &[f64], solve: impl Fn(usize, &mut [T])) {
        let run = |threads| {
            let mut y = vec![T::from_real(T::Real::NAN); reference.len()];
            solve(threads, &mut y);
            y
        };
        let y = run(1);
        for (i, (y, reference)) in y.iter().zip(reference).enumerate() {
            let error = (*y - *reference).abs().to_f64();
            assert!(
                error <= bound[i],
                "row {i} of {}: {y} is not {reference}: {error:e} > {:e}",
                bound.len(),
                bound[i]
            );
        }
        for threads in [2, 3, 7] {
            assert!(run(threads) == y, "{} rows, {threads} threads", y.len());
        }
    }

    /// The recurrence of order two, row by row, and a bound of the error for any order of operations. Each of the two computations
    /// rounds at most six times per row. The effect of each rounding is at most M, the recurrence of the moduli.
    fn reference<T: Scalar>([p, q, r]: [&[T]; 3], start: [T; 2]) -> (Vec<T>, Vec<f64>) {
        let modulus = |v: T| v.abs().to_f64();
        let (mut y, mut m) = (start, start.map(modulus));
        let epsilon = T::Real::EPSILON.to_f64();
        let mut rows = 0.0;
        (0..p.len())
            .map(|i| {
                y = [p[i] * y[0] + q[i] * y[1] + r[i], y[0]];
                m = [modulus(p[i]) * m[0] + modulus(q[i]) * m[1] + modulus(r[i]), m[0]];
                rows += 1.0;
                (y[0], 12.0 * rows * epsilon * m[0])
            })
            .unzip()
    }

    fn every_direction<T: Scalar>(size: f64) {
        let start = [T::ONE, T::from_real(T::Real::from_f64(-0.5))];
        for n in LENGTHS {
            // Larger coefficients would leave the range of the type.
            let n = if size > 1.0 { n.min(if T::Real::MAX.to_f64() > 1e100 { 1500 } else { 150 }) } else { n };
            let [p, q, r] = [1, 2, 3].map(|seed| random::<T>(n, size / f64::from(1 + u8::from(T::COMPLEX)), seed));
            let zero = vec![T::ZERO; n];
            let reverse = |v: &[T]| v.iter().rev().copied().collect::<Vec<_>>();
            let [back_p, back_q, back_r] = [&p, &q, &r].map(|v| reverse(v));
            let (y, bound) = reference([&p, &zero, &r], start);
            check(&y, &bound, |threads, y| first_order(&p, &r, start[0], threads, y).unwrap());
            let (y, back_bound) = (reverse(&y), bound.iter().rev().copied().collect::<Vec<_>>());
            check(&y, &back_bound, |threads, y| {
                first_order_reversed(&back_p, &back_r, start[0], threads, y).unwrap();
            });
            let (y, bound) = reference([&p, &q, &r], start);
            check(&y, &bound, |threads, y| second_order([&p, &q, &r], start, threads, y).unwrap());
            let (y, back_bound) = (reverse(&y), bound.iter().rev().copied().collect::<Vec<_>>());
            check(&y, &back_bound, |threads, y| {
                second_order_reversed([&back_p, &back_q, &back_r], start, threads, y).unwrap();
            });
        }
    }

    #[test]
    fn decaying_recurrences_of_every_type() {
        every_direction::<f64>(0.5);
        every_direction::<f32>(0.5);
        every_direction::<Complex64>(0.5);
        every_direction::<Complex32>(0.5);
    }

    #[test]
    fn growing_recurrences_of_every_type() {
        every_direction::<f64>(2.0);
        every_direction::<f32>(2.0);
        every_direction::<Complex64>(2.0);
        every_direction::<Complex32>(2.0);
    }

    #[test]
    fn products_that_overflow_do_no_harm() {
        // 16⁶⁰⁰ is far beyond the range, but the first state is zero.
        let n = 5 * SCAN_TILE_ROWS + 3;
        let p: Vec<f64> = (0..n).map(|i| if i % 2000 < 1600 { 1e9 } else { 0.0 }).collect();
        let q: Vec<f64> = (0..n).map(|i| if i % 2000 == 1600 { 3.0 } else { 0.0 }).collect();
        let (zero, mut y) = (vec![0.0; n], vec![f64::NAN; n]);
        for threads in [1, 2] {
            first_order(&p, &zero, 0.0, threads, &mut y).unwrap();
            assert!(y.iter().all(|y| *y == 0.0));
            second_order([&p, &p, &zero], [0.0; 2], threads, &mut y).unwrap();
            assert!(y.iter().all(|y| *y == 0.0));
            first_order(&p, &q, 0.0, threads, &mut y).unwrap();
            assert!(y.iter().zip(&q).all(|(y, q)| y == q));
        }
    }

    #[test]
    fn products_that_underflow_are_lost() {
        // With groups of eight rows, the state after the first group also comes from its rows, the one after the second does not.
        let p: Vec<f64> = [1e-200, 1e-200, 1e200, 1e200].into_iter().chain([1.0; 60]).collect();
        let (zero, mut y) = ([0.0; 64], [0.0; 64]);
        first_order(&p, &zero, 1e250, 1, &mut y).unwrap();
        assert!(y[..16].iter().skip(3).all(|y| (y / 1e250 - 1.0).abs() < 1e-12));
        assert!(y[16..].iter().all(|y| *y == 0.0));
    }

    #[test]
    fn lengths_must_agree() {
        let (ones, mut y) = ([1.0; 4], [0.0; 5]);
        assert!(first_order(&ones, &ones, 0.0, 1, &mut y).is_err());
        assert!(second_order_reversed([&ones, &ones, &ones], [0.0; 2], 1, &mut y).is_err());
    }
}
