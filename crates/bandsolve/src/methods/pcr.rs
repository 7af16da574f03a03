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
//! The method is safe if cyclic reduction is.
//!
//! Source: Chang, thesis, section 2.1.3; Hockney, Jesshope, Parallel Computers 2 (1988). a, b, c, d → sub, diag, sup, rhs.

use crate::decision::Options;
use crate::error::Result;
use crate::memory::array;
use crate::methods::stored::Elimination;
use bandsolve_kernel::doubling::{DoubleRhs, DoubleRows, LevelFacts, is_below_rounding};
use bandsolve_kernel::memory::MemoryPool;
use bandsolve_kernel::rows::Rows;
use bandsolve_kernel::scalar::reciprocal;
use bandsolve_kernel::spread::{spread, tasks};
use bandsolve_kernel::{Scalar, Simd};
use core::mem::swap;
use core::sync::atomic::{AtomicBool, Ordering};
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
    how: Spreading,
    singular: bool,
}

/// How the rows of a level are computed.
#[derive(Debug, Clone, Copy)]
struct Spreading {
    tasks: usize,
    simd: Simd,
}

impl Spreading {
    fn new(n: usize, options: &Options) -> Self {
        Self { tasks: tasks(options.threads, n), simd: options.simd }
    }
}

/// The matrix of one level with a unit diagonal, and the factors by which its rows were multiplied.
struct PcrLevel<'a, T> {
    sub: &'a mut [T],
    sup: &'a mut [T],
    recip: &'a mut [T],
}

impl<'a, T: Scalar> PcrLevel<'a, T> {
    /// Scratch for one level.
    fn scratch(n: usize) -> StackReq {
        StackReq::new::<T>(n).and(StackReq::new::<T>(n)).and(StackReq::new::<T>(n))
    }

    fn take(stack: &'a mut PodStack, n: usize) -> (Self, &'a mut PodStack) {
        let (sub, stack) = stack.make_raw::<T>(n);
        let (sup, stack) = stack.make_raw::<T>(n);
        let (recip, stack) = stack.make_raw::<T>(n);
        (Self { sub, sup, recip }, stack)
    }

    /// Set the first level, which is the matrix divided by its diagonal.
    fn set_rows(&mut self, rows: &Rows<'_, T>, tasks: usize) {
        let out = (&mut *self.sub, &mut *self.sup, &mut *self.recip);
        spread(tasks, 0..rows.n(), out, &|range, (subs, sups, recips)| {
            for (((i, sub), sup), recip) in range.zip(subs).zip(sups).zip(recips) {
                let (a, b, c) = rows.row(i);
                *recip = reciprocal(b);
                (*sub, *sup) = (a * *recip, c * *recip);
            }
        });
    }

    /// Set the level after `fine`.
    fn set_reduced(&mut self, fine: &PcrLevel<'_, T>, distance: usize, how: Spreading) -> LevelFacts {
        let (fine, n) = ([&*fine.sub, &*fine.sup], fine.sub.len());
        let (singular, coupled) = (AtomicBool::new(false), AtomicBool::new(false));
        let out = (&mut *self.sub, &mut *self.sup, &mut *self.recip);
        spread(how.tasks, 0..n, out, &|rows, (sub, sup, recip)| {
            let to = [sub, sup, recip];
            let facts = DoubleRows { fine, distance, first: rows.start, to }.run_on(how.simd);
            singular.fetch_or(facts.singular, Ordering::Relaxed);
            coupled.fetch_or(!facts.diagonal, Ordering::Relaxed);
        });
        LevelFacts { singular: singular.into_inner(), diagonal: !coupled.into_inner() }
    }

    /// Compute right-hand sides of this level from the right-hand sides `d` of the previous level `fine`.
    fn reduce(&self, fine: &PcrLevel<'_, T>, distance: usize, d: &[T], out: &mut [T], how: Spreading) {
        let (fine, recip) = ([&*fine.sub, &*fine.sup], &*self.recip);
        spread(how.tasks, 0..d.len(), out, &|rows, out| {
            DoubleRhs { fine, recip, distance, d, first: rows.start, out }.run_on(how.simd);
        });
    }

    /// Whether the matrix is diagonal, except for negligible entries.
    fn is_diagonal(&self) -> bool {
        self.sub.iter().chain(&*self.sup).all(|v| is_below_rounding(*v))
    }
}

impl<T: Scalar> Elimination<T> for ParallelCyclicReduction {
    const NEEDS_SCRATCH: bool = true;

