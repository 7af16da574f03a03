//! Linear forests for smoothers, found among the strongest edges of each unknown, which are kept in order.

use super::splitting::comparable_graph;
use crate::csr::Csr;
use crate::factor::{GraphFactorOptions, NONE};
use crate::forest::Forest;
use crate::rows::{SMALL_TASK as TASK, each_row};
use crate::sliced::{LANES, SlicedMatrix};
use crate::tuning::STRONG_EDGES;
use bandsolve::memory::{allocate, collected, zeroed};
use bandsolve::{RealScalar, Result, Scalar, Simd, interrupt};
use bandsolve_kernel::spread::{RowsOf, chunks, each_chunk};
use bandsolve_kernel::{Job, Lanes, dispatch};
use core::sync::atomic::{AtomicBool, Ordering};

/// The strongest edges of each vertex, in descending order. Edges of equal weight are in the order of their ends. The weights are those of
/// [`comparable_graph`], rounded.
pub(super) struct StrongEdges<'a, T: Scalar> {
    a: &'a Csr<'a, T, u32>,
    /// The factor of each row in the weights.
    inverse: Vec<f64>,
    /// The bits of the weight, followed by the inverted bits of the end, so that keys have the order of the edges. 0 for no edge. Empty for a single forest.
    keys: Vec<[u64; STRONG_EDGES]>,
    /// The ends of the edges. The number of vertices for no edge.
    ends: Vec<[u32; STRONG_EDGES]>,
    /// Whether the pattern of the matrix is symmetric.
    pub mutual: bool,
}

/// A forest, and the neighbors of each vertex on its path.
pub(super) struct LinkedForest {
    pub forest: Forest,
    pub partners: Vec<[u32; 2]>,
}

/// The last bits are those of the number before rounding. Edges that differ by rounding only, as on coarse levels, then have an order that does not depend
/// on the numbering, and that is the same at both ends.
#[inline(always)]
fn key(weight: f64, end: u32) -> u64 {
    const LAST: u32 = 15;
    of_parts(f32::from_bits((weight as f32).to_bits() & !LAST | weight.to_bits() as u32 & LAST), end)
}

#[inline(always)]
fn of_parts(weight: f32, end: u32) -> u64 {
    let is_edge = weight >= f32::MIN_POSITIVE && weight.is_finite();
    if is_edge { u64::from(weight.to_bits()) << 32 | u64::from(!end) } else { 0 }
}

fn end_of(key: u64) -> u32 {
    !(key as u32)
}

fn weight_of(key: u64) -> f32 {
    f32::from_bits((key >> 32) as u32)
}

impl<'a, T: Scalar> StrongEdges<'a, T> {
    /// Find the strongest edges of a matrix with sorted rows, for one forest or for `several`. The arguments have the matrix in slices, too.
    ///
    /// # Errors
    /// Those of [`comparable_graph`].
    pub fn of(a: &'a Csr<'_, T, u32>, sliced: &SlicedMatrix<'_, T>, several: bool) -> Result<Self> {
        let n = a.rows();
        let mut inverse: Vec<f64> = zeroed(n)?;
        let without = each_row(&mut inverse, &|i, inverse| {
            let (mut d, mut sum) = (0.0, 0.0);
            for (j, value) in a.row(i) {
                let modulus = Scalar::abs(value).to_f64();
                if j == i { d = modulus } else { sum += modulus }
            }
            // This comparison also detects NaN.
            *inverse = 1.0 / if d >= sum { d } else { sum };
            usize::from(!(d > 0.0 && inverse.is_finite() && *inverse > 0.0))
        });
        let mut keys = zeroed(if several { n } else { 0 })?;
        let mut ends = zeroed(n)?;
        let mutual = without == 0 && mutual_edges((a, sliced), &inverse, (&mut keys, &mut ends));
        if !mutual {
            // The pattern is not symmetric, or the graph reports an error.
            let graph = comparable_graph(a)?;
            keys = zeroed(n)?;
            each_row(&mut keys, &|v, keys| {
                *keys = strongest_of_many(graph.edges(v).map(|(u, weight)| key(weight, u as u32)));
                0
            });
            each_row(&mut ends, &|v, ends| {
                *ends = keys[v].map(|key| end_of(key).min(n as u32));
                0
            });
        }
        Ok(Self { a, inverse, keys, ends, mutual })
    }

