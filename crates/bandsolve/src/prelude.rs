//! Everything most programs need: `use bandsolve::prelude::*;`

pub use crate::{
    Banded, BlockTridiagonal, Complex32, Complex64, Error, Factor, Layout, Method, Op, Pivoting, Plan, Report, Scalar,
    Shape, Solution, Tridiagonal, TridiagonalBatch,
};
