//! Solve small triangular systems in registers.

use super::Job;
use crate::job::kernel;
use crate::number::{Lanes, MAX_LANES, Scalar};
use crate::view::{View, ViewMut};

/// A triangular system with at most eight unknowns and many right-hand sides.
pub struct SmallSubstitution<'a, T: Scalar> {
    /// The matrix. Only one triangle is read, without the diagonal: the lower one if `forward`.
    pub t: View<'a, T>,
    /// The reciprocals of the diagonal. `None` stands for a unit diagonal.
    pub inverse: Option<&'a [T]>,
    /// Solve from the first unknown to the last.
    pub forward: bool,
    /// The right-hand sides, which the solutions replace.
    pub x: ViewMut<'a, T>,
}

/// Maximum number of unknowns that are solved for in registers.
pub const SMALL: usize = 8;

kernel!(SmallSubstitutionKernel: SmallSubstitution<'a> => ());

impl<T: Scalar> Job<T> for SmallSubstitution<'_, T> {
    type Output = ();
    #[inline(always)]
    fn run<V: Lanes<Real = T::Real>>(mut self) {
        let (size, columns) = (self.x.nrows(), self.x.ncols());
        assert!(
            size <= SMALL && self.t.nrows() == size && self.t.ncols() == size,
            "the triangle must be square, with one row per unknown and at most eight rows"
        );
        assert!(self.inverse.is_none_or(|inverse| inverse.len() >= size), "pass one reciprocal per row");
        let triangle = SmallTriangle {
            t: self.t.as_ptr(),
            strides: [self.t.row_stride(), self.t.column_stride()],
            inverse: self.inverse,
            forward: self.forward,
        };
        // SAFETY: T and x have this size, and the columns of x are contiguous; the buffer has room for one vector of
        // columns.
        unsafe {
            let contiguous = triangle.strides[0] == 1;
            if const { V::PERMUTES && V::W == SMALL && !T::COMPLEX } && columns == 1 && size == SMALL && contiguous {
                return triangle.solve_vector::<V>(self.x.as_mut_ptr().cast());
            }
            if T::COMPLEX && columns > 1 && size == SMALL {
                for c in (0..columns).step_by(V::W) {
                    triangle.solve_parts::<V>(self.x.as_mut().part(0..SMALL, c..columns.min(c + V::W)));
                }
                return;
            }
            if T::COMPLEX || columns == 1 || size < SMALL {
                for c in 0..columns {
                    triangle.solve_column(self.x.as_mut().column(c));
                }
                return;
            }
            let (x, stride) = (self.x.as_mut_ptr().cast::<V::Real>(), self.x.column_stride());
            let whole = columns / V::W * V::W;
            for c in (0..whole).step_by(V::W) {
                triangle.solve::<V>(x.add(c * stride), stride);
            }
            if whole < columns {
                let mut buffer = [T::Real::ZERO; SMALL * MAX_LANES];
                for k in 0..columns - whole {
                    let column = x.add((whole + k) * stride);
                    core::ptr::copy_nonoverlapping(column, buffer.as_mut_ptr().add(k * SMALL), SMALL);
                }
                triangle.solve::<V>(buffer.as_mut_ptr(), SMALL);
                for k in 0..columns - whole {
                    let column = x.add((whole + k) * stride);
                    core::ptr::copy_nonoverlapping(buffer.as_ptr().add(k * SMALL), column, SMALL);
                }
            }
        }
    }
}

/// y − t·x, with separate real and imaginary parts.
#[inline(always)]
fn minus_product<T: Scalar, V: Lanes<Real = T::Real>>(t: T, x: (V, V), y: (V, V)) -> (V, V) {
    let (a, b) = (V::splat(t.re()), V::splat(t.im()));
    (b.mul_add(x.1, a.neg_mul_add(x.0, y.0)), b.neg_mul_add(x.0, a.neg_mul_add(x.1, y.1)))
}

/// A triangular matrix with at most eight rows.
struct SmallTriangle<'a, T> {
    t: *const T,
    /// The distances between neighboring rows, and between neighboring columns.
    strides: [usize; 2],
    inverse: Option<&'a [T]>,
    forward: bool,
}

