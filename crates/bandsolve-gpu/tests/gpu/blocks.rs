//! BCYCLIC and block SPIKE with dense blocks on devices: x has the bits of the CPU on emulated devices, and fulfils the contract on all.

use crate::{is_emulated, test_device};
use bandsolve::dyn_stack::{PodBuffer, PodStack};
use bandsolve::{
    BlockTridiagonal, Complex32, Complex64, Error, Factor, Method, Op, Plan, RealScalar, Report, Result, Scalar, Shape,
};
use bandsolve_gallery::{Random, random_vec};
use bandsolve_gpu::{
    Device, DeviceMatrix, DeviceScalar, DeviceSolver, DeviceStatus, DeviceVec, Emulation, HostMatrix, Order,
};

const METHODS: [Method; 2] = [Method::Bcyclic, Method::BlockSpike];
const OPS: [Op; 3] = [Op::Plain, Op::Transpose, Op::ConjTranspose];

fn device() -> Device {
    test_device(Emulation { order: Order::Random, resident: 2, ..Emulation::default() })
}

/// A matrix with entries from U(−1, 1) and `shift` added on the diagonal.
fn matrix<T: Scalar>((rows, block): (usize, usize), periodic: bool, shift: f64) -> BlockTridiagonal<'static, T> {
    let mut random = Random::new((rows * 1000 + block) as u64);
    let mut draw = || random_vec::<T>(rows * block * block, &mut random);
    let (sub, mut diag, sup) = (draw(), draw(), draw());
    for d in diag.chunks_exact_mut(block * block) {
        d.iter_mut().step_by(block + 1).for_each(|v| *v += T::from_real(T::Real::from_f64(shift)));
    }
    BlockTridiagonal::from_vecs(block, [sub, diag, sup], periodic).unwrap()
}

fn rhs<T: Scalar>(n: usize) -> Vec<T> {
    random_vec(n, &mut Random::new(n as u64))
}

/// The matrix in the memory of a device.
fn upload<T: DeviceScalar>(device: &Device, a: &BlockTridiagonal<'_, T>) -> [DeviceVec<T>; 3] {
    let (arrays, _) = a.upload(device).unwrap();
    arrays.try_into().unwrap()
}

/// A plan with at most `rows` block rows per partition of block SPIKE.
fn plan<T: Scalar>(a: &BlockTridiagonal<'_, T>, method: Method, rows: usize) -> Plan {
    Plan::new(a.shape()).method(method).partition_rows(rows)
}

/// Solve op(A)·x = rhs.
fn solve<T: Scalar>(factor: &dyn Factor<T>, op: Op, rhs: &[T]) -> (Vec<T>, Result<Report>) {
    let mut x = vec![T::ZERO; rhs.len()];
    let mut memory = PodBuffer::new(factor.solve_scratch(rhs.len() / factor.shape().n()));
    let report = factor.solve_into_with(op, rhs, &mut x, PodStack::new(&mut memory));
    (x, report)
}

/// Compare x with the CPU: the same values on emulated devices.
fn compare<T: DeviceScalar>(plan: &Plan, a: &BlockTridiagonal<'_, T>, op: Op, (rhs, x): (&[T], &[T])) {
    if is_emulated() {
        let (expected, report) = solve(&plan.factor(a).unwrap(), op, rhs);
        assert_eq!(report.unwrap().refinement_steps, 0);
        assert_eq!(x, expected, "{plan:?} {op:?} {}", T::NAME);
    }
}

/// Factor once, and solve with A, Aᵀ and Aᴴ for one and several right-hand sides. The second plan is for the CPU.
fn factor_once<T: DeviceScalar>(a: &BlockTridiagonal<'_, T>, [on_device, on_host]: [&Plan; 2]) {
    let device = device();
    let [sub, diag, sup] = upload(&device, a);
    let solver = DeviceSolver::<T>::new(&device, on_device, 3).unwrap();
    let mut factors = solver.factor(DeviceMatrix::block_tridiagonal(&sub, &diag, &sup)).unwrap();
    for op in OPS {
        for n_rhs in [3, 1] {
            let given = rhs::<T>(a.n() * n_rhs);
            // The right-hand side comes from another stream.
            let rhs = device.stream().unwrap().upload(&given).unwrap();
            let mut x = device.zeros(given.len()).unwrap();
            let report = factors.solve_with(op, &rhs, &mut x).unwrap();
            let method = on_device.asked_method();
            assert_eq!((report.method, report.fallback, report.refinement_steps), (method, false, 0));
            assert_eq!(report.backward_errors.len(), n_rhs);
            assert!(report.backward_error <= 8.0 * T::Real::EPSILON.to_f64());
            compare(on_host, a, op, (&given, &x.download().unwrap()));
        }
    }
}

