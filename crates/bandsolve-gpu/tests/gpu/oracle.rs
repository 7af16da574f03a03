//! Compare the kernels with the same algorithms in Rust, bit for bit, in three orders of threads.

use crate::reference::{
    Line, Number, Panel, PivotOptions, Random, RealNumber, Row, random, solve, solve_alone, solve_by_minors,
    solve_lines, solve_spike_cr, suspect, thread_rows,
};
use crate::test_device;
use bandsolve::{Complex32, Complex64, Layout, Method, Op, Pivoting, Plan, RealScalar, Report, Result, Scalar, Shape};
use bandsolve_gpu::{Device, DeviceMatrix, DeviceSolver, DeviceTuning, DeviceVec, Emulation, Order, Pending};
use std::collections::HashMap;

/// The parameters of a check.
#[derive(Clone, Copy)]
struct Case {
    n: usize,
    block: usize,
    n_rhs: usize,
    m: Option<usize>,
    periodic: bool,
    op: Op,
    method: Method,
    pivoting: Pivoting,
    noise: f64,
    /// A number that is added to the diagonal. With 4 times the block size, the matrix is so dominant that no repair is
    /// necessary.
    shift: f64,
}

const SIMPLE: Case = Case {
    n: 100,
    block: 1,
    n_rhs: 1,
    m: None,
    periodic: false,
    op: Op::Plain,
    method: Method::Rpts,
    pivoting: Pivoting::ScaledPartial,
    noise: 0.0,
    shift: 4.0,
};

pub const ORDERS: [Order; 3] = [Order::Forward, Order::Reverse, Order::Random];

fn rule(case: Case) -> PivotOptions {
    let scale = case.pivoting == Pivoting::ScaledPartial;
    let noise = case.noise * if scale { 0.5 } else { 1.0 };
    let exchange = case.pivoting != Pivoting::None && case.method != Method::SpikeThomas;
    PivotOptions { exchange, diagonal: exchange && case.method == Method::SpikeDiagonalPivoting, scale, noise }
}

fn plan(shape: Shape, case: Case) -> Plan {
    // With verification, the effect of a noise threshold would be repaired.
    let plan = Plan::new(shape)
        .method(case.method)
        .pivoting(case.pivoting)
        .noise_threshold(case.noise)
        .verify(case.noise == 0.0);
    case.m.map_or(plan.clone(), |m| plan.partition_rows(m))
}

/// The report of a started solve, or `None` if the unverified result of the kernels is wanted.
fn answer<T: Number>(pending: Pending<'_, T>, raw: bool) -> Option<Result<Report>> {
    (!raw).then(|| pending.wait())
}

