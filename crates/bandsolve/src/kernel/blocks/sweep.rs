//! Elimination through a tile of block rows.
//!
//! A panel has 2b rows and the columns `near` (b, the unknowns that are eliminated), `next` (b), `after` (b), the right-hand
//! sides and, in `reduce`, `spike` (b, the unknowns at the far end of the partition). Its first b rows are the equations
//! carried along, the others the next block row.

use super::super::Machine;
use super::super::element::Element;
use super::super::lanes::Lanes;
use super::super::run::{Found, MAX_LANES, Span};
use super::super::sweep::{CHECK_VECTORS, COMPLEX_SLACK, Check, MAX_RHS, read_check};
use super::stage::Tile;
use super::{Target, Task};
use crate::scalar::{RealScalar, Scalar};
use core::mem::MaybeUninit;

/// Rows of the largest panel.
const PANEL_ROWS: usize = 2 * crate::tuning::SMALL_BLOCK_MAX;

/// Which block of a row couples to what lies behind, walking down or up: indices of the blocks left of, on and right of the
/// diagonal.
#[derive(Clone, Copy)]
struct Walk {
    behind: usize,
    ahead: usize,
}

const DOWN: Walk = Walk { behind: 0, ahead: 2 };
const UP: Walk = Walk { behind: 2, ahead: 0 };
const DIAGONAL: usize = 1;

impl<T: Scalar, V: Lanes<Real = T::Real>, const B: usize> Tile<T, V, B> {
    /// Place of row r, column w of the panel.
    #[inline(always)]
    fn panel(&self, r: usize, w: usize) -> usize {
        self.at.panel + w * 2 * self.b() + r
    }

    /// Place of entry r of right-hand side s of block row j.
    #[inline(always)]
    fn rhs(&self, j: usize, s: usize, r: usize) -> usize {
        self.at.rhs + (s * self.m + j) * self.b() + r
    }

    /// Sets rows `first .. first + b` of the panel to zero in the columns of block `w`.
    #[inline(always)]
    fn clear(&self, first: usize, w: usize) {
        let b = self.b();
        for c in 0..b {
            for r in 0..b {
                self.store(self.panel(first + r, w + c), self.zero);
            }
        }
    }

    /// Copies block `k` of block row `j` to rows `first ..` and columns `w ..` of the panel.
    #[inline(always)]
    fn lay(&self, (j, k): (usize, usize), first: usize, w: usize) {
        let b = self.b();
        for c in 0..b {
            for r in 0..b {
                self.store(self.panel(first + r, w + c), self.entry((j, k), r, c));
            }
        }
    }

    /// Copies the right-hand sides of block row `j`.
    #[inline(always)]
    fn lay_rhs(&self, j: usize, first: usize) {
        let b = self.b();
        for s in 0..self.n_rhs {
            for r in 0..b {
                self.store(self.panel(first + r, 3 * b + s), self.load(self.rhs(j, s, r)));
            }
        }
    }

    /// Subtracts block `k` of block row `j` times the unknowns `x` from the right-hand sides in the panel.
    #[inline(always)]
    fn move_known(&self, (j, k): (usize, usize), first: usize, x: usize) {
        let b = self.b();
        for s in 0..self.n_rhs {
            for r in 0..b {
                let at = self.panel(first + r, 3 * b + s);
                let mut sum = self.load(at);
                for c in 0..b {
                    sum = self.entry((j, k), r, c).neg_mul_add(self.load(self.x(s, x, c)), sum);
                }
                self.store(at, sum);
            }
        }
    }

    /// Makes the equations that are left those carried along: `next` becomes `near`, `after` becomes `next`.
    #[inline(always)]
    fn shift(&self, width: usize) {
        let b = self.b();
        for w in b..3 * b {
            for r in 0..b {
                self.store(self.panel(r, w - b), self.load(self.panel(b + r, w)));
            }
        }
        for w in 3 * b..width {
            for r in 0..b {
                self.store(self.panel(r, w), self.load(self.panel(b + r, w)));
            }
        }
    }

