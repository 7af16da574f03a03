//! Sparse matrices by rows on a device: products, residuals, and the largest entries of rows.

use crate::cut::THREADS;
use crate::device::{Device, DeviceScalar, DeviceSlice, DeviceSliceMut, DeviceVec, check_len};
use crate::launch::Arguments;
use bandsolve::matrix::{Index, IndexWords};
use bandsolve::memory::collected;
use bandsolve::{Error, RealScalar, Result, Scalar};
use bandsolve_sparse::Csr;
use bytemuck::Pod;
use std::borrow::Cow;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Entries of a tile, and maximum entries of a short row (`product.cuh`).
pub(crate) const TILE: usize = 1024;
const SHORT_ROW: usize = 32;
const LANES: usize = 32;

/// A sparse matrix in compressed sparse row (CSR) format in the memory of a device.
///
/// Thread blocks reduce tiles of 1024 entries, so a long row does not slow down others. One thread reduces a row of at most 32 entries from left to
/// right. The results of longer rows are joined from parts in a fixed order. All results are therefore the same in every run, bit for bit. In rows of at
/// most 32 entries, a product has the bits of [`Csr::product`].
///
/// All methods run on the stream of the device handle that was passed to [`new`](Self::new). They wait for the work on the streams of their
/// arrays, and later work on these streams waits for them. Except for [`residual`](Self::residual), the host does not wait.
///
/// Clones share the memory.
///
/// # Cost
/// A product reads every entry once: s + 4 bytes for numbers of s bytes. The row pointers take 4 bytes per row. A product needs a second launch if a row
/// of more than 32 entries is in several tiles. One thread block writes the results of all empty rows between two entries.
///
/// # Examples
/// ```
/// # #[cfg(feature = "emulator")] {
/// use bandsolve_gpu::{Device, DeviceCsr, Emulation};
/// use bandsolve_sparse::Csr;
/// let device = Device::cuda(0).unwrap_or_else(|_| Device::emulated(Emulation::default()));
/// // (4 −1 0), (−1 4 0), (0 0 4)
/// let a = Csr::new(3, &[0_u32, 2, 4, 5][..], &[0, 1, 1, 0, 2][..], &[4.0, -1.0, 4.0, -1.0, 4.0][..])?;
/// let a = DeviceCsr::new(&device, &a)?;
/// let (x, mut y) = (device.upload(&[1.0, 2.0, 3.0])?, device.zeros(3)?);
/// a.multiply(&x, &mut y)?;
/// assert_eq!(y.download()?, [2.0, 7.0, 12.0]);
/// # }
/// # Ok::<(), bandsolve::Error>(())
/// ```
///
/// # Source
/// Klein, chapter 3 (SRCSR-balanced).
#[derive(Debug, Clone)]
pub struct DeviceCsr<T> {
    device: Device,
    columns: usize,
    row_pointers: Arc<DeviceVec<u32>>,
    column_indices: Arc<DeviceVec<u32>>,
    values: Arc<DeviceVec<T>>,
    /// Whether a row that is not short is in several tiles. It then has carries.
    crosses: bool,
    /// The most entries of a row, and the largest sum of moduli of a row.
    largest_row: (usize, f64),
    /// Two peaks for residuals, and two carries per tile if rows cross tiles. A product locks this memory while it enqueues its
    /// launches, so that products of several threads cannot mix.
    scratch: Arc<Mutex<DeviceVec<u64>>>,
}

/// A matrix in the form that the kernels use (`product.cuh`).
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub(crate) struct CsrArguments {
    rows: u32,
    entries: u32,
    arrays: [u64; 3],
}

/// An operation of a generalised product (`row_reductions.cuh`).
#[derive(Debug, Clone, Copy)]
pub(crate) struct RowOperation<A> {
    /// The ending of the kernels' names.
    pub ending: &'static str,
    /// Bytes of a term in shared memory.
    pub term: usize,
    pub arguments: A,
}

/// Number of words of scratch for ‖x‖∞ and η.
const PEAKS: usize = 2;
/// Maximum number of 64-bit words of a carry: those of the proposed edges of a [0, 4]-factor.
const CARRY_WORDS: usize = 9;

