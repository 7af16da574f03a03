//! Linear forests on a device: the paths of [0, 2]-factors whose cycles are broken.

use crate::csr::{DeviceCsr, RowOperation};
use crate::cut::THREADS;
use crate::device::{Device, DeviceScalar, DeviceSlice, DeviceSliceMut, DeviceVec, check_len};
use crate::graph::{DeviceGraph, PathOrderArguments};
use crate::graph_factor::DeviceGraphFactor;
use crate::launch::Arguments;
use crate::vectors::DeviceVectors;
use bandsolve::memory::{allocate, collected};
use bandsolve::{Complex64, Error, Result, interrupt};
use bandsolve_sparse::{Forest, GraphFactorOptions};

/// A linear forest on a device: disjoint paths that together contain all vertices of a graph.
///
/// It has the paths of the [`Forest`](bandsolve_sparse::Forest) of the same weights, in the same order: each path begins at the end with the smaller number. This
/// number is the name of the path, and the paths are in ascending order of their names. A vertex without a partner is a path of its own.
///
/// # Examples
/// ```
/// # #[cfg(feature = "emulator")] {
/// use bandsolve_gpu::{Device, DeviceCsr, DeviceForest, DeviceGraph, Emulation};
/// use bandsolve_sparse::{Csr, GraphFactorOptions};
/// let device = Device::cuda(0).unwrap_or_else(|_| Device::emulated(Emulation::default()));
/// // (4 0 −1), (0 4 −2), (−1 −2 4): the path 0–2–1.
/// let a = [(0, 0, 4.0), (0, 2, -1.0), (1, 1, 4.0), (1, 2, -2.0), (2, 0, -1.0), (2, 1, -2.0), (2, 2, 4.0)];
/// let a = DeviceCsr::new(&device, &Csr::<f64>::from_triplets(3, 3, &a)?)?;
/// let forest = DeviceForest::of(&DeviceGraph::of(&a)?, &GraphFactorOptions::default())?;
/// assert_eq!(forest.order().download()?, [0, 2, 1]);
/// assert_eq!(forest.paths().download()?, [0, 0, 0]);
/// let [mut sub, mut diag, mut sup] = [device.zeros(3)?, device.zeros(3)?, device.zeros(3)?];
/// forest.tridiagonal(&a, &mut sub, &mut diag, &mut sup)?;
/// assert_eq!(sub.download()?, [0.0, -1.0, -2.0]);
/// # }
/// # Ok::<(), bandsolve::Error>(())
/// ```
///
/// # Source
/// C. J. Klein, dissertation, Heidelberg 2022, section 4.3.3 and Algorithm 7.
#[derive(Debug)]
pub struct DeviceForest {
    device: Device,
    /// The vertices, path by path, and the place of each vertex.
    order: DeviceVec<u32>,
    places: DeviceVec<u32>,
    /// The name of the path of each vertex.
    names: DeviceVec<u32>,
    cycles: usize,
}

/// Vertices of a tile, and words of shared memory of the kernel that adds path lengths (`forest.cuh`).
const TILE_VERTICES: usize = 1024;
const LENGTHS_WORDS: usize = 32 + 1;

/// What the links of a step report.
const IS_OPEN: u32 = 1;
const IS_CYCLE: u32 = 2;

/// The partners of each vertex in the form that the kernels use.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
struct PartnersArguments {
    partners: u64,
    degree: u32,
}

/// The matrix of a forest in the form that the kernels use.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
struct TakePathsArguments {
    paths: PathOrderArguments,
    bands: [u64; 3],
}

/// The sums of the weights of each vertex in the form that the kernels use.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
struct CoverageArguments {
    paths: PathOrderArguments,
    all: u64,
    covered: u64,
}

/// The two links of each vertex, which leave it in the two directions of its path: the link that each reaches, its distance, and
/// the weakest edge on the way. A step reads the current arrays and writes the others.
struct LinkScan<'a> {
    device: &'a Device,
    n: usize,
    reach: [DeviceVec<[u32; 2]>; 2],
    edges: [DeviceVec<[u64; 2]>; 2],
    current: usize,
    reports: DeviceVec<u32>,
}

