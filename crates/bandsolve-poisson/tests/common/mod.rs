//! Problems as assembled matrices, built row by row from ghost values, and solved by banded LU. They share no code with the solver.

use bandsolve::Banded;
use bandsolve_poisson::{Boundary, BoundaryKind, Grid, Poisson, PoissonMethod};

/// One axis. `points` are the coordinates of the nodes, boundary included, or of the cell faces. `None` means the constant spacing h.
#[derive(Debug, Clone)]
pub struct Axis {
    pub n: usize,
    pub grid: Grid,
    pub sides: [Boundary; 2],
    pub h: f64,
    pub points: Option<Vec<f64>>,
}

/// The nine kinds of an axis, with non-zero values at Dirichlet and Neumann sides.
pub fn kinds(n: usize, h: f64) -> Vec<Axis> {
    let (d, q, p) = (BoundaryKind::Dirichlet, BoundaryKind::Neumann, BoundaryKind::Periodic);
    let mut all = Vec::new();
    for grid in [Grid::Node, Grid::Cell] {
        for [low, high] in [[d, d], [q, q], [d, q], [q, d]] {
            let sides = [Boundary { kind: low, value: 0.3 }, Boundary { kind: high, value: -0.7 }];
            all.push(Axis { n, grid, sides, h, points: None });
        }
    }
    all.push(Axis { n, grid: Grid::Node, sides: [Boundary::from(p); 2], h, points: None });
    all
}

/// The matrix of an axis, and the contributions of its sides to f at the first and the last unknown.
pub fn axis_matrix(axis: &Axis) -> (Vec<Vec<f64>>, [f64; 2]) {
    if axis.points.is_some() {
        return volumes(axis);
    }
    let (n, h) = (axis.n, axis.h);
    let mut a = vec![vec![0.0; n]; n];
    let mut inflow = [0.0; 2];
    for i in 0..n {
        a[i][i] += 2.0 / (h * h);
        for side in 0..2 {
            let inside = if side == 0 { i > 0 } else { i + 1 < n };
            let neighbor = if side == 0 { i.wrapping_sub(1) } else { i + 1 };
            let Boundary { kind, value } = axis.sides[side];
            // alpha u + beta du/dn = value. A Neumann side has alpha = 0 and beta = 1.
            let (alpha, beta) = match kind {
                BoundaryKind::Robin { alpha, beta } => (alpha, beta),
                _ => (0.0, 1.0),
            };
            // The value of the neighbor is factor · unknown + constant − at_side · unknown i.
            let mut at_side = 0.0;
            let (unknown, factor, constant) = match (inside, kind, axis.grid) {
                (true, ..) => (neighbor, 1.0, 0.0),
                (_, BoundaryKind::Periodic, _) => (if side == 0 { n - 1 } else { 0 }, 1.0, 0.0),
                (_, BoundaryKind::Dirichlet, Grid::Node) => (i, 0.0, value),
                // (ghost + u)/2 = value, (ghost − u)/h = value
                (_, BoundaryKind::Dirichlet, Grid::Cell) => (i, -1.0, 2.0 * value),
                // alpha (ghost + u)/2 + beta (ghost − u)/h = value
                (_, _, Grid::Cell) => {
                    let of_ghost = alpha / 2.0 + beta / h;
                    (i, (beta / h - alpha / 2.0) / of_ghost, value / of_ghost)
                }
                // alpha u + beta (ghost − mirror)/2h = value
                (_, _, Grid::Node) => {
                    let (value, part) = (value / beta, alpha / beta);
                    let mirror = if side == 0 { i + 1 } else { i.wrapping_sub(1) };
                    at_side = 2.0 * h * part;
                    if mirror < n {
                        (mirror, 1.0, 2.0 * h * value)
                    } else if axis.sides[1 - side].kind == BoundaryKind::Dirichlet {
                        // The mirror point is the node on the other side.
                        inflow[1 - side] += axis.sides[1 - side].value / (h * h);
                        (i, 0.0, 2.0 * h * value)
                    } else {
                        // A single unknown lies on both sides. Its volume has length 1.
                        at_side = h * h * part;
                        (i, 1.0, h * h * value)
                    }
                }
            };
            a[i][unknown] -= factor / (h * h);
            a[i][i] += at_side / (h * h);
            inflow[side] += constant / (h * h);
        }
    }
    (a, inflow)
}

