//! `bandsolve bench sparse`: tridiagonal systems with sparse right-hand sides, compared with dense ones.

use crate::args::BenchSparseArgs;
use crate::contest::{self, Contestant, TimedSolve};
use crate::dots::{DotChart, DotPanel};
use crate::machine::MachineFacts;
use crate::results::{self, Results};
use crate::row::{BenchRow, RepairCounts, ratio};
use crate::setup::{self, show};
use crate::sheet::{BACKWARD, Line, SOLVER, Sheet, THREADS, column};
use bandsolve::{Csc, CscMut, Factor, Op, Plan, Report, Tridiagonal};
use bandsolve_gallery::Random;
use bandsolve_program::exit::Failure;
use bandsolve_program::memory::affordable;
use bandsolve_program::{io, progress, report};
use serde_json::{Value, json};
use std::time::Instant;

/// Name of the baseline: a solve with dense right-hand sides.
const DENSE: &str = "dense";

/// Measure every number of entries, or the columns of a file.
///
/// # Errors
/// [`Failure::Usage`] if a size does not fit in memory, [`Failure::Input`] if the file is invalid, [`Failure::Other`] if the report
/// cannot be written.
pub fn run(args: &BenchSparseArgs) -> Result<(), Failure> {
    let stdout_used = results::stdout_is_used(&args.measure, args.matrix.as_deref())?;
    let threads = setup::threads(&args.threads)?;
    let n = args.n.unwrap_or(if args.measure.quick { 5000 } else { 1_000_000 }).max(1);
    affordable(&[n, 20], 8).map_err(|why| Failure::Usage(format!("--n {n}: {why}")))?;
    let cases = match &args.matrix {
        Some(path) => vec![SparseRhs::read(path, n)?],
        None => {
            let random = |entries: &usize| SparseRhs::random(n, args.n_rhs, *entries);
            args.entries.iter().map(random).collect::<Result<_, _>>()?
        }
    };
    let machine = MachineFacts::here();
    report::print_beside(&machine.text(None), stdout_used)?;
    let (mut found, mut sheets, mut panels) = (Vec::new(), Vec::new(), Vec::new());
    let bar = progress::parts("case", cases.len());
    for columns in cases {
        let system = SparseSystem::new(n, args.dominant, columns);
        let rows = system.contest(&threads, setup::budget(&args.measure));
        let sheet = system.sheet(&rows);
        show(&(sheet.text() + &memory()), stdout_used, &bar)?;
        found.extend(rows.iter().map(|row| row.json(&system.facts())));
        panels.push(DotPanel::of(system.columns.name.clone(), &rows, f64::EPSILON));
        sheets.push(sheet);
    }
    let data = if args.dominant { "dominant" } else { "random" };
    let title = format!("Time of sparse right-hand sides, n = {n}, {data} matrix (ns per row and right-hand side)");
    let chart = DotChart { title, machine: machine.summary(), across: 3, kinds: vec![data], panels };
    Results::here("sparse", &machine, None, found, sheets).write(&args.measure, || Some(chart.draw()))
}

/// Sparse right-hand sides.
struct SparseRhs {
    name: String,
    pointers: Vec<usize>,
    rows: Vec<usize>,
    values: Vec<f64>,
}

impl SparseRhs {
    fn random(n: usize, columns: usize, entries: usize) -> Result<Self, Failure> {
        if entries > n {
            return Err(Failure::Usage(format!(
                "--entries {entries}: a right-hand side of {n} rows has at most {n} entries. Pass a smaller number"
            )));
        }
        // Per column: a pointer, and rows and values of the right-hand side and of the solution.
        affordable(&[columns, 1 + 4 * entries], 8)
            .map_err(|why| Failure::Usage(format!("--n-rhs {columns} --entries {entries}: {why}")))?;
        let mut random = Random::new(entries as u64);
        Ok(Self {
            name: format!("{columns} columns of {entries} entries"),
            pointers: (0..=columns).map(|j| j * entries).collect(),
            rows: (0..columns * entries).map(|_| random.below(n)).collect(),
            values: random.uniform_vec(columns * entries, -1.0, 1.0),
        })
    }

