//! The functions with LAPACK's names: solutions against residuals of independent code, factors that outlive the arrays, every argument.

mod common;

use bandsolve::{RealScalar, Scalar};
use bandsolve_capi::*;
use bandsolve_gallery::oracle::{backward_error, condition_1};
use bandsolve_gallery::{Random, random_vec};
use common::dense::Dense;
use common::{Status, message, new_factor, report};
use core::ffi::c_char;
use core::ptr::{null, null_mut};

const OK: Status = Status::BANDSOLVE_SUCCESS;
const INVALID: Status = Status::BANDSOLVE_INVALID_ARGUMENT;

type Sv<T> = unsafe extern "C" fn(i64, i64, *const T, *const T, *const T, *mut T, i64) -> Status;
type Trf<T> = unsafe extern "C" fn(i64, *const T, *const T, *const T, bandsolve_factor_t) -> Status;
type Trs<T> = unsafe extern "C" fn(c_char, i64, bandsolve_factor_t, *mut T, i64) -> Status;
type Con<T> = unsafe extern "C" fn(c_char, bandsolve_factor_t, *mut <T as Scalar>::Real) -> Status;
type GbSv<T> = unsafe extern "C" fn(i64, i64, i64, i64, *const T, i64, *mut T, i64) -> Status;
type GbTrf<T> = unsafe extern "C" fn(i64, i64, i64, *const T, i64, bandsolve_factor_t) -> Status;
type PtSv<T> = unsafe extern "C" fn(i64, i64, *const <T as Scalar>::Real, *const T, *mut T, i64) -> Status;
type PtTrf<T> = unsafe extern "C" fn(i64, *const <T as Scalar>::Real, *const T, bandsolve_factor_t) -> Status;
type PbSv<T> = unsafe extern "C" fn(c_char, i64, i64, i64, *const T, i64, *mut T, i64) -> Status;
type PbTrf<T> = unsafe extern "C" fn(c_char, i64, i64, *const T, i64, bandsolve_factor_t) -> Status;
type BgSv<T> = unsafe extern "C" fn(i64, i64, i64, *const T, *const T, *const T, *mut T, i64) -> Status;
type BgTrf<T> = unsafe extern "C" fn(i64, i64, *const T, *const T, *const T, bandsolve_factor_t) -> Status;
type Det<T> = unsafe extern "C" fn(bandsolve_factor_t, *mut T, *mut f64) -> Status;
type BatchTrs<T> = unsafe extern "C" fn(c_char, bandsolve_factor_t, *mut T) -> Status;

/// The functions of one number type.
trait Lapack: Scalar {
    const GT: (Sv<Self>, Trf<Self>, Trs<Self>, Con<Self>);
    const CGT: (Sv<Self>, Trf<Self>, Trs<Self>, Con<Self>);
    const GB: (GbSv<Self>, GbTrf<Self>, Trs<Self>, Con<Self>);
    const PT: (PtSv<Self>, PtTrf<Self>, Trs<Self>, Con<Self>);
    const PB: (PbSv<Self>, PbTrf<Self>, Trs<Self>, Con<Self>);
    const BGT: (BgSv<Self>, BgTrf<Self>, Trs<Self>, Con<Self>);
    const DET: Det<Self>;
    const BATCH_TRS: BatchTrs<Self>;
}

