//! Each allocation fails once, in every family of functions: the status is `BANDSOLVE_OUT_OF_MEMORY`, or the system is solved.

mod common;

use bandsolve::Error;
use bandsolve_capi::*;
use bandsolve_testkit::allocations::{WatchedMemory, fail_each};
use common::{FAMILIES, Family, Status, System, message, set_method};
use core::ffi::c_void;
use core::ptr::null_mut;

#[global_allocator]
static MEMORY: WatchedMemory = WatchedMemory;

/// The arrays of the systems below are larger. Messages and handles are smaller.
const BYTES: usize = 2048;
const P: i32 = 3;

/// The only allowed failure is out of memory.
fn outcome(status: Status) -> Result<(), Error> {
    match status {
        Status::BANDSOLVE_SUCCESS => Ok(()),
        Status::BANDSOLVE_OUT_OF_MEMORY => Err(Error::OutOfMemory { bytes: 0 }),
        other => panic!("{other:?}: {}", message()),
    }
}

/// This file has only one test, because other tests would also allocate while an allocation must fail.
#[test]
fn every_allocation_may_fail() {
    systems();
    methods_by_name();
    sparse_right_hand_sides();
    factors_that_are_kept();
}

fn systems() {
    let wide = [(Family::Banded { lower: 40, upper: 30 }, 200), (Family::Blocks { block: 20, cyclic: false }, 40)];
    for (family, n) in FAMILIES.map(|family| (family, 600)).into_iter().chain(wide) {
        let system = System::<f64>::random(family, n, 2);
        let (expected, mut x) = (system.solution(P), vec![0.0; system.rhs.len()]);
        for in_place in [false, true] {
            let refused = fail_each(&format!("{family:?}"), BYTES, || {
                outcome(system.solve(P, &mut x, in_place, None))?;
                // A method that uses a fallback because of too little memory gives other bits.
                assert!(x.iter().zip(&expected).all(|(x, e)| (x - e).abs() <= 1e-9 * (1.0 + e.abs())), "{family:?}");
                Ok(())
            });
            assert!(refused > 0, "{family:?}: nothing is asked for");
        }
    }
}

fn methods_by_name() {
    let system = System::<f64>::random(Family::Tridiagonal { cyclic: false }, 3000, 1);
    let mut x = vec![0.0; 3000];
    for name in [c"pivoted", c"rpts", c"thomas", c"spike-cr", c"spike-thomas", c"spike-qr", c"cr", c"pcr", c"cf-lu"] {
        assert_eq!(set_method(name), Status::BANDSOLVE_SUCCESS);
        fail_each(&format!("{name:?}"), BYTES, || outcome(system.solve(P, &mut x, false, None)));
    }
    assert_eq!(set_method(c"auto"), Status::BANDSOLVE_SUCCESS);
}

fn sparse_right_hand_sides() {
    let system = System::<f64>::random(Family::Tridiagonal { cyclic: false }, 3000, 2);
    let [sub, diag, sup] = system.pointers();
    let (values, rows, pointers) = ([1.0, 2.0, 3.0], [5, 100, 2999], [0, 1, 3]);
    let (mut x, mut results, mut places) = (vec![0.0; 6000], [0.0; 3], [0; 3]);
    fail_each("gtsv_csc2dense", BYTES, || {
        let (values, rows, pointers) = (values.as_ptr(), rows.as_ptr(), pointers.as_ptr());
        // SAFETY: arrays as long as the sizes say.
        outcome(unsafe {
            bandsolveDgtsv_csc2dense(P, 3000, 2, sub, diag, sup, x.as_mut_ptr(), values, rows, pointers, 3, null_mut())
        })
    });
    fail_each("gtsv_csc2csc", BYTES, || {
        let (values, rows, pointers) = (values.as_ptr(), rows.as_ptr(), pointers.as_ptr());
        let (x, at) = (results.as_mut_ptr(), places.as_mut_ptr());
        // SAFETY: arrays as long as the sizes say.
        outcome(unsafe {
            bandsolveDgtsv_csc2csc(P, 3000, sub, diag, sup, values, rows, pointers, 2, 3, x, at, pointers, 3)
        })
    });
}

fn factors_that_are_kept() {
    for block in [2, 9, 20] {
        let system = System::<f64>::random(Family::Blocks { block, cyclic: false }, 60, 1);
        let [sub, diag, sup] = system.pointers();
        let (rhs, mut x, mut held) = (system.rhs.as_ptr(), vec![0.0; system.rhs.len()], [0_u64; 8]);
        let buffer: *mut c_void = held.as_mut_ptr().cast();
        fail_each(&format!("bgtf, blocks of {block}"), BYTES, || {
            // SAFETY: arrays as long as the sizes say.
            unsafe {
                outcome(bandsolveDbgtf(P, 60, block, sub, diag, sup, buffer))?;
                let solved = bandsolveDbgtrfs(P, 60, 1, block, sub, diag, sup, x.as_mut_ptr(), rhs, buffer, null_mut());
                outcome(bandsolveDbgtf_destroy(buffer))?;
                outcome(solved)
            }
        });
    }
}
