//! The tridiagonal matrix along the last axis; and the simplified scalar cyclic reduction of symmetric Toeplitz matrices.
//!
//! Partial fractions solve by elimination ([`bandsolve_kernel::shifted`]), which forms right-hand sides and sums on the way and reads
//! its pivots only as long as they change. [`LaneSystems`] has both algorithms on the same arrays, to be compared.

use bandsolve::Result;
use bandsolve::memory::collected;
use bandsolve_kernel::shifted::LineRows;
use bandsolve_kernel::{Job, Lanes, RealScalar};

/// Rows −sub_k, sub_k + sup_k + gap_k, −sup_k of a tridiagonal matrix, all three given.
#[derive(Debug, Clone)]
pub(crate) struct ShiftedLine<R> {
    sub: Vec<R>,
    sup: Vec<R>,
    gap: Vec<R>,
    uniform: bool,
}

impl<R: RealScalar> ShiftedLine<R> {
    /// From rows in double precision.
    pub fn new(sub: &[f64], sup: &[f64], gap: &[f64]) -> Result<Self> {
        let of = |v: &[f64]| collected(v.iter().map(|v| R::from_f64(*v)));
        let same = |v: &[f64]| v.windows(2).all(|pair| pair[0] == pair[1]);
        let uniform = same(sub) && same(sup) && same(gap) && sub.first() == sup.first() && sub.first() > Some(&0.0);
        Ok(Self { sub: of(sub)?, sup: of(sup)?, gap: of(gap)?, uniform })
    }

    pub fn n(&self) -> usize {
        self.gap.len()
    }

    pub fn rows(&self) -> LineRows<'_, R> {
        LineRows { sub: &self.sub, sup: &self.sup, gap: &self.gap, uniform: self.uniform }
    }
}

/// Systems side by side.
pub(crate) const LANES: usize = 16;

/// tridiag(−1, 2 + gap, −1) x = d for [`LANES`] gaps, row by row, x in place of d.
pub(crate) struct LaneSystems<'a, R> {
    pub gaps: [R; LANES],
    /// Row k of system s at k·`LANES` + s.
    pub x: &'a mut [R],
    /// As many numbers, which elimination needs for its pivots.
    pub pivots: &'a mut [R],
    /// Cyclic reduction, else elimination.
    pub reduction: bool,
}

/// A number for each system.
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

/// A level of the reduction: −t, d, −t with d = gap + 2t; the last row has a diagonal of its own, `last` + t.
#[derive(Clone, Copy)]
struct ReductionLevel<R> {
    t: Each<R>,
    gap: Each<R>,
    last: Each<R>,
}

impl<R: RealScalar> LaneSystems<'_, R> {
    #[inline(always)]
    fn row(&self, k: usize) -> Each<R> {
        let mut row = [R::ZERO; LANES];
        row.copy_from_slice(&self.x[k * LANES..(k + 1) * LANES]);
        row
    }

    #[inline(always)]
    fn put(&mut self, k: usize, row: Each<R>) {
        self.x[k * LANES..(k + 1) * LANES].copy_from_slice(&row);
    }

    /// (22) and (23) of Myllykoski, Rossi, Toivanen, for any n: t' = t²/d, gap' = gap (d + 2t)/d, and what the last row has beyond its
    /// coupling is a sum of positive numbers, too.
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

    /// Rows 2, 4, … of `rows` rows that are `step` apart are left.
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
            let mut kept = self.row(i * step - 1);
            let left = self.row((i - 1) * step - 1);
            if i < rows {
                let (right, by_right) = (self.row((i + 1) * step - 1), if i + 1 == rows { by_last } else { by });
                for s in 0..LANES {
                    kept[s] += by_right[s] * right[s];
                }
            }
            for s in 0..LANES {
                kept[s] += by[s] * left[s];
            }
            self.put(i * step - 1, kept);
        }
        next
    }

    /// Rows 1, 3, … from those between them.
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

    /// Downwards and upwards, pivots kept.
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

    /// Both by the closed form of the inverse: x_i = Σ_k sinh(min·a) sinh((n + 1 − max)·a) / (sinh a sinh((n + 1)·a)) d_k,
    /// gap = 4 sinh²(a/2).
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
