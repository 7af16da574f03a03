//! `gbsv gbtrf gbtrs gbcon gbrfs gbsvx gbequ`

use super::{
    ColumnBounds, ColumnsRef, Info, copy, infinity, op, pivot, refine_all, require, scale_rows, short, verdict,
};
use crate::gb::{GbLayout, GbLu, GbLuMut, GbMatrix, factor, scales};
use crate::norm::MatrixNorm;
use crate::number::LapackScalar;
use crate::raw::{RawColumns, read, size, workspace, write};
use crate::refine::FactoredSystem;
use crate::{Int, condition};
use bandsolve::{Op, RealScalar, Scalar};
use core::ffi::c_void;

/// Whether a leading dimension is too small for `lower` + `upper` + 1 rows, and with `fill` for `lower` additional
/// rows.
pub(super) fn thin(leading: &Int, lower: &Int, upper: &Int, fill: bool) -> bool {
    let [leading, lower, upper] = [leading, lower, upper].map(|v| i128::from(*v));
    leading < lower * if fill { 2 } else { 1 } + upper + 1
}

/// The layout of a band, with room for its factors if `fill`.
fn band(m: &Int, n: &Int, kl: &Int, ku: &Int, leading: &Int, fill: bool) -> GbLayout {
    let (lower, upper) = (size(kl), size(ku));
    let upper = if fill { lower + upper } else { upper };
    GbLayout { rows: size(m), columns: size(n), lower, upper, leading: size(leading) }
}

unsafe fn matrix<'a, T>(band: GbLayout, ab: *const T) -> GbMatrix<'a, T> {
    // SAFETY: the module's contract.
    GbMatrix { band, elements: unsafe { read(ab, band.extent()) } }
}

unsafe fn factors<'a, T>(band: GbLayout, ab: *const T, ipiv: *const Int) -> GbLu<'a, T> {
    // SAFETY: the module's contract.
    unsafe { GbLu { factors: matrix(band, ab), pivot: read(ipiv, band.columns) } }
}

unsafe fn factor_at<T: LapackScalar>(band: GbLayout, ab: *mut T, ipiv: *mut Int) -> Info {
    if band.rows == 0 || band.columns == 0 {
        return Ok(());
    }
    let steps = band.rows.min(band.columns);
    // SAFETY: the module's contract.
    pivot(factor(unsafe { GbLuMut { band, elements: write(ab, band.extent()), pivot: write(ipiv, steps) } }))
}

pub unsafe fn gbtrf<T: LapackScalar>(
    m: &Int,
    n: &Int,
    kl: &Int,
    ku: &Int,
    ab: *mut T,
    ldab: &Int,
    ipiv: *mut Int,
) -> Info {
    let wrong = [(1, *m < 0), (2, *n < 0), (3, *kl < 0), (4, *ku < 0), (6, thin(ldab, kl, ku, true))];
    require::<T>("GBTRF", &wrong)?;
    // SAFETY: the module's contract.
    unsafe { factor_at(band(m, n, kl, ku, ldab, true), ab, ipiv) }
}

pub unsafe fn gbtrs<T: LapackScalar>(
    trans: &u8,
    n: &Int,
    kl: &Int,
    ku: &Int,
    nrhs: &Int,
    ab: *const T,
    ldab: &Int,
    ipiv: *const Int,
    b: *mut T,
    ldb: &Int,
) -> Info {
    let wrong = [
        (1, op(trans).is_none()),
        (2, *n < 0),
        (3, *kl < 0),
        (4, *ku < 0),
        (5, *nrhs < 0),
        (7, thin(ldab, kl, ku, true)),
        (10, short(ldb, n)),
    ];
    require::<T>("GBTRS", &wrong)?;
    // SAFETY: the module's contract.
    unsafe {
        let lu = factors(band(n, n, kl, ku, ldab, true), ab, ipiv);
        lu.solve_columns(op(trans).unwrap_or(Op::Plain), &mut RawColumns::new(b, size(n), size(nrhs), ldb));
    }
    Ok(())
}

