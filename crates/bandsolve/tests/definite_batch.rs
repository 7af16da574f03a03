//! Batches of Hermitian matrices: every width, size, triangle, order in memory and operation against dense matrices, and the errors of method
//! `cholesky`.

use bandsolve::dyn_stack::{PodBuffer, PodStack};
use bandsolve::prelude::*;
use bandsolve::{BlockStrides, Complex32, Complex64, RealScalar, Scalar};
use bandsolve_gallery::oracle::backward_error;
use bandsolve_gallery::{Random, random_vec};

const OPS: [Op; 3] = [Op::Plain, Op::Transpose, Op::ConjTranspose];
const WIDTHS: [usize; 8] = [0, 1, 2, 3, 4, 7, 8, 15];

fn real<T: Scalar>(x: f64) -> T {
    T::from_real(T::Real::from_f64(x))
}

fn nan<T: Scalar>() -> T {
    T::from_parts(T::Real::NAN, T::Real::NAN)
}

/// How the matrices of a batch are stored.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Storage {
    lower: bool,
    periodic: bool,
    /// A row for each diagonal, or a column for each row of the matrix.
    diagonals: bool,
    layout: Layout,
}

impl Storage {
    fn all() -> impl Iterator<Item = Self> {
        let flags = (0..8).map(|k| [k & 1 > 0, k & 2 > 0, k & 4 > 0]);
        flags.flat_map(|[lower, periodic, diagonals]| {
            [Layout::Contiguous, Layout::Interleaved].map(|layout| Self { lower, periodic, diagonals, layout })
        })
    }

    fn strides(self, (count, n, width): (usize, usize, usize)) -> BandStrides {
        let rows = width + 1;
        let (column, diagonal) = if self.diagonals { (1, n) } else { (rows, 1) };
        match self.layout {
            Layout::Contiguous => BandStrides { system: n * rows, column, diagonal },
            Layout::Interleaved => BandStrides { system: 1, column: column * count, diagonal: diagonal * count },
        }
    }

    /// The batch of these matrices, of each of which `triangle(s, k, j)` is entry (j + k, j), wrapped if periodic. Numbers that the batch
    /// ignores are NaN.
    fn numbers<T: Scalar>(self, size: (usize, usize, usize), triangle: &dyn Fn(usize, usize, usize) -> T) -> Vec<T> {
        let ((count, n, width), strides) = (size, self.strides(size));
        let mut numbers = vec![nan(); count * n * (width + 1)];
        for s in 0..count {
            for (k, j) in (0..=width).flat_map(|k| (0..n).map(move |j| (k, j))) {
                if !self.periodic && j + k >= n {
                    continue;
                }
                let entry = triangle(s, k, j);
                let entry = if k == 0 { T::from_parts(entry.re(), T::Real::NAN) } else { entry };
                // The upper triangle has the conjugate in column j + k.
                let (column, r, stored) =
                    if self.lower { (j, k, entry) } else { ((j + k) % n, width - k, Scalar::conj(entry)) };
                numbers[s * strides.system + column * strides.column + r * strides.diagonal] = stored;
            }
        }
        numbers
    }

    fn batch<T: Scalar>(self, size @ (count, n, width): (usize, usize, usize), numbers: &[T]) -> BandedBatch<'_, T> {
        let a = BandedBatch::hermitian(count, n, (width, self.lower), self.layout, self.strides(size), numbers);
        if self.periodic { a.unwrap().periodic().unwrap() } else { a.unwrap() }
    }
}

/// The dense matrix with this triangle, as a band with all diagonals.
fn dense<T: Scalar>(
    (n, width, periodic): (usize, usize, bool),
    triangle: impl Fn(usize, usize) -> T,
) -> Banded<'static, T> {
    let (height, beside) = (2 * n - 1, n - 1);
    let mut all = vec![T::ZERO; n * height];
    let mut add = |i: usize, j: usize, v: T| all[j * height + beside + i - j] += v;
    for (k, j) in (0..=width).flat_map(|k| (0..n).map(move |j| (k, j))) {
        if periodic || j + k < n {
            let (i, v) = ((j + k) % n, triangle(k, j));
            if k == 0 {
                add(j, j, T::from_real(v.re()));
            } else {
                add(i, j, v);
                add(j, i, Scalar::conj(v));
            }
        }
    }
    Banded::from_vec(n, beside, beside, all).unwrap()
}

