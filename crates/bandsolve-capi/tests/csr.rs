//! Sparse matrices: products, forests, preconditioners and iterative solves equal those of the Rust crate, bit for bit. Messages about invalid
//! arguments.

mod common;

use bandsolve::dyn_stack::{PodBuffer, PodStack};
use bandsolve::{Complex32, Complex64, LinearOperator, Op, RealScalar, Scalar};
use bandsolve_capi::*;
use bandsolve_gallery::{Random, random_vec};
use bandsolve_sparse::{
    Csr, Forest, Graph, GraphFactor, GraphFactorOptions, KrylovSolver, Preconditioner, PreconditionerOptions,
    PreconditionerSide, PreparedProduct,
};
use common::{Status, message, report};
use core::ffi::{CStr, c_char, c_void};
use core::ptr::{null, null_mut};

const OK: Status = Status::BANDSOLVE_SUCCESS;
const INVALID: Status = Status::BANDSOLVE_INVALID_ARGUMENT;

type Create<T, I> = unsafe extern "C" fn(i64, i64, *const T, *const I, *const I, i64, *mut bandsolve_csr_t) -> Status;
type ForestOptions = *const bandsolve_forest_options_t;
type IterationOptions = *const bandsolve_iteration_options_t;
type IterationReport = *mut bandsolve_iteration_report_t;

/// The functions of one number type.
struct CsrFunctions<T> {
    create: Create<T, i32>,
    create_64: Create<T, i64>,
    prepare: unsafe extern "C" fn(bandsolve_csr_t) -> Status,
    product: unsafe extern "C" fn(i32, *const T, bandsolve_csr_t, *const T, *const T, *mut T) -> Status,
    factor: unsafe extern "C" fn(bandsolve_csr_t, ForestOptions, *mut i64, *mut bandsolve_forest_info_t) -> Status,
    forest: unsafe extern "C" fn(bandsolve_csr_t, ForestOptions, *mut bandsolve_forest_t) -> Status,
    tridiagonal: unsafe extern "C" fn(bandsolve_csr_t, bandsolve_forest_t, *mut T, *mut T, *mut T) -> Status,
    precond: unsafe extern "C" fn(*const c_char, bandsolve_csr_t, ForestOptions, *mut bandsolve_precond_t) -> Status,
    apply_size: unsafe extern "C" fn(bandsolve_precond_t, *mut usize) -> Status,
    apply: unsafe extern "C" fn(i32, bandsolve_precond_t, *const T, *mut T, *mut c_void) -> Status,
    krylov_size: unsafe extern "C" fn(*const c_char, bandsolve_csr_t, bandsolve_precond_t, *mut usize) -> Status,
    krylov: unsafe extern "C" fn(
        *const c_char,
        bandsolve_csr_t,
        bandsolve_precond_t,
        IterationOptions,
        *mut T,
        *const T,
        IterationReport,
        *mut c_void,
    ) -> Status,
}

trait CsrApi: Scalar {
    const CSR: CsrFunctions<Self>;
}

macro_rules! api {
    ($t:ty: $create:ident $create_64:ident $prepare:ident $product:ident $factor:ident $forest:ident $tridiagonal:ident $precond:ident
        $apply_size:ident $apply:ident $krylov_size:ident $krylov:ident) => {
        impl CsrApi for $t {
            const CSR: CsrFunctions<$t> = CsrFunctions {
                create: $create,
                create_64: $create_64,
                prepare: $prepare,
                product: $product,
                factor: $factor,
                forest: $forest,
                tridiagonal: $tridiagonal,
                precond: $precond,
                apply_size: $apply_size,
                apply: $apply,
                krylov_size: $krylov_size,
                krylov: $krylov,
            };
        }
    };
}
api!(f32: bandsolveScsr_create bandsolveScsr_create_64 bandsolveScsr_prepare bandsolveScsrmv bandsolveScsr_factor bandsolveScsr_forest
    bandsolveScsr_tridiagonal bandsolveScsr_precond bandsolveSprecond_apply_bufferSizeExt bandsolveSprecond_apply
    bandsolveScsr_krylov_bufferSizeExt bandsolveScsr_krylov);
api!(f64: bandsolveDcsr_create bandsolveDcsr_create_64 bandsolveDcsr_prepare bandsolveDcsrmv bandsolveDcsr_factor bandsolveDcsr_forest
    bandsolveDcsr_tridiagonal bandsolveDcsr_precond bandsolveDprecond_apply_bufferSizeExt bandsolveDprecond_apply
    bandsolveDcsr_krylov_bufferSizeExt bandsolveDcsr_krylov);
api!(Complex32: bandsolveCcsr_create bandsolveCcsr_create_64 bandsolveCcsr_prepare bandsolveCcsrmv bandsolveCcsr_factor bandsolveCcsr_forest
    bandsolveCcsr_tridiagonal bandsolveCcsr_precond bandsolveCprecond_apply_bufferSizeExt bandsolveCprecond_apply
    bandsolveCcsr_krylov_bufferSizeExt bandsolveCcsr_krylov);
api!(Complex64: bandsolveZcsr_create bandsolveZcsr_create_64 bandsolveZcsr_prepare bandsolveZcsrmv bandsolveZcsr_factor bandsolveZcsr_forest
    bandsolveZcsr_tridiagonal bandsolveZcsr_precond bandsolveZprecond_apply_bufferSizeExt bandsolveZprecond_apply
    bandsolveZcsr_krylov_bufferSizeExt bandsolveZcsr_krylov);

/// The arrays of a matrix.
struct Arrays<T> {
    rows: usize,
    columns: usize,
    values: Vec<T>,
    indices: Vec<i32>,
    pointers: Vec<i32>,
}

fn real<T: Scalar>(value: f64) -> T {
    T::from_real(T::Real::from_f64(value))
}

impl<T: CsrApi> Arrays<T> {
    /// Create rows of up to six random entries, in any order, some of them in the same column.
    fn random(rows: usize, columns: usize) -> Self {
        let random = &mut Random::new((rows + 3 * columns) as u64);
        let (mut indices, mut pointers) = (Vec::new(), vec![0]);
        for i in 0..rows {
            let count = if columns == 0 { 0 } else { (i * 5) % 7 };
            indices.extend((0..count).map(|_| random.below(columns) as i32));
            pointers.push(indices.len() as i32);
        }
        let values = random_vec::<T>(indices.len(), random);
        Self { rows, columns, values, indices, pointers }
    }

