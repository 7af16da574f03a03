//! Factors that a solver keeps for all later solves: changed entries, other matrices, singular ones, and which solves use the factors.

use crate::test_device;
use bandsolve::{Error, Layout, Method, Op, Plan, Report, Result, Shape};
use bandsolve_gallery::{Random, random_vec};
use bandsolve_gpu::{Device, DeviceMatrix, DeviceSolver, DeviceVec, Emulation, FactoredOperations};

/// Shapes with several levels on the emulated device, and dense blocks.
const SHAPES: [Shape; 4] = [
    Shape::Tridiagonal { n: 5000, periodic: false },
    Shape::Batch { n: 4000, count: 2, layout: Layout::Contiguous, periodic: false },
    Shape::BlockTridiagonal { block_rows: 900, block: 2, periodic: true },
    Shape::BlockTridiagonal { block_rows: 9, block: 5, periodic: false },
];

/// The arrays of a random matrix with large diagonal blocks.
fn bands(device: &Device, shape: Shape, seed: u64) -> [DeviceVec<f64>; 3] {
    let (rows, block) = match shape {
        Shape::BlockTridiagonal { block_rows, block, .. } => (block_rows, block),
        other => (other.rows(), 1),
    };
    let mut random = Random::new(seed);
    let mut arrays = [(); 3].map(|()| random_vec::<f64>(rows * block * block, &mut random));
    for (at, value) in arrays[1].iter_mut().enumerate() {
        if at % (block * block) % (block + 1) == 0 {
            *value += 4.0 * block as f64;
        }
    }
    arrays.map(|array| device.upload(&array).unwrap())
}

fn matrix([sub, diag, sup]: &[DeviceVec<f64>; 3]) -> DeviceMatrix<'_, f64> {
    DeviceMatrix::tridiagonal(sub, diag, sup)
}

/// x for right-hand sides of ones.
fn x_of(solver: &mut DeviceSolver<f64>, a: DeviceMatrix<'_, f64>, device: &Device, n: usize) -> Vec<f64> {
    let (rhs, mut x) = (device.upload(&vec![1.0; n]).unwrap(), device.zeros(n).unwrap());
    solver.solve(a, &rhs, &mut x).unwrap();
    x.download().unwrap()
}

#[test]
fn changed_entries_are_factored_again_in_the_same_memory() {
    for shape in SHAPES {
        let (device, n, plan) = (test_device(Emulation::default()), shape.rows(), Plan::new(shape));
        let new = || DeviceSolver::<f64>::new(&device, &plan, 1).unwrap();
        let (mut arrays, mut solver) = (bands(&device, shape, 1), new());
        solver.store(matrix(&arrays)).unwrap();
        let bytes = solver.bytes();
        let first = x_of(&mut solver, matrix(&arrays), &device, n);
        for seed in [2, 3] {
            for (array, other) in arrays.iter_mut().zip(bands(&device, shape, seed)) {
                array.slice_mut(..).write(&other.download().unwrap()).unwrap();
            }
            solver.store(matrix(&arrays)).unwrap();
            let x = x_of(&mut solver, matrix(&arrays), &device, n);
            assert!(x != first && x == x_of(&mut new(), matrix(&arrays), &device, n), "{shape:?}");
            assert_eq!(solver.bytes(), bytes, "{shape:?}");
        }
    }
}

