//! Solves that the caller does not wait for: the bits of the functions that wait, statuses, and errors for misuse.

use super::*;
use bandsolve::Layout;

type StatusHandle = bandsolve_gpu_status_t;
type Create = unsafe extern "C" fn(Handle, Stream, *mut StatusHandle) -> Status;
type Enqueue<T> = unsafe extern "C" fn(
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
    StatusHandle,
) -> Status;
type EnqueueBlocks<T> = unsafe extern "C" fn(
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
    StatusHandle,
) -> Status;
type EnqueueBands<T> =
    unsafe extern "C" fn(Handle, Stream, i32, i64, i64, i64, i64, *const T, *mut T, *const T, StatusHandle) -> Status;
type EnqueueFactored<T> = unsafe extern "C" fn(
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
    StatusHandle,
) -> Status;
type EnqueueBatch<T> = unsafe extern "C" fn(
    Handle,
    Stream,
    i32,
    i64,
    i64,
    i64,
    i64,
    *const T,
    *const T,
    *const T,
    *mut T,
    *const T,
    StatusHandle,
) -> Status;
type SolveBatch<T> = unsafe extern "C" fn(
    Handle,
    Stream,
    i32,
    i64,
    i64,
    i64,
    i64,
    *const T,
    *const T,
    *const T,
    *mut T,
    *const T,
) -> Status;

/// The functions of one number type. Pairs are for open and cyclic systems.
pub(super) struct EnqueueFunctions<T> {
    create: Create,
    gtsv: [Enqueue<T>; 2],
    bgtsv: [EnqueueBlocks<T>; 2],
    gbsv: EnqueueBands<T>,
    bgtrfs: EnqueueFactored<T>,
    batch: (EnqueueBatch<T>, SolveBatch<T>),
}

pub(super) trait Enqueues: OnGpu {
    const ENQUEUE: EnqueueFunctions<Self>;
}

macro_rules! enqueue {
    ($t:ty: $create:ident $gtsv:ident $cgtsv:ident $bgtsv:ident $cbgtsv:ident $gbsv:ident $bgtrfs:ident
        $batch:ident $solve_batch:ident) => {
        impl Enqueues for $t {
            const ENQUEUE: EnqueueFunctions<$t> = EnqueueFunctions {
                create: $create,
                gtsv: [$gtsv, $cgtsv],
                bgtsv: [$bgtsv, $cbgtsv],
                gbsv: $gbsv,
                bgtrfs: $bgtrfs,
                batch: ($batch, $solve_batch),
            };
        }
    };
}
enqueue!(f32: bandsolveGpuSstatus_create bandsolveGpuSgtsv_enqueue bandsolveGpuScgtsv_enqueue bandsolveGpuSbgtsv_enqueue bandsolveGpuScbgtsv_enqueue bandsolveGpuSgbsv_enqueue bandsolveGpuSbgtrfs_enqueue bandsolveGpuSgtsv_batch_enqueue bandsolveGpuSgtsv_batch);
enqueue!(f64: bandsolveGpuDstatus_create bandsolveGpuDgtsv_enqueue bandsolveGpuDcgtsv_enqueue bandsolveGpuDbgtsv_enqueue bandsolveGpuDcbgtsv_enqueue bandsolveGpuDgbsv_enqueue bandsolveGpuDbgtrfs_enqueue bandsolveGpuDgtsv_batch_enqueue bandsolveGpuDgtsv_batch);
enqueue!(Complex32: bandsolveGpuCstatus_create bandsolveGpuCgtsv_enqueue bandsolveGpuCcgtsv_enqueue bandsolveGpuCbgtsv_enqueue bandsolveGpuCcbgtsv_enqueue bandsolveGpuCgbsv_enqueue bandsolveGpuCbgtrfs_enqueue bandsolveGpuCgtsv_batch_enqueue bandsolveGpuCgtsv_batch);
enqueue!(Complex64: bandsolveGpuZstatus_create bandsolveGpuZgtsv_enqueue bandsolveGpuZcgtsv_enqueue bandsolveGpuZbgtsv_enqueue bandsolveGpuZcbgtsv_enqueue bandsolveGpuZgbsv_enqueue bandsolveGpuZbgtrfs_enqueue bandsolveGpuZgtsv_batch_enqueue bandsolveGpuZgtsv_batch);

