//! Systems in parts, on several devices or one part after the other, give the same bits as a single device.

use crate::test_device;
use bandsolve::{BlockTridiagonal, Complex32, Complex64, Plan, RealScalar, Tridiagonal};
use bandsolve_gallery::oracle::backward_error;
use bandsolve_gallery::{Random, random_vec};
use bandsolve_gpu::{Device, DeviceMatrix, DeviceScalar, DeviceSolver, Emulation, HostMatrix, Spread};

fn device(seed: u64) -> Device {
    test_device(Emulation { seed, ..Emulation::default() })
}

/// Solve on one device, as a whole.
fn whole<T: DeviceScalar>(plan: &Plan, a: &dyn HostMatrix<T>, rhs: &[T]) -> (Vec<T>, f64) {
    let device = device(1);
    let (arrays, _) = a.upload(&device).unwrap();
    let (rhs, mut x) = (device.upload(rhs).unwrap(), device.zeros(rhs.len()).unwrap());
    let mut solver = DeviceSolver::new(&device, plan, 1).unwrap();
    let report =
        solver.solve(DeviceMatrix::block_tridiagonal(&arrays[0], &arrays[1], &arrays[2]), &rhs, &mut x).unwrap();
    (x.download().unwrap(), report.backward_error)
}

fn check<T: DeviceScalar>() {
    for (n, block, periodic) in [(2100, 1, false), (5000, 1, true), (20_000, 1, false), (900, 2, true), (700, 4, false)]
    {
        let mut random = Random::new(n as u64);
        let mut draw = |k: usize| random_vec::<T>(n * k, &mut random);
        let (sub, mut diag, sup, rhs) = (draw(block * block), draw(block * block), draw(block * block), draw(block));
        for row in 0..n * block {
            diag[(row / block * block + row % block) * block + row % block] +=
                T::from_real(T::Real::from_f64(4.0 * block as f64));
        }
        let mut x = vec![T::ZERO; n * block];
        for parts in 1..5 {
            let devices: Vec<Device> = (0..parts).map(device).collect();
            let streamed = [1, 2000, 1 << 20];
            let rows = streamed.get(parts as usize - 1).copied();
            let mut run =
                |mut spread: Spread<T>, solve: &dyn Fn(&mut Spread<T>, &mut [T]) -> f64, expected: &(Vec<T>, f64)| {
                    for _ in 0..2 {
                        x.fill(T::from_real(T::Real::NAN));
                        let error = solve(&mut spread, &mut x);
                        assert!(x == expected.0, "{} n = {n}, block {block}, {} parts", T::NAME, spread.parts());
                        assert_eq!(error, expected.1);
                    }
                };
            if block == 1 {
                let a = Tridiagonal::from_vecs(sub.clone(), diag.clone(), sup.clone(), periodic).unwrap();
                let plan = Plan::new(a.shape()).partition_rows(20);
                let expected = whole(&plan, &a, &rhs);
                let solve = |spread: &mut Spread<T>, x: &mut [T]| spread.solve(&a, &rhs, x).unwrap().backward_error;
                run(Spread::over(&devices, &plan).unwrap(), &solve, &expected);
                if let Some(rows) = rows {
                    run(Spread::through(&devices[0], &plan, rows).unwrap(), &solve, &expected);
                }
            } else {
                let a = if periodic { BlockTridiagonal::periodic } else { BlockTridiagonal::new };
                let a = a(block, &sub, &diag, &sup).unwrap();
                let plan = Plan::new(a.shape()).partition_rows(9);
                let expected = whole(&plan, &a, &rhs);
                let solve = |spread: &mut Spread<T>, x: &mut [T]| spread.solve(&a, &rhs, x).unwrap().backward_error;
                run(Spread::over(&devices, &plan).unwrap(), &solve, &expected);
                if let Some(rows) = rows {
                    run(Spread::through(&devices[0], &plan, rows).unwrap(), &solve, &expected);
                }
            }
        }
    }
}

#[test]
fn f32_as_a_whole() {
    check::<f32>();
}

#[test]
fn f64_as_a_whole() {
    check::<f64>();
}

#[test]
fn c32_as_a_whole() {
    check::<Complex32>();
}

#[test]
fn c64_as_a_whole() {
    check::<Complex64>();
}

#[test]
fn a_few_rows_are_repaired_on_the_host() {
    let mut repaired = 0;
    for n in (2000..).step_by(700).take(30) {
        let mut random = Random::new(n as u64);
        let block = 1 + n / 700 % 2;
        let mut draw = |k: usize| random_vec::<f64>(n * k, &mut random);
        let [sub, diag, sup] = [0; 3].map(|_| draw(block * block));
        let rhs = draw(block);
        let make = if n % 3 == 0 { BlockTridiagonal::periodic } else { BlockTridiagonal::new };
        let a = make(block, &sub, &diag, &sup).unwrap();
        let solve = |verify: bool, seed: u64| {
            let mut spread =
                Spread::over(&[device(seed), device(seed + 1)], &Plan::new(a.shape()).verify(verify)).unwrap();
            let mut x = vec![0.0; n * block];
            let report = spread.solve(&a, &rhs, &mut x).unwrap();
            (report, x)
        };
        let ((_, raw), (report, x), (again, y)) = (solve(false, 1), solve(true, 1), solve(true, 3));
        assert!(report.backward_error <= 8.0 * f64::EPSILON, "{report:?}");
        assert!(x == y && report.backward_error == again.backward_error, "{again:?}, {report:?}");
        let rows = (0..raw.len()).filter(|i| raw[*i] != x[*i]).count();
        repaired += usize::from(rows > 0 && !report.fallback);
        assert!(report.fallback || rows <= raw.len() / 4, "{rows} of {}", raw.len());
    }
    assert!(repaired > 3, "{repaired}");
}

#[test]
fn what_the_devices_do_not_solve_the_host_does() {
    // The second partition is zero inside, except for its couplings, so each row has no pivot.
    let n = 4000;
    let (mut sub, mut diag, sup) = (vec![1.0_f64; n], vec![4.0; n], vec![1.0; n]);
    (sub[2000], diag[2000]) = (0.0, 0.0);
    let a = Tridiagonal::new(&sub, &diag, &sup).unwrap();
    let rhs = vec![1.0; n];
    let mut x = vec![f64::NAN; n];
    let mut spread = Spread::over(&[device(1), device(2)], &Plan::new(a.shape())).unwrap();
    let report = spread.solve(&a, &rhs, &mut x).unwrap();
    let eta = backward_error(&a, &rhs, &x);
    assert!(report.backward_error <= 64.0 * f64::EPSILON && eta <= 67.0 * f64::EPSILON, "{report:?}, true {eta:e}");
    diag[2001] = f64::NAN;
    let a = Tridiagonal::new(&sub, &diag, &sup).unwrap();
    let wrong = spread.solve(&a, &rhs, &mut x).unwrap_err();
    assert_eq!(wrong, bandsolve::Error::NotFinite { array: "diag", index: 2001 });
}
