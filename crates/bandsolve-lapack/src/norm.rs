//! Norms of matrices that are visited entry by entry.

use bandsolve::{RealScalar, Scalar};

/// Which norm.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Norm {
    /// max |a_ij|, which is no norm of operators.
    Max,
    /// max_j Σ_i |a_ij|
    One,
    /// max_i Σ_j |a_ij|
    Infinity,
    /// √Σ |a_ij|²
    Frobenius,
}

impl Norm {
    /// By LAPACK's letter.
    pub fn from_letter(letter: u8) -> Option<Self> {
        Some(match letter.to_ascii_uppercase() {
            b'M' => Norm::Max,
            b'O' | b'1' => Norm::One,
            b'I' => Norm::Infinity,
            b'F' | b'E' => Norm::Frobenius,
            _ => return None,
        })
    }
}

/// max |a| over what `visit` hands out; NaN if there is one.
pub fn largest<T: Scalar>(visit: impl Fn(&mut dyn FnMut(T))) -> T::Real {
    let mut largest = T::Real::ZERO;
    visit(&mut |a| largest = largest.max_nan(a.abs()));
    largest
}

/// √Σ |a|², free of overflow and underflow where the result is; entries are visited twice.
pub fn root_of_squares<T: Scalar>(visit: impl Fn(&mut dyn FnMut(T))) -> T::Real {
    let peak = largest(&visit);
    if peak == T::Real::ZERO || !peak.is_finite() {
        return peak;
    }
    // Two steps, so that neither factor leaves the range; all entries become at most about 1.
    let half = peak.sqrt().normalizer();
    let mut sum = T::Real::ZERO;
    visit(&mut |a| {
        let a = a.scale(half).scale(half);
        sum += a.re() * a.re() + a.im() * a.im();
    });
    sum.sqrt() / half / half
}

/// A norm of the tridiagonal matrix (sub, diag, sup); NaN if an entry is.
pub fn tridiagonal<T: Scalar>(norm: Norm, (sub, diag, sup): (&[T], &[T], &[T])) -> T::Real {
    let all = |f: &mut dyn FnMut(T)| sub.iter().chain(diag).chain(sup).for_each(|a| f(*a));
    // What stands beside the diagonal entry: in column j sup_{j−1} and sub_j, in row i sub_{i−1} and sup_i.
    let widest = |before: &[T], after: &[T]| {
        let size = |a: &[T], i: usize| a.get(i).map_or(T::Real::ZERO, |a| a.abs());
        (0..diag.len()).fold(T::Real::ZERO, |m, i| {
            m.max_nan(size(diag, i) + size(before, i.wrapping_sub(1)) + size(after, i))
        })
    };
    match norm {
        Norm::Max => largest(all),
        Norm::Frobenius => root_of_squares(all),
        Norm::One => widest(sup, sub),
        Norm::Infinity => widest(sub, sup),
    }
}
