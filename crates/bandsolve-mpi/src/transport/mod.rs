//! The interface for messages between ranks.

pub(crate) mod lone;
pub(crate) mod rsmpi;

/// A message to another rank.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Outgoing<'a> {
    pub to: usize,
    pub tag: i32,
    pub bytes: &'a [u8],
}

/// The memory for a message from another rank.
#[derive(Debug)]
pub(crate) struct Incoming<'a> {
    pub from: usize,
    pub tag: i32,
    pub bytes: &'a mut [u8],
}

/// Communication between ranks. Messages between two ranks with the same tag arrive in the order in which they were sent.
pub(crate) trait Transport: Send + Sync {
    /// Get the number of this rank, from 0.
    fn rank(&self) -> usize;

    /// Get the number of ranks.
    fn size(&self) -> usize;

    /// Whether the calling thread created the rank.
    fn in_its_thread(&self) -> bool {
        true
    }

    /// Send and receive all messages at the same time, and run `work` once during the communication. Return when all messages are complete.
    fn exchange(&self, sends: &[Outgoing<'_>], receives: &mut [Incoming<'_>], work: &mut dyn FnMut());

    /// Gather `own` of each rank on all ranks, in the order of the ranks. `own` has the same length on all ranks.
    fn all_gather(&self, local: &[u8], all: &mut [u8]);

    /// Send part k of `sent` to rank k, and write the message from rank k to part k of `came`. Lengths of parts are in bytes.
    fn all_to_all(&self, sent: (&[u8], &[usize]), came: (&mut [u8], &[usize]));

    /// End all ranks.
    fn abort(&self, message: &str) -> !;
}
