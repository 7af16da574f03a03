//! Tridiagonal systems whose factors are not stored. Each solve computes them again.
//!
//! Elimination starts at the first row. Substitution starts at the last row, and recomputes the factors of 16 rows at a time from stored
//! checkpoints.
//!
//! Row i has the coupling bᵢ to the row before and aᵢ to the row after. On a periodic axis, it also has a coupling cᵢ to the last row,
//! which is eliminated last. Let eᵢ be the sum of row i after the elimination of the rows before. Elimination computes
//!
//! ```text
//! pᵢ = eᵢ + aᵢ + cᵢ,  m = bᵢ₊₁/pᵢ
//! eᵢ₊₁ = gap + λ + m eᵢ,  cᵢ₊₁ = m cᵢ,  gᵢ₊₁ = f + m gᵢ
//! ```
//!
//! For the last row, with its coupling d to row i:
//!
//! ```text
//! e ← e + (d/pᵢ) eᵢ,  g ← g + (d/pᵢ) gᵢ,  d ← (d/pᵢ) aᵢ
//! ```
//!
//! Substitution computes `uᵢ = (gᵢ + aᵢ uᵢ₊₁ + cᵢ u_last)/pᵢ`. As in the parent module, e, c, d and p are sums and products of
//! non-negative numbers, so that no cancellation occurs.
//!
//! # Source
//! W. K. Grassmann, M. I. Taksar, D. P. Heyman, Oper. Res. 33 (1985), 1107–1116.

use super::sizes::BLOCK;
use crate::scalar::{PoissonScalar, real};
use bandsolve::Result;
use bandsolve::memory::{allocate, copied};
use bandsolve_kernel::view::ViewMut;

/// Number of rows between two checkpoints.
const STEP: usize = 16;

/// One value for each system of a block.
type SystemRow = [f64; BLOCK];

/// The rows of all systems, and the checkpoints.
#[derive(Clone)]
pub(super) struct RenewedChain {
    lower: Vec<f64>,
    upper: Vec<f64>,
    gap: Vec<f64>,
    ring: bool,
    lambda: Vec<f64>,
    /// For each of the rows 16, 32, …: e of all systems, followed on a periodic axis by c of all systems.
    checks: Vec<f64>,
}

/// e and c of the current row.
struct CarriedRow {
    e: SystemRow,
    c: SystemRow,
}

/// e, g and d of the last row.
struct LastRow {
    e: SystemRow,
    g: SystemRow,
    d: SystemRow,
}

impl RenewedChain {
    /// Compute the checkpoints for rows with the couplings `lower` and `upper` and the gaps `gap`. `ring` means a periodic axis.
    pub fn new([lower, upper, gap]: [Vec<f64>; 3], ring: bool, lambda: &[f64]) -> Result<Self> {
        let mut chain = Self { lower, upper, gap, ring, lambda: copied(lambda)?, checks: Vec::new() };
        let count = chain.gap.len().saturating_sub(2) / STEP;
        let parts = if ring { 2 } else { 1 };
        let mut checks = allocate((count * parts).saturating_mul(lambda.len()), 0.0)?;
        for first in (0..lambda.len()).step_by(BLOCK) {
            let width = BLOCK.min(lambda.len() - first);
            let mut row = chain.start(first, width);
            for i in 0..count * STEP {
                let mut unused = [0.0; BLOCK];
                chain.step(i, first, &mut row, &mut unused[..width]);
                if (i + 1).is_multiple_of(STEP) {
                    let place = ((i + 1) / STEP - 1) * parts * lambda.len() + first;
                    checks[place..][..width].copy_from_slice(&row.e[..width]);
                    if ring {
                        checks[place + lambda.len()..][..width].copy_from_slice(&row.c[..width]);
                    }
                }
            }
        }
        chain.checks = checks;
        Ok(chain)
    }

    /// Memory of the arrays that grow with the number of systems, in bytes.
    pub fn bytes(&self) -> usize {
        size_of_val(&self.checks[..]) + size_of_val(&self.lambda[..])
    }

    /// e and c of row 0, for `width` systems from `first` on.
    #[inline(always)]
    fn start(&self, first: usize, width: usize) -> CarriedRow {
        let mut row = CarriedRow { e: [0.0; BLOCK], c: [0.0; BLOCK] };
        for (e, lambda) in row.e[..width].iter_mut().zip(&self.lambda[first..]) {
            *e = self.gap[0] + lambda;
        }
        if self.ring {
            row.c[..width].fill(self.lower[0]);
        }
        row
    }

