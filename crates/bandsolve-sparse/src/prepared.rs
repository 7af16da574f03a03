//! Repeated products with the same matrix.

use crate::csr::{Csr, CsrWords};
use crate::product::weighted;
use crate::reduce::{ProductPlan, ProductSchedule};
use crate::rows::{Ragged, each_row};
use crate::sliced::SlicedMatrix;
use crate::tuning::{
    MIN_PANELS, PANEL_AHEAD, PANEL_MAX_ROW_ENTRIES, PANEL_NEAR_COLUMNS, PANEL_SUMS_BYTES, PANELS_MIN_X_BYTES,
};
use bandsolve::dyn_stack::PodStack;
use bandsolve::matrix::Index;
use bandsolve::memory::{allocate, copied, reserved, zeroed};
use bandsolve::{Error, LinearOperator, Op, Result, Scalar};
use bandsolve_kernel::by_type;
use bandsolve_kernel::prefetch::prefetch;
use bandsolve_kernel::spread::{RowsOf, each_chunk};
use core::ops::Range;
use std::sync::{Mutex, PoisonError};

/// A matrix that is prepared for many products A·x. The set-up chooses one of three formats.
///
/// - **Panels of rows**, if the columns of neighboring entries are far apart, and x is larger than a processor's own cache. The entries of a panel are
///   sorted by column. The product then reads x from beginning to end. Only the sums of the panel are accessed at random, and they fit the cache.
/// - **Slices of eight rows**, if most rows have their entries at the same distances from the diagonal as the next rows, as for stencils. One column
///   index serves eight entries, which are multiplied at once. Slices with equal values share them.
/// - **The matrix itself**, otherwise.
///
/// The result is the same for any number of threads. In panels, the entries of a row are added in the order of the panel, otherwise in the order of the
/// row.
///
/// # Examples
/// ```
/// use bandsolve_sparse::{Csr, KrylovMethod, KrylovSolver, PreparedProduct};
/// let a = Csr::<f64>::from_triplets(2, 2, &[(0, 0, 4.0), (0, 1, 1.0), (1, 1, 2.0)])?;
/// let prepared = PreparedProduct::new(&a)?;
/// let mut x = [0.0; 2];
/// let report = KrylovSolver::new(KrylovMethod::Bicgstab).rtol(1e-12).solve(&prepared, None, &[5.0, 2.0], &mut x)?;
/// assert!(report.converged() && !prepared.is_in_panels());
/// let mut y = [1.0, 2.0];
/// prepared.product(bandsolve::Op::Plain, 2.0, &[1.0, 1.0], -1.0, &mut y)?;
/// assert_eq!(y, [9.0, 2.0]);
/// # Ok::<(), bandsolve::Error>(())
/// ```
///
/// # Cost
/// Two flops per entry and vector. In panels, one more if α is not 1. The set-up costs two passes over the entries.
///
/// The additional memory ([`bytes`](Self::bytes)) of panels is one value and 4 bytes per entry. The additional memory of slices is 2 bytes per row, plus
/// at most one value and half a byte per entry. It serves only A·x. Products with Aᵀ and Aᴴ use the matrix itself.
#[derive(Debug)]
pub struct PreparedProduct<'a, T: Scalar, I: Index> {
    a: Csr<'a, T, I>,
    plan: ProductPlan,
    form: PreparedForm<T>,
}

/// The format of a matrix for its products.
#[derive(Debug)]
enum PreparedForm<T: Scalar> {
    AsGiven,
    Panels(RowPanels<T>),
    Slices(SlicedMatrix<'static, T>),
}

/// Number of columns in the lower half of a place. The upper half is the row in the panel.
const BLOCK: usize = 1 << 16;

/// Number of rows of a panel.
fn panel_rows<T>(rows: usize) -> usize {
    (PANEL_SUMS_BYTES / size_of::<T>()).min(BLOCK).min(rows.div_ceil(MIN_PANELS)).max(1)
}

/// The entries of a matrix in panels of rows. Each panel is sorted by column.
#[derive(Debug)]
pub(crate) struct RowPanels<T> {
    columns: usize,
    /// Number of rows of a panel.
    rows: usize,
    /// The first entry of each block of columns of each panel, and the end of the last.
    starts: Vec<usize>,
    /// Row in the panel, column in the block.
    places: Vec<u32>,
    values: Vec<T>,
    /// Rows that are in no panel.
    long: Vec<usize>,
}

by_type! {
    /// [`prepared`] for each number type, compiled once, in this crate.
    struct PrepareMatrix<'a>: (CsrWords<'a, T>, bool) => Result<PreparedForm<T>> = prepared;
    /// [`by_panels`] for each number type, compiled once, in this crate.
    struct MultiplyPanels<'a>: PanelsCall<'a, T> => () = by_panels;
    /// [`by_slices`] for each number type, compiled once, in this crate.
    struct MultiplySlices<'a>: SlicesCall<'a, T> => () = by_slices;
}

