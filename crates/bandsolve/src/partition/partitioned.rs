//! One large tridiagonal system by partitions, on SIMD lanes and threads: what RPTS and the SPIKE methods share.
//!
//! The rows are cut into partitions of m rows. `reduce` eliminates the inside of each from both ends until two equations
//! between first and last unknowns of neighbouring partitions are left; these are again a tridiagonal system, 2/m as large,
//! solved the same way (or, where partitions hardly feel each other, cut into systems of two); `substitute` repeats the
//! elimination, now with known ends, and substitutes back, forming the residual of every row on the way. Nothing of the
//! elimination is stored between the two: reading the matrix a second time costs less than reading factors would.
//!
//! The methods differ in a [`Scheme`]: what eliminates inside a partition in `substitute`, and how the coarse system is
//! solved. `reduce` is the same for all: it divides nothing and chooses no pivots, because any choice gives the same
//! equation up to a factor.
//!
//! Per row and right-hand side: reads 4 + 4 words, writes 1; 1 reciprocal.
//!
//! Beyond the sources: rows are scaled with powers of two as they are staged; spikes cannot decay into subnormal numbers;
//! small coarse systems are solved row by row, periodic ones recursively down to 2×2. SPIKE keeps the last unknown of a
//! partition and the first of the next as interface, not spikes in terms of them: equations stay valid where a partition is
//! singular, and there is nothing to normalise.

use crate::contract::determinant::Determinant;
use crate::contract::inspect::{Probe, whatever_comes};
use crate::contract::sparse::SparseSolver;
use crate::contract::verify::{Equations, Facts, Lazy, Report, good};
use crate::contract::{Factor, Op, verify};
use crate::decision::{Decision, Options};
use crate::error::{Failures, Result, check_len};
use crate::matrix::{Shape, Tridiagonal};
use crate::memory::collected;
use crate::method::Method;
use crate::partition::cut::{ALIGN, columns, columns_mut};
pub(crate) use crate::partition::level::{Scheme, Truncation};
use crate::partition::level::{Settings, level_scratch, solve_level};
use crate::partition::repair::Repair;
use crate::partition::sparse_sweep::SparseSweep;
use crate::pivoted::{PivotedTridiagonal, pivoted_fallback};
use crate::tuning;
use bandsolve_kernel::rows::Rows;
use bandsolve_kernel::sweep::Found;
use bandsolve_kernel::tile::Scaling;
use bandsolve_kernel::{RealScalar, Scalar, run};
use dyn_stack::{PodStack, StackReq};
use std::sync::Arc;

/// A tridiagonal matrix ready to be solved by partitions. Holds no factors: they are recomputed in cache.
#[derive(Debug)]
pub struct Partitioned<'m, T: Scalar> {
    a: Tridiagonal<'m, T>,
    decision: Decision,
    scheme: Scheme,
    /// The reason given where the coarse system was truncated.
    truncated: Arc<str>,
    fallback: Lazy<PivotedTridiagonal<'m, T>>,
}

/// Scratch of solves of `n` rows.
pub(crate) fn scratch<T: Scalar>(options: &Options, scheme: Scheme, n: usize, n_rhs: usize) -> StackReq {
    let settings = Settings::new::<T>(options, scheme);
    if n < 2 {
        return StackReq::empty();
    }
    let together = settings.together::<T>(n_rhs);
    // The columns that are left over are solved one by one, with tiles of another size.
    let memory = settings.tile_memory::<T>(n, together).max(settings.tile_memory::<T>(n, 1));
    StackReq::new_aligned::<T::Real>(memory, ALIGN)
        .and(StackReq::new::<T::Real>(settings.cut(n).partitions().saturating_mul(together)))
        .and(level_scratch::<T>(&settings, n, together))
}

impl<'m, T: Scalar> Partitioned<'m, T> {
    /// Takes `a`; reads no numbers.
    pub(crate) fn new(decision: &Decision, scheme: Scheme, a: Tridiagonal<'m, T>) -> Self {
        let page = Method::SpikeTruncated.page();
        let truncated = format!("spikes decay below rounding inside partitions ({page})").into();
        Self { a, decision: decision.clone(), scheme, truncated, fallback: Lazy::new() }
    }

    /// The sequential pivoted method.
    pub(crate) fn fallback(&self) -> Result<&dyn Probe<T>> {
        pivoted_fallback(&self.fallback, &self.decision, &self.a)
    }

