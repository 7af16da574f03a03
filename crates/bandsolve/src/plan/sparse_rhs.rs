//! Sparse right-hand sides: dense solutions (`csc2dense`), or the largest entries of each solution (`csc2csc`).
//!
//! Threads take groups of columns one after the other. The result for a group does not depend on the thread. Methods that skip zeros
//! have a [`SparseSolver`]. For all other methods, the columns are expanded to dense ones.
//!
//! Source: Klein, appendix A.1, `gtsv_csc2dense` and `gtsv_csc2csc`. Klein finds the largest entries by histograms.

use crate::contract::sparse::{Entries, SparseSolver, Worker};
use crate::contract::verify::Report;
use crate::contract::{Factor, Op, verify};
use crate::decision::Decision;
use crate::error::{Error, Result, check_len};
use crate::matrix::{ColumnGroup, Csc, CscMut, Index};
use crate::memory::{buffer, collected, more, push, reserved, zeroed};
use crate::plan::any::AnyFactor;
use crate::tuning::DENSE_TOGETHER;
use bandsolve_kernel::arithmetic::Standard;
use bandsolve_kernel::memory::Array;
use bandsolve_kernel::threads::workers;
use bandsolve_kernel::{RealScalar, Scalar};
use core::ops::Range;
use dyn_stack::PodStack;
use smallvec::SmallVec;
use std::sync::{Mutex, PoisonError};

/// A sparse solver for any method, which expands the columns to dense ones.
struct Dense<'a, T: Scalar> {
    factor: &'a dyn Factor<T>,
    op: Op,
}

struct DenseWorker<'a, T: Scalar> {
    solver: &'a Dense<'a, T>,
    rhs: Vec<T>,
    scratch: Array<u8>,
    all: Range<usize>,
}

impl<T: Scalar> SparseSolver<T> for Dense<'_, T> {
    fn group_size(&self) -> usize {
        DENSE_TOGETHER
    }

    fn worker(&self) -> Result<Box<dyn Worker<T> + '_>> {
        let n = self.factor.shape().n();
        let scratch = buffer(self.factor.solve_scratch(DENSE_TOGETHER).or(self.factor.solve_scratch(1)))?;
        let rhs = zeroed(n.saturating_mul(DENSE_TOGETHER))?;
        Ok(Box::new(DenseWorker { solver: self, rhs, scratch, all: 0..n }))
    }
}

impl<T: Scalar> Worker<T> for DenseWorker<'_, T> {
    fn solve(&mut self, group: &[Entries<T>], x: &mut [T], report: &mut Report) -> Result<()> {
        let (n, rhs) = (self.all.end, &mut self.rhs[..x.len()]);
        rhs.fill(T::ZERO);
        for (rhs, entries) in rhs.chunks_exact_mut(n).zip(group) {
            entries.iter().for_each(|(i, value)| rhs[*i] += *value);
        }
        let Dense { factor, op } = self.solver;
        // A smaller number of columns may need more scratch.
        let needed = factor.solve_scratch(group.len());
        if !PodStack::new(&mut self.scratch).can_hold(needed) {
            self.scratch = buffer(needed)?;
        }
        let solved = factor.solve_into_with(*op, rhs, x, PodStack::new(&mut self.scratch))?;
        report.take(&solved);
        Ok(())
    }

    fn touched(&self, _: usize) -> &[Range<usize>] {
        core::slice::from_ref(&self.all)
    }
}

/// The largest entries of a column.
struct LargestEntries {
    /// Modulus and row of each candidate.
    candidates: Vec<(f64, usize)>,
}

