//! All eigenvalues of a Hermitian matrix or pencil in an interval, by counts and shift-and-invert.

use crate::inertia::{HermitianBand, check_definite, eigenvalues_below};
use crate::matrices::{FoundNearest, ShiftableMatrix, eigenvalue_size};
use crate::problem::Which;
use crate::random::unit;
use crate::report::{EigenEnding, EigenReport, HermitianEigen};
use crate::solver::{EigenSolver, EigenvaluesBelow};
use bandsolve::memory::{collected, more, zeroed};
use bandsolve::vectors::{narrow, widen};
use bandsolve::{Complex64, RealScalar, Result, Scalar};

/// Eigenvalues that one shift is for.
const MOST: usize = 40;

/// Parts that are no wider than so many roundings of their ends are not cut.
const LEAST_WIDTH: f64 = (1 << 19) as f64;

/// The smallest tolerance, in roundings, where the interval has several parts.
const TIGHT: f64 = 4096.0;

/// Rounding of eigenvalues and of counts, times ε and the size of eigenvalues.
const ROUNDING: f64 = 64.0;

/// A part of the interval, and how many eigenvalues it holds.
#[derive(Debug, Clone, Copy, PartialEq)]
struct IntervalPart {
    ends: [f64; 2],
    /// Eigenvalues below the ends.
    below: [usize; 2],
    /// Eigenvalues outside, within rounding of either end.
    beside: [usize; 2],
    /// How far outside of either end values may be: between these and the next eigenvalue is a gap. None, if no gap is known.
    reach: Option<[f64; 2]>,
}

impl IntervalPart {
    fn count(&self) -> usize {
        self.below[1].saturating_sub(self.below[0])
    }

    fn width(&self) -> f64 {
        self.ends[1] - self.ends[0]
    }

    fn middle(&self) -> f64 {
        self.ends[0] + 0.5 * self.width()
    }

    /// With the eigenvalues outside that are within about `rounding` of the ends, and others that these cannot be told from.
    fn with_neighbours(self, rounding: f64, below: &impl Fn(f64) -> Result<usize>) -> Result<Self> {
        let beside = |end: f64, inside: usize, side: f64| -> Result<(usize, Option<f64>)> {
            let mut there = 0;
            for times in [1.0, 4.0, 16.0, 64.0] {
                let more = below(end + side * times * rounding)?.abs_diff(inside);
                // None is between a quarter of this distance and all of it.
                if more == there && times > 1.0 {
                    return Ok((there, Some(0.5 * times * rounding)));
                }
                there = more;
            }
            Ok((there, None))
        };
        let [low, high] = self.ends;
        let (low, high) = (beside(low, self.below[0], -1.0)?, beside(high, self.below[1], 1.0)?);
        let reach = low.1.zip(high.1).map(|(low, high)| [low, high]);
        Ok(Self { beside: [low.0, high.0], reach, ..self })
    }

    /// The places of eigenvalues that are inside, of the found ones nearest to the middle, rising: those that come after as many as are
    /// beside the lower end. If not [all of these](Self::holds) were found, those that are inside as numbers.
    fn places_inside<T: Scalar>(&self, found: &HermitianEigen<T>) -> Vec<usize> {
        let mut places: Vec<usize> = (0..found.values.len()).collect();
        places.sort_by(|i, j| found.offsets[*i].total_cmp(&found.offsets[*j]));
        if self.holds(found) {
            return places[self.beside[0]..][..self.count()].to_vec();
        }
        let inside = |place: &usize| self.ends[0] <= found.values[*place] && found.values[*place] < self.ends[1];
        places.retain(inside);
        places.truncate(self.count());
        places
    }

    /// Eigenvalues inside and beside the ends.
    fn around(&self) -> usize {
        self.count() + self.beside[0] + self.beside[1]
    }

    /// Whether those that were found are all inside or beside the ends: as many, and none beyond the gaps outside.
    fn holds<T: Scalar>(&self, found: &HermitianEigen<T>) -> bool {
        let Some([low, high]) = self.reach else { return false };
        let near = |value: &f64| self.ends[0] - low <= *value && *value <= self.ends[1] + high;
        found.values.len() == self.around() && found.values.iter().all(near)
    }

