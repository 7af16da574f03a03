//! Eigenvalues and eigenvectors of real symmetric tridiagonal matrices.

mod block;
mod divide;
mod iterate;
mod precise;
mod refine;
mod sturm;
mod twisted;
mod vectors;

use bandsolve::memory::{collected, more, zeroed};
use bandsolve::{Error, Result};
use bandsolve_kernel::arithmetic::Standard;
use block::{CoupledRows, coupled_rows};
use core::ops::Range;
use vectors::block_vectors;

/// Which eigenvalues of a symmetric tridiagonal matrix to find.
///
/// # Examples
/// ```
/// use bandsolve_eigen::{EigenvalueRange, SymmetricTridiagonal};
/// // A diagonal matrix with λ = 1, 2, 3, 4.
/// let a = SymmetricTridiagonal::new(&[1.0, 2.0, 3.0, 4.0], &[0.0; 3])?;
/// assert_eq!(a.eigenvalues(EigenvalueRange::All)?.len(), 4);
/// assert_eq!(a.eigenvalues(EigenvalueRange::Indices(1..3))?.len(), 2); // the second and the third smallest
/// assert_eq!(a.eigenvalues(EigenvalueRange::Interval(1.5, f64::INFINITY))?.len(), 3);
/// # Ok::<(), bandsolve::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub enum EigenvalueRange {
    /// All eigenvalues.
    All,
    /// The eigenvalues with these indices in ascending order. Index 0 is the smallest eigenvalue.
    Indices(Range<usize>),
    /// The eigenvalues in the half-open interval (from, to]. The ends can be infinite.
    ///
    /// Adjacent intervals contain each eigenvalue exactly once. If an eigenvalue is within rounding errors of an end, minors with 106 bits decide
    /// to which side it belongs.
    Interval(f64, f64),
}

/// A real symmetric tridiagonal matrix T whose eigenvalues or eigenvectors you need.
///
/// `(T·v)[i] = off[i − 1]·v[i − 1] + diag[i]·v[i] + off[i]·v[i + 1]`
///
/// # Shapes
/// `diag` has n entries, and `off` has n − 1 entries.
///
/// # Cost
/// An eigenvalue costs approximately 15 Sturm counts, and an eigenvector approximately 17 operations per row:
/// see [`eigenvalues`](Self::eigenvalues) and [`eigenpairs`](Self::eigenpairs). The matrix borrows its arrays.
///
/// # Errors
/// [`new`](Self::new) returns [`Error::Shape`] if the lengths do not match, and [`Error::NotFinite`] if an entry is NaN or infinite.
///
/// # Examples
/// ```
/// use bandsolve_eigen::{EigenvalueRange, SymmetricTridiagonal};
/// let (diag, off) = (vec![2.0; 100], vec![-1.0; 99]);
/// let values = SymmetricTridiagonal::new(&diag, &off)?.eigenvalues(EigenvalueRange::Indices(0..3))?;
/// for (k, value) in values.iter().enumerate() {
///     let angle = std::f64::consts::PI * (k + 1) as f64 / 101.0;
///     assert!((value - (2.0 - 2.0 * angle.cos())).abs() < 1e-14);
/// }
/// # Ok::<(), bandsolve::Error>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct SymmetricTridiagonal<'a> {
    diag: &'a [f64],
    off: &'a [f64],
    tolerance: f64,
}

