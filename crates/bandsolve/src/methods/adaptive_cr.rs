//! Adaptive cyclic reduction with diagonal pivoting: each level alternates between blocks of one or two rows that it keeps and blocks that
//! it eliminates. The entries determine the blocks of each level.
//!
//! With a the first `sub` and c the last `sup` of an eliminated block D, and u and l the rows that stay next to it,
//!
//! ```text
//! x_D = D⁻¹ (d_D − a x_u e₁ − c x_l e₋₁)
//! ```
//!
//! Inserting x_D into rows u and l gives a tridiagonal system of the rows that stay. If two neighboring rows stay, their coupling does
//! not change.
//!
//! **Choice of blocks.** A level eliminates all of its blocks at the same time, so each block of the current matrix must be safe. The rule of
//! [`diagonal_pivoting`](crate::methods::diagonal_pivoting) does not suffice, because it tests the leading entry after the elimination of
//! all rows above. For `[1 1 0; 1 1 1; 0 1 1]`, it selects the last two rows as a pair, which is singular in the original matrix. Here the
//! price of a block is its *growth*. With rows scaled so that their largest entries are in [2, 4), and Nⱼ the largest entry of column j,
//!
//! ```text
//! g(D) = Σ_(j in D) Nⱼ ‖eⱼᵀ D⁻¹‖₁
//! ```
//!
//! g(D) is roughly the factor by which errors of x_D grow when they enter another row. It is 1 or 2 for good blocks, and scaling columns does
//! not change it. The method takes the division into alternating blocks with the smallest total price. The total price is the sum of g(D)
//! over all eliminated blocks, and of 4 for each row that stays. Dynamic programming finds the division in one sweep.
//!
//! The determinant is a sum of products of diagonal entries bᵢ and pairs aᵢ₊₁cᵢ. If the matrix is regular, one of these products is not
//! zero, and gives a division into regular blocks. A division without zero pivots therefore exists. The same holds if the last row of each
//! piece of 128 rows stays, so that pieces are independent (`bandsolve_kernel::adaptive`).
//!
//! The next level is a Schur complement S of the matrix with ‖S⁻¹‖ ≤ ‖A⁻¹‖. Small growth is therefore sufficient for accuracy.
//!
//! Source: Chang, thesis, chapter 5. The choice of blocks is new. a, b, c, d → sub, diag, sup, rhs.

use crate::decision::Options;
use crate::error::Result;
use crate::memory::{allocate, array, push};
use crate::methods::cyclic_reduction::{open_rows, room, split_array};
use crate::methods::stored::Elimination;
use crate::tuning::tasks;
use bandsolve_kernel::Scalar;
use bandsolve_kernel::adaptive::{
    AdaptiveArrays, CHUNK_ROWS, CombineChunk, EliminateChunk, PIECE_ROWS, ReduceChunk, SubstituteChunk,
};
use bandsolve_kernel::memory::{Array, MemoryPool};
use bandsolve_kernel::rows::Rows;
use bandsolve_kernel::spread::{RowsOf, SectionsOf, Split, spread_each};
use core::ops::Range;
use core::sync::atomic::{AtomicBool, Ordering};
use dyn_stack::{PodStack, StackReq};

/// Factors of an open system: 5 words and 1 byte per row and level, 8 to 9 words per row for most matrices, at most 17.
///
/// # Cost
/// Factor: about 60 flops and 2 divisions per row and level. Solve: 13 flops per row, level and right-hand side.
#[derive(Debug)]
pub(crate) struct AdaptiveCr<T: Scalar> {
    n: usize,
    levels: Vec<AdaptiveLevel<T>>,
    options: Options,
    singular: bool,
}

/// Factors of one level.
#[derive(Debug)]
struct AdaptiveLevel<T: Scalar> {
    /// The [arrays](AdaptiveArrays) of all rows.
    memory: Array<T>,
    /// 1 for each row that stays, else 0.
    stays: Array<u8>,
    /// The numbers of rows that stay before each chunk and, at the end, of all rows that stay.
    starts: Vec<usize>,
    singular: bool,
}

