//! Shape and options → method, with the reason in words.

use crate::direct::Inspect;
use crate::error::{Error, Result};
use crate::matrix::Shape;
use bandsolve_kernel::RealScalar;
use bandsolve_kernel::Simd;
use bandsolve_kernel::arithmetic::Standard;
use bandsolve_kernel::memory::Pool;
use bandsolve_kernel::sweep::{Eliminator, Pivots};
use bandsolve_kernel::tile::Scaling;
use std::sync::Arc;

/// How a system is solved. Each method has a page in `docs/math`: equations, cost, and the matrices that break it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Method {
    /// The plan chooses; [`Plan::reason`] says why.
    Auto,
    /// Sequential elimination with pivoting, LAPACK's way; banded systems by blocked LU.
    Pivoted,
    /// Sequential elimination without pivoting: for dominant or positive definite matrices.
    Thomas,
    /// Sequential elimination with pivots of one or two rows on the diagonal, no rows exchanged.
    DiagonalPivoting,
    /// Recursive partitioned Schur complement: SIMD lanes and threads work on partitions of one tridiagonal system.
    Rpts,
    /// Partitions on SIMD lanes, diagonal pivoting inside.
    SpikeDiagonalPivoting,
    /// Partitions on SIMD lanes, no pivoting inside.
    SpikeThomas,
    /// Partitions on threads, cyclic reduction inside.
    SpikeCr,
    /// Partitions on SIMD lanes whose couplings decay inside: for strongly dominant matrices.
    SpikeTruncated,
    /// Partitions on SIMD lanes, Givens rotations inside.
    SpikeQr,
    /// Diagonal pivoting as linear recurrences, solved by a scan over tiles.
    ParallelDiagonalPivoting,
    /// LU without pivoting as linear recurrences, solved by a scan over tiles.
    CfLu,
    /// Cyclic reduction: every other row is eliminated, level by level.
    Cr,
    /// Tricyclic reduction: two of three rows are eliminated, level by level.
    Tricr,
    /// Parallel cyclic reduction: all rows are reduced at every level.
    Pcr,
    /// Cyclic reduction with diagonal pivots: one or two rows between those that stay, level by level.
    AdaptiveCr,
    /// Banded systems: partitions on threads, LU and UL inside, recursive reduced system.
    Spike,
    /// Dense blocks: block cyclic reduction on threads.
    Bcyclic,
    /// Dense blocks: partitions on threads, spikes of blocks.
    BlockSpike,
}

impl Method {
    /// Every method that can be asked for; which shapes it solves, [`solves`](Self::solves) tells.
    pub const ALL: [Method; 19] = [
        Method::Auto,
        Method::Pivoted,
        Method::Thomas,
        Method::DiagonalPivoting,
        Method::Rpts,
        Method::SpikeDiagonalPivoting,
        Method::SpikeThomas,
        Method::SpikeCr,
        Method::SpikeTruncated,
        Method::SpikeQr,
        Method::ParallelDiagonalPivoting,
        Method::CfLu,
        Method::Cr,
        Method::Tricr,
        Method::Pcr,
        Method::AdaptiveCr,
        Method::Spike,
        Method::Bcyclic,
        Method::BlockSpike,
    ];

    /// What it takes systems of this shape for: bands with at most one diagonal on either side, and blocks of one row, are
    /// tridiagonal to all but the methods that know bands and blocks alone.
    pub(crate) fn takes_for(self, shape: Shape) -> Shape {
        match self {
            Method::Spike | Method::Bcyclic | Method::BlockSpike => shape,
            _ => shape.as_tridiagonal().unwrap_or(shape),
        }
    }

    /// Whether systems of this shape can be solved by it.
    ///
    /// Bands with at most one diagonal on either side, and blocks of one row, are tridiagonal.
    pub fn solves(self, shape: Shape) -> bool {
        let small = |size: usize| size <= crate::tuning::SMALL_BLOCK_MAX;
        match (self, self.takes_for(shape)) {
            (Method::Auto | Method::Pivoted, _) => true,
            (Method::Spike | Method::Bcyclic | Method::BlockSpike, Shape::BlockTridiagonal { .. }) => true,
            (Method::Rpts, Shape::BlockTridiagonal { block, .. }) => small(block),
            (Method::Spike, Shape::Banded { .. }) => true,
            (Method::Rpts, Shape::Banded { lower, upper, .. }) => small(lower.max(upper)),
            (Method::Spike | Method::Bcyclic | Method::BlockSpike, Shape::Tridiagonal { .. }) => false,
            (_, Shape::Tridiagonal { .. }) => true,
            _ => false,
        }
    }