macro_rules! lapack {
    ($t:ty: $($gt:ident)*; $($cgt:ident)*; $($gb:ident)*; $($pt:ident)*; $($pb:ident)*; $($bgt:ident)*; $det:ident;
        $batch_trs:ident) => {
        impl Lapack for $t {
            const GT: (Sv<$t>, Trf<$t>, Trs<$t>, Con<$t>) = ($($gt),*);
            const CGT: (Sv<$t>, Trf<$t>, Trs<$t>, Con<$t>) = ($($cgt),*);
            const GB: (GbSv<$t>, GbTrf<$t>, Trs<$t>, Con<$t>) = ($($gb),*);
            const PT: (PtSv<$t>, PtTrf<$t>, Trs<$t>, Con<$t>) = ($($pt),*);
            const PB: (PbSv<$t>, PbTrf<$t>, Trs<$t>, Con<$t>) = ($($pb),*);
            const BGT: (BgSv<$t>, BgTrf<$t>, Trs<$t>, Con<$t>) = ($($bgt),*);
            const DET: Det<$t> = $det;
            const BATCH_TRS: BatchTrs<$t> = $batch_trs;
        }
    };
}
lapack!(f32: bandsolve_sgtsv bandsolve_sgttrf bandsolve_sgttrs bandsolve_sgtcon; bandsolve_scgtsv bandsolve_scgttrf bandsolve_scgttrs bandsolve_scgtcon;
    bandsolve_sgbsv bandsolve_sgbtrf bandsolve_sgbtrs bandsolve_sgbcon;
    bandsolve_sptsv bandsolve_spttrf bandsolve_spttrs bandsolve_sptcon;
    bandsolve_spbsv bandsolve_spbtrf bandsolve_spbtrs bandsolve_spbcon;
    bandsolve_sbgtsv bandsolve_sbgttrf bandsolve_sbgttrs bandsolve_sbgtcon; bandsolve_sfactor_det;
    bandsolve_sgttrs_batch);
lapack!(f64: bandsolve_dgtsv bandsolve_dgttrf bandsolve_dgttrs bandsolve_dgtcon; bandsolve_dcgtsv bandsolve_dcgttrf bandsolve_dcgttrs bandsolve_dcgtcon;
    bandsolve_dgbsv bandsolve_dgbtrf bandsolve_dgbtrs bandsolve_dgbcon;
    bandsolve_dptsv bandsolve_dpttrf bandsolve_dpttrs bandsolve_dptcon;
    bandsolve_dpbsv bandsolve_dpbtrf bandsolve_dpbtrs bandsolve_dpbcon;
    bandsolve_dbgtsv bandsolve_dbgttrf bandsolve_dbgttrs bandsolve_dbgtcon; bandsolve_dfactor_det;
    bandsolve_dgttrs_batch);
lapack!(bandsolve::Complex32: bandsolve_cgtsv bandsolve_cgttrf bandsolve_cgttrs bandsolve_cgtcon; bandsolve_ccgtsv bandsolve_ccgttrf bandsolve_ccgttrs bandsolve_ccgtcon;
    bandsolve_cgbsv bandsolve_cgbtrf bandsolve_cgbtrs bandsolve_cgbcon;
    bandsolve_cptsv bandsolve_cpttrf bandsolve_cpttrs bandsolve_cptcon;
    bandsolve_cpbsv bandsolve_cpbtrf bandsolve_cpbtrs bandsolve_cpbcon;
    bandsolve_cbgtsv bandsolve_cbgttrf bandsolve_cbgttrs bandsolve_cbgtcon; bandsolve_cfactor_det;
    bandsolve_cgttrs_batch);
lapack!(bandsolve::Complex64: bandsolve_zgtsv bandsolve_zgttrf bandsolve_zgttrs bandsolve_zgtcon; bandsolve_zcgtsv bandsolve_zcgttrf bandsolve_zcgttrs bandsolve_zcgtcon;
    bandsolve_zgbsv bandsolve_zgbtrf bandsolve_zgbtrs bandsolve_zgbcon;
    bandsolve_zptsv bandsolve_zpttrf bandsolve_zpttrs bandsolve_zptcon;
    bandsolve_zpbsv bandsolve_zpbtrf bandsolve_zpbtrs bandsolve_zpbcon;
    bandsolve_zbgtsv bandsolve_zbgttrf bandsolve_zbgttrs bandsolve_zbgtcon; bandsolve_zfactor_det;
    bandsolve_zgttrs_batch);

/// The functions that have the same arguments for all matrices, and a closure for the ones that have not.
struct Calls<'a, T: Lapack> {
    sv: &'a dyn Fn(i64, *mut T, i64) -> Status,
    trf: &'a dyn Fn(bandsolve_factor_t) -> Status,
    trs: Trs<T>,
    con: Con<T>,
}

