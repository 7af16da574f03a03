//! Cyclic reduction of blocks by partial fractions: what `bcr2`, `bcr4` and `pscr` share.
//!
//! The matrix is B ⊗ I + I ⊗ R, B tridiagonal along the first axis, R that of the other axes. Every step of a reduction is, for some
//! nodes (intervals of block rows), a sum of solves with shifts of R,
//!
//! out_o = Σ_j weight_{o,j} (R + λ_j)⁻¹ Σ_s coefficient_{s,j} in_s,
//!
//! where in_s are block rows or sums of them, and block rows are what outputs are added to or replace. Nodes of a stage have nothing
//! to do with one another. Their solves go to threads in pieces that do not depend on how many there are, and sums go in a tree.
//!
//! Source: M. Myllykoski, T. Rossi, J. Toivanen, *Fast Poisson solvers for graphics processing units*, PARA 2012, (11) to (14).

use super::toeplitz::ShiftedLine;
use bandsolve_kernel::shifted::{MAX_INS, MAX_OUTS, MAX_SUM, ScaledRowSum, ShiftedPack, ShiftedSweep, packs};
use bandsolve_kernel::spread::{RowsOf, spread};
use bandsolve_kernel::{RealScalar, Simd, dispatch, tuning};
use core::sync::atomic::{AtomicUsize, Ordering};

/// A root of a node: where it stands among those that are alike, and what it takes part with.
#[derive(Debug, Clone)]
pub(crate) struct FractionRoot {
    /// Roots of one class have coefficients and weights that are equal, or opposite, in the same places.
    pub class: usize,
    pub root: f64,
    /// For each input of the piece.
    pub coefficients: Vec<f64>,
    /// For each target of the group.
    pub weights: Vec<f64>,
}

/// Fractions with the same inputs.
#[derive(Debug, Clone)]
pub(crate) struct FractionPiece {
    /// Block rows, counted from the base of the node.
    pub ins: Vec<isize>,
    pub roots: Vec<FractionRoot>,
}

/// Nodes with the same fractions: their bases are `stride` block rows apart.
#[derive(Debug, Clone)]
pub(crate) struct NodeGroup {
    pub base: usize,
    pub stride: usize,
    pub count: usize,
    pub pieces: Vec<FractionPiece>,
    /// Block rows, counted from the base of the node.
    pub targets: Vec<isize>,
    /// Targets are added to, not replaced.
    pub keep: bool,
}

/// What is below the first axis.
#[derive(Debug, Clone)]
pub(crate) enum BelowAxis<R> {
    Line(ShiftedLine<R>),
    Block(Box<PartialFractions<R>>),
}

impl<R: RealScalar> BelowAxis<R> {
    /// Unknowns.
    pub fn len(&self) -> usize {
        match self {
            BelowAxis::Line(line) => line.n(),
            BelowAxis::Block(block) => block.unknowns(),
        }
    }
}

/// Roots of a block of planes that are summed up one after the other.
const PLANES: usize = 8;

/// Fractions of one class, ready to be computed with.
#[derive(Debug, Clone)]
struct FractionTerm<R> {
    /// Each a sum of block rows.
    ins: Vec<Vec<(isize, R)>>,
    outs: usize,
    count: usize,
    /// `count`, rounded up to whole chunks; what is beyond has coefficients and weights of 0.
    stride: usize,
    roots: Vec<R>,
    coefficients: Vec<R>,
    weights: Vec<R>,
    /// Every input is a block row.
    direct: bool,
    /// Its first row among those of the node that wait to be summed.
    slot: usize,
}

#[derive(Debug, Clone)]
struct SumTarget<R> {
    row: isize,
    /// Rows that wait to be summed, with their signs.
    parts: Vec<(isize, R)>,
}

#[derive(Debug, Clone)]
struct PlannedGroup<R> {
    base: usize,
    stride: usize,
    count: usize,
    terms: Vec<FractionTerm<R>>,
    targets: Vec<SumTarget<R>>,
    keep: bool,
    /// Rows that wait to be summed, for each node.
    slots: usize,
    /// Several nodes are solved side by side.
    narrow: bool,
    /// Sums go to their targets at once.
    direct: bool,
}

/// A node: its group and its number there.
type NodePlace = (usize, usize);

/// A chunk of the roots of a term of a node, and where the rows of the node begin that wait to be summed.
#[derive(Debug, Clone, Copy)]
struct RootChunk {
    node: NodePlace,
    term: usize,
    chunk: usize,
    slots: usize,
}

