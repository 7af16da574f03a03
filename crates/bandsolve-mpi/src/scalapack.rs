//! `bandsolve-mpi bench scalapack`: benchmark against ScaLAPACK's tridiagonal and banded solvers, on the same ranks in one job.
//!
//! The program opens ScaLAPACK at run time. ScaLAPACK uses the MPI library that this program started.

use bandsolve_mpi::{DistributedBanded, DistributedBlocks, DistributedFactors, RankError, RankRanges, Ranks};
use bandsolve_program::exit::Failure;
use clap::Args;
use libloading::Library;
use serde_json::json;
use std::ffi::{c_char, c_int};
use std::time::Instant;

/// Options of `bench scalapack`.
#[derive(Debug, Args)]
pub struct ScalapackArgs {
    /// Number of ranks
    #[arg(long, default_value_t = 4)]
    ranks: usize,
    /// Number of rows of each system
    #[arg(long, default_value_t = 400_000)]
    rows: usize,
    /// Number of diagonals of the banded system on each side of the main diagonal
    #[arg(long, default_value_t = 4)]
    bandwidth: usize,
    /// Diagonal dominance: 1 makes each row diagonally dominant; the spikes decay from approximately 0.7
    #[arg(long, default_value_t = 1.0)]
    dominance: f64,
}

/// Arguments that each rank gets.
#[derive(Debug, Args)]
pub struct RankScalapackArgs {
    /// Rows
    rows: usize,
    /// Bandwidth
    bandwidth: usize,
    /// Dominance
    dominance: f64,
}

/// Number of timed rounds, and number of solves with the factors of each round. The output shows the fastest times.
const TIMED_ROUNDS: usize = 5;
const SOLVES: usize = 4;

/// File names under which the program looks for the library.
const NAMES: [&str; 6] = [
    "libscalapack-openmpi.so",
    "libscalapack-openmpi.so.2.2",
    "libscalapack-openmpi.so.2.1",
    "libscalapack-mpich.so",
    "libscalapack-mpich.so.2.2",
    "libscalapack.so",
];

/// A one-dimensional descriptor: type, context, rows in total, rows per rank, first rank, rows in memory.
type Descriptor = [c_int; 7];

/// Matrices by columns, on a row of ranks; right-hand sides by rows, on a column of ranks.
const MATRIX: c_int = 501;
const VECTORS: c_int = 502;

type PddttrfFunction = unsafe extern "C" fn(
    n: *const c_int,
    dl: *mut f64,
    d: *mut f64,
    du: *mut f64,
    ja: *const c_int,
    desc: *const c_int,
    af: *mut f64,
    laf: *const c_int,
    work: *mut f64,
    lwork: *const c_int,
    info: *mut c_int,
);

type TridiagonalSolve = unsafe extern "C" fn(
    trans: *const c_char,
    n: *const c_int,
    nrhs: *const c_int,
    dl: *const f64,
    d: *const f64,
    du: *const f64,
    ja: *const c_int,
    desc: *const c_int,
    b: *mut f64,
    ib: *const c_int,
    desc_b: *const c_int,
    af: *const f64,
    laf: *const c_int,
    work: *mut f64,
    lwork: *const c_int,
    info: *mut c_int,
    len: usize,
);

type PdgbtrfFunction = unsafe extern "C" fn(
    n: *const c_int,
    lower: *const c_int,
    upper: *const c_int,
    a: *mut f64,
    ja: *const c_int,
    desc: *const c_int,
    pivots: *mut c_int,
    af: *mut f64,
    laf: *const c_int,
    work: *mut f64,
    lwork: *const c_int,
    info: *mut c_int,
);

type BandSolve = unsafe extern "C" fn(
    trans: *const c_char,
    n: *const c_int,
    lower: *const c_int,
    upper: *const c_int,
    nrhs: *const c_int,
    a: *const f64,
    ja: *const c_int,
    desc: *const c_int,
    pivots: *const c_int,
    b: *mut f64,
    ib: *const c_int,
    desc_b: *const c_int,
    af: *const f64,
    laf: *const c_int,
    work: *mut f64,
    lwork: *const c_int,
    info: *mut c_int,
    len: usize,
);

/// The ScaLAPACK library, with all ranks as one row of its process grid.
struct Scalapack {
    library: Library,
    context: c_int,
    ranks: Ranks,
}

/// x on the rows of this rank, and the seconds of the factorization and of a solve.
struct ScalapackRun {
    x: Vec<f64>,
    seconds: [f64; 2],
}

