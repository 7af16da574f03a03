//! Communication between the ranks of a job: messages of numbers, split if they are long, with counts of messages and bytes.

use crate::transport::lone::Lone;
use crate::transport::rsmpi::MpiRanks;
use crate::transport::{Incoming, Outgoing, Transport};
use bandsolve::{Error, Result, memory};
use bandsolve_kernel::memory::zeros;
use bytemuck::Pod;
use core::mem::ManuallyDrop;
use mpi::raw::FromRaw;
use mpi::topology::SimpleCommunicator;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Maximum number of bytes in one message, because MPI counts in 32 bits.
const LARGEST_MESSAGE: usize = 1 << 30;

/// Messages and bytes that a rank sent.
///
/// # Examples
/// ```
/// use bandsolve_mpi::{Traffic, on_threads};
/// let sent = on_threads(3, |ranks| {
///     let before = ranks.traffic();
///     ranks.sum(&mut [1.0]);
///     ranks.traffic() - before
/// });
/// // A sum is one gather of 8 bytes per rank.
/// assert_eq!(sent[0], Traffic { messages: 0, bytes: 0, gathers: 1, gathered_bytes: 8 });
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Number of messages to other ranks.
    pub messages: u64,
    /// Bytes of these messages.
    pub bytes: u64,
    /// Number of calls in which all ranks gather the values of each rank.
    pub gathers: u64,
    /// Bytes that this rank contributed to the gathers.
    pub gathered_bytes: u64,
}

impl core::ops::Sub for Traffic {
    type Output = Self;

    fn sub(self, before: Self) -> Self {
        Self {
            messages: self.messages - before.messages,
            bytes: self.bytes - before.bytes,
            gathers: self.gathers - before.gathers,
            gathered_bytes: self.gathered_bytes - before.gathered_bytes,
        }
    }
}

#[derive(Debug, Default)]
struct Counters {
    messages: AtomicU64,
    bytes: AtomicU64,
    gathers: AtomicU64,
    gathered_bytes: AtomicU64,
}

/// The ranks (MPI processes) that solve together, and the number of this rank.
///
/// Clones share the communicator and the traffic counts.
///
/// # Examples
/// Under MPI, a program initializes MPI and passes a communicator. The library never initializes MPI.
///
/// ```no_run
/// use bandsolve_mpi::Ranks;
/// let universe = mpi::initialize().expect("MPI, initialised once");
/// let ranks = Ranks::of(&universe.world());
/// println!("rank {} of {}", ranks.rank(), ranks.size());
/// ```
///
/// One process without MPI:
///
/// ```
/// let ranks = bandsolve_mpi::Ranks::alone();
/// assert_eq!((ranks.rank(), ranks.size()), (0, 1));
/// ```
#[derive(Clone)]
pub struct Ranks {
    transport: Arc<dyn Transport>,
    counters: Arc<Counters>,
    largest: usize,
}

impl core::fmt::Debug for Ranks {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "rank {} of {}", self.rank(), self.size())
    }
}

/// A message to a rank.
pub(crate) struct Sent<T> {
    pub to: usize,
    pub tag: i32,
    pub values: Vec<T>,
}

/// A message that this rank receives: sender, tag and number of values.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Expected {
    pub from: usize,
    pub tag: i32,
    pub len: usize,
}

impl Ranks {
    /// Create ranks from an MPI communicator. Collective.
    ///
    /// The library duplicates the communicator, so its messages cannot mix with yours. MPI must be initialized. Drop everything
    /// that uses these ranks before you finalize MPI. An MPI error ends the job, for any error handler of your communicator.
    ///
    /// Use the ranks in the thread that created them. A call from another thread returns an error on all ranks. If MPI was
    /// started with less than `MPI_THREAD_SERIALIZED`, such a call ends the job.
    pub fn of(communicator: &impl mpi::traits::Communicator) -> Self {
        Self::by(Box::new(MpiRanks::of(communicator)))
    }

    /// Create ranks from the handle of a communicator that C or Python code owns, as [`of`](Self::of) does. Collective.
    ///
    /// # Safety
    /// The handle must be an intracommunicator of the MPI library with which this program is linked. The caller keeps the ownership.
    pub unsafe fn from_raw(handle: mpi::ffi::MPI_Comm) -> Self {
        // SAFETY: the caller's promise. `ManuallyDrop` never frees the handle, so it may also be a predefined one such as MPI_COMM_WORLD.
        let theirs = ManuallyDrop::new(unsafe { SimpleCommunicator::from_raw(handle) });
        Self::of(&*theirs)
    }

