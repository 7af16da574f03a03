//! Calls of the fast Helmholtz solvers of Intel MKL in two and three dimensions. The library is opened at run time.

use crate::peers::{mkl_library, set_mkl_threads};
use libloading::Library;
use std::ffi::{c_char, c_int, c_void};
use std::ptr;

type Init2 = unsafe extern "C" fn(
    *const f64,
    *const f64,
    *const f64,
    *const f64,
    *const c_int,
    *const c_int,
    *const c_char,
    *const f64,
    *mut c_int,
    *mut f64,
    *mut c_int,
);
type Init3 = unsafe extern "C" fn(
    *const f64,
    *const f64,
    *const f64,
    *const f64,
    *const f64,
    *const f64,
    *const c_int,
    *const c_int,
    *const c_int,
    *const c_char,
    *const f64,
    *mut c_int,
    *mut f64,
    *mut c_int,
);
/// The signature of commit and solve: f, four sides, a handle, parameters, status.
type Step2 = unsafe extern "C" fn(
    *mut f64,
    *const f64,
    *const f64,
    *const f64,
    *const f64,
    *mut *mut c_void,
    *mut c_int,
    *mut f64,
    *mut c_int,
);
/// The signature of commit and solve in three dimensions, with six sides and two handles.
type Step3 = unsafe extern "C" fn(
    *mut f64,
    *const f64,
    *const f64,
    *const f64,
    *const f64,
    *const f64,
    *const f64,
    *mut *mut c_void,
    *mut *mut c_void,
    *mut c_int,
    *mut f64,
    *mut c_int,
);

/// The MKL library.
pub struct MklPoisson {
    library: Library,
}

/// The problem −Δu = f with spacing 1 and u = 0 on all sides of a two- or three-dimensional box.
pub struct MklBox<'a> {
    mkl: &'a MklPoisson,
    /// Number of intervals along each axis, the contiguous axis first. MKL's arrays include the boundary.
    intervals: Vec<usize>,
    handles: [*mut c_void; 2],
    integers: Vec<c_int>,
    numbers: Vec<f64>,
    /// Boundary values of a side, long enough for the largest side.
    sides: Vec<f64>,
    /// f before the solve and u after it, including the boundary.
    padded: Vec<f64>,
}

impl MklPoisson {
    /// Open MKL, if it is installed.
    pub fn open() -> Option<Self> {
        mkl_library().map(|library| Self { library })
    }

    /// Set the number of threads of MKL.
    pub fn use_threads(&self, threads: usize) {
        set_mkl_threads(&self.library, threads);
    }

    /// Set up the solver for a box. `None` if MKL does not support the box.
    pub fn make<'a>(&'a self, shape: &[usize]) -> Option<MklBox<'a>> {
        if !(2..=3).contains(&shape.len()) || shape.iter().any(|n| *n < 2 || *n > 1 << 20) {
            return None;
        }
        let intervals: Vec<usize> = shape.iter().rev().map(|n| n + 1).collect();
        let points: usize = intervals.iter().map(|n| n + 1).product();
        let longest = intervals.iter().max().map_or(0, |n| n + 1);
        let mut mkl_box = MklBox {
            mkl: self,
            handles: [ptr::null_mut(); 2],
            integers: vec![0; 128],
            numbers: vec![0.0; 5 * intervals.iter().sum::<usize>() / 2 + 32],
            sides: vec![0.0; longest * if shape.len() == 3 { longest } else { 1 }],
            padded: vec![0.0; points],
            intervals,
        };
        (mkl_box.init()? == 0 && mkl_box.step("d_commit_helmholtz")? == 0).then_some(mkl_box)
    }
}

