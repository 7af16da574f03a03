//! Eigenvalues of symmetric tridiagonal matrices, with LAPACK's arguments.

use crate::lapack::{letter, shown};
use crate::memory::{RawArray, apart, elements, size};
use crate::status::{CallFailure, CallResult};
use bandsolve::RealScalar;
use bandsolve::memory::collected;
use bandsolve_eigen::{EigenvalueRange, SymmetricTridiagonal};
use core::ffi::c_char;

/// Which eigenvalues: LAPACK's RANGE, VL and VU, IL and IU.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EigenvalueSelection<R> {
    pub range: c_char,
    pub interval: (R, R),
    pub indices: (i64, i64),
}

/// A symmetric matrix in double precision, in which all eigenvalues are computed.
struct DoubleMatrix {
    diag: Vec<f64>,
    off: Vec<f64>,
}

impl DoubleMatrix {
    /// # Safety
    /// Pointers that are not null point to n and n − 1 numbers.
    unsafe fn new<R: RealScalar>([diag, off]: &[RawArray<R>; 2]) -> CallResult<Self> {
        // SAFETY: the caller's promise.
        let double = |array: &RawArray<R>| collected(unsafe { array.read() }.iter().map(|v| v.to_f64()));
        Ok(Self { diag: double(diag)?, off: double(off)? })
    }

    fn view(&self) -> CallResult<SymmetricTridiagonal<'_>> {
        Ok(SymmetricTridiagonal::new(&self.diag, &self.off)?)
    }
}

fn arrays<R: RealScalar>(n: i64, [diag, off]: [*const R; 2]) -> CallResult<(usize, [RawArray<R>; 2])> {
    let n = elements::<R>("diag", &[size("n", n)?])?;
    Ok((n, [RawArray::new("diag", diag, n)?, RawArray::new("off", off, n.saturating_sub(1))?]))
}

fn rounded<R: RealScalar>(to: &mut [R], from: &[f64]) {
    to.iter_mut().zip(from).for_each(|(to, from)| *to = R::from_f64(*from));
}

/// Compute all eigenvalues (`sterf`).
///
/// # Safety
/// Pointers that are not null point to arrays of the given sizes. Written arrays belong to this call alone.
pub(crate) unsafe fn all<R: RealScalar>(n: i64, matrix: [*const R; 2], w: *mut R) -> CallResult {
    let (n, matrix) = arrays(n, matrix)?;
    let w = RawArray::new("w", w, n)?;
    apart(&[w.place()], &[&matrix.each_ref().map(RawArray::place)])?;
    // SAFETY: the caller's promise.
    let values = unsafe { DoubleMatrix::new(&matrix)? }.view()?.eigenvalues(EigenvalueRange::All)?;
    // SAFETY: as above.
    rounded(unsafe { w.write() }, &values);
    Ok(())
}

impl<R: RealScalar> EigenvalueSelection<R> {
    fn range(&self, n: usize) -> CallResult<EigenvalueRange> {
        match letter(self.range) {
            b'A' => Ok(EigenvalueRange::All),
            b'V' => Ok(EigenvalueRange::Interval(self.interval.0.to_f64(), self.interval.1.to_f64())),
            b'I' => {
                let (first, last) = (size("il", self.indices.0)?, size("iu", self.indices.1)?);
                // LAPACK allows il = 1 and iu = 0 for n = 0.
                if first < 1 || last > n || first > last + 1 || first > last && n > 0 {
                    let message = format!("il is {first} and iu is {last}, expected 1 <= il <= iu <= {n}");
                    return Err(CallFailure::argument(message));
                }
                Ok(EigenvalueRange::Indices(first - 1..last))
            }
            _ => Err(CallFailure::argument(format!("range is {}, expected 'A', 'V' or 'I'", shown(self.range)))),
        }
    }
}

/// Compute selected eigenvalues and eigenvectors (`stevr`).
///
/// # Safety
/// As [`all`].
pub(crate) unsafe fn selected<R: RealScalar>(
    (jobz, selection): (c_char, EigenvalueSelection<R>),
    n: i64,
    matrix: [*const R; 2],
    (m, w): (*mut i64, *mut R),
    (z, leading): (*mut R, i64),
) -> CallResult {
    let (n, matrix) = arrays(n, matrix)?;
    let vectors = match letter(jobz) {
        b'N' => false,
        b'V' => true,
        _ => return Err(CallFailure::argument(format!("jobz is {}, expected 'N' or 'V'", shown(jobz)))),
    };
    let range = selection.range(n)?;
    let most = if let EigenvalueRange::Indices(indices) = &range { indices.len() } else { n };
    let (m, w) = (RawArray::new("m", m, 1)?, RawArray::new("w", w, n)?);
    let leading = size("ldz", leading)?;
    if vectors && leading < n {
        return Err(CallFailure::argument(format!("ldz is {leading}, expected at least n, which is {n}")));
    }
    let gaps = elements::<R>("z", &[leading, most.saturating_sub(1)])?;
    let z = RawArray::new("z", z, if vectors && most > 0 { gaps.saturating_add(n) } else { 0 })?;
    apart(&[m.place(), w.place(), z.place()], &[&matrix.each_ref().map(RawArray::place)])?;
    // SAFETY: the caller's promise.
    let matrix = unsafe { DoubleMatrix::new(&matrix)? };
    let (values, columns) = if vectors {
        let pairs = matrix.view()?.eigenpairs(range)?;
        (pairs.values, pairs.vectors)
    } else {
        (matrix.view()?.eigenvalues(range)?, Vec::new())
    };
    // SAFETY: as above; no written array overlaps another array.
    let (m, w, z) = unsafe { (m.write(), w.write(), z.write()) };
    m[0] = values.len() as i64;
    rounded(w, &values);
    for (column, vector) in z.chunks_mut(leading.max(1)).zip(columns.chunks_exact(n.max(1))) {
        rounded(column, vector);
    }
    Ok(())
}

/// Count the eigenvalues that are at most `shift` (`stcount`).
///
/// # Safety
/// As [`all`].
pub(crate) unsafe fn count<R: RealScalar>(n: i64, matrix: [*const R; 2], shift: R, count: *mut i64) -> CallResult {
    let (_, matrix) = arrays(n, matrix)?;
    let count = RawArray::new("count", count, 1)?;
    // SAFETY: the caller's promise.
    let below = unsafe { DoubleMatrix::new(&matrix)? }.view()?.eigenvalues_below(shift.to_f64())?;
    // SAFETY: as above.
    unsafe { count.write()[0] = below as i64 };
    Ok(())
}
