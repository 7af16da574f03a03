#!/usr/bin/env python3
"""Predict the speed of the main kernels on several GPUs from the compiled kernels, and compare it with measurements.

usage: model.py [--json | --compiled] [--kernels FILE]... [RESULTS...]

FILE is what `nvcc.sh kernels FILE` or `hip.sh kernels FILE` (crates/bandsolve-gpu/tests) writes [results/kernels*.txt], and RESULTS are reports of
`bandsolve bench gpu --json` [results/*.json]. `--compiled` prints the registers and spills of the kernels instead. The model is the section
"Predicted speed" of docs/math/gpu.md.
"""

import json
import math
import re
import sys
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent

# Partitions of a thread block: the lanes of a warp.
WARP = 32
# Share of the slots of the schedulers that real code fills.
FILLED = 0.75
# Rows of a partition, and threads of a block (`Sizes` in tuning.rs); rows of a chunk (`CHUNK` in cut.rs), and rows that are loaded before the first of
# them is needed (`AHEAD` in batch.cuh).
PARTITION, THREADS, CHUNK, AHEAD = 31, 128, 8, 4
# Rows of a partition on chip from the second level on, and maximum rows of a system with one partition (`DEEPER_ROWS` and `ALONE` in cut.rs).
DEEPER, ALONE = 8, 16
# Entries of a tile, and numbers of its list of rows (product.cuh).
TILE, LIST = 1024, 35
# Elements of a tile of lines, bytes that are read at a time, and the largest factor of a transform (poisson/axis.rs, transform.cuh).
ELEMENTS, SEGMENT, RADIX = 1024, 128, 8
# Numbers of the measure of residuals (poisson/matrix.rs).
MEASURE = 8


