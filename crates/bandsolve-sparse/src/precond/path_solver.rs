//! The tridiagonal systems of a forest's paths, eliminated path by path, for smoothers.
//!
//! Factors are computed in the number type of the matrix and kept in that of the smoother, which may have half the digits: the product of
//! rounded factors of a definite matrix is definite.

use super::strong_edges::LinkedForest;
use crate::csr::{Csr, cast};
use crate::factor::NONE;
use crate::forest::Forest;
use crate::krylov::{buffer, stack};
use crate::rows::Ragged;
use bandsolve::dyn_stack::{PodStack, StackReq};
use bandsolve::{AnyFactor, Error, Factor, Op, Plan, RealScalar, Result, Scalar, Tridiagonal};
use bandsolve_kernel::memory::zeros;
use bandsolve_kernel::permutation::Permutation;
use bandsolve_kernel::spread::{RowsOf, each_chunk};

/// M⁻¹ with M = Pᵀ·T·P, where P brings the paths of a forest one after the other and T is tridiagonal.
#[derive(Debug)]
pub(super) struct PathSolver<S: Scalar> {
    permutation: Permutation,
    factors: PathSystem<S>,
    growth: f64,
}

#[derive(Debug)]
enum PathSystem<S: Scalar> {
    Plain(PathElimination<S>),
    /// Where elimination needs exchanges.
    Pivoted(AnyFactor<'static, S>),
}

impl<S: Scalar> PathSolver<S> {
    /// With the diagonal and the coupled entries of a matrix.
    ///
    /// # Errors
    /// As [`ForestSolver::new`](super::ForestSolver::new).
    pub fn new<T: Scalar>(a: &Csr<'_, T, u32>, linked: LinkedForest) -> Result<Self> {
        let rows = tridiagonal_rows(a, &linked)?;
        let forest = linked.forest;
        let factors = match PathElimination::new(&rows, &forest) {
            Some(plain) => PathSystem::Plain(plain),
            None => {
                let whole = forest.tridiagonal(a)?;
                let [sub, diag, sup] = whole.arrays().map(|band| band.iter().map(|v| cast(*v)).collect());
                let tridiagonal = Tridiagonal::from_vecs(sub, diag, sup, false)?;
                PathSystem::Pivoted(Plan::new(tridiagonal.shape()).verify(false).factor_owned(tridiagonal)?)
            }
        };
        let mut x: Vec<S> = rows.iter().map(|[_, diag, _]| cast(*diag)).collect();
        factors.solve(&mut x, stack(&mut buffer(factors.scratch())?))?;
        let growth = x.iter().fold(0.0, |most, x| f64::max(most, Scalar::abs1(*x).to_f64()));
        Ok(Self { permutation: forest.into_permutation(), factors, growth })
    }

    /// About ‖(D⁻¹·T)⁻¹‖, where D is the diagonal of T: the largest modulus of x with T·x = D·1.
    pub fn growth(&self) -> f64 {
        self.growth
    }

    /// Scratch of what follows.
    pub fn scratch(&self) -> StackReq {
        StackReq::new::<S>(self.permutation.len()).and(self.factors.scratch())
    }

    /// x = M⁻¹·rhs.
    pub fn apply(&self, rhs: &[S], x: &mut [S], stack: &mut PodStack) -> Result<()> {
        let (step, stack) = stack.make_raw::<S>(x.len());
        self.solve(&|v| rhs[v], step, stack)?;
        let step = &*step;
        self.permutation.gather(x, &|_, _, place| step[place]);
        Ok(())
    }

    /// x ← x + M⁻¹·(rhs − A·x).
    pub fn sweep<T: Scalar>(&self, a: &Csr<'_, T, u32>, rhs: &[T], x: &mut [T], stack: &mut PodStack) -> Result<()> {
        let (step, stack) = stack.make_raw::<S>(x.len());
        let before = &*x;
        self.solve(&|v| cast(rhs[v] - a.row_times(v, before)), step, stack)?;
        let step = &*step;
        self.permutation.gather(x, &|_, x, place| x + cast(step[place]));
        Ok(())
    }

    /// x ← x + M⁻¹·r.
    pub fn correct(&self, r: &[S], x: &mut [S], stack: &mut PodStack) -> Result<()> {
        let (step, stack) = stack.make_raw::<S>(x.len());
        self.solve(&|v| r[v], step, stack)?;
        let step = &*step;
        self.permutation.gather(x, &|_, x, place| x + step[place]);
        Ok(())
    }

    /// Solves for the right-hand side whose element of vertex v is `rhs(v)`; x stands in the order of the forest.
    fn solve(&self, rhs: &(impl Fn(usize) -> S + Sync), x: &mut [S], stack: &mut PodStack) -> Result<()> {
        self.permutation.scatter(x, rhs);
        self.factors.solve(x, stack)
    }
}

impl<S: Scalar> PathSystem<S> {
    fn scratch(&self) -> StackReq {
        match self {
            Self::Plain(_) => StackReq::EMPTY,
            Self::Pivoted(factor) => factor.solve_in_place_scratch(1),
        }
    }

