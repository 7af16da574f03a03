//! Tests of `bandsolve iterate`, `bandsolve forest` and the model problems of `bandsolve generate`.

use crate::*;

fn generated(folder: &Folder, family: &str, n: &str) -> String {
    let a = folder.path(&format!("{family}.mtx"));
    bandsolve(&["generate", family, n, "--out", &a]).exits(0);
    a
}

#[test]
fn a_model_problem_is_solved_and_reported() {
    let folder = Folder::new();
    let a = generated(&folder, "aniso1", "40");
    let (x, plot) = (folder.path("x.mtx"), folder.path("history.svg"));
    let options = ["--solver", "gmres:20", "--precond", "alt-i:2", "--tol", "1e-8", "--out", &x, "--plot", &plot];
    let json = bandsolve(&[&["iterate", &a, "--json", "-"], &options[..]].concat()).exits(0).json();
    assert_eq!((&json["solver"], &json["preconditioner"]), (&"gmres:20".into(), &"alt-i:2".into()));
    assert_eq!((&json["converged"], &json["ending"], &json["n"]), (&true.into(), &"converged".into(), &1600.into()));
    assert!(json["residual"].as_f64().unwrap() <= 1e-8 && json["forward_error"].as_f64().unwrap() < 1e-5, "{json}");
    let iterations = json["iterations"].as_u64().unwrap() as usize;
    assert!(json["history"].as_array().unwrap().len() == iterations + 1 && iterations < 60, "{json}");
    assert!(json["seconds_setup"].as_f64().unwrap() > 0.0 && json["seconds"].as_f64().unwrap() > 0.0);
    assert_eq!(json["reason"], "requested by name");
    assert!(std::fs::read_to_string(&plot).unwrap().contains("after each iteration"));
    // Without `--rhs`, the program computes the right-hand side from a known solution.
    assert!(std::fs::read_to_string(&x).unwrap().starts_with("%%MatrixMarket matrix array real general"));
    let text = bandsolve(&["iterate", &a]).exits(0).stdout;
    // The report contains the chosen method and the reason.
    assert!(text.contains("words per row") && text.contains("cg"), "{text}");
}

#[test]
fn right_hand_sides_are_read_and_what_does_not_converge_says_so() {
    let folder = Folder::new();
    let a = generated(&folder, "laplace3d", "6");
    let rhs = folder.file("b.mtx", format!("%%MatrixMarket matrix array real general\n216 1\n{}", "1\n".repeat(216)));
    let json = bandsolve(&["iterate", &a, "--rhs", &rhs, "--solver", "cg", "--precond", "none", "--json", "-"])
        .exits(0)
        .json();
    assert!(json["forward_error"].is_null() && json["side"].is_null() && json["attention"].is_null(), "{json}");
    let singular = "%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 1\n2 2 1e-17\n";
    let singular = folder.file("singular.mtx", singular);
    let ones = folder.file("ones.mtx", "%%MatrixMarket matrix array real general\n2 1\n1\n1\n");
    let run = bandsolve(&["iterate", &singular, "--rhs", &ones, "--solver", "gmres", "--precond", "none"]).exits(0);
    assert!(run.stdout.contains("attention") && run.stdout.contains("no correct digit"), "{run:#?}");
    let run = bandsolve(&["iterate", &a, "--rhs", &rhs, "--precond", "jacobi", "--max-iterations", "2"]).exits(4);
    assert!(run.stderr.contains("iteration limit") && run.stdout.contains("2, 0 restarts"), "{run:#?}");
    let complex = "%%MatrixMarket matrix coordinate complex hermitian\n2 2 3\n1 1 4 0\n2 2 4 0\n2 1 1 1\n";
    let a = folder.file("complex.mtx", complex);
    for solver in ["gmres", "fgmres:5", "cg", "bicgstab", "idr:2", "richardson"] {
        let json =
            bandsolve(&["iterate", &a, "--solver", solver, "--precond", "jacobi", "--json", "-"]).exits(0).json();
        assert_eq!(json["converged"], true, "{solver}");
    }
}

