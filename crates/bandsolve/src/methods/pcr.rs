//! Parallel cyclic reduction: each level reduces all rows, with their neighbours at distance s = 1, 2, 4, …, until the rows are
//! decoupled.
//!
//! With rows divided by their diagonal entries (b = 1), a level is
//!
//! ```text
//! rᵢ  = 1 / (1 − aᵢ cᵢ₋ₛ − cᵢ aᵢ₊ₛ)
//! aᵢ′ = −rᵢ aᵢ aᵢ₋ₛ,   cᵢ′ = −rᵢ cᵢ cᵢ₊ₛ,   dᵢ′ = rᵢ (dᵢ − aᵢ dᵢ₋ₛ − cᵢ dᵢ₊ₛ)
//! ```
//!
//! Entries beyond the ends count as zero. There is no substitution: after ⌈log₂ n⌉ levels, or as soon as all a and c are at most ε/8, d is x.
//! In a strictly dominant matrix, each level roughly squares them.
//! The multipliers of all levels would need n log n words. They are not stored: `solve` computes the levels again, once for all of its
//! right-hand sides.
//!
//! After L levels, a row depends on the 2^L − 1 rows on each side of it. With at most [`PCR_TILE_LEVELS`] levels, the method works tile by tile. It
//! computes all levels of a tile while they are in the cache. For this it needs 2^L − 1 further rows on each side of the tile.
//!
//! The method is safe if cyclic reduction is.
//!
//! Source: Chang, thesis, section 2.1.3; Hockney, Jesshope, Parallel Computers 2 (1988). a, b, c, d → sub, diag, sup, rhs.

use crate::decision::Options;
use crate::error::Result;
use crate::memory::array;
use crate::methods::stored::Elimination;
use crate::tuning::{PCR_TILE_LEVELS, PCR_TILE_ROWS};
use bandsolve_kernel::Scalar;
use bandsolve_kernel::doubling::{DoubleRhs, DoubleRows, LevelFacts, is_below_rounding};
use bandsolve_kernel::memory::MemoryPool;
use bandsolve_kernel::rows::Rows;
use bandsolve_kernel::scalar::reciprocal;
use bandsolve_kernel::spread::{RowsOf, VectorsOf, spread, tasks};
use core::mem::swap;
use core::ops::Range;
use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use dyn_stack::{PodStack, StackReq};

/// The number of levels of an open system: 0 words per row.
///
/// # Cost
/// Factor: 10 flops and 1 division per row and level. Solve: the same, and 5 flops per row, level and right-hand side.
#[derive(Debug)]
pub(crate) struct ParallelCyclicReduction {
    n: usize,
    /// Number of levels until the rows are decoupled, up to rounding errors.
    levels: u32,
    options: Options,
    singular: bool,
}

/// The matrix of one level with a unit diagonal: its a and c, and the factors r by which its rows were multiplied.
struct PcrLevel<'a, T> {
    sub: &'a mut [T],
    sup: &'a mut [T],
    recip: &'a mut [T],
}

impl<'a, T: Scalar> PcrLevel<'a, T> {
    /// A level of n rows in `memory`, and the rest of the memory.
    fn split(memory: &'a mut [T], n: usize) -> (Self, &'a mut [T]) {
        let (sub, memory) = memory.split_at_mut(n);
        let (sup, memory) = memory.split_at_mut(n);
        let (recip, memory) = memory.split_at_mut(n);
        (Self { sub, sup, recip }, memory)
    }
}

/// Levels of consecutive rows of the matrix.
///
/// A level needs rows at a distance. Where the matrix continues above or below the window, the first or last 2^L − 1 rows are unknown after L levels.
struct PcrWindow<'a, T> {
    /// The rows of the first level.
    range: Range<usize>,
    /// Whether the matrix continues above, and below.
    continues: [bool; 2],
    level: PcrLevel<'a, T>,
    /// The previous level. Arbitrary before the first `double`.
    other: PcrLevel<'a, T>,
    /// The distance s between neighbors in this level.
    distance: usize,
    options: Options,
}

/// Number of elements of the arrays of a window, for each of its rows.
const WINDOW_WORDS: usize = 6;

