#!/usr/bin/env python3
"""The predictions of benches/gpu/model.py for a small record are those computed by hand.

usage: gpu_model.py
"""

import math
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "benches/gpu"))

import kernels  # noqa: E402
import kernels_amd  # noqa: E402
import model  # noqa: E402

# What ptxas and nvdisasm print, shortened.
PTXAS = """ptxas info    : Compiling entry function 'reduce_f64_1_1_larger' for 'sm_90'
ptxas info    : Function properties for reduce_f64_1_1_larger
    0 bytes stack frame, 8 bytes spill stores, 16 bytes spill loads
ptxas info    : Used 56 registers, used 1 barriers
"""
# The second word of an instruction has the pause in bits 41 to 44, the barrier that it opens in bits 46 to 48 (7: none), and the barriers for which it
# waits in bits 52 to 57.
SASS = """.text.reduce_f64_1_1_larger:
        /*0000*/                   LDC R1, c[0x0][0x28] ;                      /* 0x00000a00ff017b82 */
                                                                               /* 0x000fe20000000800 */
.L_x_1:
.L_x_0:
        /*0010*/                   LDG.E.64 R2, desc[UR6][R4.64] ;             /* 0x0000000000000000 */
                                                                               /* 0x000e040000000000 */
        /*0020*/              @!P0 LDS.64 R8, [R5] ;                           /* 0x0000000000000000 */
                                                                               /* 0x001e460000000000 */
        /*0028*/                   DADD R8, R8, R2 ;                           /* 0x0000000000000000 */
                                                                               /* 0x002e820000000000 */
        /*0030*/               @P1 BRA `(.L_x_0) ;                             /* 0x0000000000000000 */
                                                                               /* 0x004fca0000000000 */
        /*0040*/                   MUFU.RCP64H R3, R2 ;                        /* 0x0000000200037308 */
                                                                               /* 0x000fe20000000800 */
        /*0050*/               @P2 BRA `(.L_x_1) ;                             /* 0xfffffffc00002947 */
                                                                               /* 0x000fe20000000800 */
        /*0060*/                   BRA `(.L_x_2) ;                             /* 0x0000000000007947 */
                                                                               /* 0x000fe20000000800 */
.L_x_2:
        /*0070*/                   EXIT ;                                      /* 0x000000000000794d */
                                                                               /* 0x000fe20000000800 */
$__internal_0_$__cuda_sm20_div_rn_f64_full:
        /*0080*/                   RET.REL.NODEC R2 `(reduce_f64_1_1_larger) ; /* 0x000000000000794d */
                                                                               /* 0x000fe20000000800 */
"""
# What clang writes for gfx90a, shortened.
ASSEMBLY = """	.text
	.globl	reduce_f64_1_1_larger
reduce_f64_1_1_larger:
; %bb.0:
	s_load_dwordx2 s[0:1], s[4:5], 0x0
	s_waitcnt lgkmcnt(0)
	global_load_dwordx2 v[4:5], v0, s[0:1]
.LBB0_1:                                ; =>This Loop Header: Depth=1
                                        ;     Child Loop BB0_2 Depth 2
	s_waitcnt vmcnt(0)
	global_store_dwordx2 v[2:3], v[4:5], off
.LBB0_2:                                ;   Parent Loop BB0_1 Depth=1
                                        ; =>  This Inner Loop Header: Depth=2
	ds_read2_b64 v[4:7], v0 offset1:1
	global_load_dwordx2 v[8:9], v[2:3], off
	v_mul_lo_u32 v1, v1, s2
; %bb.3:                                ;   in Loop: Header=BB0_2 Depth=2
	s_waitcnt lgkmcnt(0)
	v_rcp_f64_e32 v[4:5], v[4:5]
	s_cbranch_scc1 .LBB0_2
; %bb.4:                                ;   in Loop: Header=BB0_1 Depth=1
	s_branch .LBB0_1
	.section	.rodata,#alloc
"""
# Two kernels with round numbers. For a row, 100 instructions load it, a step of a sweep takes 50, 40 and 60, and a check 200.
RECORD = """sm_90 reduce_f64_1_1_larger: 64 registers, 0 B shared, 0 B spilled
sm_90 reduce_f64_1_1_larger loop: 400 instructions, 800 cycles, 1 rounds, 31 LDG, 0 STG, 0 LDS, 16 STS, 0 MUFU
sm_90 reduce_f64_1_1_larger loop: 200 instructions, 800 cycles, 0 rounds, 0 LDG, 0 STG, 16 LDS, 0 STS, 4 MUFU
sm_90 reduce_f64_1_1_larger loop: 64 instructions, 330 cycles, 0 rounds, 0 LDG, 0 STG, 4 LDS, 0 STS, 1 MUFU
sm_90 substitute_f64_1_1_larger: 96 registers, 0 B shared, 0 B spilled
sm_90 substitute_f64_1_1_larger loop: 400 instructions, 800 cycles, 1 rounds, 31 LDG, 0 STG, 0 LDS, 16 STS, 0 MUFU
sm_90 substitute_f64_1_1_larger loop: 80 instructions, 500 cycles, 0 rounds, 0 LDG, 0 STG, 8 LDS, 8 STS, 2 MUFU
sm_90 substitute_f64_1_1_larger loop: 60 instructions, 300 cycles, 0 rounds, 0 LDG, 0 STG, 8 LDS, 1 STS, 1 MUFU
sm_90 substitute_f64_1_1_larger loop: 800 instructions, 2730 cycles, 1 rounds, 16 LDG, 12 STG, 12 LDS, 0 STS, 4 MUFU
sm_90 product_f64: 64 registers, 0 B shared, 0 B spilled
sm_90 product_f64 loop: 20 instructions, 30 cycles, 1 rounds, 1 LDG, 0 STG, 0 LDS, 0 STS, 0 MUFU
sm_90 product_f64 around: 100 instructions, 400 cycles, 1 rounds, 2 LDG, 1 STG, 3 LDS, 0 STS, 0 MUFU
sm_90 product_f64 loop: 40 instructions, 50 cycles, 0 rounds, 0 LDG, 0 STG, 4 LDS, 0 STS, 0 MUFU
sm_90 product_f64 once: 200 instructions, 300 cycles, 5 rounds, 27 LDG, 0 STG, 1 LDS, 9 STS, 0 MUFU
sm_90 alone_f64_larger: 64 registers, 0 B shared, 0 B spilled
sm_90 alone_f64_larger loop: 100 instructions, 200 cycles, 1 rounds, 4 LDG, 0 STG, 0 LDS, 4 STS, 0 MUFU
sm_90 alone_f64_larger loop: 100 instructions, 300 cycles, 0 rounds, 0 LDG, 0 STG, 8 LDS, 6 STS, 2 MUFU
sm_90 alone_f64_larger loop: 60 instructions, 150 cycles, 0 rounds, 0 LDG, 0 STG, 11 LDS, 1 STS, 1 MUFU
sm_90 alone_f64_larger loop: 40 instructions, 80 cycles, 0 rounds, 0 LDG, 0 STG, 4 LDS, 0 STS, 0 MUFU
sm_90 alone_f64_larger loop: 70 instructions, 120 cycles, 0 rounds, 0 LDG, 0 STG, 7 LDS, 0 STS, 1 MUFU
sm_90 alone_f64_larger loop: 30 instructions, 90 cycles, 0 rounds, 0 LDG, 1 STG, 1 LDS, 0 STS, 0 MUFU
sm_90 alone_f64_larger once: 200 instructions, 900 cycles, 0 rounds, 0 LDG, 3 STG, 16 LDS, 5 STS, 6 MUFU
gfx90a reduce_f64_1_1_larger: 58 VGPR, 0 AGPR, 77 SGPR, 16 B shared, 24 B scratch, 0 spilled, 8 waves
gfx90a reduce_f64_1_1_larger loop: 343 instructions, 285 slots, 1480 cycles, 1 rounds, 16 LDG, 0 STG, 0 LDS, 16 STS, 0 MUFU
"""
REPORT = {
    "device": "NVIDIA H100 80GB HBM3",
    "rows": [
        {"solver": "bandsolve", "system": "tridiagonal", "dtype": "f64", "n": 4, "ns_per_row": 1.0},
        {"solver": "bandsolve", "system": "tridiagonal", "dtype": "f64", "n": 8, "ns_per_row": 0.05},
        {"solver": "copy", "system": "tridiagonal", "dtype": "f64", "n": 9, "ns_per_row": 0.01},
    ],
}

