//! The methods `bcr2`, `bcr4` and `pscr` of a plan.

use crate::axis::AxisOperator;
use crate::dense::AxisModes;
use crate::folded::{fold, folded_rows, unfold};
use crate::method::{PoissonMethod, SeparableSolver, SolveRequest};
use crate::methods::block_cyclic::{self, EvenRows};
use crate::methods::partial_fractions::{BelowAxis, PartialFractions};
use crate::methods::pscr::{self, RingSpectrum};
use crate::methods::spectrum::{PencilRows, sine};
use crate::methods::toeplitz::ShiftedLine;
use crate::scalar::{PoissonScalar, real};
use crate::separable::{SHARED, SeparableProblem};
use crate::transform::AxisSides;
use bandsolve::dyn_stack::{PodStack, StackReq};
use bandsolve::memory::{allocate, collected};
use bandsolve::{Error, Result, Simd};
use bandsolve_kernel::spread::{RowsOf, each_chunk};

/// Factors of block cyclic reduction or of partial solutions.
#[derive(Clone)]
pub(crate) struct CyclicSolver<T: PoissonScalar> {
    shape: [usize; 3],
    fractions: PartialFractions<T>,
    /// The length of a line, if the axis of the lines is periodic. The solver then folds these lines.
    folded: Option<usize>,
    /// The shift of the problem, plus the diagonals of axes with one unknown.
    shift: T,
    /// The volumes along each axis, divided by their sum, if the problem is singular.
    weights: Option<[Vec<f64>; 3]>,
    threads: usize,
}

/// The block rows of an axis that block cyclic reduction can reduce: constant spacing, and either periodic or with nodes and two Dirichlet sides.
pub(crate) fn even_rows(axis: &AxisOperator) -> Option<EvenRows> {
    let (scale, sides) = axis.uniform?;
    let ring = sides == AxisSides::Periodic;
    let suits = ring || sides == AxisSides::NodeDirichlet;
    suits.then(|| EvenRows { rows: axis.len(), scale, ring })
}

/// Whether the systems along an axis are tridiagonal, or become tridiagonal by folding.
pub(crate) fn has_lines(axis: &AxisOperator) -> bool {
    !axis.periodic || axis.uniform.is_some()
}

impl<T: PoissonScalar> CyclicSolver<T> {
    pub fn new(problem: &SeparableProblem, method: PoissonMethod, threads: usize) -> Result<Self> {
        let coupled: Vec<&AxisOperator> = problem.axes.iter().filter(|axis| axis.len() > 1).collect();
        if method != PoissonMethod::Pscr && coupled.len() > 1 && even_rows(coupled[0]).is_none() {
            let what = "boxes without an axis of this kind: constant spacing, and periodic or with nodes and two Dirichlet sides. \
                        Use method auto or pscr";
            return Err(Error::Unsupported { method: method.name(), what });
        }
        let simd = Simd::detect();
        let trivial = AxisOperator::trivial();
        // A periodic axis with variable spacing has no lines. It is reduced too, and the lines have one unknown.
        let (last, rest) = match coupled.split_last() {
            Some((last, rest)) if has_lines(last) => (*last, rest),
            _ => (&trivial, &coupled[..]),
        };
        let mut fractions = PartialFractions::line(line(last)?, simd)?;
        for (above, axis) in rest.iter().rev().enumerate() {
            let below = if above == 0 { BelowAxis::Line(line(last)?) } else { BelowAxis::Block(Box::new(fractions)) };
            fractions = match (method, even_rows(axis)) {
                (PoissonMethod::Bcr2, Some(rows)) => block_cyclic::plan(2, rows, below, simd)?,
                (PoissonMethod::Bcr4, Some(rows)) => block_cyclic::plan(4, rows, below, simd)?,
                (_, rows) => of_pencil(axis, rows, below)?.ok_or(Error::Unsupported {
                    method: method.name(),
                    what: "this problem, because it could not compute the eigenvalues of an axis. Use another method",
                })?,
            };
        }
        let alone = problem.axes.iter().filter(|axis| axis.len() == 1).map(|axis| axis.gap[0]).sum::<f64>();
        let weights = problem.weights()?;
        let (shape, folded) = (problem.shape(), last.is_folded().then(|| last.len()));
        let threads = affordable(&fractions, threads);
        Ok(Self { shape, fractions, folded, shift: real(problem.shift + alone), weights, threads })
    }

    /// Calls `work` for each line of n numbers.
    fn each_line(&self, x: &mut [T], n: usize, work: fn(&mut [T])) {
        let count = x.len() / n;
        let least = if self.threads > 1 && x.len() >= SHARED { count.div_ceil(4 * self.threads) } else { 0 };
        each_chunk((count, least), RowsOf(x, n), &|_, line| work(line.0));
    }

    /// Length of the scratch memory in numbers.
    fn words(&self) -> usize {
        self.fractions.scratch(self.threads)
    }

