//! Devices, streams, and memory on them.

use crate::cuda::Cuda;
#[cfg(feature = "emulator")]
use crate::emulated::{Emulation, Emulator};
use crate::solver::DevicePlan;
use crate::tuned::{DeviceTuning, Sizes};
use bandsolve::{Complex32, Complex64, Error, Plan, Result, Scalar};
use bytemuck::Pod;
use core::any::Any;
use core::ffi::c_void;
use core::fmt::{self, Debug, Formatter};
use core::marker::PhantomData;
use core::ops::{Bound, RangeBounds};
use std::sync::Arc;

/// A number type that the kernels know.
pub trait DeviceScalar: Scalar {
    /// The real number that has these bits.
    fn real_of_bits(bits: u64) -> f64;
    /// Bytes of a real number.
    const REAL_BYTES: usize = size_of::<Self::Real>();
    /// An x so much larger than the right-hand side comes from a pivot that was zero: the kernels divide by 2⁻⁵⁰⁰ (2⁻⁶⁰) then.
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

/// What a device has, as far as solvers ask.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Dynamic shared memory that a block of threads may have, in bytes.
    pub shared_per_block: usize,
    /// Shared memory of a multiprocessor, in bytes.
    pub shared_per_multiprocessor: usize,
    /// Multiprocessors.
    pub multiprocessors: usize,
    /// Memory in bytes.
    pub memory: usize,
}

/// Something of a device that is given back when it is dropped, and its address or handle.
pub(crate) struct HeldResource {
    pub handle: u64,
    #[expect(dead_code, reason = "gives back what the handle stands for when it is dropped")]
    pub owner: Box<dyn Any + Send + Sync>,
}

/// A kernel, how many threads run it, and on which stream.
pub(crate) struct Launch<'a> {
    pub kernel: &'a str,
    pub blocks: u32,
    pub threads: u32,
    /// Bytes of dynamic shared memory.
    pub shared: usize,
    /// All blocks run at the same time, and may wait for one another.
    pub together: bool,
    pub stream: u64,
}

/// What runs kernels. Memory is addresses; all but `allocate` happens in the order of a stream.
pub(crate) trait Backend: Send + Sync {
    fn name(&self) -> String;
    fn limits(&self) -> Limits;
    fn allocate(&self, bytes: usize) -> Result<HeldResource>;
    fn new_stream(&self) -> Result<HeldResource>;
    fn synchronize(&self, stream: u64) -> Result<()>;
    /// Seconds that what `work` puts on the stream takes.
    fn time(&self, stream: u64, work: &mut dyn FnMut() -> Result<()>) -> Result<f64>;
    /// Sets bytes to zero.
    ///
    /// # Safety
    /// Here and below: so many bytes are there, and nothing else uses them at the same time.
    unsafe fn clear(&self, stream: u64, address: u64, bytes: usize) -> Result<()>;
    /// Copies from the host, and waits for it.
    ///
    /// # Safety
    /// See [`clear`](Self::clear).
    unsafe fn write(&self, stream: u64, address: u64, from: &[u8]) -> Result<()>;
    /// Copies to the host, and waits for it.
    ///
    /// # Safety
    /// See [`clear`](Self::clear).
    unsafe fn read(&self, stream: u64, address: u64, to: &mut [u8]) -> Result<()>;
    /// Copies on the device.
    ///
    /// # Safety
    /// See [`clear`](Self::clear).
    unsafe fn copy(&self, stream: u64, from: u64, to: u64, bytes: usize) -> Result<()>;
    /// Blocks of so many threads and so much shared memory that a multiprocessor runs at the same time.
    fn resident(&self, kernel: &str, threads: u32, shared: usize) -> Result<usize>;
    /// Runs a kernel.
    ///
    /// # Safety
    /// The arguments are those of the kernel, and what they point to on the device is as large as it expects.
    unsafe fn launch(&self, launch: &Launch, arguments: &mut [*mut c_void]) -> Result<()>;
}

/// A GPU, or the emulation of one, and the stream on which its work is done in order. Clones are the same device and stream.
#[derive(Clone)]
pub struct Device {
    machine: Arc<dyn Backend>,
    stream: Arc<HeldResource>,
    /// Measured on this machine.
    tuning: Arc<DeviceTuning>,
}

impl Debug for Device {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "Device({})", self.name())
    }
}

impl Device {
    fn new(machine: Arc<dyn Backend>, stream: u64, tuning: Arc<DeviceTuning>) -> Self {
        Self { machine, stream: Arc::new(HeldResource { handle: stream, owner: Box::new(()) }), tuning }
    }

    /// An NVIDIA GPU, the first being number 0, and its default stream.
    ///
    /// # Errors
    /// [`Error::NoDevice`] where there is no driver, no compiler for its kernels (NVRTC), or no such GPU.
    pub fn cuda(number: usize) -> Result<Self> {
        // A file that is not understood is for `bandsolve tune --show` to say; nothing here depends on it.
        let tuning = DeviceTuning::load().unwrap_or_default();
        Ok(Self::new(Arc::new(Cuda::open(number)?), 0, tuning.into()))
    }

