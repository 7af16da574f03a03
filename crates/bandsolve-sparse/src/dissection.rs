//! Nested dissection: an order of the unknowns in which the factors of a sparse Hermitian matrix have few entries.

use crate::graph::Graph;
use crate::ordering::LevelWalk;
use bandsolve::memory::{allocate, collected, push, reserved};
use bandsolve::{Result, interrupt};
use core::ops::Range;

/// The most vertices of a part without a separator.
const LEAF: usize = 32;

/// The largest number of nested separators. Deeper parts are not cut.
const DEPTH: usize = 100;

/// A part of a [`Dissection`]: vertices that are eliminated together, after those of its children.
///
/// # Examples
/// ```
/// use bandsolve_sparse::{Csr, Graph};
/// // A path of 100 vertices. The border of the first part is its next separator.
/// let edges: Vec<_> = (1..100).map(|i| (i - 1, i, 1.0)).collect();
/// let dissection = Graph::of(&Csr::<f64>::from_triplets(100, 100, &edges)?)?.nested_dissection()?;
/// let part = &dissection.parts[0];
/// assert!(part.children[0].is_empty() && part.border.len() == 1 && part.rows() == part.own.len() + 1);
/// # Ok::<(), bandsolve::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct DissectionPart {
    /// The places of its vertices in the order.
    pub own: Range<usize>,
    /// The parts in which its children and their descendants are, which end with the child. Either none, or two.
    pub children: [Range<usize>; 2],
    /// The places of later vertices that are adjacent to its vertices, or to those of its descendants. They are in ascending order.
    pub border: Vec<u32>,
}

impl DissectionPart {
    /// Number of rows of the dense matrix in which the vertices are eliminated.
    pub fn rows(&self) -> usize {
        self.own.len() + self.border.len()
    }
}

/// An order of the vertices of a graph by nested separators. Parts follow their children, and the last part is the root.
///
/// # Examples
/// ```
/// use bandsolve_sparse::{Graph, nine_point};
/// // The band of a grid of 100 × 100 points has 10⁶ numbers on each side of the diagonal.
/// let a = nine_point([[0.0, -1.0, 0.0], [-1.0, 4.0, -1.0], [0.0, -1.0, 0.0]], (100, 100));
/// assert!(Graph::of(&a)?.nested_dissection()?.entries() < 5e5);
/// # Ok::<(), bandsolve::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Dissection {
    /// Element k is the vertex at place k.
    pub order: Vec<u32>,
    /// The parts, in the order of their vertices.
    pub parts: Vec<DissectionPart>,
}

impl Dissection {
    /// Number of entries of the factor L of a matrix with this graph, with the zeros inside the parts.
    pub fn entries(&self) -> f64 {
        self.sum(|rows| rows)
    }

    /// Number of flops to compute the factor L of a matrix with this graph.
    pub fn flops(&self) -> f64 {
        self.sum(|rows| rows * rows)
    }

    /// The sum over all vertices of a function of the number of rows below and including the vertex.
    fn sum(&self, of: impl Fn(f64) -> f64) -> f64 {
        let part = |part: &DissectionPart| (0..part.own.len()).map(|k| of((part.rows() - k) as f64)).sum::<f64>();
        self.parts.iter().map(part).sum()
    }
}

impl Graph {
    /// Compute an order of the vertices by nested dissection. The factors of a Hermitian matrix with this graph then have few entries.
    ///
    /// A separator is a set of vertices without which the graph falls apart. Its vertices come last. The algorithm goes on with both sides, down to
    /// parts of 32 vertices. Separators are levels of a walk from a vertex far from the others. The algorithm chooses the smallest level in the middle
    /// half of the vertices, and keeps only those of its vertices that have neighbors in the next level.
    ///
    /// For a grid of n points in two dimensions, the factors have approximately 8·n·log₂ n entries. A band has n^1.5.
    ///
    /// # Cost
    /// Time for log₂ n walks over all edges, on one thread. 20 bytes per vertex, and four bytes for each vertex adjacent to a part.
    ///
    /// # Source
    /// A. George, Nested dissection of a regular finite element mesh, SIAM Journal on Numerical Analysis 10, 1973; A. George, J. W. H. Liu, An automatic
    /// nested dissection algorithm for irregular finite element problems, SIAM Journal on Numerical Analysis 15, 1978.
    ///
    /// # Errors
    /// [`bandsolve::Error::OutOfMemory`]. [`bandsolve::Error::Interrupted`] if the caller stops the search.
    ///
    /// # Examples
    /// ```
    /// use bandsolve_sparse::{Csr, Graph};
    /// // A path of 100 vertices: the vertex in the middle separates it.
    /// let edges: Vec<_> = (1..100).map(|i| (i - 1, i, 1.0)).collect();
    /// let dissection = Graph::of(&Csr::<f64>::from_triplets(100, 100, &edges)?)?.nested_dissection()?;
    /// assert_eq!(dissection.parts.last().map(|root| root.own.len()), Some(1));
    /// # Ok::<(), bandsolve::Error>(())
    /// ```
    pub fn nested_dissection(&self) -> Result<Dissection> {
        let n = self.vertices();
        let mut cut = DissectionState { walk: LevelWalk::new(self, true)?, found: reserved(n)?, parts: Vec::new() };
        let mut order = collected(0..n as u32)?;
        if n > 0 {
            cut.part(&mut order, 0, DEPTH)?;
        }
        let mut parts = cut.parts;
        self.borders(&order, &mut parts)?;
        Ok(Dissection { order, parts })
    }

