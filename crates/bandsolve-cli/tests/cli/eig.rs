//! Tests of `bandsolve eig`.

use crate::*;

fn numbers(value: &serde_json::Value) -> Vec<f64> {
    value.as_array().expect("a list").iter().map(|value| value.as_f64().expect("a real number")).collect()
}

#[test]
fn radiative_transfer_near_its_albedo() {
    let folder = Folder::new();
    let a = folder.path("A.mtx");
    bandsolve(&["generate", "radiative", "8", "64", "--out", &a]).exits(0);
    let json = bandsolve(&["eig", &a, "--target", "0.75", "-k", "5", "--ncv", "16", "--tol", "1e-8", "--json"])
        .exits(0)
        .json();
    // Published distances from 0.75, with six or more digits.
    for (offset, gap) in
        numbers(&json["offsets"]).iter().zip([6.1749e-6, 2.46989e-5, 5.55697e-5, 9.87834e-5, 1.543349e-4])
    {
        assert!((offset + gap).abs() < 1e-5 * gap, "{json}");
    }
    for (value, offset) in numbers(&json["eigenvalues"]).iter().zip(numbers(&json["offsets"])) {
        assert!((value - 0.75 - offset).abs() < 1e-15, "{json}");
    }
    assert!(numbers(&json["residuals"]).len() == 5 && numbers(&json["residuals"]).iter().all(|r| *r < 1e-8), "{json}");
    assert_eq!((&json["solves"], &json["restarts"], &json["hermitian"]), (&16.into(), &0.into(), &true.into()));
    assert!(json["seconds"].as_f64().unwrap() > 0.0 && json["which"] == "nearest", "{json}");
    let report = folder.path("report.json");
    let text = bandsolve(&["eig", &a, "--target", "0.75", "--tol", "1e-8", "--threads", "2", "--json", &report])
        .exits(0)
        .stdout;
    assert!(
        text.contains("converged") && text.contains("16 solves, 0 restarts") && text.contains("offset -6.1749"),
        "{text}"
    );
}

#[test]
fn numbers_of_eigenvalues_are_from_1_to_n() {
    let folder = Folder::new();
    let a = folder.path("A.mtx");
    bandsolve(&["generate", "random", "10", "--out", &a]).exits(0);
    for k in ["0", "11"] {
        let error = bandsolve(&["eig", &a, "-k", k]).exits(2).stderr;
        assert!(error.contains("has 10 rows") && error.contains("from 1 to 10"), "{error}");
    }
}

#[test]
fn pencils_and_ends_of_a_spectrum() {
    let folder = Folder::new();
    // diag(1, …, 30) and 2·I. A stored off-diagonal zero makes the band wider.
    let diagonal = |name: &str, value: fn(usize) -> f64| {
        let entries: String = (1..=30).map(|i| format!("{i} {i} {}\n", value(i))).collect();
        folder.file(name, format!("%%MatrixMarket matrix coordinate real symmetric\n30 30 30\n{entries}"))
    };
    let (a, b) = (diagonal("A.mtx", |i| i as f64), diagonal("B.mtx", |_| 2.0));
    let json = bandsolve(&["eig", &a, &b, "--target", "5.1", "-k", "3", "--json", "-"]).exits(0).json();
    let expected = [5.0, 5.5, 4.5];
    assert!(numbers(&json["eigenvalues"]).iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-12), "{json}");
    let json = bandsolve(&["eig", &a, &b, "--which", "largest-real", "-k", "2", "--json", "-"]).exits(0).json();
    assert!(numbers(&json["eigenvalues"]).iter().zip([15.0, 14.5]).all(|(a, b)| (a - b).abs() < 1e-9), "{json}");
    let json = bandsolve(&["eig", &a, "--which", "smallest-magnitude", "-k", "1", "--json", "-"]).exits(0).json();
    assert!((numbers(&json["eigenvalues"])[0] - 1.0).abs() < 1e-12, "{json}");
    let json = bandsolve(&["eig", &a, &b, "--interval", "4.9", "6.4", "--json", "-"]).exits(0).json();
    assert_eq!((&json["complete"], &json["which"]), (&true.into(), &"interval".into()));
    let text = bandsolve(&["eig", &a, &b, "--interval", "4.9", "6.4"]).exits(0).stdout;
    assert!(text.contains("3 eigenvalues in the interval 4.9 <= λ < 6.4"), "{text}");
    let text = bandsolve(&["eig", &a, &b, "--interval", "5.1", "5.4"]).exits(0).stdout;
    assert!(text.contains("0 eigenvalues in the interval 5.1 <= λ < 5.4"), "{text}");
    let found = numbers(&json["eigenvalues"]);
    assert!(found.len() == 3 && found.iter().zip([5.0, 5.5, 6.0]).all(|(a, b)| (a - b).abs() < 1e-12), "{json}");
    // The target is an eigenvalue.
    let json = bandsolve(&["eig", &a, "--target", "7", "-k", "1", "--json", "-"]).exits(0).json();
    assert!((numbers(&json["eigenvalues"])[0] - 7.0).abs() < 1e-12, "{json}");
}

