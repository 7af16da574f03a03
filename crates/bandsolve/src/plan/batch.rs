//! Many small tridiagonal systems: one system per SIMD lane, and groups of systems on each thread.
//!
//! All lanes eliminate in lockstep, with scaled partial pivoting by selecting values instead of branching. The substitution also computes
//! the residuals. A system whose backward error exceeds 8ε is solved again alone, by the sequential method.
//!
//! Cost per row: 4 words read, 1 word written, 1 reciprocal.

use crate::contract::determinant::Determinant;
use crate::contract::inspect::Inspect;
use crate::contract::measure::rcond_from_size;
use crate::contract::probe::{Probe, solved_roughly};
use crate::contract::refine::good;
use crate::contract::verify::{Report, Solution, attention};
use crate::contract::{Factor, Op, verify};
use crate::decision::Decision;
use crate::error::{Error, Result, check_len};
use crate::matrix::{Layout, Shape, TridiagonalBatch};
use crate::memory::{collected, filled, places, push};
use crate::method::Method;
use crate::pivoted::tridiagonal;
use crate::plan::any::AnyFactor;
use crate::plan::{Factorize, Plan};
use crate::tuning;
use bandsolve_kernel::arithmetic::Standard;
use bandsolve_kernel::lockstep::{LockstepOptions, Shared, Systems};
use bandsolve_kernel::scalar::peak;
use bandsolve_kernel::spread::each_chunk;
use bandsolve_kernel::spread::spread;
use bandsolve_kernel::sweep::{self, COMPLEX_SLACK};
use bandsolve_kernel::tile::{Scaling, Strides, SweepOptions};
use bandsolve_kernel::tile_runs::{self, Workspace};
use bandsolve_kernel::{RealScalar, Scalar, by_type};
use core::ops::Range;
use dyn_stack::{PodStack, StackReq};
use smallvec::SmallVec;
use std::sync::Arc;

/// The factors of a batch. No factors are stored: each solve recomputes them in cache.
#[derive(Debug)]
#[must_use]
pub struct BatchFactor<'m, T: Scalar> {
    a: Arc<TridiagonalBatch<'m, T>>,
    decision: Decision,
}

/// A mutable slice of the real type of T.
type Reals<'a, T> = &'a mut [<T as Scalar>::Real];