    /// Create one rank for this process alone, without MPI calls.
    pub fn alone() -> Self {
        Self::by(Box::new(Lone))
    }

    pub(crate) fn by(transport: Box<dyn Transport>) -> Self {
        Self { transport: transport.into(), counters: Arc::default(), largest: LARGEST_MESSAGE }
    }

    /// Limit messages to `bytes` bytes each. Longer messages are sent in pieces.
    #[doc(hidden)]
    pub fn with_largest_message(self, bytes: usize) -> Self {
        Self { largest: bytes.max(1), ..self }
    }

    /// Get the number of this rank, from 0.
    pub fn rank(&self) -> usize {
        self.transport.rank()
    }

    /// Get the number of ranks.
    pub fn size(&self) -> usize {
        self.transport.size()
    }

    /// Whether the calling thread created the ranks.
    pub(crate) fn in_their_thread(&self) -> bool {
        self.transport.in_its_thread()
    }

    /// Get the messages and bytes that this rank has sent so far.
    pub fn traffic(&self) -> Traffic {
        let Counters { messages, bytes, gathers, gathered_bytes } = &*self.counters;
        let [messages, bytes, gathers, gathered_bytes] =
            [messages, bytes, gathers, gathered_bytes].map(|counter| counter.load(Ordering::Relaxed));
        Traffic { messages, bytes, gathers, gathered_bytes }
    }

    /// End all ranks with a message, for programs that cannot continue.
    pub fn abort(&self, message: &str) -> ! {
        self.transport.abort(message)
    }

    /// Sum the values of all ranks, in the order of the ranks. All ranks get the same bits. Collective.
    pub fn sum(&self, values: &mut [f64]) {
        self.fold(values, |sum, value| sum + value);
    }

    /// Get the maximum of the values of all ranks; NaN if one of them is NaN. Collective.
    pub fn max(&self, values: &mut [f64]) {
        self.fold(values, |largest, value| if value > largest || value.is_nan() { value } else { largest });
    }

    fn fold(&self, values: &mut [f64], join: impl Fn(f64, f64) -> f64) {
        if values.is_empty() || self.size() == 1 {
            return;
        }
        let all = self.all_gather(values);
        let mut parts = all.chunks_exact(values.len());
        values.copy_from_slice(parts.next().expect("the first rank"));
        for part in parts {
            values.iter_mut().zip(part).for_each(|(value, other)| *value = join(*value, *other));
        }
    }

    /// Allocate zeros for a message. If the allocation fails, the job ends, because the other ranks already wait for this rank.
    ///
    /// Memory that grows with the rows of a rank is allocated earlier, where all ranks can agree on an error.
    pub(crate) fn room<T: Pod>(&self, len: usize) -> Vec<T> {
        room(len).unwrap_or_else(|error| self.abort(&error.to_string()))
    }

    /// Gather the values of all ranks, in the order of the ranks. Each rank passes the same number of values. Collective.
    pub fn all_gather<T: Pod>(&self, local: &[T]) -> Vec<T> {
        let (size, len) = (self.size(), local.len());
        let mut all = self.room(size * len);
        // Some MPI libraries count the bytes of all ranks in total in 32 bits.
        let each = (self.largest / (size_of::<T>().max(1) * size)).max(1);
        let mut part = if len > each { self.room(size * each) } else { Vec::new() };
        for (k, local) in local.chunks(each).enumerate() {
            self.counters.gathers.fetch_add(1, Ordering::Relaxed);
            self.counters.gathered_bytes.fetch_add(size_of_val(local) as u64, Ordering::Relaxed);
            if len <= each {
                self.transport.all_gather(bytemuck::cast_slice(local), bytemuck::cast_slice_mut(&mut all));
                break;
            }
            let part = &mut part[..size * local.len()];
            self.transport.all_gather(bytemuck::cast_slice(local), bytemuck::cast_slice_mut(part));
            for (all, part) in all.chunks_exact_mut(len).zip(part.chunks_exact(local.len())) {
                all[k * each..][..local.len()].copy_from_slice(part);
            }
        }
        all
    }

