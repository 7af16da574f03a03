//! Vectors of 128 bits with `f32`.

use super::*;

neon!(
    F32x4,
    float32x4_t,
    uint32x4_t,
    [vfmaq_f32, vfmsq_f32, vabsq_f32, vcgtq_f32, vcagtq_f32, vmaxnmq_f32, vminnmq_f32],
    [vbslq_f32, and_f32x4, max_bits_f32x4, vzip1q_f32, vzip2q_f32, vrev64q_f32],
    [vgetq_lane_f32, load_first_f32x4, store_first_f32x4, load_f32x4, store_f32x4],
    [vmaxvq_f32, total_f32x4, equal_f32x4],
    [vreinterpretq_s32_f32, vreinterpretq_f32_s32, vandq_s32, vsubq_s32, vdupq_n_s32, 0x7f80_0000, 0x7e80_0000],
    [f32, 4, vdupq_n_f32, vld1q_f32, vst1q_f32, vdivq_f32, vsqrtq_f32, max_f32x4, min_f32x4],
    [vaddq_f32, vsubq_f32, vmulq_f32]
);

#[inline(always)]
unsafe fn max_f32x4(a: float32x4_t, b: float32x4_t) -> float32x4_t {
    // SAFETY: as in `max_f64x2` (so below).
    unsafe { vbslq_f32(vcgtq_f32(a, b), a, b) }
}

#[inline(always)]
unsafe fn min_f32x4(a: float32x4_t, b: float32x4_t) -> float32x4_t {
    // SAFETY: as above.
    unsafe { vbslq_f32(vcltq_f32(a, b), a, b) }
}

#[inline(always)]
unsafe fn and_f32x4(a: float32x4_t, b: float32x4_t) -> float32x4_t {
    // SAFETY: as above.
    unsafe { vreinterpretq_f32_u32(vandq_u32(vreinterpretq_u32_f32(a), vreinterpretq_u32_f32(b))) }
}

#[inline(always)]
unsafe fn max_bits_f32x4(a: float32x4_t, b: float32x4_t) -> float32x4_t {
    // SAFETY: as above.
    unsafe { vreinterpretq_f32_s32(vmaxq_s32(vreinterpretq_s32_f32(a), vreinterpretq_s32_f32(b))) }
}

#[inline(always)]
unsafe fn total_f32x4(a: float32x4_t) -> float32x4_t {
    // SAFETY: as above.
    unsafe {
        let half = vaddq_f32(a, vextq_f32::<2>(a, a));
        vaddq_f32(half, vrev64q_f32(half))
    }
}

#[inline(always)]
unsafe fn equal_f32x4(a: float32x4_t, b: float32x4_t) -> u32 {
    // SAFETY: as above; four numbers are readable.
    unsafe { vaddvq_u32(vandq_u32(vceqq_f32(a, b), vld1q_u32([1, 2, 4, 8].as_ptr()))) }
}

#[inline(always)]
unsafe fn load_first_f32x4(p: *const f32, count: usize) -> float32x4_t {
    // SAFETY: `count` numbers are readable.
    unsafe {
        let zero = vdup_n_f32(0.0);
        match count {
            0 => vcombine_f32(zero, zero),
            1 => vcombine_f32(vset_lane_f32::<0>(*p, zero), zero),
            2 => vcombine_f32(vld1_f32(p), zero),
            3 => vcombine_f32(vld1_f32(p), vset_lane_f32::<0>(*p.add(2), zero)),
            _ => vld1q_f32(p),
        }
    }
}

#[inline(always)]
unsafe fn store_first_f32x4(a: float32x4_t, p: *mut f32, count: usize) {
    // SAFETY: `count` numbers are writable.
    unsafe {
        match count {
            0 => {}
            1 => *p = vgetq_lane_f32::<0>(a),
            2 => vst1_f32(p, vget_low_f32(a)),
            3 => {
                vst1_f32(p, vget_low_f32(a));
                *p.add(2) = vgetq_lane_f32::<2>(a);
            }
            _ => vst1q_f32(p, a),
        }
    }
}

/// The transpose of four rows.
#[inline(always)]
unsafe fn transposed(rows: [float32x4_t; 4]) -> [float32x4_t; 4] {
    let [a, b, c, d] = rows;
    // SAFETY: as above.
    unsafe {
        let (ac_low, ac_high) = (vzip1q_f32(a, c), vzip2q_f32(a, c));
        let (bd_low, bd_high) = (vzip1q_f32(b, d), vzip2q_f32(b, d));
        [
            vzip1q_f32(ac_low, bd_low),
            vzip2q_f32(ac_low, bd_low),
            vzip1q_f32(ac_high, bd_high),
            vzip2q_f32(ac_high, bd_high),
        ]
    }
}

#[inline(always)]
unsafe fn load_f32x4(src: *const f32, stride: usize) -> [float32x4_t; 4] {
    // SAFETY: four numbers of each of four rows are readable.
    unsafe {
        transposed([
            vld1q_f32(src),
            vld1q_f32(src.add(stride)),
            vld1q_f32(src.add(2 * stride)),
            vld1q_f32(src.add(3 * stride)),
        ])
    }
}

#[inline(always)]
unsafe fn store_f32x4(columns: [float32x4_t; 4], dst: *mut f32, stride: usize) {
    // SAFETY: four numbers of each of four rows are writable.
    unsafe {
        let [a, b, c, d] = transposed(columns);
        vst1q_f32(dst, a);
        vst1q_f32(dst.add(stride), b);
        vst1q_f32(dst.add(2 * stride), c);
        vst1q_f32(dst.add(3 * stride), d);
    }
}
