//! The Krylov decomposition: a basis V, orthonormal in the inner product of the problem, and H.

use super::limits::Dimensions;
use super::vectors::{FIRST, IMAGE, SPARE, START, SearchVectors};
use crate::projected::{ProjectedMatrix, ZERO};
use crate::random::unit;
use crate::solver::SearchSettings;
use bandsolve::memory::{allocate, zeroed};
use bandsolve::vectors::{LinearCombination, Operator, VectorId, agree_on};
use bandsolve::{Communicator, Complex64, Error, Result};
use core::mem;

/// The array name in the error for a product with the operator that is not finite.
pub(crate) const PRODUCT: &str = "(A x)";

/// The Krylov decomposition OP·V = V·H + β·v·eᵀ. V has `filled` vectors, and v follows them.
pub(super) struct KrylovBasis<'s, 'v> {
    pub vectors: &'s mut SearchVectors<'v>,
    communicator: &'s dyn Communicator,
    /// Whether the inner product is xᴴ·B·y.
    weighted: bool,
    /// Whether the number type is real.
    real: bool,
    epsilon: f64,
    /// The number of rows on the previous processes.
    first: usize,
    /// The first of the vectors B·V, if the inner product is weighted.
    products: usize,
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
}

impl<'s, 'v> KrylovBasis<'s, 'v> {
    pub fn new(
        vectors: &'s mut SearchVectors<'v>,
        weighted: bool,
        dimensions: Dimensions,
        settings: &SearchSettings<'s>,
    ) -> Result<Self> {
        let (first, exhausted) = (vectors.of.rows_before(), vectors.total == 0);
        let mut basis = Self {
            vectors,
            communicator: settings.communicator,
            weighted,
            real: settings.real,
            epsilon: settings.epsilon,
            first,
            products: FIRST + dimensions.most + 1,
            coefficients: Vec::new(),
            again: Vec::new(),
            // This matrix has no entries, so the allocation cannot fail on one process only.
            h: ProjectedMatrix::zeros(0, 0)?,
            beta: 0.0,
            growth: 0.0,
            filled: 0,
            exhausted,
            solves: 0,
            seed: settings.seed,
        };
        basis.grow(dimensions.first)?;
        Ok(basis)
    }

    /// Make room for the coefficients of this number of vectors. Sets H to zero, and returns the previous H.
    pub fn grow(&mut self, capacity: usize) -> Result<ProjectedMatrix> {
        let larger = || {
            let small = [allocate(capacity + 1, ZERO)?, allocate(capacity + 1, ZERO)?];
            Ok((small, ProjectedMatrix::zeros(capacity, capacity)?))
        };
        let ([coefficients, again], h) = self.agree_on(larger())?;
        (self.coefficients, self.again) = (coefficients, again);
        Ok(mem::replace(&mut self.h, h))
    }

    /// The basis vector with index k.
    pub fn vector(&self, k: usize) -> VectorId {
        VectorId::Work(FIRST + k)
    }

    /// B times the basis vector with index k.
    fn product(&self, k: usize) -> VectorId {
        VectorId::Work(self.products + k)
    }

    /// Call [`agree_on`] for the processes of the search.
    pub fn agree_on<V>(&self, result: Result<V>) -> Result<V> {
        agree_on(self.communicator, result)
    }

