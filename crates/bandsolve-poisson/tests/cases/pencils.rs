//! The general separable form, compared with banded LU of the assembled matrix.

use crate::common::{WrittenOut, distance, right_hand_side};
use bandsolve::Error;
use bandsolve_poisson::{AxisPencil, PoissonMethod, SeparablePencils};

/// The diagonals `[sub, diag, sup]` of A and M of an axis.
#[derive(Clone)]
struct Matrices {
    a: [Vec<f64>; 3],
    m: [Vec<f64>; 3],
}

impl Matrices {
    fn pencil(&self) -> AxisPencil {
        AxisPencil::new(self.a.each_ref().map(|x| &x[..]), self.m.each_ref().map(|x| &x[..]))
    }

    fn len(&self) -> usize {
        self.a[1].len()
    }

    fn scaled(&self, factor: f64) -> Self {
        let times = |x: &[Vec<f64>; 3]| x.each_ref().map(|x| x.iter().map(|x| x * factor).collect());
        Self { a: times(&self.a), m: times(&self.m) }
    }
}

/// Linear finite elements with n unknowns and variable spacing, with u = 0 at both ends. If `lumped`, M is diagonal.
fn elements(n: usize, lumped: bool) -> Matrices {
    let steps = right_hand_side(n + 1, 3 + n as u64);
    let h: Vec<f64> = steps.iter().map(|x| 1.25 + x).collect();
    let each = |of: &dyn Fn(usize) -> f64| -> Vec<f64> { (0..n).map(of).collect() };
    let a = [each(&|i| -1.0 / h[i]), each(&|i| 1.0 / h[i] + 1.0 / h[i + 1]), each(&|i| -1.0 / h[i + 1])];
    let (beside, share) = if lumped { (0.0, 2.0) } else { (6.0f64.recip(), 3.0) };
    let m = [each(&|i| beside * h[i]), each(&|i| (h[i] + h[i + 1]) / share), each(&|i| beside * h[i + 1])];
    Matrices { a, m }
}

/// Upwind differences, with a non-symmetric A.
fn upwind(n: usize) -> Matrices {
    let mut axis = elements(n, false);
    axis.a[0].iter_mut().for_each(|a| *a -= 0.75);
    axis.a[1].iter_mut().for_each(|a| *a += 0.75);
    axis
}

fn write_out(axes: &[Matrices], shift: f64) -> WrittenOut {
    let n: usize = axes.iter().map(Matrices::len).product();
    let at = |matrix: &[Vec<f64>; 3], i: usize, j: usize| matrix[j + 1 - i][i];
    let mut rows = vec![Vec::new(); n];
    for (e, row) in rows.iter_mut().enumerate() {
        // Column, Π m, and for each axis k the product a_k Π_{l≠k} m_l
        let mut terms = vec![(0usize, 1.0, Vec::<f64>::new())];
        let mut stride = n;
        for axis in axes {
            stride /= axis.len();
            let i = e / stride % axis.len();
            let near = i.saturating_sub(1)..(i + 2).min(axis.len());
            let extend = |(column, mass, sums): &(usize, f64, Vec<f64>), j: usize| {
                let (a, m) = (at(&axis.a, i, j), at(&axis.m, i, j));
                let mut next: Vec<f64> = sums.iter().map(|s| s * m).collect();
                next.push(mass * a);
                (column + j * stride, mass * m, next)
            };
            terms =
                terms.iter().flat_map(|term| near.clone().map(move |j| (term, j))).map(|(t, j)| extend(t, j)).collect();
        }
        row.extend(terms.into_iter().map(|(column, mass, sums)| (column, sums.iter().sum::<f64>() + shift * mass)));
    }
    WrittenOut { n, rows, boundary: vec![0.0; n] }
}

fn check(axes: &[Matrices], shift: f64, method: PoissonMethod) {
    let written = write_out(axes, shift);
    let f = right_hand_side(written.n, 5);
    let pencils: Vec<AxisPencil> = axes.iter().map(Matrices::pencil).collect();
    let what = format!("{:?} {shift} {method:?}", axes.iter().map(Matrices::len).collect::<Vec<_>>());
    let plan = SeparablePencils::new(&pencils).shift(shift).method(method).plan::<f64>().expect(&what);
    let solution = plan.solve(&f).expect(&what);
    let error = written.backward_error(&f, &solution.values, 0.0);
    assert!(error <= 2e-15 && solution.report.backward_error <= 2e-15, "{what}: {error:e} {:?}", solution.report);
    let apart = distance(&solution.values, &written.solve(&f));
    assert!(apart <= 1e-11, "{what}: {apart:e}");
}