    /// Send and receive messages at the same time. Return the received ones, in the order of `expected`.
    ///
    /// A rank sends no message to itself. Only ranks with messages need to call it.
    pub(crate) fn exchange<T: Pod>(&self, sent: &[Sent<T>], expected: &[Expected]) -> Vec<Vec<T>> {
        self.exchange_during(sent, expected, || ())
    }

    /// Do the same as [`exchange`](Self::exchange), and run `work` during the communication.
    pub(crate) fn exchange_during<T: Pod>(
        &self,
        sent: &[Sent<T>],
        expected: &[Expected],
        work: impl FnOnce(),
    ) -> Vec<Vec<T>> {
        let mut came: Vec<Vec<T>> = expected.iter().map(|message| self.room(message.len)).collect();
        self.exchange_into(sent, (expected, &mut came), work);
        came
    }

    /// Do the same, with the received messages in memory of the caller.
    pub(crate) fn exchange_into<T: Pod>(
        &self,
        sent: &[Sent<T>],
        (expected, came): (&[Expected], &mut [Vec<T>]),
        work: impl FnOnce(),
    ) {
        let outgoing: Vec<Outgoing<'_>> = sent
            .iter()
            .flat_map(|message| {
                let bytes: &[u8] = bytemuck::cast_slice(&message.values);
                bytes.chunks(self.largest).map(|bytes| Outgoing { to: message.to, tag: message.tag, bytes })
            })
            .collect();
        let mut incoming: Vec<Incoming<'_>> = expected
            .iter()
            .zip(came)
            .flat_map(|(message, values)| {
                let bytes: &mut [u8] = bytemuck::cast_slice_mut(values);
                bytes.chunks_mut(self.largest).map(|bytes| Incoming { from: message.from, tag: message.tag, bytes })
            })
            .collect();
        debug_assert!(outgoing.iter().all(|message| message.to != self.rank()));
        self.counters.messages.fetch_add(outgoing.len() as u64, Ordering::Relaxed);
        let bytes: usize = outgoing.iter().map(|message| message.bytes.len()).sum();
        self.counters.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
        let mut work = Some(work);
        self.transport.exchange(&outgoing, &mut incoming, &mut || work.take().into_iter().for_each(|work| work()));
    }

    /// Send part k of `values` to rank k, and write the received parts to `came`, in the order of the ranks. Collective.
    ///
    /// `lens` has the lengths of the sent parts and of the received parts. `most` is the length of the longest part between any two ranks, the
    /// same on all ranks. A part for another rank counts as a message.
    pub(crate) fn all_to_all_into<T: Pod>(&self, values: &[T], lens: [&[usize]; 2], most: usize, came: &mut [T]) {
        let (me, size) = (self.rank(), size_of::<T>().max(1));
        debug_assert_eq!([values.len(), came.len()], lens.map(|lens| lens.iter().sum::<usize>()));
        // MPI counts the bytes of all parts in total.
        let each = (self.largest / (size * self.size())).max(1);
        for first in (0..most).step_by(each) {
            let piece = |len: &usize| len.saturating_sub(first).min(each);
            let [to, from] = lens.map(|lens| lens.iter().map(piece).collect::<Vec<usize>>());
            for (_, len) in to.iter().enumerate().filter(|(rank, len)| *rank != me && **len > 0) {
                self.counters.messages.fetch_add(1, Ordering::Relaxed);
                self.counters.bytes.fetch_add((len * size) as u64, Ordering::Relaxed);
            }
            let bytes = |lens: &[usize]| lens.iter().map(|len| len * size).collect::<Vec<usize>>();
            let whole = most <= each;
            let mut got = if whole { Vec::new() } else { self.room(from.iter().sum()) };
            let pieces = if whole { Vec::new() } else { pieces_of(values, (lens[0], &to), first) };
            let sent = if whole { values } else { &pieces };
            let into = if whole { &mut *came } else { &mut got };
            let sent = (bytemuck::cast_slice(sent), &bytes(&to)[..]);
            self.transport.all_to_all(sent, (bytemuck::cast_slice_mut(into), &bytes(&from)));
            if !whole {
                put_pieces(&got, came, (lens[1], &from), first);
            }
        }
    }
}

/// Allocate zeros.
pub(crate) fn room<T: Pod>(len: usize) -> Result<Vec<T>> {
    zeros(len).ok_or(Error::OutOfMemory { bytes: len.saturating_mul(size_of::<T>()) })
}

