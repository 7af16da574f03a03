//! Permutations, and parallel reordering of arrays with them.

use crate::spread::{RowsOf, chunks, each_chunk};
use crate::tuning::PERMUTED_PIECE;

/// A permutation of 0 … n − 1, which was checked at construction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Permutation {
    order: Vec<u32>,
    places: Vec<u32>,
}

impl Permutation {
    /// A permutation from the place of each element, and memory for the element at each place.
    ///
    /// Returns `None` if two elements have the same place, if a place is n or larger, or if the memory has another
    /// length.
    pub fn from_places(places: Vec<u32>, mut order: Vec<u32>) -> Option<Self> {
        const NONE: u32 = u32::MAX;
        if order.len() != places.len() {
            return None;
        }
        order.fill(NONE);
        for (element, place) in places.iter().enumerate() {
            match order.get_mut(*place as usize) {
                Some(at) if *at == NONE => *at = element as u32,
                _ => return None,
            }
        }
        Some(Self { order, places })
    }

    /// A permutation from the element at each place and the place of each element. Returns `None` unless one is the
    /// inverse of the other.
    pub fn from_order(order: Vec<u32>, places: Vec<u32>) -> Option<Self> {
        let of_piece = |piece: usize, ()| {
            let first = piece * PERMUTED_PIECE;
            let elements = order[first..].iter().take(PERMUTED_PIECE).enumerate();
            let place = |element: u32| places.get(element as usize).map(|place| *place as usize);
            elements.fold(true, |inverse, (k, element)| inverse & (place(*element) == Some(first + k)))
        };
        // Each place is the place of its element, so no element occurs twice. The lengths are equal.
        let pieces = (order.len().div_ceil(PERMUTED_PIECE), 2);
        let inverse = order.len() == places.len() && chunks(pieces, (), &of_piece, (true, &|a, b| a & b));
        inverse.then_some(Self { order, places })
    }

    /// The number of elements.
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Whether the permutation has no elements.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// The element at each place.
    pub fn order(&self) -> &[u32] {
        &self.order
    }

    /// The place of each element.
    pub fn places(&self) -> &[u32] {
        &self.places
    }

    /// `out[place of i] = value(i)` for every i.
    ///
    /// Values are computed in the order of the elements, so that their inputs can be read consecutively.
    ///
    /// # Panics
    /// If the length of `out` differs from that of the permutation.
    pub fn scatter<T: Copy + Send + Sync>(&self, out: &mut [T], value: &(impl Fn(usize) -> T + Sync)) {
        assert_eq!(out.len(), self.len(), "`out` must have the length of the permutation");
        let out = ScatteredOutput(out.as_mut_ptr());
        let piece = |piece: usize, ()| {
            let first = piece * PERMUTED_PIECE;
            for (k, place) in self.places[first..(first + PERMUTED_PIECE).min(self.len())].iter().enumerate() {
                // SAFETY: places are below the length, and each belongs to exactly one element. No two writes on any
                // threads go to the same place. `out` is borrowed mutably for the whole time.
                unsafe { out.at(*place as usize).write(value(first + k)) };
            }
        };
        each_chunk((self.len().div_ceil(PERMUTED_PIECE), 2), (), &piece);
    }

    /// `out[i] = value(i, out[i], place of i)` for every i.
    ///
    /// # Panics
    /// If the length of `out` differs from that of the permutation.
    pub fn gather<T: Copy + Send>(&self, out: &mut [T], value: &(impl Fn(usize, T, usize) -> T + Sync)) {
        assert_eq!(out.len(), self.len(), "`out` must have the length of the permutation");
        let pieces = self.len().div_ceil(PERMUTED_PIECE);
        each_chunk((pieces, 2), RowsOf(out, PERMUTED_PIECE), &|piece, RowsOf(out, _)| {
            let first = piece * PERMUTED_PIECE;
            for (k, (out, place)) in out.iter_mut().zip(&self.places[first..]).enumerate() {
                *out = value(first + k, *out, *place as usize);
            }
        });
    }
}

/// An array that several threads write at different places.
struct ScatteredOutput<T>(*mut T);

impl<T> ScatteredOutput<T> {
    /// The element at k.
    ///
    /// # Safety
    /// The element exists.
    unsafe fn at(&self, k: usize) -> *mut T {
        // SAFETY: the caller's promise.
        unsafe { self.0.add(k) }
    }
}

// SAFETY: this is only a pointer; each writer promises to be the only one at its place.
unsafe impl<T: Send> Sync for ScatteredOutput<T> {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_and_back() {
        for n in [0, 1, 7, PERMUTED_PIECE, 5 * PERMUTED_PIECE + 3] {
            let places: Vec<u32> = (0..n).map(|i| ((i * 7 + 3) % n.max(1)) as u32).collect();
            let Some(permutation) = Permutation::from_places(places.clone(), vec![0; places.len()]) else {
                assert!(n % 7 == 0, "{n}");
                continue;
            };
            let mut there = vec![0; n];
            permutation.scatter(&mut there, &|i| i);
            assert!(there.iter().zip(permutation.order()).all(|(i, own)| *i == *own as usize));
            let mut back = vec![1; n];
            permutation.gather(&mut back, &|_, before, place| before + there[place]);
            assert!(back.iter().enumerate().all(|(i, v)| *v == i + 1));
            let mut order = permutation.order().to_vec();
            assert_eq!(Permutation::from_order(order.clone(), places.clone()), Some(permutation));
            order.reverse();
            let is_inverse = Permutation::from_order(order, places).is_some();
            assert_eq!(is_inverse, n < 2, "{n}");
        }
        for wrong in [vec![0, 0], vec![2, 0], vec![u32::MAX]] {
            assert_eq!(Permutation::from_order(wrong.clone(), wrong.clone()), None);
            let memory = vec![0; wrong.len()];
            assert_eq!(Permutation::from_places(wrong, memory), None);
        }
    }
}
