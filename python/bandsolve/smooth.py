"""Smooth values with a penalty on their differences."""

from math import prod

import numpy as np

from bandsolve import _bandsolve
from bandsolve._bandsolve import as_array
from bandsolve._labels import axis_number, keeps_labels_of
from bandsolve._arguments import result_type

__all__ = ["hodrick_prescott", "whittaker"]


@keeps_labels_of("y")
def whittaker(y, lam, *, order=2, weights=None, axis=-1):
    """Smooth values with a penalty on their differences (Whittaker, Henderson).

    The smooth z minimizes ``sum(w * (y - z)**2) + lam * sum(diff(z, order)**2)``.

    Parameters
    ----------
    y : array_like
        Values at equal distances, real or complex.
    lam : float
        Weight of the penalty, not negative. A wave of 2π · lam^(1 / (2 · `order`)) values per period keeps half of its height in z;
        shorter waves keep less.
    order : int, default 2
        Order of the differences, 1 to 8. A large penalty gives a constant (1), a straight line (2) or a parabola (3).
    weights : (n,) array_like, optional
        Weight w of each value along `axis`. Use 0 for a missing value, which may be NaN. Default: 1 for each value.
    axis : int or str, default -1
        The axis along which to smooth; the name of a dimension if `y` is a DataArray of xarray.

    Returns
    -------
    z : ndarray, shape of y
        The smooth values. They have single precision if `y` has, but are computed in double precision.

    Raises
    ------
    ValueError
        The shapes do not fit together, the axis has at most `order` values, `order` or `lam` is out of range, or a value is NaN or infinite.
    TypeError
        `weights` is complex.
    numpy.linalg.LinAlgError
        Fewer than `order` weights are positive, a weight and `lam` are both 0, or `lam` is so large that the matrix is singular to working
        precision.

    See Also
    --------
    - `bandsolve.smooth.hodrick_prescott`: split a series into cycle and trend.
    - `bandsolve.interpolate.CubicSpline`: pass through all values.

    Notes
    -----
    **Equations.** z solves the symmetric system (W + lam Dᵀ D) z = W y, where D takes differences. The matrix has `order` diagonals on each side.

    **Cost.** One banded solve for all values together, and copies of 2 · `order` + 1 numbers for each value along the axis.

    **Accuracy.** The solver verifies z. The condition number of the matrix is approximately 4^order · lam for weights of 1. With ``order=2``
    and lam = 1e10, z has about five correct digits or more. From approximately 1e15 on, the matrix is singular to working precision, which is
    an error; smooth every tenth value instead.

    Examples
    --------
    Smooth noise, with a gap of missing values:

    >>> import numpy as np
    >>> from bandsolve.smooth import whittaker
    >>> t = np.linspace(0, 1, 500)
    >>> y = np.sin(6 * t) + np.random.default_rng(1).normal(0, 0.3, 500)
    >>> w = np.ones(500)
    >>> y[200:220], w[200:220] = np.nan, 0
    >>> z = whittaker(y, 1e5, weights=w)
    >>> print(bool(np.abs(z - np.sin(6 * t)).max() < 0.15))
    True

    A small case:

    >>> print(np.round(whittaker([0.0, 0, 1, 0, 0], 1.0, order=1), 4))
    [0.0909 0.1818 0.4545 0.1818 0.0909]
    """
    axis, y = axis_number(axis, y, "y"), as_array(y)
    return _smooth(y, lam, order, weights, axis).astype(result_type(y), copy=False)


