//! Batches of periodic tridiagonal systems: the conformance suite, and the cases in which a lane must not decide alone.

use bandsolve::dyn_stack::{PodBuffer, PodStack};
use bandsolve::prelude::*;
use bandsolve::{Complex32, Complex64, RealScalar, Scalar};
use bandsolve_gallery::oracle::{self, backward_error};
use bandsolve_gallery::random::Random;
use bandsolve_testkit::conformance_periodic_batch;
use bandsolve_testkit::singular::{PLANTED, matrix};

conformance_periodic_batch!(suite_f64, f64, |plan| plan);
conformance_periodic_batch!(suite_f32, f32, |plan| plan);
conformance_periodic_batch!(suite_c64, Complex64, |plan| plan);
conformance_periodic_batch!(suite_c32, Complex32, |plan| plan);

const LAYOUTS: [Layout; 2] = [Layout::Contiguous, Layout::Interleaved];
const OPS: [Op; 3] = [Op::Plain, Op::Transpose, Op::ConjTranspose];

fn numbers<T: Scalar>(len: usize, random: &mut Random) -> Vec<T> {
    let mut real = || T::Real::from_f64(random.uniform(-1.0, 1.0));
    (0..len).map(|_| T::from_parts(real(), if T::COMPLEX { real() } else { T::Real::ZERO })).collect()
}

