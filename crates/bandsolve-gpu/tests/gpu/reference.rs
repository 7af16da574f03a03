//! The algorithms of the kernels in Rust, in the simplest form: vectors of rows, and the same operations in the same
//! order.

use bandsolve::{Complex32, Complex64, Op, RealScalar, Scalar};
use bandsolve_gpu::DeviceScalar;
use std::cell::Cell;

/// A number with the operations of `element.cuh`.
pub trait Number: DeviceScalar {
    fn fma(self, b: Self, c: Self) -> Self;
    fn times(self, b: Self) -> Self;
    fn reciprocal(self) -> Self;
    fn scale_by(self, by: Self::Real) -> Self;
    fn size(self) -> Self::Real;
    /// The upper bits of the modulus of the larger part.
    fn rank(self) -> u32;
    fn bits(self) -> [u64; 2];
}

/// A real number.
pub trait RealNumber: Copy + PartialOrd {
    /// The difference of the ranks of 2x and x, and the number of such differences between 1 and the limit for
    /// vanishing pivots.
    const DOUBLING: u32;
    const NO_PIVOT: u32;
    fn fused(self, b: Self, c: Self) -> Self;
    fn power_of_two(self) -> Self;
    fn finite_reciprocal(self) -> Self;
}

macro_rules! real {
    ($t:ty, $complex:ty, $word:ty, $mantissa:literal, $field:literal, $bias:literal, $guard:literal, $none:literal) => {
        impl RealNumber for $t {
            const DOUBLING: u32 = 1 << ($mantissa % 32);
            const NO_PIVOT: u32 = $none;
            fn fused(self, b: Self, c: Self) -> Self {
                self.mul_add(b, c)
            }
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
            fn rank(self) -> u32 {
                (self.abs().to_bits() >> (<$word>::BITS - 32)) as u32
            }
            fn bits(self) -> [u64; 2] {
                // CPUs and GPUs choose other signs and payloads of NaN.
                [if self.is_nan() { <$t>::NAN } else { self }.to_bits().into(), 0]
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
            fn rank(self) -> u32 {
                self.re.rank().max(self.im.rank())
            }
            fn bits(self) -> [u64; 2] {
                [self.re.bits()[0], self.im.bits()[0]]
            }
        }
    };
}
real!(f32, Complex32, u32, 23, 255, 127, 60, 18);
real!(f64, Complex64, u64, 52, 2047, 1023, 500, 45);

/// The choice of pivots.
#[derive(Clone, Copy)]
pub struct PivotOptions {
    pub exchange: bool,
    /// Use 2×2 pivots, for scalars.
    pub diagonal: bool,
    pub scale: bool,
    pub noise: f64,
}

/// Rows of numbers, with right-hand sides in the last column.
pub type Panel<T> = Vec<Vec<T>>;

/// B equations a·x₋ + b·x + c·x₊ = d.
#[derive(Clone)]
pub struct Row<T> {
    pub a: Panel<T>,
    pub b: Panel<T>,
    pub c: Panel<T>,
    pub d: Vec<T>,
}

fn scale_of<T: Number<Real: RealNumber>>(numbers: &[T]) -> T::Real {
    numbers.iter().map(|v| v.size()).fold(T::Real::from_f64(0.0), |a, b| if b > a { b } else { a }).power_of_two()
}

impl<T: Number<Real: RealNumber>> Row<T> {
    fn mirrored(&self) -> Self {
        Self { a: self.c.clone(), c: self.a.clone(), ..self.clone() }
    }

    pub fn scaled(&self, rule: PivotOptions) -> Self {
        let mut row = self.clone();
        for r in 0..self.d.len() {
            let all = [&self.a[r][..], &self.b[r], &self.c[r]].concat();
            let by = if rule.scale { scale_of(&all) } else { T::Real::from_f64(1.0) };
            for block in [&mut row.a[r], &mut row.b[r], &mut row.c[r]] {
                block.iter_mut().for_each(|v| *v = v.scale_by(by));
            }
            row.d[r] = row.d[r].scale_by(by);
        }
        row
    }
}

thread_local! {
    static SUSPECT: Cell<bool> = const { Cell::new(false) };
}

/// Whether a pivot or an equation nearly vanished since the last call.
pub fn suspect() -> bool {
    SUSPECT.replace(false)
}

/// The rank up to which numbers count as vanishing. For rows that are not scaled, it depends on their largest entry.
fn nothing<'a, T: Number<Real: RealNumber>>(entries: impl IntoIterator<Item = &'a T>, rule: PivotOptions) -> u32 {
    let largest = entries.into_iter().map(|v| v.rank()).max().unwrap_or(0);
    let most = if rule.scale { T::from_real(T::Real::from_f64(1.0)).rank() } else { largest };
    most.saturating_sub(T::Real::NO_PIVOT * T::Real::DOUBLING)
}

