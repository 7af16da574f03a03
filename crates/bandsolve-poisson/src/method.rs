//! The table of methods, and what a method does.

use crate::condition::Condition;
use crate::scalar::PoissonScalar;
use crate::separable::{ResidualMeasure, ResidualOperator, RightHandSide};
use bandsolve::dyn_stack::{PodStack, StackReq};

macro_rules! poisson_methods {
    ($($(#[$doc:meta])* $variant:ident $name:literal;)*) => {
        /// How a problem is solved.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
        #[non_exhaustive]
        pub enum PoissonMethod {
            /// Chosen by the shape and the spacings; the report says why.
            #[default]
            Auto,
            $($(#[$doc])* $variant,)*
        }

        impl PoissonMethod {
            /// Every method.
            pub const ALL: &[PoissonMethod] = &[PoissonMethod::Auto, $(PoissonMethod::$variant,)*];

            /// The name used by the program, in Python and in C.
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
    /// Sine, cosine or Fourier transforms along all axes but one, tridiagonal systems along that one.
    Fft "fft";
    /// The same with products by eigenvectors, also where a transform would do.
    Gemm "gemm";
    /// Block cyclic reduction that halves the rows, of axes with one spacing that are periodic or have nodes and Dirichlet sides; there must
    /// be one. Others as `Pscr`.
    Bcr2 "bcr2";
    /// The same, leaving a quarter of the rows.
    Bcr4 "bcr4";
    /// Cyclic reduction by partial solutions, of axes of all kinds.
    Pscr "pscr";
}

impl PoissonMethod {
    /// The method of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|method| method.name() == name)
    }
}

/// One solve.
pub struct SolveRequest<'a, T> {
    /// Where the right-hand side is read, line by line; `None`: it stands in x.
    pub rhs: Option<&'a RightHandSide<'a, T>>,
    /// Of a singular problem the mean that u gets, weighted by volumes.
    pub mean: f64,
}

/// Factors of a [`SeparableProblem`](crate::separable::SeparableProblem) by one method.
///
/// x is an array of the problem's shape; its numbers are what they are before a solve, and u after it. What is computed does not depend on
/// the number of threads.
pub trait SeparableSolver<T: PoissonScalar>: Send + Sync {
    /// What [`solve`](Self::solve) needs.
    fn scratch(&self) -> StackReq;

    /// Solves without looking back. Of singular problems it returns what was subtracted from the right-hand side, else 0.
    fn solve(&self, request: &SolveRequest<'_, T>, x: &mut [T], stack: &mut PodStack) -> f64;

    /// The same, and what the residuals of u show, where they are measured on the way.
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

    /// Bytes of the factors, without what does not grow with the number of unknowns.
    fn bytes(&self) -> usize;

    /// Tridiagonal systems of one solve.
    fn subproblems(&self) -> usize;

    /// How far the problem is from a singular one, where the factors show it.
    fn condition(&self) -> Option<Condition> {
        None
    }
}
