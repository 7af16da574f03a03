//! If an allocation fails on one rank, all ranks return the same error, and no rank waits.
//!
//! The ranks are threads of this process. In each run, one allocation of any rank fails.

use bandsolve::{Error, Layout, Method, Op};
use bandsolve_eigen::EigenSolver;
use bandsolve_mpi::{DistributedBanded, DistributedBatch, DistributedBlocks, DistributedPoisson};
use bandsolve_mpi::{RankCoarse, RankError, Ranks, on_threads};
use bandsolve_poisson::Poisson;
use bandsolve_sparse::{KrylovMethod, KrylovSolver};
use bandsolve_testkit::allocations::{WatchedMemory, fail_each};
use std::sync::LazyLock;
use std::time::Duration;

#[global_allocator]
static MEMORY: WatchedMemory = WatchedMemory;

const RANKS: usize = 3;

/// Number of rows of a rank.
const ROWS: usize = 4096;

/// Smaller than an array with one number per row of a rank, larger than messages and small matrices.
const BYTES: usize = 4 * ROWS;

/// Time limit, because waiting ranks would wait forever.
const LIMIT: Duration = Duration::from_secs(600);

fn fails(what: &str, door: impl Fn(&Ranks) -> Result<(), RankError> + Sync) {
    let what_ends = what.to_owned();
    let (done, ended) = std::sync::mpsc::channel::<()>();
    std::thread::spawn(move || {
        if ended.recv_timeout(LIMIT) == Err(std::sync::mpsc::RecvTimeoutError::Timeout) {
            eprintln!("{what_ends}: a rank waits");
            std::process::abort();
        }
    });
    let refused = fail_each(what, BYTES, || {
        let mut results = on_threads(RANKS, |ranks| door(ranks));
        assert!(results.windows(2).all(|pair| pair[0] == pair[1]), "{what}: {results:?}");
        results.swap_remove(0).map_err(|error| error.error)
    });
    assert!(refused > 0, "{what}: no allocation failed");
    drop(done);
}

/// Errors of searches name no rank.
fn unnamed<V>(result: Result<V, Error>) -> Result<(), RankError> {
    result.map(|_| ()).map_err(|error| RankError { rank: 0, error })
}

fn lines(ranks: &Ranks) -> Result<DistributedBlocks<f64>, RankError> {
    let off = [-1.0; ROWS];
    DistributedBlocks::new(ranks, 1, [&off, &[2.5; ROWS], &off])
}

/// Small blocks, whose factors consist of many arrays.
fn blocks(ranks: &Ranks) -> Result<DistributedBlocks<f64>, RankError> {
    // Created before allocations fail.
    static DIAG: LazyLock<Vec<f64>> = LazyLock::new(|| [4.0, 0.5, 0.5, 4.0].repeat(ROWS / 2));
    let off = [0.25; 2 * ROWS];
    DistributedBlocks::new(ranks, 2, [&off, &DIAG, &off])
}

fn bands(ranks: &Ranks) -> Result<DistributedBanded<f64>, RankError> {
    static BANDS: LazyLock<Vec<f64>> = LazyLock::new(|| [0.5, -1.0, 4.0, 1.0].repeat(ROWS));
    DistributedBanded::new(ranks, (2, 1), &BANDS)
}

/// This file has only one test, because other tests would also allocate while an allocation must fail.
#[test]
fn every_allocation_may_fail() {
    matrices();
    factors();
    solves();
    batches();
    slabs();
    searches();
}

fn matrices() {
    fails("lines", |ranks| lines(ranks).map(|_| ()));
    fails("blocks", |ranks| blocks(ranks).map(|_| ()));
    fails("bands", |ranks| bands(ranks).map(|_| ()));
    fails("products", |ranks| lines(ranks)?.apply(&[1.0; ROWS]).map(|_| ()));
    fails("products of bands", |ranks| bands(ranks)?.apply(&[1.0; ROWS]).map(|_| ()));
    fails("shifted", |ranks| lines(ranks)?.shifted(0.5, Some(&lines(ranks)?)).map(|_| ()));
    fails("counts", |ranks| lines(ranks)?.eigenvalues_below(None, 0.5).map(|_| ()));
}

