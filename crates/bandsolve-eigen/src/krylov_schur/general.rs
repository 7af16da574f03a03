//! General problems: Arnoldi's method, restarted with Schur vectors.

use super::basis::KrylovBasis;
use super::verify::{SearchMemory, Verified, check, verify};
use super::{Search, capacity, converged, kept};
use crate::problem::Which;
use crate::projected::{ProjectedMatrix, SchurForm, schur};
use crate::report::{EigenEnding, EigenReport, GeneralEigen};
use bandsolve::vectors::Reducer;
use bandsolve::{Complex64, Result, Scalar};

/// Ritz values of one restart, those wanted most first.
struct RitzValues {
    form: SchurForm,
    /// Their places in the Schur form, before it is ordered.
    order: Vec<usize>,
    /// Whether the value at this place of the order and the next are a conjugate pair.
    pair: Vec<bool>,
    /// Whether the matrix is real.
    real: bool,
}

/// Finds eigenvalues of any problem.
pub(super) fn find<T: Scalar>((solver, problem): Search<'_, T>) -> Result<GeneralEigen> {
    let total = check(&solver, &problem)?;
    // A pair that is not to be split needs one vector more.
    let capacity = (capacity(&solver, total) + usize::from(!T::COMPLEX && solver.ncv.is_none())).min(total);
    let mut memory = SearchMemory::new(&problem, capacity + 2)?;
    let (reducer, stack) = Reducer::new(solver.communicator, problem.a.rows(), capacity + 2, memory.stack());
    let mut basis = KrylovBasis::new(problem, false, (total, capacity), solver.seed, (reducer, stack))?;
    basis.begin(0, solver.start)?;
    let (mut restarts, mut from) = (0, 0);
    let target = solver.k.min(total);
    let (mut offsets, mut vectors) = (Vec::<Complex64>::new(), Vec::<Complex64>::new());
    let mut all = target == 0;
    while !all {
        basis.expand(from, capacity)?;
        let m = basis.filled;
        let s = basis.h.block(0, m);
        let ritz = RitzValues::of(&s, solver.which, !T::COMPLEX)?;
        let values = ritz.form.values();
        let largest = values.iter().map(|value| value.norm()).fold(0.0, f64::max);
        let y: Vec<Vec<Complex64>> = ritz.order.iter().map(|i| ritz.form.vector(*i)).collect();
        let pairs = ritz.order.iter().zip(&y).map(|(i, y)| (values[*i].norm(), basis.beta * y[m - 1].norm()));
        let found = converged(&solver, pairs, largest);
        all = found >= target || basis.exhausted;
        if all || restarts >= solver.max_restarts || m < 2 {
            for (k, y) in y.iter().enumerate().take(found.min(solver.k)) {
                if k > 0 && ritz.pair[k - 1] {
                    offsets.push(offsets[k - 1].conj());
                    let n = problem.a.rows();
                    let conjugate: Vec<Complex64> = vectors[(k - 1) * n..].iter().map(Complex64::conj).collect();
                    vectors.extend(conjugate);
                    continue;
                }
                offsets.push(problem.offset(ritz.value(k, largest)));
                vectors.extend(basis.combination(y)?);
            }
            break;
        }
        let (q, h) = ritz.restart_basis::<T>(&s, found);
        let (keep, beta) = (q.columns(), basis.beta);
        basis.compress(0, &q)?;
        for j in 0..keep {
            basis.h.column_mut(j)[..keep].copy_from_slice(h.column(j));
            basis.h[(keep, j)] = beta * q[(m - 1, j)];
        }
        restarts += 1;
        from = keep;
    }
    let solves = basis.solves;
    let checked = verify(&solver, &problem, (&offsets, &vectors), false, basis.tools())?;
    let Verified { values, residuals, norms, orthogonality, sound } = checked;
    let ending = EigenEnding::of(all, sound);
    let report =
        EigenReport { ending, wanted: solver.k, residuals, norms, orthogonality, restarts, solves, complete: None };
    Ok(GeneralEigen { values, offsets, vectors, report })
}

