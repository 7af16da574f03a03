//! The interface for messages between ranks.

pub(crate) mod lone;
pub(crate) mod rsmpi;
pub(crate) mod threads;

/// A message to another rank.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Outgoing<'a> {
    pub to: usize,
    pub tag: i32,
    pub bytes: &'a [u8],
}

/// The memory for a message of another rank, whose length is known.
#[derive(Debug)]
pub(crate) struct Incoming<'a> {
    pub from: usize,
    pub tag: i32,
    pub bytes: &'a mut [u8],
}

/// Communication between ranks. Messages between two ranks with the same tag arrive in the order in which they were sent.
pub(crate) trait Transport: Send + Sync {
    /// This rank, counted from 0.
    fn rank(&self) -> usize;

    /// Number of ranks.
    fn size(&self) -> usize;

    /// Whether this is the thread that made the rank.
    fn in_its_thread(&self) -> bool {
        true
    }

    /// Send and receive all messages at the same time, run `work` once meanwhile, and return when everything is complete.
    fn exchange(&self, sends: &[Outgoing<'_>], receives: &mut [Incoming<'_>], work: &mut dyn FnMut());

    /// Gather `own` of each rank, in the order of the ranks, on all ranks. All have the same length.
    fn all_gather(&self, own: &[u8], all: &mut [u8]);

    /// Sends part k of `sent` to rank k and writes what rank k sent to part k of `came`. Lengths of parts are in bytes.
    fn all_to_all(&self, sent: (&[u8], &[usize]), came: (&mut [u8], &[usize]));

    /// End all ranks.
    fn abort(&self, message: &str) -> !;
}
