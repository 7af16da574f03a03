//! Multigrid with line smoothers: the number of iterations hardly grows with the size, for strong couplings in any direction.

use bandsolve::LinearOperator;
use bandsolve::dyn_stack::PodStack;
use bandsolve_gallery::Random;
use bandsolve_sparse::{
    Csr, KrylovMethod, KrylovSolver, LineMultigrid, MODEL_PROBLEMS, MultigridOptions, nine_point, twenty_seven_point,
};

type Matrix = Csr<'static, f64, u32>;

/// −(u_ξξ + ε·u_ηη), rotated by an angle, with central differences on nine points.
fn rotated(n: usize, degrees: f64) -> Matrix {
    let (s, c) = degrees.to_radians().sin_cos();
    let epsilon = 1e-3;
    let (a, b, m) = (c * c + epsilon * s * s, s * s + epsilon * c * c, (1.0 - epsilon) * c * s);
    let clean = |v: f64| if v.abs() < 1e-15 { 0.0 } else { v };
    let stencil = [[-m / 2.0, -b, m / 2.0], [-a, 2.0 * a + 2.0 * b, -a], [m / 2.0, -b, -m / 2.0]];
    nine_point(stencil.map(|row| row.map(clean)), (n, n))
}

fn with_forests(forests: usize) -> MultigridOptions {
    let mut options = MultigridOptions::default();
    options.forests = forests;
    options
}

fn iterations(a: &Matrix, options: &MultigridOptions) -> usize {
    let n = a.rows();
    let x: Vec<f64> = (0..n).map(|i| (std::f64::consts::TAU * 8.0 * i as f64 / n as f64).sin()).collect();
    let mut rhs = vec![0.0; n];
    a.apply(&x, &mut rhs, PodStack::new(&mut [])).unwrap();
    let m = LineMultigrid::new(a.view(), options).unwrap();
    let mut got = vec![0.0; n];
    let report = KrylovSolver::new(KrylovMethod::Cg).max_iterations(200).solve(a, Some(&m), &rhs, &mut got).unwrap();
    assert!(report.converged(), "{}", report.ending);
    report.iterations
}

/// Iterations to 10⁻⁶ on grids of 100 × 100 and 200 × 200 points, at most as many as the prototype needs.
#[test]
fn iterations_hardly_grow_whatever_the_direction() {
    let options = with_forests(2);
    let expected = [("aniso1", [8, 9]), ("aniso2", [4, 5]), ("model8", [6, 6])];
    for (name, most) in expected {
        let make = MODEL_PROBLEMS.iter().find(|problem| problem.name == name).expect("a model problem").make;
        for (n, most) in [100, 200].into_iter().zip(most) {
            let got = iterations(&make(n), &options);
            assert!(got <= most, "{name} {n}: {got} iterations, not {most}");
        }
    }
    for (degrees, most) in [(45.0, [12, 14]), (30.0, [15, 18]), (0.0, [4, 6])] {
        for (n, most) in [100, 200].into_iter().zip(most) {
            let got = iterations(&rotated(n, degrees), &options);
            assert!(got <= most, "turned by {degrees}, {n}: {got} iterations, not {most}");
        }
    }
}

/// Without damping, the sweeps of one forest change the sign of errors that alternate from path to path. The first problem then needs 34 and 66
/// iterations.
#[test]
fn a_single_forest_is_damped() {
    let options = with_forests(1);
    for (name, most) in [("aniso1", 9), ("aniso2", 6), ("model8", 8)] {
        let make = MODEL_PROBLEMS.iter().find(|problem| problem.name == name).expect("a model problem").make;
        for n in [100, 200] {
            let got = iterations(&make(n), &options);
            assert!(got <= most, "{name} {n}: {got} iterations, not {most}");
        }
    }
}

/// Without the couplings that have the sign of the diagonal, the matrix of a single forest is too small.
#[test]
fn one_forest_does_where_couplings_have_either_sign() {
    let options = with_forests(1);
    for (degrees, most) in [(45.0, 30), (30.0, 30)] {
        let got = iterations(&rotated(150, degrees), &options);
        assert!(got <= most, "turned by {degrees}: {got} iterations, not {most}");
    }
}

