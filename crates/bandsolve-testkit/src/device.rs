//! The device that tests of the GPU crate use.

/// The device that the environment variable `BANDSOLVE_TEST_DEVICE` names, such as `cuda`; `None` if it is not set.
pub fn named_device() -> Option<String> {
    std::env::var("BANDSOLVE_TEST_DEVICE").ok().filter(|name| !name.is_empty())
}