    /// Set the borders of the parts.
    fn borders(&self, order: &[u32], parts: &mut [DissectionPart]) -> Result<()> {
        let mut places = allocate(order.len(), 0_u32)?;
        order.iter().zip(0..).for_each(|(v, place)| places[*v as usize] = place);
        // The last part whose border contains a place.
        let mut seen = allocate(order.len(), 0_usize)?;
        for k in 0..parts.len() {
            interrupt::check()?;
            let (before, rest) = parts.split_at_mut(k);
            let DissectionPart { own, children, border } = &mut rest[0];
            let mut add = |place: u32| match place as usize {
                at if at >= own.end && seen[at] <= k => {
                    seen[at] = k + 1;
                    push(border, place)
                }
                _ => Ok(()),
            };
            for child in children.iter().filter(|child| !child.is_empty()) {
                before[child.end - 1].border.iter().try_for_each(|place| add(*place))?;
            }
            for v in &order[own.clone()] {
                self.edges(*v as usize).try_for_each(|(u, _)| add(places[u]))?;
            }
            border.sort_unstable();
        }
        Ok(())
    }
}

/// The state of a dissection.
struct DissectionState<'a> {
    /// All vertices outside of the current part are seen.
    walk: LevelWalk<'a>,
    /// The vertices of the current part in the order of the walk.
    found: Vec<u32>,
    parts: Vec<DissectionPart>,
}

impl DissectionState<'_> {
    /// Order the vertices of a part, which begin at place `at`, and append its descendants and the part. All vertices are seen, before and after.
    fn part(&mut self, vertices: &mut [u32], at: usize, depth: usize) -> Result<()> {
        interrupt::check()?;
        let first = self.parts.len();
        let [left, right] = if vertices.len() > LEAF && depth > 0 { self.separate(vertices)? } else { [0, 0] };
        let mut children = [0..0, 0..0];
        if left > 0 && right > 0 {
            let (one, rest) = vertices.split_at_mut(left);
            self.part(one, at, depth - 1)?;
            let middle = self.parts.len();
            self.part(&mut rest[..right], at + left, depth - 1)?;
            children = [first..middle, middle..self.parts.len()];
        }
        let below = if children[0].is_empty() { 0 } else { left + right };
        let own = at + below..at + vertices.len();
        push(&mut self.parts, DissectionPart { own, children, border: Vec::new() })
    }

    /// Reorder the vertices: two sides without edges between them, and the separator. Returns the sizes of the sides. One of them is 0 if the part
    /// cannot be separated.
    fn separate(&mut self, vertices: &mut [u32]) -> Result<[usize; 2]> {
        let n = vertices.len();
        vertices.iter().for_each(|v| self.walk.seen[*v as usize] = false);
        self.found.clear();
        let start = self.walk.far_end(vertices[0], &mut self.found)?;
        self.walk.levels(start, false, &mut self.found)?;
        if self.found.len() < n {
            return self.components(vertices);
        }
        let levels = &self.walk.levels;
        let end = |level: usize| levels.get(level + 1).copied().unwrap_or(n);
        let size = |level: &usize| end(*level) - levels[*level];
        let inner = 1..levels.len().saturating_sub(1);
        let balanced = inner.clone().filter(|level| 4 * levels[*level] >= n && 4 * (n - end(*level)) >= n);
        let median = || inner.clone().min_by_key(|level| n.abs_diff(levels[*level] + end(*level)));
        let Some(level) = balanced.min_by_key(size).or_else(median) else { return Ok([0, 0]) };
        let (from, to) = (levels[level], end(level));
        let next = to..end(level + 1);
        // Of the level, only vertices with neighbors in the next level separate.
        let marked = &mut self.walk.seen;
        self.found[next.clone()].iter().for_each(|v| marked[*v as usize] = false);
        let graph = self.walk.graph;
        let separates = |v: &u32| graph.edges(*v as usize).any(|(u, _)| !marked[u]);
        let (mut left, mut last) = (from, n);
        vertices[..from].copy_from_slice(&self.found[..from]);
        for v in &self.found[from..to] {
            if separates(v) {
                last -= 1;
                vertices[last] = *v;
            } else {
                vertices[left] = *v;
                left += 1;
            }
        }
        vertices[left..last].copy_from_slice(&self.found[to..]);
        self.found[next].iter().for_each(|v| self.walk.seen[*v as usize] = true);
        Ok([left, last - left])
    }

    /// Separate the connected components into two sides of similar size. The first component is found.
    fn components(&mut self, vertices: &mut [u32]) -> Result<[usize; 2]> {
        let n = vertices.len();
        let mut left = self.found.len();
        for v in vertices.iter().copied() {
            let end = self.found.len();
            if n.abs_diff(2 * end) < n.abs_diff(2 * left) {
                left = end;
            }
            if !self.walk.seen[v as usize] {
                self.walk.levels(v, false, &mut self.found)?;
            }
        }
        vertices.copy_from_slice(&self.found);
        Ok([left, n - left])
    }
}
