//! The arithmetic that everything is computed in: rounded to nearest, subnormal numbers kept, no traps.
//!
//! A program can set other arithmetic for its threads, and what `-ffast-math` links into it does so unasked; threads hand it on
//! to those that they start. Residuals of numbers that are flushed to zero would be zero, and answers would depend on who asks.

use core::marker::PhantomData;

/// Standard arithmetic on this thread until it is dropped, when the thread gets back what it had before. Exceptions that were
/// raised meanwhile (inexact, overflow, …) stay raised, as after any other function.
#[must_use = "arithmetic is the standard one until this is dropped"]
#[derive(Debug)]
pub struct Standard {
    /// The control word to go back to; `None` if it was the standard one.
    before: Option<control::Word>,
    /// Of this thread alone.
    _here: PhantomData<*const ()>,
}

impl Standard {
    /// Reads the control word, and writes it where it is not the standard one.
    #[inline]
    pub fn enter() -> Self {
        let word = control::get();
        let before = (word & control::CHOICES != control::STANDARD).then_some(word);
        if before.is_some() {
            control::set(word & !control::CHOICES | control::STANDARD);
        }
        Self { before, _here: PhantomData }
    }
}

impl Drop for Standard {
    #[inline]
    fn drop(&mut self) {
        if let Some(before) = self.before {
            control::set(control::get() & !control::CHOICES | before & control::CHOICES);
        }
    }
}

/// MXCSR: flags of exceptions in the lowest six bits, then what can be chosen.
#[cfg(target_arch = "x86_64")]
mod control {
    use core::arch::asm;

    pub type Word = u32;
    pub const CHOICES: Word = 0xffc0;
    /// All exceptions masked.
    pub const STANDARD: Word = 0x1f80;

    #[inline]
    pub fn get() -> Word {
        let mut word = 0;
        // SAFETY: writes four bytes to `word`.
        unsafe { asm!("stmxcsr [{}]", in(reg) &raw mut word, options(nostack, preserves_flags)) };
        word
    }

    #[inline]
    pub fn set(word: Word) {
        // SAFETY: no reserved bit is set: those of `word` come from the register. The compiler takes arithmetic to be the
        // standard one; that of a caller who chose another is given back after everything that was computed here.
        unsafe { asm!("ldmxcsr [{}]", in(reg) &raw const word, options(nostack, preserves_flags)) };
    }
}

/// FPCR; flags of exceptions are in a register of their own.
#[cfg(target_arch = "aarch64")]
mod control {
    use core::arch::asm;

    pub type Word = u64;
    /// Half precision, default NaN, flush to zero, rounding, traps.
    pub const CHOICES: Word = 0x07c8_9f07;
    pub const STANDARD: Word = 0;

    #[inline]
    pub fn get() -> Word {
        let word;
        // SAFETY: reads a register.
        unsafe { asm!("mrs {}, fpcr", out(reg) word, options(nostack, preserves_flags)) };
        word
    }

    #[inline]
    pub fn set(word: Word) {
        // SAFETY: no reserved bit is set: those of `word` come from the register. For the compiler see x86.
        unsafe { asm!("msr fpcr, {}", in(reg) word, options(nostack, preserves_flags)) };
    }
}

/// Other machines are taken at their word.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
mod control {
    pub type Word = u32;
    pub const CHOICES: Word = 0;
    pub const STANDARD: Word = 0;

    #[inline]
    pub fn get() -> Word {
        0
    }

    #[inline]
    pub fn set(_: Word) {}
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::control::{get, set};
    use super::*;
    use std::hint::black_box;

    #[test]
    fn what_the_thread_had_comes_back() {
        let usual = get();
        // Flush to zero, denormals are zero, the three other roundings, a trap for a division by zero.
        for chosen in [usual | 0x8040, usual | 0x2000, usual | 0x4000, usual | 0x6000, usual & !0x0200] {
            set(chosen);
            let inside = {
                let _mode = Standard::enter();
                _ = black_box(1.0 / black_box(0.0));
                (get(), black_box(1e-310) * black_box(0.5))
            };
            let after = get();
            let thrown = std::panic::catch_unwind(|| {
                let _mode = Standard::enter();
                std::panic::resume_unwind(Box::new(()));
            });
            let unwound = get();
            set(usual);
            assert_eq!(inside.0 & control::CHOICES, control::STANDARD);
            assert_eq!(inside.1, 5e-311);
            assert_eq!(after & control::CHOICES, chosen & control::CHOICES);
            assert_eq!(after & 4, 4, "a division by zero was raised");
            assert!(thrown.is_err() && unwound == after);
        }
    }
}
