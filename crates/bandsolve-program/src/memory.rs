//! Memory allocation that returns an error message, instead of aborting, if too little memory is free.

use bandsolve_io::memory;

/// The product of `dims`, if this number of items of `bytes` bytes each fits in the free memory.
///
/// # Errors
/// An error message.
pub fn affordable(dims: &[usize], bytes: usize) -> Result<usize, String> {
    Ok(memory::affordable(dims, bytes)?)
}

/// Reserve room for at least `more` items at the end of a list that will contain `total` items.
///
/// # Errors
/// An error message.
pub fn grow<T>(list: &mut Vec<T>, more: usize, total: usize) -> Result<(), String> {
    Ok(memory::grow(list, more, total)?)
}

/// A vector of `count` copies of a value.
///
/// # Errors
/// An error message.
pub fn filled<T: Clone>(value: T, count: usize) -> Result<Vec<T>, String> {
    Ok(memory::filled(value, count)?)
}

/// Collect the items of an iterator into a vector.
///
/// # Errors
/// An error message.
pub fn collected<T>(from: impl ExactSizeIterator<Item = T>) -> Result<Vec<T>, String> {
    let mut list = Vec::new();
    grow(&mut list, from.len(), from.len())?;
    list.extend(from);
    Ok(list)
}
