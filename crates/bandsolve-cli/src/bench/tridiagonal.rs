//! `bandsolve bench tridiagonal`: one tridiagonal system.

use super::contest::{self, Budget, Contestant, Solve};
use super::machine::Machine;
use super::yardstick::{self, Store, Word};
use super::{Repair, Row, compare, heading};
use crate::args::{BenchTridiagonalArgs, Data, RealDtype};
use crate::exit::Failure;
use crate::peers::{Arrays, Peer, PeerScalar, Solver};
use crate::report;
use crate::structure::affordable;
use bandsolve::dyn_stack::{PodBuffer, PodStack};
use bandsolve::{Factor, Factorize, Method, Op, Plan, Report, Tridiagonal};
use bandsolve_testkit::{Random, oracle};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// Up to this size every answer is measured by the oracle, which takes its time; beyond, by the solver's own report.
const ORACLE_MAX_N: usize = 1 << 20;

/// Runs the whole sweep.
///
/// # Errors
/// [`Failure::Usage`] for sizes beyond memory, [`Failure::Other`] if the report cannot be written.
pub fn run(args: &BenchTridiagonalArgs) -> Result<(), Failure> {
    let sweep = Sweep::new(args)?;
    let peers = Peer::all();
    let taken = report::is_stdout(args.json.as_deref());
    report::print_beside(&sweep.machine.text(&peers), taken)?;
    let mut rows = Vec::new();
    for &n in &sweep.sizes {
        for &dtype in &args.dtype {
            for &data in &args.data {
                let (text, json) = match dtype {
                    RealDtype::F32 => sweep.measure::<f32>(n, data, &peers),
                    RealDtype::F64 => sweep.measure::<f64>(n, data, &peers),
                };
                report::print_beside(&text, taken)?;
                rows.extend(json);
            }
        }
    }
    match &args.json {
        Some(path) => {
            let machine = sweep.machine.json(&peers);
            report::write_json(path, &json!({ "bench": "tridiagonal", "machine": machine, "rows": rows }))
        }
        None => Ok(()),
    }
}

/// All but the numbers.
struct Sweep {
    sizes: Vec<usize>,
    threads: Vec<usize>,
    budget: Budget,
    machine: Machine,
}

impl Sweep {
    fn new(args: &BenchTridiagonalArgs) -> Result<Sweep, Failure> {
        let machine = Machine::here();
        let usual: &[u32] = if args.quick { &[10, 16] } else { &[10, 13, 16, 20, 25] };
        let sizes = args.n.clone().unwrap_or_else(|| usual.iter().map(|k| 1 << k).collect());
        let threads = super::threads(args.threads.as_deref())?;
        let widest = args.dtype.iter().map(|d| d.bytes()).max().unwrap_or(8);
        if let Some(n) = sizes.iter().max() {
            // The system, the copy that the peers overwrite, x, and the factors of the sequential method.
            let fits = affordable(&[*n, 4 + 4 + 1 + 6], widest);
            fits.map_err(|why| Failure::Usage(format!("--n {n}: {why}")))?;
        }
        let seconds = args.seconds.unwrap_or(if args.quick { 0.05 } else { 1.0 });
        let budget = Budget { seconds, min_rounds: if args.quick { 1 } else { 3 } };
        Ok(Sweep { sizes, threads, budget, machine })
    }

    /// Measures every solver on one system; returns the lines of the table and the rows for programs.
    fn measure<T: PeerScalar + Word>(&self, n: usize, data: Data, peers: &[Peer]) -> (String, Vec<Value>) {
        let arrays = Numbers::<T>::new(n, data);
        let system = System::new(&arrays);
        let mut work = Work::new(n, !peers.is_empty());
        // Within the caches, the bus says nothing.
        let far = 5 * n * size_of::<T>() > self.machine.cache;
        let mut contestants = self.own(&system);
        contestants.extend(peers.iter().flat_map(|peer| theirs(peer, &system, data)));
        if far {
            contestants.extend(self.yardsticks(&system));
        }
        let check = |work: &Work<T>| (system.backward_error(work), work.report.as_ref().map(Repair::of));
        let mut rows = contest::run(&mut contestants, n, self.budget, &mut work, check);
        keep_best_yardstick(&mut rows);
        compare(&mut rows);
        let place = if far { "beyond the caches" } else { "within the caches" };
        let lines: String = rows.iter().map(Row::text).collect();
        let text = format!("\nn = {n}, {}, {} data, {place}\n{}{lines}", T::NAME, data.name(), heading());
        let facts = json!({ "n": n, "dtype": T::NAME, "data": data.name() });
        (text, rows.iter().map(|row| row.json(&facts)).collect())
    }

