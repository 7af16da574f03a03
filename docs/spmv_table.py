#!/usr/bin/env python3
"""Products of sparse matrices and vectors from Python, beside SciPy's, which has one thread.

usage: spmv_table.py [--n 1000000]

The matrices are of the kinds of `bandsolve bench spmv`. Milliseconds, the median of 9, products taking turns. Prints Markdown. Needs bandsolve and
SciPy. RAYON_NUM_THREADS sets our threads.
"""

import argparse
import time

import numpy as np
import scipy.sparse as sp

from bandsolve.sparse import PreparedProduct

REPEATS = 9


def nine_point(n):
    """Nine points on a square grid."""
    side = int(n**0.5)
    line = sp.diags_array([np.ones(side - 1), 2 * np.ones(side), np.ones(side - 1)], offsets=[-1, 0, 1])
    return sp.csr_array(16 * sp.eye_array(side * side) - sp.kron(line, line))


def by_rows(lengths, columns, rng):
    pointers = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    n = len(lengths)
    return sp.csr_array((rng.uniform(-1, 1, len(columns)), columns.astype(np.int32), pointers), shape=(n, n))


def power_law(n):
    """Rows of 1 to 5000 entries, columns at random."""
    rng = np.random.default_rng(n)
    lengths = np.clip(1 / rng.uniform(size=n), 1, 5000).astype(int)
    return by_rows(lengths, rng.integers(0, n, lengths.sum()), rng)


def dense_row(n):
    """The diagonal, and one row with an entry in every column."""
    lengths = np.ones(n, int)
    lengths[n // 2] = n
    columns = np.concatenate([np.arange(n // 2), np.arange(n), np.arange(n // 2 + 1, n)])
    return by_rows(lengths, columns, np.random.default_rng(n))


def milliseconds(products, x):
    """The median of each; they take turns."""
    times = [[] for _ in products]
    for _ in range(REPEATS + 1):
        for product, own in zip(products, times):
            started = time.perf_counter()
            product @ x
            own.append(1e3 * (time.perf_counter() - started))
    return [sorted(own[1:])[REPEATS // 2] for own in times]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n", type=int, default=1_000_000)
    n = parser.parse_args().n
    print("| matrix | `PreparedProduct` | SciPy |")
    print("| --- | --- | --- |")
    for make in (nine_point, power_law, dense_row):
        a = make(n)
        x = np.random.default_rng(1).uniform(-1, 1, a.shape[1])
        prepared = PreparedProduct(a)
        bound = 1e-12 * (abs(a) @ abs(x)).max()
        assert abs(prepared @ x - a @ x).max() <= bound
        ours, theirs = milliseconds([prepared, a], x)
        print(f"| {make.__name__}, {a.nnz} entries | {ours:.2f} | {theirs:.2f} |", flush=True)


if __name__ == "__main__":
    main()
