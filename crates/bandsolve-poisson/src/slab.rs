//! A problem in slabs: what processes need that own consecutive planes (lines, where there are two axes) along the first axis.

use crate::axis::AxisOperator;
use crate::condition::Condition;
use crate::fft::{Room, RowJob, RowTransforms};
use crate::level::{MeanJob, compensated};
use crate::method::PoissonMethod;
use crate::pieces::{AdjacentRows, Mirrored, RowPairs};
use crate::report::{PoissonReport, Solved};
use crate::scalar::{PoissonScalar, real};
use crate::separable::{ResidualMeasure, ResidualOperator, RowWindow, SeparableProblem, SideTerms, peak};
use crate::transform::{ALIGNED, aligned};
use bandsolve::memory::{allocate, copied, reserved};
use bandsolve::{Error, Result, Simd};
use bandsolve_kernel::{Job, Lanes, dispatch};
use core::ops::Range;
use smallvec::SmallVec;
use std::sync::{Arc, Mutex, PoisonError};

/// Transforms along all axes but the first, and the tridiagonal systems along it.
pub struct SlabParts<T: PoissonScalar> {
    problem: SeparableProblem,
    sides: SideTerms<T>,
    given: SmallVec<[usize; 3]>,
    rows: RowTransforms<T>,
    constant: Option<SlabConstant>,
    condition: Condition,
    /// Scratch of transforms.
    room: Mutex<Vec<T>>,
    mean: f64,
    removable: f64,
}

impl<T: PoissonScalar> core::fmt::Debug for SlabParts<T> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "a box of {:?} unknowns in slabs", self.given)
    }
}

/// The constant of a singular problem: its place among the coefficients of a plane, what ones become there, and weights of planes.
#[derive(Debug, Clone)]
pub struct SlabConstant {
    /// Its place.
    pub mode: usize,
    /// What ones become.
    pub of_ones: f64,
    /// Volumes of all planes, with the sum 1.
    pub weights: Arc<Vec<f64>>,
}

impl<T: PoissonScalar> SlabParts<T> {
    /// Of a problem whose axes stand as they are given; `free`: the mean of u, and how much may be removed from f.
    pub(crate) fn new(
        problem: SeparableProblem,
        sides: SideTerms<T>,
        given: &[usize],
        (mean, removable): (f64, f64),
    ) -> Result<Self> {
        // Pairs of planes are neighbours also where the first axis is a ring.
        let rows = RowTransforms { folded: false, ..RowTransforms::new(&problem, false)? };
        let condition = Condition::of(&problem)?;
        if condition.is_hopeless::<T>() {
            return Err(Error::NotConverged { backward_error: f64::NAN, refinement_steps: 0 });
        }
        let constant = constant(&problem, &rows)?;
        let room = Mutex::new(allocate(rows.scratch() + ALIGNED, T::ZERO)?);
        Ok(Self { problem, sides, given: given.into(), rows, constant, condition, room, mean, removable })
    }

    /// Planes, lines of a plane, unknowns of a line.
    pub fn shape(&self) -> [usize; 3] {
        self.problem.shape()
    }

    /// Unknowns of a plane.
    pub fn plane(&self) -> usize {
        self.shape()[1] * self.shape()[2]
    }

    /// Whether the first axis is periodic.
    pub fn is_periodic(&self) -> bool {
        self.problem.axes[0].periodic
    }

    /// The mean of u where it is free, and the part of f that may be removed then.
    pub fn free(&self) -> (f64, f64) {
        (self.mean, self.removable)
    }

    /// The constant, if it solves the problem with f = 0.
    pub fn constant(&self) -> Option<SlabConstant> {
        self.constant.clone()
    }

