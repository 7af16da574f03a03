//! Memory that is asked for only where there is enough of it; its lack is an error in words.

use bandsolve_io::memory;

/// The product of `dims`, if that many items of `bytes` each fit into the memory that is free.
///
/// # Errors
/// The reason in words.
pub fn affordable(dims: &[usize], bytes: usize) -> Result<usize, String> {
    Ok(memory::affordable(dims, bytes)?)
}

/// Room for at least `more` items behind those of a list that will hold `total`.
///
/// # Errors
/// The reason in words.
pub fn grow<T>(list: &mut Vec<T>, more: usize, total: usize) -> Result<(), String> {
    Ok(memory::grow(list, more, total)?)
}

/// `count` times the same.
///
/// # Errors
/// The reason in words.
pub fn filled<T: Clone>(value: T, count: usize) -> Result<Vec<T>, String> {
    Ok(memory::filled(value, count)?)
}

/// All that an iterator yields, which knows how many there are.
///
/// # Errors
/// The reason in words.
pub fn collected<T>(from: impl ExactSizeIterator<Item = T>) -> Result<Vec<T>, String> {
    let mut list = Vec::new();
    grow(&mut list, from.len(), from.len())?;
    list.extend(from);
    Ok(list)
}
