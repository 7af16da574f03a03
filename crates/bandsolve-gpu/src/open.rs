//! Opening of devices: NVIDIA GPUs, and the emulated GPU of tests.

use crate::cuda::{Cuda, ordinal_of};
use crate::device::Device;
#[cfg(feature = "emulator")]
use crate::emulated::{Emulation, Emulator, Order};
use crate::tuning::DeviceTuning;
use bandsolve::{Error, Result};
#[cfg(feature = "emulator")]
use std::sync::Arc;

impl Device {
    /// Open an NVIDIA GPU, with its default stream. The first GPU has number 0.
    ///
    /// # Errors
    /// [`Error::NoDevice`] if there is no driver, no NVRTC to compile the kernels, or no GPU with this number.
    pub fn cuda(number: usize) -> Result<Self> {
        // `bandsolve tune --show` reports an invalid file. Here the built-in sizes apply.
        let tuning = DeviceTuning::load().unwrap_or_default();
        Ok(Self::new(Cuda::open(number)?, 0, tuning.into()))
    }

    /// Open the NVIDIA GPU whose memory has this address, with its default stream.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if no GPU has it; the errors of [`cuda`](Self::cuda).
    pub fn holding(address: u64) -> Result<Self> {
        let expected = "the address of memory that CUDA allocated on a GPU";
        let number = ordinal_of(address)
            .ok_or_else(|| Error::invalid("address", format!("{address:#x} is in the memory of no GPU"), expected))?;
        Self::cuda(number)
    }

    /// Open a device by name: `cuda` or `cuda:0`, `cuda:1`, …; `emulated`, `emulated:reverse` and `emulated:random` (the order of the work), if the
    /// crate was built with the emulator.
    ///
    /// # Errors
    /// [`Error::NoDevice`].
    pub fn open(name: &str) -> Result<Self> {
        #[cfg(feature = "emulator")]
        if let Some(rest) = name.strip_prefix("emulated") {
            let order = match rest {
                "" => Some(Order::Forward),
                ":reverse" => Some(Order::Reverse),
                ":random" => Some(Order::Random),
                _ => None,
            };
            if let Some(order) = order {
                return Ok(Self::emulated(Emulation { order, ..Emulation::default() }));
            }
        }
        let number = match name.split_once(':') {
            None if name == "cuda" => Some(0),
            Some(("cuda", number)) => number.parse().ok(),
            _ => None,
        };
        number.map_or_else(
            || Err(Error::NoDevice { reason: format!("there is no device {name}; use cuda, cuda:0, cuda:1, …") }),
            Self::cuda,
        )
    }

    /// Create an emulated device, which runs the kernels on the CPU.
    #[cfg(feature = "emulator")]
    pub fn emulated(how: Emulation) -> Self {
        Self::new(Arc::new(Emulator::new(how)), 0, Arc::default())
    }

    /// Create an emulated device that also finds data races between the threads of a kernel.
    ///
    /// A race ends the program. The message names the kernel, both threads, and where in the source they access the same byte.
    ///
    /// # Panics
    /// If the build directory of this crate no longer exists.
    #[cfg(feature = "races")]
    pub fn emulated_with_races(how: Emulation) -> Self {
        Self::new(Arc::new(Emulator::with_races(how)), 0, Arc::default())
    }
}