/// A matrix with large diagonal blocks.
fn dominant<T: Scalar>(size: (usize, usize), periodic: bool) -> BlockTridiagonal<'static, T> {
    matrix(size, periodic, 2.0 * size.1 as f64)
}

/// Diagonals whose couplings to distant rows become negligible after a few or after many steps.
const DECAYS: [f64; 5] = [10.0, 30.0, 100.0, 300.0, 1e4];

fn every_size<T: DeviceScalar>() {
    let by_bcyclic = |size, periodic| {
        let a = dominant::<T>(size, periodic);
        let plan = plan(&a, Method::Bcyclic, 3);
        factor_once(&a, [&plan, &plan]);
    };
    for rows in [1, 2, 3, 4, 5, 6, 7, 9, 16] {
        [false, true].into_iter().for_each(|periodic| by_bcyclic((rows, 5), periodic));
    }
    // Inverses, and triangles of one and of several panels.
    for size in [(5, 16), (4, 64), (3, 65), (2, 130)] {
        by_bcyclic(size, true);
    }
    for shift in DECAYS {
        let a = matrix::<T>((40, 6), true, shift);
        let plan = plan(&a, Method::Bcyclic, 3);
        factor_once(&a, [&plan, &plan]);
    }
}

/// Chains and rings that are divided into partitions of equal and unequal lengths.
fn every_division<T: DeviceScalar>() {
    let by_spike = |size, periodic, rows| {
        let a = dominant::<T>(size, periodic);
        let plan = plan(&a, Method::BlockSpike, rows);
        factor_once(&a, [&plan, &plan]);
    };
    for rows in [1, 2, 3, 4, 5, 9, 10, 16, 17, 40] {
        // A partition has at least 3 rows, unless the system has too few of them.
        for (periodic, part) in [(false, 3), (false, 4), (false, 50), (true, 3), (true, 4), (true, 50)] {
            by_spike((rows, 5), periodic, part);
        }
    }
    for size in [(13, 16), (10, 33), (9, 65), (9, 130)] {
        [false, true].into_iter().for_each(|periodic| by_spike(size, periodic, 3));
    }
    for shift in DECAYS {
        for (periodic, part) in [(false, 12), (true, 12), (true, 50)] {
            let a = matrix::<T>((40, 6), periodic, shift);
            let plan = plan(&a, Method::BlockSpike, part);
            factor_once(&a, [&plan, &plan]);
        }
    }
}

#[test]
fn x_is_that_of_the_cpu_f32() {
    every_size::<f32>();
}

#[test]
fn x_is_that_of_the_cpu_f64() {
    every_size::<f64>();
}

#[test]
fn x_is_that_of_the_cpu_c32() {
    every_size::<Complex32>();
}

#[test]
fn x_is_that_of_the_cpu_c64() {
    every_size::<Complex64>();
}

#[test]
fn block_spike_has_the_x_of_the_cpu_f32() {
    every_division::<f32>();
}

#[test]
fn block_spike_has_the_x_of_the_cpu_f64() {
    every_division::<f64>();
}

#[test]
fn block_spike_has_the_x_of_the_cpu_c32() {
    every_division::<Complex32>();
}

#[test]
fn block_spike_has_the_x_of_the_cpu_c64() {
    every_division::<Complex64>();
}

/// By default, a device divides 16 block rows into 4 partitions: 3 rows and a separator each, if the matrix is periodic.
#[test]
fn the_default_number_of_partitions_is_the_root_of_the_rows() {
    for periodic in [false, true] {
        let a = dominant::<f64>((16, 7), periodic);
        let default = Plan::new(a.shape()).method(Method::BlockSpike);
        factor_once(&a, [&default, &plan(&a, Method::BlockSpike, 3)]);
    }
}

/// Factors by other methods solve with one operation.
#[test]
fn factors_of_small_blocks_have_one_operation() {
    let (device, a) = (device(), matrix::<f64>((20, 2), false, 20.0));
    let [sub, diag, sup] = upload(&device, &a);
    let solver = DeviceSolver::<f64>::new(&device, &Plan::new(a.shape()), 1).unwrap();
    let blocks = DeviceMatrix::block_tridiagonal(&sub, &diag, &sup).op(Op::Transpose);
    let mut factors = solver.factor(blocks).unwrap();
    let (given, mut x) = (device.upload(&rhs::<f64>(a.n())).unwrap(), device.zeros(a.n()).unwrap());
    let report = factors.solve_with(Op::Transpose, &given, &mut x).unwrap();
    assert_eq!((report.method, report.backward_error <= 8.0 * f64::EPSILON), (Method::Rpts, true));
    let refused = factors.solve_with(Op::Plain, &given, &mut x).unwrap_err();
    assert!(matches!(refused, Error::Unsupported { method: "rpts", .. }));
}