    /// Find forests one after the other. Before each search, the weights of the edges of the last forest are multiplied by ω.
    ///
    /// # Errors
    /// [`OutOfMemory`](bandsolve::Error::OutOfMemory), [`Interrupted`](bandsolve::Error::Interrupted).
    pub fn forests(mut self, count: usize, omega: f64, options: &GraphFactorOptions) -> Result<Vec<LinkedForest>> {
        let mut forests: Vec<LinkedForest> = Vec::with_capacity(count);
        for l in 0..count {
            if let Some(last) = forests.last() {
                self.weaken(last, omega as f32);
            }
            let mut partners = FactorRounds::new(&self.ends, &options.of_forest(l))?.run()?;
            let (forest, left_out) = Forest::from_pairs(&partners, &|v, u| self.weight(v, u))?;
            for [v, u] in left_out {
                for (end, other) in [(v, u), (u, v)] {
                    let partner = partners[end as usize].iter_mut().find(|partner| **partner == other);
                    *partner.expect("partners of each other") = NONE;
                }
            }
            forests.push(LinkedForest { forest, partners });
        }
        Ok(forests)
    }

    fn weight(&self, v: usize, u: usize) -> f64 {
        let weight = if self.keys.is_empty() {
            let part = |v: usize, u: usize| {
                let entry = self.a.row(v).find(|(j, _)| *j == u).map_or(T::ZERO, |(_, value)| value);
                Scalar::abs(entry).to_f64() * self.inverse[v]
            };
            key(part(v, u) + part(u, v), u as u32)
        } else {
            let of = |v: usize, u: usize| self.keys[v].iter().find(|key| end_of(**key) as usize == u);
            of(v, u).or(of(u, v)).copied().unwrap_or(0)
        };
        f64::from(weight_of(weight))
    }

    fn weaken(&mut self, forest: &LinkedForest, omega: f32) {
        let (tasks, none) = (self.keys.len().div_ceil(TASK), self.keys.len() as u32);
        let out = (RowsOf(&mut self.keys, TASK), RowsOf(&mut self.ends, TASK));
        each_chunk((tasks, 2), out, &|task, (keys, ends)| {
            let partners = forest.partners[task * TASK..].chunks(LANES);
            let groups = keys.0.chunks_mut(LANES).zip(ends.0.chunks_mut(LANES));
            for ((keys, ends), partners) in groups.zip(partners) {
                let mut lanes = [[0; LANES]; STRONG_EDGES];
                for (lane, (keys_of_vertex, linked)) in keys.iter().zip(partners).enumerate() {
                    for (k, key) in keys_of_vertex.iter().enumerate() {
                        let end = end_of(*key);
                        let weaker = of_parts(omega * weight_of(*key), end);
                        lanes[k][lane] = if (end == linked[0]) | (end == linked[1]) { weaker } else { *key };
                    }
                }
                let sorted = sorted_lanes(lanes);
                for (lane, (keys_of_vertex, ends)) in keys.iter_mut().zip(ends).enumerate() {
                    *keys_of_vertex = sorted.map(|keys| keys[lane]);
                    *ends = keys_of_vertex.map(|key| end_of(key).min(none));
                }
            }
        });
    }
}

/// The search for a [0, 2]-factor, as in [`GraphFactor::of`](crate::GraphFactor::of).
struct FactorRounds<'a> {
    ends: &'a [[u32; STRONG_EDGES]],
    options: &'a GraphFactorOptions,
    /// Edges that both ends proposed.
    confirmed: Vec<[u32; 2]>,
    /// Proposed edges, with one more element for absent edges.
    proposed: Vec<[u32; 2]>,
    /// Charges, or [`SATURATED`], with one more element for absent edges.
    states: Vec<u8>,
    /// The vertices of each task that may get more edges, and their number.
    active: Vec<u32>,
    counts: Vec<usize>,
}

impl<'a> FactorRounds<'a> {
    fn new(ends: &'a [[u32; STRONG_EDGES]], options: &'a GraphFactorOptions) -> Result<Self> {
        let n = ends.len();
        let mut rounds = Self {
            ends,
            options,
            confirmed: allocate(n, [NONE; 2])?,
            proposed: allocate(n + 1, [NONE; 2])?,
            states: allocate(n + 1, SATURATED)?,
            active: collected(0..n as u32)?,
            counts: collected((0..n.div_ceil(TASK)).map(|task| (n - task * TASK).min(TASK)))?,
        };
        each_row(&mut rounds.states[..n], &|v, state| {
            *state = options.charge(v, 0);
            0
        });
        Ok(rounds)
    }

    fn run(mut self) -> Result<Vec<[u32; 2]>> {
        for round in 0..self.options.rounds {
            interrupt::check()?;
            if self.propose(round) == 0 && !self.options.is_charged(round) {
                break;
            }
            // Without charges, all further rounds would find the same.
            if self.confirm(round) == 0 && (self.options.period == 1 || !self.can_grow()) {
                break;
            }
        }
        Ok(self.confirmed)
    }

