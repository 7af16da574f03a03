//! Every function of every number type solves systems, in the memory of the caller.

mod common;

use bandsolve::{Method, Shape};
use bandsolve_capi::*;
use bandsolve_gallery::oracle::{MatrixRows, backward_error};
use bandsolve_testkit::conformance::{epsilon, rounding};
use common::Family::{Banded, Blocks, Tridiagonal};
use common::*;
use std::ffi::CString;

/// The limit of the accuracy contract, 8ε, computed in working precision.
fn check_good<T: Api>(system: &System<T>, x: &[T]) {
    let rows = system.family.rows(system.n);
    let entries = system.bandwidths().0 + system.bandwidths().1 + 1;
    let good = 8.0 * epsilon::<T>() + rounding::<T>(entries);
    for (rhs, x) in system.rhs.chunks(rows.max(1)).zip(x.chunks(rows.max(1))) {
        let eta = backward_error(system, rhs, x);
        assert!(eta <= good, "{:?}, n = {}: {eta:e}", system.family, system.n);
    }
}

/// The result has the same bits in place and out of place, with a buffer of exactly the queried size at any alignment, and without a buffer. The
/// functions write nothing outside their arrays.
fn every_way_gives_the_same<T: Api>(system: &System<T>, p: i32) {
    let expected = system.solution(p);
    check_good(system, &expected);
    let size = system.buffer_bytes(p);
    for (in_place, offset) in [(false, Some(1)), (true, Some(0)), (true, Some(13)), (true, None)] {
        // Memory from malloc can have any contents.
        let mut memory = vec![0xff_u8; size + 64];
        let mut x = vec![T::ZERO; expected.len()];
        let buffer = offset.map(|offset| &mut memory[offset..offset + size]);
        let status = system.solve(p, &mut x, in_place, buffer);
        let what = format!("{:?}, n = {}, {} right-hand sides", system.family, system.n, system.n_rhs);
        assert_eq!((status, message()), (Status::BANDSOLVE_SUCCESS, String::new()), "{what}");
        assert!(x == expected, "{what}, in place: {in_place}, offset {offset:?}");
        let offset = offset.unwrap_or(0);
        assert!(memory[..offset].iter().chain(&memory[offset + size..]).all(|byte| *byte == 0xff), "{what}");
    }
    let (report, method) = report();
    assert!(report.backward_error <= 8.0 * epsilon::<T>() && report.fallback == 0 && !method.is_empty());
}

fn sizes_and_pivotings<T: Api>() {
    for family in FAMILIES {
        for (n, n_rhs) in [(0, 2), (1, 1), (2, 3), (3, 0), (17, 1), (129, 5), (1500, 2)] {
            for p in 0..4 {
                every_way_gives_the_same(&System::<T>::random(family, n, n_rhs), p);
            }
        }
    }
}

fn large_and_wide<T: Api>() {
    for (family, n) in [
        (Tridiagonal { cyclic: false }, 70_000),
        (Tridiagonal { cyclic: true }, 70_000),
        (Blocks { block: 1, cyclic: true }, 5000),
        (Blocks { block: 11, cyclic: false }, 40),
        (Blocks { block: 9, cyclic: true }, 70),
        (Banded { lower: 0, upper: 0 }, 300),
        (Banded { lower: 20, upper: 3 }, 9000),
        (Banded { lower: 5, upper: 40 }, 10),
    ] {
        every_way_gives_the_same(&System::<T>::random(family, n, 2), 3);
    }
}

