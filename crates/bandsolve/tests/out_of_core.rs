//! Systems that are solved in pieces, against an independent measurement, and against saved states.

use bandsolve::out_of_core::{OutOfCoreSolver, PieceRows};
use bandsolve::prelude::*;
use bandsolve::{Complex32, Complex64, RealScalar, Scalar};
use bandsolve_gallery::matrices::toeplitz;
use bandsolve_gallery::oracle::backward_error;
use bandsolve_gallery::tables::{chang, x_true};
use bandsolve_gallery::{Random, random_vec};
use bandsolve_testkit::singular::for_all_planted;

/// The arrays of a system, with n numbers each.
struct Arrays<T> {
    arrays: [Vec<T>; 4],
}

impl<T: Scalar> Arrays<T> {
    fn new(a: &Tridiagonal<'_, T>, rhs: &[T]) -> Self {
        let n = a.n();
        let rows: Vec<_> = (0..n).map(|i| a.row(i)).collect();
        let mut arrays = [
            rows.iter().map(|row| row.0).collect(),
            rows.iter().map(|row| row.1).collect(),
            rows.iter().map(|row| row.2).collect(),
            rhs.to_vec(),
        ];
        // Entries outside of the matrix may have any value.
        if n > 0 {
            arrays[0][0] = T::from_real(T::Real::NAN);
            arrays[2][n - 1] = T::from_real(T::Real::NAN);
        }
        Self { arrays }
    }

    /// Take the next piece. Returns whether there was one.
    fn step(&self, solver: &mut OutOfCoreSolver<T>, x: &mut [T]) -> Result<bool, Error> {
        let Some(piece) = solver.next_piece() else { return Ok(false) };
        let rows = piece.rows;
        let [sub, diag, sup, rhs] = [0, 1, 2, 3].map(|k| &self.arrays[k][rows.clone()]);
        solver.advance(PieceRows { sub, diag, sup, rhs }, &mut x[rows]).map(|()| true)
    }

    fn solve(&self, piece_rows: usize) -> (Vec<T>, Result<Report, Error>) {
        let n = self.arrays[1].len();
        let mut x = vec![T::from_real(T::Real::NAN); n];
        let mut solver = OutOfCoreSolver::new(n, piece_rows).unwrap();
        let report = loop {
            match self.step(&mut solver, &mut x) {
                Ok(true) => {}
                Ok(false) => break solver.report(),
                Err(error) => break Err(error),
            }
        };
        (x, report)
    }
}

/// Solve with pieces of several sizes, and measure x. Returns the number of refinement steps.
fn check<T: Scalar>(what: &str, a: &Tridiagonal<'_, T>, rhs: &[T]) -> usize {
    let arrays = Arrays::new(a, rhs);
    let (x, report) = arrays.solve(usize::MAX);
    let report = report.unwrap_or_else(|error| panic!("{what}: {error}"));
    for piece_rows in [0, 10_000] {
        assert!(x == arrays.solve(piece_rows).0, "{what}: other bits in pieces of {piece_rows} rows");
    }
    let epsilon = T::Real::EPSILON.to_f64();
    let eta = backward_error(a, rhs, &x);
    assert!(eta <= report.backward_error + 4.0 * epsilon, "{what}: {eta:e} {report:?}");
    assert!(report.backward_error <= 64.0 * epsilon, "{what}: {report:?}");
    report.refinement_steps
}

const SIZES: [usize; 12] = [0, 1, 2, 3, 4, 100, 4095, 4096, 4097, 8191, 8192, 30_011];

fn random_systems<T: Scalar>() {
    let random = &mut Random::new(1);
    for n in SIZES {
        let a = Tridiagonal::from_vecs(
            random_vec::<T>(n.saturating_sub(1), random),
            random_vec(n, random),
            random_vec(n.saturating_sub(1), random),
            false,
        );
        check(&format!("n = {n}"), &a.unwrap(), &random_vec(n, random));
    }
}

#[test]
fn random_f64() {
    random_systems::<f64>();
}

#[test]
fn random_f32() {
    random_systems::<f32>();
}

#[test]
fn random_c64() {
    random_systems::<Complex64>();
}

#[test]
fn random_c32() {
    random_systems::<Complex32>();
}

#[test]
fn matrices_of_the_papers() {
    for case in chang() {
        // Matrices with given singular values take n² operations. Those from 13 on are singular to working precision if they are large.
        let large = if case.description.contains("randsvd") || (13..=16).contains(&case.id) { None } else { Some(20_000) };
        for n in core::iter::once(512).chain(large) {
            let a = case.matrix(n, 1);
            let rhs = a.apply(&x_true(n, 2)).unwrap();
            check(&format!("{}, n = {n}", case.name), &a, &rhs);
        }
    }
}

/// Without its first and last row and column, each partition is singular.
#[test]
fn singular_inner_parts() {
    for n in [4096, 4097, 20_000, 20_480, 30_006] {
        let n = n + n % 2;
        check("zero diagonal", &toeplitz(n, 1.0, 0.0, 1.0), &x_true(n, 3));
        check("x grows", &toeplitz(n, 1.0, 1.0, -1.0), &x_true(n, 3));
    }
    // [0 1; 1 0] along the diagonal, also across two partitions
    for shift in [0, 1] {
        let n = 12_288 + 2 * shift;
        let pair = |i: usize| if i % 2 == shift % 2 { 1.0 } else { 0.0 };
        let diag = (0..n).map(|i| if shift == 1 && (i == 0 || i == n - 1) { 1.0 } else { 0.0 }).collect();
        let off: Vec<f64> = (0..n - 1).map(pair).collect();
        check("pairs", &Tridiagonal::from_vecs(off.clone(), diag, off, false).unwrap(), &x_true(n, 4));
    }
}

