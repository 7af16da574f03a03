//! `bandsolve-mpi bench scaling`: run this program under `mpirun` on several numbers of ranks, and compare with a cost model.

use bandsolve::{Layout, Method, Report, accepted_at_once};
use bandsolve_mpi::cost::RankCost;
use bandsolve_mpi::cost::{BatchCostModel, CostModel};
use bandsolve_mpi::{DistributedBatch, DistributedBlocks};
use bandsolve_mpi::{RankCoarse, RankError, RankRanges, Ranks, Traffic};
use bandsolve_program::exit::Failure;
use clap::Args;
use serde_json::{Value, json};
use std::process::Command;
use std::time::Instant;

/// Options of `bench scaling`.
#[derive(Debug, Args)]
pub struct ScalingArgs {
    /// Numbers of ranks to measure
    #[arg(long, value_delimiter = ',', default_value = "1,2,4,8")]
    ranks: Vec<usize>,
    /// Number of block rows: per rank (weak scaling) and in total (strong scaling)
    #[arg(long, default_value_t = 128)]
    rows: usize,
    /// Number of rows per block
    #[arg(long, default_value_t = 64)]
    block: usize,
    /// Method: bcyclic or block-spike
    #[arg(long, default_value = "bcyclic")]
    method: String,
    /// Instead of one block tridiagonal system, solve this number of tridiagonal systems, distributed over the ranks by rows
    #[arg(long, value_name = "SYSTEMS", conflicts_with_all = ["block", "method"])]
    batch: Option<usize>,
    /// Latency of a message in the cost model, in seconds
    #[arg(long, default_value_t = 1.5e-6)]
    latency: f64,
    /// Bandwidth of a link in the cost model, in bytes per second
    #[arg(long, default_value_t = 12.5e9)]
    bandwidth: f64,
}

/// Arguments that each rank gets.
#[derive(Debug, Args)]
pub struct RankTimesArgs {
    /// Number of block rows on all ranks in total
    rows: usize,
    /// Number of rows per block
    block: usize,
    /// The method
    method: String,
    /// Number of tridiagonal systems of a batch
    #[arg(long)]
    batch: Option<usize>,
}

/// Number of timed rounds. The output shows the fastest one.
const ROUNDS: usize = 3;

/// The cost model of one system, or of a batch.
enum ScalingModel {
    System(CostModel),
    Batch(BatchCostModel),
}

impl ScalingModel {
    fn factor(&self, rank: usize) -> RankCost {
        match self {
            Self::System(model) => model.factor(rank),
            Self::Batch(model) => model.factor(rank),
        }
    }

    fn solve(&self, rank: usize) -> RankCost {
        match self {
            Self::System(model) => model.solve(rank, 1),
            Self::Batch(model) => model.solve(rank, 1),
        }
    }

    /// Seconds of a factorization and of a solve on this number of ranks.
    fn seconds(&self, ranks: usize, figures: NetworkFigures) -> [f64; 2] {
        [seconds(ranks, |rank| self.factor(rank), figures), seconds(ranks, |rank| self.solve(rank), figures)]
    }
}

/// Speed of the network and of the ranks of a cluster.
#[derive(Clone, Copy)]
struct NetworkFigures {
    /// Latency of a message, in seconds.
    latency: f64,
    /// Bandwidth of a link, in bytes per second.
    bandwidth: f64,
    /// Floating-point operations per second of a rank.
    flops: f64,
}

/// Estimate the seconds on the slowest rank.
///
/// The model adds the times of operations, messages and gathers. A gather over p ranks takes ⌈log₂ p⌉ steps and transfers p parts. Levels
/// of BCYCLIC wait for each other; the latency of each level includes the wait of idle ranks.
fn seconds(ranks: usize, cost: impl Fn(usize) -> RankCost, figures: NetworkFigures) -> f64 {
    let steps = f64::from(ranks.next_power_of_two().trailing_zeros());
    let of = |rank: usize| {
        let RankCost { traffic, flops } = cost(rank);
        let messages = traffic.messages as f64 + traffic.gathers as f64 * steps;
        let bytes = traffic.bytes as f64 + traffic.gathered_bytes as f64 * (ranks - 1) as f64;
        flops / figures.flops + messages * figures.latency + bytes / figures.bandwidth
    };
    (0..ranks).map(of).fold(0.0, f64::max)
}

