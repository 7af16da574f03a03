//! Test that every kernel works in waves of 64 lanes as in warps of 32.

use super::ORDERS;
use super::every_kernel::{SystemsOnDevice, run_every_kernel};
use crate::device::DeviceScalar;
use crate::emulated::{Emulation, Emulator, WaveSize};
use bandsolve::{Complex32, Complex64};

/// The results have the same bits in all orders.
fn waves_do_not_matter<T: DeviceScalar>(other: impl Fn(&mut SystemsOnDevice)) {
    let results = |how: Emulation| {
        let emulator = |multiprocessors| Emulator::new(Emulation { resident: 3, multiprocessors, ..how });
        run_every_kernel::<T>(emulator, &other)
    };
    let expected = results(Emulation::default());
    for order in ORDERS {
        // `assert_eq!` would print all bits.
        assert!(results(Emulation { order, wave: WaveSize::Lanes64, ..Emulation::default() }) == expected, "{order:?}");
    }
}

#[test]
fn waves_do_not_matter_f32() {
    waves_do_not_matter::<f32>(SystemsOnDevice::of_real_numbers::<f32>);
}

#[test]
fn waves_do_not_matter_f64() {
    waves_do_not_matter::<f64>(SystemsOnDevice::of_double_precision);
}

#[test]
fn waves_do_not_matter_c32() {
    waves_do_not_matter::<Complex32>(|_| ());
}

#[test]
fn waves_do_not_matter_c64() {
    waves_do_not_matter::<Complex64>(SystemsOnDevice::rounded_vectors::<Complex64>);
}
