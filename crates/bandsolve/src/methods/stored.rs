//! The common part of methods that store factors: transposes, periodic systems, tiny systems and verification.
//!
//! A method factors and solves open systems only. A periodic system without its last unknown is open. With T the leading n−1 rows and
//! columns, u and w the rest of the last column and the last row, and δ the last diagonal entry,
//!
//! ```text
//! T z = u,   T y = d,   xₙ₋₁ = (dₙ₋₁ − wᵀ y) / (δ − wᵀ z),   x = y − xₙ₋₁ z
//! ```
//!
//! T can be singular although the matrix is regular. Verification detects this, like any pivot that is too small.

use crate::contract::determinant::ScaledProduct;
use crate::contract::factors::{Factors, Solver};
use crate::contract::verify::{Facts, Lazy, refinement_scratch};
use crate::decision::{Decision, Options};
use crate::error::Result;
use crate::matrix::Tridiagonal;
use crate::memory::{allocate, buffer};
use crate::pivoted::tridiagonal;
use bandsolve_kernel::Scalar;
use bandsolve_kernel::memory::MemoryPool;
use bandsolve_kernel::rows::Rows;
use bandsolve_kernel::scalar::reciprocal;
use core::fmt::Debug;
use dyn_stack::{PodStack, StackReq};
use std::sync::Arc;

/// The factors of one method for an open system of n ≥ 2 unknowns.
pub(crate) trait Elimination<T: Scalar>: Sized + Send + Sync + Debug {
    /// Factor the system, in memory from `pool`. A singular matrix is no error.
    ///
    /// # Errors
    /// `OutOfMemory`.
    fn new(rows: &Rows<'_, T>, options: &Options, pool: &MemoryPool) -> Result<Self>;

    /// Whether a pivot is exactly zero, so that solutions are useless.
    fn is_singular(&self) -> bool;

    /// Whether [`scratch`](Self::scratch) depends on the factors. Otherwise it is empty.
    const NEEDS_SCRATCH: bool = false;

    /// Scratch of [`solve`](Self::solve).
    fn scratch(&self, n_rhs: usize) -> StackReq {
        _ = n_rhs;
        StackReq::EMPTY
    }

    /// Return det A if the factors give it as reliably as pivoted ones. Called only if no pivot is zero.
    fn product(&self, _rows: &Rows<'_, T>) -> Option<ScaledProduct> {
        None
    }

    /// Replace right-hand sides, columns of length n, by unchecked solutions. `rows` must be those of [`new`](Self::new).
    fn solve(&self, rows: &Rows<'_, T>, x: &mut [T], stack: &mut PodStack);
}

/// Factors of an open or a periodic system.
#[derive(Debug)]
struct OpenOrPeriodic<T, E> {
    inner: E,
    border: Option<Border<T>>,
}

/// The border of a periodic system: its last row and column.
#[derive(Debug)]
struct Border<T> {
    /// z.
    column: Vec<T>,
    /// 1 / (δ − wᵀz).
    recip: T,
}

impl<T: Scalar, E: Elimination<T>> OpenOrPeriodic<T, E> {
    fn new(rows: &Rows<'_, T>, options: &Options, pool: &MemoryPool) -> Result<Self> {
        if !rows.periodic {
            return Ok(Self { inner: E::new(rows, options, pool)?, border: None });
        }
        let n = rows.n() - 1;
        let open = rows.section(0..n);
        let inner = E::new(&open, options, pool)?;
        let mut column = allocate(n, T::ZERO)?;
        column[0] += rows.row(0).0;
        column[n - 1] += rows.row(n - 1).2;
        let mut memory = buffer(inner.scratch(1))?;
        inner.solve(&open, &mut column, PodStack::new(&mut memory));
        let (a, b, c) = rows.row(n);
        let pivot = b - (c * column[0] + a * column[n - 1]);
        Ok(Self { inner, border: Some(Border { column, recip: reciprocal(pivot) }) })
    }

    fn is_singular(&self) -> bool {
        self.inner.is_singular() || self.border.as_ref().is_some_and(|border| border.recip == T::ZERO)
    }

    /// Scratch of [`solve`](Self::solve).
    fn scratch(&self, n_rhs: usize) -> StackReq {
        // Without their last unknowns, the columns of a periodic system are not contiguous.
        self.inner.scratch(if self.border.is_some() { 1 } else { n_rhs })
    }

    fn solve(&self, rows: &Rows<'_, T>, x: &mut [T], stack: &mut PodStack) {
        let Some(border) = &self.border else { return self.inner.solve(rows, x, stack) };
        let n = rows.n() - 1;
        let open = rows.section(0..n);
        let (a, _, c) = rows.row(n);
        for x in x.chunks_exact_mut(n + 1) {
            let (x, last) = x.split_at_mut(n);
            self.inner.solve(&open, x, stack);
            last[0] = (last[0] - (c * x[0] + a * x[n - 1])) * border.recip;
            x.iter_mut().zip(&border.column).for_each(|(x, z)| *x -= last[0] * *z);
        }
    }
}

/// Smallest number of unknowns for which a method is used.
const SMALLEST: usize = 3;

/// Factors of a tridiagonal matrix by `E`.
#[derive(Debug)]
struct Stored<T, E> {
    options: Options,
    pool: MemoryPool,
    /// `None` below [`SMALLEST`] unknowns.
    plain: Option<OpenOrPeriodic<T, E>>,
    /// Factors of Aᵀ.
    transposed: Lazy<OpenOrPeriodic<T, E>>,
}

/// Factor `a` by `E`.
///
/// # Errors
/// `OutOfMemory`.
pub(crate) fn factor<'m, T: Scalar, E: Elimination<T> + 'static>(
    decision: &Decision,
    a: Arc<Tridiagonal<'m, T>>,
) -> Result<Factors<T, Tridiagonal<'m, T>>> {
    let (options, pool) = (decision.options, decision.pool.clone());
    let plain = if a.n() < SMALLEST { None } else { Some(OpenOrPeriodic::<T, E>::new(&a.rows(), &options, &pool)?) };
    let stored = Stored { options, pool, plain, transposed: Lazy::new() };
    Ok(Factors::new(a, Facts::new(decision), stored).or_else(decision, tridiagonal::factor))
}

/// Scratch of solves, from the plan alone; `None` if it depends on the factors.
pub(crate) fn scratch<T: Scalar, E: Elimination<T>>(decision: &Decision, n: usize, _n_rhs: usize) -> Option<StackReq> {
    (!E::NEEDS_SCRATCH).then(|| refinement_scratch::<T>(decision.options.verify, n))
}

/// The rows of A or of Aᵀ.
fn rows<'a, T: Scalar>(a: &'a Tridiagonal<'_, T>, transposed: bool) -> Rows<'a, T> {
    if transposed { a.rows().transposed(false) } else { a.rows() }
}

impl<T: Scalar, E: Elimination<T>> Stored<T, E> {
    /// The factors of A or of Aᵀ, if they have been computed.
    fn system(&self, transposed: bool) -> Option<&OpenOrPeriodic<T, E>> {
        if transposed { self.transposed.computed() } else { self.plain.as_ref() }
    }
}

impl<'m, T: Scalar, E: Elimination<T>> Solver<T, Tridiagonal<'m, T>> for Stored<T, E> {
    fn smallest(&self) -> usize {
        SMALLEST
    }