#[test]
fn complex_eigenvalues_are_pairs_of_numbers() {
    let folder = Folder::new();
    let rotation = "%%MatrixMarket matrix coordinate real general\n4 4 6\n1 1 1\n2 2 1\n1 2 -2\n2 1 2\n3 3 9\n4 4 8\n";
    let a = folder.file("A.mtx", rotation);
    let json = bandsolve(&["eig", &a, "--target", "1.1+2i", "-k", "1", "--json", "-"]).exits(0).json();
    let value = numbers(&json["eigenvalues"][0]);
    assert!((value[0] - 1.0).abs() < 1e-12 && (value[1] - 2.0).abs() < 1e-12 && json["hermitian"] == false, "{json}");
    let offset = numbers(&json["offsets"][0]);
    assert!((offset[0] + 0.1).abs() < 1e-12 && offset[1].abs() < 1e-12, "{json}");
    let json = bandsolve(&["eig", &a, "--which", "smallest-real", "-k", "2", "--json", "-"]).exits(0).json();
    assert_eq!(numbers(&json["eigenvalues"][0])[1], -numbers(&json["eigenvalues"][1])[1], "{json}");
    let text = bandsolve(&["eig", &a, "--target", "8.9", "-k", "1"]).exits(0).stdout;
    assert!(text.contains("general") && text.contains("  offset 0.1  residual"), "{text}");
    let value = text.lines().nth(2).and_then(|line| line.split_whitespace().next()).unwrap();
    assert!((value.parse::<f64>().unwrap() - 9.0).abs() < 1e-12, "{text}");
}

#[test]
fn names_of_scipy_and_digits_of_any_size() {
    let folder = Folder::new();
    let small = folder.file("small.mtx", matrix_market(2, &[(1, 1, 2e-9), (2, 2, 1e-9)]));
    let text = bandsolve(&["eig", &small, "-k", "1", "--which", "LA"]).exits(0).stdout;
    assert!(text.contains("  2.00000e-9  residual"), "{text}");
    let turned = folder.file("turned.mtx", matrix_market(2, &[(1, 2, -1.0 / 3.0), (2, 1, 1.0 / 3.0)]));
    let text = bandsolve(&["eig", &turned, "-k", "2", "--which", "LI"]).exits(0).stdout;
    assert!(text.contains("+ 0.333333i"), "{text}");
}

#[test]
fn a_matrix_without_entries_has_eigenvalues() {
    let folder = Folder::new();
    let zero = folder.file("zero.mtx", matrix_market(3, &[]));
    for options in
        [&["--which", "LM"][..], &["--which", "LA"], &["--which", "SA"], &["--target", "0"], &["--target", "1"]]
    {
        let json = bandsolve(&[&["eig", &zero, "-k", "2", "--json"], options].concat()).exits(0).json();
        assert!(numbers(&json["eigenvalues"]).iter().all(|value| value.abs() < 1e-15), "{options:?}: {json}");
        assert_eq!(json["complete"], true, "{options:?}: {json}");
    }
}