/// Nodes that can be done in any order.
#[derive(Debug, Clone)]
struct NodeStage<R> {
    groups: Vec<PlannedGroup<R>>,
    /// Nodes that are solved side by side.
    narrow: Vec<Vec<NodePlace>>,
    wide: Vec<RootChunk>,
    /// Nodes whose sums wait, and where.
    sums: Vec<(NodePlace, usize)>,
    /// Rows that wait at most.
    slots: usize,
}

/// A plan for B ⊗ I + I ⊗ R + shift: stages of partial fractions.
#[derive(Debug, Clone)]
pub(crate) struct PartialFractions<R> {
    /// Block rows.
    rows: usize,
    /// Unknowns of a block row.
    len: usize,
    stages: Vec<NodeStage<R>>,
    below: BelowAxis<R>,
    simd: Simd,
    /// Rows that wait to be summed at most.
    slots: usize,
    /// Numbers that one thread needs.
    own: usize,
}

/// How roots come in chunks.
#[derive(Debug, Clone, Copy)]
struct RootChunking {
    /// Roots of one chunk, nodes side by side.
    narrow: usize,
    /// Nodes side by side.
    nodes: usize,
    /// Roots of one chunk of one node.
    wide: usize,
    /// Whether nodes are ever side by side.
    lanes: bool,
}

impl RootChunking {
    fn of<R: RealScalar>(below: &BelowAxis<R>, simd: Simd) -> Self {
        match below {
            BelowAxis::Line(_) => {
                let lanes = R::lanes(simd);
                Self { narrow: lanes, nodes: packs(lanes), wide: lanes * packs(lanes), lanes: true }
            }
            BelowAxis::Block(_) => Self { narrow: PLANES, nodes: 1, wide: PLANES, lanes: false },
        }
    }
}

/// Rows with their signs.
type SignedRows<R> = Vec<(usize, R)>;

/// Rows that are the same up to their sign, for roots of one class.
fn alike<R: RealScalar>(rows: usize, of: &dyn Fn(usize) -> Vec<f64>) -> (Vec<SignedRows<R>>, Vec<Vec<f64>>) {
    let (mut members, mut values) = (Vec::<SignedRows<R>>::new(), Vec::<Vec<f64>>::new());
    for row in 0..rows {
        let own = of(row);
        if own.iter().all(|v| *v == 0.0) {
            continue;
        }
        let opposite: Vec<f64> = own.iter().map(|v| -v).collect();
        match values.iter().position(|other| *other == own || *other == opposite) {
            Some(at) => members[at].push((row, if values[at] == own { R::ONE } else { -R::ONE })),
            None => {
                members.push(vec![(row, R::ONE)]);
                values.push(own);
            }
        }
    }
    (members, values)
}

impl<R: RealScalar> PlannedGroup<R> {
    /// `alike`: nodes of its stage that may be solved beside its own.
    fn new(given: &NodeGroup, chunking: RootChunking, alike: usize) -> Self {
        let (mut terms, mut parts) = (Vec::new(), vec![Vec::new(); given.targets.len()]);
        let mut lengths = Vec::new();
        for piece in &given.pieces {
            let used = |root: &&FractionRoot| {
                root.coefficients.iter().any(|v| *v != 0.0) && root.weights.iter().any(|v| *v != 0.0)
            };
            let used: Vec<&FractionRoot> = piece.roots.iter().filter(used).collect();
            let apart = used.len() > chunking.narrow;
            let mut classes: Vec<usize> = used.iter().map(|root| if apart { root.class } else { 0 }).collect();
            classes.sort_unstable();
            classes.dedup();
            for class in classes {
                let own: Vec<&FractionRoot> = used.iter().filter(|r| !apart || r.class == class).copied().collect();
                let (term, outs) = FractionTerm::new(&own, &piece.ins, (given.targets.len(), apart));
                for (out, members) in outs.iter().enumerate() {
                    members.iter().for_each(|(target, sign)| parts[*target].push((terms.len(), out, *sign)));
                }
                lengths.push(own.len());
                terms.push(term);
            }
        }
        let side_by_side = lengths.iter().map(|len| len.div_ceil(chunking.narrow) * chunking.narrow).sum::<usize>();
        let side_by_side = side_by_side * alike.next_multiple_of(chunking.nodes) / alike;
        let alone: usize = lengths.iter().map(|len| len.div_ceil(chunking.wide) * chunking.wide).sum();
        let narrow = chunking.lanes && side_by_side < alone;
        Self::arranged(given, terms, &parts, (narrow, if narrow { chunking.narrow } else { chunking.wide }))
    }

