//! SPIKE with stored spikes: each partition is solved by itself, and the coarse system couples the tips of the spikes.
//!
//! T_p denotes the rows and columns of partition p. a and c are the entries of its first and last row outside of T_p. f and l are the
//! first and the last unknown of a partition, e₁ and e₋₁ the first and the last unit vector. Then
//!
//! ```text
//! T_p w_p = a e₁,   T_p v_p = c e₋₁,   T_p y_p = d_p
//! x_p = y_p − w_p l_(p−1) − v_p f_(p+1)
//! ```
//!
//! The spikes w and v are stored completely. The coarse system consists of the rows of the last equation for l_p and f_(p+1), where
//! `[1]` and `[−1]` denote the first and the last entry of a vector:
//!
//! ```text
//! l_p + w_p[−1] l_(p−1) + v_p[−1] f_(p+1) = y_p[−1]
//! f_(p+1) + w_(p+1)[1] l_p + v_(p+1)[1] f_(p+2) = y_(p+1)[1]
//! ```
//!
//! With the unknowns in the order l₀, f₁, l₁, f₂, …, this is a band with two diagonals on each side. Banded LU with scaled partial pivoting
//! solves it. The block cyclic reduction of the thesis has 2 × 2 pivots that can be singular although the matrix is regular. The
//! band costs little compared with the partitions.
//!
//! The method fails if a partition T_p is singular, and is inaccurate if it is nearly singular. Each thread works on whole partitions.
//! Their size does not depend on the number of threads.
//!
//! Source: Chang, thesis, section 3.1 and 3.3.3; Polizzi, Sameh, Parallel Comput. 32 (2006). a, b, c, d → sub, diag, sup,
//! rhs; h (head), t (tail) → first, last.

use crate::decision::Options;
use crate::error::Result;
use crate::matrix::Banded;
use crate::memory::{allocate, array, buffer, filled, places};
use crate::methods::cr::Cr;
use crate::methods::stored::Elimination;
use crate::pivoted::band_lu::BandLu;
use crate::tuning::SPIKE_PARTITION_ROWS;
use bandsolve_kernel::memory::{Array, MemoryPool};
use bandsolve_kernel::rows::Rows;
use bandsolve_kernel::spread::{RowsOf, spread};
use bandsolve_kernel::{Scalar, Simd};
use core::ops::Range;
use dyn_stack::{PodStack, StackReq};

/// Factors by SPIKE with cyclic reduction inside partitions.
pub(crate) type SpikeCr<T> = Spikes<T, Cr<T>>;

/// Factors of an open system: the factors of E and 2 words per row.
///
/// # Cost
/// Factor: the cost of E and of two right-hand sides of E. Solve: the cost of E and, per row and right-hand side, 4 flops, 3 words read
/// and 1 word written.
#[derive(Debug)]
pub(crate) struct Spikes<T: Scalar, E> {
    cut: RowCut,
    inner: Vec<E>,
    /// w and v in each row.
    spikes: Array<[T; 2]>,
    /// The factors of the coarse system; `None` if there is only one partition.
    coarse: Option<BandLu<T>>,
    threads: usize,
    singular: bool,
}

/// The partitions, all of the same size except the last one, which is less than twice as long.
#[derive(Debug, Clone, Copy)]
struct RowCut {
    n: usize,
    rows: usize,
}

impl RowCut {
    fn count(&self) -> usize {
        (self.n / self.rows).max(1)
    }

    /// Rows of partition `p`.
    fn rows(&self, p: usize) -> Range<usize> {
        p * self.rows..if p + 1 == self.count() { self.n } else { (p + 1) * self.rows }
    }

    /// Rows of partition `p` in an array that begins with partition `first`.
    fn rows_from(&self, first: usize, p: usize) -> Range<usize> {
        let Range { start, end } = self.rows(p);
        start - first * self.rows..end - first * self.rows
    }
}

