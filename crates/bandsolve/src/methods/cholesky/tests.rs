use super::*;
use crate::pivoted::testing::{OPS, Rng, check, dense, eps, for_all_scalars};
use crate::tuning;
use crate::{Banded, Error, Factor, Inspect, Method, Op, Plan, Tridiagonal};
use bandsolve_kernel::{RealScalar, Scalar};
use dyn_stack::PodStack;

/// The lower triangle of a random Hermitian band. With `dominance` ≥ 1, it is diagonally dominant.
fn triangle<T: Scalar>(rng: &mut Rng, n: usize, width: usize, dominance: f64) -> Vec<Vec<T>> {
    let diagonal = T::from_real(T::Real::from_f64(dominance * (2.9 * width as f64 + 0.5)));
    (0..n)
        .map(|j| (j..(j + width + 1).min(n)).map(|i| if i == j { diagonal } else { rng.scalar() }).collect())
        .collect()
}

/// The entry (i, j) of the matrix.
fn entry<T: Scalar>(columns: &[Vec<T>], i: usize, j: usize) -> T {
    let below = |i: usize, j: usize| columns[j].get(i - j).copied().unwrap_or(T::ZERO);
    if i >= j { below(i, j) } else { Scalar::conj(below(j, i)) }
}

/// Both triangles, with additional diagonals of zeros, and NaN outside of the matrix.
fn banded<T: Scalar>(columns: &[Vec<T>], width: usize, (more_below, more_above): (usize, usize)) -> Banded<'static, T> {
    let (n, lower, upper) = (columns.len(), width + more_below, width + more_above);
    let leading = lower + upper + 1;
    let mut bands = vec![T::from_real(T::Real::NAN); n * leading];
    for j in 0..n {
        for i in j.saturating_sub(upper)..(j + lower + 1).min(n) {
            bands[upper + i - j + j * leading] = entry(columns, i, j);
        }
    }
    Banded::from_vec(n, lower, upper, bands).unwrap()
}

/// The diagonals of one triangle, with NaN outside of the matrix.
fn diagonals<T: Scalar>(columns: &[Vec<T>], width: usize, lower: bool) -> Vec<T> {
    let n = columns.len();
    let mut ab = vec![T::from_real(T::Real::NAN); n * (width + 1)];
    for (j, column) in columns.iter().enumerate() {
        for (k, v) in column.iter().enumerate() {
            let (at, v) = if lower { (k * n + j, *v) } else { ((width - k) * n + j + k, Scalar::conj(*v)) };
            ab[at] = v;
        }
    }
    ab
}

fn plan<T: Scalar>(a: &Banded<'_, T>) -> Plan {
    Plan::new(a.shape()).method(Method::Cholesky)
}

/// The row of the first leading minor that is not positive, by dense elimination in double precision.
fn first_minor<T: Scalar>(columns: &[Vec<T>]) -> Option<usize> {
    let n = columns.len();
    let mut a = dense(n, Op::Plain, |i, j| entry(columns, i, j));
    for k in 0..n {
        if a[k][k].re <= 0.0 {
            return Some(k);
        }
        for i in k + 1..n {
            let f = a[i][k] / a[k][k];
            let (above, below) = a.split_at_mut(i);
            below[0].iter_mut().zip(&above[k]).for_each(|(v, u)| *v -= f * u);
        }
    }
    None
}

const WIDTHS: [usize; 9] = [0, 1, 2, 5, 8, 17, 18, 33, 70];

#[test]
fn four_by_four_by_hand() {
    // L = [1; 2 1; 0 3 1; 0 0 -1 1], D = diag(1, 2, 3, 4).
    let columns = vec![vec![1.0, 2.0, 0.0], vec![6.0, 6.0, 0.0], vec![21.0, -3.0], vec![7.0]];
    let a = banded(&columns, 2, (0, 0));
    let factor = plan(&a).factor(&a).unwrap();
    // A·(1, 2, 3, 4)
    let x = factor.solve(&[5.0, 32.0, 63.0, 19.0]).unwrap();
    assert!(x.values.iter().zip([1.0, 2.0, 3.0, 4.0]).all(|(x, y)| (x - y).abs() < 1e-13), "{x:?}");
    assert!((factor.determinant().unwrap().value() - 24.0).abs() < 1e-13 && x.report.method == Method::Cholesky);
}

