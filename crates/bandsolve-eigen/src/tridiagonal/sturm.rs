//! Sturm counts: the numbers of eigenvalues of a symmetric tridiagonal matrix T that are at most σ, for many shifts σ at once.
//!
//! The leading minors of T − σI are p₋₁ = 0, p₀ = 1, pₖ₊₁ = (dₖ − σ)·pₖ − e²ₖ₋₁·pₖ₋₁. Each change of sign from pₖ to pₖ₊₁ is
//! a negative pivot of L·D·Lᵀ, and so an eigenvalue below σ. The recurrence needs no division. A power of two scales both minors every few
//! rows, without rounding errors. The count is exact for a matrix whose dₖ − σ and eₖ differ by a few rounding errors. If the last minor is
//! zero, σ is an eigenvalue of that matrix, and counts.
//!
//! The last minor is det(T − σI), whose zeros are the eigenvalues. The results include its mantissa and exponent.

use bandsolve::Result;
use bandsolve::memory::collected;
use bandsolve_kernel::{Job, Lanes, Simd, dispatch, threads};

/// The number of rows between two scalings.
///
/// In a block whose largest entry is in [1, 2), the minors grow at most by 12⁸ and shrink at most by (2⁻⁵⁵)⁸ in 8 rows.
const SCALED_EVERY: usize = 8;
/// The number of SIMD vectors of shifts per sweep. Four hide the latency of a step.
const PACKS: usize = 4;
/// The smallest work for a thread, in rows times shifts.
const MIN_WORK_PER_THREAD: usize = 1 << 15;

/// A shift, with the count and the determinant at the shift.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct SturmPoint {
    /// The shift σ.
    pub shift: f64,
    /// The number of eigenvalues that are at most σ.
    pub count: usize,
    /// The mantissa of |det(T − σI)|.
    pub mantissa: f64,
    /// The exponent of |det(T − σI)| modulo 2¹², in the bits above a mantissa, up to a constant that is the same for all shifts of a matrix.
    pub exponent: i64,
}

impl SturmPoint {
    /// A shift without a count.
    pub fn new(shift: f64) -> Self {
        Self { shift, ..Self::default() }
    }

    /// The ratio |det(T − σI)| / |det(T − τI)| for the shift τ of the other point, clamped to 2^±60.
    pub fn determinant_ratio(&self, other: &SturmPoint) -> f64 {
        // The exponents are in the bits above the 52 bits of a mantissa.
        let exponent = self.exponent.wrapping_sub(other.exponent) >> 52;
        let ratio = self.mantissa / other.mantissa;
        let scaled = ratio * f64::exp2(exponent.clamp(-200, 200) as f64);
        scaled.clamp(f64::exp2(-60.0), f64::exp2(60.0))
    }
}

/// A symmetric tridiagonal matrix without negligible off-diagonal entries, whose largest entry is in [1, 2).
pub struct SturmMatrix {
    /// The numbers dₖ and −e²ₖ₋₁.
    rows: Vec<[f64; 2]>,
    simd: Simd,
}

impl SturmMatrix {
    /// Make a matrix. `off` has one entry less than `diag`.
    pub fn new(diag: &[f64], off: &[f64]) -> Result<Self> {
        let above = core::iter::once(0.0).chain(off.iter().copied());
        let rows = collected(diag.iter().zip(above).map(|(d, e)| [*d, -e * e]))?;
        Ok(Self { rows, simd: Simd::detect() })
    }

    /// Compute counts and determinants for the shifts in `points`. Results are the same for any number of threads.
    pub fn count(&self, points: &mut [SturmPoint]) {
        let pack = PACKS * <f64 as bandsolve_kernel::Scalar>::lanes(self.simd);
        if points.len() <= pack || points.len() * self.rows.len() < 2 * MIN_WORK_PER_THREAD {
            return points.chunks_mut(pack).for_each(|points| self.count_pack(points));
        }
        let middle = (points.len() / 2).next_multiple_of(pack);
        let (left, right) = points.split_at_mut(middle);
        threads::join(|| self.count(left), || self.count(right));
    }

    fn count_pack(&self, points: &mut [SturmPoint]) {
        dispatch::<f64, _>(self.simd, SturmCounts { rows: &self.rows, points });
    }
}

/// The job that counts for at most [`PACKS`] vectors of shifts.
struct SturmCounts<'a> {
    rows: &'a [[f64; 2]],
    points: &'a mut [SturmPoint],
}

/// The maximum number of shifts per job.
const MOST: usize = PACKS * 16;

impl Job<f64> for SturmCounts<'_> {
    type Output = ();
    #[inline(always)]
    fn run<V: Lanes<Real = f64>>(self) {
        assert!(!self.points.is_empty() && self.points.len() <= PACKS * V::W);
        let mut numbers = [[0.0; MOST]; 3];
        for lane in 0..PACKS * V::W {
            numbers[0][lane] = self.points[lane.min(self.points.len() - 1)].shift;
        }
        let used = self.points.len().div_ceil(V::W);
        // Three vectors take as long as four.
        match used {
            1 => sweep::<V, 1>(self.rows, &mut numbers),
            2 => sweep::<V, 2>(self.rows, &mut numbers),
            _ => sweep::<V, PACKS>(self.rows, &mut numbers),
        }
        for (lane, point) in self.points.iter_mut().enumerate() {
            point.count = numbers[0][lane] as usize;
            point.mantissa = numbers[1][lane];
            point.exponent = numbers[2][lane].to_bits() as i64;
        }
    }
}

