//! Documented properties other than accuracy: same results for any number of threads, error positions, extreme values, choice of method, memory.

use crate::common::{check_single, distance, kinds, problem, right_hand_side, write_out};
use bandsolve::dyn_stack::{PodBuffer, PodStack};
use bandsolve::{Error, Simd};
use bandsolve_poisson::{
    AxisPencil, Boundary, BoundaryKind, Grid, Poisson, PoissonMethod, PoissonPlan, PoissonScalar, SeparablePencils,
    Side,
};

const PERIODIC: BoundaryKind = BoundaryKind::Periodic;

#[test]
fn same_bits_for_any_number_of_threads() {
    let shapes: [&[usize]; 4] = [&[301, 257], &[128, 200], &[31, 33, 40], &[64, 9, 50]];
    for shape in shapes {
        let f = right_hand_side(shape.iter().product(), 1);
        for kind in BoundaryKind::ALL {
            let solve = |threads: usize| {
                let problem = Poisson::new(shape).boundary(kind).threads(threads).shift(0.01);
                problem.plan::<f64>().unwrap().solve(&f).unwrap()
            };
            let one = solve(1);
            for threads in [2, 3, 7] {
                let other = solve(threads);
                assert!(
                    one.values.iter().zip(&other.values).all(|(a, b)| a.to_bits() == b.to_bits()),
                    "{shape:?} {kind:?}"
                );
                assert_eq!(one.report, other.report);
            }
        }
    }
}

#[test]
fn solve_functions_agree_for_any_content_of_scratch() {
    let problems = [
        Poisson::new(&[20, 31]).boundary(Boundary::dirichlet(0.5)),
        Poisson::new(&[6, 7, 8]).grid(Grid::Cell).axis_boundary(1, Boundary::neumann(1.0), Boundary::dirichlet(2.0)),
        Poisson::new(&[9, 4]).coordinates(1, &[0.0, 1.0, 1.5, 3.0, 5.0, 5.5]),
    ];
    for problem in problems {
        let plan = problem.plan::<f64>().unwrap();
        let n = plan.len();
        let f = right_hand_side(3 * n, 1);
        let expected = plan.solve(&f).unwrap();
        assert_eq!(expected.report.backward_errors.len(), 3);
        for c in 0..3 {
            assert_eq!(plan.solve(&f[c * n..][..n]).unwrap().values, expected.values[c * n..][..n]);
        }
        let mut x = f.clone();
        let needed = plan.solve_in_place_scratch().or(plan.solve_scratch());
        let mut memory = PodBuffer::new(needed);
        memory.fill(0xff);
        let report = plan.solve_in_place_with(&mut x, PodStack::new(&mut memory)).unwrap();
        assert!(x == expected.values && report == expected.report);
        memory.fill(0xff);
        let report = plan.solve_into_with(&f, &mut x, PodStack::new(&mut memory)).unwrap();
        assert!(x == expected.values && report == expected.report);
        let small = PodStack::new(&mut memory[..16]);
        assert!(matches!(plan.solve_into_with(&f, &mut x, small), Err(Error::Scratch { .. })));
    }
}

#[test]
fn single_precision() {
    for axis in kinds(40, 1.0) {
        check_single(axis);
    }
}