/// The same for arbitrary points, from the fluxes out of volumes.
fn volumes(axis: &Axis) -> (Vec<Vec<f64>>, [f64; 2]) {
    let (n, p) = (axis.n, axis.points.as_ref().expect("points"));
    let periodic = axis.sides[0].kind == BoundaryKind::Periodic;
    let dirichlet = axis.sides.map(|side| side.kind == BoundaryKind::Dirichlet);
    let period = p[p.len() - 1] - p[0];
    // The coordinates of the unknowns and of the ends of their volumes
    let (place, ends): (Vec<f64>, Vec<f64>) = match axis.grid {
        Grid::Cell => ((0..n).map(|i| 0.5 * (p[i] + p[i + 1])).collect(), p.clone()),
        Grid::Node => {
            let at: Vec<f64> = (0..n).map(|i| p[i + usize::from(dirichlet[0])]).collect();
            let mut ends = vec![if periodic {
                0.5 * (at[0] + at[n - 1] - period)
            } else if dirichlet[0] {
                0.5 * (p[0] + p[1])
            } else {
                p[0]
            }];
            ends.extend((1..n).map(|i| 0.5 * (at[i - 1] + at[i])));
            let last = p.len() - 1;
            ends.push(if periodic {
                ends[0] + period
            } else if dirichlet[1] {
                0.5 * (p[last] + p[last - 1])
            } else {
                p[last]
            });
            (at, ends)
        }
    };
    let mut a = vec![vec![0.0; n]; n];
    let mut inflow = [0.0; 2];
    for i in 0..n {
        // A single unknown on both sides has a volume of length 1.
        let volume = if ends[i + 1] == ends[i] { 1.0 } else { ends[i + 1] - ends[i] };
        for side in 0..2 {
            let inside = if side == 0 { i > 0 } else { i + 1 < n };
            let other = if side == 0 { (i + n - 1) % n } else { (i + 1) % n };
            if inside || periodic {
                let around = if inside { 0.0 } else { period };
                let distance = (place[i] - place[other]).abs();
                let distance = if inside { distance } else { around - distance };
                let coupling = 1.0 / (distance * volume);
                a[i][i] += coupling;
                a[i][other] -= coupling;
            } else if dirichlet[side] {
                let wall = if side == 0 { p[0] } else { p[p.len() - 1] };
                let coupling = 1.0 / ((place[i] - wall).abs() * volume);
                a[i][i] += coupling;
                inflow[side] = coupling * axis.sides[side].value;
            } else {
                let (alpha, beta) = match axis.sides[side].kind {
                    BoundaryKind::Robin { alpha, beta } => (alpha, beta),
                    _ => (0.0, 1.0),
                };
                let wall = if side == 0 { p[0] } else { p[p.len() - 1] };
                let distance = (place[i] - wall).abs();
                // alpha w + beta (w − u)/distance = value with the value w at the wall. The flux is (w − u)/distance.
                let by = alpha * distance + beta;
                a[i][i] += alpha / (by * volume);
                inflow[side] = axis.sides[side].value / (by * volume);
            }
        }
    }
    (a, inflow)
}

/// The assembled matrix of a problem with one to three axes, and the contributions of the sides to f.
pub struct WrittenOut {
    pub n: usize,
    pub rows: Vec<Vec<(usize, f64)>>,
    pub boundary: Vec<f64>,
}

pub fn write_out(axes: &[Axis], shift: f64) -> WrittenOut {
    let n: usize = axes.iter().map(|axis| axis.n).product();
    let (mut rows, mut boundary) = (vec![Vec::new(); n], vec![0.0; n]);
    let mut stride = n;
    for axis in axes {
        stride /= axis.n;
        let (a, inflow) = axis_matrix(axis);
        for (e, row) in rows.iter_mut().enumerate() {
            let i = e / stride % axis.n;
            for (j, value) in a[i].iter().enumerate().filter(|(_, value)| **value != 0.0) {
                row.push((e - i * stride + j * stride, *value));
            }
            boundary[e] += if i == 0 { inflow[0] } else { 0.0 } + if i + 1 == axis.n { inflow[1] } else { 0.0 };
        }
    }
    rows.iter_mut().enumerate().for_each(|(e, row)| row.push((e, shift)));
    WrittenOut { n, rows, boundary }
}

impl WrittenOut {
    pub fn apply(&self, u: &[f64]) -> Vec<f64> {
        self.rows.iter().map(|row| row.iter().map(|(j, a)| a * u[*j]).sum()).collect()
    }

    /// Compute u by banded LU.
    pub fn solve(&self, f: &[f64]) -> Vec<f64> {
        let far = |low: bool| {
            let entries = self.rows.iter().enumerate().flat_map(|(i, row)| row.iter().map(move |(j, _)| (i, *j)));
            entries.map(|(i, j)| if low { i.saturating_sub(j) } else { j.saturating_sub(i) }).max().unwrap_or(0)
        };
        let (lower, upper) = (far(true), far(false));
        let leading = lower + upper + 1;
        let mut bands = vec![0.0; leading * self.n];
        for (i, row) in self.rows.iter().enumerate() {
            row.iter().for_each(|(j, a)| bands[upper + i - j + j * leading] += a);
        }
        let right: Vec<f64> = f.iter().zip(&self.boundary).map(|(f, b)| f + b).collect();
        Banded::new(self.n, lower, upper, &bands).unwrap().solve(&right).unwrap().values
    }

    /// The backward error: the maximum of |f + boundary − removed − Au| / (Σ|a| ‖u‖ + |f + boundary|).
    pub fn backward_error(&self, f: &[f64], u: &[f64], removed: f64) -> f64 {
        let largest = u.iter().fold(0.0f64, |a, b| a.max(b.abs()));
        let au = self.apply(u);
        (0..self.n)
            .map(|i| {
                let right = f[i] + self.boundary[i] - removed;
                let mut diagonal = 0.0;
                let mut sum = 0.0;
                for (j, a) in &self.rows[i] {
                    if *j == i { diagonal += a } else { sum += a.abs() }
                }
                let scale = (sum + f64::abs(diagonal)) * largest + (f[i] + self.boundary[i]).abs();
                if right == au[i] { 0.0 } else { (right - au[i]).abs() / scale }
            })
            .fold(0.0, f64::max)
    }
}

