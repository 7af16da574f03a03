//! Normal forms of matrices, on which all methods work. They are transposed without copying.

use crate::Scalar;
use core::ops::Range;

/// A tridiagonal matrix in normal form: n − 1 entries on each off-diagonal, separate corners, transposed without
/// copying.
#[derive(Debug, Clone, Copy)]
pub struct Rows<'a, T> {
    /// Row i+1, column i.
    pub sub: &'a [T],
    pub diag: &'a [T],
    /// Row i, column i+1.
    pub sup: &'a [T],
    /// Row 0, column n−1 (0 unless periodic).
    pub first: T,
    /// Row n−1, column 0 (0 unless periodic).
    pub last: T,
    pub periodic: bool,
    /// Conjugate every entry.
    pub conj: bool,
}

impl<'a, T: Scalar> Rows<'a, T> {
    pub fn n(&self) -> usize {
        self.diag.len()
    }

    /// The open (non-periodic) system of the rows and columns `range`.
    pub fn section(&self, range: Range<usize>) -> Self {
        let beside = range.start..(range.end - 1).max(range.start);
        let (sub, diag, sup) = (&self.sub[beside.clone()], &self.diag[range], &self.sup[beside]);
        Self { sub, diag, sup, first: T::ZERO, last: T::ZERO, periodic: false, conj: self.conj }
    }

    /// The transposed matrix, conjugated if `conj`.
    pub fn transposed(self, conj: bool) -> Self {
        Self { sub: self.sup, sup: self.sub, first: self.last, last: self.first, conj: self.conj != conj, ..self }
    }

    #[inline]
    pub fn row(&self, i: usize) -> (T, T, T) {
        let n = self.n();
        let sub = if i == 0 { self.first } else { self.sub[i - 1] };
        let sup = if i + 1 == n { self.last } else { self.sup[i] };
        let diag = self.diag[i];
        if self.conj { (Scalar::conj(sub), Scalar::conj(diag), Scalar::conj(sup)) } else { (sub, diag, sup) }
    }

    /// The indices of the unknowns that `sub` and `sup` of row `i` multiply.
    #[inline]
    pub fn neighbours(&self, i: usize) -> (usize, usize) {
        let n = self.n();
        (if i == 0 { n - 1 } else { i - 1 }, if i + 1 == n { 0 } else { i + 1 })
    }

    /// Row `i` of A·x.
    #[inline]
    pub fn dot(&self, i: usize, x: &[T]) -> T {
        let (a, b, c) = self.row(i);
        let (left, right) = self.neighbours(i);
        a * x[left] + b * x[i] + c * x[right]
    }
}

/// How the entries of blocks are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Orientation {
    Plain,
    /// Exchange rows and columns, and conjugate entries if `conj`.
    Transposed {
        conj: bool,
    },
}

/// A block tridiagonal matrix in normal form: N − 1 blocks on each off-diagonal, separate corners, transposed without
/// copying.
#[derive(Debug, Clone, Copy)]
pub struct BlockRows<'a, T> {
    pub block: usize,
    /// Block row i+1, block column i.
    pub sub: &'a [T],
    pub diag: &'a [T],
    /// Block row i, block column i+1.
    pub sup: &'a [T],
    /// Block row 0, block column N−1; empty unless periodic.
    pub first: &'a [T],
    /// Block row N−1, block column 0; empty unless periodic.
    pub last: &'a [T],
    pub orientation: Orientation,
}

impl<'a, T: Scalar> BlockRows<'a, T> {
    /// Number of block rows.
    pub fn block_rows(&self) -> usize {
        self.diag.len() / (self.block * self.block)
    }

    pub fn periodic(&self) -> bool {
        !self.first.is_empty()
    }

    /// Whether the corners coincide with other blocks.
    pub fn shares_columns(&self) -> bool {
        self.periodic() && self.block_rows() <= 2
    }

    /// The transposed matrix, conjugated if `conj`. `self` must not be transposed.
    pub fn transposed(self, conj: bool) -> Self {
        debug_assert_eq!(self.orientation, Orientation::Plain);
        let orientation = Orientation::Transposed { conj: conj && T::COMPLEX };
        Self { sub: self.sup, sup: self.sub, first: self.last, last: self.first, orientation, ..self }
    }

    /// The blocks left of, on and right of the diagonal, with their block columns. `None` if a block does not exist.
    #[inline]
    pub fn blocks(&self, row: usize) -> [Option<(usize, &'a [T])>; 3] {
        let (n, square) = (self.block_rows(), self.block * self.block);
        let of = |array: &'a [T], i: usize| &array[i * square..][..square];
        let corner = |column: usize, block: &'a [T]| (!block.is_empty()).then_some((column, block));
        let left = if row == 0 { corner(n - 1, self.first) } else { Some((row - 1, of(self.sub, row - 1))) };
        let right = if row + 1 == n { corner(0, self.last) } else { Some((row + 1, of(self.sup, row))) };
        [left, Some((row, of(self.diag, row))), right]
    }

    /// Entry (r, c) of a block of this matrix.
    #[inline(always)]
    pub fn entry(&self, block: &[T], r: usize, c: usize) -> T {
        match self.orientation {
            Orientation::Plain => block[r + c * self.block],
            Orientation::Transposed { conj: false } => block[c + r * self.block],
            Orientation::Transposed { conj: true } => Scalar::conj(block[c + r * self.block]),
        }
    }

    /// Call `visit` with the column and the value of every entry of row `i`, once per column.
    pub fn visit_row(&self, i: usize, mut visit: impl FnMut(usize, T)) {
        let (row, r, b) = (i / self.block, i % self.block, self.block);
        let blocks = self.blocks(row);
        if !self.shares_columns() {
            for (column, block) in blocks.into_iter().flatten() {
                (0..b).for_each(|c| visit(column * b + c, self.entry(block, r, c)));
            }
            return;
        }
        for (k, (column, block)) in blocks.iter().enumerate().filter_map(|(k, block)| Some((k, (*block)?))) {
            // Blocks of small periodic matrices that share a column are visited with the first of them.
            let same = |other: &&Option<(usize, &[T])>| other.is_some_and(|(c, _)| c == column);
            if blocks[..k].iter().any(|other| same(&other)) {
                continue;
            }
            for c in 0..b {
                let add = |sum: T, other: &Option<(usize, &[T])>| {
                    if same(&other) { sum + self.entry(other.expect("same column").1, r, c) } else { sum }
                };
                visit(column * b + c, blocks[k + 1..].iter().fold(self.entry(block, r, c), add));
            }
        }
    }
}
