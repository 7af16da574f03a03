//! The tridiagonal matrix along the last axis, and scalar cyclic reduction of symmetric Toeplitz matrices.
//!
//! Partial fractions use elimination ([`bandsolve_kernel::shifted`]). Elimination computes right-hand sides and sums in the same sweep, and
//! reads pivots only as long as they change. For comparison, [`LaneSystems`] implements both algorithms on the same arrays.

use bandsolve::Result;
use bandsolve::memory::collected;
use bandsolve_kernel::shifted::LineRows;
use bandsolve_kernel::{Job, Lanes, RealScalar};

/// A tridiagonal matrix with the rows −subₖ, subₖ + supₖ + gapₖ, −supₖ.
#[derive(Debug, Clone)]
pub(crate) struct ShiftedLine<R> {
    sub: Vec<R>,
    sup: Vec<R>,
    gap: Vec<R>,
    uniform: bool,
}

impl<R: RealScalar> ShiftedLine<R> {
    /// Round rows in double precision to R.
    pub fn new(sub: &[f64], sup: &[f64], gap: &[f64]) -> Result<Self> {
        let of = |v: &[f64]| collected(v.iter().map(|v| R::from_f64(*v)));
        let same = |v: &[f64]| v.windows(2).all(|pair| pair[0] == pair[1]);
        let uniform = same(sub) && same(sup) && same(gap) && sub.first() == sup.first() && sub.first() > Some(&0.0);
        Ok(Self { sub: of(sub)?, sup: of(sup)?, gap: of(gap)?, uniform })
    }

    /// Number of rows.
    pub fn n(&self) -> usize {
        self.gap.len()
    }

    /// The rows as arguments of the kernel.
    pub fn rows(&self) -> LineRows<'_, R> {
        LineRows { sub: &self.sub, sup: &self.sup, gap: &self.gap, uniform: self.uniform }
    }
}

/// Number of systems that are solved at the same time.
pub(crate) const LANES: usize = 16;

/// Solves tridiag(−1, 2 + gap, −1) x = d for [`LANES`] gaps. x replaces d.
pub(crate) struct LaneSystems<'a, R> {
    pub gaps: [R; LANES],
    /// Row k of system s is at index k·`LANES` + s.
    pub x: &'a mut [R],
    /// Scratch of the same length for the pivots of elimination.
    pub pivots: &'a mut [R],
    /// Whether to use cyclic reduction instead of elimination.
    pub reduction: bool,
}

/// One value per system.
type Each<R> = [R; LANES];

impl<R: RealScalar> Job<R> for LaneSystems<'_, R> {
    type Output = ();
    #[inline(always)]
    fn run<V: Lanes<Real = R>>(mut self) {
        let n = self.x.len() / LANES;
        if n == 0 {
        } else if self.reduction {
            self.reduce(n);
        } else {
            self.eliminate(n);
        }
    }
}

/// A level of the reduction, with the rows −t, d, −t, where d = gap + 2t. The diagonal entry of the last row is `last` + t.
#[derive(Clone, Copy)]
struct ReductionLevel<R> {
    t: Each<R>,
    gap: Each<R>,
    last: Each<R>,
}

