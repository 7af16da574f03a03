//! `bandsolve bench banded`: one banded system, compared with `gbsv`.

use crate::args::{BenchBandedArgs, RealDtype};
use crate::contest::{self, Contestant, TimedSolve};
use crate::dots::{DotChart, DotPanel};
use crate::machine::MachineFacts;
use crate::peers::{BandArrays, Peer, PeerScalar};
use crate::results::{self, Results};
use crate::row::{BenchRow, RepairCounts, compare};
use crate::setup::{self, show};
use crate::sheet::{self, Sheet};
use crate::yardstick::Passes;
use bandsolve::dyn_stack::{PodBuffer, PodStack};
use bandsolve::{Banded, Factor, Method, Op, Pivoting, Plan, Report};
use bandsolve_gallery::{Random, oracle};
use bandsolve_program::exit::Failure;
use bandsolve_program::memory::affordable;
use bandsolve_program::{progress, report};
use serde_json::json;
use std::time::{Duration, Instant};

/// Limit of the words of matrix, factors and right-hand sides in total for the default size: 4 GiB in double precision.
const USUAL_WORDS: usize = 1 << 29;

/// Measure every half-bandwidth, number type and number of right-hand sides.
///
/// # Errors
/// [`Failure::Usage`] if a size does not fit in memory, [`Failure::Other`] if the report cannot be written.
pub fn run(args: &BenchBandedArgs) -> Result<(), Failure> {
    let measure = &args.measure;
    let stdout_used = results::stdout_is_used(measure, None)?;
    let threads = setup::threads(&args.threads)?;
    // A size that does not fit must fail before the first measurement.
    let kinds = args.half_bandwidths.iter().flat_map(|half| args.n_rhs.iter().map(move |n_rhs| (*half, *n_rhs)));
    let case = |(half, n_rhs)| Ok(BandCase { n: size(args, half, n_rhs)?, half, n_rhs, dominant: args.dominant });
    let cases = kinds.map(case).collect::<Result<Vec<_>, Failure>>()?;
    let (machine, peers) = (MachineFacts::here(), Peer::all());
    report::print_beside(&machine.text(Some(&peers)), stdout_used)?;
    let (mut rows, mut sheets, mut panels) = (Vec::new(), Vec::new(), Vec::new());
    let bar = progress::parts("system", cases.len() * args.dtype.len());
    for (case, &dtype) in cases.iter().flat_map(|case| args.dtype.iter().map(move |dtype| (case, dtype))) {
        let &BandCase { half, n_rhs, .. } = case;
        let budget = setup::budget(measure);
        let (name, found, epsilon) = match dtype {
            RealDtype::F32 => ("f32", case.measure::<f32>(&threads, &peers, budget), f64::from(f32::EPSILON)),
            RealDtype::F64 => ("f64", case.measure::<f64>(&threads, &peers, budget), f64::EPSILON),
        };
        let sheet = Sheet::of(case.title(name), &found, sheet::Routine::Gbsv, Passes::Two);
        show(&sheet.text(), stdout_used, &bar)?;
        let facts = json!({ "n": case.n, "half_bandwidth": half, "n_rhs": n_rhs, "dtype": name, "data": case.data() });
        rows.extend(found.iter().map(|row| row.json(&facts)));
        panels.push(DotPanel::of(
            format!("half-bandwidth {half}, n = {}, {n_rhs} rhs, {name}", case.n),
            &found,
            epsilon,
        ));
        sheets.push(sheet);
    }
    let data = if args.dominant { "dominant" } else { "random" };
    let title = format!("Time to factor and solve one banded system, {data} data (ns per row)");
    let chart = DotChart { title, machine: machine.summary(), across: 3, kinds: vec![data], panels };
    Results::here("banded", &machine, Some(&peers), rows, sheets).write(measure, || Some(chart.draw()))
}