    /// Two parts, cut near the middle where no eigenvalue is close; `None` if there is no such place, or the part is too small to be cut.
    fn cut(&self, epsilon: f64, below: &impl Fn(f64) -> Result<usize>) -> Result<Option<[Self; 2]>> {
        let (middle, width) = (self.middle(), self.width());
        // The distance from eigenvalues that is looked for is then a few roundings.
        if width <= LEAST_WIDTH * epsilon * self.ends[0].abs().max(self.ends[1].abs()) {
            return Ok(None);
        }
        for step in [0.0, 0.03, -0.03, 0.07, -0.07, 0.13, -0.13] {
            let (at, gap) = (middle + step * width, 1e-5 * width);
            let around = [below(at - gap)?, below(at + gap)?];
            if around[0] == around[1] {
                let [from, to] = self.ends;
                let reach = |low: Option<f64>, high: Option<f64>| low.zip(high).map(|(low, high)| [low, high]);
                let ([low, high], near) = ([0, 1].map(|end| self.reach.map(|reach| reach[end])), Some(0.5 * gap));
                return Ok(Some([
                    Self {
                        ends: [from, at],
                        below: [self.below[0], around[0]],
                        beside: [self.beside[0], 0],
                        reach: reach(low, near),
                    },
                    Self {
                        ends: [at, to],
                        below: [around[0], self.below[1]],
                        beside: [0, self.beside[1]],
                        reach: reach(near, high),
                    },
                ]));
            }
        }
        Ok(None)
    }
}

/// Parts of at most [`MOST`] eigenvalues where that is possible, in order; none that is empty. `epsilon`: the rounding of counts.
fn parts(whole: IntervalPart, epsilon: f64, below: &impl Fn(f64) -> Result<usize>) -> Result<Vec<IntervalPart>> {
    let (mut open, mut done) = (vec![whole], Vec::new());
    while let Some(part) = open.pop() {
        let cut = if part.count() > MOST { part.cut(epsilon, below)? } else { None };
        match cut {
            Some([low, high]) => open.extend([high, low]),
            None if part.count() > 0 => done.push(part),
            None => (),
        }
    }
    Ok(done)
}

