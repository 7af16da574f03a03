//! Blocked banded LU with partial pivoting.

use crate::contract::determinant::ScaledProduct;
use crate::contract::equations::Matrix;
use crate::contract::factors::{Factors, Solver};
use crate::contract::probe::Probe;
use crate::contract::verify::{Facts, with_refinement};
use crate::decision::{Decision, Pivoting};
use crate::error::Result;
use crate::matrix::{BandSize, Banded};
use crate::pivoted::band_lu::{self, BandLu};
use crate::pivoted::many_rhs::BandOnLanes;
use bandsolve_kernel::Scalar;
use core::fmt::Debug;
use dyn_stack::{PodStack, StackReq};
use std::sync::Arc;

/// Factor a [`Banded`] matrix as P·S·A = L·U by the sequential pivoted method, whichever method was decided on.
///
/// With scaled partial pivoting, S has powers of two on its diagonal so that the largest entry of each row is in \[2, 4); otherwise
/// S = I. U has `lower + upper` superdiagonals. The same factors solve transposed systems. Real bands with at most four diagonals on each side are eliminated row by row.
/// Bands with at least 18 diagonals below and above are eliminated in blocks of columns by dense kernels.
///
/// # Shapes
/// Right-hand sides are n × n_rhs, column-major. `lower` and `upper` may exceed n.
///
/// # Cost
/// With an exchange in each step, per row 2·lower·(lower + upper) flops to factor and 4·lower + 2·upper flops per right-hand side to
/// solve. The factors need 2·lower + upper + 1 words per row, for wide bands 2·block − 2 more.
///
/// # Errors
/// [`OutOfMemory`](crate::Error::OutOfMemory). The solves report a matrix that is singular or not finite. Without verification, they
/// only report a singular one.
///
/// # Source
/// LAPACK `gbtf2`, `gbtrf`, `gbtrs`. Here exchanges apply to the whole block and reach into padding, so that L is solved block by block.
pub(crate) fn factor<'m, T: Scalar>(decision: &Decision, a: Arc<Banded<'m, T>>) -> Result<Factors<T, Banded<'m, T>>> {
    let mut facts = Facts::pivoted(decision);
    let lu = Arc::new(BandLu::under_plan(decision, &a, &mut facts)?);
    let solver = PivotedBand { lu: OfBand(lu.clone()), decision: decision.clone() };
    let factors = Factors::new(a, facts, solver).for_many_rhs(|| BandOnLanes::new(decision, Some(&lu)));
    Ok(if decision.options.pivoting == Pivoting::ScaledPartial { factors } else { factors.or_else(decision, factor) })
}

/// Scratch of solves, from the plan alone: at least as much as the factors need.
pub(crate) fn scratch<T: Scalar>(decision: &Decision, (n, lower, upper): BandSize, n_rhs: usize) -> Option<StackReq> {
    let [lower, upper] = [lower, upper].map(|width| within(n, width));
    Some(with_refinement::<T>(decision, n, n_rhs, |n_rhs| band_lu::words_at_most(lower, upper, n_rhs)))
}

/// The number of diagonals on one side within a matrix of n rows.
pub(crate) fn within(n: usize, width: usize) -> usize {
    width.min(n.saturating_sub(1))
}

/// Factors of a band, as a whole or in partitions.
pub(crate) trait BandFactors<T: Scalar>: Debug + Send + Sync {
    /// Words of scratch for `n_rhs` right-hand sides.
    fn words(&self, n_rhs: usize) -> usize;

    /// Replace columns x by unchecked solutions with A or Aᵀ.
    fn solve(&self, transposed: bool, x: &mut [T], scratch: &mut [T]);

    /// Return det A if the factors give it reliably. Called only if no pivot is zero.
    fn product(&self) -> Option<ScaledProduct>;
}

impl<T: Scalar> BandFactors<T> for Arc<BandLu<T>> {
    fn words(&self, n_rhs: usize) -> usize {
        BandLu::words(self, n_rhs)
    }

