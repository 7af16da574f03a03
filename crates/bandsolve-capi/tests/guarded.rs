//! Buffers of the queried size, followed by protected memory. The functions never write past the end, for all settings of the threads that query
//! the size, factor and solve.
#![cfg(unix)]

mod common;

use bandsolve::Method;
use bandsolve_capi::*;
use bandsolve_gallery::Random;
use common::Family::{Banded, Blocks, Tridiagonal};
use common::*;
use core::ffi::c_void;
use core::ptr::null_mut;
use std::ffi::CString;
use std::thread;

/// Bytes at the end of a page, followed by a page without access.
struct Guarded {
    pages: *mut c_void,
    mapped: usize,
    start: *mut c_void,
}

impl Guarded {
    fn new(bytes: usize) -> Self {
        // SAFETY: asks for a number, for fresh pages, and takes the rights from the last of them.
        unsafe {
            let page = libc::sysconf(libc::_SC_PAGESIZE) as usize;
            let used = bytes.next_multiple_of(page);
            let (rights, kind) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
            let pages = libc::mmap(null_mut(), used + page, rights, kind, -1, 0);
            assert!(pages != libc::MAP_FAILED);
            assert_eq!(libc::mprotect(pages.byte_add(used), page, libc::PROT_NONE), 0);
            Self { pages, mapped: used + page, start: pages.byte_add(used - bytes) }
        }
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        // SAFETY: mapped in `new`, and nobody uses them any more.
        unsafe { libc::munmap(self.pages, self.mapped) };
    }
}

/// Get a random number below `n`.
fn any(random: &mut Random, n: usize) -> usize {
    (random.bits() % n as u64) as usize
}

/// Set random settings. Return whether the results equal those of the default settings, bit for bit.
fn set_anything(random: &mut Random) -> bool {
    let methods: Vec<_> = Method::ALL.into_iter().filter(|method| !method.needs_definite()).collect();
    let method = if any(random, 2) == 0 { Method::Auto } else { methods[any(random, methods.len())] };
    let (threads, verify) = ([0, 1, 2, 3, 50][any(random, 5)], any(random, 3) > 0);
    assert_eq!(set_method(&CString::new(method.name()).unwrap()), Status::BANDSOLVE_SUCCESS);
    assert_eq!(bandsolveSetThreads(threads), Status::BANDSOLVE_SUCCESS);
    assert_eq!(bandsolveSetVerify(u8::from(verify)), Status::BANDSOLVE_SUCCESS);
    method == Method::Auto
}

/// A system, its buffer size for the smallest settings, and x for the default settings: of one call, and of factors.
struct Known<T> {
    system: System<T>,
    bytes: usize,
    x: Vec<T>,
    by_factors: Vec<T>,
}

/// Sizes that are large enough for several threads, and for every method that `auto` chooses.
const SYSTEMS: [(Family, usize, usize); 11] = [
    (Tridiagonal { cyclic: false }, 60, 1),
    (Tridiagonal { cyclic: false }, 40_000, 1),
    (Tridiagonal { cyclic: true }, 30_000, 5),
    (Blocks { block: 1, cyclic: false }, 20_000, 1),
    (Blocks { block: 2, cyclic: false }, 9000, 3),
    (Blocks { block: 3, cyclic: true }, 100, 1),
    (Blocks { block: 6, cyclic: false }, 1000, 2),
    (Blocks { block: 11, cyclic: false }, 50, 2),
    (Banded { lower: 2, upper: 1 }, 20_000, 2),
    (Banded { lower: 5, upper: 9 }, 9000, 1),
    (Banded { lower: 20, upper: 3 }, 900, 1),
];

/// Solve with the current settings. A block tridiagonal matrix is factored with other settings.
fn solve_guarded<T: Split>(known: &Known<T>, p: i32, random: &mut Random) {
    let Known { system, bytes, x: expected, by_factors } = known;
    let mut expected = expected;
    let (n, n_rhs) = (system.n as i64, system.n_rhs as i64);
    let (buffer, [sub, diag, sup]) = (Guarded::new(*bytes), system.pointers());
    let mut x = system.rhs.clone();
    let in_place = any(random, 2) == 0;
    let rhs = if in_place { x.as_ptr() } else { system.rhs.as_ptr() };
    let x_pointer = x.as_mut_ptr();
    let mut as_usual = set_anything(random);
    // SAFETY: arrays as long as the sizes say; factors are used before they are destroyed.
    let status = unsafe {
        match system.family {
            Blocks { block, cyclic: false } if any(random, 2) == 0 => {
                expected = by_factors;
                let (storage, factor, destroy, _, solve) = T::SPLIT;
                let mut held_bytes = 0;
                storage(p, n, block, &mut held_bytes);
                let held = Guarded::new(held_bytes);
                let mut status = factor(p, n, block, sub, diag, sup, held.start);
                if status == Status::BANDSOLVE_SUCCESS {
                    set_anything(random);
                    // The solve uses the method of the factors, but the current method must also support the system.
                    set_method(c"auto");
                    let (held, buffer) = (held.start, buffer.start);
                    status = solve(p, n, n_rhs, block, sub, diag, sup, x_pointer, rhs, held, buffer);
                    assert_eq!(destroy(held), Status::BANDSOLVE_SUCCESS);
                }
                status
            }
            family => family.solve(CallSizes { p, n, n_rhs }, [sub, diag, sup], (x_pointer, rhs), buffer.start),
        }
    };
    // A method that is set by name does not solve every kind of system.
    as_usual &= status == Status::BANDSOLVE_SUCCESS;
    let refused = status == Status::BANDSOLVE_UNSUPPORTED;
    let what = format!("{:?}, n = {n}: {status:?}, {}", system.family, message());
    assert!(status == Status::BANDSOLVE_SUCCESS || refused, "{what}");
    assert!(!as_usual || x == *expected, "{what}");
}

/// Number of threads that solve at the same time, and number of solves per thread.
const THREADS: u64 = 3;
const STEPS: usize = 60;

fn nothing_is_written_past_the_end<T: Split>() {
    const P: i32 = 3;
    let known = SYSTEMS.map(|(family, n, n_rhs)| {
        let system = System::<T>::random(family, n, n_rhs);
        let x = system.solution(P);
        let has_factors = matches!(family, Blocks { cyclic: false, .. });
        let by_factors = if has_factors { system.solution_by_factors(P) } else { Vec::new() };
        // The smallest settings.
        assert_eq!(bandsolveSetThreads(1), Status::BANDSOLVE_SUCCESS);
        assert_eq!(bandsolveSetVerify(0), Status::BANDSOLVE_SUCCESS);
        let bytes = system.buffer_bytes(P);
        assert_eq!(bandsolveSetThreads(0), Status::BANDSOLVE_SUCCESS);
        assert_eq!(bandsolveSetVerify(1), Status::BANDSOLVE_SUCCESS);
        Known { system, bytes, x, by_factors }
    });
    let work = |seed: u64| {
        let random = &mut Random::new(seed);
        for _ in 0..STEPS {
            let known = &known[any(random, known.len())];
            set_anything(random);
            set_method(c"auto");
            assert_eq!(known.system.buffer_bytes(P), known.bytes, "{:?}", known.system.family);
            solve_guarded(known, P, random);
        }
    };
    thread::scope(|scope| {
        (0..THREADS).for_each(|seed| drop(scope.spawn(move || work(seed))));
    });
}

for_all_types!(nothing_is_written_past_the_end);