    /// Create a five-point matrix on a grid of 20 × 15 points, with strong couplings along one direction.
    fn grid() -> Self {
        let (nx, ny) = (20, 15);
        let (mut values, mut indices, mut pointers) = (Vec::new(), Vec::new(), vec![0]);
        for (y, x) in (0..ny).flat_map(|y| (0..nx).map(move |x| (y, x))) {
            let at = (y * nx + x) as i32;
            let mut add = |there: bool, j: i32, value: f64| {
                if there {
                    values.push(real::<T>(value));
                    indices.push(j);
                }
            };
            add(y > 0, at - nx as i32, -1.0);
            add(x > 0, at - 1, -0.05);
            add(true, at, 2.15);
            add(x + 1 < nx, at + 1, -0.06);
            add(y + 1 < ny, at + nx as i32, -1.0);
            pointers.push(indices.len() as i32);
        }
        Self { rows: nx * ny, columns: nx * ny, values, indices, pointers }
    }

    fn rust(&self) -> Csr<'_, T, i32> {
        Csr::new(self.columns, &self.pointers[..], &self.indices[..], &self.values[..]).unwrap()
    }

    fn create(&self) -> (Status, bandsolve_csr_t) {
        let mut matrix = null_mut();
        let (rows, columns, nnz) = (self.rows as i64, self.columns as i64, self.values.len() as i64);
        let (values, indices, pointers) = (self.values.as_ptr(), self.indices.as_ptr(), self.pointers.as_ptr());
        // SAFETY: arrays of the sizes that go with them, which outlive the matrix.
        let status = unsafe { (T::CSR.create)(rows, columns, values, indices, pointers, nnz, &mut matrix) };
        (status, matrix)
    }

    fn matrix(&self) -> bandsolve_csr_t {
        let (status, matrix) = self.create();
        assert_eq!((status, message()), (OK, String::new()));
        matrix
    }
}

#[test]
fn room_behind_the_entries_and_pointers_of_another_type() {
    let arrays = Arrays::<f64>::random(40, 40);
    let (mut values, mut indices) = (arrays.values.clone(), arrays.indices.clone());
    let wide: Vec<i64> = arrays.pointers.iter().map(|pointer| i64::from(*pointer)).collect();
    // These numbers would be invalid entries.
    values.extend([f64::NAN; 3]);
    indices.extend([-1, 1000, i32::MAX]);
    let (nnz, x) = (values.len() as i64, vec![1.0; 40]);
    let (values, indices, pointers) = (values.as_ptr(), indices.as_ptr(), arrays.pointers.as_ptr());
    let (mut spare, mut mixed) = (null_mut(), null_mut());
    // SAFETY: arrays of the sizes that go with them, which outlive the matrices.
    unsafe {
        let status = bandsolveDcsr_create(40, 40, values, indices, pointers, nnz, &mut spare);
        assert_eq!((status, message()), (OK, String::new()));
        let status = bandsolveDcsr_create_mixed(40, 40, values, indices, wide.as_ptr(), nnz, &mut mixed);
        assert_eq!((status, message()), (OK, String::new()));
        let far = [0, 1 << 40];
        let status = bandsolveDcsr_create_mixed(1, 40, values, indices, far.as_ptr(), nnz, &mut null_mut());
        assert_eq!(status, Status::BANDSOLVE_INVALID_ARGUMENT);
    }
    let mut expected = vec![0.0; 40];
    arrays.rust().product(Op::Plain, 1.0, &x, 0.0, &mut expected).unwrap();
    for matrix in [spare, mixed] {
        let mut y = vec![0.0; 40];
        // SAFETY: vectors of 40 numbers, apart from each other.
        unsafe { bandsolveDcsrmv(0, &1.0, matrix, x.as_ptr(), &0.0, y.as_mut_ptr()) };
        assert_eq!(y, expected);
        destroy(matrix);
    }
}

fn destroy(matrix: bandsolve_csr_t) {
    // SAFETY: from `create`, used no more.
    assert_eq!(unsafe { bandsolveCsrDestroy(matrix) }, OK);
}

const OPERATIONS: [(i32, Op); 3] = [(0, Op::Plain), (1, Op::Transpose), (2, Op::ConjTranspose)];

fn products<T: CsrApi>() {
    for (rows, columns) in [(0, 0), (0, 3), (3, 0), (1, 1), (40, 40), (7, 90), (5000, 300)] {
        let arrays = Arrays::<T>::random(rows, columns);
        let wide = |narrow: &[i32]| narrow.iter().map(|i| i64::from(*i)).collect::<Vec<_>>();
        let (indices, pointers) = (wide(&arrays.indices), wide(&arrays.pointers));
        let (mut matrix_64, nnz) = (null_mut(), arrays.values.len() as i64);
        let (values, indices, pointers) = (arrays.values.as_ptr(), indices.as_ptr(), pointers.as_ptr());
        // SAFETY: arrays of the sizes that go with them, which outlive the matrix.
        let status =
            unsafe { (T::CSR.create_64)(rows as i64, columns as i64, values, indices, pointers, nnz, &mut matrix_64) };
        assert_eq!((status, message()), (OK, String::new()));
        let matrix = arrays.matrix();
        for (op, rust) in OPERATIONS {
            let (inputs, outputs) = if op == 0 { (columns, rows) } else { (rows, columns) };
            let random = &mut Random::new(4);
            let (x, start) = (random_vec::<T>(inputs, random), random_vec::<T>(outputs, random));
            let (alpha, beta) = (random_vec::<T>(1, random)[0], random_vec::<T>(1, random)[0]);
            for (alpha, beta) in [(alpha, beta), (T::ONE, T::ZERO)] {
                let start = if beta == T::ZERO { vec![T::from_real(T::Real::NAN); outputs] } else { start.clone() };
                let mut expected = start.clone();
                arrays.rust().product(rust, alpha, &x, beta, &mut expected).unwrap();
                for matrix in [matrix, matrix_64] {
                    let mut y = start.clone();
                    // SAFETY: arrays of the sizes that go with them.
                    let status = unsafe { (T::CSR.product)(op, &alpha, matrix, x.as_ptr(), &beta, y.as_mut_ptr()) };
                    assert_eq!((status, message()), (OK, String::new()));
                    assert!(y == expected, "{rows} by {columns}, operation {op}");
                }
            }
        }
        destroy(matrix);
        destroy(matrix_64);
    }
}