    /// Store the start vector at a place, orthogonal to the vectors before. Without a start vector, or if its new component is zero, store a
    /// random vector.
    pub fn begin(&mut self, at: usize, has_start: bool) -> Result<()> {
        if has_start {
            self.vectors.of.copy(START, self.vector(at));
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
        let (w, first, total) = (self.vector(at), self.first, self.vectors.total);
        for _ in 0..4 {
            if at >= total {
                break;
            }
            self.seed = self.seed.wrapping_add(0x1234_5678_9abc_def1);
            let seed = self.seed;
            self.vectors.of.set(w, None, &|i| {
                let i = first + i;
                let random = Complex64::new(unit(seed, 2 * i as u64), unit(seed, 2 * i as u64 + 1));
                if smooth { 1.0 + i as f64 / total as f64 + 0.2 * random } else { random }
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
            let bv = self.weighted.then(|| self.product(j));
            self.vectors.transform(self.vector(j), bv, self.vector(j + 1))?;
            self.solves += 1;
            let norm = self.orthogonalize(j + 1)?;
            let column = &self.coefficients[..=j];
            let whole = column.iter().map(Complex64::norm_sqr).sum::<f64>().sqrt().hypot(norm);
            if !whole.is_finite() {
                return Err(Error::NotFinite { array: PRODUCT, index: 0 });
            }
            self.h.column_mut(j)[..=j].copy_from_slice(column);
            self.filled = j + 1;
            if norm <= 8.0 * self.epsilon * whole || j + 1 == self.vectors.total {
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
        let room = q.and_then(|q| Ok((q, ProjectedMatrix::zeros(self.h.rows(), self.h.columns())?)));
        let (q, h) = self.agree_on(room)?;
        let (old, new) = (q.rows(), q.columns());
        for basis in [Some(FIRST), self.weighted.then_some(self.products)].into_iter().flatten() {
            self.vectors.of.rotate(basis + from, q.view());
            if new < old {
                self.vectors.of.copy(VectorId::Work(basis + from + old), VectorId::Work(basis + from + new));
            }
        }
        self.filled = from + new;
        Ok([q, mem::replace(&mut self.h, h)])
    }

    /// Compute V·y with the first vectors.
    pub fn combination(&mut self, y: &[Complex64]) -> Result<Vec<Complex64>> {
        let n = self.vectors.rows;
        let room = || Ok((zeroed(n)?, zeroed(n)?, allocate(y.len(), ZERO)?));
        let (mut x, mut part, mut minus): (Vec<Complex64>, Vec<Complex64>, Vec<Complex64>) = self.agree_on(room())?;
        // In real arithmetic, combine the real and the imaginary part separately.
        let parts: &[Complex64] = if self.real { &[Complex64::ONE, Complex64::I] } else { &[Complex64::ONE] };
        for unit in parts {
            let negative = |y: &Complex64| if self.real { -(y * unit.conj()) } else { -y };
            minus.iter_mut().zip(y).for_each(|(minus, y)| *minus = negative(y));
            self.vectors.compute(SPARE, &[]);
            self.vectors.of.subtract_combination(SPARE, FIRST, &minus);
            self.vectors.of.elements(SPARE, &mut part);
            x.iter_mut().zip(&part).for_each(|(x, part)| *x += unit * part);
        }
        Ok(x)
    }

    /// Orthogonalize vector `at` against the vectors before, by classical Gram–Schmidt with one repetition.
    ///
    /// Stores the coefficients in `coefficients`, and returns the norm of the result.
    fn orthogonalize(&mut self, at: usize) -> Result<f64> {
        let (w, dual) = (self.vector(at), if self.weighted { self.products } else { FIRST });
        let (h, again) = (&mut self.coefficients[..at], &mut self.again[..at]);
        let norm = self.vectors.of.orthogonalize([FIRST, dual], w, h, again);
        if self.weighted { self.norm_of(at) } else { Ok(norm) }
    }

    /// Compute the norm of vector `at`. With B, also store B times the vector.
    fn norm_of(&mut self, at: usize) -> Result<f64> {
        let (w, bw) = (self.vector(at), self.product(at));
        if !self.weighted {
            return Ok(self.vectors.of.norm(w));
        }
        self.vectors.apply(Operator::Mass, w, bw)?;
        let square = self.vectors.of.dot(w, bw).re;
        // If B is positive definite, rounding errors can make the product negative by at most this number.
        let rounding = 1e3 * self.epsilon * self.vectors.of.norm(w) * self.vectors.of.norm(bw);
        if square < -rounding {
            return Err(Error::NotDefinite { row: self.first + self.least(w, bw)? });
        }
        Ok(if square.is_nan() { square } else { square.max(0.0).sqrt() })
    }

    /// The row with the smallest term of xᴴ·y.
    fn least(&mut self, x: VectorId, y: VectorId) -> Result<usize> {
        let n = self.vectors.rows;
        let (mut of_x, mut of_y): (Vec<Complex64>, Vec<Complex64>) =
            self.agree_on(zeroed(n).and_then(|of_x| Ok((of_x, zeroed(n)?))))?;
        self.vectors.of.elements(x, &mut of_x);
        self.vectors.of.elements(y, &mut of_y);
        let terms = of_x.iter().zip(&of_y).map(|(x, y)| (x.conj() * y).re);
        Ok(terms.enumerate().min_by(|(_, one), (_, other)| one.total_cmp(other)).map_or(0, |(row, _)| row))
    }

    /// Compute ‖A·x‖₂ and ‖x‖₂ for a random vector x of norm 1 in the inner product, orthogonal to the basis. Without such a vector, zeros.
    pub fn norms_of_product(&mut self) -> Result<[f64; 2]> {
        let at = self.filled;
        if self.exhausted {
            return Ok([0.0; 2]);
        }
        self.draw(at)?;
        let x = self.vector(at);
        self.vectors.apply(Operator::Matrix, x, IMAGE)?;
        Ok([IMAGE, x].map(|v| self.vectors.of.norm(v)))
    }

    fn scale(&mut self, at: usize, by: f64) {
        let [w, bw] = [self.vector(at), self.product(at)].map(|v| (v, [(Complex64::from(by), v)]));
        let both = [LinearCombination::of(w.0, &w.1), LinearCombination::of(bw.0, &bw.1)];
        self.vectors.of.combine(if self.weighted { &both } else { &both[..1] }, &[], &mut []);
    }
}
