//! Sparse right-hand sides: dense solutions, and their largest entries.

mod common;

use bandsolve::{Complex32, Complex64, RealScalar, Scalar};
use bandsolve_capi::*;
use bandsolve_gallery::oracle::backward_error;
use bandsolve_gallery::{Random, random_vec};
use bandsolve_testkit::conformance::{epsilon, rounding};
use common::Family::Tridiagonal;
use common::*;
use core::ffi::c_void;
use core::ptr::{null, null_mut};

type ToDense<T> = unsafe extern "C" fn(
    i32,
    i64,
    i64,
    *const T,
    *const T,
    *const T,
    *mut T,
    *const T,
    *const i32,
    *const i32,
    i64,
    *mut c_void,
) -> Status;
type ToSparse<T> = unsafe extern "C" fn(
    i32,
    i64,
    *const T,
    *const T,
    *const T,
    *const T,
    *const i32,
    *const i32,
    i64,
    i64,
    *mut T,
    *mut i32,
    *const i32,
    i64,
) -> Status;
type Size = unsafe extern "C" fn(i32, i64, i64, *mut usize) -> Status;

trait SparseApi: Api {
    const SPARSE: (Size, ToDense<Self>, ToSparse<Self>);
}

macro_rules! api {
    ($t:ty: $size:ident $dense:ident $sparse:ident) => {
        impl SparseApi for $t {
            const SPARSE: (Size, ToDense<$t>, ToSparse<$t>) = ($size, $dense, $sparse);
        }
    };
}
api!(f32: bandsolveSgtsv_csc2dense_bufferSizeExt bandsolveSgtsv_csc2dense bandsolveSgtsv_csc2csc);
api!(f64: bandsolveDgtsv_csc2dense_bufferSizeExt bandsolveDgtsv_csc2dense bandsolveDgtsv_csc2csc);
api!(Complex32: bandsolveCgtsv_csc2dense_bufferSizeExt bandsolveCgtsv_csc2dense bandsolveCgtsv_csc2csc);
api!(Complex64: bandsolveZgtsv_csc2dense_bufferSizeExt bandsolveZgtsv_csc2dense bandsolveZgtsv_csc2csc);

const OK: Status = Status::BANDSOLVE_SUCCESS;
const INVALID: Status = Status::BANDSOLVE_INVALID_ARGUMENT;

/// A system with sparse right-hand sides. `system.rhs` has them in dense form.
struct Sparse<T> {
    system: System<T>,
    values: Vec<T>,
    rows: Vec<i32>,
    pointers: Vec<i32>,
}

impl<T: SparseApi> Sparse<T> {
    /// Create columns of 0 to 4 entries, of which two may have the same row.
    fn random(n: usize, n_rhs: usize) -> Self {
        let mut system = System::<T>::random(Tridiagonal { cyclic: false }, n, n_rhs);
        let random = &mut Random::new(3);
        system.rhs.fill(T::ZERO);
        let (mut values, mut rows, mut pointers) = (Vec::new(), Vec::new(), vec![0]);
        for j in 0..n_rhs {
            for value in random_vec::<T>(j % 5, random) {
                let row = random.below(n);
                system.rhs[j * n + row] += value;
                values.push(value);
                rows.push(row as i32);
            }
            pointers.push(rows.len() as i32);
        }
        Self { system, values, rows, pointers }
    }

    fn nnz(&self) -> i64 {
        self.values.len() as i64
    }

    fn to_dense(&self) -> (Status, Vec<T>) {
        let mut x = vec![T::from_real(T::Real::NAN); self.system.rhs.len()];
        let [sub, diag, sup] = self.system.pointers();
        let (n, n_rhs) = (self.system.n as i64, self.system.n_rhs as i64);
        let (values, rows, pointers) = (self.values.as_ptr(), self.rows.as_ptr(), self.pointers.as_ptr());
        // SAFETY: arrays of the sizes that go with them.
        let status = unsafe {
            let x = x.as_mut_ptr();
            T::SPARSE.1(3, n, n_rhs, sub, diag, sup, x, values, rows, pointers, self.nnz(), null_mut())
        };
        (status, x)
    }

