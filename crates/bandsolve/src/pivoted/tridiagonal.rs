//! Tridiagonal LU with partial pivoting, open and periodic.

use super::Rule;
use super::open::Open;
use super::periodic::Periodic;
use crate::contract::Op;
use crate::contract::determinant::ScaledProduct;
use crate::contract::equations::Matrix;
use crate::contract::factors::{Factors, Outcome, RhsAndSolution, Solver};
use crate::contract::measure::{measure, measure_rows};
use crate::contract::probe::Probe;
use crate::contract::refine::accepted_at_once;
use crate::contract::verify::{Facts, refinement_scratch};
use crate::decision::{Decision, Pivoting};
use crate::error::Result;
use crate::matrix::Tridiagonal;
use bandsolve_kernel::exact::{RunningMaximum, ScaledNorm};
use bandsolve_kernel::memory::MemoryPool;
use bandsolve_kernel::row_errors::Peak;
use bandsolve_kernel::rows::Rows;
use bandsolve_kernel::{RealScalar, Scalar};
use core::ops::Range;
use dyn_stack::{PodStack, StackReq};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// Factors P·S·A = L·U of a tridiagonal matrix, computed row by row.
///
/// With scaled partial pivoting, S has powers of two on its diagonal so that the largest entry of each row is in \[2, 4); otherwise
/// S = I. Multiplying rows by powers of two therefore changes neither the pivots nor any bit of x. The same factors solve transposed
/// systems. Exchanges select values, without branches.
///
/// An open matrix is factored when it is first needed, together with the first right-hand side if there is only one.
///
/// # Shapes
/// Right-hand sides are n × n_rhs, column-major.
///
/// # Cost
/// Open: per row 7 flops and 1 division to factor, 8 flops per right-hand side to solve, and 6 words in memory. Periodic: 23 flops,
/// 14 flops and 8 words.
///
/// # Errors
/// The solves report a matrix that is singular or not finite, and a lack of memory. Without verification, they only report a singular one.
///
/// # Source
/// LAPACK `gttrf`, `gttrs`. The periodic form keeps two running rows.
#[derive(Debug)]
struct Lu<T: Scalar> {
    factors: OnceLock<TridiagonalLu<T>>,
    /// The memory for the factors of an open matrix, until they are computed. Solves allocate nothing.
    memory: Mutex<Option<Open<T>>>,
    decision: Decision,
}

/// The factors of an open or a periodic matrix, without verification.
#[derive(Debug)]
pub(crate) enum TridiagonalLu<T: Scalar> {
    Open(Open<T>),
    Periodic(Periodic<T>),
}

impl<T: Scalar> TridiagonalLu<T> {
    /// Factor the matrix.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn new(rows: &Rows<'_, T>, rule: Rule<T::Real>, pool: Option<&MemoryPool>) -> Result<Self> {
        Ok(if rows.periodic {
            Self::Periodic(Periodic::new(*rows, rule)?)
        } else {
            let mut lu = Open::empty(rows.n(), pool)?;
            lu.factor(*rows, rule);
            Self::Open(lu)
        })
    }

    /// The first row without a pivot.
    pub fn singular(&self) -> Option<usize> {
        match self {
            Self::Open(lu) => lu.singular(),
            Self::Periodic(lu) => lu.singular(),
        }
    }

    /// Solve A·x = x in place.
    pub fn solve(&self, x: &mut [T]) {
        match self {
            Self::Open(lu) => lu.solve(x),
            Self::Periodic(lu) => lu.solve(x),
        }
    }
}

/// Factor `a` by the sequential pivoted method, whichever method was decided on.
///
/// # Errors
/// `OutOfMemory`.
pub(crate) fn factor<'m, T: Scalar>(
    decision: &Decision,
    a: Arc<Tridiagonal<'m, T>>,
) -> Result<Factors<T, Tridiagonal<'m, T>>> {
    let lu = Lu::new(&a.rows(), decision)?;
    let factors = Factors::new(a, Facts::pivoted(decision), lu);
    Ok(if decision.options.pivoting == Pivoting::ScaledPartial { factors } else { factors.or_else(decision, factor) })
}