#[test]
fn what_cannot_be_found_says_so() {
    let folder = Folder::new();
    let a = folder.path("A.mtx");
    bandsolve(&["generate", "random", "400", "--out", &a]).exits(0);
    let limited = ["eig", &a, "--which", "largest-real", "--max-iterations", "0", "--tol", "1e-12"];
    let run = bandsolve(&limited).exits(4);
    assert!(run.stderr.contains("restart limit") && run.stderr.contains("--ncv"), "{run:#?}");
    bandsolve(&["eig", &a, "--which", "largest-real", "--target", "1"]).fails(2, "no target");
    bandsolve(&["eig", &a, "--which", "nonsense"]).fails(2, "largest-magnitude");
    bandsolve(&["eig", &a, "--target", "nan"]).fails(2, "expected a finite number");
    bandsolve(&["eig", &a, "--interval", "0", "1"]).fails(3, "is not Hermitian");
    bandsolve(&["eig", &a, "--interval", "0"]).fails(2, "--interval");
    bandsolve(&["eig", &a, "--interval", "5", "3"]).fails(2, "LOW is above HIGH");
    bandsolve(&["eig", &a, "--which", "nonsense"]).fails(2, "and nearest");
    for tolerance in ["1", "-1", "nan"] {
        bandsolve(&["eig", &a, "--tol", tolerance]).fails(2, "expected a number from 0 up to, but not including, 1");
    }
    // A row sum overflows.
    let huge = folder.file("huge.mtx", matrix_market(2, &[(1, 1, 1.7e308), (1, 2, 1.7e308), (2, 2, 1.7e308)]));
    bandsolve(&["eig", &huge, "--which", "largest-real"]).fails(3, "overflows");
    for k in ["401", "100000", "18446744073709551615"] {
        for options in [&["--target", "0.5"][..], &["--which", "largest-real"]] {
            bandsolve(&[&["eig", &a, "-k", k], options].concat()).fails(2, "has 400 rows");
        }
    }
    let singular = folder.file("S.mtx", matrix_market(2, &[(1, 1, 1.0)]));
    let two = folder.file("two.mtx", matrix_market(2, &[(1, 1, 2.0), (2, 2, 3.0)]));
    bandsolve(&["eig", &two, &singular]).fails(4, "S.mtx: B is singular");
    let b = folder.file("B.mtx", "%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 1\n");
    bandsolve(&["eig", &a, &b, "--target", "1"]).fails(3, "has 1 rows");
}

#[test]
fn intervals_of_full_matrices_and_rings() {
    let folder = Folder::new();
    let expected = |name: &str, ends: [&str; 2], values: &[f64]| {
        let json = bandsolve(&["eig", name, "--interval", ends[0], ends[1], "--json"]).exits(0).json();
        let found = numbers(&json["eigenvalues"]);
        assert_eq!((found.len(), &json["complete"]), (values.len(), &true.into()), "{json}");
        assert!(found.iter().zip(values).all(|(found, value)| (found - value).abs() < 1e-12), "{json}");
    };
    // All entries are 1, plus 2 on the diagonal. The eigenvalues are 2, 2, …, n + 2.
    for n in [1, 2, 3, 4, 12] {
        let entries: Vec<_> =
            (0..n * n).map(|at| (at / n + 1, at % n + 1, if at / n == at % n { 3.0 } else { 1.0 })).collect();
        let full = folder.file("full.mtx", matrix_market(n, &entries));
        expected(&full, ["1.9", "2.1"], &vec![2.0; n - 1]);
        expected(&full, ["2.1", "100"], &[n as f64 + 2.0]);
        expected(&full, ["2.5", "2.75"], &[]);
    }
    // Periodic second differences. The eigenvalues are 2 − 2·cos(2π·k/12).
    let n = 12;
    let ring = |i: usize| [(i + 1, i + 1, 2.0), (i + 1, (i + 1) % n + 1, -1.0), ((i + 1) % n + 1, i + 1, -1.0)];
    let ring = folder.file("ring.mtx", matrix_market(n, &(0..n).flat_map(ring).collect::<Vec<_>>()));
    expected(&ring, ["0.5", "2.5"], &[1.0, 1.0, 2.0, 2.0]);
    expected(&ring, ["-1", "0.2"], &[0.0]);
    let json = bandsolve(&["eig", &ring, "--target", "0.9", "-k", "4", "--json"]).exits(0).json();
    assert_eq!(json["complete"], true, "{json}");
}

