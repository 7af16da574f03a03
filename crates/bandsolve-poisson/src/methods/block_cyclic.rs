//! `bcr2`, `bcr4`: block cyclic reduction of radix 2 and 4 by partial fractions.
//!
//! The matrix is s·tridiag(−1, 2, −1) ⊗ I + I ⊗ R. Block rows 0 and n + 1 are the boundary, where u is 0. On level r the multiples of
//! q^r are left, q the radix. Between two of them lies a node of ℓ − 1 block rows, ℓ = q^r, and what it adds to the two follows from
//!
//! λ_j = 4 sin²(jπ/2ℓ), w_j(i) = (2/ℓ)^½ sin(ijπ/ℓ), j = 1 … ℓ − 1,
//!
//! eigenvalues and eigenvectors of tridiag(−1, 2, −1). The last node may be shorter: that is all that other sizes than 2^k − 1 change.
//!
//! Where the axis is periodic, block row 0 is the last one, n. Row n is left alone at the end: it gets what the node of all other rows
//! gives at both of its ends, and what remains for it is the entry (n, n) of the inverse of the whole,
//!
//! u_n = (1/n) Σ_j (R + 4 s sin²(jπ/n))⁻¹ f_n, j = 0 … n − 1,
//!
//! the eigenvectors of a ring having the same modulus at all places. Roots j and n − j are the same.
//!
//! Source: Myllykoski, Rossi, Toivanen, (3) to (7), (11) to (16), both sums of (11) merged.

use super::partial_fractions::{BelowAxis, FractionPiece, FractionRoot, NodeGroup, PartialFractions};
use super::spectrum::sine;
use bandsolve::Result;
use bandsolve::memory::{collected, reserved};
use bandsolve_kernel::{RealScalar, Simd};

/// Block rows that are all coupled by −`scale` to the next.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EvenRows {
    pub rows: usize,
    pub scale: f64,
    /// The last one is coupled to the first.
    pub ring: bool,
}

/// A plan of radix 2 or 4.
pub(crate) fn plan<R: RealScalar>(
    radix: usize,
    rows: EvenRows,
    below: BelowAxis<R>,
    simd: Simd,
) -> Result<PartialFractions<R>> {
    let plan = PartialFractions::new(rows.rows, &stages(radix, rows)?, below, simd)?;
    Ok(if rows.ring { plan.in_a_ring() } else { plan })
}

/// Reductions, then substitutions.
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

/// What is left of a ring: its last row gets what the node of all others gives, and is solved for.
fn last_of_ring(inner: usize, end: usize, scale: f64) -> Result<Vec<Vec<NodeGroup>>> {
    let (node, row) = (SineNode { length: end, inner, scale }, vec![end as isize]);
    let group = |ins: Vec<isize>, roots: Vec<FractionRoot>, keep: bool| {
        let pieces = vec![FractionPiece { ins, roots }];
        NodeGroup { base: 0, stride: end, count: 1, pieces, targets: row.clone(), keep }
    };
    let both = |j: usize| vec![scale * (node.component(j, 1) + node.component(j, end - 1))];
    let given = collected((1..end).map(|j| node.root(j, node.values(j), both(j))))?;
    // Every root twice but the first and, of an even number of rows, the last.
    let share = |j: usize| if j == 0 || 2 * j == end { 1.0 } else { 2.0 } / end as f64;
    let whole = (0..=end / 2).map(|j| {
        let half = sine(j, end);
        FractionRoot { class: 0, root: scale * (4.0 * half * half), coefficients: vec![1.0], weights: vec![share(j)] }
    });
    let of_others = (end > inner).then(|| group(node.points(0), given, true));
    Ok(vec![of_others.into_iter().collect(), vec![group(row.clone(), collected(whole)?, false)]])
}

/// Every multiple of `step` gets what the nodes to its sides give; of a ring its last row, too.
fn reduce((inner, step): (usize, usize), end: usize, EvenRows { scale, ring, .. }: EvenRows) -> Result<Vec<NodeGroup>> {
    let (kept, whole) = ((end - 1) / step, end / step);
    let right = |length: usize| SineNode { length, inner, scale };
    let mut groups = Vec::new();
    // Both nodes have the same roots: one solve for the two.
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
    // The last node is shorter.
    let uneven = |base: usize, [left, own]: [usize; 2]| {
        let piece = |node: SineNode, from: isize, at: usize| {
            let weight = |j: usize| vec![scale * node.component(j, at)];
            let roots = collected((1..node.length).map(|j| node.root(j, node.values(j), weight(j))))?;
            Ok(FractionPiece { ins: node.points(from), roots })
        };
        let pieces = vec![piece(right(left), -(left as isize), left - 1)?, piece(right(own), 0, 1)?];
        Ok(NodeGroup { base, stride: step, count: 1, pieces, targets: vec![0], keep: true })
    };
    if both < kept {
        groups.push(uneven(kept * step, [step, end - kept * step])?);
    }
    if ring && !end.is_multiple_of(step) {
        groups.push(uneven(end, [end - whole * step, step])?);
    }
    Ok(groups)
}

/// Every multiple of `inner` between two of `step`, from those two.
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
