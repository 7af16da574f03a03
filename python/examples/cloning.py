"""A part of one image cloned into another without a seam (Perez, Gangnet, Blake 2003).

    -div grad u = -div grad source  in a box,  u = target  at its sides

Three colours are three right-hand sides with sides of their own: what is solved for is u - source, which has no source.
"""

import sys

import numpy as np

from bandsolve import poisson


def target(n):
    """A sky in the evening over dark hills: n x n points of three colours."""
    y, x = np.mgrid[0:1 : n * 1j, 0:1 : n * 1j]
    sky = np.stack([0.35 + 0.6 * y, 0.35 + 0.25 * y, 0.75 - 0.35 * y], axis=-1)
    hills = 0.8 + 0.06 * np.sin(9 * x) + 0.03 * np.sin(23 * x + 1)
    dark = 1 / (1 + np.exp(-(y - hills) * 200))[..., None]
    return sky * (1 - dark) + np.array([0.08, 0.12, 0.1]) * dark


def source(n):
    """A moon in a light that is wrong here: greenish, brighter to the left."""
    y, x = np.mgrid[-1 : 1 : n * 1j, -1 : 1 : n * 1j]
    disc = 1 / (1 + np.exp((np.hypot(x, y) - 0.55) * 40))
    craters = sum(0.12 * np.exp(-((x - a) ** 2 + (y - b) ** 2) / c) for a, b, c in [(-0.2, -0.1, 0.02), (0.2, 0.15, 0.01), (0.05, -0.3, 0.008)])
    light = np.stack([0.25 - 0.1 * x, 0.45 - 0.1 * x, 0.3 - 0.1 * x], axis=-1)
    return light + (0.35 * disc * (1 - 0.8 * craters * 4))[..., None]


def clone(image, part, row, column):
    """The image with the inside of `part` at a place: colours change as in `part`, and fit at the sides."""
    height, width, _ = part.shape
    whole = image.copy()
    there = whole[row : row + height, column : column + width]
    gap = there - part
    inside = np.zeros((height - 2, width - 2))
    for colour in range(3):
        g = gap[..., colour]
        sides = ((("dirichlet", g[0, 1:-1]), ("dirichlet", g[-1, 1:-1])), (("dirichlet", g[1:-1, 0]), ("dirichlet", g[1:-1, -1])))
        # u - source: without sources, given at the sides.
        there[1:-1, 1:-1, colour] = part[1:-1, 1:-1, colour] + poisson.solve(inside, boundary=sides)
    return whole


def laplacian(u):
    return 4 * u[1:-1, 1:-1] - u[:-2, 1:-1] - u[2:, 1:-1] - u[1:-1, :-2] - u[1:-1, 2:]


def main(picture=None):
    image, part, row, column = target(400), source(161), 40, 200
    pasted = image.copy()
    pasted[row : row + 161, column : column + 161] = part
    whole = clone(image, part, row, column)
    there = whole[row : row + 161, column : column + 161]
    detail = abs(laplacian(there) - laplacian(part)).max()
    # The jump across the upper side of the box, beside what the sky itself does there.
    jumps = [abs(u[row, column + 1 : column + 160] - u[row - 1, column + 1 : column + 160]).max() for u in (pasted, whole)]
    print(f"cloning: details within {detail:.1e}, the seam {jumps[0]:.2f} pasted and {jumps[1]:.4f} cloned")
    assert detail < 1e-13 and jumps[0] > 0.1 and jumps[1] < 0.005
    if picture:
        from pictures import subplots

        figure, axes = subplots(1, 3, figsize=(9, 3.2))
        for axis, shown, title in zip(axes, (part, pasted, whole), ("source", "pasted", "cloned")):
            axis.imshow(np.clip(shown, 0, 1))
            axis.set(title=title, xticks=[], yticks=[])
        figure.savefig(picture)


if __name__ == "__main__":
    main(*sys.argv[1:])
