//! Linear forests: the paths of [0, 2]-factors whose cycles are broken.
//!
//! # Source
//! C. J. Klein, dissertation, Heidelberg 2022, section 4.3.3. Here, threads walk along the paths from their ends. On a CPU this takes fewer steps
//! than a scan with doubled strides.

use crate::csr::Csr;
use crate::factor::{GraphFactor, GraphFactorOptions, NONE};
use crate::graph::Graph;
use crate::multiply::atomic_zeros;
use crate::rows::{Ragged, TASK, each_row};
use bandsolve::matrix::Index;
use bandsolve::memory::{allocate, collected, more, push, reserved, zeroed};
use bandsolve::{Error, Result, Scalar, Tridiagonal, interrupt};
use bandsolve_kernel::permutation::Permutation;
use bandsolve_kernel::spread::{RowsOf, each_chunk};
use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};

/// A linear forest: disjoint paths that together contain all vertices of a graph.
///
/// A vertex without a partner is a path of its own. In the order of the paths, the entries of the matrix along the forest form a tridiagonal matrix
/// ([`tridiagonal`](Self::tridiagonal)).
///
/// Each path begins at the end with the smaller number. This number is the name of the path, and the paths are in ascending order of their names.
///
/// # Examples
/// ```
/// use bandsolve_sparse::{Csr, Forest, Graph, GraphFactorOptions};
/// // The path 0–2–1.
/// let a = Csr::<f64>::from_triplets(3, 3, &[(0, 2, -1.0), (1, 2, -1.0)])?;
/// let graph = Graph::of(&a)?;
/// let forest = Forest::of(&graph, &GraphFactorOptions::default())?;
/// assert_eq!(forest.order().collect::<Vec<_>>(), [0, 2, 1]);
/// assert_eq!(forest.coverage(&graph), 1.0);
/// # Ok::<(), bandsolve::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Forest {
    /// The vertices, path by path.
    permutation: Permutation,
    /// The name of the path of each vertex.
    paths: Vec<u32>,
    cycles: usize,
}

impl Forest {
    /// Find a [0, 2]-factor of a graph, and return its paths.
    ///
    /// # Errors
    /// Those of [`GraphFactor::of`], and [`Error::InvalidArgument`] if `degree` is above 2.
    pub fn of(graph: &Graph, options: &GraphFactorOptions) -> Result<Self> {
        Self::from_factor(graph, &GraphFactor::of(graph, options)?)
    }

    /// Return the paths of a [0, 2]-factor. Each cycle is broken at its edge of the smallest weight.
    ///
    /// Among edges of equal weight in a cycle, the function removes the edge with the smallest smaller end. Among several such edges, it removes the
    /// edge with the smallest larger end.
    ///
    /// # Cost
    /// Proportional to the number of vertices.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if the factor allows more than two partners per vertex. [`Error::Shape`] if the sizes of graph and factor differ.
    pub fn from_factor(graph: &Graph, factor: &GraphFactor) -> Result<Self> {
        let n = graph.vertices();
        if factor.degree() > 2 {
            let problem = format!("has degree {}", factor.degree());
            return Err(Error::invalid("factor", problem, "degree 1 or 2, the edges of a vertex of a path"));
        }
        if factor.vertices() != n {
            return Err(Error::Shape { what: "vertices of the factor", expected: n, got: factor.vertices() });
        }
        Ok(Self::from_pairs(&factor.pairs()?, &|v, u| graph.weight(v, u))?.0)
    }

