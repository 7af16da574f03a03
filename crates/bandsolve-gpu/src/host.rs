//! Solves with a matrix in host memory and the interface of `Factor`.

use crate::device::{Device, DeviceScalar, DeviceVec};
use crate::matrix::DeviceMatrix;
use crate::solver::DeviceSolver;
use bandsolve::dyn_stack::{PodStack, StackReq};
use bandsolve::{
    Banded, BlockTridiagonal, Error, Factor, Op, Plan, Report, Result, Scalar, Shape, Tridiagonal, TridiagonalBatch,
};
use core::fmt::Debug;
use std::borrow::Cow;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A matrix in host memory.
pub trait HostMatrix<T>: Debug + Send + Sync {
    /// The kind and size of the matrix.
    fn shape(&self) -> Shape;
    /// Copy the arrays to a device: three arrays of full length, or one array and its leading dimension.
    ///
    /// # Errors
    /// [`Error::Device`].
    fn upload(&self, device: &Device) -> Result<(Vec<DeviceVec<T>>, usize)>;
    /// The arrays sub, diag and sup with full length. They are empty for a banded matrix.
    fn full_arrays(&self) -> [Cow<'_, [T]>; 3]
    where
        T: Clone;
    /// Check that all entries are finite.
    ///
    /// # Errors
    /// [`Error::NotFinite`].
    fn check_finite(&self) -> Result<()>;
}

/// Add a block of zeros to the off-diagonals, where they have no entry.
fn full<T: DeviceScalar>([sub, diag, sup]: [&[T]; 3]) -> [Cow<'_, [T]>; 3] {
    let filled = |before: usize, array: &[T], after: usize| {
        [&vec![T::ZERO; before][..], array, &vec![T::ZERO; after]].concat().into()
    };
    let missing = |array: &[T]| diag.len() - array.len();
    [
        if missing(sub) > 0 { filled(missing(sub), sub, 0) } else { sub.into() },
        diag.into(),
        if missing(sup) > 0 { filled(0, sup, missing(sup)) } else { sup.into() },
    ]
}

/// Matrices of three arrays. The second function returns the matrix with all arrays of full length.
macro_rules! host_matrix {
    ($($matrix:ident $separate:expr),*) => {$(
        impl<T: DeviceScalar> HostMatrix<T> for $matrix<'_, T> {
            fn shape(&self) -> Shape {
                self.shape()
            }
            fn upload(&self, device: &Device) -> Result<(Vec<DeviceVec<T>>, usize)> {
                let separate = $separate(self)?;
                Ok((full(separate.arrays()).iter().map(|array| device.upload(array)).collect::<Result<_>>()?, 0))
            }
            fn full_arrays(&self) -> [Cow<'_, [T]>; 3] {
                full(self.arrays())
            }
            fn check_finite(&self) -> Result<()> {
                self.check_finite()
            }
        }
    )*};
}
host_matrix!(Tridiagonal Ok::<_, Error>, BlockTridiagonal Ok::<_, Error>, TridiagonalBatch TridiagonalBatch::separate);

impl<T: DeviceScalar> HostMatrix<T> for Banded<'_, T> {
    fn shape(&self) -> Shape {
        self.shape()
    }
    fn upload(&self, device: &Device) -> Result<(Vec<DeviceVec<T>>, usize)> {
        let (bands, leading) = self.storage();
        Ok((vec![device.upload(bands)?], leading))
    }
    fn full_arrays(&self) -> [Cow<'_, [T]>; 3] {
        [const { Cow::Borrowed(&[]) }; 3]
    }
    fn check_finite(&self) -> Result<()> {
        self.check_finite()
    }
}

impl<T, M: HostMatrix<T> + ?Sized> HostMatrix<T> for &M {
    fn shape(&self) -> Shape {
        M::shape(self)
    }
    fn upload(&self, device: &Device) -> Result<(Vec<DeviceVec<T>>, usize)> {
        M::upload(self, device)
    }
    fn full_arrays(&self) -> [Cow<'_, [T]>; 3]
    where
        T: Clone,
    {
        M::full_arrays(self)
    }
    fn check_finite(&self) -> Result<()> {
        M::check_finite(self)
    }
}

/// A matrix of the host, copied to a device. Each solve copies right-hand sides to the device, and solutions back.
///
/// Solutions meet the accuracy contract. On the same device, they are the same in every run, bit for bit.
///
/// # Examples
/// ```
/// # #[cfg(feature = "emulator")] {
/// use bandsolve::{Factor, Plan, Tridiagonal};
/// use bandsolve_gpu::{Device, Emulation};
/// let device = Device::cuda(0).unwrap_or_else(|_| Device::emulated(Emulation::default()));
/// let (off, diag) = (vec![-1.0; 100], vec![2.0; 100]);
/// let a = Tridiagonal::new(&off, &diag, &off)?;
/// let mut x = vec![1.0_f64; 100];
/// let report = device.factor(&Plan::new(a.shape()), &a)?.solve_in_place(&mut x)?;
/// assert!(report.backward_error <= 8.0 * f64::EPSILON && (x[0] - 50.0).abs() < 1e-12);
/// # }
/// # Ok::<(), bandsolve::Error>(())
/// ```
#[derive(Debug)]
pub struct OnDevice<'m, T: DeviceScalar> {
    device: Device,
    plan: Plan,
    a: Arc<dyn HostMatrix<T> + 'm>,
    arrays: Vec<DeviceVec<T>>,
    leading: usize,
    /// A solver with memory for the right-hand sides of earlier solves. A solve takes the solver out and returns it, or
    /// creates another. A lock during the solve could deadlock: a thread that waits inside the pivoted method may
    /// receive a second solve with the same factors.
    solver: Mutex<Option<DeviceSolver<T>>>,
}

