//! Sparse matrices by rows on a device: products, residuals and largest entries, compared with the same operations in Rust
//! bit for bit, with exact sums, and with the CPU.

use crate::reference::Number;
use crate::test_device;
use bandsolve::dyn_stack::{PodBuffer, PodStack, StackReq};
use bandsolve::{Complex32, Complex64, Error, LinearOperator, Op, RealScalar, Scalar};
use bandsolve_gallery::{Random, random_vec};
use bandsolve_gpu::{Device, DeviceCsr, DeviceScalar, Emulation, NO_COLUMN, Order};
use bandsolve_sparse::{Csr, RowArgMax, RowArgMax2, RowMax, RowMaxWithColumn, reduce_rows};

const ORDERS: [Order; 3] = [Order::Forward, Order::Reverse, Order::Random];
const COLUMNS: usize = 300;
const TILE: usize = 1024;
const SHORT: usize = 32;

fn device(order: Order) -> Device {
    test_device(Emulation { order, resident: 3, ..Emulation::default() })
}

/// The lengths of the rows of all test matrices.
fn row_lengths() -> Vec<Vec<usize>> {
    let mut random = Random::new(5);
    let mut mixed = |most: usize, rows: usize| -> Vec<usize> {
        (0..rows).map(|_| random.uniform(0.0, (most + 1) as f64) as usize).collect()
    };
    let [few, some, many] = [mixed(9, 700), mixed(70, 120), mixed(2500, 9)];
    vec![
        vec![],
        vec![0],
        vec![1],
        vec![0; 5],
        // Exactly one tile, one entry more, and two tiles.
        vec![SHORT; 32],
        [vec![SHORT; 32], vec![1]].concat(),
        vec![TILE, TILE],
        // A short row, then a long one, that crosses the border of tiles by one entry.
        [vec![31; 32], vec![SHORT; 3]].concat(),
        [vec![31; 32], vec![SHORT + 1; 3]].concat(),
        // As many long rows in a tile as possible.
        vec![SHORT + 1; 64],
        // A long row begins with a tile and ends with one.
        vec![TILE, 2 * TILE, 7],
        // One row over more tiles than a warp has lanes, between empty rows.
        vec![0, 3, 37 * TILE + 5, 0, 0],
        // More empty rows than threads, before, inside and after a tile.
        [vec![0; 300], vec![5; 100], vec![0; 300], vec![4; 200], vec![0; 300]].concat(),
        few,
        some,
        many,
    ]
}

/// A matrix with columns in any order, some of them more than once.
fn matrix<T: Scalar>(lengths: &[usize], value: &mut dyn FnMut() -> T) -> Csr<'static, T, u32> {
    let mut pointers = vec![0];
    lengths.iter().for_each(|length| pointers.push(pointers[pointers.len() - 1] + *length as u32));
    let entries = pointers[lengths.len()];
    let columns: Vec<u32> = (0..entries).map(|k| k.wrapping_mul(2_654_435_761) % COLUMNS as u32).collect();
    let values: Vec<T> = columns.iter().map(|_| value()).collect();
    Csr::new(COLUMNS, pointers, columns, values).unwrap()
}

fn random_matrix<T: Scalar>(lengths: &[usize]) -> (Csr<'static, T, u32>, Vec<T>) {
    let mut random = Random::new(lengths.len() as u64);
    let x = random_vec(COLUMNS, &mut random);
    (matrix(lengths, &mut || random_vec::<T>(1, &mut random)[0]), x)
}

/// Reduce terms or sums as a warp does: in equal parts, which are then joined in pairs.
fn by_warp<S: Copy, P: Copy>(parts: &[P], start: S, add: impl Fn(S, P) -> S, join: impl Fn(S, S) -> S) -> S {
    let each = parts.len().div_ceil(32).max(1);
    let mut lanes: Vec<S> =
        parts.chunks(each).map(|part| part.iter().fold(start, |sum, term| add(sum, *term))).collect();
    lanes.resize(32, start);
    while lanes.len() > 1 {
        lanes = lanes.chunks(2).map(|pair| join(pair[0], pair[1])).collect();
    }
    lanes[0]
}

/// Reduce the terms of a row whose first entry has this number.
fn by_tiles<S: Copy, P: Copy>(
    (first, terms): (usize, &[P]),
    start: S,
    add: impl Fn(S, P) -> S + Copy,
    join: impl Fn(S, S) -> S + Copy,
) -> S {
    if terms.len() <= SHORT {
        return terms.iter().fold(start, |sum, term| add(sum, *term));
    }
    let (mut sums, mut rest) = (vec![], terms);
    while !rest.is_empty() {
        let at = first + terms.len() - rest.len();
        let (part, later) = rest.split_at(rest.len().min(TILE - at % TILE));
        sums.push(by_warp(part, start, add, join));
        rest = later;
    }
    if let [sum] = sums[..] { sum } else { by_warp(&sums, start, join, join) }
}

