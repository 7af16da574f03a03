//! Poisson problems: solutions equal those of the Rust crate, bit for bit. Messages about invalid arguments.

mod common;

use bandsolve::Scalar;
use bandsolve_capi::*;
use bandsolve_gallery::{Random, random_vec};
use bandsolve_poisson::{AxisPencil, Boundary, Grid, Poisson, PoissonScalar, SeparablePencils, Side};
use common::{Status, message};
use core::ffi::{CStr, c_void};
use core::ptr::{null, null_mut};

const OK: Status = Status::BANDSOLVE_SUCCESS;
const INVALID: Status = Status::BANDSOLVE_INVALID_ARGUMENT;
const NEUMANN: i32 = bandsolve_boundary_t::BANDSOLVE_NEUMANN as i32;
const PERIODIC: i32 = bandsolve_boundary_t::BANDSOLVE_PERIODIC as i32;
const CELLS: i32 = bandsolve_grid_t::BANDSOLVE_CELLS as i32;

type Report = *mut bandsolve_poisson_report_t;

/// The functions of one number type: create, buffer size, solve.
struct PoissonFunctions<T> {
    create: unsafe extern "C" fn(*const bandsolve_poisson_problem_t, *mut bandsolve_poisson_solver_t) -> Status,
    pencils: unsafe extern "C" fn(*const bandsolve_pencils_problem_t, *mut bandsolve_poisson_solver_t) -> Status,
    size: unsafe extern "C" fn(bandsolve_poisson_solver_t, *mut usize) -> Status,
    solve: unsafe extern "C" fn(bandsolve_poisson_solver_t, i64, *mut T, *const T, Report, *mut c_void) -> Status,
}

trait PoissonApi: PoissonScalar {
    const POISSON: PoissonFunctions<Self>;
}

impl PoissonApi for f32 {
    const POISSON: PoissonFunctions<f32> = PoissonFunctions {
        create: bandsolveSpoisson_create,
        pencils: bandsolveSpoisson_create_pencils,
        size: bandsolveSpoisson_solve_bufferSizeExt,
        solve: bandsolveSpoisson_solve,
    };
}

impl PoissonApi for f64 {
    const POISSON: PoissonFunctions<f64> = PoissonFunctions {
        create: bandsolveDpoisson_create,
        pencils: bandsolveDpoisson_create_pencils,
        size: bandsolveDpoisson_solve_bufferSizeExt,
        solve: bandsolveDpoisson_solve,
    };
}

/// Create the default problem with these numbers of unknowns.
fn problem(shape: &[i64]) -> bandsolve_poisson_problem_t {
    let size = size_of::<bandsolve_poisson_problem_t>();
    // SAFETY: zeros are numbers and null pointers.
    let mut problem = bandsolve_poisson_problem_t { size, ..unsafe { core::mem::zeroed() } };
    // SAFETY: a structure that says its size.
    assert_eq!(unsafe { bandsolvePoissonDefaults(&mut problem) }, OK);
    problem.dimensions = shape.len() as i64;
    problem.axes.iter_mut().zip(shape).for_each(|(axis, n)| axis.n = *n);
    problem
}

fn solver<T: PoissonApi>(problem: &bandsolve_poisson_problem_t) -> bandsolve_poisson_solver_t {
    let mut solver = null_mut();
    // SAFETY: a problem whose arrays are there.
    let status = unsafe { (T::POISSON.create)(problem, &mut solver) };
    assert_eq!((status, message()), (OK, String::new()));
    solver
}

fn destroy(solver: bandsolve_poisson_solver_t) {
    // SAFETY: used no more.
    assert_eq!(unsafe { bandsolvePoissonDestroy(solver) }, OK);
}

fn no_report() -> bandsolve_poisson_report_t {
    bandsolve_poisson_report_t {
        size: size_of::<bandsolve_poisson_report_t>(),
        backward_error: -1.0,
        removed: -1.0,
        mean: -1.0,
        refinement_steps: -1,
        subproblems: -1,
        rcond: -1.0,
        attention: [-1; 160],
    }
}

