//! Measures of the residuals of rows, in one pass over each line while the neighboring rows are in cache.

use crate::scalar::{PoissonScalar, real};
use crate::separable::{LineStencil, ResidualAxis, ResidualMeasure, ResidualOperator, RightHandSide, RowWindow};
use bandsolve::Scalar;
use bandsolve_kernel::{Job, Lanes};
use core::ops::Range;

/// Number of lanes of the widest vector.
const WIDEST: usize = 16;

/// The problem whose residuals are measured.
#[derive(Clone, Copy)]
pub struct RowCheck<'a, T> {
    pub operator: &'a ResidualOperator<T>,
    pub rhs: &'a RightHandSide<'a, T>,
}

/// Measures some rows of a window. `scratch` has the length of two lines.
pub struct RowsJob<'a, 'b, T> {
    pub check: RowCheck<'a, T>,
    pub rows: Range<usize>,
    pub window: RowWindow<'a, T>,
    pub scratch: &'b mut [T],
}

impl<T: PoissonScalar> Job<T> for RowsJob<'_, '_, T> {
    type Output = ResidualMeasure;
    #[inline(always)]
    fn run<V: Lanes<Real = T::Real>>(self) -> ResidualMeasure {
        let RowsJob { check, rows, window, scratch } = self;
        if check.is_of_numbers() {
            return check.numbers(rows, window);
        }
        let mut all = ResidualMeasure::default();
        for i in rows {
            all = all.join(check.row::<V>(i, window, scratch));
        }
        all
    }
}

impl<T: PoissonScalar> RowCheck<'_, T> {
    /// The largest |r| / Σⱼ |aᵢⱼ| and the largest |u| of row i. The window has this row and its neighbors.
    #[inline(always)]
    pub fn row<V: Lanes<Real = T::Real>>(
        &self,
        i: usize,
        window: RowWindow<'_, T>,
        scratch: &mut [T],
    ) -> ResidualMeasure {
        if self.is_of_numbers() {
            return self.numbers(i..i + 1, window);
        }
        let [_, lines, n] = self.operator.shape;
        let (line, spare) = scratch.split_at_mut(n);
        let mut all = ResidualMeasure::default();
        for j in 0..lines {
            let f = self.rhs.line((i, j), line);
            all = all.join(self.operator.measure_line::<V>((i, j), window, (f, &mut spare[..n])));
        }
        all
    }

    /// Whether each row is one number.
    fn is_of_numbers(&self) -> bool {
        self.operator.shape[1] * self.operator.shape[2] == 1
    }

    /// As [`row`](Self::row), for rows of one number.
    #[inline(always)]
    fn numbers(&self, rows: Range<usize>, RowWindow { u, first }: RowWindow<'_, T>) -> ResidualMeasure {
        let (operator, rhs, n) = (self.operator, self.rhs, self.operator.shape[0]);
        let axis = &operator.axes[0];
        let rest = operator.axes[1].gap[0] + operator.axes[2].gap[0] + real(operator.shift);
        let (mut ratio, mut largest) = (0.0f64, T::ZERO);
        for i in rows {
            let mut f = rhs.f[i] * rhs.scale - rhs.removed;
            if i == 0 || i + 1 == n {
                rhs.copy_line((i, 0), core::slice::from_mut(&mut f));
            }
            let x = u[i - first];
            let [(below, a), (above, b)] = axis.around(i);
            let r = f - a * (x - u[below - first]) - b * (x - u[above - first]) - (axis.gap[i] + rest) * x;
            let over = if r == T::ZERO { 0.0 } else { Scalar::abs(r).to_f64() / operator.scale((i, 0), 0) };
            ratio = if over > ratio || over.is_nan() { over } else { ratio };
            largest = largest.max_bits(Scalar::abs(x));
        }
        ResidualMeasure { ratio, largest: largest.to_f64() }
    }
}