/// The result of each row, from its terms.
fn each_row<T: Scalar, P: Copy, R>(
    a: &Csr<'_, T, u32>,
    term: impl Fn(usize, T) -> P,
    reduce: impl Fn(usize, (usize, &[P])) -> R,
) -> Vec<R> {
    let row = |i: usize| {
        let terms: Vec<P> = a.row(i).map(|(j, value)| term(j, value)).collect();
        reduce(i, (a.range(i).start, &terms))
    };
    (0..a.rows()).map(row).collect()
}

/// A real number as an unevaluated sum.
type Pair<R> = [R; 2];

fn subtract_product<R: RealScalar + Number>([sum, rest]: Pair<R>, (a, x): (R, R)) -> Pair<R> {
    let p = a * x;
    let error = a.fma(x, -p);
    let s = sum - p;
    let back = s - sum;
    [s, rest + ((sum - (s - back)) - (p + back) - error)]
}

fn join_pairs<R: RealScalar>([sum, rest]: Pair<R>, [later, more]: Pair<R>) -> Pair<R> {
    let s = sum + later;
    let back = s - sum;
    [s, rest + ((sum - (s - back)) + (later - back) + more)]
}

/// b − Σ terms, as the residual kernel computes it.
fn residual_of<T: Number<Real: Number>>(d: T, row: (usize, &[(T, T)])) -> T {
    let zero = [[T::Real::ZERO; 2]; 2];
    let add = |[re, im]: [Pair<T::Real>; 2], (a, x): (T, T)| {
        if !T::COMPLEX {
            return [subtract_product(re, (a.re(), x.re())), im];
        }
        let re = subtract_product(subtract_product(re, (a.re(), x.re())), (-a.im(), x.im()));
        [re, subtract_product(subtract_product(im, (a.re(), x.im())), (a.im(), x.re()))]
    };
    let join = |a: [Pair<T::Real>; 2], b: [Pair<T::Real>; 2]| [0, 1].map(|k| join_pairs(a[k], b[k]));
    let all = join(by_tiles(row, zero, add, join), [[d.re(), T::Real::ZERO], [d.im(), T::Real::ZERO]]);
    let [re, im] = all.map(|[sum, rest]| sum + rest);
    T::from_parts(re, im)
}

/// Products, sums of moduli and residuals have the bits of the same operations in Rust, in all orders.
fn check<T: Number<Real: Number>>() {
    for lengths in row_lengths() {
        let (a, x) = random_matrix::<T>(&lengths);
        let rhs = random_vec::<T>(a.rows(), &mut Random::new(3));
        let sum = |_, row: (usize, &[T])| by_tiles(row, T::ZERO, |sum, term| sum + term, |sum, later| sum + later);
        let y = each_row(&a, |j, value| value * x[j], sum);
        let r = each_row(&a, |j, value| (value, x[j]), |i, row| residual_of(rhs[i], row));
        let mut etas = vec![];
        for order in ORDERS {
            let device = device(order);
            let on_device = DeviceCsr::new(&device, &a).unwrap();
            let (given, b) = (device.upload(&x).unwrap(), device.upload(&rhs).unwrap());
            let mut out = device.upload(&vec![T::from_real(T::Real::NAN); a.rows()]).unwrap();
            on_device.multiply(&given, &mut out).unwrap();
            assert!(out.download().unwrap() == y, "{} {order:?}: product, rows {lengths:?}", T::NAME);
            etas.push(on_device.residual(&given, &b, &mut out).unwrap());
            assert!(out.download().unwrap() == r, "{} {order:?}: residual, rows {lengths:?}", T::NAME);
            let mut sums = device.upload(&vec![T::Real::NAN; a.rows()]).unwrap();
            on_device.sum_moduli(&given, &mut sums).unwrap();
            check_moduli(&a, &x, &sums.download().unwrap());
        }
        assert!(etas.iter().all(|eta| *eta == etas[0]), "{etas:?}");
        let eta = backward_error(&a, &x, &rhs, &r);
        // Sums of up to 2^16 moduli in working precision are accurate to 2^16·ε.
        let near = (etas[0] - eta).abs() <= 65536.0 * T::Real::EPSILON.to_f64() * eta;
        assert!(near, "{}: {} instead of {eta}, rows {lengths:?}", T::NAME, etas[0]);
    }
}

