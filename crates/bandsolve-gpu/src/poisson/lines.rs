//! The transforms of lines for each kind of boundary, as sums of two values before and after a complex Fourier transform.
//!
//! Let Z be the complex transform of c: Zₗ = Σⱼ cⱼ exp(2πijl/N), with N points. The kernel (`transform.cuh`) computes
//!
//! ```text
//! cⱼ = first·x_p + second·x_q,   yⱼ = first·Z_p + second·Z_q
//! ```
//!
//! with factors and places of each j, which this module computes in double precision. A complex number x holds the values of two lines. The
//! algorithms are those of the CPU (`transform` of crate bandsolve-poisson), except for nodes with the same kind of sides: there, a
//! line is extended to 2N values, whose even and odd places are the real and imaginary parts of c.

use bandsolve::memory::collected;
use bandsolve::{RealScalar, Result};
use bandsolve_poisson::device::{AxisSides, factors, half_turns};

/// The sum first·x_p + second·x_q. For extended lines, the four numbers are factors of real numbers.
#[derive(Debug, Clone, Copy)]
struct TwoTermSum {
    first: [f64; 2],
    second: [f64; 2],
    places: [usize; 2],
}

/// The sums of a step, in the form that the kernel uses.
pub struct SumTables<T> {
    pub factors: Vec<[T; 4]>,
    pub places: Vec<[u32; 2]>,
}

/// A step of a transform with sums.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SumStep {
    Before,
    After,
    InverseBefore,
    InverseAfter,
}

/// The transform of lines with n unknowns.
#[derive(Debug, Clone, Copy)]
pub struct LineKind {
    pub n: usize,
    pub sides: AxisSides,
}

/// The memory that the transform of a line needs.
#[derive(Debug, Clone, Copy)]
pub struct LineShape {
    /// The number of complex points.
    pub points: usize,
    /// Whether a complex line holds one real line; otherwise, it holds two.
    pub extended: bool,
}

/// exp(iπ·part/of)
fn root(part: usize, of: usize) -> [f64; 2] {
    let (sin, cos) = half_turns(part, of);
    [cos, sin]
}

fn times([re, im]: [f64; 2], by: f64) -> [f64; 2] {
    [re * by, im * by]
}

/// i·z
fn turned([re, im]: [f64; 2]) -> [f64; 2] {
    [-im, re]
}

fn conjugate([re, im]: [f64; 2]) -> [f64; 2] {
    [re, -im]
}

/// factor·x_p
fn alone(factor: [f64; 2], place: usize) -> TwoTermSum {
    TwoTermSum { first: factor, second: [0.0; 2], places: [place; 2] }
}

/// The place of coefficient l of the cosine core in the order of frequencies.
fn frequency(l: usize, n: usize) -> usize {
    if 2 * l < n { 2 * l } else { 2 * n - 1 - 2 * l }
}

impl LineKind {
    /// Whether the transform changes nothing: one unknown without Dirichlet sides.
    pub fn is_identity(self) -> bool {
        self.n == 1 && matches!(self.sides, AxisSides::NodeNeumann | AxisSides::CellNeumann | AxisSides::Periodic)
    }

    pub fn shape(self) -> LineShape {
        LineShape { points: self.points(), extended: self.is_extended() }
    }

    /// N
    pub fn points(self) -> usize {
        match self.sides {
            AxisSides::NodeDirichlet => self.n + 1,
            AxisSides::NodeNeumann if self.n > 1 => self.n - 1,
            _ => self.n,
        }
    }

    /// Whether a complex line holds one real line.
    pub fn is_extended(self) -> bool {
        matches!(self.sides, AxisSides::NodeDirichlet | AxisSides::NodeNeumann) && !self.is_identity()
    }

    /// The largest n for which N is at most `points`.
    pub fn most(self, points: usize) -> usize {
        match self.sides {
            AxisSides::NodeDirichlet => points.saturating_sub(1),
            AxisSides::NodeNeumann => points + 1,
            _ => points,
        }
    }

