//! Factors of a sparse Hermitian matrix by nested dissection.
//!
//! Each part of the dissection has a dense front: its vertices, its border, and the columns of its children that found no pivot. Elimination of
//! its vertices, and the sum of the rest into the front of the parent, compute
//!
//! ```text
//! P·A·Pᵀ = L·D·Lᴴ,   D: diagonal blocks of 1 × 1 or 2 × 2 entries
//! ```
//!
//! with the pivots of [`front`](crate::front). Subtrees run in parallel. Each front does the same operations for any number of threads.

use crate::front::HermitianFront;
use bandsolve::interrupt;
use bandsolve::memory::{allocate, collected, copied, zeroed};
use bandsolve::vectors::divide;
use bandsolve::{Error, RealScalar, Result, Scalar, Simd};
use bandsolve_kernel::vectors::{dot, subtract_multiple};
use bandsolve_kernel::{Job, Lanes, dispatch, threads};
use bandsolve_sparse::{Csr, Dissection, DissectionPart};
use core::ops::Range;

/// The fewest flops of two subtrees that run in parallel.
const PARALLEL: f64 = 1e6;

/// The fewest entries of the factors of two subtrees whose solves run in parallel.
const PARALLEL_SOLVE: f64 = 2e5;

/// The factors of the columns that a front eliminates.
#[derive(Debug)]
struct PartFactor<T> {
    rows: usize,
    /// Columns of `rows` entries: L with D in place of its diagonal.
    columns: Vec<T>,
    /// Whether a column is the first of a pivot of two columns. One element per column.
    pairs: Vec<bool>,
    /// The rows of the vertices of the part.
    own: Vec<u32>,
    /// The row in the front of the parent, for each row that remains.
    to_parent: Vec<u32>,
}

impl<T> Default for PartFactor<T> {
    fn default() -> Self {
        Self { rows: 0, columns: Vec::new(), pairs: Vec::new(), own: Vec::new(), to_parent: Vec::new() }
    }
}

/// The factors of a sparse Hermitian matrix.
#[derive(Debug)]
pub(crate) struct SparseFactors<T: Scalar> {
    parts: Vec<PartFactor<T>>,
    /// The first pivot of each part, and their number.
    first: Vec<usize>,
    /// The number of entries before each part, and of all.
    entries: Vec<f64>,
    /// The factors are those of the matrix times this power of two.
    scale: T::Real,
    simd: Simd,
}

/// An elimination of a sparse Hermitian matrix.
struct SparseElimination<'a, T: Scalar> {
    a: &'a Csr<'a, T, u32>,
    scale: T::Real,
    dissection: &'a Dissection,
    /// The place of each vertex in the order.
    places: Vec<u32>,
    /// The flops before each part, and of all.
    flops: Vec<f64>,
    simd: Simd,
}

/// Count the negative eigenvalues. The graph of the matrix must be part of the dissected graph. `None` if numbers overflow.
///
/// # Errors
/// [`Error::OutOfMemory`], [`Error::Interrupted`].
pub(crate) fn negatives<T: Scalar>(a: &Csr<'_, T, u32>, dissection: &Dissection) -> Result<Option<usize>> {
    if dissection.parts.is_empty() {
        return Ok(Some(0));
    }
    let root = SparseElimination::new(a, dissection)?.subtree(0..dissection.parts.len(), &mut [])?;
    Ok((root.done == root.order).then_some(root.negatives))
}

/// A power of two that scales the largest entry to approximately 1.
fn scale_of<T: Scalar>(a: &Csr<'_, T, u32>) -> T::Real {
    let largest = a.parts().2.iter().fold(0.0_f64, |largest, x| largest.max(x.abs1().to_f64()));
    let exponent = if largest > 0.0 { -largest.log2().round() } else { 0.0 };
    // The scale itself must be a normal number.
    let most = -T::Real::MIN_POSITIVE.to_f64().log2() - 2.0;
    T::Real::from_f64(exponent.clamp(-most, most).exp2())
}

impl<'a, T: Scalar> SparseElimination<'a, T> {
    fn new(a: &'a Csr<'a, T, u32>, dissection: &'a Dissection) -> Result<Self> {
        let mut places = allocate(a.rows(), 0_u32)?;
        dissection.order.iter().zip(0..).for_each(|(v, place)| places[*v as usize] = place);
        let flops = sums(dissection.parts.iter().map(|part| (part.own.len() * part.rows() * part.rows()) as f64))?;
        Ok(Self { a, scale: scale_of(a), dissection, places, flops, simd: Simd::detect() })
    }