impl Scalapack {
    fn open(ranks: &Ranks) -> Result<Self, String> {
        // SAFETY: ScaLAPACK has no initialization code.
        let library = NAMES.iter().find_map(|name| unsafe { Library::new(name) }.ok());
        let library = library.ok_or_else(|| {
            format!(
                "ScaLAPACK was not found; install it (apt install libscalapack-openmpi-dev). The program looked for {}",
                NAMES.join(", ")
            )
        })?;
        let (mut context, zero, one, columns) = (0, 0, 1, ranks.size() as c_int);
        // SAFETY: the types and arguments match BLACS: blacs_get(context, what, value), blacs_gridinit(context, order, rows, columns).
        unsafe {
            type Get = unsafe extern "C" fn(*const c_int, *const c_int, *mut c_int);
            type Init = unsafe extern "C" fn(*mut c_int, *const c_char, *const c_int, *const c_int, usize);
            let get = library.get::<Get>(b"blacs_get_\0").map_err(|e| e.to_string())?;
            get(&zero, &zero, &mut context);
            let init = library.get::<Init>(b"blacs_gridinit_\0").map_err(|e| e.to_string())?;
            init(&mut context, c"R".as_ptr(), &one, &columns, 1);
        }
        Ok(Self { library, context, ranks: ranks.clone() })
    }

    fn descriptor(&self, kind: c_int, n: usize, in_memory: usize) -> Descriptor {
        let each = n.div_ceil(self.ranks.size());
        [kind, self.context, n as c_int, each as c_int, 0, in_memory as c_int, 0]
    }

    /// Factor and solve with `pddttrf` and `pddttrs`.
    fn tridiagonal(&self, n: usize, arrays: &[Vec<f64>; 3], rhs: &[f64]) -> Result<ScalapackRun, String> {
        let (each, size, one, rows) = (n.div_ceil(self.ranks.size()), self.ranks.size(), 1, n as c_int);
        let (laf, lwork) = ((12 * size + 3 * each) as c_int, (10 * size + 4 * each) as c_int);
        let (desc, desc_b) = (self.descriptor(MATRIX, n, each), self.descriptor(VECTORS, n, each));
        let [mut dl, mut d, mut du] = arrays.clone();
        [&mut dl, &mut d, &mut du].into_iter().for_each(|array| array.resize(each.max(1), 0.0));
        let (mut af, mut work) = (vec![0.0; laf as usize], vec![0.0; lwork as usize]);
        // SAFETY: the arrays have the lengths that the documentation of the two routines requires, and the descriptors match the arrays.
        unsafe {
            let factor = self.library.get::<PddttrfFunction>(b"pddttrf_\0").map_err(|e| e.to_string())?;
            let solve = self.library.get::<TridiagonalSolve>(b"pddttrs_\0").map_err(|e| e.to_string())?;
            let [dl, d, du] = [dl.as_mut_ptr(), d.as_mut_ptr(), du.as_mut_ptr()];
            let (desc, desc_b, af, work) = (desc.as_ptr(), desc_b.as_ptr(), af.as_mut_ptr(), work.as_mut_ptr());
            let factor = || {
                let mut info = 0;
                factor(&rows, dl, d, du, &one, desc, af, &laf, work, &lwork, &mut info);
                succeeded("pddttrf", info)
            };
            let no = c"N".as_ptr();
            self.run(rhs, each, factor, |b| {
                let mut info = 0;
                solve(no, &rows, &one, dl, d, du, &one, desc, b, &one, desc_b, af, &laf, work, &lwork, &mut info, 1);
                succeeded("pddttrs", info)
            })
        }
    }

    /// Factor and solve with `pdgbtrf` and `pdgbtrs`. `columns` has 2k + 1 numbers per column.
    fn band(&self, n: usize, (k, columns): (usize, &[f64]), rhs: &[f64]) -> Result<ScalapackRun, String> {
        let (each, one, all, width) = (n.div_ceil(self.ranks.size()), 1, n as c_int, k as c_int);
        let high = 4 * k + 1;
        let laf = ((each + k) * 2 * k + 6 * 2 * k * 3 * k) as c_int;
        let lwork = (each + 6 * k).max(laf as usize) as c_int;
        let (desc, desc_b) = (self.descriptor(MATRIX, n, high), self.descriptor(VECTORS, n, each));
        // The elimination fills the first 2k rows of the band storage.
        let mut a = vec![0.0; high * each.max(1)];
        for (to, from) in a.chunks_exact_mut(high).zip(columns.chunks_exact(2 * k + 1)) {
            to[2 * k..].copy_from_slice(from);
        }
        let (mut af, mut work) = (vec![0.0; laf as usize], vec![0.0; lwork as usize]);
        let mut pivots = vec![0; each + 2 * k];
        // SAFETY: as above.
        unsafe {
            let factor = self.library.get::<PdgbtrfFunction>(b"pdgbtrf_\0").map_err(|e| e.to_string())?;
            let solve = self.library.get::<BandSolve>(b"pdgbtrs_\0").map_err(|e| e.to_string())?;
            let (a, pivots, af, work) = (a.as_mut_ptr(), pivots.as_mut_ptr(), af.as_mut_ptr(), work.as_mut_ptr());
            let (desc, desc_b) = (desc.as_ptr(), desc_b.as_ptr());
            let factor = || {
                let mut info = 0;
                factor(&all, &width, &width, a, &one, desc, pivots, af, &laf, work, &lwork, &mut info);
                succeeded("pdgbtrf", info)
            };
            let (no, k) = (c"N".as_ptr(), &width);
            self.run(rhs, each, factor, |b| {
                let mut info = 0;
                solve(
                    no, &all, k, k, &one, a, &one, desc, pivots, b, &one, desc_b, af, &laf, work, &lwork, &mut info, 1,
                );
                succeeded("pdgbtrs", info)
            })
        }
    }

