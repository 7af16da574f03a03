//! Tridiagonal, periodic and banded systems of every number type, by every method, with every operation, instruction set and number of threads, compared
//! with an oracle in twice the precision.
//!
//! - An answer has a backward error within the contract, and the report does not understate it.
//! - An error is returned only for a matrix that is nearly singular, or whose x is near the limits of the numbers.
//! - The answer has the same bits with another number of threads.

#![no_main]

use bandsolve::dyn_stack::PodStack;
use bandsolve::prelude::*;
use bandsolve::{Complex32, Complex64, Factorize, RealScalar, Scalar, Simd};
use bandsolve_gallery::oracle::{self, MatrixRows};
use bandsolve_testkit::conformance::{epsilon, rounding};
use libfuzzer_sys::arbitrary::{Result, Unstructured};
use libfuzzer_sys::fuzz_target;

/// The largest number of rows for which the oracle computes a condition number.
const SMALL: usize = 80;

/// The numbers of a system, from a pattern of bytes that is repeated. Each repetition changes the ordinary numbers, so that a few bytes give many rows.
struct Entries<'a> {
    pattern: &'a [u8],
    next: usize,
    /// Whether some numbers are near the limits of the type.
    extreme: bool,
}

impl Entries<'_> {
    fn byte(&mut self) -> u8 {
        self.next += 1;
        *self.pattern.get((self.next - 1) % self.pattern.len().max(1)).unwrap_or(&0)
    }

    fn real<T: Scalar>(&mut self) -> f64 {
        let (kind, repetition) = (self.byte(), self.next / self.pattern.len().max(1));
        let largest = T::Real::MAX.to_f64().log10();
        match kind {
            0..=15 => 0.0,
            16..=31 => 1.0,
            32..=39 => -1.0,
            40..=47 => 2.0,
            48..=63 if self.extreme => {
                let part = f64::from(self.byte() as i8) / 128.0;
                10f64.powf(part * largest) * if kind % 2 == 0 { 1.0 } else { -1.0 }
            }
            48..=79 => epsilon::<T>() * f64::from(kind - 40),
            _ => f64::from(i16::from_le_bytes([self.byte(), kind]).wrapping_add(repetition as i16)) / 32768.0,
        }
    }

    fn scalars<T: Scalar>(&mut self, n: usize) -> Vec<T> {
        let scalar = |entries: &mut Self| {
            let re = entries.real::<T>();
            oracle::round(re, if T::COMPLEX { entries.real::<T>() } else { 0.0 })
        };
        (0..n).map(|_| scalar(self)).collect()
    }
}

/// How the system is solved.
struct Request {
    method: Method,
    op: Op,
    pivoting: Pivoting,
    simd: Simd,
    threads: [usize; 2],
    compares_threads: bool,
    partition_rows: Option<usize>,
    n_rhs: usize,
}

impl Request {
    fn draw(bytes: &mut Unstructured<'_>, shape: Shape) -> Result<Self> {
        let methods: Vec<Method> = Method::ALL.into_iter().filter(|method| method.solves(shape)).collect();
        let available: Vec<Simd> = Simd::ALL.iter().copied().filter(|simd| simd.is_available()).collect();
        Ok(Self {
            method: *bytes.choose(&methods)?,
            op: *bytes.choose(&[Op::Plain, Op::Transpose, Op::ConjTranspose])?,
            pivoting: *bytes.choose(&Pivoting::ALL)?,
            simd: *bytes.choose(&available)?,
            threads: *bytes.choose(&[[1, 2], [1, 3], [2, 3]])?,
            compares_threads: bytes.ratio(1, 4)?,
            partition_rows: if bytes.ratio(1, 2)? { Some(bytes.int_in_range(3..=40)?) } else { None },
            n_rhs: bytes.int_in_range(1..=3)?,
        })
    }

    fn plan(&self, shape: Shape, threads: usize) -> Plan {
        let plan = Plan::new(shape).method(self.method).pivoting(self.pivoting).simd(self.simd).threads(threads);
        match self.partition_rows {
            Some(rows) => plan.partition_rows(rows),
            None => plan,
        }
    }
}

fn bits<T: Scalar>(x: &[T]) -> Vec<[u64; 2]> {
    x.iter().map(|v| [v.re(), v.im()].map(|part| part.to_f64().to_bits())).collect()
}

