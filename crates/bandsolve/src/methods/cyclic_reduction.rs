//! R-cyclic reduction: each level keeps every R-th row and eliminates the block D of R−1 rows between two of them. R = 2 is cyclic
//! reduction, R = 3 tricyclic reduction.
//!
//! With a the first `sub` and c the last `sup` of a block, and e₁ and e₋₁ its first and last unit vectors,
//!
//! ```text
//! D w = a e₁,   D v = c e₋₁,   D y = d,   x_D = y − w xₖ − v xₖ₊₁
//! ```
//!
//! A row that stays is between the blocks D⁻ and D⁺ and becomes row k of the next level. `[1]` and `[−1]` denote the first and the last entry
//! of a vector:
//!
//! ```text
//! a′ = −a w⁻[−1],   b′ = b − a v⁻[−1] − c w⁺[1],   c′ = −c v⁺[1],   d′ = d − a y⁻[−1] − c y⁺[1]
//! ```
//!
//! The blocks do not depend on the entries. The method is safe if the Thomas algorithm is safe for the matrix and for each of its blocks.
//! This holds for diagonally dominant and for symmetric positive definite matrices. All levels inherit both properties.
//!
//! Source: Chang, thesis, section 2.1.3. a, b, c, d → sub, diag, sup, rhs.

use crate::decision::Options;
use crate::error::Result;
use crate::matrix::Tridiagonal;
use crate::memory::{allocate, push};
use crate::methods::stored::Elimination;
use crate::methods::thomas::Thomas;
use crate::tuning::REDUCED_MAX_N;
use bandsolve_kernel::rows::Rows;
use bandsolve_kernel::scalar::{peak, reciprocal};
use bandsolve_kernel::spread::{RowsOf, spread, tasks};
use bandsolve_kernel::{RealScalar, Scalar};
use dyn_stack::{PodStack, StackReq};

/// Factors of an open system, with B = R − 1 rows between two rows that stay: 5 words per row.
///
/// # Cost
/// Per row, for all levels in total. Factor: 8 flops and 1 division (B = 2: 14 flops and ½ division). Solve, per right-hand side: 9 flops;
/// 5 words of factors read, x read twice and written once, and 1/B words in the coarser levels.
#[derive(Debug)]
pub(crate) struct CyclicReduction<T: Scalar, const B: usize> {
    levels: Vec<CyclicLevel<T, B>>,
    /// The rows of the last level; `None` if there are no levels.
    last: Option<Tridiagonal<'static, T>>,
    last_factors: Thomas<T>,
    threads: usize,
    singular: bool,
}

/// Factors of one level: one entry per row that stays, for the block after it.
#[derive(Debug)]
struct CyclicLevel<T, const B: usize> {
    /// D⁻¹.
    inverse: Vec<[[T; B]; B]>,
    /// a and c of the block.
    sub: Vec<T>,
    sup: Vec<T>,
    /// a times the last row of (D⁻)⁻¹, by which d′ depends on the block above.
    above: Vec<[T; B]>,
    /// c times the first row of (D⁺)⁻¹, by which d′ depends on the block below.
    below: Vec<[T; B]>,
}

/// D⁻¹ of `D = [b₀ c₀; a₁ b₁]`, or zero if D is singular. Rows are scaled by powers of two so that no product overflows.
#[inline(always)]
pub(crate) fn inverse_of_pair<T: Scalar>([b0, c0]: [T; 2], [a1, b1]: [T; 2]) -> [[T; 2]; 2] {
    let scale = |u: T, v: T| if peak(u) > peak(v) { peak(u) } else { peak(v) }.equilibrate();
    let (s0, s1) = (scale(b0, c0), scale(a1, b1));
    let (b0, c0, a1, b1) = (b0.scale(s0), c0.scale(s0), a1.scale(s1), b1.scale(s1));
    let recip = reciprocal(b0 * b1 - a1 * c0);
    [[(b1 * recip).scale(s0), -(c0 * recip).scale(s1)], [-(a1 * recip).scale(s0), (b0 * recip).scale(s1)]]
}