fn factors() {
    for method in [Method::Spike, Method::SpikeTruncated] {
        fails(method.name(), |ranks| lines(ranks)?.factor_by(method).map(|_| ()));
    }
    for coarse in [RankCoarse::Gathered, RankCoarse::Cyclic, RankCoarse::Truncated] {
        fails("factors of bands", |ranks| bands(ranks)?.factor_spike(coarse).map(|_| ()));
    }
    fails("bcyclic", |ranks| blocks(ranks)?.factor_by(Method::Bcyclic).map(|_| ()));
    fails("block-spike", |ranks| blocks(ranks)?.factor_by(Method::BlockSpike).map(|_| ()));
}

fn solves() {
    for op in [Op::Plain, Op::Transpose] {
        fails("solve by spike", |ranks| lines(ranks)?.factor()?.solve_in_place_with(op, &mut [1.0; ROWS]).map(|_| ()));
        fails("solve by bcyclic", |ranks| {
            blocks(ranks)?.factor()?.solve_in_place_with(op, &mut [1.0; ROWS]).map(|_| ())
        });
        fails("solve of bands", |ranks| bands(ranks)?.factor()?.solve_in_place_with(op, &mut [1.0; ROWS]).map(|_| ()));
    }
    fails("solve and rcond", |ranks| {
        let factors = bands(ranks)?.factor()?;
        factors.solve(&[1.0; ROWS])?;
        factors.rcond().map(|_| ())
    });
}

fn batches() {
    for layout in [Layout::Interleaved, Layout::Contiguous] {
        for op in [Op::Plain, Op::Transpose] {
            fails("batch", |ranks| {
                let off = [-1.0; 2 * ROWS];
                let a = DistributedBatch::new(ranks, (2, layout), [&off, &[2.5; 2 * ROWS], &off])?;
                let mut x = a.apply_op(op, &[1.0; 2 * ROWS])?;
                a.factor()?.solve_in_place_with(op, &mut x).map(|_| ())
            });
        }
    }
    fails("batch that is refined", |ranks| repaired_batch(ranks, ROWS, 1e-8));
    // An array with the rows of a rank of all systems is above the limit. A message with the rows of one system is below.
    fails("batch that is repaired", |ranks| repaired_batch(ranks, BYTES / 32 - 12, 0.0));
}

/// Systems that need row exchanges, one for each rank. `small` is the first pivot of every rank.
fn repaired_batch(ranks: &Ranks, rows: usize, small: f64) -> Result<(), RankError> {
    let (off, mut diag) = ([-1.0; RANKS * ROWS], [2.5; RANKS * ROWS]);
    // This is the first inner row of a rank.
    diag[RANKS..2 * RANKS].fill(small);
    let [off, diag] = [&off[..RANKS * rows], &diag[..RANKS * rows]];
    let a = DistributedBatch::new(ranks, (RANKS, Layout::Interleaved), [off, diag, off])?;
    let report = a.factor()?.solve_in_place(&mut [1.0; RANKS * ROWS][..RANKS * rows])?;
    assert_eq!((report.refinement_steps > 0, report.fallback), (small > 0.0, small == 0.0), "{report:?}");
    Ok(())
}

fn slabs() {
    let problem = Poisson::new(&[RANKS * ROWS / 16, 16]);
    fails("slabs", |ranks| DistributedPoisson::<f64>::new(ranks, &problem, ROWS / 16)?.solve(&[1.0; ROWS]).map(|_| ()));
}

fn searches() {
    fails("nearest eigenvalues", |ranks| {
        let a = lines(ranks)?;
        let below = |shift: f64| a.eigenvalues_below(None, shift).map_err(|error| error.error);
        let solver = EigenSolver::new(2).tol(1e-6).communicator(ranks).count(&below);
        unnamed(solver.hermitian_nearest(&a, None, 0.5))
    });
    // Few restarts are sufficient, because each one repeats the same allocations.
    fails("general eigenvalues", |ranks| {
        let solver = EigenSolver::new(2).tol(1e-6).max_restarts(2).communicator(ranks);
        unnamed(solver.general_nearest(&lines(ranks)?, None, 0.4))
    });
    fails("gmres", |ranks| {
        let solver = KrylovSolver::new(KrylovMethod::Gmres { restart: 10 }).communicator(ranks);
        unnamed(solver.solve(&lines(ranks)?, None, &[1.0; ROWS], &mut [0.0; ROWS]))
    });
}
