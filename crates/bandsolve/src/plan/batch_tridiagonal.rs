//! Batches of tridiagonal systems: one system per SIMD lane.
//!
//! All lanes eliminate in lockstep, with scaled partial pivoting by selecting values instead of branching. Periodic systems carry the last
//! unknown and the last row along. The substitution also computes the residuals.
//!
//! Cost per row: 4 words read, 1 word written, 1 reciprocal.
//!
//! If all systems have the same matrix, it is factored once, and the lanes only substitute (`shared_matrix.rs` of the kernels).

use crate::contract::verify::{Lazy, Solution};
use crate::contract::{Factor, Op};
use crate::decision::{Decision, Options};
use crate::error::{Error, Result};
use crate::matrix::{Layout, Shape, Tridiagonal, TridiagonalBatch};
use crate::memory::reserved;
use crate::method::Method;
use crate::plan::any::AnyFactor;
use crate::plan::batch::{BatchFactor, Reals, SystemOutcome, SystemsOnLanes, alone, measure_or_solve};
use crate::plan::batch_banded::on_lanes;
use crate::plan::{Factorize, Plan};
use crate::tuning;
use bandsolve_kernel::lockstep::{self, LockstepOptions, Shared, Systems};
use bandsolve_kernel::shared_matrix::{self, SharedMatrixFactors, SharedSystems};
use bandsolve_kernel::sweep::TRIDIAGONAL_ENTRIES;
use bandsolve_kernel::tile::SweepOptions;
use bandsolve_kernel::tile_runs::{self, Workspace};
use bandsolve_kernel::tuning::TOGETHER_ROW_BYTES;
use bandsolve_kernel::{Scalar, by_type};
use core::ops::Range;
use std::borrow::Cow;
use std::sync::Arc;

/// The matrices, and the factors if all are the same.
#[derive(Debug)]
struct TridiagonalSystems<'m, T: Scalar> {
    a: Arc<TridiagonalBatch<'m, T>>,
    options: Options,
    /// The factors of a shared matrix and of its transpose, computed by the first solve. `None` if a pivot is too small.
    shared: [Lazy<Option<SharedMatrixFactors<T>>>; 2],
}

