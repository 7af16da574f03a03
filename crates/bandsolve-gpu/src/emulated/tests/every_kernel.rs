//! Systems on an emulated device, at sizes that reach all kernels.

use super::watched::Watched;
use crate::csr::DeviceCsr;
use crate::cut::{KernelKind, PartitionRows, THREADS, UncutSystem, levels, whole, window};
use crate::dense_factors::{ChainSize, DenseFactors, DenseMethod};
use crate::device::{Device, DeviceScalar, DeviceVec};
use crate::emulated::Emulator;
use crate::forest::DeviceForest;
use crate::graph::DeviceGraph;
use crate::graph_factor::DeviceGraphFactor;
use crate::launch::{Arguments, DeviceColumns, Peaks, PivotOptions};
use crate::matrix::{DeviceMatrix, MatrixSource};
use crate::operator::DeviceOperator;
use crate::poisson::DevicePoisson;
use crate::precond::DevicePreconditioner;
use crate::program::{FAMILIES, INSTANCES};
use crate::single::{DeviceSingleInverse, DeviceSingleMatrix};
use crate::solver::DeviceSolver;
use crate::sparse::{DeviceCsc, DeviceCscMut};
use crate::tuning::Sizes;
use crate::vectors::DeviceVectors;
use bandsolve::{Complex64, Layout, Method, Op, Pivoting, Plan, RealScalar, Shape};
use bandsolve_gallery::{Random, random_vec};
use bandsolve_kernel::view::View;
use bandsolve_poisson::{Boundary, BoundaryKind, Grid, Poisson, PoissonScalar};
use bandsolve_sparse::{
    Csr, DoubleScalar, Graph, GraphFactorOptions, PreconditionerKind, PreconditionerOptions, nine_point,
};
use bytemuck::Pod;
use std::sync::Arc;

/// A device, random systems on it, and the bits of their results.
pub struct SystemsOnDevice {
    machine: Arc<Watched>,
    random: Random,
    results: Vec<u8>,
}

/// The diagonal entries of a matrix.
#[derive(Clone, Copy, PartialEq)]
enum Diagonal {
    Dominant,
    /// Small enough to make x inaccurate without row exchanges.
    Small,
}

const TRIDIAGONAL: Shape = Shape::Tridiagonal { n: 1500, periodic: false };
const PERIODIC: Shape = Shape::Tridiagonal { n: 1500, periodic: true };

fn blocks(block_rows: usize, block: usize) -> Shape {
    Shape::BlockTridiagonal { block_rows, block, periodic: false }
}

fn banded(rows: usize, half: usize) -> Shape {
    Shape::Banded { n: rows * half + 1, lower: half, upper: half }
}

fn batch(n: usize, layout: Layout) -> Shape {
    Shape::Batch { n, count: 70, layout, periodic: false }
}

/// A plan with several levels.
fn plan(shape: Shape) -> Plan {
    Plan::new(shape).partition_rows(7)
}

impl SystemsOnDevice {
    fn new(emulator: Emulator) -> Self {
        Self { machine: Watched::new(emulator), random: Random::new(1), results: Vec::new() }
    }

    fn keep<T: Pod>(&mut self, result: &DeviceVec<T>) {
        self.results.extend_from_slice(bytemuck::cast_slice(&result.download().unwrap()));
    }

    fn device(&self) -> Device {
        self.machine.device()
    }

    fn array<T: DeviceScalar>(&mut self, n: usize) -> DeviceVec<T> {
        self.device().upload(&random_vec::<T>(n, &mut self.random)).unwrap()
    }

