//! `bandsolve bench poisson`: Poisson problems on boxes with every method, compared with MKL's fast Poisson solver.

use crate::args::BenchPoissonArgs;
use crate::contest::{self, Contestant, MeasuredAnswer};
use crate::dots::{DotChart, DotPanel};
use crate::machine::MachineFacts;
use crate::mkl_poisson::MklPoisson;
use crate::results::{self, Results};
use crate::row::{BenchRow, ratio};
use crate::setup::{self, show};
use crate::sheet::{BACKWARD, Line, SOLVER, Sheet, SheetColumn, THREADS, column};
use crate::yardstick::bandwidth;
use bandsolve::dyn_stack::{PodBuffer, PodStack};
use bandsolve_gallery::Random;
use bandsolve_poisson::radix::{RadixComparison, compare_radices};
use bandsolve_poisson::{Poisson, PoissonMethod};
use bandsolve_program::exit::Failure;
use bandsolve_program::memory::affordable;
use bandsolve_program::names::suggesting;
use bandsolve_program::progress;
use bandsolve_program::report::{self, sizes};
use serde_json::json;
use std::time::Instant;

/// Name of MKL's solver.
const MKL: &str = "mkl";
/// Words per point that a solver with transforms and elimination moves at least: it reads f, writes and reads the coefficients, writes u,
/// and reads f again for the residual.
const WORDS: usize = 5;

/// Measure every box.
///
/// # Errors
/// [`Failure::Usage`] if a method is unknown or a box does not fit in memory, [`Failure::Other`] if the report cannot be written.
pub fn run(args: &BenchPoissonArgs) -> Result<(), Failure> {
    let stdout_used = results::stdout_is_used(&args.measure, None)?;
    let threads = setup::threads(&args.threads)?;
    // A size that does not fit must fail before the first measurement.
    for shape in args.shape.iter().flatten() {
        affordable(&[&shape[..], &[8]].concat(), size_of::<f64>())
            .map_err(|why| Failure::Usage(format!("--shape {}: {why}", sizes(shape))))?;
    }
    let machine = MachineFacts::here();
    report::print_beside(&machine.text(None), stdout_used)?;
    if args.radices {
        return radices(args, &threads, &machine, stdout_used);
    }
    let methods = args.method.iter().map(|name| {
        PoissonMethod::from_name(name).ok_or_else(|| {
            let known: Vec<_> = PoissonMethod::ALL.iter().map(|method| method.name()).collect();
            Failure::Usage(suggesting(name, format!("unknown method `{name}`. Choose one of: {}", known.join(", "))))
        })
    });
    let methods: Vec<PoissonMethod> = methods.collect::<Result<_, _>>()?;
    let usual: &[&[usize]] = if args.measure.quick {
        &[&[63, 63], &[15, 15, 15]]
    } else {
        &[&[255; 2], &[1023; 2], &[2047; 2], &[1000; 2], &[1009; 2], &[63; 3], &[127; 3]]
    };
    let shapes = args.shape.clone().unwrap_or_else(|| usual.iter().map(|shape| shape.to_vec()).collect());
    let mkl = MklPoisson::open();
    let memory = |threads: &usize| (WORDS * size_of::<f64>()) as f64 / bandwidth(*threads);
    let memory: Vec<(usize, f64)> = threads.iter().map(|threads| (*threads, memory(threads))).collect();
    let (mut found, mut sheets, mut panels) = (Vec::new(), Vec::new(), Vec::new());
    let bar = progress::parts("box", shapes.len());
    for shape in &shapes {
        let mut rows = PoissonContest { shape, methods: &methods, threads: &threads }
            .run(mkl.as_ref(), setup::budget(&args.measure));
        for row in &mut rows {
            let moved = memory.iter().find(|(threads, _)| *threads == row.threads);
            row.times_yardstick = moved.map(|(_, ns)| row.ns_per_row / ns);
        }
        let sheet = sheet(shape, &rows);
        show(&sheet.text(), stdout_used, &bar)?;
        found.extend(rows.iter().map(|row| row.json(&json!({ "shape": shape }))));
        panels.push(DotPanel::of(sizes(shape), &rows, f64::EPSILON));
        sheets.push(sheet);
    }
    let title = "Time to solve Poisson problems (ns per grid point)".to_string();
    let chart = DotChart { title, machine: machine.summary(), across: 3, kinds: vec!["random"], panels };
    Results::here("poisson", &machine, None, found, sheets).write(&args.measure, || Some(chart.draw()))
}

