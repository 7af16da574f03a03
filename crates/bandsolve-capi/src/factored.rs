//! `bgtf`, `bgtrfs`: factor block tridiagonal systems once and solve them many times.
//!
//! The factorization buffer of the caller contains a header with the number of the factors, which are on the heap. Its size is fixed, and
//! it may have any alignment. The factors borrow the arrays of the caller, which verification and refinement need.

use crate::memory::{RawArray, size};
use crate::report;
use crate::settings::PivotingArgument;
use crate::solve::{CheckedSystem, Sides, SystemKind, bands, fixed_size, open, run};
use crate::status::{CallFailure, CallResult};
use bandsolve::AnyFactor;
use bandsolve::{BlockTridiagonal, Plan, Scalar};
use core::ffi::c_void;
use std::any::Any;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The contents of a factorization buffer with factors.
#[repr(C)]
#[derive(Clone, Copy)]
struct FactorsHeader {
    magic: u64,
    number: u64,
    /// Distinguishes a header from other bytes, with `magic` and `number`.
    check: u64,
}

/// Size of a factorization buffer in bytes.
pub(crate) const HEADER_BYTES: usize = size_of::<FactorsHeader>();

const MAGIC: u64 = 0x6261_6e64_7366_6163;

impl FactorsHeader {
    fn new(number: u64) -> Self {
        Self { magic: MAGIC, number, check: MAGIC.rotate_left(32) ^ number }
    }

    fn is_valid(&self) -> bool {
        self.magic == MAGIC && self.check == Self::new(self.number).check
    }
}

/// [`OwnedFactors`] of any number type.
type AnyFactors = Arc<dyn Any + Send + Sync>;

/// The factors by number, each with the address of its buffer at the last use. A copy of a header whose factors were freed refers to no
/// factors.
static FACTORS: Mutex<BTreeMap<u64, (usize, AnyFactors)>> = Mutex::new(BTreeMap::new());

fn stored() -> MutexGuard<'static, BTreeMap<u64, (usize, AnyFactors)>> {
    FACTORS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Store factors for the buffer at an address; return their number.
fn hold(place: usize, factors: AnyFactors) -> u64 {
    static NUMBERS: AtomicU64 = AtomicU64::new(1);
    let number = NUMBERS.fetch_add(1, Ordering::Relaxed);
    stored().insert(number, (place, factors));
    number
}

/// Factors of a matrix in the memory of the caller.
struct OwnedFactors<T: Scalar> {
    factor: AnyFactor<'static, T>,
    plan: Plan,
    call: FactorCall,
}

/// The arguments of `bgtf`.
#[derive(Debug, PartialEq)]
pub(crate) struct FactorCall {
    p: PivotingArgument,
    n: i64,
    block: i64,
    /// The addresses of the arrays.
    matrix: [usize; 3],
}

impl FactorCall {
    pub fn new<T>(p: PivotingArgument, (n, block): (i64, i64), matrix: [*const T; 3]) -> Self {
        // The arrays of a matrix without rows may have any address.
        let matrix = if n > 0 { matrix.map(<*const T>::addr) } else { [0; 3] };
        Self { p, n, block, matrix }
    }

    /// Return an error unless the arguments of `bgtrfs` are the same.
    pub fn check(&self, solve: &Self) -> CallResult {
        if self == solve {
            return Ok(());
        }
        Err(CallFailure::argument(
            "p, n, block, sub, diag or sup differs from the call of bgtf; pass the same values".into(),
        ))
    }
}

/// The failure for a factorization buffer without factors.
pub(crate) fn no_factors() -> CallFailure {
    CallFailure::buffer("factorization_buffer contains no factors; call bgtf with this buffer first".into())
}

/// The failure for a factorization buffer with factors of another number type.
pub(crate) fn other_type() -> CallFailure {
    CallFailure::buffer(
        "factorization_buffer contains factors of another number type; use the function of the type that factored"
            .into(),
    )
}

/// Read the number in the caller's buffer, if the buffer has factors.
///
/// # Safety
/// `buffer` is null or points to [`HEADER_BYTES`] bytes.
unsafe fn number(buffer: *const c_void) -> CallResult<Option<u64>> {
    RawArray::<u8>::new("factorization_buffer", buffer.cast(), HEADER_BYTES)?;
    // SAFETY: the pointer is not null, and the buffer has this size. All bytes are a valid header, which is checked before use.
    let header = unsafe { buffer.cast::<FactorsHeader>().read_unaligned() };
    Ok(header.is_valid().then_some(header.number))
}

