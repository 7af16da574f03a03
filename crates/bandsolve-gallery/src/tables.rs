//! The stability tables of the papers: their matrices and the errors they published.
//!
//! # Source
//! L.-W. Chang, MSc thesis, UIUC 2014, Tables 6.1 and 6.2; C. J. Klein, dissertation, Heidelberg 2022, Tables 4 and 5.
//!
//! The papers use n = 512. For other n, "row 255 and 256" means rows n/2 − 1 and n/2. The random matrices are new samples, so that their condition numbers
//! agree with the published ones in order of magnitude only.
//!
//! Chang calls types 2, 6, 14 and 16 Toeplitz, with off-diagonals from U(−1, 1). Here this means one number per diagonal. The published condition
//! numbers 1e67 and 1e191 of types 14 and 16 support this: they are (a/c)^256 for ratios of 1.8 and 5.6. Independent random entries would give about 1e15
//! to 1e20, as in Klein's matrices 14 and 15.

use crate::matrices::{clement, dorr, from_rows, kms_inverse, lesp, open, randsvd_tridiagonal, toeplitz};
use crate::oracle::{backward_residual, forward_error, product};
use crate::random::Random;
use bandsolve::Tridiagonal;

/// The source of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Paper {
    /// Chang 2014, Tables 6.1 and 6.2: backward residuals ‖Tx − d‖₂ / ‖d‖₂.
    Chang,
    /// Klein 2022, Tables 4 and 5: forward errors ‖x − xₜ‖₂ / ‖xₜ‖₂.
    Klein,
}

impl Paper {
    /// The name in lower case, as in the names of families: `chang-1`, `klein-20`.
    pub fn name(self) -> &'static str {
        match self {
            Paper::Chang => "chang",
            Paper::Klein => "klein",
        }
    }

    /// The solvers of the published columns.
    pub fn solvers(self) -> &'static [&'static str] {
        match self {
            Paper::Chang => &CHANG_SOLVERS,
            Paper::Klein => &KLEIN_SOLVERS,
        }
    }

    /// The error measure of the published columns.
    pub fn measure(self) -> &'static str {
        match self {
            Paper::Chang => "backward residual |Ax - d|_2 / |d|_2",
            Paper::Klein => "forward error |x - x_true|_2 / |x_true|_2",
        }
    }
}

const CHANG_SOLVERS: [&str; 6] =
    ["SPIKE-Diagonal Pivoting", "Parallel Diagonal Pivoting", "A-R-CR", "CUSPARSE", "MKL", "Matlab"];
const KLEIN_SOLVERS: [&str; 5] = ["Eigen3", "RPTS", "cuSPARSE", "g-spike", "LAPACK"];

/// Size of the matrices in both papers.
pub const PUBLISHED_N: usize = 512;

/// One row of a table.
#[derive(Debug, Clone, Copy)]
pub struct Case {
    /// The paper.
    pub paper: Paper,
    /// Number in the paper's table, from 1.
    pub id: usize,
    /// Name of the family: `chang-1`.
    pub name: &'static str,
    /// The matrix in words.
    pub description: &'static str,
    /// Published 2-norm condition number, for n = 512.
    pub condition: f64,
    /// Published errors, one per solver of [`Paper::solvers`]. NaN and infinity are those of the paper.
    pub published: &'static [f64],
    generate: fn(usize, u64) -> Tridiagonal<'static, f64>,
}

