"""The screened potential between charged plates (Debye, Hückel): a Helmholtz problem with a positive shift.

    -u_xx - u_yy + u / length**2 = 0,  u = cos(k y) at one plate, 0 at the other

The finer the pattern on the plate and the shorter the screening length, the faster u decays: as sinh(m (1 - x)) / sinh(m),
m**2 = k**2 + 1 / length**2.
"""

import sys

import numpy as np

from bandsolve import poisson


def solve(n, length, k):
    """The potential at n nodes between the plates, and 2 n along them, of period 2; and what it should be."""
    h = 1 / (n + 1)
    x, y = h * np.arange(1, n + 1), np.arange(2 * n) / n
    plate = np.cos(k * y)
    boundary = ((("dirichlet", plate), ("dirichlet", 0.0)), "periodic")
    u = poisson.solve(np.zeros((n, 2 * n)), (h, 1 / n), boundary, shift=1 / length**2)
    m = np.hypot(k, 1 / length)
    return x, u, np.outer(np.sinh(m * (1 - x)) / np.sinh(m), plate)


def main(picture=None):
    lengths, k = (1.0, 0.1, 0.03), np.pi
    errors = [abs(np.subtract(*solve(n, 0.1, k)[1:])).max() for n in (63, 127)]
    order = np.log2(errors[0] / errors[1])
    print(f"screening: errors {errors[0]:.1e} and {errors[1]:.1e}, order {order:.2f}")
    assert abs(order - 2) < 0.1 and errors[1] < 2e-4
    if picture:
        from pictures import subplots

        figure, axes = subplots(1, 2, figsize=(8.4, 3.2))
        x, u, _ = solve(127, 0.1, k)
        image = axes[0].imshow(u, extent=(0, 2, 1, 0), cmap="RdBu_r", vmin=-1, vmax=1)
        axes[0].set(title="length 0.1", xlabel="along the plates", ylabel="between them")
        figure.colorbar(image, ax=axes[0], shrink=0.6)
        for length in lengths:
            x, u, exact = solve(127, length, k)
            line, = axes[1].semilogy(x, u[:, 0], label=f"length {length:g}")
            axes[1].semilogy(x[::8], exact[::8, 0], "o", color=line.get_color(), markersize=3)
        axes[1].set(xlabel="between the plates", ylabel="potential", ylim=(1e-8, 2))
        axes[1].legend()
        figure.savefig(picture)


if __name__ == "__main__":
    main(*sys.argv[1:])
