//! Combinations and inner products of vectors on a device, compared with the CPU.

use crate::test_device;
use bandsolve::dyn_stack::{PodBuffer, PodStack};
use bandsolve::vectors::{PIECE, Reducer, narrow, widen};
use bandsolve::{Alone, Complex32, Complex64, Error, Scalar};
use bandsolve_gallery::{Random, random_vec};
use bandsolve_gpu::{Device, DeviceCsr, DeviceScalar, DeviceVectors, Emulation, Order};
use bandsolve_sparse::Csr;

const ORDERS: [Order; 3] = [Order::Forward, Order::Reverse, Order::Random];
const LENGTHS: [usize; 9] = [0, 1, 7, 8, 9, PIECE - 1, PIECE, PIECE + 1, 70 * PIECE + 300];

fn device(order: Order) -> Device {
    test_device(Emulation { order, resident: 3, ..Emulation::default() })
}

/// Σ āb by the order of the CPU, with 8 partial sums per piece.
fn dot<T: Scalar>(a: &[T], b: &[T]) -> Complex64 {
    let of_piece = |(a, b): (&[T], &[T])| {
        let (mut re, mut im) = ([0.0; 8], [0.0; 8]);
        for (k, (a, b)) in a.iter().zip(b).enumerate() {
            let (a, b) = (widen(*a), widen(*b));
            re[k % 8] += a.re * b.re;
            if T::COMPLEX {
                re[k % 8] += a.im * b.im;
                im[k % 8] += a.re * b.im - a.im * b.re;
            }
        }
        Complex64::new(re.iter().sum(), im.iter().sum())
    };
    a.chunks(PIECE).zip(b.chunks(PIECE)).map(of_piece).fold(Complex64::ZERO, |sum, piece| sum + piece)
}

fn dot_on_the_cpu<T: Scalar>(a: &[T], b: &[T]) -> Complex64 {
    let mut memory = PodBuffer::new(Reducer::scratch(a.len(), 1));
    Reducer::new(&Alone, a.len(), 1, PodStack::new(&mut memory)).0.dot(a, b)
}

fn check<T: DeviceScalar>() {
    for n in LENGTHS {
        let mut random = Random::new(n as u64);
        let v: [Vec<T>; 3] = core::array::from_fn(|_| random_vec(n, &mut random));
        let factors: [Complex64; 3] = core::array::from_fn(|_| random_vec::<Complex64>(1, &mut random)[0]);
        let [a, b, c] = factors.map(narrow::<T>);
        // v₁ ← a·v₀ + b·v₁ + c·v₂
        let y: Vec<T> = (0..n).map(|i| a * v[0][i] + b * v[1][i] + c * v[2][i]).collect();
        let expected = [dot(&y, &y), dot(&v[0], &y), dot(&v[2], &v[0])];
        for (expected, (a, b)) in expected.iter().zip([(&y, &y), (&v[0], &y), (&v[2], &v[0])]) {
            let on_the_cpu = dot_on_the_cpu(a, b);
            let size: f64 = a.iter().zip(b).map(|(a, b)| widen(*a).norm() * widen(*b).norm()).sum();
            // A real number of double precision is summed in another order there, with at most n + 1 roundings of each term.
            let bound = if T::NAME == "f64" { (n + 1) as f64 * f64::EPSILON * size } else { 0.0 };
            assert!((expected - on_the_cpu).norm() <= bound, "{} n = {n}: {expected}, {on_the_cpu}", T::NAME);
        }
        for order in ORDERS {
            let mut on_device = DeviceVectors::<T>::new(&device(order), n, 3).unwrap();
            (0..3).for_each(|k| on_device.vector_mut(k).write(&v[k]).unwrap());
            // The counter of thread blocks is zero after each launch.
            for _ in 0..2 {
                on_device.vector_mut(1).write(&v[1]).unwrap();
                let mut sums = [Complex64::ONE; 3];
                let terms = [(factors[0], 0), (factors[1], 1), (factors[2], 2)];
                on_device.combine(1, &terms, &[(1, 1), (0, 1), (2, 0)], &mut sums).unwrap();
                assert!(on_device.vector(1).download().unwrap() == y, "{} n = {n}, {order:?}", T::NAME);
                assert_eq!(sums, expected, "{} n = {n}, {order:?}", T::NAME);
            }
            // Without terms, nothing changes; without inner products, the same combination.
            let mut sums = [Complex64::ONE];
            on_device.combine(1, &[], &[(2, 0)], &mut sums).unwrap();
            assert_eq!(sums[0], expected[2]);
            on_device.combine(0, &[(1.0.into(), 1)], &[], &mut []).unwrap();
            assert!((0..3).all(|k| on_device.vector(k).download().unwrap() == [&y, &y, &v[2]][k].as_slice()));
        }
    }
}