fn nothing_in<T: Number<Real: RealNumber>>(rows: &[Row<T>], rule: PivotOptions) -> u32 {
    nothing(rows.iter().flat_map(|row| [&row.a, &row.b, &row.c]).flatten().flatten(), rule)
}

/// Check whether an equation or a pivot vanished, by its entries.
fn see<'a, T: Number>(entries: impl IntoIterator<Item = &'a T>, nothing: u32) {
    if entries.into_iter().all(|v| v.rank() <= nothing) {
        SUSPECT.set(true);
    }
}

/// Check whether the equations of some rows vanished, by their blocks.
fn see_rows<T: Number, const K: usize>(blocks: [&Panel<T>; K], nothing: u32) {
    (0..blocks[0].len()).for_each(|r| see(blocks.iter().flat_map(|block| &block[r]), nothing));
}

/// Check whether one of the first k pivots vanished.
fn see_pivots<T: Number>(v: &Panel<T>, k: usize, nothing: u32) {
    (0..k).for_each(|k| see([&v[k][k]], nothing));
}

/// Eliminate the first k columns. Row i becomes the pivot row of column i.
fn eliminate_columns<T: Number>(v: &mut Panel<T>, k: usize, b: usize, rule: PivotOptions) {
    for k in 0..k {
        for row in v[k..].iter_mut().filter(|_| rule.noise > 0.0) {
            if row[k].size() <= T::Real::from_f64(rule.noise) {
                row[k] = T::ZERO;
            }
        }
        for q in k + 1..v.len() {
            let larger = v[q][k].size() > v[k][k].size();
            if rule.diagonal || ((rule.exchange || q / b == k / b) && larger) {
                v.swap(q, k);
            }
        }
        let (pivots, others) = v.split_at_mut(k + 1);
        let pivot = &pivots[k];
        for row in others {
            let f = -row[k].times(pivot[k].reciprocal());
            row[k] = T::ZERO;
            (k + 1..row.len()).for_each(|w| row[w] = f.fma(pivot[w], row[w]));
        }
    }
}

/// Solve the triangular system of the first n rows and columns.
fn back_substitute<T: Number>(v: &[Vec<T>], n: usize) -> Vec<T> {
    let mut x = vec![T::ZERO; n];
    for k in (0..n).rev() {
        let sum = (k + 1..n).fold(v[k][v[k].len() - 1], |sum, c| (-v[k][c]).fma(x[c], sum));
        x[k] = sum.times(v[k][k].reciprocal());
    }
    x
}

/// sum − block·x, row by row.
fn without<T: Number>(block: &Panel<T>, x: &[T], sums: &[T]) -> Vec<T> {
    let row = |(row, sum): (&Vec<T>, &T)| row.iter().zip(x).fold(*sum, |sum, (a, x)| (-*a).fma(*x, sum));
    block.iter().zip(sums).map(row).collect()
}

/// spike·x₀ + near·xⱼ + next·xⱼ₊₁ = rhs
#[derive(Clone)]
struct Carried<T> {
    in_pair: bool,
    spike: Panel<T>,
    near: Panel<T>,
    next: Panel<T>,
    rhs: Vec<T>,
}

/// Eliminate xⱼ₋₁. Returns its pivot rows: xⱼ₋₁, xⱼ, xⱼ₊₁, x₀, rhs.
fn eliminate<T: Number>(carried: &mut Carried<T>, row: &Row<T>, rule: PivotOptions) -> Panel<T> {
    let b = row.d.len();
    let mut chosen = rule;
    if rule.diagonal && b == 1 {
        let size = |block: &Panel<T>| block[0][0].size();
        let [a, b, c, near, next] = [&row.a, &row.b, &row.c, &carried.near, &carried.next].map(size);
        let larger = |a: T::Real, b: T::Real| if b > a { b } else { a };
        let sigma = larger(larger(a, b), larger(c, next));
        let pair = !carried.in_pair && a * next * T::Real::from_f64(0.618_033_988_749_894_8) > near * sigma;
        // The row is taken always, or never.
        chosen.exchange = false;
        carried.in_pair = pair;
        chosen.diagonal = pair;
    } else {
        chosen.diagonal = false;
    }
    let zeros = vec![T::ZERO; b];
    let held =
        (0..b).map(|r| [&carried.near[r][..], &carried.next[r], &zeros, &carried.spike[r], &[carried.rhs[r]]].concat());
    let new = (0..b).map(|r| [&row.a[r][..], &row.b[r], &row.c[r], &zeros, &[row.d[r]]].concat());
    let mut v: Panel<T> = held.chain(new).collect();
    eliminate_columns(&mut v, b, b, chosen);
    let remaining = v.split_off(b);
    let part = |k: usize| remaining.iter().map(|row| row[k * b..(k + 1) * b].to_vec()).collect();
    *carried = Carried {
        in_pair: carried.in_pair,
        near: part(1),
        next: part(2),
        spike: part(3),
        rhs: remaining.iter().map(|row| row[4 * b]).collect(),
    };
    v
}

