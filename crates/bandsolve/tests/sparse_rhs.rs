//! Sparse right-hand sides give the same x as dense ones, and the largest entries of each column.

use bandsolve::AnyFactor;
use bandsolve::prelude::*;
use bandsolve::{RealScalar, Simd};
use bandsolve_gallery::{Random, random_vec};

/// A sparse matrix: column pointers, row indices and values.
struct Columns<T> {
    pointers: Vec<i32>,
    rows: Vec<i32>,
    values: Vec<T>,
}

impl<T: Scalar> Columns<T> {
    /// Random columns of `counts` entries, which may have the same row.
    fn random(n: usize, counts: &[usize], random: &mut Random) -> Self {
        let pointers = core::iter::once(0).chain(counts.iter().scan(0, |sum, count| {
            *sum += *count as i32;
            Some(*sum)
        }));
        let entries = counts.iter().sum();
        let rows = (0..entries).map(|_| random.below(n) as i32).collect();
        Self { pointers: pointers.collect(), rows, values: random_vec(entries, random) }
    }

    fn csc(&self, n: usize) -> Csc<'_, T, i32> {
        Csc::new(n, &self.pointers, &self.rows, &self.values).unwrap()
    }

    fn dense(&self, n: usize) -> Vec<T> {
        let mut all = vec![T::ZERO; n * (self.pointers.len() - 1)];
        for j in 0..self.pointers.len() - 1 {
            self.csc(n).column(j).for_each(|(i, value)| all[j * n + i] += value);
        }
        all
    }
}

/// Matrices whose inverses decay not at all, slowly and fast, with entries of both signs and different sizes.
fn matrices<T: Scalar>(n: usize, periodic: bool, random: &mut Random) -> Vec<Tridiagonal<'static, T>> {
    let constant = |off: f64, diag: f64| [off, diag, off].map(|v| vec![T::from_real(T::Real::from_f64(v)); n]);
    let noise = [(); 3].map(|()| random_vec(n, random));
    [constant(-1.0, if periodic { 2.0 + 1e-3 } else { 2.0 }), constant(1.0, 4.0), constant(0.25, 1e6), noise]
        .map(|[mut sub, diag, mut sup]| {
            if !periodic {
                (sub[0], sup[n - 1]) = (T::ZERO, T::ZERO);
            }
            Tridiagonal::from_vecs(sub, diag, sup, periodic).unwrap()
        })
        .into()
}

fn same_as_written_out<T: Scalar>() {
    let mut random = Random::new(1);
    for n in [2, 3, 31, 129, 1000, 5003, 30_011] {
        for (periodic, m) in [(false, 5), (true, 8), (false, 32)] {
            for (k, a) in matrices::<T>(n, periodic, &mut random).into_iter().enumerate() {
                // The entries of the first four columns are close together. Some columns have no entries.
                let mut columns = Columns::random(n, &[2, 2, 2, 2, 0, 10, 1, 3, 0], &mut random);
                columns.rows[..8].iter_mut().for_each(|i| *i = *i % 9 + n as i32 / 2 - (*i % 9).min(n as i32 / 2));
                columns.rows.iter_mut().for_each(|i| *i = (*i).min(n as i32 - 1));
                for (verify, op) in [(true, Op::Plain), (false, Op::Transpose), (true, Op::ConjTranspose)] {
                    let plan = Plan::new(a.shape()).method(Method::Rpts).partition_rows(m).verify(verify);
                    let factor = plan.factor(&a).unwrap();
                    let (rhs, mut expected) = (columns.dense(n), columns.dense(n));
                    let mut scratch = bandsolve::dyn_stack::PodBuffer::new(factor.solve_scratch(9));
                    let stack = bandsolve::dyn_stack::PodStack::new(&mut scratch);
                    let dense = factor.solve_into_with(op, &rhs, &mut expected, stack);
                    let mut x = vec![T::from_real(T::Real::NAN); rhs.len()];
                    let sparse = factor.solve_sparse_into(op, &columns.csc(n), &mut x);
                    let case = format!("matrix {k}, n = {n}, m = {m}, periodic {periodic}, {op:?}, verify {verify}");
                    let (dense, sparse) = (dense.expect(&case), sparse.expect(&case));
                    // Dropped unknowns change x by κ(A)·ε²·‖x‖∞, which is about a rounding error.
                    for (x, expected) in x.chunks(n).zip(expected.chunks(n)) {
                        let size = |v: &T| Scalar::abs(*v).to_f64();
                        let norm = expected.iter().map(size).fold(0.0, f64::max);
                        let limit = 16.0 * T::Real::EPSILON.to_f64() * norm;
                        let wrong = x.iter().zip(expected).position(|(a, b)| !(size(&(*a - *b)) <= limit));
                        assert_eq!(wrong, None, "{case}: beyond {limit:e}");
                    }
                    assert_eq!(dense.backward_errors.len(), sparse.backward_errors.len(), "{case}");
                    assert_eq!(sparse.backward_error.is_nan(), !verify, "{case}");
                    let good = sparse.backward_error <= 8.0 * T::Real::EPSILON.to_f64();
                    assert!(good || !verify, "{case}: {sparse:?}");
                }
            }
        }
    }
}

