//! The tridiagonal systems along the first axis, one for each coefficient of the other axes.
//!
//! SIMD lanes solve the systems in lockstep, one system per lane. λ is the sum of the eigenvalues of the other axes and the shift. Row i of a system is
//!
//! ```text
//! lowerᵢ (uᵢ − uᵢ₋₁) + upperᵢ (uᵢ − uᵢ₊₁) + (gapᵢ + λ) uᵢ = fᵢ
//! ```
//!
//! Elimination runs from both ends. In the direction of elimination, bᵢ is the coupling to the previous row and aᵢ the coupling to the next row:
//!
//! ```text
//! Qᵢ = gapᵢ + λ + bᵢ Qᵢ₋₁/(Qᵢ₋₁ + aᵢ₋₁)   ρᵢ = aᵢ/(Qᵢ + aᵢ)
//! Gᵢ = ρᵢ (fᵢ + (bᵢ/aᵢ₋₁) Gᵢ₋₁)            uᵢ = Gᵢ/aᵢ + ρᵢ uᵢ₊₁
//! ```
//!
//! Q is the excess of the pivot over its coupling. As a sum of positive numbers, Q has no cancellation. A small Q depends on many previous rows, whose
//! rounding errors add up, so the plan computes Q in twice the precision.
//!
//! A periodic axis with constant spacing is folded first, see [`folded`](crate::folded). If Q no longer changes from row to row, ρ is stored once. If
//! all ρ would take about as much memory as the solution, for example with variable spacing, no factors are stored, see [`renewed`].

mod gap;
mod renewed;
mod sizes;

use crate::axis::AxisOperator;
use crate::folded::{ChainStep, even_step, folded_rows, odd_step};
use crate::scalar::{PoissonScalar, real};
use bandsolve::Result;
use bandsolve::memory::{allocate, collected, copied, out_of_memory};
use bandsolve_kernel::view::ViewMut;
use gap::PivotGap;
pub(crate) use gap::two_sum;
use renewed::RenewedChain;
pub(crate) use sizes::{BLOCK, GROUP, block_of};

/// Factors of the elimination from one end.
#[derive(Clone)]
struct ChainLane<T> {
    /// bᵢ/aᵢ₋₁ and 1/aᵢ of each step.
    factors: Vec<[T; 2]>,
    /// The index in `pool` of the ρ of each step and group, in groups.
    places: Vec<u32>,
    pool: Vec<T>,
    /// 1/pivot of the last row, if no row of the other lane couples to it. Otherwise empty.
    end: Vec<T>,
}

/// How the last rows of the two lanes couple.
#[derive(Clone)]
enum Meeting<T> {
    /// They do not couple: the axis is folded.
    Apart,
    /// They couple to each other: u = (e₀₀G₀ + e₀₁G₁, e₁₁G₁ + e₁₀G₀).
    Pair([Vec<T>; 4]),
    /// Both couple to one row between them: u = (f + b₀G₀ + b₁G₁)/pivot.
    Middle([T; 2], Vec<T>),
}

/// Factors of the systems of one axis.
#[derive(Clone)]
pub(crate) struct TridiagonalChain<T> {
    n: usize,
    modes: usize,
    lanes: [ChainLane<T>; 2],
    meeting: Meeting<T>,
    /// Solves without stored factors. If set, the lanes are empty.
    renewed: Option<RenewedChain>,
}

/// Maximum length of a solution for which an axis with constant spacing always stores its factors, because their memory is negligible.
const SMALL: usize = 1 << 15;

/// The numbers of rows of the two lanes of an axis with n unknowns. An open axis with odd n has one more row between them.
fn lengths(n: usize, folded: bool) -> [usize; 2] {
    if folded { [n / 2 + 1, (n - 1) / 2] } else { [n / 2, n / 2] }
}

impl<T: PoissonScalar> TridiagonalChain<T> {
    /// Factors of the systems with eigenvalues `lambda`, which include the shift. No row sum gapᵢ + λ is negative. Stores factors of at
    /// most `most` bytes.
    pub fn new(axis: &AxisOperator, lambda: &[f64], most: usize) -> Result<Self> {
        if axis.uniform.is_some() || !axis.periodic && axis.is_even() {
            let chain = Self::stored(axis, lambda)?;
            if chain.bytes() <= most || axis.len() * lambda.len() <= SMALL || axis.len() == 1 {
                return Ok(chain);
            }
        }
        let renewed = if axis.is_folded() {
            RenewedChain::new(folded_rows(axis)?, false, lambda)?
        } else {
            RenewedChain::new([copied(&axis.lower)?, copied(&axis.upper)?, copied(&axis.gap)?], axis.periodic, lambda)?
        };
        let (lanes, meeting) = ([ChainLane::empty(), ChainLane::empty()], Meeting::Apart);
        Ok(Self { n: axis.len(), modes: lambda.len(), lanes, meeting, renewed: Some(renewed) })
    }

