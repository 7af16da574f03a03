//! BCYCLIC, block SPIKE and SPIKE on the band of the blocks, compared with residuals in double-double and with the pivoted method.

use bandsolve::dyn_stack::{PodBuffer, PodStack};
use bandsolve::{BlockTridiagonal, Complex32, Complex64, Error, Factor, Method, Op, Plan, RealScalar, Report, Scalar};
use bandsolve_gallery::random_vec;
use bandsolve_gallery::{Random, oracle};
use bandsolve_testkit::conformance::{epsilon, rounding};

const METHODS: [Method; 3] = [Method::Bcyclic, Method::BlockSpike, Method::Spike];
const OPS: [Op; 3] = [Op::Plain, Op::Transpose, Op::ConjTranspose];

/// The entries of op(A), row by row.
struct Rows<T>(Vec<Vec<(usize, T)>>);

impl<T: Scalar> Rows<T> {
    fn new(a: &BlockTridiagonal<'_, T>, op: Op) -> Self {
        let (b, count) = (a.block(), a.block_rows());
        let mut rows = vec![Vec::new(); a.n()];
        for i in 0..a.n() {
            let mut columns = [(i / b + count - 1) % count, i / b, (i / b + 1) % count].to_vec();
            columns.sort_unstable();
            columns.dedup();
            for j in columns.into_iter().flat_map(|c| c * b..(c + 1) * b) {
                match op {
                    Op::Plain => rows[i].push((j, a.get(i, j))),
                    Op::Transpose => rows[j].push((i, a.get(i, j))),
                    Op::ConjTranspose => rows[j].push((i, Scalar::conj(a.get(i, j)))),
                }
            }
        }
        Self(rows)
    }
}

impl<T: Scalar> oracle::MatrixRows<T> for Rows<T> {
    fn n(&self) -> usize {
        self.0.len()
    }

    fn bandwidths(&self) -> (usize, usize) {
        (self.0.len(), self.0.len())
    }

    fn entries(&self, i: usize, entries: &mut Vec<(usize, T)>) {
        entries.clone_from(&self.0[i]);
    }
}

/// A matrix with entries from U(−1, 1) and `shift` added on the diagonal.
fn matrix<T: Scalar>(rows: usize, block: usize, periodic: bool, shift: f64) -> BlockTridiagonal<'static, T> {
    let mut random = Random::new((rows * 1000 + block) as u64);
    let mut draw = || random_vec::<T>(rows * block * block, &mut random);
    let (sub, mut diag, sup) = (draw(), draw(), draw());
    for d in diag.chunks_exact_mut(block * block) {
        d.iter_mut().step_by(block + 1).for_each(|v| *v += T::from_real(T::Real::from_f64(shift)));
    }
    BlockTridiagonal::from_vecs(block, [sub, diag, sup], periodic).unwrap()
}

/// A matrix whose diagonal entries are more than twice as large as the sums of the other entries in their row and column.
fn dominant<T: Scalar>(rows: usize, block: usize, periodic: bool) -> BlockTridiagonal<'static, T> {
    matrix(rows, block, periodic, 10.0 * block as f64)
}

fn rhs<T: Scalar>(n: usize, n_rhs: usize) -> Vec<T> {
    random_vec(n * n_rhs, &mut Random::new(n as u64))
}

/// Solve in scratch of exactly the requested size, filled with NaN.
fn solve<T: Scalar>(factor: &impl Factor<T>, op: Op, rhs: &[T]) -> (Vec<T>, Result<Report, Error>) {
    let mut x = vec![T::from_real(T::Real::NAN); rhs.len()];
    let mut memory = PodBuffer::new(factor.solve_scratch(rhs.len() / factor.shape().n().max(1)));
    memory.fill(0xff);
    let report = factor.solve_into_with(op, rhs, &mut x, PodStack::new(&mut memory));
    (x, report)
}

