//! Vectors in the memory of the CPU.

use super::numbers::{narrow, times, widen};
use super::operations::{LinearCombination, MOST_TERMS, Operator, VectorId, Vectors};
use super::piece::{PIECE, ZERO, dot, each_piece, subtract_combination};
use super::reducer::Reducer;
use crate::error::Result;
use crate::operator::LinearOperator;
use crate::tuning::BASIS_VECTORS;
use bandsolve_kernel::combine::{Combine, Operand};
use bandsolve_kernel::spread::{OthersOf, RowsOf, VectorsOf};
use bandsolve_kernel::view::View;
use bandsolve_kernel::{Complex64, RealScalar, Scalar, Simd};
use core::ops::Range;
use dyn_stack::{PodStack, StackReq};

/// The vectors of a Krylov method in the memory of the CPU, and the operators of its system.
///
/// # Examples
/// Memory for three vectors of ten elements, each at the beginning of a cache line; [`Vectors`] shows how they are used:
/// ```
/// use bandsolve::vectors::HostVectors;
/// assert_eq!(HostVectors::<f64>::stride(10), 16);
/// let work = vec![0.0; 3 * HostVectors::<f64>::stride(10)];
/// # assert_eq!(work.len(), 48);
/// ```
pub struct HostVectors<'a, T: Scalar> {
    /// The matrix of the system.
    pub a: &'a dyn LinearOperator<T>,
    /// The matrix B of an eigenvalue problem.
    pub b: Option<&'a dyn LinearOperator<T>>,
    /// The inverse M⁻¹ of the preconditioner.
    pub m: Option<&'a dyn LinearOperator<T>>,
    /// The right-hand side. It may be empty if the method does not use it.
    pub rhs: &'a [T],
    /// The solution, n elements.
    pub x: &'a mut [T],
    /// The vectors of the method, one every [`HostVectors::stride`] elements.
    pub work: &'a mut [T],
    /// Sums over vectors of n elements.
    pub reducer: Reducer<'a>,
    /// Scratch memory of the operators, and of [`rotate`](Vectors::rotate): see [`rotate_scratch`](Self::rotate_scratch).
    pub stack: &'a mut PodStack,
}

/// Number of rows that are rotated together, so that all vectors of a basis fit into the cache.
const ROTATED_ROWS: usize = PIECE / 8;

impl<'a, T: Scalar> HostVectors<'a, T> {
    /// The distance from one vector of a method to the next, for vectors of n elements. If the first vector begins at a multiple of
    /// [`ALIGNMENT`](Self::ALIGNMENT) bytes, all do.
    pub const fn stride(n: usize) -> usize {
        n.next_multiple_of(Self::ALIGNMENT / size_of::<T>())
    }

    /// The best alignment of `work`: that of a line of the cache.
    pub const ALIGNMENT: usize = 64;

    /// The scratch memory that [`rotate`](Vectors::rotate) needs for this number of vectors of n elements.
    pub fn rotate_scratch(n: usize, vectors: usize) -> StackReq {
        StackReq::new::<T>(n.div_ceil(PIECE).saturating_mul(ROTATED_ROWS).saturating_mul(vectors))
    }

    /// The place of a vector of the method.
    fn place(&self, k: usize) -> Range<usize> {
        let (n, first) = (self.x.len(), k * Self::stride(self.x.len()));
        first..first + n
    }

    /// The places of `count` vectors of the method, without the gap behind the last.
    fn places(&self, first: usize, count: usize) -> Range<usize> {
        if count == 0 { 0..0 } else { self.place(first).start..self.place(first + count - 1).end }
    }

