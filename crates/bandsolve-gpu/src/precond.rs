//! Preconditioners on a device: operators z = M⁻¹·r whose systems were set up on the CPU.

use crate::csr::DeviceCsr;
use crate::device::{Device, DeviceScalar, DeviceSlice, DeviceSliceMut, DeviceVec, check_len};
use crate::krylov::DeviceOperator;
use crate::launch::Arguments;
use crate::matrix::DeviceMatrix;
use crate::solver::DeviceSolver;
use bandsolve::matrix::Index;
use bandsolve::{Error, Plan, Result, Shape};
use bandsolve_sparse::{Csr, ForestSystem, PairForestSystem, PreconditionerKind, PreconditionerOptions};
use bandsolve_sparse::{Preconditioner, PreconditionerParts};
use std::sync::{Mutex, PoisonError};

/// A preconditioner on a device, for [`solve_krylov`](crate::solve_krylov).
///
/// The CPU sets it up as it does [`Preconditioner`]: it finds the linear forests and the entries of their systems. The device solves these systems with
/// RPTS, without stored factors. They are not verified, since the Krylov method computes its own residual.
///
/// | kind | launches of one application, besides those of m tridiagonal solves |
/// | --- | --- |
/// | `none`, `jacobi`, `diagp1`, `diagp2`, `l1` | 1 |
/// | `tridiagonal`, `forest`, `forest-block`, `alt-o:m` | 2 |
/// | `alt-i:m`, `adi:NXxNY` | 2·m, and m − 1 products with A |
/// | `mos-d:m`, `mos-a:m` | m + 1 |
///
/// # Cost
/// Memory for the systems, two permutations of 4 bytes per row for each forest, and two vectors.
///
/// # Examples
/// ```
/// # #[cfg(feature = "emulator")] {
/// use bandsolve_gpu::{Device, DeviceCsr, DevicePreconditioner, Emulation, solve_krylov};
/// use bandsolve_sparse::{KrylovMethod, KrylovSolver, nine_point};
/// let device = Device::cuda(0).unwrap_or_else(|_| Device::emulated(Emulation::default()));
/// let a = nine_point([[0.0, -1.0, 0.0], [-1.0, 4.0, -1.0], [0.0, -1.0, 0.0]], (20, 30));
/// let on_device = DeviceCsr::new(&device, &a)?;
/// let m = DevicePreconditioner::new(&on_device, &a, "alt-i:2".parse().expect("a name"), &Default::default())?;
/// let (rhs, mut x) = (device.upload(&[1.0; 600])?, device.zeros(600)?);
/// let solver = KrylovSolver::new(KrylovMethod::Gmres { restart: 20 });
/// assert!(solve_krylov(&solver, &on_device, Some(&m), &rhs, &mut x)?.converged());
/// # }
/// # Ok::<(), bandsolve::Error>(())
/// ```
///
/// # Source
/// Klein, dissertation, chapter 5.
#[derive(Debug)]
pub struct DevicePreconditioner<'a, T: DeviceScalar> {
    a: &'a DeviceCsr<T>,
    kind: PreconditionerKind,
    /// The diagonal of M⁻¹, or of its first factor.
    diagonal: Option<DeviceVec<T>>,
    combined: Combined,
    changes: bool,
    /// The systems in the order of their solves. An application locks this memory while it enqueues its launches.
    memory: Mutex<ForestMemory<T>>,
}

/// How the systems of several forests act together.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Combined {
    /// ALT-i; also for one system.
    Residuals,
    /// ALT-o.
    Steps,
    /// A product. After the first one, systems begin in the order of the one before.
    Product,
}

#[derive(Debug)]
struct ForestMemory<T: DeviceScalar> {
    device: Device,
    systems: Vec<ForestOnDevice<T>>,
    rhs: DeviceVec<T>,
    solved: DeviceVec<T>,
    /// A·z for ALT-i.
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

