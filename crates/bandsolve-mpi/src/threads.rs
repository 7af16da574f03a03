//! Threads as ranks, for tests without MPI.

use crate::ranks::Ranks;
use crate::transport::{Incoming, Outgoing, Transport};
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::ThreadId;

/// Tag of gathers. All tags of messages are at least 0.
const GATHERED: i32 = -1;

/// Tag of all-to-all exchanges.
const DEALT: i32 = -2;

/// Panic message of ranks that end because another rank panicked.
const ENDED: &str = "another rank ended";

/// Sender, receiver and tag.
type MessageRoute = (usize, usize, i32);

/// Messages that were sent, but not yet received.
#[derive(Debug, Default)]
struct Mailboxes {
    messages: Mutex<HashMap<MessageRoute, VecDeque<Vec<u8>>>>,
    arrived: Condvar,
    ended: Mutex<Option<String>>,
}

/// The payload of a panic.
type Panic = Box<dyn std::any::Any + Send>;

/// One of several threads that act as ranks.
#[derive(Debug)]
pub(crate) struct ThreadRank {
    rank: usize,
    size: usize,
    boxes: Arc<Mailboxes>,
    thread: ThreadId,
}

fn lock<V>(mutex: &Mutex<V>) -> MutexGuard<'_, V> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Mailboxes {
    fn put(&self, key: (usize, usize, i32), bytes: &[u8]) {
        lock(&self.messages).entry(key).or_default().push_back(bytes.to_vec());
        self.arrived.notify_all();
    }

    fn take(&self, key: (usize, usize, i32), to: &mut [u8]) {
        let mut messages = lock(&self.messages);
        let message = loop {
            if let Some(message) = messages.get_mut(&key).and_then(VecDeque::pop_front) {
                break message;
            }
            if let Some(why) = &*lock(&self.ended) {
                panic!("{ENDED}: {why}");
            }
            messages = self.arrived.wait(messages).unwrap_or_else(PoisonError::into_inner);
        };
        drop(messages);
        assert_eq!(message.len(), to.len(), "the message from rank {} has another length", key.0);
        to.copy_from_slice(&message);
    }

    /// Wake all ranks that wait for messages, so that they end too.
    fn end(&self, why: &str) {
        // Hold the lock of the messages, so that no thread is between its test of `ended` and its wait.
        let _messages = lock(&self.messages);
        lock(&self.ended).get_or_insert_with(|| why.to_owned());
        self.arrived.notify_all();
    }
}

impl Transport for ThreadRank {
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
        for send in sends {
            self.boxes.put((self.rank, send.to, send.tag), send.bytes);
        }
        work();
        for receive in receives {
            self.boxes.take((receive.from, self.rank, receive.tag), receive.bytes);
        }
    }

    fn all_gather(&self, local: &[u8], all: &mut [u8]) {
        (0..self.size).for_each(|to| self.boxes.put((self.rank, to, GATHERED), local));
        for (from, part) in all.chunks_exact_mut(local.len()).enumerate() {
            self.boxes.take((from, self.rank, GATHERED), part);
        }
    }

    fn all_to_all(&self, (mut sent, to): (&[u8], &[usize]), (mut came, from): (&mut [u8], &[usize])) {
        for (rank, len) in to.iter().enumerate() {
            let part = sent.split_off(..*len).expect("the array has the total length of its parts");
            self.boxes.put((self.rank, rank, DEALT), part);
        }
        for (rank, len) in from.iter().enumerate() {
            let part = came.split_off_mut(..*len).expect("the array has the total length of its parts");
            self.boxes.take((rank, self.rank, DEALT), part);
        }
    }

    fn abort(&self, message: &str) -> ! {
        panic!("{message}")
    }
}

/// Ends the other ranks when it is dropped during a panic.
struct EndOthers<'a>(&'a Mailboxes);

impl Drop for EndOthers<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.end("it panicked");
        }
    }
}

/// Run `work` on `size` ranks, each a thread of this process, and return the results in the order of the ranks.
///
/// Use it to test code for ranks without MPI.
///
/// # Panics
/// If `work` panics on a rank. The other ranks then end, too.
///
/// # Examples
/// ```
/// let sums = bandsolve_mpi::on_threads(3, |ranks| {
///     let mut sum = [ranks.rank() as f64];
///     ranks.sum(&mut sum);
///     sum[0]
/// });
/// assert_eq!(sums, [3.0, 3.0, 3.0]);
/// ```
pub fn on_threads<V: Send>(size: usize, work: impl Fn(&Ranks) -> V + Sync) -> Vec<V> {
    let boxes = Arc::new(Mailboxes::default());
    let (boxes, work) = (&boxes, &work);
    std::thread::scope(|scope| {
        let start = |rank| {
            scope.spawn(move || {
                let _end = EndOthers(boxes);
                let (boxes, thread) = (boxes.clone(), std::thread::current().id());
                work(&Ranks::by(Box::new(ThreadRank { rank, size, boxes, thread })))
            })
        };
        let started: Vec<_> = (0..size).map(start).collect();
        let ended: Vec<_> = started.into_iter().map(|thread| thread.join()).collect();
        let (values, panics): (Vec<_>, Vec<_>) = ended.into_iter().partition(Result::is_ok);
        // Resume the panic that came first. The others follow from it.
        let follows = |panic: &Result<V, Panic>| {
            let Err(panic) = panic else { return false };
            panic.downcast_ref::<String>().is_some_and(|message| message.starts_with(ENDED))
        };
        let (following, first): (Vec<_>, Vec<_>) = panics.into_iter().partition(follows);
        if let Some(Err(panic)) = first.into_iter().chain(following).next() {
            std::panic::resume_unwind(panic);
        }
        values.into_iter().flatten().collect()
    })
}