/// Check that the backward error agrees with the report and is at most `limit` ε.
fn check<T: Scalar>(a: &BlockTridiagonal<'_, T>, op: Op, (d, x): (&[T], &[T]), (report, limit): (&Report, f64)) {
    let rows = Rows::new(a, op);
    for (k, (d, x)) in d.chunks(a.n()).zip(x.chunks(a.n())).enumerate() {
        let eta = oracle::backward_error(&rows, d, x);
        let (reported, slack) = (report.backward_errors[k], rounding::<T>(3 * a.block()));
        let what = || format!("{:?} {op:?} {}: η = {eta:e}, reported {reported:e}", a.shape(), T::NAME);
        assert!(reported <= limit * epsilon::<T>(), "{}", what());
        assert!(eta <= reported + slack, "{}", what());
    }
}

/// Check that dominant systems of one shape need no repair, with all operators and any number of threads and right-hand sides.
fn check_shape<T: Scalar>(method: Method, rows: usize, block: usize, periodic: bool) {
    let a = dominant::<T>(rows, block, periodic);
    let d = rhs::<T>(a.n(), 3);
    let plan = Plan::new(a.shape()).method(method);
    let one = plan.clone().threads(1).factor(&a).unwrap();
    let pivoted = Plan::new(a.shape()).method(Method::Pivoted).factor(&a).unwrap();
    for op in OPS {
        let (x, report) = solve(&one, op, &d);
        let report = report.unwrap();
        assert_eq!((report.method, report.fallback), (method, false), "{:?}", a.shape());
        check(&a, op, (&d, &x), (&report, 8.0));
        // The condition is below 3, so two solutions with η ≤ 8ε differ by at most 2·3·2·8ε.
        let (expected, _) = solve(&pivoted, op, &d);
        assert!(oracle::forward_error_max(&x, &expected) <= 96.0 * epsilon::<T>(), "{:?} {op:?}", a.shape());
        let (alone, _) = solve(&one, op, &d[..a.n()]);
        assert!(oracle::forward_error_max(&alone, &x[..a.n()]) <= 96.0 * epsilon::<T>());
        for threads in [2, 3, 7] {
            let more = plan.clone().threads(threads).factor(&a).unwrap();
            assert_eq!(solve(&more, op, &d).0, x, "{:?} {op:?}, {threads} threads", a.shape());
            assert_eq!(solve(&more, op, &d[..a.n()]).0, alone, "{:?} {op:?}, {threads} threads", a.shape());
        }
    }
}

fn check_shapes<T: Scalar>(method: Method) {
    for periodic in [false, true] {
        for rows in [1, 2, 3, 4, 5, 7, 8, 9, 31, 64] {
            for block in [1, 2, 16, 33, 64].into_iter().filter(|b| b * rows <= 600) {
                check_shape::<T>(method, rows, block, periodic);
            }
        }
    }
}

#[test]
fn every_shape_f64() {
    METHODS.iter().for_each(|method| check_shapes::<f64>(*method));
}

#[test]
fn every_shape_f32() {
    METHODS.iter().for_each(|method| check_shapes::<f32>(*method));
}

#[test]
fn every_shape_c64() {
    METHODS.iter().for_each(|method| check_shapes::<Complex64>(*method));
}

#[test]
fn every_shape_c32() {
    METHODS.iter().for_each(|method| check_shapes::<Complex32>(*method));
}

#[test]
fn large_blocks_are_shared_by_columns() {
    for method in METHODS {
        check_shape::<f64>(method, 5, 150, true);
        check_shape::<f64>(method, 2, 260, false);
    }
}

