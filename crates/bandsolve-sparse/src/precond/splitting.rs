//! Splittings of a matrix by linear forests: each forest takes the heaviest edges that the earlier ones leave.
//!
//! # Source
//! C. J. Klein, dissertation, Heidelberg 2022, sections 5.1.3 to 5.1.6: equations (52), (70), (71).

use super::diagonal::DiagonalRule;
use crate::csr::Csr;
use crate::factor::GraphFactorOptions;
use crate::forest::Forest;
use crate::graph::Graph;
use crate::tuning::{MAX_FORESTS, MIN_ADDED_COVERAGE, SUFFICIENT_COVERAGE};
use bandsolve::matrix::Index;
use bandsolve::memory::collected;
use bandsolve::{RealScalar, Result, Scalar};

/// The graph of a matrix with weights that do not depend on the scaling of its rows.
///
/// The weight of an edge is w(i, j) = |aᵢⱼ|/|dᵢ| + |aⱼᵢ|/|dⱼ| with the diagonal d of [`DiagonalRule::P1`]. The preconditioners search for forests
/// in this graph.
///
/// # Examples
/// ```
/// use bandsolve_sparse::{Csr, comparable_graph};
/// let a = Csr::<f64>::from_triplets(2, 2, &[(0, 0, 4.0), (0, 1, -1.0), (1, 0, -2.0), (1, 1, 4.0)])?;
/// assert_eq!(comparable_graph(&a)?.weight(0, 1), 0.75);
/// // The second row is multiplied by 8.
/// let scaled = Csr::<f64>::from_triplets(2, 2, &[(0, 0, 4.0), (0, 1, -1.0), (1, 0, -16.0), (1, 1, 32.0)])?;
/// assert_eq!(comparable_graph(&scaled)?.weight(0, 1), 0.75);
/// # Ok::<(), bandsolve::Error>(())
/// ```
///
/// # Errors
/// Those of [`DiagonalRule::of`] and [`Graph::of`].
pub fn comparable_graph<T: Scalar, I: Index>(a: &Csr<'_, T, I>) -> Result<Graph> {
    let d = DiagonalRule::P1.of(a)?;
    let moduli: Vec<f64> = collected(d.iter().map(|d| 1.0 / Scalar::abs(*d).to_f64()))?;
    Graph::weighted(a, &moduli)
}

/// Find `count` forests. Before each search, the weights of the edges of the last forest are multiplied by ω.
pub(crate) fn forests(mut graph: Graph, count: usize, omega: f64, options: &GraphFactorOptions) -> Result<Vec<Forest>> {
    let mut forests: Vec<Forest> = Vec::with_capacity(count);
    for l in 0..count {
        if let Some(last) = forests.last() {
            graph.weaken(&|v| last.linked(v), omega)?;
        }
        forests.push(Forest::of(&graph, &options.of_forest(l))?);
    }
    Ok(forests)
}

/// Decides how many forests a preconditioner has, if the caller does not.
///
/// There are at most four. The search ends when the coverage of all forests reaches 90 %, or when a further forest adds less than 5 %.
///
/// # Examples
/// ```
/// use bandsolve_sparse::ForestCount;
/// let mut count = ForestCount::new(0.0);
/// assert!(count.wants_more() && count.takes(0.7));
/// assert!(count.wants_more() && !count.takes(0.72));
/// assert_eq!(count.reason("the edges have"), "1 forest: the edges have 70% of the weight");
/// ```
#[derive(Debug, Clone)]
pub struct ForestCount {
    forests: usize,
    covered: f64,
}

impl ForestCount {
    /// No forest yet, and this coverage.
    pub fn new(covered: f64) -> Self {
        Self { forests: 0, covered }
    }

    /// The coverage if a further forest covers this share of the weight that the others leave.
    pub fn covered_with(&self, share: f64) -> f64 {
        self.covered + (1.0 - self.covered) * share
    }

    /// Accept a further forest, which raises the coverage to `covered`, if it adds enough. The first one always does.
    pub fn takes(&mut self, covered: f64) -> bool {
        if self.forests > 0 && !(covered - self.covered >= MIN_ADDED_COVERAGE) {
            return false;
        }
        *self = Self { forests: self.forests + 1, covered };
        true
    }

    /// Whether to search for a further forest.
    pub fn wants_more(&self) -> bool {
        self.forests == 0 || (self.forests < MAX_FORESTS && self.covered < SUFFICIENT_COVERAGE)
    }

    /// The reason in words. `of` says whose share of the weight was measured.
    pub fn reason(&self, of: &str) -> String {
        let forests = if self.forests == 1 { "forest" } else { "forests" };
        format!("{} {forests}: {of} {:.0}% of the weight", self.forests, 100.0 * self.covered)
    }
}

/// Find forests as [`forests`] does, until their coverage reaches μ or a further one adds too little. Returns the reason in words, too.
pub(super) fn worthy_forests(graph: Graph, omega: f64, options: &GraphFactorOptions) -> Result<(Vec<Forest>, String)> {
    // `rest` has the edges of no forest; the search for the next forest uses `graph`.
    let (mut rest, mut graph) = (graph.duplicated()?, graph);
    let (mut forests, mut enough) = (Vec::new(), ForestCount::new(0.0));
    while enough.wants_more() {
        let forest = Forest::of(&graph, &options.of_forest(forests.len()))?;
        if !enough.takes(enough.covered_with(forest.coverage(&rest))) {
            break;
        }
        rest.weaken(&|v| forest.linked(v), 0.0)?;
        graph.weaken(&|v| forest.linked(v), omega)?;
        forests.push(forest);
    }
    Ok((forests, enough.reason("the edges have")))
}
