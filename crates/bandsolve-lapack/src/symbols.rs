//! The exported symbols. For every routine and type, there is a C function with its Fortran name (`dgtsv_`), and the
//! same function with the prefix `scipy_`.
//!
//! Fortran passes the lengths of character arguments at the end. They are not declared here, because the caller removes
//! them, and every character argument of these routines is one letter. No panic leaves the library. In case of a panic,
//! INFO is [`PANICKED`], and a real result is NaN.

use crate::{Int, entry};
use bandsolve::{Complex32, Complex64, RealScalar};
use bandsolve_kernel::arithmetic::Standard;
use core::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// INFO if the library itself failed; LAPACK has no such value.
const PANICKED: Int = -1000;

fn info_of(routine: impl FnOnce() -> entry::Info) -> Int {
    caught(routine).map_or(PANICKED, |result| result.err().unwrap_or(0))
}

fn value_of<R: RealScalar>(routine: impl FnOnce() -> R) -> R {
    caught(routine).unwrap_or(R::NAN)
}

/// The result of a routine in standard floating-point mode. `None` if it panicked.
fn caught<R>(routine: impl FnOnce() -> R) -> Option<R> {
    let _mode = Standard::enter();
    catch_unwind(AssertUnwindSafe(routine)).ok()
}

/// A subroutine with INFO as its last argument. An unused workspace before INFO can be given after a semicolon.
macro_rules! subroutine {
    ($prefix:literal $letter:literal $family:ident :: $name:ident $arguments:tt) => {
        subroutine!($prefix $letter $family :: $name = $name $arguments);
    };
    ($prefix:literal $letter:literal $family:ident :: $routine:ident = $name:ident
     ( $($argument:ident : $type:ty),* $(; $unused:ident)? )) => {
        #[unsafe(export_name = concat!($prefix, $letter, stringify!($name), "_"))]
        pub unsafe extern "C" fn $name($($argument: $type,)* $($unused: *mut c_void,)? info: &mut Int) {
            // SAFETY: the caller follows LAPACK's documentation.
            *info = info_of(|| unsafe { entry::$family::$routine::<T>($($argument),*) });
        }
    };
}

/// A function with a real result.
macro_rules! function {
    ($prefix:literal $letter:literal $family:ident :: $routine:ident = $name:ident
     ( $($argument:ident : $type:ty),* $(; $unused:ident)? )) => {
        #[unsafe(export_name = concat!($prefix, $letter, stringify!($name), "_"))]
        pub unsafe extern "C" fn $name($($argument: $type,)* $($unused: *mut c_void)?) -> R {
            // SAFETY: the caller follows LAPACK's documentation.
            value_of(|| unsafe { entry::$family::$routine::<T>($($argument),*) })
        }
    };
}

