//! Large tridiagonal systems in parallel, by [`bandsolve::Plan`].
//!
//! LAPACK's `gtsv` returns x and INFO, and the diagonals of U as details of its elimination. The parallel solve has no such U, and leaves
//! the matrix unchanged. INFO > 0 must still report an exact zero on the diagonal of U in the elimination from the top. Such a zero
//! requires that A is singular to working precision. A solve with a random right-hand side then gives a very large x. Therefore the
//! function solves one more column, with
//!
//! ```text
//! pᵢ = ωᵢ·(|subᵢ| + |diagᵢ| + |supᵢ|),   −1 ≤ ωᵢ < 1 at random
//! ```
//!
//! The solution y is large even if the x of the caller is not. Elimination with partial pivoting is exact for a matrix whose rows differ
//! by at most 8ε of their sum. If that matrix is singular, a row of A⁻¹·diag(p) has the sum 1/(8ε) or more, and its product with random
//! numbers is at least approximately 1/√(3n) of this sum. If ‖y‖∞ ≥ 1/(64·ε·√n), where LAPACK's x would have few correct digits, the
//! system is solved by elimination from the top.

use crate::gt::GtMatrix;
use crate::number::LapackScalar;
use crate::raw::RawColumns;
use crate::settings::{Partition, partition};
use crate::wide::{self, WideJob};
use bandsolve::dyn_stack::PodStack;
use bandsolve::memory::buffer;
use bandsolve::{Factor, Method, Op, Plan, RealScalar, Scalar, Tridiagonal};
use bandsolve_kernel::memory::zeros;

/// Minimum number of unknowns for which partitions are faster. Measured on an Intel Xeon with AVX-512, two cores.
const CROSSOVER: usize = 1 << 11;

/// Number of right-hand sides that are solved at the same time.
const RHS_GROUP: usize = 7;

/// Solve A·x = rhs for all columns in place; A does not change.
///
/// # Cost
/// Two solves by partitions for one column, and one for each further column. Memory for 2 to 8 columns.
///
/// # Errors
/// Systems that need elimination from the top: small systems, systems that are singular to working precision, and
/// systems that miss the accuracy contract of [`bandsolve`]. The number is the number of columns that are already
/// solved, from the first. The other columns are unchanged.
pub fn solve<T: LapackScalar>(a: GtMatrix<'_, T>, rhs: &mut RawColumns<'_, T>) -> Result<(), usize> {
    let n = rhs.rows();
    let plan = plan(n).filter(|_| rhs.count() > 0).ok_or(0usize)?;
    let matrix = Tridiagonal::new(a.sub, a.diag, a.sup).map_err(|_| 0usize)?;
    let mut x = zeros::<T>(n * rhs.count().min(RHS_GROUP)).ok_or(0usize)?;
    let mut b = zeros(if rhs.leading() == n { n } else { x.len() }).ok_or(0usize)?;
    if !regular(a, &plan, &mut b[..n], &mut x[..n]) {
        return Err(0);
    }
    let factors = plan.factor(&matrix).map_err(|_| 0usize)?;
    for first in (0..rhs.count()).step_by(RHS_GROUP) {
        let columns = first..(first + RHS_GROUP).min(rhs.count());
        let x = &mut x[..n * columns.len()];
        let b = if rhs.leading() == n {
            &rhs.elements()[first * n..][..x.len()]
        } else {
            columns.clone().zip(b.chunks_mut(n)).for_each(|(j, b)| b.copy_from_slice(rhs.column(j)));
            &b[..x.len()]
        };
        let mut memory = buffer(factors.solve_scratch(columns.len())).map_err(|_| first)?;
        let report = factors.solve_into_with(Op::Plain, b, x, PodStack::new(&mut memory)).map_err(|_| first)?;
        if report.fallback {
            return Err(first);
        }
        columns.zip(x.chunks(n)).for_each(|(j, x)| rhs.column(j).copy_from_slice(x));
    }
    Ok(())
}

