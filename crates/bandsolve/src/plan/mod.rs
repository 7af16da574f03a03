//! The choice of a method from the shape and the options.

pub(crate) mod any;
mod banded;
pub(crate) mod batch;
mod batch_banded;
mod batch_tridiagonal;
mod block_tridiagonal;
mod factors;
mod periodic;
mod scratch;
mod sparse_rhs;
mod systems_alone;
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

/// The method and the options with which systems of one shape are solved.
///
/// A plan depends on the shape of the matrix, never on its entries. Use a plan again for matrices of the same shape. If the factors of a
/// banded LU are dropped, the plan keeps their memory for the next matrix. Dropping the plan and its clones frees this memory.
///
/// | you solve | use |
/// | --- | --- |
/// | once with each matrix | [`Plan::once`], then [`factor`](Self::factor) and [`Factor::solve`](crate::Factor::solve) |
/// | many times with one matrix | [`Plan::new`], then [`factor`](Self::factor); [`factor_owned`](Self::factor_owned) to keep the factors in a struct |
/// | without allocation in the solve | [`Factor::solve_into_with`](crate::Factor::solve_into_with), with scratch memory of the caller |
///
/// # Cost
/// A plan costs no pass over the matrix. [`factor`](Self::factor) costs what the type of the matrix says under *Cost*.
///
/// # Errors
/// The setters never fail. They move numbers that are out of range to the nearest valid number. [`factor`](Self::factor) returns the errors
/// of the shape and of the method.
///
/// # Examples
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
    /// A plan with the defaults: method `Auto`, scaled partial pivoting, all threads, verification on.
    ///
    /// `new` starts no thread. If your program sets the size of rayon's pool itself, pass this size to [`threads`](Self::threads):
    /// rayon does not tell the size before the first parallel solve.
    pub fn new(shape: Shape) -> Self {
        Self::with_defaults(shape, false)
    }

    /// A plan with the defaults for matrices that you factor for one solve each, with any number of right-hand sides.
    ///
    /// For narrow bands and small blocks, this plan chooses `rpts`, which stores no factors and takes about the same time for each
    /// solve. Both kinds of plan give factors that solve any number of times. The wrong kind only costs time.
    ///
    /// # Examples
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

    /// Set the method, which is otherwise chosen from the shape.
    pub fn method(mut self, method: Method) -> Self {
        self.decision.asked = method;
        self.decide()
    }

    /// Set the rule that selects pivot rows.
    pub fn pivoting(mut self, pivoting: Pivoting) -> Self {
        self.decision.options.pivoting = pivoting;
        self
    }

    /// Set the number of threads, at least 1. With 1, the calling thread does all the work.
    ///
    /// The result is the same, bit for bit, for any number of threads.
    pub fn threads(mut self, threads: usize) -> Self {
        self.decision.options.threads = threads.max(1);
        self.decide()
    }

    /// Turn verification on or off. It is on by default.
    ///
    /// Without verification, the solver neither measures nor refines x. It falls back to the pivoted solver only if a pivot is zero.
    pub fn verify(mut self, verify: bool) -> Self {
        self.decision.options.verify = verify;
        self
    }

    /// Set the modulus up to which a pivot candidate counts as zero, for matrices whose small entries are noise.
    ///
    /// The default 0 accepts every nonzero pivot. With scaled pivoting, each row is first scaled so that its largest entry is in \[2, 4).
    pub fn noise_threshold(mut self, threshold: f64) -> Self {
        self.decision.options.noise_threshold = threshold;
        self
    }

    /// Set the number of rows per partition, from 3 to 256, of methods that use SIMD lanes.
    pub fn partition_rows(mut self, rows: usize) -> Self {
        self.decision.options.partition_rows = Some(rows.clamp(3, 256));
        self.decide()
    }

    /// Set the number of partitions of a banded system, two by default. Each partition can use a thread.
    ///
    /// Two partitions cost no more operations than one. An inner partition costs about four times as much per row as the two at the
    /// ends, which are therefore larger. [`Tuning`](crate::Tuning) holds the ratio measured on your machine. With p threads, p partitions
    /// are at most (p + 6)/4 times as fast as one. More than two pay off from four threads on.
    ///
    /// The number of partitions changes the rounding of x. It does not depend on the number of threads.
    pub fn partitions(mut self, partitions: usize) -> Self {
        self.decision.options.partitions = Some(partitions.max(1));
        self.decide()
    }

    /// Set the cost per row of an inner partition of a banded system, relative to the two partitions at the ends.
    ///
    /// The default is [`Tuning::current`](crate::Tuning::current), which differs between machines. Set the cost to get the same x, bit
    /// for bit, on several machines with the same instruction set.
    pub fn inner_row_cost(mut self, cost: f64) -> Self {
        // `else` includes NaN.
        self.decision.options.inner_row_cost = Some(if cost >= 1.0 { cost.min(100.0) } else { 1.0 });
        self
    }

    /// Set the instruction set. The default, also used if the machine lacks the requested one, is the best one of the machine.
    pub fn simd(mut self, simd: Simd) -> Self {
        self.decision.options.simd = simd.or_best();
        self
    }

    /// The options of this plan.
    pub fn options(&self) -> &Options {
        &self.decision.options
    }

    /// The shape of the systems that this plan is for.
    pub fn shape(&self) -> Shape {
        self.decision.shape
    }

    /// A plan with the same options for systems of another shape.
    ///
    /// # Examples
    /// ```
    /// # use bandsolve::{Method, Plan, Shape};
    /// let plan = Plan::new(Shape::Tridiagonal { n: 100, periodic: false }).method(Method::Rpts);
    /// let smaller = plan.with_shape(Shape::Tridiagonal { n: 50, periodic: false });
    /// assert_eq!((smaller.shape().n(), smaller.chosen_method()), (50, Method::Rpts));
    /// ```
    pub fn with_shape(&self, shape: Shape) -> Self {
        Self { decision: Decision { shape, pool: MemoryPool::default(), ..self.decision.clone() } }.decide()
    }

    /// The requested method, `Auto` by default.
    pub fn asked_method(&self) -> Method {
        self.decision.asked
    }

    /// The method that the plan uses, never `Auto`.
    pub fn chosen_method(&self) -> Method {
        self.decision.method
    }

    /// The reason for the method, in words.
    pub fn reason(&self) -> &str {
        &self.decision.reason
    }

    /// Whether the method solves the planned shape as a tridiagonal system.
    pub(crate) fn is_tridiagonal(&self) -> bool {
        matches!(self.decision.method.takes_for(self.decision.shape), Shape::Tridiagonal { .. })
    }

    /// Factor a matrix of the planned shape. The factors borrow the matrix.
    ///
    /// # Errors
    /// - [`Error::Shape`](crate::Error::Shape) if the shape of `a` differs from the planned one.
    /// - [`Error::Unsupported`](crate::Error::Unsupported) if the method does not solve systems of this shape.
    /// - [`Error::OutOfMemory`](crate::Error::OutOfMemory) if there is no memory for the factors.
    /// - [`Error::NotDefinite`](crate::Error::NotDefinite) or [`Error::NotFinite`](crate::Error::NotFinite) from method `cholesky`. With all
    ///   other methods, each solve reports a singular matrix, a NaN or an infinity.
    pub fn factor<'m, M: Factorize>(&self, a: &'m M) -> Result<M::Factor<'m>> {
        let _mode = Standard::enter();
        a.factor_with(self)
    }

    /// Factor a matrix of the planned shape. The factors own the matrix, so that a struct can hold them.
    ///
    /// If the matrix borrows its arrays, the factors borrow these arrays, too.
    ///
    /// # Errors
    /// Those of [`factor`](Self::factor).
    ///
    /// # Examples
    /// ```
    /// use bandsolve::prelude::*;
    /// /// Each step computes u ← (1 − τ ∂²)⁻¹ u.
    /// struct Diffusion {
    ///     step: AnyFactor<'static, f64>,
    /// }
    /// let tau = 0.1;
    /// let a = Tridiagonal::from_vecs(vec![-tau; 50], vec![1.0 + 2.0 * tau; 50], vec![-tau; 50], true)?;
    /// let diffusion = Diffusion { step: Plan::new(a.shape()).factor_owned(a)? };
    /// let mut u = vec![3.0; 50];
    /// diffusion.step.solve_in_place(&mut u)?;
    /// assert!(u.iter().all(|u| (u - 3.0).abs() < 1e-14)); // a constant u does not change
    /// # Ok::<(), bandsolve::Error>(())
    /// ```
    pub fn factor_owned<M: Factorize>(&self, a: M) -> Result<M::OwningFactor> {
        self.factor_shared(Arc::new(a))
    }

    /// Factor a matrix of the planned shape that the caller shares.
    ///
    /// # Errors
    /// Those of [`factor`](Self::factor).
    pub fn factor_shared<M: Factorize>(&self, a: Arc<M>) -> Result<M::OwningFactor> {
        let _mode = Standard::enter();
        M::factor_shared_with(a, self)
    }

    /// `Err(Shape)` unless `got` is the planned shape.
    pub(crate) fn check_shape(&self, got: Shape) -> Result<()> {
        let planned = self.decision.shape;
        if got == planned {
            return Ok(());
        }
        let what = if got.n() == planned.n() {
            "the matrix, whose shape differs from the plan except for the number of unknowns,"
        } else {
            "the diagonal of the matrix"
        };
        Err(Error::Shape { what, expected: planned.n(), got: got.n() })
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
    /// The factors that borrow the matrix.
    type Factor<'m>: Inspect<Self::Scalar>
    where
        Self: 'm;
    /// The factors that own the matrix.
    type OwningFactor: Inspect<Self::Scalar>;
    /// Factor the matrix. [`Plan::factor`] calls this function.
    fn factor_with<'m>(&'m self, plan: &Plan) -> Result<Self::Factor<'m>>;
    /// Factor a shared matrix. [`Plan::factor_owned`] and [`Plan::factor_shared`] call this function.
    fn factor_shared_with(a: Arc<Self>, plan: &Plan) -> Result<Self::OwningFactor>;
}

