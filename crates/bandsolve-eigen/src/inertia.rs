//! Inertia: the number of eigenvalues of a Hermitian matrix or pencil below a shift.

use crate::front::{self, HermitianEntry};
use bandsolve::memory::zeroed;
use bandsolve::vectors::divide;
use bandsolve::{Banded, BlockTridiagonal, Error, RealScalar, Result, Scalar, Simd, Tridiagonal};
use bandsolve_kernel::arithmetic::Standard;
use bandsolve_kernel::vectors::subtract_multiple;
use bandsolve_kernel::{Job, Lanes, dispatch};

/// A Hermitian band matrix for eigenvalue counts. The counts read only the lower triangle.
///
/// # Examples
/// ```
/// use bandsolve::Tridiagonal;
/// use bandsolve_eigen::HermitianBand;
/// let a = Tridiagonal::new(&[1.0], &[2.0, 3.0], &[1.0])?;
/// assert_eq!((a.order(), a.half_width(), a.lower_entry(1, 0)), (2, 1, 1.0));
/// # Ok::<(), bandsolve::Error>(())
/// ```
pub trait HermitianBand: Sync {
    /// The number type.
    type Scalar: Scalar;
    /// The number of rows.
    fn order(&self) -> usize;
    /// The number of diagonals below the main diagonal.
    fn half_width(&self) -> usize;
    /// The number of rows per block, so that entries couple a block only with itself and its neighbours.
    fn block_rows(&self) -> usize {
        self.half_width()
    }
    /// Whether entries couple the first and the last row, or the first and the last block.
    fn is_periodic(&self) -> bool {
        false
    }
    /// The entry in row i and column j ≤ i. It lies within the band, or in the corner of a periodic matrix.
    fn lower_entry(&self, i: usize, j: usize) -> Self::Scalar;
    /// Check that all entries are finite.
    ///
    /// # Errors
    /// [`Error::NotFinite`] if an entry is NaN or infinite.
    fn check(&self) -> Result<()>;
}

impl<T: Scalar> HermitianBand for Tridiagonal<'_, T> {
    type Scalar = T;

    fn order(&self) -> usize {
        self.n()
    }

    fn half_width(&self) -> usize {
        1
    }

    fn lower_entry(&self, i: usize, j: usize) -> T {
        let ([sub, diag, sup], n) = (self.arrays(), self.n());
        let mut entry = match i - j {
            0 => diag[i],
            // `sub` begins with row 0 or row 1.
            1 => sub[sub.len() + i - n],
            _ => T::ZERO,
        };
        // With one or two rows, the corners coincide with other entries.
        if self.is_periodic() && i + 1 == n && j == 0 {
            entry += sup[i];
            if n == 1 {
                entry += sub[0];
            }
        }
        entry
    }

    fn is_periodic(&self) -> bool {
        Tridiagonal::is_periodic(self)
    }

    fn check(&self) -> Result<()> {
        self.check_finite()
    }
}

impl<T: Scalar> HermitianBand for Banded<'_, T> {
    type Scalar = T;

    fn order(&self) -> usize {
        self.n()
    }

    fn half_width(&self) -> usize {
        self.lower()
    }

    fn lower_entry(&self, i: usize, j: usize) -> T {
        self.get(i, j)
    }

    fn check(&self) -> Result<()> {
        self.check_finite()
    }
}

impl<T: Scalar> HermitianBand for BlockTridiagonal<'_, T> {
    type Scalar = T;

    fn order(&self) -> usize {
        self.n()
    }

    fn half_width(&self) -> usize {
        2 * self.block() - 1
    }

    fn block_rows(&self) -> usize {
        self.block()
    }

    fn lower_entry(&self, i: usize, j: usize) -> T {
        let (block, [sub, diag, sup]) = (self.block(), self.arrays());
        let inside = i % block + j % block * block;
        let (square, row, column) = (block * block, i / block, j / block);
        let mut entry = match row - column {
            0 => diag[row * square + inside],
            // `sub` begins with block row 0 or block row 1.
            1 => sub[sub.len() + row * square - diag.len() + inside],
            _ => T::ZERO,
        };
        // With one or two block rows, the corners coincide with other blocks.
        let rows = BlockTridiagonal::block_rows(self);
        if self.is_periodic() && row + 1 == rows && column == 0 {
            entry += sup[row * square + inside];
            if rows == 1 {
                entry += sub[inside];
            }
        }
        entry
    }

    fn is_periodic(&self) -> bool {
        BlockTridiagonal::is_periodic(self)
    }

    fn check(&self) -> Result<()> {
        self.check_finite()
    }
}