/// Five random entries per row, in a matrix that is large enough for panels. Products and an iteration equal those of Rust.
fn prepared<T: CsrApi>() {
    let n = (2 << 20) / size_of::<T>();
    let random = &mut Random::new(9);
    let indices: Vec<i32> = (0..5 * n).map(|k| if k % 5 == 0 { k / 5 } else { random.below(n) } as i32).collect();
    let mut values = random_vec::<T>(5 * n, random);
    values.iter_mut().step_by(5).for_each(|diagonal| *diagonal = real(9.0));
    let arrays = Arrays { rows: n, columns: n, values, indices, pointers: (0..=n).map(|i| 5 * i as i32).collect() };
    let (matrix, a) = (arrays.matrix(), arrays.rust());
    let kept = PreparedProduct::new(&a).unwrap();
    assert!(kept.is_in_panels());
    // A second call is allowed.
    // SAFETY: a matrix.
    let statuses = unsafe { [(T::CSR.prepare)(matrix), (T::CSR.prepare)(matrix)] };
    assert_eq!((statuses, message()), ([OK; 2], String::new()));
    let (x, start) = (random_vec::<T>(n, random), random_vec::<T>(n, random));
    let (alpha, beta) = (real::<T>(-0.75), real::<T>(0.5));
    for (op, rust) in OPERATIONS {
        let (mut y, mut expected) = (start.clone(), start.clone());
        kept.product(rust, alpha, &x, beta, &mut expected).unwrap();
        // SAFETY: arrays of the sizes that go with them.
        let status = unsafe { (T::CSR.product)(op, &alpha, matrix, x.as_ptr(), &beta, y.as_mut_ptr()) };
        assert_eq!((status, message()), (OK, String::new()));
        assert!(y == expected, "operation {op}");
    }
    let (mut solved, mut expected) = (vec![T::ZERO; n], vec![T::ZERO; n]);
    let solver = KrylovSolver::new("bicgstab".parse().unwrap()).rtol(1e-3);
    assert!(solver.solve(&kept, None, &start, &mut expected).unwrap().converged());
    let options = bandsolve_iteration_options_t { rtol: 1e-3, ..iteration_options() };
    let name = c"bicgstab".as_ptr();
    // SAFETY: arrays of the sizes that go with them, no report, no buffer.
    let status = unsafe {
        (T::CSR.krylov)(name, matrix, null_mut(), &options, solved.as_mut_ptr(), start.as_ptr(), null_mut(), null_mut())
    };
    assert_eq!((status, message()), (OK, String::new()));
    assert!(solved == expected);
    destroy(matrix);
    let other = of_other_type::<T>();
    // SAFETY: a matrix of another type, and none.
    let [of_other, of_none] = unsafe { [(T::CSR.prepare)(other), (T::CSR.prepare)(null_mut())] };
    assert_eq!((of_other, of_none), (INVALID, INVALID));
    assert!(message().contains("null"), "{}", message());
    destroy(other);
}

fn forest_options() -> bandsolve_forest_options_t {
    let size = size_of::<bandsolve_forest_options_t>();
    let mut options =
        bandsolve_forest_options_t { size, degree: 9, rounds: 9, period: 9, uncharged: 9, seed: 9, omega: 9.0 };
    // SAFETY: a structure that says its size.
    assert_eq!(unsafe { bandsolveForestDefaults(&mut options) }, OK);
    options
}

fn no_info() -> bandsolve_forest_info_t {
    let size = size_of::<bandsolve_forest_info_t>();
    bandsolve_forest_info_t { size, n: -1, paths: -1, cycles: -1, rounds: -1, coverage: -1.0, maximal: -1 }
}

fn factors_of_graphs<T: CsrApi>() {
    let arrays = Arrays::<T>::grid();
    let (matrix, graph) = (arrays.matrix(), Graph::of(&arrays.rust()).unwrap());
    for degree in 1..=4 {
        let (mut options, mut info) = (forest_options(), no_info());
        (options.degree, options.seed, options.rounds) = (degree, 5, 20);
        let mut expected = GraphFactorOptions::default();
        (expected.degree, expected.seed, expected.rounds) = (degree as usize, 5, 20);
        let expected = GraphFactor::of(&graph, &expected).unwrap();
        let mut partners = vec![-7; arrays.rows * degree as usize];
        // SAFETY: arrays of the sizes that go with them.
        let status = unsafe { (T::CSR.factor)(matrix, &options, partners.as_mut_ptr(), &mut info) };
        assert_eq!((status, message()), (OK, String::new()));
        for (v, own) in partners.chunks(degree as usize).enumerate() {
            let found: Vec<usize> = own.iter().take_while(|u| **u >= 0).map(|u| *u as usize).collect();
            assert_eq!(found, expected.partners(v).collect::<Vec<_>>());
            assert!(own[found.len()..].iter().all(|u| *u == -1));
        }
        let (rounds, maximal) = (expected.rounds() as i64, i32::from(expected.is_maximal()));
        assert_eq!((info.n, info.rounds, info.maximal), (arrays.rows as i64, rounds, maximal));
        assert_eq!((info.paths, info.cycles, info.coverage), (0, 0, expected.coverage(&graph)));
        // SAFETY: as above.
        assert_eq!(unsafe { (T::CSR.factor)(matrix, &options, partners.as_mut_ptr(), null_mut()) }, OK);
    }
    destroy(matrix);
}

