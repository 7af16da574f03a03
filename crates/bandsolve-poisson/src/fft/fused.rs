//! The transform solver in two passes over memory instead of three.
//!
//! The first pass transforms each row and eliminates it immediately. The second pass substitutes into each row and transforms it back
//! immediately. Elimination starts at both ends, so that two threads work independently, one on each half.

use super::TransformSolver;
use super::{Room, RowJob};
use crate::chain::TridiagonalChain;
use crate::method::SolveRequest;
use crate::pieces::{AdjacentRows, RowPairs, two_rows};
use crate::residual::{RowCheck, RowsJob};
use crate::scalar::PoissonScalar;
use crate::separable::{ResidualMeasure, RightHandSide, RowWindow};
use bandsolve_kernel::threads::join;
use bandsolve_kernel::{Job, Lanes, dispatch};

/// Maximum size of a row in bytes. Such a row stays in cache, together with its neighbors and its factors.
const ROW: usize = 1 << 18;

impl<T: PoissonScalar> TransformSolver<T> {
    /// Whether the solver fuses the passes.
    ///
    /// The conditions are: no step lies between the passes, all factors are stored, at most two threads work, and a row fits into the cache.
    pub(super) fn is_fused(&self) -> bool {
        let [_, lines, n] = self.shape;
        let between = self.constant.is_some() || self.indefinite.words() > 0;
        !self.folded && !between && self.chain.is_stored() && self.pieces() <= 2 && lines * n * size_of::<T>() <= ROW
    }

    /// Compute u in two passes, and measure its residuals if `check` is given.
    pub(super) fn solve_fused(
        &self,
        request: &SolveRequest<'_, T>,
        check: Option<RowCheck<'_, T>>,
        x: &mut [T],
        scratch: &mut [T],
    ) -> ResidualMeasure {
        let row = self.shape[1] * self.shape[2];
        let half = x.len() / row / 2;
        self.each_lane(x, scratch, &|lane, part, scratch| {
            dispatch(self.simd, ReduceLane { solver: self, rhs: request.rhs, lane, part, scratch });
        });
        self.each_inner(x, request.rhs, scratch, false);
        dispatch(self.simd, MeetJob { chain: &self.chain, x: &mut *x, row, from: half / 2 * 2 });
        self.each_inner(x, None, scratch, true);
        let [top, bottom] = self.each_lane(x, scratch, &|lane, part, scratch| {
            dispatch(self.simd, SubstituteLane { solver: self, check, lane, part, scratch })
        });
        let Some(check) = check else { return ResidualMeasure::default() };
        top.join(bottom).join(self.measure_inner(check, x, scratch))
    }

    /// Measure the residuals of the middle rows, whose neighbors do not all lie in one half.
    fn measure_inner(&self, check: RowCheck<'_, T>, x: &[T], scratch: &mut [T]) -> ResidualMeasure {
        let rows = self.shape[0];
        let paired = rows / 2 / 2 * 2;
        let rows = paired.saturating_sub(1)..rows.min(rows - paired + 1);
        let scratch = &mut scratch[..2 * self.shape[2]];
        dispatch(self.simd, RowsJob { check, rows, window: RowWindow { u: x, first: 0 }, scratch })
    }

