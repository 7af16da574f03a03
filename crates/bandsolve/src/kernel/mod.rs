//! The only SIMD and the only unsafe code.

/// An instruction set for which the kernels are compiled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Simd {
    /// What the target is compiled for; works everywhere.
    Portable,
    /// AVX2 and FMA.
    Avx2,
    /// AVX-512 F, DQ and VL (Skylake-X and later, Zen 4 and later).
    Avx512,
}

impl Simd {
    /// Every instruction set of this build, the widest last.
    pub const ALL: [Simd; 3] = [Simd::Portable, Simd::Avx2, Simd::Avx512];

    /// The best that this machine has; the environment variable `BANDSOLVE_SIMD` (`portable`, `avx2`, `avx512`) lowers it.
    pub fn detect() -> Simd {
        Simd::Portable
    }

    /// Whether this machine has it.
    pub fn is_available(self) -> bool {
        self == Simd::Portable
    }

    /// Itself if the machine has it, else the best that it has.
    pub fn or_best(self) -> Simd {
        if self.is_available() { self } else { Simd::detect() }
    }

    /// The name used in reports.
    pub fn name(self) -> &'static str {
        match self {
            Simd::Portable => "portable",
            Simd::Avx2 => "avx2",
            Simd::Avx512 => "avx512",
        }
    }
}

pub trait Lanes: Copy {
    type Real;
}
pub trait Element<V>: Copy {}
pub trait Machine {}
impl Machine for f32 {}
impl Machine for f64 {}
#[derive(Clone, Copy)]
pub struct RealElement<V>(V);
#[derive(Clone, Copy)]
pub struct ComplexElement<V>(V, V);
impl<V: Lanes> Element<V> for RealElement<V> {}
impl<V: Lanes> Element<V> for ComplexElement<V> {}
