//! Sparse right-hand sides give the same result as dense ones, bit for bit. Pruning returns the largest entries of this
//! result.

use crate::test_device;
use bandsolve::{Complex32, Complex64, Error, Plan, RealScalar, Scalar, Shape};
use bandsolve_gallery::{Random, random_vec};
use bandsolve_gpu::{
    Device, DeviceCsc, DeviceCscMut, DeviceMatrix, DeviceScalar, DeviceSolver, DeviceVec, Emulation, Order,
};

const ORDERS: [Order; 3] = [Order::Forward, Order::Reverse, Order::Random];

/// A system with sparse right-hand sides on a device.
struct Given<T> {
    device: Device,
    n: usize,
    columns: usize,
    arrays: [DeviceVec<T>; 3],
    pointers: Vec<i32>,
    rows: Vec<i32>,
    values: Vec<T>,
}

impl<T: DeviceScalar> Given<T> {
    fn new(n: usize, columns: usize, order: Order) -> Self {
        let device = test_device(Emulation { order, ..Emulation::default() });
        let mut random = Random::new(n as u64);
        let arrays = [0.0, 4.0, 0.0].map(|shift| {
            let shift = T::from_real(T::Real::from_f64(shift));
            let entries: Vec<T> = random_vec::<T>(n, &mut random).into_iter().map(|v| v + shift).collect();
            device.upload(&entries).unwrap()
        });
        let (mut pointers, mut rows) = (vec![0], Vec::new());
        for j in 0..columns {
            // Columns without entries, with few, and with many.
            let step = [n + 1, n / 2 + 1, 3][j % 3];
            rows.extend((j % n.max(1)..n).step_by(step).map(|row| row as i32).filter(|_| step <= n));
            pointers.push(rows.len() as i32);
        }
        let values = random_vec(rows.len(), &mut random);
        Self { device, n, columns, arrays, pointers, rows, values }
    }

    fn dense(&self) -> Vec<T> {
        let mut dense = vec![T::ZERO; self.n * self.columns];
        for j in 0..self.columns {
            for e in self.pointers[j] as usize..self.pointers[j + 1] as usize {
                dense[j * self.n + self.rows[e] as usize] = self.values[e];
            }
        }
        dense
    }

    fn solver(&self, n_rhs: usize) -> DeviceSolver<T> {
        DeviceSolver::new(&self.device, &Plan::new(Shape::Tridiagonal { n: self.n, periodic: true }), n_rhs).unwrap()
    }

    fn matrix(&self) -> DeviceMatrix<'_, T> {
        DeviceMatrix::tridiagonal(&self.arrays[0], &self.arrays[1], &self.arrays[2])
    }
}

fn check<T: DeviceScalar>() {
    for (n, columns) in [(1, 1), (5, 3), (100, 7), (3000, 2), (5000, 9)] {
        for order in ORDERS {
            let given = Given::<T>::new(n, columns, order);
            let upload = |numbers: &[i32]| given.device.upload(numbers).unwrap();
            let (pointers, rows) = (upload(&given.pointers), upload(&given.rows));
            let values = given.device.upload(&given.values).unwrap();
            let csc = DeviceCsc::new(&pointers, &rows, &values).unwrap();
            let mut x = given.device.zeros(n * columns).unwrap();
            let report = given.solver(columns).solve_sparse(given.matrix(), csc, &mut x).unwrap();
            let mut expected = given.device.zeros(n * columns).unwrap();
            let dense = given.device.upload(&given.dense()).unwrap();
            let same = given.solver(columns).solve(given.matrix(), &dense, &mut expected).unwrap();
            assert_eq!(report.backward_errors, same.backward_errors);
            let x = x.download().unwrap();
            assert!(x == expected.download().unwrap(), "{} n = {n}, {order:?}", T::NAME);
            prune(&given, csc, &x);
        }
    }
}