/// Solve out of place without a buffer, and in place with a buffer of exactly the queried size at an odd address.
fn check<T: PoissonApi>(given: &bandsolve_poisson_problem_t, rust: &Poisson, n_rhs: usize) {
    let plan = rust.plan::<T>().unwrap();
    let f = random_vec::<T>(plan.len() * n_rhs, &mut Random::new(3));
    let expected = plan.solve(&f).unwrap();
    let solver = solver::<T>(given);
    let (mut u, mut report, mut size) = (vec![T::ZERO; f.len()], no_report(), 0);
    // SAFETY: what is handed in is there, and long enough.
    let status = unsafe {
        assert_eq!((T::POISSON.size)(solver, &mut size), OK);
        (T::POISSON.solve)(solver, n_rhs as i64, u.as_mut_ptr(), f.as_ptr(), &mut report, null_mut())
    };
    assert_eq!((status, message()), (OK, String::new()));
    assert!(u == expected.values);
    assert_eq!((report.backward_error, report.removed), (expected.report.backward_error, expected.report.removed));
    assert_eq!(report.subproblems, expected.report.subproblems as i64);
    assert_eq!(report.refinement_steps, expected.report.refinement_steps as i64);
    assert_eq!((report.rcond, report.attention), (expected.report.rcond, [0; 160]));
    assert_eq!(Some(report.mean).filter(|mean| !mean.is_nan()), expected.report.mean);
    let (mut buffer, mut x) = (vec![0xff_u8; size + 1], f.clone());
    let pointer = x.as_mut_ptr();
    // SAFETY: as above; no report.
    let status = unsafe {
        let buffer = buffer[1..].as_mut_ptr().cast();
        (T::POISSON.solve)(solver, n_rhs as i64, pointer, pointer, null_mut(), buffer)
    };
    assert_eq!((status, message()), (OK, String::new()));
    assert!(x == plan_in_place(rust, &f));
    // SAFETY: not destroyed yet.
    let (method, reason) =
        unsafe { (CStr::from_ptr(bandsolvePoissonMethod(solver)), CStr::from_ptr(bandsolvePoissonReason(solver))) };
    let found = (method.to_str().unwrap(), reason.to_str().unwrap());
    assert_eq!(found, (plan.method().0.name(), plan.method().1));
    destroy(solver);
}

fn plan_in_place<T: PoissonApi>(rust: &Poisson, f: &[T]) -> Vec<T> {
    let mut x = f.to_vec();
    rust.plan::<T>().unwrap().solve_in_place(&mut x).unwrap();
    x
}