mod generic {
    use super::*;

    pub fn random_systems_agree_with_dense_elimination<T: Scalar>() {
        let mut rng = Rng(21);
        for width in WIDTHS {
            for n in [0, 1, 2, 3, 5, 8, 16, 17, 33, 50, 100] {
                if n > 33 && n < width || (n == 100 && width < 17) {
                    continue;
                }
                let columns = triangle::<T>(&mut rng, n, width, 1.0);
                for more in [(0, 0), (2, 0), (0, 1)] {
                    let a = banded(&columns, width, more);
                    let factor = plan(&a).factor(&a).unwrap();
                    for (op, n_rhs) in OPS.iter().flat_map(|op| [(*op, 1), (*op, 3)]) {
                        let (rhs, mut x) = (rng.scalars::<T>(n * n_rhs), vec![T::ZERO; n * n_rhs]);
                        let mut memory = crate::memory::buffer(factor.solve_scratch(n_rhs)).unwrap();
                        let report = factor.solve_into_with(op, &rhs, &mut x, PodStack::new(&mut memory)).unwrap();
                        check(&dense(n, op, |i, j| entry(&columns, i, j)), &rhs, &x, &report);
                        assert!(!report.fallback && report.refinement_steps == 0, "{n} {width} {report:?}");
                    }
                }
            }
        }
    }

    /// Both storages give the same bits for any number of threads, also in halves.
    pub fn threads_and_storage_do_not_change_a_bit<T: Scalar>() {
        let mut rng = Rng(22);
        for (n, width) in [(40_000, 2), (9_001, 8), (4_000, 17), (4_001, 21), (6_000, 40)] {
            let columns = triangle::<T>(&mut rng, n, width, 1.0);
            let a = banded(&columns, width, (0, 0));
            assert!(tuning::definite_halves_pay(n, width));
            let rhs = rng.scalars::<T>(2 * n);
            let solve = |threads: usize| {
                let factor = plan(&a).threads(threads).factor(&a).unwrap();
                let x = factor.solve(&rhs).unwrap();
                assert!(x.report.backward_error <= 8.0 * eps::<T>() && !x.report.fallback);
                x.values
            };
            let expected = solve(1);
            for threads in [2, 3, 7] {
                assert_eq!(solve(threads), expected, "{n} {width}, {threads} threads");
            }
            for (lower, threads) in [(true, 1), (false, 2)] {
                let (ab, mut x) = (diagonals(&columns, width, lower), vec![T::ZERO; 2 * n]);
                let a = Diagonals::new(n, width, lower, &ab).unwrap();
                a.factor((true, Some(threads))).unwrap().solve_into(&rhs, &mut x).unwrap();
                assert!(x == expected, "{n} {width} {lower}");
            }
        }
    }

    pub fn indefinite_matrices_are_errors<T: Scalar>() {
        let mut rng = Rng(23);
        let mut refused = 0;
        for (width, k) in WIDTHS.iter().flat_map(|width| (0..40).map(move |k| (*width, k))) {
            let n = 1 + (rng.bits() % 60) as usize;
            let mut columns = triangle::<T>(&mut rng, n, width, 0.9);
            let bad = (rng.bits() % n as u64) as usize;
            columns[bad][0] = columns[bad][0].scale(T::Real::from_f64(if k % 2 == 0 { -0.5 } else { 0.0 }));
            let a = banded(&columns, width, (0, 0));
            let expected = first_minor(&columns).expect("an entry of the diagonal is not positive");
            let got = plan(&a).factor(&a).map(|_| ());
            assert_eq!(got, Err(Error::NotDefinite { row: expected }), "{n} {width}");
            let ab = diagonals(&columns, width, k % 3 == 0);
            let got = Diagonals::new(n, width, k % 3 == 0, &ab).unwrap().factor((true, None));
            assert_eq!(got.map(|_| ()), Err(Error::NotDefinite { row: expected }), "{n} {width}");
            refused += 1;
        }
        assert_eq!(refused, 9 * 40);
    }

