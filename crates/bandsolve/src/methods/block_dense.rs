//! Blocks of a scaled matrix, for block cyclic reduction and block SPIKE.
//!
//! Rows are scaled by powers of two so that the largest entry of each row is in [2, 4). The elimination creates couplings where A has
//! zeros. A coupling whose entries are at most ε / (8·block) is dropped, which changes A by at most ε/16 of each row.

use crate::error::Result;
use crate::memory::{allocate, copied};
use crate::methods::dense_lu::{DenseLu, Team, view, view_mut};
use bandsolve_kernel::dense::Product;
use bandsolve_kernel::rows::BlockRows;
use bandsolve_kernel::scalar::peak;
use bandsolve_kernel::{RealScalar, Scalar};
use std::sync::OnceLock;

/// A block, or `None` for a zero block.
pub type Coupling<T> = Option<Vec<T>>;

/// A factored diagonal block.
#[derive(Debug)]
pub enum DiagonalBlock<T> {
    /// The LU factors.
    Lu(DenseLu<T>),
    /// The inverse.
    Inverse {
        /// The block size and resources for products.
        team: Team,
        /// The entries of the inverse, column by column.
        elements: Vec<T>,
        /// Whether a pivot is zero or not finite.
        singular: bool,
    },
}

impl<T: Scalar> DiagonalBlock<T> {
    /// Factor a diagonal block, and invert it if `team.invert`.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn new(diag: Vec<T>, team: Team) -> Result<Self> {
        let b = team.block;
        let lu = DenseLu::new(diag, team)?;
        if !team.invert {
            return Ok(Self::Lu(lu));
        }
        let mut unit = allocate(b * b, T::ZERO)?;
        unit.iter_mut().step_by(b + 1).for_each(|v| *v = T::ONE);
        let mut elements = allocate(b * b, T::ZERO)?;
        lu.solve(&mut unit, &mut elements);
        Ok(Self::Inverse { team, elements, singular: lu.is_singular() })
    }

    /// Whether a pivot is zero or not finite.
    pub fn is_singular(&self) -> bool {
        match self {
            Self::Lu(lu) => lu.is_singular(),
            Self::Inverse { singular, .. } => *singular,
        }
    }

    /// Replace x by D⁻¹·x or D⁻ᵀ·x. `spare` has the size of x.
    pub fn solve(&self, transposed: bool, x: &mut [T], spare: &mut [T]) {
        match (self, transposed) {
            (Self::Lu(lu), false) => lu.solve(x, spare),
            (Self::Lu(lu), true) => lu.solve_transpose(x, spare),
            (Self::Inverse { team, elements, .. }, _) => {
                let inverse = view(elements, team.block);
                let inverse = if transposed { inverse.transpose() } else { inverse };
                let product = Product::replace(view_mut(spare, team.block), inverse, view(x, team.block));
                product.run_on(team.simd);
            }
        }
        x.copy_from_slice(spare);
    }

    /// Return D⁻¹·C, or `None` if C is zero.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn divide(&self, block: Option<&[T]>, team: Team) -> Result<Coupling<T>> {
        let Some(block) = block else { return Ok(None) };
        let b = team.block;
        let (mut to, failed) = (allocate(b * b, T::ZERO)?, OnceLock::new());
        team.by_columns(b, &mut to, |first, to| {
            let columns = &block[first * b..][..to.len()];
            match self {
                Self::Inverse { elements, .. } => {
                    let product = Product::replace(view_mut(to, b), view(elements, b), view(columns, b));
                    product.run_on(team.simd);
                }
                Self::Lu(lu) => match copied(columns) {
                    Ok(mut columns) => lu.solve(&mut columns, to),
                    Err(error) => _ = failed.set(error),
                },
            }
        });
        failed.into_inner().map_or(Ok(Some(to)), Err)
    }
}

/// Compute C ← C − A·B for whole blocks, unless A or B is zero.
pub fn subtract_product<T: Scalar>(c: &mut [T], a: Option<&[T]>, b: Option<&[T]>, team: Team) {
    let (Some(left), Some(right)) = (a, b) else { return };
    team.by_columns(team.block, c, |first, c| {
        let columns = &right[first * team.block..][..c.len()];
        let [a, b] = [left, columns].map(|m| view(m, team.block));
        Product::subtract(view_mut(c, team.block), a, b).run_on(team.simd);
    });
}

/// Return −A·B, or `None` if it is zero or negligible.
///
/// # Errors
/// `OutOfMemory`.
pub fn fill_in<T: Scalar>(a: Option<&[T]>, b: Option<&[T]>, team: Team) -> Result<Coupling<T>> {
    if a.is_none() || b.is_none() {
        return Ok(None);
    }
    let mut fill = allocate(team.block * team.block, T::ZERO)?;
    subtract_product(&mut fill, a, b, team);
    Ok(Some(fill).filter(|fill| !is_negligible(fill, team.block)))
}

/// Whether a block of scaled rows can be dropped.
fn is_negligible<T: Scalar>(block: &[T], rows: usize) -> bool {
    let limit = T::Real::EPSILON.to_f64() / (8 * rows) as f64;
    block.iter().all(|v| v.abs1().to_f64() <= limit)
}

