//! The GPU crate on emulated devices.

mod conformance;
mod mend;
mod oracle;
mod reference;
mod sparse;
mod spread;
