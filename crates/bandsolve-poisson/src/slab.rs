//! The parts of a distributed solver. Each process owns a slab: consecutive planes along the first axis, or lines if there are two axes.

use crate::axis::AxisOperator;
use crate::fft::{Room, RowJob, RowTransforms};
use crate::level::{MeanJob, compensated};
use crate::parts::BoxParts;
use crate::pieces::{AdjacentRows, Mirrored, RowPairs};
use crate::report::{PoissonReport, Solved};
use crate::scalar::{PoissonScalar, real};
use crate::separable::{ResidualMeasure, ResidualOperator, RowWindow, SeparableProblem, peak};
use crate::transform::{ALIGNED, aligned};
use bandsolve::memory::{allocate, copied, reserved};
use bandsolve::{Result, Simd};
use bandsolve_kernel::{Job, Lanes, dispatch};
use core::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

/// Transforms along all axes except the first, and the tridiagonal systems along the first axis.
pub struct SlabParts<T: PoissonScalar> {
    parts: BoxParts<T>,
    rows: RowTransforms<T>,
    constant: Option<SlabConstant>,
    /// Scratch memory of the transforms.
    room: Mutex<Vec<T>>,
}

impl<T: PoissonScalar> core::fmt::Debug for SlabParts<T> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{:?} in slabs", self.parts)
    }
}

/// The constant of a singular problem.
#[derive(Debug, Clone)]
pub struct SlabConstant {
    /// The index of the coefficient of the constant in a plane.
    pub mode: usize,
    /// The value of this coefficient for u = 1.
    pub of_ones: f64,
    /// The volumes of all planes, with sum 1.
    pub weights: Arc<Vec<f64>>,
}

impl<T: PoissonScalar> SlabParts<T> {
    /// The parts of a problem in slabs.
    pub(crate) fn new(parts: BoxParts<T>) -> Result<Self> {
        // Planes are paired with their neighbors, also if the first axis is periodic: a slab has no mirrored planes.
        let rows = RowTransforms { folded: false, ..RowTransforms::new(&parts.problem, false)? };
        let constant = constant(&parts.problem, &rows)?;
        let room = Mutex::new(allocate(rows.scratch() + ALIGNED, T::ZERO)?);
        Ok(Self { parts, rows, constant, room })
    }

    /// The numbers of planes, of lines per plane, and of unknowns per line.
    pub fn shape(&self) -> [usize; 3] {
        self.parts.problem.shape()
    }

    /// The number of unknowns of a plane.
    pub fn plane(&self) -> usize {
        self.shape()[1] * self.shape()[2]
    }

    /// Whether the first axis is periodic.
    pub fn is_periodic(&self) -> bool {
        self.parts.problem.axes[0].periodic
    }

    /// The mean of u and the limit of the removed constant, for singular problems.
    pub fn free(&self) -> (f64, f64) {
        (self.parts.mean, self.parts.removable)
    }

    /// The constant, if the problem is singular.
    pub fn constant(&self) -> Option<SlabConstant> {
        self.constant.clone()
    }

    /// The diagonals sub, diag and sup of the tridiagonal systems along the first axis, for rows `planes`.
    ///
    /// Each coefficient of a plane has one system. Each array has one row per plane.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn systems(&self, planes: Range<usize>) -> Result<[Vec<T>; 3]> {
        let (first, lambda) = (&self.parts.problem.axes[0], self.rows.eigenvalues(&self.parts.problem)?);
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

    /// Replaces planes by their coefficients. `inverse`: replaces coefficients by planes.
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

    /// Adds the boundary terms to the right-hand side of the planes from `first` on.
    pub fn add_sides(&self, f: &mut [T], first: usize) {
        let [_, lines, n] = self.shape();
        if self.parts.sides.are_none() {
            return;
        }
        for (line, f) in f.chunks_exact_mut(n).enumerate() {
            self.parts.sides.add_to(f, (first + line / lines, line % lines), self.shape(), T::ONE);
        }
    }

