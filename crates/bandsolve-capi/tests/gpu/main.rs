//! The functions for device memory: the same bits as the Rust solvers, and errors for misuse.
//!
//! The device is the emulated one, or the one that `BANDSOLVE_TEST_DEVICE` names, such as `cuda`.

#[path = "../common/mod.rs"]
mod common;
mod enqueue;

use bandsolve::{Complex32, Complex64, Plan, RealScalar, Scalar, Shape};
use bandsolve_capi::*;
use bandsolve_gallery::{Random, random_vec};
use bandsolve_gpu::{Device, DeviceCsc, DeviceCscMut, DeviceMatrix, DeviceScalar, DeviceSolver, DeviceVec};
use common::Family::{Banded, Blocks, Tridiagonal};
use common::*;
use core::ffi::{CStr, c_void};
use core::ptr::{null, null_mut, with_exposed_provenance_mut};
use std::ffi::CString;

type Handle = bandsolve_gpu_device_t;
type Stream = *mut c_void;
type Buffer = *mut c_void;

type Size = unsafe extern "C" fn(Handle, i32, i64, i64, *mut usize) -> Status;
type BlockSize = unsafe extern "C" fn(Handle, i32, i64, i64, i64, *mut usize) -> Status;
type BandSize = unsafe extern "C" fn(Handle, i32, i64, i64, i64, i64, *mut usize) -> Status;
type Solve<T> = unsafe extern "C" fn(
    Handle,
    Stream,
    i32,
    i64,
    i64,
    *const T,
    *const T,
    *const T,
    *mut T,
    *const T,
    Buffer,
) -> Status;
type BlockSolve<T> = unsafe extern "C" fn(
    Handle,
    Stream,
    i32,
    i64,
    i64,
    i64,
    *const T,
    *const T,
    *const T,
    *mut T,
    *const T,
    Buffer,
) -> Status;
type BandSolve<T> =
    unsafe extern "C" fn(Handle, Stream, i32, i64, i64, i64, i64, *const T, *mut T, *const T, Buffer) -> Status;
type Factor<T> =
    unsafe extern "C" fn(Handle, Stream, i32, i64, i64, *const T, *const T, *const T, *mut c_void) -> Status;
type Destroy = unsafe extern "C" fn(Handle, *mut c_void) -> Status;
type FactoredSolve<T> = unsafe extern "C" fn(
    Handle,
    Stream,
    i32,
    i64,
    i64,
    i64,
    *const T,
    *const T,
    *const T,
    *mut T,
    *const T,
    *const c_void,
    Buffer,
) -> Status;
type ToDense<T> = unsafe extern "C" fn(
    Handle,
    Stream,
    i32,
    i64,
    i64,
    *const T,
    *const T,
    *const T,
    *mut T,
    *const T,
    *const i32,
    *const i32,
    i64,
    Buffer,
) -> Status;
type ToSparse<T> = unsafe extern "C" fn(
    Handle,
    i32,
    i64,
    *const T,
    *const T,
    *const T,
    *const T,
    *const i32,
    *const i32,
    i64,
    i64,
    *mut T,
    *mut i32,
    *const i32,
    i64,
) -> Status;

/// The functions of one number type. Pairs are for open and cyclic systems.
struct Functions<T> {
    gtsv: [(Size, Solve<T>); 2],
    bgtsv: [(BlockSize, BlockSolve<T>); 2],
    gbsv: (BandSize, BandSolve<T>),
    bgtf: (Size, Factor<T>, Destroy),
    bgtrfs: (BlockSize, FactoredSolve<T>),
    to_dense: (Size, ToDense<T>),
    to_sparse: ToSparse<T>,
}

trait OnGpu: Api + DeviceScalar {
    const ON_GPU: Functions<Self>;
}

