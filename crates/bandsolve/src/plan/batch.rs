//! Many small tridiagonal systems: one system per SIMD lane, and groups of systems on each thread.
//!
//! All lanes eliminate in lockstep, with scaled partial pivoting by selecting values instead of branching. Periodic systems carry the last
//! unknown and the last row along. The substitution also computes the residuals. A system whose backward error exceeds 8ε is solved again
//! alone, by the sequential method.
//!
//! Cost per row: 4 words read, 1 word written, 1 reciprocal.
//!
//! Few or large systems are solved one by one (`systems_alone.rs`).
//!
//! If all systems have the same matrix, it is factored once, and the lanes only substitute (`shared_matrix.rs` of the kernels).

use crate::contract::determinant::Determinant;
use crate::contract::inspect::Inspect;
use crate::contract::measure::rcond_from_size;
use crate::contract::probe::{Probe, solved_roughly};
use crate::contract::refine::good;
use crate::contract::verify::{Lazy, Report, Solution, attention};
use crate::contract::{Factor, Op, verify};
use crate::decision::{Decision, Pivoting};
use crate::error::{Result, check_len};
use crate::matrix::{Layout, Shape, TridiagonalBatch};
use crate::memory::{collected, filled, places, push, reserved};
use crate::method::Method;
use crate::pivoted::tridiagonal;
use crate::plan::any::AnyFactor;
use crate::plan::systems_alone::{SystemsAlone, in_batch};
use crate::plan::{Factorize, Plan};
use crate::tuning;
use bandsolve_kernel::arithmetic::Standard;
use bandsolve_kernel::lockstep::{self, LockstepOptions, Shared, Systems};
use bandsolve_kernel::scalar::peak;
use bandsolve_kernel::shared_matrix::{self, SharedMatrixFactors, SharedSystems};
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

