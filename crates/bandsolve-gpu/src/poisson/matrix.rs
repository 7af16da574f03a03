//! The difference equations on a device: right-hand sides with boundary terms, and residuals.

use super::arguments::{BoxAxis, BoxResidual, BoxRhs};
use crate::cut::THREADS;
use crate::device::{Device, DeviceScalar, DeviceVec};
use crate::launch::Arguments;
use bandsolve::memory::collected;
use bandsolve::{RealScalar, Result};
use bandsolve_poisson::PoissonScalar;
use bandsolve_poisson::device::{AxisOperator, BoxParts, SideTerm, compensated};

/// Minimum number of unknowns that a thread block measures, and maximum number of thread blocks.
const PIECE: usize = 2048;
const MOST_PIECES: usize = 4096;
/// Number of double-precision numbers of a measure (`BoxMeasure`).
const MEASURE: usize = 8;

/// The coefficients of an axis.
struct AxisArrays<T> {
    coefficients: [DeviceVec<T>; 3],
    couplings: DeviceVec<f64>,
    /// The volumes divided by their sum, if the problem is singular.
    weights: Option<DeviceVec<f64>>,
    n: usize,
    periodic: bool,
}

/// The matrix and the boundary terms of a problem on a device.
pub struct MatrixOnDevice<T> {
    axes: [AxisArrays<T>; 3],
    shape: [usize; 3],
    shift: f64,
    constants: [[T; 2]; 3],
    arrays: [[Option<DeviceVec<T>>; 2]; 3],
    is_plain: bool,
    measures: DeviceVec<f64>,
    piece: usize,
}

/// The measure of all residuals.
#[derive(Debug, Clone, Copy, Default)]
pub struct WholeMeasure {
    /// The largest |rᵢ| / Σⱼ |aᵢⱼ|, or the backward error.
    pub ratio: f64,
    /// The largest |uᵢ|.
    pub largest: f64,
    /// The largest right-hand side with boundary terms.
    pub rhs: f64,
    /// The largest |fᵢ|.
    pub f: f64,
    /// The means of u and |u|, if the problem is singular.
    pub means: [f64; 2],
}

/// The arrays and the question of a pass that computes residuals.
#[derive(Debug, Clone, Copy)]
pub struct ResidualArrays<T> {
    pub rhs: BoxRhs<T>,
    pub u: u64,
    /// Address of the removed constant, or 0.
    pub removed: u64,
    /// The largest |uᵢ|, to compute the backward error and to write the residuals to `rest`. Otherwise 0.
    pub largest: f64,
    pub rest: u64,
}

impl<T: DeviceScalar + PoissonScalar> AxisArrays<T> {
    fn new(device: &Device, axis: &AxisOperator, weights: Option<&Vec<f64>>) -> Result<Self> {
        let convert =
            |values: &[f64]| device.upload(&collected(values.iter().map(|x| <T as RealScalar>::from_f64(*x)))?);
        let couplings: Vec<f64> = collected(axis.lower.iter().zip(&axis.upper).map(|(a, b)| a + b))?;
        Ok(Self {
            coefficients: [convert(&axis.lower)?, convert(&axis.upper)?, convert(&axis.gap)?],
            couplings: device.upload(&couplings)?,
            weights: weights.map(|weights| device.upload(weights)).transpose()?,
            n: axis.len(),
            periodic: axis.periodic,
        })
    }

    fn arguments(&self) -> BoxAxis {
        BoxAxis {
            coefficients: self.coefficients.each_ref().map(|array| array.slice(..).address()),
            couplings: self.couplings.slice(..).address(),
            weights: self.weights.as_ref().map_or(0, |weights| weights.slice(..).address()),
            n: self.n as u32,
            periodic: self.periodic.into(),
        }
    }
}

