//! `pscr`: partial-solution variant of cyclic reduction, for any tridiagonal B with positive couplings and any number of block rows.
//!
//! The matrix is B ⊗ I + I ⊗ R; row i of B = M⁻¹A is −sub_i, sub_i + sup_i + gap_i, −sup_i with a symmetric A and a diagonal M > 0.
//! Block rows 0 and n + 1 are the boundary, where u is 0. Marks of level r are ⌊k (n + 1) / 4^(levels − r)⌋: all rows on level 0, and
//! those of a level are among those of the level below. Between two marks a and b lies a node, rows a + 1 … b − 1 of B. With its
//! eigenpairs, X = M^−½ Q and Y = M^½ Q, of which only the rows at the ends and at the marks in between are needed, v = (B_node ⊗ I +
//! I ⊗ R)⁻¹ g is
//!
//! v_i = Σ_j X_ij (R + λ_j)⁻¹ Σ_s Y_sj g_s.
//!
//! Reduce: f_a += sup_a v_(a+1), f_b += sub_b v_(b−1), g being f at the marks in between. Substitute: u_s = v_s, g with sub_(a+1) u_a
//! and sup_(b−1) u_b added to its ends.
//!
//! Where the axis is periodic, block row 0 is the last one, n. It is left alone at the end, and solved for by the entry (n, n) of the
//! inverse of the whole, Σ_j q_nj² (R + μ_j)⁻¹ with the eigenvalues μ_j and the eigenvectors q_j of the ring M^½ B M^−½.
//!
//! Source: T. Rossi, J. Toivanen, *A parallel fast direct solver for block tridiagonal systems with separable matrices of arbitrary
//! dimension*, SIAM J. Sci. Comput. 20 (1999); derived anew, with nodes of any size.

use super::partial_fractions::{BelowAxis, FractionPiece, FractionRoot, NodeGroup, PartialFractions};
use super::spectrum::{PartialSpectrum, PencilRows};
use bandsolve::Result;
use bandsolve::memory::{allocate, collected, reserved};
use bandsolve_kernel::{RealScalar, Simd};

/// Nodes are cut in so many.
const RADIX: usize = 4;

/// The eigenvalues of a ring, and the squares of the last components of its eigenvectors.
#[derive(Debug, Clone)]
pub(crate) struct RingSpectrum {
    pub eigenvalues: Vec<f64>,
    pub squares: Vec<f64>,
}

/// A plan for the rows of B, of a ring with its spectrum; `None` where eigenvalues could not be found, as of numbers that are not finite.
pub(crate) fn plan<R: RealScalar>(
    rows: PencilRows,
    ring: Option<&RingSpectrum>,
    below: BelowAxis<R>,
    simd: Simd,
) -> Result<Option<PartialFractions<R>>> {
    let Some(stages) = stages(rows, ring)? else { return Ok(None) };
    let plan = PartialFractions::new(rows.gap.len(), &stages, below, simd)?;
    Ok(Some(if ring.is_some() { plan.in_a_ring() } else { plan }))
}

/// Reductions, then substitutions.
fn stages(rows: PencilRows, ring: Option<&RingSpectrum>) -> Result<Option<Vec<Vec<NodeGroup>>>> {
    if rows.gap.is_empty() {
        return Ok(Some(Vec::new()));
    }
    let end = rows.gap.len() + usize::from(ring.is_none());
    let mut levels = 1;
    while RADIX.pow(levels) < end {
        levels += 1;
    }
    let (mut reduce, mut substitute) = (Vec::new(), Vec::new());
    let mut inner = marks(end, levels, 0)?;
    for level in 1..=levels {
        let outer = marks(end, levels, level)?;
        let mut nodes: Vec<PencilNode> = reserved(outer.len())?;
        for node in outer.windows(2).filter(|node| node[1] > node[0] + 1) {
            match PencilNode::new((rows, ring.is_some()), (node[0], node[1]), &inner)? {
                Some(node) => nodes.push(node),
                None => return Ok(None),
            }
        }
        // Two nodes that are neighbours add to the same row; the last and the first of a ring may be.
        let alone = |at: usize| ring.is_some() && at > 0 && at + 1 == nodes.len() && at.is_multiple_of(2);
        for turn in 0..3 {
            let own = nodes.iter().enumerate().filter(|(at, _)| turn == if alone(*at) { 2 } else { at % 2 });
            let mut stage = reserved(nodes.len())?;
            for (_, node) in own {
                stage.extend(node.reduce(rows)?);
            }
            reduce.push(stage);
        }
        let mut stage = reserved(nodes.len())?;
        for node in &nodes {
            stage.push(node.substitute(rows)?);
        }
        substitute.push(stage);
        inner = outer;
    }
    let last = ring.map(|ring| Ok(vec![last_of_ring(rows.gap.len(), ring)?])).transpose()?;
    let stages = reduce.into_iter().chain(last).chain(substitute.into_iter().rev());
    Ok(Some(stages.filter(|stage: &Vec<NodeGroup>| !stage.is_empty()).collect()))
}

