use super::*;
use crate::contract::Op;
use crate::contract::measure::backward_error;
use crate::matrix::Tridiagonal;
use crate::methods::{rpts, spike_diagonal_pivoting, spike_qr, spike_thomas, spike_truncated};
use crate::partition::cut::columns;
use crate::partition::partitioned::{Partitionable, Scheme};
use crate::pivoted::testing::{OPS, for_all_scalars};
use crate::{Pivoting, Plan};
use bandsolve_gallery::{Random, random_vec};

const SIZE: usize = 4096;
const MARGIN: usize = 512;
const N: usize = 70_001;

/// A matrix with random entries, plus `dominance` on the diagonal. Rows in `laplace` are −1, 2, −1.
fn matrix<T: Scalar>(n: usize, dominance: f64, laplace: Range<usize>) -> Tridiagonal<'static, T> {
    let number = |v: f64| T::from_real(T::Real::from_f64(v));
    let mut random = Random::new(n as u64);
    let [mut sub, mut diag, mut sup] = [n - 1, n, n - 1].map(|len| random_vec::<T>(len, &mut random));
    diag.iter_mut().for_each(|b| *b += number(dominance));
    for i in laplace {
        (sub[i - 1], diag[i], sup[i]) = (number(-1.0), number(2.0), number(-1.0));
    }
    Tridiagonal::from_vecs(sub, diag, sup, false).unwrap()
}

/// x in one pass, its checks, and the errors of partitions.
struct InOnePass<T: Scalar> {
    x: Vec<T>,
    checks: CheckResults,
    gaps: Vec<T::Real>,
    truncated: bool,
}

/// Solve in one pass by the scheme of a plan. Scratch, x and errors begin as NaN.
fn solve_by<T: Scalar>(a: &Tridiagonal<'_, T>, op: Op, rhs: &[T], plan: &Plan, scheme: Scheme) -> Option<InOnePass<T>> {
    let settings = Settings::new::<T>(&plan.decision.options, scheme, None);
    let LevelMatrix::Scalars(rows) = a.level_matrix(op) else { unreachable!() };
    let (n, cut, n_rhs) = (a.n(), settings.cut(a.n()), rhs.len() / a.n());
    let pieces = CachedPieces::of_rows(&settings, cut, SIZE, MARGIN).unwrap();
    let nan = T::from_real(T::Real::NAN);
    let (mut x, mut gaps) = (vec![nan; n * n_rhs], vec![T::Real::NAN; n_rhs * cut.partitions()]);
    let mut memory = vec![u8::MAX; pieces.scratch::<T>(&settings, n_rhs).unaligned_bytes_required()];
    let arrays = (columns(rhs, n_rhs), columns_mut(&mut x, n_rhs), columns_mut(&mut gaps, n_rhs));
    let (checks, truncated) = solve(pieces, (&settings, rows), arrays, n_rhs, PodStack::new(&mut memory))?;
    Some(InOnePass { x, checks, gaps, truncated })
}

fn in_one_pass<T: Scalar>(a: &Tridiagonal<'_, T>, op: Op, rhs: &[T], threads: usize) -> Option<InOnePass<T>> {
    let plan = Plan::once(a.shape()).threads(threads);
    solve_by(a, op, rhs, &plan, rpts::scheme(&plan.decision))
}

mod generic {
    use super::*;

    /// The error is at most the measured one, also if it is too large. x has the same bits for any number of threads, and for columns
    /// alone and together.
    pub fn errors_are_measured<T: Scalar>() {
        for n in [N, 65_536, 66_000, 61_441] {
            for dominance in [0.0, 1.5, 3.0] {
                let a = matrix::<T>(n, dominance, 1..1);
                let rhs = random_vec::<T>(4 * n, &mut Random::new(7));
                for op in OPS {
                    let solved = in_one_pass(&a, op, &rhs, 1).expect("entries of the inverse decay");
                    for threads in [2, 3, 7, 40] {
                        let other = in_one_pass(&a, op, &rhs, threads).unwrap();
                        let same = solved.x == other.x && solved.gaps == other.gaps;
                        assert!(same, "{n}, {dominance}, {op:?}, {threads} threads");
                    }
                    for ((rhs, x), check) in rhs.chunks(n).zip(solved.x.chunks(n)).zip(solved.checks) {
                        let eta = backward_error(op.rows(&a), (rhs, x), false);
                        let limit = check.bound + 2.0 * T::Real::EPSILON.to_f64();
                        assert!(eta <= limit, "{n}, {dominance}, {op:?}: {eta:e}, {check:?}");
                        assert!(dominance < 3.0 || check.bound <= good::<T>(), "{n}, {op:?}: {check:?}");
                        assert!(in_one_pass(&a, op, rhs, 1).unwrap().x == x, "{n}, {dominance}, {op:?}");
                    }
                }
            }
        }
    }