fn conjugated<T: Scalar>(a: &Banded<'_, T>) -> Banded<'static, T> {
    let entries = a.storage().0.iter().map(|v| Scalar::conj(*v)).collect();
    Banded::from_vec(a.n(), a.lower(), a.upper(), entries).unwrap()
}

fn solve<T: Scalar>(factor: &dyn Factor<T>, op: Op, rhs: &[T]) -> (Vec<T>, Result<Report, Error>) {
    let mut x = vec![nan(); rhs.len()];
    let mut memory = PodBuffer::new(factor.solve_scratch(factor.shape().n_rhs("rhs", rhs.len()).unwrap()));
    let report = factor.solve_into_with(op, rhs, &mut x, PodStack::new(&mut memory));
    (x, report)
}

fn column<T: Scalar>(a: &BandedBatch<'_, T>, s: usize, all: &[T]) -> Vec<T> {
    (0..a.n()).map(|i| all[a.index(s, i)]).collect()
}

/// All systems, with the same bits for any number of threads and any order in memory. `cholesky` needs no fallback.
fn every_width_and_storage<T: Scalar>() {
    let random = &mut Random::new(21);
    for width in WIDTHS {
        for (n, count) in [(1, 3), (2, 19), (3, 8), (5, 33), (16, 9), (41, 20)] {
            let size = (count, n, width);
            let off: Vec<T> = random_vec(count * n * (width + 1), random);
            // Dominant: the moduli of the 2·width other entries are at most √2.
            let triangle = |s: usize, k: usize, j: usize| {
                off[(s * n + j) * (width + 1) + k] + if k == 0 { real(3.0 * width as f64 + 2.0) } else { T::ZERO }
            };
            let rhs: Vec<T> = random_vec(2 * count * n, random);
            let mut first: [Option<Vec<T>>; 2] = [None, None];
            for storage in Storage::all().filter(|storage| !storage.periodic || width <= 7) {
                let numbers = storage.numbers(size, &triangle);
                let a = storage.batch(size, &numbers);
                assert_eq!(a.check_finite(), Ok(()));
                if !storage.periodic {
                    let (system, matrix) =
                        (a.system(count - 1).unwrap(), dense((n, width, false), |k, j| triangle(count - 1, k, j)));
                    let inside = |i: usize, j: usize| i.abs_diff(j) <= width;
                    let all = (0..n * n).map(|k| (k / n, k % n)).filter(|(i, j)| inside(*i, *j));
                    assert!(all.into_iter().all(|(i, j)| system.get(i, j) == matrix.get(i, j)), "{size:?} {storage:?}");
                }
                for (method, op) in [Method::Cholesky, Method::Auto].into_iter().flat_map(|m| OPS.map(|op| (m, op))) {
                    let what = format!("width {width}, {count} systems of {n}, {storage:?}, {method:?}, {op:?}");
                    let plan = Plan::new(a.shape()).method(method);
                    let (x, report) = solve(&plan.clone().threads(2).factor(&a).unwrap(), op, &rhs);
                    let report = report.unwrap_or_else(|error| panic!("{what}: {error}"));
                    let limit = 8.0 * T::Real::EPSILON.to_f64();
                    assert!(report.backward_error <= limit && report.fallback_systems.is_empty(), "{what}: {report:?}");
                    for s in [0, count / 2, count - 1] {
                        let matrix = dense((n, width, storage.periodic), |k, j| triangle(s, k, j));
                        let matrix = if op == Op::Transpose { conjugated(&matrix) } else { matrix };
                        for (rhs, x) in rhs.chunks(count * n).zip(x.chunks(count * n)) {
                            let eta = backward_error(&matrix, &column(&a, s, rhs), &column(&a, s, x));
                            let most = report.backward_error + (2 * width + 4) as f64 * T::Real::EPSILON.to_f64();
                            assert!(eta <= most, "{what}, system {s}: {eta:e}, {report:?}");
                        }
                    }
                    if method == Method::Cholesky {
                        assert!(x == solve(&plan.threads(1).factor(&a).unwrap(), op, &rhs).0, "{what}");
                        // Sums of entries that meet depend on their order.
                        let alike = storage.layout == Layout::Contiguous && (!storage.periodic || n > 2 * width);
                        if op == Op::Plain && alike {
                            let first = first[usize::from(storage.periodic)].get_or_insert_with(|| x.clone());
                            assert!(*first == x, "{what}");
                        }
                    }
                }
            }
        }
    }
}

/// Matrices that are scaled on both sides, D·A·D with entries of D from 1e−40 to 1e40 (1e−4 to 1e4 in single precision), are solved as well.
fn scaled_on_both_sides<T: Scalar>() {
    let random = &mut Random::new(5);
    let decades = if T::Real::EPSILON.to_f64() > 1e-10 { 4.0 } else { 40.0 };
    for width in [1, 2, 5] {
        let size @ (count, n, _) = (20, 30, width);
        let off: Vec<T> = random_vec(count * n * (width + 1), random);
        let by: Vec<f64> =
            (0..n).map(|_| 10_f64.powf(decades * random.uniform(-1.0, 1.0)).log2().round().exp2()).collect();
        let triangle = |s: usize, k: usize, j: usize| {
            let entry =
                off[(s * n + j) * (width + 1) + k] + if k == 0 { real(3.0 * width as f64 + 2.0) } else { T::ZERO };
            entry.scale(T::Real::from_f64(by[j] * by[(j + k) % n]))
        };
        let storage = Storage { lower: true, periodic: false, diagonals: false, layout: Layout::Contiguous };
        let numbers = storage.numbers(size, &triangle);
        let a = storage.batch(size, &numbers);
        let mut rhs: Vec<T> = random_vec(count * n, random);
        rhs.iter_mut().enumerate().for_each(|(k, d)| *d = d.scale(T::Real::from_f64(by[k % n])));
        let (x, report) = solve(&Plan::new(a.shape()).method(Method::Cholesky).factor(&a).unwrap(), Op::Plain, &rhs);
        let report = report.unwrap();
        assert!(report.backward_error <= 8.0 * T::Real::EPSILON.to_f64(), "{width}: {report:?}");
        for s in 0..count {
            let matrix = dense((n, width, false), |k, j| triangle(s, k, j));
            let eta = backward_error(&matrix, &column(&a, s, &rhs), &column(&a, s, &x));
            let most = report.backward_error + (2 * width + 4) as f64 * T::Real::EPSILON.to_f64();
            assert!(eta <= most, "{width}, system {s}: {eta:e}, {report:?}");
        }
    }
}

/// Entries that leave the range of the lanes: each system is solved by itself, with an error within the contract.
fn systems_of_extreme_size<T: Scalar>() {
    let random = &mut Random::new(6);
    let large = if T::Real::EPSILON.to_f64() > 1e-10 { 1e36 } else { 1e300 };
    for (width, size) in [1, 3].into_iter().flat_map(|width| [large, 1.0 / large].map(|size| (width, size))) {
        let (count, n) = (11, 12);
        let off: Vec<T> = random_vec(count * n * (width + 1), random);
        let triangle = |s: usize, k: usize, j: usize| {
            let entry = if k == 0 { real(3.0 * width as f64 + 2.0) } else { off[(s * n + j) * (width + 1) + k] };
            // Half of the rows and columns of some systems are this much larger or smaller.
            let by = if s.is_multiple_of(2) {
                size
            } else if (j < n / 2) != (j + k < n / 2) {
                0.0
            } else if j < n / 2 {
                size
            } else {
                1.0
            };
            entry.scale(T::Real::from_f64(by))
        };
        for storage in Storage::all().filter(|storage| !storage.periodic) {
            let numbers = storage.numbers((count, n, width), &triangle);
            let a = storage.batch((count, n, width), &numbers);
            let mut rhs: Vec<T> = random_vec(count * n, random);
            for (s, i) in (0..count).flat_map(|s| (0..n).map(move |i| (s, i))) {
                let by = if s.is_multiple_of(2) || i < n / 2 { size } else { 1.0 };
                rhs[a.index(s, i)] = rhs[a.index(s, i)].scale(T::Real::from_f64(by));
            }
            for method in [Method::Cholesky, Method::Auto] {
                let (x, report) = solve(&Plan::new(a.shape()).method(method).factor(&a).unwrap(), Op::Plain, &rhs);
                let (what, report) = (format!("{width} {size:e} {storage:?} {method:?}"), report.unwrap());
                let limit = T::Real::EPSILON.to_f64() * if report.fallback { 64.0 } else { 8.0 };
                assert!(report.backward_error <= limit, "{what}: {report:?}");
                for s in 0..count {
                    let matrix = dense((n, width, false), |k, j| triangle(s, k, j));
                    let eta = backward_error(&matrix, &column(&a, s, &rhs), &column(&a, s, &x));
                    let most = report.backward_error + (2 * width + 4) as f64 * T::Real::EPSILON.to_f64();
                    assert!(eta <= most, "{what}, system {s}: {eta:e}, {report:?}");
                }
            }
        }
    }
}

/// Every kind of batch with both triangles in memory: tridiagonal, bands with zeros on one side, and blocks, periodic too; with a matrix of each
/// system, and with one matrix.
fn both_triangles<T: Scalar>() {
    let random = &mut Random::new(13);
    let (n, layouts) = (12, [Layout::Contiguous, Layout::Interleaved]);
    for (count, shared, periodic, layout) in [(1, false), (37, false), (70, true)]
        .into_iter()
        .flat_map(|(count, shared)| [false, true].map(|periodic| (count, shared, periodic)))
        .flat_map(|(count, shared, periodic)| layouts.map(|layout| (count, shared, periodic, layout)))
    {
        let what = format!("{count} systems, one matrix: {shared}, periodic: {periodic}, {layout:?}");
        let matrices = if shared { 1 } else { count };
        let rhs: Vec<T> = random_vec(count * n, random);
        let judge = |factor: &dyn Factor<T>,
                     expert: &dyn Fn(usize) -> Banded<'static, T>,
                     place: &dyn Fn(usize, usize) -> usize| {
            for op in OPS {
                let (x, report) = solve(factor, op, &rhs);
                let report = report.unwrap_or_else(|error| panic!("{what}: {error}"));
                assert!(report.method == Method::Cholesky, "{what}: {report:?}");
                for s in [0, count - 1] {
                    let matrix = expert(s);
                    let matrix = if op == Op::Transpose { conjugated(&matrix) } else { matrix };
                    let [d, x] = [&rhs, &x].map(|all| (0..n).map(|i| all[place(s, i)]).collect::<Vec<T>>());
                    let eta = backward_error(&matrix, &d, &x);
                    assert!(
                        eta <= report.backward_error + 8.0 * T::Real::EPSILON.to_f64(),
                        "{what}: {eta:e}, {report:?}"
                    );
                }
            }
        };
        // Entry (i, i + 1) of system s, and the real diagonal.
        let beside: Vec<T> = random_vec(matrices * n, random);
        let at = |s: usize, i: usize| beside[(s % matrices) * n + i % n];
        let array = |value: &dyn Fn(usize, usize) -> T| {
            let mut all = vec![T::ZERO; matrices * n];
            for (s, i) in (0..matrices).flat_map(|s| (0..n).map(move |i| (s, i))) {
                let of_layout = if layout == Layout::Contiguous { s * n + i } else { i * count + s };
                all[if shared { i } else { of_layout }] = value(s, i);
            }
            all
        };
        let (sub, diag, sup) =
            (array(&|s, i| Scalar::conj(at(s, i + n - 1))), array(&|_, _| real(5.0)), array(&|s, i| at(s, i)));
        let a = match (shared, layout) {
            (true, _) => TridiagonalBatch::shared(count, n, layout, &sub, &diag, &sup),
            (_, Layout::Contiguous) => TridiagonalBatch::contiguous(count, n, &sub, &diag, &sup),
            (_, Layout::Interleaved) => TridiagonalBatch::interleaved(count, n, &sub, &diag, &sup),
        };
        let a = if periodic { a.unwrap().periodic() } else { a.unwrap() };
        let tridiagonal =
            |s: usize| dense((n, 1, periodic), |k, j| if k == 0 { real(5.0) } else { Scalar::conj(at(s, j)) });
        let plan = Plan::new(a.shape()).method(Method::Cholesky);
        judge(&plan.factor(&a).unwrap(), &tridiagonal, &|s, i| a.index(s, i));
        judge(&plan.factor_owned(a.clone()).unwrap(), &tridiagonal, &|s, i| a.index(s, i));

        // The same matrix in bands with more diagonals on one side, which are zero.
        for (lower, upper) in [(1, 3), (3, 1)] {
            let height = lower + upper + 1;
            let mut bands = vec![T::ZERO; matrices * n * height];
            for (s, j) in (0..matrices).flat_map(|s| (0..n).map(move |j| (s, j))) {
                let column = &mut bands[(s * n + j) * height..][..height];
                column[upper - 1] = at(s, j + n - 1);
                column[upper] = real(5.0);
                column[upper + 1] = Scalar::conj(at(s, j));
            }
            let system = if shared { 0 } else { n * height };
            let strides = BandStrides { system, column: height, diagonal: 1 };
            let a = BandedBatch::with_strides(count, n, (lower, upper), layout, strides, &bands).unwrap();
            let a = if periodic { a.periodic().unwrap() } else { a };
            let factor = Plan::new(a.shape()).method(Method::Cholesky).factor(&a).unwrap();
            judge(&factor, &tridiagonal, &|s, i| a.index(s, i));
        }

        // Blocks of three rows: 4 block rows.
        let (rows, b) = (4, 3);
        let coupling: Vec<T> = random_vec(matrices * n * b, random);
        let inner: Vec<T> = random_vec(matrices * n * b, random);
        let block = |t: usize, r: usize, c: usize| (t * b + r) * b + c;
        let coupled = |s: usize, t: usize, r: usize, c: usize| coupling[(s % matrices) * n * b + block(t % rows, r, c)];
        let on_diagonal = |s: usize, t: usize, r: usize, c: usize| {
            let entry = |r, c| inner[(s % matrices) * n * b + block(t, r, c)];
            let sum = entry(r, c) + Scalar::conj(entry(c, r));
            if r == c { sum + real(25.0) } else { sum }
        };
        let array = |value: &dyn Fn(usize, usize, usize, usize) -> T| {
            let mut all = vec![T::ZERO; matrices * n * b];
            for (s, t) in (0..matrices).flat_map(|s| (0..rows).map(move |t| (s, t))) {
                for (r, c) in (0..b).flat_map(|r| (0..b).map(move |c| (r, c))) {
                    all[s * n * b + block(t, r, c)] = value(s, t, r, c);
                }
            }
            all
        };
        let sub = array(&|s, t, r, c| Scalar::conj(coupled(s, t + rows - 1, c, r)));
        let (diag, sup) = (array(&on_diagonal), array(&coupled));
        let system = if shared { 0 } else { n * b };
        let strides = BlockStrides { system, block: b * b, row: b, column: 1 };
        let a = BandedBatch::from_blocks(count, (rows, b), layout, strides, [&sub, &diag, &sup]).unwrap();
        let a = if periodic { a.periodic().unwrap() } else { a };
        let of_blocks = |s: usize| {
            let mut full = vec![T::ZERO; n * (2 * n - 1)];
            let mut add = |i: usize, j: usize, v: T| full[j * (2 * n - 1) + n - 1 + i - j] += v;
            for (t, r, c) in (0..n).flat_map(|i| (0..b).map(move |c| (i / b, i % b, c))) {
                add(t * b + r, t * b + c, on_diagonal(s, t, r, c));
                if periodic || t + 1 < rows {
                    let v = coupled(s, t, r, c);
                    add(t * b + r, (t + 1) % rows * b + c, v);
                    add((t + 1) % rows * b + c, t * b + r, Scalar::conj(v));
                }
            }
            Banded::from_vec(n, n - 1, n - 1, full).unwrap()
        };
        let factor = Plan::new(a.shape()).method(Method::Cholesky).factor(&a).unwrap();
        judge(&factor, &of_blocks, &|s, i| a.index(s, i));
    }
}

/// A matrix that is not positive definite, or not Hermitian, is named with the row. All other systems are solved.
fn not_definite<T: Scalar>() {
    let (count, bad) = (37, 23);
    for (n, width, row) in [(1, 0, 0), (2, 1, 1), (20, 2, 7), (20, 2, 19), (30, 4, 0)] {
        for storage in Storage::all().filter(|storage| !storage.periodic) {
            let size = (count, n, width);
            let entry = |s: usize, k: usize, j: usize| match k {
                0 if (s, j) == (bad, row) => -2.0,
                0 => 4.0,
                _ => -0.25,
            };
            let numbers = storage.numbers::<T>(size, &|s, k, j| real(entry(s, k, j)));
            let a = storage.batch(size, &numbers);
            let factor = Plan::new(a.shape()).method(Method::Cholesky).factor(&a).unwrap();
            for verify in [true, false] {
                let plan = Plan::new(a.shape()).method(Method::Cholesky).verify(verify);
                let (x, report) = solve(&plan.factor(&a).unwrap(), Op::Plain, &vec![T::ONE; count * n]);
                assert_eq!(report.unwrap_err(), Error::NotDefinite { row: bad * n + row }, "{size:?} {storage:?}");
                let regular = storage.numbers::<T>(size, &|_, k, j| real(entry(0, k, j)));
                let good =
                    solve(&plan.factor(&storage.batch(size, &regular)).unwrap(), Op::Plain, &vec![T::ONE; count * n]);
                assert!((0..count).filter(|s| *s != bad).all(|s| column(&a, s, &x) == column(&a, s, &good.0)));
            }
            // The other methods solve it.
            let (_, report) = solve(&Plan::new(a.shape()).factor(&a).unwrap(), Op::Plain, &vec![T::ONE; count * n]);
            assert!(report.unwrap().backward_error <= 8.0 * T::Real::EPSILON.to_f64());
            drop(factor);
        }
    }
    // Few systems are factored one by one, and one matrix for all of them once.
    let (n, strides) = (20, BandStrides { system: 3 * 20, column: 3, diagonal: 1 });
    let mut bands: Vec<T> = [1.0, 4.0, 1.0].repeat(4 * n).into_iter().map(real).collect();
    bands[3 * (2 * n + 6) + 1] = T::ZERO;
    let row = |a: &BandedBatch<'_, T>| {
        let factor = Plan::new(a.shape()).method(Method::Cholesky).factor(a)?;
        solve(&factor, Op::Plain, &vec![T::ONE; a.count() * n]).1.map(drop)
    };
    let a = BandedBatch::with_strides(4, n, (1, 1), Layout::Contiguous, strides, &bands).unwrap();
    assert_eq!(row(&a), Err(Error::NotDefinite { row: 2 * n + 6 }));
    let one = BandStrides { system: 0, ..strides };
    let a = BandedBatch::with_strides(100, n, (1, 1), Layout::Interleaved, one, &bands[3 * 2 * n..]).unwrap();
    assert_eq!(row(&a), Err(Error::NotDefinite { row: 6 }));
}