#[test]
fn single_precision_is_refined() {
    let folder = Folder::new();
    let a = generated(&folder, "aniso1", "30");
    let json = bandsolve(&["iterate", &a, "--solver", "refine:gmres:20", "--tol", "1e-14", "--json", "-"]);
    let json = json.exits(0).json();
    assert_eq!((&json["solver"], &json["precond_dtype"]), (&"refine:gmres:20".into(), &"f32".into()));
    assert!(json["residual"].as_f64().unwrap() <= 1e-14, "{json}");
    assert!(json["inner_iterations"].as_u64().unwrap() > json["iterations"].as_u64().unwrap(), "{json}");
    let iterations = |options: &[&str]| {
        let arguments = ["iterate", &a, "--tol", "1e-8", "--precond", "ilu0", "--json", "-"];
        let json = bandsolve(&[&arguments, options].concat()).exits(0).json();
        assert!(json["inner_iterations"].is_null(), "{json}");
        json["iterations"].as_u64().unwrap()
    };
    assert!(iterations(&["--precond-dtype", "f32"]).abs_diff(iterations(&[])) <= 1);
    // The tolerance is below double precision, so the refinement stagnates.
    let run = bandsolve(&["iterate", &a, "--solver", "refine:fgmres:20", "--tol", "1e-18"]).exits(4);
    assert!(run.stderr.contains("not converged (stagnated)"), "{run:#?}");
    bandsolve(&["iterate", &a, "--solver", "refine:jacobi"]).fails(2, "no solver `jacobi`");
}

#[test]
fn wrong_names_and_matrices_are_refused() {
    let folder = Folder::new();
    let a = generated(&folder, "model8", "4");
    bandsolve(&["iterate", &a, "--solver", "gmres:0"]).fails(2, "whole number of at least 1");
    bandsolve(&["iterate", &a, "--precond", "mos-x:2"]).fails(2, "no preconditioner `mos-x:2`");
    bandsolve(&["iterate", &a, "--precond", "adi:3x3"]).fails(2, "the grid has 9 unknowns");
    bandsolve(&["iterate", &a, "--tol", "-1"]).fails(2, "expected a number of at least 0");
    bandsolve(&["iterate", &a, "--omega", "-1"]).fails(2, "expected a number of at least 0");
    bandsolve(&["iterate", &a, "--solver", "minres"]).fails(2, "refine:METHOD");
    bandsolve(&["iterate", &a, "--precond", "alt-o:2", "--side", "left"]).fails(2, "on the right side");
    let skew = folder.file("skew.mtx", matrix_market(2, &[(1, 2, -1.0), (2, 1, 1.0)]));
    let run = bandsolve(&["iterate", &skew, "--solver", "cg"]).exits(4);
    assert!(run.stderr.contains("try gmres"), "{run:#?}");
    let without = folder.file("a.mtx", matrix_market(2, &[(1, 1, 1.0), (2, 1, 1.0)]));
    bandsolve(&["iterate", &without, "--precond", "ilu0"]).fails(4, "no pivot in row 2");
    let huge = folder.file("h.mtx", "%%MatrixMarket matrix coordinate real general\n4000000000 4000000000 1\n1 1 1\n");
    bandsolve(&["iterate", &huge]).fails(3, "too many");
    bandsolve(&["forest", &huge]).fails(3, "too many");
    bandsolve(&["forest", &a, "--degree", "5"]).fails(2, "--degree");
    bandsolve(&["forest", &a, "--degree", "3", "--plot", &folder.path("f.svg")]).fails(2, "there are paths");
}

#[test]
fn forests_are_found_and_drawn() {
    let folder = Folder::new();
    let a = generated(&folder, "aniso2", "30");
    let plot = folder.path("forest.svg");
    let json = bandsolve(&["forest", &a, "--json", "-", "--plot", &plot]).exits(0).json();
    assert_eq!((&json["n"], &json["degree"]), (&900.into(), &2.into()));
    assert!(json["coverage"].as_f64().unwrap() > 0.6 && json["paths"].as_u64().unwrap() > 0, "{json}");
    let counts = ["cycles", "longest_path", "isolated", "rounds", "seconds", "seconds_graph"];
    assert!(counts.iter().all(|count| json[count].is_number()), "{json}");
    let picture = std::fs::read_to_string(&plot).unwrap();
    assert!(picture.contains("the paths in the 30 x 30 grid"), "{picture}");
    let json = bandsolve(&["forest", &a, "--degree", "4", "--json", "-"]).exits(0).json();
    assert!(json["paths"].is_null() && json["coverage"].as_f64().unwrap() > 0.6, "{json}");
    let text = bandsolve(&["forest", &a]).exits(0).stdout;
    assert!(text.contains("coverage") && text.contains("longest"), "{text}");
}

