//! `bandsolve bench spmv`: products of sparse matrices and vectors, compared with MKL and memory bandwidth.

use crate::args::{BenchSpmvArgs, SpmvKind};
use crate::contest::{self, Contestant, MeasuredAnswer, TimedSolve};
use crate::dots::{DotChart, DotPanel};
use crate::machine::MachineFacts;
use crate::mkl_sparse::{MklMatrix, MklSparse};
use crate::results::{self, Results};
use crate::row::{BenchRow, ratio};
use crate::setup::{self, show};
use crate::sheet::{BACKWARD, Line, SOLVER, Sheet, SheetColumn, THREADS, column};
use crate::yardstick::read;
use bandsolve::dyn_stack::PodStack;
use bandsolve::{LinearOperator, Op};
use bandsolve_gallery::Random;
use bandsolve_program::csr::csr;
use bandsolve_program::exit::Failure;
use bandsolve_program::memory::affordable;
use bandsolve_program::{io, progress, report};
use bandsolve_sparse::{
    Csr, PreparedProduct, ProductPlan, ProductSchedule, RowArgMax, RowArgMax2, RowMax, RowMaxWithColumn, RowReduction,
    nine_point,
};
use clap::ValueEnum;
use rayon::ThreadPool;
use serde_json::json;
use std::hint::black_box;
use std::path::Path;
use std::time::Instant;

/// Name of the loop that adds up as many numbers as the matrix has entries. Its speed is the memory bandwidth.
const READ: &str = "read";
/// Name of the product with automatic scheduling.
const PLAIN: &str = "product";
/// Name of the product of a [`PreparedProduct`].
const PREPARED: &str = "prepared";

/// Measure every kind of matrix, or the matrix of a file.
///
/// # Errors
/// [`Failure::Usage`] if a size does not fit in memory, [`Failure::Input`] if the file is invalid, [`Failure::Other`] if the report
/// cannot be written.
pub fn run(args: &BenchSpmvArgs) -> Result<(), Failure> {
    let stdout_used = results::stdout_is_used(&args.measure, args.matrix.as_deref())?;
    let threads = setup::threads(&args.threads)?;
    let n = args.n.unwrap_or(if args.measure.quick { 10_000 } else { 1_000_000 }).max(1);
    // At most 9 entries per row, and the vectors.
    affordable(&[n, 20], 8).map_err(|why| Failure::Usage(format!("--n {n}: {why}")))?;
    let cases = match &args.matrix {
        Some(path) => vec![(io::short_name(path), real_matrix(path)?)],
        None => args.kind.iter().map(|kind| (name(*kind), matrix(*kind, n))).collect(),
    };
    let mkl = MklSparse::open();
    let machine = MachineFacts::here();
    report::print_beside(&machine.text(None), stdout_used)?;
    let (mut found, mut sheets, mut panels) = (Vec::new(), Vec::new(), Vec::new());
    let bar = progress::parts("matrix", cases.len());
    for (name, a) in &cases {
        let rows = contest(a, &threads, mkl.as_ref(), setup::budget(&args.measure))?;
        let sheet = sheet(name, a, &rows);
        show(&sheet.text(), stdout_used, &bar)?;
        let facts = json!({ "matrix": name, "n": a.rows(), "nnz": a.entries() });
        found.extend(rows.iter().map(|row| row.json(&facts)));
        panels.push(DotPanel::of(name.clone(), &rows, f64::EPSILON));
        sheets.push(sheet);
    }
    let title = "Time of one sparse matrix-vector product (ns per row)".to_string();
    let chart = DotChart { title, machine: machine.summary(), across: 2, kinds: vec!["random"], panels };
    Results::here("spmv", &machine, None, found, sheets).write(&args.measure, || Some(chart.draw()))
}

fn real_matrix(path: &Path) -> Result<Csr<'static, f64, u32>, Failure> {
    let file = io::read_matrix(path)?;
    if file.n_rows == 0 {
        return Err(Failure::in_file(&io::name(path), "the matrix has no rows"));
    }
    if file.values.is_complex() {
        return Err(Failure::in_file(&io::name(path), "the matrix is complex; this benchmark requires a real matrix"));
    }
    csr(&file)
}

fn name(kind: SpmvKind) -> String {
    kind.to_possible_value().expect("no kind is skipped").get_name().into()
}

