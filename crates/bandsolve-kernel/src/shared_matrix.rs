//! Many right-hand sides of one tridiagonal matrix: each lane is a right-hand side, and all lanes use the same factors.
//!
//! The matrix is factored once, row by row, with scaled partial pivoting (LAPACK's `gttrf`, `gttrs`). A solve has no
//! division and no choice of pivots. Four vectors of right-hand sides are solved together, because each step of a
//! substitution depends on the step before.
//!
//! ```text
//! downwards:  (u, v) = (run, dⱼ) or (dⱼ, run),  yⱼ₋₁ = u,  run = v − lⱼ u
//! upwards:    xⱼ = yⱼ/pivot − (next/pivot) xⱼ₊₁ − (far/pivot) xⱼ₊₂
//! ```
//!
//! A periodic matrix is an open one with a border (`border.rs`): the substitution downwards also sums up the last row, and
//! the substitution upwards subtracts the last unknown with its coefficient in each row.
//!
//! Cost per row and right-hand side: 3 words read, 2 written, 17 flops with the verification. The factors are read once
//! for four vectors. Interleaved right-hand sides beyond the cache are copied, several groups at a time, because each of their rows lies in pages of its own.

use super::Job;
use super::lockstep::Shared;
use super::prefetch::{CACHE_LINE_BYTES, prefetch};
use super::sweep::{Check, Least, Row, TRIDIAGONAL_ENTRIES, check_row, each};
use super::tile::{STAGED_ROWS, Strides, load_side_by_side, store_side_by_side};
use crate::job::kernel;
use crate::number::{Element, Lanes, MAX_LANES, Machine, RealScalar, Scalar, lanes_of};
use crate::rows::Rows;
use crate::scalar::reciprocal;
use crate::simd::Simd;
use crate::stored_tiles::scaled;
use crate::tuning::TOGETHER_ROW_BYTES;

/// Number of vectors that are solved together.
pub(crate) const TOGETHER: usize = 4;

/// The factors of row j.
#[derive(Debug, Clone, Copy)]
pub struct SharedStep<T: Scalar> {
    scale: T::Real,
    /// The scaled row: sub, diag, sup.
    row: [T; 3],
    /// 1 if the row is the pivot row of xⱼ₋₁, otherwise 0.
    exchange: T::Real,
    /// l of the step that eliminates xⱼ₋₁.
    multiplier: T,
    /// 1/pivot of xⱼ, and the quotients of the coefficients of xⱼ₊₁ and xⱼ₊₂ by the pivot.
    upper: [T; 3],
}

/// The factors of a matrix.
#[derive(Debug)]
pub struct SharedMatrixFactors<T: Scalar> {
    pub steps: Vec<SharedStep<T>>,
    /// Of a periodic matrix, for each row: the factor by which y is subtracted from the last row, and the quotient of the
    /// coefficient of the last unknown by the pivot. Empty if the matrix is open.
    pub border: Vec<[T; 2]>,
}

