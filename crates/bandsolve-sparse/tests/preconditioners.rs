//! Preconditioners and Krylov methods, compared with results of slow reference implementations.

use bandsolve::dyn_stack::{PodBuffer, PodStack};
use bandsolve::{Error, LinearOperator};
use bandsolve_sparse::{
    Csr, ForestProduct, GraphFactorOptions, KrylovMethod, KrylovSolver, MODEL_PROBLEMS, PRECONDITIONERS,
    Preconditioner, PreconditionerOptions,
};
use serde_json::Value;

type Matrix = Csr<'static, f64, u32>;

fn golden(file: &str) -> Option<Value> {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/golden").join(file);
    let Ok(text) = std::fs::read_to_string(&path) else {
        bandsolve_testkit::skipped("no ../shared/golden beside the checkout: preconditioners and iterations");
        return None;
    };
    Some(serde_json::from_str(&text).expect("JSON"))
}

fn model(name: &str, n: usize) -> Matrix {
    let problem = MODEL_PROBLEMS.iter().find(|problem| problem.name == name.to_lowercase());
    (problem.expect("a model problem").make)(n)
}

fn numbers(value: &Value) -> Vec<f64> {
    serde_json::from_value(value.clone()).unwrap_or_else(|_| panic!("numbers: {value}"))
}

fn preconditioner<'a>(a: &'a Matrix, name: &str) -> Preconditioner<'a, f64> {
    Preconditioner::new(a, name.parse().unwrap(), &PreconditionerOptions::default()).unwrap()
}

fn apply(m: &dyn LinearOperator<f64>, r: &[f64]) -> Vec<f64> {
    // The contents of the scratch memory must not matter.
    let mut memory = PodBuffer::new(m.apply_scratch());
    memory.fill(0xff);
    let mut z = vec![f64::NAN; r.len()];
    m.apply(r, &mut z, PodStack::new(&mut memory)).unwrap();
    z
}

/// The numbers of a linear congruential generator that starts with 1, as in the file.
fn lcg(n: usize) -> Vec<f64> {
    let next = |x: &mut u64| {
        *x = (1_103_515_245 * *x + 12_345) % (1 << 31);
        Some(2.0 * *x as f64 / (1_u64 << 31) as f64 - 1.0)
    };
    let mut state = 1;
    std::iter::from_fn(|| next(&mut state)).take(n).collect()
}

#[test]
fn applied_they_give_the_golden_vectors() {
    let Some(cases) = golden("preconditioner_small.json") else { return };
    for case in cases.as_array().expect("a list") {
        let name = case["matrix"].as_str().expect("a name");
        let n = case["n"].as_u64().expect("a size") as usize;
        // Do not read the stencil from the file, because its numbers may be rounded, which changes the order of equal weights.
        let a = model(name, n);
        let r = lcg(n * n);
        let mut seen = 0;
        for (key, expected) in case.as_object().expect("a case") {
            let scaled = if key.ends_with('*') { ":scaled" } else { "" };
            let plain = key.trim_end_matches('*');
            let (of, m) = plain.split_at(plain.len().saturating_sub(1));
            let kind = match of {
                "ALTi" => format!("alt-i:{m}"),
                "MOSd" => format!("mos-d:{m}"),
                "MOSa" => format!("mos-a:{m}{scaled}"),
                "ISAI" => format!("ilu-isai:{m}"),
                "ILU" => "ilu0".into(),
                _ => continue,
            };
            let z = apply(&preconditioner(&a, &kind), &r);
            let expected = numbers(expected);
            let largest = expected.iter().fold(0.0, |largest, v| f64::max(largest, v.abs()));
            for (i, (got, expected)) in z.iter().zip(&expected).enumerate() {
                assert!((got - expected).abs() <= 1e-12 * largest, "{name} {kind} row {i}: {got} {expected}");
            }
            seen += 1;
        }
        for m in 1..=4 {
            let Some(expected) = case.get(format!("MOSa{m}_T")) else { continue };
            let product = ForestProduct::adaptive(&a, m, false, &GraphFactorOptions::default()).unwrap();
            for (got, expected) in product.inverse_diagonal().iter().zip(numbers(expected)) {
                assert!((1.0 / got - expected).abs() <= 1e-12, "{name} T {m}: {got} {expected}");
            }
        }
        for (kind, key) in [("diagp1", "diagp1"), ("diagp2", "diagp2")] {
            let z = apply(&preconditioner(&a, kind), &r);
            for ((got, d), r) in z.iter().zip(numbers(&case[key])).zip(&r) {
                assert!((got * d - r).abs() <= 1e-15, "{name} {kind}");
            }
        }
        assert!(seen >= 10, "{name}: {seen} vectors");
    }
}

