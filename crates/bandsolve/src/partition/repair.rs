//! Local repair of x around nearly singular partitions.
//!
//! A nearly singular partition passes inaccurate equations to the coarse system. The rows at its ends then have larger residuals than all
//! other rows. The repair works in a window of rows around each bad row:
//!
//! 1. Compute the residual.
//! 2. Solve the equations of the window for a correction, by sequential elimination with scaled partial pivoting. Unknowns outside of the
//!    window do not change.
//! 3. Measure all rows that contain a changed unknown.
//!
//! If the repair fails, the whole system is refined.
//!
//! Cost: about 100 rows of sequential elimination for each bad row, nothing for good ones.

use crate::contract::factors::RhsAndSolution;
use crate::contract::refine::good;
use crate::partition::driver::{known_size, repair_bad};
use bandsolve_kernel::row_errors::Peak;
use bandsolve_kernel::rows::Rows;
use bandsolve_kernel::sweep::CheckResult;
use bandsolve_kernel::{Machine, RealScalar, Scalar, Simd};
use core::ops::Range;

/// Number of rows on each side of a bad row, in the first and the second attempt.
const WINDOW_REACH: [usize; 2] = [24, 100];
/// Number of rows of the largest window.
pub(crate) const LONGEST_WINDOW: usize = 2 * WINDOW_REACH[1] + 1;

/// The repair of the solution of one right-hand side.
pub(crate) struct Repair<'a, T: Scalar, W> {
    pub windows: W,
    pub rhs: &'a [T],
    pub x: &'a mut [T],
    /// Lower bound of ‖x‖∞, close to it.
    pub x_max: T::Real,
    /// The backward error to reach.
    pub goal: f64,
    /// Whether an unknown of about the size `x_max` has changed. If the largest is smaller now, all errors must be measured again.
    pub largest_changed: bool,
}

/// The rows of a matrix whose equations can be solved in windows.
pub(crate) trait Windows<T: Scalar>: Sized {
    /// Return d − A·x and Σ|a|·‖x‖∞ + |d| of row `i`.
    fn row(repair: &Repair<'_, T, Self>, i: usize) -> (T, T::Real);

    /// Repair the bad rows in `rows`. Returns their largest error, or `None` if it still exceeds the goal.
    fn repair_rows(repair: &mut Repair<'_, T, Self>, rows: Range<usize>) -> Option<f64>;
}

impl<T: Scalar, W: Windows<T>> Repair<'_, T, W> {
    /// The error |d − A·x| / (Σ|a|·‖x‖∞ + |d|) of row `i`; NaN if the denominator leaves the range of the type.
    pub fn error(&self, i: usize) -> f64 {
        let (residual, scale) = W::row(self, i);
        if !(scale <= T::Real::SAFE && scale * T::Real::SAFE >= T::Real::ONE) {
            return f64::NAN;
        }
        Scalar::abs(residual).to_f64() / scale.to_f64()
    }

    /// The largest error of `rows`; NaN if one of them is NaN.
    pub fn worst(&self, rows: Range<usize>) -> f64 {
        rows.fold(0.0, |worst: f64, i| worst.max_nan(self.error(i)))
    }

    /// Record the change of an unknown. Changes in the last digits are ignored.
    pub fn note(&mut self, x: T, dx: T) {
        let large = self.x_max * T::Real::from_f64(0.5);
        let change = Scalar::abs1(dx) > large * T::Real::from_f64(1e-3);
        self.largest_changed |= change && Scalar::abs1(x) > large;
    }
}

/// Accept x, or repair its bad partitions if they are few. `rows` returns the rows of a partition. Returns η and the number of refinement
/// steps, or `None` if the whole system must be refined.
pub(crate) fn repair_partitions<T: Scalar>(
    windows: impl Windows<T>,
    (rhs, x): RhsAndSolution<'_, T>,
    (check, gaps): (CheckResult, &[T::Real]),
    rows: impl Fn(usize) -> Range<usize>,
) -> Option<(f64, usize)> {
    let (x_max, goal) = (known_size(check), good::<T>());
    let mut repair = Repair { windows, rhs, x, x_max, goal, largest_changed: false };
    let repaired = repair_bad::<T>(check, gaps, |p| Windows::repair_rows(&mut repair, rows(p)))?;
    // All errors were measured relative to the largest x. If the repair has made it smaller, they are no longer known.
    (!repair.largest_changed || Peak { values: &*repair.x }.run_on(Simd::detect()) >= x_max).then_some(repaired)
}

impl<T: Scalar> Windows<T> for Rows<'_, T> {
    fn row(repair: &Repair<'_, T, Self>, i: usize) -> (T, T::Real) {
        let ((a, b, c), d) = (repair.windows.row(i), repair.rhs[i]);
        let scale = (Scalar::abs(a) + Scalar::abs(b) + Scalar::abs(c)) * repair.x_max + Scalar::abs(d);
        (d - repair.windows.dot(i, repair.x), scale)
    }

