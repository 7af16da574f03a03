"""Smoothing by penalties on differences: a banded system with one diagonal on either side for each order."""

from math import prod

import numpy as np

from bandsolve import _bandsolve

__all__ = ["hodrick_prescott", "whittaker"]


def whittaker(y, lam, *, order=2, weights=None, axis=-1):
    """Smooth values by a penalty on their differences (Whittaker, Henderson).

    The smooth z minimizes

        sum(w * (y - z)**2) + lam * sum(diff(z, order)**2),

    that is, it solves the symmetric system (W + lam DᵀD) z = W y with `order` diagonals on either side.

    Parameters
    ----------
    y : array_like
        Values.
    lam : float
        How much smoothness counts. At `order` 2, waves that are shorter than about 2π·lam**(1/4) values are removed. The condition
        of the system is about 4**order * lam: in double precision digits are lost from 1e10 on.
    order : int
        Which differences are penalized: 1 drives z to a constant, 2 to a straight line, 3 to a parabola. At most 8.
    weights : array_like, optional
        How much each value counts, one for each along `axis`; 0 where it is missing.
    axis : int
        The axis along which is smoothed.

    Returns
    -------
    z : ndarray
        Of the shape of `y`.

    Raises
    ------
    ValueError
        Shapes do not fit, there are fewer values than `order` + 1, or a number is not finite.
    numpy.linalg.LinAlgError
        Fewer than `order` weights are positive.

    Examples
    --------
    >>> import numpy as np
    >>> from bandsolve.smooth import whittaker
    >>> t = np.linspace(0, 1, 500)
    >>> noisy = np.sin(6 * t) + np.random.default_rng(1).normal(0, 0.3, 500)
    >>> bool(np.abs(whittaker(noisy, 1e5) - np.sin(6 * t)).max() < 0.15)
    True
    """
    y = np.asarray(y)
    y = y.astype(np.result_type(y, np.float32) if y.dtype.kind in "fc" else float, copy=False)
    if not 1 <= order <= 8:
        raise ValueError(f"order is {order}, expected 1 to 8")
    if not (np.isfinite(lam) and lam >= 0):
        raise ValueError(f"lam is {lam}, expected a number that is not negative")
    moved = np.moveaxis(y, axis, 0)
    n = moved.shape[0]
    if n <= order:
        raise ValueError(f"there are {n} values along the axis, expected more than {order}")
    weights = np.ones(n) if weights is None else np.asarray(weights, dtype=float)
    if weights.shape != (n,) or (weights < 0).any():
        raise ValueError(f"weights are expected to be {n} numbers, none negative")
    ab = _penalty(n, order)
    ab *= lam
    ab[order] += weights
    # Single precision only where it suffices: the condition is about 4**order * lam.
    ab = ab.astype(moved.real.dtype, copy=False)
    flat = moved.reshape(n, prod(moved.shape[1:]))
    rhs = (weights[:, None] * flat).astype(flat.dtype, copy=False)
    if order == 1:
        z = _bandsolve.solve_tridiagonal(ab[2, :-1], ab[1], ab[0, 1:], rhs)
    else:
        z = _bandsolve.solve_banded(order, order, ab, rhs)
    return np.moveaxis(z.reshape(moved.shape), 0, axis)


def _penalty(n, order):
    """The diagonals of DᵀD, D the differences of an order of n values."""
    few = min(n, 4 * order + 1)
    difference = np.diff(np.eye(few), order, axis=0)
    product = difference.T @ difference
    ab = np.zeros((2 * order + 1, few))
    for k in range(-order, order + 1):
        ab[order - k, max(k, 0) : few + min(k, 0)] = np.diagonal(product, k)
    if few == n:
        return ab
    # All columns but those at the ends are the same. Column by column, as they are solved with.
    full = np.empty((2 * order + 1, n), order="F")
    full[:] = ab[:, [2 * order]]
    full[:, : 2 * order], full[:, n - 2 * order :] = ab[:, : 2 * order], ab[:, few - 2 * order :]
    return full


def hodrick_prescott(y, lam=1600.0, *, axis=-1):
    """Split a series into cycle and trend (Hodrick, Prescott).

    Parameters
    ----------
    y : array_like
        Values at equal intervals.
    lam : float
        How smooth the trend is: 1600 for quarters, 6.25 for years, 129600 for months.
    axis : int
        The axis along which time runs.

    Returns
    -------
    cycle, trend : ndarray
        ``y - trend``, and `whittaker` of order 2.

    Examples
    --------
    >>> import numpy as np
    >>> from bandsolve.smooth import hodrick_prescott
    >>> cycle, trend = hodrick_prescott(np.arange(40.0))
    >>> bool(np.abs(cycle).max() < 1e-9)
    True
    """
    y = np.asarray(y)
    trend = whittaker(y, lam, order=2, axis=axis)
    return y - trend, trend
