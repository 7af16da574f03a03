//! The interface systems: two rows of each rank, or fewer if the rank owns fewer rows. One rank solves each system.
//!
//! The systems are distributed evenly: rank q solves part q. A periodic system of N unknowns is an open system of N − 1 unknowns y, and a
//! last unknown z = x[N−1]:
//!
//! ```text
//! T·y + e·z = d,   fᵀ·y + diag[N−1]·z = d[N−1],   z = (d[N−1] − fᵀ·T⁻¹·d) / (diag[N−1] − fᵀ·T⁻¹·e)
//! ```

use super::rows::BatchRows;
use crate::agreement::{RankError, agree};
use crate::ranges::RankRanges;
use crate::ranks::{Ranks, collected, room};
use bandsolve::memory::{reserved, zeroed};
use bandsolve::{BatchFactor, Factor, Plan, RealScalar, Scalar, TridiagonalBatch};

/// The interface rows of each rank, and the systems that it solves.
#[derive(Debug, Clone)]
pub(super) struct InterfaceLayout {
    /// The interface rows of each rank.
    pub rows: RankRanges,
    /// The systems that each rank solves.
    pub parts: RankRanges,
    pub periodic: bool,
}

impl InterfaceLayout {
    /// Create the layout for systems with their rows distributed by `ranges`.
    pub fn new(ranges: &RankRanges, count: usize, periodic: bool) -> Self {
        let rows = RankRanges::of_counts((0..ranges.ranks()).map(|rank| ranges.range(rank).len().min(2)));
        Self { rows, parts: RankRanges::even(count, ranges.ranks()), periodic }
    }

    /// List the interface unknowns that a rank receives: the one before its own, its own, and the one after them.
    pub fn needed(&self, rank: usize) -> Vec<usize> {
        let (local, n) = (self.rows.range(rank), self.rows.rows());
        if local.is_empty() {
            return Vec::new();
        }
        let before = self.has_before(rank).then(|| local.start.checked_sub(1).unwrap_or(n - 1));
        let behind = Some(local.end).filter(|end| *end < n).or(self.periodic.then_some(0));
        before.into_iter().chain(local).chain(behind).collect()
    }

    /// Whether there is an unknown before the unknowns of a rank.
    fn has_before(&self, rank: usize) -> bool {
        let local = self.rows.range(rank);
        !local.is_empty() && (local.start > 0 || self.periodic)
    }

    /// Get the maximum numbers over the ranks of interface rows, of received unknowns, and of systems to solve.
    pub fn most(&self) -> [usize; 3] {
        let of = |value: &dyn Fn(usize) -> usize| (0..self.rows.ranks()).map(value).max().unwrap_or(0);
        [
            of(&|rank| self.rows.range(rank).len()),
            of(&|rank| self.needed(rank).len()),
            of(&|rank| self.parts.range(rank).len()),
        ]
    }

    /// Get the lengths of the messages to each rank and from each rank, for the rows on the way to the ranks that solve. `per_row` is the number of
    /// numbers per row and system.
    pub fn lens(&self, me: usize, per_row: usize) -> [Vec<usize>; 2] {
        let ranks = 0..self.rows.ranks();
        let len = |rows: usize, part: usize| self.rows.range(rows).len() * self.parts.range(part).len() * per_row;
        [ranks.clone().map(|part| len(me, part)).collect(), ranks.map(|rank| len(rank, me)).collect()]
    }

    /// Get the lengths of the messages for the unknowns on the way back.
    pub fn lens_back(&self, me: usize, columns: usize) -> [Vec<usize>; 2] {
        let ranks = 0..self.rows.ranks();
        let len = |part: usize, rank: usize| self.needed(rank).len() * self.parts.range(part).len() * columns;
        [ranks.clone().map(|rank| len(me, rank)).collect(), ranks.map(|part| len(part, me)).collect()]
    }
}

/// The interface unknowns of the neighbouring ranks, column by column, with `count` numbers each.
#[derive(Debug, Clone)]
pub(super) struct NeighbourValues<T> {
    /// The unknowns before and after the rows of this rank, or zeros if there is no neighbour.
    pub sides: [Vec<T>; 2],
}

