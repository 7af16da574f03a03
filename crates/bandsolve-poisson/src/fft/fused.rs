//! Two passes instead of three: rows are eliminated as soon as they are transformed, and transformed back as soon as they are solved.
//!
//! Elimination runs from both ends, so that two threads work without waiting for each other: one on each half.

use super::TransformSolver;
use super::rows::{Room, RowJob};
use crate::chain::TridiagonalChain;
use crate::method::SolveRequest;
use crate::pieces::{AdjacentRows, RowPairs, two_rows};
use crate::scalar::PoissonScalar;
use crate::separable::RightHandSide;
use bandsolve_kernel::threads::join;
use bandsolve_kernel::{Job, Lanes, dispatch};
use num_complex::Complex;

/// Bytes of a row up to which it stays in cache with those beside it, and with its factors.
const ROW: usize = 1 << 18;

impl<T: PoissonScalar> TransformSolver<T> {
    /// Whether passes are fused: nothing has to be done between them, and no more threads work than there are halves.
    pub(super) fn is_fused(&self) -> bool {
        let [_, lines, n] = self.shape;
        let between = self.constant.is_some() || self.indefinite.words() > 0;
        !self.folded && !between && self.chain.is_stored() && self.pieces() <= 2 && lines * n * size_of::<T>() <= ROW
    }

    /// u, in two passes.
    pub(super) fn solve_fused(&self, request: &SolveRequest<'_, T>, x: &mut [T], scratch: &mut [Complex<T>]) {
        let row = self.shape[1] * self.shape[2];
        let all = x.len() / row;
        let half = all / 2;
        self.each_lane(x, scratch, &|lane, part, scratch| {
            dispatch(self.simd, LaneJob { solver: self, rhs: request.rhs, inverse: false, lane, part, scratch });
        });
        self.each_inner(x, request.rhs, scratch, false);
        dispatch(self.simd, MeetJob { chain: &self.chain, x: &mut *x, row, from: half / 2 * 2 });
        self.each_inner(x, None, scratch, true);
        self.each_lane(x, scratch, &|lane, part, scratch| {
            dispatch(self.simd, LaneJob { solver: self, rhs: None, inverse: true, lane, part, scratch });
        });
    }

    /// Calls `work` for both halves, less what is left in the middle, on two threads if there are.
    fn each_lane(
        &self,
        x: &mut [T],
        scratch: &mut [Complex<T>],
        work: &(impl Fn(usize, AdjacentRows<'_, T>, &mut [Complex<T>]) + Sync),
    ) {
        let ([top, _, bottom], per) = (self.halves(x), self.words().iter().sum());
        if self.pieces() == 1 {
            work(0, top, &mut scratch[..per]);
            work(1, bottom, &mut scratch[..per]);
            return;
        }
        let (one, two) = scratch.split_at_mut(per);
        join(|| work(0, top, one), || work(1, bottom, &mut two[..per]));
    }
}

/// One half of the rows.
struct LaneJob<'a, 'x, T: PoissonScalar> {
    solver: &'a TransformSolver<T>,
    rhs: Option<&'a RightHandSide<'a, T>>,
    inverse: bool,
    lane: usize,
    part: AdjacentRows<'x, T>,
    scratch: &'a mut [Complex<T>],
}

impl<T: PoissonScalar> Job<T> for LaneJob<'_, '_, T> {
    type Output = ();
    #[inline(always)]
    fn run<V: Lanes<Real = T::Real>>(self) {
        let LaneJob { solver, rhs, inverse, lane, mut part, scratch } = self;
        let mut room = Room::new(scratch, solver.words());
        let (count, together) = (part.pairs(), solver.together());
        let blocks = count.div_ceil(together);
        for k in 0..blocks {
            let block = if inverse { blocks - 1 - k } else { k };
            let pairs = block * together..count.min((block + 1) * together);
            if inverse {
                // The last one of these is solved for; the one before the first is, before this becomes u.
                for step in ((2 * pairs.start).saturating_sub(1)..2 * pairs.end - 1).rev() {
                    let (ahead, row) = part.ahead(step);
                    solver.chain.substitute_row(lane, step, ahead, row);
                }
                solver.backwards(&mut part.pairwise(), pairs, &mut room);
                continue;
            }
            solver.forwards((rhs, &mut part.pairwise()), pairs.clone(), &mut room);
            for step in 2 * pairs.start..2 * pairs.end {
                let (behind, row) = part.behind(step);
                solver.chain.reduce_row(lane, step, behind, row);
            }
        }
    }
}

/// The rows from step `from` of both halves on: eliminated, and solved for with the ones before.
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
                let (behind, own) = match step {
                    0 => (None, &mut x[place(lane, 0) * row..][..row]),
                    _ => {
                        let (behind, own) = two_rows(x, row, (place(lane, step - 1), place(lane, step)));
                        (Some(behind), own)
                    }
                };
                chain.reduce_row(lane, step, behind, own);
            }
        }
        chain.meet_rows(x, row);
        for lane in 0..2 {
            for step in (from.saturating_sub(1)..rows / 2 - chain.given()).rev() {
                let (ahead, own) = two_rows(x, row, (place(lane, step + 1), place(lane, step)));
                chain.substitute_row(lane, step, ahead, own);
            }
        }
    }
}

impl<'a, T: PoissonScalar> TransformSolver<T> {
    /// Pairs of rows next to each other of both halves, from the ends on; between them up to three rows.
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

    /// Transforms the rows between the halves: the outer two of three together.
    pub(super) fn each_inner(
        &self,
        x: &mut [T],
        rhs: Option<&RightHandSide<'_, T>>,
        scratch: &mut [Complex<T>],
        inverse: bool,
    ) {
        let [_, inner, _] = self.halves(x);
        if let Some(mirrored) = inner.mirrored(2) {
            self.each_piece((2, mirrored, scratch), &|part: RowPairs<'_, T>, scratch| {
                dispatch(self.simd, RowJob { solver: self, rhs, inverse, part, scratch });
            });
        }
    }
}
