//! How much scratch solves will take, known from the plan alone.

use crate::contract::verify::refinement_scratch;
use crate::matrix::Shape;
use crate::method::Method;
use crate::methods::{bcyclic, block_spike, rpts, spike_diagonal_pivoting, spike_qr, spike_thomas, spike_truncated};
use crate::partition::block_rpts::Size;
use crate::partition::partitioned::Scheme;
use crate::partition::{block_rpts, partitioned};
use crate::pivoted::{band_lu, banded_spike};
use crate::plan::Plan;
use crate::tuning;
use bandsolve_kernel::Scalar;
use dyn_stack::StackReq;

impl Plan {
    /// Scratch that is enough for [`Factor::solve_in_place_with`](crate::Factor::solve_in_place_with), and so for
    /// [`Factor::solve_into_with`](crate::Factor::solve_into_with), with any factors made under this plan: for those who want
    /// the memory before they have the numbers. At least what the factors themselves ask for.
    ///
    /// `None` where only the factors can tell: methods `cr`, `tricr`, `pcr`, `adaptive-cr`, `spike-cr`, batches, a number of
    /// [`partitions`](Self::partitions) that was asked for; and where the method does not solve the shape. Bands are taken
    /// to have leading dimension `lower + upper + 1`.
    ///
    /// # Example
    /// ```
    /// use bandsolve::{Factor, Plan, Shape, Tridiagonal};
    /// let plan = Plan::new(Shape::Tridiagonal { n: 1000, periodic: false });
    /// let scratch = plan.solve_in_place_scratch::<f64>(1).expect("rpts says it beforehand");
    /// let a = Tridiagonal::from_vecs(vec![1.0; 1000], vec![4.0; 1000], vec![1.0; 1000], false)?;
    /// assert!(scratch.size_bytes() >= plan.factor(&a)?.solve_in_place_scratch(1).size_bytes());
    /// # Ok::<(), bandsolve::Error>(())
    /// ```
    pub fn solve_in_place_scratch<T: Scalar>(&self, n_rhs: usize) -> Option<StackReq> {
        let method = self.chosen_method();
        let own = match method.takes_for(self.shape()) {
            _ if !method.solves(self.shape()) => None,
            Shape::Tridiagonal { n, .. } => self.tridiagonal_scratch::<T>(method, n, n_rhs),
            Shape::Banded { n, lower, upper } => self.banded_scratch::<T>(method, (n, lower, upper), n_rhs),
            Shape::BlockTridiagonal { block_rows, block, periodic } => {
                self.blocks_scratch::<T>(method, (block_rows, block, periodic), n_rhs)
            }
            Shape::Batch { .. } => None,
        };
        own.map(|own| StackReq::new::<T>(self.shape().n().saturating_mul(n_rhs)).and(own))
    }

    fn tridiagonal_scratch<T: Scalar>(&self, method: Method, n: usize, n_rhs: usize) -> Option<StackReq> {
        let by = |scheme: Scheme| Some(partitioned::scratch::<T>(&self.decision.options, scheme, n, n_rhs));
        match method {
            Method::Rpts => by(rpts::scheme(&self.decision)),
            Method::SpikeDiagonalPivoting => by(spike_diagonal_pivoting::SCHEME),
            Method::SpikeThomas => by(spike_thomas::SCHEME),
            Method::SpikeTruncated => by(spike_truncated::SCHEME),
            Method::SpikeQr => by(spike_qr::SCHEME),
            Method::Pivoted
            | Method::Thomas
            | Method::DiagonalPivoting
            | Method::ParallelDiagonalPivoting
            | Method::CfLu => Some(refinement_scratch::<T>(self.decision.options.verify, n)),
            _ => None,
        }
    }

    fn banded_scratch<T: Scalar>(
        &self,
        method: Method,
        (n, lower, upper): (usize, usize, usize),
        n_rhs: usize,
    ) -> Option<StackReq> {
        let block = lower.max(upper).max(1);
        if method == Method::Rpts && n > block.saturating_mul(2) {
            let size = Size { n, block_rows: n.div_ceil(block), storage: (block, lower + upper + 1) };
            return Some(block_rpts::scratch::<T>(&self.decision.options, size, n_rhs));
        }
        let [lower, upper] = [lower, upper].map(|width| width.min(n.saturating_sub(1)));
        match method {
            Method::Pivoted | Method::Rpts => {
                Some(self.with_refinement::<T>(n, n_rhs, |n_rhs| band_lu::words_at_most(lower, upper, n_rhs)))
            }
            Method::Spike if self.decision.options.partitions.is_none() => {
                Some(self.with_refinement::<T>(n, n_rhs, |n_rhs| banded_spike::words_at_most(n, (lower, upper), n_rhs)))
            }
            _ => None,
        }
    }

    fn blocks_scratch<T: Scalar>(
        &self,
        method: Method,
        (block_rows, block, periodic): (usize, usize, bool),
        n_rhs: usize,
    ) -> Option<StackReq> {
        let n = self.shape().n();
        let stored = |spare: usize| {
            Some(self.with_refinement::<T>(n, n_rhs, |n_rhs| {
                n.saturating_add(spare.saturating_mul(block)).saturating_mul(n_rhs)
            }))
        };
        match method {
            Method::Rpts if block_rows > 1 => {
                let size = Size { n, block_rows, storage: (block, 0) };
                Some(block_rpts::scratch::<T>(&self.decision.options, size, n_rhs))
            }
            Method::Spike if self.decision.options.partitions.is_some() => None,
            Method::Pivoted | Method::Rpts | Method::Spike => {
                // Periodic systems are folded.
                let (blocks, folded) = if periodic { (3, n) } else { (2, 0) };
                let reach = block.saturating_mul(blocks).saturating_sub(1).min(n.saturating_sub(1));
                let words = |n_rhs: usize| {
                    let together = n_rhs.min(tuning::BAND_RHS);
                    let whole = band_lu::words_at_most(reach, reach, together);
                    let by_parts = banded_spike::words_at_most(n, (reach, reach), together);
                    folded.saturating_mul(together).saturating_add(if method == Method::Spike {
                        by_parts
                    } else {
                        whole
                    })
                };
                Some(self.with_refinement::<T>(n, n_rhs, words))
            }
            Method::Bcyclic => stored(bcyclic::spare_rows(block_rows)),
            Method::BlockSpike => stored(block_spike::spare_rows(block_rows, periodic, &self.decision.options)),
            _ => None,
        }
    }

    /// Scratch of a verified solve whose own is `words` for a number of right-hand sides.
    fn with_refinement<T: Scalar>(&self, n: usize, n_rhs: usize, words: impl Fn(usize) -> usize) -> StackReq {
        let own = |n_rhs| StackReq::new::<T>(words(n_rhs));
        own(n_rhs).or(refinement_scratch::<T>(self.decision.options.verify, n).and(own(1)))
    }
}