/// Solve by all functions, for several right-hand sides and a leading dimension with gaps.
fn check<T: Lapack>(a: &Dense<T>, calls: &Calls<'_, T>) {
    let (n, epsilon) = (a.n, T::Real::EPSILON.to_f64());
    let gap = T::from_real(T::Real::from_f64(77.0));
    let factor = new_factor();
    assert_eq!((calls.trf)(factor), OK, "{}", message());
    for (n_rhs, more) in [(1, 0), (3, 0), (2, 3), (0, 0)] {
        let leading = n + more;
        let rhs = random_vec::<T>(leading * n_rhs, &mut Random::new(5));
        let with_gaps = |k: usize| if k % leading.max(1) < n { rhs[k] } else { gap };
        let given: Vec<T> = (0..leading * n_rhs).map(with_gaps).collect();
        let verify = |x: &[T], trans: u8| {
            let a = a.op(trans);
            for k in 0..n_rhs {
                let columns = [&x[k * leading..][..n], &given[k * leading..][..n]];
                let error = backward_error(&a, columns[1], columns[0]);
                assert!(error <= 16.0 * epsilon, "n = {n}, {}, column {k}: {error}", trans as char);
                assert!(x[k * leading..][n..leading].iter().all(|v| *v == gap), "a gap was written");
            }
        };
        let mut x = given.clone();
        assert_eq!((calls.sv)(n_rhs as i64, x.as_mut_ptr(), leading as i64), OK, "{}", message());
        verify(&x, b'N');
        for (trans, upper) in [(b'N', b'N'), (b't', b'T'), (b'C', b'C')] {
            let mut x = given.clone();
            // SAFETY: an array of this size.
            let status = unsafe { (calls.trs)(trans as c_char, n_rhs as i64, factor, x.as_mut_ptr(), leading as i64) };
            assert_eq!((status, message()), (OK, String::new()));
            verify(&x, upper);
            assert!(n_rhs == 0 || n == 0 || report().0.backward_error <= 8.0 * epsilon);
        }
    }
    let mut rcond = T::Real::NAN;
    // SAFETY: a place for the number.
    assert_eq!(unsafe { (calls.con)(b'1' as c_char, factor, &mut rcond) }, OK, "{}", message());
    if n > 0 {
        let exact = 1.0 / condition_1(a);
        let rcond = rcond.to_f64();
        assert!(rcond >= 0.99 * exact && rcond <= 10.0 * exact, "n = {n}: {rcond}, expected {exact}");
        let mut same = 0.0;
        // SAFETY: as above.
        assert_eq!(unsafe { bandsolve_factor_rcond(b'O' as c_char, factor, &mut same) }, OK, "{}", message());
        assert!((same / rcond - 1.0).abs() <= epsilon, "{same}, {rcond}");
    }
    // SAFETY: this is the last use.
    assert_eq!(unsafe { bandsolve_factor_destroy(factor) }, OK);
}

const SIZES: [usize; 8] = [0, 1, 2, 3, 10, 33, 150, 300];

fn tridiagonal<T: Lapack>() {
    for n in SIZES {
        for cyclic in [false, true] {
            if cyclic && n < 3 {
                continue;
            }
            let a = Dense::<T>::random(n, (1, 1), cyclic, 3 + n as u64);
            let (mut sub, diag, mut sup) = (a.off(true), a.diag(), a.off(false));
            if cyclic {
                sub.insert(0, a.at(0, n - 1));
                sup.push(a.at(n - 1, 0));
            }
            let (sv, trf, trs, con) = if cyclic { T::CGT } else { T::GT };
            // SAFETY: arrays of these sizes.
            let solve = |n_rhs, x, leading| unsafe {
                sv(n as i64, n_rhs, sub.as_ptr(), diag.as_ptr(), sup.as_ptr(), x, leading)
            };
            let factor = |factor| {
                let arrays = [sub.clone(), diag.clone(), sup.clone()];
                let [sub, diag, sup] = &arrays;
                // SAFETY: as above. The arrays are freed after the call.
                unsafe { trf(n as i64, sub.as_ptr(), diag.as_ptr(), sup.as_ptr(), factor) }
            };
            check(&a, &Calls { sv: &solve, trf: &factor, trs, con });
        }
    }
}