passed = 0


def same(got, expected):
    global passed
    close = isinstance(got, float) and math.isclose(got, expected, rel_tol=1e-12)
    if not (got == expected or close):
        raise SystemExit(f"FAILED: {got}, expected {expected}")
    passed += 1


same(kernels.resources(PTXAS), {"reduce_f64_1_1_larger": (56, 0, 8)})
# The outer loop contains the inner one; the last branch goes forward. In a pass, the load takes 2 cycles, 25 pass until LDS has a result, 8 until DADD
# has one, and the branch takes 5.
# LDS waits for the load, so the loop has a round. The outer loop has the reciprocal and its branch. The function at the end is no part of the kernel.
loop, around, once = [4, 2 + 25 + 8 + 5, 1, 1, 0, 1, 0, 0], [2, 2, 0, 0, 0, 0, 0, 1], [3, 3, 0, 0, 0, 0, 0, 0]
same(kernels.parts(SASS), {"reduce_f64_1_1_larger": [("loop", loop), ("around", around), ("once", once)]})

# Each instruction takes 4 cycles, a product of integers and a reciprocal 16. In the inner loop, 64 cycles pass after the turn of the read until its result is
# there. Two numbers are read. Nothing waits for the load of the inner loop. The load before the loops is waited for in the outer one, but not in its second pass.
code = kernels_amd.parts(ASSEMBLY)["reduce_f64_1_1_larger"]
same(code[0], ("once", [3, 0, 64 + 4 + 4, 0, 1, 0, 0, 0, 0]))
same(code[1], ("around", [3, 0, 12, 0, 0, 1, 0, 0, 0]))
same(code[2], ("loop", [6, 8, 64 + 4 + 16 + 4, 0, 1, 0, 2, 0, 1]))

