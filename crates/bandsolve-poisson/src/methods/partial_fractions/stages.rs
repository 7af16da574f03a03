//! Planning of the stages: divides roots into chunks, merges equal inputs and outputs, and assigns a slot to each partial sum.

use super::nodes::{FractionRoot, NodeGroup};
use bandsolve::Result;
use bandsolve::memory::{collected, copied, push, reserved};
use bandsolve_kernel::shifted::{MAX_INS, MAX_OUTS, ShiftedPack, packs};
use bandsolve_kernel::{RealScalar, Simd};

/// Number of roots per chunk for `BelowAxis::Block`.
pub(super) const PLANES: usize = 8;
/// Minimum number of nodes for one thread per node for `BelowAxis::Block`. The scratch of the thread then stores the partial sums.
const WHOLE: usize = 8;

/// The partial fractions of one class.
#[derive(Debug, Clone)]
pub(super) struct FractionTerm<R> {
    /// For each input, the block rows and the signs of its sum.
    pub ins: Vec<Vec<(isize, R)>>,
    /// Number of outputs.
    pub outs: usize,
    /// Number of roots.
    pub count: usize,
    /// `count`, rounded up to whole chunks. The coefficients and weights of the added roots are 0.
    pub stride: usize,
    pub roots: Vec<R>,
    pub coefficients: Vec<R>,
    pub weights: Vec<R>,
    /// Whether each input is a single block row.
    pub direct: bool,
    /// Index of its first partial sum among those of the node.
    pub slot: usize,
}

/// An output block row, and the partial sums that contribute to it.
#[derive(Debug, Clone)]
pub(super) struct SumTarget<R> {
    pub row: isize,
    /// Partial sums with their signs.
    pub parts: Vec<(isize, R)>,
}

/// A [`NodeGroup`] with its terms and targets.
#[derive(Debug, Clone)]
pub(super) struct PlannedGroup<R> {
    pub base: usize,
    pub stride: usize,
    pub count: usize,
    pub terms: Vec<FractionTerm<R>>,
    pub targets: Vec<SumTarget<R>>,
    pub keep: bool,
    /// Number of partial sums per node.
    pub slots: usize,
    /// Whether one thread processes several nodes at the same time or, for `BelowAxis::Block`, a whole node. The scratch of the thread then
    /// stores the partial sums.
    pub narrow: bool,
    /// Whether sums go directly to their targets, without partial sums.
    pub direct: bool,
}

/// A node: the index of its group, and its index in the group.
pub(super) type NodePlace = (usize, usize);

/// A chunk of the roots of one term of one node. `slots` is the index of the first partial sum of the node.
#[derive(Debug, Clone, Copy)]
pub(super) struct RootChunk {
    pub node: NodePlace,
    pub term: usize,
    pub chunk: usize,
    pub slots: usize,
}

/// Nodes that threads can process in any order.
#[derive(Debug, Clone)]
pub(super) struct NodeStage<R> {
    pub groups: Vec<PlannedGroup<R>>,
    /// Sets of nodes that one thread processes at the same time.
    pub narrow: Vec<Vec<NodePlace>>,
    /// Chunks of the other nodes.
    pub wide: Vec<RootChunk>,
    /// Nodes with partial sums in the shared array, and the index of the first one.
    pub sums: Vec<(NodePlace, usize)>,
    /// Number of partial sums in the shared array.
    pub slots: usize,
}

/// Sizes of the chunks of roots.
#[derive(Debug, Clone, Copy)]
pub(super) struct RootChunking {
    /// Number of roots per chunk for nodes that are processed at the same time.
    narrow: usize,
    /// Number of nodes that are processed at the same time.
    nodes: usize,
    /// Number of roots per chunk for a single node.
    wide: usize,
    /// Whether R is a line. Only then are several nodes processed at the same time.
    lanes: bool,
}

impl RootChunking {
    /// The sizes if R has several axes.
    pub const OF_BLOCK: Self = Self { narrow: PLANES, nodes: 1, wide: PLANES, lanes: false };

    /// The sizes if R is tridiagonal.
    pub fn of_line<R: RealScalar>(simd: Simd) -> Self {
        let lanes = R::lanes(simd);
        Self { narrow: lanes, nodes: packs(lanes), wide: lanes * packs(lanes), lanes: true }
    }
}

/// Indices of rows with their signs.
type SignedRows<R> = Vec<(usize, R)>;

/// Sets of rows that are equal up to the sign, and the values of the first row of each set.
type AlikeRows<R> = (Vec<SignedRows<R>>, Vec<Vec<f64>>);