    /// Eliminates the first b columns of the panel, with the largest pivots or, unless rows may be `exchange`d, with those on
    /// the diagonal. Rows 0 … b−1 become pivot rows, with 1/pivot on the diagonal; the others hold none of the b unknowns any
    /// more (their first b columns are not written).
    #[inline(always)]
    fn eliminate(&self, width: usize, exchange: T::Real) {
        for c in 0..self.b() {
            self.eliminate_column(c, width, V::splat(exchange));
        }
    }

    #[inline(always)]
    fn eliminate_column(&self, c: usize, width: usize, exchange: V) {
        let rows = 2 * self.b();
        let number = |r: usize| V::splat(T::Real::from_f64(r as f64));
        let top = self.load(self.panel(c, c));
        let (mut best, mut chosen) = (top.abs1(), number(c));
        for r in c + 1..rows {
            let size = self.load(self.panel(r, c)).abs1() * exchange;
            let better = size.gt(best);
            best = V::select(better, size, best);
            chosen = V::select(better, number(r), chosen);
        }
        // Where row r is the pivot row, row c takes its place.
        let half = V::splat(T::Real::from_f64(0.5));
        let mut takes = [const { MaybeUninit::uninit() }; PANEL_ROWS];
        let mut pivot = top;
        for r in c + 1..rows {
            let take = half.gt((chosen - number(r)).abs());
            takes[r].write(take);
            pivot = T::Element::select(take, self.load(self.panel(r, c)), pivot);
        }
        let recip = (pivot + T::Element::<V>::splat(T::Real::GUARD)).recip();
        self.store(self.panel(c, c), recip);
        let mut factors = [const { MaybeUninit::uninit() }; PANEL_ROWS];
        for r in c + 1..rows {
            // SAFETY: written above, as all rows below c are.
            let take = unsafe { takes[r].assume_init() };
            factors[r].write(T::Element::select(take, top, self.load(self.panel(r, c))) * recip);
        }
        for w in c + 1..width {
            let top = self.load(self.panel(c, w));
            let mut pivot = top;
            for r in c + 1..rows {
                // SAFETY: written above.
                let take = unsafe { takes[r].assume_init() };
                pivot = T::Element::select(take, self.load(self.panel(r, w)), pivot);
            }
            self.store(self.panel(c, w), pivot);
            for r in c + 1..rows {
                // SAFETY: written above.
                let (take, factor): (V::Mask, T::Element<V>) =
                    unsafe { (takes[r].assume_init(), factors[r].assume_init()) };
                let own = T::Element::select(take, top, self.load(self.panel(r, w)));
                self.store(self.panel(r, w), factor.neg_mul_add(pivot, own));
            }
        }
    }

    /// Eliminates through the partitions. `reduce`: their inside from both ends, which leaves an equation for the last
    /// unknowns (`ends` 1) and one for the first (`ends` 0). Else once, downwards, with known ends, and solves for the inside.
    /// (One loop for all, as what is inlined here takes long to compile.)
    #[inline(always)]
    pub fn eliminate_inside(&self, exchange: T::Real, reduce: bool) {
        let (b, m) = (self.b(), self.m);
        let width = if reduce { 4 * b } else { 3 * b } + self.n_rhs;
        for pass in 0..2 {
            // The second pass of `substitute` is one step only.
            let (walk, steps) = if reduce {
                (if pass == 0 { DOWN } else { UP }, 1..m)
            } else {
                (DOWN, 1..if pass == 0 { m } else { 3.min(m) })
            };
            for step in steps {
                let j = if walk.behind == 0 { step } else { m - 1 - step };
                let first = if step == 1 { 0 } else { b };
                match (reduce, pass) {
                    (true, _) => self.lay_row(walk, j, first),
                    (false, 0) => self.lay_known_row(j, first),
                    (false, _) => self.lay_first_row(first),
                }
                if step == 1 {
                    continue;
                }
                self.clear(0, 2 * b);
                self.eliminate(width, exchange);
                if !reduce {
                    self.keep_pivots(step - 1, width);
                }
                self.shift(width);
            }
            match (reduce, pass) {
                (true, _) => self.keep_end(walk),
                (false, 0) => (1..m - 1).rev().for_each(|j| self.back_substitute(j)),
                (false, _) if m > 2 => self.back_substitute(1),
                _ => {}
            }
        }
    }

