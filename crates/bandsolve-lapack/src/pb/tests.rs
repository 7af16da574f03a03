//! Multiply the factors in LAPACK's storage, and compare the product with the matrix.

use super::factor::{PbSizes, factor_by, factor_narrow, in_place};
use super::*;
use crate::testing::{DenseMatrix, TestRng, eps};
use bandsolve::{Complex32, Complex64};

/// A random positive definite matrix B·Bᴴ with B lower triangular, and NaN in unused entries.
fn random<T: LapackScalar>(
    rng: &mut TestRng,
    n: usize,
    width: usize,
    side: TriangleSide,
) -> (Triangle, Vec<T>, DenseMatrix<T>) {
    let shape = Triangle { n, width, leading: width + 3, side };
    let mut b = DenseMatrix::<T>::zero(n, n);
    for j in 0..n {
        for i in j..(j + width + 1).min(n) {
            // The entries are so small that B, and therefore A, is well-conditioned.
            b.column(j)[i] = rng.scalar::<T>().scale(T::Real::from_f64(1.0 / (width + 1) as f64));
        }
        b.column(j)[j] = T::from_real(T::Real::from_f64(2.0 + rng.real()));
    }
    let a = squared(&b, n);
    let mut elements = vec![T::from_real(T::Real::NAN); shape.leading * n];
    for j in 0..n {
        let rows = shape.rows_of(j);
        elements[shape.part(j)].copy_from_slice(&a.elements[j * n..][rows]);
    }
    (shape, elements, a)
}

/// The product B·Bᴴ.
fn squared<T: LapackScalar>(b: &DenseMatrix<T>, n: usize) -> DenseMatrix<T> {
    let mut a = DenseMatrix::zero(n, n);
    for k in 0..n {
        let column = &b.elements[k * n..][..n];
        for j in (k..n).filter(|j| column[*j] != T::ZERO) {
            let factor = Scalar::conj(column[j]);
            a.column(j).iter_mut().zip(column).for_each(|(a, b)| *a += *b * factor);
        }
    }
    a
}

/// L, from either stored triangle.
fn lower<T: LapackScalar>(shape: Triangle, elements: &[T]) -> DenseMatrix<T> {
    let mut l = DenseMatrix::zero(shape.n, shape.n);
    for j in 0..shape.n {
        for (i, v) in shape.rows_of(j).zip(&elements[shape.part(j)]) {
            match shape.side {
                TriangleSide::Lower => l.column(j)[i] = *v,
                TriangleSide::Upper => l.column(i)[j] = Scalar::conj(*v),
            }
        }
    }
    l
}

fn check<T: LapackScalar>(layout: PbSizes) {
    check_by::<T>(&format!("{layout:?}"), |shape, elements| factor_by(layout, shape, elements));
}

fn check_by<T: LapackScalar>(name: &str, factor: impl Fn(Triangle, &mut [T]) -> Option<usize>) {
    let mut rng = TestRng(7);
    for (n, width) in [(1, 0), (2, 5), (40, 0), (40, 1), (60, 7), (150, 30), (70, 69), (200, 99)] {
        for side in [TriangleSide::Lower, TriangleSide::Upper] {
            let (shape, mut elements, a) = random::<T>(&mut rng, n, width, side);
            assert_eq!(factor(shape, &mut elements), None);
            let distance = squared(&lower(shape, &elements), n).distance(&a);
            let largest = a.elements.iter().map(|a| a.abs().to_f64()).fold(0.0, f64::max);
            // Cholesky has no growth. An entry is a sum of at most `width` + 1 products, each rounded twice.
            let limit = 4.0 * (width + 2) as f64 * eps::<T>() * largest;
            assert!(distance <= limit, "{n} {width} {side:?} {name}: {distance:.1e} > {limit:.1e}");
        }
    }
}

