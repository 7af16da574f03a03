//! Eigenvalues of symmetric tridiagonal matrices, compared with counts in double-double arithmetic and with known eigenvalues.

use bandsolve::Error;
use bandsolve_eigen::{EigenvalueRange, SymmetricTridiagonal};
use bandsolve_gallery::random::Random;
use bandsolve_gallery::wide::{Double, Wide};

/// The arrays `diag` and `off`.
type Entries = (Vec<f64>, Vec<f64>);

fn random(n: usize, seed: u64) -> Entries {
    let mut rng = Random::new(seed);
    let mut numbers = |n: usize| rng.uniform_vec(n, -1.0, 1.0);
    (numbers(n), numbers(n.saturating_sub(1)))
}

/// The Wilkinson matrix W₂ₘ₊₁⁺. Its large eigenvalues form pairs that agree to many digits.
fn wilkinson(m: usize) -> Entries {
    ((0..=2 * m).map(|k| (k as f64 - m as f64).abs()).collect(), vec![1.0; 2 * m])
}

/// Copies of the Wilkinson matrix W₂₁⁺, coupled by `glue`.
fn glued(copies: usize, glue: f64) -> Entries {
    let (diag, off) = wilkinson(10);
    let mut all: Entries = Default::default();
    for copy in 0..copies {
        all.0.extend(&diag);
        all.1.extend(&off);
        all.1.extend((copy + 1 < copies).then_some(glue));
    }
    all
}

fn all(entries: &Entries) -> Vec<f64> {
    eigenvalues(entries, EigenvalueRange::All)
}

fn eigenvalues((diag, off): &Entries, range: EigenvalueRange) -> Vec<f64> {
    SymmetricTridiagonal::new(diag, off).and_then(|t| t.eigenvalues(range)).expect("eigenvalues")
}

/// Count the eigenvalues below σ in double-double arithmetic.
fn count((diag, off): &Entries, shift: f64) -> usize {
    let mut pivot = Double::new(1.0);
    let mut below = 0;
    for (k, d) in diag.iter().enumerate() {
        let e = if k > 0 { off[k - 1] } else { 0.0 };
        let e = Double::new(e);
        pivot = Double::new(*d) - Double::new(shift) - e * e / pivot;
        if pivot.abs() < 1e-200 {
            pivot = Double::new(-1e-200);
        }
        below += usize::from(pivot.parts().0 < 0.0);
    }
    below
}

/// Check that each eigenvalue differs from the exact one with the same index by a few rounding errors of the norm.
fn check(name: &str, entries: &Entries) {
    let values = all(entries);
    assert_eq!(values.len(), entries.0.len(), "{name}");
    assert!(values.is_sorted(), "{name}");
    let norm = entries.0.iter().chain(&entries.1).fold(0.0, |norm: f64, x| norm.max(x.abs()));
    let allowed = 8.0 * f64::EPSILON * norm;
    for (k, value) in values.iter().enumerate() {
        let (below, above) = (count(entries, value - allowed), count(entries, value + allowed));
        assert!(below <= k && k < above, "{name}: eigenvalue {k} = {value}: {below} to {above}");
    }
}

#[test]
fn eigenvalues_of_many_matrices_are_right() {
    check("random", &random(300, 1));
    check("wilkinson", &wilkinson(10));
    check("large wilkinson", &wilkinson(100));
    check("glued", &glued(10, 1e-7));
    check("glued tightly", &glued(10, 1e-14));
    check("split", &glued(10, 0.0));
    check("zero diagonal", &(vec![0.0; 101], vec![1.0; 100]));
    check("constant", &(vec![1.0; 64], vec![1e-9; 63]));
    check("one beyond", &(vec![2.0], vec![]));
    check("two", &(vec![1.0, -3.0], vec![2.0]));
    let graded = |k: i32| 10_f64.powi(-k);
    check("graded", &((0..50).map(graded).collect(), (0..49).map(|k| 0.3 * graded(k)).collect()));
}

