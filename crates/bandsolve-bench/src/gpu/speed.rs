//! Times of bandsolve, cuSPARSE and a copy by the clock of the device.

use super::system::{COPY, Cutting, DeviceSystem, OURS, PeerNumber, Timed};
use crate::args::Data;
use crate::contest::{self, Budget, Contestant};
use crate::cusparse::{Cusparse, CusparseRoutine};
use crate::row::{BenchRow, compare, ratio};
use bandsolve::{Error, Layout, Result, Shape};
use bandsolve_gpu::Device;
use bandsolve_program::exit::Failure;
use bandsolve_program::options::Dtype;
use bandsolve_program::report;
use serde_json::{Value, json};

/// Rows per system of a batch.
const BATCH_N: usize = 128;
/// Maximum number of rows of the systems that are not plain tridiagonal ones.
const OTHERS_AT_MOST: usize = 1 << 22;
/// Number of right-hand sides of the system with several.
const MANY: usize = 32;

/// The settings of a run.
pub struct Speed<'a> {
    pub device: &'a Device,
    pub cusparse: Option<&'a Cusparse>,
    pub budget: Budget,
    pub stdout_used: bool,
}

/// A system, and the cuSPARSE routines for it.
///
/// Many small systems with random entries would include singular ones, so their matrices are dominant.
struct SpeedCase {
    name: &'static str,
    shape: Shape,
    n_rhs: usize,
    data: Data,
    routines: &'static [CusparseRoutine],
    /// Number of systems that the routines solve.
    systems: usize,
}

/// The references of all lines.
struct Yardstick {
    /// GB/s of a large copy, reads and writes in total.
    copied: f64,
    /// Sizes of tridiagonal systems, and times per row of bandsolve with one right-hand side.
    single: Vec<(usize, f64)>,
}

impl Speed<'_> {
    /// Measure all systems in the real number types of `dtypes`, and print each line at once. Returns the rows of the JSON report.
    ///
    /// # Errors
    /// Errors of the device, and [`Failure::Other`] if a line cannot be printed.
    pub fn run(&self, sizes: &[usize], dtypes: &[Dtype], copy: usize) -> std::result::Result<Vec<Value>, Failure> {
        let copied = self.copied(copy)?;
        report::print_beside(&heading(copied), self.stdout_used)?;
        let mut all = Vec::new();
        for dtype in dtypes.iter().filter(|dtype| !dtype.is_complex()) {
            let mut yardstick = Yardstick { copied, single: Vec::new() };
            for case in cases(sizes) {
                let (text, rows) = match dtype {
                    Dtype::F32 => self.lines::<f32>(&case, &mut yardstick),
                    _ => self.lines::<f64>(&case, &mut yardstick),
                }?;
                report::print_beside(&text, self.stdout_used)?;
                all.extend(rows);
            }
        }
        Ok(all)
    }

    /// GB/s of a copy of `n` numbers, reads and writes in total.
    fn copied(&self, n: usize) -> Result<f64> {
        let shape = Shape::Tridiagonal { n, periodic: false };
        let system = DeviceSystem::<f64>::new(self.device, (shape, 1), Data::Random, 1)?;
        let mut work = system.work(false)?;
        let rows = contest::run(&mut [system.copy()], n, self.budget, &mut work, |_| (None, None));
        Ok(2.0 * size_of::<f64>() as f64 / rows[0].ns_per_row)
    }

    /// The lines of the table for a system, and the rows of the JSON report. A system that the device cannot solve gets a line with the
    /// reason.
    fn lines<T: PeerNumber>(&self, case: &SpeedCase, yardstick: &mut Yardstick) -> Result<(String, Vec<Value>)> {
        let (mut rows, cutting) = match self.measure::<T>(case) {
            Err(error @ (Error::Device { call: "cuMemAlloc", .. } | Error::Unsupported { .. })) => {
                return Ok((format!("{}  skipped: {error}\n", case.facts::<T>()), Vec::new()));
            }
            measured => measured?,
        };
        compare(&mut rows);
        let total = (case.shape.rows() * case.n_rhs) as f64;
        let (mut text, mut json) = (String::new(), Vec::new());
        for row in &rows {
            let moved = match &*row.solver {
                COPY => Some(2.0 * total),
                _ if row.repair.is_some() => case.moved(&cutting),
                _ => None,
            };
            let bytes = moved.map(|numbers| numbers * size_of::<T>() as f64);
            let share = bytes.map(|bytes| bytes / (row.ns_per_row * total) / yardstick.copied);
            let against_one = yardstick.note(case, row);
            text += &format!("{}{}{against_one}\n", case.facts::<T>(), columns(row, total, share));
            let mut line = row.json(&json!({
                "system": case.name, "n": case.shape.rows(), "n_rhs": case.n_rhs, "dtype": T::NAME,
            }));
            line["share_of_copy"] = share.into();
            line["note"] = row.note().into();
            json.push(line);
        }
        Ok((text, json))
    }

    /// Run all solvers alternately. Returns the rows, and how bandsolve partitions the system.
    fn measure<T: PeerNumber>(&self, case: &SpeedCase) -> Result<(Vec<BenchRow>, Cutting)> {
        let system = DeviceSystem::<T>::new(self.device, (case.shape, case.n_rhs), case.data, case.systems)?;
        let cusparse = self.cusparse.filter(|_| !case.routines.is_empty());
        let mut work = system.work(cusparse.is_some())?;
        let (ours, cutting) = system.ours(Timed::Kernels)?;
        let [answered, unverified] = [Timed::Answered, Timed::Unverified].map(|timed| system.ours(timed));
        let mut contestants = vec![ours, answered?.0, unverified?.0, system.copy()];
        for routine in case.routines {
            let Some(cusparse) = cusparse else { break };
            contestants.push(match system.theirs(cusparse, *routine, case.systems, &work) {
                Ok(Some(contestant)) => contestant,
                Ok(None) => absent(*routine, "this version of cuSPARSE does not have the routine".into()),
                Err(error) => absent(*routine, error.to_string()),
            });
        }
        let total = case.shape.rows() * case.n_rhs;
        let rows = contest::run(&mut contestants, total, self.budget, &mut work, |work| system.verdict(work));
        Ok((rows, cutting))
    }
}

