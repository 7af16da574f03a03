"""Derivatives of sixth order from three neighbours: compact finite differences on a periodic grid (Lele 1992).

    f'[i-1] / 3 + f'[i] + f'[i+1] / 3 = 14/9 (f[i+1] - f[i-1]) / (2 h) + 1/9 (f[i+2] - f[i-2]) / (4 h)

One periodic tridiagonal system for all derivatives; its factors serve every field on the grid.
"""

import sys

import numpy as np

import bandsolve


def derivative(f, h):
    """f' of values along the first axis."""
    n = len(f)
    third = np.full(n, 1 / 3)
    rhs = 14 / 9 * (np.roll(f, -1, 0) - np.roll(f, 1, 0)) / (2 * h) + 1 / 9 * (np.roll(f, -2, 0) - np.roll(f, 2, 0)) / (4 * h)
    return bandsolve.solve_tridiagonal(third, np.ones(n), third, rhs, periodic=True)


def errors(sizes):
    """The largest error of the derivative of exp(sin x) for each size of the grid."""
    found = []
    for n in sizes:
        x = 2 * np.pi * np.arange(n) / n
        f = np.exp(np.sin(x))
        found.append(abs(derivative(f, 2 * np.pi / n) - np.cos(x) * f).max())
    return np.array(found)


def main(picture=None):
    sizes = 2 ** np.arange(4, 9)
    found = errors(sizes)
    order = np.log2(found[-2] / found[-1])
    print(f"compact differences: errors from {found[0]:.1e} to {found[-1]:.1e}, order {order:.2f}")
    assert abs(order - 6) < 0.1
    if picture:
        from pictures import subplots

        figure, axis = subplots(figsize=(6, 3.6))
        axis.loglog(sizes, found, "o-", color="tab:blue", label="compact differences")
        axis.loglog(sizes, found[0] * (sizes[0] / sizes.astype(float)) ** 6, "--", color="gray", label="sixth order")
        axis.minorticks_off()
        axis.set_xticks(sizes, sizes)
        axis.set(xlabel="points", ylabel="largest error")
        axis.legend()
        figure.savefig(picture)


if __name__ == "__main__":
    main(*sys.argv[1:])