    /// Where the right-hand side is zero, x is far smaller than its norm, and the residuals of these pieces do not matter. A NaN there does.
    pub fn sources_at_one_place<T: Scalar>() {
        for dominance in [2.1, 4.0] {
            let a = matrix::<T>(N, dominance, 1..1);
            for place in [0, 33_333, 8 * SIZE - 1, 8 * SIZE, N - 1] {
                let mut rhs = vec![T::ZERO; N];
                rhs[place] = T::ONE;
                let InOnePass { x, checks: [check, ..], .. } = in_one_pass(&a, Op::Plain, &rhs, 2).unwrap();
                assert!(check.bound <= good::<T>(), "{dominance}, {place}: {check:?}");
                assert!(backward_error(Op::Plain.rows(&a), (&rhs, &x), false) <= 2.0 * good::<T>());
                for wrong in [1, 100, SIZE, 5 * SIZE, 20_000, N - 2] {
                    rhs[wrong] = T::from_real(T::Real::NAN);
                    let [check, ..] = in_one_pass(&a, Op::Plain, &rhs, 2).unwrap().checks;
                    assert!(!check.bound.is_finite(), "{dominance}, {place}, {wrong}: {check:?}");
                    rhs[wrong] = T::ZERO;
                }
            }
        }
    }

    /// Other schemes, pivoting rules and partitions: measured errors are those of x.
    pub fn all_schemes_and_partitions<T: Scalar>() {
        let rhs = random_vec::<T>(N, &mut Random::new(7));
        for dominance in [0.0, 3.0] {
            let a = matrix::<T>(N, dominance, 1..1);
            let check = |plan: Plan, scheme: Scheme| {
                let Some(solved) = solve_by(&a, Op::Plain, &rhs, &plan, scheme) else { return };
                let ([check, ..], eta) = (solved.checks, backward_error(Op::Plain.rows(&a), (&rhs, &solved.x), false));
                let refused = check.suspect || check.bound.is_nan();
                assert!(
                    refused || eta <= check.bound + 2.0 * T::Real::EPSILON.to_f64(),
                    "{eta:e}, {check:?}, {plan:?}"
                );
                assert!(dominance < 3.0 || check.bound <= good::<T>(), "{check:?}, {plan:?}");
            };
            let plan = || Plan::once(a.shape()).threads(2);
            let of_plan = |plan: &Plan| rpts::scheme(&plan.decision);
            for rows in [3, 4, 12, 13, 100, 256] {
                let plan = plan().partition_rows(rows);
                check(plan.clone(), of_plan(&plan));
            }
            for pivoting in [Pivoting::ScaledPartial, Pivoting::Partial, Pivoting::None] {
                let plan = plan().pivoting(pivoting);
                check(plan.clone(), of_plan(&plan));
            }
            let noise = plan().noise_threshold(1e-30);
            check(noise.clone(), of_plan(&noise));
            let decision = plan().decision;
            check(plan(), spike_diagonal_pivoting::scheme(&decision));
            check(plan(), spike_qr::scheme(&decision));
            if dominance > 0.0 {
                check(plan(), spike_thomas::scheme(&decision));
                check(plan(), spike_truncated::scheme(&decision));
            }
        }
    }
}
for_all_scalars!(errors_are_measured);
for_all_scalars!(sources_at_one_place);
for_all_scalars!(all_schemes_and_partitions);

/// Two passes are needed if the entries of the inverse do not decay. If the test misses this, the measured error shows it.
#[test]
fn inverses_that_do_not_decay() {
    let rhs = random_vec::<f64>(N, &mut Random::new(7));
    for laplace in [1..N - 1, N / 2 - 4 * SIZE..N / 2 + 4 * SIZE] {
        assert!(in_one_pass(&matrix(N, 0.0, laplace), Op::Plain, &rhs, 2).is_none());
    }
    let a = matrix(N, 0.0, N / 4 - 2 * SIZE..N / 4 + 2 * SIZE);
    let InOnePass { x, checks: [check, ..], gaps, .. } = in_one_pass(&a, Op::Plain, &rhs, 2).unwrap();
    let eta = backward_error(Op::Plain.rows(&a), (&rhs, &x), false);
    assert!(eta > good::<f64>() && eta <= check.bound * (1.0 + 1e-6), "{eta:e}, {check:?}");
    let worst = gaps.into_iter().reduce(f64::max_bits).unwrap();
    assert_eq!(sweep::bound::<f64>(worst), check.bound);
}

/// Behind the end of a piece, x is far smaller than the margin resolves.
#[test]
fn sources_far_from_the_end_of_a_piece() {
    let a = Tridiagonal::from_vecs(vec![-1.0; N - 1], vec![2.02; N], vec![-1.0; N - 1], false).unwrap();
    for before in [1, 100, 300, 500, 600, 1000, 2000] {
        let mut rhs = vec![0.0; N];
        rhs[8 * SIZE - before] = 1.0;
        let InOnePass { x, checks: [check, ..], .. } = in_one_pass(&a, Op::Plain, &rhs, 2).unwrap();
        let eta = backward_error(Op::Plain.rows(&a), (&rhs, &x), false);
        assert!(eta <= 2.0 * good::<f64>() && check.bound <= good::<f64>(), "{before}: {eta:e}, {check:?}");
    }
}

