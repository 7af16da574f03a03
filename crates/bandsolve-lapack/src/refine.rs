//! Iterative refinement with error bounds for every right-hand side.

use crate::number::{larger, power_of_two_near, rounding};
use bandsolve::{Op, RealScalar, RefinedColumns, RefinedSystem, Scalar, StoppingRule};
use bandsolve_kernel::estimate::norm_1;
use core::convert::Infallible;

/// The entries of a matrix.
pub trait MatrixEntries<T> {
    /// Maximum number of entries per row.
    fn row_entries(&self) -> usize;
    /// Call `visit(i, j, a_ij)` for every entry.
    fn visit(&self, visit: impl FnMut(usize, usize, T));
}

/// The factors of a matrix.
pub trait FactoredMatrix<T: Scalar> {
    /// Number of unknowns.
    fn n(&self) -> usize;
    /// v ← op(A)⁻¹·v. With factors of Hermitian matrices, op is not the transpose.
    fn solve(&self, op: Op, v: &mut [T]);
    /// v ← op(A)⁻ᴴ·v
    fn solve_adjoint(&self, op: Op, v: &mut [T]) {
        match op {
            Op::Plain => self.solve(Op::ConjTranspose, v),
            Op::ConjTranspose => self.solve(Op::Plain, v),
            Op::Transpose => {
                v.iter_mut().for_each(|v| *v = Scalar::conj(*v));
                self.solve(Op::Plain, v);
                v.iter_mut().for_each(|v| *v = Scalar::conj(*v));
            }
        }
    }
    /// ‖ |op(A)⁻¹|·w ‖∞ = ‖op(A)⁻¹·diag(w)‖∞, or an estimate of this norm. `w`, `first` and `second` may be
    /// overwritten.
    fn amplify(&self, op: Op, w: &mut [T::Real], first: &mut [T], second: &mut [T]) -> T::Real {
        // Use weights near 1 and s·A⁻¹, which has approximately the size of the result. A⁻¹ alone may leave the
        // exponent range.
        let s = power_of_two_near(w.iter().fold(T::Real::ZERO, |m, w| larger(*w, m)));
        w.iter_mut().for_each(|w| *w = *w / s);
        let weigh = |v: &mut [T]| v.iter_mut().zip(&*w).for_each(|(v, w)| *v = v.scale(*w));
        let scale = |v: &mut [T]| v.iter_mut().for_each(|v| *v = v.scale(s));
        // The norm is the 1-norm of the adjoint.
        let Ok(norm) = norm_1([first, second], |adjoint, v: &mut [T]| {
            if adjoint {
                weigh(v);
                scale(v);
                self.solve(op, v);
            } else {
                scale(v);
                self.solve_adjoint(op, v);
                weigh(v);
            }
            Ok::<_, Infallible>(())
        });
        T::Real::from_f64(norm)
    }
}

/// A system op(A)·x = b with the factors of A.
#[derive(Debug)]
pub struct FactoredSystem<A, F> {
    /// The matrix A.
    pub a: A,
    /// The factors of A.
    pub factors: F,
    /// The operation on A.
    pub op: Op,
}

impl<A, F> FactoredSystem<A, F> {
    /// r ← b − op(A)·x and w ← |op(A)|·|x| + |b|, where |·| is |Re| + |Im|.
    fn residual<T: Scalar>(&self, (x, b): (&[T], &[T]), (r, w): (&mut [T], &mut [T::Real]))
    where
        A: MatrixEntries<T>,
    {
        r.copy_from_slice(b);
        w.iter_mut().zip(b).for_each(|(w, b)| *w = b.abs1());
        let mut take = |i: usize, j: usize, a: T| {
            r[i] -= a * x[j];
            w[i] += a.abs1() * x[j].abs1();
        };
        match self.op {
            Op::Plain => self.a.visit(take),
            Op::Transpose => self.a.visit(|i, j, a| take(j, i, a)),
            Op::ConjTranspose => self.a.visit(|i, j, a| take(j, i, Scalar::conj(a))),
        }
    }
}

