//! The functions for batches: systems in many orders in memory, with a matrix each and with one for all, compared with dense matrices.

mod common;

use bandsolve::{RealScalar, Scalar};
use bandsolve_capi::*;
use bandsolve_gallery::oracle::backward_error;
use bandsolve_gallery::{Random, random_vec};
use common::dense::Dense;
use common::{Status, message, new_factor};
use core::ffi::c_char;
use core::ptr::null;

const OK: Status = Status::BANDSOLVE_SUCCESS;
const INVALID: Status = Status::BANDSOLVE_INVALID_ARGUMENT;

type Sv<T> = unsafe extern "C" fn(i64, i64, i64, i64, u8, *const T, *const T, *const T, *mut T) -> Status;
type Trf<T> = unsafe extern "C" fn(i64, i64, i64, i64, u8, *const T, *const T, *const T, bandsolve_factor_t) -> Status;
type BandSv<T> = unsafe extern "C" fn(i64, i64, i64, i64, *const T, i64, i64, i64, *mut T, i64, i64) -> Status;
type BandTrf<T> =
    unsafe extern "C" fn(i64, i64, i64, i64, *const T, i64, i64, i64, i64, i64, bandsolve_factor_t) -> Status;
type TriangleSv<T> = unsafe extern "C" fn(c_char, i64, i64, i64, *const T, i64, i64, i64, *mut T, i64, i64) -> Status;
type TriangleTrf<T> =
    unsafe extern "C" fn(c_char, i64, i64, i64, *const T, i64, i64, i64, i64, i64, bandsolve_factor_t) -> Status;
type BlockSv<T> =
    unsafe extern "C" fn(i64, i64, i64, *const T, *const T, *const T, i64, i64, i64, i64, *mut T, i64, i64) -> Status;
type BlockTrf<T> = unsafe extern "C" fn(
    i64,
    i64,
    i64,
    *const T,
    *const T,
    *const T,
    i64,
    i64,
    i64,
    i64,
    i64,
    i64,
    bandsolve_factor_t,
) -> Status;
type Trs<T> = unsafe extern "C" fn(c_char, bandsolve_factor_t, *mut T) -> Status;

/// The functions of one kind of matrices: to solve once and to factor, for open and for periodic systems, and to solve with factors.
type Functions<S, F, T> = ([(S, F); 2], Trs<T>);

/// The functions of one number type.
trait Batches: Scalar {
    const GT: Functions<Sv<Self>, Trf<Self>, Self>;
    const GB: Functions<BandSv<Self>, BandTrf<Self>, Self>;
    const PB: Functions<TriangleSv<Self>, TriangleTrf<Self>, Self>;
    const BGT: Functions<BlockSv<Self>, BlockTrf<Self>, Self>;
}

macro_rules! batches {
    ($t:ty: $($gt:ident $gt_trf:ident),*; $gt_trs:ident; $($gb:ident $gb_trf:ident),*; $gb_trs:ident;
        $($pb:ident $pb_trf:ident),*; $pb_trs:ident; $($bgt:ident $bgt_trf:ident),*; $bgt_trs:ident) => {
        impl Batches for $t {
            const GT: Functions<Sv<$t>, Trf<$t>, $t> = ([$(($gt, $gt_trf)),*], $gt_trs);
            const GB: Functions<BandSv<$t>, BandTrf<$t>, $t> = ([$(($gb, $gb_trf)),*], $gb_trs);
            const PB: Functions<TriangleSv<$t>, TriangleTrf<$t>, $t> = ([$(($pb, $pb_trf)),*], $pb_trs);
            const BGT: Functions<BlockSv<$t>, BlockTrf<$t>, $t> = ([$(($bgt, $bgt_trf)),*], $bgt_trs);
        }
    };
}
batches!(f32: bandsolve_sgtsv_batch bandsolve_sgttrf_batch, bandsolve_scgtsv_batch bandsolve_scgttrf_batch; bandsolve_sgttrs_batch;
    bandsolve_sgbsv_batch bandsolve_sgbtrf_batch, bandsolve_scgbsv_batch bandsolve_scgbtrf_batch; bandsolve_sgbtrs_batch;
    bandsolve_spbsv_batch bandsolve_spbtrf_batch, bandsolve_scpbsv_batch bandsolve_scpbtrf_batch; bandsolve_spbtrs_batch;
    bandsolve_sbgtsv_batch bandsolve_sbgttrf_batch, bandsolve_scbgtsv_batch bandsolve_scbgttrf_batch; bandsolve_sbgttrs_batch);