    fn settings(&self) -> Settings<'_> {
        Settings::new::<T>(&self.decision.options, self.scheme)
    }

    /// Solves for a few columns together, which begin at `offset` of the caller's array, and repairs those that are not good
    /// enough.
    fn solve_columns(
        &self,
        op: Op,
        (rhs, n_rhs, offset): (&[T], usize, usize),
        x: &mut [T],
        (outcome, failures): (&mut Report, &mut Failures),
        stack: &mut PodStack,
    ) {
        let settings = self.settings();
        let (n, rows) = (self.a.n(), op.rows(&self.a));
        let (memory, stack) = stack.make_aligned_raw::<T::Real>(settings.tile_memory::<T>(n, n_rhs), ALIGN);
        let partitions = if self.decision.options.verify { settings.cut(n).partitions() } else { 0 };
        let (gaps, stack) = stack.make_raw::<T::Real>(n_rhs * partitions);
        let (rhs_columns, x_columns) = (columns(rhs, n_rhs), columns_mut(x, n_rhs));
        let work = (&mut *memory, &mut *stack);
        let own = columns_mut(gaps, n_rhs);
        let (found, truncated) = solve_level(&settings, n_rhs, rows, Some(rhs_columns), x_columns, own, work);
        if truncated && self.decision.is_auto() {
            outcome.method = Method::SpikeTruncated;
            outcome.reason = self.truncated.clone();
        }
        if partitions == 0 {
            // Without verification, too, a zero pivot is an error.
            let mut again = || verify::solve_again(self.fallback()?, op, rhs, x, outcome);
            if found[0].suspect
                && let Err(error) = again()
            {
                failures.note(offset / n, error);
            }
            return;
        }
        for (r, found) in found.into_iter().enumerate().take(n_rhs) {
            let column = r * n..(r + 1) * n;
            let (rhs, x) = (&rhs[column.clone()], &mut x[column]);
            let gaps = &gaps[r * partitions..(r + 1) * partitions];
            let work = (&mut *memory, &mut *stack);
            if let Err(error) = self.settle(op, (rhs, offset + r * n), x, (found, gaps), outcome, work) {
                failures.note(offset / n + r, error);
            }
        }
    }

    /// The matrix as rows.
    pub(crate) fn rows(&self, op: Op) -> Rows<'_, T> {
        op.rows(&self.a)
    }

    pub(crate) fn decision(&self) -> &Decision {
        &self.decision
    }

    pub(crate) fn verifies(&self) -> bool {
        self.decision.options.verify
    }

    /// Accepts x, which begins at `offset` of the caller's array, or repairs it; its error goes to `outcome`.
    pub(crate) fn settle(
        &self,
        op: Op,
        (rhs, offset): (&[T], usize),
        x: &mut [T],
        (found, gaps): (Found, &[T::Real]),
        outcome: &mut Report,
        work: (&mut [T::Real], &mut PodStack),
    ) -> Result<Changed> {
        let (settings, rows) = (self.settings(), self.rows(op));
        let (mut changed, mut error) = (Changed::Everywhere, f64::NAN);
        if !found.suspect && (!found.looks_singular::<T::Real>() || is_zero(rhs, x)) {
            let mended = mend(&settings, rows, (rhs, &mut *x), found, gaps);
            let where_mended = if mended.is_some() { Changed::Windows } else { Changed::Everywhere };
            let steps;
            (error, steps) = mended.unwrap_or_else(|| refine(&settings, rows, rhs, x, work));
            changed = if steps == 0 { Changed::Nowhere } else { where_mended };
            outcome.refinement_steps = outcome.refinement_steps.max(steps);
        }
        if !(error <= good::<T>()) {
            error = verify::fall_back(self.fallback()?, op, (rhs, offset), x, outcome)?;
            changed = Changed::Everywhere;
        }
        outcome.push(error);
        Ok(changed)
    }
}

/// Where a repair has changed x.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Changed {
    Nowhere,
    /// In windows around rows that are not zero.
    Windows,
    Everywhere,
}

/// A zero right-hand side with the zero solution, which needs no further look (but is no proof of regularity).
pub(crate) fn is_zero<T: Scalar>(rhs: &[T], x: &[T]) -> bool {
    rhs.iter().chain(x).all(|v| *v == T::ZERO)
}