/// Matrices that are not Hermitian: an entry that differs from the one beside the diagonal, or from 0 where there is none, in every place.
fn not_hermitian<T: Scalar>() {
    let (count, n) = (20, 9);
    for (lower, upper, periodic) in [(1, 1, false), (2, 2, true), (3, 1, false), (0, 2, false)] {
        let height = lower + upper + 1;
        for layout in [Layout::Contiguous, Layout::Interleaved] {
            let strides = match layout {
                Layout::Contiguous => BandStrides { system: n * height, column: height, diagonal: 1 },
                Layout::Interleaved => BandStrides { system: 1, column: height * count, diagonal: count },
            };
            let mut bands = vec![T::ZERO; count * n * height];
            for (s, j) in (0..count).flat_map(|s| (0..n).map(move |j| (s, j))) {
                bands[s * strides.system + j * strides.column + upper * strides.diagonal] = real(8.0);
            }
            let factored = |bands: &[T]| {
                let a = BandedBatch::with_strides(count, n, (lower, upper), layout, strides, bands).unwrap();
                let a = if periodic { a.periodic().unwrap() } else { a };
                Plan::new(a.shape()).method(Method::Cholesky).factor(&a).map(drop)
            };
            assert_eq!(factored(&bands), Ok(()));
            for (s, j, r) in
                [0, 15, 16, 19].into_iter().flat_map(|s| (0..n * height).map(move |k| (s, k / height, k % height)))
            {
                let i = j as isize + r as isize - upper as isize;
                let inside = periodic || (0..n as isize).contains(&i);
                if r == upper && !T::COMPLEX {
                    continue;
                }
                let mut wrong = bands.clone();
                wrong[s * strides.system + j * strides.column + r * strides.diagonal] +=
                    T::from_parts(T::Real::ZERO, T::Real::ONE) + if r == upper { T::ZERO } else { T::ONE };
                let first = j.min(i.rem_euclid(n as isize) as usize);
                let expected = if inside { Err(Error::NotDefinite { row: s * n + first }) } else { Ok(()) };
                assert_eq!(
                    factored(&wrong),
                    expected,
                    "({lower}, {upper}), periodic: {periodic}, {layout:?}, {s} {j} {r}"
                );
            }
        }
    }
}

