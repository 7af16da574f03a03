//! Multiply the factors in LAPACK's storage, and compare the product with the matrix.

use super::factor::columns;
use super::strips::{self, GbSizes};
use super::*;
use crate::testing::{DenseMatrix, TestRng, eps, largest};
use bandsolve::{Complex32, Complex64};
use bandsolve_kernel::columns::Pieces;

/// A random matrix: its band with room for factors and NaN in unused entries, and the dense matrix.
fn random<T: LapackScalar>(
    rng: &mut TestRng,
    (rows, columns): (usize, usize),
    (lower, upper): (usize, usize),
) -> (GbLayout, Vec<T>, DenseMatrix<T>) {
    let band = GbLayout { rows, columns, lower, upper: lower + upper, leading: 2 * lower + upper + 1 + 3 };
    let mut elements = vec![T::from_real(T::Real::NAN); band.leading * columns];
    let mut dense = DenseMatrix::zero(rows, columns);
    for j in 0..columns {
        for i in j.saturating_sub(upper)..(j + lower + 1).min(rows) {
            let a = rng.scalar();
            elements[band.at(i, j)] = a;
            dense.column(j)[i] = a;
        }
    }
    (band, elements, dense)
}

/// The product P₀ L₀ P₁ L₁ ⋯ U as a dense matrix.
fn product<T: LapackScalar>(band: &GbLayout, elements: &[T], pivot: &[Int]) -> DenseMatrix<T> {
    let mut a = DenseMatrix::zero(band.rows, band.columns);
    for j in 0..band.columns {
        for i in band.rows_of(j).start..(j + 1).min(band.rows) {
            a.column(j)[i] = elements[band.at(i, j)];
        }
    }
    for j in (0..pivot.len()).rev() {
        let l = &elements[band.part(j + 1..band.rows_of(j).end, j)];
        for c in 0..band.columns {
            let column = a.column(c);
            let top = column[j];
            l.iter().enumerate().for_each(|(k, l)| column[j + 1 + k] += *l * top);
            column.swap(j, pivot[j] as usize - 1);
        }
    }
    a
}

const SHAPES: [((usize, usize), (usize, usize)); 9] = [
    ((1, 1), (0, 0)),
    ((40, 40), (0, 3)),
    ((40, 40), (3, 0)),
    ((50, 30), (4, 2)),
    ((30, 50), (2, 5)),
    ((150, 150), (20, 17)),
    ((120, 160), (33, 20)),
    ((160, 120), (20, 70)),
    ((30, 30), (29, 29)),
];

