//! Every generator by name.
//!
//! ```
//! use bandsolve_gallery::families::{System, family};
//! let System::Tridiagonal(a) = family("klein-16").unwrap().generate(100, 1) else { unreachable!() };
//! assert_eq!(a.row(1), (1.0, 1e-8, 1.0));
//! ```

use crate::matrices;
use crate::random::Random;
use crate::tables::{Case, chang, klein, uniform};
use bandsolve::{Banded, Scalar, Shape, Tridiagonal};
use std::sync::LazyLock;

/// A tridiagonal or a banded matrix.
#[derive(Debug, Clone)]
pub enum System<T: Scalar = f64> {
    /// A tridiagonal matrix, open or periodic.
    Tridiagonal(Tridiagonal<'static, T>),
    /// A banded matrix.
    Banded(Banded<'static, T>),
}

impl<T: Scalar> System<T> {
    /// Shape of the matrix.
    pub fn shape(&self) -> Shape {
        match self {
            System::Tridiagonal(a) => a.shape(),
            System::Banded(a) => a.shape(),
        }
    }

    /// Number of unknowns.
    pub fn n(&self) -> usize {
        self.shape().n()
    }

    /// Call `f(row, column, value)` for every entry of the band. The entries of a banded matrix come column by column.
    pub fn for_each(&self, mut f: impl FnMut(usize, usize, T)) {
        match self {
            System::Tridiagonal(a) => {
                let (n, periodic) = (a.n(), a.is_periodic());
                for i in 0..n {
                    let (sub, diag, sup) = a.row(i);
                    if i > 0 || periodic {
                        f(i, (i + n - 1) % n, sub);
                    }
                    f(i, i, diag);
                    if i + 1 < n || periodic {
                        f(i, (i + 1) % n, sup);
                    }
                }
            }
            System::Banded(a) => {
                for j in 0..a.n() {
                    let (first, column) = a.column(j);
                    column.iter().enumerate().for_each(|(k, value)| f(first + k, j, *value));
                }
            }
        }
    }

    /// Compute the product A·x. Each entry is rounded once.
    ///
    /// # Panics
    /// If `x` does not have n elements.
    pub fn product(&self, x: &[T]) -> Vec<T> {
        match self {
            System::Tridiagonal(a) => crate::oracle::product(a, x),
            System::Banded(a) => crate::oracle::product(a, x),
        }
    }

    /// Compute the row-wise backward error of x: [`backward_error`](crate::oracle::backward_error).
    ///
    /// # Panics
    /// If `rhs` or `x` does not have n elements.
    pub fn backward_error(&self, rhs: &[T], x: &[T]) -> f64 {
        match self {
            System::Tridiagonal(a) => crate::oracle::backward_error(a, rhs, x),
            System::Banded(a) => crate::oracle::backward_error(a, rhs, x),
        }
    }
}

impl From<Tridiagonal<'static, f64>> for System {
    fn from(a: Tridiagonal<'static, f64>) -> Self {
        System::Tridiagonal(a)
    }
}

impl From<Banded<'static, f64>> for System {
    fn from(a: Banded<'static, f64>) -> Self {
        System::Banded(a)
    }
}

/// A named kind of matrix.
#[derive(Debug, Clone)]
pub struct Family {
    /// The name, as on the command line.
    pub name: &'static str,
    /// Description in one line.
    pub description: &'static str,
    source: FamilySource,
}

#[derive(Debug, Clone)]
enum FamilySource {
    Case(Case),
    Function(fn(usize, u64) -> System),
}

impl Family {
    /// Make the matrix of size n. Deterministic families ignore the seed.
    pub fn generate(&self, n: usize, seed: u64) -> System {
        match &self.source {
            FamilySource::Case(case) => case.matrix(n, seed).into(),
            FamilySource::Function(generate) => generate(n, seed),
        }
    }

    /// The row of a paper's table that this family reproduces, if there is one.
    pub fn case(&self) -> Option<&Case> {
        match &self.source {
            FamilySource::Case(case) => Some(case),
            FamilySource::Function(_) => None,
        }
    }
}

/// All families. Those of the papers' tables come first.
pub fn families() -> &'static [Family] {
    static ALL: LazyLock<Vec<Family>> = LazyLock::new(|| {
        let cases = chang().into_iter().chain(klein());
        let tables = cases.map(|c| Family { name: c.name, description: c.description, source: FamilySource::Case(c) });
        let others = FUNCTIONS.iter().map(|&(name, description, generate)| Family {
            name,
            description,
            source: FamilySource::Function(generate),
        });
        tables.chain(others).collect()
    });
    &ALL
}

/// The family with this name, if there is one.
pub fn family(name: &str) -> Option<&'static Family> {
    families().iter().find(|f| f.name == name)
}

type FamilyEntry = (&'static str, &'static str, fn(usize, u64) -> System);

