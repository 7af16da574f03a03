//! The table of methods, and the interface of a solver.

use crate::condition::Condition;
use crate::scalar::PoissonScalar;
use crate::separable::{ResidualMeasure, ResidualOperator, RightHandSide};
use bandsolve::dyn_stack::{PodStack, StackReq};

macro_rules! poisson_methods {
    ($($(#[$doc:meta])* $variant:ident $name:literal;)*) => {
        /// The method that solves a problem.
        ///
        /// # Source
        /// - `Fft`: R. W. Hockney, J. ACM 12 (1965), 95–113.
        /// - `Gemm`: R. E. Lynch, J. R. Rice, D. H. Thomas, Numer. Math. 6 (1964), 185–199.
        /// - `Bcr2`, `Bcr4`: M. Myllykoski, T. Rossi, J. Toivanen, *Fast Poisson solvers for graphics processing units*, PARA 2012.
        /// - `Pscr`: T. Rossi, J. Toivanen, SIAM J. Sci. Comput. 20 (1999).
        ///
        /// # Examples
        /// ```
        /// use bandsolve_poisson::{Poisson, PoissonMethod};
        /// let plan = Poisson::new(&[63, 63]).method(PoissonMethod::Bcr4).plan::<f64>()?;
        /// assert_eq!(plan.method().0.name(), "bcr4");
        /// assert!(plan.solve(&[1.0; 63 * 63])?.report.backward_error < 1e-13);
        /// # Ok::<(), bandsolve::Error>(())
        /// ```
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
        #[non_exhaustive]
        pub enum PoissonMethod {
            /// Choose the method by the shape and the spacings. The report says why.
            #[default]
            Auto,
            $($(#[$doc])* $variant,)*
        }

        impl PoissonMethod {
            /// All methods.
            pub const ALL: &[PoissonMethod] = &[PoissonMethod::Auto, $(PoissonMethod::$variant,)*];

            /// The name of this method on the command line, in Python and in C.
            pub fn name(self) -> &'static str {
                match self {
                    PoissonMethod::Auto => "auto",
                    $(PoissonMethod::$variant => $name,)*
                }
            }
        }
    };
}
poisson_methods! {
    /// Sine, cosine or Fourier transforms along all axes except one, and tridiagonal systems along the remaining axis.
    ///
    /// Axes with variable spacing or Robin sides have no fast transform. If there are several, the method uses products with matrices of
    /// eigenvectors along all of them except one.
    Fft "fft";
    /// Products with matrices of eigenvectors along all axes except one, and tridiagonal systems along the remaining axis.
    Gemm "gemm";
    /// Block cyclic reduction with radix 2: each step halves the number of rows.
    ///
    /// At least one axis must have a constant spacing and be periodic, or have nodes and two Dirichlet sides. The method treats all other
    /// axes as `Pscr` does.
    Bcr2 "bcr2";
    /// As `Bcr2`, with radix 4: each step leaves a quarter of the rows.
    Bcr4 "bcr4";
    /// Cyclic reduction by partial solutions (PSCR), for all kinds of axes.
    Pscr "pscr";
}

impl PoissonMethod {
    /// The method with this name, or `None` if the name is unknown.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|method| method.name() == name)
    }
}

/// The input of one solve.
pub struct SolveRequest<'a, T> {
    /// The source of the right-hand side, read line by line; `None` if x holds the right-hand side.
    pub rhs: Option<&'a RightHandSide<'a, T>>,
    /// The mean of u, weighted by volumes, if the problem is singular.
    pub mean: f64,
}

/// Factors of a [`SeparableProblem`](crate::separable::SeparableProblem) by one method.
///
/// x is an array of the problem's shape. A solve overwrites x with u. The result does not depend on the number of threads.
pub trait SeparableSolver<T: PoissonScalar>: Send + Sync {
    /// Scratch memory of [`solve`](Self::solve).
    fn scratch(&self) -> StackReq;

    /// Solves without verification. Returns the constant that was subtracted from the right-hand side of a singular problem, else 0.
    fn solve(&self, request: &SolveRequest<'_, T>, x: &mut [T], stack: &mut PodStack) -> f64;

    /// As [`solve`](Self::solve), and returns the measure of the residuals if the solver computes it during the solve.
    fn solve_measured(
        &self,
        request: &SolveRequest<'_, T>,
        operator: &ResidualOperator<T>,
        x: &mut [T],
        stack: &mut PodStack,
    ) -> (f64, Option<ResidualMeasure>) {
        _ = operator;
        (self.solve(request, x, stack), None)
    }

    /// Bytes of the factors, without parts whose size does not grow with the number of unknowns.
    fn bytes(&self) -> usize;

    /// Number of tridiagonal systems of one solve.
    fn subproblems(&self) -> usize;

    /// The condition of the problem, if the factors show it.
    fn condition(&self) -> Option<Condition> {
        None
    }
}