impl<'a, T: Scalar> PcrWindow<'a, T> {
    /// The first level, which is the matrix divided by its diagonal.
    fn new(rows: &Rows<'_, T>, range: Range<usize>, memory: &'a mut [T], options: Options) -> Self {
        let (level, memory) = PcrLevel::split(memory, range.len());
        let (other, _) = PcrLevel::split(memory, range.len());
        let out = (&mut *level.sub, &mut *level.sup, &mut *level.recip);
        spread(tasks(options.threads, range.len()), range.clone(), out, &|range, (subs, sups, recips)| {
            for (((i, sub), sup), recip) in range.zip(subs).zip(sups).zip(recips) {
                let (a, b, c) = rows.row(i);
                *recip = reciprocal(b);
                (*sub, *sup) = (a * *recip, c * *recip);
            }
        });
        let continues = [range.start > 0, range.end < rows.n()];
        Self { range, continues, level, other, distance: 1, options }
    }

    /// The number of tasks of a level.
    fn tasks(&self) -> usize {
        tasks(self.options.threads, self.range.len())
    }

    /// What the rows of the first level have in common.
    fn facts(&self) -> LevelFacts {
        let PcrLevel { sub, sup, recip } = &self.level;
        LevelFacts {
            singular: recip.contains(&T::ZERO),
            diagonal: sub.iter().chain(&**sup).all(|v| is_below_rounding(*v)),
        }
    }

    /// The rows that are known of the level with this distance, counted from the first row of the window.
    fn known(&self, distance: usize) -> Range<usize> {
        let [above, below] = self.continues.map(|continues| if continues { distance - 1 } else { 0 });
        above..self.range.len() - below
    }

    /// Compute the next level.
    fn double(&mut self) -> LevelFacts {
        let distance = self.distance;
        self.distance *= 2;
        swap(&mut self.level, &mut self.other);
        let (known, tasks, simd) = (self.known(self.distance), self.tasks(), self.options.simd);
        let fine = [&*self.other.sub, &*self.other.sup];
        let (singular, coupled) = (AtomicBool::new(false), AtomicBool::new(false));
        let PcrLevel { sub, sup, recip } = &mut self.level;
        let out = (&mut sub[known.clone()], &mut sup[known.clone()], &mut recip[known.clone()]);
        spread(tasks, known, out, &|rows, (sub, sup, recip)| {
            let facts = DoubleRows { fine, distance, first: rows.start, to: [sub, sup, recip] }.run_on(simd);
            singular.fetch_or(facts.singular, Ordering::Relaxed);
            coupled.fetch_or(!facts.diagonal, Ordering::Relaxed);
        });
        LevelFacts { singular: singular.into_inner(), diagonal: !coupled.into_inner() }
    }

    /// Compute a right-hand side of this level from the right-hand side d of the level before.
    fn reduce(&self, d: &[T], out: &mut [T]) {
        let (known, distance) = (self.known(self.distance), self.distance / 2);
        let (fine, recip) = ([&*self.other.sub, &*self.other.sup], &*self.level.recip);
        spread(self.tasks(), known.clone(), &mut out[known], &|rows, out| {
            DoubleRhs { fine, recip, distance, d, first: rows.start, out }.run_on(self.options.simd);
        });
    }

    /// Compute at most `most` levels until the matrix is diagonal, except for negligible entries. Return their number, whether a pivot is zero, and
    /// whether the last one is diagonal.
    fn count_levels(mut self, most: u32) -> (u32, LevelFacts) {
        let (mut levels, mut facts) = (0, self.facts());
        while !facts.diagonal && levels < most {
            let LevelFacts { singular, diagonal } = self.double();
            facts = LevelFacts { singular: facts.singular | singular, diagonal };
            levels += 1;
        }
        (levels, facts)
    }

    /// Compute `levels` levels of right-hand sides, columns in `d`, and return the last of them: x of the known rows. It is in `d` if the number of
    /// levels is even, otherwise in `spare`.
    fn solve<'d>(mut self, levels: u32, mut d: &'d mut [T], mut spare: &'d mut [T]) -> &'d [T] {
        let n = self.range.len();
        for d in d.chunks_exact_mut(n) {
            let recip = &*self.level.recip;
            spread(self.tasks(), 0..n, d, &|rows, d| d.iter_mut().zip(&recip[rows]).for_each(|(d, r)| *d *= *r));
        }
        for _ in 0..levels {
            self.double();
            d.chunks_exact(n).zip(spare.chunks_exact_mut(n)).for_each(|(d, out)| self.reduce(d, out));
            swap(&mut d, &mut spare);
        }
        d
    }
}

