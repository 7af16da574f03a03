//! All eigenvalues of a Hermitian matrix or pencil in an interval, by eigenvalue counts and shift-and-invert.

use crate::matrices::{NearestEigen, ShiftableMatrix, eigenvalue_size};
use crate::problem::Which;
use crate::random::unit;
use crate::report::{EigenEnding, EigenReport, HermitianEigen};
use crate::solver::{EigenSolver, EigenvaluesBelow, SearchSettings};
use bandsolve::memory::{collected, more, zeroed};
use bandsolve::vectors::{narrow, widen};
use bandsolve::{Complex64, RealScalar, Result, Scalar};

/// The maximum number of eigenvalues per shift.
const MOST: usize = 40;

/// The smallest width of a part that can be cut, in units of ε times its larger end.
const LEAST_WIDTH: f64 = (1 << 19) as f64;

/// The largest tolerance if the interval has several parts, in units of ε.
const TIGHT: f64 = 4096.0;

/// Rounding errors of eigenvalues and counts, in units of ε times the size of the largest eigenvalues.
const ROUNDING: f64 = 64.0;

/// A part of the interval, with the number of its eigenvalues.
#[derive(Debug, Clone, Copy, PartialEq)]
struct IntervalPart {
    ends: [f64; 2],
    /// The number of eigenvalues below each end.
    below: [usize; 2],
    /// The number of eigenvalues outside, within rounding errors of each end.
    beside: [usize; 2],
    /// How far outside of each end these eigenvalues can be. Farther outside, there is a gap without eigenvalues. `None` if no gap is known.
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

