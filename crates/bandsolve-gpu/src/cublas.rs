//! Batches of dense blocks by cuBLAS, which is loaded at run time.

use crate::context::Entered;
use crate::dense::{BlockFactors, BlockProduct, DenseBatch, ListedBlocks, ProductResult, SpacedBlocks};
use bandsolve::{Error, Result};
use core::ffi::{c_int, c_longlong};
use core::ptr::{null_mut, with_exposed_provenance, with_exposed_provenance_mut};
use cudarc::cublas::sys::{self, cublasHandle_t, cublasOperation_t, cublasStatus_t};
use cudarc::driver::CudaContext;
use std::sync::{Arc, Mutex, PoisonError};

/// A handle of cuBLAS for a context.
pub(crate) struct Cublas {
    context: Arc<CudaContext>,
    /// A call sets the stream of the handle, so only one thread may use it at a time.
    handle: Mutex<CublasHandle>,
}

/// A handle, which is destroyed on drop.
struct CublasHandle(cublasHandle_t);

// SAFETY: any thread may use a handle of cuBLAS while its context is current, one thread at a time.
unsafe impl Send for CublasHandle {}

impl Drop for Cublas {
    fn drop(&mut self) {
        if let Ok(_entered) = Entered::new(&self.context) {
            let handle = self.handle.get_mut().unwrap_or_else(PoisonError::into_inner);
            // SAFETY: `open` created the handle, and no calls follow. Errors can no longer be reported.
            _ = unsafe { sys::cublasDestroy_v2(handle.0) };
        }
    }
}

fn check(call: &'static str, status: cublasStatus_t) -> Result<()> {
    status.result().map_err(|error| Error::Device { call, message: error.to_string() })
}

/// Check that cuBLAS exists. Without it, calls of cuBLAS would panic.
///
/// # Errors
/// [`Error::Device`].
fn library_is_present() -> Result<()> {
    // SAFETY: the call only looks for the library.
    if unsafe { sys::is_culib_present() } {
        return Ok(());
    }
    let message = "cuBLAS (libcublas.so, cublas64.dll), which multiplies and factors dense blocks, was not found; install CUDA 12 or later, or let the loader find its libraries (LD_LIBRARY_PATH, PATH)";
    Err(Error::Device { call: "loading cuBLAS", message: message.into() })
}

impl Cublas {
    /// Create a handle.
    ///
    /// # Errors
    /// [`Error::Device`], also if cuBLAS is not installed.
    pub fn open(context: &Arc<CudaContext>) -> Result<Self> {
        library_is_present()?;
        let _entered = Entered::new(context)?;
        let mut handle = null_mut();
        // SAFETY: cuBLAS writes a handle.
        check("cublasCreate", unsafe { sys::cublasCreate_v2(&raw mut handle) })?;
        Ok(Self { context: context.clone(), handle: Mutex::new(CublasHandle(handle)) })
    }

    /// Call `work` with the handle, whose calls follow the order of a stream.
    fn on_stream(
        &self,
        stream: u64,
        call: &'static str,
        work: impl FnOnce(cublasHandle_t) -> cublasStatus_t,
    ) -> Result<()> {
        let _entered = Entered::new(&self.context)?;
        let handle = self.handle.lock().unwrap_or_else(PoisonError::into_inner);
        let stream = with_exposed_provenance_mut(stream as usize);
        // SAFETY: the stream belongs to the context of the handle.
        check("cublasSetStream", unsafe { sys::cublasSetStream_v2(handle.0, stream) })?;
        check(call, work(handle.0))
    }
}

fn op(transposed: bool) -> cublasOperation_t {
    if transposed { cublasOperation_t::CUBLAS_OP_T } else { cublasOperation_t::CUBLAS_OP_N }
}

/// A size as cuBLAS takes it.
fn size(number: usize) -> Result<c_int> {
    c_int::try_from(number)
        .map_err(|_| Error::Unsupported { method: "bcyclic", what: "systems of 2³¹ rows or more on a GPU" })
}