fn plan(n: usize) -> Option<Plan> {
    let plan = || Plan::once(bandsolve::Shape::Tridiagonal { n, periodic: false });
    match partition() {
        Partition::Usual if n >= CROSSOVER => Some(plan()),
        Partition::Rows(rows) if n > 0 => Some(plan().method(Method::Rpts).partition_rows(rows)),
        _ => None,
    }
}

/// Whether the solution y for the right-hand side p shows that A is far from singular. Both arrays are scratch.
fn regular<T: LapackScalar>(a: GtMatrix<'_, T>, plan: &Plan, p: &mut [T], y: &mut [T]) -> bool {
    let limit = 1.0 / (64.0 * T::Real::EPSILON.to_f64() * (p.len() as f64).sqrt());
    let Ok(matrix) = Tridiagonal::new(a.sub, a.diag, a.sup) else { return false };
    if !wide::run(ProbeRows { a, p: &mut *p }) {
        return false;
    }
    let unverified = plan.clone().verify(false);
    let solved = unverified.factor(&matrix).and_then(|factors| {
        let mut memory = buffer(factors.solve_scratch(1))?;
        factors.solve_into_with(Op::Plain, p, y, PodStack::new(&mut memory))
    });
    solved.is_ok() && wide::run(AllBelow { y, limit: T::Real::from_f64(limit) })
}

/// p ← random numbers times the row sums of |A|; returns whether no row is zero.
struct ProbeRows<'a, T> {
    a: GtMatrix<'a, T>,
    p: &'a mut [T],
}

impl<T: LapackScalar> WideJob for ProbeRows<'_, T> {
    type Output = bool;

    #[inline(always)]
    fn run(self) -> bool {
        let n = self.p.len();
        let mut regular = true;
        let mut set = |i: usize, p: &mut T, sum: T::Real| {
            regular &= sum > T::Real::ZERO;
            *p = T::from_real(sum * T::Real::from_f64(random(i as u32)));
        };
        let GtMatrix { sub, diag, sup } = self.a;
        if n == 1 {
            set(0, &mut self.p[0], diag[0].abs1());
            return regular;
        }
        set(0, &mut self.p[0], diag[0].abs1() + sup[0].abs1());
        set(n - 1, &mut self.p[n - 1], diag[n - 1].abs1() + sub[n - 2].abs1());
        let rows = self.p[1..n - 1].iter_mut().zip(&diag[1..n - 1]).zip(sub).zip(&sup[1..]);
        for (i, (((p, diag), sub), sup)) in rows.enumerate() {
            set(i + 1, p, diag.abs1() + sub.abs1() + sup.abs1());
        }
        regular
    }
}

/// A number in [−1, 1) from a hash of `i`. The hash uses 32 bits, because vectors have products of that size.
#[inline(always)]
fn random(i: u32) -> f64 {
    let h = i.wrapping_add(0x9e37_79b9);
    let h = (h ^ (h >> 16)).wrapping_mul(0x85eb_ca6b);
    let h = (h ^ (h >> 13)).wrapping_mul(0xc2b2_ae35);
    f64::from((h ^ (h >> 16)) as i32) * 0.5f64.powi(31)
}

/// Whether all entries of y are below the limit, and none is NaN.
struct AllBelow<'a, T: Scalar> {
    y: &'a [T],
    limit: T::Real,
}

