//! Fast sine, cosine and Fourier transforms of many real lines at the same time.
//!
//! Each vector lane holds two lines, as the real and the imaginary parts of complex numbers. A real transform is a real matrix, so it acts
//! on both parts separately. Two lines thus cost one complex transform of length n or n/2, and need no separation afterwards.
//!
//! The coefficients stay in the order in which the transforms compute them, and can have either sign. The eigenvalues are in the same
//! order.
//!
//! Let ω = exp(iπ/2M), and let F be the unnormalized transform F(C)ₗ = Σⱼ Cⱼ exp(2πijl/M):
//!
//! | sides | matrix | algorithm |
//! | --- | --- | --- |
//! | node, Dirichlet | sin(πjk/N), N = n + 1 | odd k: cosine core of the N/2 values zⱼ + z_(N−j); even k: same matrix for N/2, of zⱼ − z_(N−j) |
//! | node, Neumann | cos(πjk/N), N = n − 1 | as for Dirichlet, with + and − exchanged |
//! | node, mixed | sin or cos(πj(2m+1)/2n) | cosine core of n values |
//! | cell, same kind on both sides | sin or cos(πk(j+½)/n) | transposed cosine core of n values |
//! | cell, mixed | cos(π(2j+1)(2k+1)/4n) | F with twiddle factors before and after |
//! | periodic | cos and sin(2πjk/n) | F, then sums of the coefficients k and n − k |
//!
//! The *cosine core* is
//!
//! ```text
//! yₘ = Σⱼ aⱼ cos(πj(2m+1)/2M) = F(C),  C₀ = a₀,  Cⱼ = ½ω^j (aⱼ − i a_(M−j))
//! ```
//!
//! Its result is in the order y₀, y₂, … (ascending), then …, y₃, y₁ (descending). No step accumulates sums along a line or divides by
//! a sine, so the rounding errors are as small as those of F.

mod core;
mod first;
mod fourier;
mod kind;
mod roots;
mod small;
mod wide;

pub use fourier::factors;
pub use kind::AxisSides;
pub(crate) use kind::{LaneLines, Transform};
pub use roots::half_turns;
pub(crate) use wide::{ALIGNED, aligned};
