//! The scratch size of a plan is the size that its factors need, or slightly more.

use bandsolve::Factorize;
use bandsolve::prelude::*;
use bandsolve_gallery::{Random, random_vec};

/// Compare the scratch sizes of plan and factors, for all options that change sizes.
fn check<T: Scalar, M: Factorize<Scalar = T>>(a: &M, shape: Shape, slack: f64) -> usize {
    let mut checked = 0;
    for method in Method::ALL.into_iter().filter(|method| method.solves(shape) && !method.needs_definite()) {
        for (verify, threads) in [(true, 1), (false, 1), (true, 2), (true, 7)] {
            for pivoting in [Pivoting::ScaledPartial, Pivoting::None] {
                let plan = Plan::new(shape).method(method).verify(verify).threads(threads).pivoting(pivoting);
                let factor = plan.factor(a).unwrap();
                // With stored factors, `rpts` needs less scratch than without. The plan does not know whether the matrix allows them.
                let without = matches!(shape, Shape::Tridiagonal { .. })
                    .then(|| Plan::once(shape).method(method).verify(verify).threads(threads).pivoting(pivoting));
                for n_rhs in [0, 1, 3, 4, 9, 70] {
                    let Some(promised) = plan.solve_in_place_scratch::<T>(n_rhs) else { continue };
                    let asked = factor.solve_in_place_scratch(n_rhs);
                    let what = format!("{shape:?} {method:?} {n_rhs} right-hand sides: {promised:?} for {asked:?}");
                    assert!(promised.size_bytes() >= asked.size_bytes(), "{what}");
                    assert!(promised.align_bytes() >= asked.align_bytes(), "{what}");
                    let most = slack * asked.size_bytes() as f64 + 1e5;
                    let without = without.as_ref().and_then(|plan| plan.solve_in_place_scratch::<T>(n_rhs));
                    let most = most.max(without.map_or(0.0, |without| without.size_bytes() as f64));
                    assert!(promised.size_bytes() as f64 <= most, "{what}");
                    checked += 1;
                }
            }
        }
    }
    checked
}

fn all<T: Scalar>() {
    let random = &mut Random::new(1);
    let mut checked = 0;
    for (n, periodic) in [0, 1, 2, 3, 63, 64, 127, 128, 1000, 70_001].map(|n| [(n, false), (n, true)]).as_flattened() {
        let [sub, diag, sup] = [(); 3].map(|()| random_vec::<T>(*n, random));
        let a = Tridiagonal::from_vecs(sub, diag, sup, *periodic).unwrap();
        checked += check(&a, a.shape(), 1.0);
    }
    for (block_rows, block) in [(0, 2), (1, 3), (2, 1), (3, 2), (9, 12), (50, 5), (200, 2), (700, 3), (40, 20)] {
        for periodic in [false, true] {
            let blocks = [(); 3].map(|()| random_vec::<T>(block_rows * block * block, random));
            let a = BlockTridiagonal::from_vecs(block, blocks, periodic).unwrap();
            checked += check(&a, a.shape(), 2.0);
        }
    }
    for (n, lower, upper) in [
        (0, 1, 1),
        (1, 0, 0),
        (2, 3, 1),
        (5, 2, 2),
        (300, 1, 2),
        (500, 9, 0),
        (2000, 3, 40),
        (9000, 11, 7),
        (30, 50, 2),
    ] {
        let a = Banded::from_vec(n, lower, upper, random_vec::<T>(n * (lower + upper + 1), random)).unwrap();
        checked += check(&a, a.shape(), 2.0);
    }
    assert!(checked > 3000, "{checked}");
}

#[test]
fn plans_promise_enough_real() {
    all::<f32>();
    all::<f64>();
}

#[test]
fn plans_promise_enough_complex() {
    all::<Complex32>();
    all::<Complex64>();
}
