//! Krylov methods with vectors on a device, compared with those of the CPU.

use crate::test_device;
use bandsolve::dyn_stack::{PodBuffer, PodStack, StackReq};
use bandsolve::{Complex32, Complex64, Error, LinearOperator, Op, RealScalar, Result, Scalar};
use bandsolve_gallery::{Random, random_vec};
use bandsolve_gpu::{DeviceCsr, DeviceOperator, DeviceScalar, DeviceSlice, DeviceSliceMut, Emulation, solve_krylov};
use bandsolve_sparse::{Csr, IterationReport, KrylovMethod, KrylovSolver, PreconditionerSide};

const METHODS: [KrylovMethod; 6] = [
    KrylovMethod::Gmres { restart: 20 },
    KrylovMethod::Gmres { restart: 3 },
    KrylovMethod::Bicgstab,
    KrylovMethod::Cg,
    KrylovMethod::Idr { space: 4 },
    KrylovMethod::Richardson { damping: 0.4 },
];

/// A random Hermitian matrix with a dominant diagonal, and the inverse of its diagonal.
fn matrices<T: Scalar>(n: usize, random: &mut Random) -> [Csr<'static, T, i32>; 2] {
    let real = |v: f64| T::from_real(T::Real::from_f64(v));
    let (mut entries, mut inverse) = (Vec::new(), Vec::new());
    for i in 0..n {
        let diagonal = 2.5 + i as f64 / n as f64;
        entries.push((i, i, real(diagonal)));
        inverse.push((i, i, real(1.0 / diagonal)));
        for _ in 0..2 {
            let j = random.below(n);
            let value = random_vec::<T>(1, random)[0].scale(T::Real::from_f64(0.4));
            if i != j {
                entries.extend([(i, j, value), (j, i, value.conj())]);
            }
        }
    }
    [entries, inverse].map(|entries| Csr::from_triplets(n, n, &entries).unwrap())
}

/// A matrix that only multiplies, as a device does.
struct Products<'a, T: Scalar>(&'a Csr<'a, T, i32>);

impl<T: Scalar> LinearOperator<T> for Products<'_, T> {
    fn rows(&self) -> usize {
        self.0.rows()
    }

    fn columns(&self) -> usize {
        self.0.columns()
    }

    fn apply_scratch(&self) -> StackReq {
        LinearOperator::apply_scratch(self.0)
    }

    fn apply(&self, x: &[T], y: &mut [T], stack: &mut PodStack) -> Result<()> {
        LinearOperator::apply(self.0, x, y, stack)
    }
}

/// A matrix on a device that gives products alone, like [`Products`].
struct DeviceProducts<'a, T>(&'a DeviceCsr<T>);

impl<T: DeviceScalar> DeviceOperator<T> for DeviceProducts<'_, T> {
    fn rows(&self) -> usize {
        self.0.rows()
    }

    fn apply(&self, x: DeviceSlice<'_, T>, y: DeviceSliceMut<'_, T>) -> Result<()> {
        self.0.multiply(x, y)
    }
}

