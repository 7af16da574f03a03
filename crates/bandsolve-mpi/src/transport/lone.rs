//! One rank without communication.

use super::{Incoming, Outgoing, Transport};

/// The only rank.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Lone;

impl Transport for Lone {
    fn rank(&self) -> usize {
        0
    }

    fn size(&self) -> usize {
        1
    }

    fn exchange(&self, sends: &[Outgoing<'_>], receives: &mut [Incoming<'_>], work: &mut dyn FnMut()) {
        debug_assert!(sends.is_empty() && receives.is_empty(), "one rank has no messages");
        work();
    }

    fn all_gather(&self, local: &[u8], all: &mut [u8]) {
        all.copy_from_slice(local);
    }

    fn all_to_all(&self, (sent, _): (&[u8], &[usize]), (came, _): (&mut [u8], &[usize])) {
        came.copy_from_slice(sent);
    }

    fn abort(&self, message: &str) -> ! {
        panic!("{message}")
    }
}
