//! Which method solves a problem, and the order of its axes.

use crate::axis::AxisOperator;
use crate::cyclic::{even_rows, has_lines};
use crate::method::PoissonMethod;
use crate::transform::AxisSides;

/// Unknowns along each axis from which on partial fractions may be faster than transforms and products.
const LONG: usize = 64;
/// Unknowns from which on memory matters, so that partial solutions take the place of eigenvectors, which are faster up to some 200 × 200.
const LARGE: usize = 1 << 15;
/// Unknowns along a line below which factors of partial solutions would take as much memory as the solution.
const SHORT: usize = 128;
/// Largest prime factor with which transforms are fast.
const PRIME: usize = 7;

/// Which method solves a problem, and why.
pub(crate) fn choose(axes: &[AxisOperator], shift: f64, asked: PoissonMethod) -> (PoissonMethod, String) {
    if asked != PoissonMethod::Auto {
        return (asked, "asked for".to_owned());
    }
    if let Some(choice) = by_fractions(axes, shift) {
        return choice;
    }
    let varying = axes.iter().filter(|axis| axis.uniform.is_none()).count();
    let first = first_axis(axes).is_some_and(|axis| axes[axis].uniform.is_none());
    let reason = match varying {
        0 => "transforms and tridiagonal systems are the fastest where lengths have small prime factors",
        1 if first => "tridiagonal systems along the axis whose spacing varies, transforms along the others",
        _ => "products by eigenvectors along axes whose spacing varies",
    };
    (PoissonMethod::Fft, reason.to_owned())
}

/// Block cyclic reduction, or partial solutions, where they are faster: of two long axes.
fn by_fractions(axes: &[AxisOperator], shift: f64) -> Option<(PoissonMethod, String)> {
    let coupled: Vec<&AxisOperator> = axes.iter().filter(|axis| axis.len() > 1).collect();
    let [first, last] = coupled[..] else { return None };
    if first.len().min(last.len()) < LONG || shift < 0.0 {
        return None;
    }
    let varying = axes.iter().filter(|axis| axis.len() > 1 && axis.uniform.is_none());
    let systems = varying.clone().any(|axis| !axis.periodic);
    let dense = varying.count() > usize::from(systems);
    if dense && first.len() * last.len() >= LARGE && (has_lines(first) || has_lines(last)) {
        let reason = "partial solutions; eigenvectors of axes whose spacing varies would take more memory, and more time where axes are long";
        return Some((PoissonMethod::Pscr, reason.to_owned()));
    }
    let (length, prime) = unfit_length(first, last)?;
    let reason = format!(
        "block cyclic reduction takes all lengths alike; transforms of length {length}, with the prime factor {prime}, are slower"
    );
    Some((PoissonMethod::Bcr4, reason))
}

/// The length of the transform of two dimensions and its largest prime factor, if block cyclic reduction is faster for that.
fn unfit_length(first: &AxisOperator, last: &AxisOperator) -> Option<(usize, usize)> {
    if last.periodic || first.periodic || even_rows(first).is_none() {
        return None;
    }
    let length = match last.uniform?.1 {
        AxisSides::NodeDirichlet => last.len() + 1,
        AxisSides::NodeNeumann => last.len() - 1,
        _ => last.len(),
    };
    let prime = largest_prime_factor(length);
    (prime > PRIME).then_some((length, prime))
}

fn largest_prime_factor(mut n: usize) -> usize {
    let (mut largest, mut factor) = (1, 2);
    while factor * factor <= n {
        if n.is_multiple_of(factor) {
            (n, largest) = (n / factor, factor);
        } else {
            factor += 1;
        }
    }
    largest.max(n)
}

/// The axis along which `fft` and `gemm` solve systems: one whose spacing varies, if there is one, not periodic if there is such a one.
///
/// Of several the first that is at least half as long as the longest: the others have matrices of eigenvectors.
fn first_axis(axes: &[AxisOperator]) -> Option<usize> {
    let long = |suits: &dyn Fn(&AxisOperator) -> bool| {
        let longest = axes.iter().filter(|axis| suits(axis)).map(AxisOperator::len).max()?;
        axes.iter().position(|axis| suits(axis) && 2 * axis.len() >= longest)
    };
    let open = long(&|axis| axis.uniform.is_none() && !axis.periodic);
    let even = |least: usize| axes.iter().position(|axis| axis.uniform.is_some() && axis.len() > least);
    open.or_else(|| even(1)).or_else(|| even(0)).or_else(|| long(&|_| true))
}

/// The axis along which partial solutions have their lines: the last one that has lines, or of two the longer one if that is short, since
/// the rows of the other keep factors of their own, some ten numbers a row and level.
fn line_axis(axes: &[AxisOperator]) -> Option<usize> {
    let suits = |axis: &usize| axes[*axis].len() > 1 && has_lines(&axes[*axis]);
    let last = (0..axes.len()).rfind(suits)?;
    let coupled = axes.iter().filter(|axis| axis.len() > 1).count();
    if coupled > 2 || axes[last].len() >= SHORT {
        return Some(last);
    }
    (0..axes.len()).filter(suits).max_by_key(|axis| axes[*axis].len())
}

/// The axes in the order in which a method wants them.
///
/// Block cyclic reduction wants the axes first that it reduces; the last one of methods that reduce axes has systems that are lines.
pub(crate) fn solving_order(axes: &[AxisOperator], method: PoissonMethod) -> [Option<usize>; 3] {
    let mut order: Vec<usize> = (0..axes.len()).collect();
    match method {
        PoissonMethod::Bcr2 | PoissonMethod::Bcr4 => {
            order.sort_by_key(|axis| axes[*axis].len() > 1 && even_rows(&axes[*axis]).is_none());
        }
        PoissonMethod::Pscr => {
            let line = line_axis(axes);
            order.sort_by_key(|axis| Some(*axis) == line);
        }
        _ => order.sort_by_key(|axis| Some(*axis) != first_axis(axes)),
    }
    match order[..] {
        [first, last] => [Some(first), None, Some(last)],
        _ => [0, 1, 2].map(|k| order.get(k).copied()),
    }
}
