"""Heat in a square plate, by alternating directions: half a step implicit along rows, half a step along columns.

    u_t = u_xx + u_yy,  u = 0 at the edges,  u = sin(pi x) sin(pi y) at first.

Every half step is a batch of tridiagonal systems with one matrix. The solution is known: it decays by exp(-2 pi**2 t).
"""

import sys

import numpy as np

import bandsolve


def solve(n=255, steps=100, end=0.05):
    """The field at a time, and what it should be; n points inside along each side."""
    x = np.arange(1, n + 1) / (n + 1)
    start = np.outer(np.sin(np.pi * x), np.sin(np.pi * x))
    r = end / steps / 2 * (n + 1) ** 2
    off, diag = np.full(n - 1, -r), np.full(n, 1 + 2 * r)
    u = start.copy()
    for _ in range(steps):
        for axis in (0, 1):
            u = bandsolve.solve_batch(off, diag, off, u + r * second_difference(u, 1 - axis), axis=axis)
    return u, start * np.exp(-2 * np.pi**2 * end)


def second_difference(u, axis):
    padded = np.pad(u, [(1, 1) if k == axis else (0, 0) for k in range(2)])
    before, after = (np.take(padded, range(first, first + u.shape[axis]), axis) for first in (0, 2))
    return before - 2 * u + after


def main(picture=None):
    u, exact = solve()
    error = abs(u - exact).max() / abs(exact).max()
    print(f"ADI, 255 x 255 points, 100 steps: largest error {error:.1e}")
    assert error < 1e-4
    if picture:
        from pictures import subplots

        figure, axes = subplots(1, 2, figsize=(8, 3.4))
        for axis, field, title in zip(axes, (u, u - exact), ("temperature", "error")):
            figure.colorbar(axis.imshow(field, extent=(0, 1, 0, 1), cmap="viridis"), ax=axis)
            axis.set(title=title, xlabel="x", ylabel="y")
        figure.savefig(picture)


if __name__ == "__main__":
    main(*sys.argv[1:])