fn matrix(kind: SpmvKind, n: usize) -> Csr<'static, f64, u32> {
    let mut random = Random::new(n as u64);
    let side = (n as f64).sqrt().round().max(1.0) as usize;
    let nine = || nine_point([[-1.0, -2.0, -1.0], [-2.0, 12.0, -2.0], [-1.0, -2.0, -1.0]], (side, side));
    let lengths: Vec<usize> = match kind {
        SpmvKind::NinePoint => return nine(),
        SpmvKind::NinePointRandom => {
            let a = nine();
            let (pointers, columns, values) = a.parts();
            let values = random.uniform_vec(values.len(), -1.0, 1.0);
            return Csr::new(a.columns(), pointers.to_vec(), columns.to_vec(), values).expect("places of a matrix");
        }
        SpmvKind::PowerLaw => (0..n).map(|_| (1.0 / random.unit()).clamp(1.0, 5000.0) as usize).collect(),
        SpmvKind::DenseRow => (0..n).map(|i| if i == n / 2 { n } else { 1 }).collect(),
    };
    let mut pointers = vec![0];
    lengths.iter().for_each(|length| pointers.push(pointers[pointers.len() - 1] + *length as u32));
    let entries = pointers[n] as usize;
    let columns = match kind {
        SpmvKind::DenseRow => (0..n).flat_map(|i| if i == n / 2 { 0..n } else { i..i + 1 }).map(|j| j as u32).collect(),
        _ => (0..entries).map(|_| random.below(n) as u32).collect::<Vec<_>>(),
    };
    Csr::new(n, pointers, columns, random.uniform_vec(entries, -1.0, 1.0)).expect("columns below n")
}

/// Memory that all products share.
struct SpmvMemory {
    x: Vec<f64>,
    y: Vec<f64>,
    /// Whether the last run wrote A·x to `y`.
    is_product: bool,
}

impl SpmvMemory {
    /// The largest |yᵢ − Σ aᵢⱼ·xⱼ| / Σ |aᵢⱼ·xⱼ| of all rows.
    fn check(&self, a: &Csr<'_, f64, u32>) -> MeasuredAnswer {
        let of_row = |i: usize| {
            let product = |(j, value): (usize, f64)| value * self.x[j];
            let (sum, size) = a.row(i).map(product).fold((0.0, 0.0), |(sum, size), v| (sum + v, size + v.abs()));
            if size > 0.0 { (self.y[i] - sum).abs() / size } else { self.y[i].abs() }
        };
        (self.is_product.then(|| (0..a.rows()).map(of_row).fold(0.0, f64::max)), None)
    }
}

fn contest(
    a: &Csr<'_, f64, u32>,
    threads: &[usize],
    mkl: Option<&MklSparse>,
    budget: contest::Budget,
) -> Result<Vec<BenchRow>, Failure> {
    let pools = threads.iter().map(|t| rayon::ThreadPoolBuilder::new().num_threads(*t).build());
    let pools = pools.collect::<Result<Vec<_>, _>>().map_err(|e| Failure::Other(e.to_string()))?;
    // MKL optimizes a matrix for the current number of threads.
    let of_mkl: Vec<(usize, &str, MklMatrix<'_>)> = threads
        .iter()
        .flat_map(|threads| [(*threads, "mkl", false), (*threads, "mkl optimized", true)])
        .filter_map(|(threads, name, optimized)| {
            mkl?.use_threads(threads);
            Some((threads, name, mkl?.matrix(a, optimized)?))
        })
        .collect();
    let prepared = PreparedProduct::new(a).map_err(|error| Failure::Other(error.to_string()))?;
    let prepared = &prepared;
    let mut contestants: Vec<Contestant<'_, SpmvMemory>> = Vec::new();
    for pool in &pools {
        let threads = pool.current_num_threads();
        let mut add = |name: &str, solve| contestants.push(Contestant { name: name.into(), threads, solve });
        add(READ, reading(a, pool));
        add(PLAIN, timed(pool, true, move |x, y| a.product(Op::Plain, 1.0, x, 0.0, y).map_err(|e| e.to_string())));
        let multiply =
            move |x: &[f64], y: &mut [f64]| prepared.apply(x, y, PodStack::new(&mut [])).map_err(|e| e.to_string());
        add(PREPARED, timed(pool, true, multiply));
        for schedule in [ProductSchedule::Adaptive, ProductSchedule::Balanced] {
            let plan = ProductPlan::new(a).with_schedule(schedule);
            let name = format!("{schedule:?}").to_lowercase();
            add(
                &name,
                timed(pool, true, move |x, y| {
                    plan.product(a, 1.0, x, 0.0, y);
                    Ok(())
                }),
            );
        }
        add("max1", reducing(a, pool, RowMax, None));
        add("max1 with column", reducing(a, pool, RowMaxWithColumn, None));
        add("arg-max1", reducing(a, pool, RowArgMax, None));
        add("arg-max2", reducing(a, pool, RowArgMax2, [None; 2]));
        for (_, name, matrix) in of_mkl.iter().filter(|(of, ..)| *of == threads) {
            let solve: TimedSolve<'_, SpmvMemory> = Box::new(move |work| {
                mkl.inspect(|mkl| mkl.use_threads(threads));
                let started = Instant::now();
                matrix.multiply(&work.x, &mut work.y).map_err(|status| format!("MKL returned status {status}"))?;
                work.is_product = true;
                Ok(started.elapsed())
            });
            add(name, solve);
        }
    }
    let mut random = Random::new(1);
    let x = random.uniform_vec(a.columns(), -1.0, 1.0);
    let mut work = SpmvMemory { x, y: vec![0.0; a.rows()], is_product: false };
    Ok(contest::run(&mut contestants, a.rows().max(1), budget, &mut work, |work| work.check(a)))
}

