//! `langt lanst lanht langb lansb lanhb`: norms of matrices. A letter without a norm gives 0.

use crate::Int;
use crate::gb::{GbLayout, GbMatrix};
use crate::norm::{MatrixNorm, tridiagonal};
use crate::number::LapackScalar;
use crate::pb::{Hermitian, Triangle};
use crate::pt::TriangleSide;
use crate::raw::{read, size, write};
use bandsolve::Scalar;

pub unsafe fn langt<T: LapackScalar>(norm: &u8, n: &Int, dl: *const T, d: *const T, du: *const T) -> T::Real {
    let (n, off) = (size(n), size(n).saturating_sub(1));
    // SAFETY: the module's contract.
    let a = unsafe { (read(dl, off), read(d, n), read(du, off)) };
    MatrixNorm::from_letter(*norm).map_or(T::Real::ZERO, |norm| tridiagonal(norm, a))
}

pub unsafe fn lanst<T: LapackScalar>(norm: &u8, n: &Int, d: *const T::Real, e: *const T) -> T::Real {
    let (n, off) = (size(n), size(n).saturating_sub(1));
    // SAFETY: the module's contract.
    let (d, e) = unsafe { (read(d, n), read(e, off)) };
    MatrixNorm::from_letter(*norm).map_or(T::Real::ZERO, |norm| tridiagonal(norm, (e, d, e)))
}

pub unsafe fn langb<T: LapackScalar>(
    norm: &u8,
    n: &Int,
    kl: &Int,
    ku: &Int,
    ab: *const T,
    ldab: &Int,
    work: *mut T::Real,
) -> T::Real {
    let Some(norm) = MatrixNorm::from_letter(*norm) else { return T::Real::ZERO };
    let n = size(n);
    let band = GbLayout { rows: n, columns: n, lower: size(kl), upper: size(ku), leading: size(ldab) };
    // SAFETY: the module's contract: WORK exists for the norm that needs it.
    let (elements, sums) =
        unsafe { (read(ab, band.extent()), write(work, if norm == MatrixNorm::Infinity { n } else { 0 })) };
    GbMatrix { band, elements }.norm(norm, sums)
}

pub unsafe fn lansb<T: LapackScalar>(
    norm: &u8,
    uplo: &u8,
    n: &Int,
    k: &Int,
    ab: *const T,
    ldab: &Int,
    work: *mut T::Real,
) -> T::Real {
    let Some(norm) = MatrixNorm::from_letter(*norm) else { return T::Real::ZERO };
    let side = if uplo.eq_ignore_ascii_case(&b'U') { TriangleSide::Upper } else { TriangleSide::Lower };
    let shape = Triangle { n: size(n), width: size(k), leading: size(ldab), side };
    let sums = if matches!(norm, MatrixNorm::One | MatrixNorm::Infinity) { shape.n } else { 0 };
    // SAFETY: the module's contract: WORK exists for the norms that need it.
    let (elements, sums) = unsafe { (read(ab, shape.extent()), write(work, sums)) };
    Hermitian { shape, elements }.norm(norm, sums)
}