fn forests<T: CsrApi>() {
    let arrays = Arrays::<T>::grid();
    let (matrix, n) = (arrays.matrix(), arrays.rows);
    let graph = Graph::of(&arrays.rust()).unwrap();
    let expected = Forest::of(&graph, &GraphFactorOptions::default()).unwrap();
    let (mut forest, mut info) = (null_mut(), no_info());
    // SAFETY: what is handed in is there, and long enough.
    unsafe {
        assert_eq!((T::CSR.forest)(matrix, null(), &mut forest), OK);
        assert_eq!(bandsolveForestInfo(forest, &mut info), OK);
    }
    let lengths: Vec<i64> = expected.lengths().map(|length| length as i64).collect();
    assert_eq!((info.n, info.paths, info.cycles), (n as i64, lengths.len() as i64, expected.cycles() as i64));
    assert!(info.coverage == expected.coverage(&graph) && info.coverage > 0.8 && info.rounds > 0);
    let [mut paths, mut positions, mut order] = [(); 3].map(|()| vec![-1; n]);
    let mut found = vec![-1; lengths.len()];
    let all = [&mut paths, &mut positions, &mut order, &mut found].map(|array| array.as_mut_ptr());
    // SAFETY: as above.
    assert_eq!(unsafe { bandsolveForestArrays(forest, all[0], all[1], all[2], all[3]) }, OK);
    // SAFETY: as above.
    assert_eq!(unsafe { bandsolveForestArrays(forest, null_mut(), null_mut(), null_mut(), null_mut()) }, OK);
    assert_eq!(found, lengths);
    assert!(order.iter().map(|v| *v as usize).eq(expected.order()));
    let mut place = 0;
    for length in &found {
        for position in 0..*length {
            let v = order[place] as usize;
            assert_eq!((paths[v], positions[v]), (expected.path(v) as i64, position));
            place += 1;
        }
    }
    let [mut sub, mut diag, mut sup] = [(); 3].map(|()| vec![T::from_real(T::Real::NAN); n]);
    // SAFETY: as above.
    let status = unsafe {
        let [sub, diag, sup] = [&mut sub, &mut diag, &mut sup].map(|array| array.as_mut_ptr());
        (T::CSR.tridiagonal)(matrix, forest, sub, diag, sup)
    };
    assert_eq!((status, message()), (OK, String::new()));
    let system = expected.tridiagonal(&arrays.rust()).unwrap();
    assert!(system.arrays() == [&sub[..], &diag, &sup]);
    // SAFETY: used no more.
    assert_eq!(unsafe { bandsolveForestDestroy(forest) }, OK);
    destroy(matrix);
}

fn text(start: *const c_char) -> String {
    // SAFETY: a string that ends with a zero.
    unsafe { CStr::from_ptr(start) }.to_str().unwrap().into()
}

fn precond<T: CsrApi>(matrix: bandsolve_csr_t, name: &CStr) -> bandsolve_precond_t {
    let mut precond = null_mut();
    // SAFETY: what is handed in is there.
    let status = unsafe { (T::CSR.precond)(name.as_ptr(), matrix, null(), &mut precond) };
    assert_eq!((status, message()), (OK, String::new()));
    precond
}

fn preconditioners<T: CsrApi>() {
    let arrays = Arrays::<T>::grid();
    let (a, n) = (arrays.rust(), arrays.rows);
    for name in [
        c"auto",
        c"none",
        c"jacobi",
        c"forest",
        c"alt-i:2",
        c"alt-i",
        c"mos-d:2",
        c"ilu0",
        c"adi:20x15",
        c"amg-lines:1",
    ] {
        let matrix = arrays.matrix();
        let m = precond::<T>(matrix, name);
        // Objects that were created from a matrix outlive its handle.
        destroy(matrix);
        let kind = name.to_str().unwrap().parse().unwrap();
        let expected = Preconditioner::new(&a, kind, &PreconditionerOptions::default()).unwrap();
        // SAFETY: not destroyed yet.
        let (kind, reason) = unsafe { (text(bandsolvePrecondKind(m)), text(bandsolvePrecondReason(m))) };
        assert_eq!((kind, &reason[..]), (expected.kind().to_string(), expected.reason()));
        assert_eq!(reason.is_empty(), !["auto", "alt-i"].contains(&name.to_str().unwrap()));
        let mut size = 0;
        // SAFETY: a number.
        assert_eq!(unsafe { (T::CSR.apply_size)(m, &mut size) }, OK);
        let r = random_vec::<T>(n, &mut Random::new(8));
        for (op, rust) in OPERATIONS {
            let (mut z, mut out) = (vec![T::ZERO; n], [vec![T::ONE; n], vec![T::ONE; n]]);
            let mut memory = PodBuffer::new(expected.apply_scratch());
            let applied = expected.apply_op(rust, &r, &mut z, PodStack::new(&mut memory));
            // A buffer with exactly the queried size, at an odd address.
            let mut buffer = vec![0_u8; size + 1];
            let buffers = [null_mut(), buffer[1..].as_mut_ptr().cast()];
            for (out, buffer) in out.iter_mut().zip(buffers) {
                // SAFETY: arrays of the sizes that go with them.
                let status = unsafe { (T::CSR.apply)(op, m, r.as_ptr(), out.as_mut_ptr(), buffer) };
                if applied.is_ok() {
                    assert_eq!((status, message()), (OK, String::new()));
                    assert!(*out == z, "{name:?}, operation {op}");
                } else {
                    assert_eq!(status, Status::BANDSOLVE_UNSUPPORTED, "{name:?}, operation {op}");
                }
            }
        }
        // SAFETY: used no more.
        assert_eq!(unsafe { bandsolvePrecondDestroy(m) }, OK);
    }
}

fn iteration_options() -> bandsolve_iteration_options_t {
    let size = size_of::<bandsolve_iteration_options_t>();
    // SAFETY: zeros are numbers, and no function.
    let mut options = bandsolve_iteration_options_t { size, ..unsafe { core::mem::zeroed() } };
    // SAFETY: a structure that says its size.
    assert_eq!(unsafe { bandsolveIterationDefaults(&mut options) }, OK);
    options
}

