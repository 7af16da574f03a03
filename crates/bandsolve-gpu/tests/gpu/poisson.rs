//! Poisson and Helmholtz problems on a device, compared with the CPU.

use crate::oracle::ORDERS;
use crate::test_device;
use bandsolve::{Error, RealScalar, Scalar, good};
use bandsolve_gallery::{Random, random_vec};
use bandsolve_gpu::{Device, DevicePoisson, DeviceScalar, Emulation};
use bandsolve_poisson::{
    Boundary, BoundaryKind, Grid, Poisson, PoissonMethod, PoissonReport, PoissonScalar, PoissonSolution, Side,
};

/// Grid and sides of an axis.
type AxisKind = (Grid, [BoundaryKind; 2]);

const DIRICHLET: BoundaryKind = BoundaryKind::Dirichlet;
const NEUMANN: BoundaryKind = BoundaryKind::Neumann;
const KINDS: [AxisKind; 9] = [
    (Grid::Node, [DIRICHLET, DIRICHLET]),
    (Grid::Node, [NEUMANN, NEUMANN]),
    (Grid::Node, [DIRICHLET, NEUMANN]),
    (Grid::Node, [NEUMANN, DIRICHLET]),
    (Grid::Cell, [DIRICHLET, DIRICHLET]),
    (Grid::Cell, [NEUMANN, NEUMANN]),
    (Grid::Cell, [DIRICHLET, NEUMANN]),
    (Grid::Cell, [NEUMANN, DIRICHLET]),
    (Grid::Node, [BoundaryKind::Periodic, BoundaryKind::Periodic]),
];

fn device() -> Device {
    test_device(Emulation::default())
}

/// A problem with boundary values. Singular problems accept every f.
fn problem(shape: &[usize], kinds: &[AxisKind]) -> Poisson {
    let mut problem = Poisson::new(shape).removable(f64::INFINITY).mean(0.375);
    for (axis, (grid, sides)) in kinds.iter().enumerate() {
        let value = |kind: BoundaryKind, value: f64| match kind {
            BoundaryKind::Periodic => Boundary::periodic(),
            kind => Boundary { kind, value },
        };
        problem = problem.axis_grid(axis, *grid).axis_boundary(axis, value(sides[0], 0.5), value(sides[1], -0.25));
    }
    problem
}

/// Random numbers that single precision holds.
fn right_hand_side<T: RealScalar>(n: usize) -> Vec<T> {
    let random = random_vec::<f64>(n, &mut Random::new(n as u64));
    random.into_iter().map(|x| T::from_f64((x * 1024.0).round() / 1024.0)).collect()
}

fn solve<T: DeviceScalar + PoissonScalar>(
    device: &Device,
    problem: &Poisson,
    f: &[T],
) -> Result<PoissonSolution<T>, Error> {
    let mut solver = DevicePoisson::<T>::new(device, problem)?;
    let (on_device, mut u) = (device.upload(f)?, device.upload(&vec![T::from_f64(f64::NAN); f.len()])?);
    let report = solver.solve(&on_device, &mut u)?;
    Ok(PoissonSolution { values: u.download()?, report })
}

fn largest(values: impl Iterator<Item = f64>) -> f64 {
    values.fold(0.0, |most: f64, x| if x.is_nan() { f64::NAN } else { most.max(x.abs()) })
}

/// max |uᵢ − vᵢ| / max |vᵢ|
fn difference<T: RealScalar>(u: &[T], v: &[f64]) -> f64 {
    largest(u.iter().zip(v).map(|(u, v)| u.to_f64() - v)) / largest(v.iter().copied()).max(f64::MIN_POSITIVE)
}

/// Solves a problem for random f, and compares the solution with that of the CPU.
fn check(device: &Device, shape: &[usize], problem: &Poisson, tolerance: f64) {
    let f = right_hand_side::<f64>(shape.iter().product());
    let expected = problem.clone().method(PoissonMethod::Fft).plan::<f64>().unwrap().solve(&f).unwrap();
    let solved = solve::<f64>(device, problem, &f).unwrap();
    let error = difference(&solved.values, &expected.values);
    assert!(error <= tolerance, "{problem:?}: {error:e}, {:?}", solved.report);
    check_report::<f64>(&solved.report, &expected.report);
    check_single(device, problem, &f, &expected);
}

