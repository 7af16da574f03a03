//! An exactly zero pivot is an error: in every method, at every position, for every right-hand side, with and without
//! verification.

use crate::test_device;
use bandsolve::{
    Complex32, Complex64, Error, Factor, Layout, Method, Pivoting, Plan, RealScalar, Report, Result, Shape, Tridiagonal,
};
use bandsolve_gallery::Random;
use bandsolve_gpu::{
    Device, DeviceCsc, DeviceMatrix, DeviceScalar, DeviceSolver, DeviceVec, Emulation, HostMatrix, Spread,
};
use bandsolve_testkit::singular::{self, PLANTED, for_all_planted, matrix};

fn device(multiprocessors: usize) -> Device {
    test_device(Emulation { multiprocessors, ..Emulation::default() })
}

/// The results that should be `Singular` but are not.
#[derive(Default)]
struct Failures(Vec<String>);

impl Failures {
    fn see<X: core::fmt::Debug>(&mut self, what: core::fmt::Arguments<'_>, solved: Result<X>) {
        if !matches!(solved, Err(Error::Singular { .. })) {
            self.0.push(format!("{what}: {solved:?}"));
        }
    }

    #[track_caller]
    fn none(&self) {
        let shown = &self.0[..self.0.len().min(40)];
        assert!(self.0.is_empty(), "{} answers:\n{}", self.0.len(), shown.join("\n"));
    }
}

/// Ways to solve a tridiagonal system: method, rows per partition, multiprocessors. With 64 of them, a system needs one
/// launch.
const WAYS: [(Method, Option<usize>, usize); 8] = [
    (Method::Auto, None, 1),
    (Method::Rpts, Some(5), 1),
    (Method::Rpts, Some(7), 64),
    (Method::SpikeDiagonalPivoting, Some(9), 1),
    (Method::SpikeThomas, None, 1),
    (Method::SpikeCr, Some(100), 1),
    (Method::CfLu, None, 1),
    (Method::ParallelDiagonalPivoting, None, 1),
];

fn plan(shape: Shape, (method, m, _): (Method, Option<usize>, usize), verify: bool) -> Plan {
    let plan = Plan::new(shape).method(method).verify(verify);
    m.map_or(plan.clone(), |m| plan.partition_rows(m))
}

/// Solve on a device, with or without stored factors. All right-hand sides are `rhs`, except for the last one, which is
/// zero.
fn solve<T: DeviceScalar>(
    device: &Device,
    plan: &Plan,
    a: &dyn HostMatrix<T>,
    (rhs, n_rhs, stored): (&[T], usize, bool),
) -> Result<Report> {
    let mut all = rhs.repeat(n_rhs);
    if n_rhs > 1 {
        all[(n_rhs - 1) * rhs.len()..].fill(T::ZERO);
    }
    let (arrays, leading) = a.upload(device)?;
    let matrix = match &*arrays {
        [sub, diag, sup] => DeviceMatrix::block_tridiagonal(sub, diag, sup),
        bands => DeviceMatrix::banded(&bands[0], leading),
    };
    let (rhs, mut x) = (device.upload(&all)?, device.zeros::<T>(all.len())?);
    let mut solver = DeviceSolver::new(device, plan, n_rhs)?;
    if !stored {
        return solver.solve(matrix, &rhs, &mut x);
    }
    let mut factors = solver.factor(matrix)?;
    _ = factors.solve(&rhs, &mut x);
    // The second solve must give the same result as the first.
    factors.solve(&rhs, &mut x)
}