/// A status on the default stream, which is destroyed at the end.
struct OwnStatus(StatusHandle);

impl OwnStatus {
    fn new<T: Enqueues>(on: &Opened) -> Self {
        let mut status = null_mut();
        // SAFETY: a device, and a handle to be written.
        expect(unsafe { (T::ENQUEUE.create)(on.handle, null_mut(), &mut status) }, OK, &[]);
        Self(status)
    }

    fn read(&self) -> Status {
        // SAFETY: the status exists.
        unsafe { bandsolveGpuStatusRead(self.0) }
    }

    fn reset(&self) {
        // SAFETY: the status exists.
        expect(unsafe { bandsolveGpuStatusReset(self.0) }, OK, &[]);
    }
}

impl Drop for OwnStatus {
    fn drop(&mut self) {
        // SAFETY: nobody uses it any more.
        assert_eq!(unsafe { bandsolveGpuStatusDestroy(self.0) }, OK);
    }
}

impl<T: Enqueues> There<'_, T> {
    /// Call the function that enqueues.
    ///
    /// # Safety
    /// As the C function.
    unsafe fn enqueue(
        &self,
        (handle, status): (Handle, StatusHandle),
        CallSizes { p, n, n_rhs }: CallSizes,
        [sub, diag, sup]: [*const T; 3],
        (x, rhs): (*mut T, *const T),
    ) -> Status {
        let (f, stream) = (T::ENQUEUE, null_mut());
        // SAFETY: the caller's.
        unsafe {
            match self.family {
                Tridiagonal { cyclic } => {
                    f.gtsv[usize::from(cyclic)](handle, stream, p, n, n_rhs, sub, diag, sup, x, rhs, status)
                }
                Blocks { block, cyclic } => {
                    let enqueue = f.bgtsv[usize::from(cyclic)];
                    enqueue(handle, stream, p, n, n_rhs, block, sub, diag, sup, x, rhs, status)
                }
                Banded { lower, upper } => (f.gbsv)(handle, stream, p, n, n_rhs, lower, upper, sub, x, rhs, status),
            }
        }
    }

    /// Enqueue a solve with the arrays of the system.
    fn enqueue_once(&self, status: &OwnStatus, p: i32, (x, rhs): (&DeviceVec<T>, &DeviceVec<T>)) -> Status {
        let sizes = CallSizes::new(p, self.n as i64, self.n_rhs as i64);
        let sides = (pointer(x), pointer(rhs).cast_const());
        // SAFETY: arrays of the sizes that go with them.
        unsafe { self.enqueue((self.on.handle, status.0), sizes, self.pointers(), sides) }
    }
}

fn same_as_with_waiting<T: Enqueues>() {
    let on = Opened::new();
    for (family, (n, n_rhs)) in families().into_iter().flat_map(|f| [(1, 1), (9, 3), (1500, 1)].map(|s| (f, s))) {
        let there = There::<T>::random(&on, family, n, n_rhs);
        let (status, expected) = there.solve(P, false);
        expect(status, OK, &[]);
        let waited = report();
        let status = OwnStatus::new::<T>(&on);
        // Twice each, so that the solver of the first call solves again.
        for in_place in [false, true, true, false] {
            let x = on.upload(&if in_place { there.rhs.download().unwrap() } else { there.nothing() });
            let rhs = if in_place { &x } else { &there.rhs };
            on.device.synchronize().unwrap();
            expect(there.enqueue_once(&status, P, (&x, rhs)), OK, &[]);
            assert_eq!(report().1, "", "no report before the status is read");
            expect(status.read(), OK, &[]);
            assert!(x.download().unwrap() == expected, "{family:?}, n = {n}, in place: {in_place}");
            let (read, method) = report();
            assert_eq!((read.backward_error, method), (waited.0.backward_error, waited.1.clone()));
        }
    }
}

