#!/usr/bin/env python3
"""The resources and the code of kernels compiled for NVIDIA GPUs, for model.py. `crates/bandsolve-gpu/tests/nvcc.sh kernels FILE` runs it.

usage: kernels.py CARD PTXAS SASS      CARD is sm_90 or another, PTXAS what `ptxas -v` printed, SASS what `nvdisasm -c -hex` printed

The script prints a line for each kernel, and a line for each part of it that uses memory:

    sm_90 NAME: 64 registers, 0 B shared, 0 B spilled
    sm_90 NAME loop: 449 instructions, 1068 cycles, 1 rounds, 31 LDG, 0 STG, 0 LDS, 16 STS, 0 MUFU

The parts are:

- loop: an innermost loop
- around: a loop without the loops in it
- once: the code outside of loops

"cycles" is the time of a pass for a warp that is alone, without the time of loads from device memory. The compiler writes into each instruction how
many cycles the warp pauses after it, and for which results it waits before. "rounds" is how often the warp waits for device memory, one wait after
the other. LDG and STG load and store device memory, LDS and STS shared memory. MUFU computes the reciprocal for a division.
"""

import re
import sys
from collections import Counter
from typing import NamedTuple

COUNTED = ["LDG", "STG", "LDS", "STS", "MUFU"]
# Where the second word of an instruction has the pause, the two barriers that it opens when it has its result and when it has read its operands, and the
# barriers for which it waits.
PAUSE, OPENS, WAITS = 41, (46, 49), 52
BARRIERS = 6
# Assumed cycles until a result is there: of double-precision arithmetic, where it has no fixed time, and of shared memory and all else.
ARITHMETIC, SLOW = 8, 25
INSTRUCTION = re.compile(r"\s+/\*[0-9a-f]+\*/\s+(?:@!?U?P\d+\s+)?(.*?)\s*;\s+/\* 0x[0-9a-f]+ \*/\s+/\* 0x([0-9a-f]+) \*/")
LABEL = re.compile(r"^(\.L_x_\d+):", re.MULTILINE)
# Functions at the end of a kernel, which divide numbers that need special care.
FUNCTION = re.compile(r"^\$", re.MULTILINE)
# A time of loads from device memory beside which all others are small.
LONG = 1 << 20


class Code(NamedTuple):
    """A part of a kernel: its kind (loop, around or once) and its numbers, of which the last ones are those of COUNTED."""

    kind: str
    values: list


def print_code(kernel, labels, parts):
    """Print a line for each part that uses memory."""
    for part in parts:
        if sum(part.values[len(labels) : -1]):
            print(f"{kernel} {part.kind}: " + ", ".join(f"{value} {label}" for value, label in zip(part.values, [*labels, *COUNTED])))


def resources(text):
    """Registers, static shared memory and stored spills of each kernel, from what `ptxas -v` printed."""
    found = {}
    for part in text.split("Compiling entry function '")[1:]:
        number = lambda pattern: int((re.search(pattern, part) or ["", 0])[1])
        found[part[: part.index("'")]] = number(r"Used (\d+) registers"), number(r"(\d+) bytes smem"), number(r"(\d+) bytes spill stores")
    return found


def cycles(instructions, passes, load):
    """The cycles of the last pass, where a load from device memory takes `load` cycles."""
    now, ready = 0, [0] * BARRIERS
    for _ in range(passes):
        begin = now
        for text, word in instructions:
            code = re.split("[. ]", text)[0]
            now = max([now] + [ready[k] for k in range(BARRIERS) if word >> WAITS + k & 1])
            # The time until an instruction has its result, and until it has read its operands.
            latency = 0 if code == "LDG" else ARITHMETIC if code[0] == "D" else SLOW
            for at, time in zip(OPENS, (load if code == "LDG" else latency, latency)):
                if (barrier := word >> at & 7) < BARRIERS:
                    ready[barrier] = max(ready[barrier], now + time)
            now += word >> PAUSE & 15
    return now - begin


def measured(instructions, passes):
    """Size, cycles, rounds and counts of a run of instructions. The second pass of a loop waits for results of the first."""
    count = Counter(re.split("[. ]", text)[0] for text, _ in instructions)
    fast, slow = (cycles(instructions, passes, load) for load in (0, LONG))
    return [len(instructions), fast, round((slow - fast) / LONG), *(count[code] for code in COUNTED)]


def parts(text):
    """The parts of each kernel."""
    found = {}
    for part in re.split(r"^\.text\.", text, flags=re.MULTILINE)[1:]:
        name, _, code = part.partition(":")
        # Text between two labels is a run of instructions: (what it does, its second word).
        labels, instructions = {}, []
        before, *named = LABEL.split(FUNCTION.split(code)[0])
        for label, run in zip(["", *named[::2]], [before, *named[1::2]]):
            labels[label] = len(instructions)
            instructions += [(text, int(word, 16)) for text, word in INSTRUCTION.findall(run)]
        # A loop ends with a branch to a label before it.
        branches = [(at, re.search(r"^BRA.*`\((\.L_x_\d+)\)", text)) for at, (text, _) in enumerate(instructions)]
        ranges = sorted({(labels[to[1]], at) for at, to in branches if to and labels.get(to[1], at) < at})
        within = lambda inner, outer: inner != outer and outer[0] <= inner[0] and inner[1] <= outer[1]
        found[name] = []
        for one in [*ranges, (0, len(instructions) - 1)]:
            whole = one not in ranges
            inner = [other for other in ranges if whole or within(other, one)]
            own = [instructions[at] for at in range(one[0], one[1] + 1) if not any(first <= at <= last for first, last in inner)]
            found[name].append(Code("once" if whole else "around" if inner else "loop", measured(own, 1 if whole else 2)))
    return found


def main(card, ptxas, sass):
    read = lambda path: open(path, encoding="utf-8").read()
    code = parts(read(sass))
    for name, (registers, shared, spilled) in sorted(resources(read(ptxas)).items()):
        print(f"{card} {name}: {registers} registers, {shared} B shared, {spilled} B spilled")
        print_code(f"{card} {name}", ["instructions", "cycles", "rounds"], code[name])


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    main(*sys.argv[1:])