    /// Solve with given column pointers of the result, and return values and rows.
    fn to_sparse(&self, pointers: &[i32]) -> (Status, Vec<T>, Vec<i32>) {
        let count = usize::try_from(*pointers.last().unwrap()).unwrap_or(0);
        let (mut values, mut rows) = (vec![T::ZERO; count], vec![-1; count]);
        let [sub, diag, sup] = self.system.pointers();
        let (n, n_rhs) = (self.system.n as i64, self.system.n_rhs as i64);
        // SAFETY: arrays of the sizes that go with them.
        let status = unsafe {
            let rhs = (self.values.as_ptr(), self.rows.as_ptr(), self.pointers.as_ptr());
            let result = (values.as_mut_ptr(), rows.as_mut_ptr(), pointers.as_ptr());
            let (nnz, kept) = (self.nnz(), count as i64);
            T::SPARSE.2(3, n, sub, diag, sup, rhs.0, rhs.1, rhs.2, n_rhs, nnz, result.0, result.1, result.2, kept)
        };
        (status, values, rows)
    }
}

fn solutions_in_full<T: SparseApi>() {
    for (n, n_rhs) in [(1, 6), (2, 5), (90, 7), (3000, 9)] {
        let sparse = Sparse::<T>::random(n, n_rhs);
        let (status, x) = sparse.to_dense();
        assert_eq!((status, message()), (OK, String::new()));
        for (rhs, x) in sparse.system.rhs.chunks(n).zip(x.chunks(n)) {
            let eta = backward_error(&sparse.system, rhs, x);
            assert!(eta <= 8.0 * epsilon::<T>() + rounding::<T>(3), "n = {n}: {eta:e}");
        }
        assert!(report().0.backward_error <= 8.0 * epsilon::<T>() && !report().1.is_empty());
        let mut size = 7;
        // SAFETY: a number.
        assert_eq!(unsafe { T::SPARSE.0(3, n as i64, n_rhs as i64, &mut size) }, OK);
        assert_eq!(size, 0);
    }
}

fn largest_entries<T: SparseApi>() {
    for (n, n_rhs) in [(5, 6), (90, 7), (3000, 9)] {
        let sparse = Sparse::<T>::random(n, n_rhs);
        let dense = sparse.to_dense().1;
        let counts: Vec<usize> = (0..n_rhs).map(|j| [0, 3, 1, 5][j % 4]).collect();
        let pointers: Vec<i32> = (0..=n_rhs).map(|j| counts[..j].iter().sum::<usize>() as i32).collect();
        let (status, values, rows) = sparse.to_sparse(&pointers);
        assert_eq!((status, message()), (OK, String::new()));
        for (j, x) in dense.chunks(n).enumerate() {
            let mut order: Vec<usize> = (0..n).collect();
            order.sort_by(|a, b| Scalar::abs(x[*b]).to_f64().total_cmp(&Scalar::abs(x[*a]).to_f64()));
            let mut expected = order[..counts[j]].to_vec();
            expected.sort();
            let own = pointers[j] as usize..pointers[j + 1] as usize;
            let found: Vec<usize> = rows[own.clone()].iter().map(|row| *row as usize).collect();
            assert_eq!(found, expected, "column {j}, n = {n}");
            assert!(found.iter().zip(&values[own]).all(|(row, value)| *value == x[*row]), "column {j}, n = {n}");
        }
    }
}

/// Messages about invalid columns.
fn wrong_columns<T: SparseApi>() {
    let good = || Sparse::<T>::random(20, 4);
    assert_eq!(good().to_dense().0, OK);
    let expect = |sparse: Sparse<T>, expected, word: &str| {
        for status in [sparse.to_dense().0, sparse.to_sparse(&[0, 1, 2, 3, 4]).0] {
            assert_eq!(status, expected, "{}", message());
            assert!(message().contains(word), "{}, expected {word}", message());
        }
    };
    let mut broken = good();
    broken.rows[2] = 20;
    expect(broken, INVALID, "rhs_row_indices[2] is no valid index");
    let mut broken = good();
    broken.rows[1] = -1;
    expect(broken, INVALID, "rhs_row_indices[1] is no valid index");
    let mut broken = good();
    broken.pointers[1] = 9;
    expect(broken, INVALID, "rhs_col_ptrs[");
    let mut broken = good();
    broken.pointers[0] = 1;
    expect(broken, INVALID, "rhs_col_ptrs[0]");
    let mut broken = good();
    broken.values[3] = T::from_real(T::Real::NAN);
    expect(broken, Status::BANDSOLVE_NOT_FINITE, "rhs_values[3] is not finite");
    let mut broken = good();
    broken.system.matrix[1].fill(T::ZERO);
    broken.system.matrix[0].fill(T::ZERO);
    broken.system.matrix[2].fill(T::ZERO);
    expect(broken, Status::BANDSOLVE_SINGULAR, "singular");

    for (pointers, word) in [
        ([0, 2, 1, 3, 4], "result_col_ptrs["),
        ([1, 1, 1, 1, 1], "result_col_ptrs[0]"),
        ([0, 0, 21, 21, 21], "result_col_ptrs[2]"),
    ] {
        assert_eq!(good().to_sparse(&pointers).0, INVALID);
        assert!(message().contains(word), "{}", message());
    }
}

