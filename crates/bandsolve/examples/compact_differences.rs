//! First derivatives of sixth order: compact finite differences on a periodic grid (Lele 1992).
//!
//! ```text
//! ⅓ f′ᵢ₋₁ + f′ᵢ + ⅓ f′ᵢ₊₁ = 14/9 (fᵢ₊₁ − fᵢ₋₁)/(2h) + 1/9 (fᵢ₊₂ − fᵢ₋₂)/(4h)
//! ```
//!
//! A periodic tridiagonal system gives all derivatives. Its factors serve all fields on the grid. Here each solve has two fields.
//!
//! `cargo run --release --example compact_differences [PICTURE.svg]`

mod picture;

use bandsolve::prelude::*;
use picture::Picture;
use std::error::Error;
use std::f64::consts::TAU;

/// The right-hand sides of several fields of n values each.
fn right_hand_sides(fields: &[f64], n: usize) -> Vec<f64> {
    let h = TAU / n as f64;
    let of_field = |f: &[f64]| -> Vec<f64> {
        let difference = |i: usize, by: usize| f[(i + by) % n] - f[(i + n - by) % n];
        (0..n).map(|i| 14.0 / 9.0 * difference(i, 1) / (2.0 * h) + difference(i, 2) / 9.0 / (4.0 * h)).collect()
    };
    fields.chunks(n).flat_map(of_field).collect()
}

/// The largest errors of the first and second derivatives of exp(sin x) and exp(cos x) on n points. The second derivative is the first
/// derivative of the first one.
fn errors(n: usize) -> Result<[f64; 2], bandsolve::Error> {
    let (third, ones) = (vec![1.0 / 3.0; n], vec![1.0; n]);
    let a = Tridiagonal::periodic(&third, &ones, &third)?;
    let lu = Plan::new(a.shape()).factor(&a)?;

    let x: Vec<f64> = (0..n).map(|i| TAU * i as f64 / n as f64).collect();
    // f, f′ and f″ of exp(sin x). exp(cos x) is exp(sin(x + τ/4)).
    let exact = |x: f64| {
        let (sin, cos) = x.sin_cos();
        [1.0, cos, cos * cos - sin].map(|factor| factor * sin.exp())
    };
    let fields = |order: usize| -> Vec<f64> {
        x.iter().map(|x| exact(*x)[order]).chain(x.iter().map(|x| exact(x + TAU / 4.0)[order])).collect()
    };
    let largest = |found: &[f64], order| {
        found.iter().zip(fields(order)).map(|(found, exact)| (found - exact).abs()).fold(0.0, f64::max)
    };
    let first = lu.solve(&right_hand_sides(&fields(0), n))?.values;
    let mut second = right_hand_sides(&first, n);
    lu.solve_in_place(&mut second)?;
    Ok([largest(&first, 1), largest(&second, 2)])
}

fn main() -> Result<(), Box<dyn Error>> {
    let sizes = [16, 32, 64, 128, 256];
    let found = sizes.map(errors).into_iter().collect::<Result<Vec<_>, _>>()?;
    let order = |k: usize| (found[3][k] / found[4][k]).log2();
    println!("compact differences: errors from {:.1e} to {:.1e}, order {:.2}", found[0][0], found[4][0], order(0));
    assert!((order(0) - 6.0).abs() < 0.1 && (order(1) - 6.0).abs() < 0.1);

    let curve = |error: &dyn Fn(usize) -> f64| (0..5).map(|k| (sizes[k] as f64, error(k))).collect();
    let sixth = |k: usize| found[0][0] * (sizes[0] as f64 / sizes[k] as f64).powi(6);
    let curves = vec![
        ("first derivative".into(), curve(&|k| found[k][0])),
        ("second derivative".into(), curve(&|k| found[k][1])),
        ("sixth order".into(), curve(&sixth)),
    ];
    Picture { x_label: "points", y_label: "largest error", logarithmic: true, curves }.write_if_asked()?;
    Ok(())
}