card = model.CARDS[0]
# 64 registers are 2048 for each of 4 warps: 65536 / 8192 = 8 blocks. 20 KiB and 1 KiB that is reserved: 228 / 21 = 10.
same(card.resident(128, 64, 20 << 10), 8)
same(card.resident(128, 65, 20 << 10), 65536 // (4 * 2304))
same(card.resident(128, 32, 20 << 10), 10)
same(card.resident(1024, 16, 0), 2)
# On a die of an MI250X, 112 registers allow 4 waves on each of 4 SIMD units, and a thread block of 128 threads is 2 waves.
same(model.CARDS[3].resident(128, 112, 0), 8)
same(model.CARDS[3].resident(128, 8, 0), 16)
same(model.CARDS[3].resident(128, 8, 20 << 10), 3)

family = model.FAMILIES[0]
# 33 entries for 31 rows and one more, 32 lanes, 4 planes: 33 · 32 · 4 · 8 bytes; and 2 · 32 numbers of the neighbors.
same(family.cut(card, 8), (31, 32, 33792, 34304))
# Two times 4 numbers, 1 written, 5 · 2/31 for the coarse system; the levels below add 2/29 of the same.
same(family.traffic(31), (9 + 10 / 31) * (1 + 2 / 29))

found = model.read_kernels(RECORD)
amd = found["gfx90a", "reduce_f64_1_1_larger"]
same((amd.registers, amd.shared, amd.spilled), (58, 16, 24))
same(amd.parts["loop"], [model.Code(285, 1480, 1, 16, 0, 0, 16, 0)])
rates = family.rates(card, found, 8)
same([used[1] for used in rates.used], [6, 5])
same(rates.memory, 3.0e12 / (8 * (9 + 10 / 31) * 31 / 29))
# For a row: 100 to load it, twice; 2 · 50 and 40 + 60 in sweeps; 200 to check it. 132 · 1.98 GHz · 4 · 0.75 · 32 slots; 31/29 for all levels.
same(rates.issue, 132 * 1.98e9 * 96 / (600 * 31 / 29))
# A pass of 4 rows takes 600 + 800 cycles to load; 992 rows of 128 threads are 2 passes. A step of a sweep takes 800 / 4 cycles, or 500 / 2 inward and 300
# outward; a pass of the check 270 + 2730.
reduce = 2 * 1400 + 31 * 200
substitute = 2 * 1400 + 31 * (250 + 300) + 2 * 3000
same(rates.latency, 132 * 1.98e9 * 992 / ((reduce / 6 + substitute / 5) * 31 / 29))
same(rates.together(), (rates.memory**-3 + rates.issue**-3 + rates.latency**-3) ** (-1 / 3))

# Contiguous batches. 128 rows are 16 partitions of 8 rows, whose 32 ends are 4 partitions; their 8 ends are one partition.
same(model.OneBlockEach("", "", 128).levels(), [(8, 16), (8, 4), (8, 1)])
same(model.OneBlockEach("", "", 16).levels(), [(16, 1)])
same(model.OneBlockEach("", "", 1000).levels(), [(32, 32), (8, 8), (16, 1)])
# 30 rows and 2 zeros. 33 entries, 32 lanes, 7 planes, and 64 numbers: 3 blocks of 60 KB. For a row: 100 instructions to load it, 50 and 60 in the sweeps, 10 and 70
# to measure it, 30 to store it. 32 rows are loaded, and 29 and 30 eliminated.
rates = model.OneLaneEach("", "", 30).rates(card, found, 8)
same([used[1:4] for used in rates.used], [(3, 64, 8 * (33 * 32 * 7 + 64))])
same(rates.memory, 3.0e12 / 40)
same(rates.issue, 132 * 1.98e9 * 96 * 960 / (100 * 1024 + 30 * 960 + 200 * 128 + 32 * (29 * 50 + 30 * 60 + 30 * 10 + 30 * 70)))
# A thread loads 8 rows in 8 passes, stores 7.5, and one lane eliminates: 2 rows in 300 cycles, and one in 150.
serial = 29 * 150 + 30 * 150 + 30 * 20 + 30 * 120
same(rates.latency, 132 * 1.98e9 * 3 * 960 / (8 * 800 + 8 * 90 + 900 + serial))

# A sparse product of 8 entries in each of 33 rows to the third: 3 rounds find a row. A tile of 1024 entries has 128 rows, one per thread.
rates = model.SparseProduct("", "", 8, 33**3 - 1).rates(card, found, 8)
same(rates.bytes, 8 * 12 + 4 + 16)
same(rates.issue, 132 * 1.98e9 * 96 * 128 / (200 * 128 + 3 * 20 * 64 + 128 * (100 + 2 * 40)))
# The first of 5 rounds waits for device memory, the others for the cache. The row offsets come from device memory.
same(rates.latency, 132 * 1.98e9 * 8 * 128 / (300 + 600 + 4 * 270 + 3 * (30 + 270) + 600 + 400 + 2 * 50))

# Lines of 511 points. Along the last axis, 2 lines have 1024 elements. Along another axis, 4 lines take 64 KB, and 8 would be more than half of the memory.
poisson = model.Poisson("", "", 511)
same(poisson.tile(card, 8, 1), (1, 256, 32 << 10))
same(poisson.tile(card, 8, 511), (2, 512, 64 << 10))
same(poisson.tile(card, 4, 511), (3, 512, 64 << 10))
same(poisson.tile(model.CARDS[3], 8, 511), (0, 128, 16 << 10))

# The largest system counts, and only on the card that measured it.
same(model.measured([REPORT], card, "tridiagonal", 8), 20e9)
same(model.measured([REPORT], model.CARDS[1], "tridiagonal", 8), None)

# The tables of the page are what the recorded kernels and results give.
page = (ROOT / "docs/math/gpu.md").read_text(encoding="utf-8")
results = ROOT / "benches/gpu/results"
record = model.read_kernels("".join(path.read_text(encoding="utf-8") for path in sorted(results.glob("kernels*.txt"))))
reports = [model.json.loads(path.read_text(encoding="utf-8")) for path in sorted(results.glob("*.json"))]
predicted = list(model.predictions(record, reports))
for option, made in [("", model.table(predicted)), (" --compiled", model.compiled_table(record, predicted))]:
    if made not in page:
        raise SystemExit(f"FAILED: docs/math/gpu.md has another table than `python3 benches/gpu/model.py{option}` prints")
    passed += 1
print(f"{passed} passed: the model of the speed of GPUs")
