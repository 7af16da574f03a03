#!/usr/bin/env python3
"""The table of poisson-problems.md: our methods beside MKL's fast solver, SciPy's sine transforms and FISHPACK, in one run.

usage: poisson_table.py [--sizes all|small|large|127x127,63x63x63,256x256:cell,...] [--methods auto,fft,bcr2,bcr4,pscr] [--threads 1,2]
                        [--seconds 1] [--rounds 3] [--minutes 0]

Dirichlet sides, u = 0, spacing 1; a size that ends with `:cell` has its sides half a spacing beyond the unknowns. The answer is known: u has
few bits, so that f = A·u is exact, and the error is max |u - computed| / max |u|. Beside it stands the backward error. Solvers take
turns. Times are those of a solve without set-up, in nanoseconds for a point: the median, and the least in brackets. Solves of ours
are verified in that time. What overwrites f gets it again outside of its time.

Prints a table in Markdown, one box after the other. It may be stopped at any time (Ctrl-C, or after `--minutes`): what was measured is
there. A box that needs more memory than there is is left out.

Needs bandsolve, NumPy and SciPy. MKL is opened as libmkl_rt.so (.2, .3), and waits without turning (KMP_BLOCKTIME=0) unless told otherwise.
FISHPACK is the package PyFishPack. What is not installed is left out, and the last lines say so.
"""

import argparse
import ctypes
import os
import platform
import sys
import time

os.environ.setdefault("KMP_BLOCKTIME", "0")

import numpy as np
import scipy
from scipy import fft

import bandsolve
from bandsolve import poisson

try:
    from PyFishPack import fishpack
except ImportError as error:
    fishpack, without_fishpack = None, str(error)

SMALL = "127x127,255x255,511x511,1000x1000,1009x1009,1023x1023,63x63x63,101x101x101,127x127x127,256x256:cell,1024x1024:cell"
LARGE = "2017x2017,2047x2047,4095x4095,255x255x255,2048x2048:cell"
# Arrays of the size of a box that are there at once, for each solver: what it is given, what it makes, what it works with.
ARRAYS = 3


class Box:
    """A problem with a known answer: whole numbers over 2**30, of which a smooth part and noise, and so f = A·u without rounding."""

    def __init__(self, name):
        sizes, _, self.grid = name.partition(":")
        self.name, self.shape = name, tuple(int(n) for n in sizes.split("x"))
        self.grid = self.grid or "node"
        if self.grid not in ("node", "cell") or len(self.shape) not in (2, 3) or min(self.shape) < 3:
            raise SystemExit(f"{name}: expected two or three sizes of at least 3, as 127x127 or 256x256:cell")
        u = np.random.default_rng(1).uniform(-0.1, 0.1, self.shape)
        smooth = 1.0
        for axis, n in enumerate(self.shape):
            smooth = smooth * np.sin(np.pi * np.arange(1, n + 1) / (n + 1)).reshape([-1 if k == axis else 1 for k in range(u.ndim)])
        self.u = np.round((u + smooth) * 2.0**30) / 2.0**30
        self.f = self.product(self.u)

    def product(self, u):
        """A·u"""
        f = 2.0 * u.ndim * u
        for axis in range(u.ndim):
            own, far = np.moveaxis(f, axis, 0), np.moveaxis(u, axis, 0)
            own[1:] -= far[:-1]
            own[:-1] -= far[1:]
            if self.grid == "cell":
                own[0] += far[0]
                own[-1] += far[-1]
        return f

    def errors(self, x):
        """max |x − u| / max |u|, and max |f − A·x| / (Σ|a| max |x| + |f|), in which Σ|a| is that of an inner row."""
        forward = np.abs(x - self.u).max() / np.abs(self.u).max()
        residual = np.abs(self.f - self.product(x))
        residual /= 4.0 * x.ndim * np.abs(x).max() + np.abs(self.f)
        return forward, residual.max()


def ours(method, threads):
    def make(box):
        solver = poisson.Solver(box.shape, method=method, grid=box.grid, threads=threads)
        u = np.empty_like(box.f)
        solve = lambda: solver.solve(box.f, out=u)
        solve.taken = solver.method
        return solve

    return make


def scipy_sines(threads):
    """DST along all axes, divided by the eigenvalues, and back."""

    def make(box):
        kind, eigenvalues = 1 if box.grid == "node" else 2, 0.0
        for axis, n in enumerate(box.shape):
            half = np.sin(np.pi * np.arange(1, n + 1) / (2 * (n + 1 if kind == 1 else n)))
            eigenvalues = eigenvalues + (4 * half * half).reshape([-1 if k == axis else 1 for k in range(len(box.shape))])

        def solve():
            coefficients = fft.dstn(box.f, kind, workers=threads)
            coefficients /= eigenvalues
            return fft.idstn(coefficients, kind, workers=threads, overwrite_x=True)

        return solve

    return make


