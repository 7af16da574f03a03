"""Times of `bandsolve.eigen.eigh_tridiagonal` beside SciPy's drivers, as tables for docs/notebook/measurements.md.

usage: python docs/eigh_table.py [LARGEST N]
"""

import sys
import time

import numpy as np
import scipy.linalg

from bandsolve.eigen import eigh_tridiagonal

#: Beyond, SciPy takes minutes.
SCIPY_ALL, SCIPY_VECTORS, SCIPY_STEBZ = 30_000, 10_000, 4_000


def matrices(n):
    rng = np.random.default_rng(n)
    yield "random", rng.standard_normal(n), rng.standard_normal(n - 1)
    yield "2, −1", np.full(n, 2.0), np.full(n - 1, -1.0)


def race(runs, calls):
    """Medians of alternating runs, and what the last of each returned."""
    times, results = {name: [] for name in calls}, {}
    for _ in range(runs):
        for name, call in calls.items():
            begin = time.perf_counter()
            results[name] = call()
            times[name].append(time.perf_counter() - begin)
    return {name: float(np.median(of)) for name, of in times.items()}, results


def row(title, times, note):
    others = {name: seconds for name, seconds in times.items() if name != "ours"}
    cells = ", ".join(f"{name} {seconds:.3f}" for name, seconds in others.items())
    print(f"| {title} | {times['ours']:.4f} | {cells} | {min(others.values()) / times['ours']:.1f} | {note} |", flush=True)


def values(n, name, d, e):
    def theirs(driver):
        return lambda: scipy.linalg.eigh_tridiagonal(d, e, eigvals_only=True, lapack_driver=driver)

    drivers = ["sterf", "stemr"] + (["stebz"] if n <= SCIPY_STEBZ else [])
    calls = {"ours": lambda: eigh_tridiagonal(d, e, eigvals_only=True)} | {driver: theirs(driver) for driver in drivers}
    times, found = race(3 if n <= 4000 else 1, calls)
    norm = abs(found["sterf"]).max()
    error = abs(found["ours"] - found["sterf"]).max() / norm / np.finfo(float).eps
    row(f"all values, {name}, n = {n}", times, f"differ by {error:.1f} ε‖T‖")


def vectors(n, name, d, e):
    calls = {
        "ours": lambda: eigh_tridiagonal(d, e),
        "stemr": lambda: scipy.linalg.eigh_tridiagonal(d, e, lapack_driver="stemr"),
    }
    if n <= SCIPY_STEBZ:
        calls["stevd"] = lambda: scipy.linalg.eigh_tridiagonal(d, e, lapack_driver="stevd")
    times, found = race(3 if n <= 4000 else 1, calls)
    overlaps = []
    for solver in ("ours", "stemr"):
        v = found[solver][1]
        overlaps.append(abs(v.T @ v - np.eye(n)).max() if n <= 4000 else float("nan"))
    row(f"with vectors, {name}, n = {n}", times, "|VᵀV − I|: ours {:.1e}, stemr {:.1e}".format(*overlaps))


def middle(n):
    d, e = np.full(n, 2.0), np.full(n - 1, -1.0)
    part = {"select": "i", "select_range": (n // 2, n // 2 + 99)}
    calls = {
        "ours": lambda: eigh_tridiagonal(d, e, eigvals_only=True, **part),
        "stebz": lambda: scipy.linalg.eigh_tridiagonal(d, e, eigvals_only=True, lapack_driver="stebz", **part),
    }
    times, found = race(1, calls)
    row(f"100 in the middle, n = {n}", times, f"differ by {abs(found['ours'] - found['stebz']).max():.1e}")


def main():
    largest = int(sys.argv[1]) if len(sys.argv) > 1 else SCIPY_ALL
    print("| what | ours, s | SciPy, s | ratio to the best | |\n| --- | --- | --- | --- | --- |")
    for n in (1000, 4000, 10_000, 30_000):
        for name, d, e in matrices(n):
            if n <= min(largest, SCIPY_ALL):
                values(n, name, d, e)
            if n <= min(largest, SCIPY_VECTORS):
                vectors(n, name, d, e)
    middle(min(100 * largest, 1_000_000))


main()
