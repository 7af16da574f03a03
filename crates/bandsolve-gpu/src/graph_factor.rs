//! [0, n]-factors of graphs on a device.

use crate::csr::{DeviceCsr, RowOperation};
use crate::cut::THREADS;
use crate::device::{Device, DeviceSlice, DeviceVec};
use crate::graph::DeviceGraph;
use crate::launch::Arguments;
use bandsolve::{Result, interrupt};
use bandsolve_sparse::GraphFactorOptions;

/// A [0, n]-factor of a graph on a device: a set of edges in which each vertex has at most n edges.
///
/// It has the edges of the [`GraphFactor`](bandsolve_sparse::GraphFactor) of the same weights, in the same order.
///
/// # Examples
/// ```
/// # #[cfg(feature = "emulator")] {
/// use bandsolve_gpu::{Device, DeviceGraph, DeviceGraphFactor, Emulation, NO_COLUMN};
/// use bandsolve_sparse::{Csr, Graph, GraphFactorOptions};
/// let device = Device::cuda(0).unwrap_or_else(|_| Device::emulated(Emulation::default()));
/// // The path 0–2–1.
/// let a = Csr::<f64>::from_triplets(3, 3, &[(0, 2, -1.0), (1, 2, -1.0)])?;
/// let graph = DeviceGraph::new(&device, &Graph::of(&a)?)?;
/// let factor = DeviceGraphFactor::of(&graph, &GraphFactorOptions::default())?;
/// assert_eq!(factor.partners().download()?, [2, NO_COLUMN, 2, NO_COLUMN, 0, 1]);
/// # }
/// # Ok::<(), bandsolve::Error>(())
/// ```
///
/// # Source
/// C. J. Klein, dissertation, Heidelberg 2022, Algorithm 8.
#[derive(Debug)]
pub struct DeviceGraphFactor {
    device: Device,
    degree: usize,
    vertices: usize,
    partners: DeviceVec<u32>,
    rounds: usize,
    maximal: bool,
}

/// An operation that proposes edges (`graph_factor.cuh`).
#[derive(Debug, Clone, Copy)]
#[repr(C)]
struct ProposeArguments {
    confirmed: u64,
    proposed: u64,
    states: u64,
    reports: u64,
    charged: u32,
    /// What a thread reports. 0 at the launch.
    report: u32,
}

/// Bytes of a term of `Propose`.
const TERM: usize = 16;

/// What the vertices of a round report.
const HAS_PROPOSAL: u32 = 1;
const CAN_GROW: u32 = 2;

/// The arrays of a search.
struct FactorSearch<'a> {
    weights: &'a DeviceCsr<f64>,
    options: &'a GraphFactorOptions,
    confirmed: DeviceVec<u32>,
    proposed: DeviceVec<u32>,
    /// Charges, or that a vertex has all of its edges.
    states: DeviceVec<u8>,
    reports: DeviceVec<u32>,
}

impl DeviceGraphFactor {
    /// Find a [0, n]-factor in parallel, by the rules of [`GraphFactor::of`](bandsolve_sparse::GraphFactor::of).
    ///
    /// # Cost
    /// Each round reads all edges once, and two to four words per vertex. The host waits for each round, and reads one word.
    ///
    /// # Errors
    /// Those of [`GraphFactorOptions::check`]; [`Error::Interrupted`](bandsolve::Error::Interrupted) if the caller stops the search;
    /// [`Error::Device`](bandsolve::Error::Device).
    pub fn of(graph: &DeviceGraph, options: &GraphFactorOptions) -> Result<Self> {
        options.check()?;
        let (n, device) = (graph.vertices(), graph.device());
        let mut search = FactorSearch {
            weights: graph.weights(),
            options,
            confirmed: device.zeros(n * options.degree)?,
            proposed: device.zeros(n * options.degree)?,
            states: device.zeros(n)?,
            reports: device.zeros(1)?,
        };
        search.confirm(None)?;
        let (mut rounds, mut maximal) = (0, false);
        while rounds < options.rounds && !maximal {
            interrupt::check()?;
            let (report, charged) = (search.propose(rounds)?, options.is_charged(rounds));
            rounds += 1;
            let has_proposal = report & HAS_PROPOSAL != 0;
            maximal = !has_proposal && !charged;
            if !has_proposal && charged && report & CAN_GROW == 0 {
                // The factor is maximal. Skip to the round without charges that would detect this.
                rounds = options.next_uncharged(rounds).min(options.rounds);
            }
            search.confirm(Some(rounds))?;
        }
        let (device, partners) = (device.clone(), search.confirmed);
        Ok(Self { device, degree: options.degree, vertices: n, partners, rounds, maximal })
    }

