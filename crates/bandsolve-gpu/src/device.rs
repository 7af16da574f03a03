//! Devices, streams, and memory on them.

use crate::dense::DenseBatch;
use crate::tuning::{DeviceTuning, Sizes};
use bandsolve::{Complex32, Complex64, Error, Result, Scalar};
use bytemuck::Pod;
use core::any::Any;
use core::fmt::{self, Debug, Formatter};
use core::marker::PhantomData;
use core::ops::{Bound, RangeBounds};
use std::sync::Arc;

/// A number type that the kernels support: `f32`, `f64`, `Complex32`, `Complex64`.
pub trait DeviceScalar: Scalar {
    /// The real number that has these bits.
    fn real_of_bits(bits: u64) -> f64;
    /// Bytes of a real number.
    const REAL_BYTES: usize = size_of::<Self::Real>();
    /// If x is larger than the right-hand side by this factor, a pivot was zero: the kernels then divide by 2⁻⁵⁰⁰ (2⁻⁶⁰).
    const IMPLAUSIBLE: f64 = f64::from_bits(if size_of::<Self::Real>() == 4 { 1023 + 36 } else { 1023 + 300 } << 52);
}

macro_rules! element {
    ($($t:ty: $real:ty, $word:ty;)*) => {$(
        impl DeviceScalar for $t {
            fn real_of_bits(bits: u64) -> f64 {
                <$real>::from_bits(bits as $word).into()
            }
        }
    )*};
}
element! {
    f32: f32, u32;
    f64: f64, u64;
    Complex32: f32, u32;
    Complex64: f64, u64;
}

/// The resources of a device that determine how a solver runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Maximum dynamic shared memory of a thread block, in bytes.
    pub shared_per_block: usize,
    /// Shared memory of a multiprocessor, in bytes.
    pub shared_per_multiprocessor: usize,
    /// Number of multiprocessors.
    pub multiprocessors: usize,
    /// Device memory, in bytes.
    pub memory: usize,
}

/// The number of the legacy default stream in CUDA (`CU_STREAM_LEGACY`).
const LEGACY_STREAM: u64 = 1;

/// A device resource with its address or handle. It is released on drop.
pub(crate) struct HeldResource {
    pub handle: u64,
    #[expect(dead_code, reason = "releases the resource on drop")]
    pub owner: Box<dyn Any + Send + Sync>,
}

/// A kernel, its number of threads, and its stream.
pub(crate) struct Launch<'a> {
    pub kernel: &'a str,
    pub blocks: u32,
    pub threads: u32,
    /// Dynamic shared memory, in bytes.
    pub shared: usize,
    /// All blocks run at the same time and may wait for each other.
    pub cooperative: bool,
    pub stream: u64,
}