fn same_as_on_the_cpu<T: DeviceScalar>() {
    let device = test_device(Emulation::default());
    let mut random = Random::new(5);
    for n in [1, 2, 40, 3000] {
        let [a, m] = matrices::<T>(n, &mut random);
        let [on_device, m_on_device] = [&a, &m].map(|a| DeviceCsr::new(&device, a).unwrap());
        let rhs = random_vec::<T>(n, &mut random);
        for (method, side, preconditioned, scale) in METHODS.into_iter().flat_map(|method| {
            let right = PreconditionerSide::Right;
            // The scale is beyond what the method can square in single precision.
            let cases = [(right, false, 1.0), (right, true, 1e30), (PreconditionerSide::Left, true, 1.0)];
            cases.map(|(side, preconditioned, scale)| (method, side, preconditioned, scale))
        }) {
            let rhs: Vec<T> = rhs.iter().map(|v| v.scale(T::Real::from_f64(scale))).collect();
            let start: Vec<T> = rhs.iter().map(|v| v.scale(T::Real::from_f64(0.1))).collect();
            let rtol = 100.0 * T::Real::EPSILON.to_f64();
            let solver = KrylovSolver::new(method).rtol(rtol).max_iterations(60).side(side);
            let mut x = start.clone();
            let (products, inverse) = (Products(&a), Products(&m));
            let of_cpu = preconditioned.then_some(&inverse as &dyn LinearOperator<T>);
            let expected = solver.solve(&products, of_cpu, &rhs, &mut x).unwrap();
            let of_device = preconditioned.then_some(&m_on_device as &dyn DeviceOperator<T>);
            let (rhs, mut y) = (device.upload(&rhs).unwrap(), device.upload(&start).unwrap());
            let report = solve_krylov(&solver, &DeviceProducts(&on_device), of_device, &rhs, &mut y).unwrap();
            let y = y.download().unwrap();
            let what = format!("{} {n} {method:?} {side:?} {preconditioned} {scale}", T::NAME);
            let of = |report: &IterationReport| (report.ending, report.iterations, report.restarts);
            assert_eq!(of(&report), of(&expected), "{what}");
            if T::NAME == "f64" {
                // Inner products are summed in another order.
                let size = x.iter().map(|x| Scalar::abs(*x).to_f64()).fold(0.0, f64::max);
                let error = x.iter().zip(&y).map(|(x, y)| Scalar::abs(*x - *y).to_f64()).fold(0.0, f64::max);
                assert!(error <= 1e-10 * size, "{what}: {error:e}");
            } else {
                assert!(x == y && report.history == expected.history, "{what}");
            }
        }
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

#[test]
fn wrong_arguments_are_errors() {
    let device = test_device(Emulation::default());
    let a = Csr::<f64>::from_triplets(2, 2, &[(0, 0, 4.0), (1, 1, 2.0)]).unwrap();
    let a = DeviceCsr::new(&device, &a).unwrap();
    let solver = KrylovSolver::new(KrylovMethod::Cg);
    let solve = |rhs: &[f64], x: &[f64]| {
        let (rhs, mut x) = (device.upload(rhs).unwrap(), device.upload(x).unwrap());
        solve_krylov(&solver, &a, None, &rhs, &mut x)
    };
    assert!(solve(&[1.0, 2.0], &[0.0, 0.0]).unwrap().converged());
    assert!(matches!(solve(&[1.0], &[0.0, 0.0]), Err(Error::Shape { what: "rhs", .. })));
    assert!(matches!(solve(&[1.0, 2.0], &[0.0]), Err(Error::Shape { what: "x", .. })));
    assert!(matches!(solve(&[1.0, f64::NAN], &[0.0, 0.0]), Err(Error::NotFinite { array: "rhs", index: 1 })));
    assert!(matches!(solve(&[1.0, 2.0], &[f64::INFINITY, 0.0]), Err(Error::NotFinite { array: "x", index: 0 })));
}

/// The residual of a matrix on a device is within its bound of the exact one, and has far more digits than one in the working precision.
fn accurate_residuals<T: DeviceScalar>() {
    let (device, mut random) = (test_device(Emulation::default()), Random::new(6));
    for n in [1, 2, 40, 3000] {
        let [a, _] = matrices::<T>(n, &mut random);
        let x = random_vec::<T>(n, &mut random);
        // The right-hand side cancels nearly all of A·x.
        let mut rhs = vec![T::ZERO; n];
        a.product(Op::Plain, T::ONE, &x, T::ZERO, &mut rhs).unwrap();
        let (mut expected, mut memory) = (vec![T::ZERO; n], PodBuffer::new(LinearOperator::apply_scratch(&a)));
        let stack = PodStack::new(&mut memory);
        let of_cpu = LinearOperator::accurate_residual(&a, &x, &rhs, &mut expected, stack).unwrap().unwrap();
        let on_device = DeviceCsr::new(&device, &a).unwrap();
        let (x, rhs, mut r) = (device.upload(&x).unwrap(), device.upload(&rhs).unwrap(), device.zeros(n).unwrap());
        let bound = on_device.accurate_residual(x.slice(..), rhs.slice(..), r.slice_mut(..)).unwrap().unwrap();
        let epsilon = T::Real::EPSILON.to_f64();
        for (r, expected) in r.download().unwrap().iter().zip(&expected) {
            let error = Scalar::abs(*r - *expected).to_f64();
            assert!(
                error <= bound + of_cpu + 2.0 * epsilon * Scalar::abs(*expected).to_f64(),
                "{} {n}: {error:e} {bound:e}",
                T::NAME
            );
        }
        assert!(bound <= epsilon / 8.0, "{} {n}: {bound:e}", T::NAME);
    }
}

#[test]
fn residuals_have_twice_the_precision() {
    accurate_residuals::<f32>();
    accurate_residuals::<f64>();
    accurate_residuals::<Complex32>();
    accurate_residuals::<Complex64>();
}