/// The same problem as input of the solver.
pub fn problem(axes: &[Axis], shift: f64) -> Poisson {
    let shape: Vec<usize> = axes.iter().map(|axis| axis.n).collect();
    let mut problem = Poisson::new(&shape).shift(shift);
    for (k, axis) in axes.iter().enumerate() {
        problem =
            problem.axis_grid(k, axis.grid).axis_boundary(k, axis.sides[0], axis.sides[1]).axis_spacing(k, axis.h);
        if let Some(points) = &axis.points {
            problem = problem.coordinates(k, points);
        }
    }
    problem
}

pub fn right_hand_side(n: usize, seed: u64) -> Vec<f64> {
    let mut x = seed;
    let mut next = || {
        x = (1_103_515_245 * x + 12345) % (1 << 31);
        x as f64 / f64::from(1 << 30) - 1.0
    };
    (0..n).map(|_| next()).collect()
}

/// Whether constants solve the problem with f = 0.
pub fn is_singular(axes: &[Axis], shift: f64) -> bool {
    let is_free = |side: &Boundary| match side.kind {
        BoundaryKind::Dirichlet => false,
        BoundaryKind::Robin { alpha, .. } => alpha == 0.0,
        _ => true,
    };
    shift == 0.0 && axes.iter().all(|axis| axis.sides.iter().all(is_free))
}

pub fn distance(u: &[f64], v: &[f64]) -> f64 {
    let largest = v.iter().fold(0.0f64, |a, b| a.max(b.abs()));
    u.iter().zip(v).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max) / largest.max(f64::MIN_POSITIVE)
}

/// Solve in single precision on a rectangle, 40 unknowns along `axis` and 33 along the other, and compare u with banded LU in double precision.
pub fn check_single(axis: Axis) {
    let axes = [axis, kinds(33, 1.0)[2].clone()];
    let f: Vec<f32> = right_hand_side(40 * 33, 1).iter().map(|f| *f as f32).collect();
    let solution = problem(&axes, 0.0).plan::<f32>().unwrap().solve(&f).unwrap();
    assert!(solution.report.backward_error <= 8.0 * f64::from(f32::EPSILON));
    let exact = write_out(&axes, 0.0).solve(&f.iter().map(|f| f64::from(*f)).collect::<Vec<_>>());
    let u: Vec<f64> = solution.values.iter().map(|u| f64::from(*u)).collect();
    assert!(distance(&u, &exact) <= 2e-5, "{:e}", distance(&u, &exact));
}

/// Solve with `method` and check the backward error. If the problem is not singular, also compare u with banded LU.
pub fn check(axes: &[Axis], shift: f64, method: PoissonMethod) {
    let what = format!("{axes:?} shift {shift} {}", method.name());
    let written = write_out(axes, shift);
    let f = right_hand_side(written.n, 1);
    let plan = problem(axes, shift).method(method).removable(f64::INFINITY).plan::<f64>().expect(&what);
    let solution = plan.solve(&f).unwrap_or_else(|error| panic!("{what}: {error}"));
    let (u, report) = (&solution.values, &solution.report);
    // The residual itself has a rounding error of a few ε Σ|a| ‖u‖.
    let error = written.backward_error(&f, u, report.removed);
    assert!(report.backward_error <= 2e-15 && error <= 4e-15, "{what}: {:e} {error:e}", report.backward_error);
    if is_singular(axes, shift) {
        assert_eq!(report.mean, Some(0.0), "{what}");
        return;
    }
    // Two solutions with such backward errors can differ by ε times the condition number.
    let expected = written.solve(&f);
    let apart = distance(u, &expected);
    let size: f64 = axes.iter().map(|axis| axis.n as f64).fold(1.0, f64::max);
    let negative = |side: &Boundary| matches!(side.kind, BoundaryKind::Robin { alpha, beta } if alpha * beta < 0.0);
    let indefinite = axes.iter().flat_map(|axis| &axis.sides).any(negative);
    let condition = if indefinite { 1.0 / report.rcond } else { size * size };
    assert!(apart <= 1e-14 + 4e-16 * condition.max(size * size), "{what}: {apart:e} {:e}", report.rcond);
    assert!(report.removed == 0.0 && report.mean.is_none(), "{what}");
}

/// The same axis with variable spacing.
pub fn stretched(mut axis: Axis) -> Axis {
    let dirichlet = axis.sides.iter().filter(|side| side.kind.name() == "dirichlet").count();
    let node = axis.grid == Grid::Node && axis.sides[0].kind.name() != "periodic";
    let count = if node { axis.n + dirichlet } else { axis.n + 1 };
    axis.points = Some((0..count).map(|i| i as f64 + 0.4 * (i as f64 * 0.9).sin()).collect());
    axis
}