#[test]
fn same_as_written_out_f64() {
    same_as_written_out::<f64>();
}

#[test]
fn same_as_written_out_f32() {
    same_as_written_out::<f32>();
}

#[test]
fn same_as_written_out_c64() {
    same_as_written_out::<Complex64>();
}

#[test]
fn same_as_written_out_c32() {
    same_as_written_out::<Complex32>();
}

/// The largest entries of each column of the dense solution.
fn largest_of<T: Scalar>(
    factor: &AnyFactor<'_, T>,
    columns: &Columns<T>,
    n: usize,
    counts: &[usize],
) -> (Vec<i32>, Vec<T>) {
    let mut x = columns.dense(n);
    factor.solve_sparse_into(Op::Plain, &columns.csc(n), &mut x).unwrap();
    let (mut rows, mut values) = (Vec::new(), Vec::new());
    for (x, count) in x.chunks(n).zip(counts) {
        let mut order: Vec<usize> = (0..n).collect();
        order.sort_by(|i, j| Scalar::abs(x[*j]).to_f64().total_cmp(&Scalar::abs(x[*i]).to_f64()).then(i.cmp(j)));
        let mut kept = order[..*count].to_vec();
        kept.sort_unstable();
        rows.extend(kept.iter().map(|i| *i as i32));
        values.extend(kept.iter().map(|i| x[*i]));
    }
    (rows, values)
}

#[test]
fn pruned_columns_hold_the_largest_entries() {
    let mut random = Random::new(2);
    for n in [1, 4, 40, 700, 9001] {
        for (k, a) in matrices::<f64>(n, false, &mut random).into_iter().enumerate() {
            let columns = Columns::random(n, &[1, 1, 1, 1, 4, 0, 7, 2, 2, 2, 5], &mut random);
            let counts = [1, 2.min(n), 0, n.min(5), n, 3.min(n), n.min(60), n.min(33), 1, n.min(9), 0];
            let pointers: Vec<i32> = core::iter::once(0)
                .chain(counts.iter().scan(0, |sum, c| {
                    *sum += *c as i32;
                    Some(*sum)
                }))
                .collect();
            for method in [Method::Rpts, Method::Pivoted, Method::SpikeDiagonalPivoting] {
                let factor = Plan::new(a.shape()).method(method).factor(&a).unwrap();
                let expected = largest_of(&factor, &columns, n, &counts);
                for threads in [1, 2, 3] {
                    let factor = Plan::new(a.shape()).method(method).threads(threads).factor(&a).unwrap();
                    let len = *pointers.last().unwrap() as usize;
                    let (mut rows, mut values) = (vec![-7; len], vec![f64::NAN; len]);
                    let x = CscMut::new(n, &pointers, &mut rows, &mut values).unwrap();
                    let report = factor.solve_pruned_into(Op::Plain, &columns.csc(n), x).unwrap();
                    let case = format!("matrix {k}, n = {n}, {method:?}, {threads} threads");
                    assert!(rows == expected.0 && values == expected.1, "{case}");
                    assert_eq!(report.backward_errors.len(), counts.len(), "{case}");
                }
            }
        }
    }
}