fn check_report<T: Scalar>(report: &PoissonReport, expected: &PoissonReport) {
    assert!(report.backward_error <= good::<T>(), "{report:?}");
    assert_eq!((&report.shape, report.mean), (&expected.shape, expected.mean));
    // f is at most 1, and sides add at most a few numbers of this size.
    assert!((report.removed - expected.removed).abs() <= 16.0 * T::Real::EPSILON.to_f64(), "{report:?} {expected:?}");
    // The CPU can have another order of the axes, which changes the last digits.
    assert!((report.rcond / expected.rcond - 1.0).abs() <= 1e-12, "{report:?} {expected:?}");
}

/// Solves in single precision. The relative error of u can be 2η/rcond, where η includes one rounding of the coefficients.
fn check_single(device: &Device, problem: &Poisson, f: &[f64], expected: &PoissonSolution<f64>) {
    let f: Vec<f32> = f.iter().map(|f| *f as f32).collect();
    let solved = solve::<f32>(device, problem, &f).unwrap();
    let error = difference(&solved.values, &expected.values);
    let bound = 2.0 * (solved.report.backward_error + f64::from(f32::EPSILON)) / expected.report.rcond;
    assert!(error <= bound, "{problem:?}: {error:e} above {bound:e}, {:?}", solved.report);
    check_report::<f32>(&solved.report, &expected.report);
}

const AS_EXACT: f64 = 1e-14;

/// The largest difference of two solutions with good backward errors η: each can have the relative error 2η/rcond.
fn conditioned(problem: &Poisson) -> f64 {
    4.0 * good::<f64>() / problem.plan::<f64>().unwrap().rcond()
}

#[test]
fn all_sides_in_two_dimensions() {
    let device = device();
    for shape in [[1, 1], [1, 5], [2, 1], [2, 3], [3, 2], [5, 16], [16, 17], [17, 5], [31, 3]] {
        for one in KINDS {
            for two in KINDS {
                check(&device, &shape, &problem(&shape, &[one, two]), AS_EXACT);
            }
        }
    }
}

#[test]
fn larger_boxes_in_two_dimensions() {
    for (k, order) in (0..9).zip(ORDERS.into_iter().cycle()) {
        let device = test_device(Emulation { order, ..Emulation::default() });
        let shape = if k % 2 == 0 { [63, 48] } else { [48, 63] };
        check(&device, &shape, &problem(&shape, &[KINDS[k], KINDS[(2 * k + 1) % 9]]), AS_EXACT);
    }
}

#[test]
fn all_sides_in_three_dimensions() {
    for (k, order) in (0..9).zip(ORDERS.into_iter().cycle()) {
        let device = test_device(Emulation { order, ..Emulation::default() });
        for shape in [[3, 4, 5], [1, 6, 2], [8, 1, 9], [7, 10, 1], [12, 9, 11]] {
            let kinds = [KINDS[k], KINDS[(k + 1) % 9], KINDS[(4 * k + 2) % 9]];
            check(&device, &shape, &problem(&shape, &kinds), AS_EXACT);
            // The same sides along all axes. This includes singular problems.
            check(&device, &shape, &problem(&shape, &[KINDS[k]; 3]), AS_EXACT);
        }
    }
}

/// Lengths with all radices, with large prime factors, and the longest ones.
#[test]
fn all_lengths_in_one_dimension() {
    let device = device();
    for n in (1..=34).chain([48, 49, 63, 64, 100, 121, 127, 210, 251, 343, 1009, 1023, 1024]) {
        for kind in KINDS {
            // The rounding errors of the sums for the smallest frequencies grow like √n, and divided by their eigenvalues they dominate.
            check(&device, &[n], &problem(&[n], &[kind]), AS_EXACT * (n as f64 / 128.0).max(1.0).sqrt());
        }
    }
}

