//! Reference values: backward errors, solutions and condition numbers in double-double arithmetic.
//!
//! The functions first scale every row by a power of two. Nothing then overflows, and no relevant number underflows, however large or small the entries
//! are. The time is proportional to n, except for [`condition_1`], [`condition_rows`] and [`dense_solve`].

use crate::wide::{Double, DoubleComplex, NO_EXPONENT, Wide, exponent, power_of_two, shift};
use bandsolve::{Banded, BlockTridiagonal, Complex64, RealScalar, Scalar, Tridiagonal};
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Mutex, PoisonError};

/// A square matrix that the functions of this module read row by row.
pub trait MatrixRows<T: Scalar> {
    /// Number of unknowns.
    fn n(&self) -> usize;
    /// Numbers of diagonals below and above the main one.
    fn bandwidths(&self) -> (usize, usize);
    /// Whether the first and the last unknown are neighbors.
    fn is_periodic(&self) -> bool {
        false
    }
    /// Replace `entries` by the (column, value) pairs of row `i`. The values of a column that occurs twice add up, as in periodic matrices with one or
    /// two unknowns.
    fn entries(&self, i: usize, entries: &mut Vec<(usize, T)>);
}

impl<T: Scalar> MatrixRows<T> for Tridiagonal<'_, T> {
    fn n(&self) -> usize {
        Tridiagonal::n(self)
    }

    fn bandwidths(&self) -> (usize, usize) {
        (1, 1)
    }

    fn is_periodic(&self) -> bool {
        Tridiagonal::is_periodic(self)
    }

    fn entries(&self, i: usize, entries: &mut Vec<(usize, T)>) {
        let (n, periodic) = (Tridiagonal::n(self), Tridiagonal::is_periodic(self));
        let (sub, diag, sup) = self.row(i);
        entries.clear();
        if i > 0 || periodic {
            entries.push(((i + n - 1) % n, sub));
        }
        entries.push((i, diag));
        if i + 1 < n || periodic {
            entries.push(((i + 1) % n, sup));
        }
    }
}

impl<T: Scalar> MatrixRows<T> for Banded<'_, T> {
    fn n(&self) -> usize {
        Banded::n(self)
    }

    fn bandwidths(&self) -> (usize, usize) {
        (self.lower(), self.upper())
    }

    fn entries(&self, i: usize, entries: &mut Vec<(usize, T)>) {
        entries.clear();
        let columns = i.saturating_sub(self.lower())..(i + self.upper() + 1).min(Banded::n(self));
        entries.extend(columns.map(|j| (j, self.get(i, j))));
    }
}

impl<T: Scalar> MatrixRows<T> for BlockTridiagonal<'_, T> {
    fn n(&self) -> usize {
        BlockTridiagonal::n(self)
    }

    /// Corner blocks reach across the whole matrix.
    fn bandwidths(&self) -> (usize, usize) {
        let most = BlockTridiagonal::n(self).saturating_sub(1);
        let width = if BlockTridiagonal::is_periodic(self) { most } else { most.min(2 * self.block() - 1) };
        (width, width)
    }

    fn entries(&self, i: usize, entries: &mut Vec<(usize, T)>) {
        let (block, rows, periodic) = (self.block(), self.block_rows(), BlockTridiagonal::is_periodic(self));
        let (row, k) = (i / block, i % block);
        let [sub, diag, sup] = self.arrays();
        entries.clear();
        let mut push = |column: usize, blocks: &[T], at: usize| {
            entries.extend((0..block).map(|j| (column * block + j, blocks[(at * block + j) * block + k])));
        };
        if row > 0 || periodic {
            // An open matrix may lack the unused first block.
            push((row + rows - 1) % rows, sub, if sub.len() < diag.len() { row - 1 } else { row });
        }
        push(row, diag, row);
        if row + 1 < rows || periodic {
            push((row + 1) % rows, sup, row);
        }
    }
}