/// Elimination with partial pivoting is backward stable up to the pivot growth, which is below 2⁶ for these matrices.
/// Every entry is a sum of at most `lower` + 1 products.
fn check<T: LapackScalar>(factor: impl Fn(GbLuMut<'_, T>) -> Option<usize>) {
    let mut rng = TestRng(7);
    for (size, width) in SHAPES {
        let (band, mut elements, a) = random::<T>(&mut rng, size, width);
        let mut pivot = vec![0; size.0.min(size.1)];
        assert_eq!(factor(GbLuMut { band, elements: &mut elements, pivot: &mut pivot }), None);
        let distance = product(&band, &elements, &pivot).distance(&a);
        assert!(distance <= 64.0 * (width.0 + 1) as f64 * eps::<T>(), "{size:?} {width:?}: {distance:.1e}");
    }
}

fn layout(block: usize, columns: usize) -> GbSizes {
    GbSizes { block, columns, pieces: Pieces { columns: 5, parallel_from: 0 } }
}

fn in_strips<T: LapackScalar>(mut f: GbLuMut<'_, T>, layout: GbSizes) -> Option<usize> {
    strips::factor(&mut f, layout).expect("there must be enough memory")
}

#[test]
fn columns_make_up_the_matrix() {
    check::<f32>(columns);
    check::<f64>(columns);
    check::<Complex32>(columns);
    check::<Complex64>(columns);
}

/// The bands of `narrow.rs`, at sizes around the least that it serves.
const NARROW: [(usize, usize); 4] = [(1, 1), (1, 2), (2, 1), (2, 2)];

fn narrow_bands<T: LapackScalar>() {
    let mut rng = TestRng(13);
    for (lower, upper) in NARROW {
        for n in [1, 2, 2 * (lower + upper), 2 * (lower + upper) + 1, 63, 200] {
            let (band, mut elements, mut a) = random::<T>(&mut rng, (n, n), (lower, upper));
            let mut pivot = vec![0; n];
            let done = narrow::factor(&mut GbLuMut { band, elements: &mut elements.clone(), pivot: &mut pivot }).0;
            assert_eq!(done, if n > 2 * (lower + upper) { n - (lower + upper) - lower - 2 } else { 0 });
            assert_eq!(columns(GbLuMut { band, elements: &mut elements, pivot: &mut pivot }), None);
            let distance = product(&band, &elements, &pivot).distance(&a);
            assert!(distance <= 64.0 * eps::<T>(), "{n} {lower} {upper}: {distance:.1e}");
            let l = (0..n).flat_map(|j| &elements[band.part(j + 1..band.rows_of(j).end, j)]);
            assert!(
                l.into_iter().all(|l| l.abs().to_f64() <= 1.4143),
                "{n} {lower} {upper}: the pivots are not the largest entries"
            );

            let lu = GbLu { factors: GbMatrix { band, elements: &elements }, pivot: &pivot };
            let rhs = rng.vector::<T>(n);
            let mut x = rhs.clone();
            lu.solve(Op::Plain, &mut x);
            let size = largest(x.iter().map(|x| x.abs().to_f64())).max(1.0);
            let mut r = rhs;
            for j in 0..n {
                r.iter_mut().zip(a.column(j)).for_each(|(r, a)| *r -= *a * x[j]);
            }
            let worst = largest(r.iter().map(|r| r.abs().to_f64()));
            assert!(worst <= 200.0 * eps::<T>() * size, "{n} {lower} {upper}: {worst:.1e}, x up to {size:.1e}");
        }
    }
}

#[test]
fn narrow_bands_in_registers() {
    narrow_bands::<f32>();
    narrow_bands::<f64>();
    narrow_bands::<Complex32>();
    narrow_bands::<Complex64>();
}

#[test]
fn narrow_bands_at_the_ends_of_the_range() {
    for (lower, upper) in NARROW {
        for scale in [f64::MIN_POSITIVE / 8.0, 1e300] {
            let (band, mut elements, _) = random::<f64>(&mut TestRng(17), (50, 50), (lower, upper));
            let mut scaled: Vec<f64> = elements.iter().map(|a| a * scale).collect();
            let (mut pivot, mut same) = (vec![0; 50], vec![0; 50]);
            assert_eq!(columns(GbLuMut { band, elements: &mut elements, pivot: &mut pivot }), None);
            assert_eq!(columns(GbLuMut { band, elements: &mut scaled, pivot: &mut same }), None);
            assert_eq!(pivot, same, "{lower} {upper} {scale:e}");
            // Scaled by U: the multipliers stay, up to the few digits of subnormal numbers.
            let rough = if scale < 1.0 { 1e-9 } else { 1e-13 };
            for j in 0..50 {
                let below = band.part(j + 1..band.rows_of(j).end, j);
                for (a, b) in elements[below.clone()].iter().zip(&scaled[below]) {
                    assert!((a - b).abs() <= rough, "{lower} {upper} {scale:e}: column {j}, {a} {b}");
                }
            }
        }
    }
}

#[test]
fn strips_make_up_the_matrix() {
    for (block, columns) in [(2, 2), (3, 12), (16, 32), (32, 256)] {
        check::<f32>(|f| in_strips(f, layout(block, columns)));
        check::<f64>(|f| in_strips(f, layout(block, columns)));
        check::<Complex32>(|f| in_strips(f, layout(block, columns)));
        check::<Complex64>(|f| in_strips(f, layout(block, columns)));
    }
}

#[test]
fn threads_do_not_change_a_bit() {
    let (band, elements, _) = random::<f64>(&mut TestRng(3), (400, 400), (60, 50));
    let factors = [1, 2, 3, 7].map(|threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let (mut elements, mut pivot) = (elements.clone(), vec![0; 400]);
        let f = GbLuMut { band, elements: &mut elements, pivot: &mut pivot };
        pool.install(|| in_strips(f, layout(16, 64)));
        let bits: Vec<u64> = elements.iter().map(|v| v.to_bits()).collect();
        (bits, pivot)
    });
    assert!(factors.iter().all(|f| *f == factors[0]));
}