    /// Vectors that are read, one that is written, and the operators with their scratch memory.
    fn pair<const K: usize>(&mut self, read: [VectorId; K], write: VectorId) -> ReadAndWritten<'_, T, K> {
        assert!(!read.contains(&write), "an operation reads the vector that it writes");
        let (n, stride) = (self.x.len(), Self::stride(self.x.len()));
        let Self { a, b, m, rhs, x, work, stack, .. } = self;
        let (at, out, x, before, behind): (_, &mut [T], &[T], &[T], &[T]) = match write {
            VectorId::Rhs => unreachable!("{READ_ONLY}"),
            VectorId::Solution => (usize::MAX, x, &[], work, &[]),
            VectorId::Work(at) => {
                let (before, rest) = work.split_at_mut(at * stride);
                let (out, behind) = rest.split_at_mut(stride);
                (at, &mut out[..n], x, before, behind)
            }
        };
        let read = read.map(|id| match id {
            VectorId::Rhs => *rhs,
            VectorId::Solution => x,
            VectorId::Work(k) if k < at => &before[k * stride..][..n],
            VectorId::Work(k) => &behind[(k - at - 1) * stride..][..n],
        });
        ReadAndWritten { read, write: out, of: Operators { a: *a, b: *b, m: *m }, stack }
    }

    /// One of the vectors.
    fn vector(&self, id: VectorId) -> &[T] {
        match id {
            VectorId::Rhs => self.rhs,
            VectorId::Solution => self.x,
            VectorId::Work(k) => &self.work[self.place(k)],
        }
    }

    /// The vectors that are written, to be split into pieces.
    fn parts(x: &'a mut [T], work: &'a mut [T]) -> VectorPieces<'a, T> {
        let n = x.len();
        (RowsOf(x, PIECE), VectorsOf::new(work, (n, Self::stride(n)), PIECE))
    }

    /// Call `work` for each piece of all vectors.
    fn each_part(&mut self, work: &(impl Fn(Range<usize>, VectorPiece<'_, T>) + Sync)) {
        let (n, rhs) = (self.x.len(), self.rhs);
        each_piece(n, HostVectors::parts(self.x, self.work), &|rows, (x, of_work)| {
            work(rows.clone(), VectorPiece { rhs: rows_of_rhs(rhs, rows), x: x.0, work: of_work });
        });
    }
}

/// These rows of the right-hand side, or none if there is no right-hand side.
fn rows_of_rhs<T>(rhs: &[T], rows: Range<usize>) -> &[T] {
    rhs.get(rows).unwrap_or_default()
}

/// The vectors that are written.
type VectorPieces<'v, T> = (RowsOf<'v, T>, VectorsOf<'v, T>);

const READ_ONLY: &str = "no operation writes the right-hand side";

/// What [`HostVectors::pair`] returns.
struct ReadAndWritten<'v, T: Scalar, const K: usize> {
    read: [&'v [T]; K],
    write: &'v mut [T],
    of: Operators<'v, T>,
    stack: &'v mut PodStack,
}

/// The operators of a system.
struct Operators<'a, T: Scalar> {
    a: &'a dyn LinearOperator<T>,
    b: Option<&'a dyn LinearOperator<T>>,
    m: Option<&'a dyn LinearOperator<T>>,
}

impl<'a, T: Scalar> Operators<'a, T> {
    fn mass(&self) -> &'a dyn LinearOperator<T> {
        self.b.expect("methods apply B only if there is one")
    }

    fn preconditioner(&self) -> &'a dyn LinearOperator<T> {
        self.m.expect("methods apply a preconditioner only if there is one")
    }
}