/// The last row of a ring of n from what is left.
fn last_of_ring(n: usize, ring: &RingSpectrum) -> Result<NodeGroup> {
    let roots = ring.eigenvalues.iter().zip(&ring.squares).map(|(root, square)| FractionRoot {
        class: 0,
        root: *root,
        coefficients: vec![1.0],
        weights: vec![*square],
    });
    let pieces = vec![FractionPiece { ins: vec![n as isize], roots: collected(roots)? }];
    Ok(NodeGroup { base: 0, stride: n, count: 1, pieces, targets: vec![n as isize], keep: false })
}

/// Marks of a level, ascending.
fn marks(end: usize, levels: u32, level: u32) -> Result<Vec<usize>> {
    let pieces = RADIX.pow(levels - level);
    let mut marks: Vec<usize> = reserved(pieces.saturating_add(1))?;
    marks.extend((0..=pieces).map(|k| k * end / pieces));
    marks.dedup();
    Ok(marks)
}

/// Rows a + 1 … b − 1, those that are marks, and the eigenpairs.
struct PencilNode {
    ends: (usize, usize),
    ring: bool,
    marks: Vec<usize>,
    eigenvalues: Vec<f64>,
    /// X and Y of the first row, of the last, and of the marks; by row, then by j.
    x: Vec<Vec<f64>>,
    y: Vec<Vec<f64>>,
}

impl PencilNode {
    fn new((rows, ring): (PencilRows, bool), (a, b): (usize, usize), inner: &[usize]) -> Result<Option<Self>> {
        let marks: Vec<usize> = inner.iter().copied().filter(|mark| (a + 1..b).contains(mark)).collect();
        // Row i of B, counted from 1, has index i − 1.
        let own = PencilRows { sub: &rows.sub[a..b - 1], sup: &rows.sup[a..b - 1], gap: &rows.gap[a..b - 1] };
        let asked: Vec<usize> = [0, b - a - 2].into_iter().chain(marks.iter().map(|mark| mark - a - 1)).collect();
        let Some(spectrum) = PartialSpectrum::of(own, &asked)? else { return Ok(None) };
        let roots = root_masses(own)?;
        let scaled = |by: &dyn Fn(usize) -> f64| {
            let of = spectrum.components.iter().zip(&asked);
            of.map(|(row, at)| collected(row.iter().map(|q| q * by(*at)))).collect::<Result<Vec<Vec<f64>>>>()
        };
        let (x, y) = (scaled(&|at| 1.0 / roots[at])?, scaled(&|at| roots[at])?);
        Ok(Some(Self { ends: (a, b), ring, marks, eigenvalues: spectrum.eigenvalues, x, y }))
    }

    fn group(
        &self,
        ins: Vec<isize>,
        targets: Vec<isize>,
        keep: bool,
        of: &dyn Fn(usize) -> [Vec<f64>; 2],
    ) -> Result<NodeGroup> {
        let roots = self.eigenvalues.iter().enumerate().map(|(j, root)| {
            let [coefficients, weights] = of(j);
            FractionRoot { class: 0, root: *root, coefficients, weights }
        });
        let pieces = vec![FractionPiece { ins, roots: collected(roots)? }];
        Ok(NodeGroup { base: self.ends.0, stride: 1, count: 1, pieces, targets, keep })
    }