/// Count the eigenvalues of a Hermitian matrix or pencil below a shift σ.
///
/// The eigenvalues are those of A·x = λ·x, or of A·x = λ·B·x with positive definite B. Their number below σ is the number of negative pivots
/// of A − σB = L·D·Lᴴ (Sylvester's law of inertia).
///
/// The count is exact for a matrix that differs from A − σB by rounding errors. It can be wrong only if an eigenvalue is within such a
/// difference of σ. It is the same for any number of threads.
///
/// # Methods
/// If a band has more than 16 diagonals on each side, or blocks have more than 16 rows, the function eliminates dense fronts. It starts at both
/// ends of the matrix and meets in the middle. Pivots of one or two columns bound the entries of L by 4. A column without such a pivot moves to
/// the next front.
///
/// Otherwise, the function eliminates row by row with row exchanges, and counts the sign changes of the leading minors of A − σB. These are
/// as many as D has negative pivots. If a minor is exactly zero, a pivot of ε² times the largest entry replaces the zero.
///
/// In a periodic matrix with N blocks of rows, the order 0, N − 1, 1, N − 2, … of the blocks gives a band of twice the width.
///
/// # Shapes
/// A and B have the same order. The function reads only their lower triangles.
///
/// # Cost
/// With K rows per block, or K diagonals on each side: 2.3·K² flops per row if K > 16, and 4·K² flops per row otherwise. The memory is 8·K²
/// numbers for each of two threads. A periodic matrix costs four times as much.
///
/// # Errors
/// [`Error::Shape`] if the orders differ, or if the block sizes of periodic matrices differ. [`Error::NotFinite`] if an entry or the shift is
/// NaN or infinite. [`Error::NotConverged`] if numbers overflow. [`Error::OutOfMemory`].
///
/// # Source
/// Fronts: I. S. Duff, J. K. Reid, "The multifrontal solution of indefinite sparse symmetric linear equations" (1983). Rows: Martin,
/// Wilkinson, "Solution of symmetric and unsymmetric band equations and the calculation of eigenvectors of band matrices" (1967).
///
/// # Examples
/// ```
/// use bandsolve::Tridiagonal;
/// use bandsolve_eigen::eigenvalues_below;
/// // λ = 2 − 2·cos(π·k/101), k = 1, …, 100
/// let a = Tridiagonal::from_vecs(vec![-1.0; 100], vec![2.0; 100], vec![-1.0; 100], false)?;
/// assert_eq!(eigenvalues_below(&a, None, 2.0)?, 50);
/// # Ok::<(), bandsolve::Error>(())
/// ```
pub fn eigenvalues_below<M: HermitianBand>(a: &M, b: Option<&M>, shift: f64) -> Result<usize> {
    let _mode = Standard::enter();
    a.check()?;
    if let Some(b) = b {
        b.check()?;
        if b.order() != a.order() {
            return Err(Error::Shape { what: "B", expected: a.order(), got: b.order() });
        }
    }
    if !shift.is_finite() {
        return Err(Error::NotFinite { array: "shift", index: 0 });
    }
    let n = a.order();
    let narrowed = <M::Scalar as Scalar>::Real::from_f64(shift);
    // The eigenvalues of a matrix fit its type, so all are below or above this shift. The eigenvalues of a pencil may not fit.
    if !narrowed.to_f64().is_finite() {
        return match b {
            None => Ok(if shift > 0.0 { n } else { 0 }),
            Some(_) => Err(Error::NotFinite { array: "shift", index: 0 }),
        };
    }
    let common = |size: fn(&M) -> usize| {
        let (of_a, of_b) = (size(a), b.map_or(0, size));
        of_a.max(of_b).min(n.saturating_sub(1))
    };
    let (mut width, mut step) = (common(M::half_width), common(M::block_rows));
    let alike = b.is_none_or(|b| b.block_rows() == a.block_rows());
    if !alike {
        step = width;
    }
    let ring = [Some(a), b].into_iter().flatten().any(M::is_periodic).then(|| Ring { n, block: a.block_rows() });
    if let Some(Ring { block, .. }) = ring {
        if !alike {
            let got = b.map_or(0, M::block_rows);
            return Err(Error::Shape { what: "a block of B", expected: block, got });
        }
        // In the order of `Ring`, entries couple a block with the block two places away.
        (width, step) = ((3 * block - 1).min(n.saturating_sub(1)), 2 * block);
    }
    let at = |place: usize| ring.map_or(place, |ring| ring.row(place));
    in_range(|scale| {
        let pencil = ShiftedPencil { a, b, shift: narrowed, scale };
        let entry = |i: usize, j: usize| {
            let (i, j) = (at(i), at(j));
            if i < j { pencil.lower_entry(j, i).conj() } else { pencil.lower_entry(i, j) }
        };
        let simd = Simd::detect();
        match if step > NARROW { front::negatives(n, step, simd, &entry)? } else { None } {
            Some(negatives) => Ok(Some(negatives)),
            None => dispatch::<M::Scalar, _>(simd, SignChanges { n, width, entry: &entry }),
        }
    })
}