fn batches<T: Enqueues>() {
    let (on, (enqueue, solve)) = (Opened::new(), T::ENQUEUE.batch);
    let status = OwnStatus::new::<T>(&on);
    for (n, count) in [(1, 5), (7, 1), (30, 80), (0, 3), (3, 0)] {
        let there = There::<T>::random(&on, Tridiagonal { cyclic: false }, n * count, 1);
        let ([sub, diag, sup], rhs) = (there.pointers(), pointer(&there.rhs).cast_const());
        let (rows, systems) = (n as i64, count as i64);
        for (layout, strides) in [(Layout::Contiguous, (1, rows)), (Layout::Interleaved, (systems, 1))] {
            let call = |x: &DeviceVec<T>, waits: bool| {
                let (handle, stream, x, (row, system)) = (on.handle, null_mut(), pointer(x), strides);
                // SAFETY: arrays of the sizes that go with them.
                unsafe {
                    match waits {
                        true => solve(handle, stream, P, rows, systems, row, system, sub, diag, sup, x, rhs),
                        false => {
                            enqueue(handle, stream, P, rows, systems, row, system, sub, diag, sup, x, rhs, status.0)
                        }
                    }
                }
            };
            let plan = Plan::new(Shape::Batch { n, count, layout, periodic: false });
            let mut y = on.zeros::<T>(n * count);
            DeviceSolver::new(&on.device, &plan, 1).unwrap().solve(there.as_rust(), &there.rhs, &mut y).unwrap();
            let (waited, enqueued) = (on.zeros::<T>(n * count), on.zeros::<T>(n * count));
            expect(call(&waited, true), OK, &[]);
            expect(call(&enqueued, false), OK, &[]);
            expect(status.read(), OK, &[]);
            let expected = y.download().unwrap();
            assert!(waited.download().unwrap() == expected, "{n} rows, {count} systems, {strides:?}");
            assert!(enqueued.download().unwrap() == expected, "{n} rows, {count} systems, {strides:?}");
        }
        // SAFETY: the functions refuse wrong arguments before they read a pointer.
        unsafe {
            let (handle, x) = (on.handle, null_mut());
            let wrong = solve(handle, null_mut(), P, rows, systems, 2, 2 * rows, sub, diag, sup, x, rhs);
            expect(wrong, UNSUPPORTED, &["row_stride is 2", "with 1 and n"]);
            let wrong = solve(handle, null_mut(), P, rows, -1, 1, rows, sub, diag, sup, x, rhs);
            expect(wrong, INVALID, &["count is -1"]);
        }
    }
}

fn with_factors<T: Enqueues>() {
    let ((_, factor, _), enqueue) = (T::ON_GPU.bgtf, T::ENQUEUE.bgtrfs);
    for (block, n) in [(1, 1200), (3, 90)] {
        let on = Opened::new();
        let there = There::<T>::random(&on, Blocks { block, cyclic: false }, n, 3);
        let expected = there.solve(P, false).1;
        let status = OwnStatus::new::<T>(&on);
        let ([sub, diag, sup], buffer, n) = (there.pointers(), 0_u8, n as i64);
        let held = (&raw const buffer).cast_mut().cast::<c_void>();
        // SAFETY: arrays as long as the sizes say.
        unsafe {
            let solve = |x: *mut T, rhs: *const T, n_rhs| {
                let (handle, stream) = (on.handle, null_mut());
                enqueue(handle, stream, P, n, n_rhs, block, sub, diag, sup, x, rhs, held, status.0)
            };
            let rhs = pointer(&there.rhs).cast_const();
            expect(solve(pointer(&there.rhs), rhs, 1), Status::BANDSOLVE_INVALID_BUFFER, &["no factors"]);
            expect(factor(on.handle, null_mut(), P, n, block, sub, diag, sup, held), OK, &[]);
            for n_rhs in [1, 3, 2] {
                let (x, own) = (on.zeros::<T>(there.rhs.len()), on.upload(&there.rhs.download().unwrap()));
                on.device.synchronize().unwrap();
                expect(solve(pointer(&x), rhs, n_rhs), OK, &[]);
                expect(solve(pointer(&own), pointer(&own), n_rhs), OK, &[]);
                expect(status.read(), OK, &[]);
                let len = (n * block * n_rhs) as usize;
                assert!(x.download().unwrap()[..len] == expected[..len], "blocks of {block}, {n_rhs} columns");
                assert!(
                    own.download().unwrap()[..len] == expected[..len],
                    "blocks of {block}, {n_rhs} columns, in place"
                );
            }
        }
    }
}

