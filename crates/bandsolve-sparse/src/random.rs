//! Random numbers that depend only on their place.

pub(crate) use bandsolve_kernel::random::split_mix as mixed;