#[test]
fn helmholtz_problems() {
    let device = device();
    for (k, shape) in [vec![25], vec![14, 9], vec![5, 7, 6]].into_iter().enumerate() {
        for kind in KINDS {
            for shift in [1e-3, 2.5] {
                check(&device, &shape, &problem(&shape, &vec![kind; k + 1]).shift(shift), AS_EXACT);
            }
            // Eigenvalues of both signs
            let problem = problem(&shape, &vec![kind; k + 1]).shift(-0.3);
            check(&device, &shape, &problem, conditioned(&problem));
        }
    }
}

#[test]
fn values_along_the_sides_and_spacings() {
    let device = device();
    for kind in KINDS.into_iter().filter(|(_, sides)| sides[0] != BoundaryKind::Periodic) {
        let shape = [6, 5, 7];
        let mut problem = problem(&shape, &[kind; 3]).axis_spacing(0, 0.5).axis_spacing(1, 2.0).axis_spacing(2, 0.25);
        for (axis, points) in [35, 42, 30].into_iter().enumerate() {
            for side in [Side::Low, Side::High] {
                let values: Vec<f64> = (0..points).map(|k| ((k * 7 + axis) % 11) as f64 / 8.0 - 0.5).collect();
                problem = problem.boundary_values(axis, side, &values);
            }
        }
        let f = right_hand_side::<f64>(210);
        let expected = problem.plan::<f64>().unwrap().solve(&f).unwrap();
        let solved = solve::<f64>(&device, &problem, &f).unwrap();
        assert!(difference(&solved.values, &expected.values) <= AS_EXACT, "{kind:?}");
        // Boundary values are multiplied by up to 2/h = 8.
        assert!((solved.report.removed - expected.report.removed).abs() <= 128.0 * f64::EPSILON);
    }
}

/// Tridiagonal systems along one axis: Robin sides, variable spacing, and lines that exceed shared memory.
#[test]
fn one_axis_without_a_transform() {
    let robin = Boundary::robin(1.0, 2.0, 0.75);
    let device = device();
    for (k, kind) in KINDS.into_iter().enumerate() {
        let kinds = [kind, KINDS[(k + 3) % 9], KINDS[(k + 5) % 9]];
        for shape in [vec![1], vec![2], vec![17], vec![1, 5], vec![12, 1], vec![9, 14], vec![2, 3], vec![6, 5, 7]] {
            for axis in 0..shape.len() {
                let problem = problem(&shape, &kinds[..shape.len()]);
                for grid in [Grid::Node, Grid::Cell] {
                    let sides = [robin, Boundary::dirichlet(-1.0), Boundary::neumann(0.5), robin];
                    for pair in sides.windows(2) {
                        let problem = problem.clone().axis_grid(axis, grid).axis_boundary(axis, pair[0], pair[1]);
                        check(&device, &shape, &problem, AS_EXACT);
                    }
                    // Variable spacing, with Neumann sides: singular problems are included.
                    let points: Vec<f64> = (0..shape[axis] + usize::from(grid == Grid::Cell))
                        .map(|x| x as f64 + 0.01 * (x * x) as f64)
                        .collect();
                    let problem = problem.clone().axis_grid(axis, grid).coordinates(axis, &points);
                    let problem = problem.axis_boundary(axis, Boundary::neumann(0.5), Boundary::neumann(-0.5));
                    check(&device, &shape, &problem.shift(if k % 2 == 0 { 0.0 } else { 0.25 }), AS_EXACT);
                }
            }
        }
    }
}

/// A stretched axis for the sides of a kind: coordinates of nodes with the sides, or of the faces of cells.
fn stretched(problem: Poisson, axis: usize, n: usize, kind: AxisKind) -> Poisson {
    let (grid, [low, high]) = kind;
    let periodic = low == BoundaryKind::Periodic;
    let nodes = n + usize::from(low == DIRICHLET) + usize::from(high == DIRICHLET || periodic);
    let count = if grid == Grid::Cell { n + 1 } else { nodes };
    let points: Vec<f64> = (0..count).map(|x| x as f64 + 0.01 * (x * x) as f64).collect();
    problem.coordinates(axis, &points)
}

