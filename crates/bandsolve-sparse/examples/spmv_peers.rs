//! Benchmark of sparse matrix-vector products against `faer` and `sprs`, on the matrices of `bandsolve bench spmv` with sorted rows.
//!
//! `faer` and `sprs` use one thread, except for rows of `faer`. The program prints the median of 9 runs, in which the libraries take turns.
//!
//! `cargo run --release -p bandsolve-sparse --features faer,sprs --example spmv_peers [ROWS]`

use bandsolve::dyn_stack::PodStack;
use bandsolve::{Error, LinearOperator};
use bandsolve_gallery::Random;
use bandsolve_sparse::{Csr, PreparedProduct, nine_point};
use faer::sparse::linalg::matmul::sparse_dense_matmul;
use faer::{Accum, ColMut, ColRef, Par};
use std::time::Instant;

type Matrix = Csr<'static, f64, u32>;

/// Create rows of these lengths with random columns. With `diagonal`, rows of one entry have it on the diagonal.
fn random_rows(lengths: &[usize], diagonal: bool) -> Result<Matrix, Error> {
    let (n, mut random) = (lengths.len(), Random::new(lengths.len() as u64));
    let (mut pointers, mut columns) = (vec![0], Vec::new());
    for (i, length) in lengths.iter().enumerate() {
        let mut row: Vec<u32> = match (diagonal, *length) {
            (true, 1) => vec![i as u32],
            (true, _) => (0..n as u32).collect(),
            _ => (0..*length).map(|_| random.below(n) as u32).collect(),
        };
        row.sort_unstable();
        row.dedup();
        columns.extend(row);
        pointers.push(columns.len() as u32);
    }
    let values = random.uniform_vec(columns.len(), -1.0, 1.0);
    Csr::new(n, pointers, columns, values)
}

fn matrices(n: usize) -> Result<[(&'static str, Matrix); 3], Error> {
    let (mut random, side) = (Random::new(n as u64), (n as f64).sqrt() as usize);
    let power: Vec<usize> = (0..n).map(|_| (1.0 / random.unit()).clamp(1.0, 5000.0) as usize).collect();
    let dense: Vec<usize> = (0..n).map(|i| if i == n / 2 { n } else { 1 }).collect();
    Ok([
        ("nine-point", nine_point([[-1.0, -2.0, -1.0], [-2.0, 12.0, -2.0], [-1.0, -2.0, -1.0]], (side, side))),
        ("power-law", random_rows(&power, false)?),
        ("dense-row", random_rows(&dense, true)?),
    ])
}

/// A product that writes y from x.
type Product<'a> = Box<dyn Fn(&[f64], &mut [f64]) + 'a>;

fn products<'a>(
    a: &'a Matrix,
    prepared: &'a PreparedProduct<'a, f64, u32>,
) -> Result<Vec<(&'static str, Product<'a>)>, Error> {
    let (faer, sprs) = (a.as_faer()?, a.as_sprs()?);
    let of_faer = move |par: Par| -> Product<'a> {
        Box::new(move |x, y| {
            let (x, y) = (ColRef::from_slice(x).as_mat(), ColMut::from_slice_mut(y).as_mat_mut());
            sparse_dense_matmul(y, Accum::Replace, faer, x, 1.0, par);
        })
    };
    Ok(vec![
        ("product", Box::new(move |x, y| a.apply(x, y, PodStack::new(&mut [])).expect("sizes"))),
        ("prepared", Box::new(move |x, y| prepared.apply(x, y, PodStack::new(&mut [])).expect("sizes"))),
        ("faer", of_faer(Par::Seq)),
        (
            "sprs",
            Box::new(move |x, y| {
                y.fill(0.0);
                sprs::prod::mul_acc_mat_vec_csr(sprs.view(), x, y);
            }),
        ),
    ])
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let n = std::env::args().nth(1).map_or(Ok(1_000_000), |n| n.parse())?;
    println!("| matrix, {} threads | product | prepared | faer | sprs |", rayon::current_num_threads());
    println!("| --- | --- | --- | --- | --- |");
    for (name, a) in matrices(n)? {
        let prepared = PreparedProduct::new(&a)?;
        let (x, mut y) = (Random::new(1).uniform_vec(a.columns(), -1.0, 1.0), vec![0.0; a.rows()]);
        let products = products(&a, &prepared)?;
        let mut times = vec![Vec::new(); products.len()];
        let mut checked = vec![0.0; a.rows()];
        products[0].1(&x, &mut checked);
        for _ in 0..9 {
            for ((who, product), times) in products.iter().zip(&mut times) {
                let started = Instant::now();
                product(&x, &mut y);
                times.push(started.elapsed().as_secs_f64() * 1e3);
                let apart = y.iter().zip(&checked).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
                assert!(apart <= 1e-9, "{who}: {apart:e} apart on {name}");
            }
        }
        let cells: Vec<String> = times.into_iter().map(|times| format!("{:.2} ms", median(times))).collect();
        println!("| {name}, {} entries | {} |", a.entries(), cells.join(" | "));
    }
    Ok(())
}
