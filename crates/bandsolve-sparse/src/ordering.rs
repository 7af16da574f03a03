//! Orders of the unknowns in which a matrix has a narrow band.

use crate::graph::Graph;
use bandsolve::memory::{allocate, push, reserved};
use bandsolve::{Result, interrupt};

impl Graph {
    /// Compute the reverse Cuthill–McKee order, in which the band of a matrix with this graph is narrow. Element k is the vertex at place k.
    ///
    /// The band is usually not much wider than in the best order, which is unknown. The given order may be better: compare both.
    ///
    /// The algorithm starts at a vertex far from the others, and visits the vertices level by level. In a level, the neighbors of earlier vertices come
    /// first, and among them vertices with fewer edges. The result is the reverse order. Connected components come one after the other. Ties go to the
    /// smaller number, so that the order depends only on the graph.
    ///
    /// # Cost
    /// A few passes over all edges on one thread, and five bytes per vertex, with eight more for each level. The time does not grow with the number of components.
    ///
    /// # Source
    /// E. Cuthill, J. McKee, Reducing the bandwidth of sparse symmetric matrices, 1969; A. George, J. W. H. Liu, An implementation of a
    /// pseudoperipheral node finder, ACM Transactions on Mathematical Software 5, 1979.
    ///
    /// # Errors
    /// [`bandsolve::Error::OutOfMemory`]. [`bandsolve::Error::Interrupted`] if the caller stops the search.
    ///
    /// # Examples
    /// ```
    /// use bandsolve_sparse::{Csr, Graph};
    /// // The path 0–2–4–3–1.
    /// let a = Csr::<f64>::from_triplets(5, 5, &[(0, 2, 1.0), (2, 4, 1.0), (4, 3, 1.0), (3, 1, 1.0)])?;
    /// assert_eq!(Graph::of(&a)?.reverse_cuthill_mckee()?, [1, 3, 4, 2, 0]);
    /// # Ok::<(), bandsolve::Error>(())
    /// ```
    pub fn reverse_cuthill_mckee(&self) -> Result<Vec<u32>> {
        let mut walk = LevelWalk::new(self, false)?;
        // It contains each vertex at most once.
        let mut order = reserved(self.vertices())?;
        for v in 0..self.vertices() {
            if !walk.seen[v] {
                let start = walk.far_end(v as u32, &mut order)?;
                walk.levels(start, true, &mut order)?;
            }
        }
        order.reverse();
        Ok(order)
    }
}

/// A walk over a connected component of a graph.
pub(crate) struct LevelWalk<'a> {
    pub graph: &'a Graph,
    /// Whether the walk passed a vertex, or must not enter it.
    pub seen: Vec<bool>,
    /// The places in the order where the levels of the last component begin.
    pub levels: Vec<usize>,
}

impl<'a> LevelWalk<'a> {
    pub fn new(graph: &'a Graph, seen: bool) -> Result<Self> {
        Ok(Self { graph, seen: allocate(graph.vertices(), seen)?, levels: Vec::new() })
    }

    /// Append all vertices that can be reached from `start`, level by level, and set `levels`. With `by_degree`, neighbors with fewer edges come first.
    pub fn levels(&mut self, start: u32, by_degree: bool, order: &mut Vec<u32>) -> Result<()> {
        let mut first = order.len();
        self.levels.clear();
        self.seen[start as usize] = true;
        order.push(start);
        while first < order.len() {
            interrupt::check()?;
            push(&mut self.levels, first)?;
            let end = order.len();
            for k in first..end {
                self.neighbors(order[k], by_degree, order);
            }
            first = end;
        }
        Ok(())
    }

    /// Append the neighbors that were not seen before.
    fn neighbors(&mut self, v: u32, by_degree: bool, order: &mut Vec<u32>) {
        let known = order.len();
        for (u, _) in self.graph.edges(v as usize) {
            if !self.seen[u] {
                self.seen[u] = true;
                order.push(u as u32);
            }
        }
        if by_degree {
            // Ties go to the smaller number. Compare the numbers, too: a stable sort would need extra memory.
            order[known..].sort_unstable_by_key(|u| (self.graph.degree(*u as usize), *u));
        }
    }