#[test]
fn finite_elements_as_banded_lu() {
    let shapes: [&[usize]; 12] = [
        &[1],
        &[2],
        &[37],
        &[1, 1],
        &[1, 7],
        &[23, 1],
        &[20, 31],
        &[31, 20],
        &[40, 41],
        &[2, 3, 4],
        &[9, 8, 7],
        &[7, 1, 9],
    ];
    for shape in shapes {
        for shift in [0.0, 0.7, -0.05] {
            let axes: Vec<_> = shape.iter().map(|n| elements(*n, false)).collect();
            check(&axes, shift, PoissonMethod::Auto);
            let lumped: Vec<_> = shape.iter().map(|n| elements(*n, true)).collect();
            check(&lumped, shift, PoissonMethod::Gemm);
        }
    }
}

#[test]
fn partial_solutions_with_diagonal_mass() {
    for shape in [&[7][..], &[20, 31], &[31, 20], &[9, 8, 7]] {
        let lumped: Vec<_> = shape.iter().map(|n| elements(*n, true)).collect();
        check(&lumped, 0.0, PoissonMethod::Pscr);
        check(&lumped, 0.5, PoissonMethod::Pscr);
    }
    let full = [elements(5, false).pencil(), elements(6, true).pencil()];
    let refused = SeparablePencils::new(&full).method(PoissonMethod::Pscr).plan::<f64>();
    assert!(matches!(refused, Err(Error::Unsupported { method: "pscr", .. })));
}

#[test]
fn one_axis_may_have_any_matrices() {
    for shape in [[12usize, 19], [19, 12]] {
        check(&[upwind(shape[0]), elements(shape[1], false)], 0.0, PoissonMethod::Auto);
        check(&[elements(shape[0], false), upwind(shape[1])], 0.3, PoissonMethod::Auto);
    }
    check(&[elements(6, false), upwind(5), elements(7, false)], 0.0, PoissonMethod::Auto);
    let two = [upwind(6).pencil(), upwind(5).pencil()];
    assert!(matches!(SeparablePencils::new(&two).plan::<f64>(), Err(Error::Unsupported { .. })));
}

#[test]
fn negative_definite_matrices() {
    let (one, two) = (elements(11, false), elements(14, false));
    check(&[one.scaled(-1.0), two.clone()], 0.0, PoissonMethod::Auto);
    check(&[one.scaled(-1.0), two.scaled(-2.0)], 0.1, PoissonMethod::Auto);
}

#[test]
fn threads_types_and_unusual_numbers() {
    let pencils = [elements(150, false).pencil(), elements(130, false).pencil()];
    let f = right_hand_side(2 * 150 * 130, 1);
    let solve =
        |threads: usize| SeparablePencils::new(&pencils).threads(threads).plan::<f64>().unwrap().solve(&f).unwrap();
    let one = solve(1);
    for threads in [2, 3, 7] {
        assert_eq!(one, solve(threads));
    }
    let single: Vec<f32> = f.iter().map(|f| *f as f32).collect();
    let plan = SeparablePencils::new(&pencils).plan::<f32>().unwrap();
    assert!(plan.solve(&single).unwrap().report.backward_error <= 8.0 * f64::from(f32::EPSILON));
    let plan = SeparablePencils::new(&pencils).plan::<f64>().unwrap();
    for scale in [1e-300, 1e300] {
        let scaled: Vec<f64> = f.iter().map(|f| f * scale).collect();
        assert!(plan.solve(&scaled).is_ok(), "{scale:e}");
    }
    let mut spoilt = f.clone();
    spoilt[150 * 130 + 7] = f64::NAN;
    assert_eq!(plan.solve(&spoilt).unwrap_err(), Error::NotFinite { array: "f", index: 150 * 130 + 7 });
    assert!(matches!(plan.solve(&f[1..]), Err(Error::Shape { what: "f", .. })));
    assert!(SeparablePencils::new(&[elements(0, false).pencil()]).plan::<f64>().unwrap().solve(&[]).is_ok());
    let short = AxisPencil::new([&[1.0], &[1.0, 2.0], &[1.0, 2.0]], [&[0.0; 2], &[1.0; 2], &[0.0; 2]]);
    assert!(matches!(SeparablePencils::new(&[short]).plan::<f64>(), Err(Error::Shape { what: "pencil", .. })));
}
