#!/usr/bin/env python3
"""Defects that were found from outside, as a user would meet them.

Every function below reproduces one: it fails while the defect is there. Each runs in a process of its own, since some of them
end a process that has the defect. Usage, with the Python package installed:

    python tests/regressions.py [NAME ...]      # all, or those whose names hold one of these words

BANDSOLVE_TARGET names the folder of the compiled program and libraries (default: target/debug beside this folder).
"""

import os
import subprocess
import sys
import time
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
TARGET = Path(os.environ.get("BANDSOLVE_TARGET", REPOSITORY / "target" / "debug"))
SECONDS = 120

DEFECTS = []


def defect(function):
    """Adds `function` to the list; its docstring says what used to go wrong."""
    DEFECTS.append(function)
    return function


# -- Wrong or silent --------------------------------------------------------------------------------------------------


@defect
def numbers_that_the_caller_flushes_to_zero():
    """Where -ffast-math had been at work, a right-hand side of 1e-310 gave x = 0, with a backward error of 0."""
    import ctypes
    import platform

    import bandsolve
    import numpy as np

    if platform.machine() != "x86_64" or platform.libc_ver()[0] != "glibc":
        return
    libm = ctypes.CDLL("libm.so.6")
    off, diag, rhs = np.ones(1000), np.full(1000, 4.0), np.full(1000, 1e-310)
    expected = bandsolve.solve_tridiagonal(off, diag, off, rhs)
    # glibc's fenv_t; the last word is MXCSR.
    usual = (ctypes.c_uint32 * 8)()
    libm.fegetenv(usual)
    for bits in (0x8040, 0x2000, 0x4000, 0x6000):
        other = (ctypes.c_uint32 * 8)(*usual)
        other[7] |= bits
        libm.fesetenv(other)
        x = bandsolve.solve_tridiagonal(off, diag, off, rhs)
        libm.fegetenv(other)
        libm.fesetenv(usual)
        assert (x == expected).all() and x.any(), hex(bits)
        assert other[7] & bits == bits


@defect
def one_thread_is_one_thread():
    """With threads=1 a pool was started nevertheless, and answers were measured there."""
    import bandsolve
    import numpy as np

    def threads():
        return len(os.listdir("/proc/self/task"))

    if not os.path.isdir("/proc/self/task"):
        return
    n = 200_000
    before = threads()
    off, diag, rhs = np.ones(n), np.full(n, 4.0), np.random.default_rng(1).standard_normal((n, 2))
    for method in ("auto", "pivoted", "thomas", "cr"):
        bandsolve.solve_tridiagonal(off, diag, off, rhs, method=method, threads=1)
    assert threads() == before, f"{before} threads, then {threads()}"

# -- Crashes ----------------------------------------------------------------------------------------------------------


@defect
def threads_that_cannot_be_started():
    """Under a limit of memory every solve panicked, and LAPACK's symbols returned INFO = -1000, even for two unknowns."""
    import ctypes
    import resource

    os.environ["RAYON_NUM_THREADS"] = "4000"
    import bandsolve
    import numpy as np

    lapack = ctypes.CDLL(str(TARGET / "liblapack_bandsolve.so"))
    resource.setrlimit(resource.RLIMIT_AS, (4_000_000 * 1024, resource.RLIM_INFINITY))
    n = 400_000
    x = bandsolve.solve_tridiagonal(np.ones(n), np.full(n, 4.0), np.ones(n), np.full(n, 6.0))
    assert abs(x[n // 2] - 1) < 1e-12
    two, one, info = ctypes.c_int(2), ctypes.c_int(1), ctypes.c_int(77)
    arrays = [(ctypes.c_double * 2)(*values) for values in ((1, 0), (4, 4), (1, 0), (5, 5))]
    lapack.dgtsv_(ctypes.byref(two), ctypes.byref(one), *arrays, ctypes.byref(two), ctypes.byref(info))
    assert info.value == 0 and list(arrays[3]) == [1, 1], info.value

# -- Files ------------------------------------------------------------------------------------------------------------

# -- Advice -----------------------------------------------------------------------------------------------------------


def run_alone(name):
    """Runs one function in a fresh interpreter; returns what it printed if it failed."""
    command = [sys.executable, __file__, "--alone", name]
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        return f"still running after {SECONDS} s"
    return None if done.returncode == 0 else f"{done.stdout.strip()}\n(exit status {done.returncode})"


def main(words):
    failed = 0
    chosen = [f for f in DEFECTS if not words or any(word in f.__name__ for word in words)]
    for function in chosen:
        start = time.monotonic()
        trouble = run_alone(function.__name__)
        print(f"{'FAILED' if trouble else 'ok    '} {function.__name__} ({time.monotonic() - start:.1f} s)", flush=True)
        if trouble:
            failed += 1
            print("    " + trouble.replace("\n", "\n    "), flush=True)
    print(f"{len(chosen) - failed} passed, {failed} failed")
    return 1 if failed or not chosen else 0


if __name__ == "__main__":
    if sys.argv[1:2] == ["--alone"]:
        next(f for f in DEFECTS if f.__name__ == sys.argv[2])()
    else:
        sys.exit(main(sys.argv[1:]))
