//! The solvers of a matrix on a GPU, with stored factors where the GPU stores them.

use crate::arrays::Number;
use crate::device::Device;
use bandsolve::{Op, Plan, Result};
use bandsolve_gpu::{DeviceMatrix, DeviceSolver, FactoredOperations};

/// The solvers of one matrix.
pub struct MatrixSolvers<T: Number> {
    device: Device,
    plan: Plan,
    /// Whether factors are stored where this is possible.
    stores: bool,
    /// For A, Aᵀ and Aᴴ. The first one solves for all of them, unless its factors are those of A alone.
    solvers: [Option<DeviceSolver<T>>; 3],
}

impl<T: Number> MatrixSolvers<T> {
    /// Allocate the solver of A for one right-hand side, and factor A if `stores` is set.
    pub fn new(device: &Device, plan: &Plan, a: DeviceMatrix<'_, T>, stores: bool) -> Result<Self> {
        let mut all = Self { device: device.clone(), plan: plan.clone(), stores, solvers: [const { None }; 3] };
        all.solver(a, Op::Plain, 1)?;
        Ok(all)
    }

    /// Get the solver of op(A) for `n_rhs` right-hand sides.
    pub fn solver(&mut self, a: DeviceMatrix<'_, T>, op: Op, n_rhs: usize) -> Result<&mut DeviceSolver<T>> {
        let factored = self.solvers[0].as_ref().map(DeviceSolver::factored_operations);
        let of_one = self.stores && factored == Some(FactoredOperations::One);
        let slot = match op {
            Op::Transpose if of_one => 1,
            Op::ConjTranspose if of_one => 2,
            _ => 0,
        };
        let before = self.solvers[slot].take();
        let solver = match before.filter(|solver| solver.n_rhs() >= n_rhs) {
            Some(solver) => solver,
            None => self.make(a.op(op), n_rhs)?,
        };
        Ok(self.solvers[slot].insert(solver))
    }

    fn make(&self, a: DeviceMatrix<'_, T>, n_rhs: usize) -> Result<DeviceSolver<T>> {
        let mut solver = DeviceSolver::new(&self.device, &self.plan, n_rhs.max(1))?;
        if self.stores && solver.factored_operations() != FactoredOperations::None {
            solver.store(a)?;
        }
        Ok(solver)
    }
}