fn sweep<T: Number>(mut rows: impl Iterator<Item = Row<T>>, rule: PivotOptions) -> Carried<T> {
    let Row { a, b, c, d } = rows.next().unwrap();
    let mut carried = Carried { in_pair: false, spike: a, near: b, next: c, rhs: d };
    let mut rows = rows.peekable();
    while let Some(row) = rows.next() {
        // Where the two sides meet, the larger candidate is the pivot.
        let diagonal = rule.diagonal && rows.peek().is_some();
        eliminate(&mut carried, &row, PivotOptions { diagonal, ..rule });
    }
    carried
}

/// The remaining equations of a partition for its first and its last unknowns.
fn reduce<T: Number<Real: RealNumber>>(rows: &[Row<T>], rule: PivotOptions) -> [Row<T>; 2] {
    let skip = usize::from(rows.len() > 1);
    let down = sweep(rows[skip..].iter().cloned(), rule);
    let up = sweep(rows[..rows.len() - skip].iter().rev().map(Row::mirrored), rule);
    for carried in [&down, &up] {
        see_rows([&carried.spike, &carried.near, &carried.next], nothing_in(rows, rule));
    }
    [
        Row { a: up.next, b: up.near, c: up.spike, d: up.rhs },
        Row { a: down.spike, b: down.near, c: down.next, d: down.rhs },
    ]
}

fn solve_inside<T: Number<Real: RealNumber>>(
    rows: &[Row<T>],
    [before, first, last, after]: [&[T]; 4],
    rule: PivotOptions,
) -> Vec<T> {
    // Where the two sides meet, the larger candidate is the pivot.
    let larger = PivotOptions { diagonal: false, ..rule };
    let (n, b) = (rows.len(), rows[0].d.len());
    let mut x = vec![first.to_vec(); n];
    x[n - 1] = last.to_vec();
    if n < 3 {
        return x.concat();
    }
    let joined = |block: &Panel<T>, rhs: Vec<T>| -> Panel<T> {
        block.iter().zip(rhs).map(|(row, rhs)| [&row[..], &[rhs]].concat()).collect()
    };
    let zeros = vec![vec![T::ZERO; b]; b];
    let (near, next) = (rows[1].b.clone(), rows[1].c.clone());
    let mut carried = Carried { in_pair: false, spike: zeros, near, next, rhs: without(&rows[1].a, first, &rows[1].d) };
    let nothing = nothing_in(rows, rule);
    see_rows([&rows[1].a, &rows[1].b, &rows[1].c], nothing);
    let step = |row: &Row<T>| {
        let pivots = eliminate(&mut carried, row, rule);
        see_rows([&carried.near, &carried.next], nothing);
        pivots
    };
    let pivot_rows: Vec<_> = rows[2..n - 1].iter().map(step).collect();
    let mut v = joined(&carried.near, without(&carried.next, last, &carried.rhs));
    let end = &rows[n - 1];
    v.extend(joined(&end.a, without(&end.c, after, &without(&end.b, last, &end.d))));
    eliminate_columns(&mut v, b, b, larger);
    for j in (1..n - 1).rev() {
        if j < n - 2 {
            let part =
                |k: usize| pivot_rows[j - 1].iter().map(|row| row[k * b..(k + 1) * b].to_vec()).collect::<Panel<T>>();
            let rhs: Vec<T> = pivot_rows[j - 1].iter().map(|row| row[4 * b]).collect();
            v = joined(&part(0), without(&part(2), &x[j + 2], &without(&part(1), &x[j + 1], &rhs)));
        }
        if j == 1 {
            v.truncate(b);
            let r = &rows[0];
            v.extend(joined(&r.c, without(&r.a, before, &without(&r.b, first, &r.d))));
            eliminate_columns(&mut v, b, b, larger);
        }
        see_pivots(&v, b, nothing);
        x[j] = back_substitute(&v, b);
    }
    x.concat()
}