/// Scratch of solves, from the plan alone.
pub(crate) fn scratch<T: Scalar>(decision: &Decision, n: usize, _n_rhs: usize) -> Option<StackReq> {
    Some(refinement_scratch::<T>(decision.options.verify, n))
}

impl<T: Scalar> Lu<T> {
    fn new(rows: &Rows<'_, T>, decision: &Decision) -> Result<Self> {
        let (factors, mut memory) = (OnceLock::new(), None);
        if rows.periodic {
            let lu = Periodic::new(*rows, Rule::new(&decision.options))?;
            factors.get_or_init(|| TridiagonalLu::Periodic(lu));
        } else {
            memory = Some(Open::empty(rows.n(), Some(&decision.pool))?);
        }
        Ok(Self { factors, memory: Mutex::new(memory), decision: decision.clone() })
    }

    /// Compute the factors by `fill`, if there are none yet. Returns what it returns.
    fn fill<R>(&self, fill: impl FnOnce(&mut Open<T>) -> R) -> Option<R> {
        if self.factors.get().is_some() {
            return None;
        }
        // A thread that comes later waits here for the factors.
        let mut memory = self.memory.lock().unwrap_or_else(PoisonError::into_inner);
        let mut lu = memory.take()?;
        let found = fill(&mut lu);
        self.factors.get_or_init(|| TridiagonalLu::Open(lu));
        Some(found)
    }

    /// Factor the matrix and solve for the first right-hand side, and measure x while it is computed. Returns upper bounds of η and of ‖x‖∞, or
    /// `None` if the matrix is factored already, or x does not satisfy the contract.
    fn solve_first(&self, a: &Tridiagonal<'_, T>, (rhs, x): RhsAndSolution<'_, T>) -> Option<[f64; 2]> {
        let (rows, options) = (a.rows(), &self.decision.options);
        let equations = a.equations(Op::Plain, options.simd);
        let (n, mut size) = (rows.n(), T::Real::ZERO);
        // The rows whose unknowns are known lie between the first and the last unknown that is known.
        let (mut known, mut measured) = (n / 2..n / 2, n / 2..n / 2);
        let mut worst = RunningMaximum::default();
        let fused = |x: &[T], now: Range<usize>| {
            if !options.verify {
                return;
            }
            for part in [now.start..known.start, known.end..now.end] {
                size = size.max_bits(Peak { values: &x[part] }.run_on(options.simd));
            }
            let norm = ScaledNorm::of(&[T::from_real(size)]);
            let end = if now.end < n { now.end - 1 } else { n };
            let inner = now.start + usize::from(now.start > 0)..end;
            known = now;
            for part in [inner.start..measured.start, measured.end..inner.end] {
                worst.add(measure_rows::<T, _, false>(&equations, part, (rhs, x), &norm, false));
            }
            measured = inner;
        };
        let rule = Rule::new(options);
        let singular = self.fill(|lu| {
            lu.factor_and_solve((rows, rule), (rhs, &mut *x), fused);
            lu.singular()
        })?;
        if singular.is_some() {
            return None;
        }
        let mut eta = worst.value();
        // ‖x‖∞ can be larger than what was known of it.
        if !(eta <= accepted_at_once::<T>()) {
            eta = measure(&equations, rhs, x, options.threads > 1);
        }
        // |v| is at most twice the larger of |Re v| and |Im v|.
        let at_most = if options.verify { 2.0 * size.to_f64() } else { f64::INFINITY };
        (eta <= accepted_at_once::<T>()).then_some([eta, at_most])
    }
}

impl<'m, T: Scalar> Solver<T, Tridiagonal<'m, T>> for Lu<T> {
    fn scratch(&self, _a: &Tridiagonal<'m, T>, _n_rhs: usize) -> StackReq {
        StackReq::EMPTY
    }

    fn prepare(&self, a: &Tridiagonal<'m, T>, _transposed: bool) -> Result<()> {
        self.fill(|lu| lu.factor(a.rows(), Rule::new(&self.decision.options)));
        Ok(())
    }

    fn singular_row(&self) -> Option<usize> {
        self.factors.get()?.singular()
    }

