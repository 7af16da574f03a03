//! Large tridiagonal systems in parallel, by [`bandsolve::Plan`].
//!
//! LAPACK's `gtsv` leaves x and INFO behind, and, as details of its elimination, the diagonals of U. In parallel there is no
//! such U: the matrix is left as it was. INFO > 0 must still be what elimination from the top finds, an exact zero on U's
//! diagonal. That can only be where A is singular to working precision, and there a solve with random right-hand sides
//! gives an x that is huge, by the largest entry of A⁻¹ or nearly so. So one more column is solved, with
//!
//! $$ p_i = \pm\,(|\mathtt{sub}_i| + |\mathtt{diag}_i| + |\mathtt{sup}_i|) $$
//!
//! whose solution y shows it even if the caller's right-hand side does not. Elimination with partial pivoting is exact for
//! rows changed by at most 8ε of their sum; if that matrix is singular, some row of A⁻¹·diag(p) has the sum 1/(8ε) or more,
//! and its product with random signs is about 1/√n of that at least. From ‖y‖∞ = 1/(64·ε·√n) on, where LAPACK's answer
//! would have few correct digits, the system is therefore left to the elimination from the top.

use crate::gt::Matrix;
use crate::number::{Number, larger};
use crate::raw::Columns;
use crate::settings::{Partition, partition};
use bandsolve::dyn_stack::{PodBuffer, PodStack};
use bandsolve::{Factor, Method, Op, Plan, RealScalar, Scalar, Tridiagonal};

/// Unknowns from which on partitions pay. Measured on an AMD Zen 4 with two cores.
const CROSSOVER: usize = 1 << 11;

/// Right-hand sides that are solved together.
const GROUP: usize = 7;

/// Solves A·x = rhs for all columns in place, or returns `false` if that is better left to elimination from the top: small
/// systems, singular ones to working precision, and all that the contract of [`bandsolve`] would not accept. A is kept; of
/// the columns some may then hold solutions already, in whole groups from the first on, and the number of these is
/// returned.
///
/// # Errors
/// The number of columns that are solved.
pub fn solve<T: Number>(a: Matrix<'_, T>, rhs: &mut Columns<'_, T>) -> Result<(), usize> {
    let plan = plan(a.diag.len()).filter(|_| rhs.count() > 0).ok_or(0usize)?;
    let matrix = Tridiagonal::new(a.sub, a.diag, a.sup).map_err(|_| 0usize)?;
    let factors = plan.factor(&matrix).map_err(|_| 0usize)?;
    let probe = probe(a).ok_or(0usize)?;
    for first in (0..rhs.count()).step_by(GROUP) {
        let last = (first + GROUP).min(rhs.count());
        let probe = if first == 0 { &probe[..] } else { &[] };
        let solution = group(&factors, rhs, first..last, probe).ok_or(first)?;
        for (j, x) in (first..last).zip(solution.chunks(rhs.rows())) {
            rhs.column(j).copy_from_slice(x);
        }
    }
    Ok(())
}

fn plan(n: usize) -> Option<Plan> {
    let plan = Plan::new(bandsolve::Shape::Tridiagonal { n, periodic: false });
    match partition() {
        Partition::Usual if n >= CROSSOVER => Some(plan),
        Partition::Rows(rows) if n > 0 => Some(plan.method(Method::Rpts).partition_rows(rows)),
        _ => None,
    }
}

/// p, or `None` if a row is zero.
fn probe<T: Number>(a: Matrix<'_, T>) -> Option<Vec<T>> {
    let n = a.diag.len();
    let mut p = reserve(n)?;
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    for i in 0..n {
        let size = |v: &[T], i: usize| v.get(i).map_or(T::Real::ZERO, |v| v.abs1());
        let sum = size(a.diag, i) + size(a.sub, i.wrapping_sub(1)) + size(a.sup, i);
        if sum == T::Real::ZERO {
            return None;
        }
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        p.push(T::from_real(if state >> 63 == 0 { sum } else { -sum }));
    }
    Some(p)
}

/// Solves for some of the columns, and the probe unless it is empty; `None` unless all went well.
fn group<T: Number>(
    factors: &impl Factor<T>,
    rhs: &mut Columns<'_, T>,
    columns: core::ops::Range<usize>,
    probe: &[T],
) -> Option<Vec<T>> {
    let n = rhs.rows();
    let ours = n * columns.len();
    let mut b = reserve(ours + probe.len())?;
    columns.for_each(|j| b.extend_from_slice(rhs.column(j)));
    b.extend_from_slice(probe);
    let mut memory = PodBuffer::try_new(factors.solve_in_place_scratch(b.len() / n)).ok()?;
    let report = factors.solve_in_place_with(Op::Plain, &mut b, PodStack::new(&mut memory)).ok()?;
    let y = b[ours..].iter().fold(T::Real::ZERO, |m, y| larger(y.abs1(), m));
    let limit = 1.0 / (64.0 * T::Real::EPSILON.to_f64() * (n as f64).sqrt());
    (!report.fallback && y.to_f64() < limit).then_some(b)
}

/// Room for `n` numbers.
fn reserve<T>(n: usize) -> Option<Vec<T>> {
    let mut v = Vec::new();
    v.try_reserve_exact(n).ok()?;
    Some(v)
}
