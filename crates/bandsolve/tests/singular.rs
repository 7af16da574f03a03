//! A pivot that is exactly zero is an error in all methods, in any row, for any right-hand side, with and without verification.

use bandsolve::dyn_stack::{PodBuffer, PodStack};
use bandsolve::prelude::*;
use bandsolve::{Complex32, Complex64, Factorize, RealScalar, Report, Scalar};
use bandsolve_testkit::singular::{self, PLANTED, for_all_planted, matrix};

fn methods(shape: Shape) -> Vec<Method> {
    let all = Method::ALL.into_iter().filter(|method| method.solves(shape) && !method.needs_definite());
    core::iter::once(Method::Auto).chain(all).collect()
}

/// Solve by all methods, with and without verification, and add results other than `Singular` to `failures`.
fn ask<T: Scalar, M: Factorize<Scalar = T>>(
    what: &str,
    (a, shape): (&M, Shape),
    rhs: &[T],
    failures: &mut Vec<String>,
) {
    for (method, verify) in methods(shape).into_iter().flat_map(|method| [(method, true), (method, false)]) {
        let plan = Plan::new(shape).method(method).verify(verify).threads(1);
        match plan.factor(a).and_then(|factors| factors.solve(rhs)) {
            Err(Error::Singular { .. }) => {}
            other => failures.push(format!("{method:?} {shape:?} {verify} {what}: {:?}", other.map(|x| x.report))),
        }
    }
}

#[track_caller]
fn none(failures: &[String]) {
    let shown = &failures[..failures.len().min(40)];
    assert!(failures.is_empty(), "{} answers:\n{}", failures.len(), shown.join("\n"));
}

fn tridiagonal<T: Scalar>(small: f64) {
    let mut failures = Vec::new();
    for_all_planted::<T>(small, |what, a, rhs| ask(what, (a, a.shape()), rhs, &mut failures));
    none(&failures);
}

/// Right-hand sides with two nonzeros, in the singular rows and far from them.
#[test]
fn sparse_right_hand_sides() {
    let n = 9000;
    for first in [3000, 3006, 3007, 3008, 3015, 4000] {
        for (planted, verify) in PLANTED.into_iter().flat_map(|planted| [(planted, true), (planted, false)]) {
            let a = matrix::<f64>(n, first, planted, 1.0);
            for method in [Method::Auto, Method::Rpts, Method::SpikeDiagonalPivoting, Method::SpikeThomas] {
                let factors = Plan::new(a.shape()).method(method).verify(verify).factor(&a).unwrap();
                let rows = [first, 8000];
                let rhs = Csc::new(n, &[0, 2], &rows, &[1e-250, 100.0]).unwrap();
                let solved = factors.solve_sparse_into(Op::Plain, &rhs, &mut vec![0.0; n]);
                assert!(matches!(solved, Err(Error::Singular { .. })), "{method:?}, {first}, {planted:?}: {solved:?}");
            }
        }
    }
}

/// The same matrices as bands with diagonals of zeros, and as block tridiagonal matrices.
fn banded_and_blocks<T: Scalar>(small: f64) {
    let mut failures = Vec::new();
    for_all_planted::<T>(small, |what, a, rhs| {
        for half in [1, 2, 4, 20] {
            let band = singular::banded(a, half);
            ask(what, (&band, band.shape()), rhs, &mut failures);
        }
        for b in [1, 2, 5].into_iter().filter(|b| a.n() % b == 0) {
            let blocks = singular::blocks(a, b);
            ask(what, (&blocks, blocks.shape()), rhs, &mut failures);
        }
    });
    none(&failures);
}