impl<T: Scalar> TridiagonalSystems<'_, T> {
    fn lanes(&self) -> usize {
        T::lanes(self.options.sweep_simd())
    }

    /// Real numbers of memory per thread: of tiles, and of the spikes of systems with corner entries.
    fn tiles_and_spikes(&self) -> [usize; 2] {
        let (simd, n) = (self.options.sweep_simd(), self.a.n());
        let spikes = if self.a.has_corners() { lockstep::spikes::<T>(simd, n) } else { 0 };
        [tile_runs::memory::<T>(simd, n, 1, self.tiles()), spikes]
    }

    /// Whether the rows of the systems are far apart in memory, and nothing of them stays in the cache until the next systems are solved.
    fn is_scattered(&self) -> bool {
        let bytes = self.a.count().saturating_mul(self.a.n()).saturating_mul(size_of::<T>());
        self.a.layout() == Layout::Interleaved && bytes > tuning::CACHED_ARRAY_BYTES
    }

    /// Number of tiles that are staged together, because their rows are adjacent in memory.
    fn tiles(&self) -> usize {
        let of_row = self.lanes() * size_of::<T>();
        let most = tuning::TOGETHER_MAX_BYTES / (TRIDIAGONAL_ENTRIES + 1) / of_row / self.a.n().max(1);
        let tiles = (TOGETHER_ROW_BYTES / of_row).min(most).min(self.a.count() / self.lanes());
        if self.is_scattered() { tiles.max(1) } else { 1 }
    }

    /// Real numbers of memory per thread for copies of right-hand sides of a shared matrix, or 0 if they are not copied.
    fn copies(&self) -> usize {
        let (n, interleaved) = (self.a.n(), self.a.layout() == Layout::Interleaved);
        let pays = !interleaved || self.is_scattered();
        let reals = shared_matrix::memory::<T>(self.options.sweep_simd(), n, interleaved);
        let fits = reals * size_of::<T::Real>() <= tuning::TOGETHER_MAX_BYTES;
        if self.a.is_shared() && pays && fits { reals } else { 0 }
    }

    /// The factors of a shared matrix. `None` if each system has its own, for options that need other pivots, and if a pivot is too small.
    fn shared(&self, op: Op) -> Result<Option<&SharedMatrixFactors<T>>> {
        let options = &self.options;
        let usual = options.has_usual_pivots() && self.a.is_periodic() == self.a.has_corners();
        let enough = self.a.count() >= self.lanes();
        if !self.a.is_shared() || !usual || !enough {
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

    /// The entry of array k (sub, diag, sup, rhs) in row i of system s of op(A). Ignored entries are zero.
    fn entry(&self, op: Op, rhs: &[T], k: usize, s: usize, i: usize) -> T {
        if k == 3 { rhs[self.a.index(s, i)] } else { self.a.entry(op != Op::Plain, k, s, i) }
    }
}

impl<T: Scalar> SystemsOnLanes<T> for TridiagonalSystems<'_, T> {
    fn check_finite(&self) -> Result<()> {
        self.a.check_finite()
    }

    fn visit_row(&self, op: Op, s: usize, i: usize, visit: &mut dyn FnMut(usize, T)) {
        let (a, n) = (&self.a, self.a.n());
        if i > 0 || a.has_corners() {
            visit(if i == 0 { n - 1 } else { i - 1 }, self.entry(op, &[], 0, s, i));
        }
        visit(i, self.entry(op, &[], 1, s, i));
        if i + 1 < n || a.has_corners() {
            visit(if i + 1 == n { 0 } else { i + 1 }, self.entry(op, &[], 2, s, i));
        }
    }

    fn not_finite(&self, s: usize, array: &'static str, index: usize) -> Error {
        Error::NotFinite { array, index: self.a.matrix_index(s, index) }
    }

    fn system(&self, s: usize) -> Result<AnyFactor<'static, T>> {
        alone(self.a.try_system(s)?, &self.options)
    }

    fn measure_or_solve(&self, decision: &Decision, op: Op, s: usize, d: &[T], x: &mut [T]) -> Result<SystemOutcome> {
        measure_or_solve(self.a.try_system(s)?, decision, op, (d, x))
    }

    /// A shared matrix needs whole groups.
    fn group(&self, op: Op) -> Result<(usize, bool)> {
        Ok(match self.shared(op)? {
            Some(_) => (shared_matrix::group::<T>(self.options.sweep_simd(), self.a.count()), true),
            None => (self.lanes(), false),
        })
    }

    fn threads(&self) -> usize {
        let tiles = self.a.count().div_ceil(self.lanes());
        let rows = self.a.count() * self.a.n();
        // Substitution alone takes a fraction of the time.
        let rows = if self.a.is_shared() { rows / tuning::FACTORED_ROWS } else { rows };
        tuning::tasks(self.options.threads.min(tiles), rows)
    }

    fn memory(&self) -> usize {
        self.tiles_and_spikes().iter().sum::<usize>().max(self.copies())
    }

    fn solve(
        &self,
        op: Op,
        rhs: &[T],
        span: Range<usize>,
        [etas, sizes]: [Reals<T>; 2],
        (out, memory): (&Shared<'_, T>, Reals<T>),
    ) -> Result<bool> {
        let (n, a, options, lanes) = (self.a.n(), &self.a, &self.options, self.lanes());
        let (conj, verify) = (op == Op::ConjTranspose, options.verify);
        let sweep = SweepOptions { pivots: options.pivots(), scaling: options.scaling() };
        let (first, strides) = (a.index(span.start, 0), a.layout().strides((a.count(), n)));
        if let Some(factors) = self.shared(op)? {
            let systems = SharedSystems { rhs: &rhs[first..], n, strides, count: span.len() };
            let matrix = (factors, T::COMPLEX && conj);
            let memory = &mut memory[..self.copies()];
            return Ok(shared_matrix::solve(
                options.sweep_simd(),
                matrix,
                systems,
                (out, first),
                ([etas, sizes], memory),
            ));
        }
        let (memory, spikes) = memory.split_at_mut(self.tiles_and_spikes()[0]);
        let mut spikes = a.has_corners().then_some(spikes);
        let mut work = Workspace::<T>::new(options.sweep_simd(), 1, self.tiles(), memory);
        // Systems that fill whole tiles are read in place. The others are copied.
        let in_place = op == Op::Plain && !a.is_shared() && a.is_periodic() == a.has_corners();
        let whole = if in_place { span.len() / lanes } else { 0 };
        let (of_full_tiles, mut rest) = split([etas, sizes], whole * lanes);
        let mut large = false;
        if whole > 0 {
            let arrays = [&*a.sub, &*a.diag, &*a.sup, rhs].map(|all| &all[first..]);
            let systems = Systems { arrays, n, strides, tiles: whole };
            let [errors, sizes] = of_full_tiles;
            let spikes = spikes.as_deref_mut();
            let how = LockstepOptions { sweep, conj, verify, errors, sizes: &mut *sizes, spikes };
            large = work.solve_systems(&systems, how, (out, first));
            if !large {
                sizes.fill(T::Real::ZERO);
            }
        }
        for first in (span.start + whole * lanes..span.end).step_by(lanes) {
            let count = (span.end - first).min(lanes);
            let ([errors, sizes], others) = split(rest, count);
            rest = others;
            let at = |k: usize, s: usize, i: usize| self.entry(op, rhs, k, first + s, i);
            let spikes = spikes.as_deref_mut();
            let how = LockstepOptions { sweep, conj, verify, errors, sizes, spikes };
            large |= work.solve_few((n, count), at, how, |s, i, x| out.put(a.index(first + s, i), x));
        }
        Ok(large)
    }
}

