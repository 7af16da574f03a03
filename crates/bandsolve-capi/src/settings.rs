//! What a thread has set, and the plans that follow from it.

use crate::status::{CallFailure, CallResult};
use bandsolve::{Error, Method, Pivoting, Plan, Shape};
use core::ffi::c_char;
use std::cell::Cell;
use std::sync::OnceLock;
use std::thread::available_parallelism;

/// How pivot rows are chosen.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum bandsolve_pivoting_t {
    /// Rows are never exchanged: for matrices known not to need it.
    BANDSOLVE_NO_PIVOTING = 0,
    /// The larger of the candidates.
    BANDSOLVE_PARTIAL_PIVOTING = 1,
    /// The larger of the candidates, each relative to its own row.
    BANDSOLVE_SCALED_PARTIAL_PIVOTING = 2,
    /// What the library recommends: scaled partial pivoting.
    BANDSOLVE_DEFAULT_PIVOTING = 3,
}

use bandsolve_pivoting_t::*;

/// A truth value as C hands it in: any byte, so not Rust's `bool`; all but 0 are true.
pub type BoolArgument = u8;

/// A pivoting as C hands it in: any number, so not the Rust enum.
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

/// What a thread has set.
#[derive(Debug, Clone, Copy)]
struct LibrarySettings {
    method: Method,
    /// `None`: all there are.
    threads: Option<usize>,
    verify: bool,
}

const USUAL: LibrarySettings = LibrarySettings { method: Method::Auto, threads: None, verify: true };

thread_local! {
    static SETTINGS: Cell<LibrarySettings> = const { Cell::new(USUAL) };
}

fn change(by: impl FnOnce(&mut LibrarySettings)) {
    let mut settings = SETTINGS.get();
    by(&mut settings);
    SETTINGS.set(settings);
}

/// The most threads that a solve works with, and those that buffers are sized for: as many as there are when the first plan is
/// made. It stays the same, whatever becomes of the pool: sizes that were told go on to hold.
fn most_threads(pool: usize) -> usize {
    static MOST: OnceLock<usize> = OnceLock::new();
    *MOST.get_or_init(|| available_parallelism().map_or(1, usize::from).max(pool))
}

/// The threads that this thread has asked for, if it has.
pub(crate) fn threads_set() -> Option<usize> {
    let threads = SETTINGS.try_with(Cell::get).unwrap_or(USUAL).threads?;
    Some(threads.min(most_threads(bandsolve_kernel::threads::count())))
}

/// The plans for systems of one shape.
pub(crate) struct Plans {
    /// What buffers are sized by. It follows from the arguments alone: a buffer goes from thread to thread without its length,
    /// so no setting may count.
    pub buffer: Plan,
    /// What is solved with, under the settings of this thread.
    pub solve: Plan,
}

/// The plans for systems of this shape, which are solved `once` or whose factors are kept.
pub(crate) fn plans(p: PivotingArgument, shape: Shape, once: bool) -> CallResult<Plans> {
    let settings = SETTINGS.try_with(Cell::get).unwrap_or(USUAL);
    let plan = if once { Plan::once(shape) } else { Plan::new(shape) }.pivoting(pivoting(p)?);
    let pool = plan.options().threads;
    let most = most_threads(pool);
    // A plan decides anew with every change, so nothing is changed that is so already.
    let threads = |plan: Plan, threads| if plan.options().threads == threads { plan } else { plan.threads(threads) };
    let buffer = threads(plan, most);
    let mut solve = threads(buffer.clone(), settings.threads.unwrap_or(pool).min(most)).verify(settings.verify);
    if settings.method != Method::Auto {
        solve = solve.method(settings.method);
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
    Err(Error::Unsupported { method: settings.method.name(), what }.into())
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
/// `name` is null or a string that ends with a zero.
pub(crate) unsafe fn set_method(name: *const c_char) -> CallResult {
    // SAFETY: the caller's promise.
    let name = unsafe { crate::memory::text(name) }.unwrap_or(c"auto");
    let Some(method) = name.to_str().ok().and_then(Method::from_name) else {
        let names: Vec<_> = Method::ALL.into_iter().map(Method::name).collect();
        return Err(CallFailure::argument(format!(
            "no method is called {name:?}, expected one of {}",
            names.join(", ")
        )));
    };
    change(|settings| settings.method = method);
    Ok(())
}