    /// Call `work` for both halves without the middle rows, on two threads if available.
    fn each_lane<R: Send>(
        &self,
        x: &mut [T],
        scratch: &mut [T],
        work: &(impl Fn(usize, AdjacentRows<'_, T>, &mut [T]) -> R + Sync),
    ) -> [R; 2] {
        let ([top, _, bottom], per) = (self.halves(x), self.rows.scratch());
        if self.pieces() == 1 {
            return [work(0, top, &mut scratch[..per]), work(1, bottom, &mut scratch[..per])];
        }
        let (one, two) = scratch.split_at_mut(per);
        join(|| work(0, top, one), || work(1, bottom, &mut two[..per])).into()
    }
}

/// Transforms the rows of one half and eliminates them, starting at the end of the axis.
struct ReduceLane<'a, 'x, T: PoissonScalar> {
    solver: &'a TransformSolver<T>,
    rhs: Option<&'a RightHandSide<'a, T>>,
    lane: usize,
    part: AdjacentRows<'x, T>,
    scratch: &'a mut [T],
}

impl<T: PoissonScalar> Job<T> for ReduceLane<'_, '_, T> {
    type Output = ();
    #[inline(always)]
    fn run<V: Lanes<Real = T::Real>>(self) {
        let ReduceLane { solver, rhs, lane, mut part, scratch } = self;
        let mut room = Room::new(scratch, solver.rows.words());
        let (count, width) = (part.pairs(), solver.rows.pairs_at_once());
        for first in (0..count).step_by(width) {
            let pairs = first..count.min(first + width);
            let (pairs_of, transforms, room) = (&mut part.pairwise(), &solver.rows, &mut room);
            let job = RowJob { transforms, rhs, inverse: false, part: pairs_of, pairs: pairs.clone(), room };
            dispatch(solver.simd, job);
            for step in 2 * pairs.start..2 * pairs.end {
                let (behind, row) = part.behind(step);
                solver.chain.reduce_row(lane, step, behind, row);
            }
        }
    }
}

/// Substitutes into the rows of one half, starting in the middle of the axis, transforms them back and measures the residuals.
struct SubstituteLane<'a, 'x, T: PoissonScalar> {
    solver: &'a TransformSolver<T>,
    check: Option<RowCheck<'a, T>>,
    lane: usize,
    part: AdjacentRows<'x, T>,
    scratch: &'a mut [T],
}

impl<T: PoissonScalar> Job<T> for SubstituteLane<'_, '_, T> {
    type Output = ResidualMeasure;
    #[inline(always)]
    fn run<V: Lanes<Real = T::Real>>(self) -> ResidualMeasure {
        let SubstituteLane { solver, check, lane, mut part, scratch } = self;
        let mut room = Room::new(scratch, solver.rows.words());
        let (count, width) = (part.pairs(), solver.rows.pairs_at_once());
        let mut all = ResidualMeasure::default();
        for first in (0..count).step_by(width).rev() {
            let pairs = first..count.min(first + width);
            // The last row of the pairs is already solved. The row before the first one must be solved now: its substitution needs the
            // coefficients of the first row, which the transform overwrites with u.
            for step in ((2 * pairs.start).saturating_sub(1)..2 * pairs.end - 1).rev() {
                let (ahead, row) = part.ahead(step);
                solver.chain.substitute_row(lane, step, ahead, row);
            }
            let (pairs_of, transforms, space) = (&mut part.pairwise(), &solver.rows, &mut room);
            let job =
                RowJob { transforms, rhs: None, inverse: true, part: pairs_of, pairs: pairs.clone(), room: space };
            dispatch(solver.simd, job);
            let Some(check) = check else { continue };
            // Measure the rows whose two neighbors are already u, or lie outside the box.
            let steps = 2 * pairs.start + usize::from(first > 0)..(2 * pairs.end + 1).min(2 * count - 1);
            let ((u, first), scratch) = (part.rows(), &mut *room.z);
            for step in steps {
                all = all.join(check.row::<V>(part.index(step), RowWindow { u, first }, scratch));
            }
        }
        all
    }
}

/// Eliminates the rows of both halves from step `from` on, solves the middle, and substitutes into these rows and the row before them.
struct MeetJob<'a, T: PoissonScalar> {
    chain: &'a TridiagonalChain<T>,
    x: &'a mut [T],
    row: usize,
    from: usize,
}

impl<T: PoissonScalar> Job<T> for MeetJob<'_, T> {
    type Output = ();
    #[inline(always)]
    fn run<V: Lanes<Real = T::Real>>(self) {
        let MeetJob { chain, x, row, from } = self;
        let rows = x.len() / row;
        let place = |lane: usize, step: usize| if lane == 0 { step } else { rows - 1 - step };
        for lane in 0..2 {
            for step in from..rows / 2 {
                let (behind, current) = match step {
                    0 => (None, &mut x[place(lane, 0) * row..][..row]),
                    _ => {
                        let (behind, current) = two_rows(x, row, (place(lane, step - 1), place(lane, step)));
                        (Some(behind), current)
                    }
                };
                chain.reduce_row(lane, step, behind, current);
            }
        }
        chain.meet_rows(x, row);
        for lane in 0..2 {
            for step in (from.saturating_sub(1)..rows / 2 - chain.given()).rev() {
                let (ahead, current) = two_rows(x, row, (place(lane, step + 1), place(lane, step)));
                chain.substitute_row(lane, step, ahead, current);
            }
        }
    }
}

