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
"""
# Two kernels with round numbers. For a row, 100 instructions load it, a step of a sweep takes 50, 40 and 60, and a check 200.
RECORD = """sm_90 reduce_f64_1_1_larger: 64 registers, 0 B shared, 0 B spilled
sm_90 reduce_f64_1_1_larger loop: 400 instructions, 800 cycles, 31 LDG, 0 STG, 0 LDS, 16 STS, 0 MUFU
sm_90 reduce_f64_1_1_larger loop: 200 instructions, 800 cycles, 0 LDG, 0 STG, 16 LDS, 0 STS, 4 MUFU
sm_90 reduce_f64_1_1_larger loop: 64 instructions, 330 cycles, 0 LDG, 0 STG, 4 LDS, 0 STS, 1 MUFU
sm_90 substitute_f64_1_1_larger: 96 registers, 0 B shared, 0 B spilled
sm_90 substitute_f64_1_1_larger loop: 400 instructions, 800 cycles, 31 LDG, 0 STG, 0 LDS, 16 STS, 0 MUFU
sm_90 substitute_f64_1_1_larger loop: 80 instructions, 500 cycles, 0 LDG, 0 STG, 8 LDS, 8 STS, 2 MUFU
sm_90 substitute_f64_1_1_larger loop: 60 instructions, 300 cycles, 0 LDG, 0 STG, 8 LDS, 1 STS, 1 MUFU
sm_90 substitute_f64_1_1_larger loop: 800 instructions, 2730 cycles, 16 LDG, 12 STG, 12 LDS, 0 STS, 4 MUFU
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
    if not (got == expected or math.isclose(got, expected, rel_tol=1e-12)):
        raise SystemExit(f"FAILED: {got}, expected {expected}")
    passed += 1


same(kernels.resources(PTXAS), {"reduce_f64_1_1_larger": (56, 0, 8)})
# The outer loop contains the inner one; the last branch goes forward. In a pass, the load takes 2 cycles, 25 pass until LDS has a result, 8 until DADD
# has one, and the branch takes 5.
same(kernels.loops(SASS), {"reduce_f64_1_1_larger": [[4, 2 + 25 + 8 + 5, 1, 0, 1, 0, 0]]})

card = model.CARDS[0]
# 64 registers are 2048 for each of 4 warps: 65536 / 8192 = 8 blocks. 20 KiB and 1 KiB that is reserved: 228 / 21 = 10.
same(card.resident(128, 64, 20 << 10), 8)
same(card.resident(128, 65, 20 << 10), 65536 // (4 * 2304))
same(card.resident(128, 32, 20 << 10), 10)
same(card.resident(1024, 16, 0), 2)

family = model.FAMILIES[0]
# 33 entries for 31 rows and one more, 32 lanes, 4 planes: 33 · 32 · 4 · 8 bytes; and 2 · 32 numbers of the neighbors.
same(family.cut(card, 8), (31, 32, 33792, 34304))
# Two times 4 numbers, 1 written, 5 · 2/31 for the coarse system; the levels below add 2/29 of the same.
same(family.traffic(31), (9 + 10 / 31) * (1 + 2 / 29))

rates = family.rates(card, model.read_kernels(RECORD), 8)
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
# The largest system counts, and only on the card that measured it.
same(model.measured([REPORT], card, "tridiagonal", 8), 20e9)
same(model.measured([REPORT], model.CARDS[1], "tridiagonal", 8), None)

# The table of the page is what the recorded kernels and results give.
page = (ROOT / "docs/math/gpu.md").read_text(encoding="utf-8")
results = ROOT / "benches/gpu/results"
record = model.read_kernels((results / "kernels.txt").read_text(encoding="utf-8"))
reports = [model.json.loads(path.read_text(encoding="utf-8")) for path in sorted(results.glob("*.json"))]
made = model.table(model.predictions(record, reports))
if made not in page:
    raise SystemExit("FAILED: docs/math/gpu.md has another table than `python3 benches/gpu/model.py` prints")
print(f"{passed + 1} passed: the model of the speed of GPUs")