/// Pieces with tiny unknowns do not hide a piece with a large error, and do not make the error unknown.
#[test]
fn a_large_error_beside_pieces_of_zeros() {
    let a = matrix(N, 0.0, N / 4 - 2 * SIZE..N / 4 + 2 * SIZE);
    let mut rhs = vec![0.0; N];
    rhs[N / 4] = 1.0;
    let InOnePass { x, checks: [check, ..], .. } = in_one_pass(&a, Op::Plain, &rhs, 2).unwrap();
    let eta = backward_error(Op::Plain.rows(&a), (&rhs, &x), false);
    assert!(eta > good::<f64>() && check.bound > good::<f64>(), "{eta:e}, {check:?}");
}

/// A row of subnormal numbers has a row sum far below 1 after scaling.
#[test]
fn an_error_in_a_row_of_subnormal_numbers() {
    let tiny = f32::from_bits(1);
    for row in [20_000, 20_000 / 32 * 32] {
        let [mut sub, mut diag, mut sup] = [N - 1, N, N - 1].map(|len| vec![1.0f32; len]);
        diag.fill(4.0);
        (sub[row - 1], diag[row], sup[row]) = (0.0, tiny, 0.0);
        let a = Tridiagonal::new(&sub, &diag, &sup).unwrap();
        let mut rhs = vec![0.0; N];
        (rhs[60_000], rhs[row]) = (1.0, tiny);
        let Some(InOnePass { x, checks: [check, ..], .. }) = in_one_pass(&a, Op::Plain, &rhs, 1) else { continue };
        let eta = backward_error(Op::Plain.rows(&a), (&rhs, &x), false);
        assert!(
            check.suspect || !(check.bound <= good::<f32>()) || eta <= 2.0 * good::<f32>(),
            "{row}: {eta:e}, {check:?}"
        );
    }
}

#[test]
fn singular_and_infinite_systems_are_noticed() {
    let rhs = random_vec::<f64>(N, &mut Random::new(7));
    let noticed = |a: &Tridiagonal<'_, f64>, rhs: &[f64]| {
        let solved = in_one_pass(a, Op::Plain, rhs, 2);
        solved.is_none_or(|InOnePass { checks: [check, ..], .. }| check.suspect || !check.bound.is_finite())
    };
    for row in [1, 1000, 4 * SIZE - 1, 4 * SIZE, 50_000, N - 2] {
        let [mut sub, mut diag, mut sup] = [N - 1, N, N - 1].map(|len| vec![1.0; len]);
        diag.fill(4.0);
        let healthy = Tridiagonal::new(&sub, &diag, &sup).unwrap();
        assert!(!noticed(&healthy, &rhs));
        for wrong in [f64::NAN, f64::INFINITY] {
            let mut rhs = rhs.clone();
            rhs[row] = wrong;
            assert!(noticed(&healthy, &rhs), "{row}, {wrong}");
        }
        (sup[row - 1], diag[row], sub[row]) = (0.0, 0.0, 0.0);
        assert!(noticed(&Tridiagonal::new(&sub, &diag, &sup).unwrap(), &rhs), "{row}");
    }
}

/// `Auto` drops couplings below rounding in all windows, or in none.
#[test]
fn dominant_systems_are_truncated() {
    let rhs = random_vec::<f64>(N, &mut Random::new(7));
    for (dominance, expected) in [(0.0, false), (8.0, true)] {
        let solved = in_one_pass(&matrix(N, dominance, 1..1), Op::Plain, &rhs, 2).unwrap();
        assert_eq!(solved.truncated, expected);
    }
}

#[test]
fn pieces_cover_every_partition_once() {
    let plan = Plan::once(crate::Shape::Tridiagonal { n: 1000, periodic: false }).threads(1);
    let settings = Settings::new::<f64>(&plan.decision.options, rpts::scheme(&plan.decision), None);
    for n in (60_000..60_300).chain([1 << 20, (1 << 20) + 1]) {
        let pieces = CachedPieces::of_rows(&settings, settings.cut(n), SIZE, MARGIN).unwrap();
        let mut next = 0;
        for k in 0..pieces.count {
            let (parts, window) = (pieces.parts(k), pieces.window(k));
            assert!(parts.start == next && parts.len() < 2 * pieces.size);
            assert!(window.len() * 2 <= pieces.longest_window());
            assert!(k == 0 || pieces.rows(&pieces.around_end(k - 1)).len() >= 2 * MARGIN);
            next = parts.end;
        }
        assert_eq!(next, pieces.cut.partitions());
    }
    for (n, expected) in [(1000, false), ((1 << 22) - 1, false), (1 << 22, true)] {
        assert_eq!(CachedPieces::new::<f64>(&settings, settings.cut(n)).is_some(), expected, "{n}");
    }
}