/// The vector sin(2π·8·i/N), and its product with A.
fn wave(a: &Matrix) -> (Vec<f64>, Vec<f64>) {
    let n = a.rows();
    let x: Vec<f64> = (0..n).map(|i| (std::f64::consts::TAU * 8.0 * i as f64 / n as f64).sin()).collect();
    let rhs = apply(a, &x);
    (x, rhs)
}

#[test]
fn iterations_are_the_golden_ones() {
    let Some(file) = golden("gmres20_200.json") else { return };
    for (name, cases) in file.as_object().expect("problems") {
        let a = model(name, 200);
        let (_, rhs) = wave(&a);
        for (key, expected) in cases.as_object().expect("cases") {
            let kind = match key.as_str() {
                "diagp0=Jacobi" => "jacobi".into(),
                "tri(orig)" => "tridiagonal".into(),
                "geomADI m=2" => "adi:200x200".into(),
                "ILU(0)" => "ilu0".into(),
                "bnorm" | "coverage_MOSd" => continue,
                other => {
                    let kind =
                        other.to_lowercase().replace(" m=", ":").replace("ilu-isai(", "ilu-isai:").replace(')', "");
                    if kind.contains('*') { format!("{}:scaled", kind.replace('*', "")) } else { kind }
                }
            };
            // One preconditioner of each kind, and the most important ones.
            if ["diagp1", "diagp2", "alt-i:1", "alt-i:3", "alt-o:3", "mos-d:1", "mos-d:3", "mos-a:1"]
                .contains(&kind.as_str())
            {
                continue;
            }
            let m = preconditioner(&a, &kind);
            let mut methods = vec![(KrylovMethod::Gmres { restart: 20 }, &expected["it"])];
            if let Some(iterations) = expected.get("bicgstab") {
                methods.push((KrylovMethod::Bicgstab, iterations));
            }
            for (method, iterations) in methods {
                let iterations = iterations.as_u64().expect("iterations") as f64;
                let mut x = vec![0.0; rhs.len()];
                let solver = KrylovSolver::new(method).rtol(1e-6);
                let report = solver.solve(&a, Some(&m), &rhs, &mut x).unwrap();
                println!("{name} {kind} {method}: {} iterations, {iterations} expected", report.iterations);
                assert!(
                    report.converged() && report.relative_residual() <= 1e-6,
                    "{name} {kind} {method}: {}",
                    report.ending
                );
                if method == KrylovMethod::Bicgstab {
                    begins_as_the_textbook_says((&a, &m), &rhs, &report.history, &format!("{name} {kind}"));
                    continue;
                }
                // GMRES minimises residuals over spaces that rounding hardly changes. The count changes only if a residual is near the tolerance.
                let ratio = report.iterations as f64 / iterations;
                assert!((ratio - 1.0).abs() <= 0.02, "{name} {kind} {method}: {} {iterations}", report.iterations);
            }
        }
    }
}