pub unsafe fn gbsv<T: LapackScalar>(
    n: &Int,
    kl: &Int,
    ku: &Int,
    nrhs: &Int,
    ab: *mut T,
    ldab: &Int,
    ipiv: *mut Int,
    b: *mut T,
    ldb: &Int,
) -> Info {
    let wrong =
        [(1, *n < 0), (2, *kl < 0), (3, *ku < 0), (4, *nrhs < 0), (6, thin(ldab, kl, ku, true)), (9, short(ldb, n))];
    require::<T>("GBSV", &wrong)?;
    let band = band(n, n, kl, ku, ldab, true);
    // SAFETY: the module's contract; the factors are written before they are read.
    unsafe {
        factor_at(band, ab, ipiv)?;
        factors(band, ab, ipiv).solve_columns(Op::Plain, &mut RawColumns::new(b, size(n), size(nrhs), ldb));
    }
    Ok(())
}

pub unsafe fn gbcon<T: LapackScalar>(
    norm: &u8,
    n: &Int,
    kl: &Int,
    ku: &Int,
    ab: *const T,
    ldab: &Int,
    ipiv: *const Int,
    anorm: &T::Real,
    rcond: &mut T::Real,
    work: *mut T,
) -> Info {
    let wrong = [
        (1, infinity(norm).is_none()),
        (2, *n < 0),
        (3, *kl < 0),
        (4, *ku < 0),
        (6, thin(ldab, kl, ku, true)),
        (8, *anorm < T::Real::ZERO),
    ];
    require::<T>("GBCON", &wrong)?;
    // SAFETY: the module's contract.
    let (lu, work) = unsafe { (factors(band(n, n, kl, ku, ldab, true), ab, ipiv), write(work, 2 * size(n))) };
    *rcond = condition::reciprocal(&lu, infinity(norm) == Some(true), *anorm, work);
    Ok(())
}

pub unsafe fn gbrfs<T: LapackScalar>(
    trans: &u8,
    n: &Int,
    kl: &Int,
    ku: &Int,
    nrhs: &Int,
    ab: *const T,
    ldab: &Int,
    afb: *const T,
    ldafb: &Int,
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
    let wrong = [
        (1, trans.is_none()),
        (2, *n < 0),
        (3, *kl < 0),
        (4, *ku < 0),
        (5, *nrhs < 0),
        (7, thin(ldab, kl, ku, false)),
        (9, thin(ldafb, kl, ku, true)),
        (12, short(ldb, n)),
        (14, short(ldx, n)),
    ];
    require::<T>("GBRFS", &wrong)?;
    let count = size(nrhs);
    // SAFETY: the module's contract.
    unsafe {
        let a = matrix(band(n, n, kl, ku, ldab, false), ab);
        let lu = factors(band(n, n, kl, ku, ldafb, true), afb, ipiv);
        let system = FactoredSystem { a, factors: lu, op: trans.unwrap_or(Op::Plain) };
        let n = size(n);
        let (b, x) = (ColumnsRef::new(b, n, count, ldb), RawColumns::new(x, n, count, ldx));
        refine_all(&system, b, x, ColumnBounds::new(ferr, berr, count), workspace(work, extra, n, 2));
    }
    Ok(())
}

pub unsafe fn gbequ<T: LapackScalar>(
    m: &Int,
    n: &Int,
    kl: &Int,
    ku: &Int,
    ab: *const T,
    ldab: &Int,
    r: *mut T::Real,
    c: *mut T::Real,
    rowcnd: &mut T::Real,
    colcnd: &mut T::Real,
    amax: &mut T::Real,
) -> Info {
    let wrong = [(1, *m < 0), (2, *n < 0), (3, *kl < 0), (4, *ku < 0), (6, thin(ldab, kl, ku, false))];
    require::<T>("GBEQU", &wrong)?;
    // SAFETY: the module's contract.
    let (a, r, c) = unsafe { (matrix(band(m, n, kl, ku, ldab, false), ab), write(r, size(m)), write(c, size(n))) };
    let (computed, zero) = scales(&a, r, c);
    *amax = computed.largest;
    // A ratio is known if no row, or no row and no column, is zero.
    if zero.is_none_or(|place| place >= size(m)) {
        *rowcnd = computed.rows;
    }
    if zero.is_none() {
        *colcnd = computed.columns;
    }
    pivot(zero)
}

