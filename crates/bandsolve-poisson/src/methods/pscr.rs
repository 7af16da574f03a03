//! `pscr`: the partial-solution variant of cyclic reduction.
//!
//! B can be any tridiagonal matrix with positive couplings, with any number of block rows.
//!
//! The matrix is B ⊗ I + I ⊗ R. Row i of B = M⁻¹A is −subᵢ, subᵢ + supᵢ + gapᵢ, −supᵢ, where A is symmetric, and M is diagonal and
//! positive. Block rows 0 and n + 1 are the boundary, where u is 0.
//!
//! The marks of level r are the rows ⌊k (n + 1) / 4^(levels − r)⌋. On level 0, all rows are marks, and each mark is also a mark of the
//! level below. A *node* is the rows a + 1 … b − 1 of B between two marks a and b.
//!
//! Let Q be the eigenvectors of the symmetric matrix M^½ B_node M^−½, X = M^−½ Q and Y = M^½ Q. Then v = (B_node ⊗ I + I ⊗ R)⁻¹ g is
//!
//! ```text
//! vᵢ = Σⱼ Xᵢⱼ (R + λⱼ)⁻¹ Σₛ Yₛⱼ gₛ
//! ```
//!
//! Only the rows of X and Y at the ends of the node and at the marks of the level below are needed. The two steps are:
//!
//! - Reduction, where g is f at the marks within the node: fₐ += supₐ vₐ₊₁, f_b += sub_b v_(b−1).
//! - Substitution, after adding subₐ₊₁ uₐ to gₐ₊₁ and sup_(b−1) u_b to g_(b−1): uₛ = vₛ.
//!
//! On a periodic axis, block row 0 is the last block row, n. It is the last one to be solved, by the entry (n, n) of the inverse,
//! Σⱼ qₙⱼ² (R + μⱼ)⁻¹. Here μⱼ and qⱼ are the eigenvalues and eigenvectors of the periodic matrix M^½ B M^−½.
//!
//! # Source
//! T. Rossi, J. Toivanen, *A parallel fast direct solver for block tridiagonal systems with separable matrices of arbitrary dimension*,
//! SIAM J. Sci. Comput. 20 (1999). The formulas here also hold for nodes of any size.

use super::partial_fractions::{BelowAxis, FractionPiece, FractionRoot, NodeGroup, PartialFractions};
use super::spectrum::{PartialSpectrum, PencilRows};
use bandsolve::Result;
use bandsolve::memory::{allocate, collected, reserved};
use bandsolve_kernel::{RealScalar, Simd};

/// Number of nodes of one level within a node of the level above.
const RADIX: usize = 4;

/// The eigenvalues of a periodic axis, and the squares of the last components of its eigenvectors.
#[derive(Debug, Clone)]
pub(crate) struct RingSpectrum {
    pub eigenvalues: Vec<f64>,
    pub squares: Vec<f64>,
}

/// Set up `pscr` for the rows of B, and for the spectrum `ring` if the axis is periodic.
///
/// Returns `None` if the eigenvalue iteration fails, for example because an entry is not finite.
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

