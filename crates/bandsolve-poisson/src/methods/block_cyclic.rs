//! `bcr2`, `bcr4`: block cyclic reduction of radix 2 and 4 by partial fractions.
//!
//! The matrix is s·tridiag(−1, 2, −1) ⊗ I + I ⊗ R. Block rows 0 and n + 1 are the boundary, where u is 0.
//!
//! Let q be the radix. On level r, the block rows that are multiples of ℓ = q^r remain. A *node* is the ℓ − 1 block rows between two of
//! them. Reduction adds the contribution of each node to the two block rows next to the node. Substitution computes the block rows of each
//! node. Both use the eigenvalues and eigenvectors of tridiag(−1, 2, −1),
//!
//! ```text
//! λⱼ = 4 sin²(jπ/2ℓ),  wⱼ(i) = (2/ℓ)^½ sin(ijπ/ℓ),  j = 1 … ℓ − 1
//! ```
//!
//! If n + 1 is not a power of q, the last node is shorter.
//!
//! On a periodic axis, block row 0 is the last block row, n. It is the last one to be solved. The node of all other rows adds its
//! contributions of both ends to row n. Then
//!
//! ```text
//! uₙ = (1/n) Σⱼ (R + 4 s sin²(jπ/n))⁻¹ fₙ,  j = 0 … n − 1
//! ```
//!
//! This is the entry (n, n) of the inverse: all components of an eigenvector of a periodic axis have the same modulus. The roots j and
//! n − j are equal.
//!
//! # Source
//! M. Myllykoski, T. Rossi, J. Toivanen, PARA 2012, (3) to (7) and (11) to (16), with both sums of (11) merged.

use super::partial_fractions::{BelowAxis, FractionPiece, FractionRoot, NodeGroup, PartialFractions};
use super::spectrum::sine;
use bandsolve::Result;
use bandsolve::memory::{collected, reserved};
use bandsolve_kernel::{RealScalar, Simd};

/// Block rows with the same coupling −`scale` between all neighbors.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EvenRows {
    /// Number of block rows.
    pub rows: usize,
    pub scale: f64,
    /// Whether the last block row is coupled to the first.
    pub ring: bool,
}

/// Set up block cyclic reduction of radix 2 or 4.
pub(crate) fn plan<R: RealScalar>(
    radix: usize,
    rows: EvenRows,
    below: BelowAxis<R>,
    simd: Simd,
) -> Result<PartialFractions<R>> {
    let plan = PartialFractions::new(rows.rows, &stages(radix, rows)?, below, simd)?;
    Ok(if rows.ring { plan.in_a_ring() } else { plan })
}

/// The stages of all reductions, followed by those of all substitutions.
fn stages(radix: usize, of: EvenRows) -> Result<Vec<Vec<NodeGroup>>> {
    let EvenRows { rows, scale, ring } = of;
    if rows == 0 {
        return Ok(Vec::new());
    }
    let (end, mut steps) = (if ring { rows } else { rows + 1 }, vec![1]);
    while steps[steps.len() - 1] * radix < end {
        steps.push(steps[steps.len() - 1] * radix);
    }
    let reduce = steps[1..].iter().map(|step| reduce((*step / radix, *step), end, of));
    let substitute = steps.iter().rev().map(|step| substitute(*step, step * radix, end, scale));
    let last = if ring { last_of_ring(steps[steps.len() - 1], end, scale)? } else { Vec::new() };
    let mut stages = reduce.chain(last.into_iter().map(Ok)).chain(substitute).collect::<Result<Vec<_>>>()?;
    stages.retain(|stage| !stage.is_empty());
    Ok(stages)
}

/// The last reduction of a periodic axis, and the solve for its last row.
fn last_of_ring(inner: usize, end: usize, scale: f64) -> Result<Vec<Vec<NodeGroup>>> {
    let (node, row) = (SineNode { length: end, inner, scale }, vec![end as isize]);
    let group = |ins: Vec<isize>, roots: Vec<FractionRoot>, keep: bool| {
        let pieces = vec![FractionPiece { ins, roots }];
        NodeGroup { base: 0, stride: end, count: 1, pieces, targets: row.clone(), keep }
    };
    let both = |j: usize| vec![scale * (node.component(j, 1) + node.component(j, end - 1))];
    let given = collected((1..end).map(|j| node.root(j, node.values(j), both(j))))?;
    // Each root occurs twice, except the first one and, if the number of rows is even, the last one.
    let share = |j: usize| if j == 0 || 2 * j == end { 1.0 } else { 2.0 } / end as f64;
    let whole = (0..=end / 2).map(|j| {
        let half = sine(j, end);
        FractionRoot { class: 0, root: scale * (4.0 * half * half), coefficients: vec![1.0], weights: vec![share(j)] }
    });
    let of_others = (end > inner).then(|| group(node.points(0), given, true));
    Ok(vec![of_others.into_iter().collect(), vec![group(row.clone(), collected(whole)?, false)]])
}