/// Residual norms of BiCGStab as in van der Vorst's paper, with plain sums, starting from x = 0.
fn textbook_bicgstab(a: &Matrix, m: &dyn LinearOperator<f64>, rhs: &[f64], iterations: usize) -> Vec<f64> {
    let dot = |u: &[f64], v: &[f64]| u.iter().zip(v).map(|(u, v)| u * v).sum::<f64>();
    let plus = |u: &[f64], c: f64, v: &[f64]| u.iter().zip(v).map(|(u, v)| u + c * v).collect::<Vec<f64>>();
    let mut r = rhs.to_vec();
    let mut norms = vec![dot(&r, &r).sqrt()];
    let (mut p, mut rho) = (r.clone(), dot(rhs, &r));
    for _ in 0..iterations {
        let v = apply(a, &apply(m, &p));
        let alpha = rho / dot(rhs, &v);
        let s = plus(&r, -alpha, &v);
        let t = apply(a, &apply(m, &s));
        let omega = dot(&t, &s) / dot(&t, &t);
        r = plus(&s, -omega, &t);
        norms.push(dot(&r, &r).sqrt());
        let next = dot(rhs, &r);
        let beta = next / rho * (alpha / omega);
        (p, rho) = (plus(&r, beta, &plus(&p, -omega, &v)), next);
    }
    norms
}

/// Rounding errors in the residuals of BiCGStab grow, and change the number of iterations, so the test does not compare this number. The first
/// residuals equal those of the algorithm in the paper. As long as a change of each element of the right-hand side by ε changes the residuals by less
/// than 1e-6, the residuals of this crate may differ by 1e-3. Its sums have another order, which changes them by at most √n·ε < 1000·ε here.
fn begins_as_the_textbook_says((a, m): (&Matrix, &dyn LinearOperator<f64>), rhs: &[f64], history: &[f64], what: &str) {
    let steps = (history.len() - 1).min(12);
    let expected = textbook_bicgstab(a, m, rhs, steps);
    let moved = |seed: usize| {
        let by = |i: usize| 1.0 + f64::EPSILON * ((i * 7 + seed * 13) as f64).sin();
        let rhs: Vec<f64> = rhs.iter().enumerate().map(|(i, d)| d * by(i)).collect();
        textbook_bicgstab(a, m, &rhs, steps)
    };
    let others = [moved(1), moved(2), moved(3)];
    let stays = |k: &usize| others.iter().all(|other| (other[*k] - expected[*k]).abs() <= 1e-6 * expected[*k]);
    let known = (0..=steps).take_while(stays).count();
    // Some iterations, or all of a short solve, come before rounding errors dominate.
    assert!(known > 5 || known > steps, "{what}: {known} of {steps}");
    for k in 0..known {
        let (got, expected) = (history[k], expected[k]);
        assert!((got - expected).abs() <= 1e-3 * expected, "{what}, iteration {k} of {known}: {got:e} {expected:e}");
    }
}

#[test]
fn what_cannot_be_made_is_an_error() {
    let a = Csr::<f64, u32>::from_triplets(3, 3, &[(0, 0, 1.0), (1, 0, 1.0), (1, 2, 1.0), (2, 2, 1.0)]).unwrap();
    for kind in ["jacobi", "ilu0"] {
        let made = Preconditioner::new(&a, kind.parse().unwrap(), &PreconditionerOptions::default());
        assert!(matches!(made, Err(Error::Singular { .. })), "{kind}");
    }
    let made = Preconditioner::new(&a, "adi:2x2".parse().unwrap(), &PreconditionerOptions::default());
    assert!(matches!(made, Err(Error::Shape { what: "unknowns of the grid", expected: 3, got: 4 })));
}

/// A chain of strongly coupled pairs of unknowns with a single unknown at its end, numbered at random. The block tridiagonal system is the matrix
/// itself.
#[test]
fn pairs_in_a_row_are_solved_at_once() {
    let pairs = 40;
    let n = 2 * pairs + 1;
    let name = |i: usize| (i * 37 + 11) % n;
    let mut entries = Vec::new();
    for i in 0..n {
        entries.push((name(i), name(i), 9.0 + i as f64 / 10.0));
        // The coupling within a pair, then the couplings to both unknowns of the next pair.
        let next = if i % 2 == 0 { 1 } else { 0 };
        let couplings = [(next, -4.0), (next + 1, -0.7), (next + 2, -0.6)];
        for (far, value) in couplings.into_iter().filter(|(far, _)| *far > 0 && i + far < n) {
            entries.extend([(name(i), name(i + far), value), (name(i + far), name(i), 1.1 * value)]);
        }
    }
    let a = Matrix::from_triplets(n, n, &entries).unwrap();
    let x: Vec<f64> = (0..n).map(|i| (i as f64).sin()).collect();
    let z = apply(&preconditioner(&a, "forest-block"), &apply(&a, &x));
    assert!(z.iter().zip(&x).all(|(z, x)| (z - x).abs() < 1e-13), "{z:?}");
}