/// Group the non-zero rows that are equal up to the sign.
fn alike<R: RealScalar>(rows: usize, of: &dyn Fn(usize) -> Result<Vec<f64>>) -> Result<AlikeRows<R>> {
    let (mut members, mut values) = (Vec::<SignedRows<R>>::new(), Vec::<Vec<f64>>::new());
    for row in 0..rows {
        let numbers = of(row)?;
        if numbers.iter().all(|v| *v == 0.0) {
            continue;
        }
        let opposite = |other: &[f64]| other.iter().zip(&numbers).all(|(a, b)| *a == -b);
        match values.iter().position(|other| *other == numbers || opposite(other)) {
            Some(at) => members[at].push((row, if values[at] == numbers { R::ONE } else { -R::ONE })),
            None => {
                members.push(vec![(row, R::ONE)]);
                values.push(numbers);
            }
        }
    }
    Ok((members, values))
}

impl<R: RealScalar> PlannedGroup<R> {
    /// Plan a group. `alike` is the number of nodes of the stage that can be processed at the same time as a node of this group.
    fn new(given: &NodeGroup, chunking: RootChunking, alike: usize) -> Result<Self> {
        let (mut terms, mut parts) = (Vec::new(), vec![Vec::new(); given.targets.len()]);
        let mut lengths = Vec::new();
        for piece in &given.pieces {
            let used = |root: &&FractionRoot| {
                root.coefficients.iter().any(|v| *v != 0.0) && root.weights.iter().any(|v| *v != 0.0)
            };
            let used: Vec<&FractionRoot> = collected(piece.roots.iter().filter(used))?;
            let apart = used.len() > chunking.narrow;
            let mut classes: Vec<usize> = collected(used.iter().map(|root| if apart { root.class } else { 0 }))?;
            classes.sort_unstable();
            classes.dedup();
            for class in classes {
                let roots: Vec<&FractionRoot> = collected(used.iter().filter(|r| !apart || r.class == class).copied())?;
                let (term, outs) = FractionTerm::new(&roots, &piece.ins, (given.targets.len(), apart))?;
                for (out, members) in outs.iter().enumerate() {
                    members.iter().for_each(|(target, sign)| parts[*target].push((terms.len(), out, *sign)));
                }
                lengths.push(roots.len());
                terms.push(term);
            }
        }
        let side_by_side = lengths.iter().map(|len| len.div_ceil(chunking.narrow) * chunking.narrow).sum::<usize>();
        let side_by_side = side_by_side * alike.next_multiple_of(chunking.nodes) / alike;
        let alone: usize = lengths.iter().map(|len| len.div_ceil(chunking.wide) * chunking.wide).sum();
        let narrow = if chunking.lanes { side_by_side < alone } else { alike >= WHOLE };
        Self::arranged(given, terms, &parts, (narrow, chunking))
    }

    /// Assign slots to the partial sums of the terms.
    fn arranged(
        given: &NodeGroup,
        mut terms: Vec<FractionTerm<R>>,
        parts: &[Vec<(usize, usize, R)>],
        (narrow, chunking): (bool, RootChunking),
    ) -> Result<Self> {
        let (chunk, lanes) = (if narrow { chunking.narrow } else { chunking.wide }, chunking.lanes);
        let mut slots = 0;
        for term in &mut terms {
            term.pad(chunk)?;
            term.slot = slots;
            slots += term.outs * if narrow { 1 } else { term.stride / chunk };
        }
        let direct = narrow
            && lanes
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
            let mut all = Vec::new();
            for part in waiting {
                push(&mut all, part)?;
            }
            Ok(SumTarget { row: *row, parts: all })
        };
        let targets = given.targets.iter().zip(parts).map(target).collect::<Result<_>>()?;
        let NodeGroup { base, stride, count, keep, .. } = *given;
        Ok(Self { base, stride, count, terms, targets, keep, slots, narrow, direct })
    }

    /// Number of block rows of scratch per thread, without the scratch of the solves.
    pub fn rows_of_a_thread(&self, chunking: RootChunking) -> usize {
        let staged = self.terms.iter().map(FractionTerm::staged).max().unwrap_or(0);
        let several = |term: &&FractionTerm<R>| term.stride > PLANES;
        match (self.narrow, chunking.lanes) {
            (false, _) => staged,
            (true, true) => 1 + chunking.nodes * (staged + if self.direct { 0 } else { self.slots }),
            (true, false) => {
                staged + self.slots + self.terms.iter().filter(several).map(|term| term.outs).max().unwrap_or(0)
            }
        }
    }

    /// A key. Nodes can be processed at the same time only if the keys of their groups are equal.
    fn likeness(&self) -> Vec<usize> {
        let of_term = |term: &FractionTerm<R>| [term.ins.len(), term.outs, term.stride];
        let of_group = [usize::from(self.direct), usize::from(self.keep), self.terms.len()];
        of_group.into_iter().chain(self.terms.iter().flat_map(of_term)).collect()
    }

    /// The base of a node.
    pub fn base(&self, node: usize) -> isize {
        (self.base + node * self.stride) as isize
    }
}