#[test]
fn an_interval_around_an_eigenvalue_holds_no_other() {
    let folder = Folder::new();
    let values: Vec<f64> = [1.0, 1.00015].into_iter().chain((81..=100).rev().map(f64::from)).collect();
    let entries: Vec<_> = values.iter().enumerate().map(|(i, value)| (i + 1, i + 1, *value)).collect();
    let a = folder.file("A.mtx", matrix_market(values.len(), &entries));
    let json = bandsolve(&["eig", &a, "--interval", "0.99999", "1.00001", "--json"]).exits(0).json();
    assert_eq!((numbers(&json["eigenvalues"]), &json["complete"]), (vec![1.0], &true.into()), "{json}");
}

#[test]
fn eigenvalues_and_eigenvectors_are_written_with_all_digits() {
    let folder = Folder::new();
    let a = folder.file("A.mtx", matrix_market(12, &toeplitz(12, 2.0, &[1], &[1])));
    let (out, vectors) = (folder.path("lambda.mtx"), folder.path("x.mtx"));
    let arguments = ["eig", &a, "--target", "1", "-k", "3", "--out", &out, "--vectors", &vectors];
    let run = bandsolve(&arguments).exits(0);
    let json = bandsolve(&[&arguments[..6], &["--json"]].concat()).exits(0).json();
    let (values, x) = (array_values(&out), array_values(&vectors));
    assert_eq!((values.clone(), x.len()), (numbers(&json["eigenvalues"]), 36));
    for (value, x) in values.iter().zip(x.chunks_exact(12)) {
        let neighbour = |i: usize| x.get(i).copied().unwrap_or(0.0);
        let residual = (0..12).map(|i| 2.0 * x[i] - neighbour(i.wrapping_sub(1)) - neighbour(i + 1) - value * x[i]);
        assert!(residual.map(f64::abs).fold(0.0, f64::max) < 1e-13, "{value}: {x:?}");
    }
    // The screen has six digits.
    let shown = run.stdout.lines().filter(|line| line.contains("offset")).map(|line| line.split_whitespace().next());
    let shown: Vec<f64> = shown.map(|word| word.unwrap().parse().unwrap()).collect();
    assert!(shown.len() == 3 && shown.iter().zip(&values).all(|(shown, value)| shown != value), "{run:?}");
    assert!(shown.iter().zip(&values).all(|(shown, value)| (shown - value).abs() < 5e-6), "{run:?}");
    // Complex eigenvalues make complex files. Standard output gets one of them.
    let rotation = folder.file("R.mtx", matrix_market(2, &[(1, 2, -1.0), (2, 1, 1.0)]));
    let run = bandsolve(&["eig", &rotation, "-k", "2", "--out", "-"]).exits(0);
    assert!(run.stdout.starts_with("%%MatrixMarket matrix array complex general\n2 1\n"), "{run:#?}");
    assert!(run.stderr.contains("general"), "{run:#?}");
    bandsolve(&["eig", &a, "--out", "-", "--vectors", "-"]).fails(2, "same file");
    bandsolve(&["eig", &a, "--vectors", "x.mtz"])
        .fails(2, "--vectors x.mtz: the name must end in .mtx or .npy. Did you mean .mtx?");
    bandsolve(&["eig", &a, "--vectors", "/dev/null", "--out", &folder.path("lambda.npy")]).exits(0);
    assert!(std::fs::read(folder.path("lambda.npy")).unwrap().starts_with(b"\x93NUMPY"));
}
