//! The tridiagonal systems along one axis on a device (`sweep.cuh`), for axes without a transform and for long axes.

use super::arguments::{BoxRhs, SweepFactorArguments, SweepPass, SymbolArguments};
use crate::cut::THREADS;
use crate::device::{Device, DeviceScalar, DeviceVec};
use crate::launch::Arguments;
use bandsolve::memory::collected;
use bandsolve::{RealScalar, Result};
use bandsolve_poisson::PoissonScalar;
use bandsolve_poisson::device::AxisOperator;

/// The number of systems, their length, and the distance between the unknowns of a system.
#[derive(Debug, Clone, Copy)]
pub struct SweepShape {
    pub n: usize,
    pub lines: usize,
    pub stride: usize,
}

/// The arrays of a solve.
#[derive(Debug, Clone, Copy)]
pub struct SweepArrays<T> {
    pub from: BoxRhs<T>,
    /// Memory for intermediate values. It can be `to` if the solution is not added.
    pub work: u64,
    pub to: u64,
    /// Whether to add the solution to `to`.
    pub add: bool,
}

/// The factors of the systems.
pub struct SweepOnDevice<T> {
    shape: SweepShape,
    factors: DeviceVec<T>,
    /// Quotients of couplings, and reciprocals of couplings.
    rows: [DeviceVec<T>; 2],
    /// The volumes divided by their sum, if the problem is singular.
    weights: Option<DeviceVec<f64>>,
}

impl SweepShape {
    fn blocks(self) -> usize {
        self.lines.div_ceil(THREADS as usize)
    }
}

impl<T: DeviceScalar + PoissonScalar> SweepOnDevice<T> {
    /// Compute the factors on the device, which has the eigenvalues of the other axes. The axis is open, and no row sum gapᵢ + λ is negative.
    pub fn new(
        device: &Device,
        (axis, weights): (&AxisOperator, Option<&Vec<f64>>),
        shape: SweepShape,
        symbols: SymbolArguments,
    ) -> Result<Self> {
        let SweepShape { n, lines, stride } = shape;
        let [lower, upper, gap] = [&axis.lower, &axis.upper, &axis.gap].map(|array| device.upload(array));
        let coefficients = [lower?, upper?, gap?];
        let factors = device.zeros::<T>(n * lines)?;
        let arguments = SweepFactorArguments {
            coefficients: coefficients.each_ref().map(|array| array.slice(..).address()),
            factors: factors.slice(..).address(),
            n: n as u32,
            lines: lines as u32,
            stride: stride as u32,
            symbols,
        };
        let (arguments, name) = (Arguments::default().with(arguments), format!("sweepfactors_{}", T::NAME));
        // SAFETY: these are the kernel's arguments. There is a factor for each unknown, and the caller has the eigenvalues.
        unsafe { arguments.launch(device, &name, shape.blocks(), 0) }?;
        let real = |x: f64| <T as RealScalar>::from_f64(x);
        let ratio = |i: usize| if i > 0 { axis.lower[i] / axis.upper[i - 1] } else { 0.0 };
        let ratios: Vec<T> = collected((0..n).map(|i| real(ratio(i))))?;
        // The last row has no next unknown.
        let inverses: Vec<T> = collected((0..n).map(|i| real(if i + 1 < n { 1.0 / axis.upper[i] } else { 0.0 })))?;
        let rows = [device.upload(&ratios)?, device.upload(&inverses)?];
        let weights = weights.map(|weights| device.upload(weights)).transpose()?;
        // The kernel reads the coefficients, so they must live until then.
        device.synchronize()?;
        Ok(Self { shape, factors, rows, weights })
    }

    /// The number of systems.
    pub fn lines(&self) -> usize {
        self.shape.lines
    }

    /// Enqueue the solution of all systems.
    pub fn enqueue(&self, device: &Device, arrays: SweepArrays<T>, symbols: SymbolArguments) -> Result<()> {
        let SweepArrays { from, work, to, add } = arrays;
        let SweepShape { n, lines, stride } = self.shape;
        let pass = SweepPass {
            from,
            work,
            to,
            factors: self.factors.slice(..).address(),
            rows: self.rows.each_ref().map(|array| array.slice(..).address()),
            weights: self.weights.as_ref().map_or(0, |weights| weights.slice(..).address()),
            add: add.into(),
            n: n as u32,
            lines: lines as u32,
            stride: stride as u32,
            symbols,
        };
        let (arguments, name) = (Arguments::default().with(pass), format!("sweep_{}", T::NAME));
        // SAFETY: these are the kernel's arguments. The arrays have one number per unknown, and only this solve uses them.
        unsafe { arguments.launch(device, &name, self.shape.blocks(), 0) }
    }
}