    /// Time a factorization and solves. Each solve gets the right-hand side in an array of `each` numbers. Collective.
    fn run(
        &self,
        rhs: &[f64],
        each: usize,
        factor: impl FnOnce() -> Result<(), String>,
        solve: impl Fn(*mut f64) -> Result<(), String>,
    ) -> Result<ScalapackRun, String> {
        let start = Instant::now();
        factor()?;
        let (mut seconds, mut x) = ([start.elapsed().as_secs_f64(), f64::INFINITY], vec![0.0; each.max(1)]);
        for _ in 0..SOLVES {
            x[..rhs.len()].copy_from_slice(rhs);
            self.ranks.sum(&mut [0.0]);
            let start = Instant::now();
            solve(x.as_mut_ptr())?;
            seconds[1] = seconds[1].min(start.elapsed().as_secs_f64());
        }
        x.truncate(rhs.len());
        Ok(ScalapackRun { x, seconds })
    }
}

fn succeeded(routine: &str, info: c_int) -> Result<(), String> {
    if info == 0 { Ok(()) } else { Err(format!("{routine} returned {info}")) }
}

/// Matrix entries that look random.
fn wave(i: usize) -> f64 {
    ((i % 9973 * 7 + 3) as f64 * 0.37).sin()
}

/// Time both libraries on all ranks; rank 0 prints a line of JSON. Collective.
///
/// # Errors
/// If ScaLAPACK is missing, or a system is not solved.
pub fn measure(ranks: &Ranks, args: &RankScalapackArgs) -> Result<(), Failure> {
    let (n, k, size) = (args.rows, args.bandwidth, ranks.size());
    let scalapack = Scalapack::open(ranks).map_err(Failure::Other)?;
    let each = n.div_ceil(size);
    let ranges = RankRanges::of_counts((0..size).map(|rank| n.min((rank + 1) * each) - n.min(rank * each)));
    let local = ranges.range(ranks.rank());
    let rhs: Vec<f64> = local.clone().map(|i| wave(i + 5)).collect();
    let arrays = [0, 1, 2]
        .map(|a| local.clone().map(|i| wave(3 * i + a) + if a == 1 { 4.0 * args.dominance } else { 0.0 }).collect());
    let failure = |error: RankError| Failure::Unsolved(error.to_string());
    let open = |arrays: &[Vec<f64>; 3]| DistributedBlocks::new(ranks, 1, arrays.each_ref().map(Vec::as_slice));
    let a = open(&arrays).map_err(failure)?;
    let lines = contest(ranks, &rhs, || a.factor(), || scalapack.tridiagonal(n, &arrays, &rhs))?;
    let wide = 2 * k + 1;
    let diagonal = (4.0 * k as f64 + 4.0) * args.dominance;
    let entry = |i: usize, j: usize| wave(wide * i + j % 7919) + if i == j { diagonal } else { 0.0 };
    let inside = |i: usize, j: usize| if (k..n + k).contains(&j) { entry(i, j - k) } else { 0.0 };
    let rows: Vec<f64> =
        local.clone().flat_map(|i| (0..wide).map(move |d| (i, i + d))).map(|(i, j)| inside(i, j)).collect();
    // Entry d of column j is in row j + d − k.
    let column = |j: usize, d: usize| if (k..n + k).contains(&(j + d)) { entry(j + d - k, j) } else { 0.0 };
    let columns: Vec<f64> =
        local.clone().flat_map(|j| (0..wide).map(move |d| (j, d))).map(|(j, d)| column(j, d)).collect();
    let a = DistributedBanded::new(ranks, (k, k), &rows).map_err(failure)?;
    let bands = contest(ranks, &rhs, || a.factor(), || scalapack.band(n, (k, &columns), &rhs))?;
    if ranks.rank() == 0 {
        say!("{}", json!({ "tridiagonal": lines, "banded": bands }));
    }
    Ok(())
}