#[test]
fn matrices_that_are_not_dominant_come_out_right() {
    for method in METHODS {
        for (rows, block) in [(2, 16), (5, 20), (16, 9), (33, 40)] {
            for periodic in [false, true] {
                let a = matrix::<f64>(rows, block, periodic, 0.0);
                let d = rhs(a.n(), 2);
                let factor = Plan::new(a.shape()).method(method).factor(&a).unwrap();
                for op in OPS {
                    let (x, report) = solve(&factor, op, &d);
                    check(&a, op, (&d, &x), (&report.unwrap(), 64.0));
                }
            }
        }
    }
}

#[test]
fn partitions_of_any_size_with_spikes_and_without() {
    // The spikes of the first matrix decay and are dropped, those of the second matrix are not.
    for shift in [200.0, 12.0] {
        for (rows, block) in [(40, 10), (23, 17)] {
            for periodic in [false, true] {
                let a = matrix::<f64>(rows, block, periodic, shift);
                let d = rhs(a.n(), 2);
                for part in [3, 4, 5, 9, 50] {
                    let plan = Plan::new(a.shape()).method(Method::BlockSpike).partition_rows(part);
                    let [one, three] = [1, 3].map(|threads| plan.clone().threads(threads).factor(&a).unwrap());
                    for op in OPS {
                        let (x, report) = solve(&one, op, &d);
                        let report = report.unwrap();
                        assert!(!report.fallback);
                        check(&a, op, (&d, &x), (&report, 8.0));
                        assert_eq!(solve(&three, op, &d).0, x);
                    }
                }
            }
        }
    }
}

#[test]
fn singular_diagonal_blocks_of_a_regular_matrix() {
    for method in METHODS {
        for (rows, block) in [(2, 9), (4, 16), (10, 12)] {
            let mut unit = vec![0.0; rows * block * block];
            unit.chunks_mut(block * block).for_each(|b| b.iter_mut().step_by(block + 1).for_each(|v| *v = 1.0));
            let zero = vec![0.0; unit.len()];
            let a = BlockTridiagonal::new(block, &unit, &zero, &unit).unwrap();
            let d = rhs(a.n(), 2);
            let (x, report) = solve(&Plan::new(a.shape()).method(method).factor(&a).unwrap(), Op::Plain, &d);
            let report = report.unwrap();
            // In the band, rows of different blocks can be exchanged.
            assert_eq!(report.fallback, method != Method::Spike);
            check(&a, Op::Plain, (&d, &x), (&report, 64.0));
            // Nearly singular blocks.
            let tiny: Vec<f64> = unit.iter().map(|v| 1e-30 * v).collect();
            let a = BlockTridiagonal::new(block, &unit, &tiny, &unit).unwrap();
            let (x, report) = solve(&Plan::new(a.shape()).method(method).factor(&a).unwrap(), Op::Transpose, &d);
            check(&a, Op::Transpose, (&d, &x), (&report.unwrap(), 64.0));
        }
    }
}

#[test]
fn singular_matrices_and_bad_numbers_are_errors() {
    for method in METHODS {
        let good = dominant::<f64>(6, 9, false);
        let (n, square) = (good.n(), 81);
        let blocks = |k: usize| -> Vec<f64> {
            let entry = |i: usize, r: usize, c: usize| {
                let (row, column) = (i * 9 + r, (i + k).checked_sub(1).filter(|j| *j < 6).map(|j| j * 9 + c));
                column.map_or(0.0, |column| good.get(row, column))
            };
            (0..6 * square).map(|e| entry(e / square, e % 9, e / 9 % 9)).collect()
        };
        let [sub, diag, sup] = [0, 1, 2].map(blocks);
        let solve_with = |diag: &[f64], d: &[f64]| {
            let a = BlockTridiagonal::new(9, &sub, diag, &sup).unwrap();
            let plan = Plan::new(a.shape()).method(method);
            solve(&plan.factor(&a).unwrap(), Op::Plain, d).1
        };
        let d = rhs::<f64>(n, 2);
        assert!(solve_with(&diag, &d).is_ok());
        for bad in [f64::NAN, f64::INFINITY] {
            let (mut wrong, at) = (diag.clone(), 3 * square + 40);
            wrong[at] = bad;
            assert_eq!(solve_with(&wrong, &d), Err(Error::NotFinite { array: "diag", index: at }));
            let mut wrong = d.clone();
            wrong[n + 7] = bad;
            assert_eq!(solve_with(&diag, &wrong), Err(Error::NotFinite { array: "rhs", index: n + 7 }));
        }
        let zeros = vec![0.0; 2 * square];
        let a = BlockTridiagonal::new(9, &zeros, &zeros, &zeros).unwrap();
        let factor = Plan::new(a.shape()).method(method).factor(&a).unwrap();
        assert_eq!(solve(&factor, Op::Plain, &d[..18]).1, Err(Error::Singular { row: 0 }));
    }
}