fn no_report() -> bandsolve_iteration_report_t {
    bandsolve_iteration_report_t {
        size: size_of::<bandsolve_iteration_report_t>(),
        iterations: -1,
        restarts: -1,
        converged: -1,
        ending: bandsolve_ending_t::BANDSOLVE_CANCELLED,
        residual_norm: -1.0,
        rhs_norm: -1.0,
        tolerance: -1.0,
        attention: [1; 160],
    }
}

fn iterations<T: CsrApi>() {
    let arrays = Arrays::<T>::grid();
    let (matrix, a, n) = (arrays.matrix(), arrays.rust(), arrays.rows);
    let rhs = random_vec::<T>(n, &mut Random::new(6));
    let m = precond::<T>(matrix, c"alt-i:2");
    let rust = Preconditioner::new(&a, "alt-i:2".parse().unwrap(), &PreconditionerOptions::default()).unwrap();
    for method in [c"gmres:20", c"gmres", c"bicgstab", c"idr:3", c"richardson:0.9"] {
        for (handle, rust, side) in [(null_mut(), None, 0), (m, Some(&rust), 0), (m, Some(&rust), 1)] {
            let (mut options, mut report, mut size) = (iteration_options(), no_report(), 0);
            (options.rtol, options.max_iterations, options.side) = (1e-4, 300, side);
            let mut x = vec![T::ZERO; n];
            // SAFETY: what is handed in is there, and long enough.
            let status = unsafe {
                assert_eq!((T::CSR.krylov_size)(method.as_ptr(), matrix, handle, &mut size), OK);
                let mut buffer = vec![0_u8; size + 1];
                let buffer = buffer[1..].as_mut_ptr().cast();
                let (x, rhs) = (x.as_mut_ptr(), rhs.as_ptr());
                (T::CSR.krylov)(method.as_ptr(), matrix, handle, &options, x, rhs, &mut report, buffer)
            };
            let mut expected = vec![T::ZERO; n];
            let left = if side == 1 { PreconditionerSide::Left } else { PreconditionerSide::Right };
            let solver = KrylovSolver::new(method.to_str().unwrap().parse().unwrap()).rtol(1e-4).max_iterations(300);
            let rust = rust.map(|m| m as &dyn LinearOperator<T>);
            let found = solver.side(left).solve(&a, rust, &rhs, &mut expected).unwrap();
            assert!(x == expected, "{method:?}");
            assert_eq!(status, if found.converged() { OK } else { Status::BANDSOLVE_TOLERANCE_NOT_REACHED });
            assert_eq!(report.converged, i32::from(found.converged()));
            assert_eq!((report.iterations, report.restarts), (found.iterations as i64, found.restarts as i64));
            let norms = (report.residual_norm, report.rhs_norm, report.tolerance);
            assert_eq!(norms, (found.residual_norm, found.rhs_norm, found.tolerance));
            assert!(found.converged() || side == 0, "{method:?}: {}", found.ending);
            assert_eq!(report.attention, [0; 160]);
            assert!(common::report().0.backward_error.is_nan(), "of solves by factors");
        }
    }
    // SAFETY: used no more.
    assert_eq!(unsafe { bandsolvePrecondDestroy(m) }, OK);
    destroy(matrix);
}

/// Endings of iterations that do not converge, and calls without options, reports and buffers.
fn endings<T: CsrApi>() {
    unsafe extern "C" fn watch(iteration: i64, residual: f64, tolerance: f64, data: *mut c_void) -> i32 {
        assert!(residual > tolerance);
        // SAFETY: what the test hands in.
        let seen = unsafe { &mut *data.cast::<Vec<i64>>() };
        seen.push(iteration);
        i32::from(iteration == 4)
    }
    let arrays = Arrays::<T>::grid();
    let (matrix, rhs) = (arrays.matrix(), vec![T::ONE; arrays.rows]);
    let solve = |change: &dyn Fn(&mut bandsolve_iteration_options_t)| {
        let (mut options, mut report, mut x) = (iteration_options(), no_report(), vec![T::ZERO; arrays.rows]);
        change(&mut options);
        // SAFETY: what is handed in is there, and long enough.
        let status = unsafe {
            let (x, rhs) = (x.as_mut_ptr(), rhs.as_ptr());
            (T::CSR.krylov)(c"gmres:20".as_ptr(), matrix, null_mut(), &options, x, rhs, &mut report, null_mut())
        };
        (status, report)
    };
    let (status, report) = solve(&|options| options.max_iterations = 3);
    assert_eq!(status, Status::BANDSOLVE_TOLERANCE_NOT_REACHED);
    assert!(message().contains("gmres:20 ended after 3 iterations (iteration limit)"), "{}", message());
    assert_eq!((report.converged, report.ending), (0, bandsolve_ending_t::BANDSOLVE_ITERATION_LIMIT));
    let mut seen: Vec<i64> = Vec::new();
    let (data, watch): (*mut c_void, bandsolve_watch_t) = ((&raw mut seen).cast(), Some(watch));
    let (status, report) = solve(&|options| (options.watch, options.watch_data) = (watch, data));
    assert_eq!(status, Status::BANDSOLVE_TOLERANCE_NOT_REACHED);
    assert_eq!((report.iterations, report.ending), (4, bandsolve_ending_t::BANDSOLVE_CANCELLED));
    assert_eq!(seen, [1, 2, 3, 4]);
    let (status, report) = solve(&|options| options.atol = 1e6);
    assert_eq!((status, report.iterations), (OK, 0));
    let mut x = vec![T::ZERO; arrays.rows];
    // SAFETY: as above.
    let status = unsafe {
        let (x, rhs) = (x.as_mut_ptr(), rhs.as_ptr());
        (T::CSR.krylov)(c"cg".as_ptr(), matrix, null_mut(), null(), x, rhs, null_mut(), null_mut())
    };
    assert!([OK, Status::BANDSOLVE_TOLERANCE_NOT_REACHED].contains(&status), "{}", message());
    destroy(matrix);
}

fn expect(status: Status, word: &str) {
    assert_eq!(status, INVALID, "{}", message());
    assert!(message().contains(word), "{}, expected {word}", message());
}

