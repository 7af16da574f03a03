//! Poisson and Helmholtz problems on a device: transforms along the axes, and a division by the eigenvalues or tridiagonal systems.

mod arguments;
mod axis;
mod lines;
mod matrix;
mod passes;
mod refinement;
mod sweep;

use crate::device::{Device, DeviceScalar, DeviceSlice, DeviceSliceMut};
use bandsolve::{Error, Result};
use bandsolve_poisson::{Poisson, PoissonMethod, PoissonReport, PoissonScalar};
use refinement::BoxSolver;

/// A Poisson or Helmholtz problem on a device, with its transforms, ready to solve for any number of right-hand sides.
///
/// The problem is that of [`Poisson`]: `(−Δₕ + c)·u = f`, with its boundary conditions, grids, mean and limits. The solver transforms f along all axes, divides the
/// coefficients by the eigenvalues, and transforms back. Then it computes the residual of the difference equations, refines u if necessary, and returns the report
/// of [`PoissonPlan`](bandsolve_poisson::PoissonPlan).
///
/// Axes with variable spacing or Robin sides have no fast transform. The solver solves tridiagonal systems along the longest of them, and multiplies lines along the
/// others by matrices of eigenvectors. It also multiplies along this axis if the axis is periodic, c is negative or a Robin side has a negative α/β.
/// If lines along one axis exceed the shared memory of a thread block, the tridiagonal systems lie along this axis.
///
/// # Shapes
/// f and u have one number per unknown, in C order: the last axis is contiguous. Several right-hand sides follow one another.
///
/// # Cost
/// O(log n) flops per unknown and axis if n (n + 1 for Dirichlet nodes, n − 1 for Neumann nodes) has only the prime factors 2, 3, 5 and 7. A larger
/// prime factor p costs O(p) flops per unknown. In d dimensions, a solve reads and writes u 2d − 1 times, and the verification reads f and u. Tridiagonal systems
/// read and write u once more and read their factors twice. One thread solves each system: this is slow if there are few systems, or if they lie along the
/// last axis. Products cost 2n flops per unknown of an axis with n unknowns, twice, and [`new`](Self::new) computes the eigenvectors on the CPU with 6n³ flops. The solver
/// stores one number per unknown, a second one for tridiagonal systems, and 2n² numbers for an axis with products.
///
/// # Examples
/// ```
/// # #[cfg(feature = "emulator")] {
/// use bandsolve_gpu::{Device, DevicePoisson, Emulation};
/// use bandsolve_poisson::Poisson;
/// let device = Device::cuda(0).unwrap_or_else(|_| Device::emulated(Emulation::default()));
/// // −Δu = 1 on the unit square with u = 0 at all sides, 31 × 31 nodes inside.
/// let problem = Poisson::new(&[31, 31]).spacing(1.0 / 32.0);
/// let mut solver = DevicePoisson::<f64>::new(&device, &problem)?;
/// let (f, mut u) = (device.upload(&[1.0; 31 * 31])?, device.zeros(31 * 31)?);
/// let report = solver.solve(&f, &mut u)?;
/// assert!(report.backward_error < 2e-15);
/// assert!((u.download()?[480] - 0.0736).abs() < 1e-4); // u in the center
/// # }
/// # Ok::<(), bandsolve::Error>(())
/// ```
///
/// # Source
/// T. G. Stockham's order of fast Fourier transforms. See docs/math/poisson.md.
pub struct DevicePoisson<T: DeviceScalar + PoissonScalar>(BoxSolver<T>);

impl<T: DeviceScalar + PoissonScalar> core::fmt::Debug for DevicePoisson<T> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{:?} on {}", self.0.parts, self.0.device.name())
    }
}

/// Maximum number of unknowns: indices have 32 bits, and the kernels add small numbers to them.
const MOST_UNKNOWNS: usize = (1 << 32) - (1 << 24);

impl<T: DeviceScalar + PoissonScalar> DevicePoisson<T> {
    /// Check the problem, and copy its transforms to a device. The solver runs on the stream of the device handle.
    ///
    /// # Errors
    /// - The errors of [`Poisson::plan`].
    /// - [`Error::Shape`] if an axis has no unknowns, or if there are 2³² unknowns or more.
    /// - [`Error::Unsupported`] if the problem asks for another method than `auto` or `fft`.
    /// - [`Error::InvalidArgument`] if the lines along an axis do not fit in the shared memory of a thread block, and there are no tridiagonal systems along this axis.
    /// - [`Error::NotConverged`] if rounding decides the sign of the smallest eigenvalue, or if eigenvectors do not converge.
    /// - [`Error::OutOfMemory`]; [`Error::Device`].
    ///
    /// # Examples
    /// ```
    /// # #[cfg(feature = "emulator")] {
    /// use bandsolve::Error;
    /// use bandsolve_gpu::{Device, DevicePoisson, Emulation};
    /// use bandsolve_poisson::Poisson;
    /// let device = Device::cuda(0).unwrap_or_else(|_| Device::emulated(Emulation::default()));
    /// let points = [0.0, 1.0, 3.0, 4.0];
    /// let stretched = Poisson::new(&[2, 2]).coordinates(0, &points).coordinates(1, &points);
    /// assert_eq!(DevicePoisson::<f64>::new(&device, &stretched)?.shape(), [2, 2]);
    /// let other = stretched.method(bandsolve_poisson::PoissonMethod::Pscr);
    /// assert!(matches!(DevicePoisson::<f64>::new(&device, &other), Err(Error::Unsupported { .. })));
    /// # }
    /// # Ok::<(), bandsolve::Error>(())
    /// ```
    pub fn new(device: &Device, problem: &Poisson) -> Result<Self> {
        let parts = problem.parts::<T>()?;
        if !matches!(parts.method, PoissonMethod::Auto | PoissonMethod::Fft) {
            return Err(Error::Unsupported { method: parts.method.name(), what: "problems on a GPU; use method auto" });
        }
        let n: usize = parts.given().iter().product();
        if n > MOST_UNKNOWNS {
            return Err(Error::Shape { what: "a box on a GPU", expected: MOST_UNKNOWNS, got: n });
        }
        Ok(Self(BoxSolver::new(device, parts)?))
    }

