//! The Krylov decomposition: a basis V, orthonormal in the inner product of the problem, and H.

use crate::problem::EigenProblem;
use crate::projected::{ProjectedMatrix, ZERO};
use crate::random::unit;
use bandsolve::dyn_stack::PodStack;
use bandsolve::memory::{allocate, zeroed};
use bandsolve::vectors::{PIECE, Reducer, dot, each_piece, narrow};
use bandsolve::{Complex64, Error, RealScalar, Result, Scalar};
use bandsolve_kernel::spread::RowsOf;
use core::mem;

/// The array name in the error for a product with the operator that is not finite.
pub(crate) const PRODUCT: &str = "(A x)";

/// How many vectors a basis can have.
pub(super) struct BasisSize {
    /// The number of rows on all processes, which is the largest number of independent vectors.
    pub total: usize,
    /// The number of vectors that are kept in memory.
    pub capacity: usize,
}

/// The Krylov decomposition OP·V = V·H + β·v·eᵀ. V has `filled` vectors, and v follows them in memory.
pub(super) struct KrylovBasis<'a, 's, T: Scalar> {
    problem: EigenProblem<'a, T>,
    /// Whether the inner product is xᴴ·B·y.
    weighted: bool,
    n: usize,
    /// The number of rows on the previous processes.
    first: usize,
    /// The number of rows on all processes, which is the largest number of independent vectors.
    total: usize,
    v: Vec<T>,
    /// B·V, if the inner product is weighted.
    bv: Vec<T>,
    spare: Vec<T>,
    coefficients: Vec<Complex64>,
    again: Vec<Complex64>,
    pub h: ProjectedMatrix,
    pub beta: f64,
    /// The sum of ln β over all steps since the caller last set it.
    pub growth: f64,
    pub filled: usize,
    /// Whether there is no vector v, because V spans the whole space.
    pub exhausted: bool,
    pub solves: usize,
    seed: u64,
    reducer: Reducer<'s>,
    stack: &'s mut PodStack,
}

impl<'a, 's, T: Scalar> KrylovBasis<'a, 's, T> {
    pub fn new(
        problem: EigenProblem<'a, T>,
        weighted: bool,
        BasisSize { total, capacity }: BasisSize,
        seed: u64,
        (reducer, stack): (Reducer<'s>, &'s mut PodStack),
    ) -> Result<Self> {
        let n = problem.a.rows();
        let spare = reducer.agree_on(zeroed(n))?;
        let mut basis = Self {
            problem,
            weighted,
            n,
            first: reducer.rows_before(),
            total,
            v: Vec::new(),
            bv: Vec::new(),
            spare,
            coefficients: Vec::new(),
            again: Vec::new(),
            // This matrix has no entries, so the allocation cannot fail on one process only.
            h: ProjectedMatrix::zeros(0, 0)?,
            beta: 0.0,
            growth: 0.0,
            filled: 0,
            exhausted: total == 0,
            solves: 0,
            seed,
            reducer,
            stack,
        };
        basis.grow(capacity)?;
        Ok(basis)
    }

    /// Allocate room for this number of vectors. Sets H to zero, and returns the previous H.
    pub fn grow(&mut self, capacity: usize) -> Result<ProjectedMatrix> {
        let len = self.n.saturating_mul(capacity + 1);
        let weighted = if self.weighted { len } else { 0 };
        let larger = || {
            let small = [allocate(capacity + 1, ZERO)?, allocate(capacity + 1, ZERO)?];
            Ok(([zeroed(len)?, zeroed(weighted)?], small, ProjectedMatrix::zeros(capacity, capacity)?))
        };
        let (larger, [coefficients, again], h): ([Vec<T>; 2], _, _) = self.reducer.agree_on(larger())?;
        for (array, mut larger) in [&mut self.v, &mut self.bv].into_iter().zip(larger) {
            larger[..array.len()].copy_from_slice(array);
            *array = larger;
        }
        (self.coefficients, self.again) = (coefficients, again);
        Ok(mem::replace(&mut self.h, h))
    }

    /// The basis vector with index k.
    pub fn vector(&self, k: usize) -> &[T] {
        &self.v[k * self.n..][..self.n]
    }

    /// Call [`Reducer::agree_on`].
    pub fn agree_on<V>(&self, result: Result<V>) -> Result<V> {
        self.reducer.agree_on(result)
    }

    /// The reducer for sums, and the scratch memory.
    pub fn tools(&mut self) -> (&mut Reducer<'s>, &mut PodStack) {
        (&mut self.reducer, self.stack)
    }

