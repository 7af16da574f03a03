//! The rows of one rank: eliminate the inner rows, keep the first and the last row.
//!
//! A rank has the rows 0 to m − 1 of a system. The inner rows, 1 to m − 2, are a tridiagonal matrix T with unknowns x_I:
//!
//! ```text
//! T·x_I + sub[1]·e₁·x[0] + sup[m−2]·eₘ₋₂·x[m−1] = d_I
//! ```
//!
//! T is factored without row exchanges (Thomas): ratio[i] = sup[i]·r[i], r[i] = 1 / (diag[i] − sub[i]·ratio[i−1]). With
//! W = T⁻¹·sub[1]·e₁ and V = T⁻¹·sup[m−2]·eₘ₋₂, row 0 contains only x[0], x[m−1] and one unknown of another rank:
//!
//! ```text
//! sub[0]·x[−1] + (diag[0] − sup[0]·W₁)·x[0] − sup[0]·V₁·x[m−1] = d[0] − sup[0]·(T⁻¹·d_I)₁
//! ```
//!
//! The last row is treated in the same way. A solve reads 7 numbers per row and system, and writes 3.

use bandsolve::Scalar;
use bandsolve::memory::{reserved, zeroed};

/// Factors of the inner rows of all systems, stored row by row.
#[derive(Debug)]
pub(super) struct InnerFactors<T> {
    count: usize,
    /// Number of rows of a system on this rank.
    rows: usize,
    /// rᵢ and ratioᵢ of inner rows.
    reciprocals: Vec<T>,
    ratios: Vec<T>,
    /// W and V.
    spikes: [Vec<T>; 2],
}

impl<T: Scalar> InnerFactors<T> {
    /// Factor the inner rows of `[sub, diag, sup]`.
    pub fn new(arrays: &[Vec<T>; 3], count: usize) -> bandsolve::Result<Self> {
        let [sub, diag, sup] = arrays;
        let rows = diag.len().checked_div(count).unwrap_or(0);
        let inner = rows.saturating_sub(2);
        let room = || zeroed(inner * count);
        let (mut reciprocals, mut ratios, mut w, mut v) = (room()?, room()?, room()?, room()?);
        // rᵢ = 1/(diagᵢ − subᵢ·ratioᵢ₋₁), ratioᵢ = supᵢ·rᵢ, wᵢ = −subᵢ·rᵢ·wᵢ₋₁, with w₀ = sub₀·r₀
        for i in 0..inner {
            let row = (i + 1) * count..(i + 2) * count;
            let [sub, diag, sup] = [&sub[row.clone()], &diag[row.clone()], &sup[row.clone()]];
            let (before, ratio) = ratios.split_at_mut(i * count);
            let (w_before, w) = w.split_at_mut(i * count);
            let at = i * count..(i + 1) * count;
            let r = &mut reciprocals[at];
            if i == 0 {
                for k in 0..count {
                    r[k] = T::ONE / diag[k];
                    ratio[k] = sup[k] * r[k];
                    w[k] = sub[k] * r[k];
                }
                continue;
            }
            let (before, w_before) = (&before[(i - 1) * count..], &w_before[(i - 1) * count..]);
            for k in 0..count {
                r[k] = T::ONE / (diag[k] - sub[k] * before[k]);
                ratio[k] = sup[k] * r[k];
                w[k] = -(sub[k] * r[k]) * w_before[k];
            }
        }
        // V is supᵢ·rᵢ in the last inner row, before the substitution.
        let last = inner.saturating_sub(1) * count;
        v[last..].copy_from_slice(&ratios[last..]);
        let mut factors = Self { count, rows, reciprocals, ratios, spikes: [Vec::new(), Vec::new()] };
        factors.substitute_upwards(&mut w);
        factors.substitute_upwards(&mut v);
        factors.spikes = [w, v];
        Ok(factors)
    }

    /// Compute yᵢ ← yᵢ − ratioᵢ·yᵢ₊₁, from the last inner row to the first.
    fn substitute_upwards(&self, y: &mut [T]) {
        let count = self.count;
        for i in (0..self.inner().saturating_sub(1)).rev() {
            let (row, next) = y[i * count..(i + 2) * count].split_at_mut(count);
            let ratio = &self.ratios[i * count..][..count];
            (0..count).for_each(|k| row[k] -= ratio[k] * next[k]);
        }
    }

    fn inner(&self) -> usize {
        self.rows.saturating_sub(2)
    }

    /// Compute y ← T⁻¹y.
    fn divide(&self, sub: &[T], y: &mut [T]) {
        let count = self.count;
        // yᵢ ← (yᵢ − subᵢ·yᵢ₋₁)·rᵢ
        for i in 0..self.inner() {
            let r = &self.reciprocals[i * count..][..count];
            if i == 0 {
                (0..count).for_each(|k| y[k] *= r[k]);
                continue;
            }
            let sub = &sub[(i + 1) * count..][..count];
            let (before, row) = y[(i - 1) * count..(i + 1) * count].split_at_mut(count);
            (0..count).for_each(|k| row[k] = (row[k] - sub[k] * before[k]) * r[k]);
        }
        self.substitute_upwards(y);
    }

