//! Many small tridiagonal systems: one system a SIMD lane, groups of them on every thread.
//!
//! Elimination with scaled partial pivoting runs down all lanes in lockstep, pivots chosen by selection; substitution runs
//! up and forms the residuals. A system whose backward error is not good is solved again alone, by the sequential method.
//!
//! Per row: reads 4 words, writes 1; 1 reciprocal.

use super::pivoted::PivotedTridiagonal;
use super::verify::{self, Report, Solution, good};
use super::{Factor, Op};
use crate::error::{Error, Result, check_len};
use crate::kernel::lockstep::{self, Systems};
use crate::kernel::sweep::Pivots;
use crate::kernel::tile::{Group, Scaling, Size};
use crate::matrix::{Layout, Shape, TridiagonalBatch};
use crate::plan::{Factorize, Pivoting, Plan};
use crate::scalar::{RealScalar, Scalar};
use crate::tuning;
use core::ops::Range;
use dyn_stack::{PodStack, StackReq};
use rayon::prelude::*;

/// A batch ready to be solved. Holds no factors: they are recomputed in cache.
#[derive(Debug)]
pub struct BatchFactor<'m, T: Scalar> {
    a: TridiagonalBatch<'m, T>,
    plan: Plan,
}

/// A system that was not solved well: its number.
type Bad = Vec<usize>;

impl<T: Scalar> BatchFactor<'_, T> {
    fn size(&self) -> Size {
        Size::of::<T>(self.plan.options.sweep_simd(), 1)
    }

    /// Reals of tile memory for one thread.
    fn memory(&self) -> usize {
        self.size().memory::<T>(lockstep::tile_rows(self.a.n()), 1)
    }

    fn threads(&self) -> usize {
        let groups = self.a.count().div_ceil(self.size().partitions());
        let worthwhile = self.a.count() * self.a.n() / tuning::MIN_ROWS_PER_THREAD;
        self.plan.options.threads.min(groups).min(worthwhile).max(1)
    }

    /// Entry of array k in row i of system s of op(A); ignored entries are zero.
    fn entry(&self, op: Op, rhs: &[T], k: usize, s: usize, i: usize) -> T {
        let (a, n) = (&self.a, self.a.n());
        let transposed = op != Op::Plain;
        match (k, transposed) {
            (0, false) if i > 0 => a.sub[a.index(s, i)],
            (0, true) if i > 0 => a.sup[a.index(s, i - 1)],
            (1, _) => a.diag[a.index(s, i)],
            (2, false) if i + 1 < n => a.sup[a.index(s, i)],
            (2, true) if i + 1 < n => a.sub[a.index(s, i + 1)],
            (3, _) => rhs[a.index(s, i)],
            _ => T::ZERO,
        }
    }

    /// Solves the systems of `span` and hands x of each to `write`; returns those that were not solved well and the
    /// largest bound of the others.
    fn solve_span(&self, op: Op, rhs: &[T], span: Range<usize>, memory: &mut [T::Real], out: Out<'_, T>) -> (Bad, f64) {
        let (n, options, size) = (self.a.n(), &self.plan.options, self.size());
        let scaling = if options.pivoting == Pivoting::ScaledPartial { Scaling::Rows } else { Scaling::Partition };
        let noise = T::Real::from_f64(options.noise_threshold);
        let pivots = Pivots { fixed: options.pivoting == Pivoting::None, noise };
        let (mut bad, mut worst) = (Bad::new(), 0.0f64);
        for first in span.clone().step_by(size.partitions()) {
            let count = (span.end - first).min(size.partitions());
            let mut group = Group::<T>::new(options.sweep_simd(), count, lockstep::tile_rows(n), 1, memory);
            let Size { lanes, tiles } = group.size();
            for p in 0..tiles {
                let (s, used) = (first + p * lanes, (count - p * lanes).min(lanes));
                let any = |k: usize, lane: usize, i: usize| self.entry(op, rhs, k, s + lane, i);
                let systems = self.systems(op, rhs, s, used == lanes).unwrap_or(Systems::Any(&any, used));
                lockstep::stage(&mut group, p, n, &systems, scaling, op == Op::ConjTranspose);
            }
            lockstep::solve(&mut group, pivots, options.verify);
            for p in 0..tiles {
                let (s, used) = (first + p * lanes, (count - p * lanes).min(lanes));
                out.write(&mut group, p, n, s, used);
            }
            let found = if options.verify { group.check(0) } else { Default::default() };
            if found.bound <= good::<T>() && !found.looks_singular::<T::Real>() {
                worst = worst.max(found.bound);
            } else {
                bad.extend(first..first + count);
            }
        }
        (bad, worst)
    }

    /// The systems of a tile, from `s` on, where they can be loaded as vectors.
    fn systems<'a>(&'a self, op: Op, rhs: &'a [T], s: usize, full: bool) -> Option<Systems<'a, T>> {
        let (n, a, lanes) = (self.a.n(), &self.a, self.size().lanes);
        if !full || op != Op::Plain {
            return None;
        }
        let arrays = [&*a.sub, &*a.diag, &*a.sup, rhs];
        match a.layout() {
            Layout::Contiguous => Some(Systems::Contiguous(arrays.map(|x| &x[s * n..(s + lanes) * n]))),
            Layout::Interleaved if T::COMPLEX => None,
            Layout::Interleaved => Some(Systems::Interleaved(arrays.map(|x| &x[s..]), a.count())),
        }
    }

    /// Measures system `s` exactly and solves it alone if it is not good.
    fn settle(&self, op: Op, rhs: &[T], s: usize, out: Out<'_, T>) -> Result<(f64, bool)> {
        let (a, n) = (&self.a, self.a.n());
        let system = a.system(s);
        let pick = |all: &dyn Fn(usize) -> T| (0..n).map(all).collect::<Vec<T>>();
        let d = pick(&|i| rhs[a.index(s, i)]);
        let mut x = pick(&|i| out.read(s, i));
        let error = verify::backward_error(op.rows(&system), &d, &x);
        let factor = PivotedTridiagonal::new(&self.plan.clone().pivoting(Pivoting::ScaledPartial), system.view())?;
        if error <= good::<T>() && !factor.is_singular() {
            return Ok((error, false));
        }
        let mut memory = dyn_stack::PodBuffer::new(factor.solve_scratch(1));
        let report = factor.solve_into_with(op, &d, &mut x, PodStack::new(&mut memory));
        x.iter().enumerate().for_each(|(i, x)| out.put(s, i, *x));
        match report {
            Ok(report) => Ok((report.backward_error, true)),
            Err(Error::NotFinite { array, index }) => Err(Error::NotFinite { array, index: a.index(s, index) }),
            Err(Error::Singular { row }) => Err(Error::Singular { row: s * n + row }),
            Err(other) => Err(other),
        }
    }
}

