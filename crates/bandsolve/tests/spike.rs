//! Banded systems by partitions, compared with extended precision, for all shapes, widths, number types and numbers of threads.

use bandsolve::dyn_stack::{PodBuffer, PodStack};
use bandsolve::{Banded, Complex32, Complex64, Error, Factor, Method, Op, Pivoting, Plan, RealScalar, Report, Scalar};
use bandsolve_gallery::Random;
use bandsolve_gallery::oracle::{backward_error, condition_rows, forward_error_max, solve_reference, transpose_banded};

const OPS: [Op; 3] = [Op::Plain, Op::Transpose, Op::ConjTranspose];

fn eps<T: Scalar>() -> f64 {
    T::Real::EPSILON.to_f64()
}

fn scalar<T: Scalar>(rng: &mut Random) -> T {
    let mut part = || T::Real::from_f64(rng.uniform(-1.0, 1.0));
    T::from_parts(part(), part())
}

fn scalars<T: Scalar>(rng: &mut Random, n: usize) -> Vec<T> {
    (0..n).map(|_| scalar(rng)).collect()
}

fn build<T: Scalar>(
    (n, lower, upper): (usize, usize, usize),
    mut entry: impl FnMut(usize, usize) -> T,
) -> Banded<'static, T> {
    let leading = lower + upper + 1;
    // Entries outside of the matrix are NaN, because they must not be read.
    let mut bands = vec![T::from_real(T::Real::NAN); n * leading];
    for j in 0..n {
        for i in j.saturating_sub(upper)..(j + lower + 1).min(n) {
            bands[upper + i - j + j * leading] = entry(i, j);
        }
    }
    Banded::from_vec(n, lower, upper, bands).unwrap()
}

fn plan<T: Scalar>(a: &Banded<'_, T>, partitions: usize) -> Plan {
    Plan::new(a.shape()).method(Method::Spike).partitions(partitions)
}

/// Solve in scratch of exactly the requested size, filled with NaN.
fn solve<T: Scalar>(plan: &Plan, a: &Banded<'_, T>, op: Op, rhs: &[T]) -> (Vec<T>, bandsolve::Result<Report>) {
    let factor = plan.factor(a).unwrap();
    let mut x = vec![T::from_real(T::Real::NAN); rhs.len()];
    let mut memory = PodBuffer::new(factor.solve_scratch(rhs.len().checked_div(a.n()).unwrap_or(0)));
    memory.fill(0xff);
    let report = factor.solve_into_with(op, rhs, &mut x, PodStack::new(&mut memory));
    (x, report)
}