    /// Find a pseudoperipheral vertex, which is about as far from the others as possible. Each walk begins at the vertex with the fewest edges in the
    /// last level of the previous walk. The search ends when the number of levels no longer grows. `order` and `seen` do not change.
    pub fn far_end(&mut self, start: u32, order: &mut Vec<u32>) -> Result<u32> {
        let (mut best, mut most, mut candidate, known) = (start, 0, start, order.len());
        loop {
            self.levels(candidate, false, order)?;
            let (count, last) = (self.levels.len(), self.levels[self.levels.len() - 1]);
            let next = order[last..].iter().copied().min_by_key(|u| (self.graph.degree(*u as usize), *u));
            order.drain(known..).for_each(|v| self.seen[v as usize] = false);
            if count <= most {
                return Ok(best);
            }
            (best, most) = (candidate, count);
            candidate = next.expect("a level has a vertex");
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::csr::Csr;
    use crate::graph::Graph;
    use crate::stencils::nine_point;
    use bandsolve_gallery::Random;

    /// The largest distance of two neighbors in this order, which must contain every vertex once.
    fn bandwidth(graph: &Graph, order: &[u32]) -> usize {
        let mut places = vec![usize::MAX; graph.vertices()];
        order.iter().enumerate().for_each(|(k, v)| places[*v as usize] = k);
        assert!(order.len() == places.len() && places.iter().all(|k| *k < places.len()));
        let ends = (0..places.len()).flat_map(|v| graph.edges(v).map(move |(u, _)| (v, u)));
        ends.map(|(v, u)| places[v].abs_diff(places[u])).max().unwrap_or(0)
    }

    /// Create a graph from its edges, with a random numbering of the vertices.
    fn shuffled(n: usize, edges: impl Iterator<Item = (usize, usize)>) -> Graph {
        let mut random = Random::new(n as u64);
        let mut names: Vec<(u64, usize)> = (0..n).map(|v| (random.normal(0.0, 1.0).to_bits(), v)).collect();
        names.sort_unstable();
        let entries: Vec<_> = edges.map(|(v, u)| (names[v].1, names[u].1, 1.0)).collect();
        Graph::of(&Csr::<f64, u32>::from_triplets(n, n, &entries).unwrap()).unwrap()
    }

    /// Compute the order with the crate `sprs`.
    #[cfg(feature = "sprs")]
    fn peer(graph: &Graph) -> Vec<u32> {
        let entries: Vec<_> = (0..graph.vertices()).flat_map(|v| graph.edges(v).map(move |(u, w)| (v, u, w))).collect();
        let a = Csr::<f64, u32>::from_triplets(graph.vertices(), graph.vertices(), &entries).unwrap();
        sprs::linalg::reverse_cuthill_mckee(a.as_sprs().unwrap()).perm.vec()
    }

    #[test]
    fn chains_cycles_and_bands_are_found_again() {
        let n = 500;
        let chain = shuffled(n, (1..n).map(|v| (v - 1, v)));
        assert_eq!(bandwidth(&chain, &chain.reverse_cuthill_mckee().unwrap()), 1);
        let cycle = shuffled(n, (0..n).map(|v| (v, (v + 1) % n)));
        assert_eq!(bandwidth(&cycle, &cycle.reverse_cuthill_mckee().unwrap()), 2);
        // Every level of a full band of half-bandwidth 4 has four vertices.
        let band = shuffled(n, (0..n).flat_map(|v| (v + 1..n.min(v + 5)).map(move |u| (v, u))));
        assert!(bandwidth(&band, &band.reverse_cuthill_mckee().unwrap()) <= 7);
    }

    #[test]
    fn parts_stand_one_after_another_and_many_take_no_longer() {
        // 250,000 pairs, and as many single vertices. A walk over all vertices for each component would take minutes.
        let n = 750_000;
        let pairs = shuffled(n, (0..250_000).map(|k| (3 * k, 3 * k + 1)));
        assert_eq!(bandwidth(&pairs, &pairs.reverse_cuthill_mckee().unwrap()), 1);
        for n in [0, 1, 2] {
            let alone = shuffled(n, std::iter::empty());
            assert_eq!(bandwidth(&alone, &alone.reverse_cuthill_mckee().unwrap()), 0);
        }
    }

    #[cfg(feature = "sprs")]
    #[test]
    fn grids_and_random_graphs_are_ordered_as_well_as_by_a_peer() {
        let grid = Graph::of(&nine_point([[0.0, -1.0, 0.0], [-1.0, 4.0, -1.0], [0.0, -1.0, 0.0]], (30, 17))).unwrap();
        // No order has a bandwidth of less than 17.
        assert!(bandwidth(&grid, &grid.reverse_cuthill_mckee().unwrap()) <= 18);
        let edges = (0..510).flat_map(|v| grid.edges(v).map(move |(u, _)| (v, u)));
        let grid = shuffled(510, edges);
        let mut random = Random::new(7);
        let mut any = || random.normal(0.0, 1.0).to_bits() as usize;
        let some = shuffled(300, (0..400).map(|_| (any() % 300, any() % 300)).collect::<Vec<_>>().into_iter());
        for graph in [grid, some] {
            let [ours, theirs] =
                [graph.reverse_cuthill_mckee().unwrap(), peer(&graph)].map(|order| bandwidth(&graph, &order));
            // The other implementation breaks ties differently.
            assert!(ours as f64 <= 1.2 * theirs as f64, "{ours} {theirs}");
        }
    }
}
