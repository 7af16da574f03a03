//! Local repair on the host, for systems whose rows are in host memory.

use crate::device::DeviceScalar;
use crate::solver::largest;
use bandsolve::accepted_at_once;
use bandsolve::{BlockTridiagonal, Error, Factor, Method, Plan, RealScalar, Result, Scalar, Shape};
use bandsolve_kernel::arithmetic::Standard;
use core::ops::Range;

/// Number of block rows of a window on each side of an inaccurate row.
const REACH: usize = 50;
/// Number of rows next to a window whose error is measured too.
const BESIDE: usize = 1;

/// A system in host memory.
pub(crate) struct HostSystem<'a, T: DeviceScalar> {
    pub bands: [std::borrow::Cow<'a, [T]>; 3],
    pub rhs: &'a [T],
}

/// Repair x locally: solve windows around inaccurate rows again for the residual, with all other unknowns fixed.
///
/// Returns the largest backward error of all changed rows, or `None` if the repair failed. `block` is the block size,
/// and whether the system is periodic. `x_max` is ‖x‖∞ or a lower bound of it.
pub(crate) fn repair<T: DeviceScalar>(
    system: &HostSystem<T>,
    block: (usize, bool),
    bad: &[usize],
    x: &mut [T],
    x_max: f64,
) -> Result<Option<f64>> {
    let _mode = Standard::enter();
    let (b, n) = (block.0, system.rhs.len() / block.0);
    let mut worst = 0.0;
    for row in bad {
        let i = row / b;
        if error(system, block, i, x, x_max) <= accepted_at_once::<T>() {
            continue;
        }
        let window = i.saturating_sub(REACH)..(i + REACH + 1).min(n);
        match correct(system, block, window.clone(), x) {
            // Errors are relative to ‖x‖∞, so the repair must not change ‖x‖∞.
            Ok(change) if change <= x_max / 1024.0 => {}
            Ok(_) | Err(Error::Singular { .. }) => return Ok(None),
            Err(error) => return Err(error),
        }
        let touched = window.start + n - BESIDE..window.end + n + BESIDE;
        let errors: Vec<f64> = touched.map(|i| error(system, block, i % n, x, x_max)).collect();
        worst = largest([&worst, &largest(&errors)]);
        if !(worst <= accepted_at_once::<T>()) {
            return Ok(None);
        }
    }
    Ok(Some(worst))
}

/// The residual d − A·x in row r of block row i, and Σ|a| of this row.
fn residual<T: DeviceScalar>(
    system: &HostSystem<T>,
    (b, periodic): (usize, bool),
    i: usize,
    r: usize,
    x: &[T],
) -> (T, f64) {
    let n = system.rhs.len() / b;
    let (mut sum, mut entries) = (system.rhs[i * b + r], 0.0);
    let columns = [(i + n - 1) % n, i, (i + 1) % n];
    let there = [periodic || i > 0, true, periodic || i + 1 < n];
    for ((band, column), _) in system.bands.iter().zip(columns).zip(there).filter(|(_, there)| *there) {
        for s in 0..b {
            let a = band[(i * b + s) * b + r];
            sum -= a * x[column * b + s];
            entries += Scalar::abs(a).to_f64();
        }
    }
    (sum, entries)
}

/// The largest |d − Ax| / (Σ|a|·‖x‖∞ + |d|) of a block row.
fn error<T: DeviceScalar>(system: &HostSystem<T>, block: (usize, bool), i: usize, x: &[T], x_max: f64) -> f64 {
    let row = |r: usize| {
        let (residual, entries) = residual(system, block, i, r, x);
        let size = entries * x_max + Scalar::abs(system.rhs[i * block.0 + r]).to_f64();
        if size == 0.0 { 0.0 } else { Scalar::abs(residual).to_f64() / size }
    };
    largest(&(0..block.0).map(row).collect::<Vec<_>>())
}

/// Solve a window for the residual, and add the solution to x. Returns the largest change.
fn correct<T: DeviceScalar>(
    system: &HostSystem<T>,
    block: (usize, bool),
    window: Range<usize>,
    x: &mut [T],
) -> Result<f64> {
    let b = block.0;
    let rhs: Vec<T> = window
        .clone()
        .flat_map(|i| (0..b).map(move |r| (i, r)))
        .map(|(i, r)| residual(system, block, i, r, x).0)
        .collect();
    let [sub, diag, sup] = system.bands.each_ref().map(|band| &band[window.start * b * b..window.end * b * b]);
    let shape = Shape::BlockTridiagonal { block_rows: window.len(), block: b, periodic: false };
    let plan = Plan::new(shape).method(Method::Pivoted);
    let mut dx = vec![T::ZERO; rhs.len()];
    plan.factor(&BlockTridiagonal::new(b, sub, diag, sup)?)?.solve_into(&rhs, &mut dx)?;
    x[window.start * b..].iter_mut().zip(&dx).for_each(|(x, dx)| *x += *dx);
    let changes: Vec<f64> = dx.iter().map(|dx| Scalar::abs(*dx).to_f64()).collect();
    Ok(largest(&changes))
}