    /// The factors of N.
    pub fn radices(self) -> Vec<usize> {
        let points = self.points();
        factors(points, points).unwrap_or_default()
    }

    /// exp(2πij/N)
    pub fn roots<T: RealScalar>(self) -> Result<Vec<[T; 2]>> {
        let points = self.points();
        collected((0..points).map(|j| root(2 * j, points).map(T::from_f64)))
    }

    /// The eigenvalues 4 sin²(θ/2) of the second difference (−1, 2, −1), in the order of the coefficients. The eigenvalue of the constant is 0.
    pub fn eigenvalues(self) -> Result<Vec<f64>> {
        let n = self.n;
        // 4 sin²(π·part/of)
        let value = |part: usize, of: usize| 4.0 * half_turns(part, of).0.powi(2);
        collected((0..n).map(|k| match self.sides {
            _ if self.is_identity() => 0.0,
            AxisSides::NodeDirichlet => value(k + 1, 2 * (n + 1)),
            AxisSides::NodeNeumann => value(k, 2 * (n - 1)),
            AxisSides::CellDirichlet => value(n - k, 2 * n),
            AxisSides::CellNeumann => value(k, 2 * n),
            AxisSides::Periodic => value(k.min(n - k), n),
            AxisSides::NodeMixed(_) | AxisSides::CellMixed(_) => value(2 * frequency(k, n) + 1, 4 * n),
        }))
    }

    /// The coefficient 0 of a line of ones, if the line keeps constants.
    pub fn of_ones(self) -> f64 {
        match self.sides {
            _ if self.is_identity() => 1.0,
            AxisSides::NodeNeumann => (self.n - 1) as f64,
            AxisSides::CellNeumann => self.n as f64 / 2.0,
            _ => self.n as f64,
        }
    }

    /// The sums before and after the complex transform, then those of the inverse.
    pub fn sums<T: RealScalar>(self) -> Result<[SumTables<T>; 4]> {
        let of = |step: SumStep| {
            // Values of a line of the box, or complex numbers.
            let before = matches!(step, SumStep::Before | SumStep::InverseBefore);
            let count = if before && self.is_extended() { self.points() } else { self.n };
            let sums: Vec<TwoTermSum> = collected((0..count).map(|j| self.sum(step, j)))?;
            let factors = sums.iter().map(|sum| [sum.first[0], sum.first[1], sum.second[0], sum.second[1]]);
            let places = collected(sums.iter().map(|sum| sum.places.map(|place| place as u32)))?;
            Ok(SumTables { factors: collected(factors.map(|factors| factors.map(T::from_f64)))?, places })
        };
        let [before, after] = [of(SumStep::Before)?, of(SumStep::After)?];
        Ok([before, after, of(SumStep::InverseBefore)?, of(SumStep::InverseAfter)?])
    }

    /// The sum of element j.
    fn sum(self, step: SumStep, j: usize) -> TwoTermSum {
        match self.sides {
            _ if self.is_identity() => alone([1.0, 0.0], j),
            AxisSides::NodeDirichlet => self.sine(step, j),
            AxisSides::NodeNeumann => self.cosine(step, j),
            AxisSides::NodeMixed(lower) => self.core(step, j, lower),
            AxisSides::CellDirichlet => self.transposed_core(step, j, -1.0),
            AxisSides::CellNeumann => self.transposed_core(step, j, 1.0),
            AxisSides::CellMixed(lower) => self.fourth(step, j, lower),
            AxisSides::Periodic => self.periodic(step, j),
        }
    }

    /// The factor of an inverse after a sine or cosine transform of N parts: its square is N/2 times the identity.
    fn inverse_scale(step: SumStep, parts: usize) -> f64 {
        match step {
            SumStep::Before | SumStep::After => 1.0,
            SumStep::InverseBefore | SumStep::InverseAfter => 2.0 / parts as f64,
        }
    }

