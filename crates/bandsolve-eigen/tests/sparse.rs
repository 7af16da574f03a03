//! Sparse Hermitian matrices: counts, solves and searches, compared with those of the band.

use bandsolve::dyn_stack::PodStack;
use bandsolve::{Banded, Complex64, Error, LinearOperator, Op, RealScalar, Result, Scalar};
use bandsolve_eigen::{EigenSolver, ShiftableMatrix, SparseHermitian, check_definite, eigenvalues_below};
use bandsolve_gallery::random::Random;
use bandsolve_sparse::{Csr, EntryList, Graph, Structure, nine_point};

/// A Hermitian matrix with random entries on a grid of nx × ny points, with `holes` of the edges left out, and diagonal entries of size `diagonal`.
fn grid<T: Scalar>((nx, ny): (usize, usize), holes: f64, diagonal: f64, seed: u64) -> Csr<'static, T, u32> {
    let mut random = Random::new(seed);
    let mut number = |complex: bool| {
        let (re, im) = (random.normal(0.0, 1.0), random.normal(0.0, 1.0));
        bandsolve::vectors::narrow::<T>(Complex64::new(re, if complex && T::COMPLEX { im } else { 0.0 }))
    };
    let mut entries = Vec::new();
    for x in 0..nx {
        for y in 0..ny {
            let v = x * ny + y;
            entries.push((v, v, number(false).scale(T::Real::from_f64(diagonal))));
            for (u, inside) in [(v + ny, x + 1 < nx), (v + 1, y + 1 < ny), (v + ny + 1, x + 1 < nx && y + 1 < ny)] {
                let (value, kept) = (number(true), number(false).re().to_f64().abs() > holes);
                if inside && kept {
                    entries.extend([(v, u, value), (u, v, value.conj())]);
                }
            }
        }
    }
    Csr::from_triplets(nx * ny, nx * ny, &entries).expect("a matrix")
}