#[test]
fn singular_problems_report_the_removed_constant() {
    for kind in [BoundaryKind::Neumann, BoundaryKind::Periodic] {
        for grid in [Grid::Node, Grid::Cell] {
            for shape in [&[24usize, 17][..], &[8, 9, 10], &[50], &[17, 24]] {
                let n: usize = shape.iter().product();
                let problem = Poisson::new(shape).boundary(kind).grid(grid).mean(2.5);
                let mut f = right_hand_side(n, 1);
                // Nodes at Neumann sides have half a volume.
                let weight = |mut e: usize| {
                    let mut w = 1.0;
                    for n in shape.iter().rev() {
                        let end = e.is_multiple_of(*n) || e % n == n - 1;
                        w *= if end && grid == Grid::Node && kind == BoundaryKind::Neumann { 0.5 } else { 1.0 };
                        e /= n;
                    }
                    w
                };
                let total: f64 = (0..n).map(weight).sum();
                let mean = |x: &[f64]| x.iter().enumerate().map(|(e, x)| x * weight(e)).sum::<f64>() / total;
                let add = 1e-3 - mean(&f);
                f.iter_mut().for_each(|f| *f += add);
                let solution = problem.plan::<f64>().unwrap().solve(&f).unwrap();
                assert!((solution.report.removed - 1e-3).abs() < 1e-14, "{:e}", solution.report.removed);
                assert!((mean(&solution.values) - 2.5).abs() < 1e-13 && solution.report.mean == Some(2.5));
                f.iter_mut().for_each(|f| *f += 1.0);
                let refused = problem.plan::<f64>().unwrap().solve(&f);
                assert!(matches!(refused, Err(Error::Incompatible { removed, .. }) if (removed - 1.001).abs() < 1e-12));
                let asked = problem.removable(f64::INFINITY).plan::<f64>().unwrap().solve(&f).unwrap();
                assert!((asked.report.removed - 1.001).abs() < 1e-12);
                assert!(distance(&asked.values, &solution.values) < 1e-12);
            }
        }
    }
}

#[test]
fn flow_through_the_sides_must_balance() {
    // −u″ = 0 with an inflow of 1 at the lower side and an outflow of 1 at the upper side
    let problem = Poisson::new(&[10, 5]).grid(Grid::Cell).boundary(Boundary::neumann(0.0)).spacing(0.5);
    let balanced = problem.clone().axis_boundary(0, Boundary::neumann(-1.0), Boundary::neumann(1.0));
    let u = balanced.plan::<f64>().unwrap().solve(&[0.0; 50]).unwrap();
    assert!(u.report.removed.abs() < 1e-15);
    let slope = u.values.chunks_exact(5).zip(u.values.chunks_exact(5).skip(1)).flat_map(|(a, b)| a.iter().zip(b));
    assert!(slope.into_iter().all(|(a, b)| (b - a - 0.5).abs() < 1e-14));
    let refused = problem.axis_boundary(0, Boundary::neumann(1.0), Boundary::neumann(1.0)).plan::<f64>().unwrap();
    assert!(matches!(refused.solve(&[0.0; 50]), Err(Error::Incompatible { .. })));
}

#[test]
fn values_along_sides() {
    for grid in [Grid::Node, Grid::Cell] {
        // Second differences between nodes are exact for the harmonic polynomial x² − y².
        let (n, m, h) = (9, 14, 0.25);
        let place = |i: usize| if grid == Grid::Node { (i + 1) as f64 * h } else { (i as f64 + 0.5) * h };
        let end = |n: usize| if grid == Grid::Node { (n + 1) as f64 * h } else { n as f64 * h };
        let exact = |x: f64, y: f64| x * x - y * y;
        let column = |x: f64| (0..m).map(|j| exact(x, place(j))).collect::<Vec<_>>();
        let row = |y: f64| (0..n).map(|i| exact(place(i), y)).collect::<Vec<_>>();
        let problem = Poisson::new(&[n, m])
            .spacing(h)
            .grid(grid)
            .boundary_values(0, Side::Low, &column(0.0))
            .boundary_values(0, Side::High, &column(end(n)))
            .boundary_values(1, Side::Low, &row(0.0))
            .boundary_values(1, Side::High, &row(end(m)));
        let u = problem.plan::<f64>().unwrap().solve(&vec![0.0; n * m]).unwrap().values;
        let expected: Vec<f64> = (0..n * m).map(|e| exact(place(e / m), place(e % m))).collect();
        // Half cells at the sides add an error of at most h²/4 · |u″| at the boundary.
        let bound = if grid == Grid::Node { 1e-14 } else { 0.25 * h * h * 2.0 / 10.0 };
        assert!(distance(&u, &expected) < bound, "{grid:?} {:e}", distance(&u, &expected));
    }
    // The same boundary values as an array and as a number, with the axes in another order
    let points = [0.0, 1.0, 1.5, 3.0, 5.0, 5.5];
    let one = Poisson::new(&[3, 4, 5]).coordinates(1, &points).axis_boundary(
        0,
        Boundary::dirichlet(2.0),
        Boundary::dirichlet(0.0),
    );
    let two = Poisson::new(&[3, 4, 5]).coordinates(1, &points).boundary_values(0, Side::Low, &[2.0; 20]);
    let solve = |problem: Poisson| problem.plan::<f64>().unwrap().solve(&[1.0; 60]).unwrap().values;
    assert_eq!(solve(one), solve(two));
    let ramp: Vec<f64> = (0..15).map(|k| (k / 5) as f64 + 0.1 * (k % 5) as f64).collect();
    let side = Poisson::new(&[3, 4, 5]).coordinates(1, &points).boundary_values(1, Side::High, &ramp);
    let turned = Poisson::new(&[4, 3, 5]).coordinates(0, &points).boundary_values(0, Side::High, &ramp);
    let (a, b) = (solve(side), solve(turned));
    assert!((0..60).all(|e| a[e] == b[(e / 5 % 4) * 15 + (e / 20) * 5 + e % 5]));
}

