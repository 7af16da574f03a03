//! Approximate inverses in single precision on a device, for iterations in double precision.

use crate::csr::DeviceCsr;
use crate::device::{Device, DeviceScalar, DeviceSlice, DeviceSliceMut, DeviceVec, check_len};
use crate::krylov::solve_krylov;
use crate::launch::Arguments;
use crate::operator::DeviceOperator;
use bandsolve::Result;
use bandsolve::matrix::Index;
use bandsolve::vectors::PIECE;
use bandsolve_sparse::{Csr, DoubleScalar, KrylovSolver, ScaledSingle};
use core::fmt::{self, Debug, Formatter};
use core::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// A matrix in single precision on a device, with rows scaled by powers of two, for a [`DeviceSingleInverse`].
///
/// # Examples
/// See [`DeviceSingleInverse`]. The matrix is one for products and preconditioners in single precision:
/// ```
/// # #[cfg(feature = "emulator")] {
/// use bandsolve_gpu::{Device, DeviceSingleMatrix, Emulation};
/// use bandsolve_sparse::Csr;
/// let device = Device::cuda(0).unwrap_or_else(|_| Device::emulated(Emulation::default()));
/// let a = Csr::<f64>::from_triplets(2, 2, &[(0, 0, 4e100), (1, 1, 2e100)])?;
/// let single = DeviceSingleMatrix::new(&device, &a)?;
/// let (x, mut y) = (device.upload(&[1.0_f32, 4.0])?, device.zeros::<f32>(2)?);
/// single.matrix().multiply(&x, &mut y)?;
/// // The range of `f32` does not contain the entries of A, but those of the scaled rows.
/// assert_eq!(y.download()?[1], 2.0 * y.download()?[0]);
/// # }
/// # Ok::<(), bandsolve::Error>(())
/// ```
#[derive(Debug)]
pub struct DeviceSingleMatrix<T: DoubleScalar> {
    a: DeviceCsr<T::Single>,
    /// The powers of two of the rows.
    scales: Arc<DeviceVec<f64>>,
}

impl<T: DoubleScalar<Single: DeviceScalar>> DeviceSingleMatrix<T> {
    /// Scale and round a square matrix on the host, and copy it to a device.
    ///
    /// # Errors
    /// Those of [`ScaledSingle::new`] and [`DeviceCsr::new`].
    pub fn new<I: Index>(device: &Device, a: &Csr<'_, T, I>) -> Result<Self> {
        let scaled = ScaledSingle::new(a)?;
        let scales: Vec<f64> = (0..a.rows()).map(|i| scaled.scale(i)).collect();
        Ok(Self { a: DeviceCsr::new(device, scaled.matrix())?, scales: device.upload(&scales)?.into() })
    }

    /// The matrix R·A with the powers of two R of the rows, for preconditioners.
    pub fn matrix(&self) -> &DeviceCsr<T::Single> {
        &self.a
    }
}

/// An approximate inverse z ≈ A⁻¹·r in single precision on a device, for a solve in double precision: [`SingleInverse`](bandsolve_sparse::SingleInverse).
///
/// It applies a preconditioner in single precision, or runs a Krylov method with this preconditioner ([`with_solver`](Self::with_solver)). Use it as the
/// preconditioner of [`solve_krylov`] in double precision. With [`Richardson`](bandsolve_sparse::KrylovMethod::Richardson) as the outer method, the solve
/// is iterative refinement. With [`Gmres`](bandsolve_sparse::KrylovMethod::Gmres) it is FGMRES.
///
/// # Examples
/// ```
/// # #[cfg(feature = "emulator")] {
/// use bandsolve_gpu::{Device, DeviceCsr, DevicePreconditioner, DeviceSingleInverse, DeviceSingleMatrix, Emulation, solve_krylov};
/// use bandsolve_sparse::{KrylovMethod, KrylovSolver, nine_point};
/// let device = Device::cuda(0).unwrap_or_else(|_| Device::emulated(Emulation::default()));
/// let a = nine_point([[0.0, -1.0, 0.0], [-1.0, 4.0, -1.0], [0.0, -1.0, 0.0]], (20, 30));
/// let (on_device, single) = (DeviceCsr::new(&device, &a)?, DeviceSingleMatrix::new(&device, &a)?);
/// let m = DevicePreconditioner::new(single.matrix(), "alt-i:2".parse().expect("a name"), &Default::default())?;
/// let inverse = DeviceSingleInverse::new(&single, Some(Box::new(m)))?;
/// let (rhs, mut x) = (device.upload(&[1.0; 600])?, device.zeros(600)?);
/// let solver = KrylovSolver::new(KrylovMethod::Gmres { restart: 20 }).rtol(1e-12);
/// assert!(solve_krylov(&solver, &on_device, Some(&inverse), &rhs, &mut x)?.converged());
/// # }
/// # Ok::<(), bandsolve::Error>(())
/// ```
///
/// # Cost
/// One application of the preconditioner, three launches, and two vectors in single precision.
pub struct DeviceSingleInverse<'a, T: DoubleScalar> {
    a: DeviceCsr<T::Single>,
    scales: Arc<DeviceVec<f64>>,
    m: Option<Box<dyn DeviceOperator<T::Single> + 'a>>,
    solver: Option<KrylovSolver<'static>>,
    /// Vectors of the last application, for the next one. Several at the same time have vectors of their own.
    vectors: Mutex<Option<SingleVectors<T::Single>>>,
    iterations: AtomicUsize,
}

