//! Callers whose arithmetic is not the standard one: the same bits, and they keep what they had.

use crate::work::{Scale, Task, tasks};
use core::arch::asm;
use std::sync::{Mutex, PoisonError};

/// MXCSR without the flags of exceptions.
fn control() -> u32 {
    let mut word = 0_u32;
    // SAFETY: writes four bytes to `word`.
    unsafe { asm!("stmxcsr [{}]", in(reg) &raw mut word) };
    word & !0x3f
}

fn set_control(word: u32) {
    // SAFETY: no reserved bit is set. Until the usual word is back nothing is computed here.
    unsafe { asm!("ldmxcsr [{}]", in(reg) &raw const word) };
}

/// All exceptions masked, rounding to nearest.
const USUAL: u32 = 0x1f80;
/// Flush to zero and denormals are zero; rounding down, up, towards zero; a trap for every division by zero, overflow and invalid
/// operation.
const OTHERS: [u32; 5] = [USUAL | 0x8040, USUAL | 0x2000, USUAL | 0x4000, USUAL | 0x6000, USUAL & !0x0680];

/// What comes out in this arithmetic of the caller, and of all threads of the pool.
fn run(task: &Task, threads: usize, word: u32) -> Vec<u64> {
    rayon::broadcast(|_| set_control(word));
    set_control(word);
    let found = (task.run)(threads);
    let after = control();
    set_control(USUAL);
    let pool = rayon::broadcast(|_| control());
    assert!(pool.iter().chain([&after]).all(|after| *after == word), "{}: {word:#x}, then {after:#x}", task.name);
    found
}

fn check(scale: Scale, words: &[u32]) {
    // Tests share the threads of the pool.
    static ONE: Mutex<()> = Mutex::new(());
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    for task in tasks(scale) {
        for threads in [1, 2] {
            let expected = run(&task, threads, USUAL);
            assert!(expected.iter().any(|bits| f64::from_bits(*bits) != 0.0), "{}", task.name);
            for word in words {
                assert!(run(&task, threads, *word) == expected, "{}, {threads} threads, {word:#x}", task.name);
            }
        }
    }
}

#[test]
fn numbers_of_usual_size() {
    check(Scale { n: 20_000, rhs: 1.0 }, &OTHERS);
}

#[test]
fn subnormal_numbers() {
    check(Scale { n: 20_000, rhs: 1e-310 }, &OTHERS[..2]);
}
