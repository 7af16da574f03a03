//! Reports of invalid arguments, to the program's own `xerbla_` if it has one.

use crate::Int;
use std::io::{Write, stderr};

/// Report that argument `index` (from 1) of `routine` is invalid.
///
/// If the program or one of its libraries defines LAPACK's `xerbla_`, this function calls it with the routine's name
/// and the length of the name. Otherwise it writes LAPACK's message to standard error, and the routine returns to its
/// caller.
pub fn xerbla(routine: &str, index: Int) {
    match theirs() {
        // SAFETY: LAPACK's interface is `xerbla_(SRNAME, INFO)`, followed by the length of the name.
        Some(report) => unsafe { report(routine.as_ptr(), &index, routine.len()) },
        // If the message cannot be written, the caller still has INFO.
        None => _ = writeln!(stderr(), " ** On entry to {routine} parameter number {index:2} had an illegal value"),
    }
}

type Xerbla = unsafe extern "C" fn(*const u8, *const Int, usize);

// A weak reference. The linker or the loader fills in the address of the first `xerbla_` that it finds. This is the
// program's own one if it has one, and 0 if there is none.
#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
core::arch::global_asm!(
    ".weak xerbla_",
    ".pushsection .data.rel.ro.bandsolve_xerbla,\"aw\",@progbits",
    ".p2align 3",
    ".globl bandsolve_xerbla_address",
    ".hidden bandsolve_xerbla_address",
    "bandsolve_xerbla_address:",
    ".8byte xerbla_",
    ".popsection",
);

#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
fn theirs() -> Option<Xerbla> {
    unsafe extern "C" {
        static bandsolve_xerbla_address: Option<Xerbla>;
    }
    // SAFETY: the loader wrote this word before any code of this library runs; 0 is `None`.
    unsafe { bandsolve_xerbla_address }
}

#[cfg(not(all(target_os = "linux", target_pointer_width = "64")))]
fn theirs() -> Option<Xerbla> {
    None
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::fs::File;
    use std::process::{Command, Stdio};

    /// Run in a separate process whose standard error cannot be written.
    #[test]
    fn a_report_that_nobody_takes_is_dropped() {
        const CHILD: &str = "BANDSOLVE_XERBLA_TEST";
        if std::env::var_os(CHILD).is_some() {
            return super::xerbla("DGTSV", 1);
        }
        let full = File::options().write(true).open("/dev/full").unwrap();
        let mut child = Command::new(std::env::current_exe().unwrap());
        child.args(["xerbla::tests::a_report_that_nobody_takes_is_dropped", "--exact", "--nocapture"]).env(CHILD, "1");
        assert!(child.stderr(full).stdout(Stdio::null()).status().unwrap().success());
    }
}