fn banded<T: Lapack>() {
    for (n, lower, upper) in
        [(0, 1, 1), (1, 0, 0), (3, 4, 4), (20, 0, 3), (33, 2, 1), (40, 1, 1), (150, 5, 7), (200, 2, 2)]
    {
        let a = Dense::<T>::random(n, (lower, upper), false, 11);
        for more in [0, 2] {
            let leading = 2 * lower + upper + 1 + more;
            // What the function must ignore is NaN.
            let mut ab = vec![T::from_real(T::Real::NAN); leading * n];
            for j in 0..n {
                for i in j.saturating_sub(upper)..(j + lower + 1).min(n) {
                    ab[lower + upper + i - j + j * leading] = a.at(i, j);
                }
            }
            let (sv, trf, trs, con) = T::GB;
            let (kl, ku, ldab) = (lower as i64, upper as i64, leading as i64);
            // SAFETY: arrays of these sizes.
            let solve = |n_rhs, x, ldb| unsafe { sv(n as i64, kl, ku, n_rhs, ab.as_ptr(), ldab, x, ldb) };
            // SAFETY: as above.
            let factor = |factor| unsafe { trf(n as i64, kl, ku, ab.clone().as_ptr(), ldab, factor) };
            check(&a, &Calls { sv: &solve, trf: &factor, trs, con });
        }
    }
}

fn positive_definite<T: Lapack>() {
    for (n, width) in [(0, 1), (1, 0), (2, 1), (3, 4), (33, 1), (40, 3), (150, 1), (150, 9)] {
        let a = Dense::<T>::hermitian(n, width, 17);
        if width == 1 {
            let diag: Vec<T::Real> = a.diag().iter().map(|v| v.re()).collect();
            let off = a.off(true);
            let (sv, trf, trs, con) = T::PT;
            // SAFETY: arrays of these sizes.
            let solve = |n_rhs, x, ldb| unsafe { sv(n as i64, n_rhs, diag.as_ptr(), off.as_ptr(), x, ldb) };
            // SAFETY: as above.
            let factor = |factor| unsafe { trf(n as i64, diag.as_ptr(), off.as_ptr(), factor) };
            check(&a, &Calls { sv: &solve, trf: &factor, trs, con });
        }
        for uplo in [b'U', b'l'] {
            let leading = width + 2;
            let mut ab = vec![T::from_real(T::Real::NAN); leading * n];
            for j in 0..n {
                for i in j.saturating_sub(width)..(j + width + 1).min(n) {
                    if uplo == b'U' && i <= j {
                        ab[width + i - j + j * leading] = a.at(i, j);
                    } else if uplo == b'l' && i >= j {
                        ab[i - j + j * leading] = a.at(i, j);
                    }
                }
            }
            let (sv, trf, trs, con) = T::PB;
            let (uplo, kd, ldab) = (uplo as c_char, width as i64, leading as i64);
            // SAFETY: arrays of these sizes.
            let solve = |n_rhs, x, ldb| unsafe { sv(uplo, n as i64, kd, n_rhs, ab.as_ptr(), ldab, x, ldb) };
            // SAFETY: as above.
            let factor = |factor| unsafe { trf(uplo, n as i64, kd, ab.as_ptr(), ldab, factor) };
            check(&a, &Calls { sv: &solve, trf: &factor, trs, con });
        }
    }
}

