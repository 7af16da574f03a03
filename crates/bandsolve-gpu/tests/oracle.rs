//! The kernels against the same algorithm in Rust, bit for bit, in three orders of threads.

use bandsolve::{Complex32, Complex64, RealScalar};
use bandsolve_gpu::{Device, Element, Emulation, Order, Tridiagonal};

/// A number with the operations of `element.cuh`.
trait Number: Element {
    fn fma(self, b: Self, c: Self) -> Self;
    fn times(self, b: Self) -> Self;
    fn reciprocal(self) -> Self;
    fn scale_by(self, by: Self::Real) -> Self;
    fn size(self) -> Self::Real;
    fn bits(self) -> [u64; 2];
}

/// A real one.
trait RealNumber: Copy + PartialOrd {
    fn power_of_two(self) -> Self;
    fn finite_reciprocal(self) -> Self;
}

macro_rules! real {
    ($t:ty, $complex:ty, $word:ty, $mantissa:literal, $field:literal, $bias:literal, $guard:literal) => {
        impl RealNumber for $t {
            fn power_of_two(self) -> Self {
                if self == 0.0 {
                    return 1.0;
                }
                let field = (self.to_bits() >> $mantissa) as i32 & $field;
                <$t>::from_bits(((2 * $bias - field).clamp(1, $field - 1) as $word) << $mantissa)
            }
            fn finite_reciprocal(self) -> Self {
                1.0 / if self == 0.0 { <$t>::from_bits((($bias - $guard) as $word) << $mantissa) } else { self }
            }
        }
        impl Number for $t {
            fn fma(self, b: Self, c: Self) -> Self {
                self.mul_add(b, c)
            }
            fn times(self, b: Self) -> Self {
                self * b
            }
            fn reciprocal(self) -> Self {
                self.finite_reciprocal()
            }
            fn scale_by(self, by: $t) -> Self {
                self * by
            }
            fn size(self) -> $t {
                self.abs()
            }
            fn bits(self) -> [u64; 2] {
                [self.to_bits().into(), 0]
            }
        }
        impl Number for $complex {
            fn fma(self, b: Self, c: Self) -> Self {
                Self::new(
                    self.re.mul_add(b.re, (-self.im).mul_add(b.im, c.re)),
                    self.re.mul_add(b.im, self.im.mul_add(b.re, c.im)),
                )
            }
            fn times(self, b: Self) -> Self {
                Self::new(self.re.mul_add(b.re, -(self.im * b.im)), self.re.mul_add(b.im, self.im * b.re))
            }
            fn reciprocal(self) -> Self {
                let by = if self.re.abs() > self.im.abs() { self.re.abs() } else { self.im.abs() }.power_of_two();
                let near = self.scale_by(by);
                let factor = by * near.re.mul_add(near.re, near.im * near.im).finite_reciprocal();
                Self::new(near.re * factor, -near.im * factor)
            }
            fn scale_by(self, by: $t) -> Self {
                Self::new(self.re * by, self.im * by)
            }
            fn size(self) -> $t {
                self.re.abs() + self.im.abs()
            }
            fn bits(self) -> [u64; 2] {
                [self.re.to_bits().into(), self.im.to_bits().into()]
            }
        }
    };
}
real!(f32, Complex32, u32, 23, 255, 127, 60);
real!(f64, Complex64, u64, 52, 2047, 1023, 500);

#[derive(Clone, Copy)]
struct Row<T> {
    a: T,
    b: T,
    c: T,
    d: T,
}

fn scaled<T: Number<Real: RealNumber>>(r: Row<T>) -> Row<T> {
    let larger = |a: T::Real, b: T::Real| if b > a { b } else { a };
    let by = larger(larger(r.a.size(), r.b.size()), r.c.size()).power_of_two();
    Row { a: r.a.scale_by(by), b: r.b.scale_by(by), c: r.c.scale_by(by), d: r.d.scale_by(by) }
}

/// spike·x₀ + near·x_j + next·x_{j+1} = rhs
#[derive(Clone, Copy)]
struct Carried<T> {
    spike: T,
    near: T,
    next: T,
    rhs: T,
}