    /// The arrays of a matrix, and the leading dimension of a band.
    fn matrix<T: DeviceScalar>(&mut self, shape: Shape, diagonal: Diagonal) -> ([DeviceVec<T>; 3], usize) {
        // The entries of a block or a column, the distance of those on the diagonal, and the first one.
        let (size, step, first, block) = match shape {
            Shape::Banded { lower, upper, .. } => (lower + upper + 1, lower + upper + 1, upper, 1),
            Shape::BlockTridiagonal { block, .. } => (block * block, block + 1, 0, block),
            _ => (1, 1, 0, 1),
        };
        let count = shape.rows() / block;
        let mut entries = random_vec::<T>(count * size, &mut self.random);
        let real = |x: f64| T::from_real(T::Real::from_f64(x));
        for entries in entries.chunks_exact_mut(size) {
            for entry in entries[first..].iter_mut().step_by(step) {
                match diagonal {
                    Diagonal::Dominant => *entry += real(4.0 * size as f64),
                    Diagonal::Small => *entry *= real(20.0 * T::Real::EPSILON.to_f64().sqrt()),
                }
            }
        }
        let diag = self.device().upload(&entries).unwrap();
        ([self.array(count * size), diag, self.array(count * size)], size)
    }

    /// Solve with `n_rhs` right-hand sides, of which `rhs_on_chip` are on chip at the same time.
    fn solve<T: DeviceScalar>(&mut self, plan: &Plan, diagonal: Diagonal, n_rhs: usize, rhs_on_chip: usize) {
        let ([sub, diag, sup], leading) = self.matrix::<T>(plan.shape(), diagonal);
        let a = match plan.shape() {
            Shape::Banded { .. } => DeviceMatrix::banded(&diag, leading),
            _ => DeviceMatrix::block_tridiagonal(&sub, &diag, &sup),
        };
        let (rhs, mut x) = (self.array(plan.shape().rows() * n_rhs), self.array(plan.shape().rows() * n_rhs));
        let sizes = Sizes { rhs_on_chip, ..Sizes::default() };
        let mut solver = DeviceSolver::<T>::with_sizes(&self.device(), plan, n_rhs, sizes).unwrap();
        solver.solve(a, &rhs, &mut x).unwrap();
        self.keep(&x);
    }

    /// Factor, and solve with the factors.
    fn factor<T: DeviceScalar>(&mut self, plan: &Plan) {
        let ([sub, diag, sup], _) = self.matrix::<T>(plan.shape(), Diagonal::Dominant);
        let (rhs, mut x) = (self.array(plan.shape().rows()), self.array(plan.shape().rows()));
        let solver = DeviceSolver::<T>::new(&self.device(), plan, 1).unwrap();
        solver.factor(DeviceMatrix::block_tridiagonal(&sub, &diag, &sup)).unwrap().solve(&rhs, &mut x).unwrap();
        self.keep(&x);
    }

    /// Solve for sparse right-hand sides, with all of x or with its largest entries.
    fn sparse<T: DeviceScalar>(&mut self, plan: &Plan, diagonal: Diagonal, n_rhs: usize, rhs_on_chip: usize) {
        let ([sub, diag, sup], _) = self.matrix::<T>(plan.shape(), diagonal);
        let a = DeviceMatrix::tridiagonal(&sub, &diag, &sup);
        let (device, n) = (self.device(), plan.shape().rows());
        let pointers: Vec<i32> = (0..=n_rhs as i32).map(|j| 3 * j).collect();
        let rows: Vec<i32> = (0..n_rhs).flat_map(|_| [0, n as i32 / 2, n as i32 - 1]).collect();
        let (pointers, rows) = (device.upload(&pointers).unwrap(), device.upload(&rows).unwrap());
        let (values, mut x) = (self.array::<T>(3 * n_rhs), self.array::<T>(n * n_rhs));
        let (mut largest, mut at) = (self.array::<T>(3 * n_rhs), device.zeros::<i32>(3 * n_rhs).unwrap());
        let sizes = Sizes { rhs_on_chip, ..Sizes::default() };
        let mut solver = DeviceSolver::<T>::with_sizes(&device, plan, n_rhs, sizes).unwrap();
        let rhs = DeviceCsc::new(&pointers, &rows, &values).unwrap();
        solver.solve_sparse(a, rhs, &mut x).unwrap();
        solver.solve_pruned(a, rhs, DeviceCscMut::new(&pointers, &mut at, &mut largest).unwrap()).unwrap();
        self.keep(&x);
        self.keep(&largest);
        self.keep(&at);
    }