    /// sub, diag and sup of the tridiagonal systems along the first axis: rows `planes`, one system for every coefficient, row by row.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn systems(&self, planes: Range<usize>) -> Result<[Vec<T>; 3]> {
        let (first, lambda) = (&self.problem.axes[0], self.rows.eigenvalues(&self.problem)?);
        let row = |of: &dyn Fn(usize, f64) -> f64| {
            let mut row = reserved(planes.len().saturating_mul(lambda.len()))?;
            planes.clone().for_each(|i| row.extend(lambda.iter().map(|lambda| real::<T>(of(i, *lambda)))));
            Ok(row)
        };
        Ok([
            row(&|i, _| -first.lower[i])?,
            row(&|i, lambda| first.lower[i] + first.upper[i] + (first.gap[i] + lambda))?,
            row(&|i, _| -first.upper[i])?,
        ])
    }

    /// Coefficients of planes in their place, or, `inverse`, planes from coefficients.
    pub fn transform(&self, planes: &mut [T], inverse: bool) {
        let (plane, transforms) = (self.plane(), &self.rows);
        let mut room = self.room.lock().unwrap_or_else(PoisonError::into_inner);
        let mut room = Room::new(aligned(&mut room), transforms.words());
        let count = planes.len() / plane.max(1);
        let (paired, last) = planes.split_at_mut(count / 2 * 2 * plane);
        let single = (!last.is_empty()).then(|| RowPairs::Mirrored(Mirrored::single(last, plane)));
        let pairs = RowPairs::Adjacent(AdjacentRows::new(paired, (plane, 0), false));
        for mut part in [Some(pairs), single].into_iter().flatten() {
            let (pairs, part, room) = (0..part.pairs(), &mut part, &mut room);
            dispatch(transforms.simd, RowJob { transforms, rhs: None, inverse, part, pairs, room });
        }
    }

    /// Adds what boundary values contribute to the right-hand side of planes from `first` on.
    pub fn add_sides(&self, f: &mut [T], first: usize) {
        let [_, lines, n] = self.shape();
        if self.sides.are_none() {
            return;
        }
        for (line, f) in f.chunks_exact_mut(n).enumerate() {
            self.sides.add_to(f, (first + line / lines, line % lines), self.shape(), T::ONE);
        }
    }

    /// Residuals of rows `planes`.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn residual(&self, planes: Range<usize>) -> Result<SlabResidual<T>> {
        let [first, middle, last] = &self.problem.axes;
        // Planes of others before and behind, in whose rows nothing stands.
        let between = |values: &[f64]| {
            let mut own = reserved(planes.len().saturating_add(2))?;
            own.push(0.0);
            own.extend_from_slice(&values[planes.clone()]);
            own.push(0.0);
            Ok(own)
        };
        let first = AxisOperator {
            lower: between(&first.lower)?,
            upper: between(&first.upper)?,
            gap: between(&first.gap)?,
            volume: between(&first.volume)?,
            periodic: false,
            uniform: None,
            inflow: [0.0; 2],
        };
        let axes = [first, middle.copied()?, last.copied()?];
        let operator = ResidualOperator::new(&SeparableProblem { axes, shift: self.problem.shift })?;
        Ok(SlabResidual { operator })
    }

    /// The largest that boundary values contribute to a number of the right-hand side, added up over the sides.
    pub fn largest_of_sides(&self) -> f64 {
        self.sides.largest()
    }

    /// What measures the mean of u from planes `planes`, where the mean is free.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn mean(&self, planes: Range<usize>) -> Result<Option<SlabMean>> {
        let Some([first, middle, last]) = self.problem.weights()? else { return Ok(None) };
        Ok(Some(SlabMean { weights: [copied(&first[planes])?, middle, last] }))
    }

    /// What is said of right-hand sides that were solved.
    pub fn report(&self, solved: &[Solved]) -> PoissonReport {
        let mut report = PoissonReport {
            method: PoissonMethod::Fft,
            reason: "slabs: transforms along whole axes, tridiagonal systems along the distributed one".into(),
            shape: self.given.clone(),
            backward_error: 0.0,
            backward_errors: SmallVec::new(),
            refinement_steps: 0,
            subproblems: self.plane(),
            removed: 0.0,
            mean: self.problem.is_singular().then_some(self.mean),
            rcond: self.condition.rcond,
            attention: None,
        };
        solved.iter().for_each(|solved| report.take(*solved));
        report.finished::<T>(&self.condition)
    }
}

