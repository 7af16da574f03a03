//! Random matrices with known eigenvalues: results that are reported as converged or complete must be correct.

use bandsolve::{Banded, Scalar};
use bandsolve_eigen::{
    EigenProblem, EigenSolver, EigenvalueRange, MatrixOperator, SymmetricTridiagonal, Which, eigenvalues_below,
};
use bandsolve_gallery::Random;

/// The number of random cases per test.
const CASES: u64 = 150;

/// The number of random intervals per number type.
const INTERVALS: u64 = 600;

/// A random integer from 0 to n − 1.
fn below(random: &mut Random, n: usize) -> usize {
    (random.uniform(0.0, n as f64) as usize).min(n - 1)
}

/// Make eigenvalues that are difficult for a moved shift: close, equal, symmetric to a target, or far from it.
fn spectrum(random: &mut Random) -> Vec<f64> {
    let n = 4 + below(random, 30);
    let base: Vec<f64> = (0..1 + below(random, 6)).map(|_| below(random, 9) as f64 - 4.0).collect();
    let value = |random: &mut Random| {
        let at = base[below(random, base.len())];
        match below(random, 8) {
            0 => at + 1e-5 * random.uniform(-1.0, 1.0),
            1 => at + 1e-3 * random.uniform(-1.0, 1.0),
            2 => -at,
            3 => 2.0 - at,
            4 => random.uniform(-100.0, 100.0),
            5 => at * 25.0,
            6 => 50.0 + below(random, 50) as f64,
            _ => at,
        }
    };
    (0..n).map(|_| value(random)).collect()
}

/// Make the diagonal matrix D as a band, or the full matrix (I − 2·v·vᵀ)·D·(I − 2·v·vᵀ), which has the same eigenvalues.
fn matrix<T: Scalar>(values: &[f64], full: bool, random: &mut Random) -> Banded<'static, T> {
    let n = values.len();
    let of = |x: f64| T::from_real(bandsolve::RealScalar::from_f64(x));
    if !full {
        return Banded::from_vec(n, 0, 0, values.iter().map(|x| of(*x)).collect()).unwrap();
    }
    let mut v = random.uniform_vec(n, -1.0, 1.0);
    let norm = v.iter().map(|v| v * v).sum::<f64>().sqrt();
    v.iter_mut().for_each(|v| *v /= norm);
    let mean: f64 = v.iter().zip(values).map(|(v, x)| v * v * x).sum();
    let entry = |i: usize, j: usize| {
        let diag = if i == j { values[i] } else { 0.0 };
        diag - 2.0 * v[i] * v[j] * (values[i] + values[j]) + 4.0 * v[i] * v[j] * mean
    };
    let leading = 2 * n - 1;
    let mut bands = vec![T::ZERO; n * leading];
    for j in 0..n {
        (0..n).for_each(|i| bands[j * leading + n - 1 + i - j] = of(entry(i, j)));
    }
    Banded::from_vec(n, n - 1, n - 1, bands).unwrap()
}

/// Whether the eigen values are eigenvalues, and none occurs more often than its multiplicity.
fn are_eigenvalues(eigen: &[f64], values: &[f64], allowed: f64) -> bool {
    let mut left = values.to_vec();
    eigen.iter().all(|eigen| {
        let nearest = (0..left.len()).min_by(|i, j| (left[*i] - eigen).abs().total_cmp(&(left[*j] - eigen).abs()));
        nearest.is_some_and(|at| (left.swap_remove(at) - eigen).abs() <= allowed)
    })
}

/// The distances of the k eigenvalues that are nearest to a target.
fn distances(values: &[f64], target: f64, k: usize) -> Vec<f64> {
    let mut distances: Vec<f64> = values.iter().map(|value| (value - target).abs()).collect();
    distances.sort_by(f64::total_cmp);
    distances.truncate(k);
    distances
}

