//! An emulated device for tests, which records the kernels that run.

use crate::device::{Backend, Device, HeldResource, Launch, Limits};
use crate::emulated::Emulator;
use bandsolve::Result;
use core::any::Any;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

pub struct Watched {
    emulator: Emulator,
    launched: Mutex<BTreeSet<String>>,
}

impl Watched {
    pub fn new(emulator: Emulator) -> Arc<Self> {
        Arc::new(Self { emulator, launched: Mutex::default() })
    }

    pub fn device(self: &Arc<Self>) -> Device {
        Device::new(self.clone(), 0, Arc::default())
    }

    /// Whether this kernel ran.
    pub fn launched(&self, kernel: &str) -> bool {
        self.launched.lock().unwrap().contains(kernel)
    }
}

impl Backend for Watched {
    fn name(&self) -> String {
        self.emulator.name()
    }

    fn limits(&self) -> Limits {
        self.emulator.limits()
    }

    fn allocate(&self, bytes: usize) -> Result<HeldResource> {
        self.emulator.allocate(bytes)
    }

    fn new_stream(&self) -> Result<HeldResource> {
        self.emulator.new_stream()
    }

    fn synchronize(&self, stream: u64) -> Result<()> {
        self.emulator.synchronize(stream)
    }

    fn enter_context(&self) -> Result<Box<dyn Any>> {
        self.emulator.enter_context()
    }

    fn wait_for(&self, stream: u64, other: u64) -> Result<()> {
        self.emulator.wait_for(stream, other)
    }

    fn time(&self, stream: u64, work: &mut dyn FnMut() -> Result<()>) -> Result<f64> {
        self.emulator.time(stream, work)
    }

    unsafe fn clear(&self, stream: u64, address: u64, bytes: usize) -> Result<()> {
        // SAFETY: here and below, the caller's promise.
        unsafe { self.emulator.clear(stream, address, bytes) }
    }

    unsafe fn write(&self, stream: u64, address: u64, from: &[u8]) -> Result<()> {
        // SAFETY: see above.
        unsafe { self.emulator.write(stream, address, from) }
    }

    unsafe fn read(&self, stream: u64, address: u64, to: &mut [u8]) -> Result<()> {
        // SAFETY: see above.
        unsafe { self.emulator.read(stream, address, to) }
    }

    unsafe fn copy(&self, stream: u64, from: u64, to: u64, bytes: usize) -> Result<()> {
        // SAFETY: see above.
        unsafe { self.emulator.copy(stream, from, to, bytes) }
    }

    fn resident(&self, kernel: &str, threads: u32, shared: usize) -> Result<usize> {
        self.emulator.resident(kernel, threads, shared)
    }

    unsafe fn launch(&self, launch: &Launch, arguments: Vec<Box<[u64]>>) -> Result<()> {
        self.launched.lock().unwrap().insert(launch.kernel.into());
        // SAFETY: see above.
        unsafe { self.emulator.launch(launch, arguments) }
    }
}
