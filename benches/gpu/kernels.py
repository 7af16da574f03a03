#!/usr/bin/env python3
"""The resources and the inner loops of compiled kernels, for model.py. `crates/bandsolve-gpu/tests/nvcc.sh kernels FILE` runs it.

usage: kernels.py CARD PTXAS SASS      CARD is sm_90 or another, PTXAS what `ptxas -v` printed, SASS what `nvdisasm -c -hex` printed

The script prints a line for each kernel, and a line for each innermost loop that stores or uses shared memory:

    sm_90 NAME: 64 registers, 0 B shared, 0 B spilled
    sm_90 NAME loop: 449 instructions, 1068 cycles, 31 LDG, 0 STG, 0 LDS, 16 STS, 0 MUFU

"cycles" is the time of a pass of the loop for a warp that is alone, without the time of loads from device memory. The compiler writes into each
instruction how many cycles the warp pauses after it, and for which results it waits before. LDG and STG load and store device memory, LDS and STS
shared memory. MUFU computes the reciprocal for a division.
"""

import re
import sys
from collections import Counter

COUNTED = ["LDG", "STG", "LDS", "STS", "MUFU"]
# Where the second word of an instruction has the pause, the two barriers that it opens when it has its result and when it has read its operands, and the
# barriers for which it waits.
PAUSE, OPENS, WAITS = 41, (46, 49), 52
BARRIERS = 6
# Assumed cycles until a result is there: of double-precision arithmetic, where it has no fixed time, and of shared memory and all else.
ARITHMETIC, SLOW = 8, 25
INSTRUCTION = re.compile(r"\s+/\*[0-9a-f]+\*/\s+(?:@!?U?P\d+\s+)?(.*?)\s*;\s+/\* 0x[0-9a-f]+ \*/\s+/\* 0x([0-9a-f]+) \*/")
LABEL = re.compile(r"^(\.L_x_\d+):", re.MULTILINE)


def resources(text):
    """Registers, static shared memory and stored spills of each kernel, from what `ptxas -v` printed."""
    found = {}
    for part in text.split("Compiling entry function '")[1:]:
        number = lambda pattern: int((re.search(pattern, part) or ["", 0])[1])
        found[part[: part.index("'")]] = number(r"Used (\d+) registers"), number(r"(\d+) bytes smem"), number(r"(\d+) bytes spill stores")
    return found


def measured(instructions):
    """Size, cycles and counts of a loop."""
    codes = [re.split("[. ]", text)[0] for text, _ in instructions]
    count = Counter(codes)
    now, ready = 0, [0] * BARRIERS
    # The second pass waits for results of the first.
    for _ in range(2):
        begin = now
        for code, (_, word) in zip(codes, instructions):
            now = max([now] + [ready[k] for k in range(BARRIERS) if word >> WAITS + k & 1])
            latency = 0 if code == "LDG" else ARITHMETIC if code[0] == "D" else SLOW
            for barrier in (word >> at & 7 for at in OPENS):
                if barrier < BARRIERS:
                    ready[barrier] = max(ready[barrier], now + latency)
            now += word >> PAUSE & 15
    return [len(instructions), now - begin, *(count[code] for code in COUNTED)]


def loops(text):
    """The innermost loops of each kernel: instructions, cycles, and how often the loop has each of the instructions in COUNTED."""
    found = {}
    for part in re.split(r"^\.text\.", text, flags=re.MULTILINE)[1:]:
        name, _, code = part.partition(":")
        # Text between two labels is a run of instructions: (what it does, its second word).
        labels, instructions = {}, []
        before, *named = LABEL.split(code)
        for label, run in zip(["", *named[::2]], [before, *named[1::2]]):
            labels[label] = len(instructions)
            instructions += [(text, int(word, 16)) for text, word in INSTRUCTION.findall(run)]
        # A loop ends with a branch to a label before it.
        branches = [(at, re.search(r"^BRA.*`\((\.L_x_\d+)\)", text)) for at, (text, _) in enumerate(instructions)]
        ranges = [(labels[to[1]], at) for at, to in branches if to and labels.get(to[1], at) < at]
        inner = [one for one in ranges if not any(one[0] <= other[0] and other[1] <= one[1] for other in ranges if other != one)]
        found[name] = [loop for first, last in inner if sum((loop := measured(instructions[first : last + 1]))[3:6])]
    return found


def main(card, ptxas, sass):
    read = lambda path: open(path, encoding="utf-8").read()
    inner = loops(read(sass))
    for name, (registers, shared, spilled) in sorted(resources(read(ptxas)).items()):
        print(f"{card} {name}: {registers} registers, {shared} B shared, {spilled} B spilled")
        for values in inner[name]:
            print(f"{card} {name} loop: " + ", ".join(f"{value} {what}" for value, what in zip(values, ["instructions", "cycles", *COUNTED])))


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    main(*sys.argv[1:])
