//! Local repair on the device. If a partition is nearly singular, a few rows at its ends are less accurate than all others. The repair
//! solves windows around these rows again.

use super::DeviceSolver;
use super::verdict::Verdict;
use crate::cut::{DeviceCut, KernelKind, window};
use crate::device::DeviceScalar;
use crate::launch::{Arguments, DeviceColumns, PivotOptions};
use crate::matrix::MatrixSource;
use bandsolve::Result;

/// Maximum number of rounds. Overlapping windows need several rounds, and so do rows next to a window that become
/// inaccurate.
const ROUNDS: usize = 4;
/// Minimum number of rows between two windows in the same round. Both windows measure the errors of these rows.
const BETWEEN: u32 = 2;

/// The matrix, right-hand sides and solutions of a solve.
#[derive(Debug, Clone, Copy)]
pub(super) struct SolveArrays {
    pub source: MatrixSource,
    pub rhs: u64,
    pub x: u64,
}

impl<T: DeviceScalar> DeviceSolver<T> {
    /// Repair the inaccurate rows, and return the new measurements. Rows that could not be repaired remain inaccurate.
    pub(super) fn repair(&mut self, arrays: SolveArrays, mut verdict: Verdict) -> Result<Verdict> {
        let Some(mut rows) = self.measurements.bad_rows(verdict.bad)? else { return Ok(verdict) };
        let (cut, kind) = self.cuts[0];
        let window = window(&cut, KernelKind { on_chip: 1, ..kind }, &self.device.limits());
        for _ in 0..ROUNDS {
            let (windows, later) = choose(&rows, &cut, &window);
            self.measurements.clear_bad()?;
            self.repair_windows(arrays, &windows, &window)?;
            verdict = self.verdict()?;
            let Some(new) = self.measurements.bad_rows(verdict.bad)? else { break };
            rows = [later, new].concat();
            rows.sort_unstable();
            rows.dedup();
            verdict.bad = rows.len();
            if rows.is_empty() || verdict.changed {
                break;
            }
        }
        Ok(verdict)
    }

    /// Solve windows for the residual. Each window is given by its column and its first block row.
    fn repair_windows(&self, arrays: SolveArrays, windows: &[[u32; 2]], window: &DeviceCut) -> Result<()> {
        let (cut, kind) = &self.cuts[0];
        let places = self.device.upload(windows.as_flattened())?;
        let column = |first| DeviceColumns { first, step: self.step() };
        let (arguments, ending) = arrays.source.with(Arguments::new(cut));
        let arguments = arguments
            .with(column(arrays.rhs))
            .with(column(arrays.x))
            .with(places.slice(..).address())
            .with(*window)
            .with(self.peaks(0))
            .with(PivotOptions { exchange: 1, scale_rows: 1, noise: 0.0, suspects: 0 });
        let name = format!("repair_{}_{}{ending}", T::NAME, self.block);
        let shared = KernelKind { on_chip: 1, ..*kind }.finish_bytes(window);
        // SAFETY: these are the kernel's arguments. The windows are inside the system, with sufficient distances.
        unsafe { arguments.launch(&self.device, &name, windows.len(), shared) }?;
        // The kernel reads the windows, so they must live until then.
        self.device.synchronize()
    }
}

/// Choose windows around inaccurate rows, which are in order, for one round. Also returns the rows that are left for
/// later rounds.
fn choose(rows: &[[u32; 2]], cut: &DeviceCut, window: &DeviceCut) -> (Vec<[u32; 2]>, Vec<[u32; 2]>) {
    let block = window.rows / window.n;
    let (mut windows, mut later) = (Vec::<[u32; 2]>::new(), Vec::new());
    let mut rest = rows;
    while let Some(&[column, first]) = rest.first() {
        // One window contains neighboring inaccurate rows, with the same number of accurate rows on each side.
        let near = |row: &&[u32; 2]| row[0] == column && (row[1] - first) / block <= window.n / 2;
        let (group, after) = rest.split_at(rest.iter().take_while(near).count());
        let middle = (first + group[group.len() - 1][1]) / 2 / block;
        let begin = middle.saturating_sub(window.n / 2).min(cut.n - window.n);
        let same_column = windows.iter().rev().take_while(|other| other[0] == column);
        let ahead = |other: &[u32; 2], begin: u32| other[1] + window.n + BETWEEN <= begin;
        let beside_last = same_column.clone().next().is_none_or(|last| ahead(last, begin));
        let beside_first =
            cut.periodic == 0 || same_column.last().is_none_or(|first| ahead(&[column, begin], first[1] + cut.n));
        if beside_last && beside_first {
            windows.push([column, begin]);
        } else {
            later.extend(group);
        }
        rest = after;
    }
    (windows, later)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cut::{PartitionRows, UncutSystem, levels};
    use crate::device::Limits;

    const LIMITS: Limits =
        Limits { shared_per_block: 48 << 10, shared_per_multiprocessor: 48 << 10, multiprocessors: 4, memory: 1 << 30 };

    /// The division of a system, and its windows.
    fn cuts(n: usize, block: usize, periodic: bool) -> (DeviceCut, DeviceCut) {
        let system = UncutSystem { n, rows: n * block, periodic, columns: 3, systems: 1 };
        let kind = KernelKind { block, on_chip: 1, bytes: 8 };
        let cut = levels(system, kind, &LIMITS, PartitionRows { asked: None, large: 31 }).unwrap()[0].0;
        (cut, window(&cut, kind, &LIMITS))
    }

    #[test]
    fn windows_lie_around_bad_rows_and_inside_of_the_system() {
        let (cut, window) = cuts(1000, 1, false);
        assert_eq!(window.n, 64);
        let near = [[0, 3], [0, 500], [0, 510], [0, 530], [0, 999], [2, 500]];
        assert_eq!(choose(&near, &cut, &window), (vec![[0, 0], [0, 483], [0, 936], [2, 468]], vec![]));
        let (cut, window) = cuts(10, 1, true);
        assert_eq!(choose(&[[0, 3], [0, 9]], &cut, &window), (vec![[0, 0]], vec![[0, 9]]));
    }

    #[test]
    fn windows_that_would_meet_are_left_for_later() {
        let (cut, window) = cuts(1000, 1, false);
        // Windows have 64 rows. The first one begins at row 468, and the second can begin at row 534 at the earliest.
        assert_eq!(choose(&[[0, 500], [0, 565]], &cut, &window), (vec![[0, 468]], vec![[0, 565]]));
        assert_eq!(choose(&[[0, 500], [0, 566]], &cut, &window), (vec![[0, 468], [0, 534]], vec![]));
        let corners = [[1, 0], [1, 999]];
        assert_eq!(choose(&corners, &cut, &window), (vec![[1, 0], [1, 936]], vec![]));
        let (cut, window) = cuts(1000, 1, true);
        assert_eq!(choose(&corners, &cut, &window), (vec![[1, 0]], vec![[1, 999]]));
    }

    #[test]
    fn rows_are_those_of_blocks() {
        let (cut, window) = cuts(1000, 4, false);
        assert_eq!(choose(&[[0, 2000], [0, 2003], [0, 2040]], &cut, &window).0, [[0, 505 - window.n / 2]]);
    }
}