/// The arrays of a level of `n` rows in `memory`.
fn arrays<A: Split>(memory: A, n: usize) -> AdaptiveArrays<A> {
    let (before, memory) = split_array(memory, n);
    let (center, memory) = split_array(memory, n);
    let (after, memory) = split_array(memory, n);
    let (above, memory) = split_array(memory, n);
    [before, center, after, above, split_array(memory, n).0]
}

/// The rows of a chunk.
fn rows_of(chunk: usize, n: usize) -> Range<usize> {
    let first = chunk * CHUNK_ROWS;
    first..(first + CHUNK_ROWS).min(n)
}

impl<T: Scalar> AdaptiveLevel<T> {
    /// Choose and eliminate blocks, and return `sub`, `diag` and `sup` of the next level, too.
    fn new(rows: &Rows<'_, T>, options: &Options, pool: &MemoryPool) -> Result<(Self, [Array<T>; 3])> {
        let n = rows.n();
        let memory = array(5 * room(n), Some(pool))?;
        let (stays, starts) = (array(n, Some(pool))?, allocate(n.div_ceil(CHUNK_ROWS) + 1, 0)?);
        let mut level = Self { memory, stays, starts, singular: false };
        level.eliminate(rows, options);
        let coarse = || array(level.coarse_n(), Some(pool));
        let mut coarse = [coarse()?, coarse()?, coarse()?];
        level.combine(rows, coarse.each_mut().map(|to| &mut **to), options);
        Ok((level, coarse))
    }

    /// Number of rows of the next level.
    fn coarse_n(&self) -> usize {
        self.starts[self.chunks()]
    }

    fn chunks(&self) -> usize {
        self.starts.len() - 1
    }

    /// The arrays of the rows in `range`.
    fn arrays(&self, range: Range<usize>) -> AdaptiveArrays<&[T]> {
        arrays(&*self.memory, self.stays.len()).map(|array| &array[range.clone()])
    }

    /// Fill all fields.
    fn eliminate(&mut self, rows: &Rows<'_, T>, options: &Options) {
        let (n, singular) = (rows.n(), AtomicBool::new(false));
        let mut to = arrays(&mut *self.memory, n);
        let out = to.each_mut().map(|array| RowsOf(array, CHUNK_ROWS));
        let out = (out, RowsOf(&mut self.stays, CHUNK_ROWS), &mut self.starts[1..]);
        spread_each(tasks(options.threads, n), 0..n.div_ceil(CHUNK_ROWS), out, &|chunk, (to, stays, count)| {
            let to = to.map(|array| array.0);
            let facts = EliminateChunk { rows, first: chunk * CHUNK_ROWS, to, stays: stays.0 }.run_on(options.simd);
            singular.fetch_or(facts.singular, Ordering::Relaxed);
            count[0] = facts.stay;
        });
        self.singular = singular.into_inner();
        for chunk in 0..self.chunks() {
            self.starts[chunk + 1] += self.starts[chunk];
        }
        // `below` of the last row of a chunk is for a row that is eliminated.
        let [.., below] = arrays(&mut *self.memory, n);
        for next in (CHUNK_ROWS..n).step_by(CHUNK_ROWS).filter(|next| self.stays[*next] == 1) {
            below[next - 1] = T::ZERO;
        }
    }

    /// Compute the rows of the next level.
    fn combine(&self, rows: &Rows<'_, T>, coarse: [&mut [T]; 3], options: &Options) {
        let n = rows.n();
        let [_, center, _, above, below] = self.arrays(0..n);
        let out = coarse.map(|array| SectionsOf(array, &self.starts));
        spread_each(tasks(options.threads, n), 0..self.chunks(), out, &|chunk, coarse| {
            let (range, coarse) = (rows_of(chunk, n), coarse.map(|section| section.0));
            let (first, center, stays) = (range.start, &center[range.clone()], &self.stays[range]);
            CombineChunk { rows, first, center, stays, beside: [above, below], coarse }.run_on(options.simd);
        });
    }

