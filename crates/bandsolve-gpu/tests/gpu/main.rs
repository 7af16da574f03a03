//! The GPU crate on emulated devices.

mod conformance;
mod mend;
mod oracle;
mod sparse;
mod spread;
