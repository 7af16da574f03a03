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
use crate::memory::{array, push};
use crate::methods::stored::Elimination;
use crate::methods::thomas::Thomas;
use crate::tuning::REDUCED_MAX_N;
use bandsolve_kernel::cyclic::{EliminateBlocks, LevelArrays, NewLevel, ReduceRhs, SubstituteBlocks};
use bandsolve_kernel::memory::Array;
use bandsolve_kernel::memory::MemoryPool;
use bandsolve_kernel::rows::Rows;
use bandsolve_kernel::spread::{RowsOf, spread, tasks};
use bandsolve_kernel::{Scalar, Simd};
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
    last: Option<NextRows<T>>,
    last_factors: Thomas<T>,
    threads: usize,
    singular: bool,
}

/// Factors of one level.
#[derive(Debug)]
struct CyclicLevel<T, const B: usize> {
    /// The entries of each row that stays, and of the block after it.
    arrays: LevelArrays<Array<T>>,
    simd: Simd,
}

impl<T: Scalar, const B: usize> CyclicLevel<T, B> {
    const R: usize = B + 1;

    /// Eliminate the blocks, and return the rows of the next level, too.
    fn new(rows: &Rows<'_, T>, options: &Options, pool: &MemoryPool) -> Result<(Self, NextRows<T>)> {
        let m = rows.n().div_ceil(Self::R);
        let of = |words: usize| array(m * words, Some(pool));
        let arrays = LevelArrays { inverse: of(B * B)?, sub: of(1)?, sup: of(1)?, above: of(B)?, below: of(B)? };
        let mut coarse = NextRows([of(1)?, of(1)?, of(1)?]);
        let mut level = Self { arrays, simd: options.simd };
        level.eliminate(rows, &mut coarse, tasks(options.threads, rows.n()));
        Ok((level, coarse))
    }

    /// Compute all arrays, and the rows of the next level.
    fn eliminate(&mut self, rows: &Rows<'_, T>, coarse: &mut NextRows<T>, tasks: usize) {
        let (m, simd) = (self.coarse_n(), self.simd);
        let LevelArrays { inverse, sub, sup, above, below } = &mut self.arrays;
        let [a, b, c] = coarse.0.each_mut().map(|array| &mut **array);
        let (inverse, above, below) = (RowsOf(inverse, B * B), RowsOf(above, B), RowsOf(below, B));
        let out = ((inverse, above, below), (&mut **sub, &mut **sup), (a, b, c));
        spread(tasks, 0..m, out, &|range, ((inverse, above, below), (sub, sup), (a, b, c))| {
            let level = LevelArrays { inverse: inverse.0, sub, sup, above: above.0, below: below.0 };
            let to = NewLevel { level, coarse: [a, b, c], block: B };
            EliminateBlocks { rows, first: range.start, to }.run_on(simd);
        });
    }

    /// Number of rows of the next level.
    fn coarse_n(&self) -> usize {
        self.arrays.sub.len()
    }

    fn is_singular(&self) -> bool {
        self.arrays.inverse.chunks_exact(B * B).any(|inverse| inverse.iter().all(|v| *v == T::ZERO))
    }

    /// Compute the right-hand side of the next level.
    fn reduce(&self, d: &[T], coarse: &mut [T], tasks: usize) {
        let (above, below) = (&self.arrays.above, &self.arrays.below);
        spread(tasks, 0..coarse.len(), coarse, &|range, coarse| {
            ReduceRhs { above, below, d, first: range.start, coarse, block: B }.run_on(self.simd);
        });
    }

    /// Compute x from d and from x of the next level.
    fn substitute(&self, coarse: &[T], x: &mut [T], tasks: usize) {
        let LevelArrays { inverse, sub, sup, .. } = &self.arrays;
        spread(tasks, 0..coarse.len(), RowsOf(x, Self::R), &|range, RowsOf(x, _)| {
            SubstituteBlocks { inverse, sub, sup, coarse, first: range.start, x, block: B }.run_on(self.simd);
        });
    }
}

/// The rows of a level after the first.
#[derive(Debug)]
struct NextRows<T>([Array<T>; 3]);

impl<T: Scalar> NextRows<T> {
    fn rows(&self) -> Rows<'_, T> {
        let [sub, diag, sup] = &self.0;
        let (first, last, end) = (T::ZERO, T::ZERO, sup.len() - 1);
        Rows { sub: &sub[1..], diag, sup: &sup[..end], first, last, periodic: false, conj: false }
    }
}

