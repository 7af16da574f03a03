//! The tridiagonal matrix along the last axis.

use super::shifted::LineRows;
use bandsolve_kernel::RealScalar;

/// Rows −sub_k, sub_k + sup_k + gap_k, −sup_k of a tridiagonal matrix, all three given.
#[derive(Debug, Clone)]
pub(crate) struct Line<R> {
    pub sub: Vec<R>,
    pub sup: Vec<R>,
    pub gap: Vec<R>,
    pub uniform: bool,
}

impl<R: RealScalar> Line<R> {
    /// From rows in double precision.
    pub fn new(sub: &[f64], sup: &[f64], gap: &[f64]) -> Self {
        let of = |v: &[f64]| v.iter().map(|v| R::from_f64(*v)).collect::<Vec<R>>();
        let same = |v: &[f64]| v.windows(2).all(|pair| pair[0] == pair[1]);
        let uniform = same(sub) && same(sup) && same(gap) && sub.first() == sup.first() && sub.first() > Some(&0.0);
        Self { sub: of(sub), sup: of(sup), gap: of(gap), uniform }
    }

    pub fn n(&self) -> usize {
        self.gap.len()
    }

    pub fn rows(&self) -> LineRows<'_, R> {
        LineRows { sub: &self.sub, sup: &self.sup, gap: &self.gap, uniform: self.uniform }
    }
}
