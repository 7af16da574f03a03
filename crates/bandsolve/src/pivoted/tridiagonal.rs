//! Tridiagonal LU with partial pivoting, open and periodic.

use super::Rule;
use super::open::Open;
use super::periodic::Periodic;
use crate::contract::Op;
use crate::contract::determinant::ScaledProduct;
use crate::contract::factors::{Factors, Solver};
use crate::contract::probe::Probe;
use crate::contract::verify::{Facts, refinement_scratch};
use crate::decision::{Decision, Pivoting};
use crate::error::Result;
use crate::matrix::Tridiagonal;
use bandsolve_kernel::Scalar;
use bandsolve_kernel::rows::Rows;
use dyn_stack::{PodStack, StackReq};
use std::sync::Arc;

/// Factors P·S·A = L·U of a tridiagonal matrix, computed row by row.
///
/// With scaled partial pivoting, S has powers of two on its diagonal so that the largest entry of each row is in \[2, 4); otherwise
/// S = I. Multiplying rows by powers of two therefore changes neither the pivots nor any bit of x. The same factors solve transposed
/// systems. Exchanges select values, without branches.
///
/// # Shapes
/// Right-hand sides are n × n_rhs, column-major.
///
/// # Cost
/// Open: per row 7 flops and 1 division to factor, 8 flops per right-hand side to solve, and 6 words in memory. Periodic: 23 flops,
/// 14 flops and 8 words.
///
/// # Errors
/// [`OutOfMemory`](crate::Error::OutOfMemory) from [`factor`]. The solves report a matrix that is singular or not finite. Without
/// verification, they only report a singular one.
///
/// # Source
/// LAPACK `gttrf`, `gttrs`. The periodic form keeps two running rows.
#[derive(Debug)]
struct Lu<T: Scalar> {
    factors: TridiagonalLu<T>,
    decision: Decision,
}

/// The factors of an open or a periodic matrix, without verification.
#[derive(Debug)]
pub(crate) enum TridiagonalLu<T: Scalar> {
    Open(Open<T>),
    Periodic(Periodic<T>),
}

impl<T: Scalar> TridiagonalLu<T> {
    /// Factor the matrix. Also returns the first row without a pivot.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn new(rows: &Rows<'_, T>, rule: Rule<T::Real>) -> Result<(Self, Option<usize>)> {
        if rows.periodic {
            Periodic::new(*rows, rule).map(|(lu, singular)| (Self::Periodic(lu), singular))
        } else {
            Open::new(*rows, rule).map(|(lu, singular)| (Self::Open(lu), singular))
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
    let rule = Rule::new(&decision.options);
    let mut facts = Facts::pivoted(decision);
    let lu;
    (lu, facts.singular) = TridiagonalLu::new(&a.rows(), rule)?;
    let factors = Factors::new(a, facts, Lu { factors: lu, decision: decision.clone() });
    Ok(if decision.options.pivoting == Pivoting::ScaledPartial { factors } else { factors.or_else(decision, factor) })
}

/// Scratch of solves, from the plan alone.
pub(crate) fn scratch<T: Scalar>(decision: &Decision, n: usize, _n_rhs: usize) -> Option<StackReq> {
    Some(refinement_scratch::<T>(decision.options.verify, n))
}

impl<'m, T: Scalar> Solver<T, Tridiagonal<'m, T>> for Lu<T> {
    fn scratch(&self, _a: &Tridiagonal<'m, T>, _n_rhs: usize) -> StackReq {
        StackReq::EMPTY
    }

    fn solve(&self, a: &Tridiagonal<'m, T>, transposed: bool, x: &mut [T], _stack: &mut PodStack) {
        for x in x.chunks_exact_mut(a.n().max(1)) {
            match (&self.factors, transposed) {
                (factors, false) => factors.solve(x),
                (TridiagonalLu::Open(lu), true) => lu.solve_transpose(x),
                (TridiagonalLu::Periodic(lu), true) => lu.solve_transpose(x),
            }
        }
    }

    fn product(&self, _a: &Tridiagonal<'m, T>) -> Option<ScaledProduct> {
        Some(match &self.factors {
            TridiagonalLu::Open(lu) => lu.product(),
            TridiagonalLu::Periodic(lu) => lu.product(),
        })
    }

    /// Pivots that are good for the rows of A can be bad for the rows of Aᵀ.
    fn factor_transposed(&self, factors: &Factors<T, Tridiagonal<'m, T>>, op: Op) -> Option<Result<Box<dyn Probe<T>>>> {
        if op == Op::Plain {
            return None;
        }
        let transposed = factors.matrix().transposed(op == Op::ConjTranspose);
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
    for_all_scalars!(dominant_systems_need_no_pivoting);
    for_all_scalars!(row_scaling_changes_nothing);
    for_all_scalars!(entries_near_the_limits_of_the_type);
    for_all_scalars!(a_column_of_zeros_is_singular);

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
        let measure = |parallel| crate::contract::measure::measure(&a.rows(), &rhs, &x, parallel);
        assert_eq!(measure(true).to_bits(), measure(false).to_bits());
    }
}