macro_rules! on_gpu {
    ($t:ty: $gtsv_size:ident $gtsv:ident $cgtsv_size:ident $cgtsv:ident $bgtsv_size:ident $bgtsv:ident
        $cbgtsv_size:ident $cbgtsv:ident $gbsv_size:ident $gbsv:ident $storage:ident $bgtf:ident $destroy:ident
        $bgtrfs_size:ident $bgtrfs:ident $to_dense_size:ident $to_dense:ident $to_sparse:ident) => {
        impl OnGpu for $t {
            const ON_GPU: Functions<$t> = Functions {
                gtsv: [($gtsv_size, $gtsv), ($cgtsv_size, $cgtsv)],
                bgtsv: [($bgtsv_size, $bgtsv), ($cbgtsv_size, $cbgtsv)],
                gbsv: ($gbsv_size, $gbsv),
                bgtf: ($storage, $bgtf, $destroy),
                bgtrfs: ($bgtrfs_size, $bgtrfs),
                to_dense: ($to_dense_size, $to_dense),
                to_sparse: $to_sparse,
            };
        }
    };
}
on_gpu!(f32: bandsolveGpuSgtsv_bufferSizeExt bandsolveGpuSgtsv bandsolveGpuScgtsv_bufferSizeExt bandsolveGpuScgtsv
    bandsolveGpuSbgtsv_bufferSizeExt bandsolveGpuSbgtsv bandsolveGpuScbgtsv_bufferSizeExt bandsolveGpuScbgtsv
    bandsolveGpuSgbsv_bufferSizeExt bandsolveGpuSgbsv bandsolveGpuSbgtf_factorizationBufferSizeExt bandsolveGpuSbgtf
    bandsolveGpuSbgtf_destroy bandsolveGpuSbgtrfs_bufferSizeExt bandsolveGpuSbgtrfs
    bandsolveGpuSgtsv_csc2dense_bufferSizeExt bandsolveGpuSgtsv_csc2dense bandsolveGpuSgtsv_csc2csc);
on_gpu!(f64: bandsolveGpuDgtsv_bufferSizeExt bandsolveGpuDgtsv bandsolveGpuDcgtsv_bufferSizeExt bandsolveGpuDcgtsv
    bandsolveGpuDbgtsv_bufferSizeExt bandsolveGpuDbgtsv bandsolveGpuDcbgtsv_bufferSizeExt bandsolveGpuDcbgtsv
    bandsolveGpuDgbsv_bufferSizeExt bandsolveGpuDgbsv bandsolveGpuDbgtf_factorizationBufferSizeExt bandsolveGpuDbgtf
    bandsolveGpuDbgtf_destroy bandsolveGpuDbgtrfs_bufferSizeExt bandsolveGpuDbgtrfs
    bandsolveGpuDgtsv_csc2dense_bufferSizeExt bandsolveGpuDgtsv_csc2dense bandsolveGpuDgtsv_csc2csc);
on_gpu!(Complex32: bandsolveGpuCgtsv_bufferSizeExt bandsolveGpuCgtsv bandsolveGpuCcgtsv_bufferSizeExt bandsolveGpuCcgtsv
    bandsolveGpuCbgtsv_bufferSizeExt bandsolveGpuCbgtsv bandsolveGpuCcbgtsv_bufferSizeExt bandsolveGpuCcbgtsv
    bandsolveGpuCgbsv_bufferSizeExt bandsolveGpuCgbsv bandsolveGpuCbgtf_factorizationBufferSizeExt bandsolveGpuCbgtf
    bandsolveGpuCbgtf_destroy bandsolveGpuCbgtrfs_bufferSizeExt bandsolveGpuCbgtrfs
    bandsolveGpuCgtsv_csc2dense_bufferSizeExt bandsolveGpuCgtsv_csc2dense bandsolveGpuCgtsv_csc2csc);
on_gpu!(Complex64: bandsolveGpuZgtsv_bufferSizeExt bandsolveGpuZgtsv bandsolveGpuZcgtsv_bufferSizeExt bandsolveGpuZcgtsv
    bandsolveGpuZbgtsv_bufferSizeExt bandsolveGpuZbgtsv bandsolveGpuZcbgtsv_bufferSizeExt bandsolveGpuZcbgtsv
    bandsolveGpuZgbsv_bufferSizeExt bandsolveGpuZgbsv bandsolveGpuZbgtf_factorizationBufferSizeExt bandsolveGpuZbgtf
    bandsolveGpuZbgtf_destroy bandsolveGpuZbgtrfs_bufferSizeExt bandsolveGpuZbgtrfs
    bandsolveGpuZgtsv_csc2dense_bufferSizeExt bandsolveGpuZgtsv_csc2dense bandsolveGpuZgtsv_csc2csc);

const P: i32 = 3;
const OK: Status = Status::BANDSOLVE_SUCCESS;
const INVALID: Status = Status::BANDSOLVE_INVALID_ARGUMENT;
const UNSUPPORTED: Status = Status::BANDSOLVE_UNSUPPORTED;