#[test]
fn unusual_numbers() {
    let plan = Poisson::new(&[19, 23]).boundary(BoundaryKind::Dirichlet).plan::<f64>().unwrap();
    let f = right_hand_side(19 * 23, 1);
    let u = plan.solve(&f).unwrap().values;
    for exponent in [-1000, -900, 900, 1015] {
        let scale = 2f64.powi(exponent);
        let scaled: Vec<f64> = f.iter().map(|f| f * scale).collect();
        let solution = plan.solve(&scaled).unwrap();
        assert!(solution.values.iter().zip(&u).all(|(a, b)| (a / scale - b).abs() <= 1e-13), "{exponent}");
    }
    for (place, bad) in [(0, f64::NAN), (100, f64::INFINITY), (436, f64::NEG_INFINITY)] {
        let mut f = f.clone();
        f[place] = bad;
        f[436] = bad;
        assert_eq!(plan.solve(&f), Err(Error::NotFinite { array: "f", index: place }));
        assert_eq!(plan.solve_in_place(&mut f), Err(Error::NotFinite { array: "f", index: place }));
    }
    // The index refers to the array of the caller.
    let turned = Poisson::new(&[3, 4]).coordinates(1, &[0.0, 1.0, 1.5, 3.0, 5.0, 5.5]).plan::<f64>().unwrap();
    let mut f = vec![1.0; 24];
    f[14] = f64::NAN;
    assert_eq!(turned.solve(&f), Err(Error::NotFinite { array: "f", index: 14 }));
    assert_eq!(plan.solve(&vec![0.0; 19 * 23]).unwrap().values, vec![0.0; 19 * 23]);
}