/// Eliminates x_{j−1}; whether row j was the pivot row.
fn eliminate<T: Number>(carried: &mut Carried<T>, row: Row<T>) -> bool {
    let of_row = Carried { spike: T::ZERO, near: row.b, next: row.c, rhs: row.d };
    let shifted = Carried { near: carried.next, next: T::ZERO, ..*carried };
    let swap = row.a.size() > carried.near.size();
    let (pivot, other, p, o) =
        if swap { (row.a, carried.near, of_row, shifted) } else { (carried.near, row.a, shifted, of_row) };
    let f = -other.times(pivot.reciprocal());
    *carried = Carried {
        spike: f.fma(p.spike, o.spike),
        near: f.fma(p.near, o.near),
        next: f.fma(p.next, o.next),
        rhs: f.fma(p.rhs, o.rhs),
    };
    swap
}

fn sweep<T: Number>(rows: impl Iterator<Item = Row<T>>) -> Carried<T> {
    let mut rows = rows;
    let first = rows.next().unwrap();
    let mut carried = Carried { spike: first.a, near: first.b, next: first.c, rhs: first.d };
    rows.for_each(|row| _ = eliminate(&mut carried, row));
    carried
}

/// What is left of a partition for its first and its last unknown.
fn reduce<T: Number>(rows: &[Row<T>]) -> [Row<T>; 2] {
    let skip = usize::from(rows.len() > 1);
    let down = sweep(rows[skip..].iter().copied());
    let mirrored = |r: &Row<T>| Row { a: r.c, c: r.a, ..*r };
    let up = sweep(rows[..rows.len() - skip].iter().rev().map(mirrored));
    [
        Row { a: up.next, b: up.near, c: up.spike, d: up.rhs },
        Row { a: down.spike, b: down.near, c: down.next, d: down.rhs },
    ]
}

fn solve_inside<T: Number>(rows: &[Row<T>], [before, first, last, after]: [T; 4]) -> Vec<T> {
    let n = rows.len();
    let mut x = vec![first; n];
    x[n - 1] = last;
    if n < 3 {
        return x;
    }
    let mut carried =
        Carried { spike: T::ZERO, near: rows[1].b, next: rows[1].c, rhs: (-rows[1].a).fma(first, rows[1].d) };
    let mut kept = Vec::new();
    for row in &rows[2..n - 1] {
        let own = carried;
        kept.push(if eliminate(&mut carried, *row) {
            *row
        } else {
            Row { a: own.near, b: own.next, c: T::ZERO, d: own.rhs }
        });
    }
    let r = rows[n - 1];
    let known = (-r.c).fma(after, (-r.b).fma(last, r.d));
    let (mut coefficient, rhs) = if r.a.size() > carried.near.size() {
        (r.a, known)
    } else {
        (carried.near, (-carried.next).fma(last, carried.rhs))
    };
    x[n - 2] = rhs.times(coefficient.reciprocal());
    for j in (1..n - 2).rev() {
        let r = kept[j - 1];
        coefficient = r.a;
        x[j] = (-r.c).fma(x[j + 2], (-r.b).fma(x[j + 1], r.d)).times(coefficient.reciprocal());
    }
    let r = rows[0];
    if r.c.size() > coefficient.size() {
        x[1] = (-r.a).fma(before, (-r.b).fma(first, r.d)).times(r.c.reciprocal());
    }
    x
}

fn solve<T: Number<Real: RealNumber>>(rows: &[Row<T>], m: usize, periodic: bool) -> Vec<T> {
    let n = rows.len();
    let mut rows: Vec<_> = rows.to_vec();
    if !periodic {
        (rows[0].a, rows[n - 1].c) = (T::ZERO, T::ZERO);
    }
    let rows: Vec<_> = rows.into_iter().map(scaled).collect();
    if n <= 64 {
        let [first, last] = reduce(&rows);
        if n == 1 {
            let x = first.d.times((first.b + (first.c + first.a)).reciprocal());
            return vec![x];
        }
        let first = scaled(Row { a: T::ZERO, c: first.c + first.a, ..first });
        let last = scaled(Row { a: last.a + last.c, c: T::ZERO, ..last });
        let (pivot, other, p, o) = if last.a.size() > first.b.size() {
            (last.a, first.b, (last.b, last.d), (first.c, first.d))
        } else {
            (first.b, last.a, (first.c, first.d), (last.b, last.d))
        };
        let f = -other.times(pivot.reciprocal());
        let end = f.fma(p.1, o.1).times(f.fma(p.0, o.0).reciprocal());
        let begin = (-p.0).fma(end, p.1).times(pivot.reciprocal());
        let beside = if periodic { [end, begin] } else { [T::ZERO; 2] };
        return solve_inside(&rows, [beside[0], begin, end, beside[1]]);
    }
    let count = n / m + usize::from(n % m > 1);
    let part = |p: usize| &rows[p * m..if p + 1 == count { n } else { (p + 1) * m }];
    let coarse: Vec<_> = (0..count).flat_map(|p| reduce(part(p))).collect();
    let y = solve(&coarse, m, periodic);
    let beside = |i: usize, wrap: bool| if wrap && !periodic { T::ZERO } else { y[i % y.len()] };
    let own =
        |p: usize| [beside(2 * p + y.len() - 1, p == 0), y[2 * p], y[2 * p + 1], beside(2 * p + 2, p + 1 == count)];
    (0..count).flat_map(|p| solve_inside(part(p), own(p))).collect()
}