    /// The error names the row of the first bad minor, whichever half detects it first.
    pub fn halves_name_the_row_of_the_minor<T: Scalar>() {
        let mut rng = Rng(24);
        for (n, width) in [(70_000, 1), (9_000, 8), (6_000, 20)] {
            let columns = triangle::<T>(&mut rng, n, width, 1.0);
            for bad in [0, 5, n / 2 - width, n / 2 - 1, n / 2, n / 2 + width, n - 2, n - 1] {
                let mut columns = columns.clone();
                columns[bad][0] = T::ZERO;
                let a = banded(&columns, width, (0, 0));
                for threads in [1, 2] {
                    let got = plan(&a).threads(threads).factor(&a).map(|_| ());
                    // The entry is zero, so the minor of this row is zero for row 0, and negative otherwise.
                    assert_eq!(got, Err(Error::NotDefinite { row: bad }), "{n} {width} {threads}");
                }
            }
        }
    }

    pub fn matrices_that_are_not_hermitian_are_errors<T: Scalar>() {
        let mut rng = Rng(25);
        for (n, width) in [(2, 1), (5, 2), (50, 8), (50, 20), (5_000, 20)] {
            let columns = triangle::<T>(&mut rng, n, width, 1.0);
            for (i, j) in [(1, 0), (0, 1), (n - 1, n - 2), (n - 2, n - 1), (n / 2, n / 2 - 1)] {
                let a = banded(&columns, width, (0, 0));
                let mut bands = a.storage().0.to_vec();
                bands[width + i - j + j * (2 * width + 1)] = T::from_real(T::Real::from_f64(0.125));
                let a = Banded::from_vec(n, width, width, bands).unwrap();
                let expected = Err(Error::NotDefinite { row: i.min(j) });
                assert_eq!(plan(&a).factor(&a).map(|_| ()), expected, "{n} {width} {i} {j}");
            }
            // An entry on a diagonal without a counterpart.
            let a = banded(&columns, width, (1, 0));
            let mut bands = a.storage().0.to_vec();
            if let Some(v) = (n > width + 1).then(|| &mut bands[2 * width + 1]) {
                *v = T::ONE;
                let a = Banded::from_vec(n, width + 1, width, bands).unwrap();
                assert_eq!(plan(&a).factor(&a).map(|_| ()), Err(Error::NotDefinite { row: 0 }));
            }
        }
    }

    pub fn entries_near_the_limits_of_the_type<T: Scalar>() {
        let mut rng = Rng(26);
        let big = if eps::<T>() > 1e-10 { 1e36 } else { 1e300 };
        for (n, width) in [(1, 0), (40, 1), (2000, 1), (30, 3), (60, 20), (9_000, 8)] {
            // All entries of one size, and rows and columns that are alternately large and small.
            for (even, odd) in [(big, big), (1.0 / big, 1.0 / big), (big, 1.0 / big)] {
                let [even, odd] = [even.sqrt(), odd.sqrt()].map(T::Real::from_f64);
                let by = |i: usize| if i.is_multiple_of(2) { even } else { odd };
                let mut columns = triangle::<T>(&mut rng, n, width, 1.0);
                for (j, column) in columns.iter_mut().enumerate() {
                    column.iter_mut().enumerate().for_each(|(k, v)| *v = v.scale(by(j)).scale(by(j + k)));
                }
                let a = banded(&columns, width, (0, 0));
                let factor = plan(&a).factor(&a).unwrap();
                let rhs: Vec<T> = (0..n).map(|i| rng.scalar::<T>().scale(by(i))).collect();
                let x = factor.solve(&rhs).unwrap();
                assert!(x.report.backward_error <= 8.0 * eps::<T>(), "{n} {width} {:?}", x.report);
            }
        }
    }

    pub fn nan_and_infinity_are_errors<T: Scalar>() {
        let mut rng = Rng(27);
        for (n, width) in [(8, 1), (8, 3), (60, 20)] {
            let columns = triangle::<T>(&mut rng, n, width, 1.0);
            let a = banded(&columns, width, (0, 0));
            for (i, j) in [(0, 0), (1, 0), (0, 1), (n - 1, n - 1), (n / 2, n / 2)] {
                for bad in [T::Real::NAN, T::Real::INFINITY] {
                    let mut bands = a.storage().0.to_vec();
                    let index = width + i - j + j * (2 * width + 1);
                    bands[index] = T::from_real(bad);
                    let a = Banded::from_vec(n, width, width, bands).unwrap();
                    let got = plan(&a).factor(&a).map(|_| ());
                    assert_eq!(got, Err(Error::NotFinite { array: "bands", index }), "{n} {width} {i} {j}");
                }
            }
        }
    }

