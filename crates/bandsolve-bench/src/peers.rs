//! Solvers of other libraries, opened at run time if they are installed. The program does not link them or require them.
//!
//! | library | file | routines |
//! | --- | --- | --- |
//! | reference LAPACK | `liblapack.so.3` | `?gtsv`, `?gbsv` |
//! | OpenBLAS | `libopenblas.so.0` | `?gtsv`, `?gbsv` |
//! | Intel MKL | `libmkl_rt.so` | `?gtsv`, `?gbsv`, `?dtsvb`, `mkl_sparse_d_mv`, `d_helmholtz_2d`, `d_helmholtz_3d` |

use bandsolve::RealScalar;
use libloading::Library;
use std::ffi::{OsStr, c_int};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The Fortran interface of `gtsv` and `dtsvb`: (n, nrhs, dl, d, du, b, ldb, info), all by reference.
///
/// Integers are small, not negative, and passed as `i64`. On little-endian machines, a library that reads 32 bits reads the same number.
/// One declaration therefore works for both integer sizes.
type PeerRoutine<T> =
    unsafe extern "C" fn(*const i64, *const i64, *mut T, *mut T, *mut T, *mut T, *const i64, *mut i64);

/// The Fortran interface of `gbsv`: (n, kl, ku, nrhs, ab, ldab, ipiv, b, ldb, info), all by reference. The array of the pivots has room
/// for 64-bit integers.
type BandRoutine<T> = unsafe extern "C" fn(
    *const i64,
    *const i64,
    *const i64,
    *const i64,
    *mut T,
    *const i64,
    *mut i64,
    *mut T,
    *const i64,
    *mut i64,
);

/// Real number types of LAPACK.
pub trait PeerScalar: RealScalar {
    /// The tridiagonal solver with partial pivoting.
    const GTSV: &'static str;
    /// The tridiagonal solver from both ends without pivoting, for diagonally dominant matrices.
    const DTSVB: &'static str;
    /// The banded solver with partial pivoting.
    const GBSV: &'static str;
    /// The solver for positive definite tridiagonal matrices.
    const PTSV: &'static str;
    /// The solver for positive definite bands.
    const PBSV: &'static str;
}

impl PeerScalar for f32 {
    const GTSV: &'static str = "sgtsv_";
    const DTSVB: &'static str = "sdtsvb_";
    const GBSV: &'static str = "sgbsv_";
    const PTSV: &'static str = "sptsv_";
    const PBSV: &'static str = "spbsv_";
}

impl PeerScalar for f64 {
    const GTSV: &'static str = "dgtsv_";
    const DTSVB: &'static str = "ddtsvb_";
    const GBSV: &'static str = "dgbsv_";
    const PTSV: &'static str = "dptsv_";
    const PBSV: &'static str = "dpbsv_";
}

/// An opened library.
#[derive(Debug)]
pub struct Peer {
    /// Short name for tables.
    pub name: &'static str,
    /// The path of the library.
    pub path: PathBuf,
    library: Library,
}

/// The four arrays of a tridiagonal system. The routines overwrite them, and write x to `rhs`.
#[derive(Debug)]
pub struct PeerArrays<'a, T> {
    /// n − 1 entries below the diagonal.
    pub sub: &'a mut [T],
    /// n entries.
    pub diag: &'a mut [T],
    /// n − 1 entries above the diagonal.
    pub sup: &'a mut [T],
    /// Columns of n entries.
    pub rhs: &'a mut [T],
}

/// A routine of an opened library.
#[derive(Debug, Clone, Copy)]
pub struct PeerSolver<'p, T> {
    routine: PeerRoutine<T>,
    // The routine is valid as long as the library is open.
    _library: &'p Library,
}

impl<T> PeerSolver<'_, T> {
    /// Solve one system in place, for all right-hand sides.
    ///
    /// # Errors
    /// The routine's `info`, if it is not 0: the number of the row without a pivot, from 1.
    ///
    /// # Panics
    /// If the arrays have wrong lengths.
    pub fn solve(&self, a: PeerArrays<'_, T>) -> Result<(), i64> {
        let n = a.diag.len();
        assert!(n > 0 && a.sub.len() == n - 1 && a.sup.len() == n - 1, "one system");
        assert!(a.rhs.len().is_multiple_of(n), "columns of n entries");
        let [size, columns] = [n, a.rhs.len() / n].map(|v| i64::try_from(v).expect("a small number"));
        let mut info = 0;
        let [sub, diag, sup, rhs] = [a.sub, a.diag, a.sup, a.rhs].map(<[T]>::as_mut_ptr);
        // SAFETY: the routine has this signature by its documentation; the arrays are distinct and as long as it expects
        // (n−1, n, n−1, columns of n); the integers outlive the call.
        unsafe { (self.routine)(&size, &columns, sub, diag, sup, rhs, &size, &mut info) };
        if info == 0 { Ok(()) } else { Err(info) }
    }
}