    /// e and c of row 16·`check`, for `width` systems from `first` on.
    #[inline(always)]
    fn at_check(&self, check: usize, first: usize, width: usize) -> CarriedRow {
        if check == 0 {
            return self.start(first, width);
        }
        let (modes, parts) = (self.lambda.len(), if self.ring { 2 } else { 1 });
        let place = (check - 1) * parts * modes + first;
        let mut row = CarriedRow { e: [0.0; BLOCK], c: [0.0; BLOCK] };
        row.e[..width].copy_from_slice(&self.checks[place..][..width]);
        if self.ring {
            row.c[..width].copy_from_slice(&self.checks[place + modes..][..width]);
        }
        row
    }

    /// Write 1/p of row i to `inverse`, and set `row` to row i + 1. Row i must not be the last row.
    #[inline(always)]
    fn step(&self, i: usize, first: usize, row: &mut CarriedRow, inverse: &mut [f64]) {
        let (a, b, gap) = (self.upper[i], self.lower[i + 1], self.gap[i + 1]);
        let width = inverse.len();
        let (lambda, e, c) = (&self.lambda[first..][..width], &mut row.e[..width], &mut row.c[..width]);
        if !self.ring {
            for k in 0..width {
                let r = inverse_of(e[k] + a);
                inverse[k] = r;
                e[k] = (gap + lambda[k]) + b * r * e[k];
            }
            return;
        }
        for k in 0..width {
            let r = inverse_of(e[k] + a + c[k]);
            inverse[k] = r;
            let m = b * r;
            e[k] = (gap + lambda[k]) + m * e[k];
            c[k] *= m;
        }
    }

    /// Solve the systems from `first` on. Row k of the view belongs to system `first + k`, and column i to row i of the axis.
    #[inline(always)]
    pub fn solve<T: PoissonScalar>(&self, first: usize, mut x: ViewMut<'_, T>) {
        let (width, last) = (x.nrows(), self.gap.len() - 1);
        let mut end = LastRow { e: [0.0; BLOCK], g: [0.0; BLOCK], d: [0.0; BLOCK] };
        for (k, f) in x.as_mut().column(last).iter().enumerate() {
            end.e[k] = self.gap[last] + self.lambda[first + k];
            end.g[k] = f.to_f64();
        }
        if self.ring {
            end.d[..width].fill(self.upper[last]);
        }
        self.eliminate(first, x.as_mut(), &mut end);
        // e = 0 occurs only for the constant of a singular problem. Its coefficient is set to 0.
        let (mut ahead, out) = ([0.0; BLOCK], x.as_mut().column(last));
        for k in 0..width {
            ahead[k] = end.g[k] * inverse_of(end.e[k]);
            out[k] = real(ahead[k]);
        }
        self.substitute(first, x, ahead);
    }

    /// Replace f by g/p in all rows except the last, and update `end`.
    #[inline(always)]
    fn eliminate<T: PoissonScalar>(&self, first: usize, mut x: ViewMut<'_, T>, end: &mut LastRow) {
        let (width, last) = (x.nrows(), self.gap.len() - 1);
        let mut row = self.start(first, width);
        let (mut y, mut inverse, mut before) = ([0.0; BLOCK], [0.0; BLOCK], [0.0; BLOCK]);
        // The coupling of row i to the row before
        let mut carried = 0.0;
        for i in 0..last {
            let (out, b, beside) = (x.as_mut().column(i), self.lower[i + 1], self.ring || i + 1 == last);
            if beside {
                before = row.e;
            }
            let inverse = &mut inverse[..width];
            self.step(i, first, &mut row, inverse);
            for k in 0..width {
                y[k] = (out[k].to_f64() + carried * y[k]) * inverse[k];
                out[k] = real(y[k]);
            }
            carried = b;
            if !beside {
                continue;
            }
            let direct = if i + 1 == last { b } else { 0.0 };
            for k in 0..width {
                let d = end.d[k] + direct;
                let part = d * inverse[k];
                end.g[k] += d * y[k];
                end.e[k] += part * before[k];
                end.d[k] = part * self.upper[i];
            }
        }
    }