/// A row that only reports why a routine is missing.
fn absent<W>(routine: CusparseRoutine, why: String) -> Contestant<'static, W> {
    Contestant { name: routine.name.into(), threads: 1, solve: Box::new(move |_| Err(why.clone())) }
}

/// A tridiagonal system of every size, then the other kinds of systems.
fn cases(sizes: &[usize]) -> Vec<SpeedCase> {
    const ONE: &[CusparseRoutine] = &[CusparseRoutine::GTSV2, CusparseRoutine::GTSV2_NOPIVOT];
    let case = |name, shape| SpeedCase { name, shape, n_rhs: 1, data: Data::Random, routines: &[], systems: 1 };
    let tridiagonal = |n| SpeedCase { routines: ONE, ..case("tridiagonal", Shape::Tridiagonal { n, periodic: false }) };
    let n = sizes.iter().copied().filter(|n| *n <= OTHERS_AT_MOST).max().or(sizes.iter().copied().min());
    let n = n.unwrap_or(BATCH_N).next_multiple_of(BATCH_N);
    let batch = |layout| Shape::Batch { count: 4 * n / BATCH_N, n: BATCH_N, layout, periodic: false };
    let others = [
        SpeedCase { name: "dominant", data: Data::Dominant, ..tridiagonal(n) },
        SpeedCase { name: "32 right-hand sides", n_rhs: MANY, ..tridiagonal(n) },
        case("blocks of 4", Shape::BlockTridiagonal { block_rows: n / 4, block: 4, periodic: false }),
        SpeedCase {
            routines: &[CusparseRoutine::GPSV_BATCH],
            systems: n / BATCH_N,
            data: Data::Dominant,
            ..case("pentadiagonal", Shape::Banded { n, lower: 2, upper: 2 })
        },
        SpeedCase {
            routines: &[CusparseRoutine::GTSV_BATCH, CusparseRoutine::GTSV_BATCH_THOMAS],
            systems: 4 * n / BATCH_N,
            data: Data::Dominant,
            ..case("interleaved batch", batch(Layout::Interleaved))
        },
        SpeedCase { data: Data::Dominant, ..case("contiguous batch", batch(Layout::Contiguous)) },
    ];
    sizes.iter().copied().map(tridiagonal).chain(others).collect()
}