    pub fn periodic_matrices_are_decided_as_a_whole<T: Scalar>() {
        let all = |n: usize, v: f64| vec![T::from_real(T::Real::from_f64(v)); n];
        let solve = |diag: f64, off: f64, n: usize, periodic: bool| {
            let a = Tridiagonal::from_vecs(all(n, off), all(n, diag), all(n, off), periodic).unwrap();
            Plan::new(a.shape()).method(Method::Cholesky).factor(&a).map(|_| ())
        };
        for n in [1, 2, 3, 4, 7, 100] {
            // The smallest eigenvalue of the open matrix is positive, the one of the periodic matrix is 0.
            assert_eq!(solve(2.0, -1.0, n, false), Ok(()), "{n}");
            assert_eq!(solve(2.0 - 1.0 / 2048.0, -1.0, n, true), Err(Error::NotDefinite { row: n - 1 }), "{n}");
            assert_eq!(solve(2.0 + 1.0 / 2048.0, -1.0, n, true), Ok(()), "{n}");
        }
        assert_eq!([false, true].map(|periodic| solve(2.0, -1.0, 0, periodic)), [Ok(()), Ok(())]);
        let (mut sub, diag, sup) = (all(5, -1.0), all(5, 4.0), all(5, -1.0));
        sub[0] = T::ONE;
        let a = Tridiagonal::from_vecs(sub, diag, sup, true).unwrap();
        let got = Plan::new(a.shape()).method(Method::Cholesky).factor(&a).map(|_| ());
        assert_eq!(got, Err(Error::NotDefinite { row: 0 }));
    }

    pub fn determinants_are_those_of_the_pivoted_method<T: Scalar>() {
        let mut rng = Rng(28);
        for (n, width) in [(1, 0), (30, 3), (50, 20), (9_000, 8)] {
            let a = banded(&triangle::<T>(&mut rng, n, width, 1.0), width, (0, 0));
            let [own, other] = [Method::Cholesky, Method::Pivoted]
                .map(|method| Plan::new(a.shape()).method(method).factor(&a).unwrap().determinant().unwrap());
            // Each pivot of a dominant matrix is accurate to a few ε.
            assert!((own.log_abs - other.log_abs).abs() <= n as f64 * 64.0 * eps::<T>());
            assert!(own.phase.re() == T::Real::ONE);
        }
    }
}

for_all_scalars!(random_systems_agree_with_dense_elimination);
for_all_scalars!(threads_and_storage_do_not_change_a_bit);
for_all_scalars!(indefinite_matrices_are_errors);
for_all_scalars!(halves_name_the_row_of_the_minor);
for_all_scalars!(matrices_that_are_not_hermitian_are_errors);
for_all_scalars!(entries_near_the_limits_of_the_type);
for_all_scalars!(nan_and_infinity_are_errors);
for_all_scalars!(periodic_matrices_are_decided_as_a_whole);
for_all_scalars!(determinants_are_those_of_the_pivoted_method);

/// Elimination in segments gives the same decision as elimination row by row, for all sizes.
#[test]
fn segments_decide_as_rows_do() {
    for n in [1024, 1025, 1039, 5_000, 40_000] {
        // The smallest eigenvalue is about (π/n)². The shifts move it by half of its size up and down.
        let least = (core::f64::consts::PI / (n as f64 + 1.0)).powi(2);
        for (shift, definite) in [(0.5 * least, true), (-0.5 * least, true), (-1.5 * least, false)] {
            let off = vec![-1.0; n];
            let a = Tridiagonal::from_vecs(off.clone(), vec![2.0 + shift; n], off, false).unwrap();
            for threads in [1, 2] {
                let got = Plan::new(a.shape()).method(Method::Cholesky).threads(threads).factor(&a).map(|_| ());
                assert_eq!(got.is_ok(), definite, "{n} {shift:e} {got:?}");
            }
        }
    }
}