    /// Whether factors are stored. Then rows can be eliminated one at a time.
    pub fn is_stored(&self) -> bool {
        self.renewed.is_none()
    }

    /// A chain with stored factors.
    fn stored(axis: &AxisOperator, lambda: &[f64]) -> Result<Self> {
        let n = axis.len();
        let folded = axis.periodic;
        let [first, second] = lengths(n, folded).map(|rows| 0..rows);
        let steps: [Vec<ChainStep>; 2] = if folded {
            [collected(first.map(|i| even_step(axis, i)))?, collected(second.map(|i| odd_step(axis, i + 1)))?]
        } else {
            let up = |i: usize| ChainStep { behind: axis.lower[i], ahead: axis.upper[i], gap: axis.gap[i] };
            let down = |i: usize| ChainStep { behind: axis.upper[i], ahead: axis.lower[i], gap: axis.gap[i] };
            [collected(first.map(up))?, collected(second.map(|i| down(n - 1 - i)))?]
        };
        let [one, two] = steps.each_ref().map(|steps| ChainLane::new(steps, lambda, folded));
        let ((one, q), (two, r)) = (one?, two?);
        let last = steps.each_ref().map(|steps| steps.last().map_or(0.0, |step| step.ahead));
        let meeting = match n % 2 {
            _ if folded => Meeting::Apart,
            0 => pair(&q, &r, last)?,
            _ => middle(axis, lambda, [&q, &r], last)?,
        };
        Ok(Self { n, modes: lambda.len(), lanes: [one, two], meeting, renewed: None })
    }

    /// Bytes of the factors.
    pub fn bytes(&self) -> usize {
        let of_lane = |lane: &ChainLane<T>| {
            size_of_val(&lane.pool[..]) + size_of_val(&lane.places[..]) + size_of_val(&lane.end[..])
        };
        let meeting = match &self.meeting {
            Meeting::Apart => 0,
            Meeting::Pair(entries) => entries.iter().map(|e| size_of_val(&e[..])).sum(),
            Meeting::Middle(_, end) => size_of_val(&end[..]),
        };
        let renewed = self.renewed.as_ref().map_or(0, RenewedChain::bytes);
        self.lanes.iter().map(of_lane).sum::<usize>() + meeting + renewed
    }

    /// Solves the systems of the modes from `first` on. Row k of the view belongs to mode `first + k`, column i to row i of the axis.
    #[inline(always)]
    pub fn solve(&self, first: usize, mut x: ViewMut<'_, T>) {
        debug_assert!(first.is_multiple_of(GROUP) && x.nrows() <= BLOCK && x.ncols() == self.n);
        if let Some(renewed) = &self.renewed {
            return renewed.solve(first, x);
        }
        let mut carried = [[T::ZERO; BLOCK]; 2];
        let width = x.nrows();
        let row = |lane: usize, i: usize| if lane == 0 { i } else { self.n - 1 - i };
        for lane in 0..2 {
            let carry = &mut carried[lane][..width];
            for i in 0..self.lanes[lane].regular() {
                self.lanes[lane].reduce(i, (first, self.modes), carry, x.as_mut().column(row(lane, i)));
            }
        }
        self.meet(first, &mut carried, x.as_mut());
        for lane in 0..2 {
            let carry = &mut carried[lane][..width];
            for i in (0..self.lanes[lane].regular() - self.given()).rev() {
                self.lanes[lane].substitute(i, (first, self.modes), carry, x.as_mut().column(row(lane, i)));
            }
        }
    }