/// Replace P vectors of shifts in the first row of `numbers` by counts. Store mantissas and exponents in the other rows.
#[inline(always)]
fn sweep<V: Lanes<Real = f64>, const P: usize>(rows: &[[f64; 2]], numbers: &mut [[f64; MOST]; 3]) {
    let (zero, one) = (V::splat(0.0), V::splat(1.0));
    let mut state = SturmMinors { shift: [zero; P], now: [one; P], last: [zero; P], side: [zero; P], count: [zero; P] };
    let mut exponent = [zero; P];
    // SAFETY: each row of `numbers` has room for P vectors, as P ≤ PACKS and no vector has more than 16 lanes.
    unsafe {
        for p in 0..P {
            state.shift[p] = V::load(numbers[0].as_ptr().add(p * V::W));
        }
        for some in rows.chunks(SCALED_EVERY) {
            for row in some {
                state.step(V::splat(row[0]), V::splat(row[1]));
            }
            for p in 0..P {
                let by = state.now[p].abs_max(state.last[p]).equilibrate();
                state.now[p] = state.now[p] * by;
                state.last[p] = state.last[p] * by;
                exponent[p] = exponent[p].log_gap(by);
            }
        }
        for p in 0..P {
            state.count_last(p);
            state.count[p].store(numbers[0].as_mut_ptr().add(p * V::W));
            state.now[p].abs().store(numbers[1].as_mut_ptr().add(p * V::W));
            exponent[p].store(numbers[2].as_mut_ptr().add(p * V::W));
        }
    }
}

/// The last two minors for P vectors of shifts.
struct SturmMinors<V, const P: usize> {
    shift: [V; P],
    now: [V; P],
    last: [V; P],
    /// 1 if the last minor is negative, otherwise 0.
    side: [V; P],
    count: [V; P],
}

impl<V: Lanes<Real = f64>, const P: usize> SturmMinors<V, P> {
    #[inline(always)]
    fn step(&mut self, d: V, minus_e2: V) {
        let (zero, one) = (V::splat(0.0), V::splat(1.0));
        for p in 0..P {
            let next = (d - self.shift[p]).mul_add(self.now[p], minus_e2 * self.last[p]);
            self.last[p] = self.now[p];
            self.now[p] = next;
            let side = V::select(zero.gt(next), one, zero);
            let change = side - self.side[p];
            self.count[p] = change.mul_add(change, self.count[p]);
            self.side[p] = side;
        }
    }

    /// Count an eigenvalue that is equal to the shift.
    ///
    /// The last minor is then zero, and `step` treated it as positive. This is a change of sign only if the previous minor is negative. A zero
    /// inside the sequence gives one change of sign, whichever sign it gets.
    #[inline(always)]
    fn count_last(&mut self, p: usize) {
        let (zero, one) = (V::splat(0.0), V::splat(1.0));
        let missed = V::select(zero.gt(self.last[p]), zero, one);
        let missed = V::select(zero.gt(self.now[p]), zero, V::select(self.now[p].gt(zero), zero, missed));
        self.count[p] = self.count[p] + missed;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_those_of_the_second_difference() {
        let n = 1000;
        let matrix = SturmMatrix::new(&vec![1.0; n], &vec![-0.5; n - 1]).unwrap();
        let angle = |k: usize| std::f64::consts::PI * k as f64 / (n + 1) as f64;
        for how_many in [1, 3, 8, 17, 999] {
            // Shifts between the eigenvalues 1 − cos(angle).
            let shift = |k: usize| 1.0 - ((angle(k) + angle(k + 1)) / 2.0).cos();
            let mut points: Vec<_> = (1..=how_many).map(|k| SturmPoint::new(shift(k))).collect();
            matrix.count(&mut points);
            assert!(points.iter().enumerate().all(|(k, point)| point.count == k + 1), "{how_many}");
        }
    }

    #[test]
    fn determinants_compare() {
        // det(T − σI) = (1 − σ)² − 1/4.
        let matrix = SturmMatrix::new(&[1.0, 1.0], &[0.5]).unwrap();
        let mut points = [0.0, 0.25, 3.0].map(SturmPoint::new);
        matrix.count(&mut points);
        assert_eq!(points.map(|point| point.count), [0, 0, 2]);
        let mut at = [0.5, 1.0, 1.5].map(SturmPoint::new);
        matrix.count(&mut at);
        assert_eq!(at.map(|point| (point.count, point.mantissa == 0.0)), [(1, true), (1, false), (2, true)]);
        assert!((points[0].determinant_ratio(&points[1]) - 0.75 / 0.3125).abs() < 1e-14);
        assert!((points[2].determinant_ratio(&points[0]) - 3.75 / 0.75).abs() < 1e-14);
    }
}