impl<R: RealScalar> LaneSystems<'_, R> {
    /// Read row k of all systems.
    #[inline(always)]
    fn row(&self, k: usize) -> Each<R> {
        let mut row = [R::ZERO; LANES];
        row.copy_from_slice(&self.x[k * LANES..(k + 1) * LANES]);
        row
    }

    /// Write row k of all systems.
    #[inline(always)]
    fn put(&mut self, k: usize, row: Each<R>) {
        self.x[k * LANES..(k + 1) * LANES].copy_from_slice(&row);
    }

    /// Solve by cyclic reduction, (22) and (23) of Myllykoski, Rossi, Toivanen, for any n: t' = t²/d, gap' = gap (d + 2t)/d.
    ///
    /// `last` is a sum of positive numbers too, so that no cancellation occurs.
    #[inline(always)]
    fn reduce(&mut self, n: usize) {
        let one = [R::ONE; LANES];
        let mut last = self.gaps;
        for s in 0..LANES {
            last[s] += R::ONE;
        }
        let mut levels = [ReductionLevel { t: one, gap: self.gaps, last }; usize::BITS as usize];
        let mut depth = 0;
        while n >> depth > 1 {
            levels[depth + 1] = self.reduce_once(&levels[depth], (n >> depth, 1 << depth));
            depth += 1;
        }
        for depth in (0..=depth).rev() {
            self.substitute(&levels[depth], (n >> depth, 1 << depth));
        }
    }

    /// Eliminate the rows 1, 3, … of `rows` rows that are `step` apart, so that the rows 2, 4, … remain.
    #[inline(always)]
    fn reduce_once(&mut self, level: &ReductionLevel<R>, (rows, step): (usize, usize)) -> ReductionLevel<R> {
        let ReductionLevel { t, gap, last } = *level;
        let (mut next, mut by, mut by_last) = (*level, t, t);
        for s in 0..LANES {
            let (d, end) = (gap[s] + (t[s] + t[s]), last[s] + t[s]);
            (by[s], by_last[s]) = (t[s] / d, t[s] / end);
            next.t[s] = t[s] * by[s];
            next.gap[s] = gap[s] * ((d + (t[s] + t[s])) / d);
            next.last[s] = by[s] * gap[s] + if rows % 2 == 0 { last[s] } else { gap[s] + by_last[s] * last[s] };
        }
        for i in (2..=rows).step_by(2) {
            let mut sum = self.row(i * step - 1);
            let left = self.row((i - 1) * step - 1);
            if i < rows {
                let (right, by_right) = (self.row((i + 1) * step - 1), if i + 1 == rows { by_last } else { by });
                for s in 0..LANES {
                    sum[s] += by_right[s] * right[s];
                }
            }
            for s in 0..LANES {
                sum[s] += by[s] * left[s];
            }
            self.put(i * step - 1, sum);
        }
        next
    }

    /// Compute the rows 1, 3, … from the rows 2, 4, ….
    #[inline(always)]
    fn substitute(&mut self, level: &ReductionLevel<R>, (rows, step): (usize, usize)) {
        let ReductionLevel { t, gap, last } = *level;
        let (mut inner, mut end) = (t, t);
        for s in 0..LANES {
            inner[s] = R::ONE / (gap[s] + (t[s] + t[s]));
            end[s] = R::ONE / (last[s] + t[s]);
        }
        for i in (1..=rows).step_by(2) {
            let mut x = self.row(i * step - 1);
            let by = if i == rows { end } else { inner };
            let mut beside = [R::ZERO; LANES];
            if i > 1 {
                beside = self.row((i - 1) * step - 1);
            }
            if i < rows {
                let right = self.row((i + 1) * step - 1);
                for s in 0..LANES {
                    beside[s] += right[s];
                }
            }
            for s in 0..LANES {
                x[s] = (x[s] + t[s] * beside[s]) * by[s];
            }
            self.put(i * step - 1, x);
        }
    }

    /// Solve by elimination, with stored pivots.
    #[inline(always)]
    fn eliminate(&mut self, n: usize) {
        let (mut t, mut before, mut r) = ([R::ONE; LANES], [R::ZERO; LANES], [R::ZERO; LANES]);
        for s in 0..LANES {
            t[s] += self.gaps[s];
        }
        for k in 0..n {
            let mut g = self.row(k);
            for s in 0..LANES {
                g[s] += r[s] * before[s];
                r[s] = R::ONE / (t[s] + R::ONE);
                t[s] = self.gaps[s] + t[s] * r[s];
            }
            self.put(k, g);
            self.pivots[k * LANES..(k + 1) * LANES].copy_from_slice(&r);
            before = g;
        }
        let mut after = [R::ZERO; LANES];
        for k in (0..n).rev() {
            r.copy_from_slice(&self.pivots[k * LANES..(k + 1) * LANES]);
            let g = self.row(k);
            for s in 0..LANES {
                after[s] = r[s] * (g[s] + after[s]);
            }
            self.put(k, after);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bandsolve_kernel::{Simd, dispatch};

    /// Compare both algorithms with the closed form of the inverse, for gap = 4 sinh²(a/2), p = min(i, k) and q = max(i, k):
    /// xᵢ = Σₖ sinh(pa) sinh((n + 1 − q)a) / (sinh(a) sinh((n + 1)a)) dₖ.
    #[test]
    fn reduction_and_elimination_solve() {
        for n in (1..40usize).chain([63, 64, 65, 255]) {
            let a: Vec<f64> = (0..LANES).map(|s| 0.002 + 0.03 * s as f64).collect();
            let mut gaps = [0.0; LANES];
            gaps.iter_mut().zip(&a).for_each(|(gap, a)| *gap = 4.0 * (0.5 * a).sinh() * (0.5 * a).sinh());
            let rhs: Vec<f64> = (0..n * LANES).map(|i| ((i * 7919) % 101) as f64 / 50.0).collect();
            for reduction in [true, false] {
                let (mut x, mut pivots) = (rhs.clone(), vec![f64::NAN; n * LANES]);
                dispatch(Simd::detect(), LaneSystems { gaps, x: &mut x, pivots: &mut pivots, reduction });
                for i in 0..n {
                    for (s, a) in a.iter().enumerate() {
                        let of = |k: usize| {
                            let (low, high) = (i.min(k) + 1, n - i.max(k));
                            let whole = (low as f64 * a).sinh() * (high as f64 * a).sinh();
                            whole / (a.sinh() * ((n + 1) as f64 * a).sinh()) * rhs[k * LANES + s]
                        };
                        let expected: f64 = (0..n).map(of).sum();
                        let error = (x[i * LANES + s] - expected).abs() / expected.abs().max(1.0);
                        assert!(error < 1e-13 * (n + 9) as f64, "{n} {reduction}: {i} {s} {error:e}");
                    }
                }
            }
        }
    }
}
