//! LU with partial pivoting of a band, or of its leading columns.
//!
//! Each part of a banded matrix is a rectangle of `rows` equations in `columns` unknowns, of which the first `pivots` are eliminated. The
//! rest of the equations is stored below them and becomes part of a smaller system.

mod by_rows;
mod definite;
mod eliminate;
mod sweep;

pub(crate) use by_rows::FactorsByRows;
pub(crate) use definite::HermitianTriangle;
pub(crate) use eliminate::Spike;
pub(crate) use sweep::{RhsColumns, RhsRows, words_at_most};

use crate::contract::determinant::ScaledProduct;
use crate::contract::verify::Facts;
use crate::decision::{Decision, Pivoting};
use crate::error::Result;
use crate::matrix::Banded;
use crate::memory::array;
use crate::pivoted::Rule;
use crate::tuning;
use bandsolve_kernel::band_copy::{BandCopy, CopyProgress};
use bandsolve_kernel::band_rectangle::Rectangle;
use bandsolve_kernel::memory::{Array, MemoryPool};
use bandsolve_kernel::narrow_lu::{self, NarrowLu};
use bandsolve_kernel::panel::{Largest, Update};
use bandsolve_kernel::prefetch::Prefetcher;
use bandsolve_kernel::scalar::{larger, peak};
use bandsolve_kernel::{RealScalar, Scalar, Simd, window};

/// A rectangle of a banded matrix, counted from the first or from the last row.
#[derive(Debug)]
pub(crate) struct BandSource<'a, 'm, T: Scalar> {
    pub a: &'a Banded<'m, T>,
    /// First row and first column.
    pub first: [usize; 2],
    /// Whether rows and columns are counted from the last one backwards.
    pub reversed: bool,
    pub size: RectangleSize,
}

/// The size of a rectangle of a band. Element (i, j) is zero unless j − upper ≤ i ≤ j + lower.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RectangleSize {
    pub rows: usize,
    pub columns: usize,
    /// Number of columns that are eliminated.
    pub pivots: usize,
    pub lower: usize,
    pub upper: usize,
}

impl<'a, 'm, T: Scalar> BandSource<'a, 'm, T> {
    /// The whole matrix.
    pub fn whole(a: &'a Banded<'m, T>) -> Self {
        let n = a.n();
        let [lower, upper] = [a.lower(), a.upper()].map(|width| width.min(n.saturating_sub(1)));
        Self { a, first: [0, 0], reversed: false, size: RectangleSize { rows: n, columns: n, pivots: n, lower, upper } }
    }

    /// The rectangle in the form that the kernels use.
    fn rectangle(&self) -> Rectangle<'_, T> {
        let (bands, leading) = self.a.storage();
        let [i, j] = if self.reversed { [self.a.n().saturating_sub(1); 2] } else { self.first };
        let RectangleSize { rows, columns, lower, upper, .. } = self.size;
        let first = self.a.upper() + i + j * leading - j;
        Rectangle { bands, first, step: leading - 1, reversed: self.reversed, rows, columns, lower, upper }
    }
}

/// L and U in one band.
///
/// Element (i, j) is at `origin + i + j·stride`. Only the band of this matrix with column stride `stride` exists. Each rectangle inside
/// the band with at most `stride` rows is therefore a strided view. With `block − 1` diagonals of zeros above and below the band, this
/// also holds for the blocks at its edges. The first diagonal element of each block starts a cache line.
#[derive(Debug)]
pub(crate) struct BandLu<T: Scalar> {
    size: RectangleSize,
    /// Number of superdiagonals of U.
    fill: usize,
    /// Number of columns of the window in registers, if L and U fit into one.
    window: Option<usize>,
    /// Number of columns that are eliminated together; 1 for column by column.
    block: usize,
    stride: usize,
    origin: usize,
    elements: Array<T>,
    /// 1/uⱼⱼ
    inverse: Array<T>,
    /// Step j exchanges rows j and j + `exchange[j]`.
    exchange: Array<u32>,
    /// The powers of two that scale the rows.
    scale: Array<T::Real>,
    simd: Simd,
}

/// The findings of a factorisation about the matrix.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct FactorFacts {
    /// First column without a pivot.
    pub singular: Option<usize>,
    pub growth: Option<f64>,
    /// Number of small pivots that were enlarged.
    pub boosted: usize,
}

/// The options for the factorisation of a rectangle.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FactorOptions<'p, R> {
    pub rule: Rule<R>,
    /// Whether to enlarge small pivots if rows are not exchanged.
    pub boost: bool,
    pub parallel: bool,
    pub simd: Simd,
    /// The pool that memory comes from.
    pub pool: Option<&'p MemoryPool>,
}