    /// Measure the residual, and repair both ends.
    fn repair<T: DeviceScalar>(&mut self, shape: Shape, block: usize) {
        let ([sub, diag, sup], leading) = self.matrix::<T>(shape, Diagonal::Dominant);
        let a = match shape {
            Shape::Banded { .. } => DeviceMatrix::banded(&diag, leading),
            _ => DeviceMatrix::block_tridiagonal(&sub, &diag, &sup),
        };
        let (device, rows, source) = (self.device(), shape.rows(), a.source(shape).unwrap());
        let system = UncutSystem { n: rows.div_ceil(block), rows, periodic: false, columns: 1, systems: 1 };
        let kind = KernelKind { block, on_chip: 1, bytes: size_of::<T>() };
        let cut = levels(system, kind, &device.limits(), PartitionRows { asked: None, large: 31 }).unwrap()[0].0;
        let window = window(&cut, kind, &device.limits());
        let [rhs, x, rest] = [(); 3].map(|()| self.array::<T>(rows));
        let column = |array: &DeviceVec<T>| DeviceColumns { first: array.slice(..).address(), step: rows as u64 };
        let (sizes, list) = (self.array::<T>(Peaks::KINDS), device.zeros::<u32>(2 + 2 * rows).unwrap());
        let [bad, list] = [0, 2].map(|first| list.slice(first..).address());
        let peaks = Peaks::at(sizes.slice(..).address(), 1, T::REAL_BYTES);
        let peaks = Peaks { bad, rows: list, limit: 0.0, room: rows as u32, ..peaks };
        let windows = device.upload(&[0, 0, 0, cut.n - window.n]).unwrap();
        let rule = PivotOptions { exchange: 1, scale_rows: 1, noise: 0.0, suspects: 0 };
        let (head, ending) = source.with(Arguments::new(&cut));
        let (residual, repair) = (head, source.with(Arguments::new(&cut)).0);
        let residual = residual.with(column(&rhs)).with(column(&x)).with(column(&rest)).with(peaks);
        let repair = repair.with(column(&rhs)).with(column(&x)).with(windows.slice(..).address());
        let name = |kernel: &str| format!("{kernel}_{}_{block}{ending}", T::NAME);
        let blocks = rows.div_ceil(THREADS as usize);
        // SAFETY: these are the kernels' arguments, and the arrays have the length of x.
        unsafe {
            residual.launch(&device, &name("residual"), blocks, 0).unwrap();
            let repair = repair.with(window).with(peaks).with(rule);
            repair.launch(&device, &name("repair"), 2, kind.finish_bytes(&window)).unwrap();
        }
        self.keep(&x);
        self.keep(&rest);
    }

    /// Solve a ring with dense blocks, and measure its residual.
    fn dense_blocks<T: DeviceScalar>(&mut self) {
        let shape = Shape::BlockTridiagonal { block_rows: 6, block: 13, periodic: true };
        self.solve::<T>(&Plan::new(shape), Diagonal::Dominant, 2, 1);
        self.factor::<T>(&Plan::new(shape));
        let ([sub, diag, sup], _) = self.matrix::<T>(shape, Diagonal::Dominant);
        let a = DeviceMatrix::block_tridiagonal(&sub, &diag, &sup).op(Op::ConjTranspose);
        let (device, rows) = (self.device(), shape.rows());
        let MatrixSource::Blocks(blocks) = a.source(shape).unwrap() else { unreachable!("three arrays") };
        let size = ChainSize { n: 6, block: 13, periodic: true };
        let factors = DenseFactors::<T>::new(&device, size, 1, DenseMethod::Bcyclic).unwrap();
        let cut = whole(UncutSystem { n: 6, rows, periodic: true, columns: 1, systems: 1 }).unwrap();
        let [rhs, x, rest] = [(); 3].map(|()| self.array::<T>(rows));
        let column = |array: &DeviceVec<T>| DeviceColumns { first: array.slice(..).address(), step: rows as u64 };
        let sizes = self.array::<T>(Peaks::KINDS);
        let arguments = Arguments::new(&cut).with(factors.matrix(blocks)).with(column(&rhs)).with(column(&x));
        let arguments = arguments.with(column(&rest)).with(Peaks::at(sizes.slice(..).address(), 1, T::REAL_BYTES));
        // SAFETY: these are the kernel's arguments, and the arrays have the length of x.
        unsafe { arguments.launch(&device, &format!("blockresidual_{}", T::NAME), 1, 0).unwrap() };
        self.keep(&rest);
    }