/// Solve in three orders, and compare with `expected`, which receives the rows of the partitions.
fn compare<T: Number>(
    what: &str,
    shape: Shape,
    case: Case,
    rhs: &[T],
    solve: impl Fn(&Device, DeviceSolver<T>, (&DeviceVec<T>, &mut DeviceVec<T>), bool) -> Option<Result<Report>>,
    expected: impl Fn(&[usize]) -> Vec<T>,
) {
    // The solutions for each division into partitions.
    let mut solutions: HashMap<Vec<usize>, _> = HashMap::new();
    // With many multiprocessors, systems of a few thousand rows fit on the whole device.
    for (order, multiprocessors) in [(ORDERS[0], 1), (ORDERS[1], 1), (ORDERS[2], 1), (ORDERS[1], 64), (ORDERS[2], 64)] {
        let seed = case.n as u64;
        let device = test_device(Emulation { order, seed, resident: 3, multiprocessors, ..Emulation::default() });
        let plan = plan(shape, case);
        let rhs = device.upload(rhs).unwrap();
        let solve_by = |plan: &Plan, raw: bool| {
            let solver = DeviceSolver::<T>::new(&device, plan, case.n_rhs).unwrap();
            let rows = solver.partition_rows();
            let mut x = device.zeros(rhs.len()).unwrap();
            let report = solve(&device, solver, (&rhs, &mut x), raw);
            let x: Vec<_> = x.download().unwrap().into_iter().map(T::bits).collect();
            (report, x, rows)
        };
        let (report, x, rows) = solve_by(&plan, false);
        let report = report.unwrap();
        let what = format!(
            "{} {what} n = {}, block {}, {} rhs, m {:?}, periodic {}, {:?}, {:?}, {order:?}: {report:?}",
            T::NAME,
            case.n,
            case.block,
            case.n_rhs,
            case.m,
            case.periodic,
            case.op,
            case.pivoting
        );
        if case.noise == 0.0 {
            let report = report.as_ref().unwrap();
            assert_eq!(report.backward_errors.len(), case.n_rhs, "{what}");
            assert!(report.backward_error <= 8.0 * T::Real::EPSILON.to_f64(), "{what}");
        }
        if !solutions.contains_key(&rows) {
            let plan = plan.verify(false);
            let raw = solve_by(&plan, true).1;
            let expected: Vec<_> = expected(&rows).into_iter().map(T::bits).collect();
            let suspect = suspect();
            let (report, repaired, _) = solve_by(&plan, false);
            // If all pivots count as noise, the host may find no pivot.
            let fallback = report.unwrap().map_or(case.noise > 0.0, |report| report.fallback);
            assert!(fallback == suspect && (suspect || raw == repaired), "{what}: {suspect}");
            let differs = raw.iter().zip(&expected).enumerate().find(|(_, (x, y))| x != y);
            assert!(differs.is_none(), "{what}: differs first at {differs:x?}");
            // A result after repair, refinement or fallback only needs to be accurate.
            assert!(case.shift < 4.0 || (!suspect && x == expected), "{what}");
        }
        let solution = (report.map(|report| report.backward_error.to_bits()), x);
        assert!(*solutions.entry(rows).or_insert(solution.clone()) == solution, "{what}");
    }
}

fn all_cyclic<T: Number<Real: RealNumber>>() {
    for n in [1, 2, 3, 4, 64, 127, 128, 129, 130, 257, 1000] {
        let case = Case { n, n_rhs: 2, method: Method::Pcr, ..SIMPLE };
        check_batch::<T>(case, 3, Layout::Contiguous);
        for periodic in [false, true] {
            check::<T>(Case { n, periodic, method: Method::SpikeCr, ..SIMPLE });
        }
    }
    for (n, m) in [(5000, 1024), (3001, 300), (200, 3), (5000, 20)] {
        for periodic in [false, true] {
            check::<T>(Case { n, periodic, m: Some(m), n_rhs: 2, method: Method::SpikeCr, ..SIMPLE });
        }
    }
    check::<T>(Case { n: 700, m: Some(100), op: Op::ConjTranspose, method: Method::SpikeCr, ..SIMPLE });
}

fn check_scan<T: Number<Real: RealNumber>>(method: Method, n: usize, n_rhs: usize, op: Op, shift: f64) {
    let case = Case { n, n_rhs, op, shift, method, ..SIMPLE };
    let pairs = method != Method::CfLu;
    let given = Random::<T>::new(n, 1, n_rhs, shift);
    let solve_it = |device: &Device, mut solver: DeviceSolver<T>, (rhs, x): (&DeviceVec<T>, &mut DeviceVec<T>), raw| {
        let [sub, diag, sup] = given.arrays.each_ref().map(|v| device.upload(v).unwrap());
        answer(solver.start(DeviceMatrix::tridiagonal(&sub, &diag, &sup).op(op), rhs, x).unwrap(), raw)
    };
    let expected =
        |_: &[usize]| (0..n_rhs).flat_map(|column| solve_by_minors(&given.rows(column, op), pairs)).collect();
    compare("scan", Shape::Tridiagonal { n, periodic: false }, case, &given.rhs, solve_it, expected);
}

