"""A closed curve through points: a periodic cubic spline in the plane, and the order with which it approaches the true curve."""

import sys

import numpy as np

from bandsolve.interpolate import CubicSpline


def flower(t):
    """A closed curve, t from 0 to 2 pi."""
    r = 2 + np.cos(5 * t) / 2
    return np.stack([r * np.cos(t), r * np.sin(t)], axis=-1)


def spline(n):
    """The spline through n points of the curve."""
    t = np.linspace(0, 2 * np.pi, n + 1)
    points = flower(t)
    points[-1] = points[0]
    return CubicSpline(t, points, bc_type="periodic")


def main(picture=None):
    t = np.linspace(0, 2 * np.pi, 10_000)
    sizes = [20, 40, 80, 160, 320]
    errors = [abs(spline(n)(t) - flower(t)).max() for n in sizes]
    order = np.log2(errors[-2] / errors[-1])
    print(f"splines: errors from {errors[0]:.1e} to {errors[-1]:.1e}, order {order:.2f}")
    assert abs(order - 4) < 0.1
    if picture:
        from pictures import subplots

        figure, axes = subplots(1, 2, figsize=(8, 3.8))
        x, y = spline(20)(t).T
        axes[0].plot(x, y, color="tab:blue", label="spline through 20 points")
        axes[0].plot(*flower(t).T, "--", color="tab:orange", label="true curve")
        axes[0].plot(*flower(np.linspace(0, 2 * np.pi, 21)).T, "o", color="tab:blue", markersize=4)
        axes[0].set(aspect="equal")
        axes[0].legend(fontsize=7, loc="center")
        axes[1].loglog(sizes, errors, "o-", color="tab:blue", label="largest error")
        axes[1].loglog(sizes, errors[0] * (sizes[0] / np.array(sizes, float)) ** 4, "--", color="gray", label="fourth order")
        axes[1].minorticks_off()
        axes[1].set_xticks(sizes, sizes)
        axes[1].set(xlabel="points")
        axes[1].legend()
        figure.savefig(picture)


if __name__ == "__main__":
    main(*sys.argv[1:])