fn operated<T: Scalar>(a: &Banded<'_, T>, op: Op) -> Banded<'static, T> {
    match op {
        Op::Plain => a.clone().into_owned(),
        _ => transpose_banded(a, op == Op::ConjTranspose),
    }
}

/// Check that each column satisfies the accuracy contract by the residual of the oracle, and is near the solution in extended precision.
fn check<T: Scalar>(a: &Banded<'_, T>, op: Op, rhs: &[T], x: &[T], what: &str) {
    let a = operated(a, op);
    let n = a.n().max(1);
    let condition = if n <= 200 { condition_rows(&a) } else { f64::INFINITY };
    for (d, x) in rhs.chunks(n).zip(x.chunks(n)) {
        // The backward error of the solver has a rounding error.
        let eta = backward_error(&a, d, x);
        assert!(eta <= 9.0 * eps::<T>(), "{what}, {op:?}: {:.1} eps", eta / eps::<T>());
        if condition * eps::<T>() < 1e-3 {
            let reference = solve_reference(&a, d).expect("not singular");
            // If the condition is moderate, ‖x‖ + ‖x_t‖ is about 2‖x_t‖.
            assert!(forward_error_max(x, &reference) <= 3.0 * 9.0 * eps::<T>() * condition, "{what}, {op:?}");
        }
    }
}

macro_rules! for_all_scalars {
    ($($name:ident),*) => {$(
        #[test]
        fn $name() {
            generic::$name::<f32>();
            generic::$name::<f64>();
            generic::$name::<Complex32>();
            generic::$name::<Complex64>();
        }
    )*};
}
for_all_scalars!(random_systems, shapes_at_the_edge, threads_do_not_change_a_bit);

mod generic {
    use super::*;

    /// Random bands of many shapes with up to five partitions and pivots in any row. None of them needs the fallback.
    pub fn random_systems<T: Scalar>() {
        let mut rng = Random::new(21);
        for (lower, upper) in [(1, 1), (2, 1), (1, 3), (3, 2), (7, 7), (5, 9), (16, 17), (20, 16), (45, 41)] {
            for n in [40, 61, 160, 430] {
                let a = build((n, lower, upper), |_, _| scalar::<T>(&mut rng));
                for (parts, op) in [2, 3, 5].iter().flat_map(|parts| OPS.map(|op| (*parts, op))) {
                    let rhs = scalars(&mut rng, 3 * n);
                    let (x, report) = solve(&plan(&a, parts), &a, op, &rhs);
                    let what = format!("{} {n}, {lower}, {upper}, {parts} parts", T::NAME);
                    assert!(!report.expect(&what).fallback, "{what}");
                    check(&a, op, &rhs, &x, &what);
                }
            }
        }
    }

    /// Triangular and diagonal matrices and sizes below the bandwidth, with all pivoting rules.
    pub fn shapes_at_the_edge<T: Scalar>() {
        let mut rng = Random::new(22);
        for (lower, upper) in [(0, 0), (0, 3), (3, 0), (9, 12), (70, 1), (2, 70), (42, 43)] {
            for n in [0, 1, 2, 3, 8, 13, 50, 190] {
                let large = T::from_real(T::Real::from_f64(2.0 * (lower + upper + 1) as f64));
                let a =
                    build((n, lower, upper), |i, j| if i == j { large + scalar(&mut rng) } else { scalar(&mut rng) });
                for (parts, pivoting) in [1, 2, 7].iter().flat_map(|parts| Pivoting::ALL.map(|p| (*parts, p))) {
                    for op in OPS {
                        let rhs = scalars(&mut rng, 2 * n);
                        let (x, report) = solve(&plan(&a, parts).pivoting(pivoting), &a, op, &rhs);
                        let what = format!("{} {n}, {lower}, {upper}, {parts} parts, {pivoting:?}", T::NAME);
                        assert!(!report.expect(&what).fallback, "{what}");
                        check(&a, op, &rhs, &x, &what);
                    }
                }
            }
        }
    }

    pub fn threads_do_not_change_a_bit<T: Scalar>() {
        let mut rng = Random::new(23);
        for (size, parts) in
            [((900, 30, 25), 2), ((700, 4, 3), 5), ((1500, 17, 20), 6), ((1300, 150, 160), 2), ((900, 41, 50), 4)]
        {
            let a = build(size, |_, _| scalar::<T>(&mut rng));
            // More right-hand sides than one group.
            let rhs = scalars(&mut rng, 70 * size.0);
            for op in [Op::Plain, Op::Transpose] {
                let one = solve(&plan(&a, parts).threads(1), &a, op, &rhs);
                assert!(one.1.is_ok());
                for threads in [2, 3, 7] {
                    assert!(
                        solve(&plan(&a, parts).threads(threads), &a, op, &rhs) == one,
                        "{size:?}, {op:?}, {threads}"
                    );
                }
            }
        }
    }
}

#[test]
fn parts_that_are_singular_by_themselves() {
    // The diagonal is zero and the off-diagonals are one, so that diagonal blocks of any partition may be singular.
    for (lower, upper) in [(1, 1), (3, 2), (42, 42)] {
        let n = 20 * (lower + upper) + 2;
        let mut rng = Random::new(24);
        let a = build((n, lower, upper), |i, j| {
            let partner = if i % 2 == 0 { i + 1 } else { i - 1 };
            let noise = if lower > 1 && i.abs_diff(j) == 2 { 0.01 * rng.uniform(-1.0, 1.0) } else { 0.0 };
            if j == partner { 1.0 } else { noise }
        });
        for (parts, pivoting) in [2, 3, 4].iter().flat_map(|parts| Pivoting::ALL.map(|p| (*parts, p))) {
            for op in OPS {
                let rhs = scalars(&mut rng, n);
                let (x, report) = solve(&plan(&a, parts).pivoting(pivoting), &a, op, &rhs);
                let what = format!("{lower}, {upper}, {parts} parts, {pivoting:?}");
                assert!(pivoting == Pivoting::None || !report.expect(&what).fallback, "{what}");
                check(&a, op, &rhs, &x, &what);
            }
        }
    }
}

#[test]
fn without_pivoting_small_pivots_are_made_larger_and_counted() {
    let mut rng = Random::new(25);
    for (lower, upper) in [(2, 3), (42, 44)] {
        let n = 20 * (lower + upper);
        let a = build((n, lower, upper), |i, j| match (i, j) {
            // The pivot of this row and column is its diagonal entry.
            (7, _) if j < 7 => 0.0,
            (_, 7) if i <= 7 => 0.0,
            _ if i == j => 2.0 * (lower + upper) as f64,
            _ => rng.uniform(-1.0, 1.0),
        });
        let rhs = scalars(&mut rng, n);
        let (x, report) = solve(&plan(&a, 2).pivoting(Pivoting::None), &a, Op::Plain, &rhs);
        let reason = report.unwrap().reason;
        assert!(reason.contains("1 small pivot enlarged"), "{reason}");
        check(&a, Op::Plain, &rhs, &x, "boosted");
        let report = solve(&plan(&a, 2), &a, Op::Plain, &rhs).1.unwrap();
        assert!(!report.reason.contains("enlarged") && report.refinement_steps == 0);
    }
}

#[test]
fn singular_and_not_finite_is_said() {
    let mut rng = Random::new(26);
    for (lower, upper) in [(2, 3), (45, 42)] {
        let n = 20 * (lower + upper);
        for column in [0, n / 2 - 1, n / 2, n - 1] {
            let a = build((n, lower, upper), |_, j| if j == column { 0.0 } else { rng.uniform(-1.0, 1.0) });
            for op in OPS {
                assert_eq!(solve(&plan(&a, 2), &a, op, &vec![1.0; n]).1, Err(Error::Singular { row: column }));
            }
            let raw = solve(&plan(&a, 2).verify(false), &a, Op::Plain, &vec![1.0; n]).1;
            assert!(matches!(raw, Err(Error::Singular { .. })), "{raw:?}");
            let a =
                build((n, lower, upper), |i, j| if i == j && j == column { f64::NAN } else { rng.uniform(-1.0, 1.0) });
            let index = upper + column * (lower + upper + 1);
            let expected = Err(Error::NotFinite { array: "bands", index });
            assert_eq!(solve(&plan(&a, 2), &a, Op::Plain, &vec![1.0; n]).1, expected);
        }
        let a = build((n, lower, upper), |_, _| rng.uniform(-1.0, 1.0));
        let mut rhs = vec![1.0; 2 * n];
        rhs[n + 3] = f64::INFINITY;
        let expected = Err(Error::NotFinite { array: "rhs", index: n + 3 });
        assert_eq!(solve(&plan(&a, 3), &a, Op::Plain, &rhs).1, expected);
    }
}

#[test]
fn entries_near_the_limits_and_rows_of_any_size() {
    let mut rng = Random::new(27);
    for (lower, upper) in [(3, 2), (43, 41)] {
        let n = 30 * (lower + upper);
        for size in [1e300, 1e-290] {
            let a = build((n, lower, upper), |_, _| size * rng.uniform(-1.0, 1.0));
            let rhs: Vec<f64> = (0..n).map(|_| size * rng.uniform(-1.0, 1.0)).collect();
            for op in OPS {
                let (x, report) = solve(&plan(&a, 3), &a, op, &rhs);
                assert!(report.is_ok(), "{report:?}");
                check(&a, op, &rhs, &x, "near the limits");
            }
        }
        let sizes: Vec<f64> = (0..n).map(|_| 10f64.powf(rng.uniform(-60.0, 60.0))).collect();
        let a = build((n, lower, upper), |i, _| rng.uniform(-1.0, 1.0) * sizes[i]);
        let rhs = a.apply(&scalars(&mut rng, n)).unwrap();
        for parts in [2, 3] {
            let (x, report) = solve(&plan(&a, parts), &a, Op::Plain, &rhs);
            assert!(!report.unwrap().fallback);
            check(&a, Op::Plain, &rhs, &x, "rows of any size");
        }
    }
}