    fn arranged(
        given: &NodeGroup,
        mut terms: Vec<FractionTerm<R>>,
        parts: &[Vec<(usize, usize, R)>],
        (narrow, chunk): (bool, usize),
    ) -> Self {
        let mut slots = 0;
        for term in &mut terms {
            term.pad(chunk);
            term.slot = slots;
            slots += term.outs * if narrow { 1 } else { term.stride / chunk };
        }
        let direct = narrow
            && terms.len() == 1
            && (given.keep || terms[0].stride == chunk)
            && parts
                .iter()
                .enumerate()
                .all(|(target, parts)| matches!(parts[..], [(0, out, sign)] if out == target && sign == R::ONE));
        let target = |(row, parts): (&isize, &Vec<(usize, usize, R)>)| {
            let waiting = parts.iter().flat_map(|(term, out, sign)| {
                let term = &terms[*term];
                let chunks = if narrow { 1 } else { term.stride / chunk };
                (0..chunks).map(move |chunk| ((term.slot + chunk * term.outs + out) as isize, *sign))
            });
            SumTarget { row: *row, parts: waiting.collect() }
        };
        let targets = given.targets.iter().zip(parts).map(target).collect();
        let NodeGroup { base, stride, count, keep, .. } = *given;
        Self { base, stride, count, terms, targets, keep, slots, narrow, direct }
    }

    /// Only groups with the same are solved side by side.
    fn likeness(&self) -> Vec<usize> {
        let of_term = |term: &FractionTerm<R>| [term.ins.len(), term.outs, term.stride];
        let of_group = [usize::from(self.direct), usize::from(self.keep), self.terms.len()];
        of_group.into_iter().chain(self.terms.iter().flat_map(of_term)).collect()
    }

    fn base(&self, node: usize) -> isize {
        (self.base + node * self.stride) as isize
    }
}

impl<R: RealScalar> FractionTerm<R> {
    /// And of each output the targets that it is part of.
    fn new(roots: &[&FractionRoot], ins: &[isize], (targets, merge): (usize, bool)) -> (Self, Vec<SignedRows<R>>) {
        let coefficients = |row: usize| roots.iter().map(|root| root.coefficients[row]).collect::<Vec<f64>>();
        let weights = |row: usize| roots.iter().map(|root| root.weights[row]).collect::<Vec<f64>>();
        let apart = |rows: usize, of: &dyn Fn(usize) -> Vec<f64>| {
            let members = (0..rows).map(|row| vec![(row, R::ONE)]).collect();
            (members, (0..rows).map(of).collect::<Vec<_>>())
        };
        let (of_ins, coefficients) =
            if merge { alike(ins.len(), &coefficients) } else { apart(ins.len(), &coefficients) };
        let (outs, weights) = if merge { alike(targets, &weights) } else { apart(targets, &weights) };
        let rounded = |rows: Vec<Vec<f64>>| rows.concat().into_iter().map(R::from_f64).collect::<Vec<R>>();
        let of_rows = |members: Vec<(usize, R)>| members.into_iter().map(|(row, sign)| (ins[row], sign)).collect();
        let ins: Vec<Vec<(isize, R)>> = of_ins.into_iter().map(of_rows).collect();
        let direct = ins.iter().all(|members| members.len() == 1);
        debug_assert!(ins.len() <= MAX_INS && outs.len() <= MAX_OUTS);
        let term = Self {
            ins,
            outs: outs.len(),
            count: roots.len(),
            stride: roots.len(),
            roots: roots.iter().map(|root| R::from_f64(root.root)).collect(),
            coefficients: rounded(coefficients),
            weights: rounded(weights),
            direct,
            slot: 0,
        };
        (term, outs)
    }

    /// Fills the last chunk up.
    fn pad(&mut self, chunk: usize) {
        self.stride = self.count.next_multiple_of(chunk);
        let last = self.roots[self.count - 1];
        self.roots.resize(self.stride, last);
        for all in [&mut self.coefficients, &mut self.weights] {
            let padded = |row: &[R]| {
                row.iter().copied().chain(core::iter::repeat_n(R::ZERO, self.stride - self.count)).collect()
            };
            *all = all.chunks(self.count).map(padded).collect::<Vec<Vec<R>>>().concat();
        }
    }

