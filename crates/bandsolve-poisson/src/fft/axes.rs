//! The transform of one axis: a fast transform, or a product by the matrix of eigenvectors.

use crate::axis::AxisOperator;
use crate::dense::DenseTransform;
use crate::scalar::PoissonScalar;
use crate::transform::Transform;
use bandsolve::memory::copied;
use bandsolve::{Result, Simd};

/// The transform of one axis.
#[derive(Clone)]
pub(crate) enum AxisTransform<T: PoissonScalar> {
    Fast(Transform<T>),
    Dense(DenseTransform<T>),
}

impl<T: PoissonScalar> AxisTransform<T> {
    /// A fast transform if the axis has constant spacing and `dense` is false, otherwise a matrix of eigenvectors.
    pub fn new(axis: &AxisOperator, dense: bool) -> Result<Self> {
        match axis.uniform {
            Some((_, sides)) if !dense => Ok(Self::Fast(Transform::new(axis.len(), sides)?)),
            _ => Ok(Self::Dense(DenseTransform::new(axis)?)),
        }
    }

    /// The eigenvalues of the axis, in the order of the coefficients.
    pub fn eigenvalues(&self, axis: &AxisOperator) -> Result<Vec<f64>> {
        match self {
            Self::Fast(transform) => {
                let mut values = transform.eigenvalues()?;
                let scale = axis.uniform.map_or(1.0, |(scale, _)| scale);
                values.iter_mut().for_each(|v| *v *= scale);
                Ok(values)
            }
            Self::Dense(dense) => copied(&dense.eigenvalues),
        }
    }

    /// The index of the coefficient of the constant, and the value of this coefficient for a vector of ones.
    pub fn constant(&self) -> Result<Option<(usize, f64)>> {
        match self {
            Self::Fast(transform) => Ok(transform.constant()?.map(|place| (place, transform.of_ones()))),
            Self::Dense(dense) => Ok(dense.constant),
        }
    }

    /// Number of elements for the lines that one call transforms, and for scratch.
    pub fn words(&self, simd: Simd) -> [usize; 2] {
        if let Self::Fast(transform) = self { transform.words(simd) } else { [0, 0] }
    }

    /// Memory of the matrices, in bytes.
    pub fn bytes(&self) -> usize {
        if let Self::Dense(dense) = self { dense.bytes() } else { 0 }
    }

    pub fn is_dense(&self) -> bool {
        matches!(self, Self::Dense(_))
    }
}