batches!(f64: bandsolve_dgtsv_batch bandsolve_dgttrf_batch, bandsolve_dcgtsv_batch bandsolve_dcgttrf_batch; bandsolve_dgttrs_batch;
    bandsolve_dgbsv_batch bandsolve_dgbtrf_batch, bandsolve_dcgbsv_batch bandsolve_dcgbtrf_batch; bandsolve_dgbtrs_batch;
    bandsolve_dpbsv_batch bandsolve_dpbtrf_batch, bandsolve_dcpbsv_batch bandsolve_dcpbtrf_batch; bandsolve_dpbtrs_batch;
    bandsolve_dbgtsv_batch bandsolve_dbgttrf_batch, bandsolve_dcbgtsv_batch bandsolve_dcbgttrf_batch; bandsolve_dbgttrs_batch);
batches!(bandsolve::Complex32: bandsolve_cgtsv_batch bandsolve_cgttrf_batch, bandsolve_ccgtsv_batch bandsolve_ccgttrf_batch;
    bandsolve_cgttrs_batch;
    bandsolve_cgbsv_batch bandsolve_cgbtrf_batch, bandsolve_ccgbsv_batch bandsolve_ccgbtrf_batch; bandsolve_cgbtrs_batch;
    bandsolve_cpbsv_batch bandsolve_cpbtrf_batch, bandsolve_ccpbsv_batch bandsolve_ccpbtrf_batch; bandsolve_cpbtrs_batch;
    bandsolve_cbgtsv_batch bandsolve_cbgttrf_batch, bandsolve_ccbgtsv_batch bandsolve_ccbgttrf_batch; bandsolve_cbgttrs_batch);
batches!(bandsolve::Complex64: bandsolve_zgtsv_batch bandsolve_zgttrf_batch, bandsolve_zcgtsv_batch bandsolve_zcgttrf_batch;
    bandsolve_zgttrs_batch;
    bandsolve_zgbsv_batch bandsolve_zgbtrf_batch, bandsolve_zcgbsv_batch bandsolve_zcgbtrf_batch; bandsolve_zgbtrs_batch;
    bandsolve_zpbsv_batch bandsolve_zpbtrf_batch, bandsolve_zcpbsv_batch bandsolve_zcpbtrf_batch; bandsolve_zpbtrs_batch;
    bandsolve_zbgtsv_batch bandsolve_zbgttrf_batch, bandsolve_zcbgtsv_batch bandsolve_zcbgttrf_batch; bandsolve_zbgttrs_batch);

/// The systems of a batch. If there is one matrix, all systems have it.
struct Systems<T> {
    matrices: Vec<Dense<T>>,
    count: usize,
    /// Distances between entries of the right-hand sides: rows, systems.
    strides: (usize, usize),
    /// The limit of the backward error, in units of ε.
    limit: f64,
}

impl<T: Batches> Systems<T> {
    /// Solve once, and with factors that outlive the arrays of the matrices, which `forget` overwrites.
    fn check(
        &self,
        sv: impl Fn(*mut T) -> Status,
        trf: impl FnOnce(bandsolve_factor_t) -> Status,
        forget: impl FnOnce(),
        trs: Trs<T>,
    ) {
        let (n, (row, system)) = (self.matrices[0].n, self.strides);
        let at = |s: usize, i: usize| i * row + s * system;
        let rhs = random_vec::<T>(at(self.count - 1, n - 1) + 1, &mut Random::new(4));
        let verify = |x: &[T], trans: u8| {
            let unused = |k: usize| row == 1 && k % system >= n;
            assert!((0..x.len()).all(|k| !unused(k) || x[k] == rhs[k]), "an entry between systems was written");
            for s in 0..self.count {
                let of = |array: &[T]| -> Vec<T> { (0..n).map(|i| array[at(s, i)]).collect() };
                let a = self.matrices[s % self.matrices.len()].op(trans);
                let error = backward_error(&a, &of(&rhs), &of(x)) / T::Real::EPSILON.to_f64();
                assert!(
                    error <= self.limit,
                    "n = {n}, strides {row}, {system}, {}, system {s}: {error} ε",
                    trans as char
                );
            }
        };
        let mut x = rhs.clone();
        assert_eq!((sv(x.as_mut_ptr()), message()), (OK, String::new()));
        verify(&x, b'N');
        let factor = new_factor();
        assert_eq!((trf(factor), message()), (OK, String::new()));
        forget();
        for trans in [b'N', b'T', b'C'] {
            let mut x = rhs.clone();
            // SAFETY: an array of this size.
            assert_eq!(unsafe { trs(trans as c_char, factor, x.as_mut_ptr()) }, OK, "{}", message());
            verify(&x, trans);
        }
        // SAFETY: an open handle.
        assert_eq!(unsafe { bandsolve_factor_destroy(factor) }, OK);
    }
}