/// If the strong direction is a grid direction, and the other is weaker by 10⁻³, the number of iterations does not grow.
#[test]
fn aligned_strong_couplings() {
    let options = with_forests(2);
    for n in [100, 300, 500] {
        let got = iterations(&rotated(n, 0.0), &options);
        assert!(got <= 3, "{n}: {got} iterations");
    }
    // Planes of strong couplings.
    let mut stencil = [[[0.0; 3]; 3]; 3];
    stencil[1] = [[0.0, -1.0, 0.0], [-1.0, 4.0 + 2e-3, -1.0], [0.0, -1.0, 0.0]];
    (stencil[0][1][1], stencil[2][1][1]) = (-1e-3, -1e-3);
    for n in [20, 40] {
        let got = iterations(&twenty_seven_point(stencil, (n, n, n)), &options);
        assert!(got <= 6, "{n}: {got} iterations");
    }
}

/// Numbers outside the range of single precision, in the matrix or in the right-hand side, cost no iterations.
#[test]
fn numbers_of_any_size() {
    let a = nine_point([[0.0, -1.0, 0.0], [-1.0, 4.0, -1.0], [0.0, -1.0, 0.0]], (90, 90));
    let (pointers, columns, values) = a.parts();
    let wave: Vec<f64> = (0..a.rows()).map(|i| (i as f64 * 0.37).sin()).collect();
    for (of_matrix, of_rhs) in [(1.0, 1.0), (1e-60, 1.0), (1e60, 1.0), (1e-200, 1e-200), (1.0, 1e-100), (1.0, 1e100)] {
        let values: Vec<f64> = values.iter().map(|value| value * of_matrix).collect();
        let a = Matrix::new(a.columns(), pointers.to_vec(), columns.to_vec(), values).unwrap();
        let rhs: Vec<f64> = wave.iter().map(|value| value * of_rhs).collect();
        let m = LineMultigrid::new(a.view(), &with_forests(2)).unwrap();
        let mut x = vec![0.0; rhs.len()];
        let report = KrylovSolver::new(KrylovMethod::Cg).rtol(1e-12).solve(&a, Some(&m), &rhs, &mut x).unwrap();
        assert!(report.converged() && report.iterations <= 11, "{of_matrix} {of_rhs}: {}", report.iterations);
    }
}

/// Chains with condition numbers far above 1/ε of single precision.
#[test]
fn long_chains() {
    let n = 200_000;
    let row = |i: usize| [(i, i, 2.0), (i, (i + 1).min(n - 1), -1.0), (i, i.saturating_sub(1), -1.0)];
    let entries: Vec<_> = (0..n).flat_map(row).filter(|(i, j, value)| i != j || *value > 0.0).collect();
    assert!(iterations(&Matrix::from_triplets(n, n, &entries).unwrap(), &with_forests(2)) <= 5);
}

/// With Neumann conditions the matrix is singular. A right-hand side with mean 0 has solutions.
#[test]
fn singular_problems_are_solved_where_they_can_be() {
    let (n, width): (usize, usize) = (60 * 60, 60);
    let mut entries = Vec::new();
    for i in 0..n {
        let neighbors = [(i % width > 0, i.wrapping_sub(1)), (i % width + 1 < width, i + 1)];
        let others = [(i >= width, i.wrapping_sub(width)), (i + width < n, i + width)];
        let own: Vec<_> = neighbors.into_iter().chain(others).filter(|(there, _)| *there).collect();
        entries.push((i, i, own.len() as f64));
        entries.extend(own.iter().map(|(_, j)| (i, *j, -1.0)));
    }
    let a = Matrix::from_triplets(n, n, &entries).unwrap();
    let m = LineMultigrid::new(a.view(), &with_forests(2)).unwrap();
    let mut rhs: Vec<f64> = (0..n).map(|i| (i as f64 * 0.37).sin()).collect();
    let mean = rhs.iter().sum::<f64>() / n as f64;
    rhs.iter_mut().for_each(|v| *v -= mean);
    let mut x = vec![0.0; n];
    let report = KrylovSolver::new(KrylovMethod::Cg).rtol(1e-8).solve(&a, Some(&m), &rhs, &mut x).unwrap();
    assert!(report.converged() && report.iterations < 20, "{}", report.ending);
}

