//! Systems and eigenvalue problems whose vectors are on a device, as Krylov methods see them.

use crate::device::{Device, DeviceScalar, DeviceSlice, DeviceSliceMut};
use crate::operator::DeviceOperator;
use crate::vectors::DeviceVectors;
use bandsolve::dyn_stack::{PodBuffer, PodStack};
use bandsolve::vectors::{LinearCombination, Operator, Reducer, VectorId, Vectors, narrow, times, widen};
use bandsolve::{Alone, Complex64, Error, RealScalar, Result};
use bandsolve_kernel::view::View;

const ONE: Complex64 = Complex64::ONE;

/// The numbers of the right-hand side and of the solution, and of the first work vector.
const RHS: usize = 0;
const SOLUTION: usize = 1;
const OTHERS: usize = 2;

fn number(id: VectorId) -> usize {
    match id {
        VectorId::Rhs => RHS,
        VectorId::Solution => SOLUTION,
        VectorId::Work(k) => OTHERS + k,
    }
}

/// A system whose vectors are on a device.
///
/// After an error of the device, inner products are NaN, so that a method ends, and operators return the error.
pub(crate) struct SystemOnDevice<'a, T: DeviceScalar> {
    operators: DeviceOperators<'a, T>,
    vectors: DeviceVectors<T>,
    error: Option<Error>,
}

/// The operators of a system or of an eigenvalue problem.
#[derive(Clone, Copy)]
pub(crate) struct DeviceOperators<'a, T: DeviceScalar> {
    pub a: &'a dyn DeviceOperator<T>,
    pub b: Option<&'a dyn DeviceOperator<T>>,
    pub m: Option<&'a dyn DeviceOperator<T>>,
}

impl<'a, T: DeviceScalar> SystemOnDevice<'a, T> {
    /// Allocate this number of work vectors.
    pub fn new(device: &Device, operators: DeviceOperators<'a, T>, work: usize) -> Result<Self> {
        Ok(Self { operators, vectors: DeviceVectors::new(device, operators.a.rows(), OTHERS + work)?, error: None })
    }

    /// The elements of a vector.
    pub fn vector(&self, id: VectorId) -> DeviceSlice<'_, T> {
        self.vectors.vector(number(id))
    }

    /// The elements of a vector, to be written.
    pub fn vector_mut(&mut self, id: VectorId) -> DeviceSliceMut<'_, T> {
        self.vectors.vector_mut(number(id))
    }

    /// The result of a method. If an operation on the device failed, this error is the cause of what the method saw.
    pub fn result_of<R>(&self, result: Result<R>) -> Result<R> {
        self.error.clone().map_or(result, Err)
    }

    /// Keep the first error.
    fn note(&mut self, result: Result<()>) {
        if let Err(error) = result {
            self.error.get_or_insert(error);
        }
    }

    /// Compute one combination and inner products of its result, in one launch where this is possible.
    fn combine_one(
        &mut self,
        combination: &LinearCombination<'_>,
        products: &[(usize, usize)],
        sums: &mut [Complex64],
    ) -> Result<()> {
        let LinearCombination { out, plus, factor, terms } = *combination;
        let (out, mut all, mut count) = (number(out), [(ONE, 0); DeviceVectors::<f64>::MAX_TERMS], terms.len());
        all[..count].iter_mut().zip(terms).for_each(|(to, (c, v))| *to = (*c, number(*v)));
        if factor != ONE {
            assert!(plus.map(number) != Some(out), "`plus` is overwritten before it is added");
            self.vectors.combine(out, &all[..count], &[], &mut [])?;
            (all[0], count) = ((factor, out), 1);
        }
        if let Some(plus) = plus {
            all[count] = (ONE, number(plus));
            count += 1;
        }
        if count == 0 {
            self.vectors.vector_mut(out).clear()?;
        }
        self.vectors.combine(out, &all[..count], products, sums)
    }

    fn try_combine(
        &mut self,
        combinations: &[LinearCombination<'_>],
        products: &[(VectorId, VectorId)],
        sums: &mut [Complex64],
    ) -> Result<()> {
        let mut pairs = [(0, 0); DeviceVectors::<f64>::MAX_DOTS];
        let pairs = &mut pairs[..products.len()];
        pairs.iter_mut().zip(products).for_each(|(to, (a, b))| *to = (number(*a), number(*b)));
        match combinations {
            [] => self.vectors.combine(0, &[], pairs, sums),
            [before @ .., last] => {
                before.iter().try_for_each(|combination| self.combine_one(combination, &[], &mut []))?;
                self.combine_one(last, pairs, sums)
            }
        }
    }

    /// Replace a vector by new elements that the host computes from those of another vector.
    fn on_host(&mut self, (from, to): (usize, usize), new: impl Fn(usize, T) -> T) -> Result<()> {
        let mut elements = self.vectors.vector(from).download()?;
        elements.iter_mut().enumerate().for_each(|(i, v)| *v = new(i, *v));
        self.vectors.vector_mut(to).write(&elements)
    }
}

