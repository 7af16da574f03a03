//! What the process is like that asks for a solution: its arithmetic, its threads, and how many it can start.

#[cfg(target_arch = "x86_64")]
mod arithmetic;
#[cfg(target_os = "linux")]
mod threads;
#[cfg(any(target_arch = "x86_64", target_os = "linux"))]
mod work;