/// Upwind differences of a flow across the grid, with GMRES and BiCGStab.
#[test]
fn unsymmetric_matrices() {
    let a = nine_point([[0.0, -1.0, 0.0], [-3.0, 7.5, -1.0], [0.0, -2.5, 0.0]], (150, 150));
    let rhs: Vec<f64> = (0..a.rows()).map(|i| (i as f64 * 0.37).sin()).collect();
    for (forests, most) in [(1, 16), (2, 12)] {
        let m = LineMultigrid::new(a.view(), &with_forests(forests)).unwrap();
        for method in [KrylovMethod::Gmres { restart: 20 }, KrylovMethod::Bicgstab, KrylovMethod::Idr { space: 4 }] {
            let mut x = vec![0.0; rhs.len()];
            let report = KrylovSolver::new(method).rtol(1e-8).solve(&a, Some(&m), &rhs, &mut x).unwrap();
            assert!(report.converged() && report.iterations <= most, "{forests}: {}", report.iterations);
        }
    }
}

/// Unknowns without couplings, and small components that the lines solve, need no further level.
#[test]
fn unknowns_that_are_coupled_to_no_other() {
    let width: usize = 40;
    let n = width * width;
    let mut entries = Vec::new();
    for i in 0..n {
        entries.push((i, i, 4.0));
        let alone = |i: usize| i % 7 == 3;
        let neighbors = [i.checked_sub(1), i.checked_sub(width), Some(i + 1), Some(i + width)];
        for j in neighbors.into_iter().flatten().filter(|j| *j < n && !alone(i) && !alone(*j)) {
            entries.push((i, j, -1.0));
        }
    }
    let a = Matrix::from_triplets(n, n, &entries).unwrap();
    assert!(iterations(&a, &with_forests(2)) <= 10);
}

/// A definite matrix of a graph without geometry. Each unknown has some random couplings, and a few hubs have very many.
fn with_hubs(n: usize, hubs: usize, leaves: usize) -> Matrix {
    let random = &mut Random::new(12);
    let mut pairs: Vec<(usize, usize)> = (0..3 * n).map(|_| (random.below(n), random.below(n))).collect();
    pairs.extend(
        (0..hubs).flat_map(|hub| (0..leaves).map(move |k| (hub * (n / hubs), (hub * 31 + k * (n / leaves)) % n))),
    );
    pairs.retain(|(i, j)| i != j);
    let mut diagonal = vec![0.01; n];
    pairs.iter().for_each(|(i, j)| (diagonal[*i], diagonal[*j]) = (diagonal[*i] + 1.0, diagonal[*j] + 1.0));
    let couplings = pairs.iter().flat_map(|(i, j)| [(*i, *j, -1.0), (*j, *i, -1.0)]);
    let entries: Vec<_> = couplings.chain(diagonal.iter().enumerate().map(|(i, d)| (i, i, *d))).collect();
    Csr::from_triplets(n, n, &entries).unwrap()
}

/// All levels have at most four times as many entries as the matrix. Hubs and random graphs do not fill the coarse levels.
#[test]
fn levels_of_graphs_without_geometry_are_not_full() {
    for (n, hubs, leaves) in [(20_000, 0, 1), (20_000, 1, 20_000), (20_000, 20, 5_000), (20_000, 400, 300)] {
        let a = if hubs == 0 { with_hubs(n, 1, 1) } else { with_hubs(n, hubs, leaves) };
        let m = LineMultigrid::new(a.view(), &with_forests(1)).unwrap();
        let entries: usize = m.sizes().iter().map(|(_, entries)| entries).sum();
        println!("{hubs} hubs of {leaves}: {:?}, {:.2}", m.sizes(), entries as f64 / a.entries() as f64);
        assert!(entries <= 4 * a.entries(), "{hubs} hubs of {leaves}: {:?}", m.sizes());
        assert!(iterations(&a, &with_forests(1)) <= 60, "{hubs} hubs of {leaves}");
    }
}
