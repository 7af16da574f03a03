//! Eigenvalues of a symmetric tridiagonal matrix, and a few components of every eigenvector.
//!
//! The matrix is given by its couplings and by the row sums (gaps). If no gap is negative, the Cholesky factor needs no subtraction, so that
//! all its entries have a relative error of a few ε. The QR iteration on this bidiagonal factor uses no shift where a shift would lose
//! accuracy. All singular values then have a relative error of a few ε, and the eigenvectors are orthogonal.
//!
//! # Source
//! J. Demmel, W. Kahan, *Accurate singular values of bidiagonal matrices*, SIAM J. Sci. Stat. Comput. 11 (1990).

use bandsolve::Result;
use bandsolve::memory::{allocate, collected, reserved};

/// Rows −subₖ, subₖ + supₖ + gapₖ, −supₖ of a tridiagonal matrix M⁻¹A, where A is symmetric and M is diagonal.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PencilRows<'a> {
    pub sub: &'a [f64],
    pub sup: &'a [f64],
    pub gap: &'a [f64],
}

/// The eigenvalues λⱼ of M^½ (M⁻¹A) M^−½ in ascending order, and the requested components of its orthonormal eigenvectors qⱼ.
#[derive(Debug, Clone)]
pub(crate) struct PartialSpectrum {
    pub eigenvalues: Vec<f64>,
    /// For each requested row, the components of all qⱼ.
    pub components: Vec<Vec<f64>>,
}

/// Maximum size of a negligible off-diagonal entry, relative to its neighbors.
const NEGLIGIBLE: f64 = 0.5 * f64::EPSILON;
/// Maximum ratio of singular values for a shift. A shift changes all singular values by ε times the largest one.
const SHIFTED_RANGE: f64 = 32.0;
/// Maximum number of QR sweeps per row, on average.
const SWEEPS: usize = 40;

impl PartialSpectrum {
    /// Compute the eigenvalues, and the components of the eigenvectors in the rows `requested`.
    ///
    /// Returns `None` if the iteration does not converge, for example because an entry is not finite.
    ///
    /// # Cost
    /// Approximately 3n² rotations of two vectors, whose length is the number of requested rows. For a multiple of tridiag(−1, 2, −1), n sines
    /// per requested row.
    pub fn of(rows: PencilRows, requested: &[usize]) -> Result<Option<Self>> {
        let scale = rows.sub[0];
        let is_scale = |v: &f64| *v == scale;
        if rows.sub.iter().all(is_scale) && rows.sup.iter().all(is_scale) && rows.gap.iter().all(|gap| *gap == 0.0) {
            return scale.is_finite().then(|| Self::of_sines(scale, rows.gap.len(), requested)).transpose();
        }
        Self::by_rotations(rows, requested)
    }

    /// The spectrum of s·tridiag(−1, 2, −1): λⱼ = 4s sin²(jπ/2(n + 1)), qⱼ(i) = (2/(n + 1))^½ sin(ijπ/(n + 1)).
    fn of_sines(scale: f64, n: usize, requested: &[usize]) -> Result<Self> {
        let (end, norm) = (n + 1, (2.0 / (n + 1) as f64).sqrt());
        let eigenvalues = (1..end).map(|j| {
            let half = sine(j, 2 * end);
            scale * (4.0 * half * half)
        });
        let components = requested.iter().map(|row| collected((1..end).map(|j| norm * sine((row + 1) * j, end))));
        Ok(Self { eigenvalues: collected(eigenvalues)?, components: components.collect::<Result<_>>()? })
    }

    /// The spectrum of any rows, by the QR iteration.
    fn by_rotations(rows: PencilRows, requested: &[usize]) -> Result<Option<Self>> {
        let n = rows.gap.len();
        // If a gap is negative, add a shift that makes all gaps positive, and subtract it from the eigenvalues. Their error is then ε times
        // the largest eigenvalue.
        let lowest = rows.gap.iter().fold(0.0, |least: f64, gap| least.min(*gap));
        let lift = -2.0 * lowest;
        let vectors = allocate(n.saturating_mul(requested.len()), 0.0)?;
        let mut factor = Bidiagonal { diag: reserved(n)?, sup: reserved(n)?, vectors, columns: requested.len() };
        let mut share = 1.0;
        for k in 0..n {
            let t = rows.gap[k] + lift + rows.sub[k] * share;
            let pivot = t + rows.sup[k];
            share = t / pivot;
            factor.diag.push(pivot.sqrt());
            if k + 1 < n {
                factor.sup.push(-(rows.sup[k] * rows.sub[k + 1] / pivot).sqrt());
            }
        }
        for (column, row) in requested.iter().enumerate() {
            factor.vectors[row * requested.len() + column] = 1.0;
        }
        if factor.diagonalize().is_none() {
            return Ok(None);
        }
        let mut order: Vec<usize> = collected(0..n)?;
        order.sort_unstable_by(|i, j| factor.diag[*i].abs().total_cmp(&factor.diag[*j].abs()));
        let eigenvalues = collected(order.iter().map(|j| factor.diag[*j] * factor.diag[*j] - lift))?;
        let of_row = |column: usize| collected(order.iter().map(|j| factor.vectors[j * requested.len() + column]));
        Ok(Some(Self { eigenvalues, components: (0..requested.len()).map(of_row).collect::<Result<_>>()? }))
    }
}