const FUNCTIONS: [FamilyEntry; 26] = [
    ("random", "tridiagonal, entries from U(-1,1)", |n, seed| uniform(n, seed).into()),
    ("dominant", "tridiagonal, random, diagonally dominant (1.25 times the other entries)", |n, seed| {
        dominant(n, seed, false).into()
    }),
    ("normal", "tridiagonal, entries normally distributed", |n, seed| normal(n, seed).into()),
    ("spd", "tridiagonal, random, symmetric positive definite", |n, seed| spd(n, seed).into()),
    ("poisson", "tridiagonal (-1, 2, -1): the second difference", |n, _| matrices::toeplitz(n, -1.0, 2.0, -1.0).into()),
    ("diffusion", "tridiagonal (-1, 2.01, -1): an implicit time step of the heat equation", |n, _| {
        matrices::toeplitz(n, -1.0, 2.01, -1.0).into()
    }),
    ("helmholtz", "tridiagonal (-1, 1, -1): indefinite, exactly singular where n mod 3 is 2", |n, _| {
        matrices::toeplitz(n, -1.0, 1.0, -1.0).into()
    }),
    ("advection", "tridiagonal (-1.9, 2, -0.1): upwinded, far from symmetric", |n, _| {
        matrices::toeplitz(n, -1.9, 2.0, -0.1).into()
    }),
    ("spline", "tridiagonal (1, 4, 1): cubic splines", |n, _| matrices::toeplitz(n, 1.0, 4.0, 1.0).into()),
    ("zero-diagonal", "tridiagonal (1, 0, 1): singular for odd n, every partition of odd size singular", |n, _| {
        matrices::toeplitz(n, 1.0, 0.0, 1.0).into()
    }),
    ("scaled-rows", "random, a tenth of the rows scaled by powers of ten from 1e-60 to 1e60", |n, seed| {
        scale_rows(&uniform(n, seed), seed, 0.1, 60.0).into()
    }),
    ("scaled-dominant", "dominant, every row scaled by a power of ten from 1e-60 to 1e60", |n, seed| {
        scale_rows(&dominant(n, seed, false), seed, 1.0, 60.0).into()
    }),
    ("lesp", "gallery('lesp', n): real, sensitive eigenvalues", |n, _| matrices::lesp(n).into()),
    ("kms-inverse", "inv(gallery('kms', n, 0.5)): condition 9", |n, _| matrices::kms_inverse(n, 0.5).into()),
    ("dorr", "gallery('dorr', n, 1e-4): ill-conditioned, diagonally dominant", |n, _| matrices::dorr(n, 1e-4).into()),
    ("clement", "gallery('clement', n, 0): zero diagonal, singular for odd n", |n, _| matrices::clement(n).into()),
    ("randsvd", "gallery('randsvd', n, 1e8, 3, 1, 1): condition 1e8; time n^3", |n, seed| {
        matrices::randsvd_tridiagonal(n, 1e8, 3, seed).into()
    }),
    ("periodic-random", "periodic tridiagonal, entries from U(-1,1)", |n, seed| periodic_random(n, seed).into()),
    (
        "periodic-dominant",
        "periodic tridiagonal, random, diagonally dominant (1.25 times the other entries)",
        |n, seed| dominant(n, seed, true).into(),
    ),
    ("periodic-poisson", "periodic (-1, 2 + 1/n^2, -1): the second difference, shifted off its null space", |n, _| {
        periodic_poisson(n).into()
    }),
    ("periodic-spline", "periodic (1, 4, 1): closed cubic splines", |n, _| {
        Tridiagonal::from_vecs(vec![1.0; n], vec![4.0; n], vec![1.0; n], true).expect("three arrays of length n").into()
    }),
    ("pentadiagonal-random", "two diagonals on each side, entries from U(-1,1)", |n, seed| {
        random_banded(n, 2, 2, seed).into()
    }),
    ("pentadiagonal-biharmonic", "(1, -4, 6, -4, 1): the fourth difference", |n, _| {
        matrices::banded(n, 2, 2, |i, j| [6.0, -4.0, 1.0][i.abs_diff(j)]).into()
    }),
    ("banded-random", "eight diagonals on each side, entries from U(-1,1)", |n, seed| {
        random_banded(n, 8, 8, seed).into()
    }),
    ("banded-dominant", "eight diagonals on each side, random, diagonally dominant", |n, seed| {
        let mut random = Random::new(seed);
        matrices::banded(n, 8, 8, |i, j| random.uniform(-1.0, 1.0) + f64::from(u8::from(i == j)) * 20.0).into()
    }),
    ("banded-skewed", "one diagonal below and six above, entries from U(-1,1)", |n, seed| {
        random_banded(n, 1, 6, seed).into()
    }),
];

/// A diagonally dominant matrix with random off-diagonals. Diagonal entries have a random sign, and the modulus 1.25·(|aᵢ,ᵢ₋₁| + |aᵢ,ᵢ₊₁|) + 0.01.
pub fn dominant(n: usize, seed: u64, periodic: bool) -> Tridiagonal<'static, f64> {
    let mut random = Random::new(seed);
    let (sub, sup) = (random.uniform_vec(n, -1.0, 1.0), random.uniform_vec(n, -1.0, 1.0));
    let mut diag = |i: usize| {
        let size = 1.25 * (sub[i].abs() + sup[i].abs()) + 0.01;
        if random.bernoulli(0.5) { size } else { -size }
    };
    let diag = (0..n).map(&mut diag).collect();
    if periodic {
        Tridiagonal::from_vecs(sub, diag, sup, true).expect("three arrays of length n are a tridiagonal matrix")
    } else {
        matrices::open(sub, diag, sup)
    }
}

