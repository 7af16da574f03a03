//! Eigenvalue searches with vectors on a device, compared with those of the CPU.

use crate::test_device;
use bandsolve::{Complex32, Complex64, Error, RealScalar, Scalar};
use bandsolve_eigen::{EigenProblem, EigenReport, EigenSolver, Which};
use bandsolve_gallery::{Random, random_vec};
use bandsolve_gpu::{Device, DeviceCsr, DeviceEigenProblem, DeviceScalar, Emulation};
use bandsolve_sparse::Csr;

/// Random entries beside a diagonal whose last entries are far from the others, so that few products find the largest eigenvalues.
fn matrix<T: Scalar>(n: usize, hermitian: bool, random: &mut Random) -> Csr<'static, T, i32> {
    let real = |v: f64| T::from_real(T::Real::from_f64(v));
    let mut entries = Vec::new();
    for i in 0..n {
        let diagonal = 2.0 + i as f64 / n as f64 + if i + 4 > n { 8.0 + 3.0 * (n - i) as f64 } else { 0.0 };
        entries.push((i, i, real(diagonal)));
        let values = random_vec::<T>(2, random);
        if i > 0 {
            let [lower, upper] = [values[0], if hermitian { values[0].conj() } else { values[1] }];
            entries.extend([(i, i - 1, lower), (i - 1, i, upper)]);
        }
    }
    Csr::from_triplets(n, n, &entries).unwrap()
}

fn diagonal<T: Scalar>(n: usize, entry: impl Fn(usize) -> f64) -> Csr<'static, T, i32> {
    let entries: Vec<_> = (0..n).map(|i| (i, i, T::from_real(T::Real::from_f64(entry(i))))).collect();
    Csr::from_triplets(n, n, &entries).unwrap()
}

/// The matrices of a problem: A, and B and an inverse.
struct Matrices<T: Scalar> {
    a: Csr<'static, T, i32>,
    b: Option<Csr<'static, T, i32>>,
    /// The inverse of B, or of A − σI without B.
    inverse: Option<Csr<'static, T, i32>>,
}

const SIGMA: f64 = 3.25;

impl<T: DeviceScalar> Matrices<T> {
    fn problem(&self) -> EigenProblem<'_, T> {
        let problem = EigenProblem::new(&self.a);
        match (&self.b, &self.inverse) {
            (Some(b), Some(inverse)) => problem.mass(b).mass_inverse(inverse),
            (None, Some(inverse)) => problem.shifted(T::from_real(T::Real::from_f64(SIGMA)), inverse),
            _ => problem,
        }
    }
}

/// The values, with their vectors and the report.
type Pairs<T> = (Vec<Complex64>, Vec<T>, EigenReport);

fn assert_same<T: DeviceScalar, V: Scalar>(found: Pairs<V>, expected: Pairs<V>, what: &str) {
    let ((values, vectors, report), (expected, of_cpu, report_of_cpu)) = (found, expected);
    if T::NAME != "f64" {
        assert!(
            values == expected && vectors == of_cpu && report == report_of_cpu,
            "{what}: {report:?} {report_of_cpu:?}"
        );
        return;
    }
    // Inner products are summed in another order, so the iterations differ by rounding errors. Both find eigenvalues with residuals of rounding errors, and
    // the condition numbers of the eigenvalues are small.
    assert_eq!((report.ending, values.len()), (report_of_cpu.ending, expected.len()), "{what}");
    let error = values.iter().zip(&expected).map(|(found, expected)| (found - expected).norm()).fold(0.0, f64::max);
    assert!(error <= 1e-9, "{what}: {error:e}");
}