/// Borrow or copy indices with 32 bits. Leave some numbers above them, for the arithmetic of the kernels.
fn narrow<'a, I: Index>(what: &'static str, largest: usize, indices: &'a [I]) -> Result<Cow<'a, [u32]>> {
    const MOST: usize = u32::MAX as usize - 2 * TILE;
    if largest > MOST {
        return Err(Error::Shape { what, expected: MOST, got: largest });
    }
    match I::words(indices) {
        IndexWords::Narrow(indices) => Ok(indices.into()),
        IndexWords::Wide(indices) => collected(indices.iter().map(|index| *index as u32)).map(Into::into),
    }
}

/// Whether a row that is not short is in several tiles.
fn crosses_tiles(row_pointers: &[u32]) -> bool {
    row_pointers.windows(2).any(|row| {
        let (from, to) = (row[0] as usize, row[1] as usize);
        to - from > SHORT_ROW && from / TILE != (to - 1) / TILE
    })
}

/// The most entries of a row, and the largest sum of moduli of a row.
fn largest_row<T: Scalar, I: Index>(a: &Csr<'_, T, I>) -> (usize, f64) {
    let (pointers, _, values) = a.parts();
    let rows = pointers.windows(2).map(|row| {
        let [from, to] = [row[0], row[1]].map(|at| at.to_usize().expect("checked by `Csr::new`"));
        (to - from, values[from..to].iter().map(|v| Scalar::abs(*v).to_f64()).sum::<f64>())
    });
    rows.fold((0, 0.0), |(most, largest), (count, sum)| (most.max(count), f64::max(largest, sum)))
}

/// Bytes of shared memory for terms of this size (`TileDesk`).
fn shared_bytes(term: usize) -> usize {
    // The last short row can end after the tile. One place is free after every 32.
    let terms = TILE + SHORT_ROW - 1;
    let numbers_of_rows = 3 + TILE / SHORT_ROW;
    ((terms + terms / LANES) * term + numbers_of_rows * size_of::<u32>()).next_multiple_of(8)
}

/// Memory for the peaks and carries of a matrix.
fn scratch(device: &Device, crosses: bool, entries: usize) -> Result<Arc<Mutex<DeviceVec<u64>>>> {
    let carries = if crosses { 2 * entries.div_ceil(TILE) } else { 0 };
    device.zeros(PEAKS + carries * CARRY_WORDS).map(|memory| Arc::new(Mutex::new(memory)))
}

impl<T: DeviceScalar> DeviceCsr<T> {
    /// Copy a matrix to a device.
    ///
    /// # Errors
    /// [`Error::Shape`] if the numbers of rows, columns or entries exceed 32 bits; [`Error::OutOfMemory`]; [`Error::Device`].
    pub fn new<I: Index>(device: &Device, a: &Csr<'_, T, I>) -> Result<Self> {
        let (row_pointers, column_indices, values) = a.parts();
        let largest = a.rows().max(a.entries());
        let row_pointers = narrow("a matrix on a device", largest, row_pointers)?;
        let column_indices = narrow("a row of a matrix on a device", a.columns(), column_indices)?;
        let crosses = crosses_tiles(&row_pointers);
        Ok(Self {
            device: device.clone(),
            columns: a.columns(),
            row_pointers: device.upload(&row_pointers)?.into(),
            column_indices: device.upload(&column_indices)?.into(),
            values: device.upload(values)?.into(),
            crosses,
            largest_row: largest_row(a),
            scratch: scratch(device, crosses, a.entries())?,
        })
    }

    /// A matrix with the same pattern and a copy of the values.
    pub(crate) fn with_copy(&self) -> Result<Self> {
        let mut values = self.device.zeros(self.entries())?;
        values.slice_mut(..).copy_from(self.values())?;
        Ok(Self { values: values.into(), ..self.with_zeros()? })
    }