fn all_scans<T: Number<Real: RealNumber>>() {
    for method in [Method::CfLu, Method::ParallelDiagonalPivoting] {
        for n in [1, 2, 3, 8, 9, 255, 256, 257, 1024, 1025, 5000] {
            check_scan::<T>(method, n, 1, Op::Plain, 4.0);
        }
        check_scan::<T>(method, 3000, 3, Op::ConjTranspose, 4.0);
        check_scan::<T>(method, 2000, 1, Op::Transpose, 0.0);
        check_scan::<T>(method, 1500, 1, Op::Plain, 0.0);
        // 2×2 pivots, also across threads and tiles.
        let tile = 128 * thread_rows::<T>();
        for n in [tile - 1, tile, tile + 1, tile + 2, 3 * tile + 1, 5 * tile + 7] {
            check_scan::<T>(method, n, 1, Op::Plain, 0.0);
            check_scan::<T>(method, n, 1, Op::Transpose, 0.0);
        }
        // More than one group of tiles.
        check_scan::<T>(method, 40_000, 1, Op::Plain, 4.0);
        check_scan::<T>(method, 40_000, 1, Op::Plain, 1.0);
    }
}

fn check<T: Number<Real: RealNumber>>(case: Case) {
    let Case { n, block, n_rhs, periodic, op, .. } = case;
    let given = Random::<T>::new(n, block, n_rhs, case.shift * block as f64);
    let shape = match block {
        1 => Shape::Tridiagonal { n, periodic },
        _ => Shape::BlockTridiagonal { block_rows: n, block, periodic },
    };
    let solve_it = |device: &Device, mut solver: DeviceSolver<T>, (rhs, x): (&DeviceVec<T>, &mut DeviceVec<T>), raw| {
        let [sub, diag, sup] = given.arrays.each_ref().map(|v| device.upload(v).unwrap());
        answer(solver.start(DeviceMatrix::block_tridiagonal(&sub, &diag, &sup).op(op), rhs, x).unwrap(), raw)
    };
    let by_method = if case.method == Method::SpikeCr { solve_spike_cr } else { solve };
    let expected = |m: &[usize]| {
        (0..n_rhs).flat_map(|column| by_method(&given.rows(column, op), m, periodic, rule(case))).collect()
    };
    compare("blocks", shape, case, &given.rhs, solve_it, expected);
    if case.method == Method::SpikeCr {
        return;
    }
    let with_factors = |device: &Device, solver: DeviceSolver<T>, (rhs, x): (&DeviceVec<T>, &mut DeviceVec<T>), raw| {
        let [sub, diag, sup] = given.arrays.each_ref().map(|v| device.upload(v).unwrap());
        let mut factors = solver.factor(DeviceMatrix::block_tridiagonal(&sub, &diag, &sup).op(op)).unwrap();
        // The second solve must give the same result as the first.
        _ = factors.solve(rhs, &mut *x);
        answer(factors.start(rhs, x).unwrap(), raw)
    };
    compare("factors", shape, case, &given.rhs, with_factors, expected);
}