    /// Eliminate the parts of a subtree. `factors` is empty, or has one element per part.
    fn subtree(&self, parts: Range<usize>, factors: &mut [PartFactor<T>]) -> Result<HermitianFront<T>> {
        interrupt::check()?;
        let part = &self.dissection.parts[parts.end - 1];
        let Some((own_factor, below)) =
            factors.split_last_mut().map_or(Some((None, &mut [][..])), |(own, below)| Some((Some(own), below)))
        else {
            unreachable!("a subtree has a part")
        };
        let [one, two] = part.children.clone();
        let (first, second) = below.split_at_mut(one.len().min(below.len()));
        let mut children: [HermitianFront<T>; 2] = Default::default();
        if !one.is_empty() {
            let flops = self.flops[two.end] - self.flops[one.start];
            let fronts = if flops > PARALLEL {
                threads::join(|| self.subtree(one.clone(), first), || self.subtree(two.clone(), second))
            } else {
                (self.subtree(one.clone(), first), self.subtree(two.clone(), second))
            };
            children = [fronts.0?, fronts.1?];
        }
        let waiting = children[0].waiting() + children[1].waiting();
        let complete = waiting + part.own.len();
        let negatives = children[0].negatives + children[1].negatives;
        let mut front = HermitianFront::zero(complete + part.border.len(), complete, negatives)?;
        let mut before = 0;
        let mut rows = [Vec::new(), Vec::new()];
        for ((child, parts), rows) in children.iter().zip([&one, &two]).zip(&mut rows) {
            if !parts.is_empty() {
                *rows = self.rows_of(child, (before, waiting), part, &self.dissection.parts[parts.end - 1])?;
                front.add(child, |row| rows[row - child.done] as usize);
                before += child.waiting();
            }
        }
        self.load(part, waiting, &mut front);
        if own_factor.is_some() {
            front.keep()?;
        }
        front.eliminate(self.simd)?;
        if let (Some(factor), Some(kept)) = (own_factor, front.kept.take()) {
            let mut now = allocate(front.order, 0_u32)?;
            kept.rows.iter().zip(0..).for_each(|(row, at)| now[*row as usize] = at);
            for (rows, parts) in rows.iter().zip([&one, &two]).filter(|(_, parts)| !parts.is_empty()) {
                let child = if parts.start == one.start { first.last_mut() } else { second.last_mut() };
                let child = child.expect("one factor per part");
                child.to_parent = collected(rows.iter().map(|row| now[*row as usize]))?;
            }
            let mut pairs = kept.pairs;
            pairs.truncate(front.done);
            *factor = PartFactor {
                rows: front.order,
                columns: copied(&front.matrix[..front.done * front.order])?,
                pairs,
                own: copied(&now[waiting..complete])?,
                to_parent: Vec::new(),
            };
        }
        Ok(front)
    }

    /// The rows of a front for the remaining rows of a child, whose first `before` rows belong to the other child.
    fn rows_of(
        &self,
        child: &HermitianFront<T>,
        (before, waiting): (usize, usize),
        part: &DissectionPart,
        child_part: &DissectionPart,
    ) -> Result<Vec<u32>> {
        let mut at = 0;
        let border = child_part.border.iter().map(|place| {
            let place = *place as usize;
            if place < part.own.end {
                return waiting + place - part.own.start;
            }
            // Both borders are in ascending order.
            while (part.border[at] as usize) < place {
                at += 1;
            }
            waiting + part.own.len() + at
        });
        let mut rows = bandsolve::memory::reserved(child.remaining().len())?;
        rows.extend((before..before + child.waiting()).chain(border).map(|row| row as u32));
        Ok(rows)
    }

    /// Add the entries of the columns of a part.
    fn load(&self, part: &DissectionPart, waiting: usize, front: &mut HermitianFront<T>) {
        for (k, place) in part.own.clone().enumerate() {
            let column = (waiting + k) * front.order;
            for (u, value) in self.a.row(self.dissection.order[place] as usize) {
                let other = self.places[u] as usize;
                let value = value.conj().scale(self.scale);
                let row = match other {
                    _ if other < place => continue,
                    _ if other < part.own.end => waiting + other - part.own.start,
                    _ => match part.border.binary_search(&(other as u32)) {
                        Ok(at) => waiting + part.own.len() + at,
                        Err(_) => continue,
                    },
                };
                front.matrix[column + row] += if other == place { T::from_real(value.re()) } else { value };
            }
        }
    }
}

/// The sums of the first k terms, for k from 0 to their number.
fn sums(terms: impl Iterator<Item = f64>) -> Result<Vec<f64>> {
    let mut sum = 0.0;
    collected(core::iter::once(0.0).chain(terms.map(move |term| {
        sum += term;
        sum
    })))
}