impl<T: Scalar> Vectors for HostVectors<'_, T> {
    fn epsilon(&self) -> f64 {
        T::Real::EPSILON.to_f64()
    }

    fn rows_before(&self) -> usize {
        self.reducer.rows_before()
    }

    fn sum(&self, values: &mut [f64]) {
        self.reducer.sum(values);
    }

    fn apply(&mut self, operator: Operator, x: VectorId, y: VectorId) -> Result<()> {
        let ReadAndWritten { read: [x], write: y, of, stack } = self.pair([x], y);
        match operator {
            Operator::Matrix => of.a.apply(x, y, stack),
            Operator::Preconditioner => of.preconditioner().apply(x, y, stack),
            Operator::Step(step) => of.preconditioner().apply_step(step, x, y, stack),
            Operator::Mass => of.mass().apply(x, y, stack),
        }
    }

    fn residual(&mut self, x: VectorId, rhs: VectorId, r: VectorId) -> Result<()> {
        let ReadAndWritten { read: [x, rhs], write: r, of, stack } = self.pair([x, rhs], r);
        of.a.residual(x, rhs, r, stack)
    }

    fn accurate_residual(&mut self, x: VectorId, rhs: VectorId, r: VectorId) -> Result<Option<f64>> {
        let ReadAndWritten { read: [x, rhs], write: r, of, stack } = self.pair([x, rhs], r);
        of.a.accurate_residual(x, rhs, r, stack)
    }

    fn combine(
        &mut self,
        combinations: &[LinearCombination<'_>],
        products: &[(VectorId, VectorId)],
        sums: &mut [Complex64],
    ) {
        assert_eq!(products.len(), sums.len(), "one sum for each product");
        let simd = Simd::detect();
        if sums.is_empty() {
            let work = |_, mut part: VectorPiece<'_, T>| combinations.iter().for_each(|of| part.combine(of, simd));
            return self.each_part(&work);
        }
        let rhs = self.rhs;
        self.reducer.sums(HostVectors::parts(self.x, self.work), sums, &|rows, (x, work), sums| {
            let mut part = VectorPiece { rhs: rows_of_rhs(rhs, rows), x: x.0, work };
            combinations.iter().for_each(|of| part.combine(of, simd));
            for (sum, (a, b)) in sums.iter_mut().zip(products) {
                *sum = dot(part.get(*a), part.get(*b));
            }
        });
    }

    fn orthogonalize(
        &mut self,
        [basis, dual]: [usize; 2],
        w: VectorId,
        h: &mut [Complex64],
        again: &mut [Complex64],
    ) -> f64 {
        let VectorId::Work(at) = w else { unreachable!("a basis has work vectors") };
        let stride = Self::stride(self.x.len());
        let [v, w, u] = [self.places(basis, h.len()), self.place(at), self.places(dual, h.len())];
        if basis == dual {
            let [v, w] = self.work.get_disjoint_mut([v, w]).expect("w is no vector of the basis");
            return self.reducer.orthogonalize(([&*v, &*v], stride), w, h, again);
        }
        let [v, w, u] = self.work.get_disjoint_mut([v, w, u]).expect("w is no vector of the basis or of its dual");
        self.reducer.orthogonalize(([&*v, &*u], stride), w, h, again)
    }

    fn rotate(&mut self, basis: usize, q: View<'_, Complex64>) {
        let (n, old, new) = (self.x.len(), q.nrows(), q.ncols());
        assert!(new <= old, "a basis of {old} vectors is rotated to at most as many");
        let stride = Self::stride(n);
        let vectors = VectorsOf::new(&mut self.work[basis * stride..(basis + old) * stride], (n, stride), PIECE);
        let (memory, _) = self.stack.make_raw::<T>(n.div_ceil(PIECE) * ROTATED_ROWS * old);
        each_piece(n, (RowsOf(memory, ROTATED_ROWS * old), vectors), &|rows, (memory, mut part)| {
            for first in (0..rows.len()).step_by(ROTATED_ROWS) {
                let rows = first..(first + ROTATED_ROWS).min(rows.len());
                let before = &mut memory.0[..rows.len() * old];
                for (k, before) in before.chunks_exact_mut(rows.len()).enumerate() {
                    before.copy_from_slice(&part.vector(k)[rows.clone()]);
                }
                for j in 0..new {
                    combine_columns(&mut part.around(j).0[rows.clone()], before, q.column(j));
                }
            }
        });
    }

    fn subtract_combination(&mut self, y: VectorId, basis: usize, c: &[Complex64]) {
        let (stride, vectors) = (Self::stride(self.x.len()), self.places(basis, c.len()));
        match y {
            VectorId::Rhs => unreachable!("{READ_ONLY}"),
            VectorId::Solution => self.reducer.subtract_combination(self.x, (&self.work[vectors], stride), c),
            VectorId::Work(at) => {
                let places = [vectors, self.place(at)];
                let [v, y] = self.work.get_disjoint_mut(places).expect("y is no vector of the basis");
                self.reducer.subtract_combination(y, (v, stride), c);
            }
        }
    }

    fn root(&mut self, squared: f64, v: VectorId) -> f64 {
        let (place, rhs) = (if let VectorId::Work(k) = v { self.place(k) } else { 0..0 }, self.rhs);
        let v = match v {
            VectorId::Rhs => rhs,
            VectorId::Solution => &*self.x,
            VectorId::Work(_) => &self.work[place],
        };
        self.reducer.root(squared, v)
    }

    fn scale(&mut self, from: VectorId, to: VectorId, by: f64) {
        self.each_part(&|_, mut part| part.map((from, to), |_, v| times(v, by)));
    }

    fn set(&mut self, v: VectorId, times: Option<VectorId>, value: &(dyn Fn(usize) -> Complex64 + Sync)) {
        self.each_part(&|rows, mut part| {
            let value = |i: usize| narrow::<T>(value(rows.start + i));
            part.map((times.unwrap_or(v), v), |i, by| if times.is_some() { value(i) * by } else { value(i) });
        });
    }

    fn read(&mut self, v: VectorId, to: &mut dyn FnMut(&[u8])) {
        to(bytemuck::cast_slice(self.vector(v)));
    }

    fn elements(&mut self, v: VectorId, to: &mut [Complex64]) {
        to.iter_mut().zip(self.vector(v)).for_each(|(to, v)| *to = widen(*v));
    }
}