#[test]
fn f32_like_the_cpu() {
    check::<f32>();
}

#[test]
fn f64_like_the_cpu() {
    check::<f64>();
}

#[test]
fn c32_like_the_cpu() {
    check::<Complex32>();
}

#[test]
fn c64_like_the_cpu() {
    check::<Complex64>();
}

#[test]
fn as_many_terms_as_possible() {
    // More pieces than the last thread block adds at a time.
    let n = 70 * PIECE + 300;
    let most = DeviceVectors::<f32>::MAX_TERMS.max(DeviceVectors::<f32>::MAX_DOTS);
    let mut vectors = DeviceVectors::<f32>::new(&device(Order::Random), n, most + 1).unwrap();
    for k in 0..most {
        vectors.vector_mut(k).write(&vec![(k + 1) as f32; n]).unwrap();
    }
    let terms: Vec<_> = (0..DeviceVectors::<f32>::MAX_TERMS).map(|k| (Complex64::from(2.0), k)).collect();
    let dots: Vec<_> = (0..DeviceVectors::<f32>::MAX_DOTS).map(|k| (k, most)).collect();
    let mut sums = vec![Complex64::ZERO; dots.len()];
    vectors.combine(most, &terms, &dots, &mut sums).unwrap();
    let sum = (terms.len() * (terms.len() + 1)) as f32;
    assert_eq!(vectors.vector(most).download().unwrap(), vec![sum; n]);
    for (k, dot) in sums.into_iter().enumerate() {
        assert_eq!(dot, Complex64::from(f64::from(sum) * (k + 1) as f64 * n as f64));
    }
    let wrong = vectors.combine(0, &[], &[(0, 0)], &mut []);
    assert_eq!(wrong, Err(Error::Shape { what: "sums", expected: 1, got: 0 }));
}

/// The method of conjugate gradients on a device, with scalars on the host: a Poisson problem of 40 × 30 points.
#[test]
fn conjugate_gradients() {
    let (nx, ny) = (40, 30);
    let n = nx * ny;
    let neighbors = |i: usize| {
        let (x, y) = (i % nx, i / nx);
        let inside =
            [(x > 0, i.wrapping_sub(1)), (x + 1 < nx, i + 1), (y > 0, i.wrapping_sub(nx)), (y + 1 < ny, i + nx)];
        inside.into_iter().filter(|(inside, _)| *inside).map(move |(_, j)| (i, j, -1.0))
    };
    let triplets: Vec<_> = (0..n).flat_map(|i| neighbors(i).chain([(i, i, 4.0)])).collect();
    let device = device(Order::Reverse);
    let a = DeviceCsr::new(&device, &Csr::<f64, u32>::from_triplets(n, n, &triplets).unwrap()).unwrap();
    let rhs = random_vec::<f64>(n, &mut Random::new(1));
    let [x, r, p, q] = [0, 1, 2, 3];
    let mut v = DeviceVectors::<f64>::new(&device, n, 4).unwrap();
    v.vector_mut(r).write(&rhs).unwrap();
    let one = Complex64::ONE;
    let mut rr = [Complex64::ZERO];
    v.combine(p, &[(one, r)], &[(r, r)], &mut rr).unwrap();
    let first = rr[0].re;
    // κ < 8 / (4 − 2·cos(π/41) − 2·cos(π/31)) < 500, so ‖r‖₂ ≤ 2·√κ·((√κ − 1)/(√κ + 1))ᵏ·‖b‖₂ is below 1e-12·‖b‖₂ after 350 steps in exact
    // arithmetic. Rounding errors delay it.
    let mut steps = 0;
    while rr[0].re > 1e-24 * first && steps < 700 {
        let (from, to) = v.pair(p, q);
        a.multiply(from, to).unwrap();
        let mut pq = [Complex64::ZERO];
        v.combine(q, &[], &[(p, q)], &mut pq).unwrap();
        let alpha = rr[0] / pq[0];
        v.combine(x, &[(one, x), (alpha, p)], &[], &mut []).unwrap();
        let before = rr[0];
        v.combine(r, &[(one, r), (-alpha, q)], &[(r, r)], &mut rr).unwrap();
        v.combine(p, &[(rr[0] / before, p), (one, r)], &[], &mut []).unwrap();
        steps += 1;
    }
    let b = device.upload(&rhs).unwrap();
    let (from, to) = v.pair(x, q);
    let eta = a.residual(from, &b, to).unwrap();
    // |rᵢ| ≤ 1e-12·√n·‖b‖∞, and ‖b‖∞ ≤ 8·‖x‖∞. The rest is for rounding errors of r in the recurrence.
    assert!(rr[0].re <= 1e-24 * first && eta <= 1e-10, "{steps} steps, backward error {eta:e}");
}
