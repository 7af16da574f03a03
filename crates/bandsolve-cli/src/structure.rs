//! Convert a list of entries to the narrowest tridiagonal or banded system that contains them.

use crate::exit::Failure;
use crate::io::Triplets;
use crate::memory::{affordable, filled};
use bandsolve::{AnyFactor, Banded, Complex64, Factor, Plan, RealScalar, Scalar, Shape, Tridiagonal};
use bandsolve_gallery::families::System;
use bandsolve_gpu::{Device, DeviceScalar, HostMatrix};

/// The positions of the non-zero entries of a square matrix.
#[derive(Debug, Clone, PartialEq)]
pub struct Structure {
    /// Number of unknowns.
    pub n: usize,
    /// Number of entries, including those implied by symmetry.
    pub entries: usize,
    /// Number of diagonals below the main one.
    pub lower: usize,
    /// Number of diagonals above the main one.
    pub upper: usize,
    /// Numbers of diagonals below and above without the corner entries (0, n−1) and (n−1, 0).
    pub without_corners: (usize, usize),
    /// First row without an entry. If there is one, the matrix is singular.
    pub empty_row: Option<usize>,
    /// First column without an entry.
    pub empty_col: Option<usize>,
}

/// The kinds of systems that `bandsolve solve` handles.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SolvableKind {
    /// At most one diagonal on each side, with corner entries if periodic.
    Tridiagonal {
        /// Whether there may be corner entries.
        periodic: bool,
    },
    /// More diagonals.
    Banded {
        /// Number of diagonals below the main one.
        lower: usize,
        /// Number of diagonals above the main one.
        upper: usize,
    },
}

impl Structure {
    /// Find the bands, the corner entries and the empty rows and columns.
    ///
    /// # Cost
    /// One pass over the entries. The memory is proportional to the number of entries, however large n is in the header of the file.
    pub fn of(a: &Triplets) -> Structure {
        Self::of_renumbered(a, None)
    }

    /// The structure after unknown i moves to position `places[i]`.
    pub fn of_renumbered(a: &Triplets, places: Option<&[u32]>) -> Structure {
        let (n, at) = (a.n_rows, place_in(places));
        let (mut entries, mut bands, mut inner) = (0, (0, 0), (0, 0));
        let mut seen = (Seen::new(n, a.rows.len()), Seen::new(n, a.rows.len()));
        a.for_each(|i, j, value| {
            if is_zero(value) {
                return;
            }
            entries += 1;
            let (i, j) = (at(i), at(j));
            seen.0.mark(i);
            seen.1.mark(j);
            widen(&mut bands, i, j);
            if i.abs_diff(j) + 1 < n || n < 3 {
                widen(&mut inner, i, j);
            }
        });
        let (empty_row, empty_col) = (seen.0.first_missing(), seen.1.first_missing());
        Structure { n, entries, lower: bands.0, upper: bands.1, without_corners: inner, empty_row, empty_col }
    }

    /// The narrowest kind of system that contains the matrix. If `periodic`, this is always a periodic tridiagonal system.
    ///
    /// # Errors
    /// [`Failure::Usage`] if `periodic` and the matrix has entries outside the three diagonals and two corners.
    pub fn kind(&self, periodic: bool) -> Result<SolvableKind, Failure> {
        let fits = |(lower, upper)| lower <= 1 && upper <= 1;
        let &Structure { lower, upper, without_corners, .. } = self;
        match (fits((lower, upper)), fits(without_corners)) {
            (true, _) => Ok(SolvableKind::Tridiagonal { periodic }),
            (false, true) => Ok(SolvableKind::Tridiagonal { periodic: true }),
            (false, false) if periodic => Err(Failure::Usage(format!(
                "--periodic: the matrix is not periodic tridiagonal: it has {lower} diagonals below and {upper} above \
                 the main one. Leave out --periodic to solve it as a banded matrix"
            ))),
            (false, false) => Ok(SolvableKind::Banded { lower, upper }),
        }
    }