    fn solve_all(
        &self,
        factors: &Factors<T, Tridiagonal<'m, T>>,
        op: Op,
        (rhs, x): RhsAndSolution<'_, T>,
        outcome: &mut Outcome<'_>,
    ) -> Result<()> {
        let a = factors.matrix();
        if op == Op::Plain
            && a.n() > 0
            && rhs.len() == a.n()
            && let Some([eta, at_most]) = self.solve_first(a, (rhs, &mut *x))
        {
            outcome.at_most = at_most;
            if self.decision.options.verify {
                outcome.record(0, Ok(eta));
            }
            return Ok(());
        }
        factors.solve_columns(op, (rhs, x), outcome)
    }

    fn solve(&self, a: &Tridiagonal<'m, T>, transposed: bool, x: &mut [T], _stack: &mut PodStack) {
        let factors = self.factors.get().expect("prepared");
        for x in x.chunks_exact_mut(a.n().max(1)) {
            match (factors, transposed) {
                (factors, false) => factors.solve(x),
                (TridiagonalLu::Open(lu), true) => lu.solve_transpose(x),
                (TridiagonalLu::Periodic(lu), true) => lu.solve_transpose(x),
            }
        }
    }

    fn product(&self, _a: &Tridiagonal<'m, T>) -> Option<ScaledProduct> {
        Some(match self.factors.get()? {
            TridiagonalLu::Open(lu) => lu.product(),
            TridiagonalLu::Periodic(lu) => lu.product(),
        })
    }

    /// Pivots that are good for the rows of A can be bad for the rows of Aᵀ.
    fn factor_transposed(
        &self,
        factors: &Factors<T, Tridiagonal<'m, T>>,
        conj: bool,
    ) -> Option<Result<Box<dyn Probe<T>>>> {
        let transposed = factors.matrix().transposed(conj);
        let factored = transposed.and_then(|transposed| factor(&self.decision, Arc::new(transposed)));
        Some(factored.map(|factors| Box::new(factors) as _))
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{OPS, Rng, check, dense, eps, for_all_scalars};
    use super::*;
    use crate::{Error, Factor, Plan, Report};
    use bandsolve_kernel::{Complex64, RealScalar};
    use dyn_stack::PodBuffer;

    fn solve<T: Scalar>(f: &Factors<T, Tridiagonal<'_, T>>, op: Op, rhs: &[T]) -> (Vec<T>, Result<Report>) {
        let n = f.matrix().n().max(1);
        let mut x = rhs.to_vec();
        let mut memory = PodBuffer::new(f.solve_scratch(rhs.len() / n));
        let report = f.solve_into_with(op, rhs, &mut x, PodStack::new(&mut memory));
        (x, report)
    }

    fn factored<'m, T: Scalar>(a: &'m Tridiagonal<'m, T>, plan: Plan) -> Factors<T, Tridiagonal<'m, T>> {
        super::factor(&plan.decision, Arc::new(a.view())).unwrap()
    }

    fn factor<'m, T: Scalar>(a: &'m Tridiagonal<'m, T>, pivoting: Pivoting) -> Factors<T, Tridiagonal<'m, T>> {
        factored(a, Plan::new(a.shape()).pivoting(pivoting))
    }

    fn random<T: Scalar>(rng: &mut Rng, n: usize, periodic: bool) -> Tridiagonal<'static, T> {
        Tridiagonal::from_vecs(rng.scalars(n), rng.scalars(n), rng.scalars(n), periodic).unwrap()
    }

    /// The entry (i, j). Entries of periodic neighbours in the same column are added.
    fn entry<T: Scalar>(a: &Tridiagonal<'_, T>, i: usize, j: usize) -> T {
        let (sub, diag, sup) = a.row(i);
        let (left, right) = a.rows().neighbours(i);
        let at = |k: usize, v: T| if k == j { v } else { T::ZERO };
        at(i, diag) + (at(left, sub) + at(right, sup))
    }

