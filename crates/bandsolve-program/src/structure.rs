//! The system that `bandsolve solve` handles, from the structure of a matrix.

use crate::exit::Failure;
use crate::io::Triplets;
use crate::memory::affordable;
use bandsolve::vectors::narrow;
use bandsolve::{AnyFactor, BlockTridiagonal, Complex64, Plan, RealScalar, Scalar, Shape};
use bandsolve_gallery::families::System;
use bandsolve_sparse::{EntryList, Structure};

/// The structure of a matrix.
///
/// # Errors
/// [`Failure`] if too little memory is free.
pub fn structure(a: &impl EntryList<Complex64>) -> Result<Structure, Failure> {
    Ok(Structure::of(a)?)
}

/// The shape of the narrowest system that contains the matrix. If `periodic`, this is always a periodic tridiagonal system.
///
/// # Errors
/// [`Failure::Usage`] if `periodic` and the matrix has entries outside the three diagonals and two corners.
pub fn shape(structure: &Structure, periodic: bool) -> Result<Shape, Failure> {
    match structure.shape() {
        Shape::Tridiagonal { n, periodic: corners } => Ok(Shape::Tridiagonal { n, periodic: corners || periodic }),
        _ if periodic => Err(Failure::Usage(format!(
            "--periodic: the matrix is not periodic tridiagonal: it has {} diagonals below and {} above the main one. Leave out --periodic to \
             solve it as a banded matrix",
            structure.lower, structure.upper
        ))),
        shape => Ok(shape),
    }
}

/// The shape of a matrix with blocks of `block` rows. If `periodic`, the corner blocks may contain entries.
///
/// # Errors
/// [`Failure::Usage`] if `block` does not divide the number of rows, or an entry is outside of the blocks.
pub fn block_shape(a: &Triplets, block: usize, periodic: bool) -> Result<Shape, Failure> {
    let n = a.n_rows;
    if block == 0 || !n.is_multiple_of(block) {
        return Err(Failure::Usage(format!(
            "--block {block}: the matrix has {n} rows, which is not a multiple of the block size. Pass a divisor of {n}"
        )));
    }
    match EntryList::<Complex64>::first_outside_blocks(a, block, periodic) {
        Some((i, j)) => Err(Failure::Usage(format!(
            "--block {block}: the entry in row {}, column {} is in none of the three block diagonals. Use larger blocks, or solve without --block",
            i + 1,
            j + 1
        ))),
        None => Ok(Shape::BlockTridiagonal { block_rows: n / block, block, periodic }),
    }
}

/// Return [`Failure::Unsolved`] if a row or column has no non-zero entry.
pub fn check_not_empty(structure: &Structure) -> Result<(), Failure> {
    let empty = structure.empty_row.map(|i| ("row", i)).or(structure.empty_column.map(|j| ("column", j)));
    empty.map_or(Ok(()), |(what, k)| {
        let text = format!("the matrix is singular: {what} {} of {} contains only zeros", k + 1, structure.n);
        Err(Failure::Unsolved(text))
    })
}

/// The name of a shape in reports.
pub fn kind(shape: Shape) -> &'static str {
    match shape {
        Shape::BlockTridiagonal { periodic: true, .. } => "periodic block tridiagonal",
        Shape::BlockTridiagonal { .. } => "block tridiagonal",
        _ if is_periodic(shape) => "periodic tridiagonal",
        Shape::Tridiagonal { .. } => "tridiagonal",
        _ => "banded",
    }
}

/// Whether the matrix has corner entries or corner blocks.
pub fn is_periodic(shape: Shape) -> bool {
    matches!(shape, Shape::Tridiagonal { periodic: true, .. } | Shape::BlockTridiagonal { periodic: true, .. })
}

/// Assemble the matrix from its entries. Entries at the same position are added up.
///
/// # Errors
/// [`Failure::Input`] if too little memory is free for the band.
pub fn assemble<T: Scalar>(a: &impl EntryList<T>, shape: Shape) -> Result<System<T>, Failure> {
    match shape {
        Shape::Banded { n, lower, upper } => {
            let too_wide = |why: String| {
                Failure::Input(format!(
                    "the band is too wide ({lower} diagonals below, {upper} above): {why}. Try `bandsolve solve --reorder rcm` for a \
                     narrower band, or `bandsolve iterate`, which needs no band"
                ))
            };
            // The matrix and its factors. Pivoting adds fill-in of `lower` diagonals.
            let rows = lower.saturating_add(upper).saturating_add(1);
            affordable(&[n, rows.saturating_mul(2).saturating_add(lower)], size_of::<T>()).map_err(too_wide)?;
            Ok(System::Banded(a.to_banded(lower, upper)?))
        }
        shape => {
            let too_long = |why: String| Failure::Input(format!("{} unknowns are too many: {why}", shape.n()));
            affordable(&[shape.n(), 3], size_of::<T>()).map_err(too_long)?;
            Ok(System::Tridiagonal(a.to_tridiagonal(is_periodic(shape))?))
        }
    }
}

