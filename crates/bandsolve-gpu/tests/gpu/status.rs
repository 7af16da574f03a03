//! Solves that the host does not wait for.

use crate::test_device;
use bandsolve::{Complex32, Complex64, Error, Layout, Pivoting, Plan, RealScalar, Scalar, Shape};
use bandsolve_gallery::{Random, random_vec};
use bandsolve_gpu::{Device, DeviceMatrix, DeviceScalar, DeviceSolver, DeviceStatus, DeviceVec, Emulation};

/// The arrays of a tridiagonal matrix, and right-hand sides.
struct System<T> {
    bands: [DeviceVec<T>; 3],
    rhs: DeviceVec<T>,
}

impl<T: DeviceScalar> System<T> {
    fn new(device: &Device, [sub, diag, sup]: [&[T]; 3], rhs: &[T]) -> Self {
        let upload = |array: &[T]| device.upload(array).unwrap();
        Self { bands: [upload(sub), upload(diag), upload(sup)], rhs: upload(rhs) }
    }

    fn matrix(&self) -> DeviceMatrix<'_, T> {
        let [sub, diag, sup] = &self.bands;
        DeviceMatrix::tridiagonal(sub, diag, sup)
    }

    /// What the status says after one enqueued solve, and x.
    fn status(&self, device: &Device, plan: &Plan) -> (Option<f64>, Vec<T>) {
        let columns = self.rhs.len().checked_div(plan.shape().rows()).unwrap_or(1);
        let mut solver = DeviceSolver::new(device, plan, columns).unwrap();
        let (mut x, mut status) = (device.zeros(self.rhs.len()).unwrap(), DeviceStatus::new(device).unwrap());
        solver.enqueue_solve(self.matrix(), &self.rhs, &mut x, &mut status).unwrap();
        (status.read().unwrap(), x.download().unwrap())
    }
}

fn shifted<T: Scalar>(mut diag: Vec<T>) -> Vec<T> {
    diag.iter_mut().for_each(|d| *d += T::from_real(T::Real::from_f64(4.0)));
    diag
}

/// The status is the backward error of `solve`, and x has its bits.
fn as_with_waiting<T: DeviceScalar>() {
    let device = test_device(Emulation::default());
    let mut random = Random::new(7);
    let shapes = [1, 2, 40, 3000].map(|n| Shape::Tridiagonal { n, periodic: false });
    let batch = |layout| Shape::Batch { n: 30, count: 80, layout, periodic: false };
    for shape in shapes.into_iter().chain([batch(Layout::Contiguous), batch(Layout::Interleaved)]) {
        let (n, plan) = (shape.rows(), Plan::new(shape));
        let columns = if matches!(shape, Shape::Batch { .. }) { 1 } else { 3 };
        let mut random_of = |n: usize| random_vec::<T>(n, &mut random);
        let (sub, diag, sup, rhs) = (random_of(n), shifted(random_of(n)), random_of(n), random_of(columns * n));
        let system = System::new(&device, [&sub, &diag, &sup], &rhs);
        let (status, x) = system.status(&device, &plan);
        let (mut solver, mut y) =
            (DeviceSolver::new(&device, &plan, columns).unwrap(), device.zeros(rhs.len()).unwrap());
        let report = solver.solve(system.matrix(), &system.rhs, &mut y).unwrap();
        assert_eq!(x, y.download().unwrap(), "{} {shape:?}", T::NAME);
        assert_eq!(status, Some(report.backward_error), "{} {shape:?}", T::NAME);
    }
}

#[test]
fn as_with_waiting_in_every_type() {
    as_with_waiting::<f32>();
    as_with_waiting::<f64>();
    as_with_waiting::<Complex32>();
    as_with_waiting::<Complex64>();
}

#[test]
fn bad_systems_are_seen() {
    let device = test_device(Emulation::default());
    let plan = |n| Plan::new(Shape::Tridiagonal { n, periodic: false });
    for n in [1, 3, 40, 3000] {
        let (ones, zeros) = (vec![1.0; n], vec![0.0; n]);
        let status = |bands: [&[f64]; 3], rhs: &[f64]| System::new(&device, bands, rhs).status(&device, &plan(n)).0;
        assert_eq!(status([&zeros, &ones, &zeros], &ones), Some(0.0));
        // A zero right-hand side is no reason for attention.
        assert_eq!(status([&zeros, &ones, &zeros], &zeros), Some(0.0));
        let mut singular = ones.clone();
        singular[n / 2] = 0.0;
        assert_eq!(status([&zeros, &singular, &zeros], &ones), None, "n = {n}");
        let mut nan = ones.clone();
        nan[n / 2] = f64::NAN;
        assert!(!matches!(status([&zeros, &ones, &zeros], &nan), Some(error) if error <= 1.0), "n = {n}");
        assert!(!matches!(status([&zeros, &nan, &zeros], &ones), Some(error) if error <= 1.0), "n = {n}");
    }
    // Without row exchanges, x is inaccurate, and nobody repairs it.
    let n = 300;
    let (ones, small) = (vec![1.0; n], vec![1e-9; n]);
    let system = System::new(&device, [&ones, &small, &ones], &ones);
    let error = system.status(&device, &plan(n).pivoting(Pivoting::None)).0;
    assert!(error.is_none_or(|error| error > 8.0 * f64::EPSILON), "{error:?}");
    // The second of three right-hand sides belongs to a solution that is too large.
    let mut growing = vec![0.0; n];
    growing[..2 * 33].fill(-3.0);
    let mut rhs = vec![0.0; 3 * n];
    rhs[n..2 * n].fill(1.0);
    assert_eq!(System::new(&device, [&vec![0.0; n], &ones, &growing], &rhs).status(&device, &plan(n)).0, None);
}