    /// The mean of x, weighted by volumes.
    fn mean(&self, weights: &[Vec<f64>; 3], x: &[T]) -> f64 {
        let [rows, lines, n] = self.shape;
        let of_line = |line: &[T]| line.iter().zip(&weights[2]).map(|(x, w)| w * x.to_f64()).sum::<f64>();
        let of_row = |i: usize| {
            let line = |j: usize| weights[1][j] * of_line(&x[(i * lines + j) * n..][..n]);
            weights[0][i] * (0..lines).map(line).sum::<f64>()
        };
        (0..rows).map(of_row).sum()
    }
}

/// The largest number of threads for which factors and scratch take no more memory than the solution, at least 1.
fn affordable<T: PoissonScalar>(fractions: &PartialFractions<T>, threads: usize) -> usize {
    let limit = fractions.unknowns().saturating_sub(fractions.bytes() / size_of::<T>());
    (2..=threads).rev().find(|threads| fractions.scratch(*threads) <= limit).unwrap_or(1)
}

/// Factors of partial solutions along `axis`. `even` holds the block rows if they are all the same.
fn of_pencil<T: PoissonScalar>(
    axis: &AxisOperator,
    even: Option<EvenRows>,
    below: BelowAxis<T>,
) -> Result<Option<PartialFractions<T>>> {
    let (n, simd) = (axis.len(), Simd::detect());
    let ring = if axis.periodic { Some(ring_spectrum(axis, even)?) } else { None };
    Ok(match even {
        Some(EvenRows { scale, .. }) => {
            let (same, none) = (allocate(n, scale)?, allocate(n, 0.0)?);
            pscr::plan(PencilRows { sub: &same, sup: &same, gap: &none }, ring.as_ref(), below, simd)?
        }
        None => {
            let rows = PencilRows { sub: &axis.lower, sup: &axis.upper, gap: &axis.gap };
            pscr::plan(rows, ring.as_ref(), below, simd)?
        }
    })
}

/// The spectrum of a periodic axis.
///
/// With constant spacing, closed formulas give the spectrum, and each pair of equal eigenvalues appears once. Otherwise, all eigenvectors are computed.
fn ring_spectrum(axis: &AxisOperator, even: Option<EvenRows>) -> Result<RingSpectrum> {
    let n = axis.len();
    if let Some(EvenRows { scale, .. }) = even {
        let eigenvalues = collected((0..=n / 2).map(|j| 4.0 * scale * sine(j, n) * sine(j, n)))?;
        let share = |j: usize| if j == 0 || 2 * j == n { 1.0 } else { 2.0 } / n as f64;
        return Ok(RingSpectrum { eigenvalues, squares: collected((0..=n / 2).map(share))? });
    }
    let AxisModes { values, vectors, .. } = AxisModes::new(axis)?;
    let squares = collected(vectors.chunks_exact(n).map(|q| q[n - 1] * q[n - 1]))?;
    Ok(RingSpectrum { eigenvalues: values, squares })
}

/// The tridiagonal matrix along the lines.
fn line<T: PoissonScalar>(axis: &AxisOperator) -> Result<ShiftedLine<T>> {
    let n = axis.len();
    // The shift holds the diagonal of an axis with one unknown.
    if n == 1 {
        return ShiftedLine::new(&[0.0], &[0.0], &[0.0]);
    }
    match even_rows(axis) {
        Some(EvenRows { ring: true, .. }) => {
            let [sub, sup, gap] = folded_rows(axis)?;
            ShiftedLine::new(&sub, &sup, &gap)
        }
        Some(EvenRows { scale, .. }) => {
            let same = allocate(n, scale)?;
            ShiftedLine::new(&same, &same, &allocate(n, 0.0)?)
        }
        None => ShiftedLine::new(&axis.lower, &axis.upper, &axis.gap),
    }
}

impl<T: PoissonScalar> SeparableSolver<T> for CyclicSolver<T> {
    fn scratch(&self) -> StackReq {
        StackReq::new_aligned::<T>(self.words(), 64)
    }

    fn solve(&self, request: &SolveRequest<'_, T>, x: &mut [T], stack: &mut PodStack) -> f64 {
        if let Some(rhs) = request.rhs {
            rhs.copy_to(x, self.threads);
        }
        let removed = self.weights.as_ref().map_or(0.0, |weights| self.mean(weights, x));
        if removed != 0.0 {
            let removed: T = real(removed);
            x.iter_mut().for_each(|x| *x -= removed);
        }
        let (scratch, _) = stack.make_aligned_raw::<T>(self.words(), 64);
        if let Some(n) = self.folded {
            self.each_line(x, n, fold);
        }
        self.fractions.solve(x, self.shift, self.threads, scratch);
        if let Some(n) = self.folded {
            self.each_line(x, n, unfold);
        }
        if let Some(weights) = &self.weights {
            let level = real(request.mean - self.mean(weights, x));
            x.iter_mut().for_each(|x| *x += level);
        }
        removed
    }

    fn bytes(&self) -> usize {
        self.fractions.bytes()
    }

    fn subproblems(&self) -> usize {
        self.fractions.counts().last().copied().unwrap_or(0)
    }
}
