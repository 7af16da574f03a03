//! All pairs of kinds of axes, compared with banded LU.

use crate::common::{check, kinds, stretched};
use bandsolve_poisson::PoissonMethod;

#[test]
fn all_pairs_of_kinds() {
    let sizes = [1, 2, 3, 4, 5, 7, 8, 9, 12, 13, 16, 17];
    let mut count = 0;
    for a in 0..9 {
        for b in 0..9 {
            for k in 0..3 {
                let (n, m) = (sizes[(a + 2 * b + 5 * k) % 12], sizes[(3 * a + b + 7 * k + 4) % 12]);
                let axes = [kinds(n, 1.0)[a].clone(), kinds(m, 0.5)[b].clone()];
                for shift in [0.0, 0.37] {
                    check(&axes, shift, PoissonMethod::Auto);
                    check(&axes, shift, PoissonMethod::Gemm);
                    count += 1;
                }
            }
        }
    }
    assert_eq!(count, 81 * 6);
}

#[test]
fn all_sizes() {
    for n in (1..=40).chain([41, 43, 47, 53, 59, 61, 67, 127]) {
        for a in 0..9 {
            let b = (a + n) % 9;
            check(&[kinds(n, 1.0)[a].clone(), kinds(5 + n % 4, 0.8)[b].clone()], 0.0, PoissonMethod::Auto);
            check(&[kinds(4 + n % 5, 1.3)[b].clone(), kinds(n, 1.0)[a].clone()], 0.0, PoissonMethod::Auto);
            check(&[kinds(n, 0.1)[a].clone()], 0.0, PoissonMethod::Auto);
        }
    }
}

#[test]
fn three_dimensions() {
    for k in 0..27 {
        let (a, b, c) = (k % 9, (2 * k + k / 9) % 9, (5 * k + 3) % 9);
        let sizes = [[3, 4, 5], [6, 1, 7], [5, 8, 2], [4, 5, 9], [7, 6, 1]][k % 5];
        let axes = [kinds(sizes[0], 1.0)[a].clone(), kinds(sizes[1], 0.7)[b].clone(), kinds(sizes[2], 1.5)[c].clone()];
        check(&axes, 0.0, PoissonMethod::Auto);
        check(&axes, 0.2, PoissonMethod::Auto);
        check(&axes, 0.0, PoissonMethod::Gemm);
    }
}

#[test]
fn varying_spacings() {
    for a in 0..9 {
        for b in 0..9 {
            let (n, m) = (4 + a, 3 + (a + b) % 7);
            let (one, two) = (kinds(n, 1.0)[a].clone(), kinds(m, 0.5)[b].clone());
            for shift in [0.0, 0.11] {
                check(&[stretched(one.clone()), two.clone()], shift, PoissonMethod::Auto);
                check(&[two.clone(), stretched(one.clone())], shift, PoissonMethod::Auto);
                check(&[stretched(two.clone()), stretched(one.clone())], shift, PoissonMethod::Auto);
            }
            let three = kinds(4, 1.2)[(a + 2 * b) % 9].clone();
            check(&[three.clone(), two.clone(), stretched(one.clone())], 0.0, PoissonMethod::Auto);
            check(&[three.clone(), stretched(two.clone()), stretched(one.clone())], 0.0, PoissonMethod::Auto);
            check(&[stretched(three), stretched(two), stretched(one)], 0.0, PoissonMethod::Auto);
        }
    }
    for a in 0..9 {
        for n in [1, 2, 3, 10, 33] {
            check(&[stretched(kinds(n, 1.0)[a].clone())], 0.0, PoissonMethod::Auto);
        }
    }
}

/// Periodic axes with variable spacing: periodic systems along one axis, eigenvectors along the others. Negative shifts are included.
#[test]
fn periodic_axes_with_variable_spacing() {
    let ring = |n: usize, h: f64| stretched(kinds(n, h)[8].clone());
    for sizes in [[3, 4, 5], [1, 2, 3], [2, 2, 2], [7, 1, 6], [5, 11, 2], [18, 3, 4], [33, 2, 3]] {
        let axes = [ring(sizes[0], 1.0), ring(sizes[1], 0.7), ring(sizes[2], 1.3)];
        for shift in [0.0, 0.23, -0.31] {
            for method in [PoissonMethod::Auto, PoissonMethod::Gemm] {
                check(&axes, shift, method);
            }
            check(&axes[..2], shift, PoissonMethod::Fft);
            check(&axes[..1], shift, PoissonMethod::Auto);
        }
    }
}