impl DeviceForest {
    /// Copy a forest to a device.
    ///
    /// # Errors
    /// [`Error::Shape`] if the number of vertices exceeds 32 bits; [`Error::OutOfMemory`]; [`Error::Device`].
    ///
    /// # Examples
    /// ```
    /// # #[cfg(feature = "emulator")] {
    /// use bandsolve_gpu::{Device, DeviceForest, Emulation};
    /// use bandsolve_sparse::Forest;
    /// let device = Device::cuda(0).unwrap_or_else(|_| Device::emulated(Emulation::default()));
    /// let columns = DeviceForest::new(&device, &Forest::grid_lines(2, 2, false)?)?;
    /// assert_eq!(columns.order().download()?, [0, 2, 1, 3]);
    /// # }
    /// # Ok::<(), bandsolve::Error>(())
    /// ```
    pub fn new(device: &Device, forest: &Forest) -> Result<Self> {
        let (n, most) = (forest.vertices(), u32::MAX as usize - 1);
        if n > most {
            return Err(Error::Shape { what: "vertices of a forest on a device", expected: most, got: n });
        }
        let upload = |number: &dyn Fn(usize) -> usize| device.upload(&collected((0..n).map(|v| number(v) as u32))?);
        Ok(Self {
            device: device.clone(),
            order: device.upload(&collected(forest.order().map(|v| v as u32))?)?,
            places: upload(&|v| forest.place(v))?,
            names: upload(&|v| forest.path(v))?,
            cycles: forest.cycles(),
        })
    }

    /// Return the paths of a [0, 2]-factor, or the path in the given order of the unknowns if it has a larger coverage, as
    /// [`Forest::heaviest`].
    ///
    /// # Errors
    /// As [`from_factor`](Self::from_factor).
    ///
    /// # Examples
    /// ```
    /// # #[cfg(feature = "emulator")] {
    /// use bandsolve_gpu::{Device, DeviceCsr, DeviceForest, DeviceGraph, DeviceGraphFactor, Emulation};
    /// use bandsolve_sparse::{Csr, GraphFactorOptions};
    /// let device = Device::cuda(0).unwrap_or_else(|_| Device::emulated(Emulation::default()));
    /// let a = [(0, 1, 2.0), (1, 0, 2.0), (1, 2, 1.0), (2, 1, 1.0)];
    /// let graph = DeviceGraph::of(&DeviceCsr::new(&device, &Csr::<f64>::from_triplets(3, 3, &a)?)?)?;
    /// let factor = DeviceGraphFactor::of(&graph, &GraphFactorOptions::default())?;
    /// assert_eq!(DeviceForest::heaviest(&graph, &factor)?.coverage(&graph)?, 1.0);
    /// # }
    /// # Ok::<(), bandsolve::Error>(())
    /// ```
    pub fn heaviest(graph: &DeviceGraph, factor: &DeviceGraphFactor) -> Result<Self> {
        let forest = Self::from_factor(graph, factor)?;
        // Do not compare a matching with paths.
        if factor.degree() < 2 {
            return Ok(forest);
        }
        let in_order = Self::new(graph.device(), &Forest::in_order(graph.vertices())?)?;
        if in_order.coverage(graph)? <= forest.coverage(graph)? {
            return Ok(forest);
        }
        Self::from_factor(graph, &DeviceGraphFactor::in_order(graph)?)
    }

    /// Find a [0, 2]-factor of a graph, and return its paths.
    ///
    /// # Errors
    /// Those of [`DeviceGraphFactor::of`] and [`from_factor`](Self::from_factor).
    pub fn of(graph: &DeviceGraph, options: &GraphFactorOptions) -> Result<Self> {
        options.check()?;
        check_degree(options.degree)?;
        Self::from_factor(graph, &DeviceGraphFactor::of(graph, options)?)
    }