    #[test]
    fn four_by_four_by_hand() {
        // [0 1 . .]   needs an exchange in the first step; x = (1, 2, 3, 4)
        // [2 1 1 .]
        // [. 4 0 1]
        // [. . 1 1]
        let a = Tridiagonal::new(&[9.0, 2.0, 4.0, 1.0], &[0.0, 1.0, 0.0, 1.0], &[1.0, 1.0, 1.0, 9.0]).unwrap();
        let (x, report) = solve(&factor(&a, Pivoting::ScaledPartial), Op::Plain, &[2.0, 7.0, 12.0, 7.0]);
        assert_eq!((x.as_slice(), report.unwrap().backward_error), ([1.0, 2.0, 3.0, 4.0].as_slice(), 0.0));
        // Aᵀ(1, 2, 3, 4) = (4, 1+2+12, 2+4, 3+4)
        let (x, _) = solve(&factor(&a, Pivoting::Partial), Op::Transpose, &[4.0, 15.0, 6.0, 7.0]);
        assert_eq!(x, [1.0, 2.0, 3.0, 4.0]);
        // The corners 5 and 6 add 5·x₃ to row 0 and 6·x₀ to row 3.
        let a = Tridiagonal::periodic(&[5.0, 2.0, 4.0, 1.0], &[0.0, 1.0, 0.0, 1.0], &[1.0, 1.0, 1.0, 6.0]).unwrap();
        let (x, report) = solve(&factor(&a, Pivoting::ScaledPartial), Op::Plain, &[22.0, 7.0, 12.0, 13.0]);
        assert!(report.unwrap().backward_error <= f64::EPSILON);
        assert!(x.iter().zip([1.0, 2.0, 3.0, 4.0]).all(|(x, y)| (x - y).abs() < 1e-14), "{x:?}");
    }

    mod generic {
        use super::*;

        pub fn random_systems_agree_with_dense_elimination<T: Scalar>() {
            let mut rng = Rng(1);
            for n in (0..12).chain([17, 31]) {
                for (periodic, pivoting) in [
                    (false, Pivoting::Partial),
                    (false, Pivoting::ScaledPartial),
                    (true, Pivoting::Partial),
                    (true, Pivoting::ScaledPartial),
                ] {
                    for n_rhs in [1, 3] {
                        let a = random::<T>(&mut rng, n, periodic);
                        let f = factor(&a, pivoting);
                        let rhs = rng.scalars(n * n_rhs);
                        for op in OPS {
                            let (x, report) = solve(&f, op, &rhs);
                            let report = report.unwrap();
                            check(&dense(n, op, |i, j| entry(&a, i, j)), &rhs, &x, &report);
                        }
                    }
                }
            }
        }

        pub fn the_first_right_hand_side_has_the_same_bits<T: Scalar>() {
            let mut rng = Rng(7);
            for n in (1..12).chain([64, 65, 2051, 2052]) {
                let a = random::<T>(&mut rng, n, false);
                let rhs = rng.scalars::<T>(n);
                let noise = 0.1 * T::Real::EPSILON.to_f64();
                for plan in [
                    Plan::new(a.shape()),
                    Plan::new(a.shape()).pivoting(Pivoting::Partial),
                    Plan::new(a.shape()).noise_threshold(noise),
                    Plan::new(a.shape()).verify(false),
                ] {
                    let decision = plan.decision;
                    let mut stored = rhs.clone();
                    TridiagonalLu::new(&a.rows(), Rule::new(&decision.options), None).unwrap().solve(&mut stored);
                    let lu = Lu::new(&a.rows(), &decision).unwrap();
                    let mut x = vec![T::ZERO; n];
                    let found = lu.solve_first(&a, (&rhs, &mut x));
                    assert!(x == stored && lu.factors.get().is_some(), "{n}");
                    if let Some([eta, at_most]) = found.filter(|_| decision.options.verify) {
                        let measured = crate::contract::verify::backward_error(a.rows(), (&rhs, &x), false);
                        let size = x.iter().map(|v| Scalar::abs(*v).to_f64()).fold(0.0, f64::max);
                        assert!(eta >= measured && at_most >= size, "{n}: {eta} {measured}, {at_most} {size}");
                    }
                }
            }
        }