fn expect(status: Status, expected: Status, words: &[&str]) {
    let message = message();
    assert_eq!(status, expected, "{message}");
    assert!(words.iter().all(|word| message.contains(word)), "{message}, expected {words:?}");
}

fn open_device(name: &CStr) -> (Status, Handle) {
    let mut handle = null_mut();
    // SAFETY: a string that ends with a zero, and a handle to be written.
    let status = unsafe { bandsolveGpuOpen(name.as_ptr(), &mut handle) };
    (status, handle)
}

/// The name of the device to test.
fn device_name() -> String {
    bandsolve_testkit::named_device().unwrap_or_else(|| "emulated".into())
}

/// A device, as a handle of C and as a device of Rust.
struct Opened {
    handle: Handle,
    device: Device,
}

// SAFETY: a device may be used from any thread.
unsafe impl Sync for Opened {}

impl Opened {
    fn new() -> Self {
        Self::named(&device_name())
    }

    fn named(name: &str) -> Self {
        let (status, handle) = open_device(&CString::new(name).unwrap());
        expect(status, OK, &[]);
        Self { handle, device: Device::open(name).unwrap() }
    }

    fn upload<T: bytemuck::Pod>(&self, values: &[T]) -> DeviceVec<T> {
        self.device.upload(values).unwrap()
    }

    /// Zeros that are there before a function of the library, which has another stream, writes the array.
    fn zeros<T: bytemuck::Pod>(&self, n: usize) -> DeviceVec<T> {
        let zeros = self.device.zeros(n).unwrap();
        self.device.synchronize().unwrap();
        zeros
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        // SAFETY: nobody uses it any more.
        assert_eq!(unsafe { bandsolveGpuClose(self.handle) }, OK);
    }
}

/// Convert a device array to a pointer of C.
fn pointer<T: bytemuck::Pod>(array: &DeviceVec<T>) -> *mut T {
    with_exposed_provenance_mut(array.slice(..).address() as usize)
}

/// A system in the memory of a device.
struct There<'a, T: Scalar> {
    on: &'a Opened,
    family: Family,
    n: usize,
    n_rhs: usize,
    /// For a banded matrix, the first array contains the bands.
    matrix: [DeviceVec<T>; 3],
    rhs: DeviceVec<T>,
}

impl<'a, T: OnGpu> There<'a, T> {
    fn new(on: &'a Opened, system: &System<T>) -> Self {
        let System { family, n, n_rhs, .. } = *system;
        let (matrix, rhs) = (system.matrix.each_ref().map(|array| on.upload(array)), on.upload(&system.rhs));
        Self { on, family, n, n_rhs, matrix, rhs }
    }

    fn random(on: &'a Opened, family: Family, n: usize, n_rhs: usize) -> Self {
        Self::new(on, &System::random(family, n, n_rhs))
    }

    fn pointers(&self) -> [*const T; 3] {
        self.matrix.each_ref().map(|array| pointer(array).cast_const())
    }

    fn shape(&self) -> Shape {
        let n = self.n;
        match self.family {
            Tridiagonal { cyclic } => Shape::Tridiagonal { n, periodic: cyclic },
            Blocks { block, cyclic } => {
                Shape::BlockTridiagonal { block_rows: n, block: block as usize, periodic: cyclic }
            }
            Banded { lower, upper } => Shape::Banded { n, lower: lower as usize, upper: upper as usize },
        }
    }

