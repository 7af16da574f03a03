//! The eigenvectors of an axis, and the products with them that transform lines to coefficients and back.
//!
//! QL with implicit Wilkinson shifts computes the eigenvectors. Householder reflections first make the matrix of a periodic axis tridiagonal.
//!
//! # Source
//! H. Bowdler, R. S. Martin, C. Reinsch, J. H. Wilkinson, Numer. Math. 11 (1968), 293–306; R. S. Martin, J. H. Wilkinson, Numer. Math. 12 (1968),
//! 377–383.

use crate::axis::AxisOperator;
use crate::reflections::{identity, reflected};
use crate::scalar::{PoissonScalar, real};
use crate::transform::Transform;
use bandsolve::memory::{allocate, collected};
use bandsolve::{Error, Result, Simd};
use bandsolve_kernel::dense::Product;
use bandsolve_kernel::view::{View, ViewMut};

/// Products with the eigenvectors of an axis.
///
/// The coefficients of u are QᵀW^½u. The columns of Q are the eigenvectors of W^½ L W^−½, and W is the diagonal matrix of the volumes.
#[derive(Clone)]
pub struct DenseTransform<T> {
    n: usize,
    /// The eigenvalues of the axis, in the order of the coefficients.
    pub eigenvalues: Vec<f64>,
    /// The index of the coefficient of the constant, and the value of this coefficient for u = 1.
    pub constant: Option<(usize, f64)>,
    /// W^½Q, by columns.
    to: Vec<T>,
    /// The transpose of W^−½Q, by columns.
    back: Vec<T>,
}

/// The eigenvalues of an axis, and the eigenvectors of W^½ L W^−½, one after the other.
pub(crate) struct AxisModes {
    pub values: Vec<f64>,
    pub vectors: Vec<f64>,
    /// Whether the first eigenvector is the constant.
    has_constant: bool,
}

impl AxisModes {
    /// Computes all eigenvalues and eigenvectors.
    ///
    /// # Cost
    /// About 6n³ flops, or 9n³ for a periodic axis.
    pub fn new(axis: &AxisOperator) -> Result<Self> {
        let n = axis.len();
        let (mut values, mut vectors) = if axis.periodic { periodic(axis)? } else { open(axis)? };
        rayleigh_quotients(axis, &mut values, &vectors)?;
        let has_constant = axis.keeps_constants() && n > 0;
        if has_constant {
            // Exact values instead of computed ones: eigenvalue 0 and eigenvector W^{1/2}·1.
            let least = (0..n).min_by(|a, b| values[*a].total_cmp(&values[*b])).unwrap_or(0);
            let length = axis.volume.iter().sum::<f64>().sqrt();
            values[least] = values[0];
            vectors.copy_within(..n, least * n);
            values[0] = 0.0;
            vectors[..n].iter_mut().zip(&axis.volume).for_each(|(q, w)| *q = w.sqrt() / length);
        }
        Ok(Self { values, vectors, has_constant })
    }
}

impl<T: PoissonScalar> DenseTransform<T> {
    /// Compute the eigenvectors of an axis. If constants are eigenvectors, they come first.
    ///
    /// # Errors
    /// [`Error::NotConverged`] and [`Error::OutOfMemory`].
    pub fn new(axis: &AxisOperator) -> Result<Self> {
        let n = axis.len();
        if let Some((scale, sides)) = axis.uniform {
            return Self::of_transform(&Transform::new(n, sides)?, n, scale);
        }
        let AxisModes { values, vectors, has_constant } = AxisModes::new(axis)?;
        // The solver does not multiply along a middle axis with one unknown, so the number must equal its coefficient.
        let roots = collected(axis.volume.iter().map(|w| if n == 1 { 1.0 } else { w.sqrt() }))?;
        let constant = has_constant.then(|| (0, roots.iter().map(|root| root * root).sum::<f64>().sqrt()));
        let entry = |e: usize, root: f64| real::<T>(vectors[e] * root);
        let to = collected((0..n * n).map(|e| entry(e, roots[e % n])))?;
        let back = collected((0..n * n).map(|e| entry((e % n) * n + e / n, 1.0 / roots[e / n])))?;
        Ok(Self { n, eigenvalues: values, constant, to, back })
    }