/// A batch with one singular system among regular ones with large right-hand sides.
fn batches<T: Scalar>(small: f64) {
    let mut failures = Vec::new();
    let (n, count) = (11, 40);
    for (s, planted) in [0, 7, 17, 39].into_iter().flat_map(|s| PLANTED.into_iter().map(move |planted| (s, planted))) {
        for first in [0, 3, n - planted.len()] {
            let systems: Vec<Tridiagonal<'_, T>> = (0..count)
                .map(|k| if k == s { matrix(n, first, planted, 1.0) } else { matrix(n, n, planted, 1.0) })
                .collect();
            for interleaved in [false, true] {
                let [sub, diag, sup] = singular::batch(&systems, interleaved);
                let make = if interleaved { TridiagonalBatch::interleaved } else { TridiagonalBatch::contiguous };
                let a = make(count, n, &sub, &diag, &sup).unwrap();
                let what = format!("system {s} of {count}, planted at {first}, interleaved: {interleaved}");
                ask(&what, (&a, a.shape()), &vec![T::from_real(T::Real::from_f64(small)); n * count], &mut failures);
            }
        }
    }
    none(&failures);
}

macro_rules! for_all_scalars {
    ($($kind:ident: $f32:ident $f64:ident $c32:ident $c64:ident),*) => {$(
        #[test]
        fn $f32() {
            $kind::<f32>(1e-7);
        }

        #[test]
        fn $f64() {
            $kind::<f64>(1e-250);
        }

        #[test]
        fn $c32() {
            $kind::<Complex32>(1e-7);
        }

        #[test]
        fn $c64() {
            $kind::<Complex64>(1e-250);
        }
    )*};
}
for_all_scalars!(
    tridiagonal: tridiagonal_f32 tridiagonal_f64 tridiagonal_c32 tridiagonal_c64,
    banded_and_blocks: banded_and_blocks_f32 banded_and_blocks_f64 banded_and_blocks_c32 banded_and_blocks_c64,
    batches: batches_f32 batches_f64 batches_c32 batches_c64
);

/// If a plan without row exchanges meets a zero pivot, the fallback exchanges rows. A bad choice costs time, but no digits.
#[test]
fn pairs_are_solved_without_exchanges() {
    for n in [2, 126, 128, 2000] {
        let beside = |odd: usize| (0..n).map(|i| f64::from(u8::from(i % 2 == odd))).collect::<Vec<f64>>();
        let a = Tridiagonal::from_vecs(beside(1), vec![0.0; n], beside(0), false).unwrap();
        let rhs: Vec<f64> = (0..n).map(|i| (i as f64).cos()).collect();
        for (method, verify) in methods(a.shape()).into_iter().flat_map(|method| [(method, true), (method, false)]) {
            let plan = Plan::new(a.shape()).method(method).pivoting(Pivoting::None).verify(verify);
            let x = plan.factor(&a).unwrap().solve(&rhs).unwrap_or_else(|why| panic!("{method:?}, n = {n}: {why}"));
            assert!((0..n).all(|i| x.values[i] == rhs[i ^ 1]), "{method:?}, n = {n}, {verify}");
            let determinant = plan.factor(&a).unwrap().determinant().unwrap();
            assert!(!determinant.is_zero(), "{method:?}, n = {n}");
        }
    }
}

/// The solver solves for all columns that it can, and the error names all others.
#[test]
fn all_columns_are_solved_and_the_bad_ones_named() {
    let n = 300;
    let a: Tridiagonal<'_, f64> = matrix(n, n, PLANTED[0], 1.0);
    let good = vec![1.0; n];
    let x = a.solve(&good).unwrap().values;
    let mut rhs = good.repeat(7);
    (rhs[n + 17], rhs[4 * n]) = (f64::NAN, f64::INFINITY);
    let blocks = |k: usize| vec![[1.0, 0.0, 0.0, 1.0], [4.0, 0.0, 0.0, 4.0], [1.0, 0.0, 0.0, 1.0]][k].repeat(n / 2);
    let block = BlockTridiagonal::from_vecs(2, [blocks(0), blocks(1), blocks(2)], false).unwrap();
    let y = block.solve(&good).unwrap().values;
    let check = |what: String, solved: Result<Report, Error>, values: &[f64], x: &[f64]| {
        let expected = Error::NotFinite { array: "rhs", index: n + 17 };
        match solved {
            Err(Error::Columns { first, columns }) => {
                assert_eq!((*first, columns), (expected, vec![1, 4]), "{what}");
            }
            other => panic!("{what}: {other:?}"),
        }
        for column in [0, 2, 3, 5, 6] {
            let close = |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-14;
            assert!(values[column * n..][..n].iter().zip(x).all(close), "{what}, column {column}");
        }
    };
    for method in methods(a.shape()) {
        let factors = Plan::new(a.shape()).method(method).factor(&a).unwrap();
        let mut values = rhs.clone();
        let solved = factors.solve_in_place(&mut values);
        check(format!("{method:?}"), solved, &values, &x);
    }
    for method in methods(block.shape()) {
        let factors = Plan::new(block.shape()).method(method).factor(&block).unwrap();
        let mut values = rhs.clone();
        let solved = factors.solve_in_place(&mut values);
        check(format!("{method:?} in blocks"), solved, &values, &y);
    }
}