    /// Begin in the order of another system.
    fn after(mut self, places: &[u32]) -> Self {
        self.order.iter_mut().for_each(|v| *v = places[*v as usize]);
        self
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

/// Reordered elements of a vector, in the form that the kernel uses (`Gather` in `vectors.cuh`). Address 0 stands for an absent array.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
struct GatherArguments {
    n: u32,
    index: u64,
    from: u64,
    scale: u64,
    minus: u64,
    plus: u64,
    out: u64,
}

impl GatherArguments {
    /// out ← from in the order of `index`.
    fn new<T: DeviceScalar>(index: Option<&DeviceVec<u32>>, from: DeviceSlice<'_, T>, out: DeviceSlice<'_, T>) -> Self {
        let (n, index) = (out.len() as u32, index.map_or(0, |index| index.slice(..).address()));
        Self { n, index, from: from.address(), scale: 0, minus: 0, plus: 0, out: out.address() }
    }

    fn launch<T: DeviceScalar>(self, device: &Device) -> Result<()> {
        const PER_BLOCK: usize = 1024;
        let blocks = (self.n as usize).div_ceil(PER_BLOCK);
        if blocks == 0 {
            return Ok(());
        }
        let arguments = Arguments::default().with(self);
        // SAFETY: these are the kernel's arguments. `out` has n elements, and so have `index` and the arrays that are read without it. Indices are below
        // the lengths of the arrays that are read with them.
        unsafe { arguments.launch(device, &format!("gather_{}", T::NAME), blocks, 0) }
    }
}

impl<T: DeviceScalar> ForestOnDevice<T> {
    /// Solve with the right-hand side in `rhs`.
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

impl<T: DeviceScalar> ForestMemory<T> {
    fn new(device: &Device, systems: Vec<ForestOnDevice<T>>, n: usize, products: bool) -> Result<Self> {
        let most = systems.iter().map(|system| system.order.len()).max().unwrap_or(0);
        let product = device.zeros(if products { n } else { 0 })?;
        let (rhs, solved) = (device.zeros(most)?, device.zeros(most)?);
        Ok(Self { device: device.clone(), systems, rhs, solved, product })
    }

    /// y = M⁻¹·x with one system.
    fn apply_one(&mut self, k: usize, x: DeviceSlice<'_, T>, y: DeviceSlice<'_, T>) -> Result<()> {
        let (device, system) = (&self.device, &mut self.systems[k]);
        GatherArguments::new(Some(&system.order), x, self.rhs.slice(..)).launch::<T>(device)?;
        system.solve(&self.rhs, &mut self.solved)?;
        GatherArguments::new(Some(&system.places), self.solved.slice(..), y).launch::<T>(device)
    }

    /// y ← y + M⁻¹·(x − A·y) with one system.
    fn sweep(&mut self, k: usize, a: &DeviceCsr<T>, x: DeviceSlice<'_, T>, y: DeviceSlice<'_, T>) -> Result<()> {
        let (device, system) = (&self.device, &mut self.systems[k]);
        a.multiply(y, &mut self.product)?;
        let minus = self.product.slice(..).address();
        let residual = GatherArguments::new(Some(&system.order), x, self.rhs.slice(..));
        GatherArguments { minus, ..residual }.launch::<T>(device)?;
        system.solve(&self.rhs, &mut self.solved)?;
        let step = GatherArguments::new(Some(&system.places), self.solved.slice(..), y);
        GatherArguments { plus: y.address(), ..step }.launch::<T>(device)
    }

    /// y = M₁⁻¹ ··· Mₘ⁻¹·D·x from the right, where the first system is that of Mₘ.
    fn product(&mut self, diagonal: u64, x: DeviceSlice<'_, T>, y: DeviceSlice<'_, T>) -> Result<()> {
        let device = &self.device;
        for (k, system) in self.systems.iter_mut().enumerate() {
            let (from, scale) = if k == 0 { (x, diagonal) } else { (self.solved.slice(..), 0) };
            let ordered = GatherArguments::new(Some(&system.order), from, self.rhs.slice(..));
            GatherArguments { scale, ..ordered }.launch::<T>(device)?;
            system.solve(&self.rhs, &mut self.solved)?;
        }
        let last = self.systems.last().expect("a product has at least one factor");
        GatherArguments::new(Some(&last.places), self.solved.slice(..), y).launch::<T>(device)
    }
}

impl<'a, T: DeviceScalar> DevicePreconditioner<'a, T> {
    /// Set up the preconditioner of a square matrix that is on the host and on the device.
    ///
    /// # Errors
    /// Those of [`Preconditioner::new`], except for a singular system of a forest; [`Error::Shape`] if the two matrices differ in size; [`Error::Unsupported`]
    /// for `ilu0`, `ilu-isai` and `amg-lines`, also if `auto` chooses one of them; [`Error::Device`].
    pub fn new<I: Index>(
        on_device: &'a DeviceCsr<T>,
        a: &Csr<'_, T, I>,
        kind: PreconditionerKind,
        options: &PreconditionerOptions,
    ) -> Result<Self> {
        check_len("rows of the matrix on the device", a.rows(), on_device.rows())?;
        check_len("columns of the matrix on the device", a.columns(), on_device.columns())?;
        let kind = match kind {
            PreconditionerKind::Auto => Preconditioner::new(a, kind, options)?.kind(),
            named => named,
        };
        let parts = match PreconditionerParts::new(a, kind, options) {
            Err(Error::Unsupported { .. }) => {
                let what = "`ilu0`, `ilu-isai` and `amg-lines`; choose another kind";
                return Err(Error::Unsupported { method: "a preconditioner on a device", what });
            }
            parts => parts?,
        };
        let device = on_device.device();
        let (mut diagonal, mut combined) = (None, Combined::Residuals);
        let upload = |systems: &[ForestSystem<T>]| {
            systems.iter().map(|system| SystemArrays::of_forest(system).upload(device)).collect::<Result<Vec<_>>>()
        };
        let systems = match &parts {
            PreconditionerParts::Identity => vec![],
            PreconditionerParts::Diagonal(inverse) => {
                diagonal = Some(device.upload(inverse.diagonal())?);
                vec![]
            }
            PreconditionerParts::Forest(system) => upload(core::slice::from_ref(system))?,
            PreconditionerParts::Pairs(system) => vec![SystemArrays::of_pairs(system).upload(device)?],
            PreconditionerParts::AlternatingInner(systems) => upload(systems)?,
            PreconditionerParts::AlternatingOuter(systems) => {
                combined = Combined::Steps;
                upload(systems)?
            }
            PreconditionerParts::Product { inverse, systems } => {
                diagonal = Some(device.upload(inverse)?);
                combined = Combined::Product;
                let mut before: Option<SystemArrays<'_, T>> = None;
                let in_turn = systems.iter().rev().map(|system| {
                    let of_this = SystemArrays::of_forest(system);
                    let places = before.replace(SystemArrays::of_forest(system)).map(|before| before.places);
                    places.map_or(SystemArrays::of_forest(system), |places| of_this.after(&places)).upload(device)
                });
                in_turn.collect::<Result<Vec<_>>>()?
            }
            _ => return Err(Error::Unsupported { method: "a preconditioner on a device", what: "this kind" }),
        };
        let several = systems.len() > 1;
        let (products, changes) = (several && combined == Combined::Residuals, several && combined == Combined::Steps);
        let memory = Mutex::new(ForestMemory::new(device, systems, a.rows(), products)?);
        Ok(Self { a: on_device, kind, diagonal, combined, changes, memory })
    }

    /// The kind. For [`PreconditionerKind::Auto`] this is the chosen kind.
    pub fn kind(&self) -> PreconditionerKind {
        self.kind
    }

    /// y = M⁻¹·x in a step of the iteration.
    fn apply_in(&self, step: usize, x: DeviceSlice<'_, T>, y: DeviceSliceMut<'_, T>) -> Result<()> {
        check_len("x", self.a.rows(), x.len())?;
        check_len("y", self.a.rows(), y.as_slice().len())?;
        let device = self.a.device();
        let arrays = [("x", x.device()), ("y", y.as_slice().device())];
        device.receive(&arrays)?;
        let mut memory = self.memory.lock().unwrap_or_else(PoisonError::into_inner);
        let diagonal = self.diagonal.as_ref().map_or(0, |diagonal| diagonal.slice(..).address());
        let y = y.as_slice();
        match (self.combined, memory.systems.len()) {
            (_, 0) => {
                GatherArguments { scale: diagonal, ..GatherArguments::new(None, x, y) }.launch::<T>(device)?;
            }
            (Combined::Steps, count) => memory.apply_one(step % count, x, y)?,
            (Combined::Product, _) => memory.product(diagonal, x, y)?,
            (Combined::Residuals, count) => {
                memory.apply_one(0, x, y)?;
                (1..count).try_for_each(|k| memory.sweep(k, self.a, x, y))?;
            }
        }
        arrays.iter().try_for_each(|(_, other)| other.wait_for(device))
    }
}

impl<T: DeviceScalar> DeviceOperator<T> for DevicePreconditioner<'_, T> {
    fn rows(&self) -> usize {
        self.a.rows()
    }

    fn apply(&self, x: DeviceSlice<'_, T>, y: DeviceSliceMut<'_, T>) -> Result<()> {
        self.apply_in(0, x, y)
    }

    fn changes(&self) -> bool {
        self.changes
    }

    fn apply_step(&self, step: usize, x: DeviceSlice<'_, T>, y: DeviceSliceMut<'_, T>) -> Result<()> {
        self.apply_in(step, x, y)
    }
}
