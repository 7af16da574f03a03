//! Backward errors of all functions of a device, compared with the CPU. The oracle computes both.

use crate::batch;
use crate::row::RepairCounts;
use bandsolve::{
    Banded, BlockTridiagonal, Complex32, Complex64, Error, Factor, Factorize, Layout, Plan, Shape, Tridiagonal,
    TridiagonalBatch,
};
use bandsolve::{good, tolerable};
use bandsolve_gallery::{Random, oracle, random_vec};
use bandsolve_gpu::{Device, DeviceScalar, HostMatrix};
use bandsolve_program::exit::Failure;
use bandsolve_program::options::Dtype;
use bandsolve_program::report;
use serde_json::{Value, json};

/// Solve all kinds of systems of approximately `rows` rows, and print each line at once. Returns the lines of the JSON report, and the
/// number of solutions of the device that violate the accuracy contract.
///
/// # Errors
/// [`Failure::Other`] if a line cannot be printed.
pub fn run(device: &Device, rows: usize, dtypes: &[Dtype], stdout_used: bool) -> Result<(Vec<Value>, usize), Failure> {
    report::print_beside(&heading(), stdout_used)?;
    let mut bench = AccuracyBench { device, rows, dtype: "", stdout_used, json: Vec::new(), failed: 0 };
    for &dtype in dtypes {
        bench.dtype = dtype.name();
        match dtype {
            Dtype::F32 => bench.all::<f32>(),
            Dtype::F64 => bench.all::<f64>(),
            Dtype::C64 => bench.all::<Complex32>(),
            Dtype::C128 => bench.all::<Complex64>(),
        }?;
    }
    Ok((bench.json, bench.failed))
}

struct AccuracyBench<'a> {
    device: &'a Device,
    rows: usize,
    dtype: &'static str,
    stdout_used: bool,
    json: Vec<Value>,
    failed: usize,
}

/// A backward error and the repairs of the solution.
type Answer = Result<(f64, RepairCounts), Error>;

impl AccuracyBench<'_> {
    fn all<T: DeviceScalar>(&mut self) -> Result<(), Failure> {
        let mut random = Random::new(self.rows as u64);
        let mut draw = |numbers: usize| random_vec::<T>(numbers, &mut random);
        for periodic in [false, true] {
            let [sub, diag, sup] = [(); 3].map(|()| draw(self.rows));
            let a = Tridiagonal::from_vecs(sub, diag, sup, periodic)?;
            let name = if periodic { "periodic tridiagonal" } else { "tridiagonal" };
            for n_rhs in [1, 32] {
                self.compare(name, &a, n_rhs, |rhs, x| oracle::backward_error(&a, rhs, x))?;
            }
        }
        for block in 2..=4 {
            let blocks = [(); 3].map(|()| draw(self.rows.div_ceil(block) * block * block));
            let a = BlockTridiagonal::from_vecs(block, blocks, false)?;
            let band = as_band(&a)?;
            self.compare(&format!("blocks of {block}"), &a, 1, |rhs, x| oracle::backward_error(&band, rhs, x))?;
        }
        let a = Banded::from_vec(self.rows, 2, 2, draw(self.rows * 5))?;
        self.compare("pentadiagonal", &a, 1, |rhs, x| oracle::backward_error(&a, rhs, x))?;
        // The device solves the first and the last batch with one thread per system, the second one with partitions.
        for (name, n, layout) in [
            ("batch, contiguous, n = 50", 50, Layout::Contiguous),
            ("batch, contiguous, n = 100", 100, Layout::Contiguous),
            ("batch, interleaved, n = 100", 100, Layout::Interleaved),
        ] {
            let count = self.rows.div_ceil(n);
            let [sub, diag, sup] = [(); 3].map(|()| draw(count * n));
            let a = TridiagonalBatch::new(count, n, layout, &sub, &diag, &sup)?;
            self.compare(name, &a, 1, |rhs, x| batch::backward_error(&a, rhs, x))?;
        }
        Ok(())
    }

    /// Solve on the device and on the CPU, print both backward errors, and store them.
    fn compare<T: DeviceScalar, M: HostMatrix<T> + Factorize<Scalar = T>>(
        &mut self,
        name: &str,
        a: &M,
        n_rhs: usize,
        error: impl Fn(&[T], &[T]) -> f64,
    ) -> Result<(), Failure> {
        let shape = HostMatrix::shape(a);
        let (plan, rhs) = (Plan::new(shape), random_vec::<T>(shape.rows() * n_rhs, &mut Random::new(1)));
        let answer = |factor: &dyn Factor<T>| -> Answer {
            let mut x = vec![T::ZERO; rhs.len()];
            let report = factor.solve_into(&rhs, &mut x)?;
            let columns = rhs.chunks(shape.rows()).zip(x.chunks(shape.rows()));
            Ok((report::largest(columns.map(|(rhs, x)| error(rhs, x))), RepairCounts::of(&report)))
        };
        let ours = self.device.factor(&plan, a).and_then(|factor| answer(&factor));
        let host = plan.factor(a).and_then(|factor| answer(&factor));
        let limit = |repair: &RepairCounts| if repair.fallback { tolerable::<T>() } else { good::<T>() };
        let within = ours.as_ref().is_ok_and(|(error, repair)| *error <= limit(repair));
        self.failed += usize::from(!within);
        let note = note(&ours, within);
        self.json.push(json!({
            "system": name,
            "n": shape.rows(),
            "n_rhs": n_rhs,
            "dtype": self.dtype,
            "backward_error": ours.as_ref().ok().map(|answer| answer.0),
            "backward_error_cpu": host.as_ref().ok().map(|answer| answer.0),
            "within_contract": within,
            "note": note,
        }));
        report::print_beside(&line((name, shape, n_rhs, self.dtype), [&ours, &host], &note), self.stdout_used)
    }
}

fn heading() -> String {
    let [system, n, n_rhs] = ["system", "rows", "rhs"];
    format!("\n  {system:28} {n:>9} {n_rhs:>4} {:>5} {:>14} {:>9}\n", "type", "backward error", "on CPU")
}

/// The repair that a solution needed, or the reason why it failed.
fn note(ours: &Answer, within: bool) -> String {
    match ours {
        Err(error) => error.to_string(),
        Ok(_) if !within => "violates the accuracy contract".into(),
        Ok((_, repair)) => repair.note().into(),
    }
}

fn line((name, shape, n_rhs, dtype): (&str, Shape, usize, &str), [ours, host]: [&Answer; 2], note: &str) -> String {
    let eta = |answer: &Answer| report::error(answer.as_ref().ok().map(|(error, _)| *error));
    let n = shape.rows();
    let line = format!("  {name:28} {n:>9} {n_rhs:>4} {dtype:>5} {:>14} {:>9}  {note}", eta(ours), eta(host));
    line.trim_end().to_string() + "\n"
}

/// The matrix as a band, which the oracle takes.
fn as_band<T: DeviceScalar>(a: &BlockTridiagonal<'_, T>) -> bandsolve::Result<Banded<'static, T>> {
    let (n, half) = (a.n(), 2 * a.block() - 1);
    let leading = 2 * half + 1;
    let mut bands = vec![T::ZERO; n * leading];
    for i in 0..n {
        for j in i.saturating_sub(half)..(i + half + 1).min(n) {
            bands[half + i - j + j * leading] = a.get(i, j);
        }
    }
    Banded::from_vec(n, half, half, bands)
}
