//! Two substances that react and diffuse along a line (the Brusselator), by implicit steps.
//!
//! ```text
//! ∂u/∂t = Dᵤ ∂²u/∂x² + A − (B + 1) u + u² v
//! ∂v/∂t = Dᵥ ∂²v/∂x² + B u − u² v
//! ```
//!
//! Each iteration of Newton's method solves a block tridiagonal system with blocks of two rows. If the state u = A, v = B/A is unstable, a
//! small wave grows at a known rate, and finally becomes a pattern.
//!
//! `cargo run --release --example reaction_diffusion [PICTURE.svg]`

mod picture;

use bandsolve::prelude::*;
use picture::Picture;
use std::error::Error;
use std::f64::consts::PI;

const A: f64 = 1.0;
const B: f64 = 1.9;
const D: [f64; 2] = [0.01, 0.1];
const N: usize = 400;
const LENGTH: f64 = 10.0;
const H: f64 = LENGTH / N as f64;
/// Number of half waves on the line.
const WAVES: f64 = 14.0;

/// The reaction rates of u and v at a point.
fn reaction([u, v]: [f64; 2]) -> [f64; 2] {
    [A - (B + 1.0) * u + u * u * v, B * u - u * u * v]
}

/// The derivative of [`reaction`], a column-major block.
fn reaction_derivative([u, v]: [f64; 2]) -> [f64; 4] {
    [-(B + 1.0) + 2.0 * u * v, B - 2.0 * u * v, u * u, -u * u]
}

/// The values of u and v at each point.
type Field = Vec<[f64; 2]>;

/// The residual of the implicit step from `before` to `w`, with no flux at the ends.
fn residual(w: &Field, before: &Field, dt: f64) -> Vec<f64> {
    let at_point = |i: usize| {
        let (left, right, rates) = (w[i.saturating_sub(1)], w[(i + 1).min(N - 1)], reaction(w[i]));
        [0, 1].map(|k| {
            let diffusion = D[k] / (H * H) * (left[k] - 2.0 * w[i][k] + right[k]);
            before[i][k] - w[i][k] + dt * (diffusion + rates[k])
        })
    };
    (0..N).flat_map(at_point).collect()
}

/// The negative derivative of the residual: 1 − dt·(diffusion + reaction).
fn jacobian(w: &Field, dt: f64) -> Result<BlockTridiagonal<'static, f64>, bandsolve::Error> {
    let d = D.map(|d| dt / (H * H) * d);
    let off: Vec<f64> = [-d[0], 0.0, 0.0, -d[1]].repeat(N);
    let diag = |(i, w): (usize, &[f64; 2])| {
        let neighbours = if i == 0 || i == N - 1 { 1.0 } else { 2.0 };
        let mut block = reaction_derivative(*w).map(|entry| -dt * entry);
        block[0] += 1.0 + neighbours * d[0];
        block[3] += 1.0 + neighbours * d[1];
        block
    };
    BlockTridiagonal::from_vecs(2, [off.clone(), w.iter().enumerate().flat_map(diag).collect(), off], false)
}

/// Compute one implicit step by Newton's method. All of its systems use `plan`.
fn step(w: &mut Field, dt: f64, plan: &Plan) -> Result<(), bandsolve::Error> {
    let before = w.clone();
    for _ in 0..20 {
        let mut change = residual(w, &before, dt);
        if change.iter().all(|rest| rest.abs() < 1e-12) {
            break;
        }
        plan.factor(&jacobian(w, dt)?)?.solve_in_place(&mut change)?;
        w.iter_mut().flatten().zip(change).for_each(|(w, change)| *w += change);
    }
    Ok(())
}

/// The growth rate of a wave of wave number k around u = A, v = B/A, and the v of this wave for u = 1. They are an eigenvalue and an
/// eigenvector of a 2 × 2 matrix.
fn growth(k: f64) -> (f64, f64) {
    let [[a, b], [c, d]] = [[B - 1.0 - D[0] * k * k, A * A], [-B, -A * A - D[1] * k * k]];
    let rate = (a + d) / 2.0 + (((a - d) / 2.0).powi(2) + b * c).sqrt();
    (rate, (rate - a) / b)
}

fn main() -> Result<(), Box<dyn Error>> {
    let dt = 0.02;
    let x = |i: usize| (i as f64 + 0.5) * H;
    let (rate, v) = growth(WAVES * PI / LENGTH);
    let wave = |i: usize| 1e-6 * (WAVES * PI / LENGTH * x(i)).cos();
    let mut w: Field = (0..N).map(|i| [A + wave(i), B / A + v * wave(i)]).collect();
    let plan = Plan::new(Shape::BlockTridiagonal { block_rows: N, block: 2, periodic: false });
    let size = |w: &Field| w.iter().map(|w| (w[0] - A).abs()).fold(0.0, f64::max);

    step(&mut w, dt, &plan)?;
    let first = size(&w);
    for _ in 1..100 {
        step(&mut w, dt, &plan)?;
    }
    // In an implicit step, the wave grows by the factor 1 / (1 − dt·rate).
    let found = (1.0 - (size(&w) / first).powf(-1.0 / 99.0)) / dt;
    println!("reaction and diffusion: a wave grows at the rate {found:.4}, by theory {rate:.4}");
    assert!((found - rate).abs() < 0.01 * rate.abs());

    // Continue until the pattern no longer changes.
    for _ in 0..1500 {
        step(&mut w, 5.0 * dt, &plan)?;
    }
    let curve = |k: usize| (0..N).map(|i| (x(i), w[i][k])).collect();
    let curves = vec![("u".into(), curve(0)), ("v".into(), curve(1))];
    Picture { x_label: "x", y_label: "concentration", curves, ..Picture::default() }.write_if_asked()?;
    Ok(())
}