/// Invalid sizes, null pointers and overlaps.
fn wrong_arguments<T: SparseApi>() {
    let mut good = Sparse::<T>::random(20, 4);
    let [sub, diag, sup] = good.system.pointers();
    let (values, rows, pointers, nnz) =
        (good.values.as_ptr(), good.rows.as_mut_ptr(), good.pointers.as_mut_ptr(), good.nnz());
    let mut out = vec![T::ZERO; 80];
    let (x, none) = (out.as_mut_ptr(), null_mut());
    let (dense, sparse) = (T::SPARSE.1, T::SPARSE.2);
    let expect = |status: Status, word: &str| {
        assert_eq!(status, INVALID, "{}", message());
        assert!(message().contains(word), "{}, expected {word}", message());
    };
    let (mut own_rows, ends) = ([0_i32; 4], [0, 1, 2, 3, 4]);
    let (r, ends) = (own_rows.as_mut_ptr(), ends.as_ptr());
    // SAFETY: what is wrong is checked before it is used, all else is as it should be.
    unsafe {
        expect(dense(3, -1, 4, sub, diag, sup, x, values, rows, pointers, nnz, none), "n is -1");
        expect(dense(3, 20, -4, sub, diag, sup, x, values, rows, pointers, nnz, none), "n_rhs is -4");
        expect(dense(3, 20, 4, sub, diag, sup, x, values, rows, pointers, -1, none), "rhs_nnz is -1");
        expect(dense(3, 20, 4, null(), diag, sup, x, values, rows, pointers, nnz, none), "sub is null");
        expect(dense(3, 20, 4, sub, diag, sup, null_mut(), values, rows, pointers, nnz, none), "x is null");
        expect(dense(3, 20, 4, sub, diag, sup, x, null(), rows, pointers, nnz, none), "rhs_values is null");
        expect(dense(3, 20, 4, sub, diag, sup, x, values, null(), pointers, nnz, none), "rhs_row_indices is null");
        expect(dense(3, 20, 4, sub, diag, sup, x, values, rows, null(), nnz, none), "rhs_col_ptrs is null");
        // A diagonal followed by room for four columns, so that x overlaps only the diagonal.
        let mut roomy = vec![T::ZERO; 80];
        let both = roomy.as_mut_ptr();
        expect(dense(3, 20, 4, sub, both, sup, both, values, rows, pointers, nnz, none), "x overlaps diag");
        expect(dense(3, 20, 4, sub, diag, sup, x, x, rows, pointers, nnz, none), "x overlaps rhs_values");
        expect(dense(3, 20, 4, sub, diag, sup, x, values, rows, pointers, nnz - 1, none), "rhs_col_ptrs[");
        assert_eq!(dense(3, 0, 0, null(), null(), null(), null_mut(), null(), null(), null(), 0, none), OK);
        assert_eq!(dense(3, 20, 0, sub, diag, sup, null_mut(), null(), null(), null(), 0, none), OK);

        let call = |n, x, r, ends, kept| sparse(3, n, sub, diag, sup, values, rows, pointers, 4, nnz, x, r, ends, kept);
        assert_eq!(call(20, x, r, ends, 4), OK);
        expect(call(-1, x, r, ends, 4), "n is -1");
        expect(call(1 << 40, x, r, ends, 4), "must be below 2^31");
        expect(call(20, x, r, ends, -4), "result_nnz is -4");
        expect(call(20, x, r, ends, 3), "result_col_ptrs[");
        expect(call(20, null_mut(), r, ends, 4), "result_values is null");
        expect(call(20, x, null_mut(), ends, 4), "result_row_indices is null");
        expect(call(20, x, r, null(), 4), "result_col_ptrs is null");
        expect(call(20, x, rows, ends, 4), "result_row_indices overlaps rhs_row_indices");
        expect(call(20, values.cast_mut(), r, ends, 4), "result_values overlaps rhs_values");
        status::plant_panic();
        assert_eq!(call(20, x, r, ends, 4), Status::BANDSOLVE_INTERNAL_ERROR);
        status::plant_panic();
        let status = dense(3, 20, 4, sub, diag, sup, x, values, rows, pointers, nnz, none);
        assert_eq!(status, Status::BANDSOLVE_INTERNAL_ERROR);
    }
}

for_all_types!(solutions_in_full, largest_entries, wrong_columns, wrong_arguments);