    /// Return [`Failure::Unsolved`] if a row or column has no non-zero entry.
    pub fn check_not_empty(&self) -> Result<(), Failure> {
        let empty = self.empty_row.map(|i| ("row", i)).or(self.empty_col.map(|j| ("column", j)));
        empty.map_or(Ok(()), |(what, k)| {
            let text = format!("the matrix is singular: {what} {} of {} contains only zeros", k + 1, self.n);
            Err(Failure::Unsolved(text))
        })
    }

    /// Numbers of diagonals below and above the main one for this kind of system, without corner entries.
    pub fn bands(&self, kind: SolvableKind) -> (usize, usize) {
        match kind {
            SolvableKind::Tridiagonal { periodic: true } => self.without_corners,
            _ => (self.lower, self.upper),
        }
    }
}

impl SolvableKind {
    /// The name in reports.
    pub fn name(self) -> &'static str {
        match self {
            SolvableKind::Tridiagonal { periodic: false } => "tridiagonal",
            SolvableKind::Tridiagonal { periodic: true } => "periodic tridiagonal",
            SolvableKind::Banded { .. } => "banded",
        }
    }

    /// The shape that a plan needs.
    pub fn shape(self, n: usize) -> Shape {
        match self {
            SolvableKind::Tridiagonal { periodic } => Shape::Tridiagonal { n, periodic },
            SolvableKind::Banded { lower, upper } => Shape::Banded { n, lower, upper },
        }
    }
}

/// A function that returns the new position of an unknown. Without `places`, the position does not change.
fn place_in(places: Option<&[u32]>) -> impl Fn(usize) -> usize {
    move |unknown| places.map_or(unknown, |places| places[unknown] as usize)
}

/// Whether a stored entry is zero. Such entries are ignored.
pub fn is_zero(value: Complex64) -> bool {
    value.re == 0.0 && value.im == 0.0
}

fn widen(bands: &mut (usize, usize), i: usize, j: usize) {
    bands.0 = bands.0.max(i.saturating_sub(j));
    bands.1 = bands.1.max(j.saturating_sub(i));
}

/// Marks of the rows that have an entry. `stored` entries can mark at most `2·stored` rows. One of the first `2·stored + 1` rows is
/// therefore empty if there are that many rows, so the structure needs no marks for later rows.
struct Seen {
    marks: Vec<bool>,
}

impl Seen {
    fn new(n: usize, stored: usize) -> Self {
        // A stored entry of a symmetric matrix counts twice.
        Seen { marks: vec![false; n.min(2 * stored + 1)] }
    }

    fn mark(&mut self, k: usize) {
        if let Some(mark) = self.marks.get_mut(k) {
            *mark = true;
        }
    }

    fn first_missing(&self) -> Option<usize> {
        self.marks.iter().position(|seen| !seen)
    }
}

/// Assemble the matrix from its entries. Entries at the same position are added up.
///
/// # Errors
/// [`Failure::Input`] if too little memory is free for the band, or an entry is outside the range of the number type.
pub fn assemble<T: Scalar>(a: &Triplets, kind: SolvableKind) -> Result<System<T>, Failure> {
    assemble_renumbered(a, kind, None)
}

/// Assemble the matrix after unknown i moves to position `places[i]`.
///
/// # Errors
/// The errors of [`assemble`].
pub fn assemble_renumbered<T: Scalar>(
    a: &Triplets,
    kind: SolvableKind,
    places: Option<&[u32]>,
) -> Result<System<T>, Failure> {
    match kind {
        SolvableKind::Tridiagonal { periodic } => assemble_tridiagonal(a, periodic, places).map(System::Tridiagonal),
        SolvableKind::Banded { lower, upper } => assemble_banded(a, (lower, upper), places).map(System::Banded),
    }
}

/// Factor a matrix with a plan.
///
/// # Errors
/// The errors of [`Plan::factor`].
pub fn factor<'m, T: Scalar>(a: &'m System<T>, plan: &Plan) -> bandsolve::Result<AnyFactor<'m, T>> {
    match a {
        System::Tridiagonal(a) => plan.factor(a),
        System::Banded(a) => plan.factor(a),
    }
}

