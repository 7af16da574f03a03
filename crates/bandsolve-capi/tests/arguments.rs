//! Invalid arguments and matrices, and the messages about them.

mod common;

use bandsolve::RealScalar;
use bandsolve_capi::*;
use common::Family::{Banded, Blocks, Tridiagonal};
use common::*;
use core::ffi::CStr;
use core::ptr::{null, null_mut};

const INVALID: Status = Status::BANDSOLVE_INVALID_ARGUMENT;

fn expect(status: Status, expected: Status, words: &[&str]) {
    assert_eq!(status, expected, "{}", message());
    let message = message();
    assert!(words.iter().all(|word| message.contains(word)), "{message}, expected {words:?}");
}

fn null_pointers<T: Api>() {
    for family in FAMILIES {
        let system = System::<T>::random(family, 5, 2);
        let mut x = vec![T::ONE; system.rhs.len()];
        let (arrays, names) = match family {
            Banded { .. } => (1, ["bands", "", ""]),
            _ => (3, ["sub", "diag", "sup"]),
        };
        for k in 0..arrays {
            let mut matrix = system.pointers();
            matrix[k] = null();
            // SAFETY: null is checked, all else is as it should be.
            let status = unsafe {
                family.solve(CallSizes::new(3, 5, 2), matrix, (x.as_mut_ptr(), system.rhs.as_ptr()), null_mut())
            };
            expect(status, INVALID, &[names[k], "null"]);
        }
        // SAFETY: as above.
        unsafe {
            let status =
                family.solve(CallSizes::new(3, 5, 2), system.pointers(), (null_mut(), system.rhs.as_ptr()), null_mut());
            expect(status, INVALID, &["x is null"]);
            let status = family.solve(CallSizes::new(3, 5, 2), system.pointers(), (x.as_mut_ptr(), null()), null_mut());
            expect(status, INVALID, &["rhs is null"]);
            expect(family.size::<T>(3, 5, 2, null_mut()), INVALID, &["size is null"]);
            // Empty arrays may be null.
            let none = [null(); 3];
            expect(
                family.solve::<T>(CallSizes::new(3, 0, 2), none, (null_mut(), null()), null_mut()),
                Status::BANDSOLVE_SUCCESS,
                &[],
            );
            let matrix = system.pointers();
            expect(
                family.solve(CallSizes::new(3, 5, 0), matrix, (null_mut(), null()), null_mut()),
                Status::BANDSOLVE_SUCCESS,
                &[],
            );
        }
        assert!(x.iter().all(|v| *v == T::ONE), "nothing was written");
    }
}

fn sizes<T: Api>() {
    let none = ([null(); 3], (null_mut(), null()), null_mut());
    for family in FAMILIES {
        for (n, n_rhs, word) in [(-1, 1, "n is -1"), (i64::MIN, 1, "n is"), (3, -2, "n_rhs is -2")] {
            let mut size = 77;
            // SAFETY: no pointer is looked at before sizes are checked.
            unsafe {
                expect(family.size::<T>(3, n, n_rhs, &mut size), INVALID, &[word]);
                expect(family.solve::<T>(CallSizes::new(3, n, n_rhs), none.0, none.1, none.2), INVALID, &[word]);
            }
            assert_eq!(size, 77);
        }
        for (n, n_rhs) in [(i64::MAX, 1), (i64::MAX, i64::MAX), (1 << 40, 1 << 40)] {
            let mut size = 77;
            // SAFETY: as above.
            unsafe {
                expect(family.size::<T>(3, n, n_rhs, &mut size), INVALID, &["more than can be addressed"]);
                expect(
                    family.solve::<T>(CallSizes::new(3, n, n_rhs), none.0, none.1, none.2),
                    INVALID,
                    &["more than can be addressed"],
                );
            }
            assert_eq!(size, 77);
        }
        for p in [-1, 4, i32::MAX] {
            // SAFETY: as above.
            expect(unsafe { family.size::<T>(p, 3, 1, &mut 0) }, INVALID, &["p is", "0 to 3"]);
            // SAFETY: as above.
            expect(
                unsafe { family.solve::<T>(CallSizes::new(p, 3, 1), none.0, none.1, none.2) },
                INVALID,
                &["p is", "0 to 3"],
            );
        }
    }
    let wrong = [
        (Blocks { block: 0, cyclic: false }, "block is 0"),
        (Blocks { block: -2, cyclic: true }, "block is -2"),
        (Blocks { block: 1 << 40, cyclic: true }, "more than can be addressed"),
        (Banded { lower: -1, upper: 1 }, "lower is -1"),
        (Banded { lower: 1, upper: -1 }, "upper is -1"),
        (Banded { lower: i64::MAX, upper: i64::MAX }, "more than can be addressed"),
    ];
    for (family, word) in wrong {
        for n in [0, 3] {
            // SAFETY: as above.
            let status = unsafe { family.size::<T>(3, n, 1, &mut 0) };
            // Without rows, the bandwidths have no limit.
            let nothing = n == 0 && matches!(family, Banded { lower: i64::MAX, .. });
            expect(
                status,
                if nothing { Status::BANDSOLVE_SUCCESS } else { INVALID },
                &[if nothing { "" } else { word }],
            );
        }
    }
    // Without rows, the number of right-hand sides has no limit.
    for family in FAMILIES {
        // SAFETY: as above.
        unsafe {
            assert_eq!(family.size::<T>(3, 0, i64::MAX, &mut 0), Status::BANDSOLVE_SUCCESS, "{}", message());
            assert_eq!(
                family.solve::<T>(CallSizes::new(3, 0, i64::MAX), none.0, none.1, none.2),
                Status::BANDSOLVE_SUCCESS
            );
        }
    }
}