/// Solve the last two block rows.
fn solve_pair<T: Number<Real: RealNumber>>(rows: &[Row<T>], single: bool, rule: PivotOptions) -> Vec<T> {
    let b = rows[0].d.len();
    let mut v = vec![vec![T::ZERO; 2 * b + 1]; 2 * b];
    for (k, row) in rows.iter().enumerate() {
        for r in 0..b {
            for s in 0..b {
                let other = row.a[r][s] + row.c[r][s];
                v[k * b + r][k * b + s] = if single { row.b[r][s] + other } else { row.b[r][s] };
                v[k * b + r][(1 - k) * b + s] = if single { T::ZERO } else { other };
            }
            v[k * b + r][2 * b] = row.d[r];
        }
    }
    eliminate_columns(&mut v, 2 * b, b, PivotOptions { diagonal: false, ..rule });
    see_pivots(&v, 2 * b, nothing_in(rows, rule));
    back_substitute(&v, 2 * b)
}

/// Solve with partitions of `m[0]` rows, then `m[1]`, …, and then as on chip.
pub fn solve<T: Number<Real: RealNumber>>(rows: &[Row<T>], m: &[usize], periodic: bool, rule: PivotOptions) -> Vec<T> {
    let (n, b) = (rows.len(), rows[0].d.len());
    let mut rows: Vec<_> = rows.to_vec();
    if !periodic {
        rows[0].a = vec![vec![T::ZERO; b]; b];
        rows[n - 1].c = rows[0].a.clone();
    }
    let rows: Vec<_> = rows.iter().map(|row| row.scaled(rule)).collect();
    let deeper = m.get(1..).unwrap_or_default();
    let m = m.first().copied().unwrap_or(if n <= 16 { n } else { 8 });
    let count = if n <= m { 1 } else { n / m + usize::from(n % m > 1) };
    let part = |p: usize| &rows[p * m..if p + 1 == count { n } else { (p + 1) * m }];
    let coarse: Vec<_> = (0..count).flat_map(|p| reduce(part(p), rule)).collect();
    let y = if count == 1 {
        solve_pair(&coarse.iter().map(|row| row.scaled(rule)).collect::<Vec<_>>(), n == 1, rule)
    } else {
        solve(&coarse, deeper, periodic, rule)
    };
    let zeros = vec![T::ZERO; b];
    let unknowns = |i: usize| &y[i % (2 * count) * b..][..b];
    let beside = |i: usize, wrap: bool| if wrap && !periodic { &zeros[..] } else { unknowns(i) };
    let ends = |p: usize| {
        let (before, after) = (beside(2 * p + 2 * count - 1, p == 0), beside(2 * p + 2, p + 1 == count));
        [before, unknowns(2 * p), unknowns(2 * p + 1), after]
    };
    (0..count).flat_map(|p| solve_inside(part(p), ends(p), rule)).collect()
}

/// Pseudorandom numbers.
pub fn random<T: Number>(n: usize, seed: u64) -> Vec<T> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        T::Real::from_f64((state >> 11) as f64 / (1_u64 << 52) as f64 - 1.0)
    };
    (0..n).map(|_| T::from_parts(next(), next())).collect()
}

/// A random block tridiagonal system, with arrays in the form for a device. `shift` is added to the diagonal.
pub struct Random<T> {
    pub block: usize,
    pub arrays: [Vec<T>; 3],
    pub rhs: Vec<T>,
}

impl<T: Number<Real: RealNumber>> Random<T> {
    pub fn new(n: usize, block: usize, n_rhs: usize, shift: f64) -> Self {
        let seed = (n * 64 + 8 * block) as u64;
        let size = n * block * block;
        let mut arrays = [1, 2, 3].map(|k| random::<T>(size, seed + k));
        for i in 0..n * block {
            let at = (i / block * block + i % block) * block + i % block;
            arrays[1][at] += T::from_real(T::Real::from_f64(shift));
        }
        Self { block, arrays, rhs: random(n * block * n_rhs, seed + 4) }
    }

    fn block_of(&self, which: usize, i: usize) -> Panel<T> {
        let b = self.block;
        (0..b).map(|r| (0..b).map(|s| self.arrays[which][(i * b + s) * b + r]).collect()).collect()
    }

