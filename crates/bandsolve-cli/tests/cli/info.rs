//! Tests of `bandsolve info`.

use crate::*;

fn info(content: impl AsRef<[u8]>) -> serde_json::Value {
    let folder = Folder::new();
    let a = folder.file("A.mtx", content);
    bandsolve(&["info", &a, "--json", "-"]).exits(0).json()
}

#[test]
fn a_structurally_singular_matrix_is_described() {
    let json = info(matrix_market(4, &[(1, 1, 1.0), (2, 1, 2.0), (2, 3, 3.0), (4, 4, 1.0), (4, 4, 1.0)]));
    assert_eq!((&json["n"], &json["nnz"], &json["zero_diagonals"]), (&4.into(), &4.into(), &2.into()));
    assert_eq!((&json["lower"], &json["upper"]), (&1.into(), &1.into()));
    assert_eq!((&json["rcond"], &json["dominance_rows"]), (&0.0.into(), &0.0.into()));
    assert_eq!(json["singular"], "the matrix is singular: row 3 of 4 contains only zeros");
    assert_eq!(json["symmetry"], "none");
}

#[test]
fn a_huge_empty_matrix_is_described() {
    let json = info("%%MatrixMarket matrix coordinate real general\n4000000000 4000000000 1\n1 1 1\n");
    assert_eq!((&json["nnz"], &json["zero_diagonals"]), (&1.into(), &3_999_999_999_u64.into()));
}

mod needs_solvers {
    use super::*;

    #[test]
    fn facts_about_a_small_matrix() {
        // A = [4 -1 0; -1 4 -1; 0 -1 4] has the inverse (1/56)·[15 4 1; 4 16 4; 1 4 15]. The 1-norms are 6 and 24/56.
        let json = info(matrix_market(3, &toeplitz(3, 4.0, &[1], &[1])));
        assert_eq!(
            (&json["nnz"], &json["symmetry"], &json["kind"]),
            (&7.into(), &"symmetric".into(), &"tridiagonal".into())
        );
        assert_eq!((&json["dominance_rows"], &json["norm_1"]), (&2.0.into(), &6.0.into()));
        let rcond = json["rcond"].as_f64().unwrap();
        assert!((rcond - 56.0 / 144.0).abs() < 1e-12, "{rcond}");
        assert_eq!(json["method"], "pivoted");
    }

    #[test]
    fn symmetries_are_recognised() {
        let complex = |symmetry: &str, diagonal: &str| {
            let head = format!("%%MatrixMarket matrix coordinate complex {symmetry}\n2 2 3\n");
            info(format!("{head}1 1 {diagonal}\n2 2 {diagonal}\n2 1 3 1\n"))["symmetry"].clone()
        };
        assert_eq!(complex("hermitian", "5 0"), "hermitian");
        assert_eq!(complex("symmetric", "5 1"), "symmetric");
        assert_eq!(complex("skew-symmetric", "0 0"), "skew-symmetric");
        assert_eq!(complex("general", "5 1"), "none");
    }

    #[test]
    fn a_diagonal_matrix_has_no_finite_dominance() {
        let json = info(matrix_market(2, &[(1, 1, 1.0), (2, 2, 1e-3)]));
        assert!(json["dominance_rows"].is_null());
        assert!((json["rcond"].as_f64().unwrap() - 1e-3).abs() < 1e-12);
    }

    #[test]
    fn an_exactly_singular_matrix_has_condition_zero() {
        let json = info(matrix_market(2, &[(1, 1, 1.0), (1, 2, 2.0), (2, 1, 2.0), (2, 2, 4.0)]));
        assert_eq!(json["rcond"], 0.0);
    }

    #[test]
    fn a_banded_matrix_with_text_report() {
        let folder = Folder::new();
        let a = folder.file("A.mtx", matrix_market(30, &toeplitz(30, 6.0, &[1, 3], &[2])));
        let text = bandsolve(&["info", &a]).exits(0).stdout;
        for word in ["30 × 30", "banded", "3 diagonals below and 2 above", "reciprocal condition", "blocked banded LU"]
        {
            assert!(text.contains(word), "{word}\n{text}");
        }
    }
}

#[test]
fn matrices_of_every_shape_and_field_are_described() {
    let wide = info("%%MatrixMarket matrix coordinate real general\n2 4 3\n1 1 1\n1 4 2\n2 1 -5\n");
    assert_eq!((&wide["kind"], &wide["n_rows"], &wide["n_cols"]), (&"rectangular".into(), &2.into(), &4.into()));
    assert_eq!(
        (&wide["lower"], &wide["upper"], &wide["nnz"], &wide["norm_1"]),
        (&1.into(), &3.into(), &3.into(), &6.0.into())
    );
    assert!(["n", "rcond", "method", "symmetry", "dominance_rows"].iter().all(|key| wide[key].is_null()), "{wide}");
    let tall = info("%%MatrixMarket matrix array complex general\n2 1\n1 1\n0 0\n");
    assert_eq!((&tall["n_rows"], &tall["zero_diagonals"], &tall["complex"]), (&2.into(), &0.into(), &true.into()));
    let pattern = info("%%MatrixMarket matrix coordinate pattern symmetric\n3 3 4\n1 1\n2 2\n3 3\n2 1\n");
    assert_eq!(
        (&pattern["pattern"], &pattern["symmetry"], &pattern["kind"]),
        (&true.into(), &"symmetric".into(), &"tridiagonal".into())
    );
    assert!(["rcond", "rcond_error", "dominance_rows", "norm_1"].iter().all(|key| pattern[key].is_null()), "{pattern}");
    let skew = info("%%MatrixMarket matrix coordinate real skew-symmetric\n2 2 1\n2 1 3\n");
    assert_eq!((&skew["symmetry"], &skew["rcond"]), (&"skew-symmetric".into(), &1.0.into()));
    let positions = info(matrix_market(2, &[(1, 1, 1.0), (1, 2, 2.0), (2, 1, 3.0), (2, 2, 4.0)]));
    assert_eq!(positions["symmetry"], "pattern");
    let empty = info("%%MatrixMarket matrix coordinate real general\n0 3 0\n");
    assert_eq!((&empty["n_rows"], &empty["n_cols"], &empty["nnz"]), (&0.into(), &3.into(), &0.into()));
    let folder = Folder::new();
    let a = folder.file("A.mtx", "%%MatrixMarket matrix coordinate pattern general\n2 3 1\n1 3\n");
    let text = bandsolve(&["info", &a]).exits(0).stdout;
    for words in ["2 × 3, positions without numbers", "rectangular", "the matrix is not square", "bandsolve spy"] {
        assert!(text.contains(words), "{words}\n{text}");
    }
}