impl<'p, R: RealScalar> FactorOptions<'p, R> {
    /// The options of the plan.
    pub fn new(decision: &'p Decision) -> Self {
        let (options, pool) = (&decision.options, Some(&decision.pool));
        Self { rule: Rule::new(options), boost: false, parallel: options.threads > 1, simd: options.simd, pool }
    }

    /// Scaled partial pivoting.
    pub fn scaled(simd: Simd) -> Self {
        let rule = Rule { scaled: true, exchange: R::ONE, noise: R::ZERO };
        Self { rule, boost: false, parallel: false, simd, pool: None }
    }
}

impl<T: Scalar> BandLu<T> {
    /// Factor with the options of the plan, and add the findings to `facts`.
    pub fn under_plan(decision: &Decision, a: &Banded<'_, T>, facts: &mut Facts) -> Result<Self> {
        let (lu, of_lu) = Self::new(&BandSource::whole(a), FactorOptions::new(decision))?;
        (facts.singular, facts.pivot_growth) = (of_lu.singular, of_lu.growth);
        Ok(lu)
    }

    /// Factor with scaled partial pivoting, and return whether a column has no pivot.
    pub fn scaled(a: &Banded<'_, T>, simd: Simd) -> Result<(Self, bool)> {
        let (lu, facts) = Self::new(&BandSource::whole(a), FactorOptions::scaled(simd))?;
        Ok((lu, facts.singular.is_some()))
    }