    /// The name used on the command line and in reports.
    pub fn name(self) -> &'static str {
        match self {
            Method::Auto => "auto",
            Method::Pivoted => "pivoted",
            Method::Thomas => "thomas",
            Method::DiagonalPivoting => "diagonal-pivoting",
            Method::Rpts => "rpts",
            Method::SpikeDiagonalPivoting => "spike-diagonal-pivoting",
            Method::SpikeThomas => "spike-thomas",
            Method::SpikeCr => "spike-cr",
            Method::SpikeTruncated => "spike-truncated",
            Method::SpikeQr => "spike-qr",
            Method::ParallelDiagonalPivoting => "parallel-diagonal-pivoting",
            Method::CfLu => "cf-lu",
            Method::Cr => "cr",
            Method::Tricr => "tricr",
            Method::Pcr => "pcr",
            Method::AdaptiveCr => "adaptive-cr",
            Method::Spike => "spike",
            Method::Bcyclic => "bcyclic",
            Method::BlockSpike => "block-spike",
        }
    }

    /// Where its equations stand, its cost, and what breaks it; of `rpts` for tridiagonal systems, for blocks and narrow bands
    /// `docs/math/block-rpts.md`.
    pub fn page(self) -> &'static str {
        match self {
            Method::Auto => "docs/math/verification.md",
            Method::Pivoted => "docs/math/pivoted.md",
            Method::Thomas => "docs/math/thomas.md",
            Method::DiagonalPivoting => "docs/math/diagonal-pivoting.md",
            Method::Rpts => "docs/math/rpts.md",
            Method::SpikeDiagonalPivoting => "docs/math/spike-diagonal-pivoting.md",
            Method::SpikeThomas | Method::SpikeTruncated => "docs/math/spike-thomas.md",
            Method::SpikeCr => "docs/math/spike-cr.md",
            Method::SpikeQr => "docs/math/spike-qr.md",
            Method::ParallelDiagonalPivoting => "docs/math/parallel-diagonal-pivoting.md",
            Method::CfLu => "docs/math/cf-lu.md",
            Method::Cr | Method::Tricr | Method::Pcr => "docs/math/cyclic-reduction.md",
            Method::AdaptiveCr => "docs/math/adaptive-cr.md",
            Method::Spike => "docs/math/spike.md",
            Method::Bcyclic => "docs/math/bcyclic.md",
            Method::BlockSpike => "docs/math/block-spike.md",
        }
    }

    /// The method of this name.
    pub fn from_name(name: &str) -> Option<Method> {
        Self::ALL.into_iter().find(|m| m.name() == name)
    }
}

/// How pivot rows are chosen during elimination.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
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

/// What the user has chosen by the methods of [`Plan`]; the defaults are right for nearly everyone.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
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
    pub simd: Simd,
}

impl Options {
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

/// A decision how to solve systems of one shape; reads no numbers.
///
/// A plan that is used again saves time: it keeps the memory of a banded LU that was dropped for the next one, until the plan
/// and its clones are dropped themselves.
///
/// # Example
/// ```
/// use bandsolve::{Factor, Method, Pivoting, Plan, Tridiagonal};
/// let (sub, diag, sup) = (vec![1.0; 1000], vec![4.0; 1000], vec![1.0; 1000]);
/// let a = Tridiagonal::new(&sub, &diag, &sup)?;
/// let lu = Plan::new(a.shape()).method(Method::Rpts).pivoting(Pivoting::ScaledPartial).threads(2).factor(&a)?;
/// let mut rhs = vec![1.0; 2000]; // two right-hand sides
/// let report = lu.solve_in_place(&mut rhs)?;
/// assert!(report.backward_error <= 8.0 * f64::EPSILON);
/// # Ok::<(), bandsolve::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    shape: Shape,
    wish: Method,
    method: Method,
    reason: Arc<str>,
    pub(crate) options: Options,
    /// Shared by clones.
    pub(crate) pool: Pool,
}

impl Plan {
    /// Plan for one shape: method `Auto`, scaled partial pivoting, all threads, verified.
    ///
    /// No thread is started yet. A program that configures rayon's pool itself, with another number of threads than rayon would
    /// take, says that number in [`threads`](Self::threads): before the first parallel solve nobody can ask rayon for it.
    pub fn new(shape: Shape) -> Self {
        Self::with_defaults(shape, false)
    }

    /// The same for matrices that are factored for one solve each, of one right-hand side or several.
    ///
    /// For narrow bands and small blocks the plan chooses another method then: `rpts`, which keeps no factors and takes about as
    /// long for every solve. It is never wrong to solve again, nor to solve once with the factors of [`new`](Self::new): only
    /// slower.
    ///
    /// ```
    /// # use bandsolve::{Method, Plan, Shape};
    /// let pentadiagonal = Shape::Banded { n: 100_000, lower: 2, upper: 2 };
    /// assert_eq!(Plan::once(pentadiagonal).chosen_method(), Method::Rpts);
    /// assert_eq!(Plan::new(pentadiagonal).chosen_method(), Method::Spike);
    /// ```
    pub fn once(shape: Shape) -> Self {
        Self::with_defaults(shape, true)
    }

