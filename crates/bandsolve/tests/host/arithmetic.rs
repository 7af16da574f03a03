//! Callers with a nonstandard floating-point mode get the same bits, and keep their mode.

use crate::work::{Scale, Task, tasks};
use core::arch::asm;
use std::sync::{Mutex, PoisonError};

/// The register MXCSR without exception flags.
fn control() -> u32 {
    let mut word = 0_u32;
    // SAFETY: the instruction writes four bytes to `word`.
    unsafe { asm!("stmxcsr [{}]", in(reg) &raw mut word) };
    word & !0x3f
}

fn set_control(word: u32) {
    // SAFETY: no reserved bit is set. Nothing is computed on this thread until the usual mode is restored.
    unsafe { asm!("ldmxcsr [{}]", in(reg) &raw const word) };
}

/// All exceptions masked, rounding to nearest.
const USUAL: u32 = 0x1f80;
/// Other modes: flush to zero and denormals are zero; rounding down, up and towards zero; traps for division by zero, overflow and invalid
/// operations.
const OTHERS: [u32; 5] = [USUAL | 0x8040, USUAL | 0x2000, USUAL | 0x4000, USUAL | 0x6000, USUAL & !0x0680];

/// Run a task with this mode in the caller and in all threads of the pool.
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
