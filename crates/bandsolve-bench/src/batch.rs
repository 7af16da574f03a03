//! `bandsolve bench batch`: many small systems of several shapes, in two orders in memory.

use crate::args::{BatchShape, BenchBatchArgs, RealDtype};
use crate::contest::{self, Budget, Contestant, TimedSolve};
use crate::dots::{DotChart, DotPanel};
use crate::machine::MachineFacts;
use crate::peers::{BandArrays, BandSolver, DefiniteSolvers, Peer, PeerArrays, PeerScalar, PeerSolver};
use crate::results::{self, Results};
use crate::row::{BenchRow, RepairCounts, compare, keep_best_yardstick};
use crate::setup::{self, show};
use crate::sheet::{self, Sheet};
use crate::yardstick::{self, Passes, Store, Word};
use bandsolve::{
    BandStrides, BandedBatch, Factor, Layout, Method, Plan, Report, Result as Solved, Scalar, Shape, TridiagonalBatch,
};
use bandsolve_gallery::{Random, oracle};
use bandsolve_program::exit::Failure;
use bandsolve_program::memory::affordable;
use bandsolve_program::{progress, report};
use serde_json::json;
use std::time::{Duration, Instant};

/// Measure every shape, number type and order in memory.
///
/// # Errors
/// [`Failure::Usage`] if a size does not fit in memory, [`Failure::Other`] if the report cannot be written.
pub fn run(args: &BenchBatchArgs) -> Result<(), Failure> {
    let stdout_used = results::stdout_is_used(&args.measure, None)?;
    let threads = setup::threads(&args.threads)?;
    let shapes = BatchShape::listed(&args.shapes);
    // Two copies of the matrices, of the right-hand sides and of x; the largest matrices have room for fill-in.
    let words = shapes.iter().map(|shape| 5 * shape.diagonals()).max().unwrap_or(0);
    affordable(&[args.count, args.n, words], 8).map_err(|why| Failure::Usage(format!("--count, --n: {why}")))?;
    let (machine, peers) = (MachineFacts::here(), Peer::all());
    let budget = setup::budget(&args.measure);
    report::print_beside(&machine.text(Some(&peers)), stdout_used)?;
    let (mut lines, mut sheets, mut panels) = (Vec::new(), Vec::new(), Vec::new());
    let bar = progress::parts("batch", 2 * shapes.len() * args.dtype.len());
    for (&shape, &dtype) in shapes.iter().flat_map(|shape| args.dtype.iter().map(move |dtype| (shape, dtype))) {
        for layout in [Layout::Interleaved, Layout::Contiguous] {
            let batch = Batch { shape, count: args.count, n: args.n, layout, dominant: args.dominant };
            let (rows, epsilon) = match dtype {
                RealDtype::F32 => (batch.measure::<f32>(&threads, budget, &peers), f64::from(f32::EPSILON)),
                RealDtype::F64 => (batch.measure::<f64>(&threads, budget, &peers), f64::EPSILON),
            };
            let order = if layout == Layout::Contiguous { "contiguous" } else { "interleaved" };
            let words = shape.words();
            let title = format!("{} systems of n = {}, {words}, {dtype}, {order}", args.count, args.n);
            let routine = sheet::Routine::of_batch(shape);
            let sheet = Sheet::of(title, &rows, routine, Passes::One);
            show(&sheet.text(), stdout_used, &bar)?;
            let facts = json!({
                "shape": shape.to_string(), "count": args.count, "n": args.n, "dtype": dtype.to_string(), "layout": order,
                "data": batch.data(),
            });
            lines.extend(rows.iter().map(|row| row.json(&facts)));
            panels.push(DotPanel::of(format!("{words}, {dtype}, {order}"), &rows, epsilon));
            sheets.push(sheet);
        }
    }
    let data = if args.dominant { "dominant" } else { "random" };
    let title = format!("Time to factor and solve {} systems of n = {}, {data} data (ns per row)", args.count, args.n);
    let chart = DotChart { title, machine: machine.summary(), across: 4, kinds: vec![data], panels };
    Results::here("batch", &machine, Some(&peers), lines, sheets).write(&args.measure, || Some(chart.draw()))
}

/// The batch to measure.
struct Batch {
    shape: BatchShape,
    count: usize,
    n: usize,
    layout: Layout,
    dominant: bool,
}