    /// Compute the right-hand side of the next level, and replace d by y.
    fn reduce(&self, d: &mut [T], coarse: &mut [T], options: &Options) {
        let n = d.len();
        let out = (RowsOf(&mut *d, CHUNK_ROWS), SectionsOf(&mut *coarse, &self.starts));
        spread_each(
            tasks(options.threads, n),
            0..self.chunks(),
            out,
            &|chunk, (RowsOf(d, _), SectionsOf(coarse, _))| {
                let rows = rows_of(chunk, n);
                let (arrays, stays) = (self.arrays(rows.clone()), &self.stays[rows]);
                ReduceChunk { arrays, stays, d, coarse }.run_on(options.simd);
            },
        );
        // The last row of a chunk lacks y of the next row.
        let [.., below] = self.arrays(0..n);
        for (next, start) in (CHUNK_ROWS..n).step_by(CHUNK_ROWS).zip(&self.starts[1..]) {
            coarse[start - 1] -= below[next - 1] * d[next];
        }
    }

    /// Compute x from y and from x of the next level. `coarse` has one zero before and one after these unknowns.
    fn substitute(&self, coarse: &[T], x: &mut [T], options: &Options) {
        let n = x.len();
        spread_each(tasks(options.threads, n), 0..self.chunks(), RowsOf(x, CHUNK_ROWS), &|chunk, RowsOf(x, _)| {
            let rows = rows_of(chunk, n);
            let ([.., above, below], stays) = (self.arrays(rows.clone()), &self.stays[rows]);
            let coarse = &coarse[self.starts[chunk]..self.starts[chunk + 1] + 2];
            SubstituteChunk { arrays: [above, below], stays, coarse, x }.run_on(options.simd);
        });
    }
}

/// Maximum number of rows of the level after one of n rows. At most two of three rows between the outer rows of a piece stay. Its outer rows and
/// its border can stay, too. A system of two rows keeps at most one.
fn most_that_stay(n: usize) -> usize {
    match n {
        0..=2 => n.saturating_sub(1),
        3..=PIECE_ROWS => 2 * (n + 1) / 3,
        _ => (2 * n + 5 * n.div_ceil(PIECE_ROWS)) / 3,
    }
}

/// Solve a system with the levels `levels`.
fn solve_levels<T: Scalar>(levels: &[AdaptiveLevel<T>], x: &mut [T], options: &Options, stack: &mut PodStack) {
    let Some((level, coarser)) = levels.split_first() else { return };
    let m = level.coarse_n();
    let (coarse, stack) = stack.make_raw::<T>(m + 2);
    (coarse[0], coarse[m + 1]) = (T::ZERO, T::ZERO);
    level.reduce(x, &mut coarse[1..=m], options);
    solve_levels(coarser, &mut coarse[1..=m], options, stack);
    level.substitute(coarse, x, options);
}

impl<T: Scalar> Elimination<T> for AdaptiveCr<T> {
    const NEEDS_SCRATCH: bool = true;

    fn new(rows: &Rows<'_, T>, options: &Options, pool: &MemoryPool) -> Result<Self> {
        let (first, mut coarse) = AdaptiveLevel::new(rows, options, pool)?;
        let mut levels = Vec::new();
        push(&mut levels, first)?;
        while !coarse[0].is_empty() {
            let (level, next) = AdaptiveLevel::new(&open_rows(coarse.each_ref().map(|array| &**array)), options, pool)?;
            push(&mut levels, level)?;
            coarse = next;
        }
        let singular = levels.iter().any(|level| level.singular);
        Ok(Self { n: rows.n(), levels, options: *options, singular })
    }

    fn is_singular(&self) -> bool {
        self.singular
    }

    /// Scratch for the right-hand sides of the coarser levels, one column at a time, for any choice of blocks.
    fn scratch(&self, _n_rhs: usize) -> StackReq {
        let sizes = core::iter::successors(Some(most_that_stay(self.n)), |n| (*n > 0).then(|| most_that_stay(*n)));
        sizes.fold(StackReq::EMPTY, |all, n| all.and(StackReq::new::<T>(n + 2)))
    }