/// Rows `[1 1; 1 1 + ε]` among rows of a unit matrix or rows `[1 1; 1 3]`. x has entries of size 1/ε and 1, with a small backward error.
fn attention<T: Scalar>() {
    let (n, one) = (3000, T::ONE);
    let rhs: Vec<T> = (0..n).map(|i| if i % 2 == 0 { one } else { -one }).collect();
    for (last, expected) in [(T::Real::ONE + T::Real::EPSILON, true), (T::Real::from_f64(3.0), false)] {
        let corner = |i: usize, other: T| if i == 1501 { T::from_real(last) } else { other };
        let diag: Vec<T> = (0..n).map(|i| corner(i, one)).collect();
        let beside = |first: usize| -> Vec<T> { (0..n).map(|i| if i == first { one } else { T::ZERO }).collect() };
        let a = Tridiagonal::from_vecs(beside(1501), diag, beside(1500), false).unwrap();
        let said = |what: &str, answer: bandsolve::Result<Report>| match answer {
            // A pivot of a method without pivoting, or of its inner system, is exactly zero.
            Err(Error::Singular { .. }) if expected => {}
            Ok(report) if report.attention.is_some() == expected => {}
            other => panic!("{} {what} {expected}: {other:?}", T::NAME),
        };
        for method in methods(a.shape()) {
            let solved = Plan::new(a.shape()).method(method).factor(&a).and_then(|factors| factors.solve(&rhs));
            said(method.name(), solved.map(|solution| solution.report));
        }
        let band = singular::banded(&a, 4);
        for method in methods(band.shape()) {
            let solved = Plan::new(band.shape()).method(method).factor(&band).and_then(|factors| factors.solve(&rhs));
            said(method.name(), solved.map(|solution| solution.report));
        }
        let blocks = singular::blocks(&a, 2);
        for method in methods(blocks.shape()) {
            let solved =
                Plan::new(blocks.shape()).method(method).factor(&blocks).and_then(|factors| factors.solve(&rhs));
            said(method.name(), solved.map(|solution| solution.report));
        }
    }
}

/// Systems without a small pivot in which x grows, for all methods and for short and long systems.
fn growth<T: Scalar>() {
    for (n, growing) in [(100, true), (100, false), (5000, true), (5000, false)] {
        let (a, rhs) = (singular::growth::<T>(n, growing), vec![T::ONE; n]);
        let blocks = singular::blocks(&a, 2);
        let mut answers = Vec::new();
        for method in methods(a.shape()) {
            let solved = Plan::new(a.shape()).method(method).factor(&a).and_then(|factors| factors.solve(&rhs));
            answers.push((method, solved));
        }
        for method in methods(blocks.shape()) {
            let solved =
                Plan::new(blocks.shape()).method(method).factor(&blocks).and_then(|factors| factors.solve(&rhs));
            answers.push((method, solved));
        }
        for (method, solved) in answers {
            let said = solved.as_ref().map(|solution| solution.report.attention.is_some());
            assert_eq!(said, Ok(growing), "{} {method:?} {n}: {:?}", T::NAME, solved.as_ref().map(|s| &s.report));
        }
    }
}

