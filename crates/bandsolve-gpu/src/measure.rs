//! Measurement of the sizes that make solves on a device fastest.

use crate::device::{Device, DeviceScalar, DeviceVec};
use crate::matrix::DeviceMatrix;
use crate::solver::DeviceSolver;
use crate::tuning::{DeviceTuning, ON_CHIP, Sizes, THREADS};
use bandsolve::{Complex32, Complex64, Plan, RealScalar, Result, Shape};

const ROWS: [usize; 5] = [17, 23, 31, 41, 63];

impl DeviceTuning {
    /// Measure all number types on a device with systems of `rows` rows, and keep the fastest sizes.
    ///
    /// # Errors
    /// As [`DeviceSolver`].
    pub fn measure(&mut self, device: &Device, rows: usize) -> Result<()> {
        self.measure_type::<f32>(device, rows)?;
        self.measure_type::<f64>(device, rows)?;
        self.measure_type::<Complex32>(device, rows)?;
        self.measure_type::<Complex64>(device, rows)
    }

    fn measure_type<T: DeviceScalar>(&mut self, device: &Device, rows: usize) -> Result<()> {
        self.set(&device.name(), T::NAME, fastest::<T>(device, rows)?);
        Ok(())
    }
}

/// The fastest sizes. First the rows of a partition are chosen, then the threads, then the right-hand sides.
fn fastest<T: DeviceScalar>(device: &Device, rows: usize) -> Result<Sizes> {
    let mut best = Sizes::default();
    let one = Bench::<T>::new(device, rows, 1)?;
    best = one.pick(ROWS.map(|partition_rows| Sizes { partition_rows, ..best }))?;
    best = one.pick(THREADS.map(|threads| Sizes { threads, ..best }))?;
    drop(one);
    let many = Bench::<T>::new(device, rows / 32, 32)?;
    many.pick(ON_CHIP.map(|rhs_on_chip| Sizes { rhs_on_chip, ..best }))
}

/// A diagonally dominant system for the measurement.
struct Bench<T: DeviceScalar> {
    device: Device,
    n_rhs: usize,
    off: DeviceVec<T>,
    diag: DeviceVec<T>,
    rhs: DeviceVec<T>,
}

impl<T: DeviceScalar> Bench<T> {
    fn new(device: &Device, rows: usize, n_rhs: usize) -> Result<Self> {
        let rows = rows.max(1);
        let number = |value: f64| T::from_real(T::Real::from_f64(value));
        let filled = |value, count: usize| device.upload(&vec![number(value); count]);
        let (off, diag, rhs) = (filled(-1.0, rows)?, filled(4.0, rows)?, filled(1.0, rows * n_rhs)?);
        Ok(Self { device: device.clone(), n_rhs, off, diag, rhs })
    }

    /// The fastest of several sizes, by the median time of five solves.
    fn pick<const N: usize>(&self, all: [Sizes; N]) -> Result<Sizes> {
        let n = self.off.len();
        let plan = Plan::new(Shape::Tridiagonal { n, periodic: false });
        let mut best = (f64::INFINITY, all[0]);
        let mut x = self.device.zeros::<T>(self.rhs.len())?;
        for sizes in all {
            let mut solver = DeviceSolver::with_sizes(&self.device, &plan, self.n_rhs, sizes)?;
            let mut solve = || {
                let a = DeviceMatrix::tridiagonal(&self.off, &self.diag, &self.off);
                self.device.time(|| solver.start(a, &self.rhs, &mut x).map(drop))
            };
            // The first solve compiles the kernels.
            solve()?;
            let mut times = [solve()?, solve()?, solve()?, solve()?, solve()?];
            times.sort_by(f64::total_cmp);
            if times[2] < best.0 {
                best = (times[2], sizes);
            }
        }
        Ok(best.1)
    }
}
