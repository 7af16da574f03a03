//! [0, n]-factors of weighted graphs: every vertex has at most n of its edges, and those have much weight.
//!
//! # Source
//! C. J. Klein, dissertation, Heidelberg 2022, chapter 4: Algorithms 6 (greedy) and 8 (parallel, with charges).

use crate::graph::Graph;
use crate::random::mixed;
use crate::reduce::{RowReduction, reduce_rows};
use crate::rows::SMALL_TASK as TASK;
use bandsolve::memory::{allocate, collected, reserved, zeroed};
use bandsolve::{Error, Result, interrupt};
use bandsolve_kernel::ahead::prefetch;
use bandsolve_kernel::spread::{RowsOf, chunks, each_chunk};
use std::borrow::Cow;

/// No partner.
pub(crate) const NONE: u32 = u32::MAX;

/// Options for [`GraphFactor::of`]: the numbers m, k_m and M of Algorithm 8.
///
/// # Examples
/// ```
/// use bandsolve_sparse::GraphFactorOptions;
/// let mut options = GraphFactorOptions::default();
/// assert_eq!((options.degree, options.rounds), (2, 5));
/// options.degree = 1; // a matching: at most one edge at each vertex
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct GraphFactorOptions {
    /// n: most edges of a vertex, 1 to 4. Default: 2.
    pub degree: usize,
    /// M: most rounds of proposals. Default: 5.
    pub rounds: usize,
    /// m: vertices propose to those of the other charge alone, but in every m-th round. Default: 5.
    pub period: usize,
    /// k_m: the first round without charges; below m. Default: 0.
    pub uncharged: usize,
    /// Changes the charges. Default: 0.
    pub seed: u64,
}

impl Default for GraphFactorOptions {
    fn default() -> Self {
        Self { degree: 2, rounds: 5, period: 5, uncharged: 0, seed: 0 }
    }
}

impl GraphFactorOptions {
    /// Whether vertices propose to those of the other charge alone.
    pub(crate) fn is_charged(&self, round: usize) -> bool {
        round % self.period != self.uncharged
    }

    /// The first round without charges from this one on.
    fn next_uncharged(&self, round: usize) -> usize {
        let at = round % self.period;
        let more = if at <= self.uncharged { self.uncharged - at } else { self.period - at + self.uncharged };
        round.saturating_add(more)
    }

    /// The charge of a vertex in a round: 0 or 1; 0 in rounds without charges.
    #[inline(always)]
    pub(crate) fn charge(&self, v: usize, round: usize) -> u8 {
        let place = (v as u64).wrapping_add((round as u64) << 32).wrapping_add(self.seed);
        if self.is_charged(round) { (mixed(place) & 1) as u8 } else { 0 }
    }
}

/// A [0, n]-factor: edges of a graph, at most n at each vertex.
///
/// # Examples
/// ```
/// use bandsolve_sparse::{Csr, Graph, GraphFactor, GraphFactorOptions};
/// // A path of three vertices, whose second edge is the heavier one.
/// let a = Csr::<f64>::from_triplets(3, 3, &[(0, 1, 1.0), (1, 2, 5.0)])?;
/// let mut options = GraphFactorOptions::default();
/// options.degree = 1;
/// let matching = GraphFactor::of(&Graph::of(&a)?, &options)?;
/// assert_eq!(matching.partners(1).collect::<Vec<_>>(), [2]);
/// assert_eq!(matching.partners(0).count(), 0);
/// # Ok::<(), bandsolve::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GraphFactor {
    degree: usize,
    /// The partners of each vertex, then [`NONE`].
    partners: Vec<u32>,
    /// Rounds of proposals.
    rounds: usize,
    /// Whether no edge can be added.
    maximal: bool,
}

impl GraphFactor {
    /// A [0, n]-factor by parallel proposals: in each round every vertex that has less than n edges proposes its heaviest ones, and
    /// those become edges of the factor that both ends propose. Of edges of the same weight the one to the smaller number is proposed.
    /// The charge of vertex v in round k is the lowest bit of SplitMix64 of v + 2³²·k + seed.
    ///
    /// The result is the same for any number of threads. Each round reads all edges. Rounds that could not change anything are counted, but
    /// not made: however many are allowed, the search ends when no edge can be added.
    ///
    /// # Errors
    /// [`Error::Shape`] if `degree` is not 1 to 4, or `uncharged` not below `period`; [`Error::OutOfMemory`], [`Error::Interrupted`].
    pub fn of(graph: &Graph, options: &GraphFactorOptions) -> Result<Self> {
        if options.uncharged >= options.period {
            return Err(Error::Shape {
                what: "the first round without charges",
                expected: options.period,
                got: options.uncharged,
            });
        }
        match options.degree {
            1 => propose_and_confirm::<1>(graph, options),
            2 => propose_and_confirm::<2>(graph, options),
            3 => propose_and_confirm::<3>(graph, options),
            4 => propose_and_confirm::<4>(graph, options),
            degree => Err(Error::Shape { what: "edges of a vertex, 1 to 4", expected: 4, got: degree }),
        }
    }