    /// The rows of the matrix, or of its transpose according to `op`, with one column of right-hand sides.
    pub fn rows(&self, column: usize, op: Op) -> Vec<Row<T>> {
        let (b, n) = (self.block, self.arrays[0].len() / self.block / self.block);
        let turned = |block: Panel<T>| -> Panel<T> {
            let entry = |v: T| if op == Op::ConjTranspose { Scalar::conj(v) } else { v };
            (0..b).map(|r| (0..b).map(|s| entry(block[s][r])).collect()).collect()
        };
        let row = |i: usize| {
            let d = self.rhs[(column * n + i) * b..][..b].to_vec();
            if op == Op::Plain {
                return Row { a: self.block_of(0, i), b: self.block_of(1, i), c: self.block_of(2, i), d };
            }
            let (before, after) = ((i + n - 1) % n, (i + 1) % n);
            let [a, b, c] = [(2, before), (1, i), (0, after)].map(|(which, i)| turned(self.block_of(which, i)));
            Row { a, b, c, d }
        };
        (0..n).map(row).collect()
    }
}

/// A row with R right-hand sides, for cyclic reduction.
#[derive(Clone)]
pub struct Line<T> {
    pub a: T,
    pub b: T,
    pub c: T,
    pub d: Vec<T>,
}

impl<T: Number> Line<T> {
    /// Eliminate the unknowns of two other rows.
    fn reduced(&self, before: Option<&Line<T>>, after: Option<&Line<T>>) -> Line<T> {
        let mut reduced = self.clone();
        let mut eliminate = |other: &Line<T>, coefficient: T, across: fn(&Line<T>) -> T| {
            let f = -coefficient.times(other.b.reciprocal());
            reduced.b = f.fma(across(other), reduced.b);
            reduced.d.iter_mut().zip(&other.d).for_each(|(d, o)| *d = f.fma(*o, *d));
            f
        };
        let left = before.map(|other| eliminate(other, self.a, |line| line.c).times(other.a));
        let right = after.map(|other| eliminate(other, self.c, |line| line.a).times(other.c));
        reduced.a = left.unwrap_or(self.a);
        reduced.c = right.unwrap_or(self.c);
        reduced
    }
}

/// Check the pivots. In rows that are not scaled, only zero pivots count as vanishing.
fn see_lines<'a, T: Number<Real: RealNumber>>(lines: impl Iterator<Item = &'a Line<T>>, rule: PivotOptions) {
    lines.for_each(|line| see([&line.b], nothing::<T>(&[], rule)));
}

/// Cyclic reduction until 128 rows are left, then parallel cyclic reduction. Returns the solutions for each right-hand
/// side.
pub fn solve_lines<T: Number<Real: RealNumber>>(mut lines: Vec<Line<T>>, rule: PivotOptions) -> Vec<Vec<T>> {
    let n = lines.len();
    see_lines(lines.iter(), rule);
    let mut stride = 1;
    while n / stride > 128 {
        let half = stride;
        stride *= 2;
        for i in (stride - 1..n).step_by(stride) {
            lines[i] = lines[i].reduced(Some(&lines[i - half]), lines.get(i + half));
        }
        see_lines(lines.iter().skip(stride - 1).step_by(stride), rule);
    }
    let places: Vec<usize> = (stride - 1..n).step_by(stride).collect();
    let mut by = 1;
    while by < places.len() {
        let old: Vec<_> = places.iter().map(|i| lines[*i].clone()).collect();
        for (k, i) in places.iter().enumerate() {
            lines[*i] = old[k].reduced(k.checked_sub(by).map(|k| &old[k]), old.get(k + by));
        }
        see_lines(places.iter().map(|i| &lines[*i]), rule);
        by *= 2;
    }
    for i in places {
        let r = lines[i].b.reciprocal();
        lines[i].d.iter_mut().for_each(|d| *d = d.times(r));
    }
    let mut half = stride / 2;
    while half > 0 {
        for j in (half - 1..n).step_by(2 * half) {
            let r = lines[j].b.reciprocal();
            for k in 0..lines[j].d.len() {
                let mut sum = lines[j].d[k];
                if j >= half {
                    sum = (-lines[j].a).fma(lines[j - half].d[k], sum);
                }
                if j + half < n {
                    sum = (-lines[j].c).fma(lines[j + half].d[k], sum);
                }
                lines[j].d[k] = sum.times(r);
            }
        }
        half /= 2;
    }
    lines.into_iter().map(|line| line.d).collect()
}