/// The matrices as bandsolve reads them.
enum BatchMatrices<'a, T: Scalar> {
    Tridiagonal(TridiagonalBatch<'a, T>),
    Banded(BandedBatch<'a, T>),
}

impl<'a, T: PeerScalar> BatchMatrices<'a, T> {
    fn shape(&self) -> Shape {
        match self {
            BatchMatrices::Tridiagonal(a) => a.shape(),
            BatchMatrices::Banded(a) => a.shape(),
        }
    }

    fn solve(&self, plan: &Plan, rhs: &[T], x: &mut [T]) -> Solved<Report> {
        match self {
            BatchMatrices::Tridiagonal(a) => plan.factor(a)?.solve_into(rhs, x),
            BatchMatrices::Banded(a) => plan.factor(a)?.solve_into(rhs, x),
        }
    }

    fn backward_error(&self, rhs: &[T], x: &[T]) -> f64 {
        match self {
            BatchMatrices::Tridiagonal(a) => backward_error(a, rhs, x),
            BatchMatrices::Banded(a) => {
                let of_system = |s: usize| {
                    let [rhs, x] = [rhs, x].map(|v| (0..a.n()).map(|i| v[a.index(s, i)]).collect::<Vec<T>>());
                    oracle::backward_error(&a.system(s).expect("memory for one system"), &rhs, &x)
                };
                report::largest((0..a.count()).map(of_system))
            }
        }
    }
}

/// Largest backward error of all systems.
pub fn backward_error<T: Scalar>(a: &TridiagonalBatch<'_, T>, rhs: &[T], x: &[T]) -> f64 {
    let of_system = |s: usize| {
        let [rhs, x] = [rhs, x].map(|v| (0..a.n()).map(|i| v[a.index(s, i)]).collect::<Vec<T>>());
        oracle::backward_error(&a.system(s), &rhs, &x)
    };
    report::largest((0..a.count()).map(of_system))
}

impl Batch {
    fn data(&self) -> &'static str {
        match (self.shape.is_definite(), self.dominant) {
            (true, _) => "positive definite",
            (false, true) => "dominant",
            (false, false) => "random",
        }
    }

    /// The diagonals of all matrices: `sub`, `diag` and `sup`, or one array for a band.
    fn numbers<T: PeerScalar>(&self, random: &mut Random) -> Vec<Vec<T>> {
        let (diagonals, half) = (self.shape.diagonals(), self.shape.half_bandwidth());
        let mut draw = |count: usize, shift: f64| -> Vec<T> {
            (0..count).map(|_| T::from_f64(random.uniform(-1.0, 1.0) + shift)).collect()
        };
        let rows = self.n * if self.shape.is_shared() { 1 } else { self.count };
        let definite = self.shape.is_definite();
        let shift = if self.dominant || definite { 2.0 * half as f64 + 1.0 } else { 0.0 };
        if half == 1 && !definite {
            return [0.0, shift, 0.0].map(|shift| draw(rows, shift)).into();
        }
        let mut bands = draw(rows * diagonals, 0.0);
        for (k, v) in bands.iter_mut().enumerate() {
            // The number of the diagonal. The main one is number `half`, or 0 of the lower triangle.
            let by_systems = self.layout == Layout::Contiguous || self.shape.is_shared();
            let diagonal = if by_systems { k } else { k / self.count } % diagonals;
            if diagonal == if definite { 0 } else { half } {
                *v += T::from_f64(shift);
            }
        }
        vec![bands]
    }

    fn matrices<'a, T: PeerScalar>(&self, numbers: &'a [Vec<T>]) -> BatchMatrices<'a, T> {
        let (count, n, layout) = (self.count, self.n, self.layout);
        let fits = "arrays of the right length";
        match (self.shape, numbers) {
            (BatchShape::Shared, [sub, diag, sup]) => {
                BatchMatrices::Tridiagonal(TridiagonalBatch::shared(count, n, layout, sub, diag, sup).expect(fits))
            }
            (shape, [sub, diag, sup]) => {
                let a = TridiagonalBatch::new(count, n, layout, sub, diag, sup).expect(fits);
                BatchMatrices::Tridiagonal(if shape == BatchShape::Periodic { a.periodic() } else { a })
            }
            (shape, numbers) => {
                let widths = (shape.half_bandwidth(), shape.half_bandwidth());
                let shared = BandStrides { system: 0, column: shape.diagonals(), diagonal: 1 };
                let of_triangle = match layout {
                    Layout::Contiguous => BandStrides { system: n * shape.diagonals(), ..shared },
                    Layout::Interleaved => {
                        BandStrides { system: 1, column: shape.diagonals() * count, diagonal: count }
                    }
                };
                BatchMatrices::Banded(match layout {
                    _ if shape.is_definite() => {
                        let triangle = (shape.half_bandwidth(), true);
                        BandedBatch::hermitian(count, n, triangle, layout, of_triangle, &numbers[0]).expect(fits)
                    }
                    _ if shape.is_shared() => {
                        BandedBatch::with_strides(count, n, widths, layout, shared, &numbers[0]).expect(fits)
                    }
                    Layout::Contiguous => BandedBatch::contiguous(count, n, widths, &numbers[0]).expect(fits),
                    Layout::Interleaved => BandedBatch::interleaved(count, n, widths, &numbers[0]).expect(fits),
                })
            }
        }
    }

    /// Measure every solver.
    fn measure<T: PeerScalar + Word>(&self, threads: &[usize], budget: Budget, peers: &[Peer]) -> Vec<BenchRow> {
        let mut random = Random::new(self.n as u64);
        let numbers = self.numbers::<T>(&mut random);
        let rhs: Vec<T> = (0..self.count * self.n).map(|_| T::from_f64(random.uniform(-1.0, 1.0))).collect();
        let a = self.matrices(&numbers);
        let mut work = BatchMemory { x: rhs.clone(), copies: Vec::new(), pivots: vec![0; self.n], report: None };
        let mut contestants: Vec<_> = threads
            .iter()
            .map(|&threads| Contestant {
                name: "bandsolve".into(),
                threads,
                solve: ours(&a, &rhs, self.plan(&a, threads)),
            })
            .collect();
        for peer in peers {
            contestants.extend(self.theirs(peer, &numbers, &rhs));
        }
        if let ([sub, diag, sup], false) = (&numbers[..], self.shape.is_shared()) {
            let arrays = [&sub[..], diag, sup, &rhs];
            let both = threads.iter().flat_map(|threads| Store::ALL.iter().map(|store| (*store, *threads)));
            contestants.extend(both.map(|how| Contestant {
                name: yardstick::NAME.into(),
                threads: how.1,
                solve: Box::new(move |work: &mut BatchMemory<T>| {
                    let time = yardstick::move_words(Passes::One, arrays, &mut work.x, how);
                    work.report = None;
                    Ok(time)
                }),
            }));
        }
        let check =
            |work: &BatchMemory<T>| (Some(a.backward_error(&rhs, &work.x)), work.report.as_ref().map(RepairCounts::of));
        let mut rows = contest::run(&mut contestants, self.count * self.n, budget, &mut work, check);
        rows.iter_mut().filter(|row| row.is_yardstick()).for_each(|row| row.backward_error = None);
        keep_best_yardstick(&mut rows);
        compare(&mut rows);
        rows
    }

    fn plan<T: PeerScalar>(&self, a: &BatchMatrices<'_, T>, threads: usize) -> Plan {
        let method = if self.shape.is_definite() { Method::Cholesky } else { Method::Auto };
        Plan::new(a.shape()).method(method).threads(threads)
    }

    /// The routines of another library that solve such systems. LAPACK has none for interleaved and for periodic systems.
    fn theirs<'a, T: PeerScalar>(
        &self,
        peer: &'a Peer,
        numbers: &'a [Vec<T>],
        rhs: &'a [T],
    ) -> Vec<Contestant<'a, BatchMemory<T>>> {
        let (n, half) = (self.n, self.shape.half_bandwidth());
        let contestant =
            |routine: &str, solve| Contestant { name: format!("{} {routine}", peer.name), threads: 1, solve };
        if self.layout != Layout::Contiguous || self.shape == BatchShape::Periodic {
            return Vec::new();
        }
        if self.shape.is_definite() {
            let routine = if half == 1 { "ptsv" } else { "pbsv" };
            let solvers = peer.definite::<T>();
            return solvers
                .map(|by| contestant(routine, definite(&numbers[0], rhs, (n, half), by)))
                .into_iter()
                .collect();
        }
        if half > 1 {
            let routine = peer.gbsv::<T>();
            return routine.map(|by| contestant("gbsv", banded(&numbers[0], rhs, (n, half), by))).into_iter().collect();
        }
        let dominant = peer.dtsvb::<T>().filter(|_| self.dominant && !self.shape.is_shared());
        let routines = [("gtsv", peer.gtsv::<T>()), ("dtsvb", dominant)];
        let found = routines.into_iter().filter_map(|(name, routine)| Some((name, routine?)));
        found.map(|(name, by)| contestant(name, tridiagonal(numbers, rhs, n, by))).collect()
    }
}