fn wrong_matrices<T: CsrApi>() {
    let broken = |change: &dyn Fn(&mut Arrays<T>), word: &str| {
        let mut arrays = Arrays::<T>::random(20, 10);
        change(&mut arrays);
        let (status, matrix) = arrays.create();
        expect(status, word);
        assert!(matrix.is_null());
    };
    broken(&|a| a.indices[3] = 10, "col_indices[3] is no valid index");
    broken(&|a| a.indices[3] = -1, "col_indices[3] is no valid index");
    broken(&|a| a.pointers[0] = 1, "row_ptrs[0]");
    broken(&|a| a.pointers[4] = 1000, "row_ptrs[");
    broken(&|a| a.pointers[20] += 1, "row_ptrs[20]");
    let mut arrays = Arrays::<T>::random(20, 10);
    let mut matrix = null_mut();
    let (values, indices, pointers) = (arrays.values.as_ptr(), arrays.indices.as_ptr(), arrays.pointers.as_mut_ptr());
    let (nnz, create) = (arrays.values.len() as i64, T::CSR.create);
    // SAFETY: what is wrong is checked before it is used, all else is as it should be.
    unsafe {
        expect(create(-1, 10, values, indices, pointers, nnz, &mut matrix), "rows is -1");
        expect(create(20, -1, values, indices, pointers, nnz, &mut matrix), "columns is -1");
        expect(create(20, 10, values, indices, pointers, -1, &mut matrix), "nnz is -1");
        expect(create(i64::MAX, 10, values, indices, pointers, nnz, &mut matrix), "more than can be addressed");
        expect(create(20, 10, null(), indices, pointers, nnz, &mut matrix), "values is null");
        expect(create(20, 10, values, null(), pointers, nnz, &mut matrix), "col_indices is null");
        expect(create(20, 10, values, indices, null(), nnz, &mut matrix), "row_ptrs is null");
        expect(create(20, 10, values, indices, pointers, nnz, null_mut()), "matrix is null");
        assert!(matrix.is_null());
        status::plant_panic();
        assert_eq!(create(20, 10, values, indices, pointers, nnz, &mut matrix), Status::BANDSOLVE_INTERNAL_ERROR);
        assert_eq!(create(0, 0, null(), null(), null(), 0, &mut matrix), OK);
        destroy(matrix);
        assert_eq!(bandsolveCsrDestroy(null_mut()), OK);
    }
}

/// A matrix of another number type than `T`.
fn of_other_type<T: CsrApi>() -> bandsolve_csr_t {
    let mut other = null_mut();
    // SAFETY: nothing to read.
    let status = unsafe {
        if size_of::<T>() == 4 {
            bandsolveDcsr_create(0, 0, null(), null(), null(), 0, &mut other)
        } else {
            bandsolveScsr_create(0, 0, null(), null(), null(), 0, &mut other)
        }
    };
    assert_eq!(status, OK);
    other
}

fn wrong_products<T: CsrApi>() {
    let arrays = Arrays::<T>::random(20, 10);
    let (matrix, one, product) = (arrays.matrix(), &T::ONE as *const T, T::CSR.product);
    let (mut x, mut y, other) = (vec![T::ONE; 10], vec![T::ONE; 20], of_other_type::<T>());
    let (x, y) = (x.as_mut_ptr(), y.as_mut_ptr());
    // SAFETY: what is wrong is checked before it is used, all else is as it should be.
    unsafe {
        expect(product(3, one, matrix, x, one, y), "op is 3, expected a bandsolve_operation_t");
        expect(product(-1, one, matrix, x, one, y), "op is -1");
        expect(product(0, null(), matrix, x, one, y), "alpha is null");
        expect(product(0, one, matrix, x, null(), y), "beta is null");
        expect(product(0, one, null_mut(), x, one, y), "matrix is null; create it with csr_create first");
        expect(product(0, one, other, x, one, y), "matrix has another number type");
        expect(product(0, one, matrix, null(), one, y), "x is null");
        expect(product(0, one, matrix, x, one, null_mut()), "y is null");
        expect(product(0, one, matrix, y, one, y), "y overlaps x");
        expect(product(1, one, matrix, y, one, arrays.values.as_ptr().cast_mut()), "y overlaps values");
        status::plant_panic();
        assert_eq!(product(0, one, matrix, x, one, y), Status::BANDSOLVE_INTERNAL_ERROR);
        assert_eq!(product(0, one, matrix, x, one, y), OK);
    }
    destroy(matrix);
    destroy(other);
}

