//! Block tridiagonal systems as banded ones: LU with partial pivoting over whole block rows.
//!
//! An open system of N block rows of b rows has 2b − 1 diagonals on either side. A periodic one is folded: its block rows
//! are taken in the order 0, N−1, 1, N−2, …, in which neighbours on the ring are at most two places apart, and so has 3b − 1.

use super::{allocate, around_transpose};
use crate::direct::band_lu::BandLu;
use crate::direct::determinant::Product;
use crate::direct::verify::{Equations, Factored, Facts, KeepsFactors, Matrix, solve_verified, verified_scratch};
use crate::direct::{Factor, Op, Report};
use crate::error::Result;
use crate::matrix::{Banded, BlockRows, BlockTridiagonal, Shape};
use crate::plan::Plan;
use crate::scalar::Scalar;
use dyn_stack::{PodStack, StackReq};

/// Factors of a block tridiagonal matrix.
#[derive(Debug)]
pub struct PivotedBlocks<'m, T: Scalar> {
    a: BlockTridiagonal<'m, T>,
    lu: BandLu<T>,
    facts: Facts,
}

impl<'m, T: Scalar> PivotedBlocks<'m, T> {
    /// Factors `a`.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn new(plan: &Plan, a: BlockTridiagonal<'m, T>) -> Result<Self> {
        let mut facts = Facts::pivoted(plan);
        let lu = BandLu::under_plan(plan, &as_band(&a.rows())?, &mut facts)?;
        Ok(Self { a, lu, facts })
    }

    /// Places of the unknowns of block row `row` in the order of elimination.
    fn place(&self, row: usize) -> core::ops::Range<usize> {
        let b = self.a.block();
        let place = folded(row, self.a.block_rows());
        place * b..(place + 1) * b
    }
}

/// The place of block row `row` of `n` in the order 0, n−1, 1, n−2, …
fn folded(row: usize, n: usize) -> usize {
    if row < n.div_ceil(2) { 2 * row } else { 2 * (n - 1 - row) + 1 }
}

/// The matrix in band storage, folded if it is periodic.
fn as_band<T: Scalar>(rows: &BlockRows<'_, T>) -> Result<Banded<'static, T>> {
    let (b, n) = (rows.block, rows.block_rows() * rows.block);
    let periodic = rows.periodic();
    let half = if periodic { 3 * b } else { 2 * b } - 1;
    let leading = 2 * half + 1;
    let mut bands = allocate(n.saturating_mul(leading), T::ZERO)?;
    let place = |i: usize| if periodic { folded(i / b, n / b) * b + i % b } else { i };
    for i in 0..n {
        rows.visit_row(i, |j, a| {
            let (i, j) = (place(i), place(j));
            bands[half + i - j + j * leading] = a;
        });
    }
    Banded::from_vec(n, half, half, bands)
}

impl<T: Scalar> Matrix<T> for BlockTridiagonal<'_, T> {
    fn shape(&self) -> Shape {
        self.shape()
    }

    fn equations(&self, op: Op) -> impl Equations<T> {
        op.block_rows(self)
    }

    fn check_finite(&self) -> Result<()> {
        self.check_finite()
    }
}

impl<T: Scalar> KeepsFactors for PivotedBlocks<'_, T> {}

impl<'m, T: Scalar> Factored<T> for PivotedBlocks<'m, T> {
    type Matrix = BlockTridiagonal<'m, T>;