    fn with_defaults(shape: Shape, once: bool) -> Self {
        let options = Options {
            pivoting: Pivoting::default(),
            threads: bandsolve_kernel::threads::count(),
            once,
            verify: true,
            noise_threshold: 0.0,
            partition_rows: None,
            partitions: None,
            inner_row_cost: None,
            simd: Simd::detect(),
        };
        Self { shape, wish: Method::Auto, method: Method::Auto, reason: "".into(), options, pool: Pool::default() }
            .decide()
    }

    /// Asks for a method by name.
    pub fn method(mut self, method: Method) -> Self {
        self.wish = method;
        self.decide()
    }

    /// Chooses how pivots are selected.
    pub fn pivoting(mut self, pivoting: Pivoting) -> Self {
        self.options.pivoting = pivoting;
        self
    }

    /// Number of threads, at least 1: with 1 no other is started, nor works. The result is the same, bit for bit, for any
    /// number.
    pub fn threads(mut self, threads: usize) -> Self {
        self.options.threads = threads.max(1);
        self.decide()
    }

    /// Turns verification (and with it refinement and the fallback) off or on.
    pub fn verify(mut self, verify: bool) -> Self {
        self.options.verify = verify;
        self
    }

    /// Pivot candidates of at most this modulus count as zero, for matrices whose small entries are noise. The rows are
    /// scaled to a largest entry in \[2, 4) first if pivoting is scaled. 0 switches it off.
    pub fn noise_threshold(mut self, threshold: f64) -> Self {
        self.options.noise_threshold = threshold;
        self
    }

    /// Rows of a partition (3 … 256) instead of the tuning table's choice.
    pub fn partition_rows(mut self, rows: usize) -> Self {
        self.options.partition_rows = Some(rows.clamp(3, 256));
        self.decide()
    }

    /// Partitions of a banded system, two unless asked for more: as many threads work on them.
    ///
    /// Two cost no more work than one. Inner partitions cost about four times as much a row as the two at the ends (as
    /// measured on this machine: [`Tuning`](crate::Tuning)), which are therefore larger, so that p partitions on p threads are
    /// at best (p + 6)/4 times as fast as one: worth it from four threads on.
    /// The number of partitions decides the result to the last bit and so is never taken from the number of threads.
    pub fn partitions(mut self, partitions: usize) -> Self {
        self.options.partitions = Some(partitions.max(1));
        self.decide()
    }

    /// How many times as much a row of an inner partition of a banded system costs as one of the two at the ends, instead of
    /// what [`Tuning::current`](crate::Tuning::current) says: for the same answers, bit for bit, on several machines.
    pub fn inner_row_cost(mut self, cost: f64) -> Self {
        // Not a number: 1.
        self.options.inner_row_cost = Some(if cost >= 1.0 { cost.min(100.0) } else { 1.0 });
        self
    }

    /// Instruction set instead of the best one that the machine has. One the machine lacks is replaced by the best.
    pub fn simd(mut self, simd: Simd) -> Self {
        self.options.simd = simd.or_best();
        self
    }

    /// Whether the plan chose the method.
    pub(crate) fn is_auto(&self) -> bool {
        self.wish == Method::Auto
    }

    /// What was chosen.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// The shape planned for.
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// The same choices for systems of another shape.
    ///
    /// ```
    /// # use bandsolve::{Method, Plan, Shape};
    /// let plan = Plan::new(Shape::Tridiagonal { n: 100, periodic: false }).method(Method::Rpts);
    /// let smaller = plan.with_shape(Shape::Tridiagonal { n: 50, periodic: false });
    /// assert_eq!((smaller.shape().n(), smaller.chosen_method()), (50, Method::Rpts));
    /// ```
    #[must_use]
    pub fn with_shape(&self, shape: Shape) -> Self {
        Self { shape, pool: Pool::default(), ..self.clone() }.decide()
    }

    /// The method that was asked for.
    pub fn asked_method(&self) -> Method {
        self.wish
    }

    /// The method that will be used; never `Auto`.
    pub fn chosen_method(&self) -> Method {
        self.method
    }

    /// Why, in words.
    pub fn reason(&self) -> &str {
        &self.reason
    }

    /// Whether what is planned for is solved as a tridiagonal matrix.
    pub(crate) fn is_tridiagonal(&self) -> bool {
        matches!(self.method.takes_for(self.shape), Shape::Tridiagonal { .. })
    }

    pub(crate) fn shared_reason(&self) -> Arc<str> {
        self.reason.clone()
    }

