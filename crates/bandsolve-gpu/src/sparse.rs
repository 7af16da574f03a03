//! Sparse right-hand sides on a device.

use crate::cut::THREADS;
use crate::device::{Device, DeviceScalar, DeviceSlice, DeviceSliceMut, check_len};
use crate::launch::{Arguments, DeviceColumns};
use crate::matrix::{DeviceMatrix, MatrixSource};
use crate::rhs::{Rhs, Sparse};
use crate::solver::{DeviceSolver, Pending};
use bandsolve::{Error, Report, Result, Shape};

/// Sparse columns in the memory of a device (CSC format).
///
/// Column j has the entries `column_pointers[j]` to `column_pointers[j + 1]` − 1, with ascending rows.
#[derive(Debug, Clone, Copy)]
pub struct DeviceCsc<'a, T> {
    column_pointers: DeviceSlice<'a, i32>,
    row_indices: DeviceSlice<'a, i32>,
    values: DeviceSlice<'a, T>,
}

/// Sparse columns in the memory of a device, for writing. The caller sets the column pointers.
#[derive(Debug)]
pub struct DeviceCscMut<'a, T> {
    column_pointers: DeviceSlice<'a, i32>,
    row_indices: DeviceSliceMut<'a, i32>,
    values: DeviceSliceMut<'a, T>,
}

/// Maximum bytes of solutions from which the largest entries are selected at the same time.
const ROOM: usize = 256 << 20;

impl<'a, T: DeviceScalar> DeviceCsc<'a, T> {
    /// Borrow the arrays. Their contents are checked at each use.
    ///
    /// # Errors
    /// [`Error::Shape`] if the numbers of rows and values differ, or if there are no column pointers.
    pub fn new(
        column_pointers: impl Into<DeviceSlice<'a, i32>>,
        row_indices: impl Into<DeviceSlice<'a, i32>>,
        values: impl Into<DeviceSlice<'a, T>>,
    ) -> Result<Self> {
        let (column_pointers, row_indices, values) = (column_pointers.into(), row_indices.into(), values.into());
        check_len("values", row_indices.len(), values.len())?;
        check_len("column_pointers", column_pointers.len().max(1), column_pointers.len())?;
        Ok(Self { column_pointers, row_indices, values })
    }

    /// Get the number of columns.
    pub fn columns(&self) -> usize {
        self.column_pointers.len() - 1
    }

    /// The devices of the arrays, with names for errors.
    fn devices(&self) -> [(&'static str, &'a Device); 3] {
        [
            ("column_pointers", self.column_pointers.device()),
            ("row_indices", self.row_indices.device()),
            ("values", self.values.device()),
        ]
    }

    fn sparse(&self) -> Sparse {
        let (values, rows) = (self.values.address(), self.row_indices.address());
        Sparse { values, rows, pointers: self.column_pointers.address() }
    }

    /// The columns from column `first` on.
    fn from(&self, first: usize) -> Sparse {
        let sparse = self.sparse();
        Sparse { pointers: sparse.pointers + (first * size_of::<i32>()) as u64, ..sparse }
    }

    /// Check that the pointers do not decrease, and that the rows of each column ascend and are below `rows`.
    fn check(&self, device: &Device, rows: usize) -> Result<()> {
        device.receive(&self.devices())?;
        let bad = device.zeros::<u32>(2)?;
        let arguments = Arguments::default()
            .with(rows as u32)
            .with(self.values.len() as u32)
            .with(self.row_indices.address())
            .with(self.column_pointers.address())
            .with(bad.slice(..).address());
        // SAFETY: these are the kernel's arguments, with one more pointer than columns, and the given number of
        // entries.
        unsafe { arguments.launch(device, &format!("check_{}", T::NAME), self.columns(), 0) }?;
        match *bad.download()? {
            [0, 0] => Ok(()),
            [0, entry] => Err(Error::Structure { array: "row_indices", index: !entry as usize }),
            [pointer, _] => Err(Error::Structure { array: "column_pointers", index: !pointer as usize + 1 }),
            _ => unreachable!("the array has two words"),
        }
    }
}

impl<'a, T: DeviceScalar> DeviceCscMut<'a, T> {
    /// Borrow the arrays. The column pointers are only read.
    ///
    /// # Errors
    /// [`Error::Shape`] if the numbers of rows and values differ, or if there are no column pointers.
    pub fn new(
        column_pointers: impl Into<DeviceSlice<'a, i32>>,
        row_indices: impl Into<DeviceSliceMut<'a, i32>>,
        values: impl Into<DeviceSliceMut<'a, T>>,
    ) -> Result<Self> {
        let (column_pointers, row_indices, values) = (column_pointers.into(), row_indices.into(), values.into());
        check_len("values", row_indices.as_slice().len(), values.as_slice().len())?;
        check_len("column_pointers", column_pointers.len().max(1), column_pointers.len())?;
        Ok(Self { column_pointers, row_indices, values })
    }

    /// Check that the pointers do not decrease, and that no column has more than `rows` entries.
    fn check(&self, rows: usize) -> Result<()> {
        let pointers = self.column_pointers.download()?;
        let entries = self.values.as_slice().len();
        let good = |pair: &[i32]| pair[0] <= pair[1] && (pair[1] - pair[0]) as usize <= rows;
        let wrong = if pointers[0] != 0 {
            Some(0)
        } else {
            let last = pointers.len() - 1;
            let by_pair = pointers.windows(2).position(|pair| !good(pair)).map(|j| j + 1);
            by_pair.or_else(|| (pointers[last] as usize != entries).then_some(last))
        };
        wrong.map_or(Ok(()), |index| Err(Error::Structure { array: "x.column_pointers", index }))
    }
}

