//! Tests that each call of a device can fail: the solve returns the error and releases all memory, and the device works afterwards.

use super::watched::{FAILED, Watched};
use crate::device::{Backend, Device, Launch};
use crate::emulated::{Emulation, Emulator};
use crate::matrix::DeviceMatrix;
use crate::poisson::DevicePoisson;
use crate::solver::DeviceSolver;
use bandsolve::{Error, Layout, Method, Pivoting, Plan, Result, Shape};
use bandsolve_poisson::{Boundary, Poisson};

/// Solve on streams of their own. Without row exchanges, x is refined. Returns x.
fn solve(device: &Device, plan: &Plan, factor: bool) -> Result<Vec<f64>> {
    let n = plan.shape().rows();
    let other = device.stream()?;
    let ones = device.upload(&vec![1.0; n])?;
    let diag = other.upload(&(0..n).map(|i| if i % 7 == 3 { 1e-6 } else { 4.0 }).collect::<Vec<f64>>())?;
    let (rhs, mut x) = (other.upload(&vec![1.0; n])?, other.zeros(n)?);
    let a = DeviceMatrix::tridiagonal(&ones, &diag, &ones);
    let mut solver = DeviceSolver::<f64>::new(device, plan, 1)?;
    if factor {
        solver.factor(a)?.solve(&rhs, &mut x)?;
    } else {
        solver.solve(a, &rhs, &mut x)?;
    }
    x.download()
}

/// Solve a Poisson problem with tridiagonal systems along one axis. Returns u.
fn solve_poisson(device: &Device) -> Result<Vec<f64>> {
    let other = device.stream()?;
    let problem = Poisson::new(&[6, 5]).axis_boundary(0, Boundary::neumann(1.0), Boundary::robin(1.0, 2.0, 0.5));
    let (f, mut u) = (other.upload(&[1.0; 30])?, device.zeros(30)?);
    DevicePoisson::new(device, &problem)?.solve(&f, &mut u)?;
    u.download()
}

fn every_call_may_fail(solve: impl Fn(&Device) -> Result<Vec<f64>>) {
    let machine = Watched::new(Emulator::new(Emulation::default()));
    let device = machine.device();
    let expected = solve(&device).unwrap();
    for calls in 0.. {
        machine.fail_after(calls);
        let solved = solve(&device);
        assert_eq!(machine.held(), 0, "call {calls}");
        match (machine.failed(), &solved) {
            (None, solved) => {
                assert!(calls > 10 && solved.as_ref().unwrap() == &expected);
                return;
            }
            (Some(_), Err(Error::Device { message, .. })) if message == FAILED => {}
            // The last events, which order later work, cannot report errors. The host then waits.
            (Some("wait_for"), Ok(x)) if x == &expected => {}
            (Some(call), _) => panic!("call {calls}, {call}: {solved:?}"),
        }
        assert!(solve(&device).unwrap() == expected, "after call {calls}");
    }
}

#[test]
fn a_failed_call_is_returned_and_releases_everything() {
    let one = Plan::new(Shape::Tridiagonal { n: 1500, periodic: false });
    every_call_may_fail(|device| solve(device, &one, false));
    every_call_may_fail(|device| solve(device, &one.clone().pivoting(Pivoting::None), false));
    every_call_may_fail(|device| solve(device, &one, true));
    every_call_may_fail(|device| solve(device, &one.clone().method(Method::ParallelDiagonalPivoting), false));
    every_call_may_fail(|device| solve(device, &one.clone().method(Method::SpikeCr), false));
    for layout in [Layout::Contiguous, Layout::Interleaved] {
        let batch = Plan::new(Shape::Batch { n: 20, count: 70, layout, periodic: false });
        every_call_may_fail(|device| solve(device, &batch, false));
    }
    every_call_may_fail(solve_poisson);
}

/// A launch outside of the limits is an error, as on a GPU.
#[test]
fn launches_outside_of_the_limits_fail() {
    let emulator = Emulator::new(Emulation::default());
    let most = emulator.limits().shared_per_block;
    let within = Launch { kernel: "none", blocks: 1, threads: 1, shared: 0, cooperative: false, stream: 0 };
    for (launch, message) in [
        (Launch { blocks: 1 << 31, ..within }, "2147483648 blocks, expected at most 2147483647"),
        (Launch { threads: 1025, ..within }, "1025 threads per block, expected at most 1024"),
        (Launch { shared: most + 1, ..within }, "97281 bytes of shared memory per block, expected at most 97280"),
        // 1 KB of each block is reserved: without it, there would be room for two.
        (
            Launch { blocks: 2, shared: 48 << 10, cooperative: true, ..within },
            "2 blocks that wait for each other, expected at most 1",
        ),
    ] {
        // SAFETY: the kernel does not run.
        let error = unsafe { emulator.launch(&launch, Vec::new()) }.unwrap_err();
        assert!(matches!(&error, Error::Device { message: said, .. } if said.ends_with(message)), "{error}");
    }
}
