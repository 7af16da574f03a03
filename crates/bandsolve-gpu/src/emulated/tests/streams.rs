//! Tests that work in a wrong order shows.

use super::ORDERS;
use crate::device::{Backend, Device, DeviceVec, Launch};
use crate::emulated::{Emulation, Emulator, Order};
use std::sync::Arc;

/// Two streams. A kernel that is on the first one writes `out`, with the numbers of `given` one place further.
struct Streams {
    emulator: Arc<Emulator>,
    first: Device,
    second: Device,
    given: DeviceVec<u32>,
    out: DeviceVec<u32>,
}

const N: usize = 64;

fn expected() -> Vec<u32> {
    (0..N as u32).map(|t| (t + 1) % N as u32).collect()
}

impl Streams {
    fn new(order: Order) -> Self {
        let emulator = Arc::new(Emulator::new(Emulation { order, ..Emulation::default() }));
        let first = Device::new(emulator.clone(), 0, Arc::default());
        let given = first.upload(&(0..N as u32).collect::<Vec<_>>()).unwrap();
        let out = first.zeros::<u32>(N).unwrap();
        let arguments = [given.slice(..).address(), out.slice(..).address(), 1];
        let (threads, stream) = (N as u32, first.stream_handle());
        let launch = Launch { kernel: "no_barrier", blocks: 1, threads, shared: 4 * N, cooperative: false, stream };
        // SAFETY: these are the arguments of the kernel, whose arrays have a number for each thread.
        unsafe { emulator.launch(&launch, arguments.map(|argument| Box::from([argument])).into()) }.unwrap();
        Self { second: first.stream().unwrap(), emulator, first, given, out }
    }
}

/// Check that some work on two streams is correct in all orders with an event, and not in all orders without one.
fn only_with_an_event(is_correct: impl Fn(Streams) -> bool) {
    let all = |event: bool| {
        ORDERS.into_iter().all(|order| {
            let streams = Streams::new(order);
            if event {
                streams.second.wait_for(&streams.first).unwrap();
            }
            is_correct(streams)
        })
    };
    assert!(all(true) && !all(false));
}

#[test]
fn a_copy_on_another_stream_shows_a_missing_event() {
    only_with_an_event(|streams| {
        let copy = streams.second.zeros::<u32>(N).unwrap();
        let (from, to) = (streams.out.slice(..).address(), copy.slice(..).address());
        // SAFETY: both arrays have this size. The emulator runs one operation at a time.
        unsafe { streams.emulator.copy(streams.second.stream_handle(), from, to, 4 * N) }.unwrap();
        copy.download().unwrap() == expected()
    });
}

#[test]
fn reading_on_another_stream_shows_a_missing_event() {
    only_with_an_event(|streams| {
        let mut numbers = vec![0_u32; N];
        let (stream, from) = (streams.second.stream_handle(), streams.out.slice(..).address());
        // SAFETY: the array has this size. The emulator runs one operation at a time.
        unsafe { streams.emulator.read(stream, from, bytemuck::cast_slice_mut(&mut numbers)) }.unwrap();
        numbers == expected()
    });
}

#[test]
fn writing_on_another_stream_shows_a_missing_event() {
    only_with_an_event(|streams| {
        let (stream, to) = (streams.second.stream_handle(), streams.given.slice(..).address());
        // SAFETY: the array has this size. The emulator runs one operation at a time.
        unsafe { streams.emulator.write(stream, to, &[7; 4 * N]) }.unwrap();
        streams.out.download().unwrap() == expected()
    });
}

/// As `cuMemFree`, which waits for the device.
#[test]
fn memory_is_freed_after_the_work_that_uses_it() {
    for order in ORDERS {
        let Streams { given, out, .. } = Streams::new(order);
        drop(given);
        assert_eq!(out.download().unwrap(), expected());
    }
}

#[test]
fn default_streams_have_the_numbers_of_cuda() {
    let device = Device::emulated(Emulation::default());
    // SAFETY: these streams always exist.
    let numbers = [0, 1, 2].map(|number| unsafe { device.with_stream(number) }.stream_handle());
    assert_eq!(numbers, [0, 0, 2], "0 and 1 are the same stream");
    assert!(device.stream().unwrap().stream_handle() > 2);
}

#[test]
fn a_device_knows_its_memory() {
    let [device, other] = ["emulated:reverse", "emulated:random"].map(|name| Device::open(name).unwrap());
    let array = device.upload(&[1.0; 5]).unwrap();
    let first = array.slice(..).address();
    assert!(device.holds(first) && device.holds(first + 39) && !device.holds(first + 40));
    assert!(!other.holds(first) && !device.holds(&raw const first as u64));
    drop(array);
    assert!(!device.holds(first));
    assert!(Device::open("emulated:late").is_err());
}
