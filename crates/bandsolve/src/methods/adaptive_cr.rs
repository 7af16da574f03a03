//! Adaptive cyclic reduction with diagonal pivoting: each level alternates between blocks of one or two rows that it keeps and blocks that
//! it eliminates. The entries determine the blocks of each level.
//!
//! With a the first `sub` and c the last `sup` of an eliminated block D, and u and l the rows that stay next to it,
//!
//! ```text
//! x_D = D⁻¹ (d_D − a x_u e₁ − c x_l e₋₁)
//! ```
//!
//! Inserting x_D into rows u and l gives a tridiagonal system of the rows that stay. If two neighbouring rows stay, their coupling does
//! not change.
//!
//! **Choice of blocks.** A level eliminates all of its blocks at the same time, so each block of the current matrix must be safe. The rule of
//! [`diagonal_pivoting`](crate::methods::diagonal_pivoting) does not suffice, because it tests the leading entry after the elimination of
//! all rows above. For `[1 1 0; 1 1 1; 0 1 1]`, it selects the last two rows as a pair, which is singular in the original matrix. Here the
//! price of a block is its *growth*. With rows scaled so that their largest entries are in [2, 4), and Nⱼ the largest entry of column j,
//!
//! ```text
//! g(D) = Σ_(j in D) Nⱼ ‖eⱼᵀ D⁻¹‖₁
//! ```
//!
//! g(D) is roughly the factor by which errors of x_D grow when they enter another row. It is 1 or 2 for good blocks, and scaling columns does
//! not change it. The method takes the division into alternating blocks with the smallest total price. The total price is the sum of g(D)
//! over all eliminated blocks and of [`STAY`] over all rows that stay. Dynamic programming finds the division in one sweep.
//!
//! The determinant is a sum of products of diagonal entries bᵢ and pairs aᵢ₊₁cᵢ. If the matrix is regular, one of these products is not
//! zero, and gives a division into regular blocks. A division without zero pivots therefore exists.
//!
//! The next level is a Schur complement S of the matrix with ‖S⁻¹‖ ≤ ‖A⁻¹‖. Small growth is therefore sufficient for accuracy.
//!
//! Source: Chang, thesis, chapter 5. The choice of blocks is new. a, b, c, d → sub, diag, sup, rhs.

use crate::decision::Options;
use crate::error::Result;
use crate::matrix::Tridiagonal;
use crate::memory::{allocate, push};
use crate::methods::diagonal_pivoting::scaled;
use crate::methods::stored::Elimination;
use bandsolve_kernel::cyclic::inverse_of_pair;
use bandsolve_kernel::memory::MemoryPool;
use bandsolve_kernel::rows::Rows;
use bandsolve_kernel::scalar::{peak, reciprocal};
use bandsolve_kernel::{RealScalar, Scalar};
use dyn_stack::{PodStack, StackReq};

/// Factors of an open system: 7½ to 8 words per row for most matrices, at most 9.
///
/// # Cost
/// Factor: about 60 flops and 3 divisions per row and level. Solve: 11 flops per row and right-hand side in total.
#[derive(Debug)]
pub(crate) struct AdaptiveCr<T: Scalar> {
    n: usize,
    levels: Vec<AdaptiveLevel<T>>,
    singular: bool,
}

/// The role of a row at one level.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    /// Belongs to the next level.
    Stays,
    /// Is eliminated alone.
    Alone,
    /// Is eliminated together with the next row.
    First,
    /// Is eliminated together with the previous row.
    Second,
}

/// An eliminated row of a block D of one or two rows.
#[derive(Debug, Clone, Copy)]
struct EliminatedRow<T> {
    /// Its row of D⁻¹. A block of one row uses the first entry only.
    inverse: [T; 2],
    /// Its coefficients of the unknowns that stay above and below the block.
    outer: [T; 2],
    /// The factors by which its right-hand side is subtracted from those of the rows that stay above and below.
    multipliers: [T; 2],
}

/// Factors of one level. Rows and right-hand sides are scaled before the elimination.
#[derive(Debug)]
struct AdaptiveLevel<T: Scalar> {
    /// The powers of two that scale the rows.
    scale: Vec<T::Real>,
    roles: Vec<Role>,
    /// The eliminated rows, in order.
    eliminated: Vec<EliminatedRow<T>>,
}

/// Price of a row that stays. Between 1 and 16, the accuracy depends little on it. From 2 on, there are few levels.
const STAY: f64 = 4.0;
/// Price of a block that cannot be eliminated. It exceeds all others, but is finite, so that all other blocks are still chosen well.
const NEVER: f64 = 1e30;

