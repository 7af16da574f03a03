//! Random numbers and a dense oracle for the tests of the pivoted methods.

use crate::contract::Op;
use crate::contract::verify::Report;
use bandsolve_kernel::{Complex64, RealScalar, Scalar};

/// The random generator splitmix64.
pub(crate) struct Rng(pub u64);

impl Rng {
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Uniform in (−1, 1).
    pub fn real(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }

    pub fn scalar<T: Scalar>(&mut self) -> T {
        T::from_parts(T::Real::from_f64(self.real()), T::Real::from_f64(self.real()))
    }

    pub fn scalars<T: Scalar>(&mut self, n: usize) -> Vec<T> {
        (0..n).map(|_| self.scalar()).collect()
    }
}

pub(crate) const OPS: [Op; 3] = [Op::Plain, Op::Transpose, Op::ConjTranspose];

pub(crate) fn eps<T: Scalar>() -> f64 {
    T::Real::EPSILON.to_f64()
}

fn wide<T: Scalar>(v: T) -> Complex64 {
    Complex64::new(v.re().to_f64(), v.im().to_f64())
}

/// op(A) as a dense matrix of rows, from the entries of A.
pub(crate) fn dense<T: Scalar>(n: usize, op: Op, entry: impl Fn(usize, usize) -> T) -> Vec<Vec<Complex64>> {
    let of = |i, j| match op {
        Op::Plain => wide(entry(i, j)),
        Op::Transpose => wide(entry(j, i)),
        Op::ConjTranspose => wide(entry(j, i)).conj(),
    };
    (0..n).map(|i| (0..n).map(|j| of(i, j)).collect()).collect()
}

/// Gauss-Jordan with partial pivoting; `None` if a pivot is zero.
fn inverse(mut a: Vec<Vec<Complex64>>) -> Option<Vec<Vec<Complex64>>> {
    let n = a.len();
    let unit = |i: usize| (0..n).map(|j| Complex64::new(f64::from(i == j), 0.0)).collect();
    let mut b: Vec<Vec<Complex64>> = (0..n).map(unit).collect();
    for k in 0..n {
        let best = (k..n).max_by(|&i, &j| a[i][k].norm().total_cmp(&a[j][k].norm()))?;
        a.swap(k, best);
        b.swap(k, best);
        let p = a[k][k].inv();
        if a[k][k].norm() == 0.0 {
            return None;
        }
        for row in [&mut a[k], &mut b[k]] {
            row.iter_mut().for_each(|v| *v *= p);
        }
        let (ak, bk) = (a[k].clone(), b[k].clone());
        for i in (0..n).filter(|i| *i != k) {
            let f = a[i][k];
            a[i].iter_mut().zip(&ak).for_each(|(v, u)| *v -= f * u);
            b[i].iter_mut().zip(&bk).for_each(|(v, u)| *v -= f * u);
        }
    }
    Some(b)
}

/// η by its definition, for entries of moderate size.
fn eta<T: Scalar>(a: &[Vec<Complex64>], d: &[T], x: &[T]) -> f64 {
    let norm = x.iter().map(|v| wide(*v).norm()).fold(0.0, f64::max);
    let of_row = |(row, d): (&Vec<Complex64>, &T)| {
        let r = row.iter().zip(x).fold(wide(*d), |r, (a, x)| r - a * wide(*x)).norm();
        let size = row.iter().map(|a| a.norm()).sum::<f64>() * norm + wide(*d).norm();
        if r == 0.0 { 0.0 } else { r / size }
    };
    a.iter().zip(d).map(of_row).fold(0.0, f64::max)
}

/// Check each column of `x` against the dense inverse and the report against the definition.
///
/// |rᵢ| ≤ η·(sᵢ‖x‖ + |dᵢ|) with sᵢ = Σ|aᵢⱼ| and |dᵢ| ≤ (1+η)·sᵢ‖x‖·… ≤ 2 sᵢ‖x‖ give
/// ‖x − A⁻¹d‖ ≤ 3η·K·‖x‖ with K = ‖|A⁻¹|·s‖∞. The error of the oracle is at most about n·K·ε of double precision.
pub(crate) fn check<T: Scalar>(a: &[Vec<Complex64>], d: &[T], x: &[T], report: &Report) {
    let n = a.len();
    assert_eq!(report.backward_errors.len(), d.len().checked_div(n).unwrap_or(0));
    let Some(inv) = inverse(a.to_vec()) else { panic!("the test matrix is singular") };
    let sums: Vec<f64> = a.iter().map(|row| row.iter().map(|v| v.norm()).sum()).collect();
    let skeel = inv.iter().map(|row| row.iter().zip(&sums).map(|(v, s)| v.norm() * s).sum()).fold(0.0, f64::max);
    for (k, (d, x)) in d.chunks(n.max(1)).zip(x.chunks(n.max(1))).enumerate() {
        let eta = eta(a, d, x);
        // Each term of a row is rounded at most n + 1 times.
        let rounding = (1.0 + n as f64) * eps::<T>() / 2.0 + 1e-15;
        assert!((eta - report.backward_errors[k]).abs() <= rounding, "{eta} but {}", report.backward_errors[k]);
        assert!(report.backward_errors[k] <= 8.0 * eps::<T>(), "eta = {} eps", eta / eps::<T>());
        let norm = x.iter().map(|v| wide(*v).norm()).fold(0.0, f64::max);
        let bound = (3.0 * 8.0 * eps::<T>() + n as f64 * f64::EPSILON) * skeel * norm;
        for (i, x) in x.iter().enumerate() {
            let exact: Complex64 = inv[i].iter().zip(d).map(|(v, d)| v * wide(*d)).sum();
            assert!((wide(*x) - exact).norm() <= bound, "x[{i}] = {x}, exact {exact}, bound {bound:e}");
        }
    }
}

/// Runs a generic test for all four number types.
macro_rules! for_all_scalars {
    ($name:ident) => {
        #[test]
        fn $name() {
            super::tests::generic::$name::<f32>();
            super::tests::generic::$name::<f64>();
            super::tests::generic::$name::<crate::Complex32>();
            super::tests::generic::$name::<crate::Complex64>();
        }
    };
}
pub(crate) use for_all_scalars;