impl LargestEntries {
    /// Select the `count` largest entries of `x`, in ascending rows. Among equal ones, smaller rows come first. `x` is zero outside of
    /// `touched`.
    fn keep<T: Scalar>(&mut self, x: &[T], touched: &[Range<usize>], count: usize) -> Result<&[(f64, usize)]> {
        let all = &mut self.candidates;
        all.clear();
        let most = touched.iter().map(Range::len).sum::<usize>().max(count);
        more(all, most)?;
        let rows = touched.iter().flat_map(Range::clone).filter(|i| x[*i] != T::ZERO);
        all.extend(rows.map(|i| (Scalar::abs(x[i]).to_f64(), i)));
        if (1..all.len()).contains(&count) {
            all.select_nth_unstable_by(count - 1, |a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        }
        all.truncate(count);
        all.sort_unstable_by_key(|(_, i)| *i);
        // If there are too few nonzeros, zeros of the first rows fill up.
        let (known, mut next) = (all.len(), 0);
        for i in 0.. {
            if all.len() == count {
                break;
            }
            if next < known && all[next].1 == i {
                next += 1;
            } else {
                all.push((0.0, i));
            }
        }
        if known < count {
            all.sort_unstable_by_key(|(_, i)| *i);
        }
        Ok(all)
    }
}

impl<T: Scalar> AnyFactor<'_, T> {
    /// Solve op(A)·X = D for a sparse D with a dense X.
    ///
    /// For tridiagonal systems, the methods `rpts` and `spike-…` skip the rows where D is zero and x has decayed to zero; they only write
    /// zeros there. Other methods expand the columns to dense ones.
    ///
    /// # Shapes
    /// `rhs`: n × n_rhs; `x`: n × n_rhs, column-major.
    ///
    /// # Cost
    /// Memory for four right-hand sides per thread (16 if columns are expanded). The coarse matrices need 6/m words per row, where m is the
    /// number of rows per partition.
    ///
    /// # Errors
    /// Those of [`Factor`], and `NotFinite { array: "values", .. }`. Parts of the matrix that no right-hand side reaches are not checked:
    /// x is zero there, even if such a part is singular.
    ///
    /// # Source
    /// Klein, Problem Class ScalarCSC2Dense.
    pub fn solve_sparse_into<I: Index>(&self, op: Op, rhs: &Csc<'_, T, I>, x: &mut [T]) -> Result<Report> {
        let n = self.shape().rows();
        check_len("x", n.saturating_mul(rhs.columns()), x.len())?;
        self.for_sparse(
            op,
            rhs,
            |group_size| Ok(x.chunks_mut(n.saturating_mul(group_size).max(1))),
            |worker, columns, x, report| {
                x.fill(T::ZERO);
                worker.solve(columns, x, report)
            },
        )
    }

    /// Solve op(A)·X = D for a sparse D and return the entries of largest modulus in each column of X.
    ///
    /// The column pointers of `x` set the number of entries: column j gets `column_pointers[j + 1] − column_pointers[j]` entries, in
    /// ascending rows. Among equal entries, those in smaller rows are selected. X is never stored as a whole.
    ///
    /// # Shapes
    /// `rhs`, `x`: n × n_rhs.
    ///
    /// # Cost
    /// That of [`solve_sparse_into`](Self::solve_sparse_into) without writing zeros, and a time proportional to the number of nonzeros
    /// for the selection.
    ///
    /// # Errors
    /// Those of [`solve_sparse_into`](Self::solve_sparse_into).
    ///
    /// # Source
    /// Klein, Problem Class ScalarCSC2CSC.
    ///
    /// # Examples
    /// ```
    /// use bandsolve::prelude::*;
    /// // The three largest entries of two columns of the inverse.
    /// let n = 1000;
    /// let (sub, diag) = (vec![-1.0; n], vec![4.0; n]);
    /// let a = Tridiagonal::new(&sub, &diag, &sub)?;
    /// let rhs = Csc::new(n, &[0, 1, 2], &[0, 500], &[1.0, 1.0])?;
    /// let (mut rows, mut values) = ([0; 6], [0.0; 6]);
    /// let x = CscMut::new(n, &[0, 3, 6], &mut rows, &mut values)?;
    /// Plan::new(a.shape()).factor(&a)?.solve_pruned_into(Op::Plain, &rhs, x)?;
    /// assert_eq!(rows, [0, 1, 2, 499, 500, 501]);
    /// # Ok::<(), bandsolve::Error>(())
    /// ```
    pub fn solve_pruned_into<I: Index>(&self, op: Op, rhs: &Csc<'_, T, I>, x: CscMut<'_, T, I>) -> Result<Report> {
        check_len("column_pointers", rhs.columns() + 1, x.columns() + 1)?;
        let n = self.shape().rows();
        // One buffer per working thread.
        let spare = Mutex::new(Vec::new());
        let groups = |group_size| Ok(x.into_groups(group_size)?.into_iter());
        self.for_sparse(op, rhs, groups, |worker, columns, out, report| {
            let spares = || spare.lock().unwrap_or_else(PoisonError::into_inner);
            let (mut buffer, mut largest) =
                spares().pop().unwrap_or_else(|| (Vec::new(), LargestEntries { candidates: Vec::new() }));
            let len = columns.len() * n;
            if buffer.len() < len {
                buffer = zeroed(len)?;
            }
            let x = &mut buffer[..len];
            let outcome = worker.solve(columns, x, report);
            let ColumnGroup { counts, row_indices, values } = out;
            let mut places = row_indices.iter_mut().zip(values);
            for (j, (count, x)) in counts.into_iter().zip(x.chunks_exact_mut(n)).enumerate() {
                let entries = largest.keep(x, worker.touched(j), count)?.iter();
                entries.zip(&mut places).for_each(|((_, i), (row, value))| (*row, *value) = (I::from_usize(*i), x[*i]));
                worker.touched(j).iter().for_each(|rows| x[rows.clone()].fill(T::ZERO));
            }
            push(&mut spares(), (buffer, largest))?;
            outcome
        })
    }