impl Case {
    /// Make the matrix of size n. Deterministic matrices ignore the seed.
    pub fn matrix(&self, n: usize, seed: u64) -> Tridiagonal<'static, f64> {
        (self.generate)(n, seed)
    }

    /// Compute the error that the paper prints: Chang's backward residual, or Klein's forward error.
    ///
    /// # Panics
    /// If the lengths differ.
    pub fn error(&self, a: &Tridiagonal<'_, f64>, rhs: &[f64], x: &[f64], x_true: &[f64]) -> f64 {
        match self.paper {
            Paper::Chang => backward_residual(a, rhs, x),
            Paper::Klein => forward_error(x, x_true),
        }
    }

    /// Make a right-hand side as in the paper: Klein uses A·x for a known x. Chang does not say. His residuals grow with the condition number, as for
    /// random right-hand sides from U(−1, 1), which are used here.
    pub fn rhs(&self, a: &Tridiagonal<'_, f64>, seed: u64) -> Vec<f64> {
        match self.paper {
            Paper::Chang => Random::new(seed ^ 0x7269_6768).uniform_vec(a.n(), -1.0, 1.0),
            Paper::Klein => product(a, &x_true(a.n(), seed)),
        }
    }

    /// The published errors, with the names of their solvers.
    pub fn columns(&self) -> impl Iterator<Item = (&'static str, f64)> {
        self.paper.solvers().iter().copied().zip(self.published.iter().copied())
    }
}

/// Klein's true solution: normally distributed, with mean 3 and standard deviation 1.
pub fn x_true(n: usize, seed: u64) -> Vec<f64> {
    // A separate stream, so that x is independent of a matrix with the same seed.
    Random::new(seed ^ 0x7472_7565).normal_vec(n, 3.0, 1.0)
}

/// The 18 rows of Chang's Tables 6.1 and 6.2.
pub fn chang() -> Vec<Case> {
    let case = |id: usize, condition, description, published, generate| Case {
        paper: Paper::Chang,
        id,
        name: CHANG_NAMES[id - 1],
        description,
        condition,
        published,
        generate,
    };
    vec![
        case(1, 4.41e4, "entries from U(-1,1)", &[1.82e-14, 3.72e-14, 1.23e-13, 7.14e-12, 1.88e-14, 1.21e-14], uniform),
        case(
            2,
            1.00,
            "Toeplitz: diagonal 1e8, off-diagonals from U(-1,1)",
            &[1.27e-16, 1.28e-16, 1.18e-16, 1.69e-16, 1.03e-16, 1.03e-16],
            |n, seed| random_toeplitz(n, 1e8, seed),
        ),
        case(
            3,
            3.52e2,
            "lesp: real eigenvalues smoothly distributed in [-2n-3.5, -4.5]",
            &[1.55e-16, 1.46e-16, 1.45e-16, 2.57e-16, 1.35e-16, 1.32e-16],
            |n, _| lesp(n),
        ),
        case(
            4,
            2.75e3,
            "entries from U(-1,1), the lower entry in row n/2 times 1e-50",
            &[1.37e-14, 5.09e-15, 3.76e-14, 1.39e-12, 3.10e-15, 3.24e-15],
            weak_link,
        ),
        case(
            5,
            1.24e4,
            "entries from U(-1,1), each off-diagonal one zero with probability 1/2",
            &[1.07e-14, 7.84e-15, 1.29e-14, 1.82e-14, 1.56e-14, 1.07e-14],
            half_zero,
        ),
        case(
            6,
            1.03,
            "Toeplitz: diagonal 64, off-diagonals from U(-1,1)",
            &[1.05e-16, 1.05e-16, 9.97e-17, 1.57e-16, 9.34e-17, 9.34e-17],
            |n, seed| random_toeplitz(n, 64.0, seed),
        ),
        case(
            7,
            9.00,
            "inverse of the Kac-Murdock-Szego matrix, rho = 0.5",
            &[2.42e-16, 2.41e-16, 2.37e-16, 5.13e-16, 2.52e-16, 2.20e-16],
            |n, _| kms_inverse(n, 0.5),
        ),
        case(
            8,
            9.87e14,
            "randsvd: condition 1e15, one small singular value",
            &[2.14e-4, 1.40e-3, 2.14e-4, 1.50e10, 3.76e-4, 2.14e-4],
            |n, seed| randsvd_tridiagonal(n, 1e15, 2, seed),
        ),
        case(
            9,
            9.97e14,
            "randsvd: condition 1e15, geometrically distributed singular values",
            &[2.32e-5, 3.82e-5, 9.80e-5, 1.93e8, 3.15e-5, 1.35e-5],
            |n, seed| randsvd_tridiagonal(n, 1e15, 3, seed),
        ),
        case(
            10,
            1.29e15,
            "randsvd: condition 1e15, one large singular value",
            &[4.27e-5, 4.27e-5, 3.38e-5, 2.74e5, 3.21e-5, 2.68e-5],
            |n, seed| randsvd_tridiagonal(n, 1e15, 1, seed),
        ),
        case(
            11,
            1.01e15,
            "randsvd: condition 1e15, arithmetically distributed singular values",
            &[7.52e-4, 6.79e-4, 2.91e-2, 4.54e11, 2.99e-4, 3.03e-4],
            |n, seed| randsvd_tridiagonal(n, 1e15, 4, seed),
        ),
        case(
            12,
            2.20e14,
            "entries from U(-1,1), the lower ones times 1e-50",
            &[5.58e-5, 4.88e-5, 5.04e-5, 5.55e-4, 2.24e-5, 3.06e-5],
            weak_lower,
        ),
        case(
            13,
            3.21e16,
            "dorr, theta = 1e-4: ill-conditioned, diagonally dominant",
            &[5.51e-1, 3.42e1, 3.37e-1, 1.12e16, 3.34e-1, 3.47e-1],
            |n, _| dorr(n, 1e-4),
        ),
        case(
            14,
            1.14e67,
            "Toeplitz: diagonal 1e-8, off-diagonals from U(-1,1)",
            &[2.86e49, 3.19e49, 2.97e55, 2.92e51, 1.77e48, 2.21e47],
            |n, seed| random_toeplitz(n, 1e-8, seed),
        ),
        case(
            15,
            6.02e24,
            "clement: diagonal 0, eigenvalues plus and minus odd integers below n",
            &[2.09e60, 1.53e60, 9.79e59, f64::NAN, 1.47e59, 3.69e58],
            |n, _| clement(n),
        ),
        case(
            16,
            7.1e191,
            "Toeplitz: diagonal 0, off-diagonals from U(-1,1)",
            &[f64::INFINITY, f64::INFINITY, f64::INFINITY, f64::NAN, f64::INFINITY, 4.7e171],
            |n, seed| random_toeplitz(n, 0.0, seed),
        ),
        case(
            17,
            3.27e2,
            "first and last row of the identity, in between diagonal 0 and off-diagonals 1: partitions are singular",
            &[f64::NAN, 8.14e-16, 7.38e-16, f64::NAN, 4.87e-16, 4.87e-16],
            |n, _| singular_partitions(n),
        ),
        case(
            18,
            3.78e18,
            "U(-1,1), but rows n/2-1, n/2 are (1, 0, 1), the diagonal of row n/2-2 is 1e15: near-singular partition",
            &[3.26e-3, 3.13e-14, 3.31e-14, f64::NAN, 9.93e-15, 9.10e-15],
            near_singular_partition,
        ),
    ]
}