/// Factor a matrix with a plan on the CPU, or on a device.
///
/// # Errors
/// The errors of [`Plan::factor`] and [`Device::factor`].
pub fn factor_on<'m, T: DeviceScalar>(
    a: &'m System<T>,
    device: Option<&Device>,
    plan: &Plan,
) -> bandsolve::Result<Box<dyn Factor<T> + 'm>> {
    let Some(device) = device else { return Ok(Box::new(factor(a, plan)?)) };
    let matrix: &dyn HostMatrix<T> = match a {
        System::Tridiagonal(a) => a,
        System::Banded(a) => a,
    };
    Ok(Box::new(device.factor(plan, matrix)?))
}

fn assemble_tridiagonal<T: Scalar>(
    a: &Triplets,
    periodic: bool,
    places: Option<&[u32]>,
) -> Result<Tridiagonal<'static, T>, Failure> {
    let n = a.n_rows;
    let too_long = |why: String| Failure::Input(format!("{n} unknowns are too many: {why}"));
    affordable(&[n, 3], size_of::<T>()).map_err(too_long)?;
    let zeros = || filled(T::ZERO, n).map_err(too_long);
    let (mut sub, mut diag, mut sup) = (zeros()?, zeros()?, zeros()?);
    add_entries(a, places, |i, j, value| {
        let at = match (i, j) {
            _ if i == j => &mut diag[i],
            _ if j + 1 == i => &mut sub[i],
            _ if i + 1 == j => &mut sup[i],
            (0, _) => &mut sub[0],
            _ => &mut sup[n - 1],
        };
        *at += value;
        *at
    })?;
    Ok(Tridiagonal::from_vecs(sub, diag, sup, periodic)?)
}

fn assemble_banded<T: Scalar>(
    a: &Triplets,
    (lower, upper): (usize, usize),
    places: Option<&[u32]>,
) -> Result<Banded<'static, T>, Failure> {
    let n = a.n_rows;
    let rows = lower.saturating_add(upper).saturating_add(1);
    let too_wide = |why: String| {
        Failure::Input(format!(
            "the band is too wide ({lower} diagonals below, {upper} above): {why}. Try `bandsolve solve --reorder rcm` for a \
             narrower band, or `bandsolve iterate`, which needs no band"
        ))
    };
    // The matrix and its factors. Pivoting adds fill-in of `lower` diagonals.
    affordable(&[n, rows.saturating_mul(2).saturating_add(lower)], size_of::<T>()).map_err(too_wide)?;
    let mut bands = filled(T::ZERO, n * rows).map_err(too_wide)?;
    add_entries(a, places, |i, j, value| {
        let at = &mut bands[upper + i - j + j * rows];
        *at += value;
        *at
    })?;
    Ok(Banded::from_vec(n, lower, upper, bands)?)
}

/// Call `add` with every non-zero entry. `add` returns the sum at that position.
fn add_entries<T: Scalar>(
    a: &Triplets,
    places: Option<&[u32]>,
    mut add: impl FnMut(usize, usize, T) -> T,
) -> Result<(), Failure> {
    let (mut bad, at) = (None, place_in(places));
    a.for_each(|i, j, value| {
        if is_zero(value) {
            return;
        }
        let rounded: T = convert(value);
        if rounded == T::ZERO || !Scalar::is_finite(add(at(i), at(j), rounded)) {
            bad = Some((i, j));
        }
    });
    bad.map_or(Ok(()), |(i, j)| Err(out_of_range::<T>("the matrix", i, j)))
}

/// The error for a number that overflows or underflows.
pub fn out_of_range<T: Scalar>(what: &str, i: usize, j: usize) -> Failure {
    let (i, j, bits) = (i + 1, j + 1, 8 * size_of::<T::Real>());
    Failure::Input(format!("{what}: the number in row {i}, column {j} is beyond the range of {bits}-bit numbers"))
}