impl RitzValues {
    fn of(s: &ProjectedMatrix, which: Which, real: bool) -> Result<Self> {
        let form = schur(s.clone())?;
        let values = form.values();
        let wanted = which.order(&values, real, 0);
        if !real {
            let pair = vec![false; wanted.len()];
            return Ok(Self { form, order: wanted, pair, real });
        }
        let (mut order, mut pair, mut left) = (Vec::new(), Vec::new(), wanted);
        while !left.is_empty() {
            let i = left.remove(0);
            // The conjugate is another value, unless the value is nearer to its own conjugate than any other.
            let distance = |j: usize| (values[j] - values[i].conj()).norm();
            let other = (0..left.len()).min_by(|a, b| distance(left[*a]).total_cmp(&distance(left[*b])));
            let other = other.filter(|other| distance(left[*other]) < distance(i));
            order.push(i);
            pair.push(other.is_some());
            if let Some(other) = other {
                order.push(left.remove(other));
                pair.push(false);
            }
        }
        Ok(Self { form, order, pair, real })
    }

    /// The value at a place of the order; one that is real up to rounding, of a real matrix, as a real number.
    fn value(&self, k: usize, largest: f64) -> Complex64 {
        let at = self.order[k];
        let value = self.form.t[(at, at)];
        let alone = self.real && !self.pair[k];
        if alone && value.im.abs() <= 1e3 * f64::EPSILON * largest { Complex64::from(value.re) } else { value }
    }

    /// An orthonormal basis Q of the wanted part of the space, and QᴴSQ; real for real numbers.
    fn restart_basis<T: Scalar>(mut self, s: &ProjectedMatrix, found: usize) -> (ProjectedMatrix, ProjectedMatrix) {
        let m = s.rows();
        self.form.reorder(&self.order);
        let mut keep = kept(m, found.min(m - 1));
        if self.pair[keep - 1] {
            keep = if keep + 1 < m { keep + 1 } else { (keep - 1).max(1) };
        }
        if T::COMPLEX {
            let q = self.form.u.columns_at(0..keep);
            return (q, self.form.t.block(0, keep));
        }
        // Q spans an invariant space up to rounding, unless nearly equal values stand on both sides of the cut.
        let allowed = 100.0 * m as f64 * f64::EPSILON * s.norm();
        let mut best: Option<(f64, ProjectedMatrix, ProjectedMatrix)> = None;
        for keep in keep..m {
            let q = real_basis(&self.form.u, keep);
            let sq = s.times(&q);
            let h = q.adjoint().times(&sq);
            let error = difference(&sq, &q.times(&h));
            if best.as_ref().is_none_or(|(least, ..)| error < *least) {
                best = Some((error, q, h));
            }
            if error <= allowed {
                break;
            }
        }
        let (_, q, h) = best.expect("at least one part is kept");
        (q, h)
    }
}

/// ‖A − B‖_F.
fn difference(a: &ProjectedMatrix, b: &ProjectedMatrix) -> f64 {
    let columns = (0..a.columns()).flat_map(|j| a.column(j).iter().zip(b.column(j)));
    columns.map(|(a, b)| (a - b).norm_sqr()).sum::<f64>().sqrt()
}

/// A real orthonormal basis of the span of the first columns of U, which holds the conjugates of all its vectors.
///
/// U·Uᴴ is real, so the real and imaginary parts have the singular values 1 and 0: Gram–Schmidt with the largest first finds the span.
fn real_basis(u: &ProjectedMatrix, count: usize) -> ProjectedMatrix {
    let m = u.rows();
    let part = |j: usize| -> [Vec<f64>; 2] {
        let column = u.column(j);
        [column.iter().map(|u| u.re).collect(), column.iter().map(|u| u.im).collect()]
    };
    let mut parts: Vec<Vec<f64>> = (0..count).flat_map(part).collect();
    let mut q = ProjectedMatrix::zeros(m, count);
    for k in 0..count {
        let square = |v: &[f64]| v.iter().map(|v| v * v).sum::<f64>();
        let largest = (0..parts.len()).max_by(|i, j| square(&parts[*i]).total_cmp(&square(&parts[*j])));
        let mut next = parts.swap_remove(largest.expect("twice as many parts as vectors"));
        // Once more against those before, so that it is orthogonal at rounding.
        for j in 0..k {
            let dot: f64 = q.column(j).iter().zip(&next).map(|(q, v)| q.re * v).sum();
            next.iter_mut().zip(q.column(j)).for_each(|(v, q)| *v -= dot * q.re);
        }
        let norm = square(&next).sqrt();
        next.iter_mut().for_each(|v| *v /= norm);
        q.column_mut(k).iter_mut().zip(&next).for_each(|(q, v)| *q = Complex64::from(*v));
        for v in &mut parts {
            let dot: f64 = v.iter().zip(&next).map(|(v, q)| v * q).sum();
            v.iter_mut().zip(&next).for_each(|(v, q)| *v -= dot * q);
        }
    }
    q
}