#[test]
fn narrow_bands_in_registers() {
    fn of_type<T: LapackScalar>() {
        let mut rng = TestRng(9);
        for (n, width) in (1..=narrow::NARROW).flat_map(|width| [2 * width + 1, 2 * width + 2, 60].map(|n| (n, width)))
        {
            for side in [TriangleSide::Lower, TriangleSide::Upper] {
                let (shape, mut elements, a) = random::<T>(&mut rng, n, width, side);
                assert!(narrow::serves(&shape));
                let mut expected = elements.clone();
                assert_eq!(in_place(shape, &mut expected), None);
                assert_eq!(factor_narrow(shape, &mut elements), None);
                let l = lower(shape, &elements);
                let largest = a.elements.iter().map(|a| a.abs().to_f64()).fold(0.0, f64::max);
                let limit = 4.0 * (width + 2) as f64 * eps::<T>() * largest;
                assert!(squared(&l, n).distance(&a) <= limit, "{n} {width} {side:?}");
                // What is not in the band stays NaN.
                let same = |(x, y): (&T, &T)| x.re().is_nan() == y.re().is_nan();
                assert!(elements.iter().zip(&expected).all(same), "{n} {width} {side:?}");
                // A solution, by its residual: |b - A·x| <= c·eps·|A|·|x| for Cholesky.
                let b = rng.vector::<T>(n);
                let mut x = b.clone();
                Hermitian { shape, elements: &elements }.solve(Op::Plain, &mut x);
                for i in 0..n {
                    let row = (0..n).map(|j| a.elements[i + j * n]);
                    let (residual, size) = row.zip(&x).fold((b[i], 0.0), |(r, size), (a, x)| {
                        (r - a * *x, size + a.abs().to_f64() * x.abs().to_f64())
                    });
                    let limit = 16.0 * (width + 3) as f64 * eps::<T>() * (size + 1.0);
                    assert!(residual.abs().to_f64() <= limit, "{n} {width} {side:?}, row {i}");
                }
                // Each column whose pivot is not positive is found.
                for bad in [0, n / 2, n - width - 1, n - width, n - 1] {
                    let (shape, mut elements, _) = random::<T>(&mut rng, n, width, side);
                    let part = shape.part(bad);
                    let at = if side == TriangleSide::Lower { part.start } else { part.end - 1 };
                    elements[at] = T::from_real(-T::Real::ONE);
                    assert_eq!(factor_narrow(shape, &mut elements), Some(bad), "{n} {width} {side:?}");
                }
            }
        }
    }
    of_type::<f32>();
    of_type::<f64>();
    of_type::<Complex32>();
    of_type::<Complex64>();
}

#[test]
fn factors_make_up_the_matrix() {
    for (block, columns) in [(1, 1), (1, 7), (2, 4), (5, 15), (16, 64), (32, 256)] {
        let layout = PbSizes { block, columns, parallel_from: 0 };
        check::<f32>(layout);
        check::<f64>(layout);
        check::<Complex32>(layout);
        check::<Complex64>(layout);
    }
    check_by::<f32>("in place", in_place);
    check_by::<f64>("in place", in_place);
    check_by::<Complex32>("in place", in_place);
    check_by::<Complex64>("in place", in_place);
}

#[test]
fn threads_do_not_change_a_bit() {
    let (shape, elements, _) = random::<f64>(&mut TestRng(3), 300, 60, TriangleSide::Upper);
    let factors = [1, 2, 3, 7].map(|threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let mut elements = elements.clone();
        pool.install(|| factor_by(PbSizes { block: 16, columns: 64, parallel_from: 0 }, shape, &mut elements));
        elements.iter().map(|v| v.to_bits()).collect::<Vec<_>>()
    });
    assert!(factors.iter().all(|f| *f == factors[0]));
}

#[test]
fn the_first_minor_that_is_not_positive_is_reported() {
    for (bad, block) in [(0, 1), (17, 1), (17, 4), (39, 16)] {
        let (shape, mut elements, _) = random::<f64>(&mut TestRng(9), 40, 6, TriangleSide::Lower);
        elements[shape.below(bad, bad)] = -1.0;
        let layout = PbSizes { block, columns: 16, parallel_from: usize::MAX };
        let mut copy = elements.clone();
        assert_eq!(factor_by(layout, shape, &mut elements), Some(bad));
        assert_eq!(in_place(shape, &mut copy), Some(bad));
    }
}

#[test]
fn systems_are_solved() {
    for side in [TriangleSide::Lower, TriangleSide::Upper] {
        let (n, mut rng) = (80, TestRng(6));
        let (shape, mut elements, a) = random::<Complex64>(&mut rng, n, 9, side);
        let expected = rng.vector::<Complex64>(n);
        let mut x = vec![Complex64::ZERO; n];
        for j in 0..n {
            x.iter_mut().zip(&a.elements[j * n..]).for_each(|(x, a)| *x += *a * expected[j]);
        }
        let rhs = x.clone();
        assert_eq!(factor(shape, &mut elements), None);
        Hermitian { shape, elements: &elements }.solve(Op::Plain, &mut x);
        let mut r = rhs.clone();
        for j in 0..n {
            r.iter_mut().zip(&a.elements[j * n..]).for_each(|(r, a)| *r -= *a * x[j]);
        }
        let size = x.iter().map(|x| x.norm()).fold(0.0, f64::max);
        let largest = a.elements.iter().map(|a| a.norm()).fold(0.0, f64::max);
        let worst = r.iter().map(|r| r.norm()).fold(0.0, f64::max);
        // There are 19 entries per row. The bound of a Cholesky solve is 4·(entries) roundings of each.
        assert!(worst <= 4.0 * 19.0 * 19.0 * f64::EPSILON * largest * size, "{worst:.1e}");
    }
}
