//! Without enough memory, routines use a slower path. LAPACK has no INFO for this case, and programs that link LAPACK
//! expect none.

use bandsolve_testkit::allocations::{WatchedMemory, fail_each};
use lapack_bandsolve::Int;

#[global_allocator]
static MEMORY: WatchedMemory = WatchedMemory;

type F = *mut f64;
type I<'a> = &'a Int;

unsafe extern "C" {
    fn dgtsv_(n: I, nrhs: I, dl: F, d: F, du: F, b: F, ldb: I, info: &mut Int);
    fn dgbsv_(n: I, kl: I, ku: I, nrhs: I, ab: F, ldab: I, ipiv: *mut Int, b: F, ldb: I, info: &mut Int);
    fn dpbsv_(uplo: &u8, n: I, kd: I, nrhs: I, ab: F, ldab: I, b: F, ldb: I, info: &mut Int, uplo_len: usize);
}

/// The number of right-hand sides, which is large enough for groups.
const COUNT: usize = 9;

/// Check that `solve` returns INFO = 0 and x = 1 whichever allocation fails.
fn check(what: &str, n: usize, row_sum: impl Fn(usize) -> f64, mut solve: impl FnMut(F, &mut Int)) {
    let rhs: Vec<f64> = (0..COUNT).flat_map(|_| (0..n).map(&row_sum)).collect();
    let mut x = rhs.clone();
    let runs = fail_each(what, 1024, || {
        x.copy_from_slice(&rhs);
        let mut info = -77;
        solve(x.as_mut_ptr(), &mut info);
        // The rows are strictly diagonally dominant, so the error is a few rounding errors per row.
        let wrong = x.iter().position(|x| !((x - 1.0).abs() < 1e-12));
        assert_eq!((info, wrong), (0, None), "{what}");
        Ok(())
    });
    assert_eq!(runs, 0);
}

#[test]
fn every_allocation_may_fail() {
    // Allocate everything first, so that only allocations of the library fail.
    let count = COUNT as Int;
    let n = 6000;
    let (size, off) = (n as Int, vec![1.0; n]);
    let mut arrays = [off.clone(), vec![3.0; n], off];
    let beside = |i: usize, width: usize, n: usize| (i.min(width) + (n - 1 - i).min(width)) as f64;
    check(
        "dgtsv",
        n,
        |i| 3.0 + beside(i, 1, n),
        |x, info| {
            arrays.iter_mut().zip([1.0, 3.0, 1.0]).for_each(|(array, value)| array.fill(value));
            let [dl, d, du] = arrays.each_mut().map(|array| array.as_mut_ptr());
            // SAFETY: LAPACK's signature and lengths.
            unsafe { dgtsv_(&size, &count, dl, d, du, x, &size, info) }
        },
    );
    for width in [3, 40] {
        let (n, diagonal) = (300, 2.0 * width as f64 + 1.0);
        let (size, w, leading) = (n as Int, width as Int, 3 * width + 1);
        let (mut ab, mut pivots) = (vec![0.0; n * leading], vec![0; n]);
        check(
            "dgbsv",
            n,
            |i| diagonal + beside(i, width, n),
            |x, info| {
                ab.fill(1.0);
                (0..n).for_each(|j| ab[2 * width + j * leading] = diagonal);
                let (ab, pivots) = (ab.as_mut_ptr(), pivots.as_mut_ptr());
                // SAFETY: LAPACK's signature and lengths.
                unsafe { dgbsv_(&size, &w, &w, &count, ab, &(leading as Int), pivots, x, &size, info) }
            },
        );
        for uplo in *b"LU" {
            let leading = width + 1;
            let mut ab = vec![0.0; n * leading];
            check(
                "dpbsv",
                n,
                |i| diagonal + beside(i, width, n),
                |x, info| {
                    ab.fill(1.0);
                    let at = if uplo == b'L' { 0 } else { width };
                    (0..n).for_each(|j| ab[at + j * leading] = diagonal);
                    // SAFETY: LAPACK's signature and lengths.
                    unsafe { dpbsv_(&uplo, &size, &w, &count, ab.as_mut_ptr(), &(leading as Int), x, &size, info, 1) }
                },
            );
        }
    }
}
