//! The weighted graph of a matrix on a device.

use crate::csr::{DeviceCsr, TILE};
use crate::cut::THREADS;
use crate::device::{Device, DeviceScalar, DeviceSlice, check_len};
use crate::diagonal::inverse_moduli;
use crate::launch::Arguments;
use bandsolve::{Error, Result};
use bandsolve_sparse::Graph;

/// The undirected weighted graph of a square matrix in the memory of a device.
///
/// The unknowns are the vertices. As in [`Graph`], the weight of the edge between i and j ≠ i is w(i, j) = |aᵢⱼ| + |aⱼᵢ|, in double precision. If the
/// weight is 0 or NaN, there is no edge.
///
/// The weights have the bits of the CPU if the matrix is real. Moduli of complex numbers can differ in the last bit, since they depend on the
/// mathematical library of the host.
///
/// # Examples
/// ```
/// # #[cfg(feature = "emulator")] {
/// use bandsolve_gpu::{Device, DeviceCsr, DeviceForest, DeviceGraph, Emulation};
/// use bandsolve_sparse::{Csr, GraphFactorOptions};
/// let device = Device::cuda(0).unwrap_or_else(|_| Device::emulated(Emulation::default()));
/// // The path 0–2–1.
/// let a = Csr::<f64>::from_triplets(3, 3, &[(0, 2, -1.0), (1, 2, -1.0), (2, 0, -1.0), (2, 1, -1.0)])?;
/// let graph = DeviceGraph::of(&DeviceCsr::new(&device, &a)?)?;
/// let forest = DeviceForest::of(&graph, &GraphFactorOptions::default())?;
/// assert_eq!(forest.order().download()?, [0, 2, 1]);
/// # }
/// # Ok::<(), bandsolve::Error>(())
/// ```
#[derive(Debug)]
pub struct DeviceGraph {
    /// The weights, with entries of weight 0 where there is no edge. Columns ascend in each row.
    weights: DeviceCsr<f64>,
}

/// Maximum number of vertices. The kernels number the two directions of each vertex with 32 bits.
const MOST: usize = (1 << 31) - TILE;

impl DeviceGraph {
    /// Copy a graph to a device.
    ///
    /// # Errors
    /// [`Error::Shape`] if the graph has 2³¹ − 1023 vertices or more, or if the number of edges exceeds 32 bits; [`Error::Device`].
    pub fn new(device: &Device, graph: &Graph) -> Result<Self> {
        check_vertices(graph.vertices())?;
        Ok(Self { weights: DeviceCsr::new(device, graph.matrix())? })
    }

    /// Make the graph of a square matrix on its device and stream.
    ///
    /// # Cost
    /// If the columns ascend in every row and every entry has a mirrored one, one pass over the matrix on the device, and a search for
    /// each mirrored entry. The graph then shares the pattern with the matrix and adds 8 bytes per entry. For other matrices, the host makes the graph: the
    /// matrix is copied to the host, and the graph to the device. The host waits for the device.
    ///
    /// # Errors
    /// [`Error::Shape`] if the matrix is not square, or as [`new`](Self::new); [`Error::OutOfMemory`]; [`Error::Device`].
    pub fn of<T: DeviceScalar>(a: &DeviceCsr<T>) -> Result<Self> {
        Self::made(a, None)
    }