/// The 20 rows of Klein's Tables 4 and 5.
pub fn klein() -> Vec<Case> {
    let case = |id: usize, condition, description, published, generate| Case {
        paper: Paper::Klein,
        id,
        name: KLEIN_NAMES[id - 1],
        description,
        condition,
        published,
        generate,
    };
    vec![
        case(1, 1.58e3, "entries from U(-1,1)", &[5.72e-15, 5.24e-15, 5.05e-15, 7.53e-15, 5.78e-15], uniform),
        case(
            2,
            1.00,
            "diagonal 1e8, off-diagonals from U(-1,1)",
            &[8.39e-17, 8.32e-17, 1.18e-16, 1.30e-16, 8.39e-17],
            |n, seed| constant_diagonal(n, 1e8, seed),
        ),
        case(3, 3.52e2, "lesp", &[1.28e-16, 1.32e-16, 1.44e-16, 1.65e-16, 1.29e-16], |n, _| lesp(n)),
        case(
            4,
            2.93e3,
            "entries from U(-1,1), the lower entry in row n/2 times 1e-50",
            &[5.62e-15, 5.25e-15, 6.17e-15, 1.55e-14, 6.12e-15],
            weak_link,
        ),
        case(
            5,
            1.59e3,
            "entries from U(-1,1), each off-diagonal one zero with probability 1/2",
            &[1.19e-15, 9.03e-16, 1.94e-15, 1.13e-15, 8.85e-16],
            half_zero,
        ),
        case(
            6,
            1.04,
            "diagonal 64, off-diagonals from U(-1,1)",
            &[9.33e-17, 9.57e-17, 1.32e-16, 1.50e-16, 9.33e-17],
            |n, seed| constant_diagonal(n, 64.0, seed),
        ),
        case(
            7,
            9.00,
            "inverse of the Kac-Murdock-Szego matrix, rho = 0.5",
            &[2.33e-16, 2.76e-16, 2.53e-16, 2.74e-16, 2.34e-16],
            |n, _| kms_inverse(n, 0.5),
        ),
        case(
            8,
            1.02e15,
            "randsvd: condition 1e15, one small singular value",
            &[1.18e-4, 4.53e-4, 1.29e-5, 5.52e-5, 1.26e-4],
            |n, seed| randsvd_tridiagonal(n, 1e15, 2, seed),
        ),
        case(
            9,
            8.74e14,
            "randsvd: condition 1e15, geometrically distributed singular values",
            &[4.01e-5, 5.07e-5, 2.77e-5, 1.73e-5, 5.73e-5],
            |n, seed| randsvd_tridiagonal(n, 1e15, 3, seed),
        ),
        case(
            10,
            1.11e15,
            "randsvd: condition 1e15, one large singular value",
            &[4.66e-5, 1.25e-5, 1.85e-5, 4.88e-6, 5.19e-5],
            |n, seed| randsvd_tridiagonal(n, 1e15, 1, seed),
        ),
        case(
            11,
            9.57e14,
            "randsvd: condition 1e15, arithmetically distributed singular values",
            &[5.35e-5, 2.87e-4, 1.46e-3, 2.89e-3, 3.57e-4],
            |n, seed| randsvd_tridiagonal(n, 1e15, 4, seed),
        ),
        case(
            12,
            3.07e23,
            "entries from U(-1,1), the lower ones times 1e-50",
            &[9.45e3, 1.35e5, 7.63e5, 2.51e5, 9.45e3],
            weak_lower,
        ),
        case(
            13,
            1.40e17,
            "dorr, theta = 1e-4: ill-conditioned, diagonally dominant",
            &[1.08, 2.45, 1.33, 1.21, 4.37e-1],
            |n, _| dorr(n, 1e-4),
        ),
        case(
            14,
            8.17e14,
            "diagonal 1e-8, off-diagonals from U(-1,1)",
            &[1.08e-3, 1.76e-3, 2.89e-3, 9.05e-2, 1.28e-3],
            |n, seed| constant_diagonal(n, 1e-8, seed),
        ),
        case(
            15,
            2.15e20,
            "diagonal 0, off-diagonals from U(-1,1): partitions are singular",
            &[5.21e2, 5.01e2, 9.24e2, 4.45e2, 5.21e2],
            |n, seed| constant_diagonal(n, 0.0, seed),
        ),
        case(
            16,
            3.27e2,
            "diagonal 1e-8, off-diagonals 1: partitions are near-singular",
            &[8.67e-16, 1.37e-15, 3.49e-15, 3.89e-15, 7.75e-16],
            |n, _| toeplitz(n, 1.0, 1e-8, 1.0),
        ),
        case(17, 1.00, "diagonal 1e8, off-diagonals 1", &[1.14e-16, 1.16e-16, 1.60e-16, 1.53e-16, 1.14e-16], |n, _| {
            toeplitz(n, 1.0, 1e8, 1.0)
        }),
        case(18, 3.00, "diagonal 4, off-diagonals -1", &[8.94e-17, 1.04e-16, 1.36e-16, 1.42e-16, 8.94e-17], |n, _| {
            toeplitz(n, -1.0, 4.0, -1.0)
        }),
        case(19, 1.12, "diagonal 4, lower -1, upper 1", &[1.10e-16, 1.11e-16, 1.51e-16, 1.57e-16, 1.10e-16], |n, _| {
            toeplitz(n, -1.0, 4.0, 1.0)
        }),
        case(
            20,
            2.30,
            "diagonal 4, lower -1, upper from U(-1,1)",
            &[1.18e-16, 1.11e-16, 1.46e-16, 1.51e-16, 1.17e-16],
            |n, seed| open(vec![-1.0; n], vec![4.0; n], Random::new(seed).uniform_vec(n, -1.0, 1.0)),
        ),
    ]
}

