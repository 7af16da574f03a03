//! Call the exported symbols from a program with its own `xerbla_`.

use bandsolve::Complex64;
use lapack_bandsolve::Int;
use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::ptr::{null, null_mut};
use std::sync::Mutex;

type F = *mut f64;

unsafe extern "C" {
    fn dgtsv_(n: &Int, nrhs: &Int, dl: F, d: F, du: F, b: F, ldb: &Int, info: &mut Int);
    fn scipy_dgtsv_(n: &Int, nrhs: &Int, dl: F, d: F, du: F, b: F, ldb: &Int, info: &mut Int);
    fn dgbsv_(
        n: &Int,
        kl: &Int,
        ku: &Int,
        nrhs: &Int,
        ab: F,
        ldab: &Int,
        ipiv: *mut Int,
        b: F,
        ldb: &Int,
        info: &mut Int,
    );
    fn zpbtrf_(uplo: &u8, n: &Int, kd: &Int, ab: *mut Complex64, ldab: &Int, info: &mut Int, uplo_len: usize);
    fn zpttrs_(
        uplo: &u8,
        n: &Int,
        nrhs: &Int,
        d: *const f64,
        e: *const Complex64,
        b: *mut Complex64,
        ldb: &Int,
        info: &mut Int,
        uplo_len: usize,
    );
    fn dlangt_(norm: &u8, n: &Int, dl: *const f64, d: *const f64, du: *const f64, norm_len: usize) -> f64;
}

static REPORTS: Mutex<Vec<(String, Int)>> = Mutex::new(Vec::new());

#[unsafe(no_mangle)]
extern "C" fn xerbla_(name: *const u8, info: &Int, length: usize) {
    // SAFETY: the library passes a name and its length.
    let name = unsafe { std::slice::from_raw_parts(name, length) };
    let name = String::from_utf8_lossy(name).trim_end().to_owned();
    REPORTS.lock().unwrap().push((name, *info));
}

#[test]
fn wrong_arguments_go_to_the_programs_own_xerbla() {
    let (mut info, none) = (0, null_mut());
    let mut infos = Vec::new();
    // SAFETY: these are LAPACK's signatures; nothing is read after an invalid argument.
    unsafe {
        dgtsv_(&-1, &1, none, none, none, none, &1, &mut info);
        infos.push(info);
        dgbsv_(&3, &1, &1, &1, none, &3, null_mut(), none, &3, &mut info);
        infos.push(info);
        // The number of rows of this band exceeds 32 bits.
        dgbsv_(&3, &Int::MAX, &Int::MAX, &1, none, &Int::MAX, null_mut(), none, &3, &mut info);
        infos.push(info);
        zpbtrf_(&b'x', &3, &1, null_mut(), &2, &mut info, 1);
        infos.push(info);
        zpttrs_(&b'U', &3, &1, null(), null(), null_mut(), &2, &mut info, 1);
        infos.push(info);
    }
    assert_eq!(infos, [-1, -6, -6, -1, -7]);
    let expected = [("DGTSV", 1), ("DGBSV", 6), ("DGBSV", 6), ("ZPBTRF", 1), ("ZPTTRS", 7)];
    assert_eq!(*REPORTS.lock().unwrap(), expected.map(|(name, index)| (name.to_owned(), index)));
}

#[test]
fn empty_systems_need_no_memory() {
    let mut info = 1;
    // SAFETY: arrays of length 0 may have any pointer.
    unsafe {
        dgtsv_(&0, &1, null_mut(), null_mut(), null_mut(), null_mut(), &1, &mut info);
        assert_eq!(info, 0);
        dgbsv_(&0, &0, &0, &0, null_mut(), &1, null_mut(), null_mut(), &1, &mut info);
        assert_eq!(info, 0);
        assert_eq!(dlangt_(&b'1', &0, null(), null(), null(), 1), 0.0);
    }
}

#[test]
fn both_names_solve_small_and_large_systems() {
    for n in [5usize, 6000] {
        let solve = |routine: unsafe extern "C" fn(&Int, &Int, F, F, F, F, &Int, &mut Int)| {
            // [3 1; 1 3 1; …]·1 = (4, 5, …, 5, 4), two columns with a gap between them.
            let (mut dl, mut d, mut du) = (vec![1.0; n - 1], vec![3.0; n], vec![1.0; n - 1]);
            let leading = n + 3;
            let mut b = vec![f64::NAN; leading + n];
            for column in b.chunks_mut(leading) {
                column[..n].fill(5.0);
                (column[0], column[n - 1]) = (4.0, 4.0);
            }
            let (size, leading, mut info) = (n as Int, leading as Int, 1);
            // SAFETY: LAPACK's signature and lengths.
            unsafe {
                let [dl, d, du, b] = [&mut dl, &mut d, &mut du, &mut b].map(|v| v.as_mut_ptr());
                routine(&size, &2, dl, d, du, b, &leading, &mut info);
            }
            assert_eq!(info, 0);
            for column in b.chunks(n + 3) {
                // The row sums of the inverse are below 1, so the error is a few rounding errors of 5.
                assert!(column[..n].iter().all(|x| (x - 1.0).abs() <= 16.0 * f64::EPSILON));
                assert!(column[n..].iter().all(|x| x.is_nan()), "entries between the columns must not change");
            }
            b.iter().map(|v| v.to_bits()).collect::<Vec<_>>()
        };
        assert_eq!(solve(dgtsv_), solve(scipy_dgtsv_));
    }
}

