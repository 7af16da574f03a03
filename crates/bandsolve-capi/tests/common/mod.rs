//! The C functions of each number type as values, and systems for their arguments.

#![allow(dead_code)]

pub mod dense;

use bandsolve::{Complex32, Complex64, RealScalar, Scalar};
use bandsolve_capi::*;
use bandsolve_gallery::oracle::MatrixRows;
use bandsolve_gallery::{Random, random_vec};
use core::ffi::{CStr, c_void};

pub type Status = bandsolve_status_t;

type Size = unsafe extern "C" fn(i32, i64, i64, *mut usize) -> Status;
type BlockSize = unsafe extern "C" fn(i32, i64, i64, i64, *mut usize) -> Status;
type BandSize = unsafe extern "C" fn(i32, i64, i64, i64, i64, *mut usize) -> Status;
type Solve<T> =
    unsafe extern "C" fn(i32, i64, i64, *const T, *const T, *const T, *mut T, *const T, *mut c_void) -> Status;
type BlockSolve<T> =
    unsafe extern "C" fn(i32, i64, i64, i64, *const T, *const T, *const T, *mut T, *const T, *mut c_void) -> Status;
type BandSolve<T> = unsafe extern "C" fn(i32, i64, i64, i64, i64, *const T, *mut T, *const T, *mut c_void) -> Status;

/// The functions of one number type. Pairs are for open and cyclic systems.
pub struct Functions<T> {
    gtsv: [(Size, Solve<T>); 2],
    bgtsv: [(BlockSize, BlockSolve<T>); 2],
    gbsv: (BandSize, BandSolve<T>),
}

pub trait Api: Scalar {
    const FUNCTIONS: Functions<Self>;
}

macro_rules! api {
    ($t:ty: $gtsv:ident $gtsv_size:ident $cgtsv:ident $cgtsv_size:ident $bgtsv:ident $bgtsv_size:ident
        $cbgtsv:ident $cbgtsv_size:ident $gbsv:ident $gbsv_size:ident) => {
        impl Api for $t {
            const FUNCTIONS: Functions<$t> = Functions {
                gtsv: [($gtsv_size, $gtsv), ($cgtsv_size, $cgtsv)],
                bgtsv: [($bgtsv_size, $bgtsv), ($cbgtsv_size, $cbgtsv)],
                gbsv: ($gbsv_size, $gbsv),
            };
        }
    };
}

api!(f32: bandsolveSgtsv bandsolveSgtsv_bufferSizeExt bandsolveScgtsv bandsolveScgtsv_bufferSizeExt
    bandsolveSbgtsv bandsolveSbgtsv_bufferSizeExt bandsolveScbgtsv bandsolveScbgtsv_bufferSizeExt
    bandsolveSgbsv bandsolveSgbsv_bufferSizeExt);
api!(f64: bandsolveDgtsv bandsolveDgtsv_bufferSizeExt bandsolveDcgtsv bandsolveDcgtsv_bufferSizeExt
    bandsolveDbgtsv bandsolveDbgtsv_bufferSizeExt bandsolveDcbgtsv bandsolveDcbgtsv_bufferSizeExt
    bandsolveDgbsv bandsolveDgbsv_bufferSizeExt);
api!(Complex32: bandsolveCgtsv bandsolveCgtsv_bufferSizeExt bandsolveCcgtsv bandsolveCcgtsv_bufferSizeExt
    bandsolveCbgtsv bandsolveCbgtsv_bufferSizeExt bandsolveCcbgtsv bandsolveCcbgtsv_bufferSizeExt
    bandsolveCgbsv bandsolveCgbsv_bufferSizeExt);
api!(Complex64: bandsolveZgtsv bandsolveZgtsv_bufferSizeExt bandsolveZcgtsv bandsolveZcgtsv_bufferSizeExt
    bandsolveZbgtsv bandsolveZbgtsv_bufferSizeExt bandsolveZcbgtsv bandsolveZcbgtsv_bufferSizeExt
    bandsolveZgbsv bandsolveZgbsv_bufferSizeExt);

type StorageSize = unsafe extern "C" fn(i32, i64, i64, *mut usize) -> Status;
type Factor<T> = unsafe extern "C" fn(i32, i64, i64, *const T, *const T, *const T, *mut c_void) -> Status;
type Destroy = unsafe extern "C" fn(*mut c_void) -> Status;
type FactoredSolve<T> = unsafe extern "C" fn(
    i32,
    i64,
    i64,
    i64,
    *const T,
    *const T,
    *const T,
    *mut T,
    *const T,
    *const c_void,
    *mut c_void,
) -> Status;