    /// Replaces the right-hand side by the solution.
    fn solve(&self, x: &mut [S], stack: &mut PodStack) -> Result<()> {
        match self {
            Self::Plain(factor) => factor.solve(x),
            Self::Pivoted(factor) => factor.solve_in_place_with(Op::Plain, x, stack).map(|_| ())?,
        }
        Ok(())
    }
}

/// T = L·D·U by elimination without exchanges: yᵢ = rᵢ − lᵢ·yᵢ₋₁, then xᵢ = yᵢ/pᵢ − uᵢ·xᵢ₊₁. Some paths are solved side by side.
#[derive(Debug)]
struct PathElimination<S> {
    /// lᵢ; 0 where a path begins.
    lower: Vec<S>,
    /// 1/pᵢ
    inverse: Vec<S>,
    /// uᵢ; 0 where a path ends.
    upper: Vec<S>,
    /// Where parts begin, and the number of rows.
    parts: Vec<usize>,
    /// Where pieces of [`SIDE`] parts begin, and the number of rows.
    pieces: Vec<usize>,
}

/// Parts of a piece, solved side by side: each waits for its own last row.
const SIDE: usize = 4;
/// Rows of a part, at least and at most, if paths are short.
const LEAST: usize = 64;
const MOST: usize = 1 << 12;
/// Rows of one task.
const TASK: usize = 1 << 13;
/// A pivot must have so much of what it is the difference of; else rows have to be exchanged.
const GROWTH: f64 = 1e-4;

impl<S: Scalar> PathElimination<S> {
    /// `None` where a pivot is too small, or one part would be as long as many.
    fn new<T: Scalar>(rows: &[[T; 3]], forest: &Forest) -> Option<Self> {
        let n = rows.len();
        let part = (n / 64).clamp(LEAST, MOST);
        let mut parts = vec![0];
        while parts[parts.len() - 1] < n {
            let mut cut = parts[parts.len() - 1] + part;
            while cut < n && !forest.begins(cut) {
                cut += 1;
            }
            parts.push(cut.min(n));
        }
        let longest = parts.windows(2).map(|part| part[1] - part[0]).max().unwrap_or(0);
        if longest > (n / 8).max(TASK) {
            return None;
        }
        parts.resize((parts.len() - 1).next_multiple_of(SIDE) + 1, n);
        let pieces = parts.iter().step_by(SIDE).copied().collect();
        let mut own = Self { lower: zeros(n)?, inverse: zeros(n)?, upper: zeros(n)?, parts, pieces };
        own.eliminate(rows).then_some(own)
    }

    /// Whether all pivots are large enough.
    fn eliminate<T: Scalar>(&mut self, rows: &[[T; 3]]) -> bool {
        let starts = &self.parts;
        let mut stable = vec![false; starts.len() - 1];
        let bands = [&mut self.lower, &mut self.inverse, &mut self.upper];
        let [lower, inverse, upper] = bands.map(|values| Ragged { values, starts });
        let least = tasks_of(rows.len(), stable.len());
        let out = ((lower, inverse, upper), RowsOf(&mut stable, 1));
        each_chunk((starts.len() - 1, least), out, &|part, ((lower, inverse, upper), stable)| {
            let rows = &rows[starts[part]..starts[part + 1]];
            stable.0[0] = eliminate_part(rows, (lower.values, inverse.values, upper.values));
        });
        stable.iter().all(|stable| *stable)
    }

