//! Shape and options → method, with the reason in words.

pub(crate) mod any;
mod banded;
pub(crate) mod batch;
mod block_tridiagonal;
mod factors;
mod scratch;
mod sparse_rhs;
mod tridiagonal;

use crate::contract::inspect::Inspect;
use crate::decision::{Decision, Options, Pivoting};
use crate::error::{Error, Result};
use crate::matrix::Shape;
use crate::method::Method;
use bandsolve_kernel::Simd;
use bandsolve_kernel::arithmetic::Standard;
use bandsolve_kernel::memory::MemoryPool;
use std::sync::Arc;

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
#[must_use]
pub struct Plan {
    pub(crate) decision: Decision,
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
        Self { decision: Decision::new(shape, Method::Auto, Options::new(once)) }.decide()
    }

    /// Asks for a method by name.
    pub fn method(mut self, method: Method) -> Self {
        self.decision.asked = method;
        self.decide()
    }

    /// Chooses how pivots are selected.
    pub fn pivoting(mut self, pivoting: Pivoting) -> Self {
        self.decision.options.pivoting = pivoting;
        self
    }

    /// Number of threads, at least 1: with 1 no other is started, nor works. The result is the same, bit for bit, for any
    /// number.
    pub fn threads(mut self, threads: usize) -> Self {
        self.decision.options.threads = threads.max(1);
        self.decide()
    }

    /// Turns verification (and with it refinement and the fallback) off or on.
    pub fn verify(mut self, verify: bool) -> Self {
        self.decision.options.verify = verify;
        self
    }

    /// Pivot candidates of at most this modulus count as zero, for matrices whose small entries are noise. The rows are
    /// scaled to a largest entry in \[2, 4) first if pivoting is scaled. 0 switches it off.
    pub fn noise_threshold(mut self, threshold: f64) -> Self {
        self.decision.options.noise_threshold = threshold;
        self
    }

    /// Rows of a partition (3 … 256) instead of the tuning table's choice.
    pub fn partition_rows(mut self, rows: usize) -> Self {
        self.decision.options.partition_rows = Some(rows.clamp(3, 256));
        self.decide()
    }

    /// Partitions of a banded system, two unless asked for more: as many threads work on them.
    ///
    /// Two cost no more work than one. Inner partitions cost about four times as much a row as the two at the ends (as
    /// measured on this machine: [`Tuning`](crate::Tuning)), which are therefore larger, so that p partitions on p threads are
    /// at best (p + 6)/4 times as fast as one: worth it from four threads on.
    /// The number of partitions decides the result to the last bit and so is never taken from the number of threads.
    pub fn partitions(mut self, partitions: usize) -> Self {
        self.decision.options.partitions = Some(partitions.max(1));
        self.decide()
    }

    /// How many times as much a row of an inner partition of a banded system costs as one of the two at the ends, instead of
    /// what [`Tuning::current`](crate::Tuning::current) says: for the same answers, bit for bit, on several machines.
    pub fn inner_row_cost(mut self, cost: f64) -> Self {
        // Not a number: 1.
        self.decision.options.inner_row_cost = Some(if cost >= 1.0 { cost.min(100.0) } else { 1.0 });
        self
    }

    /// Instruction set instead of the best one that the machine has. One the machine lacks is replaced by the best.
    pub fn simd(mut self, simd: Simd) -> Self {
        self.decision.options.simd = simd.or_best();
        self
    }

    /// What was chosen.
    pub fn options(&self) -> &Options {
        &self.decision.options
    }

    /// The shape planned for.
    pub fn shape(&self) -> Shape {
        self.decision.shape
    }

    /// The same choices for systems of another shape.
    ///
    /// ```
    /// # use bandsolve::{Method, Plan, Shape};
    /// let plan = Plan::new(Shape::Tridiagonal { n: 100, periodic: false }).method(Method::Rpts);
    /// let smaller = plan.with_shape(Shape::Tridiagonal { n: 50, periodic: false });
    /// assert_eq!((smaller.shape().n(), smaller.chosen_method()), (50, Method::Rpts));
    /// ```
    pub fn with_shape(&self, shape: Shape) -> Self {
        Self { decision: Decision { shape, pool: MemoryPool::default(), ..self.decision.clone() } }.decide()
    }

    /// The method that was asked for.
    pub fn asked_method(&self) -> Method {
        self.decision.asked
    }

    /// The method that will be used; never `Auto`.
    pub fn chosen_method(&self) -> Method {
        self.decision.method
    }

    /// Why, in words.
    pub fn reason(&self) -> &str {
        &self.decision.reason
    }

    /// Whether what is planned for is solved as a tridiagonal matrix.
    pub(crate) fn is_tridiagonal(&self) -> bool {
        matches!(self.decision.method.takes_for(self.decision.shape), Shape::Tridiagonal { .. })
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

    /// Factors a matrix of the planned shape; the factors own it, so that both can be kept in one place.
    ///
    /// A matrix that borrows its arrays is borrowed by the factors as [`factor`](Self::factor) would.
    ///
    /// # Errors
    /// Those of [`factor`](Self::factor).
    ///
    /// # Example
    /// ```
    /// use bandsolve::prelude::*;
    /// /// u ← (1 − τ ∂²)⁻¹ u, step by step.
    /// struct Diffusion {
    ///     step: AnyFactor<'static, f64>,
    /// }
    /// let tau = 0.1;
    /// let a = Tridiagonal::from_vecs(vec![-tau; 50], vec![1.0 + 2.0 * tau; 50], vec![-tau; 50], true)?;
    /// let diffusion = Diffusion { step: Plan::new(a.shape()).factor_owned(a)? };
    /// let mut u = vec![3.0; 50];
    /// diffusion.step.solve_in_place(&mut u)?;
    /// assert!(u.iter().all(|u| (u - 3.0).abs() < 1e-14)); // what is constant stays so
    /// # Ok::<(), bandsolve::Error>(())
    /// ```
    pub fn factor_owned<M: Factorize>(&self, a: M) -> Result<M::OwningFactor> {
        self.factor_shared(Arc::new(a))
    }

    /// Factors a matrix of the planned shape that others use, too.
    ///
    /// # Errors
    /// Those of [`factor`](Self::factor).
    pub fn factor_shared<M: Factorize>(&self, a: Arc<M>) -> Result<M::OwningFactor> {
        let _mode = Standard::enter();
        M::factor_shared_with(a, self)
    }

    /// `Err(Shape)` unless `got` is the shape planned for.
    pub(crate) fn check_shape(&self, got: Shape) -> Result<()> {
        if got == self.decision.shape {
            return Ok(());
        }
        Err(Error::Shape {
            what: "the matrix, which is not of the planned shape,",
            expected: self.decision.shape.n(),
            got: got.n(),
        })
    }

    fn decide(mut self) -> Self {
        let (method, reason) = choose(self.decision.shape, self.decision.asked, &self.decision.options);
        self.decision.method = method;
        self.decision.reason = reason.into();
        self
    }
}