/// Accepts x if all is good, else mends the partitions that are not, if they are few. Returns the error and the refinement
/// steps (1 if something was mended), `None` if the whole system has to be refined.
fn mend<T: Scalar>(
    settings: &Settings,
    rows: Rows<'_, T>,
    (rhs, x): (&[T], &mut [T]),
    found: Found,
    gaps: &[T::Real],
) -> Option<(f64, usize)> {
    let cut = settings.cut(rows.n());
    // A little less, because mending may change the largest x.
    let (goal, x_max) = (good::<T>(), T::Real::from_f64(found.x_max * 0.999));
    let mut repair = Repair { rows, rhs, x, x_max, goal, largest_changed: false };
    let mended = mend_bad::<T>(found, gaps, |p| repair.mend(cut.start(p)..cut.end(p)))?;
    // Errors were measured against the largest x there was. If that was among the mended, nothing is known yet.
    (!repair.largest_changed).then_some(mended)
}

/// Accepts x if all is good, else lets `mend` mend the partitions that are not, if they are few. Returns the error and the
/// refinement steps (1 if something was mended).
pub(crate) fn mend_bad<T: Scalar>(
    found: Found,
    gaps: &[T::Real],
    mut mend: impl FnMut(usize) -> Option<f64>,
) -> Option<(f64, usize)> {
    let goal = good::<T>();
    if found.bound <= goal {
        return Some((found.bound, 0));
    }
    let bad = gaps.iter().filter(|gap| run::bound::<T>(**gap) > goal).count();
    if !found.bound.is_finite() || bad > gaps.len() / tuning::MEND_ONE_OF + 1 {
        return None;
    }
    let mut worst: f64 = 0.0;
    for (p, gap) in gaps.iter().enumerate() {
        let own = run::bound::<T>(*gap);
        worst = worst.max(if own <= goal { own } else { mend(p)? });
    }
    Some((worst, 1))
}

/// Corrects x until its backward error is good. Returns the error and the steps. The residual takes memory of its own: this
/// is rare.
fn refine<T: Scalar>(
    settings: &Settings,
    rows: Rows<'_, T>,
    rhs: &[T],
    x: &mut [T],
    (memory, stack): (&mut [T::Real], &mut PodStack),
) -> (f64, usize) {
    let parallel = settings.threads_for(rows.n()) > 1;
    let mut error = verify::backward_error(rows, (rhs, x), parallel);
    let mut step = 0;
    while error > good::<T>() && step < verify::MAX_REFINEMENTS {
        // Without memory for it the fallback is asked, which says so if there is none for it either.
        let residual = collected(rhs.iter().enumerate().map(|(i, d)| *d - rows.dot(i, x)));
        let Ok(mut residual) = residual else { break };
        let work = (&mut *memory, &mut *stack);
        solve_level(settings, 1, rows, None, columns_mut(&mut residual, 1), Default::default(), work);
        x.iter_mut().zip(residual).for_each(|(x, dx)| *x += dx);
        error = verify::backward_error(rows, (rhs, x), parallel);
        step += 1;
    }
    (error, step)
}

impl<T: Scalar> Probe<T> for Partitioned<'_, T> {
    fn visit_row(&self, op: Op, i: usize, visit: &mut dyn FnMut(usize, T)) {
        op.rows(&self.a).visit_row(i, visit);
    }

    fn check_finite(&self) -> Result<()> {
        self.a.check_finite()
    }

    fn solve_roughly(&self, op: Op, x: &mut [T], stack: &mut PodStack) -> Result<()> {
        whatever_comes(self.solve_in_place_with(op, x, stack))
    }

    fn known_determinant(&self) -> Result<Determinant<T>> {
        self.fallback()?.known_determinant()
    }

    fn scales_rows(&self) -> bool {
        self.settings().how::<T::Real>().scaling == Scaling::Rows
    }

    fn sequential(&self) -> Option<Result<&dyn Probe<T>>> {
        Some(self.fallback())
    }

    fn sparse_solver(&self, op: Op) -> Result<Option<Box<dyn SparseSolver<T> + '_>>> {
        if self.a.n() < 2 || self.scheme.truncation == Truncation::Always {
            return Ok(None);
        }
        let scheme = Scheme { truncation: Truncation::Never, ..self.scheme };
        Ok(Some(Box::new(SparseSweep::new(self, op, Settings::new::<T>(&self.decision.options, scheme))?)))
    }
}