/// Collect an iterator of at most `len` values.
pub(crate) fn collected<T>(len: usize, from: impl IntoIterator<Item = T>) -> Result<Vec<T>> {
    let mut values = memory::reserved(len)?;
    values.extend(from);
    Ok(values)
}

/// Copy the piece of each part that starts at index `first` of the part.
fn pieces_of<T: Pod>(values: &[T], (lens, pieces): (&[usize], &[usize]), first: usize) -> Vec<T> {
    let (mut all, mut start) = (Vec::with_capacity(pieces.iter().sum()), 0);
    for (len, piece) in lens.iter().zip(pieces) {
        all.extend_from_slice(&values[start..start + len][first.min(*len)..][..*piece]);
        start += len;
    }
    all
}

/// Copy pieces to index `first` of each part.
fn put_pieces<T: Pod>(mut got: &[T], values: &mut [T], (lens, pieces): (&[usize], &[usize]), first: usize) {
    let mut start = 0;
    for (len, piece) in lens.iter().zip(pieces) {
        let (received, rest) = got.split_at(*piece);
        values[start..start + len][first.min(*len)..][..*piece].copy_from_slice(received);
        (start, got) = (start + len, rest);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::on_threads;

    #[test]
    fn long_messages_come_in_pieces() {
        on_threads(3, |ranks| {
            let ranks = ranks.clone().with_largest_message(10);
            let (rank, next, before) = (ranks.rank(), (ranks.rank() + 1) % 3, (ranks.rank() + 2) % 3);
            let values: Vec<u8> = (0..25).map(|k| k + rank as u8).collect();
            let sent = Sent { to: next, tag: 4, values: values.clone() };
            let came = ranks.exchange(&[sent], &[Expected { from: before, tag: 4, len: 25 }]);
            assert_eq!(came[0], (0..25).map(|k| k + before as u8).collect::<Vec<u8>>());
            let all = ranks.all_gather(&values);
            assert!((0..75).all(|k| all[k] == (k % 25 + k / 25) as u8));
            // A gather has at most 10 bytes in total over the three ranks.
            let expected = Traffic { messages: 3, bytes: 25, gathers: 9, gathered_bytes: 25 };
            assert_eq!(ranks.traffic(), expected);
        });
    }

    #[test]
    fn parts_go_to_each_rank() {
        // Rank r sends r + 2k numbers to rank k, in one piece and in several.
        for largest in [1 << 20, 24, 1] {
            on_threads(3, |ranks| {
                let ranks = ranks.clone().with_largest_message(largest);
                let me = ranks.rank();
                let [to, from] = [[0, 1, 2].map(|k| me + 2 * k), [0, 1, 2].map(|k| k + 2 * me)];
                let value = |from: usize, to: usize, i: usize| (100 * from + 10 * to + i) as f64;
                let values: Vec<f64> = (0..3).flat_map(|k| (0..to[k]).map(move |i| value(me, k, i))).collect();
                let mut came = vec![0.0; from.iter().sum()];
                ranks.all_to_all_into(&values, [&to, &from], 6, &mut came);
                let expected: Vec<f64> = (0..3).flat_map(|k| (0..from[k]).map(move |i| value(k, me, i))).collect();
                assert_eq!(came, expected, "pieces of {largest} bytes");
                let others: usize = (0..3).filter(|k| *k != me).map(|k| to[k]).sum();
                assert_eq!(ranks.traffic().bytes, 8 * others as u64);
            });
        }
    }

    #[test]
    fn sums_and_maxima_are_the_same_on_all_ranks() {
        let got = on_threads(4, |ranks| {
            let mut values = [0.1 * ranks.rank() as f64, if ranks.rank() == 2 { f64::NAN } else { 1.0 }];
            let mut largest = values;
            ranks.sum(&mut values[..1]);
            ranks.max(&mut largest);
            (values[0], largest[0], largest[1].is_nan())
        });
        assert!(got.iter().all(|one| *one == (0.1 + 0.2 + 0.1 * 3.0, 0.1 * 3.0, true)), "{got:?}");
    }

    #[test]
    #[should_panic(expected = "on rank 1")]
    fn a_panic_ends_all_ranks() {
        on_threads(3, |ranks| {
            assert!(ranks.rank() != 1, "on rank 1");
            if ranks.rank() == 2 {
                return;
            }
            ranks.all_gather(&[1.0]);
        });
    }
}