    fn points(&self) -> Vec<isize> {
        self.marks.iter().map(|mark| (mark - self.ends.0) as isize).collect()
    }

    /// Whether there are rows before and after it.
    fn sides(&self, n: usize) -> [bool; 2] {
        [self.ring || self.ends.0 > 0, self.ring || self.ends.1 <= n]
    }

    /// What the node adds to the rows beside it.
    fn reduce(&self, rows: PencilRows) -> Result<Option<NodeGroup>> {
        let ((a, b), n) = (self.ends, rows.gap.len());
        let [before, after] = self.sides(n);
        // The row, what couples it to the node, and the end of the node.
        let left = before.then(|| (0, rows.sup[if a > 0 { a - 1 } else { n - 1 }], 0));
        let right = after.then(|| ((b - a) as isize, rows.sub[b - 1], 1));
        let beside: Vec<(isize, f64, usize)> = left.into_iter().chain(right).collect();
        if beside.is_empty() {
            return Ok(None);
        }
        if self.ring && b - a == n {
            // Both are the same row.
            let of = |j: usize| {
                let coefficients = self.y[2..].iter().map(|row| row[j]).collect();
                [coefficients, vec![beside.iter().map(|(_, by, at)| by * self.x[*at][j]).sum()]]
            };
            return self.group(self.points(), vec![(b - a) as isize], true, &of).map(Some);
        }
        let of = |j: usize| {
            let coefficients = self.y[2..].iter().map(|row| row[j]).collect();
            [coefficients, beside.iter().map(|(_, by, at)| by * self.x[*at][j]).collect()]
        };
        self.group(self.points(), beside.iter().map(|row| row.0).collect(), true, &of).map(Some)
    }

    /// The marks of the node from the rows beside it.
    fn substitute(&self, rows: PencilRows) -> Result<NodeGroup> {
        let ((a, b), n) = (self.ends, rows.gap.len());
        let [before, after] = self.sides(n);
        let left = before.then(|| (0, rows.sub[a], 0));
        let right = after.then(|| ((b - a) as isize, rows.sup[b - 2], 1));
        let beside: Vec<(isize, f64, usize)> = left.into_iter().chain(right).collect();
        let ins = self.points().into_iter().chain(beside.iter().map(|row| row.0)).collect();
        let of = |j: usize| {
            let marks = self.y[2..].iter().map(|row| row[j]);
            let coefficients = marks.chain(beside.iter().map(|(_, by, at)| by * self.y[*at][j])).collect();
            [coefficients, self.x[2..].iter().map(|row| row[j]).collect()]
        };
        self.group(ins, self.points(), false, &of)
    }
}

/// The square roots of the masses of rows, up to a common factor: sub_(k+1) m_(k+1) = sup_k m_k. Scaled to a geometric mean of 1, so
/// that none is near the end of the range sooner than it must be.
fn root_masses(rows: PencilRows) -> Result<Vec<f64>> {
    let mut logarithms: Vec<f64> = reserved(rows.gap.len())?;
    logarithms.push(0.0);
    for k in 1..rows.gap.len() {
        logarithms.push(logarithms[k - 1] + 0.5 * (rows.sup[k - 1] / rows.sub[k]).ln());
    }
    let mean = logarithms.iter().sum::<f64>() / logarithms.len() as f64;
    if logarithms.iter().all(|v| *v == 0.0) {
        return allocate(logarithms.len(), 1.0);
    }
    // Products, not exponentials of sums: each step adds a rounding error of its own and no more.
    let mut masses = reserved(rows.gap.len())?;
    masses.push((-mean).exp());
    for k in 1..rows.gap.len() {
        masses.push(masses[k - 1] * (rows.sup[k - 1] / rows.sub[k]).sqrt());
    }
    Ok(masses)
}
