//! One tridiagonal system, and its solvers: the methods of bandsolve and other libraries.

use crate::args::Data;
use crate::contest::{Contestant, TimedSolve};
use crate::peers::{Peer, PeerArrays, PeerScalar, PeerSolver};
use crate::row::{RepairCounts, UNVERIFIED};
use bandsolve::dyn_stack::{PodBuffer, PodStack};
use bandsolve::{Factor, Method, Op, Plan, Report, Tridiagonal};
use bandsolve_gallery::{Random, oracle};
use std::time::{Duration, Instant};

/// Maximum size for which the oracle computes the backward error. The oracle is slow, so the solver's own report counts for larger systems.
pub const ORACLE_MAX_N: usize = 1 << 20;

/// The entries of a system; all arrays have length n.
pub struct PeerNumbers<T> {
    sub: Vec<T>,
    diag: Vec<T>,
    sup: Vec<T>,
    rhs: Vec<T>,
}

impl<T: PeerScalar> PeerNumbers<T> {
    pub fn new(n: usize, data: Data) -> Self {
        let mut random = Random::new(n as u64);
        let mut draw = || -> Vec<T> { (0..n).map(|_| T::from_f64(random.uniform(-1.0, 1.0))).collect() };
        let (mut sub, mut diag, mut sup, mut rhs) = (draw(), draw(), draw(), draw());
        match data {
            Data::Random => {}
            Data::Dominant => diag.iter_mut().for_each(|v| *v += T::from_f64(4.0)),
            Data::Chang17 => {
                [&mut sub, &mut sup].into_iter().for_each(|off| off.fill(T::ONE));
                diag.fill(T::ZERO);
                (diag[0], sup[0], diag[n - 1], sub[n - 1]) = (T::ONE, T::ZERO, T::ONE, T::ZERO);
            }
            Data::Scaled => {
                let decades = if size_of::<T>() == size_of::<f64>() { 150.0 } else { 15.0 };
                for i in 0..n {
                    let scale = T::from_f64(10f64.powf(random.uniform(-decades, decades)));
                    [&mut sub, &mut diag, &mut sup, &mut rhs].into_iter().for_each(|array| array[i] *= scale);
                }
            }
        }
        Self { sub, diag, sup, rhs }
    }

    fn arrays(&self) -> [&[T]; 4] {
        [&self.sub, &self.diag, &self.sup, &self.rhs]
    }
}

/// A system to solve.
pub struct BenchSystem<'a, T: PeerScalar> {
    numbers: &'a PeerNumbers<T>,
    a: Tridiagonal<'a, T>,
}

impl<'a, T: PeerScalar> BenchSystem<'a, T> {
    pub fn new(numbers: &'a PeerNumbers<T>) -> Self {
        let a = Tridiagonal::new(&numbers.sub, &numbers.diag, &numbers.sup).expect("three arrays of length n");
        Self { numbers, a }
    }

    /// sub, diag, sup, rhs.
    pub fn arrays(&self) -> [&[T]; 4] {
        self.numbers.arrays()
    }

    /// The backward error of the last solution: from the oracle, or for large systems from the report of the solver.
    pub fn backward_error(&self, work: &BenchMemory<T>) -> Option<f64> {
        let large = self.a.n() > ORACLE_MAX_N;
        match work.answer {
            LastAnswer::X if large => work.report.as_ref().map(|r| r.backward_error).filter(|eta| !eta.is_nan()),
            LastAnswer::X => Some(oracle::backward_error(&self.a, &self.numbers.rhs, &work.x)),
            LastAnswer::Copy if !large => Some(oracle::backward_error(&self.a, &self.numbers.rhs, &work.copies[3])),
            _ => None,
        }
    }
}

/// Memory that all solvers share.
pub struct BenchMemory<T> {
    x: Vec<T>,
    /// Copies of sub, diag, sup and rhs, which the other libraries overwrite.
    copies: [Vec<T>; 4],
    answer: LastAnswer,
    /// The report of the last solve; `None` for other libraries.
    report: Option<Report>,
}

/// The array that holds the last solution.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LastAnswer {
    None,
    X,
    Copy,
}