    /// Return the paths of a [0, 2]-factor, or the path in the given order of the unknowns if it has a larger coverage.
    ///
    /// Unknowns are often numbered along strong couplings.
    ///
    /// # Errors
    /// As [`from_factor`](Self::from_factor).
    ///
    /// # Examples
    /// ```
    /// use bandsolve_sparse::{Csr, Forest, Graph, GraphFactor, GraphFactorOptions};
    /// let a = Csr::<f64>::from_triplets(3, 3, &[(0, 1, 2.0), (1, 2, 1.0), (2, 0, 1.0)])?;
    /// let graph = Graph::of(&a)?;
    /// let factor = GraphFactor::of(&graph, &GraphFactorOptions::default())?;
    /// let forest = Forest::heaviest(&graph, &factor)?;
    /// assert!(forest.coverage(&graph) >= graph.coverage_in_order());
    /// # Ok::<(), bandsolve::Error>(())
    /// ```
    pub fn heaviest(graph: &Graph, factor: &GraphFactor) -> Result<Self> {
        let forest = Self::from_factor(graph, factor)?;
        // Do not compare a matching with paths.
        if factor.degree() < 2 || graph.coverage_in_order() <= forest.coverage(graph) {
            return Ok(forest);
        }
        let mut partners = allocate(graph.vertices(), [NONE; 2])?;
        each_row(&mut partners, &|v, partners| {
            let beside = |(u, _): &(usize, f64)| v.abs_diff(*u) == 1;
            partners.iter_mut().zip(graph.edges(v).filter(beside)).for_each(|(partner, (u, _))| *partner = u as u32);
            0
        });
        Ok(Self::from_pairs(&partners, &|v, u| graph.weight(v, u))?.0)
    }

    /// Whether all edges of the paths are edges of a factor.
    pub fn is_of(&self, factor: &GraphFactor) -> bool {
        let is_edge = |v: usize, u: u32| u == NONE || factor.partners(v).any(|partner| partner == u as usize);
        (0..self.vertices()).all(|v| self.linked(v).iter().all(|u| is_edge(v, *u)))
    }

    /// The paths of a [0, 2]-factor, given by the partners of each vertex, and the edges at which cycles were broken.
    pub(crate) fn from_pairs(
        partners: &[[u32; 2]],
        weight: &(impl Fn(usize, usize) -> f64 + Sync),
    ) -> Result<(Self, Vec<[u32; 2]>)> {
        interrupt::check()?;
        let seen: Vec<AtomicBool> = collected(partners.iter().map(|_| AtomicBool::new(false)))?;
        let mut paths = FoundPaths::between_ends(partners, &seen)?;
        let cycles = paths.without_ends(partners, &seen, weight)?;
        cycles.iter().try_for_each(|path| paths.insert(*path))?;
        let left_out = collected(cycles.iter().map(|path| [path.end, path.other]))?;
        Ok((paths.forest(partners, cycles.len())?, left_out))
    }