fn long(value: usize) -> i64 {
    value as i64
}

fn tridiagonal<T: Batches>() {
    let (n, count) = (40, 21);
    for periodic in [false, true] {
        let all: Vec<Dense<T>> = (0..count).map(|s| Dense::random(n, (1, 1), periodic, 100 + s as u64)).collect();
        for strides in [(1, n), (1, n + 3), (count, 1), (2 * count + 1, 2)] {
            for shared in [false, true] {
                let matrices = if shared { all[..1].to_vec() } else { all.clone() };
                let (row, system) = if shared { (1, 0) } else { strides };
                let len = (n - 1) * row + (count - 1) * system + 1;
                let mut arrays = [(); 3].map(|()| vec![T::from_real(T::Real::NAN); len]);
                for (s, a) in matrices.iter().enumerate() {
                    for i in 0..n {
                        let at = i * row + s * system;
                        if i > 0 || periodic {
                            arrays[0][at] = a.at(i, (i + n - 1) % n);
                        }
                        arrays[1][at] = a.at(i, i);
                        if i + 1 < n || periodic {
                            arrays[2][at] = a.at(i, (i + 1) % n);
                        }
                    }
                }
                let [sub, diag, sup] = arrays.each_ref().map(|array| array.as_ptr());
                let (functions, trs) = T::GT;
                let ((sv, trf), shared) = (functions[usize::from(periodic)], u8::from(shared));
                let ([n, count], (row, system)) = ([n, count].map(long), (long(strides.0), long(strides.1)));
                let systems = Systems { matrices, count: count as usize, strides, limit: 16.0 };
                systems.check(
                    // SAFETY: arrays of these sizes.
                    |x| unsafe { sv(n, count, row, system, shared, sub, diag, sup, x) },
                    // SAFETY: as above.
                    |factor| unsafe { trf(n, count, row, system, shared, sub, diag, sup, factor) },
                    || arrays.iter_mut().for_each(|array| array.fill(T::ZERO)),
                    trs,
                );
            }
        }
    }
}