/// Check a banded matrix in LAPACK storage, or stored by diagonals.
fn check_band<T: Number<Real: RealNumber>>(case: Case, lower: usize, upper: usize, by_diagonals: bool) {
    let Case { n, op, .. } = case;
    let block = lower.max(upper).max(1);
    let leading = lower + upper + 1;
    let shift = T::from_real(T::Real::from_f64(case.shift * block as f64));
    let entries = random::<T>(n * leading, (n + 10 * lower + upper) as u64);
    // Entry (i, i + k), with k from −lower to upper, is given by k + lower.
    let entry = |i: usize, k: usize| {
        let v = entries[i * leading + k];
        if k == lower { v + shift } else { v }
    };
    let inside = |i: usize, k: usize| i + k >= lower && i + k - lower < n;
    // Entries outside the matrix must not be read.
    let mut stored = vec![T::from_real(T::Real::from_f64(f64::NAN)); n * leading];
    for i in 0..n {
        for k in (0..leading).filter(|k| inside(i, *k)) {
            let j = i + k - lower;
            stored[if by_diagonals { k * n + i } else { lower + upper - k + j * leading }] = entry(i, k);
        }
    }
    let rhs = random::<T>(n * case.n_rhs, 5);
    let at = |i: usize, j: usize| {
        let (i, j) = if op == Op::Plain { (i, j) } else { (j, i) };
        let k = (j + lower).wrapping_sub(i);
        let there = i < n && j < n && k < leading;
        let v = if there { entry(i, k) } else { T::ZERO };
        match op {
            _ if i == j && i >= n => T::ONE,
            Op::ConjTranspose => Scalar::conj(v),
            _ => v,
        }
    };
    let rows = |column: usize| -> Vec<Row<T>> {
        let block_at = |i: usize, k: usize| -> Panel<T> {
            let entry = |r, s| if i + k == 0 { T::ZERO } else { at(i * block + r, (i + k - 1) * block + s) };
            (0..block).map(|r| (0..block).map(|s| entry(r, s)).collect()).collect()
        };
        let given = |row: usize| if row < n { rhs[column * n + row] } else { T::ZERO };
        let d = |i: usize| (i * block..(i + 1) * block).map(given);
        (0..n.div_ceil(block))
            .map(|i| Row { a: block_at(i, 0), b: block_at(i, 1), c: block_at(i, 2), d: d(i).collect() })
            .collect()
    };
    let solve_it = |device: &Device, mut solver: DeviceSolver<T>, (rhs, x): (&DeviceVec<T>, &mut DeviceVec<T>), raw| {
        let stored = device.upload(&stored).unwrap();
        let a = if by_diagonals { DeviceMatrix::diagonals(&stored) } else { DeviceMatrix::banded(&stored, leading) };
        answer(solver.start(a.op(op), rhs, x).unwrap(), raw)
    };
    let expected = |m: &[usize]| -> Vec<T> {
        let one = |column| solve(&rows(column), m, false, rule(case)).into_iter().take(n);
        (0..case.n_rhs).flat_map(one).collect()
    };
    let what = format!("band {lower} {upper} {by_diagonals}");
    compare(&what, Shape::Banded { n, lower, upper }, Case { block, ..case }, &rhs, solve_it, expected);
}

fn all<T: Number<Real: RealNumber>>() {
    for periodic in [false, true] {
        for n in [1, 2, 3, 4, 5, 16, 17, 18, 63, 64, 65, 66, 100, 127, 1000] {
            check::<T>(Case { n, periodic, ..SIMPLE });
        }
        for (n, m) in [(65, 3), (97, 32), (700, 5), (1985, 31), (1986, 31), (1987, 31), (2500, 63), (4000, 8)] {
            check::<T>(Case { n, m: Some(m), periodic, shift: 0.0, ..SIMPLE });
            check::<T>(Case { n, m: Some(m), periodic, ..SIMPLE });
        }
        for op in [Op::Transpose, Op::ConjTranspose] {
            check::<T>(Case { n: 1, periodic, op, ..SIMPLE });
            check::<T>(Case { n: 777, periodic, op, m: Some(10), ..SIMPLE });
        }
        for (pivoting, noise) in [(Pivoting::None, 0.0), (Pivoting::Partial, 0.0), (Pivoting::ScaledPartial, 1e-3)] {
            check::<T>(Case { n: 900, m: Some(20), periodic, pivoting, noise, ..SIMPLE });
            check::<T>(Case { n: 900, m: Some(20), periodic, pivoting, noise: 0.3, shift: 0.0, ..SIMPLE });
        }
        for method in [Method::SpikeThomas, Method::SpikeDiagonalPivoting] {
            for n in [3, 18, 100, 1500] {
                check::<T>(Case { n, periodic, method, ..SIMPLE });
                check::<T>(Case { n, periodic, method, m: Some(9), shift: 0.0, ..SIMPLE });
            }
        }
        for n_rhs in [2, 3, 5, 8] {
            check::<T>(Case { n: 40, n_rhs, periodic, ..SIMPLE });
            check::<T>(Case { n: 1300, n_rhs, periodic, m: Some(13), ..SIMPLE });
        }
    }
}

