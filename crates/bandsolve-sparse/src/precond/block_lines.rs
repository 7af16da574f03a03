//! The block tridiagonal system of a linear forest whose vertices are pairs of unknowns.
//!
//! # Source
//! C. J. Klein, dissertation, Heidelberg 2022, section 4.6: AlgTriBlock.

use super::splitting::comparable_graph;
use crate::csr::Csr;
use crate::factor::{GraphFactor, GraphFactorOptions};
use crate::forest::Forest;
use crate::graph::Graph;
use crate::rows::each_row;
use crate::tuning::PAIR_MIN_WEIGHT;
use bandsolve::dyn_stack::{PodStack, StackReq};
use bandsolve::matrix::BlockTridiagonal;
use bandsolve::memory::{allocate, reserved, zeroed};
use bandsolve::{AnyFactor, Factor, LinearOperator, Op, Plan, Result, Scalar};
use bandsolve_kernel::permutation::Permutation;

/// Solve the block tridiagonal system of a linear forest of pairs, as a preconditioner.
///
/// M = Pᵀ·B·P. The vertices of the forest are pairs of strongly coupled unknowns. The permutation P puts the paths of the forest one after the other,
/// and B is block tridiagonal with blocks of two rows. An unknown without a partner forms a pair with a row of the unit matrix.
///
/// # Examples
/// ```
/// use bandsolve_sparse::{GraphFactorOptions, KrylovMethod, KrylovSolver, PairForestSolver, nine_point};
/// let a = nine_point([[0.0, -0.1, 0.0], [-1.0, 2.2, -1.0], [0.0, -0.1, 0.0]], (20, 30));
/// let m = PairForestSolver::new(&a, &GraphFactorOptions::default())?;
/// let mut x = vec![0.0; 600];
/// let report = KrylovSolver::new(KrylovMethod::Cg).solve(&a, Some(&m), &vec![1.0; 600], &mut x)?;
/// assert!(report.converged());
/// # Ok::<(), bandsolve::Error>(())
/// ```
///
/// # Cost
/// One application costs one block tridiagonal solve.
#[derive(Debug)]
pub struct PairForestSolver<T: Scalar> {
    unknowns: usize,
    /// The places of the unknowns, followed by those of the rows of the unit matrix.
    permutation: Permutation,
    factor: AnyFactor<'static, T>,
}

/// The block tridiagonal system of a linear forest of pairs, M = Pᵀ·B·P, before it is factored.
///
/// # Examples
/// ```
/// use bandsolve_sparse::{GraphFactorOptions, PairForestSystem, nine_point};
/// let a = nine_point([[0.0, -0.1, 0.0], [-1.0, 2.2, -1.0], [0.0, -0.1, 0.0]], (20, 30));
/// let system = PairForestSystem::new(&a, &GraphFactorOptions::default())?;
/// // Each unknown has a row of its own.
/// assert!(system.places().len() == 600 && system.matrix().shape().rows() >= 600);
/// # Ok::<(), bandsolve::Error>(())
/// ```
#[derive(Debug)]
pub struct PairForestSystem<T: Scalar> {
    unknowns: usize,
    /// The places of the unknowns, followed by those of the rows of the unit matrix.
    permutation: Permutation,
    matrix: BlockTridiagonal<'static, T>,
}

/// Rows per block.
const PAIR: usize = 2;

/// The strong edges of a graph, along which unknowns may form pairs.
///
/// A pair along a weak edge would join two paths. A forest of pairs could then contain only one of these paths.
fn strong_part(graph: &Graph) -> Result<Graph> {
    let mut strongest = allocate(graph.vertices(), 0.0)?;
    each_row(&mut strongest, &|v, strongest| {
        *strongest = graph.edges(v).fold(0.0, |strongest, (_, weight)| f64::max(strongest, weight));
        0
    });
    let mut strong = graph.matrix().duplicated()?;
    let updated = strong.update(&|v| {
        let strongest = &strongest;
        move |u, weight| if weight < PAIR_MIN_WEIGHT * strongest[v].max(strongest[u]) { 0.0 } else { weight }
    });
    updated?;
    Graph::of(&strong)
}

impl<T: Scalar> PairForestSolver<T> {
    /// Form pairs by a matching of strong edges, find a forest of the pairs, and factor its block tridiagonal system.
    ///
    /// # Errors
    /// Those of [`comparable_graph`], and [`Singular`](bandsolve::Error::Singular) if the block tridiagonal system is singular.
    pub fn new(a: &Csr<'_, T, u32>, options: &GraphFactorOptions) -> Result<Self> {
        PairForestSystem::new(a, options)?.factor()
    }
}