    /// The edges between vertices that are neighbors in the order of all vertices.
    pub(crate) fn in_order(graph: &DeviceGraph) -> Result<Self> {
        let (n, device) = (graph.vertices(), graph.device().clone());
        let partners = device.zeros(2 * n)?;
        let arguments = Arguments::default().with(graph.weights().arguments()).with(partners.slice(..).address());
        if n > 0 {
            // SAFETY: these are the kernel's arguments, and the array has two elements per vertex.
            unsafe { arguments.launch(&device, "neighbors_f64", n.div_ceil(THREADS as usize), 0) }?;
        }
        Ok(Self { device, degree: 2, vertices: n, partners, rounds: 1, maximal: true })
    }

    /// The maximum number n of edges per vertex.
    pub fn degree(&self) -> usize {
        self.degree
    }

    /// Get the number of vertices.
    pub fn vertices(&self) -> usize {
        self.vertices
    }

    /// Number of rounds. If [`is_maximal`](Self::is_maximal), the last round brought no new proposal.
    pub fn rounds(&self) -> usize {
        self.rounds
    }

    /// Whether no edge can be added: a round without charges brought no proposal.
    pub fn is_maximal(&self) -> bool {
        self.maximal
    }

    /// The partners of each vertex, [`degree`](Self::degree) elements per vertex, in the order in which the search found them. The last ones are
    /// [`NO_COLUMN`](crate::NO_COLUMN) if a vertex has fewer.
    pub fn partners(&self) -> DeviceSlice<'_, u32> {
        self.partners.slice(..)
    }

    /// Get the device and stream of the factor.
    pub fn device(&self) -> &Device {
        &self.device
    }
}

impl FactorSearch<'_> {
    /// Propose the heaviest possible edges of each vertex. Returns what the vertices report.
    fn propose(&mut self, round: usize) -> Result<u32> {
        self.reports.slice_mut(..).clear()?;
        let arguments = ProposeArguments {
            confirmed: self.confirmed.slice(..).address(),
            proposed: self.proposed.slice(..).address(),
            states: self.states.slice(..).address(),
            reports: self.reports.slice(..).address(),
            charged: self.options.is_charged(round).into(),
            report: 0,
        };
        let ending = ["_propose1", "_propose2", "_propose3", "_propose4"][self.options.degree - 1];
        self.weights.reduce_rows(&[], RowOperation { ending, term: TERM, arguments })?;
        Ok(self.reports.download()?[0])
    }

    /// Confirm edges that both ends proposed, and set the states for the next round. Without rounds so far, no vertex has an edge.
    fn confirm(&mut self, rounds: Option<usize>) -> Result<()> {
        let n = self.states.len();
        if n == 0 {
            return Ok(());
        }
        let next = rounds.unwrap_or(0);
        let proposed = rounds.map_or(0, |_| self.proposed.slice(..).address());
        let arguments = Arguments::default().with(n as u32).with(proposed);
        let arguments = arguments.with(self.confirmed.slice(..).address()).with(self.states.slice(..).address());
        let arguments = arguments.with(((next as u64) << 32).wrapping_add(self.options.seed));
        let arguments = arguments.with(u32::from(self.options.is_charged(next)));
        let name = format!("confirm_f64_{}", self.options.degree);
        // SAFETY: these are the kernel's arguments, and the arrays have the elements of n vertices.
        unsafe { arguments.launch(self.weights.device(), &name, n.div_ceil(THREADS as usize), 0) }
    }
}