/// SPIKE with cyclic reduction: partitions of `m[0]` rows, then as usual.
pub fn solve_spike_cr<T: Number<Real: RealNumber>>(
    rows: &[Row<T>],
    m: &[usize],
    periodic: bool,
    rule: PivotOptions,
) -> Vec<T> {
    let (n, m, deeper) = (rows.len(), m[0], &m[1..]);
    let mut rows = rows.to_vec();
    if !periodic {
        rows[0].a[0][0] = T::ZERO;
        rows[n - 1].c[0][0] = T::ZERO;
    }
    let rows: Vec<_> = rows.iter().map(|row| row.scaled(rule)).collect();
    let entry = |block: &Panel<T>| block[0][0];
    let count = if n <= m { 1 } else { n / m + usize::from(n % m > 1) };
    let part = |p: usize| &rows[p * m..if p + 1 == count { n } else { (p + 1) * m }];
    let inside = |rows: &[Row<T>], d: &dyn Fn(usize) -> Vec<T>| {
        let k = rows.len();
        let line = |j: usize| Line {
            a: if j == 1 { T::ZERO } else { entry(&rows[j].a) },
            b: entry(&rows[j].b),
            c: if j + 2 == k { T::ZERO } else { entry(&rows[j].c) },
            d: d(j),
        };
        solve_lines((1..k - 1).map(line).collect(), rule)
    };
    let coarse: Vec<_> = (0..count)
        .flat_map(|p| {
            let rows = part(p);
            let k = rows.len();
            let [mut first, mut last] = [rows[0].clone(), rows[k - 1].clone()];
            if k > 2 {
                let spikes = |j: usize| {
                    let [w, v] = [(j == 1, &rows[j].a), (j + 2 == k, &rows[j].c)];
                    let or_zero = |(there, block): (bool, &Panel<T>)| if there { entry(block) } else { T::ZERO };
                    vec![rows[j].d[0], or_zero(w), or_zero(v)]
                };
                let tips = inside(rows, &spikes);
                let (f, g) = (-entry(&first.c), -entry(&last.a));
                let (top, bottom) = (&tips[0], &tips[k - 3]);
                first.d[0] = f.fma(top[0], first.d[0]);
                first.b[0][0] = f.fma(top[1], entry(&first.b));
                first.c[0][0] = f.times(top[2]);
                last.d[0] = g.fma(bottom[0], last.d[0]);
                last.b[0][0] = g.fma(bottom[2], entry(&last.b));
                last.a[0][0] = g.times(bottom[1]);
            }
            for row in [&first, &last] {
                see_rows([&row.a, &row.b, &row.c], nothing::<T>(&[], rule));
            }
            [first, last]
        })
        .collect();
    let y = solve(&coarse, deeper, periodic, rule);
    let substituted = |p: usize| {
        let (rows, first, last) = (part(p), y[2 * p], y[2 * p + 1]);
        let k = rows.len();
        let mut x = vec![first; k];
        x[k - 1] = if k > 1 { last } else { first };
        if k > 2 {
            let d = |j: usize| {
                let mut sum = rows[j].d[0];
                if j == 1 {
                    sum = (-entry(&rows[j].a)).fma(first, sum);
                }
                if j + 2 == k {
                    sum = (-entry(&rows[j].c)).fma(last, sum);
                }
                vec![sum]
            };
            inside(rows, &d).into_iter().enumerate().for_each(|(j, values)| x[j + 1] = values[0]);
        }
        x
    };
    (0..count).flat_map(substituted).collect()
}

/// A linear recurrence: transfers and states are vectors.
trait Recurrence<T: Number> {
    fn nothing() -> Vec<T>;
    /// The transfer with one more row.
    fn extend(transfer: &[T], row: [T; 2]) -> Vec<T>;
    fn compose(first: &[T], then: &[T]) -> Vec<T>;
    fn apply(transfer: &[T], state: &[T]) -> Vec<T>;
    fn step(state: &[T], row: [T; 2]) -> Vec<T>;
}

/// y ← by·y + plus
enum Affine {}

impl<T: Number> Recurrence<T> for Affine {
    fn nothing() -> Vec<T> {
        vec![T::ONE, T::ZERO]
    }
    fn extend(t: &[T], [by, plus]: [T; 2]) -> Vec<T> {
        vec![by.times(t[0]), by.fma(t[1], plus)]
    }
    fn compose(a: &[T], b: &[T]) -> Vec<T> {
        vec![b[0].times(a[0]), b[0].fma(a[1], b[1])]
    }
    fn apply(t: &[T], s: &[T]) -> Vec<T> {
        vec![t[0].fma(s[0], t[1])]
    }
    fn step(s: &[T], [by, plus]: [T; 2]) -> Vec<T> {
        vec![by.fma(s[0], plus)]
    }
}

