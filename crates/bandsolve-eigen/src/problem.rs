//! The eigenvalue problem, and the choice of eigenvalues.

use bandsolve::dyn_stack::StackReq;
use bandsolve::vectors::widen;
use bandsolve::{Complex64, Error, LinearOperator, Result, Scalar};
use core::fmt::{self, Display, Formatter};
use core::str::FromStr;

/// Which eigenvalues of the operator to find.
///
/// With shift-and-invert, the operator is (A − σB)⁻¹B, and its eigenvalues are θ = 1/(λ − σ). `LargestMagnitude` then finds the λ nearest
/// to σ.
///
/// # Examples
/// ```
/// use bandsolve::Tridiagonal;
/// use bandsolve_eigen::{EigenProblem, EigenSolver, MatrixOperator, Which};
/// assert_eq!("LA".parse(), Ok(Which::LargestReal)); // ARPACK's name
/// assert_eq!(Which::BothEnds.to_string(), "both-ends");
/// // λ = 1, …, 30: one from each end.
/// let diag: Vec<f64> = (1..=30).map(f64::from).collect();
/// let a = Tridiagonal::from_vecs(vec![0.0; 30], diag, vec![0.0; 30], false)?;
/// let eigen = EigenSolver::new(2).which(Which::BothEnds).hermitian(&EigenProblem::new(&MatrixOperator(&a)))?;
/// assert!((eigen.values[0] - 30.0).abs() < 1e-6 && (eigen.values[1] - 1.0).abs() < 1e-6);
/// # Ok::<(), bandsolve::Error>(())
/// ```
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
    /// Largest imaginary part. For real matrices, largest modulus of the imaginary part.
    LargestImaginary,
    /// Smallest imaginary part. For real matrices, smallest modulus of the imaginary part.
    SmallestImaginary,
    /// Half of them from each end of the real axis. If k is odd, one more from the upper end.
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

/// Abbreviations from ARPACK and SciPy.
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

    /// Parse a name such as `largest-magnitude`, or ARPACK's `LM`, `SM`, `LR`, `SR`, `LI`, `SI`, `LA`, `SA` or `BE`.
    fn from_str(text: &str) -> Result<Self, String> {
        let which = NAMES.iter().chain(&LETTERS).find(|(name, _)| *name == text).map(|(_, which)| *which);
        which.ok_or_else(|| format!("unknown name `{text}`. Choose one of: {}", NAMES.map(|(name, _)| name).join(", ")))
    }
}

impl Which {
    /// The sort key of a value. Values with larger keys come first. If `real`, conjugates have the same key.
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

    /// The indices of the values in the requested order, after `preceding` others. If `real`, conjugates have the same
    /// key.
    pub(crate) fn order(self, values: &[Complex64], real: bool, preceding: usize) -> Vec<usize> {
        let key = |value: &Complex64| self.key(value, real);
        let mut order: Vec<usize> = (0..values.len()).collect();
        order.sort_by(|i, j| key(&values[*j]).total_cmp(&key(&values[*i])));
        if self == Self::BothEnds {
            let (n, falling) = (order.len(), order.clone());
            // Alternate between the upper and the lower end.
            let (mut upper, mut lower) = (0..n, (0..n).rev());
            let turn = |k: usize| if (k + preceding).is_multiple_of(2) { upper.next() } else { lower.next() };
            order = (0..n).filter_map(turn).map(|k| falling[k]).collect();
        }
        order
    }
}

