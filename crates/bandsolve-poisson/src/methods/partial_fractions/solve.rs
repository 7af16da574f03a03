//! The solve: performs the stages of a plan on several threads.

use super::stages::{FractionTerm, NodePlace, NodeStage, PLANES, PlannedGroup, RootChunk};
use super::{BelowAxis, PartialFractions};
use bandsolve_kernel::shifted::{MAX_INS, MAX_OUTS, MAX_SUM, ScaledRowSum, ShiftedPack, ShiftedSweep, packs};
use bandsolve_kernel::spread::{RowsOf, spread};
use bandsolve_kernel::{RealScalar, dispatch};
use core::sync::atomic::{AtomicUsize, Ordering};

/// The arrays and the shift that all threads share.
///
/// Within a stage, each node writes only its own targets, and each chunk writes only its own partial sums. No thread reads a row that another
/// thread writes.
#[derive(Clone, Copy)]
struct SharedStage<R> {
    /// The block rows.
    f: *mut R,
    /// A block row of zeros.
    zero: *const R,
    /// Partial sums.
    sums: *mut R,
    /// The number that is added to the diagonal of each system.
    shift: R,
}

// SAFETY: the documentation of the type states which thread writes which row. No two threads write the same row, and none writes the shift.
unsafe impl<R: Send + Sync> Sync for SharedStage<R> {}

/// A term of a node, whose roots another plan solves.
struct BlockTerm<'a, R> {
    block: &'a PartialFractions<R>,
    term: &'a FractionTerm<R>,
    ins: [*const R; MAX_INS],
    shift: R,
}

impl<R: RealScalar> PartialFractions<R> {
    /// Replace f by the solution of (B ⊗ I + I ⊗ R + shift) u = f.
    pub fn solve(&self, f: &mut [R], shift: R, threads: usize, scratch: &mut [R]) {
        debug_assert!(f.len() == self.rows * self.len && scratch.len() >= self.scratch(threads));
        if f.is_empty() {
            return;
        }
        let (zero, rest) = scratch.split_at_mut(self.len);
        let (sums, rest) = rest.split_at_mut(self.slots * self.len);
        zero.fill(R::ZERO);
        let shared = SharedStage { f: f.as_mut_ptr(), zero: zero.as_ptr(), sums: sums.as_mut_ptr(), shift };
        for stage in &self.stages {
            let units = stage.narrow.len() + stage.wide.len();
            self.each(units, threads, rest, &|unit, scratch| match stage.narrow.get(unit) {
                Some(nodes) => self.narrow(stage, nodes, shared, scratch),
                None => self.wide(stage, stage.wide[unit - stage.narrow.len()], shared, scratch),
            });
            self.each(stage.sums.len(), threads, rest, &|unit, _| {
                let (node, slots) = stage.sums[unit];
                let from = shared.sums.wrapping_add(slots * self.len);
                self.sum(&stage.groups[node.0], node.1, from, shared);
            });
        }
    }

    /// Call `work` for each unit on the next free thread, with the scratch of that thread.
    fn each(&self, units: usize, threads: usize, memory: &mut [R], work: &(impl Fn(usize, &mut [R]) + Sync)) {
        let (next, tasks) = (AtomicUsize::new(0), self.tasks(threads).min(units));
        spread(tasks, 0..tasks.max(1), RowsOf(memory, self.scratch_per_thread), &|_, memory| {
            loop {
                let unit = next.fetch_add(1, Ordering::Relaxed);
                if unit >= units {
                    break;
                }
                work(unit, &mut memory.0[..self.scratch_per_thread]);
            }
        });
    }

    /// Block row `row` of f. Outside 1 … n, the row is periodic on a periodic axis, and zero otherwise.
    fn row(&self, shared: SharedStage<R>, row: isize) -> *const R {
        let row = if self.ring { (row - 1).rem_euclid(self.rows as isize) + 1 } else { row };
        if (1..=self.rows as isize).contains(&row) {
            shared.f.wrapping_add((row - 1) as usize * self.len)
        } else {
            shared.zero
        }
    }