    fn repair_rows(repair: &mut Repair<'_, T, Self>, rows: Range<usize>) -> Option<f64> {
        let mut worst: f64 = 0.0;
        for i in rows {
            let mut error = repair.error(i);
            if !(error <= repair.goal) {
                // `correct` measures all rows of the window. This loop measures the later ones again.
                error = WINDOW_REACH.into_iter().find_map(|reach| repair.correct(i, reach))?;
            }
            worst = worst.max(error);
        }
        Some(worst)
    }
}

impl<T: Scalar> Repair<'_, T, Rows<'_, T>> {
    /// Correct x in the rows within `reach` of row `i`. Returns the largest error of all affected rows, if it reaches the goal.
    fn correct(&mut self, i: usize, reach: usize) -> Option<f64> {
        let n = self.windows.n();
        let window = i.saturating_sub(reach)..(i + reach + 1).min(n);
        let mut dx = [T::ZERO; LONGEST_WINDOW];
        let dx = &mut dx[..window.len()];
        for (dx, i) in dx.iter_mut().zip(window.clone()) {
            *dx = self.rhs[i] - self.windows.dot(i, self.x);
        }
        solve_window(&self.windows, window.clone(), dx);
        for (i, dx) in window.clone().zip(&*dx) {
            self.note(self.x[i], *dx);
            self.x[i] += *dx;
        }
        // The rows next to the window contain its unknowns, too. In a periodic matrix, they can be at the other end.
        let (before, _) = self.windows.neighbours(window.start);
        let (_, after) = self.windows.neighbours(window.end - 1);
        let worst = self.worst(window).max_nan(self.error(before)).max_nan(self.error(after));
        (worst <= self.goal).then_some(worst)
    }
}

/// Solve the equations of a window of rows for its unknowns, where all other unknowns are zero. The solution overwrites `rhs`.
///
/// Returns whether a pivot was close to zero, so that the system may be singular.
pub(crate) fn solve_window<T: Scalar>(rows: &Rows<'_, T>, window: Range<usize>, rhs: &mut [T]) -> bool {
    // Pivot rows: 1/pivot, computed before it is needed, and the coefficients of the next two unknowns.
    let mut pivots = [[T::ZERO; 3]; LONGEST_WINDOW];
    let len = window.len();
    let scaled = |k: usize| {
        let (a, b, c) = rows.row(window.start + k);
        let size = Scalar::abs1(a).max_nan(Scalar::abs1(b)).max_nan(Scalar::abs1(c));
        let scale = size.equilibrate();
        let (a, c) = (if k == 0 { T::ZERO } else { a }, if k + 1 == len { T::ZERO } else { c });
        ([a.scale(scale), b.scale(scale), c.scale(scale)], scale)
    };
    let ([_, mut near, mut next], scale) = scaled(0);
    let (mut carried, mut suspect) = (rhs[0].scale(scale), false);
    for k in 1..len {
        let ([a, b, c], scale) = scaled(k);
        let d = rhs[k].scale(scale);
        // As in the kernel: there is no pivot, or no equation remains.
        suspect |= is_nothing(near) && (is_nothing(a) || is_nothing(next));
        if Scalar::abs1(near) >= Scalar::abs1(a) {
            let ratio = if near == T::ZERO { T::ZERO } else { a / near };
            (pivots[k - 1], rhs[k - 1]) = ([T::ONE / near, next, T::ZERO], carried);
            (near, next, carried) = (b - ratio * next, c, d - ratio * carried);
        } else {
            let ratio = near / a;
            (pivots[k - 1], rhs[k - 1]) = ([T::ONE / a, b, c], d);
            (near, next, carried) = (next - ratio * b, -(ratio * c), carried - ratio * d);
        }
    }
    suspect |= is_nothing(near);
    (pivots[len - 1], rhs[len - 1]) = ([T::ONE / near, T::ZERO, T::ZERO], carried);
    for k in (0..len).rev() {
        let after = |j: usize| if k + j < len { rhs[k + j] } else { T::ZERO };
        let [recip, u1, u2] = pivots[k];
        rhs[k] = (rhs[k] - u2 * after(2) - u1 * after(1)) * recip;
    }
    suspect
}