/// Memory that all solvers share.
struct BatchMemory<T> {
    x: Vec<T>,
    /// Copies of the matrices, which the other libraries overwrite.
    copies: Vec<Vec<T>>,
    pivots: Vec<i64>,
    report: Option<Report>,
}

/// Factor and solve the batch with bandsolve.
fn ours<'a, T: PeerScalar>(a: &'a BatchMatrices<'a, T>, rhs: &'a [T], plan: Plan) -> TimedSolve<'a, BatchMemory<T>> {
    Box::new(move |work| {
        let started = Instant::now();
        let solved = a.solve(&plan, rhs, &mut work.x);
        let time = started.elapsed();
        work.report = Some(solved.map_err(|e| e.to_string())?);
        Ok(time)
    })
}

/// Restore the copies, then solve the systems one after the other with another library, or all right-hand sides of one matrix at once.
fn tridiagonal<'a, T: PeerScalar>(
    numbers: &'a [Vec<T>],
    rhs: &'a [T],
    n: usize,
    routine: PeerSolver<'a, T>,
) -> TimedSolve<'a, BatchMemory<T>> {
    Box::new(move |work| {
        work.copies.resize(3, Vec::new());
        work.copies.iter_mut().zip(numbers).for_each(|(copy, original)| copy.clone_from(original));
        work.x.copy_from_slice(rhs);
        let [sub, diag, sup] = &mut work.copies[..] else { unreachable!("three copies") };
        let columns = n * (rhs.len() / diag.len());
        let systems = sub.chunks_mut(n).zip(diag.chunks_mut(n)).zip(sup.chunks_mut(n).zip(work.x.chunks_mut(columns)));
        let started = Instant::now();
        for ((sub, diag), (sup, rhs)) in systems {
            let arrays = PeerArrays { sub: &mut sub[1..], diag, sup: &mut sup[..n - 1], rhs };
            routine.solve(arrays).map_err(failed)?;
        }
        let time = started.elapsed();
        work.report = None;
        Ok(time)
    })
}