/// The inverse that the caller passed, and its shift.
#[derive(Clone, Copy)]
pub(crate) enum Inverted<'a, T: Scalar> {
    /// (A − σB)⁻¹.
    Shifted(T, &'a dyn LinearOperator<T>),
    /// (A − σB)⁻¹, for the operator (A − σB)⁻¹(A + σB).
    Cayley(T, &'a dyn LinearOperator<T>),
    /// B⁻¹.
    Mass(&'a dyn LinearOperator<T>),
}

/// An eigenvalue problem A·x = λ·x or A·x = λ·B·x, with the operator of the search.
///
/// The problem needs only products with A and B, and solves with an inverse. Pass factors as [`Inverse`](bandsolve::Inverse), or an
/// iterative solver. The tolerance of an iterative solver must be smaller than that of the eigenvalues.
///
/// # Shapes
/// All operators are n × n.
///
/// # Cost
/// The problem stores references. The search applies the operator once for each vector of the Krylov space.
///
/// # Examples
/// ```
/// use bandsolve::{Inverse, Plan, Tridiagonal};
/// use bandsolve_eigen::{EigenProblem, EigenSolver, MatrixOperator};
/// let (n, sigma) = (100, 1.0);
/// let a = Tridiagonal::from_vecs(vec![-1.0; n], vec![2.0; n], vec![-1.0; n], false)?;
/// let shifted = Tridiagonal::from_vecs(vec![-1.0; n], vec![2.0 - sigma; n], vec![-1.0; n], false)?;
/// let inverse = Inverse(Plan::new(shifted.shape()).factor(&shifted)?);
/// let a = MatrixOperator(&a);
/// let eigen = EigenSolver::new(3).hermitian(&EigenProblem::new(&a).shifted(sigma, &inverse))?;
/// let exact = |k: f64| 2.0 - 2.0 * (core::f64::consts::PI * k / 101.0).cos();
/// assert!((eigen.values[0] - exact(34.0)).abs() < 1e-12);
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
    /// Make the problem A·x = λ·x.
    ///
    /// # Examples
    /// ```
    /// use bandsolve::Tridiagonal;
    /// use bandsolve_eigen::{EigenProblem, EigenSolver, MatrixOperator};
    /// let diag: Vec<f64> = (1..=30).map(f64::from).collect(); // λ = 1, …, 30
    /// let a = Tridiagonal::from_vecs(vec![0.0; 30], diag, vec![0.0; 30], false)?;
    /// let eigen = EigenSolver::new(1).hermitian(&EigenProblem::new(&MatrixOperator(&a)))?;
    /// assert!((eigen.values[0] - 30.0).abs() < 1e-6);
    /// # Ok::<(), bandsolve::Error>(())
    /// ```
    pub fn new(a: &'a dyn LinearOperator<T>) -> Self {
        Self { a, b: None, inverse: None }
    }

    /// Set B of A·x = λ·B·x. The problem then also needs an inverse of A − σB or of B.
    ///
    /// # Examples
    /// ```
    /// use bandsolve::Tridiagonal;
    /// use bandsolve_eigen::{EigenProblem, EigenSolver, MatrixOperator, ShiftableMatrix};
    /// let diag: Vec<f64> = (1..=30).map(f64::from).collect();
    /// let a = Tridiagonal::from_vecs(vec![0.0; 30], diag, vec![0.0; 30], false)?;
    /// let b = Tridiagonal::from_vecs(vec![0.0; 30], vec![2.0; 30], vec![0.0; 30], false)?; // B = 2·I: λ = 1/2, 1, …, 15
    /// let inverse = a.shifted_inverse(3.1, Some(&b))?; // (A − 3.1·B)⁻¹
    /// let (a, b) = (MatrixOperator(&a), MatrixOperator(&b));
    /// let eigen = EigenSolver::new(1).hermitian(&EigenProblem::new(&a).mass(&b).shifted(3.1, &inverse))?;
    /// assert!((eigen.values[0] - 3.0).abs() < 1e-12);
    /// # Ok::<(), bandsolve::Error>(())
    /// ```
    pub fn mass(self, b: &'a dyn LinearOperator<T>) -> Self {
        Self { b: Some(b), ..self }
    }

    /// Use shift-and-invert, to find the eigenvalues nearest to σ. `inverse` is (A − σB)⁻¹.
    ///
    /// The operator is (A − σB)⁻¹·B. Its eigenvalues are θ = 1/(λ − σ).
    ///
    /// # Examples
    /// ```
    /// use bandsolve::Tridiagonal;
    /// use bandsolve_eigen::{EigenProblem, EigenSolver, MatrixOperator, ShiftableMatrix};
    /// let diag: Vec<f64> = (1..=30).map(f64::from).collect();
    /// let a = Tridiagonal::from_vecs(vec![0.0; 30], diag, vec![0.0; 30], false)?; // λ = 1, …, 30
    /// let inverse = a.shifted_inverse(7.2, None)?; // (A − 7.2·I)⁻¹
    /// let eigen = EigenSolver::new(2).hermitian(&EigenProblem::new(&MatrixOperator(&a)).shifted(7.2, &inverse))?;
    /// assert!((eigen.values[0] - 7.0).abs() < 1e-12 && (eigen.offsets[1] - 0.8).abs() < 1e-12);
    /// # Ok::<(), bandsolve::Error>(())
    /// ```
    pub fn shifted(self, sigma: T, inverse: &'a dyn LinearOperator<T>) -> Self {
        Self { inverse: Some(Inverted::Shifted(sigma, inverse)), ..self }
    }

    /// Use the Cayley transform. `inverse` is (A − σB)⁻¹ with σ ≠ 0.
    ///
    /// The operator is (A − σB)⁻¹·(A + σB) = I + 2σ·(A − σB)⁻¹·B. Its eigenvalues are ν = (λ + σ)/(λ − σ), which are negative for λ between
    /// −σ and σ.
    ///
    /// # Examples
    /// ```
    /// use bandsolve::Tridiagonal;
    /// use bandsolve_eigen::{EigenProblem, EigenSolver, MatrixOperator, ShiftableMatrix, Which};
    /// let diag: Vec<f64> = (1..=30).map(f64::from).collect();
    /// let a = Tridiagonal::from_vecs(vec![0.0; 30], diag, vec![0.0; 30], false)?; // λ = 1, …, 30
    /// let inverse = a.shifted_inverse(7.2, None)?; // (A − 7.2·I)⁻¹
    /// let a = MatrixOperator(&a);
    /// let problem = EigenProblem::new(&a).cayley(7.2, &inverse);
    /// // The most negative ν belongs to the nearest λ below σ.
    /// let eigen = EigenSolver::new(1).which(Which::SmallestReal).hermitian(&problem)?;
    /// assert!((eigen.values[0] - 7.0).abs() < 1e-6);
    /// # Ok::<(), bandsolve::Error>(())
    /// ```
    pub fn cayley(self, sigma: T, inverse: &'a dyn LinearOperator<T>) -> Self {
        Self { inverse: Some(Inverted::Cayley(sigma, inverse)), ..self }
    }

    /// Use the operator B⁻¹·A, without a shift. `inverse` is B⁻¹. Its eigenvalues are the λ of A·x = λ·B·x.
    ///
    /// # Examples
    /// ```
    /// use bandsolve::Tridiagonal;
    /// use bandsolve_eigen::{EigenProblem, EigenSolver, MatrixOperator, ShiftableMatrix};
    /// let diag: Vec<f64> = (1..=30).map(f64::from).collect();
    /// let a = Tridiagonal::from_vecs(vec![0.0; 30], diag, vec![0.0; 30], false)?;
    /// let b = Tridiagonal::from_vecs(vec![0.0; 30], vec![2.0; 30], vec![0.0; 30], false)?; // B = 2·I: λ = 1/2, 1, …, 15
    /// let inverse = b.shifted_inverse(0.0, None)?; // B⁻¹
    /// let (a, b) = (MatrixOperator(&a), MatrixOperator(&b));
    /// let eigen = EigenSolver::new(1).hermitian(&EigenProblem::new(&a).mass(&b).mass_inverse(&inverse))?;
    /// assert!((eigen.values[0] - 15.0).abs() < 1e-6);
    /// # Ok::<(), bandsolve::Error>(())
    /// ```
    pub fn mass_inverse(self, inverse: &'a dyn LinearOperator<T>) -> Self {
        Self { inverse: Some(Inverted::Mass(inverse)), ..self }
    }

    /// The problem without its operators.
    pub(crate) fn operator(&self) -> SearchOperator {
        let transform = match self.inverse {
            None => SpectralTransform::Plain,
            Some(Inverted::Shifted(sigma, _)) => SpectralTransform::Shifted(widen(sigma)),
            Some(Inverted::Cayley(sigma, _)) => SpectralTransform::Cayley(widen(sigma)),
            Some(Inverted::Mass(_)) => SpectralTransform::Mass,
        };
        SearchOperator { mass: self.b.is_some(), transform }
    }

    /// The inverse.
    pub(crate) fn inverse(&self) -> Option<&'a dyn LinearOperator<T>> {
        self.inverse.map(|inverse| match inverse {
            Inverted::Shifted(_, inverse) | Inverted::Cayley(_, inverse) | Inverted::Mass(inverse) => inverse,
        })
    }

    pub(crate) fn check(&self) -> Result<()> {
        let n = self.a.rows();
        let operators = [("A", Some(self.a)), ("B", self.b), ("the inverse", self.inverse())];
        for (what, operator) in operators.into_iter().filter_map(|(what, operator)| Some((what, operator?))) {
            for got in [operator.rows(), operator.columns()] {
                if got != n {
                    return Err(Error::Shape { what, expected: n, got });
                }
            }
        }
        self.operator().check()
    }

    /// The scratch memory for products and solves.
    pub(crate) fn scratch(&self) -> StackReq {
        let operators = [Some(self.a), self.b, self.inverse()];
        operators.into_iter().flatten().fold(StackReq::EMPTY, |scratch, operator| scratch.or(operator.apply_scratch()))
    }
}