def fishpack_solver(box):
    """genbun and pois3d on nodes, hstcrt on cells; −A and −f, the last axis of ours first."""
    f, lengths = np.asfortranarray(-box.f.T), box.shape[::-1]

    def stencil(n):
        below, above = np.ones(n), np.ones(n)
        below[0] = above[-1] = 0
        return below, np.full(n, -2.0), above

    if box.grid == "cell" and f.ndim == 3:
        raise NotImplementedError("FISHPACK has no staggered solver in three dimensions")
    if box.grid == "cell":
        m, n = lengths
        sides = [np.zeros(n), np.zeros(n), np.zeros(m), np.zeros(m)]
        call = lambda: fishpack.hstcrt(0.0, m, m, 1, sides[0], sides[1], 0.0, n, n, 1, sides[2], sides[3], 0.0, f)
    elif f.ndim == 2:
        m, n = lengths
        call = lambda: fishpack.genbun(1, n, 1, m, *stencil(m), f)
    else:
        k, m, n = lengths
        call = lambda: fishpack.pois3d(1, k, 1.0, 1, m, 1.0, 1, n, *stencil(n), f)

    def solve():
        x, *_, status = call()
        if status != 0:
            raise RuntimeError(f"FISHPACK says {status}")
        return x.T

    return solve


class Mkl:
    """`d_helmholtz_2d` and `_3d`: arrays with the boundary, the last axis of ours first; u takes the place of f."""

    NAMES = ["libmkl_rt.so", "libmkl_rt.so.3", "libmkl_rt.so.2"]

    def __init__(self):
        for name in self.NAMES:
            try:
                self.library = ctypes.CDLL(name)
                return
            except OSError as error:
                missing = error
        raise missing

    def version(self):
        text = ctypes.create_string_buffer(200)
        self.library.MKL_Get_Version_String(text, 200)
        return text.value.decode().strip()

    def maker(self, threads):
        return lambda box: MklBox(self.library, threads, box)


