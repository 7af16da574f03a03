//! Eigenvalue counts, compared with the eigenvalues of dense matrices and with known eigenvalues.

use bandsolve::{Banded, BlockTridiagonal, Complex64, Error, RealScalar, Scalar, Tridiagonal};
use bandsolve_eigen::{EigenSolver, HermitianBand, ShiftableMatrix, check_definite, eigenvalues_below};
use bandsolve_gallery::random::Random;
use std::f64::consts::PI;

/// The eigenvalues of a Hermitian matrix, each twice, by the Jacobi method for the real symmetric matrix of its real and imaginary parts.
fn doubled_eigenvalues<M: HermitianBand<Scalar: Scalar<Real = f64>>>(a: &M) -> Vec<f64> {
    let (n, width) = (a.order(), a.half_width());
    let mut dense = vec![vec![0.0; 2 * n]; 2 * n];
    for i in 0..n {
        for j in i.saturating_sub(width)..=i {
            let entry = a.lower_entry(i, j);
            let im = if i == j { 0.0 } else { entry.im() };
            for (p, q, x) in [(i, j, entry.re()), (n + i, n + j, entry.re()), (n + i, j, im), (n + j, i, -im)] {
                dense[p][q] = x;
                dense[q][p] = x;
            }
        }
    }
    jacobi(dense)
}

fn jacobi(mut a: Vec<Vec<f64>>) -> Vec<f64> {
    let n = a.len();
    for _ in 0..12 {
        for p in 0..n {
            for q in p + 1..n {
                let angle = 0.5 * (2.0 * a[p][q]).atan2(a[q][q] - a[p][p]);
                let (s, c) = angle.sin_cos();
                for row in &mut a {
                    (row[p], row[q]) = (c * row[p] - s * row[q], s * row[p] + c * row[q]);
                }
                let (above, below) = a.split_at_mut(q);
                for (x, y) in above[p].iter_mut().zip(&mut below[0]) {
                    (*x, *y) = (c * *x - s * *y, s * *x + c * *y);
                }
            }
        }
    }
    let mut values: Vec<f64> = (0..n).map(|i| a[i][i]).collect();
    values.sort_by(f64::total_cmp);
    values
}

/// Check the counts between all eigenvalues, and beyond them.
fn check<M: HermitianBand<Scalar: Scalar<Real = f64>>>(name: &str, a: &M) {
    let values = doubled_eigenvalues(a);
    let shifts = values.windows(2).map(|pair| 0.5 * (pair[0] + pair[1]));
    for shift in shifts.chain([values[0] - 1.0, values[values.len() - 1] + 1.0]) {
        if values.iter().all(|value| (value - shift).abs() > 1e-9) {
            let expected = values.iter().filter(|value| **value < shift).count() / 2;
            assert_eq!(eigenvalues_below(a, None, shift), Ok(expected), "{name} at {shift}");
        }
    }
}

#[test]
fn counts_are_those_of_dense_eigenvalues() {
    let mut random = Random::new(1);
    for n in [1, 2, 3, 17, 40] {
        let (off, diag) = (random.uniform_vec(n - 1, -1.0, 1.0), random.uniform_vec(n, -1.0, 1.0));
        check("tridiagonal", &Tridiagonal::new(&off, &diag, &off).expect("a matrix"));
        let complex = |re: &[f64], im: f64| re.iter().map(|re| Complex64::new(*re, im)).collect::<Vec<_>>();
        let (sub, sup) = (complex(&off, 0.5), complex(&off, -0.5));
        check("complex", &Tridiagonal::new(&sub, &complex(&diag, 0.0), &sup).expect("a matrix"));
    }
    for (n, width) in [(1, 0), (9, 0), (20, 2), (30, 5), (6, 5)] {
        // The count must read only the lower triangle.
        let bands = random.uniform_vec(n * (2 * width + 1), -1.0, 1.0);
        check("banded", &Banded::new(n, width, width, &bands).expect("a matrix"));
        let bands: Vec<_> = bands.iter().map(|re| Complex64::new(*re, random.uniform(-1.0, 1.0))).collect();
        check("complex banded", &Banded::new(n, width, width, &bands).expect("a matrix"));
    }
    for (rows, block) in [(1, 3), (2, 2), (5, 3), (8, 1)] {
        let mut numbers = || random.uniform_vec(rows * block * block, -1.0, 1.0);
        let arrays = [numbers(), numbers(), numbers()];
        let a = BlockTridiagonal::new(block, &arrays[0], &arrays[1], &arrays[2]).expect("a matrix");
        check("block tridiagonal", &a);
    }
}