    /// Eliminate the pivots of a rectangle.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn new(source: &BandSource<'_, '_, T>, how: FactorOptions<'_, T::Real>) -> Result<(Self, FactorFacts)> {
        Self::with_spike(source, how, &mut Spike::none())
    }

    /// Eliminate the pivots of a rectangle that has additional columns to the left of the band.
    pub fn with_spike(
        source: &BandSource<'_, '_, T>,
        how: FactorOptions<'_, T::Real>,
        spike: &mut Spike<T>,
    ) -> Result<(Self, FactorFacts)> {
        let mut lu = Self::allocate(source.size, how)?;
        if lu.is_narrow(source, how) && spike.rows() == 0 {
            let facts = lu.eliminate_narrow(source);
            return Ok((lu, facts));
        }
        let mut progress = lu.begin(source, how.rule, spike);
        let (mut facts, mut growth) = (FactorFacts::default(), T::Real::ZERO);
        let pivots = lu.size.pivots;
        let step = lu.step();
        for j in (0..pivots).step_by(step) {
            let width = step.min(pivots - j);
            let reached = if lu.left_looking() { j + width } else { j + width + lu.fill };
            lu.copy_until(source, reached.min(lu.size.columns), &mut progress);
            // Prefetch the next columns and their destination.
            let soon = [source.rectangle().memory(progress.scanned..progress.scanned + step), lu.room(&progress), &[]];
            let prefetcher = Prefetcher::new(soon, lu.parts());
            let panel = if lu.left_looking() {
                lu.follow(j..j + width, prefetcher);
                lu.eliminate(j, width, how, Prefetcher::none())
            } else {
                lu.eliminate(j, width, how, prefetcher)
            };
            spike.eliminate(&lu, j, width);
            facts.singular = facts.singular.or(panel.singular.map(|k| j + k));
            facts.boosted += panel.boosted;
            let largest = lu.largest_of_u(j, width);
            growth = if largest > growth { largest } else { growth };
        }
        lu.copy_until(source, lu.size.columns, &mut progress);
        if lu.left_looking() {
            for j in (pivots..lu.size.columns).step_by(step) {
                lu.follow(j..(j + step).min(lu.size.columns), Prefetcher::none());
            }
        }
        facts.growth = pivot_growth([progress.largest, growth]).filter(|_| pivots > 0);
        Ok((lu, facts))
    }

    /// Whether the matrix is eliminated row by row: as a whole, with scaled partial pivoting, and with few diagonals.
    fn is_narrow(&self, source: &BandSource<'_, '_, T>, how: FactorOptions<'_, T::Real>) -> bool {
        let RectangleSize { rows, columns, pivots, .. } = self.size;
        let whole = rows == columns && pivots == rows && source.first == [0, 0] && !source.reversed;
        whole && how.rule.is_usual() && self.has_few_diagonals()
    }

    /// Whether the matrix is real and has at most four diagonals on each side, whose columns are one after the other in memory.
    fn has_few_diagonals(&self) -> bool {
        let few = self.size.lower.max(self.size.upper) <= narrow_lu::MAX_WIDTH;
        !T::COMPLEX && few && self.block == 1 && self.stride == self.fill + self.size.lower
    }

    fn eliminate_narrow(&mut self, source: &BandSource<'_, '_, T>) -> FactorFacts {
        let (from, fill) = (source.rectangle(), self.fill);
        debug_assert!(self.origin == fill);
        let (to, inverse, exchange, scale) =
            (&mut self.elements[..], &mut self.inverse[..], &mut self.exchange[..], &mut self.scale[..]);
        let facts = NarrowLu { from, to, fill, inverse, exchange, scale }.run_on(self.simd);
        let growth = pivot_growth(facts.largest).filter(|_| self.size.pivots > 0);
        FactorFacts { singular: facts.singular, growth, boosted: 0 }
    }

    fn allocate(size: RectangleSize, how: FactorOptions<'_, T::Real>) -> Result<Self> {
        let fill = if how.rule.exchanges() { size.lower + size.upper } else { size.upper };
        // Additional diagonals of zeros let sweeps, and the elimination of rectangles, stay in registers.
        let window = window::width::<T>(how.simd, size.lower, fill).filter(|_| how.rule.exchanges());
        let fill = window.unwrap_or(fill.min(size.columns.saturating_sub(1)));
        Self::with_layout(size, how, (fill, window, tuning::band_block(size.lower, fill), None))
    }

    /// Allocate factors with `fill` superdiagonals, whose columns are eliminated in a window or in blocks. `pad` sets the number of
    /// elements between columns.
    fn with_layout(
        size: RectangleSize,
        how: FactorOptions<'_, T::Real>,
        (fill, window, block, pad): (usize, Option<usize>, usize, Option<usize>),
    ) -> Result<Self> {
        let line = 64 / size_of::<T>();
        let needed = 2 * (block - 1) + fill + size.lower;
        // With an odd number of cache lines, columns do not collide in the caches, and all blocks have the same alignment.
        let rounded = if block == 1 { needed } else { (needed.div_ceil(line) | 1) * line };
        let stride = pad.map_or(rounded, |pad| size.lower + pad).max(1);
        let top = if block == 1 { fill } else { (block - 1 + fill).next_multiple_of(line) };
        let words = (size.columns + 2).checked_mul(stride).map(|words| words + top + size.rows);
        let elements = array(words.unwrap_or(usize::MAX), how.pool)?;
        let mut scale = array(size.rows, how.pool)?;
        scale.fill(if how.rule.scaled { T::Real::ZERO } else { T::Real::ONE });
        Ok(Self {
            size,
            fill,
            window,
            block,
            stride,
            origin: top,
            elements,
            inverse: array(size.pivots, how.pool)?,
            exchange: array(size.pivots, how.pool)?,
            scale,
            simd: how.simd,
        })
    }

    /// Return det A of a matrix that was factored as a whole.
    pub fn product(&self) -> ScaledProduct {
        let exchanges = self.exchange.iter().filter(|q| **q != 0).count();
        ScaledProduct::of_factors(self.inverse.iter().copied(), &self.scale, exchanges)
    }

    /// Whether a column is updated just before its elimination, not when the columns to its left are eliminated.
    fn left_looking(&self) -> bool {
        self.block > 1 && self.size.lower * self.fill < tuning::BAND_PARALLEL
    }

    /// Number of columns that are copied and eliminated at a time.
    fn step(&self) -> usize {
        if self.block == 1 { tuning::BAND_NARROW_STEP } else { self.block }
    }

    /// The memory of the next columns to copy.
    fn room(&self, progress: &CopyProgress<T::Real>) -> &[T] {
        &self.elements[progress.end..(progress.end + self.step() * self.stride).min(self.elements.len())]
    }

    /// Number of parts into which prefetching is divided.
    fn parts(&self) -> usize {
        if self.left_looking() { Update::<T>::parts(self.fill, self.block) } else { self.step() }
    }

    /// The size of the rectangle.
    pub fn size(&self) -> RectangleSize {
        self.size
    }

    /// The powers of two that scale the rows.
    pub fn scale(&self) -> &[T::Real] {
        &self.scale
    }

    /// The coefficient of unknown `pivots + j` in equation `pivots + i` after the elimination.
    pub fn rest(&self, i: usize, j: usize) -> T {
        let (i, j) = (self.size.pivots + i, self.size.pivots + j);
        // Outside the band, the index would refer to another column.
        if i > j + self.size.lower || j > i + self.fill { T::ZERO } else { self.elements[self.index(i, j)] }
    }

    fn index(&self, i: usize, j: usize) -> usize {
        self.origin + i + j * self.stride
    }

    fn begin(
        &mut self,
        source: &BandSource<'_, '_, T>,
        rule: Rule<T::Real>,
        spike: &mut Spike<T>,
    ) -> CopyProgress<T::Real> {
        let (mut scaled, mut scanned) = (0, 0);
        if rule.scaled {
            spike.visit(|i, v| self.scale[i] = larger(self.scale[i], peak(v)));
        } else {
            (scaled, scanned) = (self.size.rows, self.size.columns);
        }
        let mut progress = CopyProgress { scanned, scaled, copied: 0, end: 0, largest: T::Real::ZERO };
        self.take(source, (spike.rows(), 0), &mut progress);
        spike.scale(&self.scale);
        progress
    }

    /// Copy the columns before `columns` and scale their rows.
    fn copy_until(&mut self, source: &BandSource<'_, '_, T>, columns: usize, progress: &mut CopyProgress<T::Real>) {
        self.take(source, (columns + self.size.lower, columns), progress);
    }

    /// Compute the scales of the first `rows` rows and copy the first `columns` columns.
    fn take(
        &mut self,
        source: &BandSource<'_, '_, T>,
        (rows, columns): (usize, usize),
        progress: &mut CopyProgress<T::Real>,
    ) {
        let job = BandCopy {
            from: source.rectangle(),
            to: &mut self.elements,
            origin: self.origin,
            stride: self.stride,
            scale: &mut self.scale,
            rows: rows.min(self.size.rows),
            columns,
            progress: *progress,
        };
        *progress = job.run_on(self.simd);
    }

    /// The largest element of columns j … j + width − 1 of U.
    fn largest_of_u(&self, j: usize, width: usize) -> T::Real {
        let elements = &self.elements[self.index(0, 0) + j * (self.stride + 1) - self.fill..];
        let (step, height) = (self.stride + 1, self.fill + 1);
        Largest { elements, step, height, columns: width }.run_on(self.simd)
    }
}

