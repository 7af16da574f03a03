//! The stability tables for pentadiagonal, block tridiagonal and banded systems.
//!
//! # Source
//! C. J. Klein, dissertation, Heidelberg 2022: matrices of Table 6 with errors of Table 7 (pentadiagonal, n = 512), of
//! Table 4 with errors of Table 8 (2 × 2 blocks, n = 1024), real matrices with errors of Table 9. Errors are forward errors
//! ‖x − xₜ‖₂ / ‖xₜ‖₂ of [`x_true`](crate::tables::x_true).
//!
//! The random entries are new samples, so that condition numbers agree with the published ones in order of magnitude only. The table counts entries
//! from 1: `dll[N/2+1]` multiplies element N/2 − 1 of x in row N/2 + 1, both counted from 0.

use crate::matrices::{banded, randsvd};
use crate::random::Random;
use crate::tables::{self, Case};
use bandsolve::{Banded, BlockTridiagonal};

/// One row of Tables 6 and 7.
#[derive(Debug, Clone, Copy)]
pub struct PentadiagonalCase {
    /// Number in the table, from 1.
    pub id: usize,
    /// The matrix in words.
    pub description: &'static str,
    /// Published 2-norm condition number, for n = 512.
    pub condition: f64,
    /// Published errors: LAPACK, Eigen3, cuSPARSE, RPTS with partial pivoting, RPTS without.
    pub published: [f64; 5],
    bands: Bands,
}

/// Solvers of Table 7.
pub const PENTADIAGONAL_SOLVERS: [&str; 5] = ["LAPACK", "Eigen3", "cuSPARSE", "RPTS", "RPTS no pivot"];
/// Solvers of Tables 8 and 9.
pub const BLOCK_SOLVERS: [&str; 4] = ["LAPACK", "Eigen3", "RPTS", "RPTS no pivot"];

/// The entries of a diagonal.
#[derive(Debug, Clone, Copy)]
enum Fill {
    /// U(−1, 1)
    Random,
    /// U(−1, 1), half of the entries zero.
    Half,
    /// U(−1, 1) times this.
    Scaled(f64),
    Constant(f64),
}

/// The five diagonals from the lowest up, or singular values.
#[derive(Debug, Clone, Copy)]
enum Bands {
    Fill([Fill; 5]),
    /// Random entries; in the middle one of the lowest diagonal, and if so one of each lower diagonal, times 1e−50.
    Weak {
        both: bool,
    },
    /// `randsvd` of this mode, condition 1e15.
    Singular(usize),
}

impl PentadiagonalCase {
    /// Make the matrix of size n. Deterministic matrices ignore the seed.
    pub fn matrix(&self, n: usize, seed: u64) -> Banded<'static, f64> {
        match self.bands {
            Bands::Fill(fill) => pentadiagonal(n, seed, fill, |_, _| 1.0),
            Bands::Weak { both } => {
                let middle = n / 2;
                let weak = move |i: usize, j: usize| {
                    let lowest = i == j + 2 && (i == middle + 2 || both && i == middle + 3);
                    if lowest || both && i == j + 1 && i == middle + 1 { 1e-50 } else { 1.0 }
                };
                pentadiagonal(n, seed, [Fill::Random; 5], weak)
            }
            Bands::Singular(mode) => randsvd(n, 1e15, mode, 2, 2, seed),
        }
    }

    /// The published errors, with the names of their solvers.
    pub fn columns(&self) -> impl Iterator<Item = (&'static str, f64)> {
        PENTADIAGONAL_SOLVERS.into_iter().zip(self.published)
    }
}

fn pentadiagonal(n: usize, seed: u64, fill: [Fill; 5], scale: impl Fn(usize, usize) -> f64) -> Banded<'static, f64> {
    let mut random = Random::new(seed);
    banded(n, 2, 2, |i, j| {
        let value = match fill[j + 2 - i] {
            Fill::Random => random.uniform(-1.0, 1.0),
            Fill::Half => random.uniform(-1.0, 1.0) * f64::from(u8::from(random.bernoulli(0.5))),
            Fill::Scaled(by) => random.uniform(-1.0, 1.0) * by,
            Fill::Constant(value) => value,
        };
        value * scale(i, j)
    })
}

