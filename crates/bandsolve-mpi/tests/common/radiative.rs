//! The eigenvalues of the radiative transfer operator nearest to its albedo, over ranks.

use super::{part, ranks_agree, unknowns, wave};
use bandsolve::Method;
use bandsolve_eigen::EigenSolver;
use bandsolve_gallery::radiative::{ALBEDO, RadiativeSlab};
use bandsolve_mpi::{DistributedBlocks, RankRanges, Ranks};

/// ϖ − λ₁…₅ for 8 blocks of 64 cells, to the printed digits.
const GAPS: [f64; 5] = [6.1749e-6, 2.46989e-5, 5.55697e-5, 9.87834e-5, 1.543349e-4];

/// The gaps agree with those of one machine, and are proved complete, also with ranks without rows.
pub fn radiative_transfer(ranks: &Ranks) {
    let whole = RadiativeSlab::new(8, 64).matrix().unwrap();
    let some = RankRanges::of_counts((0..ranks.size()).map(|rank| if rank + 1 == ranks.size() { 8 } else { 0 }));
    for ranges in [RankRanges::even(8, ranks.size()), some] {
        let own = ranges.range(ranks.rank());
        let blocks = whole.arrays().map(|array| &array[own.start * 64 * 64..own.end * 64 * 64]);
        let a = DistributedBlocks::new(ranks, 64, blocks).unwrap();
        let below = |shift: f64| a.eigenvalues_below(None, shift).map_err(|error| error.error);
        let solver = EigenSolver::new(5).ncv(16).tol(1e-8).seed(ranks.rank() as u64).communicator(ranks).count(&below);
        let found = solver.hermitian_nearest(&a, None, ALBEDO).unwrap();
        let (what, report) = (format!("{ranges:?}: {:?}", found.report), &found.report);
        assert!(found.converged() && report.complete == Some(true), "{what}");
        assert_eq!((report.solves, report.restarts), (16, 0), "{what}");
        assert!(report.residuals.iter().all(|residual| *residual <= 1e-8) && report.orthogonality < 1e-13, "{what}");
        for (offset, gap) in found.offsets.iter().zip(GAPS) {
            assert!((-offset / gap - 1.0).abs() <= 1e-5, "{offset} {gap}, {what}");
            assert!(ranks_agree(ranks, *offset));
        }
        truncated_is_repaired(&a.shifted(ALBEDO, None).unwrap(), &ranges);
    }
}

/// The spikes of the shifted operator do not decay, so SPIKE solves the whole coarse system, and x is accurate.
fn truncated_is_repaired(shifted: &DistributedBlocks<f64>, ranges: &RankRanges) {
    let own = unknowns(shifted.ranks(), ranges, 64);
    let rhs: Vec<f64> = (0..512).map(|i| wave(i, 0.23)).collect();
    let factors = shifted.factor_by(Method::SpikeTruncated).unwrap();
    let x = factors.solve(&part(&rhs, 512, own)).unwrap();
    assert!(x.report.backward_error <= 8.0 * f64::EPSILON, "{:?}", x.report);
}