/// The constant, if it solves the problem with f = 0.
fn constant<T: PoissonScalar>(problem: &SeparableProblem, rows: &RowTransforms<T>) -> Result<Option<SlabConstant>> {
    let Some([weights, ..]) = problem.weights()? else { return Ok(None) };
    let Some(((line, a), (place, b))) = rows.middle.constant()?.zip(rows.last.constant()?) else { return Ok(None) };
    Ok(Some(SlabConstant { mode: line * rows.shape[2] + place, of_ones: a * b, weights: Arc::new(weights) }))
}

/// The part of a slab in the mean of u.
#[derive(Debug)]
pub struct SlabMean {
    /// Volumes of own planes, of lines and of unknowns of a line, as parts of those of the whole box.
    weights: [Vec<f64>; 3],
}

impl SlabMean {
    /// What own planes of u add to the means of u and of |u|.
    pub fn part<T: PoissonScalar>(&self, u: &[T]) -> [f64; 2] {
        dispatch(Simd::detect(), MeanJob { weights: &self.weights, rows: 0..self.weights[0].len(), u })
    }

    /// The means, from the parts of all slabs.
    pub fn joined(parts: &[f64]) -> [f64; 2] {
        [0, 1].map(|k| compensated(parts.iter().copied().skip(k).step_by(2)))
    }
}

/// Residuals of the planes of a slab.
pub struct SlabResidual<T> {
    operator: ResidualOperator<T>,
}

impl<T: PoissonScalar> core::fmt::Debug for SlabResidual<T> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "residuals of {:?} planes, lines and unknowns", self.operator.shape)
    }
}

impl<T: PoissonScalar> SlabResidual<T> {
    /// r = f − Au of own planes; `u` has one plane more on either side. Returns max |r_i| / Σ_j |a_ij| and max |u_i|; with `largest`, which
    /// is max |u_i| of all slabs, the backward error in the place of the first.
    pub fn of(&self, f: &[T], u: &[T], r: &mut [T], largest: Option<f64>) -> [f64; 2] {
        let found = dispatch(Simd::detect(), SlabResidualJob { operator: &self.operator, f, u, r, largest });
        [found.ratio, found.largest]
    }
}

/// The largest modulus.
pub fn largest_modulus<T: PoissonScalar>(x: &[T]) -> f64 {
    peak(x).to_f64()
}

struct SlabResidualJob<'a, T> {
    operator: &'a ResidualOperator<T>,
    f: &'a [T],
    u: &'a [T],
    r: &'a mut [T],
    largest: Option<f64>,
}

impl<T: PoissonScalar> Job<T> for SlabResidualJob<'_, T> {
    type Output = ResidualMeasure;
    #[inline(always)]
    fn run<V: Lanes<Real = T::Real>>(self) -> ResidualMeasure {
        let [_, lines, n] = self.operator.shape;
        let mut all = ResidualMeasure::default();
        for (line, (f, r)) in self.f.chunks_exact(n).zip(self.r.chunks_exact_mut(n)).enumerate() {
            let at = (1 + line / lines, line % lines);
            r.copy_from_slice(f);
            self.operator.line(at, RowWindow { u: self.u, first: 0 }, r);
            let own = &self.u[(lines + line) * n..][..n];
            all = all.join(match self.largest {
                Some(largest) => ResidualMeasure { ratio: self.operator.exact(at, (r, f), largest), largest },
                None => self.operator.measure(at, own, r),
            });
        }
        all
    }
}
