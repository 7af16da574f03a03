//! [0, n]-factors of weighted graphs: sets of heavy edges in which each vertex has at most n edges.
//!
//! # Source
//! C. J. Klein, dissertation, Heidelberg 2022, chapter 4: Algorithms 6 (greedy) and 8 (parallel, with charges).

use crate::graph::Graph;
use crate::random::mixed;
use crate::reduce::{RowReduction, reduce_rows};
use crate::rows::SMALL_TASK as TASK;
use bandsolve::memory::{allocate, collected, reserved, zeroed};
use bandsolve::{Error, Result, interrupt};
use bandsolve_kernel::prefetch::prefetch;
use bandsolve_kernel::spread::{RowsOf, chunks, each_chunk};
use std::borrow::Cow;

/// The absence of a partner.
pub(crate) const NONE: u32 = u32::MAX;

/// Options of the search for a [0, n]-factor: [`GraphFactor::of`].
///
/// # Examples
/// ```
/// use bandsolve_sparse::GraphFactorOptions;
/// let mut options = GraphFactorOptions::default();
/// options.rounds = 20;
/// assert_eq!((options.degree, options.period, options.uncharged), (2, 5, 0));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct GraphFactorOptions {
    /// Maximum number n of edges per vertex, 1 to 4. Default: 2.
    pub degree: usize,
    /// Maximum number of rounds, M in Algorithm 8. Default: 5.
    pub rounds: usize,
    /// Each round with number k, where k mod `period` = `uncharged`, ignores the charges. In all other rounds, vertices propose only to vertices with
    /// the other charge. The period is m in Algorithm 8. Default: 5.
    pub period: usize,
    /// The first round without charges, below `period`; kₘ in Algorithm 8. Default: 0.
    pub uncharged: usize,
    /// The seed of the pseudo-random charges. Default: 0.
    pub seed: u64,
}

impl Default for GraphFactorOptions {
    fn default() -> Self {
        Self { degree: 2, rounds: 5, period: 5, uncharged: 0, seed: 0 }
    }
}

impl GraphFactorOptions {
    /// Check the options.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if `degree` is not 1 to 4, or if `uncharged` is not below `period`.
    pub fn check(&self) -> Result<()> {
        if self.uncharged >= self.period {
            let (problem, expected) =
                (format!("is {}", self.uncharged), format!("a number below the period, {}", self.period));
            return Err(Error::invalid("uncharged", problem, expected));
        }
        match self.degree {
            1..=4 => Ok(()),
            degree => Err(Error::invalid("degree", format!("is {degree}"), "1, 2, 3 or 4")),
        }
    }

    /// The options for forest l = 0, 1, … of a preconditioner, each of which has its own seed.
    ///
    /// # Examples
    /// ```
    /// use bandsolve_sparse::GraphFactorOptions;
    /// assert_eq!(GraphFactorOptions::default().of_forest(2).seed, 2);
    /// ```
    #[must_use]
    pub fn of_forest(&self, l: usize) -> Self {
        Self { seed: self.seed.wrapping_add(l as u64), ..*self }
    }

    /// Whether vertices propose only to vertices with the other charge in this round.
    ///
    /// # Panics
    /// If `period` is 0.
    pub fn is_charged(&self, round: usize) -> bool {
        round % self.period != self.uncharged
    }

    /// The first round without charges that is not before this round.
    ///
    /// # Panics
    /// If `period` is 0.
    pub fn next_uncharged(&self, round: usize) -> usize {
        let at = round % self.period;
        let more = if at <= self.uncharged { self.uncharged - at } else { self.period - at + self.uncharged };
        round.saturating_add(more)
    }

    /// The charge of a vertex in a round, 0 or 1. It is 0 in rounds without charges.
    #[inline(always)]
    pub(crate) fn charge(&self, v: usize, round: usize) -> u8 {
        let place = (v as u64).wrapping_add((round as u64) << 32).wrapping_add(self.seed);
        if self.is_charged(round) { (mixed(place) & 1) as u8 } else { 0 }
    }
}