class MklBox:
    def __init__(self, library, threads, box):
        if box.grid == "cell":
            raise NotImplementedError("MKL has no staggered grids")
        self.library, self.threads, self.f = library, threads, box.f
        count, intervals = box.f.ndim, [n + 1 for n in reversed(box.shape)]
        self.padded = np.zeros([n + 2 for n in box.shape])
        self.inside = self.padded[(slice(1, -1),) * count]
        self.side = np.zeros(max(n + 1 for n in intervals) ** (count - 1))
        integers, numbers = (ctypes.c_int * 128)(), (ctypes.c_double * (5 * sum(intervals) // 2 + 32))()
        handles, status = (ctypes.c_void_p * 2)(), ctypes.c_int()
        zero, ends = ctypes.c_double(0), [ctypes.c_double(n) for n in intervals]
        counts = [ctypes.c_int(n) for n in intervals]
        bounds = [ctypes.byref(x) for end in ends for x in (zero, end)]
        library.MKL_Set_Num_Threads(threads)
        kinds = (bounds, counts, zero, ends)
        init = getattr(library, f"d_init_helmholtz_{count}d")
        init(*bounds, *map(ctypes.byref, counts), b"DDDDDD", ctypes.byref(zero), integers, numbers, ctypes.byref(status))
        integers[1] = integers[2] = 0
        sides = [ctypes.c_void_p(self.side.ctypes.data)] * (2 * count)
        own = [ctypes.byref(handles, k * ctypes.sizeof(ctypes.c_void_p)) for k in range(count - 1)]
        self.arguments = [ctypes.c_void_p(self.padded.ctypes.data), *sides, *own, integers, numbers, ctypes.byref(status)]
        self.status, self.kept = status, (kinds, handles)
        getattr(library, f"d_commit_helmholtz_{count}d")(*self.arguments)
        self.freed = lambda: getattr(library, f"free_helmholtz_{count}d")(*own, integers, ctypes.byref(status))
        self.step = getattr(library, f"d_helmholtz_{count}d")
        self.check()

    def check(self):
        if self.status.value != 0:
            raise RuntimeError(f"MKL says {self.status.value}")

    def load(self):
        self.library.MKL_Set_Num_Threads(self.threads)
        self.padded[...] = 0
        self.inside[...] = self.f

    def __call__(self):
        self.step(*self.arguments)
        self.check()
        return self.inside

    def free(self):
        self.freed()


def contestants(methods, threads):
    """Makers of solvers by name and threads, and what was left out."""
    made, without = {}, []
    for t in threads:
        made.update({(method, t): ours(method, t) for method in methods})
    made.update({("scipy dstn", t): scipy_sines(t) for t in threads})
    if fishpack:
        made["fishpack", 1] = fishpack_solver
    else:
        without.append(f"Without FISHPACK: {without_fishpack}.")
    try:
        mkl = Mkl()
        made.update({("mkl", t): mkl.maker(t) for t in threads})
        peers = mkl.version()
    except OSError as error:
        without.append(f"Without MKL: {error}.")
        peers = "no MKL"
    return made, without, peers


def prepared(box, makers):
    """The solvers that can, and why others cannot."""
    solvers, without = {}, []
    for (name, threads), make in makers.items():
        try:
            solvers[name, threads] = make(box)
        except (NotImplementedError, RuntimeError, ValueError, MemoryError) as error:
            line = f"{box.name}, {name}: {error}."
            without += [] if line in without else [line]
    return solvers, without


def measure(box, solvers, options):
    """Times of every solver in seconds, and its errors; solvers take turns."""
    times, errors = {name: [] for name in solvers}, {}
    for name, solve in solvers.items():
        getattr(solve, "load", lambda: None)()
        errors[name] = box.errors(solve())
    started = time.perf_counter()
    while True:
        for name, solve in solvers.items():
            getattr(solve, "load", lambda: None)()
            begun = time.perf_counter()
            u = solve()
            times[name].append(time.perf_counter() - begun)
            # Its memory is free for the next one.
            del u
        rounds = len(next(iter(times.values())))
        if rounds >= options.rounds and time.perf_counter() - started > options.seconds * len(solvers):
            return times, errors


def rows(box, solvers, times, errors, threads):
    """Lines of the table: one for each solver, with all numbers of threads."""
    points, lines = box.f.size, []
    for name in dict.fromkeys(name for name, _ in solvers):
        own = [t for t in threads if (name, t) in solvers]
        taken = getattr(solvers[name, own[0]], "taken", name)
        cells = [box.name, name if taken == name else f"{name} ({taken})"]
        for t in threads:
            if (name, t) not in times:
                cells += ["–", "–"]
                continue
            median, least = np.median(times[name, t]), min(times[name, t])
            cells.append(f"{1e9 * median / points:.1f} ({1e9 * least / points:.1f})")
            mkl = times.get(("mkl", t))
            cells.append(f"{median / np.median(mkl):.2f}" if mkl else "–")
        forward, backward = (max(errors[name, t][k] for t in own) for k in range(2))
        lines.append("| " + " | ".join([*cells, f"{forward:.1e}", f"{backward:.1e}"]) + " |")
    return lines


def processor():
    try:
        with open("/proc/cpuinfo") as lines:
            return next(line.split(":")[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def free_bytes():
    try:
        with open("/proc/meminfo") as lines:
            return 1024 * next(int(line.split()[1]) for line in lines if line.startswith("MemAvailable"))
    except (OSError, StopIteration):
        return float("inf")


def table(options):
    threads = [int(t) for t in options.threads.split(",")]
    makers, without, mkl = contestants(options.methods.split(","), threads)
    print(f"{processor()}, {os.cpu_count()} cores; bandsolve {bandsolve.__version__}, SciPy {scipy.__version__}, {mkl}; {time.strftime('%d %B %Y')}.\n")
    heads = [head for t in threads for head in (f"{t} thread{'s' * (t > 1)}, ns", "of MKL's")]
    heads = ["box", "solver", *heads, "error", "backward error"]
    print("| " + " | ".join(heads) + " |\n|" + " --- |" * len(heads), flush=True)
    started, stopped = time.perf_counter(), None
    names = {"all": f"{SMALL},{LARGE}", "small": SMALL, "large": LARGE}.get(options.sizes, options.sizes).split(",")
    try:
        for name in names:
            if options.minutes and time.perf_counter() - started > 60 * options.minutes:
                stopped = f"Stopped before {name}, after {options.minutes:g} minutes."
                break
            needed = 8 * np.prod([float(n) for n in name.partition(":")[0].split("x")]) * (ARRAYS * len(makers) + 4)
            if needed > free_bytes():
                without.append(f"Without {name}: {needed / 1e9:.0f} GB are not free.")
                continue
            box = Box(name)
            solvers, not_there = prepared(box, makers)
            without += not_there
            found = measure(box, solvers, options)
            print("\n".join(rows(box, solvers, *found, threads)), flush=True)
            for solve in solvers.values():
                getattr(solve, "free", lambda: None)()
            del solvers
    except KeyboardInterrupt:
        stopped = "Stopped by the user: the last box is left out."
    print("".join(f"\n{line}" for line in [*without, *([stopped] if stopped else [])]), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", default="all")
    parser.add_argument("--methods", default="auto,fft,bcr2,bcr4,pscr")
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--seconds", type=float, default=1.0, help="for each solver and box")
    parser.add_argument("--rounds", type=int, default=3, help="at least so many")
    parser.add_argument("--minutes", type=float, default=0.0, help="no box is begun after so many; 0: all are")
    table(parser.parse_args())


if __name__ == "__main__":
    sys.exit(main())