    /// n: most edges of a vertex.
    pub fn degree(&self) -> usize {
        self.degree
    }

    /// Rounds of proposals; with [`is_maximal`](Self::is_maximal), the last of them without a new one.
    pub fn rounds(&self) -> usize {
        self.rounds
    }

    /// Whether a round without charges had nothing to propose.
    pub fn is_maximal(&self) -> bool {
        self.maximal
    }

    /// The partners of a vertex, in the order in which they were found.
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
        let mut own = [NONE; 2];
        own.iter_mut().zip(self.partners(v)).for_each(|(own, u)| *own = u as u32);
        own
    }

    /// c_π: the share of the graph's weight that the edges of the factor have.
    pub fn coverage(&self, graph: &Graph) -> f64 {
        graph.share(|v| move |u| self.partners(v).any(|partner| partner == u))
    }
}

fn propose_and_confirm<const N: usize>(graph: &Graph, options: &GraphFactorOptions) -> Result<GraphFactor> {
    let n = graph.vertices();
    let mut memory: [Vec<u32>; 2] = [zeroed(n.saturating_mul(N))?, zeroed(n.saturating_mul(N))?];
    let [confirmed, proposed] = memory.each_mut().map(|memory| memory.as_chunks_mut::<N>().0);
    let mut states = zeroed(n)?;
    each_vertex(confirmed, &mut states, &|v, own, state| (*own, *state) = ([NONE; N], options.charge(v, 0)));
    let (mut rounds, mut maximal) = (0, false);
    while rounds < options.rounds && !maximal {
        interrupt::check()?;
        let charged = options.is_charged(rounds);
        let proposal = Proposal { confirmed, states: &states, charged };
        let found = reduce_rows(graph.matrix(), &proposal, proposed);
        rounds += 1;
        maximal = found == 0 && !charged;
        if found == 0 && charged && !can_grow(graph, confirmed, &states) {
            // All that is left to do is to find this out in a round without charges.
            rounds = options.next_uncharged(rounds).min(options.rounds);
        }
        each_vertex(confirmed, &mut states, &|v, own, state| {
            *own = mutual(proposed, v);
            *state = if own[N - 1] == NONE { options.charge(v, rounds) } else { SATURATED };
        });
    }
    let [partners, _] = memory;
    Ok(GraphFactor { degree: N, partners, rounds, maximal })
}

/// Whether there is an edge between two vertices that may have more of them, and are no partners.
fn can_grow<const N: usize>(graph: &Graph, confirmed: &[[u32; N]], states: &[u8]) -> bool {
    let tasks = confirmed.len().div_ceil(TASK);
    let of_vertex = |v: usize| {
        states[v] != SATURATED
            && graph.edges(v).any(|(u, _)| states[u] != SATURATED && !confirmed[v].contains(&(u as u32)))
    };
    let of_task = |task: usize, ()| (task * TASK..((task + 1) * TASK).min(confirmed.len())).any(of_vertex);
    chunks((tasks, 2), (), &of_task, (false, &|a, b| a | b))
}

/// Calls `work` for the partners and the state of every vertex, on all threads.
fn each_vertex<const N: usize>(
    partners: &mut [[u32; N]],
    states: &mut [u8],
    work: &(impl Fn(usize, &mut [u32; N], &mut u8) + Sync),
) {
    let tasks = partners.len().div_ceil(TASK);
    each_chunk((tasks, 2), (RowsOf(partners, TASK), RowsOf(states, TASK)), &|task, (partners, states)| {
        let own = partners.0.iter_mut().zip(states.0).enumerate();
        own.for_each(|(k, (partners, state))| work(task * TASK + k, partners, state));
    });
}