/// Whether a coefficient of a row of size 1 may be zero up to rounding.
pub(crate) fn is_nothing<T: Scalar>(coefficient: T) -> bool {
    !(Scalar::abs1(coefficient) > T::Real::from_f64(T::Real::NO_PIVOT))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Tridiagonal;

    #[test]
    fn repair_of_one_entry_is_local() {
        let n = 1000;
        let wave = |i: usize, k: usize| ((i * k) as f64).sin();
        let (sub, diag, sup): (Vec<_>, Vec<_>, Vec<_>) =
            ((0..n).map(|i| wave(i, 3)).collect(), (0..n).map(|i| 2.5 + wave(i, 7)).collect(), vec![1.0; n]);
        let a = Tridiagonal::periodic(&sub, &diag, &sup).unwrap();
        let x: Vec<f64> = (0..n).map(|i| wave(i, 11)).collect();
        let rhs = a.apply(&x).unwrap();
        for i in [0, 1, 500, 998, 999] {
            let mut y = x.clone();
            y[i] += 1e-9;
            let goal = 8.0 * f64::EPSILON;
            let mut repair =
                Repair { windows: a.rows(), rhs: &rhs, x: &mut y, x_max: 0.9, goal, largest_changed: false };
            assert!(repair.worst(0..n) > goal);
            let worst = Windows::repair_rows(&mut repair, i.saturating_sub(1)..(i + 2).min(n))
                .expect("a dominant window is solved");
            assert!(worst <= goal);
            // The repair of row 0 or n−1 does not measure the row at the other end, which contains the same unknown.
            if (1..n - 1).contains(&i) {
                assert!(repair.worst(0..n) <= goal);
            }
            assert!((0..n).filter(|k| k.abs_diff(i) > LONGEST_WINDOW).all(|k| y[k] == x[k]));
        }
    }

    /// Errors are relative to the largest unknown. They stay known if a repair makes it larger.
    #[test]
    fn a_repair_may_change_the_largest_unknown() {
        let n = 1000;
        let a = Tridiagonal::from_vecs(vec![1.0; n - 1], vec![4.0; n], vec![1.0; n - 1], false).unwrap();
        // The largest unknown, the value before the repair, and whether the errors are known afterwards.
        for (right, wrong, known) in [(10.0, 0.9, true), (0.9, 10.0, false)] {
            let mut x: Vec<f64> = (0..n).map(|i| (i as f64).sin() * 0.5).collect();
            x[500] = right;
            let rhs = a.apply(&x).unwrap();
            x[500] = wrong;
            let x_max = if right > wrong { 1.0 } else { wrong };
            let check = CheckResult { bound: 0.1, x_max, rhs_max: 60.0, ..CheckResult::default() };
            let gaps: Vec<f64> =
                (0..n / 10).map(|p| if p == 49 || p == 50 { 0.1f64 } else { 1e-16 }.log_gap(1.0)).collect();
            let rows = |p: usize| 10 * p..10 * p + 10;
            let repaired = repair_partitions(a.rows(), (&rhs, &mut x), (check, &gaps), rows);
            assert!((x[500] - right).abs() < 1e-14 && repaired.is_some() == known, "{right}: {repaired:?}");
        }
    }

    #[test]
    fn a_singular_window_is_given_up() {
        let n = 50;
        let (off, diag) = (vec![0.0; n], vec![0.0; n]);
        let a = Tridiagonal::new(&off, &diag, &off).unwrap();
        let mut x = vec![1.0; n];
        let mut repair = Repair {
            windows: a.rows(),
            rhs: &vec![1.0; n],
            x: &mut x,
            x_max: 1.0,
            goal: 1e-15,
            largest_changed: false,
        };
        assert_eq!(Windows::repair_rows(&mut repair, 0..n), None);
    }
}
