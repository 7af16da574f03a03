//! GMRES(m), and FGMRES if the preconditioner changes.
//!
//! # Memory traffic of one iteration
//! 3·j + 11 words per row of vectors in iteration j = 1, …, m of a cycle (3·j + 6 loads, 5 stores), 4 of them in the product with A and the
//! application of M⁻¹. Gram–Schmidt reads the j basis vectors three times. Each cycle adds 5 words at its start (3 loads, 2 stores) and m + 8 at its
//! end (m + 4 loads, 4 stores), where GMRES applies M⁻¹ once more, or m + 2 with FGMRES (m + 1 loads, 1 store).
//!
//! # Source
//! Y. Saad, Iterative methods for sparse linear systems, 2nd edition (2003), algorithms 6.9 and 9.6, doi:10.1137/1.9780898718003, with classical
//! Gram–Schmidt, twice.

use super::monitor::Monitor;
use super::report::Ending;
use super::run::{KrylovRun, KrylovVectors, cut};
use bandsolve::dyn_stack::{PodStack, StackReq};
use bandsolve::vectors::{PIECE, divide, each_piece, narrow};
use bandsolve::{Complex64, RealScalar, Result, Scalar};
use bandsolve_kernel::spread::RowsOf;

const ZERO: Complex64 = Complex64::new(0.0, 0.0);

/// Scratch memory for the small least squares problem.
pub(super) fn small_scratch(restart: usize) -> StackReq {
    let width = restart.saturating_add(1);
    StackReq::new::<Complex64>(width.saturating_mul(restart.saturating_add(4)))
}

/// The least squares problem min ‖g − H·y‖ with an upper Hessenberg matrix that grows by columns. Rotations bring it to triangular form.
struct LeastSquares<'s> {
    width: usize,
    /// Columns, of `width` entries each.
    h: &'s mut [Complex64],
    rotations: &'s mut [Complex64],
    g: &'s mut [Complex64],
}

impl LeastSquares<'_> {
    fn column(&mut self, j: usize) -> &mut [Complex64] {
        &mut self.h[j * self.width..][..self.width]
    }

    /// Rotate column j, whose entries are set. Returns the norm of the residual.
    fn rotate(&mut self, j: usize) -> f64 {
        let (rotations, width) = (&mut self.rotations[..2 * self.width], self.width);
        let h = &mut self.h[j * width..][..width];
        // Apply the rotations of the columns before: (hᵢ, hᵢ₊₁) ← (c·hᵢ + s·hᵢ₊₁, −s̄·hᵢ + c·hᵢ₊₁).
        for i in 0..j {
            let [c, s] = [rotations[2 * i], rotations[2 * i + 1]];
            [h[i], h[i + 1]] = [c * h[i] + s * h[i + 1], -s.conj() * h[i] + c * h[i + 1]];
        }
        // The rotation that makes hⱼ₊₁ zero: c = |hⱼ| / r, s = (hⱼ/|hⱼ|)·h̄ⱼ₊₁ / r with r² = |hⱼ|² + |hⱼ₊₁|².
        let (a, b) = (h[j].norm(), h[j + 1].norm());
        let r = a.hypot(b);
        let direction = if a > 0.0 { h[j] / a } else { Complex64::new(1.0, 0.0) };
        let [c, s] = if r > 0.0 {
            [Complex64::from(a / r), direction * h[j + 1].conj() / r]
        } else {
            // The column is zero. This part of g stays in the residual.
            [ZERO, Complex64::from(1.0)]
        };
        (h[j], h[j + 1]) = (direction * r, ZERO);
        (rotations[2 * j], rotations[2 * j + 1]) = (c, s);
        // The same rotation of g. The norm of the residual is |gⱼ₊₁|.
        (self.g[j], self.g[j + 1]) = (c * self.g[j], -s.conj() * self.g[j]);
        self.g[j + 1].norm()
    }

    /// Solve for the first `columns` unknowns, and overwrite g. If a pivot is at most `noise` times the norm of its column, its unknown is 0. Returns
    /// whether all pivots are larger.
    fn solve(&mut self, columns: usize, noise: f64) -> bool {
        let mut regular = true;
        // Back substitution by columns: yⱼ = gⱼ / hⱼⱼ, then gᵢ ← gᵢ − hᵢⱼ·yⱼ for i < j.
        for j in (0..columns).rev() {
            let pivot = self.h[j * self.width + j];
            let size = norm_of(&self.h[j * self.width..][..=j]);
            if pivot.norm() <= f64::MIN_POSITIVE.max(noise * size) {
                self.g[j] = ZERO;
                regular = false;
                continue;
            }
            let y = divide(self.g[j], pivot);
            self.g[j] = y;
            for i in 0..j {
                self.g[i] -= self.h[j * self.width + i] * y;
            }
        }
        regular
    }
}