/// Factor a matrix of n rows. A periodic one has n ≥ 3. The lists of `factors` are empty, with room for n elements.
///
/// Returns whether all pivots are large enough.
pub fn factor<T: Scalar>(rows: &Rows<'_, T>, factors: &mut SharedMatrixFactors<T>) -> bool {
    let n = rows.n();
    debug_assert!(!rows.periodic || n >= 3);
    let SharedMatrixFactors { steps, border } = factors;
    let large = |size: T::Real| size.to_f64() > T::Real::NO_PIVOT;
    let scaled_row = |j: usize| {
        let (sub, diag, sup) = rows.row(j);
        scaled([sub, diag, sup])
    };
    let (mut near, mut next, mut spike, mut regular) = (T::ZERO, T::ZERO, T::ZERO, true);
    // The last row: the coefficients of the unknown that is eliminated next, of the one after it, and of the last one.
    let mut last_row = [if rows.periodic { scaled_row(n - 1).1[2] } else { T::ZERO }, T::ZERO, T::ZERO];
    for j in 0..n {
        let (scale, row) = scaled_row(j);
        let [mut sub, mut diag, mut sup] = row;
        let step = SharedStep { scale, row, exchange: T::Real::ZERO, multiplier: T::ZERO, upper: [T::ZERO; 3] };
        steps.push(step);
        if j == 0 {
            (near, next, spike) = (diag, sup, sub);
            continue;
        }
        if rows.periodic && j + 1 == n {
            (sub, diag, sup) = (sub + last_row[0], diag + last_row[1] + last_row[2], T::ZERO);
            (next, spike) = (next + spike, T::ZERO);
        }
        let take = Scalar::abs1(sub) > Scalar::abs1(near);
        let (pivot, other) = if take { (sub, near) } else { (near, sub) };
        regular &= large(Scalar::abs1(pivot)) && (large(Scalar::abs1(near)) || large(Scalar::abs1(next)));
        let recip = reciprocal(pivot);
        let l = other * recip;
        let (chain, row) = ([next, T::ZERO, spike], [diag, sup, T::ZERO]);
        let (u, v) = if take { (row, chain) } else { (chain, row) };
        steps[j - 1].upper = [recip, u[0] * recip, u[1] * recip];
        steps[j].exchange = if take { T::Real::ONE } else { T::Real::ZERO };
        steps[j].multiplier = l;
        (near, next, spike) = (v[0] - l * u[0], v[1] - l * u[1], v[2] - l * u[2]);
        if rows.periodic {
            let of_last = last_row[0] * recip;
            border.push([of_last, u[2] * recip]);
            last_row = [last_row[1] - of_last * u[0], -(of_last * u[1]), last_row[2] - of_last * u[2]];
        }
    }
    if let Some(last) = steps.last_mut() {
        last.upper[0] = reciprocal(near);
        regular &= large(Scalar::abs1(near));
    }
    if rows.periodic {
        border.push([T::ZERO; 2]);
    }
    regular
}

/// Right-hand sides of one matrix in memory, all inside one array.
#[derive(Clone, Copy)]
pub struct SharedSystems<'a, T> {
    pub rhs: &'a [T],
    pub n: usize,
    pub strides: Strides,
    /// Number of right-hand sides, at least that of the lanes of a vector.
    pub count: usize,
}

/// Number of right-hand sides that are solved together, of `count`.
pub fn group<T: Scalar>(simd: Simd, count: usize) -> usize {
    count.min(TOGETHER * T::lanes(simd))
}

/// The first system of each vector of a group of `count` systems. If the group has fewer systems than the vectors have lanes, the last vectors
/// overlap, and their common systems are solved more than once, with the same result.
#[inline(always)]
pub(crate) fn vector_starts<const K: usize>(count: usize, lanes: usize) -> [usize; K] {
    each!(k < K, 0, (k * lanes).min(count - lanes))
}

/// Number of reals of memory with which right-hand sides of n rows are read only once: contiguous ones are transposed only twice, and interleaved ones are
/// copied several groups at a time.
pub fn memory<T: Scalar>(simd: Simd, n: usize, interleaved: bool) -> usize {
    let lanes = T::lanes(simd);
    let columns = if interleaved { copied_columns::<T>(lanes) } else { TOGETHER * lanes };
    2 * n * columns * size_of::<T>() / size_of::<T::Real>()
}

/// Number of interleaved right-hand sides that are copied together: whole groups.
fn copied_columns<T: Scalar>(lanes: usize) -> usize {
    (TOGETHER_ROW_BYTES / size_of::<T>()).next_multiple_of(TOGETHER * lanes)
}

/// Solve for all right-hand sides. x goes to `out` from entry `first` on, in the same layout. Returns whether an x is
/// large.
///
/// `memory` has the size that [`memory`](fn@memory) returns, or is empty.
/// `errors` and `sizes` are those of [`LockstepOptions`](super::lockstep::LockstepOptions). If `conj`, the matrix is
/// replaced by its conjugate.
pub fn solve<T: Scalar>(
    simd: Simd,
    (factors, conj): (&SharedMatrixFactors<T>, bool),
    systems: SharedSystems<'_, T>,
    (out, first): (&Shared<'_, T>, usize),
    ([errors, sizes], memory): ([&mut [T::Real]; 2], &mut [T::Real]),
) -> bool {
    let SharedSystems { rhs, n, strides, count } = systems;
    let SharedMatrixFactors { steps, border } = factors;
    assert!(n > 0 && steps.len() == n && count >= T::lanes(simd));
    assert!(border.is_empty() || border.len() == n);
    assert!(strides.lane == 1 || strides.row == 1);
    let end = (count - 1) * strides.lane + (n - 1) * strides.row + 1;
    assert!(rhs.len() >= end && first + end <= out.len);
    assert!(errors.len() == count && sizes.len() == count);
    assert!(memory.is_empty() || memory.len() == self::memory::<T>(simd, n, strides.row != 1));
    let (rhs, out) = (rhs.as_ptr(), out.base.wrapping_add(first));
    SharedSubstitution { steps, border, conj, rhs, out, strides, count, errors, sizes, memory }.run_on(simd)
}

pub struct SharedSubstitution<'a, T: Scalar> {
    steps: &'a [SharedStep<T>],
    border: &'a [[T; 2]],
    conj: bool,
    rhs: *const T,
    out: *mut T,
    strides: Strides,
    count: usize,
    errors: &'a mut [T::Real],
    sizes: &'a mut [T::Real],
    memory: &'a mut [T::Real],
}

