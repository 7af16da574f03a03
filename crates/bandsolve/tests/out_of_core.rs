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

/// Solve with pieces of several sizes, and measure x.
fn check<T: Scalar>(what: &str, a: &Tridiagonal<'_, T>, rhs: &[T]) {
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
        let large =
            if case.description.contains("randsvd") || (13..=16).contains(&case.id) { None } else { Some(20_000) };
        for n in core::iter::once(512).chain(large) {
            let a = case.matrix(n, 1);
            let rhs = a.apply(&x_true(n, 2)).unwrap();
            check(&format!("{}, n = {n}", case.name), &a, &rhs);
        }
    }
}

/// Without its first and last row and column, a partition with an odd number of rows is singular, and so are the pairs that a border divides.
#[test]
fn singular_inner_parts() {
    for n in [4097, 8193, 4096, 20_000] {
        // An even number of rows has a solution if all diagonal entries are zero.
        let zero_diagonal = toeplitz(n + n % 2, 1.0, 0.0, 1.0);
        check("zero diagonal", &zero_diagonal, &x_true(n + n % 2, 3));
        let [sub, diag, sup] = zero_diagonal.arrays().map(<[f64]>::to_vec);
        let diag = diag.iter().enumerate().map(|(i, _)| if i == 0 { 1.0 } else { 0.0 }).collect();
        check("one diagonal entry", &Tridiagonal::from_vecs(sub, diag, sup, false).unwrap(), &x_true(n + n % 2, 3));
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

/// Matrices whose elimination by row exchanges loses one of the two equations of a partition.
fn growing_equations<T: Scalar>() {
    let n = 20_000;
    let number = |v: f64| T::from_real(T::Real::from_f64(v));
    let rhs: Vec<T> = random_vec(n, &mut Random::new(6));
    let check_rows = |what: &str, row: &dyn Fn(f64) -> [f64; 3]| {
        let rows: Vec<[f64; 3]> = (0..n).map(|i| row(i as f64 / n as f64)).collect();
        let array = |k: usize| rows.iter().map(|row| number(row[k])).collect();
        check(what, &Tridiagonal::from_vecs(array(0), array(1), array(2), false).unwrap(), &rhs);
    };
    for sup in [-1.0, -1.01, -0.99, -1.5] {
        check_rows(&format!("1, 1, {sup}"), &|_| [1.0, 1.0, sup]);
        check_rows(&format!("{sup}, 1, 1"), &|_| [sup, 1.0, 1.0]);
    }
    for (from, to) in [(2.2, 2.0), (1.2, 1.1)] {
        check_rows("advection", &|t| [-(from + (to - from) * t), 1.0, from + (to - from) * t]);
    }
    for cfl in [1.1, 2.0, 5.0, 20.0] {
        let speed = |t: f64| cfl * (1.0 + 0.3 * (6.0 * t).cos());
        check_rows(&format!("advection, CFL {cfl}"), &|t| [-speed(t), 1.0, speed(t)]);
    }
}

#[test]
fn growing_equations_f64() {
    growing_equations::<f64>();
}

#[test]
fn growing_equations_f32() {
    growing_equations::<f32>();
}

#[test]
fn growing_equations_c64() {
    growing_equations::<Complex64>();
}

#[test]
fn growing_equations_c32() {
    growing_equations::<Complex32>();
}

/// A matrix that is singular to working precision has a solution with a small backward error, and a warning.
#[test]
fn nearly_singular() {
    let n = 10_000;
    let mut diag = vec![2.0; n];
    diag[5001] = 1.0 + f64::EPSILON;
    diag[5000] = 1.0;
    let off = |at: f64| (0..n).map(|i| if i == 5000 { at } else { 0.0 }).collect::<Vec<f64>>();
    let (mut sub, sup) = (off(0.0), off(1.0));
    sub[5001] = 1.0;
    let a = Tridiagonal::from_vecs(sub, diag, sup, false).unwrap();
    let mut rhs = vec![0.0; n];
    rhs[5001] = 1.0;
    let report = Arrays::new(&a, &rhs).solve(0).1.unwrap();
    assert!(report.attention.unwrap().contains("no correct digit"));
    assert_eq!(Arrays::new(&toeplitz(n, 1.0, 4.0, 1.0), &rhs).solve(0).1.unwrap().attention, None);
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
    continues_anywhere(&toeplitz(n, -1.0, 2.0, -1.0));
    // Partitions that are eliminated by rotations.
    continues_anywhere(&toeplitz(n, 1.0, 1.0, -1.01));
}

fn continues_anywhere(a: &Tridiagonal<'_, f64>) {
    let n = a.n();
    let arrays = Arrays::new(a, &x_true(n, 7));
    let (expected, report) = arrays.solve(8192);
    let report = report.unwrap();
    assert_eq!(report.refinement_steps, 0);
    // x is stored up to the last piece, the state some pieces before.
    for (stop, more) in (0..9).flat_map(|stop| [(stop, 0), (stop, 2)]) {
        let mut x = vec![f64::NAN; n];
        let mut solver = OutOfCoreSolver::new(n, 8192).unwrap();
        (0..stop).for_each(|_| assert!(arrays.step(&mut solver, &mut x).is_ok()));
        let mut state = Vec::new();
        solver.write_state(&mut state).unwrap();
        (0..more).for_each(|_| assert!(arrays.step(&mut solver, &mut x).is_ok()));
        for piece_rows in [0, 8192, n] {
            let mut x = x.clone();
            let mut solver = OutOfCoreSolver::<f64>::read_state(n, piece_rows, &mut &*state).unwrap();
            while arrays.step(&mut solver, &mut x).unwrap() {}
            assert!(x == expected, "after {stop} pieces");
            assert_eq!(solver.report().unwrap(), report);
        }
        let kind = |n: usize, state: &[u8]| OutOfCoreSolver::<f64>::read_state(n, 0, &mut &*state).unwrap_err().kind();
        for length in [0, 7, 20, 60, state.len() / 2, state.len() - 1] {
            assert_eq!(kind(n, &state[..length]), std::io::ErrorKind::InvalidData);
        }
        assert_eq!(kind(n + 1, &state), std::io::ErrorKind::InvalidData);
        assert!(OutOfCoreSolver::<f32>::read_state(n, 0, &mut &*state).is_err());
        assert!(OutOfCoreSolver::<Complex64>::read_state(n, 0, &mut &*state).is_err());
        let mut damaged = state.clone();
        damaged[8 + 3 * 8..8 + 4 * 8].copy_from_slice(&u64::MAX.to_le_bytes());
        assert_eq!(kind(n, &damaged), std::io::ErrorKind::InvalidData);
    }
}

/// A solve that was interrupted while x was corrected computes x again.
#[test]
fn a_saved_state_of_a_correction() {
    let n = 30_000;
    // In single precision, this matrix is singular to working precision, and some x are not accurate enough at first.
    let a = Tridiagonal::from_vecs(vec![-1.0_f32; n], vec![2.0; n], vec![-1.0; n], false).unwrap();
    let mut random = Random::new(11);
    let refined = (0..200).find_map(|_| {
        let rhs = random_vec::<f32>(n, &mut random);
        let arrays = Arrays::new(&a, &rhs);
        arrays.solve(0).1.is_ok_and(|report| report.refinement_steps > 0).then_some((rhs, arrays))
    });
    let (rhs, arrays) = refined.expect("an x that has to be corrected");
    let mut x = vec![0.0; n];
    let mut solver = OutOfCoreSolver::new(n, 0).unwrap();
    let mut corrected = 0;
    let mut first_state = Vec::new();
    while let Some(piece) = solver.next_piece() {
        corrected += usize::from(piece.reads_x && piece.writes_x);
        if piece.reads_x {
            let mut state = Vec::new();
            solver.write_state(&mut state).unwrap();
            assert!(state.len() <= solver.state_bytes());
            if first_state.is_empty() {
                first_state = state.clone();
            }
            for state in [&first_state, &state] {
                let mut x = x.clone();
                let mut solver = OutOfCoreSolver::<f32>::read_state(n, 10_000, &mut &**state).unwrap();
                while arrays.step(&mut solver, &mut x).unwrap() {}
                let reported = solver.report().unwrap().backward_error;
                assert!(backward_error(&a, &rhs, &x) <= reported + 4.0 * f64::from(f32::EPSILON));
            }
        }
        arrays.step(&mut solver, &mut x).unwrap();
    }
    assert_eq!(corrected, solver.report().unwrap().refinement_steps * (n / 4096));
}

#[test]
fn wrong_calls() {
    let mut solver = OutOfCoreSolver::<f64>::new(5000, 4096).unwrap();
    assert!(matches!(solver.report(), Err(Error::NotConverged { .. })), "not finished");
    let piece = solver.next_piece().unwrap();
    assert!(piece.following.is_empty());
    assert_eq!(
        (piece.rows, piece.reads_x, piece.writes_x, piece.done, piece.total),
        (0..5000, false, false, 0, 10_000)
    );
    let short = vec![1.0; 4096];
    let rows = PieceRows { sub: &short, diag: &short, sup: &short, rhs: &short };
    let wrong = solver.advance(rows, &mut vec![0.0; 5000]);
    assert_eq!(wrong, Err(Error::Shape { what: "sub", expected: 5000, got: 4096 }));
    assert!(matches!(OutOfCoreSolver::<f64>::new(usize::MAX, 1), Err(Error::OutOfMemory { .. })));
}
