//! The Thomas algorithm: Gaussian elimination without pivoting.
//!
//! ```text
//! rᵢ = 1 / (bᵢ − aᵢ uᵢ₋₁),   uᵢ = rᵢ cᵢ,   yᵢ = rᵢ (dᵢ − aᵢ yᵢ₋₁),   xᵢ = yᵢ − uᵢ xᵢ₊₁
//! ```
//!
//! It is safe if the matrix is diagonally dominant by rows or columns, or symmetric positive definite. A pivot that is small compared with
//! its row loses digits, which verification detects.
//!
//! Paper → here: a, b, c, d → sub, diag, sup, rhs.

use crate::contract::determinant::ScaledProduct;
use crate::decision::Options;
use crate::error::Result;
use crate::memory::array;
use crate::methods::stored::Elimination;
use bandsolve_kernel::memory::{Array, MemoryPool};
use bandsolve_kernel::rows::Rows;
use bandsolve_kernel::scalar::reciprocal;
use bandsolve_kernel::{RealScalar, Scalar};
use dyn_stack::PodStack;

/// Ratio |sub·u| / |diag| up to which a pivot is accurate enough for the determinant.
const LARGEST_LOSS: f64 = 8.0;

/// Factors of an open system: 2 words per row.
///
/// # Cost
/// Factor, per row: 3 flops and 1 division; 3 words read, 2 written. Solve, per row and right-hand side: 5 flops; 7 words read, 2
/// written.
#[derive(Debug)]
pub(crate) struct Thomas<T> {
    /// r and u in each row.
    factors: Array<[T; 2]>,
    singular: bool,
}

impl<T: Scalar> Elimination<T> for Thomas<T> {
    fn new(rows: &Rows<'_, T>, _options: &Options, pool: &MemoryPool) -> Result<Self> {
        let mut factors = array::<[T; 2]>(rows.n(), Some(pool))?;
        let (mut above, mut singular) = (T::ZERO, false);
        for (i, factors) in factors.iter_mut().enumerate() {
            let (sub, diag, sup) = rows.row(i);
            let recip = reciprocal(diag - sub * above);
            above = recip * sup;
            singular |= recip == T::ZERO;
            *factors = [recip, above];
        }
        Ok(Self { factors, singular })
    }

    fn is_singular(&self) -> bool {
        self.singular
    }

    /// Return the determinant only if no pivot loses digits. It is then exact for a matrix whose diagonal entries differ by a few ε.
    fn product(&self, rows: &Rows<'_, T>) -> Option<ScaledProduct> {
        let mut product = ScaledProduct::ONE;
        let mut above = T::ZERO;
        for (i, [recip, next]) in self.factors.iter().enumerate() {
            let (sub, diag, _) = rows.row(i);
            if !(Scalar::abs1(sub * above) <= Scalar::abs1(diag).scale(T::Real::from_f64(LARGEST_LOSS))) {
                return None;
            }
            product.multiply(*recip);
            above = *next;
        }
        product.invert();
        Some(product)
    }

    fn solve(&self, rows: &Rows<'_, T>, x: &mut [T], _stack: &mut PodStack) {
        for x in x.chunks_exact_mut(rows.n()) {
            let mut above = T::ZERO;
            for (i, (x, [recip, _])) in x.iter_mut().zip(&*self.factors).enumerate() {
                above = *recip * (*x - rows.row(i).0 * above);
                *x = above;
            }
            let mut below = T::ZERO;
            for (x, [_, next]) in x.iter_mut().zip(&*self.factors).rev() {
                below = *x - *next * below;
                *x = below;
            }
        }
    }
}
