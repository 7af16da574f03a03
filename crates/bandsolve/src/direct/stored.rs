//! Methods that keep factors: what they share. Each says how one open system is factored and solved; here stand transposes,
//! periodic corners, tiny systems and the accuracy contract.
//!
//! A periodic system is bordered: without its last unknown it is open. With T the leading n−1 rows and columns, u and w
//! what is left of the last column and the last row, and δ its diagonal entry,
//!
//! $$ T z = u, \qquad T y = d, \qquad x_{n-1} = \frac{d_{n-1} - w^T y}{\delta - w^T z}, \qquad x = y - x_{n-1} z $$
//!
//! T may be singular where the whole is not; as with every pivot that is too small, verification finds out.

use super::pivoted::{PivotedTridiagonal, around_transpose, reciprocal};
use super::verify::{self, Equations, Factored, Facts, Refiner, Report, good};
use super::{Factor, Op};
use crate::error::{Error, Result, check_len};
use crate::matrix::{Rows, Shape, Tridiagonal};
use crate::plan::{Options, Pivoting, Plan};
use crate::scalar::Scalar;
use core::fmt::Debug;
use dyn_stack::{PodBuffer, PodStack, StackReq};
use std::sync::OnceLock;

/// One method's factors of one open system of n ≥ 2 unknowns.
pub(crate) trait Elimination<T: Scalar>: Sized + Send + Sync + Debug {
    /// Factors the system; never fails on numbers.
    ///
    /// # Errors
    /// `OutOfMemory`.
    fn new(rows: &Rows<'_, T>, options: &Options) -> Result<Self>;

    /// Whether a pivot was exactly zero: then solutions are not worth looking at.
    fn is_singular(&self) -> bool;

    /// Scratch of [`solve`](Self::solve).
    fn scratch(&self, n_rhs: usize) -> StackReq {
        _ = n_rhs;
        StackReq::EMPTY
    }

    /// Replaces right-hand sides, columns of length n, by solutions, unchecked. `rows` are those of [`new`](Self::new).
    fn solve(&self, rows: &Rows<'_, T>, x: &mut [T], stack: &mut PodStack);
}

/// Factors of an open or a periodic system.
#[derive(Debug)]
struct System<T, E> {
    inner: E,
    border: Option<Border<T>>,
}

/// What a periodic system has beside its leading rows and columns.
#[derive(Debug)]
struct Border<T> {
    /// z
    column: Vec<T>,
    /// 1 / (δ − wᵀz)
    recip: T,
}

impl<T: Scalar, E: Elimination<T>> System<T, E> {
    fn new(rows: &Rows<'_, T>, options: &Options) -> Result<Self> {
        if !rows.periodic {
            return Ok(Self { inner: E::new(rows, options)?, border: None });
        }
        let n = rows.n() - 1;
        let open = rows.section(0..n);
        let inner = E::new(&open, options)?;
        let mut column = super::pivoted::allocate(n, T::ZERO)?;
        column[0] += rows.row(0).0;
        column[n - 1] += rows.row(n - 1).2;
        let mut memory = PodBuffer::new(inner.scratch(1));
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
        // The columns of a periodic system are not neighbours without their last unknowns.
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

/// A sequential solve for answers that are not good, factored when it is first needed.
#[derive(Debug)]
pub(super) struct Fallback<'m, T: Scalar>(OnceLock<Result<PivotedTridiagonal<'m, T>>>);

impl<'m, T: Scalar> Fallback<'m, T> {
    pub fn new() -> Self {
        Self(OnceLock::new())
    }

    /// Solves one column, which begins at `offset` of the caller's array; returns its backward error.
    pub fn solve(
        &self,
        (plan, a): (&Plan, &Tridiagonal<'m, T>),
        op: Op,
        (rhs, offset): (&[T], usize),
        x: &mut [T],
        outcome: &mut Report,
    ) -> Result<f64> {
        let make = || PivotedTridiagonal::new(&plan.clone().pivoting(Pivoting::ScaledPartial), a.clone());
        let factor = self.0.get_or_init(make).as_ref().map_err(Clone::clone)?;
        outcome.fallback = true;
        let scratch = factor.solve_scratch(1);
        let mut memory = PodBuffer::try_new(scratch)
            .map_err(|_| Error::OutOfMemory { bytes: scratch.unaligned_bytes_required() })?;
        let result = factor.solve_into_with(op, rhs, x, PodStack::new(&mut memory));
        let report = result.map_err(|error| match error {
            Error::NotFinite { array: "rhs", index } => Error::NotFinite { array: "rhs", index: index + offset },
            other => other,
        })?;
        outcome.refinement_steps = outcome.refinement_steps.max(report.refinement_steps);
        Ok(report.backward_error)
    }

    /// Solves the columns of a system of one or two unknowns, which no method of ours need look at.
    pub fn solve_tiny(
        &self,
        (plan, a): (&Plan, &Tridiagonal<'m, T>),
        op: Op,
        rhs: &[T],
        x: &mut [T],
        outcome: &mut Report,
    ) -> Result<()> {
        let n = a.n();
        for (i, (rhs, x)) in rhs.chunks_exact(n).zip(x.chunks_exact_mut(n)).enumerate() {
            let error = self.solve((plan, a), op, (rhs, i * n), x, outcome)?;
            if plan.options.verify {
                outcome.push(error);
            }
        }
        outcome.fallback = outcome.backward_error > good::<T>();
        Ok(())
    }
}

/// Unknowns from which on a method is asked at all.
const SMALLEST: usize = 3;

/// A tridiagonal matrix factored by `E`.
#[derive(Debug)]
pub(super) struct Stored<'m, T: Scalar, E> {
    a: Tridiagonal<'m, T>,
    plan: Plan,
    facts: Facts,
    /// `None` below [`SMALLEST`] unknowns.
    plain: Option<System<T, E>>,
    /// Factors of Aᵀ, made when first asked for.
    transposed: OnceLock<Result<System<T, E>>>,
    fallback: Fallback<'m, T>,
}

impl<'m, T: Scalar, E: Elimination<T>> Stored<'m, T, E> {
    /// Factors `a`.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn new(plan: &Plan, a: Tridiagonal<'m, T>) -> Result<Self> {
        let plain = if a.n() < SMALLEST { None } else { Some(System::new(&a.rows(), &plan.options)?) };
        let (facts, plan) = (Facts::new(plan), plan.clone());
        Ok(Self { a, plan, facts, plain, transposed: OnceLock::new(), fallback: Fallback::new() })
    }

    /// The factors for `op`: those of A, or of Aᵀ.
    fn system(&self, op: Op) -> Result<&System<T, E>> {
        match op {
            Op::Plain => Ok(self.plain.as_ref().expect("factored")),
            _ => {
                if self.transposed.get().is_none() {
                    // Made outside of the lock: while it waits for other threads, a thread may be given another solve with
                    // these factors, which would wait for the lock for ever.
                    let made = System::new(&self.a.rows().transposed(false), &self.plan.options);
                    _ = self.transposed.set(made);
                }
                self.transposed.get().expect("set").as_ref().map_err(Clone::clone)
            }
        }
    }
}

impl<T: Scalar, E: Elimination<T>> Factored<T> for Stored<'_, T, E> {
    fn shape(&self) -> Shape {
        self.a.shape()
    }

    fn facts(&self) -> &Facts {
        &self.facts
    }

    fn equations(&self, op: Op) -> impl Equations<T> {
        op.rows(&self.a)
    }

    fn solve_unchecked(&self, op: Op, x: &mut [T], stack: &mut PodStack) {
        let rows = if op == Op::Plain { self.a.rows() } else { self.a.rows().transposed(false) };
        if let Ok(system) = self.system(op) {
            around_transpose(op, x, |x| system.solve(&rows, x, stack));
        }
    }

    fn check_finite(&self) -> Result<()> {
        self.a.check_finite()
    }
}

impl<T: Scalar, E: Elimination<T>> Factor<T> for Stored<'_, T, E> {
    fn shape(&self) -> Shape {
        self.a.shape()
    }

    fn solve_scratch(&self, n_rhs: usize) -> StackReq {
        // A transposed system is of the same size.
        let own = self.plain.as_ref().map_or(StackReq::EMPTY, |system| system.scratch(n_rhs));
        own.or(
            verify::verified_scratch(self).and(self.plain.as_ref().map_or(StackReq::EMPTY, |system| system.scratch(1)))
        )
    }

    fn solve_into_with(&self, op: Op, rhs: &[T], x: &mut [T], stack: &mut PodStack) -> Result<Report> {
        let n_rhs = Factor::shape(self).n_rhs("rhs", rhs.len())?;
        check_len("x", rhs.len(), x.len())?;
        verify::check_scratch(self.solve_scratch(n_rhs), stack)?;
        let (n, mut outcome, system) = (self.a.n(), Report::new(&self.plan), (&self.plan, &self.a));
        if n < SMALLEST {
            if n > 0 {
                self.fallback.solve_tiny(system, op, rhs, x, &mut outcome)?;
            }
            return Ok(outcome);
        }
        let singular = self.system(op)?.is_singular();
        x.copy_from_slice(rhs);
        self.solve_unchecked(op, x, stack);
        if !self.plan.options.verify {
            return Ok(outcome);
        }
        for (k, (rhs, x)) in rhs.chunks_exact(n).zip(x.chunks_exact_mut(n)).enumerate() {
            let (mut error, steps) =
                if singular { (f64::NAN, 0) } else { Refiner { factors: self, op, stack }.refine(rhs, x) };
            outcome.refinement_steps = outcome.refinement_steps.max(steps);
            if !(error <= good::<T>()) {
                error = self.fallback.solve(system, op, (rhs, k * n), x, &mut outcome)?;
            }
            outcome.push(error);
        }
        Ok(outcome)
    }
}

#[cfg(test)]
pub(super) mod testing {
    use super::*;