impl<T: PeerScalar> BenchMemory<T> {
    pub fn new(n: usize, copies: bool) -> Self {
        let length = if copies { n } else { 0 };
        let copies = [(); 4].map(|()| vec![T::ZERO; length]);
        Self { x: vec![T::ZERO; n], copies, answer: LastAnswer::None, report: None }
    }

    /// The repairs that the last solution needed.
    pub fn repair(&self) -> Option<RepairCounts> {
        self.report.as_ref().map(RepairCounts::of)
    }

    /// The array x, for a caller that overwrites it with anything but a solution.
    pub fn overwritten(&mut self) -> &mut [T] {
        (self.answer, self.report) = (LastAnswer::None, None);
        &mut self.x
    }

    /// Store the report of a solve, and return its time.
    fn solved(&mut self, solved: bandsolve::Result<Report>, time: Duration) -> Result<Duration, String> {
        self.report = Some(solved.map_err(|e| e.to_string())?);
        self.answer = LastAnswer::X;
        Ok(time)
    }
}

/// A solver of bandsolve.
#[derive(Debug, Clone, Copy)]
pub struct SolverChoice {
    pub method: Method,
    /// Maximum number of threads.
    pub threads: usize,
    /// Whether solutions are verified and repaired.
    pub verify: bool,
}

impl SolverChoice {
    /// Factor and solve. The scratch memory is allocated in the first solve, which is not measured.
    pub fn on<'a, T: PeerScalar>(self, system: &'a BenchSystem<'a, T>) -> Contestant<'a, BenchMemory<T>> {
        let SolverChoice { method, threads, verify } = self;
        let plan = Plan::once(system.a.shape()).method(method).threads(threads).verify(verify);
        let mut memory = None;
        let solve: TimedSolve<'a, BenchMemory<T>> = Box::new(move |work| {
            let started = Instant::now();
            let factor = plan.factor(&system.a).map_err(|e| e.to_string())?;
            let memory = memory.get_or_insert_with(|| PodBuffer::new(factor.solve_scratch(1)));
            let solved = factor.solve_into_with(Op::Plain, &system.numbers.rhs, &mut work.x, PodStack::new(memory));
            drop(factor);
            let time = started.elapsed();
            work.solved(solved, time)
        });
        let name = format!("{}{}", method.name(), if verify { "" } else { UNVERIFIED });
        Contestant { name, threads, solve }
    }
}

/// The routines of one library for the system. `dtsvb` does not pivot, so it runs on dominant data only.
pub fn theirs<'a, T: PeerScalar>(
    peer: &'a Peer,
    system: &'a BenchSystem<'a, T>,
    data: Data,
) -> Vec<Contestant<'a, BenchMemory<T>>> {
    let without_pivoting = (data == Data::Dominant).then(|| peer.dtsvb::<T>()).flatten();
    let routines = [("gtsv", peer.gtsv::<T>()), ("dtsvb", without_pivoting)];
    let available = routines.into_iter().filter_map(|(name, routine)| Some((name, routine?)));
    available
        .map(|(name, routine)| Contestant {
            name: format!("{} {name}", peer.name),
            threads: 1,
            solve: Box::new(move |work| foreign(system, routine, work)),
        })
        .collect()
}

/// Restore the copies, then solve with another library, which overwrites them.
fn foreign<T: PeerScalar>(
    system: &BenchSystem<'_, T>,
    routine: PeerSolver<'_, T>,
    work: &mut BenchMemory<T>,
) -> Result<Duration, String> {
    for (copy, original) in work.copies.iter_mut().zip(system.numbers.arrays()) {
        copy.copy_from_slice(original);
    }
    let n = system.a.n();
    let [sub, diag, sup, rhs] = &mut work.copies;
    let arrays = PeerArrays { sub: &mut sub[1..], diag, sup: &mut sup[..n - 1], rhs };
    let started = Instant::now();
    let solved = routine.solve(arrays);
    let time = started.elapsed();
    (work.answer, work.report) = (LastAnswer::Copy, None);
    solved.map(|()| time).map_err(|info| format!("the routine returned info = {info}"))
}