impl<T: DeviceScalar> Vectors for SystemOnDevice<'_, T> {
    fn epsilon(&self) -> f64 {
        T::Real::EPSILON.to_f64()
    }

    fn rows_before(&self) -> usize {
        0
    }

    fn sum(&self, _: &mut [f64]) {}

    fn apply(&mut self, operator: Operator, x: VectorId, y: VectorId) -> Result<()> {
        self.error.clone().map_or(Ok(()), Err)?;
        let DeviceOperators { a, b, m } = self.operators;
        let m = || m.expect("methods apply a preconditioner only if there is one");
        let (x, y) = self.vectors.pair(number(x), number(y));
        match operator {
            Operator::Matrix => a.apply(x, y),
            Operator::Mass => b.expect("methods apply B only if there is one").apply(x, y),
            Operator::Preconditioner => m().apply(x, y),
            Operator::Step(step) => m().apply_step(step, x, y),
        }
    }

    fn residual(&mut self, x: VectorId, rhs: VectorId, r: VectorId) -> Result<()> {
        self.apply(Operator::Matrix, x, r)?;
        self.combine(&[LinearCombination::of(r, &[(-ONE, r), (ONE, rhs)])], &[], &mut []);
        Ok(())
    }

    fn accurate_residual(&mut self, x: VectorId, rhs: VectorId, r: VectorId) -> Result<Option<f64>> {
        self.error.clone().map_or(Ok(()), Err)?;
        let a = self.operators.a;
        let ([x, rhs], r) = self.vectors.triple([x, rhs].map(number), number(r));
        a.accurate_residual(x, rhs, r)
    }

    fn combine(
        &mut self,
        combinations: &[LinearCombination<'_>],
        products: &[(VectorId, VectorId)],
        sums: &mut [Complex64],
    ) {
        let result = self.try_combine(combinations, products, sums);
        if result.is_err() {
            sums.fill(Complex64::new(f64::NAN, f64::NAN));
        }
        self.note(result);
    }

    fn orthogonalize(
        &mut self,
        [basis, dual]: [usize; 2],
        w: VectorId,
        h: &mut [Complex64],
        again: &mut [Complex64],
    ) -> f64 {
        let bases = [OTHERS + basis, OTHERS + dual];
        match self.vectors.orthogonalize(bases, number(w), h, again) {
            Ok(squared) => {
                h.iter_mut().zip(&*again).for_each(|(h, again)| *h += *again);
                self.root(squared, w)
            }
            Err(error) => {
                self.note(Err(error));
                f64::NAN
            }
        }
    }

    fn rotate(&mut self, basis: usize, q: View<'_, Complex64>) {
        let result = self.vectors.rotate(OTHERS + basis, q);
        self.note(result);
    }

    fn subtract_combination(&mut self, y: VectorId, basis: usize, c: &[Complex64]) {
        let result = self.vectors.subtract_combination(number(y), OTHERS + basis, c);
        self.note(result);
    }

    fn root(&mut self, squared: f64, v: VectorId) -> f64 {
        if (1e-200..1e200).contains(&squared) {
            return squared.sqrt();
        }
        let elements = match self.vectors.vector(number(v)).download() {
            Ok(elements) => elements,
            Err(error) => {
                self.note(Err(error));
                return f64::NAN;
            }
        };
        let mut memory = PodBuffer::new(Reducer::scratch(elements.len(), 1));
        Reducer::new(&Alone, elements.len(), 1, PodStack::new(&mut memory)).0.root(squared, &elements)
    }

    fn scale(&mut self, from: VectorId, to: VectorId, by: f64) {
        let (from, to, factor) = (number(from), number(to), narrow::<T>(by.into()));
        // A factor beyond the range of the number type, by which the device cannot multiply, can have a product in the range.
        let result = if widen(factor) == Complex64::from(by) {
            self.vectors.combine(to, &[(by.into(), from)], &[], &mut [])
        } else {
            self.on_host((from, to), |_, v| times(v, by))
        };
        self.note(result);
    }

    fn set(&mut self, v: VectorId, times: Option<VectorId>, value: &(dyn Fn(usize) -> Complex64 + Sync)) {
        let to = number(v);
        let value = |i| narrow::<T>(value(i));
        let result = match times {
            Some(times) => self.on_host((number(times), to), |i, v| value(i) * v),
            None => self.on_host((to, to), |i, _| value(i)),
        };
        self.note(result);
    }

    fn read(&mut self, v: VectorId, to: &mut dyn FnMut(&[u8])) {
        match self.vectors.vector(number(v)).download() {
            Ok(elements) => to(bytemuck::cast_slice(&elements)),
            Err(error) => self.note(Err(error)),
        }
    }

    fn elements(&mut self, v: VectorId, to: &mut [Complex64]) {
        match self.vectors.vector(number(v)).download() {
            Ok(elements) => to.iter_mut().zip(elements).for_each(|(to, v)| *to = widen(v)),
            Err(error) => self.note(Err(error)),
        }
    }
}
