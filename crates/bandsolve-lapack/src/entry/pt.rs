//! `ptsv pttrf pttrs ptcon ptrfs ptsvx`
//!
//! Only complex `pttrs` and `ptrfs` have an argument for the side of E, so their later arguments have other numbers.

use super::{ColumnBounds, ColumnsRef, Info, copy, pivot, refine_all, require, short, side, verdict};
use crate::Int;
use crate::norm::MatrixNorm;
use crate::number::LapackScalar;
use crate::pt::{Symmetric, TriangleSide, factor};
use crate::raw::{RawColumns, read, size, workspace, write};
use crate::refine::{FactoredMatrix, FactoredSystem};
use bandsolve::{Op, Scalar};
use core::ffi::c_void;

unsafe fn symmetric<'a, T: LapackScalar>(
    n: usize,
    d: *const T::Real,
    e: *const T,
    side: TriangleSide,
) -> Symmetric<'a, T> {
    // SAFETY: the module's contract.
    unsafe { Symmetric { diag: read(d, n), off: read(e, n.saturating_sub(1)), side } }
}

unsafe fn factor_at<T: LapackScalar>(n: usize, d: *mut T::Real, e: *mut T) -> Info {
    // SAFETY: the module's contract.
    pivot(unsafe { factor(write(d, n), write(e, n.saturating_sub(1))) })
}

pub unsafe fn pttrf<T: LapackScalar>(n: &Int, d: *mut T::Real, e: *mut T) -> Info {
    require::<T>("PTTRF", &[(1, *n < 0)])?;
    // SAFETY: the module's contract.
    unsafe { factor_at(size(n), d, e) }
}

pub unsafe fn ptsv<T: LapackScalar>(n: &Int, nrhs: &Int, d: *mut T::Real, e: *mut T, b: *mut T, ldb: &Int) -> Info {
    require::<T>("PTSV", &[(1, *n < 0), (2, *nrhs < 0), (6, short(ldb, n))])?;
    // SAFETY: the module's contract; the factors are written before they are read.
    unsafe {
        factor_at(size(n), d, e)?;
        pttrs(n, nrhs, d, e, b, ldb)
    }
}

pub unsafe fn pttrs<T: LapackScalar>(
    n: &Int,
    nrhs: &Int,
    d: *const T::Real,
    e: *const T,
    b: *mut T,
    ldb: &Int,
) -> Info {
    require::<T>("PTTRS", &[(1, *n < 0), (2, *nrhs < 0), (6, short(ldb, n))])?;
    // SAFETY: the module's contract.
    unsafe {
        let factors = symmetric(size(n), d, e, TriangleSide::Lower);
        RawColumns::new(b, size(n), size(nrhs), ldb).each().for_each(|x| factors.solve(Op::Plain, x));
    }
    Ok(())
}

pub unsafe fn pttrs_complex<T: LapackScalar>(
    uplo: &u8,
    n: &Int,
    nrhs: &Int,
    d: *const T::Real,
    e: *const T,
    b: *mut T,
    ldb: &Int,
) -> Info {
    let side = side(uplo);
    let wrong = [(1, side.is_none()), (2, *n < 0), (3, *nrhs < 0), (7, short(ldb, n))];
    require::<T>("PTTRS", &wrong)?;
    // SAFETY: the module's contract.
    unsafe {
        let factors = symmetric(size(n), d, e, side.unwrap_or(TriangleSide::Lower));
        RawColumns::new(b, size(n), size(nrhs), ldb).each().for_each(|x| factors.solve(Op::Plain, x));
    }
    Ok(())
}

pub unsafe fn ptcon<T: LapackScalar>(
    n: &Int,
    d: *const T::Real,
    e: *const T,
    anorm: &T::Real,
    rcond: &mut T::Real,
    work: *mut T::Real,
) -> Info {
    require::<T>("PTCON", &[(1, *n < 0), (4, *anorm < T::Real::ZERO)])?;
    // SAFETY: the module's contract.
    *rcond =
        unsafe { symmetric(size(n), d, e, TriangleSide::Lower).reciprocal_condition(*anorm, write(work, size(n))) };
    Ok(())
}

pub unsafe fn ptrfs<T: LapackScalar>(
    n: &Int,
    nrhs: &Int,
    d: *const T::Real,
    e: *const T,
    df: *const T::Real,
    ef: *const T,
    b: *const T,
    ldb: &Int,
    x: *mut T,
    ldx: &Int,
    ferr: *mut T::Real,
    berr: *mut T::Real,
    work: *mut T,
) -> Info {
    let wrong = [(1, *n < 0), (2, *nrhs < 0), (8, short(ldb, n)), (10, short(ldx, n))];
    require::<T>("PTRFS", &wrong)?;
    let extra = core::ptr::null_mut();
    // SAFETY: the module's contract; a real routine has no RWORK.
    unsafe { refine_at(TriangleSide::Lower, n, nrhs, d, e, df, ef, b, ldb, x, ldx, ferr, berr, work, extra) };
    Ok(())
}