#[test]
fn a_zero_column_is_the_first_zero_pivot() {
    for (lower, upper) in NARROW {
        for zero in [0usize, 7, 30, 58, 59] {
            let (band, mut elements, _) = random::<f64>(&mut TestRng(5), (60, 60), (lower, upper));
            elements[band.part(zero.saturating_sub(upper)..(zero + lower + 1).min(60), zero)].fill(0.0);
            let mut pivot = vec![0; 60];
            assert_eq!(columns(GbLuMut { band, elements: &mut elements, pivot: &mut pivot }), Some(zero));
        }
    }
    for zero in [0, 7, 59] {
        let (band, mut elements, _) = random::<f64>(&mut TestRng(5), (60, 60), (5, 4));
        let rows = zero.max(4) - 4..(zero + 6).min(60);
        elements[band.part(rows, zero)].fill(0.0);
        let (mut other, mut pivot) = (elements.clone(), vec![0; 60]);
        assert_eq!(columns(GbLuMut { band, elements: &mut elements, pivot: &mut pivot }), Some(zero));
        assert_eq!(in_strips(GbLuMut { band, elements: &mut other, pivot: &mut pivot }, layout(4, 8)), Some(zero));
    }
}

fn solves<T: LapackScalar>() {
    let mut rng = TestRng(11);
    let n = 90;
    let (band, mut elements, mut a) = random::<T>(&mut rng, (n, n), (6, 9));
    let mut pivot = vec![0; n];
    assert_eq!(columns(GbLuMut { band, elements: &mut elements, pivot: &mut pivot }), None);
    let lu = GbLu { factors: GbMatrix { band, elements: &elements }, pivot: &pivot };
    for (op, n_rhs) in [(Op::Plain, 1), (Op::Transpose, 2), (Op::ConjTranspose, 5), (Op::Plain, 11)] {
        let rhs = rng.vector::<T>(n * n_rhs);
        let mut x = rhs.clone();
        lu.solve_columns(op, &mut RawColumns::over(&mut x, n, n_rhs, n));
        for (x, b) in x.chunks(n).zip(rhs.chunks(n)) {
            let mut r = b.to_vec();
            for j in 0..n {
                for (i, a) in a.column(j).iter().enumerate() {
                    match op {
                        Op::Plain => r[i] -= *a * x[j],
                        Op::Transpose => r[j] -= *a * x[i],
                        Op::ConjTranspose => r[j] -= Scalar::conj(*a) * x[i],
                    }
                }
            }
            let size = largest(x.iter().map(|x| x.abs().to_f64())).max(1.0);
            let worst = largest(r.iter().map(|r| r.abs().to_f64()));
            // A row has 16 entries of modulus up to √2, and pivots grow by less than 2⁴.
            assert!(worst <= 16.0 * 16.0 * 2.0 * eps::<T>() * size, "{op:?}: {worst:.1e}, x up to {size:.1e}");
        }
    }
}

#[test]
fn systems_are_solved() {
    solves::<f32>();
    solves::<f64>();
    solves::<Complex32>();
    solves::<Complex64>();
}

#[test]
fn scales_bring_rows_and_columns_to_one() {
    let mut rng = TestRng(2);
    let (n, width) = (20, (2, 3));
    let band = GbLayout { rows: n, columns: n, lower: width.0, upper: width.1, leading: 6 };
    let mut elements: Vec<f64> = (0..6 * n).map(|k| rng.real() * 10f64.powi(k as i32 % 40 - 20)).collect();
    let (mut r, mut c) = (vec![0.0; n], vec![0.0; n]);
    let (computed, zero) = scales(&GbMatrix { band, elements: &elements }, &mut r, &mut c);
    assert_eq!(zero, None);
    assert!(computed.rows < 0.1);
    let mut largest = vec![0.0f64; n];
    GbMatrix { band, elements: &elements }.visit(|i, j, a| largest[j] = largest[j].max((r[i] * a * c[j]).abs()));
    assert!(largest.iter().all(|l| (l - 1.0).abs() < 1e-15));
    (3..9).for_each(|j| elements[band.at(5, j.clamp(3, 8))] = 0.0);
    assert_eq!(scales(&GbMatrix { band, elements: &elements }, &mut r, &mut c).1, Some(5));
}
