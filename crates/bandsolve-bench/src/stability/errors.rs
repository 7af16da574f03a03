//! The errors of every solver for test problems with known solutions.

use crate::peers::{Peer, PeerArrays};
use bandsolve::{Error, Factor, Method, Pivoting, Plan, Tridiagonal};
use bandsolve_gallery::tables::{Case, PUBLISHED_N, Paper, chang, klein, x_true};
use bandsolve_gallery::{Random, oracle};
use bandsolve_program::options::named_methods;
use bandsolve_program::{progress, report};
use indicatif::ProgressIterator;
use serde_json::{Map, Value, json};
use std::path::PathBuf;

/// The errors of every solver for every matrix.
pub struct ErrorTable {
    pub n: usize,
    pub seed: u64,
    /// The file of the LAPACK library.
    pub lapack: Option<PathBuf>,
    pub rows: Vec<ProblemRow>,
}

impl ErrorTable {
    pub fn new(n: usize, seed: u64) -> Self {
        let lapack = Peer::lapack();
        let published = chang().into_iter().chain(klein()).map(|case| Problem::of_case(case, n, seed));
        let scaled = SCALED.iter().map(|(share, decades)| Problem::scaled(n, seed, *share, *decades));
        let solvers = OwnSolver::all();
        let problems: Vec<_> = published.chain(scaled).collect();
        let bar = progress::parts("matrix", problems.len());
        let problems = problems.into_iter().progress_with(bar);
        let rows = problems.map(|problem| ProblemRow::new(problem, &solvers, lapack.as_ref())).collect();
        ErrorTable { n, seed, lapack: lapack.map(|peer| peer.path), rows }
    }

    /// The largest backward error of all verified solutions.
    pub fn largest_verified(&self) -> f64 {
        let answers = self.rows.iter().flat_map(|r| &r.attempts).filter(|a| a.outcome.is_ok());
        report::largest(answers.map(|a| a.verified.backward_error))
    }

    pub fn json(&self) -> Value {
        json!({
            "table": "tridiagonal",
            "n": self.n,
            "seed": self.seed,
            "lapack": self.lapack,
            "largest_verified_backward_error": self.largest_verified(),
            "rows": self.rows.iter().map(ProblemRow::json).collect::<Vec<_>>(),
        })
    }
}

/// Random matrices with scaled rows: the share of the rows, and the largest decimal exponent of their factors.
const SCALED: [(f64, i32); 6] = [(0.1, 20), (0.1, 40), (0.1, 60), (1.0, 20), (1.0, 40), (1.0, 60)];

/// A solver of bandsolve.
#[derive(Debug, Clone)]
struct OwnSolver {
    name: &'static str,
    method: Method,
    pivoting: Pivoting,
}

impl OwnSolver {
    /// Every method, and also RPTS with partial pivoting without row scaling.
    fn all() -> Vec<OwnSolver> {
        let solver = |method: Method| OwnSolver { name: method.name(), method, pivoting: Pivoting::default() };
        let named = named_methods().map(solver);
        let partial = OwnSolver { name: "rpts-partial", method: Method::Rpts, pivoting: Pivoting::Partial };
        named.chain([partial]).collect()
    }
}

/// A system with a known solution.
pub struct Problem {
    pub name: String,
    pub description: String,
    pub case: Option<Case>,
    pub a: Tridiagonal<'static, f64>,
    pub x_true: Vec<f64>,
    pub rhs: Vec<f64>,
}

impl Problem {
    /// The published condition number, which holds for one size only.
    pub fn condition(&self) -> Option<f64> {
        self.case.filter(|_| self.a.n() == PUBLISHED_N).map(|case| case.condition)
    }

    fn of_case(case: Case, n: usize, seed: u64) -> Self {
        let a = case.matrix(n, seed);
        let rhs = case.rhs(&a, seed);
        let x_true = match case.paper {
            Paper::Klein => x_true(n, seed),
            Paper::Chang => oracle::solve_reference(&a, &rhs).unwrap_or(vec![f64::NAN; n]),
        };
        Problem { name: case.name.into(), description: case.description.into(), case: Some(case), a, x_true, rhs }
    }

    fn scaled(n: usize, seed: u64, share: f64, decades: i32) -> Self {
        let name = if share < 1.0 { format!("some-1e{decades}") } else { format!("rows-1e{decades}") };
        let rows = if share < 1.0 { "a tenth of the rows" } else { "every row" };
        let description = format!("entries from U(-1,1), {rows} multiplied by a power of ten up to 1e±{decades}");
        let (a, x_true) = (scaled_rows(n, seed, share, decades), x_true(n, seed));
        let rhs = oracle::product(&a, &x_true);
        Problem { name, description, case: None, a, x_true, rhs }
    }

    /// The backward error, the forward error, and the error measure of the paper. Without a paper, the measure is the forward error.
    fn judge(&self, x: &[f64]) -> Judgement {
        let backward_error = oracle::backward_error(&self.a, &self.rhs, x);
        let forward_error = oracle::forward_error(x, &self.x_true);
        let error = self.case.map_or(forward_error, |case| case.error(&self.a, &self.rhs, x, &self.x_true));
        Judgement { backward_error, forward_error, error }
    }
}