    fn matrix(&self) -> &BlockTridiagonal<'m, T> {
        &self.a
    }

    fn facts(&self) -> &Facts {
        &self.facts
    }

    fn solve_unchecked(&self, op: Op, x: &mut [T], stack: &mut PodStack) {
        let (window, stack) = stack.make_raw::<T>(self.lu.words(x.len() / self.a.n().max(1)));
        let mut solve = |x: &mut [T]| self.lu.solve(op, x, window);
        around_transpose(op, x, |x| {
            if !self.a.is_periodic() {
                return solve(x);
            }
            let (b, n) = (self.a.block(), self.a.n().max(1));
            let (spare, _) = stack.make_raw::<T>(n);
            for x in x.chunks_exact_mut(n) {
                x.chunks_exact(b).enumerate().for_each(|(row, x)| spare[self.place(row)].copy_from_slice(x));
                solve(spare);
                x.chunks_exact_mut(b).enumerate().for_each(|(row, x)| x.copy_from_slice(&spare[self.place(row)]));
            }
        });
    }

    fn product(&self) -> Option<Product> {
        // A periodic system is folded by a symmetric permutation, which keeps the determinant.
        Some(if self.facts.singular.is_some() { Product::ZERO } else { self.lu.product() })
    }
}

impl<T: Scalar> Factor<T> for PivotedBlocks<'_, T> {
    fn shape(&self) -> Shape {
        self.a.shape()
    }

    fn solve_scratch(&self, n_rhs: usize) -> StackReq {
        let folded = if self.a.is_periodic() { self.a.n() } else { 0 };
        let own = |n_rhs| StackReq::new::<T>(self.lu.words(n_rhs)).and(StackReq::new::<T>(folded));
        own(n_rhs).or(verified_scratch(self).and(own(1)))
    }

    fn solve_into_with(&self, op: Op, rhs: &[T], x: &mut [T], stack: &mut PodStack) -> Result<Report> {
        solve_verified(self, op, rhs, x, stack)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Complex64;
    use crate::direct::verify::good;

    #[test]
    fn neighbours_on_the_ring_stay_near() {
        for n in 1..20 {
            let mut places: Vec<usize> = (0..n).map(|row| folded(row, n)).collect();
            assert!((0..n).all(|row| places[row].abs_diff(places[(row + 1) % n]) <= 2), "{n}");
            places.sort_unstable();
            assert!(places.into_iter().eq(0..n));
        }
    }

    #[test]
    fn open_and_periodic_systems_are_solved_with_all_three_operators() {
        for (rows, block) in [(1, 1), (1, 3), (2, 2), (3, 2), (7, 3), (40, 1), (30, 8)] {
            for periodic in [false, true] {
                let wave = |k: usize| {
                    let value = |i: usize| Complex64::new((i as f64 * 1.7 + k as f64).sin(), (i as f64 * 0.9).cos());
                    (0..rows * block * block).map(value).collect::<Vec<_>>()
                };
                let a = BlockTridiagonal::from_vecs(block, [wave(1), wave(2), wave(3)], periodic).unwrap();
                let factor = PivotedBlocks::new(&Plan::new(a.shape()), a.view()).unwrap();
                let rhs: Vec<_> = (0..2 * a.n()).map(|i| Complex64::new((i as f64).cos(), 0.3)).collect();
                for op in [Op::Plain, Op::Transpose, Op::ConjTranspose] {
                    let mut x = rhs.clone();
                    let mut memory = dyn_stack::PodBuffer::new(factor.solve_in_place_scratch(2));
                    let report = factor.solve_in_place_with(op, &mut x, PodStack::new(&mut memory)).unwrap();
                    assert!(report.backward_error <= good::<f64>(), "{rows} × {block}, {op:?}");
                    let dense = |i: usize, j: usize| match op {
                        Op::Plain => a.get(i, j),
                        Op::Transpose => a.get(j, i),
                        Op::ConjTranspose => a.get(j, i).conj(),
                    };
                    for i in 0..a.n() {
                        let dot: Complex64 = (0..a.n()).map(|j| dense(i, j) * x[j]).sum();
                        let size: f64 = (0..a.n()).map(|j| dense(i, j).norm() * x[j].norm()).sum();
                        assert!((dot - rhs[i]).norm() <= 1e-13 * (size + 1.0), "row {i}, {op:?}");
                    }
                }
            }
        }
    }
}