/// The tiles of a matrix of n rows. Each is reduced in the cache, together with the rows around it.
#[derive(Debug, Clone, Copy)]
struct PcrTiles {
    n: usize,
    /// Number of levels.
    levels: u32,
    options: Options,
}

impl PcrTiles {
    fn count(self) -> usize {
        self.n.div_ceil(PCR_TILE_ROWS)
    }

    fn tasks(self) -> usize {
        tasks(self.options.threads, self.n)
    }

    /// Number of tiles of a task.
    fn per_task(self) -> usize {
        self.count().div_ceil(self.tasks())
    }

    /// Number of further rows that a tile needs on each side.
    fn around(self) -> usize {
        (1 << self.levels) - 1
    }

    /// Maximum number of rows of a window.
    fn window_rows(self) -> usize {
        self.n.min(PCR_TILE_ROWS + 2 * self.around())
    }

    /// Number of elements that a task needs for a window and some right-hand sides.
    fn words(self, n_rhs: usize) -> usize {
        self.window_rows().saturating_mul(n_rhs.saturating_mul(2).saturating_add(WINDOW_WORDS))
    }

    /// Number of elements that all tasks need.
    fn all_words(self, n_rhs: usize) -> usize {
        self.tasks().saturating_mul(self.words(n_rhs))
    }

    /// The rows of each tile of some tasks, and those of its window.
    fn of_tasks(self, some: Range<usize>) -> impl Iterator<Item = [Range<usize>; 2]> {
        let [first, end] = [some.start, some.end].map(|task| (task * self.per_task()).min(self.count()));
        (first..end).map(move |tile| {
            let rows = tile * PCR_TILE_ROWS..((tile + 1) * PCR_TILE_ROWS).min(self.n);
            let window = rows.start.saturating_sub(self.around())..(rows.end + self.around()).min(self.n);
            [rows, window]
        })
    }

    /// Count the levels of all tiles, at most [`levels`](Self::levels), as [`PcrWindow::count_levels`] does.
    fn count_levels<T: Scalar>(self, rows: &Rows<'_, T>, pool: &MemoryPool) -> Result<(u32, LevelFacts)> {
        let (words, options) = (self.words(0), Options { threads: 1, ..self.options });
        let mut memory = array(self.all_words(0), Some(pool))?;
        let (levels, singular, coupled) = (AtomicU32::new(0), AtomicBool::new(false), AtomicBool::new(false));
        spread(self.tasks(), 0..self.tasks(), RowsOf(&mut memory, words), &|some, memory| {
            for [_, window] in self.of_tasks(some) {
                if coupled.load(Ordering::Relaxed) {
                    return;
                }
                let (count, facts) = PcrWindow::new(rows, window, memory.0, options).count_levels(self.levels);
                levels.fetch_max(count, Ordering::Relaxed);
                singular.fetch_or(facts.singular, Ordering::Relaxed);
                coupled.fetch_or(!facts.diagonal, Ordering::Relaxed);
            }
        });
        let facts = LevelFacts { singular: singular.into_inner(), diagonal: !coupled.into_inner() };
        Ok((levels.into_inner(), facts))
    }