impl<'a, T: PoissonScalar> TransformSolver<T> {
    /// The adjacent pairs of rows of the top half, the up to three rows in the middle, and the pairs of the bottom half.
    pub(super) fn halves(&self, x: &'a mut [T]) -> [AdjacentRows<'a, T>; 3] {
        let row = self.shape[1] * self.shape[2];
        let rows = x.len() / row;
        let paired = rows / 2 / 2 * 2;
        let (top, x) = x.split_at_mut(paired * row);
        let (inner, bottom) = x.split_at_mut((rows - 2 * paired) * row);
        [
            AdjacentRows::new(top, (row, 0), false),
            AdjacentRows::new(inner, (row, paired), false),
            AdjacentRows::new(bottom, (row, rows - paired), true),
        ]
    }

    /// Transform the middle rows. The outer two of three rows form a pair.
    pub(super) fn each_inner(&self, x: &mut [T], rhs: Option<&RightHandSide<'_, T>>, scratch: &mut [T], inverse: bool) {
        let [_, inner, _] = self.halves(x);
        if let Some(mirrored) = inner.mirrored(2) {
            self.each_piece((2, mirrored, scratch), &|part: RowPairs<'_, T>, scratch| {
                self.transform(rhs, inverse, part, scratch);
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::axis::{AxisOperator, AxisSpec};
    use crate::method::SeparableSolver;
    use crate::separable::{ResidualOperator, SeparableProblem, SideTerms, strides_of};
    use crate::verify::{Question, Verification};
    use bandsolve::dyn_stack::{PodBuffer, PodStack};

    /// Residuals with the shift increased by 1 are −u. u is largest in the row where f is large, so that each row determines the maximum once.
    #[test]
    fn fused_passes_measure_every_row() {
        let few = (1..14).map(|rows| [rows, 1, 40]).chain([[5, 1, 3], [7, 1, 1], [9, 4, 21], [70, 1, 5]]);
        for (shape, dense, threads) in few
            .flat_map(|shape| [(shape, false, 1), (shape, true, 1)])
            .chain([([130, 1, 127], false, 2), ([20, 30, 31], false, 2)])
        {
            let axes = shape.map(|n| AxisOperator::new(0, n, &AxisSpec::default()).unwrap());
            let [problem, other] = [50.0, 51.0].map(|shift| SeparableProblem { axes: axes.clone(), shift });
            let solver = TransformSolver::<f64>::new(&problem, dense, threads).unwrap();
            let operator = ResidualOperator::new(&other).unwrap();
            let row = shape[1] * shape[2];
            let mut memory = PodBuffer::new(solver.scratch());
            let mut lines = vec![f64::NAN; Verification::<f64>::words(shape)];
            for large in 0..shape[0] {
                let f: Vec<f64> =
                    (0..shape[0] * row).map(|k| if k / row == large { 1e3 } else { k as f64 / 1e6 }).collect();
                let sides = SideTerms::none();
                let (strides, sides) = (strides_of(shape), &sides);
                let rhs = RightHandSide { f: &f, strides, sides, shape, scale: 1.0, removed: 0.0 };
                let (request, mut u) = (SolveRequest { rhs: Some(&rhs), mean: 0.0 }, vec![f64::NAN; f.len()]);
                let stack = PodStack::new(&mut memory);
                let (_, measured) = solver.solve_measured(&request, &operator, &mut u, stack);
                let verification = Verification { operator: &operator, rhs, u: &u, threads, simd: solver.simd };
                let expected = verification.measure(Question::Bound, &mut lines);
                let measured = measured.expect("fused passes");
                assert_eq!((measured.ratio, measured.largest), (expected.ratio, expected.largest), "{shape:?} {large}");
                assert!(expected.largest > 10.0 && expected.ratio > 0.1);
            }
        }
    }
}