/// Count for a scaled matrix: first with the scale 1, then with a small scale if numbers overflow.
fn in_range<R: RealScalar>(count: impl Fn(R) -> Result<Option<usize>>) -> Result<usize> {
    // The scale is a power of two. Products of two numbers below its reciprocal do not overflow.
    for scale in [R::ONE, R::MIN_POSITIVE.sqrt()] {
        if let Some(count) = count(scale)? {
            return Ok(count);
        }
    }
    Err(Error::NotConverged { backward_error: f64::NAN, refinement_steps: 0 })
}

/// Check that a Hermitian matrix has no negative eigenvalues, by an eigenvalue count.
///
/// A singular matrix without negative eigenvalues passes the check.
///
/// # Cost
/// One count, see [`eigenvalues_below`]. If the check fails and the matrix is not periodic, log₂(n) more counts find the row.
///
/// # Errors
/// [`Error::NotDefinite`] if an eigenvalue is negative. The row is the last row of the first leading submatrix with a negative eigenvalue. For a
/// periodic matrix, the row is the first with a negative diagonal entry, or the last row. Also the errors of [`eigenvalues_below`].
///
/// # Examples
/// ```
/// use bandsolve::{Error, Tridiagonal};
/// use bandsolve_eigen::check_definite;
/// let b = Tridiagonal::from_vecs(vec![0.0; 3], vec![2.0, -1.0, 3.0], vec![0.0; 3], false)?;
/// assert_eq!(check_definite(&b), Err(Error::NotDefinite { row: 1 }));
/// # Ok::<(), Error>(())
/// ```
pub fn check_definite<M: HermitianBand>(b: &M) -> Result<()> {
    if eigenvalues_below(b, None, 0.0)? == 0 {
        return Ok(());
    }
    if b.is_periodic() {
        // The corner makes the band of the last row as wide as the matrix, so leading minors are too expensive.
        let negative = (0..b.order()).find(|i| b.lower_entry(*i, *i).re() < <M::Scalar as Scalar>::Real::ZERO);
        return Err(Error::NotDefinite { row: negative.unwrap_or(b.order() - 1) });
    }
    let entry = |i: usize, j: usize| {
        let (i, j, conj) = if i < j { (j, i, true) } else { (i, j, false) };
        let inside = i - j <= b.half_width();
        let entry = if inside { b.lower_entry(i, j) } else { M::Scalar::ZERO };
        if conj { entry.conj() } else { entry }
    };
    // Bisection for the first leading submatrix with a negative eigenvalue.
    let width = b.half_width().min(b.order().saturating_sub(1));
    let negatives = |n: usize| {
        in_range(|scale: <M::Scalar as Scalar>::Real| {
            let entry = |i: usize, j: usize| entry(i, j).scale(scale);
            dispatch::<M::Scalar, _>(Simd::detect(), SignChanges { n, width, entry: &entry })
        })
    };
    let (mut none, mut some) = (0, b.order());
    while some - none > 1 {
        let middle = none + (some - none) / 2;
        if negatives(middle)? == 0 { none = middle } else { some = middle }
    }
    Err(Error::NotDefinite { row: some - 1 })
}

/// The order of the rows in which a periodic matrix is a band: blocks from both ends in turn.
#[derive(Debug, Clone, Copy)]
struct Ring {
    n: usize,
    block: usize,
}

impl Ring {
    /// The row at a place of the order.
    fn row(self, place: usize) -> usize {
        let (turn, inside) = (place / self.block, place % self.block);
        let blocks = self.n / self.block;
        let block = if turn.is_multiple_of(2) { turn / 2 } else { blocks - 1 - turn / 2 };
        block * self.block + inside
    }
}

/// The largest number of diagonals on each side, or of rows per block, for elimination by rows.
const NARROW: usize = 16;

/// A − σB, times the scale.
struct ShiftedPencil<'a, M: HermitianBand> {
    a: &'a M,
    b: Option<&'a M>,
    shift: <M::Scalar as Scalar>::Real,
    scale: <M::Scalar as Scalar>::Real,
}