/// LAPACK's order with and without rows for fill-in, a row for each diagonal, interleaved, and one matrix for all.
fn bands<T: Batches>() {
    let count = 19;
    let open = [(23, 2, 2), (23, 0, 3), (23, 8, 1), (23, 1, 1), (5, 2, 3), (1, 1, 0)].map(|sizes| (sizes, false));
    // In the last ones, several entries of `ab` are in the same place of the matrix.
    let periodic = [(23, 2, 2), (23, 0, 3), (31, 7, 1), (8, 3, 4), (5, 2, 3), (2, 1, 1)].map(|sizes| (sizes, true));
    for ((n, lower, upper), periodic) in open.into_iter().chain(periodic) {
        let rows = lower + upper + 1;
        let orders = [
            (1, rows, n * rows),
            (1, rows + lower, n * (rows + lower) + 5),
            (n, 1, n * rows),
            (n * count, count, 1),
            (1, rows, 0),
        ];
        let sides = [(1, n), (1, n + 3), (count, 1)];
        for ((of_row, of_column, of_system), strides) in orders.iter().flat_map(|o| sides.map(|s| (*o, s))) {
            let last = (rows - 1) * of_row + (n - 1) * of_column + (count - 1) * of_system;
            let mut ab = vec![T::from_real(T::Real::NAN); last + 1];
            let number = if of_system == 0 { 1 } else { count };
            let matrices = (0..number).map(|s| {
                let values = random_vec::<T>(n * rows, &mut Random::new((31 * s + 7 * lower + upper) as u64));
                let mut entries = vec![T::ZERO; n * n];
                for (j, r) in (0..n * rows).map(|k| (k / rows, k % rows)) {
                    let i = j + n * rows + r - upper;
                    let inside = periodic || (j + r >= upper && j + r - upper < n);
                    if inside {
                        let more = if r == upper { 3.0 + (lower + upper) as f64 } else { 0.0 };
                        let value = values[j * rows + r] + T::from_real(T::Real::from_f64(more));
                        ab[r * of_row + j * of_column + s * of_system] = value;
                        entries[i % n * n + j] += value;
                    }
                }
                Dense::new(n, |i, j| entries[i * n + j])
            });
            let matrices: Vec<_> = matrices.collect();
            let (functions, trs) = T::GB;
            let ((sv, trf), at_ab) = (functions[usize::from(periodic)], ab.as_ptr());
            // The limit of the contract, and the rounding of this measurement. A periodic band is solved with twice as many diagonals.
            let entries = if periodic { 2 * rows } else { rows };
            let systems = Systems { matrices, count, strides, limit: (8 + entries + 4) as f64 };
            let [n, lower, upper, count] = [n, lower, upper, count].map(long);
            let ([of_row, of_column, of_system], [row, system]) =
                ([of_row, of_column, of_system].map(long), [strides.0, strides.1].map(long));
            systems.check(
                // SAFETY: arrays of these sizes.
                |x| unsafe { sv(n, lower, upper, count, at_ab, of_row, of_column, of_system, x, row, system) },
                // SAFETY: as above.
                |factor| unsafe {
                    trf(n, lower, upper, count, at_ab, of_row, of_column, of_system, row, system, factor)
                },
                || ab.fill(T::ZERO),
                trs,
            );
        }
    }
}

/// One triangle of definite matrices, in the orders of [`bands`].
fn triangles<T: Batches>() {
    let count = 19;
    let open = [(23, 2), (23, 0), (23, 9), (23, 1), (5, 4), (1, 1)].map(|sizes| (sizes, false));
    // In the last ones, several entries of `ab` are in the same place of the matrix.
    let periodic = [(23, 2), (23, 0), (31, 7), (8, 4), (5, 3), (2, 1)].map(|sizes| (sizes, true));
    for ((n, width), periodic) in open.into_iter().chain(periodic) {
        let rows = width + 1;
        let orders = [
            (1, rows, n * rows),
            (1, rows + 2, n * (rows + 2) + 5),
            (n, 1, n * rows),
            (n * count, count, 1),
            (1, rows, 0),
        ];
        let sides = [(1, n), (1, n + 3), (count, 1)];
        let all = orders.iter().flat_map(|order| sides.map(|strides| (*order, strides)));
        for (((of_row, of_column, of_system), strides), lower) in
            all.flat_map(|how| [true, false].map(|lower| (how, lower)))
        {
            let last = (rows - 1) * of_row + (n - 1) * of_column + (count - 1) * of_system;
            let mut ab = vec![T::from_real(T::Real::NAN); last + 1];
            let number = if of_system == 0 { 1 } else { count };
            let matrices = (0..number).map(|s| {
                let values = random_vec::<T>(n * rows, &mut Random::new((31 * s + 7 * width) as u64));
                let mut entries = vec![T::ZERO; n * n];
                for (j, k) in (0..n * rows).map(|at| (at / rows, at % rows)) {
                    // Entry (j + k, j), of which the upper triangle has the conjugate in column j + k.
                    let i = (j + k) % n;
                    if !periodic && j + k >= n {
                        continue;
                    }
                    let value =
                        if k == 0 { T::from_real(T::Real::from_f64(3.0 * rows as f64)) } else { values[j * rows + k] };
                    let (column, r, stored) = if lower { (j, k, value) } else { (i, width - k, Scalar::conj(value)) };
                    ab[r * of_row + column * of_column + s * of_system] = stored;
                    entries[i * n + j] += value;
                    if k > 0 {
                        entries[j * n + i] += Scalar::conj(value);
                    }
                }
                Dense::new(n, |i, j| entries[i * n + j])
            });
            let matrices: Vec<_> = matrices.collect();
            let (functions, trs) = T::PB;
            let ((sv, trf), at_ab) = (functions[usize::from(periodic)], ab.as_ptr());
            let entries = if periodic { 4 * rows } else { 2 * rows };
            let systems = Systems { matrices, count, strides, limit: (8 + entries + 4) as f64 };
            let uplo = if lower { b'L' } else { b'U' } as c_char;
            let [n, width, count] = [n, width, count].map(long);
            let ([of_row, of_column, of_system], [row, system]) =
                ([of_row, of_column, of_system].map(long), [strides.0, strides.1].map(long));
            systems.check(
                // SAFETY: arrays of these sizes.
                |x| unsafe { sv(uplo, n, width, count, at_ab, of_row, of_column, of_system, x, row, system) },
                // SAFETY: as above.
                |factor| unsafe {
                    trf(uplo, n, width, count, at_ab, of_row, of_column, of_system, row, system, factor)
                },
                || ab.fill(T::ZERO),
                trs,
            );
        }
    }
}