    /// Replaces the right-hand side by the solution.
    fn solve(&self, x: &mut [S]) {
        let count = self.pieces.len() - 1;
        let out = Ragged { values: &mut *x, starts: &self.pieces };
        each_chunk((count, tasks_of(self.lower.len(), count)), out, &|piece, out| {
            let cuts = &self.parts[piece * SIDE..=(piece + 1) * SIDE];
            let [mut x, mut rest]: [&mut [S]; 2] = [&mut [], out.values];
            let x: [&mut [S]; SIDE] = core::array::from_fn(|k| {
                (x, rest) = core::mem::take(&mut rest).split_at_mut(cuts[k + 1] - cuts[k]);
                core::mem::take(&mut x)
            });
            let own = [0, 1, 2, 3].map(|k| cuts[k]..cuts[k + 1]);
            substitute_parts(
                x,
                own.map(|rows| [&self.lower[rows.clone()], &self.inverse[rows.clone()], &self.upper[rows]]),
            );
        });
    }
}

/// The coupled entries of each row, in the order of the forest.
fn tridiagonal_rows<T: Scalar>(a: &Csr<'_, T, u32>, linked: &LinkedForest) -> Result<Vec<[T; 3]>> {
    let (n, permutation) = (a.rows(), linked.forest.permutation());
    let places = permutation.places();
    let mut rows = zeros(n).ok_or(Error::OutOfMemory { bytes: n.saturating_mul(size_of::<[T; 3]>()) })?;
    permutation.scatter(&mut rows, &|v| {
        let [mut first, mut diag, mut second] = [T::ZERO; 3];
        let [one, other] = linked.partners[v];
        for (u, value) in a.row(v) {
            let u = u as u32;
            if u as usize == v {
                diag = value;
            } else if u == one {
                first = value;
            } else if u == other {
                second = value;
            }
        }
        let before = |u: u32| u != NONE && places[u as usize] < places[v];
        if before(one) || (other != NONE && !before(other)) { [first, diag, second] } else { [second, diag, first] }
    });
    Ok(rows)
}

/// Parts of a task of [`TASK`] rows.
fn tasks_of(rows: usize, parts: usize) -> usize {
    TASK.div_ceil((rows / parts.max(1)).max(1))
}

/// L, D and U of some paths; whether every pivot is large enough, and can be written.
fn eliminate_part<T: Scalar, S: Scalar>(
    rows: &[[T; 3]],
    (lower, inverse, upper): (&mut [S], &mut [S], &mut [S]),
) -> bool {
    let (mut factor, mut coupling, mut stable) = (T::ZERO, T::ZERO, true);
    for (k, [sub, diag, sup]) in rows.iter().enumerate() {
        // The factor of the row before is the inverse of its pivot.
        let l = *sub * factor;
        let taken = l * coupling;
        let pivot = *diag - taken;
        let size = Scalar::abs1(*diag).to_f64() + Scalar::abs1(taken).to_f64();
        factor = T::ONE / pivot;
        coupling = *sup;
        (lower[k], inverse[k], upper[k]) = (cast(l), cast(factor), cast(factor * *sup));
        let finite = lower[k].is_finite() && inverse[k].is_finite() && upper[k].is_finite();
        stable &= Scalar::abs1(pivot).to_f64() > GROWTH * size && finite;
    }
    stable
}

/// Right-hand sides of parts become solutions, by L, D and U of each.
fn substitute_parts<S: Scalar>(x: [&mut [S]; SIDE], factors: [[&[S]; 3]; SIDE]) {
    let common = x.iter().map(|x| x.len()).min().unwrap_or(0);
    let [x0, x1, x2, x3] = x;
    let [f0, f1, f2, f3] = factors;
    let mut y = [S::ZERO; SIDE];
    {
        let (x0, x1, x2, x3) = (&mut x0[..common], &mut x1[..common], &mut x2[..common], &mut x3[..common]);
        let (l0, l1, l2, l3) = (&f0[0][..common], &f1[0][..common], &f2[0][..common], &f3[0][..common]);
        for i in 0..common {
            y = [x0[i] - l0[i] * y[0], x1[i] - l1[i] * y[1], x2[i] - l2[i] * y[2], x3[i] - l3[i] * y[3]];
            (x0[i], x1[i], x2[i], x3[i]) = (y[0], y[1], y[2], y[3]);
        }
    }
    let x = [x0, x1, x2, x3];
    let factors = [f0, f1, f2, f3];
    for k in 0..SIDE {
        for (x, l) in x[k][common..].iter_mut().zip(&factors[k][0][common..]) {
            y[k] = *x - *l * y[k];
            *x = y[k];
        }
    }
    back_substitute(x, factors, common);
}

/// The second half: from the last rows to the first.
fn back_substitute<S: Scalar>(x: [&mut [S]; SIDE], factors: [[&[S]; 3]; SIDE], common: usize) {
    let mut y = [S::ZERO; SIDE];
    let [x0, x1, x2, x3] = x;
    let [f0, f1, f2, f3] = factors;
    {
        let last = |part: &[S]| part.len() - common;
        let [s0, s1, s2, s3] = [last(x0), last(x1), last(x2), last(x3)];
        let (x0, x1) = (&mut x0[s0..][..common], &mut x1[s1..][..common]);
        let (x2, x3) = (&mut x2[s2..][..common], &mut x3[s3..][..common]);
        let (d0, d1) = (&f0[1][s0..][..common], &f1[1][s1..][..common]);
        let (d2, d3) = (&f2[1][s2..][..common], &f3[1][s3..][..common]);
        let (u0, u1) = (&f0[2][s0..][..common], &f1[2][s1..][..common]);
        let (u2, u3) = (&f2[2][s2..][..common], &f3[2][s3..][..common]);
        for i in (0..common).rev() {
            y = [
                x0[i] * d0[i] - u0[i] * y[0],
                x1[i] * d1[i] - u1[i] * y[1],
                x2[i] * d2[i] - u2[i] * y[2],
                x3[i] * d3[i] - u3[i] * y[3],
            ];
            (x0[i], x1[i], x2[i], x3[i]) = (y[0], y[1], y[2], y[3]);
        }
    }
    let x = [x0, x1, x2, x3];
    for (k, (x, [_, inverse, upper])) in x.into_iter().zip([f0, f1, f2, f3]).enumerate() {
        let rest = x.len() - common;
        for ((x, d), u) in x[..rest].iter_mut().zip(&inverse[..rest]).zip(&upper[..rest]).rev() {
            y[k] = *x * *d - *u * y[k];
            *x = y[k];
        }
    }
}
