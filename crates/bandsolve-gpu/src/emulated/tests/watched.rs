//! An emulated device for tests, which records the kernels that run, counts its memory, and lets a call fail.

use crate::dense::DenseBatch;
use crate::device::{Backend, Device, HeldResource, Launch, Limits};
use crate::emulated::Emulator;
use bandsolve::{Error, Result};
use core::any::Any;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

/// The message of the call that fails.
pub const FAILED: &str = "this call fails in this test";

pub struct Watched {
    emulator: Emulator,
    launched: Mutex<BTreeSet<String>>,
    called: Mutex<BTreeSet<&'static str>>,
    /// The number of launches, and the most bytes that a call copied to the host.
    launches: Mutex<usize>,
    most_read: Mutex<usize>,
    /// The number of calls before the one that fails, and the name of the call that failed.
    calls: Mutex<(usize, Option<&'static str>)>,
    /// Each allocation and stream holds a clone.
    held: Arc<()>,
}

impl Watched {
    pub fn new(emulator: Emulator) -> Arc<Self> {
        Arc::new(Self {
            emulator,
            launched: Mutex::default(),
            called: Mutex::default(),
            launches: Mutex::default(),
            most_read: Mutex::default(),
            calls: Mutex::new((usize::MAX, None)),
            held: Arc::default(),
        })
    }

    pub fn device(self: &Arc<Self>) -> Device {
        Device::new(self.clone(), 0, Arc::default())
    }

    /// Let the call after `calls` others fail, and no other call.
    pub fn fail_after(&self, calls: usize) {
        *self.calls.lock().unwrap() = (calls, None);
    }

    /// The name of the call that failed since then.
    pub fn failed(&self) -> Option<&'static str> {
        self.calls.lock().unwrap().1
    }

    /// The number of allocations and streams that were not released.
    pub fn held(&self) -> usize {
        Arc::strong_count(&self.held) - 1
    }

    /// The names of the calls of `work`.
    pub fn calls_of(&self, work: impl FnOnce()) -> BTreeSet<&'static str> {
        self.called.lock().unwrap().clear();
        work();
        self.called.lock().unwrap().clone()
    }

    /// The number of launches of `work`.
    pub fn launches_of(&self, work: impl FnOnce()) -> usize {
        let before = *self.launches.lock().unwrap();
        work();
        *self.launches.lock().unwrap() - before
    }

    /// The most bytes that a call of `work` copied to the host.
    pub fn most_read_by(&self, work: impl FnOnce()) -> usize {
        *self.most_read.lock().unwrap() = 0;
        work();
        *self.most_read.lock().unwrap()
    }

    fn call(&self, call: &'static str) -> Result<()> {
        self.called.lock().unwrap().insert(call);
        let (left, failed) = &mut *self.calls.lock().unwrap();
        if *left == 0 && failed.is_none() {
            *failed = Some(call);
            return Err(Error::Device { call, message: FAILED.into() });
        }
        *left = left.saturating_sub(1);
        Ok(())
    }

    fn hold(&self, resource: HeldResource) -> HeldResource {
        HeldResource { handle: resource.handle, owner: Box::new((resource, self.held.clone())) }
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

    fn number(&self) -> usize {
        self.emulator.number()
    }

    fn holds(&self, address: u64) -> bool {
        self.emulator.holds(address)
    }

    fn limits(&self) -> Limits {
        self.emulator.limits()
    }

    fn allocate(&self, bytes: usize) -> Result<HeldResource> {
        self.call("allocate")?;
        self.emulator.allocate(bytes).map(|memory| self.hold(memory))
    }

    fn allocate_on_host(&self, bytes: usize) -> Result<HeldResource> {
        self.call("allocate_on_host")?;
        self.emulator.allocate_on_host(bytes).map(|memory| self.hold(memory))
    }

    fn new_stream(&self) -> Result<HeldResource> {
        self.call("new_stream")?;
        self.emulator.new_stream().map(|stream| self.hold(stream))
    }

    fn synchronize(&self, stream: u64) -> Result<()> {
        self.call("synchronize")?;
        self.emulator.synchronize(stream)
    }

    fn enter_context(&self) -> Result<Box<dyn Any>> {
        self.call("enter_context")?;
        self.emulator.enter_context()
    }

    fn dense(&self) -> Result<Arc<dyn DenseBatch>> {
        self.call("dense")?;
        self.emulator.dense()
    }

    fn wait_for(&self, stream: u64, other: u64) -> Result<()> {
        self.call("wait_for")?;
        self.emulator.wait_for(stream, other)
    }

    fn time(&self, stream: u64, work: &mut dyn FnMut() -> Result<()>) -> Result<f64> {
        self.call("time")?;
        self.emulator.time(stream, work)
    }

    unsafe fn clear(&self, stream: u64, address: u64, bytes: usize) -> Result<()> {
        self.call("clear")?;
        // SAFETY: here and below, the caller's promise.
        unsafe { self.emulator.clear(stream, address, bytes) }
    }

    unsafe fn write(&self, stream: u64, address: u64, from: &[u8]) -> Result<()> {
        self.call("write")?;
        // SAFETY: see above.
        unsafe { self.emulator.write(stream, address, from) }
    }

    unsafe fn read(&self, stream: u64, address: u64, to: &mut [u8]) -> Result<()> {
        self.call("read")?;
        let mut most = self.most_read.lock().unwrap();
        *most = to.len().max(*most);
        // SAFETY: see above.
        unsafe { self.emulator.read(stream, address, to) }
    }

    unsafe fn read_later(&self, stream: u64, address: u64, to: u64, bytes: usize) -> Result<()> {
        self.call("read_later")?;
        // SAFETY: see above.
        unsafe { self.emulator.read_later(stream, address, to, bytes) }
    }

    unsafe fn copy(&self, stream: u64, from: u64, to: u64, bytes: usize) -> Result<()> {
        self.call("copy")?;
        // SAFETY: see above.
        unsafe { self.emulator.copy(stream, from, to, bytes) }
    }

    fn resident(&self, kernel: &str, threads: u32, shared: usize) -> Result<usize> {
        self.call("resident")?;
        self.emulator.resident(kernel, threads, shared)
    }

    unsafe fn launch(&self, launch: &Launch, arguments: Vec<Box<[u64]>>) -> Result<()> {
        self.call("launch")?;
        *self.launches.lock().unwrap() += 1;
        self.launched.lock().unwrap().insert(launch.kernel.into());
        // SAFETY: see above.
        unsafe { self.emulator.launch(launch, arguments) }
    }
}