/// A [0, n]-factor of a graph: a set of edges in which each vertex has at most n edges.
///
/// A [0, 1]-factor is a matching. A [0, 2]-factor consists of paths and cycles: [`Forest::from_factor`](crate::Forest::from_factor) makes a linear
/// forest of it.
///
/// # Examples
/// ```
/// use bandsolve_sparse::{Csr, Graph, GraphFactor, GraphFactorOptions};
/// // The path 0–2–1.
/// let a = Csr::<f64>::from_triplets(3, 3, &[(0, 2, -1.0), (1, 2, -1.0)])?;
/// let graph = Graph::of(&a)?;
/// let factor = GraphFactor::of(&graph, &GraphFactorOptions::default())?;
/// assert_eq!(factor.partners(2).collect::<Vec<_>>(), [0, 1]);
/// assert_eq!(factor.coverage(&graph), 1.0);
/// # Ok::<(), bandsolve::Error>(())
/// ```
///
/// # Source
/// C. J. Klein, dissertation, Heidelberg 2022, chapter 4.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GraphFactor {
    degree: usize,
    /// The partners of each vertex, padded with [`NONE`].
    partners: Vec<u32>,
    /// Number of rounds.
    rounds: usize,
    /// Whether no edge can be added.
    maximal: bool,
}

impl GraphFactor {
    /// Find a [0, n]-factor in parallel (Algorithm 8).
    ///
    /// In each round, every vertex with fewer than n edges proposes its heaviest other edges. An edge joins the factor if both ends propose it. Among
    /// edges of the same weight, a vertex proposes the one to the vertex with the smaller number. The charge of vertex v in round k is the lowest
    /// bit of SplitMix64 of v + 2³²·k + seed.
    ///
    /// The search ends when no edge can be added, or after the maximum number of rounds. The result is the same for any number of threads.
    ///
    /// # Cost
    /// Each round reads all edges once. Rounds that cannot change the factor are counted, but not run.
    ///
    /// # Errors
    /// Those of [`GraphFactorOptions::check`]; [`Error::OutOfMemory`]; [`Error::Interrupted`] if the caller stops the search.
    pub fn of(graph: &Graph, options: &GraphFactorOptions) -> Result<Self> {
        options.check()?;
        match options.degree {
            1 => propose_and_confirm::<1>(graph, options),
            2 => propose_and_confirm::<2>(graph, options),
            3 => propose_and_confirm::<3>(graph, options),
            _ => propose_and_confirm::<4>(graph, options),
        }
    }

    /// The maximum number n of edges per vertex.
    pub fn degree(&self) -> usize {
        self.degree
    }

    /// Number of rounds. If [`is_maximal`](Self::is_maximal), the last round brought no new proposal.
    pub fn rounds(&self) -> usize {
        self.rounds
    }

    /// Whether no edge can be added: a round without charges brought no proposal.
    pub fn is_maximal(&self) -> bool {
        self.maximal
    }

    /// The vertices to which the factor joins a vertex, in the order in which the search found them.
    pub fn partners(&self, v: usize) -> impl Iterator<Item = usize> + Clone + '_ {
        self.partners[v * self.degree..][..self.degree].iter().take_while(|u| **u != NONE).map(|u| *u as usize)
    }

    /// Number of vertices.
    pub fn vertices(&self) -> usize {
        self.partners.len() / self.degree
    }

    /// The two partners of each vertex, or [`NONE`].
    pub(crate) fn pairs(&self) -> Result<Cow<'_, [[u32; 2]]>> {
        match self.degree {
            2 => Ok(Cow::Borrowed(bytemuck::cast_slice(&self.partners))),
            _ => collected((0..self.vertices()).map(|v| self.pair(v))).map(Cow::Owned),
        }
    }

    fn pair(&self, v: usize) -> [u32; 2] {
        let mut ends = [NONE; 2];
        ends.iter_mut().zip(self.partners(v)).for_each(|(end, u)| *end = u as u32);
        ends
    }

    /// The share of the factor's edges in the total edge weight of the graph, from 0 to 1 (c_π in the source).
    pub fn coverage(&self, graph: &Graph) -> f64 {
        graph.share(|v| move |u| self.partners(v).any(|partner| partner == u))
    }
}