impl<T: LapackScalar> WideJob for AllBelow<'_, T> {
    type Output = bool;

    #[inline(always)]
    fn run(self) -> bool {
        // No early exit, so that the comparisons can use vectors.
        self.y.iter().fold(true, |below, y| below & (y.abs1() < self.limit))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::TestRng;

    fn run(sub: &[f64], diag: &[f64], sup: &[f64], x: &mut [f64], count: usize) -> Result<(), usize> {
        let n = diag.len();
        solve(GtMatrix { sub, diag, sup }, &mut RawColumns::over(x, n, count, n))
    }

    #[test]
    fn large_systems_are_solved() {
        let (n, count) = (5000, 2 * RHS_GROUP + 1);
        let mut rng = TestRng(4);
        let (sub, diag, sup) = (rng.vector::<f64>(n - 1), rng.vector::<f64>(n), rng.vector::<f64>(n - 1));
        let expected = rng.vector::<f64>(n * count);
        let a = Tridiagonal::new(&sub, &diag, &sup).unwrap();
        let rhs: Vec<f64> = expected.chunks(n).flat_map(|x| a.apply(x).unwrap()).collect();
        let mut x = rhs.clone();
        assert_eq!(run(&sub, &diag, &sup, &mut x, count), Ok(()));
        for (x, b) in x.chunks(n).zip(rhs.chunks(n)) {
            let size = x.iter().fold(0.0f64, |m, x| m.max(x.abs()));
            // The accuracy contract: 64ε of a row sum, here at most 3, times the largest x.
            let limit = 64.0 * f64::EPSILON * (3.0 * size + 3.0);
            let wrong = a.apply(x).unwrap().iter().zip(b).position(|(a, b)| !((a - b).abs() <= limit));
            assert_eq!(wrong, None, "x up to {size:.1e}");
        }
    }

    #[test]
    fn singular_systems_are_left_to_elimination_even_if_they_can_be_solved() {
        let n = 4000;
        // Second differences with two free ends: every right-hand side with the sum zero has solutions.
        let (off, mut diag) = (vec![-1.0; n - 1], vec![2.0; n]);
        (diag[0], diag[n - 1]) = (1.0, 1.0);
        let mut x = vec![0.0; n];
        (x[5], x[n - 9]) = (1.0, -1.0);
        let rhs = x.clone();
        assert_eq!(run(&off, &diag, &off, &mut x, 1), Err(0));
        assert_eq!(x, rhs, "x must not change");
        // The same test for many sizes, so that random signs cannot cancel by chance.
        for n in CROSSOVER..CROSSOVER + 300 {
            diag[n - 1] = 1.0;
            let mut x = vec![0.0; n];
            (x[5], x[n - 9]) = (1.0, -1.0);
            assert_eq!(run(&off[..n - 1], &diag[..n], &off[..n - 1], &mut x, 1), Err(0), "n = {n}");
            diag[n - 1] = 2.0;
        }
        // A row of zeros with the right-hand side zero.
        let mut rng = TestRng(8);
        let (mut sub, mut diag, mut sup) = (rng.vector::<f64>(n - 1), rng.vector::<f64>(n), rng.vector::<f64>(n - 1));
        (sub[99], diag[100], sup[100]) = (0.0, 0.0, 0.0);
        let mut x = vec![0.0; n];
        assert_eq!(run(&sub, &diag, &sup, &mut x, 1), Err(0));
        // Two equal rows.
        (sub[99], diag[100], sup[100]) = (1.0, 1.0, 0.0);
        (sub[98], diag[99], sup[99]) = (0.0, 1.0, 1.0);
        assert_eq!(run(&sub, &diag, &sup, &mut x, 1), Err(0));
    }

    #[test]
    fn what_is_not_finite_is_left_to_elimination() {
        let n = 4000;
        let (off, mut diag) = (vec![1.0; n - 1], vec![4.0; n]);
        let mut x = vec![1.0; n];
        x[7] = f64::NAN;
        assert_eq!(run(&off, &diag, &off, &mut x, 1), Err(0));
        x[7] = 1.0;
        diag[3000] = f64::INFINITY;
        assert_eq!(run(&off, &diag, &off, &mut x, 1), Err(0));
    }

    #[test]
    fn small_systems_and_no_columns_are_left_to_elimination() {
        assert_eq!(run(&[1.0], &[4.0, 4.0], &[1.0], &mut [1.0, 1.0], 1), Err(0));
        assert_eq!(run(&vec![1.0; 3999], &vec![4.0; 4000], &vec![1.0; 3999], &mut [], 0), Err(0));
    }
}