    /// Compute y ← T⁻ᵀy.
    fn divide_transposed(&self, sub: &[T], y: &mut [T]) {
        let (count, inner) = (self.count, self.inner());
        // yᵢ ← yᵢ − ratioᵢ₋₁·yᵢ₋₁
        for i in 1..inner {
            let ratio = &self.ratios[(i - 1) * count..][..count];
            let (before, row) = y[(i - 1) * count..(i + 1) * count].split_at_mut(count);
            (0..count).for_each(|k| row[k] -= ratio[k] * before[k]);
        }
        // yᵢ ← (yᵢ − subᵢ₊₁·yᵢ₊₁)·rᵢ
        for i in (0..inner).rev() {
            let r = &self.reciprocals[i * count..][..count];
            let (row, next) = y[i * count..].split_at_mut(count);
            if i + 1 < inner {
                let sub = &sub[(i + 2) * count..][..count];
                (0..count).for_each(|k| row[k] -= sub[k] * next[k]);
            }
            (0..count).for_each(|k| row[k] *= r[k]);
        }
    }

    /// Compute the interface rows of this rank: sub, diag and sup of each row, with `count` numbers each.
    pub fn interface_rows(&self, [sub, diag, sup]: &[Vec<T>; 3]) -> bandsolve::Result<Vec<T>> {
        let (count, rows) = (self.count, self.rows);
        let row = |i: usize| i * count..(i + 1) * count;
        let mut all = reserved(6 * count)?;
        if rows < 3 {
            for i in 0..rows {
                [sub, diag, sup].iter().for_each(|array| all.extend_from_slice(&array[row(i)]));
            }
            return Ok(all);
        }
        let [w, v] = &self.spikes;
        let (first, last, inner) = (0..count, row(rows - 1), row(rows - 3));
        all.extend_from_slice(&sub[first.clone()]);
        all.extend((0..count).map(|k| diag[k] - sup[k] * w[k]));
        all.extend((0..count).map(|k| -(sup[k] * v[k])));
        all.extend(sub[last.clone()].iter().zip(&w[inner.clone()]).map(|(sub, w)| -(*sub * *w)));
        let ends = sub[last.clone()].iter().zip(&v[inner]);
        all.extend(diag[last.clone()].iter().zip(ends).map(|(diag, (sub, v))| *diag - *sub * *v));
        all.extend_from_slice(&sup[last]);
        Ok(all)
    }

    /// Eliminate the inner rows from a column of right-hand sides.
    pub fn reduce(&self, [sub, _, sup]: &[Vec<T>; 3], transposed: bool, d: &mut [T]) {
        let (count, rows) = (self.count, self.rows);
        if rows < 3 {
            return;
        }
        let (first, rest) = d.split_at_mut(count);
        let (inner, last) = rest.split_at_mut((rows - 2) * count);
        let end = (rows - 3) * count;
        // The entries of the first and the last row of A or Aᵀ in the columns of inner unknowns.
        let [upper, lower] = if transposed {
            self.divide_transposed(sub, inner);
            [&sub[count..2 * count], &sup[(rows - 2) * count..][..count]]
        } else {
            self.divide(sub, inner);
            [&sup[..count], &sub[(rows - 1) * count..]]
        };
        for k in 0..count {
            first[k] -= upper[k] * inner[k];
            last[k] -= lower[k] * inner[end + k];
        }
    }

    /// Get the number of scratch numbers for [`substitute`](Self::substitute).
    pub fn spare(&self, transposed: bool) -> usize {
        if transposed { self.inner() * self.count } else { 0 }
    }

    /// Compute the inner unknowns of a column. The column must contain x of the first and the last row.
    pub fn substitute(&self, [sub, _, sup]: &[Vec<T>; 3], transposed: bool, (x, spare): (&mut [T], &mut [T])) {
        let (count, rows) = (self.count, self.rows);
        if rows < 3 {
            return;
        }
        let (first, rest) = x.split_at_mut(count);
        let (inner, last) = rest.split_at_mut((rows - 2) * count);
        if !transposed {
            let [w, v] = &self.spikes;
            for (x, (w, v)) in inner.chunks_exact_mut(count).zip(w.chunks_exact(count).zip(v.chunks_exact(count))) {
                (0..count).for_each(|k| x[k] -= w[k] * first[k] + v[k] * last[k]);
            }
            return;
        }
        let (spike, end) = (&mut spare[..inner.len()], (rows - 3) * count);
        spike.fill(T::ZERO);
        for k in 0..count {
            spike[k] += sup[k] * first[k];
            spike[end + k] += sub[(rows - 1) * count + k] * last[k];
        }
        self.divide_transposed(sub, spike);
        inner.iter_mut().zip(&*spike).for_each(|(x, v)| *x -= *v);
    }
}
