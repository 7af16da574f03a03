//! Fallible allocation of memory, limited to the memory that is free.

use bandsolve::host::free_memory;
use std::fmt;

/// The memory does not suffice. The text says how much the call needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoMemory(String);

impl NoMemory {
    /// The same error with words before it.
    #[must_use]
    pub fn after(self, words: impl fmt::Display) -> Self {
        Self(format!("{words}: {}", self.0))
    }
}

impl fmt::Display for NoMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for NoMemory {}

impl From<NoMemory> for String {
    fn from(error: NoMemory) -> Self {
        error.0
    }
}

/// Return the product of `dims`, if an array of this shape with items of `bytes` bytes fits the free memory.
///
/// # Errors
/// [`NoMemory`] if it does not fit.
pub fn affordable(dims: &[usize], bytes: usize) -> Result<usize, NoMemory> {
    let count = dims.iter().try_fold(1_usize, |product, d| product.checked_mul(*d));
    let needed = count.and_then(|c| c.checked_mul(bytes));
    let free = free_memory();
    match (count, needed) {
        (Some(count), Some(needed)) if needed as u64 <= free => Ok(count),
        _ => {
            let needed = dims.iter().map(|d| *d as f64).product::<f64>() * bytes as f64;
            let (needed, free) = (gib(needed), gib(free as f64));
            Err(NoMemory(format!("it takes {needed:.1} GiB of memory, but only {free:.1} GiB are free")))
        }
    }
}

fn gib(bytes: f64) -> f64 {
    bytes / f64::powi(2.0, 30)
}

/// Reserve memory for at least `more` further items of a list that will have `total` items. The capacity doubles, up to `total`.
///
/// # Errors
/// [`NoMemory`] if the memory does not suffice.
pub fn grow<T>(list: &mut Vec<T>, more: usize, total: usize) -> Result<(), NoMemory> {
    let length = list.len();
    if list.capacity() - length >= more {
        return Ok(());
    }
    let wanted = more.max(length.min(total.saturating_sub(length)));
    list.try_reserve_exact(wanted).map_err(|_| {
        let bytes = (length + wanted) as f64 * size_of::<T>() as f64;
        NoMemory(format!("{:.1} GiB of memory could not be allocated", gib(bytes)))
    })
}

/// A list of `count` copies of a value.
///
/// # Errors
/// [`NoMemory`] if the memory does not suffice.
pub fn filled<T: Clone>(value: T, count: usize) -> Result<Vec<T>, NoMemory> {
    let mut list = Vec::new();
    grow(&mut list, count, count)?;
    list.resize(count, value);
    Ok(list)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_grow_by_themselves_but_not_beyond_their_end() {
        let mut list: Vec<u8> = Vec::new();
        for (length, room) in [(0, 10), (10, 20), (20, 25)] {
            list.resize(length, 0);
            grow(&mut list, if length == 0 { 10 } else { 1 }, 25).unwrap();
            assert_eq!(list.capacity(), room);
        }
        assert_eq!(filled(3, 4).unwrap(), [3; 4]);
        assert!(
            filled(0_u64, usize::MAX / 8).unwrap_err().to_string().contains("GiB of memory could not be allocated")
        );
        assert!(affordable(&[usize::MAX, 2], 1).unwrap_err().to_string().contains("GiB are free"));
    }
}