impl<'a> SymmetricTridiagonal<'a> {
    /// Borrow the diagonal and the off-diagonal entries.
    ///
    /// # Errors
    /// [`Error::Shape`] unless `off` has one entry less than `diag`, or both are empty. [`Error::NotFinite`] if an entry is NaN or infinite.
    ///
    /// # Examples
    /// ```
    /// use bandsolve::Error;
    /// use bandsolve_eigen::SymmetricTridiagonal;
    /// assert_eq!(SymmetricTridiagonal::new(&[2.0, 2.0], &[1.0])?.n(), 2);
    /// let bad = SymmetricTridiagonal::new(&[2.0, 2.0], &[1.0, 1.0]);
    /// assert_eq!(bad.unwrap_err(), Error::Shape { what: "off", expected: 1, got: 2 });
    /// # Ok::<(), Error>(())
    /// ```
    pub fn new(diag: &'a [f64], off: &'a [f64]) -> Result<Self> {
        let expected = diag.len().saturating_sub(1);
        if off.len() != expected {
            return Err(Error::Shape { what: "off", expected, got: off.len() });
        }
        for (array, entries) in [("diag", diag), ("off", off)] {
            if let Some(index) = entries.iter().position(|x| !x.is_finite()) {
                return Err(Error::NotFinite { array, index });
            }
        }
        Ok(Self { diag, off, tolerance: 0.0 })
    }

    /// Set the absolute tolerance of [`eigenvalues`](Self::eigenvalues). Default: 0, which means ε·‖T‖.
    ///
    /// A larger tolerance saves time. [`eigenpairs`](Self::eigenpairs) ignores the tolerance.
    ///
    /// # Examples
    /// ```
    /// use bandsolve_eigen::{EigenvalueRange, SymmetricTridiagonal};
    /// let a = SymmetricTridiagonal::new(&[2.0, 2.0], &[1.0])?; // λ = 1, 3
    /// let values = a.tolerance(1e-3).eigenvalues(EigenvalueRange::All)?;
    /// assert!((values[0] - 1.0).abs() < 2e-3 && (values[1] - 3.0).abs() < 2e-3);
    /// # Ok::<(), bandsolve::Error>(())
    /// ```
    pub fn tolerance(self, tolerance: f64) -> Self {
        Self { tolerance: if tolerance > 0.0 { tolerance } else { 0.0 }, ..self }
    }

    /// The number of rows.
    ///
    /// # Examples
    /// ```
    /// use bandsolve_eigen::SymmetricTridiagonal;
    /// assert_eq!(SymmetricTridiagonal::new(&[2.0; 5], &[-1.0; 4])?.n(), 5);
    /// # Ok::<(), bandsolve::Error>(())
    /// ```
    pub fn n(&self) -> usize {
        self.diag.len()
    }

    /// Compute the eigenvalues in `range`, in ascending order.
    ///
    /// Each value is within ε·max(‖T‖, |λ|) of an eigenvalue of a matrix that differs from T by a few rounding errors per entry. Sturm counts
    /// ensure that no eigenvalue is missing. For an interval, all values satisfy from < λ ≤ to. Results are the same for any number of
    /// threads.
    ///
    /// # Cost
    /// Approximately 15 Sturm counts per eigenvalue. With W numbers per SIMD vector, W counts together take 7 vector operations per row.
    ///
    /// # Errors
    /// [`Error::Shape`] if an index exceeds n. [`Error::NotFinite`] if an end of the interval is NaN, or if a requested eigenvalue exceeds the
    /// largest finite number. [`Error::OutOfMemory`].
    ///
    /// # Source
    /// Barth, Martin, Wilkinson, "Calculation of the eigenvalues of a symmetric tridiagonal matrix by the method of bisection" (1967).
    ///
    /// # Examples
    /// ```
    /// use bandsolve_eigen::{EigenvalueRange, SymmetricTridiagonal};
    /// let a = SymmetricTridiagonal::new(&[2.0, 2.0], &[1.0])?;
    /// let values = a.eigenvalues(EigenvalueRange::All)?;
    /// assert!((values[0] - 1.0).abs() < 1e-14 && (values[1] - 3.0).abs() < 1e-14);
    /// # Ok::<(), bandsolve::Error>(())
    /// ```
    pub fn eigenvalues(&self, range: EigenvalueRange) -> Result<Vec<f64>> {
        let _mode = Standard::enter();
        let blocks = coupled_rows(self.diag, self.off)?;
        let eigenvalues = self.find(&blocks, &range)?;
        collected(eigenvalues.iter().map(|eigenvalue| eigenvalue.value))
    }

