//! Radix 4 compared with radix 2, as in figures 3 and 4 of Myllykoski, Rossi and Toivanen (PARA 2012).

use crate::methods::block_cyclic::{self, EvenRows};
use crate::methods::partial_fractions::{BelowAxis, PartialFractions};
use crate::methods::toeplitz::{LANES, LaneSystems, ShiftedLine};
use bandsolve::Result;
use bandsolve::memory::allocate;
use bandsolve_kernel::{RealScalar, Simd, dispatch};
use std::time::Instant;

/// Solve times of block cyclic reduction with radix 2 and radix 4 on one box.
///
/// [`compare_radices`] measures the times.
///
/// # Examples
/// ```
/// let rows = bandsolve_poisson::radix::compare_radices(&[vec![63, 63]], 1, 1)?;
/// assert_eq!((&rows[0].shape[..], rows[0].subproblems), (&[63, 63][..], [321, 225]));
/// assert!(rows[0].expected() > 1.0 && rows[0].measured() > 0.0);
/// # Ok::<(), bandsolve::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct RadixComparison {
    /// Number of unknowns along each axis.
    pub shape: Vec<usize>,
    /// Number of systems along the last axis that radix 2 and radix 4 solve.
    pub subproblems: [usize; 2],
    /// Seconds per solve with radix 2 and radix 4: the minimum over all runs.
    pub seconds: [f64; 2],
    /// Seconds per solve with radix 2 and radix 4: the median over all runs.
    pub medians: [f64; 2],
}

impl RadixComparison {
    /// The expected speed-up of radix 4 over radix 2: the ratio of the numbers of systems.
    pub fn expected(&self) -> f64 {
        self.subproblems[0] as f64 / self.subproblems[1] as f64
    }

    /// The measured speed-up of radix 4 over radix 2: the ratio of the minimum times.
    pub fn measured(&self) -> f64 {
        self.seconds[0] / self.seconds[1]
    }
}

/// Measure solves of −Δu = f with radix 2 and radix 4 in turn, `runs` times each.
///
/// The boxes have spacing 1 and u = 0 outside. An empty shape in `shapes` is ignored.
///
/// # Cost
/// 2·`runs` solves per box. With radix 2, a solve has N₂(n₁)·…·N₂(n_(d−1)) systems along the last axis, where
/// N₂(n) = (n + 1)(log₂(n + 1) − 1) + 1 for n = 2ᵏ − 1.
///
/// # Errors
/// [`Error::OutOfMemory`](bandsolve::Error::OutOfMemory).
///
/// # Source
/// M. Myllykoski, T. Rossi, J. Toivanen, *Fast Poisson solvers for graphics processing units*, PARA 2012, (17), (18), figures 3 and 4.
///
/// # Examples
/// ```
/// let rows = bandsolve_poisson::radix::compare_radices(&[vec![63, 63]], 1, 1)?;
/// assert_eq!(rows[0].subproblems, [321, 225]);
/// # Ok::<(), bandsolve::Error>(())
/// ```
pub fn compare_radices(shapes: &[Vec<usize>], runs: usize, threads: usize) -> Result<Vec<RadixComparison>> {
    shapes.iter().filter(|shape| !shape.is_empty()).map(|shape| compare(shape, runs.max(1), threads)).collect()
}

/// Times of both radices on one box.
fn compare(shape: &[usize], runs: usize, threads: usize) -> Result<RadixComparison> {
    let plans = [laplace::<f64>(2, shape)?, laplace::<f64>(4, shape)?];
    let room = plans.iter().map(|plan| plan.scratch(threads)).max().unwrap_or(0);
    let (mut scratch, mut u) = (allocate(room, 0.0)?, allocate(shape.iter().product(), 0.0)?);
    let mut times = [vec![], vec![]];
    for _ in 0..runs {
        for (plan, times) in plans.iter().zip(&mut times) {
            u.iter_mut().enumerate().for_each(|(i, u)| *u = (i % 17) as f64 - 8.0);
            let start = Instant::now();
            plan.solve(&mut u, 0.0, threads, &mut scratch);
            times.push(start.elapsed().as_secs_f64());
        }
    }
    times.iter_mut().for_each(|times| times.sort_by(f64::total_cmp));
    Ok(RadixComparison {
        shape: shape.to_vec(),
        subproblems: [0, 1].map(|i| plans[i].counts().last().copied().unwrap_or(0)),
        seconds: [0, 1].map(|i: usize| times[i][0]),
        medians: [0, 1].map(|i: usize| times[i][runs / 2]),
    })
}

/// Measure cyclic reduction and elimination on 16 systems tridiag(−1, 2 + gap, −1) with n unknowns each.
///
/// Returns two times in seconds: cyclic reduction and elimination, for all 16 systems. Each time is the minimum over `runs` runs.
///
/// # Errors
/// [`Error::OutOfMemory`](bandsolve::Error::OutOfMemory).
///
/// # Source
/// M. Myllykoski, T. Rossi, J. Toivanen, *Fast Poisson solvers for graphics processing units*, PARA 2012, (22), (23).
///
/// # Examples
/// ```
/// let [reduction, elimination] = bandsolve_poisson::radix::compare_line_solvers(255, 3)?;
/// assert!(reduction > 0.0 && elimination > 0.0);
/// # Ok::<(), bandsolve::Error>(())
/// ```
pub fn compare_line_solvers(n: usize, runs: usize) -> Result<[f64; 2]> {
    let numbers = n.saturating_mul(LANES);
    let (mut x, mut pivots) = (allocate(numbers, 1.0)?, allocate(numbers, 0.0)?);
    let mut gaps = [0.0; LANES];
    gaps.iter_mut().enumerate().for_each(|(s, gap)| *gap = 4.0 * (s as f64 + 0.5) / LANES as f64);
    let mut least = [f64::INFINITY; 2];
    for _ in 0..runs.max(1) {
        for (least, reduction) in least.iter_mut().zip([true, false]) {
            x.fill(1.0);
            let start = Instant::now();
            dispatch(Simd::detect(), LaneSystems { gaps, x: &mut x, pivots: &mut pivots, reduction });
            *least = least.min(start.elapsed().as_secs_f64());
        }
    }
    Ok(least)
}

/// Factors of −Δ on a box with spacing 1 and u = 0 outside.
pub(crate) fn laplace<R: RealScalar>(radix: usize, shape: &[usize]) -> Result<PartialFractions<R>> {
    let (n, simd) = (shape[shape.len() - 1], Simd::detect());
    let ones = allocate(n, 1.0)?;
    let line = ShiftedLine::new(&ones, &ones, &allocate(n, 0.0)?)?;
    let mut all = None;
    for rows in shape[..shape.len() - 1].iter().rev() {
        let below = all.map_or_else(|| BelowAxis::Line(line.clone()), |block| BelowAxis::Block(Box::new(block)));
        all = Some(block_cyclic::plan(radix, EvenRows { rows: *rows, scale: 1.0, ring: false }, below, simd)?);
    }
    all.map_or_else(|| PartialFractions::line(line.clone(), simd), Ok)
}