/// Three adjacent strong lines of odd length with weak couplings between them. Pairs do not join two lines, so the block system contains all lines, and
/// the iteration converges as fast as with the lines.
#[test]
fn pairs_do_not_join_lines() {
    let (long, lines) = (41, 3);
    let n = long * lines;
    let mut entries = Vec::new();
    for i in 0..n {
        entries.push((i, i, 2.01));
        let along = (i % long + 1 < long).then_some((i + 1, -1.0));
        let across = (i + long < n).then_some((i + long, -0.004));
        for (j, value) in along.into_iter().chain(across) {
            entries.extend([(i, j, value), (j, i, value)]);
        }
    }
    let a = Matrix::from_triplets(n, n, &entries).unwrap();
    let rhs: Vec<f64> = (0..n).map(|i| (i as f64).sin()).collect();
    let iterations = |kind: &str| {
        let mut x = vec![0.0; n];
        let solver = KrylovSolver::new(KrylovMethod::Gmres { restart: 30 });
        let report = solver.solve(&a, Some(&preconditioner(&a, kind)), &rhs, &mut x).unwrap();
        assert!(report.converged(), "{kind}");
        report.iterations
    };
    let (pairs, lines) = (iterations("forest-block"), iterations("forest"));
    assert!(pairs <= lines, "{pairs} {lines}");
}

/// The choice of `auto`, and a word of its reason.
fn taken(a: &Matrix) -> (String, String) {
    let m = preconditioner(a, "auto");
    (m.kind().to_string(), m.reason().to_string())
}

/// Diffusion with convection along the rows of a grid, by upwind differences.
fn convection(n: usize) -> Matrix {
    bandsolve_sparse::nine_point([[0.0, -1.0, 0.0], [-2.0, 5.0, -1.0], [0.0, -1.0, 0.0]], (n, n))
}

/// Coefficients of cells that are 1 or 10⁴. Multigrid needs a quarter of the iterations of ILU(0), which `auto` chose in an earlier version.
#[test]
fn auto_takes_several_levels_where_coefficients_jump() {
    let n = 28_usize;
    let chance = lcg(n * n * n);
    let cell = |i: usize| [i % n, i / n % n, i / (n * n)];
    let k = |i: usize| if chance[i] < 0.0 { 1.0 } else { 1e4 };
    let mut entries = Vec::new();
    for i in 0..n * n * n {
        let mut diagonal = 0.0;
        for (axis, step) in [1, n, n * n].into_iter().enumerate() {
            for (inside, j) in [(cell(i)[axis] > 0, i.wrapping_sub(step)), (cell(i)[axis] + 1 < n, i + step)] {
                let weight = if inside { 2.0 * k(i) * k(j) / (k(i) + k(j)) } else { k(i) };
                diagonal += weight;
                entries.extend(inside.then_some((i, j, -weight)));
            }
        }
        entries.push((i, i, diagonal));
    }
    let a = Matrix::from_triplets(n * n * n, n * n * n, &entries).unwrap();
    let m = preconditioner(&a, "auto");
    println!("{}", m.reason());
    assert_eq!((m.kind().to_string().as_str(), m.method()), ("amg-lines:1", Some(KrylovMethod::Cg)), "{}", m.reason());
}