/// The interface that runs kernels. Memory is addresses. All calls except those that allocate follow the order of a stream.
pub(crate) trait Backend: Send + Sync {
    fn name(&self) -> String;
    /// The number of the device, from 0.
    fn number(&self) -> usize;
    /// Whether an address belongs to memory of this device.
    fn holds(&self, address: u64) -> bool;
    fn limits(&self) -> Limits;
    fn allocate(&self, bytes: usize) -> Result<HeldResource>;
    /// Memory of the host that the device can write while the host goes on, with zeros. The handle is its address.
    fn allocate_on_host(&self, bytes: usize) -> Result<HeldResource>;
    fn new_stream(&self) -> Result<HeldResource>;
    fn synchronize(&self, stream: u64) -> Result<()>;
    /// Make the context of the device current on this thread until the result is dropped.
    fn enter_context(&self) -> Result<Box<dyn Any>>;
    /// The operations on batches of dense blocks.
    fn dense(&self) -> Result<Arc<dyn DenseBatch>>;
    /// Let later work on `stream` wait for the work that is now on `other`.
    fn wait_for(&self, stream: u64, other: u64) -> Result<()>;
    /// Measure the seconds of the work that `work` puts on the stream.
    fn time(&self, stream: u64, work: &mut dyn FnMut() -> Result<()>) -> Result<f64>;
    /// Set bytes to zero.
    ///
    /// # Safety
    /// Here and below: the bytes exist, and nothing else uses them at the same time.
    unsafe fn clear(&self, stream: u64, address: u64, bytes: usize) -> Result<()>;
    /// Copy from the host, and wait.
    ///
    /// # Safety
    /// See [`clear`](Self::clear).
    unsafe fn write(&self, stream: u64, address: u64, from: &[u8]) -> Result<()>;
    /// Copy to the host, and wait.
    ///
    /// # Safety
    /// See [`clear`](Self::clear).
    unsafe fn read(&self, stream: u64, address: u64, to: &mut [u8]) -> Result<()>;
    /// Copy to memory of [`allocate_on_host`](Self::allocate_on_host), and do not wait.
    ///
    /// # Safety
    /// See [`clear`](Self::clear). The memory lives until the copy is complete.
    unsafe fn read_later(&self, stream: u64, address: u64, to: u64, bytes: usize) -> Result<()>;
    /// Copy on the device.
    ///
    /// # Safety
    /// See [`clear`](Self::clear).
    unsafe fn copy(&self, stream: u64, from: u64, to: u64, bytes: usize) -> Result<()>;
    /// Number of thread blocks of this size that a multiprocessor runs at the same time.
    fn resident(&self, kernel: &str, threads: u32, shared: usize) -> Result<usize>;
    /// Run a kernel. Each argument has memory of its own.
    ///
    /// # Safety
    /// The arguments are those of the kernel, and what they point to on the device is as large as it expects.
    unsafe fn launch(&self, launch: &Launch, arguments: Vec<Box<[u64]>>) -> Result<()>;
}

/// A GPU, or an emulated GPU, with the stream on which its work runs in order.
///
/// Clones are the same device and stream.
#[derive(Clone)]
pub struct Device {
    machine: Arc<dyn Backend>,
    stream: Arc<HeldResource>,
    /// The resources that solvers may use.
    limits: Limits,
    /// The sizes that were measured on this machine.
    tuning: Arc<DeviceTuning>,
}

impl Debug for Device {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "Device({})", self.name())
    }
}

impl Device {
    pub(crate) fn new(machine: Arc<dyn Backend>, stream: u64, tuning: Arc<DeviceTuning>) -> Self {
        let limits = machine.limits();
        Self { machine, stream: Arc::new(HeldResource { handle: stream, owner: Box::new(()) }), limits, tuning }
    }

    /// Create a handle of the same device with a new stream.
    ///
    /// Work on the new stream does not wait for work on other streams, and other streams do not wait for it.
    ///
    /// # Errors
    /// [`Error::Device`].
    pub fn stream(&self) -> Result<Self> {
        Ok(Self { stream: Arc::new(self.machine.new_stream()?), ..self.clone() })
    }

    /// Create a handle of the same device with your own stream, a `CUstream` or `cudaStream_t` as a number.
    ///
    /// 0 and 1 are the legacy default stream, 2 is the default stream of the calling thread.
    ///
    /// # Safety
    /// The stream must belong to this device, and must live as long as everything that is created from the result.
    pub unsafe fn with_stream(&self, stream: u64) -> Self {
        // Both numbers are the same stream, so events between them are not needed.
        let stream = if stream == LEGACY_STREAM { 0 } else { stream };
        Self { limits: self.limits, ..Self::new(self.machine.clone(), stream, self.tuning.clone()) }
    }

    /// Create a handle of the same device whose solvers use at most these resources.
    ///
    /// Limits above those of the device are reduced to them. Other programs can use the rest of the device.
    #[must_use]
    pub fn with_limits(&self, limits: Limits) -> Self {
        let has = self.machine.limits();
        let limits = Limits {
            shared_per_block: limits.shared_per_block.min(has.shared_per_block),
            shared_per_multiprocessor: limits.shared_per_multiprocessor.min(has.shared_per_multiprocessor),
            multiprocessors: limits.multiprocessors.min(has.multiprocessors),
            memory: limits.memory.min(has.memory),
        };
        Self { limits, ..self.clone() }
    }

