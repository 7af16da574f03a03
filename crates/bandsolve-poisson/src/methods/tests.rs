//! The methods beside golden numbers and independent solvers.

use super::block_cyclic;
use super::partial_fractions::{Below, PartialFractions};
use super::toeplitz::Line;
use bandsolve_kernel::exact::Sum;
use bandsolve_kernel::{RealScalar, Simd};

/// −Δ on a box of spacing 1, zero outside, by block cyclic reduction.
fn laplace<R: RealScalar>(radix: usize, shape: &[usize]) -> PartialFractions<R> {
    let (n, simd) = (shape[shape.len() - 1], Simd::detect());
    let line = Line::new(&vec![1.0; n], &vec![1.0; n], &vec![0.0; n]);
    let mut all = None;
    for rows in shape[..shape.len() - 1].iter().rev() {
        let below = all.map_or_else(|| Below::Line(line.clone()), |block| Below::Block(Box::new(block)));
        all = Some(block_cyclic::plan(radix, (*rows, 1.0), below, simd));
    }
    all.unwrap_or_else(|| PartialFractions::line(line.clone(), simd))
}

fn solved<R: RealScalar>(plan: &PartialFractions<R>, f: &[R], threads: usize) -> Vec<R> {
    let mut u = f.to_vec();
    let mut scratch = vec![R::NAN; plan.scratch(threads)];
    plan.solve(&mut u, R::ZERO, threads, &mut scratch);
    u
}

/// f − (−Δ + shift)(u + v), in twice the precision.
fn residual(shape: &[usize], f: &[f64], (u, v): (&[f64], &[f64])) -> Vec<f64> {
    let at = |i: usize| {
        let mut sum = Sum::new(f[i]);
        let mut step = 1;
        let mut neighbours = vec![];
        for n in shape.iter().rev() {
            let k = i / step % n;
            neighbours.extend((k > 0).then(|| i - step).into_iter().chain((k + 1 < *n).then_some(i + step)));
            step *= n;
        }
        for part in [u, v] {
            sum.add_product::<true>(-2.0 * shape.len() as f64, part[i]);
            neighbours.iter().for_each(|other| sum.add_product::<true>(1.0, part[*other]));
        }
        sum.value()
    };
    (0..f.len()).map(at).collect()
}

fn largest(v: &[f64]) -> f64 {
    v.iter().fold(0.0, |most, v| if v.abs() > most || v.is_nan() { v.abs() } else { most })
}

/// ‖u − exact‖∞ / ‖exact‖∞, ‖f − A u‖∞ / (‖A‖ ‖u‖ + ‖f‖); the exact solution by refinement in twice the precision.
fn errors(plan: &PartialFractions<f64>, shape: &[usize], f: &[f64], u: &[f64]) -> (f64, f64) {
    let (mut high, mut low) = (u.to_vec(), vec![0.0; u.len()]);
    for _ in 0..3 {
        let correction = solved(plan, &residual(shape, f, (&high, &low)), 1);
        for ((high, low), by) in high.iter_mut().zip(&mut low).zip(correction) {
            let by = by + *low;
            let sum = *high + by;
            (*low, *high) = (by - (sum - *high), sum);
        }
    }
    let difference: Vec<f64> = u.iter().zip(&high).map(|(u, exact)| u - exact).collect();
    let left = largest(&residual(shape, f, (u, &vec![0.0; u.len()])));
    (largest(&difference) / largest(&high), left / (4.0 * shape.len() as f64 * largest(u) + largest(f)))
}

/// The right-hand side of the golden numbers.
fn lcg(n: usize) -> Vec<f64> {
    let mut x = 1u64;
    let next = |_| {
        x = (1103515245 * x + 12345) % (1 << 31);
        2.0 * x as f64 / (1u64 << 31) as f64 - 1.0
    };
    (0..n).map(next).collect()
}

#[test]
fn golden_numbers() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/golden/poisson.json");
    let Ok(text) = std::fs::read_to_string(path) else { return };
    let cases: serde_json::Value = serde_json::from_str(&text).unwrap();
    for case in cases.as_array().unwrap() {
        let shape: Vec<usize> = serde_json::from_value(case["shape"].clone()).unwrap();
        let f = lcg(shape.iter().product());
        for radix in [2, 4] {
            let plan = laplace::<f64>(radix, &shape);
            let expected = &case[format!("bcr{radix}")]["count"];
            for (axis, count) in plan.counts().iter().enumerate() {
                assert_eq!(expected[axis.to_string()], *count, "{shape:?} {radix}");
            }
            let start = std::time::Instant::now();
            let u = solved(&plan, &f, 1);
            let seconds = start.elapsed().as_secs_f64();
            let (forward, backward) = errors(&plan, &shape, &f, &u);
            println!("{shape:?} {radix}: {forward:.1e} {backward:.1e} {:.1} ns a point", seconds * 1e9 / f.len() as f64);
            assert!(forward <= 1e-14 && backward <= 2e-15, "{shape:?} {radix}: {forward:e} {backward:e}");
            let close = |key: &str, got: f64, size: f64| {
                let expected = case[key].as_f64().unwrap();
                assert!((got - expected).abs() <= 1e-11 * size, "{shape:?} {radix} {key}: {got} {expected}");
            };
            let largest = largest(&u);
            close("sum_u", u.iter().sum(), u.iter().map(|v| v.abs()).sum());
            close("max_u", largest, largest);
            close("u_first", u[0], largest);
            let middle = shape.iter().fold(0, |at, n| at * n + n / 2);
            close("u_mid", u[middle], largest);
        }
    }
}
