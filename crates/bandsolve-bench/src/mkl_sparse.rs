//! Calls of the sparse matrix-vector product of Intel MKL. The library is opened at run time.

use crate::peers::{mkl_library, set_mkl_threads};
use bandsolve_sparse::Csr;
use libloading::Library;
use std::ffi::{c_int, c_void};
use std::ptr;

/// `matrix_descr`: the type, and two fields without meaning for general matrices.
#[repr(C)]
#[derive(Clone, Copy)]
struct Description(c_int, c_int, c_int);

const GENERAL: Description = Description(20, 0, 0);
const PLAIN: c_int = 10;
/// The expected number of calls, as a hint for MKL.
const CALLS: c_int = 1000;

type Create = unsafe extern "C" fn(
    *mut *mut c_void,
    c_int,
    c_int,
    c_int,
    *const u32,
    *const u32,
    *const u32,
    *const f64,
) -> c_int;
type Multiply = unsafe extern "C" fn(c_int, f64, *mut c_void, Description, *const f64, f64, *mut f64) -> c_int;
type Hint = unsafe extern "C" fn(*mut c_void, c_int, Description, c_int) -> c_int;
type OfHandle = unsafe extern "C" fn(*mut c_void) -> c_int;

/// The MKL library.
pub struct MklSparse {
    library: Library,
}

/// A matrix in MKL.
pub struct MklMatrix<'a> {
    mkl: &'a MklSparse,
    handle: *mut c_void,
    size: [usize; 2],
    multiply: Multiply,
    // MKL reads these arrays during each product.
    _arrays: &'a Csr<'a, f64, u32>,
}

impl MklSparse {
    /// Open MKL, if it is installed.
    pub fn open() -> Option<Self> {
        mkl_library().map(|library| Self { library })
    }

    /// Set the number of threads of MKL.
    pub fn use_threads(&self, threads: usize) {
        set_mkl_threads(&self.library, threads);
    }

    /// Create a matrix. If `optimized`, MKL prepares it for many products. `None` if MKL does not support the matrix.
    pub fn matrix<'a>(&'a self, a: &'a Csr<'a, f64, u32>, optimized: bool) -> Option<MklMatrix<'a>> {
        let (pointers, columns, values) = a.parts();
        let [rows, width] = [a.rows(), a.columns()].map(|size| c_int::try_from(size).ok());
        c_int::try_from(a.entries()).ok()?;
        let mut handle = ptr::null_mut();
        let [starts, ends] = [pointers.as_ptr(), pointers.as_ptr().wrapping_add(1)];
        // SAFETY: the symbols have these signatures by their documentation; the arrays are those of a matrix of this size, whose
        // indices fit in 31 bits, and they are borrowed for as long as the handle lives.
        unsafe {
            let create = self.library.get::<Create>(b"mkl_sparse_d_create_csr").ok()?;
            let multiply = *self.library.get::<Multiply>(b"mkl_sparse_d_mv").ok()?;
            let created = create(&mut handle, 0, rows?, width?, starts, ends, columns.as_ptr(), values.as_ptr());
            let matrix = MklMatrix { mkl: self, handle, size: [a.rows(), a.columns()], multiply, _arrays: a };
            if optimized {
                self.library.get::<Hint>(b"mkl_sparse_set_mv_hint").ok()?(handle, PLAIN, GENERAL, CALLS);
                self.library.get::<OfHandle>(b"mkl_sparse_optimize").ok()?(handle);
            }
            (created == 0).then_some(matrix)
        }
    }
}

impl MklMatrix<'_> {
    /// Compute y = A·x.
    ///
    /// # Errors
    /// MKL's status, if it is not 0.
    ///
    /// # Panics
    /// If the lengths of the vectors do not match the matrix.
    pub fn multiply(&self, x: &[f64], y: &mut [f64]) -> Result<(), c_int> {
        assert_eq!([y.len(), x.len()], self.size, "vectors of the matrix");
        // SAFETY: `create` made the handle, and the lengths of the vectors match the matrix.
        let status = unsafe { (self.multiply)(PLAIN, 1.0, self.handle, GENERAL, x.as_ptr(), 0.0, y.as_mut_ptr()) };
        if status == 0 { Ok(()) } else { Err(status) }
    }
}

impl Drop for MklMatrix<'_> {
    fn drop(&mut self) {
        // SAFETY: the symbol has this signature by its documentation; nothing uses the handle afterwards.
        unsafe {
            if let Ok(destroy) = self.mkl.library.get::<OfHandle>(b"mkl_sparse_destroy") {
                destroy(self.handle);
            }
        }
    }
}