fn all_blocks<T: Number<Real: RealNumber>>() {
    for block in 2..=4 {
        for periodic in [false, true] {
            for n in [1, 2, 3, 17, 30, 100] {
                check::<T>(Case { n, block, periodic, ..SIMPLE });
            }
            check::<T>(Case { n: 500, block, periodic, m: Some(5), n_rhs: 2, ..SIMPLE });
            check::<T>(Case { n: 500, block, periodic, m: Some(5), shift: 0.0, ..SIMPLE });
            check::<T>(Case { n: 100, block, periodic, m: Some(3), op: Op::ConjTranspose, ..SIMPLE });
            check::<T>(Case { n: 100, block, periodic, pivoting: Pivoting::None, ..SIMPLE });
        }
    }
    for (lower, upper) in [(0, 0), (1, 0), (1, 1), (2, 2), (1, 3), (4, 2)] {
        for n in [1, 2, 7, 100] {
            check_band::<T>(Case { n, ..SIMPLE }, lower, upper, n % 2 == 0);
        }
        for op in [Op::Plain, Op::Transpose, Op::ConjTranspose] {
            check_band::<T>(Case { n: 1001, op, m: Some(6), n_rhs: 2, ..SIMPLE }, lower, upper, lower == 2);
        }
    }
}

/// Batches with one thread per system, with one thread block per system, and with the whole device for one system.
fn all_batches<T: Number<Real: RealNumber>>() {
    let sizes = [(1, 1), (2, 5), (3, 40), (17, 33), (18, 2), (61, 70), (62, 3), (300, 3), (3000, 2)];
    for (n, systems) in sizes {
        for layout in [Layout::Contiguous, Layout::Interleaved] {
            for op in [Op::Plain, Op::ConjTranspose] {
                for (pivoting, noise, shift) in [
                    (Pivoting::ScaledPartial, 0.0, 4.0),
                    (Pivoting::Partial, 0.0, 0.0),
                    (Pivoting::ScaledPartial, 0.3, 0.0),
                ] {
                    check_batch::<T>(Case { n, op, n_rhs: 2, pivoting, noise, shift, ..SIMPLE }, systems, layout);
                }
            }
        }
    }
}

fn check_batch<T: Number<Real: RealNumber>>(case: Case, systems: usize, layout: Layout) {
    let Case { n, op, n_rhs, .. } = case;
    let place = |system: usize, row: usize| match layout {
        Layout::Contiguous => system * n + row,
        Layout::Interleaved => row * systems + system,
    };
    let all = Random::<T>::new(n * systems, 1, n_rhs, case.shift);
    let of_system = |system: usize| {
        let part = |array: &[T]| (0..n).map(|row| array[place(system, row)]).collect::<Vec<T>>();
        let rhs = all.rhs.chunks_exact(n * systems).flat_map(part).collect();
        Random { block: 1, arrays: all.arrays.each_ref().map(|array| part(array)), rhs }
    };
    let alone = layout == Layout::Interleaved || n <= 61;
    let solve_it = |device: &Device, mut solver: DeviceSolver<T>, (rhs, x): (&DeviceVec<T>, &mut DeviceVec<T>), raw| {
        let [sub, diag, sup] = all.arrays.each_ref().map(|v| device.upload(v).unwrap());
        answer(solver.start(DeviceMatrix::tridiagonal(&sub, &diag, &sup).op(op), rhs, x).unwrap(), raw)
    };
    let expected = |m: &[usize]| {
        let mut x = vec![T::ZERO; all.rhs.len()];
        for system in 0..systems {
            for column in 0..n_rhs {
                let rows = of_system(system).rows(column, op);
                let cyclic = || {
                    let mut rows = rows.clone();
                    rows[0].a[0][0] = T::ZERO;
                    rows[n - 1].c[0][0] = T::ZERO;
                    let line = |Row { a, b, c, d }: Row<T>| Line { a: a[0][0], b: b[0][0], c: c[0][0], d };
                    let lines = rows.iter().map(|row| line(row.scaled(rule(case)))).collect();
                    solve_lines(lines, rule(case)).into_iter().map(|x| x[0]).collect::<Vec<T>>()
                };
                let solution = if case.method == Method::Pcr {
                    cyclic()
                } else if alone {
                    solve_alone(&rows, rule(case))
                } else {
                    solve(&rows, m, false, rule(case))
                };
                (0..n).for_each(|row| x[column * n * systems + place(system, row)] = solution[row]);
            }
        }
        x
    };
    let what = format!("batch of {systems}, {layout:?}");
    compare(&what, Shape::Batch { n, count: systems, layout, periodic: false }, case, &all.rhs, solve_it, expected);
}