fn same_as_on_the_cpu<T: DeviceScalar>() {
    let device = test_device(Emulation::default());
    let mut random = Random::new(8);
    for n in [1, 2, 5, 1100] {
        let start = random_vec::<T>(n, &mut random);
        let plain = |a| Matrices { a, b: None, inverse: None };
        let problems = [
            plain(matrix(n, true, &mut random)),
            Matrices {
                b: Some(diagonal(n, |i| 1.0 + (i % 3) as f64)),
                inverse: Some(diagonal(n, |i| 1.0 / (1.0 + (i % 3) as f64))),
                a: matrix(n, true, &mut random),
            },
            // The eigenvalues nearest to the shift are the first ones.
            Matrices {
                a: diagonal(n, |i| SIGMA + 0.5 + (i * i) as f64),
                inverse: Some(diagonal(n, |i| 1.0 / (0.5 + (i * i) as f64))),
                b: None,
            },
        ];
        for (number, matrices) in problems.iter().enumerate() {
            for has_start in [false, true] {
                let solver = EigenSolver::<T>::new(n.min(2)).max_restarts(60);
                let solver = if has_start { solver.start(&start) } else { solver };
                let what = format!("{} {n} problem {number}, start vector: {has_start}", T::NAME);
                let expected = solver.hermitian(&matrices.problem()).unwrap();
                let found = with_device(&device, matrices, |problem| problem.hermitian(&solver).unwrap());
                let wide = |values: &[f64]| values.iter().copied().map(Complex64::from).collect();
                let found = (wide(&found.values), found.vectors, found.report);
                assert_same::<T, T>(found, (wide(&expected.values), expected.vectors, expected.report), &what);
            }
        }
        let matrices = plain(matrix(n, false, &mut random));
        let solver = EigenSolver::<T>::new(n.min(3)).max_restarts(60).which(Which::LargestReal);
        let expected = solver.general(&matrices.problem()).unwrap();
        let found = with_device(&device, &matrices, |problem| problem.general(&solver).unwrap());
        let found = (found.values, found.vectors, found.report);
        let expected = (expected.values, expected.vectors, expected.report);
        assert_same::<T, Complex64>(found, expected, &format!("{} {n} general", T::NAME));
    }
}

/// Call `search` with the problem on a device.
fn with_device<T: DeviceScalar, R>(
    device: &Device,
    matrices: &Matrices<T>,
    search: impl FnOnce(DeviceEigenProblem<'_, T>) -> R,
) -> R {
    let Matrices { a, b, inverse } = matrices;
    let upload = |matrix: &Csr<'_, T, i32>| DeviceCsr::new(device, matrix).unwrap();
    let (a, b, inverse) = (upload(a), b.as_ref().map(upload), inverse.as_ref().map(upload));
    let problem = DeviceEigenProblem::new(device, &a);
    search(match (&b, &inverse) {
        (Some(b), Some(inverse)) => problem.mass(b).mass_inverse(inverse),
        (None, Some(inverse)) => problem.shifted(T::from_real(T::Real::from_f64(SIGMA)), inverse),
        _ => problem,
    })
}

#[test]
fn same_as_on_the_cpu_in_f32() {
    same_as_on_the_cpu::<f32>();
}

#[test]
fn same_as_on_the_cpu_in_f64() {
    same_as_on_the_cpu::<f64>();
}

#[test]
fn same_as_on_the_cpu_in_c32() {
    same_as_on_the_cpu::<Complex32>();
}

#[test]
fn same_as_on_the_cpu_in_c64() {
    same_as_on_the_cpu::<Complex64>();
}

#[test]
fn wrong_arguments_are_errors() {
    let device = test_device(Emulation::default());
    let [two, three] = [2, 3].map(|n| DeviceCsr::new(&device, &diagonal::<f64>(n, |i| 1.0 + i as f64)).unwrap());
    let (problem, solver) = (DeviceEigenProblem::new(&device, &two), EigenSolver::new(1));
    assert_eq!(problem.hermitian(&solver).unwrap().values.len(), 1);
    assert!(matches!(problem.mass(&three).hermitian(&solver), Err(Error::Shape { what: "rows of B", .. })));
    assert!(matches!(problem.shifted(0.5, &three).general(&solver), Err(Error::Shape { .. })));
    assert!(matches!(problem.mass(&two).general(&solver), Err(Error::InvalidArgument { .. })));
    assert!(matches!(problem.hermitian(&EigenSolver::new(3)), Err(Error::InvalidArgument { .. })));
    assert!(matches!(problem.hermitian(&solver.start(&[1.0])), Err(Error::Shape { what: "start", .. })));
    assert!(matches!(problem.shifted(f64::NAN, &two).hermitian(&solver), Err(Error::NotFinite { .. })));
}
