//! Eigenvalues of symmetric tridiagonal matrices, by Sturm counts.

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
/// // A diagonal matrix: λ = 1, 2, 3, 4.
/// let a = SymmetricTridiagonal::new(&[1.0, 2.0, 3.0, 4.0], &[0.0; 3])?;
/// assert_eq!(a.eigenvalues(EigenvalueRange::All)?.len(), 4);
/// assert_eq!(a.eigenvalues(EigenvalueRange::Indices(1..3))?.len(), 2); // the second and the third smallest
/// assert_eq!(a.eigenvalues(EigenvalueRange::Interval(1.5, f64::INFINITY))?.len(), 3);
/// # Ok::<(), bandsolve::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub enum EigenvalueRange {
    /// All of them.
    All,
    /// Those with these numbers, counted from 0, the smallest.
    Indices(Range<usize>),
    /// Those in the half-open interval (from, to]; infinities are allowed. Intervals that follow on each other have each eigenvalue once.
    /// An end that is an eigenvalue belongs to the interval below it. (Minors of 106 bits decide which of both an eigenvalue within
    /// rounding of an end belongs to.)
    Interval(f64, f64),
}

/// A real symmetric tridiagonal matrix T, for its eigenvalues.
///
/// `(T·v)_i = off[i−1]·v_{i−1} + diag[i]·v_i + off[i]·v_{i+1}`
///
/// # Shapes
/// `diag` has n entries, `off` n − 1.
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
    /// Borrows the arrays.
    ///
    /// # Errors
    /// [`Error::Shape`] unless `off` has an entry less than `diag` (or both have none), [`Error::NotFinite`] for a NaN or an infinity.
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

    /// Eigenvalues need only be known within this, absolutely. What is below the rounding of the matrix, ε‖T‖, counts as that.
    pub fn tolerance(self, tolerance: f64) -> Self {
        Self { tolerance: if tolerance > 0.0 { tolerance } else { 0.0 }, ..self }
    }

    /// Number of rows.
    pub fn n(&self) -> usize {
        self.diag.len()
    }

    /// Compute the eigenvalues in `range`, ascending.
    ///
    /// Each is within ε max(‖T‖, |λ|) of one of a matrix that differs from T by a few roundings of its entries. None is missed: numbers
    /// are Sturm counts. Those of an interval (from, to] are above `from` and at most `to`, as numbers. The same bits for any number of
    /// threads.
    ///
    /// # Cost
    /// About 15 counts an eigenvalue, each of 7 vector operations a row and W shifts.
    ///
    /// # Errors
    /// [`Error::Shape`] if an index is beyond n, [`Error::NotFinite`] if an end of an interval is NaN or a wanted eigenvalue is beyond the
    /// range of numbers, [`Error::OutOfMemory`].
    ///
    /// # Source
    /// Barth, Martin, Wilkinson, "Calculation of the eigenvalues of a symmetric tridiagonal matrix by the method of bisection" (1967).
    pub fn eigenvalues(&self, range: EigenvalueRange) -> Result<Vec<f64>> {
        let _mode = Standard::enter();
        let blocks = coupled_rows(self.diag, self.off)?;
        let found = self.find(&blocks, &range)?;
        collected(found.iter().map(|found| found.value))
    }

    /// How many eigenvalues are below σ or at it: the pivots of LDLᵀ = T − σI that are not positive. Minors of 106 bits decide whether an
    /// eigenvalue within rounding of σ counts.
    ///
    /// # Errors
    /// [`Error::NotFinite`] if σ is NaN, [`Error::OutOfMemory`].
    pub fn eigenvalues_below(&self, shift: f64) -> Result<usize> {
        let _mode = Standard::enter();
        if shift.is_nan() {
            return Err(Error::NotFinite { array: "shift", index: 0 });
        }
        Ok(count(&coupled_rows(self.diag, self.off)?, shift))
    }

    /// The wanted eigenvalues with their blocks, ascending.
    fn find(&self, blocks: &[CoupledRows], range: &EigenvalueRange) -> Result<Vec<FoundEigenvalue>> {
        let everywhere = (f64::NEG_INFINITY, f64::INFINITY);
        match *range {
            EigenvalueRange::All => self.merged(blocks, everywhere, 0..self.n()),
            EigenvalueRange::Interval(from, to) => {
                if let Some(index) = [from, to].iter().position(|end| end.is_nan()) {
                    return Err(Error::NotFinite { array: "interval", index });
                }
                let mut found = if from < to { self.merged(blocks, (from, to), 0..self.n())? } else { Vec::new() };
                // Counts say that they are inside; rounding may have moved them to an end.
                found.iter_mut().for_each(|found| found.value = found.value.clamp(from.next_up(), to));
                Ok(found)
            }
            EigenvalueRange::Indices(Range { start, end }) => {
                if end > self.n() || start > end {
                    return Err(Error::Shape {
                        what: "eigenvalues asked for",
                        expected: self.n(),
                        got: end.max(start),
                    });
                }
                if start == end { Ok(Vec::new()) } else { self.by_index(blocks, start..end) }
            }
        }
    }

    /// Eigenvalues with the wanted numbers, of which there are some.
    fn by_index(&self, blocks: &[CoupledRows], indices: Range<usize>) -> Result<Vec<FoundEigenvalue>> {
        if blocks.len() == 1 {
            return self.merged(blocks, (f64::NEG_INFINITY, f64::INFINITY), indices);
        }
        let (from, _) = enclose(blocks, indices.start);
        let (_, to) = enclose(blocks, indices.end - 1);
        let skipped = indices.start - count(blocks, from);
        let mut found = self.merged(blocks, (from, to), 0..self.n())?;
        found.truncate(skipped.saturating_add(indices.len()));
        found.drain(..skipped.min(found.len()));
        Ok(found)
    }

    /// Eigenvalues of all blocks in an interval.
    fn merged(
        &self,
        blocks: &[CoupledRows],
        interval: (f64, f64),
        indices: Range<usize>,
    ) -> Result<Vec<FoundEigenvalue>> {
        let mut found = Vec::new();
        for (place, block) in blocks.iter().enumerate() {
            let wanted = indices.start.min(block.n())..indices.end.min(block.n());
            let scaled = block.eigenvalues(interval, wanted, self.tolerance)?;
            more(&mut found, scaled.len())?;
            found.extend(scaled.iter().map(|scaled| FoundEigenvalue {
                value: block.unscaled(*scaled),
                scaled: *scaled,
                block: place,
            }));
        }
        // Equal eigenvalues stay in the order of their blocks. Those of one block may decrease by a rounding.
        found.sort_unstable_by(|a, b| a.value.total_cmp(&b.value).then(a.block.cmp(&b.block)));
        match found.iter().position(|found| !found.value.is_finite()) {
            Some(index) => Err(Error::NotFinite { array: "eigenvalues", index }),
            None => Ok(found),
        }
    }
}

