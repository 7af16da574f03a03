//! Passes over a basis: the bits of many combinations, with far fewer launches.

use super::ORDERS;
use super::watched::Watched;
use crate::csr::DeviceCsr;
use crate::device::DeviceScalar;
use crate::emulated::{Emulation, Emulator, Order};
use crate::krylov::solve_krylov;
use crate::vectors::DeviceVectors;
use bandsolve::{Complex32, Complex64};
use bandsolve_gallery::{Random, random_vec};
use bandsolve_kernel::view::View;
use bandsolve_sparse::{KrylovMethod, KrylovSolver, nine_point};
use std::sync::Arc;

const N: usize = 2500;
/// Numbers of vectors around those that a thread block multiplies with, and adds, at the same time.
const COUNTS: [usize; 7] = [0, 1, 7, 16, 17, 64, 65];

fn machine(order: Order) -> Arc<Watched> {
    Watched::new(Emulator::new(Emulation { order, resident: 3, ..Emulation::default() }))
}

/// Two bases of `count` vectors, and one vector behind them.
fn vectors<T: DeviceScalar>(machine: &Arc<Watched>, count: usize) -> DeviceVectors<T> {
    let (mut random, mut vectors) =
        (Random::new(count as u64), DeviceVectors::new(&machine.device(), N, 2 * count + 1).unwrap());
    (0..=2 * count).for_each(|k| vectors.vector_mut(k).write(&random_vec::<T>(N, &mut random)).unwrap());
    vectors
}

fn numbers(count: usize) -> Vec<Complex64> {
    random_vec(count, &mut Random::new(7))
}

/// h = Uᴴ·w, and y ← y − V·c, by combinations.
fn project<T: DeviceScalar>(vectors: &mut DeviceVectors<T>, dual: usize, w: usize, h: &mut [Complex64]) {
    h.iter_mut().enumerate().for_each(|(k, h)| {
        vectors.combine(0, &[], &[(dual + k, w)], core::slice::from_mut(h)).unwrap();
    });
}

fn subtract<T: DeviceScalar>(vectors: &mut DeviceVectors<T>, y: usize, basis: usize, c: &[Complex64]) {
    for (k, c) in c.iter().enumerate() {
        vectors.combine(y, &[(Complex64::ONE, y), (-c, basis + k)], &[], &mut []).unwrap();
    }
}

fn like_combinations<T: DeviceScalar>() {
    for (k, count) in COUNTS.into_iter().enumerate() {
        let machine = machine(ORDERS[k % 3]);
        for dual in [0, count] {
            let (mut one, mut many) = (vectors::<T>(&machine, count), vectors::<T>(&machine, count));
            let [mut h, mut again] = [vec![Complex64::ONE; count], vec![Complex64::ONE; count]];
            let (mut squared, w) = (0.0, 2 * count);
            let launches =
                machine.launches_of(|| squared = one.orthogonalize([0, dual], w, &mut h, &mut again).unwrap());
            assert_eq!(launches, if count > 0 { 3 } else { 1 });
            let mut expected = vec![Complex64::ZERO; count];
            for h in [h, again] {
                project(&mut many, dual, w, &mut expected);
                assert_eq!(h, expected, "{} {count}", T::NAME);
                subtract(&mut many, w, 0, &expected);
            }
            let mut square = [Complex64::ZERO];
            many.combine(0, &[], &[(w, w)], &mut square).unwrap();
            assert_eq!(squared, square[0].re, "{} {count}", T::NAME);
            assert!(one.vector(w).download().unwrap() == many.vector(w).download().unwrap());
        }
        let (mut one, mut many) = (vectors::<T>(&machine, count), vectors::<T>(&machine, count));
        let c = numbers(count);
        let launches = machine.launches_of(|| one.subtract_combination(2 * count, 0, &c).unwrap());
        assert_eq!(launches, usize::from(count > 0));
        subtract(&mut many, 2 * count, 0, &c);
        assert!(one.vector(2 * count).download().unwrap() == many.vector(2 * count).download().unwrap());
        // V·Q by `rotate`, and column by column into the vectors after the basis
        for columns in [1, count.div_ceil(2), count] {
            if columns > count {
                continue;
            }
            let (mut one, mut many) = (vectors::<T>(&machine, count), vectors::<T>(&machine, count));
            let q = numbers(count * columns);
            let launches = machine.launches_of(|| one.rotate(0, View::new(&q, count, columns)).unwrap());
            assert_eq!(launches, usize::from(columns > 0));
            for (j, column) in q.chunks(count.max(1)).enumerate() {
                many.vector_mut(count + j).clear().unwrap();
                let minus: Vec<_> = column.iter().map(|q| -q).collect();
                subtract(&mut many, count + j, 0, &minus);
            }
            for j in 0..count {
                let from = if j < columns { count + j } else { j };
                assert!(
                    one.vector(j).download().unwrap() == many.vector(from).download().unwrap(),
                    "{count} {columns} {j}"
                );
            }
        }
    }
}

#[test]
fn like_combinations_in_f32() {
    like_combinations::<f32>();
}

#[test]
fn like_combinations_in_f64() {
    like_combinations::<f64>();
}

#[test]
fn like_combinations_in_c32() {
    like_combinations::<Complex32>();
}

#[test]
fn like_combinations_in_c64() {
    like_combinations::<Complex64>();
}

/// A step of GMRES has the same number of launches for any number of basis vectors.
#[test]
fn launches_of_a_step() {
    let machine = machine(Order::Forward);
    let device = machine.device();
    let a = nine_point([[0.0, -1.0, 0.0], [-1.0, 4.0, -1.0], [0.0, -1.0, 0.0]], (30, 20));
    let on_device = DeviceCsr::new(&device, &a).unwrap();
    let rhs = device.upload(&random_vec::<f64>(600, &mut Random::new(1))).unwrap();
    let launches = |steps: usize| {
        let solver = KrylovSolver::new(KrylovMethod::Gmres { restart: 30 }).rtol(1e-15).max_iterations(steps);
        let mut x = device.zeros(600).unwrap();
        machine.launches_of(|| {
            let report = solve_krylov(&solver, &on_device, None, &rhs, &mut x).unwrap();
            assert_eq!(report.iterations, steps);
        })
    };
    // The copy v → z without a preconditioner, A·z, three passes over the basis, and the normalisation.
    assert_eq!([1, 9, 24].map(|steps| launches(steps + 1) - launches(steps)), [6; 3]);
}