/// Convert a matrix to panels, or otherwise to slices if its rows allow this.
///
/// # Errors
/// [`Error::OutOfMemory`].
fn prepared<T: Scalar>((a, in_panels): (CsrWords<'_, T>, bool)) -> Result<PreparedForm<T>> {
    match (a, in_panels) {
        (CsrWords::Narrow(a), true) => RowPanels::new(&a, panel_rows::<T>(a.rows())).map(PreparedForm::Panels),
        (CsrWords::Wide(a), true) => RowPanels::new(&a, panel_rows::<T>(a.rows())).map(PreparedForm::Panels),
        (CsrWords::Narrow(a), false) => PreparedForm::in_slices(&a),
        (CsrWords::Wide(a), false) => match a.narrow() {
            Ok(a) => PreparedForm::in_slices(&a),
            Err(error @ Error::OutOfMemory { .. }) => Err(error),
            Err(_) => Ok(PreparedForm::AsGiven),
        },
    }
}

impl<T: Scalar> PreparedForm<T> {
    fn in_slices(a: &Csr<'_, T, u32>) -> Result<Self> {
        Ok(SlicedMatrix::in_slices(a)?.map_or(Self::AsGiven, Self::Slices))
    }
}

/// y = α·A·x + β·y, or y = rhs − A·x.
struct SlicesCall<'a, T: Scalar> {
    slices: &'a SlicedMatrix<'static, T>,
    alpha: T,
    x: &'a [T],
    beta: T,
    rhs: Option<&'a [T]>,
    y: &'a mut [T],
}

fn by_slices<T: Scalar>(call: SlicesCall<'_, T>) {
    let SlicesCall { slices, alpha, x, beta, rhs, y } = call;
    match rhs {
        Some(rhs) => slices.residual(x, rhs, y),
        None if alpha == T::ONE && beta == T::ZERO => slices.each_sum(x, y, &|_, sum, y| *y = sum),
        None => slices.each_sum(x, y, &|_, sum, y| weighted(alpha, sum, beta, y)),
    }
}

/// y = α·A·x + β·y. For rows that are in no panel, y = β·y.
struct PanelsCall<'a, T> {
    panels: &'a RowPanels<T>,
    alpha: T,
    x: &'a [T],
    beta: T,
    y: &'a mut [T],
}

fn by_panels<T: Scalar>(call: PanelsCall<'_, T>) {
    let PanelsCall { panels, alpha, x, beta, y } = call;
    let count = y.len().div_ceil(panels.rows);
    each_chunk((count, 1), RowsOf(y, panels.rows), &|panel, y| {
        if beta == T::ZERO {
            y.0.fill(T::ZERO);
        } else if beta != T::ONE {
            y.0.iter_mut().for_each(|y| *y = beta * *y);
        }
        if alpha == T::ONE {
            panels.add(panel, |value| value, x, y.0);
        } else {
            panels.add(panel, |value| alpha * value, x, y.0);
        }
    });
}