/// The first `count` elements of both slices, and the rest.
fn split<R>(both: [&mut [R]; 2], count: usize) -> ([&mut [R]; 2], [&mut [R]; 2]) {
    let [(a, b), (c, d)] = both.map(|all| all.split_at_mut(count));
    ([a, c], [b, d])
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

by_type! {
    /// [`TridiagonalSystems`] for each number type, so that no other place compiles them.
    struct TridiagonalOnLanes<'m>: (Arc<TridiagonalBatch<'m, T>>, Options) => Box<dyn SystemsOnLanes<T> + 'm> =
        |(a, options)| Box::new(TridiagonalSystems { a, options, shared: [Lazy::new(), Lazy::new()] });
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
        let fits = a.layout() == Layout::Contiguous && !a.is_shared();
        let one = Shape::Tridiagonal { n: a.n(), periodic: a.is_periodic() };
        let systems = if plan.chosen_method() == Method::Cholesky {
            on_lanes(Arc::new(TridiagonalBatch::clone(&a).into_blocks()?), &plan.decision)?
        } else {
            T::by_type::<TridiagonalOnLanes<'a>>((a.clone(), plan.decision.options))
        };
        BatchFactor::new(fits, one, (&plan.decision, systems), |s| system(&a, s))
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
    use crate::contract::refine::good;
    use crate::contract::verify::{self, Report};
    use crate::decision::Pivoting;
    use crate::memory::buffer;
    use crate::pivoted::testing::{OPS, Rng, for_all_scalars};
    use bandsolve_kernel::RealScalar;
    use dyn_stack::PodStack;

    /// Solve with an operation in scratch of the requested size.
    fn solve<T: Scalar>(a: &TridiagonalBatch<'_, T>, threads: usize, op: Op, rhs: &[T]) -> (Vec<T>, Result<Report>) {
        let factor = Plan::new(a.shape()).threads(threads).factor(a).unwrap();
        let mut memory = buffer(factor.solve_scratch(2)).unwrap();
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
            let least = T::lanes(crate::Simd::detect());
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

        pub fn the_order_in_memory_does_not_matter<T: Scalar>() {
            [(301, 300), (303, 302), (22_001, 3), (66_001, 1)].into_iter().for_each(both_orders_agree::<T>);
        }

        /// x has the same bits in both orders, for batches beyond the cache, on one thread and on three.
        fn both_orders_agree<T: Scalar>((count, n): (usize, usize)) {
            assert!(count * n * size_of::<T>() > tuning::CACHED_ARRAY_BYTES);
            let mut rng = Rng(5);
            let contiguous = [(); 4].map(|()| rng.scalars::<T>(count * n));
            let interleaved =
                contiguous.each_ref().map(|a| (0..count * n).map(|k| a[k % count * n + k / count]).collect::<Vec<T>>());
            for (periodic, pivoting) in
                [(false, Pivoting::ScaledPartial), (true, Pivoting::ScaledPartial), (false, Pivoting::Partial)]
            {
                if periodic && n < 3 {
                    continue;
                }
                let solve = |layout, [sub, diag, sup, rhs]: &[Vec<T>; 4], threads| {
                    let a = match layout {
                        Layout::Contiguous => TridiagonalBatch::contiguous(count, n, sub, diag, sup),
                        Layout::Interleaved => TridiagonalBatch::interleaved(count, n, sub, diag, sup),
                    };
                    let a = if periodic { a.unwrap().periodic() } else { a.unwrap() };
                    let plan = Plan::new(a.shape()).pivoting(pivoting).threads(threads);
                    let mut x = vec![T::ZERO; count * n];
                    plan.factor(&a).unwrap().solve_into(rhs, &mut x).unwrap();
                    x
                };
                let x = solve(Layout::Contiguous, &contiguous, 1);
                for threads in [1, 3] {
                    let y = solve(Layout::Interleaved, &interleaved, threads);
                    assert!((0..count * n).all(|k| y[k] == x[k % count * n + k / count]), "{periodic} {pivoting:?}");
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
    for_all_scalars!(the_order_in_memory_does_not_matter);
    for_all_scalars!(errors_name_the_system);
}
