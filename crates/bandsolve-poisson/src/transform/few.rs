//! Four complex numbers at a time, as eight real ones: fixed sizes and no closures, so that they become registers where they are inlined
//! into a function compiled for an instruction set.

use crate::scalar::PoissonScalar;

/// Complex numbers that are taken together.
pub(super) const WIDE: usize = 4;
/// Their parts.
const PARTS: usize = 2 * WIDE;
pub(super) type Few<T> = [T; PARTS];

/// Numbers j, j + 1, …
#[inline(always)]
pub(super) fn forwards<T: PoissonScalar>(z: &[T], j: usize) -> Few<T> {
    let from = &z[2 * j..][..PARTS];
    let mut few = [T::ZERO; PARTS];
    few.copy_from_slice(from);
    few
}

/// Numbers j, j − 1, …
#[inline(always)]
pub(super) fn backwards<T: PoissonScalar>(z: &[T], j: usize) -> Few<T> {
    reversed(forwards(z, j + 1 - WIDE))
}

/// The last number first.
#[inline(always)]
fn reversed<T: PoissonScalar>(z: Few<T>) -> Few<T> {
    [z[6], z[7], z[4], z[5], z[2], z[3], z[0], z[1]]
}

/// Real and imaginary parts exchanged.
#[inline(always)]
fn swapped<T: PoissonScalar>(z: Few<T>) -> Few<T> {
    [z[1], z[0], z[3], z[2], z[5], z[4], z[7], z[6]]
}

#[inline(always)]
pub(super) fn put_forwards<T: PoissonScalar>(z: &mut [T], j: usize, few: Few<T>) {
    z[2 * j..][..PARTS].copy_from_slice(&few);
}

#[inline(always)]
pub(super) fn put_backwards<T: PoissonScalar>(z: &mut [T], j: usize, few: Few<T>) {
    put_forwards(z, j + 1 - WIDE, reversed(few));
}

/// Number j.
#[inline(always)]
pub(super) fn one<T: PoissonScalar>(z: &[T], j: usize) -> [T; 2] {
    [z[2 * j], z[2 * j + 1]]
}

#[inline(always)]
pub(super) fn put_one<T: PoissonScalar>(z: &mut [T], j: usize, one: [T; 2]) {
    z[2 * j..][..2].copy_from_slice(&one);
}

/// Sums and differences.
#[inline(always)]
pub(super) fn both<T: PoissonScalar, const N: usize>(a: [T; N], b: [T; N]) -> ([T; N], [T; N]) {
    let (mut sum, mut difference) = (a, a);
    for k in 0..N {
        sum[k] = a[k] + b[k];
        difference[k] = a[k] - b[k];
    }
    (sum, difference)
}

/// `Core::twist` of a_j … and a_{M−j} …, with the twiddles' parts from j on.
#[inline(always)]
pub(super) fn twist<T: PoissonScalar>(
    [re, im]: &[Vec<T>; 2],
    j: usize,
    a: Few<T>,
    mirrored: Few<T>,
) -> (Few<T>, Few<T>) {
    let turned = turned(mirrored);
    let (sum, difference) = both(a, turned);
    let (re, im) = (forwards(re, j), forwards(im, j));
    (times(re, im, difference), times_conjugate(re, im, sum))
}

/// `Core::untwist` of V_j … and V_{M−j} ….
#[inline(always)]
pub(super) fn untwist<T: PoissonScalar>(
    [re, im]: &[Vec<T>; 2],
    j: usize,
    v: Few<T>,
    mirrored: Few<T>,
) -> (Few<T>, Few<T>) {
    let (re, im) = (forwards(re, j), forwards(im, j));
    let (sum, difference) = both(times(re, im, v), times_conjugate(re, im, mirrored));
    // −i times the difference
    let (turned, mut negated) = (turned(difference), difference);
    for k in 0..PARTS {
        negated[k] = -turned[k];
    }
    (sum, negated)
}

/// i·z
#[inline(always)]
fn turned<T: PoissonScalar>(z: Few<T>) -> Few<T> {
    let s = swapped(z);
    [-s[0], s[1], -s[2], s[3], -s[4], s[5], -s[6], s[7]]
}

/// w·z from [re, re] and [−im, im] of w.
#[inline(always)]
fn times<T: PoissonScalar>(re: Few<T>, im: Few<T>, z: Few<T>) -> Few<T> {
    let (s, mut out) = (swapped(z), z);
    for k in 0..PARTS {
        out[k] = z[k] * re[k] + s[k] * im[k];
    }
    out
}

/// conj(w)·z
#[inline(always)]
fn times_conjugate<T: PoissonScalar>(re: Few<T>, im: Few<T>, z: Few<T>) -> Few<T> {
    let (s, mut out) = (swapped(z), z);
    for k in 0..PARTS {
        out[k] = z[k] * re[k] - s[k] * im[k];
    }
    out
}