    /// One path through all vertices, in the given order.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn in_order(n: usize) -> Result<Self> {
        Self::placed(allocate(n, 0)?, collected(0..n as u32)?, 0)
    }

    /// The lines of a grid with `columns` × `rows` vertices, which are numbered row by row. With `along_rows`, the lines are the rows of the grid,
    /// otherwise its columns.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn grid_lines(columns: usize, rows: usize, along_rows: bool) -> Result<Self> {
        let vertices = (0..columns * rows).map(|v| (v % columns, v / columns));
        let of = |(x, y): (usize, usize)| if along_rows { (y * columns, x) } else { (x, y) };
        let paths = collected(vertices.clone().map(|v| of(v).0 as u32))?;
        Self::placed(paths, collected(vertices.map(|v| of(v).1 as u32))?, 0)
    }

    /// The lines of a grid of n vertices along its rows, and those along its columns: see [`grid_lines`](Self::grid_lines).
    ///
    /// # Errors
    /// [`Error::Shape`] if n is not `columns` × `rows`; [`Error::OutOfMemory`].
    ///
    /// # Examples
    /// ```
    /// use bandsolve_sparse::Forest;
    /// let [along_rows, along_columns] = Forest::grid_axes(6, [3, 2])?;
    /// assert_eq!([along_rows.path(5), along_columns.path(5)], [3, 2]);
    /// # Ok::<(), bandsolve::Error>(())
    /// ```
    pub fn grid_axes(n: usize, [columns, rows]: [usize; 2]) -> Result<[Self; 2]> {
        if columns.checked_mul(rows) != Some(n) {
            let got = columns.saturating_mul(rows);
            return Err(Error::Shape { what: "unknowns of the grid", expected: n, got });
        }
        Ok([Self::grid_lines(columns, rows, true)?, Self::grid_lines(columns, rows, false)?])
    }

    /// A forest from the path of every vertex and its position on this path.
    fn placed(paths: Vec<u32>, positions: Vec<u32>, cycles: usize) -> Result<Self> {
        let n = paths.len();
        let mut starts = allocate(n + 1, 0)?;
        paths.iter().for_each(|path| starts[*path as usize + 1] += 1);
        (0..n).for_each(|v| starts[v + 1] += starts[v]);
        let mut places = positions;
        each_row(&mut places, &|v, place| {
            *place += starts[paths[v] as usize];
            0
        });
        let permutation = Permutation::from_places(places, zeroed(n)?).expect("each position on a path once");
        Ok(Self { permutation, paths, cycles })
    }

    /// Number of vertices.
    pub fn vertices(&self) -> usize {
        self.permutation.len()
    }

    /// The vertices path by path. In this order, the matrix of the forest is tridiagonal.
    pub fn order(&self) -> impl ExactSizeIterator<Item = usize> + Clone + '_ {
        self.permutation.order().iter().map(|v| *v as usize)
    }

    /// Whether a path begins at this place of the order.
    pub(crate) fn begins(&self, place: usize) -> bool {
        let v = self.permutation.order()[place];
        self.paths[v as usize] == v
    }

    /// The permutation to the order of the paths, with its inverse.
    pub(crate) fn permutation(&self) -> &Permutation {
        &self.permutation
    }

    /// The name of the path of a vertex: the number of its smaller end.
    pub fn path(&self, v: usize) -> usize {
        self.paths[v] as usize
    }

    /// The place of a vertex in [`order`](Self::order).
    pub fn place(&self, v: usize) -> usize {
        self.permutation.places()[v] as usize
    }

    /// Number of cycles of the factor, all of which were broken.
    pub fn cycles(&self) -> usize {
        self.cycles
    }

    /// The number of vertices of each path, in order.
    pub fn lengths(&self) -> impl Iterator<Item = usize> + '_ {
        self.permutation.order().chunk_by(|a, b| self.paths[*a as usize] == self.paths[*b as usize]).map(<[u32]>::len)
    }

    /// Whether two vertices are neighbors on a path.
    pub fn are_linked(&self, v: usize, u: usize) -> bool {
        self.paths[v] == self.paths[u] && self.permutation.places()[v].abs_diff(self.permutation.places()[u]) == 1
    }

    /// The vertices before and after a vertex on its path, or [`NONE`] at an end.
    #[inline]
    pub(crate) fn linked(&self, v: usize) -> [u32; 2] {
        let (place, path) = (self.permutation.places()[v] as usize, self.paths[v]);
        let other = |place: usize| {
            let other = self.permutation.order().get(place).copied();
            other.filter(|u| self.paths[*u as usize] == path).unwrap_or(NONE)
        };
        [other(place.wrapping_sub(1)), other(place + 1)]
    }

    /// The coverage: the share of the paths in the total edge weight of the graph, from 0 to 1.
    pub fn coverage(&self, graph: &Graph) -> f64 {
        graph.share(|v| {
            let linked = self.linked(v);
            move |u| linked.contains(&(u as u32))
        })
    }

    /// Extract the tridiagonal matrix of the forest: the diagonal of a matrix and its entries along the paths, in the order of the forest.
    ///
    /// # Errors
    /// [`Error::Shape`] if the sizes of matrix and forest differ.
    pub fn tridiagonal<T: Scalar, I: Index>(&self, a: &Csr<'_, T, I>) -> Result<Tridiagonal<'static, T>> {
        self.tridiagonal_of(a, &|_, _, value| value)
    }

    /// Extract the tridiagonal matrix as [`tridiagonal`](Self::tridiagonal) does, with `entry(row, column, value)` instead of each entry.
    pub(crate) fn tridiagonal_of<T: Scalar, I: Index>(
        &self,
        a: &Csr<'_, T, I>,
        entry: &(impl Fn(usize, usize, T) -> T + Sync),
    ) -> Result<Tridiagonal<'static, T>> {
        let n = self.vertices();
        if (a.rows(), a.columns()) != (n, n) {
            let got = if a.rows() == n { a.columns() } else { a.rows() };
            return Err(Error::Shape { what: "rows and columns of the matrix", expected: n, got });
        }
        let mut rows: Vec<[T; 3]> = zeroed(n)?;
        self.permutation.scatter(&mut rows, &|v| {
            let (mut row, linked) = ([T::ZERO; 3], self.linked(v));
            for (u, value) in a.row(v) {
                let other = u as u32;
                if u == v || linked.contains(&other) {
                    let k = if u == v { 1 } else { 2 * usize::from(other == linked[1]) };
                    row[k] += entry(v, u, value);
                }
            }
            row
        });
        let mut bands: [Vec<T>; 3] = [zeroed(n)?, zeroed(n)?, zeroed(n)?];
        let [sub, diag, sup] = bands.each_mut().map(|band| RowsOf(band, TASK));
        each_chunk((n.div_ceil(TASK), 2), (sub, diag, sup), &|task, (sub, diag, sup)| {
            let rows = rows[task * TASK..].iter().zip(sub.0.iter_mut().zip(diag.0).zip(sup.0));
            rows.for_each(|(row, ((sub, diag), sup))| (*sub, *diag, *sup) = (row[0], row[1], row[2]));
        });
        let [sub, diag, sup] = bands;
        Tridiagonal::from_vecs(sub, diag, sup, false)
    }
}

