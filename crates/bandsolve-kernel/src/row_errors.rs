//! The rows of a system with the largest backward errors, found without a division per row.

use super::Job;
use crate::job::kernel;
use crate::number::{Lanes, RealScalar, Scalar};

/// The largest |Re v| and |Im v| of all values. NaN is larger than all numbers.
pub struct Peak<'a, T: Scalar> {
    pub values: &'a [T],
}

kernel!(PeakKernel: Peak<'a> => <T as Scalar>::Real);

impl<T: Scalar> Job<T> for Peak<'_, T> {
    type Output = T::Real;
    #[inline(always)]
    fn run<V: Lanes<Real = T::Real>>(self) -> T::Real {
        let values: &[T::Real] = bytemuck::cast_slice(self.values);
        // Four independent maxima hide the latency of the comparisons.
        const VECTORS: usize = 4;
        let mut most = [V::splat(T::Real::ZERO); VECTORS];
        let (p, len) = (values.as_ptr(), values.len());
        let mut i = 0;
        // SAFETY: the slice has these numbers.
        unsafe {
            while i + VECTORS * V::W <= len {
                for k in 0..VECTORS {
                    most[k] = V::load(p.add(i + k * V::W)).abs().max_bits(most[k]);
                }
                i += VECTORS * V::W;
            }
            while i < len {
                let count = V::W.min(len - i);
                most[0] = V::load_first(p.add(i), count).abs().max_bits(most[0]);
                i += count;
            }
        }
        let most = most[0].max_bits(most[1]).max_bits(most[2].max_bits(most[3]));
        crate::number::lanes_of(most)[..V::W].iter().fold(T::Real::ZERO, |most, v| most.max_bits(*v))
    }
}

/// Maximum number of rows of [`LargestErrors`].
pub const MOST_ROWS: usize = 64 * GROUP;
/// Number of rows of a group in [`LargestErrors`].
pub const GROUP: usize = 16;

/// The groups of rows that can contain the row with the largest error |rᵢ| / (sᵢ·‖x‖∞ + |dᵢ|), for real numbers.
///
/// A first pass computes approximate errors, with a relative error of at most 2⁻¹³. A second pass compares |rᵢ| with the largest error times
/// the size of the row. Rows are not told apart if all errors are near the smallest normal number.
pub struct LargestErrors<'a, T: Scalar> {
    /// At most [`MOST_ROWS`] residuals.
    pub r: &'a [T],
    /// Σⱼ|aᵢⱼ|.
    pub sums: &'a [T],
    pub d: &'a [T],
    /// ‖x‖∞.
    pub norm: T::Real,
    /// Rows whose size is not between these limits are always reported, because their sums may have overflowed or underflowed.
    pub limits: [T::Real; 2],
}

kernel!(LargestErrorsKernel: LargestErrors<'a> => u64);

impl<T: Scalar> Job<T> for LargestErrors<'_, T> {
    /// Bit g is set if group g can contain the row.
    type Output = u64;
    #[inline(always)]
    fn run<V: Lanes<Real = T::Real>>(self) -> u64 {
        let rows = self.r.len();
        assert!(!T::COMPLEX && rows <= MOST_ROWS && self.sums.len() == rows && self.d.len() == rows);
        if rows < V::W {
            return u64::from(rows > 0);
        }
        let [zero, one] = [V::splat(T::Real::ZERO), V::splat(T::Real::ONE)];
        let [low, high] = [V::splat(self.limits[0]), V::splat(self.limits[1])];
        let mut most = zero;
        for i in (0..rows).step_by(V::W) {
            let [r, size] = self.residuals_and_sizes::<V>(i);
            let error = r * size.recips()[0];
            // A NaN is not the largest error.
            most = V::select(size.gt(low), V::select(high.gt(size), error, zero), zero).max(most);
        }
        // All roundings together are far below 2⁻¹².
        let bound = most.peak() * V::splat(T::Real::from_f64(1.0 - 1.0 / 2048.0));
        let (mut groups, all) = (0, ((1_u64 << V::W) - 1) as u32);
        for group in 0..rows.div_ceil(GROUP) {
            let mut suspicious = zero;
            for i in (group * GROUP..rows.min((group + 1) * GROUP)).step_by(V::W) {
                let [r, size] = self.residuals_and_sizes::<V>(i);
                // The comparisons are false for NaN, whose bits are larger than those of all numbers.
                let large = V::select((bound * size).gt(r), zero, r);
                let row = V::select(size.gt(low), V::select(high.gt(size), large, one), one);
                suspicious = suspicious.max_bits(row);
            }
            groups |= u64::from(suspicious.equal_bits(zero) != all) << group;
        }
        groups
    }
}