impl<T: DeviceScalar + PoissonScalar> MatrixOnDevice<T> {
    pub fn new(device: &Device, parts: &BoxParts<T>) -> Result<Self> {
        let (problem, weights) = (&parts.problem, parts.problem.weights()?);
        let shape = problem.shape();
        let axis = |k: usize| AxisArrays::new(device, &problem.axes[k], weights.as_ref().map(|weights| &weights[k]));
        let (mut constants, mut arrays) = ([[T::ZERO; 2]; 3], [const { [const { None }; 2] }; 3]);
        for (k, sides) in parts.sides.0.iter().enumerate() {
            for (side, term) in sides.iter().enumerate() {
                match term {
                    SideTerm::None => {}
                    SideTerm::Constant(value) => constants[k][side] = *value,
                    SideTerm::Array(values) => arrays[k][side] = Some(device.upload(values)?),
                }
            }
        }
        let n: usize = shape.iter().product();
        let piece = n.div_ceil(MOST_PIECES).next_multiple_of(THREADS as usize).max(PIECE);
        Ok(Self {
            axes: [axis(0)?, axis(1)?, axis(2)?],
            shape,
            shift: problem.shift,
            constants,
            arrays,
            is_plain: parts.sides.are_none(),
            measures: device.zeros(MEASURE * n.div_ceil(piece))?,
            piece,
        })
    }

    /// The right-hand side scale·(f + boundary terms).
    pub fn rhs(&self, f: u64, scale: T) -> BoxRhs<T> {
        let address = |array: &Option<DeviceVec<T>>| array.as_ref().map_or(0, |array| array.slice(..).address());
        BoxRhs {
            plain: (self.is_plain && scale == T::ONE).into(),
            scale,
            arrays: self.arrays.each_ref().map(|sides| sides.each_ref().map(address)),
            constants: self.constants,
            ..self.without_sides(f)
        }
    }

    /// A right-hand side without boundary terms.
    pub fn without_sides(&self, f: u64) -> BoxRhs<T> {
        let shape = self.shape.map(|n| n as u32);
        BoxRhs { f, shape, plain: 1, scale: T::ONE, constants: [[T::ZERO; 2]; 3], arrays: [[0; 2]; 3] }
    }

    /// Compute the residuals, and measure them. The host waits for the measure.
    pub fn measure(&mut self, device: &Device, given: &ResidualArrays<T>) -> Result<WholeMeasure> {
        let n: usize = self.shape.iter().product();
        let pass = BoxResidual {
            rhs: given.rhs,
            axes: self.axes.each_ref().map(AxisArrays::arguments),
            shift: self.shift,
            removed: given.removed,
            largest: given.largest,
            u: given.u,
            rest: given.rest,
            measures: self.measures.slice(..).address(),
            n: n as u32,
            piece: self.piece as u32,
        };
        let (name, shared) = (format!("boxresidual_{}", T::NAME), THREADS as usize * MEASURE * size_of::<f64>());
        // SAFETY: these are the kernel's arguments. The arrays have one number per unknown, and there is one measure per thread block.
        unsafe { Arguments::default().with(pass).launch(device, &name, n.div_ceil(self.piece), shared) }?;
        Ok(WholeMeasure::of(&self.measures.download()?))
    }

    /// Enqueue u ← factor·u + level.
    pub fn shift(&self, device: &Device, u: u64, [factor, level]: [T; 2]) -> Result<()> {
        let n: usize = self.shape.iter().product();
        let arguments = Arguments::default().with(n as u32).with(u).with(factor).with(level);
        // SAFETY: these are the kernel's arguments, and u has n numbers.
        unsafe { arguments.launch(device, &format!("boxshift_{}", T::NAME), n.div_ceil(THREADS as usize), 0) }
    }
}

impl WholeMeasure {
    /// Join the measures of all thread blocks.
    fn of(measures: &[f64]) -> Self {
        let larger = |a: f64, b: f64| if a.is_nan() || a > b { a } else { b };
        let largest = |k: usize| measures.iter().skip(k).step_by(MEASURE).copied().fold(0.0, larger);
        // A sum, and its rounding error.
        let parts = |k: usize| measures.iter().skip(k).step_by(MEASURE).copied();
        let [ratio, u, rhs, f] = [0, 1, 2, 3].map(largest);
        Self { ratio, largest: u, rhs, f, means: [4, 6].map(|k| compensated(parts(k).chain(parts(k + 1)))) }
    }
}
