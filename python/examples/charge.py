"""The potential of charges in free space, solved for in a box: multipoles say what it is at the sides.

    -div grad u = rho

Two balls of charge. At the sides u is the potential of total charge, dipole and quadrupole: the more of them, the smaller the error.
"""

import sys
from math import erf

import numpy as np

from bandsolve import poisson

# Charge, middle, width.
BALLS = [(1.0, (0.45, 0.5, 0.48), 0.05), (-0.6, (0.58, 0.53, 0.54), 0.04)]


def density(x, y, z):
    """Of balls whose charge is spread as the normal distribution."""
    total = 0
    for charge, (a, b, c), width in BALLS:
        squared = (x - a) ** 2 + (y - b) ** 2 + (z - c) ** 2
        total = total + charge * np.exp(-squared / (2 * width**2)) / (2 * np.pi * width**2) ** 1.5
    return total


def exact(x, y, z):
    """The potential in free space: erf(r / (sqrt(2) width)) / (4 pi r) of each ball."""
    total = 0
    for charge, (a, b, c), width in BALLS:
        r = np.sqrt((x - a) ** 2 + (y - b) ** 2 + (z - c) ** 2) + 1e-12
        total = total + charge * np.vectorize(erf)(r / (np.sqrt(2) * width)) / (4 * np.pi * r)
    return total


def moments(charges, places):
    """Charge, dipole and quadrupole around the middle of the box."""
    r = [axis - 0.5 for axis in places]
    squared = sum(axis**2 for axis in r)
    dipole = [np.sum(charges * axis) for axis in r]
    quadrupole = [[np.sum(charges * (3 * a * b - squared * (i == j))) for j, b in enumerate(r)] for i, a in enumerate(r)]
    return charges.sum(), dipole, quadrupole


def potential(known, order, x, y, z):
    """Of moments up to an order."""
    charge, dipole, quadrupole = known
    r = [x - 0.5, y - 0.5, z - 0.5]
    distance = np.sqrt(sum(axis**2 for axis in r))
    parts = [
        charge / distance,
        sum(p * axis for p, axis in zip(dipole, r)) / distance**3,
        sum(quadrupole[i][j] * r[i] * r[j] for i in range(3) for j in range(3)) / (2 * distance**5),
    ]
    return sum(parts[: order + 1]) / (4 * np.pi)


def sides(t, known, order):
    """What is given at the sides of each axis."""
    first, second = t[:, None], t[None, :]

    def side(axis, end):
        place = [first, second]
        place.insert(axis, np.array([[end]]))
        return "dirichlet", potential(known, order, *place)

    return [(side(axis, 0.0), side(axis, 1.0)) for axis in range(3)]


def outflow(u, h):
    """What flows out of the cube of nodes that are two away from the sides of the box or more."""
    total = 0.0
    for axis in range(3):
        inside = np.moveaxis(u, axis, 0)[:, 2:-2, 2:-2]
        total += (inside[2] - inside[1]).sum() + (inside[-3] - inside[-2]).sum()
    return total * h


def main(picture=None):
    n = 95
    h = 1 / (n + 1)
    t = h * np.arange(1, n + 1)
    places = np.meshgrid(t, t, t, indexing="ij", sparse=True)
    rho, true = density(*places), exact(*places)
    known = moments(rho * h**3, places)
    fields = [poisson.solve(rho, h, sides(t, known, order)) for order in range(3)]
    # Away from the charges, where the differences are exact enough, it is the sides that count.
    far = np.sqrt(sum((axis - 0.5) ** 2 for axis in places)) > 0.4
    errors = [abs(u - true)[far].max() / abs(true).max() for u in fields]
    flow = outflow(fields[-1], h)
    print(f"charges, {n}^3 nodes: errors {errors[0]:.1e}, {errors[1]:.1e}, {errors[2]:.1e} with one, two, three moments; "
          f"charge {known[0]:.6f}, by its field {flow:.6f}")
    assert errors[0] > 5 * errors[1] > 10 * errors[2] and errors[2] < 1e-3
    assert abs(flow - known[0]) < 1e-9 and abs(known[0] - 0.4) < 1e-9
    if picture:
        from pictures import subplots

        figure, axes = subplots(1, 2, figsize=(8.4, 3.6))
        middle = n // 2
        u = fields[-1][:, :, middle].T
        image = axes[0].imshow(u, origin="lower", extent=(0, 1, 0, 1), cmap="RdBu_r", vmin=-abs(u).max(), vmax=abs(u).max())
        axes[0].contour(u, levels=[-0.2, -0.1, -0.05, 0, 0.03, 0.05, 0.1, 0.2], extent=(0, 1, 0, 1), colors="#808080", linewidths=0.7)
        axes[0].set(title="potential in the middle plane", xlabel="x", ylabel="y")
        figure.colorbar(image, ax=axes[0])
        for field, label in zip(fields, ("charge", "and dipole", "and quadrupole")):
            axes[1].semilogy(t, abs(field - true)[:, middle, middle], label=label)
        axes[1].set(title="error along x", xlabel="x", ylim=(1e-6, 1))
        axes[1].legend(loc="upper center", ncols=3, fontsize=8)
        figure.savefig(picture)


if __name__ == "__main__":
    main(*sys.argv[1:])
