//! Real transforms of many lines at once: two in every lane of a vector, as real and as imaginary parts of complex numbers.
//!
//! A real transform is a real matrix, and a real matrix takes complex numbers. So two lines cost one complex transform of their
//! length, or of half of it, and nothing has to be told apart afterwards. Coefficients stay in the order in which the transforms
//! leave them, each with its eigenvalue at the same place, and with any sign.
//!
//! With ω = e^{iπ/2M}, S = Σ over j, and F the unnormalised transform F(C)_l = S C_j e^{2πijl/M}:
//!
//! | sides | matrix | how |
//! | --- | --- | --- |
//! | node, Dirichlet | sin(πjk/N), N = n + 1 | odd k: a cosine core of N/2 numbers z_j + z_{N−j}; even k: the same of half the size, of z_j − z_{N−j} |
//! | node, Neumann | cos(πjk/N), N = n − 1 | the same with the signs exchanged |
//! | node, mixed | sin or cos(πj(2m+1)/2n) | a cosine core of n numbers |
//! | cell, both alike | sin(πk(j+½)/n) or cos | the transpose of a cosine core of n numbers |
//! | cell, mixed | cos(π(2j+1)(2k+1)/4n) | F with twiddles before and after |
//! | periodic | cos and sin(2πjk/n) | F, and sums of k and n − k |
//!
//! The *cosine core* is y_m = S a_j cos(πj(2m+1)/2M) = F(C) with C_0 = a_0, C_j = ½ω^j(a_j − i a_{M−j}), in the order y_0, y_2, …
//! forwards and y_1, y_3, … backwards. No sum runs along a line and nothing is divided by a sine, so that errors are those of F.

mod core;
mod first;
mod fourier;
mod kind;
mod small;
mod wide;

pub use kind::AxisSides;
pub(crate) use kind::{LaneLines, Transform};
pub(crate) use wide::{ALIGNED, aligned};