impl<T: Scalar> EigenSolver<'_, T> {
    /// All eigenvalues of a Hermitian matrix or pencil in low ≤ λ < high, rising.
    ///
    /// Counts of eigenvalues below both ends say how many there are; where these are many, the interval is cut between eigenvalues. In
    /// each part the eigenvalues nearest to its middle are found by shift-and-invert, with a tolerance of at most 10⁻¹² if there are several
    /// parts. Where they are not as many inside as were counted, what is missing is looked for. An eigenvalue at an end, within
    /// rounding, may be taken or not; those that are taken are inside, as numbers. Offsets are λ − (low + high)/2. How many and which eigenvalues the solver was made for is of no
    /// meaning here.
    ///
    /// # Cost
    /// Six counts or more; a factorisation and about 2·k + 6 solves for each part of k eigenvalues, k ≤ 40.
    ///
    /// # Errors
    /// [`NotFinite`](bandsolve::Error::NotFinite) if an end is not finite, [`NotDefinite`](bandsolve::Error::NotDefinite) if B has negative
    /// eigenvalues, those of [`hermitian_nearest`](Self::hermitian_nearest), and those of
    /// [`eigenvalues_below`].
    ///
    /// # Examples
    /// ```
    /// use bandsolve::Tridiagonal;
    /// use bandsolve_eigen::EigenSolver;
    /// // λ = 2 − 2·cos(π·k/101)
    /// let a = Tridiagonal::from_vecs(vec![-1.0; 100], vec![2.0; 100], vec![-1.0; 100], false)?;
    /// let found = EigenSolver::new(0).hermitian_between(&a, None, (1.0, 1.2))?;
    /// assert_eq!((found.values.len(), found.report.complete), (4, Some(true)));
    /// # Ok::<(), bandsolve::Error>(())
    /// ```
    pub fn hermitian_between<M>(&self, a: &M, b: Option<&M>, (low, high): (f64, f64)) -> Result<HermitianEigen<T>>
    where
        M: ShiftableMatrix<Scalar = T> + HermitianBand<Scalar = T>,
    {
        b.map_or(Ok(()), check_definite)?;
        let below = |shift: f64| eigenvalues_below(a, b, shift);
        let whole = IntervalPart { ends: [low, high], below: [below(low)?, below(high)?], beside: [0; 2], reach: None };
        let size = eigenvalue_size([size_of(a)?, b.map_or(Ok(1.0), size_of)?]);
        let epsilon = T::Real::EPSILON.to_f64();
        let rounding = ROUNDING * epsilon * low.abs().max(high.abs()).max(size);
        let whole = if whole.count() > 0 { whole.with_neighbours(rounding, &below)? } else { whole };
        let mut all = HermitianEigen {
            values: Vec::new(),
            offsets: Vec::new(),
            vectors: Vec::new(),
            report: nothing(whole.count()),
        };
        let parts = parts(whole, epsilon, &below)?;
        // Vectors of different parts are as orthogonal as their residuals are small.
        let tol = if parts.len() > 1 { self.tol.min(TIGHT * epsilon) } else { self.tol };
        for part in parts {
            let found = Self { tol, ..*self }.between((a, b), part, &below)?;
            all.append(found, part.middle() - whole.middle(), ShiftableMatrix::rows(a))?;
        }
        all.report.orthogonality = all.report.orthogonality.max(apart(&all, b)?);
        Ok(all)
    }

    /// The eigenvalues of one part: those nearest to its middle, as many as were counted.
    fn between<M>(
        &self,
        (a, b): (&M, Option<&M>),
        part: IntervalPart,
        below: EigenvaluesBelow<'_>,
    ) -> Result<HermitianEigen<T>>
    where
        M: ShiftableMatrix<Scalar = T>,
    {
        let solver = Self { k: part.around(), which: Which::default(), count: None, second_look: false, ..*self };
        let mut found = solver.hermitian_around(a, b, part.middle())?;
        // As many as were counted, with orthogonal vectors: no other count is needed.
        if !found.converged() || !part.holds(&found) {
            found = solver.count(below).hermitian_around(a, b, part.middle())?;
        }
        let (places, all) = (part.places_inside(&found), part.holds(&found));
        found.select(&places, a.rows())?;
        // The largest number below the upper end.
        let last = part.ends[1].next_down();
        if all {
            found.values.iter_mut().for_each(|value| *value = value.clamp(part.ends[0], last));
        }
        let report = &mut found.report;
        report.complete = Some(all && report.ending == EigenEnding::Converged);
        if !all && report.ending == EigenEnding::Converged {
            report.ending = EigenEnding::RestartLimit;
        }
        Ok(found)
    }
}

/// The report before the first part.
fn nothing(wanted: usize) -> EigenReport {
    EigenReport {
        ending: EigenEnding::Converged,
        wanted,
        residuals: Vec::new(),
        norms: [0.0; 2],
        orthogonality: 0.0,
        restarts: 0,
        solves: 0,
        complete: Some(true),
    }
}

impl<T: Scalar> HermitianEigen<T> {
    /// Adds what was found in the next part, rising, with offsets from a target that is `moved` less.
    fn append(&mut self, part: Self, moved: f64, n: usize) -> Result<()> {
        let mut order: Vec<usize> = (0..part.values.len()).collect();
        order.sort_by(|i, j| part.offsets[*i].total_cmp(&part.offsets[*j]));
        more(&mut self.vectors, part.vectors.len())?;
        for k in order {
            self.values.push(part.values[k]);
            self.offsets.push(part.offsets[k] + moved);
            self.vectors.extend_from_slice(&part.vectors[k * n..][..n]);
            self.report.residuals.push(part.report.residuals[k]);
        }
        let (all, own) = (&mut self.report, part.report);
        if own.ending != EigenEnding::Converged {
            all.ending = own.ending;
        }
        all.norms = [all.norms[0].max(own.norms[0]), all.norms[1].max(own.norms[1])];
        all.orthogonality = all.orthogonality.max(own.orthogonality);
        all.restarts += own.restarts;
        all.solves += own.solves;
        all.complete = Some(all.complete == Some(true) && own.complete == Some(true));
        Ok(())
    }
}