#[test]
fn rows_of_any_size() {
    let random = &mut Random::new(5);
    let n = 20_000;
    let scales: Vec<f64> = (0..n).map(|_| 10.0_f64.powf(random.uniform(-300.0, 300.0))).collect();
    let a = toeplitz(n, -1.0, 2.5, -1.0);
    let scaled = |values: &[f64]| -> Vec<f64> { values.iter().zip(&scales).map(|(v, s)| v * s).collect() };
    let [sub, diag, sup] = a.arrays().map(scaled);
    let rows = Tridiagonal::from_vecs(sub, diag, sup, false).unwrap();
    let rhs = scaled(&random_vec::<f64>(n, random));
    check("scaled rows", &rows, &rhs);
    for scale in [1e-300, 1e300] {
        let a = toeplitz(n, -scale, 2.5 * scale, -scale);
        check("scaled matrix", &a, &random_vec::<f64>(n, random));
        check("scaled matrix and rhs", &a, &vec![scale; n]);
    }
}

/// A zero pivot in any row, in the inner part of a partition or at its ends.
#[test]
fn planted_singular_rows() {
    for_all_planted::<f64>(1.0, |what, a, rhs| {
        let solved = Arrays::new(a, rhs).solve(0).1;
        assert!(matches!(solved, Err(Error::Singular { .. })), "{what}: {solved:?}");
    });
}

#[test]
fn entries_that_are_not_finite() {
    let n = 10_000;
    let a = toeplitz(n, 1.0, 4.0, 1.0);
    let arrays = |which: usize, row: usize| {
        let mut arrays = Arrays::new(&a, &vec![1.0; n]);
        arrays.arrays[which][row] = f64::INFINITY;
        arrays.solve(0).1
    };
    let not_finite = |array, index| Err(Error::NotFinite { array, index });
    for row in [0, 4096, n - 1] {
        assert_eq!(arrays(1, row), not_finite("diag", row));
        assert_eq!(arrays(3, row), not_finite("rhs", row));
    }
    assert_eq!(arrays(0, 1), not_finite("sub", 1));
    assert_eq!(arrays(0, 5000), not_finite("sub", 5000));
    assert_eq!(arrays(2, 0), not_finite("sup", 0));
    assert_eq!(arrays(2, n - 2), not_finite("sup", n - 2));
}

#[test]
fn a_saved_state_continues_anywhere() {
    let n = 30_000;
    // Refined: the passes after the first ones read x, too.
    let a = toeplitz(n, 1.0, 1.0, -1.0);
    let arrays = Arrays::new(&a, &x_true(n, 7));
    let (expected, report) = arrays.solve(8192);
    let report = report.unwrap();
    let pieces_of = |stop: usize| {
        let mut x = vec![f64::NAN; n];
        let mut solver = OutOfCoreSolver::new(n, 8192).unwrap();
        let mut taken = 0;
        while taken < stop && arrays.step(&mut solver, &mut x).unwrap() {
            taken += 1;
        }
        let mut state = Vec::new();
        solver.write_state(&mut state).unwrap();
        let mut solver = OutOfCoreSolver::<f64>::read_state(&mut &*state).unwrap();
        while arrays.step(&mut solver, &mut x).unwrap() {}
        assert!(x == expected, "after {taken} pieces");
        assert_eq!(solver.report().unwrap(), report);
        for length in [0, 7, 20, 60, state.len() / 2, state.len() - 1] {
            assert!(OutOfCoreSolver::<f64>::read_state(&mut &state[..length]).is_err());
        }
        assert!(OutOfCoreSolver::<f32>::read_state(&mut &*state).is_err());
        assert!(OutOfCoreSolver::<Complex64>::read_state(&mut &*state).is_err());
        taken
    };
    let all = pieces_of(usize::MAX);
    assert_eq!(all, 4 * 2 * (1 + report.refinement_steps));
    (0..all).for_each(|stop| assert_eq!(pieces_of(stop), stop));
}

#[test]
fn wrong_calls() {
    let mut solver = OutOfCoreSolver::<f64>::new(5000, 4096).unwrap();
    assert!(matches!(solver.report(), Err(Error::NotConverged { .. })), "not finished");
    let piece = solver.next_piece().unwrap();
    assert!(piece.following.is_empty());
    assert_eq!((piece.rows, piece.reads_x, piece.writes_x, piece.done, piece.total), (0..5000, false, false, 0, 10_000));
    let short = vec![1.0; 4096];
    let rows = PieceRows { sub: &short, diag: &short, sup: &short, rhs: &short };
    let wrong = solver.advance(rows, &mut vec![0.0; 5000]);
    assert_eq!(wrong, Err(Error::Shape { what: "sub", expected: 5000, got: 4096 }));
    assert!(matches!(OutOfCoreSolver::<f64>::new(usize::MAX, 1), Err(Error::OutOfMemory { .. })));
}