fn tridiagonal<T: DeviceScalar>(small: f64) {
    let mut failures = Failures::default();
    let mut random = Random::new(1);
    for_all_planted::<T>(small, |what, a, rhs| {
        // Two random ways for each matrix. All matrices of a kind together use every way.
        for _ in 0..2 {
            let way = WAYS[random.below(WAYS.len())];
            let scan = matches!(way.0, Method::CfLu | Method::ParallelDiagonalPivoting);
            let factors = way.2 == 1 && !scan && way.0 != Method::SpikeCr;
            let stored = factors && random.bernoulli(0.3);
            let (verify, n_rhs) = (random.bernoulli(0.5), [1, 3][random.below(2)]);
            let solved = solve(&device(way.2), &plan(a.shape(), way, verify), a, (rhs, n_rhs, stored));
            failures.see(format_args!("{way:?}, {verify}, {n_rhs}, {stored}, {what}"), solved);
        }
    });
    failures.none();
}

/// The same matrices as bands with diagonals of zeros, and divided into blocks.
fn banded_and_blocks<T: DeviceScalar>(small: f64) {
    let mut failures = Failures::default();
    let mut random = Random::new(2);
    for_all_planted::<T>(small, |what, a, rhs| {
        let (verify, m, half) = (random.bernoulli(0.5), [None, Some(3), Some(6)][random.below(3)], 1 + random.below(4));
        let way = (Method::Auto, m, 1);
        let band = singular::banded(a, half);
        let solved = solve(&device(1), &plan(band.shape(), way, verify), &band, (rhs, 1, false));
        failures.see(format_args!("band {half}, {m:?}, {verify}, {what}"), solved);
        for b in [2, 3].into_iter().filter(|b| a.n() % b == 0) {
            let blocks = singular::blocks(a, b);
            let (n_rhs, stored) = (1 + random.below(2), random.bernoulli(0.3));
            let way = (way.0, m, if stored { 1 } else { [1, 64][random.below(2)] });
            let solved = solve(&device(way.2), &plan(blocks.shape(), way, verify), &blocks, (rhs, n_rhs, stored));
            failures.see(format_args!("blocks of {b}, {way:?}, {verify}, {n_rhs}, {stored}, {what}"), solved);
        }
    });
    failures.none();
}

/// A batch on a device, which is solved in place. x is initially zero.
struct Batch<T> {
    shape: Shape,
    arrays: [Vec<T>; 3],
    rhs: Vec<T>,
}