/// The interface of `gbtrs`: (trans, n, kl, ku, nrhs, ab, ldab, ipiv, b, ldb, info, length of trans).
type Gbtrs = unsafe extern "C" fn(
    *const u8,
    *const i64,
    *const i64,
    *const i64,
    *const i64,
    *const f64,
    *const i64,
    *const i64,
    *mut f64,
    *const i64,
    *mut i64,
    usize,
);

/// Banded LU factorization with partial pivoting of an opened library, for one right-hand side and equal lower and upper bandwidths.
#[derive(Debug, Clone, Copy)]
pub struct PeerBandLu<'p> {
    gbsv: BandSolver<'p, f64>,
    gbtrs: Option<Gbtrs>,
}

impl PeerBandLu<'_> {
    /// Whether [`solve`](Self::solve) is available.
    pub fn can_solve_alone(&self) -> bool {
        self.gbtrs.is_some()
    }

    /// Factor `band`, with 3·half + 1 numbers per column, and solve for x in place.
    ///
    /// # Errors
    /// The routine's `info`, if it is not 0.
    ///
    /// # Panics
    /// If the arrays have wrong lengths.
    pub fn factor_and_solve(
        &self,
        half: usize,
        band: &mut [f64],
        exchanges: &mut [i64],
        x: &mut [f64],
    ) -> Result<(), i64> {
        self.gbsv.solve(BandArrays { n: x.len(), widths: [half, half], bands: band, pivots: exchanges, rhs: x })
    }

    /// Solve for x in place with the factors of [`factor_and_solve`](Self::factor_and_solve).
    ///
    /// # Errors
    /// The routine's `info`, if it is not 0.
    ///
    /// # Panics
    /// If the arrays have wrong lengths, or the library does not have the routine.
    pub fn solve(&self, half: usize, band: &[f64], exchanges: &[i64], x: &mut [f64]) -> Result<(), i64> {
        let gbtrs = self.gbtrs.expect("the caller checked `can_solve_alone`");
        let leading = 3 * half + 1;
        assert!(band.len() == leading * x.len() && exchanges.len() == x.len() && !x.is_empty(), "one system");
        let [n, half, leading] = [x.len(), half, leading].map(|v| i64::try_from(v).expect("a small number"));
        let (one, mut info) = (1, 0);
        let (band, exchanges) = (band.as_ptr(), exchanges.as_ptr());
        // SAFETY: the routine has this signature by its documentation; the arrays are as long as it expects (leading·n, n
        // integers of at most 64 bits, n), x is distinct from the factors, which are only read; the integers outlive the call.
        unsafe {
            gbtrs(b"N".as_ptr(), &n, &half, &half, &one, band, &leading, exchanges, x.as_mut_ptr(), &n, &mut info, 1);
        }
        if info == 0 { Ok(()) } else { Err(info) }
    }
}

/// A banded system. The routine overwrites it, and writes x to `rhs`.
#[derive(Debug)]
pub struct BandArrays<'a, T> {
    /// Number of unknowns.
    pub n: usize,
    /// Numbers of diagonals below and above the main one.
    pub widths: [usize; 2],
    /// Columns of 2·lower + upper + 1 numbers, the first `lower` of which are for fill-in.
    pub bands: &'a mut [T],
    /// Room for n integers.
    pub pivots: &'a mut [i64],
    /// Columns of n numbers.
    pub rhs: &'a mut [T],
}

/// The routine `gbsv` of an opened library.
#[derive(Debug, Clone, Copy)]
pub struct BandSolver<'p, T> {
    routine: BandRoutine<T>,
    // The routine is valid as long as the library is open.
    _library: &'p Library,
}