macro_rules! bit_for_bit {
    ($($name:ident $blocks:ident $batches:ident $scans:ident $cyclic:ident $t:ty;)*) => {$(
        #[test]
        fn $name() {
            all::<$t>();
        }
        #[test]
        fn $blocks() {
            all_blocks::<$t>();
        }
        #[test]
        fn $batches() {
            all_batches::<$t>();
        }
        #[test]
        fn $scans() {
            all_scans::<$t>();
        }
        #[test]
        fn $cyclic() {
            all_cyclic::<$t>();
        }
    )*};
}
bit_for_bit! {
    scalars_f32 blocks_f32 batches_f32 scans_f32 cyclic_f32 f32;
    scalars_f64 blocks_f64 batches_f64 scans_f64 cyclic_f64 f64;
    scalars_c32 blocks_c32 batches_c32 scans_c32 cyclic_c32 Complex32;
    scalars_c64 blocks_c64 batches_c64 scans_c64 cyclic_c64 Complex64;
}

#[test]
fn systems_that_fit_the_device_are_solved_in_one_launch() {
    let one_launch = |n, multiprocessors| {
        let device = test_device(Emulation { multiprocessors, ..Emulation::default() });
        let plan = Plan::new(Shape::Tridiagonal { n, periodic: false });
        DeviceSolver::<f64>::new(&device, &plan, 1).unwrap().in_one_launch()
    };
    assert!(one_launch(4000, 64) && !one_launch(4000, 1) && !one_launch(400, 64) && !one_launch(1 << 20, 64));
}

#[test]
fn without_a_gpu_there_is_an_error() {
    match Device::cuda(0) {
        Ok(device) => println!("there is one: {}", device.name()),
        Err(error) => assert!(matches!(error, bandsolve::Error::NoDevice { .. }), "{error}"),
    }
}

#[test]
fn any_number_of_right_hand_sides_on_chip_gives_the_same_bits() {
    for n_rhs in [3, 9] {
        let given = Random::<f64>::new(3000, 1, n_rhs, 4.0);
        let mut first = None;
        for rhs_on_chip in [1, 2, 4, 8] {
            let device = test_device(Emulation::default());
            let sizes = format!("f64 on any = 31, 128, {rhs_on_chip}").parse::<DeviceTuning>().unwrap();
            let sizes = sizes.sizes("any", "f64").unwrap();
            let plan = Plan::new(Shape::Tridiagonal { n: 3000, periodic: false });
            let mut solver = DeviceSolver::with_sizes(&device, &plan, n_rhs, sizes).unwrap();
            let [sub, diag, sup] = given.arrays.each_ref().map(|v| device.upload(v).unwrap());
            let (rhs, mut x) = (device.upload(&given.rhs).unwrap(), device.zeros(given.rhs.len()).unwrap());
            solver.solve(DeviceMatrix::tridiagonal(&sub, &diag, &sup), &rhs, &mut x).unwrap();
            let x = x.download().unwrap();
            assert!(*first.get_or_insert(x.clone()) == x, "{rhs_on_chip}");
        }
    }
}

#[test]
fn batches_of_any_size_have_factors() {
    for n in [3, 61, 62, 300] {
        let (device, count) = (test_device(Emulation::default()), 4);
        let given = Random::<f64>::new(n * count, 1, 1, 4.0);
        let [sub, diag, sup] = given.arrays.each_ref().map(|v| device.upload(v).unwrap());
        let rhs = device.upload(&given.rhs).unwrap();
        let plan = Plan::new(Shape::Batch { n, count, layout: Layout::Contiguous, periodic: false });
        let (a, solver) =
            (DeviceMatrix::tridiagonal(&sub, &diag, &sup), || DeviceSolver::new(&device, &plan, 1).unwrap());
        let [mut x, mut y] = [(); 2].map(|()| device.zeros(n * count).unwrap());
        solver().solve(a, &rhs, &mut x).unwrap();
        solver().factor(a).unwrap().solve(&rhs, &mut y).unwrap();
        assert_eq!(x.download().unwrap(), y.download().unwrap());
    }
}
