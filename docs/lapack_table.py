"""Compare the drop-in library with the LAPACK in SciPy's package: time per row of one solve, both called in this process.

For every routine and size, the two libraries take turns on copies of the same random system. The median of the repetitions counts.

usage: lapack_table.py LIBRARY      for example target/release/liblapack_bandsolve.so
"""

import ctypes
import glob
import os
import statistics
import sys
import time

import numpy as np
import scipy

SIZES = [200, 1000, 10_000, 100_000]
WIDTHS = [1, 2, 4, 8, 32, 80]
REPETITIONS = 9


def peers(library):
    """SciPy's LAPACK and the drop-in library, which have the same symbols."""
    folder = os.path.join(os.path.dirname(scipy.__file__), os.pardir, "scipy.libs")
    return [ctypes.CDLL(glob.glob(os.path.join(folder, "libscipy_openblas*"))[0]), ctypes.CDLL(library)]


def integer(value):
    return ctypes.byref(ctypes.c_int(value))


def pointer(array):
    return array.ctypes.data_as(ctypes.c_void_p)


def systems(n, random):
    """Each routine with its arrays, and the function that lists its arguments."""
    size, one, info = integer(n), integer(1), integer(0)
    off, sup = random.uniform(-1, 1, n - 1), random.uniform(-1, 1, n - 1)
    diag, rhs = random.uniform(3, 4, n), random.uniform(-1, 1, n)
    pivots = np.zeros(n, np.int32)
    yield "gtsv", [off, diag, sup, rhs], lambda a: [size, one, *map(pointer, a), size, info]
    yield "ptsv", [diag, off, rhs], lambda a: [size, one, *map(pointer, a), size, info]
    for width in WIDTHS:
        if n <= 2 * width:
            continue
        w, lower = integer(width), ctypes.c_char_p(b"L")
        band = random.uniform(-1, 1, (n, 3 * width + 1))
        leading = integer(3 * width + 1)
        yield f"gbsv, {width}", [band, rhs], lambda a: [size, w, w, one, pointer(a[0]), leading, pointer(pivots), pointer(a[1]), size, info]
        triangle = random.uniform(-1, 1, (n, width + 1))
        triangle[:, 0] += 2 * width + 2
        rows = integer(width + 1)
        yield f"pbsv, {width}", [triangle, rhs], lambda a: [lower, size, w, one, pointer(a[0]), rows, pointer(a[1]), size, info, ctypes.c_size_t(1)]


def seconds(function, arrays, arguments, count):
    """The mean time of `count` calls on fresh copies."""
    total, work = 0.0, [array.copy() for array in arrays]
    for _ in range(count):
        for copy, array in zip(work, arrays):
            copy[...] = array
        call = arguments(work)
        start = time.perf_counter()
        function(*call)
        total += time.perf_counter() - start
    return total / count


def main():
    libraries, random, rows = peers(sys.argv[1]), np.random.default_rng(1), {}
    for n in SIZES:
        for name, arrays, arguments in systems(n, random):
            functions = [getattr(library, f"scipy_d{name.split(',')[0]}_") for library in libraries]
            count = max(5, 20_000_000 // (n * max(1, arrays[0].size // n) ** 2 * 20))
            times = [[seconds(function, arrays, arguments, count) for function in functions] for _ in range(REPETITIONS)]
            theirs, ours = (statistics.median(column) * 1e9 / n for column in zip(*times))
            rows.setdefault(name, []).append(f"{theirs:.1f} / {ours:.1f} ({theirs / ours:.2f})")
    print("| routine, off-diagonals | " + " | ".join(f"n = {n}" for n in SIZES) + " |\n| --- |" + " --- |" * len(SIZES))
    for name, cells in sorted(rows.items(), key=lambda row: (row[0].split(",")[0], list(rows).index(row[0]))):
        print(f"| `d{name.replace(',', '`,')}{'' if ',' in name else '`'} | " + " | ".join(["–"] * (len(SIZES) - len(cells)) + cells) + " |")


if __name__ == "__main__":
    main()