/// Number of unknowns for this half-bandwidth.
fn size(args: &BenchBandedArgs, half: usize, n_rhs: usize) -> Result<usize, Failure> {
    // The matrix, its copy for the other libraries, factors with padded columns, right-hand sides and their copies.
    let words = half.saturating_mul(8).saturating_add(82).saturating_add(n_rhs.max(1).saturating_mul(4));
    let n = args.n.unwrap_or(if args.measure.quick { 2000 } else { (USUAL_WORDS / words).min(1_000_000) });
    let fits = affordable(&[n, words], 8);
    fits.map_or_else(
        |why| Err(Failure::Usage(format!("--n {n}, --half-bandwidths {half}, --n-rhs {n_rhs}: {why}"))),
        |_| Ok(n.max(1)),
    )
}

/// One system.
struct BandCase {
    n: usize,
    half: usize,
    n_rhs: usize,
    dominant: bool,
}

/// One configuration of bandsolve.
#[derive(Debug, Clone, Copy)]
struct BandSolverChoice {
    name: &'static str,
    method: Method,
    op: Op,
    pivoting: Pivoting,
    verify: bool,
}

impl BandSolverChoice {
    const SPIKE: BandSolverChoice = BandSolverChoice {
        name: "spike",
        method: Method::Spike,
        op: Op::Plain,
        pivoting: Pivoting::ScaledPartial,
        verify: true,
    };
    const ALL: [BandSolverChoice; 8] = [
        BandSolverChoice { name: "rpts", method: Method::Rpts, ..BandSolverChoice::SPIKE },
        BandSolverChoice { name: "rpts unverified", method: Method::Rpts, verify: false, ..BandSolverChoice::SPIKE },
        BandSolverChoice::SPIKE,
        BandSolverChoice { name: "spike unverified", verify: false, ..BandSolverChoice::SPIKE },
        BandSolverChoice { name: "spike transposed", op: Op::Transpose, ..BandSolverChoice::SPIKE },
        BandSolverChoice { name: "spike without pivoting", pivoting: Pivoting::None, ..BandSolverChoice::SPIKE },
        BandSolverChoice { name: "pivoted", method: Method::Pivoted, ..BandSolverChoice::SPIKE },
        BandSolverChoice { name: "auto", method: Method::Auto, ..BandSolverChoice::SPIKE },
    ];
}

/// Memory that all solvers share.
struct BandMemory<T> {
    x: Vec<T>,
    /// The copy of the matrix that the other libraries overwrite.
    bands: Vec<T>,
    pivots: Vec<i64>,
    op: Op,
    report: Option<Report>,
}