/// The k largest entries, with memory for two columns at the same time.
fn prune<T: DeviceScalar>(given: &Given<T>, csc: DeviceCsc<'_, T>, x: &[T]) {
    let n = given.n;
    let wanted = |j: usize| [n.min(4), 0, n / 3 + 1, n][j % 4];
    let pointers: Vec<i32> =
        (0..=given.columns).map(|columns| (0..columns).map(wanted).sum::<usize>() as i32).collect();
    let total = pointers[given.columns] as usize;
    let (mut rows, mut values) = (given.device.zeros::<i32>(total).unwrap(), given.device.zeros::<T>(total).unwrap());
    let on_device = given.device.upload(&pointers).unwrap();
    let out = DeviceCscMut::new(&on_device, &mut rows, &mut values).unwrap();
    given.solver(2).solve_pruned(given.matrix(), csc, out).unwrap();
    let (rows, values) = (rows.download().unwrap(), values.download().unwrap());
    for j in 0..given.columns {
        let column = &x[j * n..(j + 1) * n];
        let mut order: Vec<usize> = (0..n).collect();
        let size = |i: usize| Scalar::abs(column[i]).to_f64();
        order.sort_by(|a, b| size(*b).total_cmp(&size(*a)).then(a.cmp(b)));
        let mut expected = order[..wanted(j)].to_vec();
        expected.sort_unstable();
        let range = pointers[j] as usize..pointers[j + 1] as usize;
        let selected: Vec<usize> = rows[range.clone()].iter().map(|row| *row as usize).collect();
        // Complex moduli are rounded, so the last two entries of nearly the same modulus may be interchanged.
        let differ = selected.iter().zip(&expected).filter(|(a, b)| a != b).count();
        assert!(differ == 0 || T::COMPLEX, "{}: {selected:?} for {expected:?}", T::NAME);
        let smallest = |rows: &[usize]| rows.iter().map(|i| size(*i)).fold(f64::INFINITY, f64::min);
        assert!(smallest(&selected) >= smallest(&expected) * (1.0 - 4.0 * T::Real::EPSILON.to_f64()));
        assert!(selected.iter().zip(&values[range]).all(|(row, value)| column[*row] == *value));
    }
}

#[test]
fn f32_as_written_out() {
    check::<f32>();
}

#[test]
fn f64_as_written_out() {
    check::<f64>();
}

#[test]
fn c32_as_written_out() {
    check::<Complex32>();
}

#[test]
fn c64_as_written_out() {
    check::<Complex64>();
}

#[test]
fn equal_entries_are_taken_from_the_top() {
    let device = test_device(Emulation::default());
    let n = 300;
    let (ones, zeros) = (device.upload(&vec![1.0_f32; n]).unwrap(), device.zeros::<f32>(n).unwrap());
    let pointers = device.upload(&[0, n as i32]).unwrap();
    let all: Vec<i32> = (0..n as i32).collect();
    let rows = device.upload(&all).unwrap();
    let csc = DeviceCsc::new(&pointers, &rows, &ones).unwrap();
    let wanted = device.upload(&[0, 7]).unwrap();
    let (mut rows, mut values) = (device.zeros::<i32>(7).unwrap(), device.zeros::<f32>(7).unwrap());
    let out = DeviceCscMut::new(&wanted, &mut rows, &mut values).unwrap();
    let mut solver = DeviceSolver::new(&device, &Plan::new(Shape::Tridiagonal { n, periodic: false }), 1).unwrap();
    solver.solve_pruned(DeviceMatrix::tridiagonal(&zeros, &ones, &zeros), csc, out).unwrap();
    assert_eq!(rows.download().unwrap(), [0, 1, 2, 3, 4, 5, 6]);
    assert_eq!(values.download().unwrap(), [1.0; 7]);
}

#[test]
fn what_is_no_sparse_matrix_is_an_error() {
    let given = Given::<f64>::new(50, 2, Order::Forward);
    let structure = |pointers: &[i32], rows: &[i32]| {
        let (pointers, rows) = (given.device.upload(pointers).unwrap(), given.device.upload(rows).unwrap());
        let values = given.device.zeros::<f64>(rows.len()).unwrap();
        let mut x = given.device.zeros(100).unwrap();
        let csc = DeviceCsc::new(&pointers, &rows, &values).unwrap();
        given.solver(2).solve_sparse(given.matrix(), csc, &mut x).unwrap_err()
    };
    let rows = |index| Error::Structure { array: "row_indices", index };
    let pointers = |index| Error::Structure { array: "column_pointers", index };
    assert_eq!(structure(&[0, 2, 4], &[1, 0, 3, 4]), rows(1));
    assert_eq!(structure(&[0, 2, 4], &[0, 1, 3, 50]), rows(3));
    assert_eq!(structure(&[0, 2, 4], &[0, 1, -1, 3]), rows(2));
    assert_eq!(structure(&[0, 3, 2], &[0, 1]), pointers(1));
    assert_eq!(structure(&[0, 1, 1], &[0, 1]), pointers(2));
}
