//! Structures and conversions of random small matrices, against dense matrices.

use bandsolve::matrix::Index;
use bandsolve::{Error, Shape};
use bandsolve_gallery::Random;
use bandsolve_sparse::{Csr, EntryList, MatrixForm, Structure};

/// A dense matrix. `None` means that no entry other than zero is stored.
type Dense = Vec<Vec<Option<f64>>>;

/// A random matrix of n rows in CSR format with unsorted columns, duplicates, stored zeros and NaN, and the same matrix in dense format.
fn random_matrix<I: Index>(n: usize, random: &mut Random) -> (Csr<'static, f64, I>, Dense) {
    // A rule for the positions: a band, a ring, blocks, or all.
    let (rule, lower, upper) = (random.below(5), random.below(4), random.below(4));
    let (block, probability) = (1 + random.below(n.max(1)), [0.0, 0.1, 0.5, 1.0][random.below(4)]);
    let is_inside = |i: usize, j: usize| match rule {
        0 => i <= j + lower && j <= i + upper,
        1 => (n + i - j) % n <= lower || (n + j - i) % n <= upper,
        2 => (i / block).abs_diff(j / block) <= 1,
        3 => i.abs_diff(j).is_multiple_of(n.max(2) - 1),
        _ => true,
    };
    let mut dense = vec![vec![None; n]; n];
    let (mut pointers, mut columns, mut values) = (vec![I::from_usize(0)], vec![], vec![]);
    for i in 0..n {
        for _ in 0..2 {
            for j in (0..n).rev() {
                if is_inside(i, j) && random.bernoulli(probability) {
                    let value = if random.bernoulli(0.01) { f64::NAN } else { random.below(5) as f64 - 2.0 };
                    columns.push(I::from_usize(j));
                    values.push(value);
                    if value != 0.0 {
                        *dense[i][j].get_or_insert(0.0) += value;
                    }
                }
            }
        }
        pointers.push(I::from_usize(values.len()));
    }
    (Csr::new(n, pointers, columns, values).unwrap(), dense)
}

/// Call `check` with random matrices of 0 to 13 rows.
fn each_matrix(check: impl Fn(&Csr<'_, f64, i32>, &Dense)) {
    let mut random = Random::new(1);
    for n in 0..14 {
        for _ in 0..150 {
            let (a, dense) = random_matrix(n, &mut random);
            check(&a, &dense);
        }
    }
}

/// Positions (i, j) with entries.
fn positions(dense: &Dense) -> impl Iterator<Item = (usize, usize)> + Clone + '_ {
    let n = dense.len();
    (0..n * n).map(move |k| (k / n, k % n)).filter(|(i, j)| dense[*i][*j].is_some())
}

fn assert_equal(dense: &Dense, converted: impl Fn(usize, usize) -> f64) {
    for (i, row) in dense.iter().enumerate() {
        for (j, expected) in row.iter().enumerate() {
            let (got, expected) = (converted(i, j), expected.unwrap_or(0.0));
            assert!(got == expected || got.is_nan() && expected.is_nan(), "({i}, {j}): {got}, expected {expected}");
        }
    }
}

/// Whether all entries lie in the band, which may continue in the corners.
fn fits_band(dense: &Dense, (lower, upper): (usize, usize), ring: bool) -> bool {
    let n = dense.len();
    let open = |i: usize, j: usize| i <= j + lower && j <= i + upper;
    positions(dense).all(|(i, j)| open(i, j) || ring && ((n + i - j) % n <= lower || (n + j - i) % n <= upper))
}

fn fits_blocks(dense: &Dense, block: usize, ring: bool) -> bool {
    let blocks = dense.len() / block;
    positions(dense).all(|(i, j)| {
        let distance = (i / block).abs_diff(j / block);
        distance <= 1 || ring && distance == blocks - 1
    })
}

#[test]
fn bandwidths_are_the_smallest_that_fit() {
    each_matrix(|a, dense| {
        let s = Structure::of(a).unwrap();
        assert_eq!((s.n, s.entries), (dense.len(), a.parts().2.iter().filter(|v| **v != 0.0).count()));
        assert!(fits_band(dense, (s.lower, s.upper), false), "{s:?}");
        assert!(s.lower == 0 || !fits_band(dense, (s.lower - 1, s.upper), false), "{s:?}");
        assert!(s.upper == 0 || !fits_band(dense, (s.lower, s.upper - 1), false), "{s:?}");
        let ring = (s.periodic_lower, s.periodic_upper);
        assert!(fits_band(dense, ring, true) && ring.0.max(ring.1) <= s.n / 2, "{s:?}");
        assert!(ring.0.max(ring.1) <= s.width(), "{s:?}");
        // On a ring, the larger width is the smallest that fits.
        let width = ring.0.max(ring.1);
        assert!(width == 0 || !fits_band(dense, (width - 1, width - 1), true), "{s:?}");
        let row = (0..s.n).find(|i| dense[*i].iter().all(Option::is_none));
        let column = (0..s.n).find(|j| dense.iter().all(|row| row[*j].is_none()));
        assert_eq!((s.empty_row, s.empty_column), (row, column));
    });
}