/// Run one cycle from x, which has the residual r.
pub(super) fn cycle<T: Scalar>(
    run: &mut KrylovRun<'_, T>,
    monitor: &mut Monitor<'_, T>,
    restart: usize,
    KrylovVectors { x, r, workspace, spare }: KrylovVectors<'_, T>,
    stack: &mut PodStack,
) -> Result<Ending> {
    let n = run.n;
    let flexible = run.is_flexible();
    let width = restart + 1;
    let (h, stack) = stack.make_with(width * restart, |_| ZERO);
    let (rotations, stack) = stack.make_with(2 * width, |_| ZERO);
    let (g, stack) = stack.make_with(width, |_| ZERO);
    let (again, stack) = stack.make_with(width, |_| ZERO);
    let mut small = LeastSquares { width, h, rotations, g };
    // The columns of V = (v₀, …, vₘ), and M⁻¹·vⱼ for each j if the preconditioner changes.
    let ([basis], preconditioned) = cut(workspace, width * n);
    let ([spare, z], _) = cut(spare, n);

    // v₀ = r / ‖r‖₂, g = ‖r‖₂·e₀
    let norm = run.reducer.norm(r);
    small.g[0] = Complex64::from(norm);
    basis[..n].copy_from_slice(r);
    scale(&mut basis[..n], 1.0 / norm);
    // Relative size of a column that consists of rounding errors.
    let noise = 4.0 * T::Real::EPSILON.to_f64();
    let (mut columns, mut ending) = (0, None);
    while columns < restart && ending.is_none() {
        let (j, (known, next)) = (columns, basis.split_at_mut((columns + 1) * n));
        let (v, w) = (&known[j * n..], &mut next[..n]);
        // z = M⁻¹·vⱼ, w = A·z
        let z = if flexible { &mut preconditioned[j * n..][..n] } else { &mut *z };
        run.precondition(v, z, stack)?;
        run.apply(z, w, spare, stack)?;
        // hᵢⱼ = vᵢᴴ·w and w ← w − Σᵢ hᵢⱼ·vᵢ for i ≤ j; hⱼ₊₁ⱼ = ‖w‖₂
        let column = small.column(j);
        let norm = run.reducer.orthogonalize(known, w, &mut column[..=j], &mut again[..=j]);
        column[j + 1] = Complex64::from(norm);
        let whole = norm_of(&column[..=j + 1]);
        // No new direction: the space contains the solution, or the matrix is singular.
        let complete = norm <= noise * whole;
        let residual = small.rotate(j);
        columns += 1;
        ending = monitor.step(if norm.is_finite() { residual } else { f64::NAN });
        if complete && ending.is_none() {
            ending = Some(Ending::Breakdown);
        }
        // vⱼ₊₁ = w / hⱼ₊₁ⱼ
        scale(w, 1.0 / norm);
    }
    if ending == Some(Ending::NotFinite) {
        columns -= 1;
    }
    // y minimises ‖g − H·y‖₂. The reducer only subtracts combinations, so change the sign.
    let regular = small.solve(columns, noise);
    let y = &mut small.g[..columns];
    y.iter_mut().for_each(|y| *y = -*y);
    if flexible {
        // x ← x + Σⱼ yⱼ·M⁻¹·vⱼ, with the preconditioner of each step
        run.reducer.subtract_combination(x, preconditioned, y);
    } else {
        // x ← x + M⁻¹·(V·y)
        r.fill(T::ZERO);
        run.reducer.subtract_combination(r, basis, y);
        run.precondition(r, z, stack)?;
        each_piece(n, RowsOf(x, PIECE), &|rows, x| x.0.iter_mut().zip(&z[rows]).for_each(|(x, z)| *x += *z));
    }
    Ok(match ending {
        Some(ending) => ending,
        None if regular => Ending::Converged,
        None => Ending::Breakdown,
    })
}

/// The 2-norm of a few numbers.
fn norm_of(h: &[Complex64]) -> f64 {
    let squared = h.iter().map(Complex64::norm_sqr).sum::<f64>();
    let safe = (1e-200..1e200).contains(&squared);
    if safe { squared.sqrt() } else { h.iter().fold(0.0, |norm: f64, h| norm.hypot(h.norm())) }
}

/// w ← c·w.
fn scale<T: Scalar>(w: &mut [T], c: f64) {
    let c: T = narrow(Complex64::from(c));
    each_piece(w.len(), RowsOf(w, PIECE), &|_, w| w.0.iter_mut().for_each(|w| *w *= c));
}