/// In buffers of one size, for all settings.
fn methods_and_settings<T: Api>() {
    for family in [Tridiagonal { cyclic: true }, Blocks { block: 3, cyclic: false }, Banded { lower: 2, upper: 3 }] {
        let system = System::<T>::random(family, 400, 2);
        let shape = match family {
            Tridiagonal { cyclic } => Shape::Tridiagonal { n: 400, periodic: cyclic },
            Blocks { cyclic, .. } => Shape::BlockTridiagonal { block_rows: 400, block: 3, periodic: cyclic },
            Banded { .. } => Shape::Banded { n: 400, lower: 2, upper: 3 },
        };
        for method in Method::ALL {
            let name = CString::new(method.name()).unwrap();
            assert_eq!(set_method(&name), Status::BANDSOLVE_SUCCESS);
            if !method.solves(shape) {
                let mut x = vec![T::ZERO; system.rhs.len()];
                assert_eq!(system.solve(3, &mut x, false, None), Status::BANDSOLVE_UNSUPPORTED);
                assert!(message().starts_with(&format!("method {} does not solve", method.name())), "{}", message());
                continue;
            }
            if method.needs_definite() {
                let mut x = vec![T::ZERO; system.rhs.len()];
                assert_eq!(system.solve(3, &mut x, false, None), Status::BANDSOLVE_NOT_DEFINITE);
                continue;
            }
            for threads in [1, 3] {
                assert_eq!(bandsolveSetThreads(threads), Status::BANDSOLVE_SUCCESS);
                every_way_gives_the_same(&system, 3);
                let done_by = report().1;
                assert!(method == Method::Auto || done_by == method.name(), "{done_by} for {method:?}");
            }
        }
        assert_eq!(set_method(c"auto"), Status::BANDSOLVE_SUCCESS);
        assert_eq!(bandsolveSetThreads(0), Status::BANDSOLVE_SUCCESS);

        assert_eq!(bandsolveSetVerify(0), Status::BANDSOLVE_SUCCESS);
        let unverified = system.solution(3);
        let (size, mut memory) = (system.buffer_bytes(3), vec![0xff_u8; 1 << 20]);
        let mut x = vec![T::ZERO; unverified.len()];
        assert_eq!(system.solve(3, &mut x, true, Some(&mut memory[3..3 + size])), Status::BANDSOLVE_SUCCESS);
        assert!(x == unverified && report().0.backward_error.is_nan());
        assert_eq!(bandsolveSetVerify(1), Status::BANDSOLVE_SUCCESS);
    }
}

for_all_types!(sizes_and_pivotings, large_and_wide, methods_and_settings);

#[test]
fn threads_do_not_change_a_bit() {
    let system = System::<f64>::random(Tridiagonal { cyclic: false }, 200_000, 1);
    let x = [1, 2, 7, 0].map(|threads| {
        assert_eq!(bandsolveSetThreads(threads), Status::BANDSOLVE_SUCCESS);
        system.solution(3)
    });
    assert!(x.iter().all(|y| *y == x[0]));
}

/// C passes a byte for a `bool`, which can have any value.
#[test]
fn every_byte_is_a_truth_value() {
    let system = System::<f64>::random(Tridiagonal { cyclic: false }, 40, 1);
    for byte in [1, 0, 2, 128, 0, 255] {
        assert_eq!(bandsolveSetVerify(byte), Status::BANDSOLVE_SUCCESS);
        system.solution(3);
        assert_eq!(report().0.backward_error.is_nan(), byte == 0, "{byte}");
    }
}

/// Values of the register MXCSR of the caller: flush to zero with denormals as zero, and rounding down, up, and towards zero.
#[cfg(target_arch = "x86_64")]
#[test]
fn arithmetic_of_the_caller() {
    use core::arch::asm;
    // SAFETY: no reserved bit is set; the usual word is back before anything is computed here.
    let set = |word: u32| unsafe { asm!("ldmxcsr [{}]", in(reg) &raw const word) };
    for family in FAMILIES {
        let mut system = System::<f64>::random(family, 1500, 2);
        system.rhs.iter_mut().for_each(|v| *v *= 1e-310);
        let expected = system.solution(3);
        for word in [0x9fc0, 0x3f80, 0x5f80, 0x7f80] {
            set(word);
            let (x, mut after) = (system.solution(3), 0_u32);
            // SAFETY: writes four bytes to `after`.
            unsafe { asm!("stmxcsr [{}]", in(reg) &raw mut after) };
            set(0x1f80);
            assert_eq!(after & !0x3f, word, "{family:?}");
            assert!(x == expected && x.iter().any(|x| *x != 0.0), "{family:?}, {word:#x}");
        }
    }
}