fn problems<T: PoissonApi>() {
    check::<T>(&problem(&[17]), &Poisson::new(&[17]), 1);
    check::<T>(&problem(&[9, 14]), &Poisson::new(&[9, 14]), 3);
    // Cells, Neumann sides on one axis, values along a side of the other axis, and a spacing for each axis.
    let values: Vec<f64> = (0..7).map(f64::from).collect();
    let mut given = problem(&[12, 7]);
    given.axes[0].grid = CELLS;
    (given.axes[0].spacing, given.axes[1].spacing) = (0.5, 2.0);
    given.axes[0].sides[0].values = values.as_ptr();
    given.axes[0].sides[1].value = 3.0;
    given.axes[1].sides.iter_mut().for_each(|side| side.kind = NEUMANN);
    given.shift = 0.25;
    let rust = Poisson::new(&[12, 7]).axis_grid(0, Grid::Cell).axis_spacing(0, 0.5).axis_spacing(1, 2.0).shift(0.25);
    let rust = rust.axis_boundary(0, Boundary::dirichlet(0.0), Boundary::dirichlet(3.0));
    let rust = rust.axis_boundary(1, Boundary::neumann(0.0), Boundary::neumann(0.0));
    check::<T>(&given, &rust.boundary_values(0, Side::Low, &values), 2);
    // A Robin side.
    let mut given = problem(&[12, 7]);
    given.axes[1].sides[0].kind = bandsolve_boundary_t::BANDSOLVE_ROBIN as i32;
    (given.axes[1].sides[0].alpha, given.axes[1].sides[0].beta, given.axes[1].sides[0].value) = (1.5, 0.5, 2.0);
    let rust = Poisson::new(&[12, 7]).axis_boundary(1, Boundary::robin(1.5, 0.5, 2.0), Boundary::dirichlet(0.0));
    check::<T>(&given, &rust, 2);
    // Three dimensions, with coordinates along the third axis.
    let points = [0.0, 1.0, 1.5, 2.5, 4.0, 5.0];
    let mut given = problem(&[5, 6, 4]);
    given.axes[2].coordinates = points.as_ptr();
    given.axes[0].sides.iter_mut().for_each(|side| side.kind = PERIODIC);
    given.method = c"fft".as_ptr();
    let rust = Poisson::new(&[5, 6, 4]).coordinates(2, &points);
    let rust = rust.axis_boundary(0, Boundary::periodic(), Boundary::periodic());
    check::<T>(&given, &rust.method(bandsolve_poisson::PoissonMethod::Fft), 1);
    // A singular problem that accepts any correction of f.
    let mut given = problem(&[8, 9]);
    (given.mean, given.removable) = (2.0, f64::INFINITY);
    given.axes.iter_mut().for_each(|axis| {
        axis.grid = CELLS;
        axis.sides.iter_mut().for_each(|side| side.kind = NEUMANN);
    });
    let rust = Poisson::new(&[8, 9]).boundary(Boundary::neumann(0.0)).grid(Grid::Cell).mean(2.0);
    check::<T>(&given, &rust.removable(f64::INFINITY), 2);
}

#[test]
fn problems_are_solved_as_in_rust() {
    problems::<f32>();
    problems::<f64>();
}

/// −4 is an eigenvalue for 31 × 31 nodes. With a shift of 1e-20 and Neumann sides, rounding determines the constant. The library fills a report of its
/// first version, and writes nothing after it.
#[test]
fn resonance_is_an_error_and_attention_is_said() {
    let solved = |given: &bandsolve_poisson_problem_t, report: Report| {
        let (solver, f, mut u) = (solver::<f64>(given), vec![1.0; 31 * 31], vec![0.0; 31 * 31]);
        // SAFETY: what is handed in is there, and long enough.
        let status = unsafe { (f64::POISSON.solve)(solver, 1, u.as_mut_ptr(), f.as_ptr(), report, null_mut()) };
        // The next call clears the report.
        let said = message();
        destroy(solver);
        (status, said)
    };
    let (mut given, mut report) = (problem(&[31, 31]), no_report());
    given.shift = -4.0;
    let (status, said) = solved(&given, &mut report);
    assert!(status != OK && said.contains("singular to working precision"), "{said}");
    given.shift = 1e-20;
    given.axes.iter_mut().for_each(|axis| axis.sides.iter_mut().for_each(|side| side.kind = NEUMANN));
    assert_eq!(solved(&given, &mut report).0, OK);
    // SAFETY: the library ends it with a zero.
    let attention = unsafe { CStr::from_ptr(report.attention.as_ptr()) }.to_str().unwrap();
    assert!(attention.contains("no correct digit") && report.rcond < f64::EPSILON, "{attention}");
    let mut first =
        bandsolve_poisson_report_t { size: core::mem::offset_of!(bandsolve_poisson_report_t, rcond), ..no_report() };
    assert_eq!(solved(&given, &mut first).0, OK);
    assert!(
        first.backward_error >= 0.0 && first.subproblems > 0 && first.rcond == -1.0 && first.attention == [-1; 160]
    );
}

/// Create the default problem of pencils with this number of axes.
fn pencils_problem(dimensions: i64) -> bandsolve_pencils_problem_t {
    let size = size_of::<bandsolve_pencils_problem_t>();
    // SAFETY: zeros are numbers and null pointers.
    let mut problem = bandsolve_pencils_problem_t { size, ..unsafe { core::mem::zeroed() } };
    // SAFETY: a structure that says its size.
    assert_eq!(unsafe { bandsolvePoissonPencilsDefaults(&mut problem) }, OK);
    problem.dimensions = dimensions;
    problem
}