    /// Roots from `first` on as a pack, without its rows.
    fn pack(&self, first: usize) -> ShiftedPack<R> {
        ShiftedPack {
            roots: self.roots[first..].as_ptr(),
            coefficients: self.coefficients[first..].as_ptr(),
            weights: self.weights[first..].as_ptr(),
            stride: self.stride,
            ins: [core::ptr::null(); MAX_INS],
            outs: [core::ptr::null_mut(); MAX_OUTS],
        }
    }
}

impl<R: RealScalar> NodeStage<R> {
    fn new(groups: &[NodeGroup], chunking: RootChunking) -> Self {
        let single = groups.iter().filter(|group| group.count == 1).count();
        let alike = |group: &NodeGroup| if group.count == 1 { single } else { group.count };
        let groups: Vec<PlannedGroup<R>> =
            groups.iter().map(|group| PlannedGroup::new(group, chunking, alike(group))).collect();
        let groups: Vec<PlannedGroup<R>> = groups.into_iter().filter(|group| !group.terms.is_empty()).collect();
        let nodes = |narrow: bool| {
            let of = groups.iter().enumerate().filter(move |(_, group)| group.narrow == narrow);
            of.flat_map(|(at, group)| (0..group.count).map(move |node| (at, node))).collect::<Vec<NodePlace>>()
        };
        let mut side_by_side = nodes(true);
        side_by_side.sort_by_key(|node| groups[node.0].likeness());
        let same = side_by_side.chunk_by(|a, b| groups[a.0].likeness() == groups[b.0].likeness());
        let narrow = same.flat_map(|same| same.chunks(chunking.nodes).map(<[NodePlace]>::to_vec)).collect();
        let (mut wide, mut sums, mut slots) = (Vec::new(), Vec::new(), 0);
        for node in nodes(false) {
            let group = &groups[node.0];
            for (term, of) in group.terms.iter().enumerate() {
                let chunks = 0..of.stride / chunking.wide;
                wide.extend(chunks.map(|chunk| RootChunk { node, term, chunk, slots }));
            }
            sums.push((node, slots));
            slots += group.slots;
        }
        Self { groups, narrow, wide, sums, slots }
    }
}

/// Where everything is, for all threads: each node writes its own targets, each chunk its own rows, and nobody reads what is written
/// in the same stage.
#[derive(Clone, Copy)]
struct SharedRows<R> {
    f: *mut R,
    zero: *const R,
    waiting: *mut R,
}

// SAFETY: who writes where is as said above.
unsafe impl<R: Send> Sync for SharedRows<R> {}

impl<R: RealScalar> PartialFractions<R> {
    /// A plan for so many block rows.
    pub fn new(rows: usize, stages: &[Vec<NodeGroup>], below: BelowAxis<R>, simd: Simd) -> Self {
        let chunking = RootChunking::of(&below, simd);
        let stages: Vec<NodeStage<R>> = stages.iter().map(|groups| NodeStage::new(groups, chunking)).collect();
        let slots = stages.iter().map(|stage| stage.slots).max().unwrap_or(0);
        let len = below.len();
        let mut own = MAX_INS * len;
        for group in stages.iter().flat_map(|stage| &stage.groups).filter(|group| group.narrow) {
            let staged = group.terms.iter().map(|term| if term.direct { 0 } else { term.ins.len() }).max().unwrap_or(0);
            own = own.max((1 + chunking.nodes * (staged + if group.direct { 0 } else { group.slots })) * len);
        }
        own += match &below {
            BelowAxis::Line(line) => ShiftedSweep::<R>::work(line.n(), simd),
            BelowAxis::Block(block) => len + block.scratch(1),
        };
        Self { rows, len, stages, below, simd, slots, own }
    }

    /// A plan for R alone: one block row, one solve.
    pub fn line(line: ShiftedLine<R>, simd: Simd) -> Self {
        let root = FractionRoot { class: 0, root: 0.0, coefficients: vec![1.0], weights: vec![1.0] };
        let pieces = vec![FractionPiece { ins: vec![1], roots: vec![root] }];
        let group = NodeGroup { base: 0, stride: 1, count: 1, pieces, targets: vec![1], keep: false };
        Self::new(1, &[vec![group]], BelowAxis::Line(line), simd)
    }

    /// Unknowns.
    pub fn unknowns(&self) -> usize {
        self.rows * self.len
    }

    /// Numbers of scratch for so many threads.
    pub fn scratch(&self, threads: usize) -> usize {
        (1 + self.slots) * self.len + self.tasks(threads) * self.own
    }