    fn solve(&self, rows: &Rows<'_, T>, x: &mut [T], stack: &mut PodStack) {
        x.chunks_exact_mut(rows.n()).for_each(|x| solve_levels(&self.levels, x, &self.options, stack));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Factor;
    use crate::contract::refine::good;
    use crate::contract::verify::backward_error;
    use crate::methods::stored::testing::{check_dominant, matrix, options, solve};
    use bandsolve_gallery::Random;

    fn first_level(rows: &[[f64; 3]]) -> (AdaptiveLevel<f64>, [Vec<f64>; 3]) {
        let (a, options) = (matrix(rows), options());
        let (level, coarse) = AdaptiveLevel::new(&a.rows(), &options, &MemoryPool::default()).unwrap();
        (level, coarse.map(|array| array.to_vec()))
    }

    fn roles(diag: &[f64]) -> String {
        let (level, _) = first_level(&diag.iter().map(|b| [1.0, *b, 1.0]).collect::<Vec<_>>());
        let [before, _, after, ..] = level.arrays(0..diag.len());
        let role = |i: usize| match (level.stays[i], before[i] != 0.0 || after[i] != 0.0) {
            (1, _) => 'S',
            (_, true) => 'P',
            (_, false) => 'A',
        };
        (0..diag.len()).map(role).collect()
    }

    #[test]
    fn blocks_follow_the_numbers() {
        // All pairs are singular, so rows are eliminated alone.
        assert_eq!(roles(&[1.0, 1.0, 1.0]), "ASA");
        // All single rows are singular or nearly singular, so pairs are eliminated.
        assert_eq!(roles(&[0.0, 0.0, 5.0, 0.0, 0.0]), "PPSPP");
        assert_eq!(roles(&[1e-9, 1e-9, 5.0, -1e-9, 0.0]), "PPSPP");
        // If all blocks are good, few rows stay.
        assert_eq!(roles(&[9.0; 5]), "PPSPP");
        assert_eq!(roles(&[4.0]), "A");
    }

    #[test]
    fn one_level_by_hand() {
        // [0 1; 1 0] in the middle exchanges x₁ and x₂ and couples their neighbors, which stay because they are small.
        let small = 1.0 / 1024.0;
        let rows = [[0.0, small, 1.0], [1.0, 0.0, 1.0], [1.0, 0.0, 1.0], [1.0, small, 0.0]];
        let (level, coarse) = first_level(&rows);
        assert_eq!(level.stays[..], [1, 0, 0, 1]);
        // Rows are multiplied by 2.
        assert_eq!(coarse, [vec![0.0, -2.0], vec![2.0 * small; 2], vec![-2.0, 0.0]]);
        let (mut x, mut d) = (matrix(&rows).apply(&[1.0, 2.0, 3.0, 4.0]).unwrap(), [0.0; 4]);
        let options = options();
        level.reduce(&mut x, &mut d[1..3], &options);
        assert_eq!(d[1..3], [2.0 * small - 8.0, 8.0 * small - 2.0]);
        (d[1], d[2]) = (1.0, 4.0);
        level.substitute(&d, &mut x, &options);
        assert_eq!(x, [1.0, 2.0, 3.0, 4.0]);
    }

    #[test]
    fn small_systems_that_need_pivots() {
        for diag in [[0.0; 4], [1.0, 1.0, 1.0, 0.5], [0.0, 1.0, 1.0, 0.0], [1e-12, 0.0, 3.0, 1e-12]] {
            let a = matrix(&diag.map(|b| [1.0, b, 1.0]));
            let x = solve::<AdaptiveCr<f64>>(&a, &options(), &a.apply(&[1.0, 2.0, 3.0, 4.0]).unwrap());
            assert!(x.iter().zip(1..).all(|(x, i)| (x - f64::from(i)).abs() < 1e-14), "{diag:?}: {x:?}");
        }
    }

    /// Decoupled blocks [0 1; 1 0], with a block [1] among them. The last row of a piece stays, and can belong to either row of a block.
    #[test]
    fn pairs_at_the_ends_of_pieces() {
        for n in [2, 126, 127, 128, 129, 130, 254, 255, 256, 257, 258, 384, 385, 511, 512, 513, 514, 1000, 1001] {
            for alone in [0, 1, 2, 125, 126, 127, 128, 129, 130, 255, 256, 257, n] {
                let (mut rows, mut one) = (Vec::new(), Some(alone));
                while rows.len() < n {
                    if one.is_some_and(|one| rows.len() >= one) || rows.len() + 1 == n {
                        one = None;
                        rows.push([0.0, 1.0, 0.0]);
                    } else {
                        rows.extend([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]);
                    }
                }
                let a = matrix(&rows);
                let x_true: Vec<f64> = (0..n).map(|i| (i as f64).cos()).collect();
                let factors = AdaptiveCr::new(&a.rows(), &options(), &MemoryPool::default()).unwrap();
                assert!(!factors.is_singular(), "{n} rows, row {alone} alone");
                assert_eq!(solve::<AdaptiveCr<f64>>(&a, &options(), &a.apply(&x_true).unwrap()), x_true);
            }
        }
    }

    #[test]
    fn singular_systems() {
        for n in [3, 127, 128, 129, 300] {
            for zero in [0, n / 2, n - 1] {
                let mut rows = vec![[1.0, 4.0, 1.0]; n];
                rows[zero] = [0.0; 3];
                let a = matrix(&rows);
                let factors = AdaptiveCr::new(&a.rows(), &options(), &MemoryPool::default()).unwrap();
                assert!(factors.is_singular(), "row {zero} of {n} is zero");
            }
        }
    }

    #[test]
    fn dominant_systems_of_every_size() {
        check_dominant::<AdaptiveCr<f64>>();
    }

    #[test]
    fn no_level_is_larger_than_its_bound() {
        for n in (1..=260).chain([384, 385, 511, 513, 1000, 4096]) {
            // Every third row has a pivot, and no other block is regular.
            let kept = [0, 1, 2].map(|phase| {
                let row = |i: usize| if (i + phase).is_multiple_of(3) { [0.0, 1.0, 0.0] } else { [0.0; 3] };
                first_level(&(0..n).map(row).collect::<Vec<_>>()).0.coarse_n()
            });
            let most = kept.into_iter().max().unwrap();
            // A piece of 128 rows keeps 86 or 87.
            assert!(
                most <= most_that_stay(n) && most + 2 * (n / PIECE_ROWS) + 2 >= most_that_stay(n),
                "{most} of {n} rows"
            );
            assert!(most_that_stay(n) < n && most_that_stay(n) <= most_that_stay(n + 1));
        }
    }

    /// Random entries, some of them zero.
    #[test]
    fn random_systems_around_pieces() {
        let mut solved = 0;
        for n in [127, 128, 129, 130, 255, 256, 257, 258, 384, 385, 513] {
            for seed in 0..3 {
                let mut random = Random::new(seed);
                let mut entry = || if random.uniform(0.0, 1.0) < 0.05 { 0.0 } else { random.uniform(-1.0, 1.0) };
                let a = matrix(&(0..n).map(|_| [entry(), entry(), entry()]).collect::<Vec<_>>());
                let d: Vec<f64> = (0..n).map(|_| entry()).collect();
                if AdaptiveCr::new(&a.rows(), &options(), &MemoryPool::default()).unwrap().is_singular() {
                    continue;
                }
                let x = solve::<AdaptiveCr<f64>>(&a, &options(), &d);
                let eta = backward_error(a.rows(), (&d, &x), false);
                assert!(eta <= 1e-13, "n = {n}: {eta:e}");
                solved += 1;
            }
        }
        assert!(solved > 15, "{solved} regular systems");
    }

    /// The reciprocals of entries that are nearly subnormal overflow. Verified answers are right.
    #[test]
    fn tiny_entries() {
        for size in [1e-300, 1e-307, 1e300] {
            let mut random = Random::new(7);
            let mut draw = || random.uniform(-1.0, 1.0) * size;
            let a = matrix(&(0..300).map(|_| [draw(), draw(), draw()]).collect::<Vec<_>>());
            let rhs: Vec<f64> = (0..300).map(|_| draw()).collect();
            let plan = crate::Plan::new(a.shape()).method(crate::Method::AdaptiveCr);
            let report = plan.factor(&a).unwrap().solve(&rhs).unwrap().report;
            assert!(report.backward_error <= good::<f64>(), "{size:e}: {report:?}");
        }
    }
}
