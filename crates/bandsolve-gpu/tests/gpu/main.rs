//! Tests of the GPU crate on emulated devices.

mod conformance;
mod mend;
mod oracle;
mod reference;
mod singular;
mod sparse;
mod spread;