/// Numbers from a sequence that looks random.
fn random<T: Number>(n: usize, seed: u64, shift: f64) -> Vec<T> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        T::Real::from_f64((state >> 11) as f64 / (1_u64 << 52) as f64 - 1.0)
    };
    let shift = T::from_real(T::Real::from_f64(shift));
    (0..n).map(|_| T::from_parts(next(), next()) + shift).collect()
}

fn check<T: Number<Real: RealNumber>>(n: usize, m: usize, periodic: bool, shift: f64) {
    let seed = (n * 64 + m) as u64;
    let [a, b, c, d] = [(1, 0.0), (2, shift), (3, 0.0), (4, 0.0)].map(|(k, shift)| random::<T>(n, seed + k, shift));
    let rows: Vec<_> = (0..n).map(|i| Row { a: a[i], b: b[i], c: c[i], d: d[i] }).collect();
    let expected: Vec<_> = solve(&rows, m, periodic).into_iter().map(T::bits).collect();
    let mut first = None;
    for order in [Order::Forward, Order::Reverse, Order::Random] {
        let device = Device::emulated(Emulation { order, seed, resident: 3 });
        let [sub, diag, sup, rhs] = [&a, &b, &c, &d].map(|v| device.upload(v).unwrap());
        let mut x = device.zeros(n).unwrap();
        let mut solver = Tridiagonal::<T>::with_partitions(&device, n, periodic, m).unwrap();
        let report = solver.solve_into([&sub, &diag, &sup], &rhs, &mut x).unwrap();
        let x = x.download().unwrap();
        let what = format!("{} n = {n}, m = {m}, periodic {periodic}, {order:?}: {report:?}", T::SUFFIX);
        assert!(report.backward_error <= 8.0 * T::Real::EPSILON.to_f64(), "{what}");
        // Of an answer that was refined, or found on the host, nothing more is asked than that it is good.
        let at_once = report.refinement_steps == 0 && !report.fallback;
        assert!(shift == 0.0 || at_once, "{what}");
        assert!(!at_once || x.iter().map(|x| x.bits()).eq(expected.iter().copied()), "{what}");
        let found = (report.backward_error.to_bits(), x.into_iter().map(T::bits).collect::<Vec<_>>());
        assert!(*first.get_or_insert(found.clone()) == found, "{what}");
    }
}

fn all<T: Number<Real: RealNumber>>() {
    for periodic in [false, true] {
        for n in [1, 2, 3, 4, 5, 63, 64, 65, 66, 100, 127, 1000] {
            check::<T>(n, 31, periodic, 4.0);
        }
        for (n, m) in [(65, 3), (97, 32), (700, 5), (1985, 31), (1986, 31), (1987, 31), (2500, 63), (4000, 8)] {
            check::<T>(n, m, periodic, 0.0);
            check::<T>(n, m, periodic, 4.0);
        }
    }
}

#[test]
fn bit_for_bit_f32() {
    all::<f32>();
}

#[test]
fn bit_for_bit_f64() {
    all::<f64>();
}

#[test]
fn bit_for_bit_c32() {
    all::<Complex32>();
}

#[test]
fn bit_for_bit_c64() {
    all::<Complex64>();
}

#[test]
fn without_a_gpu_there_is_an_error() {
    match Device::cuda(0) {
        Ok(device) => println!("there is one: {}", device.name()),
        Err(error) => assert!(matches!(error, bandsolve_gpu::Error::NoDevice { .. }), "{error}"),
    }
}
