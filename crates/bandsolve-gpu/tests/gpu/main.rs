//! The GPU crate on emulated devices.

mod conformance;
mod oracle;
mod sparse;
mod spread;
