//! Sturm counts: how many eigenvalues of a symmetric tridiagonal matrix T lie below a shift σ, many shifts at once.
//!
//! The leading minors of T − σI follow p₋₁ = 0, p₀ = 1, p_{k+1} = (d_k − σ) p_k − e²_{k−1} p_{k−1}. Each change of sign from p_k to
//! p_{k+1} is a negative pivot of LDLᵀ, so an eigenvalue below σ. There is no division. Both p are scaled by a power of 2 every
//! few rows, which loses nothing. The count is that of a matrix whose d_k − σ and e_k differ from the given ones by a few roundings
//! each. If the last minor is zero, σ is an eigenvalue of that matrix, and counts.
//!
//! The last minor is det(T − σI), a function that has the eigenvalues as its zeros: its mantissa and exponent are returned, too.

use bandsolve::Result;
use bandsolve::memory::collected;
use bandsolve_kernel::{Job, Lanes, Simd, dispatch, threads};

/// Rows between two scalings. In a matrix whose largest entry is in [1, 2), that is not split, the minors of so many rows grow at most to
/// 12⁸ and shrink at least to (2⁻⁵⁵)⁸.
const SCALED_EVERY: usize = 8;
/// Vectors of shifts side by side: as many as hide how long a step takes.
const PACKS: usize = 4;
/// Rows times shifts that are worth a thread.
const WORTH_A_THREAD: usize = 1 << 15;

/// What is known of one shift.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct SturmPoint {
    /// σ
    pub shift: f64,
    /// Eigenvalues that are at most σ.
    pub count: usize,
    /// |det(T − σI)| is this…
    pub mantissa: f64,
    /// … times 2 to the power of this, up to what all shifts of a matrix have in common, modulo 2¹².
    pub exponent: i64,
}

impl SturmPoint {
    /// A shift of which nothing is known.
    pub fn new(shift: f64) -> Self {
        Self { shift, ..Self::default() }
    }

    /// |det(T − σI)| / |det(T − τI)| for the shift τ of the other, kept within 2^±60.
    pub fn determinant_ratio(&self, other: &SturmPoint) -> f64 {
        // The difference of the exponents stands above the 52 bits of a mantissa.
        let exponent = self.exponent.wrapping_sub(other.exponent) >> 52;
        let ratio = self.mantissa / other.mantissa;
        let scaled = ratio * f64::exp2(exponent.clamp(-200, 200) as f64);
        scaled.clamp(f64::exp2(-60.0), f64::exp2(60.0))
    }
}

/// A symmetric tridiagonal matrix whose off-diagonal entries are not negligible, its largest entry in [1, 2).
pub struct SturmMatrix {
    /// d_k and −e²_{k−1}.
    rows: Vec<[f64; 2]>,
    simd: Simd,
}

impl SturmMatrix {
    /// `off` has an entry less than `diag`.
    pub fn new(diag: &[f64], off: &[f64]) -> Result<Self> {
        let above = core::iter::once(0.0).chain(off.iter().copied());
        let rows = collected(diag.iter().zip(above).map(|(d, e)| [*d, -e * e]))?;
        Ok(Self { rows, simd: Simd::detect() })
    }

    /// Points of all shifts, which are the `shift` of what is in `points`. The same bits for any number of threads.
    pub fn count(&self, points: &mut [SturmPoint]) {
        let pack = PACKS * <f64 as bandsolve_kernel::Kernels>::lanes(self.simd);
        if points.len() <= pack || points.len() * self.rows.len() < 2 * WORTH_A_THREAD {
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

/// Counts for at most [`PACKS`] vectors of shifts.
struct SturmCounts<'a> {
    rows: &'a [[f64; 2]],
    points: &'a mut [SturmPoint],
}

/// Most shifts of a job.
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
        // Fewer vectors are no faster until there are half as many.
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

/// P vectors of shifts in the first row of `numbers` become counts; mantissas and exponents go to the others.
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
    /// 1 where the last minor is negative, else 0.
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

    /// Counts an eigenvalue that is the shift. The last minor is then zero and was taken for a positive number, which is a change of sign
    /// only where the one before is negative. (A zero inside the sequence is one change of sign, whichever sign it gets.)
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
            // Between the eigenvalues 1 − cos.
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