    /// Set `beside` and `reach`. An eigenvalue outside counts if it is within approximately `rounding` of an end, or has no gap to one that
    /// counts.
    fn with_neighbours(self, rounding: f64, below: &impl Fn(f64) -> Result<usize>) -> Result<Self> {
        let beside = |end: f64, inside: usize, side: f64| -> Result<(usize, Option<f64>)> {
            let mut there = 0;
            for times in [1.0, 4.0, 16.0, 64.0] {
                let more = below(end + side * times * rounding)?.abs_diff(inside);
                // No eigenvalue lies between a quarter of this distance and the whole distance.
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

    /// The indices of the found eigenvalues inside this part, in ascending order of the eigenvalues.
    ///
    /// If the part [`holds`](Self::holds) all found eigenvalues, the indices follow from the counts, and rounding errors do not matter.
    /// Otherwise they follow from comparisons with the ends.
    fn places_inside<T: Scalar>(&self, eigen: &HermitianEigen<T>) -> Vec<usize> {
        let mut places: Vec<usize> = (0..eigen.values.len()).collect();
        places.sort_by(|i, j| eigen.offsets[*i].total_cmp(&eigen.offsets[*j]));
        if self.holds(eigen) {
            return places[self.beside[0]..][..self.count()].to_vec();
        }
        let inside = |place: &usize| self.ends[0] <= eigen.values[*place] && eigen.values[*place] < self.ends[1];
        places.retain(inside);
        places.truncate(self.count());
        places
    }

    /// The number of eigenvalues inside and beside the ends.
    fn around(&self) -> usize {
        self.count() + self.beside[0] + self.beside[1]
    }

    /// Whether the found eigenvalues are exactly the ones inside and beside the ends: their number agrees, and none is beyond the gaps.
    fn holds<T: Scalar>(&self, eigen: &HermitianEigen<T>) -> bool {
        let Some([low, high]) = self.reach else { return false };
        let near = |value: &f64| self.ends[0] - low <= *value && *value <= self.ends[1] + high;
        eigen.values.len() == self.around() && eigen.values.iter().all(near)
    }

    /// Cut the part near its middle, at a place without close eigenvalues. `None` if no place is found, or if the part is too narrow.
    fn cut(&self, epsilon: f64, below: &impl Fn(f64) -> Result<usize>) -> Result<Option<[Self; 2]>> {
        let (middle, width) = (self.middle(), self.width());
        // In a narrower part, the gap at the cut would be only a few rounding errors wide.
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

/// Cut the interval into parts of at most [`MOST`] eigenvalues if possible. Returns the non-empty parts in ascending order.
///
/// `epsilon` is the relative rounding error of the counts.
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
    /// Find all eigenpairs of a Hermitian matrix or pencil with low ≤ λ < high, in ascending order.
    ///
    /// Eigenvalue counts at both ends give the number of eigenvalues. The function cuts an interval with more than 40 eigenvalues into parts. In
    /// each part, shift-and-invert finds the eigenvalues nearest to the middle. If there are several parts, the tolerance is at most 4096·ε, which
    /// is 10⁻¹² in double precision. If fewer eigenvalues are found than counted, the search continues.
    ///
    /// If an eigenvalue is within rounding errors of an end, the result may contain it or not. All returned values satisfy low ≤ λ < high. Offsets
    /// are λ − (low + high)/2. The function ignores k and [`which`](Self::which).
    ///
    /// # Cost
    /// At least six eigenvalue counts. Each part with k ≤ 40 eigenvalues costs one factorization and approximately 2·k + 6 solves.
    ///
    /// # Errors
    /// [`NotFinite`](bandsolve::Error::NotFinite) if an end is NaN or infinite, [`NotDefinite`](bandsolve::Error::NotDefinite) if B has
    /// negative eigenvalues, and the errors of [`hermitian_nearest`](Self::hermitian_nearest) and [`eigenvalues_below`](crate::eigenvalues_below).
    ///
    /// # Examples
    /// ```
    /// use bandsolve::Tridiagonal;
    /// use bandsolve_eigen::EigenSolver;
    /// // λ = 2 − 2·cos(π·k/101)
    /// let a = Tridiagonal::from_vecs(vec![-1.0; 100], vec![2.0; 100], vec![-1.0; 100], false)?;
    /// let eigen = EigenSolver::new(0).hermitian_between(&a, None, (1.0, 1.2))?;
    /// assert_eq!((eigen.values.len(), eigen.report.complete), (4, Some(true)));
    /// # Ok::<(), bandsolve::Error>(())
    /// ```
    pub fn hermitian_between<M>(&self, a: &M, b: Option<&M>, (low, high): (f64, f64)) -> Result<HermitianEigen<T>>
    where
        M: ShiftableMatrix<Scalar = T>,
    {
        b.map_or(Ok(()), M::check_definite)?;
        let below = |shift: f64| a.eigenvalues_below(b, shift);
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
        // The inner products of vectors from different parts are bounded by their residuals only.
        let tol = self.settings.tol;
        let tol = if parts.len() > 1 { tol.min(TIGHT * epsilon) } else { tol };
        for part in parts {
            let eigen = self.tol(tol).between((a, b), part, &below)?;
            all.append(eigen, part.middle() - whole.middle(), ShiftableMatrix::rows(a))?;
        }
        all.report.orthogonality = all.report.orthogonality.max(apart(&all, b)?);
        Ok(all)
    }

    /// Find the eigenvalues of one part: the nearest to its middle, as many as counted.
    fn between<M>(
        &self,
        (a, b): (&M, Option<&M>),
        part: IntervalPart,
        below: EigenvaluesBelow<'_>,
    ) -> Result<HermitianEigen<T>>
    where
        M: ShiftableMatrix<Scalar = T>,
    {
        let settings = SearchSettings {
            k: part.around(),
            which: Which::default(),
            count: None,
            second_look: false,
            ..self.settings
        };
        let solver = self.with(settings);
        let mut eigen = solver.hermitian_around(a, b, part.middle())?;
        // If the number agrees with the counts, the search needs no counts of its own, because the vectors are orthogonal.
        if !eigen.converged() || !part.holds(&eigen) {
            eigen = solver.count(below).hermitian_around(a, b, part.middle())?;
        }
        let (places, all) = (part.places_inside(&eigen), part.holds(&eigen));
        eigen.select(&places, a.rows())?;
        let last = part.ends[1].next_down();
        if all {
            eigen.values.iter_mut().for_each(|value| *value = value.clamp(part.ends[0], last));
        }
        let report = &mut eigen.report;
        report.complete = Some(all && report.ending == EigenEnding::Converged);
        if !all && report.ending == EigenEnding::Converged {
            report.ending = EigenEnding::RestartLimit;
        }
        Ok(eigen)
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
    /// Append the result of the next part in ascending order. `moved` is the middle of that part minus the target of the offsets.
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
        let (all, report) = (&mut self.report, part.report);
        if report.ending != EigenEnding::Converged {
            all.ending = report.ending;
        }
        all.norms = [all.norms[0].max(report.norms[0]), all.norms[1].max(report.norms[1])];
        all.orthogonality = all.orthogonality.max(report.orthogonality);
        all.restarts += report.restarts;
        all.solves += report.solves;
        all.complete = Some(all.complete == Some(true) && report.complete == Some(true));
        Ok(())
    }
}

/// ‖A·x‖/‖x‖ for a random vector x.
fn size_of<M: ShiftableMatrix>(a: &M) -> Result<f64> {
    let x: Vec<M::Scalar> = collected((0..a.rows()).map(|i| narrow(Complex64::from(unit(1, i as u64)))))?;
    let mut image = zeroed(a.rows())?;
    a.multiply(&x, &mut image)?;
    let [x, image] = [x, image].map(|x| x.iter().map(|x| widen(*x).norm()).fold(0.0_f64, f64::hypot));
    Ok(if x > 0.0 { image / x } else { 0.0 })
}

/// The largest |xᵢᴴ·B·xⱼ| of vectors i < j. The search does not orthogonalize vectors of different parts against each other.
fn apart<T: Scalar, M: ShiftableMatrix<Scalar = T>>(eigen: &HermitianEigen<T>, b: Option<&M>) -> Result<f64> {
    let n = eigen.vectors.len().checked_div(eigen.values.len()).unwrap_or(0);
    let (mut image, mut largest) = (zeroed(n)?, 0.0_f64);
    for (j, x) in eigen.vectors.chunks_exact(n.max(1)).enumerate() {
        match b {
            Some(b) => b.multiply(x, &mut image)?,
            None => image.copy_from_slice(x),
        }
        for other in eigen.vectors.chunks_exact(n.max(1)).take(j) {
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
    fn an_eigenvalue_outside_does_not_count_as_inside() {
        // 0.5 twice, and an eigenvalue outside at the distance 1.
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
        // Without a gap within 64 rounding errors, the part does not hold the eigenvalues.
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
