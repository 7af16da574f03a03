//! Systems that fit in the shared memory of the whole device, which one launch solves.

use crate::cut::{DeviceCut, KernelKind, THREADS};
use crate::device::{Device, DeviceScalar, DeviceVec};
use crate::launch::{Coarse, Peaks, PivotOptions};
use bandsolve::Result;

/// Maximum number of levels of the kernel for systems that fit on the whole device (`card.cuh`).
const MOST_LEVELS: usize = 5;

/// A system that fits in the shared memory of the whole device, in the form that the kernel uses (`card.cuh`).
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub(super) struct Card {
    pub levels: u32,
    pub before: u32,
    pub arrived: u64,
    pub cuts: [DeviceCut; MOST_LEVELS],
    pub below: [Coarse; MOST_LEVELS],
    pub peaks: [Peaks; MOST_LEVELS],
}

/// The name of the kernel for blocks of `block` rows.
pub(super) fn card_kernel<T: DeviceScalar>(block: usize, rule: &PivotOptions) -> String {
    format!("card_{}_{block}{}", T::NAME, if block == 1 { rule.ending() } else { "" })
}

/// The bytes of shared memory per thread block for a system that the device solves in one launch, and memory for its
/// barrier. `None` if not all thread blocks can run at the same time.
pub(super) fn fits_card<T: DeviceScalar>(
    device: &Device,
    levels: &[(DeviceCut, KernelKind)],
    rule: &PivotOptions,
) -> Result<Option<(usize, DeviceVec<u32>)>> {
    let Some((top, below)) = levels.split_first().filter(|(_, below)| !below.is_empty()) else { return Ok(None) };
    let bytes = |(k, (cut, kind)): (usize, &(DeviceCut, KernelKind))| match k + 1 == below.len() {
        true => kind.finish_bytes(cut),
        false => kind.substitute_bytes(cut),
    };
    let rest = below.iter().enumerate().map(bytes).max().unwrap_or(0);
    let shared = top.1.substitute_bytes(&top.0) + rest;
    let limits = device.limits();
    // The maximum number of thread blocks of any kernel on this device.
    let most = limits.multiprocessors * limits.shared_per_multiprocessor / shared;
    if levels.len() > MOST_LEVELS || shared > limits.shared_per_block || top.0.spans as usize > most {
        return Ok(None);
    }
    let kernel = card_kernel::<T>(top.1.block, rule);
    let resident = device.machine().resident(&kernel, THREADS, shared)?;
    if top.0.spans as usize > limits.multiprocessors * resident {
        return Ok(None);
    }
    Ok(Some((shared, device.zeros(1)?)))
}