fn scaled_rows(n: usize, seed: u64, share: f64, decades: i32) -> Tridiagonal<'static, f64> {
    let mut random = Random::new(seed);
    let mut entries = [(); 3].map(|()| random.uniform_vec(n, -1.0, 1.0));
    for i in 0..n {
        let power = random.below(2 * decades as usize + 1) as i32 - decades;
        let scale = if random.bernoulli(share) { 10.0_f64.powi(power) } else { 1.0 };
        entries.iter_mut().for_each(|column| column[i] *= scale);
    }
    let [sub, diag, sup] = entries;
    Tridiagonal::from_vecs(sub, diag, sup, false).expect("three arrays of length n are a tridiagonal matrix")
}

/// The errors of one solution.
#[derive(Debug, Clone, Copy)]
pub struct Judgement {
    pub backward_error: f64,
    pub forward_error: f64,
    pub error: f64,
}

impl Judgement {
    pub fn json(&self) -> Map<String, Value> {
        let value = json!({
            "backward_error": self.backward_error,
            "forward_error": self.forward_error,
            "error": self.error,
        });
        value.as_object().cloned().unwrap_or_default()
    }
}

/// The errors of one solver of bandsolve for one problem.
pub struct Attempt {
    pub solver: &'static str,
    /// The errors without verification.
    pub raw: Judgement,
    pub verified: Judgement,
    /// The number of refinement steps and whether the fallback ran, or the error of the solver.
    pub outcome: Result<(usize, bool), Error>,
}

impl Attempt {
    fn new(problem: &Problem, solver: &OwnSolver) -> Self {
        let plan = Plan::new(problem.a.shape()).method(solver.method).pivoting(solver.pivoting);
        let solve = |verify: bool| {
            let mut x = vec![f64::NAN; problem.a.n()];
            let factor = plan.clone().verify(verify).factor(&problem.a);
            let solved = factor.and_then(|factor| factor.solve_into(&problem.rhs, &mut x));
            (problem.judge(&x), solved)
        };
        let (raw, _) = solve(false);
        let (verified, solved) = solve(true);
        let outcome = solved.map(|r| (r.refinement_steps, r.fallback));
        Attempt { solver: solver.name, raw, verified, outcome }
    }

    pub fn json(&self) -> Value {
        let mut verified = self.verified.json();
        verified.insert("refinement_steps".into(), json!(self.outcome.as_ref().ok().map(|o| o.0)));
        verified.insert("fallback".into(), json!(self.outcome.as_ref().ok().map(|o| o.1)));
        verified.insert("failure".into(), json!(self.outcome.as_ref().err().map(Error::to_string)));
        json!({ "solver": self.solver, "raw": self.raw.json(), "verified": verified })
    }
}

/// The errors of all solvers for one problem.
pub struct ProblemRow {
    pub problem: Problem,
    pub attempts: Vec<Attempt>,
    pub lapack: Option<Judgement>,
}

impl ProblemRow {
    fn new(problem: Problem, solvers: &[OwnSolver], lapack: Option<&Peer>) -> Self {
        let attempts = solvers.iter().map(|solver| Attempt::new(&problem, solver)).collect();
        let lapack = lapack.and_then(|peer| gtsv(&problem.a, &problem.rhs, peer)).map(|x| problem.judge(&x));
        ProblemRow { problem, attempts, lapack }
    }

    pub fn json(&self) -> Value {
        let case = self.problem.case;
        let published: Map<_, _> = case.iter().flat_map(|c| c.columns().map(|(s, e)| (s.into(), json!(e)))).collect();
        json!({
            "matrix": self.problem.name,
            "description": self.problem.description,
            "published_condition": case.map(|c| c.condition),
            "measure": case.map_or("forward error |x - x_true|_2 / |x_true|_2", |c| c.paper.measure()),
            "published": published,
            "solvers": self.attempts.iter().map(Attempt::json).collect::<Vec<_>>(),
            "lapack": self.lapack.map(|l| l.json()),
        })
    }
}

/// The solution of LAPACK's `gtsv`; `None` if a pivot is zero.
pub fn gtsv(a: &Tridiagonal<'_, f64>, rhs: &[f64], peer: &Peer) -> Option<Vec<f64>> {
    let n = a.n();
    if n == 0 {
        return Some(Vec::new());
    }
    let column = |f: fn((f64, f64, f64)) -> f64| -> Vec<f64> { (0..n).map(|i| f(a.row(i))).collect() };
    let (mut sub, mut diag, mut sup) = (column(|r| r.0), column(|r| r.1), column(|r| r.2));
    let mut x = rhs.to_vec();
    let arrays = PeerArrays { sub: &mut sub[1..], diag: &mut diag, sup: &mut sup[..n - 1], rhs: &mut x };
    peer.gtsv::<f64>()?.solve(arrays).ok()?;
    Some(x)
}
