//! Loops compiled for wider vectors than every machine has, where this one has them.
//!
//! Nothing is fused or reordered, so results are the same bit for bit.

/// Work whose loops gain from wide vectors. `run` and all that it calls in its loops must be `#[inline(always)]`: what is not
/// inlined is compiled for the narrow ones.
pub trait WideJob {
    /// What comes out.
    type Output;
    /// Does the work.
    fn run(self) -> Self::Output;
}

/// Runs a job on the widest vectors of this machine.
#[inline]
pub fn run<J: WideJob>(job: J) -> J::Output {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: the machine has these instructions.
        return unsafe { run_avx2(job) };
    }
    job.run()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn run_avx2<J: WideJob>(job: J) -> J::Output {
    job.run()
}
