//! The radiative transfer operator in a slab: block tridiagonal, symmetric, with a cluster of eigenvalues below its albedo.
//!
//! # Source
//! A. Lamas Daviña, J. E. Roman, Parallel solution of eigenvalue problems with block tridiagonal matrices, Parallel Computing 74
//! (2018), section 5: the Fredholm operator with the kernel E₁, projected on piecewise constant functions.

use bandsolve::{BlockTridiagonal, Result};
use core::f64::consts::PI;

/// The albedo ϖ, an upper bound of all eigenvalues.
pub const ALBEDO: f64 = 0.75;

/// The radiative transfer operator on a uniform grid of L blocks of K cells.
///
/// With n = L·K, t = max(n/100, 5) and the exponential integral E₃:
///
/// ```text
/// τ* = −n·(1 − 10⁻¹²) / (t·ln(1 − K/n)),   h = τ*/n
/// a₀ = ϖ·(1 + (E₃(h) − 1/2)/h)
/// aₘ = ϖ/(2h) · (E₃((m−1)·h) − 2·E₃(m·h) + E₃((m+1)·h))
/// ```
///
/// Both formulas lose digits by cancellation. With E₃(x) = ∫₀¹ μ·exp(−x/μ) dμ, they are integrals of positive functions, where y = h/μ:
///
/// ```text
/// a₀ = ϖ/h · ∫₀¹ μ·(y − 1 + exp(−y)) dμ
/// aₘ = ϖ/(2h) · ∫₀¹ μ·exp(−(m−1)·y)·(1 − exp(−y))² dμ
/// ```
///
/// The double exponential rule computes these integrals with an error of a few ε. For small entries far from the diagonal, the error is about m·h·ε.
///
/// # Examples
/// ```
/// let slab = bandsolve_gallery::radiative::RadiativeSlab::new(8, 64);
/// let a = slab.matrix()?;
/// assert_eq!((a.n(), a.block(), a.get(0, 1)), (512, 64, a.get(1, 0)));
/// assert!((a.get(0, 0) - 0.5241491113634633).abs() < 1e-15);
/// # Ok::<(), bandsolve::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct RadiativeSlab {
    blocks: usize,
    block: usize,
    /// aₘ for all m inside the block tridiagonal pattern.
    entries: Vec<f64>,
}

impl RadiativeSlab {
    /// Compute the operator for L blocks of K cells.
    ///
    /// # Cost
    /// Approximately 1500 exponentials for each of 2·K entries.
    ///
    /// # Panics
    /// If L is less than 2, so that the slab has no thickness, or if K is 0.
    pub fn new(blocks: usize, block: usize) -> Self {
        assert!(blocks >= 2 && block >= 1, "a slab of {blocks} blocks of {block} cells has no thickness");
        let h = thickness(blocks, block) / (blocks * block) as f64;
        let rule = double_exponential();
        let entries = (0..2 * block).map(|m| entry(&rule, m, h)).collect();
        Self { blocks, block, entries }
    }

    /// The optical thickness τ* of the slab.
    pub fn thickness(&self) -> f64 {
        thickness(self.blocks, self.block)
    }

    /// Number of cells.
    pub fn n(&self) -> usize {
        self.blocks * self.block
    }

    /// Entry (i, j): a_|i−j| in the three block diagonals, 0 elsewhere.
    pub fn get(&self, i: usize, j: usize) -> f64 {
        let near = (i / self.block).abs_diff(j / self.block) <= 1;
        if near { self.entries[i.abs_diff(j)] } else { 0.0 }
    }

    /// The operator as a block tridiagonal matrix.
    ///
    /// # Errors
    /// None for slabs that fit memory.
    pub fn matrix(&self) -> Result<BlockTridiagonal<'static, f64>> {
        let (count, k) = (self.blocks, self.block);
        let blocks = |beside: isize| -> Vec<f64> {
            let one = (0..k * k).map(|place| {
                let (row, column) = (place % k, place / k);
                self.entries[(column as isize + beside * k as isize - row as isize).unsigned_abs()]
            });
            let one: Vec<f64> = one.collect();
            one.repeat(count)
        };
        BlockTridiagonal::from_vecs(k, [blocks(-1), blocks(0), blocks(1)], false)
    }

    /// Call a function with every entry of the three block diagonals, row by row.
    pub fn for_each(&self, f: &mut dyn FnMut(usize, usize, f64)) {
        for i in 0..self.n() {
            let row = i / self.block;
            let columns = row.saturating_sub(1) * self.block..((row + 2) * self.block).min(self.n());
            columns.for_each(|j| f(i, j, self.entries[i.abs_diff(j)]));
        }
    }
}

