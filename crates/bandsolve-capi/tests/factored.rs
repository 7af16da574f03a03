//! Block systems that are factored once and solved many times: the same bits in all solves, and errors for misuse.

mod common;

use bandsolve::RealScalar;
use bandsolve_capi::*;
use common::Family::Blocks;
use common::*;
use core::ffi::c_void;
use core::ptr::null_mut;

const P: i32 = 3;
const OK: Status = Status::BANDSOLVE_SUCCESS;

fn factored_once_solved_twice<T: Split>() {
    let (storage, factor, destroy, size, solve) = T::SPLIT;
    for (block, n) in [(1, 300), (2, 5), (2, 700), (4, 300), (8, 150), (12, 40), (20, 9), (3, 0), (3, 1)] {
        let system = System::<T>::random(Blocks { block, cyclic: false }, n, 2);
        let expected = system.solution_by_factors(P);
        // For tridiagonal matrices, the stored factors are others than those of one call. The matrices are dominant by rows, so that both
        // solutions have nearly all digits.
        let (one_call, epsilon) = (system.solution(P), T::Real::EPSILON);
        let distance = |x: &T, y: &T| bandsolve::Scalar::abs(*x - *y) <= T::Real::from_f64(100.0) * epsilon;
        assert!(expected.iter().zip(&one_call).all(|(x, y)| distance(x, y)), "blocks of {block}, n = {n}");
        assert!(block == 1 || expected == one_call, "blocks of {block}, n = {n}");
        let [sub, diag, sup] = system.matrix.each_ref().map(|array| array.as_ptr());
        let (n, rhs) = (n as i64, system.rhs.as_ptr());
        let mut bytes = [0, 0];
        // SAFETY: arrays as long as the sizes say; factors are used before they are destroyed.
        unsafe {
            assert_eq!(storage(P, n, block, &mut bytes[0]), OK);
            assert_eq!(size(P, n, 2, block, &mut bytes[1]), OK);
            let (mut held, mut scratch) = (vec![0xa5_u8; bytes[0] + 3], vec![0xff_u8; bytes[1]]);
            // The buffer may have any alignment.
            let held = held[3..].as_mut_ptr().cast::<c_void>();
            assert_eq!(factor(P, n, block, sub, diag, sup, held), OK, "{}", message());
            for buffer in [scratch.as_mut_ptr().cast(), null_mut()] {
                let mut x = vec![T::ZERO; expected.len()];
                let status = solve(P, n, 2, block, sub, diag, sup, x.as_mut_ptr(), rhs, held, buffer);
                assert_eq!((status, message()), (OK, String::new()));
                assert!(x == expected, "blocks of {block}, n = {n}");
                // Solve in place.
                x.copy_from_slice(&system.rhs);
                let own = x.as_mut_ptr();
                assert_eq!(solve(P, n, 2, block, sub, diag, sup, own, own, held, buffer), OK);
                assert!(x == expected, "blocks of {block}, n = {n}, in place");
            }
            assert_eq!(destroy(held), OK);
        }
    }
}

for_all_types!(factored_once_solved_twice);