/// Create A and M of linear finite elements of width 1 for n unknowns, as sub, diag, sup.
fn elements(n: usize) -> [Vec<f64>; 6] {
    [-1.0, 2.0, -1.0, 1.0 / 6.0, 2.0 / 3.0, 1.0 / 6.0].map(|value| vec![value; n])
}

fn pencils<T: PoissonApi>(shape: &[usize], identity: bool) {
    let axes: Vec<_> = shape.iter().map(|n| elements(*n)).collect();
    let mut given = pencils_problem(shape.len() as i64);
    given.shift = 0.25;
    for (own, [a, b, c, d, e, f]) in given.axes.iter_mut().zip(&axes) {
        own.n = b.len() as i64;
        (own.a_sub, own.a_diag, own.a_sup) = (a.as_ptr(), b.as_ptr(), c.as_ptr());
        if !identity {
            (own.m_sub, own.m_diag, own.m_sup) = (d.as_ptr(), e.as_ptr(), f.as_ptr());
        }
    }
    let of = |[a, b, c, d, e, f]: &[Vec<f64>; 6]| match identity {
        true => AxisPencil::with_identity([a, b, c]),
        false => AxisPencil::new([a, b, c], [d, e, f]),
    };
    let rust = SeparablePencils::new(&axes.iter().map(of).collect::<Vec<_>>()).shift(0.25).plan::<T>().unwrap();
    let right = random_vec::<T>(2 * rust.len(), &mut Random::new(5));
    let expected = rust.solve(&right).unwrap();
    let (mut solver, mut u, mut report) = (null_mut(), vec![T::ZERO; right.len()], no_report());
    // SAFETY: what is handed in is there, and long enough.
    unsafe {
        assert_eq!(((T::POISSON.pencils)(&given, &mut solver), message()), (OK, String::new()));
        let status = (T::POISSON.solve)(solver, 2, u.as_mut_ptr(), right.as_ptr(), &mut report, null_mut());
        assert_eq!((status, message()), (OK, String::new()));
        assert_eq!(CStr::from_ptr(bandsolvePoissonMethod(solver)), c"gemm");
    }
    assert!(u == expected.values && report.backward_error == expected.report.backward_error && report.mean.is_nan());
    let mut x = right.clone();
    // SAFETY: as above, in place.
    let status = unsafe { (T::POISSON.solve)(solver, 2, x.as_mut_ptr(), x.as_ptr(), null_mut(), null_mut()) };
    assert!(status == OK && x == expected.values);
    destroy(solver);
}

#[test]
fn two_matrices_an_axis_are_solved_as_in_rust() {
    for shape in [&[7][..], &[12, 9], &[9, 12], &[4, 5, 6]] {
        for identity in [false, true] {
            pencils::<f32>(shape, identity);
            pencils::<f64>(shape, identity);
        }
    }
}

