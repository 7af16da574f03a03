//! The structure of a sparse matrix: bandwidths, periodic corners, blocks. Conversion to tridiagonal, banded and block tridiagonal storage.

use crate::csr::Csr;
use bandsolve::matrix::Index;
use bandsolve::memory::{allocate, zeroed};
use bandsolve::{Banded, BlockTridiagonal, Error, Result, Scalar, Shape, Tridiagonal};

/// The narrowest storage that contains a square matrix.
///
/// # Examples
/// ```
/// use bandsolve_sparse::{Csr, MatrixForm, Structure};
/// let a = Csr::<f64>::from_triplets(9, 9, &[(0, 0, 2.0), (0, 1, -1.0), (8, 0, -1.0)])?;
/// assert_eq!(Structure::of(&a)?.form(&a), MatrixForm::PeriodicTridiagonal);
/// # Ok::<(), bandsolve::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MatrixForm {
    /// No entries outside of the diagonal.
    Diagonal,
    /// At most one diagonal on each side.
    Tridiagonal,
    /// At most one diagonal on each side, and the corner entries (0, n−1) and (n−1, 0).
    PeriodicTridiagonal,
    /// More diagonals, fewer than n in total.
    Banded {
        /// Number of diagonals below the main one.
        lower: usize,
        /// Number of diagonals above the main one.
        upper: usize,
    },
    /// Diagonals that continue in the corners of the matrix, as on a ring of unknowns. Fewer than n in total.
    PeriodicBanded {
        /// Number of diagonals below the main one.
        lower: usize,
        /// Number of diagonals above the main one.
        upper: usize,
    },
    /// Entries only in the diagonal blocks and their neighbours, which store fewer numbers than the band.
    BlockTridiagonal {
        /// Number of rows per block.
        block: usize,
    },
    /// No storage needs fewer numbers than the full matrix.
    General,
}

/// A square matrix that lists its entries in any order. Entries at the same position add up.
///
/// The provided methods convert the matrix to the storage of the direct solvers. They ignore zeros.
///
/// # Examples
/// ```
/// use bandsolve_sparse::{Csr, EntryList};
/// let a = Csr::<f64>::from_triplets(3, 3, &[(0, 0, 2.0), (1, 1, 2.0), (2, 1, -1.0), (2, 2, 2.0)])?;
/// let band = a.to_banded(1, 0)?;
/// assert_eq!(band.storage().0, [2.0, 0.0, 2.0, -1.0, 2.0, 0.0]);
/// assert!(a.to_banded(0, 0).is_err());
/// # Ok::<(), bandsolve::Error>(())
/// ```
pub trait EntryList<T: Scalar>: Sized {
    /// Number of rows and number of columns.
    fn size(&self) -> (usize, usize);

    /// An upper bound of the number of entries that [`for_each`](Self::for_each) lists.
    fn capacity(&self) -> usize;

    /// Call `f(row, column, value)` for each entry.
    fn for_each(&self, f: impl FnMut(usize, usize, T));

    /// The first listed entry, other than zero, for whose position `is_inside(row, column)` is false.
    fn first_outside(&self, is_inside: impl Fn(usize, usize) -> bool) -> Option<(usize, usize)> {
        let mut outside = None;
        self.for_each(|i, j, value| {
            if outside.is_none() && value != T::ZERO && !is_inside(i, j) {
                outside = Some((i, j));
            }
        });
        outside
    }

    /// The first listed entry, other than zero, outside of the diagonal blocks of `block` rows and their neighbours. If `periodic`, the first
    /// and the last block are neighbours.
    ///
    /// `block` is not 0.
    fn first_outside_blocks(&self, block: usize, periodic: bool) -> Option<(usize, usize)> {
        let blocks = self.size().0.div_ceil(block);
        self.first_outside(|i, j| {
            let distance = (i / block).abs_diff(j / block);
            distance <= 1 || periodic && distance + 1 == blocks
        })
    }