/// NaN and infinity in the matrix or the right-hand side are named by their places.
fn not_finite<T: Scalar>() {
    let size @ (count, n, _) = (21, 10, 2);
    for storage in Storage::all() {
        let numbers = storage.numbers::<T>(size, &|_, k, _| real(if k == 0 { 6.0 } else { 1.0 }));
        let strides = storage.strides(size);
        let rhs = vec![T::ONE; count * n];
        let solved = |numbers: &[T], rhs: &[T]| {
            let a = storage.batch(size, numbers);
            let factor = Plan::new(a.shape()).method(Method::Cholesky).factor(&a)?;
            solve(&factor, Op::Plain, rhs).1.map(drop)
        };
        for (s, j, k) in [(0, 4, 0), (13, 4, 1), (20, 5, 2)] {
            for bad in [T::Real::NAN, T::Real::INFINITY] {
                let r = if storage.lower { k } else { 2 - k };
                let index = s * strides.system + j * strides.column + r * strides.diagonal;
                let mut wrong = numbers.clone();
                wrong[index] = T::from_real(bad);
                let error = solved(&wrong, &rhs).unwrap_err();
                assert_eq!(error, Error::NotFinite { array: "bands", index }, "{storage:?} {s} {j} {k}");
                let mut wrong = rhs.clone();
                let index = storage.batch(size, &numbers).index(s, j);
                wrong[index] = T::from_real(bad);
                assert_eq!(solved(&numbers, &wrong), Err(Error::NotFinite { array: "rhs", index }));
            }
        }
    }
}

macro_rules! for_all_scalars {
    ($($name:ident)*) => {$(
        mod $name {
            use super::*;
            #[test]
            fn f64() {
                super::$name::<f64>();
            }
            #[test]
            fn f32() {
                super::$name::<f32>();
            }
            #[test]
            fn c64() {
                super::$name::<Complex64>();
            }
            #[test]
            fn c32() {
                super::$name::<Complex32>();
            }
        }
    )*};
}
for_all_scalars! { every_width_and_storage scaled_on_both_sides systems_of_extreme_size both_triangles not_definite not_hermitian not_finite }
