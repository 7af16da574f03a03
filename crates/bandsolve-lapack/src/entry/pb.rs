//! `pbsv pbtrf pbtrs pbcon pbrfs pbsvx pbequ`

use super::gb::{thin, worthwhile};
use super::{ColumnBounds, ColumnsRef, Info, copy, pivot, refine_all, require, scale_rows, short, side, verdict};
use crate::norm::MatrixNorm;
use crate::number::LapackScalar;
use crate::pb::{Hermitian, Triangle, factor, ratio, scale, scales};
use crate::pt::TriangleSide;
use crate::raw::{RawColumns, read, size, workspace, write};
use crate::refine::{FactoredMatrix, FactoredSystem};
use crate::{Int, condition};
use bandsolve::{Op, RealScalar, Scalar};
use core::ffi::c_void;

fn shape(side: Option<TriangleSide>, n: &Int, kd: &Int, leading: &Int) -> Triangle {
    Triangle { n: size(n), width: size(kd), leading: size(leading), side: side.unwrap_or(TriangleSide::Lower) }
}

unsafe fn matrix<'a, T>(shape: Triangle, ab: *const T) -> Hermitian<'a, T> {
    // SAFETY: the module's contract.
    Hermitian { shape, elements: unsafe { read(ab, shape.extent()) } }
}

pub unsafe fn pbtrf<T: LapackScalar>(uplo: &u8, n: &Int, kd: &Int, ab: *mut T, ldab: &Int) -> Info {
    let side = side(uplo);
    let wrong = [(1, side.is_none()), (2, *n < 0), (3, *kd < 0), (5, thin(ldab, &0, kd, false))];
    require::<T>("PBTRF", &wrong)?;
    let shape = shape(side, n, kd, ldab);
    // SAFETY: the module's contract.
    pivot(factor(shape, unsafe { write(ab, shape.extent()) }))
}

pub unsafe fn pbtrs<T: LapackScalar>(
    uplo: &u8,
    n: &Int,
    kd: &Int,
    nrhs: &Int,
    ab: *const T,
    ldab: &Int,
    b: *mut T,
    ldb: &Int,
) -> Info {
    let side = check_solve::<T>("PBTRS", uplo, n, kd, nrhs, ldab, ldb)?;
    // SAFETY: the module's contract.
    unsafe {
        let factor = matrix(shape(side, n, kd, ldab), ab);
        RawColumns::new(b, size(n), size(nrhs), ldb).each().for_each(|x| factor.solve(Op::Plain, x));
    }
    Ok(())
}

/// Check the arguments that `pbsv` and `pbtrs` have at the same positions.
fn check_solve<T: LapackScalar>(
    name: &str,
    uplo: &u8,
    n: &Int,
    kd: &Int,
    nrhs: &Int,
    ldab: &Int,
    ldb: &Int,
) -> Result<Option<TriangleSide>, Int> {
    let side = side(uplo);
    let wrong = [
        (1, side.is_none()),
        (2, *n < 0),
        (3, *kd < 0),
        (4, *nrhs < 0),
        (6, thin(ldab, &0, kd, false)),
        (8, short(ldb, n)),
    ];
    require::<T>(name, &wrong).map(|()| side)
}

pub unsafe fn pbsv<T: LapackScalar>(
    uplo: &u8,
    n: &Int,
    kd: &Int,
    nrhs: &Int,
    ab: *mut T,
    ldab: &Int,
    b: *mut T,
    ldb: &Int,
) -> Info {
    check_solve::<T>("PBSV", uplo, n, kd, nrhs, ldab, ldb)?;
    // SAFETY: the caller's guarantee.
    unsafe {
        pbtrf(uplo, n, kd, ab, ldab)?;
        pbtrs(uplo, n, kd, nrhs, ab, ldab, b, ldb)
    }
}

pub unsafe fn pbcon<T: LapackScalar>(
    uplo: &u8,
    n: &Int,
    kd: &Int,
    ab: *const T,
    ldab: &Int,
    anorm: &T::Real,
    rcond: &mut T::Real,
    work: *mut T,
) -> Info {
    let side = side(uplo);
    let wrong =
        [(1, side.is_none()), (2, *n < 0), (3, *kd < 0), (5, thin(ldab, &0, kd, false)), (6, *anorm < T::Real::ZERO)];
    require::<T>("PBCON", &wrong)?;
    // SAFETY: the module's contract.
    let (factor, work) = unsafe { (matrix(shape(side, n, kd, ldab), ab), write(work, 2 * size(n))) };
    *rcond = condition::reciprocal(&factor, false, *anorm, work);
    Ok(())
}

pub unsafe fn pbrfs<T: LapackScalar>(
    uplo: &u8,
    n: &Int,
    kd: &Int,
    nrhs: &Int,
    ab: *const T,
    ldab: &Int,
    afb: *const T,
    ldafb: &Int,
    b: *const T,
    ldb: &Int,
    x: *mut T,
    ldx: &Int,
    ferr: *mut T::Real,
    berr: *mut T::Real,
    work: *mut T,
    extra: *mut c_void,
) -> Info {
    let side = side(uplo);
    let wrong = [
        (1, side.is_none()),
        (2, *n < 0),
        (3, *kd < 0),
        (4, *nrhs < 0),
        (6, thin(ldab, &0, kd, false)),
        (8, thin(ldafb, &0, kd, false)),
        (10, short(ldb, n)),
        (12, short(ldx, n)),
    ];
    require::<T>("PBRFS", &wrong)?;
    let (m, count) = (size(n), size(nrhs));
    // SAFETY: the module's contract.
    unsafe {
        let (a, factor) = (matrix(shape(side, n, kd, ldab), ab), matrix(shape(side, n, kd, ldafb), afb));
        let (b, x) = (ColumnsRef::new(b, m, count, ldb), RawColumns::new(x, m, count, ldx));
        let bounds = ColumnBounds::new(ferr, berr, count);
        refine_all(&FactoredSystem { a, factors: factor, op: Op::Plain }, b, x, bounds, workspace(work, extra, m, 2));
    }
    Ok(())
}

