//! The settings of a thread, and the plans that follow from them.

use crate::status::{CallFailure, CallResult};
use bandsolve::{Error, Method, Pivoting, Plan, Shape};
use core::ffi::c_char;
use std::cell::Cell;
use std::sync::OnceLock;
use std::thread::available_parallelism;

/// How a solver chooses pivot rows.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum bandsolve_pivoting_t {
    /// Rows are never exchanged. For matrices that need no pivoting, for example diagonally dominant ones.
    BANDSOLVE_NO_PIVOTING = 0,
    /// The pivot row is the candidate row with the larger entry.
    BANDSOLVE_PARTIAL_PIVOTING = 1,
    /// The pivot row is the candidate row with the larger entry relative to its own row.
    BANDSOLVE_SCALED_PARTIAL_PIVOTING = 2,
    /// The recommended choice: scaled partial pivoting.
    BANDSOLVE_DEFAULT_PIVOTING = 3,
}

use bandsolve_pivoting_t::*;

/// A truth value from C. It may be any byte, so it is not Rust's `bool`. All bytes except 0 are true.
pub type BoolArgument = u8;

/// A number in double precision, in the functions of every number type.
pub type DoubleArgument = f64;

/// A pivoting from C. It may be any number, so it is not the Rust enum.
pub type PivotingArgument = i32;

fn pivoting(p: PivotingArgument) -> CallResult<Pivoting> {
    const DEFAULT: i32 = BANDSOLVE_DEFAULT_PIVOTING as i32;
    const SCALED: i32 = BANDSOLVE_SCALED_PARTIAL_PIVOTING as i32;
    const PARTIAL: i32 = BANDSOLVE_PARTIAL_PIVOTING as i32;
    const NONE: i32 = BANDSOLVE_NO_PIVOTING as i32;
    match p {
        DEFAULT => Ok(Pivoting::default()),
        SCALED => Ok(Pivoting::ScaledPartial),
        PARTIAL => Ok(Pivoting::Partial),
        NONE => Ok(Pivoting::None),
        _ => Err(CallFailure::argument(format!("p is {p}, expected a bandsolve_pivoting_t, 0 to 3"))),
    }
}

/// The settings of a thread.
#[derive(Debug, Clone, Copy)]
struct LibrarySettings {
    method: Method,
    /// `None` means all threads.
    threads: Option<usize>,
    verify: bool,
}

const DEFAULT_SETTINGS: LibrarySettings = LibrarySettings { method: Method::Auto, threads: None, verify: true };

thread_local! {
    static SETTINGS: Cell<LibrarySettings> = const { Cell::new(DEFAULT_SETTINGS) };
}

fn change(by: impl FnOnce(&mut LibrarySettings)) {
    let mut settings = SETTINGS.get();
    by(&mut settings);
    SETTINGS.set(settings);
}

/// Maximum number of threads of a solve, for which buffers are sized: the number of threads at the first plan. It never changes, so
/// that buffer sizes remain valid.
fn most_threads(pool: usize) -> usize {
    static MOST: OnceLock<usize> = OnceLock::new();
    *MOST.get_or_init(|| available_parallelism().map_or(1, usize::from).max(pool))
}

/// Get the number of threads that this thread set, if any.
pub(crate) fn threads_set() -> Option<usize> {
    let threads = SETTINGS.try_with(Cell::get).unwrap_or(DEFAULT_SETTINGS).threads?;
    Some(threads.min(most_threads(bandsolve_kernel::threads::count())))
}

/// The plans for systems of one shape.
pub(crate) struct Plans {
    /// The plan for buffer sizes. It depends only on the arguments: a buffer passes between threads without its length, so the size must
    /// not depend on settings.
    pub buffer: Plan,
    /// The plan for the solve, with the settings of this thread.
    pub solve: Plan,
}

/// Create the plans for systems of this shape. `once` means to solve once, without factors for later solves. The default method is that of this
/// thread.
pub(crate) fn plans(p: PivotingArgument, shape: Shape, once: bool, method: Option<Method>) -> CallResult<Plans> {
    let settings = SETTINGS.try_with(Cell::get).unwrap_or(DEFAULT_SETTINGS);
    let plan = if once { Plan::once(shape) } else { Plan::new(shape) }.pivoting(pivoting(p)?);
    let pool = plan.options().threads;
    let most = most_threads(pool);
    // Each change makes the plan choose again, so the function skips changes without effect.
    let threads = |plan: Plan, threads| if plan.options().threads == threads { plan } else { plan.threads(threads) };
    let buffer = threads(plan, most);
    let mut solve = threads(buffer.clone(), settings.threads.unwrap_or(pool).min(most)).verify(settings.verify);
    let method = method.unwrap_or(settings.method);
    if method != Method::Auto {
        solve = solve.method(method);
    }
    if solve.chosen_method().solves(shape) {
        return Ok(Plans { buffer, solve });
    }
    let what = match shape {
        Shape::Tridiagonal { .. } | Shape::Batch { .. } => "tridiagonal systems",
        Shape::BlockTridiagonal { .. } => "block tridiagonal systems with blocks of this size",
        Shape::Banded { .. } => "banded systems of this width",
        _ => "systems of this kind",
    };
    Err(Error::Unsupported { method: method.name(), what }.into())
}

pub(crate) fn set_threads(threads: i64) -> CallResult {
    let threads = crate::memory::size("threads", threads)?;
    change(|settings| settings.threads = Some(threads).filter(|threads| *threads > 0));
    Ok(())
}

pub(crate) fn set_verify(verify: bool) -> CallResult {
    change(|settings| settings.verify = verify);
    Ok(())
}

/// # Safety
/// `name` is null, or a string with a zero at the end.
pub(crate) unsafe fn set_method(name: *const c_char) -> CallResult {
    // SAFETY: the caller's promise.
    let name = unsafe { crate::memory::text(name) }.unwrap_or(c"auto");
    let Some(method) = name.to_str().ok().and_then(Method::from_name) else {
        let names: Vec<_> = Method::ALL.into_iter().map(Method::name).collect();
        return Err(CallFailure::argument(format!("there is no method {name:?}; use one of {}", names.join(", "))));
    };
    change(|settings| settings.method = method);
    Ok(())
}