/// Time one system, or a batch, on all ranks; rank 0 prints a line of JSON. Collective.
///
/// # Errors
/// If the system is not solved.
pub fn measure(ranks: &Ranks, args: &RankTimesArgs) -> Result<(), Failure> {
    let Some(systems) = args.batch else { return measure_system(ranks, args) };
    let rows = RankRanges::even(args.rows, ranks.size()).range(ranks.rank()).len();
    let array = |by: f64, add: f64| (0..rows * systems).map(|i| (i as f64 * by).sin() + add).collect::<Vec<f64>>();
    let arrays = [array(0.37, 0.0), array(0.41, 4.0), array(0.43, 0.0)];
    let a = DistributedBatch::new(ranks, (systems, Layout::Interleaved), arrays.each_ref().map(Vec::as_slice));
    let (a, rhs) = (a.map_err(unsolved)?, vec![1.0; rows * systems]);
    let model = ScalingModel::Batch(BatchCostModel::of(&a));
    time(ranks, &model, || a.factor(), |factors| factors.solve(&rhs).map(|x| x.report))
}

fn measure_system(ranks: &Ranks, args: &RankTimesArgs) -> Result<(), Failure> {
    let (method, square) = (method(&args.method)?, args.block * args.block);
    let ranges = RankRanges::even(args.rows, ranks.size());
    let local_rows = ranges.range(ranks.rank());
    let entry = |i: usize, diag: bool| {
        let wave = ((i % 9973 * 7 + 3) as f64 * 0.37).sin();
        if diag && (i % square).is_multiple_of(args.block + 1) { wave + 3.0 * args.block as f64 } else { wave }
    };
    let array =
        |diag: bool| (local_rows.start * square..local_rows.end * square).map(|i| entry(i, diag)).collect::<Vec<f64>>();
    let (off, diag) = (array(false), array(true));
    let a = DistributedBlocks::new(ranks, args.block, [&off, &diag, &off]).map_err(unsolved)?;
    let rhs = vec![1.0; local_rows.len() * args.block];
    let model = ScalingModel::System(CostModel::of(&a, method));
    time(ranks, &model, || a.factor_by(method), |factors| factors.solve(&rhs).map(|x| x.report))
}

fn unsolved(error: RankError) -> Failure {
    Failure::Unsolved(error.to_string())
}

/// Time a factorization and a solve; rank 0 prints a line of JSON. Collective.
fn time<F>(
    ranks: &Ranks,
    model: &ScalingModel,
    factor: impl Fn() -> Result<F, RankError>,
    solve: impl Fn(&F) -> Result<Report, RankError>,
) -> Result<(), Failure> {
    let (mut seconds, mut traffic) = ([f64::INFINITY; 2], [Traffic::default(); 2]);
    for _ in 0..ROUNDS {
        ranks.sum(&mut [0.0]);
        let (started, before) = (Instant::now(), ranks.traffic());
        let factors = factor().map_err(unsolved)?;
        let (between, factored) = (started.elapsed().as_secs_f64(), ranks.traffic());
        let report = solve(&factors).map_err(unsolved)?;
        let mut slowest = [between, started.elapsed().as_secs_f64() - between];
        let measured_once = report.refinement_steps == 0 && report.backward_error <= accepted_at_once::<f64>();
        traffic = [factored - before, if measured_once { ranks.traffic() - factored } else { Traffic::default() }];
        ranks.max(&mut slowest);
        (0..2).for_each(|k| seconds[k] = seconds[k].min(slowest[k]));
    }
    let modelled = [model.factor(ranks.rank()).traffic, model.solve(ranks.rank()).traffic];
    let numbers = [traffic[0].messages, traffic[0].bytes, traffic[1].messages, traffic[1].bytes];
    let of_model = [modelled[0].messages, modelled[0].bytes, modelled[1].messages, modelled[1].bytes];
    let mut most = numbers.map(|count| count as f64);
    let mut most_of_model = of_model.map(|count| count as f64);
    ranks.max(&mut most);
    ranks.max(&mut most_of_model);
    if ranks.rank() == 0 {
        say!("{}", json!({ "seconds": seconds, "counted": most, "modelled": most_of_model }));
    }
    Ok(())
}