/// Compute y = V·q, where `columns` contains the columns of V, one after the other.
fn combine_columns<T: Scalar>(y: &mut [T], columns: &[T], q: &[Complex64]) {
    let rows = y.len();
    y.fill(T::ZERO);
    for (q, columns) in q.chunks(BASIS_VECTORS).zip(columns.chunks(BASIS_VECTORS * rows)) {
        let mut minus = [ZERO; BASIS_VECTORS];
        minus.iter_mut().zip(q).for_each(|(minus, q)| *minus = -q);
        subtract_combination(y, (columns, rows), &(0..rows), &minus[..q.len()]);
    }
}

/// The same rows of all vectors, at most [`PIECE`].
struct VectorPiece<'v, T> {
    rhs: &'v [T],
    x: &'v mut [T],
    work: VectorsOf<'v, T>,
}

/// The vectors of a [`VectorPiece`] from which a new one is computed.
struct Sources<'v, T> {
    out: VectorId,
    rhs: &'v [T],
    x: &'v [T],
    work: OthersOf<'v, T>,
}

impl<'v, T> Sources<'v, T> {
    fn operand(&self, id: VectorId) -> Operand<'v, T> {
        match id {
            _ if id == self.out => Operand::Target,
            VectorId::Rhs => Operand::Other(self.rhs),
            VectorId::Solution => Operand::Other(self.x),
            VectorId::Work(k) => Operand::Other(self.work.vector(k)),
        }
    }
}

impl<T: Scalar> VectorPiece<'_, T> {
    fn get(&self, id: VectorId) -> &[T] {
        match id {
            VectorId::Rhs => self.rhs,
            VectorId::Solution => self.x,
            VectorId::Work(k) => self.work.vector(k),
        }
    }

    /// The vector that is written, and the vectors from which it is computed.
    fn around(&mut self, out: VectorId) -> (&mut [T], Sources<'_, T>) {
        let rhs = self.rhs;
        match out {
            VectorId::Rhs => unreachable!("{READ_ONLY}"),
            VectorId::Solution => (self.x, Sources { out, rhs, x: &[], work: self.work.all() }),
            VectorId::Work(k) => {
                let (target, work) = self.work.around(k);
                (target, Sources { out, rhs, x: self.x, work })
            }
        }
    }

    fn combine(&mut self, LinearCombination { out, plus, factor, terms }: &LinearCombination<'_>, simd: Simd) {
        let (target, sources) = self.around(*out);
        let mut narrowed = [(T::ZERO, Operand::Target); MOST_TERMS];
        narrowed.iter_mut().zip(*terms).for_each(|(to, (c, v))| *to = (narrow(*c), sources.operand(*v)));
        let (plus, terms) = (plus.map(|v| sources.operand(v)), &narrowed[..terms.len()]);
        Combine { target, plus, factor: narrow(*factor), terms }.run_on(simd);
    }

    /// Compute each element of a vector from its row and the element of another vector.
    fn map(&mut self, (from, out): (VectorId, VectorId), new: impl Fn(usize, T) -> T) {
        let (target, sources) = self.around(out);
        match sources.operand(from) {
            Operand::Target => target.iter_mut().enumerate().for_each(|(i, to)| *to = new(i, *to)),
            Operand::Other(from) => target.iter_mut().zip(from).enumerate().for_each(|(i, (to, v))| *to = new(i, *v)),
        }
    }
}