fn thickness(blocks: usize, block: usize) -> f64 {
    let n = (blocks * block) as f64;
    let t = (n / 100.0).max(5.0);
    -n * (1.0 - 1e-12) / (t * libm::log1p(-1.0 / blocks as f64))
}

/// aₘ on cells of thickness h.
fn entry(rule: &[[f64; 2]], m: usize, h: f64) -> f64 {
    let integral = |f: &dyn Fn(f64) -> f64| rule.iter().map(|[mu, weight]| weight * mu * f(*mu)).sum::<f64>();
    if m == 0 {
        return ALBEDO / h * integral(&|mu| excess(h / mu));
    }
    let before = (m - 1) as f64 * h;
    ALBEDO / (2.0 * h) * integral(&|mu| libm::exp(-before / mu) * libm::expm1(-h / mu) * libm::expm1(-h / mu))
}

/// y − 1 + exp(−y), for y from 0 on.
fn excess(y: f64) -> f64 {
    if y > 1.0 {
        return y + libm::expm1(-y);
    }
    let (mut term, mut sum) = (0.5 * y * y, 0.0);
    // The terms fall by y/3 or faster: 20 of them are below rounding.
    for k in 3..23 {
        sum += term;
        term *= -y / f64::from(k);
    }
    sum
}

/// Nodes and weights for ∫₀¹: μ = 1/(1 + exp(−π·sinh t)), t in steps of 1/64 between −4 and 4.
fn double_exponential() -> Vec<[f64; 2]> {
    const STEP: f64 = 1.0 / 64.0;
    let node = |i: i32| {
        let t = f64::from(i) * STEP;
        let s = PI * libm::sinh(t);
        let (mu, rest) = (1.0 / (1.0 + libm::exp(-s)), 1.0 / (1.0 + libm::exp(s)));
        [mu, STEP * PI * libm::cosh(t) * mu * rest]
    };
    (-256..=256).map(node).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_of_reference_values() {
        // E₃ in 40 digits.
        let slab = RadiativeSlab::new(64, 64);
        for (got, expected) in [
            (slab.get(0, 0), 0.5338373373226852),
            (slab.get(7, 6), 0.09713208118241556),
            (slab.thickness(), 6349.8687642280465),
        ] {
            assert!((got / expected - 1.0).abs() < 8.0 * f64::EPSILON, "{got} {expected}");
        }
        // exp(−m·h) of an argument that is rounded: m·h·ε with m·h = 99.
        assert!((slab.get(64, 0) / 5.771154217411963e-46 - 1.0).abs() < 2e-14);
        assert_eq!((slab.get(0, 127) > 0.0, slab.get(0, 128)), (true, 0.0));
    }

    #[test]
    fn rows_add_up_to_the_albedo() {
        // Σ_j a_ij = ϖ(1 − (what leaves the slab)): far from the ends nothing does, but what lies beyond the block diagonals, about 1e-44.
        let slab = RadiativeSlab::new(16, 64);
        let row: f64 = (0..slab.n()).map(|j| slab.get(520, j)).sum();
        assert!((row - ALBEDO).abs() < 16.0 * f64::EPSILON, "{row}");
    }

    #[test]
    fn the_matrix_has_these_entries() {
        let slab = RadiativeSlab::new(3, 4);
        let (a, mut seen) = (slab.matrix().unwrap(), 0);
        slab.for_each(&mut |i, j, value| {
            seen += 1;
            assert_eq!((a.get(i, j), slab.get(i, j)), (value, value));
        });
        assert_eq!(seen, 7 * 16);
        let one = RadiativeSlab::new(2, 1);
        assert_eq!(one.matrix().unwrap().get(1, 0), one.get(0, 1));
    }
}
