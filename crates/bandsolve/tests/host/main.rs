//! Solves in processes with unusual floating-point modes, numbers of threads and limits on threads.

#[cfg(target_arch = "x86_64")]
mod arithmetic;
#[cfg(target_os = "linux")]
mod threads;
#[cfg(any(target_arch = "x86_64", target_os = "linux"))]
mod work;