impl<T: Scalar> Factor<T> for Partitioned<'_, T> {
    fn shape(&self) -> Shape {
        self.a.shape()
    }

    fn solve_scratch(&self, n_rhs: usize) -> StackReq {
        scratch::<T>(&self.decision.options, self.scheme, self.a.n(), n_rhs)
    }

    fn solve_into_with(&self, op: Op, rhs: &[T], x: &mut [T], stack: &mut PodStack) -> Result<Report> {
        let n_rhs = self.shape().n_rhs("rhs", rhs.len())?;
        check_len("x", rhs.len(), x.len())?;
        verify::check_scratch(self.solve_scratch(n_rhs), stack)?;
        let n = self.a.n();
        let mut outcome = Report::new(&self.decision).with_room(n_rhs)?;
        if n == 1 {
            return verify::solve_tiny(self.fallback()?, &Facts::new(&self.decision), op, rhs, x);
        }
        let (mut done, settings, mut failures) = (0, self.settings(), Failures::default());
        while n > 1 && done < rhs.len() {
            let together = settings.together::<T>((rhs.len() - done) / n);
            let span = done..done + together * n;
            let own = (&rhs[span.clone()], together, done);
            self.solve_columns(op, own, &mut x[span], (&mut outcome, &mut failures), stack);
            done += together * n;
        }
        failures.unless(outcome, n_rhs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Plan;

    /// Neither chain nor row holds the unknown that is to be eliminated: all inner blocks of odd size are singular.
    #[test]
    fn decoupled_pairs_need_no_fallback() {
        let n = 2048;
        let off = |first: usize| (0..n - 1).map(|i| f64::from(u8::from(i % 2 == first))).collect::<Vec<_>>();
        for first in [0, 1] {
            let mut diag = vec![0.0; n];
            if first == 1 {
                (diag[0], diag[n - 1]) = (1.0, 1.0);
            }
            let a = Tridiagonal::from_vecs(off(first), diag, off(first), false).unwrap();
            let rhs: Vec<f64> = (0..n).map(|i| (i as f64).cos()).collect();
            let plan = Plan::new(a.shape()).method(crate::Method::Rpts);
            let x = plan.factor(&a).unwrap().solve(&rhs).unwrap();
            assert!(!x.report.fallback && x.report.backward_error <= good::<f64>(), "{:?}", x.report);
        }
    }

    /// Spikes that never decay, zero pivots at every level: equations must not become smaller from level to level.
    #[test]
    fn four_levels_deep_in_single_precision() {
        let n = 1 << 19;
        let (mut diag, mut sub, mut sup) = (vec![0.0f32; n], vec![1.0; n], vec![1.0; n]);
        (diag[0], sup[0], diag[n - 1], sub[n - 1]) = (1.0, 0.0, 1.0, 0.0);
        let a = Tridiagonal::new(&sub, &diag, &sup).unwrap();
        let rhs: Vec<f32> = (0..n).map(|i| (i as f32).cos()).collect();
        for m in [16, 30, 32] {
            let plan = Plan::new(a.shape()).method(crate::Method::Rpts).partition_rows(m);
            let report = plan.factor(&a).unwrap().solve(&rhs).unwrap().report;
            assert!(!report.fallback && report.refinement_steps == 0, "m = {m}: {report:?}");
        }
    }

    /// A plan that is free to choose truncates strongly dominant systems, and only those; so does no plan that is not.
    #[test]
    fn truncation_where_it_is_safe() {
        let n = 20_003;
        for (diag, periodic, expected) in [
            (4.0, false, Method::SpikeTruncated),
            (4.0, true, Method::SpikeTruncated),
            (2.05, false, Method::Rpts),
            (2.0, false, Method::Rpts),
        ] {
            let a = Tridiagonal::from_vecs(vec![-1.0; n], vec![diag; n], vec![-1.0; n], periodic).unwrap();
            let rhs: Vec<f64> = (0..n).map(|i| (i as f64).cos()).collect();
            for rhs in [rhs.clone(), rhs.repeat(4)] {
                let report = a.solve(&rhs).unwrap().report;
                assert!(report.method == expected && report.refinement_steps == 0 && !report.fallback, "{report:?}");
                let plan = Plan::new(a.shape()).method(Method::Rpts);
                assert_eq!(plan.factor(&a).unwrap().solve(&rhs).unwrap().report.method, Method::Rpts);
            }
        }
    }

    #[test]
    fn extra_memory_stays_below_twelve_percent() {
        for n in [1 << 18, 1_000_003] {
            let a = Tridiagonal::from_vecs(vec![0.0; n], vec![1.0; n], vec![0.0; n], false).unwrap();
            let plan = Plan::new(a.shape()).method(crate::Method::Rpts).threads(2);
            let system = 4 * n * size_of::<f64>();
            assert!(
                Partitioned::new(&plan.decision, crate::methods::rpts::scheme(&plan.decision), a.view())
                    .solve_scratch(1)
                    .size_bytes()
                    * 100
                    < 12 * system
            );
        }
    }
}
