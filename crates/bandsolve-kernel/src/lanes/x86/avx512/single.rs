//! Vectors of 512 bits with `f32`.

use super::*;

avx512!(
    F32x16,
    __m512,
    __mmask16,
    _mm512_abs_ps,
    _mm512_range_ps,
    _mm512_mask3_fnmadd_ps,
    _mm512_cmp_ps_mask,
    _mm512_mask_blend_ps,
    _mm512_castps_si512,
    _mm512_castsi512_ps,
    _mm512_and_si512,
    _mm512_sub_epi32,
    _mm512_max_epi32,
    _mm512_set1_epi32,
    0x7f80_0000,
    0x7e80_0000,
    recips_f32x16,
    load_f32x16,
    store_f32x16,
    interleave_f32x16,
    [_mm512_permute_ps, 0xb1],
    _mm512_maskz_loadu_ps,
    _mm512_mask_storeu_ps,
    _mm512_permutex2var_ps,
    index_f32x16,
    peak_f32x16,
    total_f32x16,
    _mm512_cvtss_f32,
    [
        f32,
        16,
        _mm512_set1_ps,
        _mm512_loadu_ps,
        _mm512_storeu_ps,
        _mm512_div_ps,
        _mm512_sqrt_ps,
        _mm512_max_ps,
        _mm512_min_ps
    ],
    [_mm512_stream_ps, _mm512_fmadd_ps, _mm512_fnmadd_ps],
    [_mm512_add_ps, _mm512_sub_ps, _mm512_mul_ps]
);

#[inline(always)]
unsafe fn index_f32x16(lanes: &[u32; MAX_LANES]) -> __m512i {
    // SAFETY: as above, sixteen numbers.
    unsafe { _mm512_loadu_si512(lanes.as_ptr().cast()) }
}

#[inline(always)]
unsafe fn peak_f32x16(v: __m512) -> __m512 {
    // SAFETY: as above.
    unsafe {
        let v = _mm512_max_ps(v, _mm512_shuffle_f32x4::<0b01_00_11_10>(v, v));
        let v = _mm512_max_ps(v, _mm512_shuffle_f32x4::<0b10_11_00_01>(v, v));
        let v = _mm512_max_ps(v, _mm512_permute_ps::<0b01_00_11_10>(v));
        _mm512_max_ps(v, _mm512_permute_ps::<0b10_11_00_01>(v))
    }
}

#[inline(always)]
unsafe fn total_f32x16(v: __m512) -> __m512 {
    // SAFETY: as above.
    unsafe {
        let v = _mm512_add_ps(v, _mm512_shuffle_f32x4::<0b01_00_11_10>(v, v));
        let v = _mm512_add_ps(v, _mm512_shuffle_f32x4::<0b10_11_00_01>(v, v));
        let v = _mm512_add_ps(v, _mm512_permute_ps::<0b01_00_11_10>(v));
        _mm512_add_ps(v, _mm512_permute_ps::<0b10_11_00_01>(v))
    }
}

#[inline(always)]
unsafe fn recips_f32x16(x: F32x16) -> [F32x16; 2] {
    // SAFETY: as above.
    let rough = F32x16(unsafe { _mm512_rcp14_ps(x.0) });
    [rough, newton(x, rough)]
}

#[inline(always)]
unsafe fn interleave_f32x16(a: F32x16, b: F32x16) -> [F32x16; 2] {
    // SAFETY: as above.
    unsafe {
        let low = _mm512_set_epi32(23, 7, 22, 6, 21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
        let high = _mm512_set_epi32(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8);
        [F32x16(_mm512_permutex2var_ps(a.0, low, b.0)), F32x16(_mm512_permutex2var_ps(a.0, high, b.0))]
    }
}

/// 4×4 transposition inside each 128-bit block.
macro_rules! transpose_blocks_512 {
    ($v:expr) => {
        transpose_blocks!(
            $v,
            _mm512_unpacklo_ps,
            _mm512_unpackhi_ps,
            _mm512_unpacklo_pd,
            _mm512_unpackhi_pd,
            _mm512_castps_pd,
            _mm512_castpd_ps
        )
    };
}

#[inline(always)]
unsafe fn load_f32x16(src: *const f32, stride: usize) -> [F32x16; 4] {
    // SAFETY: as in `load_f64x8`, sixteen rows.
    unsafe {
        macro_rules! blocks {
            ($p:expr) => {{
                let v = _mm512_castps128_ps512(_mm_loadu_ps($p));
                let v = _mm512_insertf32x4::<1>(v, _mm_loadu_ps($p.add(4 * stride)));
                let v = _mm512_insertf32x4::<2>(v, _mm_loadu_ps($p.add(8 * stride)));
                _mm512_insertf32x4::<3>(v, _mm_loadu_ps($p.add(12 * stride)))
            }};
        }
        let v = [blocks!(src), blocks!(src.add(stride)), blocks!(src.add(2 * stride)), blocks!(src.add(3 * stride))];
        let [a, b, c, d] = transpose_blocks_512!(v);
        [F32x16(a), F32x16(b), F32x16(c), F32x16(d)]
    }
}

#[inline(always)]
unsafe fn store_f32x16([v0, v1, v2, v3]: [F32x16; 4], dst: *mut f32, stride: usize) {
    // SAFETY: as in `store_f64x8`, sixteen rows.
    unsafe {
        macro_rules! blocks {
            ($v:expr, $p:expr) => {{
                _mm_storeu_ps($p, _mm512_castps512_ps128($v));
                _mm_storeu_ps($p.add(4 * stride), _mm512_extractf32x4_ps::<1>($v));
                _mm_storeu_ps($p.add(8 * stride), _mm512_extractf32x4_ps::<2>($v));
                _mm_storeu_ps($p.add(12 * stride), _mm512_extractf32x4_ps::<3>($v));
            }};
        }
        let [a, b, c, d] = transpose_blocks_512!([v0.0, v1.0, v2.0, v3.0]);
        blocks!(a, dst);
        blocks!(b, dst.add(stride));
        blocks!(c, dst.add(2 * stride));
        blocks!(d, dst.add(3 * stride));
    }
}