pub unsafe fn ptrfs_complex<T: LapackScalar>(
    uplo: &u8,
    n: &Int,
    nrhs: &Int,
    d: *const T::Real,
    e: *const T,
    df: *const T::Real,
    ef: *const T,
    b: *const T,
    ldb: &Int,
    x: *mut T,
    ldx: &Int,
    ferr: *mut T::Real,
    berr: *mut T::Real,
    work: *mut T,
    rwork: *mut c_void,
) -> Info {
    let side = side(uplo);
    let wrong = [(1, side.is_none()), (2, *n < 0), (3, *nrhs < 0), (9, short(ldb, n)), (11, short(ldx, n))];
    require::<T>("PTRFS", &wrong)?;
    let side = side.unwrap_or(TriangleSide::Lower);
    // SAFETY: the module's contract.
    unsafe { refine_at(side, n, nrhs, d, e, df, ef, b, ldb, x, ldx, ferr, berr, work, rwork) };
    Ok(())
}

unsafe fn refine_at<T: LapackScalar>(
    side: TriangleSide,
    n: &Int,
    nrhs: &Int,
    d: *const T::Real,
    e: *const T,
    df: *const T::Real,
    ef: *const T,
    b: *const T,
    ldb: &Int,
    x: *mut T,
    ldx: &Int,
    ferr: *mut T::Real,
    berr: *mut T::Real,
    work: *mut T,
    extra: *mut c_void,
) {
    let (n, count) = (size(n), size(nrhs));
    // SAFETY: the module's contract.
    unsafe {
        let system = FactoredSystem { a: symmetric(n, d, e, side), factors: symmetric(n, df, ef, side), op: Op::Plain };
        let (b, x) = (ColumnsRef::new(b, n, count, ldb), RawColumns::new(x, n, count, ldx));
        refine_all(&system, b, x, ColumnBounds::new(ferr, berr, count), workspace(work, extra, n, 1));
    }
}

pub unsafe fn ptsvx<T: LapackScalar>(
    fact: &u8,
    n: &Int,
    nrhs: &Int,
    d: *const T::Real,
    e: *const T,
    df: *mut T::Real,
    ef: *mut T,
    b: *const T,
    ldb: &Int,
    x: *mut T,
    ldx: &Int,
    rcond: &mut T::Real,
    ferr: *mut T::Real,
    berr: *mut T::Real,
    work: *mut T,
    extra: *mut c_void,
) -> Info {
    let factored = fact.eq_ignore_ascii_case(&b'F');
    let wrong = [
        (1, !factored && !fact.eq_ignore_ascii_case(&b'N')),
        (2, *n < 0),
        (3, *nrhs < 0),
        (9, short(ldb, n)),
        (11, short(ldx, n)),
    ];
    require::<T>("PTSVX", &wrong)?;
    let (m, side) = (size(n), TriangleSide::Lower);
    // SAFETY: the module's contract; the factors are written before they are read.
    unsafe {
        if !factored {
            write(df, m).copy_from_slice(read(d, m));
            write(ef, m.saturating_sub(1)).copy_from_slice(read(e, m.saturating_sub(1)));
            factor_at(m, df, ef).inspect_err(|_| *rcond = T::Real::ZERO)?;
        }
        let (a, factors) = (symmetric(m, d, e, side), symmetric(m, df, ef, side));
        let (weights, _) = workspace(work, extra, m, 1);
        *rcond = factors.reciprocal_condition(a.norm(MatrixNorm::One), weights);
        let (b_columns, mut x_columns) =
            (ColumnsRef::new(b, m, size(nrhs), ldb), RawColumns::new(x, m, size(nrhs), ldx));
        copy(b_columns, &mut x_columns);
        x_columns.each().for_each(|x| factors.solve(Op::Plain, x));
        refine_at(side, n, nrhs, d, e, df, ef, b, ldb, x, ldx, ferr, berr, work, extra);
    }
    verdict::<T>(n, *rcond)
}

/// [`ptsvx`] without RWORK.
pub unsafe fn ptsvx_real<T: LapackScalar>(
    fact: &u8,
    n: &Int,
    nrhs: &Int,
    d: *const T::Real,
    e: *const T,
    df: *mut T::Real,
    ef: *mut T,
    b: *const T,
    ldb: &Int,
    x: *mut T,
    ldx: &Int,
    rcond: &mut T::Real,
    ferr: *mut T::Real,
    berr: *mut T::Real,
    work: *mut T,
) -> Info {
    let extra = core::ptr::null_mut();
    // SAFETY: the caller's guarantee; a real routine has no RWORK.
    unsafe { ptsvx(fact, n, nrhs, d, e, df, ef, b, ldb, x, ldx, rcond, ferr, berr, work, extra) }
}
