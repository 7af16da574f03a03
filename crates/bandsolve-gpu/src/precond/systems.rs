//! The tridiagonal systems of linear forests on a device, with permutations before and after each solve.

use crate::csr::DeviceCsr;
use crate::device::{Device, DeviceScalar, DeviceSlice, DeviceVec};
use crate::launch::Arguments;
use crate::matrix::DeviceMatrix;
use crate::solver::DeviceSolver;
use bandsolve::vectors::PIECE;
use bandsolve::{Plan, Result, Shape};
use bandsolve_sparse::{ForestSystem, PairForestSystem};

/// The systems of several forests, in the order of their solves, and vectors for them.
#[derive(Debug)]
pub(super) struct ForestSystems<T: DeviceScalar> {
    device: Device,
    systems: Vec<ForestOnDevice<T>>,
    rhs: DeviceVec<T>,
    solved: DeviceVec<T>,
    /// A·y, if systems act with residuals.
    product: DeviceVec<T>,
}

/// The system of a forest.
#[derive(Debug)]
struct ForestOnDevice<T: DeviceScalar> {
    bands: [DeviceVec<T>; 3],
    /// The element of the input at each row, or [`NO_ELEMENT`] for a row whose right-hand side is zero.
    order: DeviceVec<u32>,
    /// The row of each unknown.
    places: DeviceVec<u32>,
    solver: DeviceSolver<T>,
    /// Whether a pivot is so small that the host has to solve (see [`DeviceSolver`]).
    for_host: bool,
}

/// Stands for an absent element (`vectors.cuh`).
const NO_ELEMENT: u32 = u32::MAX;

/// The arrays of a system on the host.
struct SystemArrays<'h, T> {
    shape: Shape,
    bands: [&'h [T]; 3],
    order: Vec<u32>,
    places: Vec<u32>,
}

impl<'h, T: DeviceScalar> SystemArrays<'h, T> {
    fn of_forest(system: &'h ForestSystem<T>) -> Self {
        let (forest, tridiagonal) = (system.forest(), system.tridiagonal());
        let order = forest.order().map(|v| v as u32).collect();
        let places = (0..forest.vertices()).map(|v| forest.place(v) as u32).collect();
        Self { shape: tridiagonal.shape(), bands: tridiagonal.arrays(), order, places }
    }

    fn of_pairs(system: &'h PairForestSystem<T>) -> Self {
        let matrix = system.matrix();
        let mut order = vec![NO_ELEMENT; matrix.shape().rows()];
        system.places().iter().enumerate().for_each(|(v, place)| order[*place as usize] = v as u32);
        Self { shape: matrix.shape(), bands: matrix.arrays(), order, places: system.places().into() }
    }

    fn upload(&self, device: &Device) -> Result<ForestOnDevice<T>> {
        let [sub, diag, sup] = self.bands.map(|band| device.upload(band));
        let plan = Plan::new(self.shape).verify(false);
        let mut system = ForestOnDevice {
            bands: [sub?, diag?, sup?],
            order: device.upload(&self.order)?,
            places: device.upload(&self.places)?,
            solver: DeviceSolver::new(device, &plan, 1)?,
            for_host: false,
        };
        // Whether the host has to solve depends on the matrix alone.
        let (rhs, mut x) = (device.zeros(self.order.len())?, device.zeros(self.order.len())?);
        let [sub, diag, sup] = &system.bands;
        let matrix = DeviceMatrix::block_tridiagonal(sub, diag, sup);
        system.for_host = system.solver.solve(matrix, &rhs, &mut x)?.fallback;
        Ok(system)
    }
}

impl<T: DeviceScalar> ForestOnDevice<T> {
    fn solve(&mut self, rhs: &DeviceVec<T>, x: &mut DeviceVec<T>) -> Result<()> {
        let [sub, diag, sup] = &self.bands;
        let matrix = DeviceMatrix::block_tridiagonal(sub, diag, sup);
        if self.for_host || rhs.is_empty() {
            return self.solver.solve(matrix, rhs, x).map(|_| ());
        }
        self.solver.prepare(rhs.len(), "rhs")?;
        let source = matrix.source(self.solver.shape())?;
        let given = self.solver.dense(rhs.slice(..));
        self.solver.enqueue(source, given, x.slice(..))
    }
}

/// A reordered and combined vector, in the form that the kernel uses (`Gather` in `vectors.cuh`). Address 0 stands for an absent array.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub(super) struct Gather {
    pub n: u32,
    pub index: u64,
    pub from: u64,
    pub scale: u64,
    pub minus: u64,
    pub plus: u64,
    pub out: u64,
}

impl Gather {
    /// out ← from, in the order of `index`.
    pub fn new<T: DeviceScalar>(
        index: Option<&DeviceVec<u32>>,
        from: DeviceSlice<'_, T>,
        out: DeviceSlice<'_, T>,
    ) -> Self {
        let (n, index) = (out.len() as u32, index.map_or(0, |index| index.slice(..).address()));
        Self { n, index, from: from.address(), scale: 0, minus: 0, plus: 0, out: out.address() }
    }