/// Paths in ascending order of their smaller ends, grouped by pieces of the vertices.
struct FoundPaths(Vec<PathsOfPiece>);

/// The paths of a piece, or an error if the memory did not suffice.
type PathsOfPiece = Result<Vec<FoundPath>>;

/// Empty lists for a number of pieces.
fn pieces(count: usize) -> Result<Vec<PathsOfPiece>> {
    collected((0..count).map(|_| Ok(Vec::new())))
}

/// Add a path to the list of a piece.
fn add(paths: &mut PathsOfPiece, path: FoundPath) {
    if let Err(error) = paths.as_mut().map_or(Ok(()), |paths| push(paths, path)) {
        *paths = Err(error);
    }
}

/// A path: its smaller end, its other end, and its number of vertices.
#[derive(Debug, Clone, Copy)]
struct FoundPath {
    end: u32,
    other: u32,
    length: u32,
    /// Whether it is a cycle without the edge between its ends.
    is_cycle: bool,
}

impl FoundPath {
    /// Visit the vertices, starting at the smaller end.
    #[inline]
    fn walk(&self, partners: &[[u32; 2]], visit: impl FnMut(usize)) {
        walk(partners, (self.end as usize, if self.is_cycle { self.other } else { NONE }), visit);
    }
}

impl FoundPaths {
    /// Find the paths that have ends, on all threads, and mark their vertices as seen.
    fn between_ends(partners: &[[u32; 2]], seen: &[AtomicBool]) -> Result<Self> {
        let n = partners.len();
        let mut paths = pieces(n.div_ceil(TASK))?;
        each_chunk((paths.len(), 2), RowsOf(&mut paths, 1), &|task, paths| {
            let (first, mut walked) = (task * TASK, [false; TASK]);
            for v in first..(first + TASK).min(n) {
                // If both ends are in this piece, walk from one of them only.
                if partners[v].contains(&NONE) && !walked[v - first] {
                    let path = walk(partners, (v, NONE), |u| seen[u].store(true, Ordering::Relaxed));
                    if path.end <= path.other {
                        add(&mut paths.0[0], path);
                        if let Some(walked) = walked.get_mut(path.other as usize - first) {
                            *walked = true;
                        }
                    }
                }
            }
        });
        paths.iter().try_for_each(|piece| piece.as_ref().map(|_| ()).map_err(Error::clone))?;
        Ok(Self(paths))
    }

    /// Find the cycles among the unseen vertices, on all threads, and break each at its weakest edge. In the order of their smallest vertices.
    fn without_ends(
        &self,
        partners: &[[u32; 2]],
        seen: &[AtomicBool],
        weight: &(impl Fn(usize, usize) -> f64 + Sync),
    ) -> Result<Vec<FoundPath>> {
        let mut paths = pieces(self.0.len())?;
        each_chunk((paths.len(), 2), RowsOf(&mut paths, 1), &|task, paths| {
            let first = task * TASK;
            for v in first..(first + TASK).min(partners.len()) {
                if !seen[v].load(Ordering::Relaxed) && is_smallest(partners, v as u32) {
                    add(&mut paths.0[0], broken_cycle(weight, partners, v));
                }
            }
        });
        let count = paths.iter().flatten().map(Vec::len).sum();
        let mut all = reserved(count)?;
        for piece in paths {
            all.extend(piece?);
        }
        Ok(all)
    }