/// Blocks by columns, by rows, interleaved, and one matrix for all.
fn blocks<T: Batches>() {
    let count = 11;
    let open = [(9, 1), (9, 2), (7, 3), (5, 5), (4, 8), (1, 4)].map(|sizes| (sizes, false));
    let periodic = [(9, 1), (9, 2), (7, 3), (5, 5), (2, 2), (1, 4)].map(|sizes| (sizes, true));
    for ((rows, block), periodic) in open.into_iter().chain(periodic) {
        let (n, square) = (rows * block, block * block);
        let orders = [
            (square, 1, block, rows * square),
            (square, block, 1, rows * square + 3),
            (square * count, count, block * count, 1),
            (square, 1, block, 0),
        ];
        let sides = [(1, n), (1, n + 3), (count, 1)];
        for ((of_block, of_row, of_column, of_system), strides) in orders.iter().flat_map(|o| sides.map(|s| (*o, s))) {
            let last = (rows - 1) * of_block + (block - 1) * (of_row + of_column) + (count - 1) * of_system;
            let mut arrays = [(); 3].map(|()| vec![T::from_real(T::Real::NAN); last + 1]);
            let number = if of_system == 0 { 1 } else { count };
            let matrices = (0..number).map(|s| {
                let values = random_vec::<T>(3 * n * block, &mut Random::new((31 * s + 7 * block) as u64));
                let mut entries = vec![T::ZERO; n * n];
                for (k, value) in values.into_iter().enumerate() {
                    let (array, i, r, c) = (k / (n * block), k / square % rows, k / block % block, k % block);
                    let outside = array == 0 && i == 0 || array == 2 && i + 1 == rows;
                    if periodic || !outside {
                        let more = if array == 1 && r == c { 3.0 * block as f64 } else { 0.0 };
                        let value = value + T::from_real(T::Real::from_f64(more));
                        arrays[array][i * of_block + r * of_row + c * of_column + s * of_system] = value;
                        entries[(i * block + r) * n + (i + rows + array - 1) % rows * block + c] += value;
                    }
                }
                Dense::new(n, |i, j| entries[i * n + j])
            });
            let matrices: Vec<_> = matrices.collect();
            let (functions, trs) = T::BGT;
            let (sv, trf) = functions[usize::from(periodic)];
            let [sub, diag, sup] = arrays.each_ref().map(|array| array.as_ptr());
            // As for bands: a row has up to 4·block − 1 entries of a band, and periodic blocks are solved with twice as many.
            let entries = if periodic { 8 * block } else { 4 * block };
            let systems = Systems { matrices, count, strides, limit: (8 + entries + 4) as f64 };
            let [rows, block, count] = [rows, block, count].map(long);
            let [of_block, of_row, of_column, of_system] = [of_block, of_row, of_column, of_system].map(long);
            let [row, system] = [strides.0, strides.1].map(long);
            systems.check(
                // SAFETY: arrays of these sizes.
                |x| unsafe {
                    sv(rows, block, count, sub, diag, sup, of_block, of_row, of_column, of_system, x, row, system)
                },
                // SAFETY: as above.
                |factor| unsafe {
                    trf(rows, block, count, sub, diag, sup, of_block, of_row, of_column, of_system, row, system, factor)
                },
                || arrays.iter_mut().for_each(|array| array.fill(T::ZERO)),
                trs,
            );
        }
    }
}

for_all_types!(tridiagonal, bands, triangles, blocks);

fn says(status: Status, expected: Status, text: &str) {
    assert_eq!(status, expected, "{}", message());
    assert!(message().contains(text), "{}", message());
}