    /// Convert a matrix with at most one diagonal on each side. If `periodic`, also with the corner entries (0, n−1) and (n−1, 0).
    ///
    /// # Errors
    /// [`Error::Shape`] if the matrix is not square. [`Error::InvalidArgument`] if another entry is not zero. [`Error::OutOfMemory`].
    fn to_tridiagonal(&self, periodic: bool) -> Result<Tridiagonal<'static, T>> {
        let n = square(self)?;
        let (arrays, outside) = assembled(self, n, |i, j| match (i, j) {
            _ if j + 1 == i => Some((0, i)),
            _ if i == j => Some((1, i)),
            _ if i + 1 == j => Some((2, i)),
            (0, _) if periodic && j + 1 == n => Some((0, i)),
            (_, 0) if periodic && i + 1 == n => Some((2, i)),
            _ => None,
        })?;
        check_inside(
            outside,
            "periodic",
            || format!("is {periodic}"),
            "a tridiagonal matrix. Convert to banded storage",
        )?;
        let [sub, diag, sup] = arrays;
        Tridiagonal::from_vecs(sub, diag, sup, periodic)
    }

    /// Convert to LAPACK band storage with these numbers of diagonals below and above the main one.
    ///
    /// # Errors
    /// [`Error::Shape`] if the matrix is not square. [`Error::InvalidArgument`] if an entry outside of the band is not zero.
    /// [`Error::OutOfMemory`].
    fn to_banded(&self, lower: usize, upper: usize) -> Result<Banded<'static, T>> {
        let (n, leading) = (square(self)?, lower.saturating_add(upper).saturating_add(1));
        let ([bands], outside) = assembled(self, n.saturating_mul(leading), |i, j| {
            (i <= j + lower && j <= i + upper).then(|| (0, upper + i - j + j * leading))
        })?;
        let problem = || format!("is {lower} and upper is {upper}");
        check_inside(outside, "lower", problem, "the numbers that `Structure::of` returns")?;
        Banded::from_vec(n, lower, upper, bands)
    }

    /// Convert to block tridiagonal storage with column-major blocks of `block` rows. If `periodic`, with the corner blocks.
    ///
    /// # Errors
    /// [`Error::Shape`] if the matrix is not square. [`Error::InvalidArgument`] if `block` does not divide the number of rows, or an entry
    /// outside of the blocks is not zero. [`Error::OutOfMemory`].
    fn to_block_tridiagonal(&self, block: usize, periodic: bool) -> Result<BlockTridiagonal<'static, T>> {
        let n = square(self)?;
        if block == 0 || !n.is_multiple_of(block) {
            let expected = format!("a divisor of {n}, the number of rows");
            return Err(Error::invalid("block", format!("is {block}"), expected));
        }
        let blocks = n / block;
        let (arrays, outside) = assembled(self, n.saturating_mul(block), |i, j| {
            let (row, column) = (i / block, j / block);
            let array = match (row, column) {
                _ if row.abs_diff(column) <= 1 => column + 1 - row,
                (0, _) if periodic && column + 1 == blocks => 0,
                (_, 0) if periodic && row + 1 == blocks => 2,
                _ => return None,
            };
            Some((array, row * block * block + j % block * block + i % block))
        })?;
        check_inside(outside, "block", || format!("is {block}"), "larger blocks. Or convert to banded storage")?;
        BlockTridiagonal::from_vecs(block, arrays, periodic)
    }
}

/// Number of rows of a square matrix.
fn square<T: Scalar>(a: &impl EntryList<T>) -> Result<usize> {
    match a.size() {
        (rows, columns) if rows == columns => Ok(rows),
        (expected, got) => Err(Error::Shape { what: "a row of a square matrix", expected, got }),
    }
}

/// Arrays, and the first entry that has no place in them.
type Assembled<T, const ARRAYS: usize> = ([Vec<T>; ARRAYS], Option<(usize, usize)>);

/// Add the entries up in arrays of this length. `place(row, column)` returns the number of the array and the index. Also returns the first entry,
/// other than zero, without a place.
fn assembled<T: Scalar, const ARRAYS: usize>(
    a: &impl EntryList<T>,
    length: usize,
    place: impl Fn(usize, usize) -> Option<(usize, usize)>,
) -> Result<Assembled<T, ARRAYS>> {
    let (mut arrays, mut outside) = ([const { Vec::new() }; ARRAYS], None);
    for array in &mut arrays {
        *array = zeroed(length)?;
    }
    a.for_each(|i, j, value| match place(i, j) {
        Some((array, index)) => arrays[array][index] += value,
        None if value != T::ZERO => outside = outside.or(Some((i, j))),
        None => {}
    });
    Ok((arrays, outside))
}

/// Return an error if an entry lies outside of the form that an argument describes.
fn check_inside(
    outside: Option<(usize, usize)>,
    argument: &'static str,
    problem: impl Fn() -> String,
    expected: &'static str,
) -> Result<()> {
    outside.map_or(Ok(()), |(i, j)| {
        let problem = format!("{}, but the entry in row {i}, column {j} lies outside", problem());
        Err(Error::invalid(argument, problem, expected))
    })
}