fn nearest_are_nearest<T: Scalar>(seed: u64, precision: f64) -> (usize, usize) {
    let mut random = Random::new(seed);
    let (mut complete, mut moved) = (0, 0);
    for case in 0..CASES {
        let values = spectrum(&mut random);
        let n = values.len();
        let full = below(&mut random, 2) == 0;
        let a = matrix::<T>(&values, full, &mut random);
        let k = 1 + below(&mut random, n.min(6));
        let at = values[below(&mut random, n)];
        let target = match below(&mut random, 3) {
            0 => at,
            1 => at + 1e-9,
            _ => random.uniform(-5.0, 5.0),
        };
        let norm = values.iter().fold(1.0_f64, |norm, value| norm.max(value.abs()));
        let allowed = precision * norm;
        let count = |shift: f64| eigenvalues_below(&a, None, shift);
        let eigen = match EigenSolver::new(k).tol(1e-10).seed(case).count(&count).hermitian_nearest(&a, None, target) {
            Ok(eigen) => eigen,
            Err(error) => {
                println!("{case}: {error}");
                continue;
            }
        };
        moved += usize::from(target == at);
        assert!(are_eigenvalues(&eigen.values, &values, allowed), "{case}: {target} {values:?} {:?}", eigen.values);
        assert!(eigen.values.len() <= k && eigen.report.residuals.len() == eigen.values.len());
        if eigen.report.complete == Some(true) {
            complete += 1;
            let mut own: Vec<f64> = eigen.values.iter().map(|value| (value - target).abs()).collect();
            assert!(own.is_sorted_by(|a, b| *a <= b + allowed), "{case}: {own:?}");
            own.sort_by(f64::total_cmp);
            let expected = distances(&values, target, k);
            let close = own.iter().zip(&expected).all(|(a, b)| (a - b).abs() <= allowed);
            assert!(own.len() == k && close, "{case}: {k} near {target} of {values:?}: {:?}", eigen.values);
        }
    }
    (complete, moved)
}

#[test]
fn what_is_complete_is_nearest() {
    let (complete, moved) = nearest_are_nearest::<f64>(1, 1e-9);
    println!("double precision: {complete} of {CASES} complete, {moved} at an eigenvalue");
    // At most one case in ten may fail or be incomplete, because no moved shift works for its target.
    assert!(complete > CASES as usize * 9 / 10);
    let (complete, moved) = nearest_are_nearest::<f32>(2, 1e-3);
    println!("single precision: {complete} of {CASES} complete, {moved} at an eigenvalue");
    assert!(complete > CASES as usize * 9 / 10 && moved > CASES as usize / 5);
}

#[test]
fn general_problems_are_answered_for_the_target() {
    let mut random = Random::new(3);
    let mut converged = 0;
    for case in 0..CASES {
        let values = spectrum(&mut random);
        let (n, full) = (values.len(), below(&mut random, 2) == 0);
        let a = matrix::<f64>(&values, full, &mut random);
        let (k, target) = (1 + below(&mut random, n.min(4)), values[below(&mut random, n)]);
        let allowed = 1e-7 * values.iter().fold(1.0_f64, |norm, value| norm.max(value.abs()));
        let Ok(eigen) = EigenSolver::new(k).tol(1e-10).seed(case).general_nearest(&a, None, target) else { continue };
        let own: Vec<f64> = eigen.values.iter().map(|value| value.re).collect();
        assert!(are_eigenvalues(&own, &values, allowed), "{case}: {target} {values:?} {own:?}");
        if eigen.converged() {
            converged += 1;
            // Only copies of equal eigenvalues may be missing.
            let mut distinct = values.clone();
            distinct.sort_by(f64::total_cmp);
            distinct.dedup_by(|a, b| (*a - *b).abs() <= allowed);
            let last = own.iter().fold(0.0_f64, |last, value| last.max((value - target).abs()));
            let missing = distinct.iter().find(|value| {
                (*value - target).abs() < last - allowed && own.iter().all(|own| (own - *value).abs() > allowed)
            });
            assert!(missing.is_none(), "{case}: {missing:?} of {values:?} near {target}: {own:?}");
        }
    }
    println!("general: {converged} of {CASES} converged");
    assert!(converged > CASES as usize * 8 / 10);
}

/// Round numbers to the precision of the matrix.
fn rounded<T: Scalar>(values: &[f64]) -> Vec<f64> {
    let of = |x: &f64| bandsolve::RealScalar::to_f64(<T::Real as bandsolve::RealScalar>::from_f64(*x));
    values.iter().map(of).collect()
}

