//! Preconditioners on a device, compared with those of the CPU.

use crate::{is_emulated, test_device};
use bandsolve::dyn_stack::{PodBuffer, PodStack};
use bandsolve::{Complex32, Complex64, Error, LinearOperator, Op, RealScalar, Scalar};
use bandsolve_gallery::{Random, random_vec};
use bandsolve_gpu::{DeviceCsr, DeviceOperator, DevicePreconditioner, DeviceScalar, Emulation, solve_krylov};
use bandsolve_sparse::{
    Csr, IterationReport, KrylovMethod, KrylovSolver, LineMultigrid, MODEL_PROBLEMS, MultigridOptions, Preconditioner,
    PreconditionerKind, PreconditionerOptions, nine_point,
};

const KINDS: [&str; 19] = [
    "none",
    "jacobi",
    "diagp1",
    "diagp2",
    "l1",
    "tridiagonal",
    "forest",
    "forest-block",
    "alt-i:1",
    "alt-i:3",
    "alt-o",
    "mos-a",
    "alt-o:2",
    "mos-d:2",
    "mos-d:3",
    "mos-a:2",
    "mos-a:2:scaled",
    "ilu-isai:0",
    "ilu-isai:2",
];

fn kind(name: &str) -> PreconditionerKind {
    name.parse().unwrap()
}