/// The prices of eliminating row i alone, and rows i−1 and i together.
fn prices<T: Scalar>(rows: &[[T; 3]], i: usize) -> [f64; 2] {
    let size = |v: T| peak(v).to_f64();
    let column = |j: usize| {
        let above = if j > 0 { size(rows[j - 1][2]) } else { 0.0 };
        let below = rows.get(j + 1).map_or(0.0, |row| size(row[0]));
        above.max(below).max(size(rows[j][1]))
    };
    let alone = column(i) / size(rows[i][1]);
    if i == 0 {
        return [alone.min(NEVER), NEVER];
    }
    let ([_, b0, c0], [a1, b1, _]) = (rows[i - 1], rows[i]);
    let sum = column(i - 1) * (size(b1) + size(c0)) + column(i) * (size(a1) + size(b0));
    [alone.min(NEVER), (sum / size(b0 * b1 - a1 * c0)).min(NEVER)]
}

/// Find the cheapest alternation of blocks that stay and blocks that are eliminated.
fn structure<T: Scalar>(rows: &[[T; 3]]) -> Result<Vec<Role>> {
    let n = rows.len();
    // Whether the best block that ends with row i has two rows, for an eliminated block and for one that stays.
    let mut pairs = allocate(n, [false; 2])?;
    // The lowest prices of all rows except the last two, and except the last one, if the last block is eliminated or stays.
    let (mut before, mut last) = ([NEVER * NEVER; 2], [0.0; 2]);
    for (i, pair) in pairs.iter_mut().enumerate() {
        let [single_price, pair_price] = prices(rows, i);
        let single = [last[1] + single_price, last[0] + STAY];
        let double = [before[1] + pair_price, before[0] + 2.0 * STAY];
        *pair = [double[0] < single[0], double[1] < single[1]];
        let next = [single[0].min(double[0]), single[1].min(double[1])];
        // Only differences matter, and they stay exact for small numbers.
        let least = next[0].min(next[1]);
        (before, last) = (last.map(|v| v - least), next.map(|v| v - least));
    }
    let mut roles = allocate(n, Role::Stays)?;
    let (mut end, mut stays) = (n, n > 2 && last[1] < last[0]);
    while end > 0 {
        let pair = pairs[end - 1][usize::from(stays)];
        let start = end - 1 - usize::from(pair);
        if !stays {
            (roles[start], roles[end - 1]) =
                if pair { (Role::First, Role::Second) } else { (Role::Alone, Role::Alone) };
        }
        (end, stays) = (start, !stays);
    }
    Ok(roles)
}

impl<T: Scalar> AdaptiveLevel<T> {
    /// Choose and eliminate blocks, and return the rows of the next level, too.
    fn new(rows: &Rows<'_, T>) -> Result<(Self, Tridiagonal<'static, T>)> {
        let n = rows.n();
        let (mut scale, mut matrix) = (allocate(n, T::Real::ONE)?, allocate(n, [T::ZERO; 3])?);
        for i in 0..n {
            let row = scaled(rows, i);
            (matrix[i], scale[i]) = (row.entries, row.scale);
        }
        let roles = structure(&matrix)?;
        let count = roles.iter().filter(|role| **role != Role::Stays).count();
        let none = EliminatedRow { inverse: [T::ZERO; 2], outer: [T::ZERO; 2], multipliers: [T::ZERO; 2] };
        let mut level = Self { scale, roles, eliminated: allocate(count, none)? };
        level.eliminate(&matrix);
        let coarse = level.coarse_rows(&matrix)?;
        Ok((level, coarse))
    }

    /// Fill `eliminated`.
    fn eliminate(&mut self, rows: &[[T; 3]]) {
        let mut rest = &mut self.eliminated[..];
        for (i, role) in self.roles.iter().enumerate() {
            let above = if i > 0 { rows[i - 1][2] } else { T::ZERO };
            let below = |i: usize| rows.get(i + 1).map_or(T::ZERO, |row| row[0]);
            let [a, b, c] = rows[i];
            match role {
                Role::Alone => {
                    let recip = reciprocal(b);
                    let multipliers = [above * recip, below(i) * recip];
                    rest[0] = EliminatedRow { inverse: [recip, T::ZERO], outer: [a, c], multipliers };
                    rest = &mut rest[1..];
                }
                Role::First => {
                    let [a1, b1, c1] = rows[i + 1];
                    let inverse = inverse_of_pair([b, c], [a1, b1]);
                    let multipliers = |j: usize| [above * inverse[0][j], below(i + 1) * inverse[1][j]];
                    rest[0] = EliminatedRow { inverse: inverse[0], outer: [a, T::ZERO], multipliers: multipliers(0) };
                    rest[1] = EliminatedRow { inverse: inverse[1], outer: [T::ZERO, c1], multipliers: multipliers(1) };
                    rest = &mut rest[2..];
                }
                Role::Second | Role::Stays => {}
            }
        }
    }