/// The inverse of a block of one or two rows (sub, diag, sup).
#[inline(always)]
fn inverse<T: Scalar, const B: usize>(block: &[(T, T, T); B]) -> [[T; B]; B] {
    let mut inverse = [[T::ZERO; B]; B];
    if B == 1 {
        inverse[0][0] = reciprocal(block[0].1);
    } else {
        let ((_, b0, c0), (a1, b1, _)) = (block[0], block[B - 1]);
        let pair = inverse_of_pair([b0, c0], [a1, b1]);
        (inverse[0][0], inverse[0][B - 1]) = (pair[0][0], pair[0][1]);
        (inverse[B - 1][0], inverse[B - 1][B - 1]) = (pair[1][0], pair[1][1]);
    }
    inverse
}

/// Σ uⱼ vⱼ
#[inline(always)]
fn dot<T: Scalar>(u: &[T], v: &[T]) -> T {
    u.iter().zip(v).fold(T::ZERO, |sum, (u, v)| sum + *u * *v)
}

impl<T: Scalar, const B: usize> CyclicLevel<T, B> {
    const R: usize = B + 1;

    /// Eliminate the blocks, and return the rows of the next level, too.
    fn new(rows: &Rows<'_, T>, threads: usize) -> Result<(Self, Tridiagonal<'static, T>)> {
        let m = rows.n().div_ceil(Self::R);
        let zeros = || allocate(m, T::ZERO);
        let mut level = Self {
            inverse: allocate(m, [[T::ZERO; B]; B])?,
            sub: zeros()?,
            sup: zeros()?,
            above: allocate(m, [T::ZERO; B])?,
            below: allocate(m, [T::ZERO; B])?,
        };
        level.invert_blocks(rows, tasks(threads, rows.n()));
        level.couple(rows, tasks(threads, rows.n()));
        let coarse = level.coarse_rows(rows, [zeros()?, zeros()?, zeros()?], tasks(threads, rows.n()))?;
        Ok((level, coarse))
    }

    /// Compute D⁻¹, a and c of each block. A block that extends beyond the matrix is filled up with rows of the identity.
    fn invert_blocks(&mut self, rows: &Rows<'_, T>, tasks: usize) {
        let row = |i: usize| if i < rows.n() { rows.row(i) } else { (T::ZERO, T::ONE, T::ZERO) };
        let out = (&mut self.inverse[..], &mut self.sub[..], &mut self.sup[..]);
        spread(tasks, 0..out.0.len(), out, &|range, (inverses, subs, sups)| {
            for (((k, to), sub), sup) in range.zip(inverses).zip(subs).zip(sups) {
                let mut block = [(T::ZERO, T::ZERO, T::ZERO); B];
                block.iter_mut().enumerate().for_each(|(j, to)| *to = row(k * Self::R + 1 + j));
                (*to, *sub, *sup) = (inverse(&block), block[0].0, block[B - 1].2);
            }
        });
    }

    /// Compute `above` and `below`.
    fn couple(&mut self, rows: &Rows<'_, T>, tasks: usize) {
        let inverse = &self.inverse;
        let out = (&mut self.above[..], &mut self.below[..]);
        spread(tasks, 0..inverse.len(), out, &|range, (above, below)| {
            for ((k, above), below) in range.zip(above).zip(below) {
                let (a, _, c) = rows.row(k * Self::R);
                if k > 0 {
                    *above = inverse[k - 1][B - 1].map(|v| a * v);
                }
                *below = inverse[k][0].map(|v| c * v);
            }
        });
    }