/// ‖A·x‖/‖x‖ of a random vector.
fn size_of<M: ShiftableMatrix>(a: &M) -> Result<f64> {
    let x: Vec<M::Scalar> = collected((0..a.rows()).map(|i| narrow(Complex64::from(unit(1, i as u64)))))?;
    let mut image = zeroed(a.rows())?;
    a.multiply(&x, &mut image)?;
    let [x, image] = [x, image].map(|x| x.iter().map(|x| widen(*x).norm()).fold(0.0_f64, f64::hypot));
    Ok(if x > 0.0 { image / x } else { 0.0 })
}

/// The largest |xᵢᴴ·B·xⱼ| of vectors i < j: those of different parts are orthogonal by their eigenvalues alone.
fn apart<T: Scalar, M: ShiftableMatrix<Scalar = T>>(found: &HermitianEigen<T>, b: Option<&M>) -> Result<f64> {
    let n = found.vectors.len().checked_div(found.values.len()).unwrap_or(0);
    let (mut image, mut largest) = (zeroed(n)?, 0.0_f64);
    for (j, x) in found.vectors.chunks_exact(n.max(1)).enumerate() {
        match b {
            Some(b) => b.multiply(x, &mut image)?,
            None => image.copy_from_slice(x),
        }
        for other in found.vectors.chunks_exact(n.max(1)).take(j) {
            let sum: T = other.iter().zip(&image).fold(T::ZERO, |sum, (x, y)| sum + x.conj() * *y);
            largest = largest.max(widen(sum).norm());
        }
    }
    Ok(largest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_eigenvalue_outside_is_not_taken_for_one_inside() {
        // 0.5 twice, and one outside at the distance 1, in roundings of 1/1000.
        let values = [-1.0, 0.5, 0.5, 3.0];
        let below = |shift: f64| Ok(values.iter().filter(|value| **value < shift).count());
        let known = |values: &[f64]| HermitianEigen {
            values: values.to_vec(),
            offsets: values.iter().map(|value| value - 1.0).collect(),
            vectors: vec![0.0_f64; values.len()],
            report: nothing(values.len()),
        };
        let part = IntervalPart { ends: [0.0, 2.0], below: [1, 3], beside: [0; 2], reach: None };
        for rounding in [0.1, 1.0 / 16.0, 0.01, 0.001] {
            let part = part.with_neighbours(rounding, &below).expect("counts");
            let other = known(&[0.5, -1.0]);
            if part.around() == 2 {
                assert!(part.holds(&known(&[0.5, 0.5])) && !part.holds(&other), "{rounding}");
                assert_eq!(part.places_inside(&other), [0]);
            }
        }
        // Without a gap up to 64 roundings nothing is certain.
        let crowd: Vec<f64> =
            [0.5, 1.0, 3.0, 10.0, 30.0].map(|times| -0.001 * times).into_iter().chain([0.5]).collect();
        let below = |shift: f64| Ok(crowd.iter().filter(|value| **value < shift).count());
        let part = IntervalPart { below: [5, 6], ..part }.with_neighbours(0.001, &below).expect("counts");
        assert!(!part.holds(&known(&crowd)) && part.places_inside(&known(&crowd)) == [5]);
    }

    #[test]
    fn parts_hold_few_eigenvalues_and_clusters_stay_whole() {
        // 0, 1, …, 199, and 300 times 100.5.
        let values: Vec<f64> = (0..200).map(f64::from).chain([100.5; 300]).collect();
        let below = |shift: f64| Ok(values.iter().filter(|value| **value < shift).count());
        let whole = IntervalPart { ends: [-10.0, 1000.0], below: [0, 500], beside: [0; 2], reach: None };
        let parts = parts(whole, f64::EPSILON, &below).expect("parts");
        assert_eq!(parts.iter().map(IntervalPart::count).sum::<usize>(), 500);
        assert!(parts.windows(2).all(|pair| pair[0].ends[1] <= pair[1].ends[0]));
        let large: Vec<_> = parts.iter().filter(|part| part.count() > MOST).collect();
        assert!(large.len() == 1 && large[0].ends[0] < 100.5 && large[0].ends[1] > 100.5 && large[0].count() >= 300);
    }
}
