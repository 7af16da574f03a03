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
use super::run::KrylovRun;
use super::vectors::{FIRST, ONE, R, SPARE, own};
use bandsolve::dyn_stack::PodStack;
use bandsolve::vectors::{LinearCombination, VectorId, divide};
use bandsolve::{Complex64, Result};

const ZERO: Complex64 = Complex64::new(0.0, 0.0);

/// Number of complex numbers in the small least squares problem.
pub(super) fn small_numbers(restart: usize) -> usize {
    let width = restart.saturating_add(1);
    width.saturating_mul(restart.saturating_add(4))
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
pub(super) fn cycle(
    run: &mut KrylovRun<'_>,
    monitor: &mut Monitor<'_>,
    restart: usize,
    stack: &mut PodStack,
) -> Result<Ending> {
    let (x, z, flexible) = (VectorId::Solution, SPARE[1], run.flexible);
    let width = restart + 1;
    let (h, stack) = stack.make_with(width * restart, |_| ZERO);
    let (rotations, stack) = stack.make_with(2 * width, |_| ZERO);
    let (g, stack) = stack.make_with(width, |_| ZERO);
    let (again, _) = stack.make_with(width, |_| ZERO);
    let mut small = LeastSquares { width, h, rotations, g };
    // The columns of V = (v₀, …, vₘ), and behind them M⁻¹·vⱼ for each j if the preconditioner changes.
    let (basis, preconditioned) = (FIRST, FIRST + width);

    // v₀ = r / ‖r‖₂, g = ‖r‖₂·e₀
    let norm = run.vectors.norm(R);
    small.g[0] = Complex64::from(norm);
    run.compute(LinearCombination::of(own(0), &[((1.0 / norm).into(), R)]));
    // Relative size of a column that consists of rounding errors.
    let noise = 4.0 * run.vectors.epsilon();
    let (mut columns, mut ending) = (0, None);
    while columns < restart && ending.is_none() {
        let j = columns;
        let (v, w) = (own(j), own(j + 1));
        // z = M⁻¹·vⱼ, w = A·z
        let z = if flexible { VectorId::Work(preconditioned + j) } else { z };
        run.precondition(v, z)?;
        run.apply(z, w)?;
        // hᵢⱼ = vᵢᴴ·w and w ← w − Σᵢ hᵢⱼ·vᵢ for i ≤ j; hⱼ₊₁ⱼ = ‖w‖₂
        let column = small.column(j);
        let norm = run.vectors.orthogonalize([basis; 2], w, &mut column[..=j], &mut again[..=j]);
        column[j + 1] = Complex64::from(norm);
        let whole = norm_of(&column[..=j + 1]);
        // No new direction: the space contains the solution, or the matrix is singular.
        let complete = norm <= noise * whole;
        let residual = small.rotate(j);
        columns += 1;
        ending = monitor.step(if norm.is_finite() { residual } else { f64::NAN }, run.vectors);
        if complete && ending.is_none() {
            ending = Some(Ending::Breakdown);
        }
        // vⱼ₊₁ = w / hⱼ₊₁ⱼ
        run.compute(LinearCombination::of(w, &[((1.0 / norm).into(), w)]));
    }
    if ending == Some(Ending::NotFinite) {
        columns -= 1;
    }
    // y minimises ‖g − H·y‖₂. The vectors only subtract combinations, so change the sign.
    let regular = small.solve(columns, noise);
    let y = &mut small.g[..columns];
    y.iter_mut().for_each(|y| *y = -*y);
    if flexible {
        // x ← x + Σⱼ yⱼ·M⁻¹·vⱼ, with the preconditioner of each step
        run.vectors.subtract_combination(x, preconditioned, y);
    } else {
        // x ← x + M⁻¹·(V·y)
        run.compute(LinearCombination::of(R, &[]));
        run.vectors.subtract_combination(R, basis, y);
        run.precondition(R, z)?;
        run.compute(LinearCombination::add_to(x, &[(ONE, z)]));
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