fn blocks<T: Lapack>() {
    for (rows, b) in [(0, 2), (1, 3), (7, 1), (40, 2), (30, 5)] {
        let n = rows * b;
        let full = Dense::<T>::random(n, (2 * b, 2 * b), false, 23);
        let a = Dense::new(n, |i, j| if (i / b).abs_diff(j / b) <= 1 { full.at(i, j) } else { T::ZERO });
        let block = |row: usize, column: usize| (0..b * b).map(move |k| (row * b + k % b, column * b + k / b));
        let of = |blocks: Vec<(usize, usize)>| -> Vec<T> {
            blocks.into_iter().flat_map(|(row, column)| block(row, column)).map(|(i, j)| a.at(i, j)).collect()
        };
        let sub = of((1..rows).map(|row| (row, row - 1)).collect());
        let diag = of((0..rows).map(|row| (row, row)).collect());
        let sup = of((1..rows).map(|row| (row - 1, row)).collect());
        let (sv, trf, trs, con) = T::BGT;
        let (rows, b) = (rows as i64, b as i64);
        // SAFETY: arrays of these sizes.
        let solve = |n_rhs, x, ldb| unsafe { sv(rows, b, n_rhs, sub.as_ptr(), diag.as_ptr(), sup.as_ptr(), x, ldb) };
        // SAFETY: as above.
        let factor = |factor| unsafe { trf(rows, b, sub.as_ptr(), diag.as_ptr(), sup.as_ptr(), factor) };
        check(&a, &Calls { sv: &solve, trf: &factor, trs, con });
    }
}

/// A handle is used for one matrix after the other, and the determinant is that of the last one.
fn handles_are_used_again<T: Lapack>() {
    let factor = new_factor();
    let (mut phase, mut log_abs) = (T::ZERO, 0.0);
    for n in [3, 1, 400] {
        let off = vec![T::ZERO; n - 1];
        let diag = vec![T::from_real(T::Real::from_f64(-10.0)); n];
        // SAFETY: arrays of these sizes.
        unsafe {
            assert_eq!(T::GT.1(n as i64, off.as_ptr(), diag.as_ptr(), off.as_ptr(), factor), OK, "{}", message());
            assert_eq!(T::DET(factor, &mut phase, &mut log_abs), OK, "{}", message());
        }
        let sign = T::Real::from_f64(if n % 2 == 1 { -1.0 } else { 1.0 });
        assert!(phase == T::from_real(sign), "n = {n}");
        assert!((log_abs / (n as f64 * 10_f64.ln()) - 1.0).abs() < 1e-6);
    }
    // Factors of another kind, and an empty handle.
    let mut x = vec![T::ZERO; 400];
    let (n_rhs, ldb) = (1, 400);
    // SAFETY: arrays of these sizes.
    unsafe {
        let status = T::GB.2(b'N' as c_char, n_rhs, factor, x.as_mut_ptr(), ldb);
        let expected = "factor comes from gttrf, but this routine needs factors of gbtrf";
        assert_eq!((status, message().as_str()), (Status::BANDSOLVE_INVALID_BUFFER, expected));
        assert_eq!(T::BATCH_TRS(b'N' as c_char, factor, x.as_mut_ptr()), Status::BANDSOLVE_INVALID_BUFFER);
        assert_eq!(T::GT.1(-1, null(), null(), null(), factor), INVALID);
        let status = T::GT.2(b'N' as c_char, n_rhs, factor, x.as_mut_ptr(), ldb);
        assert_eq!(status, Status::BANDSOLVE_INVALID_BUFFER, "{}", message());
        assert!(message().starts_with("factor is empty"), "{}", message());
        assert_eq!(bandsolve_factor_destroy(factor), OK);
    }
}

for_all_types!(tridiagonal, banded, positive_definite, blocks, handles_are_used_again);

fn says(status: Status, expected: Status, text: &str) {
    assert_eq!(status, expected, "{}", message());
    assert!(message().contains(text), "{}", message());
}