#[test]
fn rows_of_any_size_in_range() {
    for method in METHODS {
        for periodic in [false, true] {
            let good = dominant::<f64>(9, 12, periodic);
            let (n, square) = (good.n(), 144);
            let power = |row: usize| 10f64.powi([300, -300, 0, 150, -150, 290, -290][row % 7]);
            let blocks = |shift: usize| -> Vec<f64> {
                let entry = |e: usize| {
                    let (row, column) = (e / square * 12 + e % 12, (e / square + 9 + shift - 1) % 9 * 12 + e / 12 % 12);
                    good.get(row, column) * power(row)
                };
                (0..9 * square).map(entry).collect()
            };
            let a = BlockTridiagonal::from_vecs(12, [0, 1, 2].map(blocks), periodic).unwrap();
            let d: Vec<f64> = rhs::<f64>(n, 1).into_iter().enumerate().map(|(i, d)| d * power(i)).collect();
            let factor = Plan::new(a.shape()).method(method).factor(&a).unwrap();
            let (x, report) = solve(&factor, Op::Plain, &d);
            let report = report.unwrap();
            assert!(!report.fallback && x.iter().all(|x| x.abs() < 1.0), "{report:?}");
            check(&a, Op::Plain, (&d, &x), (&report, 8.0));
        }
    }
}

#[test]
fn empty_and_unverified_systems() {
    for method in METHODS {
        let a = BlockTridiagonal::<f64>::new(16, &[], &[], &[]).unwrap();
        assert!(solve(&Plan::new(a.shape()).method(method).factor(&a).unwrap(), Op::Plain, &[]).1.is_ok());
        let a = dominant::<f64>(8, 16, true);
        let d = rhs(a.n(), 1);
        let plan = Plan::new(a.shape()).method(method);
        let (x, report) = solve(&plan.factor(&a).unwrap(), Op::Plain, &d);
        let (raw, unverified) = solve(&plan.clone().verify(false).factor(&a).unwrap(), Op::Plain, &d);
        assert!(unverified.unwrap().backward_error.is_nan());
        assert_eq!((raw, report.unwrap().refinement_steps), (x, 0));
    }
}

/// `Auto` solves blocks of five rows or more as a band, without refinement.
#[test]
fn blocks_of_five_to_eight_rows_keep_factors() {
    for (block, rows) in [(5, 1500), (8, 600)] {
        for shift in [0.0, 3.0] {
            let a = matrix::<f64>(rows, block, false, shift);
            let plan = Plan::new(a.shape());
            assert_eq!(plan.chosen_method(), Method::Spike, "{}", plan.reason());
            let d = rhs(a.n(), 70);
            let [one, two] = [1, 2].map(|threads| plan.clone().threads(threads).factor(&a).unwrap());
            for op in OPS {
                let (x, report) = solve(&one, op, &d);
                let report = report.unwrap();
                assert_eq!((report.refinement_steps, report.fallback), (0, false), "{report:?}");
                check(&a, op, (&d, &x), (&report, 8.0));
                assert_eq!(solve(&two, op, &d).0, x);
            }
        }
    }
}
