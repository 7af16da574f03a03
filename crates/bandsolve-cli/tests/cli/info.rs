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