        /// Threads that solve for the first time at once wait for each other, and get the same bits.
        pub fn threads_share_the_factors<T: Scalar>() {
            let mut rng = Rng(10);
            let a = random::<T>(&mut rng, 3000, false);
            let f = factor(&a, Pivoting::ScaledPartial);
            let rhs = rng.scalars::<T>(3000);
            let solutions = std::thread::scope(|scope| {
                let threads = [(); 4].map(|()| scope.spawn(|| solve(&f, Op::Plain, &rhs).0));
                threads.map(|thread| thread.join().unwrap())
            });
            assert!(solutions.iter().all(|x| *x == solutions[0]));
        }

        pub fn dominant_systems_need_no_pivoting<T: Scalar>() {
            let mut rng = Rng(2);
            for (n, periodic) in [(1, false), (2, true), (3, true), (30, false), (31, true)] {
                let mut a = random::<T>(&mut rng, n, periodic);
                let (sub, _, sup) = (0..n).map(|i| a.row(i)).fold((vec![], (), vec![]), |mut v, r| {
                    v.0.push(r.0);
                    v.2.push(r.2);
                    v
                });
                let six = T::from_real(T::Real::from_f64(6.0));
                a = Tridiagonal::from_vecs(sub, vec![six; n], sup, periodic).unwrap();
                let rhs = rng.scalars(n);
                for op in OPS {
                    let (x, report) = solve(&factor(&a, Pivoting::None), op, &rhs);
                    check(&dense(n, op, |i, j| entry(&a, i, j)), &rhs, &x, &report.unwrap());
                }
            }
        }

        /// With scaled pivoting, multiplying rows by powers of two changes no bit of x.
        pub fn row_scaling_changes_nothing<T: Scalar>() {
            let mut rng = Rng(3);
            let range = if eps::<T>() > 1e-10 { 60 } else { 500 };
            for periodic in [false, true] {
                let n = 100;
                let a = random::<T>(&mut rng, n, periodic);
                let scales: Vec<T::Real> = (0..n)
                    .map(|_| T::Real::from_f64(2f64.powi((rng.bits() % (2 * range)) as i32 - range as i32)))
                    .collect();
                let rhs: Vec<T> = rng.scalars(n);
                let rows: Vec<_> = (0..n).map(|i| a.row(i)).collect();
                let by = |v: Vec<T>| v.iter().zip(&scales).map(|(v, s)| v.scale(*s)).collect::<Vec<T>>();
                let b = Tridiagonal::from_vecs(
                    by(rows.iter().map(|r| r.0).collect()),
                    by(rows.iter().map(|r| r.1).collect()),
                    by(rows.iter().map(|r| r.2).collect()),
                    periodic,
                )
                .unwrap();
                let (x, _) = solve(&factor(&a, Pivoting::ScaledPartial), Op::Plain, &rhs);
                let (y, report) = solve(&factor(&b, Pivoting::ScaledPartial), Op::Plain, &by(rhs));
                assert_eq!(x, y);
                assert!(report.unwrap().backward_error <= 8.0 * eps::<T>());
            }
        }

        pub fn entries_near_the_limits_of_the_type<T: Scalar>() {
            let mut rng = Rng(4);
            let big = if eps::<T>() > 1e-10 { 1e37 } else { 1e300 };
            for n in [1, 2, 3, 4, 50] {
                for (periodic, size) in [(false, big), (false, 1.0 / big), (true, big), (true, 1.0 / big)] {
                    let size = T::Real::from_f64(size);
                    let part = |rng: &mut Rng| rng.scalars::<T>(n).iter().map(|v| v.scale(size)).collect::<Vec<T>>();
                    let a = Tridiagonal::from_vecs(part(&mut rng), part(&mut rng), part(&mut rng), periodic).unwrap();
                    let rhs = part(&mut rng);
                    for (op, pivoting) in
                        OPS.iter().flat_map(|op| [(*op, Pivoting::Partial), (*op, Pivoting::ScaledPartial)])
                    {
                        let (_, report) = solve(&factor(&a, pivoting), op, &rhs);
                        assert!(report.unwrap().backward_error <= 8.0 * eps::<T>());
                    }
                }
            }
        }

