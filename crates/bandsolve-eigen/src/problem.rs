//! What eigenvalues are asked for, and of what.

use bandsolve::dyn_stack::{PodStack, StackReq};
use bandsolve::vectors::widen;
use bandsolve::{Complex64, Error, LinearOperator, Result, Scalar};
use core::fmt::{self, Display, Formatter};
use core::str::FromStr;

/// Which eigenvalues of an operator are wanted.
///
/// With shift-and-invert they are those of (A − σB)⁻¹B, θ = 1/(λ − σ): the largest in magnitude belong to the λ nearest to σ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Which {
    /// Largest modulus.
    #[default]
    LargestMagnitude,
    /// Smallest modulus.
    SmallestMagnitude,
    /// Largest real part.
    LargestReal,
    /// Smallest real part.
    SmallestReal,
    /// Largest imaginary part; of real matrices, its largest modulus.
    LargestImaginary,
    /// Smallest imaginary part; of real matrices, its smallest modulus.
    SmallestImaginary,
    /// Half from each end of the real axis, one more from the upper end if their number is odd.
    BothEnds,
}

const NAMES: [(&str, Which); 7] = [
    ("largest-magnitude", Which::LargestMagnitude),
    ("smallest-magnitude", Which::SmallestMagnitude),
    ("largest-real", Which::LargestReal),
    ("smallest-real", Which::SmallestReal),
    ("largest-imaginary", Which::LargestImaginary),
    ("smallest-imaginary", Which::SmallestImaginary),
    ("both-ends", Which::BothEnds),
];

impl Display for Which {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(NAMES.iter().find(|(_, which)| which == self).map_or("", |(name, _)| name))
    }
}

/// The names that ARPACK and SciPy have.
const LETTERS: [(&str, Which); 9] = [
    ("LM", Which::LargestMagnitude),
    ("SM", Which::SmallestMagnitude),
    ("LR", Which::LargestReal),
    ("SR", Which::SmallestReal),
    ("LI", Which::LargestImaginary),
    ("SI", Which::SmallestImaginary),
    ("LA", Which::LargestReal),
    ("SA", Which::SmallestReal),
    ("BE", Which::BothEnds),
];

impl FromStr for Which {
    type Err = String;

    /// `largest-magnitude`, …, or ARPACK's `LM`, `SM`, `LR`, `SR`, `LI`, `SI`, `LA`, `SA`, `BE`.
    fn from_str(text: &str) -> Result<Self, String> {
        let found = NAMES.iter().chain(&LETTERS).find(|(name, _)| *name == text).map(|(_, which)| *which);
        found.ok_or_else(|| format!("no such choice `{text}`; there are: {}", NAMES.map(|(name, _)| name).join(", ")))
    }
}

impl Which {
    /// The number by which a value is wanted more than others. `real`: conjugates belong together.
    pub(crate) fn key(self, value: &Complex64, real: bool) -> f64 {
        match self {
            Self::LargestMagnitude => value.norm(),
            Self::SmallestMagnitude => -value.norm(),
            Self::LargestReal | Self::BothEnds => value.re,
            Self::SmallestReal => -value.re,
            Self::LargestImaginary if real => value.im.abs(),
            Self::SmallestImaginary if real => -value.im.abs(),
            Self::LargestImaginary => value.im,
            Self::SmallestImaginary => -value.im,
        }
    }

    /// The places of the values, those that are wanted most first, after `taken` others. `real`: conjugates belong together.
    pub(crate) fn order(self, values: &[Complex64], real: bool, taken: usize) -> Vec<usize> {
        let key = |value: &Complex64| self.key(value, real);
        let mut order: Vec<usize> = (0..values.len()).collect();
        order.sort_by(|i, j| key(&values[*j]).total_cmp(&key(&values[*i])));
        if self == Self::BothEnds {
            let (n, falling) = (order.len(), order.clone());
            // Upper and lower end in turns.
            let (mut upper, mut lower) = (0..n, (0..n).rev());
            let turn = |k: usize| if (k + taken).is_multiple_of(2) { upper.next() } else { lower.next() };
            order = (0..n).filter_map(turn).map(|k| falling[k]).collect();
        }
        order
    }
}