#[test]
fn wrong_arguments_are_named() {
    let (diag, mut x) = ([4.0; 40], [1.0; 40]);
    let (diag_at, x_at) = (diag.as_ptr(), x.as_mut_ptr());
    // SAFETY: arrays of the sizes in valid calls; the functions detect the others.
    unsafe {
        says(bandsolve_dgtsv_batch(4, 3, 1, 3, 0, diag_at, diag_at, diag_at, x_at), INVALID, "same place");
        let bands = |kl, ab: *const f64, strides: [i64; 3], row| {
            let [of_row, of_column, of_system] = strides;
            bandsolve_dgbsv_batch(3, kl, 1, 2, ab, of_row, of_column, of_system, x_at, row, 3)
        };
        says(bands(16, diag_at, [1, 18, 54], 1), INVALID, "kl is 16 and ku is 1, expected at most 15 each");
        says(bands(-1, diag_at, [1, 3, 9], 1), INVALID, "kl is -1");
        says(bands(1, null(), [1, 3, 9], 1), INVALID, "ab is null, expected 18 elements");
        says(bands(1, diag_at, [1, -3, 9], 1), INVALID, "ab_column_stride is -3");
        says(bands(1, diag_at, [1, i64::MAX, i64::MAX], 1), INVALID, "more than can be addressed");
        says(bands(1, x_at, [1, 3, 9], 1), INVALID, "rhs overlaps ab");
        says(bands(1, diag_at, [0, 0, 0], 3), INVALID, "same place");
        let status = bandsolve_dcgbsv_batch(3, 8, 1, 2, diag_at, 1, 10, 30, x_at, 1, 3);
        says(status, INVALID, "kl is 8 and ku is 1, expected at most 7 each");
        let triangle = |uplo: u8, kd| bandsolve_dpbsv_batch(uplo as c_char, 3, kd, 2, diag_at, 1, 2, 6, x_at, 1, 3);
        says(triangle(b'X', 1), INVALID, "uplo is 'X', expected 'U' or 'L'");
        says(triangle(b'L', 16), INVALID, "kd is 16, expected at most 15");
        says(triangle(b'L', -1), INVALID, "kd is -1");
        says(triangle(b'L', 1), Status::BANDSOLVE_NOT_DEFINITE, "not Hermitian positive definite: first seen in row 1");
        let blocks = |n, block, diag: *const f64, of_block, of_row| {
            bandsolve_dbgtsv_batch(n, block, 2, diag_at, diag, diag_at, of_block, of_row, 2, 12, x_at, 1, 6)
        };
        says(blocks(3, 0, diag_at, 4, 1), INVALID, "block is 0, expected 1 to 8");
        says(blocks(3, 9, diag_at, 81, 1), INVALID, "block is 9, expected 1 to 8");
        says(blocks(-3, 2, diag_at, 4, 1), INVALID, "n is -3");
        says(blocks(i64::MAX, 2, diag_at, 4, 1), INVALID, "more than can be addressed");
        says(blocks(3, 2, null(), 4, 1), INVALID, "diag is null, expected 24 elements");
        says(blocks(3, 2, diag_at, -4, 1), INVALID, "block_stride is -4");
        says(blocks(3, 2, diag_at, 4, i64::MAX), INVALID, "more than can be addressed");
        says(blocks(3, 2, x_at, 4, 1), INVALID, "rhs overlaps diag");
        let status = bandsolve_dcbgtsv_batch(1, 6, 1, diag_at, diag_at, diag_at, 36, 1, 6, 36, x_at, 1, 6);
        says(status, INVALID, "block is 6, expected 1 to 5");
    }
}

