//! The passes of a solve: transforms along all axes but one, solutions along this axis, and the inverse transforms.
//!
//! Along the axis in the middle, one pass transforms, divides the coefficients by the eigenvalues and transforms back. If this axis has no transform, or is
//! too long for it, the pass solves tridiagonal systems.

use super::arguments::{BoxRhs, SymbolArguments, TransformPass};
use super::axis::{AxisOnDevice, LineTile, longest};
use super::lines::LineKind;
use super::sweep::{SweepArrays, SweepOnDevice, SweepShape};
use crate::device::{Device, DeviceScalar, DeviceVec, Limits};
use crate::launch::Arguments;
use bandsolve::{Error, Result};
use bandsolve_poisson::PoissonScalar;
use bandsolve_poisson::device::BoxParts;

/// What a pass does (`PassKind` in `transform.cuh`).
const FORWARD: u32 = 1;
const INVERSE: u32 = 2;
const SOLVE: u32 = 3;

/// The method that errors name.
const METHOD: &str = "fft";
const SEVERAL: &str = "more than one axis with variable spacing or Robin sides on a GPU; use a plan of the CPU";

/// An axis with a transform.
struct TransformedAxis<T> {
    on_device: AxisOnDevice<T>,
    tile: LineTile,
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

/// The axis in the middle, and whether tridiagonal systems lie along it.
fn choose_middle<T: DeviceScalar + PoissonScalar>(parts: &BoxParts<T>, limits: &Limits) -> Result<(usize, bool)> {
    let (axes, shape) = (&parts.problem.axes, parts.problem.shape());
    let varying: Vec<usize> = (0..3).filter(|axis| axes[*axis].uniform.is_none()).collect();
    let refused = |what| Err(Error::Unsupported { method: METHOD, what });
    let is_definite = !parts.problem.is_cancelling();
    match varying[..] {
        [axis] if axes[axis].periodic => refused("periodic axes with variable spacing on a GPU; use a plan of the CPU"),
        [axis] if is_definite => Ok((axis, true)),
        [_] => refused(
            "a negative shift or a negative alpha/beta together with variable spacing or Robin sides on a GPU; use a plan of the CPU",
        ),
        [] => {
            let is_long = |axis: usize| match axes[axis].uniform {
                Some((_, sides)) => shape[axis] > longest(LineKind { n: shape[axis], sides }, size_of::<T>(), limits),
                None => false,
            };
            let long = (0..3).find(|axis| is_long(*axis) && !axes[*axis].periodic && is_definite);
            Ok(long.map_or((0, false), |axis| (axis, true)))
        }
        _ => refused(SEVERAL),
    }
}

impl<T: DeviceScalar + PoissonScalar> TransformPasses<T> {
    pub fn new(device: &Device, parts: &BoxParts<T>) -> Result<Self> {
        let (problem, limits) = (&parts.problem, device.limits());
        let shape = problem.shape();
        let (middle, is_sweep) = choose_middle(parts, &limits)?;
        // Check all axes before anything is allocated.
        let mut kinds = [None; 3];
        for (axis, kind) in kinds.iter_mut().enumerate().filter(|(axis, _)| !(is_sweep && *axis == middle)) {
            *kind = Some(fitting_kind(parts, axis, &limits)?);
        }
        let transformed = |axis: usize| {
            let Some(kind) = kinds[axis] else { return Ok(None) };
            let size = (lines(shape, axis), stride(shape, axis));
            let tile = LineTile::new(kind, size, size_of::<T>(), &limits);
            Ok::<_, Error>(Some(TransformedAxis { on_device: AxisOnDevice::new(device, kind)?, tile }))
        };
        let eigenvalues = |axis: usize| {
            let mut values = kinds[axis].map_or(Ok(Vec::new()), LineKind::eigenvalues)?;
            let scale = problem.axes[axis].uniform.map_or(1.0, |(scale, _)| scale);
            values.iter_mut().for_each(|value| *value *= scale);
            device.upload(&values)
        };
        let weights = problem.weights()?;
        let of_ones = weights.is_some().then(|| kinds.iter().flatten().map(|kind| kind.of_ones()).product());
        let mut passes = Self {
            axes: [transformed(0)?, transformed(1)?, transformed(2)?],
            eigenvalues: [eigenvalues(0)?, eigenvalues(1)?, eigenvalues(2)?],
            middle,
            systems: None,
            shape,
            shift: problem.shift,
            of_ones,
        };
        if is_sweep {
            let size = SweepShape { n: shape[middle], lines: lines(shape, middle), stride: stride(shape, middle) };
            let axis = (&problem.axes[middle], weights.as_ref().map(|weights| &weights[middle]));
            passes.systems = Some(SweepOnDevice::new(device, axis, size, passes.symbols(0, (0.0, false)))?);
        }
        Ok(passes)
    }

    /// The number of tridiagonal systems.
    pub fn systems(&self) -> usize {
        self.systems.as_ref().map_or(0, SweepOnDevice::lines)
    }

    /// Enqueue a solve.
    pub fn enqueue(&self, device: &Device, arrays: &PassArrays<T>) -> Result<()> {
        let changes = |axis: &usize| self.axes[*axis].as_ref().is_some_and(|of| !of.on_device.kind().is_identity());
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

/// The transform of an axis with constant spacing. `Err` if its lines do not fit in shared memory.
fn fitting_kind<T: DeviceScalar + PoissonScalar>(
    parts: &BoxParts<T>,
    axis: usize,
    limits: &Limits,
) -> Result<LineKind> {
    let (axes, n) = (&parts.problem.axes, parts.problem.shape()[axis]);
    let (_, sides) = axes[axis].uniform.ok_or(Error::Unsupported { method: METHOD, what: SEVERAL })?;
    let kind = LineKind { n, sides };
    let most = longest(kind, size_of::<T>(), limits);
    if n <= most {
        return Ok(kind);
    }
    // With two axes, the caller's second axis is the third one here.
    let given = if parts.given().len() == 2 { axis / 2 } else { axis };
    let expected = format!("at most {most}: lines must fit in the shared memory of a thread block of this GPU");
    Err(Error::invalid(format!("shape[{given}]"), format!("is {n}"), expected))
}