impl<R: RealScalar> FractionTerm<R> {
    /// A term, and for each output its targets. `merge` merges inputs and outputs that are equal up to the sign.
    fn new(
        roots: &[&FractionRoot],
        ins: &[isize],
        (targets, merge): (usize, bool),
    ) -> Result<(Self, Vec<SignedRows<R>>)> {
        let coefficients = |row: usize| collected(roots.iter().map(|root| root.coefficients[row]));
        let weights = |row: usize| collected(roots.iter().map(|root| root.weights[row]));
        let apart = |rows: usize, of: &dyn Fn(usize) -> Result<Vec<f64>>| -> Result<_> {
            let members = (0..rows).map(|row| vec![(row, R::ONE)]).collect();
            Ok((members, (0..rows).map(of).collect::<Result<Vec<_>>>()?))
        };
        let (of_ins, coefficients) =
            if merge { alike(ins.len(), &coefficients)? } else { apart(ins.len(), &coefficients)? };
        let (outs, weights) = if merge { alike(targets, &weights)? } else { apart(targets, &weights)? };
        let rounded = |rows: Vec<Vec<f64>>| {
            let mut all = reserved(rows.iter().map(Vec::len).sum())?;
            rows.iter().for_each(|row| all.extend(row.iter().map(|v| R::from_f64(*v))));
            Ok(all)
        };
        let of_rows = |members: Vec<(usize, R)>| members.into_iter().map(|(row, sign)| (ins[row], sign)).collect();
        let ins: Vec<Vec<(isize, R)>> = of_ins.into_iter().map(of_rows).collect();
        let direct = ins.iter().all(|members| members.len() == 1);
        debug_assert!(ins.len() <= MAX_INS && outs.len() <= MAX_OUTS);
        let term = Self {
            ins,
            outs: outs.len(),
            count: roots.len(),
            stride: roots.len(),
            roots: collected(roots.iter().map(|root| R::from_f64(root.root)))?,
            coefficients: rounded(coefficients)?,
            weights: rounded(weights)?,
            direct,
            slot: 0,
        };
        Ok((term, outs))
    }

    /// Number of block rows of scratch for the sums of the inputs.
    pub fn staged(&self) -> usize {
        if self.direct { 0 } else { self.ins.len() }
    }

    /// Fill the last chunk with roots of weight 0.
    fn pad(&mut self, chunk: usize) -> Result<()> {
        self.stride = self.count.next_multiple_of(chunk);
        let last = self.roots[self.count - 1];
        let roots = core::mem::take(&mut self.roots);
        self.roots = collected(roots.iter().copied().chain(core::iter::repeat_n(last, self.stride - self.count)))?;
        for all in [&mut self.coefficients, &mut self.weights] {
            let mut padded = reserved(all.len() / self.count * self.stride)?;
            for row in all.chunks(self.count) {
                padded.extend_from_slice(row);
                padded.extend(core::iter::repeat_n(R::ZERO, self.stride - self.count));
            }
            *all = padded;
        }
        Ok(())
    }

    /// A pack of the roots from `first` on. The caller sets the rows.
    pub fn pack(&self, first: usize) -> ShiftedPack<R> {
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
    /// Plan a stage.
    pub fn new(groups: &[NodeGroup], chunking: RootChunking) -> Result<Self> {
        let single = groups.iter().filter(|group| group.count == 1).count();
        let alike = |group: &NodeGroup| if group.count == 1 { single } else { group.count };
        let mut planned: Vec<PlannedGroup<R>> = reserved(groups.len())?;
        for group in groups {
            planned.push(PlannedGroup::new(group, chunking, alike(group))?);
        }
        planned.retain(|group| !group.terms.is_empty());
        let groups = planned;
        let nodes = |narrow: bool| -> Result<Vec<NodePlace>> {
            let of = || groups.iter().enumerate().filter(move |(_, group)| group.narrow == narrow);
            let mut nodes = reserved(of().map(|(_, group)| group.count).sum())?;
            of().for_each(|(at, group)| nodes.extend((0..group.count).map(|node| (at, node))));
            Ok(nodes)
        };
        let mut side_by_side = nodes(true)?;
        side_by_side.sort_unstable_by_key(|node| (groups[node.0].likeness(), *node));
        let same = side_by_side.chunk_by(|a, b| groups[a.0].likeness() == groups[b.0].likeness());
        let mut narrow = reserved(side_by_side.len())?;
        for some in same.flat_map(|same| same.chunks(chunking.nodes)) {
            narrow.push(copied(some)?);
        }
        let (mut wide, mut sums, mut slots) = (Vec::new(), Vec::new(), 0);
        for node in nodes(false)? {
            let group = &groups[node.0];
            for (term, of) in group.terms.iter().enumerate() {
                let chunks = 0..of.stride / chunking.wide;
                for chunk in chunks {
                    push(&mut wide, RootChunk { node, term, chunk, slots })?;
                }
            }
            push(&mut sums, (node, slots))?;
            slots += group.slots;
        }
        Ok(Self { groups, narrow, wide, sums, slots })
    }
}