/// A number type of cuBLAS, with its functions.
trait CublasNumber: Copy {
    const PRODUCT: Gemm<Self>;
    const FACTOR: Getrf<Self>;
    const SOLVE: Getrs<Self>;
    fn of(real: f32) -> Self;
}

/// `cublas<t>gemmStridedBatched`: C ← alpha·op(A)·op(B) + beta·C.
type Gemm<N> = unsafe fn(
    cublasHandle_t,
    cublasOperation_t,
    cublasOperation_t,
    c_int,
    c_int,
    c_int,
    *const N,
    *const N,
    c_int,
    c_longlong,
    *const N,
    c_int,
    c_longlong,
    *const N,
    *mut N,
    c_int,
    c_longlong,
    c_int,
) -> cublasStatus_t;
/// `cublas<t>getrfBatched`: P·A = L·U.
type Getrf<N> = unsafe fn(cublasHandle_t, c_int, *const *mut N, c_int, *mut c_int, *mut c_int, c_int) -> cublasStatus_t;
/// `cublas<t>getrsBatched`: B ← op(A)⁻¹·B.
type Getrs<N> = unsafe fn(
    cublasHandle_t,
    cublasOperation_t,
    c_int,
    c_int,
    *const *const N,
    c_int,
    *const c_int,
    *const *mut N,
    c_int,
    *mut c_int,
    c_int,
) -> cublasStatus_t;

macro_rules! number {
    ($($t:ty: $product:ident $factor:ident $solve:ident, |$x:ident| $of:expr;)*) => {$(
        impl CublasNumber for $t {
            const PRODUCT: Gemm<Self> = sys::$product;
            const FACTOR: Getrf<Self> = sys::$factor;
            const SOLVE: Getrs<Self> = sys::$solve;
            fn of($x: f32) -> Self {
                $of
            }
        }
    )*};
}
number! {
    f32: cublasSgemmStridedBatched cublasSgetrfBatched cublasSgetrsBatched, |x| x;
    f64: cublasDgemmStridedBatched cublasDgetrfBatched cublasDgetrsBatched, |x| x.into();
    sys::float2: cublasCgemmStridedBatched cublasCgetrfBatched cublasCgetrsBatched, |x| Self { x, y: 0.0 };
    sys::double2: cublasZgemmStridedBatched cublasZgetrfBatched cublasZgetrsBatched, |x| Self { x: x.into(), y: 0.0 };
}

/// Call a function of [`Cublas`] for the number type with this name.
macro_rules! by_name {
    ($number:expr, $cublas:ident.$function:ident($($argument:expr),*)) => {
        match $number {
            "f32" => $cublas.$function::<f32>($($argument),*),
            "f64" => $cublas.$function::<f64>($($argument),*),
            "c32" => $cublas.$function::<sys::float2>($($argument),*),
            _ => $cublas.$function::<sys::double2>($($argument),*),
        }
    };
}

/// The columns of blocks in the form that cuBLAS takes: the first block, and the distances of columns and blocks.
fn spaced<N>(blocks: &SpacedBlocks) -> Result<(*mut N, c_int, c_longlong)> {
    Ok((with_exposed_provenance_mut(blocks.first as usize), size(blocks.leading as usize)?, blocks.step as c_longlong))
}