impl<T: Scalar, const B: usize> CyclicReduction<T, B> {
    /// Solve a system with the levels `levels`.
    fn solve_from(&self, levels: &[CyclicLevel<T, B>], rows: &Rows<'_, T>, x: &mut [T], stack: &mut PodStack) {
        let Some((level, coarser)) = levels.split_first() else {
            let last = self.last.as_ref().map_or(*rows, NextRows::rows);
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

    fn new(rows: &Rows<'_, T>, options: &Options, pool: &MemoryPool) -> Result<Self> {
        let (mut levels, mut last) = (Vec::new(), None::<NextRows<T>>);
        let mut n = rows.n();
        while n > REDUCED_MAX_N {
            let rows = last.as_ref().map_or(*rows, NextRows::rows);
            let (level, coarse) = CyclicLevel::new(&rows, options, pool)?;
            n = level.coarse_n();
            push(&mut levels, level)?;
            last = Some(coarse);
        }
        let last_factors = Thomas::new(&last.as_ref().map_or(*rows, NextRows::rows), options, pool)?;
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
    use crate::methods::stored::testing::{check_dominant, dominant, matrix, options, solve};
    use crate::{Complex64, Tridiagonal};

    /// Return the rows of the next level, and check a solve with x = (1, 2, 3, 4).
    fn reduced<const B: usize>(a: &Tridiagonal<'_, f64>) -> Vec<(f64, f64, f64)> {
        let (level, coarse) = CyclicLevel::<f64, B>::new(&a.rows(), &options(), &MemoryPool::default()).unwrap();
        let rows: Vec<_> = (0..level.coarse_n()).map(|k| coarse.rows().row(k)).collect();
        let mut x = a.apply(&[1.0, 2.0, 3.0, 4.0]).unwrap();
        let mut d = vec![0.0; rows.len()];
        level.reduce(&x, &mut d, 1);
        let values: Vec<f64> = (0..4).step_by(B + 1).map(|i| i as f64 + 1.0).collect();
        assert!(d.iter().enumerate().all(|(k, d)| *d == coarse.rows().dot(k, &values)));
        level.substitute(&values, &mut x, 1);
        assert_eq!(x, [1.0, 2.0, 3.0, 4.0]);
        rows
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
    fn dominant_systems_of_every_size() {
        check_dominant::<CyclicReduction<f64, 1>>();
        check_dominant::<CyclicReduction<f64, 2>>();
    }

    /// Eliminate a level of a matrix that is conjugated and transposed, in all ways to cut its rows.
    fn cuts<const B: usize>() {
        let value = |k: usize| Complex64::new((k as f64 * 0.7).sin(), (k as f64 * 1.3).cos());
        for n in 4..40 {
            let [sub, sup] = [1, 2].map(|k| (0..n).map(|i| value(3 * i + k)).collect::<Vec<_>>());
            let diag = (0..n).map(|i| value(5 * i) + 5.0).collect();
            let a = Tridiagonal::from_vecs(sub, diag, sup, false).unwrap();
            let rows = a.rows().transposed(true);
            let (level, coarse) = CyclicLevel::<Complex64, B>::new(&rows, &options(), &MemoryPool::default()).unwrap();
            let m = level.coarse_n();
            let (rest, x): (Vec<_>, Vec<_>) = ((0..m).map(|k| value(7 * k)).collect(), (0..n).map(value).collect());
            let (mut d, mut whole) = (vec![Complex64::ZERO; m], x.clone());
            level.reduce(&x, &mut d, 1);
            level.substitute(&rest, &mut whole, 1);
            for tasks in 2..6 {
                let mut again = CyclicLevel::<Complex64, B>::new(&rows, &options(), &MemoryPool::default()).unwrap();
                again.0.eliminate(&rows, &mut again.1, tasks);
                let arrays = |level: &CyclicLevel<Complex64, B>| {
                    let LevelArrays { inverse, sub, sup, above, below } = &level.arrays;
                    [inverse, sub, sup, above, below].map(|array| array.to_vec())
                };
                assert_eq!(arrays(&again.0), arrays(&level), "{n} {tasks}");
                assert_eq!(
                    again.1.0.each_ref().map(|a| a.to_vec()),
                    coarse.0.each_ref().map(|a| a.to_vec()),
                    "{n} {tasks}"
                );
                let (mut e, mut y) = (vec![Complex64::ZERO; m], x.clone());
                level.reduce(&x, &mut e, tasks);
                level.substitute(&rest, &mut y, tasks);
                assert_eq!((e, y), (d.clone(), whole.clone()), "{n} {tasks}");
            }
            // With the right x at the rows that stay, substitution gives x everywhere.
            let mut found: Vec<_> = (0..n).map(|i| rows.dot(i, &x)).collect();
            level.substitute(&x.iter().copied().step_by(B + 1).collect::<Vec<_>>(), &mut found, 1);
            for (found, x) in found.iter().zip(&x) {
                assert!((found - x).norm() < 1e-13, "{n}: {found} {x}");
            }
        }
    }

    #[test]
    fn any_cut_of_the_rows_of_conjugated_matrices() {
        cuts::<1>();
        cuts::<2>();
    }

    #[test]
    fn all_instruction_sets_give_the_same_bits() {
        for n in [4, 5, 6, 7, 17, 700, 3001] {
            let (a, d) = (dominant(n), (0..n).map(|i| (i as f64 * 0.3).cos()).collect::<Vec<_>>());
            let of = |simd| {
                let options = Options { simd, ..options() };
                (solve::<CyclicReduction<f64, 1>>(&a, &options, &d), solve::<CyclicReduction<f64, 2>>(&a, &options, &d))
            };
            let portable = of(Simd::Portable);
            assert!(Simd::ALL.iter().all(|simd| of(simd.or_best()) == portable), "n = {n}");
        }
    }
}