#[test]
fn what_is_wrong_with_matrices_is_said() {
    let numbers = [[1.0; 3], [f64::NAN; 3]];
    let usual = || {
        let mut given = pencils_problem(1);
        let axis = &mut given.axes[0];
        axis.n = 3;
        (axis.a_sub, axis.a_diag, axis.a_sup) = (numbers[0].as_ptr(), numbers[0].as_ptr(), numbers[0].as_ptr());
        given
    };
    type Change = fn(&mut bandsolve_pencils_problem_t, &[[f64; 3]; 2]);
    let cases: [(Change, Status, &str); 7] = [
        (|p, _| p.size = 8, INVALID, "size is 8, expected sizeof(bandsolve_pencils_problem_t)"),
        (|p, _| p.dimensions = 4, INVALID, "problem->dimensions is 4, expected 1 to 3"),
        (|p, _| p.axes[0].n = -1, INVALID, "n of an axis is -1"),
        (|p, _| p.axes[0].a_diag = null(), INVALID, "a_diag is null, expected 3 elements"),
        (|p, n| p.axes[0].m_sup = n[0].as_ptr(), INVALID, "m_sub is null, expected 3 elements"),
        (|p, n| p.axes[0].a_diag = n[1].as_ptr(), Status::BANDSOLVE_NOT_FINITE, "a[0]"),
        (|p, _| p.method = c"bcr4".as_ptr(), Status::BANDSOLVE_UNSUPPORTED, "two matrices per axis"),
    ];
    for (change, status, said) in cases {
        let (mut given, mut solver) = (usual(), null_mut());
        change(&mut given, &numbers);
        // SAFETY: a structure that says its size; arrays in it are there.
        let found = unsafe { bandsolveDpoisson_create_pencils(&given, &mut solver) };
        assert!(found == status && solver.is_null() && message().contains(said), "{found:?} {}", message());
    }
    // SAFETY: null is what is tested.
    unsafe {
        assert_eq!(bandsolvePoissonPencilsDefaults(null_mut()), INVALID);
        assert_eq!(bandsolveDpoisson_create_pencils(null(), &mut null_mut()), INVALID);
        assert_eq!(bandsolveDpoisson_create_pencils(&usual(), null_mut()), INVALID);
    }
}

#[test]
fn threads_of_the_caller_count_when_a_solver_is_made() {
    let f = random_vec::<f64>(60 * 70, &mut Random::new(4));
    let solve = |solver| {
        let mut u = vec![0.0; f.len()];
        // SAFETY: arrays of the sizes that go with them.
        let status = unsafe { bandsolveDpoisson_solve(solver, 1, u.as_mut_ptr(), f.as_ptr(), null_mut(), null_mut()) };
        assert_eq!(status, OK);
        u
    };
    let (all, mut found) = (solver::<f64>(&problem(&[60, 70])), Vec::new());
    for threads in [1, 2] {
        assert_eq!(bandsolveSetThreads(threads), OK);
        let own = solver::<f64>(&problem(&[60, 70]));
        found.push(solve(own));
        destroy(own);
    }
    assert_eq!(bandsolveSetThreads(0), OK);
    assert!(found.iter().all(|u| *u == solve(all)));
    destroy(all);
}

#[test]
fn what_is_wrong_is_said() {
    let failed = |given: &bandsolve_poisson_problem_t| {
        let mut solver = null_mut();
        // SAFETY: a structure that says its size; arrays in it are there.
        let status = unsafe { bandsolveDpoisson_create(given, &mut solver) };
        assert!(solver.is_null());
        (status, message())
    };
    let changed = |change: &dyn Fn(&mut bandsolve_poisson_problem_t)| {
        let mut given = problem(&[3, 4]);
        change(&mut given);
        failed(&given)
    };
    let values = [0.0, f64::NAN, 0.0, 0.0];
    for (change, status, said) in [
        (
            &(|p: &mut bandsolve_poisson_problem_t| p.size = 8) as &dyn Fn(&mut bandsolve_poisson_problem_t),
            INVALID,
            "size is 8",
        ),
        (&|p| p.dimensions = 4, INVALID, "problem->dimensions is 4, expected 1 to 3"),
        (&|p| p.dimensions = 0, INVALID, "problem->dimensions is 0, expected 1 to 3"),
        (&|p| p.axes[1].n = -4, INVALID, "n of an axis is -4"),
        (&|p| p.axes[0].n = i64::MAX, INVALID, "more than can be addressed"),
        (&|p| p.axes[0].grid = 2, INVALID, "grid is 2, expected a bandsolve_grid_t"),
        (&|p| p.axes[0].sides[1].kind = 7, INVALID, "kind of a side is 7, expected a bandsolve_boundary_t"),
        (&|p| p.method = c"rpts".as_ptr(), INVALID, "there is no method \"rpts\"; use one of auto, fft"),
        (&|p| p.axes[0].sides[0].kind = PERIODIC, INVALID, "boundary[0] has one periodic side"),
        (&|p| p.axes[0].spacing = -1.0, INVALID, "spacing[0] is -1"),
        (&|p| p.shift = f64::INFINITY, Status::BANDSOLVE_NOT_FINITE, "shift"),
        (&|p| p.axes[0].sides[0].values = values.as_ptr(), Status::BANDSOLVE_NOT_FINITE, "boundary values[1]"),
        (
            &|p| p.axes[0].coordinates = values.as_ptr().cast::<u8>().wrapping_add(1).cast(),
            INVALID,
            "coordinates is not aligned",
        ),
    ] {
        let (found, text) = changed(change);
        assert_eq!(found, status, "{text}");
        assert!(text.contains(said), "{text:?} does not contain {said:?}");
    }
    // SAFETY: null is what is tested.
    unsafe {
        assert_eq!(bandsolvePoissonDefaults(null_mut()), INVALID);
        assert_eq!(bandsolveDpoisson_create(null(), &mut null_mut()), INVALID);
        assert_eq!(bandsolveDpoisson_create(&problem(&[3]), null_mut()), INVALID);
        assert_eq!(bandsolvePoissonDestroy(null_mut()), OK);
        assert!(CStr::from_ptr(bandsolvePoissonMethod(null_mut())).is_empty());
        assert!(CStr::from_ptr(bandsolvePoissonReason(null_mut())).is_empty());
    }
}