impl<T: Scalar> SmallTriangle<'_, T> {
    /// # Safety
    /// Element (i, k) exists.
    #[inline(always)]
    unsafe fn at(&self, i: usize, k: usize) -> T {
        // SAFETY: the caller's promise.
        unsafe { *self.t.add(i * self.strides[0] + k * self.strides[1]) }
    }

    /// Solve for one column, entry by entry.
    ///
    /// # Safety
    /// The triangle has as many rows as the column.
    #[inline(always)]
    unsafe fn solve_column(&self, x: &mut [T]) {
        let size = x.len();
        for step in 0..size {
            let k = if self.forward { step } else { size - 1 - step };
            if let Some(inverse) = self.inverse {
                x[k] *= inverse[k];
            }
            let (first, end) = if self.forward { (k + 1, size) } else { (0, k) };
            for i in first..end {
                // SAFETY: i, k < size.
                let t = unsafe { self.at(i, k) };
                x[i] -= t * x[k];
            }
        }
    }

    /// Solve for one column of eight real numbers in one vector.
    ///
    /// # Safety
    /// The triangle has eight rows, its columns are contiguous, and `x` is readable and writable.
    #[inline(always)]
    unsafe fn solve_vector<V: Lanes<Real = T::Real>>(&self, x: *mut T::Real) {
        // SAFETY: the caller's promise.
        unsafe {
            let mut lanes = V::load(x);
            for step in 0..SMALL {
                let k = if self.forward { step } else { SMALL - 1 - step };
                let mut unknown = lanes.permute(lanes, V::index(&[k as u32; MAX_LANES]));
                if let Some(inverse) = self.inverse {
                    unknown = unknown * V::splat(inverse[k].re());
                }
                *x.add(k) = unknown.first();
                let column = self.t.add(k * self.strides[1]).cast::<V::Real>();
                let column = if self.forward {
                    V::load_last(column.add(SMALL), SMALL - 1 - k)
                } else {
                    V::load_first(column, k)
                };
                lanes = unknown.neg_mul_add(column, lanes);
            }
        }
    }

    /// Solve for up to W columns of eight complex numbers. Each row of real parts and each row of imaginary parts is a
    /// vector.
    ///
    /// # Safety
    /// The triangle has eight rows.
    #[inline(always)]
    unsafe fn solve_parts<V: Lanes<Real = T::Real>>(&self, mut x: ViewMut<'_, T>) {
        let mut parts = [[T::Real::ZERO; MAX_LANES]; 2 * SMALL];
        for c in 0..x.ncols() {
            for (i, v) in x.as_mut().column(c).iter().enumerate() {
                (parts[2 * i][c], parts[2 * i + 1][c]) = (v.re(), v.im());
            }
        }
        let (mut re, mut im) = ([V::splat(T::Real::ZERO); SMALL], [V::splat(T::Real::ZERO); SMALL]);
        // SAFETY: there is room for the widest vector; i, k < 8.
        unsafe {
            for i in 0..SMALL {
                (re[i], im[i]) = (V::load(parts[2 * i].as_ptr()), V::load(parts[2 * i + 1].as_ptr()));
            }
            if self.forward {
                for k in 0..SMALL {
                    (re[k], im[k]) = self.divided(k, re[k], im[k]);
                    for i in k + 1..SMALL {
                        (re[i], im[i]) = minus_product(self.at(i, k), (re[k], im[k]), (re[i], im[i]));
                    }
                }
            } else {
                for k in (0..SMALL).rev() {
                    (re[k], im[k]) = self.divided(k, re[k], im[k]);
                    for i in 0..k {
                        (re[i], im[i]) = minus_product(self.at(i, k), (re[k], im[k]), (re[i], im[i]));
                    }
                }
            }
            for i in 0..SMALL {
                re[i].store(parts[2 * i].as_mut_ptr());
                im[i].store(parts[2 * i + 1].as_mut_ptr());
            }
        }
        for c in 0..x.ncols() {
            for (i, v) in x.as_mut().column(c).iter_mut().enumerate() {
                *v = T::from_parts(parts[2 * i][c], parts[2 * i + 1][c]);
            }
        }
    }

    /// Unknown k divided by its diagonal element.
    #[inline(always)]
    fn divided<V: Lanes<Real = T::Real>>(&self, k: usize, re: V, im: V) -> (V, V) {
        let Some(inverse) = self.inverse else { return (re, im) };
        let (a, b) = (V::splat(inverse[k].re()), V::splat(inverse[k].im()));
        (b.neg_mul_add(im, a * re), b.mul_add(re, a * im))
    }

    /// Solve for W columns of eight rows with the distance `stride`. The columns are transposed, so that each row of
    /// them is a vector.
    ///
    /// # Safety
    /// The triangle has eight rows, and `x` is readable and writable for the columns.
    #[inline(always)]
    unsafe fn solve<V: Lanes<Real = T::Real>>(&self, x: *mut T::Real, stride: usize) {
        // SAFETY: the caller's promise.
        unsafe {
            let [low, high] = [V::load_columns(x, stride), V::load_columns(x.add(4), stride)];
            let mut row = [low[0], low[1], low[2], low[3], high[0], high[1], high[2], high[3]];
            if self.forward {
                for i in 0..SMALL {
                    for k in 0..i {
                        row[i] = V::splat(self.at(i, k).re()).neg_mul_add(row[k], row[i]);
                    }
                    if let Some(inverse) = self.inverse {
                        row[i] = row[i] * V::splat(inverse[i].re());
                    }
                }
            } else {
                for i in (0..SMALL).rev() {
                    for k in i + 1..SMALL {
                        row[i] = V::splat(self.at(i, k).re()).neg_mul_add(row[k], row[i]);
                    }
                    if let Some(inverse) = self.inverse {
                        row[i] = row[i] * V::splat(inverse[i].re());
                    }
                }
            }
            V::store_columns([row[0], row[1], row[2], row[3]], x, stride);
            V::store_columns([row[4], row[5], row[6], row[7]], x.add(4), stride);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Complex64, Simd};
    use super::*;

    #[test]
    fn small_triangles_are_solved_in_both_directions() {
        small_triangles(|re, _| re);
        small_triangles(Complex64::new);
    }

    fn small_triangles<T: Scalar<Real = f64>>(number: impl Fn(f64, f64) -> T) {
        let wave = |rows: usize, columns: usize, by: f64| -> Vec<T> {
            let parts = [by, by + 0.05].map(|by| (0..rows * columns).map(move |i| (i as f64 * by).sin()));
            let [re, im] = parts;
            re.zip(im).map(|(re, im)| number(re, im)).collect()
        };
        for (size, columns) in (1..=SMALL).flat_map(|size| [1, 2, 8, 9, 20].map(|columns| (size, columns))) {
            for (forward, simd) in [true, false].iter().flat_map(|f| Simd::ALL.iter().map(|simd| (*f, *simd))) {
                let (t, inverse) = (wave(size, size, 0.37), wave(size, 1, 0.11));
                let t = View::new(&t, size, size);
                let x = wave(size, columns, 2.3);
                // The product T·x with 1/inverse on the diagonal and zeros in the other triangle.
                let mut rhs = x.clone();
                let inverse: Vec<T> = inverse.iter().map(|v| T::from_real(1.5) + *v).collect();
                for (i, j) in (0..size).flat_map(|i| (0..columns).map(move |j| (i, j))) {
                    let others = if forward { 0..i } else { i + 1..size };
                    let sum = others.fold(T::ZERO, |sum, k| sum + t[(i, k)] * x[k + j * size]);
                    rhs[i + j * size] = x[i + j * size] * crate::scalar::reciprocal(inverse[i]) + sum;
                }
                let columns_of_x = ViewMut::new(&mut rhs, size, columns);
                let job = SmallSubstitution { t, inverse: Some(&inverse), forward, x: columns_of_x };
                job.run_on(simd.or_best());
                // The parts of all entries are below 1, and the real parts of diagonal entries lie between 0.4 and 2.5.
                // Each of the eight steps multiplies the error by at most 1 + √2·2.7.
                let worst = rhs.iter().zip(&x).map(|(a, b)| Scalar::abs(*a - *b)).fold(0.0, f64::max);
                let growth: f64 = if T::COMPLEX { 4.9 } else { 3.5 };
                assert!(worst <= growth.powi(8) * 8.0 * f64::EPSILON, "{size}: {worst:e}");
            }
        }
    }
}
