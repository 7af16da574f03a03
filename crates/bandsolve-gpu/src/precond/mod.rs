//! Preconditioners on a device: operators z = M⁻¹·r.

mod forests;
mod incomplete;
mod multigrid;
mod systems;
#[cfg(all(test, feature = "emulator"))]
mod tests;

use crate::csr::DeviceCsr;
use crate::device::{DeviceScalar, DeviceSlice, DeviceSliceMut, DeviceVec, check_len};
use crate::diagonal::{inverse_diagonal, product_diagonals};
use crate::forest::DeviceForest;
use crate::operator::DeviceOperator;
use bandsolve::{Error, Result};
use bandsolve_sparse::{Forest, IncompleteInverse, KrylovMethod, MultigridOptions, MultigridParts};
use bandsolve_sparse::{
    PairForestSystem, Preconditioner, PreconditionerKind, PreconditionerOptions, PreconditionerParts,
};
use incomplete::IncompleteTriangles;
use multigrid::Multigrid;
use std::sync::{Mutex, PoisonError};
use systems::{ForestOnDevice, ForestSystems, Gather};

/// Correction steps of `ilu-isai` where it replaces `ilu0`.
const ISAI_STEPS: usize = 2;

/// A preconditioner on a device, for [`solve_krylov`](crate::solve_krylov).
///
/// It has the diagonals, linear forests and systems of [`Preconditioner`]. The device finds them from the matrix in its memory, and solves the systems with
/// RPTS, without stored factors. They are not verified, since the Krylov method computes its own residual.
///
/// The CPU sets up `forest-block`, `mos-a`, `ilu-isai` and `amg-lines`, and chooses the kind for `auto`. The matrix is copied to the host for these kinds.
///
/// | kind | launches of one application, besides those of m tridiagonal solves |
/// | --- | --- |
/// | `none`, `jacobi`, `diagp1`, `diagp2`, `l1` | 1 |
/// | `tridiagonal`, `forest`, `forest-block`, `alt-o:m` | 2 |
/// | `alt-i:m`, `adi:NXxNY` | 2·m, and m − 1 products with A |
/// | `mos-d:m`, `mos-a:m` | m + 1 |
/// | `ilu-isai:s` | 4·s, and 4·s + 2 products with a triangle |
///
/// `amg-lines` runs its cycle on the device, in the precision of the matrix. The host solves the coarsest level, of some hundred unknowns.
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
/// let m = DevicePreconditioner::new(&on_device, "alt-i:2".parse().expect("a name"), &Default::default())?;
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
pub struct DevicePreconditioner<T: DeviceScalar> {
    a: DeviceCsr<T>,
    kind: PreconditionerKind,
    choice: Option<AutoChoice>,
    changes: bool,
    /// An application locks these arrays while it enqueues its launches.
    parts: Mutex<PartsOnDevice<T>>,
}

#[derive(Debug)]
enum PartsOnDevice<T: DeviceScalar> {
    /// z = r, or z = D⁻¹·r
    Diagonal(Option<DeviceVec<T>>),
    /// One system, or several with a residual between two solves (ALT-i).
    Inner(ForestSystems<T>),
    /// Step k solves with system k mod m (ALT-o).
    Outer(ForestSystems<T>),
    /// z = M₁⁻¹ ··· Mₘ⁻¹·T⁻¹·r, with the diagonal of T⁻¹.
    Product(DeviceVec<T>, ForestSystems<T>),
    Incomplete(Box<IncompleteTriangles<T>>),
    Multigrid(Multigrid<T>),
}

/// Parts, with their kind, in which the number of forests is known.
type KnownParts<T> = (PartsOnDevice<T>, PreconditionerKind);