fn what_a_status_says<T: Enqueues>() {
    let (on, n) = (Opened::new(), 300);
    let status = OwnStatus::new::<T>(&on);
    let nothing_solved = || {
        expect(status.read(), OK, &[]);
        assert_eq!((report().0.backward_error.is_nan(), &*report().1), (true, ""));
    };
    nothing_solved();
    let mut system = System::<T>::random(Tridiagonal { cyclic: false }, n, 1);
    let good = There::new(&on, &system);
    let enqueue = |there: &There<T>, p| {
        let x = on.zeros::<T>(n);
        expect(there.enqueue_once(&status, p, (&x, &there.rhs)), OK, &[]);
        // The device may still use x.
        x
    };
    let words = || {
        let (report, _) = report();
        // SAFETY: the library ends it with a zero.
        unsafe { CStr::from_ptr(report.attention.as_ptr()) }.to_str().unwrap().to_owned()
    };
    // A row of zeros, among good systems.
    system.matrix.iter_mut().for_each(|array| array[n / 2] = T::ZERO);
    let singular = There::new(&on, &system);
    let arrays = [enqueue(&good, P), enqueue(&singular, P), enqueue(&good, P)];
    for _ in 0..2 {
        expect(status.read(), Status::BANDSOLVE_NOT_CONVERGED, &["may be singular", "solve again"]);
        assert!(words().contains("may be singular") && report().0.backward_error.is_nan());
    }
    status.reset();
    nothing_solved();
    // Without row exchanges, x is inaccurate, and nobody repairs it. A function that waits does.
    let small = T::from_real(T::Real::EPSILON.sqrt());
    let (ones, small) = (vec![T::ONE; n], vec![small; n]);
    let hard = There { matrix: [&ones, &small, &ones].map(|array| on.upload(array)), rhs: on.upload(&ones), ..good };
    let inaccurate = enqueue(&hard, 0);
    expect(status.read(), Status::BANDSOLVE_NOT_CONVERGED, &["solve again"]);
    let limit = 8.0 * T::Real::EPSILON.to_f64();
    assert!(!words().is_empty() || report().0.backward_error > limit);
    expect(hard.solve(0, false).0, OK, &[]);
    drop((arrays, inaccurate));
}

