//! Matrices and factors of any number type, which the caller selects by a number.

use crate::status::{RankFailure, RankResult, text};
use bandsolve::{Complex32, Complex64, Layout, LinearOperator, Method, Op, RealScalar, Report, Scalar};
use bandsolve_eigen::EigenSolver;
use bandsolve_mpi::{
    DistributedBanded, DistributedBatch, DistributedBatchFactors, DistributedBlocks, DistributedFactors, RankError,
    Ranks,
};
use core::ffi::{c_char, c_void};
use core::{any::Any, slice};

/// Evaluate an expression with the number type of a kind.
macro_rules! of_kind {
    ($kind:expr, $number:ident => $body:expr) => {
        match $kind {
            0 => {
                type $number = f32;
                $body
            }
            1 => {
                type $number = f64;
                $body
            }
            2 => {
                type $number = Complex32;
                $body
            }
            3 => {
                type $number = Complex64;
                $body
            }
            other => Err(RankFailure::argument(format!("kind is {other}, expected a number type from 0 to 3"))),
        }
    };
}

/// Borrow an array of the caller for reading.
///
/// # Safety
/// `start` points to `len` numbers, which nobody writes for `'a`. If `len` is 0, it may be any address.
pub(crate) unsafe fn numbers<'a, T: Scalar>(start: *const c_void, len: usize) -> &'a [T] {
    if len == 0 {
        return &[];
    }
    let start = start.cast::<T>();
    assert!(start.is_aligned() && !start.is_null(), "an array is null or not aligned to its number type");
    // SAFETY: the caller's promise; the address was checked.
    unsafe { slice::from_raw_parts(start, len) }
}

/// Borrow an array of the caller for writing.
///
/// # Safety
/// `start` points to `len` numbers, which nobody else reads or writes for `'a`. If `len` is 0, it may be any address.
pub(crate) unsafe fn numbers_mut<'a, P, T: Scalar>(start: *mut P, len: usize) -> &'a mut [T] {
    if len == 0 {
        return &mut [];
    }
    let start = start.cast::<T>();
    assert!(start.is_aligned() && !start.is_null(), "an array is null or not aligned to its number type");
    // SAFETY: the caller's promise; the address was checked.
    unsafe { slice::from_raw_parts_mut(start, len) }
}

/// Write a product with x to y.
///
/// # Safety
/// x and y have `len` numbers of this type.
unsafe fn product_into<T: Scalar>(
    (x, y, len): (*const c_void, *mut c_void, usize),
    product: impl FnOnce(&[T]) -> Result<Vec<T>, RankError>,
) -> RankResult {
    // SAFETY: the caller's promise.
    let (x, y) = unsafe { (numbers(x, len), numbers_mut::<_, T>(y, len)) };
    y.copy_from_slice(&product(x)?);
    Ok(())
}

/// Options of the eigenvalue solver, and its report.
#[repr(C)]
pub struct bandsolve_mpi_eigen_t {
    /// Find the eigenvalues nearest to this number.
    pub target: f64,
    /// Relative tolerance. 0 means the accuracy of the number type.
    pub tol: f64,
    /// Number of eigenvalues to find.
    pub k: usize,
    /// Maximum dimension of the Krylov space. 0 means the default of the solver.
    pub ncv: usize,
    /// Maximum number of restarts. 0 means the default of the solver.
    pub max_restarts: usize,
    /// Seed of the random start vector, the same on all ranks.
    pub seed: u64,
    /// Number of eigenvalues that were found.
    pub found: usize,
    /// Number of restarts.
    pub restarts: usize,
    /// Number of solves.
    pub solves: usize,
    /// 1 if counts prove that no nearer eigenvalue is missing, else 0.
    pub complete: i32,
    /// 1 if all k eigenvalues were found, else 0.
    pub converged: i32,
    /// The reason for the end of the search, in words.
    pub ending: [c_char; 64],
}

/// `sub`, `diag` and `sup` of the rows of this rank, as the caller passes them.
pub(crate) struct RankArrays {
    /// The number type, from 0 to 3.
    pub kind: i32,
    pub periodic: bool,
    /// Number of values of each array.
    pub len: usize,
    pub arrays: [*const c_void; 3],
}