kernel!(SharedSubstitutionKernel: SharedSubstitution<'a> => bool);

/// One row of a group of right-hand sides.
pub(crate) type Group<E, const K: usize> = [E; K];

impl<T: Scalar> Job<T> for SharedSubstitution<'_, T> {
    type Output = bool;
    #[inline(always)]
    fn run<V: Lanes<Real = T::Real>>(mut self) -> bool {
        let (n, count, strides) = (self.steps.len(), self.count, self.strides);
        let (rhs, out) = (self.rhs, self.out);
        if strides.row == 1 || self.memory.is_empty() {
            return self.solve_columns::<V>(SharedColumns { rhs, out, strides, first: 0, count });
        }
        let columns = copied_columns::<T>(V::W);
        let copied = self.memory.as_mut_ptr().cast::<T>();
        let solved = copied.wrapping_add(n * columns);
        let of_copy = Strides { lane: 1, row: columns };
        let mut large = false;
        for first in (0..count).step_by(columns) {
            // The last columns may overlap those before, so that they fill a group. Some are then solved twice, with the same result.
            let first = first.min(count - count.min(TOGETHER * V::W));
            let count = columns.min(count - first);
            let (from, to) = (rhs.wrapping_add(first), out.wrapping_add(first));
            // SAFETY: there is memory for 2·n rows of `columns` scalars, and `solve` checked the arrays of the caller.
            unsafe { copy_rows((from, strides.row), (copied, columns), [n, count]) }
            large |=
                self.solve_columns::<V>(SharedColumns { rhs: copied, out: solved, strides: of_copy, first, count });
            // SAFETY: as above.
            unsafe { copy_rows((solved, columns), (to, strides.row), [n, count]) }
        }
        large
    }
}

/// Right-hand sides `first .. first + count`. The arrays begin with the first of them.
struct SharedColumns<T> {
    rhs: *const T,
    out: *mut T,
    strides: Strides,
    first: usize,
    count: usize,
}

impl<T: Scalar> SharedSubstitution<'_, T> {
    /// Solve for some columns, group by group. Returns whether an x is large.
    #[inline(always)]
    fn solve_columns<V: Lanes<Real = T::Real>>(&mut self, columns: SharedColumns<T>) -> bool {
        let SharedColumns { rhs, out, strides, first, count } = columns;
        let together = count.min(TOGETHER * V::W);
        let starts = vector_starts(together, V::W);
        let buffer = if strides.row == 1 { &mut *self.memory } else { &mut [] };
        let mut large = false;
        for k in (0..count).step_by(together) {
            // The last group may overlap the group before, as above.
            let k = k.min(count - together);
            let group = SharedGroup::<'_, T> {
                steps: self.steps,
                border: self.border,
                conj: self.conj,
                rhs: rhs.wrapping_add(k * strides.lane),
                out: out.wrapping_add(k * strides.lane),
                strides,
                starts,
            };
            // SAFETY: the group lies inside both arrays: those of the caller, which `solve` checked, or copies of its rows.
            let checks = unsafe {
                match (buffer.is_empty(), self.border.is_empty()) {
                    (true, true) => group.solve::<V, false, false>(core::ptr::null_mut()),
                    (true, false) => group.solve::<V, false, true>(core::ptr::null_mut()),
                    (false, true) => group.solve::<V, true, false>(buffer.as_mut_ptr()),
                    (false, false) => group.solve::<V, true, true>(buffer.as_mut_ptr()),
                }
            };
            let (errors, sizes) = (&mut self.errors[first + k..], &mut self.sizes[first + k..]);
            large |= put_checks(&checks, &starts, TRIDIAGONAL_ENTRIES, [errors, sizes]);
        }
        large
    }
}

