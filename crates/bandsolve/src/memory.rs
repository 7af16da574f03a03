//! Fallible allocation for all memory that grows with a system. These functions return `Err(OutOfMemory)` where `Vec` would abort.

use crate::error::{Error, Result};
use bandsolve_kernel::memory::{Array, MemoryPool, leaves_room, zeros};
use bytemuck::Pod;
use dyn_stack::StackReq;

/// The error that there is no memory for `n` values.
pub fn out_of_memory<T>(n: usize) -> Error {
    Error::OutOfMemory { bytes: n.saturating_mul(size_of::<T>()) }
}

/// An empty vector with room for `n` values.
pub fn reserved<T>(n: usize) -> Result<Vec<T>> {
    let mut values = Vec::new();
    values.try_reserve_exact(n).map_err(|_| out_of_memory::<T>(n))?;
    if leaves_room(n * size_of::<T>()) { Ok(values) } else { Err(out_of_memory::<T>(n)) }
}

/// `n` copies of `value`.
pub fn allocate<T: Clone>(n: usize, value: T) -> Result<Vec<T>> {
    let mut values = reserved(n)?;
    values.resize(n, value);
    Ok(values)
}

/// `n` zeros. The system provides the pages of large arrays when they are first written.
pub fn zeroed<T: Pod>(n: usize) -> Result<Vec<T>> {
    zeros(n).ok_or_else(|| out_of_memory::<T>(n))
}

/// An array of `n` numbers with arbitrary values, from a pool if there is one.
pub fn array<T: Pod>(n: usize, pool: Option<&MemoryPool>) -> Result<Array<T>> {
    Array::new(n, pool).ok_or_else(|| out_of_memory::<T>(n))
}

/// Scratch memory of the size `needed`, with arbitrary values.
pub fn buffer(needed: StackReq) -> Result<Array<u8>> {
    array(needed.unaligned_bytes_required(), None)
}

/// A copy of `values`.
pub fn copied<T: Copy>(values: &[T]) -> Result<Vec<T>> {
    let mut copy = reserved(values.len())?;
    copy.extend_from_slice(values);
    Ok(copy)
}

/// The values of an iterator whose size hint has an upper bound.
pub fn collected<T>(from: impl Iterator<Item = T>) -> Result<Vec<T>> {
    let (_, most) = from.size_hint();
    let mut values = reserved(most.expect("an iterator with a bound"))?;
    values.extend(from);
    Ok(values)
}

/// Replace `values` by the values of an iterator whose size hint has an upper bound.
pub fn refill<T>(values: &mut Vec<T>, from: impl Iterator<Item = T>) -> Result<()> {
    values.clear();
    more(values, from.size_hint().1.expect("an iterator with a bound"))?;
    values.extend(from);
    Ok(())
}

/// `n` empty places, to be filled with values or errors.
pub fn places<T>(n: usize) -> Result<Vec<Option<Result<T>>>> {
    let mut places = reserved(n)?;
    places.resize_with(n, || None);
    Ok(places)
}

/// The values in filled places, or the first error.
pub fn filled<T>(places: impl IntoIterator<Item = Option<Result<T>>>) -> Result<Vec<T>> {
    let places = places.into_iter();
    let mut values = reserved(places.size_hint().1.expect("an iterator with a bound"))?;
    for value in places.flatten() {
        values.push(value?);
    }
    Ok(values)
}

/// Reserve room for `count` more values.
pub fn more<T>(values: &mut Vec<T>, count: usize) -> Result<()> {
    values.try_reserve(count).map_err(|_| out_of_memory::<T>(values.len().saturating_add(count)))
}

/// Append a value.
pub fn push<T>(values: &mut Vec<T>, value: T) -> Result<()> {
    more(values, 1)?;
    values.push(value);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_large_allocations_are_errors() {
        let bytes = |n: usize| Some(Error::OutOfMemory { bytes: n.saturating_mul(8) });
        for n in [1 << 60, usize::MAX] {
            assert_eq!(reserved::<f64>(n).err(), bytes(n));
            assert_eq!(more(&mut Vec::<f64>::new(), n).err(), bytes(n));
            assert_eq!(allocate(n, 1.0).err(), bytes(n));
            assert_eq!(zeroed::<f64>(n).err(), bytes(n));
            assert_eq!(collected((0..n).filter(|i| i % 2 == 0)).err(), bytes(n));
            assert!(places::<f64>(n).is_err());
        }
    }

    #[test]
    fn small_allocations_succeed() {
        assert_eq!(zeroed::<f32>(3), Ok(vec![0.0; 3]));
        assert_eq!(copied(&[1, 2]), Ok(vec![1, 2]));
        let mut odd = collected((0..6).filter(|i| i % 2 == 1)).unwrap();
        push(&mut odd, 7).unwrap();
        assert_eq!(odd, [1, 3, 5, 7]);
        refill(&mut odd, 2..4).unwrap();
        assert_eq!(odd, [2, 3]);
        let mut table = places(2).unwrap();
        table[0] = Some(Ok(1));
        assert_eq!(filled(table), Ok(vec![1]));
        let failed: Error = Error::Singular { row: 3 };
        assert_eq!(filled([Some(Ok(1)), Some(Err(failed.clone()))]), Err(failed));
    }
}