/// Without stored factors, the matrix is factored in each solve, and may change.
#[test]
fn the_matrix_may_change_between_solves() {
    let device = device();
    let shape = Shape::BlockTridiagonal { block_rows: 6, block: 17, periodic: false };
    // `Auto` is BCYCLIC.
    for (asked, method) in [(Method::Auto, Method::Bcyclic), (Method::BlockSpike, Method::BlockSpike)] {
        let plan = Plan::new(shape).partition_rows(3);
        let mut solver = DeviceSolver::<f64>::new(&device, &plan.clone().method(asked), 2).unwrap();
        for (shift, op) in [(40.0, Op::Plain), (60.0, Op::Transpose), (50.0, Op::Plain)] {
            let a = matrix::<f64>((6, 17), false, shift);
            let [sub, diag, sup] = upload(&device, &a);
            let given = rhs::<f64>(2 * a.n());
            let (on_device, mut x) = (device.upload(&given).unwrap(), device.zeros(given.len()).unwrap());
            let report =
                solver.solve(DeviceMatrix::block_tridiagonal(&sub, &diag, &sup).op(op), &on_device, &mut x).unwrap();
            assert_eq!(report.method, method);
            compare(&plan.clone().method(method), &a, op, (&given, &x.download().unwrap()));
        }
    }
}

/// A matrix with a diagonal block that is nearly singular, although the matrix is not.
fn nearly_singular_pivot(row: usize, distance: f64) -> BlockTridiagonal<'static, f64> {
    let a = matrix::<f64>((5, 20), false, 0.0);
    let [sub, diag, sup] = a.arrays().map(<[f64]>::to_vec);
    let mut diag = diag;
    let block = &mut diag[400 * row..][..400];
    block.copy_within(0..20, 20);
    block.iter_mut().step_by(21).for_each(|v| *v += distance);
    block.copy_within(0..20, 20);
    block[25] += distance;
    BlockTridiagonal::from_vecs(20, [sub, diag, sup], false).unwrap()
}

/// The first rows that the methods eliminate.
const FIRST_ROWS: [(Method, usize); 2] = [(Method::Bcyclic, 1), (Method::BlockSpike, 0)];

#[test]
fn inaccurate_solutions_are_refined_or_solved_again() {
    let device = device();
    for (method, row) in FIRST_ROWS {
        let mut refined = false;
        for distance in [1e-4, 1e-7, 1e-10, 1e-13] {
            let a = nearly_singular_pivot(row, distance);
            for op in OPS {
                let given = rhs::<f64>(a.n());
                let (x, report) = solve(&device.factor(&plan(&a, method, 3), &a).unwrap(), op, &given);
                let report = report.unwrap();
                assert!(report.backward_error <= 64.0 * f64::EPSILON, "{method:?} {distance} {op:?}: {report:?}");
                refined |= report.refinement_steps > 0 && !report.fallback;
                // The reported error is that of x, up to the rounding of this check.
                let mut product = vec![0.0; a.n()];
                let dense = |i: usize, j: usize| if op == Op::Plain { a.get(i, j) } else { a.get(j, i) };
                let largest = x.iter().fold(0.0, |m: f64, v| m.max(v.abs()));
                for (i, p) in product.iter_mut().enumerate() {
                    *p = (0..a.n()).map(|j| dense(i, j) * x[j]).sum();
                    let sum: f64 = (0..a.n()).map(|j| dense(i, j).abs()).sum();
                    let error = (given[i] - *p).abs() / (sum * largest + given[i].abs());
                    assert!(error <= report.backward_error + 2.0 * 60.0 * f64::EPSILON);
                }
            }
        }
        assert!(refined, "one of these systems needs refinement only by {method:?}");
    }
}