impl<T: Scalar> LargestErrors<'_, T> {
    /// |rᵢ| and the sizes of the W rows from i on, or of the last W rows.
    #[inline(always)]
    fn residuals_and_sizes<V: Lanes<Real = T::Real>>(&self, i: usize) -> [V; 2] {
        let i = i.min(self.r.len() - V::W);
        // SAFETY: real scalars are their own real type, and the arrays have these rows.
        unsafe {
            let r = V::load(self.r.as_ptr().cast::<V::Real>().add(i));
            let sum = V::load(self.sums.as_ptr().cast::<V::Real>().add(i));
            let d = V::load(self.d.as_ptr().cast::<V::Real>().add(i));
            [r.abs(), sum.mul_add(V::splat(self.norm), d.abs())]
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::number::MAX_LANES;
    use crate::{Complex64, Simd};

    fn sets() -> impl Iterator<Item = Simd> {
        Simd::ALL.iter().map(|simd| simd.or_best())
    }

    #[test]
    fn the_peak_is_the_largest_part_wherever_it_is() {
        for n in [0, 1, 7, 8, 31, 33, 100] {
            let values: Vec<f64> = (0..n).map(|k| (k as f64 * 0.7).sin()).collect();
            let most = values.iter().fold(0.0, |most: f64, v| most.max(v.abs()));
            for simd in sets() {
                assert_eq!(Peak { values: &values }.run_on(simd), most);
                for k in 0..n {
                    let mut values = values.clone();
                    values[k] = -1e300;
                    assert_eq!(Peak { values: &values }.run_on(simd), 1e300, "{n}, {k}");
                    values[(k + 3) % n] = f64::NAN;
                    assert!(Peak { values: &values }.run_on(simd).is_nan(), "{n}, {k}");
                }
            }
        }
        let values = [Complex64::new(1.0, -3.0), Complex64::new(-2.0, 0.0)];
        assert!(sets().all(|simd| Peak { values: &values }.run_on(simd) == 3.0));
    }

    /// Rows with errors between 0.1 and 0.2, and their errors.
    fn rows<T: RealScalar>(n: usize) -> ([Vec<T>; 3], Vec<f64>) {
        let wave = |k: usize, by: f64| 1.5 + 0.5 * (k as f64 * by).sin();
        let arrays = [0.7, 1.1, 1.3].map(|by| (0..n).map(|k| T::from_f64(wave(k, by))).collect::<Vec<T>>());
        let size = |k: usize| 10.0 * arrays[1][k].to_f64() + arrays[2][k].to_f64();
        let errors = (0..n).map(|k| arrays[0][k].to_f64() / size(k)).collect();
        (arrays, errors)
    }

    fn check<T: RealScalar>() {
        let limits = [1e-20, 1e20].map(T::from_f64);
        for n in [1, 15, 16, 17, 40, 512, 1000, MOST_ROWS] {
            let ([r, sums, d], errors) = rows::<T>(n);
            let worst = (0..n).max_by(|i, j| errors[*i].total_cmp(&errors[*j])).unwrap();
            for simd in sets() {
                let groups = |r: &[T], sums: &[T]| {
                    LargestErrors { r, sums, d: &d, norm: T::from_f64(10.0), limits }.run_on(simd)
                };
                let has = |groups: u64, row: usize| groups >> (row / GROUP) & 1 == 1;
                let found = groups(&r, &sums);
                assert!(has(found, worst), "{n} {simd:?}");
                if n > 400 {
                    assert!(found.count_ones() < 8, "{n} {simd:?}: {found:b}");
                }
                for k in (0..n).step_by(1 + n / 40) {
                    let with = |array: &[T], v: f64| {
                        let mut array = array.to_vec();
                        array[k] = T::from_f64(v);
                        array
                    };
                    let larger = groups(&with(&r, -1.001 * errors[worst] / errors[k] * r[k].to_f64()), &sums);
                    assert!(has(larger, k), "{n}, {k} {simd:?}");
                    assert!(has(groups(&with(&r, f64::NAN), &sums), k), "{n}, {k} {simd:?}");
                    for sum in [f64::NAN, 1e25, f64::INFINITY] {
                        let found = groups(&r, &with(&sums, sum));
                        assert!(has(found, k) && (k == worst || has(found, worst)), "{n}, {k}, {sum} {simd:?}");
                    }
                }
            }
            // Rows without a residual are not the worst, unless their size shows that something may have underflowed.
            let zeros = vec![T::ZERO; n];
            for simd in sets() {
                let groups =
                    |sums: &[T], d: &[T]| LargestErrors { r: &zeros, sums, d, norm: T::ONE, limits }.run_on(simd);
                assert!(n < MAX_LANES || groups(&sums, &d) == 0, "{n} {simd:?}");
                assert_eq!(groups(&zeros, &zeros).count_ones() as usize, n.div_ceil(GROUP), "{n} {simd:?}");
            }
        }
    }

    #[test]
    fn groups_with_the_largest_error_are_found() {
        check::<f64>();
        #[cfg(feature = "single")]
        check::<f32>();
    }
}
