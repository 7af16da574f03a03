//! Vectors of 256 bits with `f32`.

use super::*;

avx2!(
    F32x8,
    __m256,
    _mm256_andnot_ps,
    _mm256_cmp_ps,
    _mm256_blendv_ps,
    _mm256_and_ps,
    _mm256_castps_si256,
    _mm256_castsi256_ps,
    _mm256_sub_epi32,
    _mm256_cmpgt_epi32,
    _mm256_set1_epi32,
    0x7f80_0000,
    0x7e80_0000,
    load_f32x8,
    store_f32x8,
    interleave_f32x8,
    [_mm256_permute_ps, 0xb1],
    _mm256_maskload_ps,
    _mm256_maskstore_ps,
    i32,
    [
        f32,
        8,
        _mm256_set1_ps,
        _mm256_loadu_ps,
        _mm256_storeu_ps,
        _mm256_div_ps,
        _mm256_sqrt_ps,
        _mm256_max_ps,
        _mm256_min_ps
    ],
    [_mm256_stream_ps, _mm256_fmadd_ps, _mm256_fnmadd_ps],
    [_mm256_add_ps, _mm256_sub_ps, _mm256_mul_ps]
);

#[inline(always)]
unsafe fn interleave_f32x8(a: F32x8, b: F32x8) -> [F32x8; 2] {
    // SAFETY: as above.
    unsafe {
        let (lo, hi) = (_mm256_unpacklo_ps(a.0, b.0), _mm256_unpackhi_ps(a.0, b.0));
        [F32x8(_mm256_permute2f128_ps::<0x20>(lo, hi)), F32x8(_mm256_permute2f128_ps::<0x31>(lo, hi))]
    }
}

macro_rules! transpose_blocks_256 {
    ($v:expr) => {
        transpose_blocks!(
            $v,
            _mm256_unpacklo_ps,
            _mm256_unpackhi_ps,
            _mm256_unpacklo_pd,
            _mm256_unpackhi_pd,
            _mm256_castps_pd,
            _mm256_castpd_ps
        )
    };
}

#[inline(always)]
unsafe fn load_f32x8(src: *const f32, stride: usize) -> [F32x8; 4] {
    // SAFETY: as in `load_f64x8`, eight rows.
    unsafe {
        macro_rules! blocks {
            ($p:expr) => {{ _mm256_insertf128_ps::<1>(_mm256_castps128_ps256(_mm_loadu_ps($p)), _mm_loadu_ps($p.add(4 * stride))) }};
        }
        let v = [blocks!(src), blocks!(src.add(stride)), blocks!(src.add(2 * stride)), blocks!(src.add(3 * stride))];
        let [a, b, c, d] = transpose_blocks_256!(v);
        [F32x8(a), F32x8(b), F32x8(c), F32x8(d)]
    }
}

#[inline(always)]
unsafe fn store_f32x8([v0, v1, v2, v3]: [F32x8; 4], dst: *mut f32, stride: usize) {
    // SAFETY: as in `store_f64x8`, eight rows.
    unsafe {
        macro_rules! blocks {
            ($v:expr, $p:expr) => {{
                _mm_storeu_ps($p, _mm256_castps256_ps128($v));
                _mm_storeu_ps($p.add(4 * stride), _mm256_extractf128_ps::<1>($v));
            }};
        }
        let [a, b, c, d] = transpose_blocks_256!([v0.0, v1.0, v2.0, v3.0]);
        blocks!(a, dst);
        blocks!(b, dst.add(stride));
        blocks!(c, dst.add(2 * stride));
        blocks!(d, dst.add(3 * stride));
    }
}