/// An upper bidiagonal matrix, and the requested components of its right singular vectors.
struct Bidiagonal {
    diag: Vec<f64>,
    sup: Vec<f64>,
    vectors: Vec<f64>,
    columns: usize,
}

impl Bidiagonal {
    /// Compute the singular values in `diag`. Returns `None` if the iteration does not converge.
    fn diagonalize(&mut self) -> Option<()> {
        let n = self.diag.len();
        if self.diag.iter().chain(&self.sup).any(|v| !v.is_finite()) {
            return None;
        }
        let (mut end, mut sweeps) = (n.saturating_sub(1), SWEEPS * n.max(4) * n.max(4));
        while end > 0 {
            let Some(start) = self.block(end) else {
                end -= 1;
                continue;
            };
            let down = self.diag[start].abs() >= self.diag[end].abs();
            let Some(least) = self.least(start, end, down) else { continue };
            let shift = self.shift((start, end), least, down);
            match (down, shift == 0.0) {
                (true, true) => self.plain_down(start, end),
                (false, true) => self.plain_up(start, end),
                (true, false) => self.shifted_down(start, end, shift),
                (false, false) => self.shifted_up(start, end, shift),
            }
            sweeps = sweeps.checked_sub(end - start)?;
        }
        Some(())
    }

    /// The first row of the unreduced block that ends with row `end`, or `None` if the block is that row alone.
    fn block(&mut self, end: usize) -> Option<usize> {
        for k in (0..end).rev() {
            let beside = self.diag[k].abs() + self.diag[k + 1].abs();
            if self.sup[k].abs() <= f64::MIN_POSITIVE.max(NEGLIGIBLE * f64::EPSILON * beside) {
                self.sup[k] = 0.0;
                return if k + 1 == end { None } else { Some(k + 1) };
            }
        }
        Some(0)
    }

    /// An estimate of the smallest singular value of a block, or `None` if an off-diagonal entry has been set to 0.
    ///
    /// The estimate is a lower bound up to a factor of approximately n.
    fn least(&mut self, start: usize, end: usize, down: bool) -> Option<f64> {
        let at = |k: usize| if down { k } else { start + end - k };
        let mut bound = self.diag[at(start)].abs();
        let mut least = bound;
        for k in start..end {
            let between = if down { k } else { start + end - k - 1 };
            let off = self.sup[between].abs();
            if off <= NEGLIGIBLE * bound {
                self.sup[between] = 0.0;
                return None;
            }
            bound = self.diag[at(k + 1)].abs() * (bound / (bound + off));
            least = least.min(bound);
        }
        let last = if down { end - 1 } else { start };
        if self.sup[last].abs() <= NEGLIGIBLE * self.diag[at(end)].abs() {
            self.sup[last] = 0.0;
            return None;
        }
        Some(least)
    }

    /// The shift of a sweep: the smaller singular value of the last 2 × 2 block. The shift is 0 if it would make the smallest singular values
    /// inaccurate.
    fn shift(&self, (start, end): (usize, usize), least: f64, down: bool) -> f64 {
        let entries = || self.diag[start..=end].iter().chain(&self.sup[start..end]);
        let largest = entries().fold(0.0, |most: f64, v| most.max(v.abs()));
        if least * SHIFTED_RANGE < largest {
            return 0.0;
        }
        let (first, k) = if down { (start, end - 1) } else { (end, start) };
        let shift = lesser_singular_value(self.diag[k], self.sup[k], self.diag[k + 1]);
        let part = shift / self.diag[first].abs();
        if part * part < f64::EPSILON { 0.0 } else { shift }
    }

    /// A sweep without shift, downwards.
    fn plain_down(&mut self, start: usize, end: usize) {
        let (mut c, mut old) = (1.0, (1.0, 0.0));
        for k in start..end {
            let (cosine, sine, r) = rotation(self.diag[k] * c, self.sup[k]);
            if k > start {
                self.sup[k - 1] = old.1 * r;
            }
            let (old_cosine, old_sine, d) = rotation(old.0 * r, self.diag[k + 1] * sine);
            self.diag[k] = d;
            (c, old) = (cosine, (old_cosine, old_sine));
            self.rotate(k, cosine, sine);
        }
        let h = self.diag[end] * c;
        (self.diag[end], self.sup[end - 1]) = (h * old.0, h * old.1);
    }

