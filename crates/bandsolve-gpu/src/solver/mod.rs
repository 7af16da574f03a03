//! Solvers in the memory of a device.

mod card;
mod enqueue;
mod factored;
mod level_factors;
mod pending;
mod repair;
mod route;
mod start;
mod state;
mod status;
pub(crate) mod verdict;

pub use factored::{Factored, FactoredOperations};
pub use pending::Pending;
pub use state::DeviceSolver;
pub(crate) use state::{DeviceRows, fallback_plan, largest, rule};
pub use status::DeviceStatus;
