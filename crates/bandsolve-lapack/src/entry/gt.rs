//! `gtsv gttrf gttrs gtcon gtrfs gtsvx`

use super::{ColumnBounds, ColumnsRef, Info, copy, infinity, op, pivot, refine_all, require, short, verdict};
use crate::Int;
use crate::gt::{GtLu, GtLuMut, GtMatrix, eliminate, factor};
use crate::norm::MatrixNorm;
use crate::number::LapackScalar;
use crate::raw::{RawColumns, read, size, workspace, write};
use crate::refine::{FactoredMatrix, FactoredSystem};
use crate::{condition, partitioned};
use bandsolve::{Op, Scalar};
use core::ffi::c_void;

pub unsafe fn gtsv<T: LapackScalar>(
    n: &Int,
    nrhs: &Int,
    dl: *mut T,
    d: *mut T,
    du: *mut T,
    b: *mut T,
    ldb: &Int,
) -> Info {
    require::<T>("GTSV", &[(1, *n < 0), (2, *nrhs < 0), (7, short(ldb, n))])?;
    let m = size(n);
    // SAFETY: the module's contract.
    let (a, mut b) = unsafe {
        let off = m.saturating_sub(1);
        ((write(dl, off), write(d, m), write(du, off)), RawColumns::new(b, m, size(nrhs), ldb))
    };
    match partitioned::solve(GtMatrix { sub: a.0, diag: a.1, sup: a.2 }, &mut b) {
        Ok(()) => Ok(()),
        Err(done) => eliminate(a, &mut b.tail(done)).or_else(|row| pivot(Some(row))),
    }
}

/// The factors of an `n`×`n` matrix for reading.
unsafe fn factors<'a, T: LapackScalar>(
    n: usize,
    dl: *const T,
    d: *const T,
    du: *const T,
    du2: *const T,
    ipiv: *const Int,
) -> GtLu<'a, T> {
    let off = n.saturating_sub(1);
    // SAFETY: the module's contract.
    unsafe {
        GtLu {
            multiplier: read(dl, off),
            diag: read(d, n),
            sup: read(du, off),
            sup2: read(du2, off.saturating_sub(1)),
            pivot: read(ipiv, n),
        }
    }
}

/// The factors of an `n`×`n` matrix for writing.
unsafe fn factors_mut<'a, T: LapackScalar>(
    n: usize,
    dl: *mut T,
    d: *mut T,
    du: *mut T,
    du2: *mut T,
    ipiv: *mut Int,
) -> GtLuMut<'a, T> {
    let off = n.saturating_sub(1);
    // SAFETY: the module's contract.
    unsafe {
        GtLuMut {
            multiplier: write(dl, off),
            diag: write(d, n),
            sup: write(du, off),
            sup2: write(du2, off.saturating_sub(1)),
            pivot: write(ipiv, n),
        }
    }
}

pub unsafe fn gttrf<T: LapackScalar>(n: &Int, dl: *mut T, d: *mut T, du: *mut T, du2: *mut T, ipiv: *mut Int) -> Info {
    require::<T>("GTTRF", &[(1, *n < 0)])?;
    // SAFETY: the module's contract.
    pivot(factor(unsafe { factors_mut(size(n), dl, d, du, du2, ipiv) }))
}

pub unsafe fn gttrs<T: LapackScalar>(
    trans: &u8,
    n: &Int,
    nrhs: &Int,
    dl: *const T,
    d: *const T,
    du: *const T,
    du2: *const T,
    ipiv: *const Int,
    b: *mut T,
    ldb: &Int,
) -> Info {
    let wrong = [(1, op(trans).is_none()), (2, *n < 0), (3, *nrhs < 0), (10, short(ldb, n))];
    require::<T>("GTTRS", &wrong)?;
    // SAFETY: the module's contract.
    let (lu, mut b) = unsafe { (factors(size(n), dl, d, du, du2, ipiv), RawColumns::new(b, size(n), size(nrhs), ldb)) };
    let op = op(trans).unwrap_or(Op::Plain);
    b.each().for_each(|x| lu.solve(op, x));
    Ok(())
}