/// The factors of the interface systems of this rank.
#[derive(Debug)]
pub(super) struct InterfaceFactors<T: Scalar> {
    ranks: Ranks,
    layout: InterfaceLayout,
    count: usize,
    /// The open systems, of all unknowns or of all unknowns except the last.
    batch: Option<BatchFactor<'static, T>>,
    ring: Option<RingEnd<T>>,
}

/// The open systems, and the last unknown of periodic systems.
type FactoredPart<T> = (Option<BatchFactor<'static, T>>, Option<RingEnd<T>>);

/// The last unknown of periodic systems.
#[derive(Debug)]
struct RingEnd<T> {
    /// The entries of the last row in the column before the last, and in the first column.
    row: [Vec<T>; 2],
    /// The entries in the last column of the row before the last, and of the first row.
    column: [Vec<T>; 2],
    /// T⁻¹·e and T⁻ᵀ·f.
    spikes: [Vec<T>; 2],
    /// 1 / (diag[N−1] − fᵀ·T⁻¹·e).
    reciprocal: Vec<T>,
}

impl<T: Scalar> InterfaceFactors<T> {
    /// Factor the interface systems, from the interface rows of this rank, or its error. Collective.
    pub fn new(rows: &BatchRows<T>, interface_rows: bandsolve::Result<Vec<T>>) -> Result<Self, RankError> {
        let layout = InterfaceLayout::new(&rows.ranges, rows.count, rows.periodic());
        let (ranks, me) = (rows.ranks.clone(), rows.ranks.rank());
        let lens = layout.lens(me, 3);
        let parcels = interface_rows.and_then(|interface_rows| {
            let mut sent = reserved(interface_rows.len())?;
            by_parts(interface_rows.chunks_exact(rows.count.max(1)), &layout.parts, &mut sent);
            Ok((sent, room(lens[1].iter().sum())?))
        });
        let (sent, mut came) = agree(&ranks, parcels)?;
        let [rows_most, _, part_most] = layout.most();
        ranks.all_to_all_into(&sent, [&lens[0], &lens[1]], 3 * rows_most * part_most, &mut came);
        let (n, part) = (layout.rows.rows(), layout.parts.range(me).len());
        let array = |k: usize| {
            let rows = came.chunks_exact(part.max(1)).skip(k).step_by(3);
            collected(n * part, rows.flatten().copied())
        };
        let arrays = || Ok([array(0)?, array(1)?, array(2)?]);
        let factors = arrays().and_then(|arrays| Self::factor(arrays, (n, part), layout.periodic));
        let (batch, ring) = agree(&ranks, factors)?;
        Ok(Self { ranks, layout, count: rows.count, batch, ring })
    }

    fn factor(
        mut arrays: [Vec<T>; 3],
        (n, part): (usize, usize),
        periodic: bool,
    ) -> bandsolve::Result<FactoredPart<T>> {
        if n * part == 0 {
            return Ok((None, None));
        }
        if !periodic {
            return Ok((Some(batch_of(arrays, (n, part))?), None));
        }
        let open = (n - 1) * part;
        let [sub, mut diag, sup] = arrays.each_mut().map(|array| array.split_off(open));
        if open == 0 {
            diag.iter_mut().zip(sub.iter().zip(&sup)).for_each(|(d, (a, c))| *d += *a + *c);
            let reciprocal = diag.iter().map(|d| T::ONE / *d).collect();
            let none = || [Vec::new(), Vec::new()];
            return Ok((None, Some(RingEnd { row: none(), column: none(), spikes: none(), reciprocal })));
        }
        let column = [arrays[2][open - part..].to_vec(), arrays[0][..part].to_vec()];
        let mut ring = RingEnd { row: [sub, sup], column, spikes: [Vec::new(), Vec::new()], reciprocal: Vec::new() };
        let batch = batch_of(arrays, (n - 1, part))?;
        let spike = |ends: &[Vec<T>; 2]| {
            let mut spike = zeroed(open)?;
            spike[open - part..].iter_mut().zip(&ends[0]).for_each(|(spike, v)| *spike += *v);
            spike[..part].iter_mut().zip(&ends[1]).for_each(|(spike, v)| *spike += *v);
            Ok(spike)
        };
        ring.spikes = [spike(&ring.column)?, spike(&ring.row)?];
        for (spike, transposed) in ring.spikes.iter_mut().zip([false, true]) {
            solve_batch(&batch, transposed, spike);
        }
        let along = ends_product(&ring.row, &ring.spikes[0], part);
        ring.reciprocal = diag.iter().zip(along).map(|(d, v)| T::ONE / (*d - v)).collect();
        Ok((Some(batch), Some(ring)))
    }

    /// Allocate the memory for solves of `n_columns` columns.
    pub fn memory(&self, n_columns: usize) -> bandsolve::Result<InterfaceMemory<T>> {
        let (layout, me) = (&self.layout, self.ranks.rank());
        let [to, from] = layout.lens(me, n_columns).map(|lens| lens.iter().sum());
        let [back_to, back_from] = layout.lens_back(me, n_columns).map(|lens| lens.iter().sum());
        let x = room(layout.rows.rows() * layout.parts.range(me).len() * n_columns)?;
        Ok(InterfaceMemory { sent: reserved(usize::max(to, back_to))?, came: room(usize::max(from, back_from))?, x })
    }

    /// Solve for the interface unknowns. Collective.
    ///
    /// `d` contains the right-hand sides of all rows of this rank, column by column. x replaces them in the interface rows. The function also writes the
    /// unknowns of the neighbouring ranks.
    pub fn solve(
        &self,
        transposed: bool,
        (d, n_columns): (&mut [T], usize),
        (memory, beside): (&mut InterfaceMemory<T>, &mut NeighbourValues<T>),
    ) {
        let (layout, count, me) = (&self.layout, self.count, self.ranks.rank());
        let column = d.len().checked_div(n_columns).unwrap_or(0);
        let local_rows = layout.rows.range(me).len();
        let places = |k: usize| if k == 0 { 0..count } else { column - count..column };
        let rows = d.chunks_exact(column.max(1)).flat_map(|d| (0..local_rows).map(move |k| &d[places(k)]));
        let InterfaceMemory { sent, came, x } = memory;
        by_parts(rows, &layout.parts, sent);
        let [rows_most, needed_most, part_most] = layout.most().map(|most| most.max(1));
        let lens = layout.lens(me, n_columns);
        let came = &mut came[..];
        let from = &mut came[..lens[1].iter().sum()];
        self.ranks.all_to_all_into(sent, [&lens[0], &lens[1]], rows_most * part_most * n_columns, from);
        self.solve_part(transposed, from, x);
        let part = layout.parts.range(me).len();
        sent.clear();
        for rank in 0..self.ranks.size() {
            let needed = layout.needed(rank);
            for x in x.chunks_exact((layout.rows.rows() * part).max(1)) {
                needed.iter().for_each(|k| sent.extend_from_slice(&x[k * part..][..part]));
            }
        }
        let lens = layout.lens_back(me, n_columns);
        let from = &mut came[..lens[1].iter().sum()];
        self.ranks.all_to_all_into(sent, [&lens[0], &lens[1]], needed_most * part_most * n_columns, from);
        self.put_needed(from, (d, n_columns), beside);
    }

    /// Copy the received parts to their positions.
    fn put_needed(&self, came: &[T], (d, n_columns): (&mut [T], usize), beside: &mut NeighbourValues<T>) {
        let (layout, count, me) = (&self.layout, self.count, self.ranks.rank());
        let column = d.len().checked_div(n_columns).unwrap_or(0);
        beside.sides.iter_mut().for_each(|side| side.fill(T::ZERO));
        let (needed, local_rows) = (layout.needed(me), layout.rows.range(me).len());
        // The unknown before those of this rank comes first, if it exists.
        let lead = usize::from(layout.has_before(me));
        let mut rest = came;
        for part in (0..self.ranks.size()).map(|rank| layout.parts.range(rank)) {
            for k in 0..n_columns {
                for i in 0..needed.len() {
                    let (values, others) = rest.split_at(part.len());
                    rest = others;
                    let to = match i.checked_sub(lead) {
                        None => &mut beside.sides[0][k * count..][..count],
                        Some(i) if i >= local_rows => &mut beside.sides[1][k * count..][..count],
                        Some(0) => &mut d[k * column..][..count],
                        Some(_) => &mut d[(k + 1) * column - count..][..count],
                    };
                    to[part.clone()].copy_from_slice(values);
                }
            }
        }
    }

    /// Solve whole interface systems. The input has the parts of the ranks one after the other, each with all columns.
    fn solve_part(&self, transposed: bool, came: &[T], x: &mut [T]) {
        let (layout, part) = (&self.layout, self.layout.parts.range(self.ranks.rank()).len());
        let n = layout.rows.rows();
        let mut rest = came;
        for rows in (0..self.ranks.size()).map(|rank| layout.rows.range(rank)) {
            for x in x.chunks_exact_mut((n * part).max(1)) {
                let (values, others) = rest.split_at(rows.len() * part);
                x[rows.start * part..rows.end * part].copy_from_slice(values);
                rest = others;
            }
        }
        for x in x.chunks_exact_mut((n * part).max(1)) {
            match (&self.ring, &self.batch) {
                (Some(ring), batch) => ring.solve(batch.as_ref(), transposed, x),
                (None, Some(batch)) => solve_batch(batch, transposed, x),
                (None, None) => {}
            }
        }
    }
}

/// The memory for the exchanges and for whole interface systems.
#[derive(Debug)]
pub(super) struct InterfaceMemory<T> {
    sent: Vec<T>,
    came: Vec<T>,
    x: Vec<T>,
}

impl<T: Scalar> NeighbourValues<T> {
    /// Create zeros.
    pub fn none(count: usize, n_columns: usize) -> bandsolve::Result<Self> {
        Ok(Self { sides: [zeroed(count * n_columns)?, zeroed(count * n_columns)?] })
    }
}

impl<T: Scalar> RingEnd<T> {
    fn solve(&self, batch: Option<&BatchFactor<'static, T>>, transposed: bool, x: &mut [T]) {
        let part = self.reciprocal.len();
        let (open, last) = x.split_at_mut(x.len() - part);
        if let Some(batch) = batch {
            solve_batch(batch, transposed, open);
            let ends = if transposed { &self.column } else { &self.row };
            last.iter_mut().zip(ends_product(ends, open, part)).for_each(|(last, v)| *last -= v);
        }
        last.iter_mut().zip(&self.reciprocal).for_each(|(last, r)| *last *= *r);
        let spike = &self.spikes[usize::from(transposed)];
        for (x, spike) in open.chunks_exact_mut(part).zip(spike.chunks_exact(part)) {
            (0..part).for_each(|k| x[k] -= spike[k] * last[k]);
        }
    }
}

/// Rearrange rows with one number per system: first the systems of part 0, then of part 1, and so on. The result replaces the contents of `to`.
pub(super) fn by_parts<'a, T: Scalar>(
    rows: impl Iterator<Item = &'a [T]> + Clone,
    parts: &RankRanges,
    to: &mut Vec<T>,
) {
    to.clear();
    for part in (0..parts.ranks()).map(|rank| parts.range(rank)) {
        rows.clone().for_each(|row| to.extend_from_slice(&row[part.clone()]));
    }
}

/// Compute the sum of the products of `ends` with the last row and the first row of y.
fn ends_product<T: Scalar>(ends: &[Vec<T>; 2], y: &[T], part: usize) -> Vec<T> {
    let (first, last) = (&y[..part], &y[y.len() - part..]);
    (0..part).map(|k| ends[0][k] * last[k] + ends[1][k] * first[k]).collect()
}

fn batch_of<T: Scalar>(arrays: [Vec<T>; 3], (n, part): (usize, usize)) -> bandsolve::Result<BatchFactor<'static, T>> {
    let batch = TridiagonalBatch::interleaved_from_vecs(part, n, arrays)?;
    Plan::new(batch.shape()).factor_owned(batch)
}

/// Compute x ← T⁻¹x for all systems. If some systems are singular, the other systems are still solved, and the verification detects the singular ones.
fn solve_batch<T: Scalar>(batch: &BatchFactor<'static, T>, transposed: bool, x: &mut [T]) {
    let solved = if transposed { batch.solve_transpose_in_place(x) } else { batch.solve_in_place(x) };
    if matches!(solved, Err(bandsolve::Error::OutOfMemory { .. } | bandsolve::Error::Shape { .. })) {
        x.fill(T::from_real(T::Real::NAN));
    }
}
