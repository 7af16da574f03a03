//! The passes of a solve: transforms along all axes but one, solutions along this axis, and the inverse transforms.
//!
//! Along the axis in the middle, one pass transforms, divides the coefficients by the eigenvalues and transforms back, or it solves tridiagonal systems: along
//! an axis that has no fast transform or is too long for it. Along other axes without a fast transform, the passes multiply by matrices of eigenvectors.

use super::arguments::{BoxRhs, SymbolArguments, TransformPass};
use super::axis::{AxisOnDevice, LineTile, most_points};
use super::lines::{LineKind, LineShape};
use super::sweep::{SweepArrays, SweepOnDevice, SweepShape};
use crate::device::{Device, DeviceScalar, DeviceVec, Limits};
use crate::launch::Arguments;
use bandsolve::{Error, Result};
use bandsolve_poisson::PoissonScalar;
use bandsolve_poisson::device::{BoxParts, DenseTransform};
use core::cmp::Reverse;

/// What a pass does (`PassKind` in `transform.cuh`).
const FORWARD: u32 = 1;
const INVERSE: u32 = 2;
const SOLVE: u32 = 3;

/// An axis with a transform.
struct TransformedAxis<T> {
    on_device: AxisOnDevice<T>,
    tile: LineTile,
    is_identity: bool,
}

/// The transforms of the axes, with their eigenvalues, and the systems along the axis in the middle.
pub struct TransformPasses<T> {
    axes: [Option<TransformedAxis<T>>; 3],
    /// Eigenvalues; none of an axis without a transform.
    eigenvalues: [DeviceVec<f64>; 3],
    /// The axis in the middle of the passes.
    middle: usize,
    systems: Option<SweepOnDevice<T>>,
    shape: [usize; 3],
    pub(super) shift: f64,
    /// The coefficient of f = 1, if the problem is singular.
    of_ones: Option<f64>,
}

/// The arrays of a solve.
#[derive(Debug, Clone, Copy)]
pub struct PassArrays<T> {
    pub rhs: BoxRhs<T>,
    /// Memory for coefficients.
    pub work: u64,
    pub u: u64,
    /// Whether to add the solution to u and the removed constant to that of the last solve.
    pub add: bool,
    pub removed: u64,
    /// The mean of the solution, if the problem is singular.
    pub mean: f64,
}

/// The distance between neighbors along an axis.
fn stride([_, n1, n2]: [usize; 3], axis: usize) -> usize {
    [n1 * n2, n2, 1][axis]
}

/// Number of lines along an axis.
fn lines(shape: [usize; 3], axis: usize) -> usize {
    shape.iter().product::<usize>() / shape[axis]
}

/// What a solve does along an axis.
#[derive(Debug, Clone, Copy)]
enum AxisTask {
    Fourier(LineKind),
    /// Products with the matrix of the eigenvectors.
    Products,
    Systems,
}

/// Choose a task for each axis. `Err` if lines do not fit in shared memory and tridiagonal systems cannot replace their transforms.
///
/// Tridiagonal systems lie along a long axis, or else along the longest axis without a fast transform. They need an axis that is not periodic
/// and a definite matrix.
fn tasks<T: DeviceScalar + PoissonScalar>(parts: &BoxParts<T>, limits: &Limits) -> Result<[AxisTask; 3]> {
    let (problem, points) = (&parts.problem, most_points(size_of::<T>(), limits));
    let (axes, shape) = (&problem.axes, problem.shape());
    let mut tasks: [AxisTask; 3] = core::array::from_fn(|axis| match axes[axis].uniform {
        Some((_, sides)) => AxisTask::Fourier(LineKind { n: shape[axis], sides }),
        None => AxisTask::Products,
    });
    let most = tasks.map(|task| match task {
        AxisTask::Fourier(kind) => kind.most(points),
        _ => points,
    });
    let is_long = |axis: usize| shape[axis] > most[axis];
    let is_candidate = |axis: &usize| axes[*axis].uniform.is_none() || is_long(*axis);
    let open = (0..3).filter(|axis| !axes[*axis].periodic && !problem.is_cancelling() && is_candidate(axis));
    // Of equal axes, the first one: the unknowns of neighboring systems are neighbors.
    if let Some(axis) = open.min_by_key(|axis| (!is_long(*axis), Reverse(shape[*axis]))) {
        tasks[axis] = AxisTask::Systems;
    }
    match (0..3).find(|axis| is_long(*axis) && !matches!(tasks[*axis], AxisTask::Systems)) {
        None => Ok(tasks),
        Some(axis) => {
            // With two axes, the caller's second axis is the third one here.
            let given = if parts.given().len() == 2 { axis / 2 } else { axis };
            let expected =
                format!("at most {}: lines must fit in the shared memory of a thread block of this GPU", most[axis]);
            Err(Error::invalid(format!("shape[{given}]"), format!("is {}", shape[axis]), expected))
        }
    }
}

