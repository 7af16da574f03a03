//! The decision of a plan, which all methods receive.

use crate::error::Error;
use crate::matrix::Shape;
use crate::method::Method;
use bandsolve_kernel::blocks::BlockPivots;
use bandsolve_kernel::memory::MemoryPool;
use bandsolve_kernel::sweep::{Eliminator, Pivots};
use bandsolve_kernel::tile::Scaling;
use bandsolve_kernel::{RealScalar, Simd};
use std::sync::Arc;

/// The rule that selects pivot rows during elimination.
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
    /// Never exchange rows, for matrices that do not need pivoting.
    None,
    /// Select the row with the largest entry.
    Partial,
    /// Select the row with the largest entry relative to its own row. Scaling rows then does not change the choice.
    #[default]
    ScaledPartial,
}

impl Pivoting {
    /// All rules.
    pub const ALL: [Pivoting; 3] = [Pivoting::None, Pivoting::Partial, Pivoting::ScaledPartial];

    /// The name used on the command line and in reports.
    pub fn name(self) -> &'static str {
        match self {
            Pivoting::None => "none",
            Pivoting::Partial => "partial",
            Pivoting::ScaledPartial => "scaled-partial",
        }
    }

    /// The rule with this name.
    pub fn from_name(name: &str) -> Option<Pivoting> {
        Self::ALL.into_iter().find(|p| p.name() == name)
    }
}

/// The options of a [`Plan`](crate::Plan), which its methods set. The defaults suit most matrices.
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
    /// The rule that selects pivot rows.
    pub pivoting: Pivoting,
    /// Number of threads.
    pub threads: usize,
    /// Whether each matrix is factored for one solve, so that storing factors does not pay off.
    pub once: bool,
    /// Whether the backward error of x is measured, and x repaired if necessary.
    pub verify: bool,
    /// Modulus up to which a pivot candidate counts as zero; 0 accepts every nonzero pivot.
    pub noise_threshold: f64,
    /// Number of rows per partition; `None` for the built-in choice.
    pub partition_rows: Option<usize>,
    /// Number of partitions of a banded system; `None` for two.
    pub partitions: Option<usize>,
    /// Cost per row of an inner partition, relative to a partition at an end; `None` for the number of [`Tuning`](crate::Tuning).
    pub inner_row_cost: Option<f64>,
    /// The instruction set.
    #[cfg_attr(feature = "serde", serde(serialize_with = "simd_name"))]
    pub simd: Simd,
}

/// Serialize an instruction set as its name.
#[cfg(feature = "serde")]
fn simd_name<S: serde::Serializer>(simd: &Simd, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(simd.name())
}

impl Options {
    /// The defaults: scaled partial pivoting, all threads, verification on.
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

    /// The instruction set of the sweeps. The rarely used noise threshold is compiled for portable vectors only.
    pub(crate) fn sweep_simd(&self) -> Simd {
        if self.noise_threshold > 0.0 { Simd::Portable } else { self.simd }
    }

    /// Whether pivots are chosen by scaled partial pivoting, and none of them counts as noise.
    pub(crate) fn has_usual_pivots(&self) -> bool {
        self.pivoting == Pivoting::ScaledPartial && self.noise_threshold == 0.0
    }

    /// The pivoting rule of the sweeps.
    pub(crate) fn pivots<X: RealScalar>(&self) -> Pivots<X> {
        let (fixed, noise) = (self.pivoting == Pivoting::None, X::from_f64(self.noise_threshold));
        Pivots { eliminator: Eliminator::Exchange, fixed, noise }
    }

    /// The pivoting rule of the sweeps through blocks and bands.
    pub(crate) fn block_pivots<X: RealScalar>(&self) -> BlockPivots<X> {
        let exchange = X::from_f64(f64::from(self.pivoting != Pivoting::None));
        BlockPivots { exchange, noise: X::from_f64(self.noise_threshold) }
    }

    /// The row scaling of the sweeps.
    pub(crate) fn scaling(&self) -> Scaling {
        if self.pivoting == Pivoting::ScaledPartial { Scaling::Rows } else { Scaling::Partition }
    }
}

/// The shape, the method and the options that a plan has decided on.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Decision {
    /// The shape of the systems.
    pub shape: Shape,
    /// The requested method.
    pub asked: Method,
    /// The chosen method, never `Auto`.
    pub method: Method,
    /// The reason for the method, in words.
    pub reason: Arc<str>,
    /// The options of the plan.
    pub options: Options,
    /// Memory of dropped factors, for the next ones. Clones share it.
    pub pool: MemoryPool,
}

impl Decision {
    /// A decision for a method, without a reason.
    pub fn new(shape: Shape, method: Method, options: Options) -> Self {
        Self { shape, asked: method, method, reason: "".into(), options, pool: MemoryPool::default() }
    }

    /// Whether the plan chose the method.
    pub fn is_auto(&self) -> bool {
        self.asked == Method::Auto
    }

    /// The same decision with scaled partial pivoting.
    pub fn with_best_pivots(&self) -> Self {
        let options = Options { pivoting: Pivoting::ScaledPartial, ..self.options };
        Self { options, ..self.clone() }
    }

    /// The error that the chosen method does not solve `what`.
    pub fn unsupported(&self, what: &'static str) -> Error {
        Error::Unsupported { method: self.method.name(), what }
    }
}