    /// Count the eigenvalues λ ≤ σ.
    ///
    /// Their number is the number of pivots of T − σI = L·D·Lᵀ that are not positive. If an eigenvalue is within rounding errors of σ, minors with
    /// 106 bits decide.
    ///
    /// # Cost
    /// Three Sturm counts, side by side. If they differ, one count with 106 bits, which takes approximately 60 operations per row.
    ///
    /// # Errors
    /// [`Error::NotFinite`] if σ is NaN. [`Error::OutOfMemory`].
    ///
    /// # Examples
    /// ```
    /// use bandsolve_eigen::SymmetricTridiagonal;
    /// let a = SymmetricTridiagonal::new(&[2.0, 2.0], &[1.0])?; // λ = 1, 3
    /// assert_eq!((a.eigenvalues_below(0.0)?, a.eigenvalues_below(1.0)?, a.eigenvalues_below(4.0)?), (0, 1, 2));
    /// # Ok::<(), bandsolve::Error>(())
    /// ```
    pub fn eigenvalues_below(&self, shift: f64) -> Result<usize> {
        let _mode = Standard::enter();
        if shift.is_nan() {
            return Err(Error::NotFinite { array: "shift", index: 0 });
        }
        Ok(count(&coupled_rows(self.diag, self.off)?, shift))
    }

    /// Find the eigenvalues in `range` with their blocks, in ascending order.
    fn find(&self, blocks: &[CoupledRows], range: &EigenvalueRange) -> Result<Vec<BlockEigenvalue>> {
        let everywhere = (f64::NEG_INFINITY, f64::INFINITY);
        match *range {
            EigenvalueRange::All => self.merged(blocks, everywhere, 0..self.n()),
            EigenvalueRange::Interval(from, to) => {
                if let Some(index) = [from, to].iter().position(|end| end.is_nan()) {
                    return Err(Error::NotFinite { array: "interval", index });
                }
                let mut eigenvalues =
                    if from < to { self.merged(blocks, (from, to), 0..self.n())? } else { Vec::new() };
                // The counts prove that the values are inside. Rounding errors can move a value beyond an end.
                eigenvalues
                    .iter_mut()
                    .for_each(|eigenvalue| eigenvalue.value = eigenvalue.value.clamp(from.next_up(), to));
                Ok(eigenvalues)
            }
            EigenvalueRange::Indices(Range { start, end }) => {
                if end > self.n() || start > end {
                    let expected = format!("an increasing range inside 0..{}", self.n());
                    return Err(Error::invalid("range of indices", format!("is {start}..{end}"), expected));
                }
                if start == end { Ok(Vec::new()) } else { self.by_index(blocks, start..end) }
            }
        }
    }

    /// Find the eigenvalues with these indices. The range is not empty.
    fn by_index(&self, blocks: &[CoupledRows], indices: Range<usize>) -> Result<Vec<BlockEigenvalue>> {
        if blocks.len() == 1 {
            return self.merged(blocks, (f64::NEG_INFINITY, f64::INFINITY), indices);
        }
        let (from, _) = enclose(blocks, indices.start);
        let (_, to) = enclose(blocks, indices.end - 1);
        let skipped = indices.start - count(blocks, from);
        let mut eigenvalues = self.merged(blocks, (from, to), 0..self.n())?;
        eigenvalues.truncate(skipped.saturating_add(indices.len()));
        eigenvalues.drain(..skipped.min(eigenvalues.len()));
        Ok(eigenvalues)
    }