/// Compare both libraries. Return the seconds of bandsolve (factor, solve), the seconds of ScaLAPACK (factor, solve), the largest difference of x
/// relative to its largest entry, and the seconds of the verification alone.
fn contest(
    ranks: &Ranks,
    rhs: &[f64],
    ours: impl Fn() -> Result<DistributedFactors<f64>, RankError>,
    theirs: impl Fn() -> Result<ScalapackRun, String>,
) -> Result<[f64; 6], Failure> {
    let (mut best, mut far) = ([f64::INFINITY; 5], 0.0);
    for _ in 0..TIMED_ROUNDS {
        let mut x = rhs.to_vec();
        ranks.sum(&mut [0.0]);
        let start = Instant::now();
        let factors = ours().map_err(|error| Failure::Unsolved(error.to_string()))?;
        let between = start.elapsed().as_secs_f64();
        let [mut solved, mut measured] = [f64::INFINITY; 2];
        for _ in 0..SOLVES {
            x.copy_from_slice(rhs);
            ranks.sum(&mut [0.0]);
            let start = Instant::now();
            factors.solve_in_place(&mut x).map_err(|error| Failure::Unsolved(error.to_string()))?;
            solved = solved.min(start.elapsed().as_secs_f64());
            ranks.sum(&mut [0.0]);
            let start = Instant::now();
            factors.backward_errors(rhs, &x).map_err(|error| Failure::Unsolved(error.to_string()))?;
            measured = measured.min(start.elapsed().as_secs_f64());
        }
        drop(factors);
        ranks.sum(&mut [0.0]);
        let other = theirs().map_err(Failure::Other)?;
        let mut slowest = [between, solved, other.seconds[0], other.seconds[1], measured];
        ranks.max(&mut slowest);
        (0..5).for_each(|k| best[k] = best[k].min(slowest[k]));
        let size = |x: &mut dyn Iterator<Item = f64>| x.map(f64::abs).fold(0.0, f64::max);
        let mut sizes = [size(&mut x.iter().zip(&other.x).map(|(a, b)| a - b)), size(&mut x.iter().copied())];
        ranks.max(&mut sizes);
        far = f64::max(far, sizes[0] / sizes[1]);
    }
    Ok([best[0], best[1], best[2], best[3], far, best[4]])
}

/// Run the job and print the table.
///
/// # Errors
/// If `mpirun` or ScaLAPACK is missing.
pub fn run(args: &ScalapackArgs) -> Result<(), Failure> {
    if args.ranks == 0 || args.rows < 4 * args.ranks * (args.bandwidth + 1) {
        return Err(Failure::Usage(
            "bench scalapack: --ranks must be at least 1, and --rows at least 4 (bandwidth + 1) per rank".into(),
        ));
    }
    let mut command = crate::scaling::mpirun(args.ranks)?;
    let numbers = [args.rows.to_string(), args.bandwidth.to_string(), args.dominance.to_string()];
    command.arg("rank-scalapack").args(numbers);
    let output = crate::scaling::answer(&mut command)?;
    say!(
        "{} rows on {} ranks; seconds on the slowest rank, fastest of {TIMED_ROUNDS} rounds ({SOLVES} solves each)",
        args.rows,
        args.ranks
    );
    say!("                        bandsolve ScaLAPACK   ratio   diff of x      verification");
    let number = |key: &str, k: usize| output[key][k].as_f64().unwrap_or(f64::NAN);
    for (key, name, routines) in [
        ("tridiagonal", "tridiagonal".to_owned(), ["pddttrf", "pddttrs"]),
        ("banded", format!("{} diagonals", 2 * args.bandwidth + 1), ["pdgbtrf", "pdgbtrs"]),
    ] {
        for (k, what) in ["factor", "solve"].into_iter().enumerate() {
            let (ours, theirs) = (number(key, k), number(key, k + 2));
            let far = if k == 1 { format!("{:9.1e} {:17.5}", number(key, 4), number(key, 5)) } else { String::new() };
            say!("{name:14} {what:8} {ours:9.5} {theirs:9.5} {:7.2}   {far:27}   {}", ours / theirs, routines[k]);
        }
    }
    say!("ratio: bandsolve / ScaLAPACK. diff of x: largest difference, relative to the largest entry of x.");
    say!(
        "bandsolve verifies and refines x in each solve (backward error at most 8ε); verification is this part of the solve."
    );
    say!("The backward error of ScaLAPACK is not measured.");
    Ok(())
}