#[test]
fn pictures_hold_what_they_are_of() {
    let folder = Folder::new();
    let name = format!("{}.mtx", "a-long-name".repeat(5));
    let one = folder.file(&name, matrix_market(1, &[(1, 1, 4.0)]));
    let plot = folder.path("plot.svg");
    // If the first residual is zero, the plot has a single point.
    bandsolve(&["iterate", &one, "--plot", &plot]).exits(0);
    let picture = std::fs::read_to_string(&plot).unwrap();
    assert!(picture.contains("a residual of 0 is drawn as 1e-17") && picture.contains("<circle"), "{picture}");
    // The picture is at least as wide as its title.
    bandsolve(&["forest", &one, "--plot", &plot]).exits(0);
    let picture = std::fs::read_to_string(&plot).unwrap();
    let width = picture.split("viewBox=\"0 0 ").nth(1).and_then(|rest| rest.split(' ').next()).unwrap();
    assert!(width.parse::<f64>().unwrap() > 550.0, "{width}");
}

#[test]
fn model_problems_are_generated() {
    let folder = Folder::new();
    for (family, n, rows) in [("aniso3", "5", 25), ("fem7", "4", 16), ("laplace2d", "3", 9), ("laplace3d", "3", 27)] {
        let a = generated(&folder, family, n);
        assert_eq!(bandsolve(&["info", &a, "--json", "-"]).exits(0).json()["n"], rows, "{family}");
    }
    assert!(bandsolve(&["generate", "--list"]).exits(0).stdout.contains("laplace3d"));
    bandsolve(&["generate", "laplace3d", "100000"]).fails(2, "too many");
}

#[test]
fn real_matrices_are_solved_by_what_auto_takes() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/matrices");
    let Ok(entries) = std::fs::read_dir(folder) else {
        bandsolve_testkit::skipped("no ../shared/matrices beside the checkout: what auto takes for them");
        return;
    };
    let files = entries.map(|entry| entry.unwrap().path().to_str().unwrap().to_owned());
    let files: Vec<_> = files.filter(|file| file.ends_with(".mtx")).collect();
    assert!(!files.is_empty());
    for file in files {
        let json = bandsolve(&["iterate", &file, "--max-iterations", "150", "--json", "-"]).exits(0).json();
        assert_eq!(json["converged"], true, "{file}: {json}");
        assert!(!json["reason"].as_str().unwrap().is_empty(), "{file}: {json}");
    }
}

#[test]
fn several_right_hand_sides_are_solved_and_the_worst_is_reported() {
    let folder = Folder::new();
    let a = generated(&folder, "laplace2d", "6");
    let columns = |count: usize| (0..36 * count).map(|k| format!("{}\n", (k * k) % 7)).collect::<String>();
    let head = "%%MatrixMarket matrix array real general\n36";
    let b = folder.file("b.mtx", format!("{head} 3\n{}", columns(3)));
    let x = folder.path("x.mtx");
    let iterate = |options: &[&str]| bandsolve(&[&["iterate", &a, "--rhs", &b, "--out", &x], options].concat());
    let json = iterate(&["--rtol", "1e-10", "--json"]).exits(0).json();
    let residuals: Vec<f64> = json["residuals"].as_array().unwrap().iter().map(|r| r.as_f64().unwrap()).collect();
    assert_eq!((&json["n_rhs"], residuals.len(), array_values(&x).len()), (&3.into(), 3, 3 * 36));
    let worst = json["worst_column"].as_u64().unwrap() as usize;
    assert!(residuals.iter().all(|r| *r <= residuals[worst] && *r <= 1e-10), "{json}");
    assert_eq!(json["residual"], json["residuals"][worst]);
    assert!(std::fs::read_to_string(&x).unwrap().contains("\n36 3\n"));
    // Each column is the same as in a solve of its own.
    let (all, whole) = (array_values(&x), columns(3));
    let own: Vec<&str> = whole.lines().skip(36).take(36).collect();
    let one = folder.file("one.mtx", format!("{head} 1\n{}\n", own.join("\n")));
    bandsolve(&["iterate", &a, "--rhs", &one, "--out", &x, "--rtol", "1e-10"]).exits(0);
    assert_eq!(array_values(&x), all[36..72]);
    let text = iterate(&[]).exits(0).stdout;
    assert!(text.contains("3, of which 3 converged; the worst is number"), "{text}");
    let run = iterate(&["--max-iterations", "1", "--precond", "none"]).exits(4);
    assert!(run.stderr.contains("right-hand side ") && run.stderr.contains(" of 3: not converged"), "{run:#?}");
    assert_eq!(array_values(&x).len(), 3 * 36);
    // A complex right-hand side makes x complex, as in `solve`.
    let complex = format!("%%MatrixMarket matrix array complex general\n36 1\n{}", "1 1\n".repeat(36));
    let complex = folder.file("c.mtx", complex);
    bandsolve(&["iterate", &a, "--rhs", &complex, "--out", &x]).exits(0);
    let x = array_values(&x);
    assert!(x.len() == 72 && x.chunks(2).all(|pair| (pair[0] - pair[1]).abs() < 1e-3), "{x:?}");
}