    /// Find the eigenvalues of all blocks in an interval, in ascending order.
    fn merged(
        &self,
        blocks: &[CoupledRows],
        interval: (f64, f64),
        indices: Range<usize>,
    ) -> Result<Vec<BlockEigenvalue>> {
        let mut eigenvalues = Vec::new();
        for (place, block) in blocks.iter().enumerate() {
            let wanted = indices.start.min(block.n())..indices.end.min(block.n());
            let scaled = block.eigenvalues(interval, wanted, self.tolerance)?;
            more(&mut eigenvalues, scaled.len())?;
            eigenvalues.extend(scaled.iter().map(|scaled| BlockEigenvalue {
                value: block.unscaled(*scaled),
                scaled: *scaled,
                block: place,
            }));
        }
        // Sort values of one block, too: they can decrease by a rounding error. Equal values stay in the order of their blocks.
        eigenvalues.sort_unstable_by(|a, b| a.value.total_cmp(&b.value).then(a.block.cmp(&b.block)));
        match eigenvalues.iter().position(|eigenvalue| !eigenvalue.value.is_finite()) {
            Some(index) => Err(Error::NotFinite { array: "eigenvalues", index }),
            None => Ok(eigenvalues),
        }
    }
}

/// Eigenpairs of a real symmetric tridiagonal matrix.
///
/// # Examples
/// ```
/// use bandsolve_eigen::{EigenvalueRange, SymmetricTridiagonal};
/// // [[2, 1], [1, 2]]: the largest eigenvalue is 3, with the vector (1, 1)/√2.
/// let pairs = SymmetricTridiagonal::new(&[2.0, 2.0], &[1.0])?.eigenpairs(EigenvalueRange::Indices(1..2))?;
/// assert!((pairs.values[0] - 3.0).abs() < 1e-14 && pairs.residual < 1e-14);
/// assert!((pairs.vectors[0] - pairs.vectors[1]).abs() < 1e-14);
/// # Ok::<(), bandsolve::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct TridiagonalEigenpairs {
    /// The eigenvalues, in ascending order.
    pub values: Vec<f64>,
    /// The eigenvectors, one after the other. Each has n numbers and ‖z‖₂ = 1.
    pub vectors: Vec<f64>,
    /// The largest residual ‖T·z − λ·z‖₂ / ‖T‖, computed from the vectors. For each uncoupled block of T, an upper bound of its norm replaces ‖T‖.
    pub residual: f64,
}

/// The largest residual that [`SymmetricTridiagonal::eigenpairs`] accepts, in units of ε·‖T‖·(1 + √n/8).
const ACCEPTED: f64 = 16.0;

