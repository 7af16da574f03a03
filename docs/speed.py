#!/usr/bin/env python3
"""Measure a tridiagonal solve against LAPACK, MKL and SciPy from Python, and draw the figure of the README.

usage: speed.py measure    write pictures/speed.csv: nanoseconds per row, medians of alternating runs
       speed.py draw       draw pictures/speed-light.svg and speed-dark.svg from it

One system with random entries, f64. `dgtsv` overwrites its arguments, so each call gets fresh copies, which are not timed. Needs
bandsolve, SciPy, matplotlib, and MKL (`pip install mkl`).
"""

import csv
import ctypes
import pathlib
import sys
import time

import numpy as np

PICTURES = pathlib.Path(__file__).resolve().parent / "pictures"
TABLE = PICTURES / "speed.csv"
SIZES = [1 << k for k in range(9, 25)]
SECONDS = 1.5
NAMES = ["bandsolve, 2 threads", "bandsolve, 1 thread", "MKL dgtsv", "OpenBLAS dgtsv", "SciPy solve_banded"]


def mkl_dgtsv():
    """MKL's `dgtsv`, with one right-hand side."""
    library = ctypes.CDLL(str(next(pathlib.Path(sys.prefix, "lib").glob("libmkl_rt.so*"))))

    def solve(sub, diag, sup, rhs):
        n, one, info = ctypes.c_int(len(diag)), ctypes.c_int(1), ctypes.c_int()
        arrays = [ctypes.c_void_p(array.ctypes.data) for array in (sub, diag, sup, rhs)]
        library.dgtsv_(ctypes.byref(n), ctypes.byref(one), *arrays, ctypes.byref(n), ctypes.byref(info))
        assert info.value == 0

    return solve


def contenders():
    """Functions of (sub, diag, sup, ab, rhs) that may overwrite their arguments, in the order of NAMES."""
    from scipy.linalg import solve_banded
    from scipy.linalg.lapack import dgtsv

    import bandsolve

    of_mkl = mkl_dgtsv()

    def ours(threads):
        return lambda sub, diag, sup, ab, rhs: bandsolve.solve_tridiagonal(sub, diag, sup, rhs, threads=threads)

    return [
        ours(2),
        ours(1),
        lambda sub, diag, sup, ab, rhs: of_mkl(sub, diag, sup, rhs),
        lambda sub, diag, sup, ab, rhs: dgtsv(sub, diag, sup, rhs, True, True, True, True),
        lambda sub, diag, sup, ab, rhs: solve_banded((1, 1), ab, rhs, overwrite_ab=True, overwrite_b=True, check_finite=False),
    ]


def measure():
    rng, rows, solvers = np.random.default_rng(1), [], contenders()
    for n in SIZES:
        sub, sup = rng.uniform(-1, 1, (2, n - 1))
        diag, rhs = rng.uniform(-1, 1, (2, n))
        ab = np.zeros((3, n))
        ab[0, 1:], ab[1], ab[2, :-1] = sup, diag, sub
        times = [[] for _ in NAMES]
        end = time.perf_counter() + SECONDS * len(NAMES)
        while time.perf_counter() < end or len(times[0]) < 5:
            for solve, own in zip(solvers, times):
                arguments = [array.copy() for array in (sub, diag, sup, ab, rhs)]
                begin = time.perf_counter()
                solve(*arguments)
                own.append(time.perf_counter() - begin)
        rows.append([n] + [f"{1e9 * np.median(own[1:]) / n:.2f}" for own in times])
        print(*rows[-1], flush=True)
    with TABLE.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([["n", *NAMES], *rows])


def draw():
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams |= {"svg.hashsalt": "bandsolve", "font.size": 10}
    from matplotlib import pyplot

    with TABLE.open(encoding="utf-8") as file:
        header, *rows = csv.reader(file)
    table = np.array(rows, float)
    for theme, ink, colours in [
        ("light", "#1f2328", ["#0550ae", "#4a90d9", "#9a6700", "#bc4c00", "#82071e"]),
        ("dark", "#e6edf3", ["#79c0ff", "#388bfd", "#e3b341", "#f0883e", "#ff7b72"]),
    ]:
        matplotlib.rcParams |= {name: ink for name in ("text.color", "axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color")}
        figure, axes = pyplot.subplots(figsize=(7.2, 3.6), layout="constrained")
        for name, column, colour in zip(header[1:], table.T[1:], colours):
            axes.plot(table[:, 0], column, color=colour, linewidth=2.4 if "bandsolve" in name else 1.4, label=name)
        axes.set_xscale("log", base=2)
        axes.set_xlabel("number of unknowns n")
        axes.set_ylabel("time per unknown in ns")
        axes.set_ylim(0, min(40, 1.1 * table[:, 1:].max()))
        axes.grid(alpha=0.2)
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(frameon=False, ncols=2)
        figure.savefig(PICTURES / f"speed-{theme}.svg", transparent=True, metadata={"Date": None})
        pyplot.close(figure)


if __name__ == "__main__":
    {"measure": measure, "draw": draw}[sys.argv[1]]()