    /// Store the start vector at a place, orthogonal to the vectors before. Without a start vector, or if its new component is zero, store a
    /// random vector.
    pub fn begin(&mut self, at: usize, start: Option<&[T]>) -> Result<()> {
        if let Some(start) = start {
            self.v[at * self.n..][..self.n].copy_from_slice(start);
            let norm = self.orthogonalize(at)?;
            if norm > 0.0 {
                self.scale(at, 1.0 / norm);
                return Ok(());
            }
        }
        self.draw_around(at, true)
    }

    /// Store a random vector at a place, orthogonal to the vectors before. If none exists, set `exhausted`.
    pub fn draw(&mut self, at: usize) -> Result<()> {
        self.draw_around(at, false)
    }

    /// Do the same as [`draw`](Self::draw). If `smooth`, add a rising line, because eigenvectors at an end of the spectrum are often smooth.
    ///
    /// For the radiative transfer operator, the error after 16 vectors is a fifth of the error from random numbers alone.
    fn draw_around(&mut self, at: usize, smooth: bool) -> Result<()> {
        for _ in 0..4 {
            if at >= self.total {
                break;
            }
            self.seed = self.seed.wrapping_add(0x1234_5678_9abc_def1);
            let seed = self.seed;
            let (w, first, total) = (&mut self.v[at * self.n..][..self.n], self.first, self.total as f64);
            each_piece(self.n, RowsOf(&mut *w, PIECE), &|rows, w| {
                for (i, w) in rows.zip(w.0) {
                    let i = first + i;
                    let random = Complex64::new(unit(seed, 2 * i as u64), unit(seed, 2 * i as u64 + 1));
                    *w = narrow(if smooth { 1.0 + i as f64 / total + 0.2 * random } else { random });
                }
            });
            // Normalize first, so that the norm after orthogonalization shows how much is left.
            let norm = self.norm_of(at)?;
            self.scale(at, 1.0 / norm);
            let remaining = self.orthogonalize(at)?;
            if remaining > 1e-6 {
                self.scale(at, 1.0 / remaining);
                return Ok(());
            }
        }
        self.exhausted = true;
        Ok(())
    }

    /// Extend the decomposition from `from` to `to` vectors, with v at `from`.
    ///
    /// If the space is invariant, the next vector is random. A later call can continue from `to`.
    pub fn expand(&mut self, from: usize, to: usize) -> Result<()> {
        self.filled = from;
        for j in from..to {
            if self.exhausted {
                return Ok(());
            }
            bandsolve::interrupt::check()?;
            let n = self.n;
            let (known, next) = self.v.split_at_mut((j + 1) * n);
            let bv = self.weighted.then(|| &self.bv[j * n..][..n]);
            self.problem.transform((&known[j * n..], bv), &mut next[..n], &mut self.spare, self.stack)?;
            self.solves += 1;
            let norm = self.orthogonalize(j + 1)?;
            let column = &self.coefficients[..=j];
            let whole = column.iter().map(Complex64::norm_sqr).sum::<f64>().sqrt().hypot(norm);
            if !whole.is_finite() {
                return Err(Error::NotFinite { array: PRODUCT, index: 0 });
            }
            self.h.column_mut(j)[..=j].copy_from_slice(column);
            self.filled = j + 1;
            if norm <= 8.0 * T::Real::EPSILON.to_f64() * whole || j + 1 == self.total {
                // The space is invariant, or complete.
                self.beta = 0.0;
                self.draw(j + 1)?;
            } else {
                self.beta = norm;
                self.scale(j + 1, 1.0 / norm);
            }
            self.growth += self.beta.ln();
            if j + 1 < self.h.rows() {
                self.h[(j + 1, j)] = Complex64::from(self.beta);
            }
        }
        Ok(())
    }

    /// Replace the vectors from `from` on by their linear combinations with the columns of q. v moves behind them.
    ///
    /// Sets H to zero. Returns q and the previous H. If q is an error on one process, all processes return an error.
    pub fn compress(&mut self, from: usize, q: Result<ProjectedMatrix>) -> Result<[ProjectedMatrix; 2]> {
        let n = self.n;
        let room = q.and_then(|q| {
            let h = ProjectedMatrix::zeros(self.h.rows(), self.h.columns())?;
            Ok((zeroed(n * q.columns())?, allocate(q.rows(), ZERO)?, q, h))
        });
        let (mut combined, mut minus, q, h): (Vec<T>, Vec<Complex64>, _, _) = self.reducer.agree_on(room)?;
        let (old, new) = (q.rows(), q.columns());
        for array in [&mut self.v, &mut self.bv] {
            if array.is_empty() {
                continue;
            }
            let array = &mut array[from * n..];
            combined.fill(T::ZERO);
            for (j, vector) in combined.chunks_exact_mut(n.max(1)).enumerate() {
                minus.iter_mut().zip(q.column(j)).for_each(|(minus, q)| *minus = -q);
                self.reducer.subtract_combination(vector, (array, n), &minus);
            }
            array[..n * new].copy_from_slice(&combined);
            array.copy_within(n * old..n * (old + 1), n * new);
        }
        self.filled = from + new;
        Ok([q, mem::replace(&mut self.h, h)])
    }