        pub fn a_column_of_zeros_is_singular<T: Scalar>() {
            let mut rng = Rng(5);
            for (n, periodic) in [(1, false), (1, true), (2, true), (3, true), (9, true), (9, false)] {
                for zero in 0..n {
                    let a = random::<T>(&mut rng, n, periodic);
                    let rows: Vec<_> = (0..n).map(|i| a.row(i)).collect();
                    let (mut sub, mut diag, mut sup): (Vec<T>, Vec<T>, Vec<T>) = (
                        rows.iter().map(|r| r.0).collect(),
                        rows.iter().map(|r| r.1).collect(),
                        rows.iter().map(|r| r.2).collect(),
                    );
                    diag[zero] = T::ZERO;
                    sub[(zero + 1) % n] = T::ZERO;
                    sup[(zero + n - 1) % n] = T::ZERO;
                    let a = Tridiagonal::from_vecs(sub, diag, sup, periodic).unwrap();
                    for op in OPS {
                        let (x, report) = solve(&factor(&a, Pivoting::ScaledPartial), op, &rng.scalars(n));
                        assert_eq!(report, Err(Error::Singular { row: zero }));
                        assert!(x.iter().all(|v| Scalar::is_finite(*v)));
                    }
                }
            }
        }
    }

    for_all_scalars!(random_systems_agree_with_dense_elimination);
    for_all_scalars!(the_first_right_hand_side_has_the_same_bits);
    for_all_scalars!(threads_share_the_factors);
    for_all_scalars!(dominant_systems_need_no_pivoting);
    for_all_scalars!(row_scaling_changes_nothing);
    for_all_scalars!(entries_near_the_limits_of_the_type);
    for_all_scalars!(a_column_of_zeros_is_singular);

    /// From below, a pivot underflows to zero; from above, none does, but the pivots of rows 4 and 5 are noise.
    #[test]
    fn a_pivot_that_underflows_from_below_names_the_last_row() {
        let diag = [0.27, 0.89, 0.83, -0.38, 1e-16, 2.781_342_323_134e-309, -0.96];
        let a = Tridiagonal::new(&[0.0; 6], &diag, &[0.0, 0.0, 0.0, -0.45, 0.45, -0.37]).unwrap();
        let (_, report) = solve(&factor(&a, Pivoting::ScaledPartial), Op::Plain, &[1.0; 7]);
        assert_eq!(report, Err(Error::Singular { row: 6 }));
    }

    /// Rows, columns or both have very different sizes. Without scaling, large rows would swamp small ones during elimination.
    #[test]
    fn badly_scaled_rows_and_columns() {
        let mut rng = Rng(6);
        for (k, n) in [5, 100, 1000, 1000, 1000, 20_000].into_iter().cycle().take(60).enumerate() {
            let periodic = k % 2 == 1;
            let (by_row, by_column) = [(60.0, 0.0), (60.0, 4.0), (2.0, 40.0)][k % 3];
            let mut sizes = |by: f64| (0..n).map(|_| 10f64.powf(by * rng.real())).collect::<Vec<f64>>();
            let (row, column) = (sizes(by_row), sizes(by_column));
            let mut part = |shift: usize| {
                (0..n).map(|i| rng.real() * row[i] * column[(i + n + shift - 1) % n]).collect::<Vec<f64>>()
            };
            let a = Tridiagonal::from_vecs(part(0), part(1), part(2), periodic).unwrap();
            for op in OPS {
                let x: Vec<f64> =
                    (0..n).map(|i| rng.real() / if op == Op::Plain { column[i] } else { row[i] }).collect();
                let rows = if op == Op::Plain { a.rows() } else { a.rows().transposed(false) };
                let rhs: Vec<f64> = (0..n).map(|i| rows.dot(i, &x)).collect();
                let (_, report) = solve(&factor(&a, Pivoting::ScaledPartial), op, &rhs);
                let report = report.unwrap();
                assert!(report.backward_error <= 8.0 * f64::EPSILON);
            }
        }
    }