fn propose_and_confirm<const N: usize>(graph: &Graph, options: &GraphFactorOptions) -> Result<GraphFactor> {
    let n = graph.vertices();
    let mut memory: [Vec<u32>; 2] = [zeroed(n.saturating_mul(N))?, zeroed(n.saturating_mul(N))?];
    let [confirmed, proposed] = memory.each_mut().map(|memory| memory.as_chunks_mut::<N>().0);
    let mut states = zeroed(n)?;
    each_vertex(confirmed, &mut states, &|v, partners, state| (*partners, *state) = ([NONE; N], options.charge(v, 0)));
    let (mut rounds, mut maximal) = (0, false);
    while rounds < options.rounds && !maximal {
        interrupt::check()?;
        let charged = options.is_charged(rounds);
        let proposal = Proposal { confirmed, states: &states, charged };
        let proposals = reduce_rows(graph.matrix(), &proposal, proposed);
        rounds += 1;
        maximal = proposals == 0 && !charged;
        if proposals == 0 && charged && !can_grow(graph, confirmed, &states) {
            // The factor is maximal. Skip to the round without charges that would detect this.
            rounds = options.next_uncharged(rounds).min(options.rounds);
        }
        each_vertex(confirmed, &mut states, &|v, partners, state| {
            *partners = mutual(proposed, v);
            *state = if partners[N - 1] == NONE { options.charge(v, rounds) } else { SATURATED };
        });
    }
    let [partners, _] = memory;
    Ok(GraphFactor { degree: N, partners, rounds, maximal })
}

/// Whether the graph has an edge outside the factor between two vertices that may get more edges.
fn can_grow<const N: usize>(graph: &Graph, confirmed: &[[u32; N]], states: &[u8]) -> bool {
    let tasks = confirmed.len().div_ceil(TASK);
    let of_vertex = |v: usize| {
        states[v] != SATURATED
            && graph.edges(v).any(|(u, _)| states[u] != SATURATED && !confirmed[v].contains(&(u as u32)))
    };
    let of_task = |task: usize, ()| (task * TASK..((task + 1) * TASK).min(confirmed.len())).any(of_vertex);
    chunks((tasks, 2), (), &of_task, (false, &|a, b| a | b))
}

/// Call `work` for the partners and the state of every vertex, on all threads.
fn each_vertex<const N: usize>(
    partners: &mut [[u32; N]],
    states: &mut [u8],
    work: &(impl Fn(usize, &mut [u32; N], &mut u8) + Sync),
) {
    let tasks = partners.len().div_ceil(TASK);
    each_chunk((tasks, 2), (RowsOf(partners, TASK), RowsOf(states, TASK)), &|task, (partners, states)| {
        let vertices = partners.0.iter_mut().zip(states.0).enumerate();
        vertices.for_each(|(k, (partners, state))| work(task * TASK + k, partners, state));
    });
}

/// The partners that a vertex proposes and that propose it, in order. It selects values instead of branching.
#[inline(always)]
fn mutual<const N: usize>(proposed: &[[u32; N]], v: usize) -> [u32; N] {
    let mut ends = proposed[v];
    for k in (0..N).rev() {
        // No vertex proposes itself.
        let at = if ends[k] == NONE { v } else { ends[k] as usize };
        let is_mutual = proposed[at].iter().fold(false, |any, back| any | (*back == v as u32));
        for j in k..N {
            let next = if j + 1 < N { ends[j + 1] } else { NONE };
            ends[j] = if is_mutual { ends[j] } else { next };
        }
    }
    ends
}

/// Number of partners.
#[inline(always)]
fn count<const N: usize>(partners: &[u32; N]) -> usize {
    partners.iter().map(|u| usize::from(*u != NONE)).sum()
}

/// The state of a vertex that has all of its edges. The state of other vertices is their charge, or 0 in rounds without charges.
const SATURATED: u8 = 2;

/// A generalised product that finds the heaviest possible new edges of each vertex.
struct Proposal<'a, const N: usize> {
    confirmed: &'a [[u32; N]],
    states: &'a [u8],
    charged: bool,
}

/// The heaviest edges so far, in descending order.
struct Heaviest<const N: usize> {
    /// The bits of the weights, which have the same order as the positive numbers. 0 if there is no edge.
    weights: [u64; N],
    ends: [u32; N],
    /// The current partners of the vertex.
    known: [u32; N],
    /// The state that the other end must have.
    wanted: u8,
}

impl<const N: usize> Heaviest<N> {
    /// Insert an edge if it is one of the heaviest. Among equal weights, the first stays in front. It selects values instead of branching, since the
    /// processor cannot predict which edge is heavier.
    #[inline(always)]
    fn insert(&mut self, weight: u64, end: u32) {
        for k in (0..N).rev() {
            let (weight_k, end_k) = (self.weights[k], self.ends[k]);
            // A displaced edge stays in front of edges with the same weight.
            let (before, before_end) = if k > 0 { (self.weights[k - 1], self.ends[k - 1]) } else { (u64::MAX, NONE) };
            self.weights[k] = weight_k.max(weight.min(before));
            self.ends[k] = if weight > before {
                before_end
            } else if weight > weight_k {
                end
            } else {
                end_k
            };
        }
    }
}