const CHANG_NAMES: [&str; 18] = [
    "chang-1", "chang-2", "chang-3", "chang-4", "chang-5", "chang-6", "chang-7", "chang-8", "chang-9", "chang-10",
    "chang-11", "chang-12", "chang-13", "chang-14", "chang-15", "chang-16", "chang-17", "chang-18",
];
const KLEIN_NAMES: [&str; 20] = [
    "klein-1", "klein-2", "klein-3", "klein-4", "klein-5", "klein-6", "klein-7", "klein-8", "klein-9", "klein-10",
    "klein-11", "klein-12", "klein-13", "klein-14", "klein-15", "klein-16", "klein-17", "klein-18", "klein-19",
    "klein-20",
];

/// Three arrays from U(−1, 1).
fn uniform_arrays(n: usize, seed: u64) -> [Vec<f64>; 3] {
    let mut random = Random::new(seed);
    core::array::from_fn(|_| random.uniform_vec(n, -1.0, 1.0))
}

/// Entries from U(−1, 1): type 1 of both tables.
pub(crate) fn uniform(n: usize, seed: u64) -> Tridiagonal<'static, f64> {
    let [sub, diag, sup] = uniform_arrays(n, seed);
    open(sub, diag, sup)
}

/// One number from U(−1, 1) along each off-diagonal.
fn random_toeplitz(n: usize, diag: f64, seed: u64) -> Tridiagonal<'static, f64> {
    let mut random = Random::new(seed);
    let (sub, sup) = (random.uniform(-1.0, 1.0), random.uniform(-1.0, 1.0));
    toeplitz(n, sub, diag, sup)
}