impl<T: Scalar> RowPanels<T> {
    fn new<I: Index>(a: &Csr<'_, T, I>, rows: usize) -> Result<Self> {
        let (count, blocks) = (a.rows().div_ceil(rows), a.columns().div_ceil(BLOCK));
        let is_long = |i: &usize| a.range(*i).len() > PANEL_MAX_ROW_ENTRIES;
        let mut long: Vec<usize> = reserved((0..a.rows()).filter(is_long).count())?;
        long.extend((0..a.rows()).filter(is_long));
        let mut ends = allocate(count + 1, 0)?;
        for panel in 0..count {
            let panel_rows = panel * rows..((panel + 1) * rows).min(a.rows());
            let apart = long.iter().filter(|i| panel_rows.contains(i)).map(|i| a.range(*i).len()).sum::<usize>();
            ends[panel + 1] = ends[panel] + a.range(panel_rows.end - 1).end - a.range(panel_rows.start).start - apart;
        }
        let entries = ends[count];
        let (mut places, mut values) = (zeroed(entries)?, zeroed(entries)?);
        let mut starts = allocate(count * blocks + 1, 0)?;
        let failed = Mutex::new(None);
        let arrays = (Ragged { values: &mut places, starts: &ends }, Ragged { values: &mut values, starts: &ends });
        let (begins, last) = starts.split_at_mut(count * blocks);
        last[0] = entries;
        if blocks > 0 {
            each_chunk((count, 1), (RowsOf(begins, blocks), arrays), &|panel, (begins, (places, values))| {
                let panel_rows = panel * rows..((panel + 1) * rows).min(a.rows());
                let next = match by_columns(a, panel_rows, places.values, values.values) {
                    Ok(next) => next,
                    Err(error) => return *failed.lock().unwrap_or_else(PoisonError::into_inner) = Some(error),
                };
                let begin = |block: usize| ends[panel] + next[block * (BLOCK / PANEL_NEAR_COLUMNS)] as usize;
                begins.0.iter_mut().enumerate().for_each(|(block, to)| *to = begin(block));
            });
        }
        match failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
            Some(error) => Err(error),
            None => Ok(Self { columns: a.columns(), rows, starts, places, values, long }),
        }
    }

    /// Add the products of a panel to y.
    #[inline(always)]
    fn add(&self, panel: usize, weight: impl Fn(T) -> T, x: &[T], y: &mut [T]) {
        let blocks = self.columns.div_ceil(BLOCK);
        for block in 0..blocks {
            let x = &x[block * BLOCK..self.columns.min((block + 1) * BLOCK)];
            let [from, end] = [0, 1].map(|k| self.starts[panel * blocks + block + k]);
            let (places, values) = (&self.places[from..end], &self.values[from..end]);
            for (k, (place, value)) in places.iter().zip(values).enumerate() {
                if let Some(place) = places.get(k + PANEL_AHEAD) {
                    prefetch(x.as_ptr().wrapping_add(column_of(*place)));
                    prefetch(y.as_ptr().wrapping_add(row_of(*place)));
                }
                y[row_of(*place)] += weight(*value) * x[column_of(*place)];
            }
        }
    }

    fn bytes(&self) -> usize {
        size_of_val(&self.places[..]) + size_of_val(&self.values[..]) + size_of_val(&self.starts[..])
    }
}

#[inline(always)]
fn row_of(place: u32) -> usize {
    (place >> 16) as usize
}

#[inline(always)]
fn column_of(place: u32) -> usize {
    (place & 0xffff) as usize
}

/// Sort the entries of some rows by column. Returns the place where each group of [`NEAR`] columns begins.
fn by_columns<T: Scalar, I: Index>(
    a: &Csr<'_, T, I>,
    rows: Range<usize>,
    places: &mut [u32],
    values: &mut [T],
) -> Result<Vec<u32>> {
    let is_in_panel = |i: &usize| a.range(*i).len() <= PANEL_MAX_ROW_ENTRIES;
    let mut begins = allocate(a.columns().div_ceil(PANEL_NEAR_COLUMNS) + 1, 0)?;
    for i in rows.clone().filter(is_in_panel) {
        a.row(i).for_each(|(j, _)| begins[j / PANEL_NEAR_COLUMNS + 1] += 1);
    }
    (1..begins.len()).for_each(|k| begins[k] += begins[k - 1]);
    let mut next = copied(&begins)?;
    for i in rows.clone().filter(is_in_panel) {
        for (j, value) in a.row(i) {
            let at = next[j / PANEL_NEAR_COLUMNS] as usize;
            next[j / PANEL_NEAR_COLUMNS] += 1;
            places[at] = (((i - rows.start) as u32) << 16) | (j % BLOCK) as u32;
            values[at] = value;
        }
    }
    Ok(begins)
}