    /// Compute u of all rows except the last, whose u is `given`.
    #[inline(always)]
    fn substitute<T: PoissonScalar>(&self, first: usize, mut x: ViewMut<'_, T>, given: SystemRow) {
        let (width, last) = (x.nrows(), self.gap.len() - 1);
        let (mut inverses, mut couplings) = ([[0.0; BLOCK]; STEP], [[0.0; BLOCK]; STEP]);
        let mut ahead = given;
        for check in (0..last.div_ceil(STEP)).rev() {
            let rows = check * STEP..last.min((check + 1) * STEP);
            let mut row = self.at_check(check, first, width);
            for i in rows.clone() {
                if self.ring {
                    couplings[i % STEP] = row.c;
                }
                self.step(i, first, &mut row, &mut inverses[i % STEP][..width]);
            }
            for i in rows.rev() {
                let (a, out) = (self.upper[i], x.as_mut().column(i));
                let (r, c) = (&inverses[i % STEP], &couplings[i % STEP]);
                for k in 0..width {
                    let coupled = if self.ring { a * ahead[k] + c[k] * given[k] } else { a * ahead[k] };
                    ahead[k] = out[k].to_f64() + r[k] * coupled;
                    out[k] = real(ahead[k]);
                }
            }
        }
    }
}

/// 1/p, or 0 if p is 0. Only the last pivot of a system can be 0.
#[inline(always)]
fn inverse_of(p: f64) -> f64 {
    if p == 0.0 { 0.0 } else { 1.0 / p }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bandsolve::Tridiagonal;

    /// Compared with pivoted elimination, for several lengths and numbers of systems, periodic and not.
    #[test]
    fn systems_agree_with_pivoted_elimination() {
        for (n, modes) in [(1usize, 3usize), (2, 5), (3, 1), (17, 4), (18, 4), (33, 7), (34, 130), (100, 129)] {
            let number = |i: usize| 0.3 + ((i * 7919) % 101) as f64 / 50.0;
            for ring in [false, true] {
                let mut rows = [0, 1, 2].map(|q| (0..n).map(|i| number(q * n + i)).collect::<Vec<f64>>());
                if !ring || n == 1 {
                    (rows[0][0], rows[1][n - 1]) = (0.0, 0.0);
                }
                let lambda: Vec<f64> = (0..modes).map(|k| 0.01 + 0.1 * k as f64).collect();
                let chain = RenewedChain::new(rows.clone(), ring, &lambda).unwrap();
                let f: Vec<f64> = (0..n * modes).map(|e| number(e) - 1.0).collect();
                let mut x = f.clone();
                for first in (0..modes).step_by(BLOCK) {
                    let width = BLOCK.min(modes - first);
                    let (_, rest) = ViewMut::new(&mut x, modes, n).split_at_row(first);
                    chain.solve(first, rest.split_at_row(width).0);
                }
                for (mode, lambda) in lambda.iter().enumerate() {
                    let diag = (0..n).map(|i| rows[0][i] + rows[1][i] + rows[2][i] + lambda).collect();
                    let beside = |q: usize| rows[q].iter().map(|x| -x).collect();
                    let a = Tridiagonal::from_vecs(beside(0), diag, beside(1), ring).unwrap();
                    let f: Vec<f64> = f[mode..].iter().step_by(modes).copied().collect();
                    let expected = a.solve(&f).unwrap().values;
                    let largest = expected.iter().fold(0.0f64, |a, b| a.max(b.abs()));
                    for (i, expected) in expected.iter().enumerate() {
                        let error = (x[i * modes + mode] - expected).abs();
                        assert!(error <= 1e-13 * largest, "{n} {modes} {ring} {mode} {i}: {error:e}");
                    }
                }
            }
        }
    }

    #[test]
    fn the_constant_is_left_at_zero() {
        for ring in [false, true] {
            let (n, mut lower, mut upper) = (40, vec![1.5; 40], vec![0.5; 40]);
            if !ring {
                (lower[0], upper[n - 1]) = (0.0, 0.0);
            }
            let chain = RenewedChain::new([lower, upper, vec![0.0; n]], ring, &[0.0]).unwrap();
            let mut x = vec![0.0; n];
            chain.solve(0, ViewMut::new(&mut x, 1, n));
            assert!(x.iter().all(|x| *x == 0.0));
        }
    }
}
