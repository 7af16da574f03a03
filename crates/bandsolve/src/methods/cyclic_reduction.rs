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
use crate::memory::{array, copied};
use crate::methods::stored::Elimination;
use crate::methods::thomas::Thomas;
use crate::tuning::{REDUCED_MAX_N, cyclic_tasks};
use bandsolve_kernel::cyclic::{EliminateBlocks, LevelArrays, NewLevel, ReduceRhs, SubstituteBlocks};
use bandsolve_kernel::memory::{Array, MemoryPool};
use bandsolve_kernel::rows::Rows;
use bandsolve_kernel::spread::{RowsOf, Split, spread};
use bandsolve_kernel::{Scalar, Simd};
use dyn_stack::{PodStack, StackReq};

/// Factors of an open system, with B = R − 1 rows between two rows that stay: 5 words per row. The rows of all levels, 3/B words per row,
/// stay in the pool for the next factorization.
///
/// # Cost
/// Per row, for all levels in total. Factor: 8 flops and 1 division (B = 2: 14 flops and ½ division). Solve, per right-hand side: 9 flops;
/// 5 words of factors read, x read twice and written once, and 1/B words in the coarser levels.
#[derive(Debug)]
pub(crate) struct CyclicReduction<T: Scalar, const B: usize> {
    /// The factors of all levels, the finest first.
    levels: Array<T>,
    /// The rows of the last level: sub, diag, sup; `None` if there are no levels.
    last: Option<[Vec<T>; 3]>,
    last_factors: Thomas<T>,
    n: usize,
    threads: usize,
    simd: Simd,
    singular: bool,
}

/// Room for an array of `len` words. Without the additional cache line, arrays whose lengths are powers of two would displace each other
/// in the first-level cache.
pub(crate) const fn room(len: usize) -> usize {
    len.next_multiple_of(8) + 8
}

/// Number of words of the factors of a level with `m` rows that stay.
const fn level_words(m: usize, block: usize) -> usize {
    room(m * block * block) + 2 * room(m) + 2 * room(m * block)
}

/// The numbers of rows of the levels after the first, which has `n` rows and blocks of B.
fn coarse_sizes<const B: usize>(n: usize) -> impl Iterator<Item = usize> {
    core::iter::successors(Some(n), |n| (*n > REDUCED_MAX_N).then(|| n.div_ceil(B + 1))).skip(1)
}

/// The arrays of a level with `m` rows that stay.
fn level_arrays<A: Split>(memory: A, m: usize, block: usize) -> LevelArrays<A> {
    let (inverse, memory) = split_array(memory, m * block * block);
    let (sub, memory) = split_array(memory, m);
    let (sup, memory) = split_array(memory, m);
    let (above, memory) = split_array(memory, m * block);
    LevelArrays { inverse, sub, sup, above, below: split_array(memory, m * block).0 }
}

/// An array of `len` words, and the memory after its room.
pub(crate) fn split_array<A: Split>(memory: A, len: usize) -> (A, A) {
    let (array, rest) = memory.split(room(len));
    (array.split(len).0, rest)
}

/// Rows of an open matrix whose arrays all have one entry per row.
pub(crate) fn open_rows<'a, T: Scalar>([sub, diag, sup]: [&'a [T]; 3]) -> Rows<'a, T> {
    let (first, last, end) = (T::ZERO, T::ZERO, sup.len() - 1);
    Rows { sub: &sub[1..], diag, sup: &sup[..end], first, last, periodic: false, conj: false }
}

/// Compute the factors of a level, and the `m` rows of the next level.
fn eliminate<'a, T: Scalar, const B: usize>(
    rows: &Rows<'_, T>,
    (level, coarse, m): (&mut [T], &'a mut [T], usize),
    (simd, tasks): (Simd, usize),
) -> [&'a [T]; 3] {
    let LevelArrays { inverse, sub, sup, above, below } = level_arrays(level, m, B);
    let (a, rest) = split_array(coarse, m);
    let (b, rest) = split_array(rest, m);
    let (c, _) = split_array(rest, m);
    let (inverse, above, below) = (RowsOf(inverse, B * B), RowsOf(above, B), RowsOf(below, B));
    let out = ((inverse, above, below), (sub, sup), (&mut *a, &mut *b, &mut *c));
    spread(tasks, 0..m, out, &|range, ((inverse, above, below), (sub, sup), (a, b, c))| {
        let level = LevelArrays { inverse: inverse.0, sub, sup, above: above.0, below: below.0 };
        let to = NewLevel { level, coarse: [a, b, c], block: B };
        EliminateBlocks { rows, first: range.start, to }.run_on(simd);
    });
    [a, b, c]
}

/// The factors of a level.
#[derive(Debug)]
struct CyclicLevel<'f, T, const B: usize> {
    /// The entries of each row that stays, and of the block after it.
    arrays: LevelArrays<&'f [T]>,
    simd: Simd,
}

impl<T: Scalar, const B: usize> CyclicLevel<'_, T, B> {
    const R: usize = B + 1;

    fn is_singular(&self) -> bool {
        self.arrays.inverse.chunks_exact(B * B).any(|inverse| inverse.iter().all(|v| *v == T::ZERO))
    }

    /// Compute the right-hand side of the next level.
    fn reduce(&self, d: &[T], coarse: &mut [T], tasks: usize) {
        let LevelArrays { above, below, .. } = self.arrays;
        spread(tasks, 0..coarse.len(), coarse, &|range, coarse| {
            ReduceRhs { above, below, d, first: range.start, coarse, block: B }.run_on(self.simd);
        });
    }

    /// Compute x from d and from x of the next level.
    fn substitute(&self, coarse: &[T], x: &mut [T], tasks: usize) {
        let LevelArrays { inverse, sub, sup, .. } = self.arrays;
        spread(tasks, 0..coarse.len(), RowsOf(x, Self::R), &|range, RowsOf(x, _)| {
            SubstituteBlocks { inverse, sub, sup, coarse, first: range.start, x, block: B }.run_on(self.simd);
        });
    }
}