/// The operator OP of a search, made of A, B and an inverse.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum SpectralTransform {
    /// A.
    Plain,
    /// (A − σB)⁻¹·B.
    Shifted(Complex64),
    /// (A − σB)⁻¹·(A + σB).
    Cayley(Complex64),
    /// B⁻¹·A.
    Mass,
}

/// The problem of a search, without its operators.
#[derive(Debug, Clone, Copy)]
pub struct SearchOperator {
    /// Whether the problem has a matrix B.
    pub mass: bool,
    /// The operator.
    pub transform: SpectralTransform,
}

impl SearchOperator {
    /// σ, if there is a shift.
    pub(crate) fn shift(&self) -> Option<Complex64> {
        match self.transform {
            SpectralTransform::Shifted(sigma) | SpectralTransform::Cayley(sigma) => Some(sigma),
            _ => None,
        }
    }

    /// Whether the largest eigenvalues of the operator belong to the λ nearest to σ.
    pub(crate) fn is_shifted(&self) -> bool {
        matches!(self.transform, SpectralTransform::Shifted(_))
    }

    /// λ − σ for an eigenvalue θ of the operator. Without a shift, λ.
    pub(crate) fn offset(&self, theta: Complex64) -> Complex64 {
        match self.transform {
            SpectralTransform::Shifted(_) => 1.0 / theta,
            SpectralTransform::Cayley(sigma) => 2.0 * sigma / (theta - 1.0),
            _ => theta,
        }
    }

    /// Check that the shift is finite, and that no operator is missing.
    pub(crate) fn check(&self) -> Result<()> {
        if self.shift().is_some_and(|sigma| !sigma.is_finite()) {
            return Err(Error::NotFinite { array: "shift", index: 0 });
        }
        match (self.mass, self.transform) {
            (true, SpectralTransform::Plain) => {
                Err(Error::invalid("inverse", "is missing for A·x = λ·B·x", "an inverse of A − σB or of B"))
            }
            (false, SpectralTransform::Mass) => {
                Err(Error::invalid("B", "is missing, although its inverse is set", "both or neither"))
            }
            _ => Ok(()),
        }
    }
}
