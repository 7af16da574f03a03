"""Times beside SciPy: ``python -m bandsolve.bench``."""

import argparse
import time

import numpy as np

import bandsolve

# A program, not a part of the library.
__all__ = ()


def times(contestants, seconds):
    """Median and least times of functions that take turns."""
    found = [[] for _ in contestants]
    for contestant in contestants:
        contestant()
    end = time.perf_counter() + seconds * len(contestants)
    while time.perf_counter() < end or len(found[0]) < 3:
        for contestant, own in zip(contestants, found):
            begin = time.perf_counter()
            contestant()
            own.append(time.perf_counter() - begin)
    return [(float(np.median(own)), min(own)) for own in found]


def line(name, ours, theirs, of_theirs):
    medians, least = theirs[0] / ours[0], theirs[1] / ours[1]
    print(f"{name:44} {ours[0] * 1e6:12.1f} {theirs[0] * 1e6:12.1f}  {of_theirs:28} {medians:6.1f} {least:6.1f}")


def main():
    parser = argparse.ArgumentParser(
        prog="python -m bandsolve.bench",
        description="Medians in microseconds beside SciPy's; how many times faster, by medians and by least times.",
    )
    parser.add_argument("--threads", type=int, help="threads of bandsolve [all]")
    parser.add_argument("--seconds", type=float, default=1.0, help="how long each is measured [1]")
    args = parser.parse_args()
    from scipy.linalg import solve_banded
    from scipy.linalg.lapack import dgbtrf, dgbtrs, dgttrf, dgttrs

    bandsolve.set_num_threads(args.threads)
    rng = np.random.default_rng(1)
    print(f"{'':44} {'bandsolve':>12} {'SciPy':>12}  {'':28} {'ratio':>6} {'least':>6}")
    for n in (10, 100, 1000, 10_000, 100_000, 1_000_000):
        sub, diag, sup, rhs = rng.random((4, n))
        ab = np.array([np.roll(sup, 1), diag, np.roll(sub, -1)])
        calls = [lambda: bandsolve.solve_tridiagonal(sub[1:], diag, sup[:-1], rhs), lambda: bandsolve.solve_banded((1, 1), ab, rhs),
                 lambda: solve_banded((1, 1), ab, rhs)]
        own, drop_in, theirs = times(calls, args.seconds)
        line(f"solve_tridiagonal, n = {n}", own, theirs, "solve_banded((1, 1), ...)")
        line(f"solve_banded((1, 1), ...), n = {n}", drop_in, theirs, "the same")
    for width in (2, 8):
        n = 100_000
        ab = rng.random((2 * width + 1, n))
        rhs = rng.random(n)
        calls = [lambda: bandsolve.solve_banded((width, width), ab, rhs), lambda: solve_banded((width, width), ab, rhs)]
        line(f"solve_banded(({width}, {width}), ...), n = {n}", *times(calls, args.seconds), "the same")
    for n in (100, 1000, 10_000, 1_000_000):
        sub, diag, sup, rhs = rng.random((4, n))
        lu = bandsolve.factor_tridiagonal(sub[1:], diag, sup[:-1])
        *factors, _ = dgttrf(sub[1:], diag, sup[:-1])
        calls = [lambda: lu.solve(rhs), lambda: dgttrs(*factors, rhs)]
        line(f"factor_tridiagonal(...).solve, n = {n}", *times(calls, args.seconds), "lapack.dgttrs")
    for width, n in ((2, 10_000), (4, 100_000)):
        ab = rng.random((2 * width + 1, n))
        rhs = rng.random(n)
        lu = bandsolve.factor_banded((width, width), ab)
        band, exchanges, _ = dgbtrf(np.concatenate([np.zeros((width, n)), ab]), width, width)
        calls = [lambda: lu.solve(rhs), lambda: dgbtrs(band, width, width, rhs, exchanges)]
        line(f"factor_banded(({width}, {width}), ...).solve, n = {n}", *times(calls, args.seconds), "lapack.dgbtrs")
    count, n = 4096, 256
    sub, diag, sup, rhs = rng.random((4, count, n))
    diag = diag + 2
    bands = np.stack([np.roll(sup, 1, axis=1), diag, np.roll(sub, -1, axis=1)], axis=1)

    def loop():
        for ab, b in zip(bands, rhs):
            solve_banded((1, 1), ab, b)

    calls = [lambda: bandsolve.solve_batch(sub, diag, sup, rhs, padded=True), loop]
    line(f"solve_batch, {count} systems of {n} rows", *times(calls, args.seconds), "a loop of solve_banded")


if __name__ == "__main__":
    main()