#[test]
fn the_form_contains_all_entries_and_stores_the_fewest_numbers() {
    each_matrix(|a, dense| {
        let (s, n) = (Structure::of(a).unwrap(), dense.len());
        let form = s.form(a);
        let (fits, stored) = match form {
            MatrixForm::Diagonal => (fits_band(dense, (0, 0), false), 1),
            MatrixForm::Tridiagonal => (fits_band(dense, (1, 1), false), 2),
            MatrixForm::PeriodicTridiagonal => (fits_band(dense, (1, 1), true), 3),
            MatrixForm::Banded { lower, upper } => (fits_band(dense, (lower, upper), false), lower + upper + 1),
            MatrixForm::PeriodicBanded { lower, upper } => (fits_band(dense, (lower, upper), true), lower + upper + 1),
            MatrixForm::BlockTridiagonal { block } => (n % block == 0 && fits_blocks(dense, block, false), 3 * block),
            MatrixForm::General => (true, n),
        };
        assert!(fits, "{form:?}: {dense:?}");
        let is_band = |ring| (fits_band(dense, (1, 1), ring) && !fits_band(dense, (0, 0), false)).then_some(3);
        let least = [is_band(false), is_band(true), fits_band(dense, (0, 0), false).then_some(1)];
        let blocks = (1..=n).filter(|b| n % b == 0 && fits_blocks(dense, *b, false)).map(|b| 3 * b);
        let bands = [s.lower + s.upper + 1, s.periodic_lower + s.periodic_upper + 1, n];
        let simple = least.into_iter().flatten().min();
        let all = simple.unwrap_or_else(|| blocks.chain(bands).min().unwrap());
        assert!(stored <= all.max(3), "{form:?} {stored} {all}: {dense:?}");
        let is_open = fits_band(dense, (1, 1), false);
        assert_eq!(matches!(form, MatrixForm::Diagonal | MatrixForm::Tridiagonal), is_open);
        let periodic = !is_open && n >= 3 && fits_band(dense, (1, 1), true);
        assert_eq!(form == MatrixForm::PeriodicTridiagonal, periodic);
        let &Structure { lower, upper, .. } = &s;
        assert_eq!(
            s.shape(),
            if is_open || periodic { Shape::Tridiagonal { n, periodic } } else { Shape::Banded { n, lower, upper } }
        );
    });
}

#[test]
fn conversions_contain_the_same_matrix_or_name_an_entry_outside() {
    let is_refused = |error: Error| matches!(error, Error::InvalidArgument { .. });
    each_matrix(|a, dense| {
        let n = dense.len();
        for periodic in [false, true] {
            match a.to_tridiagonal(periodic) {
                Ok(t) => assert_equal(dense, |i, j| {
                    let (sub, diag, sup) = t.row(i);
                    let corner = periodic && n > 2 && i.abs_diff(j) == n - 1;
                    match () {
                        () if i == j => diag,
                        () if j + 1 == i || corner && i == 0 => sub,
                        () if i + 1 == j || corner => sup,
                        () => 0.0,
                    }
                }),
                Err(error) => assert!(is_refused(error) && !fits_band(dense, (1, 1), periodic)),
            }
        }
        for (lower, upper) in (0..n + 2).flat_map(|lower| (0..n + 2).map(move |upper| (lower, upper))) {
            match a.to_banded(lower, upper) {
                Ok(band) => assert_equal(dense, |i, j| band.get(i, j)),
                Err(error) => assert!(is_refused(error) && !fits_band(dense, (lower, upper), false)),
            }
        }
        for (block, periodic) in (0..n + 2).flat_map(|block| [(block, false), (block, true)]) {
            let fits = block > 0 && n % block == 0 && (n == 0 || fits_blocks(dense, block, periodic));
            match a.to_block_tridiagonal(block, periodic) {
                Ok(blocks) => assert_equal(dense, |i, j| blocks.get(i, j)),
                Err(error) => assert!(is_refused(error) && !fits, "{n} {block} {periodic}"),
            }
        }
    });
}