/// The 23 rows of Tables 6 and 7.
pub fn pentadiagonal_cases() -> Vec<PentadiagonalCase> {
    use Bands::{Singular, Weak};
    use Fill::{Constant, Half, Random, Scaled};
    let constant = |d: [f64; 5]| Bands::Fill(d.map(Constant));
    let around = |diagonal: Fill| Bands::Fill([Random, Random, diagonal, Random, Random]);
    let rows: [(&str, f64, [f64; 5], Bands); 23] = [
        ("all diagonals U(-1,1)", 3.45e2, [2.92e-15, 2.11e-15, 1.00e-14, 6.49e-15, 2.98e-14], around(Random)),
        ("U(-1,1), diagonal 1e8", 1.0, [1.27e-16, 1.27e-16, 2.57e-16, 1.31e-16, 1.31e-16], around(Constant(1e8))),
        (
            "as 1, one entry below times 1e-50",
            3.45e2,
            [2.81e-15, 2.05e-15, 6.97e-15, 5.97e-15, 2.86e-14],
            Weak { both: false },
        ),
        (
            "as 1, all that couples the halves from below times 1e-50",
            3.43e2,
            [2.92e-15, 2.07e-15, 8.03e-15, 5.92e-15, 2.91e-14],
            Weak { both: true },
        ),
        (
            "as 1, half of the outer entries zero",
            3.43e3,
            [5.13e-15, 1.28e-14, 1.60e-14, 5.39e-14, 1.85e-13],
            Bands::Fill([Half, Random, Random, Random, Half]),
        ),
        (
            "as 1, half of the entries beside the diagonal zero",
            7.78e3,
            [9.19e-15, 9.19e-15, 4.97e-14, 8.85e-14, 5.74e-13],
            Bands::Fill([Half, Half, Random, Half, Half]),
        ),
        ("U(-1,1), diagonal 64", 1.06, [1.43e-16, 1.42e-16, 3.85e-16, 1.55e-16, 1.55e-16], around(Constant(64.0))),
        ("randsvd, mode 2", 9.98e14, [6.97e-4, 6.97e-4, 4.01e-3, 2.99e-4, 1.32e-1], Singular(2)),
        ("randsvd, mode 3", 9.43e14, [8.43e-5, 1.65e-4, 3.19e-3, 3.77e-4, 1.69e-4], Singular(3)),
        ("randsvd, mode 1", 1.18e15, [4.58e-4, 4.06e-4, 3.09e-3, 2.60e-4, 2.57e-4], Singular(1)),
        ("randsvd, mode 4", 9.65e14, [7.31e-4, 1.53e-3, 1.18e-3, 3.16e-4, 2.12e-1], Singular(4)),
        (
            "as 1, lowest diagonal times 1e-50",
            3.55e7,
            [8.90e-12, 8.90e-12, 5.57e-11, 5.75e-10, 1.21e-10],
            Bands::Fill([Scaled(1e-50), Random, Random, Random, Random]),
        ),
        (
            "as 12, both lower diagonals times 1e-50",
            6.76e34,
            [2.44e71, 2.90e71, 6.86e70, 6.18e72, 8.24e70],
            Bands::Fill([Scaled(1e-50), Scaled(1e-50), Random, Random, Random]),
        ),
        (
            "toeppen(1, -10, 0, 10, 1)",
            1.02e1,
            [3.75e-16, 3.65e-16, 7.98e-16, 3.62e-16, 3.62e-16],
            constant([1.0, -10.0, 0.0, 10.0, 1.0]),
        ),
        ("U(-1,1), diagonal 1e-8", 1.45e3, [9.23e-15, 3.31e-15, 9.59e-15, 1.56e-14, 2.39e-13], around(Constant(1e-8))),
        ("U(-1,1), diagonal 0", 1.45e3, [4.40e-15, 4.54e-15, 2.45e-14, 7.39e-15, 1.62e-13], around(Constant(0.0))),
        (
            "(1, 1, 1e-8, 1, 1)",
            3.57e4,
            [5.97e-14, 9.20e-14, 3.35e-13, 7.93e-4, 4.96],
            constant([1.0, 1.0, 1e-8, 1.0, 1.0]),
        ),
        (
            "(1, 1, 1e8, 1, 1)",
            1.0,
            [1.64e-16, 1.63e-16, 5.02e-16, 1.40e-16, 1.40e-16],
            constant([1.0, 1.0, 1e8, 1.0, 1.0]),
        ),
        (
            "(-1, -1, 8, -1, -1)",
            2.56,
            [2.00e-16, 1.99e-16, 7.33e-16, 1.51e-16, 1.51e-16],
            constant([-1.0, -1.0, 8.0, -1.0, -1.0]),
        ),
        (
            "(-1, 1, 8, 1, -1)",
            2.56,
            [1.64e-16, 1.65e-16, 4.71e-16, 1.63e-16, 1.63e-16],
            constant([-1.0, 1.0, 8.0, 1.0, -1.0]),
        ),
        (
            "(-1, 1, 8, 1, 1)",
            1.51,
            [1.63e-16, 1.65e-16, 4.47e-16, 1.59e-16, 1.59e-16],
            constant([-1.0, 1.0, 8.0, 1.0, 1.0]),
        ),
        (
            "(-1, -1, 8, 1, U(-1,1))",
            1.54,
            [1.55e-16, 1.55e-16, 4.09e-16, 1.51e-16, 1.51e-16],
            Bands::Fill([Constant(-1.0), Constant(-1.0), Constant(8.0), Constant(1.0), Random]),
        ),
        (
            "(-1, -1, 8, U(-1,1), U(-1,1))",
            1.85,
            [1.49e-16, 1.49e-16, 3.53e-16, 1.40e-16, 1.40e-16],
            Bands::Fill([Constant(-1.0), Constant(-1.0), Constant(8.0), Random, Random]),
        ),
    ];
    let case = |(k, (description, condition, published, bands))| PentadiagonalCase {
        id: k + 1,
        description,
        condition,
        published,
        bands,
    };
    rows.into_iter().enumerate().map(case).collect()
}