impl<T: Scalar, I: Index> EntryList<T> for Csr<'_, T, I> {
    fn size(&self) -> (usize, usize) {
        (self.rows(), self.columns())
    }

    fn capacity(&self) -> usize {
        self.entries()
    }

    fn for_each(&self, mut f: impl FnMut(usize, usize, T)) {
        (0..self.rows()).for_each(|i| self.row(i).for_each(|(j, value)| f(i, j, value)));
    }
}

/// Where the entries of a square matrix lie. Stored zeros are ignored.
///
/// # Examples
/// ```
/// use bandsolve::{Factor, Plan};
/// use bandsolve_sparse::{Csr, EntryList, Structure};
/// // The entry 1e-14 widens the band.
/// let entries = [(0, 0, 4.0), (0, 1, -1.0), (1, 0, -1.0), (1, 1, 4.0), (2, 2, 4.0), (2, 0, 1e-14)];
/// let a = Csr::<f64>::from_triplets(3, 3, &entries)?;
/// assert_eq!(Structure::of(&a)?.lower, 2);
/// let a = a.without_small(1e-12)?;
/// let structure = Structure::of(&a)?;
/// assert_eq!((structure.lower, structure.upper, structure.empty_row), (1, 1, None));
/// let x = Plan::once(structure.shape()).factor(&a.to_tridiagonal(false)?)?.solve(&[3.0, 3.0, 4.0])?.values;
/// assert!(x.iter().all(|x| (x - 1.0).abs() < 1e-15));
/// # Ok::<(), bandsolve::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Structure {
    /// Number of unknowns.
    pub n: usize,
    /// Number of listed entries other than zero.
    pub entries: usize,
    /// Number of diagonals below the main one.
    pub lower: usize,
    /// Number of diagonals above the main one.
    pub upper: usize,
    /// Number of diagonals below the main one, if diagonals continue in the corners of the matrix, as on a ring of unknowns.
    pub periodic_lower: usize,
    /// Number of diagonals above the main one, if diagonals continue in the corners.
    pub periodic_upper: usize,
    /// First row without an entry. If there is one, the matrix is singular.
    pub empty_row: Option<usize>,
    /// First column without an entry.
    pub empty_column: Option<usize>,
}

impl Structure {
    /// Find bandwidths, periodic corners, and empty rows and columns. To ignore small entries, call [`Csr::without_small`] first.
    ///
    /// # Cost
    /// One pass over the entries. The memory is proportional to the number of entries or rows, whichever is smaller.
    ///
    /// # Errors
    /// [`Error::Shape`] if the matrix is not square. [`Error::OutOfMemory`].
    pub fn of<T: Scalar, A: EntryList<T>>(a: &A) -> Result<Self> {
        Self::of_all(&[a])
    }

    /// Find the structure that contains all entries of several matrices of the same size, such as A and B of a pencil.
    ///
    /// # Errors
    /// [`Error::Shape`] if a matrix is not square, or the sizes differ. [`Error::OutOfMemory`].
    pub fn of_all<T: Scalar, A: EntryList<T>>(matrices: &[&A]) -> Result<Self> {
        let n = matrices.first().map_or(Ok(0), |a| square(*a))?;
        for a in matrices {
            let got = square(*a)?;
            if got != n {
                return Err(Error::Shape { what: "the diagonal of another matrix of the pencil", expected: n, got });
            }
        }
        // One of the first `stored` + 1 rows is empty, if there are that many, so later rows need no marks.
        let stored = matrices.iter().fold(0_usize, |stored, a| stored.saturating_add(a.capacity()));
        let marks = || allocate(n.min(stored.saturating_add(1)), false);
        let (mut rows, mut columns) = (marks()?, marks()?);
        let mark = |marks: &mut [bool], k: usize| marks.get_mut(k).into_iter().for_each(|mark| *mark = true);
        let (mut entries, mut band, mut ring) = (0, [0; 2], [0; 2]);
        for a in matrices {
            a.for_each(|i, j, value| {
                if value == T::ZERO {
                    return;
                }
                entries += 1;
                mark(&mut rows, i);
                mark(&mut columns, j);
                let (above, distance) = (usize::from(j > i), i.abs_diff(j));
                band[above] = distance.max(band[above]);
                // On the ring of unknowns, take the shorter way.
                let (above, distance) = if distance > n / 2 { (1 - above, n - distance) } else { (above, distance) };
                ring[above] = distance.max(ring[above]);
            });
        }
        let first_empty = |marks: &[bool]| marks.iter().position(|mark| !mark);
        let ([lower, upper], [periodic_lower, periodic_upper]) = (band, ring);
        let (empty_row, empty_column) = (first_empty(&rows), first_empty(&columns));
        Ok(Self { n, entries, lower, upper, periodic_lower, periodic_upper, empty_row, empty_column })
    }