    /// Compute V·y with the first vectors.
    pub fn combination(&mut self, y: &[Complex64]) -> Result<Vec<Complex64>> {
        let n = self.n;
        let room = || Ok((zeroed(n)?, zeroed(n)?, allocate(y.len(), ZERO)?));
        let (mut x, mut part, mut minus): (Vec<Complex64>, Vec<T>, Vec<Complex64>) = self.reducer.agree_on(room())?;
        // In real arithmetic, combine the real and the imaginary part separately.
        let parts: &[Complex64] = if T::COMPLEX { &[Complex64::ONE] } else { &[Complex64::ONE, Complex64::I] };
        for unit in parts {
            let negative = |y: &Complex64| if T::COMPLEX { -y } else { -(y * unit.conj()) };
            minus.iter_mut().zip(y).for_each(|(minus, y)| *minus = negative(y));
            part.fill(T::ZERO);
            self.reducer.subtract_combination(&mut part, (&self.v, n), &minus);
            x.iter_mut().zip(&part).for_each(|(x, part)| *x += unit * bandsolve::vectors::widen(*part));
        }
        Ok(x)
    }

    /// Orthogonalize vector `at` against the vectors before, by classical Gram–Schmidt with one repetition.
    ///
    /// Stores the coefficients in `coefficients`, and returns the norm of the result.
    fn orthogonalize(&mut self, at: usize) -> Result<f64> {
        let n = self.n;
        let (known, next) = self.v.split_at_mut(at * n);
        let (w, h, again) = (&mut next[..n], &mut self.coefficients[..at], &mut self.again[..at]);
        if !self.weighted {
            return Ok(self.reducer.orthogonalize((known, n), w, h, again));
        }
        for pass in [&mut *h, &mut *again] {
            let (bv, part) = (&self.bv, &*w);
            self.reducer.sums((), pass, &|rows, (), sums| {
                let products = sums.iter_mut().enumerate();
                products.for_each(|(k, sum)| *sum += dot(&bv[k * n..][rows.clone()], &part[rows.clone()]));
            });
            self.reducer.subtract_combination(w, (known, n), pass);
        }
        h.iter_mut().zip(&*again).for_each(|(h, again)| *h += *again);
        self.norm_of(at)
    }

    /// Compute the norm of vector `at`. With B, also store B times the vector.
    fn norm_of(&mut self, at: usize) -> Result<f64> {
        let w = &self.v[at * self.n..][..self.n];
        if !self.weighted {
            return Ok(self.reducer.norm(w));
        }
        let bw = &mut self.bv[at * self.n..][..self.n];
        self.problem.b.expect("a weighted inner product has a matrix B").apply(w, bw, self.stack)?;
        let square = self.reducer.dot(w, bw).re;
        // If B is positive definite, rounding errors can make the product negative by at most this number.
        let rounding = 1e3 * T::Real::EPSILON.to_f64() * self.reducer.norm(w) * self.reducer.norm(bw);
        if square < -rounding {
            return Err(Error::NotDefinite { row: self.first + least(w, bw) });
        }
        Ok(if square.is_nan() { square } else { square.max(0.0).sqrt() })
    }

    /// Compute ‖A·x‖₂ and ‖x‖₂ for a random vector x of norm 1 in the inner product, orthogonal to the basis. Without such a vector, zeros.
    pub fn norms_of_product(&mut self) -> Result<[f64; 2]> {
        let at = self.filled;
        if self.exhausted {
            return Ok([0.0; 2]);
        }
        self.draw(at)?;
        let x = &self.v[at * self.n..][..self.n];
        self.problem.a.apply(x, &mut self.spare, self.stack)?;
        Ok([self.reducer.norm(&self.spare), self.reducer.norm(x)])
    }

    fn scale(&mut self, at: usize, by: f64) {
        let by: T = narrow(Complex64::from(by));
        for array in [&mut self.v, &mut self.bv] {
            if let Some(w) = array.get_mut(at * self.n..(at + 1) * self.n) {
                each_piece(self.n, RowsOf(w, PIECE), &|_, w| w.0.iter_mut().for_each(|w| *w *= by));
            }
        }
    }
}

/// The row with the smallest term of xᴴ·y.
fn least<T: Scalar>(x: &[T], y: &[T]) -> usize {
    let parts = x.iter().zip(y).map(|(x, y)| (x.conj() * *y).re().to_f64());
    parts.enumerate().min_by(|(_, one), (_, other)| one.total_cmp(other)).map_or(0, |(row, _)| row)
}
