//! Tridiagonal matrices as the first level of the methods with partitions.

use crate::contract::factors::{FactorBy, Factors};
use crate::contract::op::Op;
use crate::contract::sparse::SparseSolver;
use crate::error::Result;
use crate::matrix::Tridiagonal;
use crate::partition::level_matrix::LevelMatrix;
use crate::partition::partitioned::{Partitionable, Partitioned};
use crate::partition::repair::Windows;
use crate::partition::settings::{Scheme, Settings, Truncation};
use crate::partition::sparse_sweep::SparseSweep;
use crate::pivoted::tridiagonal;
use bandsolve_kernel::{Scalar, Simd};

impl<'m, T: Scalar> Partitionable<T> for Tridiagonal<'m, T> {
    const SEQUENTIAL: FactorBy<T, Self> = tridiagonal::factor;

    fn level_matrix(&self, op: Op) -> LevelMatrix<'_, T> {
        LevelMatrix::Scalars(op.rows(self))
    }

    fn windows(&self, op: Op, _simd: Simd) -> impl Windows<T> {
        op.rows(self)
    }

    fn sparse_solver<'a>(
        factors: &'a Factors<T, Self>,
        method: &'a Partitioned,
        op: Op,
    ) -> Result<Option<Box<dyn SparseSolver<T> + 'a>>> {
        if factors.matrix().n() < 2 || method.scheme.truncation == Truncation::Always {
            return Ok(None);
        }
        let scheme = Scheme { truncation: Truncation::Never, ..method.scheme };
        let settings = Settings::new::<T>(&method.options, scheme, None);
        Ok(Some(Box::new(SparseSweep::new((factors, method), op, settings)?)))
    }
}