/// Products with matrices of eigenvectors along all axes but one, or along all axes if the matrix is indefinite.
#[test]
fn several_axes_without_a_transform() {
    let device = device();
    let robin = Boundary::robin(1.0, 2.0, 0.75);
    for (k, kind) in KINDS.into_iter().enumerate() {
        let kinds = [kind, KINDS[(k + 2) % 9], KINDS[(k + 5) % 9]];
        for shape in [vec![13], vec![1, 3], vec![9, 14], vec![21, 8], vec![6, 5, 7], vec![4, 9, 3]] {
            let given = problem(&shape, &kinds[..shape.len()]);
            let all = shape.iter().zip(kinds).enumerate();
            let all = all.fold(given.clone(), |problem, (axis, (n, kind))| stretched(problem, axis, *n, kind));
            // On the CPU and on the device, the eigenvectors have rounding errors, so neither solution is exact.
            for shift in [0.0, 0.25, -0.3] {
                let problem = all.clone().shift(shift);
                check(&device, &shape, &problem, conditioned(&problem));
            }
            // Robin sides along the first axis, and variable spacing along the last one.
            let last = shape.len() - 1;
            let mixed = stretched(given, last, shape[last], kinds[last]).axis_grid(0, Grid::Cell);
            if last > 0 {
                let problem = mixed.axis_boundary(0, robin, Boundary::neumann(0.5));
                check(&device, &shape, &problem, conditioned(&problem));
            }
        }
    }
}

#[test]
fn one_axis_that_exceeds_shared_memory() {
    let device = device();
    let points = device.limits().shared_per_block / 16;
    for (shape, axis) in [([points + 2, 3], 0), ([2, points + 2], 1)] {
        for kind in [KINDS[0], KINDS[3], KINDS[5]] {
            let mut kinds = [KINDS[4]; 2];
            kinds[axis] = kind;
            check(&device, &shape, &problem(&shape, &kinds), AS_EXACT);
        }
    }
}

/// Numbers near the limits of the type.
#[test]
fn numbers_of_any_size() {
    let device = device();
    let zeros = vec![0.0; 99];
    for kind in [KINDS[0], KINDS[5], KINDS[8]] {
        let problem = problem(&[9, 11], &[kind; 2]).boundary(kind.1[0]).mean(0.0);
        let f = right_hand_side::<f64>(99);
        let expected = solve::<f64>(&device, &problem, &f).unwrap();
        for scale in [1e300, 1e-300] {
            let scaled: Vec<f64> = f.iter().map(|f| f * scale).collect();
            let solved = solve::<f64>(&device, &problem, &scaled).unwrap();
            let u: Vec<f64> = solved.values.iter().map(|u| u / scale).collect();
            assert!(difference(&u, &expected.values) <= AS_EXACT, "{kind:?} {scale:e}");
            assert!((solved.report.removed / scale - expected.report.removed).abs() <= 16.0 * f64::EPSILON);
        }
        assert!(solve::<f64>(&device, &problem, &zeros).unwrap().values == zeros);
    }
}

#[test]
fn several_right_hand_sides_on_several_streams() {
    let (shape, kinds) = ([13, 8], [KINDS[0], KINDS[1]]);
    for order in ORDERS {
        let device = test_device(Emulation { order, ..Emulation::default() });
        let f = right_hand_side::<f64>(3 * 104);
        let expected = problem(&shape, &kinds).plan::<f64>().unwrap().solve(&f).unwrap();
        let mut solver = DevicePoisson::new(&device.stream().unwrap(), &problem(&shape, &kinds)).unwrap();
        for _ in 0..3 {
            let (one, two) = (device.stream().unwrap(), device.stream().unwrap());
            // f is not there before its stream has copied it.
            let (given, mut on_stream, mut u) =
                (one.upload(&f).unwrap(), one.zeros(f.len()).unwrap(), two.zeros(f.len()).unwrap());
            on_stream.slice_mut(..).copy_from(given.slice(..)).unwrap();
            let report = solver.solve(&on_stream, &mut u).unwrap();
            assert_eq!(report.backward_errors.len(), 3);
            assert!(difference(&u.download().unwrap(), &expected.values) <= AS_EXACT);
        }
    }
}

