//! The weighted graph of a matrix.

use crate::csr::Csr;
use crate::multiply::RowSum;
use crate::row_builder::{BuiltRows, make_rows};
use crate::tuning::LINEAR_SEARCH_MAX_ENTRIES;
use bandsolve::matrix::Index;
use bandsolve::memory::{allocate, collected, copied};
use bandsolve::vectors::PIECE;
use bandsolve::{Error, RealScalar, Result, Scalar, interrupt};
use bandsolve_kernel::by_type;
use core::sync::atomic::{AtomicBool, Ordering};

/// Partial sums of the weights of a piece of vertices.
const PARTIAL_SUMS: usize = 8;

/// The undirected weighted graph of a square matrix.
///
/// The unknowns are the vertices. The weight of the edge between i and j ≠ i is w(i, j) = |aᵢⱼ| + |aⱼᵢ|. If the weight is 0 or NaN, there is no edge.
///
/// # Examples
/// ```
/// use bandsolve_sparse::{Csr, Graph};
/// let a = Csr::new(2, &[0, 2, 3][..], &[0, 1, 1][..], &[4.0, -1.0, 4.0][..])?;
/// let graph = Graph::of(&a)?;
/// assert_eq!(graph.edges(0).collect::<Vec<_>>(), [(1, 1.0)]);
/// assert_eq!(graph.edges(1).collect::<Vec<_>>(), [(0, 1.0)]);
/// # Ok::<(), bandsolve::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Graph {
    /// Symmetric. Each row has the neighbors in ascending order, each once.
    rows: Csr<'static, f64, u32>,
}

impl Graph {
    /// Make the graph of a square matrix.
    ///
    /// # Cost
    /// Time and memory are proportional to the number of entries.
    ///
    /// # Errors
    /// [`Error::Shape`] if the matrix is not square, or if it has 2³² − 1 rows or more. [`Error::OutOfMemory`]. [`Error::Interrupted`] if the caller
    /// stops the set-up.
    pub fn of<T: Scalar, I: Index>(a: &Csr<'_, T, I>) -> Result<Self> {
        T::by_type::<MakeGraph<'_>>((a.narrow()?, None))
    }

    /// Make the graph of a matrix whose row i is multiplied by `moduli[i]`.
    ///
    /// Divide each row by its [diagonal](crate::DiagonalRule) to make the weights independent of the scaling of the rows:
    /// [`comparable_graph`](crate::comparable_graph).
    ///
    /// # Errors
    /// As [`of`](Self::of), and [`Error::Shape`] if `moduli` does not have one element per row.
    pub fn weighted<T: Scalar, I: Index>(a: &Csr<'_, T, I>, moduli: &[f64]) -> Result<Self> {
        if moduli.len() != a.rows() {
            return Err(Error::Shape { what: "moduli of rows", expected: a.rows(), got: moduli.len() });
        }
        T::by_type::<MakeGraph<'_>>((a.narrow()?, Some(moduli)))
    }

    /// Number of vertices.
    pub fn vertices(&self) -> usize {
        self.rows.rows()
    }

    /// Number of edges of a vertex.
    pub fn degree(&self, v: usize) -> usize {
        self.rows.range(v).len()
    }

