//! Tricyclic reduction: of every three rows two are eliminated, level by level. The core and the formulas are in
//! `cyclic_reduction.rs`.
//!
//! Source: Chang, thesis, section 2.1.3.

/// Factors by tricyclic reduction.
pub(crate) type Tricr<T> = crate::methods::cyclic_reduction::CyclicReduction<T, 2>;