    /// A matrix with the same pattern and other values, which the caller sets.
    pub(crate) fn with_zeros<V: DeviceScalar>(&self) -> Result<DeviceCsr<V>> {
        Ok(DeviceCsr {
            device: self.device.clone(),
            columns: self.columns,
            row_pointers: self.row_pointers.clone(),
            column_indices: self.column_indices.clone(),
            values: self.device.zeros(self.entries())?.into(),
            crosses: self.crosses,
            // The sums are not known.
            largest_row: (self.largest_row.0, f64::INFINITY),
            scratch: scratch(&self.device, self.crosses, self.entries())?,
        })
    }

    /// Copy the matrix to the host.
    ///
    /// # Errors
    /// [`Error::Device`]; [`Error::OutOfMemory`].
    pub fn download(&self) -> Result<Csr<'static, T, u32>> {
        let [pointers, columns] = [&self.row_pointers, &self.column_indices].map(|indices| indices.download());
        Csr::new(self.columns, pointers?, columns?, self.values.download()?)
    }

    /// Get the number of rows.
    pub fn rows(&self) -> usize {
        self.row_pointers.len() - 1
    }

    /// Get the number of columns.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Get the number of stored entries, including zeros.
    pub fn entries(&self) -> usize {
        self.values.len()
    }

    /// Get the device and stream of the matrix.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// Compute y = A·x.
    ///
    /// # Shapes
    /// x: one element per column; y: one per row.
    ///
    /// # Errors
    /// [`Error::Shape`]; [`Error::InvalidArgument`] if an array is on another device; [`Error::Device`].
    pub fn multiply<'a>(&self, x: impl Into<DeviceSlice<'a, T>>, y: impl Into<DeviceSliceMut<'a, T>>) -> Result<()> {
        let (x, y) = (x.into(), y.into());
        self.map(("", size_of::<T>()), x, y.as_slice())
    }

    /// Compute the sums of moduli yᵢ = Σⱼ |aᵢⱼ|·|xⱼ|, for componentwise error bounds.
    ///
    /// # Shapes
    /// As [`multiply`](Self::multiply).
    ///
    /// # Errors
    /// As [`multiply`](Self::multiply).
    pub fn sum_moduli<'a>(
        &self,
        x: impl Into<DeviceSlice<'a, T>>,
        y: impl Into<DeviceSliceMut<'a, T::Real>>,
    ) -> Result<()> {
        let (x, y) = (x.into(), y.into());
        self.map(("_moduli", T::REAL_BYTES), x, y.as_slice())
    }

    /// An operation that maps a vector to another one.
    fn map<Y: Pod>(
        &self,
        (ending, term): (&'static str, usize),
        x: DeviceSlice<'_, T>,
        y: DeviceSlice<'_, Y>,
    ) -> Result<()> {
        check_len("x", self.columns, x.len())?;
        check_len("y", self.rows(), y.len())?;
        let arrays = [("x", x.device()), ("y", y.device())];
        self.reduce_rows(&arrays, RowOperation { ending, term, arguments: [x.address(), y.address()] })
    }

    /// Compute r = b − A·x, and return the backward error of x.
    ///
    /// ```text
    /// η = maxᵢ |rᵢ| / (Σⱼ |aᵢⱼ|·‖x‖∞ + |bᵢ|)
    /// ```
    ///
    /// The residual is computed in twice the working precision, so η is reliable down to rounding errors. A row with residual zero has no error.
    /// NaN in A, x or b gives NaN. The host waits for η.
    ///
    /// # Shapes
    /// x: one element per column; b and r: one per row.
    ///
    /// # Cost
    /// One pass over the matrix, and one over x.
    ///
    /// # Errors
    /// As [`multiply`](Self::multiply).
    pub fn residual<'a>(
        &self,
        x: impl Into<DeviceSlice<'a, T>>,
        rhs: impl Into<DeviceSlice<'a, T>>,
        r: impl Into<DeviceSliceMut<'a, T>>,
    ) -> Result<f64> {
        self.peaks_of_residual(x.into(), rhs.into(), r.into()).map(|[_, error]| error)
    }

    /// Compute the residual as [`residual`](Self::residual) does, and return a bound on the error of its elements before they are rounded to T.
    ///
    /// With S the largest Σⱼ |aᵢⱼ|, m the most entries of a row, and u the unit roundoff, the error of a sum in twice the working precision is at most
    /// (m·u)²·(S·‖x‖∞ + |bᵢ|), up to a small factor. η, the backward error, bounds |bᵢ| ≤ (1 + η)/(1 − η)·S·‖x‖∞.
    pub(crate) fn bounded_residual(
        &self,
        x: DeviceSlice<'_, T>,
        rhs: DeviceSlice<'_, T>,
        r: DeviceSliceMut<'_, T>,
    ) -> Result<f64> {
        let [size, error] = self.peaks_of_residual(x, rhs, r)?;
        let (count, sum) = self.largest_row;
        // Products of complex numbers have four terms.
        let terms = 4.0 * (count + 1) as f64;
        let relative = (terms * T::Real::EPSILON.to_f64()).powi(2);
        let bound = if size > 0.0 { relative * sum * size * 2.0 / (1.0 - error).max(0.0) } else { 0.0 };
        // The rounding errors of small products may underflow.
        Ok(if error.is_nan() { f64::NAN } else { bound + terms * T::Real::MIN_POSITIVE.to_f64() })
    }

    /// Compute the residual, ‖x‖∞ and η.
    fn peaks_of_residual(
        &self,
        x: DeviceSlice<'_, T>,
        rhs: DeviceSlice<'_, T>,
        r: DeviceSliceMut<'_, T>,
    ) -> Result<[f64; PEAKS]> {
        check_len("x", self.columns, x.len())?;
        check_len("rhs", self.rows(), rhs.len())?;
        check_len("r", self.rows(), r.as_slice().len())?;
        let arrays = [("x", x.device()), ("rhs", rhs.device()), ("r", r.as_slice().device())];
        self.device.receive(&arrays)?;
        let mut scratch = self.lock();
        scratch.slice_mut(..PEAKS).clear()?;
        let [size, error] = [0, 1].map(|k| scratch.slice(k..).address());
        let largest = Arguments::default().with(self.columns as u32).with(x.address()).with(size);
        let blocks = self.columns.div_ceil(TILE);
        if blocks > 0 {
            // SAFETY: these are the kernel's arguments, and x has this number of elements.
            unsafe { largest.launch(&self.device, &format!("largest_{}", T::NAME), blocks, 0) }?;
        }
        // The last argument is the error of no rows.
        let arguments = [x.address(), rhs.address(), r.as_slice().address(), size, error, 0];
        let operation = RowOperation { ending: "_residual", term: 2 * size_of::<T>(), arguments };
        self.reduce(&scratch, &arrays, operation)?;
        let peaks = scratch.slice(..PEAKS).download()?;
        Ok([T::real_of_bits(peaks[0]), T::real_of_bits(peaks[1])])
    }

    fn lock(&self) -> MutexGuard<'_, DeviceVec<u64>> {
        self.scratch.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn values(&self) -> DeviceSlice<'_, T> {
        self.values.slice(..)
    }

    /// The matrix in the form that the kernels use.
    pub(crate) fn arguments(&self) -> CsrArguments {
        let (pointers, columns) = (self.row_pointers.slice(..), self.column_indices.slice(..));
        let arrays = [pointers.address(), columns.address(), self.values.slice(..).address()];
        CsrArguments { rows: self.rows() as u32, entries: self.entries() as u32, arrays }
    }

    /// Reduce all rows by an operation that leaves no results in the scratch memory.
    pub(crate) fn reduce_rows<A: Copy>(
        &self,
        arrays: &[(&'static str, &Device)],
        operation: RowOperation<A>,
    ) -> Result<()> {
        self.reduce(&self.lock(), arrays, operation)
    }

    /// Reduce all rows: one launch, and a second one if rows cross tiles. The caller has checked the lengths of the arrays.
    fn reduce<A: Copy>(
        &self,
        scratch: &DeviceVec<u64>,
        arrays: &[(&'static str, &Device)],
        operation: RowOperation<A>,
    ) -> Result<()> {
        self.device.receive(arrays)?;
        if self.rows() == 0 {
            return Ok(());
        }
        let RowOperation { ending, term, arguments } = operation;
        let matrix = self.arguments();
        let carries = scratch.slice(PEAKS..).address();
        let with = || Arguments::default().with(matrix).with(arguments).with(carries);
        let name = |template: &str| format!("{template}_{}{ending}", T::NAME);
        let tiles = self.entries().div_ceil(TILE);
        // SAFETY: here and below, these are the kernel's arguments. `new` has allocated the carries.
        unsafe { with().launch(&self.device, &name("product"), tiles.max(1), shared_bytes(term)) }?;
        if self.crosses {
            let blocks = (tiles * LANES).div_ceil(THREADS as usize);
            // SAFETY: see above.
            unsafe { with().launch(&self.device, &name("join"), blocks, 0) }?;
        }
        arrays.iter().try_for_each(|(_, other)| other.wait_for(&self.device))
    }
}

/// Stands for the column of a row that has none, in the results of [`DeviceCsr::row_arg_max`], and for a missing partner in those of
/// [`DeviceGraphFactor::partners`](crate::DeviceGraphFactor::partners).
pub const NO_COLUMN: u32 = u32::MAX;

impl<T: DeviceScalar + RealScalar> DeviceCsr<T> {
    /// Find the largest entry of every row, as [`RowMax`](bandsolve_sparse::RowMax): maxⱼ aᵢⱼ. NaN for a row without a number.
    ///
    /// # Shapes
    /// `output`: one element per row.
    ///
    /// # Errors
    /// As [`multiply`](Self::multiply).
    pub fn row_max<'a>(&self, output: impl Into<DeviceSliceMut<'a, T>>) -> Result<()> {
        self.select("_max", size_of::<T>(), 1, output.into())
    }

    /// Find the largest product of column and entry in every row, as [`RowMaxWithColumn`](bandsolve_sparse::RowMaxWithColumn): maxⱼ j·aᵢⱼ.
    /// NaN for a row without a number.
    ///
    /// # Shapes
    /// `output`: one element per row.
    ///
    /// # Errors
    /// As [`multiply`](Self::multiply).
    pub fn row_max_with_column<'a>(&self, output: impl Into<DeviceSliceMut<'a, T>>) -> Result<()> {
        self.select("_maxwithcolumn", size_of::<T>(), 1, output.into())
    }

    /// Find the column of the largest entry of every row, as [`RowArgMax`](bandsolve_sparse::RowArgMax): the first of several, or [`NO_COLUMN`] for a row
    /// without a number.
    ///
    /// # Shapes
    /// `output`: one element per row.
    ///
    /// # Errors
    /// As [`multiply`](Self::multiply).
    pub fn row_arg_max<'a>(&self, output: impl Into<DeviceSliceMut<'a, u32>>) -> Result<()> {
        self.select("_argmax", 2 * size_of::<T>(), 1, output.into())
    }

    /// Find the columns of the two largest entries of every row, as [`RowArgMax2`](bandsolve_sparse::RowArgMax2): the largest first, and [`NO_COLUMN`] if there are fewer.
    ///
    /// # Shapes
    /// `output`: two elements per row, one after the other.
    ///
    /// # Errors
    /// As [`multiply`](Self::multiply).
    pub fn row_arg_max2<'a>(&self, output: impl Into<DeviceSliceMut<'a, u32>>) -> Result<()> {
        self.select("_argmax2", 2 * size_of::<T>(), 2, output.into())
    }

    /// An operation without a vector, with a number of results per row.
    fn select<Y: Pod>(
        &self,
        ending: &'static str,
        term: usize,
        per_row: usize,
        output: DeviceSliceMut<'_, Y>,
    ) -> Result<()> {
        let output = output.as_slice();
        check_len("output", per_row * self.rows(), output.len())?;
        let arrays = [("output", output.device())];
        self.reduce_rows(&arrays, RowOperation { ending, term, arguments: output.address() })
    }
}
