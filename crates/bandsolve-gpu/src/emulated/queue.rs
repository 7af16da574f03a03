//! The work on the streams of an emulated device, which runs when somebody waits for it, in any order that the streams allow.

use super::Order;
use super::batch::QueuedBatch;
use std::ffi::CString;

/// Something that a stream does.
pub enum Work {
    Launch(QueuedKernel),
    Batch(QueuedBatch),
    Clear {
        address: u64,
        bytes: usize,
    },
    Copy {
        from: u64,
        to: u64,
        bytes: usize,
    },
    /// Wait until the work of another stream with at most this number is complete.
    Wait {
        stream: u64,
        number: u64,
    },
}

/// A kernel, with its own copy of the arguments.
pub struct QueuedKernel {
    pub name: CString,
    pub blocks: u32,
    pub threads: u32,
    pub shared: usize,
    /// The number of blocks that run at the same time.
    pub resident: u32,
    pub arguments: Vec<Box<[u64]>>,
}

impl Work {
    /// Whether this work may use some of these bytes. An argument in which an address occurs counts.
    fn uses(&self, address: u64, bytes: usize) -> bool {
        let inside = |place: &u64| (address..address + bytes as u64).contains(place);
        match self {
            Self::Launch(kernel) => kernel.arguments.iter().flatten().any(inside),
            Self::Batch(batch) => batch.uses(inside),
            Self::Clear { address, .. } => inside(address),
            Self::Copy { from, to, .. } => inside(from) || inside(to),
            Self::Wait { .. } => false,
        }
    }
}

struct Item {
    number: u64,
    stream: u64,
    work: Work,
}

/// The work that has not run, in the order in which it was put on the streams.
pub struct StreamQueue {
    items: Vec<Item>,
    /// Numbers of work and streams that are in use.
    numbers: u64,
    order: Order,
    seed: u64,
}

impl StreamQueue {
    pub fn new(order: Order, seed: u64) -> Self {
        // 0 to 2 are the default streams of CUDA.
        Self { items: Vec::new(), numbers: 2, order, seed }
    }

    /// A number that was not in use.
    pub fn number(&mut self) -> u64 {
        self.numbers += 1;
        self.numbers
    }

    pub fn push(&mut self, stream: u64, work: Work) {
        let number = self.number();
        self.items.push(Item { number, stream, work });
    }

    /// Let later work on `stream` wait for the work that is now on `other`.
    pub fn wait_for(&mut self, stream: u64, other: u64) {
        if let Some(last) = self.items.iter().rev().find(|item| item.stream == other) {
            let number = last.number;
            self.push(stream, Work::Wait { stream: other, number });
        }
    }

    /// The stream of the last work that may use some of these bytes.
    pub fn user_of(&self, address: u64, bytes: usize) -> Option<u64> {
        self.items.iter().rev().find(|item| item.work.uses(address, bytes)).map(|item| item.stream)
    }

    /// The first item of a stream.
    fn first_of(&self, stream: u64) -> Option<usize> {
        self.items.iter().position(|item| item.stream == stream)
    }

    /// The stream for which an item waits.
    fn waits_for(&self, item: &Item) -> Option<u64> {
        let Work::Wait { stream, number } = item.work else { return None };
        self.items.iter().any(|other| other.stream == stream && other.number <= number).then_some(stream)
    }

    /// Remove the next work to run, as long as there is work on `stream`.
    ///
    /// Forward: the oldest work of all streams. Reverse: only work for which `stream` must wait. Random: any work that need not wait.
    pub fn next(&mut self, stream: u64) -> Option<Work> {
        let mut wanted = self.first_of(stream)?;
        match self.order {
            Order::Forward => wanted = 0,
            Order::Reverse => {
                while let Some(other) = self.waits_for(&self.items[wanted]) {
                    wanted = self.first_of(other).expect("the stream has work for which another one waits");
                }
            }
            Order::Random => {
                let is_first = |k: usize| self.first_of(self.items[k].stream) == Some(k);
                let may_run = |k: &usize| is_first(*k) && self.waits_for(&self.items[*k]).is_none();
                let ready: Vec<usize> = (0..self.items.len()).filter(may_run).collect();
                self.seed = self.seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                wanted = ready[(self.seed >> 33) as usize % ready.len()];
            }
        }
        Some(self.items.remove(wanted).work)
    }
}
