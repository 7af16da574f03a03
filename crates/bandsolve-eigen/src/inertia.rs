//! Inertia: how many eigenvalues of a Hermitian matrix or pencil lie below a shift.

use crate::front::{self, HermitianEntry};
use bandsolve::memory::zeroed;
use bandsolve::vectors::divide;
use bandsolve::{Banded, BlockTridiagonal, Error, RealScalar, Result, Scalar, Simd, Tridiagonal};
use bandsolve_kernel::arithmetic::Standard;
use bandsolve_kernel::vectors::subtract_multiple;
use bandsolve_kernel::{Job, Lanes, dispatch};

/// A Hermitian band matrix for eigenvalue counts. Only the lower triangle is read.
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
    /// Number of rows.
    fn order(&self) -> usize;
    /// Entries beside the diagonal at most.
    fn half_width(&self) -> usize;
    /// Rows of the blocks of which only neighbours are coupled.
    fn block_rows(&self) -> usize {
        self.half_width()
    }
    /// Whether the first and the last row, or block of rows, are coupled.
    fn is_periodic(&self) -> bool {
        false
    }
    /// The entry in row i and column j ≤ i, within the band, or in the corner of a periodic matrix.
    fn lower_entry(&self, i: usize, j: usize) -> Self::Scalar;
    /// # Errors
    /// [`Error::NotFinite`] if an entry is not finite.
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
            // `sub` has all n entries or begins with that of row 1.
            1 => sub[sub.len() + i - n],
            _ => T::ZERO,
        };
        // Of one row and of two rows, corners are added to what is there.
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
            // `sub` has all blocks or begins with that of block row 1.
            1 => sub[sub.len() + row * square - diag.len() + inside],
            _ => T::ZERO,
        };
        // Of one block row and of two, corners are added to what is there.
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

/// How many eigenvalues of A x = λ x, or A x = λ B x with a definite B, are below σ: the negative pivots of A − σB = L·D·Lᴴ.
///
/// Wide bands are eliminated by dense fronts: blocks of rows from both ends to the middle, A − σB = L·D·Lᴴ with pivots of one or two
/// columns that bound the elements of L by 4; columns without one wait until their neighbours are complete.
///
/// Narrow bands are eliminated row by row. The leading minors of A − σB change their sign as often as D has negative pivots. They come
/// from elimination with exchanges of rows that keeps them: each row is eliminated by those before it, and takes the place of one whose
/// pivot is smaller, which changes a sign. A minor that is exactly zero is replaced by that of a pivot of ε².
///
/// The blocks of rows of a periodic matrix are taken in the order 0, N − 1, 1, N − 2, …, in which it is a band of twice the width.
///
/// The count is that of a matrix which differs from A − σB by roundings; it can be wrong where an eigenvalue is within such a difference
/// of σ. It is the same for any number of threads.
///
/// # Shapes
/// A and B have the same order. Their lower triangles are read.
///
/// # Cost
/// 2.3·K² flops a row for blocks of K, and for bands with K entries on either side of the diagonal; 4·K² up to 16 of them. Memory:
/// 8·K² numbers for each of two threads. A periodic matrix costs four times as much.
///
/// # Errors
/// [`Error::Shape`] if the orders differ, or the blocks of periodic matrices, [`Error::NotFinite`], and [`Error::OutOfMemory`].
///
/// # Source
/// Fronts: I. S. Duff, J. K. Reid, "The multifrontal solution of indefinite sparse symmetric linear equations" (1983). Rows: Martin,
/// Wilkinson, "Solution of symmetric and unsymmetric band equations and the calculation of eigenvectors of band matrices" (1967).
///
/// # Examples
/// ```
/// use bandsolve::Tridiagonal;
/// use bandsolve_eigen::eigenvalues_below;
/// // λ = 2 − 2 cos(π·k/101)
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
    // Eigenvalues of a matrix are numbers of its type. Those of a pencil need not be.
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
        // Blocks that are two apart, whole.
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

/// What is counted of a matrix times a number; of a smaller one where numbers overflow.
fn in_range<R: RealScalar>(count: impl Fn(R) -> Result<Option<usize>>) -> Result<usize> {
    // A power of two. Sums and products of numbers below its reciprocal are in range.
    for scale in [R::ONE, R::MIN_POSITIVE.sqrt()] {
        if let Some(count) = count(scale)? {
            return Ok(count);
        }
    }
    Err(Error::NotConverged { backward_error: f64::NAN, refinement_steps: 0 })
}

