//! `bandsolve bench batch`: many small tridiagonal systems, in both layouts.

use crate::args::{BenchBatchArgs, RealDtype};
use crate::contest::{self, Budget, Contestant, TimedSolve};
use crate::dots::{DotChart, DotPanel};
use crate::machine::MachineFacts;
use crate::peers::{Peer, PeerArrays, PeerScalar, PeerSolver};
use crate::results::{self, Results};
use crate::row::{BenchRow, RepairCounts, compare};
use crate::setup::{self, show};
use crate::sheet::{self, Sheet};
use bandsolve::{Factor, Layout, Plan, Report, Scalar, TridiagonalBatch};
use bandsolve_gallery::{Random, oracle};
use bandsolve_program::exit::Failure;
use bandsolve_program::memory::affordable;
use bandsolve_program::{progress, report};
use serde_json::json;
use std::time::{Duration, Instant};

/// Measure both layouts.
///
/// # Errors
/// [`Failure::Usage`] if a size does not fit in memory, [`Failure::Other`] if the report cannot be written.
pub fn run(args: &BenchBatchArgs) -> Result<(), Failure> {
    let stdout_used = results::stdout_is_used(&args.measure, None)?;
    let threads = setup::threads(&args.threads)?;
    affordable(&[args.count, args.n, 15], 8).map_err(|why| Failure::Usage(format!("--count, --n: {why}")))?;
    let (machine, peers) = (MachineFacts::here(), Peer::all());
    let budget = setup::budget(&args.measure);
    report::print_beside(&machine.text(Some(&peers)), stdout_used)?;
    let (mut lines, mut sheets, mut panels) = (Vec::new(), Vec::new(), Vec::new());
    let bar = progress::parts("batch", 2 * args.dtype.len());
    for &dtype in &args.dtype {
        for layout in [Layout::Interleaved, Layout::Contiguous] {
            let shape = (args.count, args.n, layout);
            let (rows, epsilon) = match dtype {
                RealDtype::F32 => (measure::<f32>(shape, &threads, budget, &peers), f64::from(f32::EPSILON)),
                RealDtype::F64 => (measure::<f64>(shape, &threads, budget, &peers), f64::EPSILON),
            };
            let name = if layout == Layout::Contiguous { "contiguous" } else { "interleaved" };
            let title = format!("{} systems of n = {}, {dtype}, {name}", args.count, args.n);
            let sheet = Sheet::of(title, &rows, sheet::Routine::Gtsv);
            show(&sheet.text(), stdout_used, &bar)?;
            let facts = json!({ "count": args.count, "n": args.n, "dtype": dtype.to_string(), "layout": name });
            lines.extend(rows.iter().map(|row| row.json(&facts)));
            panels.push(DotPanel::of(sheet.title.clone(), &rows, epsilon));
            sheets.push(sheet);
        }
    }
    let chart = DotChart {
        title: "Time to factor and solve a batch (ns per row)".into(),
        machine: machine.summary(),
        across: 2,
        kinds: vec!["random"],
        panels,
    };
    Results::here("batch", &machine, Some(&peers), lines, sheets).write(&args.measure, || Some(chart.draw()))
}

/// Measure every solver on one batch.
fn measure<T: PeerScalar>(
    (count, n, layout): (usize, usize, Layout),
    threads: &[usize],
    budget: Budget,
    peers: &[Peer],
) -> Vec<BenchRow> {
    let mut random = Random::new(n as u64);
    let numbers: [Vec<T>; 4] =
        [(); 4].map(|()| (0..count * n).map(|_| T::from_f64(random.uniform(-1.0, 1.0))).collect());
    let numbers = &numbers;
    let [sub, diag, sup, rhs] = numbers;
    let a = TridiagonalBatch::new(count, n, layout, sub, diag, sup).expect("three arrays of length count·n");
    let mut work = BatchMemory { x: rhs.clone(), copies: numbers.clone(), foreign: false, report: None };
    let ours = threads.iter().map(|&threads| {
        let solve = ours(&a, rhs, threads);
        Contestant { name: "bandsolve".into(), threads, solve }
    });
    let mut contestants: Vec<_> = ours.collect();
    // LAPACK has no routine for interleaved systems.
    for peer in peers.iter().filter(|_| layout == Layout::Contiguous) {
        if let Some(routine) = peer.gtsv::<T>() {
            let solve: TimedSolve<_> = Box::new(move |work| foreign(numbers, n, routine, work));
            contestants.push(Contestant { name: format!("{} gtsv", peer.name), threads: 1, solve });
        }
    }
    let check = |work: &BatchMemory<T>| {
        let x = if work.foreign { &work.copies[3] } else { &work.x };
        (Some(backward_error(&a, rhs, x)), work.report.as_ref().map(RepairCounts::of))
    };
    let mut rows = contest::run(&mut contestants, count * n, budget, &mut work, check);
    compare(&mut rows);
    rows
}

/// Memory that all solvers share.
struct BatchMemory<T> {
    x: Vec<T>,
    /// Copies of sub, diag, sup and rhs, which the other libraries overwrite.
    copies: [Vec<T>; 4],
    /// Whether the last solution is in the copies, not in `x`.
    foreign: bool,
    report: Option<Report>,
}

/// Largest backward error of all systems.
pub fn backward_error<T: Scalar>(a: &TridiagonalBatch<'_, T>, rhs: &[T], x: &[T]) -> f64 {
    let of_system = |s: usize| {
        let pick = |values: &[T]| -> Vec<T> { (0..a.n()).map(|i| values[a.index(s, i)]).collect() };
        oracle::backward_error(&a.system(s), &pick(rhs), &pick(x))
    };
    report::largest((0..a.count()).map(of_system))
}

/// Factor and solve the batch with bandsolve.
fn ours<'a, T: PeerScalar>(
    a: &'a TridiagonalBatch<'a, T>,
    rhs: &'a [T],
    threads: usize,
) -> TimedSolve<'a, BatchMemory<T>> {
    let plan = Plan::new(a.shape()).threads(threads);
    Box::new(move |work| {
        let started = Instant::now();
        let solved = plan.factor(a).and_then(|factor| factor.solve_into(rhs, &mut work.x));
        let time = started.elapsed();
        work.report = Some(solved.map_err(|e| e.to_string())?);
        work.foreign = false;
        Ok(time)
    })
}

/// Restore the copies, then solve the systems one after the other with another library.
fn foreign<T: PeerScalar>(
    numbers: &[Vec<T>; 4],
    n: usize,
    routine: PeerSolver<'_, T>,
    work: &mut BatchMemory<T>,
) -> Result<Duration, String> {
    for (copy, original) in work.copies.iter_mut().zip(numbers) {
        copy.copy_from_slice(original);
    }
    let [sub, diag, sup, rhs] = &mut work.copies;
    let systems = sub.chunks_mut(n).zip(diag.chunks_mut(n)).zip(sup.chunks_mut(n).zip(rhs.chunks_mut(n)));
    let started = Instant::now();
    for ((sub, diag), (sup, rhs)) in systems {
        let arrays = PeerArrays { sub: &mut sub[1..], diag, sup: &mut sup[..n - 1], rhs };
        routine.solve(arrays).map_err(|info| format!("the routine returned info = {info}"))?;
    }
    let time = started.elapsed();
    (work.foreign, work.report) = (true, None);
    Ok(time)
}
