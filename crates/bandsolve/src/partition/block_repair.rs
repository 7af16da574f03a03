//! Local repair of block systems: where a partition was nearly singular, its rows are corrected inside a small window.
//!
//! As `repair.rs` does for scalars: the residual of the rows of a window is formed, the system restricted to the window solved
//! for a correction by banded LU with scaled partial pivoting, and all rows that this touches are measured again.
//!
//! Cost: a banded LU of some dozens of block rows for each bad partition, nothing for good ones.

use crate::contract::equations::Equations;
use crate::matrix::Banded;
use crate::memory::{collected, copied, zeroed};
use crate::pivoted::band_lu::BandLu;
use bandsolve_kernel::{Machine, RealScalar, Scalar, Simd};
use core::ops::Range;

/// Block rows on either side of a bad partition, try by try: where one window happens to be nearly singular itself, another is not.
const REACH: [usize; 5] = [4, 8, 16, 32, 64];

/// One right-hand side whose solution is to be mended.
pub(crate) struct BlockRepair<'a, T: Scalar, E> {
    pub equations: &'a E,
    pub block: usize,
    pub simd: Simd,
    pub rhs: &'a [T],
    pub x: &'a mut [T],
    /// Lower bound of ‖x‖∞, close to it.
    pub x_max: T::Real,
    /// Backward error to reach.
    pub goal: f64,
    /// Whether an x of about the size `x_max` was changed: then the errors have to be measured anew.
    pub largest_changed: bool,
}

impl<T: Scalar, E: Equations<T>> BlockRepair<'_, T, E> {
    /// Mends the rows `span`; returns their largest error afterwards, `None` if that is not good.
    pub fn mend(&mut self, span: Range<usize>) -> Option<f64> {
        // The largest x is known better by now than when the rows were judged.
        let worst = self.worst(span.clone());
        if worst <= self.goal {
            return Some(worst);
        }
        REACH.into_iter().find_map(|reach| {
            let reach = reach * self.block;
            self.correct(span.start.saturating_sub(reach)..(span.end + reach).min(self.x.len()))
        })
    }

    /// d − A·x and Σ|a|·‖x‖∞ + |d| of row `i`.
    fn row(&self, i: usize) -> (T, T::Real) {
        let (mut residual, mut sum) = (self.rhs[i], T::Real::ZERO);
        self.equations.visit_row(i, |j, a| {
            residual -= a * self.x[j];
            sum += Scalar::abs(a);
        });
        (residual, sum * self.x_max + Scalar::abs(self.rhs[i]))
    }

    /// The largest error of some rows; NaN if a number leaves the range of the type.
    fn worst(&self, rows: Range<usize>) -> f64 {
        rows.fold(0.0, |worst: f64, i| {
            let (residual, scale) = self.row(i);
            let safe = scale <= T::Real::SAFE && scale * T::Real::SAFE >= T::Real::ONE;
            worst.max_nan(if safe { Scalar::abs(residual).to_f64() / scale.to_f64() } else { f64::NAN })
        })
    }

    /// Corrects x in the rows of `window`; the largest error of the rows that this touches, if that is good.
    fn correct(&mut self, window: Range<usize>) -> Option<f64> {
        let mut dx = collected(window.clone().map(|i| self.row(i).0)).ok()?;
        let (lu, singular) = BandLu::scaled(&self.restricted(&window)?, self.simd).ok()?;
        if singular {
            return None;
        }
        let mut spare = zeroed::<T>(lu.words(1)).ok()?;
        lu.solve(false, &mut dx, &mut spare);
        let before = copied(&self.x[window.clone()]).ok()?;
        self.x[window.clone()].iter_mut().zip(&dx).for_each(|(x, dx)| *x += *dx);
        // The block rows beside the window see its unknowns too.
        let touched = window.start.saturating_sub(self.block)..(window.end + self.block).min(self.x.len());
        let worst = self.worst(touched);
        if !(worst <= self.goal) {
            self.x[window].copy_from_slice(&before);
            return None;
        }
        let large = self.x_max * T::Real::from_f64(0.5);
        for (x, dx) in before.iter().zip(&dx) {
            // Changes that matter: those in the last digits do not.
            let change = Scalar::abs1(*dx) > large * T::Real::from_f64(1e-3);
            self.largest_changed |= change && Scalar::abs1(*x) > large;
        }
        Some(worst)
    }

    /// The rows and columns of `window`; `None` if some of them are neighbours round the corner of a periodic matrix.
    fn restricted(&self, window: &Range<usize>) -> Option<Banded<'static, T>> {
        let (n, half) = (window.len(), 2 * self.block - 1);
        let leading = 2 * half + 1;
        let (mut bands, mut inside) = (zeroed::<T>(n * leading).ok()?, true);
        for i in window.clone() {
            self.equations.visit_row(i, |j, a| {
                // A corner of the matrix couples its ends.
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
    fn a_spoiled_entry_is_mended_and_nothing_far_away_changes() {
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
            let equations = &a.equations(Op::Plain, Simd::detect());
            let mut repair = BlockRepair {
                equations,
                block,
                simd: Simd::detect(),
                rhs: &rhs,
                x: &mut y,
                x_max: 0.9,
                goal,
                largest_changed: false,
            };
            assert!(repair.worst(0..600) > goal);
            assert!(repair.mend(i / 3 * 3..i / 3 * 3 + 3).expect("a dominant window is solved") <= goal);
            assert!(repair.worst(0..600) <= goal);
            assert!((0..600usize).filter(|k| k.abs_diff(i) > 40 * block).all(|k| y[k] == x[k]));
        }
    }

    #[test]
    fn a_singular_window_is_given_up() {
        let (zeros, ones) = (vec![0.0; 40], vec![1.0; 20]);
        let a = BlockTridiagonal::new(2, &zeros, &zeros, &zeros).unwrap();
        let (equations, goal) = (&a.equations(Op::Plain, Simd::detect()), 1e-15);
        let mut x = ones.clone();
        let mut repair = BlockRepair {
            equations,
            block: 2,
            simd: Simd::detect(),
            rhs: &ones,
            x: &mut x,
            x_max: 1.0,
            goal,
            largest_changed: false,
        };
        assert_eq!(repair.mend(0..20), None);
    }
}