#[test]
fn wrong_arguments_are_named() {
    let (off, diag) = ([-1.0; 9], [4.0; 10]);
    let mut x = [1.0; 20];
    let (sub, diag_at, x_at) = (off.as_ptr(), diag.as_ptr(), x.as_mut_ptr());
    let factor = new_factor();
    // SAFETY: arrays of the sizes in valid calls; the functions detect the others.
    unsafe {
        assert_eq!(bandsolve_dgttrf(10, sub, diag_at, sub, factor), OK);
        let trs = |trans: u8, n_rhs, ldb| bandsolve_dgttrs(trans as c_char, n_rhs, factor, x_at, ldb);
        says(trs(b'X', 1, 10), INVALID, "trans is 'X', expected 'N', 'T' or 'C'");
        says(trs(b'N', 2, 9), INVALID, "ld_rhs is 9, expected at least 10");
        says(trs(b'N', -1, 10), INVALID, "n_rhs");
        says(bandsolve_dgttrs(b'N' as c_char, 1, null_mut(), x_at, 10), INVALID, "factor is null");
        says(bandsolve_dgttrs(b'N' as c_char, 1, factor, null_mut(), 10), INVALID, "rhs is null");
        says(bandsolve_dgttrf(10, sub, diag_at, sub, null_mut()), INVALID, "factor is null");
        let mut rcond = 0.0;
        says(bandsolve_dgtcon(b'F' as c_char, factor, &mut rcond), INVALID, "norm is 'F'");
        let mut single = [1.0_f32; 10];
        let status = bandsolve_sgttrs(b'N' as c_char, 1, factor, single.as_mut_ptr(), 10);
        says(status, Status::BANDSOLVE_INVALID_BUFFER, "another number type");
        // The matrix of one call is not copied, so rhs must not overlap it.
        says(bandsolve_dgtsv(10, 1, sub, x_at, sub, x_at, 10), INVALID, "rhs overlaps diag");
        says(bandsolve_dgbsv(10, 1, 1, 1, x_at, 3, x_at, 10), INVALID, "ldab is 3, expected at least 2 kl + ku + 1");
        // Also if the matrix has no factors.
        let none = [-1.0; 10];
        says(bandsolve_dptsv(10, 1, none.as_ptr(), sub, x_at, 9), INVALID, "ld_rhs is 9, expected at least 10");
        says(bandsolve_dpbsv(b'?' as c_char, 10, 1, 1, x_at, 3, x_at, 10), INVALID, "uplo is '?'");
        // A failure leaves an empty handle.
        let nan = [f64::NAN; 10];
        _ = bandsolve_dgttrf(10, sub, nan.as_ptr(), sub, factor);
        assert_ne!(bandsolve_dgttrs(b'N' as c_char, 1, factor, x_at, 10), OK);
        assert_eq!(bandsolve_factor_destroy(factor), OK);
        assert_eq!(bandsolve_factor_destroy(null_mut()), OK);
        says(bandsolve_factor_create(null_mut()), INVALID, "factor is null");
    }
}

#[test]
fn indices_are_those_of_the_caller() {
    let not_finite = Status::BANDSOLVE_NOT_FINITE;
    // A(3, 4) is NaN.
    let (n, lower, upper) = (10, 2, 3);
    let leading = 2 * lower + upper + 3;
    let mut ab = vec![1.0; n * leading];
    (0..n).for_each(|j| ab[lower + upper + j * leading] = 20.0);
    let at = lower + upper + 3 - 4 + 4 * leading;
    ab[at] = f64::NAN;
    let mut x = [1.0; 24];
    // SAFETY: arrays of these sizes.
    unsafe {
        let status = bandsolve_dgbsv(n as i64, 2, 3, 1, ab.as_ptr(), leading as i64, x.as_mut_ptr(), n as i64);
        says(status, not_finite, &format!("ab[{at}]"));
        let (diag, mut off) = ([4.0; 10], [1.0; 9]);
        off[5] = f64::INFINITY;
        says(bandsolve_dptsv(10, 1, diag.as_ptr(), off.as_ptr(), x.as_mut_ptr(), 10), not_finite, "off[5]");
        let mut x = [1.0; 24];
        x[14] = f64::NAN;
        let off = [1.0; 9];
        let status = bandsolve_dgtsv(10, 2, off.as_ptr(), diag.as_ptr(), off.as_ptr(), x.as_mut_ptr(), 12);
        says(status, not_finite, "rhs[14]");
    }
}