pub unsafe fn pbequ<T: LapackScalar>(
    uplo: &u8,
    n: &Int,
    kd: &Int,
    ab: *const T,
    ldab: &Int,
    s: *mut T::Real,
    scond: &mut T::Real,
    amax: &mut T::Real,
) -> Info {
    let side = side(uplo);
    let wrong = [(1, side.is_none()), (2, *n < 0), (3, *kd < 0), (5, thin(ldab, &0, kd, false))];
    require::<T>("PBEQU", &wrong)?;
    // SAFETY: the module's contract.
    let (computed, bad) = unsafe { scales(&matrix(shape(side, n, kd, ldab), ab), write(s, size(n))) };
    *amax = computed.largest;
    if bad.is_none() {
        *scond = computed.ratio;
    }
    pivot(bad)
}

/// Scale the matrix if the ratio of the scales requires it. Returns whether it was scaled.
fn equilibrate<T: LapackScalar>(shape: Triangle, elements: &mut [T], s: &mut [T::Real]) -> bool {
    let (computed, bad) = scales(&Hermitian { shape, elements: &*elements }, s);
    let small = T::Real::MIN_POSITIVE / T::Real::EPSILON;
    let fits = computed.largest >= small && computed.largest <= T::Real::ONE / small;
    let scaled = bad.is_none() && shape.n > 0 && (computed.ratio < worthwhile() || !fits);
    if scaled {
        scale(shape, elements, s);
    }
    scaled
}

pub unsafe fn pbsvx<T: LapackScalar>(
    fact: &u8,
    uplo: &u8,
    n: &Int,
    kd: &Int,
    nrhs: &Int,
    ab: *mut T,
    ldab: &Int,
    afb: *mut T,
    ldafb: &Int,
    equed: *mut u8,
    s: *mut T::Real,
    b: *mut T,
    ldb: &Int,
    x: *mut T,
    ldx: &Int,
    rcond: &mut T::Real,
    ferr: *mut T::Real,
    berr: *mut T::Real,
    work: *mut T,
    extra: *mut c_void,
) -> Info {
    let (fact, side) = (fact.to_ascii_uppercase(), side(uplo));
    // SAFETY: the module's contract: the caller sets EQUED if FACT = 'F'.
    let given = if fact == b'F' { unsafe { equed.read() }.to_ascii_uppercase() } else { b'N' };
    let mut scaled = given == b'Y';
    let (m, count) = (size(n), size(nrhs));
    // SAFETY: the module's contract: the caller sets the scales if FACT = 'F' and EQUED = 'Y'.
    let positive = !scaled || unsafe { read(s, m) }.iter().all(|s| *s > T::Real::ZERO);
    let wrong = [
        (1, !matches!(fact, b'N' | b'E' | b'F')),
        (2, side.is_none()),
        (3, *n < 0),
        (4, *kd < 0),
        (5, *nrhs < 0),
        (7, thin(ldab, &0, kd, false)),
        (9, thin(ldafb, &0, kd, false)),
        (10, !matches!(given, b'N' | b'Y')),
        (11, !positive),
        (13, short(ldb, n)),
        (15, short(ldx, n)),
    ];
    require::<T>("PBSVX", &wrong)?;
    let (of_a, of_factor) = (shape(side, n, kd, ldab), shape(side, n, kd, ldafb));
    // SAFETY: the module's contract; each slice ends before a later step writes the same memory.
    unsafe {
        if fact == b'E' {
            scaled = equilibrate(of_a, write(ab, of_a.extent()), write(s, m));
        }
        // With FACT = 'F', EQUED is an input and may be a constant.
        if fact != b'F' {
            *equed = if scaled { b'Y' } else { b'N' };
        }
        if scaled {
            scale_rows(&mut RawColumns::new(b, m, count, ldb), read(s, m));
        }
        if fact != b'F' {
            let (from, to) = (read(ab, of_a.extent()), write(afb, of_factor.extent()));
            (0..m).for_each(|j| to[of_factor.part(j)].copy_from_slice(&from[of_a.part(j)]));
            pivot(factor(of_factor, to)).inspect_err(|_| *rcond = T::Real::ZERO)?;
        }
        let (sums, vectors) = workspace(work, extra, m, 2);
        let norm = matrix(of_a, ab).norm(MatrixNorm::One, sums);
        *rcond = condition::reciprocal(&matrix(of_factor, afb), false, norm, vectors);
        copy(ColumnsRef::new(b, m, count, ldb), &mut RawColumns::new(x, m, count, ldx));
        pbtrs(uplo, n, kd, nrhs, afb, ldafb, x, ldx)?;
        pbrfs(uplo, n, kd, nrhs, ab, ldab, afb, ldafb, b, ldb, x, ldx, ferr, berr, work, extra)?;
        if scaled {
            let s = read(s, m);
            scale_rows(&mut RawColumns::new(x, m, count, ldx), s);
            write(ferr, count).iter_mut().for_each(|e| *e = *e / ratio(s));
        }
    }
    verdict::<T>(n, *rcond)
}
