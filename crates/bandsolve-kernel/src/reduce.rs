//! `reduce`: a run of tiles becomes equations of the coarse system.
//!
//! A sweep waits for its own last step, the staging of a tile for nothing; so they are interleaved, row by row: while a
//! tile is staged its rows are eliminated downwards, and those of the tile before upwards.

use super::element::Element;
use super::lanes::Lanes;
use super::run::{Run, SweepOptions, special};
use super::sweep::{Chain, LanePivots, Least, MAX_RHS, rule};
use super::tile::{ARRAYS, BLOCK, TileRows};
use super::{Job, Machine};
use crate::Scalar;

/// The job.
pub struct Reduce<T: Scalar> {
    pub(super) run: Run<T>,
    pub(super) tiles: [*mut T::Real; 2],
    pub(super) how: SweepOptions<T::Real>,
    pub(super) n_rhs: usize,
    pub(super) out: [*mut T; ARRAYS],
}

impl<T: Scalar> Job<T> for Reduce<T> {
    /// Whether nothing was left of an equation.
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
        // The noise threshold is rarely used and is compiled for plain arrays and single columns only.
        if const { V::PORTABLE && R == 1 } && self.how.pivots.noise > T::Real::ZERO {
            return self.one_by_one::<V, R>();
        }
        // With a constant number of rows all addresses are constant offsets.
        match self.run.m {
            32 if const { special::<T, V, R>() } => self.pipelined::<V, R>(32),
            m => self.pipelined::<V, R>(m),
        }
    }

    /// Stages tile `t` and eliminates downwards while the tile before is eliminated upwards. In the first step there is no
    /// tile before, in the last no tile `t`: then whatever memory holds, and the last tile once more, is swept in its place.
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
                for block in 0..m.div_ceil(BLOCK) {
                    let j = block * BLOCK;
                    here.at::<V, T::Element<V>>(j).stage::<T, V, false>(&source, (m, j, false));
                    source.prefetch::<R, false>(V::W);
                    source.next_block::<R, false>(V::W);
                    if block == 0 {
                        down = Chain::start(here.row::<V, T::Element<V>>(1), T::Real::FAINT);
                    }
                    for j in j.max(2)..(m - 1).min(j + BLOCK) {
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
                // In the first step there is no tile before.
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

    /// The same where candidates may count as noise: tile after tile, for rows of known size.
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

    /// Writes the equations of tile `t`: `top` is solved for the first unknown of every partition, `bottom` for the last.
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
        // The far end of the partition is to the right of the top equation, to the left of the bottom one.
        let (top, top_rhs) = equilibrated([top.next, top.near, top.spike], top.rhs);
        let (bottom, bottom_rhs) = equilibrated([bottom.spike, bottom.near, bottom.next], bottom.rhs);
        // SAFETY: an equation for each end of W partitions is 2·W scalars a tile, from 2·W·t on: within what was promised.
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

/// An equation multiplied by a power of two that brings its largest coefficient near 1. A merge may halve what it merges:
/// else equations would become smaller from level to level, down to the size of [`Machine::FAINT`].
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

/// Writes the scalars of two elements, alternating.
///
/// # Safety
/// `out` is writable for 2·W scalars.
#[inline(always)]
unsafe fn put_pairs<T: Scalar, V: Lanes<Real = T::Real>>((a, b): (T::Element<V>, T::Element<V>), out: *mut T) {
    let (a, b, out) = (a.columns(), b.columns(), out.cast::<T::Real>());
    // SAFETY: four columns of W reals are 2·W complex scalars, two vectors 2·W real ones: as promised.
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
