//! Random problems of all kinds: what reports say is true.
//!
//! `BANDSOLVE_CASES` is the number of problems.

mod common;

use bandsolve::Error;
use bandsolve_poisson::{BoundaryKind, Grid, PoissonMethod};
use common::{Axis, distance, is_singular, kinds, problem, write_out};
use std::collections::BTreeMap;
use std::f64::consts::PI;

/// Numbers between 0 and 1.
struct Random(u64);

impl Random {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() * n as f64) as usize
    }
}

/// An axis of any kind; of four in ten the spacing varies, by up to four orders of magnitude.
fn axis(random: &mut Random, most: usize) -> Axis {
    let n = 1 + random.below(most);
    let h = 10f64.powf(2.0 * random.next() - 1.0);
    let mut axis = kinds(n, h).swap_remove(random.below(9));
    if random.next() < 0.4 {
        let range = random.below(5) as f64;
        let dirichlet = axis.sides.iter().filter(|side| side.kind == BoundaryKind::Dirichlet).count();
        let node = axis.grid == Grid::Node && axis.sides[0].kind != BoundaryKind::Periodic;
        let count = if node { n + dirichlet } else { n + 1 };
        let mut at = 0.0;
        // Of few bits, so that lengths and places in the middle are exact.
        let bits = f64::from(1 << 30);
        let mut point = || {
            at += (10f64.powf(-range * random.next()) * bits).ceil() / bits;
            at
        };
        axis.points = Some((0..count).map(|_| point()).collect());
    }
    axis
}

/// An eigenvalue of an axis with one spacing.
fn eigenvalue(random: &mut Random, axis: &Axis) -> f64 {
    let (n, k) = (axis.n as f64, random.below(axis.n) as f64);
    let dirichlet = axis.sides.map(|side| side.kind == BoundaryKind::Dirichlet);
    let angle = match (axis.sides[0].kind == BoundaryKind::Periodic, axis.grid, dirichlet) {
        (true, ..) => 2.0 * PI * k / n,
        (_, Grid::Node, [true, true]) => PI * (k + 1.0) / (n + 1.0),
        (_, Grid::Node, [false, false]) => PI * k / (n - 1.0).max(1.0),
        (_, Grid::Cell, [true, true]) => PI * (k + 1.0) / n,
        (_, Grid::Cell, [false, false]) => PI * k / n,
        _ => PI * (k + 0.5) / n,
    };
    (2.0 * (angle / 2.0).sin() / axis.h).powi(2)
}

/// The length that belongs to unknown i.
fn length(axis: &Axis, i: usize) -> f64 {
    let dirichlet = axis.sides.map(|side| side.kind == BoundaryKind::Dirichlet);
    let periodic = axis.sides[0].kind == BoundaryKind::Periodic;
    let step = |k: usize| axis.points.as_ref().map_or(axis.h, |p| p[k + 1] - p[k]);
    if axis.grid == Grid::Cell {
        return step(i);
    }
    let (at, steps) = (i + usize::from(dirichlet[0]), axis.n - 1 + dirichlet.iter().filter(|side| **side).count());
    let left = match at {
        0 if periodic => step(axis.n - 1),
        0 => 0.0,
        at => step(at - 1),
    };
    let right = if periodic || at < steps { step(at) } else { 0.0 };
    let length = 0.5 * (left + right);
    if length == 0.0 { 1.0 } else { length }
}

/// Σ weight·u over Σ weight, and the same of |u|, each product and sum with its rounding error.
fn mean(axes: &[Axis], u: &[f64]) -> [f64; 2] {
    let weight = |mut e: usize| {
        axes.iter().rev().fold(1.0, |product, axis| {
            let i = e % axis.n;
            e /= axis.n;
            product * length(axis, i)
        })
    };
    let total: f64 = (0..u.len()).map(weight).sum();
    [0, 1]
        .map(|k| u.iter().enumerate().map(|(e, u)| weight(e) * if k == 0 { *u } else { u.abs() }).sum::<f64>() / total)
}

#[test]
fn reports_say_what_is_true() {
    let cases = std::env::var("BANDSOLVE_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(1500);
    let (mut random, mut came) = (Random(37), BTreeMap::<&str, usize>::new());
    for case in 0..cases {
        let most = [60, 14, 6][case % 3];
        let axes: Vec<Axis> = (0..=case % 3).map(|_| axis(&mut random, most)).collect();
        let even = axes.iter().all(|axis| axis.points.is_none());
        let resonant = -axes.iter().map(|axis| eigenvalue(&mut random, axis)).sum::<f64>();
        let near = resonant * (1.0 + 10f64.powf(-8.0 * random.next() - 8.0));
        let choices = [0.0, 0.0, 10f64.powf(4.0 * random.next() - 2.0), -3.0 * random.next(), resonant, near];
        let shift = choices[random.below(6)];
        let method = PoissonMethod::ALL[random.below(PoissonMethod::ALL.len())];
        let asked = 2.0 * random.next() - 1.0;
        let written = write_out(&axes, shift);
        let f: Vec<f64> = (0..written.n).map(|_| 2.0 * random.next() - 1.0).collect();
        let what = format!("case {case}: {axes:?} shift {shift} {method:?}");
        let given = problem(&axes, shift).method(method).mean(asked).removable(f64::INFINITY);
        let solved = given.plan::<f64>().and_then(|plan| plan.solve(&f));
        let solution = match solved {
            Ok(solution) => solution,
            Err(Error::Unsupported { .. }) => continue,
            Err(error) => {
                // An error claims nothing; but with one spacing it is one only where the shift cancels an eigenvalue.
                assert!(!even || shift == resonant || shift == near, "{what}: {error}");
                *came.entry("refused").or_default() += 1;
                continue;
            }
        };
        let (u, report) = (&solution.values, &solution.report);
        // Rows are written out, and their residuals formed, in double precision: with 9 roundings of ε/2, and 4 for entries.
        let error = written.backward_error(&f, u, report.removed);
        assert!(error <= report.backward_error + 6.5 * f64::EPSILON, "{what}: {error:e} {:e}", report.backward_error);
        if is_singular(&axes, shift) {
            let [found, size] = mean(&axes, u);
            let bound = (13.0 + u.len() as f64) * f64::EPSILON * (size + asked.abs());
            let said = report.mean.unwrap();
            assert!((found - said).abs() <= bound && (said - asked).abs() <= bound, "{what}: {found} {said} {asked}");
            *came.entry("free").or_default() += 1;
            continue;
        }
        assert!(report.mean.is_none() && report.removed == 0.0, "{what}");
        if report.attention.is_none() {
            let apart = distance(u, &written.solve(&f));
            assert!(apart < 1.0, "{what}: {apart:e} {report:?}");
        }
        *came.entry(if report.attention.is_some() { "said" } else { "solved" }).or_default() += 1;
    }
    println!("{came:?}");
    assert!(["free", "refused", "solved"].iter().all(|what| came.contains_key(what)), "{came:?}");
}