/// The largest entry of U divided by that of the matrix.
fn pivot_growth<R: RealScalar>([of_matrix, of_u]: [R; 2]) -> Option<f64> {
    Some(of_u.to_f64() / of_matrix.to_f64()).filter(|growth| growth.is_finite())
}

/// The options of the decision, with scaled partial pivoting if it allows no row exchanges.
pub(crate) fn pivoted<R: RealScalar>(decision: &Decision) -> FactorOptions<'_, R> {
    match decision.options.pivoting {
        Pivoting::None => FactorOptions { pool: Some(&decision.pool), ..FactorOptions::scaled(decision.options.simd) },
        _ => FactorOptions::new(decision),
    }
}

#[cfg(test)]
mod tests {
    use super::{BandLu, BandSource, FactorOptions};
    use crate::Simd;
    use crate::{Banded, Determinant, Factor, Inspect, Method, Norm, Plan};

    /// Irregular entries between −1 and 1.
    fn entry(k: usize) -> f64 {
        ((k * k) as f64 * 0.618_033_988_749_894_9 + k as f64 * 0.237).fract() * 2.0 - 1.0
    }

    /// x of two right-hand sides with A or its transpose, and the determinant; `None` if the condition exceeds 10⁶.
    fn solve(
        a: &Banded<'_, f64>,
        (method, simd): (Method, Simd),
        transposed: bool,
    ) -> Option<(Vec<f64>, Determinant<f64>)> {
        let factor = Plan::new(a.shape()).method(method).simd(simd).factor(a).unwrap();
        if !factor.rcond(Norm::One).is_ok_and(|rcond| rcond >= 1e-6) {
            return None;
        }
        let mut x: Vec<f64> = (0..2 * a.n()).map(entry).collect();
        let solved = if transposed { factor.solve_transpose_in_place(&mut x) } else { factor.solve_in_place(&mut x) };
        let report = solved.unwrap();
        assert!(report.backward_error <= 8.0 * f64::EPSILON && report.refinement_steps == 0, "{report:?}");
        Some((x, factor.determinant().unwrap()))
    }