/// The matrix −Δ on a square of m × m nodes, minus 4·I. Many eigenvalues are equal, and leading minors at 0 can be zero.
fn laplacian(m: usize) -> BlockTridiagonal<'static, f64> {
    let square = |entry: &dyn Fn(usize, usize) -> f64| -> Vec<f64> {
        let block: Vec<f64> = (0..m * m).map(|k| entry(k / m, k % m)).collect();
        block.repeat(m)
    };
    let identity = square(&|i, j| if i == j { -1.0 } else { 0.0 });
    let diag = square(&|i, j| if i.abs_diff(j) == 1 { -1.0 } else { 0.0 });
    BlockTridiagonal::from_vecs(m, [identity.clone(), diag, identity], false).expect("a matrix")
}

/// Blocks and bands that use fronts. Some are random. Others have singular or zero diagonal blocks, so that columns wait.
#[test]
fn wide_matrices_are_counted_by_fronts() {
    let mut random = Random::new(2);
    for (rows, block) in [(1, 20), (2, 17), (3, 17), (4, 18)] {
        let square = block * block;
        for case in 0..4 {
            let mut arrays = [(); 3].map(|()| random.uniform_vec(rows * square, -1.0, 1.0));
            match case {
                1 => arrays[1].fill(0.0),
                // Diagonal blocks of rank one.
                2 => arrays[1].iter_mut().for_each(|x| *x = 1.0),
                // Tiny diagonal entries, which must not be pivots.
                3 => arrays[1].iter_mut().for_each(|x| *x *= 1e-12),
                _ => (),
            }
            let a = BlockTridiagonal::new(block, &arrays[0], &arrays[1], &arrays[2]).expect("a matrix");
            check("wide blocks", &a);
            let complex =
                arrays.map(|part| part.iter().map(|re| Complex64::new(*re, random.uniform(-1.0, 1.0))).collect());
            let a = BlockTridiagonal::from_vecs(block, complex, false).expect("a matrix");
            check("complex wide blocks", &a);
        }
    }
    for (n, width) in [(60, 17), (40, 39), (71, 20)] {
        let bands = random.uniform_vec(n * (2 * width + 1), -1.0, 1.0);
        check("wide band", &Banded::new(n, width, width, &bands).expect("a matrix"));
    }
}

/// If fronts overflow, elimination by rows counts.
#[test]
fn huge_and_tiny_wide_matrices_are_counted() {
    let (n, width) = (60, 20);
    let bands = Random::new(3).uniform_vec(n * (2 * width + 1), -1.0, 1.0);
    let expected = eigenvalues_below(&Banded::new(n, width, width, &bands).expect("a matrix"), None, 0.0);
    for scale in [2_f64.powi(-1015), 2_f64.powi(1019)] {
        let bands: Vec<f64> = bands.iter().map(|x| x * scale).collect();
        assert_eq!(eigenvalues_below(&Banded::new(n, width, width, &bands).expect("a matrix"), None, 0.0), expected);
    }
}

#[test]
fn multiple_eigenvalues_are_all_counted() {
    // By rows and by fronts.
    for m in [12, 22] {
        count_laplacian(m);
    }
}

fn count_laplacian(m: usize) {
    let a = laplacian(m);
    let cosine = |k: usize| -2.0 * (PI * k as f64 / (m + 1) as f64).cos();
    let values: Vec<f64> =
        (1..=m).flat_map(|k| (1..=m).map(move |l| (k, l))).map(|(k, l)| cosine(k) + cosine(l)).collect();
    for shift in [-4.0, -3.0, -1.0, -1e-3, -1e-9, 1e-9, 1e-3, 0.5, 2.0, 4.0] {
        let expected = values.iter().filter(|value| **value < shift).count();
        assert_eq!(eigenvalues_below(&a, None, shift), Ok(expected), "{shift}");
    }
    // m eigenvalues are at 0, and may count or not.
    let negative = values.iter().filter(|value| **value < -1e-9).count();
    let count = eigenvalues_below(&a, None, 0.0).expect("a count");
    assert!((negative..=negative + m).contains(&count), "{count}");
}