    /// Lays block row `j`, and couplings to the far end of the partition, in rows `first ..` of the panel: as the equations
    /// carried along (0) or the next row (b).
    #[inline(always)]
    fn lay_row(&self, walk: Walk, j: usize, first: usize) {
        let b = self.b();
        let spike = 3 * b + self.n_rhs;
        self.lay_rhs(j, first);
        if first == 0 {
            self.lay((j, walk.behind), 0, spike);
            self.lay((j, DIAGONAL), 0, 0);
            self.lay((j, walk.ahead), 0, b);
        } else {
            self.clear(b, spike);
            self.lay((j, walk.behind), b, 0);
            self.lay((j, DIAGONAL), b, b);
            self.lay((j, walk.ahead), b, 2 * b);
        }
    }

    /// The same, walking down, where the ends of the partition are known: what they contribute goes to the right-hand sides.
    #[inline(always)]
    fn lay_known_row(&self, j: usize, first: usize) {
        let (b, m) = (self.b(), self.m);
        self.lay_rhs(j, first);
        let [left, on, right] = if first == 0 { [2 * b, 0, b] } else { [0, b, 2 * b] };
        for (k, w, inside) in [(0, left, j > 1), (1, on, j + 1 < m), (2, right, j + 2 < m)] {
            if inside {
                self.lay((j, k), first, w);
            } else {
                self.move_known((j, k), first, j + k);
                self.clear(first, w);
            }
        }
    }

    /// For the unknowns next to the first ones, all others being known: their pivot rows (`first` 0) and the first row of the
    /// partition (b), which elimination has left out. Where that has the larger coefficients, an error in the first unknowns is
    /// made good here instead of spoiling it.
    #[inline(always)]
    fn lay_first_row(&self, first: usize) {
        let (b, width) = (self.b(), 3 * self.b() + self.n_rhs);
        self.clear(first, b);
        self.clear(first, 2 * b);
        if first > 0 {
            self.lay((0, DOWN.ahead), first, 0);
            self.lay_rhs(0, first);
            self.move_known((0, DOWN.behind), first, 0);
            self.move_known((0, DIAGONAL), first, 1);
            return;
        }
        for r in 0..b {
            for c in 0..b {
                let pivot = self.load(self.pivots(1, width, (r, c)));
                let entry = if c == r {
                    pivot.recip()
                } else if c > r {
                    pivot
                } else {
                    self.zero
                };
                self.store(self.panel(r, c), entry);
            }
            for s in 0..self.n_rhs {
                let mut sum = self.load(self.pivots(1, width, (r, 3 * b + s)));
                for w in b..3 * b {
                    sum = self.load(self.pivots(1, width, (r, w))).neg_mul_add(self.load(self.x(s, 2, w)), sum);
                }
                self.store(self.panel(r, 3 * b + s), sum);
            }
        }
    }

    /// Keeps the equation that is left at an end of the partition.
    #[inline(always)]
    fn keep_end(&self, walk: Walk) {
        let b = self.b();
        let spike = 3 * b + self.n_rhs;
        // Blocks in the order left of, on, right of the diagonal: the far end of the partition lies behind.
        let (which, columns) = if walk.behind == 0 { (1, [spike, 0, b]) } else { (0, [b, 0, spike]) };
        let to = self.at.ends + which * self.ends_len();
        for k in 0..3 {
            for c in 0..b {
                for r in 0..b {
                    self.store(to + k * b * b + c * b + r, self.load(self.panel(r, columns[k] + c)));
                }
            }
        }
        for s in 0..self.n_rhs {
            for r in 0..b {
                self.store(to + 3 * b * b + s * b + r, self.load(self.panel(r, 3 * b + s)));
            }
        }
    }

