//! Linear forests for smoothers: found among the strongest couplings of each unknown alone, kept in order.

use super::splitting::{comparable_graph, of_forest};
use crate::csr::Csr;
use crate::factor::{GraphFactorOptions, NONE};
use crate::forest::Forest;
use crate::random::mixed;
use crate::rows::{TASK, each_row};
use bandsolve::{Error, RealScalar, Result, Scalar};
use bandsolve_kernel::memory::zeros;
use bandsolve_kernel::spread::{RowsOf, each_chunk};
use core::sync::atomic::{AtomicBool, Ordering};

/// Edges that are kept of each vertex.
const KEPT: usize = 8;

/// The strongest edges of each vertex, in descending order, those of equal weight by their ends; the weights are those of
/// [`comparable_graph`], rounded.
pub(super) struct StrongEdges {
    /// The bits of the weight, and those of the end, inverted: ordered as the edges are. 0: none.
    keys: Vec<[u64; KEPT]>,
    /// Their ends; the number of vertices for none.
    ends: Vec<[u32; KEPT]>,
}

/// A forest, and the neighbors of each vertex on its path.
pub(super) struct LinkedForest {
    pub forest: Forest,
    pub partners: Vec<[u32; 2]>,
}

/// The last bits are those of the number before rounding: edges that differ by rounding alone, as on coarse levels, are in an order that
/// depends on no numbering and is the same at both ends.
fn key(weight: f64, end: u32) -> u64 {
    const LAST: u32 = 15;
    of_parts(f32::from_bits((weight as f32).to_bits() & !LAST | weight.to_bits() as u32 & LAST), end)
}

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

impl StrongEdges {
    /// Of a matrix whose rows are sorted.
    ///
    /// # Errors
    /// Those of [`comparable_graph`].
    pub fn of<T: Scalar>(a: &Csr<'_, T, u32>) -> Result<Self> {
        let n = a.rows();
        let mut inverse = vec![0.0_f64; n];
        let without = each_row(&mut inverse, &|i, inverse| {
            let (mut d, mut sum) = (0.0, 0.0);
            for (j, value) in a.row(i) {
                let modulus = Scalar::abs(value).to_f64();
                if j == i { d = modulus } else { sum += modulus }
            }
            // NaN, too, is found.
            *inverse = 1.0 / if d >= sum { d } else { sum };
            usize::from(!(d > 0.0 && inverse.is_finite() && *inverse > 0.0))
        });
        let mut keys: Vec<[u64; KEPT]> =
            zeros(n).ok_or(Error::OutOfMemory { bytes: n.saturating_mul(size_of::<[u64; KEPT]>()) })?;
        if without == 0 && mutual_edges(a, &inverse, &mut keys) {
            return Self::sorted(keys);
        }
        // Couplings in one direction, or errors.
        let graph = comparable_graph(a)?;
        each_row(&mut keys, &|v, keys| {
            *keys = strongest(graph.edges(v).map(|(u, weight)| key(weight, u as u32)));
            0
        });
        Self::sorted(keys)
    }

    fn sorted(keys: Vec<[u64; KEPT]>) -> Result<Self> {
        let bytes = keys.len().saturating_mul(size_of::<[u32; KEPT]>());
        let mut own = Self { ends: zeros(keys.len()).ok_or(Error::OutOfMemory { bytes })?, keys };
        let none = own.keys.len() as u32;
        each_row(&mut own.ends, &|v, ends| {
            *ends = own.keys[v].map(|key| end_of(key).min(none));
            0
        });
        Ok(own)
    }

    /// Forests one after the other; before each, the weights of those before are multiplied by ω.
    pub fn forests(mut self, count: usize, omega: f64, options: &GraphFactorOptions) -> Vec<LinkedForest> {
        let mut found: Vec<LinkedForest> = Vec::with_capacity(count);
        for l in 0..count {
            if let Some(last) = found.last() {
                self.weaken(last, omega as f32);
            }
            let partners = self.propose_and_confirm(&of_forest(options, l));
            let (forest, partners) = Forest::from_pairs(partners.into(), &|v, u| self.weight(v, u));
            found.push(LinkedForest { forest, partners: partners.into_owned() });
        }
        found
    }

    fn weight(&self, v: usize, u: usize) -> f64 {
        let of = |v: usize, u: usize| self.keys[v].iter().find(|key| end_of(**key) as usize == u);
        of(v, u).or(of(u, v)).map_or(0.0, |key| f64::from(weight_of(*key)))
    }

    fn weaken(&mut self, forest: &LinkedForest, omega: f32) {
        let none = self.keys.len() as u32;
        let out = (RowsOf(&mut self.keys, TASK), RowsOf(&mut self.ends, TASK));
        each_chunk((forest.partners.len().div_ceil(TASK), 2), out, &|task, (keys, ends)| {
            let linked = forest.partners[task * TASK..].iter();
            for ((linked, keys), ends) in linked.zip(keys.0).zip(ends.0) {
                let weakened = |own: u64| {
                    let end = end_of(own);
                    if own != 0 && linked.contains(&end) { of_parts(omega * weight_of(own), end) } else { own }
                };
                *keys = sorted(keys.map(weakened));
                *ends = keys.map(|key| end_of(key).min(none));
            }
        });
    }