    /// The inputs of a term. Sums of block rows are computed in `memory`.
    fn ins(
        &self,
        term: &FractionTerm<R>,
        base: isize,
        shared: SharedStage<R>,
        memory: &mut [R],
    ) -> [*const R; MAX_INS] {
        let mut ins = [shared.zero; MAX_INS];
        for (s, rows) in term.ins.iter().enumerate() {
            if term.direct {
                ins[s] = self.row(shared, base + rows[0].0);
                continue;
            }
            let out = memory[s * self.len..(s + 1) * self.len].as_mut_ptr();
            self.add_up((out, false), rows, &|row| self.row(shared, base + row));
            ins[s] = out;
        }
        ins
    }

    /// Add the partial sums of a node to its targets. `from` is the first of these sums.
    fn sum(&self, group: &PlannedGroup<R>, node: usize, from: *const R, shared: SharedStage<R>) {
        for target in &group.targets {
            let out = self.row(shared, group.base(node) + target.row).cast_mut();
            self.add_up((out, group.keep), &target.parts, &|slot| from.wrapping_add(slot as usize * self.len));
        }
    }

    /// out = (keep: out +) Σ c·row, where `place` returns the address of a row.
    fn add_up(&self, (out, keep): (*mut R, bool), rows: &[(isize, R)], place: &dyn Fn(isize) -> *const R) {
        let mut keep = keep;
        for some in rows.chunks(MAX_SUM) {
            let mut placed = [(core::ptr::null(), R::ZERO); MAX_SUM];
            for (placed, (row, by)) in placed.iter_mut().zip(some) {
                *placed = (place(*row), *by);
            }
            dispatch(self.simd, ScaledRowSum { out, keep, rows: &placed[..some.len()], n: self.len });
            keep = true;
        }
    }

    /// Process several nodes at the same time, one vector of roots per node and step. If R has two axes, process the nodes one by one.
    fn narrow(&self, stage: &NodeStage<R>, nodes: &[NodePlace], shared: SharedStage<R>, scratch: &mut [R]) {
        let line = match &self.below {
            BelowAxis::Line(line) => line,
            BelowAxis::Block(block) => {
                return nodes.iter().for_each(|node| self.whole((block, *node), stage, shared, scratch));
            }
        };
        let lanes = R::lanes(self.simd);
        let (work, rest) = scratch.split_at_mut(ShiftedSweep::<R>::work(line.n(), self.simd));
        let (nowhere, rest) = rest.split_at_mut(self.len);
        let first = &stage.groups[nodes[0].0];
        let (sums, staged) = rest.split_at_mut(if first.direct { 0 } else { nodes.len() * first.slots * self.len });
        for (t, term) in first.terms.iter().enumerate() {
            let mut all = [term.pack(0); 4];
            let all = &mut all[..packs(lanes)];
            for (p, pack) in all.iter_mut().enumerate() {
                let node = nodes[p.min(nodes.len() - 1)];
                let (group, room) = (&stage.groups[node.0], p.min(nodes.len() - 1) * term.ins.len() * self.len);
                *pack = group.terms[t].pack(0);
                pack.ins =
                    self.ins(&group.terms[t], group.base(node.1), shared, staged.get_mut(room..).unwrap_or_default());
                for out in 0..term.outs {
                    pack.outs[out] = if p >= nodes.len() {
                        nowhere.as_mut_ptr()
                    } else if group.direct {
                        self.row(shared, group.base(node.1) + group.targets[out].row).cast_mut()
                    } else {
                        sums.as_mut_ptr().wrapping_add((p * group.slots + term.slot + out) * self.len)
                    };
                }
            }
            for chunk in 0..term.stride / lanes {
                let add = chunk > 0 || first.direct && first.keep;
                let (rows, shift, ins, outs) = (line.rows(), shared.shift, term.ins.len(), term.outs);
                dispatch(
                    self.simd,
                    ShiftedSweep { rows, shift, ins, outs, packs: all, together: false, add, work: &mut *work },
                );
                for pack in all.iter_mut() {
                    pack.roots = pack.roots.wrapping_add(lanes);
                    pack.coefficients = pack.coefficients.wrapping_add(lanes);
                    pack.weights = pack.weights.wrapping_add(lanes);
                }
            }
        }
        if !first.direct {
            for (p, node) in nodes.iter().enumerate() {
                let group = &stage.groups[node.0];
                let from = sums.as_ptr().wrapping_add(p * group.slots * self.len);
                self.sum(group, node.1, from, shared);
            }
        }
    }