/// The factors of a batch. Those of a shared matrix are stored. Others are not: each solve recomputes them in cache.
///
/// Contiguous systems with matrices of their own are factored and solved one by one if there are at most 4, or if a diagonal takes 64 KiB.
/// The report then names the method for one system.
///
/// [`Factor`] has the solves, with their shapes, cost and errors.
///
/// # Examples
/// ```
/// use bandsolve::prelude::*;
/// // Two systems of two unknowns: [2 1; 1 2] and [3 1; 1 3].
/// let a = TridiagonalBatch::contiguous(2, 2, &[0., 1., 0., 1.], &[2., 2., 3., 3.], &[1., 0., 1., 0.])?;
/// let lu = Plan::new(a.shape()).factor(&a)?;
/// let mut x = [3.0, 3.0, 4.0, 4.0];
/// lu.solve_in_place(&mut x)?;
/// assert!(x.iter().all(|x: &f64| (x - 1.0).abs() < 1e-15));
/// assert!((lu.system(1)?.determinant()?.value() - 8.0).abs() < 1e-14); // of the second system alone
/// # Ok::<(), bandsolve::Error>(())
/// ```
#[derive(Debug)]
#[must_use]
pub struct BatchFactor<'m, T: Scalar> {
    a: Arc<TridiagonalBatch<'m, T>>,
    decision: Decision,
    /// The factors of a shared matrix and of its transpose, computed by the first solve. `None` if a pivot is too small.
    shared: [Lazy<Option<SharedMatrixFactors<T>>>; 2],
    /// The factors of each system, if systems are solved one by one.
    alone: Option<SystemsAlone<'m, T>>,
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

    /// Real numbers of memory per thread: of tiles, and of the spikes of systems with corner entries.
    fn memory(&self) -> [usize; 2] {
        let (simd, n) = (self.decision.options.sweep_simd(), self.a.n());
        let spikes = if self.a.has_corners() { lockstep::spikes::<T>(simd, n) } else { 0 };
        [tile_runs::memory::<T>(simd, n, 1, self.tiles()), spikes]
    }

    /// Number of tiles that are staged together. In an interleaved batch, the rows of a tile are far apart, but those of neighbouring
    /// tiles are adjacent.
    fn tiles(&self) -> usize {
        if self.a.layout() == Layout::Interleaved { tuning::TILES_TOGETHER } else { 1 }
    }

    /// The factors of a shared matrix. `None` if each system has its own, for options that need other pivots, and if a pivot is too small.
    fn shared(&self, op: Op) -> Result<Option<&SharedMatrixFactors<T>>> {
        let options = &self.decision.options;
        let standard = options.pivoting == Pivoting::ScaledPartial && options.noise_threshold == 0.0;
        let usual = standard && self.a.is_periodic() == self.a.has_corners();
        if !self.a.is_shared() || !usual || self.a.count() < shared_matrix::least_count::<T>(options.sweep_simd()) {
            return Ok(None);
        }
        let transposed = op != Op::Plain;
        let factor = || {
            let (system, n) = (self.a.try_system(0)?, self.a.n());
            let border = reserved(if self.a.is_periodic() { n } else { 0 })?;
            let mut factors = SharedMatrixFactors { steps: reserved(n)?, border };
            let op = if transposed { Op::Transpose } else { Op::Plain };
            Ok(shared_matrix::factor(&op.rows(&system), &mut factors).then_some(factors))
        };
        Ok(self.shared[usize::from(transposed)].get(factor)?.as_ref())
    }

    /// The systems of each thread. All of them are enough for the factors of a shared matrix, if there are any.
    fn spans(&self, one_matrix: bool) -> impl Iterator<Item = Range<usize>> {
        let count = self.a.count();
        let group =
            if one_matrix { shared_matrix::least_count::<T>(self.decision.options.sweep_simd()) } else { self.lanes() };
        // A shared matrix needs whole groups, with the rest in the last span; otherwise the rest is a group.
        let groups = if one_matrix { count / group } else { count.div_ceil(group) };
        let parts = self.threads().min(groups).max(1);
        let share = groups.div_ceil(parts);
        let parts = groups.div_ceil(share);
        (0..parts).map(move |p| p * share * group..if p + 1 == parts { count } else { (p + 1) * share * group })
    }

    fn threads(&self) -> usize {
        let tiles = self.a.count().div_ceil(self.lanes());
        let rows = self.a.count() * self.a.n();
        // Substitution alone takes a fraction of the time.
        let rows = if self.a.is_shared() { rows / tuning::FACTORED_ROWS } else { rows };
        tuning::tasks(self.decision.options.threads.min(tiles), rows)
    }

    /// The entry of array k (sub, diag, sup, rhs) in row i of system s of op(A). Ignored entries are zero.
    fn entry(&self, op: Op, rhs: &[T], k: usize, s: usize, i: usize) -> T {
        if k == 3 { rhs[self.a.index(s, i)] } else { self.a.entry(op != Op::Plain, k, s, i) }
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
        let (first, strides) = match a.layout() {
            Layout::Contiguous => (span.start * n, Strides::contiguous(n)),
            Layout::Interleaved => (span.start, Strides { lane: 1, row: a.count() }),
        };
        if let Some(factors) = self.shared(op)? {
            let systems = SharedSystems { rhs: &rhs[first..], n, strides, count: span.len() };
            let matrix = (factors, T::COMPLEX && conj);
            let buffer = shared_matrix::memory::<T>(options.sweep_simd(), n);
            let contiguous = a.layout() == Layout::Contiguous && n <= tuning::SHARED_BUFFER_MAX_N;
            let memory = if contiguous { &mut memory[..buffer] } else { &mut [] };
            let to = ([&mut *etas, &mut *sizes], memory);
            let large = shared_matrix::solve(options.sweep_simd(), matrix, systems, (out.x, first), to);
            let too_large = large.then(|| self.first_too_large(op, rhs, span.start, [&*etas, &*sizes], out)).flatten();
            return findings::<T>(span, etas, too_large);
        }
        let (memory, spikes) = memory.split_at_mut(self.memory()[0]);
        let mut spikes = a.has_corners().then_some(spikes);
        let mut work = Workspace::<T>::new(options.sweep_simd(), 1, self.tiles(), memory);
        // Systems that fill whole tiles are read in place. The others are copied.
        let in_place = op == Op::Plain && !a.is_shared() && a.is_periodic() == a.has_corners();
        let whole = if in_place { span.len() / lanes } else { 0 };
        let (of_full_tiles, mut rest) = split([&mut *etas, &mut *sizes], whole * lanes);
        let mut too_large = None;
        if whole > 0 {
            let arrays = [&*a.sub, &*a.diag, &*a.sup, rhs].map(|all| &all[first..]);
            let systems = Systems { arrays, n, strides, tiles: whole };
            let [etas, sizes] = of_full_tiles;
            let spikes = spikes.as_deref_mut();
            let how = LockstepOptions { sweep, conj, verify, errors: &mut *etas, sizes: &mut *sizes, spikes };
            if work.solve_systems(&systems, how, (out.x, first)) {
                too_large = self.first_too_large(op, rhs, span.start, [etas, sizes], out);
            }
        }
        for first in (span.start + whole * lanes..span.end).step_by(lanes) {
            let count = (span.end - first).min(lanes);
            let ([etas, sizes], others) = split(rest, count);
            rest = others;
            let at = |k: usize, s: usize, i: usize| self.entry(op, rhs, k, first + s, i);
            let spikes = spikes.as_deref_mut();
            let how = LockstepOptions { sweep, conj, verify, errors: &mut *etas, sizes: &mut *sizes, spikes };
            let large = work.solve_few((n, count), at, how, |s, i, x| out.put(first + s, i, x));
            if large && too_large.is_none() {
                too_large = self.first_too_large(op, rhs, first, [etas, sizes], out);
            }
        }
        findings::<T>(span, etas, too_large)
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
        let decision = self.alone.as_ref().map_or(&self.decision, SystemsAlone::decision);
        let mut outcome = Report::new(decision).with_room(if decision.options.verify { n_rhs } else { 0 })?;
        let (n, count, layout) = (self.a.n(), self.a.count(), self.a.layout());
        if rhs.is_empty() {
            return Ok(outcome);
        }
        let mut failure = None;
        let columns = rhs.chunks_exact(n * count).zip(x.chunks_exact_mut(n * count));
        if let Some(alone) = &self.alone {
            for column in columns {
                match alone.solve(&self.a, op, column, stack) {
                    Ok(report) => outcome.take(&report),
                    Err(error) => failure = failure.or(Some(error)),
                }
            }
            return failure.map_or(Ok(outcome), Err);
        }
        let of_thread = self.memory().iter().sum();
        let (memory, stack) = stack.make_aligned_raw::<T::Real>(of_thread * self.threads(), 64);
        let (etas, stack) = stack.make_raw::<T::Real>(count);
        let (sizes, _) = stack.make_raw::<T::Real>(count);
        let one_matrix = self.shared(op)?.is_some();
        for (rhs, x) in columns {
            let shared = Shared::new(x);
            let out = &Out { x: &shared, n, count, layout };
            let (mut etas, mut sizes) = (&mut *etas, &mut *sizes);
            let parts = memory.chunks_exact_mut(of_thread).zip(self.spans(one_matrix)).map(|(memory, span)| {
                let (eta, size);
                (eta, etas) = core::mem::take(&mut etas).split_at_mut(span.len());
                (size, sizes) = core::mem::take(&mut sizes).split_at_mut(span.len());
                (span, (memory, [eta, size]), Ok(Findings::default()))
            });
            let mut parts: SmallVec<[_; 8]> = parts.collect();
            spread(parts.len(), 0..parts.len(), &mut parts[..], &|_, parts| {
                for (span, (memory, [etas, sizes]), findings) in parts {
                    *findings = self.solve_span(op, rhs, span.clone(), (memory, [etas, sizes]), out);
                }
            });
            let mut column = Report::new(&self.decision);
            let findings = parts.into_iter().map(|part| part.2).collect::<Result<_>>()?;
            match self.solve_bad(op, rhs, findings, (&mut column, out)) {
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
        findings: SmallVec<[Findings; 8]>,
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
        report.map(|report| Report { fallback: true, ..report }).map_err(|error| in_batch(error, a, s))
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
        if i > 0 || a.has_corners() {
            visit(a.index(s, if i == 0 { n - 1 } else { i - 1 }), entry(0));
        }
        visit(a.index(s, i), entry(1));
        if i + 1 < n || a.has_corners() {
            visit(a.index(s, if i + 1 == n { 0 } else { i + 1 }), entry(2));
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

/// The findings about the systems of `span` from their measured errors.
fn findings<T: Scalar>(span: Range<usize>, etas: &[T::Real], too_large: Option<(usize, Arc<str>)>) -> Result<Findings> {
    let mut findings = Findings { too_large, ..Findings::default() };
    for (s, eta) in span.zip(etas) {
        let bound = sweep::bound::<T>(*eta);
        if bound <= good::<T>() {
            findings.worst = findings.worst.max(bound);
        } else {
            push(&mut findings.bad, s)?;
        }
    }
    Ok(findings)
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
        if let Some(alone) = &self.alone {
            return alone.scratch();
        }
        let of_systems = StackReq::new::<T::Real>(self.a.count());
        let of_thread: usize = self.memory().iter().sum();
        StackReq::new_aligned::<T::Real>(of_thread * self.threads(), 64).and(of_systems).and(of_systems)
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
        let alone = SystemsAlone::new(&a, &plan.decision)?;
        Ok(BatchFactor { a, decision: plan.decision.clone(), shared: [Lazy::new(), Lazy::new()], alone })
    }
}

impl<T: Scalar> TridiagonalBatch<'_, T> {
    /// Solve all systems. The right-hand sides and x have the layout of the batch.
    ///
    /// # Errors
    /// Those of [`Factor`]. In [`Error::Singular`](crate::Error::Singular), row i of system s is counted as s·n + i.
    pub fn solve(&self, rhs: &[T]) -> Result<Solution<T>> {
        Plan::new(self.shape()).factor(self)?.solve(rhs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;
    use crate::pivoted::testing::{OPS, Rng, for_all_scalars};

    /// Solve with an operation in scratch of the requested size.
    fn solve<T: Scalar>(a: &TridiagonalBatch<'_, T>, threads: usize, op: Op, rhs: &[T]) -> (Vec<T>, Result<Report>) {
        let factor = Plan::new(a.shape()).threads(threads).factor(a).unwrap();
        let mut memory = verify::buffer(factor.solve_scratch(2)).unwrap();
        let mut x = vec![T::ZERO; rhs.len()];
        let report = factor.solve_into_with(op, rhs, &mut x, PodStack::new(&mut memory));
        (x, report)
    }

    fn column<T: Scalar>(a: &TridiagonalBatch<'_, T>, s: usize, all: &[T]) -> Vec<T> {
        (0..a.n()).map(|i| all[a.index(s, i)]).collect()
    }

    mod generic {
        use super::*;

        /// Each system is solved as accurately as with a matrix of its own, with the same bits on one thread and on three, and wherever
        /// it lies in the batch.
        pub fn one_matrix_for_all_systems<T: Scalar>() {
            let mut rng = Rng(3);
            let least = shared_matrix::least_count::<T>(crate::Simd::detect());
            for count in [1, least - 1, least, least + 1, 3 * least + 5, 20_000 / 13] {
                for n in [1, 2, 3, 4, 5, 7, 8, 13, 101] {
                    let [sub, diag, sup] = [(); 3].map(|()| rng.scalars::<T>(n));
                    for layout in [Layout::Contiguous, Layout::Interleaved] {
                        let a = TridiagonalBatch::shared(count, n, layout, &sub, &diag, &sup).unwrap();
                        let matrix = a.system(count - 1);
                        let rhs = rng.scalars::<T>(2 * count * n);
                        for op in OPS {
                            let (x, report) = solve(&a, 1, op, &rhs);
                            let report = report.unwrap();
                            assert_eq!(x, solve(&a, 3, op, &rhs).0, "{count} {n} {op:?}");
                            let mut worst: f64 = 0.0;
                            for (rhs, x) in rhs.chunks(count * n).zip(x.chunks(count * n)) {
                                for s in [0, count / 2, count - 1] {
                                    let (d, x) = (column(&a, s, rhs), column(&a, s, x));
                                    worst = worst.max(verify::backward_error(op.rows(&matrix), (&d, &x), false));
                                }
                            }
                            // The report has an upper bound, up to 20 % too large.
                            let most = good::<T>().min(report.backward_error + 2.0 * T::Real::EPSILON.to_f64());
                            assert!(worst <= most, "{count} {n} {op:?} {worst:e} {report:?}");
                            // The same systems in reverse order.
                            if count > least && op == Op::Plain {
                                let at = |k: usize| {
                                    let (s, i) = match layout {
                                        Layout::Contiguous => (k / n, k % n),
                                        Layout::Interleaved => (k % count, k / count),
                                    };
                                    a.index(count - 1 - s, i)
                                };
                                let turned: Vec<_> = (0..count * n).map(|k| rhs[at(k)]).collect();
                                let (y, _) = solve(&a, 1, op, &turned);
                                assert!((0..count * n).all(|k| y[k] == x[at(k)]), "{count} {n}");
                            }
                        }
                    }
                }
            }
        }

        /// Right-hand sides that are not finite are named, singular matrices too, and both leave the other systems solved.
        pub fn errors_name_the_system<T: Scalar>() {
            let (count, n) = (100, 20);
            let (off, four) = (vec![T::ONE; n], vec![T::from_real(T::Real::from_f64(4.0)); n]);
            for layout in [Layout::Contiguous, Layout::Interleaved] {
                let a = TridiagonalBatch::shared(count, n, layout, &off, &four, &off).unwrap();
                let mut rhs = vec![T::ONE; count * n];
                let (good, _) = solve(&a, 1, Op::Plain, &rhs);
                let index = a.index(71, 5);
                rhs[index] = T::from_real(T::Real::NAN);
                let (x, report) = solve(&a, 1, Op::Plain, &rhs);
                assert_eq!(report.unwrap_err(), Error::NotFinite { array: "rhs", index });
                assert!((0..count).filter(|s| *s != 71).all(|s| column(&a, s, &x) == column(&a, s, &good)));

                let mut sup = off.clone();
                sup[7] = T::from_real(T::Real::INFINITY);
                let bad = TridiagonalBatch::shared(count, n, layout, &off, &four, &sup).unwrap();
                let (_, report) = solve(&bad, 1, Op::Plain, &vec![T::ONE; count * n]);
                assert_eq!(report.unwrap_err(), Error::NotFinite { array: "sup", index: 7 });

                let zero = vec![T::ZERO; n];
                let singular = TridiagonalBatch::shared(count, n, layout, &zero, &zero, &zero).unwrap();
                let (_, report) = solve(&singular, 1, Op::Plain, &vec![T::ONE; count * n]);
                assert_eq!(report.unwrap_err(), Error::Singular { row: 0 });
            }
        }
    }
    for_all_scalars!(one_matrix_for_all_systems);
    for_all_scalars!(errors_name_the_system);
}