impl<T> BandSolver<'_, T> {
    /// Solve one system in place.
    ///
    /// # Errors
    /// The routine's `info`, if it is not 0.
    ///
    /// # Panics
    /// If the arrays have wrong lengths.
    pub fn solve(&self, a: BandArrays<'_, T>) -> Result<(), i64> {
        let (n, [lower, upper]) = (a.n, a.widths);
        let leading = 2 * lower + upper + 1;
        assert!(n > 0 && a.bands.len() == n * leading && a.pivots.len() == n && a.rhs.len().is_multiple_of(n), "fit");
        let integer = |v: usize| i64::try_from(v).expect("a small number");
        let [n_, kl, ku, nrhs, ldab] = [n, lower, upper, a.rhs.len() / n, leading].map(integer);
        let mut info = 0;
        let (ab, pivots, b) = (a.bands.as_mut_ptr(), a.pivots.as_mut_ptr(), a.rhs.as_mut_ptr());
        // SAFETY: the routine has this signature by its documentation; the arrays are distinct and as long as it expects
        // (n·ldab, n, n·nrhs); the integers outlive the call.
        unsafe { (self.routine)(&n_, &kl, &ku, &nrhs, ab, &ldab, pivots, b, &n_, &mut info) };
        if info == 0 { Ok(()) } else { Err(info) }
    }
}

/// The interface of `ptsv`: (n, nrhs, d, e, b, ldb, info).
type Ptsv<T> = unsafe extern "C" fn(*const i64, *const i64, *mut T, *mut T, *mut T, *const i64, *mut i64);

/// The interface of `pbsv`: (uplo, n, kd, nrhs, ab, ldab, b, ldb, info, length of uplo).
type Pbsv<T> = unsafe extern "C" fn(
    *const u8,
    *const i64,
    *const i64,
    *const i64,
    *mut T,
    *const i64,
    *mut T,
    *const i64,
    *mut i64,
    usize,
);

/// The solvers for one positive definite matrix and one right-hand side of an opened library.
#[derive(Debug, Clone, Copy)]
pub struct DefiniteSolvers<'p, T> {
    ptsv: Ptsv<T>,
    pbsv: Pbsv<T>,
    // The routines are valid as long as the library is open.
    _library: &'p Library,
}

impl<T> DefiniteSolvers<'_, T> {
    /// Solve a tridiagonal system in place.
    ///
    /// # Errors
    /// The routine's `info`, if it is not 0.
    ///
    /// # Panics
    /// If the arrays have wrong lengths.
    pub fn tridiagonal(&self, diag: &mut [T], off: &mut [T], rhs: &mut [T]) -> Result<(), i64> {
        assert!(!diag.is_empty() && off.len() + 1 == diag.len() && rhs.len() == diag.len(), "one system");
        let (n, one, mut info) = (i64::try_from(diag.len()).expect("a small number"), 1, 0);
        let [diag, off, rhs] = [diag, off, rhs].map(<[T]>::as_mut_ptr);
        // SAFETY: the routine has this signature by its documentation; the arrays are distinct and as long as it expects; the integers outlive
        // the call.
        unsafe { (self.ptsv)(&n, &one, diag, off, rhs, &n, &mut info) };
        if info == 0 { Ok(()) } else { Err(info) }
    }

    /// Solve a banded system in place. `ab` has columns of `width + 1` numbers of the lower triangle.
    ///
    /// # Errors
    /// The routine's `info`, if it is not 0.
    ///
    /// # Panics
    /// If the arrays have wrong lengths.
    pub fn banded(&self, width: usize, ab: &mut [T], rhs: &mut [T]) -> Result<(), i64> {
        assert!(!rhs.is_empty() && ab.len() == (width + 1) * rhs.len(), "one system");
        let [n, kd, rows] = [rhs.len(), width, width + 1].map(|v| i64::try_from(v).expect("a small number"));
        let (one, mut info) = (1, 0);
        let (ab, rhs) = (ab.as_mut_ptr(), rhs.as_mut_ptr());
        // SAFETY: as in `tridiagonal`.
        unsafe { (self.pbsv)(b"L".as_ptr(), &n, &kd, &one, ab, &rows, rhs, &n, &mut info, 1) };
        if info == 0 { Ok(()) } else { Err(info) }
    }
}