    /// The partition method with and without verification, and the sequential one.
    fn own<'a, T: PeerScalar>(&self, system: &'a System<'a, T>) -> Vec<Contestant<'a, Work<T>>> {
        let plan = Plan::new(system.a.shape());
        let mut list = Vec::new();
        for &threads in &self.threads {
            for (name, verify) in [("rpts", true), ("rpts unverified", false)] {
                let plan = plan.clone().method(Method::Rpts).threads(threads).verify(verify);
                list.push(Contestant { name: name.into(), threads, solve: partitioned(system, &plan) });
            }
        }
        let plan = plan.method(Method::Pivoted).threads(1);
        list.push(Contestant { name: "pivoted".into(), threads: 1, solve: sequential(system, plan) });
        list
    }

    fn yardsticks<'a, T: PeerScalar + Word>(&self, system: &'a System<'a, T>) -> Vec<Contestant<'a, Work<T>>> {
        let both = self.threads.iter().flat_map(|threads| Store::ALL.iter().map(|store| (*threads, *store)));
        both.map(|(threads, store)| Contestant {
            name: yardstick::NAME.into(),
            threads,
            solve: Box::new(move |work: &mut Work<T>| {
                (work.answer, work.report) = (Answer::None, None);
                Ok(yardstick::move_once(system.numbers.arrays(), &mut work.x, store, threads))
            }),
        })
        .collect()
    }
}

/// Of the ways to write x only the faster remains, for each number of threads.
fn keep_best_yardstick(rows: &mut Vec<Row>) {
    let all = rows.clone();
    let beaten =
        |r: &Row| all.iter().any(|o| o.is_yardstick() && o.threads == r.threads && o.ns_per_row < r.ns_per_row);
    rows.retain(|r| !r.is_yardstick() || !beaten(r));
}

/// The entries of a system; all arrays have length n.
struct Numbers<T> {
    sub: Vec<T>,
    diag: Vec<T>,
    sup: Vec<T>,
    rhs: Vec<T>,
}

impl<T: PeerScalar> Numbers<T> {
    fn new(n: usize, data: Data) -> Self {
        let mut random = Random::new(n as u64);
        let mut draw = || -> Vec<T> { (0..n).map(|_| T::from_f64(random.uniform(-1.0, 1.0))).collect() };
        let (mut sub, mut diag, mut sup, rhs) = (draw(), draw(), draw(), draw());
        match data {
            Data::Random => {}
            Data::Dominant => diag.iter_mut().for_each(|v| *v += T::from_f64(4.0)),
            Data::Chang17 => {
                [&mut sub, &mut sup].into_iter().for_each(|off| off.fill(T::ONE));
                diag.fill(T::ZERO);
                (diag[0], sup[0], diag[n - 1], sub[n - 1]) = (T::ONE, T::ZERO, T::ONE, T::ZERO);
            }
        }
        Self { sub, diag, sup, rhs }
    }

    fn arrays(&self) -> [&[T]; 4] {
        [&self.sub, &self.diag, &self.sup, &self.rhs]
    }
}

/// A system to be solved.
struct System<'a, T: PeerScalar> {
    numbers: &'a Numbers<T>,
    a: Tridiagonal<'a, T>,
}

impl<'a, T: PeerScalar> System<'a, T> {
    fn new(numbers: &'a Numbers<T>) -> Self {
        let a = Tridiagonal::new(&numbers.sub, &numbers.diag, &numbers.sup).expect("three arrays of length n");
        Self { numbers, a }
    }

