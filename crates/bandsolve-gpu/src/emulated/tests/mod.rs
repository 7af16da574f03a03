//! Tests of the emulator: it finds the bugs of broken kernels, and none in the others.

mod bugs;
mod races;
mod watched;