    #[test]
    fn nan_and_infinity_are_errors() {
        let n = 6;
        for (periodic, bad) in [(false, f64::NAN), (true, f64::NAN), (false, f64::INFINITY), (true, f64::INFINITY)] {
            for at in 0..4 * n {
                let mut v = vec![[1.0, 4.0, -1.0, 2.0]; n];
                v[at % n][at / n] = bad;
                let array = |k: usize| v.iter().map(|r| r[k]).collect::<Vec<f64>>();
                let a = Tridiagonal::from_vecs(array(0), array(1), array(2), periodic).unwrap();
                let (_, report) = solve(&factor(&a, Pivoting::ScaledPartial), Op::Plain, &array(3));
                let ignored = !periodic && (at == 0 || at == 3 * n - 1);
                let name = ["sub", "diag", "sup", "rhs"][at / n];
                match report {
                    Ok(report) => assert!(ignored && report.backward_error <= 8.0 * f64::EPSILON),
                    Err(e) => assert_eq!((e, ignored), (Error::NotFinite { array: name, index: at % n }, false)),
                }
            }
        }
    }

    /// Without pivoting, rounding loses the 1 in row 1 against 10²⁰ and x₀ is 0. One step of refinement repairs x₀.
    #[test]
    fn refinement_repairs_a_bad_elimination() {
        let a = Tridiagonal::new(&[0.0, 1.0], &[1e-20, 1.0], &[1.0, 0.0]).unwrap();
        let (x, report) = solve(&factor(&a, Pivoting::None), Op::Plain, &[1.0, 2.0]);
        assert_eq!((x.as_slice(), report.unwrap().refinement_steps), ([1.0, 1.0].as_slice(), 1));
    }

    /// With pivots that are noise, x can be inaccurate, but the report has the true backward error.
    #[test]
    fn the_report_tells_what_x_is_worth() {
        let n = 60;
        let mut rng = Rng(9);
        let (sub, sup) = (vec![1.0; n], vec![1.0; n]);
        let diag: Vec<f64> = (0..n).map(|_| 1e-9 * rng.real()).collect();
        let a = Tridiagonal::new(&sub, &diag, &sup).unwrap();
        let rhs: Vec<f64> = rng.scalars(n);
        let (x, report) = solve(&factor(&a, Pivoting::None), Op::Plain, &rhs);
        println!("{report:?}");
        let eta = crate::contract::verify::backward_error(a.rows(), (&rhs, &x), false);
        match report {
            Ok(report) => assert!(report.backward_error <= 64.0 * f64::EPSILON && eta <= 66.0 * f64::EPSILON),
            Err(Error::NotConverged { backward_error, .. }) => {
                assert!((backward_error - eta).abs() <= 2.0 * f64::EPSILON && eta > 64.0 * f64::EPSILON);
            }
            Err(other) => panic!("{other}"),
        }
    }

    #[test]
    fn solves_without_verification_measure_nothing() {
        let a = Tridiagonal::new(&[1.0, 1.0], &[4.0, 4.0], &[1.0, 1.0]).unwrap();
        let plan = Plan::new(a.shape()).verify(false);
        let f = factored(&a, plan);
        let (x, report) = solve(&f, Op::Plain, &[5.0, 5.0]);
        let report = report.unwrap();
        assert!(report.backward_error.is_nan() && report.backward_errors.is_empty());
        assert_eq!(x, [1.0, 1.0]);
        assert_eq!(
            Factor::solve_scratch(&f, 7).unaligned_bytes_required(),
            StackReq::new::<f64>(0).unaligned_bytes_required()
        );
    }

    #[test]
    fn parallel_measurement_is_the_sequential_one() {
        let mut rng = Rng(8);
        let a = random::<Complex64>(&mut rng, 150_001, true);
        let (rhs, x) = (rng.scalars::<Complex64>(150_001), rng.scalars::<Complex64>(150_001));
        let measure = |parallel| {
            crate::contract::measure::measure(&a.equations(Op::Plain, crate::Simd::detect()), &rhs, &x, parallel)
        };
        assert_eq!(measure(true).to_bits(), measure(false).to_bits());
    }
}