impl<T: DeviceScalar> PartsOnDevice<T> {
    fn new(a: &DeviceCsr<T>, kind: PreconditionerKind, options: &PreconditionerOptions) -> Result<KnownParts<T>> {
        let (device, n) = (a.device(), a.rows());
        let mut known_kind = kind;
        let parts = match kind {
            PreconditionerKind::Identity => Self::Diagonal(None),
            PreconditionerKind::Diagonal(rule) => Self::Diagonal(Some(inverse_diagonal(a, rule)?)),
            PreconditionerKind::Tridiagonal => {
                Self::Inner(systems(a, vec![DeviceForest::new(device, &Forest::in_order(n)?)?])?)
            }
            PreconditionerKind::Forest => Self::Inner(systems(a, vec![forests::heaviest(a, &options.factors)?])?),
            PreconditionerKind::ForestBlock => {
                let system = PairForestSystem::new(&a.download()?, &options.factors)?;
                Self::Inner(ForestSystems::new(device, vec![ForestOnDevice::of_pairs(device, &system)?])?)
            }
            PreconditionerKind::AltInner(m) => {
                let systems = systems(a, forests::forests(a, m, options)?)?;
                known_kind = PreconditionerKind::AltInner(systems.count());
                Self::Inner(systems)
            }
            PreconditionerKind::AltOuter(m) => {
                let systems = systems(a, forests::forests(a, m, options)?)?;
                known_kind = PreconditionerKind::AltOuter(systems.count());
                Self::Outer(systems)
            }
            PreconditionerKind::ProductDiagonal(m) => {
                let mut without_shared_edges = *options;
                without_shared_edges.omega = 0.0;
                let forests = forests::forests(a, m, &without_shared_edges)?;
                known_kind = PreconditionerKind::ProductDiagonal(forests.len());
                Self::diagonal_product(a, forests)?
            }
            PreconditionerKind::ProductAdaptive { scaled, .. } => {
                let (parts, forests) = Self::adaptive_product(a, kind, options)?;
                known_kind = PreconditionerKind::ProductAdaptive { forests, scaled };
                parts
            }
            PreconditionerKind::Grid { columns, rows } => {
                let [along_rows, along_columns] = Forest::grid_axes(n, [columns, rows])?;
                let forests = vec![DeviceForest::new(device, &along_rows)?, DeviceForest::new(device, &along_columns)?];
                Self::Inner(systems(a, forests)?)
            }
            PreconditionerKind::IluIsai(sweeps) => {
                let m = IncompleteInverse::new(&a.download()?, sweeps)?;
                Self::Incomplete(IncompleteTriangles::new(device, &m, sweeps)?.into())
            }
            PreconditionerKind::AmgLines(forests) => {
                let multigrid = MultigridOptions::of(forests, options);
                Self::Multigrid(Multigrid::new(device, MultigridParts::new(&a.download()?, &multigrid)?)?)
            }
            // `ilu0`; `AutoChoice` stands for `auto`.
            _ => {
                let problem = "is ilu0, whose solves are sequential";
                return Err(Error::invalid("kind", problem, "another kind on a GPU, for example ilu-isai"));
            }
        };
        Ok((parts, known_kind))
    }

    /// MOS-d.
    fn diagonal_product(a: &DeviceCsr<T>, forests: Vec<DeviceForest>) -> Result<Self> {
        let m = forests.len();
        let diagonals = product_diagonals(a, m)?;
        let factors = forests.into_iter().enumerate();
        let factors = factors.map(|(l, forest)| ForestOnDevice::factor_of_product(a, forest, (&diagonals, m, l)));
        let systems = ForestSystems::of_product(a.device(), factors.collect::<Result<_>>()?)?;
        let [inverse, _] = diagonals;
        Ok(Self::Product(inverse, systems))
    }

    /// MOS-a, which the host sets up. Returns the number of forests, too.
    fn adaptive_product(
        a: &DeviceCsr<T>,
        kind: PreconditionerKind,
        options: &PreconditionerOptions,
    ) -> Result<(Self, usize)> {
        let PreconditionerParts::Product { inverse, systems } =
            PreconditionerParts::new(&a.download()?, kind, options)?
        else {
            unreachable!("MOS-a is a product")
        };
        let (device, forests) = (a.device(), systems.len());
        let systems: Result<_> = systems.iter().map(|system| ForestOnDevice::of_forest(device, system)).collect();
        Ok((Self::Product(device.upload(&inverse)?, ForestSystems::of_product(device, systems?)?), forests))
    }
}

/// What `auto` chose.
#[derive(Debug)]
struct AutoChoice {
    kind: PreconditionerKind,
    method: Option<KrylovMethod>,
    reason: String,
}

impl AutoChoice {
    /// The choice of the CPU. `ilu-isai` replaces `ilu0`.
    fn new<T: DeviceScalar>(a: &DeviceCsr<T>, options: &PreconditionerOptions) -> Result<Self> {
        let a = a.download()?;
        let chosen = Preconditioner::new(&a, PreconditionerKind::Auto, options)?;
        let (kind, method, mut reason) = (chosen.kind(), chosen.method(), chosen.reason().to_string());
        if kind != PreconditionerKind::Ilu0 {
            return Ok(Self { kind, method, reason });
        }
        let kind = PreconditionerKind::IluIsai(ISAI_STEPS);
        reason.push_str("; a GPU applies ilu-isai instead");
        // The approximate inverses of the triangles are not adjoint to each other, as conjugate gradients need it.
        Ok(Self { kind, method: method.filter(|method| *method != KrylovMethod::Cg), reason })
    }
}