    /// Wait until all work on the stream is complete.
    ///
    /// # Errors
    /// [`Error::Device`], also for kernels that ran before.
    pub fn synchronize(&self) -> Result<()> {
        self.machine.synchronize(self.stream.handle)
    }

    /// Run `work` while the CUDA context of the device is current on this thread, for calls of other CUDA libraries.
    ///
    /// Calls of this crate make the context current themselves, and restore the caller's.
    ///
    /// # Errors
    /// [`Error::Device`].
    pub fn in_context<X>(&self, work: impl FnOnce() -> X) -> Result<X> {
        let _context = self.machine.enter_context()?;
        Ok(work())
    }

    /// Let later work on this stream wait for the work that is now on the stream of `other`. The host does not wait.
    ///
    /// Solvers and copies do this for the arrays that they use.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if `other` is another device; [`Error::Device`].
    pub fn wait_for(&self, other: &Device) -> Result<()> {
        self.receive(&[("stream", other)])
    }

    /// Check that arrays are on this device, and let later work on this stream wait for the work on theirs.
    pub(crate) fn receive(&self, arrays: &[(&'static str, &Device)]) -> Result<()> {
        let mine = self.stream.handle;
        for (name, other) in arrays {
            if !self.same_as(other) {
                let problem = format!("is on another device, {}", other.name());
                return Err(Error::invalid(*name, problem, format!("this device, {}", self.name())));
            }
            if other.stream.handle != mine {
                self.machine.wait_for(mine, other.stream.handle)?;
            }
        }
        Ok(())
    }

    /// Measure the seconds of the work that `work` puts on this stream, by the clock of the device.
    ///
    /// # Errors
    /// The errors of `work`; [`Error::Device`].
    pub fn time(&self, mut work: impl FnMut() -> Result<()>) -> Result<f64> {
        self.machine.time(self.stream.handle, &mut work)
    }

    /// Get the name of the device.
    pub fn name(&self) -> String {
        self.machine.name()
    }

    /// Get the number of the device: k for `cuda:k`.
    pub fn number(&self) -> usize {
        self.machine.number()
    }

    /// Whether an address belongs to memory of this device, whoever allocated it.
    pub fn holds(&self, address: u64) -> bool {
        self.machine.holds(address)
    }

    /// Get the resources that solvers may use.
    pub fn limits(&self) -> Limits {
        self.limits
    }

    /// Whether both handles can use the same memory.
    pub fn same_as(&self, other: &Device) -> bool {
        Arc::ptr_eq(&self.machine, &other.machine)
    }

    /// Get the sizes for a number type: measured on this machine, or built in.
    pub fn sizes(&self, number_type: &str) -> Sizes {
        self.tuning.sizes(&self.name(), number_type).unwrap_or_default()
    }

    pub(crate) fn machine(&self) -> &dyn Backend {
        &*self.machine
    }

    /// Get the stream, a `CUstream` as a number. 0 is the legacy default stream.
    pub fn stream_handle(&self) -> u64 {
        self.stream.handle
    }

    /// Allocate an array of `n` zeros.
    ///
    /// # Errors
    /// [`Error::Device`] if the memory cannot be allocated.
    pub fn zeros<T: Pod>(&self, n: usize) -> Result<DeviceVec<T>> {
        let memory = self.machine.allocate(n * size_of::<T>())?;
        let mut array = DeviceVec { device: self.clone(), memory, len: n, of: PhantomData };
        array.slice_mut(..).clear()?;
        Ok(array)
    }

    /// Copy values to a new array on the device.
    ///
    /// # Errors
    /// [`Error::Device`] if the memory cannot be allocated.
    pub fn upload<T: Pod>(&self, values: &[T]) -> Result<DeviceVec<T>> {
        let memory = self.machine.allocate(size_of_val(values))?;
        let mut array = DeviceVec { device: self.clone(), memory, len: values.len(), of: PhantomData };
        array.slice_mut(..).write(values)?;
        Ok(array)
    }
}

/// An array in the memory of a device.
pub struct DeviceVec<T> {
    device: Device,
    memory: HeldResource,
    len: usize,
    of: PhantomData<T>,
}

impl<T> Debug for DeviceVec<T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "DeviceVec of {} on {}", self.len, self.device.name())
    }
}

