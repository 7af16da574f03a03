//! Arrays of other streams and of other devices.

use crate::oracle::ORDERS;
use crate::reference::Random;
use crate::test_device;
use bandsolve::{Error, Plan, Report, Result, Shape};
use bandsolve_gpu::{Device, DeviceMatrix, DeviceSolver, DeviceVec, Emulation};

/// The arrays sub, diag and sup, the right-hand side and x, each on its own device.
type Arrays = [DeviceVec<f64>; 5];

fn arrays(given: &Random<f64>, devices: [&Device; 5]) -> Result<Arrays> {
    let [sub, diag, sup] = &given.arrays;
    let zeros = vec![0.0; given.rhs.len()];
    let values = [sub, diag, sup, &given.rhs, &zeros];
    let mut uploaded = values.into_iter().zip(devices).map(|(values, device)| device.upload(values));
    let mut next = || uploaded.next().expect("there are five arrays");
    Ok([next()?, next()?, next()?, next()?, next()?])
}

fn solve(device: &Device, n: usize, [sub, diag, sup, rhs, x]: &mut Arrays) -> Result<Report> {
    let plan = Plan::new(Shape::Tridiagonal { n, periodic: false });
    DeviceSolver::new(device, &plan, 1)?.solve(DeviceMatrix::tridiagonal(&*sub, &*diag, &*sup), &*rhs, x)
}

#[test]
fn arrays_may_be_on_other_streams() {
    for (order, n) in ORDERS.into_iter().flat_map(|order| [100, 5000, 100_000].map(|n| (order, n))) {
        let device = test_device(Emulation { order, ..Emulation::default() });
        // Without dominance, systems are repaired and refined: then x is copied on its own stream, too.
        for shift in [4.0, 0.0] {
            let given = Random::<f64>::new(n, 1, 1, shift);
            let mut one = arrays(&given, [&device; 5]).unwrap();
            let expected = solve(&device, n, &mut one).unwrap();
            for _ in 0..3 {
                let streams: [Device; 5] = core::array::from_fn(|_| device.stream().unwrap());
                let mut on_streams = arrays(&given, streams.each_ref()).unwrap();
                // The right-hand side is not there before its stream has copied it.
                let rhs = streams[3].upload(&given.rhs).unwrap();
                on_streams[3] = streams[3].zeros(n).unwrap();
                on_streams[3].slice_mut(..).copy_from(rhs.slice(..)).unwrap();
                let report = solve(&device.stream().unwrap(), n, &mut on_streams).unwrap();
                assert_eq!(report.backward_errors, expected.backward_errors);
                assert!(on_streams[4].download().unwrap() == one[4].download().unwrap(), "{n}");
            }
        }
    }
}

#[test]
fn a_dropped_solve_is_complete_before_later_work() {
    for order in ORDERS {
        check_dropped_solve(&test_device(Emulation { order, ..Emulation::default() }));
    }
}

fn check_dropped_solve(device: &Device) {
    let n = 100_000;
    let given = Random::<f64>::new(n, 1, 1, 4.0);
    let mut one = arrays(&given, [device; 5]).unwrap();
    solve(device, n, &mut one).unwrap();
    let streams: [Device; 5] = core::array::from_fn(|_| device.stream().unwrap());
    let [sub, diag, sup, rhs, mut x] = arrays(&given, streams.each_ref()).unwrap();
    let plan = Plan::new(Shape::Tridiagonal { n, periodic: false });
    let mut solver = DeviceSolver::new(&device.stream().unwrap(), &plan, 1).unwrap();
    drop(solver.start(DeviceMatrix::tridiagonal(&sub, &diag, &sup), &rhs, &mut x).unwrap());
    assert!(x.download().unwrap() == one[4].download().unwrap());
}

#[test]
fn an_array_of_another_device_is_named() {
    let [device, other] = [(); 2].map(|()| Device::emulated(Emulation::default()));
    let given = Random::<f64>::new(50, 1, 1, 4.0);
    for (k, name) in ["sub", "diag", "sup", "rhs", "x"].into_iter().enumerate() {
        let mut on = [&device; 5];
        on[k] = &other;
        let error = solve(&device, 50, &mut arrays(&given, on).unwrap()).unwrap_err();
        assert_eq!(error.to_string(), format!("{name} is on another device, emulated, expected this device, emulated"));
    }
    let (mut to, from) = (device.zeros::<f64>(3).unwrap(), other.zeros::<f64>(3).unwrap());
    assert!(matches!(to.slice_mut(..).copy_from(from.slice(..)), Err(Error::InvalidArgument { .. })));
    assert!(device.wait_for(&other).is_err() && device.wait_for(&device.stream().unwrap()).is_ok());
}
