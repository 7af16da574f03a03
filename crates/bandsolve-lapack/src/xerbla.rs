//! Reports of wrong arguments, to the program's own `xerbla_` if it has one.

use crate::Int;
use std::io::{Write, stderr};

/// Reports that argument `index` (from 1) of `routine` is wrong.
///
/// If the program or a library that it loads defines LAPACK's `xerbla_`, that is called, with the name and its length;
/// else LAPACK's message goes to the standard error output, and the routine returns to its caller.
pub fn xerbla(routine: &str, index: Int) {
    match theirs() {
        // SAFETY: `xerbla_(SRNAME, INFO)` is LAPACK's interface, with the length of the name at the end.
        Some(report) => unsafe { report(routine.as_ptr(), &index, routine.len()) },
        // Where nobody listens, INFO has to do.
        None => _ = writeln!(stderr(), " ** On entry to {routine} parameter number {index:2} had an illegal value"),
    }
}

type Xerbla = unsafe extern "C" fn(*const u8, *const Int, usize);

// A weak reference: the linker, or the loader, fills in the address of the first `xerbla_` that it finds, which in a
// program with one of its own is that, or 0.
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
    // SAFETY: a word that the loader has written before any code of this library runs; 0 is `None`.
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

    /// In a process of its own, whose standard error output takes nothing.
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
