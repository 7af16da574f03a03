//! Cyclic reduction of blocks as a method of a plan.

use crate::axis::AxisOperator;
use crate::method::{PoissonMethod, SeparableSolver, SolveRequest};
use crate::methods::partial_fractions::{BelowAxis, PartialFractions};
use crate::methods::spectrum::PencilRows;
use crate::methods::toeplitz::ShiftedLine;
use crate::methods::{block_cyclic, pscr};
use crate::scalar::{PoissonScalar, real};
use crate::separable::SeparableProblem;
use crate::transform::AxisSides;
use bandsolve::dyn_stack::{PodStack, StackReq};
use bandsolve::{Error, Result, Simd};
use bandsolve_kernel::spread::{RowsOf, each_chunk};

/// Unknowns from which on more than one thread copies.
const SHARED: usize = 1 << 16;

/// Factors for partial fractions.
#[derive(Clone)]
pub(crate) struct CyclicSolver<T: PoissonScalar> {
    shape: [usize; 3],
    fractions: PartialFractions<T>,
    /// That of the problem, and the diagonals of axes with one unknown.
    shift: T,
    /// Volumes along each axis as parts of their sum, where the problem is singular.
    weights: Option<[Vec<f64>; 3]>,
    threads: usize,
}

/// 1/h² of an axis with one spacing h and u given beyond both ends, which block cyclic reduction takes.
pub(crate) fn toeplitz_scale(axis: &AxisOperator) -> Option<f64> {
    axis.uniform.filter(|(_, sides)| *sides == AxisSides::NodeDirichlet).map(|(scale, _)| scale)
}

impl<T: PoissonScalar> CyclicSolver<T> {
    pub fn new(problem: &SeparableProblem, method: PoissonMethod, threads: usize) -> Result<Self> {
        let coupled: Vec<&AxisOperator> = problem.axes.iter().filter(|axis| axis.len() > 1).collect();
        if coupled.iter().any(|axis| axis.periodic) {
            return Err(Error::Unsupported { method: method.name(), what: "periodic axes, which method fft does" });
        }
        if method != PoissonMethod::Pscr && coupled.len() > 1 && toeplitz_scale(coupled[0]).is_none() {
            let what = "boxes without an axis of nodes with one spacing and Dirichlet sides";
            return Err(Error::Unsupported { method: method.name(), what });
        }
        let simd = Simd::detect();
        let trivial = AxisOperator::trivial();
        let (last, rest) = coupled.split_last().map_or((&trivial, &[][..]), |(last, rest)| (*last, rest));
        let mut fractions = PartialFractions::line(line(last), simd);
        for (above, axis) in rest.iter().rev().enumerate() {
            let below = if above == 0 { BelowAxis::Line(line(last)) } else { BelowAxis::Block(Box::new(fractions)) };
            fractions = match (method, toeplitz_scale(axis)) {
                (PoissonMethod::Bcr2, Some(scale)) => block_cyclic::plan(2, (axis.len(), scale), below, simd),
                (PoissonMethod::Bcr4, Some(scale)) => block_cyclic::plan(4, (axis.len(), scale), below, simd),
                (_, scale) => of_pencil(axis, scale, below).ok_or(Error::Unsupported {
                    method: method.name(),
                    what: "couplings that no eigenvalues could be found of",
                })?,
            };
        }
        let alone = problem.axes.iter().filter(|axis| axis.len() == 1).map(|axis| axis.gap[0]).sum::<f64>();
        let parts = |axis: &AxisOperator| {
            let total: f64 = axis.volume.iter().sum();
            axis.volume.iter().map(|volume| volume / total).collect()
        };
        let weights = problem.is_singular().then(|| problem.axes.each_ref().map(parts));
        Ok(Self { shape: problem.shape(), fractions, shift: real(problem.shift + alone), weights, threads })
    }

    fn words(&self) -> usize {
        self.fractions.scratch(self.threads)
    }

    /// Σ of the numbers, weighted by volumes.
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

/// By partial solutions; an axis whose rows are the same is given as such.
fn of_pencil<T: PoissonScalar>(
    axis: &AxisOperator,
    scale: Option<f64>,
    below: BelowAxis<T>,
) -> Option<PartialFractions<T>> {
    let (n, simd) = (axis.len(), Simd::detect());
    match scale {
        Some(scale) => {
            let (same, none) = (vec![scale; n], vec![0.0; n]);
            pscr::plan(PencilRows { sub: &same, sup: &same, gap: &none }, below, simd)
        }
        None => pscr::plan(PencilRows { sub: &axis.lower, sup: &axis.upper, gap: &axis.gap }, below, simd),
    }
}

fn line<T: PoissonScalar>(axis: &AxisOperator) -> ShiftedLine<T> {
    let n = axis.len();
    match toeplitz_scale(axis) {
        Some(scale) => ShiftedLine::new(&vec![scale; n], &vec![scale; n], &vec![0.0; n]),
        // That of an axis with one unknown is in the shift.
        None if n == 1 => ShiftedLine::new(&[0.0], &[0.0], &[0.0]),
        None => ShiftedLine::new(&axis.lower, &axis.upper, &axis.gap),
    }
}

impl<T: PoissonScalar> SeparableSolver<T> for CyclicSolver<T> {
    fn scratch(&self) -> StackReq {
        StackReq::new_aligned::<T>(self.words(), 64)
    }

    fn solve(&self, request: &SolveRequest<'_, T>, x: &mut [T], stack: &mut PodStack) -> f64 {
        if let Some(rhs) = request.rhs {
            let [rows, lines, n] = self.shape;
            let least = if self.threads > 1 && x.len() >= SHARED { rows.div_ceil(4 * self.threads) } else { 0 };
            each_chunk((rows, least), RowsOf(&mut *x, lines * n), &|i, row| {
                row.0.chunks_exact_mut(n).enumerate().for_each(|(j, line)| rhs.copy_line((i, j), line));
            });
        }
        let removed = self.weights.as_ref().map_or(0.0, |weights| self.mean(weights, x));
        if removed != 0.0 {
            let removed: T = real(removed);
            x.iter_mut().for_each(|x| *x -= removed);
        }
        let (scratch, _) = stack.make_aligned_raw::<T>(self.words(), 64);
        self.fractions.solve(x, self.shift, self.threads, scratch);
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
