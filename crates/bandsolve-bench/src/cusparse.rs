//! Calls of the solvers of cuSPARSE. The library is opened at run time, like the other [`peers`](crate::peers).
//!
//! | routine | solves | pivots |
//! | --- | --- | --- |
//! | `gtsv2` | a tridiagonal system | 1 × 1 and 2 × 2 |
//! | `gtsv2_nopivot` | a tridiagonal system, by cyclic reduction | none |
//! | `gtsvInterleavedBatch` | interleaved tridiagonal batches, by Thomas or LU | none, or partial |
//! | `gpsvInterleavedBatch` | interleaved pentadiagonal batches, by QR | none needed |
//!
//! Array entries outside the matrix must be zero.

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

/// A function of cuSPARSE. Its last argument is the buffer, or a pointer to the required size of the buffer.
#[derive(Debug, Clone, Copy)]
enum Function<Last> {
    Three(Three<Last>),
    Five(Five<Last>),
}

impl<Last> Function<Last> {
    /// Call the function. `arrays` are the diagonals and x.
    ///
    /// # Safety
    /// The numbers and the arrays must be valid for the function.
    unsafe fn call(&self, handle: Handle, [a, b, c]: [c_int; 3], arrays: &[u64], last: Last) -> c_int {
        // SAFETY: the caller guarantees valid arguments.
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
    /// The name in tables.
    pub name: &'static str,
    /// The end of the symbol's name.
    symbol: &'static str,
    diagonals: usize,
    /// The algorithm, for interleaved batches.
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

    /// The three integer arguments: rows, right-hand sides and rows again, or algorithm, rows and systems.
    fn integers(&self, n: usize, count: usize) -> [c_int; 3] {
        let [n, count] = [n, count].map(|v| c_int::try_from(v).expect("less than 2^31 rows"));
        self.algorithm.map_or([n, count, n], |algorithm| [algorithm, n, count])
    }
}

/// The cuSPARSE library, with a handle for the current context. It works on the default stream.
#[derive(Debug)]
pub struct Cusparse {
    /// The path of the library.
    pub path: PathBuf,
    library: Library,
    handle: Handle,
}

impl Cusparse {
    /// Open the library for the device that this thread opened last.
    pub fn open() -> Option<Self> {
        let (path, library) = candidates().into_iter().find_map(|path| {
            // SAFETY: when opened, the library only sets up its own tables.
            Some((path.clone(), unsafe { Library::new(&path) }.ok()?))
        })?;
        let mut handle = null_mut();
        // SAFETY: the signature is as documented.
        let status = unsafe {
            let create = library.get::<unsafe extern "C" fn(*mut Handle) -> c_int>(b"cusparseCreate").ok()?;
            create(&mut handle)
        };
        (status == 0).then_some(Self { path, library, handle })
    }

    /// A routine with its buffer for `count` systems, or right-hand sides, of n rows. For `arrays`, see
    /// [`solve`](CusparseSolver::solve). `None` if the library does not have the routine.
    ///
    /// # Errors
    /// [`Error::Device`].
    ///
    /// # Panics
    /// If the arrays have wrong lengths.
    pub fn solver<T: PeerScalar>(
        &self,
        routine: CusparseRoutine,
        device: &Device,
        [n, count]: [usize; 2],
        arrays: &[DeviceVec<T>],
    ) -> Result<Option<CusparseSolver<'_, T>>> {
        let letter = if size_of::<T>() == 4 { 'S' } else { 'D' };
        let symbol = format!("cusparse{letter}{}", routine.symbol);
        let size = self.function::<*mut usize>(&format!("{symbol}_bufferSizeExt"), routine);
        let Some((size, function)) = size.zip(self.function::<u64>(&symbol, routine)) else { return Ok(None) };
        let integers = routine.integers(n, count);
        let mut lengths = vec![if routine.algorithm.is_some() { n * count } else { n }; routine.diagonals];
        lengths.push(n * count);
        check_lengths(&lengths, arrays);
        let mut bytes = 0;
        // SAFETY: the arguments match the signature; the function does not read the arrays.
        let status = unsafe { size.call(self.handle, integers, &addresses(arrays), &mut bytes) };
        check(routine, status)?;
        let buffer = device.zeros(bytes)?;
        Ok(Some(CusparseSolver { cusparse: self, routine, function, integers, lengths, buffer, of: PhantomData }))
    }

    fn function<Last>(&self, symbol: &str, routine: CusparseRoutine) -> Option<Function<Last>> {
        // SAFETY: if the symbol exists, it is the function of this name, with the documented signature.
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
        // SAFETY: the signature is the documented one; the handle belongs to this value.
        unsafe {
            if let Ok(destroy) = self.library.get::<unsafe extern "C" fn(Handle) -> c_int>(b"cusparseDestroy") {
                destroy(self.handle);
            }
        }
    }
}

/// A routine with its buffer, for systems of one size.
#[derive(Debug)]
pub struct CusparseSolver<'c, T> {
    cusparse: &'c Cusparse,
    routine: CusparseRoutine,
    function: Function<u64>,
    integers: [c_int; 3],
    /// The required lengths of the arrays.
    lengths: Vec<usize>,
    buffer: DeviceVec<u8>,
    of: PhantomData<T>,
}

impl<T: PeerScalar> CusparseSolver<'_, T> {
    /// Start the solve on the default stream. `arrays` are the diagonals, the lowest first, then the right-hand sides. x overwrites the
    /// right-hand sides. Routines for batches also overwrite the diagonals.
    ///
    /// # Errors
    /// [`Error::Device`].
    ///
    /// # Panics
    /// If the lengths of the arrays differ from those of [`Cusparse::solver`].
    pub fn solve(&self, arrays: &mut [DeviceVec<T>]) -> Result<()> {
        check_lengths(&self.lengths, arrays);
        let buffer = self.buffer.slice(..).address();
        // SAFETY: the arguments match the signature; the arrays have the required lengths and are borrowed mutably.
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

/// Possible paths of the library: the loader's search path, then CUDA's folders.
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
    fn integers_are_in_the_order_of_each_routine() {
        assert_eq!(CusparseRoutine::GTSV2.integers(100, 3), [100, 3, 100]);
        assert_eq!(CusparseRoutine::GTSV_BATCH.integers(100, 3), [1, 100, 3]);
        assert_eq!(CusparseRoutine::GPSV_BATCH.integers(7, 2), [0, 7, 2]);
    }
}