    /// The matrices M of coefficients c = M·u and of values u = M·c, by rows.
    pub fn matrices(&self) -> [&[T]; 2] {
        [&self.to, &self.back]
    }

    /// Bytes of the matrices.
    pub(crate) fn bytes(&self) -> usize {
        size_of_val(&self.to[..]) + size_of_val(&self.back[..])
    }

    /// Products with vectors V, which are stored one after the other. The coefficients of f are Vᵀf, and u = V û.
    ///
    /// `lines`: one matrix is enough, because only [`multiply_lines`](Self::multiply_lines) is called.
    pub(crate) fn of_vectors(eigenvalues: Vec<f64>, vectors: &[f64], lines: bool) -> Result<Self> {
        let n = eigenvalues.len();
        let to = collected(vectors.iter().map(|v| real(*v)))?;
        let turned = |e: usize| real(vectors[(e % n) * n + e / n]);
        let back = if lines { Vec::new() } else { collected((0..n * n).map(turned))? };
        Ok(Self { n, eigenvalues, constant: None, to, back })
    }

    /// The matrices of a fast transform. The eigenvalues come from closed formulas.
    fn of_transform(transform: &Transform<f64>, n: usize, scale: f64) -> Result<Self> {
        let image = |inverse: bool| {
            let mut lines = identity(n)?;
            transform.each(Simd::detect(), &mut lines, inverse)?;
            // Columns of `to` are rows of the matrix.
            collected((0..n * n).map(|e| real::<T>(lines[e % n * n + e / n])))
        };
        let (to, back) = (image(false)?, image(true)?);
        let mut eigenvalues = transform.eigenvalues()?;
        eigenvalues.iter_mut().for_each(|v| *v *= scale);
        Ok(Self { n, eigenvalues, constant: transform.constant()?.map(|place| (place, transform.of_ones())), to, back })
    }

    /// Writes the coefficients of `width` columns of z to `out`. `inverse`: transforms coefficients back. Both arrays have rows of `width` numbers.
    pub(crate) fn multiply(&self, z: &[T], out: &mut [T], width: usize, inverse: bool) {
        let matrix = if inverse { &self.back } else { &self.to };
        let (a, b) = (View::new(z, width, self.n), View::new(matrix, self.n, self.n));
        let c = ViewMut::new(out, width, self.n);
        Product::replace(c, a, b).run_on(Simd::detect());
    }
}

impl<T: PoissonScalar> DenseTransform<T> {
    /// Writes the coefficients of `lines` contiguous lines of z to `out`. `inverse`: transforms coefficients back.
    pub(crate) fn multiply_lines(&self, z: &[T], out: &mut [T], lines: usize, inverse: bool) {
        let matrix = |entries| View::new(entries, self.n, self.n);
        let a = match inverse {
            false => matrix(&self.to).transpose(),
            // The matrix of `of_vectors` serves both directions.
            true if self.back.is_empty() => matrix(&self.to),
            true => matrix(&self.back).transpose(),
        };
        let b = View::new(z, self.n, lines);
        Product::replace(ViewMut::new(out, self.n, lines), a, b).run_on(Simd::detect());
    }
}

/// The diagonal of W^½ L W^−½, and the entries to the right of the diagonal. The last of these entries is the periodic corner.
fn symmetric(axis: &AxisOperator) -> Result<(Vec<f64>, Vec<f64>)> {
    let n = axis.len();
    let diagonal = collected((0..n).map(|i| axis.lower[i] + axis.upper[i] + axis.gap[i]))?;
    let right = |i: usize| -axis.upper[i] * (axis.volume[i] / axis.volume[(i + 1) % n]).sqrt();
    Ok((diagonal, collected((0..n).map(right))?))
}