impl<T: PoissonScalar> ResidualOperator<T> {
    /// The measure of the residual of a line.
    #[inline(always)]
    fn measure_line<V: Lanes<Real = T::Real>>(
        &self,
        at: (usize, usize),
        window: RowWindow<'_, T>,
        (f, spare): (&[T], &mut [T]),
    ) -> ResidualMeasure {
        let (axis, n) = (&self.axes[2], f.len());
        let stencil = self.stencil(at, window);
        if !self.even || n < V::W + 2 {
            spare.copy_from_slice(f);
            self.line(at, window, spare);
            return self.measure(at, stencil.u, spare);
        }
        let along = [axis.lower[1], axis.upper[1], axis.gap[1]];
        let [most, inner] =
            if self.shape[1] > 1 { stencil.inner::<V, 4>(f, along) } else { stencil.inner::<V, 2>(f, along) };
        let [first, last] = [stencil.end(f, axis, 0), stencil.end(f, axis, n - 1)];
        let over = |r: T, k: usize| {
            let ratio = if r == T::ZERO { 0.0 } else { r.to_f64() / self.scale(at, k) };
            ResidualMeasure { ratio, largest: 0.0 }
        };
        let largest = inner.max_bits(Scalar::abs(stencil.u[0])).max_bits(Scalar::abs(stencil.u[n - 1]));
        let inner = ResidualMeasure { largest: largest.to_f64(), ..over(most, 1) };
        over(first, 0).join(over(last, n - 1)).join(inner)
    }
}

impl<T: PoissonScalar> LineStencil<'_, T> {
    /// |r| at an end of the line.
    #[inline(always)]
    fn end(&self, f: &[T], axis: &ResidualAxis<T>, k: usize) -> T {
        let x = self.u[k];
        let mut r = f[k] - self.gap * x - axis.gap[k] * x;
        for (line, coupling) in self.near {
            r -= coupling * (x - line[k]);
        }
        for (neighbor, coupling) in axis.around(k) {
            r -= coupling * (x - self.u[neighbor]);
        }
        Scalar::abs(r)
    }

    /// The largest |r| and |u| between the ends of a line with the same couplings and gap at all places.
    ///
    /// Only the first `NEAR` neighboring lines count.
    #[inline(always)]
    fn inner<V: Lanes<Real = T::Real>, const NEAR: usize>(&self, f: &[T], [left, right, along]: [T; 3]) -> [T; 2] {
        let n = self.u.len();
        debug_assert!(n >= V::W + 2 && f.len() == n && self.near.iter().all(|(line, _)| line.len() == n));
        let (left, right, along, gap) = (V::splat(left), V::splat(right), V::splat(along), V::splat(self.gap));
        let mut couplings = [gap; NEAR];
        for q in 0..NEAR {
            couplings[q] = V::splat(self.near[q].1);
        }
        let (mut most, mut largest) = (V::splat(T::ZERO), V::splat(T::ZERO));
        // The last vector overlaps the previous vector.
        let (mut k, last) = (1, n - 1 - V::W);
        loop {
            // SAFETY: 1 ≤ k and k + W < n, and all lines have n numbers.
            unsafe {
                let at = self.u.as_ptr().add(k);
                let x = V::load(at);
                let mut r = V::load(f.as_ptr().add(k));
                for q in 0..NEAR {
                    r = couplings[q].neg_mul_add(x - V::load(self.near[q].0.as_ptr().add(k)), r);
                }
                r = gap.neg_mul_add(x, r);
                r = left.neg_mul_add(x - V::load(at.sub(1)), r);
                r = right.neg_mul_add(x - V::load(at.add(1)), r);
                r = along.neg_mul_add(x, r);
                most = most.max_bits(r.abs());
                largest = largest.max_bits(x.abs());
            }
            if k == last {
                return [peak_of_lanes::<V, T>(most), peak_of_lanes::<V, T>(largest)];
            }
            k = last.min(k + V::W);
        }
    }
}

/// The lane with the largest bits as an integer: the largest number, or a NaN.
#[inline(always)]
fn peak_of_lanes<V: Lanes<Real = T::Real>, T: PoissonScalar>(v: V) -> T {
    debug_assert!(V::W <= WIDEST);
    let mut lanes = [T::ZERO; WIDEST];
    // SAFETY: `lanes` has room for the widest vector.
    unsafe { v.store(lanes.as_mut_ptr()) };
    let mut peak = lanes[0];
    for lane in lanes {
        peak = peak.max_bits(lane);
    }
    peak
}