macro_rules! all_types {
    ($p:literal $l:literal) => {
        subroutine!($p $l gt::gtsv(n: &Int, nrhs: &Int, dl: *mut T, d: *mut T, du: *mut T, b: *mut T, ldb: &Int));
        subroutine!($p $l gt::gttrf(n: &Int, dl: *mut T, d: *mut T, du: *mut T, du2: *mut T, ipiv: *mut Int));
        subroutine!($p $l gt::gttrs(trans: &u8, n: &Int, nrhs: &Int, dl: *const T, d: *const T, du: *const T,
            du2: *const T, ipiv: *const Int, b: *mut T, ldb: &Int));
        subroutine!($p $l gt::gtrfs(trans: &u8, n: &Int, nrhs: &Int, dl: *const T, d: *const T, du: *const T,
            dlf: *const T, df: *const T, duf: *const T, du2: *const T, ipiv: *const Int, b: *const T, ldb: &Int,
            x: *mut T, ldx: &Int, ferr: *mut R, berr: *mut R, work: *mut T, extra: *mut c_void));
        subroutine!($p $l gt::gtsvx(fact: &u8, trans: &u8, n: &Int, nrhs: &Int, dl: *const T, d: *const T, du: *const T,
            dlf: *mut T, df: *mut T, duf: *mut T, du2: *mut T, ipiv: *mut Int, b: *const T, ldb: &Int,
            x: *mut T, ldx: &Int, rcond: &mut R, ferr: *mut R, berr: *mut R, work: *mut T, extra: *mut c_void));
        subroutine!($p $l pt::ptsv(n: &Int, nrhs: &Int, d: *mut R, e: *mut T, b: *mut T, ldb: &Int));
        subroutine!($p $l pt::pttrf(n: &Int, d: *mut R, e: *mut T));
        subroutine!($p $l pt::ptcon(n: &Int, d: *const R, e: *const T, anorm: &R, rcond: &mut R, work: *mut R));
        subroutine!($p $l gb::gbtrf(m: &Int, n: &Int, kl: &Int, ku: &Int, ab: *mut T, ldab: &Int, ipiv: *mut Int));
        subroutine!($p $l gb::gbtrs(trans: &u8, n: &Int, kl: &Int, ku: &Int, nrhs: &Int, ab: *const T, ldab: &Int,
            ipiv: *const Int, b: *mut T, ldb: &Int));
        subroutine!($p $l gb::gbsv(n: &Int, kl: &Int, ku: &Int, nrhs: &Int, ab: *mut T, ldab: &Int, ipiv: *mut Int,
            b: *mut T, ldb: &Int));
        subroutine!($p $l gb::gbcon(norm: &u8, n: &Int, kl: &Int, ku: &Int, ab: *const T, ldab: &Int,
            ipiv: *const Int, anorm: &R, rcond: &mut R, work: *mut T; _extra));
        subroutine!($p $l gb::gbrfs(trans: &u8, n: &Int, kl: &Int, ku: &Int, nrhs: &Int, ab: *const T, ldab: &Int,
            afb: *const T, ldafb: &Int, ipiv: *const Int, b: *const T, ldb: &Int, x: *mut T, ldx: &Int, ferr: *mut R,
            berr: *mut R, work: *mut T, extra: *mut c_void));
        subroutine!($p $l gb::gbsvx(fact: &u8, trans: &u8, n: &Int, kl: &Int, ku: &Int, nrhs: &Int, ab: *mut T,
            ldab: &Int, afb: *mut T, ldafb: &Int, ipiv: *mut Int, equed: *mut u8, r: *mut R, c: *mut R, b: *mut T,
            ldb: &Int, x: *mut T, ldx: &Int, rcond: &mut R, ferr: *mut R, berr: *mut R, work: *mut T,
            extra: *mut c_void));
        subroutine!($p $l gb::gbequ(m: &Int, n: &Int, kl: &Int, ku: &Int, ab: *const T, ldab: &Int, r: *mut R,
            c: *mut R, rowcnd: &mut R, colcnd: &mut R, amax: &mut R));
        subroutine!($p $l pb::pbtrf(uplo: &u8, n: &Int, kd: &Int, ab: *mut T, ldab: &Int));
        subroutine!($p $l pb::pbtrs(uplo: &u8, n: &Int, kd: &Int, nrhs: &Int, ab: *const T, ldab: &Int, b: *mut T,
            ldb: &Int));
        subroutine!($p $l pb::pbsv(uplo: &u8, n: &Int, kd: &Int, nrhs: &Int, ab: *mut T, ldab: &Int, b: *mut T,
            ldb: &Int));
        subroutine!($p $l pb::pbcon(uplo: &u8, n: &Int, kd: &Int, ab: *const T, ldab: &Int, anorm: &R,
            rcond: &mut R, work: *mut T; _extra));
        subroutine!($p $l pb::pbrfs(uplo: &u8, n: &Int, kd: &Int, nrhs: &Int, ab: *const T, ldab: &Int, afb: *const T,
            ldafb: &Int, b: *const T, ldb: &Int, x: *mut T, ldx: &Int, ferr: *mut R, berr: *mut R, work: *mut T,
            extra: *mut c_void));
        subroutine!($p $l pb::pbsvx(fact: &u8, uplo: &u8, n: &Int, kd: &Int, nrhs: &Int, ab: *mut T, ldab: &Int,
            afb: *mut T, ldafb: &Int, equed: *mut u8, s: *mut R, b: *mut T, ldb: &Int, x: *mut T, ldx: &Int,
            rcond: &mut R, ferr: *mut R, berr: *mut R, work: *mut T, extra: *mut c_void));
        subroutine!($p $l pb::pbequ(uplo: &u8, n: &Int, kd: &Int, ab: *const T, ldab: &Int, s: *mut R,
            scond: &mut R, amax: &mut R));
        function!($p $l norm::langb = langb(norm: &u8, n: &Int, kl: &Int, ku: &Int, ab: *const T, ldab: &Int,
            work: *mut R));
        function!($p $l norm::langt = langt(norm: &u8, n: &Int, dl: *const T, d: *const T, du: *const T));
    };
}

