//! Tests that each call of a device can fail: a solve or a search returns the error and releases all memory, and the device works afterwards.

use super::watched::{FAILED, Watched};
use crate::csr::DeviceCsr;
use crate::device::{Backend, Device, Launch};
use crate::eigen::DeviceEigenProblem;
use crate::emulated::{Emulation, Emulator};
use crate::forest::DeviceForest;
use crate::graph::DeviceGraph;
use crate::krylov::solve_krylov;
use crate::matrix::DeviceMatrix;
use crate::poisson::DevicePoisson;
use crate::precond::DevicePreconditioner;
use crate::solver::DeviceSolver;
use bandsolve::{Error, Layout, Method, Pivoting, Plan, Result, Shape};
use bandsolve_eigen::EigenSolver;
use bandsolve_poisson::{Boundary, Poisson};
use bandsolve_sparse::{Csr, GraphFactorOptions, KrylovMethod, KrylovSolver, PreconditionerKind, nine_point};
use core::fmt::Debug;

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

/// Find the forest of a ring and of other vertices, and extract its matrix on another stream. Returns the order and the diagonals.
fn forest(device: &Device) -> Result<(Vec<u32>, [Vec<f64>; 3])> {
    let n = 40;
    let ring = (0..30).flat_map(|k| [(k, (k + 1) % 30, -1.0), ((k + 1) % 30, k, -1.0), (k, k, 4.0)]);
    let entries: Vec<_> = ring.collect();
    let a = DeviceCsr::new(device, &Csr::<f64, u32>::from_triplets(n, n, &entries)?)?;
    let mut options = GraphFactorOptions::default();
    options.rounds = 100;
    let forest = DeviceForest::of(&DeviceGraph::of(&a)?, &options)?;
    let other = device.stream()?;
    let [mut sub, mut diag, mut sup] = [other.zeros(n)?, other.zeros(n)?, other.zeros(n)?];
    forest.tridiagonal(&a, &mut sub, &mut diag, &mut sup)?;
    Ok((forest.order().download()?, [sub.download()?, diag.download()?, sup.download()?]))
}

/// Solve a Poisson problem with tridiagonal systems along one axis. Returns u.
fn solve_poisson(device: &Device) -> Result<Vec<f64>> {
    let other = device.stream()?;
    let problem = Poisson::new(&[6, 5]).axis_boundary(0, Boundary::neumann(1.0), Boundary::robin(1.0, 2.0, 0.5));
    let (f, mut u) = (other.upload(&[1.0; 30])?, device.zeros(30)?);
    DevicePoisson::new(device, &problem)?.solve(&f, &mut u)?;
    u.download()
}

/// Solve by GMRES with the tridiagonal systems of two forests, on a matrix of another stream. Returns x.
fn solve_preconditioned(device: &Device) -> Result<Vec<f64>> {
    let a = nine_point([[0.0, -1.0, 0.0], [-1.0, 4.0, -1.0], [0.0, -1.0, 0.0]], (6, 5));
    let on_device = DeviceCsr::new(&device.stream()?, &a)?;
    let m = DevicePreconditioner::new(&on_device, PreconditionerKind::AltInner(2), &Default::default())?;
    let (rhs, mut x) = (device.upload(&[1.0; 30])?, device.zeros(30)?);
    let solver = KrylovSolver::new(KrylovMethod::Gmres { restart: 5 }).max_iterations(3);
    _ = solve_krylov(&solver, &on_device, Some(&m), &rhs, &mut x)?;
    x.download()
}

/// Find an eigenvalue of A·x = λ·B·x. Returns x.
fn search(device: &Device) -> Result<Vec<f64>> {
    let diagonal = |first: f64| (0..5).map(|i| (i, i, first + i as f64)).collect::<Vec<_>>();
    let beside = (0..4).flat_map(|i| [(i, i + 1, 1.0), (i + 1, i, 1.0)]);
    let entries: Vec<_> = diagonal(4.0).into_iter().chain(beside).collect();
    let inverse: Vec<_> = diagonal(2.0).into_iter().map(|(i, j, b)| (i, j, 1.0 / b)).collect();
    let of = |entries: &[(usize, usize, f64)]| DeviceCsr::new(device, &Csr::<f64>::from_triplets(5, 5, entries)?);
    let (a, b, inverse) = (of(&entries)?, of(&diagonal(2.0))?, of(&inverse)?);
    let problem = DeviceEigenProblem::new(device, &a).mass(&b).mass_inverse(&inverse);
    Ok(problem.hermitian(&EigenSolver::new(1).start(&[1.0; 5]))?.vectors)
}

/// Factor the dense blocks of a ring, and solve for arrays of another stream. Returns x.
fn solve_blocks(device: &Device) -> Result<Vec<f64>> {
    let block_rows = 4;
    let shape = Shape::BlockTridiagonal { block_rows, block: 5, periodic: true };
    let other = device.stream()?;
    let blocks = |by: f64| (0..block_rows * 25).map(|k| ((k * k) as f64 * by).sin()).collect::<Vec<_>>();
    let (sub, diag, sup) = (device.upload(&blocks(0.7))?, other.upload(&blocks(1.3))?, other.upload(&blocks(1.9))?);
    let (rhs, mut x) = (other.upload(&[1.0; 40])?, device.zeros(40)?);
    let solver = DeviceSolver::<f64>::new(device, &Plan::new(shape), 2)?;
    let mut factors = solver.factor(DeviceMatrix::block_tridiagonal(&sub, &diag, &sup))?;
    factors.solve(&rhs, &mut x)?;
    x.download()
}

fn every_call_may_fail<X: PartialEq + Debug>(work: impl Fn(&Device) -> Result<X>) {
    let machine = Watched::new(Emulator::new(Emulation::default()));
    let device = machine.device();
    let expected = work(&device).unwrap();
    for calls in 0.. {
        machine.fail_after(calls);
        let solved = work(&device);
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
        assert!(work(&device).unwrap() == expected, "after call {calls}");
    }
}

fn every_solve_may_fail(plan: &Plan, factor: bool) {
    every_call_may_fail(|device| solve(device, plan, factor));
}

#[test]
fn a_failed_call_is_returned_and_releases_everything() {
    let one = Plan::new(Shape::Tridiagonal { n: 1500, periodic: false });
    every_solve_may_fail(&one, false);
    every_solve_may_fail(&one.clone().pivoting(Pivoting::None), false);
    every_solve_may_fail(&one, true);
    every_solve_may_fail(&one.clone().method(Method::ParallelDiagonalPivoting), false);
    every_solve_may_fail(&one.method(Method::SpikeCr), false);
    for layout in [Layout::Contiguous, Layout::Interleaved] {
        every_solve_may_fail(&Plan::new(Shape::Batch { n: 20, count: 70, layout, periodic: false }), false);
    }
    every_call_may_fail(solve_poisson);
    every_call_may_fail(solve_blocks);
}

#[test]
fn a_failed_call_of_a_forest_is_returned() {
    every_call_may_fail(forest);
}

#[test]
fn a_failed_call_of_an_iteration_is_returned() {
    every_call_may_fail(solve_preconditioned);
}

#[test]
fn a_failed_call_ends_a_search() {
    every_call_may_fail(search);
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
