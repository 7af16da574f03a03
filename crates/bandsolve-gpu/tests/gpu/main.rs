//! Tests of the GPU crate on emulated devices, or on the device that `BANDSOLVE_TEST_DEVICE` names, such as `cuda`. With the name `races`,
//! emulated devices also find data races, and with the name `waves`, they have waves of 64 lanes.

mod blocks;
mod conformance;
mod eigen;
mod forest;
mod krylov;
mod oracle;
mod poisson;
mod preconditioners;
mod product;
mod reference;
mod repair;
mod single;
mod singular;
mod sparse;
mod spread;
mod status;
mod stored;
mod streams;
mod vectors;

use bandsolve_gpu::{Device, Emulation, WaveSize};
use std::sync::LazyLock;

/// The device that `BANDSOLVE_TEST_DEVICE` names.
static NAMED: LazyLock<Option<Device>> = LazyLock::new(|| {
    let name = bandsolve_testkit::named_device().filter(|name| name != RACES && name != WAVES)?;
    let device = Device::open(&name).unwrap_or_else(|error| panic!("BANDSOLVE_TEST_DEVICE={name}: {error}"));
    println!("testing on {}", device.name());
    Some(device)
});

/// Names emulated devices that find data races.
const RACES: &str = "races";

/// Names emulated devices with waves of 64 lanes.
const WAVES: &str = "waves";

/// The number of multiprocessors from which on a test wants the whole device.
const MANY: usize = 64;

/// A device for a test. A named device has the limits of the emulated one, so that the kernels divide systems alike, unless the test
/// asks for many multiprocessors.
fn test_device(how: Emulation) -> Device {
    let emulated = match bandsolve_testkit::named_device().as_deref() {
        Some(RACES) => Device::emulated_with_races(how),
        Some(WAVES) => Device::emulated(Emulation { wave: WaveSize::Lanes64, ..how }),
        _ => Device::emulated(how),
    };
    match &*NAMED {
        None => emulated,
        Some(device) if how.multiprocessors >= MANY => device.clone(),
        Some(device) => device.with_limits(emulated.limits()),
    }
}

/// Whether the tests run on emulated devices.
fn is_emulated() -> bool {
    NAMED.is_none()
}