impl<T: Scalar, E: Elimination<T>> Spikes<T, E> {
    /// Factor the partitions and compute their spikes.
    fn factor(
        rows: &Rows<'_, T>,
        options: &Options,
        pool: &MemoryPool,
        cut: RowCut,
    ) -> Result<(Vec<E>, Array<[T; 2]>)> {
        let alone = Options { threads: 1, ..*options };
        let mut inner = places::<E>(cut.count())?;
        let mut spikes = array(cut.n, Some(pool))?;
        let out = (&mut inner[..], RowsOf(&mut spikes, cut.rows));
        spread(options.threads.min(cut.count()), 0..cut.count(), out, &|partitions, (inner, RowsOf(spikes, _))| {
            for (p, inner) in partitions.clone().zip(inner) {
                let spikes = &mut spikes[cut.rows_from(partitions.start, p)];
                *inner = Some(Self::factor_partition(rows, (&alone, pool), cut.rows(p), spikes));
            }
        });
        Ok((filled(inner)?, spikes))
    }

    /// Factor the partition of the rows `part` and compute its spikes.
    fn factor_partition(
        rows: &Rows<'_, T>,
        (options, pool): (&Options, &MemoryPool),
        part: Range<usize>,
        to: &mut [[T; 2]],
    ) -> Result<E> {
        let (section, m) = (rows.section(part.clone()), part.len());
        let inner = E::new(&section, options, pool)?;
        let mut spikes = allocate(2 * m, T::ZERO)?;
        if part.start > 0 {
            spikes[0] = rows.row(part.start).0;
        }
        if part.end < rows.n() {
            spikes[2 * m - 1] = rows.row(part.end - 1).2;
        }
        let scratch = inner.scratch(2);
        let mut memory = buffer(scratch)?;
        inner.solve(&section, &mut spikes, PodStack::new(&mut memory));
        let (w, v) = spikes.split_at(m);
        to.iter_mut().zip(w.iter().zip(v)).for_each(|(to, (w, v))| *to = [*w, *v]);
        Ok(inner)
    }

    /// Factor the coarse system, and return whether it is singular.
    fn factor_coarse(spikes: &[[T; 2]], cut: RowCut, simd: Simd) -> Result<(BandLu<T>, bool)> {
        let n = 2 * (cut.count() - 1);
        let mut bands = allocate(5 * n, T::ZERO)?;
        let mut set = |i: usize, j: usize, v: T| bands[2 + i - j + 5 * j] = v;
        for p in 0..cut.count() - 1 {
            let (l, f) = (2 * p, 2 * p + 1);
            let boundary = cut.rows(p).end;
            let ([w_last, v_last], [w_first, v_first]) = (spikes[boundary - 1], spikes[boundary]);
            set(l, l, T::ONE);
            set(l, f, v_last);
            set(f, f, T::ONE);
            set(f, l, w_first);
            if l > 0 {
                set(l, l - 2, w_last);
            }
            if f + 2 < n {
                set(f, f + 2, v_first);
            }
        }
        BandLu::scaled(&Banded::from_vec(n, 2, 2, bands)?, simd)
    }

    /// Replace d by y in each partition.
    fn solve_partitions(&self, rows: &Rows<'_, T>, x: &mut [T], memory: &mut [u8]) {
        let (cut, each) = (self.cut, self.partition_bytes());
        let out = (RowsOf(x, cut.rows), RowsOf(memory, each));
        spread(self.threads, 0..cut.count(), out, &|partitions, (RowsOf(x, _), RowsOf(memory, _))| {
            for p in partitions.clone() {
                let x = &mut x[cut.rows_from(partitions.start, p)];
                // All partitions of this task use the same scratch, which stays in cache.
                self.inner[p].solve(&rows.section(cut.rows(p)), x, PodStack::new(&mut memory[..each]));
            }
        });
    }

    /// Bytes of scratch for one partition.
    fn partition_bytes(&self) -> usize {
        self.inner.iter().map(|inner| inner.scratch(1).unaligned_bytes_required()).max().unwrap_or(0)
    }

    /// Replace y by x in each partition, from the coarse unknowns l₀, f₁, l₁, …
    fn substitute(&self, tips: &[T], x: &mut [T]) {
        let cut = self.cut;
        spread(self.threads, 0..cut.count(), RowsOf(x, cut.rows), &|partitions, RowsOf(x, _)| {
            for p in partitions.clone() {
                let above = if p > 0 { tips[2 * p - 2] } else { T::ZERO };
                let below = tips.get(2 * p + 1).copied().unwrap_or(T::ZERO);
                let x = &mut x[cut.rows_from(partitions.start, p)];
                for (x, [w, v]) in x.iter_mut().zip(&self.spikes[cut.rows(p)]) {
                    *x -= *w * above + *v * below;
                }
            }
        });
    }
}

