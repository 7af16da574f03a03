"""Heat in a room, by implicit steps: every step is one solve with a shift.

    u_t = u_xx + u_yy  becomes  (-div grad + 2 / dt) w = (div grad + 2 / dt) u  (Crank, Nicolson)

One wall is heated, the other one loses heat at a given rate, the room is a ring along the second axis. The solution is known.
"""

import sys

import numpy as np

from bandsolve.poisson import Solver

RATE = -1.0


def exact(x, y, t):
    """A slope, and a wave on it that decays; 1 at x = 0, its derivative RATE at x = 1, period 2 along y."""
    k = np.pi / 2
    wave = np.outer(np.sin(k * x), 1 + np.cos(np.pi * y))
    decays = np.outer(np.sin(k * x), np.exp(-(k**2) * t) + np.exp(-(k**2 + np.pi**2) * t) * np.cos(np.pi * y))
    return (1 + RATE * x)[:, None] + decays, wave


def error(n, steps, end=0.1):
    """The largest error with n cells along the first axis, and the field."""
    h = 1 / n
    x, y = h * (np.arange(n) + 0.5), h * (np.arange(2 * n) + 0.5)
    shift = 2 * steps / end
    walls = (("dirichlet", 1.0), ("neumann", RATE))
    step = Solver((n, 2 * n), h, boundary=(walls, "periodic"), grid="cell", shift=shift)
    u, _ = exact(x, y, 0.0)
    # The right-hand side, kept: (div grad + shift) w = 2 shift w - (-div grad + shift) w, and that is the one before.
    f = 2 * shift * u - operator(u, h, shift)
    for _ in range(steps):
        u = step.solve(f)
        f = 2 * shift * u - f
    return abs(u - exact(x, y, end)[0]).max(), u


def operator(u, h, shift):
    """(-div grad + shift) u without what the walls add."""
    padded = np.pad(u, ((1, 1), (0, 0)))
    # Cells beyond the walls: the mean with that inside is given; the difference is.
    padded[0], padded[-1] = -u[0], u[-1]
    across = 2 * u - padded[:-2] - padded[2:]
    along = 2 * u - np.roll(u, 1, 1) - np.roll(u, -1, 1)
    walls = np.zeros_like(u)
    walls[0], walls[-1] = 2 / h**2, RATE / h
    return (across + along) / h**2 + shift * u - walls


def main(picture=None):
    coarse, fine = error(32, 8)[0], error(64, 16)[0]
    order = np.log2(coarse / fine)
    print(f"implicit heat steps: errors {coarse:.1e} and {fine:.1e}, order {order:.2f}")
    assert abs(order - 2) < 0.1 and fine < 1e-3
    if picture:
        from pictures import subplots

        figure, axes = subplots(1, 3, figsize=(9, 2.2))
        n = 64
        start, _ = exact((np.arange(n) + 0.5) / n, (np.arange(2 * n) + 0.5) / n, 0.0)
        fields = start, error(n, 8, 0.05)[1], error(n, 16, 0.2)[1]
        for axis, u, title in zip(axes, fields, ("t = 0", "t = 0.05", "t = 0.2")):
            image = axis.imshow(u, extent=(0, 2, 1, 0), cmap="inferno", vmin=0, vmax=2.5)
            axis.set(title=title, xlabel="y", ylabel="x")
        figure.colorbar(image, ax=axes, shrink=0.6)
        figure.savefig(picture)


if __name__ == "__main__":
    main(*sys.argv[1:])