    /// The residuals of `planes`.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn residual(&self, planes: Range<usize>) -> Result<SlabResidual<T>> {
        let [first, middle, last] = &self.parts.problem.axes;
        // The neighboring planes of other processes, with rows of zeros.
        let between = |values: &[f64]| {
            let mut padded = reserved(planes.len().saturating_add(2))?;
            padded.push(0.0);
            padded.extend_from_slice(&values[planes.clone()]);
            padded.push(0.0);
            Ok(padded)
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
        let operator = ResidualOperator::new(&SeparableProblem { axes, shift: self.parts.problem.shift })?;
        Ok(SlabResidual { operator })
    }

    /// The sum of the largest absolute boundary terms of all sides.
    pub fn largest_of_sides(&self) -> f64 {
        self.parts.sides.largest()
    }

    /// The measure of the mean of u in `planes`, if the problem is singular.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn mean(&self, planes: Range<usize>) -> Result<Option<SlabMean>> {
        let Some([first, middle, last]) = self.parts.problem.weights()? else { return Ok(None) };
        Ok(Some(SlabMean { weights: [copied(&first[planes])?, middle, last] }))
    }

    /// The report of the solved right-hand sides.
    pub fn report(&self, solved: &[Solved]) -> PoissonReport {
        let reason = "transforms along the local axes, tridiagonal systems along the distributed axis";
        self.parts.report(reason, self.plane(), solved)
    }
}

/// The constant, if the problem is singular.
fn constant<T: PoissonScalar>(problem: &SeparableProblem, rows: &RowTransforms<T>) -> Result<Option<SlabConstant>> {
    let Some([weights, ..]) = problem.weights()? else { return Ok(None) };
    let Some(((line, a), (place, b))) = rows.middle.constant()?.zip(rows.last.constant()?) else { return Ok(None) };
    Ok(Some(SlabConstant { mode: line * rows.shape[2] + place, of_ones: a * b, weights: Arc::new(weights) }))
}

/// The contribution of a slab to the mean of u.
#[derive(Debug)]
pub struct SlabMean {
    /// The volumes of the planes of this slab, of the lines and of the unknowns of a line, divided by the sums over the whole box.
    weights: [Vec<f64>; 3],
}

impl SlabMean {
    /// The contributions of the planes of this slab to the means of u and |u|.
    pub fn part<T: PoissonScalar>(&self, u: &[T]) -> [f64; 2] {
        dispatch(Simd::detect(), MeanJob { weights: &self.weights, rows: 0..self.weights[0].len(), u })
    }

    /// The means of u and |u|, from the contributions of all slabs.
    pub fn joined(parts: &[f64]) -> [f64; 2] {
        [0, 1].map(|k| compensated(parts.iter().copied().skip(k).step_by(2)))
    }
}

/// The residuals of the planes of a slab.
pub struct SlabResidual<T> {
    operator: ResidualOperator<T>,
}

impl<T: PoissonScalar> core::fmt::Debug for SlabResidual<T> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "residuals of {:?} planes, lines and unknowns", self.operator.shape)
    }
}

impl<T: PoissonScalar> SlabResidual<T> {
    /// Computes r = f − A·u for the planes of this slab. `u` has one more plane on each side.
    ///
    /// Returns max |rᵢ| / Σⱼ |aᵢⱼ| and max |uᵢ|. With `largest`, the maximum of |uᵢ| over all slabs, the first number is the backward error.
    pub fn of(&self, f: &[T], u: &[T], r: &mut [T], largest: Option<f64>) -> [f64; 2] {
        let measure = dispatch(Simd::detect(), SlabResidualJob { operator: &self.operator, f, u, r, largest });
        [measure.ratio, measure.largest]
    }
}

/// The largest absolute value.
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
            let u = &self.u[(lines + line) * n..][..n];
            all = all.join(match self.largest {
                Some(largest) => ResidualMeasure { ratio: self.operator.exact(at, (r, f), largest), largest },
                None => self.operator.measure(at, u, r),
            });
        }
        all
    }
}