@dataclass
class Card:
    """What data sheets say of a card. `copy` is the bandwidth of a copy in bytes per second, reads and writes; `clock` is in Hz. `device` is a part of
    the name that the driver gives it. A multiprocessor has four schedulers, which share its registers, and issues `issues` instructions per cycle for
    waves of `wave` lanes. It allocates registers for a wave in steps, and reserves shared memory for each block. `memory` and `cache` are the
    assumed cycles of a load from device memory and from the second-level cache."""

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
    wave: int = 32
    issues: int = 4
    register_step: int = 256
    reserved: int = 1024
    memory: int = 600
    cache: int = 270

    def resident(self, threads, registers, shared):
        """The thread blocks that a multiprocessor runs at the same time."""
        waves = -(-threads // self.wave)
        per_wave = -(-registers * self.wave // self.register_step) * self.register_step
        by_registers = SCHEDULERS * (self.registers // SCHEDULERS // per_wave) // waves
        return min(self.blocks, self.threads // threads, by_registers, self.shared // max(shared + self.reserved, 1))

    def slots(self):
        """Instructions of lanes that the card issues per second."""
        return self.clock * self.multiprocessors * self.issues * FILLED * self.wave

    def per_block(self):
        """The shared memory that one thread block can use."""
        return self.shared - self.reserved


SCHEDULERS = 4
CARDS = [
    Card("H100", "H100", "sm_90", 3.0e12, 1.98e9, 132, 228 << 10),
    Card("H200", "H200", "sm_90", 4.3e12, 1.98e9, 132, 228 << 10),
    Card("A100-80", "A100-SXM4-80GB", "sm_80", 1.75e12, 1.41e9, 108, 164 << 10),
    # One of the two dies of the card. A multiprocessor is a compute unit, whose four SIMD units are the schedulers. A SIMD unit has 512 registers for each
    # of 64 lanes, and runs at most 8 waves. Sources: AMD's data sheet of the Instinct MI250X (clock, compute units, 3.2 TB/s for both dies), and LLVM's
    # description of gfx90a (registers and waves).
    Card("MI250X, one die", "MI250X", "gfx90a", 1.3e12, 1.7e9, 110, 64 << 10, 131072, 2048, 16, 64, 1, 512, 0, 800, 300),
]


@dataclass
class Code:
    """A part of a kernel (kernels.py): the slots of a scheduler that it takes, its cycles and rounds, and how many instructions have each of these codes."""

    size: int
    cycles: int
    rounds: int
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


NOTHING = Step(0, 0, 1)


def by_all(count, threads, step):
    """The cycles of a step for `count` rows by all threads of a block. A thread makes whole passes of a loop."""
    return -(-count // (threads * step.rows)) * step.rows * step.cycles


@dataclass
class Kernel:
    """A compiled kernel: what a thread uses, and its code. `parts` has the innermost loops, the loops around them, and the code outside of loops."""

    registers: int
    shared: int
    spilled: int
    parts: dict
    # All that the record says of the kernel.
    record: dict

    def find(self, rows, load, kind="loop"):
        """The code that processes most rows in a pass, where `rows(code)` is their number, or 0 for code of another step. None if there is none."""
        most = max(self.parts[kind], key=rows, default=None)
        if most is None or not rows(most):
            return None
        return Step(most.size / rows(most), most.time(load) / rows(most), rows(most))

    def step(self, rows, load):
        """The loop that processes most rows in a pass, which must be there."""
        if (found := self.find(rows, load)) is None:
            raise SystemExit("a kernel has no loop of this kind; did its source change?")
        return found


def read_kernels(text):
    """The kernels by architecture and name."""
    found = {}
    for arch, name, kind, values in re.findall(r"^(\S+) (\w+)(?: (loop|around|once))?: (.*)$", text, re.MULTILINE):
        value = {what: int(number) for number, what in re.findall(r"(\d+) (?:B )?(\w+)", values)}
        if kind:
            counts = (value[code] for code in ("cycles", "rounds", "LDG", "STG", "LDS", "STS", "MUFU"))
            found[arch, name].parts[kind].append(Code(value.get("slots", value["instructions"]), *counts))
        else:
            registers = value.get("VGPR", value.get("registers"))
            parts = {"loop": [], "around": [], "once": []}
            found[arch, name] = Kernel(registers, value["shared"], value.get("scratch", value["spilled"]), parts, value)
    return found


def compiled(kernels, card, name):
    if (card.arch, name) not in kernels:
        raise SystemExit(f"no record has a kernel {name} for {card.arch}; nvcc.sh and hip.sh make records of all that the model needs")
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
        load = card.memory
        # Which loop is which follows from its memory instructions. A row on chip has `on_chip` numbers; a row divides once.
        stage = lambda loop: loop.sts / on_chip if loop.ldg and not loop.stg else 0
        down = lambda loop: loop.lds // on_chip if loop.mufu and not loop.ldg and not loop.stg and loop.sts >= loop.lds else 0
        up = lambda loop: loop.sts // (b * columns) if loop.mufu and not loop.ldg and not loop.stg and loop.sts < loop.lds else 0
        eliminate = lambda loop: loop.lds // on_chip if loop.mufu and not loop.ldg and not loop.stg and not loop.sts else 0
        write = lambda loop: loop.mufu if loop.stg and loop.lds else 0
        # Values of a thread block: block rows, and numbers of x.
        rows, values = m * lanes, m * lanes * b * columns
        loads = [kernel.step(stage, load) for kernel in (reduce, substitute)]
        both, inward, outward = reduce.step(eliminate, load), substitute.step(down, load), substitute.step(up, load)
        check = substitute.step(write, card.cache)
        # A sweep keeps a wave busy, however many of its lanes have a partition. Two warps reduce, in one wave or in two. Loads and checks use all threads.
        sweeps = both.instructions * max(2 * WARP, card.wave) + (inward.instructions + outward.instructions) * card.wave
        instructions = sum(load.instructions for load in loads) * rows + sweeps * m + check.instructions * values
        # The two sweeps of reduce run at the same time.
        cycles = [by_all(rows, THREADS, load) for load in loads]
        cycles[0] += m * both.cycles
        cycles[1] += m * (inward.cycles + outward.cycles) + by_all(values, THREADS, check)
        shared = [reduce.shared + shared_reduce, substitute.shared + shared_substitute]
        used = [
            (f"{kind}_{name}", card.resident(THREADS, kernel.registers, bytes_), kernel.registers, bytes_, kernel.spilled)
            for kind, kernel, bytes_ in zip(("reduce", "substitute"), (reduce, substitute), shared)
        ]
        # Each level has 2/m of the rows of the level above.
        levels = 1 / (1 - 2 / m)
        seconds = sum(cycle / (card.clock * card.multiprocessors * one[1] * values) for cycle, one in zip(cycles, used))
        moved = self.traffic(m) * size
        return Rates(card.copy / moved, card.slots() * values / (instructions * levels), 1 / (seconds * levels), moved, used)

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
        half = card.per_block() / 2
        threads = next((threads for threads in (THREADS, THREADS // 2) if 7 * CHUNK * size * threads <= half), WARP)
        shared = kernel.shared + 7 * CHUNK * size * threads
        first = kernel.step(lambda loop: loop.mufu if loop.ldg and loop.stg else 0, card.memory)
        again = kernel.step(lambda loop: loop.mufu if loop.sts else 0, card.memory)
        # Where the compiler did not unroll the loop over the loaded rows, their loads are around it.
        loaded = any(loop.ldg and loop.sts for loop in kernel.parts["loop"])
        ahead = NOTHING if loaded else kernel.find(lambda code: code.ldg // 4 if code.ldg == 4 * AHEAD else 0, card.memory, "around")
        back = kernel.step(lambda loop: loop.stg if loop.lds and not loop.ldg else 0, card.memory)
        instructions, cycles = (sum(values) for values in zip(*((step.instructions, step.cycles) for step in (first, again, ahead, back))))
        resident = card.resident(threads, kernel.registers, shared)
        # Three numbers per chunk are written and read again.
        moved = (4 + 4 + 1 + 2 * 3 / CHUNK) * size
        used = [(name, resident, kernel.registers, shared, kernel.spilled)]
        total = card.clock * card.multiprocessors
        return Rates(card.copy / moved, card.slots() / instructions, total * resident * threads / cycles, moved, used)


# Loops of kernels whose tile keeps its rows, for scalars: a sweep inwards stores three numbers per row, one outwards stores x.
KEPT, ROW = 3, 4


def sweeps(kernel, card):
    """The loops of a sweep inwards and a sweep outwards over a partition whose rows remain in shared memory."""
    is_sweep = lambda loop: loop.mufu and loop.lds and not loop.ldg and not loop.stg
    inward = kernel.step(lambda loop: loop.sts // KEPT if is_sweep(loop) else 0, card.memory)
    return inward, kernel.step(lambda loop: loop.sts if is_sweep(loop) and loop.sts < KEPT else 0, card.memory)


def kept_bytes(m, lanes, size):
    """Bytes of shared memory of a tile that keeps its rows (`substitute_bytes` in cut.rs)."""
    return size * ((m + 1 | 1) * lanes * (ROW + KEPT) + 2 * lanes)


@dataclass
class OneBlockEach:
    """Contiguous batches of systems of `n` rows: one thread block per system, which reduces and substitutes level by level in shared memory."""

    title: str
    system: str
    n: int

    def levels(self):
        """Rows of a partition and number of partitions, for each level. The last level has one partition."""
        n, m, found = self.n, max(DEEPER, -(-self.n // WARP)), []
        while True:
            m = n if n <= ALONE else m
            found.append((m, 1 if n <= m else n // m + (n % m > 1)))
            if found[-1][1] == 1:
                return found
            n, m = 2 * found[-1][1], DEEPER

    def rates(self, card, kernels, size):
        name = f"finish_f{8 * size}_1_1_larger"
        kernel = compiled(kernels, card, name)
        levels = self.levels()
        shared = kernel.shared + sum(kept_bytes(m, lanes, size) for m, lanes in [*levels, (2, 1)])
        resident = card.resident(THREADS, kernel.registers, shared)
        stage = kernel.step(lambda loop: loop.sts // ROW if loop.ldg and not loop.stg else 0, card.memory)
        both = kernel.step(lambda loop: loop.lds // ROW if loop.mufu and not loop.ldg and not loop.stg and not loop.sts else 0, card.memory)
        inward, outward = sweeps(kernel, card)
        check = kernel.step(lambda loop: loop.mufu if loop.stg and loop.lds else 0, card.memory)
        largest = kernel.step(lambda loop: loop.lds if loop.lds < ROW + 1 and not (loop.mufu or loop.stg or loop.sts or loop.ldg) else 0, card.memory)
        # The code around the sweeps runs once per level, with the rows that are left of an unrolled loop.
        reduce, substitute = kernel.parts["around"]
        [once] = kernel.parts["once"]
        passes = lambda rows, step: rows // step.rows * step.rows
        ends, n = 2 * levels[0][1], self.n
        instructions = (stage.instructions + check.instructions) * n + (largest.instructions * ends + once.size) * THREADS
        cycles = sum(by_all(n, THREADS, step) for step in (stage, check)) + largest.cycles * ends + once.cycles
        for m, _ in levels:
            inner = passes(m - 2, both)
            instructions += (inner * both.instructions + reduce.size) * max(2 * WARP, card.wave)
            cycles += inner * both.cycles + reduce.cycles
            down, up = passes(max(m - 3, 0), inward), passes(m - 2, outward)
            instructions += (down * inward.instructions + up * outward.instructions + substitute.size) * card.wave
            cycles += down * inward.cycles + up * outward.cycles + substitute.cycles
        total, moved = card.clock * card.multiprocessors, 5 * size
        used = [(name, resident, kernel.registers, shared, kernel.spilled)]
        return Rates(card.copy / moved, card.slots() * n / instructions, total * resident * n / cycles, moved, used)


@dataclass
class OneLaneEach:
    """Contiguous batches of short systems of `n` rows: one lane per system, between two unknowns that are zero."""

    title: str
    system: str
    n: int

    def rates(self, card, kernels, size):
        name = f"alone_f{8 * size}_larger"
        kernel = compiled(kernels, card, name)
        m = self.n + 2
        lanes = next(lanes for lanes in (WARP, WARP // 2, WARP // 4, 1) if lanes == 1 or kept_bytes(m, lanes, size) <= card.per_block())
        shared = kernel.shared + kept_bytes(m, lanes, size)
        resident = card.resident(THREADS, kernel.registers, shared)
        stage = kernel.step(lambda loop: loop.sts // ROW if loop.ldg and not loop.stg else 0, card.memory)
        inward, outward = sweeps(kernel, card)
        is_read = lambda loop: loop.lds and not (loop.sts or loop.stg or loop.ldg)
        largest = kernel.step(lambda loop: loop.lds if is_read(loop) and not loop.mufu else 0, card.memory)
        check = kernel.step(lambda loop: loop.mufu if is_read(loop) else 0, card.memory)
        write = kernel.step(lambda loop: loop.stg if loop.lds else 0, card.memory)
        [once] = kernel.parts["once"]
        rows = self.n * lanes
        serial = [(m - 3, inward), (m - 2, outward), (self.n, largest), (self.n, check)]
        shared_work = [(m * lanes, stage), (rows, write)]
        instructions = sum(count * step.instructions for count, step in shared_work) + once.size * THREADS
        instructions += sum(count * step.instructions for count, step in serial) * card.wave
        cycles = sum(by_all(count, THREADS, step) for count, step in shared_work) + once.cycles
        cycles += sum(count * step.cycles for count, step in serial)
        total, moved = card.clock * card.multiprocessors, 5 * size
        used = [(name, resident, kernel.registers, shared, kernel.spilled)]
        return Rates(card.copy / moved, card.slots() * rows / instructions, total * resident * rows / cycles, moved, used)


@dataclass
class SparseProduct:
    """A·x for a sparse matrix with `entries` entries in each of `n` rows. A thread block has a tile of entries, and a thread adds those of a row."""

    title: str
    system: str
    entries: int
    n: int

    def rates(self, card, kernels, size):
        name = f"product_f{8 * size}"
        kernel = compiled(kernels, card, name)
        terms = TILE + WARP - 1
        shared = kernel.shared + size * (terms + terms // WARP) + 4 * LIST
        resident = card.resident(THREADS, kernel.registers, shared)
        # Some compilers place code of the beginning at the end, so that it looks like a loop.
        begin = kernel.parts["once"] + [code for code in kernel.parts["around"] if not code.stg]
        size_of, cycles, waits = (sum(getattr(code, what) for code in begin) for what in ("size", "cycles", "rounds"))
        # Two warps search for the first row of the tile and the first row after it. A round of 32 probes divides the rows by 33.
        search = kernel.step(lambda loop: int(loop.ldg and not (loop.stg or loop.lds or loop.sts)), card.cache)
        rounds = math.ceil(math.log(self.n, WARP + 1))
        # A thread takes one row after the other. It adds the entries in a loop, or in the code around it if the loop is unrolled for longer rows.
        row = next(code for code in kernel.parts["around"] if code.stg)
        loop = min((loop for loop in kernel.parts["loop"] if loop.lds and not (loop.sts or loop.stg or loop.ldg)), key=lambda loop: loop.lds)
        adds = self.entries // loop.lds
        rows = TILE / self.entries
        instructions = size_of * THREADS + rounds * search.instructions * max(2 * WARP, card.wave) + rows * (row.size + adds * loop.size)
        # The first load of a tile comes from device memory, as the row offsets do. The vector and the offsets of the search are in the cache.
        cycles += waits * card.cache + card.memory - card.cache + rounds * search.cycles
        cycles += math.ceil(rows / THREADS) * (row.time(card.memory) + adds * loop.cycles)
        moved = self.entries * (size + 4) + 4 + 2 * size
        total = card.clock * card.multiprocessors
        used = [(name, resident, kernel.registers, shared, kernel.spilled)]
        return Rates(card.copy / moved, card.slots() * rows / instructions, total * resident * rows / cycles, moved, used)


@dataclass
class Poisson:
    """Poisson's equation in a box of n³ nodes between Dirichlet sides: transforms in shared memory along each axis, and a pass for the residuals.
    n + 1 is a power of the largest factor of a transform."""

    title: str
    system: str
    n: int

    def tile(self, card, size, stride):
        """log2 of the lines of a thread block, its threads, and its bytes of shared memory (poisson/axis.rs)."""
        points = self.n + 1
        shared = lambda tile: 2 * (points << tile) * 2 * size
        enough = lambda tile: points << tile >= ELEMENTS if stride == 1 else size << tile >= SEGMENT
        tile = 0
        while not enough(tile) and tile < 5 and shared(tile + 1) <= min(card.shared // 2 - 1024, card.per_block()):
            tile += 1
        return tile, min(max((points << tile) // 4, 64), 512), shared(tile)

    def transform(self, card, kernel, size, stride, transforms, load):
        """Instructions and cycles per point of a pass along the axis whose neighbors have this distance, the resident thread blocks, and the shared
        memory of one. The pass loads each number by the step `load`. The pass in the middle transforms twice, and divides between."""
        tile, threads, shared = self.tile(card, size, stride)
        loops = kernel.parts["loop"]
        is_work = lambda loop: loop.ldg and loop.lds and loop.sts and not loop.stg and not loop.mufu
        # Before and after a transform, two values are added. Then come the steps of the factors.
        pairs = [loop for loop in loops if is_work(loop) and loop.lds > loop.sts]
        factor = max((loop for loop in loops if is_work(loop) and loop.lds % RADIX == 0), key=lambda loop: loop.size)
        pair = Step(sum(loop.size for loop in pairs) / len(pairs), sum(loop.time(card.cache) for loop in pairs) / len(pairs), 1)
        n, points = self.n << tile, self.n + 1 << tile
        factors = round(math.log(self.n + 1, RADIX))
        work = [(n, load), (n, stored(loops))]
        work += [(points, pair), (n, pair), *[(points // RADIX, whole(factor, card.cache))] * factors] * transforms
        if transforms == 2:
            work.append((n, whole(next(loop for loop in loops if loop.stg and loop.mufu), card.cache)))
        resident = card.resident(threads, kernel.registers, shared)
        instructions = sum(count * step.instructions for count, step in work)
        return instructions / n, sum(by_all(count, threads, step) for count, step in work) / resident / n, resident, shared

    def rates(self, card, kernels, size):
        names = [f"{name}_f{8 * size}" for name in ("transform", "boxresidual")]
        kernel, residual = (compiled(kernels, card, name) for name in names)
        n, loops = self.n, kernel.parts["loop"]
        # The first pass adds the boundary terms as it loads f. In the others, a load takes as many instructions as a store.
        first = whole(max((loop for loop in loops if loop.ldg and loop.sts and not loop.lds), key=lambda loop: loop.size), card.memory)
        plain = Step(stored(loops).instructions, stored(loops).cycles + card.memory, 1)
        passes = [(1, 1, first), (n, 1, plain), (n * n, 2, plain), (n, 1, plain), (1, 1, plain)]
        passes = [self.transform(card, kernel, size, *one) for one in passes]
        measure = max((loop for loop in residual.parts["loop"] if loop.ldg and not loop.sts), key=lambda loop: loop.size)
        shared = residual.shared + THREADS * MEASURE * 8
        resident = card.resident(THREADS, residual.registers, shared)
        instructions = measure.size + sum(one[0] for one in passes)
        cycles = measure.time(card.memory) / THREADS / resident + sum(one[1] for one in passes)
        # Each pass reads and writes a number per point. The residuals read two.
        moved = (2 * len(passes) + 2) * size
        used = [(names[0], one[2], kernel.registers, one[3], kernel.spilled) for one in passes]
        used.append((names[1], resident, residual.registers, shared, residual.spilled))
        return Rates(card.copy / moved, card.slots() / instructions, card.clock * card.multiprocessors / cycles, moved, used)


def whole(loop, load):
    """A loop that processes one number in a pass."""
    return Step(loop.size, loop.time(load), 1)


def stored(loops):
    """The loop that stores a line."""
    return whole(min((loop for loop in loops if loop.stg and loop.lds and not loop.mufu), key=lambda loop: loop.size), 0)


FAMILIES = [
    Partitioned("tridiagonal", "tridiagonal", "1_1_larger", 1, 1, 3),
    Partitioned("tridiagonal, 4 right-hand sides on chip", "32 right-hand sides", "1_4_larger", 1, 4, 3),
    Partitioned("pentadiagonal", "pentadiagonal", "2_1_band", 2, 1, 10),
    Partitioned("blocks of 4", "blocks of 4", "4_1", 4, 1, 48),
    OneThreadEach("interleaved batch", "interleaved batch"),
    OneBlockEach("contiguous batch, 128 rows", "contiguous batch", 128),
    OneLaneEach("contiguous batch, 32 rows", "contiguous batch, 32 rows", 32),
    SparseProduct("sparse product, 7 entries per row", "sparse product", 7, 10**7),
    Poisson("Poisson, 511³ points", "Poisson", 511),
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


def compiled_table(kernels, rows):
    """What the kernels of the predictions use, as a table in Markdown."""
    amd = next(card for card in CARDS if card.wave == 64)
    shared = {kernel["name"]: kernel["shared"] for row in rows if row["card"] == amd.name for kernel in row["kernels"]}
    head = ["kernel", "sm_80: registers", "sm_90: registers", "gfx90a: vector registers", "of these AGPRs", "scalar registers", "scratch", "waves"]
    lines = ["| " + " | ".join([*head, "shared memory"]) + " |", "| --- " * 9 + "|"]
    for name in dict.fromkeys(kernel["name"] for row in rows for kernel in row["kernels"]):
        spilled = lambda kernel: f"{kernel.registers}, {kernel.spilled} B spilled" if kernel.spilled else f"{kernel.registers}"
        record = kernels[amd.arch, name].record
        cells = [f"`{name}`", *(spilled(kernels[arch, name]) for arch in ("sm_80", "sm_90"))]
        cells += [str(record[what]) for what in ("VGPR", "AGPR", "SGPR", "scratch", "waves")]
        lines.append("| " + " | ".join([*cells, str(shared[name])]) + " |")
    return "\n".join(lines)


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
    printed, kernels, results = lambda _, rows: table(rows), [], []
    while arguments:
        argument = arguments.pop(0)
        if argument == "--json":
            printed = lambda _, rows: json.dumps(rows, indent=1)
        elif argument == "--compiled":
            printed = compiled_table
        elif argument == "--kernels" and arguments:
            kernels.append(Path(arguments.pop(0)))
        elif argument.startswith("-"):
            sys.exit(__doc__)
        else:
            results.append(Path(argument))
    kernels = kernels or sorted((HERE / "results").glob("kernels*.txt"))
    results = results or sorted((HERE / "results").glob("*.json"))
    reports = [json.loads(path.read_text(encoding="utf-8")) for path in results]
    records = read_kernels("".join(path.read_text(encoding="utf-8") for path in kernels))
    print(printed(records, list(predictions(records, reports))))


if __name__ == "__main__":
    main(sys.argv[1:])
