//! All kinds of systems by all methods, with all functions of factors.

use bandsolve::dyn_stack::{PodBuffer, PodStack};
use bandsolve::recurrence::{first_order, first_order_reversed, second_order};
use bandsolve::{
    Banded, BlockTridiagonal, Csc, Factor, Factorize, Inspect, Method, Norm, Op, Plan, Tridiagonal, TridiagonalBatch,
};
use bandsolve_gallery::Random;

/// A computation on a number of threads that returns the bits of its results. Its input is prepared before.
pub struct Task {
    pub name: String,
    pub run: Box<dyn Fn(usize) -> Vec<u64>>,
}

/// The size of the systems, and the size of the right-hand sides.
#[derive(Clone, Copy)]
pub struct Scale {
    /// Number of rows of a tridiagonal system.
    pub n: usize,
    /// Right-hand sides are between −rhs and rhs.
    pub rhs: f64,
}

/// Random numbers between −size and size.
fn random(len: usize, size: f64, seed: u64) -> Vec<f64> {
    let mut random = Random::new(seed);
    (0..len).map(|_| random.uniform(-1.0, 1.0) * size).collect()
}

/// Random numbers between −1 and 1, with `on` added.
fn shifted(len: usize, on: f64, seed: u64) -> Vec<f64> {
    random(len, 1.0, seed).into_iter().map(|v| v + on).collect()
}

fn bits<'a>(values: impl IntoIterator<Item = &'a f64>) -> impl Iterator<Item = u64> {
    values.into_iter().map(|v| v.to_bits()).collect::<Vec<_>>().into_iter()
}

/// Solve for all right-hand sides, and for the first one with the transpose. If `inspected`, call all other functions of factors, too.
fn solved<M: Factorize<Scalar = f64>>(plan: &Plan, a: &M, rhs: &[f64], inspected: bool) -> Vec<u64> {
    let n = plan.shape().rows();
    let factor = plan.factor(a).unwrap();
    let mut x = vec![0.0; rhs.len()];
    let mut memory = PodBuffer::new(factor.solve_scratch(rhs.len() / n));
    let report = factor.solve_into_with(Op::Plain, rhs, &mut x, PodStack::new(&mut memory)).unwrap();
    let mut found: Vec<u64> = bits(&x).chain(bits(&report.backward_errors)).collect();
    let mut x = rhs[..n].to_vec();
    found.push(factor.solve_transpose_in_place(&mut x).unwrap().backward_error.to_bits());
    found.extend(bits(&x));
    if inspected {
        let expert = factor.solve_expert(Op::Plain, &rhs[..n], &mut x).unwrap();
        let determinant = factor.determinant().unwrap();
        found.extend(bits(&[factor.rcond(Norm::One).unwrap(), factor.norm(Norm::Infinity), determinant.log_abs]));
        found.extend(bits(&expert.componentwise_errors).chain(bits(&expert.forward_errors)).chain(bits(&x)));
    }
    found
}

/// Add a task for each method that solves the shape.
fn by_methods<M: Factorize<Scalar = f64> + Clone + 'static>(
    tasks: &mut Vec<Task>,
    (kind, plan, a): (&str, Plan, M),
    (size, columns): (f64, usize),
) {
    let rhs = random(plan.shape().rows() * columns, size, 17);
    let general = |method: &Method| method.solves(plan.shape()) && !method.needs_definite();
    for method in Method::ALL.into_iter().filter(general) {
        let (plan, a, rhs) = (plan.clone().method(method), a.clone(), rhs.clone());
        let inspected = method == Method::Auto;
        let run = move |threads| solved(&plan.clone().threads(threads), &a, &rhs, inspected);
        tasks.push(Task { name: format!("{kind}, {}", method.name()), run: Box::new(run) });
    }
}