#[test]
fn errors_name_the_wrong_data() {
    let plan = |problem: Poisson| problem.plan::<f64>().map(|_| ());
    let shape = Poisson::new(&[4, 5]);
    assert!(matches!(plan(shape.clone()).map(|()| 0), Ok(0)));
    assert!(matches!(plan(Poisson::new(&[])), Err(Error::InvalidArgument { .. })));
    assert!(matches!(plan(Poisson::new(&[2, 2, 2, 2])), Err(Error::InvalidArgument { .. })));
    assert!(matches!(plan(shape.clone().spacing(0.0)), Err(Error::InvalidArgument { .. })));
    assert!(matches!(plan(shape.clone().spacing(f64::NAN)), Err(Error::InvalidArgument { .. })));
    assert!(matches!(plan(shape.clone().shift(f64::NAN)), Err(Error::NotFinite { array: "shift", .. })));
    assert!(matches!(plan(shape.clone().axis_spacing(2, 1.0)), Err(Error::Shape { what: "shape", .. })));
    let one_sided = shape.clone().axis_boundary(1, BoundaryKind::Periodic, BoundaryKind::Neumann);
    let at_periodic = shape.clone().axis_boundary(1, PERIODIC, PERIODIC).boundary_values(1, Side::Low, &[1.0; 4]);
    for problem in [one_sided, at_periodic, shape.clone().axis_spacing(1, -1.0)] {
        let error = plan(problem).unwrap_err();
        assert!(matches!(error, Error::InvalidArgument { .. }) && error.to_string().contains("[1]"), "{error}");
    }
    let infinite = shape.clone().axis_boundary(1, Boundary::dirichlet(0.0), Boundary::dirichlet(f64::INFINITY));
    assert_eq!(plan(infinite), Err(Error::NotFinite { array: "boundary", index: 1 }));
    let short = plan(shape.clone().coordinates(0, &[0.0, 1.0]));
    assert_eq!(short, Err(Error::Shape { what: "coordinates", expected: 6, got: 2 }));
    let falling = plan(shape.clone().coordinates(0, &[0.0, 1.0, 2.0, 1.5, 3.0, 4.0]));
    assert!(matches!(falling, Err(Error::InvalidArgument { .. })));
    let values = plan(shape.clone().boundary_values(0, Side::Low, &[1.0; 4]));
    assert_eq!(values, Err(Error::Shape { what: "boundary values", expected: 5, got: 4 }));
    let solver = shape.plan::<f64>().unwrap();
    assert_eq!(solver.solve(&[0.0; 19]).map(|_| ()), Err(Error::Shape { what: "f", expected: 20, got: 19 }));
    let wrong = solver.solve_into(&[0.0; 20], &mut [0.0; 40]).map(|_| ());
    assert_eq!(wrong, Err(Error::Shape { what: "u", expected: 20, got: 40 }));
}

#[test]
fn nothing_and_one() {
    for shape in [&[0usize][..], &[0, 3], &[3, 0], &[2, 0, 2]] {
        let solution = Poisson::new(shape).plan::<f64>().unwrap().solve(&[]).unwrap();
        assert!(solution.values.is_empty() && solution.report.backward_error == 0.0);
    }
    for dimensions in 1..=3 {
        let plan = Poisson::new(&vec![1; dimensions]).plan::<f64>().unwrap();
        let u = plan.solve(&[3.0]).unwrap().values[0];
        assert!((u - 3.0 / (2 * dimensions) as f64).abs() <= 2.0 * f64::EPSILON * u);
    }
}

#[test]
fn shifts_of_all_sizes() {
    for kind in BoundaryKind::ALL {
        for shift in [1e-12, 1e-3, 1.0, 1e6, 1e300] {
            let plan = Poisson::new(&[20, 13]).boundary(kind).shift(shift).plan::<f64>().unwrap();
            let solution = plan.solve(&right_hand_side(260, 1)).unwrap();
            assert!(solution.report.backward_error <= 2e-15, "{kind:?} {shift}: {:e}", solution.report.backward_error);
        }
    }
}

#[test]
fn shifts_below_zero() {
    // The shift lies between eigenvalues, so that some systems are indefinite.
    for a in 0..9 {
        for (b, n) in [(a, 9), ((a + 4) % 9, 16), (8, 2), (8, 1)] {
            for shift in [-0.003, -0.83, -3.31, -9.7] {
                let axes = [kinds(n, 1.0)[b].clone(), kinds(14, 1.1)[a].clone()];
                let written = write_out(&axes, shift);
                let f = right_hand_side(written.n, 1);
                let solution = problem(&axes, shift).plan::<f64>().unwrap().solve(&f).unwrap();
                let error = written.backward_error(&f, &solution.values, 0.0);
                assert!(error <= 4e-15 && solution.report.backward_error <= 2e-15, "{a} {b} {n} {shift}: {error:e}");
            }
        }
    }
}

