//! Arguments of `bench` and `stability`.

mod bench;
mod stability;

pub use bandsolve_program::options::RealDtype;
pub use bench::*;
pub use stability::*;