impl<const N: usize> RowReduction<f64> for Proposal<'_, N> {
    type Sum = Heaviest<N>;
    type Output = [u32; N];

    #[inline]
    fn start(&self, row: usize) -> Heaviest<N> {
        let wanted = if self.charged { 1 ^ self.states[row] } else { 0 };
        Heaviest { weights: [0; N], ends: [NONE; N], known: self.confirmed[row], wanted }
    }

    #[inline(always)]
    fn add(&self, sum: &mut Heaviest<N>, _: usize, column: usize, weight: f64) {
        let end = column as u32;
        let known = sum.known.iter().fold(false, |known, known_end| known | (*known_end == end));
        let possible = (self.states[column] == sum.wanted) & !known;
        // The bits of the weight, or 0. A shift instead of a choice, which would become an unpredictable branch.
        sum.insert(weight.to_bits() >> (63 * u32::from(!possible)), end);
    }

    fn join(&self, sum: &mut Heaviest<N>, _: usize, later: Heaviest<N>) {
        later.weights.into_iter().zip(later.ends).for_each(|(weight, end)| sum.insert(weight, end));
    }

    /// Skips vertices that have all of their edges.
    #[inline]
    fn skips(&self, row: usize) -> bool {
        self.states[row] == SATURATED
    }

    #[inline]
    fn prefetch(&self, column: usize) {
        prefetch(self.states.as_ptr().wrapping_add(column));
    }

    #[inline]
    fn finish(&self, _: usize, sum: Heaviest<N>, output: &mut [u32; N]) -> usize {
        // Add the new partners after the current ones.
        let mut ends = sum.ends;
        for known in sum.known {
            for k in (1..N).rev() {
                ends[k] = if known == NONE { ends[k] } else { ends[k - 1] };
            }
        }
        for (k, to) in output.iter_mut().enumerate() {
            *to = if sum.known[k] == NONE { ends[k] } else { sum.known[k] };
        }
        count(output) - count(&sum.known)
    }
}

/// Find a [0, n]-factor by the sequential greedy algorithm (Algorithm 6).
///
/// It takes the edges in descending order of weight, as long as both ends have fewer than n = `degree` edges. Edges of equal weight come in the order
/// of the rows. For n = 1 the weight is at least half of the largest possible one.
///
/// # Examples
/// ```
/// use bandsolve_sparse::{Csr, Graph, greedy};
/// let a = Csr::<f64>::from_triplets(4, 4, &[(0, 1, 1.0), (1, 2, 3.0), (2, 3, 1.0)])?;
/// let matching = greedy(&Graph::of(&a)?, 1)?;
/// assert_eq!(matching.partners(1).collect::<Vec<_>>(), [2]);
/// assert_eq!(matching.partners(0).count(), 0);
/// # Ok::<(), bandsolve::Error>(())
/// ```
///
/// # Cost
/// E·log E operations for E edges, on one thread.
///
/// # Errors
/// [`Error::InvalidArgument`] if `degree` is 0. [`Error::OutOfMemory`].
pub fn greedy(graph: &Graph, degree: usize) -> Result<GraphFactor> {
    if degree == 0 {
        return Err(Error::invalid("degree", "is 0", "at least 1"));
    }
    let n = graph.vertices();
    let mut edges: Vec<(f64, u32, u32)> = reserved(graph.matrix().entries() / 2)?;
    edges.extend((0..n).flat_map(|v| {
        graph.edges(v).filter(move |(u, _)| *u > v).map(move |(u, weight)| (weight, v as u32, u as u32))
    }));
    // Compare the indices as well: a stable sort would need extra memory.
    edges.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then((a.1, a.2).cmp(&(b.1, b.2))));
    let (mut partners, mut counts) = (allocate(n.saturating_mul(degree), NONE)?, allocate(n, 0)?);
    for (_, v, u) in edges {
        let (v, u) = (v as usize, u as usize);
        if counts[v] < degree && counts[u] < degree {
            partners[v * degree + counts[v]] = u as u32;
            partners[u * degree + counts[u]] = v as u32;
            (counts[v], counts[u]) = (counts[v] + 1, counts[u] + 1);
        }
    }
    Ok(GraphFactor { degree, partners, rounds: 1, maximal: true })
}