impl<'a, T: Scalar, I: Index> PreparedProduct<'a, T, I> {
    /// Prepare a matrix. It borrows the matrix.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn new(a: &'a Csr<'_, T, I>) -> Result<Self> {
        Self::from_csr(a.view())
    }

    /// Prepare a matrix that the product then owns. If the matrix owns its arrays, the product has the lifetime `'static`.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn from_csr(a: Csr<'a, T, I>) -> Result<Self> {
        let plan = ProductPlan::new(&a);
        let large = a.columns() * size_of::<T>() >= PANELS_MIN_X_BYTES && u32::try_from(a.entries()).is_ok();
        // A panel has entries in most cache lines of x.
        let dense = a.entries() / a.rows().max(1) * panel_rows::<T>(a.rows()) * (64 / size_of::<T>()) >= a.columns();
        let in_panels = plan.is_scattered() && large && dense;
        let form = T::by_type::<PrepareMatrix<'_>>((a.words(), in_panels))?;
        Ok(Self { a, plan, form })
    }

    /// The matrix.
    pub fn matrix(&self) -> &Csr<'a, T, I> {
        &self.a
    }

    /// Whether the product uses panels.
    pub fn is_in_panels(&self) -> bool {
        matches!(self.form, PreparedForm::Panels(_))
    }

    /// Whether the product uses slices.
    pub fn is_in_slices(&self) -> bool {
        matches!(self.form, PreparedForm::Slices(_))
    }

    /// Size of the additional memory in bytes.
    pub fn bytes(&self) -> usize {
        match &self.form {
            PreparedForm::AsGiven => 0,
            PreparedForm::Panels(panels) => panels.bytes(),
            PreparedForm::Slices(slices) => slices.bytes(),
        }
    }

    /// Compute y = α·op(A)·x + β·y for one or more vectors, as [`Csr::product`] does.
    ///
    /// If β is 0, y is not read. In panels and slices, each vector costs one pass over the matrix. In panels, α multiplies the entries.
    ///
    /// # Shapes
    /// x and y contain the same number of vectors, one after the other.
    ///
    /// # Errors
    /// [`Error::Shape`] if the lengths of x and y do not match.
    pub fn product(&self, op: Op, alpha: T, x: &[T], beta: T, y: &mut [T]) -> Result<()> {
        if op != Op::Plain || matches!(self.form, PreparedForm::AsGiven) {
            return self.a.product(op, alpha, x, beta, y);
        }
        self.a.check_vectors(op, x, y)?;
        let vectors = x.chunks_exact(self.a.columns()).zip(y.chunks_exact_mut(self.a.rows()));
        vectors.for_each(|(x, y)| self.multiply((alpha, x), (beta, y)));
        Ok(())
    }

    /// y = α·A·x + β·y for one vector.
    fn multiply(&self, (alpha, x): (T, &[T]), (beta, y): (T, &mut [T])) {
        match &self.form {
            PreparedForm::AsGiven => self.plan.product(&self.a, alpha, x, beta, y),
            PreparedForm::Panels(panels) => self.by_panels(panels, (alpha, x), (beta, y)),
            PreparedForm::Slices(slices) => {
                T::by_type::<MultiplySlices<'_>>(SlicesCall { slices, alpha, x, beta, rhs: None, y });
            }
        }
    }

    fn by_panels(&self, panels: &RowPanels<T>, (alpha, x): (T, &[T]), (beta, y): (T, &mut [T])) {
        T::by_type::<MultiplyPanels<'_>>(PanelsCall { panels, alpha, x, beta, y: &mut *y });
        // The elements of y are β·y so far.
        let beta = if beta == T::ZERO { T::ZERO } else { T::ONE };
        for i in &panels.long {
            let plan = self.plan.clone().with_rows(*i..i + 1).with_schedule(ProductSchedule::Balanced);
            plan.product(&self.a, alpha, x, beta, &mut y[*i..i + 1]);
        }
    }
}