    /// Insert a path whose end is not the end of another path.
    fn insert(&mut self, path: FoundPath) -> Result<()> {
        let piece = self.0[path.end as usize / TASK].as_mut().expect("errors were returned when the paths were found");
        more(piece, 1)?;
        piece.insert(piece.partition_point(|other| other.end < path.end), path);
        Ok(())
    }

    /// The paths of a piece.
    fn of_piece(&self, piece: usize) -> &[FoundPath] {
        self.0[piece].as_deref().unwrap_or(&[])
    }

    /// The forest of these paths.
    fn forest(&self, partners: &[[u32; 2]], cycles: usize) -> Result<Forest> {
        let n = partners.len();
        let (mut starts, mut filled) = (reserved(self.0.len() + 1)?, 0);
        starts.push(0);
        for piece in 0..self.0.len() {
            filled += self.of_piece(piece).iter().map(|path| path.length as usize).sum::<usize>();
            starts.push(filled);
        }
        let mut order = zeroed(n)?;
        let (places, paths) = (atomic_zeros(n)?, atomic_zeros(n)?);
        let out = Ragged { values: &mut order, starts: &starts };
        each_chunk((self.0.len(), 2), out, &|task, order| {
            let mut place = 0;
            for path in self.of_piece(task) {
                path.walk(partners, |v| {
                    // Each vertex is on exactly one path, so that no two threads write the same element.
                    order.values[place] = v as u32;
                    places[v].store((starts[task] + place) as u32, Ordering::Relaxed);
                    paths[v].store(path.end, Ordering::Relaxed);
                    place += 1;
                });
            }
        });
        let plain = |numbers: Vec<AtomicU32>| numbers.into_iter().map(AtomicU32::into_inner).collect();
        let permutation = Permutation::from_order(order, plain(places)).expect("each vertex on one path");
        Ok(Forest { permutation, paths: plain(paths), cycles })
    }
}

/// Visit the vertices of a path from one end to the other. For a cycle, omit the edge between the end and `before`.
#[inline]
fn walk(partners: &[[u32; 2]], (end, mut before): (usize, u32), mut visit: impl FnMut(usize)) -> FoundPath {
    let (mut v, mut length, is_cycle) = (end, 0, before != NONE);
    loop {
        visit(v);
        length += 1;
        let after = next(partners, v, before);
        if after == NONE || after == before || after == end as u32 {
            return FoundPath { end: end as u32, other: v as u32, length, is_cycle };
        }
        (before, v) = (v as u32, after as usize);
    }
}

/// The partner of v other than `before`. If there is no other, `before` or [`NONE`].
#[inline]
fn next(partners: &[[u32; 2]], v: usize, before: u32) -> u32 {
    let [left, right] = partners[v];
    if left != before && left != NONE { left } else { right }
}

/// Whether v is the smallest vertex of its cycle. It searches in both directions at once. For a cycle of L vertices, all searches together then
/// visit at most L·log L vertices.
fn is_smallest(partners: &[[u32; 2]], v: u32) -> bool {
    let ([mut left, mut right], mut before) = (partners[v as usize], [v; 2]);
    while left > v && right > v && left != right {
        let after = next(partners, left as usize, before[0]);
        if after == right {
            return true;
        }
        (before, left, right) = ([left, right], after, next(partners, right as usize, before[1]));
    }
    left > v && right > v
}

/// The cycle of v as a path, without the edge of the smallest weight.
fn broken_cycle(weight: &impl Fn(usize, usize) -> f64, partners: &[[u32; 2]], v: usize) -> FoundPath {
    let (mut before, mut at, mut length) = (NONE, v, 0);
    let mut weakest = (f64::INFINITY, usize::MAX, usize::MAX);
    loop {
        let after = next(partners, at, before) as usize;
        let edge = (weight(at, after), at.min(after), at.max(after));
        if edge.0 < weakest.0 || (edge.0 == weakest.0 && (edge.1, edge.2) < (weakest.1, weakest.2)) {
            weakest = edge;
        }
        length += 1;
        (before, at) = (at as u32, after);
        if at == v {
            return FoundPath { end: weakest.1 as u32, other: weakest.2 as u32, length, is_cycle: true };
        }
    }
}