    /// Read the columns of a matrix with at most `n` rows.
    fn read(path: &std::path::Path, n: usize) -> Result<Self, Failure> {
        let a = io::read_columns(path)?;
        io::check_real(&a, path)?;
        if a.n_rows > n {
            let rows = a.n_rows;
            return Err(Failure::Usage(format!("--matrix has {rows} rows, but --n is {n}. Pass --n {rows} or more")));
        }
        if a.rows.is_empty() {
            return Err(Failure::in_file(&io::name(path), "the matrix has no entries"));
        }
        let mut entries = Vec::new();
        a.for_each(|i, j, value| entries.push((j, i, value.re)));
        entries.sort_unstable_by_key(|(j, i, _)| (*j, *i));
        let pointers = (0..=a.n_cols).map(|j| entries.partition_point(|entry| entry.0 < j)).collect();
        Ok(Self {
            name: format!("{} columns of {} with {} entries in total", a.n_cols, io::short_name(path), entries.len()),
            pointers,
            rows: entries.iter().map(|entry| entry.1).collect(),
            values: entries.iter().map(|entry| entry.2).collect(),
        })
    }

    fn count(&self) -> usize {
        self.pointers.len() - 1
    }
}

/// A matrix and its right-hand sides.
struct SparseSystem {
    a: Tridiagonal<'static, f64>,
    dominant: bool,
    columns: SparseRhs,
    /// The right-hand sides as a dense array; empty if it exceeds [`DENSE_MAX_WORDS`].
    dense: Vec<f64>,
}

/// Maximum number of words of the dense right-hand sides: 1 GiB.
const DENSE_MAX_WORDS: usize = 1 << 27;

/// Memory that all solvers share.
struct SparseMemory {
    x: Vec<f64>,
    rows: Vec<usize>,
    values: Vec<f64>,
    report: Option<Report>,
}

impl SparseSystem {
    fn new(n: usize, dominant: bool, columns: SparseRhs) -> Self {
        let mut random = Random::new(n as u64);
        let mut draw = || random.uniform_vec(n, -1.0, 1.0);
        let [sub, mut diag, sup] = [draw(), draw(), draw()];
        if dominant {
            diag.iter_mut().for_each(|v| *v += 3.0);
        }
        let a = Tridiagonal::from_vecs(sub, diag, sup, false).expect("three arrays of length n");
        let mut dense = Vec::new();
        if n.saturating_mul(columns.count()) <= DENSE_MAX_WORDS {
            dense.resize(n * columns.count(), 0.0);
            for j in 0..columns.count() {
                let entries = columns.pointers[j]..columns.pointers[j + 1];
                entries.for_each(|k| dense[j * n + columns.rows[k]] += columns.values[k]);
            }
        }
        Self { a, dominant, columns, dense }
    }