    /// Place of row r, column w of the pivot rows of unknown block `j`.
    #[inline(always)]
    fn pivots(&self, j: usize, width: usize, (r, w): (usize, usize)) -> usize {
        self.at.pivots + (j * width + w) * self.b() + r
    }

    #[inline(always)]
    fn keep_pivots(&self, j: usize, width: usize) {
        for w in 0..width {
            for r in 0..self.b() {
                self.store(self.pivots(j, width, (r, w)), self.load(self.panel(r, w)));
            }
        }
    }

    /// Unknown block `j` from its pivot rows and the two blocks after it.
    #[inline(always)]
    fn back_substitute(&self, j: usize) {
        let b = self.b();
        let width = 3 * b + self.n_rhs;
        for s in 0..self.n_rhs {
            for r in (0..b).rev() {
                let mut sum = self.load(self.pivots(j, width, (r, 3 * b + s)));
                for w in r + 1..3 * b {
                    // Block j stands at j + 1, the two after it behind it.
                    let x = self.load(self.x(s, j + 1, w));
                    sum = self.load(self.pivots(j, width, (r, w))).neg_mul_add(x, sum);
                }
                let recip = self.load(self.pivots(j, width, (r, r)));
                self.store(self.x(s, j + 1, r), sum * recip);
            }
        }
    }

    #[inline(always)]
    pub fn new_checks(&self, task: &Task<'_, T>) -> [Check<V>; MAX_RHS] {
        let mut checks = [Check::new(T::Real::ZERO); MAX_RHS];
        if let Task::Substitute(Target { x_max, .. }) = task {
            for s in 0..MAX_RHS {
                checks[s] = Check::new(x_max[s]);
            }
        }
        checks
    }

    /// Takes the residuals of all rows of tile `t` into the checks, and keeps the gap of every partition.
    #[inline(always)]
    pub fn check(&self, checks: &mut [Check<V>; MAX_RHS], to: &mut Target<'_, T>, (span, t): (Span, usize)) {
        let b = self.b();
        for s in 0..self.n_rhs {
            let mut check = Check::<V>::new(to.x_max[s]);
            for j in 0..self.m {
                for i in 0..b {
                    check.see_x(self.load(self.x(s, j + 1, i)).measure());
                }
                for r in 0..b {
                    let rhs = self.load(self.rhs(j, s, r));
                    let (mut residual, mut sum) = (rhs, V::splat(T::Real::ZERO));
                    for k in 0..3 {
                        for c in 0..b {
                            let a = self.entry((j, k), r, c);
                            residual = a.neg_mul_add(self.load(self.x(s, j + k, c)), residual);
                            sum = sum + a.measure();
                        }
                    }
                    check.see_row(residual.measure(), sum, rhs.measure());
                }
            }
            checks[s] = checks[s].and(&check);
            let mut gaps = [T::Real::ZERO; MAX_LANES];
            // SAFETY: there is room for the lanes of the widest vector.
            unsafe { check.gap().store(gaps.as_mut_ptr()) }
            to.gaps[s][t * span.lanes..][..span.lanes].copy_from_slice(&gaps[..span.lanes]);
        }
    }

    #[inline(always)]
    pub fn found(&self, checks: &[Check<V>; MAX_RHS]) -> [Found; MAX_RHS] {
        let mut found = [Found::default(); MAX_RHS];
        // Lanes of the widest vector.
        let mut stored = [T::Real::ZERO; CHECK_VECTORS * MAX_LANES];
        let slack = if T::COMPLEX { COMPLEX_SLACK } else { 1.0 };
        for s in 0..self.n_rhs {
            // SAFETY: there is room for the vectors of all lanes.
            unsafe { checks[s].store(stored.as_mut_ptr()) }
            found[s] = read_check(&stored[..CHECK_VECTORS * V::W], slack);
        }
        found
    }
}