    /// Compute the rows of the next level in the memory of `to`.
    fn coarse_rows(&self, rows: &Rows<'_, T>, to: [Vec<T>; 3], tasks: usize) -> Result<Tridiagonal<'static, T>> {
        let [mut sub, mut diag, mut sup] = to;
        let out = (&mut sub[..], &mut diag[..], &mut sup[..]);
        spread(tasks, 0..self.inverse.len(), out, &|range, (subs, diags, sups)| {
            for (((k, sub), diag), sup) in range.zip(subs).zip(diags).zip(sups) {
                let (above, below) = (&self.above[k], &self.below[k]);
                let (a, c) = if k > 0 { (self.sub[k - 1], self.sup[k - 1]) } else { (T::ZERO, T::ZERO) };
                *sub = -(above[0] * a);
                *diag = rows.row(k * Self::R).1 - (above[B - 1] * c + below[0] * self.sub[k]);
                *sup = -(below[B - 1] * self.sup[k]);
            }
        });
        Tridiagonal::from_vecs(sub, diag, sup, false)
    }

    /// Number of rows of the next level.
    fn coarse_n(&self) -> usize {
        self.inverse.len()
    }

    fn is_singular(&self) -> bool {
        self.inverse.contains(&[[T::ZERO; B]; B])
    }

    /// Compute the right-hand side of the next level.
    fn reduce(&self, d: &[T], coarse: &mut [T], tasks: usize) {
        let m = coarse.len();
        spread(tasks, 0..m, coarse, &|range, out| {
            // Rows with a whole block above and a row that stays below use slices of the same length, which the compiler vectorizes.
            let (from, to) = (range.start.max(1), range.end.min(m - 1));
            for k in range.clone().filter(|k| !(from..to).contains(k)) {
                out[k - range.start] = self.reduce_row(d, k);
            }
            if from >= to {
                return;
            }
            let out = &mut out[from - range.start..to - range.start];
            let before = d[from * Self::R - B..].chunks_exact(Self::R);
            let after = d[from * Self::R + 1..].chunks_exact(Self::R);
            let factors = self.above[from..to].iter().zip(&self.below[from..to]);
            for (((out, before), after), (above, below)) in out.iter_mut().zip(before).zip(after).zip(factors) {
                *out = before[B] - (dot(above, &before[..B]) + dot(below, &after[..B]));
            }
        });
    }

    /// Compute one row of [`reduce`](Self::reduce), also at the ends.
    fn reduce_row(&self, d: &[T], k: usize) -> T {
        let at = |i: usize| d.get(i).copied().unwrap_or(T::ZERO);
        let i = k * Self::R;
        let (mut before, mut after) = ([T::ZERO; B], [T::ZERO; B]);
        for j in 0..B {
            before[j] = at((i + j).wrapping_sub(B));
            after[j] = at(i + 1 + j);
        }
        d[i] - (dot(&self.above[k], &before) + dot(&self.below[k], &after))
    }

    /// Compute x from d and from x of the next level.
    fn substitute(&self, coarse: &[T], x: &mut [T], tasks: usize) {
        let m = coarse.len();
        spread(tasks, 0..m, RowsOf(x, Self::R), &|range, RowsOf(x, _)| {
            let to = range.end.min(m - 1);
            let full = &mut x[..(to - range.start) * Self::R];
            for (k, x) in (range.start..to).zip(full.chunks_exact_mut(Self::R)) {
                self.substitute_block(k, [coarse[k], coarse[k + 1]], x);
            }
            if range.end == m {
                // The block after the last row that stays may be incomplete.
                let rest = &mut x[(to - range.start) * Self::R..];
                let mut padded = [[T::ZERO; B]; 2];
                let padded = &mut padded.as_flattened_mut()[..Self::R];
                padded[..rest.len()].copy_from_slice(rest);
                self.substitute_block(m - 1, [coarse[m - 1], T::ZERO], padded);
                rest.copy_from_slice(&padded[..rest.len()]);
            }
        });
    }

    /// Solve for a row that stays and the block after it, whose right-hand sides are in `x`.
    #[inline(always)]
    fn substitute_block(&self, k: usize, [here, next]: [T; 2], x: &mut [T]) {
        let mut d = [T::ZERO; B];
        d.copy_from_slice(&x[1..]);
        d[0] -= self.sub[k] * here;
        d[B - 1] -= self.sup[k] * next;
        x[0] = here;
        x[1..].iter_mut().zip(&self.inverse[k]).for_each(|(x, row)| *x = dot(row, &d));
    }
}

impl<T: Scalar, const B: usize> CyclicReduction<T, B> {
    /// Solve a system with the levels `levels`.
    fn solve_from(&self, levels: &[CyclicLevel<T, B>], rows: &Rows<'_, T>, x: &mut [T], stack: &mut PodStack) {
        let Some((level, coarser)) = levels.split_first() else {
            let last = self.last.as_ref().map_or(*rows, Tridiagonal::rows);
            return self.last_factors.solve(&last, x, stack);
        };
        let (coarse, stack) = stack.make_raw::<T>(level.coarse_n());
        let tasks = tasks(self.threads, x.len());
        level.reduce(x, coarse, tasks);
        self.solve_from(coarser, rows, coarse, stack);
        level.substitute(coarse, x, tasks);
    }
}

impl<T: Scalar, const B: usize> Elimination<T> for CyclicReduction<T, B> {
    const NEEDS_SCRATCH: bool = true;