/// Copy `n` rows of `count` scalars, which have these distances from one to the next.
///
/// # Safety
/// The rows of the source are readable, those of the target are writable, and they do not overlap.
#[inline(always)]
unsafe fn copy_rows<T: Copy>((from, step): (*const T, usize), (to, to_step): (*mut T, usize), [n, count]: [usize; 2]) {
    for j in 0..n {
        let row = from.wrapping_add(j * step);
        let ahead = row.wrapping_add(STAGED_ROWS * step).cast::<u8>();
        (0..count * size_of::<T>()).step_by(CACHE_LINE_BYTES).for_each(|byte| prefetch(ahead.wrapping_add(byte)));
        // SAFETY: the caller's promise.
        unsafe { core::ptr::copy_nonoverlapping(row, to.wrapping_add(j * to_step), count) }
    }
}

/// Write the errors and the sizes of large x of a group, for a matrix with this number of entries per row. Returns whether an x is large.
#[inline(always)]
pub(crate) fn put_checks<V: Lanes, const K: usize>(
    checks: &[Check<V>; K],
    starts: &[usize; K],
    entries: usize,
    [errors, sizes]: [&mut [V::Real]; 2],
) -> bool {
    let mut large = false;
    for (start, check) in starts.iter().zip(checks) {
        let results = [check.judged_gap(&Least::new()), check.size_if_large(entries)].map(lanes_of);
        for lane in 0..V::W {
            (errors[start + lane], sizes[start + lane]) = (results[0][lane], results[1][lane]);
            large |= results[1][lane] > V::Real::ZERO;
        }
    }
    large
}

/// The number in every lane, or its conjugate.
#[inline(always)]
pub(crate) fn splat<T: Scalar, V: Lanes<Real = T::Real>>(number: T, conj: bool) -> T::Element<V> {
    let im = if conj { -number.im() } else { number.im() };
    T::Element::<V>::from_columns(&[V::splat(number.re()), V::splat(im)])
}

/// A group of right-hand sides.
#[derive(Clone, Copy)]
struct SharedGroup<'a, T: Scalar> {
    steps: &'a [SharedStep<T>],
    border: &'a [[T; 2]],
    conj: bool,
    rhs: *const T,
    out: *mut T,
    strides: Strides,
    starts: [usize; TOGETHER],
}