#[test]
fn auto_takes_what_suits() {
    let tridiagonal = |n: usize, own: f64, beside: f64| {
        let entries = (0..n).flat_map(|i| [(i, i, own), (i, (i + 1) % n, beside), ((i + 1) % n, i, beside)]);
        Csr::from_triplets(n, n, &entries.collect::<Vec<_>>()).unwrap()
    };
    for (a, kind, word) in [
        (tridiagonal(50, 4.0, 1.0), "jacobi", "twice the sum"),
        (tridiagonal(500, 2.0, -1.0), "tridiagonal", "of the off-diagonal weight is next to the diagonal"),
        // Many unknowns, so that errors are smooth.
        (model("laplace2d", 130), "amg-lines:1", "amg-lines:1 with cg brings"),
    ] {
        let (taken, reason) = taken(&a);
        assert!(taken == kind && reason.contains(word), "{kind}: {taken}, {reason}");
    }
    // The preconditioner has the name of its choice, and the method.
    for (a, is_definite) in [(model("aniso1", 30), true), (convection(30), false)] {
        let m = preconditioner(&a, "auto");
        let method = m.method().expect("of auto");
        assert!(m.reason().contains(&format!("{} with", m.kind())), "{}: {}", m.kind(), m.reason());
        assert_eq!(method == KrylovMethod::Cg, is_definite, "{method}: {}", m.reason());
        let rhs = vec![1.0; a.rows()];
        let report = KrylovSolver::new(method).rtol(1e-8).solve(&a, Some(&m), &rhs, &mut vec![0.0; a.rows()]).unwrap();
        assert!(report.converged(), "{method}: {}", report.ending);
    }
    assert_eq!(preconditioner(&model("aniso1", 5), "ilu0").method(), None);
    // An indefinite Hermitian matrix with a positive diagonal. `auto` does not choose conjugate gradients.
    for shift in [0.3, 1.0, 2.0] {
        let a = model("laplace2d", 30).shifted(shift, None).unwrap();
        let m = preconditioner(&a, "auto");
        let (method, rhs) = (m.method().expect("of auto"), lcg(a.rows()));
        assert!(method != KrylovMethod::Cg && m.reason().contains("not positive definite"), "{shift}: {}", m.reason());
        let report = KrylovSolver::new(method).rtol(1e-6).solve(&a, Some(&m), &rhs, &mut vec![0.0; a.rows()]).unwrap();
        assert_ne!(report.ending, bandsolve_sparse::Ending::Breakdown, "{shift} {method}: {}", m.reason());
    }
    // Entries with squares outside the range.
    for size in [1e160, 1e-170] {
        let scaled = |a: &Matrix| {
            let entries = (0..a.rows()).flat_map(|i| a.row(i).map(move |(j, value)| (i, j, value * size)));
            Matrix::from_triplets(a.rows(), a.rows(), &entries.collect::<Vec<_>>()).unwrap()
        };
        for (a, is_definite) in [(model("aniso1", 30), true), (convection(30), false)] {
            let a = scaled(&a);
            let m = preconditioner(&a, "auto");
            assert_eq!(m.method() == Some(KrylovMethod::Cg), is_definite, "{size}: {}", m.reason());
        }
    }
    // Half of the rows have no diagonal entry, only couplings of pairs.
    let n = 60;
    let pairs = (0..n).map(|i| (i, i ^ 1, 3.0)).chain((0..n).map(|i| (i, (i + 2) % n, 0.5)));
    let a =
        Csr::from_triplets(n, n, &pairs.chain((0..n / 2).map(|i| (2 * i, 2 * i, 1.0))).collect::<Vec<_>>()).unwrap();
    let (kind, reason) = taken(&a);
    assert!(reason.starts_with("30 of 60 rows have no diagonal entry") && reason.contains(&kind), "{kind}: {reason}");
    // A matrix without entries, and a matrix of NaN.
    assert_eq!(taken(&Csr::from_triplets(0, 0, &[]).unwrap()).0, "jacobi");
    let (kind, reason) = taken(&Csr::from_triplets(2, 2, &[(0, 1, f64::NAN), (1, 0, 1.0)]).unwrap());
    assert!(reason.contains("2 of 2 rows"), "{kind}: {reason}");
}

