//! `bandsolve stability`: the accuracy tables of the literature, beside our own numbers.

mod text;

use crate::args::{StabilityArgs, StabilityTable, StabilityTridiagonalArgs};
use crate::exit::Failure;
use crate::peers::{Arrays, Peer};
use crate::report;
use bandsolve::{Error, Factor, Method, Pivoting, Plan, Tridiagonal};
use bandsolve_testkit::tables::{Case, chang, klein, x_true};
use bandsolve_testkit::{Random, oracle};
use serde_json::{Map, Value, json};

/// Prints one table.
///
/// # Errors
/// [`Failure::Other`] if a report cannot be written.
pub fn run(args: &StabilityArgs) -> Result<(), Failure> {
    match &args.table {
        StabilityTable::Tridiagonal(args) => tridiagonal(args),
    }
}

fn tridiagonal(args: &StabilityTridiagonalArgs) -> Result<(), Failure> {
    let n = args.n as usize;
    let lapack = Peer::lapack();
    let published = chang().into_iter().chain(klein()).map(|case| Problem::of_case(case, n, args.seed));
    let scaled = SCALED.iter().map(|(share, decades)| Problem::scaled(n, args.seed, *share, *decades));
    let rows: Vec<Row> = published.chain(scaled).map(|problem| Row::new(problem, lapack.as_ref())).collect();
    if let Some(path) = &args.json {
        let json = json!({
            "table": "tridiagonal",
            "n": n,
            "seed": args.seed,
            "lapack": lapack.as_ref().map(|p| &p.path),
            "largest_verified_backward_error": largest_verified(&rows),
            "rows": rows.iter().map(Row::json).collect::<Vec<_>>(),
        });
        report::write_json(path, &json)?;
    }
    let text = text::tables(n, &rows);
    report::print_beside(&text, report::is_stdout(args.json.as_deref()))
}

/// Random matrices of which this share of the rows is multiplied by powers of ten up to 10^±decades.
const SCALED: [(f64, i32); 6] = [(0.1, 20), (0.1, 40), (0.1, 60), (1.0, 20), (1.0, 40), (1.0, 60)];

/// Our solvers: name in the tables, method, pivoting.
const SOLVERS: [(&str, Method, Pivoting); 3] = [
    ("rpts", Method::Rpts, Pivoting::ScaledPartial),
    ("rpts-partial", Method::Rpts, Pivoting::Partial),
    ("pivoted", Method::Pivoted, Pivoting::ScaledPartial),
];

/// A system with a known solution.
struct Problem {
    name: String,
    description: String,
    case: Option<Case>,
    a: Tridiagonal<'static, f64>,
    x_true: Vec<f64>,
    rhs: Vec<f64>,
}

impl Problem {
    fn new(name: String, description: String, a: Tridiagonal<'static, f64>, seed: u64) -> Self {
        let x_true = x_true(a.n(), seed);
        let rhs = oracle::product(&a, &x_true);
        Problem { name, description, case: None, a, x_true, rhs }
    }

    fn of_case(case: Case, n: usize, seed: u64) -> Self {
        let plain = Problem::new(case.name.into(), case.description.into(), case.matrix(n, seed), seed);
        Problem { case: Some(case), ..plain }
    }

    fn scaled(n: usize, seed: u64, share: f64, decades: i32) -> Self {
        let name = if share < 1.0 { format!("some-1e{decades}") } else { format!("rows-1e{decades}") };
        let rows = if share < 1.0 { "a tenth of the rows" } else { "every row" };
        let description = format!("entries from U(-1,1), {rows} times a power of ten up to 1e±{decades}");
        Problem::new(name, description, scaled_rows(n, seed, share, decades), seed)
    }

    /// Backward error, and the error in the measure of the paper (Klein's where there is none).
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

/// How good one answer is.
#[derive(Debug, Clone, Copy)]
struct Judgement {
    backward_error: f64,
    forward_error: f64,
    error: f64,
}

impl Judgement {
    fn json(&self) -> Map<String, Value> {
        let value = json!({
            "backward_error": self.backward_error,
            "forward_error": self.forward_error,
            "error": self.error,
        });
        value.as_object().cloned().unwrap_or_default()
    }
}

/// One of our solvers on one problem.
struct Attempt {
    solver: &'static str,
    /// Without verification.
    raw: Judgement,
    verified: Judgement,
    /// Refinement steps and whether the fallback ran, or why there is no answer.
    outcome: Result<(usize, bool), Error>,
}

impl Attempt {
    fn new(problem: &Problem, (solver, method, pivoting): (&'static str, Method, Pivoting)) -> Self {
        let plan = Plan::new(problem.a.shape()).method(method).pivoting(pivoting);
        let solve = |verify: bool| {
            let mut x = vec![f64::NAN; problem.a.n()];
            let factor = plan.clone().verify(verify).factor(&problem.a);
            let solved = factor.and_then(|factor| factor.solve_into(&problem.rhs, &mut x));
            (problem.judge(&x), solved)
        };
        let (raw, _) = solve(false);
        let (verified, solved) = solve(true);
        Attempt { solver, raw, verified, outcome: solved.map(|r| (r.refinement_steps, r.fallback)) }
    }

    fn json(&self) -> Value {
        let mut verified = self.verified.json();
        verified.insert("refinement_steps".into(), json!(self.outcome.as_ref().ok().map(|o| o.0)));
        verified.insert("fallback".into(), json!(self.outcome.as_ref().ok().map(|o| o.1)));
        verified.insert("failure".into(), json!(self.outcome.as_ref().err().map(Error::to_string)));
        json!({ "solver": self.solver, "raw": self.raw.json(), "verified": verified })
    }
}

/// All solvers on one problem.
struct Row {
    problem: Problem,
    attempts: Vec<Attempt>,
    lapack: Option<Judgement>,
}

impl Row {
    fn new(problem: Problem, lapack: Option<&Peer>) -> Self {
        let attempts = SOLVERS.map(|solver| Attempt::new(&problem, solver)).into();
        let lapack = lapack.and_then(|peer| gtsv(&problem, peer));
        Row { problem, attempts, lapack }
    }

    fn json(&self) -> Value {
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

/// LAPACK's answer; `None` if it found no pivot.
fn gtsv(problem: &Problem, peer: &Peer) -> Option<Judgement> {
    let n = problem.a.n();
    let column = |f: fn((f64, f64, f64)) -> f64| -> Vec<f64> { (0..n).map(|i| f(problem.a.row(i))).collect() };
    let (mut sub, mut diag, mut sup) = (column(|r| r.0), column(|r| r.1), column(|r| r.2));
    let mut x = problem.rhs.clone();
    let arrays = Arrays { sub: &mut sub[1..], diag: &mut diag, sup: &mut sup[..n - 1], rhs: &mut x };
    peer.gtsv::<f64>()?.solve(arrays).ok()?;
    Some(problem.judge(&x))
}

/// The largest backward error that was handed out as an answer.
fn largest_verified(rows: &[Row]) -> f64 {
    let answers = rows.iter().flat_map(|r| &r.attempts).filter(|a| a.outcome.is_ok());
    answers.map(|a| a.verified.backward_error).fold(0.0, |max, eta| if eta > max || eta.is_nan() { eta } else { max })
}