/// Restore the copies, then solve the banded systems one after the other with another library, or all right-hand sides of one matrix at once.
fn banded<'a, T: PeerScalar>(
    bands: &'a [T],
    rhs: &'a [T],
    (n, half): (usize, usize),
    routine: BandSolver<'a, T>,
) -> TimedSolve<'a, BatchMemory<T>> {
    let (diagonals, leading) = (2 * half + 1, 3 * half + 1);
    Box::new(move |work| {
        work.copies.resize(1, Vec::new());
        let copy = &mut work.copies[0];
        copy.resize(bands.len() / diagonals * leading, T::ZERO);
        for (to, from) in copy.chunks_mut(leading).zip(bands.chunks(diagonals)) {
            to[half..].copy_from_slice(from);
        }
        work.x.copy_from_slice(rhs);
        let columns = n * (rhs.len() * diagonals / bands.len());
        let started = Instant::now();
        for (bands, rhs) in copy.chunks_mut(n * leading).zip(work.x.chunks_mut(columns)) {
            let arrays = BandArrays { n, widths: [half, half], bands, pivots: &mut work.pivots, rhs };
            routine.solve(arrays).map_err(failed)?;
        }
        let time: Duration = started.elapsed();
        work.report = None;
        Ok(time)
    })
}

/// Restore the copies, then solve the positive definite systems one after the other with another library.
fn definite<'a, T: PeerScalar>(
    triangles: &'a [T],
    rhs: &'a [T],
    (n, width): (usize, usize),
    routines: DefiniteSolvers<'a, T>,
) -> TimedSolve<'a, BatchMemory<T>> {
    Box::new(move |work| {
        work.copies.resize(2, Vec::new());
        let [ab, off] = &mut work.copies[..] else { unreachable!("two copies") };
        if width == 1 {
            // `ptsv` takes the diagonals as two arrays.
            (*ab, *off) = triangles.chunks_exact(2).map(|column| (column[0], column[1])).unzip();
        } else {
            ab.clear();
            ab.extend_from_slice(triangles);
        }
        work.x.copy_from_slice(rhs);
        let started = Instant::now();
        for (s, rhs) in work.x.chunks_mut(n).enumerate() {
            let solved = if width == 1 {
                routines.tridiagonal(&mut ab[s * n..][..n], &mut off[s * n..][..n - 1], rhs)
            } else {
                let of_system = (width + 1) * n;
                routines.banded(width, &mut ab[s * of_system..][..of_system], rhs)
            };
            solved.map_err(failed)?;
        }
        let time = started.elapsed();
        work.report = None;
        Ok(time)
    })
}

fn failed(info: i64) -> String {
    format!("the routine returned info = {info}")
}
