//! Approximate inverses in single precision on a device, compared with those of the CPU.

use crate::test_device;
use bandsolve::{Complex64, Error, RealScalar, Scalar};
use bandsolve_gallery::{Random, random_vec};
use bandsolve_gpu::{
    DeviceCsr, DeviceOperator, DevicePreconditioner, DeviceScalar, DeviceSingleInverse, DeviceSingleMatrix, Emulation,
    solve_krylov,
};
use bandsolve_sparse::{
    Csr, DoubleScalar, KrylovMethod, KrylovSolver, MODEL_PROBLEMS, PreconditionerOptions, ScaledSingle, SingleInverse,
    nine_point,
};

const OUTER: [KrylovMethod; 2] = [KrylovMethod::Gmres { restart: 20 }, KrylovMethod::Richardson { damping: 1.0 }];

/// The matrix in another number type, with rows scaled by powers of ten up to 10^range.
fn scaled<T: Scalar>(a: &Csr<'_, f64, u32>, range: f64) -> Csr<'static, T, u32> {
    let mut random = Random::new(4);
    let scales: Vec<f64> = (0..a.rows()).map(|_| 10_f64.powf(random.uniform(-range, range))).collect();
    let real = |x: f64| T::from_real(T::Real::from_f64(x));
    let entries = (0..a.rows()).flat_map(|i| a.row(i).map(move |(j, v)| (i, j, v)));
    let entries: Vec<_> = entries.map(|(i, j, v)| (i, j, real(v * scales[i]))).collect();
    Csr::from_triplets(a.rows(), a.columns(), &entries).unwrap()
}

/// Outer and inner iterations on the device and on the CPU.
fn iterations<T>(a: &Csr<'_, T, u32>, outer: KrylovMethod, inner: Option<KrylovSolver<'static>>) -> [[usize; 2]; 2]
where
    T: DeviceScalar + DoubleScalar<Single: DeviceScalar>,
{
    let (device, kind, options) =
        (test_device(Emulation::default()), "alt-i:2".parse().unwrap(), PreconditionerOptions::default());
    let (on_device, single) = (DeviceCsr::new(&device, a).unwrap(), DeviceSingleMatrix::new(&device, a).unwrap());
    let m = DevicePreconditioner::new(single.matrix(), kind, &options).unwrap();
    let (mut inverse, mut of_cpu) =
        (DeviceSingleInverse::new(&single, Some(Box::new(m))).unwrap(), SingleInverse::new(a, kind, &options).unwrap());
    if let Some(inner) = inner {
        (inverse, of_cpu) = (inverse.with_solver(inner), of_cpu.with_solver(inner));
    }
    let solver = KrylovSolver::new(outer).rtol(1e-10);
    let solution = random_vec::<T>(a.rows(), &mut Random::new(1));
    let mut rhs = vec![T::ZERO; a.rows()];
    a.product(bandsolve::Op::Plain, T::ONE, &solution, T::ZERO, &mut rhs).unwrap();
    let (given, mut x, mut y) =
        (device.upload(&rhs).unwrap(), device.zeros(rhs.len()).unwrap(), vec![T::ZERO; rhs.len()]);
    let report = solve_krylov(&solver, &on_device, Some(&inverse), &given, &mut x).unwrap();
    let expected = solver.solve(a, Some(&of_cpu), &rhs, &mut y).unwrap();
    assert!(report.converged() && expected.converged());
    [[report.iterations, inverse.iterations()], [expected.iterations, of_cpu.iterations()]]
}

fn like_the_cpu<T: DeviceScalar + DoubleScalar<Single: DeviceScalar>>() {
    let stencil = [[0.0, -1.0, 0.0], [-1.2, 4.3, -0.9], [0.0, -1.0, 0.0]];
    let a = nine_point(stencil, (25, 20));
    for range in [0.0, 3.0, 250.0] {
        let a = scaled::<T>(&a, range);
        // The norm of the residual is that of the rows with the largest scale.
        for outer in if range > 100.0 { &OUTER[..1] } else { &OUTER } {
            for inner in [None, Some(KrylovSolver::new(KrylovMethod::Bicgstab).rtol(1e-4))] {
                // Rounding can bring an inner residual just below or above its tolerance: one inner iteration more or less in each application, and
                // perhaps an outer one.
                let near = usize::from(inner.is_some());
                let [of_device, of_cpu] = iterations(&a, *outer, inner);
                let what = format!("{} {range} {outer:?}: {of_device:?} {of_cpu:?}", T::NAME);
                assert!(of_device[0].abs_diff(of_cpu[0]) <= near, "{what}");
                let per_outer = |[outer, inner]: [usize; 2]| inner as f64 / outer as f64;
                assert!((per_outer(of_device) - per_outer(of_cpu)).abs() <= 1.0, "{what}");
            }
        }
    }
}

#[test]
fn iterations_of_the_cpu_in_f64() {
    like_the_cpu::<f64>();
}

#[test]
fn iterations_of_the_cpu_in_c64() {
    like_the_cpu::<Complex64>();
}

#[test]
fn iterations_of_model_problems() {
    for problem in MODEL_PROBLEMS.iter().filter(|problem| problem.name.starts_with("aniso")) {
        let [of_device, of_cpu] = iterations(&(problem.make)(20), OUTER[0], None);
        assert_eq!(of_device, of_cpu, "{}", problem.name);
    }
}

/// Numbers at the ends of the range, and a vector of zeros. Without a preconditioner, only the rows are scaled, and each element is rounded once.
#[test]
fn vectors_of_any_size() {
    let (device, n) = (test_device(Emulation::default()), 2100);
    for of_matrix in [1.0, 1e300, 1e-300] {
        let diagonal: Vec<_> = (0..n).map(|i| (i, i, of_matrix)).collect();
        let a = Csr::<f64>::from_triplets(n, n, &diagonal).unwrap();
        let (single, scale) = (DeviceSingleMatrix::new(&device, &a).unwrap(), ScaledSingle::new(&a).unwrap().scale(0));
        let inverse = DeviceSingleInverse::new(&single, None).unwrap();
        for of_vector in [0.0, 1.0, 1e300, 1e-300, 5e-324] {
            let x: Vec<f64> = (0..n).map(|i| of_vector * f64::from(1 + i as u32 % 7)).collect();
            let (given, mut z) = (device.upload(&x).unwrap(), device.zeros(n).unwrap());
            inverse.apply(given.slice(..), z.slice_mut(..)).unwrap();
            for (x, z) in x.iter().zip(z.download().unwrap()) {
                let expected = x * scale;
                let error = if z == expected { 0.0 } else { (z - expected).abs() };
                assert!(error <= f64::from(f32::EPSILON) * expected.abs(), "{of_matrix} {of_vector}: {z} {expected}");
            }
        }
    }
}

#[test]
fn wrong_arguments_are_errors() {
    let device = test_device(Emulation::default());
    let of = |n: usize| Csr::<f64>::from_triplets(n, n, &[(0, 0, 1.0)]).unwrap();
    let single = DeviceSingleMatrix::new(&device, &of(3)).unwrap();
    let other = DeviceSingleMatrix::new(&device, &of(4)).unwrap();
    let error = DeviceSingleInverse::new(&single, Some(Box::new(other.matrix().clone()))).unwrap_err();
    assert!(matches!(error, Error::Shape { what: "rows of the preconditioner", .. }), "{error}");
    let inverse = DeviceSingleInverse::new(&single, None).unwrap();
    let (x, mut y) = (device.zeros(3).unwrap(), device.zeros(2).unwrap());
    assert!(matches!(inverse.apply(x.slice(..), y.slice_mut(..)), Err(Error::Shape { what: "y", .. })));
}