/// The tridiagonal matrix of a case of [`tables::klein`] with n/2 rows as 2 × 2 blocks a·I, multiplied by random rotations
/// from either side: n unknowns, the same condition number.
pub fn rotated_blocks(case: &Case, n: usize, seed: u64) -> BlockTridiagonal<'static, f64> {
    let a = case.matrix(n / 2, seed);
    let mut random = Random::new(seed ^ 0x726f_7461);
    let mut angles = || (0..n / 2).map(|_| random.uniform(0.0, core::f64::consts::PI)).collect::<Vec<_>>();
    let (left, right) = (angles(), angles());
    // Rotations by α and β with a in between: a rotation by α + β, times a.
    let block = |value: f64, i: usize, j: usize| {
        let (sin, cos) = (left[i] + right[j]).sin_cos();
        [cos, sin, -sin, cos].map(|entry| value * entry)
    };
    let m = n / 2;
    let wrap = |j: usize| (j + m) % m.max(1);
    let sub = (0..m).flat_map(|i| block(a.row(i).0, i, wrap(i + m - 1))).collect();
    let diag = (0..m).flat_map(|i| block(a.row(i).1, i, i)).collect();
    let sup = (0..m).flat_map(|i| block(a.row(i).2, i, wrap(i + 1))).collect();
    BlockTridiagonal::from_vecs(2, [sub, diag, sup], false).expect("three arrays of as many blocks")
}

/// The rows of Table 8: cases of [`tables::klein`] with the errors of [`BLOCK_SOLVERS`] on their [`rotated_blocks`], n = 1024.
pub fn block_cases() -> Vec<(Case, [f64; 4])> {
    const ERRORS: [[f64; 4]; 20] = [
        [7.41e-15, 5.80e-15, 1.35e-14, 1.26e-14],
        [1.57e-16, 1.57e-16, 1.64e-16, 1.64e-16],
        [1.96e-16, 1.90e-16, 1.95e-16, 1.95e-16],
        [7.81e-15, 6.80e-15, 1.37e-14, 1.35e-14],
        [1.84e-15, 2.54e-15, 2.54e-15, 9.33e-15],
        [1.63e-16, 1.54e-16, 1.71e-16, 1.71e-16],
        [2.66e-16, 2.74e-16, 2.65e-16, 2.65e-16],
        [1.69e-4, 1.99e-4, 1.47e-4, 3.04e-4],
        [1.87e-5, 5.08e-5, 1.84e-2, 6.10e-2],
        [9.37e-5, 1.22e-4, 9.97e-5, 6.24e-5],
        [2.66e-3, 3.14e-3, 2.37e-3, 1.77e-3],
        [1.51e6, 9.51e5, 7.08e5, 5.11e5],
        [4.67, 1.88, 3.11, 2.83],
        [5.89e-3, 6.91e-3, 3.36e-3, 7.11],
        [1.56e2, 3.34e2, 3.71e2, f64::NAN],
        [1.77e-15, 2.79e-15, 2.57e-15, 4.53e-9],
        [1.68e-16, 1.58e-16, 1.74e-16, 1.74e-16],
        [1.78e-16, 1.77e-16, 1.89e-16, 1.89e-16],
        [1.85e-16, 1.88e-16, 1.81e-16, 1.81e-16],
        [1.77e-16, 1.77e-16, 1.68e-16, 1.68e-16],
    ];
    tables::klein().into_iter().zip(ERRORS).collect()
}