/// op(A) of one system.
fn applied<T: Scalar>(op: Op, a: &Tridiagonal<'_, T>) -> Tridiagonal<'static, T> {
    if op == Op::Plain { a.clone().into_owned() } else { oracle::transpose(a, op == Op::ConjTranspose) }
}

fn column<T: Scalar>(a: &TridiagonalBatch<'_, T>, s: usize, all: &[T]) -> Vec<T> {
    (0..a.n()).map(|i| all[a.index(s, i)]).collect()
}

/// A batch of the systems, in any layout.
fn batch<T: Scalar>(systems: &[Tridiagonal<'_, T>], layout: Layout) -> TridiagonalBatch<'static, T> {
    let (n, count) = (systems[0].n(), systems.len());
    let entry = |k: usize, e: usize| match layout {
        Layout::Contiguous => systems[e / n].arrays()[k][e % n],
        Layout::Interleaved => systems[e % count].arrays()[k][e / count],
    };
    let arrays = [0, 1, 2].map(|k| (0..n * count).map(|e| entry(k, e)).collect());
    TridiagonalBatch::from_vecs(count, n, layout, arrays).unwrap().periodic()
}

/// Check the reported backward error of every system, and that three threads give the same bits.
fn check<T: Scalar>(a: &TridiagonalBatch<'_, T>, rhs: &[T], what: &str) -> (Vec<T>, bandsolve::Report) {
    let mut plain = None;
    for op in OPS {
        let solve = |threads: usize| {
            let mut x = vec![T::ZERO; rhs.len()];
            let factor = Plan::new(a.shape()).threads(threads).factor(a).unwrap();
            let mut memory = PodBuffer::new(factor.solve_scratch(1));
            let report = factor.solve_into_with(op, rhs, &mut x, PodStack::new(&mut memory));
            (x, report.unwrap_or_else(|error| panic!("{what} {op:?}: {error}")))
        };
        let (x, report) = solve(1);
        assert!(x == solve(3).0, "{what} {op:?}");
        for s in 0..a.count() {
            let eta = backward_error(&applied(op, &a.system(s)), &column(a, s, rhs), &column(a, s, &x));
            let most = report.backward_error + 3.0 * T::Real::EPSILON.to_f64();
            assert!(eta <= most, "{what} {op:?}, system {s}: {eta:e}, reported {:e}", report.backward_error);
        }
        plain = plain.or(Some((x, report)));
    }
    plain.expect("three operators")
}

fn generic<T: Scalar>() {
    let mut random = Random::new(9);
    let mut own = |n: usize| [(); 3].map(|()| numbers::<T>(n, &mut random));
    for n in [3, 4, 5, 64, 257] {
        for layout in LAYOUTS {
            for count in [1, 15, 16, 17, 65, 131] {
                let systems: Vec<_> = (0..count)
                    .map(|_| {
                        let [sub, diag, sup] = own(n);
                        Tridiagonal::from_vecs(sub, diag, sup, true).unwrap()
                    })
                    .collect();
                let rhs = own(n * count).concat()[..n * count].to_vec();
                check(&batch(&systems, layout), &rhs, &format!("{count} systems of {n}, {layout:?}"));
                let [sub, diag, sup] = own(n);
                let shared = TridiagonalBatch::shared(count, n, layout, &sub, &diag, &sup).unwrap().periodic();
                check(&shared, &rhs, &format!("{count} shared systems of {n}, {layout:?}"));
            }
        }
    }
}

/// The open part of each matrix is singular, or its pivots are zero, but the matrix is regular.
fn open_part_is_singular<T: Scalar>() {
    let number = |v: f64| T::from_real(T::Real::from_f64(v));
    let numbers = |of: &dyn Fn(usize) -> f64, n: usize| (0..n).map(|i| number(of(i))).collect::<Vec<T>>();
    for n in [3, 5, 8, 63] {
        let last = n - 1;
        let kinds: [[&dyn Fn(usize) -> f64; 3]; 3] = [
            // A cyclic shift: no entry but the corners in row 0 and column 0.
            [&|_| 1.0, &|_| 0.0, &|_| 0.0],
            [&|_| 0.0, &|_| 0.0, &|_| 2.0],
            // Row 0 and column 0 of the open part are zero.
            [&|i| if i == 0 { 3.0 } else { 0.0 }, &|i| if i == 0 || i == last { 0.0 } else { 1.0 }, &|i| {
                if i == last { 3.0 } else { 0.0 }
            }],
        ];
        for (k, [sub, diag, sup]) in kinds.into_iter().enumerate() {
            let special = Tridiagonal::from_vecs(numbers(sub, n), numbers(diag, n), numbers(sup, n), true).unwrap();
            let regular = numbers(&|_| 4.0, n);
            let off = numbers(&|_| 1.0, n);
            let regular = Tridiagonal::from_vecs(off.clone(), regular, off, true).unwrap();
            for layout in LAYOUTS {
                let systems: Vec<_> =
                    (0..40).map(|s| if s % 7 == 3 { special.clone() } else { regular.clone() }).collect();
                let rhs = numbers(&|e| (e % 11) as f64 - 4.0, 40 * n);
                check(&batch(&systems, layout), &rhs, &format!("kind {k}, n = {n}, {layout:?}"));
            }
        }
    }
}

/// A singular system is named, and the others are solved. So are systems with a NaN.
fn errors_name_the_system<T: Scalar>() {
    let (n, count) = (11, 40);
    let number = |v: f64| T::from_real(T::Real::from_f64(v));
    let periodic = |a: Tridiagonal<'static, T>| {
        let [sub, diag, sup] = a.arrays().map(<[T]>::to_vec);
        Tridiagonal::from_vecs(sub, diag, sup, true).unwrap()
    };
    for (bad, planted) in [0, 17, 39].into_iter().flat_map(|s| PLANTED.into_iter().map(move |planted| (s, planted))) {
        for (first, layout) in [0, 3, n - planted.len()].into_iter().flat_map(|first| LAYOUTS.map(|l| (first, l))) {
            let of = |s: usize| periodic(matrix(n, if s == bad { first } else { n }, planted, 1.0));
            let a = batch(&(0..count).map(of).collect::<Vec<_>>(), layout);
            let mut x = vec![number(1.0); n * count];
            for verify in [true, false] {
                let solved = Plan::new(a.shape()).verify(verify).factor(&a).unwrap().solve_in_place(&mut x);
                assert!(matches!(solved, Err(Error::Singular { row }) if row / n == bad), "{bad} {first}: {solved:?}");
                let other = (bad + 1) % count;
                let eta = backward_error(&a.system(other), &vec![number(1.0); n], &column(&a, other, &x));
                assert!(eta <= 8.0 * T::Real::EPSILON.to_f64());
                x.fill(number(1.0));
            }
        }
    }
    for layout in LAYOUTS {
        let off = vec![T::ONE; n * count];
        let diag = vec![number(4.0); n * count];
        let a = TridiagonalBatch::new(count, n, layout, &off, &diag, &off).unwrap().periodic();
        for (s, i) in [(7, 0), (20, n - 1), (39, 4)] {
            let at = a.index(s, i);
            let with = |array: &[T], value: f64| {
                let mut array = array.to_vec();
                array[at] = number(value);
                array
            };
            let error = |a: &TridiagonalBatch<'_, T>, rhs: &[T]| a.solve(rhs).unwrap_err();
            assert_eq!(error(&a, &with(&off, f64::NAN)), Error::NotFinite { array: "rhs", index: at });
            let of = |sub, sup| TridiagonalBatch::new(count, n, layout, sub, &diag, sup).unwrap().periodic();
            let bad = with(&off, f64::INFINITY);
            assert_eq!(error(&of(&bad, &off), &off), Error::NotFinite { array: "sub", index: at });
            assert_eq!(error(&of(&off, &bad), &off), Error::NotFinite { array: "sup", index: at });
            assert_eq!(of(&bad, &off).check_finite().unwrap_err(), Error::NotFinite { array: "sub", index: at });
        }
    }
}

macro_rules! for_all_scalars {
    ($($test:ident $name:ident $scalar:ty;)*) => {$(
        #[test]
        fn $name() {
            $test::<$scalar>();
        }
    )*};
}
for_all_scalars! {
    generic random_f32 f32;
    generic random_f64 f64;
    generic random_c32 Complex32;
    generic random_c64 Complex64;
    open_part_is_singular open_part_f32 f32;
    open_part_is_singular open_part_f64 f64;
    open_part_is_singular open_part_c32 Complex32;
    open_part_is_singular open_part_c64 Complex64;
    errors_name_the_system errors_f32 f32;
    errors_name_the_system errors_f64 f64;
    errors_name_the_system errors_c32 Complex32;
    errors_name_the_system errors_c64 Complex64;
}

/// Entries near the limits of the type, in whole systems and in single rows. x is compared with that of the same system alone.
#[test]
fn rows_near_the_limits_of_the_type() {
    let mut random = Random::new(4);
    for n in [3, 17, 40] {
        let systems: Vec<_> = (0..33)
            .map(|s| {
                let scale: Vec<f64> =
                    (0..n).map(|i| [1e300, 1.0, 1e-300][if s % 2 == 0 { s } else { i + s } % 3]).collect();
                let mut part =
                    || numbers::<f64>(n, &mut random).into_iter().zip(&scale).map(|(v, by)| v * by).collect();
                Tridiagonal::from_vecs(part(), part(), part(), true).unwrap()
            })
            .collect();
        for layout in LAYOUTS {
            let a = batch(&systems, layout);
            let mut rhs = vec![0.0; n * 33];
            (0..33).for_each(|s| (0..n).for_each(|i| rhs[a.index(s, i)] = systems[s].row(i).1));
            let x = a.solve(&rhs).unwrap();
            for (s, system) in systems.iter().enumerate() {
                let eta = backward_error(system, &column(&a, s, &rhs), &column(&a, s, &x.values));
                assert!(eta <= x.report.backward_error + 3.0 * f64::EPSILON, "{n} {layout:?} {s}: {eta:e}");
            }
        }
    }
}

/// Determinants and condition numbers are those of the systems alone, and products of them for the batch.
#[test]
fn inspection() {
    let mut random = Random::new(2);
    for n in [1, 2, 3, 9] {
        let systems: Vec<_> = (0..5)
            .map(|_| {
                let mut part = || numbers::<f64>(n, &mut random);
                Tridiagonal::from_vecs(part(), part(), part(), true).unwrap()
            })
            .collect();
        let a = batch(&systems, Layout::Interleaved);
        let lu = Plan::new(a.shape()).factor(&a).unwrap();
        let (mut product, mut least) = (1.0, f64::INFINITY);
        for (s, system) in systems.iter().enumerate() {
            let alone = Plan::new(system.shape()).factor(system).unwrap();
            product *= alone.determinant().unwrap().value();
            let rcond = lu.system(s).unwrap().rcond(Norm::One).unwrap();
            assert!((rcond / alone.rcond(Norm::One).unwrap() - 1.0).abs() < 1e-12);
            least = rcond.min(least);
        }
        let determinant = lu.determinant().unwrap().value();
        assert!((determinant / product - 1.0).abs() < 1e-12, "{n}: {determinant:e} {product:e}");
        // The estimate of ‖A⁻¹‖ is at least a third of it.
        assert!(lu.rcond(Norm::One).unwrap() <= 3.0 * least);
    }
}

/// Few and large contiguous systems are solved by the method for one system: the same bits for any number of threads, and errors of the batch.
#[test]
fn few_and_large_systems_are_solved_one_by_one() {
    let mut random = Random::new(6);
    for (count, n) in [(1, 9000), (3, 700), (7, 8192)] {
        let len = n * count;
        let [sub, diag, sup, rhs] = [(); 4].map(|()| numbers::<f64>(len, &mut random));
        for periodic in [false, true] {
            let new = |diag| {
                let a = TridiagonalBatch::contiguous(count, n, &sub, diag, &sup).unwrap();
                if periodic { a.periodic() } else { a }
            };
            let a = new(&diag[..]);
            let solve =
                |threads: usize| Plan::once(a.shape()).threads(threads).factor(&a).unwrap().solve(&rhs).unwrap();
            let x = solve(1);
            assert_eq!((x.report.method, x.report.backward_errors.len()), (Method::Rpts, 1));
            assert!([2, 3, 8].iter().all(|threads| solve(*threads).values == x.values), "{count} {n} {periodic}");
            for s in 0..count {
                let alone = Plan::once(a.system(s).shape()).factor_owned(a.system(s)).unwrap();
                assert_eq!(alone.solve(&rhs[s * n..(s + 1) * n]).unwrap().values, x.values[s * n..(s + 1) * n]);
            }
            let owned = Plan::new(a.shape()).factor_owned(a.clone().into_owned()).unwrap();
            assert_eq!(owned.solve(&rhs).unwrap().report.backward_errors.len(), 1);
            let mut bad = diag.clone();
            bad[len - 5] = f64::NAN;
            assert_eq!(new(&bad).solve(&rhs).unwrap_err(), Error::NotFinite { array: "diag", index: len - 5 });
        }
    }
}