/// Every off-diagonal entry from U(−1, 1).
fn constant_diagonal(n: usize, diag: f64, seed: u64) -> Tridiagonal<'static, f64> {
    let [sub, _, sup] = uniform_arrays(n, seed);
    open(sub, vec![diag; n], sup)
}

/// The 256th entry of the lower diagonal, counted from 1: A(257, 256) counted from 1, row 256 counted from 0.
fn weak_link(n: usize, seed: u64) -> Tridiagonal<'static, f64> {
    let [mut sub, diag, sup] = uniform_arrays(n, seed);
    if let Some(entry) = sub.get_mut(n / 2) {
        *entry *= 1e-50;
    }
    open(sub, diag, sup)
}

fn half_zero(n: usize, seed: u64) -> Tridiagonal<'static, f64> {
    let mut random = Random::new(seed);
    let diag = random.uniform_vec(n, -1.0, 1.0);
    let mut half = || (0..n).map(|_| random.uniform(-1.0, 1.0) * f64::from(u8::from(random.bernoulli(0.5)))).collect();
    let (sub, sup): (Vec<f64>, Vec<f64>) = (half(), half());
    open(sub, diag, sup)
}

fn weak_lower(n: usize, seed: u64) -> Tridiagonal<'static, f64> {
    let [mut sub, diag, sup] = uniform_arrays(n, seed);
    sub.iter_mut().for_each(|v| *v *= 1e-50);
    open(sub, diag, sup)
}

fn singular_partitions(n: usize) -> Tridiagonal<'static, f64> {
    from_rows(n, |i| if i == 0 || i + 1 == n { (0.0, 1.0, 0.0) } else { (1.0, 0.0, 1.0) })
}

