//! Preconditioners on a device: operators z = M⁻¹·r whose systems were set up on the CPU.

mod multigrid;
mod systems;

use crate::csr::DeviceCsr;
use crate::device::{DeviceScalar, DeviceSlice, DeviceSliceMut, DeviceVec, check_len};
use crate::operator::DeviceOperator;
use bandsolve::matrix::Index;
use bandsolve::{Error, Result};
use bandsolve_sparse::{Csr, MultigridOptions, MultigridParts, Preconditioner, PreconditionerKind};
use bandsolve_sparse::{PreconditionerOptions, PreconditionerParts};
use multigrid::Multigrid;
use std::sync::{Mutex, PoisonError};
use systems::{ForestSystems, Gather};

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
    Multigrid(Multigrid<T>),
}

impl<T: DeviceScalar> PartsOnDevice<T> {
    fn new<I: Index>(
        on_device: &DeviceCsr<T>,
        a: &Csr<'_, T, I>,
        kind: PreconditionerKind,
        options: &PreconditionerOptions,
    ) -> Result<Self> {
        let device = on_device.device();
        if let PreconditionerKind::AmgLines(forests) = kind {
            let mut multigrid = MultigridOptions::default();
            (multigrid.forests, multigrid.omega, multigrid.factors) = (forests, options.omega, options.factors);
            return Ok(Self::Multigrid(Multigrid::new(device, MultigridParts::new(a, &multigrid)?)?));
        }
        if matches!(kind, PreconditionerKind::Ilu0 | PreconditionerKind::IluIsai(_)) {
            let what = "`ilu0` and `ilu-isai`; choose another kind";
            return Err(Error::Unsupported { method: "a preconditioner on a device", what });
        }
        Ok(match PreconditionerParts::new(a, kind, options)? {
            PreconditionerParts::Identity => Self::Diagonal(None),
            PreconditionerParts::Diagonal(inverse) => Self::Diagonal(Some(device.upload(inverse.diagonal())?)),
            PreconditionerParts::Forest(system) => Self::Inner(ForestSystems::new(device, &[system])?),
            PreconditionerParts::Pairs(system) => Self::Inner(ForestSystems::of_pairs(device, &system)?),
            PreconditionerParts::AlternatingInner(systems) => Self::Inner(ForestSystems::new(device, &systems)?),
            PreconditionerParts::AlternatingOuter(systems) => Self::Outer(ForestSystems::new(device, &systems)?),
            PreconditionerParts::Product { inverse, systems } => {
                Self::Product(device.upload(&inverse)?, ForestSystems::of_product(device, &systems)?)
            }
            _ => return Err(Error::Unsupported { method: "a preconditioner on a device", what: "this kind" }),
        })
    }
}

impl<'a, T: DeviceScalar> DevicePreconditioner<'a, T> {
    /// Set up the preconditioner of a square matrix that is on the host and on the device.
    ///
    /// # Errors
    /// Those of [`Preconditioner::new`], except for a singular system of a forest; [`Error::Shape`] if the two matrices differ in size; [`Error::Unsupported`]
    /// for `ilu0` and `ilu-isai`, also if `auto` chooses one of them; [`Error::Device`].
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
        let parts = PartsOnDevice::new(on_device, a, kind, options)?;
        let changes = matches!(&parts, PartsOnDevice::Outer(systems) if systems.count() > 1);
        Ok(Self { a: on_device, kind, changes, parts: Mutex::new(parts) })
    }

    /// The kind. For [`PreconditionerKind::Auto`] this is the chosen kind.
    pub fn kind(&self) -> PreconditionerKind {
        self.kind
    }
}

impl<T: DeviceScalar> DeviceOperator<T> for DevicePreconditioner<'_, T> {
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
                (1..systems.count()).try_for_each(|k| systems.sweep(k, self.a, x, y))?;
            }
            PartsOnDevice::Outer(systems) => systems.solve(step % systems.count(), x, y)?,
            PartsOnDevice::Product(inverse, systems) => systems.divide(inverse, x, y)?,
            PartsOnDevice::Multigrid(multigrid) => multigrid.cycle(x, y)?,
        }
        arrays.iter().try_for_each(|(_, other)| other.wait_for(device))
    }
}