/// The partners that a vertex proposes and that propose it, in order. Values are selected, not branched on.
#[inline(always)]
fn mutual<const N: usize>(proposed: &[[u32; N]], v: usize) -> [u32; N] {
    let mut own = proposed[v];
    for k in (0..N).rev() {
        // No vertex proposes itself.
        let at = if own[k] == NONE { v } else { own[k] as usize };
        let is_mutual = proposed[at].iter().fold(false, |found, back| found | (*back == v as u32));
        for j in k..N {
            let next = if j + 1 < N { own[j + 1] } else { NONE };
            own[j] = if is_mutual { own[j] } else { next };
        }
    }
    own
}

/// How many partners there are.
#[inline(always)]
fn count<const N: usize>(partners: &[u32; N]) -> usize {
    partners.iter().map(|u| usize::from(*u != NONE)).sum()
}

/// What has all of its edges. Other vertices have their charge, or 0 in rounds without charges.
const SATURATED: u8 = 2;

/// The heaviest edges of a vertex that are still to be had, beside those that it has: a generalised product.
struct Proposal<'a, const N: usize> {
    confirmed: &'a [[u32; N]],
    states: &'a [u8],
    charged: bool,
}

/// The heaviest of some edges, in descending order.
struct Heaviest<const N: usize> {
    /// Weights as bits, which are ordered as positive numbers are; 0 where there is no edge.
    weights: [u64; N],
    ends: [u32; N],
    /// Those that the vertex has.
    known: [u32; N],
    /// The state of vertices that they may go to.
    wanted: u8,
}

impl<const N: usize> Heaviest<N> {
    /// Takes an edge if it is one of the heaviest; of equal weights the first stays before the others. Values are selected, not branched
    /// on: which edge is heavier cannot be foreseen.
    #[inline(always)]
    fn insert(&mut self, weight: u64, end: u32) {
        for k in (0..N).rev() {
            let (own, own_end) = (self.weights[k], self.ends[k]);
            // What is displaced goes before its equals.
            let (before, before_end) = if k > 0 { (self.weights[k - 1], self.ends[k - 1]) } else { (u64::MAX, NONE) };
            self.weights[k] = own.max(weight.min(before));
            self.ends[k] = if weight > before {
                before_end
            } else if weight > own {
                end
            } else {
                own_end
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
        let known = sum.known.iter().fold(false, |known, own| known | (*own == end));
        let possible = (self.states[column] == sum.wanted) & !known;
        // The bits of a positive number, or 0: a choice would become a branch, and who is to be had cannot be foreseen either.
        sum.insert(weight.to_bits() >> (63 * u32::from(!possible)), end);
    }

    fn join(&self, sum: &mut Heaviest<N>, _: usize, later: Heaviest<N>) {
        later.weights.into_iter().zip(later.ends).for_each(|(weight, end)| sum.insert(weight, end));
    }

    /// Those that have all of their edges.
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
        // Behind those that it has.
        let mut ends = sum.ends;
        for own in sum.known {
            for k in (1..N).rev() {
                ends[k] = if own == NONE { ends[k] } else { ends[k - 1] };
            }
        }
        for (k, own) in output.iter_mut().enumerate() {
            *own = if sum.known[k] == NONE { ends[k] } else { sum.known[k] };
        }
        count(output) - count(&sum.known)
    }
}

/// Find a [0, n]-factor by taking edges in descending order of weight, as long as both ends have fewer than n edges.
///
/// Edges of equal weight are taken in the order of rows. With n = 1, the factor has at least half of the maximum weight.
///
/// # Cost
/// Sequential, E·log E operations for E edges.
///
/// # Errors
/// [`Error::Shape`] if `degree` is 0, [`Error::OutOfMemory`].
///
/// # Examples
/// ```
/// use bandsolve_sparse::{Csr, Graph, greedy};
/// let a = Csr::<f64>::from_triplets(3, 3, &[(0, 1, 1.0), (1, 2, 5.0)])?;
/// let matching = greedy(&Graph::of(&a)?, 1)?;
/// assert_eq!(matching.partners(2).collect::<Vec<_>>(), [1]);
/// # Ok::<(), bandsolve::Error>(())
/// ```
pub fn greedy(graph: &Graph, degree: usize) -> Result<GraphFactor> {
    if degree == 0 {
        return Err(Error::Shape { what: "edges of a vertex", expected: 1, got: 0 });
    }
    let n = graph.vertices();
    let mut edges: Vec<(f64, u32, u32)> = reserved(graph.matrix().entries() / 2)?;
    edges.extend((0..n).flat_map(|v| {
        graph.edges(v).filter(move |(u, _)| *u > v).map(move |(u, weight)| (weight, v as u32, u as u32))
    }));
    // They stand in the order of rows. (A stable sort would take memory.)
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