fn band<T: Scalar>(a: &Csr<'_, T, u32>) -> Banded<'static, T> {
    let Structure { lower, upper, .. } = Structure::of(a).expect("a structure");
    a.to_banded(lower, upper).expect("a band")
}

#[test]
fn a_dissection_is_an_order_and_borders_contain_all_later_neighbors() {
    let mut random = Random::new(5);
    let mut any = |n: usize| random.normal(0.0, 1e6).abs() as usize % n;
    let star = Csr::<f64, u32>::from_triplets(300, 300, &(1..300).map(|v| (0, v, 1.0)).collect::<Vec<_>>());
    let full: Vec<_> = (0..70).flat_map(|i| (0..70).map(move |j| (i, j, 1.0))).collect();
    let loose: Vec<_> = (0..500).map(|_| (any(400), any(400), 1.0)).collect();
    let lengths = [0, 1, 2, 33, 500];
    let paths = lengths.map(|n| (n, (1..n).map(|v| (v - 1, v, 1.0)).collect::<Vec<_>>()));
    let mut graphs: Vec<Csr<'static, f64, u32>> = vec![star.expect("a star"), grid((40, 23), 0.5, 1.0, 1)];
    graphs.push(Csr::from_triplets(70, 70, &full).expect("a full matrix"));
    graphs.push(Csr::from_triplets(400, 400, &loose).expect("a matrix"));
    graphs.extend(paths.map(|(n, path)| Csr::from_triplets(n, n, &path).expect("a path")));
    for a in graphs {
        let graph = Graph::of(&a).expect("a graph");
        let dissection = graph.nested_dissection().expect("an order");
        let mut places = vec![usize::MAX; a.rows()];
        dissection.order.iter().enumerate().for_each(|(k, v)| places[*v as usize] = k);
        assert!(dissection.order.len() == a.rows() && places.iter().all(|place| *place < a.rows()));
        let mut begin = 0;
        for (k, part) in dissection.parts.iter().enumerate() {
            assert_eq!(part.own.start, begin);
            begin = part.own.end;
            let subtree = part.children[0].start.min(k)..=k;
            let subtree = if part.children[0].is_empty() { k..=k } else { subtree };
            let mut later: Vec<u32> = subtree
                .flat_map(|k| dissection.parts[k].own.clone())
                .flat_map(|place| graph.edges(dissection.order[place] as usize))
                .map(|(u, _)| places[u] as u32)
                .filter(|place| *place as usize >= part.own.end)
                .collect();
            later.sort_unstable();
            later.dedup();
            assert_eq!(part.border, later, "part {k}");
        }
        assert_eq!(begin, a.rows());
    }
    // Fill grows as n·log n: on a grid of 100 × 100 points, the band has 10⁶ numbers.
    let a = nine_point([[0.0, -1.0, 0.0], [-1.0, 4.0, -1.0], [0.0, -1.0, 0.0]], (100, 100));
    let dissection = Graph::of(&a).expect("a graph").nested_dissection().expect("an order");
    assert!(dissection.entries() < 5e5 && dissection.flops() < 3e7, "{dissection:?}");
}

fn check_counts_and_solves<T: Scalar<Real = f64>>(seed: u64) -> Result<()> {
    for (size, holes, diagonal) in
        [((13, 9), 0.0, 1.0), ((17, 12), 0.6, 3.0), ((25, 11), 0.1, 0.0), ((1, 1), 0.0, 1.0), ((2, 1), 0.0, 0.0)]
    {
        let a: Csr<'_, T, u32> = grid(size, holes, diagonal, seed);
        let b = grid::<T>(size, holes, 0.0, seed + 1).shifted(T::from_real(-20.0), None)?;
        let (bands, n) = ((band(&a), band(&b)), a.rows());
        let wide = |x: &Csr<'_, T, u32>| x.to_banded(n - 1, n - 1);
        let (wide_a, wide_b) = (wide(&a)?, wide(&b)?);
        let (sparse, mass) = SparseHermitian::pencil(a.clone(), Some(b.clone()))?;
        let mass = mass.expect("a second matrix");
        check_definite(&bands.1)?;
        ShiftableMatrix::check_definite(&mass)?;
        for shift in [-1.0, -0.013, 0.0371, 0.5, 2.0, 1e9] {
            assert_eq!(
                sparse.eigenvalues_below(None, shift)?,
                eigenvalues_below(&wide_a, None, shift)?,
                "{size:?} {shift}"
            );
            let pencil = eigenvalues_below(&wide_a, Some(&wide_b), shift)?;
            assert_eq!(sparse.eigenvalues_below(Some(&mass), shift)?, pencil, "{size:?} {shift}");
            let inverse = sparse.shifted_inverse(T::from_real(shift), Some(&mass))?;
            let exact: Vec<T> = (0..n).map(|i| T::from_parts((i as f64).sin(), 0.5)).collect();
            let shifted = a.shifted(T::from_real(shift), Some(&b))?;
            for op in [Op::Plain, Op::Transpose, Op::ConjTranspose] {
                let (mut rhs, mut x, mut image) = (vec![T::ZERO; n], vec![T::ZERO; n], vec![T::ZERO; n]);
                shifted.apply_op(op, &exact, &mut rhs, PodStack::new(&mut []))?;
                inverse.apply_op(op, &rhs, &mut x, PodStack::new(&mut []))?;
                shifted.apply_op(op, &x, &mut image, PodStack::new(&mut []))?;
                let most = |x: &[T]| x.iter().map(|x| x.abs1()).fold(0.0, f64::max);
                let size =
                    (0..n).map(|i| shifted.row(i).map(|(_, value)| value.abs1()).sum::<f64>()).fold(0.0, f64::max);
                let error = rhs.iter().zip(&image).map(|(b, image)| (*b - *image).abs1()).fold(0.0, f64::max);
                assert!(error <= 1e-13 * (size * most(&x) + most(&rhs)), "{size:?} {shift} {op:?} {error}");
            }
        }
    }
    Ok(())
}

#[test]
fn counts_and_solves_are_those_of_the_band() {
    for seed in 0..4 {
        check_counts_and_solves::<f64>(seed).expect("real matrices");
        check_counts_and_solves::<Complex64>(seed).expect("complex matrices");
    }
}

#[test]
fn searches_find_what_the_band_finds_and_repeat_their_bits() {
    let a: Csr<'_, f64, u32> = grid((60, 40), 0.1, 4.0, 3);
    let sparse = SparseHermitian::new(a.clone()).expect("a Hermitian matrix");
    let banded = band(&a);
    let solver = EigenSolver::new(8);
    let below = |shift: f64| sparse.eigenvalues_below(None, shift);
    let ours = solver.count(&below).hermitian_nearest(&sparse, None, 0.3).expect("eigenvalues");
    let theirs = solver.hermitian_nearest(&banded, None, 0.3).expect("eigenvalues");
    assert_eq!((ours.converged(), ours.report.complete), (true, Some(true)));
    assert!(ours.values.iter().zip(&theirs.values).all(|(one, other)| (one - other).abs() < 1e-12));
    // Rounding does not depend on the threads, which differ from call to call.
    let again = solver.count(&below).hermitian_nearest(&sparse, None, 0.3).expect("eigenvalues");
    assert!(again.values == ours.values && again.vectors == ours.vectors);
    let ends = (ours.values[0].min(ours.values[1]) - 1e-6, 0.9);
    let between = solver.hermitian_between(&sparse, None, ends).expect("eigenvalues");
    let count =
        eigenvalues_below(&banded, None, ends.1).and_then(|b| Ok(b - eigenvalues_below(&banded, None, ends.0)?));
    assert_eq!((Ok(between.values.len()), between.report.complete), (count, Some(true)));
}

#[test]
fn zeros_on_the_diagonal_and_extreme_entries_are_no_obstacle() {
    // Pairs (0 1; 1 0) on a path: every pivot has two columns, or waits.
    let n = 200;
    for size in [1.0, 1e-300, 1e300] {
        let edges: Vec<_> = (1..n).flat_map(|v| [(v - 1, v, size), (v, v - 1, size)]).collect();
        let a = SparseHermitian::new(Csr::<f64, u32>::from_triplets(n, n, &edges).expect("a path")).expect("Hermitian");
        // λ = 2·cos(π·k/201)
        assert_eq!(a.eigenvalues_below(None, 0.0), Ok(n / 2), "{size}");
        let inverse = a.shifted_inverse(0.0, None).expect("factors");
        let (b, mut x) = (vec![size; n], vec![0.0; n]);
        inverse.apply(&b, &mut x, PodStack::new(&mut [])).expect("a solution");
        let image = |i: usize| (if i > 0 { x[i - 1] } else { 0.0 }) + if i + 1 < n { x[i + 1] } else { 0.0 };
        assert!((0..n).all(|i| (image(i) - 1.0).abs() < 1e-13), "{size}");
    }
    // One row more: the path of an odd number of vertices is singular.
    let edges: Vec<_> = (1..=n).flat_map(|v| [(v - 1, v, 1.0), (v, v - 1, 1.0)]).collect();
    let a =
        SparseHermitian::new(Csr::<f64, u32>::from_triplets(n + 1, n + 1, &edges).expect("a path")).expect("Hermitian");
    assert!(matches!(a.shifted_inverse(0.0, None), Err(Error::Singular { .. })));
    let eigen = EigenSolver::new(3).hermitian_nearest(&a, None, 0.0).expect("eigenvalues");
    assert!(eigen.converged() && eigen.values.iter().any(|value| value.abs() < 1e-12));
}

#[test]
fn what_is_not_hermitian_or_not_finite_is_an_error() {
    let of = |entries: &[(usize, usize, f64)]| {
        SparseHermitian::new(Csr::<f64, u32>::from_triplets(3, 3, entries).expect("a matrix"))
    };
    assert!(matches!(of(&[(0, 1, 1.0)]).map(|_| ()), Err(Error::InvalidArgument { .. })));
    assert!(matches!(of(&[(0, 0, f64::NAN)]).map(|_| ()), Err(Error::NotFinite { .. })));
    let one = of(&[(0, 0, 1.0), (1, 1, -1.0), (2, 2, 3.0)]).expect("a diagonal");
    assert_eq!(ShiftableMatrix::check_definite(&one), Err(Error::NotDefinite { row: 1 }));
    assert!(matches!(one.eigenvalues_below(None, f64::NAN), Err(Error::NotFinite { .. })));
    let empty = SparseHermitian::new(Csr::<f64, u32>::from_triplets(0, 0, &[]).expect("nothing")).expect("nothing");
    assert_eq!(empty.eigenvalues_below(None, 0.0), Ok(0));
}