/// The size of a factorization buffer, `bgtf`, `bgtf_destroy`, the size of a buffer, `bgtrfs`.
pub type SplitFunctions<T> = (StorageSize, Factor<T>, Destroy, BlockSize, FactoredSolve<T>);

/// The functions that factor and solve separately.
pub trait Split: Api {
    const SPLIT: SplitFunctions<Self>;
}

macro_rules! split {
    ($t:ty: $storage:ident $factor:ident $destroy:ident $size:ident $solve:ident) => {
        impl Split for $t {
            const SPLIT: SplitFunctions<$t> = ($storage, $factor, $destroy, $size, $solve);
        }
    };
}
split!(f32: bandsolveSbgtf_factorizationBufferSizeExt bandsolveSbgtf bandsolveSbgtf_destroy
    bandsolveSbgtrfs_bufferSizeExt bandsolveSbgtrfs);
split!(f64: bandsolveDbgtf_factorizationBufferSizeExt bandsolveDbgtf bandsolveDbgtf_destroy
    bandsolveDbgtrfs_bufferSizeExt bandsolveDbgtrfs);
split!(bandsolve::Complex32: bandsolveCbgtf_factorizationBufferSizeExt bandsolveCbgtf bandsolveCbgtf_destroy
    bandsolveCbgtrfs_bufferSizeExt bandsolveCbgtrfs);
split!(bandsolve::Complex64: bandsolveZbgtf_factorizationBufferSizeExt bandsolveZbgtf bandsolveZbgtf_destroy
    bandsolveZbgtrfs_bufferSizeExt bandsolveZbgtrfs);

/// A function, and its sizes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Family {
    Tridiagonal { cyclic: bool },
    Blocks { block: i64, cyclic: bool },
    Banded { lower: i64, upper: i64 },
}

use Family::*;

/// Every function once.
pub const FAMILIES: [Family; 5] = [
    Tridiagonal { cyclic: false },
    Tridiagonal { cyclic: true },
    Blocks { block: 2, cyclic: false },
    Blocks { block: 3, cyclic: true },
    Banded { lower: 2, upper: 1 },
];

impl Family {
    /// Get the number of elements of each array of a matrix.
    pub fn matrix_len(self, n: usize) -> usize {
        match self {
            Tridiagonal { .. } => n,
            Blocks { block, .. } => n * (block * block) as usize,
            Banded { lower, upper } => n * (lower + upper + 1) as usize,
        }
    }

    /// Get the number of elements of a right-hand side.
    pub fn rows(self, n: usize) -> usize {
        if let Blocks { block, .. } = self { n * block as usize } else { n }
    }

    /// Call the `_bufferSizeExt` function.
    ///
    /// # Safety
    /// As the C function.
    pub unsafe fn size<T: Api>(self, p: i32, n: i64, n_rhs: i64, out: *mut usize) -> Status {
        let f = T::FUNCTIONS;
        // SAFETY: the caller's.
        unsafe {
            match self {
                Tridiagonal { cyclic } => f.gtsv[usize::from(cyclic)].0(p, n, n_rhs, out),
                Blocks { block, cyclic } => f.bgtsv[usize::from(cyclic)].0(p, n, n_rhs, block, out),
                Banded { lower, upper } => f.gbsv.0(p, n, n_rhs, lower, upper, out),
            }
        }
    }

    /// Call the function. For a banded matrix, the first of the three arrays contains the bands.
    ///
    /// # Safety
    /// As the C function.
    pub unsafe fn solve<T: Api>(
        self,
        CallSizes { p, n, n_rhs }: CallSizes,
        [sub, diag, sup]: [*const T; 3],
        (x, rhs): (*mut T, *const T),
        buffer: *mut c_void,
    ) -> Status {
        let f = T::FUNCTIONS;
        // SAFETY: the caller's.
        unsafe {
            match self {
                Tridiagonal { cyclic } => f.gtsv[usize::from(cyclic)].1(p, n, n_rhs, sub, diag, sup, x, rhs, buffer),
                Blocks { block, cyclic } => {
                    f.bgtsv[usize::from(cyclic)].1(p, n, n_rhs, block, sub, diag, sup, x, rhs, buffer)
                }
                Banded { lower, upper } => f.gbsv.1(p, n, n_rhs, lower, upper, sub, x, rhs, buffer),
            }
        }
    }
}

/// The pivoting and the sizes of a call.
#[derive(Debug, Clone, Copy)]
pub struct CallSizes {
    pub p: i32,
    pub n: i64,
    pub n_rhs: i64,
}

