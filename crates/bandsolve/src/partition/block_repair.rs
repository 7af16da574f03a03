//! Local repair of x around nearly singular partitions of block systems.
//!
//! The repair works like the one of `repair.rs`, but the window covers a whole partition, and banded LU with scaled partial pivoting
//! solves its equations.
//!
//! Cost: a banded LU of some dozens of block rows for each bad partition, nothing for good ones.

use crate::contract::equations::Equations;
use crate::matrix::Banded;
use crate::memory::{collected, copied, zeroed};
use crate::partition::repair::{Repair, Windows};
use crate::pivoted::band_lu::BandLu;
use bandsolve_kernel::{Scalar, Simd};
use core::ops::Range;

/// Number of block rows on each side of a bad partition, one number per attempt. If one window is nearly singular, another may not be.
const BLOCK_WINDOW_REACH: [usize; 5] = [4, 8, 16, 32, 64];

/// The rows of a matrix of small blocks.
pub(crate) struct BlockWindows<E> {
    pub equations: E,
    pub block: usize,
    pub simd: Simd,
}

impl<T: Scalar, E: Equations<T>> Windows<T> for BlockWindows<E> {
    fn row(repair: &Repair<'_, T, Self>, i: usize) -> (T, T::Real) {
        let (mut residual, mut sum) = (repair.rhs[i], T::Real::ZERO);
        repair.windows.equations.visit_row(i, |j, a| {
            residual -= a * repair.x[j];
            sum += Scalar::abs(a);
        });
        (residual, sum * repair.x_max + Scalar::abs(repair.rhs[i]))
    }

    fn repair_rows(repair: &mut Repair<'_, T, Self>, rows: Range<usize>) -> Option<f64> {
        // `x_max` is more accurate now than when the rows were first measured.
        let worst = repair.worst(rows.clone());
        if worst <= repair.goal {
            return Some(worst);
        }
        BLOCK_WINDOW_REACH.into_iter().find_map(|reach| {
            let reach = reach * repair.windows.block;
            repair.correct(rows.start.saturating_sub(reach)..(rows.end + reach).min(repair.x.len()))
        })
    }
}

impl<T: Scalar, E: Equations<T>> Repair<'_, T, BlockWindows<E>> {
    /// Correct x in the rows of `window`. Returns the largest error of all affected rows, if it reaches the goal.
    fn correct(&mut self, window: Range<usize>) -> Option<f64> {
        let mut dx = collected(window.clone().map(|i| Windows::row(self, i).0)).ok()?;
        let (lu, singular) = BandLu::scaled(&self.restricted(&window)?, self.windows.simd).ok()?;
        if singular {
            return None;
        }
        let mut spare = zeroed::<T>(lu.words(1)).ok()?;
        lu.solve(false, &mut dx, &mut spare);
        let before = copied(&self.x[window.clone()]).ok()?;
        self.x[window.clone()].iter_mut().zip(&dx).for_each(|(x, dx)| *x += *dx);
        // The block rows next to the window contain its unknowns, too.
        let touched =
            window.start.saturating_sub(self.windows.block)..(window.end + self.windows.block).min(self.x.len());
        let worst = self.worst(touched);
        if !(worst <= self.goal) {
            self.x[window].copy_from_slice(&before);
            return None;
        }
        before.iter().zip(&dx).for_each(|(x, dx)| self.note(*x, *dx));
        Some(worst)
    }

    /// The rows and columns of `window`; `None` if a corner block of a periodic matrix couples some of them.
    fn restricted(&self, window: &Range<usize>) -> Option<Banded<'static, T>> {
        let (n, half) = (window.len(), 2 * self.windows.block - 1);
        let leading = 2 * half + 1;
        let (mut bands, mut inside) = (zeroed::<T>(n * leading).ok()?, true);
        for i in window.clone() {
            self.windows.equations.visit_row(i, |j, a| {
                // Corner blocks couple the two ends of the matrix.
                let near = i.abs_diff(j) <= half;
                inside &= near;
                if near && window.contains(&j) {
                    bands[half + i - j + (j - window.start) * leading] = a;
                }
            });
        }
        if inside { Banded::from_vec(n, half, half, bands).ok() } else { None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::equations::Matrix;
    use crate::{BlockTridiagonal, Op};

    #[test]
    fn repair_of_one_entry_is_local() {
        let (rows, block) = (200, 3);
        let wave = |i: usize, k: usize| ((i * k) as f64).sin();
        let array = |k: usize, diagonal: f64| {
            let entry = |i: usize| wave(i, k) + if [0, 4, 8].contains(&(i % 9)) { diagonal } else { 0.0 };
            (0..rows * block * block).map(entry).collect::<Vec<_>>()
        };
        let a = BlockTridiagonal::from_vecs(block, [array(3, 0.0), array(7, 9.0), array(5, 0.0)], false).unwrap();
        let x: Vec<f64> = (0..a.n()).map(|i| wave(i, 11)).collect();
        let rhs = a.apply(&x).unwrap();
        for i in [0, 1, 300, 598, 599] {
            let mut y = x.clone();
            y[i] += 1e-9;
            let goal = 8.0 * f64::EPSILON;
            let simd = Simd::detect();
            let windows = BlockWindows { equations: a.equations(Op::Plain, simd), block, simd };
            let mut repair = Repair { windows, rhs: &rhs, x: &mut y, x_max: 0.9, goal, largest_changed: false };
            assert!(repair.worst(0..600) > goal);
            assert!(
                Windows::repair_rows(&mut repair, i / 3 * 3..i / 3 * 3 + 3).expect("a dominant window is solved")
                    <= goal
            );
            assert!(repair.worst(0..600) <= goal);
            assert!((0..600usize).filter(|k| k.abs_diff(i) > 40 * block).all(|k| y[k] == x[k]));
        }
    }

    #[test]
    fn a_singular_window_is_given_up() {
        let (zeros, ones) = (vec![0.0; 40], vec![1.0; 20]);
        let a = BlockTridiagonal::new(2, &zeros, &zeros, &zeros).unwrap();
        let (simd, goal, mut x) = (Simd::detect(), 1e-15, ones.clone());
        let windows = BlockWindows { equations: a.equations(Op::Plain, simd), block: 2, simd };
        let mut repair = Repair { windows, rhs: &ones, x: &mut x, x_max: 1.0, goal, largest_changed: false };
        assert_eq!(Windows::repair_rows(&mut repair, 0..20), None);
    }
}
