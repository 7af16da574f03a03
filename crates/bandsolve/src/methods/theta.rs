//! The common part of parallel diagonal pivoting and CF-LU: leading minors by a second-order recurrence.
//!
//! ```text
//! θᵢ = bᵢ θᵢ₋₁ − aᵢ cᵢ₋₁ θᵢ₋₂,   θ₋₁ = 1,   θ₋₂ = 0,   b̂ᵢ = θᵢ / θᵢ₋₁
//! ```
//!
//! The leading entries b̂ do not depend on whether earlier pivots are 1 × 1 or 2 × 2. They are therefore computed before the pivots are
//! chosen. Rows are scaled by powers of two. The minors of a group are multiplied by a common factor from row to row, which keeps them in
//! range and does not change their ratios. Three sweeps run over each tile while it is in cache:
//!
//! 1. Compute both columns of the 2 × 2 transfer of (θᵢ, θᵢ₋₁) for each group. The state passes through the transfers to the next tile.
//! 2. Compute the minors of each group from the state before it. For each row, store a bit: whether a 2 × 2 pivot would start there.
//!    Determine whether the row after the group is the second one of a pivot, for both cases of its first row. The answers and the last
//!    minors are a second state that passes from tile to tile.
//! 3. Compute the minors again, starting from those after the previous group in sweep 2, and write the factors.
//!
//! A transfer nearly has rank one, so a state near its kernel loses digits. A sweep over rows does not lose digits, and its result depends
//! only weakly on the state before. Sweep 3 therefore starts from the results of sweep 2.
//!
//! A solve reads the factors but not the matrix. In double precision, factoring reads 24 bytes per row and writes 41. A solve reads 48
//! bytes per row forward and 49 backward, and writes 8 bytes each time.
//!
//! Source: Chang, thesis, chapter 4. a, b, c, d → sub, diag, sup, rhs.

use crate::contract::determinant::ScaledProduct;
use crate::decision::Options;
use crate::error::Result;
use crate::methods::diagonal_pivoting::{Minors, PivotFactors, RowPivot, ScaledRow, scaled};
use crate::methods::stored::Elimination;
use crate::recurrence::{Carry, SCAN_GROUPS, Scan, ScanTile, run};
use crate::tuning::SCAN_TILE_ROWS;
use bandsolve_kernel::rows::Rows;
use bandsolve_kernel::scalar::peak;
use bandsolve_kernel::{RealScalar, Scalar};
use core::sync::atomic::{AtomicBool, Ordering};
use dyn_stack::PodStack;

/// Factors of an open system. If `PAIRS`, 2 × 2 pivots are used where they are needed.
///
/// # Cost
/// Factor: 40 flops and 3 divisions per row (36 flops without pairs). Solve: 17 flops per row and right-hand side.
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

    /// Return the determinant only with 2 × 2 pivots, because without them pivots can lose digits.
    fn product(&self, rows: &Rows<'_, T>) -> Option<ScaledProduct> {
        PAIRS.then(|| self.factors.product(rows))
    }

    fn solve(&self, _rows: &Rows<'_, T>, x: &mut [T], _stack: &mut PodStack) {
        self.factors.solve(x, Some(self.threads));
    }
}

/// The state between two groups of sweep 2.
#[derive(Debug, Clone, Copy)]
struct GroupBorder<T> {
    /// Whether the next row is the second one of a 2 × 2 pivot.
    second: bool,
    /// The minors of the previous row.
    minors: Minors<T>,
}

/// The sweeps over a tile.
struct Sweeps<'m, T, const PAIRS: bool> {
    rows: &'m Rows<'m, T>,
    structure: Carry<GroupBorder<T>>,
    singular: AtomicBool,
}

/// The position of a row: it is row `step` of group `g`.
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
    /// The scaled `sup` entry of the row before `row`.
    fn sup_before(&self, row: usize) -> T {
        if row == 0 { T::ZERO } else { scaled(self.rows, row - 1).entries[2] }
    }

    /// Compute the minors of groups of `len` rows from row `first` on. `minors` holds those of the row before each group. Calls `each`
    /// with the position, the minors, and the row and the next two rows.
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

/// The rows at which 2 × 2 pivots would start: one byte per step with one bit per group.
type Begins = [u8; SCAN_TILE_ROWS / SCAN_GROUPS];

impl<'x, T: Scalar, const PAIRS: bool> Scan<(&'x mut [RowPivot<T>], &'x mut [bool])> for Sweeps<'_, T, PAIRS> {
    type State = Minors<T>;
    /// The images of (1, 0) and (0, 1).
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
        let (mut begins, mut second): (Begins, _) = ([0; SCAN_TILE_ROWS / SCAN_GROUPS], [[false, true]; G]);
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
    /// Do sweep 3.
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