/// The routines that only real types have, or that have other arguments for complex types.
macro_rules! real_types {
    ($p:literal $l:literal) => {
        all_types!($p $l);
        subroutine!($p $l gt::gtcon(norm: &u8, n: &Int, dl: *const T, d: *const T, du: *const T, du2: *const T,
            ipiv: *const Int, anorm: &R, rcond: &mut R, work: *mut T; _iwork));
        subroutine!($p $l pt::pttrs(n: &Int, nrhs: &Int, d: *const R, e: *const T, b: *mut T, ldb: &Int));
        subroutine!($p $l pt::ptrfs(n: &Int, nrhs: &Int, d: *const R, e: *const T, df: *const R, ef: *const T,
            b: *const T, ldb: &Int, x: *mut T, ldx: &Int, ferr: *mut R, berr: *mut R, work: *mut T));
        subroutine!($p $l pt::ptsvx_real = ptsvx(fact: &u8, n: &Int, nrhs: &Int, d: *const R, e: *const T, df: *mut R,
            ef: *mut T, b: *const T, ldb: &Int, x: *mut T, ldx: &Int, rcond: &mut R, ferr: *mut R, berr: *mut R,
            work: *mut T));
        function!($p $l norm::lanst = lanst(norm: &u8, n: &Int, d: *const R, e: *const T));
        function!($p $l norm::lansb = lansb(norm: &u8, uplo: &u8, n: &Int, k: &Int, ab: *const T, ldab: &Int,
            work: *mut R));
    };
}

/// The routines that only complex types have, or that have other arguments for real types.
macro_rules! complex_types {
    ($p:literal $l:literal) => {
        all_types!($p $l);
        subroutine!($p $l gt::gtcon(norm: &u8, n: &Int, dl: *const T, d: *const T, du: *const T, du2: *const T,
            ipiv: *const Int, anorm: &R, rcond: &mut R, work: *mut T));
        subroutine!($p $l pt::pttrs_complex = pttrs(uplo: &u8, n: &Int, nrhs: &Int, d: *const R, e: *const T,
            b: *mut T, ldb: &Int));
        subroutine!($p $l pt::ptrfs_complex = ptrfs(uplo: &u8, n: &Int, nrhs: &Int, d: *const R, e: *const T,
            df: *const R, ef: *const T, b: *const T, ldb: &Int, x: *mut T, ldx: &Int, ferr: *mut R, berr: *mut R,
            work: *mut T, rwork: *mut c_void));
        subroutine!($p $l pt::ptsvx(fact: &u8, n: &Int, nrhs: &Int, d: *const R, e: *const T, df: *mut R, ef: *mut T,
            b: *const T, ldb: &Int, x: *mut T, ldx: &Int, rcond: &mut R, ferr: *mut R, berr: *mut R, work: *mut T,
            extra: *mut c_void));
        function!($p $l norm::lanst = lanht(norm: &u8, n: &Int, d: *const R, e: *const T));
        function!($p $l norm::lansb = lanhb(norm: &u8, uplo: &u8, n: &Int, k: &Int, ab: *const T, ldab: &Int,
            work: *mut R));
    };
}

macro_rules! module {
    ($name:ident, $t:ty, $r:ty, $which:ident, $letter:literal) => {
        mod $name {
            use super::*;
            type T = $t;
            type R = $r;
            $which!("" $letter);
            mod scipy {
                use super::*;
                $which!("scipy_" $letter);
            }
        }
    };
}

module!(s, f32, f32, real_types, "s");
module!(d, f64, f64, real_types, "d");
module!(c, Complex32, f32, complex_types, "c");
module!(z, Complex64, f64, complex_types, "z");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_panic_crosses_the_border() {
        assert_eq!(info_of(|| panic!("on purpose")), PANICKED);
        assert!(value_of::<f64>(|| panic!("on purpose")).is_nan());
        assert_eq!((info_of(|| Ok(())), info_of(|| Err(7))), (0, 7));
    }
}
