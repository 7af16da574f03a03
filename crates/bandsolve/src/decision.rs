//! What a plan has decided, as methods are told it.

use crate::error::Error;
use crate::matrix::Shape;
use crate::method::Method;
use bandsolve_kernel::memory::MemoryPool;
use bandsolve_kernel::sweep::{Eliminator, Pivots};
use bandsolve_kernel::tile::Scaling;
use bandsolve_kernel::{RealScalar, Simd};
use std::sync::Arc;

/// How pivot rows are chosen during elimination.
///
/// # Examples
/// ```
/// use bandsolve::{Pivoting, Plan, Shape};
/// let plan = Plan::new(Shape::Tridiagonal { n: 1000, periodic: false }).pivoting(Pivoting::Partial);
/// assert_eq!(plan.options().pivoting.name(), "partial");
/// assert_eq!(Pivoting::default(), Pivoting::ScaledPartial);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(rename_all = "kebab-case"))]
pub enum Pivoting {
    /// Never exchange rows: for matrices known to need it not.
    None,
    /// The larger of two candidates.
    Partial,
    /// The larger of two candidates, each relative to its own row: row scaling does not change the choice.
    #[default]
    ScaledPartial,
}

impl Pivoting {
    /// Every choice.
    pub const ALL: [Pivoting; 3] = [Pivoting::None, Pivoting::Partial, Pivoting::ScaledPartial];

    /// The name used on the command line and in reports.
    pub fn name(self) -> &'static str {
        match self {
            Pivoting::None => "none",
            Pivoting::Partial => "partial",
            Pivoting::ScaledPartial => "scaled-partial",
        }
    }

    /// The choice of this name.
    pub fn from_name(name: &str) -> Option<Pivoting> {
        Self::ALL.into_iter().find(|p| p.name() == name)
    }
}

/// What the user has chosen by the methods of [`Plan`](crate::Plan); the defaults are right for nearly everyone.
///
/// # Examples
/// ```
/// use bandsolve::{Plan, Shape};
/// let plan = Plan::new(Shape::Tridiagonal { n: 1000, periodic: false }).threads(2).verify(false);
/// assert_eq!((plan.options().threads, plan.options().verify), (2, false));
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Options {
    /// How pivots are chosen.
    pub pivoting: Pivoting,
    /// Number of threads.
    pub threads: usize,
    /// Whether a matrix is solved with once, so that nothing is kept that pays from the second solve on only.
    pub once: bool,
    /// Whether answers are verified.
    pub verify: bool,
    /// Pivot candidates at most this large count as zero (0 switches it off).
    pub noise_threshold: f64,
    /// Rows of a partition; `None`: from the tuning table.
    pub partition_rows: Option<usize>,
    /// Partitions of a banded system; `None`: two.
    pub partitions: Option<usize>,
    /// Cost of a row of an inner partition relative to one at an end; `None`: as measured.
    pub inner_row_cost: Option<f64>,
    /// Instruction set.
    #[cfg_attr(feature = "serde", serde(serialize_with = "simd_name"))]
    pub simd: Simd,
}

/// An instruction set by its name.
#[cfg(feature = "serde")]
fn simd_name<S: serde::Serializer>(simd: &Simd, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(simd.name())
}

impl Options {
    /// Scaled partial pivoting, all threads, verified; for matrices that are solved with again, or `once`.
    pub(crate) fn new(once: bool) -> Self {
        Self {
            pivoting: Pivoting::default(),
            threads: bandsolve_kernel::threads::count(),
            once,
            verify: true,
            noise_threshold: 0.0,
            partition_rows: None,
            partitions: None,
            inner_row_cost: None,
            simd: Simd::detect(),
        }
    }

    /// Instruction set of the sweeps: the noise threshold is rarely used and compiled for plain arrays only.
    pub(crate) fn sweep_simd(&self) -> Simd {
        if self.noise_threshold > 0.0 { Simd::Portable } else { self.simd }
    }

    /// How sweeps choose pivots.
    pub(crate) fn pivots<X: RealScalar>(&self) -> Pivots<X> {
        let (fixed, noise) = (self.pivoting == Pivoting::None, X::from_f64(self.noise_threshold));
        Pivots { eliminator: Eliminator::Exchange, fixed, noise }
    }

    /// How sweeps scale rows.
    pub(crate) fn scaling(&self) -> Scaling {
        if self.pivoting == Pivoting::ScaledPartial { Scaling::Rows } else { Scaling::Partition }
    }
}

/// What a plan has decided.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Decision {
    /// The shape that was decided for.
    pub shape: Shape,
    /// What was asked for.
    pub asked: Method,
    /// What was chosen; never `Auto`.
    pub method: Method,
    /// Why, in words.
    pub reason: Arc<str>,
    /// What the user has chosen.
    pub options: Options,
    /// Memory of factors that were dropped, for the next ones; shared by clones.
    pub pool: MemoryPool,
}

impl Decision {
    /// For a method, without a reason.
    pub fn new(shape: Shape, method: Method, options: Options) -> Self {
        Self { shape, asked: method, method, reason: "".into(), options, pool: MemoryPool::default() }
    }

    /// Whether the plan chose the method.
    pub fn is_auto(&self) -> bool {
        self.asked == Method::Auto
    }

    /// The same with scaled partial pivoting.
    pub fn with_best_pivots(&self) -> Self {
        let options = Options { pivoting: Pivoting::ScaledPartial, ..self.options };
        Self { options, ..self.clone() }
    }

    /// That the chosen method does not solve `what`.
    pub fn unsupported(&self, what: &'static str) -> Error {
        Error::Unsupported { method: self.method.name(), what }
    }
}
