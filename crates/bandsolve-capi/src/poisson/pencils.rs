//! Problems with two tridiagonal matrices for each axis.

use super::{bandsolve_poisson_solver_t, counted, hand_over, method_called};
use crate::memory::{RawArray, elements, room, size};
use crate::settings::threads_set;
use crate::status::CallResult;
use bandsolve_poisson::{AxisPencil, PoissonScalar, SeparablePencils};
use core::ffi::c_char;

/// Two tridiagonal matrices A and M of one axis, each with n rows.
///
/// All arrays have length n and are copied. The first entry of each `sub` array and the last entry of each `sup` array are
/// ignored.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct bandsolve_pencil_t {
    /// Number of unknowns along the axis. Default 1.
    pub n: i64,
    /// Entries of A below the diagonal. Default NULL, which is an error.
    pub a_sub: *const f64,
    /// Diagonal of A.
    pub a_diag: *const f64,
    /// Entries of A above the diagonal.
    pub a_sup: *const f64,
    /// Entries of M below the diagonal. If all three arrays of M are NULL, the default, M is the identity.
    pub m_sub: *const f64,
    /// Diagonal of M.
    pub m_diag: *const f64,
    /// Entries of M above the diagonal.
    pub m_sup: *const f64,
}

/// The problem (A1 x M2 + M1 x A2 + shift M1 x M2) u = f on a box, where x is the Kronecker product.
///
/// In three dimensions the matrix is the sum of three products, each with one A and two M, and of the shift. Along all axes but
/// one, A must be symmetric, and M symmetric and definite.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct bandsolve_pencils_problem_t {
    /// Set it to `sizeof(bandsolve_pencils_problem_t)` first, also before `bandsolvePoissonPencilsDefaults`.
    pub size: usize,
    /// Number of axes of the box, 1 to 3. Default 2.
    pub dimensions: i64,
    /// The axes. The first `dimensions` of them are used, and the last of these is contiguous in memory.
    pub axes: [bandsolve_pencil_t; 3],
    /// The factor of the product of all M. Default 0.
    pub shift: f64,
    /// Name of the method: "auto", "gemm" or "pscr". Default NULL, which means "auto".
    pub method: *const c_char,
}

const NO_ARRAY: *const f64 = core::ptr::null();
const NO_PENCIL: bandsolve_pencil_t = bandsolve_pencil_t {
    n: 1,
    a_sub: NO_ARRAY,
    a_diag: NO_ARRAY,
    a_sup: NO_ARRAY,
    m_sub: NO_ARRAY,
    m_diag: NO_ARRAY,
    m_sup: NO_ARRAY,
};

/// Write the default problem.
///
/// # Safety
/// `out` is null, or points to a structure whose first field is its size.
pub(crate) unsafe fn pencils_defaults(out: *mut bandsolve_pencils_problem_t) -> CallResult {
    // SAFETY: the caller's promise.
    let size = unsafe { room("problem", out)? };
    let (axes, method) = ([NO_PENCIL; 3], core::ptr::null());
    let usual = bandsolve_pencils_problem_t { size, dimensions: 2, axes, shift: 0.0, method };
    // SAFETY: the size was checked above.
    unsafe { out.write(usual) };
    Ok(())
}

impl bandsolve_pencil_t {
    /// Get the matrices.
    ///
    /// # Safety
    /// Arrays that are not null have n numbers, which nobody writes during the call.
    unsafe fn read(&self) -> CallResult<AxisPencil> {
        let n = elements::<f64>("an axis", &[size("n of an axis", self.n)?])?;
        let array = |name: &'static str, start: *const f64| -> CallResult<&[f64]> {
            // SAFETY: the caller's promise.
            Ok(unsafe { RawArray::new(name, start, n)?.read() })
        };
        let a = [array("a_sub", self.a_sub)?, array("a_diag", self.a_diag)?, array("a_sup", self.a_sup)?];
        if [self.m_sub, self.m_diag, self.m_sup].iter().all(|start| start.is_null()) {
            return Ok(AxisPencil::with_identity(a));
        }
        let m = [array("m_sub", self.m_sub)?, array("m_diag", self.m_diag)?, array("m_sup", self.m_sup)?];
        Ok(AxisPencil::new(a, m))
    }
}

/// Create a solver of a problem (`poisson_create_pencils`).
///
/// # Safety
/// `given` is null, or points to a structure whose first field is its size; pointers in it that are not null point to what the header says.
/// `out` is null, or may be written.
pub(crate) unsafe fn create_pencils<T: PoissonScalar>(
    given: *const bandsolve_pencils_problem_t,
    out: *mut bandsolve_poisson_solver_t,
) -> CallResult {
    let out = RawArray::new("solver", out, 1)?;
    // SAFETY: the caller's promise; all bytes are valid numbers and pointers.
    let given = unsafe {
        room("problem", given)?;
        *given
    };
    let axes = counted(&given.axes, given.dimensions)?;
    let shape = axes.iter().map(|axis| size("n of an axis", axis.n)).collect::<CallResult<Vec<_>>>()?;
    elements::<f64>("u", &shape)?;
    // SAFETY: the caller's promise.
    let (method, pencils) = unsafe {
        let pencils = axes.iter().map(|axis| axis.read()).collect::<CallResult<Vec<_>>>()?;
        (method_called(given.method)?, pencils)
    };
    let mut problem = SeparablePencils::new(&pencils).shift(given.shift).method(method);
    if let Some(threads) = threads_set() {
        problem = problem.threads(threads);
    }
    let plan = problem.plan::<T>()?;
    // SAFETY: the caller's promise.
    unsafe { hand_over(plan, &out) };
    Ok(())
}