    /// Compute the rows of the next level.
    fn coarse_rows(&self, rows: &[[T; 3]]) -> Result<Tridiagonal<'static, T>> {
        let m = self.coarse_n();
        let (mut sub, mut diag, mut sup) = (allocate(m, T::ZERO)?, allocate(m, T::ZERO)?, allocate(m, T::ZERO)?);
        let (mut k, mut eliminated) = (0, self.eliminated.iter());
        // The `sub` of the next row that stays, and the number to subtract from its `diag`.
        let mut from_above = [T::ZERO; 2];
        for (i, role) in self.roles.iter().enumerate() {
            if *role == Role::Stays {
                let [a, b, c] = rows[i];
                let stays = |i: usize| self.roles.get(i) == Some(&Role::Stays);
                sub[k] = if stays(i.wrapping_sub(1)) { a } else { from_above[0] };
                diag[k] = b - from_above[1];
                sup[k] = if stays(i + 1) { c } else { T::ZERO };
                (k, from_above) = (k + 1, [T::ZERO; 2]);
                continue;
            }
            let Some(EliminatedRow { outer, multipliers, .. }) = eliminated.next() else { break };
            if k > 0 {
                diag[k - 1] -= multipliers[0] * outer[0];
                sup[k - 1] -= multipliers[0] * outer[1];
            }
            from_above[0] -= multipliers[1] * outer[0];
            from_above[1] += multipliers[1] * outer[1];
        }
        Tridiagonal::from_vecs(sub, diag, sup, false)
    }

    /// Number of rows of the next level.
    fn coarse_n(&self) -> usize {
        self.roles.len() - self.eliminated.len()
    }

    fn is_singular(&self) -> bool {
        self.eliminated.iter().any(|row| row.inverse == [T::ZERO; 2])
    }

    /// Compute the right-hand side of the next level, and scale the one of this level.
    fn reduce(&self, d: &mut [T], coarse: &mut [T]) {
        let (mut k, mut eliminated) = (0, self.eliminated.iter());
        let mut from_above = T::ZERO;
        for ((d, scale), role) in d.iter_mut().zip(&self.scale).zip(&self.roles) {
            *d = d.scale(*scale);
            if *role == Role::Stays {
                coarse[k] = *d - from_above;
                (k, from_above) = (k + 1, T::ZERO);
                continue;
            }
            let Some(EliminatedRow { multipliers, .. }) = eliminated.next() else { break };
            if k > 0 {
                coarse[k - 1] -= multipliers[0] * *d;
            }
            from_above += multipliers[1] * *d;
        }
    }

    /// Compute x from the scaled d and from x of the next level.
    fn substitute(&self, coarse: &[T], x: &mut [T]) {
        let (mut k, mut rest) = (0, &self.eliminated[..]);
        for i in 0..x.len() {
            let above = if k > 0 { coarse[k - 1] } else { T::ZERO };
            let below = coarse.get(k).copied().unwrap_or(T::ZERO);
            let known = |row: &EliminatedRow<T>, d: T| d - (row.outer[0] * above + row.outer[1] * below);
            match self.roles[i] {
                Role::Stays => (x[i], k) = (below, k + 1),
                Role::Alone => {
                    x[i] = rest[0].inverse[0] * known(&rest[0], x[i]);
                    rest = &rest[1..];
                }
                Role::First => {
                    let d = [known(&rest[0], x[i]), known(&rest[1], x[i + 1])];
                    x[i] = rest[0].inverse[0] * d[0] + rest[0].inverse[1] * d[1];
                    x[i + 1] = rest[1].inverse[0] * d[0] + rest[1].inverse[1] * d[1];
                    rest = &rest[2..];
                }
                Role::Second => {}
            }
        }
    }
}

/// Maximum number of rows of the level after one of n rows, which keeps two of three rows. Of two rows, it keeps at most one.
fn most_that_stay(n: usize) -> usize {
    if n > 2 { 2 * (n + 1) / 3 } else { n.saturating_sub(1) }
}

/// Solve a system with the levels `levels`.
fn solve_levels<T: Scalar>(levels: &[AdaptiveLevel<T>], x: &mut [T], stack: &mut PodStack) {
    let Some((level, coarser)) = levels.split_first() else { return };
    let (coarse, stack) = stack.make_raw::<T>(level.coarse_n());
    level.reduce(x, coarse);
    solve_levels(coarser, coarse, stack);
    level.substitute(coarse, x);
}

