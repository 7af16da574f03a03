#!/usr/bin/env python3
"""The inner loops of kernels compiled for AMD GPUs, for model.py. `crates/bandsolve-gpu/tests/hip.sh kernels FILE` runs it.

usage: kernels_amd.py LINES CODE      LINES is what hip.sh printed for the kernels, CODE what `hipcc -S` wrote

The script prints the line of each kernel, and lines for its loops as kernels.py does, with one more number:

    gfx90a NAME loop: 449 instructions, 380 slots, 2068 cycles, 1 rounds, 16 LDG, 0 STG, 0 LDS, 16 STS, 0 MUFU

"slots" is the number of turns of a scheduler that the vector instructions need. Other instructions, of other waves, run in the same turns. LDG and STG
load and store device memory. LDS and STS load and store shared memory; an instruction for two numbers counts twice. MUFU computes the reciprocal for
a division.
"""

import re
import sys
from collections import Counter

from kernels import COUNTED, LONG, Code, print_code

# A scheduler issues an instruction of a wave every four cycles. A vector instruction of a wave of 64 lanes keeps a SIMD unit of 16 lanes busy for this
# time. Reciprocals, roots and products of integers are assumed to take four times as long.
TURN, SLOW_TURNS = 4, 4
SLOW = re.compile(r"v_(rcp|rsq|sqrt|exp|log|sin|cos|mul_lo_u32|mul_hi_u32|mul_hi_i32|mad_u64_u32)")
# Assumed cycles until a result is there: from shared memory and constants, and of spilled registers. Time of device memory is added by model.py.
SHARED, SPILLED = 64, 120
# Instructions by the counter that they raise until they are done, and the counters of a wait.
SCALAR, VECTOR = "lgkmcnt", "vmcnt"
KINDS = [
    ("LDG", VECTOR, r"(global|flat)_load"),
    ("STG", VECTOR, r"(global|flat)_(store|atomic)"),
    ("SPILL", VECTOR, r"(buffer|scratch)_(load|store)"),
    ("LDS", SCALAR, r"ds_read"),
    ("SHUFFLE", SCALAR, r"ds_bpermute"),
    ("STS", SCALAR, r"ds_write"),
    ("CONSTANT", SCALAR, r"s_load"),
    ("MUFU", None, r"v_rcp_f(32|64)"),
]
LATENCY = {"LDS": SHARED, "SHUFFLE": SHARED, "STS": SHARED, "CONSTANT": SHARED, "SPILL": SPILLED}


def kind(code):
    """The kind of an instruction and the counter that it raises."""
    return next(((name, counter) for name, counter, pattern in KINDS if re.match(pattern, code)), (None, None))


def turns(code):
    """Turns of the vector unit."""
    return 0 if not code.startswith("v_") else SLOW_TURNS if SLOW.match(code) else 1


def cycles(instructions, passes, load):
    """The cycles of the last pass, where a load from device memory takes `load` cycles."""
    now, pending = 0, {SCALAR: [], VECTOR: []}
    for _ in range(passes):
        begin = now
        for text in instructions:
            code, _, operands = text.partition(" ")
            name, counter = kind(code)
            if code == "s_waitcnt":
                # Results come in order, so all but the last ones are there.
                for counter, most in re.findall(r"(\w+)\((\d+)\)", operands):
                    done = pending[counter][: -int(most) or None]
                    now = max([now, *done])
                    pending[counter] = pending[counter][len(done) :]
            elif counter:
                pending[counter].append(now + (load if name == "LDG" else LATENCY.get(name, 0)))
            now += TURN * max(1, turns(code))
    return now - begin


def measured(instructions, passes):
    """Instructions, slots, cycles, rounds and counts of a run of instructions. The second pass of a loop waits for results of the first."""
    codes = [text.partition(" ")[0] for text in instructions]
    count = Counter()
    for code in codes:
        count[kind(code)[0]] += 2 if re.match(r"ds_(read|write)2", code) else 1
    fast, slow = (cycles(instructions, passes, load) for load in (0, LONG))
    return [len(codes), sum(map(turns, codes)), fast, round((slow - fast) / LONG), *(count[name] for name in COUNTED)]


def parts(text):
    """The code of each kernel in parts: each loop without the loops in it, and the code outside of loops."""
    found = {}
    for part in re.split(r"^\t\.globl\t", text, flags=re.MULTILINE)[1:]:
        name = part.split(None, 1)[0]
        body = part.partition(f"\n{name}:")[2].partition("\n\t.section")[0]
        # The compiler notes the innermost loop of each block: for its first block by a comment with `This`, for others by the name of that block.
        runs, inner, at, block = {None: []}, set(), None, None
        for line in body.splitlines():
            code, _, comment = line.partition(";")
            if label := re.match(r"\.L(BB\w+):", line):
                block, at = label[1], None
            elif re.match(r"; %bb", line):
                at = None
            if header := re.search(r"in Loop: Header=(BB\w+)", comment):
                at = header[1]
            elif head := re.search(r"=>\s*This (Inner )?Loop Header", comment):
                at = block
                inner.update([block] if head[1] else [])
            if (instruction := " ".join(code.split())) and not re.match(r"[.\w]*:|\.", instruction):
                runs.setdefault(at, []).append(instruction)
        kind_of = lambda at: "once" if at is None else "loop" if at in inner else "around"
        found[name] = [Code(kind_of(at), measured(run, 1 if at is None else 2)) for at, run in runs.items()]
    return found


def main(lines, code):
    read = lambda path: open(path, encoding="utf-8").read()
    parts_of = parts(read(code))
    for line in sorted(read(lines).splitlines()):
        print(line)
        card, name = line.partition(":")[0].split()
        print_code(f"{card} {name}", ["instructions", "slots", "cycles", "rounds"], parts_of[name])


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