/// A Hermitian positive definite matrix has the method `cholesky`, also if the thread has a method that does not solve such wide bands.
#[test]
fn method_of_definite_matrices() {
    let (n, width) = (100, 60);
    let mut ab = vec![0.5; n * (width + 1)];
    (0..n).for_each(|j| ab[j * (width + 1)] = 100.0);
    let mut x = vec![1.0; n];
    // SAFETY: arrays of these sizes.
    unsafe {
        assert_eq!(bandsolveSetMethod(c"rpts".as_ptr()), OK);
        let (n, width) = (n as i64, width as i64);
        let status = bandsolve_dpbsv(b'L' as c_char, n, width, 1, ab.as_ptr(), width + 1, x.as_mut_ptr(), n);
        assert_eq!((status, message()), (OK, String::new()));
        assert_eq!(bandsolveSetMethod(null()), OK);
    }
}

#[test]
fn indefinite_and_singular_matrices() {
    let (diag, off, mut x) = ([1.0; 5], [2.0; 4], [1.0; 5]);
    let (zero, none) = ([0.0; 5], [0.0; 4]);
    let factor = new_factor();
    // SAFETY: arrays of these sizes.
    unsafe {
        let x = x.as_mut_ptr();
        let definite = Status::BANDSOLVE_NOT_DEFINITE;
        assert_eq!(bandsolve_dptsv(5, 1, diag.as_ptr(), off.as_ptr(), x, 5), definite, "{}", message());
        assert_eq!(bandsolve_dpttrf(5, diag.as_ptr(), off.as_ptr(), factor), definite, "{}", message());
        let singular = bandsolve_dgtsv(5, 1, none.as_ptr(), zero.as_ptr(), none.as_ptr(), x, 5);
        assert_eq!(singular, Status::BANDSOLVE_SINGULAR, "{}", message());
        assert_eq!(bandsolve_dgttrf(5, none.as_ptr(), zero.as_ptr(), none.as_ptr(), factor), OK, "{}", message());
        let (mut phase, mut log_abs, mut rcond) = (1.0, 0.0, 1.0);
        assert_eq!(bandsolve_dfactor_det(factor, &mut phase, &mut log_abs), OK);
        assert_eq!((phase, log_abs), (0.0, f64::NEG_INFINITY));
        assert_eq!(bandsolve_dgtcon(b'I' as c_char, factor, &mut rcond), OK);
        assert_eq!(rcond, 0.0);
        assert_eq!(bandsolve_factor_destroy(factor), OK);
    }
}

/// Many threads solve with the same factors: all solutions have the same bits.
#[test]
fn threads_share_factors() {
    let n = 1000;
    let (off, diag) = (vec![-1.0; n - 1], vec![2.5; n]);
    let factor = new_factor();
    // SAFETY: arrays of these sizes; nobody factors again while others solve.
    unsafe {
        assert_eq!(bandsolve_dgttrf(n as i64, off.as_ptr(), diag.as_ptr(), off.as_ptr(), factor), OK);
        let address = factor.expose_provenance();
        let solve = move || {
            let factor: bandsolve_factor_t = core::ptr::with_exposed_provenance_mut(address);
            let mut last = Vec::new();
            for _ in 0..50 {
                let mut x = vec![1.0; n];
                assert_eq!(bandsolve_dgttrs(b'N' as c_char, 1, factor, x.as_mut_ptr(), n as i64), OK);
                assert!(last.is_empty() || last == x);
                last = x;
            }
            last
        };
        let threads: Vec<_> = (0..4).map(|_| std::thread::spawn(solve)).collect();
        let solutions: Vec<_> = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
        assert!(solutions.windows(2).all(|pair| pair[0] == pair[1]));
        assert_eq!(bandsolve_factor_destroy(factor), OK);
    }
}