impl Peer {
    /// The solvers for positive definite matrices.
    pub fn definite<T: PeerScalar>(&self) -> Option<DefiniteSolvers<'_, T>> {
        // SAFETY: if the symbols exist, they are the Fortran routines of these names, whose signatures are these.
        let (ptsv, pbsv) =
            unsafe { (self.library.get(T::PTSV.as_bytes()).ok()?, self.library.get(T::PBSV.as_bytes()).ok()?) };
        Some(DefiniteSolvers { ptsv: *ptsv, pbsv: *pbsv, _library: &self.library })
    }

    /// The routines for banded LU factorization and separate solves.
    pub fn band_lu(&self) -> Option<PeerBandLu<'_>> {
        // SAFETY: if the symbol exists, it is the Fortran routine of this name, whose signature is `Gbtrs`.
        let gbtrs = unsafe { self.library.get::<Gbtrs>(b"dgbtrs_") };
        Some(PeerBandLu { gbsv: self.gbsv()?, gbtrs: gbtrs.ok().map(|routine| *routine) })
    }

    /// Open all installed libraries.
    pub fn all() -> Vec<Peer> {
        let system = |names: &[&str]| names.iter().map(PathBuf::from).collect::<Vec<_>>();
        // On Debian, liblapack.so.3 can be a link to OpenBLAS, so the path of the reference LAPACK comes first.
        let lapack = system(&["/usr/lib/x86_64-linux-gnu/lapack/liblapack.so.3", "liblapack.so.3", "liblapack.dylib"]);
        let openblas = "/usr/lib/x86_64-linux-gnu/openblas-pthread/libopenblas.so.0";
        let openblas = system(&[openblas, "libopenblas.so.0", "libopenblas.so", "libopenblas.dylib"]);
        let libraries = [
            Peer::open("lapack", &lapack),
            Peer::open("openblas", &openblas),
            Peer::open("mkl", &mkl_candidates()).inspect(Peer::quieten_mkl),
        ];
        libraries.into_iter().flatten().inspect(Peer::quieten_openblas).collect()
    }

    /// Open the reference LAPACK, or another library if the reference is not installed.
    pub fn lapack() -> Option<Peer> {
        Peer::all().into_iter().next()
    }

    fn open(name: &'static str, candidates: &[PathBuf]) -> Option<Peer> {
        if cfg!(target_endian = "big") {
            return None;
        }
        candidates.iter().find_map(|path| {
            // SAFETY: when opened, these libraries only set up their own threads and tables.
            let library = unsafe { Library::new(path) }.ok()?;
            let peer = Peer { name, path: path.clone(), library };
            peer.gtsv::<f64>()?;
            Some(peer)
        })
    }

    /// Set MKL to one thread, like the other libraries. Its tridiagonal solvers are sequential.
    fn quieten_mkl(&self) {
        const SEQUENTIAL: c_int = 1;
        // SAFETY: the signature is the documented one, int(int).
        if let Ok(set) = unsafe { self.library.get::<unsafe extern "C" fn(c_int) -> c_int>(b"MKL_Set_Threading_Layer") }
        {
            // SAFETY: MKL requires that this is the first call of the library.
            unsafe { set(SEQUENTIAL) };
        }
    }

    /// Set OpenBLAS to one thread, also if a LAPACK calls it. In narrow bands, more threads only wait for each other.
    fn quieten_openblas(&self) {
        // SAFETY: the signature is the documented one, void(int).
        if let Ok(set) = unsafe { self.library.get::<unsafe extern "C" fn(c_int)>(b"openblas_set_num_threads") } {
            // SAFETY: no routine of the library is running.
            unsafe { set(1) };
        }
    }

    /// The tridiagonal solver with partial pivoting.
    pub fn gtsv<T: PeerScalar>(&self) -> Option<PeerSolver<'_, T>> {
        self.routine(T::GTSV)
    }

    /// The tridiagonal solver without pivoting for diagonally dominant matrices, which only MKL has.
    pub fn dtsvb<T: PeerScalar>(&self) -> Option<PeerSolver<'_, T>> {
        self.routine(T::DTSVB)
    }

    /// The banded solver with partial pivoting.
    pub fn gbsv<T: PeerScalar>(&self) -> Option<BandSolver<'_, T>> {
        // SAFETY: if the symbol exists, it is the Fortran routine of this name, whose signature is `BandRoutine`.
        let routine = unsafe { self.library.get::<BandRoutine<T>>(T::GBSV.as_bytes()) }.ok()?;
        Some(BandSolver { routine: *routine, _library: &self.library })
    }

    fn routine<T: PeerScalar>(&self, symbol: &str) -> Option<PeerSolver<'_, T>> {
        // SAFETY: if the symbol exists, it is the Fortran routine of this name, whose signature is `PeerRoutine`.
        let routine = unsafe { self.library.get::<PeerRoutine<T>>(symbol.as_bytes()) }.ok()?;
        Some(PeerSolver { routine: *routine, _library: &self.library })
    }
}