    /// The real and imaginary part of element k of an extended line: its places 2k and 2k + 1. `at` returns sign and place in the line.
    fn extension(k: usize, at: impl Fn(usize) -> (f64, usize)) -> TwoTermSum {
        let ((a, p), (b, q)) = (at(2 * k), at(2 * k + 1));
        TwoTermSum { first: [a, b], second: [0.0; 2], places: [p, q] }
    }

    /// Sₖ = Σⱼ xⱼ sin(πjk/N) = ½ Im Xₖ, where X is the transform of the odd extension.
    ///
    /// With w = exp(iπk/N): Xₖ = ½(Zₖ + conj Z_(N−k)) − ½i·w·(Zₖ − conj Z_(N−k))
    fn sine(self, step: SumStep, j: usize) -> TwoTermSum {
        let parts = self.n + 1;
        if matches!(step, SumStep::Before | SumStep::InverseBefore) {
            return Self::extension(j, |e| match e {
                _ if e % parts == 0 => (0.0, 0),
                _ if e < parts => (1.0, e - 1),
                _ => (-1.0, 2 * parts - e - 1),
            });
        }
        let (k, quarter) = (j + 1, 0.25 * Self::inverse_scale(step, parts));
        let [cos, sin] = root(k, parts);
        let (first, second) = (times([-cos, 1.0 + sin], quarter), times([cos, sin - 1.0], quarter));
        TwoTermSum { first, second, places: [k, parts - k] }
    }

    /// Cₖ = Σⱼ xⱼ cos(πjk/N), with half of the first and the last term: ½ Re Xₖ, where X is the transform of the even extension.
    fn cosine(self, step: SumStep, j: usize) -> TwoTermSum {
        let parts = self.n - 1;
        if matches!(step, SumStep::Before | SumStep::InverseBefore) {
            return Self::extension(j, |e| (1.0, if e <= parts { e } else { 2 * parts - e }));
        }
        let quarter = 0.25 * Self::inverse_scale(step, parts);
        let [cos, sin] = root(j, parts);
        let (first, second) = (times([1.0 + sin, cos], quarter), times([1.0 - sin, cos], quarter));
        TwoTermSum { first, second, places: [j % parts, (parts - j) % parts] }
    }

    /// Cⱼ = w·(aⱼ − i·a_(n−j)), w = ½exp(iπj/2n), times `scale`. C₀ = `start`·a₀.
    fn twist(self, j: usize, [start, scale]: [f64; 2], place: impl Fn(usize) -> usize) -> TwoTermSum {
        if j == 0 {
            return alone([start, 0.0], place(0));
        }
        let first = times(root(j, 2 * self.n), 0.5 * scale);
        TwoTermSum { first, second: times(turned(first), -1.0), places: [place(j), place(self.n - j)] }
    }

    /// aⱼ = w·Vⱼ + conj(w)·V_(n−j), times `scale`. a₀ = `start`·V₀.
    fn untwist(self, j: usize, [start, scale]: [f64; 2]) -> TwoTermSum {
        if j == 0 {
            return alone([start, 0.0], 0);
        }
        let first = times(root(j, 2 * self.n), 0.5 * scale);
        TwoTermSum { first, second: conjugate(first), places: [j, self.n - j] }
    }

    /// The place of element j, if lines are reversed for a lower Dirichlet side.
    fn place(self, j: usize, reversed: bool) -> usize {
        if reversed { self.n - 1 - j } else { j }
    }

    /// Nodes with mixed sides: cos(πj(2m+1)/2n), by the cosine core.
    fn core(self, step: SumStep, j: usize, lower: bool) -> TwoTermSum {
        let scale = Self::inverse_scale(step, self.n);
        match step {
            SumStep::Before => self.twist(j, [0.5, 1.0], |j| self.place(j, lower)),
            SumStep::After | SumStep::InverseBefore => alone([1.0, 0.0], j),
            SumStep::InverseAfter => self.untwist(self.place(j, lower), [scale; 2]),
        }
    }