    /// Return the paths of a [0, 2]-factor. Each cycle is broken at its edge of the smallest weight, by the rules of
    /// [`Forest::from_factor`](bandsolve_sparse::Forest::from_factor).
    ///
    /// # Cost
    /// log₂ L + 1 steps if the longest path or cycle has L vertices, and log₂ C + 1 further steps if the longest cycle has C. A step moves at most
    /// 144 bytes per vertex. The host waits for each step, and reads one word. Memory during the search: 96 bytes per vertex.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if the factor allows more than two partners per vertex, or is on another device. [`Error::Shape`] if the sizes of graph and
    /// factor differ. [`Error::Interrupted`] if the caller stops the search. [`Error::Device`].
    pub fn from_factor(graph: &DeviceGraph, factor: &DeviceGraphFactor) -> Result<Self> {
        let (n, device) = (graph.vertices(), graph.device());
        check_degree(factor.degree())?;
        check_len("vertices of the factor", n, factor.vertices())?;
        device.receive(&[("factor", factor.device())])?;
        let mut forest = Self {
            device: device.clone(),
            order: device.zeros(n)?,
            places: device.zeros(n)?,
            names: device.zeros(n)?,
            cycles: 0,
        };
        if n == 0 {
            return Ok(forest);
        }
        let partners = PartnersArguments { partners: factor.partners().address(), degree: factor.degree() as u32 };
        let mut scan = LinkScan::new(graph, partners)?;
        if scan.run(true)? & IS_CYCLE != 0 {
            forest.cycles = scan.break_cycles(partners)?;
            scan.run(false)?;
        }
        forest.number(&scan)?;
        Ok(forest)
    }

    /// Number the paths, and put the vertices in their order.
    fn number(&self, scan: &LinkScan<'_>) -> Result<()> {
        let n = self.vertices();
        let tiles = n.div_ceil(TILE_VERTICES);
        let (starts, sums, arrived) =
            (self.device.zeros::<u32>(n)?, self.device.zeros::<u32>(tiles)?, self.device.zeros::<u32>(1)?);
        let tables = [&self.names, &self.places, &starts, &sums, &arrived].map(|table| table.slice(..).address());
        let lengths = scan.arguments().with(scan.reach[scan.current].slice(..).address()).with(tables);
        let order = scan.arguments().with(tables).with(self.order.slice(..).address());
        // SAFETY: these are the kernels' arguments, and the arrays have one element per vertex or tile.
        unsafe {
            lengths.launch(&self.device, "pathlengths_f64", tiles, LENGTHS_WORDS * size_of::<u32>())?;
            order.launch(&self.device, "pathorder_f64", n.div_ceil(THREADS as usize), 0)
        }
    }

    /// Get the number of vertices.
    pub fn vertices(&self) -> usize {
        self.order.len()
    }