/// Batches in which some systems have an x without a correct digit.
///
/// The warning is about the first of these systems, and is the same in both layouts and for any number of threads. All other batches have
/// no warning.
fn batches_without_a_digit<T: Scalar>() {
    // Enough systems for three threads.
    let (n, count) = (80, 1003);
    let [good, bad] = [false, true].map(|growing| singular::growth::<T>(n, growing));
    // A pivot of this system may be zero up to rounding, so it is solved again alone.
    let rounded: &[[f64; 3]] = &[[0.0, 1.0, 1.0], [1.0, 1.0 + T::Real::EPSILON.to_f64(), 0.0]];
    let alone: Tridiagonal<'_, T> = singular::matrix(n, 40, rounded, 1.0);
    let ones = vec![T::ONE; n];
    let mut split = ones.clone();
    split[41] = -T::ONE;
    let of_bad = bad.solve(&ones).unwrap().report.attention;
    assert!(of_bad.is_some());
    // The systems of each kind, whether there is a warning, and whether it is about a growing system.
    let cases: [(&[usize], &[usize], [bool; 2]); 7] = [
        (&[], &[], [false, false]),
        (&[0], &[], [true, true]),
        (&[500, 700], &[], [true, true]),
        (&[1002], &[], [true, true]),
        (&[], &[400, 900], [true, false]),
        (&[600], &[400], [true, false]),
        (&[400], &[600, 1001], [true, true]),
    ];
    for (grown, singles, [some, of_grown]) in cases {
        let mut said = [None, None];
        let system = |s: usize| match s {
            s if grown.contains(&s) => (&bad, &ones),
            s if singles.contains(&s) => (&alone, &split),
            _ => (&good, &ones),
        };
        for (layout, op) in
            [Layout::Contiguous, Layout::Interleaved].into_iter().flat_map(|l| [(l, Op::Plain), (l, Op::Transpose)])
        {
            // The transposes of growing systems have a tiny last pivot.
            if op == Op::Transpose && !grown.is_empty() {
                continue;
            }
            let place = |e: usize| if layout == Layout::Contiguous { (e / n, e % n) } else { (e % count, e / count) };
            let array = |pick: &dyn Fn(usize, usize) -> T| -> Vec<T> {
                (0..n * count).map(place).map(|(s, i)| pick(s, i)).collect()
            };
            let matrices: Vec<_> = (0..count).map(|s| system(s).0.view()).collect();
            let [sub, diag, sup] = singular::batch(&matrices, layout == Layout::Interleaved);
            let a = TridiagonalBatch::new(count, n, layout, &sub, &diag, &sup).unwrap();
            // x of the first of two right-hand sides does not grow.
            let mut rhs = array(&|s, i| match (system(s).0.arrays(), grown.contains(&s)) {
                ([_, diag, sup], true) => diag[i] + sup[i],
                ([_, diag, _], false) => diag[i],
            });
            rhs.extend(array(&|s, i| system(s).1[i]));
            for threads in [1, 2, 3] {
                let plan = Plan::new(a.shape()).threads(threads);
                let mut x = rhs.clone();
                let factors = plan.factor(&a).unwrap();
                let mut memory = PodBuffer::new(factors.solve_in_place_scratch(2));
                let report = factors.solve_in_place_with(op, &mut x, PodStack::new(&mut memory)).unwrap();
                let words = report.attention;
                let same = *said[usize::from(op != Op::Plain)].get_or_insert_with(|| words.clone()) == words;
                assert!(
                    same && words.is_some() == some && (some && words == of_bad) == of_grown,
                    "{} {grown:?} {singles:?} {layout:?} {op:?} {threads}: {words:?}",
                    T::NAME
                );
            }
        }
    }
}

#[test]
fn growing_solutions_are_named() {
    growth::<f32>();
    growth::<f64>();
    growth::<Complex32>();
    growth::<Complex64>();
}

#[test]
fn batches_tell_of_the_first_solution_without_a_digit() {
    batches_without_a_digit::<f32>();
    batches_without_a_digit::<f64>();
    batches_without_a_digit::<Complex32>();
    batches_without_a_digit::<Complex64>();
}

#[test]
fn solutions_without_a_digit_are_named() {
    attention::<f32>();
    attention::<f64>();
    attention::<Complex32>();
    attention::<Complex64>();
}