/// Round to `T`. If `T` is real, the imaginary part is lost.
pub fn convert<T: Scalar>(value: Complex64) -> T {
    T::from_parts(T::Real::from_f64(value.re), T::Real::from_f64(value.im))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::{Numbers, Symmetry};

    fn triplets(n: usize, entries: &[(u32, u32, f64)]) -> Triplets {
        let mut values = Numbers::new(false);
        entries.iter().for_each(|e| values.push(e.2, 0.0));
        let rows = entries.iter().map(|e| e.0).collect();
        let cols = entries.iter().map(|e| e.1).collect();
        Triplets { n_rows: n, n_cols: n, rows, cols, values, symmetry: Symmetry::General, pattern: false }
    }

    fn diagonal(n: u32) -> Vec<(u32, u32, f64)> {
        (0..n).map(|i| (i, i, 2.0)).collect()
    }

    #[test]
    fn bands_and_corners_are_found() {
        let mut entries = diagonal(5);
        let kind = |entries: &[_]| Structure::of(&triplets(5, entries)).kind(false).unwrap();
        assert_eq!(kind(&entries), SolvableKind::Tridiagonal { periodic: false });
        entries.push((0, 4, 1.0));
        assert_eq!(kind(&entries), SolvableKind::Tridiagonal { periodic: true });
        entries.push((0, 2, 0.0));
        assert_eq!(kind(&entries), SolvableKind::Tridiagonal { periodic: true }, "a stored zero is no entry");
        entries.push((3, 1, 1.0));
        assert_eq!(kind(&entries), SolvableKind::Banded { lower: 2, upper: 4 });
        assert!(Structure::of(&triplets(5, &entries)).kind(true).is_err());
    }

    #[test]
    fn two_unknowns_have_no_corners() {
        let a = triplets(2, &[(0, 0, 1.0), (0, 1, 2.0), (1, 0, 3.0), (1, 1, 4.0)]);
        assert_eq!(Structure::of(&a).kind(false).unwrap(), SolvableKind::Tridiagonal { periodic: false });
        for periodic in [false, true] {
            let System::Tridiagonal(t) = assemble::<f64>(&a, SolvableKind::Tridiagonal { periodic }).unwrap() else {
                panic!("the kind is tridiagonal");
            };
            assert_eq!(t.apply(&[1.0, 10.0]).unwrap(), [21.0, 43.0]);
        }
    }

    #[test]
    fn an_empty_row_of_a_huge_matrix_is_found_without_its_memory() {
        let s = Structure::of(&triplets(4_000_000_000, &[(0, 0, 1.0), (1, 3, 1.0)]));
        assert_eq!((s.empty_row, s.empty_col), (Some(2), Some(1)));
        assert!(matches!(s.check_not_empty(), Err(Failure::Unsolved(_))));
    }

    #[test]
    fn a_band_beyond_memory_is_refused() {
        let mut entries = diagonal(1_000_000);
        entries.extend([(999_999, 0, 1.0), (999_999, 1, 1.0)]);
        let a = triplets(1_000_000, &entries);
        let kind = Structure::of(&a).kind(false).unwrap();
        let failure = assemble::<f64>(&a, kind).unwrap_err();
        assert!(failure.to_string().contains("GiB"), "{failure}");
    }

    #[test]
    fn every_kind_contains_the_same_matrix() {
        let mut entries = diagonal(4);
        entries.extend([(0, 1, 3.0), (2, 1, -1.0), (0, 3, 5.0), (3, 0, 7.0), (1, 1, 0.5)]);
        let a = triplets(4, &entries);
        let dense = |kind| {
            let mut dense = [0.0; 16];
            assemble::<f64>(&a, kind).unwrap().for_each(|i, j, v| dense[4 * i + j] += v);
            dense
        };
        let expected = [2.0, 3.0, 0.0, 5.0, 0.0, 2.5, 0.0, 0.0, 0.0, -1.0, 2.0, 0.0, 7.0, 0.0, 0.0, 2.0];
        assert_eq!(dense(SolvableKind::Tridiagonal { periodic: true }), expected);
        assert_eq!(dense(SolvableKind::Banded { lower: 3, upper: 3 }), expected);
    }

    #[test]
    fn numbers_beyond_single_precision_are_refused() {
        let a = triplets(1, &[(0, 0, 1e300)]);
        let kind = SolvableKind::Tridiagonal { periodic: false };
        assert!(assemble::<f32>(&a, kind).unwrap_err().to_string().contains("32-bit"));
        assert!(assemble::<f64>(&a, kind).is_ok());
    }
}