fn misuse_of_statuses<T: Enqueues>() {
    let on = Opened::new();
    let status = OwnStatus::new::<T>(&on);
    for family in FAMILIES {
        let there = There::<T>::random(&on, family, 5, 2);
        let x = on.upload(&there.nothing());
        let (out, rhs, matrix, sizes) =
            (pointer(&x), pointer(&there.rhs).cast_const(), there.pointers(), CallSizes::new(P, 5, 2));
        let good = (on.handle, status.0);
        // SAFETY: the functions refuse wrong arguments before they read a pointer; all else is as it should be.
        unsafe {
            let wrong = there.enqueue((on.handle, null_mut()), sizes, matrix, (out, rhs));
            expect(wrong, INVALID, &["status is null", "status_create"]);
            expect(there.enqueue((null_mut(), status.0), sizes, matrix, (out, rhs)), INVALID, &["device is null"]);
            expect(there.enqueue(good, sizes, matrix, (null_mut(), rhs)), INVALID, &["x is null"]);
            expect(there.enqueue(good, sizes, matrix, (out, out.add(1))), INVALID, &["x overlaps rhs"]);
            expect(there.enqueue(good, CallSizes::new(9, 5, 2), matrix, (out, rhs)), INVALID, &["p is 9"]);
            expect(bandsolveSetVerify(0), OK, &[]);
            expect(there.enqueue(good, sizes, matrix, (out, rhs)), INVALID, &["bandsolveSetVerify(1)"]);
            expect(bandsolveSetVerify(1), OK, &[]);
            expect(there.enqueue(good, CallSizes::new(P, 0, 2), [null(); 3], (null_mut(), null())), OK, &[]);
        }
        let other = Opened::new();
        if !other.device.same_as(&on.device) {
            let elsewhere = OwnStatus::new::<T>(&other);
            expect(there.enqueue_once(&elsewhere, P, (&x, &there.rhs)), INVALID, &["status is on another device"]);
        }
        assert_eq!(x.download().unwrap(), there.nothing(), "nothing was written");
    }
    let wide = There::<T>::random(&on, Banded { lower: 5, upper: 1 }, 20, 1);
    let x = on.upload(&wide.nothing());
    expect(wide.enqueue_once(&status, P, (&x, &wide.rhs)), UNSUPPORTED, &["GPU"]);
    // SAFETY: null, or as it should be.
    unsafe {
        let create = T::ENQUEUE.create;
        expect(create(null_mut(), null_mut(), &mut null_mut()), INVALID, &["device is null"]);
        expect(create(on.handle, null_mut(), null_mut()), INVALID, &["status is null"]);
        expect(bandsolveGpuStatusRead(null_mut()), INVALID, &["status is null"]);
        expect(bandsolveGpuStatusReset(null_mut()), INVALID, &["status is null"]);
        expect(bandsolveGpuStatusDestroy(null_mut()), OK, &[]);
    }
    // What was not solved raised nothing.
    expect(status.read(), OK, &[]);
    assert_eq!(report().1, "");
}

for_all_types!(same_as_with_waiting, batches, with_factors, what_a_status_says, misuse_of_statuses);

#[test]
fn a_status_of_another_type() {
    let on = Opened::new();
    let (there, status) = (There::<f64>::random(&on, FAMILIES[0], 5, 1), OwnStatus::new::<f32>(&on));
    let x = on.upload(&there.nothing());
    expect(there.enqueue_once(&status, P, (&x, &there.rhs)), INVALID, &["status has another number type"]);
}

/// The emulated device runs its work when somebody waits for it, in memory that the CPU can read.
#[test]
fn nobody_waits() {
    let on = Opened::named("emulated");
    let (there, status) = (There::<f64>::random(&on, FAMILIES[0], 700, 1), OwnStatus::new::<f64>(&on));
    let expected = there.solve(P, false).1;
    // The second round has the solver of the first. The x of a solve is the right-hand side of the next.
    for _ in 0..2 {
        let (x, y) = (on.zeros::<f64>(700), on.zeros::<f64>(700));
        // SAFETY: both arrays have 700 numbers, and no work of the device runs during the reads.
        let seen = |array: &DeviceVec<f64>| unsafe { core::slice::from_raw_parts(pointer(array), 700).to_vec() };
        expect(there.enqueue_once(&status, P, (&x, &there.rhs)), OK, &[]);
        expect(there.enqueue_once(&status, P, (&y, &x)), OK, &[]);
        assert_eq!([seen(&x), seen(&y)], [vec![0.0; 700], vec![0.0; 700]]);
        expect(status.read(), OK, &[]);
        assert!(seen(&x) == expected && seen(&y) != expected && seen(&y)[0] != 0.0);
    }
}
