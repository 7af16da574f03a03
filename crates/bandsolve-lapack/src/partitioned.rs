//! Large tridiagonal systems in parallel, by [`bandsolve::Plan`].

use crate::gt::Matrix;
use crate::number::Number;
use crate::raw::Columns;

/// todo
pub fn solve<T: Number>(_a: Matrix<'_, T>, _b: &mut Columns<'_, T>) -> bool {
    false
}