struct SingleVectors<S> {
    rhs: DeviceVec<S>,
    z: DeviceVec<S>,
    exponent: DeviceVec<u32>,
}

impl<S: DeviceScalar> SingleVectors<S> {
    fn new(device: &Device, n: usize) -> Result<Self> {
        Ok(Self { rhs: device.zeros(n)?, z: device.zeros(n)?, exponent: device.zeros(1)? })
    }
}

/// A vector in both precisions in the form that the kernels use (`single.cuh`).
#[derive(Debug, Clone, Copy)]
#[repr(C)]
struct RoundedArguments {
    n: u32,
    scales: u64,
    exponent: u64,
    x: u64,
    v: u64,
}

impl<T: DoubleScalar> Debug for DeviceSingleInverse<'_, T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("DeviceSingleInverse").field("solver", &self.solver.is_some()).finish_non_exhaustive()
    }
}

impl<'a, T: DoubleScalar<Single: DeviceScalar>> DeviceSingleInverse<'a, T> {
    /// Use a preconditioner of the [`matrix`](DeviceSingleMatrix::matrix). Without one and without a solver, z = R·r, rounded. The result shares
    /// the matrix.
    ///
    /// # Errors
    /// [`Error::Shape`](bandsolve::Error::Shape) if the sizes differ; [`Error::Device`](bandsolve::Error::Device).
    pub fn new(of: &DeviceSingleMatrix<T>, m: Option<Box<dyn DeviceOperator<T::Single> + 'a>>) -> Result<Self> {
        let (n, device) = (of.a.rows(), of.a.device());
        m.as_ref().map_or(Ok(()), |m| check_len("rows of the preconditioner", n, m.rows()))?;
        let (a, scales) = (of.a.clone(), of.scales.clone());
        let vectors = Mutex::new(Some(SingleVectors::new(device, n)?));
        Ok(Self { a, scales, m, solver: None, vectors, iterations: AtomicUsize::new(0) })
    }

    /// Run this Krylov method in each application, up to the tolerance and the maximum number of iterations of `solver`.
    ///
    /// Choose a tolerance of at least 10⁻⁶: single precision cannot reach a smaller one.
    #[must_use]
    pub fn with_solver(self, solver: KrylovSolver<'static>) -> Self {
        Self { solver: Some(solver), ..self }
    }

    /// Number of iterations of the Krylov method so far, over all applications.
    pub fn iterations(&self) -> usize {
        self.iterations.load(Ordering::Relaxed)
    }

    /// z ≈ A⁻¹·rhs
    fn solve(&self, step: usize, rhs: &DeviceVec<T::Single>, z: &mut DeviceVec<T::Single>) -> Result<()> {
        match (&self.solver, self.m.as_deref()) {
            (Some(solver), m) => {
                z.slice_mut(..).clear()?;
                let report = solve_krylov(solver, &self.a, m, rhs, z)?;
                self.iterations.fetch_add(report.iterations, Ordering::Relaxed);
                Ok(())
            }
            (None, Some(m)) => m.apply_step(step, rhs.slice(..), z.slice_mut(..)),
            (None, None) => z.slice_mut(..).copy_from(rhs.slice(..)),
        }
    }
}

impl<T: DeviceScalar + DoubleScalar<Single: DeviceScalar>> DeviceOperator<T> for DeviceSingleInverse<'_, T> {
    fn rows(&self) -> usize {
        self.a.rows()
    }

    fn apply(&self, x: DeviceSlice<'_, T>, y: DeviceSliceMut<'_, T>) -> Result<()> {
        self.apply_step(0, x, y)
    }

    /// Always true. Rounding is not linear, which matters once the residual is below 10⁻⁷ of its initial value.
    fn changes(&self) -> bool {
        true
    }

    fn apply_step(&self, step: usize, x: DeviceSlice<'_, T>, y: DeviceSliceMut<'_, T>) -> Result<()> {
        let (device, y, n) = (self.a.device(), y.as_slice(), self.a.rows());
        check_len("x", n, x.len())?;
        check_len("y", n, y.len())?;
        let arrays = [("x", x.device()), ("y", y.device())];
        device.receive(&arrays)?;
        let kept = || self.vectors.lock().unwrap_or_else(PoisonError::into_inner);
        // No lock during the solve, whose check for interrupts may run code of the user.
        let taken = kept().take();
        let mut vectors = taken.map_or_else(|| SingleVectors::new(device, n), Ok)?;
        let SingleVectors { rhs, z, exponent } = &mut vectors;
        exponent.slice_mut(..).clear()?;
        let (scales, exponent) = (self.scales.slice(..).address(), exponent.slice(..).address());
        let launch = |kernel: &str, x: u64, v: u64| {
            let arguments = Arguments::default().with(RoundedArguments { n: n as u32, scales, exponent, x, v });
            if n == 0 {
                return Ok(());
            }
            // SAFETY: these are the kernels' arguments, and all vectors have n elements.
            unsafe { arguments.launch(device, &format!("{kernel}_{}", T::NAME), n.div_ceil(PIECE), 0) }
        };
        launch("exponent", x.address(), 0)?;
        launch("rounded", x.address(), rhs.slice(..).address())?;
        self.solve(step, rhs, z)?;
        launch("widened", y.address(), z.slice(..).address())?;
        *kept() = Some(vectors);
        arrays.iter().try_for_each(|(_, other)| other.wait_for(device))
    }
}