    /// The edges (neighbor, weight) of a vertex, neighbors in ascending order.
    pub fn edges(&self, v: usize) -> impl Iterator<Item = (usize, f64)> + Clone + '_ {
        self.rows.row(v)
    }

    /// The weight of the edge between two vertices, or 0 if there is no edge.
    pub fn weight(&self, v: usize, u: usize) -> f64 {
        let ((_, neighbors, weights), edges) = (self.rows.parts(), self.rows.range(v));
        neighbors[edges.clone()].binary_search(&(u as u32)).map_or(0.0, |k| weights[edges.start + k])
    }

    /// The weights as a symmetric matrix with ascending columns in each row, without a diagonal.
    pub fn matrix(&self) -> &Csr<'static, f64, u32> {
        &self.rows
    }

    /// Multiply the weights of the edges between v and `linked(v)` by ω. ω = 0 gives them the weight 0.
    pub(crate) fn weaken(&mut self, linked: &(impl Fn(usize) -> [u32; 2] + Sync), omega: f64) -> Result<()> {
        self.rows.update(&|v| {
            let linked = linked(v);
            move |u, weight| if linked.contains(&(u as u32)) { weight - (1.0 - omega) * weight } else { weight }
        })
    }

    /// A copy.
    pub(crate) fn duplicated(&self) -> Result<Self> {
        Ok(Self { rows: self.rows.duplicated()? })
    }

    /// The graph whose vertices are groups of vertices. The weights of all edges between two groups add up.
    pub(crate) fn contracted(&self, groups: usize, group: &(impl Fn(usize) -> u32 + Sync)) -> Result<Graph> {
        let mut members: Vec<(u32, u32)> = collected((0..self.vertices()).map(|v| (group(v), v as u32)))?;
        members.sort_unstable();
        let rows = make_rows((groups, groups), self.rows.entries(), &|rows, built| {
            let mut sum = RowSum::new(groups, built)?;
            for vertex in rows {
                let first = members.partition_point(|(other, _)| (*other as usize) < vertex);
                let members = members[first..].iter().take_while(|(other, _)| *other as usize == vertex);
                for (u, weight) in members.flat_map(|(_, v)| self.edges(*v as usize)) {
                    if group(u) as usize != vertex {
                        sum.reserve(1)?;
                        sum.add(group(u), weight);
                    }
                }
                sum.finish_sorted()?;
            }
            Ok(())
        });
        Ok(Graph { rows: rows? })
    }

    /// The share of the edges for which `selected(v)(u)` is true in the total weight. 0 if the graph has no edges.
    ///
    /// A GPU computes the same sums: those of each vertex first, then eight partial sums of each piece of vertices, as of the inner product of two vectors.
    pub(crate) fn share<E: Fn(usize) -> bool>(&self, selected: impl Fn(usize) -> E) -> f64 {
        let of_vertex = |v: usize| {
            let selected = selected(v);
            self.edges(v).fold([0.0, 0.0], |[all, share], (u, weight)| {
                [all + weight, if selected(u) { share + weight } else { share }]
            })
        };
        let (n, add) = (self.vertices(), |[a, b]: [f64; 2], [c, d]: [f64; 2]| [a + c, b + d]);
        let of_piece = |first: usize| {
            let mut partial = [[0.0; 2]; PARTIAL_SUMS];
            for v in first..(first + PIECE).min(n) {
                let sum = &mut partial[(v - first) % PARTIAL_SUMS];
                *sum = add(*sum, of_vertex(v));
            }
            partial.into_iter().fold([0.0; 2], add)
        };
        let [all, share] = (0..n).step_by(PIECE).map(of_piece).fold([0.0; 2], add);
        if all > 0.0 { share / all } else { 0.0 }
    }

    /// The coverage of the path in the given order: the share of the edges between unknowns i and i + 1 in the total weight (c_id in the
    /// literature).
    pub fn coverage_in_order(&self) -> f64 {
        self.share(|v| move |u: usize| v.abs_diff(u) == 1)
    }
}

by_type! {
    /// [`graph`] for each number type, compiled once, in this crate.
    struct MakeGraph<'a>: (Csr<'a, T, u32>, Option<&'a [f64]>) => Result<Graph> = graph;
}