    fn new(rows: &Rows<'_, T>, options: &Options, pool: &MemoryPool) -> Result<Self> {
        let (n, how) = (rows.n(), Spreading::new(rows.n(), options));
        let of_level = || array(n, Some(pool));
        let mut memory = [[of_level()?, of_level()?, of_level()?], [of_level()?, of_level()?, of_level()?]];
        let [mut fine, mut coarse] = memory.each_mut().map(|level| {
            let [sub, sup, recip] = level.each_mut().map(|array| &mut **array);
            PcrLevel { sub, sup, recip }
        });
        fine.set_rows(rows, how.tasks);
        let (mut levels, mut singular) = (0, fine.recip.contains(&T::ZERO));
        let mut is_diagonal = fine.is_diagonal();
        while n > 1 << levels && !is_diagonal {
            let facts = coarse.set_reduced(&fine, 1 << levels, how);
            (singular, is_diagonal) = (singular | facts.singular, facts.diagonal);
            swap(&mut fine, &mut coarse);
            levels += 1;
        }
        Ok(Self { n, levels, how, singular })
    }

    fn is_singular(&self) -> bool {
        self.singular
    }

    /// Scratch for two levels of the matrix and one level of the right-hand sides.
    fn scratch(&self, n_rhs: usize) -> StackReq {
        PcrLevel::<T>::scratch(self.n)
            .and(PcrLevel::<T>::scratch(self.n))
            .and(StackReq::new::<T>(self.n.saturating_mul(n_rhs)))
    }

    fn solve(&self, rows: &Rows<'_, T>, x: &mut [T], stack: &mut PodStack) {
        let (n, how) = (rows.n(), self.how);
        let (mut fine, stack) = PcrLevel::take(stack, n);
        let (mut coarse, stack) = PcrLevel::take(stack, n);
        let (spare, _) = stack.make_raw::<T>(x.len());
        fine.set_rows(rows, how.tasks);
        for x in x.chunks_exact_mut(n) {
            spread(how.tasks, 0..n, &mut *x, &|rows, x| {
                x.iter_mut().zip(&fine.recip[rows]).for_each(|(x, r)| *x *= *r)
            });
        }
        let (mut from, mut to) = (&mut *x, spare);
        for level in 0..self.levels {
            coarse.set_reduced(&fine, 1 << level, how);
            for (d, out) in from.chunks_exact(n).zip(to.chunks_exact_mut(n)) {
                coarse.reduce(&fine, 1 << level, d, out, how);
            }
            swap(&mut fine, &mut coarse);
            swap(&mut from, &mut to);
        }
        if self.levels % 2 == 1 {
            // After an odd number of levels, x is in the spare memory, and `to` is the array of the caller.
            to.copy_from_slice(from);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::methods::stored::testing::{check_dominant, matrix, options};
    use dyn_stack::PodBuffer;

    #[test]
    fn one_level_by_hand() {
        let a = matrix(&[[1.0, 2.0, 1.0]; 4]);
        let mut memory = PodBuffer::new(PcrLevel::<f64>::scratch(4).and(PcrLevel::<f64>::scratch(4)));
        let (mut fine, stack) = PcrLevel::take(PodStack::new(&mut memory), 4);
        let (mut coarse, _) = PcrLevel::take(stack, 4);
        fine.set_rows(&a.rows(), 1);
        assert_eq!((&*fine.sub, &*fine.sup), (&[0.0, 0.5, 0.5, 0.5][..], &[0.5, 0.5, 0.5, 0.0][..]));
        let how = Spreading::new(4, &options());
        let facts = coarse.set_reduced(&fine, 1, how);
        assert_eq!(facts, LevelFacts { singular: false, diagonal: false });
        // r = 1/(1 − ¼), 1/(1 − ¼ − ¼), …
        assert_eq!(coarse.recip, [4.0 / 3.0, 2.0, 2.0, 4.0 / 3.0]);
        assert_eq!(
            (&*coarse.sub, &*coarse.sup),
            (&[0.0, 0.0, -0.5, -1.0 / 3.0][..], &[-1.0 / 3.0, -0.5, 0.0, 0.0][..])
        );
        let mut d = [0.0; 4];
        coarse.reduce(&fine, 1, &[1.0, 1.0, 1.0, 1.0], &mut d, how);
        assert_eq!(d, [2.0 / 3.0, 0.0, 0.0, 2.0 / 3.0]);
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

    #[test]
    fn dominant_systems_of_every_size() {
        check_dominant::<ParallelCyclicReduction>();
    }
}