#[test]
fn as_many_forests_as_are_worth_it() {
    let share = |kind: &str, a: &Matrix| {
        let m = preconditioner(a, kind);
        assert!(m.reason().contains("of the weight"), "{kind}: {}", m.reason());
        m.kind().to_string()
    };
    // The weight is in one direction, then equally in two directions.
    let line = model("laplace2d", 1);
    assert_eq!(share("alt-i", &line), "alt-i:1");
    let grid = model("laplace2d", 40);
    for kind in ["alt-i", "alt-o", "mos-d", "mos-a", "mos-a:scaled"] {
        let (made, asked) = (share(kind, &grid), kind.split(':').next().unwrap());
        assert!(
            made.starts_with(asked) && (kind == "mos-a" || !made.starts_with(&format!("{asked}:1"))),
            "{kind}: {made}"
        );
        // The same kind, with the number of forests.
        let (few, many) = (preconditioner(&grid, kind), preconditioner(&grid, &made));
        let r = lcg(grid.rows());
        assert_eq!(apply(&few, &r), apply(&many, &r), "{made}");
        assert!(many.reason().is_empty(), "{made}");
    }
}

/// A star with the first or the last unknown as centre. The couplings are −1, and the diagonal is 4 except for the centre.
fn star(n: usize, centre: usize) -> Matrix {
    let entries = (0..n).flat_map(|i| match i == centre {
        true => vec![(i, i, 2.0 * n as f64)],
        false => vec![(i, i, 4.0), (i, centre, -1.0), (centre, i, -1.0)],
    });
    Matrix::from_triplets(n, n, &entries.collect::<Vec<_>>()).unwrap()
}

/// The cost of a row must not depend on the length of other rows. Otherwise this test would need 10¹¹ steps.
#[test]
fn a_hub_that_comes_first_costs_no_more_than_one_that_comes_last() {
    let n = 500_000;
    for centre in [0, n - 1] {
        let a = star(n, centre);
        let r = vec![1.0; n];
        let z = apply(&preconditioner(&a, "ilu0"), &r);
        if centre == n - 1 {
            // There is no fill-in, so L·U = A.
            let back = apply(&a, &z);
            // The limit covers the sum of n numbers with these moduli.
            let moduli: Vec<f64> = z.iter().map(|z| z.abs()).collect();
            let row = |i: usize| a.row(i).map(|(j, value)| value.abs() * moduli[j]).sum::<f64>();
            let allowed = |i: usize| 2.0 * n as f64 * f64::EPSILON * (row(i) + 1.0);
            assert!((0..n).all(|i| (back[i] - r[i]).abs() <= allowed(i)), "last");
        } else {
            // The elimination drops entries between two leaves. U has 4 − 1/(2n) for a leaf, and L has −1/(2n) in the first column.
            let leaf = (1.0 + 0.5 / n as f64) / (4.0 - 0.5 / n as f64);
            assert!(z[1..].iter().all(|z| (z - leaf).abs() < 1e-14), "{} {leaf}", z[1]);
            let hub = (1.0 + (n - 1) as f64 * leaf) / (2.0 * n as f64);
            assert!((z[0] - hub).abs() < 1e-9, "{} {hub}", z[0]);
        }
        for kind in ["ilu-isai:1", "mos-a:2"] {
            assert!(apply(&preconditioner(&a, kind), &r).iter().all(|z| z.is_finite()), "{kind}");
        }
    }
}

/// Rows of the inverses are equal if their systems are solved by columns and by pairs.
#[test]
fn long_rows_of_incomplete_inverses_are_exact() {
    for centre in [0, 199] {
        let a = star(200, centre);
        let (exact, r) = (preconditioner(&a, "ilu0"), lcg(200));
        // If a triangle has one long row or column, its inverse on its own pattern is exact, and sweeps change nothing.
        let (z, expected) = (apply(&preconditioner(&a, "ilu-isai:3"), &r), apply(&exact, &r));
        assert!(z.iter().zip(&expected).all(|(z, expected)| (z - expected).abs() < 1e-12), "{centre}");
    }
}

/// The documentation explains every name of the table.
#[test]
fn pages_explain_every_name() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    for (page, quote) in
        [("docs/math/preconditioners.md", "`"), ("docs/sparse-systems.md", "`"), ("python/bandsolve/sparse.py", "")]
    {
        let text = std::fs::read_to_string(root.join(page)).unwrap();
        for name in PRECONDITIONERS.split(", ") {
            let name = name.split(':').next().unwrap();
            assert!(text.contains(&format!("{quote}{name}")), "{page} does not explain {name}");
        }
    }
}