#[test]
fn only_the_factored_matrix_is_accepted() {
    for shape in SHAPES {
        let (device, n) = (test_device(Emulation::default()), shape.rows());
        let (arrays, other) = (bands(&device, shape, 1), bands(&device, shape, 2));
        let mut solver = DeviceSolver::<f64>::new(&device, &Plan::new(shape), 1).unwrap();
        let (rhs, mut x) = (device.upload(&vec![1.0; n]).unwrap(), device.zeros(n).unwrap());
        let refused = |solved: Result<Report>| matches!(solved, Err(Error::InvalidArgument { argument, .. }) if argument == "matrix");
        solver.solve(matrix(&other), &rhs, &mut x).unwrap();
        solver.store(matrix(&arrays)).unwrap();
        assert!(refused(solver.solve(matrix(&other), &rhs, &mut x)), "{shape:?}");
        let transposed = solver.solve(matrix(&arrays).op(Op::Transpose), &rhs, &mut x);
        match solver.factored_operations() {
            FactoredOperations::All => assert!(transposed.unwrap().backward_error <= 8.0 * f64::EPSILON),
            _ => assert!(refused(transposed), "{shape:?}"),
        }
        solver.store(matrix(&other)).unwrap();
        solver.solve(matrix(&other), &rhs, &mut x).unwrap();
    }
}

#[test]
fn a_singular_matrix_is_forgotten() {
    for shape in SHAPES {
        let (device, n) = (test_device(Emulation::default()), shape.rows());
        let (arrays, mut used) = (bands(&device, shape, 1), bands(&device, shape, 1));
        used.iter_mut().for_each(|array| array.slice_mut(..).clear().unwrap());
        let mut solver = DeviceSolver::<f64>::new(&device, &Plan::new(shape), 1).unwrap();
        let (rhs, mut x) = (device.upload(&vec![1.0; n]).unwrap(), device.zeros(n).unwrap());
        solver.store(matrix(&used)).unwrap();
        assert!(matches!(solver.solve(matrix(&used), &rhs, &mut x), Err(Error::Singular { .. })), "{shape:?}");
        for (array, regular) in used.iter_mut().zip(&arrays) {
            array.slice_mut(..).write(&regular.download().unwrap()).unwrap();
        }
        solver.store(matrix(&used)).unwrap();
        let report = solver.solve(matrix(&used), &rhs, &mut x).unwrap();
        assert!(!report.fallback && report.backward_error <= 8.0 * f64::EPSILON, "{shape:?}: {report:?}");
    }
}

/// From three right-hand sides on, scalar systems are eliminated again. Without verification, x shows which entries were eliminated.
#[test]
fn several_right_hand_sides_on_chip_need_no_factors() {
    let (device, shape) = (test_device(Emulation::default()), SHAPES[0]);
    let n = shape.rows();
    let mut arrays = bands(&device, shape, 1);
    let mut solver = DeviceSolver::<f64>::new(&device, &Plan::new(shape).verify(false), 4).unwrap();
    solver.store(matrix(&arrays)).unwrap();
    let before = x_of(&mut solver, matrix(&arrays), &device, 4 * n);
    let double: Vec<f64> = arrays[1].download().unwrap().iter().map(|value| 2.0 * value).collect();
    arrays[1].slice_mut(..).write(&double).unwrap();
    for (columns, stored) in [(1, true), (2, true), (3, false), (4, false)] {
        let x = x_of(&mut solver, matrix(&arrays), &device, columns * n);
        assert_eq!(x == before[..columns * n], stored, "{columns}");
    }
}

#[test]
fn systems_without_factors() {
    let device = test_device(Emulation::default());
    let tridiagonal = Shape::Tridiagonal { n: 50, periodic: false };
    let batch = |layout| Shape::Batch { n: 50, count: 3, layout, periodic: false };
    for (shape, method) in [
        (tridiagonal, Method::CfLu),
        (tridiagonal, Method::ParallelDiagonalPivoting),
        (tridiagonal, Method::SpikeCr),
        (batch(Layout::Contiguous), Method::Pcr),
        (batch(Layout::Interleaved), Method::Auto),
    ] {
        let mut solver = DeviceSolver::<f64>::new(&device, &Plan::new(shape).method(method), 1).unwrap();
        assert_eq!(solver.factored_operations(), FactoredOperations::None);
        let stored = solver.store(matrix(&bands(&device, shape, 1)));
        assert!(matches!(stored, Err(Error::Unsupported { .. })), "{method:?}");
    }
}