/// The systems of forests of a matrix.
fn systems<T: DeviceScalar>(a: &DeviceCsr<T>, forests: Vec<DeviceForest>) -> Result<ForestSystems<T>> {
    let systems = forests.into_iter().map(|forest| ForestOnDevice::new(a, forest)).collect::<Result<_>>()?;
    ForestSystems::new(a.device(), systems)
}

impl<T: DeviceScalar> DevicePreconditioner<T> {
    /// Set up the preconditioner of a square matrix that is on the device. It shares the matrix.
    ///
    /// If `auto` chooses `ilu0`, which a device does not apply, the preconditioner is `ilu-isai`.
    ///
    /// # Errors
    /// Those of [`Preconditioner::new`], except for a singular system of a forest; [`Error::InvalidArgument`] for `ilu0`; [`Error::Device`].
    pub fn new(a: &DeviceCsr<T>, kind: PreconditionerKind, options: &PreconditionerOptions) -> Result<Self> {
        check_len("columns of a square matrix", a.rows(), a.columns())?;
        let choice = match kind {
            PreconditionerKind::Auto => Some(AutoChoice::new(a, options)?),
            _ => None,
        };
        let (parts, kind) = PartsOnDevice::new(a, choice.as_ref().map_or(kind, |choice| choice.kind), options)?;
        let changes = matches!(&parts, PartsOnDevice::Outer(systems) if systems.count() > 1);
        Ok(Self { a: a.clone(), kind, choice, changes, parts: Mutex::new(parts) })
    }

    /// The reason for the choice of this kind, in words. Empty if the caller named the kind.
    pub fn reason(&self) -> &str {
        self.choice.as_ref().map_or("", |choice| &choice.reason)
    }

    /// The Krylov method that [`PreconditionerKind::Auto`] chose together with the preconditioner. `None` if the caller named the kind, or if
    /// `ilu-isai` replaces `ilu0` of conjugate gradients.
    pub fn method(&self) -> Option<KrylovMethod> {
        self.choice.as_ref().and_then(|choice| choice.method)
    }

    /// The kind. For [`PreconditionerKind::Auto`] this is the chosen kind. The number of forests is the one that was found.
    pub fn kind(&self) -> PreconditionerKind {
        self.kind
    }
}

impl<T: DeviceScalar> DeviceOperator<T> for DevicePreconditioner<T> {
    fn rows(&self) -> usize {
        self.a.rows()
    }

    fn apply(&self, x: DeviceSlice<'_, T>, y: DeviceSliceMut<'_, T>) -> Result<()> {
        self.apply_step(0, x, y)
    }

    fn changes(&self) -> bool {
        self.changes
    }

    fn apply_step(&self, step: usize, x: DeviceSlice<'_, T>, y: DeviceSliceMut<'_, T>) -> Result<()> {
        let (device, y) = (self.a.device(), y.as_slice());
        check_len("x", self.rows(), x.len())?;
        check_len("y", self.rows(), y.len())?;
        let arrays = [("x", x.device()), ("y", y.device())];
        device.receive(&arrays)?;
        match &mut *self.parts.lock().unwrap_or_else(PoisonError::into_inner) {
            PartsOnDevice::Diagonal(diagonal) => {
                let scale = diagonal.as_ref().map_or(0, |diagonal| diagonal.slice(..).address());
                // SAFETY: the diagonal has the length of x and y.
                unsafe { Gather { scale, ..Gather::new(None, x, y) }.launch::<T>(device) }?;
            }
            PartsOnDevice::Inner(systems) => {
                // y = M₁⁻¹·x, then y ← y + Mₗ⁻¹·(x − A·y) for l = 2, …, m
                systems.solve(0, x, y)?;
                (1..systems.count()).try_for_each(|k| systems.sweep(k, &self.a, x, y))?;
            }
            PartsOnDevice::Outer(systems) => systems.solve(step % systems.count(), x, y)?,
            PartsOnDevice::Product(inverse, systems) => systems.divide(inverse, x, y)?,
            PartsOnDevice::Incomplete(triangles) => triangles.solve(x, y)?,
            PartsOnDevice::Multigrid(multigrid) => multigrid.cycle(x, y)?,
        }
        arrays.iter().try_for_each(|(_, other)| other.wait_for(device))
    }
}
