"""Derivatives by differences of high order, for the tests of differentiable functions."""

import numpy as np

#: Largest error of a derivative, relative to its largest entry.
TOLERANCE = 1e-9
#: Largest step of the differences.
STEP = 1 / 32


def along(f, arguments, direction):
    """Return the derivative of t -> f(*(arguments + t direction)) at t = 0.

    Central differences with the steps h, h/2, h/4 and h/8 have errors that are series in the square of the step. Three extrapolations (Richardson) remove
    the terms of second, fourth and sixth order. If f is analytic for complex |t| < r, the error is at most about 2^-12 (h/r)^8 f. The matrices of the tests
    have dominant diagonals, and the entries of the direction are at most 1, so that r is 1/3 at least: 1.5e-12 f. Rounding adds about 256 ε f times the
    condition number, which is less than 10: 6e-13 f.
    """

    def difference(step):
        ahead, behind = (f(*(a + t * d for a, d in zip(arguments, direction))) for t in (step, -step))
        return (np.asarray(ahead) - np.asarray(behind)) / (2 * step)

    table = [difference(STEP / 2**k) for k in range(4)]
    for order in (4, 16, 64):
        table = [(order * fine - coarse) / (order - 1) for coarse, fine in zip(table, table[1:])]
    return table[0]


def directions(rng, arguments):
    """One random direction for each argument, in which the other arguments stay, and one in which all change."""
    drawn = [rng.uniform(-1, 1, a.shape) * np.ones((), a.dtype) for a in arguments]
    if any(a.dtype.kind == "c" for a in arguments):
        drawn = [(d + 1j * rng.uniform(-1, 1, d.shape)) / 2 for d in drawn]
    alone = [[d if k == moved else np.zeros_like(d) for k, d in enumerate(drawn)] for moved in range(len(drawn))]
    return [*alone, drawn]


def assert_close(found, expected, size=None):
    """Assert that a derivative is right to TOLERANCE, relative to its largest entry, or to `size`."""
    found, expected = np.asarray(found), np.asarray(expected)
    assert found.shape == expected.shape
    size = np.abs(expected).max(initial=0) if size is None else size
    assert np.abs(found - expected).max(initial=0) <= TOLERANCE * size