    fn prepare(&self, a: &Tridiagonal<'m, T>, transposed: bool) -> Result<()> {
        if transposed {
            self.transposed.get(|| OpenOrPeriodic::new(&rows(a, true), &self.options, &self.pool))?;
        }
        Ok(())
    }

    /// The factors of A and Aᵀ need the same scratch.
    fn scratch(&self, _a: &Tridiagonal<'m, T>, n_rhs: usize) -> StackReq {
        self.plain.as_ref().map_or(StackReq::EMPTY, |system| system.scratch(n_rhs))
    }

    fn solve(&self, a: &Tridiagonal<'m, T>, transposed: bool, x: &mut [T], stack: &mut PodStack) {
        if let Some(system) = self.system(transposed) {
            system.solve(&rows(a, transposed), x, stack);
        }
    }

    fn is_singular(&self, transposed: bool) -> bool {
        self.system(transposed).is_some_and(OpenOrPeriodic::is_singular)
    }

    /// Return the determinant of open systems only: the leading rows of a regular periodic matrix can be singular.
    fn product(&self, a: &Tridiagonal<'m, T>) -> Option<ScaledProduct> {
        let system = self.plain.as_ref().filter(|system| system.border.is_none() && !system.is_singular())?;
        system.inner.product(&a.rows())
    }
}

#[cfg(test)]
pub(crate) mod testing {
    use super::*;
    use crate::contract::refine::good;
    use crate::contract::verify::backward_error;
    use dyn_stack::PodBuffer;

    /// An open matrix from its rows (sub, diag, sup).
    pub fn matrix(rows: &[[f64; 3]]) -> Tridiagonal<'static, f64> {
        let column = |j: usize| rows.iter().map(|row| row[j]).collect();
        Tridiagonal::from_vecs(column(0), column(1), column(2), false).unwrap()
    }

    /// An irregular matrix that is diagonally dominant by rows.
    pub fn dominant(n: usize) -> Tridiagonal<'static, f64> {
        let wave = |i: usize, by: f64| (i as f64 * by).sin();
        matrix(&(0..n).map(|i| [wave(i, 1.1), 2.5 + wave(i, 0.7) / 3.0, wave(i, 1.7)]).collect::<Vec<_>>())
    }

    pub fn options() -> Options {
        Options::new(false)
    }

    /// Solve unchecked, in scratch of exactly the requested size.
    pub fn solve<E: Elimination<f64>>(a: &Tridiagonal<'_, f64>, options: &Options, d: &[f64]) -> Vec<f64> {
        let (rows, mut x) = (a.rows(), d.to_vec());
        let factors = E::new(&rows, options, &MemoryPool::default()).unwrap();
        assert!(!factors.is_singular());
        let mut memory = PodBuffer::new(factors.scratch(d.len() / a.n()));
        // NaN, so that numbers that were not written are noticed.
        memory.fill(0xff);
        factors.solve(&rows, &mut x, PodStack::new(&mut memory));
        x
    }

    /// Check dominant systems of many sizes. Unchecked solutions are accurate, and the same for columns together or alone, on one thread
    /// or three.
    pub fn check_dominant<E: Elimination<f64>>() {
        for n in (2..40).chain([100, 1000, 50_000]) {
            let a = dominant(n);
            let d: Vec<f64> = (0..3 * n).map(|i| (i as f64 * 0.3).cos()).collect();
            let [one, three] = [1, 3].map(|threads| Options { threads, ..options() });
            let together = solve::<E>(&a, &one, &d);
            assert_eq!(together, solve::<E>(&a, &three, &d), "n = {n}");
            for (d, x) in d.chunks(n).zip(together.chunks(n)) {
                assert_eq!(solve::<E>(&a, &one, d), x, "n = {n}");
                let eta = backward_error(a.rows(), (d, x), false);
                assert!(eta <= good::<f64>(), "n = {n}: {eta:e}");
            }
        }
    }
}
