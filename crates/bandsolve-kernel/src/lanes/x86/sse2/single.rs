//! Vectors of 128 bits with `f32`.

use super::*;

sse2!(
    F32x4,
    __m128,
    [_mm_cmpgt_ps, _mm_and_ps, _mm_andnot_ps, _mm_or_ps, _mm_unpacklo_ps, _mm_unpackhi_ps],
    [_mm_castps_si128, _mm_castsi128_ps, _mm_set1_epi32, _mm_sub_epi32, _mm_cmpgt_epi32],
    [_mm_fmadd_ps, load_f32x4, store_f32x4, swap_f32x4, 0x7f80_0000, 0x7e80_0000],
    [f32, 4, _mm_set1_ps, _mm_loadu_ps, _mm_storeu_ps, _mm_div_ps, _mm_sqrt_ps, _mm_max_ps, _mm_min_ps],
    [_mm_add_ps, _mm_sub_ps, _mm_mul_ps]
);

#[inline(always)]
unsafe fn swap_f32x4(a: __m128) -> __m128 {
    // SAFETY: SSE2.
    unsafe { _mm_shuffle_ps::<0b10_11_00_01>(a, a) }
}

/// The transpose of four rows.
#[inline(always)]
unsafe fn transposed(rows: [__m128; 4]) -> [__m128; 4] {
    let [a, b, c, d] = rows;
    // SAFETY: SSE2.
    unsafe {
        let (ab, cd) = (_mm_unpacklo_ps(a, b), _mm_unpacklo_ps(c, d));
        let (ab_high, cd_high) = (_mm_unpackhi_ps(a, b), _mm_unpackhi_ps(c, d));
        [_mm_movelh_ps(ab, cd), _mm_movehl_ps(cd, ab), _mm_movelh_ps(ab_high, cd_high), _mm_movehl_ps(cd_high, ab_high)]
    }
}

#[inline(always)]
unsafe fn load_f32x4(src: *const f32, stride: usize) -> [__m128; 4] {
    // SAFETY: four numbers of each of four rows are readable.
    unsafe {
        transposed([
            _mm_loadu_ps(src),
            _mm_loadu_ps(src.add(stride)),
            _mm_loadu_ps(src.add(2 * stride)),
            _mm_loadu_ps(src.add(3 * stride)),
        ])
    }
}

#[inline(always)]
unsafe fn store_f32x4(columns: [__m128; 4], dst: *mut f32, stride: usize) {
    // SAFETY: four numbers of each of four rows are writable.
    unsafe {
        let [a, b, c, d] = transposed(columns);
        _mm_storeu_ps(dst, a);
        _mm_storeu_ps(dst.add(stride), b);
        _mm_storeu_ps(dst.add(2 * stride), c);
        _mm_storeu_ps(dst.add(3 * stride), d);
    }
}
