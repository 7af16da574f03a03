//! `bcr2`, `bcr4`: block cyclic reduction of radix 2 and 4 by partial fractions.
//!
//! The matrix is s·tridiag(−1, 2, −1) ⊗ I + I ⊗ R. Block rows 0 and n + 1 are the boundary, where u is 0. On level r the multiples of
//! q^r are left, q the radix. Between two of them lies a node of ℓ − 1 block rows, ℓ = q^r, and what it adds to the two follows from
//!
//! λ_j = 4 sin²(jπ/2ℓ), w_j(i) = (2/ℓ)^½ sin(ijπ/ℓ), j = 1 … ℓ − 1,
//!
//! eigenvalues and eigenvectors of tridiag(−1, 2, −1). The last node may be shorter: that is all that other sizes than 2^k − 1 change.
//!
//! Source: Myllykoski, Rossi, Toivanen, (3) to (7), (11) to (16), both sums of (11) merged.

use super::partial_fractions::{BelowAxis, FractionPiece, FractionRoot, NodeGroup, PartialFractions};
use super::spectrum::sine;
use bandsolve_kernel::{RealScalar, Simd};

/// A plan of radix 2 or 4 for `rows` block rows, all coupled by −`scale`.
pub(crate) fn plan<R: RealScalar>(
    radix: usize,
    (rows, scale): (usize, f64),
    below: BelowAxis<R>,
    simd: Simd,
) -> PartialFractions<R> {
    PartialFractions::new(rows, &stages(radix, rows, scale), below, simd)
}

/// Reductions, then substitutions.
fn stages(radix: usize, rows: usize, scale: f64) -> Vec<Vec<NodeGroup>> {
    if rows == 0 {
        return Vec::new();
    }
    let (end, mut steps) = (rows + 1, vec![1]);
    while steps[steps.len() - 1] * radix < end {
        steps.push(steps[steps.len() - 1] * radix);
    }
    let reduce = steps[1..].iter().map(|step| reduce(*step / radix, *step, end, scale));
    let substitute = steps.iter().rev().map(|step| substitute(*step, step * radix, end, scale));
    reduce.chain(substitute).filter(|stage| !stage.is_empty()).collect()
}

/// Every multiple of `step` gets what the nodes to its sides give.
fn reduce(inner: usize, step: usize, end: usize, scale: f64) -> Vec<NodeGroup> {
    let (kept, whole) = ((end - 1) / step, end / step);
    let right = |length: usize| SineNode { length, inner, scale };
    let mut groups = Vec::new();
    // Both nodes have the same roots: one solve for the two.
    let both = whole - 1;
    if both > 0 {
        let mut roots = Vec::new();
        for j in 1..step {
            let node = right(step);
            let coefficients = [node.mirrored(j), node.values(j)].concat();
            roots.push(node.root(j, coefficients, vec![scale * node.component(j, 1)]));
        }
        let ins: Vec<isize> = [right(step).points(-(step as isize)), right(step).points(0)].concat();
        let pieces = vec![FractionPiece { ins, roots }];
        groups.push(NodeGroup { base: step, stride: step, count: both, pieces, targets: vec![0], keep: true });
    }
    // The last node is shorter.
    if both < kept {
        let base = kept * step;
        let piece = |node: SineNode, from: isize, at: usize| {
            let weight = |j: usize| vec![scale * node.component(j, at)];
            let roots = (1..node.length).map(|j| node.root(j, node.values(j), weight(j))).collect();
            FractionPiece { ins: node.points(from), roots }
        };
        let pieces = vec![piece(right(step), -(step as isize), step - 1), piece(right(end - base), 0, 1)];
        groups.push(NodeGroup { base, stride: step, count: 1, pieces, targets: vec![0], keep: true });
    }
    groups
}

/// Every multiple of `inner` between two of `step`, from those two.
fn substitute(inner: usize, step: usize, end: usize, scale: f64) -> Vec<NodeGroup> {
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
        let pieces = vec![FractionPiece { ins: [points.clone(), sides.to_vec()].concat(), roots: roots.collect() }];
        NodeGroup { base, stride: step, count, pieces, targets: points, keep: false }
    };
    let last = end - whole * step;
    let of_whole = (whole > 0).then(|| group(0, step, whole));
    let of_last = (last > inner).then(|| group(whole * step, last, 1));
    of_whole.into_iter().chain(of_last).collect()
}

/// `length` − 1 block rows, of which the multiples of `inner` matter.
#[derive(Debug, Clone, Copy)]
struct SineNode {
    length: usize,
    inner: usize,
    scale: f64,
}

impl SineNode {
    /// Rows that matter, counted from where the node begins.
    fn points(&self, from: isize) -> Vec<isize> {
        (self.inner..self.length).step_by(self.inner).map(|i| from + i as isize).collect()
    }

    /// w_j(i)
    fn component(&self, j: usize, i: usize) -> f64 {
        (2.0 / self.length as f64).sqrt() * sine(i * j, self.length)
    }

    fn values(&self, j: usize) -> Vec<f64> {
        (self.inner..self.length).step_by(self.inner).map(|i| self.component(j, i)).collect()
    }

    /// Those of the node before, times w_j(ℓ − 1) / w_j(1) = (−1)^(j−1).
    fn mirrored(&self, j: usize) -> Vec<f64> {
        self.values(j).into_iter().map(|v| if j % 2 == 1 { v } else { -v }).collect()
    }

    fn root(&self, j: usize, coefficients: Vec<f64>, weights: Vec<f64>) -> FractionRoot {
        let half = sine(j, 2 * self.length);
        FractionRoot { class: j % 2, root: self.scale * (4.0 * half * half), coefficients, weights }
    }
}