/// The memory of one thread: its tiles, and for each of its systems the measured backward error and the size of a large x.
type Memory<'a, T> = (Reals<'a, T>, [Reals<'a, T>; 2]);

/// The findings about some systems.
#[derive(Default)]
struct Findings {
    /// Systems whose backward error exceeds 8ε. Without verification, systems that may be singular.
    bad: Vec<usize>,
    /// The largest bound of the backward errors of all other systems.
    worst: f64,
    /// The first of the other systems with an x so large that the matrix must be singular, and its warning.
    too_large: Option<(usize, Arc<str>)>,
}

impl<T: Scalar> BatchFactor<'_, T> {
    fn lanes(&self) -> usize {
        T::lanes(self.decision.options.sweep_simd())
    }

    /// Real numbers of tile memory per thread.
    fn memory(&self) -> usize {
        tile_runs::memory::<T>(self.decision.options.sweep_simd(), self.a.n(), 1, self.tiles())
    }

    /// Number of tiles that are staged together. In an interleaved batch, the rows of a tile are far apart, but those of neighbouring
    /// tiles are adjacent.
    fn tiles(&self) -> usize {
        if self.a.layout() == Layout::Interleaved { tuning::TILES_TOGETHER } else { 1 }
    }

    fn threads(&self) -> usize {
        let tiles = self.a.count().div_ceil(self.lanes());
        tuning::tasks(self.decision.options.threads.min(tiles), self.a.count() * self.a.n())
    }

    /// The entry of array k (sub, diag, sup, rhs) in row i of system s of op(A). Ignored entries are zero.
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

    /// Solve the systems of `span`. `etas` and `sizes` have one element per system.
    fn solve_span(
        &self,
        op: Op,
        rhs: &[T],
        span: Range<usize>,
        (memory, [etas, sizes]): Memory<T>,
        out: &Out<'_, T>,
    ) -> Result<Findings> {
        let (n, a, options, lanes) = (self.a.n(), &self.a, &self.decision.options, self.lanes());
        let (conj, verify) = (op == Op::ConjTranspose, options.verify);
        let sweep = SweepOptions { pivots: options.pivots(), scaling: options.scaling() };
        let mut work = Workspace::<T>::new(options.sweep_simd(), 1, self.tiles(), memory);
        // Systems that fill whole tiles are read in place. The others are copied.
        let whole = if op == Op::Plain { span.len() / lanes } else { 0 };
        let (of_full_tiles, mut rest) = split([&mut *etas, &mut *sizes], whole * lanes);
        let mut findings = Findings::default();
        if whole > 0 {
            let (first, strides) = match a.layout() {
                Layout::Contiguous => (span.start * n, Strides::contiguous(n)),
                Layout::Interleaved => (span.start, Strides { lane: 1, row: a.count() }),
            };
            let arrays = [&*a.sub, &*a.diag, &*a.sup, rhs].map(|all| &all[first..]);
            let systems = Systems { arrays, n, strides, tiles: whole };
            let [etas, sizes] = of_full_tiles;
            let how = LockstepOptions { sweep, conj, verify, errors: &mut *etas, sizes: &mut *sizes };
            if work.solve_systems(&systems, how, (out.x, first)) {
                findings.too_large = self.first_too_large(op, rhs, span.start, [etas, sizes], out);
            }
        }
        for first in (span.start + whole * lanes..span.end).step_by(lanes) {
            let count = (span.end - first).min(lanes);
            let ([etas, sizes], others) = split(rest, count);
            rest = others;
            let at = |k: usize, s: usize, i: usize| self.entry(op, rhs, k, first + s, i);
            let how = LockstepOptions { sweep, conj, verify, errors: &mut *etas, sizes: &mut *sizes };
            let large = work.solve_few((n, count), at, how, |s, i, x| out.put(first + s, i, x));
            if large && findings.too_large.is_none() {
                findings.too_large = self.first_too_large(op, rhs, first, [etas, sizes], out);
            }
        }
        for (s, eta) in span.zip(&*etas) {
            let bound = sweep::bound::<T>(*eta);
            if bound <= good::<T>() {
                findings.worst = findings.worst.max(bound);
            } else {
                push(&mut findings.bad, s)?;
            }
        }
        Ok(findings)
    }

    /// The first of the well solved systems from `first` on with an x so large that the matrix must be singular, and its warning.
    fn first_too_large(
        &self,
        op: Op,
        rhs: &[T],
        first: usize,
        [etas, sizes]: [&[T::Real]; 2],
        out: &Out<'_, T>,
    ) -> Option<(usize, Arc<str>)> {
        (first..).zip(etas.iter().zip(sizes)).find_map(|(s, (eta, size))| {
            let (bound, at_most) = (sweep::bound::<T>(*eta), size.to_f64() * COMPLEX_SLACK);
            let looked_at = at_most > 0.0 && bound <= good::<T>();
            let text = if looked_at { self.attention(op, rhs, s, (bound, at_most), out) } else { None };
            text.map(|text| (s, text))
        })
    }

    /// A warning if x of system `s` is so large that the matrix must be singular ([`rcond_from_size`]). `at_most` is a bound of its size.
    fn attention(&self, op: Op, rhs: &[T], s: usize, (eta, at_most): (f64, f64), out: &Out<'_, T>) -> Option<Arc<str>> {
        let size = |v: T| Scalar::abs(v).to_f64();
        let entry = |k: usize, i: usize| self.entry(op, rhs, k, s, i);
        let ratio = |i: usize| match entry(3, i) {
            d if d == T::ZERO => 0.0,
            d => size(d) / (0..3).map(|k| size(entry(k, i))).sum::<f64>(),
        };
        let largest = || (0..self.a.n()).map(|i| peak(out.read(s, i)).to_f64()).fold(0.0, f64::max_nan);
        let rcond = rcond_from_size::<T>(self.a.n(), ratio, (at_most, largest))?;
        attention(T::Real::EPSILON.to_f64(), Some(rcond), eta, None).map(Arc::from)
    }

    /// [`Factor::solve_into_with`], compiled once in this crate for each number type.
    fn solve_all(&self, op: Op, rhs: &[T], x: &mut [T], stack: &mut PodStack) -> Result<Report> {
        let _mode = Standard::enter();
        let n_rhs = self.shape().n_rhs("rhs", rhs.len())?;
        check_len("x", rhs.len(), x.len())?;
        verify::check_scratch(self.solve_scratch(n_rhs), stack)?;
        let mut outcome = Report::new(&self.decision).with_room(n_rhs)?;
        let (n, count, layout) = (self.a.n(), self.a.count(), self.a.layout());
        if rhs.is_empty() {
            return Ok(outcome);
        }
        let (memory, stack) = stack.make_aligned_raw::<T::Real>(self.memory() * self.threads(), 64);
        let (etas, stack) = stack.make_raw::<T::Real>(count);
        let (sizes, _) = stack.make_raw::<T::Real>(count);
        let share = count.div_ceil(self.lanes()).div_ceil(self.threads()) * self.lanes();
        let mut failure = None;
        for (rhs, x) in rhs.chunks_exact(n * count).zip(x.chunks_exact_mut(n * count)) {
            let shared = Shared::new(x);
            let out = &Out { x: &shared, n, count, layout };
            let each = etas.chunks_mut(share).zip(sizes.chunks_mut(share)).zip((0..count).step_by(share));
            let parts = memory.chunks_exact_mut(self.memory()).zip(each).map(|(memory, ((etas, sizes), first))| {
                (first..(first + share).min(count), (memory, [etas, sizes]), Ok(Findings::default()))
            });
            let mut parts: SmallVec<[_; 8]> = parts.collect();
            spread(parts.len(), 0..parts.len(), &mut parts[..], &|_, parts| {
                for (span, (memory, [etas, sizes]), findings) in parts {
                    *findings = self.solve_span(op, rhs, span.clone(), (memory, [etas, sizes]), out);
                }
            });
            let mut column = Report::new(&self.decision);
            match self.solve_bad(op, rhs, filled(parts.into_iter().map(|part| Some(part.2)))?, (&mut column, out)) {
                Ok(()) => outcome.take(&column),
                Err(error) => failure = failure.or(Some(error)),
            }
        }
        failure.map_or(Ok(outcome), Err)
    }

    /// Solve bad systems again alone, and write the findings about all systems to the report of a right-hand side. Returns the first
    /// error.
    fn solve_bad(
        &self,
        op: Op,
        rhs: &[T],
        findings: Vec<Findings>,
        (report, out): (&mut Report, &Out<'_, T>),
    ) -> Result<()> {
        let mut worst = findings.iter().fold(0.0, |worst: f64, part| worst.max(part.worst));
        let mut too_large = findings.iter().find_map(|part| part.too_large.clone());
        let mut outcome = Ok(());
        for s in findings.into_iter().flat_map(|part| part.bad) {
            match self.measure_or_solve_alone(op, rhs, s, out) {
                Ok(alone) => {
                    worst = worst.max_nan(alone.backward_error);
                    report.refinement_steps = report.refinement_steps.max(alone.refinement_steps);
                    report.fallback |= alone.fallback;
                    let before = too_large.as_ref().is_some_and(|(first, _)| *first < s);
                    if let Some(text) = alone.attention.filter(|_| !before) {
                        too_large = Some((s, text));
                    }
                }
                Err(error) => outcome = outcome.and(Err(error)),
            }
        }
        report.attention = too_large.map(|(_, text)| text);
        if self.decision.options.verify {
            report.push(worst);
        }
        outcome
    }

    /// Measure system `s` exactly. If its backward error exceeds 8ε, solve it again alone, which the report calls a fallback.
    fn measure_or_solve_alone(&self, op: Op, rhs: &[T], s: usize, out: &Out<'_, T>) -> Result<Report> {
        let (a, n) = (&self.a, self.a.n());
        let system = a.try_system(s)?;
        let d = collected((0..n).map(|i| rhs[a.index(s, i)]))?;
        let mut x = collected((0..n).map(|i| out.read(s, i)))?;
        let error = verify::backward_error(op.rows(&system), (&d, &x), self.decision.options.threads > 1);
        let factor = tridiagonal::factor(&self.decision.with_best_pivots(), Arc::new(system.view()))?;
        if error <= good::<T>() && !factor.is_singular(op) {
            let mut report = Report::new(&self.decision);
            report.attention = self.attention(op, rhs, s, (error, f64::INFINITY), out);
            report.backward_error = error;
            return Ok(report);
        }
        let mut memory = verify::buffer(factor.solve_scratch(1))?;
        let report = factor.solve_into_with(op, &d, &mut x, PodStack::new(&mut memory));
        x.iter().enumerate().for_each(|(i, x)| out.put(s, i, *x));
        match report {
            Ok(report) => Ok(Report { fallback: true, ..report }),
            Err(Error::NotFinite { array, index }) => Err(Error::NotFinite { array, index: a.index(s, index) }),
            Err(Error::Singular { row }) => Err(Error::Singular { row: s * n + row }),
            Err(other) => Err(other),
        }
    }
}

impl<T: Scalar> BatchFactor<'_, T> {
    /// Factor system `s` alone, by the sequential pivoted method.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory).
    ///
    /// # Panics
    /// If `s` is not less than the number of systems.
    pub fn system(&self, s: usize) -> Result<AnyFactor<'static, T>> {
        assert!(s < self.a.count(), "the batch has {} systems, but system {s} was requested", self.a.count());
        let _mode = Standard::enter();
        let (a, wish) = (self.a.try_system(s)?, &self.decision.options);
        let plan = Plan::new(a.shape()).method(Method::Pivoted).pivoting(wish.pivoting).verify(wish.verify).threads(1);
        AnyFactor::pivoted(&plan.noise_threshold(wish.noise_threshold).decision, a)
    }

    /// Call a function with the factors of each system and return the results in the order of the systems.
    ///
    /// The systems share all threads, unless the plan has one thread.
    ///
    /// # Cost
    /// A sequential factorisation and a call of `call` per system.
    ///
    /// # Errors
    /// The error of the first failed system, from `call` or [`system`](Self::system).
    ///
    /// # Examples
    /// ```
    /// use bandsolve::prelude::*;
    /// // Two systems of two unknowns: [2 1; 1 2] and [3 1; 1 3].
    /// let a = TridiagonalBatch::contiguous(2, 2, &[0., 1., 0., 1.], &[2., 2., 3., 3.], &[1., 0., 1., 0.])?;
    /// let lu = Plan::new(a.shape()).factor(&a)?;
    /// let conditions: Vec<f64> = lu.of_systems(|system| system.rcond(Norm::One))?;
    /// assert!((conditions[0] - 1.0 / 3.0).abs() < 1e-15 && (conditions[1] - 0.5).abs() < 1e-15);
    /// # Ok::<(), bandsolve::Error>(())
    /// ```
    pub fn of_systems<R: Send>(&self, call: impl Fn(&AnyFactor<'static, T>) -> Result<R> + Sync) -> Result<Vec<R>> {
        let mut results = places(self.a.count())?;
        let of_system =
            |s: usize, result: &mut [Option<Result<R>>]| result[0] = Some(self.system(s).and_then(|of| call(&of)));
        each_chunk((results.len(), usize::from(self.decision.options.threads > 1)), &mut results[..], &of_system);
        filled(results)
    }
}

