//! Short transforms, as products with the matrix.

use super::roots::half_turns;
use super::wide::ComplexLanes;
use crate::scalar::{PoissonScalar, real};
use bandsolve::Result;
use bandsolve::memory::reserved;
use bandsolve_kernel::Lanes;

/// The matrix sin(πjk/N) or cos(πjk/N) for small N.
///
/// Columns j and N − j are equal up to a sign, which depends on whether k is odd. The matrix therefore stores only the columns j ≤ N/2.
#[derive(Clone)]
pub(super) struct SmallMatrix<T> {
    /// The first j and k: 1 for sines, 0 for cosines.
    first: usize,
    /// N
    parts: usize,
    /// For each k, the entries of all j ≤ N/2.
    entries: Vec<T>,
}

impl<T: PoissonScalar> SmallMatrix<T> {
    pub fn new(parts: usize, cosine: bool) -> Result<Self> {
        let first = usize::from(!cosine);
        let entry = |k: usize, j: usize| {
            let (sin, cos) = half_turns(j * k, parts);
            real::<T>(if cosine { cos } else { sin })
        };
        let mut entries = reserved((parts + 1) * (parts / 2 + 1))?;
        (first..=parts - first).for_each(|k| entries.extend((first..=parts / 2).map(|j| entry(k, j))));
        Ok(Self { first, parts, entries })
    }

    /// Compute out = scale · matrix · z, where the matrix is symmetric. z is overwritten.
    #[inline(always)]
    pub fn multiply<V: Lanes<Real = T>>(&self, z: &mut [ComplexLanes<V>], out: &mut [ComplexLanes<V>], scale: T) {
        let Self { first, parts, .. } = *self;
        let count = z.len();
        // z_j + z_{N−j} in the first half, z_j − z_{N−j} in the second half. A middle element counts as a sum.
        for j in first..parts.div_ceil(2) {
            let (below, above) = (j - first, parts - j - first);
            (z[below], z[above]) = (z[below] + z[above], z[below] - z[above]);
        }
        let columns = (parts / 2 + 1).saturating_sub(first);
        let mut row = 0;
        // Rows k and k + 2 use the same sums or differences, so process them together.
        while row < count {
            let k = row + first;
            let pair = row % 4 < 2 && row + 2 < count;
            if !pair && row % 4 >= 2 {
                row += 1;
                continue;
            }
            let entries = &self.entries[row * columns..][..columns];
            // Sines with odd k and cosines with even k use the sums.
            let sums = k % 2 == first;
            let zero = ComplexLanes::zero();
            let at = |column: usize| if sums { column } else { count - 1 - column };
            let columns_of = if !sums && parts % 2 == 0 { columns - 1 } else { columns };
            if pair {
                let other = &self.entries[(row + 2) * columns..][..columns];
                let (mut a, mut b) = (zero, zero);
                for column in 0..columns_of {
                    let x = z[at(column)];
                    a = a.plus(V::splat(entries[column]), x);
                    b = b.plus(V::splat(other[column]), x);
                }
                (out[row], out[row + 2]) = (a.scaled(scale), b.scaled(scale));
            } else {
                let mut a = zero;
                for column in 0..columns_of {
                    a = a.plus(V::splat(entries[column]), z[at(column)]);
                }
                out[row] = a.scaled(scale);
            }
            row += 1;
        }
    }
}