    /// Cells with the same kind of sides, by the transposed cosine core. Elements with odd place have the factor `sign`.
    fn transposed_core(self, step: SumStep, j: usize, sign: f64) -> TwoTermSum {
        let (n, scale) = (self.n, Self::inverse_scale(step, self.n));
        match step {
            // Even places in ascending order, then odd places in descending order.
            SumStep::Before if 2 * j < n => alone([1.0, 0.0], 2 * j),
            SumStep::Before => alone([sign, 0.0], 2 * (n - 1 - j) + 1),
            SumStep::After => self.untwist(j, [0.5, 1.0]),
            SumStep::InverseBefore => self.twist(j, [scale; 2], |j| j),
            SumStep::InverseAfter if j.is_multiple_of(2) => alone([1.0, 0.0], j / 2),
            SumStep::InverseAfter => alone([sign, 0.0], n - 1 - j / 2),
        }
    }

    /// Cells with mixed sides: cos(π(2j+1)(2k+1)/4n).
    fn fourth(self, step: SumStep, j: usize, lower: bool) -> TwoTermSum {
        let (n, scale) = (self.n, Self::inverse_scale(step, self.n));
        let before = |j: usize| times(root(2 * j + 1, 4 * n), 0.5);
        match step {
            SumStep::Before => {
                let places = [j, n - 1 - j].map(|j| self.place(j, lower));
                TwoTermSum { first: before(j), second: times(turned(before(j)), -1.0), places }
            }
            SumStep::After => alone(root(j, n), j),
            SumStep::InverseBefore => alone(times(root(j, n), scale), j),
            SumStep::InverseAfter => {
                let j = self.place(j, lower);
                let mirrored = n - 1 - j;
                let second = times(turned(before(mirrored)), -1.0);
                TwoTermSum { first: before(j), second, places: [j, mirrored] }
            }
        }
    }

