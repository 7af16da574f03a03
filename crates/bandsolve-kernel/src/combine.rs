//! Linear combinations of vectors, with one rounding for each product and each sum.

use super::Job;
use crate::job::kernel;
use crate::number::{Lanes, Scalar};

/// A vector of a [`Combine`] job.
#[derive(Clone, Copy)]
pub enum Operand<'a, T> {
    /// The target, before it is overwritten.
    Target,
    /// Another vector, at least as long as the target.
    Other(&'a [T]),
}

/// target ← plus + factor·(c₀·v₀ + c₁·v₁ + …), where the sum in parentheses is formed from left to right.
///
/// Products are not fused with sums, so the result does not depend on the instruction set.
pub struct Combine<'a, T: Scalar> {
    pub target: &'a mut [T],
    pub plus: Option<Operand<'a, T>>,
    pub factor: T,
    pub terms: &'a [(T, Operand<'a, T>)],
}

kernel!(CombineKernel: Combine<'a> => ());

/// Maximum number of terms.
pub const MOST_TERMS: usize = 8;

impl<T: Scalar> Job<T> for Combine<'_, T> {
    type Output = ();
    #[inline(always)]
    fn run<V: Lanes<Real = T::Real>>(self) {
        match self.terms.len() {
            0 if self.plus.is_none() => self.target.fill(T::ZERO),
            1 => self.combine::<V, 1>(),
            2 => self.combine::<V, 2>(),
            _ => self.combine::<V, MOST_TERMS>(),
        }
    }
}

/// A complex coefficient, or a real one with im = 0: products with parts of the same kind, and with exchanged parts.
#[derive(Clone, Copy)]
struct Coefficient<V> {
    re: V,
    im: V,
}

impl<V: Lanes> Coefficient<V> {
    #[inline(always)]
    fn new<T: Scalar<Real = V::Real>>(c: T) -> Self {
        let im = if T::COMPLEX { V::splat(-c.im()).interleave(V::splat(c.im()))[0] } else { V::splat(c.im()) };
        Self { re: V::splat(c.re()), im }
    }

    /// c·v, where real and imaginary parts alternate if complex.
    #[inline(always)]
    fn times<T: Scalar<Real = V::Real>>(self, v: V) -> V {
        if T::COMPLEX { self.re * v + self.im * v.swap_pairs() } else { self.re * v }
    }
}

impl<T: Scalar> Combine<'_, T> {
    /// With ROOM terms, or with at most [`MOST_TERMS`].
    #[inline(always)]
    fn combine<V: Lanes<Real = T::Real>, const ROOM: usize>(self) {
        let Self { target, plus, factor, terms } = self;
        assert!(terms.len() <= MOST_TERMS, "at most {MOST_TERMS} terms");
        let count = if ROOM == MOST_TERMS { terms.len() } else { ROOM };
        let (n, numbers) = (target.len(), if T::COMPLEX { 2 } else { 1 });
        let to = target.as_mut_ptr();
        let mut start = [to.cast_const(); ROOM];
        let mut by = [Coefficient::<V>::new(T::ZERO); ROOM];
        for k in 0..count {
            (by[k], start[k]) = (Coefficient::new(terms[k].0), place(terms[k].1, to, n));
        }
        let factor_of_sum = Coefficient::<V>::new(factor);
        let scaled = factor != T::ONE;
        let plus = plus.map(|plus| place(plus, to, n));
        let whole = n * numbers / V::W * V::W;
        let real = |p: *const T| p.cast::<T::Real>();
        // SAFETY: scalars are one or two numbers of their real type, and all vectors have n of them. An element is loaded before it is stored.
        unsafe {
            for i in (0..whole).step_by(V::W) {
                let mut sum = V::splat(T::Real::ZERO);
                for k in 0..count {
                    let product = by[k].times::<T>(V::load(real(start[k]).add(i)));
                    sum = if k == 0 { product } else { sum + product };
                }
                if scaled {
                    sum = factor_of_sum.times::<T>(sum);
                }
                if let Some(plus) = plus {
                    sum = V::load(real(plus).add(i)) + sum;
                }
                sum.store(to.cast::<T::Real>().add(i));
            }
            for i in whole / numbers..n {
                let mut sum = T::ZERO;
                for k in 0..count {
                    let product = terms[k].0 * *start[k].add(i);
                    sum = if k == 0 { product } else { sum + product };
                }
                if scaled {
                    sum = factor * sum;
                }
                if let Some(plus) = plus {
                    sum = *plus.add(i) + sum;
                }
                *to.add(i) = sum;
            }
        }
    }
}

/// The first element of an operand, which has n.
#[inline(always)]
fn place<T>(operand: Operand<'_, T>, target: *mut T, n: usize) -> *const T {
    match operand {
        Operand::Target => target,
        Operand::Other(v) => v[..n].as_ptr(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Simd;
    use crate::number::{Complex32, Complex64, RealScalar};

    /// All forms, for all lengths up to some vectors, are those of the definition, bit for bit.
    fn combinations<T: Scalar>() {
        let entry = |i: usize, k: usize| {
            let part = |s: usize| T::Real::from_f64(((i * 7 + k * 3 + s) as f64 * 0.37).sin());
            T::from_parts(part(1), part(2))
        };
        for simd in Simd::ALL.iter().map(|simd| simd.or_best()) {
            for n in (0..40).chain([100, 1024]) {
                let vectors: Vec<Vec<T>> = (0..6).map(|k| (0..n).map(|i| entry(i, k)).collect()).collect();
                let coefficients: Vec<T> = (0..5).map(|k| if k == 1 { T::ONE } else { entry(90, k) }).collect();
                for (count, plus, factor) in
                    (0..=5).flat_map(|count| (0..3).flat_map(move |plus| (0..2).map(move |by| (count, plus, by))))
                {
                    let factor = [T::ONE, entry(80, 9)][factor];
                    // The second vector is the target.
                    let operand = |k: usize| if k == 1 { Operand::Target } else { Operand::Other(&vectors[k]) };
                    let terms: Vec<_> = (0..count).map(|k| (coefficients[k], operand(k))).collect();
                    let plus = [None, Some(1), Some(5)][plus];
                    let mut target = vectors[1].clone();
                    let job = Combine { target: &mut target, plus: plus.map(operand), factor, terms: &terms };
                    job.run_on(simd);
                    for i in 0..n {
                        let products = (0..count).map(|k| coefficients[k] * vectors[k][i]);
                        let mut sum = products.reduce(|sum, product| sum + product).unwrap_or(T::ZERO);
                        if factor != T::ONE {
                            sum = factor * sum;
                        }
                        let expected = plus.map_or(sum, |plus| vectors[plus][i] + sum);
                        assert!(target[i] == expected, "{} {n} {count} {plus:?} {simd:?} row {i}", T::NAME);
                    }
                }
            }
        }
    }

    #[test]
    fn combinations_are_those_of_their_definition() {
        combinations::<f32>();
        combinations::<f64>();
        combinations::<Complex32>();
        combinations::<Complex64>();
    }
}