    /// Process all roots of one node, chunk by chunk, for `BelowAxis::Block`.
    fn whole(
        &self,
        (block, node): (&PartialFractions<R>, NodePlace),
        stage: &NodeStage<R>,
        shared: SharedStage<R>,
        scratch: &mut [R],
    ) {
        let group = &stage.groups[node.0];
        let (sums, scratch) = scratch.split_at_mut(group.slots * self.len);
        for term in &group.terms {
            let (staged, scratch) = scratch.split_at_mut(term.staged() * self.len);
            let ins = self.ins(term, group.base(node.1), shared, staged);
            let term_sums = &mut sums[term.slot * self.len..][..term.outs * self.len];
            let block_term = BlockTerm { block, term, ins, shift: shared.shift };
            self.planes(&block_term, 0, self.rows_of(term_sums), scratch);
            for chunk in 1..term.stride / PLANES {
                let (parts, scratch) = scratch.split_at_mut(term.outs * self.len);
                self.planes(&block_term, chunk, self.rows_of(parts), scratch);
                let rows = [(parts.as_ptr(), R::ONE)];
                let out = term_sums.as_mut_ptr();
                dispatch(self.simd, ScaledRowSum { out, keep: true, rows: &rows, n: parts.len() });
            }
        }
        self.sum(group, node.1, sums.as_ptr(), shared);
    }

    /// Divide `memory` into block rows, as outputs.
    fn rows_of(&self, memory: &mut [R]) -> [*mut R; MAX_OUTS] {
        let (mut outs, count) = ([core::ptr::null_mut(); MAX_OUTS], memory.len() / self.len);
        let first = memory.as_mut_ptr();
        for (out, place) in outs[..count].iter_mut().enumerate() {
            *place = first.wrapping_add(out * self.len);
        }
        outs
    }

    /// Process one chunk of the roots of one node.
    fn wide(&self, stage: &NodeStage<R>, of: RootChunk, shared: SharedStage<R>, scratch: &mut [R]) {
        let group = &stage.groups[of.node.0];
        let term = &group.terms[of.term];
        let (staged, scratch) = scratch.split_at_mut(term.staged() * self.len);
        let ins = self.ins(term, group.base(of.node.1), shared, staged);
        let first_slot = of.slots + term.slot + of.chunk * term.outs;
        let mut outs = [core::ptr::null_mut(); MAX_OUTS];
        for out in 0..term.outs {
            outs[out] = shared.sums.wrapping_add((first_slot + out) * self.len);
        }
        match &self.below {
            BelowAxis::Line(line) => {
                let lanes = R::lanes(self.simd);
                let mut all = [term.pack(0); 4];
                let all = &mut all[..packs(lanes)];
                for p in 0..all.len() {
                    all[p] = ShiftedPack { ins, outs, ..term.pack((of.chunk * all.len() + p) * lanes) };
                }
                let (rows, shift, ins, outs) = (line.rows(), shared.shift, term.ins.len(), term.outs);
                dispatch(
                    self.simd,
                    ShiftedSweep { rows, shift, ins, outs, packs: all, together: true, add: false, work: scratch },
                );
            }
            BelowAxis::Block(block) => {
                self.planes(&BlockTerm { block, term, ins, shift: shared.shift }, of.chunk, outs, scratch);
            }
        }
    }

    /// Process one chunk of roots, root by root, for `BelowAxis::Block`.
    fn planes(&self, of: &BlockTerm<'_, R>, chunk: usize, outs: [*mut R; MAX_OUTS], scratch: &mut [R]) {
        let BlockTerm { block, term, ins, shift } = *of;
        let (plane, scratch) = scratch.split_at_mut(self.len);
        let roots = chunk * PLANES..((chunk + 1) * PLANES).min(term.count);
        for j in roots.clone() {
            let mut rows = [(core::ptr::null(), R::ZERO); MAX_INS];
            for s in 0..term.ins.len() {
                rows[s] = (ins[s], term.coefficients[s * term.stride + j]);
            }
            let (out, rows) = (plane.as_mut_ptr(), &rows[..term.ins.len()]);
            dispatch(self.simd, ScaledRowSum { out, keep: false, rows, n: self.len });
            block.solve(plane, shift + term.roots[j], 1, scratch);
            for out in 0..term.outs {
                let rows = [(plane.as_ptr(), term.weights[out * term.stride + j])];
                let (out, keep) = (outs[out], j > roots.start);
                dispatch(self.simd, ScaledRowSum { out, keep, rows: &rows, n: self.len });
            }
        }
    }
}
