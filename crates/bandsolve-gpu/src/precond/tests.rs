//! Forests and systems that the device finds, compared with those that the CPU finds.

use super::systems::{ForestOnDevice, ForestSystems};
use super::{DevicePreconditioner, PartsOnDevice};
use crate::csr::DeviceCsr;
use crate::device::DeviceScalar;
use crate::emulated::watched::Watched;
use crate::emulated::{Emulation, Emulator};
use crate::operator::DeviceOperator;
use bandsolve::{Complex32, Complex64, RealScalar, Scalar};
use bandsolve_gallery::{Random, random_vec};
use bandsolve_sparse::{
    Csr, ForestSystem, Preconditioner, PreconditionerKind, PreconditionerOptions, PreconditionerParts, nine_point,
};

fn machine() -> std::sync::Arc<Watched> {
    Watched::new(Emulator::new(Emulation::default()))
}

/// The matrix of a stencil, with values that differ from row to row, in scaled rows.
fn matrix<T: Scalar>(size: (usize, usize), random: &mut Random) -> Csr<'static, T, u32> {
    let a = nine_point([[-0.1, -0.4, -0.2], [-1.0, 3.7, -1.1], [-0.2, -0.3, -0.1]], size);
    let real = |x: f64| T::from_real(T::Real::from_f64(x));
    let mut entries = Vec::new();
    for i in 0..a.rows() {
        let scale = T::Real::from_f64(random.uniform(0.1, 10.0));
        for (j, value) in a.row(i) {
            let change = random_vec::<T>(1, random)[0].scale(T::Real::from_f64(0.05));
            entries.push((i, j, (real(value) + change).scale(scale)));
        }
    }
    Csr::from_triplets(a.rows(), a.columns(), &entries).unwrap()
}

/// A symmetric pattern with a row of many entries, in which the device and the CPU add in other orders.
fn arrow(n: usize, random: &mut Random) -> Csr<'static, f64, u32> {
    let mut entry = |i: usize, j: usize| (i, j, if i == j { 3.0 } else { random.uniform(-1.0, -0.1) });
    let beside = (1..n).flat_map(|i| [(i, i - 1), (i - 1, i)]).chain((0..n).map(|i| (i, i)));
    let positions: Vec<_> = beside.chain((2..n).flat_map(|i| [(0, i), (i, 0)])).collect();
    Csr::from_triplets(n, n, &positions.into_iter().map(|(i, j)| entry(i, j)).collect::<Vec<_>>()).unwrap()
}

/// The parts of the CPU on a device.
fn uploaded<T: DeviceScalar>(on_device: &DeviceCsr<T>, parts: PreconditionerParts<T>) -> PartsOnDevice<T> {
    let device = on_device.device();
    let systems = |systems: &[ForestSystem<T>]| ForestSystems::upload(device, systems).unwrap();
    match parts {
        PreconditionerParts::Diagonal(inverse) => {
            PartsOnDevice::Diagonal(Some(device.upload(inverse.diagonal()).unwrap()))
        }
        PreconditionerParts::Forest(system) => PartsOnDevice::Inner(systems(&[system])),
        PreconditionerParts::AlternatingInner(of_forests) => PartsOnDevice::Inner(systems(&of_forests)),
        PreconditionerParts::AlternatingOuter(of_forests) => PartsOnDevice::Outer(systems(&of_forests)),
        PreconditionerParts::Product { inverse, systems } => {
            let factors = systems.iter().map(|system| ForestOnDevice::of_forest(device, system).unwrap());
            let systems = ForestSystems::of_product(device, factors.collect()).unwrap();
            PartsOnDevice::Product(device.upload(&inverse).unwrap(), systems)
        }
        other => panic!("{other:?}"),
    }
}

const KINDS: [&str; 13] = [
    "jacobi",
    "diagp1",
    "diagp2",
    "l1",
    "tridiagonal",
    "forest",
    "alt-i:1",
    "alt-i:4",
    "alt-i",
    "alt-o:2",
    "mos-d:1",
    "mos-d:3",
    "mos-d",
];

