//! The tridiagonal systems of linear forests on a device, with permutations before and after each solve.

use crate::csr::DeviceCsr;
use crate::cut::THREADS;
use crate::device::{Device, DeviceScalar, DeviceSlice, DeviceVec};
use crate::forest::DeviceForest;
use crate::launch::Arguments;
use crate::matrix::DeviceMatrix;
use crate::solver::DeviceSolver;
use bandsolve::memory::allocate;
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
pub(super) struct ForestOnDevice<T: DeviceScalar> {
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

/// A factor of a product in the form that the kernel uses (`diagonal.cuh`).
#[derive(Debug, Clone, Copy)]
#[repr(C)]
struct ProductFactorArguments {
    n: u32,
    later: u32,
    earlier: u32,
    order: u64,
    inverse: u64,
    shares: u64,
    bands: [u64; 3],
}

/// The diagonal of a matrix and its entries along the paths of a forest: `sub`, `diag`, `sup`.
fn entries<T: DeviceScalar>(a: &DeviceCsr<T>, forest: &DeviceForest) -> Result<[DeviceVec<T>; 3]> {
    let zeros = || a.device().zeros(forest.vertices());
    let [mut sub, mut diag, mut sup] = [zeros()?, zeros()?, zeros()?];
    forest.tridiagonal(a, &mut sub, &mut diag, &mut sup)?;
    Ok([sub, diag, sup])
}

impl<T: DeviceScalar> ForestOnDevice<T> {
    /// The system of a forest on the device: the diagonal of a matrix, and its entries along the paths.
    pub fn new(a: &DeviceCsr<T>, forest: DeviceForest) -> Result<Self> {
        let (bands, shape) = (entries(a, &forest)?, Shape::Tridiagonal { n: a.rows(), periodic: false });
        Self::of(a.device(), shape, bands, forest.into_order_and_places())
    }

    /// The factor Mₗ of a product of `diagonals.1` forests, for l = `diagonals.2` + 1: [`ForestProduct::diagonal`](bandsolve_sparse::ForestProduct::diagonal).
    /// The diagonals are t⁻¹ and j.
    pub fn factor_of_product(
        a: &DeviceCsr<T>,
        forest: DeviceForest,
        (diagonals, forests, l): (&[DeviceVec<T>; 2], usize, usize),
    ) -> Result<Self> {
        let (device, n, bands) = (a.device(), a.rows(), entries(a, &forest)?);
        let [inverse, shares] = diagonals.each_ref().map(|diagonal| diagonal.slice(..).address());
        let arguments = ProductFactorArguments {
            n: n as u32,
            later: (forests - 1 - l) as u32,
            earlier: l as u32,
            order: forest.order().address(),
            inverse,
            shares,
            bands: bands.each_ref().map(|band| band.slice(..).address()),
        };
        if n > 0 {
            let (blocks, arguments) = (n.div_ceil(THREADS as usize), Arguments::default().with(arguments));
            // SAFETY: these are the kernel's arguments, and the arrays have one element per row.
            unsafe { arguments.launch(device, &format!("productfactor_{}", T::NAME), blocks, 0) }?;
        }
        let shape = Shape::Tridiagonal { n, periodic: false };
        Self::of(device, shape, bands, forest.into_order_and_places())
    }

    /// Copy the system of a forest to a device.
    pub fn of_forest(device: &Device, system: &ForestSystem<T>) -> Result<Self> {
        let forest = DeviceForest::new(device, system.forest())?;
        let tridiagonal = system.tridiagonal();
        let [sub, diag, sup] = tridiagonal.arrays().map(|band| device.upload(band));
        Self::of(device, tridiagonal.shape(), [sub?, diag?, sup?], forest.into_order_and_places())
    }

    /// Copy the system of a forest of pairs to a device.
    pub fn of_pairs(device: &Device, system: &PairForestSystem<T>) -> Result<Self> {
        let matrix = system.matrix();
        let mut order = allocate(matrix.shape().rows(), NO_ELEMENT)?;
        system.places().iter().enumerate().for_each(|(v, place)| order[*place as usize] = v as u32);
        let [sub, diag, sup] = matrix.arrays().map(|band| device.upload(band));
        let tables = [device.upload(&order)?, device.upload(system.places())?];
        Self::of(device, matrix.shape(), [sub?, diag?, sup?], tables)
    }

    fn of(
        device: &Device,
        shape: Shape,
        bands: [DeviceVec<T>; 3],
        [order, places]: [DeviceVec<u32>; 2],
    ) -> Result<Self> {
        let solver = DeviceSolver::new(device, &Plan::new(shape).verify(false), 1)?;
        let (rhs, mut x) = (device.zeros(order.len())?, device.zeros(order.len())?);
        let mut system = Self { bands, order, places, solver, for_host: false };
        // Whether the host has to solve depends on the matrix alone.
        let [sub, diag, sup] = &system.bands;
        let matrix = DeviceMatrix::block_tridiagonal(sub, diag, sup);
        system.for_host = system.solver.solve(matrix, &rhs, &mut x)?.fallback;
        Ok(system)
    }

    /// Read the solution of another system in its order, instead of a vector in the order of the unknowns.
    fn read_from(&mut self, before: &DeviceVec<u32>) -> Result<()> {
        let (device, n) = (self.order.slice(..).device(), self.order.len());
        let composed = device.zeros::<u32>(n)?;
        let [index, from, out] = [&self.order, before, &composed].map(|table| table.slice(..).address());
        let arguments = Arguments::default().with(n as u32).with(index).with(from).with(out);
        if n > 0 {
            // SAFETY: these are the kernel's arguments. Both tables are permutations of the same length.
            unsafe { arguments.launch(device, "composed_f64", n.div_ceil(THREADS as usize), 0) }?;
        }
        self.order = composed;
        Ok(())
    }

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
    /// Systems in the order of their solves.
    pub fn new(device: &Device, systems: Vec<ForestOnDevice<T>>) -> Result<Self> {
        let rows = systems.first().map_or(0, |system| system.order.len());
        let vector = || device.zeros(rows);
        Ok(Self { device: device.clone(), systems, rhs: vector()?, solved: vector()?, product: vector()? })
    }

    /// Copy systems to a device.
    pub fn upload(device: &Device, systems: &[ForestSystem<T>]) -> Result<Self> {
        let systems: Result<_> = systems.iter().map(|system| ForestOnDevice::of_forest(device, system)).collect();
        Self::new(device, systems?)
    }

    /// The systems of a product M₁···Mₘ, for [`divide`](Self::divide).
    pub fn of_product(device: &Device, mut systems: Vec<ForestOnDevice<T>>) -> Result<Self> {
        // Mₘ⁻¹ acts first. Each system reads the solution of the one before.
        systems.reverse();
        for k in 1..systems.len() {
            let (before, rest) = systems.split_at_mut(k);
            rest[0].read_from(&before[k - 1].places)?;
        }
        Self::new(device, systems)
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