    /// Solve systems of every kind.
    fn every_kind<T: DeviceScalar>(&mut self) {
        for pivoting in [Pivoting::ScaledPartial, Pivoting::Partial] {
            for rhs_on_chip in [1, 2, 4, 8] {
                self.solve::<T>(&plan(TRIDIAGONAL).pivoting(pivoting), Diagonal::Dominant, 3, rhs_on_chip);
            }
            for (layout, n) in [(Layout::Contiguous, 20), (Layout::Interleaved, 40)] {
                self.solve::<T>(&Plan::new(batch(n, layout)).pivoting(pivoting), Diagonal::Dominant, 1, 1);
            }
        }
        for rhs_on_chip in [1, 2, 4, 8] {
            self.sparse::<T>(&plan(TRIDIAGONAL), Diagonal::Dominant, 9, rhs_on_chip);
            self.sparse::<T>(
                &Plan::new(Shape::Tridiagonal { n: 50, periodic: false }),
                Diagonal::Dominant,
                9,
                rhs_on_chip,
            );
        }
        self.sparse::<T>(&plan(TRIDIAGONAL).pivoting(Pivoting::None), Diagonal::Small, 1, 1);
        for method in [Method::CfLu, Method::ParallelDiagonalPivoting] {
            self.solve::<T>(&Plan::new(TRIDIAGONAL).method(method), Diagonal::Small, 2, 1);
            // More than the 32 tiles of a group. A tile is 128 threads with 64 bytes each, but at most 8 numbers.
            let n = 33 * 128 * (64 / size_of::<T>()).min(8);
            let long = Shape::Tridiagonal { n, periodic: false };
            self.solve::<T>(&Plan::new(long).method(method).verify(false), Diagonal::Dominant, 1, 1);
        }
        for shape in [TRIDIAGONAL, PERIODIC] {
            self.solve::<T>(&Plan::new(shape).partition_rows(500).method(Method::SpikeCr), Diagonal::Dominant, 1, 1);
            // Partitions of three rows have one inner unknown.
            self.solve::<T>(&Plan::new(shape).partition_rows(3).method(Method::SpikeCr), Diagonal::Dominant, 1, 1);
        }
        self.solve::<T>(&plan(PERIODIC), Diagonal::Dominant, 1, 1);
        self.factor::<T>(&plan(PERIODIC));
        self.solve::<T>(&Plan::new(batch(300, Layout::Contiguous)).method(Method::Pcr), Diagonal::Dominant, 1, 1);
        for block in 1..=4 {
            self.factor::<T>(&plan(blocks(700, block)));
            for shape in [blocks(700, block), banded(300, block)] {
                self.solve::<T>(&plan(shape), Diagonal::Dominant, 1, 1);
                self.repair::<T>(shape, block);
            }
            self.solve::<T>(&plan(banded(20, block)), Diagonal::Dominant, 1, 1);
        }
        self.dense_blocks::<T>();
        self.sparse_products::<T>();
        self.preconditioner::<T>();
        self.paths::<T>();
        // Systems that are refined.
        self.solve::<T>(&plan(TRIDIAGONAL).pivoting(Pivoting::None), Diagonal::Small, 1, 1);
        let interleaved = Plan::new(batch(40, Layout::Interleaved)).pivoting(Pivoting::None);
        self.solve::<T>(&interleaved, Diagonal::Small, 1, 1);
    }

