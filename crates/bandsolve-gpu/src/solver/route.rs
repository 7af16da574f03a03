//! The choice of kernels for a system.

use crate::cut::{
    ALONE_AT_MOST, DeviceCut, KernelKind, PartitionRows, UncutSystem, batch, levels, spike_levels, whole,
};
use crate::device::{Device, DeviceScalar};
use crate::tuning::Sizes;
use bandsolve::{Error, Layout, Method, Plan, Result, Shape};

/// Maximum block size of kernels that hold blocks in registers. Also the maximum number of diagonals on each side of a band.
const MOST_ROWS: usize = 4;

/// From this number of right-hand sides on, kernels for scalar rows hold several of them on chip.
pub const ON_CHIP_FROM: u32 = 3;

/// The threads that solve a system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Route {
    /// The whole device, level by level. One thread block solves the last level on chip.
    Levels,
    /// One thread per system of a contiguous batch, in shared memory.
    Alone,
    /// One thread per system of an interleaved batch.
    Interleaved,
    /// Recurrences over all rows, each in one pass.
    DeviceScan,
    /// One thread block per system of a contiguous batch, by cyclic reduction.
    Cyclic,
    /// Batches of operations on dense blocks.
    DenseBlocks,
}

impl Route {
    /// Whether inaccurate rows are listed and repaired.
    pub fn repairs_rows(self) -> bool {
        matches!(self, Self::Levels | Self::DeviceScan)
    }
}

/// The method and kernels of a plan on a device.
#[derive(Debug, Clone, Copy)]
pub struct DevicePlan {
    pub method: Method,
    pub route: Route,
    /// Number of rows of a block.
    pub block: usize,
    /// Number of block rows of a system.
    pub n: usize,
    pub systems: usize,
    shape: Shape,
}

impl DevicePlan {
    /// # Errors
    /// [`Error::Unsupported`].
    pub fn of(plan: &Plan) -> Result<Self> {
        let unsupported = |what| Err(Error::Unsupported { method: plan.asked_method().name(), what });
        let shape = plan.shape();
        let (block, n, systems) = match shape {
            Shape::Tridiagonal { n, .. } => (1, n, 1),
            Shape::BlockTridiagonal { block_rows, block, .. } => (block, block_rows, 1),
            Shape::Banded { n, lower, upper } => {
                let block = lower.max(upper).max(1);
                (block, n.div_ceil(block), 1)
            }
            Shape::Batch { n, count, periodic: false, .. } => (1, n, count),
            _ => return unsupported("systems of this kind on a GPU"),
        };
        let dense = matches!(shape, Shape::BlockTridiagonal { .. });
        let asked = match plan.asked_method() {
            Method::Auto if dense && block > MOST_ROWS => Method::Bcyclic,
            other => other,
        };
        if block == 0 {
            return unsupported("blocks without rows on a GPU");
        }
        if block > MOST_ROWS && !dense {
            return unsupported("more than 4 diagonals on each side on a GPU");
        }
        if block > MOST_ROWS && asked == Method::Rpts {
            return unsupported("blocks of more than 4 rows on a GPU; use method bcyclic or block-spike");
        }
        let tridiagonal = matches!(shape, Shape::Tridiagonal { .. });
        let open = matches!(shape, Shape::Tridiagonal { periodic: false, .. });
        let contiguous = matches!(shape, Shape::Batch { layout: Layout::Contiguous, .. });
        let (method, route) = match asked {
            blocks @ (Method::Bcyclic | Method::BlockSpike) if dense => (blocks, Some(Route::DenseBlocks)),
            Method::Auto | Method::Rpts => (Method::Rpts, None),
            scalar @ (Method::SpikeThomas | Method::SpikeDiagonalPivoting) if block == 1 => (scalar, None),
            Method::SpikeCr if tridiagonal => (Method::SpikeCr, None),
            cyclic @ (Method::Cr | Method::Pcr) if contiguous => (cyclic, Some(Route::Cyclic)),
            scan @ (Method::CfLu | Method::ParallelDiagonalPivoting) if open => (scan, Some(Route::DeviceScan)),
            _ => return unsupported("systems of this kind on a GPU; use method auto"),
        };
        let route = route.unwrap_or(match shape {
            Shape::Batch { layout: Layout::Interleaved, .. } => Route::Interleaved,
            Shape::Batch { n, .. } if n <= ALONE_AT_MOST => Route::Alone,
            _ => Route::Levels,
        });
        Ok(Self { method, route, block, n, systems, shape })
    }

