//! x
use bandsolve::LinearOperator;
use bandsolve::dyn_stack::{PodBuffer, PodStack};
use bandsolve_sparse::*;
use std::time::Instant;
fn time(what: &str, mut f: impl FnMut()) {
    f();
    let mut best = f64::MAX;
    let mut all = vec![];
    for _ in 0..9 { let s = Instant::now(); f(); let t = s.elapsed().as_secs_f64()*1e3; best = best.min(t); all.push(t); }
    all.sort_by(f64::total_cmp);
    println!("{what:30} min {best:8.3} med {:8.3} ms", all[4]);
}
#[test]
#[ignore = "timing"]
fn pieces() {
    let n = 1000;
    for p in ["aniso1", "model8"] {
    let a = (MODEL_PROBLEMS.iter().find(|m| m.name == p).unwrap().make)(n);
    println!("{p} {} entries", a.entries());
    let nn = n*n;
    let x: Vec<f64> = (0..nn).map(|i| (i as f64).sin()).collect();
    let mut y = vec![0.0; nn];
    time("product", || a.apply(&x, &mut y, PodStack::new(&mut [])).unwrap());
    for kind in ["jacobi", "tridiagonal", "forest", "alt-i:1", "alt-i:2", "alt-i:3", "mos-d:2", "ilu0", "amg-lines:2"] {
        let m = Preconditioner::new(&a, kind.parse().unwrap(), &PreconditionerOptions::default()).unwrap();
        let mut memory = PodBuffer::new(m.apply_scratch());
        time(kind, || m.apply(&x, &mut y, PodStack::new(&mut memory)).unwrap());
    }
    time("graph", || { Graph::of(&a).unwrap(); });
    let g = Graph::of(&a).unwrap();
    time("factor", || { GraphFactor::of(&g, &GraphFactorOptions::default()).unwrap(); });
    let f = GraphFactor::of(&g, &GraphFactorOptions::default()).unwrap();
    time("paths", || { Forest::from_factor(&g, &f).unwrap(); });
    let f = Forest::from_factor(&g, &f).unwrap();
    time("tridiagonal", || { f.tridiagonal(&a).unwrap(); });
    let t = f.tridiagonal(&a).unwrap();
    time("factor tri", || { let _ = bandsolve::Plan::new(t.shape()).verify(false).factor(&t).unwrap(); });
    use bandsolve::Factor;
    for m in ["auto", "rpts", "pivoted", "thomas"] {
    let Some(me) = bandsolve::Method::from_name(m) else { continue };
    let fa = bandsolve::Plan::new(t.shape()).method(me).verify(false).factor(&t).unwrap();
    let mut mem = PodBuffer::new(fa.solve_scratch(1));
    time(&format!("solve {m} {}", fa.shape().rows()), || { fa.solve_into_with(bandsolve::Op::Plain, &x, &mut y, PodStack::new(&mut mem)).unwrap(); });
    }
    let places: Vec<u32> = (0..nn).map(|v| f.place(v) as u32).collect();
    time("gather seq", || { for v in 0..nn { y[v] += x[places[v] as usize]; } });
    }
}