/// A matrix over ranks.
pub(crate) trait AnyRankMatrix {
    /// Multiply: y = A·x.
    ///
    /// # Safety
    /// x and y have `len` numbers of the type of the matrix.
    unsafe fn apply(&self, x: *const c_void, y: *mut c_void, len: usize) -> RankResult;

    fn factor(&self, method: Method) -> RankResult<Box<dyn AnyRankFactors>>;

    /// Find the eigenvalues of a Hermitian pencil nearest to a target: values, offsets, residuals and vectors.
    ///
    /// # Safety
    /// `_vectors` has an address, and the number of values of the type of the matrix that fit there.
    unsafe fn nearest(
        &self,
        _ranks: &Ranks,
        _mass: Option<&dyn AnyRankMatrix>,
        _eigen: &mut bandsolve_mpi_eigen_t,
        _numbers: [&mut [f64]; 3],
        _vectors: (*mut c_void, usize),
    ) -> RankResult {
        Err(RankFailure::argument("A is no block tridiagonal matrix, which eigsh requires; create A as Blocks".into()))
    }

    fn as_any(&self) -> &dyn Any;
}

/// Factors over ranks.
pub(crate) trait AnyRankFactors {
    /// Solve op(A)·x = rhs in place.
    ///
    /// # Safety
    /// x has `len` numbers of the type of the matrix.
    unsafe fn solve(&self, op: Op, x: *mut c_void, len: usize) -> RankResult<Report>;

    /// Estimate the reciprocal condition, and return a warning if x with this backward error may have no correct digit.
    fn condition(&self, backward_error: f64) -> RankResult<(f64, Option<String>)>;
}

/// The condition and the warning for a number type.
fn condition<T: Scalar>(rcond: f64, backward_error: f64) -> (f64, Option<String>) {
    (rcond, bandsolve::attention(T::Real::EPSILON.to_f64(), Some(rcond), backward_error, None))
}

impl<T: Scalar> AnyRankFactors for DistributedFactors<T> {
    unsafe fn solve(&self, op: Op, x: *mut c_void, len: usize) -> RankResult<Report> {
        // SAFETY: the caller's promise.
        Ok(self.solve_in_place_with(op, unsafe { numbers_mut(x, len) })?)
    }

    fn condition(&self, backward_error: f64) -> RankResult<(f64, Option<String>)> {
        Ok(condition::<T>(self.rcond()?, backward_error))
    }
}

impl<T: Scalar> AnyRankMatrix for DistributedBlocks<T> {
    unsafe fn apply(&self, x: *const c_void, y: *mut c_void, len: usize) -> RankResult {
        // SAFETY: the caller's promise.
        unsafe { product_into((x, y, len), |x| DistributedBlocks::apply(self, x)) }
    }

    fn factor(&self, method: Method) -> RankResult<Box<dyn AnyRankFactors>> {
        Ok(Box::new(self.factor_by(method)?))
    }

