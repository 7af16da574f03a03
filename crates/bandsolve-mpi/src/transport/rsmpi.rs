//! Ranks as MPI processes, with the crate `mpi`.

use super::{Incoming, Outgoing, Transport};
use mpi::Threading;
use mpi::datatype::{Partition, PartitionMut};
use mpi::ffi;
use mpi::raw::FromRaw;
use mpi::topology::SimpleCommunicator;
use mpi::traits::{Communicator, CommunicatorCollectives, Destination, Source};
use std::thread::ThreadId;

/// A communicator that belongs to this library, used by the thread that created it.
pub(crate) struct MpiRanks {
    communicator: SimpleCommunicator,
    rank: usize,
    size: usize,
    thread: ThreadId,
}

// SAFETY: `communicator` checks that the calling thread created the handle, or that MPI allows calls from other threads. `drop` on another thread
// does not free the handle.
unsafe impl Send for MpiRanks {}
// SAFETY: as above.
unsafe impl Sync for MpiRanks {}

impl MpiRanks {
    /// Duplicate the communicator. An MPI error on the duplicate ends the job. Collective.
    pub fn of(communicator: &impl Communicator) -> Self {
        let (mut raw, mut code) = (communicator.as_raw(), 0);
        // mpi4py sets MPI to return error codes, a duplicate inherits this setting, and the crate `mpi` ignores the codes.
        // SAFETY: the handle belongs to a valid communicator, and `raw` may be written.
        unsafe {
            code |= ffi::MPI_Comm_dup(communicator.as_raw(), &raw mut raw);
            if code == 0 {
                code |= ffi::MPI_Comm_set_errhandler(raw, ffi::RSMPI_ERRORS_ARE_FATAL);
            }
        }
        if code != 0 {
            end_job(&format!(
                "MPI_Comm_dup failed with error code {code}; the communicator must be a valid intracommunicator"
            ));
        }
        // SAFETY: `raw` is the intracommunicator that was created above, and has no other owner.
        let communicator = unsafe { SimpleCommunicator::from_raw(raw) };
        let (rank, size) = (communicator.rank() as usize, communicator.size() as usize);
        Self { communicator, rank, size, thread: std::thread::current().id() }
    }

    /// Get the communicator for an MPI call. If this thread must not call MPI, the process aborts, and `mpirun` ends the other processes.
    fn communicator(&self) -> &SimpleCommunicator {
        if !self.in_its_thread() && mpi::environment::threading_support() < Threading::Serialized {
            eprintln!(
                "rank {}: this call is in another thread than the one that started MPI; call in that thread, or start MPI with MPI_THREAD_SERIALIZED",
                self.rank
            );
            std::process::abort();
        }
        &self.communicator
    }
}

/// End all processes of the job.
fn end_job(message: &str) -> ! {
    eprintln!("bandsolve-mpi: {message}");
    SimpleCommunicator::world().abort(1)
}

impl Drop for MpiRanks {
    fn drop(&mut self) {
        // MPI forbids MPI_Comm_free after MPI_Finalize and in another thread. Leak the handle in these cases.
        if mpi::environment::is_finalized() || !self.in_its_thread() {
            let replaced = std::mem::replace(&mut self.communicator, SimpleCommunicator::self_comm());
            std::mem::forget(replaced);
        }
    }
}

impl Transport for MpiRanks {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.size
    }

    fn in_its_thread(&self) -> bool {
        self.thread == std::thread::current().id()
    }

    fn exchange(&self, sends: &[Outgoing<'_>], receives: &mut [Incoming<'_>], work: &mut dyn FnMut()) {
        let (communicator, count) = (self.communicator(), sends.len() + receives.len());
        if count == 0 {
            return work();
        }
        mpi::request::multiple_scope(count, |scope, requests| {
            for receive in receives {
                let from = communicator.process_at_rank(receive.from as i32);
                requests.add(from.immediate_receive_into_with_tag(scope, &mut *receive.bytes, receive.tag));
            }
            for send in sends {
                let to = communicator.process_at_rank(send.to as i32);
                requests.add(to.immediate_send_with_tag(scope, send.bytes, send.tag));
            }
            work();
            requests.wait_all(&mut Vec::with_capacity(count));
        });
    }

    fn all_gather(&self, local: &[u8], all: &mut [u8]) {
        self.communicator().all_gather_into(local, all);
    }

    fn all_to_all(&self, (sent, to): (&[u8], &[usize]), (came, from): (&mut [u8], &[usize])) {
        let [(to, to_at), (from, from_at)] = [to, from].map(counts_and_places);
        let sent = Partition::new(sent, &to[..], &to_at[..]);
        let mut came = PartitionMut::new(came, &from[..], &from_at[..]);
        self.communicator().all_to_all_varcount_into(&sent, &mut came);
    }

    fn abort(&self, message: &str) -> ! {
        eprintln!("rank {}: {message}", self.rank);
        self.communicator.abort(1)
    }
}

/// Lengths of the parts as MPI counts them, and their offsets.
fn counts_and_places(lens: &[usize]) -> (Vec<i32>, Vec<i32>) {
    let (mut counts, mut places, mut place) = (Vec::with_capacity(lens.len()), Vec::with_capacity(lens.len()), 0);
    for len in lens {
        counts.push(*len as i32);
        places.push(place);
        place += *len as i32;
    }
    (counts, places)
}

/// End all MPI processes of the job if this process panics, after the message of the panic.
///
/// Without this call, the other processes wait forever for the process that panicked. Call it at the start of a program. A
/// library must not call it, because it replaces the panic hook.
///
/// # Examples
/// ```
/// bandsolve_mpi::abort_on_panic();
/// // Then initialize MPI and solve.
/// ```
pub fn abort_on_panic() {
    let before = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        before(panic);
        if mpi::environment::is_initialized() && !mpi::environment::is_finalized() {
            eprintln!("bandsolve-mpi: a rank panicked; all ranks end");
            SimpleCommunicator::world().abort(101);
        }
    }));
}