/// Eigenvalues and eigenvectors of a symmetric tridiagonal matrix.
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
    /// The eigenvalues, ascending.
    pub values: Vec<f64>,
    /// The eigenvectors, one after the other, with n numbers and norm 1 each.
    pub vectors: Vec<f64>,
    /// The largest ‖T z − λ z‖ / ‖T‖, as measured, with a bound of ‖T‖ for each part that is not coupled to others.
    pub residual: f64,
}

/// Largest residual of an eigenvector, times ε‖T‖ (1 + √n/8), that is not an error.
const ACCEPTED: f64 = 16.0;

impl SymmetricTridiagonal<'_> {
    /// Compute eigenvalues in `range` and their eigenvectors.
    ///
    /// Vectors come from twisted factorisations, and are made orthogonal among eigenvalues within 2‖T‖/n of each other, by inverse
    /// iteration if those agree to rounding. For all others, the measured residuals r bound the inner products:
    /// `|z_iᵀ·z_j| ≤ (r_i + r_j) / |λ_i − λ_j|`.
    ///
    /// Where all are wanted, and one eigenvalue in eight is within 10⁻⁶‖T‖ of the next, they come from divide and conquer.
    ///
    /// # Shapes
    /// Of m eigenvalues, `vectors` has m·n numbers.
    ///
    /// # Cost
    /// Two divisions and about 15 other operations a row and vector, and 4 for each eigenvalue that is close. Divide and conquer: at most 4/3·n³,
    /// and two n × n arrays more.
    ///
    /// # Errors
    /// As [`eigenvalues`](Self::eigenvalues), [`Error::OutOfMemory`], and [`Error::NotConverged`] where a residual is above 16 ε‖T‖ (1 + √n/8).
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
        // Vectors of values that are known less well would be those of others.
        let precise = SymmetricTridiagonal { tolerance: 0.0, ..*self };
        let blocks = coupled_rows(self.diag, self.off)?;
        let found = precise.find(&blocks, &range)?;
        let values = collected(found.iter().map(|found| found.value))?;
        let (vectors, residual) = if blocks.len() == 1 {
            let scaled = collected(found.iter().map(|found| found.scaled))?;
            let own = block_vectors(&blocks[0], &scaled)?;
            (own.rows, own.residual)
        } else {
            self.assembled(&blocks, &found)?
        };
        // No NaN is accepted.
        if residual <= ACCEPTED * f64::EPSILON * (1.0 + (self.n() as f64).sqrt() / 8.0) {
            return Ok(TridiagonalEigenpairs { values, vectors, residual });
        }
        Err(Error::NotConverged { backward_error: residual, refinement_steps: 0 })
    }

    /// Vectors of all blocks, each in its rows, and the largest residual.
    fn assembled(&self, blocks: &[CoupledRows], found: &[FoundEigenvalue]) -> Result<(Vec<f64>, f64)> {
        let n = self.n();
        let (mut vectors, mut largest) = (zeroed(n.saturating_mul(found.len()))?, 0.0);
        // Places by blocks.
        let mut places: Vec<usize> = collected(0..found.len())?;
        places.sort_unstable_by_key(|place| (found[*place].block, *place));
        for places in places.chunk_by(|one, other| found[*one].block == found[*other].block) {
            let block = &blocks[found[places[0]].block];
            let scaled = collected(places.iter().map(|place| found[*place].scaled))?;
            let own = block_vectors(block, &scaled)?;
            for (place, row) in places.iter().zip(own.rows.chunks_exact(block.n())) {
                vectors[place * n..][block.rows.clone()].copy_from_slice(row);
            }
            largest = if own.residual <= largest { largest } else { own.residual };
        }
        Ok((vectors, largest))
    }
}

/// An eigenvalue and where it comes from.
#[derive(Debug, Clone, Copy)]
struct FoundEigenvalue {
    value: f64,
    /// In the units of its block.
    scaled: f64,
    /// Number of the block.
    block: usize,
}

/// Eigenvalues of all blocks below a shift.
fn count(blocks: &[CoupledRows], shift: f64) -> usize {
    blocks.iter().map(|block| block.count(shift)).sum()
}

/// A narrow interval (a, b] that holds the eigenvalue with this number.
fn enclose(blocks: &[CoupledRows], index: usize) -> (f64, f64) {
    let (mut from, mut to) = (f64::INFINITY, f64::NEG_INFINITY);
    for block in blocks {
        let ends = block.ends();
        (from, to) = (from.min(ends.0), to.max(ends.1));
    }
    let least = f64::EPSILON * from.abs().max(to.abs());
    // Below all of them, also where all are the same.
    from -= least.max(f64::MIN_POSITIVE);
    loop {
        let middle = 0.5 * from + 0.5 * to;
        if to - from <= least || middle <= from || middle >= to {
            return (from, to);
        }
        if count(blocks, middle) <= index { from = middle } else { to = middle }
    }
}