/// Sums of moduli have the bits of the reference if they are real. Moduli of complex numbers are rounded.
fn check_moduli<T: Number<Real: Number>>(a: &Csr<'_, T, u32>, x: &[T], sums: &[T::Real]) {
    let sum = |_, row: (usize, &[T::Real])| by_tiles(row, T::Real::ZERO, |a, b| a + b, |a, b| a + b);
    let expected = each_row(a, |j, value| Scalar::abs(value) * Scalar::abs(x[j]), sum);
    for i in 0..a.rows() {
        // Each modulus of a complex number has at most 8 roundings.
        let terms = if T::COMPLEX { (a.range(i).len() + 32) as f64 } else { 0.0 };
        let error = (sums[i] - expected[i]).to_f64().abs();
        assert!(error <= terms * T::Real::EPSILON.to_f64() * expected[i].to_f64(), "{} row {i}: {error:e}", T::NAME);
    }
}

/// max |rᵢ| / (Σ|aᵢⱼ|·‖x‖∞ + |bᵢ|), in double precision.
fn backward_error<T: Scalar>(a: &Csr<'_, T, u32>, x: &[T], rhs: &[T], r: &[T]) -> f64 {
    let size = |v: T| Scalar::abs(v).to_f64();
    let norm = x.iter().map(|x| size(*x)).fold(0.0, f64::max);
    let row = |i: usize| size(r[i]) / (a.row(i).map(|(_, value)| size(value)).sum::<f64>() * norm + size(rhs[i]));
    (0..a.rows()).map(row).fold(0.0, f64::max)
}

#[test]
fn f32_like_the_reference() {
    check::<f32>();
}

#[test]
fn f64_like_the_reference() {
    check::<f64>();
}

#[test]
fn c32_like_the_reference() {
    check::<Complex32>();
}

#[test]
fn c64_like_the_reference() {
    check::<Complex64>();
}

/// y of a matrix with small integers is exact, and has the bits of the CPU in short rows of random numbers.
fn exact_and_as_on_the_cpu<T: DeviceScalar>() {
    for (number, lengths) in row_lengths().iter().enumerate() {
        let device = device(ORDERS[number % 3]);
        let mut random = Random::new(number as u64);
        let mut integer = || random.uniform(-8.0, 9.0).floor();
        let x: Vec<f64> = (0..COLUMNS).map(|_| integer()).collect();
        let a = matrix(lengths, &mut || integer());
        let exact: Vec<f64> = (0..a.rows()).map(|i| a.row(i).map(|(j, value)| value * x[j]).sum()).collect();
        let rounded = |v: &f64| T::from_real(T::Real::from_f64(*v));
        let (pointers, columns, values) = a.parts();
        let values: Vec<T> = values.iter().map(rounded).collect();
        let a = Csr::new(COLUMNS, pointers, columns, values).unwrap();
        let mut y = device.zeros(a.rows()).unwrap();
        let given = device.upload(&x.iter().map(rounded).collect::<Vec<T>>()).unwrap();
        DeviceCsr::new(&device, &a).unwrap().multiply(&given, &mut y).unwrap();
        assert!(y.download().unwrap() == exact.iter().map(rounded).collect::<Vec<T>>(), "{} {lengths:?}", T::NAME);

        let (a, x) = random_matrix::<T>(lengths);
        let mut expected = vec![T::ZERO; a.rows()];
        a.product(Op::Plain, T::ONE, &x, T::ZERO, &mut expected).unwrap();
        let given = device.upload(&x).unwrap();
        // The same matrix with 64-bit indices.
        let (pointers, columns, values) = a.parts();
        let wide = |indices: &[u32]| indices.iter().map(|index| i64::from(*index)).collect::<Vec<_>>();
        let wide = Csr::new(COLUMNS, wide(pointers), wide(columns), values).unwrap();
        DeviceCsr::new(&device, &wide).unwrap().multiply(&given, &mut y).unwrap();
        let y = y.download().unwrap();
        let differs = |i: &usize| lengths[*i] <= SHORT && y[*i] != expected[*i];
        assert_eq!((0..a.rows()).find(differs), None, "{} {lengths:?}", T::NAME);
    }
}

#[test]
fn f32_exact_and_as_on_the_cpu() {
    exact_and_as_on_the_cpu::<f32>();
}

#[test]
fn f64_exact_and_as_on_the_cpu() {
    exact_and_as_on_the_cpu::<f64>();
}

#[test]
fn c32_exact_and_as_on_the_cpu() {
    exact_and_as_on_the_cpu::<Complex32>();
}

#[test]
fn c64_exact_and_as_on_the_cpu() {
    exact_and_as_on_the_cpu::<Complex64>();
}

