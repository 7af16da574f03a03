//! Test that no kernel has a data race.

use super::every_kernel::{SystemsOnDevice, run_every_kernel};
use crate::device::DeviceScalar;
use crate::emulated::{Emulation, Emulator, Order};
use bandsolve::{Complex32, Complex64};

fn no_kernel_has_a_race<T: DeviceScalar>(other: impl Fn(&mut SystemsOnDevice)) {
    let how = Emulation { order: Order::Random, resident: 3, ..Emulation::default() };
    run_every_kernel::<T>(|multiprocessors| Emulator::with_races(Emulation { multiprocessors, ..how }), other);
}

#[test]
fn no_kernel_has_a_race_f32() {
    no_kernel_has_a_race::<f32>(SystemsOnDevice::of_real_numbers::<f32>);
}

#[test]
fn no_kernel_has_a_race_f64() {
    no_kernel_has_a_race::<f64>(SystemsOnDevice::of_double_precision);
}

#[test]
fn no_kernel_has_a_race_c32() {
    no_kernel_has_a_race::<Complex32>(|_| ());
}

#[test]
fn no_kernel_has_a_race_c64() {
    no_kernel_has_a_race::<Complex64>(SystemsOnDevice::rounded_vectors::<Complex64>);
}
