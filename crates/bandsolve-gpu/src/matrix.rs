//! Matrices in the memory of a device.

use crate::device::{Device, DeviceScalar, DeviceSlice, check_len};
use crate::launch::Arguments;
use bandsolve::{Error, Layout, Op, Result, Shape};

/// A matrix in the memory of a device. The [`Shape`] of the plan determines its size.
#[derive(Debug, Clone, Copy)]
pub struct DeviceMatrix<'a, T> {
    storage: Storage<'a, T>,
    op: Op,
}

#[derive(Debug, Clone, Copy)]
enum Storage<'a, T> {
    /// The arrays sub, diag and sup.
    Three([DeviceSlice<'a, T>; 3]),
    /// LAPACK band storage: entry (i, j) is at upper + i − j + j·leading.
    DeviceColumns(DeviceSlice<'a, T>, usize),
    /// Diagonals from the lowest to the highest, with n numbers each: entry (i, i + k) is at (lower + k)·n + i.
    Diagonals(DeviceSlice<'a, T>),
}

/// A block tridiagonal matrix in the form that the kernels use (`system.cuh`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct Blocks {
    pub arrays: [u64; 3],
    op: i32,
}

/// A banded matrix in the form that the kernels use.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub(crate) struct BandLayout {
    entries: u64,
    row_step: i64,
    diagonal_step: i64,
    origin: i64,
    lower: i32,
    upper: i32,
    conjugated: i32,
}

/// A matrix in the form that the kernels use.
#[derive(Debug, Clone, Copy)]
pub(crate) enum MatrixSource {
    Blocks(Blocks),
    /// An interleaved batch.
    Interleaved(Blocks),
    BandLayout(BandLayout),
}

impl Blocks {
    pub fn new(arrays: [u64; 3], op: Op) -> Self {
        let op = match op {
            Op::Plain => 0,
            Op::Transpose => 1,
            Op::ConjTranspose => 2,
        };
        Self { arrays, op }
    }

    /// A itself.
    pub fn plain(self) -> Self {
        Self::new(self.arrays, Op::Plain)
    }

    /// Aᵀ.
    pub fn transpose(self) -> Self {
        Self::new(self.arrays, Op::Transpose)
    }

    /// Whether the operator is Aᵀ or Aᴴ.
    pub fn is_transposed(self) -> bool {
        self.op != 0
    }

    /// Whether the operator is Aᴴ.
    pub fn is_conjugated(self) -> bool {
        self.op == 2
    }
}

impl MatrixSource {
    /// Add this matrix to the arguments of a kernel. Also returns the suffix of the kernel's name.
    pub fn with(self, arguments: Arguments) -> (Arguments, &'static str) {
        match self {
            Self::Blocks(blocks) => (arguments.with(blocks), ""),
            Self::Interleaved(blocks) => (arguments.with(blocks), "_interleaved"),
            Self::BandLayout(band) => (arguments.with(band), "_band"),
        }
    }
}

impl<'a, T: DeviceScalar> DeviceMatrix<'a, T> {
    fn new(storage: Storage<'a, T>) -> Self {
        Self { storage, op: Op::Plain }
    }

    /// Borrow a tridiagonal matrix. Row i is `sub[i]·x[i−1] + diag[i]·x[i] + sup[i]·x[i+1]`.
    ///
    /// In a periodic matrix, `sub[0]` and `sup[n − 1]` are the corner entries; otherwise they are ignored. The systems of a
    /// batch follow each other.
    pub fn tridiagonal(
        sub: impl Into<DeviceSlice<'a, T>>,
        diag: impl Into<DeviceSlice<'a, T>>,
        sup: impl Into<DeviceSlice<'a, T>>,
    ) -> Self {
        Self::new(Storage::Three([sub.into(), diag.into(), sup.into()]))
    }

    /// Borrow a block tridiagonal matrix, as [`tridiagonal`](Self::tridiagonal), with blocks one after the other, each
    /// column-major.
    pub fn block_tridiagonal(
        sub: impl Into<DeviceSlice<'a, T>>,
        diag: impl Into<DeviceSlice<'a, T>>,
        sup: impl Into<DeviceSlice<'a, T>>,
    ) -> Self {
        Self::tridiagonal(sub, diag, sup)
    }

    /// Borrow a banded matrix in LAPACK storage: entry (i, j) is at `upper + i − j + j·leading`.
    pub fn banded(bands: impl Into<DeviceSlice<'a, T>>, leading: usize) -> Self {
        Self::new(Storage::DeviceColumns(bands.into(), leading))
    }

    /// Borrow a banded matrix stored by diagonals, from the lowest to the highest, with n numbers each: entry (i, i + k) is at
    /// `(lower + k)·n + i`.
    ///
    /// Numbers outside the matrix are not read.
    pub fn diagonals(diagonals: impl Into<DeviceSlice<'a, T>>) -> Self {
        Self::new(Storage::Diagonals(diagonals.into()))
    }

    /// Use op(A) instead of A.
    pub fn op(mut self, op: Op) -> Self {
        self.op = op;
        self
    }

    pub(crate) fn chosen_op(&self) -> Op {
        self.op
    }

    /// The devices of the arrays, with names for errors.
    pub(crate) fn devices(&self) -> Vec<(&'static str, &'a Device)> {
        match self.storage {
            Storage::Three(arrays) => {
                ["sub", "diag", "sup"].into_iter().zip(arrays.map(|array| array.device())).collect()
            }
            Storage::DeviceColumns(array, _) | Storage::Diagonals(array) => vec![("bands", array.device())],
        }
    }

    /// The matrix in the form that the kernels use, if its arrays match the shape.
    pub(crate) fn source(&self, shape: Shape) -> Result<MatrixSource> {
        match (self.storage, shape) {
            (
                Storage::Three(arrays),
                Shape::Tridiagonal { .. } | Shape::BlockTridiagonal { .. } | Shape::Batch { .. },
            ) => {
                let numbers = match shape {
                    Shape::BlockTridiagonal { block_rows, block, .. } => block_rows * block * block,
                    _ => shape.rows(),
                };
                for (what, array) in ["sub", "diag", "sup"].into_iter().zip(&arrays) {
                    check_len(what, numbers, array.len())?;
                }
                let blocks = Blocks::new(arrays.map(|array| array.address()), self.op);
                let interleaved = matches!(shape, Shape::Batch { layout: Layout::Interleaved, .. });
                Ok(if interleaved { MatrixSource::Interleaved(blocks) } else { MatrixSource::Blocks(blocks) })
            }
            (Storage::DeviceColumns(bands, leading), Shape::Banded { n, lower, upper }) => {
                if leading < lower + upper + 1 {
                    return Err(Error::Shape { what: "leading", expected: lower + upper + 1, got: leading });
                }
                check_len("bands", n * leading, bands.len())?;
                Ok(self.band(bands, [leading, leading - 1, upper], [lower, upper]))
            }
            (Storage::Diagonals(diagonals), Shape::Banded { n, lower, upper }) => {
                check_len("diagonals", n * (lower + upper + 1), diagonals.len())?;
                Ok(self.band(diagonals, [1, n, lower * n], [lower, upper]))
            }
            _ => Err(Error::invalid(
                "matrix",
                "is of another kind than in the plan",
                "a matrix of the shape of the plan",
            )),
        }
    }

    /// A band with entry (i, i + k) of A at i·row + k·diagonal + origin.
    fn band(&self, entries: DeviceSlice<'_, T>, steps: [usize; 3], [lower, upper]: [usize; 2]) -> MatrixSource {
        let [row, diagonal, origin] = steps.map(|step| step as i64);
        let (lower, upper) = (lower as i32, upper as i32);
        let (entries, conjugated) = (entries.address(), (self.op == Op::ConjTranspose).into());
        MatrixSource::BandLayout(match self.op {
            Op::Plain => {
                BandLayout { entries, row_step: row, diagonal_step: diagonal, origin, lower, upper, conjugated }
            }
            // Entry (i, i + k) of Aᵀ is entry (i + k, i) of A.
            _ => {
                let diagonal_step = row - diagonal;
                BandLayout { entries, row_step: row, diagonal_step, origin, lower: upper, upper: lower, conjugated }
            }
        })
    }

    /// Copy the arrays to the host in the host's form: three arrays, or one in LAPACK storage with its leading
    /// dimension.
    pub(crate) fn download(&self, shape: Shape) -> Result<(Vec<Vec<T>>, usize)> {
        match (self.storage, shape) {
            (Storage::Three(arrays), _) => Ok((arrays.iter().map(DeviceSlice::download).collect::<Result<_>>()?, 0)),
            (Storage::DeviceColumns(bands, leading), _) => Ok((vec![bands.download()?], leading)),
            (Storage::Diagonals(diagonals), Shape::Banded { n, lower, upper }) => {
                let (given, leading) = (diagonals.download()?, lower + upper + 1);
                let mut bands = vec![T::ZERO; n * leading];
                for (k, diagonal) in given.chunks_exact(n.max(1)).enumerate() {
                    for (i, value) in diagonal.iter().enumerate() {
                        let j = i + k;
                        if j >= lower && j - lower < n {
                            bands[lower + upper - k + (j - lower) * leading] = *value;
                        }
                    }
                }
                Ok((vec![bands], leading))
            }
            (Storage::Diagonals(_), _) => unreachable!("`source` checked the shape"),
        }
    }
}
