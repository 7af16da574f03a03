//! Tests of the GPU crate on emulated devices, or on the device that `BANDSOLVE_TEST_DEVICE` names, such as `cuda`. With the name `races`,
//! emulated devices also find data races.

mod conformance;
mod eigen;
mod krylov;
mod oracle;
mod product;
mod reference;
mod repair;
mod singular;
mod sparse;
mod spread;
mod streams;
mod vectors;

use bandsolve_gpu::{Device, Emulation};
use std::sync::LazyLock;

/// The device that `BANDSOLVE_TEST_DEVICE` names.
static NAMED: LazyLock<Option<Device>> = LazyLock::new(|| {
    let name = bandsolve_testkit::named_device().filter(|name| name != RACES)?;
    let device = Device::open(&name).unwrap_or_else(|error| panic!("BANDSOLVE_TEST_DEVICE={name}: {error}"));
    println!("testing on {}", device.name());
    Some(device)
});

/// Names emulated devices that find data races.
const RACES: &str = "races";

/// The number of multiprocessors from which on a test wants the whole device.
const MANY: usize = 64;

/// A device for a test. A named device has the limits of the emulated one, so that the kernels divide systems alike, unless the test
/// asks for many multiprocessors.
fn test_device(how: Emulation) -> Device {
    let races = bandsolve_testkit::named_device().is_some_and(|name| name == RACES);
    let emulated = if races { Device::emulated_with_races(how) } else { Device::emulated(how) };
    match &*NAMED {
        None => emulated,
        Some(device) if how.multiprocessors >= MANY => device.clone(),
        Some(device) => device.with_limits(emulated.limits()),
    }
}