    /// The larger of the numbers of diagonals below and above the main one.
    pub fn width(&self) -> usize {
        self.lower.max(self.upper)
    }

    /// The narrowest shape with three diagonals, open or periodic, or the band.
    pub fn shape(&self) -> Shape {
        let &Self { n, lower, upper, .. } = self;
        let periodic = self.width() > 1;
        if !periodic || self.periodic_lower.max(self.periodic_upper) <= 1 {
            Shape::Tridiagonal { n, periodic }
        } else {
            Shape::Banded { n, lower, upper }
        }
    }

    /// Numbers of diagonals below and above the main one in a shape. In a periodic shape, they continue in the corners.
    pub fn diagonals_in(&self, shape: Shape) -> (usize, usize) {
        match shape {
            Shape::Tridiagonal { periodic: true, .. } => (self.periodic_lower, self.periodic_upper),
            _ => (self.lower, self.upper),
        }
    }

    /// The form that stores the fewest numbers.
    ///
    /// # Cost
    /// For a band of width w, at most w/6 passes over the entries, one for each possible block size.
    pub fn form<T: Scalar, A: EntryList<T>>(&self, a: &A) -> MatrixForm {
        let &Self { n, lower, upper, periodic_lower, periodic_upper, .. } = self;
        let (band, ring) = (lower + upper + 1, periodic_lower + periodic_upper + 1);
        let least = band.min(ring).min(n);
        let mut blocks = self.block_sizes().take_while(|block| 3 * block < least);
        match self.shape() {
            _ if self.width() == 0 => MatrixForm::Diagonal,
            Shape::Tridiagonal { periodic: false, .. } => MatrixForm::Tridiagonal,
            Shape::Tridiagonal { periodic: true, .. } => MatrixForm::PeriodicTridiagonal,
            _ => match blocks.find(|block| a.first_outside_blocks(*block, false).is_none()) {
                Some(block) => MatrixForm::BlockTridiagonal { block },
                None if least == n => MatrixForm::General,
                None if least == band => MatrixForm::Banded { lower, upper },
                None => MatrixForm::PeriodicBanded { lower: periodic_lower, upper: periodic_upper },
            },
        }
    }

    /// The block sizes for which a matrix with this band can be block tridiagonal, in ascending order. All of at least
    /// [`width`](Self::width) rows fit.
    pub fn block_sizes(&self) -> impl Iterator<Item = usize> {
        let n = self.n;
        (self.width() / 2 + 1..=n).filter(move |block| n.is_multiple_of(*block))
    }

    /// The smallest block size for which the matrix is block tridiagonal. For n = 0, this is 1.
    pub fn smallest_block<T: Scalar, A: EntryList<T>>(&self, a: &A) -> usize {
        let fits = |block: &usize| *block >= self.width() || a.first_outside_blocks(*block, false).is_none();
        self.block_sizes().find(fits).unwrap_or(1)
    }

    /// The block size for which all matrices are block tridiagonal, and which needs less work than the band, if there is one. The structure
    /// is that of all matrices.
    ///
    /// A band with 2·b − 1 diagonals on each side costs approximately 8·b² flops per row, and more with row exchanges. Blocks of b rows cost
    /// approximately 5·b² flops per row.
    ///
    /// # Examples
    /// ```
    /// use bandsolve_sparse::{Csr, Structure};
    /// // Full blocks of 10 rows on the diagonal and above: 19 diagonals above the main one.
    /// let columns = |i: usize| i / 10 * 10..(i / 10 * 10 + 20).min(100);
    /// let entries: Vec<_> = (0..100).flat_map(|i| columns(i).map(move |j| (i, j, 1.0))).collect();
    /// let a = Csr::<f64>::from_triplets(100, 100, &entries)?;
    /// assert_eq!(Structure::of(&a)?.compact_block(&[&a]), Some(10));
    /// # Ok::<(), bandsolve::Error>(())
    /// ```
    pub fn compact_block<T: Scalar, A: EntryList<T>>(&self, matrices: &[&A]) -> Option<usize> {
        let sizes =
            self.block_sizes().skip_while(|block| *block <= 8).take_while(|block| 3 * block <= 2 * self.width());
        let fits = |block: &usize| matrices.iter().all(|a| a.first_outside_blocks(*block, false).is_none());
        // Each size costs a pass over the entries.
        sizes.take(4).find(fits)
    }
}
