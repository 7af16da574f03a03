//! Tests that enqueued solves neither wait for the device nor allocate, as a captured graph demands.

use super::watched::Watched;
use crate::emulated::{Emulation, Emulator};
use crate::matrix::DeviceMatrix;
use crate::solver::{DeviceSolver, DeviceStatus};
use bandsolve::{Layout, Method, Plan, Shape};

#[test]
fn steps_only_enqueue() {
    let batch = |layout| Shape::Batch { n: 40, count: 70, layout, periodic: false };
    let one = Shape::Tridiagonal { n: 5000, periodic: false };
    let plans = [
        Plan::new(one),
        Plan::new(one).partition_rows(7),
        Plan::new(one).method(Method::SpikeCr),
        Plan::new(one).method(Method::CfLu),
        Plan::new(batch(Layout::Contiguous)),
        Plan::new(batch(Layout::Interleaved)),
        Plan::new(Shape::BlockTridiagonal { block_rows: 700, block: 3, periodic: false }),
    ];
    for plan in plans {
        let machine = Watched::new(Emulator::new(Emulation::default()));
        let device = machine.device();
        let (n, numbers) = match plan.shape() {
            Shape::BlockTridiagonal { block_rows, block, .. } => (block_rows * block, block_rows * block * block),
            shape => (shape.rows(), shape.rows()),
        };
        let entry = |i: usize| if n == numbers || [0, 4, 8].contains(&(i % 9)) { 4.0 } else { 0.0 };
        let diag = device.upload(&(0..numbers).map(entry).collect::<Vec<f64>>()).unwrap();
        let off = device.upload(&vec![0.3; numbers]).unwrap();
        let (mut u, mut next) = (device.upload(&vec![1.0; n]).unwrap(), device.zeros(n).unwrap());
        let mut solver = DeviceSolver::<f64>::new(&device, &plan, 1).unwrap();
        let mut status = DeviceStatus::new(&device).unwrap();
        let mut steps = || {
            for _ in 0..3 {
                let a = DeviceMatrix::block_tridiagonal(&off, &diag, &off);
                solver.enqueue_solve(a, &u, &mut next, &mut status).unwrap();
                status.send().unwrap();
                core::mem::swap(&mut u, &mut next);
            }
        };
        // A kernel may be asked once how many of its blocks run at the same time.
        steps();
        let calls: Vec<_> = machine.calls_of(steps).into_iter().collect();
        assert_eq!(calls, ["clear", "launch", "read_later"], "{plan:?}");
        assert_eq!(status.arrived(), Some(0.0), "the work on the stream has not run");
        let error = status.read().unwrap().expect("an accurate solution");
        assert!(error <= 8.0 * f64::EPSILON && error > 0.0, "{plan:?}: {error:e}");
        assert_eq!(status.arrived(), Some(error), "{plan:?}");
    }
}

#[test]
fn steps_with_factors_only_enqueue() {
    let batch = Shape::Batch { n: 200, count: 3, layout: Layout::Contiguous, periodic: false };
    for shape in [Shape::Tridiagonal { n: 5000, periodic: false }, batch] {
        let machine = Watched::new(Emulator::new(Emulation::default()));
        let (device, n) = (machine.device(), shape.rows());
        let (off, diag) = (device.upload(&vec![0.3; n]).unwrap(), device.upload(&vec![4.0; n]).unwrap());
        let (u, mut x) = (device.upload(&vec![1.0; n]).unwrap(), device.zeros(n).unwrap());
        let solver = DeviceSolver::<f64>::new(&device, &Plan::new(shape), 1).unwrap();
        let mut factors = solver.factor(DeviceMatrix::tridiagonal(&off, &diag, &off)).unwrap();
        let mut status = DeviceStatus::new(&device).unwrap();
        let mut step = || factors.enqueue_solve(&u, &mut x, &mut status).unwrap();
        step();
        let calls: Vec<_> = machine.calls_of(step).into_iter().collect();
        // The flags of systems that may be singular are copied from those of the factors.
        assert_eq!(calls, ["clear", "copy", "launch"], "{shape:?}");
        let error = status.read().unwrap().expect("an accurate solution");
        assert!(error <= 8.0 * f64::EPSILON && error > 0.0, "{shape:?}: {error:e}");
    }
}
