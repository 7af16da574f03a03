//! Batches of few or large systems, which are solved one by one by the method for one system.
//!
//! A batch takes as long as 8 or 16 systems, even if it has fewer. The memory of a batch of large systems exceeds the cache.

use crate::contract::verify::Report;
use crate::contract::{Factor, Op};
use crate::decision::Decision;
use crate::error::{Error, Result};
use crate::matrix::Shape;
use crate::memory::{more, push, reserved};
use crate::method::Method;
use crate::plan::any::AnyFactor;
use crate::plan::{Factorize, Plan};
use crate::tuning;
use bandsolve_kernel::Scalar;
use bandsolve_kernel::spread::spread;
use dyn_stack::{PodStack, StackReq};
use smallvec::SmallVec;

/// The factors of each system.
#[derive(Debug)]
pub(super) struct SystemsAlone<'m, T: Scalar> {
    systems: Vec<AnyFactor<'m, T>>,
    /// Number of systems that are solved at the same time.
    tasks: usize,
}

/// The systems of a task: the first one, their x, memory, and the result.
type SystemsOfTask<'a, T> = (usize, &'a mut [T], &'a mut [u8], Result<Option<Report>>);

impl<'m, T: Scalar> SystemsAlone<'m, T> {
    /// Factor each of `count` systems of shape `one` if this takes less time than a batch. `system` returns one of them. `fits` if they are
    /// contiguous and have matrices of their own. `in_batch` makes the error of a system one of the batch.
    ///
    /// # Errors
    /// `OutOfMemory`, and those of method `cholesky`.
    pub fn new<A: Factorize<Scalar = T, OwningFactor = AnyFactor<'m, T>>>(
        (fits, count): (bool, usize),
        one: Shape,
        decision: &Decision,
        (system, in_batch): (&impl Fn(usize) -> Result<A>, &impl Fn(Error, usize) -> Error),
    ) -> Result<Option<Self>> {
        let n = one.n();
        let few_or_large =
            count <= tuning::FEW_SYSTEMS || n.saturating_mul(size_of::<T>()) >= tuning::LARGE_SYSTEM_BYTES;
        let may_choose = matches!(decision.asked, Method::Auto | Method::Cholesky);
        if n.saturating_mul(count) == 0 || !may_choose || !fits || !few_or_large {
            return Ok(None);
        }
        let threads = decision.options.threads;
        let tasks = if count < threads { 1 } else { tuning::tasks(threads, n * count) };
        let plan = Plan { decision: decision.clone() }.with_shape(one);
        let plan = if tasks == 1 { plan } else { plan.threads(1) };
        let mut systems = reserved(count)?;
        for s in 0..count {
            let factor = plan.factor_owned(system(s)?).map_err(|error| in_batch(error, s))?;
            push(&mut systems, factor)?;
        }
        Ok(Some(Self { systems, tasks }))
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
    /// The first error, as `in_batch` makes it of the error of a system. All other systems are solved.
    pub fn solve(
        &self,
        op: Op,
        (rhs, x): (&[T], &mut [T]),
        stack: &mut PodStack,
        in_batch: &(impl Fn(Error, usize) -> Error + Sync),
    ) -> Result<Report> {
        let (n, share) = (rhs.len() / self.systems.len(), self.systems.len().div_ceil(self.tasks));
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
                    let report = report.map_err(|error| in_batch(error, s));
                    join(result, report.and_then(|report| of_system(report, s)));
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

/// The report of system `s` as that of a batch.
fn of_system(mut report: Report, s: usize) -> Result<Report> {
    if report.fallback {
        push(&mut report.fallback_systems, s)?;
    }
    Ok(report)
}

/// Add the report of the next system, or keep the first error.
fn join(all: &mut Result<Option<Report>>, next: Result<Report>) {
    match (&mut *all, next) {
        (Ok(Some(report)), Ok(next)) => match more(&mut report.fallback_systems, next.fallback_systems.len()) {
            Ok(()) => report.take_systems(&next),
            Err(error) => *all = Err(error),
        },
        (Ok(None), Ok(next)) => *all = Ok(Some(next)),
        (Ok(_), Err(error)) => *all = Err(error),
        (Err(_), _) => {}
    }
}
