//! The preconditioner that suits a matrix, and why.

use super::PreconditionerKind;
use super::diagonal::DiagonalRule;
use super::splitting::comparable_graph;
use crate::csr::Csr;
use crate::factor::GraphFactorOptions;
use crate::forest::Forest;
use crate::graph::Graph;
use bandsolve::{RealScalar, Result, Scalar};

/// Most forests that are chosen.
const MOST: usize = 4;
/// Weight that is enough, and what another forest must add to be worth its cost.
const ENOUGH: f64 = 0.9;
const WORTH: f64 = 0.05;
/// Unknowns from which on several levels are worth their set-up.
const LARGE: usize = 2000;

/// What is asked of each row.
#[derive(Default)]
struct RowCounts {
    /// With Σ|aᵢⱼ| at most half of |aᵢᵢ|.
    strong: usize,
    /// With Σ|aᵢⱼ| at most |aᵢᵢ|, but for a tenth.
    weak: usize,
    /// Without a diagonal entry.
    without: usize,
}

impl RowCounts {
    fn of<T: Scalar>(a: &Csr<'_, T, u32>) -> Self {
        let mut counts = Self::default();
        for i in 0..a.rows() {
            let (mut d, mut whole) = (T::ZERO, 0.0);
            for (j, value) in a.row(i) {
                whole += Scalar::abs(value).to_f64();
                if j == i {
                    d += value;
                }
            }
            let d = Scalar::abs(d).to_f64();
            counts.without += usize::from(d == 0.0);
            counts.strong += usize::from(d > 0.0 && whole - d <= 0.5 * d);
            counts.weak += usize::from(d > 0.0 && whole - d <= 1.1 * d);
        }
        counts
    }
}

/// The kind that `auto` takes for a matrix, with the reason in words.
///
/// # Errors
/// Those of graphs.
pub(super) fn choose<T: Scalar>(
    a: &Csr<'_, T, u32>,
    options: &GraphFactorOptions,
) -> Result<(PreconditionerKind, String)> {
    let (n, counts) = (a.rows(), RowCounts::of(a));
    if counts.without > 0 {
        let kind = if DiagonalRule::P1.of(a).is_ok() {
            PreconditionerKind::Diagonal(DiagonalRule::P1)
        } else {
            PreconditionerKind::Identity
        };
        return Ok((kind, format!("{} of {n} rows have no diagonal entry", counts.without)));
    }
    if counts.strong == n {
        let reason = "every row's diagonal entry is twice the others together: nothing more is needed";
        return Ok((PreconditionerKind::Diagonal(DiagonalRule::Jacobi), reason.into()));
    }
    let graph = comparable_graph(a)?;
    let in_order = graph.coverage_in_order();
    if in_order > 0.99 {
        let reason = format!("{:.1}% of the weight lies beside the diagonal", 100.0 * in_order);
        return Ok((PreconditionerKind::Tridiagonal, reason));
    }
    let share = counts.weak as f64 / n as f64;
    if share < 0.5 {
        let reason = format!("only {:.0}% of the rows are weakly dominant", 100.0 * share);
        return Ok((PreconditionerKind::Ilu0, reason));
    }
    if share > 0.95 && n >= LARGE {
        let reason =
            format!("{:.0}% of the rows are weakly dominant: coarse levels represent smooth errors", 100.0 * share);
        return Ok((PreconditionerKind::AmgLines(2), reason));
    }
    let (m, covered) = count_of_forests(graph, options)?;
    Ok((PreconditionerKind::AltInner(m), covered))
}

/// So many forests as are worth it, with the reason in words.
///
/// # Errors
/// Those of [`Forest::of`].
pub(super) fn count_of_forests(mut graph: Graph, options: &GraphFactorOptions) -> Result<(usize, String)> {
    let (mut covered, mut left, mut m) = (0.0, 1.0, 0);
    while m < MOST {
        let forest = Forest::of(&graph, &GraphFactorOptions { seed: options.seed.wrapping_add(m as u64), ..*options })?;
        let gain = left * forest.coverage(&graph);
        if m > 0 && gain < WORTH {
            break;
        }
        (covered, left, m) = (covered + gain, left - gain, m + 1);
        if covered >= ENOUGH {
            break;
        }
        graph.weaken(&forest, 0.0);
    }
    let forests = if m == 1 { "forest has" } else { "forests have" };
    Ok((m, format!("{m} {forests} {:.0}% of the weight", 100.0 * covered)))
}