    fn solve(&self, transposed: bool, x: &mut [T], scratch: &mut [T]) {
        BandLu::solve(self, transposed, x, scratch);
    }

    fn product(&self) -> Option<ScaledProduct> {
        Some(BandLu::product(self))
    }
}

/// Factors of a matrix that is a band, in any storage.
#[derive(Debug)]
pub(crate) struct OfBand<B>(pub B);

impl<T: Scalar, A: Matrix<T>, B: BandFactors<T>> Solver<T, A> for OfBand<B> {
    fn scratch(&self, _a: &A, n_rhs: usize) -> StackReq {
        StackReq::new::<T>(self.0.words(n_rhs))
    }

    fn solve(&self, a: &A, transposed: bool, x: &mut [T], stack: &mut PodStack) {
        let (scratch, _) = stack.make_raw::<T>(self.0.words(x.len() / a.shape().n().max(1)));
        if !x.is_empty() {
            self.0.solve(transposed, x, scratch);
        }
    }

    fn product(&self, _a: &A) -> Option<ScaledProduct> {
        self.0.product()
    }
}

/// Factors of a [`Banded`] matrix by the sequential pivoted method.
#[derive(Debug)]
struct PivotedBand<T: Scalar> {
    lu: OfBand<Arc<BandLu<T>>>,
    decision: Decision,
}

impl<'m, T: Scalar> Solver<T, Banded<'m, T>> for PivotedBand<T> {
    fn scratch(&self, a: &Banded<'m, T>, n_rhs: usize) -> StackReq {
        self.lu.scratch(a, n_rhs)
    }

    fn solve(&self, a: &Banded<'m, T>, transposed: bool, x: &mut [T], stack: &mut PodStack) {
        self.lu.solve(a, transposed, x, stack);
    }

    fn product(&self, a: &Banded<'m, T>) -> Option<ScaledProduct> {
        self.lu.product(a)
    }

    fn factor_transposed(&self, factors: &Factors<T, Banded<'m, T>>, conj: bool) -> Option<Result<Box<dyn Probe<T>>>> {
        let transposed = factors.matrix().transposed(conj);
        let factored = transposed.and_then(|transposed| factor(&self.decision, Arc::new(transposed)));
        Some(factored.map(|factors| Box::new(factors) as _))
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{OPS, Rng, check, dense, eps, for_all_scalars};
    use super::*;
    use crate::error::Error;
    use crate::{Factor, Op, Plan, Report};
    use bandsolve_kernel::RealScalar;
    use dyn_stack::PodBuffer;

    fn solve<T: Scalar>(f: &Factors<T, Banded<'_, T>>, op: Op, rhs: &[T]) -> (Vec<T>, Result<Report>) {
        let mut x = rhs.to_vec();
        let mut memory = PodBuffer::new(f.solve_scratch(rhs.len() / f.matrix().n().max(1)));
        let report = f.solve_into_with(op, rhs, &mut x, PodStack::new(&mut memory));
        (x, report)
    }

    fn factored<'m, T: Scalar>(a: &'m Banded<'m, T>, plan: Plan) -> Factors<T, Banded<'m, T>> {
        super::factor(&plan.decision, Arc::new(a.view())).unwrap()
    }

    fn factor<'m, T: Scalar>(a: &'m Banded<'m, T>, pivoting: Pivoting) -> Factors<T, Banded<'m, T>> {
        factored(a, Plan::new(a.shape()).pivoting(pivoting))
    }

    /// Random entries in the band, and NaN in the corners of the array outside of it.
    fn random<T: Scalar>(rng: &mut Rng, n: usize, lower: usize, upper: usize) -> Banded<'static, T> {
        build(n, lower, upper, |_, _| rng.scalar())
    }

