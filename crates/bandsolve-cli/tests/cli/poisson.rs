//! Tests of `bandsolve poisson`.

use super::{Folder, bandsolve};

/// Write an .npy file of real numbers, in C or Fortran order.
fn npy(folder: &Folder, name: &str, (order, shape): (&str, &str), values: &[f64]) -> String {
    let header = format!("{{'descr': '<f8', 'fortran_order': {order}, 'shape': {shape}, }}\n");
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.as_bytes());
    bytes.extend(values.iter().flat_map(|value| value.to_le_bytes()));
    let path = folder.path(name);
    std::fs::write(&path, bytes).unwrap();
    path
}

/// The header and the last `count` numbers of an .npy file.
fn read(path: &str, count: usize) -> (String, Vec<f64>) {
    let bytes = std::fs::read(path).unwrap();
    let (header, numbers) = bytes.split_at(bytes.len() - 8 * count);
    let number = |bytes: &[u8]| f64::from_le_bytes(bytes.try_into().unwrap());
    (String::from_utf8_lossy(header).into(), numbers.chunks_exact(8).map(number).collect())
}

#[test]
fn the_main_job() {
    let folder = Folder::new();
    let plot = folder.path("u.png");
    for (method, subproblems) in [("auto", 1023), ("bcr2", 9217), ("bcr4", 6657)] {
        let run = bandsolve(&["poisson", "1023", "1023", "--method", method, "--json", "-", "--plot", &plot]);
        let json = run.exits(0).json();
        assert_eq!((&json["subproblems"], &json["shape"][1]), (&subproblems.into(), &1023.into()), "{json}");
        assert!(json["backward_error"].as_f64().unwrap() <= 2e-15, "{json}");
        // An independent slow implementation of the formulas computed this sum.
        let sum = json["u_sum"].as_f64().unwrap();
        assert!((sum / 16_220_504.439903142 - 1.0).abs() < 1e-12, "{json}");
        assert!(json["points_per_second"].as_f64().unwrap() > 0.0, "{json}");
        assert!(std::fs::read(&plot).unwrap().starts_with(b"\x89PNG"));
    }
}

#[test]
fn files_are_read_and_written_in_both_orders() {
    let folder = Folder::new();
    let out = folder.path("u.npy");
    // u = i + 10·j + 1 on 2 × 3 nodes, and u = 0 outside.
    let u = |i: i32, j: i32| if (0..2).contains(&i) && (0..3).contains(&j) { f64::from(i + 10 * j + 1) } else { 0.0 };
    let f = |i: i32, j: i32| 4.0 * u(i, j) - u(i - 1, j) - u(i + 1, j) - u(i, j - 1) - u(i, j + 1);
    let rows: Vec<f64> = (0..2).flat_map(|i| (0..3).map(move |j| (i, j))).map(|(i, j)| f(i, j)).collect();
    let columns: Vec<f64> = (0..3).flat_map(|j| (0..2).map(move |i| (i, j))).map(|(i, j)| f(i, j)).collect();
    let expected: Vec<f64> = (0..2).flat_map(|i| (0..3).map(move |j| (i, j))).map(|(i, j)| u(i, j)).collect();
    for (order, values) in [("False", &rows), ("True", &columns)] {
        let rhs = npy(&folder, "f.npy", (order, "(2, 3)"), values);
        bandsolve(&["poisson", "2", "3", "--rhs", &rhs, "--out", &out]).exits(0);
        let (header, found) = read(&out, 6);
        assert!(header.contains("'fortran_order': False, 'shape': (2, 3)"), "{header}");
        let error = found.iter().zip(&expected).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        assert!(error < 1e-12, "{order}: {found:?}");
    }
    let rhs = npy(&folder, "f.npy", ("False", "(3, 2)"), &rows);
    bandsolve(&["poisson", "2", "3", "--rhs", &rhs]).fails(3, "the array is 3 × 2, but the problem is 2 × 3");
    bandsolve(&["poisson", "2", "3", "--rhs", &rhs, "--out", &rhs]).fails(2, "is also an input");
    bandsolve(&["poisson", "2", "3", "--out", "u.mtx"]).fails(2, "must end in .npy");
}