impl<T: Scalar> Inspect<T> for BatchFactor<'_, T> {
    fn probe(&self) -> &dyn Probe<T> {
        self
    }
}

/// The batch as one matrix with the systems on its diagonal.
impl<T: Scalar> Probe<T> for BatchFactor<'_, T> {
    fn visit_row(&self, op: Op, i: usize, visit: &mut dyn FnMut(usize, T)) {
        let (a, n) = (&self.a, self.a.n());
        let (s, i) = match a.layout() {
            Layout::Contiguous => (i / n, i % n),
            Layout::Interleaved => (i % a.count(), i / a.count()),
        };
        let entry = |k: usize| {
            let v = self.entry(op, &[], k, s, i);
            if op == Op::ConjTranspose { Scalar::conj(v) } else { v }
        };
        if i > 0 {
            visit(a.index(s, i - 1), entry(0));
        }
        visit(a.index(s, i), entry(1));
        if i + 1 < n {
            visit(a.index(s, i + 1), entry(2));
        }
    }

    fn check_finite(&self) -> Result<()> {
        self.a.check_finite()
    }

    fn solve_roughly(&self, op: Op, x: &mut [T], stack: &mut PodStack) -> Result<()> {
        solved_roughly(self.solve_in_place_with(op, x, stack))
    }

    fn known_determinant(&self) -> Result<Determinant<T>> {
        let all = self.of_systems(|system| system.determinant())?;
        Ok(all.iter().fold(Determinant::ONE, |product, next| product.times(next)))
    }

    fn scales_rows(&self) -> bool {
        self.decision.options.scaling() == Scaling::Rows
    }
}