/// The method for a batch.
fn of_batch(wish: Method) -> Method {
    if wish == Method::Cholesky { wish } else { Method::Pivoted }
}

fn choose(shape: Shape, wish: Method, options: &Options) -> (Method, String) {
    let crossover = crate::tuning::RPTS_MIN_N;
    let (once, shape) = (options.once, wish.takes_for(shape));
    let lanes = "one partition per SIMD lane, pivoting without branches";
    let threads = match options.threads {
        1 => "1 thread".to_string(),
        threads => format!("{threads} threads"),
    };
    let (method, why) = match (shape, wish) {
        (Shape::Tridiagonal { n, .. }, Method::Auto) if n < crossover => (
            Method::Pivoted,
            format!("one tridiagonal system of {n} unknowns: below {crossover}, elimination row by row is fastest"),
        ),
        (Shape::Tridiagonal { n, .. }, Method::Auto) => {
            (Method::Rpts, format!("one tridiagonal system of {n} unknowns: {lanes}, {threads}"))
        }
        (Shape::Banded { n, lower, upper }, Method::Auto) if crate::tuning::narrow_pays(n, lower, upper, once) => {
            (Method::Rpts, format!("{lower} lower and {upper} upper diagonals: {lanes}, {threads}"))
        }
        (Shape::Banded { n, lower, upper }, Method::Auto) if crate::tuning::spike_pays(n, lower, upper) => {
            let work = "elimination in two halves, with partial pivoting";
            (Method::Spike, format!("{n} unknowns, {lower} lower and {upper} upper diagonals: {work}"))
        }
        (Shape::Banded { lower, upper, .. }, Method::Auto) => {
            (Method::Pivoted, format!("{lower} lower and {upper} upper diagonals: blocked banded LU"))
        }
        (Shape::BlockTridiagonal { block, periodic, .. }, Method::Auto) if block > crate::tuning::SMALL_BLOCK_MAX => {
            let how = if periodic { "block LU of two partitions" } else { "block LU from both ends" };
            let why = "fewer operations than banded LU or block cyclic reduction";
            (Method::BlockSpike, format!("blocks of {block} rows: {how}, {why}, {threads}"))
        }
        (Shape::BlockTridiagonal { block, block_rows, periodic: false }, Method::Auto)
            if crate::tuning::blocks_pay_as_band(block, block_rows, once) =>
        {
            let work = "a band, eliminated in two halves, is faster than partitions on SIMD lanes";
            (Method::Spike, format!("blocks of {block} rows: {work}"))
        }
        (Shape::BlockTridiagonal { block, block_rows, .. }, Method::Auto)
            if block_rows < crate::tuning::block_rpts_min_rows(block, once) =>
        {
            (Method::Pivoted, format!("{block_rows} blocks of {block} rows: blocked banded LU"))
        }
        (Shape::BlockTridiagonal { block, .. }, Method::Auto) => {
            (Method::Rpts, format!("blocks of {block} rows: {lanes}, {threads}"))
        }
        // Without the number of systems: callers may solve a batch in parts.
        (Shape::BandedBatch { n, lower, upper, .. }, _) => {
            let kind = format!("systems of {n} unknowns each, with {lower} lower and {upper} upper diagonals");
            (of_batch(wish), format!("a batch of {kind}: one system per SIMD lane"))
        }
        (Shape::Batch { n, periodic, .. }, _) => {
            let kind = if periodic { "periodic tridiagonal" } else { "tridiagonal" };
            (of_batch(wish), format!("a batch of {kind} systems of {n} unknowns each: one system per SIMD lane"))
        }
        _ => (wish, "requested by name".into()),
    };
    (method, format!("{why} ({})", method.page_for(shape)))
}