#[test]
fn boundaries_grids_and_spacings_are_by_axis() {
    let json = |options: &[&str]| bandsolve(&[&["poisson"], options, &["--json", "-"]].concat()).exits(0).json();
    // u = 1 solves −Δu = 0 with the boundary values u = 1, with zero flux, and with periodic boundaries.
    let folder = Folder::new();
    let zeros = npy(&folder, "f.npy", ("False", "(60,)"), &[0.0; 60]);
    let sides = "dirichlet=1/neumann,periodic,neumann/dirichlet=1";
    let found = json(&[
        "3",
        "4",
        "5",
        "--rhs",
        &zeros,
        "--boundary",
        sides,
        "--grid",
        "cell,node,node",
        "--spacing",
        "0.5,2,3",
    ]);
    for (key, value) in [("u_min", 1.0), ("u_max", 1.0), ("u_sum", 60.0)] {
        assert!((found[key].as_f64().unwrap() - value).abs() < 1e-13 * value, "{found}");
    }
    assert_eq!(found["boundary"][0], serde_json::json!(["dirichlet", "neumann"]));
    // For a constant f, only the shift c acts: u = f/c.
    let found = json(&[
        "7",
        "--boundary",
        "periodic",
        "--rhs",
        &npy(&folder, "g.npy", ("False", "(7,)"), &[3.0; 7]),
        "--shift",
        "1.5",
    ]);
    assert!((found["u_max"].as_f64().unwrap() - 2.0).abs() < 1e-14 && found["mean"].is_null(), "{found}");
    // The problem is singular. `--mean` fixes the mean of u. The solver removes the mean of f, or rejects f without `--removable`.
    let found = json(&["64", "64", "--boundary", "neumann", "--grid", "cell", "--mean", "2", "--dtype", "f32"]);
    // Single precision: entries up to 10 with 24 bits.
    assert!((found["u_sum"].as_f64().unwrap() / 4096.0 - 2.0).abs() < 1e-4 && found["mean"] == 2.0, "{found}");
    let ones = npy(&folder, "f.npy", ("False", "(12,)"), &[1.0; 12]);
    bandsolve(&["poisson", "3", "4", "--boundary", "neumann", "--rhs", &ones]).fails(4, "--removable");
    bandsolve(&["poisson", "3", "4", "--boundary", "periodic/neumann"]).fails(2, "periodic");
    bandsolve(&["poisson", "3", "4", "--boundary", "dirichlet,dirichlet,dirichlet"])
        .fails(2, "3 values are given for 2 axes");
    bandsolve(&["poisson", "3", "4", "--boundary", "robin"]).fails(2, "robin:ALPHA:BETA");
    bandsolve(&["poisson", "3", "--boundary", "robin:1"]).fails(2, "expected two finite numbers");
    bandsolve(&["poisson", "3", "--boundary", "robin:1:0=2"]).fails(2, "BETA is 0");
    bandsolve(&["poisson", "3", "--boundary", "robyn"]).fails(2, "robin:ALPHA:BETA");
    // u = 1 also solves u + 2 ∂u/∂n = 1.
    let zeros = npy(&folder, "zeros.npy", ("False", "(12,)"), &[0.0; 12]);
    let found = json(&["3", "4", "--rhs", &zeros, "--boundary", "robin:1:2=1/dirichlet=1,neumann"]);
    assert_eq!(found["boundary"], serde_json::json!([["robin", "dirichlet"], ["neumann", "neumann"]]));
    assert_eq!(found["boundary_coefficients"], serde_json::json!([[[1.0, 2.0], null], [null, null]]));
    assert!((found["u_min"].as_f64().unwrap() - 1.0).abs() < 1e-13, "{found}");
    assert!((found["u_max"].as_f64().unwrap() - 1.0).abs() < 1e-13, "{found}");
    bandsolve(&["poisson", "3", "--spacing", "0"]).fails(2, "spacing[0] is 0, expected a number between");
    bandsolve(&["poisson", "1000000", "1000000"]).fails(2, "are free");
    assert_eq!(json(&["0", "3"])["subproblems"], 0);
}

