//! Which method solves a problem, and the order of its axes.

use crate::axis::AxisOperator;
use crate::cyclic::{even_rows, has_lines};
use crate::method::PoissonMethod;
use crate::transform::AxisSides;

/// Minimum number of unknowns along each axis for `bcr4` or `pscr`. On shorter axes, transforms and products are faster.
const LONG: usize = 64;
/// Minimum number of unknowns in total for `pscr`.
///
/// Products with eigenvectors are faster up to about 200 × 200 unknowns. From this limit on, their memory matters more.
const LARGE: usize = 1 << 15;
/// Length of a line below which the factors of `pscr` would take as much memory as the solution.
const SHORT: usize = 128;
/// The largest prime factor of a length for which transforms are fast.
const PRIME: usize = 7;

/// The method for a problem, and the reason for this method.
pub(crate) fn choose(axes: &[AxisOperator], shift: f64, requested: PoissonMethod) -> (PoissonMethod, String) {
    if requested != PoissonMethod::Auto {
        return (requested, "requested by name".to_owned());
    }
    if let Some(choice) = by_fractions(axes, shift) {
        return choice;
    }
    let varying = axes.iter().filter(|axis| axis.uniform.is_none()).count();
    let first = first_axis(axes).is_some_and(|axis| axes[axis].uniform.is_none());
    let reason = match varying {
        0 => "transforms are fastest for constant spacing and lengths with small prime factors",
        1 if first => {
            "tridiagonal systems along the axis with variable spacing or Robin sides, transforms along the other axes"
        }
        _ => "products with matrices of eigenvectors along axes with variable spacing or Robin sides",
    };
    (PoissonMethod::Fft, reason.to_owned())
}

/// `bcr4` or `pscr` with the reason, if one of these methods is better: only for two long axes.
fn by_fractions(axes: &[AxisOperator], shift: f64) -> Option<(PoissonMethod, String)> {
    let coupled: Vec<&AxisOperator> = axes.iter().filter(|axis| axis.len() > 1).collect();
    let [first, last] = coupled[..] else { return None };
    if first.len().min(last.len()) < LONG || shift < 0.0 || axes.iter().any(|axis| axis.least_gap() < 0.0) {
        return None;
    }
    let varying = axes.iter().filter(|axis| axis.len() > 1 && axis.uniform.is_none());
    let systems = varying.clone().any(|axis| !axis.periodic);
    let dense = varying.count() > usize::from(systems);
    if dense && first.len() * last.len() >= LARGE && (has_lines(first) || has_lines(last)) {
        let reason = "two long axes: partial solutions need less memory than products with matrices of eigenvectors";
        return Some((PoissonMethod::Pscr, reason.to_owned()));
    }
    let (length, prime) = unfit_length(first, last)?;
    let reason = format!(
        "block cyclic reduction is equally fast for all lengths; transforms of length {length}, with the prime factor {prime}, are slower"
    );
    Some((PoissonMethod::Bcr4, reason))
}

/// The length of the transform and its largest prime factor, if block cyclic reduction is faster than this transform.
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

/// The axis along which `fft` and `gemm` solve tridiagonal systems.
///
/// The order of preference is: no fast transform and not periodic, a fast transform with several unknowns, a fast transform, any axis. Axes
/// with variable spacing or Robin sides have no fast transform. Among them, the function returns the first axis with at least half of the
/// largest length. All others need matrices of eigenvectors.
fn first_axis(axes: &[AxisOperator]) -> Option<usize> {
    let long = |suits: &dyn Fn(&AxisOperator) -> bool| {
        let longest = axes.iter().filter(|axis| suits(axis)).map(AxisOperator::len).max()?;
        axes.iter().position(|axis| suits(axis) && 2 * axis.len() >= longest)
    };
    let open = long(&|axis| axis.uniform.is_none() && !axis.periodic);
    let even = |least: usize| axes.iter().position(|axis| axis.uniform.is_some() && axis.len() > least);
    open.or_else(|| even(1)).or_else(|| even(0)).or_else(|| long(&|_| true))
}

/// The axis along which the lines of `pscr` lie: the last axis that can have lines.
///
/// In two dimensions, if this axis is short, the function returns the longer axis instead. Each row of the other axis has its own factors, about ten
/// numbers per row and level, so short lines would take too much memory.
fn line_axis(axes: &[AxisOperator]) -> Option<usize> {
    let suits = |axis: &usize| axes[*axis].len() > 1 && has_lines(&axes[*axis]);
    let last = (0..axes.len()).rfind(suits)?;
    let coupled = axes.iter().filter(|axis| axis.len() > 1).count();
    if coupled > 2 || axes[last].len() >= SHORT {
        return Some(last);
    }
    (0..axes.len()).filter(suits).max_by_key(|axis| axes[*axis].len())
}

/// The axes in the order that a method needs.
///
/// For `bcr2` and `bcr4`, the axes that block cyclic reduction can reduce come first. For `bcr2`, `bcr4` and `pscr`, the last axis is the axis of the
/// lines. For other methods, the tridiagonal systems lie along the first axis.
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
