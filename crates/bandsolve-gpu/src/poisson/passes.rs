//! The passes of a solve: transforms along all axes, the division by the eigenvalues, and the inverse transforms.

use super::arguments::{BoxRhs, SymbolArguments, TransformPass};
use super::axis::{AxisOnDevice, LineTile, longest};
use super::lines::LineKind;
use crate::device::{Device, DeviceScalar, DeviceVec};
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

/// The transforms of all axes, with their eigenvalues.
pub struct TransformPasses<T> {
    axes: [AxisOnDevice<T>; 3],
    tiles: [LineTile; 3],
    eigenvalues: [DeviceVec<f64>; 3],
    shape: [usize; 3],
    shift: f64,
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

/// The index of an axis in the caller's shape.
fn given(axis: usize, axes: usize) -> usize {
    if axes == 2 { axis / 2 } else { axis }
}

impl<T: DeviceScalar + PoissonScalar> TransformPasses<T> {
    pub fn new(device: &Device, parts: &BoxParts<T>) -> Result<Self> {
        let (problem, limits) = (&parts.problem, device.limits());
        let shape = problem.shape();
        let stride = [shape[1] * shape[2], shape[2], 1];
        let kind = |axis: usize| {
            let what = "axes with variable spacing or Robin sides on a GPU";
            let (_, sides) = problem.axes[axis].uniform.ok_or(Error::Unsupported { method: METHOD, what })?;
            let kind = LineKind { n: shape[axis], sides };
            let most = longest(kind, size_of::<T>(), &limits);
            if kind.n <= most {
                return Ok(kind);
            }
            let argument = format!("shape[{}]", given(axis, parts.given().len()));
            let expected = format!("at most {most}: the lines of a box must fit in the shared memory of a thread block on this GPU");
            Err(Error::invalid(argument, format!("is {}", kind.n), expected))
        };
        let kinds = [kind(0)?, kind(1)?, kind(2)?];
        let lines = |axis: usize| shape.iter().product::<usize>() / shape[axis];
        let tile = |axis: usize| LineTile::new(kinds[axis], (lines(axis), stride[axis]), size_of::<T>(), &limits);
        let eigenvalues = |axis: usize| {
            let mut values = kinds[axis].eigenvalues()?;
            let scale = problem.axes[axis].uniform.map_or(1.0, |(scale, _)| scale);
            values.iter_mut().for_each(|value| *value *= scale);
            device.upload(&values)
        };
        let of_ones = problem.is_singular().then(|| kinds.iter().map(|kind| kind.of_ones()).product());
        let on_device = |axis: usize| AxisOnDevice::new(device, kinds[axis]);
        Ok(Self {
            axes: [on_device(0)?, on_device(1)?, on_device(2)?],
            tiles: [tile(0), tile(1), tile(2)],
            eigenvalues: [eigenvalues(0)?, eigenvalues(1)?, eigenvalues(2)?],
            shape,
            shift: problem.shift,
            of_ones,
        })
    }

    /// Enqueue a solve. Coefficients along the first axis stay in shared memory.
    pub fn enqueue(&self, device: &Device, arrays: &PassArrays<T>) -> Result<()> {
        let others = [2, 1].into_iter().filter(|axis| !self.axes[*axis].kind().is_identity());
        let mut passes: Vec<(usize, u32)> = others.clone().map(|axis| (axis, FORWARD)).collect();
        passes.push((0, SOLVE));
        passes.extend(others.rev().map(|axis| (axis, INVERSE)));
        let last = passes.len() - 1;
        let work = BoxRhs { f: arrays.work, plain: 1, ..arrays.rhs };
        for (k, pass) in passes.into_iter().enumerate() {
            let from = if k == 0 { arrays.rhs } else { work };
            let (to, add) = if k == last { (arrays.u, arrays.add) } else { (arrays.work, false) };
            self.launch(device, pass, (from, to, add), arrays)?;
        }
        Ok(())
    }

    /// Enqueue a pass from a right-hand side to an address.
    fn launch(
        &self,
        device: &Device,
        (axis, kind): (usize, u32),
        (from, to, add): (BoxRhs<T>, u64, bool),
        arrays: &PassArrays<T>,
    ) -> Result<()> {
        let [_, n1, n2] = self.shape;
        let lines = self.shape.iter().product::<usize>() / self.shape[axis];
        let tile = self.tiles[axis];
        let [along, first, second] = [0, 1, 2].map(|axis| self.eigenvalues[axis].slice(..).address());
        let of_ones = self.of_ones.unwrap_or(1.0);
        let symbols = SymbolArguments {
            along,
            others: [first, second],
            count: n2 as u32,
            shift: self.shift,
            removed: if self.of_ones.is_some() { arrays.removed } else { 0 },
            of_ones,
            mean: arrays.mean * of_ones,
            add: arrays.add.into(),
        };
        let pass = TransformPass {
            axis: self.axes[axis].arguments(),
            from,
            to,
            add: add.into(),
            lines: lines as u32,
            stride: [n1 * n2, n2, 1][axis] as u32,
            tile: tile.lines,
            kind,
            symbols,
        };
        let (name, blocks) = (format!("transform_{}", T::NAME), lines.div_ceil(1 << tile.lines));
        // SAFETY: these are the kernel's arguments. The arrays have one number per unknown, and only this solve uses them.
        unsafe { Arguments::default().with(pass).launch_blocks(device, &name, (blocks, tile.threads), tile.shared) }
    }
}