    /// The vertices path by path. In this order, the matrix of the forest is tridiagonal.
    pub fn order(&self) -> DeviceSlice<'_, u32> {
        self.order.slice(..)
    }

    /// The place of each vertex in [`order`](Self::order).
    pub fn places(&self) -> DeviceSlice<'_, u32> {
        self.places.slice(..)
    }

    /// The name of the path of each vertex: the number of its smaller end.
    pub fn paths(&self) -> DeviceSlice<'_, u32> {
        self.names.slice(..)
    }

    /// Number of cycles of the factor, all of which were broken.
    pub fn cycles(&self) -> usize {
        self.cycles
    }

    /// Get the device and stream of the forest.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// The vertices path by path, and the place of each vertex.
    pub(crate) fn into_order_and_places(self) -> [DeviceVec<u32>; 2] {
        [self.order, self.places]
    }

    /// The paths in the form that the kernels use.
    pub(crate) fn arguments(&self) -> PathOrderArguments {
        PathOrderArguments {
            order: self.order().address(),
            places: self.places().address(),
            names: self.paths().address(),
            n: self.vertices() as u32,
        }
    }

    /// The coverage: the share of the paths in the total edge weight of the graph, from 0 to 1. 0 if the graph has no edges.
    ///
    /// Unless a vertex has more than 32 edges, it has the bits of [`Forest::coverage`].
    ///
    /// # Cost
    /// One pass over the graph, and memory for three numbers per vertex. The host waits for the result.
    ///
    /// # Errors
    /// [`Error::Shape`] if the sizes differ; [`Error::InvalidArgument`] if the graph is on another device; [`Error::Device`].
    ///
    /// # Examples
    /// ```
    /// # #[cfg(feature = "emulator")] {
    /// use bandsolve_gpu::{Device, DeviceCsr, DeviceForest, DeviceGraph, Emulation};
    /// use bandsolve_sparse::{Csr, Forest};
    /// let device = Device::cuda(0).unwrap_or_else(|_| Device::emulated(Emulation::default()));
    /// let a = [(0, 1, 1.0), (1, 0, 1.0), (1, 2, 1.0), (2, 1, 1.0), (0, 2, 2.0), (2, 0, 2.0)];
    /// let graph = DeviceGraph::of(&DeviceCsr::new(&device, &Csr::<f64>::from_triplets(3, 3, &a)?)?)?;
    /// let forest = DeviceForest::new(&device, &Forest::in_order(3)?)?;
    /// assert_eq!(forest.coverage(&graph)?, 0.5);
    /// # }
    /// # Ok::<(), bandsolve::Error>(())
    /// ```
    pub fn coverage(&self, graph: &DeviceGraph) -> Result<f64> {
        let n = self.vertices();
        check_len("vertices of the graph", n, graph.vertices())?;
        // The sums of the vertices, and ones.
        let mut sums = DeviceVectors::<f64>::new(graph.device(), n, 3)?;
        sums.vector_mut(2).write(&allocate(n, 1.0)?)?;
        let [all, covered] = [0, 1].map(|k| sums.vector(k).address());
        let arguments = CoverageArguments { paths: self.arguments(), all, covered };
        // A term is a weight and its column.
        let operation = RowOperation { ending: "_coverage", term: 2 * size_of::<f64>(), arguments };
        graph.weights().reduce_rows(&[("forest", &self.device)], operation)?;
        let mut totals = [Complex64::ZERO; 2];
        sums.combine(0, &[], &[(2, 0), (2, 1)], &mut totals)?;
        let [all, covered] = totals.map(|sum| sum.re);
        Ok(if all > 0.0 { covered / all } else { 0.0 })
    }

    /// Extract the tridiagonal matrix of the forest: the diagonal of a matrix and its entries along the paths, in the order of the forest.
    ///
    /// Entries at the same position are added up. In rows of at most 32 entries, the sums have the bits of
    /// [`Forest::tridiagonal`](bandsolve_sparse::Forest::tridiagonal), and also in longer rows with at most two entries at the same position.
    ///
    /// # Shapes
    /// `sub`, `diag`, `sup`: one element per vertex.
    ///
    /// # Cost
    /// One pass over the matrix.
    ///
    /// # Errors
    /// [`Error::Shape`]; [`Error::InvalidArgument`] if the forest or an array is on another device than the matrix; [`Error::Device`].
    pub fn tridiagonal<'a, T: DeviceScalar>(
        &self,
        a: &DeviceCsr<T>,
        sub: impl Into<DeviceSliceMut<'a, T>>,
        diag: impl Into<DeviceSliceMut<'a, T>>,
        sup: impl Into<DeviceSliceMut<'a, T>>,
    ) -> Result<()> {
        let n = self.vertices();
        for got in [a.rows(), a.columns()] {
            check_len("rows and columns of the matrix", n, got)?;
        }
        let (sub, diag, sup) = (sub.into(), diag.into(), sup.into());
        let bands = [("sub", sub.as_slice()), ("diag", diag.as_slice()), ("sup", sup.as_slice())];
        bands.iter().try_for_each(|(name, band)| check_len(name, n, band.len()))?;
        let [sub, diag, sup] = bands.map(|(name, band)| (name, band.device()));
        let arguments = TakePathsArguments { paths: self.arguments(), bands: bands.map(|(_, band)| band.address()) };
        // A term is a number and its column.
        let term = (size_of::<T>() + size_of::<u32>()).next_multiple_of(T::REAL_BYTES);
        let operation = RowOperation { ending: "_paths", term, arguments };
        a.reduce_rows(&[("forest", &self.device), sub, diag, sup], operation)
    }
}