/// Factors of another kind of batch, and a function for one system.
#[test]
fn factors_of_other_functions_are_rejected() {
    let (diag, off, mut x) = ([4.0; 12], [1.0; 12], [1.0; 12]);
    let (diag, off, x) = (diag.as_ptr(), off.as_ptr(), x.as_mut_ptr());
    let factor = new_factor();
    let needs = |status, made: &str, needed: &str| {
        let expected = format!("factor comes from {made}, but this routine needs factors of {needed}");
        assert_eq!((status, message()), (Status::BANDSOLVE_INVALID_BUFFER, expected));
    };
    let letter = b'N' as c_char;
    // SAFETY: arrays of these sizes.
    unsafe {
        assert_eq!(bandsolve_dgbtrf_batch(4, 0, 0, 3, diag, 1, 1, 4, 1, 4, factor), OK, "{}", message());
        needs(bandsolve_dgttrs_batch(letter, factor, x), "gbtrf_batch", "gttrf_batch");
        needs(bandsolve_dbgttrs_batch(letter, factor, x), "gbtrf_batch", "bgttrf_batch");
        needs(bandsolve_dpbtrs_batch(letter, factor, x), "gbtrf_batch", "pbtrf_batch");
        let status = bandsolve_dbgttrf_batch(4, 1, 3, off, diag, off, 1, 1, 1, 4, 1, 4, factor);
        assert_eq!(status, OK, "{}", message());
        needs(bandsolve_dgbtrs_batch(letter, factor, x), "bgttrf_batch", "gbtrf_batch");
        needs(bandsolve_dgttrs(letter, 1, factor, x, 4), "bgttrf_batch", "gttrf");
        assert_eq!(bandsolve_dbgttrs_batch(letter, factor, x), OK, "{}", message());
        assert_eq!(bandsolve_factor_destroy(factor), OK);
    }
}

#[test]
fn indices_are_those_of_the_caller() {
    let not_finite = Status::BANDSOLVE_NOT_FINITE;
    // Three pentadiagonal systems with a row for each diagonal. Entry (5, 4) of the second system, then row 5 of the third one.
    let mut ab = [1.0; 150];
    (0..3).for_each(|s| ab[50 * s + 20..50 * s + 30].fill(9.0));
    let mut x = [1.0; 36];
    // SAFETY: arrays of these sizes.
    let solve = |ab: &[f64; 150], x: &mut [f64; 36], periodic: bool| unsafe {
        let function = if periodic { bandsolve_dcgbsv_batch } else { bandsolve_dgbsv_batch };
        function(10, 2, 2, 3, ab.as_ptr(), 10, 1, 50, x.as_mut_ptr(), 1, 13)
    };
    for periodic in [false, true] {
        ab[84] = f64::NAN;
        says(solve(&ab, &mut x, periodic), not_finite, "ab[84]");
        ab[84] = 1.0;
        x = [1.0; 36];
        x[31] = f64::INFINITY;
        says(solve(&ab, &mut x, periodic), not_finite, "rhs[31]");
    }
    // Entry (1, 0) of block 3 of the second of two systems with blocks of two rows, then row 4 of its right-hand side.
    let (mut sup, mut diag) = ([0.5; 40], [0.5; 40]);
    (0..20).for_each(|k| diag[4 * (k / 2) + 3 * (k % 2)] = 9.0);
    let mut x = [1.0; 23];
    let solve = |sup: &[f64; 40], x: &mut [f64; 23]| {
        let (sub, diag, sup) = ([0.5; 40], diag.as_ptr(), sup.as_ptr());
        // SAFETY: arrays of these sizes.
        unsafe { bandsolve_dbgtsv_batch(5, 2, 2, sub.as_ptr(), diag, sup, 4, 1, 2, 20, x.as_mut_ptr(), 1, 13) }
    };
    sup[4 * 3 + 1 + 20] = f64::INFINITY;
    says(solve(&sup, &mut x), not_finite, "sup[33]");
    sup[33] = 0.5;
    x = [1.0; 23];
    x[17] = f64::NAN;
    says(solve(&sup, &mut x), not_finite, "rhs[17]");
}

/// Without unknowns or systems, nothing is read or written.
#[test]
fn empty_batches_are_solved() {
    let (none, out) = (null::<f64>(), core::ptr::null_mut::<f64>());
    for (n, count) in [(0, 3), (4, 0), (0, 0)] {
        // SAFETY: no array has an entry.
        let all = unsafe {
            [
                bandsolve_dcgbsv_batch(n, 1, 1, count, none, 1, 3, 3 * n, out, 1, n),
                bandsolve_dbgtsv_batch(n, 2, count, none, none, none, 4, 1, 2, 4 * n, out, 1, 2 * n),
                bandsolve_dcbgtsv_batch(n, 2, count, none, none, none, 4, 1, 2, 4 * n, out, 1, 2 * n),
            ]
        };
        assert_eq!(all, [OK; 3], "{n} {count}: {}", message());
    }
}
