//! Tests of the emulator: it finds the bugs of broken kernels, of wrong orders and of waves, and none in other kernels.

mod bugs;
mod every_kernel;
mod failures;
mod forests;
mod races;
mod steps;
mod streams;
mod vectors;
pub(crate) mod watched;
mod waves;

use super::Order;

const ORDERS: [Order; 3] = [Order::Forward, Order::Reverse, Order::Random];