impl<T: Scalar> Elimination<T> for AdaptiveCr<T> {
    const NEEDS_SCRATCH: bool = true;

    fn new(rows: &Rows<'_, T>, _options: &Options, _pool: &MemoryPool) -> Result<Self> {
        let (first, mut coarse) = AdaptiveLevel::new(rows)?;
        let mut levels = Vec::new();
        push(&mut levels, first)?;
        while coarse.n() > 0 {
            let (level, next) = AdaptiveLevel::new(&coarse.rows())?;
            push(&mut levels, level)?;
            coarse = next;
        }
        let singular = levels.iter().any(AdaptiveLevel::is_singular);
        Ok(Self { n: rows.n(), levels, singular })
    }

    fn is_singular(&self) -> bool {
        self.singular
    }

    /// Scratch for the right-hand sides of the coarser levels, one column at a time, for any choice of blocks.
    fn scratch(&self, _n_rhs: usize) -> StackReq {
        let sizes = core::iter::successors(Some(most_that_stay(self.n)), |n| (*n > 0).then(|| most_that_stay(*n)));
        sizes.fold(StackReq::EMPTY, |all, n| all.and(StackReq::new::<T>(n)))
    }

    fn solve(&self, rows: &Rows<'_, T>, x: &mut [T], stack: &mut PodStack) {
        x.chunks_exact_mut(rows.n()).for_each(|x| solve_levels(&self.levels, x, stack));
    }
}

#[cfg(test)]
mod tests {
    use super::Role::{Alone, First, Second, Stays};
    use super::*;
    use crate::methods::stored::testing::{check_dominant, matrix, options, solve};

    fn roles(diag: &[f64]) -> Vec<Role> {
        structure(&diag.iter().map(|b| [1.0, *b, 1.0]).collect::<Vec<_>>()).unwrap()
    }

    #[test]
    fn blocks_follow_the_numbers() {
        // All pairs are singular, so rows are eliminated alone.
        assert_eq!(roles(&[1.0, 1.0, 1.0]), [Alone, Stays, Alone]);
        // All single rows are singular or nearly singular, so pairs are eliminated.
        assert_eq!(roles(&[0.0, 0.0, 5.0, 0.0, 0.0]), [First, Second, Stays, First, Second]);
        assert_eq!(roles(&[1e-9, 1e-9, 5.0, -1e-9, 0.0]), [First, Second, Stays, First, Second]);
        // If all blocks are good, few rows stay.
        assert_eq!(roles(&[9.0; 5]), [First, Second, Stays, First, Second]);
        assert_eq!(roles(&[4.0]), [Alone]);
    }

    #[test]
    fn one_level_by_hand() {
        // D = [0 1; 1 0] in the middle exchanges x₁ and x₂ and couples their neighbours.
        let mut level = AdaptiveLevel::<f64> {
            scale: vec![1.0; 4],
            roles: vec![Stays, First, Second, Stays],
            eliminated: vec![EliminatedRow { inverse: [0.0; 2], outer: [0.0; 2], multipliers: [0.0; 2] }; 2],
        };
        let rows = [[0.0, 3.0, 1.0], [1.0, 0.0, 1.0], [1.0, 0.0, 1.0], [1.0, 3.0, 0.0]];
        level.eliminate(&rows);
        let coarse = level.coarse_rows(&rows).unwrap();
        assert_eq!([coarse.row(0), coarse.row(1)], [(0.0, 3.0, -1.0), (-1.0, 3.0, 0.0)]);
        let (x_true, mut d) = ([1.0, 2.0, 3.0, 4.0], vec![0.0; 2]);
        let mut x = matrix(&rows).apply(&x_true).unwrap();
        level.reduce(&mut x, &mut d);
        assert_eq!(d, coarse.apply(&[1.0, 4.0]).unwrap());
        level.substitute(&[1.0, 4.0], &mut x);
        assert_eq!(x, x_true);
    }

    #[test]
    fn small_systems_that_need_pivots() {
        for diag in [[0.0; 4], [1.0, 1.0, 1.0, 0.5], [0.0, 1.0, 1.0, 0.0], [1e-12, 0.0, 3.0, 1e-12]] {
            let a = matrix(&diag.map(|b| [1.0, b, 1.0]));
            let x = solve::<AdaptiveCr<f64>>(&a, &options(), &a.apply(&[1.0, 2.0, 3.0, 4.0]).unwrap());
            assert!(x.iter().zip(1..).all(|(x, i)| (x - f64::from(i)).abs() < 1e-14), "{diag:?}: {x:?}");
        }
    }

    #[test]
    fn dominant_systems_of_every_size() {
        check_dominant::<AdaptiveCr<f64>>();
    }
}