fn wrong_forests<T: CsrApi>() {
    let (arrays, flat) = (Arrays::<T>::grid(), Arrays::<T>::random(20, 10));
    let (matrix, oblong, other) = (arrays.matrix(), flat.matrix(), of_other_type::<T>());
    let mut out = vec![-1_i64; 5 * arrays.rows];
    let (partners, mut forest, mut info) = (out.as_mut_ptr(), null_mut(), no_info());
    let changed = |change: &dyn Fn(&mut bandsolve_forest_options_t)| {
        let mut options = forest_options();
        change(&mut options);
        options
    };
    let CsrFunctions { factor, forest: make, tridiagonal, .. } = T::CSR;
    // SAFETY: what is wrong is checked before it is used, all else is as it should be.
    unsafe {
        expect(bandsolveForestDefaults(null_mut()), "options is null");
        expect(
            bandsolveForestDefaults(&mut changed(&|o| o.size = 8)),
            "options->size is 8, expected sizeof(bandsolve_forest_options_t)",
        );
        for (options, word) in [
            (changed(&|o| o.size = 0), "options->size is 0"),
            (changed(&|o| o.degree = -1), "options->degree is -1"),
            (changed(&|o| o.degree = 5), "degree is 5, expected"),
            (changed(&|o| o.degree = 0), "degree is 0, expected"),
            (changed(&|o| o.rounds = -1), "options->rounds is -1"),
            (changed(&|o| o.uncharged = 5), "uncharged is 5, expected"),
            (changed(&|o| o.omega = f64::NAN), "options->omega is NaN"),
        ] {
            expect(factor(matrix, &options, partners, null_mut()), word);
            expect(make(matrix, &options, &mut forest), word);
        }
        expect(make(matrix, &changed(&|o| o.degree = 3), &mut forest), "edges of a vertex of a path");
        for (matrix, word) in [(null_mut(), "matrix is null"), (other, "another number type"), (oblong, "square")] {
            expect(factor(matrix, null(), partners, null_mut()), word);
            expect(make(matrix, null(), &mut forest), word);
        }
        expect(factor(matrix, null(), null_mut(), null_mut()), "partners is null");
        expect(
            factor(matrix, null(), arrays.values.as_ptr().cast_mut().cast(), null_mut()),
            "partners overlaps values",
        );
        info.size = 1;
        expect(factor(matrix, null(), partners, &mut info), "info->size is 1");
        expect(make(matrix, null(), null_mut()), "forest is null");
        assert!(forest.is_null() && out.iter().all(|v| *v == -1), "nothing was written");

        assert_eq!(make(matrix, null(), &mut forest), OK);
        expect(bandsolveForestInfo(forest, &mut info), "info->size is 1");
        expect(bandsolveForestInfo(forest, null_mut()), "info is null");
        expect(bandsolveForestInfo(null_mut(), &mut no_info()), "forest is null; create it with csr_forest first");
        let none = null_mut();
        expect(bandsolveForestArrays(null_mut(), none, none, none, none), "forest is null");
        expect(bandsolveForestArrays(forest, partners, none, partners, none), "paths overlaps order");
        let mut bands = vec![T::ONE; 3 * arrays.rows];
        let [sub, diag, sup] = [0, 1, 2].map(|k| bands.as_mut_ptr().add(k * arrays.rows));
        expect(tridiagonal(matrix, null_mut(), sub, diag, sup), "forest is null");
        expect(tridiagonal(oblong, forest, sub, diag, sup), "expected");
        expect(tridiagonal(matrix, forest, null_mut(), diag, sup), "sub is null");
        expect(tridiagonal(matrix, forest, sub, null_mut(), sup), "diag is null");
        expect(tridiagonal(matrix, forest, sub, diag, sub), "sub overlaps sup");
        status::plant_panic();
        assert_eq!(tridiagonal(matrix, forest, sub, diag, sup), Status::BANDSOLVE_INTERNAL_ERROR);
        status::plant_panic();
        assert_eq!(make(matrix, null(), &mut forest), Status::BANDSOLVE_INTERNAL_ERROR);
        assert_eq!(bandsolveForestDestroy(forest), OK);
        assert_eq!(bandsolveForestDestroy(null_mut()), OK);
    }
    [matrix, oblong, other].into_iter().for_each(destroy);
}

fn wrong_preconditioners<T: CsrApi>() {
    let (arrays, flat) = (Arrays::<T>::grid(), Arrays::<T>::random(20, 10));
    let (matrix, oblong, other) = (arrays.matrix(), flat.matrix(), of_other_type::<T>());
    let (make, apply) = (T::CSR.precond, T::CSR.apply);
    let (mut m, mut options, n) = (null_mut(), forest_options(), arrays.rows);
    options.omega = 2.0;
    // SAFETY: what is wrong is checked before it is used, all else is as it should be.
    unsafe {
        expect(make(null(), matrix, null(), &mut m), "name is null");
        expect(make(c"alt-i:".as_ptr(), null_mut(), null(), &mut m), "matrix is null");
        expect(make(c"alt".as_ptr(), matrix, null(), &mut m), "no preconditioner `alt`");
        expect(make(c"alt-i:0".as_ptr(), matrix, null(), &mut m), "from 1 to 64");
        expect(make(c"adi:3x4".as_ptr(), matrix, null(), &mut m), "unknowns of the grid");
        expect(make(c"auto".as_ptr(), oblong, null(), &mut m), "square");
        expect(make(c"auto".as_ptr(), other, null(), &mut m), "another number type");
        expect(make(c"auto".as_ptr(), matrix, &options, &mut m), "options->omega is 2");
        expect(make(c"auto".as_ptr(), matrix, null(), null_mut()), "precond is null");
        let zero = Arrays::<T> { rows: 2, columns: 2, values: vec![], indices: vec![], pointers: vec![0; 3] };
        let zero_matrix = zero.matrix();
        let status = make(c"jacobi".as_ptr(), zero_matrix, null(), &mut m);
        assert_eq!(status, Status::BANDSOLVE_SINGULAR, "{}", message());
        destroy(zero_matrix);
        status::plant_panic();
        assert_eq!(make(c"auto".as_ptr(), matrix, null(), &mut m), Status::BANDSOLVE_INTERNAL_ERROR);
        assert!(m.is_null());
        assert_eq!((text(bandsolvePrecondKind(m)), text(bandsolvePrecondReason(m))), Default::default());

        let m = precond::<T>(matrix, c"alt-i:2");
        let (r, mut z) = (vec![T::ONE; n], vec![T::ONE; n]);
        let (r, z) = (r.as_ptr(), z.as_mut_ptr());
        expect(apply(7, m, r, z, null_mut()), "op is 7");
        expect(apply(0, null_mut(), r, z, null_mut()), "precond is null; create it with csr_precond first");
        expect(apply(0, m, null(), z, null_mut()), "r is null");
        expect(apply(0, m, r, null_mut(), null_mut()), "z is null");
        expect(apply(0, m, z, z, null_mut()), "z overlaps r");
        assert_eq!(apply(0, m, r, z, z.cast()), Status::BANDSOLVE_INVALID_BUFFER);
        // Another array of the call may follow directly after z.
        assert!(message().contains("buffer overlaps "), "{}", message());
        expect((T::CSR.apply_size)(null_mut(), &mut 0), "precond is null");
        expect((T::CSR.apply_size)(m, null_mut()), "size is null");
        let status = if size_of::<T>() == 4 {
            bandsolveDprecond_apply(0, m, null(), null_mut(), null_mut())
        } else {
            bandsolveSprecond_apply(0, m, null(), null_mut(), null_mut())
        };
        expect(status, "precond has another number type");
        status::plant_panic();
        assert_eq!(apply(0, m, r, z, null_mut()), Status::BANDSOLVE_INTERNAL_ERROR);
        assert_eq!(bandsolvePrecondDestroy(m), OK);
        assert_eq!(bandsolvePrecondDestroy(null_mut()), OK);
    }
    [matrix, oblong, other].into_iter().for_each(destroy);
}

