//! Times of a solve in nanoseconds a point, on one thread and on all: `race 1023x1023 63x63x63 …`.

use bandsolve::dyn_stack::{PodBuffer, PodStack};
use bandsolve_poisson::{Poisson, PoissonMethod};
use std::time::Instant;

/// Nanoseconds that this thread has worked so far, where the system tells; not disturbed by what else runs.
fn worked() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    text.split(' ').next().and_then(|number| number.parse().ok()).unwrap_or(f64::NAN)
}

fn main() {
    let shapes: Vec<String> = std::env::args().skip(1).collect();
    for text in &shapes {
        let shape: Vec<usize> = text.split('x').map(|n| n.parse().expect("a size")).collect();
        let points: usize = shape.iter().product();
        let f: Vec<f64> = (0..points).map(|k| ((k * 7919) % 1000) as f64 * 1e-3 - 0.5).collect();
        for threads in [1, 2] {
            let begin = Instant::now();
            let plan = Poisson::new(&shape).method(PoissonMethod::Fft).threads(threads).plan::<f64>().expect("a plan");
            let planned = begin.elapsed().as_secs_f64();
            let mut memory = PodBuffer::new(plan.solve_scratch());
            let mut u = vec![0.0; points];
            let (mut times, mut work) = (Vec::new(), Vec::new());
            let repeats = (20_000_000 / points).clamp(3, 100);
            let mut error = 0.0;
            for _ in 0..repeats {
                let (begin, before) = (Instant::now(), worked());
                error = plan.solve_into_with(&f, &mut u, PodStack::new(&mut memory)).expect("solved").backward_error;
                times.push(begin.elapsed().as_secs_f64() * 1e9 / points as f64);
                work.push((worked() - before) / points as f64);
            }
            times.sort_by(f64::total_cmp);
            work.sort_by(f64::total_cmp);
            let (median, least) = (times[times.len() / 2], times[0]);
            let (own, own_least) = (work[work.len() / 2], work[0]);
            println!(
                "{text} threads {threads}: {median:.2} least {least:.2} ns/point, caller {own:.2} least {own_least:.2}, plan {:.2}, backward error {error:.1e}",
                planned * 1e9 / points as f64
            );
        }
    }
}