/// What is solved with.
#[derive(Clone, Copy)]
pub(crate) enum Inverted<'a, T: Scalar> {
    /// (A − σB)⁻¹.
    Shifted(T, &'a dyn LinearOperator<T>),
    /// (A − σB)⁻¹, from which (A − σB)⁻¹(A + σB) is made.
    Cayley(T, &'a dyn LinearOperator<T>),
    /// B⁻¹.
    Mass(&'a dyn LinearOperator<T>),
}

/// An eigenvalue problem A·x = λ·x or A·x = λ·B·x.
///
/// Matrices are known by their products alone, inverses by their solves: factors as [`Inverse`](bandsolve::Inverse), or iterative
/// solvers, whose tolerance is then to be smaller than that of the eigenvalues.
///
/// # Example
/// ```
/// use bandsolve::{Inverse, Plan, Tridiagonal};
/// use bandsolve_eigen::{EigenProblem, EigenSolver, MatrixOperator};
/// let (n, sigma) = (100, 1.0);
/// let a = Tridiagonal::from_vecs(vec![-1.0; n], vec![2.0; n], vec![-1.0; n], false)?;
/// let shifted = Tridiagonal::from_vecs(vec![-1.0; n], vec![2.0 - sigma; n], vec![-1.0; n], false)?;
/// let inverse = Inverse(Plan::new(shifted.shape()).factor(&shifted)?);
/// let a = MatrixOperator(&a);
/// let found = EigenSolver::new(3).hermitian(&EigenProblem::new(&a).shifted(sigma, &inverse))?;
/// let exact = |k: f64| 2.0 - 2.0 * (core::f64::consts::PI * k / 101.0).cos();
/// assert!((found.values[0] - exact(34.0)).abs() < 1e-12);
/// # Ok::<(), bandsolve::Error>(())
/// ```
#[derive(Clone, Copy)]
#[must_use]
pub struct EigenProblem<'a, T: Scalar> {
    pub(crate) a: &'a dyn LinearOperator<T>,
    pub(crate) b: Option<&'a dyn LinearOperator<T>>,
    pub(crate) inverse: Option<Inverted<'a, T>>,
}

impl<'a, T: Scalar> EigenProblem<'a, T> {
    /// A·x = λ·x.
    pub fn new(a: &'a dyn LinearOperator<T>) -> Self {
        Self { a, b: None, inverse: None }
    }

    /// A·x = λ·B·x. It needs an inverse: of A − σB, or of B.
    pub fn mass(self, b: &'a dyn LinearOperator<T>) -> Self {
        Self { b: Some(b), ..self }
    }

    /// By shift-and-invert: `inverse` is (A − σB)⁻¹.
    pub fn shifted(self, sigma: T, inverse: &'a dyn LinearOperator<T>) -> Self {
        Self { inverse: Some(Inverted::Shifted(sigma, inverse)), ..self }
    }

    /// By Cayley's transform: `inverse` is (A − σB)⁻¹ with σ ≠ 0, the operator (A − σB)⁻¹(A + σB) = I + 2σ·(A − σB)⁻¹B. Its eigenvalues
    /// are ν = (λ + σ)/(λ − σ): the λ between −σ and σ have negative ones.
    pub fn cayley(self, sigma: T, inverse: &'a dyn LinearOperator<T>) -> Self {
        Self { inverse: Some(Inverted::Cayley(sigma, inverse)), ..self }
    }

    /// Without a shift: `inverse` is B⁻¹.
    pub fn mass_inverse(self, inverse: &'a dyn LinearOperator<T>) -> Self {
        Self { inverse: Some(Inverted::Mass(inverse)), ..self }
    }

    /// σ, if there is a shift.
    pub(crate) fn shift(&self) -> Option<T> {
        match self.inverse {
            Some(Inverted::Shifted(sigma, _) | Inverted::Cayley(sigma, _)) => Some(sigma),
            _ => None,
        }
    }

    /// Whether the operator's largest eigenvalues are those nearest to σ.
    pub(crate) fn is_shifted(&self) -> bool {
        matches!(self.inverse, Some(Inverted::Shifted(..)))
    }

    pub(crate) fn check(&self) -> Result<()> {
        let n = self.a.rows();
        let inverse = self.inverse.map(|inverse| match inverse {
            Inverted::Shifted(_, inverse) | Inverted::Cayley(_, inverse) | Inverted::Mass(inverse) => inverse,
        });
        let operators = [("A", Some(self.a)), ("B", self.b), ("the inverse", inverse)];
        for (what, operator) in operators.into_iter().filter_map(|(what, operator)| Some((what, operator?))) {
            for got in [operator.rows(), operator.columns()] {
                if got != n {
                    return Err(Error::Shape { what, expected: n, got });
                }
            }
        }
        if self.shift().is_some_and(|sigma| !Scalar::is_finite(sigma)) {
            return Err(Error::NotFinite { array: "shift", index: 0 });
        }
        match (self.b, self.inverse) {
            (Some(_), None) => {
                Err(Error::Unsupported { method: "eigenvalues", what: "a pencil A x = λ B x without an inverse" })
            }
            (None, Some(Inverted::Mass(_))) => {
                Err(Error::Unsupported { method: "eigenvalues", what: "an inverse of B without B" })
            }
            _ => Ok(()),
        }
    }

    /// Scratch for products and solves.
    pub(crate) fn scratch(&self) -> StackReq {
        let inverse = match self.inverse {
            Some(Inverted::Shifted(_, inverse) | Inverted::Cayley(_, inverse) | Inverted::Mass(inverse)) => {
                inverse.apply_scratch()
            }
            None => StackReq::EMPTY,
        };
        self.a.apply_scratch().or(inverse).or(self.b.map_or(StackReq::EMPTY, |b| b.apply_scratch()))
    }

    /// w = the operator whose largest eigenvalues are looked for, times v. `bv`: B·v where it is known; `spare`: a vector.
    pub(crate) fn transform(
        &self,
        (v, bv): (&[T], Option<&[T]>),
        w: &mut [T],
        spare: &mut [T],
        stack: &mut PodStack,
    ) -> Result<()> {
        match self.inverse {
            None => self.a.apply(v, w, stack),
            Some(Inverted::Shifted(_, inverse)) => self.solve(inverse, (v, bv), (w, spare), stack),
            Some(Inverted::Cayley(sigma, inverse)) => {
                self.solve(inverse, (v, bv), (w, spare), stack)?;
                w.iter_mut().zip(v).for_each(|(w, v)| *w = *v + (sigma + sigma) * *w);
                Ok(())
            }
            Some(Inverted::Mass(inverse)) => {
                self.a.apply(v, spare, stack)?;
                inverse.apply(spare, w, stack)
            }
        }
    }

    /// w = inverse·B·v.
    fn solve(
        &self,
        inverse: &dyn LinearOperator<T>,
        (v, bv): (&[T], Option<&[T]>),
        (w, spare): (&mut [T], &mut [T]),
        stack: &mut PodStack,
    ) -> Result<()> {
        match (self.b, bv) {
            (None, _) => inverse.apply(v, w, stack),
            (Some(_), Some(bv)) => inverse.apply(bv, w, stack),
            (Some(b), None) => {
                b.apply(v, spare, stack)?;
                inverse.apply(spare, w, stack)
            }
        }
    }

    /// λ − σ of an eigenvalue θ of the operator; λ where there is no shift.
    pub(crate) fn offset(&self, theta: Complex64) -> Complex64 {
        match self.inverse {
            Some(Inverted::Shifted(..)) => 1.0 / theta,
            Some(Inverted::Cayley(sigma, _)) => 2.0 * widen(sigma) / (theta - 1.0),
            _ => theta,
        }
    }
}