/// Time a function that writes y, on the threads of a pool.
fn timed<'a>(
    pool: &'a ThreadPool,
    is_product: bool,
    work: impl Fn(&[f64], &mut [f64]) -> Result<(), String> + Sync + 'a,
) -> TimedSolve<'a, SpmvMemory> {
    Box::new(move |memory| {
        memory.is_product = is_product;
        let (x, y) = (&memory.x, &mut memory.y);
        pool.install(|| {
            let started = Instant::now();
            work(x, y)?;
            Ok(started.elapsed())
        })
    })
}

fn reading<'a>(a: &'a Csr<'a, f64, u32>, pool: &'a ThreadPool) -> TimedSolve<'a, SpmvMemory> {
    let (_, _, values) = a.parts();
    let quarter = values.len() / 4;
    let arrays: [&[f64]; 4] = core::array::from_fn(|k| &values[k * quarter..(k + 1) * quarter]);
    timed(pool, false, move |_, _| {
        black_box(read(black_box(arrays), pool.current_num_threads()));
        Ok(())
    })
}

fn reducing<'a, R>(a: &'a Csr<'a, f64, u32>, pool: &'a ThreadPool, by: R, none: R::Output) -> TimedSolve<'a, SpmvMemory>
where
    R: RowReduction<f64, Output: Clone + Sync> + 'a,
{
    let mut output = vec![none; a.rows()];
    Box::new(move |memory| {
        memory.is_product = false;
        Ok(pool.install(|| {
            let started = Instant::now();
            ProductPlan::new(a).reduce(a, &by, black_box(&mut output));
            started.elapsed()
        }))
    })
}

/// Bytes per entry: its value and its column.
const ENTRY: usize = 12;

fn sheet(name: &str, a: &Csr<'_, f64, u32>, rows: &[BenchRow]) -> Sheet {
    let columns = vec![
        SheetColumn { width: 18, ..SOLVER },
        THREADS,
        column("ms", 9, "median time, in milliseconds"),
        column("GB/s", 7, "bytes of the matrix entries divided by the median time"),
        column("of read", 8, "this bandwidth divided by the bandwidth of `read` with the same number of threads"),
        column(
            "speedup vs mkl",
            14,
            "time of mkl_sparse_d_mv without mkl_sparse_optimize divided by this time, with the same number of threads",
        ),
        BACKWARD,
    ];
    let plan = ProductPlan::new(a);
    let schedule = format!("{:?}", plan.schedule()).to_lowercase();
    let near = if plan.is_scattered() { "scattered columns" } else { "neighboring columns" };
    let entries = a.entries();
    Sheet {
        title: format!("{name}: {} rows, {entries} entries, f64; {schedule} schedule, {near}", a.rows()),
        columns,
        lines: rows.iter().map(|row| line(a, rows, row)).collect(),
    }
}

fn line(a: &Csr<'_, f64, u32>, rows: &[BenchRow], row: &BenchRow) -> Line {
    let same_threads = |solver: &str| rows.iter().find(|other| other.solver == solver && other.threads == row.threads);
    let time = |row: &BenchRow| row.ns_per_row * a.rows() as f64;
    let speed = |row: &BenchRow| {
        let bytes = if row.solver == READ { a.entries() / 4 * 4 * size_of::<f64>() } else { a.entries() * ENTRY };
        bytes as f64 / time(row)
    };
    Line {
        cells: vec![
            row.solver.clone(),
            row.threads.to_string(),
            format!("{:.3}", time(row) * 1e-6),
            format!("{:.1}", speed(row)),
            ratio(same_threads(READ).map(|read| speed(row) / speed(read))),
            ratio(same_threads("mkl").filter(|_| row.solver != READ).map(|mkl| time(mkl) / time(row))),
            row.error_text(),
        ],
        note: row.note().into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_products_are_right() {
        for kind in SpmvKind::value_variants() {
            let a = matrix(*kind, 1000);
            let mkl = MklSparse::open();
            let rows = contest(&a, &[1, 2], mkl.as_ref(), contest::Budget { seconds: 0.0, min_rounds: 1 }).unwrap();
            let products = rows.iter().filter(|row| row.backward_error.is_some());
            assert!(products.clone().count() >= 6, "{rows:?}");
            let long = a.entries() as f64 * f64::EPSILON;
            assert!(products.clone().all(|row| row.backward_error.unwrap() <= long && row.error.is_none()), "{rows:?}");
            assert!(sheet(&name(*kind), &a, &rows).text().contains("balanced"));
        }
    }
}
