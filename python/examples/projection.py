"""A flow in a closed box is made free of divergence: the projection step of methods for incompressible flows.

    -div grad p = -div v,  dp/dn = 0 at the walls,  v <- v - grad p

Pressures stand in cells, velocities on their faces (staggered). The problem is singular: p is known up to a constant.
"""

import sys

import numpy as np

from bandsolve.poisson import Solver


def divergence(u, v, h):
    """Of velocities on the faces across the first axis, and on those across the second."""
    return np.diff(u, axis=0) / h + np.diff(v, axis=1) / h


def stirred(nx, ny, h):
    """Two vortices, and what makes them diverge; nothing flows through the walls."""
    x, y = h * np.arange(nx + 1), h * np.arange(ny + 1)
    xc, yc = (x[1:] + x[:-1]) / 2, (y[1:] + y[:-1]) / 2
    lx, ly = x[-1], y[-1]
    # From a stream function, so free of divergence.
    stream = np.outer(np.sin(2 * np.pi * x / lx), np.sin(np.pi * y / ly))
    u, v = np.diff(stream, axis=1) / h, -np.diff(stream, axis=0) / h
    true = u.copy(), v.copy()
    # A gradient on top: a hot spot that expands.
    spot = np.exp(-((xc[:, None] - 0.35 * lx) ** 2 + (yc - 0.6 * ly) ** 2) / (0.15 * ly) ** 2)
    u[1:-1] += np.diff(spot, axis=0) / h
    v[:, 1:-1] += np.diff(spot, axis=1) / h
    return (u, v), true, spot


def project(u, v, h):
    """Velocities without divergence, and the pressure."""
    nx, ny = u.shape[0] - 1, v.shape[1] - 1
    pressure = Solver((nx, ny), h, boundary="neumann", grid="cell")
    p = pressure.solve(-divergence(u, v, h))
    u, v = u.copy(), v.copy()
    u[1:-1] -= np.diff(p, axis=0) / h
    v[:, 1:-1] -= np.diff(p, axis=1) / h
    return u, v, p


def main(picture=None):
    nx, ny, h = 384, 256, 1 / 256
    before, true, spot = stirred(nx, ny, h)
    u, v, p = project(*before, h)
    first, rest = abs(divergence(*before, h)).max(), abs(divergence(u, v, h)).max()
    # What rounding makes of second differences of p; the solver promises 8 times as much.
    rounding = np.finfo(float).eps * 8 * abs(p).max() / h**2
    error = max(abs(u - true[0]).max(), abs(v - true[1]).max()) / abs(true[0]).max()
    print(f"projection, {nx} x {ny} cells: divergence {first:.1f} before, {rest:.1e} after; the flow is found within {error:.1e}")
    assert rest < 10 * rounding and error < 1e-11
    assert abs(p - (spot - spot.mean())).max() < 1e-11
    if picture:
        from pictures import subplots

        figure, axes = subplots(1, 2, figsize=(9, 3.2))
        extent = (0, nx * h, 0, ny * h)
        for axis, (u, v), title in zip(axes, (before, (u, v)), ("before: divergence", "after: no divergence, and the flow")):
            shown = divergence(u, v, h)
            largest = abs(divergence(*before, h)).max()
            image = axis.imshow(shown.T, origin="lower", extent=extent, cmap="RdBu", vmin=-largest, vmax=largest)
            cells = slice(12, None, 24)
            uc, vc = (u[1:] + u[:-1])[cells, cells] / 2, (v[:, 1:] + v[:, :-1])[cells, cells] / 2
            x, y = h * (np.arange(nx)[cells] + 0.5), h * (np.arange(ny)[cells] + 0.5)
            axis.quiver(x, y, uc.T, vc.T, color="#808080", width=0.004)
            axis.set(title=title)
        figure.colorbar(image, ax=axes)
        figure.savefig(picture)


if __name__ == "__main__":
    main(*sys.argv[1:])