    /// Compute x from the right-hand sides d. `memory` is for the [`words`](Self::words) of all tasks.
    fn solve<T: Scalar>(self, rows: &Rows<'_, T>, d: &[T], x: &mut [T], memory: &mut [T]) {
        let (n, n_rhs, options) = (self.n, d.len() / self.n, Options { threads: 1, ..self.options });
        let task_rows = self.per_task() * PCR_TILE_ROWS;
        let out = (RowsOf(memory, self.words(n_rhs)), VectorsOf::new(x, (n, n), task_rows));
        spread(self.tasks(), 0..self.tasks(), out, &|some, (memory, mut x)| {
            let first = some.start * task_rows;
            let (memory, columns) = memory.0.split_at_mut(self.words(0));
            let (here, spare) = columns.split_at_mut(self.window_rows() * n_rhs);
            for [tile, range] in self.of_tasks(some) {
                let len = range.len();
                let (here, spare) = (&mut here[..len * n_rhs], &mut spare[..len * n_rhs]);
                for (here, d) in here.chunks_exact_mut(len).zip(d.chunks_exact(n)) {
                    here.copy_from_slice(&d[range.clone()]);
                }
                let inner = tile.start - range.start..tile.end - range.start;
                let solved = PcrWindow::new(rows, range, memory, options).solve(self.levels, here, spare);
                for (k, solved) in solved.chunks_exact(len).enumerate() {
                    x.around(k).0[tile.start - first..tile.end - first].copy_from_slice(&solved[inner.clone()]);
                }
            }
        });
    }
}

impl<T: Scalar> Elimination<T> for ParallelCyclicReduction {
    const NEEDS_SCRATCH: bool = true;

    fn new(rows: &Rows<'_, T>, options: &Options, pool: &MemoryPool) -> Result<Self> {
        let (n, options) = (rows.n(), *options);
        let (mut levels, mut facts) = PcrTiles { n, levels: PCR_TILE_LEVELS, options }.count_levels(rows, pool)?;
        if !facts.diagonal {
            let mut memory = array(WINDOW_WORDS * n, Some(pool))?;
            let most = n.next_power_of_two().ilog2();
            (levels, facts) = PcrWindow::new(rows, 0..n, &mut memory, options).count_levels(most);
        }
        Ok(Self { n, levels, options, singular: facts.singular })
    }

    fn is_singular(&self) -> bool {
        self.singular
    }

    /// Scratch for a copy of the right-hand sides, and for windows. It is enough for any number of levels, because Aᵀ can have another number than A.
    fn scratch(&self, n_rhs: usize) -> StackReq {
        let Self { n, options, .. } = *self;
        let tiles = PcrTiles { n, levels: PCR_TILE_LEVELS, options };
        let words = (WINDOW_WORDS * n).max(tiles.all_words(n_rhs));
        StackReq::new::<T>(n.saturating_mul(n_rhs)).and(StackReq::new::<T>(words))
    }

    fn solve(&self, rows: &Rows<'_, T>, x: &mut [T], stack: &mut PodStack) {
        let (copy, stack) = stack.make_raw::<T>(x.len());
        if let Some(tiles) = self.tiles() {
            let (memory, _) = stack.make_raw::<T>(tiles.all_words(x.len() / self.n));
            copy.copy_from_slice(x);
            return tiles.solve(rows, copy, x, memory);
        }
        let (memory, _) = stack.make_raw::<T>(WINDOW_WORDS * self.n);
        PcrWindow::new(rows, 0..self.n, memory, self.options).solve(self.levels, x, copy);
        if self.levels % 2 == 1 {
            x.copy_from_slice(copy);
        }
    }
}