    /// The plan as it is followed here: `Auto` is `Rpts`.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for what no device solves; sizes that are too large for this one show when they are solved.
    pub fn plan(&self, plan: &Plan) -> Result<Plan> {
        Ok(plan.clone().method(DevicePlan::of(plan)?.method))
    }

    /// A device by its name: `cuda` or `cuda:0`, `cuda:1`, …; `emulated`, if the emulator was compiled in.
    ///
    /// # Errors
    /// [`Error::NoDevice`].
    pub fn open(name: &str) -> Result<Self> {
        #[cfg(feature = "emulator")]
        if name == "emulated" {
            return Ok(Self::emulated(Emulation::default()));
        }
        let number = match name.split_once(':') {
            None if name == "cuda" => Some(0),
            Some(("cuda", number)) => number.parse().ok(),
            _ => None,
        };
        number.map_or_else(|| Err(Error::NoDevice { reason: format!("none is called {name}") }), Self::cuda)
    }

    /// The kernels on the CPU.
    #[cfg(feature = "emulator")]
    pub fn emulated(how: Emulation) -> Self {
        Self::new(Arc::new(Emulator::new(how)), 0, Arc::default())
    }

    /// The same device with a stream of its own: what is done there does not wait for what is done on others, nor the other way
    /// round.
    ///
    /// # Errors
    /// [`Error::Device`].
    pub fn stream(&self) -> Result<Self> {
        Ok(Self { stream: Arc::new(self.machine.new_stream()?), ..self.clone() })
    }

    /// The same device with a stream of the caller's: a `CUstream` or `cudaStream_t` as a number.
    ///
    /// # Safety
    /// It is a stream of this device and lives as long as anything that is made from what is returned.
    pub unsafe fn with_stream(&self, stream: u64) -> Self {
        Self::new(self.machine.clone(), stream, self.tuning.clone())
    }

    /// Waits until all is done that was asked for on the stream.
    ///
    /// # Errors
    /// [`Error::Device`], also of kernels that ran before.
    pub fn synchronize(&self) -> Result<()> {
        self.machine.synchronize(self.stream.handle)
    }

    /// Seconds that the device takes for what `work` asks of it on this stream, by its own clock.
    ///
    /// # Errors
    /// Those of `work`, [`Error::Device`].
    pub fn time(&self, mut work: impl FnMut() -> Result<()>) -> Result<f64> {
        self.machine.time(self.stream.handle, &mut work)
    }

    /// What it is called.
    pub fn name(&self) -> String {
        self.machine.name()
    }

    /// What it has.
    pub fn limits(&self) -> Limits {
        self.machine.limits()
    }

    /// Whether memory of one can be used by the other.
    pub fn same_as(&self, other: &Device) -> bool {
        Arc::ptr_eq(&self.machine, &other.machine)
    }

    /// Sizes for a number type, as measured on this machine, or the built-in ones.
    pub fn sizes(&self, number_type: &str) -> Sizes {
        self.tuning.sizes(&self.name(), number_type).unwrap_or_default()
    }

    pub(crate) fn machine(&self) -> &dyn Backend {
        &*self.machine
    }

    pub(crate) fn stream_handle(&self) -> u64 {
        self.stream.handle
    }

    /// `n` zeros.
    ///
    /// # Errors
    /// [`Error::Device`], if there is no memory.
    pub fn zeros<T: Pod>(&self, n: usize) -> Result<DeviceVec<T>> {
        let memory = self.machine.allocate(n * size_of::<T>())?;
        let mut array = DeviceVec { device: self.clone(), memory, len: n, of: PhantomData };
        array.slice_mut(..).clear()?;
        Ok(array)
    }

    /// Numbers copied to the device.
    ///
    /// # Errors
    /// [`Error::Device`], if there is no memory.
    pub fn upload<T: Pod>(&self, values: &[T]) -> Result<DeviceVec<T>> {
        let memory = self.machine.allocate(size_of_val(values))?;
        let mut array = DeviceVec { device: self.clone(), memory, len: values.len(), of: PhantomData };
        array.slice_mut(..).write(values)?;
        Ok(array)
    }
}

/// An array on a device.
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

/// First and length of a range of an array.
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
    assert!(first <= end && end <= len, "{first}..{end} is no part of an array of {len}");
    (first, end - first)
}

impl<T: Pod> DeviceVec<T> {
    /// How many numbers it holds.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether it holds none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// A part of it, to read.
    ///
    /// # Panics
    /// As slices do, if the range is not inside.
    pub fn slice(&self, range: impl RangeBounds<usize>) -> DeviceSlice<'_, T> {
        let (first, len) = part(range, self.len);
        let address = self.memory.handle + (first * size_of::<T>()) as u64;
        DeviceSlice { device: &self.device, address, len, of: PhantomData }
    }

    /// A part of it, to write.
    ///
    /// # Panics
    /// As slices do, if the range is not inside.
    pub fn slice_mut(&mut self, range: impl RangeBounds<usize>) -> DeviceSliceMut<'_, T> {
        DeviceSliceMut(self.slice(range))
    }

    /// Copies it to the host.
    ///
    /// # Errors
    /// [`Error::Device`], also of kernels that ran before.
    pub fn download(&self) -> Result<Vec<T>> {
        self.slice(..).download()
    }
}