impl<M: HermitianBand> ShiftedPencil<'_, M> {
    /// The entry in row i and column j ≤ i.
    fn lower_entry(&self, i: usize, j: usize) -> M::Scalar {
        let inside = |m: &M| i - j <= m.half_width() || m.is_periodic();
        let entry = |m: &M| if inside(m) { m.lower_entry(i, j) } else { M::Scalar::ZERO };
        let b = match self.b {
            Some(b) => entry(b),
            None if i == j => M::Scalar::ONE,
            None => M::Scalar::ZERO,
        };
        entry(self.a).scale(self.scale) - b.scale(self.scale).scale(self.shift)
    }
}

/// Counts the sign changes in the sequence of leading minors. The result is `None` if numbers overflow.
///
/// Elimination with row exchanges keeps each leading minor up to its sign. Earlier pivot rows eliminate each new row. If the new row has the
/// larger entry, it replaces the pivot row, which changes the sign.
struct SignChanges<'a, T> {
    n: usize,
    /// The number of diagonals on each side.
    width: usize,
    entry: HermitianEntry<'a, T>,
}

impl<T: Scalar> SignChanges<'_, T> {
    /// Copy columns i − width … i + 2·width of row i. Entries outside the matrix or the band are 0. The diagonal entry is real.
    fn load(&self, i: usize, row: &mut [T]) {
        row.fill(T::ZERO);
        for j in i.saturating_sub(self.width)..(i + self.width + 1).min(self.n) {
            row[j + self.width - i] = (self.entry)(i, j);
        }
        row[self.width] = T::from_real(row[self.width].re());
    }
}

impl<T: Scalar> Job<T> for SignChanges<'_, T> {
    type Output = Result<Option<usize>>;
    #[inline(always)]
    fn run<V: Lanes<Real = T::Real>>(self) -> Result<Option<usize>> {
        let across = 2 * self.width + 1;
        // Pivot row k, from column k on, is at place k modulo (width + 1).
        let mut pivots = zeroed((self.width + 1).saturating_mul(across))?;
        let mut row = zeroed(self.width + across)?;
        // The sign of the last minor: a number of modulus 1 whose imaginary part is a rounding error.
        let mut sign = T::ONE;
        let (mut changes, mut largest) = (0, T::Real::ZERO);
        for i in 0..self.n {
            self.load(i, &mut row);
            largest = row.iter().fold(largest, |largest, x| if x.abs1() > largest { x.abs1() } else { largest });
            let before = sign.re();
            for k in i.saturating_sub(self.width)..i {
                let pivot = &mut pivots[k % (self.width + 1) * across..][..across];
                let entries = &mut row[k + self.width - i..][..across];
                sign *= eliminate::<V, T>(pivot, entries);
            }
            let pivot = &mut pivots[i % (self.width + 1) * across..][..across];
            pivot.copy_from_slice(&row[self.width..]);
            pivot[0] = nonzero(pivot[0], largest);
            sign = unit(sign * unit(pivot[0]));
            changes += usize::from((sign.re() < T::Real::ZERO) != (before < T::Real::ZERO));
        }
        // If a number overflowed, the sign is not finite.
        Ok(Scalar::is_finite(sign).then_some(changes))
    }
}

/// Eliminate the first entry of `row` with `pivot`. If `row` has the larger first entry, the rows change places.
/// Returns the factor for the sign of the minor.
#[inline(always)]
fn eliminate<V: Lanes<Real = T::Real>, T: Scalar>(pivot: &mut [T], row: &mut [T]) -> T {
    let mut change = T::ONE;
    if row[0].abs1() > pivot[0].abs1() {
        pivot.swap_with_slice(row);
        change = -(unit(pivot[0]) * unit(row[0]).conj());
    }
    let by = divide(row[0], pivot[0]);
    subtract_multiple::<V, T>(row, by, pivot);
    row[0] = T::ZERO;
    change
}

/// The unit number x / |x|.
#[inline(always)]
fn unit<T: Scalar>(x: T) -> T {
    // The first division prevents overflow in |x|.
    let near = T::from_parts(x.re() / x.abs1(), x.im() / x.abs1());
    near.scale(T::Real::ONE / Scalar::abs(near))
}

/// Replace a zero pivot by ε² times the largest entry, or by ε² if all entries are zero.
#[inline(always)]
fn nonzero<T: Scalar>(pivot: T, largest: T::Real) -> T {
    if pivot.abs1() > T::Real::ZERO {
        return pivot;
    }
    let scale = if largest > T::Real::ZERO { largest } else { T::Real::ONE };
    let small = scale * T::Real::EPSILON * T::Real::EPSILON;
    T::from_real(small.max_nan(T::Real::MIN_POSITIVE))
}
