//! The reduction of a symmetric matrix to tridiagonal form by Householder reflections.
//!
//! # Source
//! R. S. Martin, C. Reinsch, J. H. Wilkinson, Numer. Math. 11 (1968), 181–195.

use bandsolve::Result;
use bandsolve::memory::{allocate, collected};

/// The diagonal of T = QᵀCQ, its off-diagonal entries, and the columns of Q one after the other.
pub(crate) fn reflected(mut c: Vec<f64>, n: usize) -> Result<(Vec<f64>, Vec<f64>, Vec<f64>)> {
    let (mut q, mut sums) = (identity(n)?, allocate(n, 0.0)?);
    let (mut e, mut v, mut p) = (allocate(n, 0.0)?, allocate(n, 0.0)?, allocate(n, 0.0)?);
    for k in 0..n.saturating_sub(1) {
        let norm = (k + 1..n).map(|i| c[i * n + k] * c[i * n + k]).sum::<f64>().sqrt();
        let first = c[(k + 1) * n + k];
        let rest = (k + 2..n).any(|i| c[i * n + k] != 0.0);
        if !rest {
            e[k] = first;
            continue;
        }
        e[k] = -norm.copysign(first);
        v[..=k].fill(0.0);
        (k + 1..n).for_each(|i| v[i] = c[i * n + k]);
        v[k + 1] -= e[k];
        // H = I − vvᵀ/half
        let half = norm * (norm + first.abs());
        for i in k + 1..n {
            p[i] = c[i * n + k + 1..(i + 1) * n].iter().zip(&v[k + 1..]).map(|(c, v)| c * v).sum::<f64>() / half;
        }
        let part = (k + 1..n).map(|i| p[i] * v[i]).sum::<f64>() / (2.0 * half);
        (k + 1..n).for_each(|i| p[i] -= part * v[i]);
        for i in k + 1..n {
            let (of_v, of_p) = (v[i], p[i]);
            let row = &mut c[i * n + k + 1..(i + 1) * n];
            row.iter_mut().zip(&v[k + 1..]).zip(&p[k + 1..]).for_each(|((c, v), p)| *c -= of_v * p + of_p * v);
        }
        reflect(&mut q, &v, half, &mut sums);
    }
    Ok((collected((0..n).map(|i| c[i * n + i]))?, e, q))
}

/// The n × n identity matrix.
pub(crate) fn identity(n: usize) -> Result<Vec<f64>> {
    collected((0..n.saturating_mul(n)).map(|k| f64::from(u8::from(k / n == k % n))))
}

/// Multiplies Q by the reflection I − vvᵀ/half. `sums` is scratch memory.
fn reflect(q: &mut [f64], v: &[f64], half: f64, sums: &mut [f64]) {
    let n = sums.len();
    sums.fill(0.0);
    for (column, v) in q.chunks_exact(n).zip(v).filter(|(_, v)| **v != 0.0) {
        sums.iter_mut().zip(column).for_each(|(s, q)| *s += v * q);
    }
    for (column, v) in q.chunks_exact_mut(n).zip(v).filter(|(_, v)| **v != 0.0) {
        let factor = v / half;
        column.iter_mut().zip(&*sums).for_each(|(q, s)| *q -= factor * s);
    }
}