#[test]
fn names_of_methods() {
    assert!(Simd::ALL.contains(&Simd::detect()));
    assert!(PoissonMethod::ALL.iter().all(|method| PoissonMethod::from_name(method.name()) == Some(*method)));
}

#[test]
fn auto_chooses_by_lengths() {
    // 128 = 2⁷ and 100 = 2²·5²; 101 is prime, 1001 = 7·11·13.
    for (shape, method) in [
        (&[100, 127][..], PoissonMethod::Fft),
        (&[100, 99], PoissonMethod::Fft),
        (&[64, 100], PoissonMethod::Bcr4),
        (&[100, 1000], PoissonMethod::Bcr4),
        (&[63, 100], PoissonMethod::Fft),
        (&[64, 64, 100], PoissonMethod::Fft),
        (&[100], PoissonMethod::Fft),
    ] {
        let plan = Poisson::new(shape).plan::<f64>().unwrap();
        assert_eq!(plan.method().0, method, "{shape:?}: {}", plan.method().1);
        let other = Poisson::new(shape).method(PoissonMethod::Gemm).plan::<f64>().unwrap();
        let f: Vec<f64> = (0..plan.len()).map(|k| ((k * 7919) % 1000) as f64 * 1e-3 - 0.5).collect();
        let [u, v] = [&plan, &other].map(|plan| plan.solve(&f).unwrap().values);
        let largest = u.iter().fold(0.0_f64, |largest, u| largest.max(u.abs()));
        // The errors of both are a few ε times the condition number, which is a few thousand.
        assert!(u.iter().zip(&v).all(|(u, v)| (u - v).abs() <= 1e-12 * largest), "{shape:?}");
    }
    // `auto` chooses `pscr` if eigenvectors would be needed and would take too much memory.
    for (n, m, side, shift, method) in [
        (180, 190, BoundaryKind::Dirichlet, 0.0, PoissonMethod::Pscr),
        (180, 190, PERIODIC, 1.0, PoissonMethod::Pscr),
        (180, 190, BoundaryKind::Dirichlet, -1e-5, PoissonMethod::Fft),
        (100, 100, BoundaryKind::Dirichlet, 0.0, PoissonMethod::Fft),
        (60, 600, BoundaryKind::Dirichlet, 0.0, PoissonMethod::Fft),
    ] {
        let of = if side == PERIODIC { n + 1 } else { n + 2 };
        let stretched = Poisson::new(&[n, m]).axis_boundary(0, side, side).shift(shift).coordinates(0, &points(of));
        let both = stretched.clone().coordinates(1, &points(m + 2)).plan::<f64>().unwrap();
        assert_eq!(both.method().0, method, "{n} × {m} {shift}: {}", both.method().1);
        let one = stretched.plan::<f64>().unwrap().method().0;
        assert_eq!(one, if side == PERIODIC { PoissonMethod::Pscr } else { PoissonMethod::Fft });
    }
    // `auto` does not choose block cyclic reduction if it does not apply or would lose accuracy.
    let periodic = Poisson::new(&[100, 101]).boundary(Boundary::periodic()).shift(1.0).plan::<f64>().unwrap();
    let negative = Poisson::new(&[100, 100]).shift(-1e-4).plan::<f64>().unwrap();
    assert_eq!([periodic.method().0, negative.method().0], [PoissonMethod::Fft; 2]);
}

/// Coordinates of n points with variable spacing.
fn points(n: usize) -> Vec<f64> {
    (0..n).map(|k| k as f64 + 1e-4 * (k * k) as f64).collect()
}

/// Memory of a plan and scratch of a solve, without matrices of eigenvectors, divided by the memory of u.
///
/// The scratch includes one array of the size of u, which only iterative refinement uses.
fn share<T: PoissonScalar>(plan: &PoissonPlan<T>, eigenvectors: usize) -> f64 {
    let bytes = plan.factor_bytes() + plan.solve_scratch().unaligned_bytes_required();
    let part = (bytes - eigenvectors * size_of::<T>()) as f64 / (size_of::<T>() * plan.len()) as f64;
    println!("{:?} {:?}: {part:.2}", plan.shape(), plan.method().0);
    part
}

