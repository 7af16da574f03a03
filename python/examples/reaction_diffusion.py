"""Two substances that react and diffuse along a line (the Brusselator), by implicit steps.

    u_t = D_u u_xx + A - (B + 1) u + u**2 v,    v_t = D_v v_xx + B u - u**2 v

Newton's method for a step is a block tridiagonal system with blocks of two rows. Where u = A, v = B / A is unstable, a small
wave grows at a rate that is known; in the end there is a pattern.
"""

import sys

import numpy as np

import bandsolve

A, B, D_U, D_V = 1.0, 1.9, 0.01, 0.1


def jacobian(u, v, h, dt):
    """Blocks below, on and above the diagonal of the derivative of a step; no flux at the ends."""
    n = len(u)
    d = dt / h**2 * np.diag([D_U, D_V])
    off = np.broadcast_to(-d, (n - 1, 2, 2))
    reaction = np.array([[-(B + 1) + 2 * u * v, u**2], [B - 2 * u * v, -(u**2)]]).transpose(2, 0, 1)
    neighbours = np.full(n, 2.0)
    neighbours[[0, -1]] = 1
    return off, np.eye(2) + neighbours[:, None, None] * d - dt * reaction, off


def residual(w, before, h, dt):
    """What a step of the implicit method lacks."""
    u, v = w.T
    padded = np.pad(w, [(1, 1), (0, 0)], mode="edge")
    diffusion = (padded[:-2] - 2 * w + padded[2:]) / h**2 * [D_U, D_V]
    reaction = np.array([A - (B + 1) * u + u**2 * v, B * u - u**2 * v]).T
    return before - w + dt * (diffusion + reaction)


def step(w, h, dt):
    before = w.copy()
    for _ in range(20):
        rest = residual(w, before, h, dt)
        if abs(rest).max() < 1e-12:
            break
        w = w + bandsolve.solve_block_tridiagonal(*jacobian(*w.T, h, dt), rest)
    return w


def main(picture=None):
    n, length, dt = 400, 10.0, 0.02
    h = length / n
    x = (np.arange(n) + 0.5) * h
    k = 14 * np.pi / length
    rates, modes = np.linalg.eig([[B - 1 - D_U * k**2, A**2], [-B, -(A**2) - D_V * k**2]])
    fastest = rates.real.argmax()
    rate, mode = rates[fastest].real, modes[:, fastest].real
    w = np.array([A, B / A]) + 1e-6 * np.outer(np.cos(k * x), mode)
    size = []
    for _ in range(100):
        w = step(w, h, dt)
        size.append(abs(w[:, 0] - A).max())
    # An implicit step grows by 1 / (1 - dt rate).
    found = (1 - (size[-1] / size[0]) ** (-1 / (len(size) - 1))) / dt
    print(f"reaction and diffusion: a wave grows at the rate {found:.4f}, by theory {rate:.4f}")
    assert abs(found - rate) < 0.01 * abs(rate)
    if picture:
        from pictures import subplots

        for _ in range(1500):
            w = step(w, h, 5 * dt)
        figure, axis = subplots(figsize=(6, 3.6))
        axis.plot(x, w[:, 0], color="tab:blue", label="u")
        axis.plot(x, w[:, 1], color="tab:orange", label="v")
        axis.set(xlabel="x")
        axis.legend()
        figure.savefig(picture)


if __name__ == "__main__":
    main(*sys.argv[1:])