    /// Whether an edge joins two vertices that may get more edges, and both keep this edge.
    fn can_grow(&self) -> bool {
        let (n, states, confirmed) = (self.ends.len(), &self.states, &self.confirmed);
        let is_possible = |v: usize, u: u32| {
            let other = (u as usize).min(n);
            states[other] != SATURATED && !confirmed[v].contains(&u) && self.ends[other].contains(&(v as u32))
        };
        let of_task = |task: usize, ()| {
            let mut active = self.active[task * TASK..][..self.counts[task]].iter();
            active.any(|v| self.ends[*v as usize].iter().any(|u| is_possible(*v as usize, *u)))
        };
        chunks((self.counts.len(), 2), (), &of_task, (false, &|a, b| a | b))
    }

    /// Propose the strongest possible edges. Returns the number of vertices with a new proposal.
    fn propose(&mut self, round: usize) -> usize {
        let (confirmed, states, n) = (&self.confirmed, &self.states, self.ends.len());
        let is_charged = self.options.is_charged(round);
        let lists = (RowsOf(&mut self.active, TASK), RowsOf(&mut self.counts, 1));
        let out = (lists, RowsOf(&mut self.proposed[..n], TASK));
        let work = |task: usize, ((active, count), proposed): ((RowsOf<'_, u32>, RowsOf<'_, usize>), RowsOf<'_, _>)| {
            let (mut open_count, mut changed) = (0, 0);
            for at in 0..count.0[0] {
                let v = active.0[at] as usize;
                let wanted = if is_charged { 1 ^ states[v] } else { 0 };
                let (ends, is_open) = proposal(&self.ends[v], confirmed[v], states, wanted);
                proposed.0[v - task * TASK] = ends;
                changed += usize::from(ends != confirmed[v]);
                active.0[open_count] = v as u32;
                open_count += usize::from(is_open);
            }
            count.0[0] = open_count;
            changed
        };
        chunks((self.confirmed.len().div_ceil(TASK), 2), out, &work, (0, &|a, b| a + b))
    }

    /// Confirm edges that both ends proposed. Returns the number of vertices with new edges.
    fn confirm(&mut self, round: usize) -> usize {
        let (proposed, n) = (&self.proposed, self.ends.len());
        let lists = (RowsOf(&mut self.active, TASK), RowsOf(&mut self.counts, 1));
        let out = (lists, (RowsOf(&mut self.confirmed, TASK), RowsOf(&mut self.states[..n], TASK)));
        type Lists<'a> = (RowsOf<'a, u32>, RowsOf<'a, usize>);
        type Vertices<'a> = (RowsOf<'a, [u32; 2]>, RowsOf<'a, u8>);
        let work = |task: usize, ((active, count), (confirmed, states)): (Lists<'_>, Vertices<'_>)| {
            let (mut open_count, mut changed) = (0, 0);
            for at in 0..count.0[0] {
                let v = active.0[at] as usize;
                let is_mutual = |u: u32| proposed[(u as usize).min(n)].contains(&(v as u32));
                let [first, second] = proposed[v].map(|u| if is_mutual(u) { u } else { NONE });
                let ends = if first == NONE { [second, NONE] } else { [first, second] };
                let is_open = ends[1] == NONE;
                changed += usize::from(confirmed.0[v - task * TASK] != ends);
                confirmed.0[v - task * TASK] = ends;
                states.0[v - task * TASK] = if is_open { self.options.charge(v, round + 1) } else { SATURATED };
                active.0[open_count] = v as u32;
                open_count += usize::from(is_open);
            }
            count.0[0] = open_count;
            changed
        };
        chunks((n.div_ceil(TASK), 2), out, &work, (0, &|a, b| a + b))
    }
}

/// The proposal of a vertex: its current edges, and the strongest others to vertices in the state `wanted`, up to two edges. Also returns whether it has
/// other edges to vertices that may get edges. It selects values instead of branching, since the processor cannot predict them.
#[inline(always)]
fn proposal(ends: &[u32; STRONG_EDGES], confirmed: [u32; 2], states: &[u8], wanted: u8) -> ([u32; 2], bool) {
    let (mut possible, mut open) = (0_u32, false);
    for (k, end) in ends.iter().enumerate() {
        let (state, is_other) = (states[*end as usize], *end != confirmed[0]);
        possible |= u32::from(is_other & (state == wanted)) << k;
        open |= is_other & (state != SATURATED);
    }
    let end = |edges: u32| {
        let at = ends[edges.trailing_zeros() as usize % STRONG_EDGES];
        if edges == 0 { NONE } else { at }
    };
    let (first, second) = (end(possible), end(possible & possible.wrapping_sub(1)));
    (if confirmed[0] == NONE { [first, second] } else { [confirmed[0], first] }, open)
}