fn normal(n: usize, seed: u64) -> Tridiagonal<'static, f64> {
    let mut random = Random::new(seed);
    let mut draw = || random.normal_vec(n, 0.0, 1.0);
    let (sub, diag, sup) = (draw(), draw(), draw());
    matrices::open(sub, diag, sup)
}

/// The matrix L·Lᵀ with a random bidiagonal L.
fn spd(n: usize, seed: u64) -> Tridiagonal<'static, f64> {
    let mut random = Random::new(seed);
    let (l, d) = (random.uniform_vec(n, -1.0, 1.0), random.uniform_vec(n, 0.1, 1.0));
    matrices::from_rows(n, |i| {
        let sub = if i > 0 { l[i] * d[i - 1] } else { 0.0 };
        let below = if i > 0 { l[i] * l[i] } else { 0.0 };
        let sup = if i + 1 < n { l[i + 1] * d[i] } else { 0.0 };
        (sub, d[i] * d[i] + below, sup)
    })
}

/// Multiply each row, with this probability, by a power of 10 whose exponent is uniform in ±`decades`.
pub fn scale_rows(a: &Tridiagonal<'_, f64>, seed: u64, probability: f64, decades: f64) -> Tridiagonal<'static, f64> {
    let mut random = Random::new(!seed);
    let scales: Vec<f64> = (0..a.n())
        .map(|_| {
            let scale = libm::pow(10.0, random.uniform(-decades, decades));
            if random.bernoulli(probability) { scale } else { 1.0 }
        })
        .collect();
    let part = |f: fn((f64, f64, f64)) -> f64| (0..a.n()).map(|i| scales[i] * f(a.row(i))).collect();
    Tridiagonal::from_vecs(part(|r| r.0), part(|r| r.1), part(|r| r.2), a.is_periodic())
        .expect("three arrays of length n are a tridiagonal matrix")
}

fn periodic_random(n: usize, seed: u64) -> Tridiagonal<'static, f64> {
    let mut random = Random::new(seed);
    let mut draw = || random.uniform_vec(n, -1.0, 1.0);
    let (sub, diag, sup) = (draw(), draw(), draw());
    Tridiagonal::from_vecs(sub, diag, sup, true).expect("three arrays of length n are a tridiagonal matrix")
}

fn periodic_poisson(n: usize) -> Tridiagonal<'static, f64> {
    let diag = vec![2.0 + 1.0 / (n * n).max(1) as f64; n];
    Tridiagonal::from_vecs(vec![-1.0; n], diag, vec![-1.0; n], true)
        .expect("three arrays of length n are a tridiagonal matrix")
}

fn random_banded(n: usize, lower: usize, upper: usize, seed: u64) -> Banded<'static, f64> {
    let mut random = Random::new(seed);
    matrices::banded(n, lower, upper, |_, _| random.uniform(-1.0, 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oracle::solve_reference;
    use std::collections::HashSet;

    #[test]
    fn names_are_unique_and_found() {
        let names: HashSet<_> = families().iter().map(|f| f.name).collect();
        assert_eq!(names.len(), families().len());
        assert!(families().iter().all(|f| family(f.name).is_some() && !f.description.is_empty()));
        assert!(family("no-such-family").is_none());
        assert_eq!(families().iter().filter(|f| f.case().is_some()).count(), 38);
    }

    #[test]
    fn every_family_has_every_size() {
        for f in families() {
            for n in [0, 1, 2, 3, 16, 17] {
                let a = f.generate(n, 5);
                assert_eq!(a.n(), n, "{}", f.name);
                match a {
                    System::Tridiagonal(a) => a.check_finite().unwrap(),
                    System::Banded(a) => a.check_finite().unwrap(),
                }
            }
        }
    }

    #[test]
    fn well_posed_families_can_be_solved() {
        for f in families().iter().filter(|f| f.case().is_none()) {
            let a = f.generate(60, 5); // even, and not 2 modulo 3
            let rhs = vec![1.0; 60];
            let x = match &a {
                System::Tridiagonal(a) => solve_reference(a, &rhs),
                System::Banded(a) => solve_reference(a, &rhs),
            };
            let x = x.unwrap_or_else(|| panic!("{} is singular", f.name));
            assert!(a.backward_error(&rhs, &x) <= f64::EPSILON, "{}", f.name);
        }
    }

    #[test]
    fn a_seed_is_a_matrix() {
        let System::Tridiagonal(a) = family("random").unwrap().generate(10, 1) else { unreachable!() };
        let System::Tridiagonal(b) = family("random").unwrap().generate(10, 2) else { unreachable!() };
        assert!(a.row(3) != b.row(3));
        let System::Tridiagonal(a) = family("spd").unwrap().generate(10, 1) else { unreachable!() };
        assert!((1..10).all(|i| a.row(i).0 == a.row(i - 1).2));
    }
}