/// The test runs in a separate process.
#[cfg(target_os = "linux")]
#[test]
fn one_thread_is_one_thread() {
    const CHILD: &str = "BANDSOLVE_ONE_THREAD";
    let count = || std::fs::read_dir("/proc/self/task").unwrap().count();
    if std::env::var_os(CHILD).is_none() {
        let mut child = std::process::Command::new(std::env::current_exe().unwrap());
        child.args(["one_thread_is_one_thread", "--exact"]).env(CHILD, "1").env("RAYON_NUM_THREADS", "3");
        let output = child.output().unwrap();
        return assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    }
    let before = count();
    assert_eq!(bandsolveSetThreads(1), Status::BANDSOLVE_SUCCESS);
    for family in FAMILIES {
        System::<f64>::random(family, 120_000, 2).solution(3);
        assert_eq!(count(), before, "{family:?}");
    }
    assert_eq!(bandsolveSetThreads(0), Status::BANDSOLVE_SUCCESS);
    System::<f64>::random(FAMILIES[0], 120_000, 1).solution(3);
    assert_eq!(count(), before + 3);
}

/// Small systems in the layouts of the header, which distinguish rows from columns.
#[test]
fn layouts_by_hand() {
    // [4 1 0]        x = (1, 2, 3)
    // [2 4 3]
    // [0 1 4]
    let [sub, diag, sup] = [[9.0, 2.0, 1.0], [4.0; 3], [1.0, 3.0, 9.0]];
    let rhs = [6.0, 19.0, 14.0];
    let near = |x: [f64; 3]| x.iter().zip([1.0, 2.0, 3.0]).all(|(x, y)| (x - y).abs() < 1e-14);
    let none = core::ptr::null_mut();
    let mut x = [0.0; 3];
    let (x_pointer, rhs) = (&raw mut x, rhs.as_ptr());
    let bands: [f64; 9] = [sub, diag, sup].as_flattened().try_into().unwrap();
    // SAFETY: arrays of three.
    unsafe {
        let x = x_pointer.cast();
        bandsolveDgtsv(3, 3, 1, sub.as_ptr(), diag.as_ptr(), sup.as_ptr(), x, rhs, none);
        assert!(near(*x_pointer));
        *x_pointer = [0.0; 3];
        bandsolveDgbsv(3, 3, 1, 1, 1, bands.as_ptr(), x, rhs, none);
        assert!(near(*x_pointer));
    }
    // One block row of three rows, column-major.
    let (block, zeros) = ([4.0, 2.0, 0.0, 1.0, 4.0, 1.0, 0.0, 3.0, 4.0], [0.0; 9]);
    // SAFETY: arrays of nine and three.
    unsafe {
        let [sub, diag, sup] = [&zeros, &block, &zeros].map(|array| array.as_ptr());
        *x_pointer = [0.0; 3];
        bandsolveDbgtsv(3, 1, 1, 3, sub, diag, sup, x_pointer.cast(), rhs, none);
        assert!(near(*x_pointer));
    }
}

/// [1 1; 1 1 + ε]·x = (1, −1): x solves the equations to rounding, and has no correct digit.
#[test]
fn solutions_without_a_digit_are_named() {
    for (last, expected) in [(1.0 + f64::EPSILON, true), (3.0, false)] {
        let ([sub, diag, sup], rhs) = ([[0.0, 1.0], [1.0, last], [1.0, 0.0]], [1.0, -1.0]);
        let mut x = [0.0; 2];
        let none = core::ptr::null_mut();
        // SAFETY: arrays of two.
        let status = unsafe {
            bandsolveDgtsv(3, 2, 1, sub.as_ptr(), diag.as_ptr(), sup.as_ptr(), x.as_mut_ptr(), rhs.as_ptr(), none)
        };
        let attention = report().0.attention;
        // SAFETY: the library ends it with a zero.
        let attention = unsafe { core::ffi::CStr::from_ptr(attention.as_ptr()) }.to_str().unwrap();
        assert_eq!(
            (status, attention.contains("no correct digit")),
            (Status::BANDSOLVE_SUCCESS, expected),
            "{attention}"
        );
    }
}
