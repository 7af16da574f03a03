//! Instruction sets, and the choice of one.

use std::sync::LazyLock;

/// An instruction set for which the kernels are compiled.
///
/// # Examples
/// ```
/// use bandsolve_kernel::Simd;
/// assert!(Simd::detect().is_available() && Simd::Portable.is_available());
/// assert_eq!(Simd::Avx2.name(), "avx2");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Simd {
    /// The instruction set that the target is compiled for. Every machine has it.
    Portable,
    /// NEON of 64-bit ARM processors (aarch64). All of them have it.
    Neon,
    /// AVX2 and FMA.
    Avx2,
    /// AVX-512 F, DQ and VL (Skylake-X and later, Zen 4 and later).
    Avx512,
}

impl Simd {
    /// The instruction sets of this build, the widest last.
    pub const ALL: &[Simd] = if cfg!(target_arch = "x86_64") {
        &[Simd::Portable, Simd::Avx2, Simd::Avx512]
    } else if cfg!(target_arch = "aarch64") {
        &[Simd::Portable, Simd::Neon]
    } else {
        &[Simd::Portable]
    };

    /// Return the widest instruction set of this machine.
    ///
    /// The environment variable `BANDSOLVE_SIMD` (`portable`, `neon`, `avx2`, `avx512`) selects another one. An unknown or
    /// unavailable name has no effect.
    pub fn detect() -> Simd {
        static BEST: LazyLock<Simd> = LazyLock::new(|| {
            let asked = std::env::var("BANDSOLVE_SIMD").ok();
            let available = Simd::ALL.iter().copied().rev().filter(|s| s.is_available());
            let named = available.clone().find(|s| asked.as_deref() == Some(s.name()));
            named.or(available.clone().next()).unwrap_or(Simd::Portable)
        });
        *BEST
    }

    /// Whether this machine has the instruction set.
    ///
    /// Without optimisation, the compiler keeps every vector of a kernel on the stack: 3 MB in kernels for AVX-512, where a thread has
    /// 2 MB. Such builds only have the portable kernels.
    pub fn is_available(self) -> bool {
        match self {
            Simd::Portable => true,
            Simd::Neon => cfg!(all(target_arch = "aarch64", not(unoptimised))),
            Simd::Avx2 | Simd::Avx512 => {
                static WIDEST: LazyLock<Simd> = LazyLock::new(Simd::widest_of_x86);
                self <= *WIDEST
            }
        }
    }

    /// The widest instruction set of an x86-64 processor. It has all narrower ones too.
    fn widest_of_x86() -> Simd {
        #[cfg(all(target_arch = "x86_64", not(unoptimised)))]
        if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
            let all = is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512dq")
                && is_x86_feature_detected!("avx512vl");
            return if all { Simd::Avx512 } else { Simd::Avx2 };
        }
        Simd::Portable
    }

    /// This instruction set if the machine has it, otherwise the result of [`detect`](Self::detect).
    pub fn or_best(self) -> Simd {
        if self.is_available() { self } else { Simd::detect() }
    }

    /// The name in reports and in `BANDSOLVE_SIMD`.
    pub fn name(self) -> &'static str {
        match self {
            Simd::Portable => "portable",
            Simd::Neon => "neon",
            Simd::Avx2 => "avx2",
            Simd::Avx512 => "avx512",
        }
    }
}
