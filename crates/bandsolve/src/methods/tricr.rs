//! Tricyclic reduction: each level eliminates two of three rows. `cyclic_reduction.rs` has the code and the formulas.
//!
//! Source: Chang, thesis, section 2.1.3.

/// Factors by tricyclic reduction.
pub(crate) type Tricr<T> = crate::methods::cyclic_reduction::CyclicReduction<T, 2>;