    /// Run the kernel.
    ///
    /// # Safety
    /// `out` has n elements, and so have `index` and `plus`. `scale` and `minus` have the length of `from`, which is above all indices.
    pub unsafe fn launch<T: DeviceScalar>(self, device: &Device) -> Result<()> {
        let blocks = (self.n as usize).div_ceil(PIECE);
        if blocks == 0 {
            return Ok(());
        }
        let arguments = Arguments::default().with(self);
        // SAFETY: these are the kernel's arguments, and the caller's promise.
        unsafe { arguments.launch(device, &format!("gather_{}", T::NAME), blocks, 0) }
    }
}

impl<T: DeviceScalar> ForestSystems<T> {
    /// Copy systems to a device.
    pub fn new(device: &Device, systems: &[ForestSystem<T>]) -> Result<Self> {
        let arrays = systems.iter().map(SystemArrays::of_forest);
        Self::of(device, arrays.map(|arrays| arrays.upload(device)).collect::<Result<_>>()?)
    }

    /// Copy the system of pairs to a device.
    pub fn of_pairs(device: &Device, system: &PairForestSystem<T>) -> Result<Self> {
        Self::of(device, vec![SystemArrays::of_pairs(system).upload(device)?])
    }

    /// Copy the systems of a product M₁···Mₘ to a device, for [`divide`](Self::divide).
    pub fn of_product(device: &Device, systems: &[ForestSystem<T>]) -> Result<Self> {
        // Mₘ⁻¹ acts first. Each system reads the solution of the one before, in its order.
        let (mut before, mut on_device) = (None::<Vec<u32>>, Vec::new());
        for system in systems.iter().rev() {
            let mut arrays = SystemArrays::of_forest(system);
            if let Some(places) = &before {
                arrays.order.iter_mut().for_each(|v| *v = places[*v as usize]);
            }
            on_device.push(arrays.upload(device)?);
            before = Some(arrays.places);
        }
        Self::of(device, on_device)
    }

    fn of(device: &Device, systems: Vec<ForestOnDevice<T>>) -> Result<Self> {
        let rows = systems.first().map_or(0, |system| system.order.len());
        let vector = || device.zeros(rows);
        Ok(Self { device: device.clone(), systems, rhs: vector()?, solved: vector()?, product: vector()? })
    }

    /// The number of systems.
    pub fn count(&self) -> usize {
        self.systems.len()
    }

    /// y = M⁻¹·x with one system.
    pub fn solve(&mut self, k: usize, x: DeviceSlice<'_, T>, y: DeviceSlice<'_, T>) -> Result<()> {
        let (device, system) = (&self.device, &mut self.systems[k]);
        // SAFETY: here and below, `new` has checked the indices: they are those of a permutation, and all vectors have its length.
        unsafe { Gather::new(Some(&system.order), x, self.rhs.slice(..)).launch::<T>(device) }?;
        system.solve(&self.rhs, &mut self.solved)?;
        // SAFETY: see above.
        unsafe { Gather::new(Some(&system.places), self.solved.slice(..), y).launch::<T>(device) }
    }

    /// y ← y + M⁻¹·(x − A·y) with one system.
    pub fn sweep(&mut self, k: usize, a: &DeviceCsr<T>, x: DeviceSlice<'_, T>, y: DeviceSlice<'_, T>) -> Result<()> {
        a.multiply(y, &mut self.product)?;
        let (device, system) = (&self.device, &mut self.systems[k]);
        let minus = self.product.slice(..).address();
        let residual = Gather { minus, ..Gather::new(Some(&system.order), x, self.rhs.slice(..)) };
        // SAFETY: see `solve`.
        unsafe { residual.launch::<T>(device) }?;
        system.solve(&self.rhs, &mut self.solved)?;
        let step = Gather { plus: y.address(), ..Gather::new(Some(&system.places), self.solved.slice(..), y) };
        // SAFETY: see `solve`.
        unsafe { step.launch::<T>(device) }
    }

    /// y = M₁⁻¹ ··· Mₘ⁻¹·D·x for the systems of a product.
    pub fn divide(&mut self, diagonal: &DeviceVec<T>, x: DeviceSlice<'_, T>, y: DeviceSlice<'_, T>) -> Result<()> {
        for (k, system) in self.systems.iter_mut().enumerate() {
            let (from, scale) = if k == 0 { (x, diagonal.slice(..).address()) } else { (self.solved.slice(..), 0) };
            let ordered = Gather { scale, ..Gather::new(Some(&system.order), from, self.rhs.slice(..)) };
            // SAFETY: see `solve`. The diagonal has the same length.
            unsafe { ordered.launch::<T>(&self.device) }?;
            system.solve(&self.rhs, &mut self.solved)?;
        }
        let last = self.systems.last().expect("a product has at least one factor");
        // SAFETY: see `solve`.
        unsafe { Gather::new(Some(&last.places), self.solved.slice(..), y).launch::<T>(&self.device) }
    }
}