impl SymmetricTridiagonal<'_> {
    /// Compute the eigenvalues in `range` and their eigenvectors.
    ///
    /// Vectors come from twisted factorizations. If eigenvalues are within 2·‖T‖/n of each other, the function orthogonalizes their vectors. If
    /// eigenvalues agree up to rounding errors, it uses inverse iteration. For all other pairs of vectors, the residuals r bound the inner
    /// products: `|zᵢᵀ·zⱼ| ≤ (rᵢ + rⱼ) / |λᵢ − λⱼ|`.
    ///
    /// If `range` contains all eigenvalues, n is at least 64, and one eigenvalue in eight is within 10⁻⁶·‖T‖ of the next, the function uses divide
    /// and conquer.
    ///
    /// # Shapes
    /// For m eigenvalues, `vectors` has m·n numbers.
    ///
    /// # Cost
    /// Two divisions and approximately 15 other operations per row and vector, and 4 more operations per row for each close eigenvalue. Divide and
    /// conquer takes at most 4/3·n³ flops, plus terms of order n², and memory for at most 5/2·n² additional numbers.
    ///
    /// # Errors
    /// As [`eigenvalues`](Self::eigenvalues). [`Error::NotConverged`] if a residual exceeds 16·ε·‖T‖·(1 + √n/8).
    ///
    /// # Examples
    /// ```
    /// use bandsolve_eigen::{EigenvalueRange, SymmetricTridiagonal};
    /// let pairs = SymmetricTridiagonal::new(&[2.0, 2.0], &[1.0])?.eigenpairs(EigenvalueRange::All)?;
    /// assert!((pairs.values[1] - 3.0).abs() < 1e-14);
    /// assert!((pairs.vectors[2].abs() - 0.5_f64.sqrt()).abs() < 1e-14);
    /// # Ok::<(), bandsolve::Error>(())
    /// ```
    ///
    /// # Source
    /// Parlett, Dhillon, "Fernando's solution to Wilkinson's problem" (1997); Gu, Eisenstat, "A divide-and-conquer algorithm for the symmetric
    /// tridiagonal eigenproblem" (1995).
    pub fn eigenpairs(&self, range: EigenvalueRange) -> Result<TridiagonalEigenpairs> {
        let _mode = Standard::enter();
        // With inexact values, the vectors could belong to neighbouring eigenvalues.
        let precise = SymmetricTridiagonal { tolerance: 0.0, ..*self };
        let blocks = coupled_rows(self.diag, self.off)?;
        let eigenvalues = precise.find(&blocks, &range)?;
        let values = collected(eigenvalues.iter().map(|eigenvalue| eigenvalue.value))?;
        let (vectors, residual) = if blocks.len() == 1 {
            let scaled = collected(eigenvalues.iter().map(|eigenvalue| eigenvalue.scaled))?;
            let result = block_vectors(&blocks[0], &scaled)?;
            (result.rows, result.residual)
        } else {
            self.assembled(&blocks, &eigenvalues)?
        };
        // This comparison is false if the residual is NaN.
        if residual <= ACCEPTED * f64::EPSILON * (1.0 + (self.n() as f64).sqrt() / 8.0) {
            return Ok(TridiagonalEigenpairs { values, vectors, residual });
        }
        Err(Error::NotConverged { backward_error: residual, refinement_steps: 0 })
    }

    /// Compute the vectors of all blocks, each in the rows of its block, and the largest residual.
    fn assembled(&self, blocks: &[CoupledRows], eigenvalues: &[BlockEigenvalue]) -> Result<(Vec<f64>, f64)> {
        let n = self.n();
        let (mut vectors, mut largest) = (zeroed(n.saturating_mul(eigenvalues.len()))?, 0.0);
        let mut places: Vec<usize> = collected(0..eigenvalues.len())?;
        places.sort_unstable_by_key(|place| (eigenvalues[*place].block, *place));
        for places in places.chunk_by(|one, other| eigenvalues[*one].block == eigenvalues[*other].block) {
            let block = &blocks[eigenvalues[places[0]].block];
            let scaled = collected(places.iter().map(|place| eigenvalues[*place].scaled))?;
            let result = block_vectors(block, &scaled)?;
            for (place, row) in places.iter().zip(result.rows.chunks_exact(block.n())) {
                vectors[place * n..][block.rows.clone()].copy_from_slice(row);
            }
            largest = if result.residual <= largest { largest } else { result.residual };
        }
        Ok((vectors, largest))
    }
}

/// An eigenvalue with its block.
#[derive(Debug, Clone, Copy)]
struct BlockEigenvalue {
    value: f64,
    /// The value in the units of the block.
    scaled: f64,
    /// The index of the block.
    block: usize,
}

/// The number of eigenvalues λ ≤ σ of all blocks.
fn count(blocks: &[CoupledRows], shift: f64) -> usize {
    blocks.iter().map(|block| block.count(shift)).sum()
}

/// A narrow interval (a, b] that contains the eigenvalue with this index.
fn enclose(blocks: &[CoupledRows], index: usize) -> (f64, f64) {
    let (mut from, mut to) = (f64::INFINITY, f64::NEG_INFINITY);
    for block in blocks {
        let ends = block.ends();
        (from, to) = (from.min(ends.0), to.max(ends.1));
    }
    let least = f64::EPSILON * from.abs().max(to.abs());
    // Stay below all eigenvalues, even if all are equal.
    from -= least.max(f64::MIN_POSITIVE);
    loop {
        let middle = 0.5 * from + 0.5 * to;
        if to - from <= least || middle <= from || middle >= to {
            return (from, to);
        }
        if count(blocks, middle) <= index { from = middle } else { to = middle }
    }
}