impl<T: Scalar> SharedGroup<'_, T> {
    /// Substitute downwards, which stores y in `out` or in `memory` (`BUFFERED`), and upwards, which computes x. Returns
    /// the checks. The matrix is periodic if `PERIODIC`.
    ///
    /// # Safety
    /// All rows of the group lie inside both arrays. If `BUFFERED`, `memory` has the size that [`memory`](fn@memory)
    /// returns.
    #[inline(always)]
    unsafe fn solve<V: Lanes<Real = T::Real>, const BUFFERED: bool, const PERIODIC: bool>(
        &self,
        memory: *mut V::Real,
    ) -> [Check<V>; TOGETHER] {
        let n = self.steps.len();
        let none = [T::Element::<V>::splat(T::Real::ZERO); TOGETHER];
        // SAFETY: the caller's promise; every block lies inside the n rows.
        unsafe {
            let (mut run, mut of_last) = (none, none);
            for j in (0..n).step_by(STAGED_ROWS) {
                let rows = STAGED_ROWS.min(n - j);
                let mut block = load::<T, V, TOGETHER>(self.rhs, (self.strides, &self.starts), (j, rows));
                for i in 0..rows {
                    let step = &self.steps[j + i];
                    let (l, scale) = (self.splat::<V>(step.multiplier), V::splat(step.scale));
                    let take = V::splat(step.exchange).gt(V::splat(T::Real::ZERO));
                    let border =
                        if PERIODIC && j + i > 0 { self.splat::<V>(self.border[j + i - 1][0]) } else { none[0] };
                    for k in 0..TOGETHER {
                        let mut d = block[i][k].scale(scale);
                        if BUFFERED {
                            d.store(buffered::<V, T::Element<V>>(memory, j + i, k));
                        }
                        if PERIODIC && j + i + 1 == n {
                            d = d + of_last[k];
                        }
                        let y = T::Element::<V>::select(take, d, run[k]);
                        run[k] = l.neg_mul_add(y, T::Element::<V>::select(take, run[k], d));
                        if PERIODIC {
                            of_last[k] = border.neg_mul_add(y, of_last[k]);
                        }
                        // y of the row before.
                        if BUFFERED {
                            y.store(buffered::<V, T::Element<V>>(memory, j + i, TOGETHER + k));
                        }
                        block[i][k] = y;
                    }
                }
                if !BUFFERED {
                    store::<T, V, TOGETHER>(&block, self.out, (self.strides, &self.starts), (j, rows));
                }
            }
            // Row j holds y_{j−1}; `run` is y_{n−1}.
            let mut checks = [Check::<V>::new(T::Real::ZERO); TOGETHER];
            let (mut mid, mut right, mut y, mut below) = (none, none, run, none);
            // x of the last row, x above it, and its right-hand sides.
            let (mut last, mut above_last, mut d_last) = (none, none, none);
            for first in (0..n.div_ceil(STAGED_ROWS)).rev() {
                let j = first * STAGED_ROWS;
                let rows = STAGED_ROWS.min(n - j);
                let mut block = [none; STAGED_ROWS];
                let mut d = block;
                if !BUFFERED {
                    d = load::<T, V, TOGETHER>(self.rhs, (self.strides, &self.starts), (j, rows));
                    block = load::<T, V, TOGETHER>(self.out, (self.strides, &self.starts), (j, rows));
                }
                for i in (0..rows).rev() {
                    let step = &self.steps[j + i];
                    let [recip, next, far] = step.upper;
                    let (recip, next, far) = (self.splat::<V>(recip), self.splat::<V>(next), self.splat::<V>(far));
                    let scale = V::splat(step.scale);
                    let mut of_before = block[i];
                    if BUFFERED {
                        for k in 0..TOGETHER {
                            of_before[k] =
                                T::Element::<V>::load(buffered::<V, T::Element<V>>(memory, j + i, TOGETHER + k));
                        }
                    }
                    let spike = if PERIODIC { self.splat::<V>(self.border[j + i][1]) } else { none[0] };
                    let mut left = none;
                    for k in 0..TOGETHER {
                        let mut rest = y[k] * recip;
                        if PERIODIC {
                            rest = spike.neg_mul_add(last[k], rest);
                        }
                        left[k] = next.neg_mul_add(mid[k], far.neg_mul_add(right[k], rest));
                        checks[k].see_x(left[k].measure());
                    }
                    if PERIODIC && j + i + 1 == n {
                        last = left;
                    } else if PERIODIC && j + i + 2 == n {
                        (above_last, d_last) = (left, below);
                    } else if j + i + 1 < n {
                        self.check::<V>(j + i + 1, below, [left, mid, right], &mut checks);
                    }
                    for k in 0..TOGETHER {
                        below[k] = if BUFFERED {
                            T::Element::<V>::load(buffered::<V, T::Element<V>>(memory, j + i, k))
                        } else {
                            d[i][k].scale(scale)
                        };
                    }
                    (block[i], y, right, mid) = (left, of_before, mid, left);
                }
                store::<T, V, TOGETHER>(&block, self.out, (self.strides, &self.starts), (j, rows));
            }
            self.check::<V>(0, below, [last, mid, right], &mut checks);
            if PERIODIC {
                self.check::<V>(n - 1, d_last, [above_last, last, mid], &mut checks);
            }
            checks
        }
    }

    /// The number in every lane, conjugated if the matrix is.
    #[inline(always)]
    fn splat<V: Lanes<Real = T::Real>>(&self, number: T) -> T::Element<V> {
        splat::<T, V>(number, self.conj)
    }

    /// Add the residuals of row `j` to the checks.
    #[inline(always)]
    fn check<V: Lanes<Real = T::Real>>(
        &self,
        j: usize,
        d: Group<T::Element<V>, TOGETHER>,
        [left, mid, right]: [Group<T::Element<V>, TOGETHER>; 3],
        checks: &mut [Check<V>; TOGETHER],
    ) {
        let [sub, diag, sup] = self.steps[j].row;
        let row = [self.splat::<V>(sub), self.splat::<V>(diag), self.splat::<V>(sup)];
        for k in 0..TOGETHER {
            let row = Row { sub: row[0], diag: row[1], sup: row[2], rhs: [d[k]] };
            let mut check = [checks[k]];
            check_row::<V, T::Element<V>, 1>(&mut check, &row, &[left[k]], &[mid[k]], &[right[k]]);
            checks[k] = check[0];
        }
    }
}