    /// Replaces f by G in row `step` of a lane, for all modes. `behind` is G of the previous row.
    #[inline(always)]
    pub fn reduce_row(&self, lane: usize, step: usize, behind: Option<&[T]>, row: &mut [T]) {
        let lane = &self.lanes[lane];
        let ratio = lane.factors[step][0];
        let Some(behind) = behind else {
            for (group, x) in row.chunks_mut(GROUP).enumerate() {
                let rho = lane.rho(step, group, self.modes);
                // The product with zero gives the same bits as a previous row of zeros.
                x.iter_mut().zip(rho).for_each(|(x, rho)| *x = *rho * (*x + ratio * T::ZERO));
            }
            return;
        };
        let whole = row.len() / GROUP;
        for group in 0..whole {
            let rho = lane.rho(step, group, self.modes);
            let (c, x) = (&behind[group * GROUP..][..GROUP], &mut row[group * GROUP..][..GROUP]);
            for k in 0..GROUP {
                x[k] = rho[k] * (x[k] + ratio * c[k]);
            }
        }
        for k in whole * GROUP..row.len() {
            let rho = lane.rho(step, whole, self.modes)[k - whole * GROUP];
            row[k] = rho * (row[k] + ratio * behind[k]);
        }
    }

    /// Replaces G by u in row `step` of a lane, for all modes. `ahead` is u of the next row.
    #[inline(always)]
    pub fn substitute_row(&self, lane: usize, step: usize, ahead: &[T], row: &mut [T]) {
        let lane = &self.lanes[lane];
        let inverse = lane.factors[step][1];
        let whole = row.len() / GROUP;
        for group in 0..whole {
            let rho = lane.rho(step, group, self.modes);
            let (c, x) = (&ahead[group * GROUP..][..GROUP], &mut row[group * GROUP..][..GROUP]);
            for k in 0..GROUP {
                x[k] = x[k] * inverse + rho[k] * c[k];
            }
        }
        for k in whole * GROUP..row.len() {
            let rho = lane.rho(step, whole, self.modes)[k - whole * GROUP];
            row[k] = row[k] * inverse + rho * ahead[k];
        }
    }

    /// Replaces G by u in the rows where the lanes of an open axis meet. `x` has all rows.
    #[inline(always)]
    pub fn meet_rows(&self, x: &mut [T], row: usize) {
        let half = self.n / 2;
        match &self.meeting {
            Meeting::Apart => debug_assert!(false, "an open axis"),
            Meeting::Pair([a, b, c, d]) => {
                let (one, two) = x[(half - 1) * row..(half + 1) * row].split_at_mut(row);
                for k in 0..row {
                    let (g, h) = (one[k], two[k]);
                    one[k] = a[k] * g + b[k] * h;
                    two[k] = c[k] * h + d[k] * g;
                }
            }
            Meeting::Middle([b, c], end) if half == 0 => {
                for (x, end) in x.iter_mut().zip(end) {
                    *x = (*x + *b * T::ZERO + *c * T::ZERO) * *end;
                }
            }
            Meeting::Middle([b, c], end) => {
                let (one, rest) = x[(half - 1) * row..(half + 2) * row].split_at_mut(row);
                let (middle, two) = rest.split_at_mut(row);
                for k in 0..row {
                    middle[k] = (middle[k] + *b * one[k] + *c * two[k]) * end[k];
                }
            }
        }
    }

    /// Number of rows at the end of a lane that [`meet`](Self::meet) solves.
    pub fn given(&self) -> usize {
        usize::from(matches!(self.meeting, Meeting::Pair(_)))
    }

    /// Solves the rows where the lanes meet. `carried` has the last G of both lanes, and receives the last u.
    #[inline(always)]
    fn meet(&self, first: usize, carried: &mut [[T; BLOCK]; 2], mut x: ViewMut<'_, T>) {
        let (n, width) = (self.n, x.nrows());
        let [one, two] = carried;
        let (one, two) = (&mut one[..width], &mut two[..width]);
        match &self.meeting {
            Meeting::Apart => {
                for (lane, carry) in [one, two].into_iter().enumerate() {
                    let count = self.lanes[lane].factors.len();
                    if count > 0 {
                        let row = if lane == 0 { count - 1 } else { n - count };
                        self.lanes[lane].finish(first, carry, x.as_mut().column(row));
                    }
                }
            }
            Meeting::Pair(e) => {
                let [a, b, c, d] = e.each_ref().map(|e| &e[first..first + width]);
                for k in 0..width {
                    let (g, h) = (one[k], two[k]);
                    one[k] = a[k] * g + b[k] * h;
                    two[k] = c[k] * h + d[k] * g;
                }
                x.as_mut().column(n / 2 - 1).copy_from_slice(one);
                x.as_mut().column(n / 2).copy_from_slice(two);
            }
            Meeting::Middle([b, c], end) => {
                let (end, row) = (&end[first..first + width], x.as_mut().column(n / 2));
                for k in 0..width {
                    row[k] = (row[k] + *b * one[k] + *c * two[k]) * end[k];
                }
                one.copy_from_slice(row);
                two.copy_from_slice(row);
            }
        }
    }
}