    /// Bytes of roots, coefficients and weights.
    pub fn bytes(&self) -> usize {
        let groups = self.stages.iter().flat_map(|stage| &stage.groups);
        let terms = groups.flat_map(|group| &group.terms);
        let words = terms.map(|term| term.roots.len() + term.coefficients.len() + term.weights.len()).sum::<usize>();
        let below = if let BelowAxis::Block(block) = &self.below { block.bytes() } else { 0 };
        words * size_of::<R>() + below
    }

    fn tasks(&self, threads: usize) -> usize {
        tuning::tasks(threads, self.rows * self.len)
    }

    /// Systems that a solve solves, by axis: those of all axes but the first, of all but the first two, …
    pub fn counts(&self) -> Vec<usize> {
        let groups = self.stages.iter().flat_map(|stage| &stage.groups);
        let own = groups.map(|group| group.count * group.terms.iter().map(|term| term.count).sum::<usize>()).sum();
        let mut counts = vec![own];
        if let BelowAxis::Block(block) = &self.below {
            counts.extend(block.counts().iter().map(|count| count * own));
        }
        counts
    }

    /// Replaces f by the solution of (B ⊗ I + I ⊗ R + shift) u = f.
    pub fn solve(&self, f: &mut [R], shift: R, threads: usize, scratch: &mut [R]) {
        debug_assert!(f.len() == self.rows * self.len && scratch.len() >= self.scratch(threads));
        if f.is_empty() {
            return;
        }
        let (zero, rest) = scratch.split_at_mut(self.len);
        let (waiting, rest) = rest.split_at_mut(self.slots * self.len);
        zero.fill(R::ZERO);
        let board = SharedRows { f: f.as_mut_ptr(), zero: zero.as_ptr(), waiting: waiting.as_mut_ptr() };
        for stage in &self.stages {
            let units = stage.narrow.len() + stage.wide.len();
            self.each(units, threads, rest, &|unit, own| match stage.narrow.get(unit) {
                Some(nodes) => self.narrow(stage, nodes, (board, shift), own),
                None => self.wide(stage, stage.wide[unit - stage.narrow.len()], (board, shift), own),
            });
            self.each(stage.sums.len(), threads, rest, &|unit, _| {
                let (node, slots) = stage.sums[unit];
                let from = board.waiting.wrapping_add(slots * self.len);
                self.sum(&stage.groups[node.0], node.1, from, board);
            });
        }
    }

    /// Calls `work` for every unit, on whatever thread is free, with the memory of that thread.
    fn each(&self, units: usize, threads: usize, memory: &mut [R], work: &(impl Fn(usize, &mut [R]) + Sync)) {
        let (next, tasks) = (AtomicUsize::new(0), self.tasks(threads).min(units));
        spread(tasks, 0..tasks.max(1), RowsOf(memory, self.own), &|_, memory| {
            loop {
                let unit = next.fetch_add(1, Ordering::Relaxed);
                if unit >= units {
                    break;
                }
                work(unit, &mut memory.0[..self.own]);
            }
        });
    }

    /// Block row `row` of f; zeros where there is none.
    fn row(&self, board: SharedRows<R>, row: isize) -> *const R {
        if (1..=self.rows as isize).contains(&row) {
            board.f.wrapping_add((row - 1) as usize * self.len)
        } else {
            board.zero
        }
    }

    /// The inputs of a term: block rows, or sums of them in `memory`.
    fn ins(&self, term: &FractionTerm<R>, base: isize, board: SharedRows<R>, memory: &mut [R]) -> [*const R; MAX_INS] {
        let mut ins = [board.zero; MAX_INS];
        for (s, rows) in term.ins.iter().enumerate() {
            if term.direct {
                ins[s] = self.row(board, base + rows[0].0);
                continue;
            }
            let out = memory[s * self.len..(s + 1) * self.len].as_mut_ptr();
            self.add_up((out, false), rows, &|row| self.row(board, base + row));
            ins[s] = out;
        }
        ins
    }

    /// Adds up what waits for a node.
    fn sum(&self, group: &PlannedGroup<R>, node: usize, from: *const R, board: SharedRows<R>) {
        for target in &group.targets {
            let out = self.row(board, group.base(node) + target.row).cast_mut();
            self.add_up((out, group.keep), &target.parts, &|slot| from.wrapping_add(slot as usize * self.len));
        }
    }

    /// out = (keep: out +) Σ c·row, the rows being where `place` says.
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