impl<T: DeviceScalar> Batch<T> {
    /// Systems of n rows. All right-hand sides are large, except in the special system.
    fn new(systems: &[(Tridiagonal<'_, T>, Vec<T>)], interleaved: bool) -> Self {
        let (n, count) = (systems[0].1.len(), systems.len());
        let matrices: Vec<_> = systems.iter().map(|system| system.0.clone()).collect();
        let at = |e: usize| if interleaved { systems[e % count].1[e / count] } else { systems[e / n].1[e % n] };
        let layout = if interleaved { Layout::Interleaved } else { Layout::Contiguous };
        let shape = Shape::Batch { n, count, layout, periodic: false };
        Self { shape, arrays: singular::batch(&matrices, interleaved), rhs: (0..n * count).map(at).collect() }
    }

    fn solve(&self, method: Method, verify: bool, n_rhs: usize, stored: bool) -> (Result<Report>, Vec<T>) {
        let device = device(1);
        let [sub, diag, sup] = self.arrays.each_ref().map(|array| device.upload(array).unwrap());
        let rhs = device.upload(&self.rhs.repeat(n_rhs)).unwrap();
        let mut x: DeviceVec<T> = device.zeros(rhs.len()).unwrap();
        let plan = Plan::new(self.shape).method(method).verify(verify);
        let mut solver = DeviceSolver::new(&device, &plan, n_rhs).unwrap();
        let a = DeviceMatrix::tridiagonal(&sub, &diag, &sup);
        let solved = if stored { solver.factor(a).unwrap().solve(&rhs, &mut x) } else { solver.solve(a, &rhs, &mut x) };
        (solved, x.download().unwrap())
    }
}

/// One singular system among regular ones, whose solutions must be the same as without the singular one.
fn batches<T: DeviceScalar>(small: f64) {
    let mut failures = Failures::default();
    let count = 20;
    let mut random = Random::new(3);
    for (n, s) in [(11, 0), (11, 7), (11, 19), (70, 13)] {
        for planted in PLANTED {
            for first in [0, 3, n - planted.len()] {
                let regular: (Tridiagonal<'_, T>, Vec<T>) = (matrix(n, n, planted, 1.0), singular::rhs(n, n, small));
                let mut systems = vec![regular; count];
                let all_good = systems.clone();
                systems[s] = (matrix(n, first, planted, 1.0), singular::rhs(n, first, small));
                for (interleaved, method) in [(false, Method::Auto), (true, Method::Auto), (false, Method::Pcr)] {
                    let (verify, n_rhs) = (random.bernoulli(0.5), 1 + random.below(2));
                    let stored = random.bernoulli(0.3) && !interleaved && method == Method::Auto;
                    let ask = |systems: &[_]| Batch::new(systems, interleaved).solve(method, verify, n_rhs, stored);
                    let ((solved, x), (regular, expected)) = (ask(&systems), ask(&all_good));
                    let what = format!("{n}, {first}, {interleaved}, {method:?}, {verify}, {n_rhs}, {stored}");
                    let row = if let Err(Error::Singular { row }) = &solved { *row } else { s * n };
                    assert_eq!(row / n, s, "{what}");
                    failures.see(format_args!("{what}, system {s}, {planted:?}"), solved);
                    assert!(!regular.unwrap().fallback, "{what}");
                    let other = |e: usize| if interleaved { e % count != s } else { e % (n * count) / n != s };
                    assert!((0..x.len()).filter(|e| other(*e)).all(|e| x[e] == expected[e]), "{what}");
                }
            }
        }
    }
    failures.none();
}

#[test]
fn tridiagonal_f32() {
    tridiagonal::<f32>(1e-7);
}

#[test]
fn tridiagonal_f64() {
    tridiagonal::<f64>(1e-250);
}

#[test]
fn banded_and_blocks_f32() {
    banded_and_blocks::<f32>(1e-7);
}

#[test]
fn banded_and_blocks_c64() {
    banded_and_blocks::<Complex64>(1e-250);
}

#[test]
fn batches_f64() {
    batches::<f64>(1e-250);
}

#[test]
fn batches_c32() {
    batches::<Complex32>(1e-7);
}

/// Right-hand sides with two numbers, and systems in parts.
#[test]
fn sparse_right_hand_sides_and_parts() {
    let mut failures = Failures::default();
    let n = 3000;
    for (first, verify) in [(500, true), (1000, false), (1003, true), (1004, false), (2999, true)] {
        for planted in PLANTED.into_iter().filter(|planted| first + planted.len() <= n) {
            let a = matrix::<f64>(n, first, planted, 1.0);
            let (device, plan) = (device(1), Plan::new(a.shape()).verify(verify));
            let what = format!("{first}, {verify}, {planted:?}");
            let (arrays, _) = a.upload(&device).unwrap();
            let (pointers, rows) =
                (device.upload(&[0, 2]).unwrap(), device.upload(&[first.min(99) as i32, first as i32]));
            let (rows, values) = (rows.unwrap(), device.upload(&[100.0, 1e-250]).unwrap());
            let csc = DeviceCsc::new(&pointers, &rows, &values).unwrap();
            let mut x = device.zeros(n).unwrap();
            let mut solver = DeviceSolver::new(&device, &plan, 1).unwrap();
            let solved =
                solver.solve_sparse(DeviceMatrix::tridiagonal(&arrays[0], &arrays[1], &arrays[2]), csc, &mut x);
            failures.see(format_args!("sparse, {what}"), solved);
            let rhs = singular::rhs(n, first, 1e-250);
            let in_parts =
                [Spread::over(&[device.clone(), self::device(1)], &plan), Spread::through(&device, &plan, 500)];
            for mut spread in in_parts.map(Result::unwrap) {
                failures
                    .see(format_args!("{} parts, {what}", spread.parts()), spread.solve(&a, &rhs, &mut vec![0.0; n]));
            }
        }
    }
    failures.none();
}

/// One row is twice another, so that only rounding errors remain of a pivot.
#[test]
fn pivots_that_were_rounded() {
    fn check<T: DeviceScalar>(small: f64) {
        let mut failures = Failures::default();
        for (first, way) in [0, 14, 15, 16, 31, 150, 298].into_iter().flat_map(|first| WAYS.map(|way| (first, way))) {
            let a = matrix::<T>(300, first, &[[0.0, 0.3, 0.7], [0.6, 1.4, 0.0]], 1.0);
            let rhs = singular::rhs(300, first, small);
            let solved = solve(&device(way.2), &plan(a.shape(), way, first % 2 == 0), &a, (&rhs, 1, false));
            failures.see(format_args!("{} {way:?}, {first}", T::NAME), solved);
        }
        failures.none();
    }
    check::<f32>(1e-7);
    check::<f64>(1e-17);
}

/// If rows may not be exchanged, the host solves systems with a zero pivot with row exchanges.
#[test]
fn pairs_are_solved_without_exchanges() {
    for n in [2, 40, 126, 700] {
        let beside = |odd: usize| (0..n).map(|i| f64::from(u8::from(i % 2 == odd))).collect::<Vec<f64>>();
        let a = Tridiagonal::from_vecs(beside(1), vec![0.0; n], beside(0), false).unwrap();
        let rhs: Vec<f64> = (0..n).map(|i| (i as f64).cos()).collect();
        for (way, verify) in WAYS.into_iter().flat_map(|way| [(way, true), (way, false)]) {
            let plan = plan(a.shape(), way, verify).pivoting(Pivoting::None);
            let x = device(way.2).factor(&plan, &a).unwrap().solve(&rhs).unwrap();
            assert!((0..n).all(|i| x.values[i] == rhs[i ^ 1]), "{way:?}, n = {n}, {verify}: {:?}", x.report);
        }
    }
}

/// If all pivots exist, however small, there is a solution. With and without verification, the host computes it where
/// necessary.
#[test]
fn what_is_not_singular_is_solved() {
    let n = 200;
    for verify in [true, false] {
        let a = matrix::<f64>(n, 101, &[[0.0, 1e-300, 0.0]], 1.0);
        let factors = device(1).factor(&Plan::new(a.shape()).verify(verify), &a);
        let solved = factors.unwrap().solve(&vec![1.0; n]).unwrap();
        assert!(!solved.report.fallback && (solved.values[101] - 1e300).abs() < 1e286, "{:?}", solved.report);
    }
    let planted: singular::SingularRows = &[[0.0, 1.0, 1.0], [1.0, 1.000_000_000_000_000_2, 0.0]];
    for verify in [true, false] {
        let a = matrix::<f64>(n, 101, planted, 1.0);
        let factors = device(1).factor(&Plan::new(a.shape()).verify(verify), &a);
        let solved = factors.unwrap().solve(&vec![1.0; n]).unwrap();
        assert!(solved.report.fallback && solved.values[101..103] == [1.0, 0.0], "{:?}", solved.report);
    }
}

/// x that grows without a small pivot, and x from a nearly zero pivot: `attention` must be set, in every way, and for
/// the first system of a batch.
fn solutions_without_a_digit<T: DeviceScalar>() {
    let epsilon = T::Real::EPSILON.to_f64();
    let rounded: &[[f64; 3]] = &[[0.0, 1.0, 1.0], [1.0, 1.0 + epsilon, 0.0]];
    let ones = |n: usize| vec![T::ONE; n];
    let split = |n: usize| (0..n).map(|i| if i == 41 { -T::ONE } else { T::ONE }).collect::<Vec<T>>();
    let check = |what: core::fmt::Arguments<'_>, solved: Result<Report>, expected: bool| {
        let report = solved.unwrap();
        let warned = report.attention.as_ref().is_some_and(|words| words.contains("no correct digit"));
        assert_eq!(warned, expected, "{} {what}: {report:?}", T::NAME);
    };
    for n in [100, 3000] {
        let matrices = [
            (singular::growth::<T>(n, true), ones(n), true),
            (singular::growth(n, false), ones(n), false),
            (matrix(n, 40, rounded, 1.0), split(n), true),
            (matrix(n, 40, rounded, 1.0), ones(n), false),
        ];
        for (k, (a, rhs, expected)) in matrices.iter().enumerate() {
            for way in WAYS {
                for n_rhs in [1, 2] {
                    let solved = solve(&device(way.2), &plan(a.shape(), way, true), a, (rhs, n_rhs, false));
                    check(format_args!("{k} {way:?} {n} {n_rhs}"), solved, *expected);
                }
            }
            let way = (Method::Auto, None, 1);
            let (band, blocks) = (singular::banded(a, 2), singular::blocks(a, 2));
            let solved = solve(&device(1), &plan(band.shape(), way, true), &band, (rhs, 1, false));
            check(format_args!("{k} band {n}"), solved, *expected);
            let solved = solve(&device(1), &plan(blocks.shape(), way, true), &blocks, (rhs, 1, true));
            check(format_args!("{k} blocks {n}"), solved, *expected);
            if n == 3000 {
                let plan = plan(a.shape(), way, true);
                let mut spread = Spread::through(&device(1), &plan, 500).unwrap();
                check(format_args!("{k} parts"), spread.solve(a, rhs, &mut vec![T::ZERO; n]), *expected);
            }
        }
        // The device summarizes the measurements of 70 systems.
        for count in if n == 100 { &[5, 70][..] } else { &[5] } {
            for (interleaved, bad) in [false, true].into_iter().flat_map(|i| [0, 1, 2].map(|bad| (i, bad))) {
                let systems: Vec<_> = (0..*count).map(|s| if s == 3 { &matrices[bad] } else { &matrices[1] }).collect();
                let systems: Vec<_> = systems.into_iter().map(|(a, rhs, _)| (a.clone(), rhs.clone())).collect();
                let solved = Batch::new(&systems, interleaved).solve(Method::Auto, true, 1, false).0;
                check(format_args!("batch {bad} {interleaved} {count} {n}"), solved, bad != 1);
            }
        }
    }
}

/// Of 70 systems, the error is the largest one of all, and a singular system is found.
#[test]
fn many_systems_are_summarized() {
    let (n, count) = (40, 70);
    let random = |s: usize| {
        let entry = |k: usize, i: usize| ((7 * s + 3 * k + 5 * i) as f64).sin();
        let [sub, diag, sup] =
            [0, 1, 2].map(|k| (0..n).map(|i| entry(k, i) + if k == 1 { 3.0 } else { 0.0 }).collect());
        let rhs: Vec<f64> = (0..n).map(|i| entry(3, i)).collect();
        (Tridiagonal::from_vecs(sub, diag, sup, false).unwrap(), rhs)
    };
    for interleaved in [false, true] {
        let mut systems: Vec<_> = (0..count).map(random).collect();
        let together = Batch::new(&systems, interleaved).solve(Method::Auto, true, 1, false).0.unwrap();
        let alone = systems.iter().map(|system| Batch::new(core::slice::from_ref(system), interleaved));
        let errors = alone.map(|batch| batch.solve(Method::Auto, true, 1, false).0.unwrap().backward_error);
        assert_eq!(together.backward_error, errors.fold(0.0, f64::max), "{interleaved}");
        systems[50].0 = matrix(n, 7, &[[0.0, 0.0, 0.0]], 1.0);
        let solved = Batch::new(&systems, interleaved).solve(Method::Auto, true, 1, false).0;
        assert!(matches!(solved, Err(Error::Singular { row: 2007 })), "{interleaved}: {solved:?}");
    }
}

#[test]
fn solutions_without_a_digit_are_named() {
    solutions_without_a_digit::<f32>();
    solutions_without_a_digit::<f64>();
    solutions_without_a_digit::<Complex32>();
    solutions_without_a_digit::<Complex64>();
}