    fn as_rust(&self) -> DeviceMatrix<'_, T> {
        let [sub, diag, sup] = &self.matrix;
        match self.family {
            Banded { .. } => DeviceMatrix::diagonals(sub),
            _ => DeviceMatrix::tridiagonal(sub, diag, sup),
        }
    }

    fn solver(&self, n_rhs: usize) -> DeviceSolver<T> {
        DeviceSolver::new(&self.on.device, &Plan::new(self.shape()), n_rhs).unwrap()
    }

    /// Call the function.
    ///
    /// # Safety
    /// As the C function.
    unsafe fn call(
        &self,
        handle: Handle,
        CallSizes { p, n, n_rhs }: CallSizes,
        [sub, diag, sup]: [*const T; 3],
        (x, rhs): (*mut T, *const T),
    ) -> Status {
        let (f, stream, buffer) = (T::ON_GPU, null_mut(), null_mut());
        // SAFETY: the caller's.
        unsafe {
            match self.family {
                Tridiagonal { cyclic } => {
                    f.gtsv[usize::from(cyclic)].1(handle, stream, p, n, n_rhs, sub, diag, sup, x, rhs, buffer)
                }
                Blocks { block, cyclic } => {
                    let solve = f.bgtsv[usize::from(cyclic)].1;
                    solve(handle, stream, p, n, n_rhs, block, sub, diag, sup, x, rhs, buffer)
                }
                Banded { lower, upper } => f.gbsv.1(handle, stream, p, n, n_rhs, lower, upper, sub, x, rhs, buffer),
            }
        }
    }

    /// Call the `_bufferSizeExt` function.
    fn size(&self, handle: Handle, CallSizes { p, n, n_rhs }: CallSizes, out: *mut usize) -> Status {
        let f = T::ON_GPU;
        // SAFETY: `out` is null or may be written.
        unsafe {
            match self.family {
                Tridiagonal { cyclic } => f.gtsv[usize::from(cyclic)].0(handle, p, n, n_rhs, out),
                Blocks { block, cyclic } => f.bgtsv[usize::from(cyclic)].0(handle, p, n, n_rhs, block, out),
                Banded { lower, upper } => f.gbsv.0(handle, p, n, n_rhs, lower, upper, out),
            }
        }
    }

    /// Solve with the arrays of the system, and return x.
    fn solve(&self, p: i32, in_place: bool) -> (Status, Vec<T>) {
        let x = if in_place { self.on.upload(&self.rhs.download().unwrap()) } else { self.on.upload(&self.nothing()) };
        let rhs = pointer(if in_place { &x } else { &self.rhs }).cast_const();
        let sizes = CallSizes::new(p, self.n as i64, self.n_rhs as i64);
        // SAFETY: arrays of the sizes that go with them.
        let status = unsafe { self.call(self.on.handle, sizes, self.pointers(), (pointer(&x), rhs)) };
        (status, x.download().unwrap())
    }

    fn nothing(&self) -> Vec<T> {
        vec![T::ZERO; self.rhs.len()]
    }
}

/// Every function once, also with sizes that [`FAMILIES`] does not have.
fn families() -> Vec<Family> {
    let blocks = [(1, false), (4, true), (6, true)].map(|(block, cyclic)| Blocks { block, cyclic });
    let bands = [(0, 0), (1, 4), (3, 0)].map(|(lower, upper)| Banded { lower, upper });
    [&FAMILIES[..], &blocks, &bands].concat()
}

fn same_as_the_rust_solver<T: OnGpu>() {
    let on = Opened::new();
    for (family, (n, n_rhs)) in families().into_iter().flat_map(|f| [(1, 1), (9, 3), (1500, 1)].map(|s| (f, s))) {
        let there = There::<T>::random(&on, family, n, n_rhs);
        let mut x = on.zeros(there.rhs.len());
        let expected = there.solver(n_rhs).solve(there.as_rust(), &there.rhs, &mut x).unwrap();
        let x = x.download().unwrap();
        // Again with the kept solver.
        for in_place in [false, true, false] {
            let (status, found) = there.solve(P, in_place);
            expect(status, OK, &[]);
            assert!(found == x, "{family:?}, n = {n}, in place: {in_place}");
            let (report, method) = report();
            assert_eq!((report.backward_error, report.fallback), (expected.backward_error, 0));
            assert_eq!(method, expected.method.name());
        }
    }
}

/// All settings, and more kinds of systems in turn than the library keeps solvers for.
fn settings_count<T: OnGpu>() {
    let on = Opened::new();
    let there = There::<T>::random(&on, Tridiagonal { cyclic: true }, 200, 2);
    for (p, method) in (0..4).flat_map(|p| [c"auto", c"spike-thomas", c"spike-diagonal-pivoting"].map(|m| (p, m))) {
        expect(set_method(method), OK, &[]);
        expect(there.solve(p, false).0, OK, &[]);
        let used = report();
        assert_eq!(used.1, if method == c"auto" { "rpts" } else { method.to_str().unwrap() });
        assert!(used.0.backward_error <= 64.0 * T::Real::EPSILON.to_f64());
    }
    expect(set_method(c"pivoted"), OK, &[]);
    expect(there.solve(P, false).0, UNSUPPORTED, &["pivoted", "GPU"]);
    expect(set_method(c"auto"), OK, &[]);
    let large = There::<T>::random(&on, Blocks { block: 5, cyclic: true }, 20, 2);
    expect(large.solve(P, false).0, OK, &[]);
    assert_eq!(report().1, "bcyclic");
    expect(bandsolveSetVerify(0), OK, &[]);
    expect(there.solve(P, true).0, OK, &[]);
    assert!(report().0.backward_error.is_nan());
    expect(bandsolveSetVerify(1), OK, &[]);
    expect(there.solve(P, true).0, OK, &[]);
    assert!(report().0.backward_error.is_finite());
}

