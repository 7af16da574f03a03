#!/usr/bin/env python3
"""The table of poisson-problems.md: our methods beside MKL's fast solver and SciPy's sine transforms.

usage: poisson_table.py [--shapes 127x127,63x63x63,...] [--methods fft,bcr4] [--threads 1,2] [--seconds 1]

Dirichlet sides, spacing 1, f of pseudo-random numbers. Prints Markdown: nanoseconds for a point (backward error) of a solve without set-up,
the median, solvers taking turns. Needs bandsolve and SciPy. MKL is opened as libmkl_rt.so (.2, .3); its
columns are left out where it is not installed. MKL's f is loaded again before each solve, outside of its time, since it overwrites f.
"""

import argparse
import ctypes
import sys
import time

import numpy as np
from scipy import fft

from bandsolve import poisson

SHAPES = "127x127,255x255,511x511,1000x1000,1009x1009,1023x1023,2047x2047,4095x4095,63x63x63,127x127x127,255x255x255"


def backward_error(f, u):
    """max |f − Au| / (Σ|a| ‖u‖ + |f|)"""
    r, largest = f - 2 * f.ndim * u, np.abs(u).max()
    for axis in range(f.ndim):
        own, far = np.moveaxis(r, axis, 0), np.moveaxis(u, axis, 0)
        own[1:] += far[:-1]
        own[:-1] += far[1:]
    return (np.abs(r) / (4 * f.ndim * largest + np.abs(f))).max()


def ours(method, threads):
    def make(f):
        solver = poisson.Solver(f.shape, method=method, threads=threads)
        return lambda: solver.solve(f)

    return make


def scipy_sines(workers):
    """DST-I along all axes, divided by the eigenvalues, and back."""

    def make(f):
        eigenvalues = 0.0
        for axis, n in enumerate(f.shape):
            half = np.sin(np.pi * np.arange(1, n + 1) / (2 * (n + 1)))
            eigenvalues = eigenvalues + (4 * half * half).reshape([-1 if k == axis else 1 for k in range(f.ndim)])

        def solve():
            return fft.idstn(fft.dstn(f, 1, workers=workers) / eigenvalues, 1, workers=workers)

        return solve

    return make


class Mkl:
    """`d_helmholtz_2d` and `_3d`: arrays with the boundary, the last axis of ours first."""

    NAMES = ["libmkl_rt.so", "libmkl_rt.so.3", "libmkl_rt.so.2"]

    def __init__(self, threads):
        self.library, self.threads = self.opened(), threads

    @classmethod
    def opened(cls):
        for name in cls.NAMES:
            try:
                return ctypes.CDLL(name)
            except OSError as error:
                missing = error
        raise missing

    def __call__(self, f):
        count, intervals = f.ndim, [n + 1 for n in reversed(f.shape)]
        padded = np.zeros([n + 2 for n in f.shape])
        inside = (slice(1, -1),) * count
        side = np.zeros(max(n + 1 for n in intervals) ** (count - 1))
        integers, numbers = (ctypes.c_int * 128)(), (ctypes.c_double * (5 * sum(intervals) // 2 + 32))()
        handles, status = (ctypes.c_void_p * 2)(), ctypes.c_int()
        zero, ends = ctypes.c_double(0), [ctypes.c_double(n) for n in intervals]
        counts = [ctypes.c_int(n) for n in intervals]
        bounds = [ctypes.byref(x) for end in ends for x in (zero, end)]
        self.library.MKL_Set_Num_Threads(self.threads)
        init = getattr(self.library, f"d_init_helmholtz_{count}d")
        init(*bounds, *map(ctypes.byref, counts), b"DDDDDD", ctypes.byref(zero), integers, numbers, ctypes.byref(status))
        integers[1] = integers[2] = 0
        at = ctypes.c_void_p(padded.ctypes.data)
        sides = [ctypes.c_void_p(side.ctypes.data)] * (2 * count)
        own = [ctypes.byref(handles, k * ctypes.sizeof(ctypes.c_void_p)) for k in range(count - 1)]
        arguments = [at, *sides, *own, integers, numbers, ctypes.byref(status)]
        getattr(self.library, f"d_commit_helmholtz_{count}d")(*arguments)
        if status.value != 0:
            raise RuntimeError(f"MKL says {status.value}")
        solve = getattr(self.library, f"d_helmholtz_{count}d")

        def run():
            self.library.MKL_Set_Num_Threads(self.threads)
            solve(*arguments)
            # What was made lives as long as this does.
            return padded[inside], side

        def load():
            padded[...] = 0
            padded[inside] = f

        run.load = load
        return run


def contestants(methods, threads):
    made = {f"{method}, {t}": ours(method, t) for method in methods for t in threads}
    made.update({f"scipy dstn, {t}": scipy_sines(t) for t in threads})
    try:
        made.update({f"mkl, {t}": Mkl(t) for t in threads})
    except OSError as error:
        print(f"without MKL: {error}", file=sys.stderr)
    return made


def measure(f, solvers, seconds):
    """Nanoseconds for a point of every solver, and the backward error; solvers take turns."""
    times, errors = {name: [] for name in solvers}, {}
    started = time.perf_counter()
    while not errors or time.perf_counter() - started < seconds or len(next(iter(times.values()))) < 3:
        for name, solve in solvers.items():
            getattr(solve, "load", lambda: None)()
            begun = time.perf_counter()
            u = solve()
            times[name].append(time.perf_counter() - begun)
            if name not in errors:
                errors[name] = backward_error(f, np.array(u[0] if isinstance(u, tuple) else u))
    return {name: (1e9 * np.median(times[name]) / f.size, errors[name]) for name in solvers}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shapes", default=SHAPES)
    parser.add_argument("--methods", default="auto")
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--seconds", type=float, default=1.0)
    options = parser.parse_args()
    makers = contestants(options.methods.split(","), [int(t) for t in options.threads.split(",")])
    print("| box | " + " | ".join(makers) + " |")
    print("| --- |" + " --- |" * len(makers))
    for shape in options.shapes.split(","):
        f = np.random.default_rng(1).uniform(-1, 1, [int(n) for n in shape.split("x")])
        solvers = {}
        for name, make in makers.items():
            try:
                solvers[name] = make(f)
            except RuntimeError as error:
                print(f"{shape}, {name}: {error}", file=sys.stderr)
        found = measure(f, solvers, options.seconds)
        cells = [f"{found[name][0]:.1f} ({found[name][1]:.0e})" if name in found else "–" for name in makers]
        print(f"| {shape} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