#[test]
fn extreme_sizes_scale() {
    let (diag, off) = random(100, 2);
    let values = all(&(diag.clone(), off.clone()));
    for exponent in [-1000, -900, 600, 1020] {
        let by = f64::exp2(f64::from(exponent));
        let scaled = |x: &[f64]| x.iter().map(|x| x * by).collect::<Vec<_>>();
        let computed = all(&(scaled(&diag), scaled(&off)));
        let close = |a: &f64, b: &f64| (a / by - b).abs() <= 1e-15;
        assert!(computed.iter().zip(&values).all(|(a, b)| close(a, b)), "2^{exponent}");
    }
    // Uncoupled blocks of very different size keep their relative accuracy.
    let values = all(&(vec![1e150, 1e150, 1e-150, 1e-150], vec![1e149, 0.0, 1e-151]));
    for (value, expected) in values.iter().zip([0.9e-150, 1.1e-150, 0.9e150, 1.1e150]) {
        assert!((value / expected - 1.0).abs() < 1e-14, "{value} {expected}");
    }
    check("graded widely", &(vec![1e150, 1.0, 1e-150], vec![1e70, 1e-80]));
    assert!(all(&(vec![5e-324; 3], vec![5e-324; 2])).iter().all(|x| x.abs() <= 1.5e-323));
}

#[test]
fn simple_matrices_have_their_eigenvalues() {
    assert_eq!(all(&(vec![], vec![])), []);
    assert_eq!(all(&(vec![-3.5], vec![])), [-3.5]);
    assert_eq!(all(&(vec![1.0; 50], vec![0.0; 49])), [1.0; 50]);
    assert_eq!(all(&(vec![0.0; 50], vec![0.0; 49])), [0.0; 50]);
    assert_eq!(all(&(vec![3.0, 1.0, 2.0], vec![0.0; 2])), [1.0, 2.0, 3.0]);
    let values = all(&wilkinson(10));
    assert!((values[20] - 10.746_194_182_903_393).abs() < 4e-15 && (values[19] - 10.746_194_182_903_322).abs() < 4e-15);
    let n = 5000;
    for (k, value) in all(&(vec![2.0; n], vec![-1.0; n - 1])).iter().enumerate() {
        let half_angle = std::f64::consts::PI * (k + 1) as f64 / (2 * (n + 1)) as f64;
        assert!((value - 4.0 * half_angle.sin().powi(2)).abs() < 4e-15, "{k}");
    }
}

#[test]
fn ranges_are_parts_of_all() {
    for entries in
        [random(500, 3), glued(8, 0.0), glued(8, 1e-9), (vec![1.0; 20], vec![0.0; 19]), (vec![0.0; 20], vec![0.0; 19])]
    {
        let n = entries.0.len();
        let values = all(&entries);
        let close = |computed: &[f64], expected: &[f64]| {
            computed.len() == expected.len() && computed.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-14)
        };
        for indices in [0..1, 0..n, n / 2..n / 2 + 7, n - 1..n, 3..3] {
            let computed = eigenvalues(&entries, EigenvalueRange::Indices(indices.clone()));
            assert!(close(&computed, &values[indices.clone()]), "{indices:?}: {computed:?}");
        }
        for (from, to) in [(-0.4, 0.3), (0.9, 1.1), (f64::NEG_INFINITY, 0.5), (2.5, f64::INFINITY), (1.0, -1.0)] {
            let computed = eigenvalues(&entries, EigenvalueRange::Interval(from, to));
            let inside: Vec<f64> = values.iter().copied().filter(|x| from < *x && *x <= to).collect();
            assert!(close(&computed, &inside), "({from}, {to}]");
            let (diag, off) = &entries;
            let t = SymmetricTridiagonal::new(diag, off).expect("a matrix");
            let below = t.eigenvalues_below(from).expect("a count");
            assert_eq!(below, values.iter().filter(|x| **x <= from).count());
        }
    }
}

/// Count the eigenvalues λ ≤ σ of an integer matrix exactly, with integer minors. Also returns whether σ is an eigenvalue.
fn exact_count(diag: &[i64], off: &[i64], shift: i64) -> (usize, bool) {
    let (mut last, mut now, mut negative, mut count) = (0_i128, 1_i128, false, 0);
    for (k, d) in diag.iter().enumerate() {
        let coupling = if k > 0 { i128::from(off[k - 1]) } else { 0 };
        if k > 0 && coupling == 0 {
            // An uncoupled block begins here, so the minors start again.
            (last, now, negative) = (0, 1, false);
        }
        let next = i128::from(d - shift) * now - coupling * coupling * last;
        let side = if next == 0 { !negative } else { next < 0 };
        count += usize::from(side != negative);
        (last, now, negative) = (now, next, side);
    }
    (count, now == 0)
}

