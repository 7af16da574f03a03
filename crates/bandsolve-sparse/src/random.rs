//! Random numbers that are functions of their place.

pub(crate) use bandsolve_kernel::random::split_mix as mixed;