/// For b = A·x rounded, the residual has no digit in working precision. It agrees with that of the CPU, which is also computed in twice
/// the working precision.
fn residual_of_rounded_product<T: DeviceScalar>() {
    let epsilon = T::Real::EPSILON.to_f64();
    for lengths in row_lengths() {
        let (a, x) = random_matrix::<T>(&lengths);
        let [mut rhs, mut expected] = [0; 2].map(|_| vec![T::ZERO; a.rows()]);
        a.product(Op::Plain, T::ONE, &x, T::ZERO, &mut rhs).unwrap();
        let mut memory = PodBuffer::new(StackReq::EMPTY);
        a.accurate_residual(&x, &rhs, &mut expected, PodStack::new(&mut memory)).unwrap();
        let device = device(Order::Random);
        let (given, b, mut r) =
            (device.upload(&x).unwrap(), device.upload(&rhs).unwrap(), device.zeros(a.rows()).unwrap());
        let eta = DeviceCsr::new(&device, &a).unwrap().residual(&given, &b, &mut r).unwrap();
        let r = r.download().unwrap();
        for i in 0..a.rows() {
            let size: f64 = a.row(i).map(|(j, value)| Scalar::abs(value * x[j]).to_f64()).sum();
            // Both round r once. The errors of the sums of k terms are below (2k + 2)²·ε²/4 of their moduli, twice for complex terms.
            let k = 2.0 * a.range(i).len() as f64 + 1.0;
            let bound = 2.0 * epsilon * Scalar::abs(expected[i]).to_f64() + 2.0 * (k * epsilon).powi(2) * size;
            assert!(Scalar::abs(r[i] - expected[i]).to_f64() <= bound, "{} row {i} of {lengths:?}", T::NAME);
        }
        let longest = lengths.iter().max().map_or(0.0, |longest| *longest as f64);
        assert!(eta <= (2.0 * longest + 2.0) * epsilon, "{eta:e} {lengths:?}");
    }
}

#[test]
fn small_residuals_have_correct_digits() {
    residual_of_rounded_product::<f32>();
    residual_of_rounded_product::<f64>();
    residual_of_rounded_product::<Complex32>();
    residual_of_rounded_product::<Complex64>();
}

#[test]
fn backward_errors_at_the_ends_of_the_range() {
    let device = device(Order::Forward);
    let eta = |value: f64, x: f64, rhs: f64| {
        let a = DeviceCsr::new(&device, &Csr::<f64, u32>::from_triplets(1, 1, &[(0, 0, value)]).unwrap()).unwrap();
        let [x, rhs] = [x, rhs].map(|v| device.upload(&[v]).unwrap());
        a.residual(&x, &rhs, &mut device.zeros(1).unwrap()).unwrap()
    };
    assert_eq!(eta(4.0, 2.0, 16.0), 8.0 / 24.0);
    assert_eq!(eta(4e-300, 2.0, 16e-300), 8.0 / 24.0);
    assert_eq!(eta(4e300, 2.0, 16e300), 8.0 / 24.0);
    assert_eq!(eta(0.0, 2.0, 0.0), 0.0);
    assert_eq!(eta(0.0, 2.0, 1e-300), 1.0);
    for (value, x, rhs) in [(f64::NAN, 1.0, 1.0), (1.0, f64::NAN, 1.0), (1.0, 1.0, f64::NAN), (f64::INFINITY, 1.0, 1.0)]
    {
        assert!(eta(value, x, rhs).is_nan());
    }
}

#[test]
fn nan_stays_in_its_row() {
    let lengths = [vec![3; 400], vec![2000], vec![3; 400]].concat();
    for bad in [5, 400, 700] {
        let (a, x) = random_matrix::<f64>(&lengths);
        let (pointers, columns, values) = a.parts();
        let mut values = values.to_vec();
        values[pointers[bad] as usize + 1] = f64::NAN;
        let device = device(Order::Reverse);
        let a = DeviceCsr::new(&device, &Csr::new(COLUMNS, pointers, columns, values).unwrap()).unwrap();
        let (x, mut y) = (device.upload(&x).unwrap(), device.zeros(lengths.len()).unwrap());
        a.multiply(&x, &mut y).unwrap();
        let y = y.download().unwrap();
        assert!((0..y.len()).all(|i| y[i].is_nan() == (i == bad)));
    }
}

