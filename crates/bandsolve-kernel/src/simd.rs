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
    /// AVX2 and FMA.
    Avx2,
    /// AVX-512 F, DQ and VL (Skylake-X and later, Zen 4 and later).
    Avx512,
}

impl Simd {
    /// All instruction sets of this build, the widest last.
    pub const ALL: [Simd; 3] = [Simd::Portable, Simd::Avx2, Simd::Avx512];

    /// Return the widest instruction set of this machine.
    ///
    /// The environment variable `BANDSOLVE_SIMD` (`portable`, `avx2`, `avx512`) selects another one. An unknown or
    /// unavailable name has no effect.
    pub fn detect() -> Simd {
        static BEST: LazyLock<Simd> = LazyLock::new(|| {
            let asked = std::env::var("BANDSOLVE_SIMD").ok();
            let available = Simd::ALL.into_iter().rev().filter(|s| s.is_available());
            let named = available.clone().find(|s| asked.as_deref() == Some(s.name()));
            named.or(available.clone().next()).unwrap_or(Simd::Portable)
        });
        *BEST
    }

    /// Whether this machine has the instruction set.
    pub fn is_available(self) -> bool {
        static BEST: LazyLock<Simd> = LazyLock::new(Simd::widest);
        self <= *BEST
    }

    /// The widest instruction set of this machine. It has all narrower ones too.
    ///
    /// Without optimisation, the compiler keeps every vector of a kernel on the stack: 3 MB in kernels for AVX-512, where a thread has
    /// 2 MB. Such builds only have the portable kernels.
    fn widest() -> Simd {
        if cfg!(unoptimised) {
            return Simd::Portable;
        }
        #[cfg(target_arch = "x86_64")]
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
            Simd::Avx2 => "avx2",
            Simd::Avx512 => "avx512",
        }
    }
}
