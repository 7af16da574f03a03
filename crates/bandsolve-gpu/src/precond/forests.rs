//! The linear forests of preconditioners, found on the device by the rules of the CPU.

use crate::csr::DeviceCsr;
use crate::device::DeviceScalar;
use crate::forest::DeviceForest;
use crate::graph::DeviceGraph;
use crate::graph_factor::DeviceGraphFactor;
use bandsolve::Result;
use bandsolve_sparse::{ForestCount, GraphFactorOptions, PreconditionerOptions};

/// The forest of the kind `forest`.
pub(super) fn heaviest<T: DeviceScalar>(a: &DeviceCsr<T>, options: &GraphFactorOptions) -> Result<DeviceForest> {
    let graph = DeviceGraph::comparable(a)?;
    DeviceForest::heaviest(&graph, &DeviceGraphFactor::of(&graph, options)?)
}

/// Find `count` forests, or if `count` = 0 as many as pay off. Before each search, the weights of the edges of the last forest are multiplied by ω.
pub(super) fn forests<T: DeviceScalar>(
    a: &DeviceCsr<T>,
    count: usize,
    options: &PreconditionerOptions,
) -> Result<Vec<DeviceForest>> {
    let graph = DeviceGraph::comparable(a)?;
    if count == 0 { worthy_forests(graph, options) } else { numbered_forests(graph, count, options) }
}

fn numbered_forests(
    mut graph: DeviceGraph,
    count: usize,
    options: &PreconditionerOptions,
) -> Result<Vec<DeviceForest>> {
    let mut forests: Vec<DeviceForest> = Vec::with_capacity(count);
    for l in 0..count {
        if let Some(last) = forests.last() {
            graph.weaken(last.arguments(), options.omega)?;
        }
        forests.push(DeviceForest::of(&graph, &options.factors.of_forest(l))?);
    }
    Ok(forests)
}

fn worthy_forests(mut graph: DeviceGraph, options: &PreconditionerOptions) -> Result<Vec<DeviceForest>> {
    // `rest` has the edges of no forest; the search for the next forest uses `graph`.
    let (mut rest, mut forests, mut enough) = (graph.duplicated()?, Vec::new(), ForestCount::new(0.0));
    while enough.wants_more() {
        let forest = DeviceForest::of(&graph, &options.factors.of_forest(forests.len()))?;
        if !enough.takes(enough.covered_with(forest.coverage(&rest)?)) {
            break;
        }
        rest.weaken(forest.arguments(), 0.0)?;
        graph.weaken(forest.arguments(), options.omega)?;
        forests.push(forest);
    }
    Ok(forests)
}