fn method(name: &str) -> Result<Method, Failure> {
    match Method::from_name(name) {
        Some(method @ (Method::Bcyclic | Method::BlockSpike)) => Ok(method),
        _ => Err(Failure::Usage(format!(
            "--method {name}: there is no such method in this benchmark; use bcyclic or block-spike"
        ))),
    }
}

/// Check the options.
fn check(args: &ScalingArgs) -> Result<(), Failure> {
    method(&args.method)?;
    let wrong = |what: &str| Err(Failure::Usage(format!("bench scaling: {what}")));
    if args.ranks.contains(&0) {
        return wrong("--ranks contains 0; pass numbers from 1, separated by commas, such as --ranks 1,2,4");
    }
    if args.rows == 0 || args.block == 0 || args.batch == Some(0) {
        return wrong("--rows, --block and --batch must be at least 1");
    }
    let positive = |v: f64| v > 0.0 && v.is_finite();
    if !positive(args.latency) || !positive(args.bandwidth) {
        return wrong("--latency (seconds) and --bandwidth (bytes per second) must be finite and greater than 0");
    }
    Ok(())
}

/// Run the program on each number of ranks, and print the tables.
///
/// # Errors
/// If `mpirun` is missing or fails.
pub fn run(args: &ScalingArgs) -> Result<(), Failure> {
    check(args)?;
    let (what, rows) = match args.batch {
        Some(systems) => (format!("a batch of {systems} tridiagonal systems"), "rows"),
        None => (format!("{}, blocks of {} rows", args.method, args.block), "block rows"),
    };
    say!("{what}; seconds on the slowest rank, fastest of {ROUNDS} rounds");
    let mut rate = None;
    for (title, weak) in [("weak", true), ("strong", false)] {
        say!("\n{title} scaling: {} {rows} {}", args.rows, if weak { "per rank" } else { "in total" });
        say!(" ranks   factor s  efficiency    solve s  efficiency   messages (model)        bytes (model)");
        let mut first = None;
        for ranks in args.ranks.iter().copied() {
            let rows = if weak { args.rows * ranks } else { args.rows };
            let measured = child(ranks, rows, args)?;
            let number = |key: &str, k: usize| measured[key][k].as_f64().unwrap_or(f64::NAN);
            let seconds = [number("seconds", 0), number("seconds", 1)];
            let (one, at) = *first.get_or_insert((seconds, ranks));
            let ideal = if weak { 1.0 } else { at as f64 / ranks as f64 };
            let efficiency = [0, 1].map(|k| one[k] * ideal / seconds[k]);
            let sum = |key: &str, k: usize| number(key, k) + number(key, k + 2);
            say!(
                "{ranks:6} {:10.4} {:11.2} {:10.5} {:11.2} {:10} ({:5}) {:12} ({})",
                seconds[0],
                efficiency[0],
                seconds[1],
                efficiency[1],
                sum("counted", 0),
                sum("modelled", 0),
                sum("counted", 1),
                sum("modelled", 1)
            );
            // For a batch, the solve takes most of the time.
            let model = model_of(args, ranks, rows);
            let (cost, seconds) =
                if args.batch.is_some() { (model.solve(0), seconds[1]) } else { (model.factor(0), seconds[0]) };
            rate = rate.or((ranks == 1).then_some(cost.flops / seconds));
        }
    }
    say!(
        "\nefficiency: t(first)/t (weak), t(first)·first/(t·ranks) (strong); messages and bytes: maximum over the ranks, factorization plus solve"
    );
    project(args, rate)
}

