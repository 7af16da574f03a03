//! Operations on vectors of the CPU that belong to a basis: orthogonalization in the inner product of a matrix, and rotations.

use bandsolve::dyn_stack::{PodBuffer, PodStack};
use bandsolve::vectors::{HostVectors, Operator, PIECE, Reducer, VectorId, Vectors, widen};
use bandsolve::{Alone, Complex32, Complex64, LinearOperator, RealScalar, Result, Scalar};
use bandsolve_gallery::{Random, random_vec};
use bandsolve_kernel::view::View;

/// B = diag(1, 2, 3, 1, 2, 3, …).
struct Mass(usize);

fn weight(i: usize) -> f64 {
    1.0 + (i % 3) as f64
}

impl<T: Scalar> LinearOperator<T> for Mass {
    fn rows(&self) -> usize {
        self.0
    }

    fn columns(&self) -> usize {
        self.0
    }

    fn apply(&self, x: &[T], y: &mut [T], _: &mut PodStack) -> Result<()> {
        y.iter_mut().enumerate().for_each(|(i, y)| *y = x[i].scale(T::Real::from_f64(weight(i))));
        Ok(())
    }
}

/// The number of vectors is above that of one matrix product.
const COUNT: usize = 40;

/// Call `work` with vectors of n elements, whose first `COUNT` work vectors are random. Returns all work vectors, in double precision.
fn with_vectors<T: Scalar>(n: usize, work: impl Fn(&mut HostVectors<'_, T>) + Sync) -> Vec<Vec<Complex64>> {
    let count = 2 * COUNT + 1;
    let scratch = Reducer::scratch(n, COUNT).and(HostVectors::<T>::rotate_scratch(n, COUNT));
    let (mut memory, mut x) = (PodBuffer::new(scratch), vec![T::ZERO; n]);
    let (reducer, stack) = Reducer::new(&Alone, n, COUNT, PodStack::new(&mut memory));
    let mut array = vec![T::ZERO; count * HostVectors::<T>::stride(n)];
    let (a, x) = (Mass(n), &mut x);
    let mut vectors = HostVectors { a: &a, b: Some(&a), m: None, rhs: &[], x, work: &mut array, reducer, stack };
    let mut random = Random::new(n as u64);
    for k in 0..COUNT {
        let v: Vec<Complex64> = random_vec(n, &mut random);
        vectors.set(VectorId::Work(k), None, &|i| v[i]);
    }
    work(&mut vectors);
    (0..count).map(|k| elements(&mut vectors, n, k)).collect()
}

fn elements<T: Scalar>(vectors: &mut HostVectors<'_, T>, n: usize, k: usize) -> Vec<Complex64> {
    let mut v = vec![Complex64::ZERO; n];
    vectors.elements(VectorId::Work(k), &mut v);
    v
}

const LENGTHS: [usize; 6] = [0, 1, 5, 200, PIECE + 3, 20 * PIECE + 7];

fn rotations<T: Scalar>() {
    let (first, old) = (2, COUNT - 2);
    for n in LENGTHS {
        let before = with_vectors::<T>(n, |_| ());
        for new in [0, 1, 33, old] {
            let q: Vec<Complex64> = random_vec::<T>(old * new, &mut Random::new(3)).into_iter().map(widen).collect();
            let rotate = || with_vectors::<T>(n, |vectors| vectors.rotate(first, View::new(&q, old, new)));
            let with = |threads| rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(rotate);
            let after = with(1);
            assert!(after == with(2), "{n} {new}");
            assert!(after[..first] == before[..first]);
            for j in 0..new {
                for i in 0..n {
                    let terms = (0..old).map(|k| q[j * old + k] * before[first + k][i]);
                    let (sum, size) = terms.fold((Complex64::ZERO, 0.0), |(sum, size), t| (sum + t, size + t.norm()));
                    // Each term has at most two roundings of its own (four in complex arithmetic), and one for each addition.
                    let bound = (old + 4) as f64 * T::Real::EPSILON.to_f64() * size;
                    assert!((after[first + j][i] - sum).norm() <= bound, "{n} {new} {j} {i}");
                }
            }
        }
    }
}

#[test]
fn rotations_are_products_with_a_small_matrix() {
    rotations::<f32>();
    rotations::<f64>();
    rotations::<Complex32>();
    rotations::<Complex64>();
}

/// Make the vectors orthonormal in the inner product xᴴ·B·y. B·V begins at `COUNT`.
fn orthonormal<T: Scalar>(n: usize, count: usize) {
    let all = with_vectors::<T>(n, |vectors| {
        for k in 0..count {
            let (w, bw) = (VectorId::Work(k), VectorId::Work(COUNT + k));
            let (mut h, mut again) = (vec![Complex64::ZERO; k], vec![Complex64::ZERO; k]);
            vectors.orthogonalize([0, COUNT], w, &mut h, &mut again);
            vectors.apply(Operator::Mass, w, bw).unwrap();
            let norm = vectors.dot(w, bw).re.sqrt();
            [w, bw].into_iter().for_each(|v| vectors.scale(v, v, 1.0 / norm));
        }
    });
    for (i, x) in all[..count].iter().enumerate() {
        for (j, y) in all[..count].iter().enumerate() {
            let product =
                x.iter().zip(y).enumerate().map(|(row, (x, y))| x.conj() * y * weight(row)).sum::<Complex64>();
            let expected = f64::from(u8::from(i == j));
            // Two passes of Gram–Schmidt leave a few roundings of n·count products, which add up like those of random signs.
            let bound = 100.0 * T::Real::EPSILON.to_f64();
            assert!((product - expected).norm() <= bound, "{n} {i} {j}: {product}");
        }
    }
}

#[test]
fn orthogonal_in_the_inner_product_of_a_matrix() {
    for (n, count) in [(1, 1), (5, 3), (200, COUNT), (PIECE + 3, 35)] {
        orthonormal::<f32>(n, count);
        orthonormal::<f64>(n, count);
        orthonormal::<Complex32>(n, count);
        orthonormal::<Complex64>(n, count);
    }
}