/// Solve, and compare with the oracle. `op_a` is op(A), with `width` entries per row.
fn check<T: Scalar, A, O>((request, shape): (&Request, Shape), a: &A, (op_a, width): (&O, usize), rhs: &[T])
where
    A: Factorize<Scalar = T>,
    O: MatrixRows<T>,
{
    let n = op_a.n();
    let solve = |threads| -> bandsolve::Result<(Vec<T>, Report)> {
        let factor = request.plan(shape, threads).factor(a)?;
        // NaN everywhere, so that numbers that are read before they are written are noticed.
        let mut memory = vec![0xff; factor.solve_scratch(request.n_rhs).unaligned_bytes_required()];
        let mut x = vec![oracle::round(f64::NAN, f64::NAN); rhs.len()];
        let report = factor.solve_into_with(request.op, rhs, &mut x, PodStack::new(&mut memory))?;
        Ok((x, report))
    };
    let name = || {
        let Request { method, op, pivoting, simd, threads, partition_rows, n_rhs, .. } = request;
        let method = method.name();
        format!("{} {shape:?} {method} {op:?} {pivoting:?} {simd:?} {threads:?} {partition_rows:?} {n_rhs}", T::NAME)
    };
    let solved = solve(request.threads[0]);
    if request.compares_threads {
        match (&solved, &solve(request.threads[1])) {
            (Ok((x, _)), Ok((other, _))) => assert_eq!(bits(x), bits(other), "{}: threads change bits", name()),
            (one, other) => {
                // As text, because a backward error of NaN is not equal to itself.
                let [one, other] = [one, other].map(|result| format!("{:?}", result.as_ref().err()));
                assert_eq!(one, other, "{}: threads change the result", name());
            }
        }
    }
    match solved {
        Ok((x, report)) => {
            let pairs = rhs.chunks(n).zip(x.chunks(n));
            let errors = pairs.map(|(d, x)| oracle::backward_error(op_a, d, x));
            let eta = errors.fold(0.0, |most: f64, error| if most.is_nan() || error <= most { most } else { error });
            let sequential = report.fallback || matches!(report.method, Method::Pivoted | Method::Cholesky);
            let limit = if sequential { 64.0 } else { 8.0 } * epsilon::<T>();
            let reported = report.backward_error;
            let holds = reported <= limit && eta <= reported + rounding::<T>(width);
            assert!(holds, "{}: the true backward error is {eta:e}: {report:?}", name());
        }
        Err(error) if n <= SMALL => {
            let condition = oracle::condition_rows(op_a);
            let size = |x: Vec<T>| x.iter().map(|v| Scalar::abs1(*v).to_f64()).fold(0.0, f64::max);
            let sizes = rhs.chunks(n).map(|d| oracle::solve_reference(op_a, d).map_or(f64::INFINITY, size));
            let largest = sizes.fold(0.0, f64::max);
            let regular = condition < 2e-4 / epsilon::<T>() && condition * largest < T::Real::MAX.to_f64() * 1e-8;
            let definite = request.method == Method::Cholesky && matches!(error.cause(), Error::NotDefinite { .. });
            assert!(
                !regular || definite,
                "{}: {error}, where the condition is {condition:e}, and x {largest:e}",
                name()
            );
        }
        Err(_) => {}
    }
}

fn system<T: Scalar>(bytes: &mut Unstructured<'_>) -> Result<()> {
    let n = match bytes.arbitrary::<u8>()? {
        0..=7 => bytes.int_in_range(SMALL..=700)?,
        8 => bytes.int_in_range(700..=30_000)?,
        _ => bytes.int_in_range(1..=SMALL)?,
    };
    let extreme = bytes.ratio(1, 4)?;
    let (periodic, dominant) = (n > 2 && bytes.ratio(1, 4)?, bytes.ratio(1, 3)?);
    let widths = if n <= 700 && bytes.ratio(1, 2)? {
        Some((bytes.int_in_range(0..=9)?, bytes.int_in_range(0..=9)?))
    } else {
        None
    };
    let shape = match widths {
        Some((lower, upper)) => Shape::Banded { n, lower, upper },
        None => Shape::Tridiagonal { n, periodic },
    };
    let request = Request::draw(bytes, shape)?;
    let (op, conj) = (request.op, request.op == Op::ConjTranspose);
    let mut entries = Entries { pattern: bytes.bytes(bytes.len())?, next: 0, extreme };
    let rhs = entries.scalars::<T>(n * request.n_rhs);
    if let Some((lower, upper)) = widths {
        let Ok(a) = Banded::from_vec(n, lower, upper, entries.scalars(n * (lower + upper + 1))) else { return Ok(()) };
        let op_a = if op == Op::Plain { a.clone() } else { oracle::transpose_banded(&a, conj) };
        check((&request, shape), &a, (&op_a, lower + upper + 1), &rhs);
        return Ok(());
    }
    let (sub, mut diag, sup) = (entries.scalars::<T>(n), entries.scalars::<T>(n), entries.scalars::<T>(n));
    if dominant {
        for i in 0..n {
            let size = (Scalar::abs1(sub[i]) + Scalar::abs1(sup[i])).to_f64();
            diag[i] = oracle::round(if size > 0.0 { 2.5 * size } else { 1.0 }, 0.0);
        }
    }
    let Ok(a) = Tridiagonal::from_vecs(sub, diag, sup, periodic) else { return Ok(()) };
    let op_a = if op == Op::Plain { a.clone() } else { oracle::transpose(&a, conj) };
    check((&request, shape), &a, (&op_a, 3), &rhs);
    Ok(())
}

fuzz_target!(|data: &[u8]| {
    let mut bytes = Unstructured::new(data);
    _ = match bytes.int_in_range(0..=3) {
        Ok(0) => system::<f32>(&mut bytes),
        Ok(1) => system::<Complex32>(&mut bytes),
        Ok(2) => system::<Complex64>(&mut bytes),
        _ => system::<f64>(&mut bytes),
    };
});
