#!/usr/bin/env python3
"""Predict the speed of the main kernels on several GPUs from the compiled kernels, and compare it with measurements.

usage: model.py [--json] [--kernels FILE] [RESULTS...]

FILE is what `crates/bandsolve-gpu/tests/nvcc.sh kernels FILE` writes [results/kernels.txt], and RESULTS are reports of
`bandsolve bench gpu --json` [results/*.json]. The model is the section "Predicted speed" of docs/math/gpu.md.
"""

import json
import re
import sys
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent

WARP = 32
# Schedulers of a multiprocessor, and the share of their slots that real code fills.
ISSUES, FILLED = 4, 0.75
# Assumed cycles of a load from device memory, and of one from the second-level cache.
MEMORY, CACHE = 600, 270
# Shared memory that CUDA reserves for each thread block, and the step of register allocation for a warp.
RESERVED, REGISTER_STEP = 1024, 256
# Rows of a partition, and threads of a block (`Sizes` in tuning.rs); rows of a chunk (`CHUNK` in cut.rs).
PARTITION, THREADS, CHUNK = 31, 128, 8


@dataclass
class Card:
    """What data sheets say of a card. `copy` is the bandwidth of a copy in bytes per second, reads and writes; `clock` is in Hz. `device` is a part of
    the name that the driver gives it."""

    name: str
    device: str
    arch: str
    copy: float
    clock: float
    multiprocessors: int
    shared: int
    registers: int = 65536
    threads: int = 2048
    blocks: int = 32

    def resident(self, threads, registers, shared):
        """The thread blocks that a multiprocessor runs at the same time."""
        warps = -(-threads // WARP)
        per_warp = -(-registers * WARP // REGISTER_STEP) * REGISTER_STEP
        limits = [self.blocks, self.threads // threads, self.registers // (per_warp * warps), self.shared // (shared + RESERVED)]
        return min(limits)


CARDS = [
    Card("H100", "H100", "sm_90", 3.0e12, 1.98e9, 132, 228 << 10),
    Card("H200", "H200", "sm_90", 4.3e12, 1.98e9, 132, 228 << 10),
    Card("A100-80", "A100-SXM4-80GB", "sm_80", 1.75e12, 1.41e9, 108, 164 << 10),
]


@dataclass
class Loop:
    """An inner loop (kernels.py): its instructions, the cycles of a pass, and how many instructions have each of these codes."""

    size: int
    cycles: int
    ldg: int
    stg: int
    lds: int
    sts: int
    mufu: int

    def time(self, load):
        """The cycles of one pass, where a load from device memory takes `load` cycles: the loads of a pass overlap."""
        return self.cycles + (load if self.ldg else 0)


@dataclass
class Step:
    """A step of an algorithm, for each row: instructions and cycles. One pass of the loop processes `rows` rows."""

    instructions: float
    cycles: float
    rows: int


@dataclass
class Kernel:
    registers: int
    shared: int
    spilled: int
    loops: list

    def step(self, rows, load=MEMORY):
        """The loop that processes most rows in a pass, where `rows(loop)` is their number, or 0 for loops of another step."""
        most = max(self.loops, key=rows)
        if not rows(most):
            raise SystemExit("a kernel has no loop of this kind; did its source change?")
        return Step(most.size / rows(most), most.time(load) / rows(most), rows(most))


def read_kernels(text):
    """The kernels by architecture and name."""
    found = {}
    for arch, name, loop, values in re.findall(r"^(\S+) (\w+)( loop)?: (.*)$", text, re.MULTILINE):
        numbers = [int(number) for number in re.findall(r"(\d+) (?:[A-Z]|[a-z])", values)]
        if loop:
            found[arch, name].loops.append(Loop(*numbers))
        else:
            found[arch, name] = Kernel(*numbers, [])
    return found


def compiled(kernels, card, name):
    if (card.arch, name) not in kernels:
        raise SystemExit(f"the record has no kernel {name} for {card.arch}; nvcc.sh makes a record of all that the model needs")
    return kernels[card.arch, name]


@dataclass
class Rates:
    """Rows per second that each resource allows, and what one thread block of each kernel uses."""

    memory: float
    issue: float
    latency: float
    bytes: float
    used: list

    def together(self):
        return sum(rate**-3 for rate in (self.memory, self.issue, self.latency)) ** (-1 / 3)


@dataclass
class Partitioned:
    """RPTS: one partition per lane. Kernels exist for blocks of `block` rows and `columns` right-hand sides on chip. The matrix has `numbers`
    numbers for each block row in memory."""

    title: str
    system: str
    ending: str
    block: int
    columns: int
    numbers: int

    def cut(self, card, size):
        """Rows of a partition, partitions of a thread block, and bytes of shared memory of reduce and substitute (cut.rs)."""
        row, rhs = self.block * (3 * self.block + self.columns), 2 * self.block * self.columns
        stored = 2 + self.columns if self.block == 1 else 0
        for lanes in (WARP, WARP // 2, WARP // 4, 1):
            for m in range(PARTITION, 6, -1):
                plane = (m + 1 | 1) * lanes
                if size * (plane * (row + stored) + rhs * lanes) <= card.shared // 2:
                    return m, lanes, size * plane * row, size * (plane * row + rhs * lanes)
        raise SystemExit(f"{self.title}: too little shared memory on {card.name}")

    def rates(self, card, kernels, size):
        m, lanes, shared_reduce, shared_substitute = self.cut(card, size)
        b, columns = self.block, self.columns
        on_chip = b * (3 * b + columns)
        name = f"f{8 * size}_{self.ending}"
        reduce, substitute = (compiled(kernels, card, f"{kind}_{name}") for kind in ("reduce", "substitute"))
        # Which loop is which follows from its memory instructions. A row on chip has `on_chip` numbers; a row divides once.
        stage = lambda loop: loop.sts // on_chip if loop.ldg and not loop.stg else 0
        down = lambda loop: loop.lds // on_chip if loop.mufu and not loop.ldg and not loop.stg and loop.sts >= loop.lds else 0
        up = lambda loop: loop.sts // (b * columns) if loop.mufu and not loop.ldg and not loop.stg and loop.sts < loop.lds else 0
        eliminate = lambda loop: loop.lds // on_chip if loop.mufu and not loop.ldg and not loop.stg and not loop.sts else 0
        write = lambda loop: loop.mufu if loop.stg and loop.lds else 0
        # Values of a thread block: block rows, and numbers of x.
        rows, values = m * lanes, m * lanes * b * columns
        loads = [kernel.step(stage) for kernel in (reduce, substitute)]
        both, inward, outward = reduce.step(eliminate), substitute.step(down), substitute.step(up)
        check = substitute.step(write, CACHE)
        # A sweep keeps a warp busy, however many of its lanes have a partition; loads and checks use all threads.
        sweeps = 2 * both.instructions + inward.instructions + outward.instructions
        instructions = sum(load.instructions for load in loads) * rows + sweeps * m * WARP + check.instructions * values
        # A thread makes whole passes of a loop. The two sweeps of reduce run at the same time.
        passes = lambda count, step: -(-count // (THREADS * step.rows)) * step.rows * step.cycles
        cycles = [passes(rows, load) for load in loads]
        cycles[0] += m * both.cycles
        cycles[1] += m * (inward.cycles + outward.cycles) + passes(values, check)
        shared = [reduce.shared + shared_reduce, substitute.shared + shared_substitute]
        used = [
            (f"{kind}_{name}", card.resident(THREADS, kernel.registers, bytes_), kernel.registers, bytes_, kernel.spilled)
            for kind, kernel, bytes_ in zip(("reduce", "substitute"), (reduce, substitute), shared)
        ]
        # Each level has 2/m of the rows of the level above.
        levels = 1 / (1 - 2 / m)
        seconds = sum(cycle / (card.clock * card.multiprocessors * one[1] * values) for cycle, one in zip(cycles, used))
        moved = self.traffic(m) * size
        issued = card.clock * card.multiprocessors * ISSUES * FILLED * WARP
        return Rates(card.copy / moved, issued * values / (instructions * levels), 1 / (seconds * levels), moved, used)

    def traffic(self, m):
        """Numbers read and written per row and right-hand side: both kernels read all rows, and substitute writes x."""
        b, columns = self.block, self.columns
        coarse = b * (3 * b + columns) + b * columns
        level = lambda numbers: 2 * (numbers + b * columns) + b * columns + 2 / m * coarse
        return (level(self.numbers) + level(3 * b * b) * 2 / m / (1 - 2 / m)) / (b * columns)


@dataclass
class OneThreadEach:
    """Interleaved batches: one thread per system, which reads the matrix twice."""

    title: str
    system: str

    def rates(self, card, kernels, size):
        name = f"interleaved_f{8 * size}_larger"
        kernel = compiled(kernels, card, name)
        half = (card.shared - RESERVED) / 2
        threads = next((threads for threads in (THREADS, THREADS // 2) if 7 * CHUNK * size * threads <= half), WARP)
        shared = kernel.shared + 7 * CHUNK * size * threads
        first = kernel.step(lambda loop: loop.mufu if loop.ldg and loop.stg else 0)
        again = kernel.step(lambda loop: loop.mufu if loop.ldg and loop.sts else 0)
        back = kernel.step(lambda loop: loop.stg if loop.lds and not loop.ldg else 0)
        instructions, cycles = (sum(values) for values in zip(*((step.instructions, step.cycles) for step in (first, again, back))))
        resident = card.resident(threads, kernel.registers, shared)
        # Three numbers per chunk are written and read again.
        moved = (4 + 4 + 1 + 2 * 3 / CHUNK) * size
        total = card.clock * card.multiprocessors
        used = [(name, resident, kernel.registers, shared, kernel.spilled)]
        issued = total * ISSUES * FILLED * WARP / instructions
        return Rates(card.copy / moved, issued, total * resident * threads / cycles, moved, used)


FAMILIES = [
    Partitioned("tridiagonal", "tridiagonal", "1_1_larger", 1, 1, 3),
    Partitioned("tridiagonal, 4 right-hand sides on chip", "32 right-hand sides", "1_4_larger", 1, 4, 3),
    Partitioned("pentadiagonal", "pentadiagonal", "2_1_band", 2, 1, 10),
    Partitioned("blocks of 4", "blocks of 4", "4_1", 4, 1, 48),
    OneThreadEach("interleaved batch", "interleaved batch"),
]


def measured(reports, card, system, size):
    """Rows per second of the largest system of this kind in the reports of the card, or None."""
    rows = [row for report in reports if card.device in report["device"] for row in report["rows"]]
    rows = [row for row in rows if (row["solver"], row["system"], row["dtype"]) == ("bandsolve", system, f"f{8 * size}")]
    largest = max(rows, key=lambda row: row["n"], default=None)
    return 1e9 / largest["ns_per_row"] if largest else None


def predictions(kernels, reports):
    """A dictionary for each family, number type and card whose kernels were compiled."""
    for family in FAMILIES:
        for size in (8, 4):
            for card in CARDS:
                rates = family.rates(card, kernels, size)
                seen = measured(reports, card, family.system, size)
                yield {
                    "family": family.title,
                    "dtype": f"f{8 * size}",
                    "card": card.name,
                    "kernels": [dict(zip(("name", "resident", "registers", "shared", "spilled"), used)) for used in rates.used],
                    "bytes_per_row": rates.bytes,
                    "memory": rates.memory,
                    "issue": rates.issue,
                    "latency": rates.latency,
                    "rows_per_second": rates.together(),
                    "measured": seen,
                    "error_percent": None if seen is None else 100 * (rates.together() / seen - 1),
                }


def table(rows):
    """The predictions as a table in Markdown."""
    lines = ["| system | type | card | blocks per multiprocessor | bytes per row | memory | issue | latency | predicted | measured | error |"]
    lines += ["| --- " * 11 + "|"]
    giga = lambda rate: "" if rate is None else f"{rate / 1e9:.1f}"
    for row in rows:
        resident = ", ".join(str(kernel["resident"]) for kernel in row["kernels"])
        rates = [giga(row[key]) for key in ("memory", "issue", "latency", "rows_per_second", "measured")]
        error = "" if row["error_percent"] is None else f"{row['error_percent']:+.0f} %"
        cells = [row["family"], f"`{row['dtype']}`", row["card"], resident, f"{row['bytes_per_row']:.0f}", *rates, error]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main(arguments):
    as_json, kernels, results = False, HERE / "results/kernels.txt", []
    while arguments:
        argument = arguments.pop(0)
        if argument == "--json":
            as_json = True
        elif argument == "--kernels" and arguments:
            kernels = Path(arguments.pop(0))
        elif argument.startswith("-"):
            sys.exit(__doc__)
        else:
            results.append(Path(argument))
    results = results or sorted((HERE / "results").glob("*.json"))
    reports = [json.loads(path.read_text(encoding="utf-8")) for path in results]
    rows = list(predictions(read_kernels(kernels.read_text(encoding="utf-8")), reports))
    print(json.dumps(rows, indent=1) if as_json else table(rows))


if __name__ == "__main__":
    main(sys.argv[1:])