fn wrong_iterations<T: CsrApi>() {
    let (arrays, flat) = (Arrays::<T>::grid(), Arrays::<T>::random(20, 10));
    let (matrix, oblong, other) = (arrays.matrix(), flat.matrix(), of_other_type::<T>());
    let (small, n) = (
        Arrays::<T> { rows: 1, columns: 1, values: vec![T::ONE], indices: vec![0], pointers: vec![0, 1] },
        arrays.rows,
    );
    let small_matrix = small.matrix();
    let (m, changing) = (precond::<T>(small_matrix, c"jacobi"), precond::<T>(matrix, c"alt-o:2"));
    let (mut x, mut rhs) = (vec![T::ONE; n], vec![T::ONE; n]);
    let (x, rhs, none, gmres) = (x.as_mut_ptr(), rhs.as_mut_ptr(), null_mut(), c"gmres:20".as_ptr());
    let solve = T::CSR.krylov;
    // SAFETY: what is wrong is checked before it is used, all else is as it should be.
    unsafe {
        let call = |method, matrix, m| solve(method, matrix, m, null(), x, rhs, null_mut(), none);
        expect(call(null(), matrix, null_mut()), "method is null");
        expect(call(c"gmress".as_ptr(), matrix, null_mut()), "no solver `gmress`");
        expect(call(c"gmres:0".as_ptr(), matrix, null_mut()), "at least 1");
        expect(call(gmres, null_mut(), null_mut()), "matrix is null");
        expect(call(gmres, oblong, null_mut()), "matrix has 20 rows and 10 columns, expected a square one");
        expect(call(gmres, other, null_mut()), "another number type");
        expect(call(gmres, matrix, m), "rows of the preconditioner");
        // Krylov spaces are not larger than the matrix.
        for huge in [c"gmres:18446744073709551615", c"gmres:700000000"] {
            assert_eq!(call(huge.as_ptr(), matrix, null_mut()), OK, "{}", message());
        }
        let with = |change: &dyn Fn(&mut bandsolve_iteration_options_t), m| {
            let mut options = iteration_options();
            change(&mut options);
            solve(gmres, matrix, m, &options, x, rhs, null_mut(), none)
        };
        expect(with(&|o| o.size = 3, null_mut()), "options->size is 3, expected sizeof(bandsolve_iteration_options_t)");
        expect(with(&|o| o.rtol = -1.0, null_mut()), "options->rtol is -1");
        expect(with(&|o| o.atol = f64::NAN, null_mut()), "options->atol is NaN");
        expect(with(&|o| o.max_iterations = -1, null_mut()), "options->max_iterations is -1");
        expect(with(&|o| o.side = 2, null_mut()), "options->side is 2, expected a bandsolve_side_t");
        expect(with(&|o| o.side = 1, changing), "preconditioner changes from step to step");
        let sides = |x, rhs, buffer| solve(gmres, matrix, null_mut(), null(), x, rhs, null_mut(), buffer);
        expect(sides(null_mut(), rhs, none), "x is null");
        expect(sides(x, null(), none), "rhs is null");
        expect(sides(x, x, none), "x overlaps rhs");
        expect(sides(arrays.values.as_ptr().cast_mut(), rhs, none), "x overlaps values");
        assert_eq!(sides(x, rhs, rhs.cast()), Status::BANDSOLVE_INVALID_BUFFER);
        let mut small_report = no_report();
        small_report.size = 8;
        expect(solve(gmres, matrix, null_mut(), null(), x, rhs, &mut small_report, none), "report->size is 8");
        *rhs = T::from_real(T::Real::NAN);
        assert_eq!(sides(x, rhs, none), Status::BANDSOLVE_NOT_FINITE);
        assert!(message().contains("rhs[0]"), "{}", message());
        *rhs = T::ONE;
        expect((T::CSR.krylov_size)(gmres, matrix, null_mut(), null_mut()), "size is null");
        expect((T::CSR.krylov_size)(gmres, oblong, null_mut(), &mut 0), "square");
        expect(bandsolveIterationDefaults(null_mut()), "options is null");
        status::plant_panic();
        assert_eq!(sides(x, rhs, none), Status::BANDSOLVE_INTERNAL_ERROR);
        assert_eq!(sides(x, rhs, none), OK, "{}", message());
        assert!(report().1.is_empty());
        assert_eq!((bandsolvePrecondDestroy(m), bandsolvePrecondDestroy(changing)), (OK, OK));
    }
    [matrix, oblong, other, small_matrix].into_iter().for_each(destroy);
}

/// The numbers equal those in docs/c-api.md.
#[test]
fn numbers_of_operations_sides_and_endings() {
    use {bandsolve_ending_t::*, bandsolve_operation_t::*, bandsolve_side_t::*};
    macro_rules! all {
        ($($name:ident),*) => { [$(($name as i32, stringify!($name))),*] };
    }
    let operations = all![BANDSOLVE_PLAIN, BANDSOLVE_TRANSPOSE, BANDSOLVE_CONJ_TRANSPOSE];
    let sides = all![BANDSOLVE_RIGHT, BANDSOLVE_LEFT];
    let endings = all![
        BANDSOLVE_CONVERGED,
        BANDSOLVE_ITERATION_LIMIT,
        BANDSOLVE_STAGNATED,
        BANDSOLVE_BREAKDOWN,
        BANDSOLVE_ITERATION_NOT_FINITE,
        BANDSOLVE_CANCELLED
    ];
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/c-api.md")).unwrap();
    let page = page.split_whitespace().collect::<Vec<_>>().join(" ");
    for all in [&operations[..], &sides, &endings] {
        for (number, (value, name)) in all.iter().enumerate() {
            assert_eq!(number as i32, *value);
            assert!(page.contains(&format!("`{name}` {number}")), "docs/c-api.md does not say the number of {name}");
        }
    }
}

for_all_types!(
    products,
    prepared,
    factors_of_graphs,
    forests,
    preconditioners,
    iterations,
    endings,
    wrong_matrices,
    wrong_products,
    wrong_forests,
    wrong_preconditioners,
    wrong_iterations
);