/// Row 255, last of the partitions of 2, 4, 8, … rows, is left with the pivot −c/1e15 when row 254 is eliminated.
fn near_singular_partition(n: usize, seed: u64) -> Tridiagonal<'static, f64> {
    let [mut sub, mut diag, mut sup] = uniform_arrays(n, seed);
    let middle = n / 2;
    if middle >= 2 {
        for i in [middle - 1, middle] {
            (sub[i], diag[i], sup[i]) = (1.0, 0.0, 1.0);
        }
        diag[middle - 2] = 1e15;
    }
    open(sub, diag, sup)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oracle::{condition_1, product, solve_reference};

    #[test]
    fn tables_are_complete() {
        for (cases, paper, count) in [(chang(), Paper::Chang, 18), (klein(), Paper::Klein, 20)] {
            assert_eq!(cases.len(), count);
            for (k, case) in cases.iter().enumerate() {
                assert_eq!((case.paper, case.id), (paper, k + 1));
                assert_eq!(case.name, format!("{}-{}", paper.name(), k + 1));
                assert_eq!(case.published.len(), paper.solvers().len());
                assert!(!case.description.is_empty());
            }
        }
    }

    #[test]
    fn any_size_and_reproducible() {
        for case in chang().into_iter().chain(klein()) {
            for n in [0, 1, 2, 3, 4, 5, 17] {
                let (a, b) = (case.matrix(n, 3), case.matrix(n, 3));
                assert_eq!(a.n(), n, "{}", case.name);
                assert!((0..n).all(|i| a.row(i) == b.row(i)), "{}", case.name);
                a.check_finite().unwrap();
            }
        }
    }

    #[test]
    fn condition_numbers_are_the_published_ones() {
        for case in chang().into_iter().chain(klein()) {
            let ratio = condition_1(&case.matrix(PUBLISHED_N, 1)) / case.condition;
            match (case.paper, case.id) {
                // No random numbers: the 1-norm and the 2-norm condition of these band matrices differ by less than 2.
                (_, 3 | 7) | (Paper::Chang, 17) | (Paper::Klein, 16..=19) => {
                    assert!(ratio > 0.5 && ratio < 2.0, "{} {ratio}", case.name);
                }
                // Given singular values: between norms of A and of its inverse lies a factor of √n each.
                (_, 8..=11) => assert!(ratio > 1.0 / 512.0 && ratio < 512.0, "{} {ratio}", case.name),
                // Nearly diagonal.
                (_, 2 | 6) | (_, 20) => assert!(ratio > 0.5 && ratio < 2.0, "{} {ratio}", case.name),
                // Drawn anew, or, as types 13 to 16, beyond what double precision can tell.
                _ => assert!(ratio > 0.0),
            }
        }
    }

    #[test]
    fn special_rows_stand_where_the_papers_put_them() {
        let a = chang()[3].matrix(512, 1);
        let small: Vec<usize> = (1..512).filter(|i| a.row(*i).0.abs() < 1e-49).collect();
        assert_eq!(small, [256]);
        let a = chang()[16].matrix(512, 1);
        assert_eq!([a.row(0), a.row(511)], [(0.0, 1.0, 0.0); 2]);
        assert_eq!([a.row(1), a.row(510)], [(1.0, 0.0, 1.0); 2]);
        let a = chang()[17].matrix(512, 1);
        assert_eq!([a.row(255), a.row(256)], [(1.0, 0.0, 1.0); 2]);
        assert_eq!(a.row(254).1, 1e15);
        assert!(a.row(253).1.abs() < 1.0 && a.row(257).1.abs() < 1.0);
        let a = klein()[14].matrix(512, 1);
        assert!((0..512).all(|i| a.row(i).1 == 0.0));
    }

    #[test]
    fn reference_solution_is_good_where_the_condition_allows() {
        for case in chang().into_iter().chain(klein()) {
            let a = case.matrix(64, 1);
            let x = x_true(64, 1);
            let rhs = product(&a, &x);
            let condition = condition_1(&a);
            if condition < 1e25 {
                let got = solve_reference(&a, &rhs).expect(case.name);
                // x and rhs are rounded by ε/2 an entry, and the 2-norm condition is at most n times the 1-norm one.
                let bound = 64.0 * f64::EPSILON * condition;
                let error = case.error(&a, &rhs, &got, &x);
                assert!(error <= bound, "{}: {error:e} > {bound:e}", case.name);
            }
        }
    }
}