    /// Call `solve` for each group of columns with its item of `groups`, on as many threads as the plan allows.
    fn for_sparse<'o, I: Index, G: Send, O: Iterator<Item = G> + Send + 'o>(
        &self,
        op: Op,
        rhs: &Csc<'_, T, I>,
        groups: impl FnOnce(usize) -> Result<O>,
        solve: impl Fn(&mut dyn Worker<T>, &[Entries<T>], G, &mut Report) -> Result<()> + Sync,
    ) -> Result<Report> {
        let _mode = Standard::enter();
        check_len("a column of the right-hand sides", self.shape().rows(), rhs.rows())?;
        verify::check_finite("values", rhs.values(), 0)?;
        let mut report = Report::new(self.decision()).with_room(rhs.columns())?;
        if rhs.rows() == 0 || rhs.columns() == 0 {
            return Ok(report);
        }
        let method_solver = self.sparse_solver(op)?;
        let spelled = Dense { factor: self, op };
        let solver = method_solver.as_deref().unwrap_or(&spelled);
        let group_size = solver.group_size();
        let count = rhs.columns().div_ceil(group_size);
        let tasks = self.decision().options.threads.min(count).max(1);
        let groups = Mutex::new(groups(group_size)?.enumerate());
        // Room for the result of each group, and for an error of each thread.
        let done = Mutex::new(reserved(count.saturating_add(tasks))?);
        let work = SharedSolve { solver, rhs, group_size, decision: self.decision(), groups, done, solve };
        workers(tasks, &|| work.run());
        let mut done = work.done.into_inner().unwrap_or_else(PoisonError::into_inner);
        done.sort_unstable_by_key(|(group, _)| *group);
        for (_, result) in done {
            report.take(&result?);
        }
        Ok(report)
    }
}

/// The state that all threads share.
struct SharedSolve<'a, T: Scalar, I, O, S> {
    solver: &'a dyn SparseSolver<T>,
    rhs: &'a Csc<'a, T, I>,
    group_size: usize,
    decision: &'a Decision,
    groups: Mutex<O>,
    /// Finished groups and their results.
    done: Mutex<Vec<(usize, Result<Report>)>>,
    solve: S,
}

impl<T, I, G, O, S> SharedSolve<'_, T, I, O, S>
where
    T: Scalar,
    I: Index,
    O: Iterator<Item = (usize, G)>,
    S: Fn(&mut dyn Worker<T>, &[Entries<T>], G, &mut Report) -> Result<()>,
{
    /// Take and solve groups until there are none left.
    fn run(&self) {
        let mut worker = match self.solver.worker() {
            Ok(worker) => worker,
            Err(error) => return self.record(0, Err(error)),
        };
        loop {
            let next = self.groups.lock().unwrap_or_else(PoisonError::into_inner).next();
            let Some((g, group)) = next else { return };
            let result = self.solve_group(&mut *worker, g, group);
            // After a failed allocation, the worker is in the middle of a solve and must not be used again.
            let ends = matches!(result, Err(Error::OutOfMemory { .. }));
            self.record(g, result);
            if ends {
                return;
            }
        }
    }

    /// Solve for group `g` and write the results to `group`.
    fn solve_group(&self, worker: &mut dyn Worker<T>, g: usize, group: G) -> Result<Report> {
        let first = g * self.group_size;
        let mut columns: SmallVec<[Entries<T>; DENSE_TOGETHER]> = SmallVec::new();
        for j in first..self.rhs.columns().min(first + self.group_size) {
            columns.push(collected(self.rhs.column(j))?);
        }
        let mut report = Report::new(self.decision);
        (self.solve)(worker, &columns, group, &mut report)?;
        Ok(report)
    }

    /// Record the result of group `g`, without allocating.
    fn record(&self, g: usize, result: Result<Report>) {
        self.done.lock().unwrap_or_else(PoisonError::into_inner).push((g, result));
    }
}
