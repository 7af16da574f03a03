//! cuSPARSE's solvers, opened at run time as the other [`peers`](crate::peers) are.
//!
//! | routine | solves | pivots |
//! | --- | --- | --- |
//! | `gtsv2` | a tridiagonal system | of one or two rows |
//! | `gtsv2_nopivot` | the same, by cyclic reduction | none |
//! | `gtsvInterleavedBatch` | interleaved batches, by Thomas or LU | none, or of a column |
//! | `gpsvInterleavedBatch` | pentadiagonal ones, by QR | needs none |
//!
//! Entries outside of the matrix must be zero.

use crate::peers::PeerScalar;
use bandsolve::{Error, Result};
use bandsolve_gpu::{Device, DeviceVec};
use libloading::Library;
use std::ffi::{c_int, c_void};
use std::marker::PhantomData;
use std::path::PathBuf;
use std::ptr::null_mut;

/// `cusparseHandle_t`.
type Handle = *mut c_void;

/// (handle, m, n, dl, d, du, B, ldb, last), or (handle, algo, m, dl, d, du, x, batchCount, last); arrays are addresses on the
/// device.
type Three<Last> = unsafe extern "C" fn(Handle, c_int, c_int, u64, u64, u64, u64, c_int, Last) -> c_int;
/// (handle, algo, m, ds, dl, d, du, dw, x, batchCount, last).
type Five<Last> = unsafe extern "C" fn(Handle, c_int, c_int, u64, u64, u64, u64, u64, u64, c_int, Last) -> c_int;

/// A function; the last argument is its buffer, or where it writes how large that has to be.
#[derive(Debug, Clone, Copy)]
enum Function<Last> {
    Three(Three<Last>),
    Five(Five<Last>),
}

impl<Last> Function<Last> {
    /// Calls it; `arrays` are the diagonals and x.
    ///
    /// # Safety
    /// Numbers and arrays are what the function takes.
    unsafe fn call(&self, handle: Handle, [a, b, c]: [c_int; 3], arrays: &[u64], last: Last) -> c_int {
        // SAFETY: the caller's promise.
        unsafe {
            match (self, arrays) {
                (Self::Three(f), [dl, d, du, x]) => f(handle, a, b, *dl, *d, *du, *x, c, last),
                (Self::Five(f), [ds, dl, d, du, dw, x]) => f(handle, a, b, *ds, *dl, *d, *du, *dw, *x, c, last),
                _ => unreachable!("as many diagonals as the routine has"),
            }
        }
    }
}

/// A routine of cuSPARSE.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CusparseRoutine {
    /// Its name for tables.
    pub name: &'static str,
    /// What its symbol ends with.
    symbol: &'static str,
    diagonals: usize,
    /// Of interleaved batches.
    algorithm: Option<c_int>,
}

impl CusparseRoutine {
    pub const GTSV2: Self = Self::one("cusparse gtsv2", "gtsv2");
    pub const GTSV2_NOPIVOT: Self = Self::one("cusparse gtsv2_nopivot", "gtsv2_nopivot");
    pub const GTSV_BATCH: Self = Self::batch("cusparse gtsvInterleavedBatch", "gtsvInterleavedBatch", 3, 1);
    pub const GTSV_BATCH_THOMAS: Self = Self::batch("cusparse thomas", "gtsvInterleavedBatch", 3, 0);
    pub const GPSV_BATCH: Self = Self::batch("cusparse gpsvInterleavedBatch", "gpsvInterleavedBatch", 5, 0);

    const fn one(name: &'static str, symbol: &'static str) -> Self {
        Self { name, symbol, diagonals: 3, algorithm: None }
    }

    const fn batch(name: &'static str, symbol: &'static str, diagonals: usize, algorithm: c_int) -> Self {
        Self { name, symbol, diagonals, algorithm: Some(algorithm) }
    }

    /// The three integers that it takes: rows, right-hand sides and rows again, or algorithm, rows and systems.
    fn integers(&self, n: usize, count: usize) -> [c_int; 3] {
        let [n, count] = [n, count].map(|v| c_int::try_from(v).expect("less than 2^31 rows"));
        self.algorithm.map_or([n, count, n], |algorithm| [algorithm, n, count])
    }
}

/// The library, and a handle of it for the context that is current; its work is done on the default stream.
#[derive(Debug)]
pub struct Cusparse {
    /// The file that was opened.
    pub path: PathBuf,
    library: Library,
    handle: Handle,
}

impl Cusparse {
    /// Opens it for the device that was opened last by this thread.
    pub fn open() -> Option<Self> {
        let (path, library) = candidates().into_iter().find_map(|path| {
            // SAFETY: the library runs nothing when opened but the set-up of its own tables.
            Some((path.clone(), unsafe { Library::new(&path) }.ok()?))
        })?;
        let mut handle = null_mut();
        // SAFETY: the signature is the documented one.
        let status = unsafe {
            let create = library.get::<unsafe extern "C" fn(*mut Handle) -> c_int>(b"cusparseCreate").ok()?;
            create(&mut handle)
        };
        (status == 0).then_some(Self { path, library, handle })
    }