/// Assemble a block tridiagonal matrix from its entries. Entries at the same position are added up.
///
/// # Errors
/// [`Failure::Input`] if too little memory is free for the matrix and its factors.
pub fn assemble_blocks<T: Scalar>(
    a: &impl EntryList<T>,
    block: usize,
    periodic: bool,
) -> Result<BlockTridiagonal<'static, T>, Failure> {
    let n = a.size().0;
    // The matrix and its factors. The search for eigenvalues also needs A − σI.
    affordable(&[n, block, 9], size_of::<T>())
        .map_err(|why| Failure::Input(format!("{n} rows in blocks of {block} are too many: {why}")))?;
    Ok(a.to_block_tridiagonal(block, periodic)?)
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

/// Return an error if an entry overflows or underflows in the number type.
///
/// # Errors
/// [`Failure::Input`] with the row and the column.
pub fn check_range<T: Scalar>(a: &Triplets) -> Result<(), Failure> {
    // The numbers of files are finite numbers in double precision.
    if T::Real::EPSILON == RealScalar::from_f64(f64::EPSILON) {
        return Ok(());
    }
    let fits = |value: Complex64| {
        let rounded: T = narrow(value);
        Scalar::is_finite(rounded) && (rounded == T::ZERO) == (value == Complex64::ZERO)
    };
    let mut bad = None;
    a.for_each(|i, j, value| bad = bad.or((!fits(value)).then_some((i, j))));
    bad.map_or(Ok(()), |(i, j)| Err(out_of_range::<T>("the matrix", i, j)))
}

/// The error for a number that overflows or underflows.
pub fn out_of_range<T: Scalar>(what: &str, i: usize, j: usize) -> Failure {
    let (i, j, bits) = (i + 1, j + 1, 8 * size_of::<T::Real>());
    Failure::Input(format!("{what}: the number in row {i}, column {j} is beyond the range of {bits}-bit numbers"))
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

    fn shape_of(a: &Triplets, periodic: bool) -> Result<Shape, Failure> {
        shape(&structure(a)?, periodic)
    }

    fn diagonal(n: u32) -> Vec<(u32, u32, f64)> {
        (0..n).map(|i| (i, i, 2.0)).collect()
    }

    #[test]
    fn bands_and_corners_are_found() {
        let mut entries = diagonal(5);
        let kind = |entries: &[_]| shape_of(&triplets(5, entries), false).unwrap();
        assert_eq!(kind(&entries), Shape::Tridiagonal { n: 5, periodic: false });
        entries.push((0, 4, 1.0));
        assert_eq!(kind(&entries), Shape::Tridiagonal { n: 5, periodic: true });
        entries.push((0, 2, 0.0));
        assert_eq!(kind(&entries), Shape::Tridiagonal { n: 5, periodic: true }, "a stored zero is no entry");
        entries.push((3, 1, 1.0));
        assert_eq!(kind(&entries), Shape::Banded { n: 5, lower: 2, upper: 4 });
        assert!(shape_of(&triplets(5, &entries), true).is_err());
    }

    #[test]
    fn two_unknowns_have_no_corners() {
        let a = triplets(2, &[(0, 0, 1.0), (0, 1, 2.0), (1, 0, 3.0), (1, 1, 4.0)]);
        assert_eq!(shape_of(&a, false).unwrap(), Shape::Tridiagonal { n: 2, periodic: false });
        for periodic in [false, true] {
            let System::Tridiagonal(t) = assemble::<f64>(&a, Shape::Tridiagonal { n: 2, periodic }).unwrap() else {
                panic!("the kind is tridiagonal");
            };
            assert_eq!(t.apply(&[1.0, 10.0]).unwrap(), [21.0, 43.0]);
        }
    }

    #[test]
    fn an_empty_row_of_a_huge_matrix_is_found_without_its_memory() {
        let s = structure(&triplets(4_000_000_000, &[(0, 0, 1.0), (1, 3, 1.0)])).unwrap();
        assert_eq!((s.empty_row, s.empty_column), (Some(2), Some(1)));
        assert!(matches!(check_not_empty(&s), Err(Failure::Unsolved(_))));
    }

    #[test]
    fn a_band_beyond_memory_is_refused() {
        let mut entries = diagonal(1_000_000);
        entries.extend([(999_999, 0, 1.0), (999_999, 1, 1.0)]);
        let a = triplets(1_000_000, &entries);
        let failure = assemble::<f64>(&a, shape_of(&a, false).unwrap()).unwrap_err();
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
        assert_eq!(dense(Shape::Tridiagonal { n: 4, periodic: true }), expected);
        assert_eq!(dense(Shape::Banded { n: 4, lower: 3, upper: 3 }), expected);
    }

    #[test]
    fn numbers_beyond_single_precision_are_refused() {
        let a = triplets(1, &[(0, 0, 1e300)]);
        assert!(check_range::<f32>(&a).unwrap_err().to_string().contains("32-bit"));
        assert!(check_range::<f32>(&triplets(1, &[(0, 0, 1e-300)])).is_err());
        assert!(check_range::<f32>(&triplets(1, &[(0, 0, 0.0)])).is_ok());
        assert!(check_range::<f64>(&a).is_ok());
    }
}