/// A matrix that a [`Plan`] can factor.
///
/// # Examples
/// ```
/// use bandsolve::{Factor, Factorize, Plan, Shape, Tridiagonal};
/// fn rows_of<M: Factorize>(a: &M, shape: Shape) -> bandsolve::Result<usize> {
///     Ok(Plan::new(shape).factor(a)?.shape().rows())
/// }
/// let a = Tridiagonal::new(&[0.0], &[2.0, 4.0], &[0.0])?;
/// assert_eq!(rows_of(&a, a.shape())?, 2);
/// # Ok::<(), bandsolve::Error>(())
/// ```
pub trait Factorize: Sized {
    /// The number type.
    type Scalar: bandsolve_kernel::Scalar;
    /// Its factors; they borrow the matrix.
    type Factor<'m>: Inspect<Self::Scalar>
    where
        Self: 'm;
    /// Its factors; they own the matrix.
    type OwningFactor: Inspect<Self::Scalar>;
    /// Factors under a plan; called by [`Plan::factor`].
    fn factor_with<'m>(&'m self, plan: &Plan) -> Result<Self::Factor<'m>>;
    /// Factors under a plan; called by [`Plan::factor_owned`] and [`Plan::factor_shared`].
    fn factor_shared_with(a: Arc<Self>, plan: &Plan) -> Result<Self::OwningFactor>;
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
    (method, format!("{why} ({})", method.page_for(shape)))
}