fn misuse_is_told<T: OnGpu>() {
    let on = Opened::new();
    for family in FAMILIES {
        let there = There::<T>::random(&on, family, 5, 2);
        let x = on.upload(&there.nothing());
        let (out, rhs, matrix) = (pointer(&x), pointer(&there.rhs).cast_const(), there.pointers());
        let names = if matches!(family, Banded { .. }) { &["bands"][..] } else { &["sub", "diag", "sup"] };
        let sizes = CallSizes::new(P, 5, 2);
        // SAFETY: the functions refuse wrong arguments before they read a pointer; all else is as it should be.
        unsafe {
            for (k, name) in names.iter().enumerate() {
                let mut wrong = matrix;
                wrong[k] = null();
                expect(there.call(on.handle, sizes, wrong, (out, rhs)), INVALID, &[name, "null"]);
            }
            expect(there.call(null_mut(), sizes, matrix, (out, rhs)), INVALID, &["device is null"]);
            expect(there.call(on.handle, sizes, matrix, (null_mut(), rhs)), INVALID, &["x is null"]);
            expect(there.call(on.handle, sizes, matrix, (out, null())), INVALID, &["rhs is null"]);
            expect(there.call(on.handle, sizes, matrix, (out, out.byte_add(1))), INVALID, &["not aligned"]);
            expect(there.call(on.handle, sizes, matrix, (out, out.add(1))), INVALID, &["x overlaps rhs"]);
            expect(there.call(on.handle, sizes, matrix, (matrix[0].cast_mut(), rhs)), INVALID, &["x overlaps"]);
            for ((p, n, n_rhs), word) in [
                ((-1, 5, 2), "p is -1"),
                ((4, 5, 2), "p is 4"),
                ((P, -5, 2), "n is -5"),
                ((P, 5, -2), "n_rhs is -2"),
                ((P, i64::MAX, 2), "more than can be addressed"),
            ] {
                let sizes = CallSizes { p, n, n_rhs };
                expect(there.call(on.handle, sizes, matrix, (out, rhs)), INVALID, &[word]);
                expect(there.size(on.handle, sizes, &mut 0), INVALID, &[word]);
            }
            let none = ([null(); 3], (null_mut(), null()));
            expect(there.call(on.handle, CallSizes::new(P, 0, 2), none.0, none.1), OK, &[]);
            expect(there.call(on.handle, CallSizes::new(P, 5, 0), matrix, none.1), OK, &[]);
            assert_eq!(report().1, "");
        }
        assert_eq!(x.download().unwrap(), there.nothing(), "nothing was written");
        let mut size = 77;
        expect(there.size(on.handle, sizes, &mut size), OK, &[]);
        assert_eq!(size, 0);
        expect(there.size(null_mut(), sizes, &mut size), INVALID, &["device is null"]);
        expect(there.size(on.handle, sizes, null_mut()), INVALID, &["size is null"]);
    }
    let wide = There::<T>::random(&on, Banded { lower: 5, upper: 0 }, 20, 1);
    expect(wide.solve(P, false).0, UNSUPPORTED, &["GPU"]);
}

