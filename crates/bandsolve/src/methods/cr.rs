//! Cyclic reduction: each level eliminates every other row. `cyclic_reduction.rs` has the code and the formulas.
//!
//! Source: Chang, thesis, section 2.1.3.

/// Factors by cyclic reduction.
pub(crate) type Cr<T> = crate::methods::cyclic_reduction::CyclicReduction<T, 1>;
