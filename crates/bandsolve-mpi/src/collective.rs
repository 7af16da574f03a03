//! Collective functions of ranks that fail on all ranks if they fail on one.

use crate::agreement::{RankError, agree};
use crate::ranks::{Expected, Ranks, Sent, room};
use bytemuck::Pod;

/// Message tags for messages to rank 0, and from rank 0.
const TO_FIRST: i32 = 30;
const FROM_FIRST: i32 = 31;

impl Ranks {
    /// Return the value of this rank if no rank failed; otherwise the error of the lowest rank that failed. Collective.
    ///
    /// # Errors
    /// The error of the lowest rank that failed, the same on all ranks.
    pub fn agree<V>(&self, value: bandsolve::Result<V>) -> Result<V, RankError> {
        agree(self, value)
    }

    /// Gather the values of all ranks on rank 0, in the order of the ranks. Other ranks get an empty list. Collective.
    ///
    /// `len_of(rank)` is the number of values of each rank.
    ///
    /// # Errors
    /// `OutOfMemory` if rank 0 cannot allocate the result.
    pub fn gather<T: Pod>(&self, values: Vec<T>, len_of: impl Fn(usize) -> usize) -> Result<Vec<Vec<T>>, RankError> {
        let senders = if self.rank() > 0 { 0..0 } else { 1..self.size() };
        let rooms: bandsolve::Result<Vec<Vec<T>>> = senders.clone().map(|from| room(len_of(from))).collect();
        let mut parts = agree(self, rooms)?;
        if self.rank() > 0 {
            self.exchange(&[Sent { to: 0, tag: TO_FIRST, values }], &[]);
            return Ok(Vec::new());
        }
        let expect = |from: usize| Expected { from, tag: TO_FIRST, len: len_of(from) };
        let expected: Vec<Expected> = senders.map(expect).collect();
        self.exchange_into::<T>(&[], (&expected, &mut parts), || ());
        parts.insert(0, values);
        Ok(parts)
    }

    /// Send part k of rank 0 to rank k, which must know its length. Collective.
    ///
    /// # Errors
    /// `OutOfMemory` if a rank cannot allocate its part.
    pub fn scatter<T: Pod>(&self, parts: Vec<Vec<T>>, len: usize) -> Result<Vec<T>, RankError> {
        let mut received = [agree(self, room(if self.rank() > 0 { len } else { 0 }))?];
        if self.rank() > 0 {
            self.exchange_into(&[], (&[Expected { from: 0, tag: FROM_FIRST, len }], &mut received), || ());
            let [part] = received;
            return Ok(part);
        }
        let mut parts = parts.into_iter();
        let part = parts.next().unwrap_or_default();
        let sent: Vec<Sent<T>> =
            parts.enumerate().map(|(k, values)| Sent { to: k + 1, tag: FROM_FIRST, values }).collect();
        self.exchange(&sent, &[]);
        Ok(part)
    }
}