#[test]
fn block_sizes_are_the_smallest_that_fit() {
    each_matrix(|a, dense| {
        let (s, n) = (Structure::of(a).unwrap(), dense.len());
        let expected = (1..=n).find(|block| n % block == 0 && fits_blocks(dense, *block, false));
        assert_eq!(s.smallest_block(a), expected.unwrap_or(1), "{dense:?}");
    });
    // Full blocks of 12 rows: 23 diagonals on each side.
    let near = |i: usize| (i / 12 * 12).saturating_sub(12)..(i / 12 * 12 + 24).min(60);
    let entries: Vec<_> = (0..60).flat_map(|i| near(i).map(move |j| (i, j, 1.0))).collect();
    let a = Csr::<f64>::from_triplets(60, 60, &entries).unwrap();
    let s = Structure::of(&a).unwrap();
    assert_eq!((s.lower, s.upper, s.compact_block(&[&a])), (23, 23, Some(12)));
    assert_eq!(s.form(&a), MatrixForm::BlockTridiagonal { block: 12 });
    // With one more entry, the blocks do not fit.
    let b = Csr::<f64>::from_triplets(60, 60, &[(0, 24, 1.0)]).unwrap();
    assert_eq!(Structure::of_all(&[&a, &b]).unwrap().compact_block(&[&a, &b]), None);
}

#[test]
fn small_entries_are_left_out_by_rows() {
    for threshold in [0.0, 0.6, 1.0] {
        each_matrix(|a, dense| {
            let mut expected = dense.clone();
            for row in &mut expected {
                let largest = row.iter().flatten().fold(0.0, |largest, v| f64::max(largest, v.abs()));
                row.iter_mut()
                    .for_each(|v| *v = v.filter(|v| v.is_nan() || *v != 0.0 && v.abs() >= threshold * largest));
            }
            let kept = a.without_small(threshold).unwrap();
            assert_eq!(kept.entries(), positions(&expected).count());
            let n = dense.len();
            assert_equal(&expected, |i, j| kept.to_banded(n, n).unwrap().get(i, j));
        });
    }
    let a = Csr::<f64>::from_triplets(2, 2, &[(0, 0, f64::INFINITY), (0, 1, 1.0)]).unwrap();
    assert_eq!(a.without_small(0.5).unwrap().parts().1, [0]);
    for wrong in [-0.1, 1.1, f64::NAN] {
        let text = a.without_small(wrong).unwrap_err().to_string();
        assert_eq!(text, format!("threshold is {wrong}, expected a number from 0 to 1"));
    }
}

#[test]
fn all_index_types_give_the_same_structure() {
    let of = |n| {
        let of32 = random_matrix::<i32>(n, &mut Random::new(n as u64)).0;
        let of64 = random_matrix::<i64>(n, &mut Random::new(n as u64)).0;
        let wide = random_matrix::<usize>(n, &mut Random::new(n as u64)).0;
        [Structure::of(&of32), Structure::of(&of64), Structure::of(&wide)].map(Result::unwrap)
    };
    for [a, b, c] in (0..40).map(of) {
        assert_eq!((&a, &a), (&b, &c));
    }
}

#[test]
fn messages_say_what_where_and_what_to_do() {
    let a = Csr::<f64>::from_triplets(4, 4, &[(0, 0, 1.0), (3, 1, 1.0)]).unwrap();
    let text = |error: Error| error.to_string();
    assert_eq!(
        text(a.to_tridiagonal(false).unwrap_err()),
        "periodic is false, but the entry in row 3, column 1 lies outside, expected a tridiagonal matrix. Convert to banded storage"
    );
    assert_eq!(
        text(a.to_banded(1, 0).unwrap_err()),
        "lower is 1 and upper is 0, but the entry in row 3, column 1 lies outside, expected the numbers that `Structure::of` returns"
    );
    assert_eq!(
        text(a.to_block_tridiagonal(1, true).unwrap_err()),
        "block is 1, but the entry in row 3, column 1 lies outside, expected larger blocks. Or convert to banded storage"
    );
    assert_eq!(
        text(a.to_block_tridiagonal(3, false).unwrap_err()),
        "block is 3, expected a divisor of 4, the number of rows"
    );
    let wide = Csr::<f64>::from_triplets(1, 2, &[]).unwrap();
    let shape = Error::Shape { what: "a row of a square matrix", expected: 1, got: 2 };
    assert_eq!(Structure::of(&wide).unwrap_err(), shape);
    assert_eq!(wide.to_banded(0, 1).unwrap_err(), shape);
    let differs = Structure::of_all(&[&a, &Csr::from_triplets(1, 1, &[]).unwrap()]);
    assert!(matches!(differs, Err(Error::Shape { expected: 4, got: 1, .. })));
}