impl Cublas {
    unsafe fn product_of<N: CublasNumber>(&self, stream: u64, product: &BlockProduct) -> Result<()> {
        let [block, columns, count] = [product.block, product.columns, product.count].map(size);
        let (block, columns, count) = (block?, columns?, count?);
        let ((a, lda, step_a), (b, ldb, step_b)) = (spaced::<N>(&product.a)?, spaced::<N>(&product.b)?);
        let (c, ldc, step_c) = spaced::<N>(&product.c)?;
        let (alpha, beta) = match product.result {
            ProductResult::Replace => (N::of(1.0), N::of(0.0)),
            ProductResult::Negate => (N::of(-1.0), N::of(0.0)),
            ProductResult::Subtract => (N::of(-1.0), N::of(1.0)),
        };
        let ops = [op(product.transposed), op(false)];
        // SAFETY: the caller's promise. cuBLAS reads the factors before it returns.
        self.on_stream(stream, "cublasgemmStridedBatched", |handle| unsafe {
            N::PRODUCT(
                handle,
                ops[0],
                ops[1],
                block,
                columns,
                block,
                &raw const alpha,
                a,
                lda,
                step_a,
                b,
                ldb,
                step_b,
                &raw const beta,
                c,
                ldc,
                step_c,
                count,
            )
        })
    }

    unsafe fn factor_of<N: CublasNumber>(&self, stream: u64, factors: &BlockFactors) -> Result<()> {
        let (n, count, leading) =
            (size(factors.block)?, size(factors.count)?, size(factors.blocks.blocks.leading as usize)?);
        let list = with_exposed_provenance(factors.blocks.list as usize);
        let [exchanges, status] =
            [factors.exchanges, factors.status].map(|address| with_exposed_provenance_mut(address as usize));
        // SAFETY: the caller's promise.
        self.on_stream(stream, "cublasgetrfBatched", |handle| unsafe {
            N::FACTOR(handle, n, list, leading, exchanges, status, count)
        })
    }

    unsafe fn solve_of<N: CublasNumber>(
        &self,
        stream: u64,
        factors: &BlockFactors,
        transposed: bool,
        (rhs, columns): (ListedBlocks, usize),
    ) -> Result<()> {
        let (n, count, columns) = (size(factors.block)?, size(factors.count)?, size(columns)?);
        let [lda, ldb] = [factors.blocks, rhs].map(|listed| size(listed.blocks.leading as usize));
        let (lda, ldb) = (lda?, ldb?);
        let a = with_exposed_provenance(factors.blocks.list as usize);
        let (exchanges, b) =
            (with_exposed_provenance(factors.exchanges as usize), with_exposed_provenance(rhs.list as usize));
        let mut invalid = 0;
        // SAFETY: the caller's promise. cuBLAS writes `invalid` before it returns.
        self.on_stream(stream, "cublasgetrsBatched", |handle| unsafe {
            N::SOLVE(handle, op(transposed), n, columns, a, lda, exchanges, b, ldb, &raw mut invalid, count)
        })
    }
}

impl DenseBatch for Cublas {
    unsafe fn product(&self, stream: u64, number: &'static str, product: &BlockProduct) -> Result<()> {
        // SAFETY: here and below, the caller's promise.
        unsafe { by_name!(number, self.product_of(stream, product)) }
    }

    unsafe fn factor(&self, stream: u64, number: &'static str, factors: &BlockFactors) -> Result<()> {
        // SAFETY: see above.
        unsafe { by_name!(number, self.factor_of(stream, factors)) }
    }

    unsafe fn solve(
        &self,
        stream: u64,
        number: &'static str,
        factors: &BlockFactors,
        transposed: bool,
        rhs: (ListedBlocks, usize),
    ) -> Result<()> {
        // SAFETY: see above.
        unsafe { by_name!(number, self.solve_of(stream, factors, transposed, rhs)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_library_is_named() {
        // SAFETY: the call only looks for the library.
        if unsafe { sys::is_culib_present() } {
            return bandsolve_testkit::skipped("cuBLAS is installed");
        }
        let message = library_is_present().unwrap_err().to_string();
        assert!(message.contains("libcublas") && message.contains("install CUDA 12 or later"), "{message}");
    }

    #[test]
    fn sizes_beyond_the_integers_of_cublas_are_refused() {
        let blocks = SpacedBlocks { first: 0, step: 1, leading: 1 << 31 };
        assert!(matches!(spaced::<f64>(&blocks), Err(Error::Unsupported { .. })));
        assert_eq!(size(i32::MAX as usize), Ok(i32::MAX));
    }
}