    /// Make the graph of a matrix whose row i is multiplied by `moduli[i]`, as [`Graph::weighted`].
    ///
    /// # Shapes
    /// `moduli`: one element per row.
    ///
    /// # Cost
    /// As [`of`](Self::of).
    ///
    /// # Errors
    /// As [`of`](Self::of); [`Error::InvalidArgument`] if `moduli` is on another device.
    pub fn weighted<'a, T: DeviceScalar>(a: &DeviceCsr<T>, moduli: impl Into<DeviceSlice<'a, f64>>) -> Result<Self> {
        Self::made(a, Some(moduli.into()))
    }

    /// Make the graph of a matrix with weights that do not depend on the scaling of its rows, as [`comparable_graph`](bandsolve_sparse::comparable_graph).
    ///
    /// # Cost
    /// As [`of`](Self::of), and one more pass over the matrix on the device.
    ///
    /// # Errors
    /// As [`of`](Self::of); [`Error::Singular`] as [`DiagonalRule::of`](bandsolve_sparse::DiagonalRule::of).
    ///
    /// # Examples
    /// ```
    /// # #[cfg(feature = "emulator")] {
    /// use bandsolve_gpu::{Device, DeviceCsr, DeviceForest, DeviceGraph, Emulation};
    /// use bandsolve_sparse::{Csr, GraphFactorOptions};
    /// let device = Device::cuda(0).unwrap_or_else(|_| Device::emulated(Emulation::default()));
    /// // The edge 1–2 is heavier once each row is divided by its diagonal.
    /// let a = [(0, 0, 8.0), (0, 1, 2.0), (1, 0, 2.0), (1, 1, 8.0), (1, 2, 1.0), (2, 1, 1.0), (2, 2, 1.0)];
    /// let a = DeviceCsr::new(&device, &Csr::<f64>::from_triplets(3, 3, &a)?)?;
    /// let mut options = GraphFactorOptions::default();
    /// options.degree = 1;
    /// let forest = DeviceForest::of(&DeviceGraph::comparable(&a)?, &options)?;
    /// assert_eq!(forest.paths().download()?, [0, 1, 1]);
    /// # }
    /// # Ok::<(), bandsolve::Error>(())
    /// ```
    pub fn comparable<T: DeviceScalar>(a: &DeviceCsr<T>) -> Result<Self> {
        Self::weighted(a, &inverse_moduli(a)?)
    }

    fn made<T: DeviceScalar>(a: &DeviceCsr<T>, moduli: Option<DeviceSlice<'_, f64>>) -> Result<Self> {
        let n = a.rows();
        check_len("columns of a square matrix", n, a.columns())?;
        check_vertices(n)?;
        let device = a.device();
        if let Some(moduli) = &moduli {
            check_len("moduli of rows", n, moduli.len())?;
            device.receive(&[("moduli", moduli.device())])?;
        }
        let weights = a.with_zeros::<f64>()?;
        let (flag, blocks) = (device.zeros::<u32>(1)?, a.entries().div_ceil(TILE));
        if blocks > 0 {
            let (out, factors) = (weights.values().address(), moduli.map_or(0, |moduli| moduli.address()));
            let arguments = Arguments::default().with(a.arguments()).with(factors).with(out);
            let arguments = arguments.with(flag.slice(..).address());
            let shared = 2 * size_of::<u32>();
            // SAFETY: these are the kernel's arguments, the matrix is square, and the other arrays have the lengths that were checked above.
            unsafe { arguments.launch(device, &format!("weights_{}", T::NAME), blocks, shared) }?;
        }
        if flag.download()? == [0] {
            return Ok(Self { weights });
        }
        drop(weights);
        let host = a.download()?;
        Self::new(
            device,
            &match moduli {
                None => Graph::of(&host)?,
                Some(moduli) => Graph::weighted(&host, &moduli.download()?)?,
            },
        )
    }

    /// Get the number of vertices.
    pub fn vertices(&self) -> usize {
        self.weights.rows()
    }

    /// Get the device and stream of the graph.
    pub fn device(&self) -> &Device {
        self.weights.device()
    }

    pub(crate) fn weights(&self) -> &DeviceCsr<f64> {
        &self.weights
    }

    /// A copy, which shares the pattern.
    pub(crate) fn duplicated(&self) -> Result<Self> {
        Ok(Self { weights: self.weights.with_copy()? })
    }

    /// Multiply the weights of the edges along the paths of a forest by ω. ω = 0 gives them the weight 0.
    pub(crate) fn weaken(&mut self, paths: PathOrderArguments, omega: f64) -> Result<()> {
        if self.vertices() == 0 {
            return Ok(());
        }
        let weights = self.weights.values().address();
        let arguments = Arguments::default().with(self.weights.arguments()).with(weights).with(paths);
        let arguments = arguments.with(1.0 - omega);
        let blocks = self.vertices().div_ceil(THREADS as usize);
        // SAFETY: these are the kernel's arguments. The weights are borrowed exclusively.
        unsafe { arguments.launch(self.device(), "weaken_f64", blocks, 0) }
    }
}

/// The paths of a forest in the form that the kernels use (`forest.cuh`).
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub(crate) struct PathOrderArguments {
    pub order: u64,
    pub places: u64,
    pub names: u64,
    pub n: u32,
}

fn check_vertices(n: usize) -> Result<()> {
    if n <= MOST { Ok(()) } else { Err(Error::Shape { what: "rows of a graph on a device", expected: MOST, got: n }) }
}