    /// A sweep without shift, upwards.
    fn plain_up(&mut self, start: usize, end: usize) {
        let (mut c, mut old) = (1.0, (1.0, 0.0));
        for k in (start + 1..=end).rev() {
            let (cosine, sine, r) = rotation(self.diag[k] * c, self.sup[k - 1]);
            if k < end {
                self.sup[k] = old.1 * r;
            }
            let (old_cosine, old_sine, d) = rotation(old.0 * r, self.diag[k - 1] * sine);
            self.diag[k] = d;
            (c, old) = (cosine, (old_cosine, old_sine));
            self.rotate(k - 1, old_cosine, -old_sine);
        }
        let h = self.diag[start] * c;
        (self.diag[start], self.sup[start]) = (h * old.0, h * old.1);
    }

    /// A sweep with shift, downwards.
    fn shifted_down(&mut self, start: usize, end: usize, shift: f64) {
        let (d, e) = (&mut self.diag, &mut self.sup);
        let mut f = (d[start].abs() - shift) * (1f64.copysign(d[start]) + shift / d[start]);
        let mut g = e[start];
        for k in start..end {
            let (d, e) = (&mut self.diag, &mut self.sup);
            let (c, s, r) = rotation(f, g);
            if k > start {
                e[k - 1] = r;
            }
            f = c * d[k] + s * e[k];
            e[k] = c * e[k] - s * d[k];
            g = s * d[k + 1];
            d[k + 1] *= c;
            let (left, left_sine, r) = rotation(f, g);
            d[k] = r;
            f = left * e[k] + left_sine * d[k + 1];
            d[k + 1] = left * d[k + 1] - left_sine * e[k];
            if k + 1 < end {
                g = left_sine * e[k + 1];
                e[k + 1] *= left;
            }
            self.rotate(k, c, s);
        }
        self.sup[end - 1] = f;
    }

    /// A sweep with shift, upwards.
    fn shifted_up(&mut self, start: usize, end: usize, shift: f64) {
        let (d, e) = (&mut self.diag, &mut self.sup);
        let mut f = (d[end].abs() - shift) * (1f64.copysign(d[end]) + shift / d[end]);
        let mut g = e[end - 1];
        for k in (start + 1..=end).rev() {
            let (d, e) = (&mut self.diag, &mut self.sup);
            let (c, s, r) = rotation(f, g);
            if k < end {
                e[k] = r;
            }
            f = c * d[k] + s * e[k - 1];
            e[k - 1] = c * e[k - 1] - s * d[k];
            g = s * d[k - 1];
            d[k - 1] *= c;
            let (left, left_sine, r) = rotation(f, g);
            d[k] = r;
            f = left * e[k - 1] + left_sine * d[k - 1];
            d[k - 1] = left * d[k - 1] - left_sine * e[k - 1];
            if k > start + 1 {
                g = left_sine * e[k - 2];
                e[k - 2] *= left;
            }
            self.rotate(k - 1, left, -left_sine);
        }
        self.sup[start] = f;
    }

    /// Rotate rows k and k + 1 of the vectors.
    fn rotate(&mut self, k: usize, c: f64, s: f64) {
        let (first, second) = self.vectors[k * self.columns..(k + 2) * self.columns].split_at_mut(self.columns);
        for (a, b) in first.iter_mut().zip(second) {
            (*a, *b) = (s * *b + c * *a, c * *b - s * *a);
        }
    }
}

/// sin(πa/b). The result is exact where the sine is 0, and exactly symmetric for mirrored angles.
pub(crate) fn sine(a: usize, b: usize) -> f64 {
    let turn = a % (2 * b);
    let (half, sign) = if turn > b { (turn - b, -1.0) } else { (turn, 1.0) };
    let quarter = half.min(b - half);
    let angle = core::f64::consts::PI / b as f64;
    let value =
        if 4 * quarter <= b { (angle * quarter as f64).sin() } else { (0.5 * angle * (b - 2 * quarter) as f64).cos() };
    sign * value
}

/// The rotation (c, s, r) with c f + s g = r and c g − s f = 0.
fn rotation(f: f64, g: f64) -> (f64, f64, f64) {
    if g == 0.0 {
        return (1.0, 0.0, f);
    }
    let r = f.hypot(g).copysign(if f.abs() > g.abs() { f } else { 1.0 });
    (f / r, g / r, r)
}