/// The place of vector k of row j: the scaled right-hand sides, then y.
#[inline(always)]
fn buffered<V: Lanes, E: Element<V>>(memory: *mut V::Real, j: usize, k: usize) -> *mut V::Real {
    memory.wrapping_add((j * 2 * TOGETHER + k) * E::REALS * V::W)
}

/// Load `rows` rows of a group from row `j` on.
///
/// # Safety
/// The rows are readable.
#[inline(always)]
pub(crate) unsafe fn load<T: Scalar, V: Lanes<Real = T::Real>, const K: usize>(
    from: *const T,
    (strides, starts): (Strides, &[usize; K]),
    (j, rows): (usize, usize),
) -> [Group<T::Element<V>, K>; STAGED_ROWS] {
    let reals = T::Element::<V>::REALS;
    let mut block = [[T::Element::<V>::splat(T::Real::ZERO); K]; STAGED_ROWS];
    // SAFETY: the caller's promise.
    unsafe {
        if strides.row != 1 {
            for i in 0..rows {
                let row = from.add((j + i) * strides.row);
                for k in 0..K {
                    block[i][k] = load_side_by_side::<T, V>(row.add(starts[k]));
                }
            }
            return block;
        }
        for k in 0..K {
            let at = from.add(starts[k] * strides.lane + j);
            if rows == STAGED_ROWS {
                for i in (0..STAGED_ROWS).step_by(STAGED_ROWS / reals) {
                    let columns = V::load_columns(at.add(i).cast(), strides.lane * reals);
                    for c in 0..STAGED_ROWS / reals {
                        block[i + c][k] = T::Element::<V>::from_columns(&columns[c * reals..]);
                    }
                }
            } else {
                for i in 0..rows {
                    let mut lanes = [[T::Real::ZERO; MAX_LANES]; 2];
                    for lane in 0..V::W {
                        let number = *at.add(lane * strides.lane + i);
                        (lanes[0][lane], lanes[1][lane]) = (number.re(), number.im());
                    }
                    let columns = [V::load(lanes[0].as_ptr()), V::load(lanes[1].as_ptr())];
                    block[i][k] = T::Element::<V>::from_columns(&columns);
                }
            }
        }
    }
    block
}

/// Store `rows` rows of a group from row `j` on.
///
/// # Safety
/// The rows are writable.
#[inline(always)]
pub(crate) unsafe fn store<T: Scalar, V: Lanes<Real = T::Real>, const K: usize>(
    block: &[Group<T::Element<V>, K>; STAGED_ROWS],
    to: *mut T,
    (strides, starts): (Strides, &[usize; K]),
    (j, rows): (usize, usize),
) {
    let reals = T::Element::<V>::REALS;
    // SAFETY: the caller's promise.
    unsafe {
        if strides.row != 1 {
            for i in 0..rows {
                let row = to.add((j + i) * strides.row);
                for k in 0..K {
                    store_side_by_side::<T, V>(block[i][k], row.add(starts[k]));
                }
            }
            return;
        }
        for k in 0..K {
            let at = to.add(starts[k] * strides.lane + j);
            if rows == STAGED_ROWS {
                for i in (0..STAGED_ROWS).step_by(STAGED_ROWS / reals) {
                    let columns = if T::COMPLEX {
                        let ([a, b], [c, d]) = (block[i][k].columns(), block[i + 1][k].columns());
                        [a, b, c, d]
                    } else {
                        each!(c < STAGED_ROWS, V::splat(T::Real::ZERO), block[c][k].columns()[0])
                    };
                    V::store_columns(columns, at.add(i).cast(), strides.lane * reals);
                }
            } else {
                for i in 0..rows {
                    let columns = block[i][k].columns();
                    let (re, im) = (lanes_of(columns[0]), lanes_of(columns[1]));
                    for lane in 0..V::W {
                        *at.add(lane * strides.lane + i) = T::from_parts(re[lane], im[lane]);
                    }
                }
            }
        }
    }
}