/// θ ← diag·θ₋₁ + product·θ₋₂
enum Minors {}

fn normal<T: Number>(newest: T, before: T) -> Vec<T> {
    let r = if before.size() > newest.size() { before } else { newest }.reciprocal();
    vec![newest.times(r), before.times(r)]
}

fn powers<T: Number<Real: RealNumber>>(numbers: [T; 4]) -> Vec<T> {
    numbers.iter().map(|v| v.scale_by(scale_of(&numbers))).collect()
}

impl<T: Number<Real: RealNumber>> Recurrence<T> for Minors {
    fn nothing() -> Vec<T> {
        vec![T::ONE, T::ZERO, T::ZERO, T::ONE]
    }
    fn extend(t: &[T], [diag, product]: [T; 2]) -> Vec<T> {
        powers([diag.fma(t[0], product.times(t[2])), diag.fma(t[1], product.times(t[3])), t[0], t[1]])
    }
    fn compose(a: &[T], b: &[T]) -> Vec<T> {
        let entry = |r: usize, c: usize| b[2 * r].fma(a[c], b[2 * r + 1].times(a[2 + c]));
        powers([entry(0, 0), entry(0, 1), entry(1, 0), entry(1, 1)])
    }
    fn apply(t: &[T], s: &[T]) -> Vec<T> {
        normal(t[0].fma(s[0], t[1].times(s[1])), t[2].fma(s[0], t[3].times(s[1])))
    }
    fn step(s: &[T], [diag, product]: [T; 2]) -> Vec<T> {
        normal(diag.fma(s[0], product.times(s[1])), s[0])
    }
}

/// Rows per thread: as many as fill 64 bytes with one number each, at most 8.
pub const fn thread_rows<T>() -> usize {
    if size_of::<T>() > 8 { 64 / size_of::<T>() } else { 8 }
}

/// The states before and after every row, with 128 threads per tile and 32 tiles per group.
fn scan<T: Number, R: Recurrence<T>>(rows: &[[T; 2]], begin: Vec<T>) -> Vec<[Vec<T>; 2]> {
    let (mut entering, mut state_before, mut transfers) = (begin.clone(), begin, Vec::<Vec<T>>::new());
    let mut states = Vec::new();
    let each = thread_rows::<T>();
    for (tile, rows) in rows.chunks(128 * each).enumerate() {
        let mut by_thread: Vec<Vec<T>> = (0..128)
            .map(|t| {
                rows.iter().skip(each * t).take(each).fold(R::nothing(), |transfer, row| R::extend(&transfer, *row))
            })
            .collect();
        for warp in by_thread.chunks_mut(32) {
            for by in [1, 2, 4, 8, 16] {
                for lane in (by..32).rev() {
                    warp[lane] = R::compose(&warp[lane - by], &warp[lane]);
                }
            }
        }
        let mut all = R::nothing();
        let mut enter = Vec::new();
        for warp in by_thread.chunks(32) {
            let before = |lane: usize| if lane == 0 { R::nothing() } else { warp[lane - 1].clone() };
            enter.extend((0..32).map(|lane| R::compose(&all, &before(lane))));
            all = R::compose(&all, &warp[31]);
        }
        // The state that enters the tile, by the transfers of the tiles in its group.
        let mine = transfers.iter().fold(entering.clone(), |state, transfer| R::apply(transfer, &state));
        transfers.push(all.clone());
        if tile % 32 == 31 {
            entering = R::apply(&all, &mine);
            transfers.clear();
        }
        for (t, enter) in enter.iter().enumerate() {
            let rows_of_thread = || rows.iter().skip(each * t).take(each);
            // The state after the rows of a thread enters the next thread.
            let leaves = rows_of_thread().fold(R::apply(enter, &mine), |state, row| R::step(&state, *row));
            let mut state = std::mem::replace(&mut state_before, leaves);
            for row in rows_of_thread() {
                let after = R::step(&state, *row);
                states.push([state, after.clone()]);
                state = after;
            }
        }
    }
    states
}