/// Computes the eigenvalues again, as Σ coupling·(vᵢ − vᵢ₊₁)² + gap·vᵢ² with v = W^−½q.
///
/// This sum has no cancellation, so small eigenvalues have more correct digits than those of QL.
fn rayleigh_quotients(axis: &AxisOperator, values: &mut [f64], vectors: &[f64]) -> Result<()> {
    let n = axis.len();
    let mut v = allocate(n, 0.0)?;
    for (value, q) in values.iter_mut().zip(vectors.chunks_exact(n)) {
        v.iter_mut().zip(q.iter().zip(&axis.volume)).for_each(|(v, (q, w))| *v = q / w.sqrt());
        let row = |i: usize| {
            let difference = v[i] - v[(i + 1) % n];
            axis.volume[i] * (axis.upper[i] * difference * difference + axis.gap[i] * v[i] * v[i])
        };
        *value = (0..n).map(row).sum::<f64>() / q.iter().map(|q| q * q).sum::<f64>();
    }
    Ok(())
}

/// Eigenvalues, and eigenvectors one after the other.
pub(crate) type Pairs = (Vec<f64>, Vec<f64>);

/// The eigenvalues and eigenvectors of an axis that is not periodic.
fn open(axis: &AxisOperator) -> Result<Pairs> {
    let (mut d, mut e) = symmetric(axis)?;
    let n = d.len();
    let mut q = identity(n)?;
    if n > 0 {
        e[n - 1] = 0.0;
    }
    diagonalize(&mut d, &mut e, &mut q)?;
    Ok((d, q))
}

/// Diagonalizes the symmetric matrix with diagonal `d` and off-diagonal entries `e` by rotations, and applies the rotations to the vectors `q`.
pub(crate) fn diagonalize(d: &mut [f64], e: &mut [f64], q: &mut [f64]) -> Result<()> {
    const MOST: usize = 60;
    let n = d.len();
    for l in 0..n {
        let mut turns = 0;
        loop {
            let small = |m: &usize| e[*m].abs() <= f64::EPSILON * 0.5 * (d[*m].abs() + d[*m + 1].abs());
            let m = (l..n - 1).find(small).unwrap_or(n - 1);
            if m == l {
                break;
            }
            turns += 1;
            if turns > MOST {
                return Err(Error::NotConverged { backward_error: f64::NAN, refinement_steps: turns });
            }
            ql_step(d, e, q, (l, m));
        }
    }
    Ok(())
}

/// One step of QL with an implicit shift on rows l … m. Rotates the vectors too.
fn ql_step(d: &mut [f64], e: &mut [f64], q: &mut [f64], (l, m): (usize, usize)) {
    let n = d.len();
    let g = (d[l + 1] - d[l]) / (2.0 * e[l]);
    let r = g.hypot(1.0);
    let mut g = d[m] - d[l] + e[l] / (g + r.copysign(g));
    let (mut s, mut c, mut p) = (1.0, 1.0, 0.0);
    for i in (l..m).rev() {
        let (f, b) = (s * e[i], c * e[i]);
        let r = f.hypot(g);
        e[i + 1] = r;
        if r == 0.0 {
            d[i + 1] -= p;
            e[m] = 0.0;
            return;
        }
        (s, c) = (f / r, g / r);
        g = d[i + 1] - p;
        let r = (d[i] - g) * s + 2.0 * c * b;
        p = s * r;
        d[i + 1] = g + p;
        g = c * r - b;
        let (left, right) = q.split_at_mut((i + 1) * n);
        for (x, y) in left[i * n..].iter_mut().zip(&mut right[..n]) {
            (*y, *x) = (s * *x + c * *y, c * *x - s * *y);
        }
    }
    d[l] -= p;
    e[l] = g;
    e[m] = 0.0;
}

/// The eigenvalues and eigenvectors of a periodic axis.
fn periodic(axis: &AxisOperator) -> Result<Pairs> {
    let (diagonal, right) = symmetric(axis)?;
    let n = diagonal.len();
    let mut a = allocate(n.saturating_mul(n), 0.0)?;
    for i in 0..n {
        a[i * n + i] += diagonal[i];
        let j = (i + 1) % n;
        if j != i {
            a[i * n + j] += right[i];
            a[j * n + i] += right[i];
        }
    }
    let (mut d, mut e, mut q) = reflected(a, n)?;
    diagonalize(&mut d, &mut e, &mut q)?;
    Ok((d, q))
}