impl<T: Scalar, const B: usize> CyclicReduction<T, B> {
    /// Solve a system with the factors `levels` of its levels.
    fn solve_from(&self, levels: &[T], rows: &Rows<'_, T>, x: &mut [T], stack: &mut PodStack) {
        let Some(m) = coarse_sizes::<B>(x.len()).next() else {
            let last = self.last.as_ref().map_or(*rows, |[sub, diag, sup]| open_rows([sub, diag, sup]));
            return self.last_factors.solve(&last, x, stack);
        };
        let (level, coarser) = levels.split_at(level_words(m, B));
        let level = CyclicLevel::<T, B> { arrays: level_arrays(level, m, B), simd: self.simd };
        let (coarse, stack) = stack.make_raw::<T>(m);
        let tasks = cyclic_tasks(self.threads, x.len());
        level.reduce(x, coarse, tasks);
        self.solve_from(coarser, rows, coarse, stack);
        level.substitute(coarse, x, tasks);
    }
}

impl<T: Scalar, const B: usize> Elimination<T> for CyclicReduction<T, B> {
    const NEEDS_SCRATCH: bool = true;

    fn new(rows: &Rows<'_, T>, options: &Options, pool: &MemoryPool) -> Result<Self> {
        let Options { simd, threads, .. } = *options;
        let total = |words: fn(usize) -> usize| coarse_sizes::<B>(rows.n()).map(words).sum();
        let mut levels = array(total(|m| level_words(m, B)), Some(pool))?;
        let mut coarse_rows = array(total(|m| 3 * room(m)), Some(pool))?;
        let (mut rest, mut rest_rows) = (&mut *levels, &mut *coarse_rows);
        let (mut last, mut singular) = (None, false);
        for m in coarse_sizes::<B>(rows.n()) {
            let (level, coarse);
            (level, rest) = rest.split_at_mut(level_words(m, B));
            (coarse, rest_rows) = rest_rows.split_at_mut(3 * room(m));
            let fine = last.map_or(*rows, open_rows);
            let tasks = cyclic_tasks(threads, fine.n());
            last = Some(eliminate::<T, B>(&fine, (&mut *level, coarse, m), (simd, tasks)));
            singular |= CyclicLevel::<T, B> { arrays: level_arrays(&*level, m, B), simd }.is_singular();
        }
        let last_factors = Thomas::new(&last.map_or(*rows, open_rows), options, pool)?;
        singular |= last_factors.is_singular();
        let last = match last {
            Some([sub, diag, sup]) => Some([copied(sub)?, copied(diag)?, copied(sup)?]),
            None => None,
        };
        Ok(Self { levels, last, last_factors, n: rows.n(), threads, simd, singular })
    }

    fn is_singular(&self) -> bool {
        self.singular
    }

    /// Scratch for the right-hand sides of the coarser levels, one column at a time.
    fn scratch(&self, _n_rhs: usize) -> StackReq {
        coarse_sizes::<B>(self.n).fold(StackReq::EMPTY, |all, m| all.and(StackReq::new::<T>(m)))
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

    /// The factors of the first level, and the rows of the next level.
    fn first_level<T: Scalar, const B: usize>(rows: &Rows<'_, T>, tasks: usize) -> (Vec<T>, [Vec<T>; 3]) {
        let m = rows.n().div_ceil(B + 1);
        let (mut level, mut coarse) = (vec![T::ZERO; level_words(m, B)], vec![T::ZERO; 3 * room(m)]);
        let next = eliminate::<T, B>(rows, (&mut level, &mut coarse, m), (Simd::detect(), tasks)).map(<[T]>::to_vec);
        (level, next)
    }

    fn of<T: Scalar, const B: usize>(factors: &[T], m: usize) -> CyclicLevel<'_, T, B> {
        CyclicLevel { arrays: level_arrays(factors, m, B), simd: Simd::detect() }
    }

    /// Return the rows of the next level, and check a solve with x = (1, 2, 3, 4).
    fn reduced<const B: usize>(a: &Tridiagonal<'_, f64>) -> Vec<(f64, f64, f64)> {
        let (factors, coarse) = first_level::<f64, B>(&a.rows(), 1);
        let next = open_rows(coarse.each_ref().map(|array| &array[..]));
        let level = of::<f64, B>(&factors, next.n());
        let rows: Vec<_> = (0..next.n()).map(|k| next.row(k)).collect();
        let mut x = a.apply(&[1.0, 2.0, 3.0, 4.0]).unwrap();
        let mut d = vec![0.0; rows.len()];
        level.reduce(&x, &mut d, 1);
        let values: Vec<f64> = (0..4).step_by(B + 1).map(|i| i as f64 + 1.0).collect();
        assert!(d.iter().enumerate().all(|(k, d)| *d == next.dot(k, &values)));
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
            let (factors, coarse) = first_level::<Complex64, B>(&rows, 1);
            let m = coarse[0].len();
            let level = of::<Complex64, B>(&factors, m);
            let (rest, x): (Vec<_>, Vec<_>) = ((0..m).map(|k| value(7 * k)).collect(), (0..n).map(value).collect());
            let (mut d, mut whole) = (vec![Complex64::ZERO; m], x.clone());
            level.reduce(&x, &mut d, 1);
            level.substitute(&rest, &mut whole, 1);
            for tasks in 2..6 {
                assert!(first_level::<Complex64, B>(&rows, tasks) == (factors.clone(), coarse.clone()), "{n} {tasks}");
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
