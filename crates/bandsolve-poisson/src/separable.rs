//! A discretized problem, its right-hand side line by line, and its residual.

use crate::axis::AxisOperator;
use crate::level::compensated;
use crate::scalar::{PoissonScalar, real};
use bandsolve::memory::collected;
use bandsolve::{RealScalar, Result, Scalar};
use bandsolve_kernel::spread::{RowsOf, each_chunk};

/// Minimum number of unknowns for copies by several threads.
pub const SHARED: usize = 1 << 16;

/// The matrix L₁ ⊗ 1 ⊗ 1 + 1 ⊗ L₂ ⊗ 1 + 1 ⊗ 1 ⊗ L₃ + c, with three tridiagonal or periodic L.
///
/// Missing axes have one unknown. Lines lie along the last axis and are contiguous in memory.
#[derive(Clone)]
pub struct SeparableProblem {
    pub axes: [AxisOperator; 3],
    pub shift: f64,
}

/// The contribution of the boundary values of one side to the right-hand side.
#[derive(Debug, Clone)]
pub enum SideTerm<T> {
    /// No contribution.
    None,
    /// The same number at all points of the side.
    Constant(T),
    /// One number per point of the side, in memory order.
    Array(Vec<T>),
}

impl<T: PoissonScalar> SideTerm<T> {
    fn at(&self, k: usize) -> T {
        match self {
            SideTerm::None => T::ZERO,
            SideTerm::Constant(value) => *value,
            SideTerm::Array(values) => values[k],
        }
    }

    /// The largest absolute value.
    fn largest(&self) -> T {
        match self {
            SideTerm::None => T::ZERO,
            SideTerm::Constant(value) => Scalar::abs(*value),
            SideTerm::Array(values) => peak(values),
        }
    }

    fn add_to(&self, line: &mut [T], start: usize, scale: T) {
        match self {
            SideTerm::None => {}
            SideTerm::Constant(value) => line.iter_mut().for_each(|x| *x += *value * scale),
            SideTerm::Array(values) => {
                line.iter_mut().zip(&values[start..]).for_each(|(x, value)| *x += *value * scale)
            }
        }
    }
}

/// The boundary terms of all sides.
#[derive(Debug, Clone)]
pub struct SideTerms<T>(pub [[SideTerm<T>; 2]; 3]);

impl<T: PoissonScalar> SideTerms<T> {
    pub fn none() -> Self {
        Self([const { [const { SideTerm::None }; 2] }; 3])
    }

    pub fn are_none(&self) -> bool {
        self.0.iter().flatten().all(|term| matches!(term, SideTerm::None))
    }

    /// The sum of the largest absolute values of all sides.
    pub fn largest(&self) -> f64 {
        self.0.iter().flatten().map(|side| side.largest().to_f64()).sum()
    }

    /// Adds `scale` times the terms to line (i, j) of a box of `shape`.
    pub fn add_to(&self, line: &mut [T], (i, j): (usize, usize), shape: [usize; 3], scale: T) {
        let [rows, lines, n] = shape;
        for (side, end) in [(0, 0), (1, rows - 1)] {
            if i == end {
                self.0[0][side].add_to(line, j * n, scale);
            }
        }
        for (side, end) in [(0, 0), (1, lines - 1)] {
            if j == end {
                self.0[1][side].add_to(line, i * n, scale);
            }
        }
        line[0] += self.0[2][0].at(i * lines + j) * scale;
        line[n - 1] += self.0[2][1].at(i * lines + j) * scale;
    }
}

/// The right-hand side scale·(f + boundary terms) − removed.
#[derive(Clone, Copy)]
pub struct RightHandSide<'a, T> {
    pub f: &'a [T],
    /// The strides of f along each axis.
    pub strides: [usize; 3],
    pub sides: &'a SideTerms<T>,
    pub shape: [usize; 3],
    pub scale: T,
    pub removed: T,
}

/// The strides of a contiguous array in C order.
pub fn strides_of([_, lines, n]: [usize; 3]) -> [usize; 3] {
    [lines * n, n, 1]
}

