//! Weights of graphs, where they are computed, and errors before anything is launched.

use super::ORDERS;
use super::watched::Watched;
use crate::csr::DeviceCsr;
use crate::device::DeviceScalar;
use crate::emulated::{Emulation, Emulator, Order};
use crate::forest::DeviceForest;
use crate::graph::DeviceGraph;
use crate::graph_factor::DeviceGraphFactor;
use bandsolve::{Complex32, Complex64, RealScalar, Scalar};
use bandsolve_gallery::{Random, random_vec};
use bandsolve_sparse::{Csr, Graph, GraphFactorOptions};

fn machine(order: Order) -> std::sync::Arc<Watched> {
    Watched::new(Emulator::new(Emulation { order, ..Emulation::default() }))
}

/// A symmetric pattern with a diagonal, as the rows of a triangle and its mirror image, and some long rows.
fn matrix<T: Scalar>(n: usize, random: &mut Random) -> Csr<'static, T, u32> {
    let is_entry = |i: usize, j: usize| i == j || i == 3 || (i * j) % 11 == 1;
    let positions = (0..n * n).map(|k| (k / n, k % n)).filter(|(i, j)| is_entry(*i, *j) || is_entry(*j, *i));
    let triplets: Vec<_> = positions.map(|(i, j)| (i, j, random_vec::<T>(1, random)[0])).collect();
    Csr::from_triplets(n, n, &triplets).unwrap()
}

/// The device computes the weights if the pattern is symmetric and rows ascend. Otherwise, the host does, and leaves out the diagonal.
fn weights_are_those_of_the_host<T: DeviceScalar>() {
    for (order, n) in ORDERS.into_iter().zip([60, 120, 1]) {
        let device = machine(order).device();
        let a = matrix::<T>(n, &mut Random::new(7));
        let (pointers, columns, values) = a.parts();
        let graph = DeviceGraph::of(&DeviceCsr::new(&device, &a).unwrap()).unwrap();
        assert_eq!(graph.weights().entries(), a.entries());
        let weights = graph.weights().download().unwrap();
        let expected = Graph::of(&a).unwrap();
        for i in 0..n {
            for (j, weight) in weights.row(i) {
                let expected = expected.weight(i, j);
                // Each modulus in double complex is rounded to one of two neighbors.
                let error = if T::COMPLEX { 2.0 * T::Real::EPSILON.to_f64() } else { 0.0 };
                assert!((weight - expected).abs() <= error * expected, "{} {weight} {expected}", T::NAME);
                assert!(i != j || weight == 0.0);
            }
        }
        if n == 1 {
            continue;
        }
        // The same matrix with the first two entries of a row exchanged, and without its last entry beside the diagonal.
        let (mut exchanged, first) = (columns.to_vec(), pointers[1] as usize);
        exchanged.swap(first, first + 1);
        let lonely: Vec<_> = (0..n).flat_map(|i| a.row(i).map(move |(j, v)| (i, j, v))).collect();
        let last = lonely.iter().rposition(|(i, j, _)| i != j).unwrap();
        let lonely: Vec<_> = [&lonely[..last], &lonely[last + 1..]].concat();
        for other in [Csr::new(n, pointers, exchanged, values).unwrap(), Csr::from_triplets(n, n, &lonely).unwrap()] {
            let graph = DeviceGraph::of(&DeviceCsr::new(&device, &other).unwrap()).unwrap();
            let expected = Graph::of(&other).unwrap();
            assert_eq!(graph.weights().entries(), expected.matrix().entries());
            assert!(graph.weights().values().download().unwrap() == expected.matrix().parts().2);
        }
    }
}

#[test]
fn weights_of_real_matrices() {
    weights_are_those_of_the_host::<f32>();
    weights_are_those_of_the_host::<f64>();
}

#[test]
fn weights_of_complex_matrices() {
    weights_are_those_of_the_host::<Complex32>();
    weights_are_those_of_the_host::<Complex64>();
}

/// The weight of an edge with this entry in one direction, and 0 in the other.
fn modulus_on_device<T: DeviceScalar>(entry: T) -> f64 {
    let device = machine(Order::Forward).device();
    let a = Csr::<T, u32>::from_triplets(2, 2, &[(0, 1, entry), (1, 0, T::ZERO)]).unwrap();
    let graph = DeviceGraph::of(&DeviceCsr::new(&device, &a).unwrap()).unwrap();
    graph.weights().values().download().unwrap()[0]
}

/// Moduli that are exact, near the ends of the range too, and that do not depend on the order of the parts.
#[test]
fn moduli_of_complex_numbers() {
    let modulus = |re: f64, im: f64| modulus_on_device(Complex64 { re, im });
    for [x, y, z] in [[3.0, 4.0, 5.0], [-8.0, 15.0, 17.0], [0.0, 7.0, 7.0], [0.1, 0.0, 0.1], [65.0, 72.0, 97.0]] {
        for by in [1.0, 2.0_f64.powi(1000), 2.0_f64.powi(-1000), 5.0 * 2.0_f64.powi(-1060)] {
            assert_eq!(modulus(x * by, y * by), (z * by).abs());
            assert_eq!(modulus(y * by, x * by), (z * by).abs());
        }
    }
    let mut random = Random::new(2);
    for _ in 0..200 {
        let (x, y) = (random.uniform(-1.0, 1.0), random.uniform(-1.0, 1.0));
        assert_eq!(modulus(x, y), modulus(-y, x));
    }
    assert_eq!(modulus(f64::INFINITY, f64::NAN), f64::INFINITY);
    assert_eq!(modulus(f64::MAX, f64::MAX), f64::INFINITY);
    // NaN is no edge.
    assert_eq!(modulus(f64::NAN, 1.0), 0.0);
    let modulus = |re: f32, im: f32| modulus_on_device(Complex32 { re, im });
    assert_eq!([modulus(3e20, 4e20), modulus(-4e20, 3e20)], [f64::from(5e20_f32); 2]);
    assert_eq!(modulus(3e-40, 4e-40), f64::from(5e-40_f32));
    assert_eq!([modulus(f32::NAN, f32::INFINITY), modulus(f32::MAX, f32::MAX)], [f64::INFINITY; 2]);
    assert_eq!(modulus(1.0, f32::NAN), 0.0);
}

#[test]
fn wrong_options_launch_nothing() {
    let machine = machine(Order::Forward);
    let a = matrix::<f64>(20, &mut Random::new(1));
    let graph = DeviceGraph::new(&machine.device(), &Graph::of(&a).unwrap()).unwrap();
    for (degree, period) in [(0, 5), (3, 5), (5, 5), (2, 0)] {
        let mut options = GraphFactorOptions::default();
        (options.degree, options.period) = (degree, period);
        DeviceForest::of(&graph, &options).unwrap_err();
        assert_eq!(DeviceGraphFactor::of(&graph, &options).is_ok(), degree == 3);
    }
    assert!(["confirm_f64_2", "product_f64_propose2", "links_f64"].into_iter().all(|kernel| !machine.launched(kernel)));
}