/// Open MKL, without a limit on its threads.
pub fn mkl_library() -> Option<Library> {
    if cfg!(target_endian = "big") {
        return None;
    }
    mkl_candidates().into_iter().find_map(|path| {
        // SAFETY: when opened, the library only sets up its own threads and tables.
        unsafe { Library::new(path) }.ok()
    })
}

/// Set the number of threads of MKL.
pub fn set_mkl_threads(library: &Library, threads: usize) {
    // SAFETY: the signature is the documented one, void(int).
    if let Ok(set) = unsafe { library.get::<unsafe extern "C" fn(c_int)>(b"MKL_Set_Num_Threads") } {
        // SAFETY: no routine of the library is running.
        unsafe { set(threads as c_int) };
    }
}

/// Possible paths of MKL: the loader's search path, MKLROOT, virtual and conda environments, Python's prefix (`pip install mkl`).
fn mkl_candidates() -> Vec<PathBuf> {
    let names = ["libmkl_rt.so.3", "libmkl_rt.so.2", "libmkl_rt.so", "libmkl_rt.so.1"];
    let roots = ["MKLROOT", "VIRTUAL_ENV", "CONDA_PREFIX"].into_iter().filter_map(std::env::var_os).map(PathBuf::from);
    let home = std::env::var_os("HOME").map(|home| Path::new(&home).join(".local"));
    let usual = ["/opt/intel/oneapi/mkl/latest", "/opt/intel/mkl"].map(PathBuf::from);
    let roots: Vec<PathBuf> = roots.chain(python_prefix()).chain(home).chain(usual).collect();
    let folders = roots.iter().flat_map(|root| [root.join("lib"), root.join("lib/intel64")]);
    let loader = names.map(PathBuf::from).into_iter();
    loader.chain(folders.flat_map(|f| names.map(|name| f.join(name))).filter(|path| path.exists())).collect()
}

/// `sys.prefix` of the first Python on the PATH.
fn python_prefix() -> Option<PathBuf> {
    let output = Command::new(OsStr::new("python3")).args(["-c", "import sys; print(sys.prefix)"]).output().ok()?;
    let prefix = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| PathBuf::from(prefix.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn peers_solve_a_small_system_if_there_are_any() {
        let peers = Peer::all();
        if peers.is_empty() {
            return bandsolve_testkit::skipped("no LAPACK library is installed");
        }
        for peer in peers {
            // [2 1 0; 1 2 1; 0 1 2]·(1, 1, 1)
            let (mut sub, mut diag, mut sup, mut rhs) = ([1.0; 2], [2.0; 3], [1.0; 2], [3.0, 4.0, 3.0]);
            let a = PeerArrays { sub: &mut sub, diag: &mut diag, sup: &mut sup, rhs: &mut rhs };
            peer.gtsv::<f64>().expect("checked when opened").solve(a).unwrap();
            assert!(rhs.iter().all(|x| (x - 1.0).abs() < 1e-15), "{}: {rhs:?}", peer.name);
            let (mut sub, mut diag, mut sup, mut rhs) = ([0.0_f32], [0.0; 2], [0.0], [1.0; 2]);
            let a = PeerArrays { sub: &mut sub, diag: &mut diag, sup: &mut sup, rhs: &mut rhs };
            assert!(peer.gtsv::<f32>().unwrap().solve(a).is_err(), "{} takes a zero matrix", peer.name);
            // The first matrix again, in band storage with a row for fill-in.
            let mut bands = [0.0, 0.0, 2.0, 1.0, 0.0, 1.0, 2.0, 1.0, 0.0, 1.0, 2.0, 0.0];
            let (mut pivots, mut rhs) = ([0; 3], [3.0, 4.0, 3.0]);
            let a = BandArrays { n: 3, widths: [1, 1], bands: &mut bands, pivots: &mut pivots, rhs: &mut rhs };
            peer.gbsv::<f64>().expect("LAPACK has it").solve(a).unwrap();
            assert!(rhs.iter().all(|x: &f64| (x - 1.0).abs() < 1e-15), "{}: {rhs:?}", peer.name);
        }
    }
}