    unsafe fn nearest(
        &self,
        ranks: &Ranks,
        mass: Option<&dyn AnyRankMatrix>,
        eigen: &mut bandsolve_mpi_eigen_t,
        [values, offsets, residuals]: [&mut [f64]; 3],
        (vectors, len): (*mut c_void, usize),
    ) -> RankResult {
        let mass = match mass.map(|mass| mass.as_any().downcast_ref::<Self>()) {
            None => None,
            Some(Some(mass)) => Some(mass),
            Some(None) => {
                return Err(RankFailure::argument(
                    "A and M differ in kind or number type; create both as Blocks of the same dtype".into(),
                ));
            }
        };
        let below = |shift: f64| self.eigenvalues_below(mass, shift).map_err(|error| error.error);
        let mut solver = EigenSolver::new(eigen.k).tol(eigen.tol).seed(eigen.seed).communicator(ranks).count(&below);
        if eigen.ncv > 0 {
            solver = solver.ncv(eigen.ncv);
        }
        if eigen.max_restarts > 0 {
            solver = solver.max_restarts(eigen.max_restarts);
        }
        let eigenpairs = solver.hermitian_nearest(self, mass, eigen.target)?;
        debug_assert_eq!(eigenpairs.vectors.len(), eigenpairs.values.len() * LinearOperator::rows(self));
        for (to, from) in
            [(values, &eigenpairs.values), (offsets, &eigenpairs.offsets), (residuals, &eigenpairs.report.residuals)]
        {
            to.iter_mut().zip(from).for_each(|(to, from)| *to = *from);
        }
        // SAFETY: the caller's promise.
        let to = unsafe { numbers_mut::<_, T>(vectors, len) };
        to.iter_mut().zip(&eigenpairs.vectors).for_each(|(to, from)| *to = *from);
        eigen.found = eigenpairs.values.len().min(eigen.k);
        (eigen.restarts, eigen.solves) = (eigenpairs.report.restarts, eigenpairs.report.solves);
        (eigen.complete, eigen.converged) =
            (i32::from(eigenpairs.report.complete == Some(true)), i32::from(eigenpairs.converged()));
        eigen.ending = text(&eigenpairs.report.ending.to_string());
        Ok(())
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl<T: Scalar> AnyRankMatrix for DistributedBanded<T> {
    unsafe fn apply(&self, x: *const c_void, y: *mut c_void, len: usize) -> RankResult {
        // SAFETY: the caller's promise.
        unsafe { product_into((x, y, len), |x| DistributedBanded::apply(self, x)) }
    }

    fn factor(&self, method: Method) -> RankResult<Box<dyn AnyRankFactors>> {
        Ok(Box::new(self.factor_by(method)?))
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl<T: Scalar> AnyRankFactors for DistributedBatchFactors<T> {
    unsafe fn solve(&self, op: Op, x: *mut c_void, len: usize) -> RankResult<Report> {
        // SAFETY: the caller's promise.
        Ok(self.solve_in_place_with(op, unsafe { numbers_mut(x, len) })?)
    }

    fn condition(&self, backward_error: f64) -> RankResult<(f64, Option<String>)> {
        Ok(condition::<T>(self.rcond()?, backward_error))
    }
}

impl<T: Scalar> AnyRankMatrix for DistributedBatch<T> {
    unsafe fn apply(&self, x: *const c_void, y: *mut c_void, len: usize) -> RankResult {
        // SAFETY: the caller's promise.
        unsafe { product_into((x, y, len), |x| DistributedBatch::apply(self, x)) }
    }

    fn factor(&self, method: Method) -> RankResult<Box<dyn AnyRankFactors>> {
        match method {
            Method::Auto => Ok(Box::new(DistributedBatch::factor(self)?)),
            other => {
                Err(RankFailure::argument(format!("a batch over ranks has no method {:?}; use 'auto'", other.name())))
            }
        }
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// Create a block tridiagonal matrix from `sub`, `diag` and `sup`. Collective.
///
/// # Safety
/// The arrays have `len` numbers of that kind.
pub(crate) unsafe fn blocks(ranks: &Ranks, block: usize, from: RankArrays) -> RankResult<Box<dyn AnyRankMatrix>> {
    of_kind!(from.kind, Number => {
        // SAFETY: the caller's promise.
        let arrays = from.arrays.map(|array| unsafe { numbers::<Number>(array, from.len) });
        let new = if from.periodic { DistributedBlocks::periodic } else { DistributedBlocks::new };
        Ok(Box::new(new(ranks, block, arrays)?))
    })
}

/// Create a banded matrix. Collective.
///
/// # Safety
/// `rows` has `len` numbers of that kind.
pub(crate) unsafe fn banded(
    ranks: &Ranks,
    kind: i32,
    bandwidths: (usize, usize),
    (rows, len): (*const c_void, usize),
) -> RankResult<Box<dyn AnyRankMatrix>> {
    of_kind!(kind, Number => {
        // SAFETY: the caller's promise.
        let rows = unsafe { numbers::<Number>(rows, len) };
        Ok(Box::new(DistributedBanded::new(ranks, bandwidths, rows)?))
    })
}

/// Create many tridiagonal matrices from `sub`, `diag` and `sup`. Collective.
///
/// # Safety
/// The arrays have `len` numbers of that kind.
pub(crate) unsafe fn batch(
    ranks: &Ranks,
    systems: (usize, Layout),
    from: RankArrays,
) -> RankResult<Box<dyn AnyRankMatrix>> {
    of_kind!(from.kind, Number => {
        // SAFETY: the caller's promise.
        let arrays = from.arrays.map(|array| unsafe { numbers::<Number>(array, from.len) });
        let new = if from.periodic { DistributedBatch::periodic } else { DistributedBatch::new };
        Ok(Box::new(new(ranks, systems, arrays)?))
    })
}
