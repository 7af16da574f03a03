//! Every allocation that grows with a matrix fails once, in every function. Each call returns a result or `OutOfMemory`.

use bandsolve::{Csc, Op};
use bandsolve_gallery::Random;
use bandsolve_sparse::{
    Csr, Forest, Graph, GraphFactor, GraphFactorOptions, KrylovMethod, KrylovSolver, PRECONDITIONERS, Preconditioner,
    PreconditionerOptions, PreparedProduct, SingleInverse, greedy, nine_point,
};
use bandsolve_testkit::allocations::{WatchedMemory, fail_each};

#[global_allocator]
static MEMORY: WatchedMemory = WatchedMemory;

/// Number of unknowns of a grid, and a limit in bytes. Arrays with at least one number per eight unknowns are larger, all other arrays smaller.
const SIDE: usize = 80;
const BYTES: usize = 6000;

type Matrix = Csr<'static, f64, u32>;

fn grid() -> Matrix {
    nine_point([[0.0, -1.0, 0.0], [-0.3, 2.6, -0.3], [0.0, -1.0, 0.0]], (SIDE, SIDE))
}

/// The same matrix with unsorted rows, and with couplings in one direction only.
fn lopsided() -> Matrix {
    let (a, random) = (grid(), &mut Random::new(3));
    let n = a.rows();
    let entries = (0..n).flat_map(|i| a.row(i).map(move |(j, value)| (i, j, value)));
    let mut entries: Vec<_> = entries.filter(|(i, j, _)| i <= j || i % 7 > 0).collect();
    for k in (1..entries.len()).rev() {
        entries.swap(k, random.below(k + 1));
    }
    Csr::from_triplets(n, n, &entries).unwrap()
}

/// This file has only one test, because other tests would also allocate while an allocation must fail.
#[test]
fn every_allocation_may_fail() {
    matrices_and_products();
    graphs_and_forests();
    preconditioners();
    iterations();
}

fn matrices_and_products() {
    let a = grid();
    let n = a.rows();
    let entries: Vec<_> = (0..n).flat_map(|i| a.row(i).map(move |(j, value)| (i, j, value))).collect();
    fail_each("from_triplets", BYTES, || Csr::<f64, u32>::from_triplets(n, n, &entries));
    let wide = |narrow: &[u32]| narrow.iter().map(|i| i64::from(*i)).collect::<Vec<_>>();
    let (pointers, indices) = (wide(a.parts().0), wide(a.parts().1));
    let by_columns = Csc::new(n, &pointers, &indices, a.parts().2).unwrap();
    fail_each("from_columns", BYTES, || Csr::from_columns(&by_columns));
    fail_each("with_pointers", BYTES, || Csr::with_pointers(n, &pointers, a.parts().1, a.parts().2));
    let wide = Csr::new(n, &pointers[..], &indices[..], a.parts().2).unwrap();
    fail_each("to_owned_narrow", BYTES, || wide.to_owned_narrow());
    fail_each("shifted", BYTES, || a.shifted(0.5, Some(&a)));
    let (x, mut y) = (vec![1.0; 5 * n], vec![0.0; 5 * n]);
    for op in [Op::Plain, Op::Transpose, Op::ConjTranspose] {
        fail_each("product", BYTES, || a.product(op, 1.0, &x, 0.5, &mut y));
    }
    for a in [&grid(), &lopsided()] {
        assert!(fail_each("prepared", BYTES, || PreparedProduct::new(a)) > 0);
    }
    // A matrix in panels.
    let (n, random) = (300_000, &mut Random::new(1));
    let indices: Vec<u32> = (0..8 * n).map(|_| random.below(n) as u32).collect();
    let pointers: Vec<u32> = (0..=n).map(|i| 8 * i as u32).collect();
    let a = Csr::new(n, pointers, indices, vec![1.0; 8 * n]).unwrap();
    assert!(PreparedProduct::new(&a).unwrap().is_in_panels());
    assert!(fail_each("panels", 1 << 14, || PreparedProduct::new(&a)) > 3);
}

fn graphs_and_forests() {
    for a in [grid(), lopsided()] {
        assert!(fail_each("graph", BYTES, || Graph::of(&a)) > 1);
        let graph = Graph::of(&a).unwrap();
        for degree in [1, 2] {
            let mut options = GraphFactorOptions::default();
            options.degree = degree;
            assert!(fail_each("factor", BYTES, || GraphFactor::of(&graph, &options)) > 1);
            let factor = GraphFactor::of(&graph, &options).unwrap();
            assert!(fail_each("forest", BYTES, || Forest::heaviest(&graph, &factor)) > 1);
            assert!(fail_each("greedy", BYTES, || greedy(&graph, degree)) > 1);
        }
        let forest = Forest::of(&graph, &GraphFactorOptions::default()).unwrap();
        assert!(fail_each("tridiagonal", BYTES, || forest.tridiagonal(&a)) > 1);
        fail_each("Cuthill-McKee", BYTES, || graph.reverse_cuthill_mckee());
        fail_each("lines", BYTES, || Forest::grid_lines(SIDE, SIDE, false));
    }
}

fn preconditioners() {
    let kinds = format!("{PRECONDITIONERS}, alt-i, amg-lines");
    let kinds = kinds.replace(":M", ":2").replace(":S", ":1").replace("NXxNY", "80x80");
    for a in [grid(), lopsided()] {
        for name in kinds.split(", ") {
            let (kind, options) = (name.parse().unwrap(), PreconditionerOptions::default());
            let refused = fail_each(name, BYTES, || Preconditioner::new(&a, kind, &options));
            assert!(refused > 0 || name == "none", "{name}");
        }
        let kind = "jacobi".parse().unwrap();
        assert!(fail_each("in single precision", BYTES, || SingleInverse::new(&a, kind, &Default::default())) > 4);
    }
}

fn iterations() {
    let a = grid();
    let (n, options) = (a.rows(), PreconditionerOptions::default());
    let m = Preconditioner::new(&a, "ilu0".parse().unwrap(), &options).unwrap();
    let rhs = vec![1.0; n];
    for method in ["gmres:20", "bicgstab", "cg", "idr:4", "richardson:0.5"] {
        let solver = KrylovSolver::new(method.parse::<KrylovMethod>().unwrap()).max_iterations(10);
        let mut x = vec![0.0; n];
        let refused = fail_each(method, BYTES, || {
            x.fill(0.0);
            solver.solve(&a, Some(&m), &rhs, &mut x)
        });
        assert!(refused > 0, "{method}");
    }
}