    fn rhs(&self) -> Csc<'_, f64> {
        let SparseRhs { pointers, rows, values, .. } = &self.columns;
        Csc::new(self.a.n(), pointers, rows, values).expect("columns of the matrix")
    }

    fn contest(&self, threads: &[usize], budget: contest::Budget) -> Vec<BenchRow> {
        let mut contestants: Vec<Contestant<'_, SparseMemory>> = Vec::new();
        for (name, way) in [(DENSE, Way::Dense), ("csc2dense", Way::Full), ("csc2csc", Way::Pruned)] {
            if way == Way::Pruned || !self.dense.is_empty() {
                contestants.extend(threads.iter().map(|&threads| {
                    let solve = self.ours(way, threads);
                    Contestant { name: name.into(), threads, solve }
                }));
            }
        }
        let entries = self.columns.values.len();
        let mut work = SparseMemory {
            x: vec![0.0; self.dense.len()],
            rows: vec![0; entries],
            values: vec![0.0; entries],
            report: None,
        };
        let check = |work: &SparseMemory| {
            let report = work.report.as_ref().expect("solved");
            (Some(report.backward_error), Some(RepairCounts::of(report)))
        };
        contest::run(&mut contestants, self.a.n() * self.columns.count(), budget, &mut work, check)
    }

    fn ours(&self, way: Way, threads: usize) -> TimedSolve<'_, SparseMemory> {
        let plan = Plan::new(self.a.shape()).threads(threads);
        Box::new(move |work| {
            let started = Instant::now();
            let factor = plan.factor(&self.a).map_err(|e| e.to_string())?;
            let solved = match way {
                Way::Dense => factor.solve_into(&self.dense, &mut work.x),
                Way::Full => factor.solve_sparse_into(Op::Plain, &self.rhs(), &mut work.x),
                Way::Pruned => {
                    let x = CscMut::new(self.a.n(), &self.columns.pointers, &mut work.rows, &mut work.values);
                    x.and_then(|x| factor.solve_pruned_into(Op::Plain, &self.rhs(), x))
                }
            };
            let time = started.elapsed();
            work.report = Some(solved.map_err(|e| e.to_string())?);
            Ok(time)
        })
    }

    fn facts(&self) -> Value {
        json!({ "n": self.a.n(), "columns": self.columns.name, "dominant": self.dominant })
    }

    fn sheet(&self, rows: &[BenchRow]) -> Sheet {
        let data = if self.dominant { "dominant" } else { "random" };
        let columns = vec![
            SOLVER,
            THREADS,
            column("ms", 12, "median time for all right-hand sides, in milliseconds"),
            column("µs per column", 13, "median time per right-hand side, in microseconds"),
            column(
                "speedup vs dense",
                16,
                "time with dense right-hand sides divided by this time, with the same number of threads",
            ),
            BACKWARD,
        ];
        Sheet {
            title: format!("n = {}, f64, {data} matrix; {}", self.a.n(), self.columns.name),
            columns,
            lines: rows.iter().map(|row| self.line(rows, row)).collect(),
        }
    }

    fn line(&self, rows: &[BenchRow], row: &BenchRow) -> Line {
        let ns = row.ns_per_row * self.a.n() as f64;
        let dense = rows.iter().find(|other| other.solver == DENSE && other.threads == row.threads);
        Line {
            cells: vec![
                row.solver.clone(),
                row.threads.to_string(),
                format!("{:.3}", ns * self.columns.count() as f64 * 1e-6),
                format!("{:.3}", ns * 1e-3),
                ratio(dense.map(|dense| dense.ns_per_row / row.ns_per_row)),
                row.error_text(),
            ],
            note: row.note().into(),
        }
    }
}

/// A line about the peak memory, if the system reports it.
fn memory() -> String {
    peak_memory()
        .map_or(String::new(), |peak| format!("  peak memory so far: {:.0} MiB\n", peak as f64 / (1 << 20) as f64))
}

/// The representations of right-hand sides and solutions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    /// Dense right-hand sides, full solutions.
    Dense,
    /// Sparse right-hand sides, full solutions.
    Full,
    /// Sparse right-hand sides. Each solution keeps as many of its largest entries as its right-hand side has.
    Pruned,
}

/// Peak memory of this process in bytes, if the system reports it.
fn peak_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|kib| kib << 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_ways_solve_the_same_systems() {
        for dominant in [false, true] {
            let system = SparseSystem::new(3000, dominant, SparseRhs::random(3000, 7, 4).unwrap());
            let rows = system.contest(&[1, 2], contest::Budget { seconds: 0.0, min_rounds: 1 });
            assert_eq!(rows.len(), 6);
            for row in &rows {
                assert!(row.error.is_none() && row.backward_error.unwrap() <= 8.0 * f64::EPSILON, "{row:?}");
            }
            assert!(system.sheet(&rows).text().contains("csc2csc"));
        }
    }
}
