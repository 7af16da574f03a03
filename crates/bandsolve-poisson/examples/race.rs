//! Times of a solve in nanoseconds a point, on one thread and on all: `race N [N2 [N3]]…`, each argument a shape such as 1023x1023.

use bandsolve::dyn_stack::{PodBuffer, PodStack};
use bandsolve_poisson::{Poisson, PoissonMethod};
use std::time::Instant;

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
            let mut times = Vec::new();
            let repeats = (20_000_000 / points).clamp(3, 100);
            let mut error = 0.0;
            for _ in 0..repeats {
                let begin = Instant::now();
                error = plan.solve_into_with(&f, &mut u, PodStack::new(&mut memory)).expect("solved").backward_error;
                times.push(begin.elapsed().as_secs_f64() * 1e9 / points as f64);
            }
            times.sort_by(f64::total_cmp);
            let (median, least) = (times[times.len() / 2], times[0]);
            println!("{text} threads {threads}: {median:.2} least {least:.2} ns/point, plan {:.2}, backward error {error:.1e}", planned * 1e9 / points as f64);
        }
    }
}