/// One task of each kind.
pub fn tasks(Scale { n, rhs }: Scale) -> Vec<Task> {
    let mut tasks = Vec::new();
    for (kind, on, periodic) in [("dominant", 4.0, false), ("periodic", 4.0, true), ("random", 0.0, false)] {
        let arrays = [random(n, 1.0, 1), shifted(n, on, 2), random(n, 1.0, 3)];
        let [sub, diag, sup] = arrays;
        let a = Tridiagonal::from_vecs(sub, diag, sup, periodic).unwrap();
        by_methods(&mut tasks, (kind, Plan::new(a.shape()), a), (rhs, 2));
    }
    for (n, half, columns) in [(n / 4, 3, 2), (n / 8, 8, 2), (n / 40, 9, 130), (n / 80, 300, 1)] {
        let a = Banded::from_vec(n, half, half, random(n * (2 * half + 1), 1.0, 4)).unwrap();
        by_methods(&mut tasks, (&format!("{half} diagonals on a side"), Plan::new(a.shape()), a), (rhs, columns));
    }
    for (block, periodic) in [(2, false), (3, true), (6, false), (24, true)] {
        let rows = n / (2 * block * block);
        let blocks = [5, 6, 7].map(|seed| random(rows * block * block, 1.0, seed));
        let a = BlockTridiagonal::from_vecs(block, blocks, periodic).unwrap();
        by_methods(&mut tasks, (&format!("blocks of {block}"), Plan::new(a.shape()), a), (rhs, 2));
    }
    tasks.extend([batch(n, rhs), sparse(n, rhs), recurrences(n, rhs), product(n, rhs)]);
    tasks
}

/// A batch with a nearly singular system, and all functions of its factors.
fn batch(n: usize, size: f64) -> Task {
    let (count, n) = (n / 100, 100);
    let mut arrays = [8, 9, 10].map(|seed| random(count * n, 1.0, seed));
    arrays[1][5 * n + 7] = 1e-13;
    let rhs = random(count * n, size, 16);
    let run = move |threads| {
        let [sub, diag, sup] = &arrays;
        let a = TridiagonalBatch::contiguous(count, n, sub, diag, sup).unwrap();
        let plan = Plan::new(a.shape()).threads(threads);
        let factor = plan.factor(&a).unwrap();
        let conditions = factor.of_systems(|system| system.rcond(Norm::One)).unwrap();
        solved(&plan, &a, &rhs, true).into_iter().chain(bits(&conditions)).collect()
    };
    Task { name: "batch".into(), run: Box::new(run) }
}

/// Sparse right-hand sides.
fn sparse(n: usize, size: f64) -> Task {
    let [sub, diag, sup] = [random(n, 1.0, 1), shifted(n, 4.0, 2), random(n, 1.0, 3)];
    let a = Tridiagonal::from_vecs(sub, diag, sup, false).unwrap();
    let pointers: Vec<i32> = (0..=20).collect();
    let rows: Vec<i32> = (0..20).map(|j| (j * (n / 20)) as i32).collect();
    let values = random(20, size, 11);
    let run = move |threads| {
        let rhs = Csc::new(n, &pointers, &rows, &values).unwrap();
        let solve = |method| {
            let mut x = vec![0.0; 20 * n];
            let factor = Plan::new(a.shape()).method(method).threads(threads).factor(&a).unwrap();
            factor.solve_sparse_into(Op::Plain, &rhs, &mut x).unwrap();
            x
        };
        bits(&[solve(Method::Rpts), solve(Method::Pivoted)].concat()).collect()
    };
    Task { name: "sparse right-hand sides".into(), run: Box::new(run) }
}

fn recurrences(n: usize, size: f64) -> Task {
    let (p, q, r) = (random(n, 0.9, 12), random(n, 0.4, 13), random(n, size, 14));
    let run = move |threads| {
        let [mut one, mut two, mut three] = [(); 3].map(|()| vec![0.0; n]);
        first_order(&p, &r, size, threads, &mut one).unwrap();
        first_order_reversed(&p, &r, size, threads, &mut two).unwrap();
        second_order([&p, &q, &r], [size, -size], threads, &mut three).unwrap();
        bits(&[one, two, three].concat()).collect()
    };
    Task { name: "recurrences".into(), run: Box::new(run) }
}

/// A product A·x, whose number of threads is not set by a plan.
fn product(n: usize, size: f64) -> Task {
    let (block, x) = (20, random(n / 400 * 20, size, 15));
    let matrix = |rows: usize| {
        let blocks = [5, 6, 7].map(|seed| random(rows * block * block, 1.0, seed));
        BlockTridiagonal::from_vecs(block, blocks, false).unwrap()
    };
    let all = [matrix(10), matrix(n / 400)];
    let run = move |threads| {
        let a = &all[usize::from(threads > 1)];
        bits(&a.apply(&x[..a.n()]).unwrap()).collect()
    };
    Task { name: "products".into(), run: Box::new(run) }
}