    /// Factors a matrix of the planned shape; the factors borrow it.
    ///
    /// # Errors
    /// [`Error::Shape`](crate::Error::Shape) if `a` has not the planned shape,
    /// [`Error::Unsupported`](crate::Error::Unsupported) if the method cannot solve it.
    pub fn factor<'m, M: Factorize>(&self, a: &'m M) -> Result<M::Factor<'m>> {
        let _mode = Standard::enter();
        a.factor_with(self)
    }

    /// `Err(Shape)` unless `got` is the shape planned for.
    pub(crate) fn check_shape(&self, got: Shape) -> Result<()> {
        if got == self.shape {
            return Ok(());
        }
        Err(Error::Shape {
            what: "the matrix, which is not of the planned shape,",
            expected: self.shape.n(),
            got: got.n(),
        })
    }

    /// That the chosen method does not solve `what`.
    pub(crate) fn unsupported(&self, what: &'static str) -> Error {
        Error::Unsupported { method: self.method.name(), what }
    }

    fn decide(mut self) -> Self {
        let (method, reason) = choose(self.shape, self.wish, &self.options);
        self.method = method;
        self.reason = reason.into();
        self
    }
}

/// A matrix that a [`Plan`] can factor.
pub trait Factorize {
    /// The number type.
    type Scalar: crate::Scalar;
    /// Its factors; they borrow the matrix.
    type Factor<'m>: Inspect<Self::Scalar>
    where
        Self: 'm;
    /// Factors under a plan; called by [`Plan::factor`].
    fn factor_with<'m>(&'m self, plan: &Plan) -> Result<Self::Factor<'m>>;
}

fn choose(shape: Shape, wish: Method, options: &Options) -> (Method, String) {
    let crossover = crate::tuning::RPTS_MIN_N;
    let (once, shape) = (options.once, wish.takes_for(shape));
    let (method, why) = match (shape, wish) {
        (Shape::Tridiagonal { n, .. }, Method::Auto) if n < crossover => {
            (Method::Pivoted, format!("{n} unknowns are fewer than {crossover}, where partitions begin to pay"))
        }
        (Shape::Tridiagonal { n, .. }, Method::Auto) => {
            let lanes = "partitions on SIMD lanes, pivoted by selection";
            (Method::Rpts, format!("one tridiagonal system of {n} unknowns: {lanes}, {} threads", options.threads))
        }
        (Shape::Banded { n, lower, upper }, Method::Auto) if crate::tuning::narrow_pays(n, lower, upper, once) => {
            let lanes = "partitions on SIMD lanes, pivoted by selection";
            (Method::Rpts, format!("{lower} lower and {upper} upper diagonals: {lanes}, {} threads", options.threads))
        }
        (Shape::Banded { n, lower, upper }, Method::Auto) if crate::tuning::spike_pays(n, lower, upper) => {
            let work = "the two halves at a time, rows exchanged in both as in one elimination";
            (Method::Spike, format!("{n} unknowns, {lower} lower and {upper} upper diagonals: {work}"))
        }
        (Shape::Banded { lower, upper, .. }, Method::Auto) => {
            (Method::Pivoted, format!("{lower} lower and {upper} upper diagonals: blocked banded LU"))
        }
        (Shape::BlockTridiagonal { block, periodic, .. }, Method::Auto) if block > crate::tuning::SMALL_BLOCK_MAX => {
            let how = if periodic { "block LU along two arcs of the ring" } else { "block LU from both ends" };
            let why = "fewer flops than banded LU and block cyclic reduction";
            (Method::BlockSpike, format!("blocks of {block} rows: {how}, {why}, {} threads", options.threads))
        }
        (Shape::BlockTridiagonal { block, block_rows, periodic: false }, Method::Auto)
            if crate::tuning::blocks_pay_as_band(block, block_rows, once) =>
        {
            let work = "the two halves of their band at a time";
            (
                Method::Spike,
                format!("blocks of {block} rows, of which partitions on lanes need more operations: {work}"),
            )
        }
        (Shape::BlockTridiagonal { block, block_rows, .. }, Method::Auto)
            if block_rows < crate::tuning::block_rpts_min_rows(block, once) =>
        {
            (Method::Pivoted, format!("{block_rows} blocks of {block} rows: blocked banded LU"))
        }
        (Shape::BlockTridiagonal { block, .. }, Method::Auto) => {
            let lanes = "partitions on SIMD lanes, pivoted by selection";
            (Method::Rpts, format!("blocks of {block} rows: {lanes}, {} threads", options.threads))
        }
        (Shape::Batch { count, .. }, _) => (Method::Pivoted, format!("{count} systems: one system a SIMD lane")),
        _ => (wish, "asked for by name".into()),
    };
    let page = match (method, shape) {
        (Method::Rpts, Shape::BlockTridiagonal { .. } | Shape::Banded { .. }) => "docs/math/block-rpts.md",
        _ => method.page(),
    };
    (method, format!("{why} ({page})"))
}
