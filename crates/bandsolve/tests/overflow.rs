//! Sizes whose sums and products overflow give errors or huge sizes, and never wrap around.

use bandsolve::Factorize;
use bandsolve::prelude::*;

const HALF: usize = 1 << 63;

/// Bandwidths whose sum overflows, with or without the diagonal or the fill-in.
const WIDE: [(usize, usize); 5] =
    [(HALF, HALF), (usize::MAX, 0), (0, usize::MAX), (usize::MAX, usize::MAX), (HALF, HALF - 2)];

#[test]
fn bands_that_are_too_wide() {
    for (lower, upper) in WIDE {
        for (n, len) in [(0, 0), (1, 0), (1, 1), (3, 3), (usize::MAX, 0)] {
            let bands = vec![1.0; len];
            let refused = |made: Result<_, Error>| matches!(made, Err(Error::Shape { .. }));
            assert!(refused(Banded::new(n, lower, upper, &bands).map(|_| ())), "{n}, {lower}, {upper}");
            assert!(refused(Banded::from_vec(n, lower, upper, bands.clone()).map(|_| ())));
            for leading in [0, 1, lower.wrapping_add(upper).wrapping_add(1), usize::MAX] {
                assert!(refused(Banded::with_leading(n, lower, upper, leading, &bands).map(|_| ())));
            }
        }
    }
    // Empty matrices with large bandwidths are valid.
    assert!(Banded::<f64>::new(0, 1 << 40, 1 << 40, &[]).unwrap().solve(&[]).is_ok());
}

#[test]
fn blocks_and_batches_that_are_too_large() {
    for block in [1 << 32, HALF, usize::MAX] {
        assert!(BlockTridiagonal::new(block, &[1.0], &[1.0], &[1.0]).is_err());
        assert!(BlockTridiagonal::periodic(block, &[1.0], &[1.0], &[1.0]).is_err());
    }
    // 2³³ · 2³¹ wraps around to 0.
    for (count, n) in [(1 << 33, 1 << 31), (HALF, 2), (usize::MAX, usize::MAX)] {
        assert!(TridiagonalBatch::<f64>::contiguous(count, n, &[], &[], &[]).is_err());
        let shape = Shape::Batch { n, count, layout: Layout::Contiguous, periodic: false };
        assert_eq!(shape.rows(), usize::MAX);
        assert!(shape.n_rhs("rhs", 5).is_err());
    }
}

/// No system can have these shapes. Plans return scratch sizes that no memory can have.
#[test]
fn plans_of_absurd_shapes() {
    let large = [1 << 40, HALF, usize::MAX];
    let mut shapes = Vec::new();
    for n in large {
        shapes.extend([false, true].map(|periodic| Shape::Tridiagonal { n, periodic }));
        for block in [1, 2, 8, 40, 1 << 40, HALF, usize::MAX] {
            shapes.extend([false, true].map(|periodic| Shape::BlockTridiagonal { block_rows: n, block, periodic }));
        }
        for (lower, upper) in WIDE.into_iter().chain([(2, 2), (1 << 40, 3)]) {
            shapes.push(Shape::Banded { n, lower, upper });
        }
    }
    for shape in shapes {
        for method in Method::ALL.into_iter().filter(|method| method.solves(shape) && !method.needs_definite()) {
            let plan = Plan::new(shape).method(method);
            for n_rhs in [1 << 30, usize::MAX] {
                let Some(scratch) = plan.solve_in_place_scratch::<f64>(n_rhs) else { continue };
                // The right-hand sides alone exceed the address space.
                assert_eq!(scratch.unaligned_bytes_required(), usize::MAX, "{shape:?} by {}", method.name());
            }
        }
    }
}

fn check<M: Factorize<Scalar = f64>>(a: &M, shape: Shape) {
    for method in Method::ALL.into_iter().filter(|method| method.solves(shape) && !method.needs_definite()) {
        let factor = Plan::new(shape).method(method).factor(a).unwrap();
        for n_rhs in [HALF, HALF / 3, usize::MAX] {
            let bytes = factor.solve_in_place_scratch(n_rhs).unaligned_bytes_required();
            assert_eq!(bytes, usize::MAX, "{shape:?} by {}", method.name());
        }
    }
}

#[test]
fn scratch_for_absurdly_many_right_hand_sides() {
    let n = 600;
    let (off, diag) = (vec![1.0; n], vec![4.0; n]);
    for periodic in [false, true] {
        let a = Tridiagonal::from_vecs(off.clone(), diag.clone(), off.clone(), periodic).unwrap();
        check(&a, a.shape());
        let block = |v: f64| (0..n).flat_map(move |_| [v, 0.0, 0.0, v]).collect::<Vec<_>>();
        let a = BlockTridiagonal::from_vecs(2, [block(1.0), block(4.0), block(1.0)], periodic).unwrap();
        check(&a, a.shape());
    }
    let bands = (0..n).flat_map(|_| [1.0, 0.5, 6.0, 1.0]).collect();
    let a = Banded::from_vec(n, 1, 2, bands).unwrap();
    check(&a, a.shape());
}