fn overlaps<T: Api>() {
    for family in FAMILIES {
        let mut system = System::<T>::random(family, 6, 2);
        let (rows, size) = (family.rows(6), system.buffer_bytes(3));
        let mut memory = vec![T::ONE; 3 * rows];
        let start = memory.as_mut_ptr();
        let mut buffer = vec![0_u8; size + 64];
        // SAFETY: arrays that overlap are refused before they are touched; all are as large as they should be.
        unsafe {
            let sides = (start.add(1), start.cast_const());
            expect(
                family.solve(CallSizes::new(3, 6, 2), system.pointers(), sides, null_mut()),
                INVALID,
                &["x overlaps rhs"],
            );
            let sides = (start, start.add(2 * rows - 1).cast_const());
            expect(
                family.solve(CallSizes::new(3, 6, 1), system.pointers(), sides, null_mut()),
                Status::BANDSOLVE_SUCCESS,
                &[],
            );
            let sides = (start, start.add(rows - 1).cast_const());
            expect(
                family.solve(CallSizes::new(3, 6, 1), system.pointers(), sides, null_mut()),
                INVALID,
                &["x overlaps rhs"],
            );
            for k in 0..if matches!(family, Banded { .. }) { 1 } else { 3 } {
                let last = system.matrix[k].len() - 1;
                let x = system.matrix[k].as_mut_ptr().add(last);
                let status = family.solve(CallSizes::new(3, 6, 1), system.pointers(), (x, start), null_mut());
                expect(status, INVALID, &["x overlaps"]);
            }
            let x = buffer.as_mut_ptr().cast::<T>();
            let x = x.byte_add(x.align_offset(align_of::<T>()) * size_of::<T>());
            let status =
                family.solve(CallSizes::new(3, 6, 2), system.pointers(), (x, start), buffer.as_mut_ptr().cast());
            expect(status, Status::BANDSOLVE_INVALID_BUFFER, &["buffer overlaps x"]);
            let inside = system.matrix[0].as_mut_ptr().cast();
            let status = family.solve(CallSizes::new(3, 6, 1), system.pointers(), (start, start), inside);
            expect(status, Status::BANDSOLVE_INVALID_BUFFER, &["buffer overlaps"]);
            let odd = start.byte_add(1);
            let status = family.solve(CallSizes::new(3, 6, 1), system.pointers(), (odd, odd), null_mut());
            expect(status, INVALID, &["not aligned"]);
        }
    }
}

fn not_finite<T: Api>() {
    let bad = T::from_real(T::Real::NAN);
    for family in FAMILIES {
        // The size is sufficient for every method that `auto` chooses by size.
        for n in [6, 300] {
            let system = System::<T>::random(family, n, 2);
            let at = family.matrix_len(n) / 2;
            for (k, name) in ["sub", "diag", "sup", "rhs"].iter().enumerate() {
                let mut broken = system.clone();
                let (name, at) = match family {
                    _ if k == 3 => (*name, broken.rhs.len() - 2),
                    Banded { .. } if k == 0 => ("bands", at),
                    Banded { .. } => continue,
                    _ => (*name, at),
                };
                if k == 3 {
                    broken.rhs[at] = bad
                } else {
                    broken.matrix[k][at] = bad
                }
                let mut x = vec![T::ZERO; system.rhs.len()];
                let expected = format!("{name}[{at}] is not finite");
                expect(broken.solve(3, &mut x, false, None), Status::BANDSOLVE_NOT_FINITE, &[&expected]);
                expect(broken.solve(3, &mut x, true, None), Status::BANDSOLVE_NOT_FINITE, &[&expected]);
            }
        }
    }
}