impl<T: Scalar> SparseFactors<T> {
    /// Factor a matrix. Its graph must be part of the dissected graph.
    ///
    /// # Errors
    /// [`Error::Singular`] if a pivot is zero. [`Error::NotConverged`] if numbers overflow. [`Error::OutOfMemory`], [`Error::Interrupted`].
    pub fn new(a: &Csr<'_, T, u32>, dissection: &Dissection) -> Result<Self> {
        let elimination = SparseElimination::new(a, dissection)?;
        let mut parts: Vec<PartFactor<T>> = collected(dissection.parts.iter().map(|_| PartFactor::default()))?;
        if !parts.is_empty() {
            let root = elimination.subtree(0..parts.len(), &mut parts)?;
            if root.done < root.order {
                return Err(Error::NotConverged { backward_error: f64::NAN, refinement_steps: 0 });
            }
        }
        let mut count = 0;
        let first = collected(core::iter::once(0).chain(parts.iter().map(|part| {
            count += part.pairs.len();
            count
        })))?;
        let entries = sums(parts.iter().map(|part| part.columns.len() as f64))?;
        let factors = Self { parts, first, entries, scale: elimination.scale, simd: elimination.simd };
        factors.check_pivots(dissection)?;
        Ok(factors)
    }

    /// Return an error if a pivot is zero. A pivot of two columns never is.
    fn check_pivots(&self, dissection: &Dissection) -> Result<()> {
        for (part, place) in self.parts.iter().zip(&dissection.parts) {
            let mut k = 0;
            while k < part.pairs.len() {
                if !part.pairs[k] && part.columns[k * part.rows + k] == T::ZERO {
                    let row = place.own.start.min(dissection.order.len() - 1);
                    return Err(Error::Singular { row: dissection.order[row] as usize });
                }
                k += 1 + usize::from(part.pairs[k]);
            }
        }
        Ok(())
    }

    /// Solve A·x = b. The unknowns are in the order of the dissection.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`], [`Error::Interrupted`].
    pub fn solve(&self, dissection: &Dissection, b: &[T], x: &mut [T]) -> Result<()> {
        let all = 0..self.parts.len();
        if all.is_empty() {
            return Ok(());
        }
        let mut pivots = zeroed(b.len())?;
        self.forward(dissection, all.clone(), b, &mut pivots)?;
        self.backward(dissection, all, (&pivots, &[]), x)?;
        x.iter_mut().for_each(|x| *x = x.scale(self.scale));
        Ok(())
    }

    /// The numbers of places and of pivots in the first child.
    fn split(&self, dissection: &Dissection, part: &DissectionPart, first_place: usize) -> [usize; 2] {
        let [one, _] = &part.children;
        match one.is_empty() {
            true => [0, 0],
            false => [dissection.parts[one.end - 1].own.end - first_place, self.first[one.end] - self.first[one.start]],
        }
    }

    /// Whether the children of a part run in parallel.
    fn parallel(&self, part: &DissectionPart) -> bool {
        let [one, two] = &part.children;
        self.entries[two.end] - self.entries[one.start] > PARALLEL_SOLVE
    }

    /// Solve with L in a subtree. `b` has the right-hand side at all places, `pivots` room for the subtree. Returns the remaining rows.
    fn forward(&self, dissection: &Dissection, parts: Range<usize>, b: &[T], pivots: &mut [T]) -> Result<Vec<T>> {
        interrupt::check()?;
        let (part, factor) = (&dissection.parts[parts.end - 1], &self.parts[parts.end - 1]);
        let [one, two] = part.children.clone();
        let mut w = zeroed(factor.rows)?;
        factor.own.iter().zip(&b[part.own.clone()]).for_each(|(row, b)| w[*row as usize] = *b);
        let (below, own) = pivots.split_at_mut(pivots.len() - factor.pairs.len());
        if !one.is_empty() {
            let (first, second) = below.split_at_mut(self.first[one.end] - self.first[one.start]);
            let rests = if self.parallel(part) {
                threads::join(
                    || self.forward(dissection, one.clone(), b, first),
                    || self.forward(dissection, two.clone(), b, second),
                )
            } else {
                (self.forward(dissection, one.clone(), b, first), self.forward(dissection, two.clone(), b, second))
            };
            for (rest, child) in [rests.0?, rests.1?].iter().zip([one, two]) {
                let rows = &self.parts[child.end - 1].to_parent;
                rows.iter().zip(rest).for_each(|(row, value)| w[*row as usize] += *value);
            }
        }
        dispatch::<T, _>(self.simd, SolveLower { factor, w: &mut w });
        own.copy_from_slice(&w[..own.len()]);
        w.drain(..own.len());
        Ok(w)
    }