impl<'a, T: PoissonScalar> RightHandSide<'a, T> {
    /// Line (i, j). The function writes it to `spare` if it differs from the line of f.
    #[inline(always)]
    pub fn line<'b>(&self, (i, j): (usize, usize), spare: &'b mut [T]) -> &'b [T]
    where
        'a: 'b,
    {
        if self.has_plain_lines() {
            return &self.f[i * self.strides[0] + j * self.strides[1]..][..self.shape[2]];
        }
        self.copy_line((i, j), spare);
        spare
    }

    /// Whether all lines equal the lines of f, and these are contiguous.
    pub fn has_plain_lines(&self) -> bool {
        self.is_plain() && self.has_lines()
    }

    /// Whether all numbers equal those of f.
    fn is_plain(&self) -> bool {
        self.sides.are_none() && self.scale == T::ONE && self.removed == T::ZERO
    }

    /// Whether lines are contiguous in f.
    fn has_lines(&self) -> bool {
        self.strides[2] == 1 || self.shape[2] == 1
    }

    /// Writes line (i, j) to `out`.
    #[inline(always)]
    pub fn copy_line(&self, (i, j): (usize, usize), out: &mut [T]) {
        let (n, start) = (self.shape[2], i * self.strides[0] + j * self.strides[1]);
        if self.has_lines() {
            out.copy_from_slice(&self.f[start..][..n]);
        } else {
            out.iter_mut().zip(self.f[start..].iter().step_by(self.strides[2])).for_each(|(x, f)| *x = *f);
        }
        if self.is_plain() {
            return;
        }
        out.iter_mut().for_each(|x| *x *= self.scale);
        self.sides.add_to(out, (i, j), self.shape, self.scale);
        if self.removed != T::ZERO {
            out.iter_mut().for_each(|x| *x -= self.removed);
        }
    }

    /// Writes all lines to x.
    pub fn copy_to(&self, x: &mut [T], threads: usize) {
        let [rows, lines, n] = self.shape;
        let least = if threads > 1 && x.len() >= SHARED { rows.div_ceil(4 * threads) } else { 0 };
        each_chunk((rows, least), RowsOf(x, lines * n), &|i, row| {
            row.0.chunks_exact_mut(n).enumerate().for_each(|(j, line)| self.copy_line((i, j), line));
        });
    }

    /// A bound of the sum of |f| and the absolute boundary terms at one unknown.
    pub fn largest_term(&self) -> f64 {
        (peak(self.f).to_f64() + self.sides.largest()) * self.scale.to_f64()
    }

    /// The largest absolute value. `line` is scratch memory for one line.
    pub fn largest(&self, line: &mut [T]) -> T {
        let [rows, lines, n] = self.shape;
        let line = &mut line[..n];
        let mut most = T::ZERO;
        for at in 0..rows * lines {
            self.copy_line((at / lines, at % lines), line);
            most = most.max_bits(peak(line));
        }
        most
    }
}

impl SeparableProblem {
    pub fn shape(&self) -> [usize; 3] {
        [self.axes[0].len(), self.axes[1].len(), self.axes[2].len()]
    }

    /// Whether u = constant solves the problem with f = 0.
    pub fn is_singular(&self) -> bool {
        self.shift == 0.0 && self.axes.iter().all(AxisOperator::keeps_constants)
    }

    /// Whether c is negative or a Robin side has a negative α/β. The smallest eigenvalue is then a difference of larger numbers.
    pub fn is_cancelling(&self) -> bool {
        self.shift < 0.0 || self.axes.iter().any(|axis| axis.least_gap() < 0.0)
    }

    /// The volumes along each axis, divided by their sum, if the problem is singular.
    pub fn weights(&self) -> Result<Option<[Vec<f64>; 3]>> {
        if !self.is_singular() {
            return Ok(None);
        }
        let parts = |axis: &AxisOperator| {
            // The rounding error of an ordinary long sum would be an error of the mean.
            let total = compensated(axis.volume.iter().copied());
            collected(axis.volume.iter().map(|volume| volume / total))
        };
        let [one, two, three] = &self.axes;
        Ok(Some([parts(one)?, parts(two)?, parts(three)?]))
    }
}

/// The measure of a residual: the largest |rᵢ| / Σⱼ |aᵢⱼ| and the largest |uᵢ|. NaN or infinite if a number is not finite.
#[derive(Debug, Clone, Copy, Default)]
pub struct ResidualMeasure {
    pub ratio: f64,
    pub largest: f64,
}

