//! Singular matrices whose elimination is exact, and right-hand sides that hide the singularity.

use bandsolve::{Banded, BlockTridiagonal, RealScalar, Scalar, Tridiagonal};

/// Rows (sub, diag, sup) of a small singular matrix.
pub type SingularRows = &'static [[f64; 3]];

/// The singular blocks: a pair of equal rows; a dependent row above or below the others; a row and a column of zeros; three rows of which one is the sum of
/// the others.
pub const PLANTED: [SingularRows; 7] = [
    &[[0.0, 1.0, 1.0], [1.0, 1.0, 0.0]],
    &[[0.0, 1.0, 1.0], [1.0, 1.0, 0.0], [1.0, 4.0, 0.0]],
    &[[0.0, 4.0, 1.0], [0.0, 1.0, 1.0], [1.0, 1.0, 0.0]],
    &[[0.0, 4.0, 1.0], [0.0, 0.0, 0.0], [1.0, 4.0, 0.0]],
    &[[0.0, 4.0, 0.0], [1.0, 0.0, 1.0], [0.0, 4.0, 0.0]],
    &[[0.0, 1.0, 1.0], [1.0, 2.0, 1.0], [1.0, 1.0, 0.0]],
    &[[0.0, 0.0, 0.0]],
];

/// A tridiagonal matrix with the decoupled block `planted` from row `first` on, and diagonally dominant elsewhere.
pub fn matrix<T: Scalar>(n: usize, first: usize, planted: &[[f64; 3]], coupling: f64) -> Tridiagonal<'static, T> {
    let row = |i: usize| match i.checked_sub(first).and_then(|k| planted.get(k)) {
        Some(row) => *row,
        None => {
            let left = if i == first + planted.len() { 0.0 } else { coupling };
            let right = if i + 1 == first { 0.0 } else { coupling };
            [left, 4.0, right]
        }
    };
    let array = |k: usize| (0..n).map(|i| T::from_real(T::Real::from_f64(row(i)[k]))).collect();
    Tridiagonal::from_vecs(array(0), array(1), array(2), false).unwrap()
}

/// An upper bidiagonal matrix with 1 on the diagonal, and with −3 above it in the first rows. If all entries of the right-hand side are 1, x
/// grows by a factor of 3 per row, to about 1/ε², although no pivot is small. Without `growing`, the diagonal is 4, and x does not grow.
pub fn growth<T: Scalar>(n: usize, growing: bool) -> Tridiagonal<'static, T> {
    let steps = (-2.0 * T::Real::EPSILON.to_f64().ln() / 3.0_f64.ln()) as usize;
    assert!(steps < n);
    let number = |v: f64| T::from_real(T::Real::from_f64(v));
    let sup = (0..n).map(|i| number(if i < steps { -3.0 } else { 0.0 })).collect();
    let diag = number(if growing { 1.0 } else { 4.0 });
    Tridiagonal::from_vecs(vec![T::ZERO; n], vec![diag; n], sup, false).unwrap()
}

/// A right-hand side that is small and incompatible in the planted rows, and large elsewhere. A huge x in the planted rows is then small compared with the
/// other rows.
pub fn rhs<T: Scalar>(n: usize, first: usize, small: f64) -> Vec<T> {
    let value = |i: usize| if (first..first + 3).contains(&i) { small * (1.0 + (i - first) as f64) } else { 100.0 };
    (0..n).map(|i| T::from_real(T::Real::from_f64(value(i)))).collect()
}

/// Entry (i, j) of an open tridiagonal matrix.
fn get<T: Scalar>(a: &Tridiagonal<'_, T>, i: usize, j: usize) -> T {
    let [sub, diag, sup] = a.arrays();
    match i as isize - j as isize {
        1 => sub[i],
        0 => diag[j],
        -1 => sup[i],
        _ => T::ZERO,
    }
}

/// Call `check` for every singular block at all places where partitions begin or end, with a description, the matrix and a right-hand side.
pub fn for_all_planted<T: Scalar>(small: f64, mut check: impl FnMut(&str, &Tridiagonal<'static, T>, &[T])) {
    for n in [5, 130, 1050] {
        for first in [0, 1, 29, 30, 31, 32, 62, 63, n / 2 - 1, n - 3, n - 2, n - 1] {
            let fitting = PLANTED.into_iter().enumerate().filter(|(_, planted)| first + planted.len() <= n);
            for ((k, planted), coupling) in fitting.flat_map(|planted| [(planted, 0.0), (planted, 1.0)]) {
                let what = format!("n = {n}, {k} planted at {first}, coupling {coupling}");
                check(&what, &matrix(n, first, planted, coupling), &rhs(n, first, small));
            }
        }
    }
}

/// Convert an open tridiagonal matrix to a banded matrix with `half` diagonals on each side.
pub fn banded<T: Scalar>(a: &Tridiagonal<'_, T>, half: usize) -> Banded<'static, T> {
    let (n, leading) = (a.n(), 2 * half + 1);
    let mut bands = vec![T::ZERO; n * leading];
    for (j, column) in bands.chunks_exact_mut(leading).enumerate() {
        (j.saturating_sub(1)..(j + 2).min(n)).for_each(|i| column[half + i - j] = get(a, i, j));
    }
    Banded::from_vec(n, half, half, bands).unwrap()
}

/// Convert an open tridiagonal matrix to blocks of `b` rows. The number of rows must be a multiple of `b`.
pub fn blocks<T: Scalar>(a: &Tridiagonal<'_, T>, b: usize) -> BlockTridiagonal<'static, T> {
    let n = a.n();
    let block = |k: usize| {
        let entry = |e: usize| {
            let (row, c, r) = (e / (b * b), e / b % b, e % b);
            let (i, j) = (row * b + r, (row * b + c + k * b).checked_sub(b));
            j.filter(|j| *j < n).map_or(T::ZERO, |j| get(a, i, j))
        };
        (0..n * b).map(entry).collect()
    };
    BlockTridiagonal::from_vecs(b, [block(0), block(1), block(2)], false).unwrap()
}

/// The arrays of a batch of open tridiagonal matrices of the same size.
pub fn batch<T: Scalar>(systems: &[Tridiagonal<'_, T>], interleaved: bool) -> [Vec<T>; 3] {
    let (n, count) = (systems[0].n(), systems.len());
    [-1, 0, 1].map(|column: isize| {
        let at = |k: usize, i: usize| {
            let j = i.checked_add_signed(column).filter(|j| *j < n);
            j.map_or(T::ZERO, |j| get(&systems[k], i, j))
        };
        (0..n * count).map(|e| if interleaved { at(e % count, e / count) } else { at(e / n, e % n) }).collect()
    })
}