/// The smaller singular value of the matrix \[f g; 0 h\].
fn lesser_singular_value(f: f64, g: f64, h: f64) -> f64 {
    let (f, g, h) = (f.abs(), g.abs(), h.abs());
    let (small, large) = (f.min(h), f.max(h));
    if small == 0.0 {
        return 0.0;
    }
    if g < large {
        let (sum, difference, g) = (1.0 + small / large, (large - small) / large, (g / large) * (g / large));
        return small * (2.0 / ((sum * sum + g).sqrt() + (difference * difference + g).sqrt()));
    }
    let by = large / g;
    if by == 0.0 {
        return small * large / g;
    }
    let (sum, difference) = ((1.0 + small / large) * by, (large - small) / large * by);
    let c = 1.0 / ((1.0 + sum * sum).sqrt() + (1.0 + difference * difference).sqrt());
    2.0 * (small * c) * by
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All components of all eigenvectors: QQᵀ = I, QΛQᵀ = A.
    #[test]
    fn eigenvectors_are_orthonormal() {
        for n in 1..60usize {
            let mut x = n as f64;
            let mut random = || {
                x = (x * 16807.0) % 2147483647.0;
                0.01 + x / 2147483647.0
            };
            let sub: Vec<f64> = (0..n).map(|_| random()).collect();
            let sup: Vec<f64> = (0..n).map(|_| random()).collect();
            let gap: Vec<f64> = (0..n).map(|k| if k % 3 == 0 { random() } else { 0.0 }).collect();
            let all: Vec<usize> = (0..n).collect();
            let spectrum = PartialSpectrum::of(PencilRows { sub: &sub, sup: &sup, gap: &gap }, &all).unwrap().unwrap();
            for i in 0..n {
                for k in 0..n {
                    let sum = |f: &dyn Fn(usize) -> f64| (0..n).map(f).sum::<f64>();
                    let q = &spectrum.components;
                    let unit = sum(&|j| q[i][j] * q[k][j]);
                    assert!((unit - f64::from(i == k)).abs() < 1e-14 * (n + 9) as f64, "{n}: {i} {k} {unit}");
                    let entry = sum(&|j| q[i][j] * q[k][j] * spectrum.eigenvalues[j]);
                    let expected = match i.abs_diff(k) {
                        0 => sub[i] + sup[i] + gap[i],
                        1 => -(sup[i.min(k)] * sub[i.max(k)]).sqrt(),
                        _ => 0.0,
                    };
                    assert!((entry - expected).abs() < 1e-14 * (n + 9) as f64, "{n}: {i} {k} {entry} {expected}");
                }
            }
        }
    }

    /// λⱼ = 4 sin²(jπ/2(n + 1)) has a relative error of a few ε, also for j = 1, where λⱼ is 10⁵ times smaller than the largest.
    #[test]
    fn eigenvalues_have_a_small_relative_error() {
        for n in [1usize, 2, 3, 10, 100, 511] {
            let (one, none) = (vec![1.0; n], vec![0.0; n]);
            let spectrum =
                PartialSpectrum::by_rotations(PencilRows { sub: &one, sup: &one, gap: &none }, &[0]).unwrap().unwrap();
            for (j, got) in spectrum.eigenvalues.iter().enumerate() {
                let half = (std::f64::consts::FRAC_PI_2 * (j + 1) as f64 / (n + 1) as f64).sin();
                let (expected, first) = (4.0 * half * half, spectrum.components[0][j].abs());
                assert!((got - expected).abs() < 40.0 * f64::EPSILON * expected, "{n} {j}: {got} {expected}");
                let vector =
                    (2.0 / (n + 1) as f64).sqrt() * (std::f64::consts::PI * (j + 1) as f64 / (n + 1) as f64).sin();
                // The error of an eigenvector is the error of the matrix divided by the distance to the next eigenvalue.
                let apart = |k: usize| spectrum.eigenvalues.get(k).map_or(1.0, |other| (other / got - 1.0).abs());
                let bound = 40.0 * f64::EPSILON / apart(j.wrapping_sub(1)).min(apart(j + 1));
                assert!((first - vector).abs() < bound * vector, "{n} {j}: {first} {vector}");
            }
        }
    }

    #[test]
    fn a_singular_matrix_has_the_eigenvalue_zero() {
        for n in [1usize, 2, 7, 40] {
            let (mut sub, mut sup) = (vec![1.0; n], vec![1.0; n]);
            (sub[0], sup[n - 1]) = (0.0, 0.0);
            let spectrum =
                PartialSpectrum::of(PencilRows { sub: &sub, sup: &sup, gap: &vec![0.0; n] }, &[0]).unwrap().unwrap();
            assert_eq!(spectrum.eigenvalues[0], 0.0, "{n}");
            assert!((spectrum.components[0][0].abs() - (1.0 / n as f64).sqrt()).abs() < 1e-14, "{n}");
        }
    }
}