impl BandCase {
    fn data(&self) -> &'static str {
        if self.dominant { "dominant" } else { "random" }
    }

    fn title(&self, dtype: &str) -> String {
        let BandCase { n, half, n_rhs, .. } = self;
        format!("n = {n}, half-bandwidth {half}, {n_rhs} rhs, {dtype}, {} data", self.data())
    }

    fn measure<T: PeerScalar>(&self, threads: &[usize], peers: &[Peer], budget: contest::Budget) -> Vec<BenchRow> {
        let (n, leading) = (self.n, 2 * self.half + 1);
        let mut random = Random::new(n as u64);
        let mut draw =
            |count: usize| -> Vec<T> { (0..count).map(|_| T::from_f64(random.uniform(-1.0, 1.0))).collect() };
        let (mut bands, rhs) = (draw(n * leading), draw(n * self.n_rhs));
        if self.dominant {
            bands.iter_mut().skip(self.half).step_by(leading).for_each(|v| *v += T::from_f64(leading as f64));
        }
        let a = Banded::new(n, self.half, self.half, &bands).expect("columns of a band");
        let copy = if peers.is_empty() { 0 } else { n * (3 * self.half + 1) };
        let mut work =
            BandMemory { x: rhs.clone(), bands: vec![T::ZERO; copy], pivots: vec![0; n], op: Op::Plain, report: None };
        let mut contestants: Vec<_> = BandSolverChoice::ALL
            .iter()
            .filter(|choice| choice.method.solves(a.shape()))
            .flat_map(|choice| threads.iter().map(move |threads| (*choice, *threads)))
            .map(|(choice, threads)| ours(choice, threads, &a, &rhs))
            .collect();
        contestants.extend(peers.iter().filter_map(|peer| self.theirs(peer, &a, &rhs)));
        let check = |work: &BandMemory<T>| (backward_error(&a, &rhs, work), work.report.as_ref().map(RepairCounts::of));
        let mut rows = contest::run(&mut contestants, n, budget, &mut work, check);
        compare(&mut rows);
        rows
    }

    fn theirs<'a, T: PeerScalar>(
        &self,
        peer: &'a Peer,
        a: &'a Banded<'a, T>,
        rhs: &'a [T],
    ) -> Option<Contestant<'a, BandMemory<T>>> {
        let (routine, n, half) = (peer.gbsv::<T>()?, self.n, self.half);
        let solve: TimedSolve<'a, BandMemory<T>> = Box::new(move |work| {
            work.x.copy_from_slice(rhs);
            (work.op, work.report) = (Op::Plain, None);
            for (j, column) in work.bands.chunks_exact_mut(3 * half + 1).enumerate() {
                let (first, entries) = a.column(j);
                let start = 2 * half + first - j;
                column[start..start + entries.len()].copy_from_slice(entries);
            }
            let BandMemory { x, bands, pivots, .. } = work;
            let started = Instant::now();
            let solved = routine.solve(BandArrays { n, widths: [half, half], bands, pivots, rhs: x });
            let time = started.elapsed();
            solved.map(|()| time).map_err(|info| format!("the routine returned info = {info}"))
        });
        Some(Contestant { name: format!("{} gbsv", peer.name), threads: 1, solve })
    }
}

fn ours<'a, T: PeerScalar>(
    choice: BandSolverChoice,
    threads: usize,
    a: &'a Banded<'a, T>,
    rhs: &'a [T],
) -> Contestant<'a, BandMemory<T>> {
    let plan =
        Plan::once(a.shape()).method(choice.method).pivoting(choice.pivoting).threads(threads).verify(choice.verify);
    let (mut memory, n_rhs) = (None, rhs.len() / a.n());
    let solve: TimedSolve<'a, BandMemory<T>> = Box::new(move |work| {
        let started = Instant::now();
        let factor = plan.factor(a).map_err(|e| e.to_string())?;
        // The scratch memory is allocated in the first solve, which is not measured.
        let memory = memory.get_or_insert_with(|| PodBuffer::new(factor.solve_scratch(n_rhs)));
        let solved = factor.solve_into_with(choice.op, rhs, &mut work.x, PodStack::new(memory));
        drop(factor);
        let time: Duration = started.elapsed();
        (work.op, work.report) = (choice.op, Some(solved.map_err(|e| e.to_string())?));
        Ok(time)
    });
    Contestant { name: choice.name.into(), threads, solve }
}

/// The backward error of the first solution, computed by the oracle. For a large system, it is the one that the solver reports, because
/// the oracle is slow.
fn backward_error<T: PeerScalar>(a: &Banded<'_, T>, rhs: &[T], work: &BandMemory<T>) -> Option<f64> {
    const ORACLE_MAX_WORDS: usize = 1 << 24;
    let n = a.n();
    if n * (a.lower() + a.upper() + 1) > ORACLE_MAX_WORDS {
        return work.report.as_ref().map(|report| report.backward_error).filter(|eta| !eta.is_nan());
    }
    let transposed = (work.op != Op::Plain).then(|| oracle::transpose_banded(a, false));
    Some(oracle::backward_error(transposed.as_ref().unwrap_or(a), &rhs[..n], &work.x[..n]))
}