#[test]
fn shifts_on_eigenvalues_of_minors_do_no_harm() {
    let n = 41;
    // At 0, every second leading minor is zero, and 0 is an eigenvalue if n is odd.
    for (size, allowed) in [(n, 20..=21), (n - 1, 20..=20)] {
        let a = Tridiagonal::from_vecs(vec![1.0; size], vec![0.0; size], vec![1.0; size], false).expect("a matrix");
        assert!(allowed.contains(&eigenvalues_below(&a, None, 0.0).expect("a count")));
    }
    let zeros = Tridiagonal::from_vecs(vec![0.0; 5], vec![0.0; 5], vec![0.0; 5], false).expect("a matrix");
    assert_eq!([-1e-300, 1e-300].map(|shift| eigenvalues_below(&zeros, None, shift)), [Ok(0), Ok(5)]);
    assert!(eigenvalues_below(&zeros, None, 0.0).is_ok());
}

#[test]
fn pencils_are_counted() {
    let n = 60;
    let [a, b] = [(-1.0, 2.0), (1.0, 4.0)]
        .map(|(off, diag)| Tridiagonal::from_vecs(vec![off; n], vec![diag; n], vec![off; n], false).expect("a matrix"));
    let value = |k: usize| {
        let cosine = (PI * k as f64 / (n + 1) as f64).cos();
        (1.0 - cosine) / (2.0 + cosine)
    };
    for k in 0..=n {
        let shift = if k == 0 { 0.0 } else { 0.5 * (value(k) + value((k + 1).min(n))) };
        let shift = if k == n { value(n) + 0.1 } else { shift };
        assert_eq!(eigenvalues_below(&a, Some(&b), shift), Ok(k));
    }
}

/// The dense lower triangle of a Hermitian matrix with corners, from products with unit vectors.
fn check_periodic<M: HermitianBand<Scalar = Complex64> + ShiftableMatrix<Scalar = Complex64>>(name: &str, a: &M) {
    let n = a.order();
    let mut dense = vec![vec![0.0; 2 * n]; 2 * n];
    for j in 0..n {
        let (mut unit, mut column) = (vec![Complex64::ZERO; n], vec![Complex64::ZERO; n]);
        unit[j] = Complex64::ONE;
        a.multiply(&unit, &mut column).expect("a product");
        for (i, entry) in column.iter().enumerate() {
            for (p, q, x) in [(i, j, entry.re), (n + i, n + j, entry.re), (n + i, j, entry.im), (i, n + j, -entry.im)] {
                dense[p][q] = x;
            }
        }
    }
    let values = jacobi(dense);
    let shifts = values.windows(2).map(|pair| 0.5 * (pair[0] + pair[1]));
    for shift in shifts.chain([values[0] - 1.0, values[values.len() - 1] + 1.0]) {
        if values.iter().all(|value| (value - shift).abs() > 1e-9) {
            let expected = values.iter().filter(|value| **value < shift).count() / 2;
            assert_eq!(eigenvalues_below(a, None, shift), Ok(expected), "{name}, {n} rows, at {shift}");
        }
    }
}

#[test]
fn periodic_matrices_are_counted() {
    let mut random = Random::new(4);
    let mut numbers = |n: usize| -> Vec<Complex64> {
        (0..n).map(|_| Complex64::new(random.uniform(-1.0, 1.0), random.uniform(-1.0, 1.0))).collect()
    };
    for n in 1..12 {
        // sub[i] couples row i with row i − 1.
        let sub = numbers(n);
        let sup = (0..n).map(|i| sub[(i + 1) % n].conj()).collect();
        let diag = numbers(n).iter().map(|x| Complex64::from(x.re)).collect();
        check_periodic("ring", &Tridiagonal::from_vecs(sub, diag, sup, true).expect("a matrix"));
    }
    for (rows, block) in [(1, 2), (2, 3), (3, 2), (4, 1), (5, 3), (3, 10), (4, 9)] {
        let square = block * block;
        let adjoint = |blocks: &[Complex64], row: usize| -> Vec<Complex64> {
            (0..square).map(|at| blocks[row * square + at / block + at % block * block].conj()).collect()
        };
        let (sub, diag) = (numbers(rows * square), numbers(rows * square));
        let sup = (0..rows).flat_map(|row| adjoint(&sub, (row + 1) % rows)).collect();
        let diag = (0..rows)
            .flat_map(|row| adjoint(&diag, row).into_iter().zip(diag[row * square..].to_vec()).map(|(a, b)| a + b))
            .collect();
        check_periodic(
            "ring of blocks",
            &BlockTridiagonal::from_vecs(block, [sub, diag, sup], true).expect("a matrix"),
        );
    }
}