#[test]
fn an_exact_zero_pivot_is_reported_for_large_systems_too() {
    // Second differences with two free ends: the last pivot of U is exactly zero, and this right-hand side has
    // solutions.
    let n = 6000;
    let (mut dl, mut d, mut du) = (vec![-1.0; n - 1], vec![2.0; n], vec![-1.0; n - 1]);
    (d[0], d[n - 1]) = (1.0, 1.0);
    let mut b = vec![0.0; n];
    (b[10], b[11]) = (1.0, -1.0);
    let mut info = 0;
    // SAFETY: LAPACK's signature and lengths.
    unsafe {
        let [dl, d, du, b] = [&mut dl, &mut d, &mut du, &mut b].map(|v| v.as_mut_ptr());
        dgtsv_(&(n as Int), &1, dl, d, du, b, &(n as Int), &mut info);
    }
    assert_eq!(info, n as Int);
}

/// Uses 17 GiB of address space, of which 130 MiB are accessed.
#[test]
fn products_of_sizes_beyond_32_bits() {
    let (n, leading) = (33_000usize, 65_536usize);
    let layout = Layout::array::<f64>((n - 1) * leading + 1).unwrap();
    // SAFETY: the layout is not empty.
    let ab: F = unsafe { alloc_zeroed(layout) }.cast();
    if ab.is_null() {
        return bandsolve_testkit::skipped("no 17 GiB of address space for a band beyond 32 bits");
    }
    let (mut b, mut pivot, mut info) = (vec![1.0; n], vec![0; n], 1);
    let (size, leading) = (n as Int, leading as Int);
    // SAFETY: n columns with one row each begin inside the memory, which is freed once, with its layout.
    unsafe {
        (0..n).for_each(|j| *ab.add(j * leading as usize) = 2.0);
        dgbsv_(&size, &0, &0, &1, ab, &leading, pivot.as_mut_ptr(), b.as_mut_ptr(), &size, &mut info);
        dealloc(ab.cast(), layout);
    }
    assert_eq!(info, 0);
    assert!(b.iter().all(|x| *x == 0.5));
}

/// Solve a tridiagonal system with x = 1. Returns INFO.
fn tridiagonal(n: usize) -> Int {
    let (mut dl, mut d, mut du, mut x) = (vec![1.0; n], vec![4.0; n], vec![1.0; n], vec![6.0; n]);
    (x[0], x[n - 1]) = (5.0, 5.0);
    let (count, mut info) = (n as Int, -77);
    // SAFETY: LAPACK's signature.
    unsafe {
        let [dl, d, du, x] = [&mut dl, &mut d, &mut du, &mut x].map(|array| array.as_mut_ptr());
        dgtsv_(&count, &1, dl, d, du, x, &count, &mut info);
    }
    assert!(info != 0 || x.iter().all(|x| (x - 1.0).abs() < 1e-12));
    info
}

/// Run in a separate process whose address space is too small for the stacks of the requested threads.
#[cfg(target_os = "linux")]
#[test]
fn threads_that_cannot_be_started() {
    const CHILD: &str = "BANDSOLVE_ABI_TEST";
    if std::env::var_os(CHILD).is_none() {
        let mut child = std::process::Command::new("sh");
        child.args(["-c", "ulimit -v 4000000 && exec \"$0\" threads_that_cannot_be_started --exact"]);
        child.arg(std::env::current_exe().unwrap()).env(CHILD, "1").env("RAYON_NUM_THREADS", "4000");
        let output = child.output().unwrap();
        return assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    }
    let threads = || std::fs::read_dir("/proc/self/task").unwrap().count();
    let before = threads();
    // The last sizes are large enough for many threads.
    for n in [2, 2000, 400_000, 400_000, 2] {
        assert_eq!((tridiagonal(n), threads()), (0, before), "n = {n}");
    }
}

/// MXCSR of the caller: flush to zero and denormals are zero; rounding down, up, and towards zero.
#[cfg(target_arch = "x86_64")]
#[test]
fn arithmetic_of_the_caller() {
    use core::arch::asm;
    // SAFETY: no reserved bit is set; the usual word is restored before anything is computed here.
    let set = |word: u32| unsafe { asm!("ldmxcsr [{}]", in(reg) &raw const word) };
    let (n, leading) = (100, 7);
    let solve = |word: u32| {
        let mut ab: Vec<f64> = (0..n * leading).map(|k| ((k * k + 3) % 17) as f64 - 5.0).collect();
        let (mut pivots, mut x) = (vec![0; n], vec![1e-310; n]);
        let (count, mut info, mut after) = (n as Int, -77, 0_u32);
        set(word);
        // SAFETY: LAPACK's signature; `after` has four bytes.
        unsafe {
            let (ab, x) = (ab.as_mut_ptr(), x.as_mut_ptr());
            dgbsv_(&count, &2, &2, &1, ab, &(leading as Int), pivots.as_mut_ptr(), x, &count, &mut info);
            asm!("stmxcsr [{}]", in(reg) &raw mut after);
        }
        set(0x1f80);
        assert_eq!((info, after & !0x3f), (0, word));
        x
    };
    let expected = solve(0x1f80);
    assert!(expected.iter().any(|x| *x != 0.0));
    assert!([0x9fc0, 0x3f80, 0x5f80, 0x7f80].into_iter().all(|word| solve(word) == expected));
}
