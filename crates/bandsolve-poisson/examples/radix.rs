//! Block cyclic reduction of radix 4 compared with radix 2: times and expected ratios, as in figures 3 and 4 of Myllykoski, Rossi and
//! Toivanen.
//!
//! Arguments: the largest n in 2D, the largest n in 3D, the number of runs, the number of threads.

fn main() {
    let mut numbers = std::env::args().skip(1).filter_map(|number| number.parse().ok());
    let mut next = |usual: usize| numbers.next().unwrap_or(usual);
    let (plane, space, runs, threads) = (next(1023), next(63), next(5), next(1));
    let sizes = |from: usize, to: usize| (1..16).map(|k| (1 << k) - 1).filter(move |n| *n >= from && *n <= to);
    let shapes: Vec<Vec<usize>> =
        sizes(127, plane).map(|n| vec![n; 2]).chain(sizes(31, space).map(|n| vec![n; 3])).collect();
    println!(
        "{:>16} {:>11} {:>11} {:>9} {:>9} {:>9}",
        "box", "radix 2, ms", "radix 4, ms", "ns/point", "ratio", "expected"
    );
    for row in bandsolve_poisson::radix::compare_radices(&shapes, runs, threads).expect("memory") {
        let shape: Vec<String> = row.shape.iter().map(usize::to_string).collect();
        let points: usize = row.shape.iter().product();
        let [two, four] = row.seconds.map(|s| s * 1e3);
        let each = row.seconds[1] * 1e9 / points as f64;
        println!(
            "{:>16} {two:>11.3} {four:>11.3} {each:>9.1} {:>9.3} {:>9.3}",
            shape.join(" × "),
            row.measured(),
            row.expected()
        );
    }
    println!("\n{:>16} {:>20} {:>14}", "line", "reduction, ns/row", "elimination");
    for n in sizes(63, plane) {
        let [reduction, elimination] = bandsolve_poisson::radix::compare_line_solvers(n, 50 * runs)
            .expect("memory")
            .map(|s| s * 1e9 / (16 * n) as f64);
        println!("{n:>16} {reduction:>20.2} {elimination:>14.2}");
    }
}