#[test]
fn misuse_is_told() {
    let system = System::<f64>::random(Blocks { block: 10, cyclic: false }, 20, 1);
    let [sub, diag, sup] = system.matrix.each_ref().map(|array| array.as_ptr());
    let (rhs, mut x) = (system.rhs.as_ptr(), vec![0.0; 200]);
    let x = x.as_mut_ptr();
    let mut held = [0_u64; 8];
    let held: *mut c_void = held.as_mut_ptr().cast();
    // SAFETY: arrays as long as the sizes say; what is wrong is refused before anything is read.
    unsafe {
        let solve = |p, n, sub, held| bandsolveDbgtrfs(p, n, 1, 10, sub, diag, sup, x, rhs, held, null_mut());
        assert_eq!(solve(P, 20, sub, held), Status::BANDSOLVE_INVALID_BUFFER, "not filled yet");
        assert_eq!(bandsolveDbgtf_destroy(held), Status::BANDSOLVE_INVALID_BUFFER);
        assert_eq!(bandsolveDbgtf_destroy(null_mut()), OK);
        let null = bandsolveDbgtf(P, 20, 10, sub, diag, sup, null_mut());
        assert_eq!(
            (null, message().contains("factorization_buffer is null")),
            (Status::BANDSOLVE_INVALID_ARGUMENT, true)
        );
        assert_eq!(bandsolveDbgtf(P, 20, 10, sub, diag, sup, sub.cast_mut().cast()), Status::BANDSOLVE_INVALID_BUFFER);
        assert_eq!(bandsolveDbgtf(P, -1, 10, sub, diag, sup, held), Status::BANDSOLVE_INVALID_ARGUMENT);

        assert_eq!(bandsolveDbgtf(P, 20, 10, sub, diag, sup, held), OK);
        assert_eq!(solve(P, 19, sub, held), Status::BANDSOLVE_INVALID_ARGUMENT);
        assert_eq!(solve(0, 20, sub, held), Status::BANDSOLVE_INVALID_ARGUMENT);
        assert_eq!(solve(P, 20, diag, held), Status::BANDSOLVE_INVALID_ARGUMENT);
        assert!(message().contains("differs from the call of bgtf"), "{}", message());
        let (single, out) = (sub.cast::<f32>(), x.cast::<f32>());
        let other = bandsolveSbgtrfs(P, 20, 1, 10, single, single, single, out, rhs.cast(), held, null_mut());
        assert_eq!((other, message().contains("number type")), (Status::BANDSOLVE_INVALID_BUFFER, true));
        assert_eq!(solve(P, 20, sub, held), OK);
        // The contents of the buffer identify the factors, also after a move. A second destroy is an error.
        let mut moved = [0_u64; 8];
        moved.copy_from_slice(core::slice::from_raw_parts(held.cast::<u64>(), 8));
        assert_eq!(solve(P, 20, sub, moved.as_mut_ptr().cast()), OK);
        assert_eq!(bandsolveDbgtf_destroy(held), OK);
        assert_eq!(bandsolveDbgtf_destroy(held), Status::BANDSOLVE_INVALID_BUFFER);
        // The old copy of a moved buffer refers to no factors.
        let moved = moved.as_mut_ptr().cast::<c_void>();
        assert_eq!(bandsolveDbgtf_destroy(moved), Status::BANDSOLVE_INVALID_BUFFER);
        assert_eq!(solve(P, 20, sub, moved), Status::BANDSOLVE_INVALID_BUFFER);
    }
}

/// Get the number of bytes that this process uses.
#[cfg(target_os = "linux")]
fn resident() -> usize {
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap();
    pages.split(' ').nth(1).unwrap().parse::<usize>().unwrap() * 4096
}

/// Factors that are at least as large as the matrix (19 MB), 40 times in the same buffer. Then a buffer that was moved, and keeps its factors.
#[cfg(target_os = "linux")]
#[test]
fn a_buffer_that_is_filled_again() {
    let system = System::<f64>::random(Blocks { block: 40, cyclic: false }, 500, 1);
    let [sub, diag, sup] = system.matrix.each_ref().map(|array| array.as_ptr());
    let (rhs, mut x) = (system.rhs.as_ptr(), vec![0.0; 500 * 40]);
    let (mut held, mut moved) = ([0_u64; 8], [0_u64; 8]);
    let (buffer, other): (*mut c_void, *mut c_void) = (held.as_mut_ptr().cast(), moved.as_mut_ptr().cast());
    // SAFETY: arrays as long as the sizes say; no two buffers overlap.
    unsafe {
        let fill = || assert_eq!(bandsolveDbgtf(P, 500, 40, sub, diag, sup, buffer), OK, "{}", message());
        fill();
        fill();
        let before = resident();
        (0..40).for_each(|_| fill());
        let grown = resident().saturating_sub(before);
        // Half of the memory of all factors.
        assert!(grown < 20 * 3 * 500 * 40 * 40 * 8, "{grown} bytes more");
        let mut solve = |held| bandsolveDbgtrfs(P, 500, 1, 40, sub, diag, sup, x.as_mut_ptr(), rhs, held, null_mut());
        core::ptr::copy_nonoverlapping(buffer.cast::<u64>(), other.cast::<u64>(), 8);
        assert_eq!(solve(other), OK);
        fill();
        assert_eq!([solve(other), solve(buffer)], [OK, OK]);
        assert_eq!([bandsolveDbgtf_destroy(buffer), bandsolveDbgtf_destroy(other)], [OK, OK]);
    }
}

/// A failed factorization stores no factors. A solve reports a singular matrix.
#[test]
fn broken_matrices() {
    let (n, block) = (30, 9);
    let zeros = vec![0.0; n * block * block];
    let mut held = [0_u64; 8];
    let (held, mut x): (*mut c_void, _) = (held.as_mut_ptr().cast(), vec![0.0; n * block]);
    let rhs = vec![1.0; n * block];
    let (n, block, a) = (n as i64, block as i64, zeros.as_ptr());
    // SAFETY: arrays as long as the sizes say.
    unsafe {
        assert_eq!(bandsolveDbgtf(P, n, block, a, a, a, held), OK);
        let status = bandsolveDbgtrfs(P, n, 1, block, a, a, a, x.as_mut_ptr(), rhs.as_ptr(), held, null_mut());
        assert_eq!(status, Status::BANDSOLVE_SINGULAR);
        assert_eq!(bandsolveDbgtf_destroy(held), OK);
    }
}