/// Memory that all solvers share.
struct PoissonMemory {
    f: Vec<f64>,
    u: Vec<f64>,
}

/// max |f − A·u| / (Σ|a|·max|u| + |f|). The diagonal of A is 2 in 1D, 4 in 2D and 6 in 3D, and the off-diagonal entries are −1.
fn backward_error(shape: &[usize], f: &[f64], u: &[f64]) -> f64 {
    let largest = u.iter().fold(0.0_f64, |largest, u| largest.max(u.abs()));
    let weight = 4.0 * shape.len() as f64;
    let mut strides = vec![1; shape.len()];
    (0..shape.len() - 1).rev().for_each(|axis| strides[axis] = strides[axis + 1] * shape[axis + 1]);
    let of = |k: usize| {
        let mut r = f[k] - 2.0 * shape.len() as f64 * u[k];
        for (n, stride) in shape.iter().zip(&strides) {
            let place = k / stride % n;
            r += if place > 0 { u[k - stride] } else { 0.0 };
            r += if place + 1 < *n { u[k + stride] } else { 0.0 };
        }
        r.abs() / (weight * largest + f[k].abs())
    };
    report::largest((0..u.len()).map(of))
}

struct PoissonContest<'a> {
    shape: &'a [usize],
    methods: &'a [PoissonMethod],
    threads: &'a [usize],
}

impl PoissonContest<'_> {
    fn run(&self, mkl: Option<&MklPoisson>, budget: contest::Budget) -> Vec<BenchRow> {
        let points = self.shape.iter().product();
        let mut contestants: Vec<Contestant<'_, PoissonMemory>> = Vec::new();
        for threads in self.threads {
            for method in self.methods {
                contestants.push(self.ours(*method, *threads));
            }
            if let Some(theirs) = mkl.and_then(|mkl| Self::mkl(mkl, self.shape, *threads)) {
                contestants.push(theirs);
            }
        }
        let f = Random::new(1).uniform_vec(points, -1.0, 1.0);
        let mut work = PoissonMemory { f, u: vec![0.0; points] };
        let check =
            |work: &PoissonMemory| -> MeasuredAnswer { (Some(backward_error(self.shape, &work.f, &work.u)), None) };
        contest::run(&mut contestants, points, budget, &mut work, check)
    }

    /// A verified solve with a plan made before the measurement.
    fn ours<'a>(&self, method: PoissonMethod, threads: usize) -> Contestant<'a, PoissonMemory> {
        let planned = Poisson::new(self.shape).method(method).threads(threads).plan::<f64>();
        let mut planned =
            planned.map(|plan| (PodBuffer::new(plan.solve_scratch()), plan)).map_err(|error| error.to_string());
        Contestant {
            name: method.name().into(),
            threads,
            solve: Box::new(move |work| {
                let (memory, plan) = planned.as_mut().map_err(|why| why.clone())?;
                let started = Instant::now();
                let solved = plan.solve_into_with(&work.f, &mut work.u, PodStack::new(memory));
                solved.map(|_| started.elapsed()).map_err(|error| error.to_string())
            }),
        }
    }

    fn mkl<'a>(mkl: &'a MklPoisson, shape: &[usize], threads: usize) -> Option<Contestant<'a, PoissonMemory>> {
        mkl.use_threads(threads);
        let mut planned = mkl.make(shape)?;
        let solve = move |work: &mut PoissonMemory| {
            mkl.use_threads(threads);
            planned.load(&work.f);
            let started = Instant::now();
            let solved = planned.solve().map_err(|status| format!("MKL returned status {status}"));
            let time = started.elapsed();
            planned.store(&mut work.u);
            solved.map(|()| time)
        };
        Some(Contestant { name: MKL.into(), threads, solve: Box::new(solve) })
    }
}