impl SpeedCase {
    fn facts<T: PeerNumber>(&self) -> String {
        format!("  {:20} {:>10} {:>4}", self.name, self.shape.rows(), T::NAME)
    }

    /// Numbers that bandsolve reads and writes at least for one right-hand side. It reads each level twice, to reduce it and to
    /// substitute, and writes the coarse system and x. It reads the last level once, and also the first one if it stays on chip. `None`
    /// for batches, which have no levels.
    fn moved(&self, cutting: &Cutting) -> Option<f64> {
        let (mut n, block, mut matrix) = match self.shape {
            Shape::Tridiagonal { n, .. } => (n, 1, 3),
            Shape::BlockTridiagonal { block_rows, block, .. } => (block_rows, block, 3 * block * block),
            Shape::Banded { n, lower, upper } => {
                let block = lower.max(upper).max(1);
                (n.div_ceil(block), block, block * (lower + upper + 1))
            }
            _ => return None,
        };
        let (_, others) = cutting.rows.split_last().filter(|_| self.n_rhs == 1)?;
        let mut moved = 0;
        for (k, m) in others.iter().enumerate() {
            let read = if k == 0 && cutting.one_launch { 1 } else { 2 };
            moved += n * (read * (matrix + block) + block);
            // Each partition leaves two coarse rows; the last partition has 2 to m + 1 rows.
            n = 2 * (n / m + usize::from(n % m > 1));
            matrix = 3 * block * block;
            moved += n * (matrix + block);
        }
        Some((moved + n * (matrix + 2 * block)) as f64)
    }
}

impl Yardstick {
    /// The speed-up per row of several right-hand sides over one. Stores the time with one right-hand side for later rows.
    fn note(&mut self, case: &SpeedCase, row: &BenchRow) -> String {
        let n = case.shape.rows();
        if row.solver != OURS {
            return String::new();
        }
        if case.name == "tridiagonal" {
            self.single.push((n, row.ns_per_row));
        }
        let one = self.single.iter().find(|(rows, _)| *rows == n && case.n_rhs > 1);
        one.map_or(String::new(), |(_, ns)| {
            format!("  {:.1} times as fast per row as one right-hand side", ns / row.ns_per_row)
        })
    }
}

fn heading(copied: f64) -> String {
    let [system, solver] = ["system", "solver"];
    format!(
        "\n  bandwidth of a large copy: {copied:.0} GB/s\n\n  {system:20} {:>10} {:>4}  {solver:30} {:>10} {:>10} {:>19} \
         {:>8} {:>14}\n",
        "rows", "type", "µs", "ns per row", "speedup vs cuSPARSE", "of copy", "backward error"
    )
}

fn columns(row: &BenchRow, total: f64, share: Option<f64>) -> String {
    let share = share.map_or("-".into(), |share| format!("{:.0}%", 100.0 * share));
    let speedup = if row.solver == COPY { "-".into() } else { ratio(row.speedup_over_gtsv) };
    let number = |value: f64, digits| if value.is_nan() { "-".into() } else { format!("{value:.digits$}") };
    let (time, per_row) = (number(row.ns_per_row * total / 1000.0, 1), number(row.ns_per_row, 3));
    let line =
        format!("  {:30} {time:>10} {per_row:>10} {speedup:>19} {share:>8} {:>14}", row.solver, row.error_text());
    format!("{line}  {}", row.note()).trim_end().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_are_moved_are_counted_level_by_level() {
        let [case, ..] = &cases(&[1000])[..] else { panic!("a case for every size") };
        // 1000 rows in 32 partitions; two rows of each are solved on chip.
        assert_eq!(
            case.moved(&Cutting { rows: vec![32, 8], one_launch: false }),
            Some(f64::from(9 * 1000 + 4 * 64 + 5 * 64))
        );
        // All on chip.
        assert_eq!(case.moved(&Cutting { rows: vec![1000], one_launch: false }), Some(f64::from(5 * 1000)));
        let pentadiagonal = cases(&[1024]).into_iter().find(|case| case.name == "pentadiagonal").unwrap();
        assert_eq!(
            pentadiagonal.moved(&Cutting { rows: vec![512], one_launch: false }),
            Some(f64::from(512 * (10 + 2 + 2)))
        );
        assert!(cases(&[1024]).iter().all(|case| case.shape.rows() % case.systems == 0));
    }
}