impl MklBox<'_> {
    /// Initialize the solver and return MKL's status. `None` if the library does not have the routine.
    fn init(&mut self) -> Option<c_int> {
        let ends: Vec<f64> = self.intervals.iter().map(|n| *n as f64).collect();
        let counts: Vec<c_int> = self.intervals.iter().map(|n| *n as c_int).collect();
        let (zero, mut status) = (0.0, 0);
        let kinds = c"DDDDDD";
        let (integers, numbers) = (self.integers.as_mut_ptr(), self.numbers.as_mut_ptr());
        // SAFETY: the symbols have these signatures by their documentation, and the arrays have the required lengths.
        unsafe {
            if let [x, y] = ends[..] {
                let init = self.mkl.library.get::<Init2>(b"d_init_helmholtz_2d").ok()?;
                let (nx, ny) = (&counts[0], &counts[1]);
                init(&zero, &x, &zero, &y, nx, ny, kinds.as_ptr(), &zero, integers, numbers, &mut status);
            } else {
                let init = self.mkl.library.get::<Init3>(b"d_init_helmholtz_3d").ok()?;
                let ([x, y, z], [nx, ny, nz]) = ([&ends[0], &ends[1], &ends[2]], [&counts[0], &counts[1], &counts[2]]);
                init(&zero, x, &zero, y, &zero, z, nx, ny, nz, kinds.as_ptr(), &zero, integers, numbers, &mut status);
            }
        }
        // Switch off MKL's messages.
        self.integers[1] = 0;
        self.integers[2] = 0;
        Some(status)
    }

    /// Call the commit or the solve routine.
    fn step(&mut self, routine: &str) -> Option<c_int> {
        let (side, mut status) = (self.sides.as_ptr(), 0);
        let [x, y] = &mut self.handles;
        let (f, integers, numbers) = (self.padded.as_mut_ptr(), self.integers.as_mut_ptr(), self.numbers.as_mut_ptr());
        let symbol = format!("{routine}_{}d", self.intervals.len());
        // SAFETY: as in `init`; `sides` is as long as the longest side.
        unsafe {
            if self.intervals.len() == 2 {
                let step = self.mkl.library.get::<Step2>(symbol.as_bytes()).ok()?;
                step(f, side, side, side, side, x, integers, numbers, &mut status);
            } else {
                let step = self.mkl.library.get::<Step3>(symbol.as_bytes()).ok()?;
                step(f, side, side, side, side, side, side, x, y, integers, numbers, &mut status);
            }
        }
        Some(status)
    }

    /// The positions of every line of unknowns in MKL's array and in ours.
    fn lines(&self) -> Vec<(usize, usize)> {
        let row = self.intervals[0] + 1;
        let (n, rows) = (self.intervals[0] - 1, self.intervals[1] - 1);
        let planes = self.intervals.get(2).map_or(1, |n| n - 1);
        let plane = row * (self.intervals[1] + 1);
        let first = if self.intervals.len() == 3 { plane } else { 0 };
        let of = |k: usize| (first + k / rows * plane + (k % rows + 1) * row + 1, k * n);
        (0..planes * rows).map(of).collect()
    }

    /// Copy f to MKL's array, with zeros on the boundary.
    pub fn load(&mut self, f: &[f64]) {
        let n = self.intervals[0] - 1;
        self.padded.fill(0.0);
        for (padded, interior) in self.lines() {
            self.padded[padded..padded + n].copy_from_slice(&f[interior..interior + n]);
        }
    }

    /// Solve with the f of the last [`load`](Self::load).
    ///
    /// # Errors
    /// MKL's status, if it is not 0.
    pub fn solve(&mut self) -> Result<(), c_int> {
        match self.step("d_helmholtz") {
            Some(0) => Ok(()),
            other => Err(other.unwrap_or(-1)),
        }
    }

    /// Copy u from MKL's array.
    pub fn store(&self, u: &mut [f64]) {
        let n = self.intervals[0] - 1;
        for (padded, interior) in self.lines() {
            u[interior..interior + n].copy_from_slice(&self.padded[padded..padded + n]);
        }
    }
}

impl Drop for MklBox<'_> {
    fn drop(&mut self) {
        type Free2 = unsafe extern "C" fn(*mut *mut c_void, *mut c_int, *mut c_int);
        type Free3 = unsafe extern "C" fn(*mut *mut c_void, *mut *mut c_void, *mut c_int, *mut c_int);
        let (mut status, integers) = (0, self.integers.as_mut_ptr());
        let [x, y] = &mut self.handles;
        // SAFETY: the symbols have these signatures by their documentation; nothing uses the handles afterwards.
        unsafe {
            if self.intervals.len() == 2 {
                if let Ok(free) = self.mkl.library.get::<Free2>(b"free_helmholtz_2d") {
                    free(x, integers, &mut status);
                }
            } else if let Ok(free) = self.mkl.library.get::<Free3>(b"free_helmholtz_3d") {
                free(x, y, integers, &mut status);
            }
        }
    }
}