def _smooth(y, lam, order, weights, axis):
    """`whittaker`, in double precision."""
    if not 1 <= order <= 8:
        raise ValueError(f"order is {order}, expected 1 to 8")
    if not (np.isfinite(lam) and lam >= 0):
        raise ValueError(f"lam is {lam}, expected a number that is not negative")
    moved = np.moveaxis(y.astype(complex if y.dtype.kind == "c" else float, copy=False), axis, 0)
    n = moved.shape[0]
    if n <= order:
        raise ValueError(f"y has {n} values along the axis, expected more than {order}, the order")
    weights = np.ones(n) if weights is None else _checked(weights, n, order)
    ab = _penalty(n, order)
    flat = moved.reshape(n, prod(moved.shape[1:]))
    with np.errstate(over="ignore"):
        ab *= lam
        ab[order] += weights
        rhs = weights[:, None] * np.where(weights[:, None] > 0, flat, 0)
    # The diagonal has the largest entries.
    if not np.isfinite(ab[order]).all():
        raise ValueError(f"lam is {lam}, with which the matrix is beyond the range of double precision. Use a smaller lam")
    if not np.isfinite(rhs).all():
        raise ValueError("y or weights * y is not finite where a weight is positive. Use the weight 0 for missing values")
    if order == 1:
        z, report = _bandsolve.solve_tridiagonal(ab[2, :-1], ab[1], ab[0, 1:], rhs, full_output=True)
    else:
        z, report = _bandsolve.solve_banded(order, order, ab, rhs, full_output=True)
    if report.attention:
        raise np.linalg.LinAlgError(f"lam is {lam}, too large for double precision: {report.attention}. Smooth every tenth value with a smaller lam")
    return np.moveaxis(z.reshape(moved.shape), 0, axis)


def _checked(weights, n, order):
    if np.iscomplexobj(weights):
        raise TypeError("weights is complex, expected real numbers")
    weights = np.asarray(as_array(weights), dtype=float)
    if weights.shape != (n,):
        raise ValueError(f"weights has the shape {weights.shape}, expected ({n},): one weight for each value along the axis")
    bad = ~(np.isfinite(weights) & (weights >= 0))
    if bad.any():
        raise ValueError(f"weights[{bad.argmax()}] is {weights[bad.argmax()]}, expected a finite number that is not negative")
    positive = np.count_nonzero(weights)
    if positive < order:
        raise np.linalg.LinAlgError(f"{positive} weights are positive, expected at least {order}, the order")
    return weights


def _penalty(n, order):
    """Return the diagonals of DᵀD, where D takes the differences of an order."""
    few = min(n, 4 * order + 1)
    difference = np.diff(np.eye(few), order, axis=0)
    product = difference.T @ difference
    ab = np.zeros((2 * order + 1, few))
    for k in range(-order, order + 1):
        ab[order - k, max(k, 0) : few + min(k, 0)] = np.diagonal(product, k)
    if few == n:
        return ab
    # All columns apart from the ends are equal. The solver takes the columns without a copy.
    full = np.empty((2 * order + 1, n), order="F")
    full[:] = ab[:, [2 * order]]
    full[:, : 2 * order], full[:, n - 2 * order :] = ab[:, : 2 * order], ab[:, few - 2 * order :]
    return full


@keeps_labels_of("y")
def hodrick_prescott(y, lam=1600.0, *, axis=-1):
    """Split a time series into cycle and trend (Hodrick, Prescott).

    Parameters
    ----------
    y : array_like
        Values at equal distances in time.
    lam : float, default 1600.0
        Weight of the penalty. Common values: 6.25 for years, 1600 for quarters, 129600 for months.
    axis : int or str, default -1
        The axis of time; the name of a dimension if `y` is a DataArray of xarray.

    Returns
    -------
    cycle : ndarray, shape of y
        ``y - trend``.
    trend : ndarray, shape of y
        ``whittaker(y, lam, order=2)``.

    Raises
    ------
    ValueError
        The axis has fewer than three values, `lam` is negative or not finite, or a value is NaN or infinite.

    See Also
    --------
    - `bandsolve.smooth.whittaker`: choose order and weights.

    Notes
    -----
    The function computes in double precision, and returns single precision if `y` has it. For cost and accuracy see
    `bandsolve.smooth.whittaker`.

    Examples
    --------
    >>> import numpy as np
    >>> from bandsolve.smooth import hodrick_prescott
    >>> quarters = np.arange(40)
    >>> y = 100 + 2.0 * quarters + np.sin(quarters * np.pi / 2)
    >>> cycle, trend = hodrick_prescott(y)
    >>> print(np.round(trend[18:22], 1))
    [136. 138. 140. 142.]
    >>> print(np.round(cycle[18:22], 1) + 0.0)
    [ 0. -1.  0.  1.]
    """
    axis, y = axis_number(axis, y, "y"), as_array(y)
    trend, kind = _smooth(y, lam, 2, None, axis), result_type(y)
    return (y - trend).astype(kind, copy=False), trend.astype(kind, copy=False)