impl<T: DeviceScalar> DeviceSolver<T> {
    /// Solve op(A)·X = D for a tridiagonal matrix A, open or periodic, and sparse right-hand sides D.
    ///
    /// The columns of D are expanded only in shared memory.
    ///
    /// # Shapes
    /// `rhs`: n × n_rhs; `x`: n × n_rhs, column-major. The solver must have memory for n_rhs columns.
    ///
    /// # Errors
    /// The errors of [`solve`](Self::solve); [`Error::Structure`] if rows do not ascend, or are outside the matrix.
    ///
    /// # Source
    /// Klein, Problem Class ScalarCSC2Dense.
    pub fn solve_sparse<'a>(
        &'a mut self,
        a: DeviceMatrix<'a, T>,
        rhs: DeviceCsc<'a, T>,
        x: impl Into<DeviceSliceMut<'a, T>>,
    ) -> Result<Report> {
        rhs.check(self.device(), self.shape().n())?;
        self.solve_columns(a, rhs, 0, x.into())
    }

    /// Get the maximum number of columns that [`solve_pruned`](Self::solve_pruned) solves at the same time in a system
    /// of n rows.
    ///
    /// A solver for this function needs memory for this number of columns.
    pub fn pruned_together(n: usize) -> usize {
        (ROOM / size_of::<T>() / n.max(1)).max(1)
    }

    /// Solve op(A)·X = D for sparse right-hand sides D, and keep the entries of largest modulus in each column of X.
    ///
    /// The column pointers of `x` determine the number of entries to keep. Rows ascend. Among entries of equal modulus,
    /// the function keeps those in rows with smaller numbers. The function solves several columns at the same time.
    /// Their number is limited by the memory of the solver, and by 256 MiB of solutions.
    ///
    /// # Errors
    /// As [`solve_sparse`](Self::solve_sparse). Errors in the column pointers of `x` name the array `x.column_pointers`.
    ///
    /// # Source
    /// Klein 2.6.12, Problem Class ScalarCSC2CSC.
    pub fn solve_pruned(
        &mut self,
        a: DeviceMatrix<'_, T>,
        rhs: DeviceCsc<'_, T>,
        x: DeviceCscMut<'_, T>,
    ) -> Result<Report> {
        let n = self.shape().n();
        let device = self.device().clone();
        rhs.check(&device, n)?;
        check_len("column_pointers", rhs.column_pointers.len(), x.column_pointers.len())?;
        let [rows, values] = [x.row_indices.as_slice().device(), x.values.as_slice().device()];
        device.receive(&[
            ("x.column_pointers", x.column_pointers.device()),
            ("x.row_indices", rows),
            ("x.values", values),
        ])?;
        x.check(n)?;
        let max_columns = self.n_rhs().min(Self::pruned_together(n));
        let mut dense = device.zeros::<T>(n * max_columns.min(rhs.columns()))?;
        let mut done: Option<Report> = None;
        for first in (0..rhs.columns()).step_by(max_columns.max(1)) {
            let columns = max_columns.min(rhs.columns() - first);
            let report = self.solve_columns(a, rhs, first, dense.slice_mut(..n * columns))?;
            let arguments = Arguments::default()
                .with(n as u32)
                .with(DeviceColumns { first: dense.slice(..).address(), step: n as u64 })
                .with(x.column_pointers.address() + (first * size_of::<i32>()) as u64)
                .with(x.values.as_slice().address())
                .with(x.row_indices.as_slice().address());
            let words = 256 + THREADS as usize;
            // SAFETY: these are the kernel's arguments, and the pointers were checked.
            unsafe { arguments.launch(&device, &format!("prune_{}", T::NAME), columns, words * size_of::<u32>()) }?;
            match &mut done {
                Some(done) => done.take(&report),
                None => done = Some(report),
            }
        }
        for other in [rows, values] {
            other.wait_for(&device)?;
        }
        Ok(done.unwrap_or_else(|| self.gathered(&[])))
    }

    /// Solve for as many columns as x has, from column `first` on.
    fn solve_columns<'a>(
        &'a mut self,
        a: DeviceMatrix<'a, T>,
        rhs: DeviceCsc<'a, T>,
        first: usize,
        x: DeviceSliceMut<'a, T>,
    ) -> Result<Report> {
        if !matches!(self.shape(), Shape::Tridiagonal { .. }) || !self.partitions_are_lanes() {
            let method = "sparse right-hand sides on a GPU";
            return Err(Error::Unsupported {
                method,
                what: "systems that are not tridiagonal, or systems of this method",
            });
        }
        let columns = self.prepare(x.as_slice().len(), "x")?;
        self.device().receive(&a.devices())?;
        self.device().receive(&[("x", x.as_slice().device())])?;
        let MatrixSource::Blocks(_) = a.source(self.shape())? else {
            unreachable!("a tridiagonal matrix has the form `Blocks`")
        };
        let given = Rhs::Sparse(rhs.from(first));
        let errors = self.solve_unrepaired(a.source(self.shape())?, given, x.as_slice())?;
        if let Some(report) = errors {
            return Ok(report);
        }
        // A repair needs the expanded right-hand sides.
        let device = self.device().clone();
        let dense = device.zeros::<T>(x.as_slice().len())?;
        let out = DeviceColumns { first: dense.slice(..).address(), step: self.shape().n() as u64 };
        let arguments = Arguments::default().with(rhs.from(first)).with(out);
        // SAFETY: these are the kernel's arguments, and rows and pointers were checked.
        unsafe { arguments.launch(&device, &format!("scatter_{}", T::NAME), columns, 0) }?;
        Pending::new(self, a, (&dense).into(), x)?.wait()
    }
}