impl<T: PoissonScalar> ChainLane<T> {
    /// A lane without rows.
    fn empty() -> Self {
        Self { factors: Vec::new(), places: Vec::new(), pool: Vec::new(), end: Vec::new() }
    }

    /// The factors of these steps, and Q of the last row for each mode. `apart`: no other row couples to the last row.
    fn new(steps: &[ChainStep], lambda: &[f64], apart: bool) -> Result<(Self, Vec<f64>)> {
        let (modes, regular) = (lambda.len(), steps.len() - usize::from(apart && !steps.is_empty()));
        let ratio = |i: usize| if i > 0 { steps[i].behind / steps[i - 1].ahead } else { 0.0 };
        let factors = collected((0..steps.len()).map(|i| [real(ratio(i)), real(1.0 / steps[i].ahead)]))?;
        let groups = modes.div_ceil(GROUP);
        let places = allocate(regular.saturating_mul(groups), 0)?;
        let mut lane = Self { factors, places, pool: Vec::new(), end: Vec::new() };
        let mut excess = allocate(modes, 0.0)?;
        for (group, (lambda, excess)) in lambda.chunks(GROUP).zip(excess.chunks_mut(GROUP)).enumerate() {
            lane.eliminate(steps, (lambda, excess), (group, groups))?;
        }
        if apart {
            // Only the constant of a singular problem has pivot 0. Its coefficient is set to zero here.
            let inverse = |q: &f64| if *q == 0.0 { T::ZERO } else { real(1.0 / q) };
            lane.end = if steps.is_empty() { Vec::new() } else { collected(excess.iter().map(inverse))? };
        }
        Ok((lane, excess))
    }

    /// Stores ρ of a group of modes, and writes Q of the last row to `excess`.
    fn eliminate(
        &mut self,
        steps: &[ChainStep],
        (lambda, excess): (&[f64], &mut [f64]),
        (group, groups): (usize, usize),
    ) -> Result<()> {
        let regular = self.places.len() / groups.max(1);
        let mut fixed = false;
        let mut gaps: [PivotGap; GROUP] =
            core::array::from_fn(|k| PivotGap::new(lambda.get(k).copied().unwrap_or(1.0)));
        for i in 0..steps.len() {
            // If Q did not change and the rows are equal, Q does not change in the next row either.
            fixed = fixed && i > 1 && steps[i] == steps[i - 1];
            let mut changed = false;
            if !fixed {
                let before = if i > 0 { [steps[i].behind, steps[i - 1].ahead] } else { [0.0; 2] };
                for (q, gap) in excess.iter_mut().zip(&mut gaps) {
                    changed |= gap.advance(steps[i].gap, before);
                    *q = gap.value();
                }
            }
            fixed = fixed || !changed && i > 1 && steps[i] == steps[i - 1];
            if i >= regular {
                continue;
            }
            if fixed {
                self.places[i * groups + group] = self.places[(i - 1) * groups + group];
                continue;
            }
            self.places[i * groups + group] =
                u32::try_from(self.pool.len() / GROUP).map_err(|_| out_of_memory::<T>(self.pool.len()))?;
            let ahead = steps[i].ahead;
            if self.pool.capacity() - self.pool.len() < GROUP {
                // Doubling would reserve memory that is never used, so the pool grows by an eighth.
                let more = (self.pool.len() / 8).next_multiple_of(GROUP).max(GROUP);
                self.pool.try_reserve_exact(more).map_err(|_| out_of_memory::<T>(self.pool.len() + more))?;
            }
            self.pool.extend(excess.iter().map(|q| real::<T>(ahead / (q + ahead))));
            self.pool.extend(core::iter::repeat_n(T::ZERO, GROUP - excess.len()));
        }
        Ok(())
    }

    /// Number of rows with ρ: all rows, or all except the last if the lane has an `end`.
    fn regular(&self) -> usize {
        self.factors.len() - usize::from(!self.end.is_empty())
    }

    /// ρ of a step and a group.
    #[inline(always)]
    fn rho(&self, i: usize, group: usize, modes: usize) -> &[T] {
        let place = self.places[i * modes.div_ceil(GROUP) + group] as usize;
        &self.pool[place * GROUP..(place + 1) * GROUP]
    }