    /// A [0, 2]-factor, as [`GraphFactor::of`](crate::GraphFactor::of) finds it.
    fn propose_and_confirm(&self, options: &GraphFactorOptions) -> Vec<[u32; 2]> {
        let n = self.ends.len();
        // One more, for edges that are none.
        let (mut confirmed, mut proposed) = (vec![[NONE; 2]; n], vec![[NONE; 2]; n + 1]);
        let mut states = vec![SATURATED; n + 1];
        let charged = |round: usize| round % options.period != options.uncharged;
        let state = |v: usize, round: usize, own: [u32; 2]| {
            let seed = ((round as u64) << 32).wrapping_add(options.seed);
            let charge = || if charged(round) { (mixed((v as u64).wrapping_add(seed)) & 1) as u8 } else { 0 };
            if own[1] == NONE { charge() } else { SATURATED }
        };
        each_row(&mut states[..n], &|v, own| {
            *own = state(v, 0, [NONE; 2]);
            0
        });
        for round in 0..options.rounds {
            let found = each_row(&mut proposed[..n], &|v, own| {
                let known = confirmed[v];
                *own = known;
                if known[1] == NONE {
                    let wanted = if charged(round) { 1 ^ states[v] } else { 0 };
                    *own = proposal(&self.ends[v], known, &|u| states[u as usize] == wanted);
                }
                usize::from(*own != known)
            });
            if found == 0 && !charged(round) {
                break;
            }
            let out = (RowsOf(&mut confirmed, TASK), RowsOf(&mut states[..n], TASK));
            each_chunk((n.div_ceil(TASK), 2), out, &|task, (confirmed, states)| {
                for (k, (own, next)) in confirmed.0.iter_mut().zip(states.0).enumerate() {
                    let v = task * TASK + k;
                    if own[1] == NONE {
                        let is_mutual = |u: u32| proposed[(u as usize).min(n)].contains(&(v as u32));
                        let [first, second] = proposed[v].map(|u| if is_mutual(u) { u } else { NONE });
                        *own = if first == NONE { [second, NONE] } else { [first, second] };
                    }
                    *next = state(v, round + 1, *own);
                }
            });
        }
        confirmed
    }
}

/// What a vertex proposes: the edges that it has, and as many of the strongest others to vertices for which `wanted` holds as it may have.
/// Which ones those are cannot be foreseen: nothing is branched on.
#[inline(always)]
fn proposal(ends: &[u32; KEPT], own: [u32; 2], wanted: &impl Fn(u32) -> bool) -> [u32; 2] {
    let bit = |k: usize| u32::from((ends[k] != own[0]) & wanted(ends[k])) << k;
    let possible = (0..KEPT).fold(0, |all, k| all | bit(k));
    let end = |edges: u32| {
        let at = ends[edges.trailing_zeros() as usize % KEPT];
        if edges == 0 { NONE } else { at }
    };
    let (first, second) = (end(possible), end(possible & possible.wrapping_sub(1)));
    if own[0] == NONE { [first, second] } else { [own[0], first] }
}

/// What has all of its edges.
const SATURATED: u8 = 2;

/// The edges of a matrix that has an entry at each mirrored place; `false` if it has not.
fn mutual_edges<T: Scalar>(a: &Csr<'_, T, u32>, inverse: &[f64], keys: &mut [[u64; KEPT]]) -> bool {
    let (_, columns, values) = a.parts();
    let lonely = AtomicBool::new(false);
    let mirrored = |i: usize, j: usize, k: usize| {
        let other = a.range(j);
        // As far from the end of its row as k is from the beginning of its own, where it is in a stencil.
        match other.end.checked_sub(k + 1).filter(|e| other.contains(e) && columns[*e] as usize == i) {
            None => columns[other.clone()].binary_search(&(i as u32)).ok().map(|found| other.start + found),
            found => found,
        }
    };
    each_row(keys, &|i, keys| {
        let own = a.range(i);
        let edge = |e: usize| {
            let j = columns[e] as usize;
            if j == i {
                return 0;
            }
            let Some(other) = mirrored(i, j, e - own.start) else {
                lonely.store(true, Ordering::Relaxed);
                return 0;
            };
            let modulus = |e: usize| Scalar::abs(values[e]).to_f64();
            key(modulus(e) * inverse[i] + modulus(other) * inverse[j], j as u32)
        };
        if !lonely.load(Ordering::Relaxed) {
            *keys = strongest(own.clone().map(edge));
        }
        0
    });
    !lonely.into_inner()
}

/// The largest of some keys, in descending order.
#[inline]
fn strongest(all: impl Iterator<Item = u64>) -> [u64; KEPT] {
    let (mut keys, mut count) = ([0; KEPT], 0);
    for key in all.filter(|key| *key != 0) {
        if count < KEPT {
            keys[count] = key;
        } else {
            if count == KEPT {
                keys = sorted(keys);
            }
            let at = keys.partition_point(|own| *own > key);
            if at < KEPT {
                keys[at..].rotate_right(1);
                keys[at] = key;
            }
        }
        count += 1;
    }
    if count > KEPT { keys } else { sorted(keys) }
}

/// In descending order, by a sorting network.
#[inline]
fn sorted(mut keys: [u64; KEPT]) -> [u64; KEPT] {
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
    for (i, j) in NETWORK {
        (keys[i], keys[j]) = (keys[i].max(keys[j]), keys[i].min(keys[j]));
    }
    keys
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Zeros and ones in every order, which is enough for a network.
    #[test]
    fn the_network_sorts() {
        for bits in 0..1_u64 << KEPT {
            let keys = sorted(core::array::from_fn(|k| bits >> k & 1));
            assert!(keys.is_sorted_by(|a, b| a >= b) && keys.iter().sum::<u64>() == u64::from(bits.count_ones()));
        }
    }

    #[test]
    fn the_strongest_of_many() {
        let all = || (0..30).map(|k| mixed(k) | 1);
        let mut expected: Vec<_> = all().collect();
        expected.sort_unstable_by(|a, b| b.cmp(a));
        assert_eq!(strongest(all())[..], expected[..KEPT]);
    }
}
