//! Heat in a square plate, by an alternating direction implicit (ADI) method.
//!
//! ```text
//! ∂u/∂t = ∂²u/∂x² + ∂²u/∂y²,   u = 0 at the edges,   u = sin(πx) sin(πy) at t = 0
//! ```
//!
//! Each step has two halves: the first is implicit along columns, the second along rows. A half step is a batch of tridiagonal systems
//! with the same matrix, which is factored once. The columns of the field are interleaved systems, its rows contiguous ones, so that no
//! data are moved. The steps allocate no memory. The exact solution decays as exp(−2π²t).
//!
//! `cargo run --release --example adi_heat [PICTURE.svg]`

mod picture;

use bandsolve::dyn_stack::{PodBuffer, PodStack};
use bandsolve::prelude::*;
use picture::{Curve, Picture};
use std::error::Error;
use std::f64::consts::PI;

/// Number of inner points along each side.
const N: usize = 255;
const STEPS: usize = 100;
const END: f64 = 0.05;

/// sin(πx) at the inner points.
fn sines() -> Vec<f64> {
    (1..=N).map(|i| (PI * i as f64 / (N + 1) as f64).sin()).collect()
}

/// Compute rhs = u + r·(second difference of u), along rows (`Contiguous`) or along columns (`Interleaved`).
fn explicit(u: &[f64], r: f64, layout: Layout, rhs: &mut [f64]) {
    for (k, rhs) in rhs.iter_mut().enumerate() {
        let (place, apart) = match layout {
            Layout::Contiguous => (k % N, 1),
            Layout::Interleaved => (k / N, N),
        };
        let before = if place > 0 { u[k - apart] } else { 0.0 };
        let after = if place + 1 < N { u[k + apart] } else { 0.0 };
        *rhs = u[k] + r * (before - 2.0 * u[k] + after);
    }
}

/// The temperature along the line y = 1/2, from edge to edge.
fn middle(u: &[f64], time: f64) -> Curve {
    let at = |i: usize| if i == 0 || i == N + 1 { 0.0 } else { u[N / 2 * N + i - 1] };
    (format!("t = {time:.2}"), (0..N + 2).map(|i| (i as f64 / (N + 1) as f64, at(i))).collect())
}

fn main() -> Result<(), Box<dyn Error>> {
    let r = END / STEPS as f64 / 2.0 * ((N + 1) * (N + 1)) as f64;
    let (off_diagonal, diag) = (vec![-r; N], vec![1.0 + 2.0 * r; N]);
    let columns = TridiagonalBatch::shared(N, N, Layout::Interleaved, &off_diagonal, &diag, &off_diagonal)?;
    let rows = TridiagonalBatch::shared(N, N, Layout::Contiguous, &off_diagonal, &diag, &off_diagonal)?;
    let factors = [Plan::new(columns.shape()).factor(&columns)?, Plan::new(rows.shape()).factor(&rows)?];
    let mut memory = PodBuffer::new(factors[0].solve_scratch(1).or(factors[1].solve_scratch(1)));

    let s = sines();
    let mut u: Vec<f64> = s.iter().flat_map(|a| s.iter().map(move |b| a * b)).collect();
    let (mut rhs, mut worst) = (vec![0.0; N * N], 0.0f64);
    let mut curves = vec![middle(&u, 0.0)];
    for step in 1..=STEPS {
        for (lu, other) in factors.iter().zip([Layout::Contiguous, Layout::Interleaved]) {
            explicit(&u, r, other, &mut rhs);
            let report = lu.solve_into_with(Op::Plain, &rhs, &mut u, PodStack::new(&mut memory))?;
            worst = worst.max(report.backward_error);
        }
        if step % (STEPS / 5) == 0 {
            curves.push(middle(&u, END * step as f64 / STEPS as f64));
        }
    }

    let decay = (-2.0 * PI * PI * END).exp();
    let largest = decay * s[N / 2] * s[N / 2];
    let wrong = |k: usize| (u[k] - decay * s[k / N] * s[k % N]).abs();
    let error = (0..N * N).map(wrong).fold(0.0, f64::max) / largest;
    println!("ADI, {N} x {N} points, {STEPS} steps: largest error {error:.1e}, backward error at most {worst:.1e}");
    assert!(error < 1e-4 && worst <= 8.0 * f64::EPSILON);
    Picture { x_label: "x, at y = 1/2", y_label: "temperature", curves, ..Picture::default() }.write_if_asked()?;
    Ok(())
}
