//! `reduce`: turn a run of tiles into equations of the coarse system.
//!
//! Each step of a sweep depends on the step before, but the staging of a tile depends on nothing. The two are therefore
//! interleaved row by row. While a tile is staged, its rows are eliminated downwards and those of the previous tile
//! upwards.

use super::sweep::{Chain, LanePivots, Least, MAX_RHS, rule};
use super::tile::{ARRAYS, STAGED_ROWS, SweepOptions, TileRows, TileRun, special};
use super::{Job, Machine};
use crate::job::kernel;
use crate::number::{Element, Lanes, Scalar};

/// The arguments of a reduction.
pub struct Reduce<T: Scalar> {
    pub(super) run: TileRun<T>,
    pub(super) tiles: [*mut T::Real; 2],
    pub(super) how: SweepOptions<T::Real>,
    pub(super) n_rhs: usize,
    pub(super) out: [*mut T; ARRAYS],
}

kernel!(ReduceKernel: Reduce<> => bool);

impl<T: Scalar> Job<T> for Reduce<T> {
    /// Whether an equation vanished in the elimination.
    type Output = bool;
    #[inline(always)]
    fn run<V: Lanes<Real = T::Real>>(self) -> bool {
        match self.n_rhs {
            1 => self.sweep::<V, 1>(),
            _ => self.sweep::<V, MAX_RHS>(),
        }
    }
}

impl<T: Scalar> Reduce<T> {
    #[inline(always)]
    fn sweep<V: Lanes<Real = T::Real>, const R: usize>(&self) -> bool {
        // The noise threshold is rarely used. It is compiled only for plain arrays and one right-hand side.
        if const { V::PORTABLE && R == 1 } && self.how.pivots.noise > T::Real::ZERO {
            return self.one_by_one::<V, R>();
        }
        // With a constant number of rows, all addresses are constant offsets.
        match self.run.m {
            32 if const { special::<T, V, R>() } => self.pipelined::<V, R>(32),
            m => self.pipelined::<V, R>(m),
        }
    }

    /// Stage tile `t` and eliminate it downwards, while the previous tile is eliminated upwards.
    ///
    /// The first step has no previous tile, and sweeps the initial contents of the memory instead. The last step has no
    /// tile `t`, and sweeps the last tile again. Both results are discarded.
    #[inline(always)]
    fn pipelined<V: Lanes<Real = T::Real>, const R: usize>(&self, m: usize) -> bool {
        let tiles = [TileRows::<T::Real, R> { base: self.tiles[0] }, TileRows { base: self.tiles[1] }];
        let pivots = LanePivots::<V, { rule::LARGER }>::new(&self.how.pivots);
        let mut least = Least::new();
        // SAFETY: `Workspace::reduce` made room for two tiles of m ≥ 2 rows, and checked all arrays.
        unsafe {
            let mut bottom = None;
            for t in 0..=self.run.tiles {
                let (here, before) = (tiles[t % 2], tiles[(t + 1) % 2]);
                let mut source = self.run.source(t.min(self.run.tiles - 1));
                here.stage_rest::<T, V, false>(&source, m, false);
                let mut up = Chain::start(before.row::<V, T::Element<V>>(m - 2).reversed(), T::Real::FAINT);
                let mut down = up;
                for block in 0..m.div_ceil(STAGED_ROWS) {
                    let j = block * STAGED_ROWS;
                    here.at::<V, T::Element<V>>(j).stage::<T, V, false>(&source, (m, j, false));
                    source.prefetch::<R, false>(V::W);
                    source.next_block::<R, false>(V::W);
                    if block == 0 {
                        down = Chain::start(here.row::<V, T::Element<V>>(1), T::Real::FAINT);
                    }
                    for j in j.max(2)..(m - 1).min(j + STAGED_ROWS) {
                        let above = before.at::<V, T::Element<V>>(m - 1 - j).row::<V, T::Element<V>>(0);
                        let below = here.at::<V, T::Element<V>>(j).row::<V, T::Element<V>>(0);
                        up = up.merge(above.reversed(), pivots);
                        down = down.merge(below, pivots);
                    }
                }
                let mut terms = [V::splat(T::Real::ZERO); 2];
                if m > 2 {
                    let (above, below) =
                        (before.row::<V, T::Element<V>>(0).reversed(), here.row::<V, T::Element<V>>(m - 1));
                    terms = [up.terms(&above), down.terms(&below)];
                    up = up.merge(above, pivots);
                    down = down.merge(below, pivots);
                }
                // The first step has no previous tile.
                if let Some(bottom) = bottom {
                    least.see_equation(&up, terms[0]);
                    self.put_equations::<V, R>(t - 1, &up, &bottom);
                }
                least.see_equation(&down, terms[1]);
                bottom = Some(down);
            }
        }
        least.suspect()
    }