fn singular<T: Api>() {
    for family in FAMILIES {
        for n in [6, 300] {
            let mut system = System::<T>::random(family, n, 1);
            for array in &mut system.matrix {
                array.fill(T::ZERO);
            }
            let mut x = vec![T::ZERO; system.rhs.len()];
            expect(system.solve(3, &mut x, false, None), Status::BANDSOLVE_SINGULAR, &["singular", "row 0"]);
            let (report, method) = report();
            assert!(report.backward_error.is_nan() && !method.is_empty());
        }
    }
}

/// In every function.
fn panics_are_caught<T: Api>() {
    const INTERNAL: Status = Status::BANDSOLVE_INTERNAL_ERROR;
    for family in FAMILIES {
        let system = System::<T>::random(family, 5, 1);
        let mut x = vec![T::ZERO; system.rhs.len()];
        status::plant_panic();
        expect(system.solve(3, &mut x, false, None), INTERNAL, &["internal error: planted by a test"]);
        status::plant_panic();
        // SAFETY: a number.
        expect(unsafe { family.size::<T>(3, 5, 1, &mut 0) }, INTERNAL, &["planted"]);
        // Later calls work.
        expect(system.solve(3, &mut x, false, None), Status::BANDSOLVE_SUCCESS, &[]);
    }
}

/// The largest sizes that can be addressed. The computation of the buffer size does not overflow.
fn limits<T: Api>() {
    for family in FAMILIES {
        let most = isize::MAX as usize / size_of::<T>();
        let (most_n, most_rhs) = (most / family.matrix_len(1), most / family.rows(1));
        for (n, n_rhs) in [(most_n, 1), (most_n / 4, 2), (1, most_rhs), (3, most_rhs / 3), (100, most_rhs / 200)] {
            let mut size = 77;
            // SAFETY: a number.
            let status = unsafe { family.size::<T>(3, n as i64, n_rhs as i64, &mut size) };
            if status == Status::BANDSOLVE_SUCCESS {
                assert!(size >= family.rows(n) * n_rhs * size_of::<T>(), "{family:?}, n = {n}, {n_rhs} columns");
            } else {
                expect(status, INVALID, &["can be addressed"]);
                assert!(size == 77 && n != 100, "{family:?}, n = {n}, {n_rhs} columns");
            }
            // SAFETY: a number.
            let status = unsafe { family.size::<T>(3, (most_n + 1) as i64, 1, &mut size) };
            expect(status, INVALID, &["more than can be addressed"]);
        }
    }
}

for_all_types!(null_pointers, sizes, limits, overlaps, not_finite, singular, panics_are_caught);

/// A solution outside the range of the type.
#[test]
fn not_converged() {
    let mut system = System::<f64>::random(Tridiagonal { cyclic: false }, 20, 1);
    system.matrix[0].fill(0.0);
    system.matrix[1].fill(1e-200);
    system.matrix[2].fill(0.0);
    system.rhs.fill(1e200);
    let mut x = vec![0.0; 20];
    expect(system.solve(3, &mut x, false, None), Status::BANDSOLVE_NOT_CONVERGED, &["backward error"]);
    let said = message();
    assert!(!(report().0.backward_error <= 1e-10) && !report().1.is_empty());
    assert_eq!(message(), said, "asking for the report does not change the message");
}

#[test]
fn panics_in_functions_without_a_type_are_caught() {
    let mut report = report().0;
    let calls: [&dyn Fn(*mut bandsolve_report_t) -> Status; 4] = [
        // SAFETY: a report.
        &|report| unsafe { bandsolveLastReport(report) },
        &|_| bandsolveSetThreads(1),
        &|_| bandsolveSetVerify(1),
        &|_| set_method(c"auto"),
    ];
    for call in calls {
        status::plant_panic();
        expect(call(&mut report), Status::BANDSOLVE_INTERNAL_ERROR, &["planted"]);
        expect(call(&mut report), Status::BANDSOLVE_SUCCESS, &[]);
    }
}