#[test]
fn intervals_are_half_open_at_exact_eigenvalues() {
    // The eigenvalues are 1 and 3.
    let two = (vec![2.0, 2.0], vec![-1.0]);
    for (ends, expected) in [
        ((1.0, 3.0), &[3.0][..]),
        ((0.0, 1.0), &[1.0]),
        ((1.0, 2.0), &[]),
        ((0.0, 3.0), &[1.0, 3.0]),
        ((3.0, 9.0), &[]),
    ] {
        assert_eq!(eigenvalues(&two, EigenvalueRange::Interval(ends.0, ends.1)), expected, "{ends:?}");
    }
    // For integer matrices and intervals with integer ends, counts are exact.
    let mut rng = Random::new(9);
    let mut at_an_end = 0;
    for case in 0..400 {
        let n = 1 + case % 7;
        let mut integers = |n: usize| rng.uniform_vec(n, -2.9, 2.9).iter().map(|x| *x as i64).collect::<Vec<_>>();
        let (diag, off) = (integers(n), integers(n - 1));
        let wide = |x: &[i64]| x.iter().map(|x| *x as f64).collect::<Vec<_>>();
        let entries = (wide(&diag), wide(&off));
        let counts: Vec<_> = (-9..=9).map(|shift| exact_count(&diag, &off, shift).0).collect();
        for from in 0..18 {
            for to in from + 1..19 {
                let ends = (from as f64 - 9.0, to as f64 - 9.0);
                let computed = eigenvalues(&entries, EigenvalueRange::Interval(ends.0, ends.1));
                assert_eq!(computed.len(), counts[to] - counts[from], "{entries:?} {ends:?}: {computed:?}");
                assert!(
                    computed.iter().all(|value| ends.0 < *value && *value <= ends.1),
                    "{entries:?} {ends:?}: {computed:?}"
                );
                at_an_end += computed.iter().filter(|value| **value == ends.1).count();
            }
        }
    }
    assert!(at_an_end > 400, "{at_an_end}");
}

#[test]
fn intervals_that_follow_have_each_eigenvalue_once() {
    // The ends are computed eigenvalues, so each end is within rounding errors of an eigenvalue.
    for entries in [random(60, 6), glued(3, 1e-13), wilkinson(10), (vec![0.0; 31], vec![1.0; 30])] {
        let mut ends = all(&entries);
        ends.dedup();
        ends.insert(0, f64::NEG_INFINITY);
        ends.push(f64::INFINITY);
        let inside = |pair: &[f64]| {
            let computed = eigenvalues(&entries, EigenvalueRange::Interval(pair[0], pair[1]));
            assert!(computed.iter().all(|value| pair[0] < *value && *value <= pair[1]), "{pair:?}: {computed:?}");
            computed.len()
        };
        assert_eq!(ends.windows(2).map(inside).sum::<usize>(), entries.0.len());
    }
}

#[test]
fn looser_tolerances_are_kept() {
    let entries = random(200, 4);
    let values = all(&entries);
    let t = SymmetricTridiagonal::new(&entries.0, &entries.1).expect("a matrix").tolerance(1e-4);
    let computed = t.eigenvalues(EigenvalueRange::All).expect("eigenvalues");
    assert!(computed.iter().zip(&values).all(|(a, b)| (a - b).abs() <= 1e-4));
}

#[test]
fn bad_input_is_refused() {
    let shape = |expected, got| Err(Error::Shape { what: "off", expected, got });
    assert_eq!(SymmetricTridiagonal::new(&[1.0, 2.0], &[]).map(|t| t.n()), shape(1, 0));
    let not_finite = |array, index| Err(Error::NotFinite { array, index });
    assert_eq!(SymmetricTridiagonal::new(&[1.0, f64::NAN], &[0.0]).map(|t| t.n()), not_finite("diag", 1));
    assert_eq!(SymmetricTridiagonal::new(&[1.0, 1.0], &[f64::INFINITY]).map(|t| t.n()), not_finite("off", 0));
    let t = SymmetricTridiagonal::new(&[1.0], &[]).expect("a matrix");
    assert!(matches!(t.eigenvalues(EigenvalueRange::Indices(0..2)), Err(Error::InvalidArgument { .. })));
    assert_eq!(t.eigenvalues(EigenvalueRange::Interval(0.0, f64::NAN)).map(|v| v.len()), not_finite("interval", 1));
    assert_eq!(t.eigenvalues_below(f64::NAN), not_finite("shift", 0));
}

