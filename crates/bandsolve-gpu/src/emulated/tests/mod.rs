//! Tests of the emulator: it finds the bugs of broken kernels and of wrong orders, and no races in other kernels.

mod bugs;
mod failures;
mod forests;
mod races;
mod steps;
mod streams;
mod watched;

use super::Order;

const ORDERS: [Order; 3] = [Order::Forward, Order::Reverse, Order::Random];