/// Singular partitions need a local repair, which changes x in neighbouring rows.
#[test]
fn repaired_rows_are_written() {
    let n = 20_000;
    let mut random = Random::new(3);
    let arrays = [(); 3].map(|()| (0..n).map(|_| random.uniform(-1.0, 1.0)).collect::<Vec<f64>>());
    let a = Tridiagonal::from_vecs(arrays[0].clone(), arrays[1].clone(), arrays[2].clone(), false).unwrap();
    let columns = Columns::random(n, &[3; 400], &mut random);
    let pointers: Vec<i32> = (0..=400).map(|j| 50 * j).collect();
    for simd in [Simd::detect(), Simd::Portable] {
        let factor = Plan::new(a.shape()).method(Method::Rpts).simd(simd).factor(&a).unwrap();
        let (mut rows, mut values) = (vec![0; 50 * 400], vec![0.0; 50 * 400]);
        let x = CscMut::new(n, &pointers, &mut rows, &mut values).unwrap();
        let report = factor.solve_pruned_into(Op::Plain, &columns.csc(n), x).unwrap();
        assert!((rows, values) == largest_of(&factor, &columns, n, &[50; 400]), "{simd:?}");
        assert!(report.backward_error <= 8.0 * f64::EPSILON, "{simd:?}");
    }
}

#[test]
fn blocks_and_bands_take_sparse_columns() {
    let mut random = Random::new(4);
    let (n, block) = (60, 3);
    let blocks =
        [(); 3].map(|()| (0..n / block * block * block).map(|_| random.uniform(-1.0, 1.0)).collect::<Vec<f64>>());
    let a = BlockTridiagonal::from_vecs(block, blocks, false).unwrap();
    let bands: Vec<f64> = (0..6 * n).map(|_| random.uniform(-1.0, 1.0)).collect();
    let b = Banded::new(n, 2, 3, &bands).unwrap();
    let columns = Columns::random(n, &[2; 37], &mut random);
    let check = |factor: &AnyFactor<'_, f64>| {
        let mut x = vec![f64::NAN; 37 * n];
        let report = factor.solve_sparse_into(Op::Plain, &columns.csc(n), &mut x).unwrap();
        let expected = factor.solve(&columns.dense(n)).unwrap();
        let wrong = x.iter().zip(&expected.values).position(|(a, b)| !((a - b).abs() <= 1e-9 * b.abs().max(1.0)));
        assert!(wrong.is_none() && report.backward_error <= 8.0 * f64::EPSILON, "{wrong:?} {report:?}");
    };
    check(&Plan::new(a.shape()).factor(&a).unwrap());
    check(&Plan::new(b.shape()).factor(&b).unwrap());
}

#[test]
fn errors_name_the_problem() {
    let n = 3000;
    // Row 1000 has no off-diagonal entries.
    let build = |alone: f64| {
        let (mut off, mut diag) = (vec![-1.0; n], vec![4.0; n]);
        off[999..=1001].fill(0.0);
        diag[1000] = alone;
        Tridiagonal::from_vecs(off.clone(), diag, off, false).unwrap()
    };
    let mut x = vec![0.0; 2 * n];
    let solve = |a: &Tridiagonal<'_, f64>, rhs: bandsolve::Result<Csc<'_, f64>>, x: &mut [f64]| {
        Plan::new(a.shape()).factor(a)?.solve_sparse_into(Op::Plain, &rhs?, x).map(|_| ())
    };
    let a = build(4.0);
    let one = |rows| Csc::new(rows, &[0, 1], &[1000], &[1.0]);
    let nan = Csc::new(n, &[0, 1, 2], &[5, 7], &[1.0, f64::NAN]);
    assert_eq!(solve(&a, nan, &mut x), Err(Error::NotFinite { array: "values", index: 1 }));
    assert!(matches!(solve(&a, one(n - 1), &mut x[..n]), Err(Error::Shape { .. })));
    assert!(matches!(solve(&a, one(n), &mut x), Err(Error::Shape { .. })));
    assert_eq!(solve(&a, one(n), &mut x[..n]), Ok(()));
    assert_eq!(solve(&a, Csc::new(n, &[0], &[], &[]), &mut []), Ok(()));
    assert_eq!(solve(&build(0.0), one(n), &mut x[..n]), Err(Error::Singular { row: 1000 }));
    let infinite = solve(&build(f64::INFINITY), one(n), &mut x[..n]);
    assert_eq!(infinite, Err(Error::NotFinite { array: "diag", index: 1000 }));
    // A right-hand side that does not reach row 1000 has x = 0 there.
    assert_eq!(solve(&build(0.0), Csc::new(n, &[0, 1], &[5], &[1.0]), &mut x[..n]), Ok(()));
}
