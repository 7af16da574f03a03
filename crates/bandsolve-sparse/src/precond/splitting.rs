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
use bandsolve::{RealScalar, Result, Scalar};

/// The graph in which forests are looked for: w(i, j) = |aᵢⱼ|/|dᵢ| + |aⱼᵢ|/|dⱼ| with the diagonal d of [`DiagonalRule::P1`], which a
/// scaling of rows does not change.
///
/// # Errors
/// Those of [`DiagonalRule::of`] and [`Graph::of`].
pub fn comparable_graph<T: Scalar, I: Index>(a: &Csr<'_, T, I>) -> Result<Graph> {
    let d = DiagonalRule::P1.of(a)?;
    let moduli: Vec<f64> = d.iter().map(|d| 1.0 / Scalar::abs(*d).to_f64()).collect();
    Graph::weighted(a, &moduli)
}

/// Forests one after the other; before each, the weights of those before are multiplied by ω.
pub(crate) fn forests(mut graph: Graph, count: usize, omega: f64, options: &GraphFactorOptions) -> Result<Vec<Forest>> {
    let mut found: Vec<Forest> = Vec::with_capacity(count);
    for l in 0..count {
        if let Some(last) = found.last() {
            graph.weaken(last, omega);
        }
        let options = GraphFactorOptions { seed: options.seed.wrapping_add(l as u64), ..*options };
        found.push(Forest::of(&graph, &options)?);
    }
    Ok(found)
}