    /// A matrix with long rows over several tiles and short rows.
    fn sparse_matrix<T: DeviceScalar>(&mut self) -> DeviceCsr<T> {
        let lengths = [1500_usize, 0, 3, 40, 32, 1100, 7];
        let ends: Vec<u32> =
            lengths.iter().scan(0, |end, length| Some(*end + *length as u32).inspect(|to| *end = *to)).collect();
        let pointers: Vec<u32> = [0].into_iter().chain(ends).collect();
        let columns: Vec<u32> = lengths.iter().flat_map(|length| 0..*length as u32).collect();
        let values = random_vec::<T>(columns.len(), &mut self.random);
        DeviceCsr::new(&self.device(), &Csr::new(1500, &pointers[..], &columns[..], &values[..]).unwrap()).unwrap()
    }

    /// Products and residuals with a sparse matrix, and operations on vectors.
    fn sparse_products<T: DeviceScalar>(&mut self) {
        let a = self.sparse_matrix::<T>();
        let (x, rhs, mut y) = (self.array::<T>(a.columns()), self.array::<T>(a.rows()), self.array::<T>(a.rows()));
        a.multiply(&x, &mut y).unwrap();
        self.keep(&y);
        a.residual(&x, &rhs, &mut y).unwrap();
        self.keep(&y);
        let mut sums = self.device().zeros::<T::Real>(a.rows()).unwrap();
        a.sum_moduli(&x, &mut sums).unwrap();
        self.keep(&sums);
        let mut vectors = DeviceVectors::<T>::new(&self.device(), 3000, 3).unwrap();
        let one = Complex64::ONE;
        let mut dots = [one; 2];
        vectors.combine(2, &[(one, 2), (one, 0)], &[(2, 2), (0, 1)], &mut dots).unwrap();
        (0..3).for_each(|k| vectors.vector_mut(k).write(&random_vec(3000, &mut self.random)).unwrap());
        let [mut h, mut again] = [[one; 2]; 2];
        vectors.orthogonalize([0, 0], 2, &mut h, &mut again).unwrap();
        vectors.rotate(0, View::new(&[one, one], 2, 1)).unwrap();
        vectors.combine(2, &[(one, 2), (one, 0)], &[], &mut []).unwrap();
        self.results.extend_from_slice(bytemuck::cast_slice(&vectors.vector(2).download().unwrap()));
        self.results.extend_from_slice(bytemuck::cast_slice(&[h, again]));
        self.results.extend_from_slice(bytemuck::cast_slice(&dots));
    }

    /// Solves with the tridiagonal systems of two forests, with a residual between them and as a product.
    fn preconditioner<T: DeviceScalar>(&mut self) {
        let a = nine_point([[0.0, -1.0, 0.0], [-1.0, 4.0, -1.0], [0.0, -1.0, 0.0]], (50, 30));
        let (starts, columns, values) = a.parts();
        let values: Vec<T> = values.iter().map(|v| T::from_real(T::Real::from_f64(*v))).collect();
        let a = Csr::new(a.columns(), starts, columns, &values[..]).unwrap();
        let on_device = DeviceCsr::new(&self.device(), &a).unwrap();
        for kind in [PreconditionerKind::AltInner(2), PreconditionerKind::ProductDiagonal(2)] {
            let m = DevicePreconditioner::new(&on_device, kind, &PreconditionerOptions::default()).unwrap();
            let (x, mut y) = (self.array::<T>(a.rows()), self.array::<T>(a.rows()));
            m.apply(x.slice(..), y.slice_mut(..)).unwrap();
            self.keep(&y);
        }
    }