    /// Reduce one tile after the other, where small candidates count as zero. The scale of each row is known.
    #[inline(always)]
    fn one_by_one<V: Lanes<Real = T::Real>, const R: usize>(&self) -> bool {
        let (tile, m) = (TileRows::<T::Real, R> { base: self.tiles[0] }, self.run.m);
        let pivots = LanePivots::<V, { rule::NOISE }>::new(&self.how.pivots);
        let (mut least, mut terms) = (Least::new(), [V::splat(T::Real::ZERO); 2]);
        // SAFETY: `Workspace::reduce` made room for a tile of m ≥ 2 rows, and checked all arrays.
        unsafe {
            for t in 0..self.run.tiles {
                tile.stage_all::<T, V, false>(self.run.source(t), m, self.how.scaling);
                let mut up = Chain::start(tile.row::<V, T::Element<V>>(m - 2).reversed(), T::Real::FAINT);
                let mut down = Chain::start(tile.row::<V, T::Element<V>>(1), T::Real::FAINT);
                for j in 2..m {
                    let (above, below) = (tile.row::<V, T::Element<V>>(m - 1 - j), tile.row::<V, T::Element<V>>(j));
                    terms = [up.terms(&above.reversed()), down.terms(&below)];
                    up = up.merge(above.reversed(), pivots);
                    down = down.merge(below, pivots);
                }
                least.see_equation(&up, terms[0]);
                least.see_equation(&down, terms[1]);
                self.put_equations::<V, R>(t, &up, &down);
            }
        }
        least.suspect()
    }

    /// Write the equations of tile `t`. `top` is solved for the first unknown of each partition, `bottom` for the last.
    ///
    /// # Safety
    /// `out` is writable for the equations of all tiles of the run, and `t` is one of these.
    #[inline(always)]
    unsafe fn put_equations<V: Lanes<Real = T::Real>, const R: usize>(
        &self,
        t: usize,
        top: &Chain<T::Element<V>, R>,
        bottom: &Chain<T::Element<V>, R>,
    ) {
        // The far end of the partition is to the right in the top equation, and to the left in the bottom one.
        let (top, top_rhs) = equilibrated([top.next, top.near, top.spike], top.rhs);
        let (bottom, bottom_rhs) = equilibrated([bottom.spike, bottom.near, bottom.next], bottom.rhs);
        // SAFETY: the two ends of W partitions are 2·W scalars per tile, from 2·W·t on, which `out` has room for.
        unsafe {
            for k in 0..3 {
                put_pairs::<T, V>((top[k], bottom[k]), self.out[k].add(t * 2 * V::W));
            }
            for r in 0..R {
                put_pairs::<T, V>((top_rhs[r], bottom_rhs[r]), self.out[3 + r].add(t * 2 * V::W));
            }
        }
    }
}

/// Multiply an equation by the power of two that brings its largest coefficient near 1.
///
/// A merge may halve the coefficients. Without this scaling, equations would shrink from level to level to the size of
/// [`Machine::FAINT`].
#[inline(always)]
fn equilibrated<V: Lanes, E: Element<V>, const R: usize>(mut row: [E; 3], mut rhs: [E; R]) -> ([E; 3], [E; R]) {
    let by = E::largest(row[0], row[1], row[2]).equilibrate();
    for k in 0..3 {
        row[k] = row[k].scale(by);
    }
    for r in 0..R {
        rhs[r] = rhs[r].scale(by);
    }
    (row, rhs)
}

/// Write the scalars of two elements alternately.
///
/// # Safety
/// `out` is writable for 2·W scalars.
#[inline(always)]
pub(super) unsafe fn put_pairs<T: Scalar, V: Lanes<Real = T::Real>>(
    (a, b): (T::Element<V>, T::Element<V>),
    out: *mut T,
) {
    let (a, b, out) = (a.columns(), b.columns(), out.cast::<T::Real>());
    // SAFETY: four columns of W reals are 2·W complex scalars, and two vectors are 2·W real scalars, which `out` has
    // room for.
    unsafe {
        if T::COMPLEX {
            V::store_columns([a[0], a[1], b[0], b[1]], out, 4);
        } else {
            let [low, high] = a[0].interleave(b[0]);
            low.store(out);
            high.store(out.add(V::W));
        }
    }
}