/// The state of a vertex that has all of its edges.
const SATURATED: u8 = 2;

/// Find the edges of a matrix with a symmetric pattern. Returns `false` if the pattern is not symmetric.
fn mutual_edges<T: Scalar>(
    (a, sliced): (&Csr<'_, T, u32>, &SlicedMatrix<'_, T>),
    inverse: &[f64],
    (keys, ends): (&mut [[u64; STRONG_EDGES]], &mut [[u32; STRONG_EDGES]]),
) -> bool {
    let (pointers, columns, values) = a.parts();
    let lonely = AtomicBool::new(false);
    let mirrored = |i: usize, j: usize, k: usize| {
        let row = pointers[j] as usize..pointers[j + 1] as usize;
        // In a stencil, the mirrored entry is as far from the end of its row as k is from the beginning.
        let at = row.end.wrapping_sub(k + 1);
        if at >= row.start && columns.get(at) == Some(&(i as u32)) {
            return Some(at);
        }
        columns[row.clone()].binary_search(&(i as u32)).ok().map(|k| row.start + k)
    };
    let of_row = |i: usize| {
        let row = a.range(i);
        let entries = columns[row.clone()].iter().zip(&values[row]).enumerate();
        let modulus = |value: T| Scalar::abs(value).to_f64();
        strongest(entries.map(|(k, (j, value))| match mirrored(i, *j as usize, k) {
            _ if *j as usize == i => 0,
            Some(at) => key(modulus(*value) * inverse[i] + modulus(values[at]) * inverse[*j as usize], *j),
            None => {
                lonely.store(true, Ordering::Relaxed);
                0
            }
        }))
    };
    let (tasks, none) = (ends.len().div_ceil(TASK), ends.len() as u32);
    let key_rows = if keys.is_empty() { 0 } else { TASK };
    each_chunk((tasks, 2), (RowsOf(keys, key_rows), RowsOf(ends, TASK)), &|task, (keys, ends)| {
        for (k, ends) in ends.0.chunks_mut(LANES).enumerate() {
            let slice = task * (TASK / LANES) + k;
            let of_slice = dispatch::<T, _>(Simd::detect(), MutualEdges { a: sliced, inverse, slice });
            let lanes = of_slice.unwrap_or_else(|| {
                let mut lanes = [[0; STRONG_EDGES]; LANES];
                (0..ends.len()).for_each(|k| lanes[k] = of_row(slice * LANES + k));
                lanes
            });
            if let Some(keys) = keys.0.get_mut(k * LANES..k * LANES + ends.len()) {
                keys.copy_from_slice(&lanes[..keys.len()]);
            }
            ends.iter_mut().zip(lanes).for_each(|(ends, keys)| *ends = keys.map(|key| end_of(key).min(none)));
        }
    });
    !lonely.into_inner()
}

/// Find the edges of all rows of a slice, in descending order, with the same result as row by row. `None` if the rows must be processed one by one.
struct MutualEdges<'a, T: Scalar> {
    a: &'a SlicedMatrix<'a, T>,
    inverse: &'a [f64],
    slice: usize,
}

impl<T: Scalar> Job<T> for MutualEdges<'_, T> {
    type Output = Option<[[u64; STRONG_EDGES]; LANES]>;

    #[inline(always)]
    fn run<V: Lanes<Real = T::Real>>(self) -> Self::Output {
        let lanes = mutual_edges_of_slice(self.a, self.inverse, self.slice)?;
        let mut rows = [[0; STRONG_EDGES]; LANES];
        for (k, keys) in lanes.iter().enumerate() {
            for lane in 0..LANES {
                rows[lane][k] = keys[lane];
            }
        }
        Some(rows)
    }
}