/// The first element and the length of a range of an array.
fn part(range: impl RangeBounds<usize>, len: usize) -> (usize, usize) {
    let first = match range.start_bound() {
        Bound::Included(first) => *first,
        Bound::Excluded(before) => before + 1,
        Bound::Unbounded => 0,
    };
    let end = match range.end_bound() {
        Bound::Included(last) => last + 1,
        Bound::Excluded(end) => *end,
        Bound::Unbounded => len,
    };
    assert!(first <= end && end <= len, "the range {first}..{end} is outside of an array of {len} elements");
    (first, end - first)
}

impl<T: Pod> DeviceVec<T> {
    /// Get the number of elements.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether the array is empty.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Borrow a range of the array for reading.
    ///
    /// # Panics
    /// If the range is not inside the array.
    pub fn slice(&self, range: impl RangeBounds<usize>) -> DeviceSlice<'_, T> {
        let (first, len) = part(range, self.len);
        let address = self.memory.handle + (first * size_of::<T>()) as u64;
        DeviceSlice { device: &self.device, address, len, of: PhantomData }
    }

    /// Borrow a range of the array for writing.
    ///
    /// # Panics
    /// If the range is not inside the array.
    pub fn slice_mut(&mut self, range: impl RangeBounds<usize>) -> DeviceSliceMut<'_, T> {
        DeviceSliceMut(self.slice(range))
    }

    /// Copy the array to the host.
    ///
    /// # Errors
    /// [`Error::Device`], also for kernels that ran before.
    pub fn download(&self) -> Result<Vec<T>> {
        self.slice(..).download()
    }
}

/// An array in the memory of a device, borrowed for reading.
#[derive(Clone, Copy)]
pub struct DeviceSlice<'a, T> {
    device: &'a Device,
    address: u64,
    len: usize,
    of: PhantomData<&'a T>,
}

impl<T> Debug for DeviceSlice<'_, T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "DeviceSlice of {} on {}", self.len, self.device.name())
    }
}

impl<'a, T: Pod> From<&'a DeviceVec<T>> for DeviceSlice<'a, T> {
    fn from(array: &'a DeviceVec<T>) -> Self {
        array.slice(..)
    }
}

impl<'a, T: Pod> DeviceSlice<'a, T> {
    /// Borrow memory of the caller for reading.
    ///
    /// # Safety
    /// `address` must be the aligned address of `len` elements in the memory of `device`. No one may write them during the
    /// borrow.
    pub unsafe fn from_raw(device: &'a Device, address: u64, len: usize) -> Self {
        Self { device, address, len, of: PhantomData }
    }

    /// Get the number of elements.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether the slice is empty.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Get the address of the first element.
    pub fn address(&self) -> u64 {
        self.address
    }

    /// Borrow a range of the elements.
    ///
    /// # Panics
    /// If the range is not inside the slice.
    pub fn part(&self, range: impl RangeBounds<usize>) -> Self {
        let (first, len) = part(range, self.len);
        Self { address: self.address + (first * size_of::<T>()) as u64, len, ..*self }
    }