    /// Whether the first and the last row are neighbors.
    pub fn periodic(&self) -> bool {
        matches!(self.shape, Shape::Tridiagonal { periodic: true, .. } | Shape::BlockTridiagonal { periodic: true, .. })
    }

    pub fn banded(&self) -> bool {
        matches!(self.shape, Shape::Banded { .. })
    }

    /// The partitions of each level, and its kernels.
    pub fn cuts<T: DeviceScalar>(
        &self,
        device: &Device,
        plan: &Plan,
        n_rhs: usize,
        sizes: Sizes,
    ) -> Result<Vec<(DeviceCut, KernelKind)>> {
        let Self { method, route, block, n, systems, shape } = *self;
        let multiple_rhs = n_rhs >= ON_CHIP_FROM as usize && block == 1 && !self.banded() && route == Route::Levels;
        // Eight complex right-hand sides would not fit in the registers.
        let on_chip = if multiple_rhs { sizes.rhs_on_chip.min(if T::COMPLEX { 4 } else { 8 }) } else { 1 };
        let kind = KernelKind { block, on_chip, bytes: size_of::<T>() };
        let limits = device.limits();
        if route == Route::Cyclic && kind.cyclic_bytes(n) > limits.shared_per_block {
            let what = "systems that exceed the shared memory of a thread block on this GPU";
            return Err(Error::Unsupported { method: method.name(), what });
        }
        if n * systems * n_rhs == 0 {
            return Ok(Vec::new());
        }
        let system = UncutSystem { n, rows: shape.n(), periodic: self.periodic(), columns: n_rhs, systems };
        let rows = PartitionRows { asked: plan.options().partition_rows, large: sizes.partition_rows };
        match (route, method) {
            (Route::Levels, Method::SpikeCr) => spike_levels(system, kind, &limits, rows),
            (Route::DenseBlocks, _) => Ok(vec![(whole(system)?, kind)]),
            (Route::Levels, _) => levels(system, kind, &limits, rows),
            _ => Ok(vec![(batch(system, kind, &limits, route == Route::Interleaved)?, kind)]),
        }
    }
}

impl Device {
    /// Get the plan that the device follows: `Auto` becomes `Rpts`, or `Bcyclic` for blocks of more than 4 rows.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if no device solves such systems. A system that is too large for this device fails later, in the
    /// solver.
    pub fn plan(&self, plan: &Plan) -> Result<Plan> {
        Ok(plan.clone().method(DevicePlan::of(plan)?.method))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_blocks_are_for_batches() {
        let method = |block, asked| {
            let plan = Plan::new(Shape::BlockTridiagonal { block_rows: 9, block, periodic: true }).method(asked);
            DevicePlan::of(&plan).map(|plan| (plan.method, plan.route))
        };
        assert_eq!(method(4, Method::Auto), Ok((Method::Rpts, Route::Levels)));
        for (block, asked) in [(5, Method::Auto), (5, Method::Bcyclic), (2, Method::Bcyclic), (300, Method::Auto)] {
            assert_eq!(method(block, asked), Ok((Method::Bcyclic, Route::DenseBlocks)));
        }
        for block in [1, 5, 300] {
            assert_eq!(method(block, Method::BlockSpike), Ok((Method::BlockSpike, Route::DenseBlocks)));
        }
        for (block, asked) in [(5, Method::Rpts), (5, Method::Spike), (0, Method::Bcyclic), (0, Method::BlockSpike)] {
            assert!(matches!(method(block, asked), Err(Error::Unsupported { .. })));
        }
        let band = Plan::new(Shape::Banded { n: 90, lower: 5, upper: 1 });
        assert!(matches!(DevicePlan::of(&band), Err(Error::Unsupported { .. })));
    }

    #[test]
    fn batches_of_periodic_systems_are_for_the_cpu() {
        for layout in [Layout::Contiguous, Layout::Interleaved] {
            let plan = |periodic| Plan::new(Shape::Batch { n: 100, count: 70, layout, periodic });
            assert!(DevicePlan::of(&plan(false)).is_ok());
            let refused = DevicePlan::of(&plan(true)).unwrap_err();
            assert_eq!(refused, Error::Unsupported { method: "auto", what: "systems of this kind on a GPU" });
        }
    }
}