impl<T: DeviceScalar> OnDevice<'_, T> {
    fn lock_solver(&self) -> MutexGuard<'_, Option<DeviceSolver<T>>> {
        self.solver.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A solver for `n_rhs` right-hand sides that no other thread uses.
    fn take_solver(&self, n_rhs: usize) -> Result<DeviceSolver<T>> {
        let stored = self.lock_solver().take().filter(|solver| solver.n_rhs() >= n_rhs);
        stored.map_or_else(|| DeviceSolver::new(&self.device, &self.plan, n_rhs.max(1)), Ok)
    }
}

impl Device {
    /// Copy a matrix of the host to this device, for solves.
    ///
    /// The device follows the options of the plan that [`DeviceSolver`] follows.
    ///
    /// # Errors
    /// [`Error::Shape`] if the plan is for another shape; the errors of [`DeviceSolver::new`].
    pub fn factor<'m, T: DeviceScalar>(&self, plan: &Plan, a: &'m dyn HostMatrix<T>) -> Result<OnDevice<'m, T>> {
        self.factor_shared(plan, Arc::new(a))
    }

    /// Copy a matrix that is shared through an `Arc` to this device, for solves.
    ///
    /// # Errors
    /// As [`factor`](Self::factor).
    pub fn factor_shared<'m, T: DeviceScalar>(
        &self,
        plan: &Plan,
        a: Arc<dyn HostMatrix<T> + 'm>,
    ) -> Result<OnDevice<'m, T>> {
        if plan.shape() != a.shape() {
            return Err(Error::Shape { what: "matrix", expected: plan.shape().n(), got: a.shape().n() });
        }
        let (arrays, leading) = a.upload(self)?;
        let solver = Mutex::new(Some(DeviceSolver::new(self, plan, 1)?));
        Ok(OnDevice { device: self.clone(), plan: plan.clone(), a, arrays, leading, solver })
    }
}

impl<T: DeviceScalar> Factor<T> for OnDevice<'_, T> {
    fn shape(&self) -> Shape {
        self.plan.shape()
    }

    fn solve_scratch(&self, _n_rhs: usize) -> StackReq {
        StackReq::EMPTY
    }

    fn solve_into_with(&self, op: Op, rhs: &[T], x: &mut [T], _stack: &mut PodStack) -> Result<Report> {
        let n_rhs = self.shape().n_rhs("rhs", rhs.len())?;
        crate::device::check_len("x", rhs.len(), x.len())?;
        let mut solver = self.take_solver(n_rhs)?;
        let matrix = match &*self.arrays {
            [sub, diag, sup] => DeviceMatrix::tridiagonal(sub, diag, sup),
            bands => DeviceMatrix::banded(&bands[0], self.leading),
        };
        solver.store_blocks(matrix)?;
        let (given, mut solution) = (self.device.upload(rhs)?, self.device.zeros::<T>(x.len())?);
        let solved = solver.solve(matrix.op(op), &given, &mut solution);
        *self.lock_solver() = Some(solver);
        solution.slice(..).read(x)?;
        if let Err(Error::NotFinite { .. }) = solved {
            // Use the index in the caller's arrays.
            self.a.check_finite()?;
            let bad = rhs.iter().position(|value| !Scalar::is_finite(*value));
            return Err(Error::NotFinite { array: "rhs", index: bad.unwrap_or(0) });
        }
        solved
    }

    fn solve_in_place_scratch(&self, n_rhs: usize) -> StackReq {
        StackReq::new::<T>(n_rhs * self.shape().rows())
    }
}

#[cfg(all(test, feature = "emulator"))]
mod tests {
    use super::*;
    use crate::Emulation;
    use std::sync::mpsc::{Receiver, Sender, channel};
    use std::time::Duration;

    /// A matrix that, in the host's part of a solve, waits until another solve is complete.
    #[derive(Debug)]
    struct Waiting<'a> {
        a: Tridiagonal<'a, f64>,
        inside: Sender<()>,
        done: Mutex<Receiver<()>>,
    }

    impl HostMatrix<f64> for Waiting<'_> {
        fn shape(&self) -> Shape {
            self.a.shape()
        }
        fn upload(&self, device: &Device) -> Result<(Vec<DeviceVec<f64>>, usize)> {
            self.a.upload(device)
        }
        fn full_arrays(&self) -> [Cow<'_, [f64]>; 3] {
            self.a.full_arrays()
        }
        fn check_finite(&self) -> Result<()> {
            _ = self.inside.send(());
            let waited = self.done.lock().unwrap().recv_timeout(Duration::from_secs(20));
            assert!(waited.is_ok(), "the other solve must not wait for this one");
            Ok(())
        }
    }

    #[test]
    fn nothing_is_locked_while_the_host_works() {
        let device = Device::emulated(Emulation::default());
        let (off, diag) = ([1.0; 40], [4.0; 40]);
        let ((inside, begun), (finish, done)) = (channel(), channel());
        let a = Waiting { a: Tridiagonal::new(&off, &diag, &off).unwrap(), inside, done: Mutex::new(done) };
        let factor = device.factor(&Plan::new(a.shape()), &a).unwrap();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let solved = factor.solve(&[f64::NAN; 40]);
                assert_eq!(solved.unwrap_err(), Error::NotFinite { array: "rhs", index: 0 });
            });
            begun.recv().unwrap();
            assert!(factor.solve(&[1.0; 40]).unwrap().report.backward_error <= 8.0 * f64::EPSILON);
            finish.send(()).unwrap();
        });
        assert!(factor.lock_solver().is_some());
    }
}