    /// The backward error of the answer: by the oracle, or for large systems what the solver itself found.
    fn backward_error(&self, work: &Work<T>) -> Option<f64> {
        let large = self.a.n() > ORACLE_MAX_N;
        match work.answer {
            Answer::X if large => work.report.as_ref().map(|r| r.backward_error).filter(|eta| !eta.is_nan()),
            Answer::X => Some(oracle::backward_error(&self.a, &self.numbers.rhs, &work.x)),
            Answer::Copy if !large => Some(oracle::backward_error(&self.a, &self.numbers.rhs, &work.copies[3])),
            _ => None,
        }
    }
}

/// Memory that all solvers share.
struct Work<T> {
    x: Vec<T>,
    /// What the peers overwrite: sub, diag, sup, rhs.
    copies: [Vec<T>; 4],
    answer: Answer,
    /// What a solver of ours says about it.
    report: Option<Report>,
}

/// Where the last answer stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Answer {
    None,
    X,
    Copy,
}

impl<T: PeerScalar> Work<T> {
    fn new(n: usize, copies: bool) -> Self {
        let length = if copies { n } else { 0 };
        let copies = [(); 4].map(|()| vec![T::ZERO; length]);
        Self { x: vec![T::ZERO; n], copies, answer: Answer::None, report: None }
    }

    /// Takes note of what a solver of ours did in the given time.
    fn solved(&mut self, solved: bandsolve::Result<Report>, time: Duration) -> Result<Duration, String> {
        self.report = Some(solved.map_err(|e| e.to_string())?);
        self.answer = Answer::X;
        Ok(time)
    }
}

/// By partitions, in scratch memory that is there before the clock starts. There are no factors to be made.
fn partitioned<'a, T: PeerScalar>(system: &'a System<'a, T>, plan: &Plan) -> Solve<'a, Work<T>> {
    let factor = system.a.factor_with(plan).expect("the partition method reads no numbers");
    let mut memory = PodBuffer::new(factor.solve_scratch(1));
    Box::new(move |work| {
        let started = Instant::now();
        let solved = factor.solve_into_with(Op::Plain, &system.numbers.rhs, &mut work.x, PodStack::new(&mut memory));
        let time = started.elapsed();
        work.solved(solved, time)
    })
}

/// Factors and solves.
fn sequential<'a, T: PeerScalar>(system: &'a System<'a, T>, plan: Plan) -> Solve<'a, Work<T>> {
    Box::new(move |work| {
        let started = Instant::now();
        let solved = plan.factor(&system.a).and_then(|f| f.solve_into(&system.numbers.rhs, &mut work.x));
        let time = started.elapsed();
        work.solved(solved, time)
    })
}

/// What one library offers for the system.
fn theirs<'a, T: PeerScalar>(peer: &'a Peer, system: &'a System<'a, T>, data: Data) -> Vec<Contestant<'a, Work<T>>> {
    let without_pivoting = (data == Data::Dominant).then(|| peer.dtsvb::<T>()).flatten();
    let routines = [("gtsv", peer.gtsv::<T>()), ("dtsvb", without_pivoting)];
    let found = routines.into_iter().filter_map(|(name, routine)| Some((name, routine?)));
    found
        .map(|(name, routine)| Contestant {
            name: format!("{} {name}", peer.name),
            threads: 1,
            solve: Box::new(move |work| foreign(system, routine, work)),
        })
        .collect()
}

/// Restores the copies, then solves in them.
fn foreign<T: PeerScalar>(
    system: &System<'_, T>,
    routine: Solver<'_, T>,
    work: &mut Work<T>,
) -> Result<Duration, String> {
    for (copy, original) in work.copies.iter_mut().zip(system.numbers.arrays()) {
        copy.copy_from_slice(original);
    }
    let n = system.a.n();
    let [sub, diag, sup, rhs] = &mut work.copies;
    let arrays = Arrays { sub: &mut sub[1..], diag, sup: &mut sup[..n - 1], rhs };
    let started = Instant::now();
    let solved = routine.solve(arrays);
    let time = started.elapsed();
    (work.answer, work.report) = (Answer::Copy, None);
    solved.map(|()| time).map_err(|info| format!("info {info}"))
}