impl<T: Scalar> PairForestSystem<T> {
    /// Form pairs by a matching of strong edges, and find a forest of the pairs.
    ///
    /// # Errors
    /// Those of [`comparable_graph`].
    pub fn new(a: &Csr<'_, T, u32>, options: &GraphFactorOptions) -> Result<Self> {
        let graph = comparable_graph(a)?;
        let n = graph.vertices();
        let matching = GraphFactor::of(&strong_part(&graph)?, &GraphFactorOptions { degree: 1, ..*options })?;
        // For each unknown: the number of its pair, and its position (0 or 1) in the pair.
        let (mut pairs, mut count) = (allocate(n, (u32::MAX, 0))?, 0);
        for v in 0..n {
            if pairs[v].0 == u32::MAX {
                pairs[v] = (count, 0);
                matching.partners(v).for_each(|u| pairs[u] = (count, 1));
                count += 1;
            }
        }
        let contracted = graph.contracted(count as usize, &|v| pairs[v].0)?;
        let options = GraphFactorOptions { seed: options.seed.wrapping_add(1), degree: 2, ..*options };
        let forest = Forest::of(&contracted, &options)?;
        let place = |v: usize| PAIR * forest.place(pairs[v].0 as usize) + pairs[v].1;
        let blocks = PAIR * PAIR * count as usize;
        let mut bands: [Vec<T>; 3] = [zeroed(blocks)?, zeroed(blocks)?, zeroed(blocks)?];
        let mut occupied = allocate(PAIR * count as usize, false)?;
        for v in 0..n {
            let (row, block) = (place(v), pairs[v].0 as usize);
            occupied[row] = true;
            for (u, value) in a.row(v) {
                let other = pairs[u].0 as usize;
                if other == block || forest.are_linked(block, other) {
                    let column = place(u);
                    let band = column / PAIR + 1 - row / PAIR;
                    bands[band][row / PAIR * PAIR * PAIR + column % PAIR * PAIR + row % PAIR] += value;
                }
            }
        }
        let empty = (0..occupied.len()).filter(|row| !occupied[*row]);
        empty.clone().for_each(|row| bands[1][row / PAIR * PAIR * PAIR + row % PAIR * (PAIR + 1)] = T::ONE);
        let mut places = reserved(occupied.len())?;
        places.extend((0..n).map(place).chain(empty).map(|place| place as u32));
        let permutation = Permutation::from_places(places, allocate(occupied.len(), 0)?).expect("each place once");
        let matrix = BlockTridiagonal::from_vecs(PAIR, bands, false)?;
        Ok(Self { unknowns: n, permutation, matrix })
    }

    /// The matrix B, with blocks of two rows.
    pub fn matrix(&self) -> &BlockTridiagonal<'static, T> {
        &self.matrix
    }

    /// The row of B of each unknown. The other rows are those of the unit matrix.
    pub fn places(&self) -> &[u32] {
        &self.permutation.places()[..self.unknowns]
    }

    /// Factor the matrix.
    ///
    /// # Errors
    /// [`Singular`](bandsolve::Error::Singular).
    pub(super) fn factor(self) -> Result<PairForestSolver<T>> {
        let Self { unknowns, permutation, matrix } = self;
        let factor = Plan::new(matrix.shape()).verify(false).factor_owned(matrix)?;
        Ok(PairForestSolver { unknowns, permutation, factor })
    }
}

impl<T: Scalar> LinearOperator<T> for PairForestSolver<T> {
    fn rows(&self) -> usize {
        self.unknowns
    }

    fn columns(&self) -> usize {
        self.unknowns
    }

    fn apply_scratch(&self) -> StackReq {
        StackReq::new::<T>(2 * self.permutation.len()).and(self.factor.solve_scratch(1))
    }

    fn apply(&self, x: &[T], y: &mut [T], stack: &mut PodStack) -> Result<()> {
        self.apply_op(Op::Plain, x, y, stack)
    }

    fn apply_op(&self, op: Op, x: &[T], y: &mut [T], stack: &mut PodStack) -> Result<()> {
        let (rhs, stack) = stack.make_raw::<T>(self.permutation.len());
        let (solved, stack) = stack.make_raw::<T>(self.permutation.len());
        self.permutation.scatter(rhs, &|i| if i < x.len() { x[i] } else { T::ZERO });
        self.factor.solve_into_with(op, rhs, solved, stack)?;
        let (solved, places) = (&*solved, self.permutation.places());
        each_row(y, &|i, y| {
            *y = solved[places[i] as usize];
            0
        });
        Ok(())
    }
}