#[test]
fn eigenvalues() {
    // 2 − 2 cos(kπ/(n + 1)), with the vectors sin(ikπ/(n + 1)).
    let n = 50;
    let exact = |k: usize| 2.0 - 2.0 * (std::f64::consts::PI * (k + 1) as f64 / (n + 1) as f64).cos();
    let (diag, off) = (vec![2.0; n], vec![-1.0; n - 1]);
    let (single_diag, single_off) = (vec![2.0_f32; n], vec![-1.0_f32; n - 1]);
    let (mut w, mut single, mut m, mut count) = (vec![0.0; n], vec![0.0_f32; n], 0, 0);
    let leading = n + 2;
    let mut z = vec![7.0; leading * n];
    // SAFETY: arrays of these sizes.
    unsafe {
        let (d, e) = (diag.as_ptr(), off.as_ptr());
        assert_eq!(bandsolve_dsterf(n as i64, d, e, w.as_mut_ptr()), OK, "{}", message());
        assert!(w.iter().enumerate().all(|(k, v)| (v - exact(k)).abs() < 1e-14));
        let status = bandsolve_ssterf(n as i64, single_diag.as_ptr(), single_off.as_ptr(), single.as_mut_ptr());
        assert_eq!(status, OK);
        assert!(single.iter().enumerate().all(|(k, v)| (f64::from(*v) - exact(k)).abs() < 5e-7));
        assert_eq!(bandsolve_dstcount(n as i64, d, e, 2.0, &mut count), OK);
        assert_eq!(count, 25);
        let mut stevr = |jobz: u8, range: u8, interval: (f64, f64), indices: (i64, i64), ldz| {
            let (w, z) = (w.as_mut_ptr(), z.as_mut_ptr());
            let (jobz, range) = (jobz as c_char, range as c_char);
            let n = n as i64;
            bandsolve_dstevr(jobz, range, n, d, e, interval.0, interval.1, indices.0, indices.1, &mut m, w, z, ldz)
        };
        let nowhere = (0.0, 0.0);
        says(stevr(b'X', b'A', nowhere, (0, 0), 0), INVALID, "jobz is 'X'");
        says(stevr(b'N', b'X', nowhere, (0, 0), 0), INVALID, "range is 'X'");
        says(stevr(b'N', b'I', nowhere, (0, 3), 0), INVALID, "il is 0 and iu is 3, expected 1 <= il <= iu <= 50");
        says(stevr(b'V', b'A', nowhere, (0, 0), 49), INVALID, "ldz is 49, expected at least n, which is 50");
        assert_eq!(stevr(b'N', b'V', (0.0, 2.0), (0, 0), 0), OK, "{}", message());
        assert_eq!(stevr(b'V', b'I', nowhere, (2, 4), leading as i64), OK, "{}", message());
    }
    assert_eq!(m, 3);
    for k in 0..3 {
        assert!((w[k] - exact(k + 1)).abs() < 1e-14);
        let column = &z[k * leading..][..n];
        assert!((column.iter().map(|v| v * v).sum::<f64>() - 1.0).abs() < 1e-13);
        for i in 0..n {
            let beside = |i: Option<usize>| i.and_then(|i| column.get(i)).copied().unwrap_or(0.0);
            let product = 2.0 * column[i] - beside(i.checked_sub(1)) - beside(Some(i + 1));
            assert!((product - w[k] * column[i]).abs() < 1e-13);
        }
        assert_eq!(z[k * leading + n..][..2], [7.0; 2]);
    }
    assert!(z[3 * leading..].iter().all(|v| *v == 7.0));
}

#[test]
fn threads_end_and_start_again() {
    let n = 1 << 18;
    let (off, diag) = (vec![-1.0; n - 1], vec![2.5; n]);
    let solve = || {
        let mut x = vec![1.0; n];
        // SAFETY: arrays of these sizes.
        let status = unsafe {
            bandsolve_dgtsv(n as i64, 1, off.as_ptr(), diag.as_ptr(), off.as_ptr(), x.as_mut_ptr(), n as i64)
        };
        assert_eq!(status, OK, "{}", message());
        x
    };
    let first = solve();
    // A child process has threads of its own and no other callers.
    // SAFETY: the child uses only its own threads, and leaves by `_exit`.
    #[cfg(unix)]
    unsafe {
        let child = libc::fork();
        if child == 0 {
            libc::alarm(60);
            let before = solve();
            let stopped = bandsolve_shutdown() == OK && bandsolve_shutdown() == OK;
            let same = before == first;
            let again = solve() == first;
            libc::_exit(i32::from(!stopped) + 2 * i32::from(!same) + 4 * i32::from(!again));
        }
        let mut status = -1;
        libc::waitpid(child, &mut status, 0);
        assert_eq!(status, 0);
    }
}