fn sheet(shape: &[usize], rows: &[BenchRow]) -> Sheet {
    let columns = vec![
        SOLVER,
        THREADS,
        column("ns per point", 12, "median time divided by the number of grid points, in nanoseconds"),
        column("min", 9, "time of the fastest repetition divided by the number of grid points, in nanoseconds"),
        column(
            "speedup vs mkl",
            14,
            "time of d_helmholtz_2d or d_helmholtz_3d of MKL divided by this time, with the same number of threads",
        ),
        column(
            "time/memory",
            11,
            "time divided by the time to move 5 words per grid point through memory with the same number of threads: f and the \
             coefficients twice, u once",
        ),
        BACKWARD,
    ];
    let same_threads = |row: &BenchRow| rows.iter().find(|other| other.solver == MKL && other.threads == row.threads);
    let line = |row: &BenchRow| Line {
        cells: vec![
            row.solver.clone(),
            row.threads.to_string(),
            format!("{:.2}", row.ns_per_row),
            format!("{:.2}", row.ns_per_row_min),
            ratio(same_threads(row).map(|mkl| mkl.ns_per_row / row.ns_per_row)),
            ratio(row.times_yardstick),
            row.error_text(),
        ],
        note: row.note().into(),
    };
    Sheet {
        title: format!("{}, f64, u = 0 on all sides", sizes(shape)),
        columns,
        lines: rows.iter().map(line).collect(),
    }
}

/// Compare block cyclic reduction with radix 2 and radix 4.
fn radices(
    args: &BenchPoissonArgs,
    threads: &[usize],
    machine: &MachineFacts,
    stdout_used: bool,
) -> Result<(), Failure> {
    let sizes = |from: u32, to: u32| (from..=to).map(|k| (1 << k) - 1);
    let ends = if args.measure.quick { [(3, 5), (2, 3)] } else { [(7, 10), (5, 6)] };
    let usual = || {
        let plane = sizes(ends[0].0, ends[0].1).map(|n| vec![n; 2]);
        plane.chain(sizes(ends[1].0, ends[1].1).map(|n| vec![n; 3])).collect()
    };
    let shapes: Vec<Vec<usize>> = args.shape.clone().unwrap_or_else(usual);
    let (mut found, mut sheets) = (Vec::new(), Vec::new());
    let bar = progress::parts("threads", threads.len());
    for threads in threads {
        let rows = compare_radices(&shapes, if args.measure.quick { 1 } else { 5 }, *threads)?;
        let sheet = Sheet {
            title: format!("block cyclic reduction, radix 2 and radix 4, {}", report::counted(*threads, "thread")),
            columns: vec![
                SheetColumn { width: 16, ..column("box", 16, "") },
                column("systems, radix 2", 16, "number of tridiagonal systems that radix 2 solves"),
                column("systems, radix 4", 16, "number of tridiagonal systems that radix 4 solves"),
                column("ms, radix 2", 11, "shortest time with radix 2, in milliseconds"),
                column("ms, radix 4", 11, "shortest time with radix 4, in milliseconds"),
                column("time ratio", 10, "time with radix 2 divided by time with radix 4"),
                column("system ratio", 12, "number of systems of radix 2 divided by number of systems of radix 4"),
            ],
            lines: rows.iter().map(radix_line).collect(),
        };
        show(&sheet.text(), stdout_used, &bar)?;
        found.extend(rows.iter().map(|row| {
            json!({
                "shape": row.shape, "threads": threads, "subproblems": row.subproblems, "seconds": row.seconds,
                "ratio": row.measured(), "expected": row.expected(),
            })
        }));
        sheets.push(sheet);
    }
    Results::here("poisson radices", machine, None, found, sheets).write(&args.measure, || None)
}

fn radix_line(row: &RadixComparison) -> Line {
    let milliseconds = row.seconds.map(|s| format!("{:.3}", s * 1e3));
    let [two, four] = milliseconds;
    let [systems, fewer] = row.subproblems.map(|count| count.to_string());
    let (measured, expected) = (format!("{:.3}", row.measured()), format!("{:.3}", row.expected()));
    Line { cells: vec![sizes(&row.shape), systems, fewer, two, four, measured, expected], note: String::new() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_answers_are_right() {
        for shape in [&[31, 31][..], &[20, 11], &[7, 9, 5]] {
            let methods = [PoissonMethod::Fft, PoissonMethod::Bcr2, PoissonMethod::Bcr4, PoissonMethod::Pscr];
            let contest = PoissonContest { shape, methods: &methods, threads: &[1, 2] };
            let mkl = MklPoisson::open();
            let rows = contest.run(mkl.as_ref(), contest::Budget { seconds: 0.0, min_rounds: 1 });
            assert!(rows.len() >= 8 && rows.iter().all(|row| row.error.is_none()), "{rows:?}");
            // MKL's transforms lose some digits.
            assert!(rows.iter().all(|row| row.backward_error.unwrap() < 1e-13), "{rows:?}");
            assert!(sheet(shape, &rows).text().contains("ns per point"));
        }
    }
}