/// A singular diagonal block in a matrix that is not singular: the pivoted method solves the system, with and without verification.
#[test]
fn singular_pivots_are_solved_again() {
    let device = device();
    for ((method, zero), block) in FIRST_ROWS.into_iter().flat_map(|first| [(first, 6), (first, 70)]) {
        // Two pairs of coupled block rows. The row of a pair that is eliminated first has zeros on the diagonal.
        let eye = |scale: f64| (0..block * block).map(move |k| if k % (block + 1) == 0 { scale } else { 0.0 });
        let blocks = |scales: [f64; 4]| scales.into_iter().flat_map(eye).collect::<Vec<_>>();
        let diag = [0, 1, 0, 1].map(|row| if row == zero { 0.0 } else { 1.0 });
        let arrays = [blocks([0.0, 1.0, 0.0, 1.0]), blocks(diag), blocks([1.0, 0.0, 1.0, 0.0])];
        let a = BlockTridiagonal::from_vecs(block, arrays, false).unwrap();
        for verify in [true, false] {
            let given = rhs::<f64>(a.n());
            let factors = device.factor(&plan(&a, method, 3).verify(verify), &a).unwrap();
            for op in OPS {
                let (x, report) = solve(&factors, op, &given);
                assert!(report.unwrap().fallback);
                for (x, given) in x.chunks_exact(2 * block).zip(given.chunks_exact(2 * block)) {
                    // The row with zeros: x of the other row is d. The other row: the sum of both is d.
                    let [zero, other] = [zero * block, (1 - zero) * block];
                    for i in 0..block {
                        assert!((x[other + i] - given[zero + i]).abs() <= 8.0 * f64::EPSILON);
                        assert!((x[zero + i] - given[other + i] + given[zero + i]).abs() <= 8.0 * f64::EPSILON);
                    }
                }
            }
        }
    }
}

#[test]
fn singular_and_not_finite_matrices_are_errors() {
    let device = device();
    let cases = [(6, true), (6, false), (70, true)];
    for (method, (block, verify)) in METHODS.into_iter().flat_map(|method| cases.map(|case| (method, case))) {
        let mut arrays = matrix::<f64>((4, block), true, 0.0).arrays().map(<[f64]>::to_vec);
        let given = rhs::<f64>(4 * block);
        let solve = |[sub, diag, sup]: &[Vec<f64>; 3], rhs: &[f64], on_device: bool| {
            let a = BlockTridiagonal::periodic(block, sub, diag, sup).unwrap();
            let plan = plan(&a, method, 3).verify(verify);
            let solved = if on_device { device.factor(&plan, &a)?.solve(rhs) } else { plan.factor(&a)?.solve(rhs) };
            solved.map(|solution| solution.report)
        };
        if verify {
            let mut not_finite = arrays.clone();
            not_finite[1][1] = f64::NAN;
            let error = solve(&not_finite, &given, true).unwrap_err();
            assert_eq!(error, Error::NotFinite { array: "diag", index: 1 });
            let mut given = given.clone();
            given[5] = f64::INFINITY;
            assert_eq!(solve(&arrays, &given, true).unwrap_err(), Error::NotFinite { array: "rhs", index: 5 });
        }
        // Row 3 of block row 1 has only zeros.
        for array in &mut arrays {
            array[block * block..2 * block * block].iter_mut().skip(3).step_by(block).for_each(|v| *v = 0.0);
        }
        let error = solve(&arrays, &given, true).unwrap_err();
        assert_eq!(error, solve(&arrays, &given, false).unwrap_err());
        assert!(matches!(error, Error::Singular { .. }), "{error}");
    }
}

/// Solves that only enqueue raise the status.
#[test]
fn enqueued_solves_have_a_status() {
    let device = device();
    for method in METHODS {
        let a = matrix::<f32>((5, 8), false, 30.0);
        let plan = plan(&a, method, 3);
        let [sub, diag, sup] = upload(&device, &a);
        let given = device.upload(&rhs::<f32>(a.n())).unwrap();
        let (mut x, mut status) = (device.zeros(a.n()).unwrap(), DeviceStatus::new(&device).unwrap());
        let mut solver = DeviceSolver::<f32>::new(&device, &plan, 1).unwrap();
        let blocks = DeviceMatrix::block_tridiagonal(&sub, &diag, &sup);
        solver.enqueue_solve(blocks, &given, &mut x, &mut status).unwrap();
        compare(&plan, &a, Op::Plain, (&given.download().unwrap(), &x.download().unwrap()));
        assert!(status.read().unwrap().unwrap() <= 8.0 * f64::from(f32::EPSILON));
        let nothing = device.zeros(diag.len()).unwrap();
        let blocks = DeviceMatrix::block_tridiagonal(&sub, &nothing, &sup);
        solver.enqueue_solve(blocks, &given, &mut x, &mut status).unwrap();
        assert_eq!(status.read().unwrap(), None);
        // Nothing of the singular matrix is left.
        let blocks = DeviceMatrix::block_tridiagonal(&sub, &diag, &sup);
        solver.enqueue_solve(blocks, &given, &mut x, &mut status).unwrap();
        compare(&plan, &a, Op::Plain, (&given.download().unwrap(), &x.download().unwrap()));
    }
}
