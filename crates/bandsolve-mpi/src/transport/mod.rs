//! How bytes get from rank to rank: the few calls that everything else is written with.

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

/// Where a message of another rank is to be written; its length is known.
#[derive(Debug)]
pub(crate) struct Incoming<'a> {
    pub from: usize,
    pub tag: i32,
    pub bytes: &'a mut [u8],
}

/// What ranks tell each other. Messages between two ranks with the same tag arrive in the order in which they were sent.
pub(crate) trait Transport: Send + Sync {
    /// This rank, counted from 0.
    fn rank(&self) -> usize;

    /// Number of ranks.
    fn size(&self) -> usize;

    /// Whether this is the thread that made the rank.
    fn in_its_thread(&self) -> bool {
        true
    }

    /// Sends and receives, all at the same time; does `work`, once, while they travel; returns when all is done.
    fn exchange(&self, sends: &[Outgoing<'_>], receives: &mut [Incoming<'_>], work: &mut dyn FnMut());

    /// Gathers `own` of every rank, in the order of the ranks, on every rank. All are of one length.
    fn all_gather(&self, own: &[u8], all: &mut [u8]);

    /// Sends part k of `sent` to rank k and writes what rank k sent to part k of `came`. Lengths of parts are in bytes.
    fn all_to_all(&self, sent: (&[u8], &[usize]), came: (&mut [u8], &[usize]));

    /// Ends all ranks.
    fn abort(&self, message: &str) -> !;
}