impl CallSizes {
    pub fn new(p: i32, n: i64, n_rhs: i64) -> Self {
        Self { p, n, n_rhs }
    }
}

/// A system with its arrays.
#[derive(Debug, Clone)]
pub struct System<T> {
    pub family: Family,
    pub n: usize,
    pub n_rhs: usize,
    /// For a banded matrix, the first array contains the bands.
    pub matrix: [Vec<T>; 3],
    pub rhs: Vec<T>,
}

impl<T: Api> System<T> {
    /// Create a random system with row diagonal dominance. Entries that the functions ignore are NaN.
    pub fn random(family: Family, n: usize, n_rhs: usize) -> Self {
        let random = &mut Random::new((7 * n + n_rhs) as u64 + 1);
        let len = family.matrix_len(n);
        let mut matrix = [(); 3].map(|()| random_vec::<T>(len, random));
        let nan = T::from_real(T::Real::NAN);
        match family {
            Tridiagonal { cyclic } => {
                matrix[1].iter_mut().for_each(|v| *v += T::from_real(T::Real::from_f64(4.0)));
                if !cyclic && n > 0 {
                    (matrix[0][0], matrix[2][n - 1]) = (nan, nan);
                }
            }
            Blocks { block, cyclic } => {
                let (b, square) = (block as usize, (block * block) as usize);
                let dominant = T::from_real(T::Real::from_f64(5.0 * block as f64));
                (0..n * b).for_each(|i| matrix[1][i / b * square + i % b * (b + 1)] += dominant);
                if !cyclic && n > 0 {
                    matrix[0][..square].fill(nan);
                    matrix[2][(n - 1) * square..].fill(nan);
                }
            }
            Banded { lower, upper } => {
                let (lower, bands) = (lower as usize, (lower + upper + 1) as usize);
                let dominant = T::from_real(T::Real::from_f64(2.0 * bands as f64));
                matrix[0][lower * n..][..n].iter_mut().for_each(|v| *v += dominant);
                for (band, i) in (0..bands).flat_map(|band| (0..n).map(move |i| (band, i))) {
                    if i + band < lower || i + band - lower >= n {
                        matrix[0][band * n + i] = nan;
                    }
                }
            }
        }
        let rhs = random_vec::<T>(family.rows(n) * n_rhs, random);
        Self { family, n, n_rhs, matrix, rhs }
    }

    pub fn pointers(&self) -> [*const T; 3] {
        self.matrix.each_ref().map(|array| array.as_ptr())
    }

    /// Get the buffer size.
    pub fn buffer_bytes(&self, p: i32) -> usize {
        let mut size = usize::MAX;
        // SAFETY: `size` is a number.
        let status = unsafe { self.family.size::<T>(p, self.n as i64, self.n_rhs as i64, &mut size) };
        assert_eq!((status, message()), (Status::BANDSOLVE_SUCCESS, String::new()));
        size
    }

    /// Solve with the arrays of the system.
    pub fn solve(&self, p: i32, x: &mut [T], in_place: bool, buffer: Option<&mut [u8]>) -> Status {
        assert_eq!(x.len(), self.rhs.len());
        let (n, n_rhs) = (self.n as i64, self.n_rhs as i64);
        let buffer = buffer.map_or(core::ptr::null_mut(), |buffer| buffer.as_mut_ptr().cast());
        let x_pointer = x.as_mut_ptr();
        let rhs = if in_place {
            x.copy_from_slice(&self.rhs);
            x_pointer.cast_const()
        } else {
            self.rhs.as_ptr()
        };
        // SAFETY: arrays of the sizes that go with them, a buffer of the size asked for.
        unsafe { self.family.solve(CallSizes { p, n, n_rhs }, self.pointers(), (x_pointer, rhs), buffer) }
    }

    /// Factor blocks and solve with the factors. Whether the bits are those of one call depends on the method: `rpts` stores other factors
    /// of tridiagonal matrices than it uses once.
    pub fn solution_by_factors(&self, p: i32) -> Vec<T>
    where
        T: Split,
    {
        let (storage, factor, destroy, _, solve) = T::SPLIT;
        let Blocks { block, cyclic: false } = self.family else { unreachable!("only blocks have factors") };
        let (n, n_rhs, [sub, diag, sup]) = (self.n as i64, self.n_rhs as i64, self.pointers());
        let (mut bytes, mut x) = (0, vec![T::ZERO; self.rhs.len()]);
        // SAFETY: arrays as long as the sizes say; the factors are used before they are destroyed.
        unsafe {
            assert_eq!(storage(p, n, block, &mut bytes), Status::BANDSOLVE_SUCCESS);
            let mut held = vec![0_u8; bytes];
            let (held, rhs, none) = (held.as_mut_ptr().cast(), self.rhs.as_ptr(), core::ptr::null_mut());
            assert_eq!(factor(p, n, block, sub, diag, sup, held), Status::BANDSOLVE_SUCCESS, "{}", message());
            let status = solve(p, n, n_rhs, block, sub, diag, sup, x.as_mut_ptr(), rhs, held, none);
            assert_eq!((status, message()), (Status::BANDSOLVE_SUCCESS, String::new()));
            assert_eq!(destroy(held), Status::BANDSOLVE_SUCCESS);
        }
        x
    }