/// Error bounds of one solution.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bounds<R> {
    /// An upper bound of ‖x − exact x‖∞ / ‖x‖∞, up to the accuracy of the norm estimate.
    pub forward: R,
    /// maxᵢ |b − op(A)x|ᵢ / (|op(A)||x| + |b|)ᵢ: the smallest relative change of any entry of A and b that makes x exact.
    pub backward: R,
}

/// Scratch for one right-hand side.
#[derive(Debug)]
pub struct RefineScratch<'a, T: Scalar> {
    /// n real numbers.
    pub weights: &'a mut [T::Real],
    /// n numbers.
    pub first: &'a mut [T],
    /// n numbers.
    pub second: &'a mut [T],
}

/// Refine x until its componentwise backward error is at most u, or no longer halves, and bound its error.
///
/// ```text
/// x ← x + op(A)⁻¹·(b − op(A)·x)
/// ‖x − x*‖∞ / ‖x‖∞ ≤ ‖ |op(A)⁻¹|·(|r| + (k+1)·u·(|op(A)|·|x| + |b|)) ‖∞ / ‖x‖∞
/// ```
///
/// k is the number of entries in a row, u the rounding error. (k+1)·u·(…) bounds the rounding errors in r.
///
/// # Cost
/// One residual and one solve per step, then 4 or 5 solves for [`FactoredMatrix::amplify`].
///
/// # Source
/// M. Arioli, J. Demmel, I. Duff, SIAM J. Matrix Anal. Appl. 10 (1989); N. J. Higham, Accuracy and Stability of Numerical
/// Algorithms, chapters 7 and 12.
pub fn refine<T: Scalar>(
    system: &FactoredSystem<impl MatrixEntries<T>, impl FactoredMatrix<T>>,
    b: &[T],
    x: &mut [T],
    s: RefineScratch<'_, T>,
) -> Bounds<T::Real> {
    let RefineScratch { weights, first, second } = s;
    let u = rounding::<T::Real>();
    let entries = T::Real::from_f64((system.a.row_entries() + 1) as f64);
    let tiny = entries * T::Real::MIN_POSITIVE;
    let floor = Floor { tiny, small: tiny / u };
    let solve = |r: &mut [T]| {
        system.factors.solve(system.op, r);
        Ok::<_, Infallible>(())
    };
    let measure = |x: &[T], r: &mut [T], progress: &mut [RefinedSystem]| {
        system.residual((x, b), (r, weights));
        progress[0].error = floor.backward_error(r, weights).to_f64();
    };
    let (mut progress, rule) = ([RefinedSystem::open()], StoppingRule::componentwise(u.to_f64()));
    // LAPACK returns the last x, even if the step before it was better.
    let mut column = RefinedColumns { x, r: first, before: None, solve, measure };
    let Ok(_) = bandsolve::refine(&rule, &mut progress, &mut column);
    let backward = T::Real::from_f64(progress[0].error);
    for (w, r) in weights.iter_mut().zip(&*first) {
        let extra = if *w > floor.small { T::Real::ZERO } else { tiny };
        *w = r.abs1() + entries * u * *w + extra;
    }
    let error = system.factors.amplify(system.op, weights, first, second);
    let size = x.iter().fold(T::Real::ZERO, |m, x| larger(x.abs1(), m));
    Bounds { forward: if size > T::Real::ZERO { error / size } else { error }, backward }
}

/// Weights up to `small` are sums of products in which underflow can cause errors up to `tiny`.
struct Floor<R> {
    tiny: R,
    small: R,
}

impl<R: RealScalar> Floor<R> {
    fn backward_error<T: Scalar<Real = R>>(&self, r: &[T], w: &[R]) -> R {
        r.iter().zip(w).fold(R::ZERO, |worst, (r, w)| {
            let extra = if *w > self.small { R::ZERO } else { self.tiny };
            worst.max_nan((r.abs1() + extra) / (*w + extra))
        })
    }
}