pub unsafe fn gtcon<T: LapackScalar>(
    norm: &u8,
    n: &Int,
    dl: *const T,
    d: *const T,
    du: *const T,
    du2: *const T,
    ipiv: *const Int,
    anorm: &T::Real,
    rcond: &mut T::Real,
    work: *mut T,
) -> Info {
    let wrong = [(1, infinity(norm).is_none()), (2, *n < 0), (8, *anorm < T::Real::ZERO)];
    require::<T>("GTCON", &wrong)?;
    let n = size(n);
    // SAFETY: the module's contract.
    let (lu, work) = unsafe { (factors(n, dl, d, du, du2, ipiv), write(work, 2 * n)) };
    *rcond = reciprocal_condition(&lu, infinity(norm) == Some(true), *anorm, work);
    Ok(())
}

/// `work` has 2n elements.
fn reciprocal_condition<T: LapackScalar>(lu: &GtLu<'_, T>, infinity: bool, norm: T::Real, work: &mut [T]) -> T::Real {
    let singular = lu.diag.contains(&T::ZERO);
    if singular { T::Real::ZERO } else { condition::reciprocal(lu, infinity, norm, work) }
}

pub unsafe fn gtrfs<T: LapackScalar>(
    trans: &u8,
    n: &Int,
    nrhs: &Int,
    dl: *const T,
    d: *const T,
    du: *const T,
    dlf: *const T,
    df: *const T,
    duf: *const T,
    du2: *const T,
    ipiv: *const Int,
    b: *const T,
    ldb: &Int,
    x: *mut T,
    ldx: &Int,
    ferr: *mut T::Real,
    berr: *mut T::Real,
    work: *mut T,
    extra: *mut c_void,
) -> Info {
    let trans = op(trans);
    let wrong = [(1, trans.is_none()), (2, *n < 0), (3, *nrhs < 0), (13, short(ldb, n)), (15, short(ldx, n))];
    require::<T>("GTRFS", &wrong)?;
    let (n, count) = (size(n), size(nrhs));
    let off = n.saturating_sub(1);
    // SAFETY: the module's contract.
    unsafe {
        let a = GtMatrix { sub: read(dl, off), diag: read(d, n), sup: read(du, off) };
        let lu = factors(n, dlf, df, duf, du2, ipiv);
        let system = FactoredSystem { a, factors: lu, op: trans.unwrap_or(Op::Plain) };
        let (b, x) = (ColumnsRef::new(b, n, count, ldb), RawColumns::new(x, n, count, ldx));
        refine_all(&system, b, x, ColumnBounds::new(ferr, berr, count), workspace(work, extra, n, 2));
    }
    Ok(())
}

pub unsafe fn gtsvx<T: LapackScalar>(
    fact: &u8,
    trans: &u8,
    n: &Int,
    nrhs: &Int,
    dl: *const T,
    d: *const T,
    du: *const T,
    dlf: *mut T,
    df: *mut T,
    duf: *mut T,
    du2: *mut T,
    ipiv: *mut Int,
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
        (2, op(trans).is_none()),
        (3, *n < 0),
        (4, *nrhs < 0),
        (14, short(ldb, n)),
        (16, short(ldx, n)),
    ];
    require::<T>("GTSVX", &wrong)?;
    let (m, off) = (size(n), size(n).saturating_sub(1));
    // SAFETY: the module's contract; each block ends before the next makes slices of the same memory.
    unsafe {
        if !factored {
            write(dlf, off).copy_from_slice(read(dl, off));
            write(df, m).copy_from_slice(read(d, m));
            write(duf, off).copy_from_slice(read(du, off));
            if let Some(row) = factor(factors_mut(m, dlf, df, duf, du2, ipiv)) {
                *rcond = T::Real::ZERO;
                return pivot(Some(row));
            }
        }
        let plain = op(trans) == Some(Op::Plain);
        let anorm = GtMatrix { sub: read(dl, off), diag: read(d, m), sup: read(du, off) }.norm(if plain {
            MatrixNorm::One
        } else {
            MatrixNorm::Infinity
        });
        *rcond = reciprocal_condition(&factors(m, dlf, df, duf, du2, ipiv), !plain, anorm, write(work, 2 * m));
        copy(ColumnsRef::new(b, m, size(nrhs), ldb), &mut RawColumns::new(x, m, size(nrhs), ldx));
        gttrs(trans, n, nrhs, dlf, df, duf, du2, ipiv, x, ldx)?;
        gtrfs(trans, n, nrhs, dl, d, du, dlf, df, duf, du2, ipiv, b, ldb, x, ldx, ferr, berr, work, extra)?;
    }
    verdict::<T>(n, *rcond)
}