/// CF-LU, or parallel diagonal pivoting: pivots from leading minors, then the forward and the backward pass.
pub fn solve_by_minors<T: Number<Real: RealNumber>>(rows: &[Row<T>], pairs: bool) -> Vec<T> {
    let n = rows.len();
    let entry = |block: &Panel<T>| block[0][0];
    // Scaled rows, with zeros outside the matrix.
    let scaled = |i: usize| -> [T; 4] {
        let Some(row) = rows.get(i) else { return [T::ZERO; 4] };
        let a = if i == 0 { T::ZERO } else { entry(&row.a) };
        let c = if i + 1 == n { T::ZERO } else { entry(&row.c) };
        let by = scale_of(&[a, entry(&row.b), c]);
        [a, entry(&row.b), c, row.d[0]].map(|v| v.scale_by(by))
    };
    let before = |i: usize| if i == 0 { T::ZERO } else { scaled(i - 1)[2] };
    let minors: Vec<_> = (0..n).map(|i| [scaled(i)[1], -scaled(i)[0].times(before(i))]).collect();
    let states = scan::<T, Minors>(&minors, vec![T::ONE, T::ZERO]);
    let (newest, older) = (|i: usize| states[i][1][0], |i: usize| states[i][1][1]);
    let larger = |a: T::Real, b: T::Real| if b > a { b } else { a };
    let would = |i: usize| {
        let [row, next, second] = [i, i + 1, i + 2].map(|i| scaled(i).map(|v| v.size()));
        let sigma = [second[0], next[1], row[2], next[2]].into_iter().fold(next[0], larger);
        let kappa = T::Real::from_f64(0.618_033_988_749_894_8) * (next[0] * row[2]);
        sigma * newest(i).size() < kappa * older(i).size()
    };
    let mut first = vec![false; n];
    (0..n).for_each(|i| first[i] = pairs && would(i) && !(i > 0 && first[i - 1]));
    let second = |i: usize| i > 0 && first[i - 1];
    // Δ, 1/Δ and b̂/Δ of a 2×2 pivot in rows i and i + 1.
    let determinant = |i: usize| {
        let next = scaled(i + 1);
        next[1].fma(newest(i), (-next[0].times(scaled(i)[2])).times(older(i)))
    };
    let pair = |i: usize| {
        let r = determinant(i).reciprocal();
        [older(i).times(r), newest(i).times(r)]
    };
    let scaled_rows = PivotOptions { exchange: false, diagonal: false, scale: true, noise: 0.0 };
    for i in (0..n).filter(|i| !second(*i)) {
        see([&if first[i] { determinant(i) } else { newest(i) }], nothing::<T>(&[], scaled_rows));
    }
    let single = |i: usize| older(i).times(newest(i).reciprocal());
    let forward: Vec<_> = (0..n)
        .map(|i| {
            let [a, _, _, d] = scaled(i);
            if first[i] {
                return [-a, d];
            }
            let [factor, of_rhs] = if second(i) { pair(i - 1) } else { [single(i); 2] };
            [-factor.times(a), of_rhs.times(d)]
        })
        .collect();
    let down = scan::<T, Affine>(&forward, vec![T::ZERO]);
    let y = |i: usize| {
        if !first[i] {
            return down[i][1][0];
        }
        let (row, next, by) = (scaled(i), scaled(i + 1), pair(i)[0]);
        by.times(next[1]).fma(down[i][1][0], -by.times(row[2]).times(next[3]))
    };
    let factor = |i: usize| {
        let c = scaled(i)[2];
        if second(i) {
            -pair(i - 1)[1].times(c)
        } else if first[i] {
            pair(i)[0].times(c).times(scaled(i + 1)[2])
        } else {
            -single(i).times(c)
        }
    };
    let backward: Vec<_> =
        (0..n).rev().map(|i| if second(i) { [T::ONE, T::ZERO] } else { [factor(i), y(i)] }).collect();
    let up = scan::<T, Affine>(&backward, vec![T::ZERO]);
    let x = |i: usize| {
        let [below, here] = &up[n - 1 - i];
        if second(i) { factor(i).fma(below[0], y(i)) } else { here[0] }
    };
    (0..n).map(x).collect()
}

/// Solve a system as a partition between two zero unknowns.
pub fn solve_alone<T: Number<Real: RealNumber>>(rows: &[Row<T>], rule: PivotOptions) -> Vec<T> {
    let nothing = vec![vec![T::ZERO; 1]];
    let zero = Row { a: nothing.clone(), b: nothing.clone(), c: nothing.clone(), d: vec![T::ZERO] };
    let mut all: Vec<_> = rows.to_vec();
    let n = all.len();
    all[0].a = nothing.clone();
    all[n - 1].c = nothing.clone();
    let all: Vec<_> = [zero.clone()].into_iter().chain(all.iter().map(|row| row.scaled(rule))).chain([zero]).collect();
    let none = [T::ZERO];
    solve_inside(&all, [&none, &none, &none, &none], rule)[1..=n].to_vec()
}