    /// Solve, and check for success.
    pub fn solution(&self, p: i32) -> Vec<T> {
        let mut x = vec![T::ZERO; self.rhs.len()];
        let status = self.solve(p, &mut x, false, None);
        assert_eq!((status, message()), (Status::BANDSOLVE_SUCCESS, String::new()));
        x
    }
}

impl<T: Api> MatrixRows<T> for System<T> {
    fn n(&self) -> usize {
        self.family.rows(self.n)
    }

    fn bandwidths(&self) -> (usize, usize) {
        match self.family {
            Tridiagonal { .. } => (1, 1),
            Blocks { block, .. } => (2 * block as usize - 1, 2 * block as usize - 1),
            Banded { lower, upper } => (lower as usize, upper as usize),
        }
    }

    fn entries(&self, i: usize, entries: &mut Vec<(usize, T)>) {
        entries.clear();
        match self.family {
            Tridiagonal { cyclic } => self.block_entries(i, 1, cyclic, entries),
            Blocks { block, cyclic } => self.block_entries(i, block as usize, cyclic, entries),
            Banded { lower, upper } => {
                for band in 0..=(lower + upper) as usize {
                    if let Some(j) = (i + band).checked_sub(lower as usize).filter(|j| *j < self.n) {
                        entries.push((j, self.matrix[0][band * self.n + i]));
                    }
                }
            }
        }
    }
}

impl<T: Api> System<T> {
    fn block_entries(&self, i: usize, b: usize, cyclic: bool, entries: &mut Vec<(usize, T)>) {
        let (row, r) = (i / b, i % b);
        for (k, array) in self.matrix.iter().enumerate() {
            let outside = (k == 0 && row == 0) || (k == 2 && row + 1 == self.n);
            if !outside || cyclic {
                let column = (row + k + self.n - 1) % self.n;
                entries.extend((0..b).map(|c| (column * b + c, array[row * b * b + r + c * b])));
            }
        }
    }
}

/// Get the message of the last call.
pub fn message() -> String {
    // SAFETY: a string that ends with a zero.
    unsafe { CStr::from_ptr(bandsolveLastError()) }.to_str().unwrap().into()
}

/// Get the report of the last solve, and its method.
pub fn report() -> (bandsolve_report_t, String) {
    let size = size_of::<bandsolve_report_t>();
    let mut report = bandsolve_report_t {
        size,
        backward_error: 0.0,
        refinement_steps: -1,
        fallback: -1,
        method: [1; 32],
        attention: [1; 160],
    };
    // SAFETY: a report.
    assert_eq!(unsafe { bandsolveLastReport(&mut report) }, Status::BANDSOLVE_SUCCESS);
    // SAFETY: the library ends it with a zero.
    let method = unsafe { CStr::from_ptr(report.method.as_ptr()) };
    (report, method.to_str().unwrap().into())
}

/// Set a method by name.
pub fn set_method(name: &CStr) -> Status {
    // SAFETY: a string that ends with a zero.
    unsafe { bandsolveSetMethod(name.as_ptr()) }
}

/// Define a test for each number type.
#[macro_export]
macro_rules! for_all_types {
    ($($name:ident),*) => {
        mod types {
            $(mod $name {
                use bandsolve::{Complex32, Complex64};
                #[test] fn s() { super::super::$name::<f32>(); }
                #[test] fn d() { super::super::$name::<f64>(); }
                #[test] fn c() { super::super::$name::<Complex32>(); }
                #[test] fn z() { super::super::$name::<Complex64>(); }
            })*
        }
    };
}

pub fn new_factor() -> bandsolve_factor_t {
    let mut factor = core::ptr::null_mut();
    // SAFETY: a place for the handle.
    assert_eq!(unsafe { bandsolve_factor_create(&mut factor) }, Status::BANDSOLVE_SUCCESS);
    factor
}
