//! Every operation of the vectors gives the bits of plain arrays.

use super::*;
use crate::{RealScalar, Scalar};

/// The largest number of lanes of the vectors that are compared.
const WIDEST: usize = 8;

/// The results of all operations with four vectors of the input, one after the other.
fn all<V: Lanes>(input: &[V::Real; 8 * WIDEST]) -> Vec<V::Real> {
    // SAFETY: 8·WIDEST numbers are readable.
    let [a, b, c, d] = [0, 1, 2, 3].map(|k| unsafe { V::load(input.as_ptr().add(k * WIDEST)) });
    let mask = a.gt(b);
    let positive = a.abs();
    let mut vectors = vec![a + b, a - b, a * b, -a, a.recip(), a.mul_add(b, c), a.neg_mul_add(b, c)];
    vectors.extend([positive.sqrt(), positive, a.max(b), a.min(b), V::select(mask, c, d), a.and_bits(b)]);
    vectors.extend([positive.equilibrate(), a.normalizer(), positive.log_gap(b.abs()), a.max_bits(b)]);
    vectors.extend([a.neg_mul_add_where(mask, b, c), a.swap_pairs(), V::splat(input[3]), V::splat(a.first())]);
    vectors.extend(a.recips());
    vectors.extend(a.interleave(b));
    vectors.extend(a.deinterleave(b));
    // Moduli of numbers that are not NaN.
    let number = |v: V| v.max(V::splat(V::Real::ZERO)) - (-v).max(V::splat(V::Real::ONE));
    let (a_number, b_number) = (number(a), number(b));
    let [low, high] = a_number.interleave(b_number);
    assert_eq!(low.deinterleave(high).map(lanes_of), [a_number, b_number].map(lanes_of));
    let (take, pivot) = a_number.pivot(b_number);
    vectors.extend([a_number.abs_max(b_number), a_number.abs_min(b_number), pivot, V::select(take, c, d)]);
    vectors.extend([a_number.peak(), (a_number * c).total()]);
    let index = core::array::from_fn(|k| (5 * k % (2 * V::W)) as u32);
    vectors.push(a.permute(b, V::index(&index)));
    // SAFETY: W rows of four numbers with the distance five are readable, and W numbers on each side of the last place.
    unsafe {
        vectors.extend(V::load_columns(input.as_ptr(), 5));
        for count in 0..=V::W {
            let end = input.as_ptr().add(4 * WIDEST);
            vectors.extend([V::load_first(end, count), V::load_last(end, count)]);
        }
    }
    let mut out = Vec::new();
    for v in vectors {
        out.extend(&lanes_of(v)[..V::W]);
    }
    let mut stored = vec![V::Real::ONE; (4 + 2 * (V::W + 1)) * WIDEST];
    // SAFETY: `stored` has WIDEST numbers for each vector.
    unsafe {
        V::store_columns([a, b, c, d], stored.as_mut_ptr(), 4);
        for count in 0..=V::W {
            let place = stored.as_mut_ptr().add((4 + 2 * count) * WIDEST);
            a.store_first(place, count);
            b.store_last(place.add(2 * WIDEST), count);
        }
    }
    out.extend(stored);
    out.push(V::Real::from_f64(f64::from(a.equal_bits(V::select(mask, b, a)))));
    out
}

/// Check that every operation of `V` gives the same bits as plain arrays.
fn check<V: Lanes<Real = R>, P: Lanes<Real = R>, R: RealScalar>(bits: fn(R) -> u64) {
    assert!(V::W == P::W && V::W <= WIDEST);
    let specials = [0.0, -0.0, 1.0, -1.5, f64::NAN, f64::INFINITY, -f64::INFINITY, 1e-310, 3e38, -7e-42, 1.0 + 1e-15];
    let number = |k: usize| match k % 3 {
        0 => R::from_f64(specials[k / 3 % specials.len()]),
        _ => R::from_f64((k as f64 * 0.7).sin() * 10f64.powi(k as i32 % 60 - 30)),
    };
    for round in 0..400 {
        let input = core::array::from_fn(|k| number(round * 7 + k * k));
        let (own, plain) = (all::<V>(&input), all::<P>(&input));
        assert_eq!(own.len(), plain.len());
        for (k, (own, plain)) in own.iter().zip(&plain).enumerate() {
            // The kind of NaN depends on the order in which a compiler multiplies.
            let nan = own.is_nan() && plain.is_nan();
            assert!(nan || bits(*own) == bits(*plain), "round {round}, number {k}: {own:?} {plain:?}");
        }
    }
}

#[test]
fn registers_compute_what_arrays_do() {
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    check::<F64x2, Portable<f64, 2>, f64>(f64::to_bits);
    #[cfg(all(feature = "single", any(target_arch = "x86_64", target_arch = "aarch64")))]
    check::<F32x4, Portable<f32, 4>, f32>(|x| u64::from(x.to_bits()));
}

#[test]
fn pairs_compute_what_arrays_do() {
    check::<PairedLanes<Portable<f64, 2>>, Portable<f64, 4>, f64>(f64::to_bits);
    #[cfg(target_arch = "aarch64")]
    check::<PairedLanes<F64x2>, Portable<f64, 4>, f64>(f64::to_bits);
    #[cfg(all(feature = "single", target_arch = "aarch64"))]
    check::<PairedLanes<F32x4>, Portable<f32, 8>, f32>(|x| u64::from(x.to_bits()));
}