fn check_degree(degree: usize) -> Result<()> {
    if degree <= 2 {
        return Ok(());
    }
    Err(Error::invalid("factor", format!("has degree {degree}"), "degree 1 or 2, the edges of a vertex of a path"))
}

impl<'a> LinkScan<'a> {
    /// The first step of each link.
    fn new(graph: &'a DeviceGraph, partners: PartnersArguments) -> Result<Self> {
        let (n, device) = (graph.vertices(), graph.device());
        let scan = Self {
            device,
            n,
            reach: [device.zeros(2 * n)?, device.zeros(2 * n)?],
            edges: [device.zeros(2 * n)?, device.zeros(2 * n)?],
            current: 0,
            reports: device.zeros(1)?,
        };
        let arguments = scan.arguments().with(partners).with(graph.weights().arguments());
        let arguments = arguments.with(scan.reach[0].slice(..).address()).with(scan.edges[0].slice(..).address());
        scan.launch(arguments, "links_f64")?;
        Ok(scan)
    }

    fn arguments(&self) -> Arguments {
        Arguments::default().with(self.n as u32)
    }

    /// Add the addresses of the current reach and of the other one.
    fn with_reach(&self, arguments: Arguments) -> Arguments {
        let [now, next] = [self.current, 1 - self.current].map(|k| self.reach[k].slice(..).address());
        arguments.with(now).with(next)
    }

    fn with_edges(&self, arguments: Arguments) -> Arguments {
        let [now, next] = [self.current, 1 - self.current].map(|k| self.edges[k].slice(..).address());
        arguments.with(now).with(next)
    }

    /// Run a kernel with one thread per link.
    fn launch(&self, arguments: Arguments, kernel: &str) -> Result<()> {
        // SAFETY: the callers pass the kernel's arguments, and the arrays have two elements per vertex.
        unsafe { arguments.launch(self.device, kernel, (2 * self.n).div_ceil(THREADS as usize), 0) }
    }

    /// Double the distances until all links reach the ends of their paths, or have gone around their cycles. Returns the last report.
    fn run(&mut self, with_edges: bool) -> Result<u32> {
        loop {
            interrupt::check()?;
            self.reports.slice_mut(..).clear()?;
            let (mut arguments, mut kernel) = (self.with_reach(self.arguments()), "farthest_f64");
            if with_edges {
                (arguments, kernel) = (self.with_edges(arguments), "weakest_f64");
            }
            self.launch(arguments.with(self.reports.slice(..).address()), kernel)?;
            self.current = 1 - self.current;
            let report = self.reports.download()?[0];
            if report & IS_OPEN == 0 {
                return Ok(report);
            }
        }
    }

    /// Break each cycle at its weakest edge. Its links begin again with their first step. Returns the number of cycles.
    fn break_cycles(&mut self, partners: PartnersArguments) -> Result<usize> {
        self.reports.slice_mut(..).clear()?;
        let [reach, next] = [self.current, 1 - self.current].map(|k| self.reach[k].slice(..).address());
        let edges = self.edges[self.current].slice(..).address();
        let arguments = self.arguments().with(partners).with(reach).with(edges).with(next);
        self.launch(arguments.with(self.reports.slice(..).address()), "breakcycles_f64")?;
        self.current = 1 - self.current;
        Ok(self.reports.download()?[0] as usize)
    }
}