fn what_cannot_be_solved<T: OnGpu>() {
    let on = Opened::new();
    let nan = T::from_real(T::Real::NAN);
    for family in FAMILIES {
        let system = System::<T>::random(family, 80, 2);
        let mut broken = system.clone();
        let at = broken.rhs.len() - 3;
        broken.rhs[at] = nan;
        let place = format!("rhs[{at}] is not finite");
        expect(There::new(&on, &broken).solve(P, false).0, Status::BANDSOLVE_NOT_FINITE, &[&place]);
        expect(There::new(&on, &broken).solve(P, true).0, Status::BANDSOLVE_NOT_FINITE, &[&place]);
        let mut broken = system.clone();
        let at = broken.matrix[0].len() / 2;
        broken.matrix[0][at] = nan;
        let name = if matches!(family, Banded { .. }) { "bands" } else { "sub" };
        let place = format!("{name}[{at}] is not finite");
        expect(There::new(&on, &broken).solve(P, false).0, Status::BANDSOLVE_NOT_FINITE, &[&place]);
        let mut broken = system.clone();
        broken.matrix.iter_mut().for_each(|array| array.fill(T::ZERO));
        expect(There::new(&on, &broken).solve(P, false).0, Status::BANDSOLVE_SINGULAR, &["row 0"]);
        assert_eq!(report().1, "rpts");
    }
}

fn factored_once_solved_often<T: OnGpu>() {
    let ((storage, factor, destroy), (size, solve)) = (T::ON_GPU.bgtf, T::ON_GPU.bgtrfs);
    let (mut bytes, mut scratch) = (0, 77);
    for (block, n) in [(1, 1200), (2, 0), (2, 5), (3, 400), (4, 90)] {
        let on = Opened::new();
        let there = There::<T>::random(&on, Blocks { block, cyclic: false }, n, 3);
        let (solved, expected) = there.solve(P, false);
        expect(solved, OK, &[]);
        let [sub, diag, sup] = there.pointers();
        let (handle, n, rows, rhs) = (on.handle, n as i64, n * block as usize, pointer(&there.rhs));
        // SAFETY: arrays as long as the sizes say.
        unsafe {
            expect(storage(handle, P, n, block, &mut bytes), OK, &[]);
            expect(size(handle, P, n, 3, block, &mut scratch), OK, &[]);
            assert_eq!(scratch, 0);
            let buffer = on.upload(&vec![0xa5_u8; bytes]);
            let held = pointer(&buffer).cast::<c_void>();
            let sides = |x: *mut T, rhs: *mut T, n_rhs| {
                let stream = null_mut();
                solve(handle, stream, P, n, n_rhs, block, sub, diag, sup, x, rhs, held, null_mut())
            };
            expect(sides(rhs, rhs, 1), Status::BANDSOLVE_INVALID_BUFFER, &["no factors"]);
            // A second factorization with the same buffer frees the factors of the first.
            expect(factor(handle, null_mut(), P, n, block, sub, diag, sup, held), OK, &[]);
            expect(factor(handle, null_mut(), P, n, block, sub, diag, sup, held), OK, &[]);
            for n_rhs in [1, 3, 2] {
                let x = on.zeros::<T>(there.rhs.len());
                expect(sides(pointer(&x), rhs, n_rhs), OK, &[]);
                let own = on.upload(&there.rhs.download().unwrap());
                expect(sides(pointer(&own), pointer(&own), n_rhs), OK, &[]);
                let len = n_rhs as usize * rows;
                assert!(x.download().unwrap()[..len] == expected[..len], "blocks of {block}, n = {n}");
                assert!(own.download().unwrap()[..len] == expected[..len], "blocks of {block}, n = {n}, in place");
            }
            if n > 0 {
                let wrong = solve(handle, null_mut(), P, n, 1, block, sup, diag, sub, rhs, rhs, held, null_mut());
                expect(wrong, INVALID, &["differs from the call of bgtf"]);
                let wrong = solve(handle, null_mut(), 0, n, 1, block, sub, diag, sup, rhs, rhs, held, null_mut());
                expect(wrong, INVALID, &["differs from the call of bgtf"]);
            }
            expect(destroy(null_mut(), held), INVALID, &["device is null"]);
            expect(destroy(handle, held), OK, &[]);
            expect(destroy(handle, held), Status::BANDSOLVE_INVALID_BUFFER, &["no factors"]);
            expect(destroy(handle, null_mut()), OK, &[]);
            let nowhere = factor(handle, null_mut(), P, n, block, sub, diag, sup, null_mut());
            expect(nowhere, INVALID, &["factorization_buffer is null"]);
            // Closing the device frees the factors.
            expect(factor(handle, null_mut(), P, n, block, sub, diag, sup, held), OK, &[]);
        }
    }
}