/// The stages of all reductions, followed by those of all substitutions.
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
        // Adjacent nodes add to the same row, so they are in different stages. On a periodic axis, the last node is adjacent to the first.
        let alone = |at: usize| ring.is_some() && at > 0 && at + 1 == nodes.len() && at.is_multiple_of(2);
        for turn in 0..3 {
            let nodes_of_turn = nodes.iter().enumerate().filter(|(at, _)| turn == if alone(*at) { 2 } else { at % 2 });
            let mut stage = reserved(nodes.len())?;
            for (_, node) in nodes_of_turn {
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

/// The solve for the last row of a periodic axis with n rows.
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

/// The marks of a level, in ascending order.
fn marks(end: usize, levels: u32, level: u32) -> Result<Vec<usize>> {
    let pieces = RADIX.pow(levels - level);
    let mut marks: Vec<usize> = reserved(pieces.saturating_add(1))?;
    marks.extend((0..=pieces).map(|k| k * end / pieces));
    marks.dedup();
    Ok(marks)
}

/// The rows a + 1 … b − 1, the marks among them, and the eigenpairs.
struct PencilNode {
    /// The marks a and b.
    ends: (usize, usize),
    ring: bool,
    marks: Vec<usize>,
    eigenvalues: Vec<f64>,
    /// X of the first row, of the last row and of the marks: one vector over j per row.
    x: Vec<Vec<f64>>,
    /// Y of the same rows.
    y: Vec<Vec<f64>>,
}

impl PencilNode {
    /// The node between the marks a and b, or `None` if the eigenvalue iteration fails.
    fn new((rows, ring): (PencilRows, bool), (a, b): (usize, usize), inner: &[usize]) -> Result<Option<Self>> {
        let marks: Vec<usize> = inner.iter().copied().filter(|mark| (a + 1..b).contains(mark)).collect();
        // Row i of B, counted from 1, has the index i − 1.
        let interval = PencilRows { sub: &rows.sub[a..b - 1], sup: &rows.sup[a..b - 1], gap: &rows.gap[a..b - 1] };
        let asked: Vec<usize> = [0, b - a - 2].into_iter().chain(marks.iter().map(|mark| mark - a - 1)).collect();
        let Some(spectrum) = PartialSpectrum::of(interval, &asked)? else { return Ok(None) };
        let roots = root_masses(interval)?;
        let scaled = |by: &dyn Fn(usize) -> f64| {
            let of = spectrum.components.iter().zip(&asked);
            of.map(|(row, at)| collected(row.iter().map(|q| q * by(*at)))).collect::<Result<Vec<Vec<f64>>>>()
        };
        let (x, y) = (scaled(&|at| 1.0 / roots[at])?, scaled(&|at| roots[at])?);
        Ok(Some(Self { ends: (a, b), ring, marks, eigenvalues: spectrum.eigenvalues, x, y }))
    }

    /// A group of this node alone. `of` returns the coefficients and the weights of root j.
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

    /// The marks, relative to a.
    fn points(&self) -> Vec<isize> {
        self.marks.iter().map(|mark| (mark - self.ends.0) as isize).collect()
    }

    /// Whether a row before the node and a row after it exist.
    fn sides(&self, n: usize) -> [bool; 2] {
        [self.ring || self.ends.0 > 0, self.ring || self.ends.1 <= n]
    }

    /// The reduction: the contributions of the node to the rows a and b.
    fn reduce(&self, rows: PencilRows) -> Result<Option<NodeGroup>> {
        let ((a, b), n) = (self.ends, rows.gap.len());
        let [before, after] = self.sides(n);
        // The row, its coupling to the node, and the index of the end of the node in X and Y
        let left = before.then(|| (0, rows.sup[if a > 0 { a - 1 } else { n - 1 }], 0));
        let right = after.then(|| ((b - a) as isize, rows.sub[b - 1], 1));
        let beside: Vec<(isize, f64, usize)> = left.into_iter().chain(right).collect();
        if beside.is_empty() {
            return Ok(None);
        }
        if self.ring && b - a == n {
            // a and b are the same row.
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

    /// The substitution: the marks of the node from the rows a and b.
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

/// The square roots of the diagonal entries mₖ of M, up to a common factor: subₖ₊₁ mₖ₊₁ = supₖ mₖ.
///
/// Their geometric mean is 1, which keeps overflow and underflow as far away as possible.
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
    // Products are more accurate than exponentials of sums: each step adds only its own relative rounding error.
    let mut masses = reserved(rows.gap.len())?;
    masses.push((-mean).exp());
    for k in 1..rows.gap.len() {
        masses.push(masses[k - 1] * (rows.sup[k - 1] / rows.sub[k]).sqrt());
    }
    Ok(masses)
}
