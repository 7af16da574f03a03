"""Solves in children of a process that has done what the argument says, whose answers are printed as those of the parent."""

import multiprocessing
import sys

import numpy as np

import bandsolve


def solved(kind):
    rng = np.random.default_rng(1)
    if kind == "tridiagonal":
        sub, diag, sup, rhs = rng.random((4, 200_000))
        return bandsolve.solve_tridiagonal(sub, diag + 2, sup, rhs, threads=2, padded=True)[7]
    if kind == "banded":
        ab = rng.random((9, 100_000))
        ab[4] += 10
        return bandsolve.solve_banded((4, 4), ab, np.ones(100_000))[7]
    sub, diag, sup, rhs = rng.random((4, 2000, 64))
    return bandsolve.solve_batch(sub, diag + 2, sup, rhs, threads=2, padded=True)[7, 7]


KINDS = ["tridiagonal", "banded", "batch"]

# What may have started threads, or not.
BEFORE = {
    "nothing": lambda: None,
    "counted": bandsolve.get_num_threads,
    "small": lambda: bandsolve.solve_tridiagonal([1], [4, 4], [1], [5, 5]),
    "all": lambda: [solved(kind) for kind in KINDS],
}

if __name__ == "__main__":
    BEFORE[sys.argv[1]]()
    with multiprocessing.get_context("fork").Pool(2) as pool:
        found = pool.map_async(solved, KINDS * 2).get(120)
    expected = [solved(kind) for kind in KINDS]
    print("as the parent" if found == expected * 2 else f"{found} instead of {expected}")