    /// A matrix of 64-bit numbers from its rows (sub, diag, sup), open.
    pub fn matrix(rows: &[[f64; 3]]) -> Tridiagonal<'static, f64> {
        let column = |j: usize| rows.iter().map(|row| row[j]).collect();
        Tridiagonal::from_vecs(column(0), column(1), column(2), false).unwrap()
    }

    /// Diagonally dominant by rows, without a pattern.
    pub fn dominant(n: usize) -> Tridiagonal<'static, f64> {
        let wave = |i: usize, by: f64| (i as f64 * by).sin();
        matrix(&(0..n).map(|i| [wave(i, 1.1), 2.5 + wave(i, 0.7) / 3.0, wave(i, 1.7)]).collect::<Vec<_>>())
    }

    pub fn options(a: &Tridiagonal<'_, f64>) -> Options {
        Plan::new(a.shape()).options
    }

    /// Solves columns, unchecked, in scratch of just the size asked for.
    pub fn solve<E: Elimination<f64>>(a: &Tridiagonal<'_, f64>, options: &Options, d: &[f64]) -> Vec<f64> {
        let (rows, mut x) = (a.rows(), d.to_vec());
        let factors = E::new(&rows, options).unwrap();
        assert!(!factors.is_singular());
        let mut memory = PodBuffer::new(factors.scratch(d.len() / a.n()));
        factors.solve(&rows, &mut x, PodStack::new(&mut memory));
        x
    }

    /// Dominant systems of many sizes: unchecked answers are good, columns solved together or alone, by one thread or
    /// three, are the same.
    pub fn check_dominant<E: Elimination<f64>>() {
        for n in (2..40).chain([100, 1000, 50_000]) {
            let a = dominant(n);
            let d: Vec<f64> = (0..3 * n).map(|i| (i as f64 * 0.3).cos()).collect();
            let [one, three] = [1, 3].map(|threads| Options { threads, ..options(&a) });
            let together = solve::<E>(&a, &one, &d);
            assert_eq!(together, solve::<E>(&a, &three, &d), "n = {n}");
            for (d, x) in d.chunks(n).zip(together.chunks(n)) {
                assert_eq!(solve::<E>(&a, &one, d), x, "n = {n}");
                let eta = verify::backward_error(a.rows(), d, x);
                assert!(eta <= good::<f64>(), "n = {n}: {eta:e}");
            }
        }
    }
}