#[inline(always)]
fn mutual_edges_of_slice<T: Scalar>(
    a: &SlicedMatrix<'_, T>,
    inverse: &[f64],
    slice: usize,
) -> Option<[[u64; LANES]; STRONG_EDGES]> {
    let (columns, values) = a.slice(slice)?;
    let (first, mut keys, mut count) = (slice * LANES, [[0; LANES]; STRONG_EDGES], 0);
    let own_inverse = &inverse[first..first + LANES];
    for (k, (column, values_of_slice)) in columns.iter().zip(values.chunks_exact(LANES)).enumerate() {
        let column = *column as usize;
        if column == first {
            continue;
        }
        if count == STRONG_EDGES {
            return None;
        }
        let (mirrored, other_inverse) = (a.mirrored(slice, k, column)?, &inverse[column..column + LANES]);
        let modulus = |value: T| Scalar::abs(value).to_f64();
        let mut weights = [0.0; LANES];
        for lane in 0..LANES {
            weights[lane] =
                modulus(values_of_slice[lane]) * own_inverse[lane] + modulus(mirrored[lane]) * other_inverse[lane];
        }
        for lane in 0..LANES {
            keys[count][lane] = key(weights[lane], (column + lane) as u32);
        }
        count += 1;
    }
    Some(sorted_lanes(keys))
}

/// The largest of some keys, in descending order.
#[inline(always)]
fn strongest(all: impl ExactSizeIterator<Item = u64>) -> [u64; STRONG_EDGES] {
    if all.len() > STRONG_EDGES + 1 {
        return strongest_of_many(all);
    }
    // One key is usually 0: that of the diagonal.
    let (mut keys, mut count) = ([0; STRONG_EDGES + 1], 0);
    for key in all {
        keys[count.min(STRONG_EDGES)] = key;
        count += usize::from(key != 0);
    }
    if count > STRONG_EDGES {
        return strongest_of_many(keys.into_iter());
    }
    let [first_eight @ .., _] = keys;
    sorted(first_eight)
}

fn strongest_of_many(all: impl Iterator<Item = u64>) -> [u64; STRONG_EDGES] {
    let (mut keys, mut count) = ([0; STRONG_EDGES], 0);
    for key in all.filter(|key| *key != 0) {
        if count < STRONG_EDGES {
            keys[count] = key;
        } else {
            if count == STRONG_EDGES {
                keys = sorted(keys);
            }
            let at = keys.partition_point(|other| *other > key);
            if at < STRONG_EDGES {
                keys[at..].rotate_right(1);
                keys[at] = key;
            }
        }
        count += 1;
    }
    if count > STRONG_EDGES { keys } else { sorted(keys) }
}

/// Sort keys in descending order.
#[inline]
fn sorted(keys: [u64; STRONG_EDGES]) -> [u64; STRONG_EDGES] {
    sorted_lanes(keys.map(|key| [key])).map(|[key]| key)
}

/// Sort the keys of each lane in descending order, by a sorting network. A key as an f64 is never NaN, since its first 32 bits are those of a finite f32.
#[inline(always)]
fn sorted_lanes<const N: usize>(keys: [[u64; N]; STRONG_EDGES]) -> [[u64; N]; STRONG_EDGES] {
    const NETWORK: [(usize, usize); 19] = [
        (0, 1),
        (2, 3),
        (4, 5),
        (6, 7),
        (0, 2),
        (1, 3),
        (4, 6),
        (5, 7),
        (1, 2),
        (5, 6),
        (0, 4),
        (3, 7),
        (1, 5),
        (2, 6),
        (1, 4),
        (3, 6),
        (2, 4),
        (3, 5),
        (3, 4),
    ];
    // Positive floating-point numbers have the same order as their bits, and there are instructions for minimum and maximum.
    let mut ordered = keys.map(|keys| keys.map(f64::from_bits));
    for (i, j) in NETWORK {
        let (left, right) = (ordered[i], ordered[j]);
        for lane in 0..N {
            let (left, right) = (left[lane], right[lane]);
            (ordered[i][lane], ordered[j][lane]) = if right > left { (right, left) } else { (left, right) };
        }
    }
    ordered.map(|keys| keys.map(f64::to_bits))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All sequences of zeros and ones. By the 0-1 principle, this proves the network.
    #[test]
    fn the_network_sorts() {
        for bits in 0..1_u64 << STRONG_EDGES {
            let keys = sorted(core::array::from_fn(|k| (bits >> k & 1) << 52)).map(|key| key >> 52);
            assert!(keys.is_sorted_by(|a, b| a >= b) && keys.iter().sum::<u64>() == u64::from(bits.count_ones()));
        }
    }

    #[test]
    fn the_strongest_of_many() {
        let all = || (0..30_u32).map(|k| (crate::random::mixed(u64::from(k)) >> 2) | 1 << 52);
        let mut expected: Vec<_> = all().collect();
        expected.sort_unstable_by(|a, b| b.cmp(a));
        assert_eq!(strongest(all())[..], expected[..STRONG_EDGES]);
    }
}