    /// A routine with the memory to solve `count` systems, or right-hand sides, of n rows; `arrays`: see
    /// [`solve`](Solver::solve). Nothing where this cuSPARSE lacks it.
    ///
    /// # Errors
    /// [`Error::Device`].
    ///
    /// # Panics
    /// If the arrays do not fit.
    pub fn solver<T: PeerScalar>(
        &self,
        routine: CusparseRoutine,
        device: &Device,
        [n, count]: [usize; 2],
        arrays: &[DeviceVec<T>],
    ) -> Result<Option<CusparseSolver<'_, T>>> {
        let symbol = format!("{}{}", T::CUSPARSE, routine.symbol);
        let size = self.function::<*mut usize>(&format!("{symbol}_bufferSizeExt"), routine);
        let Some((size, function)) = size.zip(self.function::<u64>(&symbol, routine)) else { return Ok(None) };
        let integers = routine.integers(n, count);
        let mut lengths = vec![if routine.algorithm.is_some() { n * count } else { n }; routine.diagonals];
        lengths.push(n * count);
        check_lengths(&lengths, arrays);
        let mut bytes = 0;
        // SAFETY: what the function takes; nothing is read yet.
        let status = unsafe { size.call(self.handle, integers, &addresses(arrays), &mut bytes) };
        check(routine, status)?;
        let buffer = device.zeros(bytes)?;
        Ok(Some(CusparseSolver { cusparse: self, routine, function, integers, lengths, buffer, of: PhantomData }))
    }

    fn function<Last>(&self, symbol: &str, routine: CusparseRoutine) -> Option<Function<Last>> {
        // SAFETY: the symbol, where it exists, is the function of this name, whose signature is the documented one.
        unsafe {
            if routine.diagonals == 3 {
                return Some(Function::Three(*self.library.get::<Three<Last>>(symbol.as_bytes()).ok()?));
            }
            Some(Function::Five(*self.library.get::<Five<Last>>(symbol.as_bytes()).ok()?))
        }
    }
}

impl Drop for Cusparse {
    fn drop(&mut self) {
        // SAFETY: the signature is the documented one; the handle is ours, and what goes wrong now concerns nobody.
        unsafe {
            if let Ok(destroy) = self.library.get::<unsafe extern "C" fn(Handle) -> c_int>(b"cusparseDestroy") {
                destroy(self.handle);
            }
        }
    }
}

/// A routine for systems of one size.
#[derive(Debug)]
pub struct CusparseSolver<'c, T> {
    cusparse: &'c Cusparse,
    routine: CusparseRoutine,
    function: Function<u64>,
    integers: [c_int; 3],
    /// Of the arrays.
    lengths: Vec<usize>,
    buffer: DeviceVec<u8>,
    of: PhantomData<T>,
}

impl<T: PeerScalar> CusparseSolver<'_, T> {
    /// Hands the systems in `arrays` to the default stream: the diagonals from the lowest, then the right-hand sides, in whose
    /// place x is written; routines for batches overwrite the diagonals, too.
    ///
    /// # Errors
    /// [`Error::Device`].
    ///
    /// # Panics
    /// If the arrays are not as long as those that it was made for.
    pub fn solve(&self, arrays: &mut [DeviceVec<T>]) -> Result<()> {
        check_lengths(&self.lengths, arrays);
        let buffer = self.buffer.slice(..).address();
        // SAFETY: what the function takes; the arrays are as long as it expects, and borrowed by us alone.
        let status = unsafe { self.function.call(self.cusparse.handle, self.integers, &addresses(arrays), buffer) };
        check(self.routine, status)
    }
}

fn check_lengths<T: PeerScalar>(lengths: &[usize], arrays: &[DeviceVec<T>]) {
    assert!(arrays.iter().map(DeviceVec::len).eq(lengths.iter().copied()), "arrays of {lengths:?} numbers");
}

fn addresses<T: PeerScalar>(arrays: &[DeviceVec<T>]) -> Vec<u64> {
    arrays.iter().map(|array| array.slice(..).address()).collect()
}

fn check(routine: CusparseRoutine, status: c_int) -> Result<()> {
    match status {
        0 => Ok(()),
        _ => Err(Error::Device { call: routine.name, message: format!("status {status}") }),
    }
}

/// Where it may be: the loader's own path, then CUDA's folders.
fn candidates() -> Vec<PathBuf> {
    let names = ["libcusparse.so.12", "libcusparse.so.11", "libcusparse.so"];
    let roots = ["CUDA_HOME", "CUDA_PATH"].into_iter().filter_map(std::env::var_os).map(PathBuf::from);
    let folders = roots.chain(["/usr/local/cuda".into()]).map(|root| root.join("lib64"));
    let folders: Vec<PathBuf> = [PathBuf::new()].into_iter().chain(folders).collect();
    folders.iter().flat_map(|folder| names.map(|name| folder.join(name))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_stand_in_the_order_of_each_routine() {
        assert_eq!(CusparseRoutine::GTSV2.integers(100, 3), [100, 3, 100]);
        assert_eq!(CusparseRoutine::GTSV_BATCH.integers(100, 3), [1, 100, 3]);
        assert_eq!(CusparseRoutine::GPSV_BATCH.integers(7, 2), [0, 7, 2]);
    }
}