impl ParallelCyclicReduction {
    /// The tiles, or `None` if they would need too many rows around them.
    fn tiles(&self) -> Option<PcrTiles> {
        let Self { n, levels, options, .. } = *self;
        (levels <= PCR_TILE_LEVELS).then_some(PcrTiles { n, levels, options })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::methods::stored::testing::{check_dominant, dominant, matrix, options, solve};
    use crate::{Factor, Inspect, Method, Norm, Plan};

    #[test]
    fn one_level_by_hand() {
        let (a, options) = (matrix(&[[1.0, 2.0, 1.0]; 4]), options());
        let mut memory = [0.0; 4 * WINDOW_WORDS];
        let mut window = PcrWindow::new(&a.rows(), 0..4, &mut memory, options);
        assert_eq!((&*window.level.sub, &*window.level.sup), (&[0.0, 0.5, 0.5, 0.5][..], &[0.5, 0.5, 0.5, 0.0][..]));
        assert_eq!(window.double(), LevelFacts { singular: false, diagonal: false });
        // r = 1/(1 − ¼), 1/(1 − ¼ − ¼), …
        assert_eq!(window.level.recip, [4.0 / 3.0, 2.0, 2.0, 4.0 / 3.0]);
        assert_eq!(
            (&*window.level.sub, &*window.level.sup),
            (&[0.0, 0.0, -0.5, -1.0 / 3.0][..], &[-1.0 / 3.0, -0.5, 0.0, 0.0][..])
        );
        let mut d = [0.0; 4];
        window.reduce(&[1.0, 1.0, 1.0, 1.0], &mut d);
        assert_eq!(d, [2.0 / 3.0, 0.0, 0.0, 2.0 / 3.0]);
    }

    /// The rows of a tile have the same bits as those of the whole matrix.
    #[test]
    fn tiles_give_the_bits_of_one_window() {
        for n in [3, PCR_TILE_ROWS, PCR_TILE_ROWS + 1, 3 * PCR_TILE_ROWS + 100, 30_000] {
            let a = dominant(n);
            let d: Vec<f64> = (0..3 * n).map(|i| (i as f64).sin()).collect();
            let factors = ParallelCyclicReduction::new(&a.rows(), &options(), &MemoryPool::default()).unwrap();
            assert!(factors.tiles().is_some(), "{n} rows need {} levels", factors.levels);
            let [mut first, mut second] = [(); 2].map(|()| vec![0.0; WINDOW_WORDS * n]);
            let whole = |memory| PcrWindow::new(&a.rows(), 0..n, memory, options());
            let (levels, facts) = whole(&mut first[..]).count_levels(u32::MAX);
            assert_eq!((levels, facts), (factors.levels, LevelFacts { singular: false, diagonal: true }));
            let (mut expected, mut spare) = (d.clone(), d.clone());
            let expected = whole(&mut second[..]).solve(levels, &mut expected, &mut spare);
            for threads in [1, 3] {
                assert_eq!(
                    solve::<ParallelCyclicReduction>(&a, &Options { threads, ..options() }, &d),
                    expected,
                    "{n} rows"
                );
            }
        }
    }

    #[test]
    fn as_many_levels_as_needed() {
        let levels = |rows: &[[f64; 3]]| {
            let a = matrix(rows);
            ParallelCyclicReduction::new(&a.rows(), &options(), &MemoryPool::default()).unwrap().levels
        };
        assert_eq!([2, 3, 4, 5, 9].map(|n| levels(&vec![[1.0, 4.0, 1.0]; n])), [1, 2, 2, 3, 4]);
        assert_eq!(levels(&[[0.0, 4.0, 0.0]; 9]), 0);
        assert_eq!(levels(&[[0.0, 4.0, 1.0], [1.0, 4.0, 0.0], [0.0, 4.0, 1.0], [1.0, 4.0, 0.0]]), 1);
        // Couplings of 1e-100 are negligible, and those of 1e-10 after a level, which squares them.
        assert_eq!([1e-100, 1e-10].map(|a| levels(&[[a, 1.0, a]; 1000])), [0, 1]);
    }

    /// Large rows make couplings of the transposed matrix large, so that it needs more levels than the matrix.
    #[test]
    fn the_transposed_matrix_needs_more_levels() {
        let n = 30_000;
        for factor in [1e20, 1e30] {
            let mut rows = vec![[-1.0, 2.5, -1.0]; n];
            rows[n / 2..].iter_mut().flatten().for_each(|v| *v *= factor);
            let a = matrix(&rows);
            let levels = |rows: &Rows<'_, f64>| {
                ParallelCyclicReduction::new(rows, &options(), &MemoryPool::default()).unwrap().levels
            };
            assert!(levels(&a.rows()) < levels(&a.rows().transposed(false)));
            for verify in [false, true] {
                let plan = Plan::new(a.shape()).method(Method::Pcr).verify(verify);
                let factor = plan.factor(&a).unwrap();
                assert!(factor.rcond(Norm::One).unwrap() > 0.0);
                for n_rhs in [1, 3] {
                    let mut x = vec![1.0; n_rhs * n];
                    factor.solve_transpose_in_place(&mut x).unwrap();
                    assert!(x.iter().all(|x| x.is_finite()));
                }
            }
        }
    }

    #[test]
    fn dominant_systems_of_every_size() {
        check_dominant::<ParallelCyclicReduction>();
    }
}