impl ResidualMeasure {
    pub fn join(self, other: Self) -> Self {
        let max = |a: f64, b: f64| if a.is_nan() || a > b { a } else { b };
        Self { ratio: max(self.ratio, other.ratio), largest: max(self.largest, other.largest) }
    }
}

/// The coefficients of an axis for residuals, in the number type of the solver.
#[derive(Clone)]
pub struct ResidualAxis<T> {
    pub lower: Vec<T>,
    pub upper: Vec<T>,
    pub gap: Vec<T>,
    /// lower + upper.
    pub couplings: Vec<f64>,
    pub periodic: bool,
}

impl<T: PoissonScalar> ResidualAxis<T> {
    fn new(axis: &AxisOperator) -> Result<Self> {
        let convert = |x: &[f64]| collected(x.iter().map(|x| real(*x)));
        let couplings = collected(axis.lower.iter().zip(&axis.upper).map(|(a, b)| a + b))?;
        let (lower, upper, gap) = (convert(&axis.lower)?, convert(&axis.upper)?, convert(&axis.gap)?);
        Ok(Self { lower, upper, gap, couplings, periodic: axis.periodic })
    }

    /// The neighbors of i, and the couplings to them. A missing neighbor is i itself.
    pub fn around(&self, i: usize) -> [(usize, T); 2] {
        let n = self.gap.len();
        let below = if i > 0 {
            i - 1
        } else if self.periodic {
            n - 1
        } else {
            i
        };
        let above = if i + 1 < n {
            i + 1
        } else if self.periodic {
            0
        } else {
            i
        };
        [(below, self.lower[i]), (above, self.upper[i])]
    }
}

/// Consecutive rows of u.
#[derive(Clone, Copy)]
pub struct RowWindow<'a, T> {
    pub u: &'a [T],
    /// The index of the first row.
    pub first: usize,
}