    /// Elimination in registers and in memory does the same operations, except that some are fused. x and determinants therefore agree to
    /// 100ε times the condition. The sizes are around the widths of windows and vectors.
    #[test]
    fn elimination_in_registers_and_in_memory_agree() {
        let narrow = [(1, 1), (1, 3), (2, 2), (3, 1), (4, 4), (5, 7), (7, 7), (8, 1), (8, 8), (9, 2), (16, 0), (0, 5)];
        let (mut compared, mut all) = (0, 0);
        for (lower, upper) in narrow.into_iter().chain([(12, 13), (20, 18), (40, 30), (70, 5)]) {
            for n in [1, 2, lower + 1, lower + upper + 1, 17, 63, 64, 65, 150, 300] {
                let bands: Vec<f64> = (0..n * (lower + upper + 1)).map(|k| entry(k + 7 * n)).collect();
                let a = Banded::new(n, lower, upper, &bands).unwrap();
                for (method, transposed) in
                    [Method::Pivoted, Method::Spike].iter().flat_map(|m| [(*m, false), (*m, true)])
                {
                    all += 1;
                    let one = solve(&a, (method, Simd::Avx512.or_best()), transposed);
                    let Some(((x, one), (other, two))) = one.zip(solve(&a, (method, Simd::Portable), transposed))
                    else {
                        continue;
                    };
                    let context = format!("{lower} {upper} {n} {method:?} {transposed}");
                    assert!(
                        one.phase == two.phase && (one.log_abs - two.log_abs).abs() < 1e-8,
                        "{context} {one:?} {two:?}"
                    );
                    let size = other.iter().fold(0.0_f64, |size, v| size.max(v.abs()));
                    let wrong = x.iter().zip(&other).position(|(a, b)| !((a - b).abs() <= 1e-8 * size));
                    assert_eq!(wrong, None, "{context}: {size:e}");
                    compared += 1;
                }
            }
        }
        assert!(2 * compared > all, "{compared} of {all}");
    }

    /// A threshold that no entry reaches leads to the elimination column by column.
    #[test]
    fn elimination_by_rows_and_by_columns_agree() {
        for (lower, upper) in [(0, 2), (1, 2), (2, 2), (3, 1), (3, 3), (4, 0), (1, 4), (4, 4)] {
            // Few steps, so that rounding does not accumulate.
            for n in [1, 2, 3, 5, 9, 12] {
                let bands: Vec<f64> = (0..n * (lower + upper + 1)).map(|k| entry(k + 5 * n)).collect();
                let a = Banded::new(n, lower, upper, &bands).unwrap();
                let plan = Plan::new(a.shape()).method(Method::Pivoted);
                let [by_rows, by_columns] = [0.0, 1e-300].map(|noise| {
                    let decision = plan.clone().noise_threshold(noise).decision;
                    BandLu::new(&BandSource::whole(&a), FactorOptions::new(&decision)).unwrap()
                });
                let context = format!("{lower} {upper} {n}");
                let ((one, of_one), (two, of_two)) = (by_rows, by_columns);
                assert!(*one.exchange == *two.exchange && *one.scale == *two.scale, "{context}");
                assert_eq!(of_one.singular, of_two.singular, "{context}");
                let close = |a: f64, b: f64| (a - b).abs() <= 1e-9 * (1.0 + a.abs());
                assert!(one.inverse.iter().zip(&*two.inverse).all(|(a, b)| close(*a, *b)), "{context}");
                for (i, j) in (0..n).flat_map(|i| (0..n).map(move |j| (i, j))) {
                    if i <= j + lower && j <= i + one.fill {
                        let [a, b] = [&one, &two].map(|lu| lu.elements[lu.index(i, j)]);
                        assert!(close(a, b), "{context}: {i} {j} {a} {b}");
                    }
                }
            }
        }
    }

    #[test]
    fn reused_memory_changes_no_bit() {
        let narrow = [(600, 2, 2), (600, 3, 3), (601, 1, 4), (600, 4, 0), (600, 0, 3), (600, 4, 4)];
        for (n, lower, upper) in narrow.into_iter().chain([(8000, 8, 8), (3000, 12, 13), (1500, 40, 30)]) {
            let matrix = |seed: usize| {
                let bands = (0..n * (lower + upper + 1)).map(|k| entry(k + seed)).collect();
                Banded::from_vec(n, lower, upper, bands).unwrap()
            };
            let (first, second, rhs) = (matrix(1), matrix(2), vec![1.0; n]);
            for method in [Method::Pivoted, Method::Spike] {
                let plan = Plan::new(first.shape()).method(method);
                drop(plan.factor(&first).unwrap());
                let again = plan.factor(&second).unwrap();
                let fresh = Plan::new(first.shape()).method(method).factor(&second).unwrap();
                for transposed in [false, true] {
                    let [again, fresh] = [&again, &fresh].map(|factor| {
                        let mut x = rhs.clone();
                        match transposed {
                            false => factor.solve_in_place(&mut x).map(|_| x),
                            true => factor.solve_transpose_in_place(&mut x).map(|_| x),
                        }
                    });
                    assert!(again == fresh, "{n} {lower} {upper} {method:?} {transposed}");
                }
            }
        }
    }
}