#[test]
fn what_is_wrong_with_a_solve_is_said() {
    let double = solver::<f64>(&problem(&[3, 4]));
    let mut numbers = vec![1.0; 36];
    let u = numbers.as_mut_ptr();
    let solve = |solver, n_rhs, u, f, buffer| {
        // SAFETY: what is checked first, or arrays of the sizes that go with them.
        let status = unsafe { bandsolveDpoisson_solve(solver, n_rhs, u, f, null_mut(), buffer) };
        (status, message())
    };
    let said = |found: (Status, String), status, text: &str| {
        assert_eq!(found.0, status, "{}", found.1);
        assert!(found.1.contains(text), "{}", found.1);
    };
    said(solve(null_mut(), 1, u, u, null_mut()), INVALID, "solver is null");
    said(solve(double, -1, u, u, null_mut()), INVALID, "n_rhs is -1");
    said(solve(double, 1, u, null(), null_mut()), INVALID, "f is null, expected 12 elements");
    said(solve(double, 1, u, u.wrapping_add(11), null_mut()), INVALID, "u overlaps f");
    let overlapping = u.wrapping_add(35).cast();
    said(solve(double, 3, u, u, overlapping), Status::BANDSOLVE_INVALID_BUFFER, "buffer overlaps u");
    assert_eq!(solve(double, 0, null_mut(), null(), null_mut()).0, OK);
    numbers[5] = f64::NAN;
    said(solve(double, 1, u, u, null_mut()), Status::BANDSOLVE_NOT_FINITE, "f[5]");
    destroy(double);
    let single = solver::<f32>(&problem(&[3, 4]));
    said(solve(single, 1, u, u, null_mut()), INVALID, "another number type");
    destroy(single);
    let mut given = problem(&[3]);
    given.axes[0].sides.iter_mut().for_each(|side| side.kind = PERIODIC);
    let singular = solver::<f64>(&given);
    let mut f = [1.0, 1.0, f64::ZERO];
    let pointer = f.as_mut_ptr();
    said(solve(singular, 1, pointer, pointer, null_mut()), Status::BANDSOLVE_SINGULAR, "do not balance");
    destroy(singular);
}

#[test]
fn nothing_to_solve() {
    let empty = solver::<f64>(&problem(&[0, 5]));
    let mut report = no_report();
    // SAFETY: no elements.
    let status = unsafe { bandsolveDpoisson_solve(empty, 2, null_mut(), null(), &mut report, null_mut()) };
    assert_eq!((status, report.backward_error), (OK, 0.0));
    destroy(empty);
}
