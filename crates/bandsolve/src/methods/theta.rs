//! The core of parallel diagonal pivoting and of CF-LU: leading minors by a second-order recurrence.
//!
//! $$ \theta_i = b_i\,\theta_{i-1} - a_i c_{i-1}\,\theta_{i-2}, \qquad \theta_{-1} = 1, \quad \theta_{-2} = 0, \qquad \hat b_i = \theta_i / \theta_{i-1} $$
//!
//! The leading entries b̂ are the same whether the rows before are pivots of one row or of two, so they can be found before
//! the structure is. Rows are scaled by powers of two first; the minors of a group are multiplied by powers of two as they
//! are formed, or divided by one of them: that keeps them in range and leaves their ratio. A tile is swept three times
//! while it is in cache:
//!
//! 1. Both columns of the 2×2 transfer of (θᵢ, θᵢ₋₁) of every group. The state runs through them, and on to the next tile.
//! 2. From the state that enters each group, its minors again: where pivots of two rows would begin, which is a bit for every
//!    row; whether the row after the group is the second of two, for both answers to that question for the group's first row;
//!    and the minors that leave. These answers and minors are the second state that goes from tile to tile.
//! 3. The minors again, from those that *left* the group before in sweep 2, and the factors.
//!
//! A transfer is nearly of rank one, and a state that nearly is in its kernel comes out with few digits. A sweep of rows has no
//! such trouble, and what leaves it hardly depends on what entered. So the third sweep begins with what the second left.
//!
//! The factors, written once, serve any number of right-hand sides, and the matrix is not read again. In double precision
//! factoring reads 24 bytes a row and writes 41. A solve reads 48 forward and 49 backward and writes 8 each time.
//!
//! Source: Chang, thesis, chapter 4. a, b, c, d → sub, diag, sup, rhs.

use crate::contract::determinant::ScaledProduct;
use crate::decision::Options;
use crate::error::Result;
use crate::methods::diagonal_pivoting::{Minors, PivotFactors, RowPivot, ScaledRow, scaled};
use crate::methods::stored::Elimination;
use crate::recurrence::{Carry, GROUPS, Scan, ScanTile, run};
use crate::tuning::SCAN_TILE_ROWS;
use bandsolve_kernel::rows::Rows;
use bandsolve_kernel::scalar::peak;
use bandsolve_kernel::{RealScalar, Scalar};
use core::sync::atomic::{AtomicBool, Ordering};
use dyn_stack::PodStack;

/// Factors of an open system, with pivots of two rows where they are needed if `PAIRS`.
///
/// # Cost
/// Factor: 40 flops and 3 divisions a row (36 without pairs). Solve: 17 flops a row and right-hand side.
#[derive(Debug)]
pub(crate) struct Theta<T, const PAIRS: bool> {
    factors: PivotFactors<T>,
    threads: usize,
}

impl<T: Scalar, const PAIRS: bool> Elimination<T> for Theta<T, PAIRS> {
    fn new(rows: &Rows<'_, T>, options: &Options) -> Result<Self> {
        let mut factors = PivotFactors::new(rows.n())?;
        let start = Minors { last: T::ONE, before: T::ZERO, older: T::ZERO };
        let structure = Carry::new(GroupBorder { second: false, minors: start });
        let sweeps = Sweeps::<T, PAIRS> { rows, structure, singular: AtomicBool::new(false) };
        run(&sweeps, (&mut factors.pivots[..], &mut factors.pair[..]), start, options.threads);
        factors.singular = sweeps.singular.into_inner();
        Ok(Self { factors, threads: options.threads })
    }

    fn is_singular(&self) -> bool {
        self.factors.singular
    }

    /// Only where pivots may be of two rows: without, they lose digits unseen.
    fn product(&self, rows: &Rows<'_, T>) -> Option<ScaledProduct> {
        PAIRS.then(|| self.factors.product(rows))
    }

    fn solve(&self, _rows: &Rows<'_, T>, x: &mut [T], _stack: &mut PodStack) {
        self.factors.solve(x, Some(self.threads));
    }
}

/// What crosses from one group to the next when the structure is decided.
#[derive(Debug, Clone, Copy)]
struct GroupBorder<T> {
    /// Whether the next row is the second of two.
    second: bool,
    /// Of the row before.
    minors: Minors<T>,
}

/// The sweeps over a tile.
struct Sweeps<'m, T, const PAIRS: bool> {
    rows: &'m Rows<'m, T>,
    structure: Carry<GroupBorder<T>>,
    singular: AtomicBool,
}

/// A row and its place: `step` rows into group `g`.
struct RowPlace {
    g: usize,
    step: usize,
    row: usize,
}

/// The larger modulus.
#[inline(always)]
fn larger<T: Scalar>(a: T, b: T) -> T::Real {
    peak(a).max_nan(peak(b))
}