    fn new(rows: &Rows<'_, T>, options: &Options) -> Result<Self> {
        let (mut levels, mut last) = (Vec::new(), None::<Tridiagonal<'static, T>>);
        let mut n = rows.n();
        while n > REDUCED_MAX_N {
            let rows = last.as_ref().map_or(*rows, Tridiagonal::rows);
            let (level, coarse) = CyclicLevel::new(&rows, options.threads)?;
            n = level.coarse_n();
            push(&mut levels, level)?;
            last = Some(coarse);
        }
        let last_factors = Thomas::new(&last.as_ref().map_or(*rows, Tridiagonal::rows), options)?;
        let singular = last_factors.is_singular() || levels.iter().any(CyclicLevel::is_singular);
        Ok(Self { levels, last, last_factors, threads: options.threads, singular })
    }

    fn is_singular(&self) -> bool {
        self.singular
    }

    /// Scratch for the right-hand sides of the coarser levels, one column at a time.
    fn scratch(&self, _n_rhs: usize) -> StackReq {
        self.levels.iter().fold(StackReq::EMPTY, |all, level| all.and(StackReq::new::<T>(level.coarse_n())))
    }

    fn solve(&self, rows: &Rows<'_, T>, x: &mut [T], stack: &mut PodStack) {
        for x in x.chunks_exact_mut(rows.n()) {
            self.solve_from(&self.levels, rows, x, stack);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::methods::stored::testing::{check_dominant, matrix};

    /// Return the rows of the next level, and check a solve with x = (1, 2, 3, 4).
    fn reduced<const B: usize>(a: &Tridiagonal<'_, f64>) -> Vec<(f64, f64, f64)> {
        let (level, coarse) = CyclicLevel::<f64, B>::new(&a.rows(), 1).unwrap();
        let mut x = a.apply(&[1.0, 2.0, 3.0, 4.0]).unwrap();
        let mut d = vec![0.0; coarse.n()];
        level.reduce(&x, &mut d, 1);
        let values: Vec<f64> = (0..4).step_by(B + 1).map(|i| i as f64 + 1.0).collect();
        assert_eq!(d, coarse.apply(&values).unwrap());
        level.substitute(&values, &mut x, 1);
        assert_eq!(x, [1.0, 2.0, 3.0, 4.0]);
        (0..coarse.n()).map(|k| coarse.row(k)).collect()
    }

    #[test]
    fn every_other_row_by_hand() {
        let a = matrix(&[[0.0, 4.0, 1.0], [1.0, 2.0, 1.0], [1.0, 4.0, 1.0], [1.0, 2.0, 0.0]]);
        assert_eq!(reduced::<1>(&a), [(0.0, 3.5, -0.5), (-0.5, 3.0, 0.0)]);
    }

    #[test]
    fn two_of_three_rows_by_hand() {
        // D⁻¹ = [1 −1; −1 2], w = (1, −1), v = (−1, 2)
        let a = matrix(&[[0.0, 4.0, 1.0], [1.0, 2.0, 1.0], [1.0, 1.0, 1.0], [1.0, 4.0, 0.0]]);
        assert_eq!(reduced::<2>(&a), [(0.0, 3.0, 1.0), (1.0, 2.0, 0.0)]);
    }

    #[test]
    fn pairs_near_the_ends_of_the_range() {
        let d = inverse_of_pair([2e300, 1e300], [1e-300, 1e-300]);
        for (got, expected) in d.as_flattened().iter().zip([1e-300, -1e300, -1e-300, 2e300]) {
            assert!((got / expected - 1.0).abs() < 1e-15, "{d:?}");
        }
        assert_eq!(inverse_of_pair([1.0, 2.0], [2.0, 4.0]), [[0.0; 2]; 2]);
    }

    #[test]
    fn dominant_systems_of_every_size() {
        check_dominant::<CyclicReduction<f64, 1>>();
        check_dominant::<CyclicReduction<f64, 2>>();
    }
}