    /// Replaces f by G in row i. `carry` has G of the previous row, and receives G of this row.
    #[inline(always)]
    fn reduce(&self, i: usize, (first, modes): (usize, usize), carry: &mut [T], row: &mut [T]) {
        let ratio = self.factors[i][0];
        let groups = row.len() / GROUP;
        for group in 0..groups {
            let rho = self.rho(i, first / GROUP + group, modes);
            let (c, x) = (&mut carry[group * GROUP..][..GROUP], &mut row[group * GROUP..][..GROUP]);
            for k in 0..GROUP {
                let g = rho[k] * (x[k] + ratio * c[k]);
                (c[k], x[k]) = (g, g);
            }
        }
        for k in groups * GROUP..row.len() {
            let rho = self.rho(i, first / GROUP + groups, modes)[k - groups * GROUP];
            let g = rho * (row[k] + ratio * carry[k]);
            (carry[k], row[k]) = (g, g);
        }
    }

    /// Replaces G by u in row i. `carry` has u of the next row, and receives u of this row.
    #[inline(always)]
    fn substitute(&self, i: usize, (first, modes): (usize, usize), carry: &mut [T], row: &mut [T]) {
        let inverse = self.factors[i][1];
        let groups = row.len() / GROUP;
        for group in 0..groups {
            let rho = self.rho(i, first / GROUP + group, modes);
            let (c, x) = (&mut carry[group * GROUP..][..GROUP], &mut row[group * GROUP..][..GROUP]);
            for k in 0..GROUP {
                let u = x[k] * inverse + rho[k] * c[k];
                (c[k], x[k]) = (u, u);
            }
        }
        for k in groups * GROUP..row.len() {
            let rho = self.rho(i, first / GROUP + groups, modes)[k - groups * GROUP];
            let u = row[k] * inverse + rho * carry[k];
            (carry[k], row[k]) = (u, u);
        }
    }

    /// Replaces f by u in the last row of a lane with an `end`.
    #[inline(always)]
    fn finish(&self, first: usize, carry: &mut [T], row: &mut [T]) {
        let ratio = self.factors[self.factors.len() - 1][0];
        for ((c, x), end) in carry.iter_mut().zip(row).zip(&self.end[first..]) {
            *c = *end * (*x + ratio * *c);
            *x = *c;
        }
    }
}

/// The inverse for two last rows that couple to each other by `a`. `q` and `r` are their Q.
fn pair<T: PoissonScalar>(q: &[f64], r: &[f64], a: [f64; 2]) -> Result<Meeting<T>> {
    let entry = |which: usize| {
        let of = |(q, r): (&f64, &f64)| {
            // Divided by the pivots, so nothing overflows. The determinant is 1 − through[0]·through[1], without the cancellation.
            let (p, s) = (q + a[0], r + a[1]);
            let (gaps, through) = ([q / p, r / s], [a[0] / p, a[1] / s]);
            let determinant = gaps[0] * gaps[1] + gaps[0] * through[1] + through[0] * gaps[1];
            // The constant of a singular problem: u₁ is set to zero. G is a·f/pivot.
            let singular = determinant == 0.0;
            match which {
                0 if singular => 1.0 / a[0],
                _ if singular => 0.0,
                0 => 1.0 / (a[0] * determinant),
                1 => through[0] / (a[1] * determinant),
                2 => 1.0 / (a[1] * determinant),
                _ => through[1] / (a[0] * determinant),
            }
        };
        collected(q.iter().zip(r).map(of).map(real))
    };
    Ok(Meeting::Pair([entry(0)?, entry(1)?, entry(2)?, entry(3)?]))
}

/// The row between two lanes. Their last rows have the Q in `q` and couple to this row by `a`.
fn middle<T: PoissonScalar>(axis: &AxisOperator, lambda: &[f64], q: [&[f64]; 2], a: [f64; 2]) -> Result<Meeting<T>> {
    let m = axis.len() / 2;
    let couplings = [axis.lower[m], axis.upper[m]];
    let lanes = m > 0;
    let inverse = |(k, lambda): (usize, &f64)| {
        let through = |lane: usize| if lanes { couplings[lane] / (1.0 + a[lane] / q[lane][k]) } else { 0.0 };
        let pivot = axis.gap[m] + lambda + through(0) + through(1);
        if pivot == 0.0 { T::ZERO } else { real(1.0 / pivot) }
    };
    let end = collected(lambda.iter().enumerate().map(inverse))?;
    let ratio = |lane: usize| if lanes { couplings[lane] / a[lane] } else { 0.0 };
    Ok(Meeting::Middle([real(ratio(0)), real(ratio(1))], end))
}