/// x of all systems; every thread writes those of its own.
#[derive(Clone, Copy)]
struct Out<'a, T> {
    x: &'a crate::kernel::lockstep::Shared<T>,
    n: usize,
    count: usize,
    layout: Layout,
}

impl<T: Scalar> Out<'_, T> {
    fn index(&self, s: usize, i: usize) -> usize {
        match self.layout {
            Layout::Contiguous => s * self.n + i,
            Layout::Interleaved => i * self.count + s,
        }
    }

    fn put(&self, s: usize, i: usize, x: T) {
        self.x.put(self.index(s, i), x);
    }

    fn read(&self, s: usize, i: usize) -> T {
        self.x.get(self.index(s, i))
    }

    fn write(&self, group: &mut Group<T>, p: usize, n: usize, s: usize, used: usize) {
        match self.layout {
            Layout::Contiguous => lockstep::write_contiguous(group, p, n, self.x, s * n..(s + used) * n),
            Layout::Interleaved => lockstep::write_interleaved(group, p, n, used, self.x, (s, self.count)),
        }
    }
}

impl<T: Scalar> Factor<T> for BatchFactor<'_, T> {
    fn shape(&self) -> Shape {
        self.a.shape()
    }

    fn solve_scratch(&self, _n_rhs: usize) -> StackReq {
        if self.a.count() * self.a.n() == 0 {
            return StackReq::empty();
        }
        StackReq::new_aligned::<T::Real>(self.memory() * self.threads(), 64)
    }

    fn solve_into_with(&self, op: Op, rhs: &[T], x: &mut [T], stack: &mut PodStack) -> Result<Report> {
        let n_rhs = self.shape().n_rhs("rhs", rhs.len())?;
        check_len("x", rhs.len(), x.len())?;
        verify::check_scratch(self.solve_scratch(n_rhs), stack)?;
        let mut outcome = Report::new(&self.plan);
        let (n, count, layout) = (self.a.n(), self.a.count(), self.a.layout());
        if rhs.is_empty() {
            return Ok(outcome);
        }
        let (memory, _) = stack.make_aligned_raw::<T::Real>(self.memory() * self.threads(), 64);
        let group = self.size().partitions();
        let share = count.div_ceil(group).div_ceil(self.threads()) * group;
        let mut failure = None;
        for (rhs, x) in rhs.chunks_exact(n * count).zip(x.chunks_exact_mut(n * count)) {
            let shared = lockstep::Shared::new(x);
            let out = Out { x: &shared, n, count, layout };
            let solve = |(t, memory): (usize, &mut [T::Real])| {
                self.solve_span(op, rhs, t * share..((t + 1) * share).min(count), memory, out)
            };
            let parts = memory.par_chunks_exact_mut(self.memory()).enumerate().filter(|(t, _)| t * share < count);
            let (bad, mut worst) = parts.map(solve).reduce(
                || (Bad::new(), 0.0),
                |(mut a, x), (b, y)| {
                    a.extend(b);
                    (a, x.max(y))
                },
            );
            for s in bad {
                match self.settle(op, rhs, s, out) {
                    Ok((error, alone)) => {
                        worst = worst.max_nan(error);
                        outcome.fallback |= alone;
                    }
                    Err(error) => failure = failure.or(Some(error)),
                }
            }
            if self.plan.options.verify {
                outcome.push(worst);
            }
        }
        failure.map_or(Ok(outcome), Err)
    }
}

impl<T: Scalar> Factorize for TridiagonalBatch<'_, T> {
    type Scalar = T;
    type Factor<'m>
        = BatchFactor<'m, T>
    where
        Self: 'm;

    fn factor_with<'m>(&'m self, plan: &Plan) -> Result<Self::Factor<'m>> {
        plan.check_shape(self.shape())?;
        Ok(BatchFactor { a: self.view(), plan: plan.clone() })
    }
}

impl<T: Scalar> TridiagonalBatch<'_, T> {
    /// Solves all systems; the right-hand sides and x have the layout of the batch.
    ///
    /// # Errors
    /// As every solve; see [`Factor`]. Rows are counted through the systems: row i of system s is s·n + i.
    pub fn solve(&self, rhs: &[T]) -> Result<Solution<T>> {
        Plan::new(self.shape()).factor(self)?.solve(rhs)
    }
}