    fn build<T: Scalar>(
        n: usize,
        lower: usize,
        upper: usize,
        mut entry: impl FnMut(usize, usize) -> T,
    ) -> Banded<'static, T> {
        let leading = lower + upper + 1;
        let mut bands = vec![T::from_real(T::Real::NAN); n * leading];
        for j in 0..n {
            for i in j.saturating_sub(upper)..(j + lower + 1).min(n) {
                bands[upper + i - j + j * leading] = entry(i, j);
            }
        }
        Banded::from_vec(n, lower, upper, bands).unwrap()
    }

    #[test]
    fn four_by_four_by_hand() {
        // [0 2 1 .]   x = (1, 2, 3, 4)
        // [2 1 . 3]       two superdiagonals, one subdiagonal
        // [. 1 1 1]
        // [. . 4 1]
        let rows = [[0.0, 2.0, 1.0, 0.0], [2.0, 1.0, 0.0, 3.0], [0.0, 1.0, 1.0, 1.0], [0.0, 0.0, 4.0, 1.0]];
        let a = build(4, 1, 2, |i, j| rows[i][j]);
        let (x, report) = solve(&factor(&a, Pivoting::ScaledPartial), Op::Plain, &[7.0, 16.0, 9.0, 16.0]);
        assert!(report.unwrap().backward_error <= f64::EPSILON);
        assert!(x.iter().zip([1.0, 2.0, 3.0, 4.0]).all(|(x, y)| (x - y).abs() < 1e-14), "{x:?}");
        // Aᵀ(1, 2, 3, 4) = (4, 2+2+3, 1+3+16, 6+3+4)
        let (x, _) = solve(&factor(&a, Pivoting::Partial), Op::Transpose, &[4.0, 7.0, 20.0, 13.0]);
        assert!(x.iter().zip([1.0, 2.0, 3.0, 4.0]).all(|(x, y)| (x - y).abs() < 1e-14), "{x:?}");
    }

    mod generic {
        use super::*;

        pub fn random_systems_agree_with_dense_elimination<T: Scalar>() {
            let mut rng = Rng(11);
            let widths =
                [(0, 0), (0, 2), (2, 0), (1, 1), (2, 3), (4, 1), (7, 7), (17, 3), (16, 16), (20, 31), (70, 64)];
            for (lower, upper) in widths {
                for n in [0, 1, 2, 3, 5, 8, 15, 16, 17, 33, 50, 100] {
                    if n > 33 && n < lower || (n == 100 && lower < 16) {
                        continue;
                    }
                    let a = random::<T>(&mut rng, n, lower, upper);
                    for pivoting in [Pivoting::Partial, Pivoting::ScaledPartial] {
                        let f = factor(&a, pivoting);
                        for (op, n_rhs) in OPS.iter().flat_map(|op| [(*op, 1), (*op, 5)]) {
                            let rhs = rng.scalars(n * n_rhs);
                            let (x, report) = solve(&f, op, &rhs);
                            // Triangular matrices with random diagonals have condition numbers that grow with 2^n.
                            if lower.min(upper) > 0 || n <= 8 {
                                check(&dense(n, op, |i, j| a.get(i, j)), &rhs, &x, &report.unwrap());
                            }
                        }
                    }
                }
            }
        }

        pub fn dominant_systems_need_no_pivoting<T: Scalar>() {
            let mut rng = Rng(12);
            for (n, lower, upper) in [(9, 0, 0), (20, 2, 1), (40, 17, 20), (70, 16, 0), (150, 64, 65)] {
                let dominant = T::from_real(T::Real::from_f64(2.0 * (lower + upper + 1) as f64));
                let a = build(n, lower, upper, |i, j| if i == j { dominant } else { rng.scalar() });
                let rhs = rng.scalars(n);
                for op in OPS {
                    let (x, report) = solve(&factor(&a, Pivoting::None), op, &rhs);
                    let report = report.unwrap();
                    // Elimination of a matrix that is dominant by columns at most doubles its entries.
                    assert!(report.pivot_growth.unwrap() <= 2.0);
                    check(&dense(n, op, |i, j| a.get(i, j)), &rhs, &x, &report);
                }
            }
        }

        /// With scaled pivoting, multiplying rows by powers of two changes no bit of x.
        pub fn row_scaling_changes_nothing<T: Scalar>() {
            let mut rng = Rng(13);
            let range = if eps::<T>() > 1e-10 { 60 } else { 500 };
            for (n, lower, upper) in [(50, 2, 3), (120, 20, 17)] {
                let scales: Vec<T::Real> = (0..n)
                    .map(|_| T::Real::from_f64(2f64.powi((rng.bits() % (2 * range)) as i32 - range as i32)))
                    .collect();
                let a = random::<T>(&mut rng, n, lower, upper);
                let b = build(n, lower, upper, |i, j| a.get(i, j).scale(scales[i]));
                let rhs: Vec<T> = rng.scalars(n);
                let scaled: Vec<T> = rhs.iter().zip(&scales).map(|(v, s)| v.scale(*s)).collect();
                let (x, _) = solve(&factor(&a, Pivoting::ScaledPartial), Op::Plain, &rhs);
                let (y, report) = solve(&factor(&b, Pivoting::ScaledPartial), Op::Plain, &scaled);
                assert_eq!(x, y);
                assert!(report.unwrap().backward_error <= 8.0 * eps::<T>());
            }
        }

        pub fn entries_near_the_limits_of_the_type<T: Scalar>() {
            let mut rng = Rng(14);
            let big = if eps::<T>() > 1e-10 { 1e36 } else { 1e300 };
            for (n, lower, upper) in [(1, 0, 0), (30, 2, 3), (60, 20, 16)] {
                for size in [big, 1.0 / big] {
                    let size = T::Real::from_f64(size);
                    let a = build(n, lower, upper, |_, _| rng.scalar::<T>().scale(size));
                    let rhs: Vec<T> = (0..n).map(|_| rng.scalar::<T>().scale(size)).collect();
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
            let mut rng = Rng(15);
            for (n, lower, upper) in [(1, 0, 0), (9, 1, 2), (60, 16, 20), (80, 64, 64)] {
                for zero in [0, n / 3, n - 1] {
                    let a = build(n, lower, upper, |_, j| if j == zero { T::ZERO } else { rng.scalar() });
                    for (op, verify) in OPS.iter().flat_map(|op| [(*op, false), (*op, true)]) {
                        let f = factored(&a, Plan::new(a.shape()).verify(verify));
                        let (_, report) = solve(&f, op, &rng.scalars(n));
                        assert_eq!(report, Err(Error::Singular { row: zero }));
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

    #[test]
    fn rows_of_very_different_size() {
        let mut rng = Rng(16);
        for (n, lower, upper) in [(200, 2, 2), (500, 18, 18), (300, 70, 30)] {
            let size: Vec<f64> = (0..n).map(|_| 10f64.powf(60.0 * rng.real())).collect();
            let a = build(n, lower, upper, |i, _| rng.real() * size[i]);
            let x: Vec<f64> = rng.scalars(n);
            let (_, report) = solve(&factor(&a, Pivoting::ScaledPartial), Op::Plain, &a.apply(&x).unwrap());
            assert!(report.unwrap().backward_error <= 8.0 * f64::EPSILON);
            // In the transpose, the columns have these sizes. x is chosen so that all terms have the same size.
            let x: Vec<f64> = x.iter().zip(&size).map(|(x, s)| x / s).collect();
            let rhs: Vec<f64> =
                (0..n).map(|j| a.column(j)).map(|(i, c)| c.iter().zip(&x[i..]).map(|(a, x)| a * x).sum()).collect();
            let (_, report) = solve(&factor(&a, Pivoting::ScaledPartial), Op::Transpose, &rhs);
            assert!(report.unwrap().backward_error <= 8.0 * f64::EPSILON);
        }
    }

    #[test]
    fn nan_and_infinity_are_errors() {
        for (n, lower, upper) in [(8, 1, 2), (40, 17, 16)] {
            for at in [0, 3, 7, n + 2] {
                let bad = |i: usize| if i.is_multiple_of(2) { f64::NAN } else { f64::INFINITY };
                let a = build(n, lower, upper, |i, j| {
                    if i == j && i == at { bad(i) } else { 1.0 / (1.0 + i as f64 + 2.0 * j as f64) }
                });
                let mut rhs = vec![1.0; n];
                let expected = if at < n {
                    Error::NotFinite { array: "bands", index: upper + at * (lower + upper + 1) }
                } else {
                    rhs[at - n] = bad(at);
                    Error::NotFinite { array: "rhs", index: at - n }
                };
                assert_eq!(solve(&factor(&a, Pivoting::ScaledPartial), Op::Plain, &rhs).1, Err(expected));
            }
        }
    }

    #[test]
    fn threads_do_not_change_a_bit() {
        let mut rng = Rng(17);
        let a = random::<f64>(&mut rng, 900, 300, 250);
        let rhs = rng.scalars(900);
        let x = [1, 2, 3, 7].map(|threads| {
            let f = factored(&a, Plan::new(a.shape()).threads(threads));
            solve(&f, Op::Plain, &rhs).0
        });
        assert!(x.iter().all(|y| *y == x[0]));
    }

    /// A Matrix Market file (real or integer coordinates) as a banded matrix.
    fn read(path: &std::path::Path) -> Option<Banded<'static, f64>> {
        let text = std::fs::read_to_string(path).ok()?;
        let symmetric = text.lines().next()?.contains("symmetric");
        let mut lines = text.lines().filter(|l| !l.starts_with('%') && !l.trim().is_empty());
        let n: usize = lines.next()?.split_whitespace().next()?.parse().ok()?;
        let mut entries = Vec::new();
        for line in lines {
            let mut words = line.split_whitespace();
            let mut index = || words.next()?.parse::<usize>().ok();
            let (i, j) = (index()? - 1, index()? - 1);
            let v: f64 = words.next()?.parse().ok()?;
            entries.push((i, j, v));
            if symmetric && i != j {
                entries.push((j, i, v));
            }
        }
        let lower = entries.iter().map(|(i, j, _)| i.saturating_sub(*j)).max()?;
        let upper = entries.iter().map(|(i, j, _)| j.saturating_sub(*i)).max()?;
        let mut bands = vec![0.0; n * (lower + upper + 1)];
        entries.iter().for_each(|(i, j, v)| bands[upper + i - j + j * (lower + upper + 1)] = *v);
        Banded::from_vec(n, lower, upper, bands).ok()
    }

    #[test]
    fn real_matrices() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/matrices");
        if !folder.exists() {
            return bandsolve_testkit::skipped("no ../shared/matrices beside the checkout: real matrices, eliminated");
        }
        for name in ["nos2", "olm500", "olm1000", "tub1000", "LF10000", "mhdb416", "mhd4800b", "gr_30_30"] {
            let a = read(&folder.join(format!("{name}.mtx"))).unwrap_or_else(|| panic!("{name} is there and is read"));
            let f = factor(&a, Pivoting::ScaledPartial);
            let mut rng = Rng(18);
            let x: Vec<f64> = rng.scalars(a.n());
            for (kind, rhs) in
                [("A·random", a.apply(&x).unwrap()), ("random", rng.scalars(a.n())), ("ones", vec![1.0; a.n()])]
            {
                for op in [Op::Plain, Op::Transpose] {
                    let report = solve(&f, op, &rhs).1.unwrap();
                    let (eta, steps) = (report.backward_error / f64::EPSILON, report.refinement_steps);
                    println!(
                        "{name:9} {kind:9} {op:10?} eta = {eta:.2} eps, {steps} steps, growth {:?}",
                        report.pivot_growth
                    );
                    assert!(eta <= 8.0, "{name}: eta = {eta} eps");
                }
            }
        }
    }
}