/// Compute y ← y − M·x or y − Mᵀ·x for the columns of x, unless M is zero.
pub fn subtract_from<T: Scalar>(y: &mut [T], block: Option<&[T]>, transposed: bool, x: &[T], team: Team) {
    let Some(block) = block else { return };
    let block = view(block, team.block);
    let block = if transposed { block.transpose() } else { block };
    Product::subtract(view_mut(y, team.block), block, view(x, team.block)).run_on(team.simd);
}

/// A block tridiagonal matrix whose rows are scaled when they are read.
#[derive(Debug, Clone, Copy)]
pub struct ScaledBlocks<'a, T: Scalar> {
    rows: &'a BlockRows<'a, T>,
    scale: &'a [T::Real],
}

/// A block row of a chain or a ring.
#[derive(Debug)]
pub struct ChainRow<T> {
    /// The coupling to the left neighbour.
    pub left: Coupling<T>,
    /// The diagonal block.
    pub diag: Vec<T>,
    /// The coupling to the right neighbour.
    pub right: Coupling<T>,
}

impl<'a, T: Scalar> ScaledBlocks<'a, T> {
    /// A matrix with the row scales `scale`, as computed by [`scales`].
    pub fn new(rows: &'a BlockRows<'a, T>, scale: &'a [T::Real]) -> Self {
        Self { rows, scale }
    }

    /// Return the scaled block row `i`.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn row(&self, i: usize) -> Result<ChainRow<T>> {
        let [left, diag, right] = self.rows.blocks(i).map(|block| block.map(|(_, block)| self.scaled(i, block)));
        let diag = diag.expect("a block on the diagonal")?;
        Ok(ChainRow { left: left.transpose()?, diag, right: right.transpose()? })
    }

    fn scaled(&self, i: usize, block: &[T]) -> Result<Vec<T>> {
        let b = self.rows.block;
        let scale = &self.scale[i * b..][..b];
        let mut to = allocate(b * b, T::ZERO)?;
        for (to, column) in to.chunks_exact_mut(b).zip(block.chunks_exact(b)) {
            for ((to, v), s) in to.iter_mut().zip(column).zip(scale) {
                *to = v.scale(*s);
            }
        }
        Ok(to)
    }
}

/// Compute the powers of two that scale the largest entry of each row into [2, 4).
///
/// # Errors
/// `OutOfMemory`.
pub fn scales<T: Scalar>(rows: &BlockRows<'_, T>) -> Result<Vec<T::Real>> {
    let b = rows.block;
    let mut scale = allocate(rows.block_rows() * b, T::Real::ZERO)?;
    for (i, scale) in scale.chunks_exact_mut(b).enumerate() {
        for (_, block) in rows.blocks(i).into_iter().flatten() {
            for column in block.chunks_exact(b) {
                scale.iter_mut().zip(column).for_each(|(s, v)| *s = if peak(*v) > *s { peak(*v) } else { *s });
            }
        }
        scale.iter_mut().for_each(|s| *s = s.equilibrate());
    }
    Ok(scale)
}

#[cfg(test)]
mod tests {
    use super::*;
    use bandsolve_kernel::Simd;

    #[test]
    fn dropped_blocks_are_below_rounding() {
        let limit = f64::EPSILON / 16.0;
        assert!(is_negligible(&[limit, 0.0, -limit, 0.0], 2) && !is_negligible(&[0.0, 0.0, 0.0, 2.0 * limit], 2));
        assert!(!is_negligible(&[f64::NAN, 0.0, 0.0, 0.0], 2));
        let team = Team { block: 2, threads: 1, simd: Simd::detect(), invert: false };
        let (one, tiny) = ([1.0, 0.0, 0.0, 1.0], [1e-9, 0.0, 0.0, 1e-9]);
        assert_eq!(fill_in(Some(&one), Some(&tiny), team).unwrap(), Some(vec![-1e-9, 0.0, 0.0, -1e-9]));
        assert_eq!(fill_in(Some(&tiny), Some(&tiny), team).unwrap(), None);
        assert_eq!(fill_in(None, Some(&one), team).unwrap(), None);
    }

    #[test]
    fn both_forms_divide_by_the_same_block() {
        for (block, invert) in [1, 5, 33, 70].into_iter().flat_map(|block| [(block, false), (block, true)]) {
            let team = Team { block, threads: 2, simd: Simd::detect(), invert };
            let wave = |i: usize, by: f64| (i as f64 * by).sin() + if i.is_multiple_of(block + 1) { 2.0 } else { 0.0 };
            let diag: Vec<f64> = (0..block * block).map(|i| wave(i, 1.3)).collect();
            let right: Vec<f64> = (0..block * block).map(|i| wave(i, 0.7)).collect();
            let pivot = DiagonalBlock::new(diag.clone(), team).unwrap();
            assert_eq!(matches!(pivot, DiagonalBlock::Inverse { .. }), invert);
            let x = pivot.divide(Some(&right), team).unwrap().unwrap();
            let mut rest = right.clone();
            subtract_product(&mut rest, Some(&diag), Some(&x), team);
            assert!(rest.iter().all(|r| r.abs() < 1e-11), "{block}");
            for transposed in [false, true] {
                let (mut x, mut rest, mut spare) = (right[..block].to_vec(), right[..block].to_vec(), vec![0.0; block]);
                pivot.solve(transposed, &mut x, &mut spare);
                subtract_from(&mut rest, Some(&diag), transposed, &x, team);
                assert!(rest.iter().all(|r| r.abs() < 1e-11), "{block}");
            }
        }
    }
}