    /// Cosines of the frequencies k ≤ n/2 at the places k, sines at the places n − k.
    fn periodic(self, step: SumStep, j: usize) -> TwoTermSum {
        let (n, scale) = (self.n, 1.0 / self.n as f64);
        let is_single = j == 0 || 2 * j == n;
        let is_cosine = 2 * j < n;
        match step {
            SumStep::Before | SumStep::InverseAfter => alone([1.0, 0.0], j),
            SumStep::After if is_single => alone([1.0, 0.0], j),
            SumStep::After if is_cosine => TwoTermSum { first: [0.5, 0.0], second: [0.5, 0.0], places: [j, n - j] },
            SumStep::After => TwoTermSum { first: [0.0, 0.5], second: [0.0, -0.5], places: [j, n - j] },
            SumStep::InverseBefore if is_single => alone([scale, 0.0], j),
            SumStep::InverseBefore => {
                let (cosine, sign) = if is_cosine { (j, -scale) } else { (n - j, scale) };
                TwoTermSum { first: [scale, 0.0], second: [0.0, sign], places: [cosine, n - cosine] }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bandsolve_poisson::device::AxisOperator;
    use bandsolve_poisson::{BoundaryKind, Grid, Poisson};

    /// The axis with n unknowns, spacing 1 and these sides, and its transform.
    fn axis(n: usize, grid: Grid, sides: [BoundaryKind; 2]) -> (AxisOperator, LineKind) {
        let problem = Poisson::new(&[n]).grid(grid).axis_boundary(0, sides[0], sides[1]);
        let [axis, ..] = problem.parts::<f64>().unwrap().problem.axes;
        let (_, sides) = axis.uniform.unwrap();
        (axis, LineKind { n, sides })
    }

    /// The matrix of the axis times z.
    fn multiply(axis: &AxisOperator, z: &[f64]) -> Vec<f64> {
        let n = z.len();
        let row = |i: usize| {
            let (below, above) = (z[(i + n - 1) % n], z[(i + 1) % n]);
            axis.lower[i] * (z[i] - below) + axis.upper[i] * (z[i] - above) + axis.gap[i] * z[i]
        };
        (0..n).map(row).collect()
    }

    /// first·x_p + second·x_q
    fn complex_sums(sums: &SumTables<f64>, x: &[[f64; 2]]) -> Vec<[f64; 2]> {
        let product = |[a, b]: [f64; 2], [c, d]: [f64; 2]| [a * c - b * d, a * d + b * c];
        let sum = |(f, p): (&[f64; 4], &[u32; 2])| {
            let (one, two) = (product([f[0], f[1]], x[p[0] as usize]), product([f[2], f[3]], x[p[1] as usize]));
            [one[0] + two[0], one[1] + two[1]]
        };
        sums.factors.iter().zip(&sums.places).map(sum).collect()
    }

    /// What the kernel computes for a line, with a direct Fourier transform.
    fn transform(kind: LineKind, z: &[f64], inverse: bool) -> Vec<f64> {
        let [before, after, inverse_before, inverse_after] = kind.sums::<f64>().unwrap();
        let (before, after) = if inverse { (inverse_before, inverse_after) } else { (before, after) };
        let terms = before.factors.iter().zip(&before.places);
        let c = if kind.is_extended() {
            terms.map(|(f, p)| [f[0] * z[p[0] as usize], f[1] * z[p[1] as usize]]).collect()
        } else {
            complex_sums(&before, &z.iter().map(|z| [*z, 0.0]).collect::<Vec<_>>())
        };
        let (points, roots) = (kind.points(), kind.roots::<f64>().unwrap());
        let coefficient = |l: usize| {
            let term = |j: usize| {
                let ([a, b], [re, im]) = (c[j], roots[j * l % points]);
                [a * re - b * im, a * im + b * re]
            };
            (0..points).map(term).fold([0.0; 2], |sum, term| [sum[0] + term[0], sum[1] + term[1]])
        };
        let x: Vec<[f64; 2]> = (0..points).map(coefficient).collect();
        if !kind.is_extended() {
            return complex_sums(&after, &x).into_iter().map(|[re, _]| re).collect();
        }
        let real = |(f, p): (&[f64; 4], &[u32; 2])| {
            let (x, y) = (x[p[0] as usize], x[p[1] as usize]);
            f[0] * x[0] + f[1] * x[1] + f[2] * y[0] + f[3] * y[1]
        };
        after.factors.iter().zip(&after.places).map(real).collect()
    }

    fn distance(a: &[f64], b: impl Iterator<Item = f64>) -> f64 {
        a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
    }

    #[test]
    fn transforms_are_inverted_and_diagonalize() {
        let kinds = [BoundaryKind::Dirichlet, BoundaryKind::Neumann];
        let pairs = kinds.iter().flat_map(|low| kinds.iter().map(move |high| [*low, *high]));
        let pairs: Vec<_> = pairs.chain([[BoundaryKind::Periodic; 2]]).collect();
        for (n, grid) in (1..=24).flat_map(|n| [(n, Grid::Node), (n, Grid::Cell)]) {
            for sides in &pairs {
                let (axis, kind) = axis(n, grid, *sides);
                let z: Vec<f64> = (0..n).map(|k| ((k * 37 + n) % 101) as f64 / 50.0 - 1.0).collect();
                let coefficients = transform(kind, &z, false);
                // The direct sums of at most 25 terms have errors of at most 25·ε each. The eigenvalues are at most 4.
                let bound = 25.0 * 8.0 * f64::EPSILON * n as f64;
                let what = format!("{kind:?} {sides:?}");
                assert!(distance(&transform(kind, &coefficients, true), z.iter().copied()) <= bound, "{what}");
                let eigenvalues = kind.eigenvalues().unwrap();
                let expected = coefficients.iter().zip(&eigenvalues).map(|(c, value)| c * value);
                assert!(distance(&transform(kind, &multiply(&axis, &z), false), expected) <= bound, "{what}");
                assert_eq!(eigenvalues.contains(&0.0), axis.keeps_constants(), "{what}");
                if axis.keeps_constants() {
                    let constant = (0..n).map(|k| if k == 0 { kind.of_ones() } else { 0.0 });
                    assert!(distance(&transform(kind, &vec![1.0; n], false), constant) <= bound, "{what}");
                }
            }
        }
    }
}