/// The ratio of scales below which scaling is applied.
pub(super) fn worthwhile<R: RealScalar>() -> R {
    R::from_f64(0.1)
}

/// The scaled sides of a matrix: LAPACK's EQUED.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Equed {
    rows: bool,
    columns: bool,
}

impl Equed {
    fn from_letter(letter: u8) -> Option<Self> {
        let (rows, columns) = match letter.to_ascii_uppercase() {
            b'N' => (false, false),
            b'R' => (true, false),
            b'C' => (false, true),
            b'B' => (true, true),
            _ => return None,
        };
        Some(Self { rows, columns })
    }

    fn letter(self) -> u8 {
        match (self.rows, self.columns) {
            (false, false) => b'N',
            (true, false) => b'R',
            (false, true) => b'C',
            (true, true) => b'B',
        }
    }
}

/// Whether all of `scales` are positive. They are not read unless `used`.
unsafe fn positive<R: RealScalar>(used: bool, scales: *const R, n: usize) -> bool {
    // SAFETY: the module's contract.
    !used || unsafe { read(scales, n) }.iter().all(|s| *s > R::ZERO)
}

/// The arguments that the steps of [`gbsvx`] share.
struct Expert<T: LapackScalar> {
    a: GbLayout,
    factors: GbLayout,
    ab: *mut T,
    afb: *mut T,
    ipiv: *mut Int,
    r: *mut T::Real,
    c: *mut T::Real,
}

impl<T: LapackScalar> Expert<T> {
    fn n(&self) -> usize {
        self.a.columns
    }

    /// Scale the matrix if the ratios of the scales require it.
    unsafe fn equilibrate(&self) -> Equed {
        let none = Equed { rows: false, columns: false };
        // SAFETY: the module's contract.
        let (r, c, elements) =
            unsafe { (write(self.r, self.n()), write(self.c, self.n()), write(self.ab, self.a.extent())) };
        let (computed, zero) = scales(&GbMatrix { band: self.a, elements: &*elements }, r, c);
        if zero.is_some() || self.n() == 0 {
            return none;
        }
        let small = T::Real::MIN_POSITIVE / T::Real::EPSILON;
        let fits = computed.largest >= small && computed.largest <= T::Real::ONE / small;
        let equed = Equed { rows: computed.rows < worthwhile() || !fits, columns: computed.columns < worthwhile() };
        if equed == none {
            return none;
        }
        for j in 0..self.n() {
            let rows = self.a.rows_of(j);
            let column = &mut elements[self.a.part(rows.clone(), j)];
            for (a, r) in column.iter_mut().zip(&r[rows]) {
                let by_row = if equed.rows { *r } else { T::Real::ONE };
                let by_column = if equed.columns { c[j] } else { T::Real::ONE };
                // Multiply by one scale after the other, because the product of both can overflow or underflow.
                *a = a.scale(by_row).scale(by_column);
            }
        }
        equed
    }

    /// Copy the matrix to the memory of its factors, and factor it there.
    unsafe fn factor(&self) -> Info {
        // SAFETY: the module's contract.
        unsafe {
            let a = matrix(self.a, self.ab);
            let to = write(self.afb, self.factors.extent());
            for j in 0..self.n() {
                let rows = self.a.rows_of(j);
                to[self.factors.part(rows, j)].copy_from_slice(a.column(j).1);
            }
            factor_at(self.factors, self.afb, self.ipiv)
        }
    }

    /// max |aᵢⱼ| / max |uᵢⱼ| over the first `count` columns: the reciprocal of the pivot growth.
    unsafe fn reciprocal_growth(&self, count: usize) -> T::Real {
        // SAFETY: the module's contract.
        let (a, u) = unsafe { (matrix(self.a, self.ab), matrix(self.factors, self.afb)) };
        let largest = u.largest_of(count, true);
        if largest == T::Real::ZERO { T::Real::ONE } else { a.largest_of(count, false) / largest }
    }
}