#[test]
fn factors_of_another_type() {
    let on = Opened::new();
    let (single, double) =
        (System::<f32>::random(FAMILIES[2], 5, 1), There::random(&on, Blocks { block: 2, cyclic: false }, 5, 1));
    let there = There::new(&on, &single);
    let [sub, diag, sup] = there.pointers();
    let [a, b, c] = double.pointers();
    let (rhs, mut buffer) = (pointer(&double.rhs), 0_u8);
    let held = (&raw mut buffer).cast();
    // SAFETY: arrays as long as the sizes say.
    unsafe {
        expect(bandsolveGpuSbgtf(on.handle, null_mut(), P, 5, 2, sub, diag, sup, held), OK, &[]);
        let status =
            bandsolveGpuDbgtrfs(on.handle, null_mut(), P, 5, 1, 2, a, b, c, rhs, rhs, held.cast_const(), null_mut());
        expect(status, Status::BANDSOLVE_INVALID_BUFFER, &["another number type"]);
    }
}

/// Sparse right-hand sides in device memory.
struct Sparse<T> {
    pointers: DeviceVec<i32>,
    rows: DeviceVec<i32>,
    values: DeviceVec<T>,
}

impl<T: OnGpu> Sparse<T> {
    /// Columns with no entry, one entry, and many.
    fn new(on: &Opened, n: usize, columns: usize) -> Self {
        let (mut pointers, mut rows) = (vec![0], Vec::new());
        for j in 0..columns {
            let step = [n, 3, usize::MAX][j % 3];
            rows.extend((j % n..n).step_by(step).map(|row| row as i32).filter(|_| step <= n));
            pointers.push(rows.len() as i32);
        }
        let values = random_vec::<T>(rows.len(), &mut Random::new(n as u64));
        Self { pointers: on.upload(&pointers), rows: on.upload(&rows), values: on.upload(&values) }
    }

    fn csc(&self) -> DeviceCsc<'_, T> {
        DeviceCsc::new(&self.pointers, &self.rows, &self.values).unwrap()
    }
}

fn sparse_right_hand_sides<T: OnGpu>() {
    let on = Opened::new();
    let ((size, to_dense), to_sparse) = (T::ON_GPU.to_dense, T::ON_GPU.to_sparse);
    for (n, columns) in [(1, 1), (40, 7), (2500, 4)] {
        let there = There::<T>::random(&on, Tridiagonal { cyclic: false }, n, columns);
        let sparse = Sparse::<T>::new(&on, n, columns);
        let mut x = on.upload(&there.nothing());
        let expected = there.solver(columns).solve_sparse(there.as_rust(), sparse.csc(), &mut x).unwrap();
        let found = on.upload(&there.nothing());
        let [sub, diag, sup] = there.pointers();
        let (nnz, rows, n_rhs) = (sparse.rows.len() as i64, n as i64, columns as i64);
        let (values, row_indices, col_ptrs) =
            (pointer(&sparse.values), pointer(&sparse.rows), pointer(&sparse.pointers));
        let dense = |x, nnz| {
            // SAFETY: arrays as long as the sizes say, but for what is told.
            unsafe {
                let (handle, stream) = (on.handle, null_mut());
                let rhs = (values, row_indices, col_ptrs);
                to_dense(handle, stream, P, rows, n_rhs, sub, diag, sup, x, rhs.0, rhs.1, rhs.2, nnz, null_mut())
            }
        };
        for _ in 0..2 {
            expect(dense(pointer(&found), nnz), OK, &[]);
            assert_eq!(found.download().unwrap(), x.download().unwrap());
            assert_eq!(report().0.backward_error, expected.backward_error);
        }
        let mut bytes = 77;
        // SAFETY: a number to be written.
        expect(unsafe { size(on.handle, P, rows, n_rhs, &mut bytes) }, OK, &[]);
        assert_eq!(bytes, 0);
        expect(dense(values, nnz), INVALID, &["x overlaps"]);
        expect(dense(null_mut(), nnz), INVALID, &["x is null"]);
        if nnz > 1 {
            expect(dense(pointer(&found), nnz - 1), INVALID, &["rhs_col_ptrs"]);
        }

        let wanted: Vec<i32> = (0..=columns).map(|j| (j * n.min(3)) as i32).collect();
        let (total, result_ptrs) = (wanted[columns] as usize, on.upload(&wanted));
        let (mut result_rows, mut result_values) = (on.zeros::<i32>(total), on.zeros::<T>(total));
        let out = DeviceCscMut::new(&result_ptrs, &mut result_rows, &mut result_values).unwrap();
        there.solver(columns).solve_pruned(there.as_rust(), sparse.csc(), out).unwrap();
        let (own_rows, own_values) = (on.zeros::<i32>(total), on.zeros::<T>(total));
        let pruned = |total| {
            let (rhs, out) = ((values, row_indices, col_ptrs), (pointer(&own_values), pointer(&own_rows)));
            let pointers = pointer(&result_ptrs);
            // SAFETY: as above.
            unsafe {
                let rhs_sizes = (n_rhs, nnz);
                to_sparse(
                    on.handle,
                    P,
                    rows,
                    sub,
                    diag,
                    sup,
                    rhs.0,
                    rhs.1,
                    rhs.2,
                    rhs_sizes.0,
                    rhs_sizes.1,
                    out.0,
                    out.1,
                    pointers,
                    total,
                )
            }
        };
        expect(pruned(total as i64), OK, &[]);
        assert_eq!(own_rows.download().unwrap(), result_rows.download().unwrap());
        assert_eq!(own_values.download().unwrap(), result_values.download().unwrap());
        expect(pruned(total as i64 - 1), INVALID, &["result_col_ptrs"]);
    }
}