    /// The paths of a symmetric matrix with a ring of many vertices and with a row over several tiles.
    fn paths<T: DeviceScalar>(&mut self) {
        let n = 1200;
        let entries: Vec<_> = ring_with_hub(n)
            .into_iter()
            .map(|(i, j, weight)| (i, j, T::from_real(T::Real::from_f64(weight))))
            .collect();
        let a = DeviceCsr::new(&self.device(), &Csr::<T, u32>::from_triplets(n, n, &entries).unwrap()).unwrap();
        let graph = DeviceGraph::of(&a).unwrap();
        let mut options = GraphFactorOptions::default();
        options.rounds = 50;
        let forest = DeviceForest::of(&graph, &options).unwrap();
        // The ring is a cycle.
        assert_eq!(forest.cycles(), 1);
        let [mut sub, mut diag, mut sup] = [(); 3].map(|()| self.array::<T>(n));
        forest.tridiagonal(&a, &mut sub, &mut diag, &mut sup).unwrap();
        [&sub, &diag, &sup].into_iter().for_each(|band| self.keep(band));
        // A factor with few edges, so that the order of the vertices has a larger coverage.
        (options.rounds, options.uncharged) = (1, 1);
        let factor = DeviceGraphFactor::of(&graph, &options).unwrap();
        let forest = DeviceForest::heaviest(&graph, &factor).unwrap();
        assert_eq!(forest.order().download().unwrap(), (0..n as u32).collect::<Vec<_>>());
        self.results.extend_from_slice(&forest.coverage(&graph).unwrap().to_ne_bytes());
    }

    /// Factors of a graph with rows over several tiles, in double precision, which all weights have.
    fn factors(&mut self) {
        let graph = Graph::of(&Csr::<f64, u32>::from_triplets(1200, 1200, &ring_with_hub(1200)).unwrap()).unwrap();
        let graph = DeviceGraph::new(&self.device(), &graph).unwrap();
        for degree in [1, 3, 4] {
            let mut options = GraphFactorOptions::default();
            options.degree = degree;
            DeviceGraphFactor::of(&graph, &options).unwrap();
        }
    }

    /// Poisson problems with all kinds of transforms, with tridiagonal systems, with products, and with a second attempt for large numbers.
    fn poisson<T: DeviceScalar + PoissonScalar>(&mut self) {
        // The number of points of complex transforms: 24 and 7, 21 and 10, 30 and 22.
        let periodic = BoundaryKind::Periodic;
        let transformed = Poisson::new(&[23, 7]).axis_boundary(1, periodic, periodic);
        let cells = Poisson::new(&[21, 10]).grid(Grid::Cell).boundary(Boundary::neumann(0.0)).removable(f64::INFINITY);
        let systems = Poisson::new(&[29, 22]).grid(Grid::Cell).axis_boundary(
            0,
            Boundary::neumann(1.0),
            Boundary::robin(1.0, 1.0, 1.0),
        );
        let points = [0.0, 1.0, 3.0, 4.0, 6.0, 7.0, 9.0, 10.0, 12.0, 13.0, 15.0];
        let matrices = Poisson::new(&[10, 11]).grid(Grid::Cell).coordinates(0, &points).shift(-0.1);
        let large = transformed.clone().spacing(1e-2);
        let problems = [(transformed, 1.0), (cells, 1.0), (systems, 1.0), (matrices, 1.0), (large, 0.9)];
        for (problem, factor) in problems {
            let mut solver = DevicePoisson::<T>::new(&self.device(), &problem).unwrap();
            let largest = if factor < 1.0 { T::MAX.to_f64() * factor } else { 1.0 };
            let f: Vec<T> = (0..solver.len()).map(|k| T::from_f64(largest / (1 + k % 3) as f64)).collect();
            let (f, mut u) = (self.device().upload(&f).unwrap(), self.array(solver.len()));
            solver.solve(&f, &mut u).unwrap();
            self.keep(&u);
        }
    }

    /// Run the kernels that only real numbers have.
    pub fn of_real_numbers<T: DeviceScalar + PoissonScalar>(&mut self) {
        self.largest_entries::<T>();
        self.poisson::<T>();
    }

    /// Run the kernels that only double precision has, besides those of real numbers.
    pub fn of_double_precision(&mut self) {
        self.of_real_numbers::<f64>();
        self.factors();
        self.rounded_vectors::<f64>();
    }