    /// Get the number of unknowns along each axis.
    pub fn shape(&self) -> &[usize] {
        self.0.parts.given()
    }

    /// Get the total number of unknowns.
    pub fn len(&self) -> usize {
        self.shape().iter().product()
    }

    /// Whether the box has no unknowns: never.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Solve for u, and measure the backward error of u. The host waits for the device.
    ///
    /// The solve waits for the work on the streams of f and u.
    ///
    /// # Shapes
    /// `f` holds one or several right-hand sides, one after the other. Each has one number per unknown, in C order. `u` has the length of `f`.
    ///
    /// # Errors
    /// - [`Error::Shape`] if the length of `f` is not a multiple of [`len`](Self::len), or if `u` has another length.
    /// - [`Error::InvalidArgument`] if an array is on another device.
    /// - [`Error::NotFinite`], [`Error::Incompatible`] and [`Error::NotConverged`] as [`PoissonPlan::solve`](bandsolve_poisson::PoissonPlan::solve).
    /// - [`Error::Device`].
    ///
    /// # Examples
    /// ```
    /// # #[cfg(feature = "emulator")] {
    /// use bandsolve_gpu::{Device, DevicePoisson, Emulation};
    /// use bandsolve_poisson::Poisson;
    /// let device = Device::cuda(0).unwrap_or_else(|_| Device::emulated(Emulation::default()));
    /// // −u″ = f with u = 0 at both ends, for two right-hand sides.
    /// let mut solver = DevicePoisson::<f64>::new(&device, &Poisson::new(&[3]))?;
    /// let (f, mut u) = (device.upload(&[1.0, 1.0, 1.0, 0.0, 2.0, 0.0])?, device.zeros(6)?);
    /// assert_eq!(solver.solve(&f, &mut u)?.backward_errors.len(), 2);
    /// let exact = [1.5, 2.0, 1.5, 1.0, 2.0, 1.0];
    /// assert!(u.download()?.iter().zip(exact).all(|(u, exact)| (u - exact).abs() < 1e-12));
    /// # }
    /// # Ok::<(), bandsolve::Error>(())
    /// ```
    pub fn solve<'a>(
        &mut self,
        f: impl Into<DeviceSlice<'a, T>>,
        u: impl Into<DeviceSliceMut<'a, T>>,
    ) -> Result<PoissonReport> {
        let (f, mut u) = (f.into(), u.into());
        let n = self.len();
        if !f.len().is_multiple_of(n) {
            return Err(Error::Shape { what: "f", expected: n, got: f.len() });
        }
        if u.as_slice().len() != f.len() {
            return Err(Error::Shape { what: "u", expected: f.len(), got: u.as_slice().len() });
        }
        self.0.device.receive(&[("f", f.device()), ("u", u.as_slice().device())])?;
        let columns = f.len() / n;
        let solved = (0..columns).map(|column| {
            bandsolve::interrupt::check()?;
            let range = column * n..(column + 1) * n;
            let solved = self.0.solve(f.part(range.clone()), u.part(range));
            solved.map_err(|error| match error {
                Error::NotFinite { array, index } => Error::NotFinite { array, index: column * n + index },
                other => other,
            })
        });
        let solved: Result<Vec<_>> = solved.collect();
        // Nothing may use the arrays before the work of a failed solve is complete.
        let completed = self.0.device.synchronize();
        let (solved, ()) = (solved?, completed?);
        Ok(self.0.parts.report(self.method().1, self.subproblems(), &solved))
    }

    /// Get the method, and what it does in words.
    pub fn method(&self) -> (PoissonMethod, &'static str) {
        let reason = match (self.subproblems(), self.0.passes.has_products()) {
            (0, false) => "transforms along all axes on a device",
            (0, true) => "transforms and products with matrices of eigenvectors along all axes on a device",
            (_, false) => "tridiagonal systems along one axis and transforms along the other axes on a device",
            (_, true) => "tridiagonal systems along one axis and products with matrices of eigenvectors on a device",
        };
        (PoissonMethod::Fft, reason)
    }

    /// Get the number of tridiagonal systems.
    pub fn subproblems(&self) -> usize {
        self.0.passes.systems()
    }
}
