//! The floating-point mode of all computations: round to nearest, keep subnormal numbers, no traps.
//!
//! A program can set another mode for its threads. Libraries that were built with `-ffast-math` do so without notice,
//! and new threads inherit the mode. If subnormal numbers were flushed to zero, small residuals would be zero, and
//! results would depend on the caller's mode.

use core::marker::PhantomData;

/// A guard that sets the standard floating-point mode on this thread. When it is dropped, the thread returns to its
/// previous mode.
///
/// Exceptions that were raised meanwhile (inexact, overflow, …) remain raised, as after any other function.
#[must_use = "the standard mode ends when this guard is dropped"]
#[derive(Debug)]
pub struct Standard {
    /// The previous control word, or `None` if it was the standard one.
    before: Option<control::Word>,
    /// The guard belongs to one thread.
    _here: PhantomData<*const ()>,
}

impl Standard {
    /// Read the control word, and write it if it is not the standard one.
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

/// MXCSR: exception flags in the lowest six bits, then the mode.
#[cfg(target_arch = "x86_64")]
mod control {
    use core::arch::asm;

    pub type Word = u32;
    pub const CHOICES: Word = 0xffc0;
    /// All exceptions are masked.
    pub const STANDARD: Word = 0x1f80;

    #[inline]
    pub fn get() -> Word {
        let mut word = 0;
        // SAFETY: this writes four bytes to `word`.
        unsafe { asm!("stmxcsr [{}]", in(reg) &raw mut word, options(nostack, preserves_flags)) };
        word
    }

    #[inline]
    pub fn set(word: Word) {
        // SAFETY: no reserved bit is set, because those of `word` come from the register. The compiler assumes the
        // standard mode. The caller's mode is restored after everything that was computed here.
        unsafe { asm!("ldmxcsr [{}]", in(reg) &raw const word, options(nostack, preserves_flags)) };
    }
}

/// FPCR. The exception flags are in a separate register.
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
        // SAFETY: this reads a register.
        unsafe { asm!("mrs {}, fpcr", out(reg) word, options(nostack, preserves_flags)) };
        word
    }

    #[inline]
    pub fn set(word: Word) {
        // SAFETY: no reserved bit is set, because those of `word` come from the register. For the compiler, see x86.
        unsafe { asm!("msr fpcr, {}", in(reg) word, options(nostack, preserves_flags)) };
    }
}

/// Other machines are assumed to be in standard mode.
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

#[cfg(all(test, any(target_arch = "x86_64", target_arch = "aarch64")))]
mod tests {
    use super::control::{Word, get, set};
    use super::*;
    use std::hint::black_box;

    /// Flush to zero, denormals are zero, the three other rounding modes, and a trap for division by zero.
    #[cfg(target_arch = "x86_64")]
    fn other_modes(usual: Word) -> [Word; 5] {
        [usual | 0x8040, usual | 0x2000, usual | 0x4000, usual | 0x6000, usual & !0x0200]
    }

    /// Flush to zero, and the three other rounding modes. Few processors have traps.
    #[cfg(target_arch = "aarch64")]
    fn other_modes(usual: Word) -> [Word; 4] {
        [usual | 1 << 24, usual | 1 << 22, usual | 2 << 22, usual | 3 << 22]
    }

    #[test]
    fn what_the_thread_had_comes_back() {
        let usual = get();
        for chosen in other_modes(usual) {
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
            // Elsewhere, exceptions are in another register.
            if cfg!(target_arch = "x86_64") {
                assert_eq!(after & 4, 4, "a division by zero was raised");
            }
            assert!(thrown.is_err() && unwound == after);
        }
    }
}
