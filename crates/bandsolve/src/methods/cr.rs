//! Cyclic reduction: of every two rows one is eliminated, level by level. The core and the formulas are in `cyclic_reduction.rs`.
//!
//! Source: Chang, thesis, section 2.1.3.

/// Factors by cyclic reduction.
pub(crate) type Cr<T> = crate::methods::cyclic_reduction::CyclicReduction<T, 1>;