fn model_of(args: &ScalingArgs, ranks: usize, rows: usize) -> ScalingModel {
    let (ranges, scalar, periodic) = (RankRanges::even(rows, ranks), 8, false);
    if let Some(count) = args.batch {
        return ScalingModel::Batch(BatchCostModel { ranges, count, scalar, periodic });
    }
    let (block, method) = (args.block, Method::from_name(&args.method).expect("checked before"));
    ScalingModel::System(CostModel { ranges, block, scalar, periodic, method, coarse: RankCoarse::Auto })
}

/// Print the prediction of the cost model for 128 and 4096 ranks.
fn project(args: &ScalingArgs, rate: Option<f64>) -> Result<(), Failure> {
    let (flops, whose) = rate.map_or((1e10, "assumed"), |rate| (rate, "measured on one rank"));
    let figures = NetworkFigures { latency: args.latency, bandwidth: args.bandwidth, flops };
    say!(
        "\npredicted by the cost model: latency {:.1e} s, {:.3e} bytes/s, {flops:.2e} operations/s ({whose})",
        args.latency,
        args.bandwidth
    );
    say!(" ranks         rows   factor s    solve s   messages        bytes   (maximum over the ranks)");
    for ranks in [128, 4096] {
        let model = model_of(args, ranks, args.rows * ranks);
        let times = model.seconds(ranks, figures);
        let most = |of: fn(Traffic) -> u64| {
            (0..ranks).map(|r| of(model.factor(r).traffic) + of(model.solve(r).traffic)).max().unwrap_or(0)
        };
        say!(
            "{ranks:6} {:12} {:10.4} {:10.5} {:10} {:12}",
            args.rows * ranks,
            times[0],
            times[1],
            most(|t| t.messages),
            most(|t| t.bytes)
        );
    }
    Ok(())
}

/// The times on `ranks` ranks, in separate processes.
fn child(ranks: usize, rows: usize, args: &ScalingArgs) -> Result<Value, Failure> {
    let mut command = mpirun(ranks)?;
    command.args(["rank-times", &rows.to_string(), &args.block.to_string(), &args.method]);
    if let Some(systems) = args.batch {
        command.args(["--batch", &systems.to_string()]);
    }
    answer(&mut command)
}

/// An `mpirun` command for this program on `ranks` ranks, one thread each. There may be more ranks than cores.
pub fn mpirun(ranks: usize) -> Result<Command, Failure> {
    let this =
        std::env::current_exe().map_err(|e| Failure::Other(format!("the path of this program is not known: {e}")))?;
    let mut command = Command::new("mpirun");
    command.args(["-n", &ranks.to_string()]).arg(this);
    command.env("RAYON_NUM_THREADS", "1").env("OPENBLAS_NUM_THREADS", "1");
    command.env("OMPI_MCA_rmaps_base_oversubscribe", "1");
    command.env("PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe");
    Ok(command)
}

/// Run the command and return the line of JSON that rank 0 prints.
pub fn answer(command: &mut Command) -> Result<Value, Failure> {
    let output = command
        .output()
        .map_err(|e| Failure::Other(format!("mpirun cannot be started: {e}; install an MPI library and check PATH")))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let line = text.lines().find_map(|line| serde_json::from_str::<Value>(line).ok());
    line.ok_or_else(|| {
        let message = String::from_utf8_lossy(&output.stderr);
        Failure::Other(format!("the mpirun job failed ({}): {}", output.status, message.trim()))
    })
}
