//! `langt lanst lanht langb lansb lanhb`: norms of matrices. A letter that names no norm gives 0.

use crate::Int;
use crate::norm::{Norm, tridiagonal};
use crate::number::Number;
use crate::raw::{read, size};
use bandsolve::Scalar;

pub unsafe fn langt<T: Number>(norm: &u8, n: &Int, dl: *const T, d: *const T, du: *const T) -> T::Real {
    let (n, off) = (size(n), size(n).saturating_sub(1));
    // SAFETY: the module's contract.
    let a = unsafe { (read(dl, off), read(d, n), read(du, off)) };
    Norm::from_letter(*norm).map_or(T::Real::ZERO, |norm| tridiagonal(norm, a))
}

pub unsafe fn lanst<T: Number>(norm: &u8, n: &Int, d: *const T::Real, e: *const T) -> T::Real {
    let (n, off) = (size(n), size(n).saturating_sub(1));
    // SAFETY: the module's contract.
    let (d, e) = unsafe { (read(d, n), read(e, off)) };
    Norm::from_letter(*norm).map_or(T::Real::ZERO, |norm| tridiagonal(norm, (e, d, e)))
}