    /// Solve with D and Lᴴ in a subtree. `above` has the values of the rows that remain, `x` room for the places of the subtree.
    fn backward(
        &self,
        dissection: &Dissection,
        parts: Range<usize>,
        (pivots, above): (&[T], &[T]),
        x: &mut [T],
    ) -> Result<()> {
        interrupt::check()?;
        let (part, factor) = (&dissection.parts[parts.end - 1], &self.parts[parts.end - 1]);
        let [one, two] = part.children.clone();
        let (below, own) = pivots.split_at(pivots.len() - factor.pairs.len());
        let mut w = bandsolve::memory::reserved(factor.rows)?;
        w.extend_from_slice(own);
        w.extend_from_slice(above);
        dispatch::<T, _>(self.simd, SolveUpper { factor, w: &mut w });
        let [places, pivots] = self.split(dissection, part, part.own.end - x.len());
        let (x_below, x_own) = x.split_at_mut(x.len() - part.own.len());
        x_own.iter_mut().zip(&factor.own).for_each(|(x, row)| *x = w[*row as usize]);
        if one.is_empty() {
            return Ok(());
        }
        let (x_first, x_second) = x_below.split_at_mut(places);
        let (first, second) = below.split_at(pivots);
        let values =
            |child: &Range<usize>| collected(self.parts[child.end - 1].to_parent.iter().map(|row| w[*row as usize]));
        let (above_first, above_second) = (values(&one)?, values(&two)?);
        let done = if self.parallel(part) {
            threads::join(
                || self.backward(dissection, one, (first, &above_first), x_first),
                || self.backward(dissection, two, (second, &above_second), x_second),
            )
        } else {
            (
                self.backward(dissection, one, (first, &above_first), x_first),
                self.backward(dissection, two, (second, &above_second), x_second),
            )
        };
        done.0.and(done.1)
    }
}

/// w ← L⁻¹·w in a front.
struct SolveLower<'a, T> {
    factor: &'a PartFactor<T>,
    w: &'a mut [T],
}

impl<T: Scalar> Job<T> for SolveLower<'_, T> {
    type Output = ();
    #[inline(always)]
    fn run<V: Lanes<Real = T::Real>>(self) {
        let PartFactor { rows, columns, pairs, .. } = self.factor;
        for (k, column) in columns.chunks_exact((*rows).max(1)).enumerate() {
            let from = k + 1 + usize::from(pairs[k]);
            let value = self.w[k];
            subtract_multiple::<V, T>(&mut self.w[from..], value, &column[from..]);
        }
    }
}

/// w ← L⁻ᴴ·D⁻¹·w in a front.
struct SolveUpper<'a, T> {
    factor: &'a PartFactor<T>,
    w: &'a mut [T],
}

impl<T: Scalar> Job<T> for SolveUpper<'_, T> {
    type Output = ();
    #[inline(always)]
    fn run<V: Lanes<Real = T::Real>>(self) {
        let (PartFactor { rows, columns, pairs, .. }, w) = (self.factor, self.w);
        let column = |k: usize| &columns[k * rows..][..*rows];
        let mut k = 0;
        while k < pairs.len() {
            if pairs[k] {
                // D = (p c̄; c q): D⁻¹ = (q −c̄; −c p) / (p·q − |c|²), with all entries relative to |c|.
                let (first, second) = (column(k), column(k + 1));
                let size = Scalar::abs(first[k + 1]);
                let (p, q) = (first[k].re() / size, second[k + 1].re() / size);
                let c = first[k + 1].scale(T::Real::ONE / size);
                let scale = T::Real::ONE / ((p * q - T::Real::ONE) * size);
                let (x, y) = (w[k], w[k + 1]);
                w[k] = (x.scale(q) - c.conj() * y).scale(scale);
                w[k + 1] = (y.scale(p) - c * x).scale(scale);
                k += 2;
            } else {
                w[k] = divide(w[k], column(k)[k]);
                k += 1;
            }
        }
        for k in (0..pairs.len()).rev() {
            let from = k + 1 + usize::from(pairs[k]);
            let (l, x) = (&column(k)[from..], &w[from..]);
            let sum = match T::COMPLEX {
                false => dot::<V, T>(l, x),
                true => l.iter().zip(x).fold(T::ZERO, |sum, (l, x)| sum + l.conj() * *x),
            };
            w[k] -= sum;
        }
    }
}