#[test]
fn memory_is_at_most_twice_that_of_the_solution() {
    let (p, q) = (points(1002), points(102));
    let (plane, small, box_of) =
        (Poisson::new(&[1000, 1000]), Poisson::new(&[500, 500]), Poisson::new(&[100, 100, 100]));
    let mut problems = vec![
        plane.clone().coordinates(0, &p),
        plane.clone().coordinates(1, &p),
        plane.coordinates(0, &p).coordinates(1, &p),
        Poisson::new(&[200, 220]).coordinates(0, &points(201)).axis_boundary(0, PERIODIC, PERIODIC),
        Poisson::new(&[1_000_000]),
        Poisson::new(&[100_000]).coordinates(0, &points(100_002)),
        Poisson::new(&[512, 64]).coordinates(0, &points(514)).coordinates(1, &points(66)),
        Poisson::new(&[180, 190]).coordinates(0, &points(182)).coordinates(1, &points(192)),
        Poisson::new(&[63, 530]).coordinates(0, &points(65)).coordinates(1, &points(532)),
        box_of.clone().coordinates(0, &q).coordinates(1, &q).coordinates(2, &q),
        box_of.clone().coordinates(1, &q),
        box_of.coordinates(0, &q).coordinates(2, &q),
        Poisson::new(&[40, 40, 40]).boundary(PERIODIC).coordinates(0, &points(41)).coordinates(1, &points(41)),
        Poisson::new(&[509, 509]).method(PoissonMethod::Bcr4),
        Poisson::new(&[509, 509]).method(PoissonMethod::Bcr2),
        Poisson::new(&[509, 509]).method(PoissonMethod::Pscr),
    ];
    for kind in BoundaryKind::ALL {
        problems.push(small.clone().boundary(kind));
        for shape in [[100, 100, 100], [63, 63, 63], [31, 33, 40], [64, 40, 32]] {
            problems.push(Poisson::new(&shape).boundary(kind).grid(Grid::Cell));
            problems.push(Poisson::new(&shape).boundary(kind).method(PoissonMethod::Pscr).shift(0.1));
        }
        if kind != BoundaryKind::Neumann {
            for method in [PoissonMethod::Bcr2, PoissonMethod::Bcr4] {
                problems.push(Poisson::new(&[63, 63, 63]).boundary(kind).method(method));
            }
        }
    }
    for problem in problems {
        for threads in [1, 2, 7] {
            let (double, single) = (problem.clone().threads(threads).plan::<f64>(), problem.plan::<f32>());
            let parts = [share(&double.unwrap(), 0), share(&single.unwrap(), 0)];
            assert!(parts.iter().all(|part| *part <= 2.0), "{threads} threads: {parts:?}");
        }
    }
    // In addition, an axis with dense eigenvectors stores two matrices, and an axis with two matrices A and M stores one in two dimensions.
    let gemm = Poisson::new(&[300, 200]).method(PoissonMethod::Gemm).plan::<f64>().unwrap();
    let negative = Poisson::new(&[300, 200]).coordinates(0, &points(302)).coordinates(1, &points(202)).shift(-1e-6);
    let negative = negative.plan::<f64>().unwrap();
    let one = |n: usize| vec![1.0; n];
    let pencil = |n: usize| AxisPencil::with_identity([&one(n)[..], &vec![4.0; n], &one(n)]);
    let pencils = SeparablePencils::new(&[pencil(300), pencil(200)]).plan::<f64>().unwrap();
    for (plan, matrices) in [(gemm, 2), (negative, 2), (pencils, 1)] {
        assert!(share(&plan, matrices * 200 * 200) <= 2.0, "{plan:?}");
    }
}