fn graph<T: Scalar>((a, moduli): (Csr<'_, T, u32>, Option<&[f64]>)) -> Result<Graph> {
    let n = a.rows();
    a.check_square()?;
    if n >= u32::MAX as usize {
        return Err(Error::Shape { what: "rows of a graph", expected: u32::MAX as usize - 1, got: n });
    }
    interrupt::check()?;
    if a.is_sorted()
        && let Some(rows) = sorted_rows(&a, moduli)?
    {
        return Ok(Graph { rows });
    }
    let row = |i: usize| {
        let by = moduli.map_or(1.0, |moduli| moduli[i]);
        a.row(i).filter(move |(j, _)| *j != i).map(move |(j, v)| (j, Scalar::abs(v).to_f64() * by))
    };
    if (0..n).all(|i| a.range(i).len() <= LINEAR_SEARCH_MAX_ENTRIES) {
        // Search for the mirrored entry in its row. If every entry has one, each row knows all of its edges.
        let lonely = AtomicBool::new(false);
        let rows = make_rows((n, n), a.entries(), &|rows, built| {
            // One short row; its memory is not worth a fallible allocation.
            let mut entries: Vec<(usize, f64)> = Vec::new();
            for i in rows {
                entries.clear();
                entries.extend(row(i));
                if !entries.is_sorted_by_key(|(j, _)| *j) {
                    entries.sort_by_key(|(j, _)| *j);
                }
                built.reserve(entries.len())?;
                let edge = |entries: &[(usize, f64)]| {
                    let (j, weight) = (entries[0].0, entries.iter().fold(0.0, |sum, (_, weight)| sum + weight));
                    let by = moduli.map_or(1.0, |moduli| moduli[j]);
                    let mirrored = a.row(j).filter(|(k, _)| *k == i).map(|(_, v)| Scalar::abs(v).to_f64() * by);
                    let mut is_mirrored = false;
                    let other = mirrored.inspect(|_| is_mirrored = true).fold(0.0, |sum, weight| sum + weight);
                    if !is_mirrored {
                        lonely.store(true, Ordering::Relaxed);
                    }
                    (j, weight + other)
                };
                push_row(built, entries.chunk_by(|a, b| a.0 == b.0).map(edge));
            }
            Ok(())
        })?;
        if !lonely.into_inner() {
            return Ok(Graph { rows });
        }
    }
    // Two transpositions sort the rows.
    let transposed = Compressed::transposed(n, row)?;
    let sorted = Compressed::transposed(n, |i| transposed.row(i))?;
    let rows = make_rows((n, n), 2 * a.entries(), &|rows, built| {
        for i in rows {
            built.reserve(sorted.length(i) + transposed.length(i))?;
            push_row(built, merged(summed(sorted.row(i)), summed(transposed.row(i))));
        }
        Ok(())
    });
    Ok(Graph { rows: rows? })
}

/// The edges of a matrix with sorted rows, if its pattern is symmetric. The search for the mirrored entry begins at the place where a stencil has it:
/// as far from the end of its row as the entry is from the beginning of its own row.
fn sorted_rows<T: Scalar>(a: &Csr<'_, T, u32>, moduli: Option<&[f64]>) -> Result<Option<Csr<'static, f64, u32>>> {
    let (_, columns, values) = a.parts();
    let lonely = AtomicBool::new(false);
    let weight = |row: usize, e: usize| Scalar::abs(values[e]).to_f64() * moduli.map_or(1.0, |moduli| moduli[row]);
    let mirrored = |i: usize, j: usize, k: usize| {
        let other = a.range(j);
        match other.end.checked_sub(k + 1).filter(|e| other.contains(e) && columns[*e] as usize == i) {
            None => columns[other.clone()].binary_search(&(i as u32)).ok().map(|at| other.start + at),
            at => at,
        }
    };
    let rows = make_rows((a.rows(), a.rows()), a.entries(), &|rows, built| {
        for i in rows {
            let (entries, first) = (a.range(i), built.columns.len());
            built.reserve(entries.len())?;
            // Stop once an entry without a mirrored one has been found: the result is then not used.
            for e in entries.clone().filter(|e| columns[*e] as usize != i && !lonely.load(Ordering::Relaxed)) {
                let j = columns[e] as usize;
                let Some(other) = mirrored(i, j, e - entries.start) else {
                    lonely.store(true, Ordering::Relaxed);
                    break;
                };
                let weight = weight(i, e) + weight(j, other);
                if weight > 0.0 {
                    built.columns.push(j as u32);
                    built.values.push(weight);
                }
            }
            built.lengths.push((built.columns.len() - first) as u32);
        }
        Ok(())
    })?;
    Ok((!lonely.into_inner()).then_some(rows))
}

/// Append the edges of a vertex, neighbors in ascending order. Omits weights that are 0 or NaN.
fn push_row(built: &mut BuiltRows<f64>, edges: impl Iterator<Item = (usize, f64)>) {
    let first = built.columns.len();
    for (j, weight) in edges.filter(|(_, weight)| *weight > 0.0) {
        built.columns.push(j as u32);
        built.values.push(weight);
    }
    built.lengths.push((built.columns.len() - first) as u32);
}

/// A list in ascending order, with the weights of equal numbers added up.
fn summed(list: impl Iterator<Item = (usize, f64)>) -> impl Iterator<Item = (usize, f64)> {
    let mut list = list.peekable();
    std::iter::from_fn(move || {
        let (j, mut sum) = list.next()?;
        while let Some((_, weight)) = list.next_if(|(k, _)| *k == j) {
            sum += weight;
        }
        Some((j, sum))
    })
}

/// A matrix in CSR format.
struct Compressed {
    pointers: Vec<usize>,
    columns: Vec<u32>,
    values: Vec<f64>,
}

impl Compressed {
    /// The transpose of n rows.
    fn transposed<R: Iterator<Item = (usize, f64)>>(n: usize, row: impl Fn(usize) -> R) -> Result<Self> {
        interrupt::check()?;
        let mut pointers = allocate(n + 1, 0)?;
        (0..n).flat_map(&row).for_each(|(j, _)| pointers[j + 1] += 1);
        (0..n).for_each(|j| pointers[j + 1] += pointers[j]);
        let mut next = copied(&pointers)?;
        let (mut columns, mut values) = (allocate(pointers[n], 0)?, allocate(pointers[n], 0.0)?);
        for i in 0..n {
            for (j, value) in row(i) {
                (columns[next[j]], values[next[j]]) = (i as u32, value);
                next[j] += 1;
            }
        }
        Ok(Self { pointers, columns, values })
    }

    /// Number of entries of a row.
    fn length(&self, i: usize) -> usize {
        self.pointers[i + 1] - self.pointers[i]
    }

    fn row(&self, i: usize) -> impl Iterator<Item = (usize, f64)> + Clone + '_ {
        let entries = self.pointers[i]..self.pointers[i + 1];
        self.columns[entries.clone()].iter().map(|j| *j as usize).zip(self.values[entries].iter().copied())
    }
}

/// Merge two lists in ascending order without duplicates. Weights of numbers in both lists add up.
fn merged(
    left: impl Iterator<Item = (usize, f64)>,
    right: impl Iterator<Item = (usize, f64)>,
) -> impl Iterator<Item = (usize, f64)> {
    let (mut left, mut right) = (left.peekable(), right.peekable());
    std::iter::from_fn(move || match (left.peek(), right.peek()) {
        (Some((i, _)), Some((j, _))) if j < i => right.next(),
        (Some((i, _)), Some((j, _))) if j == i => left.next().zip(right.next()).map(|((j, a), (_, b))| (j, a + b)),
        (Some(_), _) => left.next(),
        (None, _) => right.next(),
    })
}
