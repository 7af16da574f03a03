//! The types and traits that most programs need: `use bandsolve::prelude::*;`

pub use crate::interop::SolveArray;
pub use crate::{
    AnyFactor, BandStrides, Banded, BandedBatch, BlockTridiagonal, ColumnStrides, Complex32, Complex64, Csc, CscMut,
    Error, Factor, Inspect, Layout, Method, Norm, Op, Pivoting, Plan, Report, Scalar, Shape, Solution, Tridiagonal,
    TridiagonalBatch,
};
