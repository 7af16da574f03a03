//! Each allocation that grows with the matrix fails once. Every call must return a result or `OutOfMemory`.

use bandsolve::{Banded, BlockTridiagonal, Tridiagonal};
use bandsolve_eigen::{
    EigenProblem, EigenSolver, EigenvalueRange, MatrixOperator, ShiftableMatrix, SymmetricTridiagonal, Which,
    check_definite, eigenvalues_below,
};
use bandsolve_testkit::allocations::{WatchedMemory, fail_each};

#[global_allocator]
static MEMORY: WatchedMemory = WatchedMemory;

/// Rows, eigenvalues, and the size in bytes of the allocations that fail. Vectors and projected matrices are larger, and lists with one
/// number per eigenvalue are smaller.
const N: usize = 1200;
const K: usize = 20;
const BYTES: usize = 6000;

/// This is one test, so that no other test allocates memory while an allocation must fail.
#[test]
fn every_allocation_may_fail() {
    tridiagonal();
    counts();
    searches();
    nearest();
    intervals();
}

/// Make a matrix with one block, with many blocks, or with clusters of eigenvalues (glued Wilkinson matrices).
fn symmetric(n: usize, kind: usize) -> [Vec<f64>; 2] {
    let height = |i: usize| if kind == 2 { (i as f64 % 21.0 - 10.0).abs() } else { (i % 7) as f64 };
    let coupling = |i: usize| match kind {
        1 if i.is_multiple_of(3) => 0.0,
        2 if i % 21 == 20 => 1e-8,
        _ => 1.0,
    };
    [(0..n).map(height).collect(), (0..n - 1).map(coupling).collect()]
}

fn tridiagonal() {
    for kind in 0..3 {
        let [diag, off] = symmetric(1000, kind);
        let matrix = SymmetricTridiagonal::new(&diag, &off).unwrap();
        for range in [EigenvalueRange::All, EigenvalueRange::Indices(5..900)] {
            assert!(fail_each("eigenvalues", BYTES, || matrix.eigenvalues(range.clone())) > 3);
        }
        assert!(fail_each("counts", BYTES, || matrix.eigenvalues_below(1.0)) > 0);
        let [diag, off] = symmetric(300, kind);
        let matrix = SymmetricTridiagonal::new(&diag, &off).unwrap();
        for range in [EigenvalueRange::All, EigenvalueRange::Interval(-3.0, 9.0)] {
            assert!(fail_each("eigenpairs", 2000, || matrix.eigenpairs(range.clone())) > 5);
        }
    }
}

/// Make a band matrix that is positive definite except for its last row.
fn band(n: usize, width: usize, last: f64) -> Banded<'static, f64> {
    let leading = 2 * width + 1;
    let entry = |place: usize| match (place % leading == width, place / leading == n - 1) {
        (true, true) => last,
        (true, false) => 2.0 * width as f64 + 1.0 + (place / leading % 5) as f64,
        _ => -1.0,
    };
    Banded::from_vec(n, width, width, (0..n * leading).map(entry).collect()).unwrap()
}

fn counts() {
    let wide = band(400, 60, 121.0);
    assert!(fail_each("fronts", BYTES, || eigenvalues_below(&wide, None, 90.0)) > 4);
    let narrow = band(100, 16, 33.0);
    assert!(fail_each("rows", 2000, || eigenvalues_below(&narrow, None, 20.0)) > 0);
    assert!(fail_each("definite", BYTES, || check_definite(&wide)) > 4);
}

/// The second difference with a drift term, which makes the matrix general.
fn line(drift: f64) -> Tridiagonal<'static, f64> {
    let diag = (0..N).map(|i| 2.0 + (i % 3) as f64).collect();
    Tridiagonal::from_vecs(vec![-1.0 - drift; N], diag, vec![-1.0 + drift; N], false).unwrap()
}

fn searches() {
    let (hermitian, general) = (line(0.0), line(0.3));
    let solver = EigenSolver::new(K).max_restarts(4);
    for which in [Which::LargestMagnitude, Which::SmallestReal, Which::BothEnds] {
        let (a, solver) = (MatrixOperator(&hermitian), solver.which(which));
        assert!(fail_each("hermitian", BYTES, || solver.hermitian(&EigenProblem::new(&a))) > 8);
    }
    let a = MatrixOperator(&general);
    assert!(fail_each("general", BYTES, || solver.general(&EigenProblem::new(&a))) > 8);
    let eigen = EigenSolver::new(K).general(&EigenProblem::new(&a)).unwrap();
    assert_eq!(eigen.values.len(), K);
    assert!(fail_each("left", BYTES, || solver.left(&EigenProblem::new(&a), &eigen)) > 8);
}

fn nearest() {
    let (hermitian, general, solver) = (line(0.0), line(0.3), EigenSolver::new(K).max_restarts(4));
    // The target is an eigenvalue, so the search moves the shift.
    let identity = Tridiagonal::from_vecs(vec![0.0; N], vec![1.0; N], vec![0.0; N], false).unwrap();
    for target in [1.0, 2.5] {
        assert!(fail_each("tridiagonal", BYTES, || solver.hermitian_nearest(&hermitian, Some(&identity), target)) > 8);
    }
    let diagonal = Tridiagonal::from_vecs(vec![0.0; N], (0..N).map(|i| i as f64).collect(), vec![0.0; N], false);
    let diagonal = diagonal.unwrap();
    assert!(fail_each("moved", BYTES, || solver.hermitian_nearest(&diagonal, None, 600.0)) > 8);
    assert!(fail_each("general", BYTES, || solver.general_nearest(&general, Some(&hermitian), 2.5)) > 8);
    let wide = band(N, 4, 9.0);
    assert!(fail_each("banded", BYTES, || solver.hermitian_nearest(&wide, Some(&wide), 0.3)) > 8);
    let square = |diag: f64, off: f64| (0..4).map(move |k| if k % 3 == 0 { diag } else { off });
    let blocks = |diag: f64, off: f64| (0..N / 2).flat_map(|_| square(diag, off)).collect::<Vec<f64>>();
    let arrays = [blocks(-1.0, 0.0), blocks(4.0, 1.0), blocks(-1.0, 0.0)];
    let blocks = BlockTridiagonal::from_vecs(2, arrays, false).unwrap();
    assert!(fail_each("blocks", BYTES, || solver.hermitian_nearest(&blocks, None, 3.1)) > 8);
    let (x, mut y) = (vec![1.0; N], vec![0.0; N]);
    fail_each("product", BYTES, || ShiftableMatrix::multiply(&blocks, &x, &mut y));
}

fn intervals() {
    let (a, solver) = (line(0.0), EigenSolver::new(0));
    assert!(fail_each("interval", BYTES, || solver.hermitian_between(&a, None, (1.0, 1.2))) > 8);
}