#[test]
fn two_matrices_an_axis_come_from_files() {
    let folder = Folder::new();
    // Linear finite elements of width 1 for 3 and 4 unknowns: K = (−1, 2, −1), M = (1, 4, 1)/6. The unused array entries are 9.
    let elements = |n: usize| {
        let row = |first: f64, inner: f64, last: f64| -> Vec<f64> {
            (0..n)
                .map(|i| {
                    if i == 0 {
                        first
                    } else if i + 1 == n {
                        last
                    } else {
                        inner
                    }
                })
                .collect()
        };
        let (k, m) = ([row(9.0, -1.0, -1.0), vec![2.0; n], row(-1.0, -1.0, 9.0)], 1.0 / 6.0);
        [k, [row(9.0, m, m), vec![4.0 * m; n], row(m, m, 9.0)]].concat().concat()
    };
    let x = npy(&folder, "x.npy", ("False", "(6, 3)"), &elements(3));
    let y = npy(&folder, "y.npy", ("False", "(6, 4)"), &elements(4));
    let plain = npy(&folder, "plain.npy", ("False", "(3, 4)"), &elements(4)[..12]);
    let u = |i: usize, j: usize| (1 + i + 10 * j) as f64;
    let entry = |n: usize, which: usize, i: usize, j: usize| match i.abs_diff(j) {
        0 | 1 => elements(n)[(3 * which + 1 + j - i) * n + i],
        _ => 0.0,
    };
    for (second, identity) in [(&y, false), (&plain, true)] {
        let mass = |i: usize, j: usize| if identity { f64::from(u8::from(i == j)) } else { entry(4, 1, i, j) };
        let f: Vec<f64> = (0..12)
            .map(|e| {
                let (i, j) = (e / 4, e % 4);
                let term = |p: usize, q: usize| {
                    entry(3, 0, i, p) * mass(j, q) + entry(3, 1, i, p) * (entry(4, 0, j, q) + 0.5 * mass(j, q))
                };
                (0..12).map(|g| term(g / 4, g % 4) * u(g / 4, g % 4)).sum()
            })
            .collect();
        let rhs = npy(&folder, "f.npy", ("False", "(3, 4)"), &f);
        let (files, out) = (format!("{x},{second}"), folder.path("u.npy"));
        let options = ["poisson", "--pencils", &files, "--shift", "0.5", "--rhs", &rhs, "--out", &out, "--json", "-"];
        let json = bandsolve(&options).exits(0).json();
        assert_eq!((&json["method"], &json["shape"]), (&"gemm".into(), &serde_json::json!([3, 4])), "{json}");
        assert!(json["backward_error"].as_f64().unwrap() <= 2e-15, "{json}");
        let found = read(&out, 12).1;
        let error = (0..12).map(|e| (found[e] - u(e / 4, e % 4)).abs()).fold(0.0, f64::max);
        assert!(error < 1e-12, "{found:?}");
    }
    bandsolve(&["poisson", "--pencils", &x]).exits(0);
    let odd = npy(&folder, "odd.npy", ("False", "(4, 3)"), &[1.0; 12]);
    bandsolve(&["poisson", "--pencils", &odd]).fails(3, "the array is 4 × 3, expected 6 × n");
    bandsolve(&["poisson", "3", "4", "--pencils", &x]).fails(2, "cannot be used with");
    bandsolve(&["poisson", "--pencils", &[&x[..]; 4].join(",")]).fails(2, "4 files are given");
    bandsolve(&["poisson", "--pencils", &x, "--method", "bcr2"]).fails(2, "two matrices per axis");
    bandsolve(&["poisson"]).fails(2, "required");
}

#[test]
fn pictures_of_one_and_three_dimensions() {
    let folder = Folder::new();
    let plot = folder.path("u.svg");
    for (shape, said) in [
        (&["50"][..], "u along the axis"),
        (&["5", "6", "7"], "plane 3 of 5"),
        (&["9", "9"], "axis 1"),
        (&["1", "1"], "on the grid"),
    ] {
        bandsolve(&[&["poisson"], shape, &["--plot", &plot]].concat()).exits(0);
        assert!(std::fs::read_to_string(&plot).unwrap().contains(said));
    }
}
