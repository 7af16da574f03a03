//! Splittings of a matrix by linear forests: each takes the heaviest couplings that those before it have left.
//!
//! # Source
//! C. J. Klein, dissertation, Heidelberg 2022, sections 5.1.3 to 5.1.6: equations (52), (70), (71).

use super::diagonal::DiagonalRule;
use crate::csr::Csr;
use crate::factor::GraphFactorOptions;
use crate::forest::Forest;
use crate::graph::Graph;
use bandsolve::matrix::Index;
use bandsolve::memory::collected;
use bandsolve::{RealScalar, Result, Scalar};

/// The graph in which forests are looked for: w(i, j) = |aᵢⱼ|/|dᵢ| + |aⱼᵢ|/|dⱼ| with the diagonal d of [`DiagonalRule::P1`], which a
/// scaling of rows does not change.
///
/// # Errors
/// Those of [`DiagonalRule::of`] and [`Graph::of`].
pub fn comparable_graph<T: Scalar, I: Index>(a: &Csr<'_, T, I>) -> Result<Graph> {
    let d = DiagonalRule::P1.of(a)?;
    let moduli: Vec<f64> = collected(d.iter().map(|d| 1.0 / Scalar::abs(*d).to_f64()))?;
    Graph::weighted(a, &moduli)
}

/// The options of forest l.
pub(super) fn of_forest(options: &GraphFactorOptions, l: usize) -> GraphFactorOptions {
    GraphFactorOptions { seed: options.seed.wrapping_add(l as u64), ..*options }
}

/// Forests one after the other; before each, the weights of those before are multiplied by ω.
pub(crate) fn forests(mut graph: Graph, count: usize, omega: f64, options: &GraphFactorOptions) -> Result<Vec<Forest>> {
    let mut found: Vec<Forest> = Vec::with_capacity(count);
    for l in 0..count {
        if let Some(last) = found.last() {
            graph.weaken(last, omega)?;
        }
        found.push(Forest::of(&graph, &of_forest(options, l))?);
    }
    Ok(found)
}

/// When a number of forests that was not given is large enough.
pub(super) struct ForestsEnough {
    forests: usize,
    covered: f64,
}

/// Most forests.
const MOST: usize = 4;
/// μ: the part of the weight that is enough; and the part that another forest must add: below, what they add stagnates.
const ENOUGH: f64 = 0.9;
const WORTH: f64 = 0.05;

impl ForestsEnough {
    /// Without a forest so much is covered.
    pub(super) fn new(covered: f64) -> Self {
        Self { forests: 0, covered }
    }

    /// Whether another forest, with which so much is covered, is worth its cost: the first always is.
    pub(super) fn takes(&mut self, covered: f64) -> bool {
        if self.forests > 0 && !(covered - self.covered >= WORTH) {
            return false;
        }
        *self = Self { forests: self.forests + 1, covered };
        true
    }

    /// Whether one more may be looked for.
    pub(super) fn wants_more(&self) -> bool {
        self.forests == 0 || (self.forests < MOST && self.covered < ENOUGH)
    }

    /// In words.
    pub(super) fn said(&self, of: &str) -> String {
        let forests = if self.forests == 1 { "forest" } else { "forests" };
        format!("{} {forests}: {:.0}% {of}", self.forests, 100.0 * self.covered)
    }
}

/// So many forests as are worth it, as [`forests`] finds them, with the reason in words: until all of them together cover the part μ of the
/// weight, or one of them hardly adds to it.
pub(super) fn worthy_forests(graph: Graph, omega: f64, options: &GraphFactorOptions) -> Result<(Vec<Forest>, String)> {
    // What no forest covers, and what the next is found in.
    let (mut rest, mut graph) = (graph.duplicated()?, graph);
    let (mut found, mut enough) = (Vec::new(), ForestsEnough::new(0.0));
    while enough.wants_more() {
        let forest = Forest::of(&graph, &of_forest(options, found.len()))?;
        if !enough.takes(enough.covered + (1.0 - enough.covered) * forest.coverage(&rest)) {
            break;
        }
        rest.weaken(&forest, 0.0)?;
        graph.weaken(&forest, omega)?;
        found.push(forest);
    }
    Ok((found, enough.said("of the weight")))
}