#[test]
fn numbers_are_permanent() {
    let names = |status: i32| {
        // SAFETY: a string that ends with a zero.
        unsafe { CStr::from_ptr(bandsolveStatusName(status)) }.to_str().unwrap()
    };
    let known = [
        "BANDSOLVE_SUCCESS",
        "BANDSOLVE_INVALID_ARGUMENT",
        "BANDSOLVE_NOT_FINITE",
        "BANDSOLVE_SINGULAR",
        "BANDSOLVE_NOT_CONVERGED",
        "BANDSOLVE_UNSUPPORTED",
        "BANDSOLVE_OUT_OF_MEMORY",
        "BANDSOLVE_INVALID_BUFFER",
        "BANDSOLVE_INTERNAL_ERROR",
        "BANDSOLVE_NO_DEVICE",
        "BANDSOLVE_DEVICE_ERROR",
        "BANDSOLVE_NOT_DEFINITE",
        "BANDSOLVE_TOLERANCE_NOT_REACHED",
        "BANDSOLVE_INTERRUPTED",
    ];
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/c-api.md")).unwrap();
    for (number, name) in known.into_iter().enumerate() {
        assert_eq!(names(number as i32), name);
        assert!(page.contains(&format!("| {number} | `{name}` |")), "docs/c-api.md has no line for {name}");
    }
    assert_eq!(Status::ALL.len(), known.len());
    assert_eq!([-1, known.len() as i32, i32::MAX].map(names), ["unknown status"; 3]);
    use bandsolve_pivoting_t::*;
    let pivotings = [
        BANDSOLVE_NO_PIVOTING,
        BANDSOLVE_PARTIAL_PIVOTING,
        BANDSOLVE_SCALED_PARTIAL_PIVOTING,
        BANDSOLVE_DEFAULT_PIVOTING,
    ];
    assert_eq!(pivotings.map(|p| p as i32), [0, 1, 2, 3]);
}

#[test]
fn version() {
    // SAFETY: a string that ends with a zero.
    let version = unsafe { CStr::from_ptr(bandsolveVersion()) };
    assert_eq!(version.to_str(), Ok(env!("CARGO_PKG_VERSION")));
}

#[test]
fn settings_are_checked() {
    expect(bandsolveSetThreads(-1), INVALID, &["threads is -1"]);
    expect(set_method(c"gauss"), INVALID, &["gauss", "rpts, ", "pivoted"]);
    expect(set_method(c"\xff"), INVALID, &["no method"]);
    // SAFETY: null is allowed.
    expect(unsafe { bandsolveSetMethod(null()) }, Status::BANDSOLVE_SUCCESS, &[]);
}

#[test]
fn reports_are_no_larger_than_their_size() {
    #[repr(C)]
    struct Framed(bandsolve_report_t, [u8; 64]);
    let mut framed = Framed(report().0, [7; 64]);
    for (size, expected) in [(0, INVALID), (47, INVALID), (usize::MAX, Status::BANDSOLVE_SUCCESS)] {
        framed.0.size = size;
        // SAFETY: this version writes what it knows, however much room there is said to be.
        assert_eq!(unsafe { bandsolveLastReport(&raw mut framed.0) }, expected, "{}", message());
        assert_eq!((framed.0.size, framed.1), (size, [7; 64]));
    }
    // SAFETY: null is checked.
    expect(unsafe { bandsolveLastReport(null_mut()) }, INVALID, &["report is null"]);
}

/// The report shows that the chosen method failed. Each thread has its own message, report and settings.
#[test]
fn each_thread_has_its_own() {
    assert_eq!(set_method(c"thomas"), Status::BANDSOLVE_SUCCESS);
    let mut system = System::<f64>::random(Tridiagonal { cyclic: false }, 50, 1);
    system.matrix[1].fill(0.0);
    system.matrix[0].fill(1.0);
    system.matrix[2].fill(1.0);
    // The matrix is regular, but every leading minor of odd order is zero.
    system.solution(3);
    assert_eq!((report().0.fallback, report().1.as_str()), (1, "thomas"));
    expect(bandsolveSetThreads(-1), INVALID, &["threads"]);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            assert_eq!((message(), report().1), (String::new(), String::new()));
            assert!(report().0.backward_error.is_nan());
            System::<f64>::random(Tridiagonal { cyclic: false }, 500, 1).solution(3);
            assert!(!report().1.contains("thomas"));
        });
    });
    expect(bandsolveSetThreads(-1), INVALID, &["threads"]);
    assert_eq!(report().1, "thomas");
}

/// After a failed call, the report is not that of the call before.
#[test]
fn reports_are_of_the_last_call() {
    let system = System::<f64>::random(Tridiagonal { cyclic: false }, 50, 1);
    system.solution(3);
    assert!(!report().1.is_empty());
    let mut x = vec![0.0; 50];
    assert_eq!(system.solve(9, &mut x, false, None), INVALID);
    assert!(report().1.is_empty() && report().0.backward_error.is_nan());
}