/// Check the residuals in units of n·ε·‖T‖, and the orthogonality in units of n·ε.
fn check_vectors(name: &str, entries: &Entries) {
    let (diag, off) = entries;
    let n = diag.len();
    let t = SymmetricTridiagonal::new(diag, off).expect("a matrix");
    let pairs = t.eigenpairs(EigenvalueRange::All).unwrap_or_else(|error| panic!("{name}: {error}"));
    assert_eq!(pairs.values, all(entries), "{name}");
    let norm = diag.iter().chain(off).fold(0.0, |norm: f64, x| norm.max(x.abs()));
    let rows: Vec<&[f64]> = pairs.vectors.chunks_exact(n).collect();
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let (mut residual, mut overlap) = (0.0_f64, 0.0_f64);
    for (i, (value, z)) in pairs.values.iter().zip(&rows).enumerate() {
        for k in 0..n {
            let before = if k > 0 { off[k - 1] * z[k - 1] } else { 0.0 };
            let after = if k + 1 < n { off[k] * z[k + 1] } else { 0.0 };
            residual = residual.max((before + (diag[k] - value) * z[k] + after).abs());
        }
        for j in 0..=i {
            overlap = overlap.max((dot(z, rows[j]) - f64::from(u8::from(i == j))).abs());
        }
    }
    let rounding = f64::EPSILON * n as f64;
    println!("{name}: residual {:.2}, overlap {:.2} n roundings", residual / (rounding * norm), overlap / rounding);
    assert!(residual <= 4.0 * rounding * norm && overlap <= 4.0 * rounding, "{name}: {residual:e} {overlap:e}");
}

#[test]
fn parts_of_the_spectrum_have_vectors() {
    for entries in [random(90, 5), glued(8, 0.0), glued(8, 1e-13), (vec![0.0; 20], vec![0.0; 19])] {
        let (n, (diag, off)) = (entries.0.len(), &entries);
        let t = SymmetricTridiagonal::new(diag, off).expect("a matrix");
        for range in
            [EigenvalueRange::Indices(3..9), EigenvalueRange::Interval(-0.5, 0.5), EigenvalueRange::Interval(1e3, 1e4)]
        {
            let pairs = t.eigenpairs(range.clone()).expect("eigenpairs");
            assert_eq!(pairs.values, eigenvalues(&entries, range));
            assert_eq!(pairs.vectors.len(), n * pairs.values.len());
        }
    }
    for range in [EigenvalueRange::Interval(-2.0, 0.0), EigenvalueRange::Interval(-3.0, -2.0)] {
        let pairs = SymmetricTridiagonal::new(&[-2.0], &[]).and_then(|t| t.eigenpairs(range)).expect("eigenpairs");
        assert_eq!(pairs.vectors, vec![1.0; pairs.values.len()]);
    }
    let pairs = SymmetricTridiagonal::new(&[], &[]).and_then(|t| t.eigenpairs(EigenvalueRange::All));
    assert_eq!(pairs.expect("none").values, []);
}

#[test]
fn eigenvectors_of_many_matrices_are_orthogonal() {
    for n in [1, 2, 3, 4, 5, 10, 37, 300] {
        check_vectors("random", &random(n, n as u64));
    }
    check_vectors("second difference", &(vec![2.0; 400], vec![-1.0; 399]));
    check_vectors("wilkinson", &wilkinson(10));
    check_vectors("large wilkinson", &wilkinson(100));
    for glue in [0.0, 1e-15, 1e-14, 1e-12, 1e-10, 1e-7, 1e-4] {
        check_vectors(&format!("glued by {glue}"), &glued(12, glue));
    }
    check_vectors("identity", &(vec![1.0; 50], vec![0.0; 49]));
    check_vectors("nearly the identity", &(vec![1.0; 150], vec![1e-15; 149]));
    check_vectors("zeros", &(vec![0.0; 50], vec![0.0; 49]));
    check_vectors("zero diagonal", &(vec![0.0; 101], vec![1.0; 100]));
    let graded = |k: i32| 10_f64.powi(-k);
    check_vectors("graded", &((0..50).map(graded).collect(), (0..49).map(|k| 0.3 * graded(k)).collect()));
}

#[test]
fn eigenvalues_beyond_the_range_of_numbers_are_an_error() {
    // The eigenvalues are 1.75e308 + 1.4e308·cos(θ). Half of them exceed the largest number, which is approximately 1.8e308.
    let (diag, off) = (vec![1.75e308; 300], vec![-7e307; 299]);
    let matrix = SymmetricTridiagonal::new(&diag, &off).unwrap();
    for result in [matrix.eigenvalues(EigenvalueRange::All).err(), matrix.eigenpairs(EigenvalueRange::All).err()] {
        assert!(matches!(result, Some(Error::NotFinite { array: "eigenvalues", .. })), "{result:?}");
    }
    let least = matrix.eigenvalues(EigenvalueRange::Indices(0..3)).unwrap();
    assert!(least.iter().all(|value| (3.5e307..3.7e307).contains(value)), "{least:?}");
}