/// Write the size of the factorization buffer to `out`.
///
/// # Safety
/// `out` is null, or may be written.
pub(crate) unsafe fn storage_size<T: Scalar>(p: PivotingArgument, n: i64, block: i64, out: *mut usize) -> CallResult {
    // SAFETY: the caller's promise.
    unsafe { fixed_size::<T>(p, SystemKind::Factors { n, block }, 1, HEADER_BYTES, out) }
}

/// Factor a block tridiagonal matrix (`bgtf`). If the buffer had factors, free them.
///
/// # Safety
/// Pointers that are not null point to arrays of the given sizes; nobody changes the matrix before the factors are destroyed.
pub(crate) unsafe fn factor<T: Scalar>(
    p: PivotingArgument,
    (n, block): (i64, i64),
    matrix: [*const T; 3],
    buffer: *mut c_void,
) -> CallResult {
    report::clear();
    let system = CheckedSystem::new::<T>(p, SystemKind::Factors { n, block }, 1)?;
    let (arrays, places) = bands(matrix, system.matrix_len)?;
    let bytes = RawArray::<u8>::new("factorization_buffer", buffer.cast(), HEADER_BYTES)?;
    if let Some(other) = bytes.place().overlapped(&places) {
        return Err(CallFailure::buffer(format!(
            "factorization_buffer overlaps {}; pass a buffer that does not overlap",
            other.name
        )));
    }
    // SAFETY: the caller's promise, also that the arrays live as long as the factors.
    let [sub, diag, sup]: [&'static [T]; 3] = unsafe { arrays.each_ref().map(|a| a.read()) };
    let a = BlockTridiagonal::new(size("block", block)?, sub, diag, sup)?;
    // SAFETY: checked above.
    if let Some(number) = unsafe { number(buffer)? } {
        free_at(number, buffer.addr());
    }
    let factor = system.plan.factor_owned(a)?;
    let factors = OwnedFactors { factor, plan: system.plan, call: FactorCall::new(p, (n, block), matrix) };
    let header = FactorsHeader::new(hold(buffer.addr(), Arc::new(factors)));
    // SAFETY: checked above. The write needs no alignment.
    unsafe { buffer.cast::<FactorsHeader>().write_unaligned(header) };
    Ok(())
}

/// Free factors whose buffer is at this address. If the buffer was moved and used since, these bytes are an old copy, and the factors
/// remain.
fn free_at(number: u64, place: usize) {
    let mut all = stored();
    let here = all.get(&number).is_some_and(|(last, _)| *last == place);
    let freed = if here { all.remove(&number) } else { None };
    // Release the lock first, so that other threads need not wait.
    drop(all);
    drop(freed);
}

/// Solve with the factors (`bgtrfs`).
///
/// # Safety
/// As [`factor`]; the factors are not destroyed during the call.
pub(crate) unsafe fn solve<T: Scalar>(
    p: PivotingArgument,
    (n, block): (i64, i64),
    matrix: [*const T; 3],
    sides: Sides<T>,
    factors: *const c_void,
) -> CallResult {
    report::clear();
    // SAFETY: the caller's promise.
    let number = unsafe { number(factors)? }.ok_or_else(no_factors)?;
    let any = stored().get_mut(&number).map(|(place, any)| {
        *place = factors.addr();
        any.clone()
    });
    let any = any.ok_or_else(no_factors)?;
    let owned = any.downcast_ref::<OwnedFactors<T>>().ok_or_else(other_type)?;
    owned.call.check(&FactorCall::new(p, (n, block), matrix))?;
    let mut system = CheckedSystem::new::<T>(p, SystemKind::Factors { n, block }, sides.n_rhs)?;
    system.plan = owned.plan.clone();
    let [sub, diag, sup] = bands(matrix, system.matrix_len)?.1;
    let places = [sub, diag, sup, RawArray::<u8>::new("factorization_buffer", factors.cast(), HEADER_BYTES)?.place()];
    // SAFETY: the caller's promise.
    let work = unsafe { open(&system, &places, sides)? };
    run(&owned.factor, &system, work)
}

/// Free the factors (`bgtf_destroy`).
///
/// # Safety
/// `buffer` is null or a factorization buffer, whose factors nobody uses.
pub(crate) unsafe fn destroy(buffer: *mut c_void) -> CallResult {
    if buffer.is_null() {
        return Ok(());
    }
    // SAFETY: the caller's promise.
    let number = unsafe { number(buffer)? }.ok_or_else(no_factors)?;
    let freed = stored().remove(&number).ok_or_else(no_factors)?;
    // SAFETY: the size was checked above.
    unsafe { buffer.cast::<FactorsHeader>().write_unaligned(FactorsHeader { magic: 0, number: 0, check: 0 }) };
    drop(freed);
    Ok(())
}
