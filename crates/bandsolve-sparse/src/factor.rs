//! [0, n]-factors of weighted graphs: every vertex has at most n of its edges, and those have much weight.
//!
//! # Source
//! C. J. Klein, dissertation, Heidelberg 2022, chapter 4: Algorithms 6 (greedy) and 8 (parallel, with charges).

use crate::graph::Graph;
use crate::random::mixed;
use crate::reduce::{RowReduction, reduce_rows};
use crate::rows::each_row;
use bandsolve::{Error, Result};
use bandsolve_kernel::ahead::prefetch;
use std::borrow::Cow;

/// No partner.
pub(crate) const NONE: u32 = u32::MAX;

/// How a [0, n]-factor is found: the numbers m, k_m and M of Algorithm 8.
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

/// A [0, n]-factor.
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
    /// The result is the same for any number of threads. Each round reads all edges.
    ///
    /// # Errors
    /// [`Error::Shape`] if `degree` is not 1 to 4, or `uncharged` not below `period`.
    pub fn of(graph: &Graph, options: &GraphFactorOptions) -> Result<Self> {
        if options.uncharged >= options.period {
            return Err(Error::Shape {
                what: "the first round without charges",
                expected: options.period,
                got: options.uncharged,
            });
        }
        match options.degree {
            1 => Ok(propose_and_confirm::<1>(graph, options)),
            2 => Ok(propose_and_confirm::<2>(graph, options)),
            3 => Ok(propose_and_confirm::<3>(graph, options)),
            4 => Ok(propose_and_confirm::<4>(graph, options)),
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
    pub(crate) fn pairs(&self) -> Cow<'_, [[u32; 2]]> {
        match self.degree {
            2 => Cow::Borrowed(bytemuck::cast_slice(&self.partners)),
            _ => (0..self.vertices()).map(|v| self.pair(v)).collect(),
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

fn propose_and_confirm<const N: usize>(graph: &Graph, options: &GraphFactorOptions) -> GraphFactor {
    let n = graph.vertices();
    let mut confirmed = vec![[NONE; N]; n];
    let mut proposed = vec![[NONE; N]; n];
    let mut states = vec![0; n];
    let (mut rounds, mut maximal) = (0, false);
    while rounds < options.rounds && !maximal {
        let charged = rounds % options.period != options.uncharged;
        let round = ((rounds as u64) << 32).wrapping_add(options.seed);
        each_row(&mut states, &|v, state| {
            let charge = || if charged { (mixed((v as u64).wrapping_add(round)) & 1) as u8 } else { 0 };
            *state = if confirmed[v][N - 1] == NONE { charge() } else { SATURATED };
            0
        });
        let proposal = Proposal { confirmed: &confirmed, states: &states, charged };
        let found = reduce_rows(graph.matrix(), &proposal, &mut proposed);
        rounds += 1;
        maximal = found == 0 && !charged;
        each_row(&mut confirmed, &|v, own| {
            *own = [NONE; N];
            let mutual = proposed[v].iter().filter(|u| **u != NONE && proposed[**u as usize].contains(&(v as u32)));
            own.iter_mut().zip(mutual).for_each(|(own, u)| *own = *u);
            0
        });
    }
    GraphFactor { degree: N, partners: confirmed.into_flattened(), rounds, maximal }
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
    fn insert(&mut self, mut weight: u64, mut end: u32) {
        let mut heavier = false;
        for (own, own_end) in self.weights.iter_mut().zip(&mut self.ends) {
            // What is displaced goes before its equals.
            heavier |= weight > *own;
            (*own, weight) = if heavier { (weight, *own) } else { (*own, weight) };
            (*own_end, end) = if heavier { (end, *own_end) } else { (*own_end, end) };
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
        sum.insert(if possible { weight.to_bits() } else { 0 }, end);
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
        *output = sum.known;
        let known = output.iter().take_while(|u| **u != NONE).count();
        let mut count = 0;
        for (own, end) in output[known..].iter_mut().zip(sum.ends) {
            *own = end;
            count += usize::from(end != NONE);
        }
        count
    }
}

/// A [0, n]-factor by taking edges in descending order of weight, as long as both ends have less than n; of equal weights in order of
/// rows. With n = 1 it has at least half of the most weight possible. Sequential; time E·log E.
///
/// # Errors
/// [`Error::Shape`] if `degree` is 0.
pub fn greedy(graph: &Graph, degree: usize) -> Result<GraphFactor> {
    if degree == 0 {
        return Err(Error::Shape { what: "edges of a vertex", expected: 1, got: 0 });
    }
    let n = graph.vertices();
    let mut edges: Vec<(f64, u32, u32)> = (0..n)
        .flat_map(|v| graph.edges(v).filter(move |(u, _)| *u > v).map(move |(u, weight)| (weight, v as u32, u as u32)))
        .collect();
    edges.sort_by(|a, b| b.0.total_cmp(&a.0));
    let (mut partners, mut counts) = (vec![NONE; n * degree], vec![0; n]);
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
