//! Time of the parts of a solve in nanoseconds per unknown, and error of u: `race 1023x1023 63x63x63 …`.
//!
//! - *transforms*: the forward and the inverse transforms of all rows. Each reads and writes u once.
//! - *copy*: one copy of u.
//! - *error*: max |computed − u| / max |u| for f = A·u. u is smooth with noise, and has so few bits that f is exact.
//! - *error of f*: the same relative size of the change of u if each f changes randomly by up to half a unit in the last place.

use bandsolve::dyn_stack::{PodBuffer, PodStack};
use bandsolve_poisson::{Poisson, PoissonMethod};
use std::f64::consts::PI;
use std::time::Instant;

/// The median time of a call in nanoseconds.
fn median(repeats: usize, mut call: impl FnMut()) -> f64 {
    let mut times: Vec<f64> = (0..repeats)
        .map(|_| {
            let begin = Instant::now();
            call();
            begin.elapsed().as_secs_f64() * 1e9
        })
        .collect();
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

/// A·u with spacing 1 and u = 0 at all sides.
fn product(u: &[f64], shape: &[usize]) -> Vec<f64> {
    let mut f: Vec<f64> = u.iter().map(|u| 2.0 * shape.len() as f64 * u).collect();
    let mut stride = u.len();
    for n in shape {
        stride /= n;
        for k in 0..u.len() {
            let place = k / stride % n;
            f[k] -= if place > 0 { u[k - stride] } else { 0.0 } + if place + 1 < *n { u[k + stride] } else { 0.0 };
        }
    }
    f
}

fn main() {
    for text in std::env::args().skip(1) {
        let mut state = 1u64;
        let mut noise = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as f64 / (1u64 << 31) as f64 - 0.5
        };
        let shape: Vec<usize> = text.split('x').map(|n| n.parse().expect("a size")).collect();
        let points: usize = shape.iter().product();
        let smooth = |mut k: usize| {
            shape.iter().rev().fold(1.0, |product, n| {
                let place = k % n;
                k /= n;
                product * (PI * (place + 1) as f64 / (n + 1) as f64).sin()
            })
        };
        let exact: Vec<f64> = (0..points)
            .map(|k| ((smooth(k) + 0.2 * noise()) * f64::from(1 << 30)).round() / f64::from(1 << 30))
            .collect();
        let largest = exact.iter().fold(0.0, |a: f64, b| a.max(b.abs()));
        let f = product(&exact, &shape);
        let rounded: Vec<f64> = f.iter().map(|f| f * (2.0 * noise() * f64::EPSILON / 2.0)).collect();
        let repeats = (20_000_000 / points).clamp(3, 100);
        for method in [PoissonMethod::Fft, PoissonMethod::Auto] {
            for threads in [1, 2] {
                let problem = Poisson::new(&shape).method(method).threads(threads);
                let begin = Instant::now();
                let plan = problem.plan::<f64>().expect("a plan");
                let planned = begin.elapsed().as_secs_f64() * 1e9;
                let taken = plan.method().0;
                if method == PoissonMethod::Auto && taken == PoissonMethod::Fft {
                    continue;
                }
                let mut memory = PodBuffer::new(plan.solve_scratch());
                let mut u = vec![0.0; points];
                let mut backward = 0.0;
                let total = median(repeats, || {
                    let report = plan.solve_into_with(&f, &mut u, PodStack::new(&mut memory)).expect("solved");
                    backward = report.backward_error;
                });
                let far = |(u, x): (&f64, &f64)| (u - x).abs();
                let error = u.iter().zip(&exact).map(far).fold(0.0, f64::max) / largest;
                let copy = median(repeats, || u.copy_from_slice(std::hint::black_box(&f)));
                let slabs = problem.slabs::<f64>().expect("slabs");
                let both = median(repeats.min(10), || {
                    slabs.transform(&mut u, false);
                    slabs.transform(&mut u, true);
                });
                plan.solve_into_with(&rounded, &mut u, PodStack::new(&mut memory)).expect("solved");
                let of_f = u.iter().fold(0.0, |a: f64, b| a.max(b.abs())) / largest;
                let [total, copy, both, planned] = [total, copy, both, planned].map(|time| time / points as f64);
                println!(
                    "{text} {taken:?} {threads} threads: {total:.2} (transforms on one thread {both:.2}, copy {copy:.2}, plan {planned:.1}), error {error:.1e}, error of f {of_f:.1e}, backward {backward:.1e}",
                );
            }
        }
    }
}