#[test]
fn the_status_of_several_solves() {
    let (device, n) = (test_device(Emulation::default()), 200);
    let mut random = Random::new(2);
    let mut status = DeviceStatus::new(&device).unwrap();
    assert_eq!(status.read().unwrap(), Some(0.0));
    let mut solver = DeviceSolver::new(&device, &Plan::new(Shape::Tridiagonal { n, periodic: false }), 1).unwrap();
    let mut x = device.zeros(n).unwrap();
    let mut worst = 0.0;
    for _ in 0..4 {
        let mut random_of = || random_vec::<f64>(n, &mut random);
        let (sub, diag, sup, rhs) = (random_of(), shifted(random_of()), random_of(), random_of());
        let system = System::new(&device, [&sub, &diag, &sup], &rhs);
        solver.enqueue_solve(system.matrix(), &system.rhs, &mut x, &mut status).unwrap();
        let report = solver.solve(system.matrix(), &system.rhs, &mut x).unwrap();
        worst = f64::max(worst, report.backward_error);
    }
    assert_eq!(status.read().unwrap(), Some(worst));
    status.reset().unwrap();
    assert_eq!(status.read().unwrap(), Some(0.0));
}

/// Solves with factors raise the status as solves without: by the same error, and if the matrix is singular.
#[test]
fn solves_with_factors() {
    let (device, n) = (test_device(Emulation::default()), 300);
    let mut random = Random::new(4);
    let mut random_of = || random_vec::<f64>(n, &mut random);
    let (sub, mut diag, mut sup, rhs) = (random_of(), shifted(random_of()), random_of(), random_of());
    let plan = Plan::new(Shape::Tridiagonal { n, periodic: false });
    for singular in [false, true] {
        if singular {
            // Row 0 of A is zero.
            (diag[0], sup[0]) = (0.0, 0.0);
        }
        let system = System::new(&device, [&sub, &diag, &sup], &rhs);
        let (mut x, mut status) = (device.zeros(n).unwrap(), DeviceStatus::new(&device).unwrap());
        let mut factors = DeviceSolver::new(&device, &plan, 1).unwrap().factor(system.matrix()).unwrap();
        for _ in 0..2 {
            factors.enqueue_solve(&system.rhs, &mut x, &mut status).unwrap();
        }
        if singular {
            assert_eq!(status.read().unwrap(), None);
            continue;
        }
        let (x, mut y) = (x.download().unwrap(), device.zeros(n).unwrap());
        let report = factors.solve(&system.rhs, &mut y).unwrap();
        assert_eq!((status.read().unwrap(), x), (Some(report.backward_error), y.download().unwrap()));
    }
}

#[test]
fn a_status_that_was_sent_arrives() {
    let device = test_device(Emulation::default());
    let plan = Plan::new(Shape::Tridiagonal { n: 40, periodic: false });
    let mut diag = [1.0; 40];
    diag[7] = 0.0;
    let system = System::new(&device, [&[0.0; 40], &diag, &[0.0; 40]], &[1.0; 40]);
    let (mut solver, mut x) = (DeviceSolver::new(&device, &plan, 1).unwrap(), device.zeros(40).unwrap());
    let mut status = DeviceStatus::new(&device).unwrap();
    solver.enqueue_solve(system.matrix(), &system.rhs, &mut x, &mut status).unwrap();
    device.synchronize().unwrap();
    assert_eq!(status.arrived(), Some(0.0), "nobody sent it");
    status.send().unwrap();
    device.synchronize().unwrap();
    assert_eq!(status.arrived(), None);
    status.reset().unwrap();
    device.synchronize().unwrap();
    assert_eq!(status.arrived(), Some(0.0));
}

#[test]
fn wrong_arguments_are_errors() {
    let device = test_device(Emulation::default());
    let system = System::new(&device, [&[0.0; 2], &[1.0; 2], &[0.0; 2]], &[1.0; 2]);
    let plan = Plan::new(Shape::Tridiagonal { n: 2, periodic: false });
    let mut status = DeviceStatus::new(&device).unwrap();
    let mut solver = DeviceSolver::<f64>::new(&device, &plan, 1).unwrap();
    let mut short = device.zeros(1).unwrap();
    let result = solver.enqueue_solve(system.matrix(), &system.rhs, &mut short, &mut status);
    assert!(matches!(result, Err(Error::Shape { what: "x", .. })));
    let mut x = device.zeros(2).unwrap();
    let mut unverified = DeviceSolver::<f64>::new(&device, &plan.verify(false), 1).unwrap();
    let result = unverified.enqueue_solve(system.matrix(), &system.rhs, &mut x, &mut status);
    assert!(matches!(result, Err(Error::InvalidArgument { .. })));
    let other = test_device(Emulation::default());
    if !other.same_as(&device) {
        let mut elsewhere = DeviceStatus::new(&other).unwrap();
        let result = solver.enqueue_solve(system.matrix(), &system.rhs, &mut x, &mut elsewhere);
        assert!(matches!(result, Err(Error::InvalidArgument { .. })));
    }
    let empty = System::<f64>::new(&device, [&[], &[], &[]], &[]);
    assert_eq!(empty.status(&device, &Plan::new(Shape::Tridiagonal { n: 0, periodic: false })).0, Some(0.0));
}