#[test]
fn bad_input_is_refused() {
    let n = 4;
    let ones = || vec![1.0; n];
    let a = Tridiagonal::from_vecs(ones(), ones(), ones(), false).expect("a matrix");
    assert!(matches!(eigenvalues_below(&a, None, f64::NAN), Err(Error::NotFinite { .. })));
    let bad = Tridiagonal::from_vecs(ones(), vec![f64::NAN; n], ones(), false).expect("a matrix");
    assert!(matches!(eigenvalues_below(&bad, None, 0.0), Err(Error::NotFinite { .. })));
    let small = Tridiagonal::from_vecs(vec![1.0], vec![1.0], vec![1.0], false).expect("a matrix");
    assert!(matches!(eigenvalues_below(&a, Some(&small), 0.0), Err(Error::Shape { .. })));
}

#[test]
fn shifts_beyond_single_precision_are_above_or_below_all() {
    let a = Tridiagonal::from_vecs(vec![-1.0_f32; 9], vec![2.0; 9], vec![-1.0; 9], false).unwrap();
    assert_eq!(eigenvalues_below(&a, None, 1e39), Ok(9));
    assert_eq!(eigenvalues_below(&a, None, -1e39), Ok(0));
    assert_eq!(eigenvalues_below(&a, Some(&a), 1e39), Err(Error::NotFinite { array: "shift", index: 0 }));
    let eigen = bandsolve_eigen::EigenSolver::new(0).hermitian_between(&a, None, (0.0, 1e39));
    assert!(eigen.is_err() || eigen.is_ok_and(|eigen| eigen.values.len() == 9), "the interval holds nine");
}

/// The full Hermitian matrix large·(I − 3·v·vᵀ) with v = (1, …, 1)/√n. Its eigenvalues are −2·large, and n − 1 times large.
fn reflected<T: Scalar>(n: usize, large: f64) -> Banded<'static, T> {
    let (leading, of) = (2 * n - 1, |x: f64| T::from_real(RealScalar::from_f64(x)));
    let mut bands = vec![T::ZERO; n * leading];
    for j in 0..n {
        for i in 0..n {
            let identity = if i == j { large } else { 0.0 };
            bands[j * leading + n - 1 + i - j] = of(identity - 3.0 / n as f64 * large);
        }
    }
    Banded::from_vec(n, n - 1, n - 1, bands).unwrap()
}

/// Differences with the shift, and sums in the elimination, exceed the largest number.
fn check_largest<T: Scalar>(largest: f64) {
    let of = |x: f64| T::from_real(RealScalar::from_f64(x * largest));
    let diagonal = |values: &[f64]| {
        let off = vec![T::ZERO; values.len()];
        Tridiagonal::from_vecs(off.clone(), values.iter().map(|x| of(*x)).collect(), off, false).unwrap()
    };
    let a = diagonal(&[-0.9, 0.03, 0.06]);
    for (shift, expected) in [(-0.95, 0), (-0.5, 1), (0.05, 2), (0.18, 3), (0.9, 3)] {
        assert_eq!(eigenvalues_below(&a, None, shift * largest), Ok(expected), "{shift}");
    }
    let eigen = EigenSolver::new(0).hermitian_between(&a, None, (0.0, 0.18 * largest)).unwrap();
    assert_eq!((eigen.values.len(), eigen.report.complete), (2, Some(true)));
    assert_eq!(check_definite(&diagonal(&[0.9, 0.9, -0.9])), Err(Error::NotDefinite { row: 2 }));
    // Two rows, with the eigenvalues ±0.75·√2.
    let off = vec![of(0.75); 2];
    let two = Tridiagonal::from_vecs(off.clone(), vec![of(0.75), of(-0.75)], off, false).unwrap();
    assert_eq!(eigenvalues_below(&two, None, 0.0), Ok(1));
    assert_eq!(check_definite(&two), Err(Error::NotDefinite { row: 1 }));
    for n in [5, 40, 90] {
        let full = reflected::<T>(n, 0.45 * largest);
        for (shift, expected) in [(-0.95, 0), (-0.7, 1), (0.0, 1), (0.4, 1), (0.5, n), (0.99, n)] {
            assert_eq!(eigenvalues_below(&full, None, shift * largest), Ok(expected), "{n} {shift}");
        }
    }
}

#[test]
fn matrices_near_the_largest_number_are_counted() {
    check_largest::<f32>(f64::from(f32::MAX));
    check_largest::<f64>(f64::MAX);
    check_largest::<Complex64>(f64::MAX);
}