pub unsafe fn gbsvx<T: LapackScalar>(
    fact: &u8,
    trans: &u8,
    n: &Int,
    kl: &Int,
    ku: &Int,
    nrhs: &Int,
    ab: *mut T,
    ldab: &Int,
    afb: *mut T,
    ldafb: &Int,
    ipiv: *mut Int,
    equed: *mut u8,
    r: *mut T::Real,
    c: *mut T::Real,
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
    let fact = fact.to_ascii_uppercase();
    // SAFETY: the module's contract: the caller sets EQUED if FACT = 'F'.
    let given = Equed::from_letter(if fact == b'F' { unsafe { *equed } } else { b'N' });
    let (by_rows, by_columns) = given.map_or((false, false), |g| (g.rows, g.columns));
    // SAFETY: the module's contract: the caller sets the scales that EQUED names if FACT = 'F'.
    let (rows_ok, columns_ok) = unsafe { (positive(by_rows, r, size(n)), positive(by_columns, c, size(n))) };
    let wrong = [
        (1, !matches!(fact, b'N' | b'E' | b'F')),
        (2, op(trans).is_none()),
        (3, *n < 0),
        (4, *kl < 0),
        (5, *ku < 0),
        (6, *nrhs < 0),
        (8, thin(ldab, kl, ku, false)),
        (10, thin(ldafb, kl, ku, true)),
        (12, given.is_none()),
        (13, !rows_ok),
        (14, !columns_ok),
        (16, short(ldb, n)),
        (18, short(ldx, n)),
    ];
    require::<T>("GBSVX", &wrong)?;
    let (a, factors_band) = (band(n, n, kl, ku, ldab, false), band(n, n, kl, ku, ldafb, true));
    let expert = Expert { a, factors: factors_band, ab, afb, ipiv, r, c };
    let (m, count, plain) = (size(n), size(nrhs), op(trans) == Some(Op::Plain));
    let mut scaled = Equed { rows: by_rows, columns: by_columns };
    // SAFETY: the module's contract; each slice ends before a later step writes the same memory.
    unsafe {
        if fact == b'E' {
            scaled = expert.equilibrate();
        }
        // With FACT = 'F', EQUED is an input and may be a constant.
        if fact != b'F' {
            *equed = scaled.letter();
        }
        // op(R·A·C)·y = s·b, x = t·y
        let (before, after) =
            if plain { ((scaled.rows, r), (scaled.columns, c)) } else { ((scaled.columns, c), (scaled.rows, r)) };
        if before.0 {
            scale_rows(&mut RawColumns::new(b, m, count, ldb), read(before.1, m));
        }
        let growth: *mut T::Real = if T::COMPLEX { extra.cast() } else { work.cast() };
        if fact != b'F'
            && let Err(row) = expert.factor()
        {
            (*growth, *rcond) = (expert.reciprocal_growth(size(&row)), T::Real::ZERO);
            return Err(row);
        }
        let reciprocal_growth = expert.reciprocal_growth(m);
        let (sums, vectors) = workspace(work, extra, m, 2);
        let norm = matrix(a, ab).norm(if plain { MatrixNorm::One } else { MatrixNorm::Infinity }, sums);
        *rcond = condition::reciprocal(&factors(factors_band, afb, ipiv), !plain, norm, vectors);
        copy(ColumnsRef::new(b, m, count, ldb), &mut RawColumns::new(x, m, count, ldx));
        gbtrs(trans, n, kl, ku, nrhs, afb, ldafb, ipiv, x, ldx)?;
        gbrfs(trans, n, kl, ku, nrhs, ab, ldab, afb, ldafb, ipiv, b, ldb, x, ldx, ferr, berr, work, extra)?;
        if after.0 {
            let scales = read(after.1, m);
            scale_rows(&mut RawColumns::new(x, m, count, ldx), scales);
            let ratio = crate::gb::spread(scales);
            write(ferr, count).iter_mut().for_each(|e| *e = *e / ratio);
        }
        *growth = reciprocal_growth;
    }
    verdict::<T>(n, *rcond)
}