/// The first `count` elements of both slices, and the rest.
fn split<R>(both: [&mut [R]; 2], count: usize) -> ([&mut [R]; 2], [&mut [R]; 2]) {
    let [(a, b), (c, d)] = both.map(|all| all.split_at_mut(count));
    ([a, c], [b, d])
}

/// x of all systems. Each thread writes its own systems only.
struct Out<'a, T> {
    x: &'a Shared<'a, T>,
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
}

by_type! {
    /// The solve for each number type, so that no other place compiles it.
    struct SolveSystems<'f, 'm: 'f>:
        (&'f BatchFactor<'m, T>, Op, &'f [T], &'f mut [T], &'f mut PodStack) => Result<Report> =
            |(factor, op, rhs, x, stack)| factor.solve_all(op, rhs, x, stack);
}

impl<T: Scalar> Factor<T> for BatchFactor<'_, T> {
    fn shape(&self) -> Shape {
        self.a.shape()
    }

    fn solve_scratch(&self, _n_rhs: usize) -> StackReq {
        if self.a.count() * self.a.n() == 0 {
            return StackReq::empty();
        }
        let of_systems = StackReq::new::<T::Real>(self.a.count());
        StackReq::new_aligned::<T::Real>(self.memory() * self.threads(), 64).and(of_systems).and(of_systems)
    }

    fn solve_into_with(&self, op: Op, rhs: &[T], x: &mut [T], stack: &mut PodStack) -> Result<Report> {
        T::by_type::<SolveSystems>((self, op, rhs, x, stack))
    }
}

impl<'a, T: Scalar> Factorize for TridiagonalBatch<'a, T> {
    type Scalar = T;
    type Factor<'m>
        = BatchFactor<'m, T>
    where
        Self: 'm;
    type OwningFactor = BatchFactor<'a, T>;

    fn factor_with<'m>(&'m self, plan: &Plan) -> Result<BatchFactor<'m, T>> {
        TridiagonalBatch::factor_shared_with(Arc::new(self.view()), plan)
    }

    fn factor_shared_with(a: Arc<Self>, plan: &Plan) -> Result<BatchFactor<'a, T>> {
        plan.check_shape(a.shape())?;
        Ok(BatchFactor { a, decision: plan.decision.clone() })
    }
}

impl<T: Scalar> TridiagonalBatch<'_, T> {
    /// Solve all systems. The right-hand sides and x have the layout of the batch.
    ///
    /// # Errors
    /// Those of [`Factor`]. In [`Error::Singular`], row i of system s is counted as s·n + i.
    pub fn solve(&self, rhs: &[T]) -> Result<Solution<T>> {
        Plan::new(self.shape()).factor(self)?.solve(rhs)
    }
}