/// The forests, the entries of their systems and z = M⁻¹·r are those of the CPU, bit for bit. Parts of complex numbers have rounding errors of
/// moduli and quotients, while their forests are the same.
fn like_the_cpu<T: DeviceScalar>(a: &Csr<'_, T, u32>, options: &PreconditionerOptions, names: &[&str]) {
    let device = machine().device();
    let (on_device, x) = (DeviceCsr::new(&device, a).unwrap(), random_vec::<T>(a.rows(), &mut Random::new(5)));
    let given = device.upload(&x).unwrap();
    for name in names {
        let kind: PreconditionerKind = name.parse().unwrap();
        let m = DevicePreconditioner::new(&on_device, kind, options).unwrap();
        assert_eq!(m.kind(), Preconditioner::new(a, kind, options).unwrap().kind(), "{name}");
        let parts = uploaded(&on_device, PreconditionerParts::new(a, kind, options).unwrap());
        let (changes, parts) = (m.changes(), std::sync::Mutex::new(parts));
        let expected = DevicePreconditioner { a: on_device.clone(), kind, choice: None, changes, parts };
        let [z, y] = [&m, &expected].map(|m| {
            let mut z = device.zeros::<T>(x.len()).unwrap();
            m.apply_step(1, given.slice(..), z.slice_mut(..)).unwrap();
            z.download().unwrap()
        });
        let size = |x: &[T]| x.iter().map(|x| Scalar::abs(*x).to_f64()).fold(0.0, f64::max);
        let error = size(&z.iter().zip(&y).map(|(z, y)| *z - *y).collect::<Vec<_>>());
        let limit = if T::COMPLEX { 100.0 * T::Real::EPSILON.to_f64() * size(&y) } else { 0.0 };
        assert!(error <= limit, "{} {name} {}: {error:e} > {limit:e}", T::NAME, a.rows());
    }
}

fn of_stencils<T: DeviceScalar>() {
    let mut random = Random::new(8);
    for size in [(1, 1), (2, 1), (9, 7), (45, 30)] {
        let a = matrix::<T>(size, &mut random);
        let grid = format!("adi:{}x{}", size.0, size.1);
        let mut options = PreconditionerOptions::default();
        for (omega, seed) in [(0.01, 0), (0.5, 3)] {
            (options.omega, options.factors.seed) = (omega, seed);
            like_the_cpu(&a, &options, &[&KINDS[..], &[&grid]].concat());
        }
    }
}

#[test]
fn systems_in_f32() {
    of_stencils::<f32>();
}

#[test]
fn systems_in_f64() {
    of_stencils::<f64>();
}

#[test]
fn systems_in_c32() {
    of_stencils::<Complex32>();
}

#[test]
fn systems_in_c64() {
    of_stencils::<Complex64>();
}

/// Long rows, rows without a diagonal entry, and columns that do not ascend, for which the host makes the graph.
#[test]
fn systems_of_other_patterns() {
    let (mut random, options) = (Random::new(9), PreconditionerOptions::default());
    like_the_cpu(&arrow(1500, &mut random), &options, &KINDS);
    let ring: Vec<_> = (0..40).flat_map(|i| [(i, (i + 1) % 40, 1.0 + i as f64), ((i + 1) % 40, i, 2.0)]).collect();
    like_the_cpu(&Csr::<f64, u32>::from_triplets(40, 40, &ring).unwrap(), &options, &["diagp1", "l1", "forest"]);
    let a = matrix::<f64>((12, 9), &mut random);
    let (pointers, columns, values) = a.parts();
    let (mut columns, mut values) = (columns.to_vec(), values.to_vec());
    columns.swap(0, 1);
    values.swap(0, 1);
    like_the_cpu(&Csr::new(a.columns(), pointers, columns, values).unwrap(), &options, &KINDS);
}

/// The host reads some words for its decisions, but no vector.
#[test]
fn the_matrix_stays_on_the_device() {
    let (machine, a) = (machine(), matrix::<f64>((45, 30), &mut Random::new(2)));
    let on_device = DeviceCsr::new(&machine.device(), &a).unwrap();
    for name in KINDS {
        let kind = name.parse().unwrap();
        let most = machine.most_read_by(|| {
            DevicePreconditioner::new(&on_device, kind, &PreconditionerOptions::default()).unwrap();
        });
        assert!(most <= 128, "{name}: {most} bytes");
    }
}