impl<T: Scalar, I: Index> LinearOperator<T> for PreparedProduct<'_, T, I> {
    fn rows(&self) -> usize {
        self.a.rows()
    }

    fn columns(&self) -> usize {
        self.a.columns()
    }

    fn apply(&self, x: &[T], y: &mut [T], _: &mut PodStack) -> Result<()> {
        self.multiply((T::ONE, x), (T::ZERO, y));
        Ok(())
    }

    fn apply_op(&self, op: Op, x: &[T], y: &mut [T], stack: &mut PodStack) -> Result<()> {
        if op == Op::Plain { self.apply(x, y, stack) } else { self.a.apply_op(op, x, y, stack) }
    }

    fn residual(&self, x: &[T], rhs: &[T], r: &mut [T], stack: &mut PodStack) -> Result<()> {
        match &self.form {
            PreparedForm::AsGiven => return self.a.residual(x, rhs, r, stack),
            PreparedForm::Panels(panels) => {
                self.by_panels(panels, (T::ONE, x), (T::ZERO, r));
                each_row(r, &|i, r| {
                    *r = rhs[i] - *r;
                    0
                });
            }
            PreparedForm::Slices(slices) => {
                let call = SlicesCall { slices, alpha: T::ONE, x, beta: T::ZERO, rhs: Some(rhs), y: r };
                T::by_type::<MultiplySlices<'_>>(call);
            }
        }
        Ok(())
    }

    fn accurate_residual(&self, x: &[T], rhs: &[T], r: &mut [T], stack: &mut PodStack) -> Result<Option<f64>> {
        self.a.accurate_residual(x, rhs, r, stack)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bandsolve::dyn_stack::PodBuffer;
    use bandsolve_gallery::Random;

    /// Create rows of these lengths. All numbers are multiples of 2⁻⁶, so a sum is the same for any order.
    fn matrix(columns: usize, lengths: &[usize], random: &mut Random) -> Csr<'static, f64, u32> {
        let mut pointers = vec![0];
        lengths.iter().for_each(|length| pointers.push(pointers[pointers.len() - 1] + *length as u32));
        let entries = lengths.iter().sum();
        let indices: Vec<u32> = (0..entries).map(|_| random.below(columns) as u32).collect();
        let values: Vec<f64> = (0..entries).map(|_| (random.below(2001) as f64 - 1000.0) / 64.0).collect();
        Csr::new(columns, pointers, indices, values).unwrap()
    }

    fn vector(n: usize, random: &mut Random) -> Vec<f64> {
        (0..n).map(|_| (random.below(2001) as f64 - 1000.0) / 64.0).collect()
    }

    #[test]
    fn panels_multiply() {
        let mut random = Random::new(3);
        let mut mixed: Vec<usize> = (0..3000).map(|_| random.below(9)).collect();
        (mixed[0], mixed[1234], mixed[2999]) = (PANEL_MAX_ROW_ENTRIES + 1, 20_000, PANEL_MAX_ROW_ENTRIES);
        for lengths in [vec![], vec![0], vec![5], vec![0; 100], vec![7; 1000], mixed] {
            for (columns, rows) in [(1, 1), (70, 3), (BLOCK, 64), (BLOCK + 1, 1000), (3 * BLOCK - 5, BLOCK)] {
                let a = matrix(columns, &lengths, &mut random);
                let x = vector(columns, &mut random);
                let panels = RowPanels::new(&a, rows).unwrap();
                let mut y = vec![f64::NAN; a.rows()];
                let sum = |i: usize| if panels.long.contains(&i) { 0.0 } else { a.row_times(i, &x) };
                for (alpha, beta) in [(1.0, 0.0), (1.0, 1.0), (-0.5, 0.25)] {
                    let start = if beta == 0.0 { vec![f64::NAN; a.rows()] } else { vector(a.rows(), &mut random) };
                    y.copy_from_slice(&start);
                    by_panels(PanelsCall { panels: &panels, alpha, x: &x, beta, y: &mut y });
                    for (i, y) in y.iter().enumerate() {
                        let sum = alpha * sum(i) + if beta == 0.0 { 0.0 } else { beta * start[i] };
                        assert_eq!(*y, sum, "{} rows, {columns} columns, panels of {rows}, row {i}", lengths.len());
                    }
                }
            }
        }
    }

    /// Slices for the rows of a stencil give the same sums, bit for bit, as the matrix itself.
    fn slices_multiply<I: Index>() {
        let mut random = Random::new(5);
        let indices = |from: &[u32]| from.iter().map(|i| I::from_usize(*i as usize)).collect::<Vec<_>>();
        for (side, alike) in [(1, false), (3, false), (40, true), (67, true)] {
            let stencil = crate::nine_point([[-0.2, -0.1, -0.2], [-1.0, 3.0, -1.0], [-0.2, -0.1, -0.2]], (side, side));
            let (pointers, columns, values) = stencil.parts();
            // With and without repeated values, and with more columns than rows.
            for repeated in [true, false] {
                let values =
                    values.iter().map(|v| if repeated { *v } else { random.uniform(-1.0, 1.0) }).collect::<Vec<_>>();
                let n = stencil.rows();
                let a = Csr::new(n + 3, indices(pointers), indices(columns), values).unwrap();
                let prepared = PreparedProduct::new(&a).unwrap();
                assert_eq!((prepared.is_in_slices(), prepared.is_in_panels()), (alike, false), "side {side}");
                let bytes = if repeated { 0..3 * a.entries() } else { 4 * a.entries()..9 * a.entries() };
                assert!(!alike || bytes.contains(&prepared.bytes()), "{} bytes", prepared.bytes());
                let x: Vec<f64> = (0..2 * (n + 3)).map(|_| random.uniform(-1.0, 1.0)).collect();
                let start: Vec<f64> = (0..2 * n).map(|_| random.uniform(-1.0, 1.0)).collect();
                for (alpha, beta) in [(1.0, 0.0), (-0.5, 0.0), (1.0, 1.0), (0.3, -0.7)] {
                    let (mut y, mut expected) = (start.clone(), start.clone());
                    if beta == 0.0 {
                        y.fill(f64::NAN);
                    }
                    prepared.product(Op::Plain, alpha, &x, beta, &mut y).unwrap();
                    a.product(Op::Plain, alpha, &x, beta, &mut expected).unwrap();
                    assert!(y == expected, "side {side}, {alpha}, {beta}");
                }
                let stack = &mut PodBuffer::new(bandsolve::dyn_stack::StackReq::EMPTY);
                let (mut r, mut expected) = (vec![f64::NAN; n], vec![f64::NAN; n]);
                prepared.residual(&x[..n + 3], &start[..n], &mut r, PodStack::new(stack)).unwrap();
                a.residual(&x[..n + 3], &start[..n], &mut expected, PodStack::new(stack)).unwrap();
                assert!(r == expected);
            }
        }
        // Rows without entries form no slice.
        let empty = Csr::<f64, u32>::new(0, vec![0; 33], vec![], vec![]).unwrap();
        let prepared = PreparedProduct::new(&empty).unwrap();
        let mut y = [f64::NAN; 32];
        prepared.product(Op::Plain, 1.0, &[], 0.0, &mut y).unwrap();
        assert!(!prepared.is_in_slices() && prepared.bytes() == 0 && y == [0.0; 32]);
    }

    #[test]
    fn rows_that_are_alike_are_kept_in_slices() {
        slices_multiply::<u32>();
        slices_multiply::<u64>();
    }

    #[test]
    fn scattered_matrices_are_kept_in_panels() {
        let mut random = Random::new(4);
        let columns = PANELS_MIN_X_BYTES / 8;
        let mut lengths = vec![5; columns];
        (lengths[7], lengths[8]) = (40_000, 30_000);
        let scattered = matrix(columns, &lengths, &mut random);
        let near = Csr::<f64, u32>::from_triplets(3, 3, &[(0, 1, 1.0), (2, 2, 3.0)]).unwrap();
        let empty = Csr::<f64, u32>::from_triplets(0, 0, &[]).unwrap();
        let stack = &mut PodBuffer::new(bandsolve::dyn_stack::StackReq::EMPTY);
        for a in [&scattered, &near, &empty] {
            let prepared = PreparedProduct::new(a).unwrap();
            assert_eq!(prepared.is_in_panels(), a.rows() > 3);
            assert_eq!(prepared.bytes() > 12 * (a.entries() - 70_000.min(a.entries())), a.rows() > 3);
            let (x, rhs) = (vector(a.columns(), &mut random), vector(a.rows(), &mut random));
            let mut y = vec![f64::NAN; a.rows()];
            prepared.apply(&x, &mut y, PodStack::new(stack)).unwrap();
            assert!((0..a.rows()).all(|i| y[i] == a.row_times(i, &x)));
            prepared.residual(&x, &rhs, &mut y, PodStack::new(stack)).unwrap();
            assert!((0..a.rows()).all(|i| y[i] == rhs[i] - a.row_times(i, &x)));
            // Several vectors, with earlier contents of y.
            let (two, mut start) = (vector(2 * a.columns(), &mut random), vector(2 * a.rows(), &mut random));
            let mut expected = start.clone();
            prepared.product(Op::Plain, 0.5, &two, -0.25, &mut start).unwrap();
            a.product(Op::Plain, 0.5, &two, -0.25, &mut expected).unwrap();
            assert!(start == expected);
            assert!(prepared.product(Op::Plain, 1.0, &two, 0.0, &mut vec![0.0; a.rows() + 1]).is_err());
            let (mut got, mut expected) = (vec![0.0; a.columns()], vec![0.0; a.columns()]);
            prepared.apply_op(Op::Transpose, &rhs, &mut got, PodStack::new(stack)).unwrap();
            a.product(Op::Transpose, 1.0, &rhs, 0.0, &mut expected).unwrap();
            assert!(got == expected);
        }
    }
}