/// A line of u, and its neighboring lines.
pub struct LineStencil<'a, T> {
    pub u: &'a [T],
    /// The previous and the next line along the first axis, then along the second axis, with the couplings. A missing neighbor is the line itself.
    pub near: [(&'a [T], T); 4],
    /// The gaps of the first two axes plus the shift.
    pub gap: T,
}

/// The residuals of a problem.
#[derive(Clone)]
pub struct ResidualOperator<T> {
    pub axes: [ResidualAxis<T>; 3],
    pub shape: [usize; 3],
    pub shift: f64,
    /// lower + upper and the gap of the last axis, at each place, in double precision.
    along: Vec<[f64; 2]>,
    /// Whether the last axis has the same coefficients at all places except the first and the last.
    pub even: bool,
}

impl<T: PoissonScalar> ResidualOperator<T> {
    pub fn new(problem: &SeparableProblem) -> Result<Self> {
        let [one, two, last] = &problem.axes;
        let axes = [ResidualAxis::new(one)?, ResidualAxis::new(two)?, ResidualAxis::new(last)?];
        let along = collected((0..last.len()).map(|k| [last.lower[k] + last.upper[k], last.gap[k]]))?;
        Ok(Self { axes, shape: problem.shape(), shift: problem.shift, along, even: last.is_even() })
    }

    /// Σⱼ |aᵢⱼ| at place k of line (i, j).
    pub fn scale(&self, (i, j): (usize, usize), k: usize) -> f64 {
        let sum = |axis: usize, at: usize| [self.axes[axis].couplings[at], self.axes[axis].gap[at].to_f64()];
        let [a, b, c] = [sum(0, i), sum(1, j), self.along[k]];
        let couplings = a[0] + b[0] + c[0];
        couplings + (couplings + a[1] + b[1] + c[1] + self.shift).abs()
    }

    /// Line (i, j) and its neighbors.
    #[inline(always)]
    pub fn stencil<'a>(&self, (i, j): (usize, usize), window: RowWindow<'a, T>) -> LineStencil<'a, T> {
        let [_, lines, n] = self.shape;
        let at = |i: usize, j: usize| &window.u[((i - window.first) * lines + j) * n..][..n];
        let [(i0, a), (i1, b)] = self.axes[0].around(i);
        let [(j0, c), (j1, d)] = self.axes[1].around(j);
        let gap = self.axes[0].gap[i] + self.axes[1].gap[j] + real(self.shift);
        LineStencil { u: at(i, j), near: [(at(i0, j), a), (at(i1, j), b), (at(i, j0), c), (at(i, j1), d)], gap }
    }

    /// Replaces the right-hand side of line (i, j) in `out` by the residual.
    #[inline(always)]
    pub fn line(&self, at: (usize, usize), window: RowWindow<'_, T>, out: &mut [T]) {
        let [_, lines, n] = self.shape;
        let LineStencil { u, near: [(below, a), (above, b), (before, c), (after, d)], gap } = self.stencil(at, window);
        for k in 0..n {
            let x = u[k];
            out[k] -= a * (x - below[k]) + b * (x - above[k]) + gap * x;
        }
        if lines > 1 {
            for k in 0..n {
                out[k] -= c * (u[k] - before[k]) + d * (u[k] - after[k]);
            }
        }
        self.along_line(u, out);
    }

    /// Subtracts L·u of the last axis.
    #[inline(always)]
    fn along_line(&self, u: &[T], out: &mut [T]) {
        let (axis, n) = (&self.axes[2], u.len());
        let mut one = |k: usize| {
            let [(l, a), (r, b)] = axis.around(k);
            out[k] -= a * (u[k] - u[l]) + b * (u[k] - u[r]) + axis.gap[k] * u[k];
        };
        one(0);
        if n > 1 {
            one(n - 1);
        }
        if n < 3 {
            return;
        }
        let inner = &mut out[1..n - 1];
        if self.even {
            let (a, b, gap) = (axis.lower[1], axis.upper[1], axis.gap[1]);
            for (k, out) in inner.iter_mut().enumerate() {
                let x = u[k + 1];
                *out -= a * (x - u[k]) + b * (x - u[k + 2]) + gap * x;
            }
            return;
        }
        for (k, out) in inner.iter_mut().enumerate() {
            let x = u[k + 1];
            let (a, b, gap) = (axis.lower[k + 1], axis.upper[k + 1], axis.gap[k + 1]);
            *out -= a * (x - u[k]) + b * (x - u[k + 2]) + gap * x;
        }
    }

    /// The backward error max |rᵢ| / (Σⱼ |aᵢⱼ|·`largest` + |fᵢ|) of a line.
    #[inline(always)]
    pub fn exact(&self, at: (usize, usize), (r, f): (&[T], &[T]), largest: f64) -> f64 {
        let mut most = 0.0f64;
        for (k, (r, f)) in r.iter().zip(f).enumerate() {
            let r = Scalar::abs(*r).to_f64();
            let error = if r == 0.0 { 0.0 } else { r / (self.scale(at, k) * largest + Scalar::abs(*f).to_f64()) };
            most = most.max_nan(error);
        }
        most
    }

    /// The measure of the residual `r` of a line.
    #[inline(always)]
    pub fn measure(&self, (i, j): (usize, usize), u: &[T], r: &[T]) -> ResidualMeasure {
        let n = r.len();
        let over = |r: f64, k: usize| if r == 0.0 { 0.0 } else { r / self.scale((i, j), k) };
        let ratio = |k: usize| over(r[k].abs1().to_f64(), k);
        let ends = [ratio(0), ratio(n - 1)];
        let ends =
            ResidualMeasure { ratio: ends[0], largest: 0.0 }.join(ResidualMeasure { ratio: ends[1], largest: 0.0 });
        let largest = peak(u).to_f64();
        let inner = match n {
            0..=2 => 0.0,
            _ if self.even => over(peak(&r[1..n - 1]).to_f64(), 1),
            _ => (1..n - 1).map(ratio).fold(0.0, |a, b| if a.is_nan() || a > b { a } else { b }),
        };
        ends.join(ResidualMeasure { ratio: inner, largest })
    }
}

/// The largest absolute value. A NaN counts as the largest number.
#[inline(always)]
pub(crate) fn peak<T: PoissonScalar>(x: &[T]) -> T {
    const WIDE: usize = 16;
    let mut most = [T::ZERO; WIDE];
    let mut chunks = x.chunks_exact(WIDE);
    for chunk in &mut chunks {
        for k in 0..WIDE {
            most[k] = most[k].max_bits(Scalar::abs(chunk[k]));
        }
    }
    let rest = chunks.remainder().iter().fold(T::ZERO, |most, x| most.max_bits(Scalar::abs(*x)));
    most.iter().fold(rest, |most, x| most.max_bits(*x))
}
