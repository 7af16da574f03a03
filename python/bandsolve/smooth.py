"""Smoothing by penalties on differences: a banded system with one diagonal on either side for each order."""

from math import prod

import numpy as np

from bandsolve import _bandsolve
from bandsolve._bandsolve import as_array
from bandsolve._scipy import _result_type

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
        How much each value counts, one for each along `axis`; 0 where it is missing, and may be NaN.
    axis : int
        The axis along which is smoothed.

    Returns
    -------
    z : ndarray
        Of the shape of `y`; in single precision if `y` is, but found in double precision.

    Raises
    ------
    ValueError
        Shapes do not fit, there are fewer values than `order` + 1, or a number is not finite.
    numpy.linalg.LinAlgError
        Fewer than `order` weights are positive, or one is 0 and `lam` is.

    Examples
    --------
    >>> import numpy as np
    >>> from bandsolve.smooth import whittaker
    >>> t = np.linspace(0, 1, 500)
    >>> noisy = np.sin(6 * t) + np.random.default_rng(1).normal(0, 0.3, 500)
    >>> bool(np.abs(whittaker(noisy, 1e5) - np.sin(6 * t)).max() < 0.15)
    True
    """
    y = as_array(y)
    return _smooth(y, lam, order, weights, axis).astype(_result_type(y), copy=False)


def _smooth(y, lam, order, weights, axis):
    """`whittaker`, in double precision."""
    if not 1 <= order <= 8:
        raise ValueError(f"order is {order}, expected 1 to 8")
    if not (np.isfinite(lam) and lam >= 0):
        raise ValueError(f"lam is {lam}, expected a number that is not negative")
    moved = np.moveaxis(y.astype(complex if y.dtype.kind == "c" else float, copy=False), axis, 0)
    n = moved.shape[0]
    if n <= order:
        raise ValueError(f"there are {n} values along the axis, expected more than {order}")
    weights = np.ones(n) if weights is None else _checked(weights, n, order)
    ab = _penalty(n, order)
    flat = moved.reshape(n, prod(moved.shape[1:]))
    with np.errstate(over="ignore"):
        ab *= lam
        ab[order] += weights
        rhs = weights[:, None] * np.where(weights[:, None] > 0, flat, 0)
    # The largest entries.
    if not np.isfinite(ab[order]).all():
        raise ValueError(f"lam is {lam}, with which the matrix is beyond the range of double precision")
    if not np.isfinite(rhs).all():
        raise ValueError("y is expected to be finite where weights are positive, and so is weights * y")
    if order == 1:
        z = _bandsolve.solve_tridiagonal(ab[2, :-1], ab[1], ab[0, 1:], rhs)
    else:
        z = _bandsolve.solve_banded(order, order, ab, rhs)
    return np.moveaxis(z.reshape(moved.shape), 0, axis)


def _checked(weights, n, order):
    if np.iscomplexobj(weights):
        raise TypeError("weights are complex, expected real numbers")
    weights = np.asarray(as_array(weights), dtype=float)
    if weights.shape != (n,) or not (np.isfinite(weights) & (weights >= 0)).all():
        raise ValueError(f"weights are expected to be {n} finite numbers, none negative")
    positive = np.count_nonzero(weights)
    if positive < order:
        raise np.linalg.LinAlgError(f"{positive} weights are positive, expected {order} at least")
    return weights


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
        ``y - trend``, and `whittaker` of order 2, both found in double precision.

    Examples
    --------
    >>> import numpy as np
    >>> from bandsolve.smooth import hodrick_prescott
    >>> cycle, trend = hodrick_prescott(np.arange(40.0))
    >>> bool(np.abs(cycle).max() < 1e-9)
    True
    """
    y = as_array(y)
    trend, kind = _smooth(y, lam, 2, None, axis), _result_type(y)
    return (y - trend).astype(kind, copy=False), trend.astype(kind, copy=False)