/// Refuses a matrix B that has negative eigenvalues, as counted. One that is singular and has none passes.
///
/// # Errors
/// [`Error::NotDefinite`] with the row of the first leading minor that is negative; of periodic matrices with that of the first negative
/// entry of the diagonal, or the last row. And those of [`eigenvalues_below`].
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
        // The band of the last row is as wide as the matrix: leading minors are too dear.
        let negative = (0..b.order()).find(|i| b.lower_entry(*i, *i).re() < <M::Scalar as Scalar>::Real::ZERO);
        return Err(Error::NotDefinite { row: negative.unwrap_or(b.order() - 1) });
    }
    let entry = |i: usize, j: usize| {
        let (i, j, conj) = if i < j { (j, i, true) } else { (i, j, false) };
        let inside = i - j <= b.half_width();
        let entry = if inside { b.lower_entry(i, j) } else { M::Scalar::ZERO };
        if conj { entry.conj() } else { entry }
    };
    // Minors of leading rows, of which some have negative eigenvalues.
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

/// The order of the rows of a periodic matrix in which it is a band: blocks from both ends in turn.
#[derive(Debug, Clone, Copy)]
struct Ring {
    n: usize,
    block: usize,
}

impl Ring {
    /// The row at a place.
    fn row(self, place: usize) -> usize {
        let (turn, inside) = (place / self.block, place % self.block);
        let blocks = self.n / self.block;
        let block = if turn.is_multiple_of(2) { turn / 2 } else { blocks - 1 - turn / 2 };
        block * self.block + inside
    }
}

/// Entries beside the diagonal, or rows of a block, up to which elimination is by rows.
const NARROW: usize = 16;

/// A − σB, times a number.
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

/// The number of sign changes in the sequence of leading minors. `None` if numbers overflow.
struct SignChanges<'a, T> {
    n: usize,
    /// Entries beside the diagonal.
    width: usize,
    entry: HermitianEntry<'a, T>,
}

impl<T: Scalar> SignChanges<'_, T> {
    /// Columns i − width … i + 2·width of row i; what is outside of the matrix or of the band is 0. The diagonal is real.
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
        // Pivot rows k, from column k on, in place k modulo width + 1.
        let mut pivots = zeroed((self.width + 1).saturating_mul(across))?;
        let mut row = zeroed(self.width + across)?;
        // The sign of the last minor; a number of modulus 1 whose imaginary part is rounding.
        let mut sign = T::ONE;
        let (mut changes, mut largest) = (0, T::Real::ZERO);
        for i in 0..self.n {
            self.load(i, &mut row);
            largest = row.iter().fold(largest, |largest, x| if x.abs1() > largest { x.abs1() } else { largest });
            let before = sign.re();
            for k in i.saturating_sub(self.width)..i {
                let pivot = &mut pivots[k % (self.width + 1) * across..][..across];
                let own = &mut row[k + self.width - i..][..across];
                sign *= eliminate::<V, T>(pivot, own);
            }
            let pivot = &mut pivots[i % (self.width + 1) * across..][..across];
            pivot.copy_from_slice(&row[self.width..]);
            pivot[0] = nonzero(pivot[0], largest);
            sign = unit(sign * unit(pivot[0]));
            changes += usize::from((sign.re() < T::Real::ZERO) != (before < T::Real::ZERO));
        }
        // What is not finite leaves no sign.
        Ok(Scalar::is_finite(sign).then_some(changes))
    }
}

/// Eliminates the first entry of `own` by that of `pivot`, which is the larger one afterwards: what the sign of the minor is multiplied by.
#[inline(always)]
fn eliminate<V: Lanes<Real = T::Real>, T: Scalar>(pivot: &mut [T], own: &mut [T]) -> T {
    let mut change = T::ONE;
    if own[0].abs1() > pivot[0].abs1() {
        pivot.swap_with_slice(own);
        change = -(unit(pivot[0]) * unit(own[0]).conj());
    }
    let by = divide(own[0], pivot[0]);
    subtract_multiple::<V, T>(own, by, pivot);
    own[0] = T::ZERO;
    change
}

/// x / |x|
#[inline(always)]
fn unit<T: Scalar>(x: T) -> T {
    // The first step keeps |x| from overflow.
    let near = T::from_parts(x.re() / x.abs1(), x.im() / x.abs1());
    near.scale(T::Real::ONE / Scalar::abs(near))
}

/// The pivot, or ε² of the largest entry (or 1) in place of zero.
#[inline(always)]
fn nonzero<T: Scalar>(pivot: T, largest: T::Real) -> T {
    if pivot.abs1() > T::Real::ZERO {
        return pivot;
    }
    let scale = if largest > T::Real::ZERO { largest } else { T::Real::ONE };
    let small = scale * T::Real::EPSILON * T::Real::EPSILON;
    T::from_real(small.max_nan(T::Real::MIN_POSITIVE))
}