/// Numbers on a device, borrowed to be read.
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
    /// Memory of the caller's, from which numbers are read.
    ///
    /// # Safety
    /// `address` is that of `len` numbers in the memory of `device`, aligned for them, which nobody writes while this lives.
    pub unsafe fn from_raw(device: &'a Device, address: u64, len: usize) -> Self {
        Self { device, address, len, of: PhantomData }
    }

    /// How many numbers there are.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Where they begin.
    pub fn address(&self) -> u64 {
        self.address
    }

    /// The device whose memory it is.
    pub fn device(&self) -> &'a Device {
        self.device
    }

    /// Copies them to the host.
    ///
    /// # Errors
    /// [`Error::Device`], also of kernels that ran before.
    pub fn download(&self) -> Result<Vec<T>> {
        let mut values = vec![T::zeroed(); self.len];
        self.read(&mut values)?;
        Ok(values)
    }

    /// Copies them to an array of the host.
    ///
    /// # Errors
    /// [`Error::Shape`], [`Error::Device`].
    pub fn read(&self, to: &mut [T]) -> Result<()> {
        check_len("values", self.len, to.len())?;
        let (machine, stream) = (self.device.machine(), self.device.stream_handle());
        // SAFETY: `len` numbers are there; writing them would need a borrow that excludes this one.
        unsafe { machine.read(stream, self.address, bytemuck::cast_slice_mut(to)) }
    }
}

/// Numbers on a device, borrowed to be written.
#[derive(Debug)]
pub struct DeviceSliceMut<'a, T>(DeviceSlice<'a, T>);

impl<'a, T: Pod> From<&'a mut DeviceVec<T>> for DeviceSliceMut<'a, T> {
    fn from(array: &'a mut DeviceVec<T>) -> Self {
        array.slice_mut(..)
    }
}

impl<'a, T: Pod> DeviceSliceMut<'a, T> {
    /// Memory of the caller's, to which numbers are written.
    ///
    /// # Safety
    /// `address` is that of `len` numbers in the memory of `device`, aligned for them, which nobody else uses while this lives.
    pub unsafe fn from_raw(device: &'a Device, address: u64, len: usize) -> Self {
        // SAFETY: the caller's promise.
        Self(unsafe { DeviceSlice::from_raw(device, address, len) })
    }

    /// The same to read, as long as it is not written.
    pub fn as_slice(&self) -> DeviceSlice<'_, T> {
        self.0
    }

    /// The same for a shorter time.
    pub fn reborrow(&mut self) -> DeviceSliceMut<'_, T> {
        DeviceSliceMut(self.0)
    }

    /// A part of it.
    ///
    /// # Panics
    /// As slices do, if the range is not inside.
    pub fn part(&mut self, range: impl RangeBounds<usize>) -> DeviceSliceMut<'_, T> {
        let (first, len) = part(range, self.0.len);
        let address = self.0.address + (first * size_of::<T>()) as u64;
        DeviceSliceMut(DeviceSlice { device: self.0.device, address, len, of: PhantomData })
    }

    /// Copies numbers of the host.
    ///
    /// # Errors
    /// [`Error::Shape`], [`Error::Device`].
    pub fn write(&mut self, values: &[T]) -> Result<()> {
        check_len("values", self.0.len, values.len())?;
        let (machine, stream) = (self.0.device.machine(), self.0.device.stream_handle());
        // SAFETY: `len` numbers are there, and borrowed by us alone.
        unsafe { machine.write(stream, self.0.address, bytemuck::cast_slice(values)) }
    }

    /// Copies other numbers of the same device.
    ///
    /// # Errors
    /// [`Error::Shape`], [`Error::Device`].
    pub fn copy_from(&mut self, other: DeviceSlice<'_, T>) -> Result<()> {
        check_len("values", self.0.len, other.len)?;
        assert!(self.0.device.same_as(other.device), "arrays of one device");
        let (machine, stream) = (self.0.device.machine(), self.0.device.stream_handle());
        // SAFETY: `len` numbers are in both; this one is borrowed by us alone.
        unsafe { machine.copy(stream, other.address, self.0.address, self.0.len * size_of::<T>()) }
    }

    /// Sets all of it to zero.
    ///
    /// # Errors
    /// [`Error::Device`].
    pub fn clear(&mut self) -> Result<()> {
        let (machine, stream) = (self.0.device.machine(), self.0.device.stream_handle());
        // SAFETY: `len` numbers are there, and borrowed by us alone.
        unsafe { machine.clear(stream, self.0.address, self.0.len * size_of::<T>()) }
    }
}

pub(crate) fn check_len(what: &'static str, expected: usize, got: usize) -> Result<()> {
    if got == expected { Ok(()) } else { Err(Error::Shape { what, expected, got }) }
}