/// Largest entries are those that the CPU finds, also among equal entries, −∞ and NaN.
fn largest_entries<T: DeviceScalar + RealScalar>() {
    for (number, lengths) in row_lengths().iter().enumerate() {
        let mut random = Random::new(number as u64);
        let a = matrix(lengths, &mut || {
            let v = random.uniform(-3.0, 4.0).floor();
            T::from_f64(if v == -3.0 {
                f64::NAN
            } else if v == -2.0 {
                f64::NEG_INFINITY
            } else {
                v
            })
        });
        let n = a.rows();
        let device = device(ORDERS[number % 3]);
        let on_device = DeviceCsr::new(&device, &a).unwrap();
        let [mut max, mut with_column] = [0; 2].map(|_| device.zeros::<T>(n).unwrap());
        let (mut arg, mut arg2) = (device.zeros::<u32>(n).unwrap(), device.zeros::<u32>(2 * n).unwrap());
        on_device.row_max(&mut max).unwrap();
        on_device.row_max_with_column(&mut with_column).unwrap();
        on_device.row_arg_max(&mut arg).unwrap();
        on_device.row_arg_max2(&mut arg2).unwrap();
        let number = |max: Vec<T>| max.into_iter().map(|v| (!v.is_nan()).then_some(v)).collect::<Vec<_>>();
        let column = |v: &u32| (*v != NO_COLUMN).then_some(*v);
        let [mut expected, mut expected_with_column] = [0; 2].map(|_| vec![None; n]);
        reduce_rows(&a, &RowMax, &mut expected);
        reduce_rows(&a, &RowMaxWithColumn, &mut expected_with_column);
        assert!(number(max.download().unwrap()) == expected, "{lengths:?}");
        assert!(number(with_column.download().unwrap()) == expected_with_column, "{lengths:?}");
        let (mut expected, mut expected2) = (vec![None; n], vec![[None; 2]; n]);
        reduce_rows(&a, &RowArgMax, &mut expected);
        reduce_rows(&a, &RowArgMax2, &mut expected2);
        assert_eq!(arg.download().unwrap().iter().map(column).collect::<Vec<_>>(), expected, "{lengths:?}");
        assert_eq!(arg2.download().unwrap().iter().map(column).collect::<Vec<_>>(), expected2.concat(), "{lengths:?}");
    }
}

#[test]
fn f32_largest_entries() {
    largest_entries::<f32>();
}

#[test]
fn f64_largest_entries() {
    largest_entries::<f64>();
}

#[test]
fn wrong_arrays_are_errors() {
    let [one, other] = [(); 2].map(|()| Device::emulated(Emulation::default()));
    let csr = Csr::<f64, u32>::from_triplets(2, 3, &[(0, 0, 1.0), (1, 2, 2.0)]).unwrap();
    let a = DeviceCsr::new(&one, &csr).unwrap();
    assert_eq!((a.rows(), a.columns(), a.entries()), (2, 3, 2));
    let zeros = |device: &Device, n| device.zeros::<f64>(n).unwrap();
    let shape = |what, expected, got| Err(Error::Shape { what, expected, got });
    assert_eq!(a.multiply(&zeros(&one, 2), &mut zeros(&one, 2)), shape("x", 3, 2));
    assert_eq!(a.multiply(&zeros(&one, 3), &mut zeros(&one, 3)), shape("y", 2, 3));
    assert_eq!(a.row_arg_max2(&mut one.zeros(3).unwrap()), shape("output", 4, 3));
    let residual = |devices: [&Device; 3], [x, rhs, r]: [usize; 3]| {
        a.residual(&zeros(devices[0], x), &zeros(devices[1], rhs), &mut zeros(devices[2], r)).map(|_| ())
    };
    assert_eq!(residual([&one; 3], [3, 1, 2]), shape("rhs", 2, 1));
    assert_eq!(residual([&one; 3], [3, 2, 1]), shape("r", 2, 1));
    for (k, name) in ["x", "rhs", "r"].into_iter().enumerate() {
        let mut devices = [&one; 3];
        devices[k] = &other;
        let error = residual(devices, [3, 2, 2]).unwrap_err().to_string();
        assert_eq!(error, format!("{name} is on another device, emulated, expected this device, emulated"));
    }
    assert!(matches!(a.multiply(&zeros(&one, 3), &mut zeros(&other, 2)), Err(Error::InvalidArgument { .. })));
    assert!(matches!(a.row_max(&mut zeros(&other, 2)), Err(Error::InvalidArgument { .. })));
    let wide = Csr::<f64, u64>::new(1 << 33, vec![0, 0], vec![], vec![]).unwrap();
    let error = DeviceCsr::new(&one, &wide).unwrap_err();
    assert!(
        matches!(error, Error::Shape { what: "a row of a matrix on a device", got, .. } if got == 1 << 33),
        "{error}"
    );
}
