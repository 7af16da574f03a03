//! Loops that are compiled for wide vectors, which run if the machine has them.
//!
//! No operation is fused or reordered, so the results are the same, bit for bit.

/// A computation whose loops are faster with wide vectors.
///
/// `run` and all functions that it calls in its loops must be `#[inline(always)]`. Other functions are compiled for
/// narrow vectors.
pub trait WideJob {
    /// The result.
    type Output;
    /// Do the computation.
    fn run(self) -> Self::Output;
}

/// Run a job with the widest vectors of this machine.
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