    /// Nodes side by side, a vector of roots at a time.
    fn narrow(&self, stage: &NodeStage<R>, nodes: &[NodePlace], (board, shift): (SharedRows<R>, R), own: &mut [R]) {
        let BelowAxis::Line(line) = &self.below else { unreachable!("planes are solved one by one") };
        let lanes = R::lanes(self.simd);
        let (work, rest) = own.split_at_mut(ShiftedSweep::<R>::work(line.n(), self.simd));
        let (nowhere, rest) = rest.split_at_mut(self.len);
        let first = &stage.groups[nodes[0].0];
        let (waiting, staged) = rest.split_at_mut(if first.direct { 0 } else { nodes.len() * first.slots * self.len });
        for (t, term) in first.terms.iter().enumerate() {
            let mut all = [term.pack(0); 4];
            let all = &mut all[..packs(lanes)];
            for (p, pack) in all.iter_mut().enumerate() {
                let node = nodes[p.min(nodes.len() - 1)];
                let (group, room) = (&stage.groups[node.0], p.min(nodes.len() - 1) * term.ins.len() * self.len);
                *pack = group.terms[t].pack(0);
                pack.ins =
                    self.ins(&group.terms[t], group.base(node.1), board, staged.get_mut(room..).unwrap_or_default());
                for out in 0..term.outs {
                    pack.outs[out] = if p >= nodes.len() {
                        nowhere.as_mut_ptr()
                    } else if group.direct {
                        self.row(board, group.base(node.1) + group.targets[out].row).cast_mut()
                    } else {
                        waiting.as_mut_ptr().wrapping_add((p * group.slots + term.slot + out) * self.len)
                    };
                }
            }
            for chunk in 0..term.stride / lanes {
                let add = chunk > 0 || first.direct && first.keep;
                let (rows, ins, outs) = (line.rows(), term.ins.len(), term.outs);
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
                let from = waiting.as_ptr().wrapping_add(p * group.slots * self.len);
                self.sum(group, node.1, from, board);
            }
        }
    }

    /// A chunk of the roots of one node.
    fn wide(&self, stage: &NodeStage<R>, of: RootChunk, (board, shift): (SharedRows<R>, R), own: &mut [R]) {
        let group = &stage.groups[of.node.0];
        let term = &group.terms[of.term];
        let (staged, own) = own.split_at_mut(MAX_INS * self.len);
        let ins = self.ins(term, group.base(of.node.1), board, staged);
        let first_slot = of.slots + term.slot + of.chunk * term.outs;
        let mut outs = [core::ptr::null_mut(); MAX_OUTS];
        for out in 0..term.outs {
            outs[out] = board.waiting.wrapping_add((first_slot + out) * self.len);
        }
        match &self.below {
            BelowAxis::Line(line) => {
                let lanes = R::lanes(self.simd);
                let mut all = [term.pack(0); 4];
                let all = &mut all[..packs(lanes)];
                for p in 0..all.len() {
                    all[p] = ShiftedPack { ins, outs, ..term.pack((of.chunk * all.len() + p) * lanes) };
                }
                let (rows, ins, outs) = (line.rows(), term.ins.len(), term.outs);
                dispatch(
                    self.simd,
                    ShiftedSweep { rows, shift, ins, outs, packs: all, together: true, add: false, work: own },
                );
            }
            BelowAxis::Block(block) => self.planes((block, term, of.chunk), (ins, outs), shift, own),
        }
    }

    /// The same of planes, one root after the other.
    fn planes(
        &self,
        (block, term, chunk): (&PartialFractions<R>, &FractionTerm<R>, usize),
        (ins, outs): ([*const R; MAX_INS], [*mut R; MAX_OUTS]),
        shift: R,
        own: &mut [R],
    ) {
        let (plane, own) = own.split_at_mut(self.len);
        let roots = chunk * PLANES..((chunk + 1) * PLANES).min(term.count);
        for j in roots.clone() {
            let mut rows = [(core::ptr::null(), R::ZERO); MAX_INS];
            for s in 0..term.ins.len() {
                rows[s] = (ins[s], term.coefficients[s * term.stride + j]);
            }
            let (out, rows) = (plane.as_mut_ptr(), &rows[..term.ins.len()]);
            dispatch(self.simd, ScaledRowSum { out, keep: false, rows, n: self.len });
            block.solve(plane, shift + term.roots[j], 1, own);
            for out in 0..term.outs {
                let rows = [(plane.as_ptr(), term.weights[out * term.stride + j])];
                let (out, keep) = (outs[out], j > roots.start);
                dispatch(self.simd, ScaledRowSum { out, keep, rows: &rows, n: self.len });
            }
        }
    }
}