/// The transpose Aᵀ, or Aᴴ if `conj`.
pub fn transpose<T: Scalar>(a: &Tridiagonal<'_, T>, conj: bool) -> Tridiagonal<'static, T> {
    let n = a.n();
    let turn = |v: T| if conj { Scalar::conj(v) } else { v };
    // Entry (i, i−1) of the transposed matrix is entry (i−1, i) of A, around the corner too.
    let sub = (0..n).map(|i| turn(a.row((i + n - 1) % n).2)).collect();
    let diag = (0..n).map(|i| turn(a.row(i).1)).collect();
    let sup = (0..n).map(|i| turn(a.row((i + 1) % n).0)).collect();
    Tridiagonal::from_vecs(sub, diag, sup, a.is_periodic()).expect("three arrays of length n are a tridiagonal matrix")
}

/// The transpose Aᵀ, or Aᴴ if `conj`.
pub fn transpose_banded<T: Scalar>(a: &Banded<'_, T>, conj: bool) -> Banded<'static, T> {
    let (n, lower, upper) = (a.n(), a.upper(), a.lower());
    let leading = lower + upper + 1;
    let mut bands = vec![T::ZERO; n * leading];
    for j in 0..n {
        for i in j.saturating_sub(upper)..(j + lower + 1).min(n) {
            let v = a.get(j, i);
            bands[upper + i - j + j * leading] = if conj { Scalar::conj(v) } else { v };
        }
    }
    Banded::from_vec(n, lower, upper, bands).expect("n columns of lower + upper + 1 entries are a banded matrix")
}

/// Compute the row-wise backward error of x.
///
/// ```text
/// η = maxᵢ |dᵢ − (A·x)ᵢ| / ((Σⱼ |aᵢⱼ|)·‖x‖∞ + |dᵢ|),   where 0/0 = 0
/// ```
///
/// The residual is computed in double-double. In the formula, ‖x‖∞ is at least the smallest normal number of the type, since smaller numbers have fewer
/// digits. The result is NaN if an input is not finite.
///
/// # Panics
/// If `rhs` or `x` does not have n elements.
pub fn backward_error<T: Scalar>(a: &impl MatrixRows<T>, rhs: &[T], x: &[T]) -> f64 {
    assert_eq!((a.n(), a.n()), (rhs.len(), x.len()), "one right-hand side");
    if T::COMPLEX { row_wise_error::<T, DoubleComplex>(a, rhs, x) } else { row_wise_error::<T, Double>(a, rhs, x) }
}

/// Compute Chang's backward residual ‖A·x − d‖₂ / ‖d‖₂, with the residual in double-double.
///
/// The result is infinite if it exceeds the range of `f64`, and NaN if an input is not finite.
///
/// # Panics
/// If `rhs` or `x` does not have n elements.
pub fn backward_residual<T: Scalar>(a: &impl MatrixRows<T>, rhs: &[T], x: &[T]) -> f64 {
    assert_eq!((a.n(), a.n()), (rhs.len(), x.len()), "one right-hand side");
    if T::COMPLEX { residual_norm::<T, DoubleComplex>(a, rhs, x) } else { residual_norm::<T, Double>(a, rhs, x) }
}

/// Compute the product A·x. Each entry is rounded once to the scalar type.
///
/// # Panics
/// If `x` does not have n elements.
pub fn product<T: Scalar>(a: &impl MatrixRows<T>, x: &[T]) -> Vec<T> {
    assert_eq!(a.n(), x.len());
    if T::COMPLEX { multiply::<T, DoubleComplex>(a, x) } else { multiply::<T, Double>(a, x) }
}

/// Solve A·x = rhs by elimination with scaled partial pivoting in double-double.
///
/// The forward error, relative to ‖x‖∞, is about 1e-30 times the condition number. Up to a condition number of 1e14, every bit of an `f64` is correct. At
/// 1e28, a few digits are correct. Returns `None` if elimination finds no pivot, or if x is not finite.
///
/// The function solves a periodic tridiagonal system in the order 0, n−1, 1, n−2, … of the unknowns, in which the matrix has two diagonals on each side.
///
/// # Panics
/// If `rhs` does not have n elements.
pub fn solve_reference<T: Scalar>(a: &impl MatrixRows<T>, rhs: &[T]) -> Option<Vec<T>> {
    assert_eq!(a.n(), rhs.len(), "one right-hand side");
    if T::COMPLEX { solve_wide::<T, DoubleComplex>(a, rhs) } else { solve_wide::<T, Double>(a, rhs) }
}

/// Compute the condition number ‖A‖₁·‖A⁻¹‖₁ from all n columns of the inverse.
///
/// The result is infinite if A is singular, or if the inverse exceeds the range of `f64`. A result above about 1e30 has no correct digit.
///
/// # Cost
/// Proportional to n², practical up to n = 2000.
pub fn condition_1<T: Scalar>(a: &impl MatrixRows<T>) -> f64 {
    if T::COMPLEX { conditions::<T, DoubleComplex>(a).0 } else { conditions::<T, Double>(a).0 }
}

/// Compute the condition number for the row-wise backward error: ‖A⁻¹·D‖∞, where D is the diagonal matrix of the row sums Σⱼ|aᵢⱼ|.
///
/// It does not depend on the scaling of the rows. With the backward error η, it bounds the forward error:
///
/// ```text
/// ‖x − xₜ‖∞ ≤ η·‖A⁻¹·D‖∞·(‖x‖∞ + ‖xₜ‖∞)
/// ```
///
/// The proof uses x − xₜ = −A⁻¹·r with |rᵢ| ≤ η·(Dᵢᵢ·‖x‖∞ + |dᵢ|) and |dᵢ| ≤ Dᵢᵢ·‖xₜ‖∞. The result is infinite if A is singular, or if the inverse
/// exceeds the range of `f64`.
///
/// # Cost
/// Proportional to n², once per process and matrix: the result is cached.
pub fn condition_rows<T: Scalar>(a: &impl MatrixRows<T>) -> f64 {
    static KNOWN: Mutex<Option<HashMap<u64, f64>>> = Mutex::new(None);
    let known = || KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let matrix = fingerprint(a);
    if let Some(condition) = known().as_ref().and_then(|known| known.get(&matrix)) {
        return *condition;
    }
    let condition = if T::COMPLEX { conditions::<T, DoubleComplex>(a).1 } else { conditions::<T, Double>(a).1 };
    known().get_or_insert_default().insert(matrix, condition);
    condition
}

/// A hash of a matrix. Two different matrices have the same hash with probability 2⁻⁶⁴.
fn fingerprint<T: Scalar>(a: &impl MatrixRows<T>) -> u64 {
    let (mut hasher, mut entries) = (DefaultHasher::new(), Vec::new());
    (T::NAME, a.n()).hash(&mut hasher);
    for i in 0..a.n() {
        a.entries(i, &mut entries);
        for (column, v) in &entries {
            (i, column, v.re().to_f64().to_bits(), v.im().to_f64().to_bits()).hash(&mut hasher);
        }
    }
    hasher.finish()
}

/// Compute the forward error ‖x − xₜ‖₂ / ‖xₜ‖₂ without overflow. NaN if an input is not finite.
///
/// # Panics
/// If the lengths differ.
pub fn forward_error<T: Scalar>(x: &[T], x_true: &[T]) -> f64 {
    difference(x, x_true, |parts| parts.iter().map(|v| v * v).sum::<f64>().sqrt())
}

/// Compute the forward error ‖x − xₜ‖∞ / ‖xₜ‖∞ without overflow. NaN if an input is not finite.
///
/// # Panics
/// If the lengths differ.
pub fn forward_error_max<T: Scalar>(x: &[T], x_true: &[T]) -> f64 {
    difference(x, x_true, |parts| parts.iter().fold(0.0, |m: f64, v| m.max(*v)))
}

fn difference<T: Scalar>(x: &[T], x_true: &[T], norm: fn(&[f64]) -> f64) -> f64 {
    assert_eq!(x.len(), x_true.len());
    if x.iter().chain(x_true).any(|v| !Scalar::is_finite(*v)) {
        return f64::NAN;
    }
    // Scale by the largest entry, so that nothing overflows.
    let e = -x.iter().chain(x_true).map(|v| largest_exponent(*v)).max().unwrap_or(0);
    let distance: Vec<f64> = x
        .iter()
        .zip(x_true)
        .map(|(a, b)| {
            let ((ar, ai), (br, bi)) = (shifted(*a, e), shifted(*b, e));
            libm::hypot(ar - br, ai - bi)
        })
        .collect();
    let size: Vec<f64> = x_true.iter().map(|v| shifted(*v, e)).map(|(re, im)| libm::hypot(re, im)).collect();
    let distance = norm(&distance);
    if distance == 0.0 { 0.0 } else { distance / norm(&size) }
}

/// Solve A·x = rhs as a dense system by LU with partial pivoting in complex `f64`, after scaling the rows by powers of two.
///
/// This is the simplest reference solution, for small n. Returns `None` if elimination finds no pivot.
pub fn dense_solve<T: Scalar>(a: &impl MatrixRows<T>, rhs: &[T]) -> Option<Vec<T>> {
    let n = a.n();
    let mut lu = vec![vec![Complex64::default(); n + 1]; n];
    let mut entries = Vec::new();
    for (i, row) in lu.iter_mut().enumerate() {
        a.entries(i, &mut entries);
        let e = -row_exponent(&entries);
        for (j, v) in &entries {
            let (re, im) = shifted(*v, e);
            row[*j] += Complex64::new(re, im);
        }
        let (re, im) = shifted(rhs[i], e);
        row[n] = Complex64::new(re, im);
    }
    for k in 0..n {
        let pivot = (k..n).max_by(|p, q| lu[*p][k].norm().total_cmp(&lu[*q][k].norm()))?;
        lu.swap(k, pivot);
        if lu[k][k].norm() == 0.0 {
            return None;
        }
        let (done, rest) = lu.split_at_mut(k + 1);
        for row in rest {
            let factor = row[k] / done[k][k];
            row.iter_mut().zip(&done[k]).skip(k).for_each(|(r, p)| *r -= factor * p);
        }
    }
    let mut x = vec![Complex64::default(); n];
    for i in (0..n).rev() {
        let known: Complex64 = (i + 1..n).map(|j| lu[i][j] * x[j]).sum();
        x[i] = (lu[i][n] - known) / lu[i][i];
    }
    Some(x.iter().map(|v| round::<T>(v.re, v.im)).collect())
}

/// An `f64` pair rounded to the scalar type.
pub fn round<T: Scalar>(re: f64, im: f64) -> T {
    T::from_parts(T::Real::from_f64(re), T::Real::from_f64(im))
}

/// Real and imaginary part times 2ᵉ.
pub fn shifted<T: Scalar>(v: T, e: i32) -> (f64, f64) {
    (shift(v.re().to_f64(), e), shift(v.im().to_f64(), e))
}

/// Exponent of the larger of real and imaginary part.
pub fn largest_exponent<T: Scalar>(v: T) -> i32 {
    exponent(v.re().to_f64()).max(exponent(v.im().to_f64()))
}

/// Exponent of the largest entry of a row; 0 for a zero row.
fn row_exponent<T: Scalar>(entries: &[(usize, T)]) -> i32 {
    match entries.iter().map(|(_, v)| largest_exponent(*v)).max() {
        None | Some(NO_EXPONENT) => 0,
        Some(e) => e,
    }
}

/// Row `i` times 2⁻ᵉ, where e is its largest exponent, with equal columns added up. Returns e.
pub fn scaled_row<T: Scalar, W: Wide>(
    a: &impl MatrixRows<T>,
    i: usize,
    entries: &mut Vec<(usize, T)>,
    row: &mut Vec<(usize, W)>,
) -> i32 {
    a.entries(i, entries);
    let e = row_exponent(entries);
    // Ascending columns have no duplicates.
    let once = entries.is_sorted_by(|(a, _), (b, _)| a < b);
    row.clear();
    for (j, v) in entries.iter() {
        let (re, im) = shifted(*v, -e);
        let v = W::from_parts(re, im);
        match row.iter_mut().find(|(k, _)| !once && k == j) {
            Some((_, sum)) => *sum = *sum + v,
            None => row.push((*j, v)),
        }
    }
    e
}

/// x in units of 2ᵉ, so that its largest entry, or the smallest normal number, is near 1.
fn scaled_vector<T: Scalar, W: Wide>(x: &[T]) -> (Vec<W>, i32) {
    let e = x.iter().map(|v| largest_exponent(*v)).fold(exponent(T::Real::MIN_POSITIVE.to_f64()), i32::max);
    let scaled = x.iter().map(|v| shifted(*v, -e)).map(|(re, im)| W::from_parts(re, im)).collect();
    (scaled, e)
}

fn row_wise_error<T: Scalar, W: Wide>(a: &impl MatrixRows<T>, rhs: &[T], x: &[T]) -> f64 {
    if x.iter().chain(rhs).any(|v| !Scalar::is_finite(*v)) {
        return f64::NAN;
    }
    let (x, e_x) = scaled_vector::<T, W>(x);
    let least = power_of_two(exponent(T::Real::MIN_POSITIVE.to_f64()) - e_x);
    let x_norm = x.iter().fold(least, |m: f64, v| m.max(v.abs()));
    let (mut entries, mut row) = (Vec::new(), Vec::new());
    let mut eta: f64 = 0.0;
    for (i, d) in rhs.iter().enumerate() {
        let e = scaled_row::<T, W>(a, i, &mut entries, &mut row) + e_x;
        // Both sides of the row in units of the larger one.
        let unit = e.max(largest_exponent(*d));
        let (re, im) = shifted(*d, -unit);
        let d = W::from_parts(re, im);
        let ax = row.iter().fold(W::ZERO, |sum, (j, v)| sum + *v * x[*j]).scale(power_of_two(e - unit));
        let row_sum: f64 = row.iter().map(|(_, v)| v.abs()).sum();
        let size = row_sum * x_norm * power_of_two(e - unit) + d.abs();
        let residual = (d - ax).abs();
        if residual.is_nan() || size.is_nan() {
            return f64::NAN;
        }
        if size > 0.0 {
            eta = eta.max(residual / size);
        }
    }
    eta
}

fn residual_norm<T: Scalar, W: Wide>(a: &impl MatrixRows<T>, rhs: &[T], x: &[T]) -> f64 {
    if x.iter().chain(rhs).any(|v| !Scalar::is_finite(*v)) {
        return f64::NAN;
    }
    let (x, e_x) = scaled_vector::<T, W>(x);
    let (mut entries, mut row) = (Vec::new(), Vec::new());
    // Each residual in units 2^unit of its own row.
    let residuals: Vec<(f64, i32)> = (0..rhs.len())
        .map(|i| {
            let e = scaled_row::<T, W>(a, i, &mut entries, &mut row) + e_x;
            let unit = e.max(largest_exponent(rhs[i]));
            let (re, im) = shifted(rhs[i], -unit);
            let ax = row.iter().fold(W::ZERO, |sum, (j, v)| sum + *v * x[*j]).scale(power_of_two(e - unit));
            ((W::from_parts(re, im) - ax).abs(), unit)
        })
        .collect();
    let sizes: Vec<(f64, i32)> = rhs.iter().map(|d| (Scalar::abs(*d).to_f64(), 0)).collect();
    let ((numerator, e), (denominator, f)) = (norm_2(&residuals), norm_2(&sizes));
    if numerator == 0.0 { 0.0 } else { shift(numerator / denominator, e - f) }
}

/// The 2-norm of numbers r·2ᵉ, as a number near 1 and an exponent.
fn norm_2(values: &[(f64, i32)]) -> (f64, i32) {
    let unit = values.iter().filter(|(r, _)| *r != 0.0).map(|(r, e)| exponent(*r) + e).max().unwrap_or(0);
    let square = |(r, e): &(f64, i32)| {
        let v = shift(*r, e - unit);
        v * v
    };
    (values.iter().map(square).sum::<f64>().sqrt(), unit)
}

fn multiply<T: Scalar, W: Wide>(a: &impl MatrixRows<T>, x: &[T]) -> Vec<T> {
    let (x, e_x) = scaled_vector::<T, W>(x);
    let (mut entries, mut row) = (Vec::new(), Vec::new());
    let entry = |i| {
        let e = scaled_row::<T, W>(a, i, &mut entries, &mut row) + e_x;
        let (re, im) = row.iter().fold(W::ZERO, |sum, (j, v)| sum + *v * x[*j]).parts();
        round(shift(re, e), shift(im, e))
    };
    (0..x.len()).map(entry).collect()
}

fn solve_wide<T: Scalar, W: Wide>(a: &impl MatrixRows<T>, rhs: &[T]) -> Option<Vec<T>> {
    let lu = WideBandLu::<W>::new(a)?;
    // Row i of the scaled system has the right-hand side d_i·2^(−e_i); all of them in units of the largest.
    let unit = rhs.iter().zip(&lu.exponents).map(|(d, e)| largest_exponent(*d) - e).max().unwrap_or(0);
    let scaled = rhs.iter().zip(&lu.exponents).map(|(d, e)| shifted(*d, -e - unit)).collect::<Vec<_>>();
    let mut x: Vec<W> = scaled.into_iter().map(|(re, im)| W::from_parts(re, im)).collect();
    lu.solve(&mut x);
    let x: Vec<T> = x.iter().map(|v| v.parts()).map(|(re, im)| round(shift(re, unit), shift(im, unit))).collect();
    x.iter().all(|v| Scalar::is_finite(*v)).then_some(x)
}

/// ‖A‖₁·‖A⁻¹‖₁ and ‖A⁻¹·D‖∞.
fn conditions<T: Scalar, W: Wide>(a: &impl MatrixRows<T>) -> (f64, f64) {
    let n = a.n();
    let Some(lu) = WideBandLu::<W>::new(a) else { return (f64::INFINITY, f64::INFINITY) };
    let unit = lu.exponents.iter().copied().max().unwrap_or(0);
    let (mut entries, mut row) = (Vec::new(), Vec::<(usize, W)>::new());
    let (mut columns, mut row_sums) = (vec![0.0; n], vec![0.0; n]);
    for (i, row_sum) in row_sums.iter_mut().enumerate() {
        let e = scaled_row(a, i, &mut entries, &mut row);
        for (j, v) in &row {
            columns[*j] += v.abs() * power_of_two(e - unit);
            *row_sum += v.abs();
        }
    }
    let norm = columns.iter().fold(0.0, |m: f64, v| m.max(*v));
    let (mut inverse, mut inverse_rows) = (0.0, vec![0.0; n]);
    for j in 0..n {
        let mut x = vec![W::ZERO; n];
        x[j] = W::ONE;
        lu.solve(&mut x);
        let sizes = x.iter().map(|v| v.abs());
        if sizes.clone().any(|v| !v.is_finite()) {
            return (f64::INFINITY, f64::INFINITY);
        }
        inverse = f64::max(inverse, shift(sizes.clone().sum(), unit - lu.exponents[j]));
        inverse_rows.iter_mut().zip(sizes).for_each(|(sum, v)| *sum += v * row_sums[j]);
    }
    (norm * inverse, inverse_rows.iter().fold(0.0, |m, v| m.max(*v)))
}

/// LU of a row-scaled band matrix with partial pivoting: rows are stored from their first active column on, as
/// `bandec` of Press et al., Numerical Recipes, section 2.4, does.
struct WideBandLu<W> {
    n: usize,
    lower: usize,
    width: usize,
    /// Row k of U, from column k on, `width` entries each.
    upper: Vec<W>,
    /// Column k of L, `lower` entries each.
    factors: Vec<W>,
    pivots: Vec<usize>,
    /// Row i was multiplied by 2^(−exponents[i]).
    exponents: Vec<i32>,
    /// Place of unknown j in the order of elimination.
    place: Vec<usize>,
}

impl<W: Wide> WideBandLu<W> {
    fn new<T: Scalar>(a: &impl MatrixRows<T>) -> Option<Self> {
        let n = a.n();
        let (lower, upper) = if a.is_periodic() { (2, 2) } else { a.bandwidths() };
        let width = lower + upper + 1;
        let folded = |j: usize| if 2 * j < n { 2 * j } else { 2 * (n - 1 - j) + 1 };
        let place: Vec<usize> = (0..n).map(|j| if a.is_periodic() { folded(j) } else { j }).collect();
        let mut lu = Self {
            n,
            lower,
            width,
            upper: vec![W::ZERO; n * width],
            factors: vec![W::ZERO; n * lower],
            pivots: vec![0; n],
            exponents: vec![0; n],
            place,
        };
        let weights = lu.load(a)?;
        lu.eliminate(weights)?;
        Some(lu)
    }

    /// Fill in the rows. Returns 1/‖row‖∞ of each row.
    fn load<T: Scalar>(&mut self, a: &impl MatrixRows<T>) -> Option<Vec<f64>> {
        let (mut entries, mut row) = (Vec::new(), Vec::<(usize, W)>::new());
        let mut weights = vec![0.0; self.n];
        for i in 0..self.n {
            self.exponents[i] = scaled_row(a, i, &mut entries, &mut row);
            let at = self.place[i];
            for (j, v) in &row {
                let column = self.place[*j] - at.saturating_sub(self.lower);
                self.upper[at * self.width + column] = *v;
            }
            let largest = row.iter().fold(0.0, |m: f64, (_, v)| m.max(v.abs()));
            if largest == 0.0 || !largest.is_finite() {
                return None;
            }
            weights[at] = 1.0 / largest;
        }
        Some(weights)
    }

    fn eliminate(&mut self, mut weights: Vec<f64>) -> Option<()> {
        let w = self.width;
        for k in 0..self.n {
            let end = (k + self.lower + 1).min(self.n);
            let size = |i: usize| self.upper[i * w].abs() * weights[i];
            let pivot = (k..end).reduce(|p, i| if size(i) > size(p) { i } else { p })?;
            if self.upper[pivot * w].abs() == 0.0 {
                return None;
            }
            self.pivots[k] = pivot;
            weights.swap(k, pivot);
            for c in 0..w {
                self.upper.swap(k * w + c, pivot * w + c);
            }
            for i in k + 1..end {
                let factor = self.upper[i * w] / self.upper[k * w];
                self.factors[k * self.lower + i - k - 1] = factor;
                for c in 1..w {
                    self.upper[i * w + c - 1] = self.upper[i * w + c] - factor * self.upper[k * w + c];
                }
                self.upper[i * w + w - 1] = W::ZERO;
            }
        }
        Some(())
    }

    /// Replace the scaled right-hand side by the solution.
    fn solve(&self, x: &mut [W]) {
        let (n, w) = (self.n, self.width);
        let mut b = vec![W::ZERO; n];
        for (v, at) in x.iter().zip(&self.place) {
            b[*at] = *v;
        }
        for k in 0..n {
            b.swap(k, self.pivots[k]);
            for i in k + 1..(k + self.lower + 1).min(n) {
                b[i] = b[i] - self.factors[k * self.lower + i - k - 1] * b[k];
            }
        }
        for k in (0..n).rev() {
            let row = &self.upper[k * w..(k + 1) * w];
            let known = (1..w.min(n - k)).fold(W::ZERO, |sum, c| sum + row[c] * b[k + c]);
            b[k] = (b[k] - known) / row[0];
        }
        for (v, at) in x.iter_mut().zip(&self.place) {
            *v = b[*at];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrices;
    use crate::random::Random;
    use bandsolve::Complex32;

    fn draw<T: Scalar>(random: &mut Random) -> T {
        round(random.uniform(-1.0, 1.0), random.uniform(-1.0, 1.0))
    }

    fn draws<T: Scalar>(n: usize, random: &mut Random) -> Vec<T> {
        (0..n).map(|_| draw(random)).collect()
    }

    fn random_matrix<T: Scalar>(n: usize, periodic: bool, random: &mut Random) -> Tridiagonal<'static, T> {
        let (sub, diag, sup) = (draws(n, random), draws(n, random), draws(n, random));
        Tridiagonal::from_vecs(sub, diag, sup, periodic).unwrap()
    }

    fn random_banded<T: Scalar>(n: usize, lower: usize, upper: usize, random: &mut Random) -> Banded<'static, T> {
        Banded::from_vec(n, lower, upper, draws(n * (lower + upper + 1), random)).unwrap()
    }

    /// Dense solve, reference solve, product, backward error and condition number agree with one another.
    fn agree<T: Scalar>(a: &impl MatrixRows<T>, random: &mut Random) {
        let epsilon = T::Real::EPSILON.to_f64();
        let rhs: Vec<T> = draws(a.n(), random);
        let (Some(x), Some(dense)) = (solve_reference(a, &rhs), dense_solve(a, &rhs)) else {
            panic!("random matrices are not singular")
        };
        // x is rounded once, by at most ε/2 (√2 times that for complex numbers).
        let eta = backward_error(a, &rhs, &x);
        assert!(eta <= epsilon, "{eta:e}");
        let condition = condition_rows(a).max(1.0);
        // The dense solve has a backward error of a few n·ε in f64, and is rounded like x.
        let bound = 2.0 * epsilon + 8.0 * (a.n() + 1) as f64 * f64::EPSILON * condition;
        assert!(forward_error_max(&dense, &x) <= bound, "{condition:e}");
        let product = product(a, &x);
        let eta = backward_error(a, &product, &x);
        assert!(eta <= epsilon, "{eta:e}");
        // Both condition numbers are at least 1 by definition.
        assert!(a.n() == 0 || condition_1(a) >= 1.0 - 1e-15);
    }

    fn agree_everywhere<T: Scalar>() {
        let mut random = Random::new(11);
        for n in [0, 1, 2, 3, 4, 5, 6, 7, 16, 33] {
            for periodic in [false, true] {
                let a = random_matrix::<T>(n, periodic, &mut random);
                agree(&a, &mut random);
                for conj in [false, true] {
                    agree(&transpose(&a, conj), &mut random);
                }
            }
            for (lower, upper) in [(0, 0), (1, 1), (2, 0), (0, 2), (3, 1), (1, 4), (9, 9)] {
                let a = random_banded::<T>(n, lower, upper, &mut random);
                agree(&a, &mut random);
                agree(&transpose_banded(&a, true), &mut random);
            }
        }
        for (block, rows) in [(1, 5), (2, 1), (2, 3), (3, 6), (8, 2)] {
            for periodic in [false, true] {
                let arrays = [(); 3].map(|()| draws::<T>(rows * block * block, &mut random));
                agree(&BlockTridiagonal::from_vecs(block, arrays, periodic).unwrap(), &mut random);
            }
        }
    }

    #[test]
    fn oracles_agree_f64() {
        agree_everywhere::<f64>();
    }

    #[test]
    fn oracles_agree_f32() {
        agree_everywhere::<f32>();
    }

    #[test]
    fn oracles_agree_c64() {
        agree_everywhere::<Complex64>();
    }

    #[test]
    fn oracles_agree_c32() {
        agree_everywhere::<Complex32>();
    }

    fn dense<T: Scalar>(a: &impl MatrixRows<T>) -> Vec<Vec<T>> {
        let mut entries = Vec::new();
        let mut rows = vec![vec![T::ZERO; a.n()]; a.n()];
        for (i, row) in rows.iter_mut().enumerate() {
            a.entries(i, &mut entries);
            entries.iter().for_each(|(j, v)| row[*j] += *v);
        }
        rows
    }

    #[test]
    fn transposes() {
        let mut random = Random::new(5);
        for n in 0..6 {
            for conj in [false, true] {
                let turn = |v: Complex64| if conj { v.conj() } else { v };
                let flip = |a: Vec<Vec<Complex64>>| -> Vec<Vec<Complex64>> {
                    (0..n).map(|i| (0..n).map(|j| turn(a[j][i])).collect()).collect()
                };
                for periodic in [false, true] {
                    let a = random_matrix::<Complex64>(n, periodic, &mut random);
                    assert_eq!(dense(&transpose(&a, conj)), flip(dense(&a)), "{n} {periodic}");
                }
                let a = random_banded::<Complex64>(n, 1, 2, &mut random);
                assert_eq!(dense(&transpose_banded(&a, conj)), flip(dense(&a)));
            }
        }
    }

    #[test]
    fn backward_error_by_hand() {
        // [2 1; 1 2]·(1, 1) = (3, 3); rhs (3, 4): row 1 is off by 1 of 3·1 + 4.
        let a = Tridiagonal::new(&[1.0], &[2.0, 2.0], &[1.0]).unwrap();
        assert_eq!(backward_error(&a, &[3.0, 4.0], &[1.0, 1.0]), 1.0 / 7.0);
        assert_eq!(backward_error(&a, &[3.0, 3.0], &[1.0, 1.0]), 0.0);
        assert_eq!(backward_error(&a, &[0.0, 0.0], &[0.0, 0.0]), 0.0);
        assert_eq!(backward_error(&a, &[0.0, 1e-290], &[0.0, 0.0]), 1.0);
        // ‖x‖∞ counts as m, the smallest normal number, at least: what is smaller by far than 3m = Σ|a|·m may become zero.
        let m = f64::MIN_POSITIVE;
        assert_eq!(backward_error(&a, &[0.0, 3.0 * m], &[0.0, 0.0]), 0.5);
        assert_eq!(backward_error(&a, &[0.0, 1e-300], &[0.0, 0.0]), 1e-300 / (3.0 * m + 1e-300));
        assert_eq!(backward_error(&a, &[2.0 * m, m], &[m, 0.0]), 0.0);
        assert_eq!(backward_error(&a, &[0.0, m], &[m / 4.0, m / 4.0]), 0.75 / 3.0);
        assert!(backward_error(&a, &[3.0, 3.0], &[f64::NAN, 1.0]).is_nan());
        assert!(backward_error(&a, &[3.0, 3.0], &[f64::INFINITY, 1.0]).is_nan());
        // A perturbation far below f64's resolution of the product is seen.
        let x = [1.0 + f64::EPSILON, 1.0];
        let eta = backward_error(&a, &[3.0, 3.0], &x);
        assert!((eta / (2.0 * f64::EPSILON / 6.0) - 1.0).abs() < 1e-15);
    }

    #[test]
    fn backward_residual_by_hand() {
        // Residual (0, 1), right-hand side (3, 4).
        let a = Tridiagonal::new(&[1.0], &[2.0, 2.0], &[1.0]).unwrap();
        assert_eq!(backward_residual(&a, &[3.0, 4.0], &[1.0, 1.0]), 0.2);
        assert_eq!(backward_residual(&a, &[3.0, 3.0], &[1.0, 1.0]), 0.0);
        assert!(backward_residual(&a, &[3.0, 3.0], &[f64::INFINITY, 1.0]).is_nan());
        // (1e200·1e200, 0) beside 1e300 and beside 1.
        let a = Tridiagonal::new(&[0.0], &[1e200, 1.0], &[0.0]).unwrap();
        let got = backward_residual(&a, &[1e300, 0.0], &[1e200, 0.0]);
        assert!((got / 1e100 - 1.0).abs() < 1e-13, "{got:e}");
        assert_eq!(backward_residual(&a, &[1.0, 0.0], &[1e200, 0.0]), f64::INFINITY);
    }

    #[test]
    fn backward_error_does_not_depend_on_the_scale() {
        let mut random = Random::new(9);
        let a = random_matrix::<f64>(20, true, &mut random);
        let (rhs, x) = (draws::<f64>(20, &mut random), draws::<f64>(20, &mut random));
        let eta = backward_error(&a, &rhs, &x);
        // 2^±1000 ≈ 1e±301: products of matrix and x reach 1e602.
        for (e_a, e_x) in [(1000, 1000), (-1000, -1000), (1000, -1000), (-1000, 1000)] {
            let part = |f: fn((f64, f64, f64)) -> f64| (0..20).map(|i| shift(f(a.row(i)), e_a)).collect::<Vec<_>>();
            let scaled = Tridiagonal::from_vecs(part(|r| r.0), part(|r| r.1), part(|r| r.2), true).unwrap();
            let x: Vec<f64> = x.iter().map(|v| shift(*v, e_x)).collect();
            let fits = e_a + e_x == 0;
            let rhs: Vec<f64> = rhs.iter().map(|v| if fits { *v } else { 0.0 }).collect();
            let got = backward_error(&scaled, &rhs, &x);
            let expected = if fits { eta } else { backward_error(&scaled, &rhs, &x) };
            assert_eq!(got, expected);
            assert!(got.is_finite() && got > 0.0);
        }
    }

    #[test]
    fn reference_survives_extreme_entries() {
        for size in [1e-300, 1e300] {
            let a = matrices::toeplitz(50, size, 3.0 * size, -size);
            let x: Vec<f64> = (0..50).map(|i| 1e-9 * (i + 1) as f64).collect();
            let rhs = product(&a, &x);
            let got = solve_reference(&a, &rhs).unwrap();
            // 1e-309 has lost digits to gradual underflow; elsewhere rhs is rounded by ε/2.
            let bound = if size < 1.0 { 1e-5 } else { 4.0 * f64::EPSILON };
            assert!(forward_error(&got, &x) <= bound);
        }
        let x = [1e300, -1e300];
        assert_eq!(forward_error(&[-1e300, 1e300], &x), 2.0);
        assert_eq!(forward_error(&x, &x), 0.0);
    }

    #[test]
    fn condition_of_known_matrices() {
        // tridiag(−1, 2, −1): ‖A‖₁ = 4, ‖A⁻¹‖₁ = (n+1)²/8 for odd n.
        let a = matrices::toeplitz(99, -1.0, 2.0, -1.0);
        assert!((condition_1(&a) / (4.0 * 1e4 / 8.0) - 1.0).abs() < 1e-13);
        // Row scaling changes one number and not the other.
        let scaled = matrices::from_rows(99, |i| {
            let s = if i % 2 == 0 { 1e100 } else { 1e-100 };
            (-s, 2.0 * s, -s)
        });
        assert!((condition_rows(&scaled) / condition_rows(&a) - 1.0).abs() < 1e-12);
        assert!(condition_1(&scaled) > 1e190);
        assert_eq!(condition_1(&matrices::clement(5)), f64::INFINITY);
        // Nonsingular, but some entries of the inverse are above 1e308.
        let sub = vec![1e195, -0.73, 0.0, 0.1];
        let (diag, sup) = (vec![1e124, -0.44, 0.0, 0.0], vec![0.0, 0.0, 0.81, 1e235]);
        let a = Tridiagonal::from_vecs(sub, diag, sup, true).unwrap();
        assert_eq!((condition_1(&a), condition_rows(&a)), (f64::INFINITY, f64::INFINITY));
    }

    #[test]
    fn singular_matrices_have_no_reference() {
        let zero_row = matrices::from_rows(9, |i| if i == 4 { (0.0, 0.0, 0.0) } else { (1.0, 4.0, 1.0) });
        assert_eq!(solve_reference(&zero_row, &[1.0; 9]), None);
        assert_eq!(dense_solve(&zero_row, &[1.0; 9]), None);
        assert_eq!(solve_reference(&matrices::clement(7), &[1.0; 7]), None);
    }

    #[test]
    fn reference_of_a_long_system() {
        let mut random = Random::new(2);
        for periodic in [false, true] {
            let a = random_matrix::<f64>(100_000, periodic, &mut random);
            let rhs = draws(100_000, &mut random);
            let x = solve_reference(&a, &rhs).unwrap();
            assert!(backward_error(&a, &rhs, &x) <= f64::EPSILON);
        }
    }
}