    /// An operator in single precision on vectors in double precision.
    pub fn rounded_vectors<T: DeviceScalar + DoubleScalar<Single: DeviceScalar>>(&mut self) {
        let entries: Vec<_> = (0..1500).map(|i| (i, i, T::from_real(T::Real::from_f64(1.0 + i as f64)))).collect();
        let a = Csr::<T, u32>::from_triplets(1500, 1500, &entries).unwrap();
        let single = DeviceSingleMatrix::new(&self.device(), &a).unwrap();
        let inverse = DeviceSingleInverse::new(&single, Some(Box::new(single.matrix().clone()))).unwrap();
        let (x, mut y) = (self.array::<T>(1500), self.array::<T>(1500));
        inverse.apply(x.slice(..), y.slice_mut(..)).unwrap();
        self.keep(&y);
    }

    /// The largest entries of the rows of a sparse matrix.
    fn largest_entries<T: DeviceScalar + RealScalar>(&mut self) {
        let a = self.sparse_matrix::<T>();
        let (mut largest, mut places) = (self.array::<T>(a.rows()), self.device().zeros::<u32>(2 * a.rows()).unwrap());
        a.row_max(&mut largest).unwrap();
        self.keep(&largest);
        a.row_max_with_column(&mut largest).unwrap();
        self.keep(&largest);
        a.row_arg_max(places.slice_mut(..a.rows())).unwrap();
        self.keep(&places);
        a.row_arg_max2(&mut places).unwrap();
        self.keep(&places);
    }

    /// Solve systems in one launch.
    fn one_launch<T: DeviceScalar>(&mut self) {
        for pivoting in [Pivoting::ScaledPartial, Pivoting::Partial] {
            for shape in [TRIDIAGONAL, PERIODIC, blocks(300, 2)] {
                self.solve::<T>(&plan(shape).pivoting(pivoting), Diagonal::Dominant, 1, 1);
            }
        }
    }
}

/// The edges of a ring, and weaker ones between a vertex and all others.
fn ring_with_hub(n: usize) -> Vec<(usize, usize, f64)> {
    let ring = (0..n).map(|v| (v, (v + 1) % n, 1.0));
    let hub = (2..n - 1).map(|v| (0, v, 0.5));
    ring.chain(hub).flat_map(|(i, j, weight)| [(i, j, weight), (j, i, weight)]).collect()
}

/// All kernels of a number type.
fn kernels(number: &str) -> Vec<String> {
    let lines = INSTANCES.lines().filter_map(|line| line.split_once(',')?.0.split_once('('));
    let of_type = lines.filter(|(_, suffix)| suffix.starts_with(number));
    of_type
        .flat_map(|(family, suffix)| {
            let (_, templates) = FAMILIES.iter().find(|(kind, _)| *kind == family).unwrap();
            templates.iter().map(move |template| format!("{template}_{suffix}"))
        })
        .collect()
}

/// Run every kernel of a number type on devices with 1 and 64 multiprocessors, and return the bits of all results. `other` runs the
/// kernels that not every number type has.
pub fn run_every_kernel<T: DeviceScalar>(
    emulator: impl Fn(usize) -> Emulator,
    other: impl Fn(&mut SystemsOnDevice),
) -> Vec<u8> {
    let (mut one, mut many) = (SystemsOnDevice::new(emulator(1)), SystemsOnDevice::new(emulator(64)));
    one.every_kind::<T>();
    other(&mut one);
    many.one_launch::<T>();
    let ran = |kernel: &String| [&one, &many].iter().any(|systems| systems.machine.launched(kernel));
    let not_run: Vec<_> = kernels(T::NAME).into_iter().filter(|kernel| !ran(kernel)).collect();
    // Rows of interleaved batches are not repaired.
    assert_eq!(not_run, [format!("repair_{}_1_interleaved", T::NAME)]);
    [one.results, many.results].concat()
}