/// Test random intervals, some of which end a few rounding errors away from an eigenvalue. Returns how many results are complete.
fn intervals_hold<T: Scalar>(seed: u64, precision: f64) -> usize {
    let (mut random, epsilon) =
        (Random::new(seed), bandsolve::RealScalar::to_f64(<T::Real as bandsolve::RealScalar>::EPSILON));
    let mut complete = 0;
    for case in 0..INTERVALS {
        let values = rounded::<T>(&spectrum(&mut random));
        let (n, full) = (values.len(), below(&mut random, 2) == 0);
        let a = matrix::<T>(&values, full, &mut random);
        let norm = values.iter().fold(1.0_f64, |norm, value| norm.max(value.abs()));
        // The library estimates rounding errors from this size.
        let size = (values.iter().map(|value| value * value).sum::<f64>() / n as f64).sqrt();
        let mut end = || {
            let value = values[below(&mut random, n)];
            let beside =
                64.0 * epsilon * size.max(value.abs()) * [2.0, 10.0, 100.0, -2.0, -10.0, -100.0][below(&mut random, 6)];
            match below(&mut random, 4) {
                0 => value,
                1 => value + 1e-5 * random.uniform(-1.0, 1.0),
                2 => random.uniform(-6.0, 110.0),
                _ => value + beside,
            }
        };
        let (one, other) = (end(), end());
        let ends = (one.min(other), one.max(other));
        let Ok(eigen) = EigenSolver::new(0).tol(1e-12).seed(case).hermitian_between(&a, None, ends) else { continue };
        let what = || format!("{case}: {full} {ends:?} {values:?} {:?}", eigen.values);
        assert!(eigen.values.iter().all(|value| ends.0 <= *value && *value < ends.1), "{}", what());
        let allowed = precision * norm;
        assert!(are_eigenvalues(&eigen.values, &values, allowed), "{}", what());
        if eigen.report.complete == Some(true) {
            complete += 1;
            // Entries of a full matrix are sums of four products. Their rounding errors move eigenvalues by at most 8·n·ε·‖A‖. Ends are rounded to the type.
            let rounding = if full { 8.0 * n as f64 * epsilon * norm } else { 0.0 }
                + ends.0.abs().max(ends.1.abs()) * (epsilon - f64::EPSILON);
            let inside = |by: f64| -> Vec<f64> {
                values.iter().copied().filter(|value| ends.0 - by <= *value && *value < ends.1 + by).collect()
            };
            assert!(are_eigenvalues(&eigen.values, &inside(rounding), allowed), "{}", what());
            assert!(are_eigenvalues(&inside(-rounding), &eigen.values, allowed), "{}", what());
        }
    }
    complete
}

#[test]
fn intervals_hold_what_is_inside() {
    // Residuals are at most 32·ε·√n, relative to ‖A‖ + |λ|.
    let (double, single) = (intervals_hold::<f64>(4, 1e-12), intervals_hold::<f32>(7, 5e-5));
    println!("intervals: {double} and, in single precision, {single} of {INTERVALS} complete");
    assert!(double.min(single) > INTERVALS as usize * 9 / 10);
}

/// Compute ‖A·x − λ·x‖ / ((‖A‖_F + |λ|)·‖x‖) in double precision.
fn residual(a: &Banded<'_, f32>, value: f64, x: &[f32]) -> f64 {
    let (n, mut sum, mut norm, mut entries) = (x.len(), 0.0, 0.0, 0.0);
    for i in 0..n {
        let row: Vec<f64> = (0..n).map(|j| f64::from(a.get(i, j))).collect();
        entries += row.iter().map(|a| a * a).sum::<f64>();
        let product: f64 = row.iter().zip(x).map(|(a, x)| a * f64::from(*x)).sum();
        sum += (product - value * f64::from(x[i])).powi(2);
        norm += f64::from(x[i]).powi(2);
    }
    sum.sqrt() / ((entries.sqrt() + value.abs()) * norm.sqrt())
}