/// The matrix in another number type, with values that differ from row to row.
fn converted<T: Scalar>(a: &Csr<'_, f64, u32>, random: &mut Random) -> Csr<'static, T, u32> {
    let mut entries = Vec::new();
    for i in 0..a.rows() {
        for (j, value) in a.row(i) {
            let change = random_vec::<T>(1, random)[0].scale(T::Real::from_f64(0.05));
            entries.push((i, j, T::from_real(T::Real::from_f64(value)) + change));
        }
    }
    Csr::from_triplets(a.rows(), a.columns(), &entries).unwrap()
}

fn largest<T: Scalar>(x: impl Iterator<Item = T>) -> f64 {
    x.map(|x| Scalar::abs(x).to_f64()).fold(0.0, f64::max)
}

/// One application on the device, compared with the CPU. The factors are diagonally dominant, so that eliminations in any order agree.
fn compare<T: DeviceScalar>(a: &Csr<'_, T, u32>, names: &[&str], random: &mut Random) {
    let (device, options) = (test_device(Emulation::default()), PreconditionerOptions::default());
    let on_device = DeviceCsr::new(&device, a).unwrap();
    let x = random_vec::<T>(a.rows(), random);
    for name in names {
        let of_cpu = Preconditioner::new(a, kind(name), &options).unwrap();
        let m = DevicePreconditioner::new(&on_device, kind(name), &options).unwrap();
        assert_eq!((m.kind(), m.changes()), (of_cpu.kind(), of_cpu.changes()), "{name}");
        for step in 0..if m.changes() { 3 } else { 1 } {
            let (given, mut z) = (device.upload(&x).unwrap(), device.zeros::<T>(x.len()).unwrap());
            m.apply_step(step, given.slice(..), z.slice_mut(..)).unwrap();
            let (z, mut expected) = (z.download().unwrap(), vec![T::ZERO; x.len()]);
            let mut memory = PodBuffer::new(of_cpu.apply_scratch());
            of_cpu.apply_step(step, &x, &mut expected, PodStack::new(&mut memory)).unwrap();
            let error = largest(z.iter().zip(&expected).map(|(z, y)| *z - *y));
            let limit = 200.0 * T::Real::EPSILON.to_f64() * largest(expected.iter().copied());
            assert!(error <= limit, "{} {} {name} step {step}: {error:e} > {limit:e}", T::NAME, a.rows());
        }
    }
}

/// Every kind gives z = M⁻¹·r of the CPU, except for rounding errors.
fn same_as_on_the_cpu<T: DeviceScalar>() {
    let mut random = Random::new(3);
    let stencil = [[-0.1, -0.4, -0.2], [-1.0, 3.7, -1.1], [-0.2, -0.3, -0.1]];
    for size in [(1, 1), (2, 1), (7, 5), (60, 40)] {
        let a = converted::<T>(&nine_point(stencil, size), &mut random);
        let grid = format!("adi:{}x{}", size.0, size.1);
        let names: Vec<_> = KINDS.into_iter().chain([grid.as_str()]).collect();
        compare(&a, &names, &mut random);
    }
}

#[test]
fn same_as_on_the_cpu_in_f32() {
    same_as_on_the_cpu::<f32>();
}

#[test]
fn same_as_on_the_cpu_in_f64() {
    same_as_on_the_cpu::<f64>();
}

#[test]
fn same_as_on_the_cpu_in_c32() {
    same_as_on_the_cpu::<Complex32>();
}

#[test]
fn same_as_on_the_cpu_in_c64() {
    same_as_on_the_cpu::<Complex64>();
}

/// The number of iterations on the device and on the CPU.
fn iterations(a: &Csr<'_, f64, u32>, name: &str, method: KrylovMethod) -> [usize; 2] {
    let (device, options) = (test_device(Emulation::default()), PreconditionerOptions::default());
    let on_device = DeviceCsr::new(&device, a).unwrap();
    let m = DevicePreconditioner::new(&on_device, kind(name), &options).unwrap();
    let of_cpu = Preconditioner::new(a, kind(name), &options).unwrap();
    let solver = KrylovSolver::new(method).rtol(1e-6);
    // A·x for x = sin(2π·8·i/n), as in the tests of the CPU
    let n = a.rows();
    let wave: Vec<f64> = (0..n).map(|i| (std::f64::consts::TAU * 8.0 * i as f64 / n as f64).sin()).collect();
    let mut rhs = vec![0.0; n];
    a.product(Op::Plain, 1.0, &wave, 0.0, &mut rhs).unwrap();
    let (given, mut x, mut y) = (device.upload(&rhs).unwrap(), device.zeros(rhs.len()).unwrap(), vec![0.0; rhs.len()]);
    let report = solve_krylov(&solver, &on_device, Some(&m), &given, &mut x).unwrap();
    let expected = solver.solve(a, Some(&of_cpu), &rhs, &mut y).unwrap();
    assert!(report.converged() && expected.converged(), "{name}");
    [report, expected].map(|report: IterationReport| report.iterations)
}

#[test]
fn iterations_of_the_cpu() {
    let anisotropic = MODEL_PROBLEMS.iter().filter(|problem| problem.name.starts_with("aniso"));
    for problem in anisotropic {
        let a = (problem.make)(20);
        for name in ["alt-i:2", "alt-o:2", "mos-d:2", "mos-a:2", "ilu-isai:1"] {
            let [of_device, of_cpu] = iterations(&a, name, KrylovMethod::Gmres { restart: 20 });
            assert_eq!(of_device, of_cpu, "{} {name}", problem.name);
        }
    }
}

/// Model problems of the literature, on a card also with 500 points on each side, which would take hours on an emulated device. The variable
/// `BANDSOLVE_TEST_SIDES` names other sizes, such as `200,500`.
#[test]
fn iterations_of_the_golden_problems() {
    let sides =
        std::env::var("BANDSOLVE_TEST_SIDES").unwrap_or_else(|_| if is_emulated() { "20" } else { "20,500" }.into());
    for side in sides.split(',').map(|side| side.parse().unwrap()) {
        for problem in MODEL_PROBLEMS.iter().filter(|problem| ["aniso1", "aniso2", "model8"].contains(&problem.name)) {
            let a = (problem.make)(side);
            for name in ["alt-i:2", "mos-d:2", "mos-a:2"] {
                let [of_device, of_cpu] = iterations(&a, name, KrylovMethod::Gmres { restart: 20 });
                println!("{} {side} x {side} {name}: {of_device} iterations, {of_cpu} on the CPU", problem.name);
                assert_eq!(of_device, of_cpu, "{} {side} {name}", problem.name);
            }
        }
    }
}

/// Three levels of multigrid, in the precision of the matrix on both sides.
#[test]
fn multigrid() {
    let mut random = Random::new(4);
    let stencil = [[-0.1, -0.4, -0.2], [-1.0, 3.7, -1.1], [-0.2, -0.3, -0.1]];
    let sizes = |size, random: &mut Random| {
        let a = converted::<f32>(&nine_point(stencil, size), random);
        compare(&a, &["amg-lines:1", "amg-lines:2"], random);
        LineMultigrid::new(a, &MultigridOptions::default()).unwrap().sizes().len()
    };
    assert_eq!([(5, 5), (30, 20), (130, 100)].map(|size| sizes(size, &mut random)), [1, 2, 3]);
}

/// The CPU's cycle has half the precision of the matrix, that of the device its full precision.
#[test]
fn iterations_with_multigrid() {
    for problem in MODEL_PROBLEMS.iter().filter(|problem| problem.name.starts_with("aniso")) {
        let [of_device, of_cpu] = iterations(&(problem.make)(30), "amg-lines:1", KrylovMethod::Cg);
        assert!(of_device.abs_diff(of_cpu) <= 1, "{}: {of_device} {of_cpu}", problem.name);
    }
}

#[test]
fn wrong_arguments_are_errors() {
    let (device, options) = (test_device(Emulation::default()), PreconditionerOptions::default());
    let stencil = [[0.0, -1.0, 0.0], [-1.0, 4.0, -1.0], [0.0, -1.0, 0.0]];
    let a = nine_point(stencil, (3, 4));
    let on_device = DeviceCsr::new(&device, &a).unwrap();
    let of = |name: &str| DevicePreconditioner::new(&on_device, kind(name), &options);
    assert!(matches!(of("adi:5x5"), Err(Error::Shape { what: "unknowns of the grid", .. })));
    let error = of("ilu0").unwrap_err();
    assert!(matches!(&error, Error::InvalidArgument { .. }) && error.to_string().contains("ilu-isai"), "{error}");
    let singular = Csr::<f64, u32>::from_triplets(12, 12, &[(0, 0, 1.0), (0, 1, 1.0)]).unwrap();
    let singular = DeviceCsr::new(&device, &singular).unwrap();
    for name in ["jacobi", "alt-i:2", "mos-d:2", "ilu-isai:0"] {
        let error = DevicePreconditioner::new(&singular, kind(name), &options).unwrap_err();
        assert!(matches!(error, Error::Singular { row: 1 }), "{name}: {error}");
    }
    let wide = DeviceCsr::new(&device, &Csr::<f64, u32>::from_triplets(2, 3, &[(0, 0, 1.0)]).unwrap()).unwrap();
    let error = DevicePreconditioner::new(&wide, kind("none"), &options).unwrap_err();
    assert!(matches!(error, Error::Shape { expected: 2, got: 3, .. }), "{error}");
    let m = of("mos-d:2").unwrap();
    let (x, mut short) = (device.upload(&[1.0; 12]).unwrap(), device.zeros(11).unwrap());
    assert!(matches!(m.apply(x.slice(..), short.slice_mut(..)), Err(Error::Shape { what: "y", .. })));
    let elsewhere = test_device(Emulation::default()).zeros::<f64>(12).unwrap();
    let mut z = device.zeros(12).unwrap();
    let result = m.apply(elsewhere.slice(..), z.slice_mut(..));
    assert!(elsewhere.slice(..).device().same_as(&device) || matches!(result, Err(Error::InvalidArgument { .. })));
}

/// A forest whose system needs row exchanges across partitions: the host solves where the device meets a zero pivot.
#[test]
fn zero_pivots() {
    let device = test_device(Emulation::default());
    let n = 300;
    // aᵢᵢ = 0 and couplings of 1 to both neighbors: regular for an even n.
    let entries: Vec<_> = (1..n).flat_map(|i| [(i - 1, i, 1.0), (i, i - 1, 1.0)]).collect();
    let a = Csr::<f64>::from_triplets(n, n, &entries).unwrap();
    let on_device = DeviceCsr::new(&device, &a).unwrap();
    let m = DevicePreconditioner::new(&on_device, PreconditionerKind::Tridiagonal, &Default::default()).unwrap();
    let x = random_vec::<f64>(n, &mut Random::new(1));
    let (given, mut z, mut product) = (device.upload(&x).unwrap(), device.zeros(n).unwrap(), vec![0.0; n]);
    m.apply(given.slice(..), z.slice_mut(..)).unwrap();
    a.product(Op::Plain, 1.0, &z.download().unwrap(), 0.0, &mut product).unwrap();
    let error = largest(x.iter().zip(&product).map(|(x, y)| x - y));
    assert!(error <= 1e-12, "{error:e}");
}