impl<T: Scalar, const PAIRS: bool> Sweeps<'_, T, PAIRS> {
    /// The upper entry of the row before `row`.
    fn sup_before(&self, row: usize) -> T {
        if row == 0 { T::ZERO } else { scaled(self.rows, row - 1).entries[2] }
    }

    /// Forms the minors of all rows of groups of `len` rows from `first` on, given those of the row before each; `each`
    /// sees the place, the minors, and the row with the two after it.
    #[inline(always)]
    fn sweep<const G: usize>(
        &self,
        (first, len): (usize, usize),
        minors: &mut [Minors<T>; G],
        mut each: impl FnMut(RowPlace, Minors<T>, &[ScaledRow<T>; 3]),
    ) {
        let mut sup: [T; G] = core::array::from_fn(|g| self.sup_before(first + g * len));
        let mut window: [[ScaledRow<T>; 2]; G] =
            core::array::from_fn(|g| [0, 1].map(|ahead| scaled(self.rows, first + g * len + ahead)));
        for step in 0..len {
            for g in 0..G {
                let row = first + g * len + step;
                let [here, next] = window[g];
                let after = scaled(self.rows, row + 2);
                let raw = minors[g].follow(sup[g], &here);
                minors[g] = raw.normalized();
                each(RowPlace { g, step, row }, minors[g], &[here, next, after]);
                sup[g] = here.entries[2];
                window[g] = [next, after];
            }
        }
    }
}

/// Where pivots of two rows would begin: a byte for each step, a bit for each group.
type Begins = [u8; SCAN_TILE_ROWS / GROUPS];

impl<'x, T: Scalar, const PAIRS: bool> Scan<(&'x mut [RowPivot<T>], &'x mut [bool])> for Sweeps<'_, T, PAIRS> {
    type State = Minors<T>;
    /// What (1, 0) and (0, 1) become.
    type Transfer = [[T; 2]; 2];
    const REVERSED: bool = false;

    fn transfers<const G: usize>(&self, tile: &PivotOutput<'x, T>) -> [[[T; 2]; 2]; G] {
        let (first, len) = (tile.offset, tile.group_rows::<G>());
        let mut sup: [T; G] = core::array::from_fn(|g| self.sup_before(first + g * len));
        let mut transfers = [[[T::ONE, T::ZERO], [T::ZERO, T::ONE]]; G];
        for step in 0..len {
            for g in 0..G {
                let [a, b, c] = scaled(self.rows, first + g * len + step).entries;
                let product = a * sup[g];
                sup[g] = c;
                let [p, q] = transfers[g].map(|[last, before]| [b * last - product * before, last]);
                let scale = larger(p[0], p[1]).max_nan(larger(q[0], q[1])).normalizer();
                transfers[g] = [p, q].map(|column| column.map(|v| v.scale(scale)));
            }
        }
        transfers
    }

    fn apply<const G: usize>(
        &self,
        _tile: &PivotOutput<'x, T>,
        _g: usize,
        [p, q]: &[[T; 2]; 2],
        Minors { last, before, .. }: Minors<T>,
    ) -> Minors<T> {
        let result = [0, 1].map(|k| p[k] * last + q[k] * before);
        let minors = Minors { last: result[0], before: result[1], older: T::ZERO };
        minors.scale(larger(result[0], result[1]).normalizer())
    }

    fn finish<const G: usize>(&self, tile: &mut PivotOutput<'x, T>, mut leaving: [Minors<T>; G]) -> bool {
        let groups = (tile.offset, tile.group_rows::<G>());
        let (mut begins, mut second): (Begins, _) = ([0; SCAN_TILE_ROWS / GROUPS], [[false, true]; G]);
        self.sweep(groups, &mut leaving, |RowPlace { g, step, row }, minors, [here, next, after]| {
            let begin = PAIRS && row + 1 < self.rows.n() && minors.begin_pair(here, next, after);
            begins[step] |= u8::from(begin) << g;
            second[g] = second[g].map(|second| begin && !second);
        });
        let entering = self.structure.pass::<G>(tile.index, |g, border| GroupBorder {
            second: second[g][usize::from(border.second)],
            minors: leaving[g],
        });
        entering.map(|entering| self.write(tile, &begins, entering)).is_some()
    }

    fn give_up(&self) {
        self.structure.give_up();
    }
}

type PivotOutput<'x, T> = ScanTile<(&'x mut [RowPivot<T>], &'x mut [bool])>;

impl<T: Scalar, const PAIRS: bool> Sweeps<'_, T, PAIRS> {
    /// The third sweep.
    fn write<const G: usize>(&self, tile: &mut PivotOutput<'_, T>, begins: &Begins, entering: [GroupBorder<T>; G]) {
        let groups = (tile.offset, tile.group_rows::<G>());
        let (mut minors, mut second) = (entering.map(|border| border.minors), entering.map(|border| border.second));
        let (pivots, pair) = &mut tile.output;
        let mut singular = false;
        self.sweep(groups, &mut minors, |RowPlace { g, step, row }, minors, [here, next, _]| {
            let (at, begin) = (row - groups.0, begins[step] >> g & 1 == 1 && !second[g]);
            pair[at] = begin;
            let zero;
            (pivots[at], zero) = RowPivot::new(minors, here, next, begin, second[g]);
            singular |= zero;
            second[g] = begin;
        });
        if singular {
            self.singular.store(true, Ordering::Relaxed);
        }
    }
}