#[test]
fn a_solution_has_the_same_bits_in_every_run() {
    let f = right_hand_side::<f64>(40 * 33);
    let solutions = ORDERS.map(|order| {
        let device = test_device(Emulation { order, ..Emulation::default() });
        solve::<f64>(&device, &problem(&[40, 33], &[KINDS[5]; 2]), &f).unwrap()
    });
    assert!(solutions.iter().all(|solution| solution == &solutions[0]));
}

#[test]
fn invalid_arguments() {
    let device = device();
    let other = Device::emulated(Emulation::default());
    let problem = Poisson::new(&[4, 3]);
    let mut solver = DevicePoisson::<f64>::new(&device, &problem).unwrap();
    assert_eq!((solver.shape(), solver.len(), solver.is_empty()), (&[4, 3][..], 12, false));
    let arrays = |n: usize, m: usize| (device.zeros::<f64>(n).unwrap(), device.zeros::<f64>(m).unwrap());
    let (f, mut u) = arrays(13, 13);
    assert_eq!(solver.solve(&f, &mut u), Err(Error::Shape { what: "f", expected: 12, got: 13 }));
    let (f, mut u) = arrays(12, 24);
    assert_eq!(solver.solve(&f, &mut u), Err(Error::Shape { what: "u", expected: 12, got: 24 }));
    let (f, mut u) = (other.zeros(12).unwrap(), device.zeros(12).unwrap());
    assert!(matches!(solver.solve(&f, &mut u), Err(Error::InvalidArgument { .. })));
    let (f, mut u) = arrays(0, 0);
    assert_eq!(solver.solve(&f, &mut u).unwrap().backward_errors.len(), 0);
    for bad in [f64::NAN, f64::INFINITY] {
        let mut f = vec![1.0; 24];
        f[17] = bad;
        assert_eq!(solve::<f64>(&device, &problem, &f), Err(Error::NotFinite { array: "f", index: 17 }));
    }
    // A solver works after an error.
    let (f, mut u) = (device.upload(&[1.0; 12]).unwrap(), device.zeros(12).unwrap());
    assert!(solver.solve(&f, &mut u).unwrap().backward_error <= good::<f64>());
}

#[test]
fn unsuitable_problems() {
    let device = device();
    let refused = |problem: Poisson| DevicePoisson::<f64>::new(&device, &problem).map(|_| ()).unwrap_err();
    let neumann = Poisson::new(&[16, 16]).boundary(Boundary::neumann(0.0));
    assert!(matches!(solve::<f64>(&device, &neumann, &[1.0; 256]), Err(Error::Incompatible { .. })));
    assert_eq!(refused(Poisson::new(&[4, 0])), Error::Shape { what: "shape", expected: 1, got: 0 });
    assert!(matches!(refused(Poisson::new(&[4]).method(PoissonMethod::Bcr4)), Error::Unsupported { .. }));
    assert!(matches!(refused(Poisson::new(&[4]).axis_spacing(1, 1.0)), Error::Shape { .. }));
    assert!(matches!(refused(Poisson::new(&[4]).shift(f64::NAN)), Error::NotFinite { .. }));
    // The smallest eigenvalue of −Δ is −c.
    assert!(matches!(refused(Poisson::new(&[1]).shift(-2.0)), Error::NotConverged { .. }));
    // The shared memory of a thread block holds two complex lines of n + 1 points, or the same of lines of n points for two real lines.
    let points = device.limits().shared_per_block / 32;
    for (kind, most) in [(KINDS[0], points - 1), (KINDS[1], points + 1), (KINDS[5], points)] {
        // Tridiagonal systems need a definite matrix.
        let error = refused(problem(&[2, most + 1], &[KINDS[0], kind]).shift(-0.1));
        let error = error.to_string();
        assert!(error.starts_with(&format!("shape[1] is {}, expected at most {most}", most + 1)), "{error}");
    }
    // The longest line with a length that has small factors.
    let n = (2..points).rev().find(|n| (n + 1).is_power_of_two()).unwrap();
    check(&device, &[n, 2], &problem(&[n, 2], &[KINDS[0], KINDS[5]]), AS_EXACT);
}