    /// Get the device that owns the memory.
    pub fn device(&self) -> &'a Device {
        self.device
    }

    /// Copy the elements to the host.
    ///
    /// # Errors
    /// [`Error::Device`], also for kernels that ran before.
    pub fn download(&self) -> Result<Vec<T>> {
        let mut values = vec![T::zeroed(); self.len];
        self.read(&mut values)?;
        Ok(values)
    }

    /// Copy the elements to an array of the host.
    ///
    /// # Errors
    /// [`Error::Shape`] if the lengths differ; [`Error::Device`].
    pub fn read(&self, to: &mut [T]) -> Result<()> {
        check_len("values", self.len, to.len())?;
        let (machine, stream) = (self.device.machine(), self.device.stream_handle());
        // SAFETY: the memory has `len` numbers. To write them, somebody would need a borrow that excludes this one.
        unsafe { machine.read(stream, self.address, bytemuck::cast_slice_mut(to)) }
    }
}

/// An array in the memory of a device, borrowed for writing.
#[derive(Debug)]
pub struct DeviceSliceMut<'a, T>(DeviceSlice<'a, T>);

impl<'a, T: Pod> From<&'a mut DeviceVec<T>> for DeviceSliceMut<'a, T> {
    fn from(array: &'a mut DeviceVec<T>) -> Self {
        array.slice_mut(..)
    }
}

impl<'a, T: Pod> DeviceSliceMut<'a, T> {
    /// Borrow memory of the caller for writing.
    ///
    /// # Safety
    /// `address` must be the aligned address of `len` elements in the memory of `device`. No one else may use them during the
    /// borrow.
    pub unsafe fn from_raw(device: &'a Device, address: u64, len: usize) -> Self {
        // SAFETY: the caller's promise.
        Self(unsafe { DeviceSlice::from_raw(device, address, len) })
    }

    /// Borrow the elements for reading.
    pub fn as_slice(&self) -> DeviceSlice<'_, T> {
        self.0
    }

    /// Borrow the elements again, for a shorter time.
    pub fn reborrow(&mut self) -> DeviceSliceMut<'_, T> {
        DeviceSliceMut(self.0)
    }

    /// Borrow a range of the elements for writing.
    ///
    /// # Panics
    /// If the range is not inside the slice.
    pub fn part(&mut self, range: impl RangeBounds<usize>) -> DeviceSliceMut<'_, T> {
        DeviceSliceMut(self.0.part(range))
    }

    /// Copy values from the host.
    ///
    /// # Errors
    /// [`Error::Shape`] if the lengths differ; [`Error::Device`].
    pub fn write(&mut self, values: &[T]) -> Result<()> {
        check_len("values", self.0.len, values.len())?;
        let (machine, stream) = (self.0.device.machine(), self.0.device.stream_handle());
        // SAFETY: the memory has `len` numbers, and this borrow is exclusive.
        unsafe { machine.write(stream, self.0.address, bytemuck::cast_slice(values)) }
    }

    /// Copy elements from an array on the same device, in the order of the streams of both arrays.
    ///
    /// # Errors
    /// [`Error::Shape`] if the lengths differ; [`Error::InvalidArgument`] if the arrays are on different devices; [`Error::Device`].
    pub fn copy_from(&mut self, other: DeviceSlice<'_, T>) -> Result<()> {
        check_len("values", self.0.len, other.len)?;
        self.0.device.receive(&[("the array to copy", other.device)])?;
        let (machine, stream) = (self.0.device.machine(), self.0.device.stream_handle());
        // SAFETY: both arrays have `len` numbers, and the borrow of this one is exclusive.
        unsafe { machine.copy(stream, other.address, self.0.address, self.0.len * size_of::<T>()) }?;
        // Nothing may write to the other array before the copy is complete.
        other.device.wait_for(self.0.device)
    }

    /// Set all elements to zero.
    ///
    /// # Errors
    /// [`Error::Device`].
    pub fn clear(&mut self) -> Result<()> {
        let (machine, stream) = (self.0.device.machine(), self.0.device.stream_handle());
        // SAFETY: the memory has `len` numbers, and this borrow is exclusive.
        unsafe { machine.clear(stream, self.0.address, self.0.len * size_of::<T>()) }
    }
}

pub(crate) fn check_len(what: &'static str, expected: usize, got: usize) -> Result<()> {
    if got == expected { Ok(()) } else { Err(Error::Shape { what, expected, got }) }
}