impl<T: Scalar, E: Elimination<T>> Elimination<T> for Spikes<T, E> {
    const NEEDS_SCRATCH: bool = true;

    fn new(rows: &Rows<'_, T>, options: &Options, pool: &MemoryPool) -> Result<Self> {
        let cut = RowCut { n: rows.n(), rows: options.partition_rows.unwrap_or(SPIKE_PARTITION_ROWS).max(3) };
        let (inner, spikes) = Self::factor(rows, options, pool, cut)?;
        let threads = options.threads.min(cut.count());
        let mut spike = Self { cut, inner, spikes, coarse: None, threads, singular: false };
        if cut.count() > 1 {
            let (coarse, singular) = Self::factor_coarse(&spike.spikes, cut, options.simd)?;
            (spike.coarse, spike.singular) = (Some(coarse), singular);
        }
        spike.singular |= spike.inner.iter().any(E::is_singular);
        Ok(spike)
    }

    fn is_singular(&self) -> bool {
        self.singular
    }

    /// Scratch for the coarse system and for each partition, one column at a time.
    fn scratch(&self, _n_rhs: usize) -> StackReq {
        let tips = StackReq::new::<T>(2 * (self.cut.count() - 1));
        let window = StackReq::new::<T>(self.coarse.as_ref().map_or(0, |coarse| coarse.words(1)));
        tips.and(window).and(StackReq::new::<u8>(self.cut.count() * self.partition_bytes()))
    }

    fn solve(&self, rows: &Rows<'_, T>, x: &mut [T], stack: &mut PodStack) {
        let (tips, stack) = stack.make_raw::<T>(2 * (self.cut.count() - 1));
        let (window, stack) = stack.make_raw::<T>(self.coarse.as_ref().map_or(0, |coarse| coarse.words(1)));
        let (memory, _) = stack.make_raw::<u8>(self.cut.count() * self.partition_bytes());
        for x in x.chunks_exact_mut(self.cut.n) {
            self.solve_partitions(rows, x, memory);
            if let Some(coarse) = &self.coarse {
                for (p, tips) in tips.chunks_exact_mut(2).enumerate() {
                    let boundary = self.cut.rows(p).end;
                    tips.copy_from_slice(&x[boundary - 1..=boundary]);
                }
                coarse.solve(false, tips, window);
                self.substitute(tips, x);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::methods::stored::testing::{check_dominant, dominant, matrix, options, solve};
    use crate::methods::thomas::Thomas;
    use crate::methods::tricr::Tricr;

    #[test]
    fn spikes_by_hand() {
        // Two partitions of diagonal matrices, coupled by the rows at their boundary.
        let mut rows = [[0.0, 2.0, 0.0]; 6];
        (rows[2][2], rows[3][0]) = (1.0, 1.0);
        let a = matrix(&rows);
        let options = Options { partition_rows: Some(3), ..options() };
        let spike = Spikes::<f64, Thomas<f64>>::new(&a.rows(), &options, &MemoryPool::default()).unwrap();
        assert_eq!(*spike.spikes, [[0.0, 0.0], [0.0, 0.0], [0.0, 0.5], [0.5, 0.0], [0.0, 0.0], [0.0, 0.0]]);
        let x = solve::<Spikes<f64, Thomas<f64>>>(&a, &options, &[2.0, 4.0, 10.0, 11.0, 10.0, 12.0]);
        assert_eq!(x, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    }

    #[test]
    fn any_partition_and_any_thread() {
        let a = dominant(100);
        let d: Vec<f64> = (0..100).map(|i| f64::from(i % 7)).collect();
        for rows in [3, 4, 7, 33, 50, 51, 100, 200] {
            let [one, three] = [1, 3].map(|threads| Options { threads, partition_rows: Some(rows), ..options() });
            let x = solve::<Spikes<f64, Tricr<f64>>>(&a, &one, &d);
            assert_eq!(x, solve::<Spikes<f64, Tricr<f64>>>(&a, &three, &d), "{rows} rows");
            let eta = crate::contract::verify::backward_error(a.rows(), (&d, &x), false);
            assert!(eta <= 8.0 * f64::EPSILON, "{rows} rows: {eta:e}");
        }
    }

    #[test]
    fn dominant_systems_of_every_size() {
        check_dominant::<Spikes<f64, Cr<f64>>>();
    }
}