impl<T: DeviceScalar + PoissonScalar> TransformPasses<T> {
    pub fn new(device: &Device, parts: &BoxParts<T>) -> Result<Self> {
        let (problem, limits) = (&parts.problem, device.limits());
        let shape = problem.shape();
        let tasks = tasks(parts, &limits)?;
        let systems = tasks.iter().position(|task| matches!(task, AxisTask::Systems));
        let (mut axes, mut eigenvalues, mut of_ones) = ([const { None }; 3], [const { Vec::new() }; 3], 1.0);
        for (axis, task) in tasks.into_iter().enumerate() {
            let size = (lines(shape, axis), stride(shape, axis));
            let tile = |of: LineShape| LineTile::new(of, size, size_of::<T>(), &limits);
            match task {
                AxisTask::Fourier(kind) => {
                    let scale = problem.axes[axis].uniform.map_or(1.0, |(scale, _)| scale);
                    eigenvalues[axis] = kind.eigenvalues()?;
                    eigenvalues[axis].iter_mut().for_each(|value| *value *= scale);
                    of_ones *= kind.of_ones();
                    let on_device = AxisOnDevice::fourier(device, kind)?;
                    axes[axis] =
                        Some(TransformedAxis { on_device, tile: tile(kind.shape()), is_identity: kind.is_identity() });
                }
                AxisTask::Products => {
                    let n = shape[axis];
                    let dense = DenseTransform::new(&problem.axes[axis])?;
                    of_ones *= dense.constant.map_or(1.0, |(_, of_ones)| of_ones);
                    let on_device = AxisOnDevice::products(device, n, dense.matrices())?;
                    let tile = tile(LineShape { points: n, extended: false });
                    axes[axis] = Some(TransformedAxis { on_device, tile, is_identity: false });
                    eigenvalues[axis] = dense.eigenvalues;
                }
                AxisTask::Systems => {}
            }
        }
        let weights = problem.weights()?;
        let [first, second, third] = eigenvalues.map(|values| device.upload(&values));
        let mut passes = Self {
            axes,
            eigenvalues: [first?, second?, third?],
            middle: systems.unwrap_or(0),
            systems: None,
            shape,
            shift: problem.shift,
            of_ones: weights.is_some().then_some(of_ones),
        };
        if let Some(axis) = systems {
            let size = SweepShape { n: shape[axis], lines: lines(shape, axis), stride: stride(shape, axis) };
            let operator = (&problem.axes[axis], weights.as_ref().map(|weights| &weights[axis]));
            passes.systems = Some(SweepOnDevice::new(device, operator, size, passes.symbols(0, (0.0, false)))?);
        }
        Ok(passes)
    }

    /// Whether there are products with matrices of eigenvectors.
    pub fn has_products(&self) -> bool {
        self.axes.iter().flatten().any(|axis| axis.on_device.arguments().matrices[0] != 0)
    }

    /// The number of tridiagonal systems.
    pub fn systems(&self) -> usize {
        self.systems.as_ref().map_or(0, SweepOnDevice::lines)
    }

    /// Enqueue a solve.
    pub fn enqueue(&self, device: &Device, arrays: &PassArrays<T>) -> Result<()> {
        let changes = |axis: &usize| self.axes[*axis].as_ref().is_some_and(|of| !of.is_identity);
        let others = [2, 1, 0].into_iter().filter(|axis| *axis != self.middle && changes(axis));
        let mut passes: Vec<(usize, u32)> = others.clone().map(|axis| (axis, FORWARD)).collect();
        passes.push((self.middle, SOLVE));
        passes.extend(others.rev().map(|axis| (axis, INVERSE)));
        let last = passes.len() - 1;
        let work = BoxRhs { f: arrays.work, plain: 1, ..arrays.rhs };
        for (k, (axis, kind)) in passes.into_iter().enumerate() {
            let from = if k == 0 { arrays.rhs } else { work };
            let (to, add) = if k == last { (arrays.u, arrays.add) } else { (arrays.work, false) };
            match (&self.axes[axis], &self.systems) {
                (Some(of), _) => self.transform(device, (of, axis, kind), (from, to, add), arrays)?,
                (None, Some(systems)) => {
                    let symbols = self.symbols(arrays.removed, (arrays.mean, arrays.add));
                    systems.enqueue(device, SweepArrays { from, work: arrays.work, to, add }, symbols)?;
                }
                (None, None) => {}
            }
        }
        Ok(())
    }

    /// The eigenvalues for the pass along the axis in the middle.
    fn symbols(&self, removed: u64, (mean, add): (f64, bool)) -> SymbolArguments {
        let address = |axis: usize| self.eigenvalues[axis].slice(..).address();
        let [first, second] = [[1, 2], [0, 2], [0, 1]][self.middle];
        let of_ones = self.of_ones.unwrap_or(1.0);
        SymbolArguments {
            along: address(self.middle),
            others: [address(first), address(second)],
            count: self.shape[second] as u32,
            shift: self.shift,
            removed: if self.of_ones.is_some() { removed } else { 0 },
            of_ones,
            mean: mean * of_ones,
            add: add.into(),
        }
    }

    /// Enqueue the transforms along an axis.
    fn transform(
        &self,
        device: &Device,
        (of, axis, kind): (&TransformedAxis<T>, usize, u32),
        (from, to, add): (BoxRhs<T>, u64, bool),
        arrays: &PassArrays<T>,
    ) -> Result<()> {
        let (lines, tile) = (lines(self.shape, axis), of.tile);
        let pass = TransformPass {
            axis: of.on_device.arguments(),
            from,
            to,
            add: add.into(),
            lines: lines as u32,
            stride: stride(self.shape, axis) as u32,
            tile: tile.lines,
            kind,
            symbols: self.symbols(arrays.removed, (arrays.mean, arrays.add)),
        };
        let (name, blocks) = (format!("transform_{}", T::NAME), lines.div_ceil(1 << tile.lines));
        // SAFETY: these are the kernel's arguments. The arrays have one number per unknown, and only this solve uses them.
        unsafe { Arguments::default().with(pass).launch_blocks(device, &name, (blocks, tile.threads), tile.shared) }
    }
}