/// Add the contributions of the nodes on both sides to each multiple of `step`, and on a periodic axis also to the last row.
fn reduce((inner, step): (usize, usize), end: usize, EvenRows { scale, ring, .. }: EvenRows) -> Result<Vec<NodeGroup>> {
    let (reduced, whole) = ((end - 1) / step, end / step);
    let right = |length: usize| SineNode { length, inner, scale };
    let mut groups = Vec::new();
    // If both nodes have length `step`, their roots are equal, and one solve is enough for both.
    let both = whole - 1 + usize::from(ring && end.is_multiple_of(step));
    if both > 0 {
        let mut roots = reserved(step)?;
        for j in 1..step {
            let node = right(step);
            let coefficients = [node.mirrored(j), node.values(j)].concat();
            roots.push(node.root(j, coefficients, vec![scale * node.component(j, 1)]));
        }
        let ins: Vec<isize> = [right(step).points(-(step as isize)), right(step).points(0)].concat();
        let pieces = vec![FractionPiece { ins, roots }];
        groups.push(NodeGroup { base: step, stride: step, count: both, pieces, targets: vec![0], keep: true });
    }
    // Rows next to the last node, which can be shorter
    let uneven = |base: usize, [below, above]: [usize; 2]| {
        let piece = |node: SineNode, from: isize, at: usize| {
            let weight = |j: usize| vec![scale * node.component(j, at)];
            let roots = collected((1..node.length).map(|j| node.root(j, node.values(j), weight(j))))?;
            Ok(FractionPiece { ins: node.points(from), roots })
        };
        let pieces = vec![piece(right(below), -(below as isize), below - 1)?, piece(right(above), 0, 1)?];
        Ok(NodeGroup { base, stride: step, count: 1, pieces, targets: vec![0], keep: true })
    };
    if both < reduced {
        groups.push(uneven(reduced * step, [step, end - reduced * step])?);
    }
    if ring && !end.is_multiple_of(step) {
        groups.push(uneven(end, [end - whole * step, step])?);
    }
    Ok(groups)
}

/// Compute each multiple of `inner` between two multiples of `step` from these two.
fn substitute(inner: usize, step: usize, end: usize, scale: f64) -> Result<Vec<NodeGroup>> {
    let whole = end / step;
    let group = |base: usize, length: usize, count: usize| {
        let node = SineNode { length, inner, scale };
        let points = node.points(0);
        let sides = [0, length as isize];
        let roots = (1..length).map(|j| {
            let values = node.values(j);
            let beside = [1, length - 1].map(|i| scale * node.component(j, i));
            node.root(j, [values.clone(), beside.to_vec()].concat(), values)
        });
        let ins = [points.clone(), sides.to_vec()].concat();
        let pieces = vec![FractionPiece { ins, roots: collected(roots)? }];
        Ok(NodeGroup { base, stride: step, count, pieces, targets: points, keep: false })
    };
    let last = end - whole * step;
    let of_whole = (whole > 0).then(|| group(0, step, whole));
    let of_last = (last > inner).then(|| group(whole * step, last, 1));
    of_whole.into_iter().chain(of_last).collect()
}

/// A node of `length` − 1 block rows, of which the stage uses the multiples of `inner`.
#[derive(Debug, Clone, Copy)]
struct SineNode {
    length: usize,
    inner: usize,
    scale: f64,
}

impl SineNode {
    /// The rows that the stage uses, for a node that starts at row `from`.
    fn points(&self, from: isize) -> Vec<isize> {
        (self.inner..self.length).step_by(self.inner).map(|i| from + i as isize).collect()
    }

    /// wⱼ(i)
    fn component(&self, j: usize, i: usize) -> f64 {
        (2.0 / self.length as f64).sqrt() * sine(i * j, self.length)
    }

    /// wⱼ at the rows that the stage uses.
    fn values(&self, j: usize) -> Vec<f64> {
        (self.inner..self.length).step_by(self.inner).map(|i| self.component(j, i)).collect()
    }

    /// [`values`](Self::values) for the node on the left: times wⱼ(ℓ − 1) / wⱼ(1) = (−1)^(j−1).
    fn mirrored(&self, j: usize) -> Vec<f64> {
        self.values(j).into_iter().map(|v| if j % 2 == 1 { v } else { -v }).collect()
    }

    /// The partial fraction of λⱼ.
    fn root(&self, j: usize, coefficients: Vec<f64>, weights: Vec<f64>) -> FractionRoot {
        let half = sine(j, 2 * self.length);
        FractionRoot { class: j % 2, root: self.scale * (4.0 * half * half), coefficients, weights }
    }
}