#[test]
fn single_precision_converges_with_small_residuals() {
    let mut random = Random::new(5);
    let (mut hermitian, mut others) = (0, 0);
    for case in 0..CASES {
        let n = 20 + below(&mut random, 30);
        let mut numbers: Vec<f32> = random.uniform_vec(n * (2 * n - 1), -1.0, 1.0).iter().map(|x| *x as f32).collect();
        let symmetric = below(&mut random, 3) > 0;
        let at = |i: usize, j: usize| j * (2 * n - 1) + n - 1 + i - j;
        if symmetric {
            (0..n).for_each(|j| (0..j).for_each(|i| numbers[at(i, j)] = numbers[at(j, i)]));
        }
        let a = Banded::from_vec(n, n - 1, n - 1, numbers).unwrap();
        let operator = MatrixOperator(&a);
        let which = [Which::LargestMagnitude, Which::LargestReal, Which::SmallestReal][below(&mut random, 3)];
        let solver = EigenSolver::new(1 + below(&mut random, 4)).which(which).tol(0.0).seed(case).max_restarts(60);
        let eigen = match below(&mut random, 2) {
            0 => solver.hermitian(&EigenProblem::new(&operator)),
            _ => solver.which(Which::LargestMagnitude).hermitian_nearest(&a, None, random.uniform(-3.0, 3.0)),
        };
        let Ok(eigen) = eigen else { continue };
        if !eigen.converged() {
            continue;
        }
        *if symmetric { &mut hermitian } else { &mut others } += 1;
        for (value, x) in eigen.values.iter().zip(eigen.vectors.chunks_exact(n)) {
            let residual = residual(&a, *value, x);
            // The limit is 32·ε·√n times the estimated norm, which is at most ‖A‖.
            assert!(residual <= 33.0 * f64::from(f32::EPSILON) * (n as f64).sqrt(), "{case}: {residual} {symmetric}");
        }
    }
    println!("single precision: {hermitian} Hermitian, {others} others of {CASES} converged");
    assert!(hermitian > CASES as usize / 2);
}

#[test]
fn tridiagonal_intervals_are_consistent() {
    let mut random = Random::new(6);
    for case in 0..CASES {
        let n = 1 + below(&mut random, 12);
        let integers = case % 2 == 0;
        let mut numbers = |n: usize| -> Vec<f64> {
            let numbers = random.uniform_vec(n, -3.0, 3.0);
            if integers { numbers.iter().map(|x| x.round()).collect() } else { numbers }
        };
        let (diag, off) = (numbers(n), numbers(n - 1));
        let t = SymmetricTridiagonal::new(&diag, &off).unwrap();
        let all = t.eigenvalues(EigenvalueRange::All).unwrap();
        let mut ends: Vec<f64> = (0..6).map(|_| below(&mut random, 13) as f64 - 6.0).collect();
        ends.extend(&all);
        ends.extend([f64::NEG_INFINITY, f64::INFINITY]);
        ends.sort_by(f64::total_cmp);
        ends.dedup();
        let mut total = 0;
        for pair in ends.windows(2) {
            let eigen = t.eigenvalues(EigenvalueRange::Interval(pair[0], pair[1])).unwrap();
            assert!(eigen.iter().all(|value| pair[0] < *value && *value <= pair[1]), "{diag:?} {off:?} {pair:?}");
            total += eigen.len();
        }
        assert_eq!(total, n, "{diag:?} {off:?}");
    }
}

/// An eigenvalue very near to the target causes errors in the other eigenvalues, as large as the differences of their distances.
#[test]
fn what_rounding_hides_is_not_proved_to_be_nearest() {
    let mut values = [0.0, 0.5, 1.0, -0.5, 0.75].repeat(6);
    values.push(0.25);
    let a = matrix::<f64>(&values, false, &mut Random::new(0));
    let (count, tol) = (|shift: f64| eigenvalues_below(&a, None, shift), 1e-10);
    for seed in 0..40 {
        // The six zeros are nearer than the copies of 0.5, by twice this number.
        let by = 10_f64.powf(-7.0 - 0.05 * seed as f64);
        let target = 0.25 - by;
        for k in [3, 5, 7, 9] {
            let eigen =
                EigenSolver::new(k).tol(tol).seed(seed).count(&count).hermitian_nearest(&a, None, target).unwrap();
            if eigen.report.complete == Some(true) || eigen.converged() {
                let mut own: Vec<f64> = eigen.values.iter().map(|value| (value - target).abs()).collect();
                own.sort_by(f64::total_cmp);
                // Residuals are at most tol·(‖A‖ + |λ|).
                let close =
                    own.iter().zip(distances(&values, target, k)).all(|(own, exact)| (own - exact).abs() <= 2.0 * tol);
                assert!(close && own.len() == k, "{k} near {target}, seed {seed}: {:?}", eigen.values);
            }
        }
    }
}