for_all_types!(
    same_as_the_rust_solver,
    settings_count,
    misuse_is_told,
    what_cannot_be_solved,
    factored_once_solved_often,
    sparse_right_hand_sides
);

#[test]
fn devices_that_are_not_there() {
    for name in [c"cuda:4711", c"toaster", c"cuda:", c""] {
        let (status, handle) = open_device(name);
        expect(status, Status::BANDSOLVE_NO_DEVICE, &["no GPU"]);
        assert!(handle.is_null());
    }
    let (status, handle) = open_device(c"cuda");
    match Device::cuda(0) {
        Ok(_) => expect(status, OK, &[]),
        Err(error) => expect(status, Status::BANDSOLVE_NO_DEVICE, &[&error.to_string()]),
    }
    // SAFETY: null, or open.
    unsafe {
        expect(bandsolveGpuClose(handle), OK, &[]);
        expect(bandsolveGpuOpen(null(), &mut null_mut()), INVALID, &["name is null"]);
        expect(bandsolveGpuOpen(c"emulated".as_ptr(), null_mut()), INVALID, &["device is null"]);
    }
}

#[test]
fn threads_share_a_device() {
    let on = Opened::new();
    let expected = There::<f64>::random(&on, Tridiagonal { cyclic: false }, 700, 1).solve(P, false).1;
    std::thread::scope(|scope| {
        for k in 0..4 {
            let (on, expected) = (&on, &expected);
            scope.spawn(move || {
                // More kinds of systems than the library keeps solvers for.
                for n in [700, 50 + k, 60 + k, 70 + k, 700] {
                    let (status, x) =
                        There::<f64>::random(on, Tridiagonal { cyclic: false }, n, 1).solve(P, k % 2 == 0);
                    expect(status, OK, &[]);
                    assert!(n != 700 || x == *expected);
                }
            });
        }
    });
}

#[test]
fn panics_are_caught() {
    bandsolve_capi::status::plant_panic();
    expect(open_device(c"emulated").0, Status::BANDSOLVE_INTERNAL_ERROR, &["planted"]);
}

/// A system with x that grows by a factor of 3 per row, and the same system with 4 on the diagonal.
#[test]
fn solutions_without_a_digit_are_named() {
    fn check<T: OnGpu>() {
        let (on, n) = (Opened::new(), 200);
        for expected in [true, false] {
            let a = bandsolve_testkit::singular::growth::<T>(n, expected);
            let there = There {
                on: &on,
                family: Tridiagonal { cyclic: false },
                n,
                n_rhs: 1,
                matrix: a.arrays().map(|array| on.upload(array)),
                rhs: on.upload(&vec![T::ONE; n]),
            };
            expect(there.solve(P, false).0, OK, &[]);
            let (report, _) = report();
            // SAFETY: the library ends it with a zero.
            let words = unsafe { CStr::from_ptr(report.attention.as_ptr()) }.to_str().unwrap();
            assert_eq!(words.contains("no correct digit"), expected, "{report:?}");
        }
    }
    check::<f32>();
    check::<f64>();
    check::<Complex32>();
    check::<Complex64>();
}
