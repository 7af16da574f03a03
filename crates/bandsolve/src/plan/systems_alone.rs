//! Batches of few or large systems, which are solved one by one by the method for one system.
//!
//! A batch takes as long as 8 or 16 systems, even if it has fewer. The memory of a batch of large systems exceeds the cache.

use crate::contract::verify::Report;
use crate::contract::{Factor, Op};
use crate::decision::Decision;
use crate::error::{Error, Result};
use crate::matrix::{Layout, Shape, Tridiagonal, TridiagonalBatch};
use crate::memory::{push, reserved};
use crate::method::Method;
use crate::plan::Plan;
use crate::plan::any::AnyFactor;
use crate::tuning;
use bandsolve_kernel::Scalar;
use bandsolve_kernel::spread::spread;
use dyn_stack::{PodStack, StackReq};
use smallvec::SmallVec;
use std::borrow::Cow;
use std::sync::Arc;

/// The factors of each system.
#[derive(Debug)]
pub(super) struct SystemsAlone<'m, T: Scalar> {
    a: Arc<TridiagonalBatch<'m, T>>,
    systems: Vec<AnyFactor<'m, T>>,
    /// Number of systems that are solved at the same time.
    tasks: usize,
}

/// The systems of a task: the first one, their x, memory, and the result.
type SystemsOfTask<'a, T> = (usize, &'a mut [T], &'a mut [u8], Result<Option<Report>>);

impl<'m, T: Scalar> SystemsAlone<'m, T> {
    /// Factor each system if this takes less time than a batch: only contiguous systems, with matrices of their own.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn new(a: &Arc<TridiagonalBatch<'m, T>>, decision: &Decision) -> Result<Option<Self>> {
        let (n, count) = (a.n(), a.count());
        let few_or_large =
            count <= tuning::FEW_SYSTEMS || n.saturating_mul(size_of::<T>()) >= tuning::LARGE_SYSTEM_BYTES;
        let fits = a.layout() == Layout::Contiguous && !a.is_shared() && decision.asked == Method::Auto;
        if n.saturating_mul(count) == 0 || !fits || !few_or_large {
            return Ok(None);
        }
        let threads = decision.options.threads;
        let tasks = if count < threads { 1 } else { tuning::tasks(threads, n * count) };
        let plan = Plan { decision: decision.clone() }.with_shape(Shape::Tridiagonal { n, periodic: a.is_periodic() });
        let plan = if tasks == 1 { plan } else { plan.threads(1) };
        let mut systems = reserved(count)?;
        for s in 0..count {
            push(&mut systems, plan.factor_owned(system(a, s)?)?)?;
        }
        Ok(Some(Self { a: a.clone(), systems, tasks }))
    }

    /// The decision of the plan for one system.
    pub fn decision(&self) -> &Decision {
        self.systems[0].decision()
    }

    /// Number of bytes of scratch of a task.
    fn bytes(&self) -> usize {
        self.systems.iter().map(|system| system.solve_scratch(1).unaligned_bytes_required()).max().unwrap_or(0)
    }

    pub fn scratch(&self) -> StackReq {
        StackReq::new::<u8>(self.bytes().saturating_mul(self.tasks))
    }

    /// Solve for one right-hand side of the batch. `stack` has the size that [`scratch`](Self::scratch) returns.
    ///
    /// # Errors
    /// The first error. All other systems are solved.
    pub fn solve(&self, op: Op, (rhs, x): (&[T], &mut [T]), stack: &mut PodStack) -> Result<Report> {
        let a = &self.a;
        let (n, share) = (a.n(), a.count().div_ceil(self.tasks));
        let (mut memory, _) = stack.make_raw::<u8>(self.bytes() * self.tasks);
        let parts = x.chunks_mut(share * n).enumerate().map(|(part, x)| {
            let of_part;
            (of_part, memory) = core::mem::take(&mut memory).split_at_mut(self.bytes());
            (part * share, x, of_part, Ok(None))
        });
        let mut parts: SmallVec<[SystemsOfTask<'_, T>; 8]> = parts.collect();
        spread(parts.len(), 0..parts.len(), &mut parts[..], &|_, parts| {
            for (first, x, memory, result) in parts {
                for (s, x) in (*first..).zip(x.chunks_exact_mut(n)) {
                    let rhs = &rhs[s * n..(s + 1) * n];
                    let report = self.systems[s].solve_into_with(op, rhs, x, PodStack::new(memory));
                    join(result, report.map_err(|error| in_batch(error, a, s)));
                }
            }
        });
        let mut all = Ok(None);
        for (.., part) in parts {
            match part {
                Ok(report) => report.into_iter().for_each(|report| join(&mut all, Ok(report))),
                Err(error) => join(&mut all, Err(error)),
            }
        }
        all.map(|report| report.unwrap_or_else(|| Report::new(self.decision())))
    }
}

/// Add the report of the next system, or keep the first error.
fn join(all: &mut Result<Option<Report>>, next: Result<Report>) {
    match (&mut *all, next) {
        (Ok(Some(report)), Ok(next)) => report.take_systems(&next),
        (Ok(None), Ok(next)) => *all = Ok(Some(next)),
        (Ok(_), Err(error)) => *all = Err(error),
        (Err(_), _) => {}
    }
}

/// System `s` of a contiguous batch. It borrows the arrays of the caller if the batch does.
fn system<'m, T: Scalar>(a: &TridiagonalBatch<'m, T>, s: usize) -> Result<Tridiagonal<'m, T>> {
    let (Cow::Borrowed(sub), Cow::Borrowed(diag), Cow::Borrowed(sup)) = (&a.sub, &a.diag, &a.sup) else {
        return a.try_system(s);
    };
    let rows = s * a.n()..(s + 1) * a.n();
    let new = if a.is_periodic() { Tridiagonal::periodic } else { Tridiagonal::new };
    new(&sub[rows.clone()], &diag[rows.clone()], &sup[rows])
}

/// The error of system `s` alone as an error of the batch.
pub(super) fn in_batch<T: Scalar>(error: Error, a: &TridiagonalBatch<'_, T>, s: usize) -> Error {
    match error {
        Error::NotFinite { array: array @ "rhs", index } => Error::NotFinite { array, index: a.index(s, index) },
        Error::NotFinite { array, index } => Error::NotFinite { array, index: a.matrix_index(s, index) },
        Error::Singular { row } => Error::Singular { row: s * a.n() + row },
        other => other,
    }
}
