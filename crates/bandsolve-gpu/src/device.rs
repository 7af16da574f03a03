//! Devices, memory on them, and what can go wrong.

use crate::cuda::Cuda;
#[cfg(feature = "emulator")]
use crate::emulated::{Emulation, Emulator};
use bandsolve::{Complex32, Complex64, Scalar};
use bytemuck::Pod;
use core::any::Any;
use core::ffi::c_void;
use core::fmt::{self, Debug, Formatter};
use core::marker::PhantomData;
use std::sync::Arc;

/// What can go wrong on a device.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// There is no GPU that could be used.
    #[error("no GPU: {reason}")]
    NoDevice {
        /// Why not.
        reason: String,
    },
    /// A call of the driver failed.
    #[error("{call} failed on the GPU: {message}")]
    Driver {
        /// What was being done.
        call: &'static str,
        /// What the driver says.
        message: String,
    },
    /// An array has the wrong length.
    #[error("{array} has {got} elements, expected {expected}")]
    Length {
        /// Which.
        array: &'static str,
        /// How many it has.
        got: usize,
        /// How many it should have.
        expected: usize,
    },
    /// The host could not solve the system either.
    #[error(transparent)]
    Solve(#[from] bandsolve::Error),
    /// A system is larger than kernels can count.
    #[error("{n} unknowns are more than the kernels can count")]
    TooLarge {
        /// Its unknowns.
        n: usize,
    },
}

/// What calls on devices return.
pub type Result<T> = core::result::Result<T, Error>;

/// A number type that the kernels know.
pub trait Element: Scalar {
    /// What the names of its kernels end with.
    const SUFFIX: &'static str;
    /// The real number that has these bits.
    fn real_of_bits(bits: u64) -> f64;
    /// Bytes of a real number.
    const REAL_BYTES: usize = size_of::<Self::Real>();
}

macro_rules! element {
    ($($t:ty: $suffix:literal, $real:ty, $word:ty;)*) => {$(
        impl Element for $t {
            const SUFFIX: &'static str = $suffix;
            fn real_of_bits(bits: u64) -> f64 {
                <$real>::from_bits(bits as $word).into()
            }
        }
    )*};
}
element! {
    f32: "f32", f32, u32;
    f64: "f64", f64, u64;
    Complex32: "c32", f32, u32;
    Complex64: "c64", f64, u64;
}

/// Memory of a device, freed with it.
pub(crate) struct Memory {
    pub address: u64,
    #[cfg_attr(not(feature = "emulator"), expect(dead_code, reason = "frees the memory when it is dropped"))]
    pub owner: Box<dyn Any + Send + Sync>,
}

/// A kernel and how many threads run it.
pub(crate) struct Launch {
    pub kernel: String,
    pub blocks: u32,
    pub threads: u32,
    /// Bytes of dynamic shared memory.
    pub shared: usize,
}

/// What runs kernels.
pub(crate) trait Machine: Send + Sync {
    fn name(&self) -> String;
    /// Dynamic shared memory that a block may have, in bytes.
    fn shared_limit(&self) -> usize;
    /// Memory, full of zeros.
    fn allocate(&self, bytes: usize) -> Result<Memory>;
    fn clear(&self, memory: &Memory, bytes: usize) -> Result<()>;
    fn write(&self, memory: &Memory, from: &[u8]) -> Result<()>;
    fn read(&self, memory: &Memory, to: &mut [u8]) -> Result<()>;
    fn copy(&self, from: &Memory, to: &Memory, bytes: usize) -> Result<()>;
    /// Runs a kernel.
    ///
    /// # Safety
    /// The arguments are those of the kernel, and what they point to on the device is as large as it expects.
    unsafe fn launch(&self, launch: &Launch, arguments: &mut [*mut c_void]) -> Result<()>;
}

/// A GPU, or the emulation of one. Clones are the same device.
#[derive(Clone)]
pub struct Device {
    machine: Arc<dyn Machine>,
}

impl Debug for Device {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "Device({})", self.name())
    }
}

impl Device {
    /// An NVIDIA GPU, the first being number 0.
    ///
    /// # Errors
    /// [`Error::NoDevice`] where there is no driver, no compiler for its kernels (NVRTC), or no such GPU.
    pub fn cuda(number: usize) -> Result<Self> {
        Ok(Self { machine: Arc::new(Cuda::open(number)?) })
    }

    /// The kernels on the CPU.
    #[cfg(feature = "emulator")]
    pub fn emulated(how: Emulation) -> Self {
        Self { machine: Arc::new(Emulator::new(how)) }
    }

    /// What it is called.
    pub fn name(&self) -> String {
        self.machine.name()
    }

    pub(crate) fn machine(&self) -> &dyn Machine {
        &*self.machine
    }

    /// `n` zeros.
    ///
    /// # Errors
    /// [`Error::Driver`], if there is no memory.
    pub fn zeros<T: Pod>(&self, n: usize) -> Result<DeviceVec<T>> {
        let memory = self.machine.allocate(n * size_of::<T>())?;
        Ok(DeviceVec { device: self.clone(), memory, len: n, of: PhantomData })
    }

    /// Numbers copied to the device.
    ///
    /// # Errors
    /// [`Error::Driver`], if there is no memory.
    pub fn upload<T: Pod>(&self, values: &[T]) -> Result<DeviceVec<T>> {
        let mut array = self.zeros(values.len())?;
        array.write(values)?;
        Ok(array)
    }
}

/// An array on a device.
pub struct DeviceVec<T> {
    device: Device,
    memory: Memory,
    len: usize,
    of: PhantomData<T>,
}

impl<T> Debug for DeviceVec<T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "DeviceVec of {} on {}", self.len, self.device.name())
    }
}

impl<T> DeviceVec<T> {
    /// How many numbers it holds.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether it holds none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Where it begins, on the device.
    pub fn address(&self) -> u64 {
        self.memory.address
    }
}

impl<T: Pod> DeviceVec<T> {
    /// Copies it to the host.
    ///
    /// # Errors
    /// [`Error::Driver`], also of kernels that ran before.
    pub fn download(&self) -> Result<Vec<T>> {
        let mut values = vec![T::zeroed(); self.len];
        self.device.machine.read(&self.memory, bytemuck::cast_slice_mut(&mut values))?;
        Ok(values)
    }

    /// Copies numbers of the host.
    ///
    /// # Errors
    /// [`Error::Length`], [`Error::Driver`].
    pub fn write(&mut self, values: &[T]) -> Result<()> {
        self.check_len(values.len())?;
        self.device.machine.write(&self.memory, bytemuck::cast_slice(values))
    }

    /// Copies another array of the same device and length.
    ///
    /// # Errors
    /// [`Error::Length`], [`Error::Driver`].
    pub fn copy_from(&mut self, other: &Self) -> Result<()> {
        self.check_len(other.len)?;
        assert!(Arc::ptr_eq(&self.device.machine, &other.device.machine), "arrays of one device");
        self.device.machine.copy(&other.memory, &self.memory, self.len * size_of::<T>())
    }

    fn check_len(&self, got: usize) -> Result<()> {
        if got == self.len { Ok(()) } else { Err(Error::Length { array: "source", got, expected: self.len }) }
    }

    /// Sets all of it to zero.
    ///
    /// # Errors
    /// [`Error::Driver`].
    pub fn clear(&mut self) -> Result<()> {
        self.device.machine.clear(&self.memory, self.len * size_of::<T>())
    }
}