/// The rows of Table 9: matrices of the SuiteSparse collection, by lower-case name, with the errors of [`BLOCK_SOLVERS`].
pub const BANDED_CASES: [(&str, [f64; 4]); 9] = [
    ("nos2", [1.90, 9.85e-1, 2.10, 1.03e1]),
    ("olm1000", [8.90e-15, 8.12e-15, 1.01e-13, 9.92e-14]),
    ("olm2000", [1.73e-9, 1.73e-9, 6.92e-9, 2.55e-9]),
    ("olm500", [6.27e-13, 1.20e-12, 4.86e-14, 3.29e-14]),
    ("olm5000", [2.43e-12, 2.82e-12, 7.13e-13, 7.73e-13]),
    ("tub1000", [1.45e-13, 1.35e-13, 3.89e-14, 1.13e-14]),
    ("linverse", [1.32e-11, 1.46e-11, 2.27e-12, 2.29e-12]),
    ("spmsrtls", [1.50e-14, 2.67e-14, 9.62e-11, 9.62e-11]),
    ("lf10000", [5.29e-12, 3.33e-12, 3.18e-13, 8.52e-13]),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oracle::condition_1;

    #[test]
    fn pentadiagonal_matrices_are_the_published_ones() {
        for case in pentadiagonal_cases() {
            let a = case.matrix(512, 1);
            assert_eq!((a.n(), a.lower(), a.upper()), (512, 2, 2));
            let ratio = condition_1(&a) / case.condition;
            match case.id {
                // No random numbers, or hardly: 1-norm and 2-norm of these band matrices differ by less than 3.
                2 | 7 | 14 | 18..=23 => assert!(ratio > 1.0 / 3.0 && ratio < 3.0, "{}: {ratio}", case.id),
                17 => assert!(ratio > 0.1 && ratio < 10.0, "{ratio}"),
                8..=11 => assert!(ratio > 1.0 / 512.0 && ratio < 512.0, "{}: {ratio}", case.id),
                // Drawn anew.
                _ => assert!(ratio > 1e-3, "{}: {ratio}", case.id),
            }
        }
    }

    #[test]
    fn weak_links_stand_in_the_middle() {
        let small = |id: usize| {
            let a = pentadiagonal_cases()[id - 1].matrix(512, 1);
            let weak = |i: usize, j: usize| i > j && a.get(i, j) != 0.0 && a.get(i, j).abs() < 1e-49;
            (0..512)
                .flat_map(|i: usize| (i.saturating_sub(2)..i).map(move |j| (i, j)))
                .filter(|(i, j)| weak(*i, *j))
                .count()
        };
        assert_eq!((small(1), small(3), small(4)), (0, 1, 3));
    }

    #[test]
    fn rotations_keep_norms() {
        for (case, _) in block_cases() {
            let (a, b) = (case.matrix(8, 1), rotated_blocks(&case, 16, 1));
            for i in 0..8 {
                let norm = |i: usize| (0..16).map(|j| b.get(i, j).powi(2)).sum::<f64>().sqrt();
                let (sub, diag, sup) = a.row(i);
                let expected = (sub * sub + diag * diag + sup * sup).sqrt();
                for row in [2 * i, 2 * i + 1] {
                    assert!((norm(row) - expected).abs() <= 1e-15 * expected, "{}", case.name);
                }
            }
        }
    }
}
