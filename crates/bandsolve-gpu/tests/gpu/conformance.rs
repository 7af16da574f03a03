//! The conformance tests of the CPU methods, on an emulated device.

use crate::test_device;
use bandsolve::{
    Banded, BlockTridiagonal, Complex32, Complex64, Factor, Method, Plan, Result, Shape, Tridiagonal, TridiagonalBatch,
};
use bandsolve_gpu::{Device, DeviceScalar, Emulation, Order};
use bandsolve_testkit::conformance::Suite;
use bandsolve_testkit::{conformance, conformance_banded, conformance_batch};
use std::sync::Arc;

enum Emulated {}

fn device() -> Device {
    test_device(Emulation { order: Order::Random, resident: 2, ..Emulation::default() })
}

impl<T: DeviceScalar> Suite<T> for Emulated {
    // A solve on a device uses no threads of the host. The threads of the emulator run in a different order each time.
    const THREADS: &'static [usize] = &[7];

    fn tridiagonal<'m>(plan: &Plan, a: &'m Tridiagonal<'_, T>) -> Result<Box<dyn Factor<T> + 'm>> {
        if a.is_periodic() && matches!(plan.asked_method(), Method::CfLu | Method::ParallelDiagonalPivoting) {
            // On devices, recurrences support open systems only.
            return Ok(Box::new(plan.factor(a)?));
        }
        Ok(Box::new(device().factor(plan, a)?))
    }
    fn banded<'m>(plan: &Plan, a: &'m Banded<'_, T>) -> Result<Box<dyn Factor<T> + 'm>> {
        if a.lower().max(a.upper()) > 4 {
            // The host solves wider bands.
            return Ok(Box::new(plan.factor(a)?));
        }
        Ok(Box::new(device().factor(plan, a)?))
    }
    fn batch<'m>(plan: &Plan, a: &'m TridiagonalBatch<'_, T>) -> Result<Box<dyn Factor<T> + 'm>> {
        Ok(Box::new(device().factor(plan, a)?))
    }
}

/// BCYCLIC and block SPIKE on blocks of one row, which are the entries of tridiagonal matrices.
enum EmulatedBlocks {}

impl<T: DeviceScalar> Suite<T> for EmulatedBlocks {
    const THREADS: &'static [usize] = &[7];

    fn tridiagonal<'m>(plan: &Plan, a: &'m Tridiagonal<'_, T>) -> Result<Box<dyn Factor<T> + 'm>> {
        let (make, [sub, diag, sup]) =
            (if a.is_periodic() { BlockTridiagonal::periodic } else { BlockTridiagonal::new }, a.arrays());
        let blocks = make(1, sub, diag, sup)?;
        let Shape::Tridiagonal { n, periodic } = plan.shape() else { unreachable!("the plan is for such matrices") };
        let plan = plan.with_shape(Shape::BlockTridiagonal { block_rows: n, block: 1, periodic });
        Ok(Box::new(device().factor_shared(&plan, Arc::new(blocks))?))
    }
    fn banded<'m>(plan: &Plan, a: &'m Banded<'_, T>) -> Result<Box<dyn Factor<T> + 'm>> {
        Ok(Box::new(plan.factor(a)?))
    }
    fn batch<'m>(plan: &Plan, a: &'m TridiagonalBatch<'_, T>) -> Result<Box<dyn Factor<T> + 'm>> {
        Ok(Box::new(plan.factor(a)?))
    }
}

conformance!(blocks_f64, f64, EmulatedBlocks, |plan| plan.method(Method::Bcyclic));
conformance!(blocks_c32, Complex32, EmulatedBlocks, |plan| plan.method(Method::Bcyclic));
conformance!(block_spike_f64, f64, EmulatedBlocks, |plan| plan.method(Method::BlockSpike));
conformance!(block_spike_c32, Complex32, EmulatedBlocks, |plan| plan.method(Method::BlockSpike));

conformance!(tridiagonal_f32, f32, Emulated, |plan| plan);
conformance!(tridiagonal_f64, f64, Emulated, |plan| plan);
conformance!(tridiagonal_c32, Complex32, Emulated, |plan| plan);
conformance!(tridiagonal_c64, Complex64, Emulated, |plan| plan);

conformance!(spike_diagonal_pivoting_f64, f64, Emulated, |plan| plan.method(Method::SpikeDiagonalPivoting));
conformance!(spike_diagonal_pivoting_c32, Complex32, Emulated, |plan| plan.method(Method::SpikeDiagonalPivoting));
conformance!(spike_thomas_f32, f32, Emulated, |plan| plan.method(Method::SpikeThomas));
conformance!(spike_thomas_c64, Complex64, Emulated, |plan| plan.method(Method::SpikeThomas));

conformance!(spike_cr_f64, f64, Emulated, |plan| plan.method(Method::SpikeCr));
conformance!(spike_cr_c32, Complex32, Emulated, |plan| plan.method(Method::SpikeCr));

conformance!(cf_lu_f32, f32, Emulated, |plan| plan.method(Method::CfLu));
conformance!(cf_lu_c64, Complex64, Emulated, |plan| plan.method(Method::CfLu));
conformance!(parallel_diagonal_pivoting_f64, f64, Emulated, |plan| plan.method(Method::ParallelDiagonalPivoting));
conformance!(parallel_diagonal_pivoting_c32, Complex32, Emulated, |plan| plan.method(Method::ParallelDiagonalPivoting));

conformance_banded!(banded_f32, f32, Emulated, |plan| plan);
conformance_banded!(banded_f64, f64, Emulated, |plan| plan);
conformance_banded!(banded_c32, Complex32, Emulated, |plan| plan);
conformance_banded!(banded_c64, Complex64, Emulated, |plan| plan);

conformance_batch!(batch_f32, f32, Emulated, |plan| plan);
conformance_batch!(batch_f64, f64, Emulated, |plan| plan);
conformance_batch!(batch_c32, Complex32, Emulated, |plan| plan);
conformance_batch!(batch_c64, Complex64, Emulated, |plan| plan);
